"""Workers that are started on this machine: they need nothing around a script, and end with who needs them."""
from __future__ import annotations

import gc
import json
import socket
import subprocess
import sys
from threading import Thread
from typing import Any

import numpy as np
import pytest
from dask_cases import lives, wait_until
from processes import finished

import nessie
from nessie.base.source import NessieError
from nessie.cudagen.cluster import on_dask
from nessie.cudagen.cluster.on_dask import OnDask, started
from nessie.cudagen.cluster.processes import own_workers

psutil = pytest.importorskip("psutil")
pytest.importorskip("distributed")

DOUBLE, MANY = "function double(xs) = {2 * x : x in xs};", np.arange(3_000_000)


def test_workers_end_with_the_programs_that_share_them() -> None:
    """By close, `with`, and when nobody has the program any more; a call after close is an error."""
    with nessie.compile(DOUBLE, target="dask", workers=1) as program:
        assert program.double(MANY)[-1] == 5_999_998
        other = nessie.compile(DOUBLE, target="dask", workers=1)
        assert other.double(MANY)[-1] == 5_999_998
        (engine,) = [engine for name, engine in on_dask._shared.items() if name == 1]
        assert engine.users == 2
    assert engine.runs
    other.close()
    assert not engine.runs
    assert engine.own is not None
    assert engine.own.process.poll() is not None
    for closed in (program, other):
        with pytest.raises(NessieError, match="the program is closed, and has no workers any more"):
            closed.double(MANY)
        with pytest.raises(NessieError, match="the program is closed, and has no workers any more"):
            closed.double([1])
    assert 1 not in on_dask._shared
    other = nessie.compile(DOUBLE, target="dask", workers=1)
    assert other.double(MANY)[-1] == 5_999_998
    process = on_dask._shared[1].own.process        # type: ignore[union-attr]
    del other
    gc.collect()
    process.wait(60)
    assert 1 not in on_dask._shared


SCRIPT = """
import nessie, numpy as np
program = nessie.compile("function double(xs) = {2 * x : x in xs};", target="dask", workers=1)
print(program.double(np.arange(3_000_000))[-1])
"""
IN_A_LOOP = """
import asyncio
async def main():
    exec(text)
asyncio.run(main())
"""


@pytest.mark.parametrize("text", [SCRIPT, f"text = {SCRIPT!r}\n{IN_A_LOOP}"], ids=["no guard", "in a loop that runs"])
def test_scripts_need_nothing_around_them(text: str, tmp_path: Any) -> None:
    """Workers do not run the script of who has started them, and say nothing when it ends."""
    (tmp_path / "script.py").write_text(text)
    found = finished([sys.executable, tmp_path / "script.py"])
    assert (found.returncode, found.stdout, found.stderr) == (0, "5999998\n", "")


VARIABLE = """
import nessie, numpy as np
program = nessie.compile("n = 3; function plus(xs) = {x + n : x in xs};", target="dask", workers=1)
print(program.plus(np.arange(3_000_000))[-1])
"""


def test_a_variable_of_the_program_needs_workers_first(tmp_path: Any) -> None:
    """It is evaluated while the program is compiled, which others wait for."""
    (tmp_path / "script.py").write_text(VARIABLE)
    found = finished([sys.executable, tmp_path / "script.py"])
    assert (found.returncode, found.stdout, found.stderr) == (0, "3000002\n", "")


def test_threads_that_call_first_ask_for_workers_once() -> None:
    program = nessie.compile(DOUBLE, target="dask", workers=1)
    threads = [Thread(target=program.double, args=[MANY]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    engine = on_dask._shared[1]
    assert engine.users == 1
    program.close()
    assert not engine.runs
    assert 1 not in on_dask._shared


def test_a_page_that_does_not_answer_is_told(engine: OnDask, monkeypatch: pytest.MonkeyPatch) -> None:
    link, client = engine.dashboard, type(engine.client)
    assert link == engine.client.dashboard_link
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/status"
    for page in (nobody, link.replace("/status", "/none")):
        monkeypatch.setattr(client, "dashboard_link", page)
        assert engine.dashboard == f"{page}, which does not answer here; a scheduler may have none (--no-dashboard)"


def test_a_client_that_is_closed_is_refused(engine: OnDask, tmp_path: Any) -> None:
    from distributed import Client
    client = Client(engine.ask.address, set_as_default=False)
    client.close()
    program = nessie.compile(DOUBLE, target="dask", cluster=client)
    np.save(tmp_path / "xs.npy", np.arange(3))
    for call in (lambda: program.double(MANY),
                 lambda: program.double.map_partitions(str(tmp_path / "xs.npy"), cluster=client)):
        with pytest.raises(NessieError, match="the client of Dask is closed, and can ask no workers"):
            list(call())


def test_workers_end_with_a_process_that_is_killed(tmp_path: Any) -> None:
    text = (f"{SCRIPT}\nfrom nessie.cudagen.cluster import on_dask\nengine = on_dask._shared[1]\n"
            "print(engine.own.process.pid, *engine.client.run(__import__('os').getpid).values(), flush=True)\n"
            "__import__('time').sleep(600)")
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        left = [psutil.Process(int(pid)) for pid in process.stdout.readline().split()]
        assert len(left) == 2
        process.kill()
    wait_until("workers go", lambda: not any(map(lives, left)))


def test_workers_that_are_starting_end_with_who_has_started_them(tmp_path: Any) -> None:
    """Of so many, none is ready when it goes."""
    with subprocess.Popen([sys.executable, "-c", own_workers.BEGIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps([sys.path, 12, str(tmp_path / "files")]).encode() + b"\n")
        process.stdin.flush()
        wait_until("a worker begins", lambda: psutil.Process(process.pid).children(recursive=True))
        starting = psutil.Process(process.pid).children(recursive=True)
        process.stdin.close()
        assert process.wait(120) == 1
    wait_until("workers go", lambda: not any(map(lives, starting)))


@pytest.mark.parametrize("wrong", [257, 10**6, 0, "2", 2.5, True])
def test_more_workers_than_a_machine_has_are_refused(wrong: Any) -> None:
    for ask in (lambda: nessie.compile(DOUBLE, target="dask", workers=wrong),
                lambda: nessie.compile(DOUBLE).double.map_partitions("xs.npy", workers=wrong)):
        with pytest.raises(NessieError, match=f"workers is a whole number from 1 to 256, not {wrong!r}"):
            ask()


def test_a_forked_child_has_no_workers(engine: OnDask, monkeypatch: pytest.MonkeyPatch) -> None:
    task = engine.submit("one", len)
    monkeypatch.setattr(engine, "process", -1)
    for ask in (lambda: engine.submit("two", len), lambda: engine.gather([task])):
        with pytest.raises(NessieError, match="workers answer the process that has asked for them first"):
            ask()


def test_workers_that_do_not_start_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_workers, "BEGIN", "raise OSError('no room')")
    with pytest.raises(NessieError, match="workers on this machine do not start: OSError: no room"):
        started(3)


def test_the_tool_runs_programs_on_workers(tmp_path: Any) -> None:
    path = tmp_path / "sums.nesl"
    path.write_text("sum({x * x : x in [0:3000000]});\n")
    command = [sys.executable, "-m", "nessie", "run", str(path), "--target", "dask", "--workers", "1", "--dashboard"]
    found = finished(command)
    assert (found.returncode, found.stdout) == (0, "it = 8999995500000500000 : int\n"), found.stderr
    assert found.stderr.startswith("Dask's dashboard: http://127.0.0.1:")
