"""The types of typed expressions and patterns, read off their nodes."""
from __future__ import annotations

from nessie.base.types import (
    FLOAT,
    STRING,
    Data,
    Fun,
    Identity,
    Pair,
    Scheme,
    Seq,
    Type,
    instantiate,
    nest_right,
    unnest_right,
)
from nessie.typing import nodes as typed


def type_of(exp: typed.Exp) -> Type:
    """The type of a well-formed expression."""
    match exp:
        case typed.Const() | typed.Name() | typed.Global() | typed.Apply() | typed.Sequence() | typed.Lambda() \
                | typed.Closure():
            return exp.type
        case typed.String():
            return STRING
        case typed.Let():
            while isinstance(exp, typed.Let):
                exp = exp.body
            return type_of(exp)
        case typed.If(_, then, _):
            return type_of(then)
        case typed.Pair():
            return pair_type(exp)
        case typed.Each(body):
            return Seq(type_of(body))
        case typed.Time(body):
            return Pair(type_of(body), FLOAT)
    raise TypeError(exp)


def pair_type(exp: typed.Exp) -> Type:
    return nest_right([type_of(item) for item in unnest_right(exp, typed.Pair)], Pair)


def pattern_type(pattern: typed.Pattern) -> Type:
    """Return the type of the values that the pattern matches."""
    match pattern:
        case typed.NamePattern(_, type_):
            return type_
        case typed.PairPattern(first, second):
            return Pair(pattern_type(first), pattern_type(second))
        case typed.DataPattern(constructor, types, _):
            return Data(constructor, types)
    raise TypeError(pattern)


def leaves(pattern: typed.Pattern) -> list[typed.NamePattern]:
    """The names of a pattern, from left to right."""
    match pattern:
        case typed.NamePattern():
            return [pattern]
        case typed.PairPattern(first, second):
            return leaves(first) + leaves(second)
        case typed.DataPattern(_, _, argument):
            return leaves(argument)
    raise TypeError(pattern)


def pattern_names(pattern: typed.Pattern) -> list[typed.NamePattern]:
    """Return the names that the pattern binds, in order; wildcards are left out."""
    return [leaf for leaf in leaves(pattern) if leaf.name != "_"]


def closure_type(function: Fun, argument: Type) -> Type:
    """Return the type of the closure of a function of this type, of two arguments, with its first argument."""
    assert isinstance(function.argument, Pair)
    return Fun(function.argument.second, function.result, Identity("closure", (), (function, argument)))


def content_type(datatype: typed.Datatype, data: Data) -> Type:
    """Return the argument type of this datatype's constructor, at the types of the data type."""
    return instantiate(Scheme(datatype.variables, datatype.content), data.arguments)
