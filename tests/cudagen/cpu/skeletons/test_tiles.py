"""Walks by tiles: the elements, failures and bits of other walks, whichever the blocks, and only where reads gain."""
from __future__ import annotations

import numpy as np
import pytest
from built import cpu_device
from kernel_runs import Meaning, program_of, run_plan
from test_cpu import launch
from test_row_sums import cpu_sum

from nessie.cudagen.generate import CHUNK
from nessie.cudagen.host.device import NO_FAILURE
from nessie.cudagen.kernels.walk import walk_of
from nessie.cudagen.skeletons.cpu.tiles import is_tiled
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse_kernel

SHAPES = [(0, 3), (3, 0), (1, 1), (3, 70), (8, 31), (9, 40), (70, 3), (65, 17), (130, 520), (64, 1024)]   # h, n


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def kernel(body: str) -> ir.Kernel:
    """Of a matrix `a` with n rows of h elements, whose columns are the segments."""
    return parse_kernel("kernel K (h : int, n : int, k : int, a : [float; k], at : [int; n]) {" + body + "}")


TRANSPOSED = kernel("""
  let ys = SEG_MAP { (s, j, i) => a[at[j] + s] using a, at } uniform(h, n, k)
  return (ys)""")
CHECKED = kernel("""
  let xs = SEG_MAP { (s, j, i) => a[at[j] + s] using a, at } uniform(h, n, k)
  let ys = SEG_MAP { (s, j, i) => if xs[i] < 1.0 then xs[i] else fail s1 : float using xs } uniform(h, n, k)
  let zs = MAP { i => xs[i] + 1.0 using xs } (k)
  return (xs, ys, zs)""")
OF_AXES = parse_kernel("""kernel K (o : int, p : int, h : int, q : int, n : int, k : int, a : [float; k]) {
  let sums = SEG_REDUCE { (i1, i2, i3, s, j, i) =>
      let x = a[((i1 * n + j) * p + i2) * h + i3] in if x < 1.0 then x else fail s1 : float
      using a, n, p, h
    } (0.0) { (x, y) => x + y } uniform(q = o * p * h, n, k)
  let most = SEG_REDUCE { (i1, i2, i3, s, j, i) => a[((i1 * n + j) * p + i2) * h + i3] - float(i1) using a, n, p, h
    } (0.0) { (x, y) => max(x, y) } uniform(q = o * p * h, n, k)
  let means = MAP { s => sums[s] / float(n) using sums, n } (q)
  return (sums, most, means)}""")
SUMS = kernel("""
  let sums = SEG_REDUCE { (s, j, i) => a[at[j] + s] using a, at } (0.0) { (x, y) => x + y } uniform(h, n, k)
  let most = SEG_REDUCE { (s, j, i) => a[at[j] + s] using a, at } (0.0) { (x, y) => max(x, y) } uniform(h, n, k)
  let means = MAP { s => sums[s] / float(n) using sums, n } (h)
  return (sums, most, means)""")


def given(h: int, n: int) -> list[object]:
    xs = np.random.default_rng((h, n)).random(h * n)
    return [h, n, h * n, xs, np.arange(n) * h]


def columns(h: int, n: int, xs: np.ndarray) -> list[list[float]]:
    return xs.reshape(n, h).T.tolist()


@pytest.mark.parametrize("h, n", SHAPES)
def test_transposed_by_tiles(h: int, n: int) -> None:
    arguments = given(h, n)
    expected = [x for column in columns(h, n, arguments[3]) for x in column]
    for width in (CHUNK, 8, 4096):
        (found,), failed = launch(cpu_device(program_of(TRANSPOSED), 2, width), "K", arguments)
        assert failed == NO_FAILURE and found == expected
    assert run_plan(TRANSPOSED, arguments, 64)[0] == [expected]
    assert run_plan(TRANSPOSED, arguments, 64, order=-1)[0] == [expected]


@pytest.mark.parametrize("h, n", [(70, 3), (65, 17), (9, 40), (130, 520)])
def test_the_first_failure_is_told(h: int, n: int) -> None:
    arguments = given(h, n)
    for places in ([h * n - 1], [0, h * n - 1], [h - 1, h * (n - 1)], [1, h + 1, 2 * h]):
        arguments[3] = np.zeros(h * n)
        arguments[3][places] = 2.0
        meaning = Meaning(CHECKED, arguments).failed
        assert meaning & (2 ** 40 - 1) == min(place % h * n + place // h for place in places)
        for width in (CHUNK, 8):
            assert launch(cpu_device(program_of(CHECKED), 2, width), "K", arguments)[1] == meaning


@pytest.mark.parametrize("h, n", SHAPES)
@pytest.mark.parametrize("width", [CHUNK, 8, 40])
def test_sums_have_the_bits_of_other_walks(h: int, n: int, width: int) -> None:
    arguments = given(h, n)
    expected = [cpu_sum(column, width) for column in columns(h, n, arguments[3])]
    for threads in (1, 2, 3):
        (sums, most, means), failed = launch(cpu_device(program_of(SUMS), threads, width), "K", arguments)
        assert failed == NO_FAILURE and sums == expected
    assert most == [max([0.0, *column]) for column in columns(h, n, arguments[3])]
    assert n == 0 or means == [x / n for x in expected]


def given_axes(o: int, p: int, h: int, n: int) -> list[object]:
    return [o, p, h, o * p * h, n, o * p * h * n, np.random.default_rng((o, p, h, n)).random(o * p * h * n)]


@pytest.mark.parametrize("o, p, h, n", [(2, 3, 5, 7), (1, 1, 70, 40), (3, 2, 1, 20), (2, 1, 130, 9), (0, 2, 3, 4),
                                        (2, 0, 3, 4), (2, 3, 0, 4), (2, 3, 4, 0), (1, 2, 64, 1030), (5, 1, 65, 17)])
def test_sums_of_segments_of_several_axes(o: int, p: int, h: int, n: int) -> None:
    assert is_tiled(walk_of(OF_AXES, program_of(OF_AXES)))
    arguments = given_axes(o, p, h, n)
    rows = arguments[-1].reshape(o, n, p, h).transpose(0, 2, 3, 1)          # type: ignore[attr-defined]
    for width in (CHUNK, 8):
        expected = [cpu_sum(row, width) for row in rows.reshape(-1, n).tolist()] if rows.size else [0.0] * (o * p * h)
        for threads in (1, 2):
            (sums, most, means), failed = launch(cpu_device(program_of(OF_AXES), threads, width), "K", arguments)
            assert failed == NO_FAILURE and sums == expected
            first = np.arange(o).reshape(-1, 1, 1, 1)
            assert most == (rows - first).max(axis=3, initial=0.0).reshape(-1).tolist()
            assert n == 0 or means == [x / n for x in expected]


@pytest.mark.parametrize("place", [0, 17, 2 * 40 * 70 - 1])
def test_the_first_failure_of_several_axes_is_told(place: int) -> None:
    arguments = given_axes(2, 1, 70, 40)
    arguments[-1][place] = 2.0                                              # type: ignore[index]
    meaning = Meaning(OF_AXES, arguments).failed
    for width in (CHUNK, 8):
        assert launch(cpu_device(program_of(OF_AXES), 2, width), "K", arguments)[1] == meaning != NO_FAILURE


def test_a_column_is_cut_where_a_row_is() -> None:
    h, n = 3, 2 * CHUNK + 5
    arguments = given(h, n)
    (sums, _, _), _ = launch(cpu_device(program_of(SUMS), 2, CHUNK), "K", arguments)
    assert sums == [cpu_sum(column) for column in columns(h, n, arguments[3])]


@pytest.mark.parametrize("read, tiled", [
    ("a[at[j] + s]", True), ("a[j * 1000 + s]", True), ("a[s - at[j]]", True), ("a[at[max(j, 2)] + s]", True),
    ("a[i]", False), ("a[s]", False), ("a[j + s]", False), ("a[j * 2 + s]", False), ("a[at[j] + 2 * s]", False),
    ("a[at[s] + j]", False), ("a[min(j, 5) + s]", False), ("a[at[j + s]]", False), ("a[at[j] + s / 2]", False)])
def test_which_walks_gain(read: str, tiled: bool) -> None:
    found = kernel(f"""
      let ys = SEG_MAP {{ (s, j, i) => {read} using a, at }} uniform(h, n, k)
      return (ys)""")
    assert is_tiled(walk_of(found, program_of(found))) == tiled
