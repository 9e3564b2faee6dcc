"""What the compiler makes of a function, as objects: texts for the terminal, pictures and pages for notebooks. They are
what the commands explain, graph, compile and inspect of the command line show."""
from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nessie import pipeline
from nessie.api.calls import COMPILING
from nessie.base.deep import run_deep
from nessie.base.source import NessieError, Source
from nessie.calling import prepare_call
from nessie.frontend import syntax
from nessie.frontend.monomorphise import monomorphise
from nessie.frontend.parser import parse_type
from nessie.frontend.signatures import to_type
from nessie.lambda_cu.layout import layout_of_value
from nessie.session import Session

if TYPE_CHECKING:
    from nessie.api.program import Program


@dataclass(frozen=True)
class Explanation:
    """`text` is what `nessie explain` prints; `conversions` what became of arguments that could not be used as they
    are; `data` the same as JSON has it."""
    text: str
    conversions: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return "\n".join([self.text.rstrip("\n"), *(["", "converted:"] if self.conversions else []),
                          *(f"  {line}" for line in self.conversions)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return preformatted(str(self))


@dataclass(frozen=True)
class Graph:
    """The dependence graph, as a picture (`svg`), for GraphViz (`dot`) and as JSON (`json`)."""
    svg: str
    dot: str
    json: str

    def __repr__(self) -> str:
        return self.dot

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Kernels:
    """`text`: the fused program; `names` of its kernels."""
    text: str
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return preformatted(self.text)


class Stages(Mapping[str, str]):
    """The texts of the program's forms by name: mono, flat, schedule, fused, loops, and llvm or cuda. `page` shows all
    of them side by side, in a browser; `save` writes it."""

    def __init__(self, texts: dict[str, str], page: str) -> None:
        self.texts, self.page = texts, page

    def __getitem__(self, name: str) -> str:
        return self.texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def save(self, path: str) -> None:
        Path(path).write_text(self.page, encoding="utf-8")

    def __repr__(self) -> str:
        return "\n".join(f"== {name}\n{text.rstrip()}\n" for name, text in self.texts.items())

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.page)}" width="100%" height="700"></iframe>'


def preformatted(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


# Making them ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A mono program, and how it is to be compiled."""
    job: pipeline.Job
    program: Any


def asked(program: Program, function: str, given: Sequence[Any], written: str | None, target: str | None) -> Asked:
    """The function at the types of the arguments, as they lie in memory, or at the type written, or at its own."""
    session = private(program)
    job = job_for(program, target)
    if given:
        prepared = prepare_call(session, function, held(program, session, function, given)[0])
        entry = next(f for f in prepared.program.functions if f.name == prepared.program.entry)
        layouts = [layout_of_value(p.type, v) for p, v in zip(entry.parameters, prepared.arguments, strict=True)]
        return Asked(replace(job, layouts=tuple(layouts)), prepared.program)
    entry_ = session.environment.lookup(function)
    assert entry_ is not None           # a Function has been found
    if written is None and entry_.scheme.variables:
        raise NessieError(f"{program[function].signature} has kernels at given types only",
                          hint='give it arguments, or their type: type="[int]", type="([int], float)"')
    type_ = None if written is None else to_type(parse_type(Source("type", written)), {}, session.environment, None)
    return Asked(job, monomorphise(session.environment, entry_.name, type_).program)


def private(program: Program) -> Session:
    """A copy of the program's session, to name arguments in."""
    return replace(program._session, values=dict(program._session.values))


def job_for(program: Program, target: str | None) -> pipeline.Job:
    return replace(program._session.job, target=target or program._options.target, strict=True)


def held(program: Program, session: Session, function: str, given: Sequence[Any]) -> \
        tuple[list[syntax.Exp], list[str]]:
    """Names for the arguments, and what was converted."""
    arguments, values, types = program._taken(function, given)
    if arguments.device:
        raise NessieError("arguments on a GPU are not explained",
                          hint='give their type: type="[float]", type="([int], float)"')
    names: list[syntax.Exp] = [session.hold(f"argument_{number}", value, type_)
                               for number, (value, type_) in enumerate(zip(values, types, strict=True), 1)]
    return names, arguments.notes


def explain(program: Program, function: str, given: Sequence[Any], written: str | None, target: str | None,
            everything: bool) -> Explanation:
    from nessie.explaining import explain_call, explain_program
    notes: list[str] = []

    def work() -> Any:
        with COMPILING:
            if not given:
                found = asked(program, function, given, written, target)
                return explain_program(found.job, pipeline.MONO, found.program, everything)
            session = private(program)
            names, converted = held(program, session, function, given)
            notes.extend(converted)
            return explain_call(session, job_for(program, target), function, names, everything)
    found = run_deep(work)
    return Explanation(pipeline.call("schedule.explain_text:as_text", function, found, everything), tuple(notes),
                       pipeline.call("schedule.explain_json:as_json", function, found))


def graph(program: Program, function: str, given: Sequence[Any], written: str | None, target: str | None) -> Graph:
    def work() -> Graph:
        with COMPILING:
            found = asked(program, function, given, written, target)
            graphs = pipeline.compile_program(found.job, pipeline.MONO, found.program, pipeline.pass_named("graph"))
            drawn = [pipeline.call("schedule.view:draw", graphs, kind, found.job.fuse, pipeline.profile(found.job))
                     for kind in ("svg", "dot", "json")]
            return Graph(*drawn)
    return run_deep(work)


def kernels(program: Program, function: str, given: Sequence[Any], written: str | None, target: str | None) -> Kernels:
    def work() -> Kernels:
        with COMPILING:
            found = asked(program, function, given, written, target)
            fused = pipeline.compile_program(found.job, pipeline.MONO, found.program, pipeline.pass_named("fuse"))
            return Kernels(pipeline.show(pipeline.FUSED, fused), tuple(k.name for k in fused.kernels))
    return run_deep(work)


def stages(program: Program, function: str, given: Sequence[Any], written: str | None, target: str | None) -> Stages:
    from nessie.inspect.collect import collect
    from nessie.inspect.page import page

    def work() -> Stages:
        with COMPILING:
            found = asked(program, function, given, written, target)
            job = replace(found.job, entry=function)
            data = collect(job, pipeline.MONO, program._source, found.program)
            last = pipeline.pass_named("llvm" if job.target in ("cpu", "reference") else "cuda")
            job = replace(job, target="cpu" if job.target == "reference" else job.target)
            passes = pipeline.passes_between(pipeline.MONO, last)
            texts = {"mono": pipeline.show(pipeline.MONO, found.program)}
            texts |= {step.ran.output.name: pipeline.show(step.ran.output, step.program)
                      for step in pipeline.steps(job, pipeline.MONO, found.program, passes)}
            return Stages(texts, page(data))
    return run_deep(work)
