"""Arrays whose lengths only a run knows meet: where they differ, the error tells the user's place and all lengths."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nessie

NUMBERS = np.arange(1, 7)
ROWS = NUMBERS.reshape(3, 2)
MANY = np.arange(100_000)           # too many for the interpreter to find the lengths


def above(most: int, of: Any = NUMBERS) -> nessie.Array:
    return nessie.array(of).select(lambda x: x > most)


def pairs() -> nessie.Array:
    return above(3).zip(above(2))


MEETINGS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "operator": (lambda: above(2) + above(3), "above(2) + above(3)", "the lengths are 4 and 3"),
    "known first": (lambda: nessie.array(NUMBERS) * above(3), "nessie.array(NUMBERS) * above(3)",
                    "the lengths are 6 and 3"),
    "known last": (lambda: above(3) * nessie.array(NUMBERS), "above(3) * nessie.array(NUMBERS)",
                   "the lengths are 3 and 6"),
    "combine": (lambda: above(2).combine(above(3), max_of), "above(2).combine(above(3), max_of)",
                "the lengths are 4 and 3"),
    "where": (lambda: np.where(above(2) > 4, above(3), 0), "np.where(above(2) > 4, above(3), 0)",
              "the lengths are 4 and 3"),
    "zip, then map": (lambda: pairs().map(lambda p: p[0]), "above(3).zip(above(2))", "the lengths are 3 and 4"),
    "zip, then stencil": (lambda: pairs().stencil([0, 1], 0, lambda v: v[0][0] + v[1][1]), "above(3).zip(above(2))",
                          "the lengths are 3 and 4"),
    "zip, then select": (lambda: pairs().select(lambda p: p[1] > 4), "above(3).zip(above(2))",
                         "the lengths are 3 and 4"),
    "reduced later": (lambda: (above(2) - above(3)).sum(), "above(2) - above(3)", "the lengths are 4 and 3"),
    "rows": (lambda: nessie.array(ROWS) + above(3), "nessie.array(ROWS) + above(3)",
             "the shapes are 3 × 2 and 3"),
    "product": (lambda: nessie.array(ROWS) @ above(3), "nessie.array(ROWS) @ above(3)",
                "at element 0: the lengths are 2 and 3"),
    "many": (lambda: above(2, MANY) + above(3, MANY), "above(2, MANY) + above(3, MANY)",
             "the lengths are 99997 and 99996")}


def max_of(x: int, y: int) -> int:
    return max(x, y)


@pytest.mark.parametrize("case", MEETINGS)
@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_arrays_of_different_lengths_meet_at_the_users_place(case: str, target: str) -> None:
    work, text, label = MEETINGS[case]
    with pytest.raises(nessie.NessieError, match="These sequences are of different lengths") as failed:
        work().evaluate(target)
    span, told = failed.value.places[0]
    written = span.source.text[span.start:span.end]
    assert told == label and span.source.name.endswith("test_meeting.py")
    assert written == text if sys.version_info >= (3, 11) else text in written


def test_each_expression_of_one_structure_is_told_at_its_own_place() -> None:
    for most in range(2):
        with pytest.raises(nessie.NessieError) as first:
            (above(most) + above(most + 1)).evaluate()
        with pytest.raises(nessie.NessieError) as second:
            (above(most) + above(most + 2)).evaluate()
        assert first.value.span != second.value.span
        assert [error.value.places[0][1] for error in (first, second)] == [
            f"the lengths are {6 - most} and {5 - most}", f"the lengths are {6 - most} and {4 - most}"]


def test_what_has_met_is_told_of_no_other_errors() -> None:
    with pytest.raises(nessie.NessieError, match="Division by zero") as failed:
        above(2).combine(above(2), lambda x, y: x // (y - 4)).evaluate()
    assert failed.value.span is not None
    assert failed.value.span.source.text[failed.value.span.start:failed.value.span.end] == "x // (y - 4)"
    assert (above(2) + above(2)).tolist() == [6, 8, 10, 12]
