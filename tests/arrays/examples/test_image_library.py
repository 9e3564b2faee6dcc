"""The paper's image library gives NumPy's pixels, and its example takes three kernels for seven operations."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import PROFILE
from image_library import files, filters, pictures
from image_library.__main__ import combined

import nessie

TARGETS = ("cpu", "reference") if PROFILE == "quick" else ("cpu", "reference", "cudasim")
SIZES = [(24, 40), (1, 1), (2, 3), (3, 3), (61, 48)]
Image = np.ndarray[Any, Any]


# The same in NumPy, colour by colour ------------------------------------------------------------


def colours(p: Image) -> Image:
    return np.stack([p >> 16 & 255, p >> 8 & 255, p & 255])


def joined(parts: Image) -> Image:
    r, g, b = np.clip(parts, 0, 255)
    return r << 16 | g << 8 | b


def inner(parts: Image, around: Callable[[Callable[[int, int], Image]], Image]) -> Image:
    """What is made of the shifted colours, and black at the border."""
    _, height, width = parts.shape
    result = np.zeros_like(parts)
    if min(height, width) > 2:
        result[:, 1:-1, 1:-1] = around(lambda y, x: parts[:, 1 + y:height - 1 + y, 1 + x:width - 1 + x])
    return joined(result)


def blurred(p: Image) -> Image:
    return inner(colours(p), lambda at: sum(at(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1)) // 9)


def sharpened(p: Image) -> Image:
    return inner(colours(p), lambda at: 5 * at(0, 0) - at(-1, 0) - at(1, 0) - at(0, -1) - at(0, 1))


def inverted(p: Image) -> Image:
    return joined(255 - colours(p))


def blended(p: Image, q: Image, ratio: float) -> Image:
    part = round(256 * ratio)
    return joined(colours(p) * (256 - part) + colours(q) * part >> 8)


def overlaid(p: Image, q: Image, radius: int) -> Image:
    y, x = np.indices(p.shape)
    return np.where((y - p.shape[0] // 2) ** 2 + (x - p.shape[1] // 2) ** 2 < radius ** 2, q, p)


def drawn(height: int, width: int) -> list[nessie.Array]:
    return [draw(height, width).evaluate() for draw in (pictures.tower, pictures.sunset, pictures.forest)]


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_filters_give_numpys_pixels(size: tuple[int, int], target: str) -> None:
    (a, b, c), radius = drawn(*size), size[0] // 4
    p, q, r = map(np.asarray, (a, b, c))
    pairs = [(filters.blur(a), blurred(p)), (filters.sharpen(b), sharpened(q)), (filters.invert(c), inverted(r)),
             (filters.blend(b, 0.3)(a), blended(p, q, 0.3)),
             (filters.overlay(c, filters.circle(radius))(a), overlaid(p, r, radius)),
             (filters.overlay(c, filters.stripes(5))(a), np.where(np.indices(p.shape)[0] // 5 % 2 == 1, r, p)),
             (combined(a, b, c),
              overlaid(blended(blurred(blurred(blurred(p))), q, 0.3), inverted(r), radius))]
    for image, expected in pairs:
        assert np.array_equal(image.evaluate(target).to_numpy(), expected)


def test_the_example_takes_three_kernels_and_unfused_seven() -> None:
    told = str(combined(*drawn(30, 40)).explain())
    assert dict(kernels(told)) == {"none": 7, "greedy": 3, "ilp": 3}
    last = told.partition("kernel 3")[2].partition("\n\n")[0]
    assert last.count("  MAP  ") + last.count("  MAP\n") == 5       # blur, blend, invert, mask, overlay
    assert "0xFFFFFF - p" in last and "(at[0] - height // 2)" in last and "q if seen else p" in last
    assert str(combined(*drawn(30, 40)).kernels()).count(" = run K") == 3


def kernels(text: str) -> list[tuple[str, int]]:
    words = [line.split() for line in text.splitlines()]
    return [(row[0], int(row[1])) for row in words if row and row[0] in ("none", "greedy", "ilp")]


def test_another_size_or_ratio_compiles_nothing() -> None:
    from nessie.arrays.running import COUNTS
    a, b, _ = drawn(10, 20)
    filters.blend(b, 0.25)(a).evaluate()
    c, d, _ = drawn(20, 30)
    before = COUNTS.compiled
    filters.blend(d, 0.75)(c).evaluate()
    assert COUNTS.compiled == before


def test_files(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    image = pictures.sunset(12, 20)
    files.save_png(image, tmp_path / "sunset.png")
    loaded = files.load_png(tmp_path / "sunset.png")
    assert np.array_equal(loaded.to_numpy(), image.to_numpy()) and loaded.to_numpy().dtype == np.uint32
    assert np.array_equal(filters.blur(loaded).to_numpy(), filters.blur(image).to_numpy())
