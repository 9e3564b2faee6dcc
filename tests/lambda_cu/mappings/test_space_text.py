"""Spaces as text: a mistake is underlined, and none gets as far as to be computed."""
from __future__ import annotations

import pytest

from nessie.base.source import NessieError
from nessie.lambda_cu.mappings.axes import parse_space
from nessie.lambda_cu.mappings.shown import explained, shown
from nessie.lambda_cu.mappings.text import parse_mapping
from nessie.lambda_cu.text.parser import parse_exp


@pytest.mark.parametrize(("text", "word", "said"), [
    ("iv < [n, i1 + 1]", "i1", "axis 1 may only mention i0"),
    ("iv < [i0, n]", "i0", "axis 0 is outermost, and may mention no index"),
    ("iv < [n, m, i0 + i2]", "i2", "axis 2 may only mention i0 and i1"),
    ("iv < [n, i00]", "i00", "axis 1 may only mention i0"),
    ("[0, i1] <= iv < [n, m]", "i1", "axis 1 may only mention i0"),
    ("iv < [threadIdx_x, m]", "threadIdx_x", "a thread's own"),
    ("iv < [n, f(m)]", "f(m)", "a bound is computed of sizes"),
    ("iv < [n, sqrt(m)]", "sqrt(m)", "a bound is computed of sizes"),
    ("iv < [n, 1.5]", "1.5", "a space has ints"),
    ("iv < [18446744073709551648]", "18446744073709551648", "a number is at most"),
    ("iv < [4294967296, 4294967296]", "4294967296, 4294967296", "more than 9,223,372,036,854,775,807 indices"),
    ("iv < [n) ", ")", "',' or ']' is expected here"),
    ("iv < n", "n", "'[' is expected here"),
    ("[1] <= iv < [3, 4]", "1", "there are 2 upper bounds and 1 lower bound"),
    ("iv < [3] step [1, 2]", "1, 2", "there is 1 upper bound and 2 steps"),
    ("iv < [n, m] step [2, 2] width [1, 3]", "3", "a step is at least 1"),
    ("iv < [3] width [2]", "2", "widths are of steps"),
])
def test_a_mistake_is_underlined(text: str, word: str, said: str) -> None:
    with pytest.raises(NessieError) as failed:
        parse_space(text)
    message, (span, _) = failed.value.message, failed.value.places[0]
    assert said in message and span.source.text[span.start:span.end] == word


def test_a_hull_never_meets_an_index_of_its_own_axis() -> None:
    for mapping in ("GridBlock(1, Hull(Gen))", "Jing"):
        with pytest.raises(NessieError, match="axis 1 may only mention i0"):
            explained(mapping, "iv < [n, i1 + 1]", {})


@pytest.mark.parametrize("text", [
    "GridBlock(1, SplitLast({}, Gen))", "GridBlock(1, Split(0, {}, Gen))", "GridBlock(1, PadLast({}, Gen))",
    "GridBlock({}, Gen)", "GridBlock(1, Permute([0, {}], Gen))"])
def test_no_number_is_too_large_to_compute_with(text: str) -> None:
    assert parse_mapping(text.format(2 ** 31 - 1))
    for number in (2 ** 31, 2 ** 64 + 32, 10 ** 60):
        with pytest.raises(NessieError, match="at most 2,147,483,647") as failed:
            parse_mapping(text.format(number))
        span = failed.value.places[0][0]
        assert span.source.text[span.start:span.end] == str(number)


@pytest.mark.parametrize("text, told", [
    ("a + -5", "a - 5"), ("n + -1 * i0", "n - i0"), ("n + -2 * i0 + -1", "n - 2 * i0 - 1"),
    ("max(a + -5, 0)", "max(a - 5, 0)"),
    ("a + 5", "a + 5"), ("n + -1 * (a + b)", "n - (a + b)"), ("a + -9223372036854775808", "a + -9223372036854775808")])
def test_readers_see_what_is_subtracted(text: str, told: str) -> None:
    assert shown(parse_exp(text)) == told


def test_one_thread_is_told_as_one() -> None:
    assert "\n  1 thread, 0 of them" in explained("GridBlock(1, Gen)", "iv < [1]", {})
    assert "\n  2 threads, 0 of them" in explained("GridBlock(1, Gen)", "iv < [2]", {})
