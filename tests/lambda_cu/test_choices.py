"""Choices between versions: their text, what they must be, and that every version of one gives the same."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import cpu_device, execute, gpu_device

from nessie.base.source import IllFormed
from nessie.base.types import FLOAT, Seq
from nessie.base.values import flatten_value, plain_value
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.host.check import check as check_instructions
from nessie.cudagen.host.choices import measured
from nessie.cudagen.host.host import HostLimits, Stats
from nessie.cudagen.host.text import parse as parse_instructions
from nessie.cudagen.host.text import show as show_instructions
from nessie.cudagen.host.translate import translate
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.reference import reference
from nessie.lambda_cu.text.parser import parse
from nessie.lambda_cu.text.printer import show

TEXT = """\
tunable sums.ys.sub8 : n = 3
tunable sums.ys.short : longest = 4

kernel K1 (n : int, m : int, offsets : [int; n+1], xs : [float; m]) -> [float; n] {
  let ys = SEG_REDUCE { (s, j, i) => xs[i] using xs } (0.0) { (x, y) => x + y } irregular(offsets, n, m)
  return ys
}

kernel K1_sub8 (n : int, m : int, offsets : [int; n+1], xs : [float; m])
    -> [float; n] by Levels([sub8, lane], Gen) {
  let ys = SEG_REDUCE { (s, j, i) => xs[i] using xs } (0.0) { (x, y) => x + y } irregular(offsets, n, m)
  return ys
}

function sums (n : int, offsets : [int; n+1], m : int, xs : [float; m])
    -> (size : int, result : [float; size]) {
  let ys : [float; n] = choose {
    sub8 if n >= sums.ys.sub8 and longest(&offsets) <= sums.ys.short {
      let ys_1 : [float; n] = run K1_sub8 (n, m, offsets, xs)
      return ys_1
    }
    many if n * 2 >= m and spread(&offsets) <= 1 {
      let ys_2 : [float; n] = run K1 (n, m, offsets, xs)
      return ys_2
    }
    items {
      let ys_3 : [float; n] = run K1 (n, m, offsets, xs)
      return ys_3
    }
  }
  return (n, ys)
}

entry sums : [[float]] -> [float]
"""

ROWS = [[[1.0, 2.0], [3.0]], [[1.0], [2.0, 3.0, 4.0, 5.0], [], [6.0]], [[1.0] * 5, [2.0], [3.0]],
        [[1.0], [2.0], [3.0], [4.0], [5.0] * 9], [], [[], []]]


def program() -> ir.Program:
    found = parse(TEXT)
    check(found)
    return found


def test_the_text_of_a_choice_is_read_back() -> None:
    assert show(program()) == TEXT
    assert parse(show(program())) == program()


def test_the_instructions_of_a_choice_are_read_back() -> None:
    made = translate(program())
    check_instructions(made)
    assert parse_instructions(show_instructions(made)) == made
    assert "decide" in show_instructions(made) and "tunable sums.ys.sub8 : n = 3" in show_instructions(made)


@pytest.mark.parametrize("version", ["sub8", "many", "items", "unheard-of"])
@pytest.mark.parametrize("rows", ROWS)
def test_every_version_gives_the_same_by_the_reference(version: str, rows: list[list[float]]) -> None:
    found = reference.execute(program(), [flatten_value(rows, Seq(Seq(FLOAT)))], version=version)
    assert plain_value(found, Seq(FLOAT)) == [sum(row) for row in rows]


def run(where: str, rows: list[list[float]], tuning: dict[str, int]) -> tuple[Any, list[str]]:
    """The value, and the versions that the run has taken."""
    made, stats = program(), Stats()
    device = gpu_device(made, Cudasim()) if where == "cudasim" else cpu_device(made, threads=2)
    if where == "native":
        device.patience = -1
    found = execute(made, [flatten_value(rows, Seq(Seq(FLOAT)))], device, HostLimits(tuning=tuning), stats)
    return plain_value(found, Seq(FLOAT)), [name for name, held in stats.versions if held]


@pytest.mark.parametrize("where", ["cpu", "native", "cudasim"])
@pytest.mark.parametrize("rows", ROWS)
def test_the_host_takes_the_first_case_that_holds(where: str, rows: list[list[float]]) -> None:
    lengths = [len(row) for row in rows]
    longest = max(lengths, default=0)
    even = longest == 0 or -(-longest * len(rows) // sum(lengths)) <= 1
    taken = ("sub8" if len(rows) >= 3 and longest <= 4 else
             "many" if len(rows) * 2 >= sum(lengths) and even else "")
    value, versions = run(where, rows, {})
    assert value == [sum(row) for row in rows]
    assert versions == ([f"sums.ys.{taken}"] if taken else [])


@pytest.mark.parametrize("where", ["cpu", "native", "cudasim"])
def test_other_thresholds_take_another_case(where: str) -> None:
    rows = [[1.0], [2.0, 3.0, 4.0, 5.0], [6.0]]
    assert run(where, rows, {})[1] == ["sums.ys.sub8"]
    assert run(where, rows, {"sums.ys.sub8": 4})[1] == []
    assert run(where, rows, {"sums.ys.short": 3})[1] == []


def test_a_statistic_that_nobody_knows_leaves_it_to_items() -> None:
    """On a GPU, that of segments which a kernel has made."""
    text = TEXT.replace("function sums (n : int, offsets : [int; n+1], m : int, xs : [float; m])", "\n".join([
        "kernel K2 (n : int) -> [int; n+1] {",
        "  let offsets = SCAN { i => 1 } (0) { (x, y) => x + y } (n) total",
        "  return offsets",
        "}",
        "",
        "function sums (m : int, xs : [float; m])"]))
    text = text.replace("  let ys : [float; n] = choose {", "\n".join([
        "  let n : int = m", "  let offsets : [int; n+1] = run K2 (n)", "  let ys : [float; n] = choose {"]))
    made = parse(text.replace("entry sums : [[float]]", "entry sums : [float]"))
    check(made)
    for device, expected in ((gpu_device(made, Cudasim()), []), (cpu_device(made, threads=1), ["sums.ys.sub8"])):
        stats = Stats()
        value = execute(made, [flatten_value([1.0, 2.0, 3.0, 4.0], Seq(FLOAT))], device, HostLimits(), stats)
        assert plain_value(value, Seq(FLOAT)) == [1.0, 2.0, 3.0, 4.0]
        assert [name for name, held in stats.versions if held] == expected


@pytest.mark.parametrize("lengths", [[], [0], [0, 0], [3], [1, 2, 9], [4, 4, 4]])
def test_statistics_are_those_of_the_lengths(lengths: list[int]) -> None:
    offsets = np.cumsum([0, *lengths])
    longest = max(lengths, default=0)
    assert measured("longest", offsets) == longest
    assert measured("spread", offsets) == (-(-longest * len(lengths) // sum(lengths)) if longest else 0)


@pytest.mark.parametrize("before, after, message", [
    ("    items {", "    others {", "the last case of a choice is not items"),
    ("    items {", "    items if n >= 1 {", "items has a condition"),
    ("many if n * 2 >= m and spread(&offsets) <= 1", "many", "the case many has no condition"),
    ("    many if", "    sub8 if", "two cases of a choice have one name: sub8, sub8, items"),
    ("n * 2 >= m", "n * 2", "a case has the condition n * 2, which compares nothing"),
    ("n * 2 >= m", "n / 2 >= m", "a condition compares n / 2"),
    ("n * 2 >= m", "k >= m", "k, in a condition, is no int in scope"),
    ("n >= sums.ys.sub8", "n >= sums.ys.sub4", "the program has no tunable sums.ys.sub4"),
    ("spread(&offsets) <= 1", "spread(&offsets) >= 1", "spread does not stand on the left of <="),
    ("spread(&offsets) <= 1", "spread(&xs) <= 1", "spread is asked of xs, which has no offsets of segments"),
    ("      return ys_2", "      return n", "the block gives int for ys, but [float; n] is needed"),
    ("let ys_2 : [float; n] = run K1", "let ys_1 : [float; n] = run K1", "ys_1 is bound twice"),
    ("tunable sums.ys.sub8 : n = 3", "tunable sub8 : n = 3", "its name is not FUNCTION.BINDING.VERSION"),
    ("short : longest = 4", "short : width = 4", "it is compared with width, which is none of n, total, share, few"),
])
def test_a_choice_that_is_none_is_refused(before: str, after: str, message: str) -> None:
    text = TEXT.replace(before, after, 1)
    if before == "      return ys_2":
        text = text.replace("      let ys_2 : [float; n] = run K1 (n, m, offsets, xs)\n", "")
    if "ys_1 : [float; n] = run K1 " in text:
        text = text.replace("return ys_2", "return ys_1")
    with pytest.raises(IllFormed, match="^.*" + message.translate({ord(c): "\\" + c for c in "*[]()"})):
        check(parse(text))


def test_native_code_decides_by_thresholds() -> None:
    """Without statistics it asks nobody: what has run is told by a version that gives something else."""
    text = TEXT.replace("n >= sums.ys.sub8 and longest(&offsets) <= sums.ys.short", "n * sums.ys.sub8 <= m")
    first, second = text.split("kernel K1_sub8")
    made = parse(f"{first}kernel K1_sub8{second.replace('xs[i] using', '-1.0 using', 1).replace('using xs }', '}', 1)}")
    check(made)
    device = cpu_device(made, threads=2)
    device.patience = -1
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]

    def value(tuning: dict[str, int]) -> Any:
        found = execute(made, [flatten_value(rows, Seq(Seq(FLOAT)))], device, HostLimits(tuning=tuning))
        return plain_value(found, Seq(FLOAT))

    assert value({}) == [3.0, 7.0, 11.0]
    assert value({"sums.ys.sub8": 2}) == [-2.0, -2.0, -2.0]
    assert value({"sums.ys.sub8": 3}) == [3.0, 7.0, 11.0]
    assert device.edition is not None
