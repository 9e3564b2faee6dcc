"""The ways to look at what the compiler makes of a function: one table for the command line, the prompt and Python.

    view = VIEWS["graph"]
    view.show(Subject(job, forms.MONO, program, "dotp"), "svg")         the picture
"""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nessie import driver, forms, pipeline
from nessie.base.records import dataclass
from nessie.base.source import Source

if TYPE_CHECKING:
    from nessie.schedule.explain.explain import Explanation
    from nessie.session.session import Session
    from nessie.syntax import nodes as syntax


@dataclass(frozen=True)
class Call:
    """A function of the session on arguments, which stand in its variables."""
    session: Session
    arguments: Sequence[syntax.Exp]


@dataclass(frozen=True)
class Subject:
    """A program of a form, and how it is compiled. `name` is what its user calls the function, `source` its text;
    `everything` asks for all that there is to tell; a `call` is measured."""
    job: pipeline.Job
    form: forms.Form[Any]
    program: Any
    name: str = ""
    source: Source = Source("", "")
    everything: bool = False
    call: Call | None = None


@dataclass(frozen=True)
class View:
    """`takes` is what stands behind its name at the prompt; `endings` are those of files that it is written to, with
    their formats. The format "text" is what the prompt shows."""
    name: str
    takes: str
    does: str
    endings: dict[str, str]
    show: Callable[[Subject, str], str | bytes]


def graphs_of(subject: Subject) -> Any:
    """The dependence graphs of the function, or those that are given."""
    if subject.form is not forms.GRAPH:
        return driver.compile_program(subject.job, subject.form, subject.program, pipeline.pass_named("graph"))
    from nessie.schedule.wishes.pairs import check_legal
    from nessie.schedule.wishes.wishes import Wishes
    for region in subject.program:
        check_legal(region, pipeline.profile(subject.job), Wishes())
    return subject.program


def explanation_of(subject: Subject) -> Explanation:
    """The explanation of the fusion; measured where the subject is a call."""
    from nessie.inspect.explaining import explain_call, explain_graphs, explain_program
    if subject.call is not None:
        return explain_call(subject.call.session, subject.job, subject.name, subject.call.arguments,
                            subject.everything)
    if subject.form is forms.GRAPH:
        return explain_graphs(graphs_of(subject), subject.job, subject.everything)
    return explain_program(subject.job, subject.form, subject.program, subject.everything)


def run_all(subject: Subject) -> dict[str, driver.PassResult]:
    """What each pass makes of the program, by the pass's name."""
    return driver.run_through(subject.job, subject.form, subject.program, pipeline.stages(subject.job)[-1])


def stages_of(subject: Subject, ran: Mapping[str, driver.PassResult]) -> dict[forms.Form[Any], Any]:
    """Each form that the program takes, as the last pass that makes it has left it."""
    return {subject.form: subject.program} | driver.made(ran.values())


def graph(subject: Subject, kind: str) -> str | bytes:
    from nessie.inspect.pictures import picture
    if kind == "text":
        return forms.GRAPH.show(graphs_of(subject))
    return picture(subject.job, graphs_of(subject), kind)


def explain(subject: Subject, kind: str) -> str:
    from nessie.schedule.explain import json as explain_json
    from nessie.schedule.explain import text as explain_text
    found = explanation_of(subject)
    name = subject.name or found.function
    if kind == "json":
        return json.dumps(explain_json.as_json(name, found))
    return explain_text.as_text(name, found, subject.everything)


def inspect(subject: Subject, kind: str) -> str:
    from nessie.inspect.collect import collect
    from nessie.inspect.page import page
    return page(collect(subject.job, subject.form, subject.source, subject.program))


def stages(subject: Subject, kind: str) -> str:
    made = stages_of(subject, run_all(subject))
    return "\n".join(f"% {form.name} %\n{form.show(program).strip()}\n" for form, program in made.items())


def kernels(subject: Subject, kind: str) -> str:
    fused = driver.compile_program(subject.job, subject.form, subject.program, pipeline.pass_named("fuse"))
    return forms.FUSED.show(fused)


NAME, FILE = "NAME [TYPE]", ' ["FILE"]'
VIEWS: dict[str, View] = {view.name: view for view in (
    View("stages", NAME, "every form that the compiler makes of a function", {}, stages),
    View("kernels", NAME, "the kernels of a function, as they run", {}, kernels),
    View("graph", NAME + FILE, "the dependence graph of a function; drawn into a file: .dot, .svg, .json, .png",
         {".dot": "dot", ".gv": "dot", ".svg": "svg", ".json": "json", ".png": "png"}, graph),
    View("explain", NAME + " [--all]", "what of a function was fused and what was not, why, and at what cost",
         {".json": "json"}, explain),
    View("inspect", NAME + FILE, "a page, for a browser, of all stages of a function, from its source to its code",
         {".html": "html", ".htm": "html"}, inspect),
)}
