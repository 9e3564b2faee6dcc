"""Goes through a function's text as the interpreter goes through its run (nessie.interpreter), with what is known of
values in their place, and adds up what it costs at most.

    bounds(environment, function)           the work and depth of a call, as formulas of its arguments' sizes

Of a conditional the dearer branch counts, of an apply-to-each its body for an element of which all is true that is true
of any, as often as there are elements. Recursion, and what is called of functions that are arguments, has no bound.
"""
from __future__ import annotations

from collections.abc import Mapping

from nessie.base.records import dataclass
from nessie.base.types import Data, Type
from nessie.bounds.formulas import ONE, ZERO, Bound, greatest, number, plus, times
from nessie.bounds.primitives import TABLE, length
from nessie.bounds.values import NOTHING, SCALAR, UNKNOWN, Both, Code, Held, Known, Number, Rows, joined, of_type
from nessie.library.primitives import PRIMITIVES
from nessie.typing import nodes as typed
from nessie.typing.environment import Environment
from nessie.typing.node_types import content_type

ONE_STEP = ("scalar", "effect") # the kinds of primitives that cost 1, whatever they do
MOST_STEPS = 20_000             # expressions that are looked at: a hover waits


class Endless(Exception):
    """There is a recursion, or too much to look at."""


@dataclass(frozen=True)
class Bounds:
    """The most that a call of a function costs, without handing over its result; None where that is not known."""
    work: Bound
    depth: Bound


def bounds(environment: Environment, function: typed.Function) -> Bounds:
    """The bounds of a call of the function."""
    counting = Counting(environment)
    names: dict[str, Known] = {}
    counting.bind(function.parameter, counting.argument(function.parameter), names)
    try:
        counting.body(function.name, function.body, names)
    except Endless:
        return Bounds(None, None)
    return Bounds(counting.work, counting.depth)


class Counting:
    """The cost so far, and the functions that are running."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.work: Bound = ZERO
        self.depth: Bound = ZERO
        self.running: list[object] = []
        self.steps = 0

    def charge(self, work: Bound, depth: Bound = ONE) -> None:
        self.work, self.depth = plus(self.work, work), plus(self.depth, depth)

    def content(self, data: Data) -> Type | None:
        datatype = self.datatype(data.name)
        return content_type(datatype, data) if datatype is not None else None

    def datatype(self, name: str) -> typed.Datatype | None:
        return self.environment.program.datatypes.get(name) or self.environment.library.datatypes.get(name)

    def function(self, name: str) -> typed.Function | None:
        return self.environment.program.function(name) or self.environment.library.function(name)

    # Patterns -----------------------------------------------------------------------------------

    def argument(self, pattern: typed.Pattern) -> Known:
        """An argument, whose sizes are called as the pattern calls its parts."""
        match pattern:
            case typed.NamePattern(name, type_):
                return of_type(type_, self.content, name)
            case typed.PairPattern(first, second):
                return Both(self.argument(first), self.argument(second))
            case typed.DataPattern(_, _, inside):
                return Held(self.argument(inside))

    def bind(self, pattern: typed.Pattern, known: Known, names: dict[str, Known]) -> None:
        match pattern:
            case typed.NamePattern(name, type_):
                names[name] = known if known != UNKNOWN else of_type(type_, self.content)
            case typed.PairPattern(first, second):
                parts = (known.first, known.second) if isinstance(known, Both) else (known, known)
                self.bind(first, parts[0], names)
                self.bind(second, parts[1], names)
            case typed.DataPattern(_, _, inside):
                self.bind(inside, known.content if isinstance(known, Held) else known, names)

    # Expressions --------------------------------------------------------------------------------

    def value(self, exp: typed.Exp, names: Mapping[str, Known]) -> Known:
        """What is known of the expression's value; what it costs is charged."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Endless
        match exp:
            case typed.Const(bool()):
                return SCALAR
            case typed.Const(int() as value):
                return Number(number(max(value, 0)), number(max(-value, 0)))
            case typed.Const():
                return SCALAR
            case typed.String(text):
                return Rows(number(len(text)), SCALAR)
            case typed.Name(name, type_):
                return names[name] if name in names else of_type(type_, self.content, name)
            case typed.Global(name):
                return Code(name, {})
            case typed.Let(pattern, value, body):
                inner = dict(names)
                self.bind(pattern, self.value(value, names), inner)
                return self.value(body, inner)
            case typed.If(condition, then, orelse):
                self.value(condition, names)
                self.charge(ONE)
                return self.either(then, orelse, names)
            case typed.Apply(typed.Global("_check"), typed.Pair(condition, typed.Pair(_, value))):
                self.value(condition, names)
                self.charge(ONE)
                return self.value(value, names)
            case typed.Apply(function, argument, type_):
                called = self.value(function, names)
                return self.applied(called, self.value(argument, names), type_)
            case typed.Pair(first, second):
                made = self.value(first, names)
                return Both(made, self.value(second, names))
            case typed.Sequence(elements):
                self.charge(number(max(1, len(elements))))
                row: Known = NOTHING
                for element in elements:
                    row = joined(row, self.value(element, names))
                return Rows(number(len(elements)), row)
            case typed.Each():
                return self.each(exp, names)
            case typed.Lambda():
                return Code(exp, dict(names))
            case typed.Closure(function, argument):
                called = self.value(function, names)
                given = self.value(argument, names)
                return Code(called.function, called.names, (*called.given, given)) if isinstance(called, Code) \
                    else UNKNOWN
            case typed.Time(body):
                return Both(self.value(body, names), SCALAR)
        raise TypeError(exp)

    def either(self, then: typed.Exp, orelse: typed.Exp, names: Mapping[str, Known]) -> Known:
        """One of two: each begins at the same cost, and the dearer one counts."""
        work, depth = self.work, self.depth
        first = self.value(then, names)
        dearer, deeper = self.work, self.depth
        self.work, self.depth = work, depth
        second = self.value(orelse, names)
        self.work, self.depth = greatest(self.work, dearer), greatest(self.depth, deeper)
        return joined(first, second)

    def each(self, each: typed.Each, names: Mapping[str, Known]) -> Known:
        sources = [self.value(generator.source, names) for generator in each.generators]
        lengths = [found for found in map(length, sources) if found is not None]
        many = min(lengths, key=len) if lengths else None           # all are equal
        self.charge(plus(ONE, many))
        inner = dict(names)
        for generator, source in zip(each.generators, sources, strict=True):
            row = source.element if isinstance(source, Rows) else UNKNOWN
            self.bind(generator.pattern, row, inner)
        work, self.work = self.work, ZERO
        if each.filter is not None:
            self.value(each.filter, inner)
        made = self.value(each.body, inner)
        self.work = plus(work, times(many, self.work))
        return Rows(many, made)

    # Functions ----------------------------------------------------------------------------------

    def applied(self, called: Known, argument: Known, type_: Type) -> Known:
        if not isinstance(called, Code):
            self.charge(None, None)
            return of_type(type_, self.content)
        for given in reversed(called.given):
            argument = Both(given, argument)
        if isinstance(called.function, typed.Lambda):
            names = dict(called.names)
            self.bind(called.function.pattern, argument, names)
            return self.body(id(called.function.body), called.function.body, names)
        if (function := self.function(called.function)) is not None:
            names = {}
            self.bind(function.parameter, argument, names)
            return self.body(function.name, function.body, names)
        if self.datatype(called.function) is not None:
            return Held(argument)
        return self.primitive(called.function, argument, type_)

    def body(self, key: object, body: typed.Exp, names: Mapping[str, Known]) -> Known:
        if key in self.running:
            raise Endless
        self.charge(ONE)
        self.running.append(key)
        made = self.value(body, names)
        self.running.pop()
        return made

    def primitive(self, name: str, argument: Known, type_: Type) -> Known:
        if name not in TABLE:
            known = name in PRIMITIVES and PRIMITIVES[name].kind in ONE_STEP
            self.charge(ONE if known else None, ONE if known else None)
            return of_type(type_, self.content)
        made, work, depth = TABLE[name](argument)
        self.charge(work, depth)
        return made if made != UNKNOWN else of_type(type_, self.content)
