"""Pass: decide which launches become one kernel.

  in    flat lambda_cu
  out   a schedule: for every control region, clusters of its launches
  how   The pass makes the region's dependence graph and decides which pairs may share a kernel; the solver finds the
        cheapest clusters that respect this (schedule.solver.solve). The schedule of a piece of a long run does not
        count as optimal, because kernels across its ends might be better.
        Modes: `ilp`; `greedy` only; `none`, where every launch stays alone.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

from nessie.lambda_cu import nodes as ir
from nessie.schedule.cost.problem import Clusters, Problem
from nessie.schedule.cost.profiles import CPU, Profile
from nessie.schedule.graph.graph import graph
from nessie.schedule.graph.nodes import Graph
from nessie.schedule.legality.sharing import rule
from nessie.schedule.nodes import AGAIN, APART, NEVER, TOGETHER, Pair, RegionSchedule, Schedule
from nessie.schedule.solver.greedy import greedy
from nessie.schedule.solver.proven_optima import Store
from nessie.schedule.solver.solve import GREEDY, OPTIMAL, UNFUSED, Solution, solution, solve
from nessie.schedule.wishes.wishes import Wishes

MODES = ("ilp", "greedy", "none")
REMEMBERED = 500                # problems

_solved: dict[tuple[Graph, Profile], Solution] = {}


def schedule(program: ir.Program, mode: str = "ilp", profile: Profile = CPU,
             sizes: Mapping[str, float] | None = None, wishes: Wishes | None = None,
             store: Store | None = None) -> Schedule:
    """Schedule every region of the program that launches anything. `sizes`: the user's sizes, of arrays and numbers
    (schedule.wishes.sizes); `store`: keeps optima."""
    regions = []
    for dependences in graph(program, profile, sizes, wishes):
        problem = Problem(dependences, profile)
        regions.append(region_schedule(problem, solve_once(problem, mode, store)))
    return Schedule(mode, profile.name, tuple(regions))


def solve_once(problem: Problem, mode: str, store: Store | None = None) -> Solution:
    """Solve the problem. Optimal solutions are remembered, since a session compiles a function with each form that
    calls it."""
    key = (replace(problem.index.graph, name="", region=0, pieces=1), problem.profile)
    if mode == "ilp" and key in _solved:
        return as_known(problem, _solved[key])
    found = solve_by(problem, mode, store)
    if found.status == OPTIMAL:
        _solved[key] = found
        if len(_solved) > REMEMBERED:
            del _solved[next(iter(_solved))]
    return as_known(problem, found)


def as_known(problem: Problem, found: Solution) -> Solution:
    """Lower a piece's status to greedy: the best schedule of a piece need not be the best of its run."""
    if problem.index.graph.pieces > 1 and found.status != UNFUSED:
        return replace(found, status=GREEDY)
    return found


def solve_by(problem: Problem, mode: str, store: Store | None = None) -> Solution:
    match mode:
        case "ilp":
            return solve(problem, store=store)
        case "greedy":
            return solution(problem, greedy(problem), GREEDY)
        case "none":
            return solution(problem, problem.apart(), UNFUSED)
    raise ValueError(f"no mode of scheduling: {mode}")


def region_schedule(problem: Problem, found: Solution) -> RegionSchedule:
    graph, moved = problem.index.graph, problem.cost(found.clusters, found.again)
    names, again = (tuple(tuple(graph.nodes[k].name for k in sorted(nodes)) for nodes in kernels)
                    for kernels in (found.clusters, found.again))
    return RegionSchedule(graph.name, graph.region, found.status, round(moved.total, 1), moved.bytes, names,
                          tuple(pairs(problem, found.clusters, found.again)), again)


def pairs(problem: Problem, clusters: Clusters, again: Clusters) -> list[Pair]:
    """The verdict on each pair of nodes that use common data, with its rule or reason."""
    index = problem.index
    home = {k: number for number, members in enumerate(clusters) for k in members}
    found = {pair for readers in index.readers.values() for pair in combinations(readers, 2)}
    found |= {(index.maker[use.name], v) for v, node in enumerate(index.nodes) for use in node.uses
              if use.name in index.maker}
    copies = {(number, k) for number, nodes in enumerate(again) for k in nodes}
    result = []
    for u, v in sorted(found):
        if (home[v], u) in copies or (home[u], v) in copies:
            result.append(Pair(index.nodes[u].name, index.nodes[v].name, TOGETHER, AGAIN))
            continue
        reason = problem.fusible.reason.get((u, v))
        verdict = NEVER if reason else TOGETHER if home[u] == home[v] else APART
        result.append(Pair(index.nodes[u].name, index.nodes[v].name, verdict, reason or rule(index, u, v)))
    return result

