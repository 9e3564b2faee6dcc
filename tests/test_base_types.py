"""Types: a tuple of many components is a deep tree, which is compared and hashed without recursion."""
from __future__ import annotations

from nessie.base.types import BOOL, CHAR, INT, Pair, Seq, Type, components


def tuple_of(count: int, last: Type) -> Type:
    result = last
    for _ in range(count):
        result = Pair(INT, result)
    return result


def test_deep_tuples_are_compared() -> None:
    deep = tuple_of(20_000, BOOL)
    assert isinstance(deep, Pair)
    assert deep == tuple_of(20_000, BOOL) and hash(deep) == hash(tuple_of(20_000, BOOL))
    assert deep != tuple_of(20_000, CHAR) and deep != tuple_of(19_999, BOOL) and deep != INT and deep != deep.second
    assert len(components(deep)) == 20_001


def test_pairs_of_pairs() -> None:
    nested = Pair(Pair(INT, BOOL), Seq(INT))
    assert nested == Pair(Pair(INT, BOOL), Seq(INT)) != Pair(Pair(INT, INT), Seq(INT))
    assert nested != Seq(INT) != nested and Pair(INT, INT) != (INT, INT)
    assert components(nested) == (Pair(INT, BOOL), Seq(INT))
