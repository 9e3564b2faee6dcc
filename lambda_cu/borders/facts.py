"""Facts of ints, for the checker: vectors, of which some are known not to be negative.

A vector is multiples of atoms, and a number. A fact is one that is not negative. Another vector is not negative either
if it has nothing but natural atoms, none of them negatively, or is such a vector and one or two facts. Facts that
contradict each other tell that there is nothing for which all hold. Vectors stand for ints that wrap only as long as
these are small: indices and sizes are, other atoms if a fact says so. What wraps tells no fact.
"""
from __future__ import annotations

from collections.abc import Hashable

from nessie.base.ints import MAX_INT, MIN_INT

Vector = dict[Hashable, int]                    # multiples of atoms; that of UNIT is the number
UNIT: Hashable = "1"
WIDE = 2 ** 48
COEFFICIENTS = 2 ** 11


def vector_of(atom: Hashable) -> Vector:
    return {atom: 1}


def difference(a: Vector, b: Vector, number: int = 0) -> Vector:
    """a - b - number"""
    found = dict(a)
    for key, c in (*b.items(), (UNIT, number)):
        if left := found.get(key, 0) - c:
            found[key] = left
        else:
            found.pop(key, None)
    return found


class Facts:
    """What is known of ints. `sizes`: the atoms that are never negative."""

    def __init__(self) -> None:
        self.facts: list[Vector] = []
        self.sizes: set[Hashable] = set()

    def take(self, fact: Vector) -> None:
        if fact not in self.facts:
            self.facts.append(fact)

    def natural(self, vector: Vector) -> bool:
        return self.obstacle(vector) is None

    def obstacle(self, vector: Vector) -> Hashable | None:
        """An atom for which the vector is not natural."""
        return next((key for key, c in vector.items() if c < 0 or (key != UNIT and key not in self.sizes)), None)

    def not_negative(self, vector: Vector, facts: int = 2) -> bool:
        """Is it natural, less so many facts at most? One of these is nearer to it at an obstacle than 0 is."""
        key = self.obstacle(vector)
        return key is None or (facts > 0 and any(self.not_negative(difference(vector, fact), facts - 1)
                                                 for fact in self.facts if fact.get(key, 0) * vector[key] > 0))

    def is_empty(self) -> bool:
        """Is there no element for which all facts hold?"""
        return any(self.not_negative(difference({}, fact, 1)) for fact in self.facts)

    def small(self, *vectors: Vector) -> bool:
        """Can none of them wrap?"""
        for vector in vectors:
            multiples = sum(abs(c) for key, c in vector.items() if key != UNIT)
            if multiples > COEFFICIENTS or abs(vector.get(UNIT, 0)) > WIDE:
                return False
            for key in vector:
                limits = ({UNIT: WIDE, key: 1}, {UNIT: WIDE, key: -1})
                if key != UNIT and key not in self.sizes and not all(limit in self.facts for limit in limits):
                    return False
        return True

    def exact(self, *vectors: Vector) -> bool:
        """Are they what their ints are? Those that cannot wrap are, and an atom or a number of its own."""
        return all([self.small(vector) or (UNIT not in vector and list(vector.values()) == [1]) or
                    (vector.keys() == {UNIT} and MIN_INT <= vector[UNIT] <= MAX_INT) for vector in vectors])
