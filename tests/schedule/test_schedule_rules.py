"""The fusion rules, each as text before and after; the random programs say that the meaning stays."""
from __future__ import annotations

import pytest

from nessie.lambda_cu.text.parser import parse
from nessie.lambda_cu.text.printer import show_bind
from nessie.lambda_cu.typing import Scope, bound_types
from nessie.schedule.rewrite.rewrite import rewrite_kernel

FRAME = """
kernel K (n : int, t : int, xs : [int; n], ys : [int; n], es : [int; t], o : [int; n+1]) {{
{} return {} }}
function f (n : int) -> (m : int) {{ return n }}
entry f : int -> int
"""

RULES = {
    "MAP-MAP, the first kept": ("a, b", """
let a = MAP { i => xs[i] + 1 using xs } (n)
 let b = MAP { i => a[i] * 2 using a } (n)""", """
let (a, b) = MAP { i => let a_1 = xs[i] + 1 in (a_1, a_1 * 2) using xs } (n)
"""),
    "MAP-MAP, not of another element": ("b", """
let a = MAP { i => xs[i] + 1 using xs } (n)
 let b = MAP { i => a[0] using a } (n)""", """
let a = MAP { i => xs[i] + 1 using xs } (n)
let b = MAP { i => a[0] using a } (n)
"""),
    "MAP-REDUCE": ("b", """
let a = MAP { i => xs[i] * ys[i] using xs, ys } (n)
 let b = REDUCE { i => a[i] using a } (0) { (x, y) => x + y } (n)""", """
let b = REDUCE { i => xs[i] * ys[i] using xs, ys } (0) { (x, y) => x + y } (n)
"""),
    "MAP-X, what a filter may skip does not fail there": ("k, b", """
let a = MAP { i => if xs[i] > 0 then xs[i] else fail s1 : int using xs } (n)
 let (k, b) = FILTER { i => a[i] using a } { i => ys[i] > 0 using ys } (n)""", """
let a = MAP { i => if xs[i] > 0 then xs[i] else fail s1 : int using xs } (n)
let (k, b) = FILTER { i => a[i] using a } { i => ys[i] > 0 using ys } (n)
"""),
    "MAP-X, a predicate is always evaluated": ("k, b", """
let a = MAP { i => if xs[i] > 0 then xs[i] else fail s1 : int using xs } (n)
 let (k, b) = FILTER { i => ys[i] using ys } { i => a[i] > 0 using a } (n)""", """
let (k, b) = FILTER { i => ys[i] using ys } { i =>
      let xs_1 = xs[i] in
      let a_1 = if xs_1 > 0 then xs_1 else fail s1 : int in a_1 > 0
      using xs
    } (n)
"""),
    "HORIZONTAL": ("a, b", """
let a = REDUCE { i => xs[i] using xs } (0) { (x, y) => x + y } (n)
 let b = REDUCE { i => xs[i] using xs } (1) { (x, y) => x * y } (n)""", """
let (a, b) = REDUCE
    { i => let xs_1 = xs[i] in (xs_1, xs_1) using xs }
    (0, 1)
    { (x_1, x_2, y_1, y_2) => (x_1 + y_1, x_2 * y_2) }
    (n)
"""),
    "FILTER-MAP": ("k, b", """
let (k, a) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
 let b = MAP { j => a[j] * 2 using a } (k)""", """
let (k, b) = FILTER { j => let a_1 = xs[j] in a_1 * 2 using xs } { i => xs[i] > 0 using xs } (n)
"""),
    "FILTER-FILTER": ("m, b", """
let (k, a) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
 let (m, b) = FILTER { j => a[j] * 2 using a } { j => a[j] < 9 using a } (k)""", """
let (m, b) = FILTER
    { i => let a_1 = xs[i] in a_1 * 2 using xs }
    { i => let xs_1 = xs[i] in if xs_1 > 0 then xs_1 < 9 else false using xs }
    (n)
"""),
    "FILTER-REDUCE": ("b", """
let (k, a) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
 let b = REDUCE { j => a[j] using a } (0) { (x, y) => x + y } (k)""", """
let b = REDUCE
    { i => let xs_1 = xs[i] in if xs_1 > 0 then xs_1 else 0 using xs }
    (0)
    { (x, y) => x + y }
    (n)
"""),
    "FILTER-REDUCE, not of a survivor's number": ("b", """
let (k, a) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
 let b = REDUCE { j => a[j] * j using a } (0) { (x, y) => x + y } (k)""", """
let (k, a) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
let b = REDUCE { j => a[j] * j using a } (0) { (x, y) => x + y } (k)
"""),
    "FILTER-REDUCE, not where an index would be reported": ("b", """
let (k, a) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
 let b = REDUCE { j => if a[j] < 5 then a[j] else fail s1 : int using a } (0) { (x, y) => x + y } (k)""", """
let (k, a) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
let b = REDUCE { j => if a[j] < 5 then a[j] else fail s1 : int using a } (0) { (x, y) => x + y } (k)
"""),
    "SEG_FILTER-SEG_REDUCE": ("b", """
let (k, a, w) = SEG_FILTER { (s, j, i) => es[i] using es }
  { (s, j, i) => es[i] > xs[s] using es, xs } irregular(o, n, t)
 let b = SEG_REDUCE { (s, j, i) => a[i] + s using a } (0) { (x, y) => x + y } irregular(w, n, k)""", """
let b = SEG_REDUCE
    { (s, j, i) => let es_1 = es[i] in if es_1 > xs[s] then es_1 + s else 0 using es, xs }
    (0)
    { (x, y) => x + y }
    irregular(o, n, t)
"""),
    "SEG_FILTER-SEG_REDUCE, not of a position": ("b", """
let (k, a, w) = SEG_FILTER { (s, j, i) => es[i] using es }
  { (s, j, i) => es[i] > xs[s] using es, xs } irregular(o, n, t)
 let b = SEG_REDUCE { (s, j, i) => a[i] + j using a } (0) { (x, y) => x + y } irregular(w, n, k)""", """
let (k, a, w) = SEG_FILTER
    { (s, j, i) => es[i] using es }
    { (s, j, i) => es[i] > xs[s] using es, xs }
    irregular(o, n, t)
let b = SEG_REDUCE { (s, j, i) => a[i] + j using a } (0) { (x, y) => x + y } irregular(w, n, k)
"""),
    "SCAN-MAP stays two bindings": ("c, b", """
let c = SCAN { i => xs[i] using xs } (0) { (x, y) => x + y } (n)
 let b = MAP { i => c[i] + xs[i] using c, xs } (n)""", """
let c = SCAN { i => xs[i] using xs } (0) { (x, y) => x + y } (n)
let b = MAP { i => c[i] + xs[i] using c, xs } (n)
"""),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    returned, before, after = RULES[name]
    text = FRAME.format(before, f"({returned})" if "," in returned else returned)
    [kernel] = parse(text).kernels
    scope = Scope({param.name: param.type for param in kernel.params}, {})
    for bind in kernel.binds:
        scope.names.update(zip(bind.names, bound_types(bind, scope), strict=True))
    rewritten = rewrite_kernel(kernel, dict(scope.names))
    assert "\n".join(map(show_bind, rewritten.binds)) == after.strip()
