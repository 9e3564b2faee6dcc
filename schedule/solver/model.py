"""Integer programs as data: variables, rows and an objective. schedule.solver.ilp writes them,
schedule.solver.pulp_solver solves them."""
from __future__ import annotations

from dataclasses import field

from nessie.base.records import dataclass

Terms = dict[str, float]


@dataclass
class Row:
    """low <= sum of terms <= high, by one of the formulas."""
    formula: int
    terms: Terms
    low: float | None = None
    high: float | None = None


@dataclass
class Model:
    """minimise `objective` + `constant` over binary and [0,1] variables, subject to `rows`."""
    binary: list[str] = field(default_factory=list)
    real: list[str] = field(default_factory=list)
    objective: Terms = field(default_factory=dict)
    constant: float = 0.0
    rows: list[Row] = field(default_factory=list)

    def add(self, formula: int, low: float | None = None, high: float | None = None, **terms: float) -> None:
        self.rows.append(Row(formula, terms, low, high))
