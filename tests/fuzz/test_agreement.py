"""All executors agree: on random programs, and on those that once made them differ. Every form's text comes back."""
from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from amounts import examples, many
from executors import EXECUTORS, QUICK, WORK, Compiled, TooMuch, agree, assert_the_gpu_agrees, interpreted, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paths import EXAMPLES
from random_folds import fold_programs
from random_nests import nests
from random_programs import RandomProgram, programs, sharing_programs

from nessie import driver, forms, pipeline
from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.base.types import Type
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import layout_of
from nessie.syntax.parser import parse_type

ENTRIES = {             # an entry of each example, and its argument's type where that is open
    "banded": ("banded", "([float],[float],int)"), "bfs": ("bfs", None), "blur": ("soft", None),
    "dotp": ("dotp", "([float],[float])"), "jacobi": ("jacobi", None), "life": ("later", None),
    "mandelbrot": ("mandelbrot", None), "mxv": ("mxv", "([[float]],[float])"), "norm2": ("norm2", None),
    "pi": ("pi_by", None), "primes": ("primes", None), "quickhull": ("quickhull", None),
    "quicksort": ("quicksort", "[int]"), "range_counts": ("range_counts", None), "search_tree": ("queries", None),
    "snowflake": ("koch", None), "sparse_mxv": ("sparse_mxv", "([[(int,float)]],[float])"), "spmv": ("spmv", None),
    "string_search": ("string_search", "([char],[char])"), "trmv": ("trmv", "([float],[float])"),
    "wordcount": ("wordcount", None),
}
quick = settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))


def compare(random: RandomProgram, executors: tuple[str, ...], layouts: tuple[ir.Layout, ...] | None = None) -> None:
    program = Compiled(random.source, layouts=layouts)
    expected = interpreted(program, random.arguments)
    for executor in executors:
        found = outcome(program, executor, random.arguments)
        assert agree(expected, found), f"{executor}: {found}, not {expected}\n{random}"
        expected = found            # it knows more of a failure than the interpreter


@quick
@given(programs(4))
def test_random_programs(random: RandomProgram) -> None:
    compare(random, ("reference none", "reference ilp", "loops ilp"))


@settings(quick, max_examples=examples(25))
@given(programs(4))
def test_random_programs_on_matrices(random: RandomProgram) -> None:
    """Arguments whose rows are all of one length come without offsets."""
    arguments = tuple(map(squared, random.arguments))
    layouts = tuple(map(uniform, arguments, Compiled(random.source).signature[0]))
    compare(RandomProgram(random.source, arguments), ("reference none", "reference ilp", "loops ilp"), layouts)


def squared(value: Any) -> Any:
    """The value with rows as short as the shortest of them, at every level."""
    if not isinstance(value, list) or not value or not all(isinstance(row, list) for row in value):
        return value
    rows = [squared(row[:min(map(len, value))]) for row in value]
    inner = [row for rest in rows for row in rest if isinstance(row, list)]
    return [[row[:min(map(len, inner))] for row in rest] for rest in rows] if inner else rows


def uniform(value: Any, type_: Type) -> ir.Layout:
    layout = layout_of(type_)
    match layout:
        case ir.SeqLayout(ir.SeqLayout(ir.SeqLayout(element))):
            return ir.SeqLayout(ir.SeqLayout(ir.SeqLayout(element, "uniform"), "uniform"))
        case ir.SeqLayout(ir.SeqLayout(element)):
            return ir.SeqLayout(ir.SeqLayout(element, "uniform"))
    return layout


@settings(quick, max_examples=examples(6))
@given(programs(3))
def test_random_programs_compiled(random: RandomProgram) -> None:
    compare(random, QUICK)


@quick
@given(sharing_programs())
def test_random_programs_with_several_results(random: RandomProgram) -> None:
    compare(random, ("reference none", "reference ilp", "loops ilp"))


@quick
@given(st.integers(1, 3).flatmap(fold_programs))
def test_random_folds(random: RandomProgram) -> None:
    compare(random, ("reference none", "reference ilp", "loops ilp"))


@settings(quick, max_examples=examples(6))
@given(st.integers(1, 2).flatmap(fold_programs))
def test_random_folds_compiled(random: RandomProgram) -> None:
    compare(random, QUICK)


@settings(quick, max_examples=examples(25))
@given(nests())
def test_random_nests(random: RandomProgram) -> None:
    compare(random, ("reference none", "reference ilp", "loops ilp"))


@settings(quick, max_examples=examples(6))
@given(nests())
def test_random_nests_compiled(random: RandomProgram) -> None:
    compare(random, QUICK)
    assert_the_gpu_agrees(Compiled(random.source), random.arguments)


@pytest.mark.slow
@settings(quick, max_examples=many(200))
@given(st.integers(1, 3).flatmap(fold_programs))
def test_many_random_folds_compiled(random: RandomProgram) -> None:
    compare(random, EXECUTORS[1:])


@pytest.mark.slow
@settings(quick, max_examples=many(400))
@given(st.integers(2, 4).flatmap(sharing_programs))
def test_many_random_programs_with_several_results(random: RandomProgram) -> None:
    compare(random, tuple(executor for executor in EXECUTORS if executor.startswith(("reference", "loops"))))


@pytest.mark.slow
@settings(quick, max_examples=many(400))
@given(st.integers(4, 7).flatmap(programs))
def test_many_random_programs(random: RandomProgram) -> None:
    compare(random, tuple(executor for executor in EXECUTORS if executor.startswith(("reference", "loops"))))


@pytest.mark.slow
@settings(quick, max_examples=many(60))
@given(st.integers(4, 6).flatmap(programs))
def test_many_random_programs_compiled(random: RandomProgram) -> None:
    compare(random, EXECUTORS[1:])


@pytest.mark.parametrize("body", [
    "{{sum({k : k in [0:j * j]}) : j in [0:i ^ 4]} : i in [0:n]}", "{sum([0:n ^ i]) : i in [0:16]}",
    "{sum([0:i * n ^ 9]) / i : i in [0:3]}", "{sum(dist(i, n ^ i)) : i in [0:16]}"])
def test_the_interpreter_gives_up_at_once(body: str) -> None:
    """Also where something else has failed."""
    program = Compiled(f"function main(n) = {body};")
    program.world.most = WORK
    with pytest.raises(TooMuch):
        outcome(program, "interpreter", (10,))


# What random programs have found ----------------------------------------------------------------

HASH_STEP = -7046029254386353131            # by which _hash tells positions apart
SUFFIXES = "function suffixes(v) = if #v == 0 then [v] else [v] ++ suffixes(drop(v, 1));"
FOUND: dict[str, tuple[str, tuple[Any, ...]]] = {
    "an element that the host reads after it has checked the index": (
        """function main(m, k) : ([[int]], int) -> [[[int]]] =
          dist(m, mod(first(((let v = ([[(-3)]])[k] in if #v > 0 then v[mod(k, #v)] else 2), 3)), 4));""", ([], 4)),
    "a payload of constant size comes back from a call and leaves a conditional": (
        f"""{SUFFIXES}
        function main(a) : [int] -> [[[int]]] =
          let v = {{suffixes([3, 6]) : x in [1, 2]}} in if #v == #a then v else v -> {{0 : x in a}};""",
        ([1, 2, 3],)),
    "lengths whose sum wraps": (
        "function main(v, k) : ([int], int) -> [[int]] = partition(v, [k, k, k, k + 3]);", ([1, 2, 3], 2**62)),
    "lengths whose sum wraps, in rows": (
        "function main(m, v) : ([[int]], [int]) -> [[[int]]] = {partition(r, v) : r in m};",
        ([[1], [2, 3]], [2**62, 2**62, 2**62, 2**62 + 1])),
    "the greater and the lesser of two zeros": (
        """function main(v) : [float] -> ([[float]], ([float], [float])) =
          let p = v[0]; z = v[1] in
          ([[max(z, p), max(p, z), min(z, p), min(p, z), max_val([p, z]), max_val([z, p]), min_val([p, z])],
            {max(x, y) : x in [z, p, z, p]; y in [p, z, z, p]}, {min(x, y) : x in [z, p, z, p]; y in [p, z, z, p]}],
           (max_scan([z, p, z]), min_scan([p, z, p])));""", ([0.0, -0.0],)),
    "sums of negative zeros": (
        """function main(z) : float -> ([float], [[float]]) =
          ([sum([z]), sum([z, z]), -z, abs(z), product([z])],
           [plus_scan([z, z]), {sum(v) : v in [[z], drop([z], 1), [z, z]]}]);
        """, (-0.0,)),
    "survivors walked as one sequence beside the lengths of their rows": (
        """function kept(m) : [[int]] -> [[int]] = {{x in r | x > 1} : r in m};
        function main(m) : [[int]] -> ((([int], [int]), ([int], [(int, int)])), (([int], [int]), ([int], [[int]]))) =
          let a = kept(m); b = kept(reverse(m)); c = kept(m ++ m); d = kept([[4]] ++ m);
              e = kept(m ++ [[2]]); g = kept([[5, 0]] ++ m); h = kept(m ++ [[0, 7]]) in
          (((reverse(flatten(a)), {#r : r in a}), (remove_duplicates(flatten(b)) ++ {sum(r) : r in b},
             let s = {#r : r in c} in histogram(flatten(c)) ++ zip(s, s))),
           ((sort(flatten(d)) ++ {sum(r) : r in d}, rank(flatten(e)) ++ {#r : r in e}),
            (flatten(g) -> [0, 1] ++ {#r : r in g}, partition(flatten(h), {#r : r in h}) ++ [{sum(r) : r in h}])));
        """, ([[1, 2], [3], [], [0, 9]],)),
    "sequences with the same hash that differ": (
        f"""function twins(a, b) : (int, int) -> [[int]] =
          [[a, b], [b + {HASH_STEP}, a + {-HASH_STEP}], [a, b], [] int, [b + {HASH_STEP}, a + {-HASH_STEP}]];
        function main(v) : [[int]] -> [[int]] = {{name(twins(a, sum(r)) ++ [r]) : r in v; a in [0:#v]}};
        """, ([[1, 2], [], [-5, 1, 2]],)),
    "strings that begin alike, in rows": (
        """function main(m) : [[[char]]] -> ([[[char]]], [[int]]) =
          let long = {{w ++ x ++ w ++ w : w in r; x in reverse(r)} : r in m}
          in ({sort_any(r ++ l ++ r ++ l) : r in m; l in long}, {rank_any(flatten(long) ++ r) : r in m});
        """, ([[[*w] for w in r] for r in (["abcabcabc", "", "\U0010ffffabcab", "abcabcabd"], [], ["b", "a" * 33])],)),
    "sequences of ints that are far apart, and of floats": (
        """function main(m, w) : ([[int]], [[float]]) -> (([[int]], [[float]]), [[[int]]]) =
          ((sort_any(m ++ {r ++ [a] : r in m; a in {max_int : _ in m}}), sort_any(w ++ w)),
           {sort_any({take(r, i) : i in [0:#r + 1]}) : r in m});
        """, ([[1, 2], [], [-2**63, 2**63 - 1, 0], [2**62, -2**62, 5, 5, 5, 5, 5]],
              [[math.nan, 1.0], [0.0], [-0.0], [], [math.nan], [-1.0, math.inf]])),
    "tuples in order, some with NaN in front": (
        """function main(a, b, c) : ([int], [float], [bool]) -> ([((bool, int), float)], [(float, (int, bool))]) =
          (sort_any({((y, x), z) : x in a; y in c; z in b}), sort_any({(z, (x, y)) : x in a; y in c; z in b}));
        """, ([3, 1, 3, -2**63, 1, 2**63 - 1, 3], [math.nan, 0.0, -0.0, 2.0, math.nan, math.nan, -math.inf],
              [True, False, True, False, False, True, False])),
    "rows that are longer than what they are zipped with": (
        "function main(m, v) : ([[int]], [int]) -> [int] = {sum({x * y : x in r; y in v}) : r in m};",
        ([[1], list(range(50))], [1])),
}


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    source, arguments = FOUND[name]
    compare(RandomProgram(source, arguments), EXECUTORS[1:])


# Texts ------------------------------------------------------------------------------------------


def comes_back(source: Source, job: pipeline.Job) -> None:
    """Each form on the way to loops is what its text says."""
    passes = [p for p in (*pipeline.stages(job), pipeline.pass_named("graph")) if p.output.parse]
    for step in driver.steps(job, forms.TEXT, source, tuple(passes)):
        form = step.ran.output
        if form.parse:
            text = form.show(step.program)
            again = forms.read(form, Source("text", text))
            assert form.show(again) == text, step.ran.name
            assert again == step.program, step.ran.name


@pytest.mark.sampled(quick=3, ci=2)
@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.nesl")), ids=lambda path: path.stem)
def test_texts_of_examples(path: Path, target: str) -> None:
    entry, type_ = ENTRIES[path.stem]
    job = pipeline.Job(entry=entry, argument=type_ and parse_type(Source("type", type_)), target=target)
    run_deep(lambda: comes_back(Source(path.name, path.read_text("utf-8")), job))


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@settings(quick, max_examples=examples(15))
@given(programs(4))
def test_texts_of_random_programs(target: str, random: RandomProgram) -> None:
    run_deep(lambda: comes_back(Source("random.nesl", random.source), pipeline.Job(entry="main", target=target)))
