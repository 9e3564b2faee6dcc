"""Answers a live page's questions about a program, which is text: what the compiler makes of it, what a call gives.

    live = Live(10.0, 512 << 20, 2)
    live.answer({"do": "look", "program": "function add(x) = x + 1;", "stages": ["fused"]})["stages"]
    live.answer({"do": "run", "program": "function add(x) = x + 1;", "data": "2"})["value"]           "3"

A question has these parts: the `program`; the `entry`, a function of it, by default the first that a form of it calls,
else the last; `data`, the arguments as they stand in a call, by default those of that call; `machine`, for which it is
compiled; `sizes` to expect; wishes, `cut` and `fuse`, pairs of nodes; and, to look, the `stages` that are wanted and
whether `details` are. The program has no files: what needs one is refused.
"""
from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

from nessie import forms, pipeline
from nessie.base.names import stem
from nessie.base.records import dataclass
from nessie.base.source import InternalError, NessieError, Source, as_error
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep
from nessie.base.system.limits import COMMAND_LINE
from nessie.base.text.types_text import show_scheme
from nessie.base.types import Fun, Type, free_variables, show_type
from nessie.base.widths import FULL, Widths
from nessie.driver import run_through
from nessie.inspect.collect import TITLES, Collection
from nessie.library.library import library
from nessie.pictures.files import as_data
from nessie.pragmas import has_pragmas
from nessie.running.targets import Limits, Target
from nessie.running.text_streams import NONE, Status, Streams, failed
from nessie.running.world import World
from nessie.schedule.cost import profiles
from nessie.schedule.wishes.sizes import sizes_of
from nessie.schedule.wishes.wishes import CUT, FUSE, Wish
from nessie.serve.moved import Places, moved, relocated
from nessie.session.calling import tuple_of
from nessie.session.checking import check
from nessie.session.session import Session
from nessie.syntax import nodes as syntax
from nessie.syntax import text as syntax_text
from nessie.syntax.parser import parse_expression, parse_forms, parse_type
from nessie.typing import infer
from nessie.typing import nodes as typed
from nessie.typing.advice.messages import no_function
from nessie.typing.environment import Environment, pattern_type

PROGRAM, DATA = "program", "data"               # the sources, by their names
TARGETS = {"cpu": "cpu", "h200": "cuda"}        # what each machine runs
PRINTED = 1 << 16               # characters of output that are kept
MISSING = "Write its arguments, or a call of it at the end of the program"
CHECKS = 0.0                    # the share of compilations that are checked: it would take an edit's time


class Mistakes(Exception):
    """What is wrong with the program: all of it."""

    def __init__(self, errors: list[NessieError | InternalError]) -> None:
        super().__init__(errors)
        self.errors = errors


class NoFiles(Streams):
    """Streams that are no files."""

    def open_file(self, path: str, mode: int, poll: Callable[[int], None] = lambda size: None) -> tuple[int, Status]:
        return NONE, failed(PermissionError(13, "a program on this page has no files"))


class Apart(World):
    """A world without files, variables, input and other programs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.streams = NoFiles(self.input)

    def perform(self, name: str, argument: Any, takes: Any) -> Any:
        if name == "get_environment_variable":
            raise NessieError("a program on this page sees no variables of the system")
        return super().perform(name, argument, takes)

    def need_permission(self) -> None:
        raise NessieError("a program on this page runs no other programs")


@dataclass(frozen=True)
class Read:
    """A program whose forms fit: its functions with their types; the entry among them, and the data for it."""
    source: Source
    forms: tuple[syntax.TopLevel, ...]
    functions: dict[str, str]
    entry: str
    data: tuple[syntax.Exp, ...]
    written: str                    # the data, as text
    type: str                       # of the data; empty if there is none


@dataclass(frozen=True)
class MadeFrom:
    """What stages are made from: the text through the last definition, as a pragma may mean names before it; the
    function, the type of its data, and what else is asked for."""
    text: str
    about: dict[str, Any]


@dataclass(frozen=True)
class Kept:
    """A program's stages, and all that they are made from. `places`: where its words stand, if the stages are those of
    another program, which differs in blanks and comments."""
    known: Read
    collection: Collection
    made_from: MadeFrom
    places: Places | None = None


class Live:
    """What answers. It keeps the last program's stages: a page asks for some of them first, and edits of calls below
    the definitions leave them as they are, as do those of blanks and comments until details are asked for."""

    def __init__(self, seconds: float, memory: int, threads: int, widths: Widths = FULL) -> None:
        self.seconds, self.memory, self.threads, self.widths = seconds, memory, threads, widths
        self.asked: dict[str, Any] = {}
        self.kept: Kept | None = None
        self.number = 0

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The answer: what was asked for, or the errors, each with its places in the program."""
        work = self.look if asked["do"] == "look" else self.run
        try:
            return run_deep(lambda: work(asked), Deadline(self.seconds, COMMAND_LINE.seconds))
        except Mistakes as mistakes:
            return {"errors": [error_data(error) for error in mistakes.errors]}
        except Exception as error:
            return {"errors": [error_data(as_error(error))]}

    def look(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The stages that are wanted, as nessie.inspect.collect has them. `collected` numbers the collection: with
        another number, expressions and nodes have other numbers."""
        about = {name: asked.get(name) for name in asked if name not in ("do", "stages", "details")}
        details = bool(asked.get("details"))
        if self.kept is None or about != self.asked or (details and self.kept.places):
            self.asked = {}
            self.kept = self.stages(read(asked, self.widths), asked, details)
            self.asked = about
            self.number += 1            # workers count for themselves
        kept, wanted = self.kept, set(asked.get("stages") or ()) & set(TITLES)
        data = kept.collection.data(wanted, details)
        if kept.places:
            data = relocated(data, kept.known.source.text, kept.places)
        return {"collected": f"{os.getpid()}.{self.number}", "detailed": details,
                **facts(kept.known, kept.collection), **data}

    def stages(self, found: Read, asked: dict[str, Any], details: bool) -> Kept:
        """The stages of the program; those that are kept if they are made from the same, whatever else is in the text.
        Without `details`, places in it that they tell may be those of a text that has the same words."""
        kept, made_from = self.kept, sources_of(found, asked)
        if kept is not None and made_from == kept.made_from:
            kept.collection.sources.text = found.source.text
            return Kept(found, kept.collection, made_from)
        if kept is not None and not details and not has_pragmas(found.source) \
                and made_from.about == kept.made_from.about \
                and (places := moved(kept.made_from.text, made_from.text)):
            return Kept(found, kept.collection, kept.made_from, places)
        self.kept = kept = None         # before the next ones take their memory
        return Kept(found, collected(found, asked, self.widths), made_from)

    def run(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The value of the entry on the data; or, without an entry, of each form."""
        printed: list[str] = []
        found = read(asked, self.widths)
        if not found.data:
            return {"nothing": f"{found.entry} takes {found.functions[found.entry].partition(' -> ')[0]}. {MISSING}."}
        target = Target("cpu", self.threads, Limits(self.memory, None, self.seconds, COMMAND_LINE),
                        Apart(printed.append, input=io.StringIO("")))
        job = pipeline.Job(strict=False, fuse=asked.get("mode") or "ilp", widths=self.widths)
        session = Session(target, job, listener=lambda text: None)
        for form in found.forms:
            if not isinstance(form, syntax.Evaluate):
                session.evaluate(form)
        began = perf_counter()
        value, type_ = session.call(found.entry, list(found.data))
        seconds = perf_counter() - began
        outcome = session.outcome("it", value, type_)
        return {**as_data(target.world.drawn()), "value": outcome.value, "type": outcome.type,
                "printed": "".join(printed)[:PRINTED], "seconds": seconds, "ran": target.stats.seconds,
                "launches": target.stats.launches, "entry": found.entry, "data": found.written}


# Reading ------------------------------------------------------------------------------------------


def without_commands(source: Source) -> Iterator[syntax.TopLevel | NessieError]:
    """Yield the forms, and for each command an error."""
    for form in parse_forms(source):
        yield NessieError(f"{form.word} is a command, which this page has not",
                          *[(span, "") for span in (form.span,) if span]) if isinstance(form, syntax.Command) else form


def read(asked: dict[str, Any], widths: Widths = FULL) -> Read:
    """The program of a question. Raises Mistakes with all that is wrong in it."""
    source = Source(PROGRAM, asked["program"])
    checked = check(source, library(widths), written=without_commands(source))
    environment, found = checked.environment, list(dict.fromkeys(good.form for good in checked.good))
    if checked.errors:
        raise Mistakes(list(checked.errors))
    types = {form.name: known.scheme.type for form in found if isinstance(form, syntax.FunctionDef)
             and (known := environment.lookup(form.name)) is not None}
    functions = {name: show_scheme(type_) for name, type_ in types.items()}
    called = [name for name, _ in calls(found) if name in functions]
    entry = (asked.get("entry") or next(iter(called or [*functions][::-1]), "")).lower()
    if entry not in functions:
        if functions:
            raise no_function(entry, list(functions), [])
        raise NessieError("the program has no function yet: function double(x) = 2 * x;")
    data, written = data_of(asked.get(DATA) or "", entry, found)
    type_ = show_type(type_of(tuple_of(data), environment), False) if data else ""
    own = types[entry]
    if not data and isinstance(own, Fun) and any(True for _ in free_variables(own.argument)):
        raise NessieError(f"{entry} takes {show_scheme(own.argument)}: of which type is what it gets here?",
                          hint=MISSING)
    return Read(source, tuple(found), functions, entry, data, written, type_)


def type_of(exp: syntax.Exp, environment: Environment) -> Type:
    (made,) = infer.infer(syntax.Program((syntax.Evaluate(exp, span=exp.span),)), environment)[0].definitions
    assert isinstance(made, typed.Variable)         # an expression is one
    return pattern_type(made.pattern)


def data_of(text: str, entry: str, written: Iterable[syntax.TopLevel]) -> tuple[tuple[syntax.Exp, ...], str]:
    """The arguments for the entry: those that are given, else those of the program's first call of it."""
    if text.strip():
        return tuple(taken_apart(parse_expression(Source(DATA, text)))), text
    arguments = next((tuple(taken_apart(argument)) for name, argument in calls(written) if name == entry), ())
    return arguments, ", ".join(syntax_text.show_expression(exp) for exp in arguments)


def calls(written: Iterable[syntax.TopLevel]) -> Iterator[tuple[str, syntax.Exp]]:
    """Yield the functions that forms of the program call, with the argument."""
    for form in written:
        match form:
            case syntax.Evaluate(syntax.Apply(syntax.Name(name), argument)):
                yield name, argument


def taken_apart(exp: syntax.Exp) -> Iterable[syntax.Exp]:
    while isinstance(exp, syntax.Pair):
        yield exp.first
        exp = exp.second
    yield exp


# Looking ------------------------------------------------------------------------------------------


def sources_of(found: Read, asked: dict[str, Any]) -> MadeFrom:
    """All that stages are made from. Calls below the last definition are not among it."""
    text = found.source.text
    ends = [form.span.end for form in found.forms if not isinstance(form, syntax.Evaluate) and form.span]
    read = text if has_pragmas(found.source) else text[:max(ends, default=0)]
    about = {name: asked.get(name) for name in ("machine", "mode", "sizes", "cut", "fuse")}
    return MadeFrom(read, {"entry": found.entry, "type": found.type, **about})


def collected(found: Read, asked: dict[str, Any], widths: Widths = FULL) -> Collection:
    machine = asked.get("machine") or "cpu"
    if machine not in profiles.SHIPPED:
        raise NessieError(f"there is no machine {machine}", hint=f"there are {' and '.join(profiles.SHIPPED)}")
    wishes = [Wish(kind, *pair) for kind, name in ((CUT, "cut"), (FUSE, "fuse")) for pair in asked.get(name) or ()]
    type_ = parse_type(Source("the type of the data", found.type)) if found.type else None
    job = pipeline.Job(entry=found.entry, argument=type_, fuse=asked.get("mode") or "ilp", target=TARGETS[machine],
                       machine=profiles.named(machine), sizes=asked.get("sizes") or {}, wishes=tuple(wishes),
                       widths=widths, checks=pipeline.Checking(share=CHECKS))
    program = syntax.Program(found.forms)
    return Collection(job, found.source, run_through(job, forms.SYNTAX, program, pipeline.pass_named("fuse")))


def facts(found: Read, collection: Collection) -> dict[str, Any]:
    """What there is to choose from, and what was chosen where nothing was said."""
    entry = next(f for f in collection.flat.functions if f.name == collection.flat.entry.function)
    return {"functions": found.functions, DATA: found.written, "type": found.type, "errors": [],
            "names": list(dict.fromkeys(map(stem, sizes_of(entry))))}


def error_data(error: NessieError | InternalError) -> dict[str, Any]:
    """The error with its places in the program, in characters; and as the text that a terminal shows."""
    if isinstance(error, InternalError):
        return {"message": f"internal error: {error}", "hint": "", "text": f"internal error: {error}", "places": []}
    return {"message": error.message, "hint": error.hint, "text": error.told(),
            "places": [[span.source.name, span.start, span.end, label] for span, label in error.places
                       if span.source.name in (PROGRAM, DATA)]}
