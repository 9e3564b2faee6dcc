"""A failed check with the values that made it fail.

Compiled programs say which check has failed, where, and at which element of an apply-to-each; not the values, which
may never have been in memory. The interpreter finds them: it evaluates the form once more, if that is short work, and
if its error is the same one, in no recursion, then so are the values. What programs print is not printed again, and a
form that does anything else to the world is not repeated.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from nessie.base.source import NessieError, Span, Unsupported, user_span
from nessie.base.types import Type, Var
from nessie.base.values import Flat, Nested
from nessie.frontend import interpreter, typed
from nessie.frontend.advice import from_end
from nessie.frontend.environment import Environment
from nessie.frontend.interpreted_effects import Effects
from nessie.frontend.meanings import mix
from nessie.variables import Variables

WORK = 1_000_000            # of the interpreter, at most
DEPTH = 1_000
CHECKED = re.compile(r"[A-Z].*\.")         # messages of checks are sentences


class Brief(interpreter.World):
    """Gives up where much is to be done."""

    def charge(self, work: int, depth: int = 1) -> None:
        super().charge(work, depth)
        self.expect(0)

    def expect(self, elements: int) -> None:
        if self.work + elements > WORK:
            raise Unsupported("this would take too long")


def with_values(error: NessieError, exp: typed.Exp, values: Mapping[str, Any], environment: Environment,
                seed: int) -> NessieError:
    """The error of this expression, which says what values have failed if that is found."""
    if not CHECKED.fullmatch(error.message) or not error.places:
        return error
    error.hint = error.hint or from_end(error.places[0][0])
    if sum(elements(value) for value in values.values()) > WORK:
        return error
    defined = environment.program
    world = Brief(environment.library, dict(defined.functions), dict(defined.datatypes),
                  Variables(dict(values), environment), Effects(printing_nothing), DEPTH, mix(seed))
    definition = typed.Variable(typed.NamePattern("it", Var("a")), exp)
    with suppress(MemoryError, RecursionError):
        try:
            interpreter.run(typed.Program((definition,)), world)
        except NessieError as again:
            if again.message == error.message and is_same(error, again, world):
                (span, label), (_, found) = error.places[0], again.places[0]
                written = squeezed(span.source.text[span.start:span.end])
                parts = [part for part in (label, found) if part and squeezed(part) != written]
                error.places = ((span, ": ".join(parts)), *error.places[1:])
    return error


def is_same(error: NessieError, again: NessieError, world: interpreter.World) -> bool:
    """Whether both stand at one place, with the same calls of the user's functions around it, none of them twice."""
    bodies = [id(call.body) for call in world.calls]
    calls: set[Span] = {span for call in world.calls if call.site and (span := user_span(call.site.origin))}
    return (bool(again.places) and again.places[0][0] == error.places[0][0] and len(set(bodies)) == len(bodies)
            and all(span in calls for span, _ in error.places[1:]))


def squeezed(text: str) -> str:
    return "".join(text.split())


def printing_nothing(name: str, argument: Any, takes: Type) -> Any:
    if name == "print_string":
        return True
    raise Unsupported(f"{name} is not done twice")


def elements(value: Any) -> int:
    """How many scalars a run-time value has."""
    match value:
        case np.ndarray():
            return int(value.size)
        case Flat(_, column):
            return elements(column)
        case Nested(offsets, content):
            return len(offsets) + elements(content)
        case tuple():
            return sum(map(elements, value))
    return 1
