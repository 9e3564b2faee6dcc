"""Attempts at a better plan of a region than the best so far, or at a better bound, in this order:

    the linear program in fractions           a bound, and what greedy makes of what its solutions have together
    the same in whole numbers                 likewise
    the integer programs of what these        plans, mostly the best
        solutions have together
    the integer program of all blocks         optimal, or a better bound; left out where it would be too large

While programs are solved, plans are refined (schedule.refine) in another thread; where there is little, only after
them, so that the answer is the same in every run.
"""
from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Lock

from nessie.base.records import dataclass
from nessie.schedule.again import with_copies
from nessie.schedule.bound import Bound
from nessie.schedule.exact import PRECISION, Found, Limits, exact, gap
from nessie.schedule.greedy import greedy
from nessie.schedule.problem import Clusters, Plan, Problem
from nessie.schedule.refine import refine

SMALL = 400                     # binary variables up to which there is little
PACKED = 1200                   # of a program of what a solution of the linear program has together
FRACTIONS, WHOLE = 0.7, 0.7     # of the time that is left, for the linear program in fractions; in whole numbers
SHARE, MOST = 0.4, 0.9          # for a program of several; for that of all blocks


@dataclass(frozen=True)
class Task:
    """What is to be scheduled, as these blocks; what a linear program says of it, if there is one."""
    problem: Problem
    blocks: Clusters
    solver: str
    limits: Limits
    relaxed: Bound | None = None


class Standing:
    """The best plan so far, and what none is below: each thread may offer better ones."""

    def __init__(self, problem: Problem, best: Plan, least: float) -> None:
        self.problem, self.best, self.least = problem, best, least
        self._lock = Lock()

    def offer(self, plan: Plan | None, least: float | None = None) -> None:
        with self._lock:
            self.least = max(self.least, least or 0.0)
            if plan:
                self.best = min((self.best, plan), key=self.problem.total)

    @property
    def open(self) -> bool:
        return gap(self.problem.total(self.best), self.least) >= PRECISION


def improve(task: Task, standing: Standing, deadline: float) -> None:
    """Offer what is found in time."""
    fractions = list[Clusters]()
    if standing.open and task.relaxed:
        task.relaxed.relax(left(deadline) * FRACTIONS)
        fractions = put_together(task.relaxed, standing)
    programs = partial(solve_programs, task, standing, deadline, fractions)
    if variables(task.problem, task.blocks) <= SMALL:
        programs()
    elif goes_on(standing, deadline):
        with ThreadPoolExecutor(1) as beside:
            solving = beside.submit(programs)
            refined(task, standing, deadline)
            solving.result()
    refined(task, standing, deadline)


def solve_programs(task: Task, standing: Standing, deadline: float, parts: list[Clusters]) -> None:
    """Offer what integer programs find; `parts` are what is known to be together in solutions."""
    if standing.open and task.relaxed:
        task.relaxed.sharpen(left(deadline) * WHOLE)
        parts = put_together(task.relaxed, standing) + parts
    count = variables(task.problem, task.blocks)
    packings = [clusters for clusters in parts if count > SMALL and len(clusters) <= PACKED
                and variables(task.problem, clusters) <= PACKED and all(map(task.problem.fits, clusters))]
    for clusters in packings:
        if goes_on(standing, deadline):
            standing.offer(whole(task, clusters, standing.best, left(deadline) * SHARE)[0])
    if count <= task.limits.variables and goes_on(standing, deadline):
        standing.offer(*whole(task, task.blocks, standing.best, left(deadline) * MOST, task.relaxed))


def put_together(bound: Bound, standing: Standing) -> list[Clusters]:
    """Offer what greedy makes of what solutions have together, which is the result."""
    for clusters in bound.parts:
        standing.offer(with_copies(standing.problem, greedy(standing.problem, clusters)))
    standing.offer(None, bound.least)
    return bound.parts


def whole(task: Task, blocks: Clusters, best: Plan, seconds: float, relaxed: Bound | None = None) -> Found:
    """The integer program of these blocks."""
    return exact(task.problem, blocks, best, task.solver, replace(task.limits, seconds=seconds), relaxed)


def refined(task: Task, standing: Standing, deadline: float) -> None:
    """Offer the best clusters so far, refined; what they should compute again is seen afterwards."""
    if goes_on(standing, deadline):
        clusters = refine(task.problem, task.blocks, standing.best.clusters, lambda: goes_on(standing, deadline))
        standing.offer(with_copies(task.problem, clusters))


def goes_on(standing: Standing, deadline: float) -> bool:
    return standing.open and left(deadline) > 0


def left(deadline: float) -> float:
    """The seconds until then."""
    return deadline - time.monotonic()


def variables(problem: Problem, blocks: Clusters) -> int:
    """How many binary variables the integer program would have, about."""
    masks = [sum(1 << k for k in block) for block in blocks]
    bad = [0] * len(blocks)
    for b, block in enumerate(blocks):
        for k in block:
            bad[b] |= problem.fusible.bad[k]
    copies = sum(not problem.fusible.direct[k] & mask for k in problem.again for mask in masks)
    return len(blocks) + sum(not bad[u] & masks[v] for v in range(len(blocks)) for u in range(v)) + copies
