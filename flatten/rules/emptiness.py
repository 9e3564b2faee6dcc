"""Conditionals that ask whether a sequence is empty: the domain need not be divided.

    if #r == 0 then c else sum(r) / #r      becomes      let s = sum(r) in if #r == 0 then c else s / #r

Where r is empty, its sum has nothing to do: an operation over r, or over what is as long, adds no work but a constant,
and can fail at elements only. So what is parallel in the branch is done for all activations, if all of it is so; the
conditional chooses between scalar codes. What is done before goes on to be first to fail: nothing that stays in the
conditional may fail before it.
"""
from __future__ import annotations

from collections.abc import Set

from nessie.flatten.translator import Translator
from nessie.lambda_cu.ops import COMPARISONS, TURNED
from nessie.library.primitives import IN_MONO
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of
from nessie.mono.walk import mentioned

EMPTY = {("==", 0), ("<", 1), ("<=", 0)}        # #r and this: it is empty
FULL = {("/=", 0), (">", 0), (">=", 1)}
REDUCED = tuple([name for name in IN_MONO if name.startswith("reduce_")])
AS_LONG = (*[name for name in IN_MONO if name.startswith("scan_")], "order", "order_down", "sort")
Bound = list[tuple[str, mono.Exp]]


def undivided(t: Translator, exp: mono.If) -> tuple[Bound, mono.If] | None:
    """Return what all activations do first, by name, and the pure conditional that is left; None if there is none."""
    if (asked := asks(exp.condition)) is None:
        return None
    name, first = asked
    alone, other = (exp.then, exp.orelse) if first else (exp.orelse, exp.then)
    parting = Parting(t)
    if not (t.purity.pure(alone) and parting.idle(alone, {name})):
        return None
    left = parting.left(other, {name}, frozenset())
    if left is None:
        return None
    then, orelse = (alone, left) if first else (left, alone)
    return parting.bound, mono.If(exp.condition, then, orelse, origin=exp.origin)


def asks(condition: mono.Exp) -> tuple[str, bool] | None:
    """Return the name of the sequence, and whether the condition holds if it is empty (else: if it is not)."""
    match condition:
        case mono.Prim("not", (inner,)) if found := asks(inner):
            return found[0], not found[1]
        case mono.Prim(name, (mono.Const() as number, mono.Prim("length") as length)) if name in COMPARISONS:
            return asks(mono.Prim(TURNED.get(name, name), (length, number), condition.type))
        case mono.Prim(name, (mono.Prim("length", (mono.Var(sequence),)), mono.Const(number))):
            if (name, number) in EMPTY | FULL:
                return sequence, (name, number) in EMPTY
    return None


class Parting:
    """Parts a branch into what all activations do, `bound`, and what is left. `fails`: may what is left so far fail?"""

    def __init__(self, t: Translator) -> None:
        self.t = t
        self.bound: Bound = []
        self.fails = False

    def left(self, exp: mono.Exp, empty: Set[str], local: frozenset[str]) -> mono.Exp | None:
        """`empty`: the names of sequences that are empty, and of lengths that are 0; `local`: names that are bound in
        what is left."""
        if self.t.purity.pure(exp):
            self.fails = self.fails or not self.idle(exp, empty)
            return exp
        if self.movable(exp, empty, local):
            name = f"#part{len(self.bound)}"
            self.bound.append((name, exp))
            return mono.Var(name, type_of(exp))
        match exp:
            case mono.Let(name, value, body):
                used = not self.t.purity.pure(value) or (not self.t.purity.pure(body) and name in mentioned(body))
                if used and self.movable(value, empty, local):
                    self.bound.append((name, value))
                    return self.left(body, self.after(name, value, empty), local)
                first, then = self.left(value, empty, local), self.left(body, empty, local | {name})
                return mono.Let(name, first, then, origin=exp.origin) if first and then else None
            case mono.Pair(a, b):
                first, then = self.left(a, empty, local), self.left(b, empty, local)
                return mono.Pair(first, then, origin=exp.origin) if first and then else None
            case mono.First(pair) | mono.Second(pair):
                first = self.left(pair, empty, local)
                return type(exp)(first, origin=exp.origin) if first else None
            case mono.Prim(name, arguments) if IN_MONO[name].kind == "scalar":
                parts = [self.left(a, empty, local) for a in arguments]
                self.fails = self.fails or IN_MONO[name].checked
                found = tuple([part for part in parts if part])
                return mono.Prim(name, found, exp.type, origin=exp.origin) if len(found) == len(parts) else None
        return None

    def movable(self, exp: mono.Exp, empty: Set[str], local: frozenset[str]) -> bool:
        return not self.fails and self.idle(exp, empty) and local.isdisjoint(mentioned(exp))

    def idle(self, exp: mono.Exp, empty: Set[str]) -> bool:
        """Does the expression do but a constant number of things that cannot fail?"""
        def all_idle(*parts: mono.Exp) -> bool:
            return all([self.idle(part, empty) for part in parts])

        match exp:
            case mono.Const() | mono.Var():
                return True
            case mono.Let(name, value, body):
                return all_idle(value) and self.idle(body, self.after(name, value, empty))
            case mono.If(condition, then, orelse):
                return self.t.purity.pure(exp) and all_idle(condition, then, orelse)
            case mono.Pair(first, second):
                return all_idle(first, second)
            case mono.First(pair) | mono.Second(pair):
                return all_idle(pair)
            case mono.Prim(name, (argument,)) if name in REDUCED:
                return self.is_empty(argument, empty)
            case mono.Prim(name, arguments) if IN_MONO[name].kind == "scalar" or name == "length":
                return not IN_MONO[name].checked and all_idle(*arguments)
            case mono.Call(function, (*captured, identity, sequence)):
                fold = self.t.functions[function].fold
                return (fold is not None and fold.form == "reduce" and self.is_empty(sequence, empty)
                        and all_idle(*captured, identity))
        return self.is_empty(exp, empty)

    def is_empty(self, exp: mono.Exp, empty: Set[str]) -> bool:
        """Is it an empty sequence, which is made without doing anything or failing?"""
        match exp:
            case mono.Var(name):
                return name in empty
            case mono.Let(name, value, body):
                return self.idle(value, empty) and self.is_empty(body, self.after(name, value, empty))
            case mono.Each(_, generators, _):
                return all([self.is_empty(generator.source, empty) for generator in generators])
            case mono.Prim("iseq", (mono.Const(0), mono.Const(int(step)), end)) if step > 0:
                return self.is_zero(end, empty)
            case mono.Prim(name, (argument,)) if name in AS_LONG:
                return self.is_empty(argument, empty)
        return False

    def after(self, name: str, value: mono.Exp, empty: Set[str]) -> Set[str]:
        """What is empty, or 0, once the name means the value."""
        return {*empty, name} if self.is_empty(value, empty) or self.is_zero(value, empty) else empty

    def is_zero(self, exp: mono.Exp, empty: Set[str]) -> bool:
        match exp:
            case mono.Var(name):
                return name in empty
            case mono.Prim("length", (sequence,)):
                return self.is_empty(sequence, empty)
        return False
