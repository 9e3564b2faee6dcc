"""Kernels whose segments have owners: at each level, each primitive on segments of each kind of space."""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from kernel_runs import program_of
from test_skeletons import KEEP_LEFT, numbers

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.nodes import Gen, Levels
from nessie.lambda_cu.mappings.owners import LANES
from nessie.lambda_cu.text.parser import parse_kernel

LEVELS = tuple(LANES)
PRIMITIVES = {
    "map": """
        let ys = SEG_MAP { (s, j, i) => xs[i] * 100 + s * 10 + j using xs } D
        let zs = MAP { i => ys[i] + 1 using ys } (n)
        return (ys, zs)""",
    "reduce": """
        let rs = SEG_REDUCE { (s, j, i) => xs[i] + j using xs } (0) { (x, y) => x + y } D
        return rs""",
    "several sums": """
        let (rs, ms) = SEG_REDUCE { (s, j, i) => (xs[i], j) using xs } (0, -1)
            { (x, y, v, w) => (x + v, max(y, w)) } D
        let ls = SEG_REDUCE { (s, j, i) => xs[i] using xs } (99) { (x, y) => min(x, y) } D
        return (rs, ms, ls)""",
    "sum in order": f"""
        let (v, ok) = SEG_REDUCE {{ (s, j, i) => (i, xs[i] > 1) using xs }} (-1, false) {KEEP_LEFT} D
        return (v, ok)""",
    "scan": """
        let ps = SEG_SCAN { (s, j, i) => xs[i] using xs } (0) { (x, y) => x + y } D
        let ys = SEG_MAP { (s, j, i) => ps[i] * 10 + j using ps } D
        return (ps, ys)""",
    "scans of scans": f"""
        let ys = SEG_MAP {{ (s, j, i) => xs[i] + 1 using xs }} D
        let ps = SEG_SCAN {{ (s, j, i) => ys[i] using ys }} (0) {{ (x, y) => x + y }} D
        let qs = SEG_SCAN {{ (s, j, i) => ps[i] + ys[i] using ps, ys }} (0) {{ (x, y) => max(x, y) }} D
        let (v, ok) = SEG_SCAN {{ (s, j, i) => (i, xs[i] > 1) using xs }} (-1, false) {KEEP_LEFT} D
        let rs = SEG_REDUCE {{ (s, j, i) => qs[i] * ys[i] using qs, ys }} (0) {{ (x, y) => x + y }} D
        return (ps, qs, v, ok, rs)""",
    "normalise": """
        let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } (0) { (x, y) => x + y } D
        let ys = SEG_MAP { (s, j, i) => xs[i] * 100 - rs[s] using xs, rs } D
        return ys""",
    "softmax": """
        let ms = SEG_REDUCE { (s, j, i) => xs[i] using xs } (-99) { (x, y) => max(x, y) } D
        let ws = MAP { s => ms[s] * 2 + vs[s] using ms, vs } (m)
        let es = SEG_MAP { (s, j, i) => (xs[i] - ms[s]) * ws[s] using xs, ms, ws } D
        let ts = SEG_REDUCE { (s, j, i) => es[i] using es } (0) { (x, y) => x + y } D
        let qs = MAP { s => ts[s] + ws[s] using ts, ws } (m)
        let ys = SEG_MAP { (s, j, i) => es[i] * 7 + qs[s] using es, qs } D
        return (ys, qs, ms)""",
    "sort": """
        let os = SEG_ORDER { (s, j, i) => xs[i] and 3 using xs } D
        let ys = SEG_MAP { (s, j, i) => xs[os[i]] * 10 + j using xs, os } D
        return (os, ys)""",
    "sort, then look": """
        let os = SEG_ORDER { (s, j, i) => xs[i] using xs } D
        let ys = SEG_MAP { (s, j, i) => os[i] + os[i - j + (LENGTH - 1 - j)] USING os } D
        return ys""",
    "sort down": """
        let os = SEG_ORDER { (s, j, i) => xs[i] using xs } D
          descending
        return os""",
    "sorts of other types": """
        let ys = SEG_ORDER { (s, j, i) => float(xs[i]) * -0.5 using xs } D values
        let bs = SEG_ORDER { (s, j, i) => xs[i] > vs[s] using xs, vs } D
        let cs = SEG_ORDER { (s, j, i) => code_char(97 + (xs[bs[i]] and 7)) using xs, bs } D
          descending
        let zs = SEG_MAP { (s, j, i) => if bs[i] == i then ys[i] else float(cs[i]) using ys, bs, cs } D
        return (zs, cs)""",
    "other types": """
        let bs = SEG_MAP { (s, j, i) => xs[i] > vs[s] using xs, vs } D
        let cs = SEG_MAP { (s, j, i) => code_char(97 + (xs[i] and 7)) using xs } D
        let (any, least) = SEG_REDUCE { (s, j, i) => (bs[i], cs[i]) using bs, cs } (false, 'z')
            { (x, y, v, w) => (x or v, min(y, w)) } D
        let fs = SEG_SCAN { (s, j, i) => float(xs[i]) using xs } (0.0) { (x, y) => x + y } D
        let zs = SEG_MAP { (s, j, i) => if bs[i] and any[s] then cs[i] else least[s] using bs, cs, any, least } D
        return (zs, fs, any, bs)""",
    "partition": """
        let ts = SEG_REDUCE { (s, j, i) => if xs[i] > 0 then 1 else 0 using xs } (0) { (x, y) => x + y } D
        let ps = SEG_SCAN { (s, j, i) => if xs[i] > 0 then 1 else 0 using xs } (0) { (x, y) => x + y } D
        let ys = SEG_PERMUTE { (s, j, i) => xs[i] using xs }
            { (s, j, i) => i - j + (if xs[i] > 0 then ps[i] else ts[s] + (j - ps[i])) using xs, ps, ts } D
            into n (0) all
        return (ys, ts)""",
    "permute": """
        let ys = SEG_PERMUTE { (s, j, i) => xs[i] + j using xs } { (s, j, i) => i - j + (LENGTH - 1 - j) USING } D
            into n (0) all
        let zs = SEG_MAP { (s, j, i) => ys[i] * 10 + j using ys } D
        return zs""",
    "reversed": """
        let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } (0) { (x, y) => x + y } D
        let ys = SEG_MAP { (s, j, i) => xs[i] + rs[s] using xs, rs } D
        let zs = SEG_MAP { (s, j, i) => ys[i] - ys[i - j + (LENGTH - 1 - j)] USING ys } D
        return zs""",
    "neighbours": """
        let ys = SEG_MAP { (s, j, i) => xs[i] * 3 using xs } D
        let zs = SEG_MAP { (s, j, i) => let k = j - 1 in
            ys[i] - (if 0 <= k and k < LENGTH then ys[i - j + k] else 5) USING ys } D
        return zs""",
    "filter": """
        let (k, ys, offs) = SEG_FILTER { (s, j, i) => xs[i] using xs } { (s, j, i) => xs[i] > vs[s] using xs, vs } D
        let rs = SEG_REDUCE { (s, j, i) => ys[i] using ys } (0) { (x, y) => x + y } irregular(offs, m, k)
        let ls = SEG_REDUCE { (s, j, i) => 1 } (0) { (x, y) => x + y } irregular(offs, m, k)
        let zs = SEG_MAP { (s, j, i) => xs[i] * rs[s] + ls[s] using xs, rs, ls } D
        return (rs, zs)""",
    "errors": """
        let rs = SEG_REDUCE { (s, j, i) => if xs[i] < 4 then xs[i] else fail s1 : int using xs }
          (0) { (x, y) => x + y } D
        let qs = MAP { s => if rs[s] /= 3 then rs[s] else fail s2 : int using rs } (m)
        let ys = SEG_MAP { (s, j, i) => let k = if qs[s] /= j then j else fail s3 : int in
            if k < m then vs[k] else qs[s] using vs, qs, m } D
        return ys""",
}
SPACES = {
    "irregular": ("offs0 : [int; m+1]", "irregular(offs0, m, n)", "offs0[s + 1] - offs0[s]", "offs0"),
    "uniform": ("l : int", "uniform(m, l, n)", "l", "l"),
    "closed": ("slope : int, more : int", "closed(m, (more, slope), n)", "", ""),
}
NAMES = [(space, name) for space, (*_, length, _) in SPACES.items() for name, text in PRIMITIVES.items()
         if length or "LENGTH" not in text]
LENGTHS = [[], [0], [1], [0, 0, 3], [7, 8, 9, 0, 4, 5, 3], [31, 32, 33, 0, 1, 64, 65], [255, 256, 257, 0, 2],
           [700, 0, 1]]
UNIFORM = [(0, 3), (3, 0), (9, 1), (5, 4), (3, 9), (40, 33), (2, 300)]
CLOSED = [(0, 1, 0), (6, 1, 0), (40, 1, 1), (4, -1, 3), (3, 130, 0)]


def owner_kernel(level: str, space: str, name: str) -> ir.Kernel:
    more, shape, length, used = SPACES[space]
    text = PRIMITIVES[name].replace("LENGTH", length)
    text = re.sub(r" USING\s*(\w*)", lambda match: f" using {', '.join(filter(None, (used, match[1])))}", text)
    text = re.sub(r"\bD\b", shape, text)
    kernel = parse_kernel(f"kernel K (n : int, m : int, xs : [int; n], vs : [int; m], {more}) {{{text}\n}}")
    return replace(kernel, name=f"K_{level}_{space}_{re.sub(r'[^a-z]', '_', name)}", by=by(level))


def by(level: str) -> Levels:
    return Levels((level, "serial" if level == "thread" else "lane"), Gen())


def owner_program(levels: Sequence[str] = LEVELS, names: Sequence[tuple[str, str]] = tuple(NAMES)) -> ir.Program:
    kernels = tuple([owner_kernel(level, *of) for level in levels for of in names])
    return replace(program_of(kernels[0]), kernels=kernels)


def arguments(space: str, lengths: Any) -> list[Any]:
    """Those of a kernel: lengths of irregular rows, how many of which length, or how many of what slope."""
    match space:
        case "irregular":
            n, m, more = sum(lengths), len(lengths), [np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)]
        case "uniform":
            m, length = lengths
            n, more = m * length, [length]
        case _:
            m, slope, least = lengths
            n, more = sum([slope * s + least for s in range(m)]), [slope, least]
    return [n, m, numbers(n), numbers(m, 5), *more]
