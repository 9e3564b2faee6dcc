"""Refinement: never worse, always legal, and mostly at the optimum of what brute force can solve."""
from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import replace

import pytest
from brute_force import brute
from random_graphs import PROFILES, TIGHT, random_graph, wishful
from test_schedule_bound import shaped

from nessie.schedule.cost.problem import Clusters, Problem
from nessie.schedule.cost.profiles import CPU
from nessie.schedule.legality.blocks import Refused
from nessie.schedule.legality.certificate import complaints
from nessie.schedule.solver.contract import contract
from nessie.schedule.solver.greedy import Merging, greedy
from nessie.schedule.solver.refine import Refining, refine


def goes_on(clusters: Clusters) -> bool:
    return True


def names(problem: Problem, clusters: Clusters) -> list[list[str]]:
    return [[problem.index.nodes[k].name for k in members] for members in clusters]


def test_what_is_refined_is_legal_and_no_worse() -> None:
    kept = 0
    for seed in range(150):
        graph = random_graph(seed, 12)
        try:
            problem = Problem(wishful(graph, random.Random(seed)) if seed % 2 else graph, (*PROFILES, *TIGHT)[seed % 8])
        except Refused:
            continue
        blocks = problem.blocks if problem.crowded else contract(problem)
        start = greedy(problem, blocks)
        refined = refine(problem, blocks, start, goes_on)
        assert complaints(problem.index.graph, names(problem, refined)) == [], seed
        assert all(map(problem.legal, refined)), seed
        assert problem.cost(refined).total <= problem.cost(start).total, seed
        kept += any(len(block) > 1 for block in problem.blocks)
    assert kept >= 10


def scattered(problem: Problem, rng: random.Random) -> Clusters:
    """Legal clusters, of a few random pairs: blocks may be cut in several."""
    merging, nodes = Merging(problem, problem.apart(), careful=False), range(len(problem.index.nodes))
    for _ in nodes:
        merging.try_merge(rng.choice(nodes), rng.choice(nodes))
    return merging.clusters()


def test_no_kernels_wait_for_each_other_where_blocks_are_cut() -> None:
    cut = 0
    for seed in range(100):
        problem = Problem(shaped(("mixed", "spaces", "tree")[seed % 3], 60, seed), PROFILES[seed % 4])
        blocks, start = contract(problem), scattered(problem, random.Random(seed))
        home = {k: number for number, members in enumerate(start) for k in members}
        cut += any(len({home[k] for k in block}) > 2 for block in blocks)
        refining = Refining(problem, blocks, start, seed)
        for _ in range(4):
            refining.step()
            for clusters in (refining.best, refining.merging.clusters()):
                assert complaints(problem.index.graph, names(problem, clusters)) == [], seed
    assert cut > 30


def test_what_has_others_between_is_not_put_together() -> None:
    """Of a block of three in a row, each in a kernel of its own, the first and the last are taken apart."""
    problem = Problem(shaped("chain", 3), CPU)
    refining = Refining(problem, [[0, 1, 2]], problem.apart())
    assert refining.parts([0, 2]) == [[0], [2]]


def test_small_graphs_are_refined_to_the_optimum() -> None:
    """From every node on its own, which is far from it."""
    missed, improved = [], 0
    for seed in range(150):
        problem = Problem(random_graph(seed, 7), PROFILES[seed % len(PROFILES)])
        refined = problem.cost(refine(problem, problem.apart(), problem.apart(), goes_on)).total
        least, by_greed = brute(problem), problem.cost(greedy(problem)).total
        assert refined >= least * (1 - 1e-9), seed
        improved += refined < by_greed * (1 - 1e-9)
        if refined > least * (1 + 1e-9):
            missed.append(seed)
    assert len(missed) <= 1 and improved >= 2


@pytest.mark.parametrize(("shape", "nodes", "seed", "most"), [("mixed", 200, 0, 0.9), ("grid", 80, 0, 0.87)])
def test_large_regions_gain(shape: str, nodes: int, seed: int, most: float) -> None:
    problem = Problem(shaped(shape, nodes, seed), CPU)
    refining = Refining(problem, contract(problem), greedy(problem))
    before = refining.total
    for _ in range(200):
        refining.step()
    assert problem.cost(refining.best).total == refining.total < most * before


def test_it_is_the_same_in_every_run() -> None:
    problem = Problem(shaped("mixed", 60, 1), CPU)
    first, again = (refine(problem, problem.blocks, greedy(problem), goes_on) for _ in range(2))
    assert first == again != greedy(problem)


def test_it_ends_when_it_is_told_to() -> None:
    problem = Problem(shaped("mixed", 60, 1), CPU)
    start = greedy(problem)
    assert refine(problem, problem.blocks, start, lambda clusters: False) is start


def test_taking_clusters_apart_leaves_the_others_as_they_are() -> None:
    problem = Problem(shaped("mixed", 40, 3), replace(CPU, arrays=12))
    merging = Merging(problem, greedy(problem), careful=False)
    kinds = ("members", "of", "mask", "bad", "after", "alike", "held")
    before = {kind: deepcopy(getattr(merging, kind)) for kind in kinds}
    name = max(merging.members, key=lambda name: len(merging.members[name]))
    parts = [[k] for k in merging.members[name]]
    assert len(parts) > 2
    other = merging.taken_apart([name], parts, careful=False)
    fresh = Merging(problem, [*(m for n, m in merging.members.items() if n != name), *parts], careful=False)
    for kind in kinds:
        assert getattr(other, kind) == getattr(fresh, kind), kind
    for u in parts[0]:
        for (v,) in parts[1:]:
            other.try_merge(u, v)
    assert {kind: getattr(merging, kind) for kind in kinds} == before
    assert other.members != fresh.members
