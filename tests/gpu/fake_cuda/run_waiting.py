"""Kernels that do not end by themselves: they wait for the interrupt word, which another thread of Python's has to set
while the one that launched takes memory, or launches more. test_cuda.py runs these tests as run_pycuda.py says."""
from __future__ import annotations

import ctypes
import gc
import os
import signal
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import execute, gpu_device

import nessie
from nessie.base.source import NessieError
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep
from nessie.base.values import ANY_STREAM
from nessie.cudagen.cuda.nvidia import detection, driver
from nessie.cudagen.cuda.nvidia.driver import Nvidia
from nessie.lambda_cu.text.parser import parse
from nessie.tool.cli import main

PATIENCE = 60                   # seconds
SPIN = "function spin(x) : int -> int = if x == 0 then 0 else spin(x + 2); "
ENDLESS = {
    "data": SPIN + "({spin(x) : x in [1:40:2]}, [1, 2, 3]);",
    "survivors": SPIN + "{x in {spin(x) : x in [1:40:2]} | x > 0};",
    "rows": SPIN + "{sum({spin(x) : x in [1:2 * n:2]}) : n in [1:9]};",
}
KEYS = """
scalar spin (x : int) -> int { let b = x == 0 in if b then 0 else spin(x + 2) }

kernel K1 (n : int) -> [int; n] {
  let os = ORDER { i => spin(2 * i + 1) } (n)
  return os
}

function main (n : int) -> (result_size : int, result : [int; result_size]) {
  let os : [int; n] = run K1 (n)
  return (n, os)
}

entry main : int -> [int]
"""


def ended(work: Callable[[], int | None], stopped: bool = False) -> tuple[int, str]:
    """The status of a process that does this, and what it says. It dies of its alarm where its threads no longer run.
    `stopped`: it gets a Ctrl-C once it has launched a kernel."""
    out, into = os.pipe()
    process = os.fork()
    if not process:
        status = 2
        try:
            sys.stderr = os.fdopen(into, "w", encoding="utf-8")
            signal.alarm(PATIENCE)
            if stopped:
                tell_of_launches()
            status = work() or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(into)
    with os.fdopen(out, encoding="utf-8") as said:
        if stopped and said.readline():
            os.kill(process, signal.SIGINT)
        text = said.read()
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), text


def tell_of_launches() -> None:
    """On standard error."""
    launch = Nvidia.launch

    def told(*arguments: Any) -> None:
        launch(*arguments)
        print("launched", file=sys.stderr, flush=True)

    Nvidia.launch = told                        # type: ignore[method-assign]


@pytest.mark.parametrize("name", ENDLESS)
def test_time_is_up(name: str) -> None:
    status, said = ended(lambda: main(["eval", ENDLESS[name], "--target", "cuda", "--time-limit", "1"]))
    assert status == 1 and "it took longer than 1 s" in said


@pytest.mark.parametrize("name", ENDLESS)
def test_ctrl_c(name: str) -> None:
    status, said = ended(lambda: main(["eval", ENDLESS[name], "--target", "cuda"]), stopped=True)
    assert status == 130 and "Interrupted." in said


WAITING = """
extern "C" __global__ void waits(const volatile long long *word) { while (*word == 0) {} }
extern "C" __global__ void nothing(long long number) {}
"""
MANY = 1500                     # launches: more than the queue takes
CALLS: dict[str, Callable[[Nvidia, int], Any]] = {
    "interrupt_word": lambda gpu, address: gpu.interrupt_word(),
    "allocate": lambda gpu, address: gpu.allocate(8),
    "free": lambda gpu, address: gpu.free(address),
    "write": lambda gpu, address: gpu.write(address, np.zeros(2)),
    "read": lambda gpu, address: gpu.read(address, np.zeros(2)),
    "copy": lambda gpu, address: [gpu.copy(address, address + 8, 8) for _ in range(MANY)],
    "fill": lambda gpu, address: [gpu.fill(address, np.float64(1.5), 2) for _ in range(MANY)],
    "load": lambda gpu, address: gpu.load(WAITING, ("nothing",)),
    "launch": lambda gpu, address: [gpu.launch("nothing", 1, bytes(8)) for _ in range(MANY)],
    "synchronise": lambda gpu, address: gpu.synchronise(),
    "await_others": lambda gpu, address: gpu.await_others({ANY_STREAM}),
    "reaches": lambda gpu, address: gpu.reaches(address),
    "the free memory": lambda gpu, address: driver.free_memory(),
}


def behind(call: Callable[[Nvidia, int], Any], gpu: Nvidia) -> None:
    """The call, while the GPU waits for the interrupt word, which another thread sets after a while."""
    address, (word, seen) = gpu.allocate(16), gpu.interrupt_word()
    seen[0] = 0
    gpu.load(WAITING, ("waits", "nothing"))
    gpu.launch("waits", 1, struct.pack("@P", word))
    timer = threading.Timer(0.3, lambda: seen.fill(1))
    timer.start()
    call(gpu, address)
    timer.join()
    gpu.synchronise()


@pytest.mark.parametrize("name", CALLS)
def test_other_threads_run_while_a_call_waits(name: str) -> None:
    assert ended(lambda: behind(CALLS[name], Nvidia())) == (0, "")


def test_all_calls_have_been_tried() -> None:
    methods = {name for name, part in vars(Nvidia).items() if callable(part) and not name.startswith("_")}
    assert methods and methods <= CALLS.keys()


def test_drivers_end_while_the_gpu_is_at_work() -> None:
    """Whoever collects garbage may be who has to interrupt the GPU. What has ended is freed later."""
    def work() -> None:
        gpu, other, live = Nvidia(), [Nvidia()], ctypes.CDLL(detection.LIBRARY).fake_cuda_live
        before = live()
        other[0].allocate(8)
        other[0].interrupt_word()
        word, seen = gpu.interrupt_word()
        seen[0] = 0
        gpu.load(WAITING, ("waits",))
        held = live()
        gpu.launch("waits", 1, struct.pack("@P", word))
        other.clear()
        gc.collect()
        assert live() == held
        seen[0] = 1
        driver.free_memory()
        assert live() == held - 2 and before < held
    assert ended(work) == (0, "")


def orders_without_end(seconds: float) -> None:
    """The keys are computed by one launch of many, for which memory is taken one after another."""
    program = parse(KEYS)
    with pytest.raises(NessieError, match="it took longer than 1 s"):
        run_deep(lambda: execute(program, [40], gpu_device(program, Nvidia())), Deadline(seconds, ""))


def calls_at_the_same_time(seconds: float) -> None:
    """One thread's call does not end until its time is up; another's needs memory meanwhile."""
    endless = nessie.compile(SPIN + "function never(n) = {spin(2 * x + 1) : x in [0:n]};", target="cuda",
                             seconds=seconds)
    other = nessie.compile("function squares(xs) = {x * x : x in xs};", target="cuda")
    other.squares(np.arange(2.0))
    said: list[str] = []

    def never() -> None:
        try:
            endless.never(40)
        except NessieError as error:
            said.append(error.message)

    thread = threading.Thread(target=never)
    thread.start()
    time.sleep(seconds / 2)
    found = [other.squares(np.arange(float(size))) for size in (10, 10_000, 100_000)]
    thread.join()
    assert all(np.array_equal(squares, np.arange(float(len(squares)))**2) for squares in found)
    assert said == [f"it took longer than {seconds:g} s"]


@pytest.mark.parametrize("work", [orders_without_end, calls_at_the_same_time])
def test_memory_is_taken_behind_what_does_not_end(work: Callable[[float], None]) -> None:
    assert ended(lambda: work(1.0)) == (0, "")
