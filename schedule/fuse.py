"""Pass: merge kernels as a schedule says.

  in    flat lambda_cu, one combinator in a kernel, and a schedule of it
  out   fused lambda_cu: a kernel for each cluster, its bindings joined by the fusion rules
  how   In each control region, the pass merges the steps of a cluster, and those that it does again, into one kernel
        with one launch (schedule.rewrite.merge), and rewrites the kernel (schedule.rewrite.rewrite). Launches and the
        host's code stand in the order of the schedule. Kernels without a launch are left out, equal ones become one.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.source import InternalError
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.passes.simplify import simplify
from nessie.schedule.cost.profiles import CPU
from nessie.schedule.graph.build import build_graph, descriptor_text, region_types
from nessie.schedule.graph.regions import Region, RegionStep, rewrite_regions, statement_uses, steps_of, without_a_name
from nessie.schedule.graph.sizes import Estimates
from nessie.schedule.nodes import RegionSchedule, Schedule, kernels
from nessie.schedule.rewrite.merge import merge
from nessie.schedule.rewrite.rewrite import rewrite_kernel


def fuse(program: ir.Program, schedule: Schedule) -> ir.Program:
    """Merge and rewrite the program's kernels as the schedule says."""
    if all(map(unfused, schedule.regions)):
        return program
    fusing = Fusing(program, schedule)
    functions = tuple(rewrite_regions(function, fusing.region) for function in program.functions)
    launched = {statement.kernel for function in functions for statement in scope.statements(function.body)
                if isinstance(statement, ir.Run)}
    kernels = tuple(kernel for kernel in (*program.kernels, *fusing.made) if kernel.name in launched)
    return simplify(replace(program, kernels=kernels, functions=functions), {kernel.name for kernel in fusing.made})


def unfused(region: RegionSchedule) -> bool:
    """Does every kernel compute just one node?"""
    return all(len(cluster) == 1 for cluster in region.clusters) and not region.again


class Fusing:
    """The state that regions share: the program's kernels, the kernels made so far, the supply of their names."""

    def __init__(self, program: ir.Program, schedule: Schedule) -> None:
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.names = Names(self.kernels)
        self.regions = {(region.function, region.number): region for region in schedule.regions}
        self.failing = scope.failing_functions(program.scalar_functions)
        self.made: list[ir.Kernel] = []

    def region(self, region: Region) -> Sequence[ir.Statement]:
        """Return the region's statements, fused."""
        schedule = self.regions.get((region.function, region.number))
        if schedule is None or unfused(schedule):
            return region.statements
        parts = steps_of(region, self.kernels)
        steps = {step.name: step for step in parts.steps}
        if sorted(steps) != sorted(name for cluster in schedule.clusters for name in cluster):
            raise InternalError(f"the schedule of {region.function} is not of its region {region.number}")
        statements = list(parts.first)
        types = region_types(region, parts.steps)
        spaces = descriptors(parts.steps)
        graph = build_graph(region, parts.steps, Estimates(CPU), types, self.failing) if spaces else None
        nodes = {node.name: node for node in graph.nodes} if graph else {}
        place = {name: number for number, name in enumerate(steps)}
        needed = needed_from_kernels(region, schedule, steps)
        for number, (cluster, again) in enumerate(kernels(schedule)):
            if len(cluster) + len(again) == 1:
                statements.append(as_written(steps[cluster[0]].statement))
                continue
            together = [steps[name] for name in sorted((*cluster, *again), key=place.__getitem__)]
            called = next(step.statement.kernel for step in together if isinstance(step.statement, ir.Run))
            kernel, run = merge(self.names.fresh(called), together, again, needed[number], types, nodes, spaces)
            self.made.append(rewrite_kernel(kernel, types, self.failing))
            statements.append(run)
        return statements


def needed_from_kernels(region: Region, schedule: RegionSchedule, steps: Mapping[str, RegionStep]) -> list[set[str]]:
    """Per kernel, the results of its own steps that others need: kernels that do not make them themselves, or code
    outside the region."""
    wanted, made = set(region.outside), list[set[str]]()
    for cluster, again in kernels(schedule):
        here = [steps[name].statement for name in (*cluster, *again)]
        wanted.update({name for statement in here for name in statement_uses(statement)}
                      - {param.name for statement in here for param in scope.results(statement)})
        made.append({param.name for name in cluster for param in scope.results(steps[name].statement)})
    return [names & wanted for names in made]


def as_written(statement: ir.Statement) -> ir.Statement:
    """Remove the names that the scheduler gave to unused results of the statement."""
    match statement:
        case ir.Run(results, _, _):
            return replace(statement, results=tuple(map(without_a_name, results)))
        case ir.HostLet(result, _):
            return replace(statement, result=without_a_name(result))
    return statement


def descriptors(steps: Sequence[RegionStep]) -> dict[str, ir.Space]:
    """The segmented spaces of the steps, by the text that stands for them in graphs."""
    spaces = [scope.space_of(step.bind.soac) for step in steps if step.bind is not None]
    return {descriptor_text(space): space for space in spaces if space is not None and not isinstance(space, ir.Flat)}
