"""Mappings that no space has are told without one; others are not."""
from __future__ import annotations

import pytest

from nessie.lambda_cu.mappings.broken import broken
from nessie.lambda_cu.mappings.text import parse_mapping


@pytest.mark.parametrize(("text", "said"), [
    ("GridBlock(4, Gen)", "a block has at most 3 directions"),
    ("GridBlock(1, Permute([0, 0], Gen))", "[0, 0] is no order of 2 axes: it has each of 0 to 1 once"),
    ("GridBlock(1, Permute([1], Gen))", "[1] is no order of 2 axes: it has each of 0 to 1 once, as [1, 0] has"),
    ("GridBlock(1, SplitLast(4096, Gen))", "block.x is 4,096"),
    ("GridBlock(1, SplitLast(0, Gen))", "SplitLast makes parts of at least 1 element"),
    ("GridBlock(1, CompressGrid([2, 0], Gen))", "CompressGrid's flags are 0 and 1"),
    ("GridBlock(1, CompressGrid([1], SplitLast(2, Gen)))", "CompressGrid has 1 flag, and here are 2 axes"),
    ("Levels([threads, lane], Gen)", "threads is a level of CPUs"),
    ("Levels([block, grid], Gen)", "levels go from grid over block to thread"),
    ("Levels([warp, warp], Gen)", "warp walks segments, as warp or warp, lane"),
    ("Levels([lane, warp], Gen)", "lane stands behind who owns a segment, as warp, lane"),
    ("Levels([grid, lane], Gen)", "a grid holds no segment"),
    ("Levels([grid, grid, grid, grid], Gen)", "4 axes are left for the grid"),
    ("case 1 Jing case rest GridBlock(4, Gen)", "a block has at most 3 directions")])
def test_what_no_space_has(text: str, said: str) -> None:
    found = broken(parse_mapping(text))
    assert found is not None and said in found.message


@pytest.mark.parametrize("text", [
    "Jing", "auto", "none", "GridBlock(3, Gen)", "GridBlock(1, SplitLast(32, ShiftLB(Gen)))",
    "Levels([warp, lane], Gen)", "Levels([thread, serial], Gen)", "Levels([grid, block, serial], Gen)",
    "GridBlock(1, Mask(ShiftLB(Gen)))",
    "GridBlock(2, CompressGrid([1, 1], ShiftLB(Gen)))",
    "GridBlock(1, SplitLast(256, " + "FoldLast2(" * 9 + "Gen" + ")" * 11,
    "GridBlock(1, Hull(Gen))", "case 1 Jing case rest FoldAll"])
def test_what_some_space_has(text: str) -> None:
    assert broken(parse_mapping(text)) is None
