"""Whatever a program says, it is answered: by a value, or by an error that tells where. Never by a traceback, an
internal error or a crash (tests/fuzz/mutants.py says how; a program that hangs ends the run)."""
from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from amounts import examples, many
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from mutants import findings, main, mutant
from paths import PYTHONPATH, TESTS
from processes import PATIENCE, finished
from random_programs import PARAMETERS, RandomProgram, parts, programs

from nessie.base.system.deep import run_deep


def check(text: str, target: str) -> None:
    assert run_deep(lambda: list(findings(text, target))) == [], text


# Mutants ----------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where programs may write what they like."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("target", "first", "count"), [("reference", 0, 150), ("cpu", 100_000, 15)])
def test_mutants(target: str, first: int, count: int) -> None:
    for number in range(first, first + count):
        check(mutant(number), target)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "first", "count"), [
    ("reference", 1_000, many(1000)), ("cpu", 110_000, many(100))])
def test_many_mutants(target: str, first: int, count: int) -> None:
    """In a process of their own, which a crash or a hang ends."""
    run = finished([sys.executable, str(TESTS / "fuzz" / "mutants.py"), str(first), str(first + count), target],
                   seconds=PATIENCE + 5 * count, env={**os.environ, "PYTHONPATH": PYTHONPATH})
    *numbers, last = [json.loads(line) for line in run.stdout.splitlines()] or [first]
    assert (run.returncode, last) == (0, first + count), f"{mutant(last)}\n{run.stderr}"
    assert [found for found in numbers if isinstance(found, dict)] == []


def test_mutants_are_always_the_same() -> None:
    assert [mutant(number) for number in range(30)] == [mutant(number) for number in range(30)]
    assert len({mutant(number) for number in range(300)}) > 250


def test_what_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An internal error, an error without a place, an exception."""
    from nessie.base.source import InternalError, NessieError
    from nessie.session.session import Session

    def run(wrong: Exception) -> list[str]:
        def evaluate(session: Session, form: Any) -> Any:
            raise wrong
        monkeypatch.setattr(Session, "evaluate", evaluate)
        return list(findings("1;", "reference"))

    assert run(InternalError("broken")) == ["internal error: broken"]
    assert run(NessieError("somewhere")) == ["no place: error: somewhere"]
    assert run(KeyError("x")) == ["internal error: KeyError: 'x'"]
    main("0", "2", "reference")
    assert '"found"' in capsys.readouterr().out


# Random programs --------------------------------------------------------------------------------


def literal(value: Any, type_: str) -> str:
    """A value of this type, as NESL writes it."""
    match type_:
        case "int" | "float":
            return f"({value})"
        case "char":
            return f"`{value}"
        case "[char]":
            return f'"{"".join(value)}"'
    if type_[0] == "(":
        return f"({', '.join(literal(v, t) for v, t in zip(value, parts(type_), strict=True))})"
    return f"[{', '.join(literal(v, type_[1:-1]) for v in value)}]" if value else f"([] {type_[1:-1]})"


def whole(random: RandomProgram) -> str:
    arguments = ", ".join(map(literal, random.arguments, PARAMETERS.values()))
    return f"{random.source}main({arguments});\n"


quick = settings(max_examples=examples(20), phases=[Phase.generate],
                 suppress_health_check=list(HealthCheck))


@quick
@given(programs(4))
def test_random_programs(random: RandomProgram) -> None:
    check(whole(random), "reference")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(2))
def test_many_random_programs(number: int) -> None:
    @seed(number)
    @settings(quick, max_examples=many(250), database=None)
    @given(st.integers(2, 6).flatmap(programs))
    def run(random: RandomProgram) -> None:
        check(whole(random), "reference")

    run()
