"""benchmarks/gpu.py: all of it but the GPU. On cudasim every workload agrees with NumPy, and so do what CuPy and
PyTorch are given to do, on arrays of the CPU; what is wrong is told."""
from __future__ import annotations

import re
import sys
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paths import BENCHMARKS
from processes import finished

from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.nvidia import detection

sys.path.append(str(BENCHMARKS))
gpu, gpu_peers = import_module("gpu"), import_module("gpu_peers")
WORKLOADS = import_module("gpu_workloads").WORKLOADS
CXX = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
QUICK = ["--target", "cudasim", "--rounds", "1", "--size", "700", "--tests", "none"]
NUMPY = gpu_peers.Cupy("NumPy", np, None)


def cells(line: str) -> list[str]:
    return re.split(r"  +", line)


@CXX
@pytest.mark.slow
def test_the_whole_command(tmp_path: Path) -> None:
    """Tests first, then every row."""
    saved = tmp_path / "table.txt"
    words = [sys.executable, str(BENCHMARKS / "gpu.py"), "--target", "cudasim", "--rounds", "2", "--size", "3000",
             "--tests", "test_programs and map", "--save", str(saved)]
    ran = finished(words)
    assert ran.returncode == 0, ran.stderr
    assert [line.split(": ")[0] for line in ran.stderr.splitlines()] == [gpu.BY_DRIVER, *(w.name for w in WORKLOADS)]
    assert re.search(r"^2 passed", ran.stdout, re.MULTILINE) and saved.read_text("utf-8") in ran.stdout
    head, tests, _, titles, copy, *rows = saved.read_text("utf-8").splitlines()
    assert head.startswith("cudasim") and tests.startswith("tests: 2 passed")
    assert cells(titles) == [*gpu.TITLES, "CuPy ms", "PyTorch ms"]
    assert cells(copy)[0] == gpu.BY_DRIVER and cells(copy)[6] == "100.0%"
    assert [cells(row)[0] for row in rows] == [workload.name for workload in WORKLOADS]
    for row in rows:
        name, n, launches, seconds, moved, bandwidth, share, within, of_copy, *peers = cells(row)
        assert n == ("1" if name == "map of 1 element" else "3,000") and int(launches) >= 1 and peers == ["-", "-"]
        assert within == of_copy == "-"             # only a GPU has events
        assert float(bandwidth) == pytest.approx(float(moved) / float(seconds), abs=0.06 + 0.06 / float(seconds))
        assert float(share.rstrip("%")) == pytest.approx(100 * float(bandwidth) / float(cells(copy)[5]), abs=1)
    launched = {cells(row)[0]: int(cells(row)[2]) for row in rows}
    assert launched["norm2"] == 2 and launched["scan"] == launched["filter"] == launched["copy"] == 1


@CXX
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_bytes_and_bandwidth(workload: Any) -> None:
    """Those of a row are what its arrays have."""
    n = min(2100, workload.most or 2100)
    target = gpu.Target("cudasim")
    result = gpu.one_measured(workload, n, target, 1, (gpu_peers.Missing("CuPy"),))
    assert result.wrong == () and result.peers == (None,) and result.size == n
    exact = {"copy": 16 * n, "map": 16 * n, "map of 1 element": 16, "reduce": 8 * n, "scan": 16 * n,
             "black-scholes": 40 * n}
    if workload.name in exact:
        assert result.moved == exact[workload.name]
    else:                                       # at least what it is given
        assert result.moved >= sum(a.nbytes for a in workload.arguments(np.random.default_rng(gpu.SEED), n))


def test_bandwidth_is_bytes_a_second() -> None:
    assert gpu.Result("map", 10, 1, 0.5, 160, ()).bandwidth == 320.0
    assert gpu.Result("map", 10, 1, 0.0, 160, ()).bandwidth == 0.0              # it has not run


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_what_cupy_is_given_to_do(workload: Any) -> None:
    """By NumPy, and SciPy's sparse matrices, which have the same functions."""
    sparse = pytest.importorskip("scipy.sparse")
    assert_peer(gpu_peers.Cupy("NumPy", np, sparse), workload, workload.cupy)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_what_pytorch_is_given_to_do(workload: Any) -> None:
    assert_peer(gpu_peers.Torch(pytest.importorskip("torch"), "cpu"), workload, workload.torch)


def assert_peer(peer: Any, workload: Any, there: Any) -> None:
    arguments = workload.arguments(np.random.default_rng(1), 900)
    found = gpu.beside(peer, workload, arguments, workload.numpy(*arguments), 1)
    assert found is None if there is None else isinstance(found, float) and found > 0, found


def test_a_peer_that_differs_or_fails_is_told() -> None:
    workload = next(w for w in WORKLOADS if w.name == "map")
    arguments = workload.arguments(np.random.default_rng(1), 50)
    expected = workload.numpy(*arguments)
    assert isinstance(gpu.beside(NUMPY, workload, arguments, expected, 1), float)
    wrong = replace(workload, cupy=lambda xp, sparse, xs: lambda: xs + 1.0)
    assert "differs from NumPy" in gpu.beside(NUMPY, wrong, arguments, expected, 1)
    fails = replace(workload, cupy=lambda xp, sparse, xs: lambda: xp.nothing(xs))
    assert "has no attribute 'nothing'" in gpu.beside(NUMPY, fails, arguments, expected, 1)


@CXX
@pytest.mark.parametrize("change, told", [
    ({"numpy": lambda xs: [xs + 1.0]}, "map: differs from NumPy: Not equal to tolerance"),
    ({"program": "function main(xs) : [float] -> [float] = {x / 0.0 : x in xs; i in [0:3]};"}, "map: NessieError: "),
])
def test_what_is_wrong_is_told(change: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch,
                               capsys: pytest.CaptureFixture[str]) -> None:
    """And what comes after it is measured all the same."""
    workloads = [replace(w, **change) if w.name == "map" else w for w in WORKLOADS if w.name in ("map", "reduce")]
    monkeypatch.setattr(gpu, "WORKLOADS", workloads)
    assert gpu.main(QUICK) == 1
    out = capsys.readouterr().out
    assert told in out
    reduce = next(line for line in out.splitlines() if line.startswith("reduce "))
    assert float(cells(reduce)[3]) > 0


def test_tests_that_hang_end_with_what_they_have_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of theirs would stay at work on the GPU while it is measured."""
    child = "import time; print('child', flush=True); time.sleep(60)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    monkeypatch.setattr(gpu, "pytest_on", lambda *_: [sys.executable, "-c", code])
    monkeypatch.setattr(gpu, "PATIENCE", 1)
    began = time.monotonic()
    assert gpu.run_tests(gpu.parsed_options(["--target", "cudasim"])) == (False, "failed, pytest's status is -9: child")
    assert time.monotonic() - began < 30


@CXX
def test_tests_that_fail_are_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gpu, "WORKLOADS", ())
    assert gpu.main([*QUICK[:-1], "no_test_has_this_name"]) == 1
    assert "tests: failed, pytest's status is 5" in capsys.readouterr().out


@CXX
@pytest.mark.nightly
def test_all_tests_for_gpus_pass_on_cudasim(monkeypatch: pytest.MonkeyPatch,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gpu, "WORKLOADS", ())
    assert gpu.main(QUICK[:-2]) == 0
    counts = re.search(r"^tests: (\d+) passed in ", capsys.readouterr().out, re.MULTILINE)
    assert counts and int(counts[1]) > 1000


def test_the_table_is_named_after_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "devices", lambda: [detection.Gpu("NVIDIA A100-SXM4-80GB", (8, 0))])
    assert Path(gpu.results_file()) == BENCHMARKS / "results" / "gpu-nvidia-a100-sxm4-80gb.txt"


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(detection, "LIBRARY", "libcuda.so.none")
    assert gpu.main([]) == 2
    assert capsys.readouterr() == ("", "benchmarks/gpu.py cannot run: there is no NVIDIA driver (libcuda.so.none): "
                                   "install NVIDIA's driver, or in a container make it visible "
                                   "(docker run --gpus all)\n")


@pytest.mark.parametrize("words, told", [
    (["nothing"], "there is no workload nothing; the workloads are map of 1 element, copy, map, "),
    *((["--rounds", number], f"--rounds: {number} is not a whole number from 1 on") for number in ("0", "-3", "1e3")),
    *((["--size", number], f"--size: {number} is not a whole number from 1 on") for number in ("0", "-1", "x")),
    (["--save", str(BENCHMARKS)], "benchmarks cannot be written: it is a folder"),
    (["--save", "nowhere/table.txt"], "nowhere/table.txt cannot be written: it is a folder, or in one that is not"),
])
def test_misuse(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        gpu.main(words)
    assert ended.value.code == 2 and told in capsys.readouterr().err


@CXX
def test_more_than_fits_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main(["--target", "cudasim", "--tests", "none", "--size", str(10**14)]) == 2
    assert "a copy of 100,000,000,000,000 elements takes 1,600,000.0 GB" in capsys.readouterr().err


@pytest.mark.parametrize("memory, elements", [(1 << 40, 1 << 26), (1 << 33, 1 << 25), (1, 1)])
def test_as_much_as_fits(memory: int, elements: int) -> None:
    assert gpu.fitting(1 << 26, memory) == elements
    assert gpu.fitting(1 << 26, memory, 2 * gpu.HELD) == max(1, elements if memory == 1 << 40 else elements // 2)


@CXX
def test_peers_give_their_memory_back() -> None:
    """Each before the next begins, whether or not it had something to do."""
    workload = next(w for w in WORKLOADS if w.name == "map of 1 element")
    released: list[str] = []

    class Keeping(gpu_peers.Missing):               # type: ignore[name-defined, misc]
        def ready(self, workload: Any, arguments: Any) -> Any:
            released.append(f"{self.name} begins")

        def release(self) -> None:
            released.append(self.name)

    gpu.one_measured(workload, 1, gpu.Target("cudasim"), 1, (Keeping("one"), Keeping("two")))
    assert released == ["one begins", "one", "two begins", "two"]


def test_what_libraries_are_asked_to_give_back() -> None:
    asked: list[str] = []

    class Library:
        """CuPy's and PyTorch's functions."""
        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            return self

        def __call__(self) -> Any:
            return self

    gpu_peers.Cupy("CuPy", Library(), None).release()
    gpu_peers.Torch(Library(), "cuda").release()
    assert asked == ["get_default_memory_pool", "free_all_blocks", "get_default_pinned_memory_pool", "free_all_blocks",
                     "cuda", "empty_cache"]


def test_what_a_run_takes_of_the_host_is_told(tmp_path: Path) -> None:
    saved = tmp_path / "host-time.txt"
    words = [sys.executable, str(BENCHMARKS / "host_time.py"), "--rounds", "1", "--save", str(saved)]
    ran = finished(words)
    assert (ran.returncode, ran.stderr) == (0, "")
    command, *lines = saved.read_text("utf-8").splitlines()
    assert command.endswith("--rounds 1") and lines == ran.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["map", "reduce", "scan", "filter", "norm2"]
    assert all(float(line.split()[1]) > 0 for line in lines)


@CXX
def test_sectors_are_counted(tmp_path: Path) -> None:
    """A second call of the command keeps the rows of the first."""
    saved = tmp_path / "sectors.txt"
    for name in ("scan", "map"):
        words = [sys.executable, str(BENCHMARKS / "sectors.py"), name, "--size", "8192", "--save", str(saved)]
        ran = finished(words)
        assert (ran.returncode, ran.stderr) == (0, "")
    counts, asked = saved.read_text("utf-8").split("\n\n")
    titles, *rows = [cells(line) for line in counts.splitlines()]
    assert [row[:2] for row in rows] == [["map", "8,192"], ["scan", "8,192"]]
    assert cells(ran.stdout.splitlines()[0]) == rows[0]
    assert all([cells(line)[-1] == "none" for line in asked.splitlines()[1:]])
    for row in rows:
        of = dict(zip(titles, row, strict=True))
        assert (of["launches"], of["fills"], of["reads"]) == ("1", "0", "0")
        assert 1 <= float(of["moved/asked"]) < 1.15 and 1 <= float(of["loads"]) < 1.2 and float(of["most"]) <= 2
