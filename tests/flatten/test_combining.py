"""Reductions and scans by functions: they compute what the interpreter does, on all kinds of sequences, and are one
REDUCE or SCAN where the function is one of scalars that cannot fail."""
from __future__ import annotations

from functools import cache

import pytest
from amounts import examples
from executors import QUICK, Compiled, Failed, outcome, same
from hypothesis import given, settings
from hypothesis import strategies as st
from test_permuting import runs, values

from nessie import forms
from nessie.lambda_cu import nodes as ir

AFFINE = "function after((a, b), (c, d)) = (a * c, b * c + d);\n"
VECTOR, ROWS = "function main(v) : [int] -> ", "function main(m) : [[int]] -> "
PAIRS = "function main(v, w) : ([int], [int]) -> "
# program, and how many SOACs of which kind are launched; None: it is not done by one combinator
PROGRAMS = {
    "sum": (VECTOR + "int = reduce((a, b) => a + b, 0, v);", {"Reduce": 1}),
    "sum after seven": (VECTOR + "int = reduce((a, b) => a + b, 7, v);", {"Reduce": 1, "Once": 1}),
    "maximum": ("function main(v) : [float] -> float = reduce(max, -inf, v);", {"Reduce": 1}),
    "greatest divisor": (VECTOR + "int = reduce(gcd, 0, {abs(x) : x in v});", None),
    "modular product": (VECTOR + "int = reduce((a, b) => mod(a * b, 97), 1, v);", {"Reduce": 1, "Once": 1}),
    "tuples": (AFFINE + "function main(v) : [(int, int)] -> (int, int) = "
        "reduce(after, (1, 0), v);", {"Reduce": 1, "Once": 2}),
    "tuples scanned": (AFFINE + "function main(v) : [(int, int)] -> ([(int, int)], (int, int)) = "
        "scan(after, (2, 3), v);",
                       {"Reduce": 1, "Scan": 1, "Map": 1, "Once": 2}),
    "inclusive": (VECTOR + "[int] = inclusive_scan((a, b) => a + b, 0, v);", {"Scan": 1, "Map": 1}),
    "recurrence": (AFFINE + "function main(v) : [(int, int)] -> [int] = "
        "{y : (x, y) in inclusive_scan(after, (1, 0), v)};",
                   {"Scan": 1, "Map": 1}),
    "rows": (ROWS + "[int] = {reduce((a, b) => 3 * a * b + a + b, 0, r) : r in m};", {"Reduce": 1, "Map": 1}),
    "rows scanned": (ROWS + "[[int]] = {first(scan((a, b) => a * b, 1, r)) : r in m};", {"Scan": 1}),
    "rows begin apart": ("function main(m, x) : ([[int]], [int]) -> [int] = {reduce(max, y, r) : r in m; y in x};",
                         {"Reduce": 1, "Map": 1}),
    "captured by rows": ("function main(m, x) : ([[int]], [int]) -> [([int], int)] = "
                         "{scan((a, b) => y * a * b + a + b, y, r) : r in m; y in x};",
                         {"Reduce": 1, "Scan": 1, "Map": 2}),
    "captured": (PAIRS + "int = let k = #w in reduce((a, b) => k * a * b + a + b, 0, v);", {"Reduce": 1, "Once": 1}),
    "views": (ROWS + "[int] = {reduce((a, b) => a + b, 1, drop(r, #r / 2)) : r in reverse(m)};", None),
    "two deep": (ROWS + "[[int]] = {{reduce((a, b) => a * b, 1, [0:x]) : x in r | x > 0} : r in m};", None),
    "in a branch": (ROWS + "[int] = {if #r > 1 then reduce((a, b) => a + b, 0, r) else -1 : r in m};", None),
    "in a recursion": ("function deep(v) = if #v < 2 then reduce((a, b) => a * b, 1, v)"
                       " else reduce((a, b) => a + b, 0, {deep(p) : p in bottop(v)});\n"
                       + VECTOR + "int = deep(v);", None),
    "sequences": (ROWS + "[int] = reduce((a, b) => a ++ b, [] int, m);", None),
    "fails": (VECTOR + "int = reduce((a, b) => 60 / (a + b), 1, v);", None),
    "fails in rows": (ROWS + "[int] = {reduce((a, b) => a * (60 / b), 1, r) : r in m};", None),
    "fails for all": (PAIRS + "int = let k = #w in reduce((a, b) => mod(a * b, k), 1, v);", None),
    "where the greatest is": ("function main(v) : [float] -> (int, int) = "
        "(max_index(v), min_index(v));", {"Map": 1, "Reduce": 2}),
    "where in rows": ("function main(m) : [[float]] -> [(int, int)] = {(max_index(r), min_index(r)) : r in m};",
                      {"Map": 1, "Reduce": 2}),
    "by": ("function main(v) : [(int, int)] -> ((int, int), (int, int)) = "
           "let d = (a, b) => a - b in (max_by(d, v), min_by(d, v));", None),
    "characters": ("function main(v) : [char] -> (int, int) = (max_index(v), min_index(v));", None),
}
compiled = cache(Compiled)


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=examples(15))
@given(st.data(), st.integers(0, 11))
def test_values(name: str, data: st.DataObject, size: int) -> None:
    program = compiled(PROGRAMS[name][0])
    arguments = [data.draw(values(type_, size)) for type_ in program.signature[0]]
    same(program, *arguments)


@pytest.mark.parametrize("name", [name for name, (_, launches) in PROGRAMS.items() if launches is not None])
def test_launches(name: str) -> None:
    program = compiled(PROGRAMS[name][0])
    assert runs(program.passes(forms.FLAT, program.flat, "pull")) == PROGRAMS[name][1]


def test_failure_is_told() -> None:
    program = compiled(PROGRAMS["fails"][0])
    for executor in ("interpreter", *QUICK):
        found = outcome(program, executor, [[1, -1, 2]])
        assert isinstance(found, Failed) and found.message == "Divide by zero."
        assert [span.source.text[span.start:span.end] for span in found.place[:1]] == ["60 / (a + b)"]


def test_known_identity_marks_no_elements() -> None:
    """Elements say whether there are any only where what comes first may be no identity."""
    for name, bases in (("sum", 1), ("maximum", 1), ("sum after seven", 2), ("tuples", 3),
                        ("where the greatest is", 2)):
        (soac, *_) = [bind.soac for kernel in compiled(PROGRAMS[name][0]).flat.kernels for bind in kernel.binds
                      if isinstance(bind.soac, ir.Reduce)]
        assert len(soac.identity) == bases, name
