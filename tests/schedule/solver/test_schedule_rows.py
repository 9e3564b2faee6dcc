"""The rows of bounds hold of every legal schedule: those that a linear program begins with, and those that
schedule.solver.bound.separation and schedule.solver.bound.quotient find of any solution, here of mixtures of schedules
with some noise.
"""
from __future__ import annotations

import random
from itertools import combinations

import pytest
from amounts import seeds
from random_graphs import PROFILES, random_graph

from nessie.schedule.cost.problem import Clusters, Problem
from nessie.schedule.graph.nodes import HOST
from nessie.schedule.graph.ordering import execution_order
from nessie.schedule.solver.bound.quotient import Quotient
from nessie.schedule.solver.bound.relaxation import Cut, Relaxation
from nessie.schedule.solver.bound.separation import Separation
from nessie.schedule.solver.greedy import Merging

SCHEDULES, SOLUTIONS = 40, 20           # of a graph
NOISE = (0.0, 0.0, 0.1, 0.9, 1.0)       # what a pair's variable may be instead


def schedules(problem: Problem, rng: random.Random) -> list[Clusters]:
    """Legal ones: pairs of nodes are put together in some order, as far as that may be, until it is enough."""
    found = []
    for _ in range(SCHEDULES):
        merging, share = Merging(problem, problem.apart(), careful=False), rng.random()
        pairs = list(combinations(range(len(problem.index.nodes)), 2))
        rng.shuffle(pairs)
        for u, v in pairs:
            if rng.random() < share:
                merging.try_merge(u, v)
        assert execution_order(problem.index, merging.clusters()) is not None
        found.append(merging.clusters())
    return found


def values(relaxation: Relaxation, clusters: Clusters) -> list[float]:
    """What the variables are in the schedule."""
    problem = relaxation.problem
    traffic, index, rescan = problem.traffic, problem.index, problem.profile.rescan
    home = {k: number for number, members in enumerate(clusters) for k in members}
    written = traffic.written(clusters)
    sweeps = [traffic.sweeps(members, rescan, written.__contains__) for members in clusters]

    def value(letter: str, about: int | str, other: int) -> float:
        match letter, about:
            case "z", int(u):
                return float(home[u] != home[other])
            case "k", _:
                return float(sum(index.nodes[members[0]].op != HOST for members in clusters))
            case "n", str(name):
                return float(sum(name in times for times in sweeps))
            case "q", str(name):
                return sum((times[name] - 1) / rescan for times in sweeps if name in times)
            case "w", str(name):
                return float(name in written)
            case "c", int(f):
                return float(any(name in written for name in traffic.carries[f]))
            case "s", int(f):
                return float(any(home[k] != home[f] for k in traffic.waiting[f]))
        raise AssertionError(letter)

    return [value(*name) for name in relaxation.names]


def mixed(points: list[list[float]], relaxation: Relaxation, rng: random.Random) -> list[float]:
    chosen = [(rng.random(), rng.choice(points)) for _ in range(rng.choice([1, 1, 2, 3]))]
    total, noisy = sum(weight for weight, _ in chosen), rng.choice([0.0, 0.05, 0.2, 0.5])
    solution = [sum(weight * point[k] for weight, point in chosen) / total for k in range(len(relaxation.names))]
    return [rng.choice(NOISE) if name[0] == "z" and rng.random() < noisy else x
            for name, x in zip(relaxation.names, solution, strict=True)]


def rows(relaxation: Relaxation, solution: list[float]) -> list[Cut]:
    separation = Separation(relaxation, solution)
    return [*separation.paths(), *separation.cycles(), *separation.launches(), *separation.reads()]


def checked(seeds: range, nodes: int, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """How long the chains of clusters were."""
    lengths, row = set[int](), Quotient.row

    def noted(self: Quotient, variable: int, clusters: list[int], *others: object) -> Cut:
        lengths.add(len(clusters))
        return row(self, variable, clusters, *others)                   # type: ignore[arg-type]

    monkeypatch.setattr(Quotient, "row", noted)
    for seed in seeds:
        rng = random.Random(seed)
        problem = Problem(random_graph(seed, nodes), PROFILES[seed % len(PROFILES)])
        relaxation = Relaxation(problem, problem.apart())
        points = [values(relaxation, clusters) for clusters in schedules(problem, rng)]
        found = [*relaxation.rows]
        for _ in range(SOLUTIONS):
            found += rows(relaxation, mixed(points, relaxation, rng))
        for low, terms in found:
            for point in points:
                named = {relaxation.names[k]: weight for k, weight in terms.items()}
                assert sum(weight * point[k] for k, weight in terms.items()) >= low - 1e-6, (seed, low, named)
    return lengths


def test_rows_hold_of_all_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = checked(range(60), 13, monkeypatch) | checked(range(520, 530), 13, monkeypatch)
    assert lengths >= {2, 3, 4}


@pytest.mark.slow
def test_rows_hold_of_all_schedules_of_thousands(monkeypatch: pytest.MonkeyPatch) -> None:
    checked(seeds(1000, 1500), 13, monkeypatch)
    checked(seeds(5000, 100), 24, monkeypatch)
