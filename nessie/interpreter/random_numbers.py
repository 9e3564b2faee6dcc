"""Random numbers, by splitmix64. Every running activation has a state of its own.

The top level is one activation, and each element of an apply-to-each begins another. An element's first state is made
from the state around it and from its position, so its draws do not depend on those of other elements. An apply-to-each
in which an element drew is one step of the activation around it.

States and bits are taken modulo 2**64.
"""
from __future__ import annotations

from typing import Any

from nessie.base.widths import FULL, Widths
from nessie.interpreter.meanings import check, mix

GAMMA = 0x9E3779B97F4A7C15              # the step from one state to the next


def state_after(state: int) -> int:
    """The state after a draw, whose bits are mix(state)."""
    return (state + GAMMA) % 2**64


def element_state(state: int, position: int) -> int:
    """The first state of an element of an apply-to-each that is evaluated in this state."""
    return mix(mix(state) ^ mix(position))


def random_below(limit: Any, bits: int, widths: Widths = FULL) -> Any:
    """A number from 0 up to, but not including, the limit, from 64 random bits."""
    check(limit > 0, "Rand only works with positive numbers.")
    if isinstance(limit, int):
        return bits * limit >> 64
    number = widths.rounded((bits >> (64 - widths.precision)) * 2.0 ** -widths.precision * limit)
    return number if number < limit else 0.0        # else the limit is infinite, or tiny and the product rounds up
