"""The certificate of parts: for many sizes, each index of a space is in one part, and no part has another. It knows
nothing of how parts were made.

On an axis, which parts have an index changes at their bounds, and between these as often as steps go round. So a few
indices between two bounds stand for all, and those of all axes for the whole space, however large that is.

Of sizes, some are tried: those near constants of bounds and near the ends of a first step and of its width, one beyond
all constants by a whole round of all steps, and others by chance. If an axis's bounds are constants and its length,
which is no other's, no more are needed: at the long size there is an index of each kind, at 0 all that parts have is
outside, and both are tried with the other axes long. A round of more than MOST_ROUND indices is not tried. Of bounds
that several sizes make, the sizes that are tried show only what is wrong with them.
"""
from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import lcm

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.axes import Axis, Space, value
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.scope import free_names

SIZES = (0, 1, 2, 3, 5, 31, 32, 33, 1000)
OTHERS = (-1000, -33, -2, -1, 2 ** 60, -2 ** 60)                # for what may be any int
ROUNDS = 60                     # of sizes drawn by chance
MOST_ROUND = 2 ** 13            # indices until all steps begin together again


@dataclass(frozen=True)
class Range:
    """The indices of an axis that a part has, for known sizes."""
    low: int
    high: int
    step: int
    width: int

    def holds(self, index: int) -> bool:
        return self.low <= index < self.high and (index - self.low) % self.step < self.width


def mistake(parts: Sequence[Space], extents: Sequence[ir.Exp], natural: set[str]) -> str:
    """Return what is wrong with the parts of a space, which is as long as the extents say: an index that none has, or
    several have, or that is none of the space, and the sizes; '' if nothing is. `natural`: names that are sizes."""
    for sizes in assignments([axis for part in parts for axis in part], extents, natural):
        ranges = [[of_axis(axis, sizes) for axis in part] for part in parts]
        if wrong := wrong_index(ranges, [value(exp, sizes) for exp in extents]):
            told = ", ".join([f"{name} = {size}" for name, size in sizes.items()])
            return f"{wrong}, for {told}" if told else wrong
    return ""


def of_axis(axis: Axis, sizes: Mapping[str, int]) -> Range:
    return Range(*[value(exp, sizes) for exp in (axis.low, axis.high, axis.step, axis.width)])


def assignments(axes: Sequence[Axis], extents: Sequence[ir.Exp], natural: set[str]) -> Iterator[dict[str, int]]:
    """Yield sizes to try: all alike, then all long and one 0, then by chance."""
    bounds = [exp for axis in axes for exp in (axis.low, axis.high)]
    names = sorted({name for exp in (*bounds, *extents) for name in free_names(exp)})
    stepped = [(axis, value(axis.step, {}), value(axis.width, {})) for axis in axes if not axis.is_dense]
    ends = {at + end for axis, *both in stepped for at in constants([axis.low]) for end in both}
    around = lcm(*[step for _, step, _ in stepped])
    long = max(constants(bounds)) + (around if around <= MOST_ROUND else 0) + 1
    near = sorted({at + k for at in constants(bounds) | ends for k in (-1, 0, 1)})
    sizes = [*SIZES, *[size for size in near if size >= 0], long]
    others = [*SIZES, *near, *OTHERS]
    yield from (dict.fromkeys(names, size) for size in sizes)
    yield from ({**dict.fromkeys(names, long), name: 0} for name in names)
    rng = random.Random(0)
    for _ in range(ROUNDS if names else 0):
        yield {name: rng.choice(sizes if name in natural else others) for name in names}


def constants(exps: Iterable[ir.Exp]) -> set[int]:
    """The numbers in expressions of sizes, and 0."""
    return {0, *[int(part.value) for exp in exps for part in subexpressions(exp)
                 if isinstance(part, ir.Const) and part.type == "int" and abs(int(part.value)) < 2 ** 40]}


def wrong_index(parts: Sequence[Sequence[Range]], extents: Sequence[int]) -> str:
    """What is wrong with these parts of a space of these extents."""
    axes = [representatives([part[axis] for part in parts], extent) for axis, extent in enumerate(extents)]
    for found in product(*[axis.items() for axis in axes]):
        having = [part for part in range(len(parts)) if all([mask >> part & 1 for (mask, _), _ in found])]
        index = f"index {tuple([index for _, index in found])}"
        if all([inside for (_, inside), _ in found]):
            if len(having) != 1:
                return f"{index} is in no part" if not having else f"{index} is in {len(having)} parts"
        elif having:
            return f"{index} is in a part, and not in the space"
    return ""


def representatives(ranges: Sequence[Range], extent: int) -> dict[tuple[int, bool], int]:
    """An index of each kind: in which parts it is, as bits, and whether it is in the axis."""
    bounds = sorted({0, extent, *[bound for part in ranges if part.low < part.high for bound in (part.low, part.high)]})
    found: dict[tuple[int, bool], int] = {}
    for begin, end in zip([bounds[0] - 1, *bounds], [*bounds, bounds[-1] + 1], strict=True):
        period = lcm(*[part.step for part in ranges if part.low <= begin < part.high])
        for index in range(begin, min(end, begin + period)):
            mask = sum([1 << number for number, part in enumerate(ranges) if part.holds(index)])
            found.setdefault((mask, 0 <= index < extent), index)
    return found
