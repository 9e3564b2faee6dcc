"""Puts the run-time values of typed values together and takes them apart.

A typed value is a mono expression of the erased type (mono.copies.erase), or Nothing where that type is nothing.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Origin
from nessie.base.types import BOOL, Data, Type, substitute
from nessie.mono import nodes as mono
from nessie.mono.copies.erase import Erased, both, content, erase, remains
from nessie.mono.node_types import type_of
from nessie.mono.nodes import Exp
from nessie.mono.walk import is_trivial, let_chain
from nessie.typing import nodes as typed
from nessie.typing.environment import Environment
from nessie.typing.node_types import pattern_names
from nessie.typing.unify import LARGEST, parts


@dataclass(frozen=True)
class Nothing:
    """A value of which nothing is left at run time, after these effects have been evaluated."""
    effects: tuple[Exp, ...] = ()


Value = Exp | Nothing
FALSE = mono.Const(False, BOOL)


@dataclass(frozen=True)
class Extraction:
    """A step in taking a value apart: the part for a leaf of the pattern, or (leaf None) a helper's binding."""
    leaf: typed.NamePattern | None
    name: str
    value: Value


@dataclass(frozen=True)
class Erasure:
    """The erasure of values in one function at types. `types`: the types of its type variables; `origin`: the
    function's."""
    environment: Environment
    binders: Names
    types: dict[str, Type]
    origin: Origin
    known: Erased = field(default_factory=dict)
    sizes: dict[Type, int] = field(default_factory=dict)        # nodes of types, no more than one too many

    def bare(self, value: Value) -> Exp:
        """Return the value as an expression: for nothing, false."""
        return self.after(value.effects, FALSE) if isinstance(value, Nothing) else value

    def close(self, type_: Type) -> Type:
        return substitute(type_, self.types) if self.types else type_

    def erase(self, type_: Type) -> Type | None:
        closed = self.close(type_)
        if self.size(closed) > LARGEST:
            raise NessieError(f"a type in this function, as it is called, has more than {LARGEST:,} parts",
                              *[(span, "") for span in self.origin[:1]])
        return erase(closed, self.environment, self.known)

    def size(self, type_: Type) -> int:
        if type_ not in self.sizes:
            counted = 1 + sum([self.size(part) for part in parts(self.outermost(type_))])
            self.sizes[type_] = min(counted, LARGEST + 1)
        return self.sizes[type_]

    def outermost(self, type_: Type) -> Type:
        """Return the type, with datatypes on the outside replaced by their content."""
        while isinstance(type_, Data):
            type_ = content(type_, self.environment)
        return type_

    def fresh(self, wish: str) -> str:
        return self.binders.fresh("ignored" if wish == "_" else wish)

    def pair(self, first: Value, second: Value, origin: Origin) -> Value:
        match first, second:
            case Nothing(effects), Nothing(others):
                return Nothing(effects + others)
            case Nothing(effects), _:
                return self.after(effects, self.bare(second))
            case _, Nothing(effects) if effects:
                name, value = self.fresh("kept"), self.bare(first)
                return mono.Let(name, value, self.after(effects, mono.Var(name, type_of(value))))
            case _, Nothing():
                return first
        return mono.Pair(self.bare(first), self.bare(second), origin=origin)

    def tuple_of(self, items: list[Value], origin: Origin) -> Value:
        result: Value = Nothing()
        for item in reversed(items):
            result = self.pair(item, result, origin)
        return result

    def after(self, effects: Iterable[Exp], value: Exp) -> Exp:
        """Return the value, once the effects have been evaluated."""
        return let_chain([(self.fresh("ignored"), effect) for effect in effects], value)

    def pattern_type(self, pattern: typed.Pattern) -> Type | None:
        match pattern:
            case typed.NamePattern(_, type_):
                return self.erase(type_)
            case typed.PairPattern(first, second):
                return both(self.pattern_type(first), self.pattern_type(second))
        return self.pattern_type(pattern.argument)

    def remains(self, pattern: typed.Pattern) -> bool:
        """Is anything that the pattern takes apart left at run time?"""
        match pattern:
            case typed.NamePattern(_, type_):
                return remains(self.close(type_), self.environment)
            case typed.PairPattern(first, second):
                return self.remains(first) or self.remains(second)
        return self.remains(pattern.argument)

    def spread(self, pattern: typed.Pattern, value: Value) -> list[Extraction]:
        """Take the value apart along the pattern, from left to right."""
        match pattern:
            case typed.NamePattern():
                return [Extraction(pattern, "", value)]
            case typed.DataPattern(_, _, argument):
                return self.spread(argument, value)
        left, right = pattern.first, pattern.second
        if not self.remains(left):
            return [*self.spread(left, Nothing()), *self.spread(right, value)]
        if not self.remains(right):
            return [*self.spread(left, value), *self.spread(right, Nothing())]
        if isinstance(value, mono.Pair):
            return [*self.spread(left, value.first), *self.spread(right, value.second)]
        helpers: list[Extraction] = []
        if not is_trivial(self.bare(value)):
            name = self.fresh("_".join([found.name for found in pattern_names(pattern)]) or "_")
            helpers = [Extraction(None, name, value)]
            value = mono.Var(name, self.pattern_type(pattern) or BOOL)
        pair = self.bare(value)
        return [*helpers, *self.spread(left, mono.First(pair)), *self.spread(right, mono.Second(pair))]

    def with_arguments(self, pattern: typed.Pattern, argument: Value, result: Type,
                       made: Callable[[tuple[Exp, ...], Type], Exp], drop: bool) -> Value:
        """Return an application to the parts of the argument; parts of which nothing is left are dropped, or false.
        Parts before one that a helper binds are bound too, because evaluation goes from left to right."""
        steps = self.spread(pattern, argument)
        arguments: list[Exp] = []
        bound: list[tuple[str, Exp]] = []
        last = max((i for i, step in enumerate(steps) if needs_binding(step)), default=-1)
        for i, step in enumerate(steps):
            part = self.bare(step.value)
            if step.leaf is None:
                bound.append((step.name, part))
            elif isinstance(step.value, Nothing):
                bound += [(self.fresh("ignored"), effect) for effect in step.value.effects]
                arguments += [] if drop else [FALSE]
            elif i < last and not is_trivial(part):
                name = self.fresh(step.leaf.name)
                bound.append((name, part))
                arguments.append(mono.Var(name, type_of(part)))
            else:
                arguments.append(part)
        type_ = self.erase(result)
        applied = let_chain(bound, made(tuple(arguments), type_ or BOOL))
        return applied if type_ else nothing((applied,))


def needs_binding(step: Extraction) -> bool:
    return step.leaf is None or (isinstance(step.value, Nothing) and bool(step.value.effects))


def nothing(effects: tuple[Exp, ...]) -> Nothing:
    """Return Nothing after these effects; trivial ones need no evaluation."""
    return Nothing(tuple(effect for effect in effects if not is_trivial(effect)))
