"""What a tile finds of all before it: whichever of them have published what, near or far, and many at work at once;
that floats are joined alike whatever they have; and that tiles publish what they can before they hear of others."""
from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from built import gpu_code, gpu_device
from kernel_runs import BASES, Meaning, program_of, wrapped
from taped import exact
from test_gpu import launch
from test_skeletons import KEEP_LEFT, flat_kernel, numbers, segmented_kernel

from nessie.cudagen import generate
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.device import Gpu
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.host.device import NO_FAILURE
from nessie.cudagen.loops.plan import THREADS
from nessie.cudagen.loops.printer import show_exp
from nessie.cudagen.skeletons.cuda import look_back as cuda_look_back
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse_kernel

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
GROUPS = pytest.mark.parametrize("group", [32, 2], indirect=True)
TILES = [(0, 1), (1, 0), (2, 1), (32, 2), (33, 1), (34, 0), (66, 1), (66, 2)]        # and the seed


def agrees(kernel: ir.Kernel, arguments: list[Any], seed: int) -> None:
    meaning = Meaning(kernel, arguments)
    results, failed = launch(gpu_device(program_of(kernel), Cudasim(AT_WORK, seed)), kernel.name, arguments)
    assert failed == meaning.failed == NO_FAILURE
    assert results == meaning.results


@pytest.fixture
def group(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So many tiles are a group."""
    monkeypatch.setattr(cuda_look_back, "GROUP", request.param)
    return int(request.param)


@pytest.mark.sampled(quick=6, ci=2)
@pytest.mark.parametrize("tiles, seed", TILES)
@pytest.mark.parametrize("name", FLAT)
@GROUPS
def test_many_tiles_at_work(group: int, name: str, tiles: int, seed: int) -> None:
    n = max(0, tiles * THREADS - seed)
    agrees(flat_kernel(FLAT[name]), [n, numbers(n)], seed)


POWER_LAW = [min(int(length), THREADS * 20) for length in np.random.default_rng(3).zipf(1.6, 1500)]


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("lengths", [[THREADS * 70], [1] * 900 + [THREADS * 30] + [0] * 900, [0] * (THREADS * 9),
                                     POWER_LAW],
                         ids=["one", "some", "none", "power law"])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", SEGMENTED)
@GROUPS
def test_many_tiles_of_segments_at_work(group: int, name: str, lengths: list[int], seed: int) -> None:
    kernel = segmented_kernel("offs0 : [int; m+1]", "irregular(offs0, m, n)", SEGMENTED[name])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n, m = sum(lengths), len(lengths)
    agrees(kernel, [n, m, numbers(n), numbers(m, 5), offsets], seed)


@pytest.mark.slow
def test_more_groups_than_a_look_reaches() -> None:
    n = 1100 * THREADS - 7
    agrees(flat_kernel(FLAT["last"]), [n, numbers(n)], 1)


# The same bits ------------------------------------------------------------------------------------


FLOATS = np.array([1e16, 1.0, -1e16, 3.0, 0.1, -1e-3])         # whose sums tell how they were joined
SUMS = """
    let ps = SCAN { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n) total
    return ps"""
PRODUCTS = """
    let (as, bs) = SCAN { i => (1.0 - xs[i] * 1.0e-17, xs[i]) using xs } (1.0, 0.0)
      { (a, b, c, d) => (a * c, b * c + d) } (n)
    return (as, bs)"""
ROWS = """
    let ps = SEG_SCAN { (s, j, i) => xs[i] using xs } (0.0) { (x, y) => x + y } D
    let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } (0.0) { (x, y) => x + y } D
    return (ps, rs)"""
ROWS_AND_SUMS = ROWS.replace("return (", """let qs = SCAN { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n) total
    let t = REDUCE { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)
    return (qs, t, """)
TOTALS = """
    let t = REDUCE { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)
    return t"""
IN_ORDER = """
    let (a, b) = REDUCE { i => (1.0 - xs[i] * 1.0e-17, xs[i]) using xs } (1.0, 0.0)
      { (a, b, c, d) => (a * c, b * c + d) } (n)
    return (a, b)"""


def float_kernels(times: int = 1) -> dict[str, tuple[ir.Kernel, list[Any]]]:
    """And their arguments: rows of all lengths, some of many tiles, all of them so many times."""
    lengths = [*[40] * 200, THREADS * 40, 0, 5, *[700] * 20] * times
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n, m = sum(lengths), len(lengths)
    xs = np.random.default_rng(0).choice(FLOATS, n)
    flat = "kernel K (n : int, xs : [float; n]) {"
    rows = "kernel K (n : int, m : int, xs : [float; n], offs : [int; m+1]) {"
    texts = {"sums": flat + SUMS, "products": flat + PRODUCTS, "total": flat + TOTALS,
             "total in order": flat + IN_ORDER, "rows": rows + ROWS, "all at once": rows + ROWS_AND_SUMS}
    return {name: (parse_kernel(text.replace(" D\n", " irregular(offs, m, n)\n") + "\n}"),
                   [n, m, xs, offsets] if "offs" in text else [n, xs]) for name, text in texts.items()}


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("name", float_kernels())
@GROUPS
def test_floats_have_the_same_bits_in_every_order(group: int, name: str) -> None:
    kernel, arguments = float_kernels()[name]
    built = gpu_code(program_of(kernel))
    found = set()
    for seed in range(6):
        for at_work in (2, AT_WORK):
            found.add(bytes_found(gpu_device(built, Cudasim(at_work, seed)), arguments))
    assert len(found) == 1


def bytes_found(device: Gpu, arguments: list[Any]) -> bytes:
    """Those of all results of its kernel K."""
    results, failed = launch(device, "K", arguments)
    assert failed == NO_FAILURE
    return b"".join(np.array(values, np.float64).tobytes() for values in results)


# One tile alone, and what those before it have published --------------------------------------------


@dataclass
class Planted(Cudasim):
    """Of a kernel's walk one tile alone is run: it finds in the arrays what `plant` writes there, to whom they come by
    their names."""
    built: GpuProgram
    tile: int
    plant: Callable[[dict[str, Any]], None]

    def __post_init__(self) -> None:
        super().__init__(1, 1)
        self.arrays: dict[str, Any] = {}
        [plan] = self.built.plans
        self.parameters = {phase.function: phase.arguments for phase in plan.phases}

    def launch(self, function: tuple[str, Any], blocks: int, arguments: bytes, threads: int = THREADS) -> None:
        name, _ = function
        if name.endswith("_sweep"):
            words = struct.unpack("@" + self.built.formats[name], arguments)
            self.arrays = {show_exp(p): self.memory[word].view(np.int64)
                           for p, word in zip(self.parameters[name], words, strict=True) if word in self.memory}
            given = dict(zip(map(show_exp, self.parameters[name]), words, strict=True))
            self.write(given["tickets"], np.array([self.tile]))
            self.plant(self.arrays)
            blocks = 1
        super().launch(function, blocks, arguments, threads)


def affine(xs: Any, low: int, high: int) -> tuple[int, int]:
    """What the elements' functions come to."""
    a, b = 1, 0
    for i in range(low, high):
        c = int(xs[i]) | 1
        a, b = wrapped(a * c), wrapped(b * c + i)
    return a, b


def added(xs: Any, low: int, high: int) -> tuple[int]:
    return (int(xs[low:high].sum()),)


def publishes(arrays: dict[str, Any], tile: int, status: int, come_to: tuple[int, ...]) -> None:
    """In descriptors, or a status and arrays beside it."""
    if "descriptors" in arrays:
        arrays["descriptors"][2 * tile:2 * tile + 2] = status, *come_to
        return
    arrays["status"][tile] = status
    for component, value in zip(("as", "bs"), come_to, strict=True):
        arrays[f"{component}_{'prefixes' if status == 2 else 'aggregates'}"][tile] = value


BACK = [(32, 1), (32, 2), *[(2, back) for back in (1, 2, 15, 31, 32)], (1, 1), (1, 32)]


@pytest.mark.parametrize("group, back", BACK)
@pytest.mark.parametrize("name, come_to", [("affine functions", affine), ("sum", added)])
def test_the_nearest_that_knows_all_is_found(monkeypatch: pytest.MonkeyPatch, group: int, back: int, name: str,
                                             come_to: Callable[[Any, int, int], tuple[int, ...]]) -> None:
    """It closes a group so many groups back; all behind it is garbage."""
    monkeypatch.setattr(cuda_look_back, "GROUP", group)
    tile = 90
    start = tile - tile % group
    kernel, xs = flat_kernel(FLAT[name]), numbers((tile + 1) * THREADS)

    def plant(arrays: dict[str, Any]) -> None:
        knows = start - 1 - (back - 1) * group
        for other, status in enumerate(np.random.default_rng(back).integers(0, 3, knows)):
            publishes(arrays, other, status, (99, 99)[:len(come_to(xs, 0, 1))])
        publishes(arrays, knows, 2, come_to(xs, 0, (knows + 1) * THREADS))
        for closer in range(knows + group, start, group):
            publishes(arrays, closer, 1, come_to(xs, (closer + 1 - group) * THREADS, (closer + 1) * THREADS))
        for other in range(start, tile):
            publishes(arrays, other, 1, come_to(xs, other * THREADS, (other + 1) * THREADS))

    built = gpu_code(program_of(kernel))
    components, _ = launch(exact(built, Planted(built, tile, plant)), "K", [len(xs), xs])
    for element in range(tile * THREADS, len(xs), 51):
        assert tuple([values[element] for values in components]) == come_to(xs, 0, element)


# What is published before those before it have been heard of ----------------------------------------


PATIENCE = 2                            # seconds


def published(built: GpuProgram, tile: int, arguments: list[Any], plant: Callable[[dict[str, Any]], None],
              status: int, prefix: str = "") -> dict[str, Any]:
    """The arrays as they are when a tile that waits for ever has this status, or has not got it for long."""
    driver = Planted(built, tile, plant)
    device = exact(built, driver)

    def watch() -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not (driver.arrays and status_of(driver.arrays, tile, prefix) == status):
            time.sleep(0.001)
        device.interrupt()

    watching = threading.Thread(target=watch)
    device.begin(None)
    given = [device.upload(BASES[a.dtype], a) if isinstance(a, np.ndarray) else a for a in arguments]
    watching.start()
    device.launch(built.plans[0].name, given)
    watching.join()
    return driver.arrays


def status_of(arrays: dict[str, Any], tile: int, prefix: str = "") -> int:
    descriptors = arrays.get(f"{prefix}descriptors")
    return int(descriptors[2 * tile] if descriptors is not None else arrays[f"{prefix}status"][tile])


def sum_of(arrays: dict[str, Any], tile: int) -> int:
    return int(arrays["descriptors"][2 * tile + 1])


def own_aggregate(change: Callable[[str], str]) -> bool:
    kernel, xs = flat_kernel(FLAT["sum"]), numbers(40 * THREADS)
    arrays = published(changed(kernel, change), 34, [len(xs), xs], lambda arrays: None, 1)
    return status_of(arrays, 34) == 1 and (sum_of(arrays, 34),) == added(xs, 34 * THREADS, 35 * THREADS)


def own_functions(change: Callable[[str], str]) -> bool:
    kernel, xs = flat_kernel(FLAT["affine functions"]), numbers(40 * THREADS)
    arrays = published(changed(kernel, change), 34, [len(xs), xs], lambda arrays: None, 1)
    return status_of(arrays, 34) == 1 and affine(xs, 34 * THREADS, 35 * THREADS) == (
        arrays["as_aggregates"][34], arrays["bs_aggregates"][34])


def groups_aggregate(change: Callable[[str], str]) -> bool:
    kernel, xs = flat_kernel(FLAT["sum"]), numbers(70 * THREADS)

    def plant(arrays: dict[str, Any]) -> None:
        for tile in range(32, 63):
            publishes(arrays, tile, 1, added(xs, tile * THREADS, (tile + 1) * THREADS))

    arrays = published(changed(kernel, change), 63, [len(xs), xs], plant, 1)
    return status_of(arrays, 63) == 1 and (sum_of(arrays, 63),) == added(xs, 32 * THREADS, 64 * THREADS)


def prefix_of_a_tile_in_which_a_segment_starts(change: Callable[[str], str]) -> bool:
    kernel = segmented_kernel("l : int", "uniform(m, l, n)", SEGMENTED["sums"])
    m, length = 80, THREADS // 4 - 1    # with their ends two segments are a tile
    n = m * length
    arrays = published(changed(kernel, change), 34, [n, m, numbers(n), numbers(m), length], lambda arrays: None, 2,
                       "segment_")
    return bool(status_of(arrays, 34, "segment_") == 2 and arrays["ps_segment_prefixes"][34] == 0)


def changed(kernel: ir.Kernel, change: Callable[[str], str]) -> GpuProgram:
    built = gpu_code(program_of(kernel))
    return replace(built, text=change(built.text))


@pytest.mark.parametrize("is_seen, published", [
    (own_aggregate, "store_pair(&descriptors[2 * tile], wrap_add(epoch, 1), ps_total);"),
    (own_functions, "store_release(&status[tile], wrap_add(epoch, 1));"),
    (groups_aggregate, "store_pair(&descriptors[2 * tile], wrap_add(epoch, 1), ps_group);"),
    (prefix_of_a_tile_in_which_a_segment_starts, "store_release(&segment_status[tile], wrap_add(epoch, 2));")],
    ids=["aggregate", "several", "group", "segment"])
def test_what_a_tile_knows_is_published_at_once(is_seen: Callable[[Callable[[str], str]], bool],
                                                published: str) -> None:
    """And where it is not, that is seen."""
    assert is_seen(lambda text: text)
    assert not is_seen(lambda text: text.replace(published, "", 1))
