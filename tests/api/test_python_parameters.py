"""Arguments by keyword, and the signature that Python shows."""
from __future__ import annotations

import inspect
from itertools import permutations
from typing import Any

import pytest

import nessie

PROGRAM = """
function scaled(v, by := 10, plus := 0) = {x * by + plus : x in v};
function parts(a, (b, c), d) = (a, b, c, d);
function from_to(from, to) = [from:to];
function weighed(lambda, x) = lambda * x;
function same(x) = x;
"""


@pytest.mark.parametrize("function, signature", [
    ("same", "(x: 'a :: (a in any)', *, target: 'str | None' = None) -> 'a :: (a in any)'"),
    ("from_to", "(argument_1: 'int', /, to: 'int', *, target: 'str | None' = None) -> '[int]'"),
    ("parts", "(a: 'a :: (a in any)', argument_2: 'a, b :: (a in any; b in any)', /, d: 'a :: (a in any)', *, "
              "target: 'str | None' = None) -> 'a, b, c, d :: (a in any; b in any; c in any; d in any)'"),
    ("scaled", "(v: '[a] :: (a in number)', by: 'a :: (a in number)' = 10, plus: 'a :: (a in number)' = 0, *, "
               "target: 'str | None' = None) -> '[a] :: (a in number)'")])
def test_inspect_shows_the_signature(function: str, signature: str) -> None:
    assert str(inspect.signature(nessie.compile(PROGRAM)[function])) == signature


def test_arguments_go_in_by_keyword_in_any_order() -> None:
    program = nessie.compile(PROGRAM)
    for names in permutations(["v", "by", "plus"]):
        values: dict[str, Any] = {"v": [1, 2], "by": 3, "plus": 4}
        assert program.scaled(**{name: values[name] for name in names}).tolist() == [7, 10]
    assert program.scaled(v=[2], plus=1).tolist() == [21]
    assert program.from_to(to=3, **{"from": 1}).tolist() == [1, 2] == program.from_to(1, TO=3).tolist()
    assert program.weighed(x=2, **{"lambda": 3}) == 6 and program.parts(1, (2, 3), d=4) == (1, 2, 3, 4)


@pytest.mark.parametrize("arguments, named, told", [
    ((), {"by": 3}, "scaled is not given v"), (([1],), {"bay": 3}, "did you mean by?"),
    (([1],), {"v": [1]}, "v of scaled is given twice"), (([1], 2, 3), {"plus": 1}, "it is argument 3")])
def test_what_is_missing_or_too_much_is_told(arguments: tuple[Any, ...], named: dict[str, Any], told: str) -> None:
    with pytest.raises(nessie.NessieError) as raised:
        nessie.compile(PROGRAM).scaled(*arguments, **named)
    assert told in str(raised.value)


def test_a_pattern_has_no_name() -> None:
    with pytest.raises(nessie.NessieError, match="parts is not given argument 2"):
        nessie.compile(PROGRAM).parts(1, d=4)
