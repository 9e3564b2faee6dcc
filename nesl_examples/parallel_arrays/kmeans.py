"""Clusters: each point belongs to the nearest centre, and each centre moves to the mean of its points."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import nessie
from nessie import Array


def nearest(xs: Any, ys: Any, centres: np.ndarray[Any, Any]) -> Array:
    """The number of the centre that is nearest to each point; of several the first."""
    def of(x, y):
        best, least = 0, math.inf
        for k in range(len(centres)):
            distance = (x - centres[k][0]) ** 2 + (y - centres[k][1]) ** 2
            if distance < least:
                best, least = k, distance
        return best
    return nessie.asarray(xs).combine(ys, of)


def kmeans(xs: Any, ys: Any, centres: Any, rounds: int) -> np.ndarray[Any, Any]:
    """The centres after so many rounds. One without points stays where it is."""
    centres, xs, ys = np.asarray(centres, float), nessie.asarray(xs), nessie.asarray(ys)
    for _ in range(rounds):
        belongs = nearest(xs, ys, centres).keep()
        sums = [total for k in range(len(centres)) for total in of_cluster(xs, ys, belongs, k)]
        n, x, y = np.reshape([total.item() for total in nessie.evaluate(*sums)], (-1, 3)).T
        centres = np.where(n[:, None] > 0, np.stack([x, y], 1) / np.maximum(n, 1)[:, None], centres)
    return centres


def of_cluster(xs: Array, ys: Array, belongs: Array, k: int) -> tuple[Array, Array, Array]:
    """How many points it has, and the sums of their coordinates."""
    return (belongs.map(lambda b: 1 if b == k else 0).sum(),
            belongs.combine(xs, lambda b, x: x if b == k else 0.0).sum(),
            belongs.combine(ys, lambda b, y: y if b == k else 0.0).sum())


if __name__ == "__main__":
    print(kmeans([0.0, 1.0, 9.0, 10.0], [0.0, 1.0, 9.0, 10.0], [[0.0, 0.0], [1.0, 1.0]], 5))
