"""The pipeline: every form a program takes and every pass of the compiler, in order.

    text - syntax - typed - mono - flat - schedule - fused - loops - llvm | cuda
                                     \\- graph          \\- host

This is the one place that knows the order. A pass is a plain function; the driver checks, dumps and times between
passes, so no pass has to. Modules are imported when they are needed: a run imports no more than it uses.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

from nessie.base.activity import Activity
from nessie.base.layout import Shown, render_marked
from nessie.base.places import Places
from nessie.base.records import dataclass
from nessie.base.source import IllFormed, InternalError, NessieError, Source, UsageError
from nessie.base.wishes import Met, Wish, Wishes
from nessie.base.writing import write


@dataclass(frozen=True)
class Form:
    """A form a program takes on its way. Its functions are given as "module:name", relative to nessie:
    show(program) -> str, parse(str | Source, Places | None) -> program, check(program), which raises IllFormed. The
    places are told where the program's parts stand (base.places). Where the module of `show` has `document` as well,
    that is the same text with its parts marked (base.layout)."""
    name: str
    show: str
    parse: str = ""                 # none: nothing goes on from this form
    check: str = ""
    targets: tuple[str, ...] = ()   # whose code it is; none: it comes before there is code


WITHOUT_STACK = ("cuda", "cudasim")      # targets whose threads cannot recur: their scalar functions only loop


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
    environment: Any = None                         # what the program may use beyond itself; None: the library
    entry: str = ""                                 # the function that a run will call
    argument: Any = None                            # the type of its argument, as written, where its own is open
    layouts: Any = None                             # how its arguments lie in memory (lambda_cu.layout); None: dense
    fuse: str = "ilp"                               # or greedy, none
    target: str = "cpu"                             # whose code is generated
    machine: Any = None                             # the profile of the device (schedule.profiles); None: the target's
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
    """From programs of some forms to a program of another; `branch`: no later pass reads what it makes."""
    name: str
    inputs: tuple[Form, ...]
    output: Form
    run: Callable[..., Any]                         # takes the job, then the inputs
    does: str
    branch: bool = False
    certify: str = ""                               # "module:name": checks the inputs and the output together


TEXT = Form("nesl", "pipeline:show_source", "pipeline:parse_source")
SYNTAX = Form("syntax", "frontend.syntax_text:show", "frontend.syntax_text:parse", "frontend.syntax_check:check")
TYPED = Form("typed", "frontend.typed_text:show", "frontend.typed_parser:parse", "frontend.typed_check:check")
MONO = Form("mono", "frontend.mono_text:show", "frontend.mono_parser:parse", "frontend.mono_check:check")
FLAT = Form("flat", "lambda_cu.printer:show", "lambda_cu.parser:parse", "lambda_cu.check:check")
GRAPH = Form("graph", "pipeline:show_graphs", "schedule.graph_text:parse_all", "pipeline:check_graphs")
SCHEDULE = Form("schedule", "schedule.schedule_text:show", "schedule.schedule_text:parse", "schedule.check:check_alone")
FUSED = Form("fused", "lambda_cu.printer:show", "lambda_cu.parser:parse", "lambda_cu.check:check")
HOST = Form("host", "cudagen.instructions_text:show", "cudagen.instructions_text:parse",
            "cudagen.instructions_check:check")
LOOPS = Form("loops", "cudagen.loops_printer:show", "cudagen.loops_parser:parse", "cudagen.loops_check:check",
             targets=("cpu", "cuda", "cudasim"))
LLVM = Form("llvm", "cudagen.llvm:show", targets=("cpu",))
CUDA = Form("cuda", "cudagen.cuda:show", targets=WITHOUT_STACK)
FORMS = (TEXT, SYNTAX, TYPED, MONO, FLAT, GRAPH, SCHEDULE, FUSED, HOST, LOOPS, LLVM, CUDA)


def infer(job: Job, program: Any) -> Any:
    return call("frontend.infer:infer", program, environment_of(job))[0]


def monomorphise(job: Job, program: Any) -> Any:
    return call("frontend.entry:monomorphise_entry", program, environment_of(job), job.entry, job.argument)


def environment_of(job: Job) -> Any:
    return job.environment or call("frontend.library:library")


def random_state(job: Job, program: Any) -> Any:
    return call("frontend.random_state:random_state", program)


def inline(job: Job, program: Any) -> Any:
    return call("frontend.inline:inline", program)


def join_calls(job: Job, program: Any) -> Any:
    return call("flatten.join_calls:join_calls", program)


def release(job: Job, program: Any) -> Any:
    return call("flatten.release:release", program)


def flatten(job: Job, program: Any) -> Any:
    return call("flatten.flatten:flatten", program, job.target not in WITHOUT_STACK, job.layouts)


def once(job: Job, program: Any) -> Any:
    return call("flatten.once:once", program)


def unchecked(job: Job, program: Any) -> Any:
    return call("lambda_cu.unchecked:drop_checks", program) if job.unchecked else program


def simplify(job: Job, program: Any) -> Any:
    return call("lambda_cu.simplify:simplify", call("lambda_cu.sites:specialise_sites", program))


def share_sites(job: Job, program: Any) -> Any:
    return call("lambda_cu.sites:share_sites", program)


def pull(job: Job, program: Any) -> Any:
    return program if job.fuse == "none" else call("schedule.pull:pull", program, profile(job), job.sizes)


def graph(job: Job, program: Any) -> Any:
    return call("schedule.schedule:graphs", program, profile(job), job.sizes, wishes(job, program))


def schedule(job: Job, program: Any) -> Any:
    from nessie.cudagen import cache
    store = call("schedule.remembered:Store", cache.find, cache.keep)
    return call("schedule.schedule:schedule", program, job.fuse, profile(job), job.sizes, wishes(job, program), store)


def wishes(job: Job, program: Any) -> Wishes:
    """Those of the job and of the pragmas in the program's sources. With `--fuse none`, pragmas rest. One with a wrong
    name is an error if anything of its form is in the program."""
    sources = call("lambda_cu.scope:sources", program)
    read = [call("frontend.pragmas:of_source", source) for source in sources
            if job.wishes or call("frontend.pragmas:has_pragmas", source)]
    bound = tuple(name for _, names in read for name in names)
    pragmas = [wish for found, _ in read for wish in found] if job.fuse != "none" else []
    right = call("frontend.pragmas:well_named", pragmas, bound, partial(call, "lambda_cu.scope:spans", program))
    return Wishes((*job.wishes, *right), bound, job.strict, job.met)


def profile(job: Job) -> Any:
    """What a launch, a byte and the like cost where the program will run."""
    from nessie.schedule import profiles
    if job.machine is not None:
        return job.machine
    return profiles.H200 if job.target.startswith("cuda") else profiles.CPU


def fuse(job: Job, program: Any, schedule: Any) -> Any:
    return call("schedule.fuse:fuse", program, schedule)


def translate(job: Job, program: Any) -> Any:
    return call("cudagen.translate:translate", program)


def generate(job: Job, program: Any) -> Any:
    if not job.target.startswith("cuda"):
        return call("cudagen.generate:generate", program, job.target)
    return call("cudagen.cuda_header:with_headers", program, call("cudagen.generate:generate", program, "cuda"))


def same(job: Job, program: Any) -> Any:
    return program


PASSES = (
    Pass("parse", (TEXT,), SYNTAX, lambda job, source: call("loading:program", source),
         "NESL's text becomes syntax trees, with those of the files that it loads"),
    Pass("infer", (SYNTAX,), TYPED, infer, "finds every type; resolves names; operators become functions"),
    Pass("monomorphise", (TYPED,), MONO, monomorphise,
         "one copy of each function per use at different types; function values are specialised away"),
    # first of all on this form, as the only one that makes what draws numbers: others see arithmetic
    Pass("random-state", (MONO,), MONO, random_state,
         "random numbers are made from a state that is passed along; drawing becomes arithmetic"),
    # before flattening, so that what a call does to each element can be seen from outside
    Pass("inline", (MONO,), MONO, inline, "calls of functions that are not recursive become their bodies"),
    # before what looks into calls, as it changes what they are given
    Pass("join-calls", (MONO,), MONO, join_calls, "calls that end both branches of a conditional become one"),
    # after inlining: only frames that are left can hold anything
    Pass("release", (MONO,), MONO, release, "marks small parts of large sequences that a recursion would keep alive"),
    Pass("flatten", (MONO,), FLAT, flatten, "nested parallelism becomes kernels of one array combinator each"),
    Pass("once", (FLAT,), FLAT, once, "scalar arithmetic on kernels' results stays on the device"),
    # before simplifying: what only checks needed goes with them
    Pass("unchecked", (FLAT,), FLAT, unchecked, "with --unchecked: checks go, and their errors"),
    # before scheduling: fewer and equal kernels make a smaller problem; undoes share-sites, should a reader's text
    # be what is compiled
    Pass("simplify", (FLAT,), FLAT, simplify, "what nobody needs goes; what is computed twice is computed once"),
    # after simplifying: a producer that nobody reads any more is no reason to keep what it reads
    Pass("pull", (FLAT,), FLAT, pull, "what is cheaper to compute than to fetch is computed where it is gathered"),
    # for readers only: what comes after wants each kernel to know where it fails
    Pass("share-sites", (FLAT,), FLAT, share_sites, "kernels that differ in where they fail only are one", True),
    Pass("graph", (FLAT,), GRAPH, graph, "the dependence graph of each control region, with what may fuse", True),
    Pass("schedule", (FLAT,), SCHEDULE, schedule, "decides which combinators share a kernel",
         certify="schedule.check:check_schedule"),
    Pass("fuse", (FLAT, SCHEDULE), FUSED, fuse, "merges the kernels that the schedule put together"),
    Pass("translate", (FUSED,), HOST, translate, "functions become lists of instructions over numbered slots", True),
    Pass("generate", (FUSED,), LOOPS, generate, "skeletons and thunks become imperative code"),
    Pass("llvm", (LOOPS,), LLVM, same, "imperative code as LLVM's, for the CPU", True),
    Pass("cuda", (LOOPS,), CUDA, same, "imperative code as CUDA C++, for GPUs", True),
)


# Running it -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A pass that has run: the checked program that it made, and the seconds it took, checks apart."""
    ran: Pass
    program: Any
    seconds: float


def passes_between(start: Form, until: Pass) -> tuple[Pass, ...]:
    """The passes that lead from a program of the form `start` through `until`."""
    last = PASSES.index(until)
    first = next((i for i, p in enumerate(PASSES) if start in p.inputs), None)
    if first is None:
        raise UsageError(f"no pass takes a {start.name} program", hint="nessie check looks for errors in one")
    if first > last:
        raise UsageError(f"{until.name} comes before {PASSES[first].name}, the first pass that takes a {start.name} "
                         "program")
    return tuple(p for p in PASSES[first:last + 1] if p is until or not p.branch)


def steps(job: Job, start: Form, program: Any, passes: tuple[Pass, ...]) -> Iterator[Step]:
    """Run the passes one by one, and yield each with the checked program that it made."""
    made, checks = {start.name: program}, job.checks
    for ran in passes:
        missing = [form.name for form in ran.inputs if form.name not in made]
        if missing:
            raise UsageError(f"{ran.name} needs a {missing[0]} program too; start from an earlier form")
        job.activity.begin(f"compiling: {ran.name}")
        began = perf_counter()
        inputs = [made[form.name] for form in ran.inputs]
        program = guarded(ran, inputs, partial(ran.run, job, *inputs))
        seconds = perf_counter() - began
        made[ran.output.name] = program
        dump(job, ran, program)
        checks.spent += seconds
        if checks.checking <= checks.share * checks.spent:
            began = perf_counter()
            guarded(ran, inputs, partial(check, ran, inputs, program))
            checks.checking += perf_counter() - began
        yield Step(ran, program, seconds)


def compile_program(job: Job, start: Form, program: Any, until: Pass) -> Any:
    """What the passes up to `until` make of the program."""
    for step in steps(job, start, program, passes_between(start, until)):
        program = step.program
    return program


def guarded(ran: Pass, inputs: list[Any], work: Callable[[], Any]) -> Any:
    """work(), a failure of Nessie itself told apart from the user's errors, and the pass's input kept."""
    try:
        return work()
    except (NessieError, MemoryError):
        raise
    except IllFormed as broken:
        what = f"made an ill-formed {ran.output.name} program: {broken}"
        raise InternalError(f"the pass {ran.name} {what}{kept(ran, inputs)}") from broken
    except Exception as error:
        what = f"failed: {type(error).__name__}: {error}"
        raise InternalError(f"the pass {ran.name} {what}{kept(ran, inputs)}") from error


def check(ran: Pass, inputs: list[Any], program: Any) -> None:
    """Raises IllFormed if the program that the pass made of its inputs is."""
    if ran.output.check:
        call(ran.output.check, program)
    if ran.certify:
        call(ran.certify, *inputs, program)


def kept(ran: Pass, inputs: list[Any]) -> str:
    """Where the inputs of a pass that failed have been written."""
    try:
        import tempfile  # only after a mistake
        folder = Path(tempfile.mkdtemp(prefix="nessie-"))
        for form, program in zip(ran.inputs, inputs, strict=True):
            write_into(folder, f"{ran.name}.{form.name}", show(form, program))
    except Exception:           # the error to be told is the pass's
        return ""
    return f"\nwhat it was given is in {folder}"


def show(form: Form, program: Any) -> str:
    text: str = call(form.show, program)
    return text


def show_marked(form: Form, program: Any) -> tuple[str, list[Shown]]:
    """The text of a form that has documents, and which parts of the program its parts show."""
    return render_marked(call(f"{form.show.partition(':')[0]}:document", program))


def read(form: Form, source: Source) -> Any:
    """The well-formed program that the text of this form shows."""
    places = Places(source)
    program = call(form.parse, source, places)
    try:
        if form.check:
            call(form.check, program)
    except IllFormed as broken:
        span = places.of_error(broken)
        place = [(span, "")] if span else []
        raise NessieError(f"{source.name} is no {form.name} program: {broken}", *place) from None
    return program


def dump(job: Job, ran: Pass, program: Any) -> None:
    """Keep what the pass made, if the job says so."""
    if job.dump is not None:
        write_into(job.dump, f"{PASSES.index(ran) + 1:02}-{ran.name}.{ran.output.name}", show(ran.output, program))


def write_into(folder: Path, name: str, content: str | bytes) -> None:
    """A file in a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NessieError(f"cannot write {folder / name}: {error.strerror}") from None
    write(folder / name, content)


def run_passes(names: list[str], text: str, job: Job | None = None) -> str:
    """The text that the named passes make of the text of a program: what golden tests run."""
    passes = tuple(pass_named(name) for name in names)
    start = passes[0].inputs[0]
    *_, last = steps(job or Job(), start, call(start.parse, text), passes)
    return show(passes[-1].output, last.program)


def executable(job: Job, mono: Any) -> Any:
    """The lambda_cu program that a target runs, from a mono program. A dump has the target's code too."""
    until = "simplify" if job.fuse == "none" and not job.wishes else "fuse"
    program = compile_program(job, MONO, mono, pass_named(until))
    code = next((p for p in PASSES if p.branch and job.target in p.output.targets), None)
    if job.dump is not None and code is not None:
        compile_program(job, FUSED, program, code)
    return program


def pass_named(name: str) -> Pass:
    found = next((p for p in PASSES if p.name == name), None)
    if found is None:
        raise UsageError(f"there is no pass {name}; the passes are {', '.join(p.name for p in PASSES)}")
    return found


def pass_making(form: Form) -> Pass:
    """The last pass that makes a program of this form."""
    return next(p for p in reversed(PASSES) if p.output is form)


def form_of_file(path: str) -> Form:
    """Which form the file's text has: its ending says it; NESL where there is no other."""
    ending = Path(path).suffix.removeprefix(".")
    return next((form for form in FORMS if form.name == ending and form.parse), TEXT)


def call(path: str, *arguments: Any) -> Any:
    """Import "module:function" of nessie, and call it."""
    module, _, function = path.partition(":")
    return getattr(import_module(f"nessie.{module}"), function)(*arguments)


def show_graphs(graphs: Any) -> str:
    return "".join(call("schedule.graph_text:show", found) for found in graphs)


def check_graphs(graphs: Any) -> None:
    for found in graphs:
        call("schedule.check:check_graph", found)


def parse_source(text: str | Source, places: Places | None = None) -> Source:
    return text if isinstance(text, Source) else Source("text", text)


def show_source(source: Source) -> str:
    return source.text
