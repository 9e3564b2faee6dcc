"""A NESL program as a Python object, whose attributes are its functions, datatypes and variables."""
from __future__ import annotations

import os
import sys
from collections import namedtuple
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from nessie.api.arguments import UNKNOWN, Arguments, Datatypes, is_open
from nessie.api.calls import COMPILING, Calls
from nessie.api.errors import Missing, told
from nessie.api.function import Function
from nessie.api.results import Results
from nessie.base import values
from nessie.base.deep import run_deep
from nessie.base.names import shown_name
from nessie.base.source import NessieError, Source
from nessie.base.types import (
    INT,
    Data,
    Fun,
    Pair,
    Seq,
    Type,
    Var,
    components,
    holds_function,
    match_types,
    substitute,
)
from nessie.files.fit import Misfit, joined
from nessie.frontend import syntax
from nessie.frontend.environment import Entry
from nessie.frontend.types_text import show_scheme
from nessie.loading import program, read_source
from nessie.pipeline import Checking, Job
from nessie.restore import restore
from nessie.session import Session
from nessie.targets import TARGETS, Limits, Target
from nessie.world import World

CHECKS = Checking(share=0.02)       # of what this process compiles


@dataclass(frozen=True)
class Options:
    """How programs run: `threads` of the CPU; `memory` in bytes; `depth` of recursion; `seconds` that a call may take;
    `seed` of random numbers; `unchecked`: leave the program's run-time checks out."""
    target: str = "cpu"
    threads: int | None = None
    memory: int | None = None
    depth: int = Limits.depth
    seconds: float | None = None
    seed: int = 0
    unchecked: bool = False


class Program:
    """What `nessie.load` and `nessie.compile` give: `program.f(x)` calls the program's function f, `program["f"]` is f
    even where a Program has something else of that name. `program.point(1.0, 2.0)` makes a datatype's value, a named
    tuple; `program.v` is the value of a top-level variable. Threads may call at once."""

    def __init__(self, source: Source | None = None, options: Options | None = None) -> None:
        self._options = options or Options()
        check_target(self._options.target)
        world = World(lambda text: sys.stdout.write(text), seed=self._options.seed)
        limits = Limits(self._options.memory, self._options.depth, self._options.seconds)
        target = Target(self._options.target, self._options.threads, limits, world)
        job = Job(target=self._options.target, strict=False, unchecked=self._options.unchecked, checks=CHECKS)
        self._session = Session(target, job, told=lambda text: sys.stderr.write(text))
        self._calls = Calls(self._session, self._options.threads, limits)
        self._classes: dict[str, type] = {}
        self._datatypes = Datatypes(self._session.content, self._general, self._applied)
        self._source = source or Source("program", "")
        if source is not None:
            self._evaluate(source)

    def define(self, text: str, name: str = "program") -> Program:
        """Adds the definitions of a text; those of the same names are replaced."""
        with told():
            self._evaluate(Source(name, text))
        return self

    def _evaluate(self, source: Source) -> None:
        def work() -> None:
            with COMPILING:
                for form in program(source).forms:
                    if self._session.ended:
                        break
                    if not isinstance(form, syntax.Evaluate):
                        self._session.evaluate(form)
                self._session.ended = False
                self._calls.forget()
        run_deep(work)

    # Names --------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        entry = self._session.environment.program.entry(name.lower())
        if entry is None:
            raise self._missing(name)
        if entry.kind == "function":
            return Function(self, name.lower())
        if entry.kind == "constructor":
            return self._class(entry.name)
        return self._variable(entry)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __iter__(self) -> Iterator[str]:
        """The names that the program defines."""
        return iter([name for name in self._session.environment.program.names() if "'" not in name])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._session.environment.program.entry(name.lower()) is not None

    def __repr__(self) -> str:
        return f"<nessie.Program {self._source.name}: {', '.join(self) or 'nothing'}>"

    def _missing(self, name: str) -> Missing:
        near = get_close_matches(name.lower(), list(self), 1)
        if near:
            hint = f"did you mean {near[0]}?"
        elif self._session.environment.builtin(name.lower()) is not None:
            hint = f"{name} is of the library; call it in a function: function f(x) = {name}(x);"
        else:
            hint = f"it has {', '.join(self) or 'none'}"
        return Missing(f"the program defines no {name}", hint=hint)

    def _variable(self, entry: Entry) -> Any:
        type_ = entry.scheme.type
        with told():
            if holds_function(type_):
                raise NessieError(f"{shown_name(entry.name)} is a function's value: it cannot leave the program")
            held = restore(self._session.values[entry.name], type_, self._session.environment)
            return self._results([*leaves(held)]).value(held, type_)

    # Datatypes ----------------------------------------------------------------------------------

    def _class(self, name: str) -> Any:
        """The named tuple of a datatype; its fields have no names in NESL: they are _0, _1, ..."""
        if name not in self._classes:
            count = len(components(self._general(name)))
            made: Any = namedtuple(shown_name(name), ["_"] * count, rename=True)     # type: ignore[misc]
            self._classes[name] = made
            self._datatypes.named[made] = name
        return self._classes[name]

    def _general(self, name: str) -> Type:
        datatype = self._session.environment.datatype(name)
        assert datatype is not None         # types name those that there are
        return datatype.content

    def _applied(self, name: str, type_: Type) -> Data:
        datatype = self._session.environment.datatype(name)
        assert datatype is not None
        found = match_types(datatype.content, type_)
        if found is None:
            takes = f"{shown_name(name)} takes {show_scheme(datatype.content)}"
            raise NessieError(f"{takes}, but gets {show_scheme(type_)}",
                              *[(span, "declared here") for span in datatype.origin[:1]])
        return Data(name, tuple([found.get(v.name, UNKNOWN) for v in datatype.variables]))

    # Calls --------------------------------------------------------------------------------------

    def _call(self, function: str, given: Sequence[Any], target: str | None) -> Any:
        target = check_target(target or self._options.target)
        arguments, flat, types = self._taken(function, given)
        result, type_, held = self._calls.call(function, flat, types, arguments, target)
        shared = [*arguments.shared, *(leaf for value in held for leaf in leaves(value))]
        found = self._results(shared).value(result, type_)
        if arguments.awkward:
            from nessie.api.awkward_arrays import as_awkward
            return as_awkward(found)
        return found

    def _results(self, shared: list[Any]) -> Results:
        return Results(self._session.content, self._class, shared)

    def _taken(self, function: str, given: Sequence[Any]) -> tuple[Arguments, list[Any], list[Type]]:
        """The arguments as flat values, and their types."""
        entry = self._session.environment.lookup(function)
        assert entry is not None
        takes = entry.scheme.type.argument if isinstance(entry.scheme.type, Fun) else None
        if takes is not None and holds_function(takes):
            raise NessieError(f"{function} takes {show_scheme(takes)}: a function cannot come from outside",
                              *[(span, "defined here") for span in entry.origin[:1]],
                              hint=f"write a NESL function that calls {function}")
        if not given:
            raise NessieError(f"{function} takes {show_scheme(takes) if takes else 'nothing'}, here is no argument",
                              *[(span, "defined here") for span in entry.origin[:1]])
        wanted = self._session.parameter_types(function, len(given))
        arguments, flat, types = self._taken_as(given, wanted)
        closed = settled(wanted, types)
        if closed != types:
            arguments, flat, types = self._taken_as(given, closed)
        for number, (type_, want) in enumerate(zip(types, wanted, strict=True)):
            if is_open(type_):
                if want is not None and not is_open(want):
                    types[number] = substitute(type_, {UNKNOWN.name: INT})      # it is wrong, whatever it is of
                    continue
                raise NessieError(f"argument {number + 1} of {function} is empty, and nothing says of what: "
                                  f"{function} takes {show_scheme(takes) if takes else ''}",
                                  hint="numpy.array([], float) is an empty array of floats, nessie.Nested([0], "
                                       "numpy.array([], int)) one of arrays of ints")
        return arguments, flat, types

    def _taken_as(self, given: Sequence[Any], wanted: Sequence[Type | None]) -> \
            tuple[Arguments, list[Any], list[Type]]:
        arguments = Arguments(self._datatypes)
        found = []
        for number, (value, want) in enumerate(zip(given, wanted, strict=True), 1):
            arguments.where = f"argument {number}"
            found.append(arguments.value(value, want))
        return arguments, [value for value, _ in found], [type_ for _, type_ in found]


def settled(wanted: Sequence[Type | None], held: Sequence[Type]) -> list[Type]:
    """The types that the arguments should have: the parameters', their variables filled in from what is given."""
    found: dict[str, Type] = {}
    try:
        for want, have in zip(wanted, held, strict=True):
            if want is not None:
                fill(want, have, found)
    except Misfit:                  # inference says what is wrong
        return list(held)
    by_type = [have if want is None else substitute(want, found) for want, have in zip(wanted, held, strict=True)]
    return [have if is_open(want) else want for want, have in zip(by_type, held, strict=True)]


def fill(wanted: Type, held: Type, found: dict[str, Type]) -> None:
    """Record in `found` what the variables of `wanted` stand for."""
    match wanted, held:
        case _, Var():
            pass
        case Var(name), _:
            found[name] = joined(found.get(name, held), held)
        case Seq(a), Seq(b):
            fill(a, b, found)
        case Pair(a, b), Pair(c, d):
            fill(a, c, found)
            fill(b, d, found)
        case Data(a, items), Data(b, others) if a == b:
            for item, other in zip(items, others, strict=True):
                fill(item, other, found)


def leaves(value: Any) -> Iterator[Any]:
    """The arrays in a flat value."""
    match value:
        case values.Flat(_, column):
            yield from leaves(column)
        case values.Uniform():
            yield from leaves(value.content)
        case values.Nested():
            yield value.offsets
            yield from leaves(value.content)
        case (first, second):
            yield from leaves(first)
            yield from leaves(second)
        case _ if hasattr(value, "__array_interface__") and hasattr(value, "flags"):
            yield value


def check_target(name: str) -> str:
    if name not in TARGETS:
        raise NessieError(f"there is no target {name}; the targets are {', '.join(TARGETS)}")
    return name


def load(path: str | os.PathLike[str], *, target: str = "cpu", threads: int | None = None, memory: int | None = None,
         depth: int = Limits.depth, seconds: float | None = None, seed: int = 0, unchecked: bool = False) -> Program:
    """The program in a file (see Program). `target`: cpu, cuda, cudasim or reference; `threads` of the CPU; `memory` in
    bytes, at most; `depth` of recursion; `seconds` that a call may take; `seed` of random numbers; `unchecked` leaves
    the program's run-time checks out. NessieError, if it cannot be read or is wrong."""
    with told():
        return Program(read_source(os.fspath(path)),
                       Options(target, threads, memory, depth, seconds, seed, unchecked))


def compile(text: str, *, name: str = "program", target: str = "cpu", threads: int | None = None,
            memory: int | None = None, depth: int = Limits.depth, seconds: float | None = None, seed: int = 0,
            unchecked: bool = False) -> Program:
    """The program that a text is, which messages call `name`; otherwise as `load`."""
    with told():
        return Program(Source(name, text), Options(target, threads, memory, depth, seconds, seed, unchecked))

