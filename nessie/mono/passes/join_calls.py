"""Pass: join calls of one function that end both branches of a conditional.

  in    mono
  out   mono: `if c then f(a, x) else f(b, x)` becomes f(if c then a else b, x)
  how   If a branch is again a conditional, with a call at the end of only one of its branches, a first conditional
        decides whether to call, a second chooses the arguments. Equal arguments are passed as they are. The
        conditional chooses others if that costs no more than making them did: scalars, and sequences of scalars made
        here.
  why   A lifted function runs both calls one after the other, each for a part of the elements. In a recursion such as
        a binary search, the calls would double with each level, and launches would be as many as elements.
  sound because each element evaluates the same expressions in the same order.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.types import BOOL, Base, Pair, Seq, Type, is_scalars, zero_of
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of
from nessie.mono.nodes import Exp
from nessie.mono.walk import binders, called, is_trivial, let_chain, map_parts

Bound = list[tuple[str, Exp]]       # the names and values of a chain of lets
TRUE, FALSE = mono.Const(True, BOOL), mono.Const(False, BOOL)


def join_calls(program: mono.Program) -> mono.Program:
    calls = [called(f.body) for f in program.functions]
    if all(len(found) == len(set(found)) for found in calls):
        return program
    functions, names = {f.name: f for f in program.functions}, Names(binders(program))
    return replace(program, functions=tuple([
        replace(f, body=Frame(functions, names, {}).joined(f.body)) for f in program.functions]))


@dataclass(frozen=True)
class Ending:
    """A branch: `bound`, then, if `when` holds, the call of the function after the lets `before`; else `other`, which
    is None where `when` is TRUE."""
    bound: Bound
    when: Exp
    before: Bound
    call: mono.Call
    other: Exp | None


def unchained(exp: Exp) -> tuple[Bound, Exp]:
    bound = []
    while isinstance(exp, mono.Let):
        bound.append((exp.name, exp.value))
        exp = exp.body
    return bound, exp


def endings(exp: Exp) -> list[Ending]:
    """Return the ways to see the branch as one that ends in a call."""
    bound, last = unchained(exp)
    if isinstance(last, mono.Call):
        return [Ending([], TRUE, bound, last, None)]
    if not isinstance(last, mono.If):
        return []
    (then_bound, then), (orelse_bound, orelse) = unchained(last.then), unchained(last.orelse)
    found = []
    if isinstance(then, mono.Call):
        found.append(Ending(bound, last.condition, then_bound, then, last.orelse))
    if isinstance(orelse, mono.Call):
        opposite = mono.If(last.condition, FALSE, TRUE, origin=last.origin)
        found.append(Ending(bound, opposite, orelse_bound, orelse, last.then))
    return found


@dataclass(frozen=True)
class Frame:
    """The expressions that one domain evaluates; `values`: the values of the names bound there."""
    functions: Mapping[str, mono.Function]
    names: Names
    values: dict[str, Exp]

    def joined(self, exp: Exp) -> Exp:
        bound: Bound = []
        while isinstance(exp, mono.Let):
            value = self.joined(exp.value)
            self.values[exp.name] = value
            bound.append((exp.name, value))
            exp = exp.body
        match exp:
            case mono.If(condition, then, orelse, origin=origin):
                parts = (self.joined(condition), self.joined(then), self.joined(orelse))
                exp = self.conditional(mono.If(*parts, origin=origin))
            case mono.Each(body, generators, condition, origin=origin):
                inside = replace(self, values={})
                sources = tuple([mono.Generator(g.name, self.joined(g.source)) for g in generators])
                kept = None if condition is None else inside.joined(condition)
                exp = mono.Each(inside.joined(body), sources, kept, origin=origin)
            case _:
                exp = map_parts(exp, self.joined)
        return let_chain(bound, exp)

    def conditional(self, exp: mono.If) -> Exp:
        """Return the conditional, with one call instead of those at the ends of its branches, if that is possible."""
        for then in endings(exp.then):
            for orelse in endings(exp.orelse):
                if then.call.function == orelse.call.function:
                    found = self.one_call(exp, then, orelse)
                    if found is not None:
                        return found
        return exp

    def one_call(self, exp: mono.If, then: Ending, orelse: Ending) -> Exp | None:
        """Join a conditional of two endings in calls of one function; None if the result would cost more. From

            if c then f(a, x) else let y = e in if d then z else f(b, x)

        it makes

            let taken = c in
            let both = if taken then (t, 0) else let y' = e in (if d then f else t, y') in
            let again = first(both) in let y = second(both) in
            if again then f(if taken then a else b, x) else z

        The names that the branches bind on the way are bound for all that follows, to zeros where the other branch was
        taken. Names are bound once in a program, so nobody else sees them.
        """
        choices = Choices(self)
        names = [p.name for p in self.functions[then.call.function].parameters]
        arguments = [choices.argument(*both) for both in zip(then.call.arguments, orelse.call.arguments, names)]
        carried = [*then.bound, *orelse.bound]
        if not choices.made or not choices.cheap or not all([is_scalars(type_of(value)) for _, value in carried]):
            return None
        taken = mono.Var(self.names.fresh("taken"), BOOL, origin=exp.origin)
        picked = mono.If(taken, let_chain(then.before, tupled([choice.then for choice in choices.made])),
                         let_chain(orelse.before, tupled([choice.orelse for choice in choices.made])),
                         origin=exp.origin)
        call = let_chain(self.parts([choice.name for choice in choices.made], picked),
                         mono.Call(then.call.function, tuple(arguments), then.call.type, origin=exp.origin))
        bound: Bound = [(taken.name, exp.condition)]
        others = [e.other for e in (then, orelse) if e.other is not None]
        if not others:
            return let_chain(bound, call)
        when = mono.Var(self.names.fresh("again"), BOOL, origin=exp.origin)
        decided = mono.If(taken, self.decision(then, [], orelse.bound), self.decision(orelse, then.bound, []),
                          origin=exp.origin)
        bound += self.parts([when.name, *(name for name, _ in carried)], decided)
        both = len(others) == 2
        other = self.conditional(mono.If(taken, *others, origin=exp.origin)) if both else others[0]
        return let_chain(bound, mono.If(when, call, other, origin=exp.origin))

    def decision(self, ending: Ending, before: Bound, after: Bound) -> Exp:
        """Return whether the branch calls, with the values that it binds on the way, between zeros for those of the
        other branch."""
        inner = {name: self.names.fresh(name) for name, _ in ending.bound}
        bound = [(inner[name], renamed(value, inner)) for name, value in ending.bound]
        own = [mono.Var(name, type_of(value)) for name, value in bound]
        zeros = [[zero(type_of(value)) for _, value in others] for others in (before, after)]
        return let_chain(bound, tupled([renamed(ending.when, inner), *zeros[0], *own, *zeros[1]]))

    def parts(self, names: list[str], value: Exp) -> Bound:
        """Bind the components of a tuple, or the value itself, to these names."""
        if len(names) == 1:
            return [(names[0], value)]
        whole = mono.Var(self.names.fresh("both"), type_of(value))
        return [(whole.name, value), *zip(names, untupled(whole, len(names)))]

    def is_cheap(self, exp: Exp) -> bool:
        """Was making the value here at least as much work as a copy of it? Then choosing it at most doubles the
        function's work."""
        type_ = type_of(exp)
        return is_scalars(type_) or (isinstance(type_, Seq) and is_scalars(type_.element) and self.is_made(exp))

    def is_made(self, exp: Exp) -> bool:
        """Have the sequence's elements been made in this domain, since the function began?"""
        match exp:
            case mono.Var(name):
                return name in self.values and self.is_made(self.values[name])
            case mono.Let(body=body):
                return self.is_made(body)
            case mono.If(_, then, orelse):
                return self.is_made(then) and self.is_made(orelse)
            case mono.Prim("subseq", (whole, *_)) | mono.Prim("check", (_, _, whole)):
                return self.is_made(whole)
            case mono.Prim(name):
                return name not in ("elt", "error")
        return isinstance(exp, mono.Each | mono.Literal | mono.String)


@dataclass(frozen=True)
class Chosen:
    """A part of an argument that differs between both calls."""
    name: str
    then: Exp
    orelse: Exp


@dataclass
class Choices:
    frame: Frame
    made: list[Chosen] = field(default_factory=list)
    cheap: bool = True

    def argument(self, then: Exp, orelse: Exp, hint: str) -> Exp:
        """Return the argument for both calls."""
        if isinstance(then, mono.Pair) and isinstance(orelse, mono.Pair):
            return mono.Pair(self.argument(then.first, orelse.first, hint),
                             self.argument(then.second, orelse.second, hint), origin=then.origin)
        if is_trivial(then) and then == orelse:
            return then
        self.cheap = self.cheap and self.frame.is_cheap(then) and self.frame.is_cheap(orelse)
        self.made.append(Chosen(self.frame.names.fresh(hint), then, orelse))
        return mono.Var(self.made[-1].name, type_of(then))


def renamed(exp: Exp, names: Mapping[str, str]) -> Exp:
    if isinstance(exp, mono.Var):
        return replace(exp, name=names.get(exp.name, exp.name))
    return map_parts(exp, lambda part: renamed(part, names))


def tupled(exps: list[Exp]) -> Exp:
    *before, last = exps
    for exp in reversed(before):
        last = mono.Pair(exp, last)
    return last


def untupled(exp: Exp, count: int) -> list[Exp]:
    """Return the components of a tuple of `count`."""
    found: list[Exp] = []
    for _ in range(count - 1):
        found.append(mono.First(exp))
        exp = mono.Second(exp)
    return [*found, exp]


def zero(type_: Type) -> Exp:
    """Return any value of a type of scalars."""
    if isinstance(type_, Pair):
        return mono.Pair(zero(type_.first), zero(type_.second))
    assert isinstance(type_, Base)
    return mono.Const(zero_of(type_.name), type_)
