"""Reductions that an element does alone: every executor agrees, and they stay in one kernel."""
from __future__ import annotations

import re

import pytest
from executors import Compiled, assert_all_agree, assert_the_gpu_agrees
from fold_cases import CASES, FUNCTIONS

from nessie.lambda_cu import nodes as ir


def compiled(name: str, target: str = "cpu") -> Compiled:
    parameters, result, body, _ = CASES[name]
    names, types = zip(*re.findall(r"(\w+) : ([^:]+)(?:, (?=\w+ :)|$)", parameters), strict=True)
    head = f"function main({', '.join(names)}) : ({', '.join(types)}) -> {result}"
    return Compiled(f"{FUNCTIONS}{head} = {body};", target=target)


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
