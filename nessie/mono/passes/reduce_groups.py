"""Pass: of groups that are only reduced, the sums are computed without the groups.

  in    mono, where groups are made by calls of the library's `_collected`
  out   mono without such calls: {(k, sum(vs)) : (k,vs) in int_collect(kvs)} has become
            let (at, size, heads) = the place of each pair's group, how many there are, and where each begins in
            let total = write_add(dist(0, size), {(p, v) : p in at; (_,v) in kvs}) in
            {(first(kvs[h]), total[at[h]]) : h in heads}
        and where groups are wanted themselves the call's body stands
  how   An apply-to-each over the groups, in which a group's values are only reduced or counted, perhaps after
        apply-to-eaches over nothing else, is one over the groups' heads. A reduction by +, max or min becomes the write
        that combines by it, `any` and `all` those of 0 and 1. The groups may have a name, if all its uses are such.
  why   The values would be sorted by group and stored, to be read once.
  sound if what is reduced cannot fail, as it is now computed before the body, and needs nothing that is known only
        there but the key. Of a group none of whose values passes a filter the total is what it was written into: the
        operator's identity, as a reduction of nothing. A sum of floats is added up in order of the elements. The key in
        what is reduced is each pair's own, so it must have no floats: 0.0 == -0.0.
"""
from __future__ import annotations

import re
from dataclasses import field, replace

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import Origin
from nessie.mono import nodes as mono
from nessie.mono.groups import MORE, Bound, Groups, Wanted
from nessie.mono.nodes import Exp
from nessie.mono.passes.inline import inline, is_library
from nessie.mono.walk import binders, expressions, let_chain, map_parts, opened

MAKER = re.compile(r"_collected(_\d+)?")


def reduce_groups(program: mono.Program) -> mono.Program:
    reduced, _ = groups_reduced(program)
    return program if reduced is program else inline(reduced)


@dataclass(frozen=True)
class Told:
    """Of the groups that the call at `origin` makes: what at `where` stands against making none, as `why` says; nothing
    if they are not made."""
    origin: Origin
    why: str = ""
    where: Origin = ()


def groups_reduced(program: mono.Program) -> tuple[mono.Program, tuple[Told, ...]]:
    """The program, and what is told of the groups that it would make."""
    makers = frozenset(f.name for f in program.functions if makes_groups(f))
    if not makers:
        return program, ()
    reducer = Reducer(Names(binders(program)), makers)
    functions = tuple([replace(f, body=reducer.exp(f.body)) for f in program.functions])
    for exp in (e for f in functions for e in expressions(f.body)):
        if reducer.makes(exp) and exp.origin not in reducer.told:
            reducer.told[exp.origin] = Told(exp.origin, "is wanted as it is")
    return replace(program, functions=functions), tuple(reducer.told.values())


def makes_groups(function: mono.Function) -> bool:
    return is_library(function) and MAKER.fullmatch(function.name) is not None


@dataclass(frozen=True)
class Reducer:
    names: Names
    makers: frozenset[str]
    told: dict[Origin, Told] = field(default_factory=dict)

    def exp(self, exp: Exp) -> Exp:
        exp = map_parts(exp, self.exp)
        match exp:
            case mono.Let(_, source, _) | mono.Each(_, (mono.Generator(_, source),)):
                bound, groups = opened(source)
                if self.makes(groups):
                    return self.without(exp, bound, groups)
        return exp

    def without(self, exp: mono.Let | mono.Each, bound: Bound, groups: Exp) -> Exp:
        """The expression, which names groups or is over them, without them, if it only reduces them."""
        try:
            made = Groups(self.names, groups)
            reduced = made.each(exp) if isinstance(exp, mono.Each) else body_without(made, exp)
            self.told.setdefault(groups.origin, Told(groups.origin))
            return let_chain([*bound, *made.bound], reduced)
        except Wanted as wanted:
            self.told[groups.origin] = Told(groups.origin, wanted.why, wanted.origin)
            return exp

    def makes(self, exp: Exp) -> bool:
        return isinstance(exp, mono.Call) and exp.function in self.makers


def body_without(made: Groups, exp: mono.Let) -> Exp:
    """The body of a let whose value the groups are, without them."""
    def without(part: Exp) -> Exp:
        match part:
            case mono.Var(found) if found == exp.name:
                raise Wanted(part, MORE)
            case mono.Prim("length", (mono.Var(found),)) if found == exp.name:
                return replace(part, arguments=(made.heads,))
            case mono.Each(_, (mono.Generator(_, mono.Var(found)),)) if found == exp.name:
                return without(made.each(part))
        return map_parts(part, without)
    return without(exp.body)
