"""Processes of a cluster that have stopped: who waits for their answers is told, hears Ctrl-C, and holds up nobody."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread, Timer
from time import monotonic

import numpy as np
import pytest
from dask_cases import all_there, lives, wait_until

import nessie
from nessie.base.source import NessieError
from nessie.base.system.seen_files import Seen, look
from nessie.cudagen.cluster.on_dask import OnDask, connected, started
from nessie.cudagen.cluster.processes import own_workers, questions

psutil = pytest.importorskip("psutil")
pytest.importorskip("distributed")

DOUBLE, MANY = "function double(xs) = {2 * x : x in xs};", np.arange(3_000_000)


@contextmanager
def stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@pytest.fixture
def silent(engine: OnDask) -> Iterator[str]:
    """One of two workers has stopped."""
    all_there(engine)
    worker, process = sorted(engine.client.run(os.getpid).items())[0]
    with stopped(process):
        yield worker


@pytest.fixture
def seen(tmp_path: Path) -> Seen:
    (tmp_path / "seen").write_text("it")
    found = look(str(tmp_path / "seen"))
    assert found is not None
    return found


def test_a_worker_that_does_not_answer_is_named(silent: str, engine: OnDask, seen: Seen,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it sees a file, whether it is fit; who gives tasks up does not wait for it."""
    monkeypatch.setattr(questions, "SILENT", 6.0)
    for ask in (lambda: engine.sees(seen), lambda: connected(engine.ask.address)):
        began = monotonic()
        with pytest.raises(NessieError, match=rf"for 6 s now the worker at {silent} does not answer\nhint: end it, "):
            ask()
        assert monotonic() - began < 30
    began = monotonic()
    engine.cancel([engine.submit("one", len, run="a")])
    assert monotonic() - began < 30


def test_workers_are_named_but_for_many() -> None:
    assert "the workers at a, b do not answer" in str(questions.silent(["a", "b"]))
    assert "the workers at a, b, c, d, e and 2 more do not answer" in str(questions.silent([*"abcdefg"]))


def test_ctrl_c_ends_the_wait_for_an_answer(silent: str, engine: OnDask, seen: Seen) -> None:
    program = nessie.compile(DOUBLE, target="dask", cluster=engine.ask.address)
    for ask in (lambda: engine.sees(seen), lambda: program.double(MANY)):
        began = monotonic()
        Timer(1.0, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            ask()
        assert monotonic() - began < 20


def test_the_time_of_a_program_ends_the_wait_for_an_answer(silent: str, engine: OnDask) -> None:
    program = nessie.compile(DOUBLE, target="dask", cluster=engine.ask.address, seconds=1.0)
    began = monotonic()
    with pytest.raises(NessieError, match="it took longer than 1 s"):
        program.double(MANY)
    assert monotonic() - began < 20


def test_who_waits_for_an_answer_holds_up_nobody(silent: str, engine: OnDask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread compiles, and has workers of its own, while one asks whether all workers are fit."""
    monkeypatch.setattr(questions, "SILENT", 20.0)
    said = list[str]()

    def connect() -> None:
        with pytest.raises(NessieError) as error:
            nessie.compile(DOUBLE, target="dask", cluster=engine.ask.address).double(MANY)
        said.append(str(error.value))
    thread = Thread(target=connect)
    thread.start()
    assert nessie.compile("function triple(xs) = {3 * x : x in xs};").triple([1, 2]).tolist() == [3, 6]
    other = started(2)                          # the engine of the workers, one of whom does not answer
    assert other is engine
    other.close()
    assert not said
    thread.join(120)
    assert f"the worker at {silent} does not answer" in said[0]


def test_a_scheduler_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its workers end with it."""
    monkeypatch.setattr(own_workers, "GRACE", 1.0)
    engine = started(1)
    try:
        monkeypatch.setattr(questions, "SILENT", 1.0)
        assert engine.own is not None
        (worker,) = engine.client.run(os.getpid).values()
        os.kill(engine.own.process.pid, signal.SIGSTOP)
        with pytest.raises(NessieError, match=f"for 1 s now the scheduler of the cluster at {engine.ask.address} does "
                           "not answer\nhint: end it, and start it and its workers again"):
            engine.workers()
    finally:
        engine.close()
    wait_until("that the worker has gone", lambda: not psutil.pid_exists(worker))


def test_workers_that_have_stopped_end_with_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_workers, "GRACE", 1.0)
    engine = started(1)
    assert engine.own is not None
    (worker,) = engine.client.run(os.getpid).values()
    assert os.listdir(engine.own.folder)
    os.kill(worker, signal.SIGSTOP)
    engine.close()
    assert not os.path.exists(engine.own.folder)
    wait_until("that the worker has gone", lambda: not psutil.pid_exists(worker))


# Ctrl-C while workers start --------------------------------------------------------------------------

ASKS = """
import sys, time
import nessie, numpy as np
program = nessie.compile("function double(xs) = {2 * x : x in xs};", target="dask", workers=1)
for line in sys.stdin:
    try:
        print(program.double(np.arange(3_000_000))[-1], flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("processes", [1, 2], ids=["while they import", "while one begins"])
def test_ctrl_c_while_workers_start_leaves_nothing(processes: int, tmp_path: Path) -> None:
    """No process, no file; the next call starts them again."""
    with subprocess.Popen([sys.executable, "-c", ASKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        driver = psutil.Process(process.pid)
        print("", file=process.stdin, flush=True)
        wait_until("workers start", lambda: len(driver.children(recursive=True)) >= processes)
        starting = driver.children(recursive=True)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        wait_until("that they have gone", lambda: not any(map(lives, [*starting, *driver.children(recursive=True)])))
        wait_until("that their files have gone", lambda: not os.listdir(tmp_path))
        print("", file=process.stdin, flush=True)
        assert process.stdout.readline() == "5999998\n"
        process.stdin.close()
        assert process.wait(120) == 0
    assert not os.listdir(tmp_path)


def test_the_tool_ends_with_ctrl_c_while_workers_start(tmp_path: Path) -> None:
    (tmp_path / "sums.nesl").write_text("sum({x * x : x in [0:3000000]});\n")
    command = [sys.executable, "-m", "nessie", "run", str(tmp_path / "sums.nesl"), "--target", "dask", "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        driver = psutil.Process(process.pid)
        wait_until("workers start", lambda: driver.children(recursive=True))
        starting = driver.children(recursive=True)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (-signal.SIGINT, "", "Interrupted.\n")
    wait_until("that they have gone", lambda: not any(map(lives, starting)))
