"""Pass: compute once, before an apply-to-each, what is the same for all its elements.

  in    mono
  out   mono: {{sum({x * y : x in r; y in c}) : c in transpose(b)} : r in a} becomes
            let once = if length(a) == 0 then [] else transpose(b) in
            {{sum({x * y : x in r; y in c}) : c in once} : r in a}
  how   An expression of the body that mentions no name bound within the apply-to-each, and that every element
        evaluates, moves to a let before it, if it takes more than a few operations, or is a length that may fail. The
        let has a value that nobody reads where there is no element.
  why   Flattening would compute it anew for each element: n transposed matrices, each stored.
  sound because there is an element, so that it is evaluated, and what is evaluated before it in the first element
        cannot fail: the first failure stays the first. What lies behind something that may fail is moved only if it
        cannot fail itself. Effects are not moved, nor is what stands in a branch.
  not   in functions that are called for each element of a sequence, where the condition would divide the elements.
"""
from __future__ import annotations

from dataclasses import field, replace

from nessie.base.call_graph import reachable
from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.types import BOOL, INT, Base, Pair, Seq, Type, zero_of
from nessie.library.primitives import IN_MONO, REAL
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of
from nessie.mono.nodes import Exp
from nessie.mono.walk import binders, called, expressions, is_trivial, let_chain, map_parts, mentioned, parts

CHEAP = frozenset({"length", "elt", "dist", "iseq", "subseq"})          # primitives that fuse with who reads them


def hoist(program: mono.Program) -> mono.Program:
    if not any(isinstance(e, mono.Each) for f in program.functions for e in expressions(f.body)):
        return program
    within = [name for f in program.functions for e in expressions(f.body) if isinstance(e, mono.Each)
              for part in (e.body, e.filter) if part is not None for name in called(part)]
    calls = {f.name: set(called(f.body)) for f in program.functions}
    lifted = reachable(calls, within)
    callers: dict[str, set[str]] = {name: set() for name in calls}
    for name, callees in calls.items():
        for callee in callees:
            callers[callee].add(name)
    hoister = Hoister(Names(binders(program)), frozenset(reachable(
        callers, [f.name for f in program.functions if any(map(is_effect, expressions(f.body)))])))
    return replace(program, functions=tuple([
        f if f.name in lifted else replace(f, body=hoister.exp(f.body)) for f in program.functions]))


@dataclass(frozen=True)
class Hoister:
    """`effects`: the functions that have effects. `work`: what is known of expressions, by identity."""
    names: Names
    effects: frozenset[str]
    work: dict[int, tuple[Exp, bool]] = field(default_factory=dict)

    def exp(self, exp: Exp) -> Exp:
        """The expression, evaluated once, with what its apply-to-eaches evaluate alike before them."""
        if not isinstance(exp, mono.Each):
            return map_parts(exp, self.exp)
        sources = [self.exp(g.source) for g in exp.generators]
        walk = Walk(self, {g.name for g in exp.generators}, failing=len(sources) > 1)
        body, condition = exp.body, exp.filter
        if condition is None:
            body = walk.taken(body)
        else:
            condition = walk.taken(condition)       # who passes, the first element does not tell
        if not walk.found:
            return self.each(exp, sources, body, condition)
        bound = []
        for k, source in enumerate(sources):
            if not is_trivial(source):
                bound.append((self.names.fresh(exp.generators[k].name), source))
                sources[k] = mono.Var(bound[-1][0], type_of(source))
        length = mono.Prim("length", (sources[0],), INT, origin=exp.origin)
        none = mono.Prim("==", (length, mono.Const(0, INT)), BOOL, origin=exp.origin)
        bound += [(name, mono.If(none, anything(type_of(value)), self.exp(value), origin=exp.origin))
                  for name, value in walk.found]
        return let_chain(bound, self.each(exp, sources, body, condition))

    def is_work(self, exp: Exp) -> bool:
        """Is it more than a few operations for each element that it reads?"""
        known = self.work.get(id(exp))
        if known is None:
            worth = is_work_itself(exp) or (not is_range(exp) and any([self.is_work(part) for part in parts(exp)]))
            known = self.work[id(exp)] = exp, worth
        return known[1]

    def each(self, exp: mono.Each, sources: list[Exp], body: Exp, condition: Exp | None) -> Exp:
        generators = tuple([mono.Generator(g.name, s) for g, s in zip(exp.generators, sources, strict=True)])
        return mono.Each(body, generators, condition, origin=exp.origin)


@dataclass
class Walk:
    """A walk of what an element evaluates, in order. `bound`: the names that differ between elements. `found`: what
    moves out, by its new name. `failing`: may what has been walked fail?"""
    hoister: Hoister
    bound: set[str]
    found: list[tuple[str, Exp]] = field(default_factory=list)
    failing: bool = False

    def taken(self, exp: Exp) -> Exp:
        """The expression without what moves out."""
        if is_trivial(exp):
            return exp
        if self.moves(exp):
            for name, value in self.found:
                if value == exp:
                    return mono.Var(name, type_of(exp), origin=exp.origin)
            self.found.append((self.hoister.names.fresh("once"), exp))
            return mono.Var(self.found[-1][0], type_of(exp), origin=exp.origin)
        match exp:
            case mono.Let(name, value, body):
                value = self.taken(value)
                self.bound.add(name)
                return mono.Let(name, value, self.taken(body), origin=exp.origin)
            case mono.If(condition, then, orelse):
                condition = self.taken(condition)
                self.failing |= may_fail(then) or may_fail(orelse)
                return mono.If(condition, then, orelse, origin=exp.origin)
            case mono.Prim("check", (condition, message, value)):
                condition, self.failing = self.taken(condition), True
                return replace(exp, arguments=(condition, message, self.taken(value)))
            case mono.Each(body, generators, condition):
                sources = tuple([mono.Generator(g.name, self.taken(g.source)) for g in generators])
                self.failing |= may_fail(mono.Each(body, generators, condition))
                return mono.Each(body, sources, condition, origin=exp.origin)
        exp = map_parts(exp, self.taken)
        self.failing |= fails_itself(exp)
        return exp

    def moves(self, exp: Exp) -> bool:
        return (self.hoister.is_work(exp)
                and self.bound.isdisjoint(mentioned(exp)) and self.hoister.effects.isdisjoint(called(exp))
                and not any(map(is_effect, expressions(exp))) and not (self.failing and may_fail(exp)))


def is_effect(exp: Exp) -> bool:
    return isinstance(exp, mono.Prim) and IN_MONO[exp.name].kind == "effect"


def is_range(exp: Exp) -> bool:
    """Is it numbers that nobody stores? Their bounds may move, and they stay."""
    return isinstance(exp, mono.Prim) and exp.name == "iseq"


def is_work_itself(exp: Exp) -> bool:
    """Is it, its parts being computed?"""
    match exp:
        case mono.Call():
            return True
        case mono.Prim(name):
            row = IN_MONO[name]
            if name == "length":
                return may_fail(exp)        # #b[0]: as many elements in each row, if it is known before
            return row.type == REAL if row.kind == "scalar" else row.kind == "sequence" and name not in CHEAP
        case mono.Each(body):
            return any(isinstance(e, mono.Each) for e in expressions(body))
    return False


def may_fail(exp: Exp) -> bool:
    return any(fails_itself(e) for e in expressions(exp))


def fails_itself(exp: Exp) -> bool:
    """May it fail, its parts being computed?"""
    match exp:
        case mono.Prim(name):
            return IN_MONO[name].checked or IN_MONO[name].kind in ("check", "effect")
        case mono.Each(_, generators):
            return len(generators) > 1
    return isinstance(exp, mono.Call)


def anything(type_: Type) -> Exp:
    """A value of the type that costs nothing."""
    match type_:
        case Pair(first, second):
            return mono.Pair(anything(first), anything(second))
        case Seq():
            return mono.Literal((), type_)
    assert isinstance(type_, Base)
    return mono.Const(zero_of(type_.name), type_)
