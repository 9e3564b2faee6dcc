"""Mappings that are copied repeatedly, each copy a little larger than the one before."""
from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Layers(MutableMapping[K, V]):
    """A mapping that shares with its copies the items present when they were made. The shared dictionaries, `shared`,
    never change; a later one overrides those before it, and each is at least twice as large as the next. So n copies
    with a new key each take time n log n in all."""

    def __init__(self, before: Layers[K, V] | None = None) -> None:
        """Copy the mapping before, if any."""
        self.shared: list[dict[K, V]] = before.merged_layers() if before is not None else []
        self.own: dict[K, V] = {}

    def merged_layers(self) -> list[dict[K, V]]:
        """Return all its items as layers to share."""
        if self.own:
            top = self.own
            layers = list(self.shared)
            while layers and len(layers[-1]) < 2 * len(top):
                top = layers.pop() | top
            self.shared, self.own = [*layers, top], {}
        return self.shared

    def get(self, key: K, default: V | None = None) -> V | None:        # type: ignore[override]
        if key in self.own:
            return self.own[key]
        for layer in reversed(self.shared):
            if key in layer:
                return layer[key]
        return default

    def __getitem__(self, key: K) -> V:
        for layer in (self.own, *reversed(self.shared)):
            if key in layer:
                return layer[key]
        raise KeyError(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.own[key] = value

    def __delitem__(self, key: K) -> None:
        raise TypeError("what is in a layer stays")

    def __iter__(self) -> Iterator[K]:
        """Iterate in the order in which the keys were added."""
        return iter(dict.fromkeys(key for layer in (*self.shared, self.own) for key in layer))

    def __len__(self) -> int:
        return sum(1 for _ in self)
