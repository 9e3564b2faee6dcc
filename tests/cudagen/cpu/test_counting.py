"""What benchmarks/counting counts of the code of kernels, which predictions of times are made from."""
from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from paths import BENCHMARKS

import nessie
from nessie.base.system.deep import run_deep
from nessie.cudagen.host import host

sys.path.append(str(BENCHMARKS))
instructions, hooks, device = (import_module(f"counting.{name}") for name in ("instructions", "hooks", "device"))
N = 100_000

needs_c = pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="there is no C compiler")


@pytest.mark.parametrize("line, amounts", [
    ("  %x = fadd double %a, %b", {"floats": 1}),
    ("  %x = fadd <16 x double> %a, %b", {"vector": 2}),
    ("  %x = icmp samesign ult <8 x i64> %a, splat (i64 3)", {"vector": 1}),
    ("  %x = load i64, ptr %p, align 4, !tbaa !1", {"loads": 1}),
    ("  store <8 x double> %x, ptr %p, align 8", {"vector_stores": 1}),
    ("  %x = sdiv i64 %a, 32768", {"scalar": instructions.SHIFTS}),
    ("  %x = sdiv i64 %a, 10", {"scalar": instructions.MULTIPLIED}),
    ("  %x = srem i64 %a, %b", {"quotients": 1}),
    ("  %x = phi i64 [ 0, %a ], [ %y, %b ]", {}),
    ("  br i1 %c, label %a, label %b", {"conditions": 1}),
    ("  br label %a", {}),
    ("  switch i8 %c, label %a [\n    i8 32, label %b\n    i8 10, label %b\n  ]", {"conditions": 2}),
    ("  %x = tail call i64 @llvm.smin.i64(i64 %a, i64 %b)", {"scalar": 1}),
    ("  %x = tail call <8 x double> @_ZGVeN8v_exp(<8 x double> %a)", {"vector_exponentials": 1}),
    ("  %x = tail call double @sin(double %a)", {"functions": 1}),
    ("  %x = call <8 x i64> @llvm.masked.gather.v8i64.v8p0(<8 x ptr> align 4 %p, <8 x i1> %m, <8 x i64> poison)",
     {"gathered": 8}),
    ("  tail call void @llvm.experimental.noalias.scope.decl(metadata !1)", {}),
    ("  %x = call i64 @K1_apart.body(i64 %a)", {"calls": 1}),
])
def test_amounts_of_an_instruction(line: str, amounts: dict[str, int]) -> None:
    assert +instructions.amounts(instructions.parsed(line)) == Counter(amounts)


def test_what_waits_for_what_it_read_is_chained() -> None:
    lines = """entry:
  br label %walk
walk:
  %at = phi i64 [ 0, %entry ], [ %next, %walk ]
  %i = phi i64 [ 0, %entry ], [ %j, %walk ]
  %p = getelementptr i64, ptr %xs, i64 %at
  %next = load i64, ptr %p, align 8
  %q = getelementptr i64, ptr %xs, i64 %i
  %other = load i64, ptr %q, align 8
  %j = add i64 %i, 1
  %end = icmp eq i64 %other, %next
  br i1 %end, label %done, label %walk
done:
  ret void""".splitlines()
    blocks = list(hooks.blocks_of(lines))
    assert [block.label for block in blocks] == ["entry:", "walk:", "done:"]
    assert hooks.chained(blocks) == {"%next"}


@pytest.mark.parametrize("value, cycles", [("fadd double %sum, %x", 2.5), ("fadd double %x, %x", 0),
                                           ("call double @llvm.maximum.f64(double %sum, double %x)", 7)])
def test_a_round_waits_for_the_round_before(value: str, cycles: float) -> None:
    lines = f"""walk:
  %i = phi i64 [ 0, %entry ], [ %next, %walk ]
  %sum = phi double [ 0.0, %entry ], [ %more, %walk ]
  %x = sitofp i64 %i to double
  %more = {value}
  %next = add i64 %i, 1
  %end = icmp eq i64 %next, %n
  br i1 %end, label %done, label %walk""".splitlines()
    (block,) = hooks.blocks_of(lines)
    assert hooks.round_cycles(block) == max(1, cycles)      # that of the index, 1, is there always


def test_the_busiest_thread() -> None:
    assert device.largest([1.0] * 5, 2) == 3 / 5
    assert device.largest([1.0, 1.0, 8.0], 2) == 9 / 10


def counted(text: str, *arguments: Any, threads: int = 1) -> tuple[Any, Counter[str]]:
    """The result of `g`, and what its kernels do."""
    program: Any = nessie.compile(text)
    taken = program._taken("g", arguments)
    found = program._calls.at_types("g", taken.types, taken.names)
    given = found.arguments(taken.values)
    built = program._calls.for_target(found, given, "cpu").built
    counting = device.Counting(built, threads)
    counting.counting = True
    run = run_deep(lambda: host.execute(built.program, built.host, given, counting,
                                        perform=program._session.target.world.perform))
    return run, sum(counting.found.values(), Counter[str]())


@needs_c
def test_a_map_reads_and_stores_each_element_once() -> None:
    _, found = counted("function g(v) : [float] -> [float] = {x * 1.5 + 2.0 : x in v};", np.arange(float(N)))
    assert found["launches"] == found["phases"] == 1 and found["words"] == 3
    counts = [[found[k] + lanes * found[f"vector_{k}"] for k in ("loads", "stores")] for lanes in (2, 4, 8)]
    assert any(all(N <= count < 1.01 * N for count in both) for both in counts)      # processors differ in lanes
    lines = sum(found[f"stream_{cache}"] for cache in device.CACHES if cache != "l1")     # halves of a line are there
    assert lines == pytest.approx(2 * N / 8, rel=0.01)
    assert found["turns"] < 50


@needs_c
def test_threads_share_what_is_done_in_parallel() -> None:
    text, values = "function g(v) : [float] -> [float] = {x * 1.5 + 2.0 : x in v};", np.arange(8.0 * N)
    (_, one), (_, two) = (counted(text, values, threads=threads) for threads in (1, 2))
    assert two["vector"] + two["scalar"] < 0.6 * (one["vector"] + one["scalar"])
    assert (one["woken"], two["woken"]) == (0, 1)


@needs_c
@pytest.mark.parametrize("size, cache", [(1000, "l1"), (10_000_000, "far")])
def test_gathers_miss_the_caches_that_their_table_does_not_fit(size: int, cache: str) -> None:
    places = np.random.default_rng(1).integers(0, size, N)
    _, found = counted("function g(v, is) : ([float], [int]) -> float = sum(v -> is);", np.zeros(size), places)
    everywhere = sum(found[f"free_{c}"] for c in device.CACHES)
    assert everywhere > 0.8 * N and found[f"free_{cache}"] > 0.6 * everywhere


@needs_c
def test_branches_that_nobody_foresees_turn() -> None:
    text = "function g(v) : [int] -> int = sum({if x > 50 then rem(x * 7, x + 3) else 1 : x in v});"
    values = np.random.default_rng(1).integers(0, 100, N)
    turns = [counted(text, v)[1]["turns"] for v in (np.sort(values), values)]
    assert turns[0] < 0.01 * N and turns[1] > 0.3 * N


@needs_c
def test_rounds_that_are_as_many_as_before_are_foreseen() -> None:
    turns = []
    for lengths in (np.full(5000, 20), np.random.default_rng(1).integers(0, 40, 5000)):
        rows = nessie.Nested(np.append(0, np.cumsum(lengths)), np.arange(lengths.sum()))
        turns.append(counted("function g(m) : [[int]] -> [[int]] = {plus_scan(r) : r in m};", rows)[1]["turns"])
    assert turns[0] < 200 and turns[1] > 2000


@needs_c
def test_a_library_sorts() -> None:
    _, found = counted("function g(v) : [float] -> [float] = sort(v);", np.arange(1024.0))
    assert found["libraries"] == 1 and found["library"] == pytest.approx(10240, rel=0.01)
