"""Running fused programs on a target, under limits.

    cpu         LLVM code on a pool of threads: the default
    reference   the executor of lambda_cu on NumPy: needs no compiler, for small inputs
    cuda        CUDA code on an NVIDIA GPU, by PyCUDA
    cudasim     the same code, executed on the CPU thread by thread: shows what a GPU would do, slowly

No target falls back on another: one that cannot be used is refused, with what it needs.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from nessie.base.activity import Activity
from nessie.base.limits import COMMAND_LINE, LimitHints
from nessie.base.records import dataclass
from nessie.base.types import Type
from nessie.lambda_cu import ir, stats
from nessie.lambda_cu.layout import layout_of_value
from nessie.lambda_cu.stats import KernelStats
from nessie.pipeline import Job, executable
from nessie.world import World

if TYPE_CHECKING:
    from nessie.cudagen import cpu, gpu
    from nessie.cudagen.cpu import Cpu
    from nessie.cudagen.gpu import Driver, Gpu
    from nessie.frontend import mono

TARGETS = ("cpu", "reference", "cuda", "cudasim")
GPUS = ("cuda", "cudasim")
SHARE_OF_MEMORY = 0.8           # of what is free, unless told otherwise


@dataclass(frozen=True)
class Limits:
    """None: no limit, save for memory, where it is a share of what is free. `hints` say how they are set."""
    memory: int | None = None
    depth: int = 1_000_000
    seconds: float | None = None
    hints: LimitHints = COMMAND_LINE


@dataclass
class Stats:
    """What has been done: kernels launched, elements they walked, SOACs run otherwise than by the target, statements
    of the host level; of each kernel by itself, where `kernels` is a list."""
    launches: int = 0
    elements: int = 0
    interpreted: int = 0
    steps: int = 0
    kernels: list[tuple[ir.Kernel, KernelStats]] | None = None

    def add(self, program: ir.Program, done: stats.Stats, steps: int) -> None:
        """What running the program has taken."""
        self.launches += done.launches
        self.elements += done.elements
        self.steps += steps
        if self.kernels is not None:
            self.kernels += [(k, done.kernels[k.name]) for k in program.kernels if k.name in done.kernels]


@dataclass
class Target:
    """Where programs run, and the world that they see."""
    name: str = "cpu"
    threads: int | None = None
    limits: Limits = field(default_factory=Limits)
    world: World = field(default_factory=World)
    stats: Stats = field(default_factory=Stats)
    activity: Activity = field(default_factory=Activity)        # told what is being done

    def __post_init__(self) -> None:
        if self.name == "cuda":
            from nessie.cudagen.nvidia.detection import refuse_without
            refuse_without()

    def run(self, job: Job, program: mono.Program, arguments: Sequence[Any]) -> Any:
        """The run-time value of the program's entry on these run-time values; compiled first, for arguments that lie in
        memory as these do, unless it is kept."""
        entry = next(f for f in program.functions if f.name == program.entry)
        layouts = [layout_of_value(p.type, value) for p, value in zip(entry.parameters, arguments, strict=True)]
        job = replace(job, layouts=tuple(layouts))
        if self.name == "cpu":
            from nessie.kept import built_for_cpu
            return self.execute(built_for_cpu(job, program), arguments)
        if self.name in GPUS:
            from nessie.kept import built_for_gpu
            return self.execute(built_for_gpu(job, program), arguments)
        return self.execute(executable(job, program), arguments)

    def execute(self, program: ir.Program | cpu.Built | gpu.Built, arguments: Sequence[Any]) -> Any:
        """The same of a compiled program."""
        memory = self.memory()
        self.world.limit(self.limits.seconds, memory, self.limits.hints)
        if self.name == "reference":
            assert isinstance(program, ir.Program)
            return self.on_reference(program, arguments, memory)
        return self.on_device(program, arguments, memory)

    def on_device(self, built: ir.Program | cpu.Built | gpu.Built, arguments: Sequence[Any], memory: int) -> Any:
        from nessie.cudagen import host
        program = built if isinstance(built, ir.Program) else built.program
        device = self.device(built)
        self.activity.begin("running", lambda: device.stats.launches)
        on_host = host.Stats()
        try:
            limits = host.Limits(self.limits.depth, memory, self.limits.seconds, self.limits.hints)
            return host.execute(program, arguments, device, limits, on_host, perform=self.perform)
        finally:
            self.stats.add(program, device.stats, on_host.steps)

    def device(self, built: Any) -> Cpu | Gpu:
        """A device for the program. Where seconds are counted, all of its code is made before."""
        detailed = self.stats.kernels is not None
        if self.name in GPUS:
            from nessie.cudagen.gpu import Gpu
            gpu = Gpu(built, self.driver())
            gpu.stats.detailed = detailed
            return gpu
        from nessie.cudagen.cpu import Cpu
        device = Cpu(built, self.threads)
        device.stats.detailed = detailed
        if detailed:
            device.optimise()
        return device

    def driver(self) -> Driver:
        """What carries a GPU's device."""
        if self.name == "cuda":
            from nessie.cudagen.nvidia.driver import Nvidia
            return Nvidia()
        from nessie.cudagen.cudasim.driver import Cudasim
        return Cudasim(self.threads)

    def on_reference(self, program: ir.Program, arguments: Sequence[Any], memory: int) -> Any:
        from nessie.lambda_cu import reference
        done = stats.Stats(detailed=self.stats.kernels is not None)
        limits = reference.Limits(self.limits.depth, memory, self.limits.seconds, self.limits.hints)
        try:
            self.activity.begin("running", lambda: done.launches)
            return reference.execute(program, arguments, limits, done, self.perform)
        finally:
            self.stats.add(program, done, done.steps)

    def perform(self, name: str, argument: Any, takes: Type) -> Any:
        """An effect, which may wait for the user."""
        with self.activity.paused():
            return self.world.perform(name, argument, takes)

    def memory(self) -> int:
        if self.limits.memory is not None:
            return self.limits.memory
        if self.name == "cuda":
            from nessie.cudagen.nvidia.driver import free_memory
        else:
            from nessie.free_memory import free_memory
        return int(SHARE_OF_MEMORY * free_memory())
