"""Random host sections whose names are of several kinds give what each operation gives by itself, of the same kind; and
fail where one of those does."""
from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest
from amounts import PROFILE
from random_sections import Eager, Sections

import nessie
from nessie.arrays.array import Array

COUNT = {"quick": 5, "ci": 10}.get(PROFILE, 1000)
ROWS, ROW = [[1, -2, 3], [0, 4, 2]], [2, 0, 1]
LIMITS = ("combinations of kinds", "never come to rest")


def defined(text: str, name: str) -> Any:
    file = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    names: dict[str, Any] = {}
    exec(compile(text, file, "exec"), names)
    return names[name]


def alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return isinstance(found, tuple) and len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(expected, Eager):
        if not isinstance(found, Array):
            return False
        array = np.asarray(found.to_numpy())
        return array.dtype == expected.array.dtype and np.array_equal(array, expected.array)
    return type(found) is type(expected) and bool(found == expected)


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_section_gives_what_its_operations_give(seed: int) -> None:
    text = Sections(random.Random(seed)).function(f"section{seed}")
    function = defined(text, f"section{seed}")
    section = nessie.host_section(function)
    succeeded = False
    for n in range(4):
        try:
            expected: Any = function(Eager(ROWS), Eager(ROW), n)
        except (TypeError, AttributeError, UnboundLocalError, ValueError) as error:
            expected = error
        try:
            found = section(ROWS, ROW, n, target="reference" if seed % 5 == 0 else "cpu")
        except nessie.NessieError as error:
            if any(limit in error.message for limit in LIMITS):
                return
            assert isinstance(expected, Exception) or not (succeeded or error.message[:1].isupper()), \
                f"n = {n}: {error}\nexpected: {expected}\n{text}"
            continue
        succeeded = True
        assert not isinstance(expected, Exception), f"n = {n}: {found}, and not {expected!r}\n{text}"
        assert alike(found, expected), f"n = {n}: {found}, not {expected}\n{text}"
