"""Reasons for types: an error tells the place that made a type, however the unifier came by it."""
from __future__ import annotations

import pytest

from nessie.base.source import NessieError, Source
from nessie.library.library import library
from nessie.syntax.parse import parse
from nessie.typing.infer import infer


def failure(text: str) -> NessieError:
    with pytest.raises(NessieError) as raised:
        infer(parse(Source("test.nesl", text)), library())
    return raised.value


@pytest.mark.parametrize("text, place, reason", [
    ("function g(ps) = {p + #ps : p in ps}; x = g([1.5]);", "#ps", "g takes [int] because this is int"),
    ("function g(ps) = {#ps + p : p in ps}; x = g([1.5]);", "#ps", "g takes [int] because this is int"),
    ("function g(ps) = {sum(p) + #ps : p in ps}; x = g([1]);", "p", "because [int] is needed here"),
    ("function g(a, b) = a * 2.5 + b; x = g(1.0, 2);", "2.5", "because this is float"),
    ("function g(n) = let a = [0:n] in if n then 1 else 2;", "n", "n is int because int is needed here"),
    ("function g(v) = let s = {x + 1 : x in v} in {a + b : (a, b) in v};", "1", "the value is int because this is int"),
    ("function g(v, w) = (v ++ [w], w + 2, sum({x and t : x in v}));", "2", "x is int because this is int"),
    ("function g(n, v) = if n == 0 then v else g(n - 1, v ++ [2.5]); x = g(2, [1]);", "[2.5]",
     "because this is [float]"),
    ("function g(x) : int -> int = x; y = g(1.0);", "int -> int", "g takes int as declared here"),
])
def test_an_error_tells_what_made_a_type(text: str, place: str, reason: str) -> None:
    told = [(span.source.text[span.start:span.end].strip("()"), label) for span, label in failure(text).places]
    found = [label for span, label in told if ("because" in label or "declared" in label) and span == place]
    assert found and reason in found[0], told


@pytest.mark.parametrize("text", [
    "x = 1 + 2.5;", "x = sum(3);", "function g(x) = x + 1; y = [1, 2.5];", "x = if 1 then 2 else 3;",
    "function g(a, b) = a + b; x = g(1, 2.5);"])
def test_what_stands_there_needs_no_reason(text: str) -> None:
    assert not any(["because" in label for _, label in failure(text).places])


def test_all_undefined_names_are_told_at_once() -> None:
    error = failure("function g(x) = let y = summ(x); (a, b) = y in {q + z + a : z in [w, w]; r in v | r > w};")
    assert error.message == "summ, q, w and v are not defined"
    assert [label for _, label in error.places] == ["did you mean sum?", "", "", ""]
