"""Tables that are parts of one argument have the columns of the first: rows become tuples by the order of columns."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nessie
from nessie.base.source import NessieError
from nessie.tool.cli import main

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TEXT = """
function pairs(xs) = {(id, v * 2.0) : (id, v) in xs};
function doubled(xs) = {2.0 * x : x in xs};
function sums(xs, ys) = {x + y : x in xs; y in ys};
"""
PAIRS = [(1.0, 20.0), (2.0, 40.0), (3.0, 60.0), (4.0, 80.0)]
SWAPPED = "b.parquet has other columns than swap/a.parquet: v, id instead of id, v"


@pytest.fixture(scope="module")
def program() -> nessie.Program:
    return nessie.compile(TEXT)


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, tables in {"swap": ({"id": [1.0, 2.0], "v": [10.0, 20.0]}, {"v": [30.0, 40.0], "id": [3.0, 4.0]}),
                         "named": ({"x": [1.0]}, {"y": [2.0]}),
                         "texts": ({"id": [1.0, 2.0], "v": [10.0, 20.0]}, {"v": [30.0, 40.0], "id": [3.0, 4.0]})
                         }.items():
        Path(name).mkdir()
        for letter, table in zip("ab", tables, strict=True):
            if name == "texts":
                lines = [",".join(table), *[",".join(map(str, row)) for row in zip(*table.values(), strict=True)]]
                Path(name, f"{letter}.csv").write_text("\n".join(lines))
            else:
                parquet.write_table(pa.table(table), f"{name}/{letter}.parquet")


def told(work: Any) -> str:
    with pytest.raises(NessieError) as error:
        work()
    return str(error.value)


@pytest.mark.parametrize("files, hint", [
    ("swap", "swap:id,v"), ("swap/*.parquet", "swap/*.parquet:id,v"), (Path("swap"), "swap:id,v"),
    (["swap/a.parquet", "swap/b.parquet"], "swap/b.parquet:id,v"),
    (["swap/a.parquet:id,v", "swap/b.parquet"], "swap/b.parquet:id,v"), ({"xs": "swap"}, "swap:id,v")])
@pytest.mark.parametrize("options", [{}, {"workers": 1}])
def test_another_order_is_refused(files: Any, hint: str, options: Any, program: nessie.Program) -> None:
    """Before a part is computed, and before there is a worker."""
    found = told(lambda: program.pairs.map_partitions(files, **options))
    assert SWAPPED in found and f"hint: {hint} reads them by name" in found


def test_columns_that_are_named_are_read_by_name(program: nessie.Program) -> None:
    for files, column in (("swap:id,v", None), ("swap/*.parquet:id,v", None), ("swap", ["id", "v"]),
                          (["swap/a.parquet", "swap/b.parquet:id,v"], None), ("texts:id,v", None)):
        parts = program.pairs.map_partitions(files, column=column)
        assert [row for part in parts for row in part.to_list()] == PAIRS, files


def test_other_names_are_refused(program: nessie.Program) -> None:
    assert "named/b.parquet has other columns than named/a.parquet: y instead of x" in told(
        lambda: program.doubled.map_partitions("named"))
    assert "has other columns than" in told(lambda: program.sums.map_partitions({"xs": "swap:v", "ys": "named"}))
    found = program.doubled.map_partitions(["named/a.parquet:x", "named/b.parquet:y"])
    assert [list(part) for part in found] == [[2.0], [4.0]]


def test_texts_have_headers(program: nessie.Program) -> None:
    """An apostrophe for spreadsheets is no other name; without names, a header is due."""
    assert "texts/b.csv has other columns than texts/a.csv: v, id instead of id, v" in told(
        lambda: program.pairs.map_partitions("texts"))
    Path("texts/b.csv").write_bytes(b"\xef\xbb\xbf'id,v\n3,30\n4,40\n")
    found = program.pairs.at("[(float, float)]").map_partitions("texts/a.csv")
    assert [row for part in found for row in part.to_list()] == PAIRS[:2]
    Path("texts/c.tsv").write_text("id\tv\n5.0\t6.0\n")
    found = program.pairs.map_partitions(["texts/a.csv", "texts/c.tsv", "swap/a.parquet"])
    assert [len(part) for part in found] == [2, 1, 2]
    Path("texts/b.csv").write_text("3.0,30.0\n")
    assert "a header with the names of the columns is due, these are numbers" in told(
        lambda: list(program.pairs.map_partitions("texts")))


def test_columns_in_another_order_than_the_components() -> None:
    """Both are due, and none of them alone."""
    parquet.write_table(pa.table({"r": [[1.0], [2.0, 3.0]], "id": [1, 2]}), "rows.parquet")
    program = nessie.compile("function scored(rows) = {(id * 2, 1.0 * sum(r)) : (id, r) in rows};")
    for call in (lambda: list(program.scored.map_partitions("rows.parquet")),
                 lambda: nessie.read("rows.parquet", "[(int, [float])]")):
        found = told(call)
        assert "the table holds rows ([float], int) where (" in found
        assert "its columns are r, id; columns are components in the order in which they stand, or are named: " \
            "rows.parquet:NAME,NAME" in found
    (part,) = program.scored.map_partitions("rows.parquet:id,r")
    assert part.to_list() == [(2, 1.0), (4, 5.0)]


def test_a_pattern_is_read_by_parts() -> None:
    """Python is told how, too."""
    assert "hint: --stream, or map_partitions, reads all files of a pattern, some rows after the others; " \
        "swap names the tables of a folder, as one" in told(lambda: nessie.read("swap/*.parquet:v"))
    assert nessie.read("swap:v").tolist() == [10.0, 20.0, 30.0, 40.0]


def test_the_command_refuses_them(capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.nesl").write_text(TEXT)
    assert main(["run", "p.nesl", "-e", "pairs", "@swap", "--stream", "-o", "out.jsonl"]) != 0
    assert f"{SWAPPED}\nhint: swap:id,v reads them by name" in capsys.readouterr().err
    assert not Path("out.jsonl").exists()
    assert main(["run", "p.nesl", "-e", "pairs", "@swap:id,v", "--stream", "-o", "-"]) == 0
    assert capsys.readouterr().out == "".join([f"[{a}, {b}]\n" for a, b in PAIRS])
