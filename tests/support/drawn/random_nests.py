"""Random programs of nests of regular sequences, three to five deep: maps, sums of the innermost, filters, and second
nests that read the first at its own place, at a neighbour's, or row by row.

Sizes are numbers of the run from 0 to 4. What is computed of the positions is anything that ints can be.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import strategies as st
from random_programs import RandomProgram

T = TypeVar("T")
POSITIONS, SIZES = "abcde", "klmnp"


@st.composite
def nests(draw: Callable[[st.SearchStrategy[T]], T]) -> RandomProgram:
    depth = draw(st.integers(3, 5))
    sizes = {name: draw(st.integers(0, 4)) for name in SIZES[:depth]}
    made = nest([f"{at} in [0:{size}]" for at, size in zip(POSITIONS, sizes)], body(draw, POSITIONS[:depth]), draw)
    parameters = ", ".join([*sizes, "v"])
    types = ", ".join([*["int"] * depth, "[int]"])
    source = f"function main({parameters}) : ({types}) -> {'[' * depth}int{']' * depth} =\n  "
    source += f"let first = {made} in {second(draw, depth)};\n" if draw(st.booleans()) else f"{made};\n"
    return RandomProgram(summed(source, depth, draw), (*sizes.values(), draw(st.lists(st.integers(-5, 9), max_size=5))))


def nest(levels: Sequence[str], inside: str, draw: Callable[[st.SearchStrategy[T]], T]) -> str:
    """Sequences in sequences, perhaps some of the innermost only."""
    kept = f" | {body(draw, POSITIONS[:len(levels)])} > 2" if draw(st.integers(0, 4)) == 0 else ""
    for level in reversed(levels):
        inside, kept = f"{{{inside} : {level}{kept}}}", ""
    return inside


def second(draw: Callable[[st.SearchStrategy[T]], T], depth: int) -> str:
    """A nest of the elements of the first one: each with its position."""
    rows = ["first", *[f"r{number}" for number in range(1, depth)], "x"]
    levels = [f"{inner} in {outer}; {at} in [0:#{outer}]"
              for outer, inner, at in zip(rows, rows[1:], POSITIONS, strict=False)]
    near = draw(st.sampled_from((f"{rows[depth - 1]}[max(0, {POSITIONS[depth - 1]} - 1)]", "x", f"sum({rows[-2]})")))
    return nest(levels, f"{near} + {body(draw, POSITIONS[:depth])} + x", draw)


def summed(source: str, depth: int, draw: Callable[[st.SearchStrategy[T]], T]) -> str:
    """The program, or one that adds up each innermost row of what this one makes."""
    if draw(st.booleans()):
        return source
    sums = "sum(r0)"
    for level in range(depth - 1):
        sums = f"{{{sums} : r{level} in r{level + 1}}}"
    source = source.replace("function main", "function nest")
    names = source[source.index("(") + 1:source.index(")")]
    types = source[source.index(" : ") + 3:source.index(" ->")]
    return (f"{source}function main({names}) : {types} -> {'[' * (depth - 1)}int{']' * (depth - 1)} =\n"
            f"  let r{depth - 1} = nest({names}) in {sums};\n")


def body(draw: Callable[[st.SearchStrategy[T]], T], positions: str, depth: int = 2) -> str:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from([*positions, "3", "#v"]))
    one, other = [body(draw, positions, depth - 1) for _ in range(2)]
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return f"(if {one} < {other} then {one} else {positions[0]})"
    if kind == 1:
        return f"(if 0 <= {one} and {one} < #v then v[{one}] else {other})"
    if kind == 2:
        return f"sum({{{one} * q : q in [0:rem({other}, 4)]}})" if depth == 1 else f"max({one}, {other})"
    return f"({one} {'+-*'[kind % 3]} {other})"
