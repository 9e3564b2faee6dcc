"""Sequences that grow at their ends: what is there stays where it lies, on every executor."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import gpu_device
from kernel_runs import Meaning, program_of, run_plan
from test_gpu import launch
from test_lambda_cu_reference import EMPTY

import nessie
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.generate import generate
from nessie.cudagen.host.device import NO_FAILURE, Array
from nessie.cudagen.host.launching import Taken, take
from nessie.cudagen.host.memory import Memory, size_class
from nessie.cudagen.loops.plan import replacing
from nessie.lambda_cu.check import check_kernel
from nessie.lambda_cu.reference.context import Context
from nessie.lambda_cu.reference.kernels import run_kernel
from nessie.lambda_cu.reference.reference import EvaluationLimits, Stats
from nessie.lambda_cu.text.parser import parse_kernel
from nessie.lambda_cu.typing import IllFormed

APPENDED = """kernel K (m : int, d : int, n : int, xs : [int; m], bs : [bool; m], ys : [int; d]) {
    let (zs, cs) = PERMUTE { i => (ys[i], ys[i] > 0) using ys } { i => m + i using m } (d) into n (xs, bs) distinct
    return (zs, cs) }"""


def arguments(m: int, d: int) -> list[Any]:
    random = np.random.default_rng(m)
    return [m, d, m + d, random.integers(-9, 9, m), random.integers(0, 2, m) > 0, random.integers(-9, 9, d)]


@pytest.mark.parametrize("m, d", [(0, 0), (0, 3), (5, 0), (1, 1), (300, 1), (2, 9000), (9000, 700)])
def test_kernels_on_every_executor(m: int, d: int) -> None:
    kernel, given = parse_kernel(APPENDED), arguments(m, d)
    expected = [[*given[3].tolist(), *given[5].tolist()], [*given[4].tolist(), *(given[5] > 0).tolist()]]
    assert Meaning(kernel, given).results == expected
    found = run_kernel(kernel, [np.asarray(a) for a in given], Context(EMPTY, EvaluationLimits(), Stats()))
    assert [a.tolist() for a in found] == expected
    for order in (1, -1):
        assert run_plan(kernel, given, 4, order=order)[0] == expected
    if compiler.found():
        assert launch(gpu_device(program_of(kernel), Cudasim(2, 1)), "K", given) == (expected, NO_FAILURE)


def test_only_what_writes_no_place_twice_begins_with_less() -> None:
    check_kernel(parse_kernel(APPENDED), {}, ())
    with pytest.raises(IllFormed, match="a constant or an array of n elements"):
        check_kernel(parse_kernel(APPENDED.replace("distinct", "last")), {}, ())


def test_places_that_are_left_are_noticed() -> None:
    kernel, given = parse_kernel(APPENDED.replace("(d) into", "(1) into")), arguments(5, 2)
    context = Context(EMPTY, EvaluationLimits(), Stats())
    with pytest.raises(Exception, match="leaves places behind the end"):
        run_kernel(kernel, [np.asarray(a) for a in given], context)


def test_the_first_part_is_not_read() -> None:
    plan = generate(program_of(parse_kernel(APPENDED)), "cpu").plans[0]
    assert replacing(plan) == {"zs": "xs", "cs": "bs"}


def test_memory_is_kept_where_there_is_room() -> None:
    memory = Memory()
    held: Array = memory.take("int", 33)
    buffer = Taken("zs", 0, "int", lambda words, cells: 0, None, 0, True)
    address, room = held.buffer.address, size_class(33 * 8) // 8
    for length in range(34, room + 1):
        held = take(memory, buffer, length, [held], {0})
        assert held.buffer.address == address and held.length == length
    longer = take(memory, buffer, room + 1, [held], {0})
    assert longer.buffer.address != address and longer.buffer.size > held.buffer.size


# In programs --------------------------------------------------------------------------------------

TEXT = """
    function grow(acc, i, n) = if i == n then acc else grow(acc ++ [i * i], i + 1, n);
    function squares(n) : int -> [int] = grow([] int, 0, n);
    function pairs(acc, n) = if n == 0 then acc else pairs(acc ++ [(n, float(n))], n - 1);
    function down(n) : int -> [(int, float)] = pairs([] (int, float), n);
    function many(acc, w, n) = if n == 0 then acc else many(acc ++ w, w, n - 1);
    function repeated(w, n) : ([int], int) -> [int] = many([] int, w, n);
    function levels(acc, v, n) = if n == 0 then acc else levels(acc ++ [v], {x + 1 : x in v}, n - 1);
    function rows(v, n) : ([int], int) -> [[int]] = levels([] [int], v, n);
    function both(acc, n) = if n == 0 then ([] int, acc) else let b = acc ++ [n] in (acc ++ [0 - n], b);
    function kept(v) : [int] -> ([int], [int]) = both(v, #v);
    function doubled(acc, n) = if n == 0 then acc else doubled(acc ++ acc, n - 1);
    function powers(n) : int -> [int] = doubled([1], n);
    function each(ns) : [int] -> [[int]] = {grow([] int, 0, n) : n in ns};
"""
TARGETS = ["cpu", "reference", *(["cudasim"] if compiler.found() else [])]


@pytest.mark.parametrize("target", TARGETS)
def test_programs(target: str) -> None:
    program = nessie.compile(TEXT, target=target)
    for n in (0, 1, 2, 33, 200):
        assert program.squares(n).tolist() == [i * i for i in range(n)]
    assert program.down(40).to_list() == [(n, float(n)) for n in range(40, 0, -1)]
    assert program.repeated([1, 2, 3], 30).tolist() == [1, 2, 3] * 30
    assert program.repeated([], 3).tolist() == []
    assert program.rows([1, 2], 20).to_list() == [[1 + k, 2 + k] for k in range(20)]
    assert program.rows([], 3).to_list() == [[], [], []]
    first, second = program.kept([1, 2])
    assert (first.tolist(), second.tolist()) == ([1, 2, -2], [1, 2, 2])
    assert program.powers(6).tolist() == [1] * 64
    assert program.each([3, 0, 1]).to_list() == [[0, 1, 4], [], [0]]


def test_arguments_stay_the_callers() -> None:
    program = nessie.compile("function more(v) : [int] -> [int] = v ++ [7]; function two(v) = (more(v), v);")
    given = np.arange(40)
    for _ in range(30):
        assert program.more(given).tolist() == [*range(40), 7] and given.tolist() == list(range(40))
        first, second = program.two(given)
        assert first.tolist() == [*range(40), 7] and second.tolist() == list(range(40))
