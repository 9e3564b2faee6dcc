"""Rows of the linear program of schedule.relaxation that a solution breaks, found by shortest paths.

A path's length is the sum of z along it: nodes whose path is shorter than 1 may be in one kernel.

    paths      u and v may not be together: any path between them has a length of 1 at least
    cycles     u must run before v: so does a path back, on which what depends on a node is not before it, for nothing
    room       a tree of pairs whose nodes have more arrays than m kernels hold: m of its pairs are apart
    readers    nodes s no two of which may be together, each with a path to a node l that reads a: so many kernels
               read a as paths have no length; twice, if a carry of s depends on l. That a's maker is elsewhere is
               sure if it may not be with s, or as sure as z[p,l]
    crowd      the nodes near such an s are in kernels that read a, and these hold so many arrays; rounded up, as
               schedules have no parts
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from math import ceil, floor

from nessie.schedule.relaxation import Cut, Reading, Relaxation, Terms, Value

Steps = dict[int, tuple[int, int]]              # of a path: where it came from, and by which pair

NEAR = 0.999                                    # a shorter path breaks a row
FEW = 4                                         # rows of a kind that a node is good for in one round
STARTS = 8                                      # of the search for a clique
DEEP = 3                                        # pairs of a tree that are apart
TRUSTED = 1e-3                                  # what is less is none


class Separation:
    """Of one solution."""

    def __init__(self, relaxation: Relaxation, solution: list[float]) -> None:
        self.relaxation, self.problem = relaxation, relaxation.problem
        self.solution = [max(0.0, value) for value in solution]
        self.bad = self.problem.fusible.bad
        self.steps = [[(v, self.value(pair), pair) for v, pair in joined] for joined in relaxation.joined]

    def value(self, pair: int) -> float:
        return self.solution[~pair] if pair < 0 else float(pair)

    def of(self, value: Value) -> float:
        return value.constant + sum(weight * self.solution[k] for k, weight in value.terms.items())

    def near(self, sources: Mapping[int, float], through: Callable[[int], bool] | None = None
             ) -> tuple[dict[int, float], Steps]:
        """The nodes with a short path from a source, nearest first, and the last steps of the paths, which go on
        `through` nodes only."""
        length, steps = dict(sources), Steps()
        waiting = [(start, k) for k, start in sources.items()]
        heapify(waiting)
        found: dict[int, float] = {}
        while waiting:
            here, u = heappop(waiting)
            if u in found:
                continue
            found[u] = here
            for v, step, pair in self.steps[u] if through is None or through(u) else ():
                there = here + step
                if there < length.get(v, NEAR):
                    length[v], steps[v] = there, (u, pair)
                    heappush(waiting, (there, v))
        return found, steps

    def paths(self) -> Iterator[Cut]:
        for u, bad in enumerate(self.bad):
            found, steps = self.near({u: 0.0}, lambda v, u=u, bad=bad: v == u or not bad >> v & 1)  # type: ignore[misc]
            broken = [v for v in found if v > u and bad >> v & 1]
            for v in broken[:FEW]:
                yield 1.0, follow(steps, v)[1]

    def cycles(self) -> Iterator[Cut]:
        """Of each node u, those that are closed by the first ones found."""
        index = self.problem.index
        for v, before in enumerate(index.predecessors):
            strict = {u for u in before if self.bad[u] >> v & 1}
            if strict:
                yield from self.back(v, strict)

    def back(self, v: int, goals: set[int]) -> Iterator[Cut]:
        """The nearest of the goals that a path leads back to."""
        index = self.problem.index
        length, steps, done = {v: 0.0}, Steps(), set[int]()
        waiting = [(0.0, v)]
        while waiting:
            here, u = heappop(waiting)
            if u in done:
                continue
            if u in goals:
                yield 1.0, follow(steps, u)[1]
                return
            done.add(u)
            after = index.successors[u]
            for w, step, pair in (*((w, 0.0, 0) for w in after), *self.steps[u]):
                there = here if w in after else here + step
                if there < length.get(w, NEAR):
                    length[w], steps[w] = there, (u, pair)
                    heappush(waiting, (there, w))

    def room(self) -> Iterator[Cut]:
        """Trees grow by the nearest node; no two start in the nodes of one that has broken a row."""
        limit, taken = self.problem.profile.arrays, set[int]()
        for start in range(len(self.bad)):
            here, size, apart, count = {start}, self.relaxation.size(start), 0.0, 0
            terms: Terms = {}
            last, around = start, list[tuple[float, int, int]]()
            while start not in taken:
                for v, step, pair in self.steps[last]:
                    if v not in here:
                        heappush(around, (step, v, pair))
                while around and around[0][1] in here:
                    heappop(around)
                if not around or apart + around[0][0] > DEEP:
                    break
                step, last, pair = heappop(around)
                here.add(last)
                size += self.relaxation.size(last)
                apart += step
                terms.update({~pair: 1.0} if pair < 0 else {})
                needed = -(-size // limit) - 1
                if needed > count and apart < needed - 1 + NEAR:
                    count = needed
                    yield float(needed), dict(terms)
                    taken |= here

    # Reads --------------------------------------------------------------------------------------

    def reads(self) -> Iterator[Cut]:
        for reading in self.relaxation.readings.values():
            kinds = [(reading.times, self.once(reading))]
            if reading.twice is not None:
                kinds.append((reading.twice, self.twice(reading)))
            for variable, reading_kernels in kinds:
                if reading_kernels:
                    yield added(variable, [reading_kernels[s] for s in self.clique(reading_kernels)])
                if len(reading_kernels) > 1:
                    yield from self.crowd(variable, reading_kernels)

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

    def crowd(self, variable: int, values: dict[int, Value]) -> Iterator[Cut]:
        limit = self.problem.profile.arrays
        near, steps = self.near({s: max(0.0, 1 - self.of(value)) for s, value in values.items()})
        parts = []
        for v in near:
            s, terms = follow(steps, v)
            value = less(values[s].constant, terms, values[s].terms)
            share = self.relaxation.size(v) / limit
            parts.append(Value(share * value.constant, {k: share * weight for k, weight in value.terms.items()}))
        low, terms = added(variable, parts)
        yield low, terms
        part = low - floor(low)
        if TRUSTED < part < 1 - TRUSTED:
            yield float(ceil(low)), {k: rounded(weight, part) for k, weight in terms.items()}


def rounded(weight: float, part: float) -> float:
    """Of a variable that is a whole number in schedules, in a row whose right side has this fractional part."""
    whole = floor(weight + 1e-9)
    return whole + min(max(0.0, weight - whole) / part, 1.0)


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
