"""Elements go from many tasks to many, by levels: what comes is in the givers' order, so bits are the same."""
from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from amounts import examples
from built import cpu_code, cpu_device
from executors import Compiled, agree
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cluster_device import PROGRAMS, WIDTH, results

from nessie.cudagen.cluster.device import Cluster
from nessie.cudagen.cluster.engine import Done, InProcess
from nessie.cudagen.cluster.moving import exchange
from nessie.cudagen.cluster.tasks.buckets import cut

MOVING = ("gather", "filtered gather", "several gathers", "equal keys", "sums by few keys", "float keys",
          "maxima of survivors by keys", "the last write", "writes of rows", "no writes", "nothing to sort",
          "permutation", "sort", "descending", "ranks", "sets")


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 40), st.integers(1, 40), st.integers(2, 40))
def test_every_receiver_gets_what_is_its_own_in_order(givers: int, receivers: int, direct: int) -> None:
    """No task takes from more than `direct` others, nor do more take from it."""
    engine = InProcess()
    parts = [[[s, d] * (s * d % 3) for d in range(receivers)] for s in range(givers)]
    made = [Done(cut({"x": np.array([*chain(*part)], int)}, np.array(list(map(len, part))))) for part in parts]
    kept, exchange.DIRECT = exchange.DIRECT, direct
    try:
        found = exchange.exchange(engine, "test", made, ["x"], receivers)  # type: ignore[arg-type]
    finally:
        exchange.DIRECT = kept
    assert len(found) == receivers and max(map(len, found)) <= direct
    for d, tasks in enumerate(found):
        assert [x for task in tasks for x in task.value["x"].tolist()] == [*chain(*[part[d] for part in parts])]


@pytest.mark.parametrize("receivers, levels, base", [(1, 1, 2), (32, 1, 32), (33, 2, 6), (2000, 3, 13)])
def test_levels_are_as_few_as_can_be(receivers: int, levels: int, base: int) -> None:
    assert exchange.digits(receivers) == (levels, base)


class Counting:
    """Tasks that nobody does."""
    count = 0

    def submit(self, *arguments: Any, given: list[Any]) -> object:
        self.count += 1
        return object()


def test_a_thousand_workers_exchange_by_few_tasks() -> None:
    workers = Counting()
    exchange.exchange(workers, "test", [object()] * 2000, ["x"], 2000)  # type: ignore[arg-type]
    assert 70_000 < workers.count < 80_000


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("direct", [2, 3])
def test_bits_are_the_same_by_levels(name: str, direct: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten tasks, of which each gives to two others, or three: four levels, or three."""
    monkeypatch.setattr(exchange, "DIRECT", direct)
    text, arguments, *_ = PROGRAMS[name]
    program = Compiled(f"function {text};")
    fused = program.executable("ilp")
    cluster = Cluster(cpu_code(fused), InProcess(5), 0, 0, WIDTH, quick=True)
    assert agree(results(program, cpu_device(fused, 1, WIDTH), arguments), results(program, cluster, arguments))
    assert any("_passed" in name for name in cluster.told.tasks) or name in ("no writes", "nothing to sort")
