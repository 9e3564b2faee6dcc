"""docs/scheduling.md: its commands print what it says, its tables are what the scheduler does, nothing is left out."""
from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from paths import ROOT

from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.pipeline import Job, pass_named
from nessie.schedule.cost.profiles import CPU
from nessie.schedule.explain import explain
from nessie.schedule.legality import fusible, witness
from nessie.schedule.legality.sharing import RULES
from nessie.syntax.parser import parse_type
from nessie.tool import cli
from nessie.tool.timing import calibrate

PATH = ROOT / "docs" / "scheduling.md"
PAGE = PATH.read_text("utf-8")
OTHERS = re.findall(r"^    nessie (.*)$", PAGE, re.MULTILINE)
ROWS = re.findall(r"^\| `(let .*?)` \| (\w+), (\w+) \| `(.*?)` \|", PAGE, re.MULTILINE)
PERMUTED = re.findall(r"^\| `([^|]*?)` \| `([A-Z ]+)` \|", PAGE, re.MULTILINE)
TYPE = "([float], [float], [int], [[float]])"


@pytest.mark.parametrize("command", OTHERS)
def test_other_commands_run(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nesl_examples").symlink_to(ROOT / "nesl_examples")
    small = calibrate.Computer(large=1000, short=100, runs=1)
    monkeypatch.setattr(calibrate, "Computer", lambda threads: small)
    if "here.json" in command and "calibrate" not in command:
        assert cli.main(["doctor", "--calibrate", "-o", "here.json"]) == 0
    assert cli.main(shlex.split(command)) == 0


@pytest.mark.parametrize(("program", "first", "second", "code"), ROWS)
def test_rows_of_the_table(program: str, first: str, second: str, code: str) -> None:
    text = f"function main(xs, ws, is, m) = {program};".replace("\\|", "|")
    job = Job(entry="main", argument=parse_type(Source("type", TYPE)))
    graphs = run_deep(lambda: compile_program(job, TEXT, Source("row", text), pass_named("graph")))
    pairs = [pair for region in explain.explain(graphs, CPU).regions for pair in region.pairs
             if (pair.first, pair.second) == (first, second)]
    assert [pair.rule or pair.reason for pair in pairs] == [code]


@pytest.mark.parametrize(("program", "launched"), PERMUTED)
def test_permutations(program: str, launched: str) -> None:
    source = Source("row", f"function main(xs, ws, is, w) = {program};")
    job = Job(entry="main", argument=parse_type(Source("type", "([float], [float], [int], [float])")))
    flat = run_deep(lambda: compile_program(job, TEXT, source, pass_named("pull")))
    kernels = {kernel.name: kernel for kernel in flat.kernels}
    runs = [s for function in flat.functions for s in scope.statements(function.body) if isinstance(s, ir.Run)]
    assert " ".join(type(kernels[run.kernel].binds[0].soac).__name__.upper() for run in runs) == launched


def test_every_rule_and_reason_is_on_the_page() -> None:
    codes = re.findall(r"^    ([a-z]+(?:-[a-z]+)*(?:, [a-z]+)?)   ", fusible.__doc__ or "", re.MULTILINE)
    reasons = [reason for code in codes for reason in code.split(", ")]
    assert len(reasons) > 12
    for reason in [*reasons, witness.MISSING_HOST, witness.CIRCLE, witness.TOO_LARGE, explain.WISH]:
        assert f"`{reason}`" in PAGE, reason
    for name, _ in RULES:
        assert re.search(rf"`{name}`|`\w*{name}-\w+`|`\w+-{name}`", PAGE), name


def test_the_page_shows_commands() -> None:
    assert len(OTHERS) > 5
    assert len(ROWS) > 20
    assert len(PERMUTED) == 5
