"""The types of mono expressions and of the primitives in them.

type_of reads a type off a well-formed expression; mono.check verifies that it is well formed.
"""
from __future__ import annotations

from functools import cache

from nessie.base.source import IllFormed
from nessie.base.text.types_text import primitive_scheme
from nessie.base.types import (
    FLOAT32,
    INT32,
    STRING,
    Base,
    Fun,
    Pair,
    Seq,
    Type,
    components,
    free_variables,
    leaves,
    match_types,
    nest_right,
    substitute,
)
from nessie.base.widths import WIDE, wide
from nessie.library.primitives import IN_MONO
from nessie.mono import nodes as mono
from nessie.mono.nodes import Exp
from nessie.mono.walk import expressions


def element_type(sequence: Exp) -> Type:
    """The type of the sequence's elements."""
    type_ = type_of(sequence)
    assert isinstance(type_, Seq)
    return type_.element


def narrow_types(program: mono.Program) -> set[Base]:
    """Return the types of narrow numbers that values of the program have."""
    types = [type_ for f in program.functions for type_ in (f.result, *(p.type for p in f.parameters))]
    types += [e.type for f in program.functions for e in expressions(f.body) if hasattr(e, "type")]
    return {leaf for type_ in dict.fromkeys(types) for leaf in leaves(type_) if leaf in (INT32, FLOAT32)}


def type_of(exp: Exp) -> Type:
    """The type of a well-formed expression."""
    while isinstance(exp, mono.Let | mono.If):
        exp = exp.body if isinstance(exp, mono.Let) else exp.then
    match exp:
        case mono.Pair(first, second):
            return Pair(type_of(first), type_of(second))
        case mono.First(pair):
            return component(pair).first
        case mono.Second(pair):
            return component(pair).second
        case mono.String():
            return STRING
        case mono.Each(body):
            return Seq(type_of(body))
    return exp.type


def element_place(fold: mono.Function, operator: mono.Function | None) -> int | None:
    """Return the number of the fold's parameter that is the identity, and of the operator's that is the first element;
    None if they do not fit."""
    if operator is None:
        return None
    takes, given = ([p.type for p in function.parameters] for function in (fold, operator))
    element = operator.result
    result = element if fold.fold is None or fold.fold.form == "reduce" else Pair(Seq(element), element)
    places = [k for k in range(len(given) - 1) if given[k] == given[k + 1] == element
              and takes == [*given[:k + 1], Seq(element), *given[k + 2:]]]
    return places[0] if places and fold.result == result else None


def component(pair: Exp) -> Pair:
    type_ = type_of(pair)
    if not isinstance(type_, Pair):
        raise IllFormed("a projection is of a pair")
    return type_


def fits(name: str, arguments: tuple[Type, ...], result: Type) -> bool:
    """Does the primitive take arguments of these types and return this result?"""
    parameters, declared = signature(name)
    declared_types, actual = (*parameters, declared), (*arguments, result)
    return matched(declared_types, actual) is not None or (
        any(map(is_narrow, actual)) and matched(declared_types, tuple(map(widened, actual))) is not None)


def primitive_type(name: str, arguments: tuple[Type, ...]) -> Type | None:
    """Return the primitive's result type on arguments of these types; None if it does not take them, or if the
    arguments do not determine the result (`error`)."""
    parameters, declared = signature(name)
    found = matched(parameters, arguments)
    if found is None and any(map(is_narrow, arguments)):
        found = matched(parameters, tuple(map(widened, arguments)))
    if found is None:
        return None
    result = substitute(declared, found)
    return None if any(free_variables(result)) else result


def matched(declared: tuple[Type, ...], actual: tuple[Type, ...]) -> dict[str, Type] | None:
    """Return the types of the variables of the declared types that make these the actual ones, or None."""
    if len(declared) != len(actual):
        return None
    return match_types(nest_right(declared, Pair), nest_right(actual, Pair))


def is_narrow(type_: Type) -> bool:
    """Is a number in values of the type one of 32 bits?"""
    return widened(type_) != type_


@cache
def widened(type_: Type) -> Type:
    """Return the type with numbers of 64 bits for those of 32."""
    match type_:
        case Base(name):
            return Base(wide(name)) if name in WIDE else type_
        case Seq(element):
            return Seq(widened(element))
        case Pair(first, second):
            return Pair(widened(first), widened(second))
    return type_


@cache
def signature(name: str) -> tuple[tuple[Type, ...], Type]:
    """The types of a primitive's arguments, and of its result."""
    row = IN_MONO[name]
    type_ = primitive_scheme(name, row.mono_type or row.type).type
    assert isinstance(type_, Fun)
    return components(type_.argument), type_.result
