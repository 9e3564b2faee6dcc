"""Finds the parameters that are given away: no caller uses its argument again.

A parameter is given away if every call passes it a sequence that nobody uses afterwards: no name that may share its
elements is used after the call, and if one of these is a parameter itself, it is given away, too. A name is used when
the value that contains it is used: the pair uses the v of (v, g(v)), after the call of g; the v of
{x + g(v) : x in v} is used until the apply-to-each ends; the v of h(v), if the result may share it, after the call. The
entry's parameters are not given away, because an outside caller may go on with them. Nor is a parameter whose payload
all calls of a recursion share, or results are bounds into (mono.analysis.summaries).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from nessie.base.types import Type, is_scalars
from nessie.mono import nodes as mono
from nessie.mono.analysis.provenance import (
    FRESH,
    Signature,
    Sources,
    of_element,
    of_parts,
    parameter,
    sequence_signature,
)
from nessie.mono.analysis.summaries import Summary, calls_in, named
from nessie.mono.node_types import element_type, type_of
from nessie.mono.walk import parts

Place = tuple[str, int]                 # a function, and the number of its parameter
Step = tuple[Callable[[mono.Exp], "list[Step]"], mono.Exp]


def given_away(program: mono.Program, known: Mapping[str, Summary]) -> set[Place]:
    """Return the parameters that are given away: the largest set that satisfies the condition for all calls."""
    passed = [one for f in program.functions for one in Passing(f, known).passed()]
    found = {(f.name, k) for f in program.functions if f.name != program.entry and f.name in known
             for k in set(range(len(f.parameters))).difference([path[0] for path in named(known[f.name])])}
    while lost := {place for place, needs in passed if place in found and (needs is None or not needs <= found)}:
        found -= lost
    return found


class Passing:
    """A function's names, in the order of evaluation. `shares`: for each name, the names whose elements it may share,
    itself among them; `last`: its last use; `calls`: each call with its end; `found`: for each expression that has been
    left, by its id, what its value may share, in terms of all names."""

    def __init__(self, function: mono.Function, known: Mapping[str, Summary]) -> None:
        self.function, self.returned = function, calls_in("", known)
        self.env: dict[str, Signature] = {}
        self.shares: dict[str, set[str]] = {}
        self.last: dict[str, int] = {}
        self.calls: list[tuple[mono.Call, int]] = []
        self.found: dict[int, Signature] = {}
        for p in function.parameters:
            self.bind(p.name, p.type, None)
        waiting: list[Step] = [(self.enter, function.body)]
        self.place = 0
        while waiting:
            step, exp = waiting.pop()
            self.place += 1
            waiting += reversed(step(exp))

    def enter(self, exp: mono.Exp) -> list[Step]:
        """Return the steps that replace the expression."""
        match exp:
            case mono.Let(_, value, body):
                return [(self.enter, value), (self.define, exp), (self.enter, body), (self.leave, exp)]
            case mono.Each(body, generators, condition):
                inside = [body] if condition is None else [condition, body]
                return [*[(self.enter, g.source) for g in generators], (self.define, exp),
                        *[(self.enter, part) for part in inside], (self.leave, exp)]
        return [*[(self.enter, part) for part in parts(exp)], (self.leave, exp)]

    def define(self, exp: mono.Exp) -> list[Step]:
        match exp:
            case mono.Let(name, value):
                self.bind(name, type_of(value), self.found[id(value)])
            case mono.Each(_, generators):
                for g in generators:
                    self.bind(g.name, element_type(g.source), of_element(self.found[id(g.source)]))
        return []

    def leave(self, exp: mono.Exp) -> list[Step]:
        """Use the parts of the expression now, since all have been computed; the result of a call is used from now on.
        Of an apply-to-each, the sequences of scalars are used: a name for a row shares it, and stands where the row is
        used."""
        match exp:
            case mono.Var(name):
                self.last[name] = self.place
                self.found[id(exp)] = self.env[name]
                return []
            case mono.Let(_, _, body):
                self.found[id(exp)] = self.found[id(body)]
                return []
            case mono.Each(body, generators):
                self.use([g.source for g in generators if is_scalars(element_type(g.source))], self.place)
                self.found[id(exp)] = sequence_signature(self.found[id(body)])
                return []
        self.found[id(exp)] = of_parts(exp, [self.found[id(part)] for part in parts(exp)], self.returned)
        if isinstance(exp, mono.Call | mono.Prim | mono.Pair | mono.Literal):
            self.use(parts(exp), self.place)
        if isinstance(exp, mono.Call):
            self.calls.append((exp, self.place))
            self.use([exp], self.place + 1)
        return []

    def use(self, exps: Iterable[mono.Exp], place: int) -> None:
        """Note that the values, and all that they may share, are used here."""
        for exp in exps:
            self.last.update(dict.fromkeys(names_of(self.found[id(exp)]), place))

    def bind(self, name: str, type_: Type, signature: Signature) -> None:
        """Bind a name; in later bindings each name stands for itself."""
        self.env[name] = parameter(type_, (name,), {})
        self.shares[name] = {name}.union(*(self.shares[other] for other in names_of(signature)))

    def passed(self) -> list[tuple[Place, set[Place] | None]]:
        """Return for each argument of a call the parameters of this function that must be given away for it to be so;
        None where nothing helps."""
        return [((call.function, k), self.needs(self.found[id(argument)], end))
                for call, end in self.calls for k, argument in enumerate(call.arguments)]

    def needs(self, argument: Signature, end: int) -> set[Place] | None:
        sources = set[str]().union(*(self.shares[name] for name in names_of(argument)))
        if any(self.last.get(name, 0) > end for name, shared in self.shares.items() if shared & sources):
            return None
        return {(self.function.name, k) for k, p in enumerate(self.function.parameters) if p.name in sources}


def names_of(signature: Signature) -> set[str]:
    """Return the names that any level of it can lie in."""
    match signature:
        case (first, second):
            return names_of(first) | names_of(second)
        case Sources(paths, element):
            return {str(path[0]) for path in paths if path != FRESH} | names_of(element)
    return set()
