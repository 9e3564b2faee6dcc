"""Writes over what an array holds: `<-`, rep, and writes that combine, on every executor; in its own memory where
nobody needs it any more."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import gpu_device
from kernel_runs import Meaning, program_of, run_plan
from test_gpu import launch
from test_lambda_cu_reference import EMPTY

import nessie
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.host.device import NO_FAILURE
from nessie.cudagen.loops.plan import replacing
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.reference.context import Context
from nessie.lambda_cu.reference.kernels import run_kernel
from nessie.lambda_cu.reference.reference import EvaluationLimits, Stats
from nessie.lambda_cu.text.parser import parse_kernel

WRITES = {
    "last": "PERMUTE { i => xs[i] using xs } { i => at[i] using at } (n) into m (ds) last",
    "added": "REDUCE_BY_INDEX { i => xs[i] using xs } { i => at[i] using at } (0) { (x, y) => x + y } (n) into m (ds)",
    "least": "REDUCE_BY_INDEX { i => xs[i] using xs } { i => at[i] using at } (9223372036854775807)"
             " { (x, y) => min(x, y) } (n) into m (ds)",
    "read, too": "PERMUTE { i => ds[at[i]] + xs[i] using xs, ds, at } { i => at[i] using at } (n) into m (ds) last",
}


def kernel_of(write: str) -> ir.Kernel:
    return parse_kernel(f"""kernel K (n : int, m : int, xs : [int; n], at : [int; n], ds : [int; m]) {{
        let ys = {WRITES[write]}
        return ys }}""")


def arguments(n: int, m: int) -> list[Any]:
    random = np.random.default_rng(n)
    at = random.integers(0 if write_all(n) else -1, m, n) if m else np.full(n, -1)
    return [n, m, random.integers(-9, 9, n), at, random.integers(-9, 9, m)]


def write_all(n: int) -> bool:
    return n % 2 == 0


@pytest.mark.parametrize("n, m", [(0, 5), (1, 1), (40, 7), (300, 1), (2, 0)])
@pytest.mark.parametrize("write", WRITES)
def test_on_every_executor(write: str, n: int, m: int) -> None:
    if write == "read, too" and not write_all(n):
        pytest.skip("an index of -1 is out of range")
    if write == "read, too" and m == 0:
        pytest.skip("an array without elements")
    kernel, given = kernel_of(write), arguments(n, m)
    expected = Meaning(kernel, given).results
    found = run_kernel(kernel, [np.asarray(a) for a in given], Context(EMPTY, EvaluationLimits(), Stats()))
    assert [a.tolist() for a in found] == expected
    for order in (1, -1):
        assert run_plan(kernel, given, 4, order=order)[0] == expected
    if compiler.found() and write != "least":           # which is sorted there before it comes to this
        for seed in (0, 1):
            assert launch(gpu_device(program_of(kernel), Cudasim(2, seed)), "K", given) == (expected, NO_FAILURE)


def test_what_a_kernel_reads_is_copied() -> None:
    from nessie.cudagen.generate import generate
    taken = {write: replacing(generate(program_of(kernel_of(write)), "cpu").plans[0]) for write in WRITES}
    assert taken == {"last": {"ys": "ds"}, "added": {"ys": "ds"}, "least": {"ys": "ds"}, "read, too": {}}


# In programs --------------------------------------------------------------------------------------

LARGE = 1_000_000
TEXT = """
    function marked(n, ks) = let v = dist(0, n); v = v <- {(k, 1) : k in ks}; v = rep(v, 7, 3) in v[3] + sum(v);
    function kept(v, k) = let w = rep(v, 7, k) in (v, w);
    function own(v) = v <- {(i, v[#v - 1 - i]) : i in index(#v)};
    function twice(v, k) = let w = rep(v, 7, k); x = rep(v, 8, k) in (w, x, v);
    function steps(v, k) = if k == 0 then v else steps(rep(v, k, rem(k * 7, #v)), k - 1);
"""
PROGRAM = nessie.compile(TEXT)


def test_memory_is_used_again() -> None:
    """A copy would take as much again."""
    assert nessie.compile(TEXT, memory=12_000_000).marked(LARGE, [1, 2, 2]) == 7 + 2 + 7
    with pytest.raises(nessie.NessieError, match="memory"):
        nessie.compile(TEXT, memory=7_000_000).marked(LARGE, [1, 2, 2])


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_what_is_needed_stays(target: str) -> None:
    v = np.arange(5)
    assert [list(x) for x in PROGRAM.kept(v, 2, target=target)] == [[0, 1, 2, 3, 4], [0, 1, 7, 3, 4]]
    assert list(PROGRAM.own(v, target=target)) == [4, 3, 2, 1, 0]
    assert [list(x) for x in PROGRAM.twice(v, 0, target=target)] == [[7, 1, 2, 3, 4], [8, 1, 2, 3, 4], [0, 1, 2, 3, 4]]
    assert list(PROGRAM.steps(v, 4, target=target)) == [0, 3, 1, 4, 2]
    assert v.tolist() == [0, 1, 2, 3, 4]


# Writes that combine ------------------------------------------------------------------------------

COMBINING = nessie.compile("""
    function added(d, ps) = write_add(d, ps);
    function greatest(d, ps) = write_max(d, ps);
    function least(d, ps) = write_min(d, ps);
    function rows(ds, ps) = {write_add(d, p) : d in ds; p in ps};
""")
TARGETS = ["cpu", "reference", *(["cudasim"] if compiler.found() else [])]


@pytest.mark.parametrize("target", TARGETS)
def test_library_functions(target: str) -> None:
    pairs = [(0, 1), (2, 5), (0, 3), (2, -9)]
    assert list(COMBINING.added([10, 20, 30], pairs, target=target)) == [14, 20, 26]
    assert list(COMBINING.greatest([2, 20, 30], pairs, target=target)) == [3, 20, 30]
    assert list(COMBINING.least([2, 20, 30], pairs, target=target)) == [1, 20, -9]
    assert "".join(COMBINING.greatest("az", [(0, "b"), (0, "a")], target=target)) == "bz"
    found = list(COMBINING.added([0.5, -0.0], [(0, 0.25), (0, 1e300), (0, -1e300)], target=target))
    assert found == ([0.5, 0.0] if target == "cudasim" else [0.0, 0.0])         # the order is the same, brackets not
    assert list(COMBINING.least([0.5, 1.0], [(1, -0.0), (1, 0.0)], target=target)) == [0.5, -0.0]


@pytest.mark.parametrize("target", TARGETS)
def test_rows(target: str) -> None:
    found = COMBINING.rows([[1, 2], [], [3], [4, 5, 6]], [[(1, 5), (1, 1)], [], [], [(2, 1), (0, 3)]], target=target)
    assert [list(row) for row in found] == [[1, 8], [], [3], [7, 5, 7]]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["added", "greatest", "least"])
def test_places_out_of_range(name: str, target: str) -> None:
    kind = {"added": "ADD", "greatest": "MAX", "least": "MIN"}[name]
    with pytest.raises(nessie.NessieError, match=f"Index out of bounds for function WRITE_{kind}"):
        COMBINING[name]([1, 2], [(0, 1), (2, 1)], target=target)
