"""What workers write is what one process writes: a table in parts, an array by ranges."""
from __future__ import annotations

from errno import ENOSPC
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nessie.base.source import NessieError
from nessie.base.system.seen_files import Seen, look
from nessie.base.types import BOOL, CHAR, FLOAT, INT, STRING, Pair, Seq, Type
from nessie.base.values import DTYPES, Flat, Nested, Uniform, flatten_value
from nessie.cudagen.cluster.engine import InProcess, Sight
from nessie.cudagen.cluster.files.hands import Hands
from nessie.cudagen.cluster.tasks import elements
from nessie.files import written_by_workers
from nessie.files.files import check_writable, write_value
from nessie.files.read_by_workers import arrays_of, with_arrays

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 50
ROWS = [[0.5 * k for k in range(i % 4)] for i in range(N)]
TABLES: list[tuple[Type, list[Any]]] = [
    (FLOAT, [0.25 * i for i in range(N)]), (Pair(INT, BOOL), [(i, i % 2 == 0) for i in range(N)]),
    (Seq(FLOAT), ROWS), (Pair(INT, Seq(Pair(FLOAT, INT))), [(i, [(x, i) for x in row]) for i, row in enumerate(ROWS)]),
    (Seq(Seq(INT)), [[[i] * (k % 3) for k in range(i % 5)] for i in range(N)]),
    (STRING, ["ab" * (i % 3) for i in range(N)]), (INT, [])]


class Blind(InProcess):
    """No worker sees a file."""

    def sees(self, file: Seen) -> Sight:
        return frozenset()


def with_workers(hands: Hands, column: Any) -> Any:
    """The column, whose arrays workers have, in slabs of 7 elements."""
    return with_arrays(column, iter([slabs(hands, np.asarray(array)) for array, _ in arrays_of(column)]))


def slabs(hands: Hands, array: np.ndarray[Any, Any]) -> Any:
    base = next(name for name, dtype in DTYPES.items() if dtype == array.dtype)
    return hands.array(base, [(hands.submit("given", elements.values, array[low:low + 7]), len(array[low:low + 7]))
                              for low in range(0, len(array), 7)])


@pytest.mark.parametrize("made", [InProcess, Blind])
@pytest.mark.parametrize("where", ["driver", "files", "workers"])
@pytest.mark.parametrize("element, value", TABLES, ids=map(str, range(len(TABLES))))
def test_a_table_is_written_in_parts(element: Type, value: list[Any], where: str, made: type[InProcess], tmp_path: Path,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """By workers, whoever has its elements; by the driver, if no worker sees the folder."""
    monkeypatch.setattr(written_by_workers, "BYTES", 100)
    monkeypatch.setattr(written_by_workers, "SMALL", 0 if where == "files" else 1 << 18)
    engine, flat = made(2), flatten_value(value, Seq(element))
    engine.scratch = look(__file__) if where == "files" else None
    hands = Hands(engine)
    there = Flat(flat.length, with_workers(hands, flat.column)) if where == "workers" else flat
    write_value(str(tmp_path / "parts.parquet"), there, Seq(element), hands=lambda: hands)
    write_value(str(tmp_path / "whole.parquet"), flat, Seq(element))
    parts = sorted((tmp_path / "parts.parquet").iterdir())
    assert [part.name for part in parts] == [f"part-{number:05}.parquet" for number in range(len(parts))]
    assert len(parts) > 2 or not value
    assert len([name for name in engine.names if name.startswith("write")]) == (len(parts) if made is InProcess else 0)
    assert parquet.read_table(tmp_path / "parts.parquet").equals(parquet.read_table(tmp_path / "whole.parquet"))


@pytest.mark.parametrize("made", [InProcess, Blind])
def test_an_array_is_written_by_ranges(made: type[InProcess], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If workers have it. What is in the driver's memory, it writes itself, and what has rows of several lengths, it
    refuses."""
    monkeypatch.setattr(written_by_workers, "BYTES", 200)
    values, hands = np.arange(60.0), Hands(made(2))
    held = slabs(hands, values)
    for number, (value, whole, type_, ranges) in enumerate([
            (Flat(60, held), Flat(60, values), Seq(FLOAT), 4),
            (Flat(20, Uniform(20, 3, held)), Flat(20, Uniform(20, 3, values)), Seq(Seq(FLOAT)), 4),
            (Flat(30, held[7:37]), Flat(30, values[7:37]), Seq(FLOAT), 2),
            (Flat(2, Nested(slabs(hands, np.array([0, 30, 60])), held)), Flat(2, Uniform(2, 30, values)),
             Seq(Seq(FLOAT)), 0),
            (Flat(2, values[:2]), Flat(2, values[:2]), Seq(FLOAT), 0)]):
        hands.engine.names.clear()                                              # type: ignore[attr-defined]
        write_value(str(tmp_path / "by_workers.npy"), value, type_, hands=lambda: hands)
        write_value(str(tmp_path / f"{number}.npy"), whole, type_)
        assert (tmp_path / "by_workers.npy").read_bytes() == (tmp_path / f"{number}.npy").read_bytes()
        names = [name for name in hands.engine.names if name.startswith("write")]       # type: ignore[attr-defined]
        assert len(names) == (ranges if made is InProcess else 0)
    ragged = Flat(2, Nested(slabs(hands, np.array([0, 20, 60])), held))
    with pytest.raises(NessieError, match="row 0 has length 20, row 1 has 40"):
        write_value(str(tmp_path / "by_workers.npy"), ragged, Seq(Seq(FLOAT)), hands=lambda: hands)
    assert sorted(p.name for p in tmp_path.iterdir()) == [*[f"{number}.npy" for number in range(5)], "by_workers.npy"]


def test_a_worker_that_does_not_see_the_folder_is_told(tmp_path: Path) -> None:
    """One that has joined since it was asked: it would write the part to its own disk."""
    class Late(InProcess):
        def submit(self, name: str, function: Any, *arguments: Any, **more: Any) -> Any:
            if name == "write-0":
                Path(arguments[-1].path).unlink()
            return super().submit(name, function, *arguments, **more)

    one, hands = flatten_value([1], Seq(INT)), Hands(Late())
    with pytest.raises(NessieError, match=r"part-00000\.parquet: a worker does not see the folder"):
        write_value(str(tmp_path / "parts.parquet"), one, Seq(INT), hands=lambda: hands)
    assert not list((tmp_path / "parts.parquet").iterdir())


def test_a_folder_that_is_there_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "parts.parquet"
    check_writable(str(folder), by_workers=True)
    write_value(str(folder), flatten_value([1], Seq(INT)), Seq(INT), hands=lambda: Hands(InProcess(2)))
    with pytest.raises(NessieError, match=r"parts\.parquet is there already: results go to a new folder"):
        check_writable(str(folder), by_workers=True)
    with pytest.raises(NessieError, match=r"/dev/null/x\.parquet: cannot be written: there is no folder /dev/null"):
        write_value("/dev/null/x.parquet", flatten_value([1], Seq(INT)), Seq(INT), hands=lambda: Hands(InProcess(2)))


def test_the_first_worker_that_fails_is_told(tmp_path: Path) -> None:
    half = Flat(1, Nested(np.array([0, 1]), np.array([0xD800], np.int64)))
    with pytest.raises(NessieError, match="half of a surrogate pair is no text that Arrow holds"):
        write_value(str(tmp_path / "parts.parquet"), half, Seq(Seq(CHAR)), hands=lambda: Hands(InProcess(2)))


def test_a_file_that_is_not_complete_goes(tmp_path: Path) -> None:
    with (pytest.raises(NessieError, match="a: cannot be written: No space left on device"),
          written_by_workers.new_file(str(tmp_path / "a")) as new):
        Path(new).write_bytes(b"half")
        raise OSError(ENOSPC, "No space left on device")
    with written_by_workers.new_file(str(tmp_path / "b")) as new:
        Path(new).write_bytes(b"all")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("b", b"all")]


def test_files_of_similar_names_are_left_alone(tmp_path: Path) -> None:
    """A result of workers replaces its own file, which keeps its mode."""
    hands = Hands(InProcess(2))
    for name in ("x.npy", "x.npy.new"):
        (tmp_path / name).write_bytes(b"old")
    (tmp_path / "x.npy").chmod(0o600)
    write_value(str(tmp_path / "x.npy"), Flat(60, slabs(hands, np.arange(60.0))), Seq(FLOAT), hands=lambda: hands)
    assert np.array_equal(np.load(tmp_path / "x.npy"), np.arange(60.0))
    assert (tmp_path / "x.npy").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"x.npy", "x.npy.new"}
    assert (tmp_path / "x.npy.new").read_bytes() == b"old"
