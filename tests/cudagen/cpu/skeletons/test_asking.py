"""Rows that are many elements together are asked for in advance; few are not, nor rows that lie anywhere."""
from __future__ import annotations

import numpy as np
import pytest
from executors import Compiled, agree, outcome

from nessie.cudagen.generate import generate
from nessie.cudagen.loops.nodes import If, Prefetch
from nessie.cudagen.loops.walk import statements
from nessie.cudagen.skeletons.cpu import lanes

PACKED = """function main(a, x) : ([float], [float]) -> [float] =
  {sum({p * q : p in row; q in take(x, #row)}) : row in partition(a, {i + 1 : i in [0:#x]})};"""
ROWS = "function main(rows) : [[float]] -> [float] = {sum(r) : r in rows};"


def asked(source: str) -> list[str]:
    """The arrays that are asked for where there are many elements, and nowhere else."""
    functions = generate(Compiled(source).executable("ilp"), "cpu").functions
    inside = [s for function in functions for s in statements(function.body)]
    many = {s.array for choice in inside if isinstance(choice, If) and str(lanes.MANY) in str(choice.condition)
            for s in statements(choice.then) if isinstance(s, Prefetch)}
    assert many == {s.array for s in inside if isinstance(s, Prefetch)}
    return sorted(many)


def test_what_lies_in_rows_is_asked_for() -> None:
    assert asked(PACKED) == ["a"]
    assert asked(ROWS) == []


@pytest.mark.parametrize("many", [1, 10_000])
def test_sums_are_the_same(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MANY", many)
    random, n = np.random.default_rng(1), 60
    arguments = [random.random(n * (n + 1) // 2).tolist(), random.random(n).tolist()]
    program = Compiled(PACKED)
    found = outcome(program, "cpu3 ilp", arguments)
    assert agree(found, outcome(program, "loops ilp", arguments))
    monkeypatch.setattr(lanes, "MANY", 100 * many)
    assert agree(found, outcome(Compiled(PACKED), "cpu3 ilp", arguments))
