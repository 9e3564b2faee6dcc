"""Erasure: what is left of a value at run time.

A datatype is its content. Which function a function value is its type tells, so at run time it is the values that it
captured, as a tuple; nothing, if none. Nothing is no component of a tuple; where a type is needed all the same, as in a
sequence of functions, it is a bool, false.
"""
from __future__ import annotations

from nessie.base.source import InternalError
from nessie.base.types import BOOL, INT, Base, Data, Fun, Identity, Pair, Seq, Type, Var
from nessie.frontend.environment import Environment
from nessie.frontend.typed_typing import content_type

LARGEST = 5_000             # nodes of a type: no program needs more, polymorphic recursion does


def erase(type_: Type, environment: Environment) -> Type | None:
    """The type at run time; None for nothing."""
    match type_:
        case Base():
            return type_
        case Seq(element):
            return Seq(erase(element, environment) or BOOL)
        case Pair(first, second):
            return both(erase(first, environment), erase(second, environment))
        case Data():
            return erase(content(type_, environment), environment)
        case Fun(_, _, Identity(_, _, captured)):
            result: Type | None = None
            for inner in reversed(captured):
                result = both(erase(inner, environment), result)
            return result
        case Var():
            return INT              # nothing depends on it: any type does, and int is in every class
    raise InternalError(f"a value of type {type_}")


def both(first: Type | None, second: Type | None) -> Type | None:
    return Pair(first, second) if first and second else first or second


def content(data: Data, environment: Environment) -> Type:
    """What the datatype's constructor is applied to."""
    datatype = environment.datatype(data.name)
    if datatype is None:
        raise InternalError(f"datatype {data.name} is not defined")
    return content_type(datatype, data)


def is_too_large(types: tuple[Type, ...]) -> bool:
    """Have the types more than LARGEST nodes in all?"""
    pending, seen = list(types), 0
    while pending:
        seen += 1
        if seen > LARGEST:
            return True
        match pending.pop():
            case Seq(element):
                pending.append(element)
            case Pair(first, second):
                pending += (first, second)
            case Fun(argument, result, identity):
                pending += (argument, result, identity)
            case Identity(_, inner, captured):
                pending += inner + captured
            case Data(_, arguments):
                pending += arguments
    return False
