"""A kernel that has one chunk is one function, and gives what its phases give for several."""
from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from built import cpu_code
from executors import Compiled

from nessie.base.source import NessieError
from nessie.base.system.deep import run_deep
from nessie.base.values import flatten_value, plain_value
from nessie.cudagen.cpu.assemble import CpuProgram
from nessie.cudagen.cpu.device import Cpu
from nessie.cudagen.generate import generate
from nessie.cudagen.host import host
from nessie.cudagen.host.memory import size_class

NARROW, WIDE = 16, 1 << 15
KEPT = "function main(v) : [int] -> [int] = {x * 2 : x in v | rem(x, 3) == 0};"
LOOKED_UP = "function main(v) : [int] -> [int] = let w = {rem(x, #v) : x in v} in {x : x in w | v[x] > x};"
PREFIXES = "function main(v) : [int] -> ([int], int) = (plus_scan(v), sum(v));"
ROWS = "function main(v) : [int] -> [[int]] = {{j : j in [0:rem(x, 5)] | rem(j + x, 2) == 0} : x in v};"
BOTH = "function main(v) : [int] -> [int] = {x : x in v | x > 7} ++ {x + 1 : x in v | x <= 7};"
FAILING = "function main(v) : [int] -> [int] = {x : x in v | 100 / (x - 13) > 3};"
PROGRAMS = (KEPT, LOOKED_UP, PREFIXES, ROWS, BOTH, FAILING)
ALWAYS = -1


@cache
def code(source: str, width: int) -> CpuProgram:
    return cpu_code(Compiled(source).scheduled("ilp", "fuse"), width)


def outcome(source: str, given: list[int], width: int, patience: float | None = None) -> tuple[Any, int]:
    """The value or the error, and the bytes that the device has in use then. `patience`: of the host level, if it is
    not the device's own."""
    program, device = Compiled(source), Cpu(code(source, width), 1)
    device.patience = device.patience if patience is None else patience
    types, result = program.signature
    flat = [flatten_value(value, type_) for value, type_ in zip([given], types, strict=True)]
    built = device.built
    try:
        found = run_deep(lambda: host.execute(built.program, built.host, flat, device, host.HostLimits(), host.Stats(),
                                              program.outside.perform))
    except NessieError as error:
        return str(error), 0
    return repr(plain_value(found, result)), device.memory.used


@pytest.mark.parametrize("size", [0, 1, NARROW - 1, NARROW, NARROW + 1, 5 * NARROW])
@pytest.mark.parametrize("source", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_same_comes_out(source: str, size: int) -> None:
    given = [x * 7 % 31 for x in range(size)]
    several, _ = outcome(source, given, NARROW)
    assert outcome(source, given, WIDE)[0] == outcome(source, given, WIDE, ALWAYS)[0] == several


def test_plans_say_how_many_chunks_there_are() -> None:
    program = Compiled(KEPT).scheduled("ilp", "fuse")
    [plan, alone] = generate(program, "cpu", NARROW).plans
    assert plan.alone is not None and plan.alone.plan == alone.name
    assert len(plan.phases) > 1 and len(alone.phases) == 1 and alone.phases[0].chunks is None


def test_sums_of_floats_keep_their_order() -> None:
    program = Compiled("function main(v) : [float] -> [float] = plus_scan(v);").scheduled("ilp", "fuse")
    assert [plan.alone for plan in generate(program, "cpu").plans] == [None]


@pytest.mark.parametrize("patience", [None, ALWAYS])
def test_few_survivors_hold_little_memory(patience: float | None) -> None:
    given = list(range(20_000))
    source = "function main(v) : [int] -> [int] = {x : x in v | x > 19990};"
    value, used = outcome(source, given, WIDE, patience)
    assert value == repr(list(range(19_991, 20_000))) and used <= size_class(8 * 9)
