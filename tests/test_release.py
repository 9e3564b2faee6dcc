"""Small parts of large sequences: a recursion holds copies of them, not all that they were part of."""
from __future__ import annotations

from typing import Any

import pytest
from executors import EXECUTORS, Compiled, Failed, agree, outcome

from nessie.base.deep import run_deep
from nessie.base.source import NessieError, Source
from nessie.flatten import compaction
from nessie.session import Session
from nessie.targets import Limits, Target

HELD = {
    "a let": "function go(k) = if k == 0 then 0.0 else let v = take(big(k), 2); r = go(k - 1) in r + v[1];",
    "an argument": "function g(k, v) = if k == 0 then sum(v) else g(k - 1, take(big(k), 2)) + v[0]; "
                   "function go(k) = g(k, [0.0]);",
    "a result": "function p(k) = if k < 0 then p(k + 1) else drop(big(k), 199998); "
                "function go(k) = if k == 0 then 0.0 else let v = p(k); r = go(k - 1) in r + v[0];",
    "rows": "function go(k) = if k == 0 then 0.0 else "
            "let m = {take(r, 1) : r in partition(big(k), dist(1000, 200))}; r = go(k - 1) in r + sum(m[0]);",
    "rows of rows": "function go(k) = if k == 0 then 0.0 else "
                    "let m = take(partition(big(k), dist(1000, 200)), 2); r = go(k - 1) in r + m[1][3];",
    "a pair": "function go(k) = if k == 0 then 0.0 else "
              "let (v, n) = (take(big(k), 2), k); r = go(k - 1) in r + v[1] + float(n);",
}
BIG = "function big(k) = {float(i * k) : i in [0:200000]};"


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("name", HELD)
def test_memory_is_bounded(name: str, target: str) -> None:
    """Sixty levels, each of which makes 1.6 MB, in 20 MB."""
    session = Session(Target(target, limits=Limits(memory=20_000_000)))
    found = run_deep(lambda: list(session.run(Source("test", f"{BIG} {HELD[name]} go(60);"))))
    assert not isinstance(found[-1], NessieError), found[-1].message


@pytest.mark.parametrize("name", HELD)
def test_copies_have_the_same_values(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size from which on sequences are copied."""
    expected: Any = None
    for large in (0, 2 ** 17):
        monkeypatch.setattr(compaction, "LARGE", large)
        text = (BIG + HELD[name]).replace("200000", "4000").replace("199998", "3998").replace("1000, 200", "20, 200")
        program = Compiled(f"{text} function main(k) : int -> float = go(k);")
        for executor in EXECUTORS:
            found = outcome(program, executor, (3,))
            assert not isinstance(found, Failed)
            assert expected is None or agree(expected, found), f"{executor}: {found}, not {expected}"
            expected = found
