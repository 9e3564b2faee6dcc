"""Linear terms; and linear programs that grow row by row, solved by HiGHS itself, each time from where the last
solution was. Their variables may be asked to be whole numbers in the end."""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

from nessie.base.records import dataclass
from nessie.base.source import InternalError

Variable = TypeVar("Variable", bound=Hashable)

Terms = dict[int, float]                        # a weight for each variable, by its number
Cut = tuple[float, Terms]                       # low <= terms


@dataclass(frozen=True)
class Value:
    """A constant and a weighted sum of variables."""
    constant: float
    terms: Terms

    def less(self, terms: Terms) -> Value:
        rest = dict(self.terms)
        add(rest, terms, -1.0)
        return Value(self.constant, rest)


def add(terms: dict[Variable, float], more: Mapping[Variable, float], weight: float = 1.0) -> None:
    """Add so many times the other terms to these."""
    for variable, count in more.items():
        terms[variable] = terms.get(variable, 0.0) + weight * count


def at_least(variable: int, values: Iterable[Value]) -> Cut:
    """The variable is at least the sum of the values."""
    low, terms = 0.0, {variable: 1.0}
    for value in values:
        low += value.constant
        add(terms, value.terms, -1.0)
    return low, {k: weight for k, weight in terms.items() if weight}


NEWEST = (1, 15)                # version of HiGHS that is used: 1.16.0 calls solutions optimal that are not


@cache
def available() -> bool:
    """Whether HiGHS is installed, in a version that Nessie uses."""
    try:
        import highspy  # noqa: F401
        found = version("highspy")
    except (ImportError, PackageNotFoundError):
        return False
    return tuple(int(part) for part in found.split(".")[:2]) <= NEWEST


class Linear:
    """minimise the sum of `weights`, over variables from 0 to `most`."""

    def __init__(self, weights: Sequence[float], most: Sequence[float]) -> None:
        import highspy

        self.engine: Any = highspy.Highs()       # type: ignore[no-untyped-call]
        self.engine.silent()
        self.infinity = highspy.kHighsInf
        self.optimal = highspy.HighsModelStatus.kOptimal
        self.infeasible = highspy.HighsModelStatus.kInfeasible
        self.whole = highspy.HighsVarType.kInteger
        for weight, limit in zip(weights, most, strict=True):
            self.engine.addCol(weight, 0.0, limit, 0, [], [])

    def add(self, low: float, terms: Mapping[int, float]) -> None:
        """low <= terms"""
        self.engine.addRow(low, self.infinity, len(terms), list(terms.keys()), list(terms.values()))

    def solve(self, seconds: float) -> tuple[float, list[float]] | None:
        """The least value and where it is; None if it takes longer."""
        self._run(self.engine.getRunTime() + seconds)
        if self.engine.getModelStatus() != self.optimal:
            return None
        return float(self.engine.getInfo().objective_function_value), list(self.engine.getSolution().col_value)

    def solve_whole(self, seconds: float) -> tuple[float, list[float]]:
        """The bound of all solutions in whole numbers; the best that was found, which may be none."""
        count = self.engine.getNumCol()
        self.engine.changeColsIntegrality(count, list(range(count)), [self.whole] * count)
        self.engine.setOptionValue("mip_rel_gap", 0.0)
        self._run(seconds)              # a program in whole numbers counts from here
        found = self.engine.getSolution()
        return float(self.engine.getInfo().mip_dual_bound), list(found.col_value) if found.value_valid else []

    def _run(self, until: float) -> None:
        self.engine.setOptionValue("time_limit", until)
        self.engine.run()
        if self.engine.getModelStatus() == self.infeasible:
            raise InternalError("the rows of a schedule's bound contradict one another")
