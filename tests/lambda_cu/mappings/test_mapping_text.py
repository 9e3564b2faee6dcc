"""Mappings as text: what is written reads back, and a mistake is underlined."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie.base.source import NessieError
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.levels import LEVELS
from nessie.lambda_cu.mappings.text import parse_mapping, show_mapping
from nessie.lambda_cu.shape import shape
from nessie.lambda_cu.text.parser import parse_kernel
from nessie.lambda_cu.text.printer import show_kernel

NUMBERS = st.integers(-1, 200)
VECTORS = st.lists(st.integers(0, 5), min_size=1, max_size=5).map(tuple)


def around(inner: st.SearchStrategy[maps.Inner]) -> st.SearchStrategy[maps.Inner]:
    return st.one_of(
        st.builds(maps.ShiftLB, inner), st.builds(maps.FoldLast2, inner), st.builds(maps.Mask, inner),
        st.builds(maps.Hull, inner), st.builds(maps.CompressGrid, VECTORS, inner),
        st.builds(maps.Permute, VECTORS, inner),
        st.builds(maps.SplitLast, NUMBERS, inner), st.builds(maps.PadLast, NUMBERS, inner),
        st.builds(maps.Split, NUMBERS, NUMBERS, inner))


INNER = st.recursive(st.just(maps.Gen()), around, max_leaves=8)
MAPPINGS = st.one_of(
    st.sampled_from(maps.STRATEGIES).map(maps.Strategy), st.builds(maps.GridBlock, NUMBERS, INNER),
    st.builds(maps.Levels, st.lists(st.sampled_from(list(LEVELS)), min_size=1).map(tuple), INNER))


@given(MAPPINGS)
def test_a_mapping_reads_back(mapping: maps.Mapping) -> None:
    assert parse_mapping(show_mapping(mapping)) == mapping


def test_the_text_of_the_paper() -> None:
    text = "GridBlock(1, SplitLast(32, ShiftLB(Gen)))"
    assert parse_mapping(text) == maps.GridBlock(1, maps.SplitLast(32, maps.ShiftLB(maps.Gen())))
    assert show_mapping(parse_mapping(text)) == text


@pytest.mark.parametrize(("text", "word", "said"), [
    ("GridBlock(1, ShiftLb(Gen))", "ShiftLb", "did you mean ShiftLB"),
    ("GridBlok(1, Gen)", "GridBlok", "did you mean GridBlock"),
    ("ShiftLB(Gen)", "ShiftLB", "GridBlock or Levels is outermost"),
    ("GridBlock(1, GridBlock(1, Gen))", "GridBlock", "outermost, and nowhere else"),
    ("GridBlock(1, ShiftLB(Jing))", "Jing", "outermost, and nowhere else"),
    ("Levels([wrap], Gen)", "wrap", "did you mean warp"),
    ("Levels([], Gen)", "]", "a level must stand here"),
    ("GridBlock(2, SplitLast(x, Gen))", "x", "an int is expected here"),
    ("GridBlock(1, Gen) more", "more", "not expected here"),
])
def test_a_mistake_is_underlined(text: str, word: str, said: str) -> None:
    with pytest.raises(NessieError) as failed:
        parse_mapping(text)
    message, (span, _) = failed.value.message, failed.value.places[0]
    assert said in message and text[span.start:span.end] == word


KERNEL = """kernel K (n : int) -> [int; n] by GridBlock(1, SplitLast(32, Gen)) {
  let a = MAP { i => i } (n)
  return a
}
"""


def test_a_kernel_tells_its_mapping() -> None:
    kernel = parse_kernel(KERNEL)
    assert kernel.by == maps.GridBlock(1, maps.SplitLast(32, maps.Gen()))
    assert parse_kernel(show_kernel(kernel)) == kernel


def test_kernels_that_are_walked_differently_are_not_alike() -> None:
    other = parse_kernel(KERNEL.replace("32", "64"))
    assert shape(other) != shape(parse_kernel(KERNEL))
