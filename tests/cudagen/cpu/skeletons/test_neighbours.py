"""Neighbouring segments of a nest are summed together, each in its own order."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import executors
import numpy as np
import pytest
from executors import Compiled, Failed, agree, outcome

from nessie.cudagen.generate import generate
from nessie.cudagen.loops.walk import bound_names

LANES = 8
PRODUCT = """function main(a, b) : ([[float]], [[float]]) -> [[float]] =
  {{sum({a[i][k] * b[k][j] : k in [j:i+1]}) : j in [0:i+1]} : i in [0:#a]};"""
ON_VECTORS = {
    "from the place": "{{sum({v[k] : k in [j:i+1]}) : j in [0:i+1]} : i in [0:#v]}",
    "to the place": "{{sum({v[k] * v[j] : k in [0:j+1]}) : j in [0:i+1]} : i in [0:#v]}",
    "to the end": "let n = #v in {{sum({v[k] * v[i] : k in [j:n]}) : j in [0:i+1]} : i in [0:n]}",
    "backwards": "{{sum({v[i - j - k] * v[k] : k in [0:i-j+1]}) : j in [0:i+1]} : i in [0:#v]}",
    "behind": "let n = #v in {{sum({v[n - 1 - j + k] * v[i] : k in [0:j+1]}) : j in [0:i+1]} : i in [0:n]}",
    "two sums": """{{let s = sum({v[k] : k in [j:i+1]}); q = sum({v[k] * v[k] : k in [j:i+1]}) in s / (q + 1.0)
                   : j in [0:i+1]} : i in [0:#v]}""",
    "fails in one": "{{sum({v[k + 17] : k in [j:i+1]}) : j in [0:i+1]} : i in [0:#v - 5]}",
    "fails where it falls": "{{sum({v[k] / v[k] : k in [j:i+1] | 1.0 < 2.0}) : j in [0:i+1]} : i in [0:#v]}",
}


def compiled(text: str) -> Compiled:
    return Compiled(text if text.startswith("function") else f"function main(v) : [float] -> [[float]] = {text};")


def together(program: Compiled) -> bool:
    """Does the CPU sum neighbours together?"""
    functions = generate(program.executable("ilp"), "cpu").functions
    return any("wholes" in bound_names(function.body) for function in functions)


@pytest.mark.sampled(quick=8, ci=4)
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 23, 40])
@pytest.mark.parametrize("name", ON_VECTORS)
@pytest.mark.parametrize("width", [100, 32768])
def test_executors_agree(name: str, n: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of any length cut rows at any place."""
    monkeypatch.setattr(executors, "WIDTH", width)
    program, arguments = compiled(ON_VECTORS[name]), [list(np.random.default_rng(n).random(n))]
    found = outcome(program, "cpu ilp", arguments)
    assert agree(found, outcome(program, "loops ilp", arguments))
    assert agree(found, outcome(program, "cpu3 ilp", arguments))
    if width == 32768:
        near(found, outcome(program, "interpreter", arguments))


@pytest.mark.parametrize("n", [5, 8, 30, 61])
def test_a_triangles_product_is_summed_in_its_own_order(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "WIDTH", 5000)
    program, random = compiled(PRODUCT), np.random.default_rng(n)
    a, b = random.random((n, n)) - 0.5, random.random((n, n)) - 0.5
    found = outcome(program, "cpu3 ilp", [a.tolist(), b.tolist()])
    assert found == [[in_order(a[i, j:i + 1] * b[j:i + 1, j]) for j in range(i + 1)] for i in range(n)]
    assert together(program)


def test_sums_are_those_of_their_own_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "WIDTH", 5000)
    program, v = compiled(ON_VECTORS["from the place"]), np.random.default_rng(0).random(70) - 0.5
    found = outcome(program, "cpu3 ilp", [v.tolist()])
    assert found == [[in_order(v[j:i + 1]) for j in range(i + 1)] for i in range(70)]


@pytest.mark.parametrize("name", [name for name in ON_VECTORS if "falls" not in name])
def test_neighbours_are_summed_together(name: str) -> None:
    assert together(compiled(ON_VECTORS[name]))


def test_a_sum_that_reads_what_is_no_neighbour_goes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "WIDTH", 5000)
    program = compiled("{{sum({v[rem(k * j, #v)] : k in [j:i+1]}) : j in [0:i+1]} : i in [0:#v]}")
    assert not together(program)
    v = [float(k) for k in range(30)]
    near(outcome(program, "cpu3 ilp", [v]), outcome(program, "interpreter", [v]))


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("row", [0, 9, 20, 39])
def test_the_first_element_that_fails_is_told(row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of b ends too early: where it does, sums of all rows after it fail."""
    monkeypatch.setattr(executors, "WIDTH", 4096)
    program, a = compiled(PRODUCT), np.ones((40, 40)).tolist()
    b = [[1.0] * (40 if k != row else k // 2) for k in range(40)]
    failed = outcome(program, "cpu3 ilp", [a, b])
    assert isinstance(failed, Failed)
    for executor in ("interpreter", "reference none", "loops ilp"):
        assert agree(failed, outcome(program, executor, [a, b]))


def in_order(terms: Sequence[float]) -> float:
    """Their sum as the CPU has it: eight lanes, then the rest; of less than sixteen, one after the other."""
    whole = len(terms) // LANES * LANES if len(terms) >= 2 * LANES else 0
    lanes = [0.0] * LANES
    for at in range(whole):
        lanes[at % LANES] += terms[at]
    total = 0.0
    for term in (*(lanes if whole else ()), *terms[whole:]):
        total += term
    return float(total)


def near(found: Any, other: Any) -> None:
    if isinstance(found, Failed):
        assert agree(found, other)
    else:
        assert [len(row) for row in found] == [len(row) for row in other]
        assert np.allclose(np.concatenate([[0.0], *found]), np.concatenate([[0.0], *other]))
