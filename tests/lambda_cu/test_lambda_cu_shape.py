"""Kernels up to names: which have one shape."""
from __future__ import annotations

import re

import pytest

from nessie.lambda_cu.shape import shape
from nessie.lambda_cu.text.parser import parse_kernel

KERNEL = """\
kernel K (n : int, xs : [float; n], at : site) {
  let (k, ys) = FILTER { i => let y = xs[i] in y * 0.0 using xs }
    { i => if i < 9 then xs[i] > 1.0 else fail at : bool using xs } (n)
  let z = REDUCE { j => ys[j] using ys } (0.0) { (a, b) => a + b } (k)
  let ws = PERMUTE { i => 1 } { i => i } (n) into n (0) last
  return (k, z)
}
"""


def same(old: str, new: str) -> bool:
    assert old in KERNEL
    return shape(parse_kernel(KERNEL)) == shape(parse_kernel(KERNEL.replace(old, new)))


def test_the_names_of_parameters_do_not_matter() -> None:
    renamed = re.sub(r"\b(n|xs|at|k|ys|z)\b", r"other_\1", KERNEL)
    assert shape(parse_kernel(renamed)) == shape(parse_kernel(KERNEL))


@pytest.mark.parametrize("old, new", [
    ("K (", "L ("), ("let y = xs[i] in y", "let v = xs[i] in v"), ("{ j => ys[j]", "{ i => ys[i]"),
    ("{ i => 1 }", "{ _ => 1 }"), ("let ws", "let _"), ("(a, b) => a + b", "(b, a) => b + a")])
def test_names_do_not_matter(old: str, new: str) -> None:
    assert same(old, new)


@pytest.mark.parametrize("old, new", [
    ("y * 0.0", "y * -0.0"), ("y * 0.0", "0.0 * y"), ("a + b", "b + a"), ("i < 9", "i < 8"),
    ("fail at", "fail s1"), ("xs[i] > 1.0", "xs[0] > 1.0"), ("into n", "into k"), ("(0) last", "(1) last"),
    ("last", "distinct"), ("return (k, z)", "return (z, k)"), ("REDUCE", "SCAN"), ("{ i => i }", "{ i => n using n }"),
    ("(k)", "(n)"), ("[float; n]", "[float; n+1]"), ("[float; n]", "[float; 3]")])
def test_all_else_does(old: str, new: str) -> None:
    assert not same(old, new)


def test_a_segmented_space_is_not_another() -> None:
    text = "kernel K (s : int, m : int, n : int) {{ let x = SEG_MAP {{ (s1, j, i) => j }} {} return x }}"
    spaces = ["uniform(s, m, n)", "uniform(m, s, n)", "closed(s, (m, m), n)", "closed(s, (m, 1), n)",
              "closed(s, (m) + (m), n)", "closed(s, (m, m) doubling, n)", "closed(s, (m) from m, n)",
              "closed(s, floor(m, m, 3), n)", "closed(s, floor(m, m, 4), n)",
              "nested(uniform(s, m, m), ((m)), (m), n)", "nested(uniform(s, m, m), ((m), (m)), (m), n)",
              "nested(uniform(s, m, m), ((m, m)), (m), n)", "nested(uniform(s, m, m), ((m)), (m, m), n)",
              "nested(closed(s, (m), m), ((m)), (m), n)", "nested(closed(s, (m, 1), m), ((m)), (m), n)"]
    assert len({shape(parse_kernel(text.format(space))) for space in spaces}) == len(spaces)
