"""The reference executor against plain Python: every SOAC over every form of space, failures, recursion, limits."""
from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from nessie.base.source import InternalError, NessieError
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep
from nessie.base.types import CHAR, INT, Seq
from nessie.base.values import DTYPES, flatten_value, plain_value
from nessie.interpreter.meanings import mix
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.ops import OPS
from nessie.lambda_cu.passes.simplify import simplify
from nessie.lambda_cu.reference.context import Context
from nessie.lambda_cu.reference.kernels import run_kernel
from nessie.lambda_cu.reference.operators import MEANINGS
from nessie.lambda_cu.reference.reference import EvaluationLimits, Stats, execute
from nessie.lambda_cu.reference.thunks import Evaluator, Lanes
from nessie.lambda_cu.text.parser import parse, parse_exp, parse_kernel

EMPTY = ir.Program((), (), (), (), ir.Entry("main", (), ir.ScalarLayout("int")))
INTS = Seq(INT)


def run(text: str, *arguments: Any) -> list[Any]:
    """The results of the kernel as plain Python."""
    kernel = parse_kernel("kernel K " + text)
    values = [np.asarray(a) if isinstance(a, list) else np.asarray(a)[()] for a in arguments]
    with np.errstate(all="ignore"):
        return [value.tolist() for value in run_kernel(kernel, values, Context(EMPTY, EvaluationLimits(), Stats()))]


def scalar(text: str, **names: Any) -> Any:
    outside = {name: np.asarray(value) for name, value in names.items()}
    with np.errstate(all="ignore"):
        value = Evaluator(Context(EMPTY, EvaluationLimits(), Stats()), outside).value(parse_exp(text),
                                                                            Lanes(np.zeros(1, np.int64), {}))
    return np.asarray(value).reshape(-1)[0].item()


# Operators ----------------------------------------------------------------------------------------

LOW, HIGH = -2 ** 63, 2 ** 63 - 1
int64s = st.one_of(st.integers(LOW, HIGH), st.integers(-9, 9), st.sampled_from([LOW, HIGH]))


def wrap(value: int) -> int:
    return (value + 2 ** 63) % 2 ** 64 - 2 ** 63


def test_every_operator_has_a_meaning() -> None:
    assert MEANINGS.keys() == OPS.keys()


@given(int64s, int64s)
def test_ints(x: int, y: int) -> None:
    assert scalar(f"{x} + {y}") == wrap(x + y)
    assert scalar(f"{x} - {y}") == wrap(x - y)
    assert scalar(f"{x} * {y}") == wrap(x * y)
    assert scalar(f"neg({x})") == wrap(-x)
    assert scalar(f"abs({x})") == wrap(abs(x))
    assert scalar(f"lshift({x}, {y % 64})") == wrap(x << y % 64)
    assert scalar(f"rshift({x}, {y % 64})") == x >> y % 64
    assert scalar(f"{x} xor not({y})") == x ^ ~y
    assert scalar(f"mul_high({x}, {y})") == wrap((x % 2**64) * (y % 2**64) >> 64)
    assert scalar(f"mix({x})") == wrap(mix(x))
    assert scalar(f"{x} < {y}") == (x < y)
    if y:
        truncated = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        assert scalar(f"{x} / {y}") == wrap(truncated)
        assert scalar(f"rem({x}, {y})") == x - truncated * y
        assert scalar(f"mod({x}, {y})") == x % y


@pytest.mark.parametrize("text, value", [
    ("round(0.5)", 1), ("round(-0.5)", -1), ("round(2.5)", 3), ("round(0.49999999999999994)", 0),
    ("round(4503599627370497.0)", 4503599627370497), ("trunc(-1.9)", -1), ("floor(-1.1)", -2), ("ceil(1.1)", 2),
    ("btoi(true)", 1), ("char_code('A')", 65), ("code_char(97) == 'a'", True), ("isnan(max(nan, 1.0))", True),
    ("isnan(min(1.0, nan))", True), ("ln(0.0)", -math.inf), ("nan == nan", False), ("nan /= nan", True),
    ("1.0 / neg(0.0)", math.inf), ("not(true) or true and false xor true", True), ("float(3) / 2.0", 1.5),
    ("max('a', 'b') == 'b'", True), ("let (a, b) = (1, 2) in a * 10 + b", 12)])
def test_other_operators(text: str, value: Any) -> None:
    assert scalar(text) == value


# SOACs against Python -----------------------------------------------------------------------------

lists = st.lists(st.integers(-20, 20), max_size=40)
rows = st.lists(st.lists(st.integers(-20, 20), max_size=6), max_size=8)


def offsets(nested: list[list[int]]) -> list[int]:
    return [0, *itertools.accumulate(map(len, nested))]


def flat(nested: list[list[Any]]) -> list[Any]:
    return [x for row in nested for x in row]


def ints(values: list[int]) -> Any:
    return np.array(values, np.int64)


SEGMENTED = "(k : int, n : int, offs : [int; k+1], xs : [int; n])"


@given(lists)
@settings(max_examples=examples(40))
def test_flat_soacs(xs: list[int]) -> None:
    n, array = len(xs), ints(xs)
    head = "(n : int, xs : [int; n])"
    assert run(head + """{
      let (ys, is) = MAP { i => (if xs[i] > 0 then xs[i] else 0 - i, i) using xs } (n)
      return (ys, is) }""", n, array) == [[x if x > 0 else -i for i, x in enumerate(xs)], list(range(n))]
    assert run(head + """{
      let (k, ys) = FILTER { i => 10 / xs[i] using xs } { i => xs[i] > 0 using xs } (n)
      return (k, ys) }""", n, array) == [len([x for x in xs if x > 0]), [10 // x for x in xs if x > 0]]
    holds = [x % 2 == 0 for x in xs]
    assert run(head + """{
      let (t, f, a, b, p) = PARTITION { i => xs[i] using xs } { i => mod(xs[i], 2) == 0 using xs } (n)
      return (t, f, a, b, p) }""", n, array) == [
        sum(holds), n - sum(holds), [x for x in xs if x % 2 == 0], [x for x in xs if x % 2],
        [holds[:i].count(holds[i]) for i in range(n)]]
    assert run(head + """{
      let os = ORDER { i => xs[i] using xs } (n)
      let ds = ORDER { i => xs[i] using xs } (n) descending
      return (os, ds) }""", n, array) == [sorted(range(n), key=lambda i: xs[i]),
                                          sorted(range(n), key=lambda i: -xs[i])]


@given(lists)
@settings(max_examples=examples(40))
def test_permute_modes(xs: list[int]) -> None:
    last, greatest = [-7] * 9, [-7] * 9
    for i, x in enumerate(xs):
        last[x % 9] = i
        greatest[x % 9] = max(-7, *(y for y in xs if y % 9 == x % 9))
    assert run("""(n : int, xs : [int; n]) {
      let a = PERMUTE { i => i } { i => mod(xs[i], 9) using xs } (n) into 9 (-7) last
      let b = REDUCE_BY_INDEX { i => xs[i] using xs } { i => mod(xs[i], 9) using xs } (-9223372036854775808)
            { (x, y) => max(x, y) } (n) into 9 (-7)
      let (c, d) = PERMUTE { i => (xs[i], i) using xs } { i => if xs[i] > 0 then n - 1 - i else -1 using xs, n } (n)
        into n (0, -1) distinct
      let e = PERMUTE { i => xs[i] using xs } { i => n - 1 - i using n } (n) into n (0) all
      return (a, b, c, d, e) }""", len(xs), ints(xs)) == [
        last, greatest, [max(x, 0) for x in reversed(xs)],
        [i if xs[i] > 0 else -1 for i in reversed(range(len(xs)))], xs[::-1]]


# An associative operator that does not commute: affine maps x -> a*x + b, composed left to right.
AFFINE = "{ (a, b, c, d) => (a * c, b * c + d) }"


def compose(pairs: list[tuple[int, int]]) -> tuple[int, int]:
    a, b = 1, 0
    for c, d in pairs:
        a, b = wrap(a * c), wrap(b * c + d)
    return a, b


def as_map(x: int) -> tuple[int, int]:
    return 3 if x > 0 else 2, x


@given(rows)
@settings(max_examples=examples(60))
def test_segmented_reductions_and_scans_keep_the_order(nested: list[list[int]]) -> None:
    maps = [[as_map(x) for x in row] for row in nested]
    arguments = len(nested), len(flat(nested)), ints(offsets(nested)), ints(flat(nested))
    thunk = "{ (s, j, i) => (if xs[i] > 0 then 3 else 2, xs[i]) using xs }"
    a, b, c, d = run(SEGMENTED + f"""{{
      let (a, b) = SEG_REDUCE {thunk} (1, 0) {AFFINE} irregular(offs, k, n)
      let (c, d) = SEG_SCAN {thunk} (1, 0) {AFFINE} irregular(offs, k, n)
      return (a, b, c, d) }}""", *arguments)
    assert list(zip(a, b, strict=True)) == [compose(row) for row in maps]
    assert list(zip(c, d, strict=True)) == [compose(row[:j]) for row in maps for j in range(len(row))]
    everything = flat(maps)
    e, f, g, h = run(SEGMENTED + f"""{{
      let (e, f) = REDUCE {{ i => (if xs[i] > 0 then 3 else 2, xs[i]) using xs }} (1, 0) {AFFINE} (n)
      let (g, h) = SCAN {{ i => (if xs[i] > 0 then 3 else 2, xs[i]) using xs }} (1, 0) {AFFINE} (n) total
      return (e, f, g, h) }}""", *arguments)
    assert (e, f) == compose(everything)
    assert list(zip(g, h, strict=True)) == [compose(everything[:i]) for i in range(len(everything) + 1)]


@pytest.mark.parametrize("op, identity, python", [
    ("x + y", 0, sum), ("max(x, y)", LOW, lambda row: max(row, default=LOW)),
    ("min(x, y)", HIGH, lambda row: min(row, default=HIGH)), ("x * y", 1, lambda row: wrap(math.prod(row)))])
@given(nested=rows)
@settings(max_examples=examples(25))
def test_known_operators(op: str, identity: int, python: Callable[[list[int]], int], nested: list[list[int]]) -> None:
    everything = flat(nested)
    total, sums, scan, scans = run(SEGMENTED + f"""{{
      let total = REDUCE {{ i => xs[i] using xs }} ({identity}) {{ (x, y) => {op} }} (n)
      let sums = SEG_REDUCE {{ (s, j, i) => xs[i] using xs }} ({identity}) {{ (x, y) => {op} }} irregular(offs, k, n)
      let scan = SCAN {{ i => xs[i] using xs }} ({identity}) {{ (x, y) => {op} }} (n)
      let scans = SEG_SCAN {{ (s, j, i) => xs[i] using xs }} ({identity}) {{ (x, y) => {op} }} irregular(offs, k, n)
      return (total, sums, scan, scans) }}""", len(nested), len(everything), ints(offsets(nested)), ints(everything))
    assert total == python(everything) and sums == [python(row) for row in nested]
    assert scan == [python(everything[:i]) for i in range(len(everything))]
    assert scans == [python(row[:j]) for row in nested for j in range(len(row))]


@given(rows)
@settings(max_examples=examples(40))
def test_segmented_filter_and_order(nested: list[list[int]]) -> None:
    arguments = len(nested), len(flat(nested)), ints(offsets(nested)), ints(flat(nested))
    kept = [[(s, j, x) for j, x in enumerate(row) if x > 0] for s, row in enumerate(nested)]
    count, ss, js, xs, offs = run(SEGMENTED + """{
      let (c, ss, js, ys, o) = SEG_FILTER { (s, j, i) => (s, j, xs[i]) using xs } { (s, j, i) => xs[i] > 0 using xs }
        irregular(offs, k, n)
      return (c, ss, js, ys, o) }""", *arguments)
    assert count == len(xs) and list(zip(ss, js, xs, strict=True)) == flat(kept) and offs == offsets(kept)
    (order,) = run(SEGMENTED + """{
      let order = SEG_ORDER { (s, j, i) => xs[i] using xs } irregular(offs, k, n) descending
      return order }""", *arguments)
    starts = offsets(nested)
    assert order == [starts[s] + j for s, row in enumerate(nested)
                     for j in sorted(range(len(row)), key=lambda j: -row[j])]
    (firsts,) = run(SEGMENTED + """{
      let firsts = SEG_ORDER { (s, j, i) => xs[i] using xs } irregular(offs, k, n) firsts
      return firsts }""", *arguments)
    assert firsts == [starts[s] + row.index(x) for s, row in enumerate(nested) for x in row]


def test_regular_spaces() -> None:
    assert run("(n : int) { let (a, b, c) = SEG_MAP { (s, j, i) => (s, j, i) } uniform(3, 2, 6) return (a, b, c) }",
               0) == [[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 1, 2, 3, 4, 5]]
    assert run("(n : int) { let (s, j) = SEG_MAP { (s1, j1, i1) => (s1, j1) } closed(n, (1, 2), 9) return (s, j) }",
               3) == [[0, 1, 1, 1, 2, 2, 2, 2, 2], [0, 0, 1, 2, 0, 1, 2, 3, 4]]
    assert run("(n : int) { let (s, j) = SEG_MAP { (s1, j1, i1) => (s1, j1) } "
               "nested(closed(n, (1, 1), 6), ((1), (1)), (1, 2, 1), 10) return (s, j) }",
               3) == [[0, 1, 2, 2, 3, 4, 4, 5, 5, 5], [0, 0, 0, 1, 0, 0, 1, 0, 1, 2]]
    assert run("(n : int) { let z = SEG_REDUCE { (s, j, i) => j } (-1) { (x, y) => max(x, y) } uniform(2, n, n)"
               " return z }", 0) == [[-1, -1]]


def test_floats_nan_and_order() -> None:
    keys = np.array([1.0, math.nan, -0.0, 0.0, -math.inf, math.nan])
    assert run("""(n : int, xs : [float; n]) {
      let a = ORDER { i => xs[i] using xs } (n)
      let d = ORDER { i => xs[i] using xs } (n) descending
      let f = ORDER { i => xs[i] using xs } (n) firsts
      return (a, d, f) }""", 6, keys) == [[4, 2, 3, 0, 1, 5], [0, 2, 3, 4, 1, 5], [0, 1, 2, 2, 4, 5]]
    (total, top) = run("""(n : int, xs : [float; n]) {
      let t = REDUCE { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)
      let m = REDUCE { i => xs[i] using xs } (-inf) { (x, y) => max(x, y) } (n)
      return (t, m) }""", 4, np.array([0.5, 0.25, -4.0, math.inf]))
    assert (total, top) == (math.inf, math.inf)


def test_arrays_without_elements_are_not_read() -> None:
    assert run("(n : int, xs : [int; n]) { let y = MAP { i => xs[0] using xs } (n) return y }", 0, ints([])) == [[]]


def test_once() -> None:
    assert run("(n : int, xs : [int; n]) { let (a, b) = ONCE { () => (xs[n - 1], n > 1) using xs, n } return (b, a) }",
               2, ints([4, 5])) == [True, 5]


def test_what_no_right_kernel_does_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="out of the range of xs"):
        run("(n : int, xs : [int; n]) { let y = MAP { i => xs[i + 1] using xs } (n) return y }", 2, ints([1, 2]))
    with pytest.raises(InternalError, match="writes twice"):
        run("(n : int) { let y = PERMUTE { i => i } { i => 0 } (n) into n (0) distinct return y }", 2)
    for index in ("0", "i + 1", "i - 1"):       # twice at one place; only some places
        with pytest.raises(InternalError, match="does not write once to each place"):
            run(f"(n : int) {{ let y = PERMUTE {{ i => i }} {{ i => {index} }} (n) into 3 (0) all return y }}", 2)
    with pytest.raises(InternalError, match="writes outside"):
        run("(n : int) { let y = PERMUTE { i => i } { i => i - 2 } (n) into n (0) last return y }", 2)
    with pytest.raises(InternalError, match="not consistent"):
        run("(n : int) { let y = SEG_MAP { (s, j, i) => i } uniform(2, 2, n) return y }", 5)
    with pytest.raises(InternalError, match="sums of a nested space"):
        run("(n : int) { let y = SEG_MAP { (s, j, i) => i } nested(uniform(1, 2, 2), ((1), (1)), (4), n) return y }", 3)


# Scalar functions ---------------------------------------------------------------------------------

SCALARS = """\
site s1 "negative"
scalar collatz (x : int, steps : int) -> int {
  if x == 1 then steps else if mod(x, 2) == 0 then collatz(x / 2, steps + 1) else collatz(3 * x + 1, steps + 1)
}
scalar fib (n : int) -> int { if n < 0 then fail s1 : int else if n < 2 then n else fib(n - 1) + fib(n - 2) }
scalar even (n : int) -> bool { if n == 0 then true else odd(n - 1) }
scalar odd (n : int) -> bool { if n == 0 then false else even(n - 1) }
scalar divide (a : int, b : int) -> (int, int) { (a / b, rem(a, b)) }
scalar down (n : int) -> int { if n == 0 then 0 else 1 + down(n - 1) }
scalar where (x : int, i : int, v : &[int]) -> int { if v[i] == x then i else where(x, i + 1, &v) }
scalar sum (i : int, n : int, v : &[int], w : &[int]) -> int {
  if i == n then 0 else v[i] - w[i] + sum(i + 1, n, &w, &v)
}

kernel K1 (n : int, xs : [int; n]) {
  let ys = MAP { i => let (q, r) = divide(EXP, 1) in q + r using xs } (n)
  return ys
}
function main (n : int, xs : [int; n]) -> (m : int, ys : [int; m]) {
  let ys : [int; n] = run K1 (n, xs)
  return (n, ys)
}
entry main : [int] -> [int]
"""


def mapped(exp: str, xs: list[int], limits: EvaluationLimits | None = None) -> list[int]:
    program = parse(SCALARS.replace("EXP", exp))
    check(program)
    value = run_deep(lambda: execute(program, [flatten_value(xs, INTS)], limits))
    result: list[int] = plain_value(value, INTS)
    return result


def collatz(x: int) -> int:
    return 0 if x == 1 else 1 + collatz(x // 2 if x % 2 == 0 else 3 * x + 1)


def test_scalar_functions() -> None:
    xs = list(range(1, 60))
    assert mapped("collatz(xs[i], 0)", xs) == [collatz(x) for x in xs]
    assert mapped("fib(rem(xs[i], 12))", [0, 1, 5, 11]) == [0, 1, 5, 89]
    assert mapped("btoi(even(xs[i]))", [0, 7, 10_001, 30_000]) == [1, 0, 0, 1]
    assert mapped("down(xs[i])", [5, 4_000]) == [5, 4_000]
    assert mapped("fib(xs[i])", []) == []
    assert mapped("where(xs[i], 0, &xs)", [3, 1, 3, 4]) == [0, 1, 0, 3]
    assert mapped("where(xs[0], i, &xs)", [3, 1, 3, 3]) == [0, 2, 2, 3]
    assert mapped("sum(0, i, &xs, &xs)", [3, 1, 3, 3]) == [0, 0, 0, 0]


def test_failures_in_scalar_functions() -> None:
    with pytest.raises(NessieError, match="negative"):
        mapped("fib(xs[i])", [3, -1])
    with pytest.raises(NessieError, match="recursion is deeper than 300 calls") as caught:
        mapped("down(xs[i])", [-1, 2], EvaluationLimits(depth=300))
    assert "1 + down(n - 1)" in str(caught.value)
    with pytest.raises(NessieError, match="negative"):          # in one element, too deep in another
        mapped("if xs[i] < 0 then down(xs[i]) else fib(0 - xs[i])", [-1, 7], EvaluationLimits(depth=300))


# Host level ---------------------------------------------------------------------------------------

HOST = """\
site s1 "division by zero" element at "a.nesl":3-8
site s2 "too large"
kernel K1 (n : int, xs : [int; n]) {
  let (k, ys) = FILTER { i => 100 / xs[i] using xs }
    { i => if xs[i] == 0 then fail s1 : bool else if xs[i] > 9 then fail s2 : bool else xs[i] > 0 using xs } (n)
  return (k, ys)
}
kernel K2 (n : int, xs : [int; n]) {
  let z = REDUCE { i => xs[i] using xs } (0) { (x, y) => x + y } (n)
  return z
}
kernel K3 (n : int) {
  let is = MAP { i => i } (n)
  return is
}
function main (n : int, xs : [int; n]) -> (sum : int) {
  let (k : int, ys : [int; k]) = run K1 (n, xs)
  let sum : int = run K2 (k, ys)
  return sum
}
function count (n : int, acc : int) -> (r : int) {
  let done : bool = n == 0
  let r1 : int = if done {
    return acc
  } else {
    let n1 : int = n - 1
    let r2 : int = call count (n1, acc)
    let r3 : int = r2 + 1
    return r3
  }
  return r1
}
function make (n : int) -> (r : int) {
  let one : [int; 3] = data [7, 8, 9]
  let big : [int; n] = run K3 (n)
  let r : int = one[0] + (if n > 0 then big[n - 1] else 0)
  return r
}
"""


def host(entry: str, *arguments: Any, limits: EvaluationLimits | None = None, stats: Stats | None = None) -> Any:
    program = parse(HOST + f"entry {entry}")
    check(program)
    return execute(program, arguments, limits, stats)


def test_a_program() -> None:
    stats = Stats()
    assert host("main : [int] -> int", flatten_value([1, 2, -5, 3], INTS), stats=stats) == 183
    assert (stats.launches, stats.elements) == (2, 7)
    stats = Stats()
    assert host("main : [int] -> int", flatten_value([], INTS), stats=stats) == 0
    assert (stats.launches, stats.elements) == (0, 0)


def test_of_several_failures_the_first_site_is_raised() -> None:
    with pytest.raises(NessieError, match="division by zero") as caught:
        host("main : [int] -> int", flatten_value([50, 0, 3], INTS))
    ((span, label),) = caught.value.places
    assert (span.start, label) == (3, "at element 1")
    with pytest.raises(NessieError, match="too large"):
        host("main : [int] -> int", flatten_value([50, 3], INTS))


def test_recursion_is_as_deep_as_allowed() -> None:
    start = time.perf_counter()
    assert host("count : int, int -> int", 100_000, 5) == 100_005
    assert time.perf_counter() - start < 60
    with pytest.raises(NessieError, match="recursion is deeper than 50 calls"):
        host("count : int, int -> int", 60, 0, limits=EvaluationLimits(depth=50))


def test_memory_is_refused_before_it_is_taken() -> None:
    assert host("make : int -> int", 10, limits=EvaluationLimits(memory=1_000)) == 16
    with pytest.raises(NessieError, match="out of memory"):
        host("make : int -> int", 10 ** 12, limits=EvaluationLimits(memory=10 ** 9))


@pytest.mark.parametrize("space", ["uniform(s, zero, zero)", "closed(s, (zero, 1), zero)"])
@pytest.mark.parametrize("segments", [10 ** 12, 2 ** 62])
def test_segments_count_even_where_they_have_no_elements(space: str, segments: int) -> None:
    program = parse(f"""\
kernel K1 (s : int, zero : int) -> [int; zero] {{
  let xs = SEG_MAP {{ (a, b, i) => i }} {space}
  return xs
}}
function main (s : int, zero : int) -> (n : int, r : [int; n]) {{
  let xs : [int; zero] = run K1 (s, zero)
  return (zero, xs)
}}
entry main : int, int -> [int]
""")
    check(program)
    with pytest.raises(NessieError, match="out of memory"):
        execute(program, [segments, 0], EvaluationLimits(memory=10 ** 9))



def test_time_is_limited() -> None:
    with pytest.raises(NessieError, match="it took longer than 0 s"):
        run_deep(lambda: host("count : int, int -> int", 3, 0), Deadline(0, ""))


def test_chars_and_bools_come_back() -> None:
    program = parse("""
      kernel K1 (n : int, cs : [char; n]) { let (a, b) = MAP { i => (cs[n - 1 - i], cs[i] == 'a') using cs, n } (n)
        return (a, b) }
      function main (c : char, n : int, cs : [char; n]) -> (d : char, e : bool, m : int, o : [char; m], p : [bool; m]) {
        let (a : [char; n], b : [bool; n]) = run K1 (n, cs)
        let t : bool = c == 'x'
        return (c, t, n, a, b)
      }
      entry main : char, [char] -> (char, (bool, [(char, bool)]))""")
    check(program)
    char, (flag, pairs) = execute(program, ["x", flatten_value(list("ab"), Seq(CHAR))])
    assert (char, flag, pairs.length) == ("x", True, 2)
    assert pairs.column[0].dtype == DTYPES["char"] and pairs.column[1].tolist() == [True, False]


def test_deep_thunks() -> None:
    """From text through the validator and the simplifier to values."""
    sums = "{ i => " + "i + (" * 5_000 + "i" + ")" * 5_000 + " }"
    lets = "{ i => let v0 = i in " + "".join(f"let v{k + 1} = v{k} + 1 in " for k in range(5_000)) + "v5000 }"
    ifs = "{ i => " + "".join(f"if i == {k} then {k * k} else " for k in range(5_000)) + "0 }"

    def work() -> Any:
        program = parse(f"""
          kernel K1 (n : int) {{
            let a = MAP {sums} (n)
            let b = MAP {lets} (n)
            let c = MAP {ifs} (n)
            return (a, b, c) }}
          function main (n : int) -> (r : int) {{
            let (a : [int; n], b : [int; n], c : [int; n]) = run K1 (n)
            let r : int = a[n - 1] + b[n - 1] + c[n - 1]
            return r }}
          entry main : int -> int""")
        check(program)
        simple = simplify(program)
        check(simple)
        return execute(simple, [10])

    assert run_deep(work) == 9 * 5_001 + 9 + 5_000 + 81
