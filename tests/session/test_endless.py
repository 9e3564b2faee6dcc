"""Recursion without an end on the host is told in bounded time and memory; what is deep but ends has an option."""
from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable
from typing import Any

import pytest
from built import cpu_device, execute
from executors import Compiled

from nessie.activity import DEEP, Activity, depth_of
from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.host import host
from nessie.cudagen.host import limits as host_limits
from nessie.cudagen.host.launching import Launches
from nessie.cudagen.host.translate import translate
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.reference import context as reference_context
from nessie.lambda_cu.reference import reference
from nessie.lambda_cu.running import default_depths
from nessie.lambda_cu.running.calls import RunningCalls
from nessie.lambda_cu.text.parser import parse
from nessie.pipeline import Job
from nessie.running import targets
from nessie.running.targets import Limits, Target
from nessie.session.session import Session

TARGETS = ("cpu", "reference", "cudasim")
SORT = """function sorted(a) =
  if #a < 2 then a
  else let p = a[0]; r = {sorted(v) : v in [{x in a | x <= p}, {x in a | x > p}]} in r[0] ++ r[1]; """
ENDLESS = {
    "launches on the way up": "function primes(n) = if n == 2 then [] int else let s = primes(isqrt(n)) in s ++ s; "
                              "primes(100);",
    "launches on the way down": "function up(v) = if #v == 0 then v else up({x + 1 : x in v}); up([1, 2]);",
    "a sequence that does not shrink": SORT + "sorted([3, 3, 1]);",
    "each other": "function od(v) : [int] -> int; "
                  "function ev(v) : [int] -> int = if #v == 0 then 0 else od(reverse(v)); "
                  "function od(v) : [int] -> int = ev({-x : x in v}); ev([1, 2]);",
    "in a branch": "function up(v, n) = if n < 0 then sum(v) else if rem(n, 2) == 0 then up(v ++ [n], n + 2) "
                   "else up(rotate(v, 1), n + 2); up([1, 2], 1);",
    "in an apply-to-each": "function up(k) = if k == 0 then [1] else {x + 1 : x in up(k + 1)}; "
                           "{up(k) : k in [0, 1, 2]};",
    "several launches": "function go(v) = let s = sum(v); w = {x + s : x in v}; m = max_val(w) "
                        "in go({x - m : x in w}); go([1, 2]);",
    "by way of another": "function more(v) = {x + sum(v) : x in v}; function go(v) = if #v == 0 then v else "
                         "go(more(more(v))); go([1, 2]);",
    "at any type": "function go(v, x) = if #v == 0 then x else go(reverse(v), x); go([1, 2], ([1], 2.0));",
    "before it goes on": "function go(v) = if #v == 0 then 0 else go({x * 2 : x in v}) + #v; go([1, 2]);",
    "effects": "function go(n) = let _ = print_string(take(@n, 0)) in go(n + 1); go(1);",
}


def session(target: str, limits: Limits | None = None) -> Session:
    return Session(Target(target, limits=limits or Limits()), Job(target=target))


def outcomes(session: Session, text: str) -> list[Any]:
    return run_deep(lambda: list(session.run(Source("test", text))))


def activations() -> list[object]:
    """The activations that something still holds; an earlier test's errors may hold some."""
    gc.collect()
    return [o for o in gc.get_objects() if isinstance(o, host.Activation | reference.Activation)]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time that endless recursion gets is short."""
    monkeypatch.setattr(default_depths, "SECONDS", 0.02)
    monkeypatch.setattr(default_depths, "LEAST_CALLS", 20)


@pytest.mark.sampled(quick=6, ci=3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ENDLESS)
def test_endless_recursion_is_told(name: str, target: str, quick: None) -> None:
    found, before = session(target), activations()
    *_, error, after = outcomes(found, ENDLESS[name] + " sum([1, 2]);")
    assert isinstance(error, NessieError) and "recursion is deeper than" in error.message, error
    assert error.places and error.hint == "does it end? --depth sets the limit"
    assert str(after) == "it = 3 : int"
    assert len(activations()) <= len(before) + 2, "more than the last, and what it calls, which the traceback keeps"


@pytest.mark.slow
def test_endless_recursion_is_told_with_the_usual_limits() -> None:
    *_, error = outcomes(session("cpu"), ENDLESS["several launches"])
    assert isinstance(error, NessieError) and "recursion is deeper than" in error.message
    assert error.places[0][0].source.text[error.places[0][0].start:].startswith("go({x - m")


COSTS = {"cpu": Launches.costs, "cudasim": Cudasim.costs, "reference": reference_context.COSTS}


def depths(source: str, target: str = "cpu", executable: str = "ilp") -> dict[str, int]:
    program = Compiled(source, target="cuda" if target == "cudasim" else "cpu").executable(executable)
    return default_depths.default_depths(program, COSTS[target])


def test_the_more_a_level_launches_the_less_deep_it_may_be() -> None:
    def launching(count: int) -> str:
        lets = "; ".join(f"v{i} = {{x + sum(v{i - 1}) : x in v{i - 1}}}" for i in range(1, count + 1))
        return (f"function go(v0) = if #v0 == 0 then 0 else let {lets} in go(v{count}); "
                "function main(v) = go(v) + sum(v);")

    for target in TARGETS:
        found = [depths(launching(count), target)["go"] for count in (1, 4, 12)]
        assert found == sorted(found, reverse=True) and found[0] > 3 * found[2]
        assert all(default_depths.LEAST_CALLS <= depth <= default_depths.MOST_CALLS for depth in found)
        assert all(str(depth)[2:].strip("0") == "" for depth in found)


def test_putting_in_order_costs_more_on_a_gpu() -> None:
    def depth(change: str, target: str) -> int:
        return depths(f"function go(v) = if #v == 0 then 0 else go({change}); function main(v) = go(v) + sum(v);",
                      target)["go"]
    assert depth("sort(v)", "cudasim") < depth("reverse(v)", "cudasim") / 5
    assert depth("sort(v)", "cpu") > depth("sort(v)", "cudasim")


def test_what_costs_little_keeps_its_million() -> None:
    """Recursion without launches, and calls that lead nowhere back."""
    source = ("function seek(v, i) = if v[i] == 0 then v else let r = seek(v, i + 1) in if #[0:i] > 3 then r else v; "
              "function deep(n) = if n == 0 then 0 else 1 + deep(n - 1); "
              "function main(v) = (sum(seek(v, 0)), {deep(x) : x in v});")
    assert depths(source) == {}
    assert depths(source, "reference").keys() == {"deep"}
    grow = "function grow(k) = if k == 0 then [1] else {x + 1 : x in grow(k - 1)}; function main(k) = grow(k);"
    assert depths(grow)["grow"] > 100_000


def events(work: Callable[[], object]) -> int:
    """Calls that the work takes, of Python's functions and of C's."""
    found = itertools.count()
    sys.setprofile(lambda _frame, event, _argument: next(found) if event in ("call", "c_call") else None)
    try:
        work()
    finally:
        sys.setprofile(None)
    return next(found)


@pytest.mark.parametrize("shape", ["ring", "line"])
def test_the_work_grows_as_the_program_does(shape: str) -> None:
    """Of functions that call each other in a ring, or one another and themselves."""
    def spent(count: int) -> int:
        def function(i: int) -> str:
            calls = [(i + 1) % count] if shape == "ring" else [i, min(i + 1, count - 1)]
            lets = " ".join(f"let r{n} : int = call f{callee} (n)" for n, callee in enumerate(calls))
            return f"function f{i} (n : int) -> (result : int) {{ {lets} let v : [int; n] = run K (n) return (r0) }}"

        text = "\n".join(["kernel K (n : int) -> [int; n] { let v = MAP { i => i } (n) return v }",
                          *map(function, range(count)), "entry f0 : int -> int"])
        program = parse(text)
        assert len(default_depths.default_depths(program, Launches.costs)) == count
        return events(lambda: default_depths.default_depths(program, Launches.costs))

    assert spent(80) < 2.5 * spent(40)


def test_a_way_back_ends_at_the_call() -> None:
    """What is done after the call does not matter, and of branches the dearer way back does."""
    def depth(then: str) -> int:
        return depths("function go(k) = if k == 0 then [1] else let r = go(k - 1) in if k > 9 then r else "
                      f"{then}; function main(k) = go(k);", executable="none")["go"]
    after, before = depth("{x + sum([0:k]) : x in r}"), depth("go(k - sum([0:k]))")
    assert after > 2 * before


# Deep, but with an end --------------------------------------------------------------------------

GROW = "function grow(k) = if k == 0 then [1] else let r = grow(k - 1) in {x + 1 : x in r}; "


@pytest.mark.parametrize("target", TARGETS)
def test_the_option_allows_what_ends(target: str, quick: None) -> None:
    levels = 3000 if target == "cpu" else 1500
    text = f"{GROW}grow({levels}); {{grow(k) : k in [2, {levels // 3}]}};"
    assert all(isinstance(o, NessieError) for o in outcomes(session(target), text)[1:])
    found = outcomes(session(target, Limits(depth=levels + 3)), text)
    assert [str(o) for o in found[1:]] == [f"it = [{levels + 1}] : [int]", f"it = [[3], [{levels // 3 + 1}]] : [[int]]"]


WALK = ("function heavy(v, n) = if n == 0 then v else let w = {x + sum(v) : x in v}; u = {x + max_val(w) : x in w}; "
        "z = {x - sum(u) : x in u} in heavy({x + sum(z) : x in z}, n - 1); "
        "function walk(n) = if n == 0 then sum(heavy([1, 2], 3)) * 0 else walk(n - 1) + 1; ")


@pytest.fixture
def found_depths(quick: None, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The default depths of all that has run."""
    found: dict[str, int] = {}
    usual = default_depths.default_depths

    def told(program: ir.Program, costs: default_depths.Costs) -> dict[str, int]:
        here = usual(program, costs)
        found.update(here)
        return here

    monkeypatch.setattr(default_depths, "default_depths", told)
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_cheap_and_deep_calls_what_is_dear(target: str, found_depths: dict[str, int]) -> None:
    """The dear function's depth counts its own calls, not those at whose base it is called."""
    ready = session(target)
    *_, error = outcomes(ready, f"{WALK} walk(1000000);")
    dear, cheap = found_depths["heavy"], found_depths["walk"]
    assert isinstance(error, NessieError) and error.message == f"recursion is deeper than {cheap:,} calls"
    levels = cheap - 10
    assert levels > dear + 10
    found = outcomes(ready, f"walk({levels}); walk({levels}); sum(heavy([1, 2], {dear + 10}));")
    assert [str(one) for one in found[:2]] == 2 * [f"it = {levels} : int"]
    assert isinstance(found[2], NessieError) and found[2].message == f"recursion is deeper than {dear:,} calls"


@pytest.mark.parametrize("target", TARGETS)
def test_a_circle_counts_all_of_its_functions(target: str, found_depths: dict[str, int]) -> None:
    """Those that have returned count no more."""
    text = ("function od(v, n) : ([int], int) -> int; "
            "function ev(v, n) : ([int], int) -> int = if n == 0 then sum(v) else let r = od(reverse(v), n - 1) in "
            "if r > 0 then r else 1; "
            "function od(v, n) : ([int], int) -> int = if n == 0 then 0 else let r = ev({-x : x in v}, n - 1) in "
            "if r > 0 then r else 1; ")
    ready = session(target)
    *_, error = outcomes(ready, f"{text} ev([1, 2], 1000000);")
    most = min(found_depths["od"], found_depths["ev"])
    assert isinstance(error, NessieError) and error.message == f"recursion is deeper than {most:,} calls"
    fine = f"ev([1, 2], {most // 4 * 4 - 12});"
    *found, error = outcomes(ready, f"{fine} {fine} {fine} ev([1, 2], {most + 10});")
    assert [str(one) for one in found] == 3 * ["it = 3 : int"]
    assert isinstance(error, NessieError)


def test_what_runs_is_counted_by_circles(quick: None) -> None:
    program = Compiled(WALK + "function main(n) : int -> int = walk(n);").executable("ilp")
    running = RunningCalls(program, Launches.costs, None, [])
    for _ in range(25):
        assert running.beyond("walk", len(running.names)) is None
        running.begin("walk")
    assert running.counts == {running.circles["walk"]: 24 + 1}
    running.begin("heavy")
    for _ in range(26):
        running.end()
    assert running.names == [] and not any((running.counts or {}).values())


def test_python_has_the_option(quick: None) -> None:
    import nessie
    with pytest.raises(nessie.NessieError, match="hint: does it end\\? depth sets the limit"):
        nessie.compile(GROW).grow(3000)
    assert list(nessie.compile(GROW, depth=3003).grow(3000)) == [3001]


@pytest.mark.slow
def test_a_hundred_thousand_levels_need_no_option() -> None:
    *_, found = outcomes(session("cpu"), GROW + "grow(100000);")
    assert str(found) == "it = [100001] : [int]"


# Bytes ------------------------------------------------------------------------------------------

HOLDING = "function up(v) = if #v == 0 then v else let r = up({x + 1 : x in v}) in r ++ v; up([1, 2]); 3;"


@pytest.mark.parametrize("target", TARGETS)
def test_the_stack_counts_its_bytes(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a depth is given they count as memory, else they have a limit of their own."""
    _, error, after = outcomes(session(target, Limits(memory=1_000_000, depth=100_000)), HOLDING)
    assert isinstance(error, NessieError) and error.message.startswith("out of memory") and error.places
    assert str(after) == "it = 3 : int"
    for module in (host_limits, reference_context):
        monkeypatch.setattr(module, "MOST_STACK", 100_000)
    _, error, after = outcomes(session(target), HOLDING)
    assert isinstance(error, NessieError) and error.places and str(after) == "it = 3 : int"
    assert "recursion takes more than 100,000 bytes, " in error.message and "--depth" in error.hint


def test_a_device_with_memory_of_its_own_holds_no_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack of some 2 MB, beside arrays of some 50 KB."""
    program = Compiled(GROW + "function main(k) : int -> [int] = grow(k);").executable("ilp")

    def run(memory: int, host_memory: int | None) -> Any:
        limits = host.HostLimits(10_000, memory, host_memory=host_memory)
        return execute(program, [5000], cpu_device(program, threads=1), limits).column.tolist()

    assert run(10_000_000, None) == run(500_000, 10_000_000) == [5001]
    for memory, host_memory in ((500_000, None), (10_000_000, 500_000)):
        with pytest.raises(NessieError, match=r"out of memory: .* of 500,000 are in use"):
            run(memory, host_memory)
    monkeypatch.setattr(targets, "free_memory", lambda: 1000)
    for limits, name, memory in ((Limits(), "cpu", None), (Limits(), "cudasim", None), (Limits(), "cuda", 800),
                                 (Limits(memory=300), "cuda", 300)):
        target = Target("cpu", limits=limits)
        target.name = name                      # also where there is no GPU
        assert target.host_memory() == memory


def test_the_stack_of_scalars_in_the_reference_counts_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_context, "MOST_STACK", 1_000_000)
    _, error = outcomes(session("reference"), "function down(n) = 1 + down(n - 1); down(1);")
    assert isinstance(error, NessieError) and "recursion takes more than 1,000,000 bytes, " in error.message


def test_frames_are_counted_by_what_they_hold() -> None:
    shared = host.Array("int", 3, None, uses=4)
    own = host.Array("int", 3, None, uses=1)
    empty = host_limits.bytes_waiting([None] * 10)
    assert host_limits.bytes_waiting([1, None]) - empty == host_limits.SCALAR
    assert host_limits.bytes_waiting([own]) - empty == 4 * (host_limits.bytes_waiting([shared]) - empty)


def test_what_the_stack_counts_is_given_back() -> None:
    program = Compiled(GROW + "function main(k) : int -> [int] = grow(k);")
    device = cpu_device(program.executable("ilp"), threads=1)
    run = host.Host(program.executable("ilp"), translate(program.executable("ilp")), device, host.HostLimits(),
                    host.Stats(), host.effects.no_effects)
    assert run.call_entry([300]).column.tolist() == [301]
    assert run.waiting == 0 and run.stats.calls == []


# The progress line ------------------------------------------------------------------------------

def test_progress_says_how_deep_and_where() -> None:
    activity, calls = Activity(), ["main"]
    activity.begin("running", lambda: 7, lambda: depth_of(calls))
    assert str(activity) == "running, 7 launches"
    calls += ["qs^"] * 1999
    assert str(activity) == "running, 2,000 calls deep in qs, 7 launches"
    calls.clear()
    assert str(activity) == "running, 7 launches"
    assert depth_of([]) == (0, "") and DEEP > 1


@pytest.mark.parametrize("target", TARGETS)
def test_a_run_says_how_deep_it_is(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is when it prints, deep in its recursion."""
    found = session(target)
    told: list[str] = []
    text = ("function go(k, v) = if k == 0 then (let _ = print_string(\"x\") in v) else "
            "(let r = go(k - 1, v) in {x + 1 : x in r}); go(300, [1]);")
    monkeypatch.setattr(found.target.world, "write", lambda _: told.append(str(found.target.activity)))
    activity = found.target.activity
    monkeypatch.setattr(type(activity), "paused", lambda _: _nothing())
    assert str(outcomes(found, text)[-1]) == "it = [301] : [int]"
    assert any(line.startswith("running, 30") and "calls deep in go" in line for line in told), told


def _nothing() -> Any:
    from contextlib import nullcontext
    return nullcontext()
