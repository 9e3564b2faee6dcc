"""Written types: the sequences in them, whether lengths are told, and which names lengths mention."""
from __future__ import annotations

from collections.abc import Iterator

from nessie.syntax import nodes as syntax

LENGTHS = ("a length is made of whole numbers, names, +, -, *, a / 2, a ^ 2, 2 ^ a, min(a, b), max(a, b), rem(a, 2) "
           "and mod(a, 2)")


def sequences(written: syntax.TypeExp) -> Iterator[syntax.TypeSeq]:
    """Yield the sequences in a type, each before those inside it."""
    match written:
        case syntax.TypeSeq(element):
            yield written
            yield from sequences(element)
        case syntax.TypePair(first, second) | syntax.TypeFun(first, second):
            yield from sequences(first)
            yield from sequences(second)
        case syntax.TypeName(_, arguments):
            for argument in arguments:
                yield from sequences(argument)


def tells_lengths(written: syntax.TypeExp | None) -> bool:
    """Does the type tell how long any sequence is?"""
    return written is not None and any(one.length is not None or one.uniform for one in sequences(written))


def names_in(exp: syntax.Exp) -> Iterator[syntax.Name]:
    """Yield the names in the formula of a length."""
    match exp:
        case syntax.Name():
            yield exp
        case syntax.Unary(_, a):
            yield from names_in(a)
        case syntax.Binary(_, a, b) | syntax.Apply(_, syntax.Pair(a, b)):
            yield from names_in(a)
            yield from names_in(b)


def without_lengths(written: syntax.TypeExp) -> syntax.TypeExp:
    """Return the type that tells of no lengths."""
    match written:
        case syntax.TypeSeq(element):
            return syntax.TypeSeq(without_lengths(element))
        case syntax.TypePair(first, second):
            return syntax.TypePair(without_lengths(first), without_lengths(second))
    return written
