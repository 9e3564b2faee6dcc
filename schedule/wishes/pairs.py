"""Turns users' wishes, in the users' names, into pairs of a graph's nodes.

A name stands for the node that graphs and explanations call so; else for the nodes whose names differ from it only by a
number (a function that is called twice makes sq_1 and sq_2); else for the nodes that come from the expression that the
name is bound to. Of several nodes, those of one call belong together. A pragma means the nodes of its own top-level
form, and the arguments that the form is called with.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nessie.base.names import stem
from nessie.base.source import NessieError, Span, user_span
from nessie.base.text.nearest import nearest
from nessie.schedule.cost.problem import Problem
from nessie.schedule.cost.profiles import Profile
from nessie.schedule.graph.build import is_check
from nessie.schedule.graph.nodes import HOST, Graph, Node
from nessie.schedule.legality.blocks import Refused
from nessie.schedule.legality.witness import refused_text
from nessie.schedule.wishes.unmet import listed
from nessie.schedule.wishes.wishes import CUT, FUSE, LEVEL, MAP, MAPPINGS, Bound, Met, Wish, Wishes

Places = list[tuple[Span, str]]


def with_wishes(graphs: Sequence[Graph], wishes: Wishes, profile: Profile) -> list[Graph]:
    """Add the wishes to the graphs; an impossible wish is an error."""
    result = list(graphs)
    if wishes.wanted:
        seen(graphs, wishes)
    for wish in wishes.wanted:
        if wish.kind not in MAPPINGS:
            result = granted(result, wish, wishes)
        elif any([named(graph, wish.first, wish, wishes) for graph in graphs]):
            wishes.met.names.add(wish.first)            # GPUs have granted it (schedule.wishes.mappings)
    for graph in result:
        if graph.fused:
            check_legal(graph, profile, wishes)
    return result


def granted(graphs: Sequence[Graph], wish: Wish, wishes: Wishes) -> list[Graph]:
    """Add this wish to the graphs."""
    found = [(named(graph, wish.first, wish, wishes), named(graph, wish.second, wish, wishes)) for graph in graphs]
    note(wish, found, wishes.met)
    if wishes.strict and concerned(graphs, wish):
        for number, name in enumerate((wish.first, wish.second)):
            if not any(nodes[number] for nodes in found):
                raise missing(graphs, name, wish, wishes)
    result = []
    for graph, (firsts, seconds) in zip(graphs, found, strict=True):
        pairs = matched(firsts, seconds)
        for first, second in pairs:
            if first is second and wish.kind == CUT:
                raise NessieError(f"{wish.first} and {wish.second} are computed by one node, {first.name}",
                                  *[*places_of([first]), *place_of(wish)])
        names = tuple((first.name, second.name) for first, second in pairs if first is not second)
        result.append(replace(graph, cuts=graph.cuts + names) if wish.kind == CUT else
                      replace(graph, fused=graph.fused + names))
    if wishes.strict and wish.kind == FUSE and concerned(graphs, wish) and not any(a and b for a, b in found):
        first = next(nodes[0] for nodes, _ in found if nodes)
        second = next(nodes[0] for _, nodes in found if nodes)
        raise NessieError(f"{wish.first} and {wish.second} cannot share a kernel: a condition, a call or an effect "
                          "stands between them, and what is before it runs before it",
                          *[*places_of([first, second]), *place_of(wish)])
    return result


def seen(graphs: Sequence[Graph], wishes: Wishes) -> None:
    """Note what users may call the graphs' nodes, and which names the forms bind that these come from."""
    launched = names_for(graphs, wishes, MAP)
    wishes.met.nodes.update({name: name in launched for name in [*names_for(graphs, wishes), *launched]})
    here = {b.scope for b in wishes.bound if any([within(node, b.scope) for graph in graphs for node in graph.nodes])}
    wishes.met.bound |= {b.name for b in wishes.bound if b.scope in here}


def note(wish: Wish, found: Sequence[tuple[list[Node], list[Node]]], met: Met) -> None:
    """Note in `met` which parts of the wish these graphs have."""
    for firsts, seconds in found:
        met.names.update(name for name, nodes in ((wish.first, firsts), (wish.second, seconds)) if nodes)
        if firsts and seconds:
            met.wishes.add(wish)


# Names ------------------------------------------------------------------------------------------


def concerned(graphs: Sequence[Graph], wish: Wish) -> bool:
    """Does any node of the graphs come from the pragma's form?"""
    return wish.scope is None or any(within(node, wish.scope) for graph in graphs for node in graph.nodes)


def named(graph: Graph, name: str, wish: Wish, wishes: Wishes) -> list[Node]:
    """The graph's nodes that the name stands for."""
    if wish.scope is None:
        exact = [node for node in graph.nodes if name == node.name or name in node.results]
        if exact:
            return exact
    meant = [node for node in graph.nodes if may_mean(node, name, wish, wishes)]
    alike = [node for node in meant if name in {stem(other) for other in (node.name, *node.results)}]
    bound = [b for b in wishes.bound if b.name == name and b.value and wish.scope in (None, b.scope)]
    inside = {b: [node for node in meant if owner(node, wishes.bound) == b] for b in bound}
    bindings = [b for b in bound if any(not alike or node in alike for node in inside[b])]
    if len(bindings) > 1:
        raise NessieError(f"{name} is bound more than once", *[*((b.value, "here") for b in bindings if b.value),
                                                             *place_of(wish)],
                          hint=f"name the nodes: there are {listed_names([graph])}")
    return alike or [node for b in bindings for node in inside[b]]


def may_mean(node: Node, name: str, wish: Wish, wishes: Wishes) -> bool:
    """Can a name of the wish's form stand for the node? A parameter can stand for nodes outside the form."""
    if wish.scope is None or within(node, wish.scope):
        return True
    return any(b.name == name and b.value is None and b.scope == wish.scope for b in wishes.bound)


def within(node: Node, scope: Span) -> bool:
    return any(scope.holds(span) for span in node.origin)


def owner(node: Node, bound: Iterable[Bound]) -> Bound | None:
    """The innermost binding that the node comes from."""
    return next(iter(owners(node, bound)), None)


def owners(node: Node, bound: Iterable[Bound]) -> list[Bound]:
    """The innermost binding that the node comes from, and those of the calls in which it is computed, from the inside
    out."""
    holding = [[b for b in bound if b.value and b.value.holds(span)] for span in node.origin]
    return [min(found, key=lambda b: b.value.end - b.value.start if b.value else 0) for found in holding if found]


def called_by(graph: Graph, name: str, wish: Wish, wishes: Wishes) -> list[Node]:
    """The nodes that calls compute of the expression that the name is bound to."""
    return [node for node in graph.nodes if may_mean(node, name, wish, wishes)
            and any([b.name == name and wish.scope in (None, b.scope) for b in owners(node, wishes.bound)])]


def matched(firsts: Sequence[Node], seconds: Sequence[Node]) -> list[tuple[Node, Node]]:
    """The pairs of nodes that belong together: pairs of one call, and all pairs of a node that has none."""
    pairs = [(first, second) for first in firsts for second in seconds if of_one_call(first, second)]
    alone = [(first, second) for first in firsts for second in seconds
             if all(first is not a for a, _ in pairs) or all(second is not b for _, b in pairs)]
    return list(dict.fromkeys([*pairs, *alone]))


def of_one_call(first: Node, second: Node) -> bool:
    """Do both nodes come from one call of a function, or does one come from an argument of the other's call?"""
    one, other = ([span for span in node.origin if not span.source.library] for node in (first, second))
    shorter, longer = sorted((one[1:], other[1:]), key=len)
    if longer[len(longer) - len(shorter):] != shorter:
        return False
    outer = one if len(one) <= len(other) else other
    return len(longer) == len(shorter) or (bool(outer) and longer[len(longer) - len(shorter) - 1].holds(outer[0]))


# Errors -----------------------------------------------------------------------------------------


def check_legal(graph: Graph, profile: Profile, wishes: Wishes) -> None:
    """Raise an error for the first pair to be fused that is impossible by itself or with the pairs before it."""
    for count in range(1, len(graph.fused) + 1):
        try:
            Problem(replace(graph, fused=graph.fused[:count]), profile)
        except Refused as refused:
            raise illegal(replace(graph, fused=()), graph.fused[count - 1], refused, profile, wishes) from None


def illegal(graph: Graph, pair: tuple[str, str], refused: Refused, profile: Profile, wishes: Wishes) -> NessieError:
    problem = Problem(graph, profile)
    u, v = sorted(problem.index.position[name] for name in pair)
    reason, text = refused_text(problem.fusible, u, v, refused)
    first, second = graph.nodes[u], graph.nodes[v]
    asked = [place for wish in wishes.wanted if wish.kind == FUSE for place in place_of(wish)]
    return NessieError(f"{first.name} and {second.name} cannot share a kernel: {text} ({reason})",
                       *[*places_of([first, second]), *asked])


def missing(graphs: Sequence[Graph], name: str, wish: Wish, wishes: Wishes) -> NessieError:
    if any(b.name == name for b in wishes.bound):
        message = f"no kernel computes {name}: it comes from outside, is computed where it is used, or not at all"
    else:
        message = f"nothing is called {name}"
    there = names_for(graphs, wishes, wish.kind)
    meant = nearest(name, there)
    return NessieError(message, *([(wish.name_text, "")] if wish.name_text else place_of(wish)),
                       hint=f"there are {listed(there)}{f'; did you mean {meant}?' if meant else ''}")


def names_for(graphs: Sequence[Graph], wishes: Wishes, kind: str = "") -> list[str]:
    """What users may call the nodes that this kind of wish can be for: a name that a form binds, if it stands for one
    node, else the node's own."""
    nodes = [node for graph in graphs for node in graph.nodes
             if not is_check(node) and not (kind in MAPPINGS and node.op == HOST) and not of_argument(node)]
    bound = [b.name if (b := owner(node, wishes.bound)) else None for node in nodes]
    return list(dict.fromkeys([name if name is not None and bound.count(name) == 1 else node.name
                               for node, name in zip(nodes, bound, strict=True)]))


def of_argument(node: Node) -> bool:
    """Does the node compute an argument of the command line, of which no name is known?"""
    span = user_span(node.origin)
    return span is not None and span.source.name.startswith("argument ")


def listed_names(graphs: Sequence[Graph]) -> str:
    return listed(dict.fromkeys(node.name for graph in graphs for node in graph.nodes if not is_check(node)))


def places_of(nodes: Iterable[Node]) -> Places:
    return [(span, node.name) for node in nodes if (span := user_span(node.origin))]


def place_of(wish: Wish) -> Places:
    place = wish.place or wish.text
    wants = {LEVEL: "you want this level", MAP: "you want this mapping"}
    return [(place, wants.get(wish.kind, f"you want to {wish.kind} them"))] if place is not None else []
