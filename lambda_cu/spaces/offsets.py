"""Where rows start whose lengths are a formula of their positions, as NumPy arrays.

The host knows so much of rows that leave the program without offsets."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nessie.base.values import DTYPES
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.reference.operators import MEANINGS

Ints = NDArray[np.int64]
BLOCK = 2 ** 13                 # rows at a time, so that what is in between stays in caches


def offsets_by(lengths: ir.Lengths, numbers: Sequence[int], positions: Sequence[Ints]) -> Ints:
    """Return the offsets of rows at these positions, those in the innermost sequence around them first. `numbers`: what
    the formula's names stand for."""
    count = len(positions[0])
    offsets = np.zeros(count + 1, np.int64)
    known = dict(zip(lengths.names, map(np.int64, numbers), strict=True))
    with np.errstate(over="ignore"):
        for start in range(0, count, BLOCK):
            here = [at[start:start + BLOCK] for at in positions]
            found = value(lengths.exp, {**known, **dict(zip(lengths.indices, here, strict=False))})
            ends = offsets[start + 1:start + BLOCK + 1]
            np.cumsum(np.broadcast_to(found, ends.shape), out=ends)
            ends += offsets[start]
    return offsets


def value(exp: ir.Exp, names: Mapping[str, Any]) -> Any:
    """Return what the formula is; nothing in one fails."""
    match exp:
        case ir.Const():
            return DTYPES[exp.type].type(exp.value)
        case ir.Var(name):
            return names[name]
        case ir.Op(op, parts):
            return MEANINGS[op](*[value(part, names) for part in parts])
        case ir.If(condition, then, orelse):
            return np.where(value(condition, names), value(then, names), value(orelse, names))
    raise TypeError(exp)


def positions_in(offsets: Ints, around: Sequence[Ints]) -> tuple[Ints, ...]:
    """Return the positions of the elements of rows with these offsets; `around`: those of the rows."""
    lengths = np.diff(offsets)
    own = np.arange(int(offsets[-1]), dtype=np.int64) - np.repeat(offsets[:-1], lengths)
    return own, *[np.repeat(at, lengths) for at in around]
