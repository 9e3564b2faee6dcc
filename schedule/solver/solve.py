"""The driver: from a problem to the best schedule that the limits allow, never worse than greedy.

    greedy, from single nodes and from contracted blocks       a first answer, and what stays if all else fails; mostly
                                                               it costs what any schedule does at least
        and cheap nodes computed again where that saves most
    all schedules that may cost less, where they are few       optimal, and no solver is needed
    what an earlier run has proved                             optimal
    linear and integer programs, and refinement                optimal, or better schedules and a better bound
        (schedule.solver.bound.bound, schedule.solver.improve)

Whatever is not optimal is told with the best of the bounds.
"""
from __future__ import annotations

import time
from dataclasses import field, replace
from itertools import zip_longest

from nessie.base.records import dataclass
from nessie.base.source import InternalError
from nessie.schedule.cost.problem import Candidate, Clusters, Problem
from nessie.schedule.graph.ordering import execution_order
from nessie.schedule.solver.bound.bound import bound_of
from nessie.schedule.solver.contract import contract
from nessie.schedule.solver.copies import with_copies
from nessie.schedule.solver.exact import PRECISION, SolverLimits, gap
from nessie.schedule.solver.greedy import greedy
from nessie.schedule.solver.improve import Standing, Task, improve
from nessie.schedule.solver.proven_optima import Store, keep, recall
from nessie.schedule.solver.pulp_solver import SECONDS
from nessie.schedule.solver.search import least_cost, reaches, search

MISTAKEN = 1e-4                 # of a bound: solvers are not so wrong
LITTLE = 0.1                    # seconds
REST = 0.15                     # of the time once more, where kernels would have too many arrays

OPTIMAL, GREEDY, UNFUSED = "optimal", "greedy", "not fused"


@dataclass(frozen=True)
class Solution:
    """`status`: 'optimal', or 'within p %' of a bound that is proven; 'greedy' if nothing else was asked for. Clusters
    stand in an order of execution; what each computes again stands in the same order."""
    clusters: Clusters
    cost: float
    status: str
    again: Clusters = field(default_factory=list)


def solve(problem: Problem, solver: str = "highs", limits: SolverLimits | None = None, contracted: bool = True,
          store: Store | None = None) -> Solution:
    """The cheapest schedule found. `store`: where optima are kept from run to run."""
    find = find_with_room if contracted and problem.crowded else find_plan
    plan, least = find(problem, solver, limits or usual_limits(problem), contracted, store)
    return solution_of(problem, plan, status_of(problem.total(plan), least))


def usual_limits(problem: Problem) -> SolverLimits:
    """The pieces of a run have the time of one region together, as long as each has a little."""
    return SolverLimits(seconds=max(LITTLE, SECONDS / problem.index.graph.pieces))


def find_with_room(problem: Problem, solver: str, limits: SolverLimits, contracted: bool, store: Store | None
                   ) -> tuple[Candidate, float]:
    """The plan where a kernel could have too many arrays, and contraction may be in the way of the best. Of kernels
    that may have any number it is not, and if the best of these have not too many, no others are better."""
    deadline = time.monotonic() + limits.seconds * (1 + REST)
    roomy, least = find_plan(problem.roomy(), solver, limits, contracted, store)
    if has_room(problem, roomy):
        return roomy, least
    plan, bound = find_plan(problem, solver, replace(limits, seconds=deadline - time.monotonic()), False, store)
    return plan, max(least, bound)


def has_room(problem: Problem, plan: Candidate) -> bool:
    """Has no kernel too many arrays?"""
    return all(problem.fits(members, copies)
               for members, copies in zip_longest(plan.clusters, plan.again, fillvalue=()))


def find_plan(problem: Problem, solver: str, limits: SolverLimits, contracted: bool, store: Store | None
              ) -> tuple[Candidate, float]:
    """The cheapest plan found, and what none is below."""
    deadline = time.monotonic() + limits.seconds
    least = least_cost(problem)
    best = with_copies(problem, greedy(problem, least=least))
    if reaches(problem, best, least):
        return best, least
    blocks = contract(problem) if contracted else problem.blocks
    best = min((best, with_copies(problem, greedy(problem, blocks))), key=problem.total)
    proved = search(problem, blocks, best) or recall(store, problem, problem.total(best))
    if proved is not None:
        return proved, problem.total(proved)
    bound = bound_of(problem, blocks) if limits.seconds > 0 else None
    standing = Standing(problem, best, least)
    improve(Task(problem, blocks, solver, limits, bound), standing, deadline)
    best, least = standing.best, standing.least
    if problem.total(best) < least * (1 - MISTAKEN):
        raise InternalError(f"a schedule costs {problem.total(best)}, less than its bound {least}")
    if status_of(problem.total(best), least) == OPTIMAL:
        keep(store, problem, best)
    return best, least


def status_of(total: float, bound: float) -> str:
    """The status of a schedule of this cost when none is cheaper than the bound."""
    part = gap(total, bound)
    return OPTIMAL if part < PRECISION else f"within {max(part * 100, 0.1):.1f} %"


def solution(problem: Problem, clusters: Clusters, status: str) -> Solution:
    return solution_of(problem, Candidate(clusters), status)


def solution_of(problem: Problem, plan: Candidate, status: str) -> Solution:
    order = execution_order(problem.index, plan.clusters, plan.again)
    if order is None:
        raise InternalError("clusters of a schedule wait for each other")
    again = [plan.again[number] for number in order] if any(plan.again) else []
    return Solution([plan.clusters[number] for number in order], problem.total(plan), status, again)
