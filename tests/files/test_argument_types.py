"""The types of arguments are found from all of them together, on the command line and from Python."""
from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import nessie
from nessie.arguments.words import arguments_of
from nessie.base.source import NessieError, Source
from nessie.base.types import BOOL, FLOAT, INT, STRING, Base, Pair, Seq, Type, show_type
from nessie.base.values import plain_value
from nessie.running.targets import Target
from nessie.session.session import Session

PROGRAM = """
function g(a, b) = a ++ b;
function both(a, b) = (a, b);
function beside(a, b) = if #a == 0 then [b] else a ++ [b];
function top(v) = max_val(v);
function mapped(fun, v) = {fun(x) : x in v};
function roots(v, w) = {sqrt(x) + y : x in v; y in w};
function all_of(v) = {x or x : x in v};
datatype point(float, float);
datatype named(a, [char]) :: (a in any);
function norms(p, q) = {x + y : point(x, y) in p ++ q};
"""
DOCUMENTS = {"none": "[]", "nones": "[[]]", "int": "[1]", "float": "[1.5]", "big": "[4e1]", "rows": "[[], [1.5]]",
             "ints": "[[1], []]", "nested": "[[[]], [[], [2]]]", "text": '"abc"', "letters": '["a", "b"]',
             "empty": '""', "texts": '["ab", ""]', "mixed": '["ab", []]', "bools": "[true]", "pairs": "[[1, 2]]",
             "named": '[[3, "z"]]'}
TEXTS = {"words.txt": "some text", "numbers.txt": "1 2\n3", "reals.txt": "1 2.5\n", "nothing.txt": "",
         "table.csv": "a,b\n1,x\n2,y\n", "column.csv": "a\n1\n2\n", "flags.csv": "a\nt\nfalse\n",
         "rowless.csv": "a,b\n", "lines.jsonl": "1\n2.5\n",
         "m.mtx": "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 5\n"}


@cache
def program() -> Session:
    made = Session(Target("reference"))
    for outcome in made.run(Source("p.nesl", PROGRAM)):
        assert not isinstance(outcome, Exception), outcome
    return made


def called(function: str, *texts: str) -> tuple[str, str]:
    """What a call on these ARGs gives, as NESL prints it, and its type."""
    made = replace(program())
    outcome = made.outcome("it", *made.call(function, arguments_of(made, function, texts)))
    return outcome.value, outcome.type


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {**{f"{name}.json": text for name, text in DOCUMENTS.items()}, **TEXTS}.items():
        Path(name).write_text(text)
    np.save("ints.npy", np.array([1, 2]))
    np.save("floats.npy", np.array([1.5]))
    np.save("chars.npy", np.array(["x", "y"]))
    np.save("matrix.npy", np.array([[1, 2], [3, 4]]))
    np.savez("rows.npz", offsets=np.array([0, 1]), content=np.array([2.5]))


@pytest.mark.parametrize(("call", "value", "type_"), [
    ("g @none.json @float.json", "[1.5]", "[float]"),
    ("g @float.json @none.json", "[1.5]", "[float]"),
    ("g @none.json @none.json", "[]", "[int]"),
    ("g @int.json @float.json", "[1.0, 1.5]", "[float]"),
    ("g @int.json @big.json", "[1.0, 40.0]", "[float]"),
    ("g @int.json @int.json", "[1, 1]", "[int]"),
    ("g @int.json [2.5]", "[1.0, 2.5]", "[float]"),
    ("g [2.5] @int.json", "[2.5, 1.0]", "[float]"),
    ("g @int.json [2]", "[1, 2]", "[int]"),
    ("g @none.json [t]", "[T]", "[bool]"),
    ("g @none.json '[(1, t)]'", "[(1, T)]", "[(int, bool)]"),
    ("g '[(1, 2.5)]' @pairs.json", "[(1, 2.5), (1, 2.0)]", "[(int, float)]"),
    ("g @nones.json @rows.json", "[[], [], [1.5]]", "[[float]]"),
    ("g @ints.json @rows.json", "[[1.0], [], [], [1.5]]", "[[float]]"),
    ("g @nones.json @none.json", "[[]]", "[[int]]"),
    ("g @nones.json @nested.json", "[[], [[]], [[], [2]]]", "[[[int]]]"),
    ('g @nones.json \'[["ab"]]\'', '[[], ["ab"]]', "[[[char]]]"),
    ("g @text.json @letters.json", '"abcab"', "[char]"),
    ("g @letters.json @text.json", '"ababc"', "[char]"),
    ("g @letters.json @letters.json", '["a", "b", "a", "b"]', "[[char]]"),
    ("g @none.json @text.json", '"abc"', "[char]"),
    ("g @empty.json @none.json", '""', "[char]"),
    ("g @none.json @texts.json", '["ab", ""]', "[[char]]"),
    ("g @mixed.json @nones.json", '["ab", "", ""]', "[[char]]"),
    ("top @text.json", "`c", "char"),
    ("top @letters.json", "`b", "char"),
    ("top @words.txt", "`x", "char"),
    ("top @numbers.txt", "3", "int"),
    ("top @int.json", "1", "int"),
    ("all_of @bools.json", "[T]", "[bool]"),
    ("all_of @int.json", "[1]", "[int]"),
    ("all_of @flags.csv", "[T, F]", "[bool]"),
    ("all_of @none.json", "[]", "[int]"),
    ("mapped sqrt @int.json", "[1.0]", "[float]"),
    ("mapped char_code @text.json", "[97, 98, 99]", "[int]"),
    ("mapped negate @int.json", "[-1]", "[int]"),
    ("roots @int.json @int.json", "[2.0]", "[float]"),
    ("g @numbers.txt @float.json", "[1.0, 2.0, 3.0, 1.5]", "[float]"),
    ("g @numbers.txt @reals.txt", "[1.0, 2.0, 3.0, 1.0, 2.5]", "[float]"),
    ("g @numbers.txt @text.json", '"1 2\n3abc"', "[char]"),
    ("g @words.txt @none.json", '"some text"', "[char]"),
    ("g @words.txt @texts.json", '["some text", "ab", ""]', "[[char]]"),
    ("g @nothing.txt @float.json", "[1.5]", "[float]"),
    ("g @nothing.txt @none.json", '""', "[char]"),
    ("g @column.csv @float.json", "[1.0, 2.0, 1.5]", "[float]"),
    ("g @column.csv @texts.json", '["1", "2", "ab", ""]', "[[char]]"),
    ('g @table.csv \'[(1.5, "z")]\'', '[(1.0, "x"), (2.0, "y"), (1.5, "z")]', "[(float, [char])]"),
    ("g @table.csv '[(1, `z)]'", "[(1, `x), (2, `y), (1, `z)]", "[(int, char)]"),
    ('g @table.csv \'[named(1.5, "z")]\'', '[named(1.0, "x"), named(2.0, "y"), named(1.5, "z")]', "[named(float)]"),
    ("g @rowless.csv @table.csv", '[(1, "x"), (2, "y")]', "[(int, [char])]"),
    ("g @rowless.csv @none.json", "[]", "[(int, int)]"),
    ("g @ints.npy @float.json", "[1.0, 2.0, 1.5]", "[float]"),
    ("g @ints.npy @floats.npy", "[1.0, 2.0, 1.5]", "[float]"),
    ("g @ints.npy [2.5]", "[1.0, 2.0, 2.5]", "[float]"),
    ("g @chars.npy @text.json", '"xyabc"', "[char]"),
    ("g @matrix.npy @rows.npz", "[[1.0, 2.0], [3.0, 4.0], [2.5]]", "[[float]]"),
    ("g @rows.npz @nones.json", "[[2.5], []]", "[[float]]"),
    ("g @m.mtx @nones.json", "[[(1, 5)], [], []]", "[[(int, int)]]"),
    ("g @m.mtx '[[(0, 1.5)]]'", "[[(1, 5.0)], [], [(0, 1.5)]]", "[[(int, float)]]"),
    ("g @lines.jsonl @int.json", "[1.0, 2.5, 1.0]", "[float]"),
    ("both @none.json @float.json", "([], [1.5])", "[int], [float]"),
    ("beside @none.json @int.json", "[[1]]", "[[int]]"),
    ("beside @none.json @float.json", "[[1.5]]", "[[float]]"),
    ("g @rows.json", "[1.5]", "[float]"),
    ("g @pairs.json '[point(1.0, 2.0)]'", "[point(1.0, 2.0), point(1.0, 2.0)]", "[point]"),
    ('g \'[named(1.5, "a")]\' @named.json', '[named(1.5, "a"), named(3.0, "z")]', "[named(float)]"),
    ('g @none.json \'[named(t, "a")]\'', '[named(T, "a")]', "[named(bool)]"),
    ("g @pairs.json @pairs.json", "[[1, 2], [1, 2]]", "[[int]]"),
    ("norms @pairs.json @pairs.json", "[3.0, 3.0]", "[float]"),
])
def test_the_type_of_an_argument_comes_from_all(files: None, call: str, value: str, type_: str) -> None:
    assert called(*shlex.split(call)) == (value, type_)


@pytest.mark.parametrize(("call", "message"), [
    ("g [1] @float.json", "argument 1 is [int] and argument 2 (@float.json) is [float]"),
    ("g @int.json @bools.json", "argument 1 (@int.json) is [int] and argument 2 (@bools.json) is [bool]"),
    ("g @text.json @rows.npz", "argument 1 (@text.json) is [char] and argument 2 (@rows.npz) is [[float]]"),
    ("g @pairs.json @m.mtx", "is [[int]] and argument 2 (@m.mtx) is [[("),
    ("g @nones.json '[(1, 2)]'", "argument 1 (@nones.json) is [[int]] and argument 2 is [(int, int)]"),
    ("mapped sqrt @text.json", "argument 1 is (float -> float) and argument 2 (@text.json) is [char]"),
])
def test_arguments_that_disagree_are_named_with_their_types(files: None, call: str, message: str) -> None:
    with pytest.raises(NessieError) as caught:
        called(*shlex.split(call))
    assert message in caught.value.message
    assert caught.value.message.startswith(call.split()[0] + " takes ")


@pytest.mark.parametrize(("written", "hint"), [
    ("1", "with a point, a number is a float: 1.0"), ("-2", "with a point, a number is a float: -2.0"),
    ("#[7]", "float(i) makes a float of an int; trunc, round, floor and ceil make an int of a float")])
def test_an_int_beside_a_file_of_floats_gets_a_hint(files: None, written: str, hint: str) -> None:
    with pytest.raises(NessieError) as caught:
        called("beside", "@float.json", written)
    assert caught.value.hint == hint


# Random arguments -------------------------------------------------------------------------------

SHAPES = st.recursive(st.sampled_from([FLOAT, FLOAT, BOOL, STRING]), lambda t: st.builds(Seq, t), max_leaves=3)
WITH_TUPLES = st.recursive(st.sampled_from([FLOAT, FLOAT, BOOL, STRING]),
                           lambda t: st.one_of(st.builds(Seq, t), st.builds(Pair, t, t)), max_leaves=4)


def values(shape: Type) -> st.SearchStrategy[Any]:
    """Where there is a float in the shape, a number."""
    match shape:
        case Seq(Base("char")):
            return st.text("ab", max_size=2)
        case Seq(element):
            return st.lists(values(element), max_size=2)
        case Pair(first, second):
            return st.tuples(values(first), values(second))
        case Base("bool"):
            return st.booleans()
    return st.one_of(st.integers(-9, 9), st.sampled_from([0.5, 2.0, -1e300]))


def evident(shape: Type, found: Sequence[Any]) -> Type:
    """The type of what stands at this place of the shape in the arguments; of nothing, int."""
    match shape:
        case _ if not found:
            return INT
        case Base("float"):
            return FLOAT if any(isinstance(value, float) for value in found) else INT
        case Seq(element) if shape != STRING:
            return Seq(evident(element, [e for value in found for e in value]))
        case Pair(first, second):
            return Pair(evident(first, [value[0] for value in found]), evident(second, [value[1] for value in found]))
    return shape


def as_nesl(value: Any, type_: Type) -> str:
    """An expression of this type for a value of its shape."""
    match type_:
        case Seq(Base("char")):
            return f'"{value}"' if value else "[] char"
        case Seq(element):
            return f"[{', '.join(as_nesl(e, element) for e in value)}]" if value else f"[] {show_type(element, False)}"
        case Pair(first, second):
            return f"({as_nesl(value[0], first)}, {as_nesl(value[1], second)})"
        case Base("bool"):
            return "t" if value else "f"
    return repr(float(value) if type_ == FLOAT else value).replace("e+", "e")


@settings(max_examples=examples(60))
@given(st.data())
def test_files_of_json_are_what_expressions_of_the_evident_types_are(tmp_path_factory: pytest.TempPathFactory,
                                                                   data: st.DataObject) -> None:
    shape = Seq(data.draw(SHAPES))
    given = data.draw(st.tuples(values(shape), values(shape)))
    type_ = evident(shape, given)
    texts = [as_nesl(value, type_) for value in given]
    open_ = list(texts)
    for number in data.draw(st.sampled_from([(0, 1), (0,), (1,)])):
        path = tmp_path_factory.getbasetemp() / f"open{number}.json"
        path.write_text(json.dumps(given[number]))
        open_[number] = f"@{path}"
    assert called("g", *open_) == called("g", *texts)


@settings(max_examples=examples(60))
@given(st.data())
def test_lists_of_python_are_what_expressions_of_the_evident_types_are(data: st.DataObject) -> None:
    shape = Seq(data.draw(WITH_TUPLES))
    given = data.draw(st.tuples(values(shape), values(shape)))
    type_ = evident(shape, given)
    assert isinstance(type_, Seq)
    taken = python()._taken("g", given)
    assert taken.types == (type_, type_)
    for value, one in zip(taken.values, given, strict=True):
        assert repr(plain_value(value, type_)) == repr(as_plain(one, type_))


def as_plain(value: Any, type_: Type) -> Any:
    match type_:
        case Seq(element):
            return [as_plain(e, element) for e in value]
        case Pair(first, second):
            return as_plain(value[0], first), as_plain(value[1], second)
    return float(value) if type_ == FLOAT else value


@cache
def python() -> nessie.Program:
    return nessie.compile(PROGRAM, target="reference")


CALLS: list[tuple[str, Callable[[nessie.Program], tuple[Any, ...]], str]] = [
    ("g", lambda p: ([], [1.5]), "[float] [float]"), ("g", lambda p: ([], []), "[int] [int]"),
    ("g", lambda p: ([1], [1.5]), "[float] [float]"), ("g", lambda p: ([], "xy"), "[char] [char]"),
    ("g", lambda p: (["a", "b"], "xy"), "[char] [char]"), ("g", lambda p: (["a", "b"], []), "[[char]] [[char]]"),
    ("top", lambda p: ([],), "[int]"), ("top", lambda p: (["a", "b"],), "[char]"), ("all_of", lambda p: ([],), "[int]"),
    ("g", lambda p: ([[]], [[1.5], []]), "[[float]] [[float]]"), ("g", lambda p: ([[], []], []), "[[int]] [[int]]"),
    ("g", lambda p: (np.array([1]), [1.5]), "[float] [float]"), ("g", lambda p: ({1}, {1.5}), "[float] [float]"),
    ("g", lambda p: (np.array([[1]]), [[], [1.5]]), "[[float]] [[float]]"),
    ("g", lambda p: (np.array([]), [1]), "[float] [float]"),
    ("g", lambda p: ([p.point(1.0, 2.0)], [(1, 2)]), "[point] [point]"),
    ("g", lambda p: ([p.named([], "a")], []), "[named([int])] [named([int])]"),
    ("g", lambda p: ([p.named([], "a")], [p.named([2.5], "b")]), "[named([float])] [named([float])]"),
    ("g", lambda p: ([p.named(1, "a")], [(2.5, "b")]), "[named(float)] [named(float)]"),
    ("g", lambda p: ([], [(1, 2.5)]), "[(int, float)] [(int, float)]"),
    ("g", lambda p: ([([], 1)], [([2.5], 1.5)]), "[([float], float)] [([float], float)]"),
    ("g", lambda p: (nessie.Tuples([1], [2]), [(1.5, 2)]), "[(float, int)] [(float, int)]"),
    ("g", lambda p: (nessie.Nested([0, 0], np.array([], int)), [[1.5]]), "[[float]] [[float]]"),
    ("g", lambda p: (np.array([(1, 2)], [("a", int), ("b", int)]), [(1, 2.5)]), "[(int, float)] [(int, float)]"),
    ("both", lambda p: ([], 1.5), "[int] float"), ("beside", lambda p: ([], [2.5]), "[[float]] [float]"),
    ("beside", lambda p: ([[]], [2.5]), "[[float]] [float]"), ("norms", lambda p: ([], [(1, 2)]), "[point] [point]"),
]


@pytest.mark.parametrize(("function", "arguments", "types"), CALLS, ids=[str(n) for n in range(len(CALLS))])
def test_python_arguments(function: str, arguments: Callable[[nessie.Program], tuple[Any, ...]], types: str) -> None:
    program = python()
    given = arguments(program)
    assert " ".join(show_type(type_, False) for type_ in program._taken(function, given).types) == types
    program[function](*given)


def test_arrays_of_awkward_share_their_types_with_other_arguments() -> None:
    ak = pytest.importorskip("awkward")
    g = python().g
    assert g(ak.Array([[], []]), [[1.5]]).tolist() == [[], [], [1.5]]
    assert repr(g(ak.Array([[1], []]), [[1.5]]).tolist()) == "[[1.0], [], [1.5]]"
    records = g(ak.Array([{"x": 1, "y": []}]), [(1.5, [2.5])])
    assert repr(records["0"].tolist()) == "[1.0, 1.5]" and records["1"].tolist() == [[], [2.5]]


@pytest.mark.parametrize(("arguments", "said"), [
    (([1], [True]), "argument 1 is [int] and argument 2 is [bool]"),
    (([(1, 2)], [[1, 2]]), "argument 1 is [(int, int)] and argument 2 is [[int]]"),
    (([], "a", 3), None), ((3, [1.5]), "but gets int, [float]"),
])
def test_python_arguments_that_disagree(arguments: tuple[Any, ...], said: str | None) -> None:
    with pytest.raises(nessie.NessieError) as caught:
        python().g(*arguments)
    assert said is None or said in caught.value.message
