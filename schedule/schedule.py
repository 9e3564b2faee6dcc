"""Pass: decide which launches become one kernel.

  in    flat lambda_cu
  out   a schedule: for every control region, clusters of its launches
  how   The region's dependence graph; verdicts on pairs; the cheapest clusters that keep them (schedule.solve).
        Those of a piece of a long run are not said to be the best: kernels across its ends might be better.
        Modes: `ilp`; `greedy` only; `none`, where every launch stays alone.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from nessie.base.wishes import Wishes
from nessie.lambda_cu import ir, scope
from nessie.lambda_cu.sites import specialise_sites
from nessie.schedule.build import build_graph, region_types
from nessie.schedule.greedy import greedy
from nessie.schedule.hints import hints
from nessie.schedule.pdg import Graph
from nessie.schedule.problem import Clusters, Problem
from nessie.schedule.profiles import CPU, Profile
from nessie.schedule.regions import Region, rewrite_regions, steps_of
from nessie.schedule.remembered import Store
from nessie.schedule.schedule_form import AGAIN, APART, NEVER, TOGETHER, Pair, RegionSchedule, Schedule
from nessie.schedule.sharing import rule
from nessie.schedule.sizes import Estimates
from nessie.schedule.solve import GREEDY, OPTIMAL, UNFUSED, Solution, solution, solve
from nessie.schedule.wishes import with_wishes

MODES = ("ilp", "greedy", "none")
REMEMBERED = 500                # problems

_solved: dict[tuple[Graph, Profile], Solution] = {}


def schedule(program: ir.Program, mode: str = "ilp", profile: Profile = CPU,
             sizes: Mapping[str, float] | None = None, wishes: Wishes | None = None,
             store: Store | None = None) -> Schedule:
    """The schedule of every region of the program that launches anything. `sizes`: what some sizes measure, and what
    arrays have (schedule.hints); `store`: where optima are kept."""
    regions = []
    for graph in graphs(program, profile, sizes, wishes):
        problem = Problem(graph, profile)
        regions.append(region_schedule(problem, solve_once(problem, mode, store)))
    return Schedule(mode, profile.name, tuple(regions))


def graphs(program: ir.Program, profile: Profile = CPU, sizes: Mapping[str, float] | None = None,
           wishes: Wishes | None = None) -> tuple[Graph, ...]:
    """The dependence graphs of the program's control regions, in the order of the regions."""
    return tuple(graph for _, graph in regions_with_graphs(program, profile, sizes, wishes))


def regions_with_graphs(program: ir.Program, profile: Profile, sizes: Mapping[str, float] | None,
                        wishes: Wishes | None) -> list[tuple[Region, Graph]]:
    """The regions that launch something."""
    wishes = wishes or Wishes()
    program = specialise_sites(program)
    kernels = {kernel.name: kernel for kernel in program.kernels}
    failing = scope.failing_functions(program.scalar_functions)
    found: list[tuple[Region, Graph]] = []
    given = hints(program, sizes or {}, wishes.strict)
    for function in program.functions:
        estimates = Estimates(profile, given[function.name])

        def note(region: Region, estimates: Estimates = estimates) -> Sequence[ir.Statement]:
            parts = steps_of(region, kernels)
            estimates.learn(parts.first, parts.steps)
            if parts.steps:
                types = region_types(region, parts.steps)
                found.append((region, build_graph(region, parts.steps, estimates, types, failing)))
            return region.statements

        rewrite_regions(function, note)
    wished = with_wishes([graph for _, graph in found], wishes, profile)
    return [(region, graph) for (region, _), graph in zip(found, wished, strict=True)]


def solve_once(problem: Problem, mode: str, store: Store | None = None) -> Solution:
    """The solution. Optimal ones are remembered: a session compiles a function with each form that calls it."""
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
    """The solution, with no more than is known of it: the best of a piece need not be the best of its run."""
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
    """What became of each pair of nodes that use common data, and why."""
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

