"""The mappings that `auto` tries, and what it may not take: a launch that no GPU has for some sizes.

    Jing  JingExt  FoldAll                          as they are
    FoldAll, blocks of 64                           other blocks
    lanes on axis 1: 32                             the threads of a block go along one axis
    tiles of axes 0, 1: 8 x 32                      along two; the others, and what is left of these, are the grid
"""
from __future__ import annotations

from collections.abc import Iterator

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.levels import Limits, beyond
from nessie.lambda_cu.mappings.mapped import DIRECTIONS, Mapped
from nessie.lambda_cu.mappings.strategies import MOST_OF_JING, fold_all, jing, jing_ext, shifted

STRIPS = (32, 128, 256)
TILES = ((4, 64), (8, 32), (16, 16), (32, 8), (32, 32))
SMALLER = (64, 128)


def candidates(rank: int, stepped: bool = False) -> Iterator[tuple[str, maps.Top]]:
    """Yield mappings for so many axes, with what readers call them."""
    if rank <= MOST_OF_JING:
        yield "Jing", jing(rank, stepped)
    else:
        yield "JingExt", jing_ext(rank, stepped)
    yield "FoldAll", fold_all(rank, stepped)
    for threads in SMALLER:
        yield f"FoldAll, blocks of {threads}", fold_all(rank, stepped, threads)
    for axis in reversed(range(rank if rank > 1 else 0)):
        for by in STRIPS:
            yield f"lanes on axis {axis}: {by}", block_of(rank, ((axis, by),), stepped)
    for axis in range(rank - 1):
        for high, wide in TILES:
            yield f"tiles of axes {axis}, {rank - 1}: {high} x {wide}", block_of(
                rank, ((axis, high), (rank - 1, wide)), stepped)


def block_of(rank: int, parts: tuple[tuple[int, int], ...], stepped: bool) -> maps.Top:
    """Blocks of parts of these axes, so long each; all that is left is one axis of the grid."""
    inner, inside = shifted(stepped), []
    for number, (axis, by) in enumerate(parts):         # each split moves the axes behind it
        inner = maps.Split(axis + number, by, inner)
        inside.append(axis + number + 1)
    outside = [axis for axis in range(rank + len(parts)) if axis not in inside]
    if len(outside) > 1:
        inner = maps.Permute((*inside, *outside), inner)
        for _ in outside[1:]:
            inner = maps.FoldLast2(inner)
        inner = maps.Permute((len(inside), *range(len(inside))), inner)
    return maps.GridBlock(len(inside), inner)


def uncertain(made: Mapped) -> str:
    """Why a GPU may refuse the launch for some sizes; '' if none does. Of blocks in x there are enough for all."""
    limits, known = Limits(), list[tuple[int, ...]]()
    for what, shape, most in (("grid", (ir.Const(1, "int"), *made.grid[1:]), limits.grid),
                              ("block", made.block, limits.block)):
        for direction, length, limit in zip(DIRECTIONS, shape, most):
            if not isinstance(length, ir.Const):
                return f"{what}.{direction} depends on sizes, and is at most {limit:,}"
        known.append(tuple([int(length.value) for length in shape if isinstance(length, ir.Const)]))
    return beyond(known[0], known[1], limits)
