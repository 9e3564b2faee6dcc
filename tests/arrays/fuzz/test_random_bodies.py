"""Random bodies give what Python gives, for each element, on the CPU and on a device."""
from __future__ import annotations

import linecache
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import PROFILE
from random_bodies import Bodies

import nessie

XS, YS = [-7, -1, 0, 1, 2, 5, 12], [0.5, -2.25, 0.0, 3.0, 1.0, -0.125, 10.0]
COUNT = {"quick": 20, "ci": 75}.get(PROFILE, 2000)


def defined(text: str, name: str) -> Callable[..., Any]:
    """The function of a text, which Python's linecache has as it has a notebook's cells."""
    file = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    names: dict[str, Any] = {}
    exec(compile(text, file, "exec"), names)
    function: Callable[..., Any] = names[name]
    return function


def alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(expected, float):
        both = math.isnan(found) and math.isnan(expected)
        return both or math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    return bool(found == expected)


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_body_gives_what_python_gives(seed: int) -> None:
    text = Bodies(random.Random(seed)).function(f"body{seed}")
    body = defined(text, f"body{seed}")
    expected, failed = [], []
    for x, y in zip(XS, YS):
        try:
            expected.append(body(x, y))
        except (ZeroDivisionError, OverflowError, ValueError, UnboundLocalError):
            failed.append((x, y))
    good = [(x, y) for x, y in zip(XS, YS) if (x, y) not in failed]
    kinds = {type(e[0]) if isinstance(e, tuple) else type(e) for e in expected}
    device = "cudasim" if seed % 25 == 12 else "cpu"
    a, b = nessie.array([x for x, _ in good] or [1], device), nessie.array([y for _, y in good] or [1.0], device)
    try:
        mapped = a.combine(b, body)
    except nessie.NessieError as error:
        assert len(kinds) > 1 or "one branch is" in error.message or "here and" in error.message or \
            "return" in error.message or "is not defined here" in error.message, f"{error}\n{text}"
        return
    if good:
        found = mapped.tolist()
        assert all(map(alike, found, expected)), f"{found}, not {expected}\n{text}"
    if failed:
        x, y = np.array([x for x, _ in failed]), np.array([y for _, y in failed])
        with pytest.raises(nessie.NessieError):
            nessie.array(x, device).combine(nessie.array(y, device), body).evaluate()
