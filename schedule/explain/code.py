"""Gives the kernels of an explanation the names that they have in the code, and in profiles of runs.

A kernel is found by its launch's results, or, if nobody needs any of them, by its origin.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.schedule.explain.explain import Explanation, RegionExplained
from nessie.schedule.graph.nodes import Graph

Launches = dict[tuple[str, object], str]


def with_code(explained: Explanation, graphs: Sequence[Graph], fused: ir.Program, mode: str) -> Explanation:
    """Return the explanation of the graphs with the names of the mode's kernels in the fused program."""
    launched = launches(fused)

    def named(graph: Graph, region: RegionExplained) -> tuple[str, ...]:
        return tuple([code_of(kernel, graph, launched) for kernel in region.schedules[mode].kernels])

    regions = tuple(replace(region, code=named(graph, region))
                    for graph, region in zip(graphs, explained.regions, strict=True))
    calls = [statement for function in fused.functions for statement in scope.statements(function.body)
             if isinstance(statement, ir.Branch | ir.Choose | ir.Call)]
    return replace(explained, regions=regions, function=fused.entry.function, mode=mode, once=not calls)


def launches(fused: ir.Program) -> Launches:
    """The name of each kernel that is launched, by its function and what its launch makes."""
    launched: Launches = {}
    for function in fused.functions:
        for run in scope.statements(function.body):
            if isinstance(run, ir.Run):
                made: list[object] = [param.name for param in run.results if param.name != "_"]
                launched.update(((function.name, key), run.kernel) for key in made or [run.origin])
    return launched


def code_of(kernel: Sequence[str], graph: Graph, launched: Launches) -> str:
    """The name in the code of the kernel that has these nodes; empty if there is none."""
    nodes = {node.name: node for node in graph.nodes}
    keys = [(graph.name, key) for name in kernel for key in (*nodes[name].results, nodes[name].origin)]
    return next((launched[key] for key in keys if key in launched), "")
