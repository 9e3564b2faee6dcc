"""Proven optima kept from run to run, of problems that took an integer program.

An entry is named by the problem's text, in names that depend on nothing but their order, and by this package's files,
so that a changed cost or rule finds nothing old. What is read is checked like what is computed: the certificate must
accept it, it must cost what it says, and no more than what is known. Problems solved without a program are not kept:
asking the disk takes some milliseconds, as they do; a program takes some 80, and the first one of a process 700, most
of them to load the solver.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.schedule.cost import profiles
from nessie.schedule.cost.problem import Candidate, Problem
from nessie.schedule.graph import text as graph_text
from nessie.schedule.graph.nodes import Elements, Flat, Graph, Space, Survivors
from nessie.schedule.legality import certificate

PRECISION = 1e-9                # of costs


@dataclass(frozen=True)
class Store:
    """A store of texts by name: `find` gives what `keep` was given, or None."""
    find: Callable[[str], bytes | None]
    keep: Callable[[str, bytes], None]


def recall(store: Store | None, problem: Problem, most: float) -> Candidate | None:
    """The kept optimum, unless it costs more than `most`: then it is none."""
    content = store.find(key(problem)) if store else None
    if content is None:
        return None
    try:
        found = json.loads(content)
        plan = Candidate(lists(found["clusters"]), lists(found["again"]))
        cost = float(found["cost"])
        names, again = ([[problem.index.nodes[k].name for k in nodes] for nodes in kernels]
                        for kernels in (plan.clusters, plan.again))
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None
    if certificate.complaints(problem.index.graph, names, again) or not all(
            set(copies) <= problem.again.keys() for copies in plan.again):
        return None
    total = problem.total(plan)
    return plan if total <= most * (1 + PRECISION) and abs(total - cost) <= PRECISION * cost else None


def keep(store: Store | None, problem: Problem, plan: Candidate) -> None:
    if store:
        content = {"clusters": plan.clusters, "again": plan.again, "cost": problem.total(plan)}
        store.keep(key(problem), json.dumps(content).encode())


def lists(found: Any) -> list[list[int]]:
    if not isinstance(found, list) or not all(isinstance(nodes, list) and all(type(k) is int and k >= 0 for k in nodes)
                                              for nodes in found):
        raise ValueError
    return found


def key(problem: Problem) -> str:
    return f"{version()}\n{profiles.show(problem.profile)}{graph_text.show(renamed(problem.index.graph))}"


@cache
def version() -> str:
    """A digest of the package schedule."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


# Canonical names --------------------------------------------------------------------------------

def renamed(graph: Graph) -> Graph:
    """The graph with its names numbered as they come."""
    numbers: dict[str, str] = {}

    def name(old: str) -> str:
        return old if old == "_" else numbers.setdefault(old, f"x{len(numbers)}")

    def size(old: ir.Size) -> ir.Size:
        return name(old) if isinstance(old, str) else old

    def param(old: ir.Param) -> ir.Param:
        type_ = replace(old.type, size=size(old.type.size)) if isinstance(old.type, ir.Array) else old.type
        return ir.Param(name(old.name), type_)

    def space(old: Space) -> Space:
        match old:
            case Flat(count):
                return Flat(size(count))
            case Elements(descriptor, segments, total):
                return Elements(name(descriptor), size(segments), size(total))
            case Survivors(host, count, segments):
                return Survivors(name(host), size(count), None if segments is None else size(segments))
        return old

    nodes = tuple(replace(node, name=name(node.name), space=space(node.space), results=tuple(map(name, node.results)),
                          uses=tuple(replace(use, name=name(use.name)) for use in node.uses)) for node in graph.nodes)
    order, cuts, fused = (tuple((name(first), name(second)) for first, second in pairs)
                          for pairs in (graph.order, graph.cuts, graph.fused))
    return Graph("", 0, tuple((size(old), value) for old, value in graph.sizes), tuple(map(param, graph.types)), nodes,
                 order, tuple(map(name, graph.outputs)), cuts, fused)
