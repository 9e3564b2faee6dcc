"""The programs of nesl_examples/parallel_arrays give what NumPy and plain Python give."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from parallel_arrays import bfs, himeno, kmeans, mandelbrot, pagerank, products
from paths import EXAMPLES, ROOT
from processes import finished

RANDOM = np.random.default_rng(5)
Array = np.ndarray[Any, Any]


def graph(vertices: int, most: int) -> list[list[int]]:
    return [RANDOM.integers(0, vertices, RANDOM.integers(0, most + 1)).tolist() for _ in range(vertices)]


@pytest.mark.parametrize("neighbours", [graph(300, 3), graph(50, 1), [[0]], [[], [0]]], ids=len)
@pytest.mark.parametrize("way", [bfs.by_unique, bfs.by_flags])
def test_bfs(way: Any, neighbours: list[list[int]]) -> None:
    distance, queue, level = [-1] * len(neighbours), [0], 0
    while queue:
        for v in queue:
            distance[v] = level
        level += 1
        queue = [w for w in dict.fromkeys(w for v in queue for w in neighbours[v]) if distance[w] < 0]
    assert way(neighbours, 0).tolist() == distance


def test_products() -> None:
    a, b = RANDOM.integers(-9, 9, (7, 5)), RANDOM.integers(-9, 9, (5, 6))
    assert np.array_equal(products.product(a, b).tolist(), a @ b)
    c, d = RANDOM.random(1000), RANDOM.random(1000)
    for dot in (products.dot_combined, products.dot_zipped):
        assert np.isclose(dot(c, d).item(), c @ d)
        assert dot([], []).item() == 0
        assert str(dot(c, d).kernels()).count(" = run K") == 1


def test_mandelbrot() -> None:
    expected = [[mandelbrot.steps(x * 3.0 / 30 - 2.0, y * 2.0 / 20 - 1.0, 40) for x in range(30)] for y in range(20)]
    assert mandelbrot.mandelbrot(20, 30, 40).tolist() == expected


def himeno_of_numpy(p: Array, coefficients: list[Array], rounds: int) -> Array:
    inner = (slice(1, -1),) * 3
    a0, a1, a2, a3, b0, b1, b2, c0, c1, c2, free, bound = [one[inner] for one in coefficients]
    for _ in range(rounds):
        def at(x: int, y: int, z: int, p: Array = p) -> Array:
            return p[1 + x:p.shape[0] - 1 + x, 1 + y:p.shape[1] - 1 + y, 1 + z:p.shape[2] - 1 + z]
        s = (a0 * at(1, 0, 0) + a1 * at(0, 1, 0) + a2 * at(0, 0, 1)
             + b0 * (at(1, 1, 0) - at(1, -1, 0) - at(-1, 1, 0) + at(-1, -1, 0))
             + b1 * (at(0, 1, 1) - at(0, -1, 1) - at(0, 1, -1) + at(0, -1, -1))
             + b2 * (at(1, 0, 1) - at(-1, 0, 1) - at(1, 0, -1) + at(-1, 0, -1))
             + c0 * at(-1, 0, 0) + c1 * at(0, -1, 0) + c2 * at(0, 0, -1) + free)
        renewed = np.zeros_like(p)
        renewed[inner] = p[inner] + himeno.OMEGA * (s * a3 - p[inner]) * bound
        p = renewed
    return p


def test_himeno() -> None:
    p, _ = himeno.given((6, 7, 8))
    coefficients = [RANDOM.random(p.shape) for _ in range(12)]
    found = himeno.himeno(p, coefficients, 3).to_numpy()
    assert np.allclose(found, himeno_of_numpy(p, coefficients, 3), rtol=1e-12, atol=0)


def test_kmeans() -> None:
    points, centres = RANDOM.random((500, 2)), RANDOM.random((6, 2))
    centres[5] = 99                     # far from all points
    found = kmeans.kmeans(points[:, 0], points[:, 1], centres, 4)
    for _ in range(4):
        belongs = ((points[:, None] - centres[None]) ** 2).sum(2).argmin(1)
        centres = np.array([points[belongs == k].mean(0) if (belongs == k).any() else centres[k] for k in range(6)])
    assert np.allclose(found, centres, rtol=1e-12)


def test_pagerank() -> None:
    targets = graph(80, 4)
    links = np.array([len(row) for row in targets])
    sources = [[page for page, row in enumerate(targets) for to in row if to == here] for here in range(80)]
    ranks = np.full(80, 1 / 80)
    for _ in range(10):
        shares = np.divide(ranks, links, out=np.zeros(80), where=links > 0)
        rest = ranks[links == 0].sum()
        ranks = np.array([(0.15 + 0.85 * rest) / 80 + 0.85 * sum(shares[row]) for row in sources])
    assert np.allclose(pagerank.pagerank(sources, links, 10).to_numpy(), ranks, rtol=1e-12)
    assert np.isclose(ranks.sum(), 1)


@pytest.mark.parametrize("program", ["bfs", "products", "mandelbrot", "himeno", "kmeans", "pagerank"])
def test_each_prints_something(program: str) -> None:
    ran = finished([sys.executable, "-m", f"parallel_arrays.{program}"], cwd=EXAMPLES, env={"PYTHONPATH": str(ROOT)})
    assert ran.returncode == 0 and ran.stdout, ran.stderr
