"""What workers write is what one process writes: a table in parts, an array by ranges."""
from __future__ import annotations

import gc
from errno import ENOSPC
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nessie.base.source import NessieError
from nessie.base.system.mapped_files import NewFile, mapped
from nessie.base.types import BOOL, CHAR, FLOAT, INT, STRING, Pair, Seq, Type
from nessie.base.values import Flat, Nested, Uniform, flatten_value
from nessie.cudagen.cluster.engine import FILES, InProcess
from nessie.files import written_by_workers
from nessie.files.files import check_writable, write_value

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 50
ROWS = [[0.5 * k for k in range(i % 4)] for i in range(N)]
TABLES: list[tuple[Type, list[Any]]] = [
    (FLOAT, [0.25 * i for i in range(N)]), (Pair(INT, BOOL), [(i, i % 2 == 0) for i in range(N)]),
    (Seq(FLOAT), ROWS), (Pair(INT, Seq(Pair(FLOAT, INT))), [(i, [(x, i) for x in row]) for i, row in enumerate(ROWS)]),
    (Seq(Seq(INT)), [[[i] * (k % 3) for k in range(i % 5)] for i in range(N)]),
    (STRING, ["ab" * (i % 3) for i in range(N)]), (INT, [])]


@pytest.mark.parametrize("shares", [FILES, ""])
@pytest.mark.parametrize("small", [0, 1 << 18])
@pytest.mark.parametrize("element, value", TABLES, ids=map(str, range(len(TABLES))))
def test_a_table_is_written_in_parts(element: Type, value: list[Any], small: int, shares: str, tmp_path: Path,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written_by_workers, "BYTES", 100)
    monkeypatch.setattr(written_by_workers, "SMALL", small)
    engine, flat = InProcess(2, shares), flatten_value(value, Seq(element))
    write_value(str(tmp_path / "parts.parquet"), flat, Seq(element), hands=lambda: engine)
    write_value(str(tmp_path / "whole.parquet"), flat, Seq(element))
    parts = sorted((tmp_path / "parts.parquet").iterdir())
    assert [part.name for part in parts] == [f"part-{number:05}.parquet" for number in range(len(parts))]
    assert len(parts) > 2 or not value
    assert len(engine.names) == (len(parts) if shares else 0)
    assert parquet.read_table(tmp_path / "parts.parquet").equals(parquet.read_table(tmp_path / "whole.parquet"))


def test_an_array_is_written_by_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file that is mapped; its last user removes it. What is in memory, the driver writes."""
    monkeypatch.setattr(written_by_workers, "BYTES", 100)
    file = NewFile()
    np.arange(60.0).tofile(file.path)
    held, path = np.asarray(mapped(file, np.float64, 60, "c")), file.path
    del file
    engine = InProcess(2, FILES)
    for number, (value, type_, tasks) in enumerate([
            (Flat(60, held), Seq(FLOAT), 5), (Flat(20, Uniform(20, 3, held)), Seq(Seq(FLOAT)), 5),
            (Flat(30, held[7:37]), Seq(FLOAT), 3), (Flat(2, np.array([1.0, 2.0])), Seq(FLOAT), 0)]):
        engine.names.clear()
        write_value(str(tmp_path / "by_workers.npy"), value, type_, hands=lambda: engine)
        write_value(str(tmp_path / f"{number}.npy"), value, type_)
        assert (tmp_path / "by_workers.npy").read_bytes() == (tmp_path / f"{number}.npy").read_bytes()
        assert len(engine.names) == tasks
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.npy", "1.npy", "2.npy", "3.npy", "by_workers.npy"]
    del held, value
    gc.collect()
    assert not Path(path).exists()


def test_a_folder_that_is_there_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "parts.parquet"
    check_writable(str(folder), by_workers=True)
    write_value(str(folder), flatten_value([1], Seq(INT)), Seq(INT), hands=lambda: InProcess(2))
    with pytest.raises(NessieError, match=r"parts\.parquet is there already: results go to a new folder"):
        check_writable(str(folder), by_workers=True)
    with pytest.raises(NessieError, match=r"/dev/null/x\.parquet: cannot be written: Not a directory"):
        write_value("/dev/null/x.parquet", flatten_value([1], Seq(INT)), Seq(INT), hands=lambda: InProcess(2))


def test_the_first_worker_that_fails_is_told(tmp_path: Path) -> None:
    half = Flat(1, Nested(np.array([0, 1]), np.array([0xD800], np.int64)))
    with pytest.raises(NessieError, match="half of a surrogate pair is no text that Arrow holds"):
        write_value(str(tmp_path / "parts.parquet"), half, Seq(Seq(CHAR)), hands=lambda: InProcess(2))


def test_a_file_that_is_not_complete_goes(tmp_path: Path) -> None:
    with (pytest.raises(NessieError, match="a: cannot be written: No space left on device"),
          written_by_workers.new_file(str(tmp_path / "a")) as new):
        Path(new).write_bytes(b"half")
        raise OSError(ENOSPC, "No space left on device")
    with written_by_workers.new_file(str(tmp_path / "b")) as new:
        Path(new).write_bytes(b"all")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("b", b"all")]
