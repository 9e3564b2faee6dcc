"""Tables that workers read by row groups are those that are read as a whole; what they cannot read, the driver does."""
from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import finished

from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.system.seen_files import Seen
from nessie.base.types import FLOAT, Seq, no_datatypes
from nessie.base.values import Flat, plain_value
from nessie.cudagen.cluster.engine import InProcess, Sight
from nessie.cudagen.cluster.files.hands import Hands
from nessie.files.files import made, open_file
from nessie.files.formats import arrow_format
from nessie.files.written_by_workers import brought

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 50
ROWS = [[0.5 * k for k in range(i % 4)] for i in range(N)]
COLUMNS: dict[str, list[Any]] = {
    "x": [i * 0.25 for i in range(N)], "n": list(range(N)), "even": [i % 2 == 0 for i in range(N)], "row": ROWS,
    "deep": [[[i] * (j % 3) for j in range(i % 5)] for i in range(N)],
    "entry": [[{"column": k, "value": 0.5} for k in range(i % 3)] for i in range(N)]}
TABLE = pa.table({**COLUMNS, "empty": pa.array([[]] * N, pa.list_(pa.int32()))})


class Noted(InProcess):
    """An engine, of whose workers these see files; it notes who reads."""

    def __init__(self, sight: Sight = None) -> None:
        super().__init__(2)
        self.sight, self.by = sight, set[Sight]()

    def sees(self, file: Seen) -> Sight:
        return self.sight

    def submit(self, name: str, *arguments: Any, on: Sight = None, **more: Any) -> Any:
        if name.startswith("read"):
            self.by.add(on)
        return super().submit(name, *arguments, on=on, **more)

    def count(self, name: str) -> int:
        return [task.split("-")[0] for task in self.names].count(name)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(arrow_format, "LARGE", 0)
    parquet.write_table(TABLE, tmp_path / "table.parquet", row_group_size=7)
    return tmp_path / "table.parquet"


def read(path: Path, engine: InProcess | None = None, limit: int | None = None, wanted: Any = None) -> Any:
    """The value, all of it here, and its type."""
    file = open_file(str(path), MemoryBudget(limit), (lambda: Hands(engine)) if engine else None)
    type_ = wanted or file.held         # type: ignore[attr-defined]
    found = made(str(path), file, type_, no_datatypes)
    return brought(Hands(engine), found) if engine else found, type_


@pytest.mark.parametrize("sight", [None, frozenset({"w1"})])
def test_row_groups_are_read_by_workers(sight: Sight, path: Path) -> None:
    """By all, or by those that see the file. The driver takes no memory for them."""
    engine = Noted(sight)
    (found, type_), (expected, _) = read(path, engine, 200), read(path)
    assert isinstance(found, Flat)
    assert plain_value(found, type_) == plain_value(expected, type_)
    assert engine.count("read") == -(-N // 7)
    assert engine.by == {sight}


def test_ints_of_workers_become_floats(path: Path) -> None:
    parquet.write_table(pa.table({"n": [1, 2, 3]}), path, row_group_size=2)
    found, type_ = read(path, Noted(), wanted=Seq(FLOAT))
    assert (found.column.dtype, plain_value(found, type_)) == (np.float64, [1.0, 2.0, 3.0])


def test_a_file_that_changes_is_told(path: Path) -> None:
    """While its row groups are read: they are not mixed with others."""
    class Changing(Noted):
        def submit(self, name: str, *arguments: Any, **more: Any) -> Any:
            if name == "read-3":
                parquet.write_table(TABLE.slice(0, 40), path, row_group_size=7)
            return super().submit(name, *arguments, **more)

    with pytest.raises(NessieError, match=r"table\.parquet is not what it was when it was opened: it has changed"):
        read(path, Changing())


def test_a_folder_is_a_table(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parts.parquet"
    folder.mkdir()
    for number in range(3):
        parquet.write_table(TABLE.slice(20 * number, 20), folder / f"part-{number}.parquet", row_group_size=7)
    for engine in (None, Noted()):
        (found, type_), (expected, _) = read(folder, engine), read(path)
        assert plain_value(found, type_) == plain_value(expected, type_)
    parquet.write_table(pa.table({"y": [1]}), folder / "part-3.parquet")
    with pytest.raises(NessieError, match=r"part-3\.parquet has other columns than .*part-0\.parquet"):
        read(folder)
    (tmp_path / "none.parquet").mkdir()
    with pytest.raises(NessieError, match="a folder without files of Parquet"):
        read(tmp_path / "none.parquet")


@pytest.mark.parametrize("table, sight, tasks", [
    (pa.table({"name": ["a", "b"]}), None, 0), (pa.table({"x": [1.0, 2.0]}), frozenset(), 0),
    (pa.table({"x": np.arange(0.0)}), None, 1)])
def test_the_driver_reads_what_workers_cannot(table: Any, sight: Sight, tasks: int, path: Path) -> None:
    """Texts; files that no worker sees."""
    parquet.write_table(table, path)
    engine = Noted(sight)
    found, type_ = read(path, engine)
    assert plain_value(found, type_) == plain_value(*read(path))
    assert engine.count("read") == tasks


def test_missing_values_are_told_of_the_whole(path: Path) -> None:
    parquet.write_table(pa.table({"x": [1.0, None, 3.0, None]}), path, row_group_size=2)
    with pytest.raises(NessieError, match="the column x has 2 missing values"):
        read(path, Noted())


def test_files_go_with_a_process_that_a_signal_ends() -> None:
    text = """
from nessie.base.system.ending import at_end
from nessie.base.system.mapped_files import NewFile
from nessie.tool.signals import leave
at_end(lambda: print("done"))
at_end(lambda: 1 / 0)
file, other = NewFile(), NewFile()
print(file.path, flush=True)
del other
leave(130, True)
"""
    found = finished([sys.executable, "-uc", text])
    path, done = found.stdout.splitlines()
    assert (found.returncode, found.stderr, done) == (-signal.SIGINT, "", "done")
    assert not Path(path).exists()


def test_files_are_left_by_a_child_that_is_forked() -> None:
    """Whether it drops them or ends."""
    text = """
import os, sys
from nessie.base.system.mapped_files import NewFile
file, other = NewFile(), NewFile()
child = os.fork()
if child == 0:
    del other
    sys.exit()
os.waitpid(child, 0)
print(os.path.exists(file.path), os.path.exists(other.path), file.path, other.path)
"""
    found = finished([sys.executable, "-c", text], check=True)
    *there, path, other = found.stdout.split()
    assert there == ["True", "True"]
    assert not Path(path).exists() and not Path(other).exists()
