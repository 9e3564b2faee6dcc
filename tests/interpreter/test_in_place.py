"""Writes that cost only what they write: where, and that nobody misses what was written over."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from amounts import examples
from executors import Compiled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nessie.base.system.deep import run_deep
from nessie.base.widths import FULL, Widths
from nessie.interpreter import interpreter

T = TypeVar("T")
FUNCTIONS = """
function put(v, k) : ([int], int) -> [int] = if k < 1 then v else put(v <- [(mod(k, #v), k)], k - 1);
function third(v) : [int] -> int = v[2];
function same(v) : [int] -> [int] = v;
function twice(v) : [int] -> ([int], [int]) = (v, v);
function either(v, w) : ([int], [int]) -> [int] = if v[0] < w[0] then v else w;
function update(g, v) = g(v);
"""


def works(body: str, sizes: tuple[int, int], widths: Widths = FULL) -> list[int]:
    """The work of `body`, a function of n, for two sizes."""
    program = Compiled(f"{FUNCTIONS} function main(n) : int -> int = {body};", widths=widths)
    return [interpreter.call(program.world, "main", n).work for n in sizes]


def extra(body: str) -> float:
    """How many elements the expression costs for each of v and w, beside those of making them."""
    few, many = works(f"let v = dist(7, n); w = dist(8, n) in {body}", (1000, 2000))
    return (many - few) / 1000 - 2


@pytest.mark.parametrize("body", [
    "put(v, 20)[0]", "rep(v, 3, 1)[1]", "write_add(v, [(1, 2)])[1]", "write_max(v, [(1, 2)])[1]",
    "(v <- {(i, v[i] + 1) : i in [0:3]})[0]", "(v <- [(1, #v + third(v))])[1]",
    "let s = third(v); x = v <- [(1, s)]; y = x <- [(2, s)] in y[1] + third(y)",
    "(if n > 3 then v <- [(1, 2)] else w <- [(1, 2)])[0]", "let x = (if n > 3 then v else w) in (x <- [(1, 2)])[0]",
    "let x = same(v) in (x <- [(0, 1)])[0]", "(same(v) <- [(0, 1)])[0]", "(same(put(v, 3)) <- [(0, 1)])[0]",
    "let (x, y) = (w, v) in (x <- [(0, y[1])])[0] + (y <- [(0, 1)])[0]",
    "let x = either(v, w) in (x <- [(0, 1)])[0]",
    "let s = sum({third(v) + v[i] : i in [0:3]}) in (v <- [(0, s)])[0]",
    "let u = update((x => x <- [(0, 1)]), v) in u[0]",
    "let x = v <- [(0, 1)] in let v = [1, 2] in x[0] + v[0] + #(v <- [(0, 9)])",
])
def test_a_last_use_is_written_in_place(body: str) -> None:
    assert extra(body) == 0


@pytest.mark.parametrize(("body", "elements"), [
    ("let x = v <- [(1, 2)] in x[1] + v[1]", 1), ("#(v <- [(1, 2)]) + #(v <- [(1, 3)])", 1),
    ("let x = v; y = x <- [(1, 2)] in y[1] + v[1]", 1), ("let x = put(v, 20) in x[0] + v[0]", 1),
    ("let (x, y) = twice(v) in (x <- [(0, 1)])[0] + (y <- [(0, 1)])[0]", 2),
    ("let x = same(v) in (x <- [(0, 1)])[0] + v[0]", 1), ("let x = either(v, w) in (x <- [(0, 1)])[0] + v[0]", 1),
    ("let m = [v, w]; x = m[0] <- [(0, 1)] in x[0] + m[0][0]", 1), ("let x = ([v, w])[1] in (x <- [(0, 1)])[0]", 1),
    ("let g = (x => x + v[0]); u = v <- [(0, 1)] in g(u[0])", 1), ("#(v ++ (v <- [(0, 1)])) + #w", 3),
    ("third(v) + third(v <- [(0, 1)]) + either(v, v <- [(1, 1)])[0]", 2),
    ("sum({(v <- [(i, 1)])[0] : i in [0:3]})", 3), ("sum({#put(x, 4) : x in [v, w]})", 8),
    ("let v = v; w = v <- [(0, 1)] in w[0] + (let v = w in v[0]) + v[1]", 1),
    ("let p = (v, w); x = first(p) <- [(0, 1)] in x[0] + (rest(p))[0]", 1),
])
def test_what_is_used_again_is_copied(body: str, elements: int) -> None:
    assert extra(body) == elements


def test_arguments_and_variables_are_copied() -> None:
    program = Compiled(f"{FUNCTIONS} v = dist(0, 1000); function main(w) : [int] -> int = (w <- [(0, 1)])[0];"
                       " it = (v <- [(0, 1)])[0];")
    assert interpreter.call(program.world, "main", [0] * 1000).work > 1000
    *_, last = interpreter.run(program.program, interpreter.World(program.world.library))
    assert last.work > 1000


def test_rows_and_numbers_combined_at_another_width_are_copied() -> None:
    few, many = works("#({[i] : i in [0:n]} <- [(0, [2])])", (1000, 2000))
    assert many - few == 1000 * 4
    for write, elements in (("write_add", 2), ("write", 1)):
        few, many = works(f"#{write}(dist(0, n), [(0, 1)])", (1000, 2000), Widths(32, 64))
        assert many - few == 1000 * elements


# What is written over is not used again ------------------------------------------------------------

ARRAYS = ("put({a}, 3)", "same({a})", "either({a}, {b})", "{v}", "if third({v}) < {k} then {a} else {b}",
          "{a} <- [({i}, {k})]", "{a} <- {{(i, {v}[i] + {k}) : i in [0:3]}}", "write_add({a}, [({i}, {k})])",
          "{a} <- [({i}, third({b}))]", "rep({a}, {k}, {i})", "first(({a}, {b}))", "rest(({a}, {b}))",
          "([{a}, {b}])[1]", "update((x => x <- [({i}, {v}[1])]), {a})",
          "let ({v}, {w}) = twice({a}) in {b}", "let ({w}, {v}) = ({a}, {b}) in {a}", "let {v} = {a} in {b}",
          "{{x + third({v}) : x in {a}}}", "{{third({v}) + #({a}) : x in {w}}}",
          "let g = (x => x <- [({i}, {v}[{i}])]) in g({a})", "take({a} ++ {b}, 5)")


@st.composite
def expressions(draw: Callable[[st.SearchStrategy[T]], T], depth: int = 4) -> str:
    """Expressions of arrays of five elements, of u, v and w."""
    if depth == 0:
        return draw(st.sampled_from(("u", "v", "w", "v", "dist(4, 5)")))
    names = {name: draw(st.sampled_from(("u", "v", "w"))) for name in "vw"}
    if names["v"] == names["w"]:
        names["w"] = "v" if names["v"] == "u" else "u"
    parts = {part: f"({draw(expressions(draw(st.integers(0, depth - 1))))})" for part in "ab"}
    return draw(st.sampled_from(ARRAYS)).format(i=draw(st.integers(0, 4)), k=draw(st.integers(0, 9)), **names, **parts)


@settings(max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(st.lists(expressions(), min_size=2, max_size=4), st.data())
def test_nobody_misses_what_was_written_over(lines: list[str], data: st.DataObject) -> None:
    names = [data.draw(st.sampled_from("uvw")) for _ in lines]
    lets = "; ".join(f"{name} = {line}" for name, line in zip(names, lines, strict=True))
    result = data.draw(st.sampled_from(("u", "(v, w)", "(u, v, w)")))
    types = {"u": "[int]", "(v, w)": "([int], [int])", "(u, v, w)": "([int], [int], [int])"}[result]
    program = Compiled(f"{FUNCTIONS} function main(n) : int -> {types} = "
                       f"let u = dist(1, n); v = [0:n]; w = {{x * x : x in v}}; {lets} in {result};")

    def run() -> Any:
        return interpreter.call(program.world, "main", 5).value

    in_place, wiped = interpreter.is_in_place, []

    def wiping(world: Any, name: str, types: Any, destination: Any, site: Any) -> bool:
        if found := in_place(world, name, types, destination, site):
            wiped.append(destination)
            destination[:] = [1000] * len(destination)
        return found

    expected = run_deep(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "is_in_place", wiping)
        assert run_deep(run) == expected, f"{lets} in {result}"
