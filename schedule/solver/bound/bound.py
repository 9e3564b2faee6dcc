"""A lower bound of all schedules, by a linear program that grows by the rows its solutions break, in fractions first,
then in whole numbers; and the nodes that a solution has together, of which good schedules are made."""
from __future__ import annotations

import time

from nessie.schedule.cost.problem import Clusters, Problem
from nessie.schedule.solver.bound.linear import Cut, Linear, available
from nessie.schedule.solver.bound.relaxation import NamedRow, Relaxation
from nessie.schedule.solver.bound.separation import Separation
from nessie.schedule.solver.greedy import Merging

BROKEN = 0.01                   # rows are added that are broken by so much
SLACK = 1e-7                    # a solution just keeps rows that have less to spare
PRECISION = 1e-7                # of the bound, what the solver may have added
MANY = 60                       # rows are enough for a round
GAIN, IDLE = 4e-3, 3            # rounds without such a gain, for all kinds of rows, are the last
NEAREST = (0.9, 0.5, 0.01)      # of fractions: pairs that are apart by less make clusters
WHOLE = 0.5                     # of whole numbers, those that are 0
LAST = 3                        # solutions in whole numbers that make clusters


class Bound:
    """A bound that rises as it is given time, and what its program knows besides.

    least       no schedule costs less
    parts       what the nodes that seem to be together make, as far as that is legal, in the last solution first; empty
                where the time did not suffice
    limiting    the rows that the last solution in fractions just keeps; and those, found in it, that it breaks
    """

    def __init__(self, problem: Problem, blocks: Clusters) -> None:
        self.least = 0.0
        self.parts: list[Clusters] = []
        self.limiting: list[NamedRow] = []
        self._problem, self._blocks = problem, blocks
        self._relaxation = Relaxation(problem, blocks)
        weights = self._relaxation.weights
        self._scale = max(problem.profile.launch, max(weights, default=0.0)) or 1.0
        self._program = Linear([weight / self._scale for weight in weights], self._relaxation.most)
        for low, terms in self._relaxation.rows:
            self._program.add(low, terms)
        self._known: set[tuple[float, frozenset[tuple[int, float]]]] = set()
        self._cuts: list[Cut] = []
        self._solution: list[float] = []

    def relax(self, seconds: float) -> None:
        """Solutions in fractions, as far as this time suffices; `parts` and `limiting` are those of the last."""
        deadline, idle, count = time.monotonic() + seconds, 0, 0
        while idle < IDLE and (left := deadline - time.monotonic()) > 0:
            solved = self._program.solve(left)
            if solved is None:
                break
            value, self._solution = solved
            few = self._raised(value) < GAIN and count <= MANY
            idle = idle + 1 if few else 0
            if not (count := self._cut(deadline)):
                break
        if self._solution:
            self.parts = [self._rounded(self._solution, limit) for limit in NEAREST]
        self.limiting = [self._relaxation.named(cut) for cut in self._cuts if self._spare(cut) < SLACK]

    def sharpen(self, seconds: float) -> None:
        """Solutions in whole numbers, as far as this time suffices; `parts` are those of the last ones."""
        deadline, found = time.monotonic() + seconds, list[list[float]]()
        while (left := deadline - time.monotonic()) > 0:
            value, solution = self._program.solve_whole(left)
            self._raised(value)
            if not solution:
                break
            self._solution = solution
            found.append(solution)
            if not self._cut(deadline):
                break
        self.parts = [self._rounded(solution, WHOLE) for solution in found[:-LAST - 1:-1]]

    def cycles(self, clusters: Clusters) -> list[NamedRow]:
        """Rows that clusters break which wait for each other, but for what is in one of them by no path."""
        home = {k: number for number, members in enumerate(clusters) for k in members}
        solution = [0.0] * len(self._relaxation.weights)
        for (u, v), pair in self._relaxation.pairs.items():
            if pair < 0:
                solution[~pair] = float(home[u] != home[v])
        return [self._relaxation.named(cut) for cut in Separation(self._relaxation, solution).cycles()]

    def _raised(self, value: float) -> float:
        """By what part this value of the program raises the bound."""
        before = self.least
        self.least = max(before, (self._relaxation.constant + value * self._scale) * (1 - PRECISION))
        return (self.least - before) / self.least if self.least else 0.0

    def _cut(self, deadline: float) -> int:
        """Add rows that the solution breaks; how many."""
        fresh = self._broken(deadline)
        self._cuts += fresh
        for low, terms in fresh:
            self._program.add(low, terms)
        return len(fresh)

    def _broken(self, deadline: float) -> list[Cut]:
        """New rows that are broken. Other kinds are looked for once there are few of one, as they take longer."""
        separation, fresh = Separation(self._relaxation, self._solution), list[Cut]()
        for kind in (separation.paths, separation.cycles, separation.launches, separation.reads):
            for cut in kind():
                if self._is_new(cut):
                    fresh.append(cut)
                if time.monotonic() > deadline:
                    return fresh
            if len(fresh) > MANY:
                break
        return fresh

    def _is_new(self, cut: Cut) -> bool:
        """Does the solution break the row, which is not there yet?"""
        low, terms = cut
        if self._spare(cut) > -BROKEN * max(1.0, low):
            return False
        key = low, frozenset(terms.items())
        if key in self._known:
            return False
        self._known.add(key)
        return True

    def _spare(self, cut: Cut) -> float:
        """The slack of the row in the solution."""
        low, terms = cut
        return sum(weight * self._solution[k] for k, weight in terms.items()) - low

    def _rounded(self, solution: list[float], limit: float) -> Clusters:
        """Legal clusters of nodes that are apart by less, the nearest first."""
        merging = Merging(self._problem, self._blocks, careful=False)
        near = [(solution[~pair], u, v) for (u, v), pair in self._relaxation.pairs.items()
                if pair < 0 and solution[~pair] < limit]
        for _, u, v in sorted(near):
            merging.try_merge(u, v)
        return merging.clusters()


def bound_of(problem: Problem, blocks: Clusters) -> Bound | None:
    """A bound that nothing is known for yet; None where there is no solver."""
    return Bound(problem, blocks) if available() else None
