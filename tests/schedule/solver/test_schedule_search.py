"""The search for a schedule against brute force, on random small graphs."""
from __future__ import annotations

import random
from itertools import combinations

import pytest
from amounts import many, seeds
from brute_force import brute, brute_wishful, in_memory, names_of, partitions
from random_graphs import PROFILES, TIGHT, random_graph, wishful

from nessie.schedule.cost.kernel_arrays import ArrayLimit
from nessie.schedule.cost.problem import Candidate, Problem
from nessie.schedule.cost.profiles import Profile
from nessie.schedule.graph.nodes import Index
from nessie.schedule.legality import certificate
from nessie.schedule.legality.blocks import Refused
from nessie.schedule.legality.fusible import Fusible
from nessie.schedule.legality.sharing import RULES
from nessie.schedule.solver.exact import SolverLimits, exact
from nessie.schedule.solver.greedy import greedy
from nessie.schedule.solver.search import least_cost
from nessie.schedule.solver.search import search as search_small
from nessie.schedule.solver.solve import solve

PATIENT = SolverLimits(seconds=60.0)


def search(seeds: range, most: int, engine: str = "highs", cheap: float = 0.0,
           profiles: tuple[Profile, ...] = PROFILES) -> int:
    """How many of the graphs are better off with copies."""
    with_copies = 0
    for seed in seeds:
        problem = Problem(random_graph(seed, most, cheap), profiles[seed % len(profiles)])
        least = brute(problem)
        with_copies += compare(problem, least, engine, seed)
    return with_copies


def compare(problem: Problem, least: float, engine: str, seed: int) -> bool:
    """Does all that searches find what brute force finds? Whether it takes copies."""
    graph, near = problem.index.graph, 1e-6 * max(1.0, least)
    assert least_cost(problem) <= least * (1 + 1e-9), (seed, graph)
    start = Candidate(greedy(problem))
    if any(problem.fusible.ok(u, v) for u, v in combinations(range(len(graph.nodes)), 2)):
        programmed = exact(problem, problem.apart(), start, engine, PATIENT)[0]
        assert programmed and abs(problem.total(programmed) - least) <= near, (seed, programmed, least, graph)
    searched = search_small(problem, problem.apart(), start)
    assert searched is None or abs(problem.total(searched) - least) <= near, (seed, searched, least, graph)
    for contracted in (True, False):
        found = solve(problem, engine, PATIENT, contracted)
        names, again = ([[graph.nodes[k].name for k in nodes] for nodes in kernels]
                        for kernels in (found.clusters, found.again))
        assert certificate.complaints(graph, names, again) == [], (seed, graph)
        assert found.status == "optimal", (seed, found)
        assert abs(found.cost - least) <= near, (seed, problem.profile, contracted, found, least, graph)
    assert problem.total(start) >= least * (1 - 1e-9)
    return any(found.again)


def search_wishful(seeds: range, most: int, profiles: tuple[Profile, ...] = PROFILES) -> tuple[int, int, int]:
    """How many of the random problems with wishes could be solved, and not; each as brute force says. In how many of
    those that could be solved a kernel has too many arrays unless more is in it than the wishes say."""
    solved = refused = grown = 0
    for seed in seeds:
        graph, profile = wishful(random_graph(seed, most), random.Random(seed)), profiles[seed % len(profiles)]
        least = brute_wishful(graph, profile)
        try:
            problem = Problem(graph, profile)
        except Refused:
            assert least == float("inf"), (seed, graph)
            refused += 1
            continue
        for contracted in (True, False):
            found = solve(problem, contracted=contracted)
            assert found.status == "optimal", (seed, found)
            assert abs(found.cost - least) <= 1e-6 * max(1.0, least), (seed, contracted, found, least, graph)
        programmed = exact(problem, problem.apart(), Candidate(greedy(problem)), "highs", SolverLimits())[0]
        assert programmed is None or problem.total(programmed) <= least + 1e-6 * max(1.0, least), (seed, graph)
        solved += 1
        grown += not all(map(problem.fits, problem.blocks))
    return solved, refused, grown


def test_wishes_are_kept_at_the_least_cost() -> None:
    solved, refused, _ = search_wishful(range(400), 6)
    assert solved > 150 and refused > 20


def test_wishes_are_kept_where_only_a_larger_kernel_has_few_arrays() -> None:
    solved, refused, grown = search_wishful(range(60_000, 60_300), 6, TIGHT)
    assert solved > 100 and refused > 20 and grown > 2


@pytest.mark.slow
def test_wishes_are_kept_at_the_least_cost_by_thousands() -> None:
    solved, refused, _ = search_wishful(seeds(10_000, 4000), 6)
    assert solved > many(1500) and refused > many(200)
    *_, grown = search_wishful(seeds(70_000, 3000), 6, TIGHT)
    assert grown > 0


def test_each_allowed_pair_shares_a_kernel_in_some_schedule() -> None:
    """So whatever is said never to be fused is just that, and the rest could be."""
    reasons: set[str] = set()
    for seed in range(400):
        index = Index(random_graph(seed, 6))
        fusible = Fusible(index)
        allowed = {pair for pair in combinations(range(len(index.nodes)), 2) if fusible.ok(*pair)}
        reasons.update(fusible.reason.values())
        for clusters in partitions(len(index.nodes)):
            together = {pair for members in clusters for pair in combinations(sorted(members), 2)}
            if together & allowed and not certificate.complaints(index.graph, names_of(index, clusters)):
                allowed -= together
        assert not allowed, (seed, allowed, index.graph)
    assert "missing-host" in reasons


def test_a_kernels_arrays_are_counted_with_its_copies() -> None:
    rng, copied = random.Random(0), 0
    for seed in range(200):
        index = Index(random_graph(seed, 8, 0.7 * (seed % 2)))
        room, nodes = ArrayLimit(index, 1), range(len(index.nodes))
        members = rng.sample(nodes, rng.randint(1, len(nodes)))
        copies = [k for k in nodes if k not in members and index.nodes[k].op == "MAP" and rng.random() < 0.5]
        assert len(room.held(members, copies)) == in_memory(index, tuple(members), tuple(copies)), seed
        copied += len(room.held(members, copies)) < len(room.held(members))
    assert copied > 10


def test_one_rule_holds_of_each_allowed_pair() -> None:
    found: set[str] = set()
    for seed in range(300):
        index = Index(random_graph(seed, 9))
        fusible = Fusible(index)
        for u, v in combinations(range(len(index.nodes)), 2):
            if fusible.ok(u, v):
                first, second = index.nodes[u], index.nodes[v]
                modes = {use.mode for use in second.uses if index.maker.get(use.name) == u}
                holding = [name for name, holds in RULES if holds(first, second, modes)]
                assert len(holding) == 1, (seed, first, second, holding)
                found.update(holding)
    assert found == {name for name, _ in RULES} - {"OWNER"}         # which no random graph has


def test_the_program_finds_what_brute_force_finds() -> None:
    search(range(150), 6)


def test_the_other_solver_finds_the_same() -> None:
    search(range(1000, 1010), 5, "cbc")


def test_the_program_finds_what_brute_force_finds_with_copies() -> None:
    assert search(range(7000, 7100), 6, cheap=0.7) > 5
    assert search(range(8000, 8010), 5, "cbc", cheap=0.7) > 0


def test_the_program_finds_what_brute_force_finds_where_kernels_have_few_arrays() -> None:
    search(range(9000, 9120), 6, profiles=TIGHT)
    assert search(range(7000, 7060), 6, cheap=0.7, profiles=TIGHT) > 0
    assert search(range(200452, 200453), 6, cheap=0.7, profiles=TIGHT[:1]) == 1     # a copy makes room for an array


@pytest.mark.slow
def test_the_program_finds_what_brute_force_finds_where_kernels_have_few_arrays_on_thousands() -> None:
    search(seeds(40_000, 1500), 6, profiles=TIGHT)
    search(seeds(50_000, 500), 6, cheap=0.7, profiles=TIGHT)


@pytest.mark.slow
def test_the_program_finds_what_brute_force_finds_on_thousands() -> None:
    search(seeds(2000, 2000), 6)
    search(seeds(5000, 500), 7)


@pytest.mark.slow
def test_the_program_finds_what_brute_force_finds_with_copies_on_thousands() -> None:
    search(seeds(10_000, 2000), 6, cheap=0.7)
    search(seeds(13_000, 500), 7, cheap=0.5)
    search(seeds(14_000, 200), 6, "cbc", cheap=0.7)
