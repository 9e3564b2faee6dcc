"""Operators evidently commute whose sides may be exchanged, whatever their lets and the order of operands."""
from __future__ import annotations

import pytest

from nessie.cudagen.skeletons.states import Monoid, State, commutative
from nessie.lambda_cu.text.parser import parse

KERNEL = """
kernel K (n : int, v : [{base}; n]) -> ({types}) {{
  let ({names}) = REDUCE {{ i => ({reads}) using v }} ({zeros}) {{ {operator} }} (n)
  return ({names})
}}
function main (n : int, v : [{base}; n]) -> ({results}) {{
  let ({bound}) = run K (n, v)
  return ({names})
}}
entry main : [{base}] -> {entry}
"""
COMMUTE = {
    "a sum": "(a, b) => a + b",
    "a sum, exchanged": "(a, b) => b + a",
    "two": "(a, p, b, q) => (a + b, max(q, p))",
    "where the greatest is": "(a, p, b, q) => let m = max(a, b) in let x = if a == m then p else 9 in "
                             "let y = if b == m then q else 9 in (m, min(x, y))",
    "complex": "(a, p, b, q) => (a * b - p * q, a * q + b * p)",
    "what may be missing": "(p, a, q, b) => let both = p and q in if both then (p, a * b mod 7) "
                           "else if p then (p, a) else (q, b)",
    "nested lets": "(a, b) => let (x, y) = let s = a * b in (s, s + 1) in x + y + (a + b)",
}
DO_NOT = {
    "the last": "(a, b) => b",
    "a difference": "(a, b) => a - b",
    "affine": "(a, p, b, q) => (a * b, p * b + q)",
    "crossed": "(a, p, b, q) => (a + b, p + b)",
    "what may be missing, affine": "(p, a, b, q, c, d) => let both = p and q in if both then (p, a * c, b * c + d) "
                                   "else if p then (p, a, b) else (q, c, d)",
    "the last that is there": "(p, a, q, b) => let both = p and q in if both then (p, a * b) "
                              "else if q then (p, a) else (q, b)",
    "a choice": "(a, b) => if a < b then a else b",
}


def state(operator: str) -> State:
    count = len(operator.partition("=>")[0].split(",")) // 2
    names = [f"z{k}" for k in range(count)]
    text = KERNEL.format(
        base="int", types=", ".join(["int"] * count), names=", ".join(names), reads=", ".join(["v[i]"] * count),
        zeros=", ".join(["0"] * count), operator=operator, results=", ".join(f"r{k} : int" for k in range(count)),
        bound=", ".join(f"{name} : int" for name in names), entry="(int, int)" if count > 1 else "int")
    (soac,) = [bind.soac for bind in parse(text).kernels[0].binds]
    return State("z", Monoid(("int",) * count, soac.identity, soac.operator), "total")


@pytest.mark.parametrize("name", COMMUTE)
def test_commute(name: str) -> None:
    assert commutative(state(COMMUTE[name]))


@pytest.mark.parametrize("name", DO_NOT)
def test_do_not(name: str) -> None:
    assert not commutative(state(DO_NOT[name]))
