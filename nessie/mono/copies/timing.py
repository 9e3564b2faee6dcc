"""Translates time(e) to mono code: the clock before, the value, the clock after.

    let began = _now(t); value = e; ended = _now(some scalar of value) in (value, ended - began)

The second reading of the clock depends on a scalar of every array of the value. So the value is computed between the
two readings, even if the program does not need it. `_now` does not look at its argument.
"""
from __future__ import annotations

from nessie.base.names import Names
from nessie.base.source import Origin
from nessie.base.types import BOOL, FLOAT, INT, Pair, Seq
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of
from nessie.mono.nodes import Exp
from nessie.mono.walk import let_chain

TRUE, ZERO = mono.Const(True, BOOL), mono.Const(0, INT)


def timed(exp: Exp, names: Names, origin: Origin) -> tuple[list[tuple[str, Exp]], mono.Var, Exp]:
    """Return the lets, the value's name, and the seconds."""
    began, value, ended = map(names.fresh, ("began", "value", "ended"))
    there = mono.Var(value, type_of(exp))
    bound = [(began, now(TRUE, origin)), (value, exp), (ended, now(scalar_of(there, names, origin), origin))]
    return bound, there, mono.Prim("-", (mono.Var(ended, FLOAT), mono.Var(began, FLOAT)), FLOAT, origin=origin)


def now(argument: Exp, origin: Origin) -> Exp:
    return mono.Prim("_now", (argument,), FLOAT, origin=origin)


def scalar_of(value: Exp, names: Names, origin: Origin) -> Exp:
    """Return a bool that depends on a scalar of each array of the value that has elements."""
    match type_of(value):
        case Pair():
            both = scalar_of(mono.First(value), names, origin), scalar_of(mono.Second(value), names, origin)
            return mono.Prim("and", both, BOOL, origin=origin)
        case Seq(Seq(element)):
            name = names.fresh("value")
            flat = mono.Prim("flatten", (value,), Seq(element), origin=origin)
            return let_chain([(name, flat)], scalar_of(mono.Var(name, Seq(element)), names, origin))
        case Seq(element):
            none = mono.Prim("==", (mono.Prim("length", (value,), INT, origin=origin), ZERO), BOOL, origin=origin)
            first = mono.Prim("elt", (value, ZERO), element, origin=origin)
            name = names.fresh("value")
            there = let_chain([(name, first)], scalar_of(mono.Var(name, element), names, origin))
            return mono.If(none, TRUE, there, origin=origin)
    return mono.Prim("==", (value, value), BOOL, origin=origin)
