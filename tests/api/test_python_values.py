"""Values go into NESL from Python and come back: of every kind, in every shape, without copies where that is said."""
from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cache
from typing import Any

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import nessie
from nessie.api.values.arguments import Arguments
from nessie.cudagen.cuda.cudasim.compiler import found

CUDASIM = pytest.param("cudasim", marks=pytest.mark.skipif(not found(), reason="needs a C++ compiler"))
PROGRAM = """
function same(x) = x;
function twice(xss) = {{x + x : x in xs} : xs in xss};
function totals(xss) = {sum(xs) : xs in xss};
function both(xs) = (xs, {x : x in xs}, xs);
function floats(xs) : [float] -> [float] = xs;
function deep(xsss) : [[[int]]] -> [[int]] = {{sum(xs) : xs in xss} : xss in xsss};
function letter(c) : char -> char = c;
datatype point(float, int);
datatype tree(a, [a]) :: (a in any);
function points(ps) : [point] -> [point] = ps;
function swap(point(x, n)) = point(float(n), round(x));
table = [1, 2, 3];
function whole(i) = table;
"""
INTS = st.integers(-2**63, 2**63 - 1)
TEXTS = st.text(st.characters(), max_size=5)
SCALARS = [INTS, st.floats(allow_nan=False), st.booleans(), TEXTS]


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM)


def lists(result: Any) -> Any:
    """A result as Python's lists, tuples and scalars."""
    if isinstance(result, tuple):
        return tuple(map(lists, result))
    return result.tolist() if isinstance(result, np.ndarray | ak.Array) else \
        result.to_list() if hasattr(result, "to_list") else result


def flat(value: Any) -> Any:
    """The value, a tuple at the end of a tuple as its components: NESL does not tell them apart."""
    if isinstance(value, list):
        return [flat(item) for item in value]
    if isinstance(value, tuple):
        *first, last = map(flat, value)
        return (*first, *last) if isinstance(last, tuple) else (*first, last)
    return value


def address(array: Any) -> int:
    return int(np.asarray(array).__array_interface__["data"][0])


def elements(depth: int) -> st.SearchStrategy[Any]:
    """Values of one type: a strategy for values of a type drawn before."""
    simple = st.sampled_from(SCALARS)
    if depth == 0:
        return simple
    inner = elements(depth - 1)
    return st.one_of(simple, inner.map(lambda s: st.lists(s, min_size=1, max_size=4)),
                     st.lists(inner, min_size=2, max_size=3).map(lambda several: st.tuples(*several)))


@settings(max_examples=examples(60))
@given(st.data())
def test_every_value_comes_back(data: st.DataObject) -> None:
    value = data.draw(data.draw(elements(3)))
    assert lists(program().same(value)) == flat(value)


ROWS = st.lists(st.lists(st.integers(-10**9, 10**9), max_size=4), max_size=6).filter(any)


@settings(max_examples=examples(60))
@given(ROWS, st.randoms(use_true_random=False))
def test_nested_values_agree_in_whatever_form(rows: list[list[int]], random: Any) -> None:
    offsets = np.cumsum([0, *map(len, rows)])
    content = np.array([x for row in rows for x in row], np.int64)
    awkward = ak.Array(rows)
    order = random.sample(range(len(rows)), len(rows))
    back = np.argsort(order)
    views = awkward[order][back]                # a ListArray: rows in their order, their elements not
    forms = [rows, [np.array(row, np.int64) for row in rows], nessie.Nested(offsets, content), awkward, views,
             pa.array(rows, pa.large_list(pa.int64())), pa.array(rows, pa.list_(pa.int32()))]
    expected = [[x + x for x in row] for row in rows]
    for form in forms:
        assert lists(program().twice(form)) == expected
        assert lists(program().totals(form)) == [sum(row) for row in rows]
    assert lists(program().totals(awkward[order])) == [sum(rows[i]) for i in order]
    assert lists(program().same(awkward[order])) == [rows[i] for i in order]


@pytest.mark.parametrize("target", ["reference", CUDASIM])
def test_views_on_other_targets(target: str) -> None:
    rows = ak.Array([[1, 2], [], [3, 4, 5], [6]])[[2, 0, 0, 1]]
    assert type(rows.layout).__name__ == "ListArray"
    assert program().twice(rows, target=target).to_list() == [[6, 8, 10], [2, 4], [2, 4], []]
    assert program().totals(rows, target=target).to_list() == [12, 3, 3, 0]
    assert program().totals(np.arange(6).reshape(2, 3), target=target).tolist() == [3, 12]


@settings(max_examples=examples(30))
@given(st.lists(st.lists(st.lists(st.integers(-99, 99), max_size=3), max_size=3), max_size=4), st.data())
def test_deeply_nested_views(value: list[list[list[int]]], data: st.DataObject) -> None:
    awkward = ak.values_astype(ak.Array([*value, [[0]]]), np.int64)[:-1]
    order = data.draw(st.permutations(range(len(value))))
    expected = [[sum(xs) for xs in value[i]] for i in order]
    assert lists(program().deep(awkward[list(order)])) == expected
    assert lists(program().deep([value[i] for i in order])) == expected


@pytest.mark.parametrize("array", [
    np.arange(4, dtype=np.int32), np.arange(4, dtype=np.uint8), np.float32([1.5, 2]), np.arange(8.0)[::2],
    np.arange(4)[::-1], np.array([True, False]), np.arange(6).reshape(2, 3).T, np.zeros((2, 0)), np.zeros((2, 2, 2)),
    np.array(["ab", "c"]), np.array([(1, 2.5)], [("a", "i4"), ("b", "f4")]),
    np.arange(3, dtype=">i8"), np.arange(4.0).view(np.recarray), np.arange(4).reshape(2, 2).view(np.matrix),
    np.array([[(1, 2.5), (3, 4.5)], [(5, 6.5), (7, 8.5)]], [("a", "i4"), ("b", "f4")]),
    np.array([["ab", "c"], ["", "d"]]), np.array([[1, 2], [3, 4]], object),
    np.frombuffer(b"\0" * 17, np.uint8)[1:].view(np.float64)], ids=str)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_arrays_of_other_kinds(array: Any) -> None:
    assert lists(program().same(array)) == array.tolist()


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="needs NumPy 2")
def test_missing_texts_are_refused() -> None:
    with pytest.raises(nessie.NessieError, match="an array of texts has missing values\nhint: a list without"):
        program().same(np.array(["a", None], STRINGS(na_object=None)))


LETTERS, WORDS = np.array(["a", "b"]), np.array(["ab", "c"])
STRINGS = getattr(np.dtypes, "StringDType", lambda **_: np.dtype(object))          # since NumPy 2
LONG = WORDS.astype(STRINGS())
MARKED = np.array([("a", 1), ("b", 2)], [("name", "U1"), ("number", int)])
TEXTS_PROGRAM = """
function texts(v) : [[char]] -> [[char]] = v;
function both(v, w) = v ++ w;
function codes(v) = {char_code(c) : c in v};
function names(v) : [([char],int)] -> [[char]] = {name : (name, _) in v};
"""


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize(("call", "expected"), [
    (lambda p: p.texts(LETTERS), ["a", "b"]),
    (lambda p: p.texts(LETTERS[:0]), []),
    (lambda p: p.texts(LONG), ["ab", "c"]),
    (lambda p: p.texts(np.array(["a", ""])), ["a", ""]),
    (lambda p: p.texts(np.array([["a", "b"], ["c", "d"]])), ["ab", "cd"]),
    (lambda p: p.texts(LONG[:0]), []),
    (lambda p: p.texts([LETTERS, LETTERS]), ["ab", "ab"]),
    (lambda p: p.both(LETTERS, WORDS), ["a", "b", "ab", "c"]),
    (lambda p: p.both(WORDS, LETTERS), ["ab", "c", "a", "b"]),
    (lambda p: p.both(LETTERS, LONG), ["a", "b", "ab", "c"]),
    (lambda p: p.both(LETTERS, ["xy"]), ["a", "b", "xy"]),
    (lambda p: p.both(LETTERS, "xy"), "abxy"),
    (lambda p: p.both(LETTERS, LETTERS), "abab"),
    (lambda p: p.codes(LETTERS), [97, 98]),
    (lambda p: p.codes(LETTERS.astype(STRINGS())), [97, 98]),
    (lambda p: p.names(MARKED), ["a", "b"]),
    (lambda p: p.names(nessie.Tuples(LETTERS, [1, 2])), ["a", "b"])])
def test_arrays_of_texts(target: str, call: Callable[[nessie.Program], Any], expected: Any) -> None:
    """Of one character or more; an array of single characters is texts where texts are wanted. Every time."""
    program = nessie.compile(TEXTS_PROGRAM, target=target)
    for _ in range(3):
        found = call(program)
        assert (found if isinstance(found, str) else [*found]) == expected


def test_an_array_of_characters_is_a_text() -> None:
    for dtype in ("<U1", ">U1"):
        assert program().same(np.array(["a", "\U0001f600"], dtype)) == "a\U0001f600"
        assert program().same(np.array([["a", "b"], ["c", "d"]], dtype)).to_list() == ["ab", "cd"]
    assert program().same(nessie.Nested([0, 2], np.array(["a", "\0"]))).to_list() == ["a\0"]


def test_numpy_scalars() -> None:
    assert program().same((np.int32(1), np.float32(2.5), np.bool_(True), np.array(3))) == (1, 2.5, True, 3)
    assert type(program().same(np.int16(3))) is int


def test_the_type_of_the_parameter_decides() -> None:
    assert lists(program().floats([1, 2])) == [1.0, 2.0] and program().floats([1, 2]).dtype == np.float64
    assert program().floats(np.arange(2)).dtype == np.float64
    assert program().floats([]).dtype == np.float64
    assert program().letter("x") == "x"
    assert len(program().deep([[]])) == 1


def test_datatypes_are_named_tuples() -> None:
    point, tree = program().point, program().tree
    assert program().swap(point(1.0, 2)) == point(2.0, 1) == program().swap((1, 2))
    assert program().points([point(1.5, 2), (3, 4)]).to_list() == [point(1.5, 2), point(3.0, 4)]
    assert program().same(tree("a", ["b", "c"]))._1.to_list() == ["b", "c"]
    assert type(program().same([point(1.0, 2)])[0]) is point
    assert isinstance(program().same(program().same([point(1.0, 2)])), nessie.Tuples)


def test_offsets_are_their_own_and_exchanged_ones_are_checked() -> None:
    given = np.array([0, 2, 3])
    rows = nessie.Nested(given, np.arange(3))
    given[1] = 9
    with pytest.raises(ValueError, match="read-only"):
        rows.offsets[1] = 9
    assert program().totals(rows).tolist() == [1, 2]
    wrong = np.array([0, 9, 3])
    wrong.flags.writeable = False
    for exchanged in (program().same(rows), rows):
        exchanged.offsets = wrong
        with pytest.raises(nessie.NessieError, match="never fall"):
            program().totals(exchanged)


def test_a_content_of_another_length_is_noticed() -> None:
    for rows in (nessie.Nested([0, 2, 3], np.arange(3)), program().same(nessie.Nested([0, 2, 3], np.arange(3)))):
        rows.content = np.arange(2)
        with pytest.raises(nessie.NessieError, match="never fall"):
            program().totals(rows)


def test_offsets_that_somebody_made_writable_are_checked() -> None:
    rows = nessie.Nested([0, 2, 3], np.arange(3))
    rows.offsets.flags.writeable = True
    rows.offsets[1] = 9
    with pytest.raises(nessie.NessieError, match="never fall"):
        program().totals(rows)


# Memory -----------------------------------------------------------------------------------------


def test_awkward_rows_go_in_and_out_without_a_copy_of_their_content() -> None:
    lengths = np.arange(1_000_000) % 7
    rows = ak.unflatten(np.arange(lengths.sum()), lengths)
    arguments = Arguments(program()._datatypes)
    flat, _ = arguments.value(rows, None)
    assert address(flat.column.content) == address(rows.layout.content.data)
    assert address(flat.column.offsets) == address(rows.layout.offsets.data)
    back = program().same(rows)
    assert address(back.layout.content.data) == address(rows.layout.content.data)
    assert len(back) == 1_000_000 and not arguments.notes
    turned = rows[::-1]
    view, _ = arguments.value(turned, None)
    assert address(view.column.content) == address(rows.layout.content.data)
    assert program().totals(turned)[0] == rows[-1].to_numpy().sum()
    arrow = ak.to_arrow(rows, list_to32=False, extensionarray=False)
    assert pa.types.is_large_list(arrow.type)
    from_arrow, _ = arguments.value(arrow, None)
    assert address(from_arrow.column.content) == arrow.values.buffers()[1].address


def test_a_result_becomes_awkward_in_its_memory() -> None:
    result = program().twice([[1, 2], [3]])
    awkward = nessie.as_awkward(result)
    assert awkward.to_list() == [[2, 4], [6]] and address(awkward.layout.content.data) == address(result.content)
    assert nessie.as_awkward(program().same([("a", 1)])).to_list() == [("a", 1)]
    assert nessie.as_awkward((1, result))[1].to_list() == [[2, 4], [6]]
    point = program().point(1.0, 2)
    assert nessie.as_awkward(program().same([point])).layout.parameter("__record__") == "point"


def test_awkward_records_are_datatypes_by_their_names() -> None:
    records = ak.Array(ak.contents.RecordArray([ak.contents.NumpyArray(np.array([1.0])),
                                                ak.contents.NumpyArray(np.array([2]))], None,
                                               parameters={"__record__": "point"}))
    others = ak.with_name(ak.zip([["a"], [1], [2]]), "point")

    def record(value: Any) -> Any:
        return value.layout.parameter("__record__")
    for read in (False, True):
        fresh = nessie.compile(PROGRAM)
        assert not read or fresh.point
        assert record(fresh.same(records)) == "point" and fresh.points(records).to_list() == [(1.0, 2)]
        assert record(fresh.same(others)) is None and fresh.same(others).to_list() == [("a", 1, 2)]
    again = fresh.same(fresh.same(records))
    fresh.define("datatype point(int); function made(x) = point(x);")
    assert record(fresh.same(again)) is None and fresh.same(again).to_list() == [(1.0, 2)]
    assert record(fresh.same(nessie.as_awkward(fresh.same([fresh.made(3)])))) == "point"
    assert record(fresh.points(again)) == "point"


def test_numpy_is_used_where_it_lies_and_never_shared() -> None:
    array = np.arange(100_000.0)
    flat, _ = Arguments(program()._datatypes).value(array, None)
    assert address(flat.column) == address(array)
    nested = nessie.Nested([0, len(array)], array)
    texts = np.array(["a"] * 200)
    both = nessie.Tuples(texts, np.arange(200))
    parts = [program().same(array), *program().both(array), program().same(nested).content,
             *program().same(both).columns, program().same(nessie.Nested([0, 200], texts)).content]
    for number, part in enumerate(parts):
        assert not any(np.shares_memory(part, given) for given in (array, texts, both.columns[1]))
        assert part.flags.writeable
        assert not any(np.shares_memory(part, other) for other in parts[:number])
    assert not np.shares_memory(program().whole(1), program().whole(2))
    program().whole(1)[:] = 0
    assert program().table.tolist() == [1, 2, 3]


def test_what_a_result_has_no_later_call_uses() -> None:
    rows = nessie.Nested(np.arange(100_001), np.arange(100_000))
    kept = [program().twice(rows) for _ in range(4)]
    spans = sorted((address(r.content), address(r.content) + r.content.nbytes) for r in kept)
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:]))
    expected = np.arange(100_000) * 2
    part = kept[0].content[5:10]
    del kept[0]
    gc.collect()
    for _ in range(5):
        program().twice(nessie.Nested(np.arange(100_001), np.arange(100_000) + 7))
    assert all(np.array_equal(r.content, expected) for r in kept) and np.array_equal(part, expected[5:10])


def test_offsets_may_not_be_written_to() -> None:
    offsets = np.arange(3)
    seen = offsets[:]
    seen.flags.writeable = False
    for passed in (offsets, seen):
        for function in (program().twice, program().same):
            result = function(nessie.Nested(passed, np.arange(2)))
            assert not result.offsets.flags.writeable and offsets.flags.writeable
            assert not np.shares_memory(result.offsets, offsets)


def test_what_is_converted_is_told() -> None:
    def notes(value: Any, wanted: Any = None) -> list[str]:
        arguments = Arguments(program()._datatypes, "x")
        arguments.value(value, wanted)
        return arguments.notes
    rows = nessie.Nested(np.array([0, 2], np.int32), np.arange(2))
    assert notes(rows) == ["x: 2 offsets of int32, copied as contiguous int64"]
    assert notes(nessie.Nested(np.array([0, 2]), np.arange(2))) == []
    views = ak.Array(ak.contents.ListArray(ak.index.Index32(np.int32([0])), ak.index.Index32(np.int32([2])),
                                           ak.contents.NumpyArray(np.arange(2))))
    assert notes(views) == ["x: 1 starts or stops of int32, converted to int64"] * 2
    chosen = ak.Array(ak.contents.IndexedArray(ak.index.Index64(np.array([1, 0])),
                                               ak.contents.NumpyArray(np.arange(2))))
    assert notes(chosen) == ["x: an Awkward array of 2 elements that are selected by indices, copied"]
    assert "x: 2 chunks of Arrow's, put together" in notes(pa.chunked_array([[1], [2]]))
    assert notes(pa.array([True, False])) == ["x: bools of Arrow's, which are bits, converted"]
    assert notes(np.array([1, 2], object)) == ["x: an array of 2 Python objects, converted one by one"]
    assert notes(np.array(["ab", "c"])) == ["x: an array of 2 texts of <U2, converted"]
    assert notes(np.array(["a", "b", "c"])[::2]) == ["x: an array of 2 elements not contiguous, copied"]
    assert notes(np.array(["a", "b"], ">U1")) == ["x: an array of 2 elements of >U1, converted to <U1"]
    assert notes(np.arange(3), None) == notes(np.array(["a"])) == notes(ak.Array([[1], [2]])) == []
