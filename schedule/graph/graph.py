"""Pass: make the dependence graphs of a program.

  in    flat lambda_cu
  out   for every control region that launches anything, its dependence graph (schedule.graph.nodes), with the user's
        wishes
  how   The pass goes through the regions in order (schedule.graph.regions) and estimates the sizes of their arrays on
        the way (schedule.graph.sizes). Each becomes a graph (schedule.graph.build); wishes become pairs of its nodes.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.schedule.cost.profiles import CPU, Profile
from nessie.schedule.graph.build import build_graph, region_types
from nessie.schedule.graph.nodes import Graph
from nessie.schedule.graph.regions import Region, rewrite_regions, steps_of
from nessie.schedule.graph.sizes import Estimates
from nessie.schedule.wishes.pairs import with_wishes
from nessie.schedule.wishes.sizes import hints
from nessie.schedule.wishes.wishes import Wishes

# the graphs of the program that was asked about last: who schedules it and who shows it need the same
_last: list[tuple[ir.Program, Any, tuple[tuple[Region, Graph], ...]]] = []


def graph(program: ir.Program, profile: Profile = CPU, sizes: Mapping[str, float] | None = None,
          wishes: Wishes | None = None) -> tuple[Graph, ...]:
    """The dependence graphs of the program's control regions, in the order of the regions."""
    return tuple(found for _, found in regions_with_graphs(program, profile, sizes, wishes))


def regions_with_graphs(program: ir.Program, profile: Profile, sizes: Mapping[str, float] | None,
                        wishes: Wishes | None) -> list[tuple[Region, Graph]]:
    """The regions that launch something, each with its graph."""
    wishes = wishes or Wishes()
    about = profile, dict(sizes or {}), wishes.strict
    for made_of, said, known in [] if wishes.wanted else _last:
        if made_of is program and said == about:
            return list(known)
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

        rewrite_regions(function, note, held_by_callers(function, program))
    wished = with_wishes([made for _, made in found], wishes, profile)
    graphs = [(region, made) for (region, _), made in zip(found, wished, strict=True)]
    if not wishes.wanted:
        _last[:] = [(program, about, tuple(graphs))]
    return graphs


def held_by_callers(function: ir.Function, program: ir.Program) -> list[str]:
    """The parameters of a function that only an outside caller calls, who may go on with its arguments."""
    if function.name != program.entry.function or any([
            isinstance(statement, ir.Call) and statement.function == function.name
            for other in program.functions for statement in scope.statements(other.body)]):
        return []
    return [param.name for param in function.params]
