"""What the cost model says of each kernel of a program, at the sizes of a call.

    predictions(job, program, arguments)["K1"]          Prediction(seconds, bytes), of one launch

The kernels are those of the schedule that runs, which was found for guessed sizes; they are priced for the sizes that
the arguments have. Sizes that only a run finds, such as how many elements a filter keeps, are guessed still.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nessie import driver, forms, pipeline
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import layout_of_value, to_names
from nessie.mono import nodes as mono
from nessie.schedule.cost.cost import Cost, Traffic, kernel_costs
from nessie.schedule.explain.code import code_of, launches
from nessie.schedule.graph.nodes import Graph, Index
from nessie.schedule.nodes import RegionSchedule, Schedule
from nessie.schedule.wishes.sizes import sizes_of
from nessie.schedule.wishes.wishes import Met


@dataclass(frozen=True)
class Prediction:
    """Of one launch of a kernel."""
    seconds: float
    bytes: float


def predictions(job: pipeline.Job, program: mono.Program, arguments: Sequence[Any]) -> dict[str, Prediction]:
    """The predictions for the kernels of the program on these run-time values, by their names in the code; of a kernel
    that is launched at several places, their mean."""
    job = replace(job, layouts=layouts_of(program, arguments), met=Met(), dump=None)
    ran = driver.run_through(job, forms.MONO, program, pipeline.pass_named("fuse"))
    made = driver.made(ran.values())
    flat, schedule, fused = made[forms.FLAT], made[forms.SCHEDULE], made[forms.FUSED]
    assert job.layouts is not None
    known = replace(job, known=sizes(flat, job.layouts, arguments), strict=False)
    graphs = next(driver.steps(known, forms.FLAT, flat, (pipeline.pass_named("graph"),))).program
    return priced(graphs, schedule, fused, job)


def priced(graphs: Sequence[Graph], schedule: Schedule, fused: ir.Program, job: pipeline.Job) -> dict[str, Prediction]:
    launched, profile = launches(fused), pipeline.profile(job)
    found: dict[str, list[Cost]] = {}
    for graph, region in zip(graphs, schedule.regions, strict=True):
        traffic = Traffic(Index(graph))
        clusters, again = numbered(traffic.index, region)
        names = [code_of(cluster, graph, launched) for cluster in region.clusters]
        for name, cost in zip(names, kernel_costs(traffic, profile, clusters, again), strict=True):
            if name:
                found.setdefault(name, []).append(cost)
    return {name: Prediction(sum([cost.total for cost in costs]) / len(costs) / 1e9,
                             sum([cost.bytes for cost in costs]) / len(costs)) for name, costs in found.items()}


def numbered(index: Index, region: RegionSchedule) -> tuple[list[list[int]], list[list[int]]]:
    """The region's clusters, and what each computes again, with nodes by number."""
    clusters, again = ([[index.position[name] for name in names] for names in of]
                       for of in (region.clusters, region.again))
    return clusters, again


def layouts_of(program: mono.Program, arguments: Sequence[Any]) -> tuple[ir.Layout, ...]:
    entry = next(f for f in program.functions if f.name == program.entry)
    return tuple([layout_of_value(p.type, value) for p, value in zip(entry.parameters, arguments, strict=True)])


def sizes(flat: ir.Program, layouts: Sequence[ir.Layout], values: Sequence[Any]) -> dict[str, float]:
    """The sizes that the entry gets with these values, by the names that users have for them."""
    entry = next(f for f in flat.functions if f.name == flat.entry.function)
    held = [name for value, layout in zip(values, layouts, strict=True) for name in to_names(value, layout)]
    known = {param.name: float(name) for param, name in zip(entry.params, held, strict=True) if param.type == "int"}
    return {name: known[size] for name, size in sizes_of(entry).items() if size in known}
