"""Types: tuples, of which one of many components is a deep tree; names shown; variables."""
from __future__ import annotations

from nessie.base.types import (
    BOOL,
    CHAR,
    FLOAT,
    INT,
    Data,
    Pair,
    Seq,
    Type,
    Var,
    components,
    match_types,
    nest_right,
    show_type,
    substitute,
)


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


def test_the_name_that_the_user_wrote_is_shown() -> None:
    assert show_type(Pair(Data("point'2"), Seq(Data("table'10", (INT,))))) == "point, [table(int)]"


def test_tuples_nest_to_the_right() -> None:
    assert nest_right((INT, FLOAT, INT), Pair) == Pair(INT, Pair(FLOAT, INT))
    assert components(nest_right((INT, FLOAT, INT), Pair)) == (INT, FLOAT, INT)
    assert nest_right((INT,), Pair) == INT


def test_matching_is_the_inverse_of_substitution() -> None:
    a, b = Var("a"), Var("b", "number")
    pattern = Pair(Seq(a), Data("table", (b, a)))
    assert match_types(pattern, substitute(pattern, {"a": Seq(INT), "b": FLOAT})) == {"a": Seq(INT), "b": FLOAT}
    assert match_types(pattern, substitute(pattern, {"a": INT, "b": Seq(INT)})) is None
    assert match_types(Pair(a, a), Pair(INT, FLOAT)) is None
