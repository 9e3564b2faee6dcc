"""nessie.read gives what a call gets from the same file."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import nessie


def test_every_kind_of_file_is_read(tmp_path: Path) -> None:
    def written(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, "utf-8")
        return tmp_path / name
    assert nessie.read(written("a.json", "[[1, 2], [], [3]]")).to_list() == [[1, 2], [], [3]]
    assert nessie.read(written("a.jsonl", "[1, 2]\n[]\n")).to_list() == [[1, 2], []]
    assert nessie.read(written("a.csv", "x,y\n1,2.5\n3,4\n")).to_list() == [(1, 2.5), (3, 4.0)]
    assert nessie.read(written("a.txt", "ab\ncd\n")) == "ab\ncd\n"
    assert nessie.read(str(written("b.txt", "ab\ncd\n")), "[[char]]").to_list() == ["ab", "cd"]
    matrix = written("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 1.5\n")
    assert nessie.read(matrix).to_list() == [[], [(0, 1.5)]]
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    assert nessie.read(tmp_path / "a.npy").to_list() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    sp.save_npz(tmp_path / "a.npz", sp.csr_matrix([[0.0, 1.0]]))
    assert nessie.read(tmp_path / "a.npz").to_list() == [[(1, 1.0)]]


def test_the_type_decides_what_the_file_leaves_open(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("[[1], []]")
    assert nessie.read(path).content.dtype == np.int64 and nessie.read(path, "[[float]]").content.dtype == np.float64
    path.write_text("[]")
    assert nessie.read(path, "[(int, [char])]").to_list() == []


@pytest.mark.parametrize("text, type_, told", [
    ("[1,", None, "line 1"), ("[[1]]", "[int]", "at \\[0\\]"), ("[1]", "[(", "not closed"),
    ("[1]", "point", "no type point")])
def test_a_wrong_file_or_type_is_told(text: str, type_: str | None, told: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(nessie.NessieError, match=told):
        nessie.read(path, type_)


def test_memory_bounds_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(100_000))
    with pytest.raises(nessie.NessieError, match="memory"):
        nessie.read(path, memory=1000)
    with pytest.raises(nessie.NessieError, match="no kind of file"):
        nessie.read(tmp_path / "a.docx")
