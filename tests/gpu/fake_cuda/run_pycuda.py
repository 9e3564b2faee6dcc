"""PyCUDA at work for the target cuda, on the fake driver library: test_cuda.py has pytest run it in another process.

The library stands in for libcuda.so.1 on LD_LIBRARY_PATH. Kernels are made by cudasim's compiler instead of NVRTC.
"""
from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import gpu_device
from executors import Compiled
from gpu_programs import PROGRAMS
from paths import BENCHMARKS
from run_streams import Elsewhere
from test_on_gpu import (  # noqa: F401
    test_a_check_that_fails_is_told,
    test_full_memory_is_told,
    test_kernels_without_end_are_interrupted,
    test_programs,
)

import nessie
from nessie.base.source import NessieError, Unsupported
from nessie.cudagen.cuda.device import Gpu
from nessie.cudagen.cuda.nvidia import compiler, detection, driver
from nessie.cudagen.cuda.nvidia.driver import FIRST, Nvidia
from nessie.cudagen.host.device import NO_FAILURE
from nessie.tool.cli import main


def test_the_benchmark(tmp_path: Path) -> None:
    sys.path.append(str(BENCHMARKS))
    gpu, saved = import_module("gpu"), tmp_path / "table.txt"
    assert gpu.main(["--tests", "none", "--rounds", "1", "--size", "3000", "--save", str(saved)]) == 0
    head, _, _, _, *rows = saved.read_text("utf-8").splitlines()
    assert head.startswith("fake GPU (sm_90), driver of CUDA 13.0, ") and len(rows) == 1 + len(gpu.WORKLOADS)


@pytest.mark.parametrize("value", [np.int64(0), np.int64(-1), np.int64(7), np.float64(-np.inf), np.int32(97),
                                   np.bool_(True)])
@pytest.mark.parametrize("count", [1, FIRST - 1, FIRST, 5 * FIRST + 3])
def test_memory_is_filled_copied_and_read(value: Any, count: int) -> None:
    gpu = Nvidia()
    addresses = [gpu.allocate(count * value.itemsize + 8) for _ in range(2)]
    found = np.empty(count + 1, value.dtype)
    gpu.write(addresses[1], np.full(count + 1, 1, value.dtype))
    gpu.fill(addresses[0], value, count)
    gpu.copy(addresses[1], addresses[0], count * value.itemsize)
    gpu.read(addresses[1], found)
    assert (found[:-1] == value).all() and found[-1] == 1
    gpu.free(addresses[0])


def test_objects_end_in_whatever_thread(recwarn: pytest.WarningsRecorder) -> None:
    made: list[Gpu] = []
    program = Compiled(PROGRAMS["map and sum"][0])

    def work() -> None:
        made.append(gpu_device(program.executable("ilp"), Nvidia()))
        made[0].upload("int", np.arange(5))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert made[0].failure() == NO_FAILURE
    made.clear()
    gc.collect()
    assert not recwarn.list


def test_arrays_on_the_gpu_are_used_there() -> None:
    values, other = np.arange(1000.0), Nvidia()
    address = other.allocate(values.nbytes)
    other.write(address, values)
    program = nessie.compile("function squares(xs) = {x * x : x in xs};", target="cuda")
    result = program.squares(Elsewhere(address, len(values)))
    assert isinstance(result, nessie.DeviceArray) and np.array_equal(result.to_numpy(), values * values)
    assert np.array_equal(program.squares(result)[3:5].to_numpy(), [81.0, 256.0])
    with pytest.raises(NessieError, match="memory of another GPU"):
        program.squares(Elsewhere(values.ctypes.data, len(values)))
    del program
    gc.collect()
    assert result[2] == 4.0                 # it owns its memory
    other.free(address)


def test_contexts_of_others_stay() -> None:
    library, other, found = ctypes.CDLL(detection.LIBRARY), ctypes.c_void_p(12345), ctypes.c_void_p()
    library.cuCtxPushCurrent_v2(other)
    Nvidia().allocate(8)
    library.cuCtxPopCurrent_v2(ctypes.byref(found))
    assert found.value == other.value


@pytest.mark.parametrize("words, out", [
    (["eval", "let xs = {x * x : x in [0:1000]} in (sum(xs), xs[7])"], "(332833500, 49)"),
    (["eval", "{float(x) / 3.0 : x in [1:4]}"], "[0.333333333333"),
    (["eval", "{if a > 1 then a else -a : a in [3, 0, 2]}", "--memory", "1M"], "[3, 0, 2]"),
])
def test_the_command_line(words: list[str], out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--target", "cuda"]) == 0
    assert out in capsys.readouterr().out


def test_a_check_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "{6 / x : x in [3, 0]}", "--target", "cuda"]) == 1
    err = capsys.readouterr().err
    assert "Divide by zero." in err and "at element 1" in err


def test_kernels_are_timed_by_the_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    """Within the run's time on the host's clock; no event is left behind (conftest.py)."""
    assert main(["profile", "-x", "sum(plus_scan({x * x : x in [0:5000]}))", "--json", "--target", "cuda"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(kernel["seconds"] > 0.0 for kernel in found["kernels"])
    assert 0.0 < found["seconds"] < found["wall_seconds"]


@pytest.mark.parametrize("limit", ["8M", "1G"])
def test_full_memory(limit: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The limit is reached, or the GPU has less than that."""
    monkeypatch.setenv("FAKE_CUDA_MEMORY", "20000000")
    for size, status in (100_000, 0), (5_000_000, 1):
        words = ["eval", f"#{{x * x : x in [0:{size}]; y in plus_scan([0:{size}]) | y >= 0}}", "--memory", limit]
        assert main([*words, "--target", "cuda"]) == status
    assert "out of memory" in capsys.readouterr().err


@pytest.mark.parametrize("broken, told", [("cuLaunchKernel", "cuLaunchKernel"), ("cuMemcpyDtoH", "cuMemcpyDtoH"),
                                          ("cuStreamSynchronize", "cuCtxSynchronize")])
def test_a_gpu_that_gives_up(broken: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    """In a process of its own, as the library stays broken."""
    process, status = os.fork(), 2
    if not process:
        os.environ["FAKE_CUDA_BREAKS"] = broken
        try:
            status = main(["eval", "({6 / x : x in [3, 1]}, plus_scan([0:1000]))", "--target", "cuda"])
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 1
    assert f"error: the GPU has given up: {told} failed: an illegal memory access" in capfd.readouterr().err


def test_code_that_the_driver_does_not_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "build", lambda *_: b"no code")
    with pytest.raises(Unsupported, match=r"knows CUDA 13\.0, does not take what cudasim's .* image is invalid"):
        Nvidia().load("// none", ())


def test_errors_are_nessies() -> None:
    with pytest.raises(NessieError, match="the GPU has given up: cuMemcpyDtoD failed"), driver.context() as cuda:
        raise cuda.LogicError("cuMemcpyDtoD failed: an error")
