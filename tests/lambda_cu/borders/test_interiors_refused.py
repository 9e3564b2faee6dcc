"""Interiors that are not what the thunk is: the checker refuses each, and the pass makes none of them."""
from __future__ import annotations

import pytest
from test_borders import ROW, with_interior
from test_fold_expressions import outcomes

from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.borders import borders
from nessie.lambda_cu.borders.checker import check_interiors
from nessie.lambda_cu.check import check
from nessie.lambda_cu.scope import thunk
from nessie.lambda_cu.text.parser import parse, parse_exp

SITES = 'site s1 "Four." at "x":0-1\n\nsite s2 "Nine." at "x":0-1\n\n'
SIMPLE = "v[i] + n * 0 + r * 0"
FOUR, NINE = "(if v[i] == 4 then fail s1 : int else i)", "(if v[i] == 9 then fail s2 : int else i)"
TRUE_OR_FOUR = "i >= 0 or (if v[i] == 4 then fail s1 : bool else true)"


def planted(body: str, inside: str, low: str = "0", high: str = "n") -> ir.Program:
    """A MAP with this body and this interior, well typed."""
    bounds = thunk((), parse_exp(f"({low}, {high})"))
    interior = ir.Interior(None, bounds, thunk(("i",), parse_exp(inside)))
    program = with_interior(parse(SITES + ROW.format(body)), interior)
    check(program)
    return program


def refused(program: ir.Program) -> None:
    with pytest.raises(IllFormed, match="not proven"):
        check_interiors(program)


# Failures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [
    f"if {TRUE_OR_FOUR} then {SIMPLE} else 0",
    f"let c = {TRUE_OR_FOUR} in if c then {SIMPLE} else 0",
    f"let c = {TRUE_OR_FOUR} in {SIMPLE}",
    f"if v[{FOUR}] <= v[{FOUR}] then {SIMPLE} else 0",
    f"if v[{FOUR}] == v[{FOUR}] then {SIMPLE} else 0",
    f"0 * v[{FOUR}] + {SIMPLE}",
    f"v[{FOUR}] - v[{FOUR}] + {SIMPLE}",
    f"(fold j < n from x = 0 in 0 * v[{FOUR}]) * 0 + {SIMPLE}",
])
def test_a_failure_that_is_left_out(body: str) -> None:
    refused(planted(body, SIMPLE))
    check_interiors(planted(body, body))


@pytest.mark.parametrize(("body", "inside"), [
    (f"let a = {FOUR} in let b = {NINE} in {SIMPLE}", f"let b = {NINE} in let a = {FOUR} in {SIMPLE}"),
    (f"let a = {FOUR} in {SIMPLE}", f"let a = {NINE} in {SIMPLE}"),
    (f"let a = (if r > 0 then {FOUR} else 1) in {SIMPLE}", f"let a = (if r > 1 then {FOUR} else 1) in {SIMPLE}"),
    (f"let a = (if r > 0 then {FOUR} else 1) in {SIMPLE}", f"let a = (if r > 0 then 1 else {FOUR}) in {SIMPLE}"),
    (f"let a = (fold j < r from x = 0 in 0 * v[{FOUR}]) in {SIMPLE}",
     f"let a = (fold j < n from x = 0 in 0 * v[{FOUR}]) in {SIMPLE}"),
])
def test_other_failures(body: str, inside: str) -> None:
    """Others, in another order, or elsewhere."""
    refused(planted(body, inside))
    refused(planted(inside, body))


def test_a_bound_that_can_fail() -> None:
    refused(planted(SIMPLE, SIMPLE, low="if v[0] == 4 then fail s1 : int else 0"))


@pytest.mark.parametrize("condition", [
    "i >= 1 or (if v[i] == 4 then fail s1 : bool else true)",
    "(if v[i] == 4 then fail s1 : bool else true) or i >= 1",
    "not (i < 1 and (if v[i] == 4 then fail s1 : bool else true))",
])
@pytest.mark.parametrize("text", [
    "if {} then v[max(0, i - 1)] + n * 0 + r * 0 else v[min(n - 1, i)]",
    "let c = {} in if c then v[max(0, i - 1)] + n * 0 + r * 0 else v[min(n - 1, i)]",
])
def test_a_condition_that_can_fail_fails_as_before(text: str, condition: str) -> None:
    program = parse(SITES + ROW.format(text.format(condition)))
    split = borders(program)
    check_interiors(split)
    for v in ([1, 4, 9, 16, 4, 4, 4], [4, 1], [1, 2, 3, 5, 6, 7], []):
        assert outcomes(split, v, 0) == outcomes(program, v, 0)
    assert outcomes(split, [1, 4, 9], 0) == ["Four."] * 4


# What wraps -------------------------------------------------------------------------------------

MOST = "9223372036854775807"


@pytest.mark.parametrize(("low", "high"), [
    ("0", f"if n + {MOST} < 0 then n else 0"),
    ("0", f"if 0 > n + {MOST} then n else 0"),
    ("0", f"if {MOST} + 1 < 0 then n else 0"),
    ("0", f"if r + 1 > r and r + {MOST} < r then n else 0"),
    ("0", f"if 2 * r >= 0 and r < 0 and r + {MOST} < 0 then n else 0"),
    (f"n + {MOST} + 1", "n"),
    ("0", f"min(n, n - {MOST} - 2)"),
])
def test_bounds_that_wrap_tell_nothing(low: str, high: str) -> None:
    """If they did not, there would be no index in the interior, and its thunk could be any."""
    refused(planted(SIMPLE, f"{SIMPLE} + 1000", low, high))


def test_a_count_of_rounds_that_wraps_tells_nothing() -> None:
    """It goes round three times, and not less often than never."""
    body, inside = [f"fold j < 3 - {MOST} - {MOST} - 2 from x = 0 in x + ({what})"
                    for what in (f"if j < 0 then 1000 else {SIMPLE}", "1000")]
    refused(planted(body, inside))


def test_bounds_that_do_not_wrap_tell_what_they_say() -> None:
    """There is no index in these, or r is so, and the pass asks it so."""
    for low, high in (("n", "n"), ("n + 3", "n"), ("r", "min(n, r)"), ("0", "if r > 7 and r < 8 then n else 0"),
                      ("0", f"if r < 0 and {MOST} < r then n else 0")):
        check_interiors(planted(SIMPLE, f"{SIMPLE} + 1000", low, high))


# Reads ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("body", "inside"), [
    (SIMPLE, f"let x = v[i + 1000000] in {SIMPLE}"),
    (SIMPLE, f"0 * v[n] + {SIMPLE}"),
    (SIMPLE, f"v[n] - v[n] + {SIMPLE}"),
    (f"let x = (if r > 0 then v[n - 1] else 0) in {SIMPLE}", f"let x = v[n - 1] in {SIMPLE}"),
    (f"let x = (if r > 0 then v[n - 1] else 0) in {SIMPLE}", f"let x = (if r > 1 then v[n - 1] else 0) in {SIMPLE}"),
    (f"let x = (if r > 0 then v[n - 1] else 0) in {SIMPLE}", f"let x = (if r > 0 then 0 else v[n - 1]) in {SIMPLE}"),
    (f"let x = (fold j < r from x = 0 in x + v[j]) in {SIMPLE}",
     f"let x = (fold j < n from x = 0 in x + v[j]) in {SIMPLE}"),
    (f"if i < n - 1 then {SIMPLE} else v[i - 1]", f"let x = v[i - 1] in {SIMPLE}"),
])
def test_a_read_that_the_thunk_does_not_make(body: str, inside: str) -> None:
    high = "n - 1" if "i < n - 1" in body else "n"
    refused(planted(body, inside, high=high))
    check_interiors(planted(body, SIMPLE, high=high))


def test_a_read_under_further_conditions_is_one_that_the_thunk_makes() -> None:
    body = f"let x = (if r > 0 then v[n - 1] else 0) in {SIMPLE}"
    for inside in ("if r > 0 then if n > 7 then v[n - 1] else 0 else 0",
                   "fold j < n from y = 0 in if r > 0 then v[n - 1] else 0"):
        check_interiors(planted(body, f"let x = ({inside}) in {SIMPLE}"))


@pytest.mark.parametrize(("body", "proven"), [
    (SIMPLE, False),
    (f"let x = v[0] in {SIMPLE}", True),
    (f"let x = (if v[i] == r then v[0] else 0) in {SIMPLE}", False),
    (f"let x = (if i >= 0 then v[0] else 0) in {SIMPLE}", True),
    (f"let x = (if i >= 1 then v[0] else 0) in {SIMPLE}", False),
])
def test_a_bound_reads_what_all_elements_read(body: str, proven: bool) -> None:
    """Where there is no element, its bound is not asked for; where there is one before the interior, it is."""
    program = planted(body, SIMPLE, low="max(1, v[0])")
    if proven:
        check_interiors(program)
    else:
        refused(program)
