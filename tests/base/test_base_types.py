"""Types: tuples, of which one of many components is a deep tree; names shown; variables."""
from __future__ import annotations

import copy
import pickle
import sys
from dataclasses import replace

from processes import finished

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
    _made,
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


def test_deep_types_are_compared() -> None:
    def deep(count: int, last: Type) -> Type:
        for _ in range(count):
            last = Data("d", (Seq(last),))
        return last

    assert deep(20_000, INT) is deep(20_000, INT) and hash(deep(20_000, INT)) == hash(deep(20_000, INT))
    assert deep(20_000, INT) != deep(20_000, BOOL) and deep(19_999, INT) != deep(20_000, INT)


def test_what_is_left_out_is_the_default() -> None:
    assert Var("a") is Var("a", "any") and Var("a") != Var("a", "number")
    assert Data("a") is Data("a", ()) and Data("a") != Var("a")


def test_types_that_threads_make_at_once_are_equal() -> None:
    one = Seq(Var("made by two threads"))
    _made.clear()
    other = Seq(Var("made by two threads"))
    assert one is not other and one == other and hash(one) == hash(other) and Seq(one) == Seq(other)


def test_types_go_to_other_processes() -> None:
    """Where texts have other hashes."""
    written = pickle.dumps(Pair(Seq(INT), Data("table", (Var("a"),))))
    program = "import pickle, sys; from nessie.base.types import *; " \
              "print(pickle.load(sys.stdin.buffer) is Pair(Seq(INT), Data('table', (Var('a'),))))"
    assert finished([sys.executable, "-c", program], input=written, text=False).stdout == b"True\n"
    assert copy.deepcopy(Seq(INT)) is Seq(INT) and replace(Var("a"), cls="number") is Var("a", "number")
