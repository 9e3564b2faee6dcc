"""Elements of windows are not stored, and reductions of a few elements stay with the element that they belong to."""
from __future__ import annotations

import math
from typing import Any

import pytest
from executors import Compiled, Failed, assert_the_gpu_agrees, same

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import soac_can_fail, space_of

INTS: Any = ([], [3], [4, 1, 3], [2, 0, 5, 1, 7, 6, 4, 3])
FLOATS: Any = ([], [0.5, -0.0, 2.0], [-0.0, -0.0, -0.0, 1e300, 1e300, math.inf, -math.inf, math.nan, 3.0])
MATRICES: Any = ([[1]], [[1, 2], [3, 4]], [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]])
ONE_KERNEL = {          # its type, and arguments
    "{w[0] + 2 * w[1] + w[2] : w in slide(v, 3, 1)}": ("[int] -> [int]", INTS),
    "{w[2] - w[0] : w in slide(v, 3, 2)}": ("[int] -> [int]", INTS),
    "{sum(w) : w in slide(v, 3, 1)}": ("[float] -> [float]", FLOATS),
    "{product(w) : w in slide(v, 2, 2)}": ("[float] -> [float]", FLOATS),
    "{max_val(w) - min_val(w) : w in slide(v, 3, 1)}": ("[int] -> [int]", INTS),
    "{max_val(w) : w in slide(v, 3, 1)}": ("[float] -> [float]", FLOATS),
    "{any({x > 4 : x in w}) : w in slide(v, 2, 1)}": ("[int] -> [bool]", INTS),
    "{all({x > 0 : x in w}) : w in slide(v, 2, 1)}": ("[int] -> [bool]", INTS),
    "{sum({x * x : x in w}) + #w : w in slide(v, 4, 3)}": ("[int] -> [int]", INTS),
    "{sum({a * b : a in w; b in [1, 10, 100]}) : w in slide(v, 3, 1)}": ("[int] -> [int]", INTS),
    "{sum({sum({x * y : y in w}) : x in w}) : w in slide(v, 3, 1)}": ("[int] -> [int]", INTS),
    "{sum(w) + sum({x in w | x > 2}) : w in slide(v, 3, 1)}": ("[int] -> [int]", INTS),
    "{sum({v[max(0, i + d)] : d in [-2:3:2]}) : i in [0:#v - 2]}": ("[int] -> [int]", ([1, 2, 3], [5, 1, 4, 1, 5])),
    "{{sum({sum(r) : r in w}) : w in ws} : ws in slide2(v, 2, 1)}": ("[[int]] -> [[int]]", MATRICES),
    "{{w[0][1] - w[1][0] : w in ws} : ws in slide2(v, 2, 1)}": ("[[int]] -> [[int]]", MATRICES),
}


@pytest.mark.parametrize("body", ONE_KERNEL)
def test_windows_stay_with_their_elements(body: str) -> None:
    type_, arguments = ONE_KERNEL[body]
    program = Compiled(f"function main(v) : {type_} = {body};")
    for argument in arguments:
        same(program, argument)
    assert_the_gpu_agrees(program, (arguments[-1],))


@pytest.mark.parametrize("body", [body for body, (type_, _) in ONE_KERNEL.items()
                                  if type_ == "[int] -> [int]" and "|" not in body and "y in w" not in body])
def test_they_are_one_walk_of_the_windows(body: str) -> None:
    program = Compiled(f"function main(v) : [int] -> [int] = {body};")
    (kernel,) = program.executable("ilp").kernels
    assert {type(space_of(bind.soac)) for bind in kernel.binds} == {ir.Flat}


@pytest.mark.parametrize("body, argument", [
    ("{sum({10 / x : x in w}) : w in slide(v, 3, 1)}", [1, 2, 0, 4, 5]),
    ("{10 / w[1] + v[w[0]] : w in slide(v, 3, 1)}", [1, 2, 9, 0, 5]),
    ("{w[3] : w in slide(v, 3, 1)}", [1, 2, 3, 4]),
    ("{w[0 - 1] : w in slide(v, 3, 1)}", [1, 2, 3, 4]),
    ("{sum({sum({10 / (x - y) : y in w}) : x in w}) : w in slide(v, 2, 1)}", [1, 2, 2, 4]),
])
def test_what_fails_in_a_window_fails(body: str, argument: list[int]) -> None:
    program = Compiled(f"function main(v) : [int] -> [int] = {body};")
    assert isinstance(same(program, argument), Failed)


def test_many_elements_are_a_walk_of_segments() -> None:
    program = Compiled("function main(v) : [int] -> [int] = {sum(w) : w in slide(v, 40, 1)};")
    (kernel,) = program.executable("ilp").kernels
    assert any(isinstance(space_of(bind.soac), ir.Uniform) for bind in kernel.binds)
    same(program, list(range(60)))


BAND = "{v[j] : j in [max(0, i-b):min(n, i+b+1)]}"
OF_A_BAND = {
    "both": ("[(int, int)]", f"(sum({BAND}), max_val({BAND}))"),
    "by a name": ("[(int, int)]", f"let w = {BAND} in (sum(w), min_val(w))"),
    "their difference": ("[int]", f"max_val({BAND}) - min_val({BAND})"),
    "a mean": ("[float]", f"let w = {BAND} in float(sum(w)) / float(#w)"),
    "one after another": ("[int]", f"let w = {BAND} in sum(w) * v[i] - max_val(w) + count({{x > 3 : x in w}})"),
}


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("name", OF_A_BAND)
def test_sums_of_one_band_are_one_kernel(name: str) -> None:
    """One for few rounds and one for many, of which one runs."""
    type_, body = OF_A_BAND[name]
    program = Compiled(f"function main(v, b) : ([int], int) -> {type_} = let n = #v in {{{body} : i in [0:n]}};")
    assert len(program.executable("ilp").kernels) == 2
    for arguments in [([], 1), ([3], 0), (INTS[-1], 1), (list(range(90)), 20)]:
        same(program, *arguments)
    assert_the_gpu_agrees(program, (INTS[-1], 2))


@pytest.mark.parametrize("rule", ["clamp", "wrap", "mirror"])
def test_padded_windows_are_one_kernel_that_checks_nothing(rule: str) -> None:
    """pad has been checked to have elements where it makes any, so what the rule finds is in range."""
    program = Compiled(f"function main(v) : [int] -> [int] = {{sum(w) : w in slide(pad(v, 1, 1, {rule}), 3, 1)}};")
    (kernel,) = program.executable("ilp").kernels
    assert {type(space_of(bind.soac)) for bind in kernel.binds} == {ir.Flat}
    assert not any(soac_can_fail(bind.soac) for bind in kernel.binds)
    for argument in ([3], [3, 1], [3, 1, 4, 1, 5]):
        same(program, argument)
    assert isinstance(same(program, []), Failed)
