"""Functions of scalars that recur: per element on the CPU, in the reference and in the loops interpreter; limits."""
from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from amounts import examples
from built import cpu_device, execute
from executors import EXECUTORS, Compiled, Failed, agree, interpreted, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recursion_cases import CASES, FUNCTIONS, compiled

from nessie.base.source import NessieError
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep
from nessie.base.values import flatten_value, plain_value
from nessie.cudagen.cpu import device as cpu
from nessie.cudagen.cpu.interpreted import Interpreted
from nessie.cudagen.cpu.threads import pool
from nessie.cudagen.host import host
from nessie.driver import compile_program
from nessie.forms import TYPED
from nessie.lambda_cu.reference import reference
from nessie.pipeline import Job, pass_named


@pytest.mark.parametrize("name", CASES)
def test_executors_agree(name: str) -> None:
    body, parameter, result, arguments = CASES[name]
    program = compiled(body, parameter, result)
    expected = outcome(program, "interpreter", arguments)
    assert isinstance(expected, Failed) == ("failure" in name and "no failure" not in name)
    for executor in EXECUTORS[1:]:
        found = outcome(program, executor, arguments)
        assert agree(expected, found), f"{executor}: {found}, not {expected}"
        expected = found


# Random functions -------------------------------------------------------------------------------

@st.composite
def expressions(draw: Callable[[st.SearchStrategy[Any]], Any], depth: int = 3) -> str:
    """An int of n and x; what it calls gets less than n, and never fails for it being small."""
    if depth == 0:
        return draw(st.sampled_from(("n", "x", "1", "3", "-2")))

    def sub() -> str:
        return draw(expressions(depth - 1))

    return draw(st.sampled_from((
        lambda: f"({sub()} {draw(st.sampled_from('+-*'))} {sub()})",
        lambda: f"({sub()} / {sub()})",
        lambda: f"{draw(st.sampled_from('pgh'))}(n - {draw(st.sampled_from((1, 2)))}, {sub()})",
        lambda: f"{draw(st.sampled_from('pgh'))}(n - 1, {sub()})",
        lambda: f"(if {sub()} < {sub()} then {sub()} else {sub()})",
        lambda: f"(let n{depth} = {sub()} in n{depth} * n{depth} - {sub()})",
        lambda: f"(let (a{depth}, b{depth}) = two(n - 1, {sub()}) in a{depth} - b{depth})",
        lambda: f"(if (if {sub()} == 0 then error(\"{draw(st.sampled_from('abc'))}\") else t) then {sub()} else n)",
    )))()


@st.composite
def functions(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    ends = [f"if n < 1 then rem(x, 5) else {draw(expressions())}" for _ in range(3)]
    return f"""
function p(n, x) : (int, int) -> int;
function g(n, x) : (int, int) -> int;
function two(n, x) = if n < 1 then (x, 2) else let y = p(n - 1, x); (a, b) = two(n - 2, y - x) in (b + 1, a);
function h(n, x) = if n < 1 then x else if rem(n, 2) == 0 then h(n - 1, x - n) else g(n - 1, x);
function p(n, x) : (int, int) -> int = {ends[0]};
function g(n, x) : (int, int) -> int = {ends[1]};
"""


quick = settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))


@quick
@given(functions(), st.integers(-1, 4), st.integers(-3, 3))
def test_random_functions_on_the_host(source: str, n: int, x: int) -> None:
    """Of one element the first failure is told, as the interpreter tells it."""
    program = Compiled(f"{source}function main(n, x) : (int, int) -> int = p(n, x);")
    expected = interpreted(program, (n, x))
    for executor in ("reference ilp", "loops ilp"):
        found = outcome(program, executor, (n, x))
        assert agree(expected, found), f"{executor}: {found}, not {expected}"


@settings(quick, max_examples=examples(8))
@given(functions(), st.lists(st.integers(-1, 4), max_size=8))
def test_random_functions_in_each(source: str, v: list[int]) -> None:
    """Which of several failures is told depends on what is one kernel, and on nothing else."""
    program = Compiled(f"{source}function main(v) : [int] -> [int] = {{p(n, x) : n in v; x in [0:#v] | g(2, x) /= n}};")
    interpreted(program, (v,))
    for fuse, executors in (("none", ("loops", "cpu")), ("ilp", ("loops", "cpu3"))):
        expected = outcome(program, f"reference {fuse}", (v,))
        for executor in executors:
            found = outcome(program, f"{executor} {fuse}", (v,))
            assert agree(expected, found), f"{executor} {fuse}: {found}, not {expected}"


# Depth ------------------------------------------------------------------------------------------

def on_cpu(program: Compiled, value: Any, limits: host.HostLimits | None = None, device: Any = None) -> Any:
    types, type_ = program.signature
    device = device or cpu_device(program.executable("ilp"), threads=2)
    arguments = [flatten_value(value, types[0])]
    return plain_value(run_deep(lambda: execute(program.executable("ilp"), arguments, device, limits)), type_)


def on_reference(program: Compiled, value: Any, limits: reference.EvaluationLimits | None = None) -> Any:
    types, type_ = program.signature
    arguments = [flatten_value(value, types[0])]
    return plain_value(run_deep(lambda: reference.execute(program.executable("ilp"), arguments, limits)), type_)


def test_a_million_levels_on_the_cpu() -> None:
    assert on_cpu(compiled("down(k)"), 999_999) == 999_999
    assert on_cpu(compiled("{down(k) : k in v}", "v : [int]", "[int]"), [999_999, 5, 999_998]) == [999_999, 5, 999_998]
    assert on_cpu(compiled("if even(k) then 1 else 0"), 999_998) == 1


@pytest.mark.nightly
def test_a_hundred_thousand_levels_in_the_reference() -> None:
    assert on_reference(compiled("down(k)"), 100_000) == 100_000
    assert on_reference(compiled("{down(k) : k in v}", "v : [int]", "[int]"), [100_000, 5]) == [100_000, 5]


def test_levels_in_the_reference() -> None:
    assert on_reference(compiled("{down(k) : k in v}", "v : [int]", "[int]"), [9_000, 5]) == [9_000, 5]


@pytest.mark.parametrize("body", ["down(k)", "sum({down(k - i) : i in [0 : 0 - k]})"])
def test_the_depth_is_limited(body: str) -> None:
    program = compiled(body)
    text = r"recursion is deeper than 300 calls\n.*:3:46\n(.*\n)*hint: does it end\? --depth sets the limit"
    for run in (lambda n: on_cpu(program, n, host.HostLimits(depth=300)),
                lambda n: on_cpu(program, n, host.HostLimits(depth=300), Interpreted(program.executable("ilp"))),
                lambda n: on_reference(program, n, reference.EvaluationLimits(depth=300))):
        assert run(0) == 0
        with pytest.raises(NessieError, match=text):
            run(-5)
    assert on_cpu(compiled("down(k)"), 299, host.HostLimits(depth=300)) == 299
    assert on_reference(compiled("down(k)"), 299, reference.EvaluationLimits(depth=300)) == 299
    with pytest.raises(NessieError, match="deeper than 300 calls"):
        on_cpu(compiled("down(k)"), 300, host.HostLimits(depth=300))
    with pytest.raises(NessieError, match="deeper than 300 calls"):
        on_reference(compiled("down(k)"), 300, reference.EvaluationLimits(depth=300))


def test_too_deep_is_less_than_any_failure() -> None:
    """One element fails and one goes too deep: whichever ends first, the failure is told."""
    program = compiled("{if k < 0 then down(k) else least(k) : k in v}", "v : [int]", "[int]")
    for v in ([-1, 3], [3, -1], [3, *[1 - k for k in range(2, 100)], 3]):
        for width in (1, 64):
            with pytest.raises(NessieError, match="Divide by zero"):
                device = cpu_device(program.executable("ilp"), threads=2, width=width)
                on_cpu(program, v, host.HostLimits(depth=300), device)
        with pytest.raises(NessieError, match="Divide by zero"):
            on_reference(program, v, reference.EvaluationLimits(depth=300))


def test_recursion_that_branches_without_end_is_too_deep_at_once() -> None:
    for run in (lambda: on_cpu(compiled("forever(k)"), 1, host.HostLimits(depth=2000)),
                lambda: on_reference(compiled("forever(k)"), 1, reference.EvaluationLimits(depth=2000))):
        with pytest.raises(NessieError, match="recursion is deeper than 2,000 calls"):
            run()


def test_the_stack_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "LEAST_STACK", 16 << 20)
    monkeypatch.setattr(cpu, "STACK_A_CALL", 8)
    program = compiled("{down(k) : k in v}", "v : [int]", "[int]")
    assert on_cpu(program, [5000, 1]) == [5000, 1]
    with pytest.raises(NessieError, match=r"deeper than the stack allows\n.*:3:46\n(.*\n)*hint: .*--depth"):
        on_cpu(program, [5000, 900_000])


def test_memory_limits_stacks() -> None:
    device = cpu_device(compiled("down(k)").executable("ilp"), threads=2)
    device.begin(300 << 20)
    assert device.stack == 150 << 20
    device.begin(1 << 20)
    assert device.stack == cpu.LEAST_STACK


def test_memory_limits_the_depth_in_the_reference() -> None:
    with pytest.raises(NessieError, match="out of memory"):
        on_reference(compiled("down(k)"), 5000, reference.EvaluationLimits(memory=10_000_000))
    assert on_reference(compiled("down(k)"), 2000, reference.EvaluationLimits(memory=10_000_000)) == 2000


def test_threads_have_less_stack_where_there_is_no_address_space(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    start = pool.start_thread

    def refuse(body: Callable[[], None], name: str, stack: int) -> threading.Thread:
        asked.append(stack)
        if stack > limit:
            raise RuntimeError("can't start new thread")
        return start(body, name, stack)

    monkeypatch.setattr(pool, "start_thread", refuse)
    limit = 100 << 20
    assert on_cpu(compiled("down(k)"), 1000, host.HostLimits(memory=1 << 30)) == 1000
    assert asked == [512 << 20, 256 << 20, 128 << 20, 64 << 20]
    limit = 0
    with pytest.raises(NessieError, match="no thread can be started with a stack of 30 MiB"):
        on_cpu(compiled("down(k)"), 1000)


def test_threads_end_with_the_device() -> None:
    device = cpu_device(compiled("down(k)").executable("ilp"), threads=2)
    before = set(threading.enumerate())
    on_cpu(compiled("down(k)"), 10, device=device)
    workers = set(threading.enumerate()) - before
    assert [w.name for w in workers] == ["nessie-worker"]
    del device
    gc.collect()
    for worker in workers:
        worker.join(10)
        assert not worker.is_alive()


# Interruption -----------------------------------------------------------------------------------

@pytest.mark.parametrize("body", ["fib(k)", "sum({fib(k + i) : i in [0:100]})"])
def test_recursion_hears_an_interrupt(body: str) -> None:
    program = compiled(body)
    device = cpu_device(program.executable("ilp"), threads=2)
    timer = threading.Timer(0.2, device.interrupt)
    timer.start()
    started = time.monotonic()
    with pytest.raises(NessieError, match="Interrupted"):
        on_cpu(program, 80, device=device)
    assert time.monotonic() - started < 30
    assert on_cpu(program, -100, device=device) < 0


@pytest.mark.parametrize("body", ["fib(k)", "sum({fib(k + i) : i in [0:100]})"])
def test_recursion_hears_the_clock(body: str) -> None:
    with pytest.raises(NessieError, match=r"it took longer than 0\.1 s"):
        run_deep(lambda: on_cpu(compiled(body), 80), Deadline(0.1, ""))
    with pytest.raises(NessieError, match=r"it took longer than 0\.1 s"):
        run_deep(lambda: on_reference(compiled(body), 80), Deadline(0.1, ""))


# The target -------------------------------------------------------------------------------------

def test_one_kernel_calls_and_the_host_does_not() -> None:
    program = compiled("sum({fib(k + i) : i in [0:100]})").executable("ilp")
    assert len(program.kernels) == 1
    assert [f.name for f in program.functions] == ["main"]
    assert [f.name for f in program.scalar_functions] == ["fib"]


def test_threads_of_cuda_do_not_recur() -> None:
    program = compiled("sum({fib(k + i) + ack(1, i) + digits(i) : i in [0:100]})")
    found = compile_program(Job(target="cuda", entry="main"), TYPED, program.program, pass_named("fuse"))
    assert found.scalar_functions == ()
    assert sorted(f.name for f in found.functions) == ["ack^", "digits^", "fib^", "main"]


def test_an_entry_that_recurs_is_a_scalar_function_too() -> None:
    program = Compiled(FUNCTIONS, "fib")
    assert [f.name for f in program.flat.scalar_functions] == ["fib"]
    values = [outcome(program, executor, (12,)) for executor in EXECUTORS]
    assert values == [144] * len(values)


def test_any_number_of_threads_gives_the_same_failure() -> None:
    program = compiled("sum({fib(i) + least(k - i) : i in [0:20]})")
    for threads in (1, 2, 5):
        for _ in range(3):
            device = cpu_device(program.executable("ilp"), threads, width=1)
            with pytest.raises(NessieError, match="Divide by zero"):
                on_cpu(program, 10, device=device)
            assert device.failure() >> 40 < len(program.executable("ilp").sites)
