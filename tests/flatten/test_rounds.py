"""Reductions in few rounds are folds of their element's thread; what all elements have alike is the host's."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from executors import Compiled, Failed, assert_the_gpu_agrees, same

import nessie
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.scope import soac_can_fail, thunks

RULES = {"clamp": "edge", "wrap": "wrap", "mirror": "symmetric"}
NEAR = "v[max(0, min(#v - 1, i + a))]"
INTS: Any = ([], [3], [4, 1, 3], [2, 0, 5, 1, 7, 6, 4, 3], [i * i % 31 - 9 for i in range(40)])
FLOATS: Any = ([], [-0.0], [0.5, -0.0, 2.0], [-0.0, -0.0, 1e300, 1e300, math.inf, -math.inf, math.nan, 3.0, 0.1, 0.2])
FOLDS = {               # the type, and arguments
    f"{{sum({{{NEAR} : a in [0:20]}}) : i in index(#v)}}": ("[float] -> [float]", FLOATS),
    f"{{product({{{NEAR} : a in [-12:13]}}) : i in index(#v)}}": ("[float] -> [float]", FLOATS),
    f"{{max_val({{{NEAR} : a in [-9:10]}}) : i in index(#v)}}": ("[float] -> [float]", FLOATS),
    f"{{min_val({{{NEAR} * a : a in [0:30:2]}}) : i in index(#v)}}": ("[int] -> [int]", INTS),
    f"{{count({{{NEAR} > 3 : a in [0:31]}}) : i in index(#v)}}": ("[int] -> [int]", INTS),
    f"{{any({{{NEAR} == a : a in [0:31]}}) : i in index(#v)}}": ("[int] -> [bool]", INTS),
    f"{{sum({{{NEAR} : a in [0:20] | mod(a * i, 3) == 1}}) : i in index(#v)}}": ("[int] -> [int]", INTS),
    f"{{sum({{sum({{{NEAR} * b : b in [0:19]}}) - a : a in [-10:10]}}) : i in index(#v)}}": ("[int] -> [int]", INTS),
    f"{{{{sum({{{NEAR} + j : a in [-10:10]}}) : j in [0:i]}} : i in index(#v)}}": ("[int] -> [[int]]", INTS),
    "{sum(w) : w in slide(v, 20, 1)}": ("[int] -> [int]", INTS),
    f"{{min_index({{{NEAR} : a in [0:20]}}) : i in index(#v)}}": ("[float] -> [int]", FLOATS),
    f"{{max_index({{{NEAR} - float(a) : a in [-3:4]}}) : i in index(#v)}}": ("[float] -> [int]", FLOATS),
    f"{{let w = {{{NEAR} : a in [0:20]}} in min_index({{mod(x * x, 7) : x in w}}) : i in index(#v)}}":
        ("[int] -> [int]", INTS),
    f"{{reduce((a, b) => max(a, b), min_int, {{{NEAR} : a in [0:20]}}) : i in index(#v)}}": ("[int] -> [int]", INTS),
    f"{{reduce((a, b) => (if a == i then b else a), i, {{{NEAR} - a : a in [0:20]}}) : i in index(#v)}}":
        ("[int] -> [int]", INTS),
    f"{{reduce(((a, p), (b, q)) => (a + b, max(p, q)), (0, 0), {{({NEAR}, a) : a in [0:20]}}) : i in index(#v)}}":
        ("[int] -> [(int, int)]", INTS),
}
ASKED = {               # with a number of rounds that only the run knows
    f"{{sum({{{NEAR} : a in [0:r]}}) : i in index(#v)}}": "[int] -> [int]",
    f"{{sum({{sum({{{NEAR} * b : b in [-r:r + 1]}}) : a in [0:r]}}) : i in index(#v)}}": "[int] -> [int]",
    f"{{max_val({{{NEAR} : a in [-r:r + 1] | a /= 0}}) : i in index(#v)}}": "[int] -> [int]",
    "{sum(w) : w in slide(v, 2 * r + 1, 1)}": "[int] -> [int]",
    f"{{min_index({{{NEAR} : a in [0:r]}}) : i in index(#v)}}": "[int] -> [int]",
    f"{{reduce(((a, p), (b, q)) => (a + b, max(p, q)), (0, 0), {{({NEAR}, a) : a in [0:r]}}) : i in index(#v)}}":
        "[int] -> [(int, int)]",
    "{sum({v[j] : j in [max(0, i - r):min(#v, i + r + 1)]}) : i in index(#v)}": "[int] -> [int]",
    "{max_val({v[j] - j : j in [max(0, i - r):i + 1]}) : i in index(#v)}": "[int] -> [int]",
    "{let a = max(0, i - r) in sum({v[j] * i : j in [a:a + min(i - a, 3)]}) : i in index(#v)}": "[int] -> [int]",
}


def folds(program: ir.Program) -> int:
    return sum(isinstance(part, ir.Fold) for kernel in program.kernels for bind in kernel.binds
               for thunk in thunks(bind.soac) for part in subexpressions(thunk.body))


@pytest.mark.parametrize("body", FOLDS)
def test_few_rounds_stay_with_their_element(body: str) -> None:
    type_, arguments = FOLDS[body]
    program = Compiled(f"function main(v) : {type_} = {body};")
    assert not any(isinstance(bind.soac, ir.Reduce) for k in program.executable("ilp").kernels for bind in k.binds)
    for argument in arguments:
        same(program, argument)
    assert_the_gpu_agrees(program, (arguments[-1],))


@pytest.mark.parametrize("body", ASKED)
def test_the_run_asks_how_many_rounds_there_are(body: str) -> None:
    given, _, result = ASKED[body].partition(" -> ")
    program = Compiled(f"function main(v, r) : ({given}, int) -> {result} = {body};")
    soacs = [type(bind.soac) for kernel in program.executable("ilp").kernels for bind in kernel.binds]
    assert folds(program.executable("ilp")) and ir.Reduce in soacs
    for argument, r in ((INTS[0], 3), (INTS[1], 1), (INTS[2], 0), (INTS[2], 32), (INTS[2], 33), (INTS[3], 2),
                        (INTS[3], 16), (INTS[3], -1), (INTS[0], -1)):
        same(program, argument, r)
    assert_the_gpu_agrees(program, (INTS[3], 3))
    assert_the_gpu_agrees(program, (INTS[2], 33))


@pytest.mark.parametrize("body", [
    "{sum({10 / (x - a) : a in [0:20]}) : x in v}",
    "{sum({v[i + a] : a in [0:20]}) : i in index(#v)}",
    "{sum({sum({10 / (x - a - b) : b in [0:20]}) : a in [0:2]}) : x in v}",
])
def test_what_fails_is_told_by_its_own_index(body: str) -> None:
    program = Compiled(f"function main(v) : [int] -> [int] = {body};")
    assert not folds(program.executable("ilp"))
    for argument in ([100, 7, 3], [100], []):
        fails = len(argument) > 0 and (argument != [100] or "v[" in body)
        assert isinstance(same(program, argument), Failed) == fails


def test_numbered_elements_are_made_in_the_fold() -> None:
    program = Compiled("function main(v, k) : ([int], int) -> [int] = "
                       "{min_index({mod(x * (a + 1), 7) : a in [0:k]}) : x in v};")
    kernels = program.executable("ilp").kernels
    assert any(isinstance(bind.soac, ir.Map) for kernel in kernels for bind in kernel.binds) and folds(
        program.executable("ilp"))
    for argument, k in (([3, 1, 2], 5), ([3, 1, 2], 0), ([], 4), ([3], 40)):
        same(program, argument, k)
    assert isinstance(same(program, [3], -1), Failed)


def test_elements_that_fail_before_a_fold_by_a_function_are_told() -> None:
    program = Compiled("function main(v) : [int] -> [int] = {min_index({10 / (x - a) : a in [0:20]}) : x in v};")
    for argument in ([100, 7, 3], [100, 200], []):
        assert isinstance(same(program, argument), Failed) == (len(argument) == 3)


@pytest.mark.parametrize("body", [
    "{let d = {x * 2 : x in r} in reduce(add, #d, {y + 1 : y in d}) : r in m}",
    "{let d = {x * 2 : x in r} in reduce(add, d[0], {y + 1 : y in d}) : r in m}",
    "{let d = {x * 2 : x in r}; e = reduce(add, #d, {y + 1 : y in d}) in e * 2 : r in m}",
    "{let d = {x * 2 : x in r}; e = reduce(add, 0, {y + 1 : y in d}) in e * #d : r in m}",
    "{let d = {x * 2 : x in r} in d[min_index({-y : y in d})] : r in m}",
    "{let d = {x * 2 : x in r | x > 1} in min_index({-y : y in d}) : r in m}",
    "{let d = {x * 2 : x in r} in reduce((a, b) => max(a, b) + 0 * d[0], min_int, {y + 1 : y in d}) : r in m}",
])
def test_what_is_reduced_may_be_read_beside(body: str) -> None:
    program = Compiled(f"function add(a, b) = a + b; function main(m) : [[int]] -> [int] = {body};")
    for argument in ([[1, 2], [3]], [[4, 0, 1, 9]], []):
        same(program, argument)
    assert_the_gpu_agrees(program, ([[1, 2], [3]],))


def test_rows_in_memory_are_segments() -> None:
    program = nessie.compile("function sums(m) : [[float]] -> [float] = {sum(r) : r in m};")
    m = np.arange(12.0).reshape(4, 3)
    assert np.array_equal(program.sums(m), m.sum(axis=1))
    assert "SEG_REDUCE" in str(program.sums.explain(m))


@pytest.mark.parametrize("body", [
    "let ps = {(x - y, x * y) : y in v} in sum({a : (a, b) in ps}) * sum({b : (a, b) in ps})",
    "let ps = {x - y : y in v} in sum(ps) * sum({p * p : p in ps})",
])
def test_what_is_made_once_and_summed_twice_is_not_stored(body: str) -> None:
    """Whatever the number of rounds, one kernel makes the pairs and both sums."""
    program = Compiled(f"function main(v) : [float] -> [float] = {{{body} : x in v}};")
    fused = program.executable("ilp")
    assert len(fused.kernels) == 1 and len(fused.kernels[0].returns) <= 2
    for v in ([0.5], [1.0, -2.0, 4.0], [float(i % 7) for i in range(40)]):
        same(program, v)


@pytest.mark.parametrize("radius", ["1", "r"])
@pytest.mark.parametrize("rule", RULES)
def test_a_box_is_one_kernel(rule: str, radius: str) -> None:
    """Of a matrix whose rows are of one length, neither windows nor what is padded is stored, and nothing fails."""
    program = nessie.compile(
        f"function box(m, r) : ([[int]], int) -> [[int]] = {{{{sum({{sum(row) : row in w}}) : w in ws}} "
        f": ws in slide2(pad2(m, {radius}, {radius}, {rule}), 2 * {radius} + 1, 1)}};")
    for shape in ((1, 1), (1, 5), (4, 1), (2, 2), (5, 7)):
        for r in ((1,) if radius == "1" else (0, 1, 2, 3)):
            m = np.arange(shape[0] * shape[1]).reshape(shape) ** 2 % 11
            p = np.pad(m, r, mode=RULES[rule])  # type: ignore[call-overload]
            expected = sum([p[a:a + shape[0], b:b + shape[1]] for a in range(2 * r + 1) for b in range(2 * r + 1)])
            assert np.array_equal(np.asarray(program.box(m, r).content).reshape(shape), expected)
    kernels = program.box.kernels(m, 1)
    assert len(kernels.names) == (1 if radius == "1" else 4), kernels          # one, or else three where it is long


ALIKE = {               # checks that all elements have alike, also where there are none: the type, and arguments
    "{{7 / r + x : x in v} : i in [0:k]}": (
        "[int], int, int", [([1, 2], 0, 3), ([1, 2], 0, 0), ([], 0, 3), ([4], 2, 2)]),
    "{let a = 7 / r in a * a + i : i in [0:k]}": ("[int], int, int", [([], 0, 3), ([], 0, 0), ([], 2, 3)]),
    "{{x / r : x in v} : i in [0:k]}": ("[int], int, int", [([1, 2], 0, 3), ([1, 2], 0, 0), ([], 0, 3), ([4], 2, 2)]),
    "{{v[r] + i : x in [0:2]} : i in [0:k]}": ("[int], int, int", [([1, 2], 5, 3), ([1, 2], 5, 0), ([1], 0, 2)]),
    "{#slide(v, r, 1) + i : i in [0:k]}": ("[int], int, int", [([1, 2], 0, 3), ([1, 2], 0, 0), ([1, 2], 1, 2)]),
    "{sum(pad(v, r, r, clamp)) + i : i in [0:k]}": (
        "[int], int, int", [([1, 2], -1, 3), ([1, 2], -1, 0), ([], 1, 2), ([], 1, 0), ([3], 2 ** 62, 1), ([3], 2, 2)]),
    "{if all({r > 3 : x in v}) then i else -i : i in [0:k]}": (
        "[int], int, int", [([], 0, 2), ([1], 0, 2), ([1], 4, 2)]),
    "{max_val({r : x in [0:i]}) : i in [1:k]}": ("[int], int, int", [([], 0, 3), ([], -7, 1), ([], 5, 0)]),
    "{any({r / i > 3 : x in v}) : i in [0:k]}": ("[int], int, int", [([], 3, 3), ([1], 3, 3), ([1], 3, 0)]),
}


@pytest.mark.parametrize("body", ALIKE)
def test_what_all_have_alike_fails_where_there_are_elements(body: str) -> None:
    given, arguments = ALIKE[body]
    program = Compiled(f"function main(v, r, k) : ({given}) -> {result_of(body)} = {body};")
    for values in arguments:
        same(program, *values)
    assert_the_gpu_agrees(program, arguments[0])
    assert_the_gpu_agrees(program, arguments[-1])


def result_of(body: str) -> str:
    return "[[int]]" if body.startswith("{{") else "[bool]" if body.startswith("{any") else "[int]"


def test_checks_of_one_kernel_are_the_hosts() -> None:
    program = Compiled("function main(v, r) : ([float], int) -> [[float]] = {pad(v, r, r, clamp) : i in [0:3]};")
    assert not any(soac_can_fail(bind.soac) for k in program.executable("ilp").kernels for bind in k.binds)
