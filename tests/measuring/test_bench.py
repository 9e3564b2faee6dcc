"""`nessie bench`: what it times, prints, saves and compares; the predictions beside what kernels took. No test looks at
a time that was measured."""
from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nessie.base.source import NessieError, Source, Span
from nessie.cudagen.cuda.cudasim import compiler as cudasim
from nessie.lambda_cu.running.stats import KernelStats
from nessie.measuring.kernels import KernelTimes, beside, misses
from nessie.measuring.predicted import Prediction, predictions
from nessie.measuring.saved import ALIKE, FASTER, SLOWER, Change, Result, Results, as_json, changes, doubts, read, show
from nessie.measuring.table import bytes_text, changes_text, kernels_text, results_text, time_text
from nessie.pipeline import Job
from nessie.running.ready import Ready
from nessie.running.targets import Target
from nessie.schedule.cost.cost import cost, kernel_costs
from nessie.schedule.cost.problem import Problem
from nessie.schedule.cost.profiles import CPU
from nessie.schedule.solver.solve import solve
from nessie.session.session import Session
from nessie.syntax.parser import parse_expression
from nessie.tool.cli import main
from nessie.tool.commands.testing import define_all
from nessie.tool.timing.cases import prepared

PROGRAM = """\
% Squares and what else: squares([1, 2]) => [1, 4]
  squares([] int) => []
  sum(squares([0:10])) => 285
  squares([1 / 0]) => error %
function squares(v) = {x * x : x in v};
function told(x) = let a = print_string("told") in x;
function kept(v) : [float] -> [float] = let w = {x in v | x > 0.5} in {x / sum(w) : x in w};
function fails(n) = {100 / (i - 2) : i in [0:n]};
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("p.nesl").write_text(PROGRAM)
    return "p.nesl"


def bench(*words: str, status: int = 0) -> None:
    assert main(["bench", *words, *([] if "--seconds" in words else ["--seconds", "0.001"])]) == status


# The command ------------------------------------------------------------------------------------


def test_examples_are_timed(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """But those that are to fail."""
    bench(file, "--threads", "2")
    out, err = capsys.readouterr()
    head, titles, *rows = out.splitlines()
    assert (head, err) == ("p.nesl on cpu, 2 threads", "")
    assert titles.split("  ")[0] == "input" and "95 % interval" in titles
    time = r"\d+\.\d\d (ns|us|ms|s)"
    row = rf"(.*?) +{time} +\d+\.\d\d \.\. {time} +\d+( \* [\d,]+)? +\d+\.\d\d s"
    assert [m[1] for line in rows if (m := re.fullmatch(row, line))] == [
        "squares([1, 2])", "squares([] int)", "sum(squares([0:10]))"] and len(rows) == 3


@pytest.mark.parametrize("target", ["reference", pytest.param("cudasim", marks=pytest.mark.skipif(
    not cudasim.found(), reason="there is no C++ compiler"))])
def test_other_targets(target: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    bench(file, "--target", target, "--kernels", "-e", "squares", "[0:100]")
    out = capsys.readouterr().out
    assert out.startswith(f"p.nesl on {target}\n") and "squares [0:100]  " in out
    assert ("these times say nothing about a GPU" in out) == (target == "cudasim")
    assert re.search(r"^  K1 +1 +\S+ [a-z]s +- +- +1\.6 kB +1\.6 kB  p\.nesl:5:24$", out, re.MULTILINE)
    assert f"what kernels take on {target} means nothing: bytes alone are compared" in out


def test_named_inputs_and_calls(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    bench(file, "--json", "--input", "two=squares([1, 2])", "--input", "other = 1 + #squares([5])", "--input",
          "two=squares([3])")
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["inputs"]] == ["two", "other", "two (2)"]
    assert {key: found[key] for key in ("file", "target")} == {"file": "p.nesl", "target": "cpu"}
    Path("v.json").write_text("[1, 2, 3]")
    bench(file, "--json", "-e", "squares", "@v.json")
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["inputs"]] == ["squares @v.json"]


def test_a_file_of_times_is_compared(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All inputs before were as fast as a clock can tell, and none after."""
    bench(file, "--save", "before.json")
    data = json.loads(Path("before.json").read_text())
    assert [one["name"] for one in data["inputs"]] == ["squares([1, 2])", "squares([] int)", "sum(squares([0:10]))"]
    assert read("before.json") == replace(read("before.json")) and as_json(read("before.json")) == data
    data["inputs"][0]["seconds"] = [1e-12] * 20
    data["inputs"][1]["seconds"] = [1e6] * 20
    data["inputs"][2]["name"] = "another"
    Path("other.json").write_text(json.dumps(data | {"machine": "a toaster"}))
    capsys.readouterr()
    bench(file, "--against", "other.json")
    out, err = capsys.readouterr()
    verdicts = out.split("\n\n")[1].splitlines()
    assert [line.split("  ")[0] for line in verdicts] == ["input", "squares([1, 2])", "squares([] int)"]
    assert verdicts[1].endswith("  slower") and verdicts[2].endswith("  faster")
    assert "other.json: that was measured with another machine: a toaster; now it is" in err
    bench(file, "--against", "other.json", "--json")
    (one, two, three) = json.loads(capsys.readouterr().out)["inputs"]
    assert (one["against"]["verdict"], two["against"]["verdict"], "against" in three) == ("slower", "faster", False)


def test_another_program_takes_turns(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what has a name in both is compared, in as many rounds."""
    Path("old.nesl").write_text("function squares(v) = {x ^ 2 : x in v};\n% squares([1, 2]) => [1, 4]\nabs(1) => 1 %")
    bench(file, "--against", "old.nesl")
    times, verdicts = capsys.readouterr().out.split("\n\n")
    assert len(times.splitlines()) == 5
    assert [line.split("  ")[0] for line in verdicts.splitlines()] == ["input", "squares([1, 2])"]
    bench(file, "--against", "old.nesl", "--json", "--input", "a=squares([0:100])")
    (found,) = json.loads(capsys.readouterr().out)["inputs"]
    assert found["against"]["verdict"] in (SLOWER, FASTER, ALIKE) and found["against"]["median"] > 0


def test_kernels_beside_predictions(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    bench(file, "--kernels", "-e", "kept", "{float(i) : i in [0:1000]}", "--json")
    (found,) = json.loads(capsys.readouterr().out)["inputs"]
    kernels = found["kernels"]
    assert [kernel["name"] for kernel in kernels] == ["K1", "K2", "K3"]
    assert all(kernel["seconds"] > 0 and kernel["predicted"]["seconds"] > 0 for kernel in kernels)
    assert {(p["source"], p["line"]) for kernel in kernels for p in kernel["places"]} == {("p.nesl", 7)}


@pytest.mark.parametrize(("words", "status", "message"), [
    ([], 2, "bench needs FILE"),
    (["none.nesl"], 1, "cannot read none.nesl"),
    (["p.nesl", "-e", "squares"], 2, "squares takes [a] :: (a in number), and no ARG is given: there is no call"),
    (["p.nesl", "-e", "squares", "[1]", "--input", "a=1"], 2, "-e times a call, and --input others: not both"),
    (["p.nesl", "--input", "squares([1])"], 2, "squares([1]) is not NAME=EXPR"),
    (["p.nesl", "--input", "a=squares(2)"], 1, "input a:1:8"),
    (["p.nesl", "--input", "a=nothing(2)"], 1, "nothing"),
    (["p.nesl", "--input", "a=told(2)"], 1, "a has effects, which every run would repeat: it is not timed"),
    (["p.nesl", "--input", "a=fails(5)"], 1, "Divide by zero."),
    (["p.nesl", "--input", "a=1", "--against", "none.json"], 1, "cannot read none.json: No such file"),
    (["p.nesl", "--input", "a=1", "--against", "text.json"], 1, "text.json holds no results of nessie bench"),
    (["p.nesl", "--input", "a=1", "--against", "list.json"], 1, "list.json holds no results of nessie bench"),
    (["p.nesl", "--input", "a=1", "--against", "b.json"], 1, "b.json has none of these inputs\nhint: it has b"),
    (["p.nesl", "--against", "run.nesl"], 1, "run.nesl has none of these inputs\nhint: it has g(0)"),
    (["p.nesl", "--against", "empty.nesl"], 1, "empty.nesl has none of these inputs\nhint: it has no examples"),
    (["p.nesl", "--against", "none.nesl"], 1, "cannot read none.nesl"),
    (["p.nesl", "--input", "a=1", "--save", "no/b.json"], 1, "cannot write no/b.json"),
    (["empty.nesl"], 2, "there is nothing to time: the program's comments have no examples"),
    (["run.nesl"], 1, "run.nesl:1:3"),
])
def test_errors(words: Sequence[str], status: int, message: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("list.json").write_text("[1]")
    Path("text.json").write_text(PROGRAM)
    Path("b.json").write_text(show(results(input("b", 1.0))))
    Path("empty.nesl").write_text("function g(x) = x;")
    Path("run.nesl").write_text("% g(0) => 1 %\nfunction g(x) = 1 / x;")
    bench(*words, status=status)
    assert message in capsys.readouterr().err


# What is timed ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("expression", "arguments"), [
    ("squares([1, 2])", 1), ("kept([0.25, 1.0])", 1), ("sum(squares([1]))", 0), ("squares([1])[0]", 0)])
def test_arguments_of_calls_are_made_before(expression: str, arguments: int) -> None:
    session = Session(Target("reference"))
    define_all(session, Source("p.nesl", PROGRAM))
    case = prepared(session, parse_expression(Source("t", expression)))
    assert len(case.arguments) == arguments


def test_random_numbers_are_the_same_in_every_run() -> None:
    session = Session(Target("reference"))
    program = prepared(session, parse_expression(Source("t", "{rand(i) : i in dist(1000000, 5)}"))).program
    ready = Ready(session.target, session.target.compiled_for(session.job, program, []), [])
    assert str(ready.run()) == str(ready.run())


# Numbers ------------------------------------------------------------------------------------------


def input(name: str, *seconds: float) -> Result:
    return Result(name, seconds, 3, 0.5)


def results(*inputs: Result) -> Results:
    return Results("0", "p.nesl", "cpu", 2, "a machine", inputs)


STEADY = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.0, 1.01, 0.99]


@pytest.mark.parametrize(("factor", "verdict"), [
    (1.0, ALIKE), (1.05, ALIKE), (0.96, ALIKE), (1.2, SLOWER), (0.8, FASTER)])
def test_verdicts(factor: float, verdict: str) -> None:
    now = input("a", *[factor * x for x in STEADY])
    (change,) = changes(results(input("a", *STEADY), input("gone", 1.0)), results(now, input("new", 1.0)))
    assert (change.verdict, change.times) == (verdict, pytest.approx(factor))
    assert change.ratio.low <= factor <= change.ratio.high


def test_rounds_are_compared_one_by_one() -> None:
    """However much they differ among themselves: what else the machine does meets both."""
    wild = [1.0, 9.0, 2.0, 30.0, 4.0, 1.5, 2.5, 8.0, 16.0, 3.0]
    slower = [1.1 * x for x in wild]
    found = Change("a", input("a", *wild), input("a", *slower), in_turn=True)
    assert (found.verdict, found.times) == (SLOWER, pytest.approx(1.1))
    assert Change("a", input("a", *wild), input("a", *slower)).verdict == ALIKE
    assert Change("a", input("a", *wild), input("a", *[1.01 * x for x in wild]), in_turn=True).verdict == ALIKE


def test_what_varies_much_shows_nothing() -> None:
    wide = [1.0, 2.0, 1.5, 3.0, 1.2, 1.1, 2.5, 1.0]
    assert Change("a", input("a", *wide), input("a", *[1.4 * x for x in wide])).verdict == ALIKE


def test_medians_lie_in_their_intervals() -> None:
    draw = random.Random(7)
    for count in (7, 25, 400, 1001):
        found = input("a", *[1.0 + draw.expovariate(1.0) + number / count for number in range(count)])
        assert found.interval.low <= found.median <= found.interval.high
        change = Change("a", found, input("a", *[draw.uniform(1.0, 9.0) for _ in range(count)]), in_turn=True)
        assert change.ratio.low <= change.times <= change.ratio.high


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    found = results(input("a", 1.0, 2.0, 4.0), input("b", 0.1))
    (tmp_path / "r.json").write_text(show(found))
    assert read(str(tmp_path / "r.json")) == found
    assert doubts(found, replace(found, target="cuda", threads=4)) == [
        "that was measured with another target: cpu; now it is cuda",
        "that was measured with another number of threads: 2; now it is 4"]
    for wrong in ("{", "{}", show(found).replace("2.0", "-2.0"), show(found).replace("0.1", "true or false")):
        (tmp_path / "r.json").write_text(wrong)
        with pytest.raises(NessieError, match="holds no results of nessie bench"):
            read(str(tmp_path / "r.json"))


def test_tables() -> None:
    steady = input("a", *[x / 1000 for x in STEADY])
    assert results_text(results(steady, input("long name", 2.0))) == (
        "p.nesl on cpu, 2 threads\n"
        "input       median    95 % interval  rounds  compiling\n"
        "a          1.00 ms  0.99 .. 1.01 ms  10 * 3     0.50 s\n"
        "long name   2.00 s   2.00 .. 2.00 s   1 * 3     0.50 s\n"
        "of fewer than 7 rounds no interval is told: it is the least and the greatest time\n")
    assert changes_text([Change("a", steady, input("a", *[x / 500 for x in STEADY]))]) == (
        "input   before      now  times  95 % interval\n"
        "a      1.00 ms  2.00 ms   2.00   1.96 .. 2.04  slower\n")
    assert [time_text(x) for x in (2.5, 0.99951, 1.2e-5, 3e-9, 0.0)] == [
        "2.50 s", "999.51 ms", "12.00 us", "3.00 ns", "0.00 ns"]
    assert [bytes_text(x) for x in (0, 999, 1.6e6)] == ["0 B", "999 B", "1.6 MB"]


# Kernels ------------------------------------------------------------------------------------------

SOURCE = Source("p.nesl", "a + b\nc")
PLACES = (Span(SOURCE, 0, 1), Span(SOURCE, 4, 5), Span(SOURCE, 6, 7))


def kernel(name: str, seconds: float | None, predicted: float, moved: int = 1000, bytes: float = 1000.0) -> KernelTimes:
    return KernelTimes(name, PLACES, 2, 10, moved, seconds, Prediction(predicted, bytes))


def test_misses() -> None:
    far = [kernel("slow", 0.02, 0.01), kernel("quick", 0.1, 1.0), kernel("well", 1.0, 1.49), kernel("also", 1.49, 1.0),
           kernel("untimed", None, 1.0), KernelTimes("apart", (), 1, 1, 1, 5.0, None)]
    assert [one.name for one in misses(far)] == ["quick", "slow"]
    assert [one.times for one in far[-2:]] == [None, None]


def test_table_of_kernels() -> None:
    assert kernels_text("a", [kernel("K1", 0.002, 0.001, 5000), kernel("K2", 0.001, 0.001),
                              KernelTimes("f^apart", PLACES[:1], 1, 1, 16, 0.5, None)], "cpu") == (
        "a\n"
        "  kernel   launches  predicted   measured  times  bytes predicted   moved  at\n"
        "  K1              2    1.00 ms    2.00 ms   2.00           1.0 kB  5.0 kB  p.nesl:1:1, 1:5, 2:1\n"
        "  K2              2    1.00 ms    1.00 ms   1.00           1.0 kB  1.0 kB  p.nesl:1:1, 1:5, 2:1\n"
        "  f^apart         1          -  500.00 ms      -                -    16 B  p.nesl:1:1\n"
        "\n"
        "  predicted 1.5 x too long or too short:\n"
        "  K1 took 2.00 x as long as predicted; it moved 5.00 x the bytes: p.nesl:1:1, 1:5, 2:1\n")
    assert kernels_text("a", [], "cpu") == "a: no kernel runs\n"
    many = kernels_text("a", [kernel(f"K{n}", 2.0, 1.0) for n in range(13)], "cpu")
    assert many.count("the bytes are as predicted") == 10 and many.endswith("  and 3 more\n")


def case_of(program: str, call: str) -> tuple[Job, Any]:
    session = Session(Target("reference"))
    define_all(session, Source("p.nesl", program))
    return session.job, prepared(session, parse_expression(Source("t", call)))


def test_predictions_are_for_the_sizes_of_the_call() -> None:
    """Eight bytes read and eight written for each element, at the prices of the machine; twice as many, twice as
    long."""
    for count in (1000, 2000):
        job, case = case_of(PROGRAM, f"squares([0:{count}])")
        (found,) = predictions(job, case.program, case.arguments).values()
        assert found.bytes == 16 * count
        assert found.seconds * 1e9 == pytest.approx(CPU.launch + 16 * count / CPU.bandwidth)
    job, case = case_of(PROGRAM, "squares([0:1000])")
    (found,) = predictions(replace(job, fuse="none"), case.program, case.arguments).values()
    assert found.bytes == 16_000


def test_prices_of_kernels_are_those_of_the_schedule() -> None:
    """But for synchronisations."""
    from nessie import driver, forms, pipeline
    job, case = case_of(PROGRAM, "kept({float(i) : i in [0:100]})")
    graphs = driver.compile_program(job, forms.MONO, case.program, pipeline.pass_named("graph"))
    for graph in graphs:
        problem = Problem(graph, CPU)
        for clusters in (solve(problem).clusters, problem.single()):
            whole, parts = cost(problem.traffic, CPU, clusters), kernel_costs(problem.traffic, CPU, clusters)
            assert sum([part.total for part in parts]) + CPU.sync * whole.syncs == pytest.approx(whole.total)
            assert sum([part.bytes for part in parts]) == pytest.approx(whole.bytes)
            assert sum([part.launches for part in parts]) == whole.launches > 0


def test_the_median_of_runs_counts() -> None:
    session = Session(Target("reference"))
    define_all(session, Source("p.nesl", PROGRAM))
    case = prepared(session, parse_expression(Source("t", "squares([1, 2])")))
    built = session.target.compiled_for(session.job, case.program, case.arguments)
    ready = Ready(session.target, built, case.arguments)
    name = ready.program.kernels[0].name
    runs = [{name: KernelStats(3, 6, 48, seconds)} for seconds in (5.0, 1.0, 2.0)]
    (found,) = beside(ready.program, runs, {name: Prediction(0.5, 10.0)}, timed=True)
    assert (found.seconds, found.launches, found.predicted) == (2.0, 3, Prediction(1.5, 30.0))
    assert found.times == pytest.approx(2.0 / 1.5)
    (found,) = beside(ready.program, runs, {}, timed=False)
    assert (found.seconds, found.predicted, found.times) == (None, None, None)
