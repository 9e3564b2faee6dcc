"""The levels of the machine that walk axes (Zhang and Mueller, *HiDP*, CGO 2013, table 1 and section 3.5), and the
limits of a launch.

HiDP's *kernel* is `grid` here, its sub-warps are `sub8` and `sub4`. Each level of the table lies within the one before.
"""
from __future__ import annotations

from nessie.base.records import dataclass

UNLIMITED = 0


@dataclass(frozen=True)
class Level:
    """A level: how many threads it has (0: as many as a launch gives it), how they wait for one another ('': they do
    not), where it keeps what its threads share ('': nowhere), and its targets."""
    name: str
    size: int
    barrier: str
    shared: str
    targets: tuple[str, ...]


GPU = ("cuda", "cudasim")
TABLE = (
    Level("grid", UNLIMITED, "", "global memory", GPU),
    Level("block", 256, "__syncthreads", "shared memory", GPU),
    Level("warp", 32, "__syncwarp", "registers of its lanes", GPU),
    Level("sub8", 8, "__syncwarp of its lanes", "registers of its lanes", GPU),
    Level("sub4", 4, "__syncwarp of its lanes", "registers of its lanes", GPU),
    Level("lane", 1, "", "", (*GPU, "cpu")),
    Level("threads", UNLIMITED, "the end of a chunk", "memory", ("cpu",)),
    Level("thread", 1, "", "", (*GPU, "cpu")),
    Level("serial", 1, "", "", (*GPU, "cpu")),
)
LEVELS = {level.name: level for level in TABLE}
OWNERS = ("block", "warp", "sub8", "sub4", "thread")        # what can hold a whole segment, on a GPU
ITEMS = "items"                                             # nobody holds any: threads have equally many elements


@dataclass(frozen=True)
class Limits:
    """What a launch may have: blocks in each direction x, y, z; threads of a block likewise, and in all."""
    grid: tuple[int, int, int] = (2 ** 31 - 1, 65_535, 65_535)
    block: tuple[int, int, int] = (1024, 1024, 64)
    threads: int = 1024


def beyond(grid: tuple[int, ...], block: tuple[int, ...], limits: Limits = Limits()) -> str:  # noqa: B008  it is frozen
    """Return what of a launch no GPU takes, with what to write instead; '' if it takes all."""
    for what, got, most in (("grid", grid, limits.grid), ("block", block, limits.block)):
        for axis, found, limit in zip("xyz", got, most):
            if found > limit:
                return f"{what}.{axis} is {found:,}, and at most {limit:,}: " + (
                    "fold axes, or split one" if what == "grid" else "split the axis: SplitLast(32, ...)")
    threads = block[0] * block[1] * block[2]
    if threads > limits.threads:
        return f"a block has {threads:,} threads, and at most {limits.threads:,}: split its axes, or give it fewer"
    return ""
