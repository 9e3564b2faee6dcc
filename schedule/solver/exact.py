"""The integer program of a schedule, solved until its solution is one.

Cycles between kernels are cut when a solution has one, and the program is solved again; what a greedy schedule makes of
the rest of the solution may be good by itself, and the limits may come first.
"""
from __future__ import annotations

import time

from nessie.base.records import dataclass
from nessie.base.source import InternalError
from nessie.schedule.cost.problem import Candidate, Clusters, Problem
from nessie.schedule.graph import text as graph_text
from nessie.schedule.solver.bound.bound import Bound
from nessie.schedule.solver.copies import with_copies
from nessie.schedule.solver.cycle_cuts import CycleCuts
from nessie.schedule.solver.cycles import find_cycles, without_cycles
from nessie.schedule.solver.greedy import greedy
from nessie.schedule.solver.ilp import Formulation
from nessie.schedule.solver.pulp_solver import NODES, SECONDS, Infeasible, solve_model

VARIABLES = 3000                # binary variables of a program that is solved whole
PRECISION = 3e-7                # of a bound, by which solvers may be wrong
ROUNDS = 60                     # of cycle cuts

Found = tuple["Candidate | None", "float | None"]        # and a bound that no plan beats


@dataclass(frozen=True)
class SolverLimits:
    """`nodes`: of a tree of branch and bound; `variables`: of a program that is solved whole."""
    nodes: int = NODES
    variables: int = VARIABLES
    seconds: float = SECONDS


def exact(problem: Problem, blocks: Clusters, start: Candidate, solver: str, limits: SolverLimits,
          relaxed: Bound | None = None) -> Found:
    """The best plan of these blocks and a bound that none beats. Where the limits come first, the best that was found
    on the way, or None. The search begins from `start`. `relaxed`: the rows of which bound are added."""
    formulation = Formulation(problem, blocks)
    if relaxed:
        formulation.strengthen(relaxed.limiting)
    cuts, known = CycleCuts(formulation), formulation.encode(start)
    bound: float | None = None
    best: Candidate | None = None
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
        if gap(problem.total(best or start), bound) < PRECISION:
            return best or start, bound
        for cycle in cycles:
            cuts.forbid(cycle)
        if relaxed:
            formulation.strengthen(relaxed.cycles(plan.clusters))
        mended = with_copies(problem, greedy(problem, without_cycles(blocks, plan.clusters, cycles)))
        if problem.total(mended) < problem.total(best or start):
            best, known = mended, formulation.encode(mended)
    return best, bound


def gap(total: float, bound: float) -> float:
    """By what part of the bound a schedule costs more."""
    return (total - bound) / bound if bound > 0 else float(total > 0)
