"""What else could walk a kernel that has a mapping: at what cost, or why not.

    own(kernel, {})         ("for 256 * 256 * 256 elements it takes about 14.5 us: 8.0 sectors a warp, ...", others)
    impossible(kernel)      [("block, warp, sub8, sub4, thread", "it has no segments")]
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.choice.auto import Candidate, of_kernel, sizes_of_kernel, told
from nessie.lambda_cu.mappings.choice.candidates import uncertain
from nessie.lambda_cu.mappings.choice.costs import BANDWIDTH, HIDDEN, RATE, REQUEST, SECTOR, WARP, cost
from nessie.lambda_cu.mappings.choice.places import ASSUMED, WORD, places
from nessie.lambda_cu.mappings.combinators import Unmappable
from nessie.lambda_cu.mappings.kernels import root_of, space_of, why_not
from nessie.lambda_cu.mappings.levels import OWNERS
from nessie.lambda_cu.mappings.mapped import PLACES, mapped
from nessie.lambda_cu.mappings.owners import LANES, by_owner, by_owners, owned

STRATEGIES = ("Jing", "JingExt", "FoldAll", "auto")
NO_SEGMENTS = "it has no segments"
MEAN = 16                       # elements of a row, where nobody says it
EXCHANGE = 4                    # instructions of a step in which lanes add up what they have
BARRIER = 40                    # of one of a block


def possible(kernel: ir.Kernel) -> list[str]:
    """The strategies and levels that can walk the kernel."""
    return [name for name in STRATEGIES if why_not(replace(kernel, by=maps.Strategy(name))) is None] + [
        level for level in OWNERS if level_refused(kernel, by_owner(level)) is None]


def level_refused(kernel: ir.Kernel, level: maps.Levels) -> Unmappable | None:
    """Why nobody owns the kernel's segments at this level, if nobody does."""
    by = replace(kernel, by=level)
    return why_not(by) if by_owners(by) else Unmappable(level, NO_SEGMENTS)


def impossible(kernel: ir.Kernel) -> list[tuple[str, str]]:
    """The strategies and levels that cannot walk the kernel, those of one reason together, and the reason."""
    found: dict[str, list[str]] = {}
    for name in STRATEGIES:
        if (reason := why_not(replace(kernel, by=maps.Strategy(name)))) is not None:
            found.setdefault(reason.message, []).append(name)
    for level in OWNERS:
        if (reason := level_refused(kernel, by_owner(level))) is not None:
            found.setdefault(reason.message, []).append(level)
    return [(", ".join(names), reason) for reason, names in found.items()]


# Threads ----------------------------------------------------------------------------------------


def own(kernel: ir.Kernel, given: Mapping[str, int]) -> tuple[str, list[Candidate]] | None:
    """What the kernel's mapping costs, in words, and what other mappings would, the best first; None where that is not
    known: of rows whose lengths their place tells. `given`: some of its sizes."""
    try:
        root = root_of(kernel)
    except (Unmappable, IllFormed):
        return None
    if isinstance(root, ir.Closed):
        return None
    others = of_kernel(kernel, given)
    if not isinstance(kernel.by, maps.GridBlock | maps.Levels):
        return "", others
    known, named = sizes_of_kernel(root, given)
    space, _ = space_of(root)
    made = mapped(kernel.by, space, Names({*named, *PLACES}))
    candidate = Candidate("", kernel.by, cost(made, named, lambda index: places(kernel, root, index, known)))
    doubt = uncertain(made)
    refused = f"; a GPU may refuse it, as {doubt}" if doubt else ""
    axes = " * ".join([f"{known[axis] if isinstance(axis, str) else axis:,}" for axis in axes_of(root)])
    return f"for {axes} elements it takes about {told(candidate)}{refused}", [
        one for one in others if one.mapping != kernel.by]


def axes_of(root: ir.Flat | ir.Uniform) -> tuple[ir.Size, ...]:
    return (root.size,) if isinstance(root, ir.Flat) else root.axes


# Owners -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LevelCost:
    """What it costs that a level's lanes go through rows. `steps` of a row; `idle`: the share of lanes that have no
    element; `sectors` that a warp touches in a step; `time`: nanoseconds."""
    level: str
    steps: int
    idle: float
    sectors: float
    time: float


def of_levels(kernel: ir.Kernel, given: Mapping[str, int]) -> tuple[float, list[LevelCost]]:
    """How long a row is, as far as sizes tell, and what each level costs that can hold rows, the best first."""
    root = owned(kernel).root
    rows, elements = rows_of(root, given)
    mean = elements / max(rows, 1)
    combines = any([isinstance(bind.soac, ir.Reduce | ir.Scan) for bind in kernel.binds])
    found = [level_cost(level, rows, mean, combines) for level in OWNERS
             if why_not(replace(kernel, by=by_owner(level))) is None]
    return mean, sorted(found, key=lambda one: float(f"{one.time:.3g}"))


def rows_of(root: ir.Segmented, given: Mapping[str, int]) -> tuple[int, int]:
    def size(of: ir.Size) -> int | None:
        return of if isinstance(of, int) else given.get(of)
    rows, elements = size(root.segments), size(root.total)
    if isinstance(root, ir.Uniform) and (length := size(root.length)) is not None:
        rows = ASSUMED // max(length, 1) if rows is None else rows
        elements = rows * length
    if rows is None:
        rows = (ASSUMED if elements is None else elements) // MEAN
    return rows, rows * MEAN if elements is None else elements


def level_cost(level: str, rows: int, mean: float, combines: bool) -> LevelCost:
    lanes = LANES[level]
    within = min(lanes, WARP)           # of a warp
    steps = math.ceil(mean / lanes)
    idle = 1 - mean / (steps * lanes) if steps else 0.0
    apart = WARP // within              # rows that a warp reads at once
    sectors = apart * max(within * WORD / SECTOR, 1) if mean > 1 else WARP * WORD / SECTOR
    memory = rows * mean * sectors / WARP * SECTOR / BANDWIDTH
    meeting = (EXCHANGE * int(math.log2(within)) + (BARRIER if lanes > WARP else 0)) if combines else 0
    issue = rows / apart * (lanes // within) * (steps * REQUEST + meeting) / RATE
    return LevelCost(level, steps, idle, sectors, max(memory, issue) + HIDDEN * min(memory, issue))


def shown_level(found: LevelCost, mean: float) -> str:
    steps = "step" if found.steps == 1 else "steps"
    return (f"{found.time / 1000:.1f} us: {found.sectors:.1f} sectors a warp, {found.steps} {steps} a row of "
            f"{mean:,.4g} elements, {found.idle:.0%} idle")
