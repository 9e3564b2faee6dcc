"""Loops over rows that lie anywhere ask for rows in advance, and compute the same."""
from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from built import generated

import nessie
from nessie.cudagen.cpu.rewrites.rows_ahead import AHEAD, with_rows_ahead
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.interpreter import run
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import Prefetch
from nessie.cudagen.loops.text import parse, show
from nessie.cudagen.loops.walk import statements

PROGRAM = """
function gathered(graph, nodes) : ([[int]], [int]) -> [int] = flatten(graph -> nodes);
function unseen(graph, seen, nodes) : ([[int]], [bool], [int]) -> [int] =
  {v in flatten(graph -> nodes) | not(seen[v])};
function sums(rows, chosen) : ([[float]], [int]) -> [float] = {sum(r) : r in rows -> chosen};
function in_turn(rows) : ([[float]]) -> [float] = {sum({x * x : x in r}) : r in rows};
"""

ROWS = """
host f(int first_chunk, int last_chunk, int n, int[] offsets, int[] begins, int[] xs, writable int[] out) {
  for (s = 0; s < n; s += 1) {
    int start = offsets[s];
    for (i = max(start, 0); i < offsets[s + 1]; i += 1) {
      int begin = begins[s];
      int at = begin + (i - start);
      int x = xs[at];
      out[i] = x * 2;
    }
  }
}
"""

POINT = re.compile(r"(first|last|some|ahead|size)\.(a\d+)")


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM)


def graph(random: np.random.Generator, rows: int, longest: int) -> Any:
    lengths = random.integers(0, longest + 1, rows)
    offsets = np.append(0, np.cumsum(lengths))
    return nessie.Nested(offsets, random.integers(0, rows, offsets[-1]))


@pytest.mark.parametrize("longest", [0, 1, 3, 100])
@pytest.mark.parametrize("rows", [1, AHEAD - 1, AHEAD, AHEAD + 1, 1000, 50_000])
def test_the_same_is_computed(rows: int, longest: int) -> None:
    random = np.random.default_rng(rows + longest)
    given = graph(random, rows, longest)
    nodes, seen = random.integers(0, rows, rows), random.random(rows) < 0.5
    chosen = [given.content[given.offsets[node]:given.offsets[node + 1]] for node in nodes]
    expected = np.concatenate(chosen)
    assert np.array_equal(program().gathered(given, nodes), expected)
    assert np.array_equal(program().unseen(given, seen, nodes), expected[~seen[expected]])
    floats = nessie.Nested(given.offsets, given.content.astype(float))
    assert np.array_equal(program().sums(floats, nodes), [float(sum(row)) for row in chosen])


def asks(entry: str, argument: str) -> set[tuple[str, ...]]:
    """What functions ask for, those that do."""
    module = generated(PROGRAM, entry, argument)
    found = [tuple(s.array for s in statements(f.body) if isinstance(s, Prefetch)) for f in rewritten(module).functions]
    return {arrays for arrays in found if arrays}


def rewritten(module: Module) -> Module:
    """The module with names of its own that are identifiers, checked."""
    text = show(Module(tuple([with_rows_ahead(f) for f in module.functions])))
    made = parse(POINT.sub(r"\1_\2", text.replace("`", "")))
    check(made)
    return made


def test_rows_that_lie_anywhere_are_asked_for() -> None:
    assert asks("gathered", "([[int]], [int])") == {("graph", "graph")}
    assert asks("unseen", "([[int]], [bool], [int])") == {("graph", "graph")}
    assert asks("sums", "([[float]], [int])") == {("rows", "rows")}         # of the lanes and of what is left, once


def test_rows_that_follow_each_other_are_not() -> None:
    assert asks("in_turn", "[[float]]") == set()


def test_what_is_asked_for_are_the_ends_of_the_row_ahead_or_of_the_last() -> None:
    module = parse(ROWS)
    changed = rewritten(module)
    ahead = f"int ahead_a0 = min(s + {AHEAD}, last_a0);"
    asked = ("int size_a0 = offsets[ahead_a0 + 1] - offsets[ahead_a0];", "prefetch xs[begins[ahead_a0]];",
             "prefetch xs[begins[ahead_a0] + (size_a0 - 1)];")
    some = ("if (first_a0 <= last_a0) {", "some_a0 = offsets[first_a0] < offsets[last_a0 + 1];", "if (some_a0) {")
    for line in ("int last_a0 = n - 1;", ahead, *some, *asked):
        assert line in show(changed)
    offsets, begins, xs = np.array([0, 2, 2, 5]), np.array([7, 0, 1]), np.arange(10)
    for made in (module, changed):
        out = np.zeros(5, np.int64)
        run(made, "f", (0, 1, 3, offsets, begins, xs, out))
        assert list(out) == [14, 16, 2, 4, 6]


def test_where_no_row_has_an_element_no_place_is_read() -> None:
    none, changed = np.zeros(0, np.int64), rewritten(parse(ROWS))
    for rows in (0, 1, 3):
        run(changed, "f", (0, 1, rows, np.zeros(rows and rows + 1, np.int64), none, none, none))


@pytest.mark.parametrize(("old", "new"), [
    ("begins[s]", "begins[s + 1]"),                     # no array with an element for each row
    ("begin + (i - start)", "begin + i"),               # not the place in the row
    ("begin + (i - start)", "i"),                       # the row after the one before
    ("int begin = begins[s];", "int begin = s * 10;"),  # at equal distances
    ("int start = offsets[s];", "int start = offsets[0];"),
    ("i < offsets[s + 1]", "i < start + 2"),            # nothing says that there is a next row's start
    ("int x = xs[at];\n", "var int x = 0; if (s < 2) { int y = xs[at]; x = y; }\n"),      # perhaps not of this row
])
def test_nothing_is_asked_for_where_no_array_says_the_place(old: str, new: str) -> None:
    [function] = parse(ROWS.replace(old, new)).functions
    assert with_rows_ahead(function) == function


def test_where_the_next_row_may_not_be_there_nothing_is_asked() -> None:
    (function,) = parse(ROWS).functions
    assert with_rows_ahead(function) != function
    (function,) = parse(ROWS.replace("i < offsets[s + 1]", "i < start + 2").replace("      out[i] = x * 2;", """
      if (s + 1 < n) {
        int next = offsets[s + 1];
        out[i] = x * next;
      }""")).functions
    assert with_rows_ahead(function) == function
