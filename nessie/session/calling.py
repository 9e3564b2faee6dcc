"""Makes a call of a function a program of its own: the function is the entry, and gets the values of the arguments.

A session computes a call like any expression: the code of the arguments is in one program with the function's. A user
who names kernels or sizes means those of the function alone, as `nessie explain` shows them.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.types import Data, Pair, Type, nest_right
from nessie.mono import nodes as mono
from nessie.mono.copies.copies import monomorphic
from nessie.mono.copies.erase import content, remains
from nessie.running.results import parts
from nessie.syntax import nodes as syntax
from nessie.typing import nodes as typed
from nessie.typing.advice.messages import no_function
from nessie.typing.environment import Environment, pattern_type

if TYPE_CHECKING:
    from nessie.session.session import Session


@dataclass(frozen=True)
class Prepared:
    """A program and the run-time values of its entry's parameters. `alone`: the entry is a function that the user
    named."""
    program: mono.Program
    arguments: list[Any]
    alone: bool = False


def tuple_of(arguments: Sequence[syntax.Exp]) -> syntax.Exp:
    return nest_right(list(arguments), lambda first, rest: syntax.Pair(first, rest, span=first.span))


def prepare_call(session: Session, function: str, arguments: Sequence[syntax.Exp]) -> Prepared:
    """The function at the types of the arguments as a program, with the arguments' values."""
    tuple_ = tuple_of(arguments)
    made, environment = session.inferred(syntax.Evaluate(tuple_, span=tuple_.span))
    (definition,) = made.definitions
    assert isinstance(definition, typed.Variable)           # an expression is one
    type_ = pattern_type(definition.pattern)
    held = held_values(session, arguments)
    value = session.run_prepared(session.prepare(definition.value, type_)) if held is None else \
        nest_right(held, lambda first, rest: (first, rest))
    known = environment.lookup(function)
    if known is None:
        raise no_function(function, environment.functions(), environment.names())
    if known.kind != "function":
        raise NessieError(f"{function} is no function of the program")
    found = monomorphic(environment, known.name, type_)
    values = taken_apart(environment.function(known.name).parameter, value, type_, environment)
    return Prepared(found.program, [*values, *(session.values[v.name] for v in found.variables)], alone=True)


def held_values(session: Session, arguments: Sequence[syntax.Exp]) -> list[Any] | None:
    """The values of arguments that the session holds, in the form that they have; None if it does not hold all."""
    if not all([isinstance(exp, syntax.Name) and exp.name in session.values for exp in arguments]):
        return None
    return [session.values[exp.name] for exp in arguments if isinstance(exp, syntax.Name)]


def taken_apart(pattern: typed.Pattern, value: Any, type_: Type, environment: Environment) -> list[Any]:
    """The run-time values of those of the pattern's names of which something is left at run time."""
    match pattern, type_:
        case typed.PairPattern(first, second), Pair(a, b):
            one, other = parts(value, type_, False, environment)
            return [*taken_apart(first, one, a, environment), *taken_apart(second, other, b, environment)]
        case typed.DataPattern(_, _, inner), Data():
            return taken_apart(inner, value, content(type_, environment), environment)
    return [value] if remains(type_, environment) else []
