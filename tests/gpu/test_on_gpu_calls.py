"""Calls on a real GPU, or on cudasim, as tests/gpu/test_on_gpu.py says: functions that recur, and are interrupted; from
Python, on arrays that lie on the GPU."""
from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import executors
import numpy as np
import pytest
from built import gpu_device
from gpu_programs import on_gpu
from recursion_cases import CASES, compiled
from test_python_devices import PROGRAM

import nessie
from nessie.base.source import Interrupted, NessieError
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep
from nessie.cudagen.cuda.driver import Driver
from nessie.cudagen.host import host

# Recursion ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_recursion(new_driver: Callable[[], Driver], name: str) -> None:
    body, parameter, result, arguments = CASES[name]
    program = compiled(body, parameter, result, target="cuda")
    device = gpu_device(program.executable("ilp"), new_driver())
    program.devices["gpu ilp"] = device
    expected = executors.outcome(program, "interpreter", arguments)
    found = executors.outcome(program, "gpu ilp", arguments)
    assert executors.agree(expected, found)
    assert executors.agree(executors.outcome(program, "reference ilp", arguments), found)
    del found
    assert device.used() == 0


def test_recursion_is_interrupted(new_driver: Callable[[], Driver]) -> None:
    """On the host, between its kernels; then the device is as before."""
    program = compiled("{fib(k) : k in v}", "v : [int]", "[int]", target="cuda")
    device = gpu_device(program.executable("ilp"), new_driver())
    for _ in range(3):
        assert on_gpu(program, device, [[10, 3]]) == [55, 2]
        timer = threading.Timer(0.3, device.interrupt)
        timer.start()
        started = time.monotonic()
        with pytest.raises(Interrupted):
            on_gpu(program, device, [[80] * 300])
        assert time.monotonic() - started < 30
        timer.join()
    with pytest.raises(NessieError, match=r"it took longer than 0\.3 s"):
        run_deep(lambda: on_gpu(program, device, [[80] * 300]), Deadline(0.3, ""))
    with pytest.raises(NessieError, match="recursion is deeper than 50 calls"):
        on_gpu(program, device, [[80] * 300], host.HostLimits(depth=50))
    assert on_gpu(program, device, [[10, 3]]) == [55, 2]
    assert device.used() == 0


# Arrays on the GPU --------------------------------------------------------------------------------


class Elsewhere:
    """What another library has put on the GPU."""

    def __init__(self, driver: Driver, values: Any, stream: int | None = None) -> None:
        self.driver, self.values = driver, values
        self.address = driver.allocate(max(1, values.nbytes))
        self.__cuda_array_interface__ = {
            "shape": values.shape, "typestr": values.dtype.str, "version": 3, "strides": None, "stream": stream,
            "data": (self.address, False)}
        if values.nbytes:
            driver.write(self.address, values)

    def __len__(self) -> int:
        return len(self.values)

    def is_as_before(self) -> bool:
        found = np.empty_like(self.values)
        if found.nbytes:
            self.driver.read(self.address, found)
        return np.array_equal(found, self.values)


@pytest.fixture
def put(new_driver: Callable[[], Driver]) -> Iterator[Callable[..., Elsewhere]]:
    """Puts values on the GPU, whose memory is free again in the end; no one has written to them."""
    driver, there = new_driver(), []

    def put_there(values: Any, stream: int | None = None) -> Elsewhere:
        there.append(Elsewhere(driver, np.asarray(values), stream))
        return there[-1]

    yield put_there
    for array in there:
        assert array.is_as_before()
        driver.free(array.address)


@pytest.fixture(scope="module")
def program(on: str) -> nessie.Program:
    return nessie.compile(PROGRAM, target=on)


@pytest.mark.parametrize("stream", [None, 1])
@pytest.mark.parametrize("n", [0, 1, 5000])
def test_results_stay_and_are_arguments_again(put: Callable[..., Elsewhere], program: nessie.Program, n: int,
                                              stream: int | None) -> None:
    values = np.arange(float(n)) - 3
    result = program.squares(put(values, stream))
    assert isinstance(result, nessie.DeviceArray) and np.array_equal(result.to_numpy(), values**2)
    again = program.squares(result)
    interface = again.__cuda_array_interface__
    assert (interface["shape"], interface["typestr"], interface["stream"]) == ((n,), "<f8", None)
    del result
    gc.collect()
    later = [program.squares(put(values + k)) for k in range(3)]
    assert np.array_equal(again.to_numpy(), values**4)
    assert all(np.array_equal(found.to_numpy(), (values + k)**2) for k, found in enumerate(later))
    assert np.array_equal(again[1:].to_numpy(), values[1:]**4)
    assert np.array_equal(program.same(put(values)).to_numpy(), values)


def test_rows_and_several_results(put: Callable[..., Elsewhere], program: nessie.Program) -> None:
    nested = nessie.Nested(put(np.array([0, 2, 2, 6])), put(np.arange(6)))
    assert program.totals(nested).to_numpy().tolist() == [1, 0, 14]
    doubled = program.twice(nested)
    assert doubled.to_list() == [[0, 2], [], [4, 6, 8, 10]]
    assert program.totals(doubled).to_numpy().tolist() == [2, 0, 28]
    assert program.grid(put([1.0, 5.0])).to_list() == [[1.0, 2.0], [5.0, 6.0]]
    total, whole, pairs, flags = program.several(put([1.0, 2.5]))
    assert total == 3.5 and whole.to_numpy().tolist() == [1.0, 2.5] and pairs.to_list() == [(1.0, "a"), (2.5, "a")]
    assert flags.to_numpy().tolist() == [False, True]


def test_errors_leave_arrays_alone(put: Callable[..., Elsewhere], program: nessie.Program) -> None:
    with pytest.raises(nessie.NessieError, match="Divide by zero"):
        program.inverse(put(np.arange(3000) - 2500))
    assert program.inverse(put([1, -1, 2])).to_numpy().tolist() == [1, -1, 0]
    with pytest.raises(nessie.NessieError, match="offsets"):
        program.totals(nessie.Nested(put([0, 9, 6]), put(np.arange(6))))
    with pytest.raises(nessie.NessieError, match="float16"):
        program.squares(put(np.float16([1, 2])))
