"""Every formula of the integer program is needed: without its rows, some small graph gets a wrong answer.

Wrong is a schedule that cannot be run, one that costs more than another, one that is said to cost less than it does,
and none. Copies' rows are taken away apart from those of blocks.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from random_graphs import PROFILES, TIGHT, random_graph

from nessie.base.source import InternalError
from nessie.schedule.cost.problem import Candidate, Problem
from nessie.schedule.graph import text as graph_text
from nessie.schedule.legality import certificate
from nessie.schedule.solver import exact as exact_module
from nessie.schedule.solver import pulp_solver as solver
from nessie.schedule.solver.exact import SolverLimits, exact
from nessie.schedule.solver.ilp import Formulation
from nessie.schedule.solver.model import Model, Row

GRAPHS = 60                     # tried, from a number on
CUT = Row(9, {"joined_0_1": 1.0, "together_0_1": -1.0})         # such rows come when a cycle is found


Belongs = Callable[[Row, Formulation], bool]


def of(formula: int, about: str = "", again: bool | None = None) -> Belongs:
    """The rows of a formula: those about variables whose names begin so, if it says; with copies or without."""
    def belongs(row: Row, formulation: Formulation) -> bool:
        copies = {f"y_{p}_{r}" for p in formulation.copies for r in formulation.kernels[p]}
        return row.formula == formula and any(name.startswith(about) for name in row.terms) \
            and again in (None, not copies.isdisjoint(row.terms))

    return belongs


SURVIVORS = """graph others 0 {
  size n = 1000000.0
  size t = 3000000.0
  size fk = 300000.0
  size gk = 300000.0
  array s0 : [float; n]
  array a : [float; t]
  array a2 : [float; t]
  array a3 : [float; t]
  array a4 : [float; t]
  array b : [float; t]
  array s : [float; n]
  array s2 : [float; n]
  array s3 : [float; n]
  scalar fk : int
  array f : [bool; fk]
  scalar gk : int
  array g : [bool; gk]
  array fo : [int; n+1]
  array go : [int; n+1]
  array u : [float; n]
  array v : [float; n]
  node s = MAP flat(n) (own s0) -> (s, s2, s3)
  node f = SEG_FILTER elements(d, n, t) (own a, own a2, own a3, own a4) -> (fk, f, fo)
  node g = SEG_FILTER elements(d, n, t) (own b) -> (gk, g, go)
  node u = SEG_REDUCE survivors(f, fk, n) (member fk, member fo, own f, seg s, seg s2, seg s3) -> (u)
  node v = SEG_REDUCE survivors(g, gk, n) (member gk, member go, own g, seg s, seg s2, seg s3) -> (v)
  outputs (u, v)
}
"""

FORMULAS: dict[str, tuple[int | str, Belongs]] = {
    "(1) every block runs once": (0, of(1)),
    "(2) what may not be together is not": (0, of(2, again=False)),
    "(2) nor are copies and blocks": (280, of(2, again=True)),
    "(3) hosts of the first and another are there": (840, of(3)),
    "(4) hosts of others are there": (SURVIVORS, of(4)),
    "(5) kernels have so many arrays": (0, of(5)),
    "(6) what is not made there is streamed": (0, of(6, "d_", False)),
    "(6) by copies too": (0, of(6, "d_", True)),
    "(6) a launch reads": (0, of(6, "n_", False)),
    "(6) for copies too": (0, of(6, "n_", True)),
    "(6) what is read elsewhere is written": (0, of(6, "w_", False)),
    "(6) what copies read is written": (0, of(6, "w_", True)),
    "(7) sizes go to the host": (0, of(7)),
    "(8) second sweeps": (0, of(8, "q_", False)),
    "(8) of copies too": (0, of(8, "q_", True)),
    "(8) survivors that are written are numbered": (0, of(8, "c_")),
    "(9) cycles": (0, of(9)),
    "(9) what is together": (0, of(9, "together_")),
    "(9) what is joined": (0, of(9, "joined_")),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, belongs = FORMULAS[name]
    problems = [Problem(graph_text.parse(first), TIGHT[2])] if isinstance(first, str) else (
        Problem(random_graph(seed, 7, 0.7 * (seed % 2)), (*PROFILES, *TIGHT)[seed // 2 % 8])
        for seed in range(first, first + GRAPHS))
    assert any(wrong_without(belongs, problem, monkeypatch) for problem in problems)


def wrong_without(belongs: Belongs, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Does the problem get a wrong answer without these rows?"""
    graph = problem.index.graph
    formulation, taken = Formulation(problem, problem.apart()), list[Row]()
    if not any(belongs(row, formulation) for row in formulation.model.rows) and not belongs(CUT, formulation):
        return False

    def solve_without(model: Model, *given: object) -> solver.Answer | None:
        taken.extend(row for row in model.rows if belongs(row, formulation))
        rows = [row for row in model.rows if not belongs(row, formulation)]
        return solver.solve_model(replace(model, rows=rows), *given)        # type: ignore[arg-type]

    start = Candidate(problem.apart())
    with monkeypatch.context() as patch:
        patch.setattr(exact_module, "solve_model", solve_without)
        patch.setattr(exact_module, "ROUNDS", 4)
        try:
            found, bound = exact(problem, problem.apart(), start, "highs", SolverLimits())
        except InternalError:
            return True
    if not taken:
        return False
    if found is None or bound is None:
        return True
    right, _ = exact(problem, problem.apart(), start, "highs", SolverLimits())
    assert right is not None
    names, again = ([[graph.nodes[k].name for k in nodes] for nodes in kernels]
                    for kernels in (found.clusters, found.again))
    least, cost = problem.total(right), problem.total(found)
    near = 1e-6 * max(1.0, least)
    return bool(certificate.complaints(graph, names, again)) or abs(cost - least) > near or bound < cost - near
