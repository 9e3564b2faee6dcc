"""Lengths by the row and the place in it: which are closed, and what they compute everywhere."""
from __future__ import annotations

import pytest
from executors import Compiled, Failed, assert_the_gpu_agrees, outcome, same
from test_closed import is_closed

import nessie
from nessie.cudagen.generate import generate
from nessie.cudagen.loops.printer import show
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import soac_can_fail, space_of

# Rows of the outer sequence, of the middle, and of the inner one, of n and b.
NESTS = {
    "tetrahedron": ("[0:n]", "[0:i+1]", "[0:j+1]"),
    "tetrahedron, strict": ("[0:n]", "[0:i]", "[0:j]"),
    "from the diagonal": ("[0:n]", "[0:i+1]", "[j:i+1]"),
    "upper": ("[0:n]", "[i:n]", "[j:n]"),
    "upper, between": ("[0:n]", "[i:n]", "[i:j+1]"),
    "two, then one": ("[0:n]", "[0:if i == 0 then 2 else 1]", "[0:i+j+1]"),
    "a triangle in each row": ("[0:n]", "[0:b]", "[0:j]"),
    "by row alone": ("[0:n]", "[0:b]", "[0:i]"),
    "a step further out": ("[0:n]", "[0:min(i,b)]", "[0:2*j+i]"),
    "falling, then none": ("[0:n]", "[0:max(0,b-i)]", "[0:i+j]"),
    "rows that begin late": ("[0:n]", "[0:max(0,i-b)]", "[0:j+1]"),
    "a box": ("[0:n]", "[0:b]", "[0:i+j]"),
    "rows of one": ("[0:n]", "[i:i+1]", "[0:j+1]"),
}
IRREGULAR = {
    "bands": ("[0:n]", "[max(0,i-b):min(n,i+b+1)]", "[0:j+1]"),
    "a place within the row": ("[0:n]", "[0:i+1]", "[0:min(j,b)]"),
    "an int that may be negative": ("[0:n]", "[0:i+1]", "[0:b+j]"),
    "squares": ("[0:n]", "[0:i+1]", "[0:j*j+i]"),
    "rows in powers": ("[0:n]", "[0:2^i]", "[0:j+1]"),
}


def program_of(ranges: tuple[str, str, str], body: str = "i * 100 + j * 10 + k") -> Compiled:
    outer, middle, inner = ranges
    return Compiled(f"function main(n, b) : (int, int) -> [[[int]]] = "
                    f"{{{{{{{body} : k in {inner}}} : j in {middle}}} : i in {outer}}};")


@pytest.mark.parametrize("name", NESTS)
def test_nests(name: str) -> None:
    program = program_of(NESTS[name])
    assert is_closed(program)
    for arguments in [(0, 2), (1, 1), (2, 0), (5, 2), (4, 6), (7, 3)]:
        same(program, *arguments)
    assert_the_gpu_agrees(program, (6, 3))


@pytest.mark.parametrize("name", IRREGULAR)
def test_nests_that_have_no_form(name: str) -> None:
    program = program_of(IRREGULAR[name])
    assert not is_closed(program)
    for arguments in [(0, 2), (1, 1), (5, 2), (4, 6)]:
        same(program, *arguments)


def test_sums_below_the_diagonal_are_one_kernel_that_checks_no_element() -> None:
    program = Compiled("function main(v) : [int] -> [[int]] = "
                       "{{sum({v[k] : k in [j:i+1]}) : j in [0:i+1]} : i in [0:#v]};")
    (sums,) = program.executable("ilp").kernels
    assert isinstance(space_of(sums.binds[0].soac), ir.Nested)
    assert not any(soac_can_fail(bind.soac) for bind in sums.binds)
    assert is_closed(program) and same(program, [3, 1, 4]) == [[3], [4, 1], [8, 5, 4]]


def test_the_row_is_searched_once_for_a_chunk() -> None:
    program = Compiled("function main(n) : int -> [[int]] = "
                       "{{sum({i * k + k * j : k in [j:i+1]}) : j in [0:i+1]} : i in [0:n]};")
    text = show(generate(program.executable("ilp"), "cpu"))
    sweep = text[text.index("host K1_sweep"):text.index("host K1_finish")]
    before, _, walk = sweep.partition("for (s = s0")
    assert "sqrt" in before and walk and "sqrt" not in walk and "/" not in walk


def test_a_product_of_triangles_stores_nothing_but_its_result() -> None:
    """Two times its size is enough."""
    text = ("function main(n) : int -> [[int]] = "
            "{{sum({i * k + k * j : k in [j:i+1]}) : j in [0:i+1]} : i in [0:n]};")
    n, words = 400, 400 * 401 // 2
    program = nessie.compile(text, memory=2 * 8 * words)
    found = program.main(n)
    assert len(found) == n and list(found[2]) == [6, 9, 8]


@pytest.mark.parametrize("inner", ["[0:3-j]", "[0:j-1]", "[0:i-2]"])
def test_negative_lengths_fail_as_they_are_met(inner: str) -> None:
    program = program_of(("[0:n]", "[0:i+1]", inner))
    assert isinstance(same(program, 6, 0), Failed)


def test_too_many_elements() -> None:
    program = Compiled("function main(n) : int -> int = "
                       "sum({sum({sum([0:j+1]) : j in [0:i+1]}) : i in [0:n]});")
    for n in (2 ** 22, 2 ** 33, 2 ** 45):
        found = outcome(program, "cpu3 ilp", (n,))
        assert (isinstance(found, Failed) and "more elements" in found.message) or "positions" in found.message
