"""The target cudasim, where kernels count what they do to memory, and the driver what it is asked to do.

    target = CountingTarget(world=world)
    ...                                     programs run on it
    target.counts()                         a KernelCounts for each kernel that was launched since `clear()`

Programs are compiled anew: the text that counts is made of the loops, which no cache keeps.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from nessie.base.records import dataclass
from nessie.base.source import Origin, Span, user_span
from nessie.cudagen.cuda.cudasim.counted import Point, counted
from nessie.cudagen.cuda.cudasim.counting import CALLS, Access, Counting, CountingGpu
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import by_kernel
from nessie.driver import made, steps
from nessie.forms import GPU_CODE, LOOPS, MONO, Form
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import soac_names, space_names, space_of
from nessie.pipeline import Job, stages, stages_between
from nessie.running.targets import Target

if TYPE_CHECKING:
    from nessie.cudagen.cpu.assemble import CpuProgram
    from nessie.cudagen.cpu.device import Cpu
    from nessie.cudagen.cuda.device import Gpu
    from nessie.driver import Built
    from nessie.mono import nodes as mono


@dataclass(frozen=True)
class Counted:
    """An access to memory, or a barrier, of the user's expression at `place`."""
    access: Access
    place: Span | None


@dataclass(frozen=True)
class KernelCounts:
    """What the launches of a kernel did, in the order of the text; `calls` of the driver, by CALLS. `name` is '' for
    what the host does between kernels."""
    name: str
    places: tuple[Span, ...]
    calls: dict[str, int]
    accesses: tuple[Counted, ...]


@dataclass
class CountingTarget(Target):
    name: str = "cudasim"
    points: tuple[Point, ...] = ()
    runs: list[tuple[GpuProgram, Counting]] = field(default_factory=list)

    def clear(self) -> None:
        self.runs.clear()

    def counts(self) -> tuple[KernelCounts, ...]:
        return tuple([found for built, driver in self.runs for found in kernel_counts(built, driver)])

    def compiled(self, job: Job, program: mono.Program) -> Built:
        built, self.points = counting_program(job, MONO, program)
        return built

    def device(self, built: CpuProgram | GpuProgram) -> Cpu | Gpu:
        assert isinstance(built, GpuProgram)
        driver = Counting(self.points)
        self.runs.append((built, driver))
        return CountingGpu(built, driver)


def counting_program(job: Job, form: Form[Any], program: Any) -> tuple[GpuProgram, tuple[Point, ...]]:
    """The program, which is of this form, compiled for GPUs so that its kernels count; their points."""
    passes = stages_between(job, form, stages(job)[-1])
    forms = made(steps(job, form, program, passes))
    module, built = forms[LOOPS], forms[GPU_CODE]
    assert isinstance(module, Module) and isinstance(built, GpuProgram)
    text = counted(module)
    return replace(built, text=text.text), text.points


def kernel_counts(built: GpuProgram, driver: Counting) -> list[KernelCounts]:
    """Those of the kernels that a run has launched, then of the host between them."""
    kernels = {kernel.name: kernel for kernel in built.program.kernels}
    accesses, found = list(driver.accesses()), list[KernelCounts]()
    for plans in by_kernel(built.plans):
        functions = {phase.function for plan in plans for phase in plan.phases}
        kernel = kernels[plans[0].name]
        calls = calls_of(driver, kernel.name)
        if any(calls.values()):
            own = [Counted(a, place_of(kernel, a.point.array)) for a in accesses if a.launched in functions]
            spans = [user_span(bind.origin) or user_span(kernel.origin) for bind in kernel.binds]
            places = tuple(dict.fromkeys(span for span in spans if span))
            found.append(KernelCounts(kernel.name, places, calls, tuple(own)))
    return [*found, KernelCounts("", (), calls_of(driver, ""), ())]


def calls_of(driver: Counting, kernel: str) -> dict[str, int]:
    return {what: driver.calls[kernel, what] for what in CALLS}


def place_of(kernel: ir.Kernel, array: str) -> Span | None:
    """Where the user's program makes the array, or else reads it first, or makes what it is a part of."""
    return user_span(origin_of(kernel, array)) or user_span(kernel.origin)


def origin_of(kernel: ir.Kernel, array: str) -> Origin:
    parts = [(len(name), bind.origin) for bind in kernel.binds for name in bind.names if array.startswith(f"{name}_")]
    makers = [bind.origin for bind in kernel.binds if array in bind.names]
    readers = [b.origin for b in kernel.binds if array in (*soac_names(b.soac), *space_names(space_of(b.soac)))]
    longest = [origin for _, origin in sorted(parts, key=lambda part: part[0], reverse=True)]
    return next(iter([*makers, *readers, *longest]), kernel.origin)


def total_calls(counts: tuple[KernelCounts, ...]) -> dict[str, int]:
    total = Counter[str]()
    for one in counts:
        total.update(one.calls)
    return {what: total[what] for what in CALLS}
