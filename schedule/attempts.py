"""Attempts at a better schedule of a region than the best so far, or at a better bound, in the order in which they are
made:

    the integer program of what a linear program's             candidates, mostly the best
        solutions have together
    windows of neighbouring kernels, one by one                a candidate
    the integer program of all blocks                          optimal, or a better bound
    without second sweeps, where a device has them             a candidate

Where there is little, the program of all blocks comes first, and windows last; where there is too much, it is left out.
"""
from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from nessie.base.records import dataclass
from nessie.schedule.again import with_copies
from nessie.schedule.bound import Bound
from nessie.schedule.exact import Found, Limits, exact
from nessie.schedule.greedy import greedy
from nessie.schedule.problem import Clusters, Plan, Problem
from nessie.schedule.windows import improve

SMALL = 400                     # binary variables up to which there is little
PACKED = 1200                   # of a program of what a solution of the linear program has together
WINDOW = 4                      # windows that there is time for at least
SHARE, MOST = 0.4, 0.9          # of the time that is left, for an attempt of several; for one that takes what it needs


@dataclass(frozen=True)
class Task:
    """What is to be scheduled, as these blocks; what a linear program says of it, if there is one."""
    problem: Problem
    blocks: Clusters
    solver: str
    limits: Limits
    relaxed: Bound | None = None


Attempt = Callable[[Task, Plan, float], Found]          # from the best plan so far, in so many seconds


def attempts(task: Task) -> list[tuple[Attempt, float]]:
    """Those that are worth their time, in order, with how much each may take of what is left of it."""
    count = variables(task.problem, task.blocks)
    programs: list[Attempt] = [whole, single_sweeps] if count <= task.limits.variables else []
    if count <= SMALL:
        return [(attempt, MOST) for attempt in (*programs, windows)]
    packings: list[Attempt] = [partial(packed, parts=parts) for parts in (task.relaxed.parts if task.relaxed else ())]
    tried = [*packings, windows, *programs]
    return [*((attempt, SHARE) for attempt in tried[:-1]), (tried[-1], MOST)]


def whole(task: Task, best: Plan, seconds: float) -> Found:
    """The integer program of all blocks."""
    return exact(task.problem, task.blocks, best, task.solver, replace(task.limits, seconds=seconds),
                 relaxed=task.relaxed)


def single_sweeps(task: Task, best: Plan, seconds: float) -> Found:
    """The integer program without second sweeps: solved much sooner, its answer often as good; no bound."""
    profile = task.problem.profile
    if not profile.rescan:
        return None, None
    single = Problem(task.problem.index.graph, replace(profile, rescan=0.0))
    return whole(replace(task, problem=single, relaxed=None), best, seconds)[0], None


def packed(task: Task, best: Plan, seconds: float, parts: Clusters) -> Found:
    """The integer program of these clusters, which are only put together; no bound."""
    if len(parts) > PACKED or variables(task.problem, parts) > PACKED or not all(map(task.problem.fits, parts)):
        return None, None
    return whole(replace(task, blocks=parts, relaxed=None), best, seconds)[0], None


def windows(task: Task, best: Plan, seconds: float) -> Found:
    """The best clusters so far, improved a few kernels at a time; what they should compute again is seen afterwards."""
    deadline = time.monotonic() + seconds

    def window(parts: Clusters, frozen: frozenset[int], start: Clusters) -> Clusters | None:
        limits = replace(task.limits, seconds=min(deadline - time.monotonic(), seconds / WINDOW))
        if limits.seconds <= 0:
            return None
        found = exact(task.problem, parts, Plan(start), task.solver, limits, frozen, again=())[0]
        return found.clusters if found else None

    return with_copies(task.problem, improve(task.problem, task.blocks, best.clusters, window)), None


def put_together(problem: Problem, parts: list[Clusters], best: Plan, deadline: float) -> Plan:
    """The best of what greedy makes of these clusters, as far as there is time."""
    for clusters in parts:
        if time.monotonic() < deadline:
            best = min((best, with_copies(problem, greedy(problem, clusters))), key=problem.total)
    return best


def variables(problem: Problem, blocks: Clusters) -> int:
    """How many binary variables the integer program would have, about."""
    masks = [sum(1 << k for k in block) for block in blocks]
    bad = [0] * len(blocks)
    for b, block in enumerate(blocks):
        for k in block:
            bad[b] |= problem.fusible.bad[k]
    copies = sum(not problem.fusible.direct[k] & mask for k in problem.again for mask in masks)
    return len(blocks) + sum(not bad[u] & masks[v] for v in range(len(blocks)) for u in range(v)) + copies
