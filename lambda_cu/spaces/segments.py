"""Lengths and starts of segments as expressions of the segment's number.

    space           length(s)                                   start(s)
    uniform         m                                           s*m
    closed          the sum of its terms                        the sum of their sums up to s
    nested          the lengths' polynomial of r and j          the sums up to row r, and that of the lengths up to j
    irregular       offsets[s+1] - offsets[s]                   offsets[s]

Segment s of a nested space is element j of row r (lambda_cu.spaces.rows).
"""
from __future__ import annotations

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.closed import INTS, ONE, sum_at, value_at
from nessie.lambda_cu.spaces.rows import PLACE, ROW, in_row


def length_at(space: ir.Segmented, segment: ir.Exp) -> ir.Exp:
    """Return the number of elements of a segment."""
    match space:
        case ir.Uniform(_, length):
            return INTS.size(length)
        case ir.Closed(_, terms, _):
            return value_at(terms, segment)
        case ir.Nested(rows, lengths, _, _):
            return in_row(rows, segment, within(lengths, 0))
        case ir.Irregular(_, offsets, _):
            return INTS.minus(ir.Read(offsets, INTS.plus(segment, ONE)), ir.Read(offsets, segment))
    raise TypeError(space)


def start_at(space: ir.Segmented, segment: ir.Exp) -> ir.Exp:
    """Return the number of elements before a segment, or before the end if it is the number of segments."""
    match space:
        case ir.Uniform(_, length):
            return INTS.times(segment, INTS.size(length))
        case ir.Closed(_, terms, _):
            return sum_at(terms, segment)
        case ir.Nested(rows, lengths, sums, _):
            return in_row(rows, segment, INTS.plus(sum_at(sums, ROW), within(lengths, 1)))
        case ir.Irregular(_, offsets, _):
            return ir.Read(offsets, segment)
    raise TypeError(space)


def within(lengths: tuple[ir.Term, ...], more: int) -> ir.Exp:
    """Return the length of element j of row r; with one more, the sum of those before j."""
    coefficients = [value_at((length,), ROW) for length in lengths]
    return INTS.sum([INTS.times(c, INTS.binomial(PLACE, k + more)) for k, c in enumerate(coefficients)])
