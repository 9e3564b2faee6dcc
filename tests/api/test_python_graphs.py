"""SciPy's sparse matrices and networkx's graphs as arguments; what SciPy and networkx compute is the oracle."""
from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import nessie

PROGRAM = nessie.compile("""
function product(m, x) = {sum({a * x[j] : (j, a) in r}) : r in m};
function degrees(g) = {#r : r in g};
function same(x) = x;
function weights(g) : [[(int, float)]] -> [float] = {sum({w : (j, w) in r}) : r in g};
function whole_weights(g) : [[(int, int)]] -> [int] = {sum({w : (j, w) in r}) : r in g};
""")


@pytest.mark.parametrize("kind", [sp.coo_matrix, sp.csr_matrix, sp.csc_array, sp.lil_array, sp.dok_matrix,
                                  sp.bsr_array])
@pytest.mark.parametrize("shape", [(5, 4), (1, 1), (3, 0), (0, 4), (40, 30)])
def test_a_sparse_matrix_is_rows_of_columns_and_values(kind: Any, shape: tuple[int, int]) -> None:
    dense = np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(float)
    matrix, x = kind(dense), np.arange(1.0, shape[1] + 1)
    before = matrix.toarray()
    assert np.allclose(PROGRAM.product(matrix, x), dense @ x) and (matrix.toarray() == before).all()


def test_elements_given_twice_are_added_and_the_matrix_stays() -> None:
    matrix = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert PROGRAM.same(matrix).to_list() == [[(0, 2.0), (1, 5.0)]] and matrix.nnz == 3


@pytest.mark.parametrize("graph", [
    nx.Graph(), nx.path_graph(1), nx.gnp_random_graph(30, 0.2, seed=1),
    nx.gnp_random_graph(20, 0.2, seed=2, directed=True),
    nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")]), nx.MultiGraph([(1, 2), (1, 2), (2, 2)]),
    nx.MultiDiGraph([(1, 2), (1, 2)])])
def test_a_graph_is_the_neighbours_of_its_nodes(graph: Any) -> None:
    numbers = {node: number for number, node in enumerate(graph)}
    rows = PROGRAM.same(graph)
    assert [sorted(row.tolist()) for row in rows] == \
        [sorted(numbers[end] for _, end in graph.edges(node)) for node in graph]
    assert PROGRAM.weights(graph).tolist() == [float(graph.edges(node).__len__()) for node in graph]


def test_edges_have_weights_where_they_are_wanted() -> None:
    graph = nx.Graph([(0, 1, {"weight": 2.5}), (1, 2)])
    assert PROGRAM.weights(graph).tolist() == [2.5, 3.5, 1.0] and PROGRAM.degrees(graph).tolist() == [1, 2, 1]
    with pytest.raises(nessie.NessieError, match="int"):
        PROGRAM.whole_weights(graph)
    graph[0][1]["weight"] = 4
    assert PROGRAM.whole_weights(graph).tolist() == [4, 5, 1]


@pytest.mark.parametrize("wrong, told", [
    (sp.csr_matrix([[1j]]), "complex"), (sp.coo_array(np.ones(3)), "of one dimension"),
    (nx.Graph([(0, 1, {"weight": "x"})]), "weights takes"),
    (nx.Graph([(0, 1, {"weight": None})]), "the edge from 0 to 1 has the weight None"),
    (nx.Graph([(0, 1, {"weight": "x"}), (1, 2)]), "not int and str")])
def test_what_nesl_has_no_value_for_is_told(wrong: Any, told: str) -> None:
    with pytest.raises(nessie.NessieError, match=told):
        PROGRAM.weights(wrong)
