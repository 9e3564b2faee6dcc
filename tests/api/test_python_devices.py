"""Arrays in a GPU's memory are used where they are, and results stay there: on cudasim, whose memory NumPy sees."""
from __future__ import annotations

import gc
from functools import cache
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.base.values import ANY_STREAM
from nessie.cudagen.cuda.cudasim.compiler import found
from nessie.cudagen.cuda.cudasim.driver import Cudasim

pytestmark = pytest.mark.skipif(not found(), reason="needs a C++ compiler")
PROGRAM = """
function squares(xs) = {x * x : x in xs};
function same(x) = x;
function roots(xs) : [float] -> [float] = {sqrt(x) : x in xs};
function totals(xss) = {sum(xs) : xs in xss};
function twice(xss) = {{x + x : x in xs} : xs in xss};
function rows(n) = {{i : i in [0:2]} : j in [0:n]};
function grid(xs) = {{x + float(i) : i in [0:2]} : x in xs};
function several(xs) = (sum(xs), xs, {(x, "a") : x in xs}, {x > 1.0 : x in xs});
function inverse(xs) = {1 / x : x in xs};
"""


class OnGpu:
    """What CuPy's arrays are to Nessie; over an array that NumPy sees, too."""

    def __init__(self, array: Any, **other: Any) -> None:
        self.array, self.other = array, other

    def __len__(self) -> int:
        return len(self.array)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.array.shape, "typestr": self.array.dtype.str, "version": 3, "stream": None,
                "data": (self.array.ctypes.data, False), "strides": self.array.strides, **self.other}


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM, target="cudasim")


def place(array: Any) -> tuple[int, int]:
    interface = array.__cuda_array_interface__
    start = interface["data"][0]
    return start, start + len(array) * array.dtype.itemsize


def test_arguments_are_used_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from nessie.cudagen.cuda.device import Gpu
    taken: list[tuple[int, int]] = []
    upload = Gpu.upload

    def watched(self: Any, base: str, values: Any) -> Any:
        array = upload(self, base, values)
        taken.append((array.buffer.address, array.buffer.size))
        return array
    monkeypatch.setattr(Gpu, "upload", watched)
    values = np.arange(1000.0)
    result = program().squares(OnGpu(values))
    assert taken == [(values.ctypes.data, 0)]       # nothing was allocated for it
    assert np.array_equal(result.to_numpy(), values * values)
    again = program().squares(result)
    assert taken[1] == (place(result)[0], 0) and np.array_equal(again.to_numpy(), values**4)


def test_results_stay_and_own_their_memory() -> None:
    values = np.arange(1000.0)
    results = [program().squares(OnGpu(values + k)) for k in range(6)]
    spans = sorted(map(place, results))
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:]))
    part = results[0][10:20]
    del results[0]
    gc.collect()
    later = [program().squares(OnGpu(values)) for _ in range(4)]
    assert np.array_equal(part.to_numpy(), values[10:20]**2) and part[1] == 121.0
    for k, result in enumerate(results, 1):
        assert np.array_equal(result.to_numpy(), (values + k)**2)
    assert len(later[0]) == 1000 and "1,000 float64" in repr(later[0])
    interface = later[0].__cuda_array_interface__
    assert interface["version"] == 3 and interface["typestr"] == "<f8" and interface["shape"] == (1000,)


def test_memory_comes_back_when_a_result_is_dropped() -> None:
    values = np.arange(50_000.0)
    addresses = set()
    for _ in range(20):
        result = program().squares(OnGpu(values))
        addresses.add(place(result)[0])
        del result
        gc.collect()
    assert len(addresses) < 5


def test_kept_memory_is_released_when_asked_for() -> None:
    """That of idle functions; results keep theirs."""
    values = np.arange(50_000.0)
    other = nessie.compile("function twice(xs) = {x + x : x in xs};", target="cudasim")
    result = program().squares(OnGpu(values))
    assert np.array_equal(other.twice(values), values + values)
    assert nessie.release_memory() > 0
    assert nessie.release_memory() == 0
    assert np.array_equal(result.to_numpy(), values * values)
    assert np.array_equal(other.twice(values), values + values)


def test_a_call_that_finds_no_memory_takes_what_others_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(50_000.0)
    nessie.release_memory()
    other = nessie.compile("function twice(xs) = {x + x : x in xs};", target="cudasim")
    other.twice(values)
    (called,) = other._calls.typed.values()
    driver = type(next(iter(called.compiled.values())).idle[0].driver)
    allocate, free, full = driver.allocate, driver.free, [True]

    def allocated(self: Any, size: int) -> int:
        if full[0]:
            raise MemoryError
        return int(allocate(self, size))

    def freed(self: Any, address: int) -> None:
        full[0] = False
        free(self, address)

    monkeypatch.setattr(driver, "allocate", allocated)
    monkeypatch.setattr(driver, "free", freed)
    assert np.array_equal(program().squares(OnGpu(values)).to_numpy(), values * values)
    assert other._calls.release_memory() == 0


def test_a_result_is_no_argument() -> None:
    values = np.arange(5.0)
    result = program().same(OnGpu(values))
    assert place(result)[0] != values.ctypes.data and np.array_equal(result.to_numpy(), values)
    total, whole, pairs, flags = program().several(OnGpu(values))
    assert total == 10.0 and whole.to_numpy().tolist() == values.tolist()
    assert pairs.to_list() == [(x, "a") for x in values.tolist()] and flags.dtype == np.bool_


def test_nested_ones() -> None:
    values, offsets = np.arange(6), np.array([0, 2, 2, 6])
    nested = nessie.Nested(OnGpu(offsets), OnGpu(values))
    assert program().totals(nested).to_numpy().tolist() == [1, 0, 14]
    doubled = program().twice(nested)
    assert doubled.to_list() == [[0, 2], [], [4, 6, 8, 10]] == [row.to_numpy().tolist() for row in doubled]
    assert isinstance(doubled.content, nessie.DeviceArray) and place(doubled.offsets)[0] != offsets.ctypes.data
    assert program().totals(doubled).to_numpy().tolist() == [2, 0, 28]
    assert isinstance(doubled.to_numpy().content, np.ndarray)
    host_offsets = nessie.Nested(offsets, OnGpu(values))
    assert program().totals(host_offsets).to_numpy().tolist() == [1, 0, 14]
    assert program().grid(OnGpu(np.array([1.0, 5.0]))).to_list() == [[1.0, 2.0], [5.0, 6.0]]


@pytest.mark.parametrize("shape", [(2, 3), (3, 1), (0, 2), (2, 0), (1, 4)])
def test_several_dimensions(shape: tuple[int, ...]) -> None:
    """Rows of one length: used where they are, parts too."""
    values = np.arange(6.0)[:np.prod(shape)].reshape(shape)
    assert np.array_equal(program().totals(OnGpu(values)).to_numpy(), values.sum(1))
    twice = program().twice(OnGpu(values))
    assert isinstance(twice.content, nessie.DeviceArray) and twice.to_list() == (values + values).tolist()
    whole = twice.content.reshape(shape)
    assert whole.shape == shape and np.array_equal(whole.to_numpy(), values + values)
    assert np.array_equal(program().totals(whole).to_numpy(), 2 * values.sum(1))
    if len(values):
        assert np.array_equal(whole[-1].to_numpy(), 2 * values[-1]) and len(whole[1:]) == len(values) - 1
        assert np.array_equal(program().totals(whole[1:]).to_numpy(), 2 * values[1:].sum(1))
    with pytest.raises(nessie.NessieError, match="are no array of 5 × 5"):
        whole.reshape((5, 5))


def test_cubes() -> None:
    cube = np.arange(24).reshape(2, 3, 4)
    found = nessie.compile("function sums(m) = {{sum(r) : r in p} : p in m};", target="cudasim").sums(OnGpu(cube))
    assert found.to_list() == cube.sum(2).tolist()


@pytest.mark.parametrize(("array", "said"), [
    (OnGpu(np.float16([1])), "type float16: float64, int64 and bool"),
    (OnGpu(np.arange(4.0)[::2]), "not contiguous"),
    (OnGpu(np.zeros((2, 3)).T), "not contiguous"),
    (OnGpu(np.zeros(())), "is one number"),
    (OnGpu(np.zeros((2, 2))), r"squares is not for \[\[float\]\]"),
    (OnGpu(np.arange(2.0), mask=OnGpu(np.arange(2))), "has a mask"),
    (OnGpu(np.zeros(20, np.uint8)[1:17].view(np.float64)), "does not lie at a multiple of 8"),
])
def test_what_cannot_be_used_is_refused(array: Any, said: str) -> None:
    with pytest.raises(nessie.NessieError, match=said):
        program().squares(array)


def test_errors() -> None:
    with pytest.raises(nessie.NessieError, match="the target is cpu"):
        program().squares(OnGpu(np.arange(2.0)), target="cpu")
    for offsets in ([0, 9, 6], [1, 6], [0, 5], []):
        with pytest.raises(nessie.NessieError, match="offsets"):
            program().totals(nessie.Nested(OnGpu(np.array(offsets, np.int64)), OnGpu(np.arange(6))))
    with pytest.raises(nessie.NessieError, match=r"Divide by zero"):
        program().inverse(OnGpu(np.arange(3)))
    assert program().inverse(OnGpu(np.arange(1, 3))).to_numpy().tolist() == [1, 0]
    with pytest.raises(nessie.NessieError, match=r"roots takes \[float\], but gets \[int\]"):
        program().roots(OnGpu(np.arange(2)))
    with pytest.raises(nessie.NessieError, match="neither explained nor timed"):
        program().squares.explain(OnGpu(np.arange(2.0)))


def test_another_gpus_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cudasim, "reaches", lambda self, address: False)
    with pytest.raises(nessie.NessieError, match="memory of another GPU"):
        program().squares(OnGpu(np.arange(2.0)))


@pytest.mark.parametrize(("told", "waited"), [
    ({"stream": None}, []), ({"stream": 1}, []), ({"stream": 2}, []), ({"stream": 12345}, [{12345}]),
    ({"stream": 0}, [{ANY_STREAM}]), ({"version": 2}, [{ANY_STREAM}]), ({"version": 0, "stream": 7}, [{ANY_STREAM}])])
def test_pending_work_is_waited_for(told: dict[str, Any], waited: list[set[int]],
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    program().squares(OnGpu(np.arange(2.0)))
    calls: list[Any] = []
    monkeypatch.setattr(Cudasim, "await_others", lambda self, streams: calls.append(streams))
    monkeypatch.setattr("nessie.cudagen.host.host.execute", lambda *_, **__: calls.append("run") or np.int64(0))
    monkeypatch.setattr("nessie.api.values.results.Results.plain", lambda self, value, type_: value)
    program().squares(OnGpu(np.arange(2.0), **told))
    assert calls == [*waited, "run"]


def test_streams_of_several_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[set[int]] = []
    monkeypatch.setattr(Cudasim, "await_others", lambda self, streams: calls.append(streams))
    offsets, values = np.array([0, 2, 2, 6]), np.arange(6)
    assert program().totals(nessie.Nested(OnGpu(offsets, stream=5), OnGpu(values, stream=7))).to_numpy().tolist() == [
        1, 0, 14]
    assert calls == [{5, 7}]


@pytest.mark.parametrize("known", [False, True])
def test_results_that_others_know_wait_for_them(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before they are read, are arguments, or their memory is used again; those that nobody knows do not."""
    calls: list[set[int]] = []
    monkeypatch.setattr(Cudasim, "await_others", lambda self, streams: calls.append(streams))
    nessie.release_memory()
    calls.clear()
    values = np.arange(50_000.0)
    result = program().squares(OnGpu(values))
    if known:
        place(result[5:])
    expected = [{ANY_STREAM}] if known else []
    assert np.array_equal(result.to_numpy(), values * values) and calls == expected
    calls.clear()
    assert np.array_equal(program().squares(result).to_numpy(), (values * values)**2) and calls == expected
    calls.clear()
    del result
    gc.collect()
    assert calls == []                      # nobody waits while garbage is collected
    program().squares(OnGpu(values))
    assert calls == expected
