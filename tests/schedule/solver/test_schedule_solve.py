"""What becomes of a schedule where time, tries or solvers do not suffice, and of the solvers' mistakes."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, islice
from typing import Any

import pytest
from brute_force import names_of
from paths import PYTHONPATH
from processes import finished
from random_graphs import PROFILES, random_graph

from nessie.base.source import InternalError
from nessie.schedule import schedule
from nessie.schedule.cost.problem import Candidate, Problem
from nessie.schedule.cost.profiles import CPU
from nessie.schedule.legality import certificate
from nessie.schedule.solver import exact as exact_module
from nessie.schedule.solver import pulp_solver as solver
from nessie.schedule.solver.bound import linear
from nessie.schedule.solver.contract import contract
from nessie.schedule.solver.exact import SolverLimits, exact
from nessie.schedule.solver.greedy import Merging, greedy
from nessie.schedule.solver.ilp import Formulation
from nessie.schedule.solver.proven_optima import Store
from nessie.schedule.solver.search import least_cost
from nessie.schedule.solver.search import search as search_small
from nessie.schedule.solver.solve import Solution, solution, solve


def hard() -> Problem:
    """The first random one that needs a solver, and for which greedy is not the best."""
    return next(problem for problem in large_problems() if problem.cost(greedy(problem)).total > solve(problem).cost)


def test_no_time_for_a_solver_gives_greedy_and_how_good_it_is() -> None:
    problem = hard()
    found = solve(problem, limits=SolverLimits(nodes=0, seconds=0.0))
    gap = (found.cost / least_cost(problem) - 1) * 100
    assert found.status == f"within {gap:.1f} %"
    assert found.cost <= problem.cost(greedy(problem)).total


def large_problems(nodes: int = 12, first: int = 0) -> Iterator[Problem]:
    """Those that are not solved before an integer program is asked."""
    for seed in range(first, first + 1000):
        problem = Problem(random_graph(seed, nodes), CPU)
        if search_small(problem, contract(problem), Candidate(greedy(problem))) is None:
            yield problem


def large_problem() -> Problem:
    """The first for which an integer program is asked."""
    for problem in large_problems():
        asked: list[object] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact_module, "solve_model", lambda *given, asked=asked: asked.append(given))
            solve(problem)
        if asked:
            return problem
    raise AssertionError


def test_what_is_left_of_a_solution_with_cycles_may_be_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver answers once: with kernels that wait for each other, out of which a schedule is made."""
    solve_model, better = solver.solve_model, 0
    for problem in islice(large_problems(15, 370), 8):
        answers: list[object] = []

        def once(*asked: Any, answers: list[object] = answers) -> Any:
            answers.append(None if answers else solve_model(*asked))
            return answers[-1]

        monkeypatch.setattr("nessie.schedule.solver.exact.solve_model", once)
        start = Candidate(greedy(problem))
        found, _ = exact(problem, contract(problem), start, "highs", SolverLimits())
        if len(answers) > 1 and found is not None:
            better += 1
            assert problem.total(found) < problem.total(start)
            assert certificate.complaints(problem.index.graph, names_of(problem.index, found.clusters),
                                          names_of(problem.index, found.again)) == []
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
    monkeypatch.setattr("nessie.schedule.solver.bound.bound.available", lambda: False)
    monkeypatch.setattr(solver, "available", lambda: False)
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "actualSolve", lambda *_: (_ for _ in ()).throw(pulp.PulpSolverError()))
    found = solve(problem)
    assert found.status.startswith("within ")
    assert found.cost <= problem.cost(greedy(problem)).total


@pytest.mark.parametrize(("version", "used"), [("1.15.1", True), ("1.7", True), ("1.16.0", False), ("2.0.0", False)])
def test_a_newer_highs_is_not_used(version: str, used: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS 1.16.0 calls solutions optimal that are not."""
    import pulp
    pytest.importorskip("highspy")
    linear.available.cache_clear()
    monkeypatch.setattr(linear, "version", lambda _: version)
    assert linear.available() == used
    assert isinstance(solver.make_engine("highs", 1, 1.0, {}), pulp.HiGHS if used else pulp.PULP_CBC_CMD)
    linear.available.cache_clear()


def test_without_highs_the_other_solver_finds_the_best() -> None:
    """In a Python that has no highspy: PuLP's class for it is another there."""
    code = """if True:
        import sys
        sys.modules["highspy"] = None
        from test_schedule_solve import hard, solve
        from nessie.schedule.solver.pulp_solver import make_engine
        import pulp
        assert isinstance(make_engine("highs", 1, 1.0, {}), pulp.PULP_CBC_CMD)
        print(solve(hard()).status)"""
    run = finished([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": PYTHONPATH})
    assert (run.stdout, run.stderr) == ("optimal\n", "")
