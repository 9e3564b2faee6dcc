"""Plans: text both ways, and the validator's invariants, each broken alone."""
from __future__ import annotations

from dataclasses import replace

import pytest
from executors import Compiled
from gpu_programs import PROGRAMS

from nessie.base.source import IllFormed, NessieError
from nessie.base.system.deep import run_deep
from nessie.cudagen.cpu import sorting
from nessie.cudagen.generate import generate
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import LIBRARY
from nessie.cudagen.loops.text import parse, show
from nessie.lambda_cu.text.parser import parse as parse_program

HOST = """\
plan K1(int n, float x, int[n + 1] offsets, char[n] xs) {
  cells 3;
  elements n + 1;
  phase K1_count(n, offsets, counts, cells) chunks (n + 31) / 32 in order by max(1, n / 64) {
    buffer int counts[n] = -1;
  }
  phase K1_keep(n, x, xs, kept, flags, cells, cells, errors) once {
    buffer char kept[max(cells[0], 1)] = '\\n';
    buffer bool flags[3 * n];
  }
  library sort_ascending(kept, order) once {
    buffer char order[cells[0]];
    buffer int offsets_2[n + 1] copy offsets;
  }
  result int k = cells[0];
  result float x = cells[1];
  result kept;
  result order[cells[0] - 1];
}

host K1_count(int first_chunk, int last_chunk, int n, int[] offsets, writable int[] counts, writable int[] cells) {
  counts[0] = offsets[n];
  cells[0] = n;
}

host K1_keep(int n, float x, char[] xs, writable char[] kept, writable bool[] flags, \
writable float[] cells_float, writable bool[] cells_bool, writable int[] errors) {
  kept[0] = xs[0];
  flags[0] = true;
  cells_float[1] = x;
  cells_bool[16] = true;
  errors[0] = n;
}
"""
CUDA = """\
plan K1(int n, float[n] xs) {
  cells 1;
  elements n;
  phase K1_sweep(n * 2, xs, ys, interrupt) chunks n {
    buffer float ys[n];
  }
  phase K1_more(n, ys, xs, interrupt) once;
  result ys;
}

cuda K1_sweep(int twice, int[] xs, writable float[] ys, int[] interrupt) {
  ys[xs[0]] = 1.0;
}

cuda K1_more(int n, writable float[] ys, float[] xs, int[] interrupt) {
  ys[n] = xs[0];
}

host other(int n, float[] xs) {
}
"""
ALONE = """\
plan K1(int n) {
  cells 1;
  elements n;
  alone K1_alone of (n + 31) / 32;
  phase K1_count(n, cells) chunks (n + 31) / 32;
  result int k = cells[0];
}

plan K1_alone(int n) {
  cells 1;
  elements n;
  phase K1_alone(n, cells) once;
  result int k = cells[0];
}

host K1_count(int first_chunk, int last_chunk, int n, writable int[] cells) {
  cells[0] = n;
}

host K1_alone(int n, writable int[] cells) {
  cells[0] = n;
}
"""


@pytest.mark.parametrize("text", [HOST, CUDA, ALONE])
def test_text_is_read_back_and_well_formed(text: str) -> None:
    module = parse(text)
    check(module)
    assert show(module) == text
    assert parse(show(module)) == module


BROKEN = [
    # names
    (CUDA, "host other", "plan K1() { cells 0; elements 1; } host other", "two plans have one name"),
    (HOST, "offsets, char[n] xs", "offsets, char[n] `x s`", "'x s' is no identifier"),
    (HOST, "float x, int[n + 1]", "float errors, int[n + 1]", "errors is a special name"),
    (HOST, "float x, int[n + 1]", "float n, int[n + 1]", "n is bound twice"),
    (HOST, "buffer bool flags", "buffer bool counts", "counts is bound twice"),
    (HOST, "buffer bool flags", "buffer bool x", "x is bound twice"),
    # what is called, and how
    (CUDA, "phase K1_more", "phase K1_most", "phase K1_most: it is no host or cuda function of the module"),
    (CUDA, "cuda K1_more", "device K1_more", "phase K1_more: it is no host or cuda function"),
    (CUDA, "phase K1_more(n, ys, xs, interrupt)", "phase other(n, xs)", "phases of kind cuda and host"),
    (HOST, "chunks (n + 31) / 32 in order by max(1, n / 64) {", "once {", "begins with the range of chunks"),
    (HOST, "cells, errors) once {", "cells, errors) chunks 1 {", "begins with the range of chunks"),
    (HOST, "int first_chunk, int last_chunk", "int last_chunk, int first_chunk", "begins with the range of chunks"),
    (HOST, "library sort_ascending", "library shuffled", "the library has no such function"),
    (CUDA, "phase K1_more(n, ys, xs, interrupt)", "library sort_ascending(xs, ys)", "phases of kind cuda and host"),
    (HOST, "order) once {", "order) chunks 1 {", "functions of the library are called once"),
    (HOST, "buffer char order", "buffer bool order", "argument sorted is bool, not char"),
    (HOST, "(kept, order)", "(kept, xs)", "xs is written, but given"),
    (CUDA, "chunks n {", "chunks n in order {", "only chunks of the CPU have an order"),
    (HOST, "in order by max", "by max", "only what has an order has chains"),
    (HOST, "by max(1, n / 64)", "by max(1, x / 64)", "the number of chains reads x, which is no int parameter"),
    # arguments
    (HOST, "(kept, order)", "(kept)", "it takes 2 arguments, and gets 1"),
    (HOST, "(n, offsets, counts, cells)", "(n, offsets, counts)", "it takes 4 arguments, and gets 3"),
    (HOST, "counts, cells)", "counts, cells, errors)", "it takes 4 arguments, and gets 5"),
    (HOST, "(n, offsets, counts, cells)", "(n, offsets, kept, cells)", "argument counts is no array of the plan"),
    (HOST, "(n, offsets, counts", "(n, n, counts", "argument offsets is no array of the plan"),
    (HOST, "(n, offsets, counts", "(n, xs, counts", "argument offsets is char, not int"),
    (HOST, "flags, cells, cells, errors", "errors, cells, cells, errors", "argument flags is int, not bool"),
    (HOST, "(n, x, xs, kept", "(n, n, xs, kept", "argument x is int, not float"),
    (HOST, "(n, x, xs, kept", "(n, y, xs, kept", "argument x is no scalar parameter of the plan"),
    (HOST, "(n, x, xs, kept", "(n + 1, x, xs, kept", "argument n is no scalar parameter of the plan"),
    (CUDA, "int twice", "float twice", "argument twice is int, not float"),
    (CUDA, "n * 2, xs", "n mod 2, xs", "argument twice is none that is made of"),
    (CUDA, "n * 2, xs", "xs, xs", "argument twice reads xs, which is no int parameter"),
    # what is written
    (CUDA, "phase K1_more(n, ys, xs", "phase K1_more(n, xs, ys", "xs is written, but given"),
    (CUDA, "phase K1_more(n, ys, xs", "phase K1_more(n, ys, ys", "ys is written, and passed twice"),
    # sizes
    (HOST, "int[n + 1] offsets", "int[m + 1] offsets", "the size of offsets reads m, which is no int parameter"),
    (HOST, "int[n + 1] offsets", "int[cells[0]] offsets", r"the size of offsets reads cells\[0\], where no phase"),
    (HOST, "flags[3 * n]", "flags[3 * x]", "the size of flags reads x, which is no int parameter"),
    (HOST, "flags[3 * n]", "flags[counts[0]]", "the size of flags is none that is made of"),
    (HOST, "flags[3 * n]", "flags[-n]", "an expression is expected"),
    (HOST, "flags[3 * n]", "flags[9223372036854775808]", "is no int"),
    (HOST, "flags[3 * n]", "flags[2.0]", "the size of flags is none that is made of"),
    (HOST, "flags[3 * n]", "flags[cells[1]]", r"the size of flags reads cells\[1\], where no phase before it stores"),
    (HOST, "counts[n] = -1", "counts[cells[0]] = -1", r"reads cells\[0\], where no phase before it stores an int"),
    (HOST, "chunks (n + 31) / 32", "chunks cells[0]", r"the number of chunks reads cells\[0\]"),
    (HOST, "elements n + 1", "elements cells[1]", r"the number of elements reads cells\[1\]"),
    (HOST, "order[cells[0] - 1]", "order[cells[1] - 1]", r"the length of order reads cells\[1\]"),
    # cells, results, fills and copies
    (HOST, "copy offsets", "copy x", "offsets_2 is a copy of x, which is no array parameter of its type"),
    (HOST, "int offsets_2[n + 1]", "bool offsets_2[n + 1]", "offsets_2 is a copy of offsets, which is no array"),
    (HOST, "copy offsets", "= 1 copy offsets", "offsets_2 is a copy, and filled"),
    (HOST, "cells 3;", "cells 2;", r"it stores cells_bool\[16\], where none of the 2 cells begins"),
    (HOST, "cells_bool[16]", "cells_bool[17]", r"it stores cells_bool\[17\], where none of the 3 cells begins"),
    (HOST, "result float x = cells[1]", "result float x = cells[0]", r"no phase stores the float x in cells\[0\]"),
    (HOST, "result int k = cells[0]", "result int k = cells[7]", r"no phase stores the int k in cells\[7\]"),
    (HOST, "result kept", "result xs", "result xs is no buffer"),
    (HOST, "result kept", "result gone", "result gone is no buffer"),
    (HOST, "result order[cells[0] - 1]", "result order[cells[0] - 1] last cells[1]",
     r"no phase stores the last char of order in cells\[1\]"),
    (HOST, "counts[n] = -1", "counts[n] kept", "a buffer is kept, which only GPUs do"),
    (CUDA, "ys[n];", "ys[n] kept pair;", "ys is kept, and not of ints"),
    (CUDA, "ys[n];", "ys[n] kept;", "ys is kept, and not of ints"),
    (CUDA, "buffer float ys[n];", "buffer float ys[n]; buffer int s[n] = 1 kept;", "s is kept, and begins with"),
    (CUDA, CUDA[CUDA.index("    buffer float"):CUDA.index("ys;\n}")],
     "    buffer float ys[n];\n    buffer int s[n] kept;\n  }\n  phase K1_more(n, ys, xs, interrupt) once;\n"
     "  result s;\n  result ", "result s is kept"),
    (HOST, "counts[n] = -1", "counts[n] = -1.0", "constant -1.0 is no int"),
    (ALONE, "alone K1_alone of", "alone K1_one of", "no plan behind it does the same for one chunk"),
    (ALONE, "of (n + 31) / 32", "of cells[0]", r"the number of chunks reads cells\[0\], where no phase before it"),
    (ALONE, "plan K1_alone(int n) {", "plan K1_alone(int m, int n) {", "K1_alone is to do the same, and has other par"),
    (ALONE, "cells[0];\n}\n\nhost K1_count", "cells[0];\n  result int j = cells[0];\n}\n\nhost K1_count",
     "K1_alone is to do the same, and has other results"),
]


@pytest.mark.parametrize(("text", "whole", "broken", "message"), BROKEN)
def test_each_invariant_is_enforced(text: str, whole: str, broken: str, message: str) -> None:
    assert text.count(whole) == 1
    with pytest.raises((IllFormed, NessieError), match=message):
        check(parse(text.replace(whole, broken)))


def test_types_of_buffers_exist() -> None:
    module = parse(CUDA)
    [plan] = module.plans
    first, *rest = plan.phases
    first = replace(first, buffers=(replace(first.buffers[0], base="long"),))
    with pytest.raises(IllFormed, match="type long does not exist"):
        check(replace(module, plans=(replace(plan, phases=(first, *rest)),)))


def test_the_library_is_the_targets() -> None:
    assert tuple(sorting.SORTS) == LIBRARY


# Programs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_plans_of_programs(name: str, target: str) -> None:
    """Their text comes back, and they are well formed."""
    def modules() -> list[Module]:
        program = Compiled(PROGRAMS[name][0], target=target)
        return [generate(program.executable(fuse), target) for fuse in ("none", "ilp")]

    for module in run_deep(modules):
        run_deep(lambda module=module: check(module))       # type: ignore[misc]
        assert parse(show(module)) == module


@pytest.mark.parametrize("kind", ["firsts", "descending", "values"])
@pytest.mark.parametrize("name", ["part", "low", "chunk", "row", "slots", "key", "offsets"])
def test_sizes_of_what_is_sorted_may_have_any_name(name: str, kind: str) -> None:
    results = "float" if kind == "values" else "int"
    check(generate(parse_program(f"""\
kernel K1 ({name} : int, xs : [float; {name}]) -> [{results}; {name}] {{
  let o = ORDER {{ i => xs[i] using xs }} ({name}) {kind}
  return o
}}
function main ({name} : int, xs : [float; {name}]) -> (n : int, o : [{results}; n]) {{
  let o_1 : [{results}; {name}] = run K1 ({name}, xs)
  return ({name}, o_1)
}}
entry main : [float] -> [{results}]
"""), "cpu"))
