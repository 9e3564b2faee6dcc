"""What each attempt at a better schedule is good for, on regions where another one's limits say so, not the clock."""
from __future__ import annotations

from dataclasses import replace

import pytest
from test_schedule_bound import shaped

from nessie.schedule import bound
from nessie.schedule.attempts import SMALL, variables
from nessie.schedule.contract import contract
from nessie.schedule.exact import Limits
from nessie.schedule.greedy import greedy
from nessie.schedule.problem import Problem
from nessie.schedule.profiles import CPU
from nessie.schedule.solve import OPTIMAL, solve


@pytest.mark.parametrize(("shape", "nodes", "seed"), [("tree", 80, 1), ("mixed", 50, 0), ("mixed", 50, 1)])
def test_what_a_linear_program_has_together_is_put_together_at_best(shape: str, nodes: int, seed: int) -> None:
    """The program of all blocks is too large, and greedy does not find the best."""
    problem = Problem(shaped(shape, nodes, seed), CPU)
    assert variables(problem, contract(problem)) > SMALL
    assert solve(problem, limits=Limits(variables=0, seconds=60.0)).status == OPTIMAL


@pytest.mark.parametrize("seed", [2, 3])
def test_contraction_helps_where_kernels_might_have_too_many_arrays_and_have_not(seed: int) -> None:
    """The program of all nodes is too large, that of contracted blocks is not."""
    problem = Problem(shaped("mixed", 30, seed), replace(CPU, arrays=20))
    least, most = (variables(problem, blocks) for blocks in (contract(problem.roomy()), problem.single()))
    assert problem.crowded and least < most
    assert solve(problem, limits=Limits(variables=least, seconds=60.0)).status == OPTIMAL


def test_refinement_betters_what_greedy_finds_where_there_is_no_linear_program(monkeypatch: pytest.MonkeyPatch
                                                                               ) -> None:
    """As where HiGHS is not installed."""
    monkeypatch.setattr(bound, "available", lambda: False)
    problem = Problem(shaped("mixed", 80, 4), CPU)
    by_greed = min(problem.cost(greedy(problem, start)).total for start in (problem.apart(), contract(problem)))
    assert solve(problem, limits=Limits(variables=0, seconds=60.0)).cost < 0.9 * by_greed
