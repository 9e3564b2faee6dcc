"""Reductions that an element does alone: every executor agrees, and they stay in one kernel."""
from __future__ import annotations

import re

import numpy as np
import pytest
from executors import Compiled, assert_all_agree, assert_the_gpu_agrees, narrow
from fold_cases import CASES, FUNCTIONS

import nessie
from nessie.base.widths import FULL, Widths
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.running.recursion import counts_up
from nessie.lambda_cu.text.parser import parse


def compiled(name: str, target: str = "cpu", widths: Widths = FULL) -> Compiled:
    parameters, result, body, _ = CASES[name]
    names, types = zip(*re.findall(r"(\w+) : ([^:]+)(?:, (?=\w+ :)|$)", parameters), strict=True)
    head = f"function main({', '.join(names)}) : ({', '.join(types)}) -> {result}"
    return Compiled(f"{FUNCTIONS}{head} = {body};", target=target, widths=widths)


@pytest.mark.parametrize("name", CASES)
def test_executors_agree(name: str) -> None:
    assert_all_agree(compiled(name), CASES[name][-1], name.startswith("a failure"))


@pytest.mark.parametrize("name", CASES)
def test_the_gpu_agrees(name: str) -> None:
    assert_the_gpu_agrees(compiled(name, "cuda"), CASES[name][-1])


@pytest.mark.parametrize("name", CASES)
def test_no_reduction_is_left(name: str) -> None:
    reductions = [bind for kernel in compiled(name).flat.kernels for bind in kernel.binds
                  if isinstance(bind.soac, ir.Reduce)]
    assert bool(reductions) == (name in ("comparisons on the host", "a function that stays parallel",
                                         "a failure before another", "what is put together",
                                         "one for the host, too"))


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("widths", [Widths(32, 64), Widths(64, 32)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_narrow_numbers_agree(name: str, widths: Widths) -> None:
    assert_all_agree(compiled(name, widths=widths), narrow(CASES[name][-1], widths), name.startswith("a failure"))


SUM = "function summed(v, k) = if k == 0 then sum({x * x : x in v}) else summed(v, k - 1); "


def test_sums_of_narrow_ints_stay_and_of_floats_are_rounded_once() -> None:
    for type_, widths, left in (("int", Widths(64, 32), False), ("float", Widths(32, 64), True),
                                ("float", FULL, False)):
        program = Compiled(f"{SUM} function main(m, k) : ([[{type_}]], int) -> [{type_}] = {{summed(r, k) : r in m}};",
                           widths=widths)
        reductions = [b for kernel in program.flat.kernels for b in kernel.binds if isinstance(b.soac, ir.Reduce)]
        assert bool(reductions) == left, (type_, widths)


@pytest.mark.parametrize("target, count", [("cpu", 3_000_000), ("reference", 2_000)])
def test_a_sum_is_no_recursion(target: str, count: int) -> None:
    program = nessie.compile(SUM + "function main(m) = {summed(r, 1) : r in m};", target=target, depth=4)
    assert program.main(np.ones((1, count), np.int64)).tolist() == [count]


LOOPS = {               # what a function says, and whether its rounds are bounded
    "if at >= n then acc else f(at + 1, n, acc + 1)": True,
    "let b = at >= n in if b then acc else if acc > 3 then acc else f(at + 1, n, acc)": True,
    "if at >= n then acc else if acc > 3 then f(at + 1, n, acc) else f(at, n, acc + 1)": False,
    "if at >= n then acc else f(at + 1, n + 1, acc)": False,
    "if at == n then acc else f(at + 1, n, acc)": False,
    "if at >= n then f(at + 1, n, acc) else acc": False,
    "if at >= n then acc else f(at + -1, n, acc)": False,
    "if n >= at then acc else f(n, at + 1, acc)": False,
}


@pytest.mark.parametrize("body", LOOPS)
def test_loops_that_count_up(body: str) -> None:
    program = parse(f"scalar f (at : int, n : int, acc : int) -> int {{ {body} }} "
                    "function main () -> () { return () } entry main : -> int")
    assert counts_up(program.scalar_functions[0]) == LOOPS[body]
