"""The programs of the paper's benchmarks, at small sizes: the values of NumPy's, fused or not, and fused in no more
kernels than apart. benchmarks/ikra.py times them at their own sizes."""
from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from image_library import pictures
from parallel_arrays import himeno
from paths import ROOT

import nessie

RANDOM = np.random.default_rng(24)
WHOLE, SMALL = RANDOM.integers(0, 10_000, 40), (3, 5, 4, 2)
NEIGHBOURS = [[(k * 7 + j) % 30 for j in range(k % 4)] for k in range(30)]
GIVEN: dict[str, Callable[[], Any]] = {
    "Map10Simple": lambda: SMALL,
    "Map10": lambda: SMALL,
    "Stencil10": lambda: SMALL,
    "Himeno, 4 rounds": lambda: (*himeno.given((6, 5, 7)), 4),
    "dot product, combined": lambda: (100,),
    "dot product, zipped": lambda: (100,),
    "dot product of arrays": lambda: tuple(RANDOM.random((2, 50))),
    "Square": lambda: (WHOLE,),
    "Mandelbrot, 200 steps": lambda: (7, 9, 20),
    "IterativeMap100": lambda: (WHOLE, 5),
    "Iterative100x10": lambda: (WHOLE, 5),
    "IterativeMapComplex": lambda: (WHOLE, 5),
    "IterativeStencil100": lambda: (WHOLE, 5),
    "stencil until a sum": lambda: (WHOLE, int(WHOLE.sum()) * 9 // 10),
    "matrix product": lambda: tuple(RANDOM.random((2, 6, 6))),
    "BFS by unique": lambda: (nested(NEIGHBOURS),),
    "BFS by flags": lambda: (nested(NEIGHBOURS),),
    "image library": lambda: tuple([np.array(draw(12, 16)) for draw in (pictures.tower, pictures.sunset,
                                                                        pictures.forest)])}


def nested(rows: list[list[int]]) -> nessie.Nested:
    offsets = np.cumsum([0, *[len(row) for row in rows]])
    return nessie.Nested(offsets, np.array([x for row in rows for x in row]))


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The module, which has a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("OMP_WAIT_POLICY", "XDG_CACHE_HOME"):
            patch.setenv(variable, "set by the module")
        patch.setattr(tempfile, "mkdtemp", lambda **_: str(tmp_path_factory.mktemp("ikra")))
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        import ikra
        yield ikra


@pytest.mark.parametrize("name", GIVEN)
def test_fused_it_gives_numpys_values_in_no_more_kernels(suite: Any, name: str) -> None:
    program, = [one for one in suite.PROGRAMS if one.name == name]
    given = GIVEN[name]()
    fused, apart = [suite.Edition(each).of(program, given)() for each in (True, False)]
    expected = program.others["numpy"](*given)
    assert program.same(fused, expected) and program.same(apart, expected)
    (launches, size), (launches_apart, size_apart) = [suite.counted(each, program, given) for each in (True, False)]
    assert 0 < launches <= launches_apart and size <= size_apart


def test_all_programs_are_here(suite: Any) -> None:
    assert [program.name for program in suite.PROGRAMS] == list(GIVEN)
