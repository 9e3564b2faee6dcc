"""Performs effects in the interpreter, in NESL's order: the elements of an apply-to-each run in lockstep.

All elements of an apply-to-each take a step before any takes the next. So the output of the first print in its body,
for every element, comes before that of the second. The interpreter evaluates one element after another. It therefore
holds their output back until the outermost apply-to-each ends, and sorts it: by the place of the print in the program
(the calls that led there, each by its place in the body around it), then by the elements' positions. An element that
fails does not keep the others from going on: of all failures the first in the same order is told, and what is printed
after it is dropped.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from nessie.base.effects import Perform, no_effects
from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.types import ContentOf, Data, Fun, Pair, Seq, Type, expand
from nessie.base.values import Record, flatten_value, plain_value
from nessie.interpreter.meanings import Failure
from nessie.library.primitives import LIFTED_EFFECTS, ONE_AT_A_TIME, TOGETHER
from nessie.typing import nodes as typed
from nessie.typing.walk import parts

Place = tuple[float, ...]
Positions = tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """A call under way: the application (None for the form that the run began with), the body that it runs, and what
    the parameters are bound to."""
    site: typed.Apply | None
    body: typed.Exp
    given: Mapping[str, Any] = field(default_factory=dict)


class StepFailed(NessieError):
    """A failure of an element: `at` are its place and positions."""

    def __init__(self, error: NessieError, at: tuple[Place, Positions]) -> None:
        super().__init__(error.message, *error.places, hint=error.hint)
        self.at = at


@dataclass
class Effects:
    """The effects of a run. `positions`: those of the elements under way, outermost first; `held`: output with its
    place, its positions and its type; `numbers`: by the ids of bodies, which it keeps alive, so that the ids stay
    unique."""
    perform: Perform = no_effects
    positions: list[int] = field(default_factory=list)
    held: list[tuple[Place, Positions, str, Any, Type]] = field(default_factory=list)
    numbers: dict[int, tuple[typed.Exp, dict[int, int]]] = field(default_factory=dict)

    def do(self, name: str, argument: Any, type_: Fun, content: ContentOf, calls: list[Call], site: typed.Apply) -> Any:
        """Perform the effect of this type on a plain value. Returns its result, a plain value."""
        self.allow(name)
        if self.positions and name in TOGETHER:
            self.held.append((self.place(calls, site), tuple(self.positions), name, argument, type_.argument))
            return True
        takes, gives = expand(type_.argument, content), expand(type_.result, content)
        given = self.perform(name, flatten_value(bare(argument), takes), takes)
        return dressed(plain_value(given, gives), type_.result, content)

    def allow(self, name: str) -> None:
        """Raise Failure unless the effect may happen here."""
        if self.positions and name not in LIFTED_EFFECTS:
            raise Failure(ONE_AT_A_TIME)

    def let_out(self) -> None:
        """Let out the held output, as the outermost apply-to-each has ended."""
        held, self.held = sorted(self.held, key=lambda output: output[:2]), []
        for _, _, name, argument, takes in held:
            self.perform(name, flatten_value(argument, takes), takes)

    def failed(self, error: NessieError, calls: list[Call], site: typed.Exp | None, after: bool) -> NessieError:
        """The error, of an element if there are elements under way; `site`: what its step stands at, or `after`."""
        if not self.positions:
            return error
        place = self.place(calls, site)
        return StepFailed(error, ((*place, math.inf) if after else place, tuple(self.positions)))

    def drop_after(self, place: Place) -> None:
        """Drop the held output of this step and later ones."""
        self.held = [output for output in self.held if output[0] < place]

    def place(self, calls: list[Call], site: typed.Exp | None) -> Place:
        """The place of a step: the numbers of the calls under way in their bodies, then its own number."""
        sites = [call.site for call in calls[1:]] + [site]
        return tuple([self.number(call.body, site) for call, site in zip(calls, sites, strict=True)])

    def number(self, body: typed.Exp, site: typed.Exp | None) -> int:
        """The number of an expression in a body, in order of evaluation; what is none of its parts comes last."""
        if id(body) not in self.numbers:
            self.numbers[id(body)] = body, {id(exp): k for k, exp in enumerate(in_order(body))}
        numbers = self.numbers[id(body)][1]
        return numbers.get(id(site), len(numbers))


def in_order(body: typed.Exp) -> list[typed.Exp]:
    """The expression and all its parts, from left to right. The parts of an expression come before it."""
    found, pending = [], [body]
    while pending:
        found.append(pending.pop())
        pending.extend(parts(found[-1]))
    return found[::-1]


# Datatypes --------------------------------------------------------------------------------------

def bare(value: Any) -> Any:
    """The value with each datatype's value replaced by its content."""
    match value:
        case Record(_, content):
            return bare(content)
        case tuple():
            return bare(value[0]), bare(value[1])
        case list():
            return [bare(element) for element in value]
    return value


def dressed(value: Any, type_: Type, content: ContentOf) -> Any:
    """The value of the type with its datatypes, given the value without them."""
    match type_:
        case Data(name):
            return Record(name, dressed(value, content(type_), content))
        case Pair(first, second):
            return dressed(value[0], first, content), dressed(value[1], second, content)
        case Seq(element):
            return [dressed(v, element, content) for v in value]
    return value
