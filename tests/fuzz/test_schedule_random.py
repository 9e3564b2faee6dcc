"""Random programs mean the same after fusing, under every schedule, failures and their indices included.

Where several kernels fail, the host tells of those that have run when it needs a size, and fusing may have put others
before that. What is told must be a failure of the program as it was, too.
"""
from __future__ import annotations

import random
import re
from functools import partial
from typing import Any

import numpy as np
import pytest
from amounts import seeds
from schedule_programs import random_program

from nessie.base.source import NessieError
from nessie.base.values import Flat
from nessie.cudagen.kernels.walk import walk_of
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.reference.reference import execute
from nessie.lambda_cu.text.parser import parse
from nessie.lambda_cu.text.printer import show
from nessie.schedule.check import check_schedule
from nessie.schedule.cost.profiles import CPU, H200, Profile
from nessie.schedule.fuse import fuse
from nessie.schedule.schedule import schedule

WAYS = (("ilp", CPU), ("ilp", H200), ("greedy", CPU), ("none", CPU),
        ("ilp", Profile("all", 1.0, 1e9, 0.0, 0.0)))


def plain(value: Any) -> Any:
    if isinstance(value, Flat):
        return [int(value.length), *(int(x) for x in np.asarray(value.column))]
    return tuple(map(plain, value)) if isinstance(value, tuple) else int(value)


def outcome(program: ir.Program, arguments: list[Any]) -> Any:
    try:
        return plain(execute(program, arguments))
    except NessieError as error:
        return "error", str(error)


def arguments(seed: int) -> list[list[Any]]:
    rng = random.Random(seed)
    lengths = [(0, 0), (1, 1), (5, 3), (9, 0), (12, 7), (6, 6)]
    return [[Flat(n, np.array([rng.randint(-5, 9) for _ in range(n)], np.int64)) for n in pair] for pair in lengths]


def same(program: ir.Program, args: list[Any], expected: Any, got: Any) -> bool:
    """Is it the expected outcome, or the failure that the program tells when its other kernels' checks do not fail?"""
    if expected == got or not expected[0] == got[0] == "error":
        return bool(expected == got)
    site = got[1].split()[-1]
    kernels, main = show(program).split("function main")
    alone = re.sub(rf"fail (?!{site}\b)e\d+ : int", "0", kernels)
    return bool(outcome(parse(f"{alone}function main{main}"), args) == got)


def compare(seed: int, steps: int) -> int:
    """How many launches fusing saved."""
    return compared(random_program(seed, steps), seed)[0]


def compared(program: ir.Program, seed: int) -> tuple[int, list[ir.Program]]:
    """The same, and the fused programs, all of which mean the same."""
    check(program)
    inputs = arguments(seed)
    expected = [outcome(program, args) for args in inputs]
    saved, every = 0, []
    for mode, profile in WAYS:
        found = schedule(program, mode, profile)
        check_schedule(program, found)
        fused = fuse(program, found)
        try:
            check(fused)
        except Exception as error:
            raise AssertionError(f"{error}\n{show(program)}\n{show(fused)}\n{found}") from error
        for kernel in fused.kernels:
            if not isinstance(kernel.binds[0].soac, ir.Order):
                walk_of(kernel, fused)          # the code generators find one walk for what is in one kernel
        got = [outcome(fused, args) for args in inputs]
        assert all(map(partial(same, program), inputs, expected, got)), \
            f"seed {seed}, {mode} {profile.name}\n{show(program)}\n==>\n{show(fused)}"
        saved += len(program.functions[0].body.statements) - len(fused.functions[0].body.statements)
        every.append(fused)
    return saved, every


def test_small_programs() -> None:
    assert sum(compare(seed, 6) for seed in range(60)) > 100


def test_larger_programs() -> None:
    assert sum(compare(seed, 14) for seed in range(500, 512)) > 50


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2600, 200))
def test_many_programs(first: int) -> None:
    for seed in seeds(first, 200):
        compare(seed, 4 + seed % 10)
