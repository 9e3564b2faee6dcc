"""What each attempt at a better schedule is good for, on regions where another one's limits say so, not the clock."""
from __future__ import annotations

import time
from dataclasses import replace

import pytest
from test_schedule_bound import shaped

from nessie.base.system import deep
from nessie.schedule.cost.problem import Candidate, Problem
from nessie.schedule.cost.profiles import CPU
from nessie.schedule.solver import improve as attempts
from nessie.schedule.solver.bound import bound
from nessie.schedule.solver.contract import contract
from nessie.schedule.solver.exact import SolverLimits
from nessie.schedule.solver.greedy import greedy
from nessie.schedule.solver.improve import SMALL, Standing, variables
from nessie.schedule.solver.solve import OPTIMAL, solve


@pytest.mark.parametrize(("shape", "nodes", "seed"), [("tree", 80, 1), ("mixed", 50, 0), ("mixed", 50, 1)])
def test_what_a_linear_program_has_together_is_put_together_at_best(shape: str, nodes: int, seed: int,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """The program of all blocks is too large, greedy does not find the best, and nothing is refined."""
    monkeypatch.setattr(attempts, "refine", lambda problem, blocks, clusters, goes_on: clusters)
    problem = Problem(shaped(shape, nodes, seed), CPU)
    assert variables(problem, contract(problem)) > SMALL
    assert solve(problem, limits=SolverLimits(variables=0, seconds=60.0)).status == OPTIMAL


@pytest.mark.parametrize("seed", [2, 3])
def test_contraction_helps_where_kernels_might_have_too_many_arrays_and_have_not(seed: int) -> None:
    """The program of all nodes is too large, that of contracted blocks is not."""
    problem = Problem(shaped("mixed", 30, seed), replace(CPU, arrays=20))
    least, most = (variables(problem, blocks) for blocks in (contract(problem.roomy()), problem.single()))
    assert problem.crowded and least < most
    assert solve(problem, limits=SolverLimits(variables=least, seconds=60.0)).status == OPTIMAL


def test_refinement_betters_what_greedy_finds_where_there_is_no_linear_program(monkeypatch: pytest.MonkeyPatch
                                                                               ) -> None:
    """As where HiGHS is not installed."""
    monkeypatch.setattr(bound, "available", lambda: False)
    problem = Problem(shaped("mixed", 80, 4), CPU)
    by_greed = min(problem.cost(greedy(problem, start)).total for start in (problem.apart(), contract(problem)))
    assert solve(problem, limits=SolverLimits(variables=0, seconds=60.0)).cost < 0.9 * by_greed


def between() -> Problem:
    """A region of which programs are solved beside refinement, and are not soon done with."""
    problem = Problem(shaped("mixed", 80, 1), CPU)
    assert variables(problem, contract(problem)) > SMALL
    return problem


def test_what_fails_beside_refinement_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(attempts, "whole", broken)
    with pytest.raises(ZeroDivisionError):
        solve(between(), limits=SolverLimits(seconds=60.0))


def test_programs_end_when_refinement_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, solved = list[bool](), list[object]()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    def programs(task: attempts.Task, standing: Standing, *_: object) -> None:
        while standing.open and len(solved) < 10**6:
            solved.append(time.sleep(1e-4))
        ended.append(standing.ended)

    monkeypatch.setattr(attempts, "refine", interrupted)
    monkeypatch.setattr(attempts, "solve_programs", programs)
    with pytest.raises(KeyboardInterrupt):
        solve(between())
    assert ended == [True]


def test_where_no_thread_is_to_be_had_programs_are_solved_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    for module in (attempts, deep):
        monkeypatch.setattr(module, "start_thread", no_thread)
    problem = Problem(shaped("mixed", 50, 0), CPU)
    assert variables(problem, contract(problem)) > SMALL
    assert solve(problem, limits=SolverLimits(seconds=60.0)).status == OPTIMAL


def test_the_best_offer_stands() -> None:
    problem = between()
    apart, merged = Candidate(problem.apart()), Candidate(greedy(problem))
    standing = Standing(problem, apart, 1.0)
    standing.offer(merged, 2.0)
    standing.offer(apart, 1.5)
    standing.offer(None, None)
    assert (standing.best, standing.total, standing.least) == (merged, problem.total(merged), 2.0)
    assert standing.open
    standing.offer(None, standing.total)
    assert not standing.open
