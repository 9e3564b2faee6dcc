"""Programs in Python: names, errors, views of the compiler's work, threads, Ctrl-C."""
from __future__ import annotations

import inspect
import io
import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.api.calls import COMPILING, Calls
from nessie.cudagen.cuda.cudasim.compiler import found

CUDASIM = pytest.param("cudasim", marks=pytest.mark.skipif(not found(), reason="needs a C++ compiler"))
PROGRAM = """
function quicksort(a) "sorts" =
  if (#a < 2) then a
  else let pivot = a[#a/2];
           result = {quicksort(v) : v in [{e in a | e < pivot}, {e in a | e > pivot}]}
       in result[0] ++ {e in a | e == pivot} ++ result[1];
function norm(xs) : [float] -> float = sqrt(sum({x * x : x in xs}));
function hello(name) = print_string("hello " ++ name);
function hello2(name) = print_string("2 " ++ name);
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


def test_parameters_with_defaults_are_given_by_name() -> None:
    scaled = nessie.compile("function scaled(v, by := 10, plus := 0) = {x * by + plus : x in v};").scaled
    assert scaled([1, 2], plus=5).tolist() == [15, 25] and scaled([1, 2], PLUS=6).tolist() == [16, 26]
    assert scaled([1, 2], plus=1, by=2).tolist() == scaled([1, 2], 2, plus=1).tolist() == [3, 5]
    assert len(scaled.kernels([1, 2], 3, 4)) == len(scaled.kernels(([1, 2], 3, 4))) == 1
    assert scaled([1, 2], by=3).tolist() == [3, 6] and scaled([1, 2], 3, 4).tolist() == [7, 10]
    assert scaled([1.5], 1.0, plus=2).tolist() == [3.5]           # an int where a float is due
    assert scaled([1.5, 2.0]).tolist() == [15.0, 20.0]            # so are defaults
    assert scaled([1.5], 2).tolist() == scaled([1.5], by=2).tolist() == [3.0]


def test_names() -> None:
    found = program()
    assert {"quicksort", "norm", "point", "size", "define"} <= set(dir(found)) and "quicksort" in found
    assert found.size == 3 and found["norm"]([3, 4]) == 5.0 and found.NORM([3, 4]) == 5.0
    assert found.quicksort.__doc__ == "quicksort : [a] -> [a] :: (a in ordinal)\n\nsorts"
    assert found.norm.__doc__ == "norm : [float] -> float"
    assert (inspect.getdoc(nessie.Function) or "").startswith("Compiled when it is called")
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


def test_a_text_that_is_wrong_defines_nothing() -> None:
    text = "function g(xs) = {x - 1 : x in xs}; size = 5; function k(x) = nothing;"
    for called in (True, False):            # before
        found = nessie.compile("function g(xs) = {x + 1 : x in xs}; size = 3;")
        assert not called or found.g([1]).tolist() == [2]
        with pytest.raises(nessie.NessieError, match="not defined"):
            found.define(text)
        assert found.g([1]).tolist() == [2] and found.size == 3 and list(found) == ["g", "size"]


def test_quit_and_exit_end_a_text() -> None:
    for word in ("quit", "exit"):
        found = nessie.compile(f"function g(x) = x; {word}; function h(x) = x;")
        assert list(found) == ["g"] and found.define("function h(x) = x;").h(1) == 1


@pytest.mark.parametrize("target", ["cpu", "reference", CUDASIM])
def test_targets(target: str) -> None:
    assert program().quicksort(np.array([3.0, 1.0, 2.0]), target=target).tolist() == [1.0, 2.0, 3.0]


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    assert program().hello("you") is True
    assert capsys.readouterr().out == "hello you\n"


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_who_takes_what_is_printed_may_call(target: str) -> None:
    class Output(io.StringIO):
        def write(self, text: str) -> int:
            if text.startswith("hello"):
                program().hello2(text.removeprefix("hello "), target=target)
            return super().write(text)
    with redirect_stdout(Output()) as output:
        assert program().hello("you", target=target)
    assert output.getvalue() == "2 you\nhello you\n"


# What the compiler makes ------------------------------------------------------------------------


def test_explanations() -> None:
    found = program().norm.explain(np.float16([1, 2, 3])[::2])
    assert "norm" in str(found) and "converted:\n  argument 1: an array of 2 elements of float16" in str(found)
    assert found.data["function"] == "norm" and found._repr_html_().startswith("<pre>")
    assert not program().norm.explain(np.arange(3.0)).conversions
    assert "norm" in repr(program().norm.explain())
    assert "pick" in repr(program().pick.explain(type="([int], int)", target="cuda"))
    for target in ("reference", "cudasim"):         # where nothing is measured is compiled all the same
        assert "norm" in repr(program().norm.explain([1.0, 3.0], target=target))
    strided = program().norm.explain(np.arange(6.0)[::2])
    assert strided.conversions == ("argument 1: an array of 3 elements not contiguous, copied",)


def test_an_explanation_has_no_effects(capsys: pytest.CaptureFixture[str]) -> None:
    found = program().hello.explain("you")
    assert capsys.readouterr().out == "" and "measured" not in found.data["schedules"]["ilp"]
    assert "measured" in program().norm.explain([1.0]).data["schedules"]["ilp"]


def test_graphs_kernels_and_stages() -> None:
    graph = program().norm.graph()
    assert graph._repr_svg_().startswith("<svg") and repr(graph).startswith("digraph") and json.loads(graph.json)
    kernels = program().norm.kernels([1.0])
    assert len(kernels) == 1 and "REDUCE" in repr(kernels) and kernels.names[0] in kernels._repr_html_()
    stages = program().quicksort.stages(type="[int]")
    assert list(stages) == ["mono", "flat", "schedule", "fused", "host", "loops", "llvm", "cpu-code"]
    assert "quicksort" in repr(stages) and "<iframe" in stages._repr_html_()
    assert "__global__" in program().norm.stages(target="cuda")["cuda"]


def test_stages_are_saved_as_a_page(tmp_path: Path) -> None:
    program().norm.stages().save(str(tmp_path / "norm.html"))
    page = (tmp_path / "norm.html").read_text("utf-8")
    assert "<html" in page and "one copy of each function for each use" in page


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


def test_threads_compile_a_function_once_and_get_its_own_result(monkeypatch: pytest.MonkeyPatch) -> None:
    found = nessie.compile("".join(f"function f{k}(x) = x + {k};" for k in range(40)), target="reference")
    compiled: list[object] = []
    make = Calls.made_compiled

    def counted(self: Any, *arguments: Any) -> Any:
        compiled.append(arguments)
        return make(self, *arguments)
    monkeypatch.setattr(Calls, "made_compiled", counted)
    barrier = threading.Barrier(4)

    def call(number: int) -> list[int]:
        results = []
        for k in range(40):
            barrier.wait()
            results.append(found[f"f{k}"](1000))
        return results
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(call, range(4)))
    finally:
        sys.setswitchinterval(usual)
    assert results == [[1000 + k for k in range(40)]] * 4 and len(compiled) == 40


def test_definitions_replaced_while_threads_call() -> None:
    found = nessie.compile("function g(x) = x + 1; function h(x) = x * 10;", target="reference")
    ended = threading.Event()

    def call(number: int) -> set[tuple[int, int]]:
        results = set()
        while not ended.is_set():
            results.add((found.g(1), found.h(1)))
        return results
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(call, number) for number in range(4)]
        for k in range(20):
            found.define(f"function g(x) = x + {k % 2 + 1};")
        ended.set()
        results = set().union(*(call.result() for call in calls))
    assert results <= {(2, 10), (3, 10)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_calls() -> None:
    """Also one that was forked off while threads were compiling, and printing."""
    xs = np.random.default_rng(1).random(2_000_000)
    expected = program().norm(xs)
    compiling, forked = threading.Event(), threading.Event()

    def compile_slowly() -> None:
        with program()._calls.performing:
            with COMPILING:
                compiling.set()
                forked.wait(0.2)
            forked.wait()
    thread = threading.Thread(target=compile_slowly)
    thread.start()
    compiling.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        sys.stdout = io.StringIO()
        right = program().norm(xs) == expected and program().quicksort([2, 1]).tolist() == [1, 2]
        os._exit(0 if right and program().hello("") else 1)
    forked.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0 and program().norm(xs) == expected


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
