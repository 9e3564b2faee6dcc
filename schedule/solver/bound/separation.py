"""Rows of the linear program of schedule.solver.bound.relaxation that a solution breaks, found by shortest paths.

A path's length is the sum of z along it (schedule.solver.bound.distances).

    paths      u and v may not be together: any path between them has a length of 1 at least
    cycles     u must run before v: so does a path back, on which what depends on a node is not before it, for nothing
    chains     of clusters that wait for each other (schedule.solver.bound.quotient)
    readers    nodes s no two of which may be together, each with a path to a node l that reads a: so many kernels
               read a as paths have no length; twice, if a carry of s depends on l. That a's maker is elsewhere is
               sure if it may not be with s, or as sure as z[p,l]
"""
from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from nessie.base.system.forking import cached_property
from nessie.schedule.graph.nodes import HOST
from nessie.schedule.legality.cliques import heaviest
from nessie.schedule.solver.bound.distances import NEAR, Distances, Steps, along
from nessie.schedule.solver.bound.linear import Cut, Value, at_least
from nessie.schedule.solver.bound.quotient import Quotient
from nessie.schedule.solver.bound.relaxation import Reading, Relaxation

FEW = 4                                         # rows of a kind that a node is good for in one round
TRUSTED = 1e-3                                  # what is less is none


class Separation:
    """The rows that one solution breaks."""

    def __init__(self, relaxation: Relaxation, solution: list[float]) -> None:
        self.relaxation, self.problem = relaxation, relaxation.problem
        self.distances = Distances(relaxation, solution)
        self.bad = self.problem.fusible.bad

    def paths(self) -> Iterator[Cut]:
        for u, bad in enumerate(self.bad):
            found, steps = self.distances.near({u: 0.0}, bad)
            broken = [v for v in found if v > u and bad >> v & 1]
            for v in broken[:FEW]:
                yield 1.0, along(steps, v)

    def cycles(self) -> Iterator[Cut]:
        """The rows of circles: the nearest way from each node back to one that must run before it."""
        index = self.problem.index
        for v, before in enumerate(index.predecessors):
            strict = {u for u in before if self.bad[u] >> v & 1}
            if strict and (row := self.back(v, strict)):
                yield row

    def back(self, v: int, goals: set[int]) -> Cut | None:
        """The nearest of the goals that a path leads back to."""
        index = self.problem.index
        nearest, steps, done = {v: 0.0}, Steps(), set[int]()
        waiting = [(0.0, v)]
        while waiting:
            here, u = heappop(waiting)
            if u in done:
                continue
            if u in goals:
                return 1.0, along(steps, u)
            done.add(u)
            after = index.successors[u]
            for w, step, pair in (*((w, 0.0, 0) for w in after), *self.distances.steps[u]):
                there = here if w in after else here + step
                if there < nearest.get(w, NEAR):
                    nearest[w], steps[w] = there, (u, pair)
                    heappush(waiting, (there, w))
        return None

    @cached_property
    def quotient(self) -> Quotient:
        return Quotient(self.distances)

    # Reads and launches -------------------------------------------------------------------------

    def launches(self) -> Iterator[Cut]:
        one = Value(1.0, {})
        values = {k: one for k, node in enumerate(self.problem.index.nodes) if node.op != HOST}
        if row := self.quotient.chain(self.relaxation.launches, values, alike=True):
            yield row

    def reads(self) -> Iterator[Cut]:
        for reading in self.relaxation.readings.values():
            kinds = [(reading.times, self.read_once(reading))]
            if reading.twice is not None:
                kinds.append((reading.twice, self.read_twice(reading)))
            for variable, reading_kernels in kinds:
                if reading_kernels:
                    worth = {s: self.distances.of(value) for s, value in reading_kernels.items()}
                    yield at_least(variable, [reading_kernels[s] for s in heaviest(self.bad, worth)])
                if row := self.quotient.chain(variable, reading_kernels):
                    yield row

    def read_once(self, reading: Reading) -> dict[int, Value]:
        """The value, for each node, of its kernel's reading the array."""
        found: dict[int, Value] = {}
        near, steps = self.distances.near(dict.fromkeys(reading.readers, 0.0))
        for s in near:
            if reading.maker is None or self.bad[reading.maker] >> s & 1:
                self.keep(found, s, Value(1.0, {}).less(along(steps, s)))
        for k in reading.readers if reading.maker is not None else ():
            self.keep(found, k, self.from_maker(reading, k))
        return found

    def read_twice(self, reading: Reading) -> dict[int, Value]:
        """The value, for each node with a carry, of its kernel's reading the array again."""
        traffic, found = self.problem.traffic, dict[int, Value]()
        for k in reading.readers:
            if not traffic.carried[k] or self.distances.of(self.from_maker(reading, k)) < TRUSTED:
                continue
            near, steps = self.distances.near({k: 0.0})
            for s in near:
                if traffic.carried[k] >> s & 1:
                    elsewhere = reading.maker is None or self.bad[reading.maker] >> s & 1
                    value = Value(1.0, {}) if elsewhere else self.from_maker(reading, k)
                    value = value.less(along(steps, s))
                    if s in self.relaxation.numbered:
                        carry = self.relaxation.numbered[s]
                        value = Value(value.constant - 1, value.less({carry: -1.0}).terms)
                    self.keep(found, s, value)
        return found

    def from_maker(self, reading: Reading, k: int) -> Value:
        """Is the reader apart from the maker?"""
        return Value(1.0, {}) if reading.maker is None else self.relaxation.value(
            self.relaxation.apart(reading.maker, k))

    def keep(self, found: dict[int, Value], s: int, value: Value) -> None:
        if self.distances.of(value) > max(TRUSTED, self.distances.of(found[s]) if s in found else 0.0):
            found[s] = value
