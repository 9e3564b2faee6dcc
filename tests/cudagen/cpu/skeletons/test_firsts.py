"""Hash tables on the CPU, which tell equal keys: tables that grow, keys that meet in them, many rows."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import nessie

SIZES = [0, 1, 2, 127, 128, 129, 600, 5000]
LONG = 30_000                   # several chunks
FEW, MANY = 7, 1 << 62


def drawn(kind: str, size: int, different: int) -> Any:
    random = np.random.default_rng(size + different % 1009)
    ints = random.integers(-different, different, size)
    match kind:
        case "int":
            return ints << 40 if different == FEW else ints
        case "float":
            special = random.choice([math.nan, 0.0, -0.0, math.inf, -math.inf, 5e-324], size)
            return np.where(random.random(size) < 0.3, special, ints * 0.5)
    return "".join(chr(97 + x % min(different, 26)) for x in ints.tolist())


def lasts(keys: Any) -> list[int]:
    """Where the last equal element stands, which is an element's name; NaN equals nothing."""
    found = {x: i for i, x in enumerate(list(keys))}
    return [i if x != x else found[x] for i, x in enumerate(list(keys))]


@pytest.mark.parametrize("different", [FEW, MANY])
@pytest.mark.parametrize("kind", ["int", "float", "char"])
def test_names_of_equal_keys(kind: str, different: int) -> None:
    program = nessie.compile(f"""function flat(v) : [{kind}] -> [int] = name(v);
        function rows(m) : [[{kind}]] -> [[int]] = {{name(r) : r in m}};""")
    keys = [drawn(kind, size, different) for size in SIZES]
    for given in (*keys, drawn(kind, LONG, different), drawn(kind, LONG, LONG // 3)):
        assert list(program.flat(given)) == lasts(given)
    offsets = np.concatenate([[0], np.cumsum(SIZES)])
    content = keys[0] if kind == "char" else np.concatenate(keys)
    if kind != "char":
        rows = program.rows(nessie.Nested(offsets, content))
        assert [list(row) for row in rows] == [lasts(row) for row in keys]


def test_keys_that_meet() -> None:
    """All begin to look in the same slots: multiples of a power of two, and what differs in the last bits alone."""
    flat = nessie.compile("function flat(v) : [int] -> [int] = name(v);").flat
    for keys in (np.arange(3000) << 44, np.arange(3000) << 52, np.arange(3000, dtype=np.int64) - 1500):
        doubled = np.concatenate([keys, keys[::-1]])
        assert list(flat(doubled)) == lasts(doubled)
