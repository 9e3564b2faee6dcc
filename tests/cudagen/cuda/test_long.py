"""Spaces of more than 2**31 elements on the GPU: the text has no number of 32 bits in which an index could be, and
kernels do the last of so many elements right. Arrays as long as that are not made: a kernel is given the parts that it
touches."""
from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from built import gpu_code, gpu_device
from cuda_programs import SPACES
from kernel_runs import program_of, wrapped
from test_skeletons import CUDA, cuda_kernel, flat_kernel, segmented_kernel
from test_skeletons import CUDA_SEGMENTED as SEGMENTED

from nessie.base.source import Unsupported
from nessie.base.values import DTYPES
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.device import MOST_BLOCKS
from nessie.cudagen.cuda.operators import HELPERS
from nessie.cudagen.generate import RUN, generate
from nessie.cudagen.host.device import MOST_ROUNDS, NO_FAILURE
from nessie.cudagen.loops.plan import EPOCH, THREADS
from nessie.cudagen.loops.unread import unread
from nessie.cudagen.skeletons.cuda.blocks import WARP
from nessie.cudagen.skeletons.cuda.carries import SEGMENTS
from nessie.cudagen.skeletons.cuda.finish import ALL
from nessie.cudagen.skeletons.cuda.look_back import GROUP
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse_kernel

GPU = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
TILE = RUN * THREADS
LONG = 2**31 + 300

# The text -----------------------------------------------------------------------------------------

WITH_CHARS = ("chars and bools", "permute max of other types")
KERNELS = {**{name: cuda_kernel(name) for name in CUDA if name not in WITH_CHARS},
           **{f"{space}: {name}": segmented_kernel(*SPACES[space], SEGMENTED[name])
              for space in SPACES for name in SEGMENTED}}
LANE = re.compile(r"(__shfl_\w+\(0xffffffffu, \w+, )\(int\)(?=\w+\))")
PLACES = re.compile(r"__shared__ short (?=(?:\w+_places\w*|starts)\[)|((?:\w+_places\w*|starts)\[\w+\] = )\(short\)")
# Counts of a tile or of a block, and sums of these.
COUNTS = re.compile(r"__shared__ unsigned (?=(?:counters|warps|digits)\[)"
                    r"|((?:counters|warps|digits)\[.*?(?:\] = |\], ))\(unsigned\)"
                    r"|(\b(?:left|rest|total|next|before) = \(long long\))\(int\)"
                    r"|(__shfl_up_sync\(.*, )\(int\)(?=step\))")
SHUFFLED_BOOL = re.compile(r"\(bool\)__shfl_\w+\(0xffffffffu, \(int\)")


@pytest.mark.parametrize("name", KERNELS)
def test_no_number_is_too_narrow(name: str) -> None:
    """What a thread knows of its place is made a long long before it is used; nothing is narrower but chars,
    the number of a lane, and that of an item in its tile."""
    text = gpu_code(program_of(KERNELS[name])).text
    for helper in HELPERS.values():
        text = text.replace(helper, "")
    places = re.findall(r"(?:\(long long\))?(?:threadIdx|blockIdx|gridDim|blockDim)\.x", text)
    assert places and all(place.startswith("(long long)") for place in places)
    text = PLACES.sub(lambda found: found[1] or "", LANE.sub(r"\1", SHUFFLED_BOOL.sub("", text)))
    if name.endswith("order"):
        text = COUNTS.sub(lambda found: found[1] or found[2] or found[3] or "", text)
    rest = text.replace("unsigned long long", "").replace("long long", "")
    assert re.findall(r"\b(?:int|unsigned|short|long|float|size_t)\b", rest) == []


# Kernels ------------------------------------------------------------------------------------------


@pytest.mark.slow
@GPU
def test_a_walk_of_so_many_elements() -> None:
    """All of it."""
    kernel = parse_kernel(f"""kernel K (n : int) {{
        let (t, odd) = REDUCE {{ i => (i, i and 1) }} (0, 0) {{ (a, b, c, d) => (a + c, b + d) }} (n)
        let ys = REDUCE_BY_INDEX {{ i => i }} {{ i => i - {2**31} }} (-9223372036854775808)
            {{ (x, y) => max(x, y) }} (n) into 300 (-1)
        return (t, odd, ys) }}""")
    device = gpu_device(program_of(kernel), Cudasim(2, 1))
    device.begin(None)
    total, odd, ys = device.launch("K", [LONG])
    assert (total, odd) == (LONG * (LONG - 1) // 2, LONG // 2)
    assert device.download(ys).tolist() == list(range(2**31, LONG))


@dataclass
class Window:
    """The part of an array that is there: from this index on."""
    start: int
    values: Any


@dataclass
class OneTile:
    """A walk's last tile, when all before have been done: `windows` and `scalars` are the sweep's parameters."""
    kernel: ir.Kernel
    windows: dict[str, Window]
    scalars: dict[str, int] = field(default_factory=dict)

    def run(self) -> dict[str, Any]:
        """What is in the windows afterwards."""
        driver = Cudasim(1, 1)
        built = gpu_code(program_of(self.kernel))
        module = unread(generate(program_of(self.kernel), "cuda"))
        (sweep,) = (f for f in module.functions if f.name.endswith("_sweep"))
        words = np.array([NO_FAILURE, MOST_ROUNDS, 0, 0, 0], np.int64)
        found, given = {}, []
        for parameter in sweep.parameters:
            if not parameter.array:
                given.append((self.scalars | {EPOCH: 0})[parameter.name])
            elif parameter.name == "errors":
                given.append(words.ctypes.data)
            else:
                window = self.windows[parameter.name]
                values = np.array(window.values, DTYPES[parameter.type])
                address = driver.allocate(values.nbytes)
                driver.write(address, values)
                found[parameter.name] = driver.memory[address].view(values.dtype)
                given.append((address - window.start * values.itemsize) % 2**64)
        blocks = self.windows["tickets"].values[0] + 1          # of which only the last one is run
        text = built.text.replace("(long long)gridDim.x", f"{blocks}LL")
        assert "gridDim" not in text
        functions = driver.load(text, (sweep.name,))
        driver.launch(functions[sweep.name], 1, struct.pack("@" + built.formats[sweep.name], *given))
        assert words[0] == NO_FAILURE
        return found


def before(tile: int, published: str = "", **prefixes: int) -> dict[str, Window]:
    """What a tile finds of those before it: the last of the group before knows all up to it, those of its own group
    come to nothing. Of what it publishes itself, too. `published` begins the names of that."""
    place, far = tile % GROUP, GROUP * WARP             # as far back as it looks
    first = tile - place - far
    statuses = [0] * (far - 1) + [2] + [1] * place + [0]
    values = {name: [0x3f] * (far - 1) + [value] + [0] * place + [0] for name, value in prefixes.items()}
    windows = {"tickets": Window(0, [tile, tile])}
    if len(prefixes) == 1:
        pairs = zip(statuses, *values.values(), strict=True)
        windows[f"{published}descriptors"] = Window(2 * first, [number for pair in pairs for number in pair])
    else:
        windows[f"{published}status"] = Window(first, statuses)
    for name, found in values.items():
        windows[f"{name}_{published}{ALL}"] = Window(0, [-1])
        for use in ("aggregates", "prefixes"):
            windows[f"{name}_{published}{use}"] = Window(first, found)
    return windows


TILES = [2**31 // TILE, 2**32 // TILE + 1, MOST_BLOCKS - 1]


@GPU
@pytest.mark.parametrize("tile", TILES)
def test_the_last_tile_of_a_scan(tile: int) -> None:
    kernel = flat_kernel("""
        let ps = SCAN { i => i } (0) { (x, y) => x + y } (n)
        let zs = PERMUTE { i => ps[i] using ps } { i => n - 1 - i using n } (n) into n (0) distinct
        return (ps, zs)""")
    low, n = tile * TILE, tile * TILE + TILE - 3
    found = OneTile(kernel, before(tile, ps=wrapped(low * (low - 1) // 2))
                    | {"ps": Window(low, [-1] * TILE), "zs": Window(0, [-1] * TILE)}, {"n": n}).run()
    sums = [wrapped(i * (i - 1) // 2) for i in range(low, n)]
    assert found["ps"].tolist() == [*sums, -1, -1, -1]
    assert found["zs"].tolist() == [*sums[::-1], -1, -1, -1]


@GPU
@pytest.mark.parametrize("tile", TILES)
def test_the_last_tile_of_a_filter(tile: int) -> None:
    kernel = flat_kernel("""
        let (k, ys) = FILTER { i => i * 2 } { i => (i and 1) == 1 } (n)
        return (k, ys)""")
    low, n = tile * TILE, (tile + 1) * TILE
    windows = {"ys": Window(low // 2, [-1] * TILE), "cells": Window(0, [-1])}
    found = OneTile(kernel, before(tile, k_count0=low // 2) | windows, {"n": n}).run()
    assert found["ys"].tolist() == [i * 2 for i in range(low + 1, n, 2)] + [-1] * (TILE // 2)
    assert found[f"k_count0_{ALL}"][0] == found["cells"][0] == n // 2


@GPU
@pytest.mark.parametrize("tile", TILES)
def test_the_last_tile_of_segments(tile: int) -> None:
    """Of three elements each, with their ends the items are a multiple of four."""
    kernel = segmented_kernel("l : int", "uniform(m, l, n)", """
        let rs = SEG_REDUCE { (s, j, i) => i + j } (0) { (x, y) => x + y } D
        let ys = SEG_MAP { (s, j, i) => i * 10 + s } D
        return (rs, ys)""")
    tile *= 2                           # those in which segments are summed are half as large
    low, high = tile * TILE // 8, (tile + 1) * TILE // 8
    found = OneTile(kernel, before(tile, SEGMENTS, rs=0x3f)
                    | {"rs": Window(low, [-1] * (high - low)), "ys": Window(3 * low, [-1] * 3 * (high - low))},
                    {"n": 3 * high, "m": high, "l": 3}).run()
    assert found["rs"].tolist() == [wrapped(3 * (3 * s + 1) + 3) for s in range(low, high)]
    assert found["ys"].tolist() == [wrapped(i * 10 + i // 3) for i in range(3 * low, 3 * high)]


@GPU
@pytest.mark.parametrize("tile", TILES)
def test_the_last_tile_of_one_segment(tile: int) -> None:
    """It goes on from what all tiles before have of the segment, and has its end."""
    kernel = segmented_kernel("l : int", "uniform(m, l, n)", """
        let rs = SEG_REDUCE { (s, j, i) => i } (0) { (x, y) => x + y } D
        let ps = SEG_SCAN { (s, j, i) => j } (0) { (x, y) => x + y } D
        return (rs, ps)""")
    low, n = tile * TILE, tile * TILE + TILE // 2 - 3
    sums = [wrapped(i * (i - 1) // 2) for i in range(low, n + 1)]
    found = OneTile(kernel, before(2 * tile, SEGMENTS, rs=sums[0], ps=sums[0])
                    | {"rs": Window(0, [-1]), "ps": Window(low, [-1] * (TILE // 2))}, {"n": n, "m": 1, "l": n}).run()
    assert found["rs"].tolist() == sums[-1:]
    assert found["ps"].tolist() == [*sums[:-1], -1, -1, -1]


# Launches -----------------------------------------------------------------------------------------


@GPU
def test_more_blocks_than_cuda_starts_are_refused() -> None:
    """Not the longest walk that can be."""
    kernel = parse_kernel("""kernel K (n : int) {
        let (v, ok) = REDUCE { i => (i, i > 3) } (0, false) { (a, p, b, q) => if q then (b, q) else (a, p) } (n)
        return (v, ok) }""")
    launched: list[int] = []

    class Idle(Cudasim):
        def allocate(self, size: int) -> int:
            return super().allocate(min(size, 4096))

        def fill(self, address: int, value: np.generic, count: int) -> None:
            """There is no room."""

        def launch(self, function: Any, blocks: int, arguments: bytes, threads: int = THREADS) -> None:
            launched.append(blocks)

    device = gpu_device(replace(program_of(kernel), kernels=(kernel,)), Idle(1, 1))
    device.begin(None)
    device.launch("K", [MOST_BLOCKS * TILE])
    assert launched == [MOST_BLOCKS]
    with pytest.raises(Unsupported, match=r"takes 2,147,483,648 blocks of 256 threads") as refused:
        device.launch("K", [MOST_BLOCKS * TILE + 1])
    assert "--target cpu" in str(refused.value) and device.used() == 0
