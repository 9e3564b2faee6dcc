"""The pipeline: every pass of the compiler, in order, and which of them compile for a job.

    nesl - syntax - typed - mono - flat - schedule - fused - host ---------- cpu-code | gpu-code
                                     \\- graph          \\- loops - llvm | cuda -/

This is the one place that knows the order. A pass is a plain function, from programs of some forms to a program of
another; nessie.driver runs, checks, times and dumps. Modules are imported when they are needed: a run imports no more
than it uses.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from nessie.base.activity import Activity
from nessie.base.lazy import lazy
from nessie.base.records import dataclass
from nessie.base.source import UsageError
from nessie.base.wishes import Met, Wish, Wishes
from nessie.forms import (
    CPU_CODE,
    CUDA,
    FLAT,
    FUSED,
    GPU_CODE,
    GRAPH,
    HOST,
    LLVM,
    LOOPS,
    MONO,
    SCHEDULE,
    SYNTAX,
    TEXT,
    TYPED,
    WITHOUT_STACK,
    Form,
)

if TYPE_CHECKING:
    from nessie import loading
    from nessie.cudagen import assemble, cache, cuda, generate, headers, link, llvm, translate, unread
    from nessie.flatten import flatten, join_calls, once, release
    from nessie.frontend import entry, infer, inline, library, pragmas, random_state
    from nessie.frontend.environment import Environment
    from nessie.lambda_cu import ir, scope, simplify, sites, unchecked
    from nessie.schedule import check as schedule_check
    from nessie.schedule import fuse, profiles, pull, remembered, schedule
    from nessie.schedule.profiles import Profile
else:
    (loading,) = lazy("nessie", "loading")
    assemble, cache, cuda, headers, generate, link, llvm, translate, unread = lazy(
        "nessie.cudagen", "assemble", "cache", "cuda", "headers", "generate", "link", "llvm", "translate", "unread")
    flatten, join_calls, once, release = lazy("nessie.flatten", "flatten", "join_calls", "once", "release")
    entry, infer, inline, library, pragmas, random_state = lazy(
        "nessie.frontend", "entry", "infer", "inline", "library", "pragmas", "random_state")
    scope, simplify, sites, unchecked = lazy("nessie.lambda_cu", "scope", "simplify", "sites", "unchecked")
    schedule_check, fuse, profiles, pull, remembered, schedule = lazy(
        "nessie.schedule", "check", "fuse", "profiles", "pull", "remembered", "schedule")


@dataclass
class Checking:
    """How far what passes make is checked: until that takes more than `share` of the time that passes take. What one
    program leaves of it the next one has, so that in time every pass is checked."""
    share: float = float("inf")
    spent: float = 0.0                              # seconds on passes
    checking: float = 0.0                           # and on checks


@dataclass(frozen=True)
class Job:
    """What is to be compiled, and how."""
    environment: Environment | None = None          # what the program may use beyond itself; None: the library
    entry: str = ""                                 # the function that a run will call
    argument: Any = None                            # the type of its argument, as written, where its own is open
    layouts: tuple[ir.Layout, ...] | None = None       # how its arguments lie in memory; None: dense
    fuse: str = "ilp"                               # or greedy, none
    target: str = "cpu"                             # where it will run
    machine: Profile | None = None                  # what the device takes; None: the target's own
    sizes: Mapping[str, float] = field(default_factory=dict)   # what sizes to expect when fusing
    wishes: tuple[Wish, ...] = ()                   # what to fuse and what not, beside the program's pragmas
    strict: bool = True                             # names in sizes and wishes must be names of the program
    met: Met = field(default_factory=Met, compare=False)        # what the program has had of the wishes
    unchecked: bool = False                         # leave the program's run-time checks out
    dump: Path | None = None                        # write every form there
    checks: Checking = field(default_factory=Checking, compare=False)
    activity: Activity = field(default_factory=Activity, compare=False)     # told what is being done


@dataclass(frozen=True)
class Pass:
    """From programs of some forms to a program of another, for some jobs `only`."""
    name: str
    inputs: tuple[Form[Any], ...]
    output: Form[Any]
    run: Callable[..., Any]                         # takes the job, then the inputs
    does: str
    only: Callable[[Job], bool]
    certify: Callable[..., None] | None             # checks the inputs and the output together


A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
R = TypeVar("R")
Only = Callable[[Job], bool]


@overload
def row(name: str, inputs: tuple[Form[A]], output: Form[R], run: Callable[[Job, A], R], does: str, *,
        only: Only = ..., certify: Callable[[A, R], None] | None = None) -> Pass: ...
@overload
def row(name: str, inputs: tuple[Form[A], Form[B]], output: Form[R], run: Callable[[Job, A, B], R], does: str, *,
        only: Only = ...) -> Pass: ...
@overload
def row(name: str, inputs: tuple[Form[A], Form[B], Form[C], Form[D]], output: Form[R],
        run: Callable[[Job, A, B, C, D], R], does: str, *, only: Only = ...) -> Pass: ...
def row(name: str, inputs: tuple[Form[Any], ...], output: Form[Any], run: Callable[..., Any], does: str, *,
        only: Only = lambda job: True, certify: Callable[..., None] | None = None) -> Pass:
    """A pass whose function takes and gives what its forms hold."""
    return Pass(name, inputs, output, run, does, only, certify)


# What passes ask of a job ------------------------------------------------------------------------


def environment_of(job: Job) -> Environment:
    return job.environment or library.library()


def profile(job: Job) -> Profile:
    """What a launch, a byte and the like cost where the program will run."""
    return job.machine or profiles.of_target(job.target)


def wishes(job: Job, program: ir.Program) -> Wishes:
    """Those of the job and of the pragmas in the program's sources. With `--fuse none`, pragmas rest. One with a wrong
    name is an error if anything of its form is in the program."""
    read = [pragmas.of_source(source) for source in scope.sources(program)
            if job.wishes or pragmas.has_pragmas(source)]
    bound = tuple(name for _, names in read for name in names)
    found = [wish for wishes, _ in read for wish in wishes] if job.fuse != "none" else []
    right = pragmas.well_named(found, bound, lambda: scope.spans(program))
    return Wishes((*job.wishes, *right), bound, job.strict, job.met)


def scheduled(job: Job, program: ir.Program) -> Any:
    store = remembered.Store(cache.find, cache.keep)
    return schedule.schedule(program, job.fuse, profile(job), job.sizes, wishes(job, program), store)


SKELETONS = {"cpu": "cpu", "cuda": "cuda", "cudasim": "cuda"}       # whose each target takes


# The passes --------------------------------------------------------------------------------------


def for_readers(job: Job) -> bool:
    """No other pass reads what it makes."""
    return False


def has_code(job: Job) -> bool:
    """The reference runs what `fuse` makes."""
    return job.target != "reference"


def on_cpus(job: Job) -> bool:
    return job.target == "cpu"


def on_gpus(job: Job) -> bool:
    return job.target in WITHOUT_STACK


PASSES = (
    row("parse", (TEXT,), SYNTAX, lambda job, source: loading.program(source),
        "NESL's text becomes syntax trees, with those of the files that it loads"),
    row("infer", (SYNTAX,), TYPED, lambda job, program: infer.infer(program, environment_of(job))[0],
        "finds every type; resolves names; operators become functions"),
    row("monomorphise", (TYPED,), MONO,
        lambda job, program: entry.monomorphise_entry(program, environment_of(job), job.entry, job.argument),
        "one copy of each function per use at different types; function values are specialised away"),
    # first of all on this form, as the only one that makes what draws numbers: others see arithmetic
    row("random-state", (MONO,), MONO, lambda job, program: random_state.random_state(program),
        "random numbers are made from a state that is passed along; drawing becomes arithmetic"),
    # before flattening, so that what a call does to each element can be seen from outside
    row("inline", (MONO,), MONO, lambda job, program: inline.inline(program),
        "calls of functions that are not recursive become their bodies"),
    # before what looks into calls, as it changes what they are given
    row("join-calls", (MONO,), MONO, lambda job, program: join_calls.join_calls(program),
        "calls that end both branches of a conditional become one"),
    # after inlining: only frames that are left can hold anything
    row("release", (MONO,), MONO, lambda job, program: release.release(program),
        "marks small parts of large sequences that a recursion would keep alive"),
    row("flatten", (MONO,), FLAT,
        lambda job, program: flatten.flatten(program, job.target not in WITHOUT_STACK, job.layouts),
        "nested parallelism becomes kernels of one array combinator each"),
    row("once", (FLAT,), FLAT, lambda job, program: once.once(program),
        "scalar arithmetic on kernels' results stays on the device"),
    # before simplifying: what only checks needed goes with them
    row("unchecked", (FLAT,), FLAT, lambda job, program: unchecked.unchecked(program),
        "with --unchecked: checks go, and their errors", only=lambda job: job.unchecked),
    # before scheduling: fewer and equal kernels make a smaller problem; undoes share-sites, should a reader's text be
    # what is compiled
    row("simplify", (FLAT,), FLAT, lambda job, program: simplify.simplify(sites.specialise_sites(program)),
        "what nobody needs goes; what is computed twice is computed once"),
    # after simplifying: a producer that nobody reads any more is no reason to keep what it reads
    row("pull", (FLAT,), FLAT, lambda job, program: pull.pull(program, profile(job), job.sizes),
        "without --fuse none: what is cheaper to compute than to fetch is computed where it is gathered",
        only=lambda job: job.fuse != "none"),
    row("share-sites", (FLAT,), FLAT, lambda job, program: sites.share_sites(program),
        "for readers: kernels that differ in where they fail only are one", only=for_readers),
    row("graph", (FLAT,), GRAPH,
        lambda job, program: schedule.graphs(program, profile(job), job.sizes, wishes(job, program)),
        "for readers: the dependence graph of each control region, with what may fuse", only=for_readers),
    row("schedule", (FLAT,), SCHEDULE, scheduled, "decides which combinators share a kernel",
        certify=schedule_check.check_schedule),
    row("fuse", (FLAT, SCHEDULE), FUSED, lambda job, program, found: fuse.fuse(program, found),
        "merges the kernels that the schedule put together"),
    row("translate", (FUSED,), HOST, lambda job, program: translate.translate(program),
        "functions become lists of instructions over numbered slots", only=has_code),
    row("generate", (FUSED,), LOOPS, lambda job, program: generate.generate(program, SKELETONS[job.target]),
        "skeletons and thunks become imperative code", only=has_code),
    # because compilers for GPUs warn of it
    row("unread", (LOOPS,), LOOPS, lambda job, module: unread.unread(module),
        "for GPUs: what functions bind and nobody reads goes", only=on_gpus),
    # last on this form: what it says of kernels is true of their text
    row("headers", (FUSED, LOOPS), LOOPS, lambda job, program, module: headers.headers(program, module),
        "for GPUs: comments say where kernels come from and how they are launched", only=on_gpus),
    row("llvm", (LOOPS,), LLVM, lambda job, module: llvm.show(module), "for CPUs: imperative code as LLVM's",
        only=on_cpus),
    row("assemble", (FUSED, HOST, LOOPS, LLVM), CPU_CODE,
        lambda job, program, host, module, text: assemble.assemble(program, host, module, text),
        "for CPUs: machine code, and what a launch needs", only=on_cpus),
    row("cuda", (LOOPS,), CUDA, lambda job, module: cuda.show(module), "for GPUs: imperative code as CUDA C++",
        only=on_gpus),
    row("link", (FUSED, HOST, LOOPS, CUDA), GPU_CODE,
        lambda job, program, host, module, text: link.link(program, host, module, text),
        "for GPUs: the code, and what a launch needs", only=on_gpus),
)


def stages(job: Job) -> tuple[Pass, ...]:
    """What compiles for the job, in order. The last one makes what its target runs."""
    return tuple([ran for ran in PASSES if ran.only(job)])


def stages_between(job: Job, start: Form[Any], until: Pass) -> tuple[Pass, ...]:
    """Those of the job that lead from a program of the form `start` through `until`."""
    known = [ran for ran in PASSES if ran.only(job) or ran is until]
    if not until.only(job) and until.only is not for_readers:
        raise UsageError(f"{until.name} runs {until.does.partition(':')[0]}, and not here",
                         hint="nessie passes says when each runs")
    first = next((at for at, ran in enumerate(known) if start in ran.inputs), None)
    if first is None:
        raise UsageError(f"no pass takes a {start.name} program", hint="nessie check looks for errors in one")
    last = known.index(until)
    if first > last:
        raise UsageError(f"{until.name} comes before {known[first].name}, the first pass that takes a {start.name} "
                         "program")
    return tuple(leading(start, known[first:last + 1]))


def leading(start: Form[Any], passes: Sequence[Pass]) -> Iterator[Pass]:
    """Without those that only refine a form, and want another as well, which is made before the first of them."""
    made = {start.name}
    for ran in passes:
        if ran.output not in ran.inputs or made.issuperset(form.name for form in ran.inputs):
            made.add(ran.output.name)
            yield ran


def pass_named(name: str) -> Pass:
    found = next((p for p in PASSES if p.name == name), None)
    if found is None:
        raise UsageError(f"there is no pass {name}; the passes are {', '.join(p.name for p in PASSES)}")
    return found


def pass_making(job: Job, form: Form[Any]) -> Pass:
    """The last pass that makes a program of this form for the job."""
    known = [ran for ran in PASSES if ran.only(job) or ran.only is for_readers]
    return next(p for p in reversed(known) if p.output is form)
