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
from itertools import combinations
from pathlib import Path

import pytest

from nessie.base.source import InternalError
from nessie.lambda_cu import ir
from nessie.schedule import certificate, pdg, schedule, solver
from nessie.schedule.contract import contract
from nessie.schedule.cost import CPU, H200, Profile, cost
from nessie.schedule.greedy import Merging, greedy
from nessie.schedule.ilp import Formulation
from nessie.schedule.pdg import Elements, Flat, Graph, Node, Survivors, Unit, Use
from nessie.schedule.problem import Clusters, Problem
from nessie.schedule.search import least_cost
from nessie.schedule.search import search as search_small
from nessie.schedule.solve import Limits, Solution, exact, solution, solve
from nessie.schedule.windows import improve

PROFILES = (CPU, H200, Profile("bytes", 1.0, 0.0, 0.0), Profile("small", 1e5, 1e5, 0.5))
DESCRIPTORS = (Elements("d", "n", "t"), Elements("e", "n", "t"), Elements("u", "n", "n"))


class Growing:
    """A random graph that grows node by node, as NESL programs are made."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.sizes: dict[pdg.Size, float] = {"n": rng.choice([1e4, 1e6]), "m": 1e5, "t": 0.0}
        self.sizes["t"] = self.sizes["n"] * rng.choice([3, 10])
        self.types: dict[str, ir.Type] = {}
        self.nodes: list[Node] = []
        self.spaces: list[pdg.Space] = [Flat("n"), *rng.sample([Flat("m"), Flat("t"), *DESCRIPTORS], 2)]
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
        op = rng.choice(ops + ["SEG_REDUCE", "SEG_SCAN", "SEG_FILTER", "SEG_REDUCE"] * (segments is not None))
        if rng.random() < 0.08 and self.scalars():
            self.add(Node(name, "ONCE", Unit(), (Use("scalar", rng.choice(self.scalars())),), (name,)), {name: "float"})
            return
        uses = [Use("own", a) for a in self.sample(self.arrays(pdg.space_size(space)), 2)]
        if isinstance(space, Survivors):
            uses.append(Use("member", str(space.count)))
        elif isinstance(pdg.space_size(space), str) and pdg.space_size(space) in self.types:
            uses.append(Use("size", str(pdg.space_size(space))))
        if rng.random() < 0.25:
            uses += [Use("scalar", a) for a in self.sample(self.scalars(), 1)]
        if segments is not None and rng.random() < 0.5:
            uses += [Use("seg", a) for a in self.sample(self.arrays(segments), 1)]
        if rng.random() < 0.08:
            uses.append(Use("gather", rng.choice([a for a, t in self.types.items() if isinstance(t, ir.Array)])))
        inside = isinstance(space, Survivors)
        node = Node(name, op, space, tuple(dict.fromkeys(uses)), (), inside and rng.random() < 0.2,
                    inside and segments is not None and rng.random() < 0.2)
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


def random_graph(seed: int, most: int) -> Graph:
    rng = random.Random(seed)
    growing = Growing(rng)
    for _ in range(rng.randint(2, most)):
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
    walks: dict[tuple[int, ...], bool] = {}
    for clusters in partitions(len(index.nodes)):
        if certificate.execution_order(index, clusters) is None:
            continue
        for members in map(tuple, clusters):
            if members not in walks:
                walks[members] = certificate.one_pass(index, members)
                assert walks[members] == problem.legal(members), \
                    (members, walks[members], problem.fusible.reason, index.graph)
        if all(walks[tuple(members)] for members in clusters):
            best = min(best, cost(problem.traffic, problem.profile, clusters).total)
    return best


def search(seeds: range, most: int, engine: str = "highs") -> None:
    for seed in seeds:
        graph, profile = random_graph(seed, most), PROFILES[seed % len(PROFILES)]
        problem = Problem(graph, profile)
        least = brute(problem)
        assert least_cost(problem) <= least * (1 + 1e-9), (seed, graph)
        start = greedy(problem)
        if any(problem.fusible.ok(u, v) for u, v in combinations(range(len(graph.nodes)), 2)):
            programmed = exact(problem, problem.apart(), start, engine, Limits())[0]
            assert programmed and abs(problem.cost(programmed).total - least) <= 1e-6 * max(1.0, least), (seed, graph)
        searched = search_small(problem, problem.apart(), start)
        assert searched is None or abs(problem.cost(searched).total - least) <= 1e-6 * max(1.0, least), (seed, graph)
        for contracted in (True, False):
            found = solve(problem, engine, contracted=contracted)
            names = [[graph.nodes[k].name for k in members] for members in found.clusters]
            assert certificate.complaints(graph, names) == [], (seed, graph)
            assert found.status == "optimal", (seed, found)
            assert abs(found.cost - least) <= 1e-6 * max(1.0, least), (seed, profile, contracted, found, least, graph)
        assert problem.cost(greedy(problem)).total >= least * (1 - 1e-9)


def test_the_program_finds_what_brute_force_finds() -> None:
    search(range(150), 6)


def test_the_other_solver_finds_the_same() -> None:
    search(range(1000, 1010), 5, "cbc")


@pytest.mark.slow
def test_the_program_finds_what_brute_force_finds_on_thousands() -> None:
    search(range(2000, 4000), 6)
    search(range(5000, 5500), 7)


def hard() -> Problem:
    """The first random one that an integer program solves, and greedy does not."""
    return next(problem for problem in large_problems() if problem.cost(greedy(problem)).total > solve(problem).cost)


def test_no_time_for_a_solver_gives_greedy() -> None:
    problem = hard()
    found = solve(problem, limits=Limits(nodes=0, seconds=0.0))
    assert found.status == "greedy"
    assert found.cost <= problem.cost(greedy(problem)).total


def large_problems() -> Iterator[Problem]:
    """Those that are not solved before an integer program is asked."""
    for seed in range(1000):
        problem = Problem(random_graph(seed, 12), CPU)
        if search_small(problem, contract(problem), greedy(problem)) is None:
            yield problem


def large_problem() -> Problem:
    return next(large_problems())


def test_a_program_without_solution_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    legality = Formulation._legality

    def contradictory(self: Formulation) -> None:
        legality(self)
        self.model.add(low=1, high=1, **{self.model.binary[0]: 2})

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
    assert solve(problem).status == "greedy"


def test_only_optimal_schedules_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, asked = large_problem(), list[str]()

    def solve_by(problem: Problem, mode: str) -> Solution:
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
    monkeypatch.setattr(pulp.HiGHS, "available", lambda self: False)
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "actualSolve", lambda *_: (_ for _ in ()).throw(pulp.PulpSolverError()))
    found = solve(problem)
    assert found.status == "greedy"
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
