"""What computed arrays keep alive, and what several threads make of one expression."""
from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import nessie
from nessie.arrays import nodes


@pytest.mark.parametrize("kind", [np.int64, np.float64, bool])
def test_a_computed_array_keeps_nothing_of_its_expression(kind: type) -> None:
    source, table = np.arange(10).astype(kind), np.arange(20.0)
    table.flags.writeable = False                   # so it is not copied
    x = nessie.asarray(source)
    middle = x.map(lambda a: a + 1)
    y = middle.combine(x, lambda a, b: table[int(a)] + b).evaluate()        # noqa: F821
    kept = [weakref.ref(one) for one in (source, table, x._nessie_node, middle._nessie_node)]
    assert y.tolist() == [float(x) + 1 + float(x) for x in source]
    del source, table, x, middle
    gc.collect()
    assert [one() for one in kept] == [None] * 4
    assert len(y) == 10 and "computed" in repr(y)


def test_what_is_made_of_a_computed_array_is_right() -> None:
    x = nessie.array([1, 2, 3])
    y = x.map(lambda a: a * 2)
    z = y + x
    y.evaluate()
    assert z.tolist() == [3, 6, 9]
    selected = x.select(lambda a: a > 1).evaluate()
    assert selected.shape == (2,) and (selected + 1).tolist() == [3, 4]


def test_threads_that_compute_what_others_read() -> None:
    """Each has an expression of the same nodes, which another computes meanwhile."""
    for round_ in range(15):
        a = nessie.array(np.arange(2000) + round_)
        b = a.map(lambda x: x * 3)
        c = b.combine(a, lambda x, y: x - y)
        wanted = np.arange(2000) + round_
        start = threading.Barrier(4)

        def work(of: int) -> bool:
            start.wait()                                        # noqa: B023
            if of % 2:
                return bool((b.to_numpy() == wanted * 3).all())           # noqa: B023
            found = (c + b if of else b.sum() + c.map(lambda x: x))       # noqa: B023
            expected = wanted * 5 if of else wanted * 2 + (wanted * 3).sum()      # noqa: B023
            return bool((found.to_numpy() == expected).all())
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(work, range(4)))


def test_the_order_of_nodes_reads_each_once() -> None:
    """A node that is computed while the order is being found counts as one thing or the other, in all places."""
    a = nessie.array([1, 2])
    b = a.map(lambda x: x + 1)
    c = b.combine(b, a, lambda x, y, z: x + y + z)
    order = nodes.in_order([c._nessie_node])
    b.evaluate()
    assert [step.operation is None for step in order] == [True, False, False]
    assert c.tolist() == [5, 8]
