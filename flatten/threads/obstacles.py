"""Why functions do not run per element: for each, what stands against it first.

    function mean(v) = sum(v) / #v        sum(v) is parallel
"""
from __future__ import annotations

from collections.abc import Set

from nessie.base.records import dataclass
from nessie.base.source import Origin
from nessie.flatten.threads.functions import loops, thread_level
from nessie.flatten.threads.thread import Purity
from nessie.mono import nodes as mono
from nessie.mono.walk import called, parts

PARALLEL, MAKES, RECURS, CALLS = "parallel", "makes", "recurs", "calls"


@dataclass(frozen=True)
class Obstacle:
    """What does not run per element. `why`: it is parallel, it makes a sequence, it recurs as a loop cannot, or it
    calls the function `callee`, which does not run per element."""
    why: str
    origin: Origin
    callee: str = ""


def obstacles(program: mono.Program, recursion: bool) -> dict[str, Obstacle | None]:
    """Return what stands first against running each function per element; None: nothing, it runs so. The entry is one
    of them if the program calls it."""
    found = thread_level(program, recursion)
    callees = {name for f in program.functions for name in called(f.body)}
    everything = Purity({f.name for f in program.functions})
    return {f.name: None if f.name in found else obstacle(f, found, everything, recursion)
            for f in program.functions if f.name in callees}


def obstacle(function: mono.Function, found: Set[str], everything: Purity, recursion: bool) -> Obstacle:
    """`everything`: takes all functions to run per element."""
    if not everything.pure(function.body):
        return first_in(function.body, everything)
    if not recursion and not loops(function):
        return Obstacle(RECURS, function.origin)
    purity = Purity({*found, function.name})
    return Obstacle(RECURS, function.origin) if purity.pure(function.body) else first_in(function.body, purity)


def first_in(exp: mono.Exp, purity: Purity) -> Obstacle:
    """Return the first part of the expression that is not pure, while its own parts are."""
    match exp:
        case mono.Each():
            return Obstacle(PARALLEL, exp.origin)
        case mono.Literal() | mono.String():
            return Obstacle(MAKES, exp.origin)
        case mono.Prim("check", (condition, _, value)):
            inside: tuple[mono.Exp, ...] = (condition, value)
        case _:
            inside = parts(exp)
    for part in inside:
        if not purity.pure(part):
            return first_in(part, purity)
    return Obstacle(CALLS, exp.origin, exp.function) if isinstance(exp, mono.Call) else Obstacle(PARALLEL, exp.origin)
