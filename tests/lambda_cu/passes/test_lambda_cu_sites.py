"""Kernels that differ in where they fail only: one kernel with the sites as parameters, and back."""
from __future__ import annotations

import numpy as np
import pytest

from nessie.base.source import IllFormed, NessieError
from nessie.base.values import Flat
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.passes.share_sites import share_sites
from nessie.lambda_cu.passes.specialise_sites import specialise_sites
from nessie.lambda_cu.reference.reference import execute
from nessie.lambda_cu.text.parser import parse
from nessie.lambda_cu.text.printer import show

APART = """\
site s1 "first"
site s2 "second"

kernel K1 (a : int, n : int, xs : [int; n]) -> [int; n] {
  let it = MAP { i => if a /= 0 then xs[i] / a else fail s1 : int using a, xs } (n)
  return it
}

kernel K2 (b : int, n : int, xs : [int; n]) -> [int; n] {
  let ys = MAP { i => if b /= 0 then xs[i] / b else fail s2 : int using b, xs } (n)
  return ys
}

function main (n : int, xs : [int; n], a : int, b : int) -> (n_1 : int, r : [int; n_1]) {
  let it : [int; n] = run K1 (a, n, xs)
  let ys : [int; n] = run K2 (b, n, it)
  return (n, ys)
}

entry main : [int], int, int -> [int]
"""


def arguments(a: int, b: int) -> list[object]:
    return [Flat(2, np.array([8, 12])), a, b]


def test_one_kernel_serves_both_sites() -> None:
    program = parse(APART)
    shared = share_sites(program)
    check(shared)
    (kernel,) = shared.kernels
    assert kernel.params[-1].type == "site"
    assert parse(show(shared)) == shared
    back = specialise_sites(shared)
    check(back)
    assert len(back.kernels) == 2
    assert all(p.type != "site" for k in back.kernels for p in k.params)


@pytest.mark.parametrize(("a", "b", "message"), [(0, 1, "first"), (1, 0, "second"), (0, 0, "first")])
def test_the_error_is_of_the_run_that_failed(a: int, b: int, message: str) -> None:
    for program in (parse(APART), share_sites(parse(APART))):
        with pytest.raises(NessieError, match=message):
            execute(program, arguments(a, b))


def test_a_kernel_run_at_one_site_keeps_it() -> None:
    program = parse(APART.replace("run K2 (b, n, it)", "run K1 (b, n, it)"))
    shared = share_sites(program)
    assert [p for k in shared.kernels for p in k.params if p.type == "site"] == []
    assert execute(shared, arguments(2, 2)).column.tolist() == [2, 3]


def test_a_run_at_an_unknown_site_is_ill_formed() -> None:
    shared = share_sites(parse(APART))
    wrong = show(shared).replace("site s2)", "site s9)")
    with pytest.raises(IllFormed, match="no site s9"):
        check(parse(wrong))


def test_sites_are_no_values() -> None:
    (kernel,) = share_sites(parse(APART)).kernels
    assert isinstance(kernel, ir.Kernel)
    wrong = show(share_sites(parse(APART))).replace("fail at : int", "at")
    with pytest.raises(IllFormed):
        check(parse(wrong))
