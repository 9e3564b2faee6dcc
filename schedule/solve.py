"""The driver: from a problem to the best schedule that the limits allow, never worse than greedy.

    greedy, from single nodes and from contracted blocks       a first answer, and what stays if all else fails; mostly
                                                               it costs what any schedule does at least
        and cheap nodes computed again where that saves most
    all schedules that may cost less, where they are few       optimal, and no solver is needed
    what an earlier run has proved                             optimal
    a linear program over pairs of nodes (schedule.bound)      a bound for what is still open
    the integer program of what its solutions have together    other candidates, mostly the best
    the integer program, with what that one's rows say,        optimal, or a better bound
        unless it is too large
    without second sweeps, where a device has them             another candidate
    windows of neighbouring kernels, one by one                for what is still open; before these two, where there
                                                               is much, and then
    the linear program once more                               a better bound, other candidates

Whatever is not optimal is told with the best of the bounds. Cycles between kernels are cut when a solution has one, and
the program is solved again; what a greedy schedule makes of the rest of the solution may be good by itself, and the
limits may come first.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest

from nessie.base.source import InternalError
from nessie.schedule import graph_text
from nessie.schedule.again import with_copies
from nessie.schedule.bound import PARTS, Bound, lower_bound
from nessie.schedule.certificate import execution_order
from nessie.schedule.contract import contract
from nessie.schedule.cycle_cuts import CycleCuts
from nessie.schedule.cycles import find_cycles, without_cycles
from nessie.schedule.greedy import greedy
from nessie.schedule.ilp import Formulation
from nessie.schedule.problem import Clusters, Plan, Problem
from nessie.schedule.remembered import Store, keep, recall
from nessie.schedule.search import least_cost, reaches, search
from nessie.schedule.solver import NODES, SECONDS, Infeasible, solve_model

VARIABLES = 3000                # binary variables of a program that is solved whole
SMALL = 400                     # up to which it comes first
PACKED = 1200                   # of one of what a solution of the linear program has together
RELAXED = 0.5, 0.75             # of the time, for a bound; where the program is too large to be solved whole
PRECISION = 3e-7                # of a bound, by which solvers may be wrong
MISTAKEN = 1e-4                 # of a bound: they are not so wrong
REST = 0.25                     # of the time once more, where kernels would have too many arrays
SHARE = 0.4                     # of the time that is left, for each attempt
ROUNDS = 60                     # of cycle cuts

Found = tuple["Plan | None", "float | None"]        # and a bound that no plan beats

Attempt = Callable[[Problem, Clusters, Plan, str, "Limits"], Found]

OPTIMAL, GREEDY, UNFUSED = "optimal", "greedy", "not fused"


@dataclass(frozen=True)
class Solution:
    """`status`: 'optimal', or 'within p %' of a bound that is proven; 'greedy' if nothing else was asked for. Clusters
    stand in an order of execution; what each computes again stands in the same order."""
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
    if contracted and problem.crowded:
        # Contraction may be in the way of the best where a kernel has too many arrays. Of kernels that may have any
        # number it is not, and if the best of these have not too many, no others are better.
        found = solve(problem.roomy(), solver, limits, store=store)
        if has_room(problem, Plan(found.clusters, found.again)):
            return found
        limits = replace(limits, seconds=limits.seconds * REST)
    deadline = time.monotonic() + limits.seconds
    least = least_cost(problem)
    best = with_copies(problem, greedy(problem, least=least))
    if reaches(problem, best, least):
        return solution_of(problem, best, OPTIMAL)
    blocks = contract(problem) if contracted and not problem.crowded else problem.apart()
    best = min((best, with_copies(problem, greedy(problem, blocks))), key=problem.total)
    proved = search(problem, blocks, best) or recall(store, problem, problem.total(best))
    if proved is not None:
        return solution_of(problem, proved, OPTIMAL)
    count = variables(problem, blocks)
    part = RELAXED[count > limits.variables] if limits.seconds > 0 else 0.0
    relaxed = lower_bound(problem, blocks, limits.seconds * part) if part else None
    if relaxed:
        least = max(least, relaxed.least)
        best = put_together(problem, relaxed.parts, best, deadline)
    attempts: list[Attempt] = [partial(whole, relaxed=relaxed), single_sweeps, windows]
    if count > SMALL:
        packings = [partial(packed, parts=parts) for parts in relaxed.parts] if relaxed else []
        more = attempts[:2] if count <= limits.variables else [partial(sharpened, relaxed=relaxed)] if relaxed else []
        attempts = [*packings, windows, *more]
    for attempt in attempts:
        if status_of(problem.total(best), least) == OPTIMAL:
            break
        left = deadline - time.monotonic()
        share = left * (SHARE if attempt is not attempts[-1] and count > SMALL else 0.9)
        plan, known = attempt(problem, blocks, best, solver, replace(limits, seconds=share))
        least = max(least, known or 0.0)
        best = min((best, plan or best), key=problem.total)
    status = status_of(problem.total(best), least)
    if problem.total(best) < least * (1 - MISTAKEN):
        raise InternalError(f"a schedule costs {problem.total(best)}, less than its bound {least}")
    if status == OPTIMAL:
        keep(store, problem, best)
    return solution_of(problem, best, status)


def has_room(problem: Problem, plan: Plan) -> bool:
    """Has no kernel too many arrays?"""
    return all(problem.fits(members, copies)
               for members, copies in zip_longest(plan.clusters, plan.again, fillvalue=()))


def packed(problem: Problem, _: Clusters, best: Plan, solver: str, limits: Limits, parts: Clusters) -> Found:
    """The integer program of these clusters, which are only put together; no bound."""
    if len(parts) > PACKED or variables(problem, parts) > PACKED:
        return None, None
    return exact(problem, parts, best, solver, limits)[0], None


def sharpened(problem: Problem, blocks: Clusters, best: Plan, solver: str, limits: Limits, relaxed: Bound) -> Found:
    """What more time for the bound gives."""
    deadline = time.monotonic() + limits.seconds
    relaxed = relaxed.sharpened(limits.seconds * PARTS)
    best = put_together(problem, relaxed.parts, best, deadline)
    for parts in relaxed.parts:
        left = replace(limits, seconds=max(0.0, deadline - time.monotonic()))
        plan, _ = packed(problem, blocks, best, solver, left, parts)
        best = min((best, plan or best), key=problem.total)
    return best, relaxed.least


def put_together(problem: Problem, parts: list[Clusters], best: Plan, deadline: float) -> Plan:
    """The best of what greedy makes of these clusters, as far as there is time."""
    for clusters in parts:
        if time.monotonic() < deadline:
            best = min((best, with_copies(problem, greedy(problem, clusters))), key=problem.total)
    return best


def whole(problem: Problem, blocks: Clusters, best: Plan, solver: str, limits: Limits,
          relaxed: Bound | None = None) -> Found:
    """The integer program of all blocks."""
    if variables(problem, blocks) > limits.variables:
        return None, None
    return exact(problem, blocks, best, solver, limits, relaxed=relaxed)


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


def status_of(total: float, bound: float) -> str:
    """What may be said of a schedule of this cost when none is cheaper than the bound."""
    gap = (total - bound) / bound if bound > 0 else float(total > 0)
    return OPTIMAL if gap < PRECISION else f"within {max(gap * 100, 0.1):.1f} %"


def solution(problem: Problem, clusters: Clusters, status: str) -> Solution:
    return solution_of(problem, Plan(clusters), status)


def solution_of(problem: Problem, plan: Plan, status: str) -> Solution:
    order = execution_order(problem.index, plan.clusters, plan.again)
    if order is None:
        raise InternalError("clusters of a schedule wait for each other")
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
          frozen: frozenset[int] = frozenset(), again: Collection[int] | None = None,
          relaxed: Bound | None = None) -> Found:
    """The best plan of these blocks and a bound that none beats. Where the limits come first, the best that was found
    on the way, or None. The search begins from `start`. `again`: what may be computed again; all that may, by default.
    """
    formulation = Formulation(problem, blocks, frozen, problem.again if again is None else again)
    if relaxed:
        formulation.strengthen(relaxed.tight)
    cuts, known = CycleCuts(formulation), formulation.encode(start)
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
        if status_of(problem.total(best or start), bound) == OPTIMAL:
            return best or start, bound
        for cycle in cycles:
            cuts.forbid(cycle)
        if relaxed:
            formulation.strengthen(relaxed.cycles(plan.clusters))
        if not frozen:
            mended = with_copies(problem, greedy(problem, without_cycles(blocks, plan.clusters, cycles)))
            if problem.total(mended) < problem.total(best or start):
                best, known = mended, formulation.encode(mended)
    return best, bound
