"""Arrays in a GPU's memory: what is made of them is computed there, and stays there, without copies; on cudasim."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_python_devices import OnGpu

import nessie
from nessie.cudagen.cuda.cudasim.compiler import found
from nessie.cudagen.cuda.cudasim.driver import Cudasim

pytestmark = pytest.mark.skipif(not found(), reason="needs a C++ compiler")
SIM = "cudasim"
SIZE = 1000


def same(a: Any, b: Any) -> bool:
    return np.array_equal(a.to_numpy(), b)


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The copies of arrays between the computer's memory and the device's, as they are made."""
    made: list[str] = []

    def watch(what: str, real: Callable[..., None]) -> None:
        def watched(self: Any, address: int, values: Any) -> None:
            if np.size(values) == SIZE:         # no error words
                made.append(what)
            real(self, address, values)
        monkeypatch.setattr(Cudasim, what, watched)
    watch("write", Cudasim.write)
    watch("read", Cudasim.read)
    return made


def test_results_stay_between_operations(copied: list[str]) -> None:
    host = np.arange(float(SIZE))
    x = nessie.array(host, device=SIM)
    assert copied == ["write"] and x.device == SIM
    y = (x * 2.0).evaluate()
    z = y.map(lambda v: v + 1.0).evaluate()
    rows = z.select(lambda v: v > 100.0).sort().evaluate()
    total = float((z + y).sum())
    assert copied == ["write"]
    assert (y.device, z.device, rows.device) == (SIM, SIM, SIM)
    assert total == float((4 * host + 1).sum())
    assert same(z, 2 * host + 1) and copied == ["write", "read"]
    assert same(rows, (2 * host + 1)[2 * host + 1 > 100])


@pytest.mark.parametrize("shape", [(6,), (2, 3), (0, 3), (1, 2, 3), (1, 2, 1, 3), (0,)])
def test_shapes(shape: tuple[int, ...]) -> None:
    host = np.arange(np.prod(shape), dtype=float).reshape(shape)
    x = nessie.asarray(host).to_device(SIM)
    y = (x + 1.0).evaluate()
    assert y.shape == shape and y.device == SIM and same(y, host + 1)
    assert same(y.to_device("cpu") * 2.0, (host + 1) * 2) and y.tolist() == (host + 1).tolist()
    assert y.sum().item() == (host + 1).sum()


def test_arrays_of_others() -> None:
    """Used where they are; array copies them."""
    host = np.arange(100.0)
    x = nessie.asarray(OnGpu(host), device=SIM)
    assert same(x.map(lambda v: v * v), host * host) and same(x, host)
    own = nessie.array(OnGpu(host), device=SIM)
    host[0] = 5.0
    assert own[0] == 0.0 and float((x + 0.0)[0]) == 5.0
    interface = own.__cuda_array_interface__
    assert interface["shape"] == (100,) and interface["typestr"] == "<f8"
    assert not hasattr(nessie.array(host), "__cuda_array_interface__")
    grid = nessie.asarray(OnGpu(np.arange(6).reshape(2, 3)), device=SIM)
    assert grid.shape == (2, 3) and (grid + 1).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_made_there(copied: list[str]) -> None:
    places = nessie.pnew(SIZE, lambda i: i * i, device=SIM)
    assert places.device == SIM
    assert places.evaluate().device == SIM and copied == []
    assert places.tolist() == [i * i for i in range(SIZE)]
    assert nessie.pnew(4, lambda i: i).device == "cpu"


def test_rows_and_tuples() -> None:
    rows = nessie.nest([[1, 2], [], [3]]).to_device(SIM)
    twice = rows.map(lambda r: [v * 2 for v in r]).evaluate()
    assert twice.device == SIM and twice.tolist() == [[2, 4], [], [6]]
    assert rows.map(lambda r: sum(r)).tolist() == [3, 0, 3]
    pairs = nessie.array([1, 2, 3], device=SIM).zip(nessie.array([1.5, 2.5, 3.5], device=SIM)).evaluate()
    assert pairs.device == SIM and pairs.tolist() == [(1, 1.5), (2, 2.5), (3, 3.5)]
    assert pairs.map(lambda p: p[0] * p[1]).tolist() == [1.5, 5.0, 10.5]


def test_sections() -> None:
    @nessie.host_section
    def grown(a: Any, n: int) -> Any:
        for _ in range(n):
            a = a.combine(a, lambda x, y: x + y)
        return a

    found = grown(nessie.array([1, 2, 3], device=SIM), 4)
    assert found.device == SIM and found.tolist() == [16, 32, 48]
    assert grown(nessie.array([1, 2, 3]), 4).device == "cpu"


def test_numbers_lie_everywhere() -> None:
    x = nessie.array([1.0, 2.0], device=SIM)
    assert (x * nessie.array(3.0)).tolist() == [3.0, 6.0]
    assert x.sum().to_device("cpu").item() == 3.0


def test_errors() -> None:
    here, there = nessie.array([1.0, 2.0]), nessie.array([1.0, 2.0], device=SIM)
    with pytest.raises(nessie.NessieError, match="some lie on cpu, others on cudasim") as told:
        (here + there).evaluate()
    assert "a.to_device('cudasim') takes one there" in str(told.value)
    assert (here.to_device(SIM) + there).tolist() == [2.0, 4.0]
    with pytest.raises(nessie.NessieError, match="there is no device 'gpu'"):
        here.to_device("gpu")
    with pytest.raises(nessie.NessieError, match="these arrays lie on cudasim, and the target is cpu"):
        (there + 1.0).evaluate(target="cpu")
    assert (here + 1.0).evaluate(target=SIM).device == "cpu"
    with pytest.raises(nessie.NessieError, match="dtype=float32: arrays on cudasim are of int64, float64 and bool"):
        (there + 1.0).astype("float32")


def test_what_a_section_sees_outside_lies_where_its_arguments_do() -> None:
    seen = nessie.array([1, 2, 3], device=SIM)

    @nessie.host_section
    def added(a: Any) -> Any:
        return a.combine(seen, lambda x, y: x + y)

    assert added(nessie.array([1, 2, 3], device=SIM)).tolist() == [2, 4, 6]
    with pytest.raises(nessie.NessieError, match="some lie on cpu, others on cudasim"):
        added(nessie.array([1, 2, 3]))


def test_what_lies_on_a_device_is_explained_for_it() -> None:
    b = nessie.array([1, 2, 3], device=SIM).map(lambda x: x * 2)
    assert "run K" in str(b.kernels()) and "expression on cpu" not in str(b.explain())
    assert str(b.graph()) and str(b.stages())
    assert b.tolist() == [2, 4, 6]
