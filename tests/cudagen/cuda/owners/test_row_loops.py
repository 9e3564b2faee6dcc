"""Loops over rows that owners go through by themselves: the values are those of the interpreter, in one launch."""
from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from built import execute, gpu_code, gpu_device, offers_noted
from executors import Compiled, Failed, agree, outcome
from owner_kernels import LEVELS

from nessie.base.source import IllFormed, NessieError, Source
from nessie.base.values import DTYPES, flatten_value, plain_value
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.cuda.nvidia import nvrtc
from nessie.cudagen.cuda.nvidia.compiler import assembled
from nessie.cudagen.host.check import check as check_instructions
from nessie.cudagen.host.limits import HostLimits
from nessie.cudagen.host.translate import translate
from nessie.cudagen.kernels.scalar_functions import tables_of
from nessie.cudagen.loops.nodes import Shared
from nessie.cudagen.skeletons.owners import offers
from nessie.cudagen.skeletons.owners.lanes import FLAGS
from nessie.cudagen.skeletons.owners.offers import Offer, prepared
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check_host import Tables, check_function
from nessie.lambda_cu.reference.reference import execute as execute_reference
from nessie.lambda_cu.text.parser import parse
from nessie.lambda_cu.text.printer import kernel_types, show
from nessie.pipeline import Job, pass_named
from nessie.schedule.wishes.wishes import LEVEL, Wish
from nessie.tool.cli import main

BITONIC = """
function stage(xs, k, j) : ([int], int, int) -> [int] =
  {let p = i xor j; y = xs[p]; up = (i and k) == 0; low = i < p
   in if not(up xor low) then min(x, y) else max(x, y) : x in xs; i in [0:#xs]};
function stages(xs, k, j) : ([int], int, int) -> [int] =
  if j == 0 then xs else stages(stage(xs, k, j), k, rshift(j, 1));
function phases(xs, k) : ([int], int) -> [int] =
  if k > #xs then xs else phases(stages(xs, k, rshift(k, 1)), lshift(k, 1));
function main(rows) : [[int]] -> [[int]] = let b = {phases(r, 2) : r in rows} in b;
"""
RELAX = """
function relax(xs, k) : ([float], int) -> [float] =
  if k == 0 then xs
  else relax({if i > 0 and i < #xs - 1 then (xs[i - 1] + xs[i + 1]) * 0.5 else x : x in xs; i in [0:#xs]}, k - 1);
function main(rows, k) : ([[float]], int) -> [[float]] = let b = {relax(r, k) : r in rows} in b;
"""
SUMS = """
function until(xs, n) : ([int], int) -> ([int], int) =
  if n > 5 or sum(xs) > 100 then (xs, n) else until({x + y : x in plus_scan(xs); y in xs}, n + 1);
function main(rows) : [[int]] -> [([int], int)] = let b = {until(r, #r) : r in rows} in b;
"""
JUMPS = """
function jump(p, d, k) : ([int], [int], int) -> [int] =
  if k == 0 then d else jump(p -> p, {x + y : x in d; y in d -> p}, k - 1);
function main(ps) : [[int]] -> [[int]] = let b = {jump(p, dist(1, #p), 5) : p in ps} in b;
"""
KINDS = """
function go(xs, cs, k) : ([(int, float)], [bool], int) -> ([(int, float)], [bool], int) =
  if k < 1 then (xs, cs, k)
  else go({(i + 1, if c then g * 2.0 else g) : (i, g) in xs; c in cs}, {not c : c in cs}, k - 1);
function main(rows) : [[int]] -> [([(int, float)], [bool], int)] =
  let b = {go({(x, float(x)) : x in r}, {x > 2 : x in r}, #r) : r in rows} in b;
"""
TWICE = """
function up(xs, k) : ([int], int) -> [int] = if k == 0 then xs else up({x + k : x in xs}, k - 1);
function turn(xs, ys, k) : ([int], [int], int) -> [int] =
  if k == 0 then {x - y : x in xs; y in ys} else turn(up(ys, 2), up(xs, k), k - 1);
function main(rows) : [[int]] -> [[int]] = let b = {turn(r, {x * x : x in r}, 5) : r in rows} in b;
"""
FIRST = """
function first(xs, k) : ([int], int) -> [int] =
  if k == 0 or #xs == 0 then xs else first({x - xs[#xs - 1] : x in xs}, if xs[0] > 3 then k - 1 else 0);
function main(rows) : [[int]] -> [[int]] = let b = {first(r, 3) : r in rows} in b;
"""
MEANS = """
function near(xs, e) : ([float], float) -> [float] =
  let m = sum(xs) / float(max(1, #xs)); d = {abs(x - m) : x in xs}
  in if max_val(d) < e then xs else near({(x + m) / 2.0 : x in xs}, e);
function main(rows) : [[float]] -> [[float]] = let b = {near(r, 0.5) : r in rows} in b;
"""
DIVIDE = """
function div(xs, k) : ([int], int) -> [int] = if k == 0 then xs else div({60 / (x - 1) : x in xs}, k - 1);
function main(rows, k) : ([[int]], int) -> [[int]] = let b = {div(r, k) : r in rows} in b;
"""
FOREVER = """
function on(xs) : [int] -> [int] = if #xs < 0 then xs else on({x + 1 : x in xs});
function main(rows) : [[int]] -> [[int]] = let b = {on(r) : r in rows} in b;
"""
GROUPS = BITONIC.replace("main(rows) : [[int]]", "main(xs) : [int]").replace("r in rows", "r in group_by(xs, 16)")


def rows(lengths: list[int], least: int = 0, most: int = 30) -> list[list[int]]:
    numbers = random.Random(len(lengths))
    return [[numbers.randint(least, most) for _ in range(length)] for length in lengths]


def halves(lengths: list[int]) -> list[list[float]]:
    return [[x / 2 for x in row] for row in rows(lengths)]


LENGTHS = [3, 0, 0, 13, 1, 0, 8, 16, 5, 2]
CASES: dict[str, tuple[str, list[Any]]] = {
    "bitonic": (BITONIC, [rows([16] * 70)]),
    "bitonic, other lengths": (BITONIC, [rows([16, 1, 0, 2, 8, 4, 0, 16, 1])]),
    "neighbours": (RELAX, [halves(LENGTHS), 7]),
    "no rounds": (RELAX, [halves(LENGTHS), 0]),
    "sums and scans": (SUMS, [rows(LENGTHS)]),
    "gathers": (JUMPS, [[[min(n - 1, i + 1) for i in range(n)] for n in LENGTHS]]),
    "pairs, several rows, scalars": (KINDS, [rows(LENGTHS)]),
    "loops in a loop, rows that take turns": (TWICE, [rows(LENGTHS)]),
    "elements decide": (FIRST, [rows(LENGTHS)]),
    "until they are near": (MEANS, [halves([4, 0, 1, 16, 2, 8, 8])]),
    "checks that hold": (DIVIDE, [rows(LENGTHS, 30, 90), 1]),
}


QUICK_CUBINS = (("bitonic", "warp"), ("pairs, several rows, scalars", "thread"))


@cache
def compiled(source: str, level: str, **how: Any) -> ir.Program:
    job = Job(entry="main", target="cudasim", wishes=(Wish(LEVEL, "b", level),), **how)
    program: ir.Program = compile_program(job, TEXT, Source("test.nesl", source), pass_named("borders"))
    check_instructions(translate(program))
    return program


@cache
def code(source: str, level: str) -> GpuProgram:
    return gpu_code(compiled(source, level))


@cache
def once(source: str) -> Compiled:
    """For the interpreter."""
    return Compiled(source)


@cache
def meaning(name: str) -> Any:
    source, arguments = CASES[name]
    return outcome(once(source), "interpreter", arguments)


def run(source: str, level: str, arguments: list[Any], depth: int | None = None) -> tuple[Any, int, list[bool]]:
    """The value, the number of launches, and whether what owners were offered was done."""
    program = compiled(source, level)
    device = gpu_device(code(source, level), Cudasim(2, 1))
    done = offers_noted(device)
    parameters, result = once(source).signature
    flat = [flatten_value(a, t) for a, t in zip(arguments, parameters, strict=True)]
    value = plain_value(execute(program, flat, device, HostLimits(depth)), result)
    assert agree(plain_value(execute_reference(program, flat), result), value)
    return value, device.stats.launches, done


simulated = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")


@simulated
@pytest.mark.parametrize("name, level", [pytest.param(name, level, marks=() if level in ("warp", LEVELS[at % 5]) else
                                                      pytest.mark.sampled(quick=8, ci=24))
                                         for at, name in enumerate(CASES) for level in LEVELS])
def test_owners_go_through_all_rounds(name: str, level: str) -> None:
    source, arguments = CASES[name]
    found, _, done = run(source, level, arguments)
    assert agree(meaning(name), found), f"{found}, not {meaning(name)}"
    assert done == [True]


ALL_BITONIC = """
function stage(xs, k, j) : ([int], int, int) -> [int] =
  {let p = i xor j; y = xs[p]; up = (i and k) == 0; low = i < p
   in if not(up xor low) then min(x, y) else max(x, y) : x in xs; i in [0:#xs]};
function stages(rows, k, j) : ([[int]], int, int) -> [[int]] =
  if j == 0 then rows else stages({stage(xs, k, j) : xs in rows}, k, rshift(j, 1));
function phases(rows, k, n) : ([[int]], int, int) -> [[int]] =
  if k > n then rows else phases(stages(rows, k, rshift(k, 1)), lshift(k, 1), n);
function main(rows) : [[int]] -> [[int]] =
  let b = phases(rows, 2, if #rows > 0 then #rows[0] else 0) in b;
"""
ALL_GROWING = """
function phases(rows, k) : ([[int]], int) -> [[int]] =
  if k == 0 then rows else phases({{x + k : x in r | x > k} ++ [k] : r in rows}, k - 1);
function main(rows, k) : ([[int]], int) -> [[int]] = let b = phases(rows, k) in b;
"""
ALL_DIVIDE = """
function div(rows, k) : ([[int]], int) -> [[int]] =
  if k == 0 then rows else div({{60 / (x - k) : x in r} : r in rows}, k - 1);
function main(rows, k) : ([[int]], int) -> [[int]] = let b = div(rows, 12 / k) in b;
"""


@simulated
@pytest.mark.parametrize("level", LEVELS)
def test_recursions_on_all_rows_have_owners_too(level: str) -> None:
    """However many rounds there are: 3 for rows of 4, 10 for rows of 16."""
    _, few, _ = run(ALL_BITONIC, level, [rows([4] * 9)])
    found, many, done = run(ALL_BITONIC, level, [rows([16] * 9)])
    assert found == [sorted(row) for row in rows([16] * 9)] and done == [True] and few == many < 6
    assert run(ALL_BITONIC, level, [[]])[0] == [] and run(ALL_BITONIC, level, [[[], []]])[0] == [[], []]


@simulated
def test_rows_without_owners_go_round_together() -> None:
    """So they need as many launches as without a level; one more where owners give up."""
    for source, given, more in ((ALL_BITONIC, [rows([32] * 3)], 1), (ALL_GROWING, [rows(LENGTHS), 6], 0)):
        program = compile_program(Job(entry="main", target="cudasim"), TEXT, Source("test.nesl", source),
                                  pass_named("borders"))
        device = gpu_device(program, Cudasim(2, 1))
        parameters, result = once(source).signature
        expected = execute(program, [flatten_value(a, t) for a, t in zip(given, parameters, strict=True)], device)
        found, launches, done = run(source, "thread", given)
        assert found == plain_value(expected, result) and done == [False] * more
        assert launches == device.stats.launches + more


@simulated
@pytest.mark.parametrize("given, k", [([], 0), ([], 12), ([[3, 5]], 0), ([[3, 5], [2, 1]], 6), ([[50], []], 4)])
def test_recursions_on_all_rows_fail_as_ever(given: list[list[int]], k: int) -> None:
    expected = outcome(once(ALL_DIVIDE), "interpreter", [given, k])
    if isinstance(expected, Failed):
        with pytest.raises(NessieError, match="Divide by zero"):
            run(ALL_DIVIDE, "warp", [given, k])
    else:
        assert run(ALL_DIVIDE, "warp", [given, k])[0] == expected


@simulated
@pytest.mark.parametrize("level", LEVELS)
def test_bitonic_rows_are_one_launch(level: str) -> None:
    source, arguments = CASES["bitonic"]
    uniform = (ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("int"), "uniform")),)
    found, launches, done = run(source, level, arguments)
    assert (found, launches, done) == ([sorted(row) for row in arguments[0]], 1, [True])
    assert sum(isinstance(f.over, ir.Uniform) for f in compiled(source, level, layouts=uniform).functions) == 1
    (elements,) = rows([64])
    found, launches, done = run(GROUPS, level, [elements])
    assert (found, launches, done) == ([sorted(elements[at:at + 16]) for at in range(0, 64, 16)], 2, [True])


IN_CALLS = BITONIC[:BITONIC.index("function main")] + """
function sorted(xs) : [int] -> [int] = phases(xs, 2);
function main(xs, n) : ([int], int) -> [[int]] = let g = group_by(xs, n) in {sorted(r) : r in g};
"""


@simulated
@pytest.mark.parametrize("name, done", [("main", [True]), ("sorted", [True]), ("g", None)])
def test_the_name_of_a_function_means_loops_in_calls_of_its_body(name: str, done: list[bool] | None) -> None:
    job = Job(entry="main", target="cudasim", wishes=(Wish(LEVEL, name, "sub8"),))
    if done is None:
        with pytest.raises(NessieError, match="it has no segments"):
            compile_program(job, TEXT, Source("test.nesl", IN_CALLS), pass_named("borders"))
        return
    program = compile_program(job, TEXT, Source("test.nesl", IN_CALLS), pass_named("borders"))
    device, (elements,) = gpu_device(program, Cudasim(2, 1)), rows([64])
    noted = offers_noted(device)
    given = [flatten_value(a, t) for a, t in zip((elements, 16), Compiled(IN_CALLS).signature[0], strict=True)]
    found = plain_value(execute(program, given, device), Compiled(IN_CALLS).signature[1])
    assert found == [sorted(elements[at:at + 16]) for at in range(0, 64, 16)] and noted == done


COUNTED = """
function down(xs, k) : ([int], int) -> [int] =
  if k == 0 then xs else down({x + 60 / (xs[#xs - 1 - i] - 1) : x in xs; i in [0:#xs]}, k - 1);
function main(n, m, least) : (int, int, int) -> %s = let b = %s in b;
"""
ROW = "down({least + i + j : i in [0:%s]}, 3)"
ROOM = {"thread": 16, "sub4": 64, "sub8": 128, "warp": 512, "block": 1024}
Sizes = Callable[[int], tuple[int, int]]
SPACES: dict[str, tuple[str, Sizes]] = {            # and n and m, where the longest row has so many elements
    "Uniform": (COUNTED % ("[[int]]", f"{{{ROW % 'm'} : j in [0:n]}}"), lambda longest: (3, longest)),
    "Closed": (COUNTED % ("[[int]]", f"{{{ROW % 'm * j'} : j in [0:n]}}"), lambda longest: (2, longest)),
    "Nested": (COUNTED % ("[[[int]]]", f"{{{{{ROW % 'p'} : j in [0:m]}} : p in [0:n]}}"),
               lambda longest: (longest + 1, 1)),
}


@simulated
@pytest.mark.parametrize("space, level", [
    pytest.param(space, level, marks=() if level == LEVELS[at] else pytest.mark.sampled(quick=12, ci=12))
    for at, space in enumerate(SPACES) for level in LEVELS])
def test_rows_that_are_counted_have_owners_too(space: str, level: str) -> None:
    source, sizes = SPACES[space]
    room = ROOM[level] if space != "Nested" else min(ROOM[level], 64)
    for longest, fits in ((0, True), (1, True), (room, True), (room + 1, room < ROOM[level])):
        arguments = [*sizes(longest), 2]
        found, _, done = run(source, level, arguments)
        assert agree(outcome(once(source), "interpreter", arguments), found) and done == [fits]
    assert run(source, level, [0, 3, 2])[2] == []
    assert [type(f.over).__name__ for f in compiled(source, level).functions if f.by is not None] == [space]


@simulated
@pytest.mark.parametrize("space, level", [("Uniform", "block"), ("Closed", "warp"), ("Nested", "thread")])
def test_rows_that_are_counted_fail_as_ever(space: str, level: str) -> None:
    source, arguments = SPACES[space][0], [4, 5, -1]
    expected = outcome(once(source), "interpreter", arguments)
    assert isinstance(expected, Failed)
    with pytest.raises(NessieError, match=re.escape(expected.message)):
        run(source, level, arguments)


@pytest.mark.skipif(not nvrtc.library_path(), reason="there is no NVRTC (pip install nvidia-cuda-nvrtc)")
@pytest.mark.parametrize("name, level", [pytest.param(name, level, marks=() if (name, level) in QUICK_CUBINS else
                                                      pytest.mark.sampled(quick=0, ci=24))
                                         for name in CASES for level in LEVELS])
def test_no_loop_spills(name: str, level: str) -> None:
    found = assembled(code(CASES[name][0], level).text, "sm_90")
    assert found.warnings == ()
    (usage,) = [usage for usage in found.usages if usage.function.endswith("_rounds")]
    assert (usage.spill_stores, usage.spill_loads, usage.stack) == (0, 0, 0) and (usage.shared or 0) <= 48 << 10


@pytest.mark.parametrize("spare, room", [(0, 1024), (1, 512)])
def test_sums_take_shared_memory_beside_rows(spare: int, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiled(SUMS, "block")
    (offer,) = [f for f in program.functions if f.over is not None]
    tables = tables_of(program, False)
    taken = shared_bytes(prepared(offer, program, tables))
    assert taken > 2 * 8 * 1024                                 # two rows, and sums
    limit = taken + 8 * FLAGS - spare                           # room for flags is kept, in case checks may fail
    monkeypatch.setattr(offers, "SHARED", limit)
    made = prepared(offer, program, tables)
    assert made.code.room.each == room and shared_bytes(made) <= limit


def shared_bytes(offer: Offer) -> int:
    (function,) = offer.module().functions
    return sum(DTYPES[s.type].itemsize * s.size for s in function.body if isinstance(s, Shared))


@simulated
@pytest.mark.parametrize("level, room", ROOM.items())
def test_rows_that_have_no_room_are_lifted(level: str, room: int) -> None:
    source, _ = CASES["neighbours"]
    for length, fits in ((room, True), (room + 1, False)):
        arguments: list[Any] = [halves([3, length, 0]), 2]
        found, launches, done = run(source, level, arguments)
        assert agree(outcome(once(source), "interpreter", arguments), found)
        assert done == [fits] and (launches == 1) == fits


@simulated
@pytest.mark.parametrize("level", ["thread", "warp", "block"])
def test_what_fails_is_told_as_ever(level: str) -> None:
    arguments = [[[61, 5], [3, 4, 2, 1], [9]], 2]
    expected = outcome(once(DIVIDE), "interpreter", arguments)
    assert isinstance(expected, Failed)
    with pytest.raises(NessieError, match=expected.message):
        run(DIVIDE, level, arguments)
    with pytest.raises(NessieError, match="recursion is deeper"):
        run(FOREVER, level, [[[1], [2, 3]]], depth=30)


ENTRY = "function main(rows, v) : ([[int]], [int]) -> [[int]] = let b = {%s : r in rows} in b;"
NO_LOOPS = {
    "filters": ("go(xs, k) : ([int], int) -> [int] = if k == 0 then xs else go({x in xs | x > k}, k - 1)", "go(r, 3)"),
    "shorter": ("go(xs, k) : ([int], int) -> [int] = if k == 0 then xs else go(take(xs, #xs / 2), k - 1)", "go(r, 2)"),
    "halved": ("go(xs, k) : ([int], int) -> [int] = "
               "if k == 0 then xs else go({xs[2 * i] : i in [0:#xs / 2]}, k - 1)", "go(r, 2)"),
    "not last": ("go(xs, k) : ([int], int) -> [int] = if k == 0 then xs else {x + 1 : x in go(xs, k - 1)}", "go(r, 2)"),
    "a table": ("go(xs, k, u) : ([int], int, [int]) -> [int] = "
                "if k == 0 then xs else go({u[rem(x, 3)] : x in xs}, k - 1, u)", "go(r, 2, v)"),
    "sorts": ("go(xs, k) : ([int], int) -> [int] = if k == 0 then xs else go(sort(xs), k - 1)", "go(r, 2)"),
}


@simulated
@pytest.mark.parametrize("name", NO_LOOPS)
def test_what_is_no_loop_over_rows_stays_as_it_is(name: str) -> None:
    function, call = NO_LOOPS[name]
    source, arguments = f"function {function};{ENTRY % call}", [rows(LENGTHS), [4, 5, 6]]
    found, _, done = run(source, "warp", arguments)
    assert agree(outcome(once(source), "interpreter", arguments), found) and done == []


@pytest.mark.parametrize("name, reason", [
    ("filters", "go filters"),
    ("shorter", "it passes on parts of sequences, or sequences in sequences, or has effects"),
    ("halved", "rows of the result may be longer or shorter than those that it is given"),
    ("not last", "go calls go otherwise than as its last step"),
    ("a table", "it is given a sequence that is no row: all rows have it"), ("sorts", "go sorts")])
def test_explanations_tell_why(name: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    function, call = NO_LOOPS[name]
    file = tmp_path / "loops.nesl"
    file.write_text(f"function {function};{ENTRY % call}", "utf-8")
    assert main(["explain", str(file), "-e", "main", "--target", "cudasim", "--level", "b=warp"]) == 0
    assert f"as no owner can go through all of go: {reason}\n" in capsys.readouterr().out


GCD = """
function gcd(a, b) : (int, int) -> int = if b == 0 then a else gcd(b, rem(a, b));
function go(xs, k) : ([int], int) -> [int] = if k == 0 then xs else go({gcd(x, k) : x in xs}, k - 1);
function main(rows) : [[int]] -> [[int]] = let b = {go(r, 3) : r in rows} in b%s;
"""


@pytest.mark.parametrize("pragma, option", [("", ("--level", "b=warp")), (" % level b by warp %", ())])
def test_warnings_tell_what_no_owner_goes_through(pragma: str, option: tuple[str, ...], tmp_path: Path,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "loops.nesl"
    file.write_text(GCD % pragma, "utf-8")
    assert main(["compile", str(file), "-e", "main", "--target", "cudasim", "--emit", "cuda", *option]) == 0
    told = capsys.readouterr().err
    assert told.startswith("warning: no owner can go through all of go: it calls a function that loops or recurs at "
                           f"each element\n --> {file}:4:") and told.count("warning:") == 1
    assert "{go(r, 3)" in told and "^ each round is of all rows" in told


def test_nobody_owns_rows_unless_somebody_asks() -> None:
    program = compile_program(Job(entry="main", target="cudasim"), TEXT, Source("test.nesl", BITONIC),
                              pass_named("borders"))
    assert not any(f.apart for f in program.functions)
    job = Job(entry="main", target="cudasim", wishes=(Wish(LEVEL, "p", "warp"),), strict=False)
    program = compile_program(job, TEXT, Source("test.nesl", BITONIC), pass_named("borders"))
    assert not any(f.apart for f in program.functions)


def test_offers_over_spaces_have_a_text() -> None:
    text = show(compiled(BITONIC, "warp"))
    assert "apart `phases~` over irregular(" in text and " by Levels([warp, lane], Gen) {" in text
    assert show(parse(text)) == text


@pytest.mark.parametrize("change, message", [
    (lambda offer: replace(offer, over=None, by=None), "takes other than what is offered"),
    (lambda offer: replace(offer, over=None, apart=""), "nobody walks what is over no space"),
    (lambda offer: replace(offer, apart=""), "only an offer is over a space"),
    (lambda offer: replace(offer, params=other(offer.params)), "takes other than what is offered"),
    (lambda offer: replace(offer, results=other(offer.results)), "gives other than what is offered"),
    (lambda offer: replace(offer, params=offer.params[:-1]), "other sequences than what it calls"),
    (lambda offer: replace(offer, over=replace(offer.over, segments=3)), "as many segments as there are activations"),
    (lambda offer: replace(offer, over=replace(offer.over, offsets="others")), "what its space mentions"),
])
def test_offers_over_spaces_are_checked(change: Callable[[ir.Function], ir.Function], message: str) -> None:
    program = compiled(BITONIC, "warp")
    (offer,) = [f for f in program.functions if f.over is not None]
    kernels = {kernel.name: kernel for kernel in program.kernels}
    types = {name: kernel_types(kernel, {}) or () for name, kernel in kernels.items()}
    tables = Tables(kernels, types, {f.name: f for f in program.functions}, {}, ())
    check_function(offer, tables)
    with pytest.raises(IllFormed, match=message):
        check_function(change(offer), tables)


def other(params: tuple[ir.Param, ...]) -> tuple[ir.Param, ...]:
    """The last has elements of another type."""
    *rest, last = params
    return *rest, replace(last, type=ir.Array("bool", last.type.size) if isinstance(last.type, ir.Array) else "bool")


# Random loops -----------------------------------------------------------------------------------


def random_loops(seed: int) -> str:
    """A loop that goes through another in each round, on rows that take turns."""
    draw = random.Random(seed)

    def element() -> str:
        return draw.choice(("x + k", "x - y", "x * 3 + i", "max(x, s)", "(if rem(i, 2) == 0 then x else y)",
                            f"{draw.choice(('xs', 'ys'))}[#xs - 1 - i]", "xs[rem(abs(y), #xs)] - x", "ys[i] + 60 / k",
                            "ys[rem(i + k, #ys)]", "(if x > s then xs[0] else ys[#ys - 1])"))

    def row(depth: int = 2) -> str:
        if depth == 0:
            return draw.choice(("xs", "ys"))
        return draw.choice((f"{{rem({element()}, 97) : x in {row(depth - 1)}; y in {row(0)}; i in [0:#xs]}}",
                            f"{{rem({element()}, 97) : x in {row(0)}; y in {row(0)}; i in [0:#xs]}}",
                            f"plus_scan({row(depth - 1)})", f"max_scan({row(depth - 1)})", row(0)))

    def test() -> str:
        return draw.choice((f"sum({row(1)}) > 200", "s == 3", "#xs > 3",
                            "(if #xs > 0 then xs[0] == 1 else f)"))

    def given() -> str:
        return draw.choice(("rem(sum(xs), 50)", "k * 2", "max_val(ys)", "if #ys > 1 then ys[1] else 0"))

    return f"""
    function inner(xs, ys, k) : ([int], [int], int) -> [int] =
      let s = {given()} in if k <= 1 or {test()} then {row()} else inner({row()}, {row()}, k - {draw.randint(1, 2)});
    function go(xs, ys, k) : ([int], [int], int) -> ([int], int, [int]) =
      let s = {given()}
      in if k < 1 or {test()} then ({row(1)}, s, {row(1)}) else go({row(1)}, inner({row(1)}, {row(0)}, {
          draw.choice(('k', '3', 's'))}), k - 1);
    function main(rows, k) : ([[int]], int) -> [([int], int, [int])] =
      let b = {{go(r, {{rem(x * x, 41) : x in r}}, k) : r in rows}} in b;
    """


@simulated
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=() if seed < 2 else pytest.mark.sampled(quick=0, ci=15))
                                  for seed in range(60)])
def test_random_loops(seed: int) -> None:
    source, arguments = random_loops(seed), [rows([3, 0, 16, 1, 7, 2, 0, 11]), seed % 5]
    expected = outcome(once(source), "interpreter", arguments)
    level = LEVELS[seed % len(LEVELS)]
    if isinstance(expected, Failed):
        with pytest.raises(NessieError, match=re.escape(expected.message)):
            run(source, level, arguments)
        return
    found, _, done = run(source, level, arguments)
    assert agree(expected, found), f"{found}, not {expected}"
    assert done == [True]
