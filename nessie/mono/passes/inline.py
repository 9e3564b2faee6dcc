"""Pass: replace calls by the bodies of their callees, so that flattening and fusion see through them.

  in    mono
  out   mono; the only calls left are of functions that are recursive, or large and called from many places, or folds
  how   from the entry on, a call is replaced by lets of the arguments and the callee's body, its binders renamed,
        the call's origin at the end of its origins. This always applies to the library's functions and to a function
        called from one place; to others while they are small and the program has not grown GROWTH times.
  sound because lets evaluate the arguments as the call did, in order, whether they are used or not. Only names,
        projections of names and constants replace a name; a tuple is bound part by part, and a projection of it
        is the part. An expression that can fail is neither dropped nor moved.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from nessie.base.call_graph import callees_first
from nessie.base.names import Names
from nessie.base.source import Origin
from nessie.mono import nodes as mono
from nessie.mono.node_types import element_type, type_of
from nessie.mono.nodes import Exp
from nessie.mono.walk import binders, expressions, is_trivial, let_chain, map_parts

SMALL = 150                 # nodes of a function that is copied to many places
GROWTH = 4                  # times the program, by such copies
LONGEST_ORIGIN = 32         # spans: the innermost ones and the outermost

Bound = list[tuple[str, Exp]]       # the names and values of a chain of lets
Spread = tuple[Bound, Exp]          # such a chain, and what is in it


def inline(program: mono.Program, kept: Callable[[mono.Function], bool] = lambda function: False) -> mono.Program:
    """`kept`: functions whose calls stay, for now."""
    inliner = Inliner(program, kept)
    inliner.keep(program.entry)
    while inliner.pending:
        name = inliner.pending.pop()
        function = inliner.functions[name]
        inliner.kept[name] = replace(function, body=Copy(inliner, renamed=False).exp(function.body))
    return mono.Program(tuple(inliner.kept[f.name] for f in program.functions if f.name in inliner.kept), program.entry)


def is_library(function: mono.Function) -> bool:
    return all(span.source.library for span in function.origin)


class Inliner:
    """Decides which calls are replaced; `kept` are the functions that are still called, and the entry."""

    def __init__(self, program: mono.Program, stays: Callable[[mono.Function], bool]) -> None:
        self.functions = {f.name: f for f in program.functions}
        self.stays = stays
        nodes = {f.name: list(expressions(f.body)) for f in program.functions}
        self.sizes = {name: len(inside) for name, inside in nodes.items()}
        self.calls = {name: [e.function for e in inside if isinstance(e, mono.Call)] for name, inside in nodes.items()}
        self.uses = Counter(chain.from_iterable(self.calls.values()))
        self.binders = Names(binders(program))
        self.room = (GROWTH - 1) * sum(self.sizes.values()) + SMALL
        self.inlined = self.candidates()
        self.kept: dict[str, mono.Function] = {}
        self.pending: list[str] = []

    def candidates(self) -> set[str]:
        """Return the functions whose calls are replaced, all or while there is room."""
        order, recursive = callees_first({name: dict.fromkeys(found) for name, found in self.calls.items()})
        found: set[str] = set()
        full: dict[str, int] = {}                   # the size with the calls in it replaced
        for name in order:
            full[name] = self.sizes[name] + sum(full[callee] for callee in self.calls[name] if callee in found)
            if name not in recursive and (self.is_free(name) or full[name] <= SMALL) \
                    and not self.functions[name].fold and not self.stays(self.functions[name]):
                found.add(name)
        return found

    def is_free(self, name: str) -> bool:
        """Are the function's calls replaced however large it is?"""
        return self.uses[name] <= 1 or is_library(self.functions[name])

    def takes(self, name: str) -> bool:
        """Shall this call of the function be replaced?"""
        cost = 0 if self.is_free(name) else self.sizes[name]
        if name in self.inlined and cost <= self.room:
            self.room -= cost
            return True
        self.keep(name)
        return False

    def keep(self, name: str) -> None:
        if name not in self.kept:
            self.kept[name] = self.functions[name]
            self.pending.append(name)
            if (fold := self.functions[name].fold) is not None:
                self.keep(fold.operator)


class Copy:
    """Copies an expression, with names replaced according to `by`; if `renamed`, with fresh binders, as inlined by a
    call of that origin."""

    def __init__(self, inliner: Inliner, renamed: bool, origin: Origin = ()) -> None:
        self.inliner, self.renamed, self.origin = inliner, renamed, origin
        self.by: dict[str, Exp] = {}

    def at(self, origin: Origin) -> Origin:
        """Return the origin of a copied node: its own, then the call's."""
        whole = origin + self.origin if self.origin else origin
        return whole if len(whole) <= LONGEST_ORIGIN else whole[:LONGEST_ORIGIN - 1] + whole[-1:]

    def exp(self, exp: Exp) -> Exp:
        match exp:
            case mono.Let() | mono.Call():
                return let_chain(*self.spread(exp))
            case mono.Var(name, type_, origin=origin):
                found = self.by.get(name, exp)
                return mono.Var(found.name, type_, origin=self.at(origin)) if isinstance(found, mono.Var) else found
            case mono.First(pair, origin=origin):
                return project(mono.First(self.exp(pair), origin=self.at(origin)))
            case mono.Second(pair, origin=origin):
                return project(mono.Second(self.exp(pair), origin=self.at(origin)))
            case mono.Each(_, generators, _, origin=_):
                sources = [self.exp(g.source) for g in generators]
                named = tuple(mono.Generator(self.binder(g.name, g.source), s)
                              for g, s in zip(generators, sources, strict=True))
                condition = None if exp.filter is None else self.exp(exp.filter)
                return mono.Each(self.exp(exp.body), named, condition, origin=self.at(exp.origin))
        return self.parts(exp)

    def parts(self, exp: Exp) -> Exp:
        """Return the same node over copied parts."""
        copied = map_parts(exp, self.exp)
        return replace(copied, origin=self.at(exp.origin)) if self.origin else copied

    def binder(self, name: str, source: Exp) -> str:
        """Return the name of a generator's variable in the copy."""
        if not self.renamed:
            return name
        fresh = self.inliner.binders.fresh(name)
        self.by[name] = mono.Var(fresh, element_type(source))
        return fresh

    def spread(self, exp: Exp) -> Spread:
        """Return the lets around the expression, and the copy without them. A chain of any length is made once."""
        bound: Bound = []
        while isinstance(exp, mono.Let):
            lets, value = self.spread(exp.value)
            bound += lets + self.bind(exp.name, value)
            exp = exp.body
        if not isinstance(exp, mono.Call):
            return bound, self.exp(exp)
        if not self.inliner.takes(exp.function):
            return bound, self.parts(exp)
        lets, value = self.body(exp.function, [self.spread(a) for a in exp.arguments], self.at(exp.origin))
        return bound + lets, value

    def body(self, function: str, arguments: list[Spread], origin: Origin) -> Spread:
        """Return the function's body for a call with these arguments. The body of the only call keeps its names."""
        callee = self.inliner.functions[function]
        copy = Copy(self.inliner, self.renamed or self.inliner.uses[function] > 1, origin)
        bound: Bound = []
        for parameter, (lets, argument) in zip(callee.parameters, arguments, strict=True):
            bound += lets + copy.bind(parameter.name, argument)
        lets, value = copy.spread(callee.body)
        return bound + lets, value

    def bind(self, name: str, value: Exp) -> Bound:
        """Make the name mean the value: the value itself if it is trivial, else by the lets that are returned. Lets
        around the value come first: let x = (let y = v in e) in b is let y = v; x = e in b."""
        bound: Bound = []
        while isinstance(value, mono.Let):
            bound.append((value.name, value.value))
            value = value.body
        if is_trivial(value):
            self.by[name] = value
            return bound
        if isinstance(value, mono.Pair):
            first, second = self.inliner.binders.fresh(name), self.inliner.binders.fresh(name)
            parts = Copy(self.inliner, renamed=False)
            bound += [*parts.bind(first, value.first), *parts.bind(second, value.second)]
            self.by[name] = mono.Pair(parts.by[first], parts.by[second], origin=value.origin)
            return bound
        fresh = self.inliner.binders.fresh(name) if self.renamed else name
        self.by[name] = mono.Var(fresh, type_of(value))
        return [*bound, (fresh, value)]


def project(projection: mono.First | mono.Second) -> Exp:
    """Return the part itself, if the pair is written out and its other part needs no evaluation."""
    pair = projection.pair
    if not isinstance(pair, mono.Pair):
        return projection
    part, other = (pair.first, pair.second) if isinstance(projection, mono.First) else (pair.second, pair.first)
    return part if is_idle(other) else projection


def is_idle(exp: Exp) -> bool:
    """Is it trivial, or made of pairs of trivial parts?"""
    return is_idle(exp.first) and is_idle(exp.second) if isinstance(exp, mono.Pair) else is_trivial(exp)
