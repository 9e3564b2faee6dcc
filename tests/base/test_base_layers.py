"""Mappings that are copied again and again."""
from __future__ import annotations

import pytest

from nessie.base.layers import Layers


def test_copies_are_independent() -> None:
    first: Layers[str, int] = Layers()
    first["a"], first["b"] = 1, 2
    second = Layers(first)
    second["b"], second["c"] = 3, 4
    first["d"] = 5
    assert dict(first) == {"a": 1, "b": 2, "d": 5}
    assert dict(second) == {"a": 1, "b": 3, "c": 4}
    assert (list(second), len(second), "c" in first, second.get("d", 0)) == (["a", "b", "c"], 3, False, 0)


def test_nothing_is_taken_out() -> None:
    layers: Layers[str, int] = Layers()
    layers["a"] = 1
    with pytest.raises(TypeError):
        del layers["a"]
    with pytest.raises(KeyError):
        Layers(layers)["b"]


def test_many_copies_have_few_layers() -> None:
    layers: Layers[int, int] = Layers()
    for i in range(1000):
        layers = Layers(layers)
        layers[i] = i
    assert len(layers.shared) <= 10
    assert list(layers.items()) == [(i, i) for i in range(1000)]
