"""Rows of the linear program of schedule.relaxation that a solution breaks, found by shortest paths.

A path's length is the sum of z along it: nodes whose path is shorter than 1 may be in one kernel.

    paths      u and v may not be together: any path between them has a length of 1 at least
    cycles     u must run before v: so does a path back, on which what depends on a node is not before it, for nothing
    chains     of clusters that wait for each other (schedule.quotient)
    readers    nodes s no two of which may be together, each with a path to a node l that reads a: so many kernels
               read a as paths have no length; twice, if a carry of s depends on l. That a's maker is elsewhere is
               sure if it may not be with s, or as sure as z[p,l]
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from heapq import heapify, heappop, heappush

from nessie.schedule.pdg import HOST
from nessie.schedule.quotient import Quotient
from nessie.schedule.relaxation import Cut, Reading, Relaxation, Terms, Value

Steps = dict[int, tuple[int, int]]              # of a path: where it came from, and by which pair

NEAR = 0.999                                    # a shorter path breaks a row
STEP = 5e-4                                     # added to a step's length: of paths alike, the one of fewest steps
FEW = 4                                         # rows of a kind that a node is good for in one round
STARTS = 8                                      # of the search for a clique
TRUSTED = 1e-3                                  # what is less is none


class Separation:
    """Of one solution."""

    def __init__(self, relaxation: Relaxation, solution: list[float]) -> None:
        self.relaxation, self.problem = relaxation, relaxation.problem
        self.solution = [max(0.0, value) for value in solution]
        self.bad = self.problem.fusible.bad
        self.steps = [[(v, step + STEP, pair) for v, pair in joined if (step := self.value(pair)) < NEAR]
                      for joined in relaxation.joined]

    def value(self, pair: int) -> float:
        return self.solution[~pair] if pair < 0 else float(pair)

    def of(self, value: Value) -> float:
        return value.constant + sum(weight * self.solution[k] for k, weight in value.terms.items())

    def near(self, sources: Mapping[int, float], ends: int = 0, limit: float = NEAR
             ) -> tuple[dict[int, float], Steps]:
        """The nodes with a shorter path from a source than that, nearest first, and the last steps of the paths, which
        go no further from nodes of the mask `ends`."""
        length, steps = dict(sources), Steps()
        waiting = [(start, k) for k, start in sources.items()]
        heapify(waiting)
        found: dict[int, float] = {}
        while waiting:
            here, u = heappop(waiting)
            if u in found:
                continue
            found[u] = here
            for v, step, pair in () if ends >> u & 1 else self.steps[u]:
                there = here + step
                if there < length.get(v, limit):
                    length[v], steps[v] = there, (u, pair)
                    heappush(waiting, (there, v))
        return found, steps

    def paths(self) -> Iterator[Cut]:
        for u, bad in enumerate(self.bad):
            found, steps = self.near({u: 0.0}, bad)
            broken = [v for v in found if v > u and bad >> v & 1]
            for v in broken[:FEW]:
                yield 1.0, follow(steps, v)[1]

    def cycles(self) -> Iterator[Cut]:
        """For each node, the nearest way back to one that must run before it."""
        index = self.problem.index
        for v, before in enumerate(index.predecessors):
            strict = {u for u in before if self.bad[u] >> v & 1}
            if strict and (row := self.back(v, strict)):
                yield row

    def back(self, v: int, goals: set[int]) -> Cut | None:
        """The nearest of the goals that a path leads back to."""
        index = self.problem.index
        length, steps, done = {v: 0.0}, Steps(), set[int]()
        waiting = [(0.0, v)]
        while waiting:
            here, u = heappop(waiting)
            if u in done:
                continue
            if u in goals:
                return 1.0, follow(steps, u)[1]
            done.add(u)
            after = index.successors[u]
            for w, step, pair in (*((w, 0.0, 0) for w in after), *self.steps[u]):
                there = here if w in after else here + step
                if there < length.get(w, NEAR):
                    length[w], steps[w] = there, (u, pair)
                    heappush(waiting, (there, w))
        return None

    @cached_property
    def quotient(self) -> Quotient:
        return Quotient(self)

    # Reads and launches -------------------------------------------------------------------------

    def launches(self) -> Iterator[Cut]:
        one = Value(1.0, {})
        values = {k: one for k, node in enumerate(self.problem.index.nodes) if node.op != HOST}
        if row := self.quotient.chain(self.relaxation.launches, values, alike=True):
            yield row

    def reads(self) -> Iterator[Cut]:
        for reading in self.relaxation.readings.values():
            kinds = [(reading.times, self.once(reading))]
            if reading.twice is not None:
                kinds.append((reading.twice, self.twice(reading)))
            for variable, reading_kernels in kinds:
                if reading_kernels:
                    yield added(variable, [reading_kernels[s] for s in self.clique(reading_kernels)])
                if row := self.quotient.chain(variable, reading_kernels):
                    yield row

    def once(self, reading: Reading) -> dict[int, Value]:
        """How much each node's kernel reads the array."""
        found: dict[int, Value] = {}
        near, steps = self.near(dict.fromkeys(reading.readers, 0.0))
        for s in near:
            if reading.maker is None or self.bad[reading.maker] >> s & 1:
                self.keep(found, s, less(1.0, follow(steps, s)[1]))
        for k in reading.readers if reading.maker is not None else ():
            self.keep(found, k, self.from_maker(reading, k))
        return found

    def twice(self, reading: Reading) -> dict[int, Value]:
        """How much each node with a carry has its kernel read the array again."""
        traffic, found = self.problem.traffic, dict[int, Value]()
        for k in reading.readers:
            if not traffic.carried[k] or self.of(self.from_maker(reading, k)) < TRUSTED:
                continue
            near, steps = self.near({k: 0.0})
            for s in near:
                if traffic.carried[k] >> s & 1:
                    elsewhere = reading.maker is None or self.bad[reading.maker] >> s & 1
                    value = Value(1.0, {}) if elsewhere else self.from_maker(reading, k)
                    value = less(value.constant, follow(steps, s)[1], value.terms)
                    if s in self.relaxation.numbered:
                        carry = self.relaxation.numbered[s]
                        value = Value(value.constant - 1, {**value.terms, carry: value.terms.get(carry, 0.0) + 1})
                    self.keep(found, s, value)
        return found

    def from_maker(self, reading: Reading, k: int) -> Value:
        """Is the reader apart from the maker?"""
        return Value(1.0, {}) if reading.maker is None else self.relaxation.value(
            self.relaxation.apart(reading.maker, k))

    def keep(self, found: dict[int, Value], s: int, value: Value) -> None:
        if self.of(value) > max(TRUSTED, self.of(found[s]) if s in found else 0.0):
            found[s] = value

    def clique(self, values: dict[int, Value]) -> list[int]:
        """Nodes of large values, no two of which may be together."""
        everyone = sum(1 << s for s in values)
        worth = {s: round(self.of(value), 2) for s, value in values.items()}
        first = sorted(values, key=lambda s: (-worth[s], -(self.bad[s] & everyone).bit_count(), s))
        best: list[int] = []
        for start in first[:STARTS]:
            chosen, left = [start], [s for s in first if self.bad[start] >> s & 1]
            while left:
                mask = sum(1 << s for s in left)
                top = worth[left[0]]
                s = max((s for s in left if worth[s] == top), key=lambda s: (self.bad[s] & mask).bit_count())
                chosen.append(s)
                left = [other for other in left if self.bad[s] >> other & 1]
            best = max(best, chosen, key=lambda nodes: sum(worth[s] for s in nodes))
        return best


def follow(steps: Steps, v: int) -> tuple[int, Terms]:
    """The source of a path that ends here, and its length."""
    terms: Terms = {}
    while v in steps:
        v, pair = steps[v]
        if pair < 0:
            terms[~pair] = terms.get(~pair, 0.0) + 1
    return v, terms


def less(constant: float, length: Terms, terms: Mapping[int, float] | None = None) -> Value:
    """A value less the length of a path."""
    found = dict(terms or {})
    for k, weight in length.items():
        found[k] = found.get(k, 0.0) - weight
    return Value(constant, found)


def added(variable: int, values: Iterable[Value]) -> Cut:
    """The variable is at least the sum of the values."""
    low, found = 0.0, {variable: 1.0}
    for value in values:
        low += value.constant
        for k, weight in value.terms.items():
            found[k] = found.get(k, 0.0) - weight
    return low, {k: weight for k, weight in found.items() if weight}
