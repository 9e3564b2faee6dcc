"""Names: a supply of fresh ones, x, then x_1, x_2, ...; and the names that users wrote."""
from __future__ import annotations

import re
from collections.abc import Iterable

NUMBERED = re.compile(r"(.*?)_[0-9]+\Z", re.DOTALL)


def stem(name: str) -> str:
    """Return the name without the number that a supply added."""
    found = NUMBERED.match(name)
    return found.group(1) or name if found else name


class Names:
    """A supply of names that differ from all reserved ones and from each other."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self.next: dict[str, int] = {}

    def reserve(self, names: Iterable[str]) -> None:
        """Reserve these names: the supply never returns them."""
        self.taken.update(names)

    def fresh(self, wish: str) -> str:
        """Return `wish` if it is free, else its stem with the next number."""
        if wish not in self.taken:
            self.taken.add(wish)
            return wish
        base = stem(wish)
        number = self.next.get(base, 1)
        while f"{base}_{number}" in self.taken:
            number += 1
        self.next[base] = number + 1
        name = f"{base}_{number}"
        self.taken.add(name)
        return name


def shown_name(name: str) -> str:
    """Return the name of a definition as the user wrote it: f for f'2, which was defined anew (typing.environment)."""
    return name.partition("'")[0]
