"""The least cost of small problems by brute force: every partition of their nodes, with every choice of copies.

It knows the certificate's simulation and the cost, nothing of verdicts, hosts, contraction or programs.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, combinations, product

from nessie.lambda_cu import nodes as ir
from nessie.schedule.cost.cost import cost
from nessie.schedule.cost.problem import Problem
from nessie.schedule.cost.profiles import Profile
from nessie.schedule.graph import nodes as pdg
from nessie.schedule.graph.nodes import Graph, Index
from nessie.schedule.legality import certificate


def partitions(count: int) -> Iterator[list[list[int]]]:
    def place(k: int, parts: list[list[int]]) -> Iterator[list[list[int]]]:
        if k == count:
            yield [list(part) for part in parts]
            return
        for part in parts:
            part.append(k)
            yield from place(k + 1, parts)
            part.pop()
        parts.append([k])
        yield from place(k + 1, parts)
        parts.pop()

    yield from place(0, [])


def brute(problem: Problem) -> float:
    """The least cost of a schedule; on the way, the pairs must say the same as the walk."""
    index, best = problem.index, float("inf")
    copies: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for clusters in partitions(len(index.nodes)):
        acyclic = certificate.runs(index.graph, names_of(index, clusters))
        for members in map(tuple, clusters):
            if members not in copies:
                copies[members] = [again for again in subsets(problem.cheap - set(members))
                                   if is_read(index, members, again) and walks(index, members + again)
                                   and has_room(problem, members, again)]
            if acyclic:
                assert (() in copies[members]) == problem.legal(members), \
                    (members, problem.fusible.reason, index.graph)
        for again in product(*(copies[tuple(members)] for members in clusters)):
            if certificate.runs(index.graph, names_of(index, clusters), names_of(index, again)):
                best = min(best, cost(problem.traffic, problem.profile, clusters, again).total)
    return best


def names_of(index: Index, clusters: Iterable[Iterable[int]]) -> list[list[str]]:
    return [[index.nodes[k].name for k in members] for members in clusters]


def walks(index: Index, members: Iterable[int]) -> bool:
    """Can one walk compute these nodes?"""
    return certificate.one_pass(index.graph, {index.nodes[k].name for k in members})


def has_room(problem: Problem, members: tuple[int, ...], again: tuple[int, ...]) -> bool:
    """Has the kernel no more arrays in memory than may be, or than some node has by itself?"""
    index = problem.index
    alone = [in_memory(index, (k,), ()) for k in range(len(index.nodes))]
    return in_memory(index, members, again) <= max(problem.profile.arrays, *alone)


def in_memory(index: pdg.Index, members: tuple[int, ...], again: tuple[int, ...]) -> int:
    """The arrays that come from outside the kernel, and those that leave it."""
    computed = [index.nodes[k] for k in members + again]
    made = {name for node in computed for name in node.results}
    read = {use.name for node in computed for use in node.uses} - made
    elsewhere = {use.name for k, node in enumerate(index.nodes) if k not in members for use in node.uses}
    leaving = {name for k in members for name in index.nodes[k].results} & {*elsewhere, *index.graph.outputs}
    return sum(isinstance(index.types.get(name), ir.Array) for name in read | leaving)


def subsets(nodes: set[int]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(sorted(nodes), count) for count in range(len(nodes) + 1))


def is_read(index: Index, members: tuple[int, ...], again: tuple[int, ...]) -> bool:
    """Is each node that is computed again used by one that is computed there?"""
    used = {use.name for k in members + again for use in index.nodes[k].uses}
    return all(used.intersection(index.nodes[k].results) for k in again)


def brute_wishful(graph: Graph, profile: Profile) -> float:
    """The least cost of a schedule without copies that keeps the wishes; infinite, if there is none."""
    free = Problem(replace(graph, cuts=(), fused=()), profile)
    index, best = free.index, float("inf")
    for clusters in partitions(len(graph.nodes)):
        home = {graph.nodes[k].name: number for number, members in enumerate(clusters) for k in members}
        kept = all(home[u] != home[v] for u, v in graph.cuts) and all(home[u] == home[v] for u, v in graph.fused)
        if kept and certificate.runs(graph, names_of(index, clusters)) \
                and all(walks(index, members) and has_room(free, tuple(members), ()) for members in clusters):
            best = min(best, free.cost(clusters).total)
    return best
