"""What it gains that borders are split off: stencils with an interior beside the same programs without one.

    python benchmarks/borders.py [NAME...] [--rounds N] [--most SIDE] [--save FILE]

The functions of suite/positions.nesl are compiled with the pass `borders` and without it; both run in turn, on sides of
1 to 1500 (vectors: as many elements, squared). Each line has the best microseconds of all rounds, and their ratio:
below 1 it would be slower that borders are split off. Both have what a call takes, some microseconds.
"""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402
from processor import processor  # noqa: E402

import nessie  # noqa: E402
from nessie.lambda_cu.borders import borders  # noqa: E402

PROGRAM = ROOT / "benchmarks" / "suite" / "positions.nesl"
SIDES = (1, 2, 4, 8, 16, 32, 100, 316, 1000, 1500)
STENCILS: dict[str, tuple[str, int, tuple[int, ...]]] = {      # function, axes, further arguments
    "windows of 3": ("smooth", 1, ()),
    "wrapped 1-D": ("wrapped", 1, ()),
    "heat, clamped": ("heat", 2, ()),
    "box 3*3, unrolled": ("box3", 2, ()),
    "box 3*3, windows": ("box", 2, (1,)),
    "box 9*9, windows": ("box", 2, (4,))}
PART = 2e-3                     # seconds that are timed together
SEED = 1


@contextmanager
def without_borders() -> Iterator[None]:
    """Kernels keep their thunks whole; the cache on disk, which knows of no such compiler, is another."""
    with TemporaryDirectory() as folder, patch.object(borders, "borders", lambda program: program), patch.dict(
            os.environ, XDG_CACHE_HOME=folder):
        yield


def timed(call: Callable[[], Any]) -> Callable[[], float]:
    """A measurement: the seconds of one call, of as many as take a while."""
    call()                      # compiles it
    began = perf_counter()
    call()
    times = max(1, min(1000, int(PART / (perf_counter() - began))))

    def measured() -> float:
        began = perf_counter()
        for _ in range(times):
            call()
        return (perf_counter() - began) / times

    return measured


def compare(name: str, side: int, rounds: int) -> tuple[float, float]:
    """Return seconds with borders split off, and without."""
    function, axes, more = STENCILS[name]
    values = np.random.default_rng(SEED).random((side,) * axes if axes > 1 else side * side)
    split = timed(lambda: SPLIT[function](values, *more))
    with without_borders():
        whole = timed(lambda: WHOLE[function](values, *more))
    assert np.array_equal(np.asarray(SPLIT[function](values, *more)), np.asarray(WHOLE[function](values, *more)))
    found = [(split(), whole()) for _ in range(rounds)]
    return min([seconds for seconds, _ in found]), min([seconds for _, seconds in found])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", metavar="NAME", help=", ".join(STENCILS))
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--most", type=int, default=SIDES[-1], metavar="SIDE")
    options.add_argument("--save", type=Path)
    chosen = options.parse_args()
    lines = [f"{processor()}; the best of {chosen.rounds} rounds", "",
             f"{'microseconds of':<20}{'side':>6}{'split':>12}{'whole':>12}{'whole/split':>13}"]
    print(*lines, sep="\n")
    if unknown := [name for name in chosen.names if name not in STENCILS]:
        options.error(f"there is no stencil {unknown[0]}; there are: {', '.join(STENCILS)}")
    for name in chosen.names or STENCILS:
        for side in [side for side in SIDES if side <= chosen.most]:
            split, whole = compare(name, side, chosen.rounds)
            lines.append(f"{name:<20}{side:>6}{split * 1e6:>12,.1f}{whole * 1e6:>12,.1f}{whole / split:>13.2f}")
            print(lines[-1], flush=True)
    if chosen.save:
        chosen.save.write_text("\n".join(lines) + "\n")


SPLIT, WHOLE = nessie.load(str(PROGRAM)), nessie.load(str(PROGRAM))

if __name__ == "__main__":
    main()
