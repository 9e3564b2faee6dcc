"""Runs one NESL program everywhere: by the interpreter, the reference executor, the loops interpreter and the CPU.

    compiled = Compiled(source)                 every pass, every validator; `layouts`: of the arguments, if not dense;
                                                `target`: for which it is flattened and fused, "cuda" for a GPU;
                                                `widths`: of its numbers
    outcome(compiled, "cpu ilp", arguments)     a plain value, or Failed where the program fails

An executor is named by where it runs and how the program was fused; "cudasim ilp", for what the GPU can do, is none of
EXECUTORS. The host level of cpu3 is native from the start. Kernels of "cpu none" and "cpu greedy" are optimised by LLVM
in nightly tests alone: that takes most of the time. "cluster ilp" does tasks of chunks in this process, with
nothing on the driver.
The loops interpreter and the CPU get chunks of three items, so that short sequences cross their borders.
Random programs begin with `interpreted`, which rejects those that ask for too much: a formula of lengths may ask for
10^12 elements. What another executor lacks memory or depth for is Failed with `limit`, which agrees with nothing. Of
several failures all executors tell the same one, in the same words.
"""
from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from amounts import NIGHTLY, PROFILE
from built import cpu_code, cpu_device, execute, gpu_device

from nessie import driver, forms, pipeline
from nessie.base.source import NessieError, Source, Span
from nessie.base.system.deep import run_deep
from nessie.base.types import Type
from nessie.base.values import flatten_value, plain_value
from nessie.base.widths import FULL, Widths
from nessie.cudagen.cluster.device import Cluster
from nessie.cudagen.cluster.engine import InProcess
from nessie.cudagen.cpu.interpreted import Interpreted
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.host import host
from nessie.cudagen.host.check import check as check_instructions
from nessie.cudagen.host.translate import translate
from nessie.interpreter import interpreter
from nessie.interpreter.effects import Effects
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.reference import reference
from nessie.library import library
from nessie.mono import nodes as mono
from nessie.running.world import World
from nessie.typing import nodes as typed

WIDTH = 3                       # items a chunk
MEMORY = 1 << 30
DEPTH = 5000                    # calls within calls
WORK = 200_000                  # of a random program, in NESL's cost model: some seconds by the executors in Python
FUSE = ("none", "greedy", "ilp")
EXECUTORS = ("interpreter", *(f"reference {fuse}" for fuse in FUSE), *(f"loops {fuse}" for fuse in FUSE),
             *(f"cpu {fuse}" for fuse in FUSE), "cpu3 ilp")
QUICK = ("reference none", "reference ilp", "loops ilp", "cpu3 ilp")
LIMITS = ("out of memory", "recursion is deeper")


@dataclass(frozen=True)
class Failed:
    """The program fails: the message, the place in the source; all that is told of places (None: not known, as the
    interpreter numbers no elements and tells no calls). `limit`: it asks for more than there is."""
    message: str
    place: tuple[Span, ...] = ()
    told: tuple[tuple[Span, str], ...] | None = None
    limit: bool = False


ANY = Failed("")                # agrees with every failure


class TooMuch(Exception):
    """A random program asks for more than WORK. No NessieError: that of another element may come before it."""


@dataclass
class Bounded(interpreter.World):
    """An interpreter's world in which no form does more than `most` work."""
    most: float = math.inf

    def charge(self, work: int, depth: int = 1) -> None:
        super().charge(work, depth)
        self.expect(0)

    def expect(self, elements: int) -> None:
        if self.work + elements > self.most:
            raise TooMuch


class Compiled:
    """A program with a function `main`, compiled as far as it is asked for."""

    def __init__(self, source: str, entry: str = "main", layouts: tuple[ir.Layout, ...] | None = None,
                 target: str = "cpu", widths: Widths = FULL) -> None:
        self.entry, self.layouts, self.target, self.widths = entry, layouts, target, widths
        self.program: typed.Program = self.passes(forms.TEXT, Source("test.nesl", source), "infer")
        self.fused: dict[str, ir.Program] = {}
        self.printed: list[str] = []            # by the last run
        self.outside = World(self.printed.append)
        self.devices: dict[str, Any] = {}

    def passes(self, start: forms.Form, program: Any, until: str) -> Any:
        job = pipeline.Job(entry=self.entry, layouts=self.layouts, target=self.target, widths=self.widths)
        return driver.compile_program(job, start, program, pipeline.pass_named(until))

    @cached_property
    def world(self) -> Bounded:
        effects = Effects(self.outside.perform)
        world = Bounded(library.prebuilt(), effects=effects, depth_limit=DEPTH, widths=self.widths)
        for definition in self.program.definitions:
            interpreter.define(world, definition)
        return world

    @cached_property
    def mono(self) -> mono.Program:
        found: mono.Program = self.passes(forms.TYPED, self.program, "inline")
        return found

    @cached_property
    def flat(self) -> ir.Program:
        found: ir.Program = self.passes(forms.MONO, self.mono, "simplify")
        return found

    @cached_property
    def signature(self) -> tuple[tuple[Type, ...], Type]:
        function = next(f for f in self.mono.functions if f.name == self.mono.entry)
        return tuple(p.type for p in function.parameters), function.result

    def executable(self, fuse: str) -> ir.Program:
        """The program that is executed, whose host level is well formed as instructions, too."""
        if fuse not in self.fused:
            self.fused[fuse] = self.scheduled(fuse)
            check_instructions(translate(self.fused[fuse]))
        return self.fused[fuse]

    def scheduled(self, fuse: str, last: str = "borders") -> ir.Program:
        """The program after the pass `last`."""
        if fuse == "none":
            return self.flat
        stages = pipeline.stages(job := pipeline.Job(fuse=fuse, target=self.target))
        behind, end = [stages.index(pipeline.pass_named(name)) for name in ("simplify", last)]
        *_, step = driver.steps(job, forms.FLAT, self.flat, stages[behind + 1:end + 1])
        program: ir.Program = step.program
        return program

    def device(self, executor: str) -> Any:
        where, fuse = executor.split()
        if executor not in self.devices:
            program = self.executable(fuse)
            self.devices[executor] = (
                Interpreted(program, WIDTH) if where == "loops"
                else gpu_device(program, Cudasim()) if where == "cudasim"
                else Cluster(cpu_code(program), InProcess(3), 0, 0, WIDTH, quick=True) if where == "cluster"
                else cpu_device(program, threads=3 if where == "cpu3" else 1, width=WIDTH))
            if where == "cpu3":
                self.devices[executor].patience = -1
            if executor in ("cpu none", "cpu greedy") and PROFILE != NIGHTLY:
                self.devices[executor].quick = frozenset()
        return self.devices[executor]


def outcome(program: Compiled, executor: str, arguments: Sequence[Any]) -> Any:
    """The plain value of main, or Failed."""
    return run_deep(lambda: result(program, executor, arguments))


def result(program: Compiled, executor: str, arguments: Sequence[Any]) -> Any:
    try:
        return run(program, executor, arguments)
    except NessieError as error:
        told = None if executor == "interpreter" else tuple(error.places)
        place = tuple(span for span, _ in error.places[:1])
        return Failed(error.message, place, told, error.message.startswith(LIMITS))


def run(program: Compiled, executor: str, arguments: Sequence[Any]) -> Any:
    program.printed.clear()
    if executor == "interpreter":
        argument = arguments[-1]
        for value in reversed(arguments[:-1]):
            argument = (value, argument)
        return interpreter.call(program.world, program.entry, argument).value
    where, fuse = executor.split()
    types, type_ = program.signature
    flat = [flatten_value(value, type_) for value, type_ in zip(arguments, types, strict=True)]
    if where == "reference":
        limits = reference.EvaluationLimits(depth=DEPTH, memory=MEMORY)
        return plain_value(reference.execute(program.executable(fuse), flat, limits,
                                            perform=program.outside.perform), type_)
    found = execute(program.executable(fuse), flat, program.device(executor), host.HostLimits(DEPTH, MEMORY),
                         perform=program.outside.perform)
    return plain_value(found, type_)


def agree(a: Any, b: Any) -> bool:
    """Equal values, bit for bit and of equal types (one NaN is like another), or equal failures, as far as
    docs/language.md says which of several is told."""
    match a, b:
        case Failed(), Failed():
            return not a.limit and not b.limit and (ANY in (a, b) or (
                (a.message, a.place) == (b.message, b.place) and (a.told == b.told or None in (a.told, b.told)))
                or may_come_early(a) or may_come_early(b))
        case (list(), list()) | (tuple(), tuple()):
            return len(a) == len(b) and all(map(agree, a, b))
        case float(), float():
            return (math.isnan(a) and math.isnan(b)) or struct.pack("<d", a) == struct.pack("<d", b)
    return type(a) is type(b) and bool(a == b)


def interpreted(program: Compiled, arguments: Sequence[Any]) -> Any:
    """The plain value of a random main by the interpreter, or Failed; hypothesis rejects what asks for too much."""
    from hypothesis import reject

    program.world.most = WORK
    try:
        found = outcome(program, "interpreter", arguments)
    except TooMuch:
        reject()
    if isinstance(found, Failed) and found.limit:
        reject()
    return found


def narrow(value: Any, widths: Widths) -> Any:
    """The value with numbers of these widths."""
    match value:
        case list():
            return [narrow(item, widths) for item in value]
        case tuple():
            return tuple([narrow(item, widths) for item in value])
    return widths.wrapped(value) if type(value) is int else widths.constant(value)


def may_come_early(failed: Failed) -> bool:
    """Does it stand in a function that calls itself? If that runs per element, steps before it may fail as well."""
    for span in failed.place:
        text = span.source.text
        start = text.rfind("function ", 0, span.start)
        body = text[max(start, 0):].partition("\nfunction ")[0]
        if name := re.match(r"function (\w+)", body):
            return len(re.findall(rf"\b{name[1]}\(", body)) > 1
    return False


__all__ = ["ANY", "EXECUTORS", "FUSE", "QUICK", "Compiled", "Failed", "agree", "interpreted",
           "narrow", "outcome"]


def same(program: Compiled, *arguments: Any) -> Any:
    """What the program gives by the interpreter, and so by all of QUICK."""
    expected = outcome(program, "interpreter", arguments)
    for executor in QUICK:
        found = outcome(program, executor, arguments)
        assert agree(expected, found), f"{executor}: {found}, not {expected}, for {arguments}"
    return expected


def assert_all_agree(program: Compiled, arguments: Any, fails: bool) -> None:
    """Every executor gives what the one before gives, from the interpreter on, which says whether the call fails."""
    expected = outcome(program, "interpreter", arguments)
    assert isinstance(expected, Failed) == fails, expected
    for executor in EXECUTORS[1:]:
        found = outcome(program, executor, arguments)
        assert agree(expected, found), f"{executor}: {found}, not {expected}"
        expected = found


def assert_the_gpu_agrees(program: Compiled, arguments: Any) -> None:
    """What is compiled for GPUs gives on cudasim what it gives in the reference."""
    expected, found = outcome(program, "reference ilp", arguments), outcome(program, "cudasim ilp", arguments)
    assert agree(expected, found), f"{found}, not {expected}"
