"""Programs for two workers of Dask, with arguments; what is done at a task of theirs."""
from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.cudagen.cluster.on_dask import OnDask

TEXT = """
function dotp(xs, ys) = sum({x * y : x in xs; y in ys});
function norm2(xs) = let s = sum(xs); p = sum({x in xs | x > 0.0}) in ({x / s : x in xs}, {x / p : x in xs});
function segment_sums(m) = {sum(row) : row in m};
function positive_sums(m) = {sum({x in row | x > 0.0}) : row in m};
function spmv(m, v) = {sum({a * v[j] : (j, a) in row}) : row in m};
function scan(xs) = plus_scan(xs);
function positive(xs) = {x in xs | x > 0.0};
function gather(xs, is) = xs -> is;
function positive_rows(m) = {{x in row | x > 0.0} : row in m};
function row_scans(m) = {plus_scan(row) : row in m};
function scatter(xs, is) = xs <- {(i, x * 2.0) : i in is; x in xs};
function sorted(xs) = sort(xs);
function quicksort(a) =
  if #a < 2 then a
  else let p = a[#a / 2];
    lesser = {e in a | e < p}; equal = {e in a | e == p}; greater = {e in a | e > p};
    parts = {quicksort(v) : v in [lesser, greater]}
  in parts[0] ++ equal ++ parts[1];
"""
N = 200_000
RANDOM = np.random.default_rng(1)
XS, YS, PLACES = RANDOM.standard_normal(N), RANDOM.standard_normal(N), RANDOM.integers(0, N, N)
LENGTHS = RANDOM.integers(0, 20, N // 10)
LENGTHS[7], LENGTHS[50:60] = N // 5, 0
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])
ROWS = nessie.Nested(OFFSETS, RANDOM.standard_normal(OFFSETS[-1]))
ENTRIES = nessie.Tuples(RANDOM.integers(0, 5000, OFFSETS[-1]), RANDOM.standard_normal(OFFSETS[-1]))
MATRIX = nessie.Nested(OFFSETS, ENTRIES)
CALLS: dict[str, tuple[Any, ...]] = {
    "dotp": (XS, YS), "norm2": (XS,), "segment_sums": (ROWS,), "positive_sums": (ROWS,), "spmv": (MATRIX, YS[:5000]),
    "scan": (XS,), "positive": (XS,), "gather": (XS, PLACES), "positive_rows": (ROWS,), "row_scans": (ROWS,),
    "scatter": (XS, PLACES), "sorted": (XS,), "quicksort": (XS[:6000],)}


def bits(value: Any) -> bytes:
    match value:
        case tuple():
            return b"|".join(map(bits, value))
        case nessie.Nested():
            return bits(value.offsets) + bits(value.content)
    return np.asarray(value).tobytes()


def on_cpu(name: str) -> bytes:
    return bits(nessie.compile(TEXT)[name](*CALLS[name]))


def all_there(engine: OnDask) -> None:
    """Whoever was killed is back."""
    engine.client.wait_for_workers(2, timeout=300)


def wait_until(what: str, done: Callable[[], Any], seconds: float = 120.0) -> None:
    """Wait for it; who waits in vain is told what has not come."""
    end = monotonic() + seconds
    while not done():
        assert monotonic() < end, f"waited {seconds:g} s in vain: {what}"
        sleep(0.1)


def lives(process: Any) -> bool:
    """Does this one of psutil's still run?"""
    from psutil import STATUS_ZOMBIE, NoSuchProcess
    try:
        return bool(process.status() != STATUS_ZOMBIE)
    except NoSuchProcess:
        return False


def at_task(engine: OnDask, begins: str, does: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Do this once, after the first task is submitted whose name begins so; the names of the tasks that did it."""
    submit, done = engine.submit, list[str]()

    def submitted(name: str, *arguments: Any, **named: Any) -> Any:
        task = submit(name, *arguments, **named)
        if name.startswith(begins) and not done:
            done.append(name)
            does()
        return task

    monkeypatch.setattr(engine, "submit", submitted)
    return done
