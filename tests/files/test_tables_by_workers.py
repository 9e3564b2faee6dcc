"""Tables that workers read by row groups are those that are read as a whole; what they cannot read, the driver does."""
from __future__ import annotations

import gc
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.types import no_datatypes
from nessie.base.values import Flat, plain_value
from nessie.cudagen.cluster.engine import FILES, InProcess
from nessie.files import arrow_format
from nessie.files.files import made, open_file

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 50
ROWS = [[0.5 * k for k in range(i % 4)] for i in range(N)]
COLUMNS: dict[str, list[Any]] = {
    "x": [i * 0.25 for i in range(N)], "n": list(range(N)), "even": [i % 2 == 0 for i in range(N)], "row": ROWS,
    "deep": [[[i] * (j % 3) for j in range(i % 5)] for i in range(N)],
    "entry": [[{"column": k, "value": 0.5} for k in range(i % 3)] for i in range(N)]}
TABLE = pa.table({**COLUMNS, "empty": pa.array([[]] * N, pa.list_(pa.int32()))})


class Counted(InProcess):
    """An engine that notes the files that are written to."""

    def __init__(self, shares: str = FILES) -> None:
        super().__init__(2, shares)
        self.paths = set[str]()

    def submit(self, name: str, function: Any, *arguments: Any, **named: Any) -> Any:
        if name.startswith("write"):
            self.paths |= {path for path, *_ in arguments[0]}
        return super().submit(name, function, *arguments, **named)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(arrow_format, "LARGE", 0)
    parquet.write_table(TABLE, tmp_path / "table.parquet", row_group_size=7)
    return tmp_path / "table.parquet"


def read(path: Path, engine: InProcess | None = None, limit: int | None = None) -> Any:
    file = open_file(str(path), MemoryBudget(limit), (lambda: engine) if engine else None)
    return made(str(path), file, file.held, no_datatypes), file.held    # type: ignore[attr-defined]


def test_row_groups_are_read_by_workers(path: Path) -> None:
    """The driver takes no memory for them; their files go when nobody has them any more."""
    engine = Counted()
    (found, type_), (expected, _) = read(path, engine, 200), read(path)
    assert isinstance(found, Flat)
    assert plain_value(found, type_) == plain_value(expected, type_)
    assert [name.split("-")[0] for name in engine.names].count("read") == -(-N // 7)
    assert len(engine.paths) == 3 + 2 + 3 + 3 + 2
    del found
    gc.collect()
    assert not [name for name in engine.paths if Path(name).exists()]


def test_a_folder_is_a_table(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parts.parquet"
    folder.mkdir()
    for number in range(3):
        parquet.write_table(TABLE.slice(20 * number, 20), folder / f"part-{number}.parquet", row_group_size=7)
    for engine in (None, Counted()):
        (found, type_), (expected, _) = read(folder, engine), read(path)
        assert plain_value(found, type_) == plain_value(expected, type_)
    parquet.write_table(pa.table({"y": [1]}), folder / "part-3.parquet")
    with pytest.raises(NessieError, match=r"part-3\.parquet has other columns than .*part-0\.parquet"):
        read(folder)
    (tmp_path / "none.parquet").mkdir()
    with pytest.raises(NessieError, match="a folder without files of Parquet"):
        read(tmp_path / "none.parquet")


@pytest.mark.parametrize("table, shares, tasks", [
    (pa.table({"name": ["a", "b"]}), FILES, 0), (pa.table({"x": [1.0, 2.0]}), "", 0),
    (pa.table({"x": np.arange(0.0)}), FILES, 1)])
def test_the_driver_reads_what_workers_cannot(table: Any, shares: str, tasks: int, path: Path) -> None:
    """Texts; files that workers do not have."""
    parquet.write_table(table, path)
    engine = Counted(shares)
    found, type_ = read(path, engine)
    assert plain_value(found, type_) == plain_value(*read(path))
    assert len([name for name in engine.names if name.startswith("read")]) <= tasks


def test_missing_values_are_told_of_the_whole(path: Path) -> None:
    parquet.write_table(pa.table({"x": [1.0, None, 3.0, None]}), path, row_group_size=2)
    with pytest.raises(NessieError, match="the column x has 2 missing values"):
        read(path, Counted())


def test_nothing_is_left_of_what_is_interrupted(path: Path) -> None:
    class Interrupting(Counted):
        def gather(self, waiting: Any, *wait: Any) -> list[Any]:
            if len(self.paths) > 2:
                raise KeyboardInterrupt
            return super().gather(waiting, *wait)

    engine = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        read(path, engine)
    gc.collect()
    assert engine.paths
    assert not [name for name in engine.paths if Path(name).exists()]


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
    found = subprocess.run([sys.executable, "-uc", text], capture_output=True, text=True, check=False)
    path, done = found.stdout.splitlines()
    assert (found.returncode, found.stderr, done) == (-signal.SIGINT, "", "done")
    assert not Path(path).exists()
