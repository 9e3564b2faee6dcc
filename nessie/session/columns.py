"""Names for the columns of a function's result: those of the variables of which it makes tuples.

    function areas(rooms) = {(name, width * depth) : (name, width, depth) in rooms}         name, and none
"""
from __future__ import annotations

from nessie.base.names import shown_name
from nessie.base.types import Data, unnest_right
from nessie.typing import nodes as typed
from nessie.typing.environment import Environment


def column_names(function: str, environment: Environment) -> list[str]:
    """The names of the components of the elements that the function, by its internal name, returns; empty where there
    is none. No names if nothing is known."""
    return of_sequence(function, environment, set())


def of_sequence(function: str, environment: Environment, seen: set[str]) -> list[str]:
    found = environment.program.function(function)
    if found is None or function in seen:
        return []
    seen.add(function)
    match result(found.body):
        case typed.Each(body):
            return of_tuple(result(body), environment)
        case typed.Sequence((first, *_)):
            return of_tuple(first, environment)
        case typed.Apply(typed.Global(called)):
            return of_sequence(called, environment, seen)
    return []


def of_tuple(exp: typed.Exp, environment: Environment) -> list[str]:
    """The names of the components of a tuple, or of a datatype's value."""
    match exp:
        case typed.Apply(typed.Global(name), argument, Data()) if environment.program.datatype(name) is not None:
            return of_tuple(argument, environment)
    return [shown_name(part.name) if isinstance(part, typed.Name) else "" for part in unnest_right(exp, typed.Pair)]


def result(exp: typed.Exp) -> typed.Exp:
    """The expression whose value is that of this one: of a let the last, of branches the first."""
    while isinstance(exp, typed.Let | typed.If):
        exp = exp.body if isinstance(exp, typed.Let) else exp.then
    return exp
