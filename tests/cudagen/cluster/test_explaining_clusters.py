"""`nessie explain --target dask`: how arrays lie for the tasks of a cluster, also where the data are small."""
from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import nessie
from nessie.cudagen.cluster import device
from nessie.cudagen.cluster.explaining import explained
from nessie.cudagen.cluster.workers import ToldOfCluster
from nessie.files.formats import arrow_format
from nessie.tool.cli import main

TEXT = """
function smooth(xs) = {0.5 * x + y : x in take(xs, #xs - 1); y in drop(xs, 1)};
function spmv(m, v) = {sum({a * v[j] : (j, a) in row}) : row in m};
function scattered(xs, is) = xs <- {(i, x * 2.0) : i in is; x in xs};
function picked(xs, is) = xs -> is;
function told(xs) = let ok = print_line("one") in sum(xs);
"""
SMALL = "These data are small: launches on at most 1,048,576 elements are on the driver, and all of these are.\n"
LARGE = "If they were large, in chunks of 2 elements:\n"


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "program.nesl").write_text(TEXT)
    return str(tmp_path / "program.nesl")


@pytest.mark.parametrize("call, lies", [
    (["smooth", "[1.0, 2.0, 3.0, 4.0, 5.0]"], ["in parts that overlap"]),
    (["spmv", "[[(0, 1.0), (2, 2.0)], [] (int, float), [(1, 3.0)]]", "[1.0, 2.0, 3.0]"], ["in parts"]),
    (["scattered", "[1.0, 2.0, 3.0, 4.0]", "[2, 0, 3, 1]"], ["in parts", "to who has the places"])])
def test_small_data_lie_as_large_data_would(call: list[str], lies: list[str], path: str,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", path, "-e", *call, "--target", "dask"]) == 0
    found = capsys.readouterr().out
    assert found.startswith(SMALL + LARGE)
    assert all(f"  {how}" in found for how in lies)
    assert not found.splitlines()[-1].startswith("0 tasks")


@pytest.mark.parametrize("arguments", [["[1.0, 2.0, 3.0, 4.0, 5.0]", "[4, 0, 2, 2, 1]"], ["@xs.npy", "@is.npy"]])
def test_what_data_pick_of_small_data_goes_where_it_would_of_large(
        arguments: list[str], path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(1)

    def lies() -> list[str]:
        assert main(["explain", path, "-e", "picked", *arguments, "--target", "dask", "--workers", "2"]) == 0
        found = capsys.readouterr().out
        return [re.sub(r"  [\d,]+ bytes$", "", line) for line in found.splitlines() if line.startswith("K")]

    for size in (20, 300_000):
        np.save("xs.npy", numbers.standard_normal(size))
        np.save("is.npy", numbers.integers(0, size, size))
        assert lies() == ["K1  is  in parts", "K1  xs  to all workers"], size
        monkeypatch.setattr(device, "HERE", 1000)


def test_python_gets_the_table() -> None:
    program = nessie.compile(TEXT, target="dask", workers=2)
    found = program.picked.explain(np.arange(4.0), np.array([3, 1, 0, 0]))
    assert found.text.startswith(SMALL + LARGE)
    assert "K1  xs  to all workers" in found.text
    assert {"kernel": "K1", "array": "xs", "lies": "to all workers", "bytes": 64} in found.data["arrays"]
    with pytest.raises(nessie.NessieError, match="a call is explained, and there are no arguments"):
        program.picked.explain()
    assert program.picked.explain(target="cpu", type="([float], [int])").text.startswith("picked on cpu")


def test_large_data_are_told_as_they_lie(path: str, capsys: pytest.CaptureFixture[str],
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "HERE", 4)
    assert main(["explain", path, "-e", "smooth", "[1.0, 2.0, 3.0, 4.0, 5.0]", "--target", "dask"]) == 0
    assert "small" not in capsys.readouterr().out


def test_where_arguments_come_from_is_told(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    """In files of which workers read what they need, or row groups; from the driver, if it reads the file, or they are
    few."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(device, "HERE", 1000)
    monkeypatch.setattr(arrow_format, "LARGE", 1)
    size = 5000
    xs, places = np.arange(0.0, size), np.arange(size)[::-1].copy()
    np.save("xs.npy", xs)
    np.save("is.npy", places)
    np.save("few.npy", xs[:20])
    parquet.write_table(pa.table({"is": places, "xs": xs}), "xs.parquet", row_group_size=1000)
    Path("xs.json").write_text(str(xs.tolist()))

    def lines(*arguments: str) -> list[str]:
        assert main(["explain", path, "-e", "picked", *arguments, "--target", "dask", "--workers", "2"]) == 0
        found = capsys.readouterr().out.splitlines()
        return [" ".join(line.split()) for line in found if line.startswith("@")]

    assert lines("@xs.npy", "@xs.parquet:is") == [
        "@xs.npy read by tasks, each what it needs 40,000 bytes",
        "@xs.parquet:is read by workers, by row groups 40,000 bytes"]
    assert lines("@xs.json", "@is.npy")[0] == "@xs.json sent by the driver 40,000 bytes"
    assert lines("@few.npy", "[3, 2]") == [], "all is on the driver"
    np.save("same.npy", places)
    assert lines("@same.npy", "@same.npy") == ["@same.npy read by tasks, each what it needs 40,000 bytes"] * 2
    np.save("is.npy", places % 20)
    assert lines("@few.npy", "@is.npy")[0] == "@few.npy sent by the driver 160 bytes"
    program = nessie.compile(TEXT, target="dask", workers=2)
    data = program.picked.explain(np.load("xs.npy", mmap_mode="r"), places).data
    assert data["arguments"] == [
        {"argument": "argument 1", "comes": "read by tasks, each what it needs", "bytes": 40_000},
        {"argument": "argument 2", "comes": "sent by the driver", "bytes": 40_000}]


def test_a_kernel_that_one_worker_does_is_told(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Even if it reads no array."""
    (tmp_path / "fact.nesl").write_text("function fact(n) = if n < 2 then 1 else n * fact(n - 1);\n"
                                        "function two(xs) = fact(round(xs[1])) + fact(5);\n")
    assert main(["explain", str(tmp_path / "fact.nesl"), "-e", "two", "[1.0, 3.0]", "--target", "dask"]) == 0
    assert "\nK1    on one worker\n2 tasks; the driver waits 1 time, and gets " in capsys.readouterr().out


def test_effects_are_not_had_again(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", path, "-e", "told", "[1.0, 2.0]", "--target", "dask"]) == 0
    assert capsys.readouterr().out == (
        f"one\n{SMALL}How large data would lie is not known: the call has effects, and is not done again.\n")


def test_kernels_stand_by_their_numbers() -> None:
    told = ToldOfCluster()
    for kernel in ("K10", "K2", "K1"):
        told.reads(kernel, "xs", "in parts", 0)
        told.here[f"{kernel}_2"] += 1
    assert [line.split()[0] for line in explained(told).splitlines()[:-1]] == [
        "K1", "K1_2", "K2", "K2_2", "K10", "K10_2"]


def test_a_call_is_needed(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", path, "--target", "dask"]) == 2
    assert capsys.readouterr().err == ("error: of the target dask, a call is explained: -e ENTRY ARG\n"
                                       "hint: nessie explain sums.nesl -e total '[1, 2, 3]' --target dask\n")
