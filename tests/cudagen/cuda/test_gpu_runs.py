"""benchmarks/gpu_runs.py without a GPU: steps that end, fail, hang or are missing, runs that are stopped, ncu's CSV."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from paths import BENCHMARKS

from nessie.base.system.deep import run_deep
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.nvidia import detection
from nessie.running.targets import Target

sys.path.append(str(BENCHMARKS))
runs = import_module("gpu_runs")


def step(name: str, code: str, seconds: int = 20) -> object:
    return runs.Step(name, (sys.executable, "-c", code), seconds)


def test_how_each_step_ended_is_kept(tmp_path: Path) -> None:
    todo = [step("right", "print('all is well')"), step("wrong", "import sys; print('why'); sys.exit(3)"),
            step("hangs", "import time; print('begun', flush=True); time.sleep(60)", 1),
            runs.Step("missing", ("no-such-tool",), 5)]
    assert not runs.carry_out("test", todo, tmp_path, 100)
    told = (tmp_path / "test.txt").read_text("utf-8").splitlines()
    assert [line.split(" in ")[0] for line in told] == [
        "right: done", "wrong: failed, status 3,", "hangs: stopped after 1 s",
        "missing: not run: there is no no-such-tool"]
    assert [(tmp_path / f"test-{name}.log").read_text("utf-8") for name in ("right", "wrong", "hangs")] == [
        "all is well\n", "why\n", "begun\n"]


def test_what_is_only_missing_is_no_failure(tmp_path: Path) -> None:
    assert runs.carry_out("test", [step("right", ""), runs.Step("missing", ("no-such-tool",), 5)], tmp_path, 100)


def test_a_run_has_its_time(tmp_path: Path) -> None:
    todo = [step("hangs", "import time; time.sleep(60)"), step("later", "")]
    assert not runs.carry_out("build", todo, tmp_path, 0.5)
    assert (tmp_path / "build.txt").read_text("utf-8").splitlines()[1] == "later: not run: the time is over"


def test_a_run_that_is_stopped_has_saved(tmp_path: Path) -> None:
    """And its steps end with it."""
    hangs = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    code = f"""
import sys; sys.path[:0] = [{str(BENCHMARKS)!r}]
import gpu_runs as runs; from pathlib import Path
todo = [runs.Step("right", (sys.executable, "-c", ""), 9), runs.Step("hangs", (sys.executable, "-c", {hangs!r}), 99)]
sys.exit(int(not runs.carry_out("test", todo, Path({str(tmp_path)!r}), 99)))
"""
    log = tmp_path / "test-hangs.log"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL) as process:
        while not (log.exists() and log.read_text("utf-8")):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 1
    assert (tmp_path / "test.txt").read_text("utf-8").splitlines()[1:] == ["stopped by SIGTERM"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(log.read_text("utf-8")), 0)


NCU = f'''==PROF== Connected to process 7
map: 1.0 ms
"ID","Process ID","Kernel Name","Grid Size","Metric Name","Metric Unit","Metric Value"
"9","7","K1_sweep(long long, const double *, double *)","(1, 1, 1)","{runs.LOADS}","","1"
"9","7","K1_sweep(long long, const double *, double *)","(1, 1, 1)","{runs.STORES}","","1"
"0","7","K1_sweep(long long, const double *, double *)","(1024, 1, 1)","{runs.LOADS}","","8.00"
"0","7","K1_sweep(long long, const double *, double *)","(1024, 1, 1)","{runs.STORES}","","8"
"0","7","K1_sweep(long long, const double *, double *)","(1024, 1, 1)","gpu__time_duration.sum","nsecond","1,234.00"
"1","7","K1_sweep(long long, const double *, double *)","(1024, 1, 1)","{runs.LOADS}","","9"
"2","7","K2_sweep","(7, 1, 1)","{runs.LOADS}","","n/a"
"2","7","K2_sweep","(7, 1, 1)","{runs.STORES}","","1,032.5"
'''


def test_sectors_of_ncu() -> None:
    """Those of the launches on the most blocks, not of the trial before them."""
    loads, stores = runs.LOADS, runs.STORES
    assert runs.sectors(NCU) == {"K1_sweep": {loads: 8.5, stores: 8.0}, "K2_sweep": {stores: 1032.5}}
    assert runs.sectors("==ERROR== no permission\n") == {}
    rows = [line.split() for line in runs.side_by_side(runs.sectors(NCU), {"K3": {loads: 7.0}}).splitlines()]
    assert rows[1:] == [["K1_sweep", "8.5", "-", "8.0", "-"], ["K2_sweep", "-", "-", "1032.5", "-"],
                        ["K3", "-", "7.0", "-", "-"]]


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_ncu_sees_all_kernels_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a sort follow gpu.py's trial, which on a GPU is one run longer: its clock's."""
    gpu, launched = import_module("gpu"), list[str]()
    launch = Cudasim.launch
    monkeypatch.setattr(Cudasim, "launch", lambda self, f, *more: launched.append(f[0]) or launch(self, f, *more))
    run_deep(lambda: gpu.one_measured(runs.WORKLOADS[0], 1, Target("cudasim"), 1, ()))
    trial = len(launched)
    [sort] = [w for w in runs.WORKLOADS if w.name == "sort"]
    run_deep(lambda: gpu.one_measured(sort, 5000, Target("cudasim"), 1, ()))
    a_run = launched[trial:].index("K1_encode", 1)
    assert a_run == 11 and trial + 1 + a_run <= int(runs.LAUNCHES)


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_ncu_beside_what_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the workloads that ncu has got to."""
    monkeypatch.setattr(runs, "COUNTED", 4096)
    [kernel] = runs.counts("map", 4096)
    (tmp_path / "ncu-map.csv").write_text(NCU.replace("K1_sweep", kernel), "utf-8")
    runs.compare(tmp_path)
    title, _, row, *_ = (tmp_path / "sectors.txt").read_text("utf-8").splitlines()
    assert title == "map" and row.split()[:2] == [kernel, "8.5"] and row.split()[3:] == ["8.0", "8.0"]
    assert 4 < float(row.split()[2]) <= 8                       # with the error words, one sector each


@pytest.mark.parametrize("run", ["build", "test", "measure"])
def test_steps_have_different_names_and_files_that_are_there(run: str, tmp_path: Path) -> None:
    todo = runs.steps(run, tmp_path)
    assert len({s.name for s in todo}) == len(todo) and all(s.seconds <= runs.SECONDS for s in todo)
    for word in {word for s in todo for word in s.command if word.startswith(str(runs.ROOT))}:
        assert Path(word).exists(), word
    gpu = import_module("gpu")
    for s in todo:
        if str(BENCHMARKS / "gpu.py") in s.command:
            gpu.parsed_options(s.command[s.command.index(str(BENCHMARKS / "gpu.py")) + 1:])


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setattr(detection, "LIBRARY", "libcuda.so.none")
    assert runs.main(["build", "--out", str(tmp_path / "out")]) == 2
    assert "cannot run: there is no NVIDIA driver" in capsys.readouterr().err and not (tmp_path / "out").exists()
