"""Functions on parts of files: what the whole gives, in bounded memory; what cannot be parted is refused."""
from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import finished

import nessie
from nessie.api.partitions.calling import PartCall
from nessie.arguments.by_rows import streams_of
from nessie.base.source import NessieError, Source
from nessie.base.system.deadline import Deadline
from nessie.files.partitions import lines, outputs, partitions
from nessie.syntax.parse import parse
from nessie.tool.cli import main

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
function sums(rows) = {sum(row) : row in rows};
function same(xs) = {x : x in xs};
function above(rows, limit) = {count({x > limit : x in row}) : row in rows};
function scaled(rows, ws) = {sum(row) * w : row in rows; w in ws};
function dots(w, rows) = {sum({a * b : a in w; b in row}) : row in rows};
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
    assert [row for part in found for row in part.to_list()] == program.labelled(
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


def test_lines_are_written_to_standard_output(rows: Any, program: nessie.Program, capsys: pytest.CaptureFixture[str]
                                              ) -> None:
    folder, column = rows
    assert program.score.map_partitions(folder / "one.parquet", out="-") == ["-"]
    said = capsys.readouterr().out.split("\n")
    assert np.array([float(line) for line in said[:-1]]).tobytes() == scores(program, column) and said[-1] == ""


def test_each_part_gets_the_other_arguments(rows: Any, program: nessie.Program) -> None:
    folder, column = rows
    wanted = program.above(column, 0.5).tolist()
    one = folder / "one.parquet"
    for found in (program.above.map_partitions(one, 0.5), program.above.map_partitions(one, limit=0.5),
                  program.above.map_partitions({"rows": one}, 0.5)):
        assert np.concatenate(list(found)).tolist() == wanted
    np.save(folder / "m.npy", np.arange(12.0).reshape(4, 3))
    for found in (program.dots.map_partitions(folder / "m.npy", w=[1.0, 0.0, 2.0]),
                  program.dots.map_partitions({"rows": folder / "m.npy"}, [1.0, 0.0, 2.0])):
        assert np.concatenate(list(found)).tolist() == [4.0, 13.0, 22.0, 31.0]
    refused("above has no parameter limits", lambda: program.above.map_partitions(one, limits=0.5))
    refused("rows is given twice: files, and a value", lambda: program.above.map_partitions({"rows": one}, rows=[]))
    refused("3 arguments are given, and there are 2 parameters",
            lambda: program.above.map_partitions({"rows": one}, 1, 2))
    refused("above takes 2 arguments, and gets 1", lambda: program.above.map_partitions(one))


def test_rows_of_two_files_belong_together(rows: Any, program: nessie.Program) -> None:
    folder, column = rows
    ws = np.arange(float(GROUPS * ROWS))
    np.save(folder / "ws.npy", ws)
    found = program.scaled.map_partitions({"rows": folder / "one.parquet", "ws": folder / "ws.npy"})
    assert np.concatenate(list(found)).tolist() == np.asarray(program.scaled(column, ws)).tolist()


def test_text_is_read_by_lines(rows: Any, program: nessie.Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "SIZE", 400)
    folder, column = rows
    text = "".join(f"{row}\n" for row in column.to_pylist())
    (folder / "rows.jsonl").write_text(text)
    found = list(program.score.map_partitions(folder / "rows.jsonl"))
    assert len(found) > 5 and np.concatenate(found).tobytes() == scores(program, column)
    (folder / "xs.jsonl").write_text("1\n" * 400 + "1.5\n")
    told = refused("xs.jsonl, line 401: at [0]: a float where int is wanted",
                   lambda: list(program.same.map_partitions(folder / "xs.jsonl")))
    assert "hint: all parts are of the type that the first one has" in told
    found = program.same.at("[float]").map_partitions(folder / "xs.jsonl", out=folder / "xs.npy")
    assert np.load(folder / "xs.npy").tolist() == [1.0] * 400 + [1.5] and found == [str(folder / "xs.npy")]


def test_what_was_finished_stays(rows: Any, program: nessie.Program) -> None:
    folder, _ = rows
    values = [[1.0] * 4 if n != 97 else [1.0] for n in range(GROUPS * ROWS)]
    parquet.write_table(pa.table({"r": values}), folder / "bad.parquet", row_group_size=ROWS)
    told = refused("row 97 of ", lambda: program.bad.map_partitions(folder / "bad.parquet", out=folder / "out"))
    assert "bad.parquet (row group 2): " in told and "the index is 3, the length 1" in told
    assert parquet.read_table(folder / "out").num_rows == 2 * ROWS
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["part-00000.parquet", "part-00001.parquet"]


def test_hidden_files_are_no_results(rows: Any, program: nessie.Program) -> None:
    """Such as what a process that was killed has left, which nobody sees who looks at the folder."""
    folder, _ = rows
    (folder / "out").mkdir()
    (folder / "out" / ".0123456789abcdef.part").write_text("half")
    paths = program.score.map_partitions(folder / "one.parquet", out=folder / "out")
    assert len(paths) == GROUPS and parquet.read_table(folder / "out").num_rows == GROUPS * ROWS
    refused("out is there already", lambda: program.score.map_partitions(folder / "one.parquet", out=folder / "out"))


LOOPS = """
function turns(x) = if x < 0.0 then x else turns(x + 0.0);
function turned(xs) = {turns(x) : x in xs};
function turned_or_bad(xs) = {turns(x) : x in xs | if x > 5.0 then xs[-1] > 0.0 else t};
"""


@pytest.mark.parametrize("function, seconds, passed, message", [
    ("turned", 1, True, "rows 0 to 63 of {}: it took longer than 1 s"),
    ("turned_or_bad", 600, False, "rows 0 to 63 of {}: Sequence reference (a[i]) out of bounds")])
def test_a_row_without_an_end_takes_the_time_of_a_part(function: str, seconds: int, passed: bool, message: str,
                                                       tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When time is up, nobody looks any more for the row that fails. The first half of these, alone, has no end: who
    looks for the row is given a second for it."""
    path = tmp_path / "xs.npy"
    np.save(path, np.concatenate([[-1.0] * 30, [1.0], [-1.0] * 30, [9.0] * 3]))
    looked, failing_row = [], PartCall.failing_row

    def in_a_second(call: PartCall, taken: Any, limit: Deadline) -> Any:
        looked.append(limit.passed())
        if not limit.passed():
            limit.seconds = 1
            limit.begin()
        found = failing_row(call, taken, limit)
        assert limit.passed()
        return found

    monkeypatch.setattr(PartCall, "failing_row", in_a_second)
    program = nessie.compile(LOOPS, seconds=seconds)
    refused(message.format(path), lambda: list(program[function].map_partitions(path)))
    assert looked == [passed]


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
    refused(f"hint: its columns are r, n; {folder / 'rows.parquet'}:NAME reads one of them",
            lambda: list(program.score.map_partitions(folder / "rows.parquet")))
    refused("map_partitions takes files: a path, a folder, a pattern, or several, not [1.0]",
            lambda: program.score.map_partitions([[1.0], [2.0]]))
    refused("or several, not an object of type ndarray\nhint: rows in memory go to the function itself",
            lambda: program.score.map_partitions(np.arange(3)))
    refused("above takes 2 arguments, and gets 1", lambda: program.above.map_partitions(one, out=folder / "few"))
    np.save(folder / "xs.npy", np.arange(3.0))
    refused("xs.npy: holds float where [a] :: (a in number) is wanted",
            lambda: program.sums.map_partitions(folder / "xs.npy"))
    refused(f"scores: cannot be written: there is no folder {folder / 'none'}",
            lambda: program.score.map_partitions(one, out=folder / "none" / "scores"))
    assert not (folder / "none").exists() and not (folder / "few").exists()
    parquet.write_table(pa.table({"r": pa.array([[]], pa.list_(pa.float64()))}), folder / "empty.parquet")
    refused("out of bounds", lambda: program.bad.at("[[float]]").map_partitions(folder / "empty.parquet",
                                                                                 out=folder / "bad"))
    assert not (folder / "bad").exists(), "no part was finished"
    (folder / "none.parquet").write_bytes(b"")
    refused("none.parquet: no file of Parquet, or a damaged one",
            lambda: program.score.map_partitions(folder / "none.parquet"))
    refused("has no column x; it has r, n",
            lambda: list(program.score.map_partitions(folder / "rows.parquet", column="x")))
    refused("rows.mtx: parts are read of files .parquet, .npy, .npz, .jsonl, .csv, .tsv, .txt",
            lambda: program.score.map_partitions("rows.mtx"))
    refused("there are no files", lambda: program.score.map_partitions(str(tmp_path / "none*.npy")))
    refused("cannot open none.npy: No such file", lambda: program.score.map_partitions("none.npy"))
    refused("totals: .parquet holds a sequence, not float",
            lambda: program.total.map_partitions(one, out=tmp_path / "totals"))
    told = refused("one.parquet (row group 0): Sequence reference (a[i]) out of bounds",
                   lambda: list(program.bad.map_partitions(one)))
    assert told.startswith("error: row 1 of") and "row[3]" in told and "the index is 3, the length 0" in told
    np.savez(tmp_path / "a.npz", a=np.arange(3))
    refused("a.npz: holds a; a sparse matrix saved by SciPy, or offsets and content, is due",
            lambda: list(program.total.map_partitions(tmp_path / "a.npz")))
    np.savez(tmp_path / "rows.npz", offsets=np.array([0, 2, 3]), content=np.array([1.0, 2.0, 4.0]))
    refused("told has effects", lambda: program.told.map_partitions(tmp_path / "rows.npz"))
    refused("tuples: .parquet holds a sequence, not int, [float]",
            lambda: program.both.map_partitions(tmp_path / "rows.npz", out=tmp_path / "tuples"))


@pytest.mark.parametrize("options, message", [
    ({"out": ""}, "out is the path of a new folder, or of a file, not ''"),
    ({"out": 5}, "out is the path of a new folder, or of a file, not 5"),
    ({"column": 1}, "column is the name of a column, or a list of names, not 1"),
    ({"column": []}, "column is the name of a column, or a list of names, not []"),
    ({"column": ["r", 2]}, "column is the name of a column, or a list of names, not ['r', 2]"),
    ({"column": {"rows": "r"}}, "column is the name of a column, or a list of names, not {'rows': 'r'}"),
    ({"workers": 0}, "workers is a whole number from 1 to 256, not 0"),
    ({"workers": -1}, "workers is a whole number from 1 to 256, not -1"),
    ({"workers": "2"}, "workers is a whole number from 1 to 256, not '2'"),
    ({"workers": 1.5}, "workers is a whole number from 1 to 256, not 1.5"),
])
def test_options_of_a_wrong_kind_are_refused(options: Any, message: str, rows: Any, program: nessie.Program,
                                             monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    before = os.listdir(tmp_path)
    refused(message, lambda: program.score.map_partitions(rows[0] / "one.parquet", **options))
    assert os.listdir(tmp_path) == before, "an empty path is not the folder that one is in"


def test_a_disk_that_is_full(rows: Any, program: nessie.Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                             ) -> None:
    def full(*arguments: Any) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs, "encoded", full)
    refused("part-00000.parquet: cannot be written: No space left on device",
            lambda: program.score.map_partitions(rows[0] / "one.parquet", out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout")
def test_a_device_is_no_folder(rows: Any, program: nessie.Program) -> None:
    refused("/dev/null: cannot be written: it is no plain file\nhint: - stands for standard output",
            lambda: program.score.map_partitions(rows[0] / "one.parquet", out="/dev/null"))


@pytest.mark.parametrize("name, content, message", [
    ("a.npy", b"", "a.npy: not a NumPy array of numbers, booleans or characters"),
    ("a.npz", b"PK", "a.npz: not an archive of NumPy arrays: it does not begin as one"),
    ("a.npy", np.array([1, "a"], object), "a.npy: not a NumPy array of numbers, booleans or characters: Python obj"),
    ("a.npy", np.array(3.0), "a.npy: parts are rows of an array, and it has none"),
    ("a.npz", np.arange(3.0), "a.npz: a single array; name it .npy"),
    ("a.npz", {"offsets": [0, 9], "content": [1.0]}, "a.npz: offsets must go from 0 to 1, the number of elements")])
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
    refused("PyArrow reads and writes such files, and is not installed",
            lambda: program.total.map_partitions(tmp_path / "a.parquet"))


@pytest.mark.parametrize("text, places", [
    ("function go(rows) = {sum(row) : row in rows};", [0]),
    ("function go(rows) = {sum(row) : row in rows | #row > 2};", [0]),
    ("function go(rows) = sum({sum(row) : row in rows});", "this needs all rows"),
    ("function go(rows) = {sum(row) / #rows : row in rows};", "this looks at all of rows"),
    ("function go(rows) = {a + b : a in rows; b in rows};", [0]),
    ("function go(rows, limit) = {row > limit : row in rows};", [0]),
    ("function go(limit, rows) = {row > limit : row in rows | #row > 2};", [1]),
    ("function go(rows, ws) = {row * w : row in rows; w in ws};", [0, 1]),
    ("function go(rows, k, ws) = {row * w * k : w in ws; row in rows};", [0, 2]),
    ("function go(rows, ws) = {row * #ws : row in rows; w in ws};", "this looks at all of ws"),
    ("function go(rows, ws) = {row * i : row in rows; i in [0:9]};", "this does not go over rows or ws, row by row"),
    ("function go(p(a, b)) = {row : row in a};", "this does not go over an argument, row by row"),
    ("function go(rows) = {a : a in [0:3]};", "this does not go over rows, row by row"),
    ("function other(rows) = rows;", [0])])
def test_which_functions_go_row_by_row(text: str, places: Any) -> None:
    """The places of the parameters whose rows they go over, or why they do not."""
    program = parse(Source("test.nesl", text))
    if isinstance(places, str):
        refused(places, lambda: streams_of(program, "go"))
    else:
        assert streams_of(program, "go") == places


def run(*words: Any) -> Any:
    return finished([sys.executable, "-m", "nessie", "run", *map(str, words)])


def test_the_tool_streams(rows: Any, program: nessie.Program) -> None:
    folder, column = rows
    (folder / "p.nesl").write_text(TEXT)
    given = "-e", "score", f"@{folder / 'one.parquet'}", "--stream"
    found = run(folder / "p.nesl", *given, "-o", folder / "out.parquet")
    assert (found.returncode, found.stderr) == (0, f"{GROUPS} parts in {folder / 'out.parquet'}\n")
    found = parquet.read_table(folder / "out.parquet").column(0).to_numpy()
    assert found.tobytes() == scores(program, column)
    given = "-e", "above", f"@{folder / 'one.parquet'}", "0.5", "--stream"
    found = run(folder / "p.nesl", *given, "-o", folder / "a.npy")
    assert (found.returncode, found.stderr) == (0, f"all parts in {folder / 'a.npy'}\n")
    assert np.load(folder / "a.npy").tolist() == program.above(column, 0.5).tolist()


@pytest.mark.parametrize("status, words, message", [
    (2, "score @one.parquet -o c.parquet --target cuda", "--stream computes on CPUs, here or on workers, not by the"),
    (1, "total @one.parquet -o c.parquet", "total cannot be called on some rows after the others"),
    (1, "above @one.parquet -o c.parquet", "above takes 2 arguments, and gets 1"),
    (1, "above @one.parquet t -o c.parquet", "above takes [[a]], a :: (a in ordinal), but gets [[float]], bool"),
    (2, "scaled @one.parquet -o c.parquet", "scaled goes over the rows of argument 2, and 1 is given"),
    (2, "above [[1.0]] 0.5 -o c.parquet", "argument 1 is [[1.0]]: -e above @rows.parquet"),
    (2, "score @one.parquet", "--stream writes the results of parts"),
    (1, "scores @one.parquet -o c.npy", "the program has no function scores"),
    (1, "score @one.parquet -o c.arrow", "c.arrow: parts are written to a folder of tables, .parquet, or to a file .n"),
    (1, "positive @one.parquet -o c.csv", "c.csv: .csv holds a sequence of tuples of scalars and strings"),
    (1, "score @one.parquet -o c.parquet --columns a,b", "the table has 1 column, and 2 are named"),
    (2, "score @one.parquet -o c.parquet --quote-formulas", "--quote-formulas is about texts in a .csv or .tsv file"),
    *[(2, f"score @one.parquet -o c.parquet {option}", f"{option.split()[0]} is for programs that do more than compute")
      for option in ("--seed 3", "--draw a.svg", "--allow-shell", "--events click")],
    (2, "score @one.parquet -o c.parquet --dump made --target dask", "--dump writes what passes make on this machine"),
    (2, "score @one.parquet -o c.parquet --workers 3", "--workers is an option of the target dask"),
    (1, "score @one.parquet -o c.parquet --memory 1K", "out of memory"),
    (1, "score @one.parquet -o c.parquet -t ([[int]])", "score takes [[float]], and the type is [[int]]")])
def test_what_the_tool_does_not_stream(status: int, words: str, message: str, rows: Any,
                                       monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written then."""
    monkeypatch.chdir(rows[0])
    Path("p.nesl").write_text(TEXT)
    entry, *others = words.split()
    assert main(["run", "p.nesl", "--stream", "-e", entry, *others]) == status
    assert message in capsys.readouterr().err
    assert not [*rows[0].glob("c.*")]


def test_the_tool_obeys_what_says_how(rows: Any, program: nessie.Program, monkeypatch: pytest.MonkeyPatch,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(rows[0])
    Path("p.nesl").write_text(TEXT)
    words = ["run", "p.nesl", "--stream", "-e", "score", "@one.parquet"]
    assert main([*words, "-o", "-"]) == 0
    said = [float(line) for line in capsys.readouterr().out.splitlines()]
    assert np.array(said).tobytes() == scores(program, rows[1])
    assert main([*words, "-o", "c.csv", "--columns", "it", "--fuse", "none", "--float", "32", "--dump", "made",
                 "--threads", "1", "--cut", "a,b"]) == 0
    assert Path("c.csv").read_text().startswith("it\n") and [*Path("made").iterdir()]
    assert "warning: --cut a,b changes nothing" in capsys.readouterr().err
    assert not np.array_equal(np.loadtxt("c.csv", skiprows=1), said)
    assert np.allclose(np.loadtxt("c.csv", skiprows=1), said, rtol=1e-5)
