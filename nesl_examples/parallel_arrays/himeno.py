"""The Himeno benchmark: Jacobi iterations for Poisson's equation in three dimensions. The pressure and the coefficients
lie side by side; the pressure's neighbours are read, the coefficients only in the middle."""
from __future__ import annotations

from typing import Any

import numpy as np

import nessie
from nessie import Array

AROUND = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if not i * j * k]
OMEGA = 0.8


def renewed(v):
    p, a0, a1, a2, a3, b0, b1, b2, c0, c1, c2, free, bound = v[0, 0, 0]
    s = (a0 * v[1, 0, 0][0] + a1 * v[0, 1, 0][0] + a2 * v[0, 0, 1][0]
         + b0 * (v[1, 1, 0][0] - v[1, -1, 0][0] - v[-1, 1, 0][0] + v[-1, -1, 0][0])
         + b1 * (v[0, 1, 1][0] - v[0, -1, 1][0] - v[0, 1, -1][0] + v[0, -1, -1][0])
         + b2 * (v[1, 0, 1][0] - v[-1, 0, 1][0] - v[1, 0, -1][0] + v[-1, 0, -1][0])
         + c0 * v[-1, 0, 0][0] + c1 * v[0, -1, 0][0] + c2 * v[0, 0, -1][0] + free)
    return p + OMEGA * (s * a3 - p) * bound


def himeno(pressure: Any, coefficients: Any, rounds: int) -> Array:
    """The pressure after so many rounds. At the border, it becomes 0."""
    p = nessie.asarray(pressure)
    others = [nessie.asarray(one) for one in coefficients]
    for _ in range(rounds):
        p = p.zip(*others).stencil(AROUND, 0.0, renewed).keep()
    return p


def given(shape: tuple[int, int, int]) -> tuple[Any, list[Any]]:
    """The pressure and the coefficients that the benchmark begins with."""
    i, _, _ = np.indices(shape)
    constants = [1.0, 1.0, 1.0, 1 / 6, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    return (i / (shape[0] - 1)) ** 2, [np.full(shape, constant) for constant in constants]


if __name__ == "__main__":
    print(himeno(*given((9, 9, 9)), 4).to_numpy()[4, 4])
