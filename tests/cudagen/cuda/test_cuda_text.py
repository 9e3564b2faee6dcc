"""loops as CUDA C++ text: taken by a CUDA compiler, and right when a C++ compiler runs it."""
from __future__ import annotations

import ctypes
import os
import platform
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_skeletons
from kernel_runs import program_of
from loops_cases import BLOCK_SUM, CASES, EDGES, EVERYTHING, edge_arguments, operator_module
from paths import EXAMPLES
from processes import finished

from nessie.base.source import InternalError, Source
from nessie.base.system.deep import run_deep
from nessie.base.values import DTYPES
from nessie.cudagen.cuda import cuda
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.files import cuda_files
from nessie.cudagen.cuda.headers import CONVENTIONS, headers
from nessie.cudagen.cuda.nvidia import compiler as nvidia_compiler
from nessie.cudagen.cuda.nvidia.compiler import assembled
from nessie.cudagen.cuda.operators import HELPERS, OPERATORS
from nessie.cudagen.generate import generate
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.interpreter import run
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.text import parse
from nessie.cudagen.loops.unread import unread
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu.ops import OPS, ROWS, result_type
from nessie.pipeline import Job, pass_named
from nessie.syntax.parser import parse_type
from nessie.tool.cli import main

INEXACT = {"exp", "ln", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "cbrt", "exp2", "log2",
           "log10", "pow", "atan2", "hypot"}


def operators_module() -> Module:
    """A kernel for every operator at every type."""
    functions = [operator_module(op, type_, "cuda").functions[0] for op, type_ in CASES]
    return Module(tuple(loops.Function(f"k{number}", f.kind, f.parameters, f.body)
                        for number, f in enumerate(functions)))


# Text -------------------------------------------------------------------------------------------

def test_every_operator_at_every_type_is_printed() -> None:
    assert {(op, type_) for op, row in OPERATORS.items() for type_ in row} == set(CASES)
    assert {row.name for row in ROWS} == OPERATORS.keys()


def kernel(body: str, parameters: str = "int n, int[] xs, writable int[] out") -> str:
    """The statements of a kernel as CUDA text."""
    module = parse(f"cuda k({parameters}) {{ {body} }}")
    check(module)
    return cuda.cuda(module).split("extern", 1)[1].split("{\n", 1)[1].rsplit("}", 1)[0]


@pytest.mark.parametrize("body, expected", [
    ("int i = blockIdx * blockDim + threadIdx;",
     "const long long i = (long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x;"),
    ("int a = n + 1;", "const long long a = wrap_add(n, 1);"),
    ("int a = n / 2;", "const long long a = n / 2;"),
    ("int a = n / -1;", "const long long a = int_div(n, -1);"),
    ("int a = n rem n;", "const long long a = int_rem(n, n);"),
    ("bool b = n < 1 and (n > 2 or n == 3);", "const bool b = n < 1 && (n > 2 || n == 3);"),
    ("int a = (n < 1 ? 2 : 3) + n;", "const long long a = wrap_add(n < 1 ? 2 : 3, n);"),
    ("int a = (n or 1) and 2;", "const long long a = (n | 1) & 2;"),
    ("float x = 1.0 - (2.0 - 3.0);", "const double x = 1.0 - (2.0 - 3.0);"),
    ("float x = neg(-0.5) * 1e300;", "const double x = (0.0 - -0.5) * 1e+300;"),
    ("float x = float(n) / -inf;", "const double x = (double)n / __longlong_as_double(0xfff0000000000000LL);"),
    ("int a = -9223372036854775808;", "const long long a = (-9223372036854775807LL - 1);"),
    ("int a = 9223372036854775807;", "const long long a = 9223372036854775807LL;"),
    ("char c = 'a'; out[0] = char_code(c);", "const int c = 97;\n  out[0] = (long long)c;"),
    ("int a = acquire out[0];", "const long long a = load_acquire(&out[0]);"),
    ("int a = relaxed out[0];", "const long long a = load_relaxed(&out[0]);"),
    ("release out[n] = n + 1;", "store_release(&out[n], wrap_add(n, 1));"),
    ("a = atomic add ordered(out[0], n);", "const long long a = atomic_add_ordered(&out[0], n);"),
    ("pause;", "__nanosleep(20);"),
    ("barrier warp;", "__syncwarp();"),
    ("int a = peers(n, 8) + 1;", "const long long a = lanes_alike(n, 8) + 1;"),
    ('note "what comes next"; int a = 1;', "// what comes next\n  const long long a = 1;"),
    ("int a = volatile out[0];", "const long long a = ((const volatile long long *)out)[0];"),
    ("atomic min(out[n], 3);", "atomicMin(&out[n], (long long)(3));"),
    ("bool b = true; bool c = shuffle up(b, 1);",
     "const bool b = true;\n  const bool c = (bool)__shfl_up_sync(0xffffffffu, (int)b, 1);"),
    ("bool b = n > 0; int a = vote(b) + 1;", "const bool b = n > 0;\n  "
     "const long long a = (long long)__ballot_sync(0xffffffffu, b) + 1;"),
    ("for (i = 0; i < n; i += 1) {}", "for (long long i = 0; i < n; i += 1) {\n  }"),
    ("var int m = n; for (i = 0; i < m; i += 2) { m = 0; }", "long long m = n;\n  "
     "for (long long i = 0, i_end = m; i < i_end; i += 2) {\n    m = 0;\n  }"),
    ("int double = n; int double_1 = double;", "const long long double_2 = n;\n  const long long double_1 = double_2;"),
])
def test_what_text_statements_become(body: str, expected: str) -> None:
    assert kernel(body).strip() == expected


def test_only_the_helpers_that_are_used_are_written() -> None:
    text = cuda.cuda(parse("cuda k(int n, writable int[] out) { out[0] = n mod 2 + 1; }"))
    assert set(re.findall(r"__forceinline__ [\w ]+ (\w+)\(", text)) == {"int_mod", "wrap_add"}


def test_host_functions_are_left_out() -> None:
    text = cuda.cuda(parse(EVERYTHING))
    assert "struct collatz_device_results { long long r0; bool r1; };" in text and "counters" not in text


# A CUDA compiler --------------------------------------------------------------------------------

def complaint(text: str) -> str:
    """What NVRTC, or else nvcc, says of the text: empty if it takes it. There is one on Linux, as the extra `test` of
    setup.cfg installs NVRTC; elsewhere, perhaps."""
    if not nvidia_compiler.found():
        if sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64"):
            pytest.fail("neither NVRTC (pip install nvidia-cuda-nvrtc) nor nvcc is here")
        pytest.skip("there is no NVRTC for this machine")
    try:
        assembled(text, "sm_80")
    except InternalError as refused:
        return str(refused)
    return ""


RESERVED_NAMES = """
device register(int int_max, float double) -> float { return double; }
device fabs(float x, float y) -> float { z = call register(1, x); return z * y; }
cuda k(int wrap_add, float[] long, writable float[] auto, writable char[] switch, bool[] new) {
  var int private = wrap_add;
  for (class = 0; class < private + 1; class += 1) {
    delete = call register(max(class, 3), long[class]);
    auto[class] = delete;
    switch[class] = new[0] ? '\\u{10ffff}' : '\\'';
  }
}
"""


@pytest.mark.parametrize("text", [EVERYTHING, BLOCK_SUM, RESERVED_NAMES], ids=["device", "block", "names"])
def test_a_cuda_compiler_takes_whole_kernels(text: str) -> None:
    module = parse(text)
    check(module)
    assert complaint(cuda.cuda(module)) == ""


def test_a_cuda_compiler_takes_every_operator() -> None:
    text = cuda.cuda(operators_module())
    of_memory = {"load_acquire", "load_relaxed", "store_release", "load_pair", "store_pair", "atomic_add_ordered",
                 "atomic_float_max", "atomic_bool_max"}
    of_warps = {"lanes_alike"}
    assert {*re.findall(r"__forceinline__ [\w ]+ (\w+)\(", text)} == HELPERS.keys() - of_memory - of_warps
    assert complaint(text) == ""


def test_a_cuda_compiler_takes_every_statement_of_cuda() -> None:
    module = parse("""
      cuda k(int n, writable int[] cells, writable float[] sums, writable char[] chars, writable bool[] flags) {
        shared float tile[64];
        shared uint32 words[64];
        int a = threadIdx;
        words[a] = peers(a, 5);
        barrier warp;
        atomic add(words[a xor 1], words[a]);
        float x = float(a);
        char c = 'a';
        tile[a] = x;
        barrier;
        old = atomic add(cells[0], a);
        atomic min(cells[1], old);
        most = atomic max(cells[1], old);
        was = atomic cas(cells[2], most, 77);
        atomic exchange(cells[3], was);
        atomic add(sums[0], tile[63 - a]);
        last = atomic exchange(sums[1], nan);
        atomic max(sums[2], x);
        atomic max(chars[0], c);
        atomic max(flags[0], a == 3);
        release cells[4] = 1;
        while (relaxed cells[4] == 0) { pause; }
        int seen = acquire cells[4];
        sums[a] = shuffle down(x, 1) + shuffle up(x, n) + shuffle index(last, a xor 1);
        bool odd = a rem 2 == 1;
        cells[a] = shuffle down(a, 1) + char_code(shuffle up(c, 1)) + vote(odd);
        if (isnan(x)) { return; }
        while (volatile cells[5] == 0) {}
      }""")
    check(module)
    assert complaint(cuda.cuda(module)) == ""


# What is generated

GENERATED = {"norm2": None, "dotp": "([float], [float])"}


@pytest.mark.parametrize("name", GENERATED)
def test_a_cuda_compiler_takes_examples(name: str) -> None:
    type_ = GENERATED[name]
    job = Job(entry=name, argument=type_ and parse_type(Source("type", type_)), target="cuda")
    source = Source(name, (EXAMPLES / f"{name}.nesl").read_text("utf-8"))
    assert complaint(run_deep(lambda: compile_program(job, TEXT, source, pass_named("cuda")))) == ""


def test_a_cuda_compiler_takes_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One for each kernel, complete, after what it was made from."""
    folder = tmp_path / "cu"
    assert main(["compile", str(EXAMPLES / "quicksort.nesl"), "-e", "quicksort", "-t", "[int]", "--emit", "cuda",
                 "-o", str(folder)]) == 0
    written = sorted(folder.iterdir())
    assert sorted(capsys.readouterr().out.split()) == [str(path) for path in written]
    assert len(written) > 10
    for path in written:
        text = path.read_text("utf-8")
        kernel = path.stem.removeprefix("quicksort_")
        assert f"// kernel {kernel} (" in text and re.search(rf"__global__.* void {kernel}_", text)
        assert f"\n// {kernel} ---" in text and "quicksort.nesl:" in text.partition(f"\n// {kernel} ---")[2]
        assert complaint(text) == ""


def emitted(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["compile", *words, "--emit", "cuda"]) == 0
    return capsys.readouterr().out


def test_one_text_has_what_the_files_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its beginning, and of each kernel all: what it is made from, how it is launched, its functions."""
    words = (str(EXAMPLES / "quicksort.nesl"), "-e", "quicksort", "-t", "[int]")
    whole = emitted(capsys, *words)
    emitted(capsys, *words, "-o", str(tmp_path))
    for path in tmp_path.iterdir():
        kernel = path.stem.removeprefix("quicksort_")
        beginning, _, rest = path.read_text("utf-8").partition(f"// {kernel} ---")
        assert len(rest) > 500 and rest in whole
        assert beginning.startswith(cuda.commented(CONVENTIONS)) and whole.startswith(cuda.commented(CONVENTIONS))
        assert all(helper in whole for helper in beginning.split("\n\n"))
    assert complaint(whole) == ""


def test_a_header_says_what_a_launch_needs(capsys: pytest.CaptureFixture[str]) -> None:
    """All lines that a kernel comes from, each launch, each argument and what it holds at first."""
    first, second = emitted(capsys, str(EXAMPLES / "norm2.nesl"), "-e", "norm2").split(" ----")[1:]
    assert re.findall(r"norm2.nesl:(\d+) ", first) == ["5", "6", "7"] and "sum2 = sum(gts)\n" in first
    assert re.search(r"//   K1_sweep<<<max\(min\(\(n \+ 255\) / 256, 1024\), 1\), 256>>>\(xs, n, sum1_parts,"
                     r" sum2_parts, cells,\s+(//\s+)?tickets, errors\)\n//     264 bytes of shared memory", first)
    described = first.partition("// Arguments:")[2].partition("extern")[0]
    assert re.findall(r"//   (\w+) +(.*)", described)[:6] == [
        ("n", "a long long, given"), ("xs", "n doubles, given"),
        ("sum1_parts", "max(min((n + 255) / 256, 1024), 1) doubles; scratch"),
        ("sum2_parts", "max(min((n + 255) / 256, 1024), 1) doubles; scratch"),
        ("cells", "2 words of 8 bytes (cells_float: the same words); "
                  "afterwards [0] sum1, a double; [1] sum2, a double"),
        ("errors", "see the beginning of this text")]
    assert "//   0, s1  Divide by zero." in second and "//   1, s2  Divide by zero." in second


def test_a_header_tells_of_a_scan_and_a_sort(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.nesl"
    path.write_text("function scans(m) = {plus_scan(r) : r in m}; function sorts(xs) = sort(xs);")
    scans = emitted(capsys, str(path), "-e", "scans", "-t", "[[float]]")
    assert re.search(r"//   (tickets|epoch) +see the beginning of this text", scans)
    assert re.search(r"//   segment_descriptors +2 \* max\(\(n_1 \+ n \+ 1023\) / 1024, 1\) long longs, the first of "
                     "each two no greater than the epoch at first; scratch", scans)
    assert re.search(r"//   it +n_1 doubles; a result", scans) and "look-back: the first warp" in scans
    sorts = emitted(capsys, str(path), "-e", "sorts", "-t", "[float]")
    assert "... and 7 times more" in sorts and "has shift = 0, 8, 16, " in sorts


@pytest.mark.parametrize("name", ["status", "tickets", "s_parts", "ended_prefixes"])
def test_arrays_may_be_called_like_scratch(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are other arrays than those that skeletons take."""
    path = tmp_path / "names.nesl"
    path.write_text(f"function pick({name}) = let s = sum({name}) in {{s + x : x in plus_scan({name})}};")
    text = emitted(capsys, str(path), "-e", "pick", "-t", "[int]")
    heads = re.findall(r"__global__(?: __launch_bounds__\([^)]*\))? void \w+\((.*?)\) \{", text, re.DOTALL)
    assert any(f"const long long *__restrict__ {name}_1" in head for head in heads)
    assert not any(f"const long long *__restrict__ {name}," in head and "sweep" in head for head in heads)
    if compiler.found():
        assert main(["run", str(path), "--target", "cudasim", "-e", "pick", "[1, 2, 3]"]) == 0
        assert capsys.readouterr().out == "[6, 7, 9]\n"


def test_files_of_kernels_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of several functions of a program, and of kernels whose names differ by case."""
    path, folder = tmp_path / "p.nesl", tmp_path / "code"
    path.write_text("function total(xs) = sum(xs); function before(xs) = plus_scan(xs);")
    for entry in ("total", "before"):
        emitted(capsys, str(path), "-e", entry, "-t", "[int]", "-o", str(folder))
    assert {file.name for file in folder.iterdir()} >= {"p_total_K1.cu", "p_before_K1.cu"}
    kernels = tuple(replace(test_skeletons.cuda_kernel(name), name=called)
                    for name, called in zip(list(test_skeletons.CUDA)[:3], ("k", "K", "K_2"), strict=True))
    program = replace(program_of(kernels[0]), kernels=kernels)
    files = cuda_files(headers(program, unread(generate(program, "cuda"))), "p")
    assert len({name.lower() for name in files}) == 3
    assert [sum(f"// {k.name} ---" in text for text in files.values()) for k in kernels] == [1, 1, 1]


def test_a_program_has_one_text() -> None:
    """Whatever order sets have in a process."""
    command = [sys.executable, "-m", "nessie", "compile", str(EXAMPLES / "quicksort.nesl"), "-e", "quicksort",
               "-t", "[int]", "--emit", "cuda"]
    texts = {finished(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True).stdout
             for seed in "12"}
    assert len(texts) == 1


@pytest.mark.parametrize("name", test_skeletons.CUDA)
def test_a_cuda_compiler_takes_skeletons(name: str) -> None:
    """All for which the GPU has one."""
    module = generate(program_of(test_skeletons.cuda_kernel(name)), "cuda")
    check(module)
    assert complaint(cuda.cuda(module)) == ""


def test_what_blocks_tell_each_other_may_be_seen_by_others() -> None:
    """A compiler that were told that nothing else sees an array might move what is stored there behind the store that
    says so to other blocks."""
    module = generate(program_of(test_skeletons.cuda_kernel("scan")), "cuda")
    parameters = re.split(r",\s+", cuda.cuda(module).split(" K_sweep(")[1].split(") {")[0])
    alone = {p.split("__restrict__ ")[1] for p in parameters if "__restrict__" in p}
    others = {p.split("*")[1] for p in parameters if "*" in p and "__restrict__" not in p}
    assert alone == {"xs", "qs", "cells", "errors"}
    assert others == {"tickets", "descriptors", "t_parts"}


# Results, from a C++ compiler with one thread -----------------------------------------------------

@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The kernels of operators_module, run by the host; signed overflow would be seen to trap."""
    if not compiler.found():
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("native")
    source, library = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text('#include "cudasim.h"\n' + cuda.cuda(operators_module()))
    finished([*compiler.compiler(), *compiler.FLAGS["kernels"], "-ftrapv", f"-I{compiler.FOLDER}", str(source),
              "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("number, case", list(enumerate(CASES)), ids=[f"{op}-{t}" for op, t in CASES])
def test_operators_agree_with_the_interpreter(native: Any, number: int, case: tuple[str, str]) -> None:
    op, type_ = case
    cases = edge_arguments(op, type_)
    inputs = [np.array([ord(c[k]) if type_ == "char" else c[k] for c in cases], DTYPES[type_])     # type: ignore[arg-type]
              for k in range(OPS[op].arity)]
    outputs = [np.zeros(len(cases), DTYPES[result_type(op, (type_,) * OPS[op].arity) or ""]) for _ in range(2)]
    run(operator_module(op, type_), "f", (len(cases), *inputs, outputs[0]))
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*inputs, outputs[1])]
    getattr(native, f"k{number}")(ctypes.c_longlong(len(cases)), *pointers)
    np.testing.assert_allclose(outputs[1], outputs[0], rtol=1e-14 if op in INEXACT else 0, atol=0)
    if outputs[0].dtype == np.float64:
        numbers = ~np.isnan(outputs[0])
        np.testing.assert_array_equal(np.signbit(outputs[1])[numbers], np.signbit(outputs[0])[numbers])


@pytest.mark.parametrize("op", ["/", "rem", "mod", "lshift", "rshift"])
def test_no_int_operator_traps_outside_its_domain(native: Any, op: str) -> None:
    pairs = np.array([(a, b) for a in EDGES["int"] for b in EDGES["int"]], np.int64)
    first, second, out = pairs[:, 0].copy(), pairs[:, 1].copy(), np.zeros(len(pairs), np.int64)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (first, second, out)]
    getattr(native, f"k{CASES.index((op, 'int'))}")(ctypes.c_longlong(len(pairs)), *pointers)
