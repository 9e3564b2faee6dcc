"""The driver: from a problem to the best schedule that the limits allow, never worse than greedy.

    greedy, from single nodes and from contracted blocks       a first answer, and what stays if all else fails; mostly
                                                               it costs what any schedule does at least
        and cheap nodes computed again where that saves most
    all schedules that may cost less, where they are few       optimal, and no solver is needed
    what an earlier run has proved                             optimal
    the integer program, unless it is too large                optimal, or within what its bound says
    without second sweeps, where a device has them             another candidate
    windows of neighbouring kernels, one by one                for what is still open; first, where there is much

Cycles between kernels are cut when a solution has one, and the program is solved again; what a greedy schedule makes of
the rest of the solution may be good by itself, and the limits may come first.
"""
from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nessie.base.source import InternalError
from nessie.schedule import graph_text
from nessie.schedule.again import with_copies
from nessie.schedule.certificate import execution_order
from nessie.schedule.contract import contract
from nessie.schedule.greedy import greedy
from nessie.schedule.ilp import Formulation
from nessie.schedule.problem import Clusters, Plan, Problem
from nessie.schedule.remembered import Store, keep, recall
from nessie.schedule.search import least_cost, reaches, search
from nessie.schedule.solver import NODES, SECONDS, Infeasible, solve_model

VARIABLES = 3000                # binary variables of a program that is solved whole
SMALL = 400                     # up to which it comes first
ROUNDS = 60                     # of cycle cuts

Found = tuple["Plan | None", "float | None"]        # and a bound that no plan beats
Cycles = list[list[tuple[int, int, int]]]

OPTIMAL, GREEDY, UNFUSED = "optimal", "greedy", "not fused"


@dataclass(frozen=True)
class Solution:
    """`status`: 'optimal', 'within p %' or 'greedy'. Clusters stand in an order of execution; what each computes again
    stands in the same order."""
    clusters: Clusters
    cost: float
    status: str
    again: Clusters = field(default_factory=list)


@dataclass(frozen=True)
class Limits:
    nodes: int = NODES
    variables: int = VARIABLES
    seconds: float = SECONDS


def solve(problem: Problem, solver: str = "highs", limits: Limits | None = None, contracted: bool = True,
          store: Store | None = None) -> Solution:
    """The cheapest schedule found. `store`: where optima are kept from run to run."""
    limits = limits or Limits()
    deadline = time.monotonic() + limits.seconds
    least = least_cost(problem)
    best = with_copies(problem, greedy(problem, least=least))
    if reaches(problem, best, least):
        return solution_of(problem, best, OPTIMAL)
    blocks = contract(problem) if contracted else problem.apart()
    best = min((best, with_copies(problem, greedy(problem, blocks))), key=problem.total)
    proved = search(problem, blocks, best) or recall(store, problem, problem.total(best))
    if proved is not None:
        return solution_of(problem, proved, OPTIMAL)
    bound: float | None = None
    count = variables(problem, blocks)
    attempts = [whole, single_sweeps, windows] if count <= SMALL else [windows, whole, single_sweeps]
    if count > limits.variables:
        attempts = [windows]
    for attempt in attempts:
        share = (deadline - time.monotonic()) * (0.9 if attempt is attempts[-1] else 0.6)
        found, known = attempt(problem, blocks, best, solver, replace(limits, seconds=share))
        bound = bound if known is None else known
        best = min((best, found or best), key=problem.total)
        if status_of(problem.total(best), bound) == OPTIMAL:
            keep(store, problem, best)
            break
    return solution_of(problem, best, status_of(problem.total(best), bound))


def whole(problem: Problem, blocks: Clusters, best: Plan, solver: str, limits: Limits) -> Found:
    """The integer program of all blocks."""
    if variables(problem, blocks) > limits.variables:
        return None, None
    return exact(problem, blocks, best, solver, limits)


def single_sweeps(problem: Problem, blocks: Clusters, best: Plan, solver: str, limits: Limits) -> Found:
    """The integer program without second sweeps: solved much sooner, its answer often as good; no bound."""
    if not problem.profile.rescan:
        return None, None
    single = Problem(problem.index.graph, replace(problem.profile, rescan=0.0))
    return whole(single, blocks, best, solver, limits)[0], None


def windows(problem: Problem, blocks: Clusters, best: Plan, solver: str, limits: Limits) -> Found:
    """The best clusters so far, improved a few kernels at a time; what they should compute again is seen afterwards."""
    from nessie.schedule.windows import improve

    deadline = time.monotonic() + limits.seconds

    def window(parts: Clusters, frozen: frozenset[int], start: Clusters) -> Clusters | None:
        left = min(deadline - time.monotonic(), limits.seconds / 4)
        if left <= 0:
            return None
        found = exact(problem, parts, Plan(start), solver, replace(limits, seconds=left), frozen, again=())[0]
        return found.clusters if found else None

    return with_copies(problem, improve(problem, blocks, best.clusters, window)), None


def status_of(total: float, bound: float | None) -> str:
    """What may be said of a schedule of this cost when none is cheaper than the bound."""
    if bound is None or bound <= 0:
        return GREEDY
    gap = (total - bound) / bound
    return OPTIMAL if gap < 1e-7 else f"within {max(gap * 100, 0.1):.1f} %"


def solution(problem: Problem, clusters: Clusters, status: str) -> Solution:
    return solution_of(problem, Plan(clusters), status)


def solution_of(problem: Problem, plan: Plan, status: str) -> Solution:
    order = execution_order(problem.index, plan.clusters, plan.again)
    if order is None:
        raise ValueError("clusters that wait for each other")
    again = [plan.again[number] for number in order] if any(plan.again) else []
    return Solution([plan.clusters[number] for number in order], problem.total(plan), status, again)


def variables(problem: Problem, blocks: Clusters) -> int:
    """How many binary variables the integer program would have, about."""
    masks = [sum(1 << k for k in block) for block in blocks]
    bad = [0] * len(blocks)
    for b, block in enumerate(blocks):
        for k in block:
            bad[b] |= problem.fusible.bad[k]
    copies = sum(not problem.fusible.direct[k] & mask for k in problem.again for mask in masks)
    return len(blocks) + sum(not bad[u] & masks[v] for v in range(len(blocks)) for u in range(v)) + copies


def exact(problem: Problem, blocks: Clusters, start: Plan, solver: str, limits: Limits,
          frozen: frozenset[int] = frozenset(), again: Collection[int] | None = None) -> Found:
    """The best plan of these blocks and a bound that none beats. Where the limits come first, the best that was found
    on the way, or None. The search begins from `start`. `again`: what may be computed again; all that may, by default.
    """
    formulation = Formulation(problem, blocks, frozen, problem.again if again is None else again)
    known = formulation.encode(start)
    bound: float | None = None
    best: Plan | None = None
    deadline = time.monotonic() + limits.seconds
    for _ in range(ROUNDS):
        left = deadline - time.monotonic()
        try:
            answer = solve_model(formulation.model, solver, limits.nodes, left, known) if left > 0 else None
        except Infeasible:
            graph = graph_text.show(problem.index.graph)
            raise InternalError(f"the integer program of a schedule has no solution; its graph is\n{graph}") from None
        if answer is None:
            return best, bound
        bound = answer.bound
        plan = formulation.decode(answer.values)
        cycles = find_cycles(problem, plan.clusters)
        if not cycles:
            return plan, bound
        for cycle in cycles:
            formulation.cut(cycle)
        if not frozen:
            mended = with_copies(problem, greedy(problem, without_cycles(blocks, plan.clusters, cycles)))
            if problem.total(mended) < problem.total(best or start):
                best, known = mended, formulation.encode(mended)
    return best, bound


def without_cycles(blocks: Clusters, clusters: Clusters, cycles: Cycles) -> Clusters:
    """The clusters; those on a cycle taken apart, into blocks."""
    left = {leave for cycle in cycles for _, leave, _ in cycle}
    waiting = {k for members in clusters if not left.isdisjoint(members) for k in members}
    return [*(members for members in clusters if waiting.isdisjoint(members)),
            *(block for block in blocks if not waiting.isdisjoint(block))]


def find_cycles(problem: Problem, clusters: Sequence[Sequence[int]]) -> Cycles:
    """Short cycles of kernels that wait for each other: per kernel the node by which the cycle comes in, the one by
    which it leaves, and the one it goes to."""
    if execution_order(problem.index, clusters) is not None:
        return []
    import networkx

    index = problem.index
    cluster_of = {k: c for c, members in enumerate(clusters) for k in members}
    edges: dict[tuple[int, int], tuple[int, int]] = {}
    for u, successors in enumerate(index.successors):
        for v in sorted(successors):
            if cluster_of[u] != cluster_of[v]:
                edges.setdefault((cluster_of[u], cluster_of[v]), (u, v))
    quotient = networkx.DiGraph(sorted(edges))
    cycles: dict[frozenset[int], list[int]] = {}
    for component in sorted(map(sorted, networkx.strongly_connected_components(quotient))):
        if len(component) > 1:
            part = quotient.subgraph(component)
            for start in component:
                cycle = shortest_cycle(part, start)
                cycles.setdefault(frozenset(cycle), cycle)
    result = []
    for cycle in cycles.values():
        steps = [edges[cycle[i], cycle[(i + 1) % len(cycle)]] for i in range(len(cycle))]
        result.append([(steps[i - 1][1], leave, following) for i, (leave, following) in enumerate(steps)])
    return result


def shortest_cycle(graph: Any, start: int) -> list[int]:
    """The nodes of a shortest cycle through a node of a strongly connected graph."""
    import networkx

    paths = networkx.single_source_shortest_path(graph, start)
    back = min((node for node in paths if graph.has_edge(node, start)),
               key=lambda node: (len(paths[node]), node))
    return list(paths[back])
