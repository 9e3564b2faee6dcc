"""Tuning: its files, thresholds from measurements, and the command that measures."""
from __future__ import annotations

import io
import math
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.api.calls import Calls
from nessie.base.source import NessieError, Source
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse_exp
from nessie.syntax.parse import parse as parse_syntax
from nessie.tool.cli import main
from nessie.tool.command_line import parse_command_line
from nessie.tool.timing.tune import sample
from nessie.tuning.file import ITEMS, Threshold, Tuned, Tuning, machine, parse, read, show
from nessie.tuning.fit import Measured, fit
from nessie.tuning.shapes import Shape, definitions, shape_of

PICK = "function pick(xs, is) : ([float],[int]) -> [float] = let a = {exp(x) + sin(x) : x in xs} in {a[i] : i in is};"
ARGUMENTS = ("{float(i) / float(n) : i in [0:n]}", "{rem(i * 7919, n) : i in [0:m]}")
SHARE = ir.Tunable("pick.it.pulled", "share", 8)
SUB8 = (ir.Tunable("sums.ys.sub8", "n", 4096), ir.Tunable("sums.ys.sub8_longest", "longest", 64))

FILE = """\
machine "{}"
program "pick.nesl" pick
choice pick.it {{
  pulled share = {}
  pulled few = 0
  items
}}
"""
TEXT = """\
machine "a machine, 2 cores"
program "pick.nesl" pick
choice pick.it {
  pulled share = 12        // 1.02 x the best
  items
}
choice sums.ys {
  sub8 n = 100
  sub8 longest = 50
  items
}
"""


def parsed(text: str) -> Tuning:
    return parse(Source("x.tuning", text))


def failed(text: str) -> str:
    with pytest.raises(NessieError) as raised:
        tuning = parsed(text)
        tuning.values((SHARE, *SUB8), ("pick", "sums"))
    return str(raised.value)


# Files ------------------------------------------------------------------------------------------


def test_a_file_says_thresholds_by_bindings() -> None:
    tuning = parsed(TEXT)
    assert parsed("# all\n" + TEXT.replace("//", "#").replace("choice pick.it {", "choice pick.it { # its")) == tuning
    assert tuning == Tuning("a machine, 2 cores", "pick.nesl", "pick", (
        Tuned("pick.it", (Threshold("pulled", "share", 12),)),
        Tuned("sums.ys", (Threshold("sub8", "n", 100), Threshold("sub8", "longest", 50)))))
    assert parsed(show(tuning)) == tuning
    assert tuning.values((SHARE, *SUB8), ("pick", "sums")) == {
        "pick.it.pulled": 12, "sums.ys.sub8": 100, "sums.ys.sub8_longest": 50}
    assert tuning.values((SHARE,), ("pick",)) == {"pick.it.pulled": 12}         # of other programs nothing is asked


@pytest.mark.parametrize("before, after, message, line, word", [
    ("pick.it {", "pick.at {", "there is no choice pick.at", 3, "pick.at"),
    ("pulled share", "pulld share", "pick.it has no version pulld with a threshold for share", 4, "pulld share = 12"),
    ("pulled share", "pulled n", "pick.it has no version pulled with a threshold for n", 4, "pulled n = 12"),
    ("pulled share", "pulled width", "what the version's threshold is compared with is expected here: n, total", 4,
     "width"),
    ("= 12", "= 1.5", "a threshold is a whole number, and not negative", 4, "1.5"),
    ("= 12", "= -1", "a threshold is a whole number, and not negative", 4, "-"),
    ("  items\n}\nchoice", "}\nchoice", "'items' is expected here: it is the last of every choice", 5, "}"),
    ("  items\n}\nchoice", "  pulled share = 3\n  items\n}\nchoice", "pulled share is twice in this file", 5,
     "pulled share = 3"),
    ("choice sums.ys", "choice pick.it", "pick.it is twice in this file", 7, "pick.it"),
    ('machine "', 'machin "', "'machine' is expected here: machine \"NAME\"", 1, "machin"),
    ("choice pick", "version pick", "'choice' is expected here", 3, "version"),
])
def test_a_wrong_file_is_an_error_with_its_line(before: str, after: str, message: str, line: int, word: str) -> None:
    told = failed(TEXT.replace(before, after, 1))
    assert message in told
    assert f"--> x.tuning:{line}:" in told
    shown = told.splitlines()
    marked = next(at for at, text in enumerate(shown) if re.fullmatch(r"\s*\| *\^+", text))
    carets = shown[marked].index("^")
    assert shown[marked - 1][carets:carets + shown[marked].count("^")] == word


def test_another_machine_is_a_warning() -> None:
    (doubt,) = parsed(TEXT).doubts("this one")
    assert "measured on another machine than this" in doubt and "x.tuning:1:9" in doubt
    assert parsed(TEXT).doubts("a machine, 2 cores") == []
    assert read("none") == ITEMS and ITEMS.doubts("any") == []


# Fitting ----------------------------------------------------------------------------------------


def measured(x: int, version: float, rest: float, at_least: bool = True) -> Measured:
    """A version that runs where x is at least the tunable f.b.v, or at most."""
    condition = parse_exp(f"{x} >= f.b.v" if at_least else f"{x} <= f.b.v")
    return Measured({"v": version, "items": rest}, [{"v": condition}])


@pytest.mark.parametrize("crossing", [3, 20, 700])
@pytest.mark.parametrize("at_least", [True, False])
def test_a_threshold_is_where_the_times_cross(crossing: int, at_least: bool) -> None:
    xs = [2 ** k for k in range(12)]
    points = [measured(x, crossing / x if at_least else x / crossing, 1.0, at_least) for x in xs]
    found = fit(points, {"f.b.v": 10 ** 9 if at_least else 0})
    assert crossing / 2 <= found.thresholds["f.b.v"] <= crossing * 2
    assert found.mean == found.worst == 1.0


def test_the_shipped_threshold_stays_where_another_gains_nothing() -> None:
    points = [measured(x, 20 / x, 1.0) for x in (1, 10, 100)]
    assert fit(points, {"f.b.v": 50}).thresholds == {"f.b.v": 50}
    assert 10 < fit(points, {"f.b.v": 5}).thresholds["f.b.v"] <= 100


@pytest.mark.parametrize("at_least", [True, False])
def test_a_version_that_is_never_faster_never_runs(at_least: bool) -> None:
    for version, rest, wanted in ((1.0, 3.0, "v"), (3.0, 1.0, "items")):
        points = [measured(x, version, rest, at_least) for x in (1, 5, 9)]
        found = fit(points, {"f.b.v": 4})
        assert {version for point in points for version in point.taken(found.thresholds)} == {wanted}


def test_a_large_loss_counts_more_than_several_small_ones() -> None:
    points = [measured(2, 1.0, 1.3), measured(3, 1.0, 1.3), measured(4, 1.0, 1.3), measured(5, 3.0, 1.0)]
    found = fit(points, {"f.b.v": 0})
    assert found.thresholds["f.b.v"] == 6 and found.worst == pytest.approx(1.3)
    assert found.mean == pytest.approx(1.3 ** 0.75)


def test_what_was_not_measured_is_not_said() -> None:
    """A version that is faster on each shape runs on these, and where it was not measured by the nearest of them."""
    condition = [{"v": parse_exp("3 * f.b.v <= 12")}]
    assert fit([Measured({"v": 1.0, "items": 3.0}, condition)], {"f.b.v": 8}).thresholds == {"f.b.v": 4}
    assert fit([Measured({"v": 3.0, "items": 1.0}, condition)], {"f.b.v": 2}).thresholds == {"f.b.v": 5}


def test_arguments_of_one_shape_are_measured_once(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", str(program), "-e", "pick", "[1.0]", "[0]"]) == 0
    out, err = capsys.readouterr()
    assert "warning: no ARG depends on a shape: none has n, m, k or lengths" in err and "hint: " in err
    assert err.count("pick.it: pulled") == 1 and "share = 0" not in out
    assert main(["tune", str(program), "-e", "pick", "[1.0]", "[0]", "--shapes", "5x5,6x6"]) == 0
    assert capsys.readouterr().err.count("pick.it: pulled") == 1


def test_two_thresholds_are_found_together() -> None:
    """A version that is fast where both hold: as many as that, and no longer than that."""
    points = [Measured({"v": 1.0 if n >= 20 and longest <= 6 else 3.0, "items": 2.0},
                       [{"v": parse_exp(f"{n} >= f.b.v and {longest} <= f.b.v_longest")}])
              for n in (2, 10, 40, 100) for longest in (1, 4, 9, 50)]
    found = fit(points, {"f.b.v": 0, "f.b.v_longest": 50})
    assert 10 < found.thresholds["f.b.v"] <= 40 and 4 <= found.thresholds["f.b.v_longest"] < 9
    assert found.worst == 1.0


def test_no_other_threshold_is_better() -> None:
    """By trying all, on measurements that are drawn."""
    draw = random.Random(3)
    for _ in range(200):
        at_least = draw.random() < 0.5
        drawn = [measured(draw.randrange(1, 40), draw.uniform(1, 3), draw.uniform(1, 3), at_least)
                 for _ in range(5)]
        found = fit(drawn, {"f.b.v": draw.randrange(50)})
        best = min(lost(drawn, {"f.b.v": threshold}) for threshold in range(60))
        assert lost(drawn, found.thresholds) <= best + 0.0201


def test_all_that_a_threshold_is_compared_with_counts() -> None:
    """A tunable of two comparisons, and a choice that a run meets twice: the crossing lies between all sizes."""
    twice = [Measured({"v": 20 / x, "items": 1.0}, [{"v": parse_exp(f"{x} >= f.b.v or {3 * x} >= f.b.v and 1 >= 2")}])
             for x in (1, 10, 100)]
    assert 10 < fit(twice, {"f.b.v": 10 ** 9}).thresholds["f.b.v"] <= 100
    met = [Measured({"v": 20 / x, "items": 1.0}, [{"v": parse_exp(f"{y} >= f.b.v")} for y in (x, 2 * x)])
           for x in (1, 10, 100)]
    assert 20 < fit(met, {"f.b.v": 10 ** 9}).thresholds["f.b.v"] <= 100
    assert met[1].taken({"f.b.v": 15}) == ["items", "v"]
    assert met[1].loss({"f.b.v": 15}) == pytest.approx(math.log(1.5))


TWICE = """
function twice(xs, is, k) : ([float], [int], int) -> [float] =
  if k == 0 then [] float
  else let a = {exp(x) + sin(x) : x in xs}; ys = {a[i] : i in is} in ys ++ twice(ys, take(is, 2), k - 1);
"""


def test_a_choice_that_a_run_meets_twice_has_two_conditions() -> None:
    options = parse_command_line(["tune", "twice.nesl", "-e", "twice", ARGUMENTS[0], ARGUMENTS[1], "2"])
    found = sample(options, parse_syntax(Source("twice.nesl", TWICE)), Shape((1000, 999)))
    (measured,) = found.choices.values()
    taken = measured.taken({t.name: t.value for t in found.tunables})
    assert taken == ["items", "pulled"] and len(measured.conditions) == 2


def lost(points: list[Measured], thresholds: Any) -> float:
    total = 0.0
    for point in points:
        (version,) = point.taken(thresholds)
        total += math.log(point.seconds[version] / min(point.seconds.values())) ** 2
    return math.sqrt(total / len(points))


# The command ------------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "pick.nesl"
    path.write_text(PICK)
    return path


def test_tune_writes_a_file_that_runs_take(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "pick.tuning"
    assert main(["tune", str(program), "-e", "pick", *ARGUMENTS, "--shapes", "200x2,200x100,1e4x3", "-o",
                 str(out)]) == 0
    told = capsys.readouterr().err
    assert re.search(r"200x2: pick\.it: pulled [\d.]+ ms, items [\d.]+ ms\n", told)
    tuning = parse(Source("pick.tuning", out.read_text()))
    assert (tuning.machine, tuning.program, tuning.entry) == (machine(), "pick.nesl", "pick")
    assert [choice.name for choice in tuning.choices] == ["pick.it"]
    assert took(program, out, capsys) in ("pulled", "items")


def took(program: Path, tuning: Path | str, capsys: pytest.CaptureFixture[str]) -> str:
    """The version that a run on 50 elements and 5 gathers takes."""
    xs = "[" + ", ".join([f"{i}.0" for i in range(50)]) + "]"
    assert main(["profile", str(program), "-e", "pick", xs, "[1, 2, 3, 4, 5]", "--tuning", str(tuning)]) == 0
    found = re.search(r"pick\.it took (\w+) 1 time", capsys.readouterr().out)
    assert found
    return found[1]


def test_an_edited_threshold_changes_the_choice_without_compiling(
        program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tuning = tmp_path / "pick.tuning"
    text = FILE.format(machine(), 11)
    tuning.write_text(text)
    assert took(program, tuning, capsys) == "items"
    from nessie import driver

    def refuse(*_: Any) -> None:
        raise AssertionError("it is compiled once more")
    monkeypatch.setattr(driver, "built", refuse)
    tuning.write_text(text.replace("11", "10"))
    assert took(program, tuning, capsys) == "pulled"


def test_none_takes_no_version(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert took(program, "none", capsys) == "items"


def test_shapes_are_numbers_and_lengths_of_rows() -> None:
    assert shape_of("10x1e6", 10 ** 9) == Shape((10, 1_000_000)) and shape_of("7", 10) == Shape((7,))
    assert shape_of("power", 10 ** 9) == shape_of("power:1e5x10", 10 ** 9) == Shape((100_000, 10), True)
    for wrong in ("", "x", "10xten", "1x2x3x4", "-1", "1.5", "1e12", "power:", "power:5", "powr", "powr:5x5", "nan"):
        assert shape_of(wrong, 10 ** 9) is None, wrong
    assert [str(shape_of(text, 10 ** 9)) for text in ("1e3x2", "power:30x4")] == ["1000x2", "power:30x4"]
    for text, mean in (("1000x10", 10), ("power:1000x10", 10), ("power:99999x7", 7)):
        program = nessie.compile(definitions(shape_of(text, 10 ** 9) or Shape(()), True))
        lengths = np.asarray(program.lengths)
        assert len(lengths) == program.n and lengths.mean() == pytest.approx(mean, rel=0.05)
        assert (np.median(lengths) < mean / 3 and lengths.max() > 100 * mean) == text.startswith("power")


def test_tune_takes_rows_by_a_power_law(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text("function rows(xs, rs) : ([float], [[int]]) -> [float] = "
                       "let a = {exp(x) + sin(x) : x in xs} in {sum({a[i] : i in r}) : r in rs};")
    assert main(["tune", str(program), "-e", "rows", ARGUMENTS[0], "{{rem(i * j, n) : i in [0:l]} : l in lengths; "
                 "j in [0:n]}", "--shapes", "50x4, power:100x10", "-o", str(tmp_path / "rows.tuning")]) == 0
    told = capsys.readouterr().err
    assert "50x4: rows." in told and "power:100x10: rows." in told


@pytest.mark.parametrize("words, message", [
    (["-e", "pick", *ARGUMENTS, "--target", "cudasim"], "the times of cudasim mean nothing: tune on cpu or cuda"),
    (["-e", "pick"], "tune needs -e ENTRY ARG..."),
    (["-e", "pick", *ARGUMENTS, "--shapes", "1e6x10, 10xten"], "--shapes: 10xten is not a shape of one to three"),
    (["-e", "pick", *ARGUMENTS, "--shapes", "1e6x10,"], "an empty word is not a shape of one to three sizes"),
    (["-e", "twice", "[n]", "--shapes", "3,4"], "twice has no versions: there is nothing to tune"),
])
def test_tune_says_what_is_wrong(program: Path, words: list[str], message: str,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(f"{PICK}\nfunction twice(v) : [int] -> [int] = {{2 * x : x in v}};")
    assert main(["tune", str(program), *words]) in (1, 2)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("shapes, message", [
    ("10x10,1e4", "error: shape 10000 has no m"), ("0x10", "error: shape 0x10: Divide by zero"),
    ("10x10,power:0x10", "error: shape power:0x10: Divide by zero")])
def test_errors_tell_the_shape(shapes: str, message: str, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", str(program), "-e", "pick", *ARGUMENTS, "--shapes", shapes]) in (1, 2)
    told = capsys.readouterr().err
    assert message in told and "--> argument 2:1:" in told and ("ms" not in told or "power" in shapes)


def test_names_of_the_program_are_no_numbers_of_shapes(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(f"{PICK}\nm = 5;")
    words = ["-e", "pick", ARGUMENTS[0], "{rem(i * k, n) : i in [0:m]; k in [0:m]}", "--shapes", "10"]
    assert main(["tune", str(program), *words]) == 0
    assert 'program "pick.nesl" pick' in capsys.readouterr().out


@pytest.mark.parametrize("path", ["none/x.tuning", "."])
def test_nothing_is_measured_that_cannot_be_written(path: str, program: Path, tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["tune", str(program), "-e", "pick", *ARGUMENTS, "--shapes", "10x10", "-o", path]) == 1
    told = capsys.readouterr().err
    assert f"error: cannot write {path}: " in told and "ms" not in told


def test_a_tuning_file_warns_and_fails_on_the_command_line(program: Path, tmp_path: Path,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    tuning = tmp_path / "pick.tuning"
    tuning.write_text('machine "another"\nprogram "pick.nesl" pick\nchoice pick.at {\n  items\n}\n')
    assert main(["run", str(program), "-e", "pick", "[1.0, 2.0]", "[1]", "--tuning", str(tuning)]) == 1
    told = capsys.readouterr().err
    assert "warning: these thresholds were measured on another machine" in told
    assert "error: there is no choice pick.at" in told and "there are pick.it" in told


@pytest.mark.parametrize("words", [["run", "--target", "reference"], ["compile", "--emit", "fused"], ["explain"],
                                   ["graph", "--format", "dot"]])
def test_a_file_with_a_wrong_name_is_an_error_whoever_reads_it(words: list[str], program: Path, tmp_path: Path,
                                                               capsys: pytest.CaptureFixture[str]) -> None:
    command, *more = words
    arguments = ["[1.0, 2.0]", "[1]"] if command == "run" else []
    tuning = tmp_path / "pick.tuning"
    for text in (FILE.format(machine(), 3).replace("pick.it", "pick.at"),
                 FILE.format(machine(), 3).replace("pick.it", "pik.it")):
        tuning.write_text(text)
        assert main([command, str(program), "-e", "pick", *arguments, *more, "--tuning", str(tuning)]) == 1
        told = capsys.readouterr().err
        assert "error: there is no choice pi" in told and "hint: there are pick.it" in told


def test_timing_tells_of_names_that_the_program_has_not(program: Path, tmp_path: Path,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    tuning = tmp_path / "pick.tuning"
    words = ["bench", str(program), "-e", "pick", "[1.0, 2.0]", "[1]", "--seconds", "0.01", "--tuning", str(tuning)]
    tuning.write_text(FILE.format(machine(), 123).replace("pick.it", "pick.at"))
    assert main(words) == 1 and "there is no choice pick.at" in capsys.readouterr().err
    tuning.write_text(FILE.format(machine(), 123))
    assert main(words) == 0


def test_what_is_shown_is_what_will_run(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tuning = tmp_path / "pick.tuning"
    tuning.write_text(FILE.format(machine(), 123))

    def shown(*words: str) -> str:
        assert main([words[0], str(program), "-e", "pick", *words[1:]]) == 0
        return capsys.readouterr().out
    assert "(share = 123, few = 0)" in shown("explain", "--tuning", str(tuning))
    assert "pulled" not in shown("explain", "[1.0, 2.0]", "[1]", "--tuning", str(tuning))       # decided by sizes
    assert "tunable pick.it.pulled : share = 123" in shown("compile", "--emit", "fused", "--tuning", str(tuning))
    assert "    items always\n" in shown("explain", "--tuning", "none")
    for form in ("flat", "fused"):
        assert "pulled" not in shown("compile", "--emit", form, "--tuning", "none")
    assert took(program, "none", capsys) == "items"


def test_a_file_of_another_program_is_a_warning(program: Path, tmp_path: Path,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    tuning, text = tmp_path / "pick.tuning", FILE.format(machine(), 3)
    program.write_text(f"{PICK}\nfunction twice(v) : [int] -> [int] = {{2 * x : x in v}};\npick([1.0], [0]);")
    for changed, words, doubt, word in (
            ('"pick.nesl" pick', ["-e", "pick", "[1.0]", "[0]"], "", ""),
            ('"other.nesl" pick', ["-e", "pick", "[1.0]", "[0]"], "are of another program than pick.nesl",
             '"other.nesl"'),
            ('"pick.nesl" pick', ["-e", "twice", "[1]"], "are of another function than twice", "pick"),
            ('"pick.nesl" pick', [], "", "")):
        tuning.write_text(text.replace('"pick.nesl" pick', changed))
        assert main(["run", str(program), *words, "--tuning", str(tuning)]) == 0
        told = capsys.readouterr().err
        assert told.startswith(f"warning: these thresholds {doubt}") if doubt else told == ""
        assert not doubt or told.splitlines()[-1].count("^") == len(word)


def test_hints_name_the_target_and_what_is_meant(program: Path, tmp_path: Path,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    tuning = tmp_path / "pick.tuning"
    tuning.write_text(FILE.format(machine(), 3).replace("pulled share", "pulled shre"))
    assert main(["run", str(program), "-e", "pick", "[1.0]", "[0]", "--tuning", str(tuning)]) == 1
    assert "did you mean share?" in capsys.readouterr().err
    tuning.write_text(FILE.format(machine(), 3))
    program.write_text("function pick(xs, is) : ([float], [int]) -> [float] = {xs[i] : i in is};")
    assert main(["run", str(program), "-e", "pick", "[1.0]", "[0]", "--tuning", str(tuning)]) == 1
    assert "hint: the program has none for the target cpu" in capsys.readouterr().err


def test_the_prompt_takes_thresholds(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """In forms that are calls of the function, too."""
    tuning = tmp_path / "pick.tuning"
    low = tmp_path / "low.tuning"
    tuning.write_text(FILE.format("another", 60))
    low.write_text(FILE.format(machine(), 40))
    call = ":profile pick({float(i) : i in [0:100]}, [1, 2])"
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join([
        PICK, ":tune", f":tune {low}", call, f":tune {tuning}", ":tune", call, ":explain pick",
        "y = pick([1.0], [0]);", ":tune none",
        ":tune", ":tune nowhere"])))
    main([])
    out, err = capsys.readouterr()
    assert "thresholds are as they ship" in out and "pulled share = 60" in out and "no versions are taken" in out
    assert re.findall(r"pick.it took (\w+) 1 time", out) == ["pulled", "items"] and "(share = 60, few = 0)" in out
    assert "y = [3.559" in out and "measured on another machine" in err and "cannot read nowhere" in err


# Python -----------------------------------------------------------------------------------------


def test_python_takes_thresholds_by_the_name_of_the_function(tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, int]] = []
    limits = Calls.host_limits

    def watched(self: Any, *given: Any) -> Any:
        found = limits(self, *given)
        seen.append(dict(found.tuning))
        return found
    monkeypatch.setattr(Calls, "host_limits", watched)
    tuning = tmp_path / "pick.tuning"
    tuning.write_text(FILE.format(machine(), 12345))
    nessie.compile(PICK, tuning=str(tuning)).pick(np.arange(10.0), np.array([1]))
    assert 12345 in seen[-1].values()
    tuning.write_text(FILE.format(machine(), 12345).replace("choice pick.", "choice pick.x"))
    with pytest.raises(nessie.NessieError, match=r"there is no choice pick\.x[\s\S]*hint: there are pick\.it$"):
        nessie.compile(PICK, tuning=str(tuning)).pick(np.arange(10.0), np.array([1]))


def test_python_takes_tuning_and_all_versions_give_the_same_bits(tmp_path: Path) -> None:
    tuning = tmp_path / "pick.tuning"
    xs, places = np.random.default_rng(0).normal(size=300), np.arange(0, 300, 7)
    found = []
    for share in (None, "none", "0", "1000000"):
        options: dict[str, Any] = {"tuning": share} if share == "none" else {}
        if share not in (None, "none"):
            tuning.write_text(FILE.format(machine(), share))
            options = {"tuning": str(tuning)}
        for threads in (1, 2):
            program = nessie.compile(PICK, threads=threads, **options)
            found += [np.asarray(program.pick(xs, places)).tobytes() for _ in range(300 if threads == 1 else 2)]
    assert len(set(found)) == 1
    tuning.write_text(FILE.format("another", 3))
    with pytest.warns(UserWarning, match="measured on another machine"):
        nessie.compile(PICK, tuning=str(tuning))
    with pytest.raises(nessie.NessieError, match="tuning is the name of a file"):
        nessie.compile(PICK, tuning=3)  # type: ignore[arg-type]
