"""Random programs on arguments whose types tell their lengths: they give what they give without, on every target."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amounts import examples
from executors import Compiled, Failed, agree, interpreted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_folds import PARAMETERS, Folds

import nessie

LENGTHS: dict[str, Callable[[int, int], int]] = {        # of row i of n, as a type tells it
    "i + 1": lambda i, n: i + 1, "n - i": lambda i, n: n - i, "i / 2": lambda i, n: i // 2,
    "rem(i, 3)": lambda i, n: i % 3, "min(i + 1, 2)": lambda i, n: min(i + 1, 2), "2 ^ i": lambda i, n: 2 ** i,
    "max(0, min(n, i + 2) - max(0, i - 1))": lambda i, n: max(0, min(n, i + 2) - max(0, i - 1)), "n": lambda i, n: n,
    "3": lambda i, n: 3,
}
BODIES = ("{{sum(row) : row in m}}", "{{max_val({{a * b : a in row; b in row}}) : row in m}}",
          "{{sum(row) + {} : row in m}}",
          "{{sum({{m[i][j] * {} : j in [0:#m[i]]}}) : i in [0:#m]}}", "{{m[i][#m[i] - 1 - i] : i in index(#m)}}",
          "{{sum({{p * q : p in row; q in take(v, #row)}}) : row in m}}", "{{#row * v[i] : row in m; i in [0:#v]}}",
          "{{sum({{m[j][i] : j in [i:#m]}}) : i in [0:#m]}}", "plus_scan(flatten(m))",
          "{{sum({{y : y in row | y > {}}}) : row in reverse(m)}}")
TARGETS = ("cpu", "reference", "cudasim")


@settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
@given(st.data())
def test_lengths_that_types_tell(data: st.DataObject) -> None:
    length, n = data.draw(st.sampled_from(sorted(LENGTHS))), data.draw(st.integers(0, 5))
    numbers = st.integers(-5, 9)
    m = [[data.draw(numbers) for _ in range(LENGTHS[length](i, n))] for i in range(n)]
    arguments = ([data.draw(numbers) for _ in range(n)], [0.5, -1.0], m, data.draw(st.integers(-1, 3)))
    body = data.draw(st.sampled_from(BODIES)).format(Folds(data.draw).number("int", (), 1))
    source = f"function main({', '.join(PARAMETERS)}) : ({', '.join(PARAMETERS.values())}) -> [int] = {body};"
    expected = interpreted(Compiled(source), arguments)
    if isinstance(expected, Failed):
        expected = Failed(expected.message)
    told = nessie.compile(source).main.at(f"([int; n], [float], [i < n => [int; {length}]], int)")
    for target in TARGETS:
        found = called(told, arguments, target)
        assert agree(expected, found), f"{target}: {found}, not {expected}: {source}\n{arguments}"
        expected = found


def called(function: Any, arguments: tuple[Any, ...], target: str) -> Any:
    """What a call gives, or its failure."""
    try:
        return function(*arguments, target=target).tolist()
    except nessie.NessieError as error:
        return Failed(error.message)
