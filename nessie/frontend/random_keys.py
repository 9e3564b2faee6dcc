"""Random numbers that depend on where they are drawn, not on when: counter-based, keyed by the activation.

The top level is one activation, and each element of an apply-to-each begins another, named by the number of draws and
apply-to-eachs before it in the activation around it, and by its position.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nessie.frontend.meanings import check


@dataclass
class Activation:
    """`count` draws and apply-to-eachs so far."""
    key: int
    count: int = 0

    def step(self) -> int:
        """64 bits for the next draw, or the key of the next apply-to-each."""
        self.count += 1
        return mix(self.key ^ mix(self.count))

    def element(self, step: int, position: int) -> Activation:
        """The activation of an element of an apply-to-each."""
        return Activation(mix(step ^ mix(position)))


def mix(x: int) -> int:
    """The finaliser of splitmix64: every bit of the result depends on every bit of x."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def random_below(limit: Any, bits: int) -> Any:
    """A number from 0 up to, but not including, the limit, from 64 random bits."""
    check(limit > 0, "Rand only works with positive numbers.")
    return (bits >> 11) * 2.0**-53 * limit if isinstance(limit, float) else bits * limit >> 64
