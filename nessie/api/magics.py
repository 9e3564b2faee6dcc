"""The magics for NESL in IPython and its notebooks: `%load_ext nessie`.

    %%nesl [TARGET] [--threads N] [--memory BYTES] [--depth N] [--seconds S] [--seed N]
                        evaluates the cell's forms; its functions, datatypes and variables are Python's from then on,
                        save for functions' values, which cannot leave the program
    %nesl EXPRESSION    its value; a function's is shown as a cell shows it

What a cell or a line draws in windows is shown below it, as pictures.

A name that the program does not define, and Python does, is Python's variable: its present value goes in as an argument
does.

One program grows from cell to cell. The target and the options (nessie.api.options) that a cell names also hold for
later cells, and for calls. Errors are printed without a traceback.
"""
from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import Any

from nessie.api.calls import COMPILING
from nessie.api.errors import as_nessie_errors
from nessie.api.program import Program
from nessie.api.values.taking import taken
from nessie.arguments.types import Parameters
from nessie.base.source import NessieError, Source, Span
from nessie.base.system.deep import run_deep
from nessie.base.system.limits import bytes_of
from nessie.base.system.memory import MemoryBudget
from nessie.base.text.nearest import nearest
from nessie.base.types import Scheme, expand, holds_function
from nessie.base.values import arrays
from nessie.running.results import restore
from nessie.running.target_names import TARGETS
from nessie.running.targets import Limits
from nessie.session.streams import print_outcomes, warn
from nessie.syntax import nodes as syntax
from nessie.syntax.errors.advice import OF_THE_PROMPT
from nessie.syntax.parse import forms
from nessie.syntax.scopes import bare, text_of
from nessie.typing import nodes as typed
from nessie.typing.advice.undefined import undefined_uses
from nessie.typing.environment import Entry, pattern_type

NUMBERS: dict[str, Callable[[str], Any]] = {"threads": int, "memory": bytes_of, "depth": int, "seconds": float,
                                            "seed": int}
EXAMPLES = {"memory": "2G"}


def load_ipython_extension(shell: Any) -> None:
    """Register the magics; IPython calls this for `%load_ext nessie`."""
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
        self.given: dict[str, Any] = {}         # names that the notebook has from the program
        self.taken: dict[str, Entry] = {}       # names that the program has from the notebook

    def cell(self, line: str, text: str) -> None:
        """Evaluate the forms of a cell and print their outcomes."""
        self.cells += 1
        source = Source(f"cell {self.cells}", text)
        program = self.program
        known = {name: program._session.environment.program.entry(name) for name in program}

        def work() -> int:
            with COMPILING:
                return print_outcomes(program._session.outcomes(self.forms(source)))
        try:
            with as_nessie_errors():
                if line.strip():
                    set_options(program, line.replace("=", " ").split())
                run_deep(work)
        except NessieError as error:
            print(error, file=sys.stderr)
        program._session.ended = False
        program._source = source
        program._calls.forget()
        for name in program:
            entry = program._session.environment.program.entry(name)
            if entry != known.get(name) and entry != self.taken.get(name) and name != "it":
                self.give(name)
        self.show_drawn()

    def show_drawn(self) -> None:
        """Show what has been drawn, by a cell or by calls since the last one."""
        for picture in self.program.drawn():
            data, about = self.shell.display_formatter.format(picture)
            self.shell.display_pub.publish(data, about)

    def forms(self, source: Source) -> Iterator[syntax.TopLevel | NessieError]:
        """The forms of the text, each after Python's variables that it uses have been taken."""
        for form in written_in(source):
            try:
                if not isinstance(form, NessieError):
                    self.take(form)
                yield form
            except NessieError as error:
                yield error

    def take(self, form: syntax.TopLevel) -> None:
        """Take the values of Python's variables that the form uses and nothing in the program defines."""
        session, names = self.program._session, self.shell.user_ns
        own = {name for name in session.environment.names()
               if name not in self.taken or session.environment.lookup(name) != self.taken[name]}
        for use in undefined_uses(form, own):
            assert use.span is not None             # it was found in the text
            place = bare(use.span)
            value = names.get(text_of(place), names.get(use.name, self))
            if value is not self and not callable(value) and not isinstance(value, ModuleType):
                self.hold(use.name, value, place)

    def hold(self, name: str, value: Any, place: Span) -> None:
        """Make the value that of a variable of the program, with this name, which is used at the place."""
        session, program, written = self.program._session, self.program, text_of(place)
        parameters = Parameters(f"{written} is Python's", [None], session.content)
        try:
            (found,) = taken(program._datatypes, [value], {}, parameters, MemoryBudget()).arguments
        except NessieError as error:
            message = error.message.removeprefix("argument 1: ")
            raise NessieError(f"{written}, a variable of Python's, cannot be used here: {message}",
                              (place, ""), hint=error.hint) from None
        session.environment = environment = session.environment.copy()
        self.taken[name] = Entry("variable", environment.internal_name(name), Scheme((), found.type))
        environment.program.entries[name] = self.taken[name]
        session.values[self.taken[name].name] = found.value

    def give(self, name: str) -> None:
        """Define the name in the notebook, if its value can leave the program. It replaces the program's previous value
        of that name."""
        names = self.shell.user_ns
        new = name not in names and name not in self.given
        if name in self.given and names.get(name) is self.given.pop(name):
            del names[name]
        with suppress(NessieError):
            value = self.program[name]
            if new and hasattr(builtins, name):
                warn([f"{name} was Python's {name}, and is the cell's now\nhint: del {name} brings Python's back"])
            names[name] = self.given[name] = value

    def line(self, text: str) -> Any:
        """The value of the expression, as a Python value."""
        try:
            with as_nessie_errors():
                return run_deep(lambda: value_of(self.program, [*self.forms(Source("expression", text))]))
        except NessieError as error:
            print(error, file=sys.stderr)
            return None
        finally:
            self.show_drawn()


def value_of(program: Program, written: list[syntax.TopLevel | NessieError]) -> Any:
    """The value of the one expression that is written."""
    session = program._session
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
            if holds_function(expand(type_, session.content)):
                print(session.outcome("it", value, type_))
                return None
            flat = restore(value, type_, environment)
            shared = [array for held in session.values.values() for array in arrays(held)]
            return program._results(shared).value("it", flat, type_)
        finally:
            session.environment = before


def written_in(source: Source) -> Iterator[syntax.TopLevel | NessieError]:
    """The forms of the text. Commands of the prompt get a hint that says what notebooks have instead."""
    for form in forms(source, ends_itself=True):
        if isinstance(form, NessieError) and form.hint == OF_THE_PROMPT:
            form.hint = "commands of the prompt do not work in notebooks; of a function f, f.signature, f.explain, " \
                "f.graph and f.stages tell what they do"
        yield form


def set_options(program: Program, words: list[str]) -> None:
    """Set the options for the cells and calls that follow. NessieError if they cannot be used here."""
    options, calls, session = replace(program._options, **options_of(words)), program._calls, program._session
    before = calls.threads, calls.limits, calls.targets
    limits = Limits(options.bytes, options.depth, options.seconds, calls.limits.hints)
    calls.threads, calls.limits, calls.targets = options.threads, limits, {}
    try:
        target = calls.target(options.target)
    except NessieError:
        calls.threads, calls.limits, calls.targets = before
        raise
    if "--seed" in words:
        target.world.seed = options.seed
    session.target, session.job, program._options = target, replace(session.job, target=options.target), options


def options_of(words: list[str]) -> dict[str, Any]:
    """The options in the words after %%nesl, by name, including the target."""
    found: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name = word.removeprefix("--")
        if not word.startswith("-"):
            if "target" in found:
                raise NessieError(f"a cell has one target, not {found['target']} and {word}")
            if word not in TARGETS:
                raise NessieError(f"there is no target {word}; the targets are {', '.join(TARGETS)}")
            found["target"] = word
        elif name not in NUMBERS:
            near = nearest(name, NUMBERS)
            raise NessieError(f"%%nesl has no option {word}", hint=(f"did you mean --{near}? " if near else "")
                              + f"it has a target and {', '.join(f'--{option}' for option in NUMBERS)}")
        else:
            given = next(rest, "")
            try:
                found[name] = NUMBERS[name](given)
            except ValueError:
                raise NessieError(f"{word} needs a number, not {given or 'nothing'}",
                                  hint=f"%%nesl {word} {EXAMPLES.get(name, 1)}") from None
    return found
