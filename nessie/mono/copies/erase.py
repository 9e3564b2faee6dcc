"""Erasure of types to those that values have at run time.

A datatype becomes its content. A function value's type names the function, so at run time it is only the tuple of its
captured values, or nothing if there are none. Ints and floats tell their widths by the names of their types. A
component that is nothing leaves its tuple; where a type is needed all the same, as in a sequence of functions, nothing
is the bool false.
"""
from __future__ import annotations

from nessie.base.source import InternalError
from nessie.base.types import BOOL, INT, LIKE, Base, Data, Fun, Identity, Pair, Seq, Type, Var
from nessie.typing.environment import Environment
from nessie.typing.node_types import content_type

Erased = dict[Type, "Type | None"]


def erase(type_: Type, environment: Environment, known: Erased | None = None) -> Type | None:
    """Return the type at run time; None for nothing. `known`: the types erased before, to which this adds."""
    known = {} if known is None else known
    if type_ not in known:
        known[type_] = found(type_, environment, known)
    return known[type_]


def found(type_: Type, environment: Environment, known: Erased) -> Type | None:
    match type_:
        case Base(name):
            return Base(LIKE[name]) if name.startswith("_") else Base(environment.widths.base(name))
        case Seq(element):
            return Seq(erase(element, environment, known) or BOOL)
        case Pair(first, second):
            return both(erase(first, environment, known), erase(second, environment, known))
        case Data():
            return erase(content(type_, environment), environment, known)
        case Fun(_, _, Identity(_, _, captured)):
            result: Type | None = None
            for inner in reversed(captured):
                result = both(erase(inner, environment, known), result)
            return result
        case Var():
            return found(INT, environment, known)       # nothing depends on it, and int is in every class
    raise InternalError(f"a value of type {type_}")


def remains(type_: Type, environment: Environment) -> bool:
    """Is anything of a value of the type left at run time?"""
    match type_:
        case Pair(first, second):
            return remains(first, environment) or remains(second, environment)
        case Data():
            return remains(content(type_, environment), environment)
        case Fun(_, _, Identity(_, _, captured)):
            return any([remains(inner, environment) for inner in captured])
    return True


def both(first: Type | None, second: Type | None) -> Type | None:
    return Pair(first, second) if first and second else first or second


def content(data: Data, environment: Environment) -> Type:
    """Return the argument type of the datatype's constructor."""
    datatype = environment.datatype(data.name)
    if datatype is None:
        raise InternalError(f"datatype {data.name} is not defined")
    return content_type(datatype, data)
