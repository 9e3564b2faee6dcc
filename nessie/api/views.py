"""Views of what the compiler makes of a function: texts for the terminal, pictures and pages for notebooks. They show
what the commands explain, graph, compile and inspect of the command line show."""
from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from nessie import driver, forms, pipeline
from nessie.api import lengths
from nessie.api.calls import COMPILING
from nessie.api.errors import as_nessie_errors
from nessie.api.held import Held, held
from nessie.api.options import check_target
from nessie.base.source import NessieError
from nessie.base.system.deep import run_deep
from nessie.base.system.writing import write
from nessie.inspect.views import VIEWS, Call, Subject, explanation_of, graphs_of, run_all, stages_of
from nessie.lambda_cu.layout import layout_of_value
from nessie.mono.copies.copies import monomorphic
from nessie.running.target_names import DASK
from nessie.session.calling import prepare_call
from nessie.syntax import nodes as syntax
from nessie.typing.signatures import concrete_type

if TYPE_CHECKING:
    from nessie.api.program import Program
    from nessie.api.tuning import Tuner, Versions
    from nessie.pictures.drawing import Window

T = TypeVar("T")


@dataclass(frozen=True)
class Explanation:
    """An explanation of the schedules. `text` is the output of `nessie explain`; `conversions` list the arguments that
    had to be converted; `data` is the explanation for JSON."""
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
    """The dependence graph: as a picture (`svg`), for GraphViz (`dot`) and as JSON (`json`)."""
    svg: str
    dot: str
    json: str

    def __repr__(self) -> str:
        return self.dot

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Picture:
    """What a program has drawn in a window of so many pixels, as a picture (`svg`)."""
    title: str
    width: int
    height: int
    svg: str

    def save(self, path: str) -> None:
        """Write the picture to a file."""
        with as_nessie_errors():
            write(path, self.svg)

    def __repr__(self) -> str:
        return f"<nessie.Picture {self.title!r}: {self.width} x {self.height} pixels>"

    def _repr_svg_(self) -> str:
        return self.svg


def pictures(windows: Sequence[Window]) -> list[Picture]:
    """The pictures of windows."""
    if not windows:
        return []
    from nessie.pictures.svg import svg  # few programs draw
    return [Picture(window.title, *window.size, svg(window)) for window in windows]


@dataclass(frozen=True)
class Kernels:
    """The kernels of a function. `text`: the fused program; `names`: those of its kernels."""
    text: str
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return preformatted(self.text)


class Stages(Mapping[str, str]):
    """The texts of the program's forms by name: mono, flat, schedule, fused, host, loops, then llvm and cpu-code, or
    cuda and gpu-code. `page` is an HTML page that shows them side by side; `save` writes it to a file."""

    def __init__(self, texts: dict[str, str], page: str) -> None:
        self.texts, self.page = texts, page

    def __getitem__(self, name: str) -> str:
        return self.texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def save(self, path: str) -> None:
        with as_nessie_errors():
            write(path, self.page)

    def __repr__(self) -> str:
        return "\n".join(f"== {name}\n{text.rstrip()}\n" for name, text in self.texts.items())

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.page)}" width="100%" height="700"></iframe>'


def preformatted(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


# Making them ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """The function of a program that a view is of: at the types of the `given` arguments, at the `written` type, or at
    its own type. `target` None means the program's."""
    program: Program
    function: str
    given: Sequence[Any]
    written: str | None
    target: str | None
    type: syntax.TypeExp | None = None          # of the argument, as the function has been asked for at it

    @property
    def on(self) -> str:
        """The target that is asked for, else that of the program."""
        return check_target(self.program._options.target if self.target is None else self.target)

    def job(self) -> pipeline.Job:
        session = self.program._session
        return replace(session.job, target=self.on, strict=True, tuning=session.target.tuning, entry=self.function)


def held_by(asked: Asked) -> Held:
    program = asked.program
    return held(program._session, asked.function, asked.given,
                lambda: program._taken(asked.function, asked.given, asked=asked.type))


def mono_of(asked: Asked) -> tuple[pipeline.Job, Any]:
    """The mono program, and the job that compiles it, for the layouts of the arguments if there are any."""
    session, job = asked.program._session, asked.job()
    if asked.given:
        found = held_by(asked)
        prepared = prepare_call(found.session, asked.function, found.names)
        entry = next(f for f in prepared.program.functions if f.name == prepared.program.entry)
        layouts = [layout_of_value(p.type, v) for p, v in zip(entry.parameters, prepared.arguments, strict=True)]
        return replace(job, layouts=tuple(layouts)), prepared.program
    entry_ = session.environment.lookup(asked.function)
    assert entry_ is not None           # a Function has been found
    written = asked.type if asked.written is None else lengths.parsed(session, asked.written)
    if written is None and entry_.scheme.variables:
        raise NessieError(f"{asked.program[asked.function].signature} has kernels at given types only",
                          hint='give it arguments, or their type: type="[int]", type="([int], float)"')
    type_ = None if written is None else concrete_type(written, session.environment)
    declared = session.declared(asked.function)
    job = replace(job, lengths=written or (declared and declared.argument))
    return job, monomorphic(session.environment, entry_.name, type_).program


def subject_of(asked: Asked, everything: bool = False) -> Subject:
    job, program = mono_of(asked)
    return Subject(job, forms.MONO, program, asked.function, asked.program._source, everything)


def compiling(work: Callable[[], T]) -> T:
    """The result of work(), while no other thread compiles."""
    def alone() -> T:
        with COMPILING:
            return work()
    return run_deep(alone)


def explain(asked: Asked, everything: bool) -> Explanation:
    if asked.on == DASK:
        return explain_cluster(asked)

    def work() -> Explanation:
        from nessie.schedule.explain import json as explain_json
        from nessie.schedule.explain import text as explain_text
        arguments = held_by(asked) if asked.given else None
        if arguments is not None:
            call = Call(arguments.session, arguments.names)
            subject = Subject(asked.job(), forms.MONO, None, asked.function, everything=everything, call=call)
        else:
            subject = subject_of(asked, everything)
        found = explanation_of(subject)
        return Explanation(explain_text.as_text(asked.function, found, everything),
                           tuple(arguments.notes) if arguments is not None else (),
                           explain_json.as_json(asked.function, found))
    return compiling(work)


def explain_cluster(asked: Asked) -> Explanation:
    """Of the target dask, how the arrays of a call lie on workers."""
    if not asked.given:
        raise NessieError("of the target dask, a call is explained, and there are no arguments",
                          hint=f"{asked.function}.explain(...) with the arguments of a call; "
                               'target="cpu" explains the kernels by types, too')

    from nessie.inspect.on_cluster import explain_on_cluster

    def work() -> Explanation:
        call = held_by(asked)
        found = explain_on_cluster(call.session, asked.program._options.workers, asked.function, call.names,
                                   [f"argument {number}" for number, _ in enumerate(call.names, 1)])
        return Explanation(found.text(), tuple(call.notes), found.data())
    return compiling(work)


def graph(asked: Asked) -> Graph:
    def work() -> Graph:
        subject = subject_of(asked)
        drawings = replace(subject, form=forms.GRAPH, program=graphs_of(subject))
        svg, dot, data = [str(VIEWS["graph"].show(drawings, kind)) for kind in ("svg", "dot", "json")]
        return Graph(svg, dot, data)
    return compiling(work)


def kernels(asked: Asked) -> Kernels:
    def work() -> Kernels:
        job, program = mono_of(asked)
        fused = driver.compile_program(job, forms.MONO, program, pipeline.pass_named("fuse"))
        return Kernels(forms.FUSED.show(fused), tuple(k.name for k in fused.kernels))
    return compiling(work)


def versions(asked: Asked) -> Versions:
    from nessie.api import tuning  # it takes a third of the time of a start
    arguments = held_by(asked) if asked.given else None
    subject = subject_of(asked)
    if arguments is None:
        return tuning.versions(subject.job, subject.program, asked.function, None)
    call = arguments.session.target, arguments.prepared(asked.function)
    return tuning.versions(subject.job, subject.program, asked.function, call)


def tuner(asked: Asked, calls: Any) -> Tuner:
    from nessie.api import tuning
    program = asked.program
    tuning.require_calls(asked.function, calls)
    target = program._calls.target(asked.on)
    return tuning.Tuner(program._calls, asked.function, target, program._source.name,
                        lambda given: held_by(replace(asked, given=given)))


def stages(asked: Asked) -> Stages:
    def work() -> Stages:
        from nessie.inspect.collect import Collection
        from nessie.inspect.page import page
        subject = subject_of(asked)
        job = replace(subject.job, entry=asked.function,
                      target="cpu" if subject.job.target == "reference" else subject.job.target)
        subject = replace(subject, job=job)
        ran = run_all(subject)
        made = stages_of(subject, ran)
        data = Collection(job, asked.program._source, ran).data()
        return Stages({form.name: form.show(made[form]) for form in made}, page(data))
    return compiling(work)
