"""Parts of files: all rows once, in their order, as the readers of whole files give them; and results, part by part."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.types import BOOL, FLOAT, INT, STRING, Pair, Seq, Type, expand, no_datatypes
from nessie.base.values import Flat, Nested, plain_value
from nessie.files.files import TableStyle, open_file
from nessie.files.names import FileName, file_name
from nessie.files.partitions import lines, partitions
from nessie.files.partitions.outputs import Out
from nessie.files.partitions.partitions import partitions_of
from nessie.files.partitions.readers import Reader, some_rows
from nessie.files.partitions.zipped import zipped


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of few bytes."""
    monkeypatch.setattr(lines, "SIZE", 40)
    monkeypatch.setattr(partitions, "BYTES", 160)
    monkeypatch.setattr(partitions, "BATCH", 80)


def rows(path: Path, type_: Type, some: Any = None) -> list[Any]:
    """The rows of a file, part by part."""
    reader, found = Reader(), []
    for part in partitions_of(FileName(str(path))) if some is None else some:
        found += plain_value(reader.read(part, MemoryBudget()).made(Seq(type_), no_datatypes), Seq(type_))
    return found


def whole(path: Path, type_: Type) -> Any:
    return plain_value(open_file(str(path)).made(Seq(type_), no_datatypes), Seq(type_))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "7"])
def test_lines_are_cut_between_rows(ending: str, last: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(("".join(f"{n * 1000}{ending}{ending * (n % 3 == 0)}" for n in range(50)) + last).encode())
    found = list(partitions_of(FileName(str(path))))
    assert len(found) > 5 and rows(path, INT) == whole(path, INT) == [n * 1000 for n in range(50)] + [7] * bool(last)
    assert [part.first for part in found[1:]] == [part.last + 1 for part in found[:-1]]
    assert rows(path, INT, found[3:4]) == rows(path, INT)[len(rows(path, INT, found[:3])):][:len(
        rows(path, INT, found[3:4]))]


def test_rows_of_tables_may_have_line_ends_within_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('name,"a ""b""\nc"\n' + "".join(f'"x, ""{n}""\n{"y" * (n % 7)}",{n}\n' for n in range(40)))
    assert len(list(partitions_of(FileName(str(path))))) > 5
    assert rows(path, Pair(STRING, INT)) == whole(path, Pair(STRING, INT))
    path.write_text("n\n" + "".join(f'{n}\n' for n in range(40)) + f'"{"long" * 40}\nend"\n')
    assert rows(path, STRING)[-1] == list("long" * 40 + "\nend")


def test_a_table_without_rows_and_one_whose_header_stands_alone(tmp_path: Path) -> None:
    for text in ("a,b\n", "a,b"):
        (tmp_path / "a.csv").write_text(text)
        assert len(list(partitions_of(FileName(str(tmp_path / "a.csv"))))) == 1
        assert rows(tmp_path / "a.csv", Pair(INT, INT)) == []


@pytest.mark.parametrize("name, text, line", [
    ("a.jsonl", "".join(f"{n}\n" for n in range(100, 130)) + "[\n", 31),
    ("a.csv", "n,m\n" + "".join(f"{n},1\n" for n in range(100, 130)) + "1\n", 32),
    ("a.txt", "".join(f"{n}\n" for n in range(100, 130)) + "x\n", 31)])
def test_a_mistake_is_told_with_its_line(name: str, text: str, line: int, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(NessieError, match=f"{name}, line {line}") as error:
        reader = Reader()
        for part in partitions_of(FileName(str(tmp_path / name))):
            file = reader.read(part, MemoryBudget())
            raise_misfit(file, Seq(INT))
    assert f"{name}:{line}:" in str(error.value)


def raise_misfit(file: Any, type_: Type) -> None:
    from nessie.arguments.types import GivenArgument, Parameters, types_of
    if len(getattr(file, "header", "1")) == 1:
        types_of([GivenArgument("file", file, file)], Parameters("", [type_], no_datatypes))


def test_arrays_are_cut_by_rows(tmp_path: Path) -> None:
    for array in (np.arange(70), np.arange(70, dtype=np.uint8), np.arange(70, dtype=">i4"), np.arange(70) > 3):
        np.save(tmp_path / "a.npy", array)
        assert rows(tmp_path / "a.npy", BOOL if array.dtype == bool else INT) == array.tolist()
    np.save(tmp_path / "a.npy", np.asfortranarray(np.arange(60.0).reshape(20, 3)))
    assert len(list(partitions_of(FileName(str(tmp_path / "a.npy"))))) == 4
    assert rows(tmp_path / "a.npy", Seq(FLOAT)) == np.arange(60.0).reshape(20, 3).tolist()
    np.save(tmp_path / "a.npy", np.zeros((0, 3)))
    assert rows(tmp_path / "a.npy", Seq(FLOAT)) == []


# Parquet ----------------------------------------------------------------------------------------


def test_a_large_row_group_is_read_by_rows(tmp_path: Path) -> None:
    """Also those of its parts alone, whose beginning nobody has read before."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    values = [[float(n + i) for i in range(n % 5)] for n in range(100)]
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"r": values}), path, row_group_size=60)
    found = list(partitions_of(FileName(str(path))))
    assert {part.group for part in found} == {0, 1} and len(found) == 10
    assert rows(path, Seq(FLOAT)) == values
    assert [row for part in found for row in rows(path, Seq(FLOAT), [part])] == values
    assert [part.first for part in found] == [sum([p.count for p in found[:n]]) for n in range(len(found))]


def test_row_groups_without_rows_and_files_without_row_groups(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, schema = tmp_path / "a.parquet", pa.schema({"n": pa.int64()})
    with parquet.ParquetWriter(path, schema) as writer:
        for some in ([1, 2], [], [3]):
            writer.write_table(pa.table({"n": some}, schema=schema))
    assert rows(path, INT) == [1, 2, 3]
    with parquet.ParquetWriter(path, schema):
        pass
    assert [str(part) for part in partitions_of(FileName(str(path)))] == [str(path)] and rows(path, INT) == []


@pytest.mark.parametrize("make, type_, values", [
    (lambda pa: pa.array([True, False, True]), BOOL, [True, False, True]),
    (lambda pa: pa.array([1, 2, -3], pa.int32()), INT, [1, 2, -3]),
    (lambda pa: pa.array([1, 2, 255], pa.uint8()), INT, [1, 2, 255]),
    (lambda pa: pa.array([1.5, 2, 3], pa.float32()), FLOAT, [1.5, 2.0, 3.0]),
    (lambda pa: pa.array(["ab", "", "ab"]).dictionary_encode(), STRING, [["a", "b"], [], ["a", "b"]]),
    (lambda pa: pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int16(), 2)), Seq(INT), [[1, 2], [3, 4], [5, 6]]),
    (lambda pa: pa.array([[1], [], [2, 3]], pa.large_list(pa.int64())), Seq(INT), [[1], [], [2, 3]]),
    (lambda pa: pa.array([[[1], []], [], [[2, 3]]]), Seq(Seq(INT)), [[[1], []], [], [[2, 3]]]),
    (lambda pa: pa.array([{"a": 1, "b": 2.5}] * 3), Pair(INT, FLOAT), [(1, 2.5)] * 3)])
def test_kinds_of_columns(make: Any, type_: Type, values: list[Any], tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"x": make(pa)}), tmp_path / "a.parquet", row_group_size=2)
    assert rows(tmp_path / "a.parquet", type_) == values


@pytest.mark.parametrize("make", [
    lambda pa, row: pa.array([None if n == row else n for n in range(100)]),
    lambda pa, row: pa.array([[1.5, None] if n == row else [2.5] * (n % 4) for n in range(100)]),
    lambda pa, row: pa.array([[[1], [2, None]] if n == row else [[]] * (n % 3) for n in range(100)]),
    lambda pa, row: pa.array([{"a": 1, "b": None if n == row else "x"} for n in range(100)])])
def test_a_missing_value_is_told_with_its_row(make: Any, tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"x": make(pa, 77)}), tmp_path / "a.parquet", row_group_size=50)
    with pytest.raises(NessieError, match=r"the column x(\.b)? has 1 missing value, in row 77\n"):
        reader = Reader()
        for part in partitions_of(FileName(str(tmp_path / "a.parquet"))):
            reader.read(part, MemoryBudget())


# Rows that belong together ----------------------------------------------------------------------


@pytest.mark.parametrize("others", ["t.parquet:w", "w.parquet", "w.npy", "every.npy"])
def test_files_are_cut_like_the_one_of_the_largest_rows(others: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                        ) -> None:
    """Columns of one table, too, of which one alone has several parts in a row group; no file's parts are larger than
    they are alone."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    count = 45
    values = [[float(n + k) for k in range(n % 9)] for n in range(count)]
    table = pa.table({"r": values, "w": np.arange(count)})
    parquet.write_table(table, "t.parquet", row_group_size=20)
    parquet.write_table(table.select(["w"]), "w.parquet", row_group_size=20)
    np.save("w.npy", np.arange(count))
    np.save("every.npy", np.arange(40 * count).reshape(count, 40))
    for names in (["t.parquet:r", others], [others, "t.parquet:r"]):
        files = [[file_name(name)] for name in names]
        parts = list(zipped(files))
        assert [len({part.count for part in some}) for some in parts] == [1] * len(parts)
        alone = [max([part.count for part in partitions_of(name)]) for (name,) in files]
        assert max([some[0].count for some in parts]) <= min(alone) < 20 and len(parts) > 3
        left = [some[names.index("t.parquet:r")] for some in parts]
        assert rows(Path("t.parquet"), Seq(FLOAT), left) == values
        right = [some[names.index(others)] for some in parts]
        kind = Seq(INT) if others == "every.npy" else INT
        assert rows(Path(others), kind, right) == (np.load("every.npy").tolist() if others == "every.npy" else
                                                   list(range(count)))
        assert rows(Path(others), kind, right[2:3]) == rows(Path(others), kind, right)[
            2 * right[0].count:][:right[2].count], "a part is read by itself, too"


def test_an_array_is_cut_like_the_other_file(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, other = str(tmp_path / "a.parquet"), str(tmp_path / "w.npy")
    files = [[FileName(other)], [FileName(path)]]
    with parquet.ParquetWriter(path, pa.schema({"n": pa.int64()})) as writer:
        for some in ([0, 1, 2], [3], [4, 5]):
            writer.write_table(pa.table({"n": some}))
    np.save(other, np.arange(6))
    assert [[part.count for part in parts] for parts in zipped(files)] == [[3, 3], [1, 1], [2, 2]]
    assert [rows(Path(other), INT, [parts[0]]) for parts in zipped(files)] == [[0, 1, 2], [3], [4, 5]]
    np.save(other, np.arange(5))
    with pytest.raises(NessieError, match=r"w\.npy has 5 rows, and .*a\.parquet has 6"):
        list(zipped(files[::-1]))


# Outputs ----------------------------------------------------------------------------------------


def grown(path: Path, parts: list[Flat], type_: Type) -> Any:
    out = Out(str(path), TableStyle())
    out.refuse_taken()
    out.refuse_type(type_, no_datatypes)
    with out.growing(no_datatypes, print) as add:
        for part in parts:
            add(part, type_)
    return open_file(str(path)).made(type_, no_datatypes)


ROWS = Flat(4, Nested(np.array([0, 2, 4, 6, 8]), np.arange(8.0)))


@pytest.mark.parametrize("cuts", [[0, 4], [0, 1, 1, 3, 4], [0, 0, 4], [0, 4, 4]])
def test_parts_make_one_file(cuts: list[int], tmp_path: Path) -> None:
    def parts(value: Flat) -> list[Flat]:
        return [some_rows(value, a, b) for a, b in zip(cuts, cuts[1:])]

    table = Flat(4, (np.arange(4), Nested(np.array([0, 1, 1, 2, 2]), np.array([44, 10], np.int32))))
    for name, value, type_ in [("a.npy", Flat(4, np.arange(4)), Seq(INT)), ("b.npy", ROWS, Seq(Seq(FLOAT))),
                               ("c.jsonl", ROWS, Seq(Seq(FLOAT))), ("d.jsonl.gz", ROWS, Seq(Seq(FLOAT))),
                               ("e.csv", table, Seq(Pair(INT, STRING))), ("f.tsv", table, Seq(Pair(INT, STRING)))]:
        found = grown(tmp_path / name, parts(value), type_)
        assert plain_value(found, expand(type_, no_datatypes)) == plain_value(value, type_), name
    assert np.load(tmp_path / "b.npy").tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()][1] == [2.0, 3.0]


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(b"old")
    ragged = Flat(1, Nested(np.array([0, 3]), np.arange(3.0)))
    with pytest.raises(NessieError, match="row 0 has length 2, row 4 has 3"):
        grown(tmp_path / "a.npy", [ROWS, ragged], Seq(Seq(FLOAT)))
    ragged = Flat(2, Nested(np.array([0, 2, 3]), np.arange(3.0)))
    with pytest.raises(NessieError, match=r"row 4 has length 2, row 5 has 1\nhint: a folder of tables"):
        grown(tmp_path / "a.npy", [ROWS, ragged], Seq(Seq(FLOAT)))
    assert (tmp_path / "a.npy").read_bytes() == b"old" and [*tmp_path.iterdir()] == [tmp_path / "a.npy"]


@pytest.mark.parametrize("name, type_, message", [
    ("a.npy", Seq(Pair(INT, INT)), "a.npy: .npy holds scalars in rows"), ("a.json", Seq(INT), "not .json"),
    ("a.csv", Seq(Seq(INT)), "a.csv: .csv holds a sequence of tuples of scalars"), ("a.arrow", Seq(INT), "not .arrow"),
    ("a.parquet", INT, "a.parquet: .parquet holds a sequence, not int"), ("a.jsonl", FLOAT, ".jsonl holds a sequence")])
def test_what_cannot_be_written_is_refused_before(name: str, type_: Type, message: str, tmp_path: Path) -> None:
    out = Out(str(tmp_path / name), TableStyle())
    with pytest.raises(NessieError, match=message):
        out.refuse_taken()
        out.refuse_type(type_, no_datatypes)
    assert not [*tmp_path.iterdir()]
