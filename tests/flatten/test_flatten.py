"""flatten of nests whose rows have one length: what is in them stays in such rows, which need no bounds."""
from __future__ import annotations

import pytest
from executors import Compiled, assert_all_agree, assert_the_gpu_agrees

NEST = "{{{i * 100 + j * 10 + l : l in [0:k]} : j in [0:m]} : i in [0:n]}"
FOUR = "{{{{i * 8 + j * 4 + l * 2 + o : o in [0:2]} : l in [0:k]} : j in [0:m]} : i in [0:n]}"
CASES = {                       # the type of the result, and kernels
    f"flatten(flatten({NEST}))": ("[int]", 1),
    f"flatten({NEST})": ("[[int]]", 1),
    f"sum({{max_val(r) : r in flatten({NEST}) | #r > 0}})": ("int", None),
    f"{{sum(r) : r in flatten({NEST})}}": ("[int]", 2),
    f"let q = flatten({NEST}) in {{r[i - i / 2] + #r : r in q; i in [0:#q] | #r > i}}": ("[int]", None),
    f"flatten(flatten(flatten({FOUR})))": ("[int]", 1),
    f"flatten(flatten({FOUR}))": ("[[int]]", 1),
    f"{{#p + sum({{sum(r) : r in p}}) : p in flatten({FOUR})}}": ("[int]", None),
    "flatten({{({x * l : l in [0:k]}, x) : x in [0:m]} : i in [0:n]})": ("[([int], int)]", None),
    "flatten(flatten({{{x / j : x in [1:k + 1]} : j in [i:i + m]} : i in [0:n]}))": ("[int]", None),
    f"flatten({{flatten({NEST}) : o in [0:2]}})": ("[[int]]", None),
    f"let q = flatten({NEST}) in {{q[i] : i in reverse([0:#q])}}": ("[[int]]", None),
    f"let q = flatten({NEST}) in q ++ {{{{x + 1 : x in r}} : r in q}}": ("[[int]]", None),
}
SIZES = [(2, 3, 4), (0, 3, 4), (3, 0, 4), (3, 2, 0), (1, 1, 1), (5, 2, 3)]


@pytest.mark.parametrize("body", CASES)
def test_rows_of_one_length_stay_such_rows(body: str) -> None:
    type_, kernels = CASES[body]
    program = Compiled(f"function main(n, m, k) : (int, int, int) -> {type_} = {body};")
    for n, m, k in SIZES:
        fails = " / j" in body and n > 0 and m > 0 and k > 0        # i = 0 divides by 0
        assert_all_agree(program, [n, m, k], fails)
    assert kernels in (None, len(program.executable("ilp").kernels))


@pytest.mark.parametrize("body", list(CASES)[::3])
def test_so_on_a_gpu(body: str) -> None:
    program = Compiled(f"function main(n, m, k) : (int, int, int) -> {CASES[body][0]} = {body};", target="cudasim")
    for sizes in SIZES[::2]:
        assert_the_gpu_agrees(program, list(sizes))
