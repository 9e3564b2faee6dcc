"""The search for a schedule against brute force: random small graphs, every partition of their nodes.

Brute force knows the certificate's simulation and the cost, nothing of verdicts, hosts, contraction or programs.
"""
from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations, islice, product
from pathlib import Path
from typing import Any

import pytest

from nessie.base.source import InternalError
from nessie.lambda_cu import ir
from nessie.schedule import certificate, pdg, schedule, solver
from nessie.schedule import solve as solve_module
from nessie.schedule.blocks import Refused
from nessie.schedule.contract import contract
from nessie.schedule.cost import cost
from nessie.schedule.fusible import Fusible
from nessie.schedule.greedy import Merging, greedy
from nessie.schedule.ilp import Formulation
from nessie.schedule.pdg import Elements, Flat, Graph, Index, Node, Survivors, Unit, Use
from nessie.schedule.problem import Clusters, Plan, Problem
from nessie.schedule.profiles import CPU, H200, Profile
from nessie.schedule.remembered import Store
from nessie.schedule.search import least_cost
from nessie.schedule.search import search as search_small
from nessie.schedule.sharing import RULES
from nessie.schedule.solve import Limits, Solution, exact, solution, solve
from nessie.schedule.windows import improve

PROFILES = (CPU, H200, Profile("bytes", 1.0, 1.0, 0.0, 0.0, operation=0.1), Profile("small", 20.0, 5e3, 5e3, 0.5))
TIGHT = tuple(replace(profile, arrays=3) for profile in PROFILES)
PATIENT = Limits(seconds=60.0)
DESCRIPTORS = (Elements("d", "n", "t"), Elements("e", "n", "t"), Elements("u", "n", "n"))


class Growing:
    """A random graph that grows node by node, as NESL programs are made; `cheap`: so many MAPs may be computed again,
    and there are few spaces and many reductions, so that it matters."""

    def __init__(self, rng: random.Random, cheap: float) -> None:
        self.rng, self.cheap = rng, cheap
        self.sizes: dict[pdg.Size, float] = {"n": rng.choice([1e4, 1e6]), "m": 1e5, "t": 0.0}
        self.sizes["t"] = self.sizes["n"] * rng.choice([3, 10])
        self.types: dict[str, ir.Type] = {}
        self.nodes: list[Node] = []
        self.spaces: list[pdg.Space] = [Flat("n"), *rng.sample([Flat("m"), Flat("t"), *DESCRIPTORS], 2)]
        self.spaces = self.spaces[:rng.choice([1, 1, 2])] if cheap else self.spaces
        for space in self.spaces:
            self.types[f"in{len(self.types)}"] = ir.Array(rng.choice(["float", "bool"]), pdg.space_size(space))

    def arrays(self, size: pdg.Size | None) -> list[str]:
        return [name for name, type_ in self.types.items() if isinstance(type_, ir.Array) and type_.size == size]

    def scalars(self) -> list[str]:
        return [name for name, type_ in self.types.items() if type_ == "float"]

    def segments(self, space: pdg.Space) -> pdg.Size | None:
        match space:
            case Elements(_, segments, _):
                return segments
            case Survivors(name):
                host = next(node for node in self.nodes if node.name == name)
                return self.segments(host.space) if host.op == "SEG_FILTER" else None
        return None

    def grow(self) -> None:
        rng, name = self.rng, f"v{len(self.nodes)}"
        space = rng.choice(self.spaces[-4:])
        segments = self.segments(space)
        ops = ["MAP"] * 6 + ["REDUCE", "SCAN", "FILTER", "PERMUTE", "PARTITION"]
        ops += ["REDUCE"] * 4 if self.cheap else []
        op = rng.choice(ops + ["SEG_REDUCE", "SEG_SCAN", "SEG_FILTER", "SEG_REDUCE"] * (segments is not None))
        if rng.random() < 0.08 and self.scalars():
            self.add(Node(name, "ONCE", Unit(), (Use("scalar", rng.choice(self.scalars())),), (name,)), {name: "float"})
            return
        uses = [Use("own", a) for a in self.sample(self.arrays(pdg.space_size(space)), 2)]
        if isinstance(space, Survivors):
            uses.append(Use("member", str(space.count)))
        elif isinstance(pdg.space_size(space), str) and pdg.space_size(space) in self.types:
            uses.append(Use("size", str(pdg.space_size(space))))
        if rng.random() < (0.6 if self.cheap else 0.25):
            uses += [Use("scalar", a) for a in self.sample(self.scalars(), 1)]
        if segments is not None and rng.random() < 0.5:
            uses += [Use("seg", a) for a in self.sample(self.arrays(segments), 1)]
        if rng.random() < 0.08:
            uses.append(Use("gather", rng.choice([a for a, t in self.types.items() if isinstance(t, ir.Array)])))
        inside = isinstance(space, Survivors)
        cheap = self.cheap and op == "MAP" and rng.random() < self.cheap and all(use.mode != "gather" for use in uses)
        node = Node(name, op, space, tuple(dict.fromkeys(uses)), (), inside and rng.random() < 0.2,
                    inside and segments is not None and rng.random() < 0.2,
                    work=(rng.randint(0, 8), rng.randint(0, 1)) if cheap else None)
        self.add(*self.with_results(node))

    def sample(self, names: list[str], most: int) -> list[str]:
        return self.rng.sample(names, min(len(names), self.rng.randint(1, most)))

    def with_results(self, node: Node) -> tuple[Node, dict[str, ir.Type]]:
        name, size, base = node.name, pdg.space_size(node.space), self.rng.choice(["float", "float", "bool"])
        segments = self.segments(node.space)
        made: dict[str, ir.Type]
        match node.op:
            case "REDUCE":
                made = {name: "float"}
            case "SEG_REDUCE":
                assert segments is not None
                made = {name: ir.Array(base, segments)}
            case "FILTER" | "SEG_FILTER":
                made = {f"{name}k": "int", name: ir.Array(base, f"{name}k")}
                if node.op == "SEG_FILTER":
                    assert segments is not None
                    made[f"{name}o"] = ir.Array("int", segments, 1)
            case "PARTITION":
                made = {f"{name}k": "int", f"{name}l": "int", name: ir.Array(base, f"{name}k"),
                        f"{name}f": ir.Array(base, f"{name}l"), f"{name}p": ir.Array("int", size)}
            case _:
                made = {name: ir.Array(base, size)}
        return replace(node, results=tuple(made)), made

    def add(self, node: Node, made: dict[str, ir.Type]) -> None:
        self.nodes.append(node)
        self.types.update(made)
        for count in (name for name, type_ in made.items() if type_ == "int"):
            self.sizes[count] = self.sizes.get(pdg.space_size(node.space), 1.0) * self.rng.choice([0.1, 0.5])
            self.spaces.append(Survivors(node.name, count))
            if self.rng.random() < 0.2:
                self.spaces.append(Elements(f"u{count}", "m", count))

    def graph(self) -> Graph:
        used = {use.name for node in self.nodes for use in node.uses}
        outputs = tuple(name for node in self.nodes for name in node.results
                        if (name not in used and name == node.name) or self.rng.random() < 0.1)
        ordered = [node.name for node in self.nodes if self.rng.random() < 0.2]
        return Graph("random", 0, tuple(self.sizes.items()),
                     tuple(ir.Param(name, type_) for name, type_ in self.types.items()), tuple(self.nodes),
                     tuple(zip(ordered, ordered[1:], strict=False)), outputs)


def random_graph(seed: int, most: int, cheap: float = 0.0) -> Graph:
    rng = random.Random(seed)
    growing = Growing(rng, cheap)
    for _ in range(rng.randint(most - 1 if cheap else 2, most)):
        growing.grow()
    return growing.graph()


def partitions(count: int) -> Iterator[list[list[int]]]:
    def place(k: int, parts: list[list[int]]) -> Iterator[list[list[int]]]:
        if k == count:
            yield [list(part) for part in parts]
            return
        for part in parts:
            part.append(k)
            yield from place(k + 1, parts)
            part.pop()
        parts.append([k])
        yield from place(k + 1, parts)
        parts.pop()

    yield from place(0, [])


def brute(problem: Problem) -> float:
    """The least cost of a schedule; on the way, the pairs must say the same as the walk."""
    index, best = problem.index, float("inf")
    copies: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for clusters in partitions(len(index.nodes)):
        acyclic = certificate.execution_order(index, clusters) is not None
        for members in map(tuple, clusters):
            if members not in copies:
                copies[members] = [again for again in subsets(problem.cheap - set(members))
                                   if is_read(index, members, again) and certificate.one_pass(index, members + again)
                                   and has_room(problem, members, again)]
            if acyclic:
                assert (() in copies[members]) == problem.legal(members), \
                    (members, problem.fusible.reason, index.graph)
        for again in product(*(copies[tuple(members)] for members in clusters)):
            if certificate.execution_order(index, clusters, again) is not None:
                best = min(best, cost(problem.traffic, problem.profile, clusters, again).total)
    return best


def has_room(problem: Problem, members: tuple[int, ...], again: tuple[int, ...]) -> bool:
    """Has the kernel no more arrays in memory than may be, or than some node has by itself?"""
    index = problem.index
    alone = [in_memory(index, (k,), ()) for k in range(len(index.nodes))]
    return in_memory(index, members, again) <= max(problem.profile.arrays, *alone)


def in_memory(index: pdg.Index, members: tuple[int, ...], again: tuple[int, ...]) -> int:
    """The arrays that come from outside the kernel, and those that leave it."""
    computed = [index.nodes[k] for k in members + again]
    made = {name for node in computed for name in node.results}
    read = {use.name for node in computed for use in node.uses} - made
    elsewhere = {use.name for k, node in enumerate(index.nodes) if k not in members for use in node.uses}
    leaving = {name for k in members for name in index.nodes[k].results} & {*elsewhere, *index.graph.outputs}
    return sum(isinstance(index.types.get(name), ir.Array) for name in read | leaving)


def subsets(nodes: set[int]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(sorted(nodes), count) for count in range(len(nodes) + 1))


def is_read(index: Index, members: tuple[int, ...], again: tuple[int, ...]) -> bool:
    """Is each node that is computed again used by one that is computed there?"""
    used = {use.name for k in members + again for use in index.nodes[k].uses}
    return all(used.intersection(index.nodes[k].results) for k in again)


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
    start = Plan(greedy(problem))
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


def wishful(graph: Graph, rng: random.Random) -> Graph:
    """The graph with one to three wishes of random pairs."""
    names = [node.name for node in graph.nodes]
    pairs = [(first, second) for first, second in combinations(names, 2) if rng.random() < 0.3]
    wishes = rng.sample(pairs, min(len(pairs), rng.randint(1, 3)))
    split = rng.randint(0, len(wishes))
    return replace(graph, cuts=tuple(wishes[:split]), fused=tuple(wishes[split:]))


def brute_wishful(graph: Graph, profile: Profile) -> float:
    """The least cost of a schedule that keeps the wishes; infinite, if there is none."""
    free = Problem(replace(graph, cuts=(), fused=()), profile)
    index, best = free.index, float("inf")
    for clusters in partitions(len(graph.nodes)):
        home = {graph.nodes[k].name: number for number, members in enumerate(clusters) for k in members}
        kept = all(home[u] != home[v] for u, v in graph.cuts) and all(home[u] == home[v] for u, v in graph.fused)
        if kept and certificate.execution_order(index, clusters) is not None \
                and all(certificate.one_pass(index, members) for members in clusters):
            best = min(best, free.cost(clusters).total)
    return best


def search_wishful(seeds: range, most: int) -> tuple[int, int]:
    """How many of the random problems with wishes could be solved, and not; each as brute force says."""
    solved = refused = 0
    for seed in seeds:
        graph, profile = wishful(random_graph(seed, most), random.Random(seed)), PROFILES[seed % len(PROFILES)]
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
        programmed = exact(problem, problem.apart(), Plan(greedy(problem)), "highs", Limits())[0]
        assert programmed is None or problem.total(programmed) <= least + 1e-6 * max(1.0, least), (seed, graph)
        solved += 1
    return solved, refused


def test_wishes_are_kept_at_the_least_cost() -> None:
    solved, refused = search_wishful(range(400), 6)
    assert solved > 150 and refused > 20


@pytest.mark.slow
def test_wishes_are_kept_at_the_least_cost_by_thousands() -> None:
    solved, refused = search_wishful(range(10_000, 14_000), 6)
    assert solved > 1500 and refused > 200


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
    assert found == {name for name, _ in RULES}


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
    search(range(40_000, 41_500), 6, profiles=TIGHT)
    search(range(50_000, 50_500), 6, cheap=0.7, profiles=TIGHT)


@pytest.mark.slow
def test_the_program_finds_what_brute_force_finds_on_thousands() -> None:
    search(range(2000, 4000), 6)
    search(range(5000, 5500), 7)


@pytest.mark.slow
def test_the_program_finds_what_brute_force_finds_with_copies_on_thousands() -> None:
    search(range(10000, 12000), 6, cheap=0.7)
    search(range(13000, 13500), 7, cheap=0.5)
    search(range(14000, 14200), 6, "cbc", cheap=0.7)


def hard() -> Problem:
    """The first random one that needs a solver, and for which greedy is not the best."""
    return next(problem for problem in large_problems() if problem.cost(greedy(problem)).total > solve(problem).cost)


def test_no_time_for_a_solver_gives_greedy_and_how_good_it_is() -> None:
    problem = hard()
    found = solve(problem, limits=Limits(nodes=0, seconds=0.0))
    gap = (found.cost / least_cost(problem) - 1) * 100
    assert found.status == f"within {gap:.1f} %"
    assert found.cost <= problem.cost(greedy(problem)).total


def large_problems() -> Iterator[Problem]:
    """Those that are not solved before an integer program is asked."""
    for seed in range(1000):
        problem = Problem(random_graph(seed, 12), CPU)
        if search_small(problem, contract(problem), Plan(greedy(problem))) is None:
            yield problem


def large_problem() -> Problem:
    """The first for which an integer program is asked."""
    for problem in large_problems():
        asked: list[object] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(solve_module, "solve_model", lambda *given, asked=asked: asked.append(given))
            solve(problem)
        if asked:
            return problem
    raise AssertionError


def test_what_is_left_of_a_solution_with_cycles_may_be_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver answers once: with kernels that wait for each other, out of which a schedule is made."""
    solve_model, better = solver.solve_model, 0
    for problem in islice(large_problems(), 50):
        answers: list[object] = []

        def once(*asked: Any, answers: list[object] = answers) -> Any:
            answers.append(None if answers else solve_model(*asked))
            return answers[-1]

        monkeypatch.setattr("nessie.schedule.solve.solve_model", once)
        start = Plan(greedy(problem))
        found, _ = exact(problem, contract(problem), start, "highs", Limits())
        if len(answers) > 1 and found is not None:
            better += 1
            assert problem.total(found) < problem.total(start)
            assert all(certificate.one_pass(problem.index, tuple(members)) for members in found.clusters)
            assert certificate.execution_order(problem.index, found.clusters, found.again) is not None
    assert better


def test_a_program_without_solution_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    legality = Formulation._legality

    def contradictory(self: Formulation) -> None:
        legality(self)
        self.model.add(1, low=1, high=1, **{self.model.binary[0]: 2})

    monkeypatch.setattr(Formulation, "_legality", contradictory)
    for engine in ("highs", "cbc"):
        with pytest.raises(InternalError, match=r"(?s)no solution.*graph random"):
            solve(large_problem(), engine)


def test_bugs_are_not_taken_for_a_missing_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(solver, "build", broken)
    with pytest.raises(ZeroDivisionError):
        solve(large_problem())


def test_a_solver_that_cannot_run_gives_greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    import pulp

    def broken(*_: object) -> None:
        raise pulp.PulpSolverError("no program of this name")

    monkeypatch.setattr(pulp.LpProblem, "solve", broken)
    problem = large_problem()
    assert solve(problem).status.startswith("within ")


def test_only_optimal_schedules_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, asked = large_problem(), list[str]()

    def solve_by(problem: Problem, mode: str, store: Store | None) -> Solution:
        asked.append(mode)
        return replace(solution(problem, greedy(problem), "greedy"), status=statuses.pop())

    statuses = ["optimal", "within 1.0 %"]
    monkeypatch.setattr(schedule, "solve_by", solve_by)
    monkeypatch.setattr(schedule, "_solved", {})
    assert [schedule.solve_once(problem, "ilp").status for _ in range(4)] == ["within 1.0 %", *["optimal"] * 3]
    assert len(asked) == 2


def test_windows_go_on_from_what_they_have_improved() -> None:
    problem = next(problem for seed in range(100) for problem in [Problem(random_graph(seed, 12), CPU)]
                   if 3 < len(greedy(problem)) < len(problem.index.nodes))
    starts = []

    def window(parts: Clusters, frozen: frozenset[int], start: Clusters) -> Clusters:
        starts.append(problem.cost(start).total)
        return greedy(problem)

    improve(problem, problem.apart(), problem.apart(), window)
    assert starts[0] == problem.cost(problem.apart()).total
    assert len(starts) > 1 and set(starts[1:]) == {problem.cost(greedy(problem)).total}


def test_losses_of_merging_are_exact() -> None:
    """A merge changes the cost of a schedule by what greedy takes it to lose, waits apart."""
    for seed in range(60):
        problem = Problem(random_graph(seed, 7), replace(PROFILES[seed % len(PROFILES)], sync=0.0))
        clusters = problem.apart()
        before = problem.cost(clusters).total
        merging = Merging(problem, clusters, careful=False)
        for c, d in combinations(range(len(clusters)), 2):
            if problem.legal((c, d)) and problem.index.dependents[c] >> d & 1:
                merged = problem.cost([[c, d], *(k for k in clusters if k not in ([c], [d]))]).total
                assert abs(merged - before - merging.loss(c, d)) < 1.0, (seed, c, d)
def test_without_solvers_greedy_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    import pulp
    problem = hard()
    monkeypatch.setattr("nessie.schedule.bound.available", lambda: False)
    monkeypatch.setattr(pulp.HiGHS, "available", lambda self: False)
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "actualSolve", lambda *_: (_ for _ in ()).throw(pulp.PulpSolverError()))
    found = solve(problem)
    assert found.status.startswith("within ")
    assert found.cost <= problem.cost(greedy(problem)).total


def test_without_highs_the_other_solver_finds_the_best() -> None:
    """In a Python that has no highspy: PuLP's class for it is another there."""
    code = """if True:
        import sys
        sys.modules["highspy"] = None
        from test_schedule_search import CPU, Problem, hard, random_graph, solve
        from nessie.schedule.solver import make_engine
        import pulp
        assert isinstance(make_engine("highs", 1, 1.0, {}), pulp.PULP_CBC_CMD)
        print(solve(hard()).status)"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent,
                         env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)})
    assert (run.stdout, run.stderr) == ("optimal\n", "")
