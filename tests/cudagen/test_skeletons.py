"""Skeletons: a plan, chunk by chunk in any order of chunks, does what the kernel's bindings do one after another."""
from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from kernel_runs import Meaning, run_cuda, run_plan

from nessie.base.source import Unsupported
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.rename import rename_kernel
from nessie.lambda_cu.text.parser import parse_kernel

WIDTH = 4
SIZES = [0, 1, WIDTH - 1, WIDTH, WIDTH + 1, 3 * WIDTH + 2]
KEEP_LEFT = "{ (a, p, b, q) => if q then (b, q) else (a, p) }"       # the last value that is there: does not commute

FLAT = {
    "map": """
        let ys = MAP { i => xs[i] * 2 using xs } (n)
        return ys""",
    "reduce": """
        let t = REDUCE { i => xs[i] using xs } (0) { (x, y) => x + y } (n)
        return t""",
    "map and its sum": """
        let ys = MAP { i => xs[i] + 1 using xs } (n)
        let (t, m) = REDUCE { i => (ys[i], xs[i]) using ys, xs } (0, -100) { (x, y, v, w) => (x + v, max(y, w)) } (n)
        let a = ONCE { () => t + m + n using t, m, n }
        return (a, ys)""",
    "scan": """
        let ps = SCAN { i => xs[i] using xs } (0) { (x, y) => x + y } (n)
        let qs = MAP { i => ps[i] * xs[i] using ps, xs } (n)
        let t = REDUCE { i => qs[i] using qs } (0) { (x, y) => x + y } (n)
        return (qs, t)""",
    "scan with total": """
        let ps = SCAN { i => xs[i] using xs } (0) { (x, y) => x + y } (n) total
        return ps""",
    "filter": """
        let (k, ys) = FILTER { i => 60 / xs[i] using xs } { i => xs[i] /= 0 using xs } (n)
        return (k, ys)""",
    "count of survivors": """
        let k = FILTER { i => () } { i => xs[i] > 0 using xs } (n)
        return k""",
    "filter, then map, sum and rank": """
        let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
        let zs = MAP { i => ys[i] * i using ys } (k)
        let t = REDUCE { i => ys[i] using ys } (0) { (x, y) => x + y } (k)
        return (k, zs, t)""",
    "filter of filter": """
        let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > -2 using xs } (n)
        let (m, zs) = FILTER { i => ys[i] * i using ys } { i => ys[i] < 3 using ys } (k)
        let ws = MAP { i => zs[i] + i using zs } (m)
        return (k, m, ws, zs)""",
    "filter and reduce alone": """
        let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
        let t = REDUCE { i => ys[i] using ys } (0) { (x, y) => x + y } (k)
        let r = ONCE { () => if k == 0 then -1 else t / k using k, t }
        return r""",
    "filter and scan of survivors": """
        let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
        let ps = SCAN { i => ys[i] using ys } (0) { (x, y) => x + y } (k)
        let qs = SCAN { i => xs[i] using xs } (0) { (x, y) => max(x, y) } (n) total
        return (ps, qs)""",
    "partition": """
        let (t, f, a, b, pos) = PARTITION { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
        let ys = MAP { i => pos[i] + i using pos } (n)
        let u = REDUCE { i => b[i] using b } (0) { (x, y) => x + y } (f)
        return (t, f, a, b, pos, ys, u)""",
    "counts of a partition": """
        let (t, f, _, _, _) = PARTITION { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
        return (t, f)""",
    "permute distinct": """
        let ys = PERMUTE { i => xs[i] using xs } { i => n - 1 - i using n } (n) into n (0) distinct
        return ys""",
    "permute last": """
        let (ys, zs) = PERMUTE { i => (i, xs[i]) using xs } { i => xs[i] using xs } (n) into 4 (-7, -8) last
        return (ys, zs)""",
    "permute max": """
        let ys = REDUCE_BY_INDEX { i => i + 1 } { i => xs[i] and 3 using xs } (-9223372036854775808)
            { (x, y) => max(x, y) } (n) into 4 (0)
        return ys""",
    "permute max of other types": """
        let ys = REDUCE_BY_INDEX { i => float(xs[i]) * -0.5 using xs } { i => xs[i] and 3 using xs } (-inf)
            { (x, y) => max(x, y) } (n) into 4 (-1.0)
        let bs = REDUCE_BY_INDEX { i => xs[i] > 3 using xs } { i => i and 3 } (false)
            { (x, y) => x or y } (n) into 4 (false)
        let cs = REDUCE_BY_INDEX { i => code_char(97 + xs[i]) using xs } { i => i and 3 } ('\0')
            { (x, y) => max(x, y) } (n) into 4 ('b')
        return (ys, bs, cs)""",
    "scatter survivors": """
        let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
        let zs = PERMUTE { i => ys[i] using ys } { i => k - 1 - i using k } (k) into k (0) all
        return zs""",
    "errors": """
        let ys = MAP { i => if xs[i] /= 0 then 60 / xs[i] else fail s2 : int using xs } (n)
        let zs = MAP { i => let k = if ys[i] < 20 then ys[i] and 3 else fail s1 : int in
                       if k < n then xs[k] else 0 using ys, xs, n } (n)
        return (ys, zs)""",
    "unsafe index after a failure": """
        let ys = MAP { i => let k = if xs[i] < 0 then xs[i] + 99 else fail s1 : int in
                       let m = if k < n then k else fail s0 : int in xs[m] using xs, n } (n)
        return ys""",
    "once before the walk": """
        let m = ONCE { () => n * 2 using n }
        let ys = MAP { i => xs[i] + m using xs, m } (n)
        return (ys, m)""",
    "not commutative": f"""
        let (v, ok) = REDUCE {{ i => (i, xs[i] > 0) using xs }} (0, false) {KEEP_LEFT} (n)
        let (vs, oks) = SCAN {{ i => (i, xs[i] > 0) using xs }} (0, false) {KEEP_LEFT} (n)
        return (v, ok, vs, oks)""",
    "nothing but once": """
        let (a, b) = ONCE { () => (n + 1, 1.5) using n }
        let c = ONCE { () => a * 2 using a }
        return (c, b)""",
    "chars and bools": """
        let bs = MAP { i => xs[i] > 0 using xs } (n)
        let cs = MAP { i => if bs[i] then 'a' else 'b' using bs } (n)
        let (any, least) = REDUCE { i => (bs[i], cs[i]) using bs, cs } (false, 'z')
          { (a, b, c, d) => (a or c, min(b, d)) } (n)
        return (bs, cs, any, least)""",
    "order": """
        let os = ORDER { i => xs[i] and 3 using xs } (n) descending
        return os""",
    "firsts": """
        let fs = ORDER { i => xs[i] using xs } (n) firsts
        return fs""",
}


def flat_kernel(body: str) -> ir.Kernel:
    return parse_kernel("kernel K (n : int, xs : [int; n]) {" + body + "\n}")


def numbers(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed + 97 * n).integers(-4, 5, n)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", FLAT)
def test_flat_walks(name: str, n: int) -> None:
    agree(flat_kernel(FLAT[name]), [n, numbers(n)])


SEGMENTED = {
    "map": """
        let ys = SEG_MAP { (s, j, i) => xs[i] * 100 + s * 10 + j using xs } D
        return ys""",
    "row sums": """
        let rs = SEG_REDUCE { (s, j, i) => xs[i] + j using xs } (0) { (x, y) => x + y } D
        return rs""",
    "prologue, epilogue, sums of all": """
        let ws = MAP { s => vs[s] + 1 using vs } (m)
        let rs = SEG_REDUCE { (s, j, i) => xs[i] * ws[s] using xs, ws } (0) { (x, y) => x + y } D
        let qs = MAP { s => rs[s] * 2 + ws[s] using rs, ws } (m)
        let t = REDUCE { s => qs[s] using qs } (0) { (x, y) => x + y } (m)
        let u = REDUCE { i => xs[i] using xs } (0) { (x, y) => x + y } (n)
        let zs = PERMUTE { s => qs[s] using qs } { s => m - 1 - s using m } (m) into m (0) distinct
        return (rs, ws, t, zs, u)""",
    "segmented scan": """
        let ps = SEG_SCAN { (s, j, i) => xs[i] using xs } (0) { (x, y) => x + y } D
        let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } (-99) { (x, y) => max(x, y) } D
        let ys = SEG_MAP { (s, j, i) => ps[i] * 10 + j using ps } D
        return (ps, rs, ys)""",
    "not commutative": f"""
        let (v, b) = SEG_REDUCE {{ (s, j, i) => (i, xs[i] > 1) using xs }} (-1, false) {KEEP_LEFT} D
        let (w, c) = SEG_SCAN {{ (s, j, i) => (i, xs[i] > 1) using xs }} (-1, false) {KEEP_LEFT} D
        return (v, b, w, c)""",
    "segmented filter": """
        let (k, ys, offs) = SEG_FILTER { (s, j, i) => xs[i] * 10 + j using xs }
          { (s, j, i) => xs[i] > vs[s] using xs, vs } D
        return (k, ys, offs)""",
    "counts of survivors": """
        let (k, offs) = SEG_FILTER { (s, j, i) => () } { (s, j, i) => xs[i] > vs[s] using xs, vs } D
        return (k, offs)""",
    "on survivors": """
        let (k, ys, offs) = SEG_FILTER { (s, j, i) => xs[i] using xs } { (s, j, i) => xs[i] > 0 using xs } D
        let zs = SEG_MAP { (s, j, i) => ys[i] * 1000 + s * 100 + j * 10 + i using ys } irregular(offs, m, k)
        let rs = SEG_REDUCE { (s, j, i) => ys[i] using ys } (0) { (x, y) => x + y } irregular(offs, m, k)
        let ps = SEG_SCAN { (s, j, i) => ys[i] using ys } (0) { (x, y) => x + y } irregular(offs, m, k)
        let (k2, us, offs2) = SEG_FILTER { (s, j, i) => ys[i] * 10 + j using ys }
          { (s, j, i) => ys[i] < 3 using ys } irregular(offs, m, k)
        return (k, offs, zs, rs, ps, k2, us, offs2)""",
    "sums of survivors alone": """
        let (k, ys, offs) = SEG_FILTER { (s, j, i) => xs[i] using xs } { (s, j, i) => xs[i] > 0 using xs } D
        let rs = SEG_REDUCE { (s, j, i) => ys[i] using ys } (0) { (x, y) => x + y } irregular(offs, m, k)
        return rs""",
    "flat scan of rows": """
        let ps = SCAN { i => xs[i] using xs } (0) { (x, y) => x + y } (n) total
        let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } (0) { (x, y) => x + y } D
        return (ps, rs)""",
    "segmented partition": """
        let (t, f, a, b, pos) = SEG_PARTITION { (s, j, i) => s * 10 + j } { (s, j, i) => xs[i] > 0 using xs } D
        return (t, f, a, b, pos)""",
    "errors": """
        let rs = SEG_REDUCE { (s, j, i) => if xs[i] < 4 then xs[i] else fail s1 : int using xs }
          (0) { (x, y) => x + y } D
        let qs = MAP { s => if rs[s] /= 3 then rs[s] else fail s2 : int using rs } (m)
        return qs""",
    "last write of rows": """
        let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } (0) { (x, y) => x + y } D
        let ys = PERMUTE { s => rs[s] * 100 + s using rs } { s => vs[s] and 1 using vs } (m) into 2 (-1) last
        return (rs, ys)""",
    "order": """
        let os = SEG_ORDER { (s, j, i) => xs[i] and 3 using xs } D
        return os""",
    "firsts": """
        let fs = SEG_ORDER { (s, j, i) => xs[i] and 3 using xs } D
          firsts
        return fs""",
}
CUDA_SEGMENTED = {name: text for name, text in SEGMENTED.items() if name != "firsts"}
LENGTHS = [[], [0], [0, 0, 0], [3], [1], [14], [2, 0, 0, 5, 1, 0], [0, 9, 0, 0, 1, 2, 3], [1] * 9, [4, 4, 4],
           [0] * 11, [3, 0, 0, 0, 0, 0, 17, 1]]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("name", SEGMENTED)
def test_walks_of_segments(name: str, lengths: list[int]) -> None:
    kernel = segmented_kernel("offs0 : [int; m+1]", "irregular(offs0, m, n)", SEGMENTED[name])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n, m = sum(lengths), len(lengths)
    agree(kernel, [n, m, numbers(n), numbers(m, 5), offsets])


@pytest.mark.parametrize("segments, length", [(0, 3), (3, 0), (1, 1), (2, 7), (9, 1), (5, 3)])
@pytest.mark.parametrize("name", SEGMENTED)
def test_walks_of_uniform_segments(name: str, segments: int, length: int) -> None:
    n = segments * length
    kernel = segmented_kernel("l : int", "uniform(m, l, n)", SEGMENTED[name])
    agree(kernel, [n, segments, numbers(n), numbers(segments, 5), length])


@pytest.mark.parametrize("segments, slope, offset", [(0, 1, 0), (1, 1, 0), (5, 1, 0), (4, 2, 1), (3, 1, 5), (4, -1, 4),
                                                     (4, -1, 3), (3, -2, 9), (1, -7, 2), (2, -40, 70)])
@pytest.mark.parametrize("name", SEGMENTED)
def test_walks_of_triangles(name: str, segments: int, slope: int, offset: int) -> None:
    n = sum(slope * s + offset for s in range(segments))
    kernel = segmented_kernel("slope : int, more : int", "closed(m, (more, slope), n)", SEGMENTED[name])
    agree(kernel, [n, segments, numbers(n), numbers(segments, 5), slope, offset])


# How many rows, of a + b*r segments, from a row on of c + d*r more; of e + f*r + g*j elements each.
NESTED = [((0, 1, 1, 0, 0, 0), (1, 1, 1)), ((2, 0, 0, 0, 0, 0), (1, 1, 0)), ((1, 1, 0, 0, 0, 0), (0, 0, 0)),
          ((1, 3, 0, 0, 0, 0), (0, 0, 4)), ((4, 1, 1, 0, 0, 0), (1, 0, 1)), ((4, 4, -1, 0, 0, 0), (5, 1, -1)),
          ((3, 2, 0, 0, 0, 0), (0, 3, 2)), ((4, 0, 2, 0, 0, 0), (0, 0, 1)), ((4, 3, 0, 1, -2, 0), (1, 1, 1)),
          ((5, 0, 0, 2, 0, 1), (2, 0, 0)), ((5, 6, -2, 3, -6, 2), (1, 0, 1))]
Rows, Segments = tuple[int, int, int, int, int, int], tuple[int, int, int]


@pytest.mark.parametrize("rows, segments", NESTED, ids=str)
@pytest.mark.parametrize("name", SEGMENTED)
def test_walks_of_rows_in_rows(name: str, rows: Rows, segments: Segments) -> None:
    agree(*nested_kernel(name, rows, segments))


@pytest.mark.sampled(quick=8, ci=8)
@pytest.mark.parametrize("name", [name for name in CUDA_SEGMENTED if name != "order"])
def test_walks_of_rows_in_rows_by_blocks_of_threads(name: str) -> None:
    agree_on_gpu(*nested_kernel(name, (9, 20, -3, 6, -20, 4), (3, 1, 1)), 1)


def nested_kernel(name: str, rows: Rows, segments: Segments) -> tuple[ir.Kernel, list[Any]]:
    (count, a, b, place, c, d), (e, f, g) = rows, segments
    long = [a + b * r + (c + d * r) * (r >= place) for r in range(count)]
    lengths = [[e + f * r + g * j for j in range(row)] for r, row in enumerate(long)]
    sums = [sum(row) for row in lengths]
    steps = " + ".join([f"({now - before}) from {r}" for r, (before, now) in enumerate(pairwise([0, *sums])) if r])
    space = (f"nested(closed({count}, ({a}, {b}) + ({c}, {d}) from {place}, m), (({e}, {f}), ({g})), "
             f"({sum(sums[:1])}){' + ' * bool(steps)}{steps}, n)")
    kernel = segmented_kernel("more : int", space.replace("from 0", ""), SEGMENTED[name])
    n, m = sum(sums), sum(long)
    return kernel, [n, m, numbers(n), numbers(m, 5), 0]


def segmented_kernel(more: str, space: str, body: str) -> ir.Kernel:
    text = body.replace(" D\n", f" {space}\n")
    return parse_kernel(f"kernel K (n : int, m : int, xs : [int; n], vs : [int; m], {more}) {{{text}\n}}")


CUDA = [*(name for name in sorted(FLAT) if name != "firsts"), "ordered reduce"]         # GPUs have no firsts


def cuda_kernel(name: str) -> ir.Kernel:
    return flat_kernel(ORDERED if name == "ordered reduce" else FLAT[name])


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("n, width", [(0, 8), (300, 1)])
@pytest.mark.parametrize("name", [name for name in CUDA if name != "order"])      # test_gpu.py sorts, quickly
def test_walks_by_blocks_of_threads(name: str, n: int, width: int) -> None:
    agree_on_gpu(cuda_kernel(name), [n, numbers(n)], width)


def test_gpus_do_not_hash() -> None:
    with pytest.raises(Unsupported, match="GPUs find equal keys by sorting"):
        run_cuda(flat_kernel(FLAT["firsts"]), [3, numbers(3)], 3)


ORDERED = f"""
    let (v, ok) = REDUCE {{ i => (i, xs[i] > 3) using xs }} (0, false) {KEEP_LEFT} (n)
    return (v, ok)"""


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("name", [name for name in CUDA_SEGMENTED if name != "order"])
def test_walks_of_segments_by_blocks_of_threads(name: str) -> None:
    lengths = [1, 0, 250, 3, 0, 0, 270, 2]
    kernel = segmented_kernel("offs0 : [int; m+1]", "irregular(offs0, m, n)", SEGMENTED[name])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    agree_on_gpu(kernel, [sum(lengths), len(lengths), numbers(sum(lengths)), numbers(len(lengths), 5), offsets], 1)


def agree_on_gpu(kernel: ir.Kernel, arguments: list[Any], width: int) -> None:
    meaning = Meaning(kernel, arguments)
    results, failed = run_cuda(kernel, arguments, arguments[0], width)
    assert failed == meaning.failed
    assert failed < 2**63 - 1 or results == meaning.results


def agree(kernel: ir.Kernel, arguments: list[Any]) -> None:
    meaning = Meaning(kernel, arguments)
    for order in (1, -1):
        results, failed = run_plan(kernel, arguments, WIDTH, order=order)
        assert failed == meaning.failed
        if failed == 2**63 - 1:
            assert results == meaning.results


@pytest.mark.parametrize("run", [lambda kernel, given: run_plan(kernel, given, WIDTH)[0],
                                 lambda kernel, given: run_cuda(kernel, given, 0)[0]], ids=["cpu", "cuda"])
def test_any_names_will_do(run: Any) -> None:
    kernel = flat_kernel("""
        let errors = MAP { `x'1` => let `y'` = xs[`x'1`] + `cells'2` in `y'` * `y'` using xs, `cells'2` } (n)
        let cells = REDUCE { i => errors[i] using errors } (0) { (`a'`, failed) => `a'` + failed } (n)
        return (errors, cells)""")
    kernel = rename_kernel(kernel, {"n": "first_chunk", "xs": "x'1"})
    kernel = replace(kernel, name="K'1", params=(*kernel.params, ir.Param("cells'2", "int")))
    assert run(kernel, [3, np.array([1, 2, 3]), 4]) == [[25, 36, 49], 110]


@pytest.mark.parametrize("name", ["descriptors", "segment_descriptors", "zs_all", "zs_tails", "status"])
def test_names_of_buffers_will_do(name: str) -> None:
    """What skeletons have for themselves is not what is given."""
    kernel = flat_kernel("""
        let zs = SCAN { i => xs[i] using xs } (0) { (x, y) => x + y } (n) total
        return zs""")
    kernel = rename_kernel(kernel, {"xs": name})
    xs = np.arange(3000)
    for found in (run_plan(kernel, [len(xs), xs], WIDTH)[0], run_cuda(kernel, [len(xs), xs], 0)[0]):
        assert found == [[0, *np.cumsum(xs).tolist()]]


@pytest.mark.parametrize("n", [0, 5])
def test_as_many_segments_as_elements(n: int) -> None:
    agree(parse_kernel(f"""kernel K (xs : [int; {n}]) {{
        let ys = SEG_MAP {{ (s, j, i) => xs[i] + s using xs }} uniform({n}, 1, {n})
        let os = SCAN {{ i => ys[i] using ys }} (0) {{ (x, y) => x + y }} ({n}) total
        let rs = SEG_REDUCE {{ (s, j, i) => ys[i] using ys }} (0) {{ (x, y) => x + y }} uniform({n}, 1, {n})
        let qs = MAP {{ s => rs[s] * 2 using rs }} ({n})
        let zs = MAP {{ i => ys[i] * 3 using ys }} ({n})
        return (os, rs, qs, zs)
    }}"""), [numbers(n)])


@pytest.mark.parametrize("other, last", [("a * b", "1"), ("b * a", "1"), ("a * b", "one")])
def test_segments_whose_elements_ask_for_indices_of_axes(other: str, last: str) -> None:
    """Beside a reduction of rows that does not ask."""
    agree(parse_kernel(f"""kernel K (a : int, b : int, l : int, one : int, m : int, n : int, xs : [int; n]) {{
        let rs = SEG_REDUCE {{ (i1, i2, s, j, i) => xs[i] using xs }} (0) {{ (x, y) => x + y }} uniform(m = a * b, l, n)
        let ys = SEG_MAP {{ (i1, i2, s, j, i) => rs[i] * 100 + i1 * 10 + i2 + j using rs }}
          uniform(m = {other}, {last}, m)
        return (rs, ys)
    }}"""), [2, 3, 4, 1, 6, 24, numbers(24)])


@pytest.mark.parametrize("lengths", [[], [2, 0, 3], [0, 1, 0, 0, 4, 0]], ids=str)
def test_segments_that_are_elements_of_other_segments(lengths: list[int]) -> None:
    kernel = segmented_kernel("offs0 : [int; m+1], outer : [int; 3+1]", "irregular(offs0, m, n)", """
        let ws = SEG_MAP { (s, j, i) => s * 100 + j * 10 + vs[i] using vs } irregular(outer, 3, m)
        let ys = SEG_MAP { (s, j, i) => xs[i] + ws[s] using xs, ws } D
        let rs = SEG_REDUCE { (s, j, i) => ys[i] using ys } (0) { (x, y) => x + y } D
        return (ws, ys, rs)""")
    n, m = sum(lengths), len(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    agree(kernel, [n, m, numbers(n), numbers(m, 5), offsets, np.array([0, m // 2, m // 2, m])])
