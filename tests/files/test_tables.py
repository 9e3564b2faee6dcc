"""Tables of Arrow and Parquet, with tabs, packed by gzip, and the names of their columns."""
from __future__ import annotations

import csv
import gzip
import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from test_files import CELLS, complaint, read, values

from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.types import BOOL, CHAR, FLOAT, INT, STRING, Pair, Seq, Type
from nessie.base.values import flatten_value
from nessie.files.files import TableStyle, open_file, write_value
from nessie.tool.cli import main

ANY = st.recursive(st.sampled_from([INT, FLOAT, BOOL, CHAR, STRING]),
                   lambda t: st.builds(Pair, t, t) | st.builds(Seq, t), max_leaves=5)


@pytest.mark.parametrize("ending", [".arrow", ".parquet"])
@settings(max_examples=examples(100))
@given(data=st.data())
def test_arrow_holds_any_sequence(ending: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    type_ = Seq(data.draw(ANY))
    value = data.draw(values(type_))
    path = str(tmp_path_factory.getbasetemp() / f"round{ending}")
    write_value(path, flatten_value(value, type_), type_)
    assert read(path, type_) == (value, type_)


@settings(max_examples=examples(100))
@given(data=st.data())
def test_tsv_round_trip(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    type_ = Seq(data.draw(CELLS))
    value = data.draw(values(type_))
    path = str(tmp_path_factory.getbasetemp() / "round.tsv.gz")
    write_value(path, flatten_value(value, type_), type_)
    assert read(path, type_) == (value, type_)
    text = gzip.decompress(Path(path).read_bytes()).decode()
    header, *_ = csv.reader(io.StringIO(text, newline=""), delimiter="\t")
    assert header == [f"column{number}" for number in range(1, len(header) + 1)]


@pytest.mark.parametrize("array, type_, value", [
    (pa.array([1, 2], pa.int8()), INT, [1, 2]), (pa.array([1, 2], pa.uint64()), INT, [1, 2]),
    (pa.array([1.5], pa.float32()), FLOAT, [1.5]),
    (pa.array(["a", "bc"]).dictionary_encode(), STRING, [["a"], ["b", "c"]]),
    (pa.array([[1], [], [2, 3]]), Seq(INT), [[1], [], [2, 3]]),
    (pa.array([[1], [], [2, 3]])[1:], Seq(INT), [[], [2, 3]]),
    (pa.array([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)), Seq(INT), [[1, 2], [3, 4]]),
    (pa.array([{"a": 1, "b": [True]}]), Pair(INT, Seq(BOOL)), [(1, [True])]),
    (pa.chunked_array([[1], [2, 3]]), INT, [1, 2, 3]), (pa.chunked_array([], pa.int64()), INT, []),
    (pa.array(["x", "yz"])[1:], STRING, [["y", "z"]]), (pa.array([True, False, True])[1:], BOOL, [False, True])])
@pytest.mark.parametrize("ending", [".arrow", ".parquet", "stream"])
def test_what_others_write_is_read(tmp_path: Path, ending: str, array: Any, type_: Type, value: Any) -> None:
    table, path = pa.table({"x": array}), tmp_path / f"a{ending.replace('stream', '.arrow')}"
    if ending == ".parquet":
        parquet.write_table(table, path)
    else:
        with (pa.ipc.new_stream if ending == "stream" else pa.ipc.new_file)(str(path), table.schema) as writer:
            writer.write_table(table)
    assert read(str(path)) == (value, Seq(type_))


@pytest.mark.parametrize("array, told", [
    (pa.array([1, None]), "the column x has 1 missing value"), (pa.array([[1, None]]), "the column x has 1 missing"),
    (pa.array([2**63], pa.uint64()), "beyond 64 bits"), (pa.array([b"a"]), "of type binary"),
    (pa.array([{"a": None}], pa.struct([("a", pa.int64())])), "the column x.a has 1 missing")])
def test_what_nesl_cannot_hold_is_told(tmp_path: Path, array: Any, told: str) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": array}), path)
    assert told in complaint(str(path))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.json.gz", "a.csv.gz", "a.txt.gz"])
def test_damaged_files_are_errors_and_no_more(tmp_path: Path, name: str) -> None:
    path, luck = tmp_path / name, random.Random(name)
    type_ = Seq(Pair(INT, STRING))
    if name == "a.txt.gz":
        path.write_bytes(gzip.compress(b"a text\n" * 50))
    else:
        write_value(str(path), flatten_value([(n, list("ab" * n)) for n in range(40)], type_), type_)
    whole = path.read_bytes()
    for _ in range(examples(60)):
        damaged = bytearray(whole[:luck.randrange(len(whole))] if luck.random() < 0.5 else whole)
        for _ in range(luck.randrange(4)):
            if damaged:
                damaged[luck.randrange(len(damaged))] = luck.randrange(256)
        path.write_bytes(bytes(damaged))
        try:
            read(str(path))
        except NessieError as error:
            assert error.message.startswith(str(path)), error.message


def test_packed_files_count_what_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b" " * 50_000_000))
    assert path.stat().st_size < 100_000
    with pytest.raises(NessieError, match="memory"):
        open_file(str(path), MemoryBudget(1_000_000))
    large = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": np.zeros(2_000_000)}), large, compression="zstd")
    with pytest.raises(NessieError, match="memory"):
        open_file(str(large), MemoryBudget(1_000_000))


def test_without_pyarrow_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert "PyArrow reads and writes such files, and is not installed" in complaint(str(tmp_path / "a.parquet"))


# The names of columns -----------------------------------------------------------------------------

PROGRAM = """
datatype point(float, int);
function areas(rooms) = {(name, width * depth, depth) : (name, width, depth) in rooms | depth > 0};
function through(rooms) = let k = 1 in areas(rooms);
function chosen(rooms) = if #rooms > 1 then areas(rooms) else areas(rooms);
function points(rooms) = {point(float(x), y) : (_, x, y) in rooms};
function only(rooms) = {name : (name, _, _) in rooms};
function loop(rooms) : [([char], int, int)] -> [([char], int)] =
  if #rooms > 1 then loop(take(rooms, 1)) else [("a", 1)];
function swapped(rooms) = areas(rooms) ++ areas(rooms);
"""


@pytest.mark.parametrize("function, header", [
    ("areas", "name,column2,depth"), ("through", "name,column2,depth"), ("chosen", "name,column2,depth"),
    ("points", "column1,y"), ("only", "name"), ("loop", "column1,column2"), ("swapped", "column1,column2,column3")])
def test_columns_are_called_as_the_function_calls_them(function: str, header: str, tmp_path: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.nesl").write_text(PROGRAM)
    Path("in.csv").write_text("n,w,d\na,2,3\nb,4,0\n")
    words = ["run", "p.nesl", "-e", function, "--target", "reference", "@in.csv"]
    assert main([*words, "-o", "out.csv"]) == 0
    assert Path("out.csv").read_text().splitlines()[0] == header
    assert main([*words, "-o", "out.parquet"]) == 0
    assert parquet.read_table("out.parquet").column_names == header.split(",")


def test_columns_are_called_as_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.nesl").write_text(PROGRAM)
    words = ["run", "p.nesl", "-e", "areas", "[(\"a\", 2, 3)]", "--target", "reference"]
    assert main([*words, "-o", "out.tsv", "--columns", 'room,"area, m2",d']) == 0
    assert Path("out.tsv").read_text() == "room\tarea, m2\td\na\t6\t3\n"
    assert main([*words, "-o", "out.tsv", "--columns", "room"]) == 1
    assert "out.tsv: the table has 3 columns, and 1 is named" in capsys.readouterr().err
    assert main([*words, "-o", "out.json", "--columns", "a,b,c"]) == 2
    assert main([*words, "--columns", "a,,c"]) == 2
    assert "names with commas between" in capsys.readouterr().err


def test_a_table_style_names_what_is_unknown() -> None:
    assert TableStyle().names("x", 2) == TableStyle(likely=["a"]).names("x", 2) == ["column1", "column2"]
    assert TableStyle(likely=["a", ""]).names("x", 2) == ["a", "column2"]
