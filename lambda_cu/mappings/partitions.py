"""What a partition leaves of a shape: the partitions that a with-loop fills up with (section 2.2)."""
from __future__ import annotations

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.axes import Axis, Space
from nessie.lambda_cu.spaces.closed import INTS, ZERO


def around(shape: tuple[ir.Exp, ...], partition: Space) -> list[Space]:
    """Return the partitions that have what this one leaves: two for each axis, below and above its bounds, and one for
    each axis with steps, between them. Together with it they have each index of the shape once."""
    whole = [Axis(length) for length in shape]
    inside = [Axis(axis.high, axis.low) for axis in partition]
    found: list[Space] = []
    for number, axis in enumerate(partition):
        head, tail = inside[:number], whole[number + 1:]
        if axis.low != ZERO:
            found.append((*head, Axis(axis.low), *tail))
        if axis.high != shape[number]:
            found.append((*head, Axis(shape[number], axis.high), *tail))
    for number, axis in enumerate(partition):
        if not axis.is_dense:
            between = Axis(axis.high, INTS.plus(axis.low, axis.width), axis.step, INTS.minus(axis.step, axis.width))
            found.append((*partition[:number], between, *inside[number + 1:]))
    return found
