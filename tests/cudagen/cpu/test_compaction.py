"""FILTERs whose survivors are stored several at a time keep the same elements, in order."""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.base.source import Source
from nessie.cudagen.cpu import llvm
from nessie.cudagen.cpu.machine_code import features
from nessie.cudagen.cpu.text.compaction import TABLE, WIDE, table
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.pipeline import Job, pass_named
from nessie.syntax.parser import parse_type

PROGRAM = """
function below(xs, k) : ([float], float) -> [float] = {x in xs | x < k};
function parts(xs, k) : ([float], float) -> ([float], [float], [float]) =
  ({x in xs | x < k}, {x in xs | x == k}, {x in xs | x > k});
function places(xs, k) : ([float], float) -> [int] = {i : i in [0:#xs]; x in xs | (x /= k) and not(x < k)};
function pairs(xs, k) : ([float], float) -> [(float, int)] = {(x, i) : x in xs; i in [0:#xs] | x + 1.0 >= k};
function moved(xs, k) : ([float], float) -> [float] = let ys = drop(xs, #xs / 3) in {y * y : y in ys | y <= k};
function rows(xs, k) : ([float], float) -> [[float]] =
  let n = #xs / 4 in {{x in take(drop(xs, i), rem(i * i, 23)) | x < k} : i in [0:n]};
function first(xs, k) : ([float], float) -> [float] = {x in xs | sqrt(abs(x)) < k};
"""
ENTRIES = ["below", "parts", "places", "pairs", "moved", "rows"]


WIDTHS = {"eight": frozenset[str](), "four": WIDE}         # the features that are not used


@cache
def program(width: str) -> nessie.Program:
    return nessie.compile(f"{PROGRAM}% {width} lanes at most %")


@pytest.fixture(params=WIDTHS)
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How many lanes vectors have here, at most."""
    monkeypatch.setattr(llvm, "features", lambda: features() - WIDTHS[request.param])
    return str(request.param)


def plain(value: Any) -> Any:
    match value:
        case tuple():
            return [plain(v) for v in value]
        case np.ndarray() | list():
            return [plain(v) for v in value]
    return repr(value.item() if isinstance(value, np.generic) else value) if not hasattr(value, "tolist") else \
        plain(value.tolist())


def text_of(entry: str) -> str:
    job = Job(entry=entry, argument=parse_type(Source("type", "([float], float)")))
    text = compile_program(job, TEXT, Source("program", PROGRAM), pass_named("llvm"))
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("entry", ENTRIES)
def test_filters_go_by_vectors(entry: str, width: str) -> None:
    text, eight = text_of(entry), width == "eight" and features() >= WIDE
    assert (TABLE in text) == ("avx2" in features() and not eight)
    assert ("mask.compress" in text) == eight


def test_what_takes_long_keeps_its_branch() -> None:
    assert TABLE not in text_of("first")
    assert "mask.compress" not in text_of("first")


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 7, 8, 9, 63, 1000, 32767, 32768, 32771, 100_003])
def test_the_same_elements_stay(entry: str, n: int, width: str) -> None:
    numbers = np.random.default_rng(n)
    xs = numbers.integers(0, 7, n).astype(float)
    xs[numbers.random(n) < 0.05] = np.nan
    if n > 5000 and entry == "rows":
        xs = xs[:5000]
    call = getattr(program(width), entry)
    for k in (3.0, -1.0, 9.0, float("nan")):
        assert plain(call(xs, k)) == plain(call(xs, k, target="reference")), (n, k)


def test_the_table_moves_each_set_of_lanes() -> None:
    rows = table().split("[16 x <8 x i32>] [")[1].split("<8 x i32> <")[1:]
    for bits, row in enumerate(rows):
        halves = [int(part.split()[1]) for part in row.split(">")[0].split(", ")]
        lanes = [lane for lane in range(4) if bits >> lane & 1]
        assert halves[:2 * len(lanes)] == [half for lane in lanes for half in (2 * lane, 2 * lane + 1)]
