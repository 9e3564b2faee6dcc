"""Columns of tables that names of files say: rows.parquet:id,r, wherever a file is named."""
from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.api.partitions.map_partitions import with_columns
from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.types import FLOAT, INT, STRING, Pair, Seq, no_datatypes
from nessie.base.values import plain_value
from nessie.cudagen.cluster.engine import InProcess
from nessie.cudagen.cluster.files.hands import Hands
from nessie.files.files import open_file
from nessie.files.fit import Arrays
from nessie.files.formats import arrow_format
from nessie.files.names import FileName, columns_in, file_name, text_of
from nessie.files.partitions import partitions
from nessie.files.written_by_workers import brought
from nessie.tool.cli import main

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TEXT = """
function sums(rows) = {sum(row) * 1.0 : row in rows};
function labelled(rows) = {(id, sum(row) * 1.0) : (row, id) in rows};
function scaled(rows, ws) = {sum(row) * w : row in rows; w in ws};
function doubled(xs) = {x + x : x in xs};
"""
N = 12
ROWS = [[0.5 * k for k in range(i % 4)] for i in range(N)]
SUMS = [sum(row) for row in ROWS]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables of three columns, of which one has no values for NESL: it is not read."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": list(range(N)), "when": pa.array([None] * N, pa.date32()), "r": pa.array(ROWS)})
    parquet.write_table(table, "rows.parquet", row_group_size=5)
    Path("parts").mkdir()
    for number in range(2):
        parquet.write_table(table.slice(6 * number, 6), f"parts/{number}.parquet")
    with pa.ipc.new_file("rows.arrow", table.schema) as writer:
        writer.write_table(table)
    with pa.ipc.new_stream("stream.arrow", table.schema) as writer:
        writer.write_table(table)
    parquet.write_table(pa.table({"w": [2.0] * N, "id": list(range(N))}), "ws.parquet", row_group_size=5)
    Path("t.csv").write_text('id,"a,b",\'name\n1,2,\'=x\n3,4,y\n')
    Path("t.tsv").write_text("id\tn\n1\t2\n3\t4\n")
    Path("p.nesl").write_text(TEXT)
    return tmp_path


@pytest.mark.parametrize("text, name", [
    ("a.parquet", FileName("a.parquet")), ("a.parquet:r", FileName("a.parquet", ("r",))),
    ("a.csv.gz:r,s", FileName("a.csv.gz", ("r", "s"))), ('b/a.TSV:"r,s",t', FileName("b/a.TSV", ("r,s", "t"))),
    ("a.arrow:x:y", FileName("a.arrow", ("x:y",))), ("b/*.parquet:r", FileName("b/*.parquet", ("r",))),
    ("c:d/a.parquet:r", FileName("c:d/a.parquet", ("r",))), ("parts:r", FileName("parts", ("r",))),
    ("a.npy:r", FileName("a.npy:r")), ("none:r", FileName("none:r")), ("-", FileName("-"))])
def test_a_name_has_a_path_and_columns(text: str, name: FileName) -> None:
    assert file_name(text) == name


def test_a_file_with_a_colon_in_its_name_is_that_file() -> None:
    shutil.copy("t.tsv", "t.csv:id")
    assert file_name("t.csv:id") == FileName("t.csv:id")


@pytest.mark.parametrize("name", ["parts:e.parquet", "file:e.parquet", "a.csv:b/c.parquet", "s3://b/e.parquet",
                                  "t.csv:e.arrow"])
@pytest.mark.parametrize("workers", [0, 2])
def test_files_with_a_colon_are_read(name: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is a folder, or another table, that is called like what is before the colon, too; by workers, too.
    PyArrow takes such a name for an address."""
    monkeypatch.setattr(arrow_format, "LARGE", 0)
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy("rows.arrow" if name.endswith("arrow") else "rows.parquet", name)
    hands = Hands(InProcess(workers)) if workers else None
    found = open_file(f"{name}:id", MemoryBudget(), (lambda: hands) if hands else None).made(Seq(INT), no_datatypes)
    assert plain_value(brought(hands, found) if hands else found, Seq(INT)) == list(range(N))
    if name.endswith("parquet"):
        parts = nessie.compile(TEXT).sums.map_partitions(f"{name}:r")
        assert np.concatenate([np.asarray(part) for part in parts]).tolist() == SUMS


@pytest.mark.parametrize("name, told", [
    ("parts:f.parquet", r"^parts:f\.parquet: cannot be read: No such file"),
    ("parts:f.parquet:r", r"^parts:f\.parquet: cannot be read: No such file"),
    ("s3://b/f.parquet", r"^s3://b/f\.parquet: cannot be read: No such file"),
    ('parts:"f.parquet"', r'^parts/0\.parquet has no column f\.parquet; it has id, when, r$')])
def test_a_file_with_a_colon_that_is_not_there(name: str, told: str) -> None:
    with pytest.raises(NessieError) as caught:
        nessie.read(name)
    assert re.search(told, caught.value.message), caught.value.message


def test_hidden_files_of_a_folder_are_not_read() -> None:
    """A killed process leaves such files. One that is named is read."""
    shutil.copy("rows.parquet", "parts/.hidden.parquet")
    assert list(nessie.read("parts:id")) == list(range(N))
    parts = nessie.compile(TEXT).sums.map_partitions("parts:r")
    assert np.concatenate([np.asarray(part) for part in parts]).tolist() == SUMS
    assert list(nessie.read("parts/.hidden.parquet:id")) == list(range(N))


def test_many_files_have_columns() -> None:
    """In a time that grows as they do: 30000 files took minutes."""
    others = [FileName("v.npy"), FileName("a.csv", ("b",))]
    begun = time.monotonic()
    found, left = with_columns([[FileName(f"{number}.parquet") for number in range(30_000)], others], ["r"])
    assert {file.columns for file in found} == {("r",)} and left == others
    assert with_columns([[FileName("v.npy")]], ["r"]) == [[FileName("v.npy", ("r",))]]
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("names", [["a"], ["a", "b c"], ["a,b", 'say "x"'], [""], [" a "]])
def test_names_of_columns_are_read_as_they_are_shown(names: list[str]) -> None:
    text = text_of(name := FileName("a.csv", tuple(names)))
    assert file_name(text) == name and list(columns_in(text, text.index(":"))) == names


@pytest.mark.parametrize("name, value", [
    ("rows.parquet:r", ROWS), ("rows.arrow:r", ROWS), ("stream.arrow:r", ROWS), ("parts:r", ROWS),
    ("rows.parquet:id", list(range(N))), ("rows.parquet:r,id", list(zip(ROWS, range(N), strict=True))),
    ('t.csv:"a,b",id', [(2, 1), (4, 3)]), ("t.csv:name", [["=", "x"], ["y"]]), ("t.tsv:n", [2, 4])])
def test_columns_are_read_in_the_order_of_the_name(name: str, value: Any) -> None:
    file = open_file(name)
    type_ = file.held if isinstance(file, Arrays) else Seq(Pair(INT, INT)) if "," in name else \
        Seq(STRING if "name" in name else INT)
    assert plain_value(file.made(type_, no_datatypes), type_) == value


@pytest.mark.parametrize("name, told", [
    ("rows.parquet:x", "rows.parquet has no column x; it has id, when, r"),
    ("rows.arrow:x", "rows.arrow has no column x; it has id, when, r"),
    ("t.csv:x", 't.csv has no column x; it has id, "a,b", name'),
    ("t.tsv:n,", 't.tsv has no column ""; it has id, n'),
    ("parts:x", r"parts/0\.parquet has no column x; it has id, when, r"),
    ('t.csv:"a,b","a,b"', 't.csv: the column "a,b" is named more than once'),
    ("t.tsv:n,n", "t.tsv: the column n is named more than once"),
    ("none.parquet:r", r"none\.parquet: cannot be read: No such file or directory$"),
    ("rows.parquet:when", "the column when has 12 missing values"),
    ("rows.parquet:", "behind the colon of rows.parquet:, names of columns are due, with commas between them"),
    ('t.csv:"a', 'behind the colon of t.csv:"a, names of columns are due'),
    ("a.npy:r", r"no kind of file that can be read\nhint: .*; of .csv, .tsv, .arrow, .parquet, columns may follow")])
def test_columns_that_are_not_there(name: str, told: str) -> None:
    with pytest.raises(NessieError, match=f"(?s){told}"):
        nessie.read(name)


def test_many_columns_are_not_all_told() -> None:
    parquet.write_table(pa.table({f"c{n}": [n] for n in range(300)}), "wide.parquet")
    with pytest.raises(NessieError, match=r"no column x; it has c0, c1, .*, c19, and 280 more$"):
        nessie.read("wide.parquet:x")
    with pytest.raises(NessieError, match=r"hint: its columns are c0, .*, and 280 more; wide\.parquet:NAME reads one"):
        nessie.read("wide.parquet", "[int]")
    for columns, told in ("c1", "of its columns, c1 is read"), ("c0,c2", "columns, c0, c2 are read; .*:NAME reads one"):
        with pytest.raises(NessieError, match=f"hint: .*{told}"):
            nessie.read(f"wide.parquet:{columns}", "[bool]")
    table = pa.table([[1], [2]], names=["c", "c"])
    parquet.write_table(table, "twice.parquet")
    with pytest.raises(NessieError, match=r"twice\.parquet has 2 columns c; it has c, c"):
        nessie.read("twice.parquet:c")


def test_a_cell_of_a_chosen_column_is_pointed_at(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.csv").write_text("id,n,m\n10,20,30\n11,x,31\n")
    assert main(["run", "p.nesl", "-e", "doubled", "@bad.csv:m,n", "-t", "[int]"]) == 1
    assert 'bad.csv, line 1: 1 column is due for int, 2 are read: "m", "n"' in (told := capsys.readouterr().err)
    assert "hint: bad.csv:m reads one of them" in told
    with pytest.raises(NessieError) as caught:
        nessie.read("bad.csv:m,n", "[(int, int)]")
    assert caught.value.message.startswith('bad.csv, line 3, column n: "x"')
    assert "11,x,31\n  |    ^" in str(caught.value)


@pytest.mark.parametrize("limit", [0, 1 << 24])
def test_workers_read_columns(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are enough bytes; the other columns, of a kind that no worker reads, are not looked at."""
    monkeypatch.setattr(arrow_format, "LARGE", limit)
    for name, type_, value in (("rows.parquet:r", Seq(Seq(FLOAT)), ROWS), ("parts:id", Seq(INT), list(range(N)))):
        engine = InProcess(2)
        hands = Hands(engine)
        found = open_file(name, MemoryBudget(), lambda hands=hands: hands).made(type_, no_datatypes)
        assert plain_value(brought(hands, found), type_) == value
        assert any([task.startswith("read") for task in engine.names]) == (not limit)


# By parts ---------------------------------------------------------------------------------------


def test_files_of_a_call_have_columns_of_their_own() -> None:
    program = nessie.compile(TEXT)
    for rows in ("rows.parquet:r", ["parts/0.parquet:r", Path("parts/1.parquet:r")], "parts:r", "parts/*.parquet:r"):
        found = program.sums.map_partitions(rows)
        assert np.concatenate([np.asarray(part) for part in found]).tolist() == SUMS
    files = {"rows": "rows.parquet:r", "ws": "ws.parquet:w"}
    program.scaled.map_partitions(files, out="scaled.npy")
    assert np.load("scaled.npy").tolist() == [2.0 * value for value in SUMS]
    program.scaled.map_partitions({**files, "rows": "rows.parquet"}, column="r", out="same.npy")
    assert np.load("same.npy").tolist() == [2.0 * value for value in SUMS]
    Path("rows.csv").write_text("n,name\n" + "".join(f"{n},x\n" for n in range(N)))
    for given in ({"files": "rows.csv:n"}, {"files": "rows.csv", "column": "n"}):
        (part,) = program.doubled.map_partitions(**given)
        assert part.tolist() == [2 * n for n in range(N)]


def test_columns_behind_a_pattern_that_has_no_ending() -> None:
    with pytest.raises(NessieError, match=r"there are no files part\*:r\nhint: columns may follow the ending"):
        nessie.compile(TEXT).sums.map_partitions("part*:r")


def test_parts_are_of_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column that is small beside the others comes in few parts."""
    monkeypatch.setattr(partitions, "BYTES", 10_000)
    monkeypatch.setattr(partitions, "BATCH", 10_000)
    parquet.write_table(pa.table({f"c{n}": np.arange(1000.0) for n in range(50)}), "wide.parquet")
    every, one = [list(partitions.partitions_of(file_name(f"wide.parquet{columns}"))) for columns in ("", ":c3")]
    assert len(every) > 40 and len(one) == 1


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.npy"])
def test_columns_are_those_of_tables(name: str) -> None:
    """Where all would be read instead of those that are asked for."""
    Path(name).write_text("[1.0]\n")
    if name == "rows.npy":
        np.save(name, np.ones((2, 2)))
    program = nessie.compile(TEXT)
    with pytest.raises(NessieError, match=rf"columns are read of tables, .parquet, .csv and .tsv, and {name} is none"):
        program.sums.map_partitions(name, column="r")


@pytest.mark.parametrize("words", ["", "--stream", "--target dask", "--stream --target dask"])
def test_the_tool_reads_columns(words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
                                ) -> None:
    if "dask" in words:
        from nessie.cudagen.cluster import on_dask
        pytest.importorskip("distributed")
        monkeypatch.setattr(on_dask, "started", lambda workers: InProcess(workers))
    assert main(["run", "p.nesl", "-e", "scaled", "@rows.parquet:r", "@ws.parquet:w", "-o", "out.npy",
                 *words.split()]) == 0, capsys.readouterr().err
    assert np.load("out.npy").tolist() == [2.0 * value for value in SUMS]
    assert main(["run", "p.nesl", "-e", "labelled", "@parts:r,id", "-o", "-", *words.split()]) == 0
    assert capsys.readouterr().out.replace("]\n[", "], [").strip("[]\n").replace("[", "").split("], ")[:3] == [
        "0, 0.0", "1, 0.0", "2, 0.5"]
