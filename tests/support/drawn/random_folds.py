"""Random programs of folds: sums, products, maxima of few or many elements around each position of an array.

Rows have lengths that are formulas of the positions around them, so there are triangles, bands and blocks; windows come
from slide and slide2 of what is padded. Positions are clamped, wrapped, tested or left as they are, so that some fail;
numbers of elements are constants, what the run knows, or formulas, and here and there zero or negative.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st
from random_programs import RandomProgram

T = TypeVar("T")
PARAMETERS = {"v": "[int]", "x": "[float]", "m": "[[int]]", "r": "int"}
OUTSIDE = ("#v", "#m", "r", "3", "5")       # sizes that no position is in
FEW = ("3", "2", "r", "2 * r + 1", "20", "0", "33")
RULES = ("clamp", "wrap", "mirror", "((i, n) => if i < 0 then 0 else min(i, n - 1))", "((i, n) => i)")


@st.composite
def fold_programs(draw: Callable[[st.SearchStrategy[T]], T], depth: int = 2) -> RandomProgram:
    """A program of at most `depth` folds within folds."""
    generator = Folds(draw)
    levels, element = draw(st.integers(0, 3)), draw(st.sampled_from(("int", "int", "float")))
    body, levels = generator.windows(element, depth) if draw(st.integers(0, 3)) == 0 else (
        generator.rows(element, levels, (), depth), levels)
    types, result = ", ".join(PARAMETERS.values()), "[" * levels + element + "]" * levels
    source = f"function main({', '.join(PARAMETERS)}) : ({types}) -> {result} =\n  {body};\n"
    return RandomProgram(source, arguments(draw))


def arguments(draw: Callable[[st.SearchStrategy[T]], T]) -> tuple[Any, ...]:
    columns = draw(st.integers(0, 4))
    row = st.lists(st.integers(-5, 9), min_size=columns, max_size=columns)
    ragged = st.lists(st.integers(-5, 9), max_size=4)
    return (draw(st.lists(st.integers(-5, 9), max_size=7)),
            draw(st.lists(st.integers(-8, 8).map(lambda n: n / 2), max_size=6)),
            draw(st.lists(draw(st.sampled_from((row, row, ragged))), max_size=5)),
            draw(st.sampled_from((0, 1, 1, 2, 3, -1))))


class Folds:
    """Expressions over the parameters and over positions, the variables around an expression."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.count = 0

    def one(self, *options: T) -> T:
        return self.draw(st.sampled_from(options))

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def rows(self, element: str, levels: int, positions: tuple[str, ...], depth: int) -> str:
        """Rows in rows, as many levels of them."""
        if levels == 0:
            return self.number(element, positions, depth)
        i = self.name("i")
        return f"{{{self.rows(element, levels - 1, (*positions, i), depth)} : {i} in [0:{self.length(positions)}]}}"

    def windows(self, element: str, depth: int) -> tuple[str, int]:
        """What is made of each window of v, x or m, and how many levels that has."""
        r, rule, step = self.one("r", "1", "2"), self.one(*RULES), self.one("1", "1", "2")
        size = self.one(f"(2 * {r} + 1)", "3", "2")
        w = self.name("w")
        if self.one(0, 1):
            source, around = ("v", "2") if element == "int" else ("x", "2.0")
            padded = self.one(source, f"pad({source}, {r}, {r}, {rule})", f"pad_with({source}, {r}, {r}, {around})")
            return f"{{{self.of_window(element, w, depth)} : {w} in slide({padded}, {size}, {step})}}", 1
        padded = self.one("m", f"pad2(m, {r}, {r}, {rule})", f"pad_with2(m, {r}, {r}, 1)")
        ws, row = self.name("w"), self.name("w")
        inner = f"{self.operator('int')}({{{self.of_window('int', row, depth - 1)} : {row} in {w}}})"
        body = inner if element == "int" else f"float(rem({inner}, 64))"
        return f"{{{{{body} : {w} in {ws}}} : {ws} in slide2({padded}, {size}, {step})}}", 2

    def of_window(self, element: str, w: str, depth: int) -> str:
        y, k = self.name("y"), self.name("k")
        operator = self.operator(element)
        return self.one(
            lambda: f"{operator}({w})",
            lambda: f"{operator}({{{y} * {y} : {y} in {w}}})",
            lambda: f"{operator}({{{w}[{self.near(k, f'#{w}')}] : {k} in [0:{self.one('3', f'#{w}', 'r')}]}})",
            lambda: f"{operator}({{{y} + {self.number(element, (k,), depth - 1)} "
                    f": {y} in {w}; {k} in [0:#{w}]}})",
        )()

    # Lengths and positions

    def length(self, positions: tuple[str, ...]) -> str:
        """A size, mostly a formula of the positions around and not negative."""
        if not positions or self.one(*range(4)) == 0:
            return self.one(*OUTSIDE)
        formula = self.formula(positions, 2)
        return self.one(f"max(0, {formula})", f"min(6, max({formula}, 0))", f"mod({formula}, 5)",
                        f"{positions[-1]} + 1", f"abs({formula})", formula)

    def formula(self, positions: tuple[str, ...], depth: int) -> str:
        """An int of positions and sizes, in few places of all that there are."""
        if depth == 0:
            return self.one(*positions, *positions, "r", "#v", "2", "1") if positions else self.one("r", "1", "2")
        a, b = self.formula(positions, depth - 1), self.formula(positions, depth - 1)
        return self.one(a, f"({a} + {b})", f"({a} - {b})", f"min({a}, {b})", f"max({a}, {b})", f"({a} / 2)",
                        f"rem({a}, 3)", f"(2 * {a})", f"({a} * {b})", f"2 ^ min(3, abs({a}))",
                        f"(if {a} < {b} then {a} else {b})")

    def near(self, position: str, size: str) -> str:
        """A position that a border rule may bring into 0..size - 1."""
        clamped = f"max(0, min({size} - 1, {position}))"
        return self.one(clamped, clamped, f"min({size} - 1, abs({position}))", f"mod({position}, {size})",
                        f"max({position}, 0)", position)

    # Numbers

    def number(self, element: str, positions: tuple[str, ...], depth: int) -> str:
        """A number, a fold if it can be."""
        if depth <= 0 or self.one(*range(5)) == 0:
            return self.simple(element, positions)
        fold = self.fold(element, positions, depth)
        other = self.number(element, positions, depth - 1)
        return self.one(fold, fold, fold, f"({fold} {self.one('+', '-')} {other})", f"max({fold}, {other})",
                        f"(if {self.test(positions)} then {fold} else {other})")

    def operator(self, element: str) -> str:
        return self.one("sum", "sum", "max_val", "min_val", *(["product"] if element == "int" else []))

    def fold(self, element: str, positions: tuple[str, ...], depth: int) -> str:
        k = self.name("k")
        inner, around = (*positions, k), (*positions, "2")[0]
        count = self.one(*FEW, self.length(positions))
        span = self.one(f"[0:{count}]", f"[0:{count}]", "[-r:r + 1]", f"[0 - {count}:{count} + 1]", f"[1:{count}:2]")
        keep = self.one("", "", f" | {self.test(inner)}")
        each = f"{{{self.number(element, inner, depth - 1)} : {k} in {span}{keep}}}"
        floats = f"{{{self.number('float', inner, depth - 1)} : {k} in {span}{keep}}}"
        pairs = f"{{({self.number('int', inner, depth - 1)}, {k}) : {k} in {span}{keep}}}"
        tests = f"{{{self.test(inner)} : {k} in {span}{keep}}}"
        if element == "float":
            return f"{self.operator(element)}({each})"
        return self.one(
            *[f"{self.operator(element)}({each})"] * 4, f"count({tests})", f"#{each}",
            f"(if {self.one('any', 'all')}({tests}) then 1 else {self.simple(element, positions)})",
            f"reduce((a, b) => max(a, b), 0, {each})", f"reduce((a, b) => {around} * a * b + a + b, 0, {each})",
            f"min(9, {self.one('min_index', 'max_index')}({self.one(each, floats)}))",
            f"(let (p, q) = reduce(((a, b), (c, d)) => (a + c, max(b, d)), (0, -1), {pairs}) in p + q)",
            f"sum({self.one('plus_scan', 'max_scan', 'reverse')}({each}))")

    def test(self, positions: tuple[str, ...]) -> str:
        a, b = self.formula(positions, 1), self.simple("int", positions)
        return self.one(f"{a} < {b}", f"{a} == {b}", f"mod({a}, 2) == 0", f"{a} >= 0 and {a} < #v")

    def simple(self, element: str, positions: tuple[str, ...]) -> str:
        """A number without a fold, which may fail."""
        at = self.formula(positions, 1)
        if element == "float":
            return self.one(f"x[{self.near(at, '#x')}]", f"x[{self.near(at, '#x')}]", f"float({at})", "0.5")
        guarded = f"(if {at} >= 0 and {at} < #v then v[{at}] else 0)"
        row, column = self.near(at, "#m"), self.near(self.formula(positions, 1), "#m[0]")
        return self.one(f"v[{self.near(at, '#v')}]", f"v[{self.near(at, '#v')}]", guarded, f"m[{row}][{column}]", at,
                        f"12 / {at}", "1")
