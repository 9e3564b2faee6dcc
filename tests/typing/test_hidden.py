"""A use that is written as one variable and means another, which differs in capitals only, is told."""
from __future__ import annotations

import pytest

from nessie.base.source import NessieError, Source
from nessie.syntax.parse import parse
from nessie.typing.advice.hidden import hidden_by_case


def warnings(text: str) -> list[NessieError]:
    return [found for form in parse(Source("test.nesl", text)).forms for found in hidden_by_case(form)]


@pytest.mark.parametrize("text", [
    "function f1(A) = let a = A[0] in #A;",
    "function f1(A, b) = let a = A[0] in #A + b;",
    "function f1(A) = let a = A[0]; c = #A in c;",
    "function f1(A) = {#A : a in A};",
    "function f1(A) = {a in A | #A > 1};",
    "function f1(A) = {(a => A + 1)(x) : x in A};",
    "x = let Rows = [1, 2] in {rows + #Rows : rows in Rows};",
    "let V = [1] in let v = 2 in V;"])
def test_a_use_that_means_another_is_told(text: str) -> None:
    (warning,) = warnings(text)
    (use, _), (hiding, _), (hidden, _) = warning.places
    written, other, meant = (span.source.text[span.start:span.end] for span in (use, hiding, hidden))
    assert written == meant != other and written.lower() == other.lower()
    assert warning.message == f"{written} is {other} here: NESL does not tell capitals from small letters"


@pytest.mark.parametrize("text", [
    "function f1(A) = {sum(a) : a in A};",
    "function f1(A) = let a = A[0] in a + 1;",
    "function f1(A) = let a = sum(A) in {x + a : x in [1]};",
    "function f1(Rows) = #ROWS;",
    "function f1(a, b) = let A = a in A + b;",
    "function f1(A) = ({a : a in A}, #A);",
    "function f1(Xs, b) = {Xs + b : xs};",
    "x = {a : a in [1]}; X = 2; x;"])
def test_other_uses_are_not(text: str) -> None:
    assert warnings(text) == []


def test_long_chains_take_linear_time() -> None:
    lets = "; ".join(f"{'vV'[k % 2]} = {'Vv'[k % 2]} + {k}" for k in range(1, 5000))
    assert warnings(f"let V = 0; {lets} in v;") == []
