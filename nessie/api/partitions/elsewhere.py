"""A program on a worker: what the driver's defines, and the values of its variables that a call uses. Only the driver
evaluates its forms, once: what they print, read and draw is theirs.
"""
from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from nessie.api.calls import COMPILING
from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.session.session import QUIT, Session
from nessie.syntax import nodes as syntax
from nessie.syntax.parse import Read, parse
from nessie.typing import nodes as typed

if TYPE_CHECKING:
    from nessie.api.program import Program

OBEYED = ("set", "exit")        # commands that change what comes after them, and do nothing else


def made_of(program: Program, values: Mapping[str, Any]) -> bytes:
    """What the program is made again of. `values`: of variables, by internal names."""
    return pickle.dumps((program._sources, program._options.plain(), program._plain_job(), dict(values)))


@lru_cache(maxsize=4)
def program_of(made: bytes) -> Program:
    from nessie.api.program import Program
    texts, options, job, values = pickle.loads(made)
    program = Program(None, options, job)
    session = program._session

    def work() -> None:
        with COMPILING:
            for source, *loaded in texts:
                for form in parse(source, reading(loaded)).forms:
                    if not session.ended:
                        learn(session, form)
                session.ended = False
    run_deep(work)
    session.values.update(values)
    return program


def reading(loaded: Sequence[Source]) -> Read:
    """Reads files as they were when the driver read them, which may have changed, or not be here: in the same order."""
    left = iter(loaded)
    return lambda path, places: next(left)


def learn(session: Session, form: syntax.TopLevel) -> None:
    """Take what a form defines, without the values of variables."""
    match form:
        case syntax.Command(word) if word not in OBEYED:
            pass
        case syntax.Evaluate() if form != QUIT:
            pass
        case syntax.Command() | syntax.Evaluate():
            session.evaluated(form)
        case _:
            program, session.environment = session.inferred(form)
            for definition in program.definitions:
                if not isinstance(definition, typed.Variable):
                    session.define(form, definition)
