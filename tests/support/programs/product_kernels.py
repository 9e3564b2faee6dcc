"""Kernels that are products: of a matrix `a` of m rows of k elements, and one, `b`, of k rows of n, over all rows and
columns: `c` in all."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nessie.cudagen.host.device import INDEX_BITS
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse_kernel


def kernel(body: str, base: str = "float") -> ir.Kernel:
    return parse_kernel("kernel K (m : int, n : int, k : int, c : int, e : int, p : int, q : int, "
                        f"a : [{base}; p], b : [{base}; q]) {{ {body} }}")


def reduction(name: str, value: str, identity: str = "0.0", operator: str = "x + y", space: str = "c = m * n",
              axes: str = "i1, i2", params: str = "x, y", using: str = "a, b, k, n, m, q") -> str:
    return (f"let {name} = SEG_REDUCE {{ ({axes}, s, j, i) => {value} using {using} }} ({identity}) "
            f"{{ ({params}) => {operator} }} uniform({space}, k, e)\n")


TERM = "a[i1 * k + j] * b[j * n + i2]"
PRODUCT = kernel(reduction("sums", TERM) + "return (sums)")
CHECKED = kernel(reduction("sums", """
    let (start, length) = if j < k - 1 then (j * n, n) else (j * n, n) in
    let y = if i2 < length and b[start + i2] < 1.0 then b[start + i2] else fail s1 : float in
    (if a[i1 * k + j] < 1.0 then a[i1 * k + j] else fail s2 : float) * y""") + "return (sums)")


def given(m: int, n: int, k: int) -> list[Any]:
    random = np.random.default_rng((m, n, k))
    return [m, n, k, m * n, m * n * k, m * k, k * n, random.random(m * k), random.random(k * n)]


def failing(m: int, n: int, k: int) -> Iterator[tuple[list[Any], int]]:
    """Arguments of CHECKED some elements of which fail, and the key of the first failure."""
    arguments = given(m, n, k)
    for rows, columns in (([], [0]), ([], [k * n - 1]), ([m * k - 1], []), ([k, 3], [n + 2, 2 * n]), ([0], [0])):
        arguments[7], arguments[8] = np.zeros(m * k), np.zeros(k * n)
        arguments[7][rows], arguments[8][columns] = 2.0, 2.0
        a, b = arguments[7].reshape(m, k), arguments[8].reshape(k, n)
        yield arguments, min([(site << INDEX_BITS) + (r * n + c) * k + j for r in range(m) for c in range(n)
                              for j in range(k) for site, wrong in ((1, b[j, c] >= 1), (2, a[r, j] >= 1)) if wrong])


BATCHED = parse_kernel("""kernel K (d : int, n : int, k : int, c : int, e : int, p : int, q : int,
                                    a : [float; p], b : [float; q]) {
    let sums = SEG_REDUCE { (i0, i1, i2, s, j, i) => a[(i0 * 3 + i1) * k + j] * b[j * n + i2] using a, b, k, n }
      (0.0) { (x, y) => x + y } uniform(c = d * 3 * n, k, e)
    return (sums) }""")
GEMM = kernel(reduction("sums", TERM) + """
    let all = SEG_MAP { (s, j, i) =>
        let ix = s * k + j in
        2.0 * sums[i] + (if ix < p then a[ix] else fail s3 : float)
        using a, k, p, sums
      } uniform(m, n, c)
    return (all)""")
BOTH = kernel(reduction("(sums, most)", "let x = a[i1 * k + j] in let y = b[i2 * k + j] in (x * y, max(x, y))",
                        "0.0, 0.0", "(p1 + q1, max(p2, q2))", params="p1, p2, q1, q2")
              + reduction("least", "a[i1 * k + j] + b[i2 * k + j]", "1.0e9", "min(x, y)") + """
    let halves = MAP { s => sums[s] / 2.0 using sums } (c)
    return (most, least, halves)""")
TOTALS = kernel(reduction("sums", TERM) + """
    let (all, most) = REDUCE { s => (sums[s], sums[s]) using sums } (0.0, 0.0)
      { (p1, p2, q1, q2) => (p1 + q1, max(p2, q2)) } (c)
    let mean = ONCE { () => all / float(c) using all, c }
    return (sums, mean, most)""")
