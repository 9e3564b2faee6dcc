"""Programs in Python: names, errors, views of the compiler's work, threads, Ctrl-C."""
from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import nessie
from nessie.base.source import InternalError

PROGRAM = """
function quicksort(a) "sorts" =
  if (#a < 2) then a
  else let pivot = a[#a/2];
           result = {quicksort(v) : v in [{e in a | e < pivot}, {e in a | e > pivot}]}
       in result[0] ++ {e in a | e == pivot} ++ result[1];
function norm(xs) : [float] -> float = sqrt(sum({x * x : x in xs}));
function hello(name) = print_string("hello " ++ name);
function forever(n) = if n < 0 then n else forever(n + 1);
function fib(n) = if n < 2 then n else fib(n - 1) + fib(n - 2);
function fibs(n) = sum({fib(i) : i in [0:n]});
function apply(g, x) = g(x);
function adder(x) = apply;
function pick(xs, i) = xs[i];
function add(a, b := 1) = a + b;
function same(x) = x;
datatype point(float, float);
size = 3;
"""


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM, name="sorts.nesl")


def test_names() -> None:
    found = program()
    assert {"quicksort", "norm", "point", "size", "define"} <= set(dir(found)) and "quicksort" in found
    assert found.size == 3 and found["norm"]([3, 4]) == 5.0 and found.NORM([3, 4]) == 5.0
    assert found.quicksort.__doc__ == "quicksort : [a] -> [a] :: (a in ordinal)\n\nsorts"
    assert repr(found.norm) == "<NESL function norm : [float] -> float>" and "sorts.nesl" in repr(found)
    assert found.add(1) == 2 and found.add(1, 5) == 6
    assert not hasattr(found, "nothing")


def test_load(tmp_path: Path) -> None:
    path = tmp_path / "p.nesl"
    path.write_text("function g(x) = x + 1; g(2);")
    assert nessie.load(path).g(1) == 2 and nessie.load(str(path), target="reference").g(1) == 2
    with pytest.raises(nessie.NessieError, match="cannot read"):
        nessie.load(tmp_path / "none.nesl")


def test_definitions_are_added_and_replaced() -> None:
    found = nessie.compile("function g(x) = x + 1;")
    assert found.g(1) == 2
    assert found.define("function g(x) = x + 2; function h(x) = g(x);").g(1) == 3 and found.h(1) == 3
    with pytest.raises(nessie.NessieError, match="not defined"):
        found.define("function k(x) = nothing;")
    assert found.g(1) == 3


def test_targets() -> None:
    xs = np.array([3.0, 1.0, 2.0])
    for target in ("cpu", "reference", "cudasim"):
        assert program().quicksort(xs, target=target).tolist() == [1.0, 2.0, 3.0]


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    assert program().hello("you") is True
    assert capsys.readouterr().out == "hello you\n"


ERRORS: list[tuple[Callable[[nessie.Program], Any], str]] = [
    (lambda p: p.quicksort(3), r"error: quicksort takes \[a\] :: \(a in ordinal\), but gets int"),
    (lambda p: p.quicksort([True]), r"quicksort is not for \[bool\]: quicksort takes \[a\] :: \(a in ordinal\)"),
    (lambda p: p.norm([1], 2), r"norm takes \[float\], but gets .*\nhint: norm takes 1 argument, here are 2"),
    (lambda p: p.pick([1]), r"pick takes \[a\], int .*hint: pick takes 2 arguments, here is 1"),
    (lambda p: p.norm(), r"norm takes \[float\], here is no argument\n --> sorts.nesl:7:1"),
    (lambda p: p.norm(["a"]), r"norm takes \[float\], but gets \[\[char\]\]"),
    (lambda p: p.norm([[]]), r"norm takes \[float\], but gets \[\[int\]\]"),
    (lambda p: p.quicksort([]), r"argument 1 of quicksort is empty.*numpy.array"),
    (lambda p: p.apply(1, 2), r"apply takes .*: a function cannot come from outside"),
    (lambda p: p.adder(2), "a function cannot leave the program"),
    (lambda p: p.pick([1, 2], 5), r"out of bounds.*sorts.nesl:1\d:"),
    (lambda p: p.quicksort([1, "a"]), "elements of a list differ: there are int and str"),
    (lambda p: p.quicksort([1, [2]]), "elements of a list differ: there are int and list"),
    (lambda p: p.same([(1, 2), (1, 2, 3)]), "one length, not 2 and 3"),
    (lambda p: p.same(()), "a tuple of 0 components"),
    (lambda p: p.same(object()), "a object is no value of NESL"),
    (lambda p: p.same([object()]), "a object is no value of NESL"),
    (lambda p: p.same(b"abc"), "a bytes is no value"),
    (lambda p: p.same(2**63), "beyond 64 bits"),
    (lambda p: p.same([2**63]), "beyond 64 bits"),
    (lambda p: p.same(np.array([2**63], np.uint64)), "beyond 64 bits"),
    (lambda p: p.same(np.array([1j])), "complex128 is no value"),
    (lambda p: p.same(np.array(["2020"], "M8[Y]")), "is no value"),
    (lambda p: p.same(p.point("a", "b")), r"point takes float, float, but gets \[char\], \[char\]"),
    (lambda p: p.same(ak.Array([1, None])), "missing values"),
    (lambda p: p.same(ak.Array([1, [2]])), "differ in type"),
    (lambda p: p.qicksort([1]), "defines no qicksort\nhint: did you mean quicksort?"),
    (lambda p: p.sum([1]), "sum is of the library"),
    (lambda p: p.norm([1], target="tpu"), "there is no target tpu"),
    (lambda p: p.quicksort.kernels(), "has kernels at given types only"),
    (lambda p: nessie.Tuples([1], [1, 2]), "of one length, not of 1 and 2"),
    (lambda p: nessie.Tuples([1]), "two components at least"),
    (lambda p: nessie.compile("function g(x) = ;"), "syntax error"),
    (lambda p: nessie.compile("function g(x) = x;", target="tpu"), "there is no target tpu"),
    (lambda p: nessie.compile("function g(n) = g(n + 1) + 1;", depth=100).g(1), "deeper than 100"),
    (lambda p: nessie.compile("function g(n) = [0:n];", memory=10_000).g(10**6), "out of memory"),
    (lambda p: nessie.compile(PROGRAM, seconds=0.2).forever(1), "longer than 0.2 s"),
]


@pytest.mark.parametrize(("work", "said"), ERRORS, ids=[said[:40] for _, said in ERRORS])
def test_errors(work: Callable[[nessie.Program], Any], said: str) -> None:
    with pytest.raises(nessie.NessieError) as caught:
        work(program())
    assert re.search(said, str(caught.value), re.DOTALL), str(caught.value)
    assert str(caught.value).startswith("error: ") and caught.value.message in str(caught.value)


def test_an_error_has_a_place() -> None:
    with pytest.raises(nessie.NessieError) as caught:
        program().pick([1], 4)
    assert caught.value.span is not None and caught.value.span.source.name == "sorts.nesl"
    with pytest.raises(nessie.NessieError) as caught:
        program().norm("a")
    assert caught.value.span is None


def test_a_mistake_of_nessie_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise InternalError("a pass is broken")
    monkeypatch.setattr("nessie.api.calls.Calls.at_types", broken)
    with pytest.raises(nessie.NessieError, match="a pass is broken") as caught:
        program().norm([1])
    assert "This is a mistake in Nessie" in str(caught.value)


def test_errors_do_not_show_where_in_nessie_they_were_raised() -> None:
    with pytest.raises(nessie.NessieError) as caught:
        program().pick([1], 4)
    files = [entry.path.name for entry in caught.traceback if "nessie" in entry.path.parts[-3:]]
    assert len(files) <= 2


# What the compiler makes ------------------------------------------------------------------------


def test_explanations() -> None:
    found = program().norm.explain(np.float32([1, 2, 3])[::2])
    assert "norm" in str(found) and "converted:\n  argument 1: an array of 2 elements of float32" in str(found)
    assert found.data["function"] == "norm" and found._repr_html_().startswith("<pre>")
    assert not program().norm.explain(np.arange(3.0)).conversions
    assert "norm" in repr(program().norm.explain())
    assert "pick" in repr(program().pick.explain(type="([int], int)", target="cuda"))
    strided = program().norm.explain(np.arange(6.0)[::2])
    assert strided.conversions == ("argument 1: an array of 3 elements not contiguous, copied",)


def test_graphs_kernels_and_stages() -> None:
    graph = program().norm.graph()
    assert graph._repr_svg_().startswith("<svg") and repr(graph).startswith("digraph") and json.loads(graph.json)
    kernels = program().norm.kernels([1.0])
    assert len(kernels) == 1 and "REDUCE" in repr(kernels) and kernels.names[0] in kernels._repr_html_()
    stages = program().quicksort.stages(type="[int]")
    assert list(stages) == ["mono", "flat", "schedule", "fused", "loops", "llvm"]
    assert "quicksort" in repr(stages) and "<iframe" in stages._repr_html_()
    assert "__global__" in program().norm.stages(target="cuda")["cuda"]


def test_stages_are_saved_as_a_page(tmp_path: Path) -> None:
    program().norm.stages().save(str(tmp_path / "norm.html"))
    assert "<html" in (tmp_path / "norm.html").read_text("utf-8")


# Threads and interruptions ----------------------------------------------------------------------


def test_eight_threads_call_at_once() -> None:
    found = nessie.compile(PROGRAM)
    generator = np.random.default_rng(1)
    arrays = [generator.random(size) for size in generator.integers(0, 20_000, 64)]

    def work(number: int) -> bool:
        array = arrays[number]
        kinds = [array, (array * 100).astype(np.int64)]
        return all(np.array_equal(found.quicksort(kind), np.sort(kind)) if number % 2 else
                   np.isclose(found.norm(kind), np.linalg.norm(kind)) for kind in kinds)
    barrier = threading.Barrier(8)
    with ThreadPoolExecutor(8, initializer=barrier.wait) as pool:
        assert all(pool.map(work, range(len(arrays))))


def test_effects_of_threads_go_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda n: program().hello("x" * 50), range(16)))
    assert capsys.readouterr().out.splitlines() == ["hello " + "x" * 50] * 16


@pytest.mark.parametrize(("function", "argument"), [("forever", 1), ("fibs", 60)])
def test_ctrl_c_ends_a_call(function: str, argument: int) -> None:
    found = nessie.compile(PROGRAM)
    assert found.fibs(10) == 88
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        found[function](argument)
    assert time.monotonic() - began < 20
    assert found.fibs(10) == 88
    assert found.quicksort([3, 1, 2]).tolist() == [1, 2, 3]
