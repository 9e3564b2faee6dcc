"""Attempts at a better plan of a region than the best so far, or at a better bound, in this order:

    the linear program in fractions           a bound, and what greedy makes of what its solutions have together
    the same in whole numbers                 likewise
    the integer programs of what these        plans, mostly the best
        solutions have together
    the integer program of all blocks         optimal, or a better bound; left out where it would be too large

While programs in whole numbers are solved in another thread, plans are refined (schedule.solver.refine); where there is
little, only after them, so that the answer does not depend on which is faster.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Lock

from nessie.base.records import dataclass
from nessie.base.system.deep import start_thread
from nessie.schedule.cost.problem import Candidate, Clusters, Problem
from nessie.schedule.solver.bound.bound import Bound
from nessie.schedule.solver.copies import with_copies
from nessie.schedule.solver.exact import PRECISION, Found, SolverLimits, exact, gap
from nessie.schedule.solver.greedy import greedy
from nessie.schedule.solver.refine import refine

SMALL = 400                     # binary variables up to which there is little
TOGETHER = 1200                 # blocks, and binary variables, of a program of what a solution has together
FRACTIONS, WHOLE = 0.7, 0.7     # of the time that is left, for the linear program in fractions; in whole numbers
SHARE, MOST = 0.4, 0.9          # for a program of several; for that of all blocks
BUILD = 0.2                     # seconds that a program may take beyond its time
WAIT = 0.05                     # seconds, after which a Ctrl-C is seen


@dataclass(frozen=True)
class Task:
    """The problem, as these blocks, and the bound of its linear program, if there is one."""
    problem: Problem
    blocks: Clusters
    solver: str
    limits: SolverLimits
    relaxed: Bound | None = None


class Standing:
    """The best plan so far, what it costs, and what none is below: each thread may offer better ones. `ended`: one has
    failed, the others are to stop."""

    def __init__(self, problem: Problem, best: Candidate, least: float) -> None:
        self.problem, self.best, self.least, self.ended = problem, best, least, False
        self.total = problem.total(best)
        self._lock = Lock()

    def offer(self, plan: Candidate | None, least: float | None = None) -> None:
        total = self.problem.total(plan) if plan else 0.0
        with self._lock:
            self.least = max(self.least, least or 0.0)
            if plan and total < self.total:
                self.best, self.total = plan, total

    @property
    def open(self) -> bool:
        return not self.ended and gap(self.total, self.least) >= PRECISION


def improve(task: Task, standing: Standing, deadline: float) -> None:
    """Offer what is found in time."""
    fractions = list[Clusters]()
    if task.relaxed and goes_on(standing, deadline):
        task.relaxed.relax(left(deadline) * FRACTIONS)
        fractions = put_together(task.relaxed, standing, deadline)
    if not goes_on(standing, deadline):
        return
    count = variables(task.problem, task.blocks)
    programs = partial(solve_programs, task, standing, deadline, count, fractions)
    if count <= SMALL:
        programs()
    else:
        with beside(programs, standing):
            refined(task, standing, deadline)
    refined(task, standing, deadline)


@contextmanager
def beside(work: Callable[[], None], standing: Standing) -> Iterator[None]:
    """The work is done in another thread while the body runs here; before it, where no thread is to be had. What fails
    in one ends the other."""
    failures = list[BaseException]()

    def body() -> None:
        try:
            work()
        except BaseException as error:      # re-raised below, in the caller's thread
            failures.append(error)
            standing.ended = True

    try:
        thread = start_thread(body, "programs", 0)
    except RuntimeError:
        thread = None
        work()
    try:
        yield
        while thread and thread.is_alive():
            thread.join(WAIT)
    except BaseException:
        standing.ended = True
        if thread:
            thread.join()
        raise
    if failures:
        raise failures[0]


def solve_programs(task: Task, standing: Standing, deadline: float, count: int, parts: list[Clusters]) -> None:
    """Offer what integer programs find. `count`: the variables of that of all blocks; `parts`: what solutions are known
    to have together."""
    if task.relaxed and goes_on(standing, deadline):
        task.relaxed.sharpen(left(deadline) * WHOLE)
        parts = put_together(task.relaxed, standing, deadline) + parts
    for clusters in parts if count > SMALL else ():
        if goes_on(standing, deadline - BUILD) and len(clusters) <= TOGETHER and all(map(task.problem.fits, clusters)) \
                and variables(task.problem, clusters) <= TOGETHER:
            standing.offer(whole(task, clusters, standing.best, left(deadline) * SHARE)[0])
    if count <= task.limits.variables and goes_on(standing, deadline):
        standing.offer(*whole(task, task.blocks, standing.best, left(deadline) * MOST, task.relaxed))


def put_together(bound: Bound, standing: Standing, deadline: float) -> list[Clusters]:
    """Offer the bound, and what greedy makes in time of what solutions have together, which is the result."""
    standing.offer(None, bound.least)
    for clusters in bound.parts:
        if goes_on(standing, deadline):
            standing.offer(with_copies(standing.problem, greedy(standing.problem, clusters)))
    return bound.parts


def whole(task: Task, blocks: Clusters, best: Candidate, seconds: float, relaxed: Bound | None = None) -> Found:
    """The integer program of these blocks."""
    return exact(task.problem, blocks, best, task.solver, replace(task.limits, seconds=seconds), relaxed)


def refined(task: Task, standing: Standing, deadline: float) -> None:
    """Offer what the best clusters so far are refined to; what they should compute again is seen in the end."""
    best = standing.best.clusters

    def further(clusters: Clusters) -> bool:
        nonlocal best
        if clusters is not best:
            best = clusters
            standing.offer(Candidate(clusters))
        return goes_on(standing, deadline)

    if goes_on(standing, deadline):
        refine(task.problem, task.blocks, best, further)
        standing.offer(with_copies(task.problem, best))


def goes_on(standing: Standing, deadline: float) -> bool:
    return standing.open and left(deadline) > 0


def left(deadline: float) -> float:
    """The seconds until then."""
    return deadline - time.monotonic()


def variables(problem: Problem, blocks: Clusters) -> int:
    """The number of binary variables in the integer program, about."""
    masks = [sum(1 << k for k in block) for block in blocks]
    bad = [0] * len(blocks)
    for b, block in enumerate(blocks):
        for k in block:
            bad[b] |= problem.fusible.bad[k]
    copies = sum(not problem.fusible.direct[k] & mask for k in problem.again for mask in masks)
    return len(blocks) + sum(not bad[u] & masks[v] for v in range(len(blocks)) for u in range(v)) + copies
