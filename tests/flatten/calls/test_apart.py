"""Recursion that stops flattening: what small activations give when threads do them one by one, and when they fail."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import examples
from built import cpu_device, execute, offers_noted
from executors import EXECUTORS, QUICK, Compiled, Failed, agree, interpreted, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nessie
from nessie.base.source import IllFormed
from nessie.base.values import flatten_value, plain_value
from nessie.cudagen.host import host
from nessie.cudagen.host.memory import view
from nessie.flatten.calls.apart import FEW
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.text.parser import parse
from nessie.lambda_cu.text.printer import show

QUICKSORT = """
function quicksort(s) : [int] -> [int] =
  if #s < 2 then s
  else
    let pivot = s[#s / 2]; parts = {quicksort(p) : p in [{e in s | e < pivot}, {e in s | e > pivot}]}
    in parts[0] ++ {e in s | e == pivot} ++ parts[1];
"""
SUMS = "function total(v) : [float] -> float = if #v < 2 then sum(v) else sum({total(p) : p in bottop(v)});"
BOTH = """
function cut(v, c) : ([int], char) -> ([int], [(char, bool)]) =
  if #v < 2 then (v, {(c, x > 1) : x in v})
  else
    let m = #v / 2; parts = {cut(p, code_char(char_code(c) + 1)) : p in [take(v, m), drop(v, m)]};
        (a, b) = parts[0]; (d, e) = parts[1]
    in (reverse(a) ++ d, e ++ b);
"""
KINDS = """
function kinds(v, rows) : ([int], [[int]]) -> [int] =
  if #v < 2 then v ++ {sum(r) : r in rows}
  else
    let counts = write_add(dist(0, 3), {(rem(abs(x), 3), 1) : x in v});
        swapped = v <- [(0, #v)];
        before = plus_scan(swapped);
        least = {x + y : x in before; y in v | oddp(x)};
        some = {kinds(take(p, #p / 2), {r in rows | #r > 1}) : p in [swapped, least, counts]}
    in flatten(some) ++ {max_val(r) : r in rows | #r > 0} ++ permute(v, reverse([0:#v]));
"""
SORTED = """
function deep(v) : [int] -> [int] = if #v < 2 then v else sort({x + 1 : x in deep(drop(v, 1))}) ++ take(v, 1);
"""
LONGER = "function grow(v) : [int] -> [int] = if #v < 2 then dist(7, 50) else flatten({grow(p) : p in bottop(v)});"
FAILS = """
function parts(v) : [int] -> [int] =
  if #v < 2 then {60 / x : x in v} else flatten({parts(p) : p in [take(v, #v / 2), drop(v, #v / 2)]});
"""
LISTS = [[3, 1, 2], [], [5], [9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1], [2, 2]]
CASES: dict[str, tuple[str, list[Any]]] = {
    "quicksort": (QUICKSORT + "function main(vs) : [[int]] -> [[int]] = {quicksort(v) : v in vs};", [LISTS]),
    "nothing": (QUICKSORT + "function main(vs) : [[int]] -> [[int]] = {quicksort(v) : v in vs};", [[]]),
    "two deep": (QUICKSORT + "function main(vss) : [[[int]]] -> [[[int]]] = {{quicksort(v) : v in vs} : vs in vss};",
                 [[LISTS, [], LISTS]]),
    "in a branch": (QUICKSORT + "function main(vs) : [[int]] -> [[int]] = "
                                "{if #v > 2 then quicksort(v ++ v) else v : v in vs};", [LISTS]),
    "scalars": (SUMS + "function main(vs) : [[float]] -> [float] = {total(v) : v in vs};",
                [[[1.5, 2.25, 8.0], [], [0.5] * 9]]),
    "pairs": (BOTH + "function main(vs) : [[int]] -> [([int], [(char, bool)])] = {cut(v, `a) : v in vs};", [LISTS]),
    "all kinds": (KINDS + "function main(vs) : [[int]] -> [[int]] = {kinds(v, vs) : v in vs};", [LISTS]),
    "sorting is declined": (SORTED + "function main(vs) : [[int]] -> [[int]] = {deep(v) : v in vs};", [LISTS]),
    "more than there is room": (LONGER + "function main(vs) : [[int]] -> [[int]] = {grow(v) : v in vs};", [LISTS]),
    "failure": (FAILS + "function main(vs) : [[int]] -> [[int]] = {parts(v) : v in vs};", [[[1, 2], [3, 0, 4], [0]]]),
    "no failure": (FAILS + "function main(vs) : [[int]] -> [[int]] = {parts(v) : v in vs};", [[[1, 2], [3, 5, 4]]]),
}


@pytest.mark.parametrize("name", CASES)
def test_executors_agree(name: str) -> None:
    source, arguments = CASES[name]
    program = Compiled(source)
    expected = outcome(program, "interpreter", arguments)
    assert isinstance(expected, Failed) == (name == "failure")
    for executor in EXECUTORS[1:] if name == "quicksort" else QUICK:
        found = outcome(program, executor, arguments)
        assert agree(expected, found), f"{executor}: {found}, not {expected}"
        expected = found


def run(source: str, arguments: list[Any], threads: int = 2) -> tuple[Any, dict[str, int], bool]:
    """The result, the launches by names, and whether what was offered was done."""
    program = Compiled(source)
    device = cpu_device(program.executable("ilp"), threads=threads)
    device.stats.detailed = True
    done = offers_noted(device)
    parameters, result = program.signature
    flat = [flatten_value(a, t) for a, t in zip(arguments, parameters, strict=True)]
    value = plain_value(execute(program.executable("ilp"), flat, device, host.HostLimits()), result)
    return value, {name: record.launches for name, record in device.stats.kernels.items()}, bool(done) and all(done)


def test_small_activations_run_apart_in_one_launch() -> None:
    source = CASES["quicksort"][0]
    values = [[(i * i * 7919 + k) % 1013 for i in range(200 + k)] for k in range(9)]
    found, launches, done = run(source, [values])
    assert found == [sorted(v) for v in values]
    assert done and launches["quicksort^apart"] == 1
    assert sum(launches.values()) < 12


def test_large_activations_are_lifted_until_they_are_small() -> None:
    source = QUICKSORT + "function main(v) : [int] -> [int] = quicksort(v);"
    values = [(i * 7919) % 100003 for i in range(100000)]
    values[50000] = 10000                   # the pivot: one part has a tenth
    found, launches, done = run(source, [values])
    assert found == sorted(values)
    assert done and launches["quicksort^apart"] > 1


def test_one_thread_does_not_have_most_of_what_runs_apart() -> None:
    """Of those up to the limit one is longer than all others together: it is divided before."""
    source = QUICKSORT + "function main(vs) : [[int]] -> [[int]] = {quicksort(v) : v in vs};"
    values = [[(i * 7919 + k) % 100003 for i in range(k)] for k in (100000, 100, 40000, 300)]
    program = Compiled(source)
    device = cpu_device(program.executable("ilp"))
    shares: list[list[int]] = []
    launch = device.launch

    def noted(kernel: str, given: Any, spare: Any = ()) -> Any:
        if kernel in device.offers and given[0]:
            shares.append(view(given[2]).tolist())
        return launch(kernel, given, spare)

    device.launch = noted
    parameters, result = program.signature
    value = execute(program.executable("ilp"), [flatten_value(values, parameters[0])], device, host.HostLimits())
    assert plain_value(value, result) == [sorted(v) for v in values]
    assert shares[0] == [100, 300] and len(shares) > 1
    assert all(max(lengths) <= max(FEW, sum(lengths) // 2) for lengths in shares)


def test_what_remains_is_as_large_as_it_was() -> None:
    """The limit is a share of what the first activations have, not of what is left."""
    source = """
    function cut(v) : [int] -> [int] =
      if #v < 4 then v else flatten({cut(p) : p in [take(v, #v / 4), drop(v, #v / 4)]});
    function main(n) : int -> bool = let v = [0:n] in eql(cut(v), v);
    """
    found, launches, done = run(source, [1 << 21])
    assert found and done and launches["cut^apart"] == 3


def test_results_lie_where_they_shall_lie() -> None:
    """The last kernel of an activation writes where the results belong, unless it reads what lies there."""
    doubled = ("function d(v) : [int] -> [int] = "
               "if #v < 2 then v else {x : x in v} ++ d(drop(v, #v / 2)) ++ d(take(v, 1));")
    source = doubled + "function main(vs) : [[int]] -> [[int]] = {d(v) : v in vs};"
    program = Compiled(source)
    for value in ([[*range(k)] for k in range(20)], [[7], [], [1, 2, 3, 4, 5, 6, 7, 8, 9]]):
        expected = outcome(program, "interpreter", [value])
        assert agree(expected, outcome(program, "cpu3 ilp", [value]))
        assert agree(expected, outcome(program, "loops ilp", [value]))


@pytest.mark.parametrize("name", ["more than there is room", "failure"])
def test_what_is_given_up_is_lifted(name: str) -> None:
    source, arguments = CASES[name]
    if name == "failure":
        arguments = [[[1, 2], [3, 5, 4]]]
        assert run(source, arguments)[2]
    else:
        assert not run(source, arguments)[2]


def test_recursion_too_deep_for_a_thread_is_lifted() -> None:
    source = """
    function down(v, k) : ([int], int) -> [int] = if k < 1 then v else {x + 1 : x in down(v, k - 1)};
    function main(vs, k) : ([[int]], int) -> [[int]] = {down(v, k) : v in vs};
    """
    assert run(source, [[[1], [2, 3]], 900])[::2] == ([[901], [902, 903]], True)
    assert run(source, [[[1], [2, 3]], 1100])[::2] == ([[1101], [1102, 1103]], False)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    source = CASES["scalars"][0]
    values = [[1.0 / (i + k + 1) for i in range(500)] for k in range(70)]
    first = run(source, [values], 1)[0]
    assert first == run(source, [values], 3)[0]


def test_offers_are_told_in_the_text() -> None:
    program = Compiled(CASES["quicksort"][0]).executable("ilp")
    offer = next(f for f in program.functions if f.apart)
    assert (offer.name, offer.apart) == ("quicksort^apart", "quicksort~")
    assert offer.body.results[0] == ir.Const(False, "bool")


@pytest.mark.parametrize("old, new, message", [
    ("apart `quicksort~`", "apart other", "the program has no function other"),
    ("apart `quicksort~`", "apart main", "main (takes|gives) other than what is offered"),
])
def test_offers_are_checked(old: str, new: str, message: str) -> None:
    text = show(Compiled(CASES["quicksort"][0]).executable("ilp"))
    assert old in text
    check(parse(text))
    with pytest.raises(IllFormed, match=message):
        check(parse(text.replace(old, new, 1)))


# Random functions -------------------------------------------------------------------------------

@st.composite
def bodies(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """A recursion on two or three parts, which are shorter; what is made of the parts is drawn."""
    def scalar() -> str:
        return draw(st.sampled_from(("x", "#v", "k", "3", "x * k - 1", "max_val(v)", "v[#v / 2]")))

    def row(depth: int, names: tuple[str, ...]) -> str:
        if depth == 0:
            return draw(st.sampled_from(names))
        inner = row(depth - 1, names)
        return draw(st.sampled_from((
            f"{{{scalar()} : x in {inner}}}", f"{{x in {inner} | x {draw(st.sampled_from('<>'))} {scalar()}}}",
            f"reverse({inner})", f"plus_scan({inner})", f"take({inner}, #{inner} / 2)", f"({inner} ++ [sum({inner})])",
            f"(if #{inner} > 3 then drop({inner}, 1) else {inner})", f"[#{inner}, sum({inner}), k]",
            f"(let w = {inner} in if #w == 0 then w else w <- [(#w - 1, k)])",
            f"{{sum({{y + x : y in {inner}}}) : x in take(v, 3)}}")))

    number = draw(st.integers(2, 3))
    parts = ", ".join(f"cut({row(draw(st.integers(0, 2)), ('v',))}, #v - {draw(st.integers(1, 2))})"
                      for _ in range(number))
    made = " ++ ".join(row(draw(st.integers(0, 2)), ("parts[0]", f"parts[{number - 1}]", "v", "flatten(parts)"))
                       for _ in range(draw(st.integers(1, 2))))
    return f"""
    function cut(v, n) : ([int], int) -> [int] = if #v > n then take(v, n) else v;
    function go(v, k) : ([int], int) -> [int] =
      if #v < 2 or k < 1 then {row(1, ('v',)).replace('max_val(v)', '5').replace('v[#v / 2]', '6')}
      else let x = v[0]; parts = {{go(p, k - 1) : p in [{parts}]}} in {made};
    function main(vs, k) : ([[int]], int) -> [[int]] = {{go(v, k) : v in vs}};
    """


@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.too_slow])
@given(bodies(), st.lists(st.lists(st.integers(-9, 9), max_size=7), max_size=4), st.integers(0, 3))
def test_random_functions(source: str, vs: list[list[int]], k: int) -> None:
    program = Compiled(source)
    expected = interpreted(program, [vs, k])
    for executor in ("loops ilp", "cpu3 ilp"):
        found = outcome(program, executor, [vs, k])
        assert agree(expected, found), f"{executor}: {found}, not {expected}"
        expected = found


SUMS = """
function halved(v, k) =
  if k == 0 then sum(v)
  else let r = {halved(w, k - 1) : w in [take(v, #v - 1), drop(v, 1)]} in r[0] + r[1] + sum(v);
function main(m, k) = {halved(r, k) : r in m};
function last(v) = if #v < 2 then #v else let r = {last(w) : w in [drop(v, 1)]} in r[0] + 1;
function lasts(m) = {last(r) : r in m};
"""


@pytest.mark.parametrize("length", [3, 32_768, 32_770, 70_000])
def test_sums_of_floats_have_their_bits_whatever_is_beside_them(length: int) -> None:
    """Rows longer than a chunk, too, and with as many arenas as memory is left for."""
    numbers = np.random.default_rng(length)
    row, other = numbers.random(length), numbers.random(300_000)
    found = set()
    for options in ({"threads": 1}, {"threads": 2}, {"threads": 16}, {"threads": 16, "memory": 100_000_000}):
        program = nessie.compile(SUMS, **options)
        for before, after in (([], []), ([], [other]), ([other[:7]], [row[:2], other])):
            found.add(float(program.main([*before, row, *after], 2)[len(before)]).hex())
    assert len(found) == 1


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_depth_holds_apart(target: str) -> None:
    assert nessie.compile(SUMS, depth=60, target=target).lasts([list(range(50))]).tolist() == [50]
    with pytest.raises(nessie.NessieError, match="recursion is deeper than 10 calls"):
        nessie.compile(SUMS, depth=10, target=target).lasts([list(range(50))])
