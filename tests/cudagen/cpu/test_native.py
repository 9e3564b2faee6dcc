"""The host level in native code: what it computes, counts, reports and holds is what Python does instruction by
instruction."""
from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from amounts import examples
from built import cpu_code
from executors import WIDTH, Compiled
from hypothesis import HealthCheck, given, settings
from random_programs import RandomProgram, programs
from random_recursion import ARGUMENTS, recursions

from nessie.base.source import NessieError
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep
from nessie.base.values import flatten_value, plain_value
from nessie.cudagen.cpu.device import Cpu
from nessie.cudagen.host import host
from nessie.cudagen.host.memory import size_class
from nessie.cudagen.native import handlers
from nessie.cudagen.native.machine import improve, machine
from nessie.cudagen.native.words import CLASSES, SHIFT, class_of
from nessie.lambda_cu.ops import FUNCTIONS, ROWS

ALWAYS, NEVER = -1, math.inf
STEPS = "function main(v, n) : ([int], int) -> [int] = if n == 0 then v else main({x + n : x in v}, n - 1);"
DEEP = "function main(v, n) : ([int], int) -> [int] = if n == 0 then v else let r = main(v, n - 1) in {x + 1 : x in r};"
TREE = """function sorted(a) = if #a < 2 then a else let p = a[#a / 2]; low = {x in a | x < p}; high = {x in a | x > p}
  in sorted(low) ++ {x in a | x == p} ++ sorted(high);
function main(v, n) : ([int], int) -> [int] = sorted({rem(x * 7919 + n, 1009) : x in v});"""
FAILING = """function main(v, n) : ([int], int) -> [int] =
  if n == 0 then v else main({100 / (n - 5 + rem(x, 1)) + x : x in v}, n - 1);"""
HOST_FAILS = """function main(v, n) : ([int], int) -> [int] =
  if n == 0 or 7 / (n - 3) == 77 then v else main({x + 1 : x in v}, n - 1);"""
WRITING = "function main(v, n) : ([int], int) -> [int] = if n == 0 then v else main(v <- [(rem(n, #v), n)], n - 1);"
KINDS = """function go(c, b, x, n) = if n == 0 then (c, b, x) else
  go(code_char(char_code(c) + 1), not(b), (x + float(n)) * 0.5, n - 1);
function main(v, n) : ([int], int) -> ([int], (char, (bool, float))) = (v, go(`a, #v > 2, sqrt(2.0), n));"""
CONSTANTS = """function main(v, n) : ([int], int) -> [int] =
  if n == 0 then v else main([3, 1, 4, 1, 5] ++ {x + n : x in v | x > n}, n - 1);"""
PROGRAMS = (STEPS, DEEP, TREE, FAILING, HOST_FAILS, WRITING, KINDS, CONSTANTS)


@cache
def compiled(source: str) -> Compiled:
    return Compiled(source)


def device_of(program: Compiled, patience: float = ALWAYS) -> Cpu:
    if "native" not in program.devices:
        program.devices["native"] = cpu_code(program.scheduled("ilp", "fuse"), WIDTH)   # where nothing grows in place
    device = Cpu(program.devices["native"], 1)
    device.patience = patience
    return device


class Outcome:
    """What a run gave, or its error, and what it counted."""

    def __init__(self, program: Compiled, arguments: Sequence[Any], patience: float, limits: host.HostLimits) -> None:
        self.device, self.on_host = device_of(program, patience), host.Stats()
        self.value, self.error = None, ""
        types, result = program.signature
        flat = [flatten_value(value, type_) for value, type_ in zip(arguments, types, strict=True)]
        built = self.device.built
        try:
            self.value = plain_value(run_deep(lambda: host.execute(
                built.program, built.host, flat, self.device, limits, self.on_host, program.outside.perform)), result)
        except NessieError as error:
            self.error = str(error)
        self.counted = self.device.stats.launches, self.device.stats.elements, self.on_host.steps, self.on_host.deepest


def compare(source: str, arguments: Sequence[Any], **limits: Any) -> Outcome:
    """The native outcome, which is Python's."""
    program = compiled(source)
    python, native = (Outcome(program, arguments, patience, host.HostLimits(**limits)) for patience in (NEVER, ALWAYS))
    assert native.device.edition is not None and python.device.edition is None
    assert repr(native.value) == repr(python.value) and native.error == python.error
    if not native.error:
        assert native.counted == python.counted
    assert native.device.memory.used == python.device.memory.used
    assert not native.device.edition.machine.blocks and not native.device.edition.machine.theirs
    return native


@pytest.mark.parametrize("source", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_same_as_python(source: str) -> None:
    for v in ([], [5], [3, 1, 2], list(range(40))):
        for n in (0, 1, 7, 60):
            compare(source, (v, n))


def test_a_run_becomes_native_on_the_way() -> None:
    """Where Python has called functions already."""
    for source in PROGRAMS:
        program = compiled(source)
        for patience in (3, 10, 50):
            outcomes = [Outcome(program, ([3, 1, 2, 9], 40), p, host.HostLimits()) for p in (NEVER, patience)]
            assert outcomes[0].error == outcomes[1].error and repr(outcomes[0].value) == repr(outcomes[1].value)
            if not outcomes[0].error:
                assert outcomes[0].counted == outcomes[1].counted


@pytest.mark.parametrize("depth", [1, 2, 10, 60, 61, 62])
def test_depth(depth: int) -> None:
    native = compare(DEEP, ([1], 60), depth=depth)
    assert ("recursion is deeper than" in native.error) == (depth < 62)


@pytest.mark.parametrize("memory", [1000, 3000, 10_000, 30_000, 100_000, 1_000_000])
@pytest.mark.parametrize("source", [DEEP, TREE, STEPS], ids=["deep", "tree", "steps"])
def test_memory(source: str, memory: int) -> None:
    """Where it does not suffice Python says so too, though not with the same numbers: free blocks are in use."""
    program, given = compiled(source), (list(range(30)), 50)
    python, native = (Outcome(program, given, patience, host.HostLimits(1000, memory)) for patience in (NEVER, ALWAYS))
    assert python.value == native.value and python.error[:20] == native.error[:20]


def test_deep_recursion_moves_its_frames() -> None:
    native = compare(DEEP, ([1, 2], 20_000), depth=100_000)
    assert native.value == [20_001, 20_002] and native.on_host.deepest == 20_002


def test_after_an_error_all_goes_on() -> None:
    program = compiled(FAILING)
    device = device_of(program)
    for n, fails in ((9, True), (4, False), (100, True), (4, False)):
        flat = [flatten_value(v, t) for v, t in zip(([5, 6], n), program.signature[0], strict=True)]
        try:
            host.execute(device.built.program, device.built.host, flat, device)
            assert not fails
        except NessieError:
            assert fails
        assert device.memory.used == 0 and device.edition is not None and not device.edition.machine.blocks


def test_effects_between_steps() -> None:
    source = """function main(v, n) : ([int], int) -> [int] =
      if n == 0 then v else let _ = print_string(@sum(v) ++ " ") in main({x + n : x in v}, n - 1);"""
    program, printed = Compiled(source), []
    for patience in (NEVER, ALWAYS):
        program.printed.clear()
        outcome = Outcome(program, ([1, 2, 3], 30), patience, host.HostLimits())
        printed.append(("".join(program.printed), outcome.value, outcome.counted))
    assert printed[0] == printed[1] and printed[0][0].startswith("6 96 ")


ENDLESS = "function main(v, n) : ([int], int) -> [int] = if n < 0 then v else main({1 - x : x in v}, n);"


def test_a_deadline_is_noticed() -> None:
    program = compiled(ENDLESS)
    device = device_of(program)
    flat = [flatten_value(v, t) for v, t in zip(([5, 6], 1), program.signature[0], strict=True)]
    with pytest.raises(NessieError, match="it took longer than"):
        run_deep(lambda: host.execute(device.built.program, device.built.host, flat, device,
                                      host.HostLimits(10**9)), Deadline(0.3, ""))
    assert device.memory.used == 0


def test_an_interrupt_is_noticed() -> None:
    program = compiled(ENDLESS)
    device = device_of(program)
    flat = [flatten_value(v, t) for v, t in zip(([5, 6], 1), program.signature[0], strict=True)]
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises((NessieError, KeyboardInterrupt), match="Interrupted"):
        host.execute(device.built.program, device.built.host, flat, device, host.HostLimits(10**9))
    assert device.memory.used == 0


def test_a_write_in_a_loop_is_in_place() -> None:
    """The array is copied once; else a step would take a millisecond."""
    program = compiled(WRITING)
    device = device_of(program)
    flat = [flatten_value(v, t) for v, t in zip((list(range(1000)), 500), program.signature[0], strict=True)]
    found = host.execute(device.built.program, device.built.host, flat, device)
    assert device.memory.kept + device.memory.used < 3 * 8 * 1024 * 5, "a few blocks, not one a step"
    assert found.column[:3].tolist() == [0, 1, 2] and found.column[500] == 500


def test_who_comes_after_long_work_has_an_optimised_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for cached in (machine, improve):
        cached.cache_clear()
    kept = []
    for work in (machine, improve, improve):
        work()
        kept.append(sum(1 for _ in (tmp_path / "nessie").iterdir()))
    machine.cache_clear()
    for source in PROGRAMS:
        compare(source, ([3, 1, 2], 12))
    assert kept == [1, 2, 2]


def test_size_classes_are_those_of_memory() -> None:
    sizes = sorted({size_class(size) for size in [*range(1, 5000), *(1 << k for k in range(8, 40)), 10**9]})
    assert class_of(sizes[0]) == 0 and sizes[0] == 4 << SHIFT
    assert all(0 <= class_of(size) < CLASSES for size in sizes)
    assert len({class_of(size) for size in sizes}) == len(sizes)


def test_every_operator_has_a_handler_or_is_a_function() -> None:
    for row in ROWS:
        assert row in FUNCTIONS or any(f"{row.name} {type_}" in handlers.NAMES for type_ in row.types)


quick = settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))


def same_outcomes(random: RandomProgram) -> None:
    program = Compiled(random.source)
    python, native = (Outcome(program, random.arguments, patience, host.HostLimits(500, 1 << 28))
                      for patience in (NEVER, ALWAYS))
    if "out of memory" not in python.error + native.error:
        assert python.error == native.error and repr(python.value) == repr(native.value), str(random)
        assert python.error or python.counted == native.counted, str(random)


@quick
@given(programs(4))
def test_random_programs(random: RandomProgram) -> None:
    same_outcomes(random)


@settings(quick, max_examples=examples(3))
@given(recursions(), ARGUMENTS)
def test_random_recursions(source: str, arguments: tuple[Any, ...]) -> None:
    same_outcomes(RandomProgram(source, arguments))
