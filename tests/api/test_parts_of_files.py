"""Functions on parts of files: what the whole gives, in bounded memory; what cannot be parted is refused."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.api import partitions
from nessie.arguments.by_rows import refuse_unless_by_rows
from nessie.base.source import NessieError, Source
from nessie.syntax.parse import parse

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TEXT = """
function score(rows) = {sum({x * x : x in row | x > 0.0}) : row in rows};
function positive(rows) = {{x in row | x > 0.0} : row in rows};
function total(rows) = sum({sum(row) : row in rows});
function labelled(rows) = {(n, sum(row)) : (row, n) in rows};
function doubled(xs) = {2.0 * x : x in xs};
function told(rows) = let a = print_string("here") in {sum(row) * 1.0 : row in rows};
function guessed(rows) = {rand(10) : row in rows};
function both(rows) = (#rows, {sum(row) * 1.0 : row in rows});
function bad(rows) = {row[3] * 1.0 : row in rows};
"""
GROUPS, ROWS = 5, 40


@pytest.fixture
def rows(tmp_path: Path) -> Any:
    """A file of some row groups, and all of its rows."""
    random = np.random.default_rng(3)
    lengths = random.integers(0, 9, GROUPS * ROWS)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    column = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(random.standard_normal(offsets[-1])))
    parquet.write_table(pa.table({"r": column, "n": pa.array(lengths)}), tmp_path / "rows.parquet", row_group_size=ROWS)
    parquet.write_table(pa.table({"r": column}), tmp_path / "one.parquet", row_group_size=ROWS)
    return tmp_path, column


@pytest.fixture(scope="module")
def program() -> nessie.Program:
    return nessie.compile(TEXT)


def scores(program: nessie.Program, column: Any) -> bytes:
    """The bits of what the whole gives."""
    return np.asarray(program.score(column)).tobytes()


def test_parts_give_what_the_whole_gives(rows: Any, program: nessie.Program) -> None:
    """Rows are summed alike wherever they stand: the bits are those of the whole."""
    folder, column = rows
    found = list(program.score.map_partitions(folder / "rows.parquet", column="r"))
    assert [len(part) for part in found] == [ROWS] * GROUPS
    assert np.concatenate([np.asarray(part) for part in found]).tobytes() == scores(program, column)
    totals = list(program.total.map_partitions(str(folder / "*.parquet"), column="r"))
    assert len(totals) == 2 * GROUPS
    assert totals[:GROUPS] == totals[GROUPS:]
    assert program.total.map_partitions([folder / "one.parquet"]).__next__() == totals[0]


def test_results_go_to_a_folder_of_tables(rows: Any, program: nessie.Program) -> None:
    folder, column = rows
    paths = program.positive.map_partitions(folder / "one.parquet", out=folder / "out.parquet")
    assert [Path(path).name for path in paths] == [f"part-{number:05}.parquet" for number in range(GROUPS)]
    found = parquet.read_table(folder / "out.parquet").column(0).combine_chunks()
    assert found.to_pylist() == program.positive(column).tolist()
    with pytest.raises(NessieError, match=r"out\.parquet is there already: results go to a new folder"):
        program.positive.map_partitions(folder / "one.parquet", out=folder / "out.parquet")


def test_rows_of_several_columns_are_tuples(rows: Any, program: nessie.Program) -> None:
    folder, _ = rows
    found = list(program.labelled.map_partitions(folder / "rows.parquet"))
    assert [len(part) for part in found] == [ROWS] * GROUPS
    assert [row for part in found for row in part.tolist()] == program.labelled(
        parquet.read_table(folder / "rows.parquet")).tolist()
    paths = program.labelled.map_partitions(folder / "rows.parquet", out=folder / "labelled")
    assert parquet.read_table(paths[0]).num_rows == ROWS


def test_vectors_and_archives(tmp_path: Path, program: nessie.Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "BYTES", 800)
    xs = np.arange(1000.0)
    np.save(tmp_path / "xs.npy", xs)
    np.savez(tmp_path / "rows.npz", offsets=np.array([0, 2, 3]), content=np.array([1.0, 2.0, 4.0]))
    found = list(program.doubled.map_partitions(tmp_path / "xs.npy"))
    assert [len(part) for part in found] == [100] * 10
    assert np.array_equal(np.concatenate(found), 2.0 * xs)
    assert list(program.total.map_partitions(tmp_path / "rows.npz")) == [7.0]


@pytest.mark.parametrize("workers", [2])
def test_workers_read_and_write_their_own(workers: int, rows: Any, program: nessie.Program) -> None:
    pytest.importorskip("distributed")
    folder, column = rows
    paths = program.score.map_partitions(folder / "one.parquet", workers=workers, out=folder / "out")
    assert len(paths) == GROUPS
    found = parquet.read_table(folder / "out").column(0).to_numpy()
    assert found.tobytes() == scores(program, column)


def refused(message: str, work: Any) -> str:
    with pytest.raises(NessieError) as error:
        work()
    assert message in str(error.value), error.value
    return str(error.value)


def test_what_is_refused(rows: Any, program: nessie.Program, tmp_path: Path) -> None:
    folder, _ = rows
    one = folder / "one.parquet"
    refused("told has effects (print_string), and parts are computed anywhere, in any order",
            lambda: program.told.map_partitions(one, out=folder / "told"))
    assert not (folder / "told").exists()
    refused("guessed draws random numbers, and parts are computed anywhere, in any order",
            lambda: program.guessed.map_partitions(one))
    refused("hint: a row is a tuple of the columns r, n; from Python, column= reads one of them",
            lambda: list(program.score.map_partitions(folder / "rows.parquet")))
    refused("map_partitions takes files: a path, a folder, a pattern, or several, not [1.0]",
            lambda: program.score.map_partitions([[1.0], [2.0]]))
    (folder / "none.parquet").write_bytes(b"")
    refused("none.parquet: no file of Parquet, or a damaged one",
            lambda: program.score.map_partitions(folder / "none.parquet"))
    refused("has no column x; it has r, n",
            lambda: list(program.score.map_partitions(folder / "rows.parquet", column="x")))
    refused("parts are read of files .parquet, .npy, .npz", lambda: program.score.map_partitions("rows.csv"))
    refused("there are no files", lambda: program.score.map_partitions(str(tmp_path / "none*.npy")))
    refused("cannot open none.npy: No such file", lambda: program.score.map_partitions("none.npy"))
    refused("a part's result is one value, which is no table",
            lambda: program.total.map_partitions(one, out=tmp_path / "totals"))
    told = refused("row group 0 of", lambda: list(program.bad.map_partitions(one)))
    assert "row[3]" in told
    np.savez(tmp_path / "a.npz", a=np.arange(3))
    refused("its rows are two arrays, offsets and content, and it has a",
            lambda: list(program.total.map_partitions(tmp_path / "a.npz")))
    np.savez(tmp_path / "rows.npz", offsets=np.array([0, 2, 3]), content=np.array([1.0, 2.0, 4.0]))
    refused("told has effects", lambda: program.told.map_partitions(tmp_path / "rows.npz"))
    refused("a part's result is a tuple, which is no table",
            lambda: program.both.map_partitions(tmp_path / "rows.npz", out=tmp_path / "tuples"))


def test_a_disk_that_is_full(rows: Any, program: nessie.Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                             ) -> None:
    def full(table: Any, path: str) -> None:
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet, "write_table", full)
    refused("part-00000.parquet: cannot be written: No space left on device",
            lambda: program.score.map_partitions(rows[0] / "one.parquet", out=tmp_path / "out"))
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("name, content, message", [
    ("a.npy", b"", "a.npy: no file of NumPy's, or a damaged one"),
    ("a.npz", b"PK", "a.npz: no file of NumPy's, or a damaged one"),
    ("a.npy", np.array([1, "a"], object), "a.npy: no file of NumPy's, or a damaged one"),
    ("a.npy", np.array(3.0), "a.npy: parts are rows of an array, and it has none"),
    ("a.npz", np.arange(3.0), "a.npz: no file of NumPy's, or a damaged one"),
    ("a.npz", {"offsets": [0, 9], "content": [1.0]}, "a.npz: offsets run from 0 to the length of the content")])
def test_files_that_are_not_what_their_names_say(name: str, content: Any, message: str, tmp_path: Path,
                                                 program: nessie.Program) -> None:
    with open(tmp_path / name, "wb") as file:
        match content:
            case bytes():
                file.write(content)
            case dict():
                np.savez(file, **content)
            case _:
                np.save(file, content, allow_pickle=True)
    refused(message, lambda: list(program.total.map_partitions(tmp_path / name)))


def test_without_pyarrow_it_is_told_what_to_install(tmp_path: Path, program: nessie.Program,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused("PyArrow is not installed", lambda: program.total.map_partitions(tmp_path / "a.parquet"))


@pytest.mark.parametrize("text, place", [
    ("function go(rows) = {sum(row) : row in rows};", ""),
    ("function go(rows) = {sum(row) : row in rows | #row > 2};", ""),
    ("function go(rows) = sum({sum(row) : row in rows});", "this needs all rows"),
    ("function go(rows) = {sum(row) / #rows : row in rows};", "this looks at all of rows"),
    ("function go(rows) = {a + b : a in rows; b in rows};", "this does not go over rows, row by row"),
    ("function go(rows) = {a : a in [0:3]};", "this does not go over rows, row by row"),
    ("function go(rows, n) = {n : row in rows};", "it has several arguments"),
    ("function other(rows) = rows;", "")])
def test_which_functions_go_row_by_row(text: str, place: str) -> None:
    program = parse(Source("test.nesl", text))
    if place:
        refused(place, lambda: refuse_unless_by_rows(program, "go"))
    else:
        refuse_unless_by_rows(program, "go")


def run(*words: Any) -> Any:
    return subprocess.run([sys.executable, "-m", "nessie", "run", *map(str, words)], capture_output=True, text=True,
                          check=False)


def test_the_tool_streams(rows: Any, program: nessie.Program) -> None:
    folder, column = rows
    (folder / "p.nesl").write_text(TEXT)
    given = "-e", "score", f"@{folder / 'one.parquet'}", "--stream"
    found = run(folder / "p.nesl", *given, "-o", folder / "out.parquet")
    assert (found.returncode, found.stderr) == (0, f"{GROUPS} parts in {folder / 'out.parquet'}\n")
    found = parquet.read_table(folder / "out.parquet").column(0).to_numpy()
    assert found.tobytes() == scores(program, column)
    found = run(folder / "p.nesl", *given, "-o", folder / "c.parquet", "--target", "cuda")
    assert (found.returncode, found.stderr.splitlines()[0]) == (
        2, "error: --stream computes on CPUs, here or on workers, not by the target cuda")
    found = run(folder / "p.nesl", "-e", "total", f"@{folder / 'one.parquet'}", "--stream", "-o", folder / "t.parquet")
    assert found.returncode == 1
    assert "total cannot be called on some rows after the others" in found.stderr
