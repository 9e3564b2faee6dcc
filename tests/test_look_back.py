"""What a tile finds of all before it: whichever of them have published what, near or far, and many at work at once."""
from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from kernel_runs import Meaning, program_of, wrapped
from test_gpu import launch
from test_skeletons import KEEP_LEFT, flat_kernel, numbers, segmented_kernel

from nessie.cudagen import generate
from nessie.cudagen.cudasim import compiler
from nessie.cudagen.cudasim.driver import Cudasim
from nessie.cudagen.device import NO_FAILURE
from nessie.cudagen.gpu import Gpu, build_program
from nessie.cudagen.plan import THREADS
from nessie.lambda_cu import ir

pytestmark = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")

AT_WORK = 40                            # blocks at a time: more than a warp looks at


@pytest.fixture(autouse=True)
def small_tiles(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of an item a thread."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setattr(generate, "RUN", 1)


# Carries of all kinds: several, of all types, with operators that do not commute.
FLAT = {
    "sum": """
        let ps = SCAN { i => xs[i] using xs } (0) { (x, y) => x + y } (n) total
        return ps""",
    "last": f"""
        let (vs, oks) = SCAN {{ i => (i, xs[i] > 2) using xs }} (-1, false) {KEEP_LEFT} (n)
        return (vs, oks)""",
    "affine functions": """
        let (as, bs) = SCAN { i => (xs[i] or 1, i) using xs } (1, 0) { (a, b, c, d) => (a * c, b * c + d) } (n)
        return (as, bs)""",
    "chars and floats": """
        let (cs, fs) = SCAN { i => (if xs[i] > 2 then 'a' else '\\0', float(i)) using xs } ('\\0', -inf)
          { (a, x, b, y) => (if b == '\\0' then a else b, max(x, y)) } (n)
        return (cs, fs)""",
    "survivors": """
        let (k, ys) = FILTER { i => xs[i] * 1000 + i using xs } { i => xs[i] > 0 using xs } (n)
        let (t, f, a, b, pos) = PARTITION { i => i } { i => xs[i] > 1 using xs } (n)
        return (k, ys, t, f, a, b, pos)""",
    "survivors, sized before they are read": """
        let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
        let zs = MAP { i => k - i using k } (k)
        return (ys, zs)""",
}
SEGMENTED = {
    "sums": """
        let ps = SEG_SCAN { (s, j, i) => xs[i] using xs } (0) { (x, y) => x + y } D
        let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } (-99) { (x, y) => max(x, y) } D
        return (ps, rs)""",
    "last": f"""
        let (v, b) = SEG_REDUCE {{ (s, j, i) => (i, xs[i] > 2) using xs }} (-1, false) {KEEP_LEFT} D
        let ps = SCAN {{ i => xs[i] using xs }} (0) {{ (x, y) => x + y }} (n)
        return (v, b, ps)""",
}
TILES = [(0, 1), (1, 0), (2, 1), (32, 2), (33, 1), (34, 0), (66, 1), (66, 2)]        # and the seed


def agrees(kernel: ir.Kernel, arguments: list[Any], seed: int) -> None:
    meaning = Meaning(kernel, arguments)
    results, failed = launch(Gpu(program_of(kernel), Cudasim(AT_WORK, seed)), kernel.name, arguments)
    assert failed == meaning.failed == NO_FAILURE
    assert results == meaning.results


@pytest.mark.parametrize("tiles, seed", TILES)
@pytest.mark.parametrize("name", FLAT)
def test_many_tiles_at_work(name: str, tiles: int, seed: int) -> None:
    n = max(0, tiles * THREADS - seed)
    agrees(flat_kernel(FLAT[name]), [n, numbers(n)], seed)


@pytest.mark.parametrize("lengths", [[THREADS * 70], [1] * 900 + [THREADS * 30] + [0] * 900, [0] * (THREADS * 9)],
                         ids=["one", "some", "none"])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", SEGMENTED)
def test_many_tiles_of_segments_at_work(name: str, lengths: list[int], seed: int) -> None:
    kernel = segmented_kernel("offs0 : [int; m+1]", "irregular(offs0, m, n)", SEGMENTED[name])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n, m = sum(lengths), len(lengths)
    agrees(kernel, [n, m, numbers(n), numbers(m, 5), offsets], seed)


# One tile alone, and what those before it have published --------------------------------------------


@dataclass
class Planted(Cudasim):
    """A kernel's last tile alone is run, those before it have published the affine functions that they come to: the
    nearest that has published all up to it is so many tiles back. What lies behind that one is garbage."""
    kernel: ir.Kernel
    xs: Any
    back: int

    def __post_init__(self) -> None:
        super().__init__(1, self.back)
        [self.plan], _ = generate.plans_of(program_of(self.kernel), "cuda")
        self.functions = {f.name: f for f in self.plan.functions}

    def launch(self, function: tuple[str, Any], blocks: int, arguments: bytes, threads: int = THREADS) -> None:
        name, _ = function
        if name.endswith("_sweep"):
            parameters = self.functions[name].parameters
            words = struct.unpack("@" + "".join("P" if p.array else "q" for p in parameters), arguments)
            arrays = {p.name: self.memory[word].view(np.int64) for p, word in zip(parameters, words, strict=True)
                      if p.array and word in self.memory}
            self.plant(arrays, blocks - 1)
            super().launch(function, 1, arguments, threads)
        else:
            super().launch(function, blocks, arguments, threads)

    def plant(self, arrays: dict[str, Any], last: int) -> None:
        arrays["tickets"][0] = last
        for tile in range(last - self.back, last):
            whole = tile == last - self.back
            use = "prefixes" if whole else "aggregates"
            arrays["status"][tile] = 2 if whole else 1
            low = 0 if whole else tile * THREADS
            for component, value in zip(("as", "bs"), affine(self.xs, low, (tile + 1) * THREADS), strict=True):
                arrays[f"{component}_{use}"][tile] = value
        arrays["status"][:last - self.back] = np.random.default_rng(self.back).integers(1, 3, last - self.back)


def affine(xs: Any, low: int, high: int) -> tuple[int, int]:
    a, b = 1, 0
    for i in range(low, high):
        c = int(xs[i]) | 1
        a, b = wrapped(a * c), wrapped(b * c + i)
    return a, b


@pytest.mark.parametrize("back", [1, 2, 31, 32, 33, 63, 64, 65, 90])
def test_the_nearest_that_knows_all_is_found(back: int) -> None:
    tiles = 91
    kernel, xs = flat_kernel(FLAT["affine functions"]), numbers(tiles * THREADS)
    built = build_program(replace(program_of(kernel), kernels=(kernel,)))
    (first, second), _ = launch(Gpu(built, Planted(kernel, xs, back)), "K", [len(xs), xs])
    for element in range((tiles - 1) * THREADS, len(xs), 51):
        assert (first[element], second[element]) == affine(xs, 0, element)
