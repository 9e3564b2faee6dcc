"""Pass: make the kernels that a schedule asks for.

  in    flat lambda_cu, one combinator in a kernel, and a schedule of it
  out   fused lambda_cu: a kernel for each cluster, its bindings joined by the fusion rules
  how   In each control region, the steps of a cluster are merged into one kernel and one launch (schedule.merge),
        which is rewritten (schedule.rewrite); launches and the host's code stand in the order of the schedule.
        Kernels that nobody launches any more are left out, equal ones become one.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.source import InternalError
from nessie.lambda_cu import ir, scope
from nessie.lambda_cu.simplify import simplify
from nessie.lambda_cu.sites import specialise_sites
from nessie.schedule.build import build_graph, descriptor_text, region_types
from nessie.schedule.cost import CPU
from nessie.schedule.merge import merge
from nessie.schedule.regions import Region, Step, rewrite_regions, statement_uses, steps_of, without_a_name
from nessie.schedule.rewrite import rewrite_kernel
from nessie.schedule.schedule_form import Schedule
from nessie.schedule.sizes import Estimates


def fuse(program: ir.Program, schedule: Schedule) -> ir.Program:
    """The program with kernels merged and rewritten as the schedule says."""
    program = specialise_sites(program)
    if all(len(cluster) == 1 for region in schedule.regions for cluster in region.clusters):
        return program
    fusing = Fusing(program, schedule)
    functions = tuple(rewrite_regions(function, fusing.region) for function in program.functions)
    launched = {statement.kernel for function in functions for statement in scope.statements(function.body)
                if isinstance(statement, ir.Run)}
    kernels = tuple(kernel for kernel in (*program.kernels, *fusing.made) if kernel.name in launched)
    return simplify(replace(program, kernels=kernels, functions=functions), {kernel.name for kernel in fusing.made})


class Fusing:
    """What regions have in common: the kernels there are, the kernels made so far, the supply of their names."""

    def __init__(self, program: ir.Program, schedule: Schedule) -> None:
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.names = Names(self.kernels)
        self.regions = {(region.function, region.number): region for region in schedule.regions}
        self.failing = scope.failing_functions(program.scalar_functions)
        self.made: list[ir.Kernel] = []

    def region(self, region: Region) -> Sequence[ir.Statement]:
        """The region's statements, fused."""
        schedule = self.regions.get((region.function, region.number))
        if schedule is None or all(len(cluster) == 1 for cluster in schedule.clusters):
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
        home = {name: number for number, cluster in enumerate(schedule.clusters) for name in cluster}
        users: dict[str, set[int]] = {}
        for step in parts.steps:
            for used in statement_uses(step.statement):
                users.setdefault(used, set()).add(home[step.name])
        for number, cluster in enumerate(schedule.clusters):
            if len(cluster) == 1:
                statements.append(as_written(steps[cluster[0]].statement))
                continue
            members = [steps[name] for name in sorted(cluster, key=place.__getitem__)]
            made = {param.name for step in members for param in scope.results(step.statement)}
            needed = {name for name in made if name in region.outside or users.get(name, set()) - {number}}
            called = next(step.statement.kernel for step in members if isinstance(step.statement, ir.Run))
            kernel, run = merge(self.names.fresh(called), members, needed, types, nodes, spaces)
            self.made.append(rewrite_kernel(kernel, types, self.failing))
            statements.append(run)
        return statements


def as_written(statement: ir.Statement) -> ir.Statement:
    """The statement, with the names taken away that the scheduler gave to what nobody needs."""
    match statement:
        case ir.Run(results, _, _):
            return replace(statement, results=tuple(map(without_a_name, results)))
        case ir.HostLet(result, _):
            return replace(statement, result=without_a_name(result))
    return statement


def descriptors(steps: Sequence[Step]) -> dict[str, ir.Space]:
    """The segmented spaces of the steps, by the text that stands for them in graphs."""
    spaces = [scope.space_of(step.bind.soac) for step in steps if step.bind is not None]
    return {descriptor_text(space): space for space in spaces if space is not None and not isinstance(space, ir.Flat)}
