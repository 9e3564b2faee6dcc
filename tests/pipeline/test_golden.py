"""Golden tests: one file per case, under tests/golden/<pass>/.

A case is a comment that says what it shows, lines `passes: ...` and, where a pass needs it, `entry: name`,
`type: ...` and `target: ...`, then the input, `==>` and the output. Add a case by writing the first half and running
pytest --update-golden.
"""
from __future__ import annotations

from pathlib import Path

import pytest
from built import run_passes
from paths import GOLDEN_FILES as GOLDEN
from paths import TESTS

from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.pipeline import PASSES, Job
from nessie.syntax.parser import parse_type
from nessie.tuning import file

OTHERS = {"errors": "test_errors", "infer_errors": "test_infer", "repl": "test_repl",
          "explain": "test_explain", "counters": "test_counters"}                           # and who reads them
CASES = [path for path in sorted(GOLDEN.rglob("*.txt")) if path.parent.name not in OTHERS]


@pytest.mark.parametrize("path", CASES, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_golden(path: Path, update_golden: bool) -> None:
    case, _, expected = path.read_text("utf-8").partition("==>\n")
    header, program = case.split("\n\n", 1)
    assert header.startswith("# ")
    told = {key: value for line in header.splitlines() for key, _, value in [line.partition(": ")]}
    argument = parse_type(Source("type", told["type"])) if "type" in told else None
    tuning = file.parse(Source("tuning", told["tuning"])) if "tuning" in told else None
    job = Job(entry=told.get("entry", ""), argument=argument, target=told.get("target", "cpu"),
              unchecked="unchecked" in told["passes"], tuning=tuning)
    actual = run_deep(lambda: run_passes(told["passes"].split(), program, job))
    if update_golden:
        path.write_text(f"{case}==>\n{actual}", "utf-8")
    else:
        assert actual == expected


def test_every_pass_has_a_case() -> None:
    """And every file is one, or another test's."""
    assert {path for path in GOLDEN.rglob("*") if path.is_file()} == {
        *CASES, *(path for folder in OTHERS for path in (GOLDEN / folder).glob("*.txt"))}
    assert {path.parent.name for path in CASES} == {*(ran.name for ran in PASSES), "pipeline"}
    assert all(any(TESTS.rglob(f"{test}.py")) for test in OTHERS.values())
