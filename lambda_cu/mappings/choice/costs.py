"""What a walk costs: some blocks of its launch are gone through, all threads of a block at once.

    sectors     of 32 bytes that the warps' requests touch, for each index: 0.25 is the least of a word
    divisions   and other operations that find an index
    idle        of all threads, those without an index

They become time by a GPU's bandwidth and rate of instructions. The larger of the two hides most of the smaller.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.lambda_cu.mappings.axes import Axis, value
from nessie.lambda_cu.mappings.choice.places import Ints, Place, amount
from nessie.lambda_cu.mappings.mapped import DIRECTIONS, Mapped, launch_of, operations, sizes_of

SAMPLES = 8                     # blocks that are gone through
MOST = 1024                     # threads of a block that are gone through
WARP, SECTOR = 32, 32           # threads, bytes
BANDWIDTH = 3000.0              # bytes a nanosecond
RATE = 900.0                    # instructions of warps a nanosecond
DIVISION = 30                   # instructions
REQUEST = 2                     # instructions around a read or a store
HIDDEN = 1 / 8                  # what is left of the smaller of two times
RESIDENT, BLOCKS = 64, 32       # warps and blocks that a multiprocessor holds


@dataclass(frozen=True)
class Cost:
    """`sectors`: for each index; `idle`: a share; `time`: nanoseconds."""
    sectors: float
    divisions: int
    others: int
    idle: float
    time: float


Places = Callable[[tuple[Ints, ...]], Iterable[Place]]          # of threads with these indices


def cost(made: Mapped, sizes: Mapping[str, int], places: Places) -> Cost:
    """The cost of a walk of a space whose axes begin at 0, for these sizes."""
    blocks, threads = map(prod, launch_of(made, sizes))
    count = indices_of(made.stages[0], sizes)
    divisions, others = operations(made)
    if not count or not blocks * threads:
        return Cost(0.0, divisions, others, 0.0, 0.0)
    here = walked(made, sizes)
    live = np.logical_and.reduce([np.broadcast_to(amount(guard, here), here[LANE].shape) for guard in made.guards]
                                 or [np.ones(here[LANE].shape, bool)])
    index = tuple([np.broadcast_to(amount(exp, here), live.shape)[live] for exp in made.index])
    warp = here[LANE][live]
    touched, requests = 0, 0
    for place in places(index):
        sector = np.broadcast_to(place.element, warp.shape) * place.bytes // SECTOR
        touched += len(np.unique(sector * (warp[-1] + 1) + warp))
        requests += 1
    sectors = touched / max(len(warp), 1)
    warps = -(-threads // WARP)
    memory = sectors * count * SECTOR / BANDWIDTH / min(1.0, warps * BLOCKS / RESIDENT)
    issue = blocks * warps * (divisions * DIVISION + others + requests * REQUEST) / RATE
    return Cost(sectors, divisions, others, 1 - count / (blocks * threads),
                max(memory, issue) + HIDDEN * min(memory, issue))


def indices_of(space: tuple[Axis, ...], sizes: Mapping[str, int]) -> int:
    """How many indices the space has: by steps and widths, all of them."""
    count = 1
    for axis in space:
        low, high, step, width = [value(exp, sizes) for exp in (axis.low, axis.high, axis.step, axis.width)]
        length = max(high - low, 0)
        count *= length // step * width + min(length % step, width)
    return count


LANE = "warp of the launch"     # no name of a mapping


def walked(made: Mapped, sizes: Mapping[str, int]) -> dict[str, Any]:
    """What the names of a thread's code are, for the threads of some blocks, which lie between the first and the
    last."""
    grid, block = launch_of(made, sizes)
    blocks, threads = prod(grid), min(prod(block), MOST)
    samples = min(SAMPLES, blocks)
    chosen = (2 * np.arange(samples, dtype=np.int64) + 1) * blocks // (2 * samples)
    place, thread = [numbers.ravel() for numbers in np.meshgrid(chosen, np.arange(threads), indexing="ij")]
    here: dict[str, Any] = {name: np.int64(size) for name, size in sizes_of(made, sizes).items()}
    here[LANE] = np.repeat(np.arange(samples), threads) * -(-threads // WARP) + thread // WARP
    for what, number, shape in (("blockIdx", place, grid), ("threadIdx", thread, block)):
        for direction, length in zip(DIRECTIONS, shape):
            here[f"{what}_{direction}"] = number % length
            number = number // length
    for name, exp in made.code.items():
        here[name] = amount(exp, here)
    return here
