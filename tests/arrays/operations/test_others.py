"""Arrays and tables of other libraries come in and go out, over the same memory where layouts agree; errors have the
place of the call."""
from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import nessie
from nessie.base.source import NessieError

pandas = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
ak = pytest.importorskip("awkward")
sparse = pytest.importorskip("scipy.sparse")

ROWS = [[1, 2], [], [4]]


@pytest.mark.parametrize("rows", [pa.array(ROWS), pa.array(ROWS, pa.large_list(pa.int64())),
                                  pa.chunked_array([ROWS, []]), ak.Array(ROWS), ak.Array([[0], *ROWS])[1:]])
def test_rows_of_arrow_and_awkward(rows: Any) -> None:
    found = nessie.nest(rows)
    assert found.tolist() == ROWS
    assert found.map(lambda r: sum(r)).tolist() == [3, 0, 4]


def test_rows_of_rows() -> None:
    assert nessie.nest(ak.Array([[[1], [2, 3]], []])).map(lambda r: sum([len(x) for x in r])).tolist() == [3, 0]


def test_rows_of_records() -> None:
    events = ak.Array([[{"pt": 1.5, "eta": 2}, {"pt": 1.0, "eta": 1}], []])
    assert nessie.nest(events).map(lambda r: sum([p.pt * p.eta for p in r])).tolist() == [4.0, 0.0]
    assert nessie.nest(pa.array(events.to_list())).map(lambda r: sum([p.pt for p in r])).tolist() == [2.5, 0.0]


@pytest.mark.parametrize("records", [pandas.DataFrame({"x": [1, 2], "y": [0.5, 1.5]}),
                                     pa.table({"x": [1, 2], "y": [0.5, 1.5]}),
                                     pa.array([{"x": 1, "y": 0.5}, {"x": 2, "y": 1.5}]),
                                     ak.Array([{"x": 1, "y": 0.5}, {"x": 2, "y": 1.5}])])
def test_records(records: Any) -> None:
    found = nessie.array(records)
    assert found.map(lambda r: r.x * r.y).tolist() == [0.5, 3.0]
    assert found.map(lambda r: r[0] + 1).tolist() == [2, 3]


def test_columns_whose_names_are_no_attributes() -> None:
    found = nessie.array(pandas.DataFrame({"a b": [1, 2], "class": [3, 4]}))
    assert found.map(lambda r: r[0] + r[1]).tolist() == [4, 6]


def test_sparse_matrices_and_graphs() -> None:
    matrix = sparse.coo_matrix(([1.0, 2.0, 3.0], ([0, 0, 2], [1, 1, 0])), (3, 3))
    assert nessie.nest(matrix).tolist() == [[(1, 3.0)], [], [(0, 3.0)]]
    networkx = pytest.importorskip("networkx")
    assert nessie.nest(networkx.path_graph(4)).tolist() == [[1], [0, 2], [1, 3], [2]]
    assert nessie.nest(networkx.MultiGraph([(0, 1), (0, 1)])).tolist() == [[1, 1], [0, 0]]


def test_memory_is_shared() -> None:
    content = np.arange(5.0)
    rows = ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(np.array([0, 2, 5])), ak.contents.NumpyArray(content)))
    found = nessie.nest(rows)
    assert np.shares_memory(found.to_numpy().content, content)
    assert np.shares_memory(np.asarray(found.to_awkward().layout.content.data), content)
    assert found.to_arrow().values.buffers()[1].address == content.ctypes.data


@pytest.mark.parametrize("missing", [pa.array([1, None]), ak.Array([1, None]), ak.Array([[1, None]]),
                                     pandas.Series([1, None], dtype="Int64"),
                                     pandas.DataFrame({"x": pandas.Series([1, None], dtype="Int64"), "y": [1, 2]})])
@pytest.mark.parametrize("make", [nessie.array, nessie.nest])
def test_missing_values_are_refused(make: Callable[[Any], Any], missing: Any) -> None:
    with pytest.raises(NessieError, match="missing values"):
        make(missing)


@pytest.mark.parametrize("value, told", [(ak.Array(["ab"]), "texts"), (ak.Array([1, [2]]), "several types"),
                                         (ak.Record({"x": 1}), "no array")])
def test_what_is_refused(value: Any, told: str) -> None:
    with pytest.raises(NessieError, match=told):
        nessie.array(value)


def test_tuples_are_no_rows() -> None:
    with pytest.raises(NessieError, match="this is one of tuples"):
        nessie.nest(pandas.DataFrame({"x": [1], "y": [2]}))


def test_results_go_to_other_libraries() -> None:
    a, rows = nessie.array([1, 2]), nessie.nest(ROWS)
    assert (a * 2).to_pandas().tolist() == [2, 4]
    assert nessie.array([[1, 2], [3, 4]]).to_pandas().shape == (2, 2)
    assert a.zip(a + 1).to_pandas().to_numpy().tolist() == [[1, 2], [2, 3]]
    assert (a * 2).to_arrow().to_pylist() == [2, 4] and rows.to_arrow().to_pylist() == ROWS
    assert rows.to_awkward().to_list() == ROWS and (a + 1).to_awkward().to_list() == [2, 3]


def test_pickles_keep_values() -> None:
    for array in (nessie.array([1, 2]) * 2, nessie.nest(ROWS), nessie.array([1.0, 2.0]).zip(nessie.array([3, 4])),
                  nessie.array([1, 2]).sum(), nessie.array(np.empty((2, 0, 4)))):
        back = pickle.loads(pickle.dumps(array))
        assert (back.tolist(), back.shape) == (array.tolist(), array.shape)


def test_notebooks_show_values_that_there_are() -> None:
    a = nessie.array([1.5, 2.5])
    assert "<td>1.5</td>" in a._repr_html_()
    expression = a + 1
    assert "<td>" not in expression._repr_html_() and "2 of float" in expression._repr_html_()
    assert "<td>2.5</td>" in expression.evaluate()._repr_html_()
    assert "<td>[1, 2]</td>" in nessie.nest(ROWS)._repr_html_()
    assert "<td>[3, 4]</td>" in nessie.array([[1, 2], [3, 4]])._repr_html_()
    assert "one value" in a.sum()._repr_html_()


def sets(a: nessie.Array) -> None:
    a[0] = 5


@pytest.mark.parametrize("wrong", [
    lambda a: a.combine(nessie.array([1, 2]), lambda x, y: x + y), lambda a: a.zip(nessie.array([1, 2])), bool, float,
    lambda a: a.sum(axis=1), lambda a: nessie.array(np.empty(0)).max().item(), lambda a: a @ nessie.array([1, 2]),
    lambda a: np.percentile(a, 50), lambda a: np.modf(a), sets, lambda a: a.stencil([], 0, lambda v: v[0]),
    lambda a: nessie.nest([1, 2]), lambda a: nessie.array([[1], [2, 3]]), lambda a: a.evaluate().explain()])
def test_errors_tell_the_line_of_the_call(wrong: Callable[[Any], Any]) -> None:
    with pytest.raises(NessieError) as error:
        wrong(nessie.array([1, 2, 3]))
    assert "test_others.py:" in str(error.value)


class Corner(NamedTuple):
    x: float
    y: float


def test_rows_of_named_tuples() -> None:
    rows = nessie.nest([[Corner(1, 2)], [], [Corner(3, 4), Corner(5, 6)]])
    assert rows.tolist() == [[Corner(1, 2)], [], [Corner(3, 4), Corner(5, 6)]]
    assert rows.map(lambda row: sum(p.x * p.y for p in row)).tolist() == [2, 0, 42]
    with pytest.raises(NessieError, match="these are not all of the class Corner"):
        nessie.nest([[Corner(1, 2), (3, 4)]])


@pytest.mark.parametrize("rounded", [lambda x: int(x), lambda x: round(x), lambda x: math.ceil(x),
                                     lambda x: math.floor(x)])
def test_floats_that_are_no_ints_are_told_in_pythons_words(rounded: Callable[[float], int]) -> None:
    with pytest.raises(NessieError, match=r"no int of 64 bits(.|\n)*at element 1: it is 1.0e.300") as error:
        nessie.array([1.0, 1e300]).map(rounded).evaluate()
    assert "trunc" not in str(error.value)
