"""Translates one function at types to mono: the core of monomorphisation.

A typed expression becomes a mono expression of the erased type, or Nothing (mono.copies.erased_values). Patterns become
projections of single names; a tuple that is written out is taken apart without being made.
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import NOWHERE, InternalError, NessieError, Origin, user_span
from nessie.base.text.types_text import primitive_scheme
from nessie.base.types import BOOL, FLOAT, INT, Fun, Identity, Pair, Type
from nessie.library.primitives import PRIMITIVES, Primitive
from nessie.mono import nodes as mono
from nessie.mono.copies.erased_values import Erasure, Extraction, Nothing, Value, nothing
from nessie.mono.copies.timing import timed
from nessie.mono.node_types import type_of as value_type
from nessie.mono.nodes import Exp
from nessie.mono.walk import is_trivial, let_chain
from nessie.typing import nodes as typed
from nessie.typing.environment import Environment
from nessie.typing.inference.resolve import NO_FUNCTION
from nessie.typing.node_types import leaves, pattern_names


@dataclass(frozen=True)
class Instance:
    """A function at types: its name in the mono program, its parameter (types closed), and the means to make its
    body."""
    name: str
    parameter: typed.Pattern
    result: Type
    body: typed.Exp
    types: dict[str, Type]
    origin: Origin = NOWHERE
    fold: mono.Fold | None = None


@dataclass(frozen=True)
class Supply:
    """The services for specialising a function: names for binders; the instance of a function or primitive at types;
    the instance of a lambda, and a way to remember a lambda."""
    environment: Environment
    binders: Names
    function: Callable[[str, tuple[Type, ...], Origin], Instance]
    anonymous: Callable[[Fun], Instance]
    register: Callable[[typed.Lambda, tuple[str, ...]], None]


class Specialiser:
    """Translates one instance; `variables` are the top-level variables that it uses."""

    def __init__(self, supply: Supply, instance: Instance) -> None:
        self.supply = supply
        self.instance = instance
        self.erasure = Erasure(supply.environment, supply.binders, instance.types, instance.origin)
        self.locals: dict[str, Value] = {}
        self.variables: dict[str, tuple[typed.Name, mono.Var]] = {}

    def function(self) -> mono.Function:
        parameters: list[mono.Parameter] = []
        for leaf in leaves(self.instance.parameter):
            type_ = self.erasure.erase(leaf.type)
            if type_ is None:
                self.locals[leaf.name] = Nothing()
                continue
            parameter = mono.Parameter(self.erasure.fresh(leaf.name), type_)
            parameters.append(parameter)
            self.locals[leaf.name] = mono.Var(parameter.name, type_)
        body = self.erasure.bare(self.exp(self.instance.body))
        result = self.erasure.erase(self.instance.result) or BOOL
        return mono.Function(self.instance.name, tuple(parameters), result, body, self.instance.fold,
                             origin=self.instance.origin)

    # Expressions

    def exp(self, exp: typed.Exp) -> Value:
        match exp:
            case typed.Const(value, type_, origin=origin):
                return self.constant(value, self.erasure.erase(type_) or BOOL, origin)
            case typed.String(text, origin=origin):
                return mono.String(text, origin=origin)
            case typed.Name():
                return self.name(exp)
            case typed.Global():
                return Nothing()
            case typed.Let():
                return self.let(exp)
            case typed.If(condition, then, orelse, origin=origin):
                test, yes, no = self.erasure.bare(self.exp(condition)), self.exp(then), self.exp(orelse)
                if isinstance(yes, Nothing) and isinstance(no, Nothing):
                    chosen = mono.If(test, self.erasure.bare(yes), self.erasure.bare(no), origin=origin)
                    return nothing((chosen if yes.effects or no.effects else test,))
                return mono.If(test, self.erasure.bare(yes), self.erasure.bare(no), origin=origin)
            case typed.Apply(function, argument, _, origin=origin):
                kind = self.erasure.close(type_of(function))
                applied = self.exp(function)
                return self.apply(kind, applied, self.exp(argument), origin)
            case typed.Pair(first, second, origin=origin):
                left = self.exp(first)
                return self.erasure.pair(left, self.exp(second), origin)
            case typed.Sequence(elements, type_, origin=origin):
                made = tuple([self.erasure.bare(self.exp(e)) for e in elements])
                return mono.Literal(made, self.erasure.erase(type_) or BOOL, origin=origin)
            case typed.Each():
                return self.each(exp)
            case typed.Lambda(_, _, captured):
                self.supply.register(exp, tuple(self.instance.types))
                return self.erasure.tuple_of([self.exp(name) for name in captured], exp.origin)
            case typed.Closure(function, argument, _, origin=origin):
                closed = self.exp(function)
                return self.erasure.pair(closed, self.exp(argument), origin)
            case typed.Time(body, origin=origin):
                return self.time(self.exp(body), origin)
        raise TypeError(exp)

    def constant(self, value: int | float | bool | str, type_: Type, origin: Origin) -> mono.Const:
        """Return a constant of the program's widths. An int of the library that needs more bits is a word."""
        rounded = value if type_ in (INT, FLOAT) else self.supply.environment.widths.constant(value)
        if type_ not in (INT, FLOAT) and not self.supply.environment.widths.fits(rounded):
            return mono.Const(value, INT, origin=origin)
        return mono.Const(rounded, type_, origin=origin)

    def time(self, value: Value, origin: Origin) -> Value:
        """Return the value and the seconds that it took."""
        bound, there, real = timed(self.erasure.bare(value), self.erasure.binders, origin)
        seconds = resized(real, self.erasure.erase(FLOAT) or FLOAT, origin)
        result = value if isinstance(value, Nothing) and not value.effects else there
        return let_chain(bound, self.erasure.bare(self.erasure.pair(result, seconds, origin)))

    def name(self, exp: typed.Name) -> Value:
        if exp.name in self.locals:
            value = self.locals[exp.name]
            return mono.Var(value.name, value.type, origin=exp.origin) if isinstance(value, mono.Var) else value
        type_ = self.erasure.erase(exp.type)
        if type_ is None:
            return Nothing()
        if exp.name not in self.variables:
            self.variables[exp.name] = exp, mono.Var(self.erasure.fresh(exp.name), type_)
        return self.variables[exp.name][1]

    def let(self, exp: typed.Exp) -> Value:
        """Translate a chain of lets, of any length."""
        bound: list[tuple[str, Exp]] = []
        hidden: list[tuple[str, Value | None]] = []
        while isinstance(exp, typed.Let):
            steps = self.erasure.spread(exp.pattern, self.exp(exp.value))
            for step in steps:
                bound += self.bind(step, hidden)
            exp = exp.body
        body = self.exp(exp)
        self.restore(hidden)
        if isinstance(body, Nothing):
            return nothing((let_chain(bound, self.erasure.bare(body)),) if bound else body.effects)
        return let_chain(bound, body)

    def bind(self, step: Extraction, hidden: list[tuple[str, Value | None]]) -> list[tuple[str, Exp]]:
        """Return the bindings of a step in the mono program; from now on the leaf's name means the step's value."""
        if step.leaf is None:
            return [(step.name, self.erasure.bare(step.value))]
        hidden.append((step.leaf.name, self.locals.get(step.leaf.name)))
        match step.value:
            case Nothing(effects):
                self.locals[step.leaf.name] = Nothing()
                return [(self.erasure.fresh("ignored"), effect) for effect in effects]
            case value if is_trivial(value) and not isinstance(value, mono.Const):
                self.locals[step.leaf.name] = value
                return []
        name = self.erasure.fresh(step.leaf.name)
        self.locals[step.leaf.name] = mono.Var(name, self.erasure.erase(step.leaf.type) or BOOL)
        return [(name, self.erasure.bare(step.value))]

    def restore(self, hidden: list[tuple[str, Value | None]]) -> None:
        for name, value in reversed(hidden):
            if value is None:
                del self.locals[name]
            else:
                self.locals[name] = value

    def each(self, exp: typed.Each) -> Value:
        sources = [self.erasure.bare(self.exp(g.source)) for g in exp.generators]
        hidden: list[tuple[str, Value | None]] = []
        generators: list[mono.Generator] = []
        for generator, source in zip(exp.generators, sources, strict=True):
            names = [found.name for found in pattern_names(generator.pattern)]
            type_ = self.erasure.pattern_type(generator.pattern)
            element = mono.Var(self.erasure.fresh("_".join(names) or "_"), type_ or BOOL)
            generators.append(mono.Generator(element.name, source))
            value = element if type_ else Nothing()
            for step in self.erasure.spread(generator.pattern, value):
                self.bind(step, hidden)
        condition = None if exp.filter is None else self.erasure.bare(self.exp(exp.filter))
        body = self.erasure.bare(self.exp(exp.body))
        self.restore(hidden)
        return mono.Each(body, tuple(generators), condition, origin=exp.origin)

    # Applications

    def apply(self, kind: Type, function: Value, argument: Value, origin: Origin) -> Value:
        """Apply a function of this type, whose captured values are `function`."""
        if not isinstance(kind, Fun) or not isinstance(kind.identity, Identity):
            raise InternalError(f"an application of {kind}")
        name, types, captured = kind.identity.name, kind.identity.types, kind.identity.captured
        if name == NO_FUNCTION.name:
            place = user_span(origin)
            raise NessieError("what is called here is never a function: nothing makes one",
                              *([(place, "")] if place else []))
        if name == CLOSURE:
            return self.apply_closure(captured, function, argument, origin)
        if is_anonymous(name):
            return self.call(self.supply.anonymous(kind), self.erasure.pair(function, argument, origin), origin)
        if isinstance(function, Nothing) and function.effects:
            argument = self.erasure.pair(function, argument, origin)
        if name in PRIMITIVES and PRIMITIVES[name].kind != "derived":
            return self.primitive(PRIMITIVES[name], kind, argument, origin)
        if self.supply.environment.datatype(name):
            return argument
        return self.call(self.supply.function(name, types, origin), argument, origin)

    def apply_closure(self, captured: tuple[Type, ...], function: Value, argument: Value, origin: Origin) -> Value:
        """Apply closure(g, x) to y, which is g applied to (x, y)."""
        inner, given = captured
        pattern = typed.PairPattern(typed.NamePattern("function", inner), typed.NamePattern("given", given))
        steps = self.erasure.spread(pattern, function)
        first, second = (step.value for step in steps if step.leaf)
        bound = [(step.name, self.erasure.bare(step.value)) for step in steps if not step.leaf]
        applied = self.apply(inner, first, self.erasure.pair(second, argument, origin), origin)
        if isinstance(applied, Nothing):
            return nothing((let_chain(bound, self.erasure.bare(applied)),))
        return let_chain(bound, applied)

    def call(self, instance: Instance, argument: Value, origin: Origin) -> Value:
        def made(arguments: tuple[Exp, ...], type_: Type) -> Exp:
            return mono.Call(instance.name, arguments, type_, origin=origin)
        return self.erasure.with_arguments(instance.parameter, argument, instance.result, made, drop=True)

    def primitive(self, row: Primitive, kind: Fun, argument: Value, origin: Origin) -> Value:
        if row.kind == "pair":
            assert isinstance(kind.argument, Pair)
            return self.projection(row.target, kind.argument, argument, origin)

        def made(arguments: tuple[Exp, ...], type_: Type) -> Exp:
            if row.target == "resized":
                return resized(arguments[0], type_, origin)
            return mono.Prim(row.target, arguments, type_, origin=origin)
        pattern = component_pattern(primitive_type(row).argument, kind.argument)
        return self.erasure.with_arguments(pattern, argument, kind.result, made, drop=False)

    def projection(self, which: str, pair: Pair, argument: Value, origin: Origin) -> Value:
        """Return first or second (rest) of a value of this type."""
        first, second = self.erasure.erase(pair.first), self.erasure.erase(pair.second)
        wanted, other = (first, second) if which == "first" else (second, first)
        if wanted is None:
            return Nothing(argument.effects) if isinstance(argument, Nothing) else nothing((argument,))
        if other is None:
            return argument
        return (mono.First if which == "first" else mono.Second)(self.erasure.bare(argument), origin=origin)


def resized(value: Exp, type_: Type, origin: Origin) -> Exp:
    """Return a number as one of this type, of another width."""
    return value if value_type(value) == type_ else mono.Prim("resized", (value,), type_, origin=origin)


CLOSURE = "closure"


def is_anonymous(name: str) -> bool:
    """Is this the name of a lambda's identity?"""
    return "'fn" in name


def primitive_type(row: Primitive) -> Fun:
    type_ = primitive_scheme(row.name, row.type).type
    assert isinstance(type_, Fun)
    return type_


def component_pattern(declared: Type, actual: Type) -> typed.Pattern:
    """Return a pattern with a name for each declared argument of a primitive, at its actual type."""
    if isinstance(declared, Pair) and isinstance(actual, Pair):
        return typed.PairPattern(typed.NamePattern("argument", actual.first),
                                 component_pattern(declared.second, actual.second))
    return typed.NamePattern("argument", actual)


def type_of(exp: typed.Exp) -> Type:
    """Return the type of an expression that stands for a function."""
    while isinstance(exp, typed.Let | typed.If):
        exp = exp.body if isinstance(exp, typed.Let) else exp.then
    if isinstance(exp, typed.Name | typed.Global | typed.Apply | typed.Lambda | typed.Closure):
        return exp.type
    raise InternalError("what is applied is no function")
