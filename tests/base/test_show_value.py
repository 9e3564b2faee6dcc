"""Values as NESL prints them, from plain and from flat values."""
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie.base.text.values_text import show_value
from nessie.base.types import BOOL, CHAR, FLOAT, INT, STRING, Data, Fun, Identity, Pair, Seq, Type
from nessie.base.values import Flat, Nested, Record, flatten_value
from nessie.session.outcome import Outcome

CASES = [
    (5, INT, "5"), (-5, INT, "-5"), (-2**63, INT, "-9223372036854775808"),
    (True, BOOL, "T"), (False, BOOL, "F"), ("a", CHAR, "`a"), (" ", CHAR, "` "),
    (list("ab"), STRING, '"ab"'), ([], STRING, '""'), (list('a"\\b'), STRING, '"a\\"\\\\b"'),
    (list("é€"), STRING, '"é€"'), (list("a\nb\t"), STRING, '"a\nb\t"'),
    (list("a\x1b[31m"), STRING, '"a" ++ [code_char(27)] ++ "[31m"'), ("\x07", CHAR, "code_char(7)"),
    (list("\x1b\r"), STRING, "[code_char(27), code_char(13)]"), (list('"\x9b'), STRING, '"\\"" ++ [code_char(155)]'),
    ([list("\u202e"), list("a")], Seq(STRING), '[[code_char(8238)], "a"]'),
    ([1, 2, 3], Seq(INT), "[1, 2, 3]"), ([], Seq(INT), "[]"), ([[], [1]], Seq(Seq(INT)), "[[], [1]]"),
    ((1, (2, 3)), Pair(INT, Pair(INT, INT)), "(1, 2, 3)"), (((1, 2), 3), Pair(Pair(INT, INT), INT), "((1, 2), 3)"),
    ([(1, True), (2, False)], Seq(Pair(INT, BOOL)), "[(1, T), (2, F)]"),
    ([list("a"), []], Seq(STRING), '["a", ""]'),
]


@pytest.mark.parametrize(("value", "type_", "text"), CASES, ids=[c[2] for c in CASES])
def test_plain_and_flat_values_print_alike(value: object, type_: Type, text: str) -> None:
    assert show_value(value, type_) == text
    assert show_value(flatten_value(value, type_), type_) == text


@pytest.mark.parametrize(("x", "text"), [
    (0.0, "0.0"), (-0.0, "-0.0"), (2.5, "2.5"), (1 / 3, "0.333333333333333"), (0.1 + 0.2, "0.3"), (1e6, "1000000.0"),
    (9999999.0, "9999999.0"), (1e7, "1.0e7"), (9999999.9999999999, "1.0e7"), (1e-3, "0.001"), (1e-4, "1.0e-4"),
    (1.5e-7, "1.5e-7"), (-1.25e300, "-1.25e300"), (math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan"),
    (1.7976931348623157e308, "1.7976931348623157e308"), (5e-324, "5.0e-324"),
])
def test_floats(x: float, text: str) -> None:
    assert show_value(x, FLOAT) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back_to_15_digits(x: float) -> None:
    text = show_value(x, FLOAT)
    assert "." in text
    assert math.isclose(float(text), x, rel_tol=1e-14, abs_tol=1e-323)
    assert ("e" in text) == (abs(float(text)) >= 1e7 or 0 < abs(float(text)) < 1e-3)


def test_datatypes_show_their_fields() -> None:
    contents = {"point": Pair(FLOAT, FLOAT), "box": INT, "stack": Pair(Seq(INT), INT)}
    point = Record("point", (1.0, 2.0))
    assert show_value(point, Data("point"), content=lambda d: contents[d.name]) == "point(1.0, 2.0)"
    assert show_value((1.0, 2.0), Data("point"), content=lambda d: contents[d.name]) == "point(1.0, 2.0)"
    assert show_value(Record("box'2", 3), Data("box'2"), content=lambda d: INT) == "box(3)"
    points = Flat(1, (np.array([1.0]), np.array([2.0])))
    assert show_value(points, Seq(Data("point")), content=lambda d: contents[d.name]) == "[point(1.0, 2.0)]"
    pair = Pair(INT, Data("point"))
    assert show_value((1, point), pair, content=lambda d: contents[d.name]) == "(1, point(1.0, 2.0))"


def test_functions() -> None:
    assert show_value(object(), Fun(INT, INT, Identity("f"))) == "fn"


def test_long_sequences_are_cut_at_every_level_but_strings_are_not() -> None:
    assert show_value([1, 2, 3], Seq(INT), 3) == "[1, 2, 3]"
    assert show_value([1, 2, 3, 4], Seq(INT), 3) == "[1, 2, 3,...]"
    assert show_value([[1, 2], [3], []], Seq(Seq(INT)), 1) == "[[1,...],...]"
    assert [show_value(v, Seq(INT), 0) for v in ([1], [])] == ["[...]", "[]"]
    assert show_value(list("abcdef"), STRING, 3) == '"abcdef"'


def test_a_part_of_a_payload_shows_its_own_elements() -> None:
    inner = Nested(np.array([0, 1, 3, 6]), np.arange(6))
    nested = Flat(2, Nested(np.array([0, 1, 3]), inner))
    assert show_value(nested, Seq(Seq(Seq(INT)))) == "[[[0]], [[1, 2], [3, 4, 5]]]"


def test_of_a_long_sequence_only_what_is_shown_is_looked_at() -> None:
    endless = np.broadcast_to(np.int64(7), (10**12,))
    assert show_value(Flat(10**12, endless), Seq(INT), 2) == "[7, 7,...]"
    offsets = np.broadcast_to(np.int64(0), (10**12,))
    assert show_value(Flat(10**12 - 1, Nested(offsets, endless)), Seq(Seq(INT)), 2) == "[[], [],...]"


@pytest.mark.parametrize(("width", "expected"), [
    (109, "it = {} : int"), (111, "it\n = {} : int"), (114, "it = \n  {} : int"), (115, "it = {}\n      : int"),
    (118, "it = \n  {}\n   : int"),
])
def test_wide_results_are_laid_out_on_several_lines(width: int, expected: str) -> None:
    value = "x" * width
    assert str(Outcome("it", value, "int")) == expected.format(value)
