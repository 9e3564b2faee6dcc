"""Data frames go into NESL as tuples of their columns: stand-ins for those of libraries, and pandas' if installed."""
from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest

import nessie

PROGRAM = """
datatype point(float, int);
datatype label([char]);
function same(x) = x;
function numbers(ps) : [point] -> [int] = {n : point(_, n) in ps};
function both(ps) : [(float, int)] -> [float] = {x * float(n) : (x, n) in ps};
function lengths(ns) : [label] -> [int] = {#n : label(n) in ns};
function total(rows) : [[float]] -> float = sum({sum(row) : row in rows});
"""


class Frame:
    """A data frame whose columns have the order of the keyword arguments."""

    def __init__(self, **columns: Any) -> None:
        self.content, self.columns = columns, list(columns)

    def __len__(self) -> int:
        return len(next(iter(self.content.values())))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.stack([np.asarray(column) for column in self.content.values()], axis=1)


class WithItems(Frame):
    def items(self) -> Iterator[tuple[str, Any]]:
        return iter(self.content.items())


class Interchanged(Frame):
    """What has the protocol alone, and columns by name."""

    def __dataframe__(self) -> Any:
        raise NotImplementedError

    def __getitem__(self, name: str) -> Any:
        return self.content[name]


class Nullable:
    """A column of pandas' whose values may be missing."""
    dtype, name = "Int64", "ages"

    def __init__(self, *values: int | None) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def isna(self) -> Any:
        return np.array([value is None for value in self.values])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([np.nan if value is None else value for value in self.values],
                        float if None in self.values else int)


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM)


@pytest.mark.parametrize("frame", [WithItems, Interchanged])
def test_a_data_frame_is_tuples_of_its_columns(frame: Any) -> None:
    table = frame(x=np.array([0.5, 1.5]), n=np.array([3, 4]))
    assert program().numbers(table).tolist() == [3, 4] and program().both(table).tolist() == [1.5, 6.0]
    result = program().same(table)
    assert isinstance(result, nessie.Tuples) and result.to_list() == [(0.5, 3), (1.5, 4)]
    assert program().lengths(frame(n=["a", "bcd"])).tolist() == [1, 3]
    assert program().same(frame(a=[1, 2], b=["x", "yz"])).to_list() == [(1, "x"), (2, "yz")]
    assert program().numbers(frame(x=[1, 2], n=[3, 4])).tolist() == [3, 4]       # ints where floats are due


@pytest.mark.parametrize("frame", [WithItems, Interchanged])
def test_a_data_frame_where_rows_are_due_is_a_matrix(frame: Any) -> None:
    assert program().total(frame(a=[1, 2], b=[0.5, 4])) == 7.5


def test_columns_are_taken_by_position() -> None:
    with pytest.raises(nessie.NessieError, match="point takes float, int, but gets") as caught:
        program().numbers(WithItems(n=[3, 4], x=[0.5, 1.5]))
    assert "x[['x', 'n']] fits" in str(caught.value)
    with pytest.raises(nessie.NessieError, match=r"a table of one column has no tuples") as caught:
        program().both(WithItems(n=[3, 4]))
    assert "x['n']" in str(caught.value)


def test_missing_values_of_a_column_are_told() -> None:
    assert program().same(Nullable(1, 2)).tolist() == [1, 2]
    for given, place in ((Nullable(1, None), ""), (WithItems(a=[1, 2], b=Nullable(1, None)), ", column 'b'")):
        told = f"argument 1{place}: a Nullable 'ages' has missing values"
        with pytest.raises(nessie.NessieError, match=told) as caught:
            program().same(given)
        assert "x.dropna() leaves them out" in str(caught.value)
    with pytest.raises(nessie.NessieError, match="has missing values"):
        program().total(WithItems(a=[1, 2], b=Nullable(1, None)))


def test_pandas() -> None:
    pd: Any = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [0.5, np.nan], "n": [3, 4]}, index=["a", "b"])
    assert program().numbers(frame).tolist() == [3, 4] and np.isnan(program().total(frame))
    assert program().same(frame[["n", "x"]]).columns[0].tolist() == [3, 4]
    assert program().same(pd.DataFrame({"a": [1, 2], "b": ["x", "yz"]})).to_list() == [(1, "x"), (2, "yz")]
    assert program().same(pd.Series([1, 2], dtype="Int64")).tolist() == [1, 2]
    assert np.isnan(program().same(pd.Series([1.0, None]))[1])
    for column in (pd.Series([1, None], dtype="Int64"), pd.array([1.5, None]), pd.Series([True, None], dtype="boolean"),
                   pd.Series(["a", None], dtype="string")):
        with pytest.raises(nessie.NessieError, match=r"argument 1: a .* has missing values"):
            program().same(column)
    with pytest.raises(nessie.NessieError, match="column 'n': a Series 'n' has missing values"):
        program().numbers(pd.DataFrame({"x": [0.5, 1.5], "n": pd.array([3, None])}))
    wrong = r"takes .* has the columns z : \[char\], n : int, x : float"
    with pytest.raises(nessie.NessieError, match=wrong) as caught:
        nessie.compile("function scaled(ps) = {x * float(i + 1) : (x, i) in ps};").scaled(
            pd.DataFrame({"z": ["a", "b"], "n": [3, 4], "x": [0.5, 1.5]}))
    assert "x[['x', 'n']] fits" in str(caught.value)


# What comes out, as tables ------------------------------------------------------------------------

RESULTS = """
datatype point(float, int);
function points(n) = {point(float(i), i) : i in [0:n]};
function names(n) = {"<" ++ @i : i in [0:n]};
function mixed(n) = {(i, "n" ++ @i, {float(j) : j in [0:i]}, rem(i, 2) == 0) : i in [0:n]};
function nested(n) = {[0:i] : i in [0:n]};
function letters(n) = {(`a, i) : i in [0:n]};
"""
FUNCTIONS = ["points", "names", "mixed", "nested", "letters"]


@pytest.mark.parametrize("count", [0, 1, 3, 50])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_go_to_arrow_and_back(function: str, count: int) -> None:
    result = nessie.compile(RESULTS)[function](count)
    array = pa.array(result)
    assert len(array) == count == len(result.to_arrow())
    listed = [tuple(row.values()) if isinstance(row, dict) else row for row in array.to_pylist()]
    plain = [tuple(part.tolist() if isinstance(part, np.ndarray) else part for part in row)
             if isinstance(row, tuple) else row for row in result.to_list()]
    assert listed == plain
    if count:
        again = nessie.compile("function same(x) = x;").same(array)
        assert again.to_list() == ak.Array(array).to_list() or len(again) == count


@pytest.mark.parametrize("count", [0, 1, 50])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_go_to_pandas(function: str, count: int) -> None:
    result = nessie.compile(RESULTS)[function](count)
    table = result.to_pandas()
    assert len(table) == count
    if isinstance(result, nessie.Tuples):
        assert list(table.columns) == [str(number) for number in range(len(result.columns))]
        for (_, row), expected in zip(table.iterrows(), result.to_list(), strict=True):
            assert [part.tolist() if isinstance(part, np.ndarray) else part for part in row] == list(expected)
    else:
        assert [part.tolist() if isinstance(part, np.ndarray) else part for part in table] == result.to_list()


def test_notebooks_show_tables() -> None:
    program = nessie.compile(RESULTS)
    shown = program.points(2)._repr_html_()
    assert shown.count("<tr>") == 3 and "<td>1.0</td><td>1</td>" in shown and "2 point" in shown
    long = program.nested(1000)._repr_html_()
    assert long.count("<tr>") == 14 and "<th>999</th><td>999</td>" in long and "1,000 sequences" in long
    assert len(long) < 5000 and "18, 19, ...]" in long
    assert "&lt;0" in program.names(1)._repr_html_() and "<0" not in program.names(1)._repr_html_()
    assert "0 sequences" in program.names(0)._repr_html_()
