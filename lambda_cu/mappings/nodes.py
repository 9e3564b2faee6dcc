"""Mappings: from the space of a kernel to that of its threads, step by step, and a level of the machine for each axis.

    GridBlock(1, SplitLast(32, ShiftLB(Gen)))           Levels([block, lane], Gen)          JingExt

A mapping is read from the inside out: `Gen` is the space itself; each combinator makes another space of that of its
`of`; `GridBlock` or `Levels`, the outermost, says what walks the axes. The combinators are those of Janssen and Scholz,
*On Mapping N-Dimensional Data-Parallelism Efficiently into GPU-Thread-Spaces* (IFL 2021), section 4, and beside them
Mask, Hull, Split and Levels. Axes are numbered from 0, the outermost.
"""
from __future__ import annotations

from typing import get_args

from nessie.base.records import dataclass


@dataclass(frozen=True)
class Gen:
    """The kernel's own space."""


@dataclass(frozen=True)
class ShiftLB:
    """Every axis begins at 0 (section 4.1)."""
    of: Inner


@dataclass(frozen=True)
class CompressGrid:
    """Of an axis whose flag is 1, only the indices that its step and width leave are counted (section 4.2)."""
    flags: tuple[int, ...]
    of: Inner


@dataclass(frozen=True)
class FoldLast2:
    """The last two axes are one (section 4.3)."""
    of: Inner


@dataclass(frozen=True)
class SplitLast:
    """The last axis is two, the inner of length `by` (section 4.4)."""
    by: int
    of: Inner


@dataclass(frozen=True)
class Split:
    """As SplitLast of any axis, which takes its two places: a SplitLast between two Permutes."""
    axis: int
    by: int
    of: Inner


@dataclass(frozen=True)
class PadLast:
    """The last axis is as long as the next multiple of `to` (section 4.5)."""
    to: int
    of: Inner


@dataclass(frozen=True)
class Permute:
    """Axis k is what axis order[k] was (section 4.6)."""
    order: tuple[int, ...]
    of: Inner


@dataclass(frozen=True)
class Mask:
    """Steps and widths become a guard: all indices have threads (section 4.2, last paragraph)."""
    of: Inner


@dataclass(frozen=True)
class Hull:
    """An axis whose length depends on indices outside is as long as its longest, and has a guard."""
    of: Inner


@dataclass(frozen=True)
class GridBlock:
    """The last `block` axes are threads of a block, those outside blocks of the grid (section 4.7)."""
    block: int
    of: Inner


@dataclass(frozen=True)
class Levels:
    """A level of the machine for each axis."""
    levels: tuple[str, ...]
    of: Inner


REST = 0                        # the case of what no test takes


@dataclass(frozen=True)
class Cases:
    """Mappings of partitions (lambda_cu.borders.partitions), by the number of the test that takes their elements, or
    REST. What has none here is walked by `auto`."""
    of: tuple[tuple[int, Walk], ...]


@dataclass(frozen=True)
class Strategy:
    """The mapping that a rule makes for the space: Jing, JingExt, FoldAll, auto, none."""
    name: str


Combinator = ShiftLB | CompressGrid | FoldLast2 | SplitLast | Split | PadLast | Permute | Mask | Hull
Inner = Gen | Combinator
Top = GridBlock | Levels
Walk = Strategy | Top
Mapping = Walk | Cases
COMBINATORS: tuple[type[Combinator], ...] = get_args(Combinator)
STRATEGIES = ("Jing", "JingExt", "FoldAll", "auto", "none")
NONE = Strategy("none")             # as kernels are walked that have no mapping, and in no other way
