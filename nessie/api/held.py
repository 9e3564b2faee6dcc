"""Holds the arguments of a call in variables of a session of its own, so that the call becomes a program with the
function as its entry (nessie.session.calling), as the command line has it."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nessie.api.values.taking import Taken
from nessie.base.source import NessieError
from nessie.session.calling import Prepared, prepare_call
from nessie.session.session import Session
from nessie.syntax import nodes as syntax


@dataclass(frozen=True)
class Held:
    """A copy of the program's session with names for the arguments, and notes on their conversions."""
    session: Session
    names: list[syntax.Exp]
    notes: list[str]

    def prepared(self, function: str) -> Prepared:
        return prepare_call(self.session, function, self.names)


def held(before: Session, function: str, given: Sequence[Any], taken: Callable[[], Taken]) -> Held:
    """What is `given`, which the function takes as `taken` says."""
    entry = before.environment.lookup(function)
    if entry and entry.defaults and len(given) < entry.arity and not (given and isinstance(given[-1], tuple)):
        raise NessieError(f"views and times of {function} need all {entry.arity} parameters, and there are "
                          f"arguments for {len(given)}",
                          hint=f"give {', '.join(name for name, _ in entry.defaults)}, too, which calls may leave out")
    found = taken()
    if found.device:
        raise NessieError("arguments on a GPU are neither explained nor timed",
                          hint='kernels are explained by types, too: type="[float]", type="([int], float)"')
    session = replace(before, values=dict(before.values))
    names: list[syntax.Exp] = [session.hold(f"argument_{number}", argument.value, argument.type)
                               for number, argument in enumerate(found.arguments, 1)]
    return Held(session, names, found.notes)
