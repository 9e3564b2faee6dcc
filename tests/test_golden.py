"""Golden tests: one file per case, under tests/golden/<pass>/.

A case is a comment that says what it shows, lines `passes: ...` and, where a pass needs it, `entry: name` and
`type: ...`, then the input, `==>` and the output. Add a case by writing the first half and running
pytest --update-golden.
"""
from __future__ import annotations

from pathlib import Path

import pytest

from nessie.base.deep import run_deep
from nessie.base.source import Source
from nessie.frontend.parser import parse_type
from nessie.pipeline import Job, run_passes

GOLDEN = Path(__file__).parent / "golden"
CASES = [path for path in sorted(GOLDEN.rglob("*.txt")) if "\npasses: " in path.read_text("utf-8")]


@pytest.mark.parametrize("path", CASES, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_golden(path: Path, update_golden: bool) -> None:
    case, _, expected = path.read_text("utf-8").partition("==>\n")
    header, program = case.split("\n\n", 1)
    told = {key: value for line in header.splitlines() for key, _, value in [line.partition(": ")]}
    argument = parse_type(Source("type", told["type"])) if "type" in told else None
    job = Job(entry=told.get("entry", ""), argument=argument)
    actual = run_deep(lambda: run_passes(told["passes"].split(), program, job))
    if update_golden:
        path.write_text(f"{case}==>\n{actual}", "utf-8")
    else:
        assert actual == expected


def test_there_are_cases() -> None:
    assert {path.parent.name for path in CASES} >= {"parse", "generate", "simplify"}
