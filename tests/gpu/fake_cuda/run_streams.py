"""Arrays of other libraries, whose work on them may be pending in streams of their own: test_cuda.py runs these tests
as run_pycuda.py says."""
from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.base.values import ANY_STREAM
from nessie.cudagen.cuda.nvidia import detection, driver
from nessie.cudagen.cuda.nvidia.driver import Nvidia


class Elsewhere:
    """What another library has put at an address; `more` of its interface, which has no version where that is None."""

    def __init__(self, address: int, count: int, kind: str = "<f8", **more: Any) -> None:
        self.count = count
        told: dict[str, Any] = {"shape": (count,), "typestr": kind, "data": (address, False), "strides": None,
                                "version": 3, **more}
        self.__cuda_array_interface__ = told
        if told["version"] is None:
            del told["version"]

    def __len__(self) -> int:
        return self.count


class Others:
    """Another library's stream, with which the default stream keeps no order."""

    def __init__(self) -> None:
        self.library, self.stream = ctypes.CDLL(detection.LIBRARY), ctypes.c_void_p()
        with driver.context():
            assert self.library.cuStreamCreate(ctypes.byref(self.stream), 1) == 0

    def copy(self, to: int, source: int, size: int) -> None:
        with driver.context():
            assert self.library.cuMemcpyDtoDAsync_v2(*map(ctypes.c_size_t, (to, source, size)), self.stream) == 0

    def named(self, told: dict[str, Any]) -> dict[str, Any]:
        """What an array tells, where "its own" is this stream."""
        return {"stream": self.stream.value} if told.get("stream") == "its own" else told

    def end(self) -> None:
        with driver.context():
            assert self.library.cuStreamDestroy_v2(self.stream) == 0


@pytest.fixture
def others() -> Iterator[Others]:
    made = Others()
    yield made
    made.end()


def put(gpu: Nvidia, values: Any) -> int:
    address = gpu.allocate(values.nbytes)
    gpu.write(address, values)
    return address


VALUES = np.arange(500.0)
PROGRAM = "function squares(xs) = {x * x : x in xs}; function totals(xss) = {sum(xs) : xs in xss};"


@pytest.mark.parametrize("told", [{"stream": "its own"}, {"version": 2}, {"version": 0}, {"version": None},
                                  {"stream": 0}], ids=str)
def test_work_of_others_is_waited_for(told: dict[str, Any], others: Others) -> None:
    assert np.array_equal(squares_while(told, others), VALUES * VALUES)


def test_what_is_said_to_be_done_is_not_waited_for(others: Others) -> None:
    """Nor for what others do elsewhere."""
    assert np.array_equal(squares_while({"stream": None}, others), np.zeros(len(VALUES)))


def squares_while(told: dict[str, Any], others: Others) -> Any:
    """What a program finds where another library is about to write values over zeros."""
    gpu, program = Nvidia(), nessie.compile(PROGRAM, target="cuda")
    program.squares(Elsewhere(put(gpu, np.zeros(4)), 4))            # it need not wait for more than it has to
    address, source = put(gpu, np.zeros(len(VALUES))), put(gpu, VALUES)
    others.copy(address, source, VALUES.nbytes)
    array = Elsewhere(address, len(VALUES), **others.named(told))
    return program.squares(array).to_numpy()


@pytest.mark.parametrize("told", [{"stream": "its own"}, {"version": 2}], ids=str)
def test_offsets_that_are_yet_to_come(told: dict[str, Any], others: Others) -> None:
    gpu, program = Nvidia(), nessie.compile(PROGRAM, target="cuda")
    content, offsets = put(gpu, np.arange(6)), put(gpu, np.array([0, 0, 0, 6]))
    rows = nessie.Nested(Elsewhere(offsets, 4, "<i8"), Elsewhere(content, 6, "<i8"))
    assert program.totals(rows).to_numpy().tolist() == [0, 0, 15]
    gpu.write(offsets, np.array([9, 9, 9, 9]))
    others.copy(offsets, put(gpu, np.array([0, 2, 2, 6])), 4 * 8)
    rows = nessie.Nested(Elsewhere(offsets, 4, "<i8", **others.named(told)), Elsewhere(content, 6, "<i8"))
    assert program.totals(rows).to_numpy().tolist() == [1, 0, 14]


def test_results_are_used_again_when_others_are_done_with_them(others: Others) -> None:
    gpu, program = Nvidia(), nessie.compile(PROGRAM, target="cuda")
    values = np.arange(30_000.0)
    given, kept = put(gpu, values), gpu.allocate(values.nbytes)
    result = program.squares(Elsewhere(given, len(values)))
    address = result.__cuda_array_interface__["data"][0]
    others.copy(kept, address, values.nbytes)
    del result
    gpu.write(given, -1 - values)
    again = program.squares(Elsewhere(given, len(values)))
    assert again.__cuda_array_interface__["data"][0] == address
    found = np.empty_like(values)
    gpu.await_others({ANY_STREAM})
    gpu.read(kept, found)
    assert np.array_equal(found, values * values)


def test_what_others_do_to_a_result_is_seen(others: Others) -> None:
    gpu, program = Nvidia(), nessie.compile(PROGRAM, target="cuda")
    values = np.arange(100.0)
    results = [program.squares(Elsewhere(put(gpu, values), len(values))) for _ in range(2)]
    other = put(gpu, values)
    for result in results:
        others.copy(result.__cuda_array_interface__["data"][0], other, values.nbytes)
    assert np.array_equal(program.squares(results[0]).to_numpy(), values * values)
    assert np.array_equal(results[1].to_numpy(), values)
