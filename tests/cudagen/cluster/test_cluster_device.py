"""A cluster gives the CPU target's bits, and moves no more than the code of a chunk reads.

Tasks are done in this process, on chunks of a few items, three at a time; nothing stays on the driver. Memory beyond a
task's slabs is not the array's: a task that reads more than it was given would give other bits.
"""
from __future__ import annotations

import math
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import examples, many
from built import cpu_code, cpu_device, execute
from executors import Compiled, agree, interpreted, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_folds import fold_programs
from random_nests import nests
from random_programs import RandomProgram, programs, sharing_programs

from nessie.base.system.memory import MemoryBudget
from nessie.base.system.seen_files import look
from nessie.base.types import no_datatypes
from nessie.base.values import Flat, Nested, flatten_value, plain_value
from nessie.cudagen.cluster import launches
from nessie.cudagen.cluster.device import Cluster
from nessie.cudagen.cluster.engine import InProcess
from nessie.cudagen.cluster.explaining import explained
from nessie.cudagen.cluster.slabs import InFile
from nessie.cudagen.cluster.tasks.chunks import Answers, Job, Told
from nessie.cudagen.cluster.tasks.elements import Made
from nessie.cudagen.host import host
from nessie.cudagen.host.device import Outgrown
from nessie.cudagen.host.host import Trials
from nessie.cudagen.host.translate import translate
from nessie.cudagen.native.running import Run
from nessie.files.files import made, open_file

WIDTH = 8
FLOATS = [((7 * i) % 31 - 11.3) * 0.37 for i in range(300)]
ROWS = [FLOATS[i * i % 50:i * i % 50 + (i * 7) % 23] for i in range(60)]
LONG = [[1.5], FLOATS, [], [], FLOATS[:9], [2.5]]
PLACES = [(i * 37) % 300 for i in range(300)]
ODD = [math.nan if i % 31 == 5 else -0.0 if i % 7 == 1 else 0.0 if i % 7 == 2 else math.inf if i % 41 == 3
       else x if i % 3 else FLOATS[i // 9] for i, x in enumerate(FLOATS)]

# A program, its arguments, the kernels that one worker does alone, and the arrays that all workers get.
PROGRAMS: dict[str, tuple[str, tuple[Any, ...], int, int]] = {
    "dot product": ("main(xs, ys) = sum({0.5 * x * y : x in xs; y in ys})", (FLOATS, FLOATS[::-1]), 0, 0),
    "two sums": ("main(xs) = let s = sum(xs); p = sum({x in xs | x > 0.0}) in {(x / s, x / p) : x in xs}", (FLOATS,),
                 0, 0),
    "scan": ("main(xs) = plus_scan({2.0 * x : x in xs})", (FLOATS,), 0, 0),
    "filter": ("main(xs) = {x * 2.0 : x in xs | x > 0.0}", (FLOATS,), 0, 0),
    "segment sums": ("main(m) = {sum({x * 0.1 : x in row}) : row in m}", (ROWS,), 0, 0),
    "long segments": ("main(m) = {sum({x * 0.1 : x in row}) : row in m}", (LONG,), 0, 0),
    "ragged filter": ("main(m) = {{x in row | x > 0.0} : row in m}", (ROWS,), 0, 0),
    "segment scans": ("main(m) = {plus_scan({x * 0.1 : x in row}) : row in m}", (LONG,), 0, 0),
    "rows by their sums": ("main(m) = {{x / (1.0 + abs(s)) : x in row} : row in m; s in {sum(row) : row in m}}",
                           (ROWS,), 0, 0),
    "neighbours": ("main(xs) = {0.5 * x + y : x in take(xs, #xs - 1); y in drop(xs, 1)}", (FLOATS,), 0, 0),
    "gather": ("main(xs, is) = {x * 0.5 : x in xs} -> is", (FLOATS, PLACES), 0, 0),
    "gather of little": ("main(xs, is) = {x * 0.5 : x in xs} -> {rem(i, 140) : i in is}", (FLOATS[:140], PLACES), 0, 1),
    "filtered gather": ("main(xs, is) = {y : y in xs -> is | y > 0.0}", (FLOATS, PLACES), 0, 0),
    "several gathers": ("main(xs, ys, is) = {0.5 * x * y + z : x in xs -> is; y in ys -> reverse(is); z in ys -> is}",
                        (FLOATS, FLOATS[::-1], PLACES), 0, 1),
    "a chain of places": ("main(is, xs) = {xs[is[is[i]]] * 0.5 : i in is}", (PLACES, FLOATS), 0, 2),
    "places of rows": (
        "main(m, xs) = {sum({0.5 * x * y : x in row; y in xs -> {rem(7 * #row + j, 300) : j in [0:#row]}}) "
        ": row in m}", (ROWS, FLOATS), 0, 1),
    "a branch on what a branch gave": (
        "main(m, bs) = {let (y, ok) = if sum(row) > 0.0 then (0.5 * float(#row), #row > 2) else (2.0, f) in "
        "if ok then (if b then 0.0 - y else y) else 0.5 : row in m; b in bs}", (ROWS, [i % 2 == 0 for i in range(60)]),
        0, 0),
    "recursion": ("fact(n) = if n < 2 then 1 else n * fact(n - 1); "
                  "function main(xs) = fact(round(xs[7] * 9.0)) + fact(5)", (FLOATS,), 1, 0),
    "results of several types": (
        "odd(n) : int -> bool; function even(n) = if n == 0 then t else odd(n - 1); function odd(n) : int -> bool = "
        "if n == 0 then f else even(n - 1); "
        "function main(xs) = let n = round(xs[7] * 9.0) in (even(n), (if odd(n) then 1 else 2), even(5))",
        (FLOATS,), 1, 0),
    "equal keys": ("main(is) = {(k, sum(v)) : (k, v) in collect({(rem(i, 7), i) : i in is})}", (PLACES,), 0, 1),
    "sums by few keys": ("main(is, xs) = {(k, sum(v)) : (k, v) in collect({(rem(i, 5), x * 0.5) : i in is; x in xs})}",
                         (PLACES, FLOATS), 0, 1),
    "float keys": ("main(xs, is) = {(k, sum(v)) : (k, v) in collect({(0.5 * x, i + 1) : x in xs; i in is})}",
                   (ODD, PLACES), 0, 0),
    "maxima of survivors by keys": (
        "main(is, xs) = {(k, max_val(v)) : (k, v) in collect({(rem(i, 6), x) : i in is; x in xs | x > 0.0})}",
        (PLACES, FLOATS), 0, 1),
    "histogram of rows": ("main(m) = histogram(flatten({{#row : x in row | x > 0.0} : row in m}))", (ROWS,), 0, 1),
    "the last write": ("main(xs, is) = xs <- {(rem(i * 7, 40), 2.0 * x) : i in is; x in xs}", (FLOATS, PLACES), 0, 0),
    "writes of rows": ("main(m, xs) = xs <- flatten({{(#row + j, x * 0.5) : j in [0:#row]; x in row} : row in m})",
                       (ROWS, FLOATS), 0, 0),
    "no writes": ("main(xs, is) = xs <- {(i, 2.0 * x) : i in is; x in xs | i < 0}", (FLOATS, PLACES), 0, 0),
    "nothing to sort": ("main(xs) = let ys = {x in xs | x > 1.0e9} in (sort(ys), remove_duplicates(ys))", (FLOATS,),
                        0, 0),
    "permutation": ("main(xs, is) = permute({0.5 * x : x in xs}, is)", (FLOATS, PLACES), 0, 0),
    "sort": ("main(xs) : [float] -> [float] = sort(xs)", (ODD,), 0, 0),
    "descending": ("main(xs) : [float] -> [int] = rank_down(xs)", (ODD,), 0, 0),
    "ranks": ("main(xs) = rank({round(x) : x in xs})", (FLOATS,), 0, 0),
    "sort of rows": ("main(m) = {sort({x * 0.5 : x in row}) : row in m}", (ROWS,), 0, 0),
    "order of rows": ("main(m) = {rank({x * 0.5 : x in row}) : row in m}", (LONG,), 0, 0),
    "sets of rows": ("main(m) = {remove_duplicates({round(x) : x in row}) : row in m}", (LONG,), 0, 10),
    "sort by": ("main(xs, is) = {x : (k, x) in sort_any({(rem(i, 7), x * 0.5) : i in is; x in xs})}",
                (FLOATS, PLACES), 0, 2),
    "sets": ("main(is) = remove_duplicates({rem(i * i, 41) : i in is})", (PLACES,), 0, 1),
    "sparse matrix": ("main(m, v) = {sum({x * v[round(abs(x))] : x in row}) : row in m}", (ROWS, FLOATS), 0, 1),
}


def devices(program: Compiled) -> tuple[Any, Cluster]:
    fused = program.executable("ilp")
    return cpu_device(fused, 1, WIDTH), Cluster(cpu_code(fused), InProcess(3), 0, 0, WIDTH, quick=True)


def results(program: Compiled, device: Any, arguments: tuple[Any, ...]) -> Any:
    types, type_ = program.signature
    flat = [flatten_value(value, type_) for value, type_ in zip(arguments, types, strict=True)]
    return plain_value(execute(program.executable("ilp"), flat, device, host.HostLimits()), type_)


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_are_those_of_the_cpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many chunks the driver looks at at a time; tasks are the same."""
    text, arguments, alone, broad = PROGRAMS[name]
    program = Compiled(f"function {text};")
    tasks = []
    for lanes in (launches.LANES, 7):
        monkeypatch.setattr(launches, "LANES", lanes)
        cpu, cluster = devices(program)
        assert agree(results(program, cpu, arguments), results(program, cluster, arguments))
        told = cluster.told
        assert (len(told.on_one), len(told.broad)) == (alone, broad), (told.on_one, told.broad)
        assert told.here.total() == 0
        tasks.append({name: count for name, count in told.tasks.items() if name != "pick"})
    assert tasks[0] == tasks[1]


def test_many_chunks_take_little_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rows read takes hundreds of bytes a chunk while it is found, of so many chunks at a time."""
    program, rows, peaks = Compiled("function main(m) = {sum({0.5 * x : x in row}) : row in m};"), 40_000, list[int]()
    find = launches.KnownLaunch.reached_by_tasks

    def found(launch: Any, phase: Any, cuts: Any) -> Any:
        tracemalloc.start()
        try:
            return find(launch, phase, cuts)
        finally:
            peaks.append(tracemalloc.get_traced_memory()[1] // int(cuts[-1]))
            tracemalloc.stop()

    monkeypatch.setattr(launches.KnownLaunch, "reached_by_tasks", found)
    monkeypatch.setattr(launches, "LANES", 1000)
    cluster = Cluster(cpu_code(program.executable("ilp")), InProcess(12), 0, 0, WIDTH, quick=True)
    given = Flat(rows, Nested(np.arange(0, 4 * rows + 1, 4), np.ones(4 * rows)))
    found_sums = execute(program.executable("ilp"), [given], cluster, host.HostLimits())
    assert np.array_equal(found_sums.column, np.full(rows, 2.0))
    assert peaks and max(peaks) < 100, peaks


@pytest.mark.parametrize("few", [0, 100])
def test_what_goes_along_with_tasks_is_a_copy(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks are sent later, when the driver may have another array there: what cannot fail is not waited for."""
    sent, submit = list[Any](), InProcess.submit

    def submitted(engine: InProcess, name: str, function: Any, *arguments: Any, **more: Any) -> Any:
        words = arguments[0].words if isinstance(arguments[0], Job) else arguments
        sent.extend([word.values for word in words if isinstance(word, Told | Made | Answers)
                     and word.values is not None] + [word for word in words if isinstance(word, np.ndarray)])
        return submit(engine, name, function, *arguments, **more)

    monkeypatch.setattr(InProcess, "submit", submitted)
    program = Compiled("function main(m, ks) = {{0.5 * x * k : x in row} : row in m; k in ks};")
    cluster = Cluster(cpu_code(program.executable("ilp")), InProcess(3), 0, few, WIDTH, quick=True)
    results(program, cluster, (ROWS, FLOATS[:60]))
    assert len(sent) > 6 and all([array.flags.owndata for array in sent])


def test_tasks_share_the_chunks() -> None:
    """38 chunks are six tasks: three threads, each with two."""
    program = Compiled("function main(xs) = {x + 1.0 : x in xs};")
    _, cluster = devices(program)
    results(program, cluster, (FLOATS,))
    assert isinstance(cluster.workers.engine, InProcess)
    names = [name for name in cluster.workers.engine.names if name.startswith("K1_sweep") and "told" not in name]
    assert names == [f"K1_sweep-{38 * k // 6}" for k in range(6)]


@pytest.mark.parametrize("text, tasks", [
    ("{2.0 * x + 1.0 : x in xs}", 1), ("sum({2.0 * x : x in xs})", 1), ("plus_scan({2.0 * x : x in xs})", 2),
    ("{x in xs | x > 0.0}", 2), ("{2.0 / x : x in xs}", 2)])
def test_a_slab_is_few_tasks(text: str, tasks: int) -> None:
    """One in a phase: what cannot fail is not waited for, totals and results come as they are. What fails is told
    apart from what the next phase reads. Each slab of an argument in memory is one more."""
    program = Compiled(f"function main(xs) = {text};")
    given = ([x for x in FLOATS if x != 0.0],)
    for scratch, more in ((look(__file__), 0), (None, 1)):
        engine = InProcess(3, scratch=scratch)
        cluster = Cluster(cpu_code(program.executable("ilp")), engine, 0, 0, WIDTH, quick=True)
        results(program, cluster, given)
        assert cluster.told.tasks.total() == 1 + 6 * (tasks + more), cluster.told.tasks


@pytest.mark.parametrize("here, sent", [(1 << 20, False), (100, True)])
def test_small_launches_stay_on_the_driver(here: int, sent: bool) -> None:
    program = Compiled("function main(xs) = sum({x + 1.0 : x in xs});")
    cluster = Cluster(cpu_code(program.executable("ilp")), InProcess(3), here, 0, WIDTH, quick=True)
    results(program, cluster, (FLOATS,))
    assert bool(cluster.told.here) != sent
    assert bool(cluster.told.tasks["K1_sweep"]) == sent


def test_it_is_explained_how_arrays_lie() -> None:
    """Two vectors in parts, of which one overlaps by an element at each of five borders; places are asked for."""
    program = Compiled("""function main(xs, is) =
      ({0.5 * x + y : x in take(xs, #xs - 1); y in drop(xs, 1)}, {0.5 * x : x in xs} -> is);""")
    _, cluster = devices(program)
    results(program, cluster, (FLOATS, PLACES))
    *lines, end = explained(cluster.told).splitlines()
    assert sorted(line.split("  ", 1)[1].split()[1:] for line in lines) == [
        ["by", "places", "that", "tasks", "ask", "for", "4,800", "bytes"], ["in", "parts"],
        ["in", "parts", "that", "overlap", "40", "bytes"]]
    assert end == (f"{cluster.told.tasks.total()} tasks; the driver waits {cluster.told.waits} times, and gets "
                   f"{cluster.told.came:,} bytes")
    small = Cluster(cpu_code(program.executable("ilp")), InProcess(3), 1 << 20)
    results(program, small, (FLOATS, PLACES))
    assert "on the driver" in explained(small.told)


def test_arrays_of_files_are_read_in_parts_by_tasks(tmp_path: Path) -> None:
    """Each task maps the file, of which it reads its part; large results come through a file, too."""
    np.savez(tmp_path / "rows.npz", offsets=np.cumsum([0, *map(len, ROWS)]), content=np.concatenate(ROWS))
    program = Compiled("function main(m) = {{2.0 * x : x in row} : row in m};")
    (type_,), _ = program.signature
    rows = made("rows", open_file(str(tmp_path / "rows.npz"), MemoryBudget(100, mapped=True)), type_, no_datatypes)
    engine, given = InProcess(3), list[Any]()
    submit = engine.submit

    def submitted(name: str, *arguments: Any, **more: Any) -> Any:
        given.extend(more.get("given", ()))
        return submit(name, *arguments, **more)

    engine.submit = submitted  # type: ignore[method-assign]
    fused = program.executable("ilp")
    cluster = Cluster(cpu_code(fused), engine, 0, 0, WIDTH, quick=True)
    found = plain_value(execute(fused, [rows], cluster, host.HostLimits()), program.signature[1])
    assert agree(found, [[2.0 * x for x in row] for row in ROWS])
    assert {part.place.path for part in given if isinstance(part, InFile)} == {str(tmp_path / "rows.npz")}


def test_the_least_failure_is_told() -> None:
    program = Compiled("function main(xs, is) = {0.5 * xs[i] : i in is};")
    places = [*PLACES[:100], 300, *PLACES[:100], 999, -1]
    assert agree(outcome(program, "cpu ilp", (FLOATS, places)), outcome(program, "cluster ilp", (FLOATS, places)))
    found = outcome(program, "cluster ilp", (FLOATS, places))
    assert any("element 100" in label or "300" in label for _, label in found.told), found


def test_where_rows_without_elements_lie_is_not_asked() -> None:
    """The places of rows go to who reads elements."""
    program = Compiled("""function main(a, x) : ([int], [float]) -> [[[int]]] =
      {let v = [] [int] in if #v == 0 then v else v -> {mod(e, #v) : e in a} : y in x; i in [0:#x]};""")
    assert outcome(program, "cluster ilp", ([-2, 2, 5], [0.5])) == [[]]


def compare(random: RandomProgram) -> None:
    program = Compiled(random.source)
    interpreted(program, random.arguments)
    expected = outcome(program, "cpu ilp", random.arguments)
    assert agree(expected, outcome(program, "cluster ilp", random.arguments)), random


@settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))
@given(st.one_of(programs(4), sharing_programs(), nests(), fold_programs()))
def test_random_programs_on_a_cluster(random: RandomProgram) -> None:
    compare(random)


@pytest.mark.slow
@settings(max_examples=many(160), suppress_health_check=list(HealthCheck))
@given(st.one_of(programs(4), nests()))
def test_more_random_programs_on_a_cluster(random: RandomProgram) -> None:
    compare(random)


# Native code on the driver ----------------------------------------------------------------------

GROWING = """function grow(xs, n) = if n == 0 then sum(xs) else grow(xs ++ {0.5 * x : x in xs}, n - 1);
  function halves(xs) =
    if #xs < 2 then sum(xs) else let m = #xs / 2 in sum({halves(v) : v in [take(xs, m), drop(xs, m)]});
  function main(xs, n) = halves(xs) + grow(take(xs, 9), n);"""


@pytest.mark.parametrize("n, outgrown", [(1, False), (9, True)])
def test_calls_with_little_are_tried_by_native_code(n: int, outgrown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What outgrows the driver begins anew, and goes to the workers where it is large."""
    program = Compiled(GROWING)
    tried, failed = list[str](), list[str]()
    call = Run.call

    def counted(run: Run, code: Any, *arguments: Any) -> Any:
        tried.append(code.name)
        try:
            return call(run, code, *arguments)
        except Outgrown:
            failed.append(code.name)
            raise

    monkeypatch.setattr(Run, "call", counted)
    fused = program.executable("ilp")
    cluster = Cluster(cpu_code(fused), InProcess(3), 700, 0, WIDTH, quick=True)
    cluster.cpu.patience = -1
    assert agree(results(program, cpu_device(fused, 1, WIDTH), (FLOATS, n)), results(program, cluster, (FLOATS, n)))
    assert any("halves" in name for name in tried), tried
    assert bool(failed) == outgrown, failed
    assert bool(cluster.told.tasks["code"]) == outgrown


def test_calls_with_effects_are_not_tried() -> None:
    program = Compiled("""function said(n) = if n == 0 then 0 else let _ = print_line("n") in said(n - 1);
      function g(xs) = if #xs < 2 then xs else g(drop(xs, 1)) ++ xs;
      function main(n) = (said(n), g([0:n]));""")
    trials = Trials(translate(program.executable("ilp")).codes)
    assert {name for name in trials.codes if not trials.is_worth(name, [1])} >= {"main"}
    assert any(trials.is_worth(name, [1]) for name in trials.codes)
