"""Folds of bools end once they are decided, and give the same."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nessie
from nessie.cudagen.cpu.rewrites.decided import until_decided
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.interpreter import run
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import While
from nessie.cudagen.loops.text import parse, show
from nessie.cudagen.loops.walk import statements

FOLD = """
host f(int first_chunk, int last_chunk, int n, int m, int[] at, int[] xs, int[] ys, writable bool[] out) {
  for (i = 0; i < n; i += 1) {
    var bool x = START;
    for (j = LOW; j < HIGH; j += 1) {
      int place = at[i] + j;
      bool b = xs[place] == ys[j];
      BODY
    }
    out[i] = x;
  }
}
"""
ENDS = {"all": ("true", "0", "m", "x = x and b;"), "any": ("false", "0", "m", "x = x or b;"),
        "all but": ("true", "0", "m", "x = x and not(b);")}
STAYS = {"a number of rounds": ("true", "0", "3", "x = x and b;"), "from elsewhere": ("true", "i", "m", "x = x and b;"),
         "another test of it": ("true", "0", "m", "x = x and (b or x);"), "either": ("true", "0", "m", "x = x xor b;"),
         "more than that": ("true", "0", "m", "x = x and b; out[i] = b;")}


def module(case: tuple[str, str, str, str]) -> Module:
    text = FOLD
    for word, given in zip(("START", "LOW", "HIGH", "BODY"), case, strict=True):
        text = text.replace(word, given)
    return parse(text)


def outcome(function: Any, m: int, ys: list[int]) -> list[bool]:
    at, out = np.array([0, 2, 1, 4, 0]), np.zeros(5, bool)
    xs = np.array([1, 2, 1, 2, 3, 1, 2, 1, 1, 1, 1, 1])
    run(Module((function,)), "f", [0, 1, 5, m, at, xs, np.array(ys, np.int64), out])
    return [bool(b) for b in out]


@pytest.mark.parametrize("name", ENDS)
def test_a_fold_of_bools_ends(name: str) -> None:
    (function,) = module(ENDS[name]).functions
    found = until_decided(function)
    assert any(isinstance(s, While) for s in statements(found.body))
    check(parse(show(Module((found,))).replace(".d", "_d")))
    for m, ys in (0, []), (1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (3, [9, 9, 3]):
        assert outcome(found, m, ys) == outcome(function, m, ys)


@pytest.mark.parametrize("name", STAYS)
def test_other_loops_stay(name: str) -> None:
    (function,) = module(STAYS[name]).functions
    assert until_decided(function) == function


PROGRAM = """
function found(text, pattern) : ([char], [char]) -> [int] =
  let firsts = {i in [0:#text - #pattern + 1] | text[i] == pattern[0]}
  in {i in firsts | all({pattern[j] == text[i + j] : j in [0:#pattern]})};
function near(v, at, r) : ([int], [int], int) -> [bool] =
  let is = {a in {rem(a, max(1, #v)) : a in at} | a >= 0 and #v > 0}
  in {any({v[max(0, i - d)] == d : d in [0:r]}) : i in is};
"""


def test_a_search_compares_until_a_difference() -> None:
    program = nessie.compile(PROGRAM)
    for text, pattern in ("abcabcab", "abc"), ("aaaa", "aa"), ("abc", "abcd"), ("ab" * 60, "ab" * 20), ("", "a"):
        if len(pattern) > len(text) + 1:
            continue
        expected = [i for i in range(len(text)) if text.startswith(pattern, i)]
        for target in ("cpu", "reference", "cudasim"):
            assert program.found(text, pattern, target=target).tolist() == expected
    v, at = np.arange(40) % 7, np.array([3, 39, 0, 17])
    for r in (0, 1, 5, 40):
        expected = [any(v[max(0, i - d)] == d for d in range(r)) for i in at]
        assert all(program.near(v, at, r, target=t).tolist() == expected for t in ("cpu", "reference", "cudasim"))
