"""Pass: mark sequences for copying that would keep a large payload alive for a small part of it.

  in    mono
  out   mono, with _compact(e) for e where
          - the value of e outlives the function's frame or is held by it during a recursion: a let that is used
            after a call that may come back here, an argument of such a call, a result of a function;
          - nothing of e's payload belongs to a caller (mono.analysis.provenance), or it has been given away
            (mono.analysis.last_uses): this frame owns what it keeps alive
  how   Flattening turns _compact into a run-time choice (flatten.calls.compaction). For each _compact in its text, a
        frame copies at most a quarter of what it took to make the payload, so the cost is preserved.
  why   A view holds the whole of its payload. Each level of a recursion could hold one, without bound.
"""
from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

from nessie.base.records import dataclass
from nessie.base.types import is_scalars
from nessie.mono import nodes as mono
from nessie.mono.analysis.last_uses import Place, given_away
from nessie.mono.analysis.provenance import FRESH, Calls, Env, Signature, Sources, fresh, provenance
from nessie.mono.analysis.summaries import Pools, Summary, calls_in, of_parameters, summaries
from nessie.mono.node_types import type_of
from nessie.mono.walk import expressions, map_parts, parts


def release(program: mono.Program) -> mono.Program:
    known = summaries(program.functions)
    if not known:
        return program
    given = given_away(program, known)
    return replace(program, functions=tuple([released(f, known, given) for f in program.functions]))


def released(function: mono.Function, known: dict[str, Summary], given: Container[Place]) -> mono.Function:
    summary = known.get(function.name, Summary(None))
    marker = Marker(calls_in(function.name, known), coming_back(function.body, summary.again))
    return replace(function, body=marker.tail(function.body, parameters(function, summary.pools, given)))


def parameters(function: mono.Function, pools: Pools, given: Container[Place]) -> dict[str, Signature]:
    """Return what the function's parameters share; those that are given away are the function's own."""
    own = {p.name: fresh(p.type) for k, p in enumerate(function.parameters) if (function.name, k) in given}
    return {**of_parameters(function, pools), **own}


def coming_back(body: mono.Exp, functions: frozenset[str]) -> frozenset[int]:
    """Return the ids of the expressions in which the host calls one of the functions. The body of an apply-to-each
    calls lifted versions, for all of which the host has one frame."""
    found: set[int] = set()
    for exp in reversed(list(expressions(body)) if functions else []):
        inside = [g.source for g in exp.generators] if isinstance(exp, mono.Each) else parts(exp)
        if (isinstance(exp, mono.Call) and exp.function in functions) or any(id(part) in found for part in inside):
            found.add(id(exp))
    return frozenset(found)


@dataclass(frozen=True)
class Marker:
    """Marks a function's body; the expressions `back` may come back to the function."""
    calls: Calls
    back: frozenset[int]

    def tail(self, exp: mono.Exp, env: Env) -> mono.Exp:
        """Mark the expression whose value is the function's result."""
        match exp:
            case mono.Let():
                return self.lets(exp, env, self.tail)
            case mono.If(condition, then, orelse, origin=origin):
                return mono.If(self.inner(condition, env), self.tail(then, env), self.tail(orelse, env), origin=origin)
            case mono.Call():
                return exp
        return self.marked(self.inner(exp, env), exp, env)

    def lets(self, exp: mono.Exp, env: Env, last: Callable[[mono.Exp, Env], mono.Exp]) -> mono.Exp:
        """Mark those in a chain of lets that are used after a call that comes back here."""
        chain: list[mono.Let] = []
        inner = dict(env)               # names are bound once, so a chain of lets extends one environment
        while isinstance(exp, mono.Let):
            chain.append(exp)
            inner[exp.name] = provenance(exp.value, inner, self.calls)
            exp = exp.body
        result = last(exp, inner)
        used, held = names_in(exp), self.held_during(exp)
        for let in reversed(chain):
            value = self.inner(let.value, inner)
            if let.name in held:
                value = self.marked(value, let.value, inner)
            if id(let.value) in self.back:
                held |= used
            held |= self.held_during(let.value)
            used |= names_in(let.value)
            result = mono.Let(let.name, value, result, origin=let.origin)
        return result

    def held_during(self, exp: mono.Exp) -> set[str]:
        """Return the names that the expression may use after a call in it that comes back; none, if it is that call."""
        return names_in(exp) if id(exp) in self.back and not isinstance(exp, mono.Call) else set()

    def inner(self, exp: mono.Exp, env: Env) -> mono.Exp:
        """Mark an expression whose value the function uses further."""
        if id(exp) not in self.back:
            return exp
        match exp:
            case mono.Let():
                return self.lets(exp, env, self.inner)
            case mono.Call(function, arguments, type_, origin=origin):
                changed = [self.marked(self.inner(a, env), a, env) for a in arguments]
                return mono.Call(function, tuple(changed), type_, origin=origin)
            case mono.Each(body, generators, condition, origin=origin):
                sources = tuple([mono.Generator(g.name, self.inner(g.source, env)) for g in generators])
                return mono.Each(body, sources, condition, origin=origin)
        return map_parts(exp, lambda part: self.inner(part, env))

    def marked(self, exp: mono.Exp, before: mono.Exp, env: Env) -> mono.Exp:
        """Return the expression, marked if there is reason to; `before` is the original expression."""
        type_ = type_of(before)
        if is_scalars(type_) or not own(provenance(before, env, self.calls)):
            return exp
        return mono.Prim("_compact", (exp,), type_, origin=getattr(exp, "origin", ()))


def names_in(exp: mono.Exp) -> set[str]:
    return {e.name for e in expressions(exp) if isinstance(e, mono.Var)}


def own(signature: Signature) -> bool:
    """Is all of it made here?"""
    match signature:
        case (first, second):
            return own(first) and own(second)
        case Sources(paths, element):
            return paths <= {FRESH} and own(element)
    return True
