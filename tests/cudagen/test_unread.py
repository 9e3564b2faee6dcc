"""What a function computes and nobody reads goes, and nothing else."""
from __future__ import annotations

import pytest
from cuda_programs import skeletons

from nessie.cudagen.cuda import cuda
from nessie.cudagen.generate import generate
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.printer import show
from nessie.cudagen.loops.text import parse
from nessie.cudagen.loops.unread import cleaned_function, unread
from nessie.cudagen.loops.walk import bound_names, read_names, statements

PARAMETERS = "int n, int[] xs, writable int[] out, writable int[] cells"

CASES = {
    "what a Note speaks of": ('note "a"; int a = n; note "b"; out[0] = n; note "c";', 'note "b"; out[0] = n;'),
    "a chain of Lets": ("int a = n + 1; int b = xs[a]; out[0] = n;", "out[0] = n;"),
    "a variable that only itself reads": (
        "var int sum = 0; for (i = 0; i < n; i += 1) { sum = sum + xs[i]; } out[0] = n;", "out[0] = n;"),
    "a branch that is empty then": (
        "var int a = 0; int b = xs[0]; if (b < n) { a = 1; } else { a = 2; } out[0] = n;", "out[0] = n;"),
    "the first of two branches": (
        "var int a = 0; if (n < 3) { a = 1; } else { out[0] = 1; } cells[0] = 2;",
        "if (not(n < 3)) { out[0] = 1; } cells[0] = 2;"),
    "shared memory that is only written": (
        "shared int tile[8]; int a = xs[0]; tile[0] = a; barrier; out[0] = n;", "barrier; out[0] = n;"),
    "what an atomic gives": ("was = atomic add(cells[0], n);", "atomic add(cells[0], n);"),
    "a shuffle": ("int a = shuffle down(n, 1); out[0] = n;", "out[0] = n;"),
}
STAYS = {
    "a load that sees what others did": "int a = acquire cells[0];",
    "a load that is made each time": "int a = volatile cells[0];",
    "a loop that waits": "while (acquire cells[0] == 0) { pause; }",
    "a variable that a loop's end is made of": (
        "var int a = 0; while (a < n) { a = a + 1; } "),
    "an index into what is stored": "shared int tile[8]; int a = xs[0]; tile[a] = n; barrier; out[0] = tile[1];",
    "a value that is shuffled": "int a = xs[0]; out[0] = shuffle up(a, 1);",
    "a value that is voted on": "bool a = n < 3; int b = vote(a); out[0] = b;",
    "a condition of an effect": "bool a = n < 3; if (a) { return; } out[0] = 1;",
    "the bounds of a loop": "int low = xs[0]; int step = 3; for (i = low; i < n; i += step) { out[i] = i; }",
    "what is compared": "int a = n + 1; int b = n + 2; was = atomic cas(cells[0], a, b); out[0] = was;",
}


def function(body: str) -> loops.Function:
    module = parse(f"cuda k({PARAMETERS}) {{ {body} }}")
    check(module)
    return module.functions[0]


def text(found: loops.Function) -> str:
    module = Module((found,))
    check(module)
    return show(module)


@pytest.mark.parametrize("case", CASES)
def test_what_goes(case: str) -> None:
    before, after = CASES[case]
    assert text(cleaned_function(function(before))) == text(function(after))


@pytest.mark.parametrize("case", STAYS)
def test_what_stays(case: str) -> None:
    assert text(cleaned_function(function(STAYS[case]))) == text(function(STAYS[case]))


def test_what_calls_give_keeps_its_names() -> None:
    """A call may have effects, and gives what its function does; CUDA's text leaves out what is not read."""
    module = parse("""
      device f(int n, writable int[] xs) -> int, float { xs[0] = n; return n, 1.5; }
      cuda k(int n, writable int[] xs, writable float[] ys) { a, x = call f(n, xs); ys[0] = x; }""")
    assert cleaned_function(module.functions[1]) == module.functions[1]
    printed = cuda.cuda(module)
    assert ".r1;" in printed and ".r0;" not in printed


def test_a_pair_that_nobody_reads_is_not_loaded() -> None:
    module = parse("cuda k(writable int[] xs, writable int[] ys) { a, b = pair int xs[0]; c, d = pair int xs[1]; "
                   "ys[0] = d; }")
    kept = parse("cuda k(writable int[] xs, writable int[] ys) { c, d = pair int xs[1]; ys[0] = d; }")
    assert cleaned_function(module.functions[0]).body == kept.functions[0].body


def test_kernels_compute_nothing_in_vain() -> None:
    """What calls and pairs give apart, all that the skeletons' functions bind is read."""
    module = unread(generate(skeletons(), "cuda"))
    check(module)
    for found in module.functions:
        given = {name for s in statements(found.body) for name in
                 (s.names if isinstance(s, loops.Call | loops.LoadPair)
                  else [s.index] if isinstance(s, loops.For) else [])}
        assert set(bound_names(found.body)) <= read_names(found.body) | given, found.name
