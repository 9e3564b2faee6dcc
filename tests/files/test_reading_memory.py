"""Reading files takes no more memory than is counted before, and no more than may be taken."""
from __future__ import annotations

import os
import struct
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paths import ROOT
from processes import finished

from nessie.arguments.types import GivenArgument, Parameters, types_of
from nessie.base.source import NessieError, Source
from nessie.base.system.memory import MemoryBudget
from nessie.base.types import FLOAT, INT, STRING, Seq, Type, no_datatypes
from nessie.base.values import Flat
from nessie.files.files import made as value_of
from nessie.files.files import open_file
from nessie.files.reading import Reading
from nessie.running.targets import Limits, Target
from nessie.session.session import Session

N = 30_000
HEADER = "%%MatrixMarket matrix"
SLACK = 300_000                 # bytes of what does not grow with the file

FILES: dict[str, Callable[[], str]] = {
    "zeros.json": lambda: f"[{','.join(['0'] * N)}]", "three.json": lambda: f"[{','.join(['257'] * N)}]",
    "halves.json": lambda: f"[{','.join(['0.5'] * N)}]", "thirds.json": lambda: f"[{','.join([str(1 / 3)] * N)}]",
    "empty.json": lambda: f"[{','.join(['[]'] * N)}]", "ones.json": lambda: f"[{','.join(['[1]'] * N)}]",
    "pairs.json": lambda: f"[{','.join(['[1,0.5]'] * N)}]", "inner.json": lambda: f"[[{','.join(['1234'] * N)}],[]]",
    "texts.json": lambda: "[" + ",".join(['"abc"'] * N) + "]", "wide.json": lambda: f'["{"a" * N}", "\U0001f600"]',
    "long.json": lambda: '"' + "x" * 10 * N + '"', "rows.jsonl": lambda: "[1,2]\n" * N,
    "numbers.txt": lambda: "12 " * N, "lines.txt": lambda: "abc\r\n" * N, "text.txt": lambda: "a" * 5 * N,
    "numbers.csv": lambda: "a,b\n" + "12,0.5\n" * N, "texts.csv": lambda: "a,b\n" + "ab,cd\n" * N,
    "marked.csv": lambda: "'a\n" + "'=ab\n" * N, "words.txt": lambda: "ab " * N, "long.txt": lambda: "a" * 5 * N,
    "general.mtx": lambda: f"{HEADER} coordinate real general\n100 100 {N}\n" + "34 12 0.5\n" * N,
    "symmetric.mtx": lambda: f"{HEADER} coordinate real symmetric\n100 100 {N}\n" + "34 12 0.5\n" * N,
    "pattern.mtx": lambda: f"{HEADER} coordinate pattern symmetric\n100 100 {N}\n" + "34 12\n" * N,
    "array.mtx": lambda: f"{HEADER} array real general\n100 {N // 100}\n" + "0.5\n" * N,
    "longest.mtx": lambda: f"{HEADER} array real general\n100 {N // 100}\n" + "0.5\n" * (N - 1) + f"0.{'1' * 390}\n",
    "rows.mtx": lambda: f"{HEADER} coordinate real general\n{N} 10 1\n1 1 1.0\n",
}
ARRAYS: dict[str, Callable[[Path], None]] = {
    "single.npy": lambda path: np.save(path, np.zeros(N, np.float32)),
    "double.npy": lambda path: np.save(path, np.zeros(N)),
    "bytes.npy": lambda path: np.save(path, np.zeros(N, np.int8)),
    "swapped.npy": lambda path: np.save(path, np.arange(N, dtype=">i4")),
    "columns.npy": lambda path: np.save(path, np.asfortranarray(np.zeros((N // 10, 10)))),
    "characters.npy": lambda path: np.save(path, np.full(N, "x")),
    "rows.npz": lambda path: np.savez_compressed(path, offsets=np.array([0, N]), content=np.zeros(N, np.float32)),
    "sparse.npz": lambda path: np.savez_compressed(
        path, format=np.array(b"csr"), shape=np.array([10, 10]), indptr=np.array([0] + [N] * 10, np.int32),
        indices=np.zeros(N, np.int32), data=np.zeros(N, np.float32)),
}
WANTED: dict[str, Type] = {"lines.txt": Seq(STRING), "text.txt": STRING, "numbers.txt": Seq(FLOAT),
                           "zeros.json": Seq(FLOAT), "bytes.npy": Seq(FLOAT)}


def read_value(path: str, type_: Type | None, room: MemoryBudget | None = None) -> tuple[Any, Type]:
    """The value in the file, and its type, found as for a call."""
    file = open_file(path, room)
    (found,) = types_of([GivenArgument("argument 1", file, file)], Parameters("f takes it", [type_], no_datatypes))
    return value_of(path, file, found, no_datatypes), found


def made(folder: Path, name: str) -> str:
    path = folder / name
    if name in ARRAYS:
        ARRAYS[name](path)
    else:
        path.write_bytes(FILES[name]().encode())
    return str(path)


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", [*FILES, *ARRAYS])
def test_what_is_made_of_a_file_is_counted_before(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle is Python's own count of what is allocated, NumPy's arrays included."""
    path, counted = made(tmp_path, name), 0
    take = Reading.take

    def counting(self: Reading, size: int) -> None:
        nonlocal counted
        take(self, size)
        counted = max(counted, self.room.used)

    monkeypatch.setattr(Reading, "take", counting)
    read_value(path, WANTED.get(name))                  # imports what it needs
    counted = 0
    tracemalloc.start()
    read_value(path, WANTED.get(name))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= counted + SLACK
    assert counted <= 4 * peak + SLACK
    assert read_value(path, WANTED.get(name), MemoryBudget(counted))
    with pytest.raises(NessieError, match=r"out of memory: [\d,]+ bytes are needed, [\d,]+ of [\d,]+ are in") as full:
        read_value(path, WANTED.get(name), MemoryBudget(counted - 1, "say more"))
    assert full.value.message.startswith(f"{path}: ") and full.value.hint == "say more"


def header(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize("shape", [(1 << 60,), (1 << 60, 0), (1 << 60, 1 << 60), (-1,), (-1, -8), (3,)])
def test_what_a_header_claims_is_not_made(shape: tuple[int, ...], tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(header(shape) + bytes(16))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("offsets.npy", header((2,), "<i8") + bytes(16))
        archive.writestr("content.npy", header(shape) + bytes(16))
    for name in ("x.npy", "x.npz"):
        tracemalloc.start()
        with pytest.raises(NessieError, match=": not a"):
            read_value(str(tmp_path / name), None, MemoryBudget(1 << 40))
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
        tracemalloc.stop()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what was used")
def test_a_small_file_that_holds_much_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", offsets=np.array([0, 30_000_000]), content=np.zeros(30_000_000, np.float32),
                        another=np.zeros(300_000_000, np.bool_))
    assert (tmp_path / "x.npz").stat().st_size < 1 << 20
    (tmp_path / "p.nesl").write_text("function same(x) = x;\n")
    words = ["run", "p.nesl", "-e", "same", "@x.npz", "--target", "reference", "--memory", "100M"]
    code = ("import sys; from nessie.tool.cli import main; status = main(sys.argv[1:]); "
            "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0]); sys.exit(status)")
    run = finished([sys.executable, "-c", code, *words], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert run.stderr == ("error: x.npz: out of memory: 120,000,000 bytes are needed, 16 of 104,857,600 are in use\n"
                          "hint: --memory sets the limit\n")
    assert run.returncode == 1 and int(run.stdout) << 10 < 200 << 20


@pytest.mark.parametrize(("target", "size"), [("cpu", 300_000), ("reference", 100_000)])
def test_what_a_session_holds_counts(target: str, size: int) -> None:
    session = Session(Target(target, limits=Limits(memory=5_000_000)))

    def outcome() -> Any:
        (found,) = session.run(Source("p", f"index({size});"))
        return found

    assert not isinstance(outcome(), Exception)
    assert session.memory() == 5_000_000 - 8 * size         # the value of `it`
    session.values.clear()
    session.hold("argument_1", Flat(400_000, np.arange(400_000)), Seq(INT))
    assert session.memory() == 1_800_000
    failed = outcome()
    assert isinstance(failed, NessieError) and "of 5,000,000 are in use" in failed.message
    session.values.clear()
    assert not isinstance(outcome(), Exception)


def test_files_share_the_memory(tmp_path: Path) -> None:
    """What is made of one file counts while the next is read."""
    np.save(tmp_path / "x.npy", np.zeros(N))
    path, room = str(tmp_path / "x.npy"), MemoryBudget(12 * N, "say more")
    read_value(path, None, room)
    with pytest.raises(NessieError, match="240,000 bytes are needed, 240,000 of 360,000 are in use"):
        read_value(path, None, room)
