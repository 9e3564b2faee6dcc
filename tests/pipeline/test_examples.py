"""Every program of nesl_examples prints what its .expected file says: interpreted, by the reference, compiled."""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from paths import ROOT

from nessie.base.source import Source
from nessie.base.text.types_text import show_scheme
from nessie.base.text.values_text import show_value
from nessie.interpreter.interpreter import World
from nessie.interpreter.interpreter import run as interpret
from nessie.mono.copies.erase import content
from nessie.running.targets import Target
from nessie.session.session import Outcome, Session
from nessie.syntax import nodes as syntax
from nessie.typing import infer
from nessie.typing import nodes as typed
from nessie.typing.environment import pattern_type

EXAMPLES = sorted((ROOT / "nesl_examples").glob("*.nesl"))


@dataclass
class Interpreted(Session):
    """A session whose expressions the interpreter evaluates."""
    world: World = field(default_factory=World)

    def evaluate(self, form: syntax.TopLevel) -> Outcome:
        program, self.environment = infer.infer(syntax.Program((form,)), self.environment)
        (definition,) = program.definitions
        results = interpret(program, self.world)
        if not isinstance(definition, typed.Variable):
            return self.define(form, definition)
        type_ = pattern_type(definition.pattern)
        shown = show_value(results[0].value, type_, self.print_length, partial(content, environment=self.environment))
        return Outcome("it", shown, show_scheme(type_))


def printed(session: Session, path: Path) -> str:
    """What `nessie run` prints of the program."""
    told: list[str] = []
    session.target.world.write = told.append
    for outcome in session.run(Source(path.name, path.read_text("utf-8"))):
        told.append(f"{outcome}\n")
    return "".join(told)


def interpreted() -> Session:
    session = Interpreted()
    session.world.effects.perform = session.target.world.perform
    session.world.functions.update(session.environment.library.functions)
    session.world.datatypes.update(session.environment.library.datatypes)
    return session


SESSIONS = {"interpreter": interpreted, "reference": lambda: Session(Target("reference")),
            "cpu": lambda: Session(Target("cpu"))}


def cases() -> list[object]:
    """Each example by each executor; by the interpreter, pi takes long."""
    return [pytest.param(path, executor, id=f"{path.stem}-{executor}",
                         marks=pytest.mark.nightly if (path.stem, executor) == ("pi", "interpreter") else ())
            for path in EXAMPLES for executor in SESSIONS]


@pytest.mark.parametrize("path, executor", cases())
def test_example(path: Path, executor: str) -> None:
    assert printed(SESSIONS[executor](), path) == path.with_suffix(".expected").read_text("utf-8")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_says_what_it_shows(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("% ") and len(text.splitlines()) < 50


def test_there_are_examples() -> None:
    assert {path.stem for path in EXAMPLES} >= {
        "norm2", "dotp", "mxv", "sparse_mxv", "spmv", "quicksort", "primes", "string_search", "wordcount", "quickhull",
        "mandelbrot", "bfs", "trmv", "banded", "jacobi", "life", "blur"}
