"""Resolves the types of a typed definition after inference.

  in    a definition whose types have variables of the unifier
  out   the same with every variable resolved: bound ones become their types, those in which the definition is
        general become its type variables a, b, c ..; a type that nothing depends on becomes int
"""
from __future__ import annotations

from collections.abc import Container

from nessie.base.text.types_text import letters, visible_variables
from nessie.base.types import INT, Base, Data, Fun, Identity, Pair, Seq, Type, Var, free_variables
from nessie.typing import nodes as typed
from nessie.typing.inference.state import SELF
from nessie.typing.unify import Unifier

NO_FUNCTION = Identity("no function")       # for a function type without functions


class Resolution:
    """`general`: the types whose unresolved variables become the definition's type variables; `reserved`: names that
    these may not have, those of datatypes; `own`: the identities made in the definition, which are at its type
    variables."""

    def __init__(self, unifier: Unifier, general: list[Type], reserved: Container[str], own: set[str]) -> None:
        self.unifier, self.itself, self.own = unifier, "", own
        self.names: dict[str, Var] = {}
        supply = (n for n in letters() if n not in reserved)
        for variable in unresolved(unifier, general):
            self.names[variable.name] = Var(next(supply), unifier.cls(variable))
        self.variables = tuple(self.names.values())
        self.memo: dict[int, tuple[Type, Type]] = {}

    def type(self, type_: Type) -> Type:
        type_ = self.unifier.find(type_)
        known = self.memo.get(id(type_))
        if known is None:
            known = (type_, self.resolved(type_))       # keeps type_ alive, so its id stays its own
            self.memo[id(type_)] = known
        return known[1]

    def resolved(self, type_: Type) -> Type:
        match type_:
            case Var(name):
                return self.names.get(name, INT)
            case Base():
                return type_
            case Seq(element):
                return Seq(self.type(element))
            case Pair(first, second):
                return Pair(self.type(first), self.type(second))
            case Fun(argument, result, identity):
                return Fun(self.type(argument), self.type(result), self.identity(identity))
            case Data(name, arguments):
                return Data(name, self.types(arguments))
            case Identity():
                return self.identity(type_)
        raise TypeError(type_)

    def identity(self, type_: Type) -> Type:
        type_ = self.unifier.find(type_)
        match type_:
            case Identity(name, types, captured):
                at = self.variables if name == SELF or name in self.own else self.types(types)
                return Identity(self.itself if name == SELF else name, at, self.types(captured))
            case Var(name):
                return self.names.get(name, NO_FUNCTION)
        raise TypeError(type_)

    def types(self, types: tuple[Type, ...]) -> tuple[Type, ...]:
        return tuple([self.type(t) for t in types])

    def pattern(self, pattern: typed.Pattern) -> typed.Pattern:
        match pattern:
            case typed.NamePattern(name, type_):
                return typed.NamePattern(name, self.type(type_))
            case typed.PairPattern(first, second):
                return typed.PairPattern(self.pattern(first), self.pattern(second))
            case typed.DataPattern(constructor, types, argument):
                return typed.DataPattern(constructor, self.types(types), self.pattern(argument))
        raise TypeError(pattern)

    def exp(self, e: typed.Exp) -> typed.Exp:
        match e:
            case typed.Const() | typed.String():
                return e
            case typed.Name(name, type_, origin=at):
                return typed.Name(name, self.type(type_), origin=at)
            case typed.Global(name, types, type_, origin=at):
                if name == SELF:
                    return typed.Global(self.itself, self.variables, self.type(type_), origin=at)
                return typed.Global(name, self.types(types), self.type(type_), origin=at)
            case typed.Apply(function, argument, type_, origin=at):
                return typed.Apply(self.exp(function), self.exp(argument), self.type(type_), origin=at)
            case typed.Pair(first, second, origin=at):
                return typed.Pair(self.exp(first), self.exp(second), origin=at)
            case typed.Let(pattern, value, body, origin=at):
                return typed.Let(self.pattern(pattern), self.exp(value), self.exp(body), origin=at)
            case typed.If(condition, then, orelse, origin=at):
                return typed.If(self.exp(condition), self.exp(then), self.exp(orelse), origin=at)
            case typed.Sequence(elements, type_, origin=at):
                return typed.Sequence(tuple([self.exp(e) for e in elements]), self.type(type_), origin=at)
            case typed.Each():
                return self.each(e)
            case typed.Lambda(pattern, body, captured, type_, origin=at):
                names = tuple([typed.Name(v.name, self.type(v.type), origin=v.origin) for v in captured])
                return typed.Lambda(self.pattern(pattern), self.exp(body), names, self.type(type_), origin=at)
            case typed.Closure(function, argument, type_, origin=at):
                return typed.Closure(self.exp(function), self.exp(argument), self.type(type_), origin=at)
            case typed.Time(body, origin=at):
                return typed.Time(self.exp(body), origin=at)
        raise TypeError(e)

    def each(self, e: typed.Each) -> typed.Each:
        generators = tuple([typed.Generator(self.pattern(g.pattern), self.exp(g.source)) for g in e.generators])
        kept = self.exp(e.filter) if e.filter is not None else None
        return typed.Each(self.exp(e.body), generators, kept, e.serial, origin=e.origin)


def unresolved(unifier: Unifier, types: list[Type]) -> list[Var]:
    """Return the unbound variables of the types in order of appearance, those of identities last."""
    resolved = [unifier.resolve(t) for t in types]
    shown = [v for t in resolved for v in visible_variables(t)]
    return list(dict.fromkeys([*shown, *free_variables(*resolved)]))
