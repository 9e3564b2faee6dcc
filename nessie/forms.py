"""The forms that a program takes, each with its text, its parser and its validator.

    nesl      source text                               fused       kernels as they are launched
    syntax    trees                                     host        the host's functions as instructions
    typed     trees with types                          loops       plans, and imperative code
    mono      without polymorphism                      llvm        that code for the CPU
    flat      kernels of one combinator each            cuda        that code for GPUs
    graph     who reads whom, and what may fuse         cpu-code    what a CPU runs
    schedule  which combinators share a kernel          gpu-code    what a GPU runs

A form's functions are imported when they are first called.
"""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nessie.base.lazy import lazy
from nessie.base.records import dataclass
from nessie.base.source import IllFormed, NessieError, Source
from nessie.base.text.layout import Doc, Shown, render, render_marked
from nessie.base.text.places import Places

if TYPE_CHECKING:
    from nessie.cudagen.cpu import assemble
    from nessie.cudagen.cpu.assemble import CpuProgram
    from nessie.cudagen.cuda import link
    from nessie.cudagen.cuda.link import GpuProgram
    from nessie.cudagen.host import check as instructions_check
    from nessie.cudagen.host import nodes as instructions
    from nessie.cudagen.host import text as instructions_text
    from nessie.cudagen.loops import check as loops_check
    from nessie.cudagen.loops import text as loops_text
    from nessie.cudagen.loops.module import Module
    from nessie.lambda_cu import check
    from nessie.lambda_cu import nodes as ir
    from nessie.lambda_cu.text import parser, printer
    from nessie.library import library
    from nessie.mono import check as mono_check
    from nessie.mono import nodes as mono
    from nessie.mono import parser as mono_parser
    from nessie.mono import text as mono_text
    from nessie.schedule import check as schedule_check
    from nessie.schedule import text as schedule_text
    from nessie.schedule.graph import text as graph_text
    from nessie.schedule.graph.nodes import Graph
    from nessie.schedule.nodes import Schedule
    from nessie.syntax import check as syntax_check
    from nessie.syntax import nodes as syntax
    from nessie.syntax import text as syntax_text
    from nessie.typing import check as typed_check
    from nessie.typing import nodes as typed
    from nessie.typing import parser as typed_parser
    from nessie.typing import text as typed_text
else:
    assemble = lazy("nessie.cudagen.cpu.assemble")
    link = lazy("nessie.cudagen.cuda.link")
    instructions_check = lazy("nessie.cudagen.host.check")
    instructions_text = lazy("nessie.cudagen.host.text")
    loops_check = lazy("nessie.cudagen.loops.check")
    loops_text = lazy("nessie.cudagen.loops.text")
    check = lazy("nessie.lambda_cu.check")
    parser = lazy("nessie.lambda_cu.text.parser")
    printer = lazy("nessie.lambda_cu.text.printer")
    library = lazy("nessie.library.library")
    mono_check = lazy("nessie.mono.check")
    mono_parser = lazy("nessie.mono.parser")
    mono_text = lazy("nessie.mono.text")
    schedule_check = lazy("nessie.schedule.check")
    graph_text = lazy("nessie.schedule.graph.text")
    schedule_text = lazy("nessie.schedule.text")
    syntax_check = lazy("nessie.syntax.check")
    syntax_text = lazy("nessie.syntax.text")
    typed_check = lazy("nessie.typing.check")
    typed_parser = lazy("nessie.typing.parser")
    typed_text = lazy("nessie.typing.text")

P = TypeVar("P")


@dataclass(frozen=True)
class Form(Generic[P]):
    """`show` gives a program's text, `document` the same with its parts marked (base.text.layout), where there is such;
    `parse` reads the text, and tells the places where the program's parts stand; None: nothing goes on from this form.
    `check` raises IllFormed. `targets`: whose code it is; none: it comes before there is code."""
    name: str
    show: Callable[[P], str]
    parse: Callable[[Source, Places], P] | None = None
    check: Callable[[P], None] | None = None
    document: Callable[[P], Doc] | None = None
    targets: tuple[str, ...] = ()


def documented(name: str, document: Callable[[P], Doc], parse: Callable[[Source, Places], P],
               check: Callable[[P], None], targets: tuple[str, ...] = ()) -> Form[P]:
    """A form whose text is a document's."""
    return Form(name, lambda program: render(document(program)), parse, check, document, targets)


def parse_typed(source: Source, places: Places) -> typed.Program:
    """The typed program, which may use the library."""
    return typed_parser.parse(source, library.library().global_scheme, places)


def check_typed(program: typed.Program) -> None:
    typed_check.check(program, library.library())


WITHOUT_STACK = ("cuda", "cudasim")      # targets whose threads cannot recur: their scalar functions only loop

TEXT: Form[Source] = Form("nesl", lambda source: source.text, lambda source, _: source)
SYNTAX: Form[syntax.Program] = Form("syntax", syntax_text.show, syntax_text.parse, syntax_check.check)
TYPED: Form[typed.Program] = documented("typed", typed_text.document, parse_typed, check_typed)
MONO: Form[mono.Program] = documented("mono", mono_text.document, mono_parser.parse, mono_check.check)
FLAT: Form[ir.Program] = documented("flat", printer.document, parser.parse, check.check)
GRAPH: Form[tuple[Graph, ...]] = Form("graph", graph_text.show_all, graph_text.parse_all, schedule_check.check_graphs)
SCHEDULE: Form[Schedule] = documented("schedule", schedule_text.document, schedule_text.parse,
                                      schedule_check.check_alone)
FUSED: Form[ir.Program] = documented("fused", printer.document, parser.parse, check.check)
HOST: Form[instructions.Program] = documented("host", instructions_text.document, instructions_text.parse,
                                              instructions_check.check, ("cpu", *WITHOUT_STACK))
LOOPS: Form[Module] = documented("loops", loops_text.document, loops_text.parse, loops_check.check,
                                 ("cpu", *WITHOUT_STACK))
LLVM: Form[str] = Form("llvm", lambda text: text, targets=("cpu",))
CUDA: Form[str] = Form("cuda", lambda text: text, targets=WITHOUT_STACK)
CPU_CODE: Form[CpuProgram] = Form("cpu-code", assemble.show, targets=("cpu",))
GPU_CODE: Form[GpuProgram] = Form("gpu-code", link.show, targets=WITHOUT_STACK)
FORMS = (TEXT, SYNTAX, TYPED, MONO, FLAT, GRAPH, SCHEDULE, FUSED, HOST, LOOPS, LLVM, CUDA, CPU_CODE, GPU_CODE)


def show_marked(form: Form[P], program: P) -> tuple[str, list[Shown]]:
    """The text of a form that has documents, and which parts of the program its parts show."""
    assert form.document is not None
    return render_marked(form.document(program))


def read(form: Form[P], source: Source) -> P:
    """The well-formed program that the text of this form shows. NessieError where it shows none."""
    assert form.parse is not None
    places = Places(source)
    program = form.parse(source, places)
    try:
        if form.check is not None:
            form.check(program)
    except IllFormed as broken:
        span = places.of_error(broken)
        place = [(span, "")] if span else []
        raise NessieError(f"{source.name} is no {form.name} program: {broken}", *place) from None
    return program


def form_of_file(path: str) -> Form[Any]:
    """The form of the file's text, by the name's ending; NESL where there is no other."""
    ending = Path(path).suffix.removeprefix(".")
    return next((form for form in FORMS if form.name == ending and form.parse), TEXT)
