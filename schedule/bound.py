"""What no schedule is below, by a linear program that grows by the rows its solutions break, in fractions first, then
in whole numbers; and the nodes that a solution has together, of which good schedules are made."""
from __future__ import annotations

import time
from dataclasses import dataclass, replace

from nessie.schedule.greedy import Merging
from nessie.schedule.linear import Cut, Linear, available
from nessie.schedule.problem import Clusters, Problem
from nessie.schedule.relaxation import NamedRow, Relaxation
from nessie.schedule.separation import Separation

BROKEN = 0.01                   # rows are added that are broken by so much
TOGETHER = (0.9, 0.5, 0.01)     # pairs that are apart by less make clusters
MANY = 60                       # rows are enough for a round
GAIN, IDLE = 4e-3, 3            # rounds without such a gain are the last
WHOLE = 0.5                     # of whole numbers, those that are 0
LAST = 3                        # solutions in whole numbers that make clusters
PARTS = 0.5                     # of the time, for solutions in fractions
TRUST = 1e-7                    # of the bound, what the solver's precision may have added


class Bounding:
    """A linear program on its way; `least` is what no schedule is below."""

    def __init__(self, problem: Problem, blocks: Clusters) -> None:
        self.problem, self.blocks = problem, blocks
        self.relaxation = Relaxation(problem, blocks)
        self.scale = max(problem.profile.launch, max(self.relaxation.weights, default=0.0)) or 1.0
        self.program = Linear([weight / self.scale for weight in self.relaxation.weights], self.relaxation.most)
        for low, terms in self.relaxation.rows:
            self.program.add(low, terms)
        self.known: set[tuple[float, frozenset[tuple[int, float]]]] = set()
        self.cuts: list[Cut] = []
        self.solution: list[float] = []
        self.least = 0.0

    def in_parts(self, deadline: float) -> None:
        """Variables may be fractions."""
        idle = 0
        while idle < IDLE and (left := deadline - time.monotonic()) > 0:
            solved = self.program.solve(left)
            if solved is None:
                return
            value, self.solution = solved
            idle = idle + 1 if self.raised(value) < GAIN else 0
            if not self.cut(deadline):
                return

    def whole(self, deadline: float) -> list[list[float]]:
        """Variables are whole numbers. The solutions on the way."""
        found = list[list[float]]()
        while (left := deadline - time.monotonic()) > 0:
            value, solution = self.program.solve_whole(left)
            self.raised(value)
            if not solution:
                break
            self.solution = solution
            found.append(solution)
            if not self.cut(deadline):
                break
        return found

    def raised(self, value: float) -> float:
        """By what part this value of the program raises the bound."""
        before = self.least
        self.least = max(before, (self.relaxation.constant + value * self.scale) * (1 - TRUST))
        return (self.least - before) / self.least if self.least else 0.0

    def cut(self, deadline: float) -> bool:
        """Add rows that the solution breaks, if there are any."""
        fresh = self.broken(deadline)
        self.cuts += fresh
        for low, terms in fresh:
            self.program.add(low, terms)
        return bool(fresh)

    def broken(self, deadline: float) -> list[Cut]:
        """New rows that are broken. Other kinds are looked for once there are few of one, as they take longer."""
        separation, fresh = Separation(self.relaxation, self.solution), list[Cut]()
        for kind in (separation.paths, separation.cycles, separation.launches, separation.reads):
            for cut in kind():
                if self.is_new(cut):
                    fresh.append(cut)
                if time.monotonic() > deadline:
                    return fresh
            if len(fresh) > MANY:
                break
        return fresh

    def is_new(self, cut: Cut) -> bool:
        """Does the solution break the row, which is not there yet?"""
        low, terms = cut
        if sum(weight * self.solution[k] for k, weight in terms.items()) > low - BROKEN * max(1.0, low):
            return False
        key = low, frozenset(terms.items())
        if key in self.known:
            return False
        self.known.add(key)
        return True

    def tight(self) -> list[NamedRow]:
        """The rows that the solution just keeps."""
        return [self.relaxation.named((low, terms)) for low, terms in self.cuts
                if sum(weight * self.solution[k] for k, weight in terms.items()) < low + TRUST]

    def rounded(self, solution: list[float], limit: float) -> Clusters:
        """Legal clusters of nodes that are apart by less, the nearest first."""
        merging = Merging(self.problem, self.blocks, careful=False)
        near = [(solution[~pair], u, v) for (u, v), pair in self.relaxation.pairs.items()
                if pair < 0 and solution[~pair] < limit]
        for _, u, v in sorted(near):
            merging.try_merge(u, v)
        return merging.clusters()


@dataclass(frozen=True)
class Bound:
    """`least`: no schedule costs less. `parts`: what the nodes that seem to be together make, as far as that is legal,
    in the last solution first; none where the time did not suffice. `tight`: the rows that the last solution in
    fractions just keeps."""
    least: float
    parts: list[Clusters]
    tight: list[NamedRow]
    bounding: Bounding

    def cycles(self, clusters: Clusters) -> list[NamedRow]:
        """Rows that clusters break which wait for each other, but for what is in one of them by no path."""
        relaxation = self.bounding.relaxation
        home = {k: number for number, members in enumerate(clusters) for k in members}
        solution = [0.0] * len(relaxation.weights)
        for (u, v), pair in relaxation.pairs.items():
            if pair < 0:
                solution[~pair] = float(home[u] != home[v])
        return [relaxation.named(cut) for cut in Separation(relaxation, solution).cycles()]

    def sharpened(self, seconds: float) -> Bound:
        """With more solutions in whole numbers, as far as this time suffices; `parts` are theirs."""
        found = self.bounding.whole(time.monotonic() + seconds)
        parts = [self.bounding.rounded(solution, WHOLE) for solution in found[:-LAST - 1:-1]]
        return replace(self, least=self.bounding.least, parts=parts)


def lower_bound(problem: Problem, blocks: Clusters, seconds: float) -> Bound | None:
    """The bound, as far as this time suffices; None where there is no solver."""
    if not available():
        return None
    began = time.monotonic()
    bounding = Bounding(problem, blocks)
    bounding.in_parts(began + seconds * PARTS)
    parts = [bounding.rounded(bounding.solution, limit) for limit in TOGETHER] if bounding.solution else []
    found = Bound(bounding.least, parts, bounding.tight(), bounding)
    sharpened = found.sharpened(began + seconds - time.monotonic())
    return replace(sharpened, parts=sharpened.parts + parts)
