"""Adds the failing values to the error of a failed check.

A compiled program says which check has failed, where, and at which element of an apply-to-each. It does not know the
values, which may never have been in memory, nor where in its row an element is. The interpreter finds both: it
evaluates the form once more, if that takes little work. If its error is the same, and no recursion is involved, the
values are the same, too. Output is not printed again, and a form with any other effect is not repeated.
"""
from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span, Unsupported, called_from, places, user_span
from nessie.base.system.deadline import deadline
from nessie.base.types import Type, Var
from nessie.base.values import Flat, Nested
from nessie.interpreter import interpreter
from nessie.interpreter.effects import Effects, StepFailed
from nessie.interpreter.meanings import mix
from nessie.library.primitives import TOGETHER
from nessie.session.library_calls import LibraryCall, library_call
from nessie.session.variables import Variables
from nessie.typing import nodes as typed
from nessie.typing.advice.hints import from_end
from nessie.typing.environment import Environment

WORK = 50_000               # the interpreter's largest work
SECONDS = 0.3
DEPTH = 1_000
CHECKED = re.compile(r"[A-Z].*\.")         # messages of checks are sentences


@dataclass
class Brief(interpreter.World):
    """An interpreter's world that gives up after much work, and at the time `end` (of time.monotonic)."""
    end: float = math.inf

    def charge(self, work: int, depth: int = 1) -> None:
        super().charge(work, depth)
        self.expect(0)

    def expect(self, elements: int) -> None:
        if self.work + elements > WORK:
            raise Unsupported("this would take too long")
        if time.monotonic() > self.end:
            raise Unsupported("this has taken too long")


class Small(Variables):
    """The session's variables, except for large ones, which are refused."""

    def __missing__(self, name: str) -> Any:
        if elements(self.values_of_session[name]) > WORK:
            raise Unsupported(f"{name} is too large")
        return super().__missing__(name)


def with_values(error: NessieError, exp: typed.Exp, values: Mapping[str, Any], environment: Environment,
                seed: int) -> NessieError:
    """The error of this expression, as that of the library's function in which it has happened, and with the failing
    values if they are found soon."""
    if not CHECKED.fullmatch(error.message):
        return error
    told, call = copy(error), library_call(error.span, error.message, exp, environment)
    if call is not None:
        told.message, told.hint = call.message(error.message), error.hint or call.hint
    elif error.span is not None:
        told.hint = error.hint or from_end(error.span)
    defined = environment.program
    world = Brief(environment.library, dict(defined.functions), dict(defined.datatypes),
                  Small(dict(values), environment), Effects(printing_nothing), DEPTH, mix(seed),
                  widths=environment.widths, end=min(time.monotonic() + SECONDS, deadline().end))
    definition = typed.Variable(typed.NamePattern("it", Var("a")), exp)
    with suppress(Exception):           # whatever happens here must not hide the user's error
        try:
            interpreter.run(typed.Program((definition,)), world)
        except NessieError as again:
            if again.message == error.message and is_same(error, again, world):
                add_values(told, again, world, call)
    return told


def add_values(error: NessieError, again: NessieError, world: interpreter.World, call: LibraryCall | None) -> None:
    """Add to the error what the interpreter has found out about it, and about the call of the library around it."""
    label, found = (error.places[0][1], again.places[0][1]) if error.places else ("", "")
    inside = isinstance(again, StepFailed) and len(again.at[1]) > len(world.elements)
    if call is not None and (again.message != error.message or not inside or call.wrong_rows(given(world))):
        label, found = "", call.values(given(world), world.widths.digits)       # not those of the library's own steps
    if error.span is None:
        error.message = f"{error.message.removesuffix('.')}: {found}." if found else error.message
        return
    written = squeezed(error.span.source.text[error.span.start:error.span.end])
    parts = [part for part in (with_rows(label, world.elements), found) if part and squeezed(part) != written]
    calls = called_from((error.span,), [call.site.origin for call in reversed(world.calls) if call.site])
    error.places = ((error.span, ": ".join(parts)), *(error.places[1:] or places(calls)[1:]))


def given(world: interpreter.World) -> Mapping[str, Any]:
    """What the parameters are bound to of the function that the user has called last; of the only one, if none stands
    in a text."""
    calls = [call for call in world.calls if call.site and user_span(call.site.origin)] or world.calls[1:2]
    return calls[-1].given


def is_same(error: NessieError, again: NessieError, world: interpreter.World) -> bool:
    """Whether both errors have the same place and the same calls of the user's functions around it, none of them
    twice; an error that tells its element came in the element's own thread, which calls as the interpreter does."""
    bodies = [id(call.body) for call in world.calls]
    calls: set[Span] = {span for call in world.calls if call.site and (span := user_span(call.site.origin))}
    return (again.span == error.span
            and (len(set(bodies)) == len(bodies) or bool(error.places and error.places[0][1]))
            and all(span in calls for span, _ in error.places[1:]))


def with_rows(label: str, positions: Sequence[int]) -> str:
    """The label that tells the element, with the positions in all of the apply-to-eaches around it: of an element in a
    row, the program has told none."""
    if positions and label in ("", f"at element {positions[0]}"):
        return f"at element {positions[0] if len(positions) == 1 else ''.join([f'[{at}]' for at in positions])}"
    return label


def squeezed(text: str) -> str:
    return "".join(text.split())


def printing_nothing(name: str, argument: Any, takes: Type) -> Any:
    if name in TOGETHER:
        return True
    raise Unsupported(f"{name} is not done twice")


def elements(value: Any) -> int:
    """The number of scalars in a run-time value."""
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
