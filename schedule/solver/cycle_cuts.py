"""Rows of the integer program (schedule.solver.ilp) that forbid a cycle of kernels, once a solution has one: formula
(9).

    sum_i (1 - together[e_i,x_i]) + sum_i joined[x_i,e_i+1] >= 1       C1 -> .. -> Ck -> C1, entered at e_i, left at x_i
    together[u,v] >= y[u,r] + y[v,r] - 1                              for all r
    joined[u,v]   <= 1 - |y[u,r] - y[v,r]|                            for all r
"""
from __future__ import annotations

from nessie.schedule.solver.bound.linear import add
from nessie.schedule.solver.ilp import Formulation, y
from nessie.schedule.solver.model import Terms


class CycleCuts:
    """Adds rows to the model of a formulation. `variables` are those that were needed so far."""

    def __init__(self, formulation: Formulation) -> None:
        self.of = formulation
        self.variables: set[str] = set()

    def forbid(self, cycle: list[tuple[int, int, int]]) -> None:
        """The cycle is given as (entry, exit, entry of the next kernel) per kernel, by nodes."""
        terms: Terms = {}
        low = 1.0
        for entry, leave, following in cycle:
            e, x, n = (self.of.block_of[k] for k in (entry, leave, following))
            if e != x:
                low -= 1
                together = self._together(min(e, x), max(e, x))
                add(terms, {together: -1.0})
            if x != n and not self.of.bad[x] >> n & 1:
                joined = self._joined(min(x, n), max(x, n))
                add(terms, {joined: 1.0})
        self.of.model.add(9, low=low, **terms)

    def _together(self, u: int, v: int) -> str:
        name = f"together_{u}_{v}"
        if name not in self.variables:
            self.variables.add(self.of.variable(name))
            for r in self.of.kernels[u]:
                if self.of.may(v, r):
                    self.of.model.add(9, low=-1, **{name: 1, y(u, r): -1, y(v, r): -1})
        return name

    def _joined(self, u: int, v: int) -> str:
        name = f"joined_{u}_{v}"
        if name not in self.variables:
            self.variables.add(self.of.variable(name))
            for r in sorted({*self.of.kernels[u], *self.of.kernels[v]}):
                one, other = (y(u, r), self.of.may(u, r)), (y(v, r), self.of.may(v, r))
                for (plus, may_plus), (minus, may_minus) in ((one, other), (other, one)):
                    if may_plus:
                        self.of.model.add(9, high=1, **{name: 1, plus: 1}, **({minus: -1} if may_minus else {}))
        return name
