"""Programs for GPUs, with the arguments they are run on: what may go wrong between kernels, and on hard values.

    PROGRAMS[name]                          the source of `main`, and arguments of several runs
    on_gpu(program, device, arguments)      the plain value of main
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from built import execute
from executors import Compiled

from nessie.base.system.deep import run_deep
from nessie.base.values import flatten_value, plain_value
from nessie.cudagen.cuda.device import Gpu
from nessie.cudagen.host import host

NAN, INF = math.nan, math.inf
MIXED = [0.5, -0.0, NAN, 0.0, -INF, INF, -1e-310, 2.0, -3.5]
FARTHEST = (2**63 - 1, -2**63)
PROGRAMS: Mapping[str, tuple[str, list[list[Any]]]] = {
    "map and sum": ("function main(xs) : [int] -> (int, [int]) = let ys = {x * x : x in xs} in (sum(ys), ys);",
                    [[list(range(n))] for n in (0, 1, 256, 700)]),
    "two passes": ("function main(xs) : [float] -> [float] = let s = sum(xs) in {x / s : x in xs};",
                   [[[1.5] * n] for n in (0, 1, 257)]),
    "host branches": ("function main(xs) : [int] -> int = "
                      "if sum(xs) > 10 then max_val(xs) else sum({x + 1 : x in xs});", [[[1, 2]], [[100, 7] * 300]]),
    "host loop": ("function halve(xs, n) : ([int], int) -> [int] = "
                  "if n == 0 then xs else halve({x / 2 : x in xs}, sum({n - 1 : x in [0:1]})); "
                  "function main(xs) : [int] -> [int] = halve(xs, 5);", [[[1000, 31]], [[7] * 300]]),
    "chars and bools": ("function main(s) : [char] -> [bool] = {c == `a or c > `x : c in s};", [["xyz abc" * 40]]),
    "loops per element": ("function steps(n, k) : (int, int) -> int = if n <= 1 then k else "
                          "steps((if rem(n, 2) == 0 then n / 2 else 3 * n + 1), k + 1); "
                          "function main(xs) : [int] -> [int] = {steps(x, 0) : x in xs};", [[list(range(1, 300))]]),
    "write": ("function main(xs) : [int] -> [int] = dist(0, #xs) <- {(#xs - 1 - i, x) : i in [0:#xs]; x in xs};",
              [[list(range(n))] for n in (0, 1, 300)]),
    "division by zero": ("function main(xs) : [int] -> [int] = {100 / (x - 3) : x in xs};",
                         [[[1, 2, 4]], [[5] * 270 + [3] * 5], [[3]]]),
    "index": ("function main(xs) : [int] -> [int] = xs -> {x + 1 : x in xs};", [[[0, -1, 1]], [[0, 9, 1] * 100]]),
    "kernels after a failure": (
        "function main(xs) : [int] -> ([int], int, [int]) = let a = {100 / x : x in xs}; b = rank(a); "
        "c = a -> {10 / y : y in b} in (c, sum({7 / z : z in c}), plus_scan({z + 1 / y : z in c; y in b}));",
        [[[3, 1, 2]], [[5, 0, 7]], [[2]], [[0] * 300]]),
    "gather": ("function main(xs, at) : ([float], [int]) -> [float] = xs -> at;",
               [[MIXED, [8, 0, 1] * 300], [[], []], [[], [0]], [MIXED, [9]], [MIXED, [-1]],
                *([MIXED, [*[3] * 2500, at, 4, 9]] for at in FARTHEST)]),
    "gather in rows": ("function main(m, at) : ([[int]], [[int]]) -> [[int]] = {r -> a : r in m; a in at};",
                       [[[[5, 6], [], [7]] * 200, [[1, 1, 0], [], [0] * 9] * 200], [[[5]] * 300, [[0]] * 299 + [[1]]],
                        [[[5], []] * 200, [[0], []] * 199 + [[0], [0]]], [[], []]]),
    "scatter": ("function main(xs, at) : ([int], [(int, int)]) -> [int] = xs <- at;",
                [[[7] * 5, []], [[], []], [[7] * 300, [(k % 3, k) for k in range(5000)]],
                 [[7], [(0, k) for k in range(9)]],
                 *([[7] * 9, [*[(8, 1)] * 2500, (at, 2)]] for at in (9, -1, *FARTHEST)), [[], [(0, 0)]]]),
    "stencils": ("function main(xs) : [int] -> ([int], int, [int]) = let n = #xs; "
                 "ys = {xs[max(0, i - 2)] - 3 * xs[min(n - 1, i + 1)] : i in [0:n]}; zs = {y : y in ys | y > 0} in "
                 "(ys, max_val({xs[mod(i - 1, n)] + xs[i] * xs[mod(i + 3, n)] : i in [0:n]}), plus_scan(zs));",
                 [[list(range(-n, n, 2))] for n in (0, 1, 2, 3, 5, 255, 256, 257, 2049, 5000)]),
    "stencils of rows": (
        "function main(h, w) : (int, int) -> ([[int]], int) = let xs = {i * i - 9 * i : i in [0:h * w]}; "
        "ys = {{xs[max(0, i - 1) * w + j] + xs[i * w + mod(j + 2, w)] * xs[min(h - 1, i + 2) * w + max(0, j - 1)] "
        ": j in [0:w]} : i in [0:h]} in (ys, sum({sum(y) : y in ys}));",
        [[0, 3], [3, 0], [1, 1], [4, 2], [3, 5], [2, 700], [700, 2], [30, 40], [5, 256], [1100, 257], [3, 5000]]),
    "nests": ("function main(a, b, c) : ([int], [int], [int]) -> [[[int]]] = "
              "{{{x * 100 + y / z : z in c} : y in b} : x in a};",
              [[list(range(k)), list(range(m)), list(range(1, n + 1))] for k, m, n in
               ((0, 2, 3), (2, 0, 3), (2, 3, 0), (1, 1, 1), (2, 3, 7), (20, 30, 1), (1, 300, 2), (30, 1, 257))]
              + [[[1] * 40, [2] * 30, [3, 0, 1]]]),
    "terms from elsewhere": (
        "function main(xs, ls, d) : ([int], [int], int) -> ([int], [[int]], [int]) = "
        "let m = {{xs[rem(i * 7 + j * j, #xs)] / (j - d) : j in [0:l]} : l in ls; i in [0:#ls]} in "
        "({sum({x * xs[j] : x in r; j in [0:#r]}) : r in m}, "
        "{plus_scan({x - xs[#r - 1 - j] : x in r; j in [0:#r]}) : r in m}, "
        "plus_scan({xs[rem(i * i, #xs)] / (i - d) : i in [0:#xs]}));",
        [[list(range(-9, 300)), ls, -1] for ls in ([], [0], [5], [0, 0, 7, 0], [300, 0, 1] * 9, [2] * 900, [0] * 3000,
                                                   [1, 0, 4] * 500, [256, 255, 257])]
        + [[list(range(300)), [5, 0, 9, 3], 8], [list(range(9)), [2, 10, 1], -1], [[1, 2, 3], [4, 4], 2]]),
    "neighbours out of range": ("function main(xs, at) : ([int], int) -> [int] = {xs[i + at] : i in [0:#xs]};",
                                [[list(range(n)), at] for n in (1, 300, 2500) for at in (0, 1, -1, n)]),
    "sums of what is no number": (
        "function main(xs) : [float] -> ((float, (float, float)), [[float]]) = "
        "((sum(xs), (max_val(xs), min_val(xs))), [plus_scan(xs), max_scan(xs), min_scan(xs)]);",
        [[[]], [MIXED], [[1.0] * 2500 + MIXED], [[INF, 1.0] * 1300], [[1.0] * 2500 + [-INF]], [[-0.0] * 2500],
         [[-0.0, 0.0] * 300], [[NAN] * 300], [[-INF] * 300 + [INF] * 300]]),
    "rows of what is no number": (
        "function main(m) : [[float]] -> ([float], ([float], ([[float]], [[float]]))) = "
        "({sum(r) : r in m}, ({max_val(r) : r in m}, ({plus_scan(r) : r in m}, {min_scan(r) : r in m})));",
        [[[[NAN], [], [1.0, 2.0], [INF, 1.0], [], [-0.0, -0.0], [INF, -INF, 2.0], [0.5]] * 300],
         [[[NAN] * 2500, [1.0], [INF] * 2500, [2.0] * 300]]]),
    "orders of what is no number": (
        "function main(xs) : [float] -> ([float], ([int], [int])) = (sort(xs), (rank(xs), rank_down(xs)));",
        [[[]], [[NAN]], [MIXED * 60], [[INF, NAN, -INF, -0.0, 0.0] * 500]]),
    "rows without elements": (
        "function main(m) : [[int]] -> ([int], ([[int]], ([[int]], int))) = "
        "({sum(r) : r in m}, ({plus_scan(r) : r in m}, "
        "({{x : x in r | x > 1} : r in m}, sum({max_val(r) : r in m}))));",
        [[[]], [[[]]], [[[]] * 2500], [[[], list(range(3000)), []]], [[[]] * 2500 + [[1, 2, 3]] + [[]] * 2500]]),
}
ENDLESS = ("function spin(x) : int -> int = if x == 0 then 0 else spin(x + 2); "
           "function main(xs) : [int] -> [int] = {spin(x) : x in xs};")


def on_gpu(program: Compiled, device: Gpu, arguments: Sequence[Any], limits: host.HostLimits | None = None) -> Any:
    types, type_ = program.signature
    flat = [flatten_value(value, t) for value, t in zip(arguments, types, strict=True)]
    return plain_value(run_deep(lambda: execute(device.program, flat, device, limits)), type_)
