"""Remainders of floats are the C library's to the bit, and vectorise."""
from __future__ import annotations

import ctypes
import itertools
import re
from typing import Any

import numpy as np
import pytest
from amounts import PROFILE

from nessie.cudagen.cpu import llvm, vector_math
from nessie.cudagen.cpu import machine_code as building
from nessie.cudagen.cpu.remainders import with_fast_remainders
from nessie.cudagen.loops.text import parse

COUNT = {"quick": 20_000, "ci": 200_000}.get(PROFILE, 2_000_000)
LOOP = """
host f(int n, float[] xs, float[] ys, writable float[] out) { for (i = 0; i < n; i += 1) { out[i] = VALUE; } }
"""
SINGLES = LOOP.replace("float[]", "float32[]").replace("VALUE", "float32(fmod(xs[i], ys[i]))")
HAS_FMA = "fma" in building.features()
Numbers = np.ndarray[Any, Any]


def text_of(loop: str) -> str:
    return llvm.llvm(parse(loop))


def computed(loop: str, xs: Numbers, ys: Numbers, quick: bool = False) -> Numbers:
    out = np.empty_like(xs)
    code = building.load(building.build(text_of(loop), quick), ["f.call"])
    given = np.array([len(xs), *[array.ctypes.data for array in (xs, ys, out)]], np.int64)
    ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(code["f.call"])(0, 1, given.ctypes.data)
    return out


def same(found: Numbers, expected: Numbers) -> bool:
    """The same bits; of NaN, only that both are."""
    nan = np.isnan(expected)
    return np.array_equal(np.isnan(found), nan) and found[~nan].tobytes() == expected[~nan].tobytes()


def pairs(dtype: Any, seed: int) -> tuple[Numbers, Numbers]:
    """Numbers at the edges, random bits, quotients near ints, and quotients near the limit."""
    rng, bits = np.random.default_rng(seed), np.dtype(dtype).itemsize * 8
    info = np.finfo(dtype)
    edges = [0.0, -0.0, 1.0, -1.5, 3.0, info.tiny, info.smallest_subnormal, -3 * info.smallest_subnormal, info.max,
             info.min, np.inf, -np.inf, np.nan, 2.0 ** info.nmant, 2.0 ** (info.nmant + 1), 1 - info.epsneg, 0.1]
    x, y = np.array(list(itertools.product(edges, edges)), dtype).T
    with np.errstate(all="ignore"):
        random = rng.integers(0, 2 ** bits, (2, COUNT), f"uint{bits}").view(dtype)
        close = (random[0] * dtype(2) ** rng.integers(-8, info.nmant + 4, COUNT)).astype(dtype)
        whole = (random[0] * rng.integers(1, 10 ** rng.integers(1, 7, COUNT))).astype(dtype)
        near = np.nextafter(whole, whole * rng.choice([0, 1, 2], COUNT).astype(dtype))
    return (np.concatenate([x, random[1], random[0], close, whole, near, random[1]]),
            np.concatenate([y, random[0], random[1], random[0], random[0], random[0], close]))


@pytest.mark.parametrize("quick", [False, True])
def test_remainders_of_doubles(quick: bool) -> None:
    xs, ys = pairs(np.float64, 1)
    with np.errstate(all="ignore"):
        assert same(computed(LOOP.replace("VALUE", "fmod(xs[i], ys[i])"), xs, ys, quick), np.fmod(xs, ys))


@pytest.mark.parametrize("quick", [False, True])
def test_remainders_of_singles(quick: bool) -> None:
    xs, ys = pairs(np.float32, 2)
    with np.errstate(all="ignore"):
        assert same(computed(SINGLES, xs, ys, quick), np.fmod(xs, ys))


@pytest.mark.skipif(not HAS_FMA, reason="this processor has no fused products and sums")
def test_remainders_are_vectors() -> None:
    text = building.optimised(text_of(LOOP.replace("VALUE", "fmod(xs[i], ys[i]) * 2.0")))
    if vector_math.vector_library() is not None:
        assert re.search(r"call <\d+ x double> @lanes_fmod", text)
    assert "fast_fmodf" in building.optimised(text_of(SINGLES))


def test_processors_without_fused_products_ask_the_library() -> None:
    text = text_of(LOOP.replace("VALUE", "fmod(xs[i], ys[i])"))
    assert with_fast_remainders(text, frozenset({"avx2"})) == text
    assert "lanes_" not in with_fast_remainders(text, frozenset({"fma"}))
    other = text_of(LOOP.replace("VALUE", "xs[i] + ys[i]"))
    assert with_fast_remainders(other, building.features()) == other
