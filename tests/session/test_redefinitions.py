"""A program defines names of the library anew: it has its own, the library keeps its own, on every executor."""
from __future__ import annotations

import pytest

import nessie
from nessie.base.source import NessieError, Source
from nessie.library.library import library
from nessie.library.primitives import CONSTANTS, PRIMITIVES
from nessie.running.targets import Target
from nessie.session.session import Session

HASH_TABLE = """
datatype hashtable([int], int);
function make_table(n) : int -> hashtable = hashtable(dist(-1, n), n);
function insert_table(keys, hashtable(v, n)) : ([int], hashtable) -> hashtable =
  hashtable(v <- {(rem(k, n), k) : k in keys}, n);
function search_table(key, hashtable(v, n)) : (int, hashtable) -> bool = v[rem(key, n)] == key;
function found(keys, wanted) : ([int], [int]) -> [bool] =
  let table = insert_table(keys, make_table(100)) in {search_table(k, table) : k in wanted};
function own(v) : [int] -> ([int], [int]) = (sort(v), rank(v));
function sort(v) = {-x : x in v};
function both(v) : [int] -> ([int], int) = (sort(v), kth_smallest(v, 0));
"""


@pytest.mark.parametrize("target", ["cpu", "reference", "cudasim"])
def test_a_program_has_its_own_and_the_library_keeps_its_own(target: str) -> None:
    program = nessie.compile(HASH_TABLE, target=target)
    assert program.found([3, 44], [3, 4, 44]).tolist() == [True, False, True]
    assert program.own([2, 1])[0].tolist() == [1, 2], "what was defined before keeps the library's"
    assert program.both([5, 2])[0].tolist() == [-5, -2] and program.both([5, 2])[1] == 2


def test_every_name_of_the_library_may_be_redefined_but_primitives_and_constants() -> None:
    for name in library().names():
        if name in PRIMITIVES or name in CONSTANTS:
            continue
        if name in ("stream", "hashtable"):
            form = f"datatype {name}(int);"
        elif name.isidentifier() and not name.startswith("_"):
            form = f"function {name}(x, y, z) = [x];"
        else:
            continue
        (outcome,) = Session(Target("reference")).run(Source("test.nesl", form))
        assert not isinstance(outcome, Exception), (name, outcome)


@pytest.mark.parametrize("name", ["max", "sqrt", "length", "elt", "pi", "max_int", "flatten", "int"])
def test_primitives_and_constants_are_protected(name: str) -> None:
    assert name in {**PRIMITIVES, **CONSTANTS} or name == "int"
    form = f"datatype {name}(float);" if name == "int" else f"function {name}(x) = x;"
    (outcome,) = Session(Target("reference")).run(Source("test.nesl", form))
    assert isinstance(outcome, NessieError) and f"{name} is built in, it cannot be redefined" in outcome.message


def test_library_functions_that_use_a_redefined_one_do_not_change() -> None:
    session = Session(Target("reference"))
    text = """function permute(v, i) = i; function zip(a, b) = a; function take(v, n) = v; function index(n) = [n];
              rotate([1, 2, 3], 1); rank([3, 1, 2]); bottop([1, 2, 3]); sort([2, 1]);"""
    shown = [str(outcome) for outcome in session.run(Source("test.nesl", text))][4:]
    uses = Source("test.nesl", text[text.index("rotate"):])
    assert shown == [str(outcome) for outcome in Session(Target("reference")).run(uses)]
