"""The mappings that rules make where nobody writes one (section 7), corrected where they break the paper's own demands:
steps are masked where an axis is folded or split (docs/errata.md)."""
from __future__ import annotations

from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.axes import Space
from nessie.lambda_cu.mappings.combinators import Unmappable

MOST_OF_JING = 5
AUTO = maps.Strategy("auto")
THREADS = 256                   # of FoldAll's blocks


def mapping_of(strategy: maps.Strategy, space: Space) -> maps.Top | None:
    """Return the mapping that the strategy makes for the space; None for `none`. What `auto` is depends on a kernel's
    reads, too (lambda_cu.mappings.choice); until it is chosen it is FoldAll, which maps all that anything does."""
    rank, stepped = len(space), any([not axis.is_dense for axis in space])
    if any([axis.depends for axis in space]):
        raise Unmappable(strategy, "strategies take axes of one length: write GridBlock(..., Hull(Gen))")
    match strategy.name:
        case "Jing":
            if rank > MOST_OF_JING:
                raise Unmappable(strategy, f"Jing maps up to {MOST_OF_JING} axes, and here are {rank}: JingExt and "
                                           "FoldAll map any number")
            return jing(rank, stepped)
        case "JingExt":
            return jing_ext(rank, stepped)
        case "FoldAll" | "auto":
            return fold_all(rank, stepped)
    return None


def shifted(stepped: bool) -> maps.Inner:
    return maps.Mask(maps.ShiftLB(maps.Gen())) if stepped else maps.ShiftLB(maps.Gen())


def jing(rank: int, stepped: bool = False) -> maps.Top:
    """Section 7.1, with a last Permute that gives the grid and the block of table 1."""
    if rank == 1:
        return maps.GridBlock(1, maps.SplitLast(32, shifted(stepped)))
    if rank == 2:
        rows_last = maps.Permute((1, 2, 0), maps.SplitLast(32, shifted(stepped)))
        return maps.GridBlock(2, maps.Permute((2, 0, 3, 1), maps.SplitLast(32, rows_last)))
    return maps.GridBlock(2, maps.ShiftLB(maps.Gen()))


def jing_ext(rank: int, stepped: bool = False) -> maps.Top:
    """Section 7.2: neighbours are folded, until there are at most five axes."""
    if rank <= MOST_OF_JING:
        return jing(rank, stepped)
    inner = shifted(stepped)
    while rank > MOST_OF_JING:
        inner, rank = folded_pairs(inner, rank)
    return maps.GridBlock(2, inner)


def folded_pairs(inner: maps.Inner, rank: int) -> tuple[maps.Inner, int]:
    """[a b c d e] becomes [ab cd e]: the last two are folded and go to the front, until all are. An odd innermost goes
    there first."""
    left = rank
    if rank % 2:
        inner = maps.Permute((rank - 1, *range(rank - 1)), inner)
    for _ in range(rank // 2):
        inner, left = maps.FoldLast2(inner), left - 1
        inner = maps.Permute((left - 1, *range(left - 1)), inner)
    return inner, left


def fold_all(rank: int, stepped: bool = False, threads: int = THREADS) -> maps.Top:
    """Section 7.3: all axes are one, which is split into blocks."""
    inner: maps.Inner = maps.ShiftLB(maps.Gen())
    if stepped:
        inner = maps.CompressGrid((1,) * rank, inner)
    for _ in range(rank - 1):
        inner = maps.FoldLast2(inner)
    return maps.GridBlock(1, maps.SplitLast(threads, inner))
