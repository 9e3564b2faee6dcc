"""Proven optima are found again by another run, and nothing that is wrong is believed."""
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from random_graphs import random_graph
from test_schedule_solve import large_problems

from nessie.base.system import disk_cache as cache
from nessie.lambda_cu import nodes as ir
from nessie.schedule.check import check_graph
from nessie.schedule.cost.problem import Problem
from nessie.schedule.cost.profiles import CPU
from nessie.schedule.graph.nodes import Graph
from nessie.schedule.solver import improve as attempts
from nessie.schedule.solver import proven_optima as remembered
from nessie.schedule.solver import solve
from nessie.schedule.solver.exact import Found, SolverLimits
from nessie.schedule.solver.greedy import greedy
from nessie.schedule.solver.proven_optima import Store, renamed


@pytest.fixture(scope="module")
def problem() -> Problem:
    """One that greedy does not solve."""
    return next(found for found in large_problems()
                if found.cost(greedy(found)).total > solve.solve(found).cost)


DISK = Store(cache.find, cache.keep)


def no_solver(*_: object) -> Found:
    raise AssertionError("an integer program is solved")


def test_an_optimum_is_found_again(problem: Problem, cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = solve.solve(problem, store=DISK)
    assert (first.status, len(list(cache_folder.iterdir()))) == ("optimal", 1)
    monkeypatch.setattr(attempts, "exact", no_solver)
    assert solve.solve(problem, store=DISK) == first
    assert solve.solve(Problem(with_other_names(problem.index.graph), CPU), store=DISK) == first


def test_what_no_program_was_asked_for_is_not_kept(cache_folder: Path) -> None:
    for seed in range(20):
        assert solve.solve(Problem(random_graph(seed, 4), CPU), store=DISK).status == "optimal"
    assert not cache_folder.exists()


def test_what_is_not_proved_is_not_kept(problem: Problem) -> None:
    kept: dict[str, bytes] = {}
    store = Store(kept.get, kept.__setitem__)
    assert solve.solve(problem, limits=SolverLimits(nodes=0, seconds=0.0), store=store).status.startswith("within")
    assert not kept


def test_another_compiler_finds_nothing(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, bytes] = {}
    store = Store(kept.get, kept.__setitem__)
    solve.solve(problem, store=store)
    assert len(kept) == 1
    monkeypatch.setattr(remembered, "version", lambda: "another")
    solve.solve(problem, store=store)
    assert len(kept) == 2


def changed(entry: dict[str, Any], **parts: Any) -> bytes:
    return json.dumps({**entry, **parts}).encode()


def test_what_is_wrong_is_solved_again(problem: Problem) -> None:
    """Whatever was kept: noise, a wrong shape, clusters that are no kernels, copies of what must not be copied, a cost
    that is another's, a schedule that is no better than greedy's."""
    kept: dict[str, bytes] = {}
    store = Store(kept.get, kept.__setitem__)
    best = solve.solve(problem, store=store)
    [(key, right)] = kept.items()
    entry = json.loads(right)
    count = len(problem.index.nodes)
    apart = [[k] for k in range(count)]
    for wrong in (b"", b"\xff\x00", b"[]", b"{}", b"null", b'{"clusters": 3, "again": [], "cost": 1.0}',
                  changed(entry, clusters=[list(range(count))]), changed(entry, clusters=entry["clusters"][1:]),
                  changed(entry, clusters=[[-1]]), changed(entry, clusters=[[True]]),
                  changed(entry, clusters=[[count]]), b"[" * 100000,
                  changed(entry, again=[list(range(count))]), changed(entry, again=[[0]] * len(entry["clusters"])),
                  changed(entry, cost=entry["cost"] / 2), changed(entry, cost="much"),
                  changed(entry, clusters=apart, again=[], cost=problem.cost(apart).total)):
        kept[key] = wrong
        assert solve.solve(problem, store=store) == best, wrong
        assert kept[key] == right, wrong            # it was solved, and kept again


def with_other_names(graph: Graph) -> Graph:
    """The graph as it would come from a program with other names."""
    found = renamed(graph)
    assert found == renamed(found) and found.nodes[0].name != graph.nodes[0].name
    check_graph(found)
    return found


def test_names_do_not_matter_and_all_else_does() -> None:
    for seed in range(40):
        graph = random_graph(seed, 7, 0.5)
        same = remembered.key(Problem(with_other_names(graph), CPU))
        assert remembered.key(Problem(graph, CPU)) == same
        assert len({same, *(remembered.key(Problem(other, CPU)) for other in others(graph))}) == len(others(graph)) + 1


def others(graph: Graph) -> list[Graph]:
    first, *rest = graph.nodes
    return [replace(graph, sizes=tuple((size, value + 1) for size, value in graph.sizes)),
            replace(graph, outputs=(*graph.outputs, first.name)),
            replace(graph, nodes=(replace(first, rank=not first.rank), *rest)),
            replace(graph, types=(*graph.types, ir.Param("more", "int")))]
