"""Where hardware and languages differ, every target gives the same: the table of docs/language.md, row by row."""
from __future__ import annotations

import math
import re
from typing import Any

import pytest
from executors import ANY as ERROR
from executors import EXECUTORS, Compiled, agree, outcome
from paths import ROOT

PAGE = (ROOT / "docs" / "language.md").read_text("utf-8")
SECTION = PAGE.partition("## Where hardware and languages differ\n")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| (.+?) \| (?!---)", SECTION, re.MULTILINE)

MIN, MAX = -2**63, 2**63 - 1
NAN, INF = math.nan, math.inf
Case = tuple[str, str, tuple[Any, ...], Any]        # main's parameters, its body, arguments, what it gives

INTS, FLOATS = "(a, b) : (int, int) -> int", "(x, y) : (float, float) -> float"
FLOAT_TO_INT, MANY, ORDER = "(x) : float -> int", "(v) : [float] -> [float]", "(v) : [float] -> [int]"
TESTS: dict[str, tuple[Case, ...]] = {
    "`max_int + 1`": (
        (INTS, "a + b", (MAX, 1), MIN), (INTS, "a / b", (MIN, -1), MIN), (INTS, "rem(a, b)", (MIN, -1), 0),
        (INTS, "-a * b", (MIN, 1), MIN), (INTS, "abs(a) * b", (MIN, 1), MIN)),
    "`a / b`": (
        (INTS, "a / b", (1, 0), ERROR), (INTS, "rem(a, b)", (1, 0), ERROR), (INTS, "mod(a, b)", (1, 0), ERROR),
        (FLOATS, "x / y", (1.0, 0.0), ERROR), (FLOATS, "x / y", (0.0, -0.0), ERROR)),
    "`lshift(a,n)`": (
        (INTS, "lshift(a, b)", (1, 63), MIN), (INTS, "rshift(a, b)", (MIN, 63), -1),
        *((INTS, f"{shift}(a, b)", (1, n), ERROR) for shift in ("lshift", "rshift") for n in (-1, 64))),
    "`trunc`": (
        (FLOAT_TO_INT, "trunc(x)", (-2.0 ** 63,), MIN),
        *((FLOAT_TO_INT, f"{name}(x)", (x,), ERROR) for name in ("trunc", "floor", "ceil", "round")
          for x in (NAN, INF, 2.0 ** 63, -1e19))),
    "`code_char(i)`": tuple(
        ("(i) : int -> char", "code_char(i)", (i,), ERROR) for i in (-1, 1114112)),
    "`sqrt(x)`": (
        (FLOATS, "sqrt(x) + y", (-1.0, 0.0), ERROR), (FLOATS, "ln(x) + y", (-1.0, 0.0), ERROR),
        (FLOATS, "ln(x) + y", (0.0, 0.0), -INF)),
    "NaN in `max`": (
        (MANY, "[max(v[0], v[1]), max(v[1], v[0]), min(v[0], v[1]), min(v[1], v[0]), max_val(v), min_val(v)]",
         ([1.0, NAN, 2.0],), [NAN] * 6),
        (MANY, "max_scan(v) ++ min_scan(v)", ([NAN, 1.0],), [-INF, NAN, INF, NAN])),
    "NaN in `sort`": (
        (MANY, "sort(v)", ([NAN, 1.0, -INF],), [-INF, 1.0, NAN]), (ORDER, "rank(v)", ([NAN, 1.0, -INF],), [2, 1, 0]),
        (ORDER, "rank_down(v)", ([NAN, 1.0, -INF],), [2, 0, 1])),
    "NaN in comparisons": (
        ("(x) : float -> [bool]", "[x == x, x /= x, x < x, x >= x, eql(x, x), eql([x], [x])]", (NAN,),
         [False, True, False, False, False, False]),),
    "-0.0": (
        (MANY, "let z = v[0]; p = v[1] in [max(z, p), max(p, z), min(z, p), min(p, z), -p, -z]", ([-0.0, 0.0],),
         [0.0, 0.0, -0.0, -0.0, 0.0, 0.0]),
        ("(x, y) : (float, float) -> (bool, int)", "(eql(x, y), #remove_duplicates([x, y]))", (-0.0, 0.0), (True, 1)),
        (MANY, "sort(v)", ([0.0, -0.0, -1.0],), [-1.0, 0.0, -0.0])),
    "`1e300 * 1e300`": (
        (FLOATS, "x * y", (1e300, 1e300), INF), (FLOATS, "exp(x) * y", (1000.0, 1.0), INF)),
}
SUMS = "sums of floats"


def test_every_row_is_tested() -> None:
    assert [next((name for name in TESTS if row.startswith(name)), row) for row in ROWS] == [*TESTS, SUMS]


@pytest.mark.parametrize("row", TESTS)
def test_row(row: str) -> None:
    for definition, body, arguments, expected in TESTS[row]:
        program = Compiled(f"function main{definition} = {body};")
        for executor in EXECUTORS:
            found = outcome(program, executor, arguments)
            assert agree(expected, found), f"{body} on {executor}: {found}, not {expected}"


def test_sums_do_not_depend_on_threads() -> None:
    program = Compiled("function main(v) : [float] -> float = sum(v);")
    assert len({outcome(program, executor, ([0.1] * 20,)) for executor in ("cpu none", "cpu ilp", "cpu3 ilp")}) == 1
