"""The benchmarks' runner works: on tiny inputs, all workloads agree with NumPy, and results are written."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from paths import BENCHMARKS
from processes import finished

from nessie.cudagen.cuda.nvidia import nvrtc

RUNNER = BENCHMARKS / "run.py"


def test_all_workloads_run_on_tiny_inputs(tmp_path: Path) -> None:
    saved = tmp_path / "results.json"
    words = [sys.executable, str(RUNNER), "--size", "90", "--rounds", "1", "--threads", "2", "--save", str(saved)]
    ran = finished(words)
    assert ran.returncode == 0, ran.stderr
    results = {row["name"]: row for row in json.loads(saved.read_text("utf-8"))["results"]}
    assert set(results) == {"dotp", "norm2", "sparse_mxv", "quicksort"}
    assert results["dotp"]["launches"] == 1
    assert results["dotp"]["bytes"] == 8 * (2 * 90 + 1 + 1 + 1)     # elements; a sum, written and read; the cell
    assert results["norm2"]["launches"] == 2


def test_borders_split_and_whole() -> None:
    names = ["wrapped 1-D", "box 3*3, windows"]
    words = [sys.executable, str(BENCHMARKS / "borders.py"), *names, "--rounds", "1", "--most", "4"]
    ran = finished(words)
    assert ran.returncode == 0, ran.stderr
    assert [line[:26].split() for line in ran.stdout.splitlines()[3:]] == [
        [*name.split(), str(side)] for name in names for side in (1, 2, 4)]
    refused = finished([*words[:2], "bxo"])
    assert refused.returncode == 2 and "there is no stencil bxo" in refused.stderr


def test_a_cluster_is_counted() -> None:
    words = [sys.executable, str(BENCHMARKS / "cluster.py"), "--machines", "2", "--local", "0"]
    ran = finished(words)
    assert ran.returncode == 0, ran.stderr
    rows = {line.split()[0]: line.split()[1:] for line in ran.stdout.splitlines()[2:]}
    assert rows["sum"][:3] == ["5", "1", "0"]           # the code, and four slabs summed
    assert rows["scan"][:2] == ["9", "2"]
    assert rows["scatter"][:2] == ["33", "2"]           # sixteen of them bring what each of four has for each of four
    elsewhere = {name: " ".join(row[5:]) for name, row in rows.items() if row[5:]}
    assert elsewhere == {"gather": "64 bytes a chunk to all"}, "of two workers, each needs all that is picked from"


def test_workloads_agree_with_peers(tmp_path: Path) -> None:
    saved = tmp_path / "peers.json"
    names = ["matrix product", "tokens", "row sums, giant", "sort strings"]
    words = [sys.executable, str(BENCHMARKS / "peers.py"), *names, "--rounds", "1", "--save", str(saved)]
    ran = finished(words)
    assert ran.returncode == 0, ran.stderr
    results = {row["name"]: row for row in json.loads(saved.read_text("utf-8"))["rows"]}
    assert list(results) == names and all(row["nessie"] > 0 for row in results.values())
    assert "numpy" in results["matrix product"]["peers"] and "python" in results["tokens"]["peers"]
    ran = finished([*words[:2], "no such"])
    assert ran.returncode == 1 and "there is no workload 'no such'" in ran.stderr


def test_positions_agree_with_peers() -> None:
    names = ["packed triangle * vector", "box 3*3, windows"]
    words = [sys.executable, str(BENCHMARKS / "positions.py"), *names, "--rounds", "1"]
    ran = finished(words)
    assert ran.returncode == 0, ran.stderr
    assert [line[:24].strip() for line in ran.stdout.splitlines()[1:len(names) + 1]] == names


def test_mappings_agree_with_peers() -> None:
    names = ["product, deep", "sorted rows of 16"]
    words = [sys.executable, str(BENCHMARKS / "mappings.py"), *names, "--rounds", "1"]
    ran = finished(words)
    assert ran.returncode == 0, ran.stderr
    assert [line[:24].strip() for line in ran.stdout.splitlines()[1:len(names) + 1]] == names


def test_programs_of_ikra_agree_with_others(tmp_path: Path) -> None:
    saved, names = tmp_path / "ikra.txt", ["dot product, zipped", "IterativeMapComplex", "BFS by flags"]
    words = [sys.executable, str(BENCHMARKS / "ikra.py"), *names, "--rounds", "1", "--processor", "--save", str(saved)]
    ran = finished(words)
    assert ran.returncode == 0, ran.stderr
    _, _, _, *lines = saved.read_text("utf-8").splitlines()
    assert [line[:24].strip() for line in lines[:3]] == names
    assert lines[0].split()[4:10] == ["1", "/", "4", "0.0", "/", "480"]         # kernels and megabytes, fused and not
    assert any(line.startswith("slower fused than apart") for line in lines)


def test_all_shapes_grow() -> None:
    words = [sys.executable, str(BENCHMARKS / "growth.py"), "--size", "4", "--doublings", "1"]
    ran = finished(words)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert len(ran.stdout.splitlines()) == 1 + 3 * 44


def test_all_shapes_are_scheduled() -> None:
    words = [sys.executable, str(BENCHMARKS / "schedules.py"), "--nodes", "10"]
    ran = finished(words)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [line.split()[-1] for line in ran.stdout.splitlines()[1:]] == ["optimal"] * 6


def test_programs_are_compiled_and_timed_beside_another_version() -> None:
    words = [sys.executable, str(BENCHMARKS / "compile.py"), "--target", "reference", "--every", "60",
             "--rounds", "1", "--against", str(BENCHMARKS.parent)]
    ran = finished(words)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("5 programs, reference, the other version first\ncases a second")
    assert "\nflatten " in ran.stdout


@pytest.mark.skipif(not nvrtc.library_path(), reason="there is no NVRTC (pip install nvidia-cuda-nvrtc)")
def test_what_kernels_take_of_gpus_is_told(tmp_path: Path) -> None:
    saved = tmp_path / "cubins.txt"
    words = [sys.executable, str(BENCHMARKS / "cubins.py"), "norm2", "--arch", "sm_80", "--arch", "sm_90", "--save",
             str(saved)]
    ran = finished(words)
    assert (ran.returncode, ran.stderr) == (0, "")
    head, _, titles, *rows, _, summary = ran.stdout.splitlines()
    assert head.endswith("; sm_80 / sm_90") and titles.split()[:4] == ["program", "form", "schedule", "kernel"]
    assert {row.split()[2] for row in rows} == {"none", "ilp"} and all(row.startswith("norm2 ") for row in rows)
    assert summary.startswith(f"{len(rows)} kernels, 0 with spills; at most ")
    assert saved.read_text("utf-8") == ran.stdout
    wrong = finished([*words[:2], "nothing"])
    assert wrong.returncode == 2 and "there is no program nothing" in wrong.stderr
