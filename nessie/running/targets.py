"""Runs fused programs on a target, under limits.

    cpu         LLVM code on a pool of threads: the default
    reference   the executor of lambda_cu on NumPy: needs no compiler, for small inputs
    cuda        CUDA code on an NVIDIA GPU, by PyCUDA
    cudasim     the same code, executed on the CPU thread by thread: shows what a GPU would do, slowly
    dask        the target cpu's kernels on a cluster, whose workers have large arrays in slabs

No target falls back on another. A target that cannot be used is refused, with what it needs.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import finalize

from nessie.activity import Activity, depth_of
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span
from nessie.base.system.deadline import NEVER, Deadline, TimeIsUp, deadline
from nessie.base.system.deep import next_part, run_deep
from nessie.base.system.ending import do_now, with_owner
from nessie.base.system.forking import STEADY, Turn
from nessie.base.system.free_memory import free_memory
from nessie.base.system.limits import COMMAND_LINE, LimitHints
from nessie.base.types import Type
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import has_views, layout_of_value
from nessie.lambda_cu.running import stats
from nessie.lambda_cu.running.stats import KernelStats
from nessie.pipeline import Job
from nessie.program_cache import cached_program
from nessie.running.target_names import DASK, GPUS, LOCAL_WORKERS, target_of_code
from nessie.running.world import World

if TYPE_CHECKING:
    from nessie.cudagen.cluster.device import Cluster
    from nessie.cudagen.cluster.engine import Engine
    from nessie.cudagen.cluster.files.hands import Hands
    from nessie.cudagen.cluster.on_dask import OnDask
    from nessie.cudagen.cluster.workers import ToldOfCluster
    from nessie.cudagen.cpu.assemble import CpuProgram
    from nessie.cudagen.cpu.device import Cpu
    from nessie.cudagen.cuda.device import Gpu
    from nessie.cudagen.cuda.driver import Driver
    from nessie.cudagen.cuda.link import GpuProgram
    from nessie.cudagen.host.device import Array
    from nessie.cudagen.host.limits import HostLimits
    from nessie.driver import Built
    from nessie.mono import nodes as mono
    from nessie.tuning.file import Tuning

T = TypeVar("T")

SHARE_OF_MEMORY = 0.8           # the share of free memory that a run may take by default


@dataclass(frozen=True)
class Limits:
    """The limits of a run. None means no limit, except for memory, where it is a share of the free memory, and for the
    depth of recursion (lambda_cu.running.default_depths). `hints` say how to set them."""
    memory: int | None = None
    depth: int | None = None
    seconds: float | None = None
    hints: LimitHints = COMMAND_LINE

    def deadline(self) -> Deadline:
        """The deadline of work that begins now."""
        return NEVER if self.seconds is None else Deadline(self.seconds, self.hints.seconds)


@dataclass
class Stats:
    """Counts of launched kernels, of the elements that they walked, of SOACs that the target did not run itself, and of
    statements of the host level; the seconds of the runs, but for counting; how often each version was taken, and
    not; and counts for each kernel, if `kernels` is a list."""
    launches: int = 0
    elements: int = 0
    interpreted: int = 0
    steps: int = 0
    seconds: float = 0.0
    versions: Counter[tuple[str, bool]] = field(default_factory=Counter)
    kernels: list[tuple[ir.Kernel | ir.Function, KernelStats]] | None = None

    def add(self, program: ir.Program, done: stats.Stats, steps: int) -> None:
        """Add the counts of a run of the program."""
        self.launches += done.launches
        self.elements += done.elements
        self.steps += steps
        if self.kernels is not None:
            launched: list[ir.Kernel | ir.Function] = [*program.kernels, *[f for f in program.functions if f.apart]]
            self.kernels += [(k, done.kernels[k.name]) for k in launched if k.name in done.kernels]


@dataclass(frozen=True)
class Where:
    """The workers of the target dask: those of a cluster, an address or Dask's client, or so many on this machine;
    NessieError if both are named. `dashboard` is told the address of Dask's page."""
    cluster: Any = None
    workers: int | None = None
    dashboard: Callable[[str], Any] | None = None

    def __post_init__(self) -> None:
        if self.cluster is not None and self.workers is not None:
            raise NessieError("workers are started on this machine, and cluster names those that there are")

    def engine(self) -> OnDask:
        """The workers, for one more who closes it."""
        with STEADY:
            from nessie.cudagen.cluster.on_dask import connected, started
        return started(self.workers or LOCAL_WORKERS) if self.cluster is None else connected(self.cluster)

    def tell(self, engine: OnDask) -> None:
        if self.dashboard is not None:
            self.dashboard(f"Dask's dashboard: {engine.dashboard}")


@dataclass
class Target:
    """The target that programs run on, and the world that they see."""
    name: str = "cpu"
    threads: int | None = None
    limits: Limits = field(default_factory=Limits)
    world: World = field(default_factory=World)
    stats: Stats = field(default_factory=Stats)
    activity: Activity = field(default_factory=Activity)        # told what is being done
    held: int = 0               # bytes of the programs' inputs, which count against a limit on memory
    tuning: Tuning | None = None        # thresholds of versions; None: those that ship
    where: Where = field(default_factory=Where)
    engine: Engine | None = None        # of the target dask, once it is needed
    leaves: bool = False        # arrays of results with workers, for who writes them
    told: ToldOfCluster | None = None   # of what it has done, if somebody asks
    release: finalize[Any, Target] | None = None        # what closes the engine when this object is garbage
    ended: bool = False         # nothing asks for workers any more
    connecting: Turn = field(default_factory=Turn)      # of who asks for workers

    def __post_init__(self) -> None:
        if self.name == "cuda":
            from nessie.cudagen.cuda.nvidia.detection import refuse_without
            refuse_without()

    @property
    def reads_files(self) -> bool:
        """Do workers read arrays of files themselves?"""
        return self.name == DASK

    @property
    def hands(self) -> Callable[[], Hands] | None:
        """Gives the workers who read and write files, if this target has some."""
        if not self.reads_files:
            return None
        from nessie.cudagen.cluster.files.hands import Hands
        return lambda: Hands(self.engine_of_cluster())

    def in_time(self, work: Callable[[], T], place: Span | None = None) -> T:
        """Run work(), which comes from `place` in the source, within the time limit. If it is part of longer work, the
        time begins anew before and after it."""
        if self.limits.seconds is None:
            return work()
        if deadline() is NEVER:
            return run_deep(lambda: self.in_time(work, place), self.limits.deadline())
        try:
            next_part(*([(place, "")] if place else []))
            return work()
        except TimeIsUp:
            raise deadline().error() from None
        finally:
            if not deadline().told:
                next_part()

    def run(self, job: Job, program: mono.Program, arguments: Sequence[Any]) -> Any:
        """The run-time value of the program's entry on these run-time values. The program is compiled first, for the
        arguments' layouts, unless the code is kept."""
        return self.execute(self.compiled_for(job, program, arguments), arguments)

    def compiled_for(self, job: Job, program: mono.Program, arguments: Sequence[Any]) -> Built:
        """The program, for the layouts of these arguments."""
        entry = next(f for f in program.functions if f.name == program.entry)
        layouts = [layout_of_value(p.type, value) for p, value in zip(entry.parameters, arguments, strict=True)]
        return self.compiled(replace(job, target=target_of_code(self.name), layouts=tuple(layouts)), program)

    def compiled(self, job: Job, program: mono.Program) -> Built:
        return cached_program(job, program)

    def execute(self, built: Built, arguments: Sequence[Any]) -> Any:
        """The run-time value of a compiled program's entry on these run-time values."""
        memory = self.memory()
        self.world.limit(memory, self.limits.hints)
        if isinstance(built, ir.Program):
            return self.on_reference(built, arguments, memory)
        return self.on_device(built, arguments, memory)

    def on_device(self, built: CpuProgram | GpuProgram, arguments: Sequence[Any], memory: int) -> Any:
        from nessie.cudagen.host import host
        device = self.device(built)
        on_host, began = host.Stats(), perf_counter()
        self.activity.begin("running", lambda: device.stats.launches, lambda: depth_of(on_host.calls),
                            lambda: device.progress)
        try:
            limits = self.host_limits(built, memory)
            return host.execute(built.program, built.host, arguments, device, limits, on_host, self.perform,
                                self.deliver(device, built.program.entry.result))
        finally:
            self.stats.seconds += perf_counter() - began - device.stats.counting
            self.stats.add(built.program, device.stats, on_host.steps)
            self.stats.versions.update(on_host.versions)

    def deliver(self, device: Cpu | Gpu | Cluster, result: ir.Layout) -> Callable[[Array], Any] | None:
        """How the caller gets arrays of a result; None: they are downloaded."""
        if not self.leaves or self.name != DASK or has_views(result):
            return None
        from nessie.cudagen.cluster.device import Cluster
        assert isinstance(device, Cluster)
        return device.left

    def host_limits(self, built: CpuProgram | GpuProgram, memory: int, decided: bool = False) -> HostLimits:
        """The limits of a run, and the versions that it takes. `decided`: the program is compiled for sizes that may
        have decided what its tuning file names."""
        from nessie.cudagen.host.limits import HostLimits
        try:
            tuned = self.tuned(built)
        except NessieError:
            if not decided:
                raise
            tuned = {}, {}
        return HostLimits(self.limits.depth, memory, self.limits.hints, self.held, self.host_memory(), *tuned)

    def tuned(self, built: Built, entry: str = "") -> tuple[dict[str, int], dict[str, str]]:
        """Thresholds, and versions that are taken whatever holds. `entry`: what users call the program's entry."""
        if self.tuning is None:
            return {}, {}
        program = built if isinstance(built, ir.Program) else built.host
        functions, called = [function.name for function in program.functions], program.entry.function
        values = self.tuning.values(program.tunables, functions, {entry: called} if entry else {}, called,
                                    target_of_code(self.name))
        return values, dict(self.tuning.only)

    def device(self, built: CpuProgram | GpuProgram) -> Cpu | Gpu | Cluster:
        """A device for the program. If seconds are counted, all of its code is compiled beforehand."""
        detailed = self.stats.kernels is not None
        if self.name in GPUS:
            from nessie.cudagen.cuda.device import Gpu
            from nessie.cudagen.cuda.link import GpuProgram
            assert isinstance(built, GpuProgram)
            gpu = Gpu(built, self.driver())
            gpu.stats.detailed = detailed
            return gpu
        from nessie.cudagen.cpu.assemble import CpuProgram
        from nessie.cudagen.cpu.device import Cpu
        assert isinstance(built, CpuProgram)
        if self.name == DASK:
            from nessie.cudagen.cluster.device import Cluster
            return Cluster(built, self.engine_of_cluster(), told=self.told)
        device = Cpu(built, self.threads)
        device.stats.detailed = detailed
        if detailed:
            device.optimise()
        return device

    def ready(self) -> None:
        """Wait for what devices need."""
        if self.name == DASK:
            self.engine_of_cluster()

    def engine_of_cluster(self) -> Engine:
        """The workers, which are connected or started when they are first needed. They go with this object."""
        engine = self.engine
        if engine is not None and engine.runs:
            return engine
        with STEADY:
            from nessie.cudagen.cluster.on_dask import of_distributed
        of_distributed("Client")            # nobody imports in another's turn, whoever has STEADY
        with self.connecting.taken():
            return self.connect()

    def connect(self) -> Engine:
        """The workers that have been asked for meanwhile, or new ones."""
        if self.ended:
            raise NessieError("the program is closed, and has no workers any more",
                              hint="load it anew, or close it when all calls are done")
        if self.engine is not None and self.engine.runs:
            return self.engine
        self.close()
        engine = self.where.engine()
        self.release = with_owner(self, engine.close)      # which waits for a thread of Dask's
        self.where.tell(engine)
        self.engine = engine
        return engine

    def close(self) -> None:
        """Workers go, unless others share them. The next run asks for them again."""
        if self.release is not None:
            self.release.detach()
            self.release = None
        if self.engine is not None:
            engine, self.engine = self.engine, None
            do_now(engine.close)

    def end(self) -> None:
        """Workers go, and are not asked for again."""
        self.ended = True
        with self.connecting.taken():
            self.close()

    def warm_device(self, built: CpuProgram | GpuProgram) -> Cpu | Gpu | Cluster:
        """A device that runs the program's best code from its first run on."""
        device = self.device(built)
        device.optimise()
        return device

    def driver(self) -> Driver:
        """The driver of a GPU's device."""
        if self.name == "cuda":
            from nessie.cudagen.cuda.nvidia.driver import Nvidia
            return Nvidia()
        from nessie.cudagen.cuda.cudasim.driver import Cudasim
        return Cudasim(self.threads)

    def on_reference(self, program: ir.Program, arguments: Sequence[Any], memory: int) -> Any:
        from nessie.lambda_cu.reference import reference
        self.tuned(program)                     # which names nothing else; it may take any version
        done = stats.Stats(detailed=self.stats.kernels is not None)
        limits = reference.EvaluationLimits(self.limits.depth, memory, self.limits.hints, self.held)
        try:
            self.activity.begin("running", lambda: done.launches, lambda: depth_of(done.calls))
            return reference.execute(program, arguments, limits, done, self.perform)
        finally:
            self.stats.add(program, done, done.steps)

    def perform(self, name: str, argument: Any, takes: Type) -> Any:
        """Perform an effect, which may wait for the user."""
        with self.activity.paused():
            return self.world.perform(name, argument, takes)

    def memory(self) -> int:
        if self.limits.memory is not None:
            return self.limits.memory
        if self.name == "cuda":
            from nessie.cudagen.cuda.nvidia.driver import free_memory as free_on_gpu
            return int(SHARE_OF_MEMORY * free_on_gpu())
        return int(SHARE_OF_MEMORY * free_memory())

    def host_memory(self) -> int | None:
        """Bytes that the host level's stack may take, if the device has memory of its own; else None."""
        if self.name != "cuda":
            return None
        return int(SHARE_OF_MEMORY * free_memory()) if self.limits.memory is None else self.limits.memory
