"""Random functions that call themselves and pass on, exchange and choose rows and matrices: `recursions()`.

    function go(k, a, b, m, n) : (int, [int], [int], [[int]], [[int]]) -> RESULT

They end: k falls. None fails.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

TYPES = {"row": "[int]", "matrix": "[[int]]", "both": "([int], [[int]])", "number": "int"}
SOURCE = """
function at(i, m, v) : (int, [[int]], [int]) -> [int] = if i < #m then m[i] else v;
function put(m, v) : ([[int]], [int]) -> [[int]] = if #m > 0 then m <- [(0, v)] else m;
function longer(k, v, w) : (int, [int], [int]) -> [int] =
  if k < 1 then (if #v > #w then v else w) else let s = sum([0:k]) in longer(k - 1, w, if s > 4 then v else w);
function row_of(k, m) : (int, [[int]]) -> [int] =
  if #m < 1 then [k] else if k < #m then m[k] else let s = sum([0:k]) in row_of(k - #m, m);
function go(k, a, b, m, n) : (int, [int], [int], [[int]], [[int]]) -> {type} =
  let s = sum([0:k]) in if k < 1 then {base} else let p = {row}; q = {matrix} in {step};
function main(ks, a, b, m, n) : ([int], [int], [int], [[int]], [[int]]) -> ([{type}], {type}) =
  ({{go(k, a, b, m, n) : k in ks}}, go(3, a, b, m, n));
"""


class Writer:
    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.rows, self.matrices = ["a", "b"], ["m", "n"]
        self.makes = draw(st.integers(0, 2)) == 0           # rows?

    def one(self, *options: Callable[[], str]) -> str:
        return self.draw(st.sampled_from(options))()

    def name(self, names: list[str]) -> Callable[[], str]:
        return lambda: self.draw(st.sampled_from(names))

    def condition(self, depth: int) -> str:
        return self.one(lambda: "rem(k, 2) == 0", lambda: "s > 2", lambda: f"sum({self.row(depth - 1)}) > 9",
                        lambda: f"#{self.row(depth - 1)} > #{self.row(depth - 1)}")

    def row(self, depth: int) -> str:
        known = self.name(self.rows)
        if depth < 1:
            return known()
        moving = (known, lambda: self.choice(self.row, depth),
                  lambda: f"at(rem(k, 2), {self.matrix(depth - 1)}, {self.row(depth - 1)})",
                  lambda: f"[{self.row(depth - 1)}, {self.row(depth - 1)}][rem(s, 2)]",
                  lambda: f"(let v = {self.row(depth - 1)} in take(v, (#v + 1) / 2))")
        making = (lambda: f"{{x + 1 : x in {self.row(depth - 1)}}}",
                  lambda: f"longer(s, {self.row(depth - 1)}, {self.row(depth - 1)})",
                  lambda: f"row_of(s, {self.matrix(depth - 1)})")
        return self.one(*moving, *(making if self.makes else ()))

    def matrix(self, depth: int) -> str:
        known = self.name(self.matrices)
        if depth < 1:
            return known()
        moving = (known, lambda: self.choice(self.matrix, depth), lambda: f"drop({known()}, 0)")
        making = (lambda: f"put({self.matrix(depth - 1)}, {self.row(depth - 1)})",
                  lambda: f"[{self.row(depth - 1)}, {self.row(depth - 1)}]",
                  lambda: f"{{r in {self.matrix(depth - 1)} | #r > 1}}",
                  lambda: f"({self.matrix(depth - 1)} ++ [{self.row(depth - 1)}])",
                  lambda: f"reverse({self.matrix(depth - 1)})")
        return self.one(*moving, *making)

    def choice(self, part: Callable[[int], str], depth: int) -> str:
        return f"(if {self.condition(depth - 1)} then {part(depth - 1)} else {part(depth - 1)})"

    def of_type(self, kind: str, depth: int) -> str:
        parts = {"row": self.row, "matrix": self.matrix, "number": lambda d: f"#{self.matrix(d)}",
                 "both": lambda d: f"({self.row(d)}, {self.matrix(d)})"}
        return parts[kind](depth)

    def call(self) -> str:
        parts = [self.row(2), self.row(2), self.matrix(2), self.matrix(2)]
        return f"go(k - 1, {', '.join(parts)})"

    def step(self, kind: str) -> str:
        return self.one(
            self.call, self.call,
            lambda: f"if {self.condition(1)} then {self.call()} else {self.call()}",
            lambda: f"let r = {self.call()} in if s > 2 then r else {self.of_type(kind, 2)}",
            lambda: f"{{{self.call()} : j in [0, 1]}}[rem(s, 2)]")


@st.composite
def recursions(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    writer = Writer(draw)
    kind = draw(st.sampled_from(sorted(TYPES)))
    base, row, matrix = writer.of_type(kind, 1), writer.row(2), writer.matrix(2)
    writer.rows.append("p")
    writer.matrices.append("q")
    return SOURCE.format(type=TYPES[kind], base=base, row=row, matrix=matrix, step=writer.step(kind))


ROWS = st.lists(st.integers(0, 9), max_size=4)
ARGUMENTS = st.tuples(st.lists(st.integers(0, 4), max_size=4), ROWS, ROWS, st.lists(ROWS, max_size=3),
                      st.lists(ROWS, max_size=3))
