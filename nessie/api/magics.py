"""NESL in IPython and its notebooks: `%load_ext nessie`.

    %%nesl [TARGET]     evaluates the cell's forms; its functions, datatypes and variables are Python's from then on,
                        save for functions' values, which cannot leave the program
    %nesl EXPRESSION    its value

One program grows from cell to cell; the target that a cell names stays that of all that follows, and of calls. What is
wrong is told without a traceback.
"""
from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from typing import Any

from nessie.api.calls import COMPILING
from nessie.api.errors import as_nessie_errors
from nessie.api.options import check_target
from nessie.api.program import Program
from nessie.base.deep import run_deep
from nessie.base.source import NessieError, Source
from nessie.base.values import arrays
from nessie.frontend import syntax, typed
from nessie.frontend.environment import pattern_type
from nessie.loading import forms
from nessie.restore import restore
from nessie.streams import print_outcomes


def load_ipython_extension(shell: Any) -> None:
    """What %load_ext nessie does."""
    magics = Magics(shell)
    shell.register_magic_function(magics.cell, "cell", "nesl")
    shell.register_magic_function(magics.line, "line", "nesl")


class Magics:
    """The notebook's program."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.program = Program()
        self.program._session.listener = lambda text: sys.stdout.write(text)
        self.cells = 0
        self.given: dict[str, Any] = {}         # to the notebook

    def cell(self, line: str, text: str) -> None:
        """Evaluate the forms; tell what each has given."""
        self.cells += 1
        source = Source(f"cell {self.cells}", text)
        program = self.program
        known = {name: program._session.environment.program.entry(name) for name in program}

        def work() -> int:
            with COMPILING:
                return print_outcomes(program._session.outcomes(forms(source, ends_itself=True)))
        try:
            with as_nessie_errors():
                if line.strip():
                    set_target(program, line.strip())
                run_deep(work)
        except NessieError as error:
            print(error, file=sys.stderr)
        program._session.ended = False
        program._source = source
        program._calls.forget()
        for name in program:
            if program._session.environment.program.entry(name) != known.get(name) and name != "it":
                self.give(name)

    def give(self, name: str) -> None:
        """The name to the notebook, if it can leave the program. What the program called so before is no more."""
        names = self.shell.user_ns
        if name in self.given and names.get(name) is self.given.pop(name):
            del names[name]
        with suppress(NessieError):
            names[name] = self.given[name] = self.program[name]

    def line(self, text: str) -> Any:
        """The value of the expression, as Python's."""
        try:
            with as_nessie_errors():
                return run_deep(lambda: value_of(self.program, text))
        except NessieError as error:
            print(error, file=sys.stderr)
            return None


def value_of(program: Program, text: str) -> Any:
    session = program._session
    written = [*forms(Source("expression", text), ends_itself=True)]
    form = written[0] if written else None
    if isinstance(form, NessieError):
        raise form
    if len(written) != 1 or not isinstance(form, syntax.Evaluate):
        raise NessieError("%nesl takes an expression", hint="%%nesl takes whole programs")
    with COMPILING:
        made, environment = session.inferred(form)
        (definition,) = made.definitions
        assert isinstance(definition, typed.Variable)       # an expression is one
        type_ = pattern_type(definition.pattern)
        before, session.environment = session.environment, environment
        try:
            value = session.compute(definition.value, type_)
            flat = restore(value, type_, environment)
            shared = [array for held in session.values.values() for array in arrays(held)]
            return program._results(shared).value(flat, type_)
        finally:
            session.environment = before


def set_target(program: Program, name: str) -> None:
    """For the cells and the calls that follow; NessieError, where it cannot be used here."""
    session, target = program._session, program._calls.target(check_target(name))
    session.target, session.job = target, replace(session.job, target=name)
    program._options = replace(program._options, target=name)
