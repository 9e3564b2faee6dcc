"""The certificate of parts finds what no part has, or several have, however long the steps are."""
from __future__ import annotations

import random

import pytest

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.axes import Axis, Space
from nessie.lambda_cu.mappings.cover import mistake
from nessie.lambda_cu.text.parser import parse_exp


def axis(low: str, high: str, step: int = 1, width: int = 1) -> Axis:
    return Axis(parse_exp(high), parse_exp(low), ir.Const(step, "int"), ir.Const(width, "int"))


def wrong(parts: list[Space], *extents: str) -> str:
    return mistake(parts, [parse_exp(extent) for extent in extents], {"n", "m"})


@pytest.mark.parametrize("step", [3, 20, 1400, 2000, 4096])
@pytest.mark.parametrize("low", ["0", "7", "1500", "r"])
def test_steps_leave_nothing_out(step: int, low: str) -> None:
    first = step // 2
    before, whole = axis("0", f"max(0, min({low}, n))"), axis(f"max(0, {low})", "n", step, first)
    rests = {width: axis(f"max(0, {low}) + {first}", "n", step, width) for width in (step - first, step - first - 1,
                                                                                step - first + 1)}
    right, fewer, more = [wrong([(before,), (whole,), (rest,)], "n") for rest in rests.values()]
    assert right == "" and "is in no part" in fewer and "is in 2 parts" in more


@pytest.mark.parametrize(("last", "said"), [(1999, ""), (1998, "is in no part"), (2000, "is in 2 parts")])
def test_the_end_of_a_long_step_is_met(last: int, said: str) -> None:
    parts = [(axis("0", "n", 2000, 1500),), (axis("1500", "n", 2000, last + 1 - 1500),)]
    assert said in wrong(parts, "n") and bool(wrong(parts, "n")) == bool(said)


def test_a_part_is_outside_where_one_axis_is_short() -> None:
    parts = [(axis("0", "700"), axis("0", "m")), (axis("700", "n"), axis("0", "m"))]
    assert "in a part, and not in the space, for m = " in wrong(parts, "n", "m")
    assert wrong([(axis("0", "min(700, n)"), axis("0", "m")), (axis("700", "n"), axis("0", "m"))], "n", "m") == ""


def test_one_axis_with_bounds_that_are_constants_is_tried_enough() -> None:
    """What goes through all lengths finds no mistake that the certificate does not."""
    numbers = random.Random(3)
    found = {True: 0, False: 0}
    for _ in range(300):
        cut, step, first = numbers.randrange(12), numbers.randrange(2, 9), numbers.randrange(1, 8)
        width, other = min(first, step - 1), step - min(first, step - 1) + numbers.choice((0, 0, 0, -1, 1))
        parts = [(0, cut, 1, 1), (cut, None, step, width), (cut + width, None, step, other)]
        made = [(axis(str(low), "n" if high is None else f"min(n, {high})", by, of),) for low, high, by, of in parts]
        right = all([sum([low <= i < (n if high is None else min(n, high)) and (i - low) % by < of
                               for low, high, by, of in parts]) == 1 for n in range(40) for i in range(n)])
        assert (wrong(made, "n") == "") == right, parts
        found[right] += 1
    assert min(found.values()) > 50
