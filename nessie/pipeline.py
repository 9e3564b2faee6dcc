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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from nessie.activity import Activity
from nessie.base.lazy import lazy
from nessie.base.records import dataclass
from nessie.base.source import UsageError
from nessie.base.widths import FULL, Widths
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
from nessie.schedule.wishes.wishes import MAPPINGS, Met, Wish, Wishes

if TYPE_CHECKING:
    from nessie import pragmas
    from nessie.base.system import disk_cache
    from nessie.cudagen import generate
    from nessie.cudagen.cpu import assemble, llvm
    from nessie.cudagen.cuda import cuda, headers, link
    from nessie.cudagen.host import translate
    from nessie.cudagen.loops import unread
    from nessie.flatten import flatten
    from nessie.flatten.threads import folds
    from nessie.lambda_cu import nodes as ir
    from nessie.lambda_cu import scope
    from nessie.lambda_cu.borders import borders, checker, partitions
    from nessie.lambda_cu.passes import (
        append,
        device_scalars,
        known_arguments,
        share_sites,
        simplify,
        sort_firsts,
        sort_reductions,
        specialise_sites,
        unchecked,
    )
    from nessie.lengths import layouts as written_layouts
    from nessie.library import library
    from nessie.mono import nodes as mono
    from nessie.mono.passes import (
        hoist,
        inline,
        join_calls,
        monomorphise,
        random_state,
        reduce_groups,
        release,
        row_recursions,
        select_least,
    )
    from nessie.schedule import check as schedule_check
    from nessie.schedule import fuse, pull, schedule, sink
    from nessie.schedule.cost import profiles
    from nessie.schedule.cost.profiles import Profile
    from nessie.schedule.graph import graph
    from nessie.schedule.nodes import Schedule
    from nessie.schedule.solver import proven_optima
    from nessie.schedule.versions import few_gathers, owner_versions
    from nessie.schedule.wishes import choose_mappings, mappings, unmet
    from nessie.schedule.wishes import sizes as names_of_sizes
    from nessie.syntax import nodes as syntax
    from nessie.syntax import parse, types
    from nessie.tuning import thresholds
    from nessie.tuning.file import Tuning
    from nessie.typing import infer
    from nessie.typing.environment import Environment
else:
    disk_cache = lazy("nessie.base.system.disk_cache")
    assemble = lazy("nessie.cudagen.cpu.assemble")
    llvm = lazy("nessie.cudagen.cpu.llvm")
    cuda = lazy("nessie.cudagen.cuda.cuda")
    headers = lazy("nessie.cudagen.cuda.headers")
    link = lazy("nessie.cudagen.cuda.link")
    generate = lazy("nessie.cudagen.generate")
    translate = lazy("nessie.cudagen.host.translate")
    unread = lazy("nessie.cudagen.loops.unread")
    flatten = lazy("nessie.flatten.flatten")
    folds = lazy("nessie.flatten.threads.folds")
    borders = lazy("nessie.lambda_cu.borders.borders")
    partitions = lazy("nessie.lambda_cu.borders.partitions")
    checker = lazy("nessie.lambda_cu.borders.checker")
    append = lazy("nessie.lambda_cu.passes.append")
    device_scalars = lazy("nessie.lambda_cu.passes.device_scalars")
    share_sites = lazy("nessie.lambda_cu.passes.share_sites")
    specialise_sites = lazy("nessie.lambda_cu.passes.specialise_sites")
    known_arguments = lazy("nessie.lambda_cu.passes.known_arguments")
    simplify = lazy("nessie.lambda_cu.passes.simplify")
    sort_firsts = lazy("nessie.lambda_cu.passes.sort_firsts")
    sort_reductions = lazy("nessie.lambda_cu.passes.sort_reductions")
    unchecked = lazy("nessie.lambda_cu.passes.unchecked")
    scope = lazy("nessie.lambda_cu.scope")
    library = lazy("nessie.library.library")
    inline = lazy("nessie.mono.passes.inline")
    row_recursions = lazy("nessie.mono.passes.row_recursions")
    hoist = lazy("nessie.mono.passes.hoist")
    join_calls = lazy("nessie.mono.passes.join_calls")
    monomorphise = lazy("nessie.mono.passes.monomorphise")
    random_state = lazy("nessie.mono.passes.random_state")
    reduce_groups = lazy("nessie.mono.passes.reduce_groups")
    release = lazy("nessie.mono.passes.release")
    select_least = lazy("nessie.mono.passes.select_least")
    pragmas = lazy("nessie.pragmas")
    schedule_check = lazy("nessie.schedule.check")
    profiles = lazy("nessie.schedule.cost.profiles")
    fuse = lazy("nessie.schedule.fuse")
    pull = lazy("nessie.schedule.pull")
    schedule = lazy("nessie.schedule.schedule")
    sink = lazy("nessie.schedule.sink")
    graph = lazy("nessie.schedule.graph.graph")
    proven_optima = lazy("nessie.schedule.solver.proven_optima")
    choose_mappings = lazy("nessie.schedule.wishes.choose_mappings")
    mappings = lazy("nessie.schedule.wishes.mappings")
    unmet = lazy("nessie.schedule.wishes.unmet")
    names_of_sizes = lazy("nessie.schedule.wishes.sizes")
    few_gathers = lazy("nessie.schedule.versions.few_gathers")
    owner_versions = lazy("nessie.schedule.versions.owner_versions")
    parse = lazy("nessie.syntax.parse")
    types = lazy("nessie.syntax.types")
    written_layouts = lazy("nessie.lengths.layouts")
    thresholds = lazy("nessie.tuning.thresholds")
    infer = lazy("nessie.typing.infer")


CODE_TARGETS = ("cpu", *WITHOUT_STACK)
TARGETS = ("cpu", "reference", *WITHOUT_STACK)


@dataclass
class Checking:
    """The amount of checking: until it takes more than `share` of the time that passes take. What one
    program leaves of it the next one has, so that in time every pass is checked."""
    share: float = float("inf")
    spent: float = 0.0                              # seconds on passes
    checking: float = 0.0                           # and on checks


@dataclass(frozen=True)
class Job:
    """A job of the compiler: what to compile, and how."""
    environment: Environment | None = None          # what the program may use beyond itself; None: the library
    entry: str = ""                                 # the function that a run will call
    argument: Any = None                            # the type of its argument, as written, where its own is open
    layouts: tuple[ir.Layout, ...] | None = None       # how its arguments lie in memory; None: as `lengths` says
    lengths: Any = None                             # its argument's type with lengths, as written; None: dense
    fuse: str = "ilp"                               # or greedy, none
    target: str = "cpu"                             # where it will run
    asked_target: str = field(default="", compare=False)        # what users call it, where that is another word
    machine: Profile | None = None                  # what the device takes; None: the target's own
    sizes: Mapping[str, float] = field(default_factory=dict)   # what sizes to expect when fusing
    known: Mapping[str, float] = field(default_factory=dict)   # sizes of a call's arguments, by any names for them
    wishes: tuple[Wish, ...] = ()                   # what to fuse and what not, beside the program's pragmas
    strict: bool = True                             # names in sizes and wishes must be names of the program
    met: Met = field(default_factory=Met, compare=False)        # what the program has had of the wishes
    widths: Widths = FULL                           # the bits of its numbers, where `environment` does not say them
    unchecked: bool = False                         # leave the program's run-time checks out
    versions: bool = False                          # on GPUs, make versions whose segments have owners
    tuning: Tuning | None = None                    # thresholds, where what is compiled will be read, not run
    dump: Path | None = None                        # write every form there
    checks: Checking = field(default_factory=Checking, compare=False)
    activity: Activity = field(default_factory=Activity, compare=False)     # told what is being done


@dataclass(frozen=True)
class When:
    """The jobs for which a pass runs, in words, too."""
    said: str
    holds: Callable[[Job], bool]


ALWAYS = When("", lambda job: True)
FOR_READERS = When("for readers", lambda job: False)            # no other pass reads what it makes
FUSING = When("without --fuse none", lambda job: job.fuse != "none")
LEAVING_OUT = When("with --unchecked", lambda job: job.unchecked)
WITH_CODE = When(f"with --target {', '.join(CODE_TARGETS)}", lambda job: job.target in CODE_TARGETS)
ON_CPUS = When("with --target cpu", lambda job: job.target == "cpu")
ON_GPUS = When(f"with --target {', '.join(WITHOUT_STACK)}", lambda job: job.target in WITHOUT_STACK)
WITH_TUNING = When("for readers, with --tuning", lambda job: job.tuning is not None)
WITH_VERSIONS = When(f"with --tuning and --target {', '.join(WITHOUT_STACK)}",
                     lambda job: job.versions and job.target in WITHOUT_STACK and job.fuse != "none")


@dataclass(frozen=True)
class Pass:
    """A pass: from programs of some forms to a program of another."""
    name: str
    inputs: tuple[Form[Any], ...]
    output: Form[Any]
    run: Callable[..., Any]                         # takes the job, then the inputs
    does: str
    when: When
    certify: Callable[..., None] | None             # checks the inputs and the output together


A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
R = TypeVar("R")


@overload
def row(name: str, inputs: tuple[Form[A]], output: Form[R], run: Callable[[Job, A], R], does: str, *,
        when: When = ..., certify: Callable[[A, R], None] | None = None) -> Pass: ...
@overload
def row(name: str, inputs: tuple[Form[A], Form[B]], output: Form[R], run: Callable[[Job, A, B], R], does: str, *,
        when: When = ...) -> Pass: ...
@overload
def row(name: str, inputs: tuple[Form[A], Form[B], Form[C], Form[D]], output: Form[R],
        run: Callable[[Job, A, B, C, D], R], does: str, *, when: When = ...) -> Pass: ...
def row(name: str, inputs: tuple[Form[Any], ...], output: Form[Any], run: Callable[..., Any], does: str, *,
        when: When = ALWAYS, certify: Callable[..., None] | None = None) -> Pass:
    """A pass whose function takes and gives what its forms hold."""
    return Pass(name, inputs, output, run, does, when, certify)


# What passes ask of a job ------------------------------------------------------------------------


def environment_of(job: Job) -> Environment:
    return job.environment or library.library(job.widths)


def wanted(job: Job, program: syntax.Program) -> syntax.Program:
    """The forms that the job needs: where it compiles a function, no bare expressions, as in a run of the function."""
    return parse.without_bare_expressions(program) if job.entry else program


def profile(job: Job) -> Profile:
    """The prices of a launch, a byte and so on where the program will run."""
    return job.machine or profiles.of_target(job.target)


def sizes(job: Job, program: ir.Program) -> dict[str, float]:
    """The sizes to expect: those that users name, and those of a call for which the program still has the name."""
    return {**names_of_sizes.named(program, job.known), **job.sizes} if job.known else {**job.sizes}


def wishes(job: Job, program: ir.Program) -> Wishes:
    """The wishes of the job and of the pragmas in the program's sources. With `--fuse none`, pragmas rest. One with a
    wrong name is an error if anything of its form is in the program."""
    read = [pragmas.of_source(source) for source in scope.sources(program)
            if job.wishes or pragmas.has_pragmas(source)]
    bound = tuple(name for _, names in read for name in names)
    found = [wish for wishes, _ in read for wish in wishes] if job.fuse != "none" else []
    right = pragmas.well_named(found, bound, lambda: scope.spans(program))
    for wish in job.wishes if job.target not in WITHOUT_STACK else ():
        if wish.kind in MAPPINGS:
            job.met.tell(wish, f"{wish.option} is for threads of a GPU, and this runs on "
                                     f"{job.asked_target or job.target}")
    return Wishes((*job.wishes, *right), bound, job.strict, job.met)


def owners(job: Job, program: mono.Program) -> bool:
    """Does anybody wish that rows have owners, where somebody can be one?"""
    return bool(wishes_for_owners(job, program))


def wishes_for_owners(job: Job, program: mono.Program) -> list[Wish]:
    if job.target not in WITHOUT_STACK:
        return []
    sources = {span.source for function in program.functions for span in function.origin if not span.source.library}
    found = [wish for source in sources if job.fuse != "none" and pragmas.has_pragmas(source)
             for wish in pragmas.of_source(source)[0]]
    return [*mappings.of_owners([*job.wishes, *found])]


def layouts(job: Job, program: mono.Program) -> tuple[ir.Layout, ...] | None:
    """How the entry's arguments lie in memory."""
    if job.layouts is not None or not types.tells_lengths(job.lengths):
        return job.layouts
    entry = next(function for function in program.functions if function.name == program.entry)
    return written_layouts.layouts(job.lengths, [parameter.type for parameter in entry.parameters])


def scheduled(job: Job, program: ir.Program) -> Schedule:
    store = proven_optima.Store(disk_cache.find, disk_cache.keep)
    return schedule.schedule(program, job.fuse, profile(job), sizes(job, program), wishes(job, program), store)


SKELETONS = {"cpu": "cpu", "cuda": "cuda", "cudasim": "cuda"}       # the targets', by the name of their dialect


# The passes --------------------------------------------------------------------------------------


PASSES = (
    row("parse", (TEXT,), SYNTAX, lambda job, source: parse.parse(source),
        "NESL's text becomes syntax trees, with those of the files that it loads"),
    row("infer", (SYNTAX,), TYPED, lambda job, program: infer.infer(wanted(job, program), environment_of(job))[0],
        "finds every type; resolves names; operators become functions"),
    row("monomorphise", (TYPED,), MONO,
        lambda job, program: monomorphise.monomorphise(program, environment_of(job), job.entry, job.argument),
        "one copy of each function per use at different types; function values are specialised away"),
    # first of all on this form, as the only one that makes what draws numbers: others see arithmetic
    row("random-state", (MONO,), MONO, lambda job, program: random_state.random_state(program),
        "random numbers are made from a state that is passed along; drawing becomes arithmetic"),
    # before flattening, so that what a call does to each element can be seen from outside
    row("inline", (MONO,), MONO, lambda job, program: inline.inline(program, reduce_groups.makes_groups),
        "calls of functions that are not recursive become their bodies"),
    # after inlining, which shows what is done with groups
    row("reduce-groups", (MONO,), MONO, lambda job, program: reduce_groups.reduce_groups(program),
        "groups that are only reduced are not made"),
    # after inlining, which shows how much is used of what the library sorts
    row("select-least", (MONO,), MONO, lambda job, program: select_least.select_least(program),
        "the first few of what is sorted are found without sorting"),
    # after inlining, as what is alike for all elements is seen in the library's functions, too
    row("hoist", (MONO,), MONO, lambda job, program: hoist.hoist(program),
        "what is the same for all elements of an apply-to-each is computed once, before it"),
    # after what sees what is alike for all elements of the library's functions, before what changes calls
    row("row-recursions", (MONO,), MONO,
        lambda job, program: row_recursions.row_recursions(program, {w.first for w in wishes_for_owners(job, program)}),
        "recursions on all rows become recursions on each, where rows shall have owners", when=ON_GPUS),
    # before what looks into calls, as it changes what they are given
    row("join-calls", (MONO,), MONO, lambda job, program: join_calls.join_calls(program),
        "calls that end both branches of a conditional become one"),
    # after inlining: only frames that are left can hold anything
    row("release", (MONO,), MONO, lambda job, program: release.release(program),
        "marks small parts of large sequences that a recursion would keep alive"),
    # after all that tells functions which are called for elements from others
    row("folds", (MONO,), MONO, lambda job, program: folds.folds(program, job.target not in WITHOUT_STACK),
        "reductions that an element does alone, over a few elements or as a loop, stay with it"),
    row("flatten", (MONO,), FLAT,
        lambda job, program: flatten.flatten(program, job.target not in WITHOUT_STACK, layouts(job, program),
                                             owners(job, program)),
        "nested parallelism becomes kernels of one array combinator each"),
    # a reader's text may have sites as parameters; what comes after wants to know where each kernel fails
    row("specialise-sites", (FLAT,), FLAT, lambda job, program: specialise_sites.specialise_sites(program),
        "kernels that take where they fail as a parameter become one for each place"),
    row("device-scalars", (FLAT,), FLAT, lambda job, program: device_scalars.device_scalars(program),
        "scalar arithmetic on kernels' results stays on the device"),
    # before simplifying, which sees then what sorting and reducing has in common with the rest
    row("sort-reductions", (FLAT,), FLAT, lambda job, program: sort_reductions.sort_reductions(program),
        "what no atomic operation combines by index is sorted and reduced", when=ON_GPUS),
    row("sort-firsts", (FLAT,), FLAT, lambda job, program: sort_firsts.sort_firsts(program),
        "where equal keys stand first is found by sorting them", when=ON_GPUS),
    # before simplifying: what only checks needed goes with them
    row("unchecked", (FLAT,), FLAT, lambda job, program: unchecked.unchecked(program),
        "checks go, and their errors", when=LEAVING_OUT),
    # before scheduling: fewer and equal kernels make a smaller problem
    # before what drops, as it leaves arguments that nothing reads
    row("known-arguments", (FLAT,), FLAT, lambda job, program: known_arguments.known_arguments(program),
        "what functions are given alike at every call is known in them; whole arrays are not copied"),
    row("simplify", (FLAT,), FLAT, lambda job, program: simplify.simplify(program),
        "what nobody needs goes; what is computed twice is computed once"),
    # before what asks which region reads what
    row("sink", (FLAT,), FLAT, lambda job, program: sink.sink(program),
        "kernels follow what they read into the branches that make it", when=FUSING),
    # before what decides for good: what it leaves to a run
    row("few-gathers", (FLAT,), FLAT,
        lambda job, program: few_gathers.few_gathers(program, profile(job), sizes(job, program)),
        "what few gather is computed for them alone, where a run knows that", when=FUSING),
    # after simplifying: a producer that nobody reads any more is no reason to keep what it reads
    row("pull", (FLAT,), FLAT, lambda job, program: pull.pull(program, profile(job), sizes(job, program)),
        "what is cheaper to compute than to fetch is computed where it is gathered", when=FUSING),
    row("share-sites", (FLAT,), FLAT, lambda job, program: share_sites.share_sites(program),
        "kernels that differ in where they fail only are one", when=FOR_READERS),
    # after all that merges kernels which are alike
    row("mappings", (FLAT,), FLAT, lambda job, program: mappings.mappings(program, wishes(job, program), profile(job)),
        "kernels are walked by the mappings that users wish, segments held by owners", when=ON_GPUS),
    # after what users wish for good
    row("owner-versions", (FLAT,), FLAT, lambda job, program: owner_versions.owner_versions(program),
        "segments have owners where a run finds them many and short", when=WITH_VERSIONS),
    # last on this form: what is shown of choices is what a run with this tuning decides
    row("thresholds", (FLAT,), FLAT,
        lambda job, program: thresholds.thresholds(program, job.tuning, job.entry.lower(), job.target,
                                                   bool(job.sizes or job.known)),
        "choices compare with what a tuning file says", when=WITH_TUNING),
    row("graph", (FLAT,), GRAPH,
        lambda job, program: graph.graph(program, profile(job), sizes(job, program), wishes(job, program)),
        "the dependence graph of each control region, with what may fuse", when=FOR_READERS),
    row("schedule", (FLAT,), SCHEDULE, scheduled, "decides which combinators share a kernel",
        certify=schedule_check.check_schedule),
    row("fuse", (FLAT, SCHEDULE), FUSED, lambda job, program, found: fuse.fuse(program, found),
        "merges the kernels that the schedule put together"),
    # after fusing, which says all that a kernel reads
    row("choose-mappings", (FUSED,), FUSED,
        lambda job, program: choose_mappings.choose_mappings(program, sizes(job, program)),
        "kernels that any mapping may walk have the one that costs least", when=ON_GPUS),
    # after fusing: what is computed with a concatenation by the same walk stays there
    row("append", (FUSED,), FUSED, lambda job, program: append.append(program),
        "what grows at its end keeps its memory"),
    # after fusing, like interiors: what shares no launch stays as it was flattened, and only code needs its parts
    row("partitions", (FUSED,), FUSED, lambda job, program: partitions.partitions(program),
        "spaces are cut by tests of indices, where a mapping has cases",
        when=ON_GPUS, certify=lambda _, program: checker.check_interiors(program)),
    # last on this form: only code is made of thunks that are there twice
    row("borders", (FUSED,), FUSED, lambda job, program: borders.borders(program),
        "decisions that one range of an index settles are made once for the interior",
        certify=lambda _, program: checker.check_interiors(program)),
    row("translate", (FUSED,), HOST, lambda job, program: translate.translate(program),
        "functions become lists of instructions over numbered slots", when=WITH_CODE),
    row("generate", (FUSED,), LOOPS, lambda job, program: generate.generate(
            program, SKELETONS[job.target], declined=partial(unmet.not_owned, program, job.met)),
        "skeletons and thunks become imperative code", when=WITH_CODE),
    # because compilers for GPUs warn of it
    row("unread", (LOOPS,), LOOPS, lambda job, module: unread.unread(module),
        "what functions bind and nobody reads goes", when=ON_GPUS),
    # last on this form: what it says of kernels is true of their text
    row("headers", (FUSED, LOOPS), LOOPS, lambda job, program, module: headers.headers(program, module),
        "comments say where kernels come from and how they are launched", when=ON_GPUS),
    row("llvm", (LOOPS,), LLVM, lambda job, module: llvm.llvm(module), "imperative code as LLVM's",
        when=ON_CPUS),
    row("assemble", (FUSED, HOST, LOOPS, LLVM), CPU_CODE,
        lambda job, program, host, module, text: assemble.assemble(program, host, module, text),
        "machine code, and what a launch needs", when=ON_CPUS),
    row("cuda", (LOOPS,), CUDA, lambda job, module: cuda.cuda(module), "imperative code as CUDA C++",
        when=ON_GPUS),
    row("link", (FUSED, HOST, LOOPS, CUDA), GPU_CODE,
        lambda job, program, host, module, text: link.link(program, host, module, text),
        "the code, and what a launch needs", when=ON_GPUS),
)


def stages(job: Job) -> tuple[Pass, ...]:
    """The passes that compile for the job, in order. The last one makes what its target runs."""
    return tuple([ran for ran in PASSES if ran.when.holds(job)])


def stages_between(job: Job, start: Form[Any], until: Pass) -> tuple[Pass, ...]:
    """The passes of the job from a program of the form `start` through `until`. UsageError where none do."""
    if until.when is not FOR_READERS and not until.when.holds(job):
        raise UsageError(f"{until.name} runs {until.when.said} only", hint="nessie passes says when each pass runs")
    known = [ran for ran in PASSES if ran.when.holds(job) or ran is until]
    first = next((at for at, ran in enumerate(known) if start in ran.inputs), None)
    if first is None:
        raise UsageError(f"no pass takes a {start.name} program", hint="nessie check looks for errors in one")
    last = known.index(until)
    if first > last:
        raise UsageError(f"{until.name} comes before {known[first].name}, the first pass that takes a {start.name} "
                         "program")
    return (*refining(start, known[first:last]), until)


def refining(start: Form[Any], passes: Sequence[Pass]) -> Iterator[Pass]:
    """Leaves out a pass that refines a form and needs another form, which nothing has made."""
    made = {start.name}
    for ran in passes:
        if ran.output not in ran.inputs or made.issuperset(form.name for form in ran.inputs):
            made.add(ran.output.name)
            yield ran


def targets_of(ran: Pass) -> tuple[str, ...]:
    """The targets for which it runs, if not for all."""
    found = [target for target in TARGETS if ran.when.holds(Job(target=target, unchecked=True, versions=True))]
    return () if ran.when is FOR_READERS or len(found) == len(TARGETS) else tuple(found)


def pass_named(name: str) -> Pass:
    found = next((p for p in PASSES if p.name == name), None)
    if found is None:
        raise UsageError(f"there is no pass {name}; the passes are {', '.join(p.name for p in PASSES)}")
    return found


def pass_making(job: Job, form: Form[Any]) -> Pass:
    """The last pass that makes a program of this form for the job, whose target has the form."""
    return [ran for ran in PASSES if ran.output is form and (ran.when.holds(job) or ran.when is FOR_READERS)][-1]
