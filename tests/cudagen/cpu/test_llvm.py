"""loops as LLVM code: the same results as the interpreter, vectorised, kept as bytes."""
from __future__ import annotations

import ctypes
import math
import re
import sys
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from loops_cases import CASES, EDGES, EVERYTHING, VALUES, edge_arguments, in_domain, operator_module
from paths import ROOT
from processes import finished

from nessie.base.source import InternalError
from nessie.base.values import DTYPES
from nessie.cudagen.cpu import llvm, vector_math
from nessie.cudagen.cpu import machine_code as building
from nessie.cudagen.cpu.text.operators import OPERATORS
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.interpreter import run
from nessie.cudagen.loops.meanings import MEANINGS
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import Const, Load, Name, Op, Store
from nessie.cudagen.loops.text import parse
from nessie.lambda_cu.ops import OPS, result_type

pytest.importorskip("llvmlite")

OPERATOR_NAMES = {"ln": "log"}

# Where libraries differ in the last bits.
INEXACT = {"exp", "ln", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "cbrt", "exp2", "log2",
           "log10", "pow", "atan2", "hypot"}


@lru_cache
def entry(text: str, name: str) -> Callable[..., None]:
    """The entry point of a host function in the module's LLVM text."""
    address = building.load(building.build(text), [f"{name}.call"])[f"{name}.call"]
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(address)


def words(arguments: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """The arguments as 64-bit words."""
    found = np.zeros(max(1, len(arguments)), np.int64)
    for k, argument in enumerate(arguments):
        match argument:
            case np.ndarray():
                found[k] = argument.ctypes.data
            case str():
                found[k] = ord(argument)
            case float():
                found[k:k + 1].view(np.float64)[0] = argument
            case _:
                found[k] = argument
    return found


def execute(module: Module, name: str, *arguments: Any, chunks: tuple[int, int] = (0, 0)) -> None:
    """Runs the compiled function on the arguments."""
    call, block = entry(llvm.llvm(module), name), words(arguments)
    call(*chunks, block.ctypes.data)


def array(values: list[Any], type_: str) -> np.ndarray[Any, Any]:
    return np.array([ord(v) for v in values] if type_ == "char" else values, DTYPES[type_])


def both_results(op: str, type_: str, cases: list[tuple[Any, ...]]) -> tuple[Any, Any]:
    """What the interpreter and the compiled code make of the arguments."""
    result = result_type(op, (type_,) * OPS[op].arity) or ""
    module = operator_module(op, type_)
    inputs = [array([case[k] for case in cases], type_) for k in range(OPS[op].arity)]
    outputs = [np.zeros(len(cases), DTYPES[result]) for _ in range(2)]
    run(module, "f", (len(cases), *inputs, outputs[0]))
    execute(module, "f", len(cases), *inputs, outputs[1])
    return outputs[0], outputs[1]


def agree(op: str, expected: Any, found: Any) -> None:
    """Equal bit for bit, but NaN equals NaN, and library functions may differ in the last bits."""
    if op in INEXACT:
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-300)
    else:
        np.testing.assert_array_equal(found, expected)
    if expected.dtype == np.float64:
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


def test_every_operator_is_printed() -> None:
    assert OPERATORS.keys() == OPS.keys()


@pytest.mark.parametrize("op, type_", CASES)
def test_operators_agree_at_the_edges(op: str, type_: str) -> None:
    agree(op, *both_results(op, type_, edge_arguments(op, type_)))


@pytest.mark.parametrize("op, type_", [(op, t) for op, t in CASES if op not in INEXACT])
@settings(max_examples=examples(15))
@given(data=st.data())
def test_operators_agree_anywhere(op: str, type_: str, data: st.DataObject) -> None:
    argument = st.tuples(*[VALUES[type_]] * OPS[op].arity).filter(lambda a: in_domain(op, a))
    if op in ("lshift", "rshift"):
        argument = st.tuples(VALUES["int"], st.integers(0, 63))
    if op == "code_char":
        argument = st.tuples(st.integers(0, 0x10FFFF))
    agree(op, *both_results(op, type_, data.draw(st.lists(argument, min_size=1, max_size=20))))


@pytest.mark.parametrize("op", ["/", "rem", "mod", "lshift", "rshift", "code_char"])
def test_no_int_operator_traps_outside_its_domain(op: str) -> None:
    cases = [a for x in EDGES["int"] for y in EDGES["int"] for a in [(x, y)[:OPS[op].arity]]]
    inputs = [array([case[k] for case in cases], "int") for k in range(OPS[op].arity)]
    out = np.zeros(len(cases), DTYPES[result_type(op, ("int",) * OPS[op].arity) or ""])
    execute(operator_module(op, "int"), "f", len(cases), *inputs, out)


@pytest.mark.parametrize("op", ["trunc", "floor", "ceil", "round"])
def test_conversions_to_int_saturate(op: str) -> None:
    for x, expected in ((1e300, 2**63 - 1), (-math.inf, -2**63), (math.nan, 0), (2.0**63, 2**63 - 1)):
        found = np.zeros(1, np.int64)
        execute(operator_module(op, "float"), "f", 1, np.array([x]), found)
        assert found[0] == expected == MEANINGS[op](x)


@pytest.mark.parametrize("divisor", [3, -3, 1, -1, 2**63 - 1, -2**63])
@pytest.mark.parametrize("op", ["/", "rem", "mod"])
def test_divisions_by_constants_agree(op: str, divisor: int) -> None:
    value = Op(op, (Load("xs", Name("i")), Const(divisor, "int")))
    xs = array(EDGES["int"], "int")
    body = loops.For("i", Const(0, "int"), Const(len(xs), "int"), (Store("out", Name("i"), value),))
    parameters = loops.Parameter("xs", "int", True), loops.Parameter("out", "int", True, True)
    found = np.zeros_like(xs)
    execute(Module((loops.Function("f", "host", parameters, (body,)),)), "f", xs, found)
    assert found.tolist() == [MEANINGS[op](x, divisor) for x in EDGES["int"]]


# Whole functions --------------------------------------------------------------------------------

def on_both(name: str, *arguments: Any, chunks: tuple[int, int] | None = None) -> tuple[Any, ...]:
    """Runs a function of EVERYTHING interpreted and compiled, on copies of the arrays, and compares all of them."""
    module = parse(EVERYTHING)
    interpreted = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    compiled = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    run(module, name, [*(chunks or ()), *interpreted])
    execute(module, name, *compiled, chunks=chunks or (0, 0))
    for one, other in zip(interpreted, compiled, strict=True):
        np.testing.assert_array_equal(other, one)
    return tuple(compiled)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000])
def test_a_reduction_over_chunks(n: int) -> None:
    chunks = -(-n // 64)
    *_, parts = on_both("sums", n, np.arange(float(n)), np.full(chunks + 1, -1.0), chunks=(0, chunks))
    assert parts[:-1].sum() == sum(i * i for i in range(n)) and parts[-1] == -1.0


def test_any_division_of_the_chunks_gives_the_same_bits() -> None:
    module, xs = parse(EVERYTHING), np.random.default_rng(1).random(1000)
    once, pieces = np.zeros(16), np.zeros(16)
    execute(module, "sums", 1000, xs, once, chunks=(0, 16))
    for first, last in ((0, 3), (3, 4), (4, 4), (4, 16)):
        execute(module, "sums", 1000, xs, pieces, chunks=(first, last))
    assert once.tobytes() == pieces.tobytes()


def test_a_guarded_load_keeps_inside_and_records_the_first_failure() -> None:
    at = np.arange(1000)
    at[[500, 700, 900]] = [-1, 1000, 2**62]
    *_, out, errors = on_both("gather", 1000, 1000, at, np.arange(1000.0), np.zeros(1000), np.array([2**63 - 1, 0]))
    assert errors[0] == 2**40 + 500 and out[499] == 998.0 and out[500] == 0.0


@pytest.mark.parametrize("negate", [False, True])
def test_scalars_come_as_words(negate: bool) -> None:
    *_, out, flags, chars = on_both("scalars", negate, "\U0001f600", 6, 1.5, np.array([0, 0]), np.zeros(1),
                                    np.zeros(2, np.bool_), np.zeros(1, np.int32))
    assert out[0] == (-1.5**8 if negate else 1.5**8)
    assert flags.view(np.uint8).tolist() == [1, 0] and chr(chars[0]) == "\U0001f601"


def test_atomics() -> None:
    on_both("counters", np.array([7, 3, 7, 4, 0]), np.array([1.0, 2.0, 0.0]))


def test_an_unbounded_loop_hears_the_interrupt_word() -> None:
    errors = np.array([0, 0])
    module = parse("host f(int[] errors) { while (volatile errors[1] == 0) {} }")
    thread = threading.Thread(target=lambda: execute(module, "f", errors))
    thread.start()
    time.sleep(0.05)
    waiting = thread.is_alive()
    errors[1] = 1
    thread.join(5)
    assert waiting and not thread.is_alive()


def test_names_may_be_those_of_the_c_library_and_of_labels() -> None:
    module = parse("device exp(float x) -> float { return x + 1.0; }"
                   "host sin(float entry, writable float[] out) { y = call exp(entry); out[0] = `exp`(y); }"
                   .replace("device exp", "device `exp`").replace("call exp", "call `exp`")
                   .replace("host sin", "host `sin`").replace("`exp`(y)", "exp(y)"))
    check(module)
    out = np.zeros(1)
    execute(module, "sin", 1.0, out)
    assert out[0] == pytest.approx(math.exp(2.0), rel=1e-15)


# Speed, seen in the text ------------------------------------------------------------------------

SUM = """
host f(int n, float[] xs, float[] ys, writable float[] out) {
  var float sum = 0.0;
  for (i = 0; i < n; i += 1) { sum = sum + VALUE; }
  out[0] = sum;
}
"""

SUM_IN_LANES = """
host f(int n, float[] xs, float[] ys, writable float[] out) {
  shared float lanes[8];
  for (lane = 0; lane < 8; lane += 1) { lanes[lane] = 0.0; }
  for (first = 0; first < n; first += 8) {
    for (lane_2 = 0; lane_2 < 8; lane_2 += 1) { int i = first + lane_2; lanes[lane_2] = lanes[lane_2] + VALUE; }
  }
  var float sum = 0.0;
  for (lane_3 = 0; lane_3 < 8; lane_3 += 1) { sum = sum + lanes[lane_3]; }
  out[0] = sum;
}
"""


def vectors(text: str) -> bool:
    """Does the optimised code compute with vectors of doubles?"""
    return "x double> " in optimised(text)


def optimised(text: str) -> str:
    return building.optimised(llvm.llvm(parse(text)))


@pytest.mark.parametrize("value", ["xs[i]", "xs[i] * ys[i]", "(xs[i] > 0.5 ? ys[i] : 0.0)", "exp(xs[i])"])
def test_sums_are_vectors_in_lanes_and_in_order_otherwise(value: str) -> None:
    text = optimised(SUM_IN_LANES.replace("VALUE", value))
    assert re.search(r"fadd <\d+ x double>", text)
    assert not re.search(r"fadd <|reassoc|vector.reduce", optimised(SUM.replace("VALUE", value)))
    if "exp" in value and vector_math.vector_library() is not None:
        assert re.search(r"call <\d+ x double> @_ZGV", text)
    else:
        assert "alloca" not in text             # lanes stay in registers


@pytest.mark.parametrize("n", [0, 8, 16, 64])
def test_sums_have_the_same_bits_however_they_are_built(n: int) -> None:
    xs, ys = (np.random.default_rng(seed).standard_normal(64) for seed in (1, 2))
    sums = []
    for quick in (False, True):
        out = np.zeros(1)
        text = llvm.llvm(parse(SUM_IN_LANES.replace("VALUE", "xs[i] * ys[i]")))
        code = building.load(building.build(text, quick), ["f.call"])
        ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(code["f.call"])(
            0, 1, words((n, xs, ys, out)).ctypes.data)
        sums.append(out[0])
    lanes = np.zeros(8)
    for first in range(0, n, 8):
        lanes += xs[first:first + 8] * ys[first:first + 8]
    assert sums == [sum(lanes.tolist())] * 2


def test_code_is_loaded_behind_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which comes when LLVM has linked a library, and nobody has it yet: its name stays taken."""
    class Interrupted(list[Any]):
        def append(self, one: Any) -> None:
            raise KeyboardInterrupt

    code = building.build(llvm.llvm(parse(SUM_IN_LANES.replace("VALUE", "xs[i]"))), True)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(building, "_loaded", Interrupted(building._loaded))
        with pytest.raises(KeyboardInterrupt):
            building.load(code, ["f.call"])
    assert building.load(code, ["f.call"])["f.call"]


@pytest.mark.parametrize("body", [
    "var float m = -inf; for (i = 0; i < n; i += 1) { m = max(m, xs[i]); } out[0] = m;",
    "for (i = 0; i < n; i += 1) { out[i] = (xs[i] * ys[i] + 1.5) * (xs[i] - ys[i]); }",
    "var int failed = 9; for (i = 0; i < n; i += 1) { var float x = 0.0; if (xs[i] > 0.0) { x = ys[i]; }"
    " else { failed = min(failed, i); } out[i] = x; } if (failed < 9) { out[0] = nan; }",
])
def test_maps_guards_and_extremes_are_vectorised(body: str) -> None:
    assert vectors(f"host f(int n, float[] xs, float[] ys, writable float[] out) {{ {body} }}")


ROWS = """
host f(int n, int[] ends, int[] js, float[] xs, writable float[] out) {
  var float sum = 0.0;
  for (s = 0; s < n; s += 1) {
    for (i = ends[s]; i < END; i += 1) { int j = js[i]; var float x = 0.0; if (j < n) { x = VALUE; } sum = sum + x; }
  }
  out[0] = sum;
}
"""


@pytest.mark.parametrize(("end", "value", "kept"), [
    ("ends[s + 1]", "xs[j]", True), ("ends[s + 1]", "xs[js[j + 1]]", True), ("ends[s + 1]", "xs[i]", False),
    ("min(n, ends[s])", "exp(xs[j])", True), ("n", "xs[j]", True), ("n", "exp(xs[j])", False)])
def test_gathers_are_not_vectorised(end: str, value: str, kept: bool) -> None:
    """Rows are of any length, often short, and a gather waits for memory; what is slow of itself is a vector."""
    text = llvm.llvm(parse(ROWS.replace("END", end).replace("VALUE", value)))
    assert ("llvm.loop.vectorize.enable" in text) == kept
    if kept:
        assert "x double> " not in building.optimised(text)


@pytest.mark.skipif(vector_math.vector_library() is None, reason="the C library has no vector functions")
@pytest.mark.parametrize("op", ["exp", "ln", "sin", "cos"])
def test_library_functions_are_called_on_vectors(op: str) -> None:
    reduced = building.optimised(llvm.llvm(operator_module(op, "float")))
    assert re.search(r"call <\d+ x double> @_ZGV\w+_" + OPERATOR_NAMES.get(op, op), reduced)


def test_only_a_version_for_this_processor_is_named() -> None:
    text = "declare double @exp(double) nounwind\n"
    assert vector_math.with_vector_versions(text, frozenset()) == text
    for features, version in ((["sse2"], "_ZGVbN2v_exp"), (["sse2", "avx2"], "_ZGVdN4v_exp"),
                              (["sse2", "avx2", "avx512f"], "_ZGVeN8v_exp")):
        if vector_math.has(version):
            found = set(re.findall(r"@(_ZGV\w+)", vector_math.with_vector_versions(text, frozenset(features))))
            assert found == {version}


@pytest.mark.parametrize("op", sorted(INEXACT))
def test_vectors_and_remainders_are_right(op: str) -> None:
    xs = np.linspace(-1, 1, 101) if op in ("asin", "acos") else np.linspace(0 if op == "ln" else -30, 30, 101)
    agree(op, *both_results(op, "float", [(x,) * OPS[op].arity for x in xs.tolist()]))


@pytest.mark.parametrize("op", sorted(INEXACT))
def test_equal_inputs_have_equal_results_wherever_they_lie(op: str) -> None:
    """In a vector, in what a vectorised loop leaves over, and beside numbers that the C library treats apart."""
    random = np.random.default_rng(1)
    values = np.concatenate([random.uniform(-1, 1, 40), random.uniform(-1e3, 1e3, 40), [1e308, -1e20, 5e-324, 0, 700]])
    xs = random.permutation(np.repeat(values, 7))
    alone, together, left_over = np.zeros_like(values), np.zeros_like(xs), np.zeros(3)
    call, count = entry(llvm.llvm(operator_module(op, "float")), "f"), OPS[op].arity
    for at in range(len(values)):
        call(0, 0, words((1, *[values[at:]] * count, alone[at:])).ctypes.data)
    call(0, 0, words((len(xs), *[xs] * count, together)).ctypes.data)
    call(0, 0, words((3, *[xs] * count, left_over)).ctypes.data)
    results = dict(zip(values.tolist(), alone.view(np.int64).tolist(), strict=True))
    assert [results[x] for x in xs.tolist()] == together.view(np.int64).tolist()
    assert left_over.tobytes() == together[:3].tobytes()


# Building ---------------------------------------------------------------------------------------

def test_object_code_is_bytes_that_another_process_loads(tmp_path: Any) -> None:
    code = building.build(llvm.llvm(parse(EVERYTHING)))
    (tmp_path / "code").write_bytes(code)
    program = ("import ctypes, sys, numpy as np; from nessie.cudagen.cpu import machine_code as building\n"
               "address = building.load(open(sys.argv[1], 'rb').read(), ['counters.call'])['counters.call']\n"
               "cells, sums = np.array([7, 3, 7, 4, 0]), np.array([1.0, 2.0, 0.0])\n"
               "words = np.array([cells.ctypes.data, sums.ctypes.data])\n"
               "call = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(address)\n"
               "call(0, 0, words.ctypes.data)\n"
               "print(cells.tolist())\n")
    command = [sys.executable, "-c", program, str(tmp_path / "code")]
    done = finished(command, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("[12, 7, 7, 7, 4]\n", "")


def test_two_modules_with_the_same_names_live_side_by_side() -> None:
    results = []
    for number in (1, 2):
        text = llvm.llvm(parse(f"host f(writable int[] out) {{ out[0] = {number}; }}"))
        results.append(entry(text, "f"))
    out = np.zeros(1, np.int64)
    for call, expected in zip(results, (1, 2), strict=True):
        call(0, 0, words((out,)).ctypes.data)
        assert out[0] == expected


def test_text_that_llvm_refuses_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="LLVM refuses"):
        building.build("define void @f() { ret i64 %x }")


def test_llvmlite_is_imported_only_when_used() -> None:
    program = ("import sys; import nessie.cudagen.cpu.machine_code, nessie.cudagen.cpu.llvm; "
               "print('llvmlite' in sys.modules)")
    done = finished([sys.executable, "-c", program], cwd=ROOT)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_fingerprint_names_llvm_and_the_processor() -> None:
    import llvmlite.binding
    assert llvmlite.__version__ in building.fingerprint()
    assert (building.processor() or llvmlite.binding.get_host_cpu_name()) in building.fingerprint()


CHOOSING = """
define i64 @choose(i64 %x, i64 %y) {
  %test = icmp slt i64 %x, 10
  %moved = mul i64 %y, 3
  %result = select i1 %test, i64 %moved, i64 %y
  ret i64 %result
}
"""


def test_selects_are_marked_as_what_nobody_foresees() -> None:
    """Else LLVM makes branches of them."""
    found = [line for line in building.optimised(CHOOSING).splitlines() if " select " in line]
    assert len(found) == 1 and "!unpredictable" in found[0]
