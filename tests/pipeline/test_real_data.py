"""The examples on data of real size, by the command line: what SciPy, NumPy and Python's own functions find, too."""
from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from paths import ROOT
from scipy.spatial import ConvexHull

from nessie.tool.cli import main

EXAMPLES = ROOT / "nesl_examples"
DATA = sorted((ROOT.parent / "shared" / "data").glob("*.mtx"))      # real matrices, where they lie beside the checkout
TARGETS = pytest.mark.parametrize("target", ["cpu", "reference"])


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def nessie(program: Path, entry: str, *words: str) -> None:
    assert main(["run", str(program), "-e", entry, *words]) == 0


@pytest.mark.slow
@TARGETS
def test_quicksort_sorts_a_million_floats(target: str) -> None:
    values = np.random.default_rng(1).random(1_000_000)
    np.save("v.npy", values)
    nessie(EXAMPLES / "quicksort.nesl", "quicksort", "@v.npy", "-o", "sorted.npy", "--target", target)
    np.testing.assert_array_equal(np.load("sorted.npy"), np.sort(values))


HULL = """
function hull(xs, ys) =
  let corners = quickhull({point(x, y) : x in xs; y in ys})
  in ({x : point(x, _) in corners}, {y : point(_, y) in corners});
"""


@TARGETS
@pytest.mark.parametrize("shape", ["normal", "disk"])
def test_quickhull_finds_the_hull(shape: str, target: str) -> None:
    generator = np.random.default_rng(2)
    points = generator.normal(size=(100_000, 2))
    if shape == "disk":             # many corners
        points *= (np.sqrt(generator.random(100_000)) / np.hypot(*points.T))[:, None]
    np.save("x.npy", points[:, 0])
    np.save("y.npy", points[:, 1])
    Path("hull.nesl").write_text((EXAMPLES / "quickhull.nesl").read_text("utf-8") + HULL, "utf-8")
    nessie(Path("hull.nesl"), "hull", "@x.npy", "@y.npy", "-o", "corners.json", "--target", target)
    corners = list(zip(*json.loads(Path("corners.json").read_text())))
    expected = {tuple(points[corner].tolist()) for corner in ConvexHull(points).vertices}
    assert len(corners) == len(expected) and set(corners) == expected


@TARGETS
def test_wordcount_counts_words(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = random.Random(3)
    words = ["a", "the", "segment", "nested", "--", "it's", "naïve", "λ", "42", "flattening,", "(data)", "élan."]
    blanks = [" ", " ", " ", "\n", "\t", "  \r\n", ".\n\n"]
    text = "".join(chosen.choice(words) + chosen.choice(blanks) for _ in range(80_000))
    Path("text.txt").write_bytes(text.encode())
    assert len(text) > 400_000
    nessie(EXAMPLES / "wordcount.nesl", "wordcount", "@text.txt", "--target", target)
    assert int(capsys.readouterr().out) == len(text.split())


def sparse(rows: int, columns: int, density: float) -> Any:
    """Some rows are empty, one is nearly full."""
    matrix = scipy.sparse.random(rows, columns, density, "lil", rng=np.random.default_rng(rows))
    matrix[rows // 2] = np.arange(columns) / 7 - 3
    return matrix.tocoo()


WRITTEN = {
    "general": (sparse(300, 200, 0.02), {}),
    "symmetric": ((lambda a: a + a.T)(sparse(150, 150, 0.02).tocsr()).tocoo(), {"symmetry": "symmetric"}),
    "skew": ((lambda a: a - a.T)(sparse(150, 150, 0.02).tocsr()).tocoo(), {"symmetry": "skew-symmetric"}),
    "pattern": (sparse(80, 90, 0.05).astype(bool).astype(float), {"field": "pattern"}),
    "integer": ((sparse(50, 50, 0.1) * 9).astype(int), {"field": "integer"}),
    "no entries": (scipy.sparse.coo_array((7, 5)), {}),
}


@TARGETS
@pytest.mark.parametrize("kind", WRITTEN)
def test_spmv_of_written_matrices(kind: str, target: str) -> None:
    matrix, how = WRITTEN[kind]
    scipy.io.mmwrite("matrix.mtx", matrix, **how)
    spmv_agrees(Path("matrix.mtx"), target)


@TARGETS
@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_spmv_of_real_matrices(path: Path, target: str) -> None:
    spmv_agrees(path, target)


def spmv_agrees(path: Path, target: str) -> None:
    """In each row as close to SciPy's product as rounding allows, for ones and for any vector."""
    matrix = scipy.sparse.csr_array(scipy.io.mmread(path)).astype(float)
    x = np.random.default_rng(4).normal(size=matrix.shape[1])
    np.save("x.npy", x)
    for argument, vector in ((f"dist(1.0, {len(x)})", np.ones(len(x))), ("@x.npy", x)):
        nessie(EXAMPLES / "spmv.nesl", "spmv", f"@{path}", argument, "-o", "y.npy", "--target", target)
        found = np.load("y.npy")
        assert found.shape == (matrix.shape[0],)
        assert np.all(np.abs(found - matrix @ vector) <= 1e-13 * (abs(matrix) @ np.abs(vector)))
