"""loops: text both ways, the validator, the interpreter."""
from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loops_cases import BLOCK_SUM, CASES, EVERYTHING, VALUES, edge_arguments, operator_module

from nessie.base.source import IllFormed, NessieError
from nessie.base.system.deep import run_deep
from nessie.cudagen.cpu import llvm
from nessie.cudagen.cuda import cuda
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.interpreter import Counts, LoopsError, launch, run
from nessie.cudagen.loops.meanings import MEANINGS
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import Const, Load, Name, Op, Store
from nessie.cudagen.loops.text import parse, show
from nessie.lambda_cu.ops import OPS, ROWS, result_type

# Text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [EVERYTHING, BLOCK_SUM])
def test_text_is_read_back_and_well_formed(text: str) -> None:
    module = parse(text)
    check(module)
    assert parse(show(module)) == module
    assert show(module).split() == text.split()


@pytest.mark.parametrize("op, type_", CASES)
def test_every_operator_is_text_and_well_formed(op: str, type_: str) -> None:
    module = operator_module(op, type_)
    check(module)
    assert parse(show(module)) == module


def expressions() -> st.SearchStrategy[loops.Exp]:
    """Expressions of any shape, well typed or not: text does not care."""
    names = st.sampled_from(["x", "for", "int", "sin", "_", "threadIdx", "x_1"])
    constants = st.one_of([v.map(lambda value, t=t: Const(value, t)) for t, v in VALUES.items()])
    leaves = names.map(Name) | constants.filter(lambda c: c.value == c.value)

    def larger(inner: st.SearchStrategy[loops.Exp]) -> st.SearchStrategy[loops.Exp]:
        row = st.sampled_from(ROWS)
        return st.one_of(
            row.flatmap(lambda r: st.tuples(*[inner] * r.arity).map(lambda a: Op(r.name, a))),
                st.tuples(inner, inner, inner).map(lambda a: Op("select", a)),
            st.builds(Load, names, inner, st.sampled_from(["", "volatile", "relaxed", "acquire"])),
            st.builds(loops.Shuffle, names, inner, st.sampled_from(["down", "up", "index"]),
                      st.sampled_from(loops.TEAMS)),
            st.builds(loops.Vote, names), st.builds(loops.Peers, names, st.integers(1, 32)))
    return st.recursive(leaves, larger, max_leaves=12)


@given(expressions(), expressions())
def test_any_expression_is_read_back(first: loops.Exp, second: loops.Exp) -> None:
    body = (loops.Let("a", "int", first), loops.Store("b", first, second), loops.Store("b", second, first, True),
            loops.StorePair("b", first, second, first), loops.LoadPair(("d", "e"), "float", "b", second),
            loops.Pause(), loops.Prefetch("b", first), loops.Set("c", second),
            loops.While(first, (loops.If(second, (), (loops.Return((first, second)),)),)))
    module = Module((loops.Function("f", "device", (), body, ("int", "bool")),))
    assert parse(show(module)) == module


PAIRS = """
cuda f(writable int[] x, writable float[] y, writable char[] c, writable bool[] b) {
  pair x[0] = 7, -0.5;
  pair x[1] = 8, 'q';
  pair x[2] = 9, true;
  i, u = pair float x[0];
  j, v = pair char x[1];
  k, w = pair bool x[2];
  x[7] = i + j + k;
  y[0] = u;
  c[0] = v;
  b[0] = w;
}
"""


def test_pairs_hold_an_int_and_a_value_of_any_type() -> None:
    x, y, c, b = np.zeros(8, np.int64), np.zeros(1), np.zeros(1, np.int32), np.zeros(1, bool)
    module = parse(PAIRS)
    check(module)
    launch(module, "f", (x, y, c, b), blocks=1, threads=1)
    assert (x[[0, 2, 4, 7]].tolist(), y[0], chr(c[0]), b[0]) == ([7, 8, 9, 24], -0.5, "q", True)
    assert x[1:2].view(float)[0] == -0.5


def test_special_floats_are_read_back() -> None:
    for value in (math.inf, -math.inf, -0.0, 1e-300, 1e16, 0.1):
        module = parse(f"host f() {{ float x = {value!r}; }}")
        (let,) = module.functions[0].body
        assert isinstance(let, loops.Let) and let.value == Const(value, "float")
        assert math.copysign(1, let.value.value) == math.copysign(1, value)        # type: ignore[union-attr, arg-type]
        assert parse(show(module)) == module


def test_deep_expressions_are_printed_read_and_checked() -> None:
    exp: loops.Exp = Name("x")
    for _ in range(10_000):
        exp = Op("+", (Name("x"), exp))
    deep = Module((loops.Function("f", "host", (loops.Parameter("x", "int"),), (loops.Let("y", "int", exp),)),))
    text = run_deep(lambda: show(deep))
    run_deep(lambda: check(deep))
    assert run_deep(lambda: show(parse(text))) == text


def test_deep_statements_are_printed_read_checked_and_run() -> None:
    body: tuple[loops.Stmt, ...] = (Store("out", Const(0, "int"), Const(7, "int")),)
    for _ in range(10_000):
        body = (loops.If(Op("<", (Load("out", Const(0, "int")), Const(5, "int"))), body),)
    deep = Module((loops.Function("f", "host", (loops.Parameter("out", "int", True, True),), body),))
    text, out = run_deep(lambda: show(deep)), np.zeros(1, np.int64)
    assert len(text) < 3_000_000
    run_deep(lambda: check(deep))
    assert run_deep(lambda: show(parse(text))) == text
    run_deep(lambda: run(deep, "f", (out,)))
    assert out[0] == 7
    assert run_deep(lambda: llvm.llvm(deep)).count("br i1") == 10_000
    kernels = Module((loops.Function("f", "cuda", deep.functions[0].parameters, body),))
    assert run_deep(lambda: cuda.cuda(kernels)).count("if (") == 10_000


@pytest.mark.parametrize("text, message", [
    ("host f( {", "a type is expected here"),
    ("host f() { x = ; }", "an expression is expected here"),
    ("host f() { for (i = 0; j < 3; i += 1) {} }", "the loop's index i is expected here"),
    ("host f() { atomic cas(a[0], 1); }", "cas takes what to compare with"),
    ("host f() {} 5", "not expected here"),
])
def test_errors_in_text_say_what_is_expected(text: str, message: str) -> None:
    with pytest.raises(NessieError, match=message):
        parse(text)


# Validator --------------------------------------------------------------------------------------

BROKEN = [
    ("host f() {} host f() {}", "two functions have one name"),
    ("host `a b`() {}", "no identifier"),
    ("host f(int `a.b`) {}", "no identifier"),
    ("host f() -> int { return 1; }", "kind host has no results"),
    ("host f(writable int n) {}", "writable, but no array"),
    ("host f(int n) { int n = 1; }", "n is bound twice"),
    ("host f() { if (true) { int a = 1; } else { int a = 2; } }", "a is bound twice"),
    ("host f() { int threadIdx = 1; }", "special name"),
    ("host f() { int a = b; }", "scalar b is not bound"),
    ("host f() { if (true) { int a = 1; } int b = a; }", "scalar a is not bound"),
    ("host f() { for (i = 0; i < 3; i += 1) {} int b = i; }", "scalar i is not bound"),
    ("host f(int[] xs) { int a = xs; }", "scalar xs is not bound"),
    ("host f(int n) { int a = n[0]; }", "array n is not bound"),
    ("host f() { int a = 1; a = 2; }", "is set, but no var a is in scope"),
    ("host f() { if (true) { var int a = 1; } a = 2; }", "is set, but no var a is in scope"),
    ("host f() { var int a = 1; a = 2.0; }", "value of a is float, not int"),
    ("host f() { int a = 1.0; }", "value of a is float, not int"),
    ("host f() { int a = 1 + 2.0; }", r"operator \+ does not apply to int, float"),
    ("host f() { bool a = true ? 1 : true; }", "select takes"),
    ("host f() { int a = 9223372036854775808; }", "is no int"),
    ("host f(int[] xs) { int a = xs[1.0]; }", "index is float"),
    ("host f(int[] xs) { xs[0] = 1; }", "xs is not writable"),
    ("host f(writable int[] xs) { xs[0] = 1.0; }", "stored value is float"),
    ("host f(writable int[] xs) { xs[true] = 1; }", "index is bool"),
    ("host f(int[] xs) { atomic add(xs[0], 1); }", "xs is not writable"),
    ("host f(writable float[] xs) { atomic min(xs[0], 1.0); }", "atomic min does not apply to float"),
    ("host f(writable int[] xs) { atomic min(xs[0], 1.0); }", "value of an atomic is float"),
    ("host f() { if (1) {} }", "condition is int"),
    ("host f() { while (1) {} }", "condition is int"),
    ("host f() { for (i = 0; i < 1.0; i += 1) {} }", "bound of a loop is float"),
    ("host f() { for (i = 0; i < 1; i += 0) {} }", "no positive constant"),
    ("host f() { for (i = 0; i < 1; i += 1 + 1) {} }", "no positive constant"),
    ("host f() { barrier; }", "Barrier occurs in a function of kind host"),
    ("device f() { pause; }", "Pause occurs in a function of kind device"),
    ("cuda f(int[] xs) { prefetch xs[0]; }", "Prefetch occurs in a function of kind cuda"),
    ("host f(int[] xs) { prefetch xs[1.0]; }", "index is float"),
    ("host f(int xs) { prefetch xs[1]; }", "array xs"),
    ("device f() { shared int a[3]; }", "a device function has Shared"),
    ("host f() { int a = 1; shared int b[3]; }", "b is not at the top"),
    ("cuda f() { int a = 1; shared int b[3]; }", "b is not at the top"),
    ("cuda f() { shared int b[0]; }", "b is empty"),
    ("host f() { int a = 1; int b = shuffle down(a, 1); }", "Shuffle occurs"),
    ("cuda f() { int a = 1; int b = shuffle down(a, 1.0); }", "shuffle's offset is float"),
    ("host f() { bool a = true; int b = vote(a); }", "Vote occurs"),
    ("cuda f() { int a = 1; int b = vote(a); }", "what is voted on is int"),
    ("host f() { int a = 1; int b = peers(a, 8); }", "Peers occurs"),
    ("cuda f() { bool a = true; int b = peers(a, 8); }", "what peers have is bool"),
    ("cuda f() { int a = 1; int b = peers(a, 33); }", "peers do not have 33 bits"),
    ("host f() { barrier warp; }", "Barrier occurs in a function of kind host"),
    ("host f(writable uint32[] x) { atomic add(x[0], 1); }", "atomic add of uint32 occurs"),
    ("cuda f(writable uint32[] x) { a = atomic add(x[0], 1); }", "atomic add of uint32 has no result"),
    ("host f(writable float[] x) { atomic max(x[0], 1.0); }", "max of float occurs"),
    ("cuda f(writable char[] x) { a = atomic max(x[0], 'a'); }", "max of char has no result"),
    ("cuda f() { shared float x[3]; atomic max(x[0], 1.0); }", "max of float is not for shared arrays, such as x"),
    ("cuda f() { shared int x[3]; release x[0] = 1; }", "release is not for shared arrays"),
    ("cuda f() { shared int x[4]; pair x[0] = 1, 2; }", "a pair is not for shared arrays"),
    ("host f(writable int[] x) { pair x[0] = 1, 2; }", "a pair occurs in a function of kind host"),
    ("cuda f(writable float[] x) { pair x[0] = 1, 2.0; }", "what has pairs is float, not int"),
    ("cuda f(writable int[] x) { pair x[0] = 1.0, 2.0; }", "the first of a pair is float, not int"),
    ("cuda f(int[] x) { a, b = pair float x[0]; }", "array x is not writable"),
    ("cuda f(writable int[] x) { a, a = pair int x[0]; }", "a is bound twice"),
    ("cuda f() { shared int x[3]; int a = acquire x[0]; }", "acquire is not for shared arrays"),
    ("cuda f() { shared int x[3]; while (relaxed x[0] == 0) {} }", "relaxed is not for shared arrays"),
    ("host f() { int a = blockIdx; }", "blockIdx occurs"),
    ("device f() -> int { }", "without Return"),
    ("device f() -> int { if (true) { return 1; } }", "without Return"),
    ("device f() -> int { return 1.0; }", "returns"),
    ("device f() -> int { return 1; int a = 1; }", "follows where every path has returned"),
    ("host f() { call g(); }", "no device function"),
    ("host f() { call g(); } host g() {}", "no device function"),
    ("host f() { call g(1); } device g() {}", "too few or many"),
    ("host f() { call g(1.0); } device g(int a) {}", "argument a is float"),
    ("host f() { call g(1); } device g(int[] a) {}", "array  is not bound"),
    ("host f(int[] x) { call g(x); } device g(writable int[] a) {}", "x is not writable"),
    ("host f(writable int[] x) { call g(x, x); } device g(writable int[] a, int[] b) {}", "passed twice"),
    ("host f() { a = call g(); } device g() {}", "has 0 results"),
    ("cuda f(int[] x) { int[] y = piece(x, 8); }", "Part occurs in a function of kind cuda"),
    ("host f(int[] x) { int[] y = piece(x, 1.0); }", "offset is float"),
    ("host f(int[] x) { int[] y = piece(z, 8); }", "array z is not bound"),
    ("host f(int[] x) { int[] y = piece(x, 8); y[0] = 1; }", "y is not writable"),
    ("host f(int[] x) { if (true) { int[] y = piece(x, 8); } int a = y[0]; }", "array y is not bound"),
    ("cuda f(int[] x) { int a = distance(x, x); }", "Distance occurs in a function of kind cuda"),
    ("host f(int[] x) { int a = distance(x, y); }", "array y is not bound"),
    ("device f() { call g(); } apart g() {}", "of kind device calls g, of kind apart"),
    ("apart f() -> int { }", "without Return"),
]


@pytest.mark.parametrize("text, message", BROKEN)
def test_the_validator_names_what_is_broken(text: str, message: str) -> None:
    with pytest.raises(IllFormed, match=message):
        check(parse(text))


def broken_node(statement: loops.Stmt) -> Module:
    array = loops.Parameter("xs", "int", True, True)
    return Module((loops.Function("f", "cuda", (array,), (statement,)),))


@pytest.mark.parametrize("statement, message", [
    (loops.Let("a", "int", Op("power", (Const(1, "int"),))), "operator power does not apply"),
    (loops.Let("a", "float", Const(1, "float")), "1 is no float"),
    (loops.Let("a", "text", Const("ab", "char")), "is no char"),
    (loops.Let("a", "int", loops.Shuffle("a", Const(1, "int"), "over")), "shuffle mode over"),
    (loops.Atomic("xor", "xs", Const(1, "int"), Const(1, "int")), "atomic xor does not exist"),
    (loops.Atomic("cas", "xs", Const(1, "int"), Const(1, "int")), "only cas, compares"),
])
def test_the_validator_names_what_text_cannot_say(statement: loops.Stmt, message: str) -> None:
    with pytest.raises(IllFormed, match=message):
        check(broken_node(statement))


def test_the_validator_knows_kinds_and_types() -> None:
    with pytest.raises(IllFormed, match="kind gpu does not exist"):
        check(Module((loops.Function("f", "gpu", (), ()),)))
    with pytest.raises(IllFormed, match="type long does not exist"):
        check(Module((loops.Function("f", "host", (loops.Parameter("a", "long"),), ()),)))


def test_a_loop_without_end_needs_no_return_after_it() -> None:
    check(parse("device f(int n) -> int { var int k = n; while (true) { if (k > 9) { return k; } k = k * 2; } }"))


# Interpreter ------------------------------------------------------------------------------------

def test_every_operator_has_a_meaning() -> None:
    assert MEANINGS.keys() == OPS.keys()


@pytest.mark.parametrize("op, type_", CASES)
def test_meanings_have_the_type_that_the_table_says(op: str, type_: str) -> None:
    python = {"int": int, "float": float, "int32": int, "float32": float, "bool": bool, "char": str}
    result = result_type(op, (type_,) * OPS[op].arity)
    for arguments in edge_arguments(op, type_):
        value = MEANINGS[op](*arguments)
        assert type(value) is python[result or ""], (arguments, value)
        bits = {"int": 63, "int32": 31}.get(result or "")
        assert bits is None or -2**bits <= value < 2**bits, (arguments, value)


@pytest.mark.parametrize("op, arguments, expected", [
    ("/", (-7, 2), -3), ("/", (-2**63, -1), -2**63), ("rem", (-7, 2), -1), ("mod", (-7, 2), 1), ("mod", (7, -2), -1),
    ("+", (2**63 - 1, 1), -2**63), ("*", (2**62, 4), 0), ("abs", (-2**63,), -2**63), ("round", (-2.5,), -3),
    ("round", (0.49999999999999994,), 0), ("rshift", (-1, 63), -1), ("lshift", (1, 63), -2**63), ("not", (5,), -6),
    ("ln", (0.0,), -math.inf), ("exp", (1e4,), math.inf), ("sinh", (-1e4,), -math.inf), ("max", (-0.0, 0.0), 0.0),
    ("mul_high", (-1, -1), -2), ("mul_high", (2**62, 4), 1), ("mul_high", (-2**63, 2**63 - 1), 2**62 - 1),
    ("mix", (0,), -2152535657050944081), ("mix", (0x9E3779B97F4A7C15 - 2**64,), 0x6E789E6AA1B965F4),
])
def test_meanings_at_the_edges(op: str, arguments: tuple[int | float, ...], expected: int | float) -> None:
    assert MEANINGS[op](*arguments) == expected


def test_the_interpreter_runs_and_counts() -> None:
    module, xs, parts, counts = parse(EVERYTHING), np.arange(100.0), np.zeros(2), Counts()
    run(module, "sums", (0, 2, 100, xs, parts), counts)
    assert parts.tolist() == [(xs[:64] ** 2).sum(), (xs[64:] ** 2).sum()]
    assert (counts.loads["xs"], counts.stores["parts"]) == (100, 2)
    assert counts.bytes == {"xs": 800, "parts": 16}
    assert counts.operations["*"] == 100 + 2 * 2 and counts.operations["min"] == 2


def test_the_interpreter_calls_and_recurses() -> None:
    module, out, flags, chars = parse(EVERYTHING), np.zeros(1), np.zeros(2, np.bool_), np.zeros(1, np.int32)
    run(module, "scalars", (True, "a", 6, 2.0, np.array([0, 0]), out, flags, chars))
    assert (out[0], flags.tolist(), chr(chars[0])) == (-256.0, [True, False], "b")
    assert run(module, "collatz", (27, np.array([0, 0]))) == (111, True)
    assert run(module, "collatz", (27, np.array([0, 1]))) == (0, False)


def test_atomics_give_the_old_value() -> None:
    cells, sums = np.array([7, 3, 7, 4, 0]), np.array([1.0, 2.0, 0.0])
    run(parse(EVERYTHING), "counters", (cells, sums))
    assert cells.tolist() == [12, 7, 7, 7, 4]
    assert sums.tolist() == [3.5, -0.0, 2.0]


@pytest.mark.parametrize("body", ["out[3] = 1;", "out[0 - 1] = 1;", "int a = out[3];", "atomic add(out[5], 1);"])
def test_leaving_an_array_is_seen(body: str) -> None:
    with pytest.raises(LoopsError, match="lies outside its 3 elements"):
        run(parse(f"host f(writable int[] out) {{ {body} }}"), "f", (np.zeros(3, np.int64),))


def test_a_wrong_element_type_is_seen() -> None:
    with pytest.raises(LoopsError, match="is an array of float64, not of int"):
        run(parse("host f(int[] xs) {}"), "f", (np.zeros(3),))


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_cuda_threads_meet_at_barriers_and_shuffles(seed: int | None) -> None:
    module, xs, parts, tickets = parse(BLOCK_SUM), np.arange(300.0), np.zeros(3), np.zeros(2, np.int64)
    launch(module, "block_sum", (300, xs, parts, tickets), 3, 64, order=None if seed is None else Random(seed))
    assert sorted(parts) == sorted(block_total(xs, b) for b in range(3))
    assert tickets.tolist() == [3, 1]


def block_total(xs: np.ndarray, block: int) -> float:
    """What the threads of the block add up in a grid of 3 blocks of 64."""
    return float(sum(x for i, x in enumerate(xs) if i // 64 % 3 == block))


def test_a_missing_barrier_shows_in_some_order() -> None:
    module = parse(BLOCK_SUM.replace("  barrier;\n", ""))

    def total(order: Random) -> float:
        parts = np.zeros(1)
        launch(module, "block_sum", (64, np.ones(64), parts, np.zeros(2, np.int64)), 1, 64, order=order)
        return float(parts[0])

    def goes_wrong(seed: int) -> bool:
        try:
            return total(Random(seed)) != 64.0
        except LoopsError:
            return True
    assert any(goes_wrong(seed) for seed in range(10))


@pytest.mark.parametrize("body", [
    "if (threadIdx < 5) { barrier; }",
    "if (threadIdx < 5) { barrier; } else { barrier; }",
    "int a = threadIdx; if (a < 5) { int b = shuffle down(a, 1); }",
    "bool a = threadIdx < 5; if (a) { int b = vote(a); }",
    "int a = threadIdx; if (a < 5) { int b = peers(a, 1); }",
    "if (threadIdx < 5) { barrier warp; }",
])
def test_threads_that_wait_apart_are_seen(body: str) -> None:
    with pytest.raises(LoopsError, match="wait at different places"):
        launch(parse(f"cuda f() {{ {body} }}"), "f", (), 1, 64)


def test_a_call_on_the_cpu_has_arrays_of_its_own() -> None:
    text = "host f(int n, writable int[] out) { shared int a[2]; a[n] = 5; out[0] = a[1]; }"
    out = np.zeros(1, np.int64)
    counts = Counts()
    run(parse(text), "f", (1, out), counts)
    assert out[0] == 5
    assert (counts.stores["a"], counts.loads["a"], dict(counts.bytes)) == (1, 1, {"out": 8})
    with pytest.raises(LoopsError, match="read before it is set"):
        run(parse(text), "f", (0, out))


def test_reading_unset_shared_memory_is_seen() -> None:
    with pytest.raises(LoopsError, match="read before it is set"):
        launch(parse("cuda f() { shared int a[2]; int b = a[threadIdx]; }"), "f", (), 1, 2)


def test_shuffles_stay_in_their_warp() -> None:
    text = ("cuda f(writable int[] out) { int a = threadIdx; int b = shuffle up(a, 1); int c = shuffle index(a, 33);"
            " out[a] = b * 1000 + c + shuffle down(b, 1); }")
    out = np.zeros(64, np.int64)
    launch(parse(text), "f", (out,), 1, 64)
    for t in range(64):
        warp = t // 32 * 32
        up = t - 1 if t > warp else t
        down = t if t < warp + 31 else up                      # lane 31 hears itself: its own b
        assert out[t] == up * 1000 + warp + 1 + down


def test_warps_vote() -> None:
    text = ("cuda f(writable int[] out) { bool a = threadIdx rem 3 == 0; bool b = threadIdx < 40;"
            " out[threadIdx] = vote(a) + lshift(vote(b), 32); }")
    out = np.zeros(64, np.uint64)
    launch(parse(text), "f", (out.view(np.int64),), 1, 64)
    for t in range(64):
        lanes = range(t // 32 * 32, t // 32 * 32 + 32)
        a, b = (sum(2**k for k, lane in enumerate(lanes) if holds(lane))
                for holds in (lambda lane: lane % 3 == 0, lambda lane: lane < 40))
        assert int(out[t]) == a + b * 2**32


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_warps_find_peers_and_wait_for_each_other(seed: int | None) -> None:
    text = """cuda f(writable int[] out) {
        shared uint32 seen[64];
        int a = threadIdx * threadIdx;
        seen[threadIdx] = 0;
        barrier warp;
        atomic add(seen[threadIdx xor 1], threadIdx);
        barrier warp;
        out[threadIdx] = peers(a, 3) + lshift(seen[threadIdx], 32);
    }"""
    out = np.zeros(64, np.uint64)
    launch(parse(text), "f", (out.view(np.int64),), 1, 64, order=None if seed is None else Random(seed))
    for t in range(64):
        warp = t // 32 * 32
        alike = sum(2**k for k in range(32) if (warp + k) ** 2 % 8 == t * t % 8)
        assert int(out[t]) == alike + (t ^ 1) * 2**32


def test_a_thread_may_wait_for_another_blocks_flag() -> None:
    text = ("cuda f(writable int[] flags) { if (blockIdx == 0) { while (volatile flags[1] == 0) {} flags[0] = 7; }"
            " else { atomic exchange(flags[1], 1); } }")
    flags = np.zeros(2, np.int64)
    launch(parse(text), "f", (flags,), 2, 1)
    assert flags.tolist() == [7, 1]
