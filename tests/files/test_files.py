"""Files as values: every format read and written, every way to be malformed told with its line."""
from __future__ import annotations

import csv
import io
import math
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from nessie.arguments.types import GivenArgument, Parameters, types_of
from nessie.base.source import NessieError
from nessie.base.types import (
    BOOL,
    CHAR,
    FLOAT,
    INT,
    STRING,
    ContentOf,
    Data,
    Fun,
    Identity,
    Pair,
    Seq,
    Type,
    Var,
    no_datatypes,
)
from nessie.base.values import flatten_value, plain_value
from nessie.files import files as value_files
from nessie.files.files import TableStyle, made, open_file, write_value
from nessie.files.reading import MemoryBudget

ROWS = Seq(Seq(Pair(INT, FLOAT)))


def written(folder: Path, name: str, data: str | bytes) -> str:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


def read_value(path: str, type_: Type | None = None, content: ContentOf = no_datatypes,
               room: MemoryBudget | None = None) -> tuple[Any, Type]:
    """The flat value in the file as the only argument of a function that takes such a type; its type."""
    file = open_file(path, room)
    (found,) = types_of([GivenArgument("argument 1", file, file)], Parameters("", [type_], content))
    return made(path, file, found, content), found


def read(path: str, type_: Type | None = None) -> tuple[Any, Type]:
    value, found = read_value(path, type_)
    return plain_value(value, found), found


def complaint(path: str, type_: Type | None = None) -> str:
    with pytest.raises(NessieError) as caught:
        read_value(path, type_, room=MemoryBudget(1 << 30))
    assert path in caught.value.message
    return caught.value.message.removeprefix(path)


# JSON -------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("text", "type_", "value", "found"), [
    ("3", None, 3, INT), ("[1, 2.5]", None, [1.0, 2.5], Seq(FLOAT)),
    ("[[1], [2e0]]", None, [[1.0], [2.0]], Seq(Seq(FLOAT))),
    ("[]", None, [], Seq(INT)), ("[[], [true]]", None, [[], [True]], Seq(Seq(BOOL))),
    ('"ab"', None, ["a", "b"], STRING),
    ("[1, 2]", Seq(FLOAT), [1.0, 2.0], Seq(FLOAT)), ("[1, 2, 3]", Pair(INT, Pair(FLOAT, INT)), (1, (2.0, 3)), None),
    ("[[1, 2], 3]", Pair(Pair(INT, INT), INT), ((1, 2), 3), None),
    ('[["a", 1]]', Seq(Pair(STRING, INT)), [(["a"], 1)], None),
    ("[NaN, Infinity, -Infinity]", None, [math.nan, math.inf, -math.inf], Seq(FLOAT)), ('"x"', CHAR, "x", CHAR),
    ('["x", "y"]', STRING, ["x", "y"], STRING), ("[]", Seq(Pair(INT, STRING)), [], None),
    ("[[1, 2.5], [2, 3]]", Seq(Pair(INT, Var("a", "number"))), [(1, 2.5), (2, 3.0)], Seq(Pair(INT, FLOAT))),
    ("\ufeff[1]", None, [1], Seq(INT)),
])
def test_json(tmp_path: Path, text: str, type_: Type | None, value: Any, found: Type | None) -> None:
    got, got_type = read(written(tmp_path, "x.json", text), type_)
    assert got_type == (found or type_)
    assert repr(got) == repr(value)


@pytest.mark.parametrize(("text", "type_", "reason"), [
    ("[1,\n2", None, ", line 2: not JSON"),
    ("[1,\n2,\n\"x\"]", Seq(INT), ", line 3: at [2]: a string where int is wanted"),
    ("[[1],\n [2.5]]", Seq(Seq(INT)), ", line 2: at [1][0]: a float where int is wanted"),
    ("[[1, 2],\n[3]]", Seq(Pair(INT, INT)), ", line 2: at [1]: an array of 1 where (int, int) is wanted"),
    ("[1, \"a\"]", None, ", line 1: at [1]: the array holds both int and [char]"),
    ("[\nnull]", None, ", line 2: at [0]: null, which is no NESL value"),
    ("{\"a\": 1}", None, ", line 1: an object, which is no NESL value"),
    ("[9223372036854775808]", Seq(INT), ", line 1: at [0]: the number is beyond 64 bits"),
    ("[1000000000000000000000,\n\"x\"]", Seq(FLOAT), ", line 2: at [1]: a string where float is wanted"),
    (f"[1,\n{'9' * 5000},\n2]", Seq(INT), ", line 2: at [1]: the number is beyond 64 bits"),
    (f"[1,\n-{'9' * 5000},\n2]", Seq(FLOAT), ", line 2: at [1]: the number is beyond the floats"),
    ("true", INT, ", line 1: true where int is wanted"),
    ("\"xy\"", CHAR, ", line 1: a string where char is wanted"),
    ("[1,\ntrue]", Seq(Var("a", "number")), ", line 2: at [1]: true where a number is wanted"),
    ('[[1],\n["a"]]', Seq(Seq(Var("a", "number"))), ", line 2: at [1][0]: a string where a number is wanted"),
    ('[[1, 2],\n[3, 4],\n["a", 5]]', Seq(Pair(Var("a"), INT)), ", line 3: at [2][0]: holds both int and [char]"),
])
def test_malformed_json(tmp_path: Path, text: str, type_: Type | None, reason: str) -> None:
    assert complaint(written(tmp_path, "x.json", text), type_).startswith(reason)


@pytest.mark.parametrize(("text", "type_", "value", "found"), [
    ("[1, 2]\n\n[]\r\n[3]", None, [[1, 2], [], [3]], Seq(Seq(INT))), ("1\n2.5\n", None, [1.0, 2.5], Seq(FLOAT)),
    ('[1, "a\u2028b"]\n', Seq(Pair(INT, STRING)), [(1, list("a\u2028b"))], None), ("", Seq(FLOAT), [], None),
])
def test_jsonl(tmp_path: Path, text: str, type_: Type | None, value: Any, found: Type | None) -> None:
    assert read(written(tmp_path, "x.jsonl", text), type_) == (value, found or type_)


@pytest.mark.parametrize(("text", "type_", "reason"), [
    ("1\n[2,\n", None, ", line 2: not JSON: "), ("1 2\n", None, ", line 1: not JSON: the value has ended before"),
    ("1\n\n2.5\n", Seq(INT), ", line 3: at [1]: a float where int is wanted"),
    ("[1]\n[2, true]\n", Seq(Seq(Var("a", "number"))), ", line 2: at [1][1]: true where a number is wanted"),
    ("1\n\n\"a\"", None, ", line 3: at [1]: "), ("1\n", INT, ", line 1: an array where int is wanted"),
])
def test_malformed_jsonl(tmp_path: Path, text: str, type_: Type | None, reason: str) -> None:
    assert complaint(written(tmp_path, "x.jsonl", text), type_).startswith(reason)


def test_json_datatypes_are_arrays_of_their_fields(tmp_path: Path) -> None:
    contents: dict[str, Type] = {"point": Pair(FLOAT, FLOAT), "box": INT}
    type_ = Seq(Pair(INT, Pair(Data("point"), Data("box"))))
    path = written(tmp_path, "x.json", "[[1, [2, 3.5], [4]]]")
    value, found = read_value(path, type_, lambda data: contents[data.name])
    assert found == type_
    write_value(path, value, type_, lambda data: contents[data.name])
    assert Path(path).read_text() == "[[1, [2.0, 3.5], [4]]]\n"


def scalars(type_: Type) -> st.SearchStrategy[Any]:
    return {INT: st.integers(-2**63, 2**63 - 1), FLOAT: st.floats(allow_nan=False), BOOL: st.booleans(),
            CHAR: st.characters(exclude_categories=["Cs"])}[type_]


TYPES = st.recursive(st.sampled_from([INT, FLOAT, BOOL, CHAR]),
                     lambda t: st.one_of(st.builds(Seq, t), st.builds(Pair, t, t)), max_leaves=4)


def values(type_: Type) -> st.SearchStrategy[Any]:
    match type_:
        case Seq(element):
            return st.lists(values(element), max_size=4)
        case Pair(first, second):
            return st.tuples(values(first), values(second))
    return scalars(type_)


@settings(max_examples=examples(100))
@given(st.data())
def test_json_round_trip(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    type_ = data.draw(TYPES)
    value = data.draw(values(type_))
    path = str(tmp_path_factory.mktemp("json") / "x.json")
    write_value(path, flatten_value(value, type_), type_)
    again, found = read_value(path, type_)
    assert found == type_
    assert plain_value(again, type_) == value


# Text and tables --------------------------------------------------------------------------------

@pytest.mark.parametrize(("text", "type_", "value", "found"), [
    ("a\nb\n", STRING, list("a\nb\n"), None), ("", STRING, [], None),
    ("ab\n\nc", Seq(STRING), [list("ab"), [], ["c"]], None), ("x\r\ny\r\n", Seq(STRING), [["x"], ["y"]], None),
    ("", Seq(STRING), [], None), ("\n", Seq(STRING), [[]], None),
    ("1 -2\n 3", Seq(INT), [1, -2, 3], None), ("1 2.5e1 inf", Seq(FLOAT), [1.0, 25.0, math.inf], None),
    ("7\n", INT, 7, None),
    ("1 2", None, [1, 2], Seq(INT)), ("1 2.", None, [1.0, 2.0], Seq(FLOAT)), ("1 b", None, list("1 b"), STRING),
    ("1 2", Seq(Var("a", "number")), [1, 2], Seq(INT)), ("", Seq(INT), [], None),
    ("\n", Seq(Var("a", "number")), [], Seq(INT)), ("", Seq(Var("a", "ordinal")), [], STRING), ("", None, [], STRING),
    ("7", Var("a", "number"), 7, INT), ("7.5", Var("a", "ordinal"), 7.5, FLOAT),
])
def test_txt(tmp_path: Path, text: str, type_: Type | None, value: Any, found: Type | None) -> None:
    got, got_type = read(written(tmp_path, "x.txt", text), type_)
    assert (got, got_type) == (value, found or type_)


@pytest.mark.parametrize(("text", "type_", "reason"), [
    ("1\n2 x\n", Seq(INT), ', line 2: "x" is not an int'), ("1\n2.5", Seq(INT), ', line 2: "2.5" is not an int'),
    ("1_0", Seq(INT), ', line 1: "1_0" is not an int'), ("9" * 20, Seq(INT), ", line 1: "),
    ("1 2", INT, ", line 1: one number is due, the file has 2"),
    (b"ok\n\xff", STRING, ", line 2: byte 0xff is not UTF-8"),
    ("1\n2\nb", Seq(Var("a", "number")), ', line 3: "b" where a number is wanted'),
    ("1\n2.5\n3", Seq(Var("a", "logical")), ', line 2: "2.5" where a logical is wanted'),
    ("1 2", Var("a", "number"), ", line 1: one number is due, the file has 2"),
    ("\n1.5", Var("a", "logical"), ', line 2: "1.5" where a logical is wanted'),
    ("1", Pair(INT, INT), ", line 1: a text cannot be of type (int, int)"),
])
def test_malformed_txt(tmp_path: Path, text: str | bytes, type_: Type | None, reason: str) -> None:
    assert complaint(written(tmp_path, "x.txt", text), type_).startswith(reason)


def test_csv(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", 'name,age,weight\n"Doe, J",41,70.5\r\nRoe,7,30\n')
    rows = [(list("Doe, J"), (41, 70.5)), (list("Roe"), (7, 30.0))]
    assert read(path) == (rows, Seq(Pair(STRING, Pair(INT, FLOAT))))
    wanted = Seq(Pair(STRING, Pair(FLOAT, Var("a", "number"))))
    assert read(path, wanted) == (rows, Seq(Pair(STRING, Pair(FLOAT, FLOAT))))
    texts = [(["1"], ["5"]), (["1"], ["x"])]
    assert read(written(tmp_path, "same.csv", "a,b\n1,5\n1,x\n"), Seq(Pair(Var("a"), Var("a"))))[0] == texts
    assert read(written(tmp_path, "one.csv", "ok\nt\nFalse\n"), Seq(BOOL)) == ([True, False], Seq(BOOL))
    assert read(written(tmp_path, "gaps.csv", "a\nx\n\ny\n")) == ([["x"], [], ["y"]], Seq(STRING))
    assert read(written(tmp_path, "lines.csv", "a,b\n1,2\n\n3,4\n")) == ([(1, 2), (3, 4)], Seq(Pair(INT, INT)))
    assert len(read(written(tmp_path, "long.csv", "a\n" + "x" * 200_000))[0][0]) == 200_000
    assert read(written(tmp_path, "none.csv", "a,b\n"), Seq(Pair(INT, CHAR))) == ([], Seq(Pair(INT, CHAR)))


@pytest.mark.parametrize(("text", "type_", "reason"), [
    ("", None, ", line 1: a header with the names of the columns is due"),
    ("1,2\n3,4\n", None, ", line 1: a header with the names of the columns is due, these are numbers"),
    ("a,b\n1,2\n3\n", None, ", line 3: 2 cells are due, not 1"),
    ("a,b\n1,2,3\n", None, ", line 2: 2 cells are due, not 3"),
    ("a,b\n1,2\n3,x\n", Seq(Pair(INT, INT)), ', line 3, column b: "x" where int is wanted'),
    ("a,b\n1,2\n", Seq(INT), ', line 1: 1 column is due for int, the table has 2: "a", "b"'),
    ("user,ts\n1,5\n1,\n", Seq(Pair(INT, Var("a", "number"))),
     ", line 3, column ts: nothing where a number is wanted"),
    ("a,b\n1,5\n1,2.5\nx,y\n", Seq(Pair(Var("a"), Var("b", "logical"))),
     ', line 3, column b: "2.5" where a logical is wanted'),
    ("a\n1\n", INT, ", line 1: a table is a sequence of tuples"),
    ("a\n1\n", Seq(Seq(INT)), ", line 1: the column a cannot hold"),
    ('a\n"1\n', None, ", line "), ("a\n1\n\n2\n", Seq(INT), ', line 3, column a: nothing where int is wanted'),
])
def test_malformed_csv(tmp_path: Path, text: str, type_: Type | None, reason: str) -> None:
    assert complaint(written(tmp_path, "x.csv", text), type_).startswith(reason)


@pytest.mark.parametrize(("name", "text", "type_", "part"), [
    ("x.csv", "user,ts\n1,5\n1,xy\n", Seq(Pair(INT, INT)), "xy"),
    ("x.csv", "user,ts\n1,5\n1,\n", Seq(Pair(INT, INT)), ""),
    ("x.csv", 'user,ts\n"1",x\n', Seq(Pair(INT, INT)), '"1",x'),
    ("x.txt", "1\n2 xy 3", Seq(INT), "xy"), ("x.txt", "1\n2 xy 3", Seq(Var("a", "number")), "xy"),
])
def test_what_is_wrong_in_a_text_is_marked(tmp_path: Path, name: str, text: str, type_: Type, part: str) -> None:
    with pytest.raises(NessieError) as caught:
        read_value(written(tmp_path, name, text), type_)
    span = caught.value.span
    assert span is not None and span.start == text.rindex(part) - (not part)
    assert span.source.text[span.start:span.end] == part


@pytest.mark.parametrize("text", ["user;ts\n1;5\n", "user;ts\n1,5;5\n"])
def test_other_separators_are_pointed_at(tmp_path: Path, text: str) -> None:
    for mark, name in ((";", ";"), ("\t", "tabs"), ("|", "|")):
        with pytest.raises(NessieError) as caught:
            read_value(written(tmp_path, "x.csv", text.replace(";", mark)), Seq(Pair(INT, INT)))
        assert caught.value.hint == f"columns are separated by commas, here by {name}"


def test_more_columns_than_wanted_are_told_how_to_choose(tmp_path: Path) -> None:
    with pytest.raises(NessieError) as caught:
        read_value(written(tmp_path, "x.csv", "a,b,c\n1,2,3\n"), Seq(Pair(INT, INT)))
    assert caught.value.message.endswith('2 columns are due for (int, int), the table has 3: "a", "b", "c"')
    assert caught.value.hint == f"{tmp_path / 'x.csv'}:a,b reads 2 of them"


# NumPy ------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("array", "type_", "value", "found"), [
    (np.array([1, 2], np.int16), None, [1, 2], Seq(INT)), (np.array([1, 2], ">i4"), Seq(FLOAT), [1.0, 2.0], Seq(FLOAT)),
    (np.array([[1.5, 2], [3, 4]], np.float32), None, [[1.5, 2.0], [3.0, 4.0]], Seq(Seq(FLOAT))),
    (np.asfortranarray([[1, 2], [3, 4]]), None, [[1, 2], [3, 4]], Seq(Seq(INT))),
    (np.zeros((2, 0)), None, [[], []], Seq(Seq(FLOAT))),
    (np.arange(8).reshape(2, 2, 2), None, [[[0, 1], [2, 3]], [[4, 5], [6, 7]]], Seq(Seq(Seq(INT)))),
    (np.array(7), None, 7, INT), (np.array([True]), None, [True], Seq(BOOL)),
    (np.array(["a", "b"]), None, ["a", "b"], STRING), (np.array("a"), None, "a", CHAR),
    (np.array(["a"]), CHAR, "a", CHAR), (np.array([["a"], ["b"]]), STRING, ["a", "b"], STRING),
])
def test_npy(tmp_path: Path, array: np.ndarray[Any, Any], type_: Type | None, value: Any, found: Type) -> None:
    np.save(tmp_path / "x.npy", array)
    assert read(str(tmp_path / "x.npy"), type_) == (value, found)


@pytest.mark.parametrize(("array", "type_", "reason"), [
    (np.array([1.5]), Seq(INT), ": holds float where int is wanted"),
    (np.array(1.5), Seq(FLOAT), ": holds a single value where a vector, [float], is wanted"),
    (np.zeros((2, 2, 2)), Seq(FLOAT), ": holds an array of 3 dimensions where a vector, [float], is wanted"),
    (np.zeros((2, 2, 2)), Seq(Seq(FLOAT)), ": holds an array of 3 dimensions where a matrix, [[float]], is wanted"),
    (np.zeros(3), Seq(Seq(FLOAT)), ": holds a vector where a matrix, [[float]], is wanted"),
    (np.zeros((2, 2)), FLOAT, ": holds a matrix where a single value, float, is wanted"),
    (np.array([1j]), None, ": the array has elements of type complex128"),
    (np.array(["ab"]), None, ": the array has elements"),
    (np.array([97, 0x7fffffff], np.uint32).view("U1"), None, ": the array has the code 2147483647 at element 1"),
    (np.array([97, 0x110000], ">u4").view(">U1"), STRING, ": the array has the code 1114112 at element 1"),
    (np.array([2**63], np.uint64), None, ": the array has integers beyond 64 bits"),
])
def test_unfit_npy(tmp_path: Path, array: np.ndarray[Any, Any], type_: Type | None, reason: str) -> None:
    np.save(tmp_path / "x.npy", array)
    assert complaint(str(tmp_path / "x.npy"), type_).startswith(reason)


def test_broken_numpy_files(tmp_path: Path) -> None:
    assert complaint(written(tmp_path, "x.npy", "no array")).startswith(": not a NumPy array")
    assert complaint(written(tmp_path, "y.npy", "")).startswith(": not a NumPy array")
    np.save(tmp_path / "z.npy", np.array([{}], object), allow_pickle=True)
    assert complaint(str(tmp_path / "z.npy")).startswith(": not a NumPy array")
    assert complaint(written(tmp_path, "x.npz", "PK")).startswith(": not an archive")
    for name, data in (("x.npy", b"PK\x03\x04"), ("x.npy", b"\x93NUMPY\x01\x00\x02\x00{("), ("x.npz", b"PK\x03\x04")):
        assert complaint(written(tmp_path, name, data)).startswith(": not a")
    np.savez_compressed(tmp_path / "z.npz", offsets=np.zeros(99), content=np.zeros(1))
    whole = (tmp_path / "z.npz").read_bytes()
    for at, odd in ((70, b"\xff" * 30), (whole.index(b"PK\1\2") + 10, b"\7")):     # what is packed, and how it is
        (tmp_path / "z.npz").write_bytes(whole[:at] + odd + whole[at + len(odd):])
        assert complaint(str(tmp_path / "z.npz")).startswith(": not an archive")
    np.savez(tmp_path / "y.npz", a=np.zeros(1))
    assert complaint(str(tmp_path / "y.npz")).startswith(": holds a; a sparse matrix")


CSR = {"format": np.array(b"csr"), "shape": np.array([2, 3]), "indptr": np.array([0, 2, 3], np.int32),
       "indices": np.array([0, 2, 1], np.int32), "data": np.array([1.5, 2.0, 3.0])}


def test_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "csr.npz", **CSR)
    assert read(str(tmp_path / "csr.npz")) == ([[(0, 1.5), (2, 2.0)], [(1, 3.0)]], ROWS)
    np.savez(tmp_path / "nested.npz", offsets=np.array([0, 0, 2]), content=np.array([1, 2]))
    assert read(str(tmp_path / "nested.npz"), Seq(Seq(FLOAT))) == ([[], [1.0, 2.0]], Seq(Seq(FLOAT)))


@pytest.mark.parametrize(("name", "array", "reason"), [
    ("format", np.array(b"\xff"), ": not a sparse matrix of SciPy"),
    ("format", np.array([0x7fffffff], np.uint32).view("U1"), ": not a sparse matrix of SciPy"),
    ("format", np.array(b"csc"), ": a sparse matrix of the format csc; convert it by .tocsr()"),
    ("indices", np.array([0, 3, 1]), ": column index 3 (entry 1) is out of range 0 to 2"),
    ("indices", np.array([0, 1]), ": the matrix has 2 dimensions, 2 column indices and 3 values"),
    ("indices", np.array([0.0, 1, 2]), ": indices has elements of type float, integers are due"),
    ("indptr", np.array([0, 4, 3]), ": indptr falls at entry 2"),
    ("indptr", np.array([0, 3]), ": indptr has 2 entries, 3 are due"),
    ("indptr", np.array([0, 1, 2]), ": indptr must go from 0 to 3"),
    ("data", np.zeros((3, 1)), ": data has 2 dimensions"),
    ("data", None, ": the array data is missing"),
])
def test_malformed_npz(tmp_path: Path, name: str, array: np.ndarray[Any, Any] | None, reason: str) -> None:
    arrays = {k: v for k, v in {**CSR, name: array}.items() if v is not None}
    np.savez(tmp_path / "x.npz", **arrays)
    assert complaint(str(tmp_path / "x.npz")).startswith(reason)


def test_scipy_saves_what_is_read(tmp_path: Path) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_matrix(np.array([[0.0, 2.5], [1.0, 0.0]])))
    assert read(str(tmp_path / "x.npz")) == ([[(1, 2.5)], [(0, 1.0)]], ROWS)


# Matrix Market ----------------------------------------------------------------------------------

HEADER = "%%MatrixMarket matrix coordinate"


@pytest.mark.parametrize(("text", "type_", "value"), [
    (f"{HEADER} real general\n% note\n\n2 3 3\n2 1 1.5\n1 3 -2e1\n1 1 4\n", ROWS, [[(0, 4.0), (2, -20.0)], [(0, 1.5)]]),
    (f"{HEADER} integer symmetric\n2 2 2\n1 1 5\n2 1 7", ROWS, [[(0, 5.0), (1, 7.0)], [(0, 7.0)]]),
    (f"{HEADER} real skew-symmetric\n2 2 1\n2 1 3.0\n", ROWS, [[(1, -3.0)], [(0, 3.0)]]),
    (f"{HEADER} pattern general\n1 2 1\n1 2\n", ROWS, [[(1, 1.0)]]),
    (f"{HEADER} pattern general\n1 2 1\n1 2\n", None, [[(1, 1)]]),
    (f"{HEADER.upper()} REAL GENERAL\r\n2 2 0\r\n", ROWS, [[], []]),
    ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", ROWS, [[(0, 1.0), (1, 3.0)], [(0, 2.0), (1, 4.0)]]),
    ("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n", None, [[(0, 1), (1, 2)], [(0, 2), (1, 3)]]),
    ("%%MatrixMarket matrix array real skew-symmetric\n2 2\n5\n", ROWS, [[(0, 0.0), (1, -5.0)], [(0, 5.0), (1, 0.0)]]),
])
def test_mtx(tmp_path: Path, text: str, type_: Type | None, value: Any) -> None:
    assert read(written(tmp_path, "x.mtx", text), type_)[0] == value


@pytest.mark.parametrize(("text", "reason"), [
    ("", ", line 1: not a Matrix Market header"), ("1 1 1\n", ", line 1: not a Matrix Market header"),
    (f"{HEADER} complex general\n1 1 0\n", ", line 1: the header says complex, which is none of real"),
    (f"{HEADER} real hermitian\n1 1 0\n", ", line 1: the header says hermitian"),
    ("%%MatrixMarket matrix array pattern general\n1 1\n", ", line 1: a pattern has no values"),
    (f"{HEADER} real general\n% only\n", ", line 2: the file ends before the sizes"),
    (f"{HEADER} real general\n2 2\n", ", line 2: 3 sizes are due here"),
    (f"{HEADER} real general\n2 -2 1\n", ", line 2: 3 sizes are due here"),
    (f"{HEADER} real symmetric\n2 3 1\n1 1 1\n", ", line 2: a symmetric matrix is square"),
    (f"{HEADER} real general\n2 2 2\n1 1 1.0\n", ", line 2: too few entries: 2 are due, the file has 1"),
    (f"{HEADER} real general\n2 2 1\n1 1 1.0\n\n2 2 1.0\n", ", line 5: too many entries: line 2 says 1"),
    (f"{HEADER} real general\n2 2 2\n1 1 1.0\n3 1 1.0\n", ", line 4: row 3 is out of range 1 to 2"),
    (f"{HEADER} real general\n2 2 1\n1 0 1.0\n", ", line 3: column 0 is out of range 1 to 2"),
    (f"{HEADER} real general\n2 2 2\n1 1 1.0\n2 1 x\n", ', line 4: "x" is not a number'),
    (f"{HEADER} real general\n2 2 1\n1.5 1 1.0\n", ', line 3: "1.5" is not an integer'),
    (f"{HEADER} integer general\n2 2 1\n1 1 1.5\n", ', line 3: "1.5" is not an integer'),
    (f"{HEADER} real general\n2 2 2\n1 1\n1 2 3 4\n", ", line 3: 3 numbers are due in a line, not 2"),
    (f"{HEADER} real skew-symmetric\n2 2 1\n1 1 1.0\n",
     ", line 3: a skew-symmetric matrix has no entries on its diagonal"),
    (f"{HEADER} real general\n2 2 1\n1 1\u20031.0\n", ", line 3: text where numbers belong"),
    (f"{HEADER} real general\n1000000000000000 1 0\n", ": out of memory: 24,000,000,000,"),
])
def test_malformed_mtx(tmp_path: Path, text: str, reason: str) -> None:
    assert complaint(written(tmp_path, "x.mtx", text), ROWS).startswith(reason)


def test_mtx_of_another_type(tmp_path: Path) -> None:
    path = written(tmp_path, "x.mtx", f"{HEADER} real general\n1 1 1\n1 1 2.5\n")
    assert complaint(path, Seq(Seq(Pair(INT, INT)))).startswith(", line 1: a real matrix holds float where int is")
    assert complaint(path, Seq(INT)).startswith(", line 1: a real matrix holds [(int, float)] where int is wanted")


# Any file ---------------------------------------------------------------------------------------

def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert complaint(str(tmp_path / "none.json")) == ": cannot be read: No such file or directory"
    assert "no kind of file that can be read" in complaint(written(tmp_path, "a.xyz", ""))
    (tmp_path / "folder.txt").mkdir()
    assert complaint(str(tmp_path / "folder.txt")) == ": a folder without files of Parquet"


@pytest.mark.parametrize(("type_", "value"), [
    (Seq(INT), [1, -2]), (Seq(FLOAT), [1.5, math.inf]), (Seq(BOOL), [True]), (STRING, list("aé\0")), (Seq(FLOAT), []),
    (Seq(Seq(INT)), [[1, 2, 3], [4, 5, 6]]), (Seq(Seq(FLOAT)), [[], []]), (Seq(STRING), [list("ab"), list("cd")]),
    (Seq(Seq(Seq(INT))), [[[1, 2]], [[3, 4]]]), (Seq(Seq(Seq(INT))), []),
])
def test_npy_round_trip(tmp_path: Path, type_: Type, value: list[Any]) -> None:
    path = str(tmp_path / "x.npy")
    write_value(path, flatten_value(value, type_), type_)
    assert read(path) == (value, type_)


@pytest.mark.parametrize(("type_", "value"), [
    (Seq(Seq(INT)), [[1], [], [2, 3]]), (Seq(Seq(FLOAT)), []), (Seq(STRING), [list("ab"), []]),
    (Seq(Seq(BOOL)), [[True, False], []]), (Seq(Seq(FLOAT)), [[1.5, 2.0], [3.0, math.inf]]),
])
def test_npz_round_trip(tmp_path: Path, type_: Type, value: list[Any]) -> None:
    path = str(tmp_path / "x.npz")
    write_value(path, flatten_value(value, type_), type_)
    assert read(path) == (value, type_)


CELLS = st.recursive(st.sampled_from([INT, FLOAT, BOOL, CHAR, STRING]), lambda t: st.builds(Pair, t, t), max_leaves=4)


@settings(max_examples=examples(200))
@given(st.data())
def test_csv_round_trip(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    type_ = Seq(data.draw(CELLS))
    value = data.draw(values(type_))
    path = str(tmp_path_factory.getbasetemp() / "round.csv")
    write_value(path, flatten_value(value, type_), type_)
    assert read(path, type_) == (value, type_)


def test_a_written_table_names_its_columns(tmp_path: Path) -> None:
    path, type_ = tmp_path / "x.csv", Seq(Pair(STRING, Pair(INT, Pair(FLOAT, BOOL))))
    value = [(list('a,"b"'), (1, (2.0, True))), ([], (-2, (1e300, False)))]
    write_value(str(path), flatten_value(value, type_), type_)
    assert path.read_text() == 'column1,column2,column3,column4\n"a,""b""",1,2.0,true\n,-2,1e+300,false\n'


FORMULAS = st.lists(st.sampled_from(["'", "=", "+", "-", "@", "\uff1d", " ", "\t", "\r", "\n", "1", "a", ",", '"']),
                    max_size=6).map("".join)
CALCULATED = re.compile(r"[=+\-@\t\r\n]|\s+[=+\-@]")       # what spreadsheets calculate, and what they skip before it


@settings(max_examples=examples(300))
@given(st.lists(st.tuples(FORMULAS, st.sampled_from("'=+-@\ta "), st.floats(allow_nan=False), st.integers(-9, 9))),
       st.booleans())
def test_texts_that_look_like_formulas(tmp_path_factory: pytest.TempPathFactory,
                                       rows: list[tuple[str, str, float, int]], typed: bool) -> None:
    """On request no text begins like a formula; what is written is read back, with types and without."""
    type_ = Seq(Pair(STRING, Pair(CHAR, Pair(FLOAT, INT))))
    value = [(list(text), (char, (number, whole))) for text, char, number, whole in rows]
    path = tmp_path_factory.getbasetemp() / "formulas.csv"
    for quoting in (True, False):
        write_value(str(path), flatten_value(value, type_), type_, style=TableStyle(quoting=quoting))
        assert read(path, type_) == (value, type_)
        if quoting:
            header, *found = csv.reader(io.StringIO(path.read_bytes().decode(), newline=""))
            assert header == ["'column1", "'column2", "column3", "column4"]
            assert not any(CALCULATED.match(cell) for cells in found for cell in cells[:2])
            assert [(float(cells[2]), int(cells[3])) for cells in found] == [row[2:] for row in rows]
    texts = [list(text) for text, *_ in rows]
    write_value(str(path), flatten_value(texts, Seq(STRING)), Seq(STRING), style=TableStyle(quoting=True))
    assert read(path) == (texts, Seq(STRING))           # texts that look like numbers, too


def test_only_marked_columns_lose_an_apostrophe(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", "a,'b\n'=1,'=1\n''=1,''=1\n'x,'x\n")
    assert [tuple(map("".join, row)) for row in read(path)[0]] == [("'=1", "=1"), ("''=1", "'=1"), ("'x", "'x")]
    assert read(written(tmp_path, "z.csv", "'a','b'\n1,'-2'\n"))[0] == [(1, list("'-2'"))]
    path = written(tmp_path, "y.csv", "'a\n-5\n")
    assert read(path, Seq(INT)) == ([-5], Seq(INT))


def test_datatypes_are_columns(tmp_path: Path) -> None:
    path, type_ = str(tmp_path / "x.csv"), Seq(Pair(INT, Data("point")))
    value = flatten_value([(1, (2.0, 3.0))], Seq(Pair(INT, Pair(FLOAT, FLOAT))))
    write_value(path, value, type_, lambda data: Pair(FLOAT, FLOAT))
    again, found = read_value(path, type_, lambda data: Pair(FLOAT, FLOAT))
    assert found == type_ and plain_value(again, Seq(Pair(INT, Pair(FLOAT, FLOAT)))) == [(1, (2.0, 3.0))]


@pytest.mark.parametrize(("name", "type_", "value", "reason"), [
    ("x.npy", Seq(Pair(INT, INT)), [], "holds scalars in rows"), ("x.npy", INT, 1, "holds scalars in rows"),
    ("x.npy", Seq(Seq(INT)), [[1], [2], [3, 4]], "row 0 has length 1, row 2 has 2"),
    ("x.npy", Seq(Seq(Seq(INT))), [[[1]], [[2, 3]]], "row 0 has length 1, row 1 has 2"),
    ("x.mtx", Seq(INT), [], "results are written to"), ("x.csv", INT, 1, "holds a sequence of tuples"),
    ("x.csv", Seq(Pair(INT, Seq(INT))), [], "holds a sequence of tuples"),
    ("x.csv", Seq(STRING), [["\ud800"]], "half of a surrogate pair"),
    ("x.npz", Seq(INT), [1], "holds rows of scalars"), ("x.npz", Seq(Seq(Seq(INT))), [], "holds rows of scalars"),
    ("x.npz", ROWS, [], "holds rows of scalars"),
])
def test_what_is_not_written(tmp_path: Path, name: str, type_: Type, value: Any, reason: str) -> None:
    with pytest.raises(NessieError, match=reason):
        write_value(str(tmp_path / name), flatten_value(value, type_), type_)
    assert not (tmp_path / name).exists()


def test_functions_are_not_written(tmp_path: Path) -> None:
    path = str(tmp_path / "x.json")
    for type_ in (Fun(INT, INT, Identity("g")), Seq(Pair(INT, Fun(INT, INT, Identity("g"))))):
        with pytest.raises(NessieError, match="a function cannot be written"):
            write_value(path, False, type_)


def test_writing_replaces_the_whole_file_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    path.write_text("old")
    path.chmod(0o640)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(value_files.os, "fsync", full)
        with pytest.raises(NessieError, match=r"x\.json: cannot be written: No space left on device"):
            write_value(str(path), 5, INT)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_value(str(path), 5, INT)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("5\n", 0o640)


def test_writing_into_no_folder(tmp_path: Path) -> None:
    with pytest.raises(NessieError, match="cannot be written: there is no folder"):
        write_value(str(tmp_path / "none" / "x.json"), 5, INT)


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "x.json")
    write_value(str(tmp_path / "link.json"), 5, INT)
    assert (tmp_path / "link.json").is_symlink() and (tmp_path / "x.json").read_text() == "5\n"


# Damage -----------------------------------------------------------------------------------------

WHOLE = {"x.jsonl": b'[1, "a"]\n[2, "b"]\n',
         "x.json": b'[[1, 2.5], [3, 4e5], ["a\\u0041", true]]', "x.csv": b'a,b\n1,"x,""y"\n2,z\n',
         "x.txt": b"1 2 3.5\n4",
         "x.mtx": b"%%MatrixMarket matrix coordinate real general\n% c\n2 2 2\n1 1 5.0\n2 1 3\n",
         "y.mtx": b"%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n"}
WANTED = [None, INT, STRING, Seq(FLOAT), ROWS, Seq(Var("a", "number")), Var("a", "ordinal"), Seq(Pair(INT, STRING))]
PIECES = [b"9" * 5000, b"-", b"\0", b"\xff", b'"', b"\n", b"1e999", b"nan", b"[", b"{", b" 2", b"", b"\xff\xff\xff\x7f",
          b"[]", b"\\ud800", b"\xed\xa0\x80", b"null", b"\r"]
ARRAYS: dict[str, Callable[[Path], None]] = {
    "x.npy": lambda path: np.save(path, np.arange(6)), "chars.npy": lambda path: np.save(path, np.array(["a", "b"])),
    "x.npz": lambda path: np.savez_compressed(path, np.arange(6)), "csr.npz": lambda path: np.savez(path, **CSR),
    "rows.npz": lambda path: np.savez(path, offsets=[0, 0, 2], content=[1, 2])}


@pytest.mark.parametrize("name", [*WHOLE, *ARRAYS])
@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 9), st.sampled_from(PIECES)), max_size=3),
       st.sampled_from(WANTED), st.sampled_from(WANTED))
@settings(max_examples=examples(60))
def test_damaged_files_are_refused(tmp_path_factory: pytest.TempPathFactory, name: str,
                                   edits: list[tuple[int, int, bytes]], type_: Type | None,
                                   other: Type | None) -> None:
    """Alone, and beside a whole file of the same kind."""
    path, whole = tmp_path_factory.getbasetemp() / name, tmp_path_factory.getbasetemp() / f"whole_{name}"
    if name not in WHOLE:
        ARRAYS[name](path)
    data = WHOLE[name] if name in WHOLE else path.read_bytes()
    for at, dropped, piece in edits:
        at %= len(data) + 1
        data = data[:at] + piece + data[at + dropped:]
    whole.write_bytes(WHOLE[name] if name in WHOLE else path.read_bytes())
    path.write_bytes(data)
    for some in ([str(path)], [str(whole), str(path)]):
        try:
            files = [open_file(one) for one in some]
            given = [GivenArgument(one, file, file) for one, file in zip(some, files, strict=True)]
            types = types_of(given, Parameters("g takes a", [other, type_][-len(some):], no_datatypes))
            for one, file, found in zip(some, files, types, strict=True):
                plain_value(made(one, file, found, no_datatypes), found)
        except NessieError as error:
            assert str(error)


def test_devices_and_pipes_get_json(tmp_path: Path) -> None:
    write_value("/dev/null", 5, INT)
    os.mkfifo(tmp_path / "pipe")
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_value(str(tmp_path / "pipe"), 5, INT)
    reader.join(10)
    assert found == ["5\n"]
    with pytest.raises(NessieError, match="results are written to"):
        write_value(str(tmp_path / "none"), 5, INT)
