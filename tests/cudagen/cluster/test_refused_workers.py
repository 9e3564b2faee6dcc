"""Clusters, schedulers and workers that are refused, each with what they lack."""
from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Collection
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import pytest
from dask_cases import TEXT, XS, YS, all_there, wait_until
from processes import finished

import nessie
from nessie.base.source import NessieError, Unsupported
from nessie.base.system.own_files import digests
from nessie.cudagen.cluster import on_dask
from nessie.cudagen.cluster.on_dask import OnDask, connected, started
from nessie.cudagen.cluster.processes.fitness import alike, described_here, fit, refuse
from nessie.cudagen.cluster.processes.questions import Questions
from nessie.cudagen.cluster.tasks import chunks, wanted
from nessie.cudagen.cpu.machine_code import features

pytest.importorskip("distributed")


def test_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_dask, "PATIENCE", 0.5)
    with pytest.raises(NessieError, match=r"no cluster answers at tcp://127\.0\.0\.1:9: .*\nhint: a scheduler tells"):
        connected("tcp://127.0.0.1:9")
    with pytest.raises(NessieError, match=r"no cluster answers at localhost: missing port"):
        connected("localhost")


def test_a_client_of_a_cluster_that_is_refused_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    class Client:
        scheduler = SimpleNamespace(address="tcp://here:1")

        def close(self) -> None:
            closed.append(self)

    monkeypatch.setattr(on_dask, "client_of", lambda address: Client())
    monkeypatch.setattr(Questions, "scheduler", lambda ask, function: function())
    monkeypatch.setattr(Questions, "threads", lambda ask: {})
    monkeypatch.setattr(Questions, "workers", lambda ask, function, of: {})
    with pytest.raises(NessieError, match="the cluster at tcp://here:1 has no workers"):
        connected("tcp://here:1")
    assert len(closed) == 1


def refused(there: dict[str, Any], files: dict[str, str] | None = None, scheduler: bool = False) -> str:
    """What is said of a worker that has this, or of a scheduler, where all else is fit."""
    class Cluster(Questions):
        def __init__(self) -> None:
            """It has two workers."""

        def scheduler(self, function: Callable[..., Any], *arguments: Any) -> Any:
            return self.answer(function) if scheduler else function()

        def workers(self, function: Callable[..., Any], *arguments: Any, of: Collection[str]) -> dict[str, Any]:
            return {worker: self.answer(function) if worker == "w1" and not scheduler else function() for worker in of}

        def answer(self, function: Callable[[], Any]) -> Any:
            return there if function is described_here else files

    with pytest.raises(NessieError) as error:
        fit(Cluster(), ["w0", "w1"])
    return str(error.value)


def test_a_scheduler_has_nessie() -> None:
    class Cluster(Questions):
        def __init__(self) -> None:
            """Its scheduler has no Nessie."""

        def scheduler(self, function: Callable[..., Any], *arguments: Any) -> Any:
            raise ModuleNotFoundError("No module named 'nessie'")

    with pytest.raises(NessieError, match="the scheduler of the cluster has no Nessie, or another one: No module"):
        fit(Cluster(), [])


def test_a_server_of_something_else_is_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of Dask's would wait for it for ever."""
    monkeypatch.setattr(on_dask, "PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(NessieError, match=rf"no cluster answers at tcp://127\.0\.0\.1:{port}: "):
            connected(f"tcp://127.0.0.1:{port}")
    with pytest.raises(NessieError, match="a cluster is an address, such as tcp://host:8786, or a client of Dask, not"):
        nessie.compile(TEXT, target="dask", cluster=7).dotp(XS, YS)


@pytest.mark.parametrize("what, there, message", [
    ("nessie", "0.0.1", "another Nessie: 0.0.1, and this is"),
    ("python", "3.9.1", "another Python: 3.9.1, and this is"),
    ("numpy", "1.9", "another NumPy: 1.9, and this is"),
    ("system", "Plan9 vax", "another system: Plan9 vax, and this is")])
@pytest.mark.parametrize("scheduler", [True, False])
def test_who_is_not_alike_is_refused(scheduler: bool, what: str, there: Any, message: str) -> None:
    who = "the scheduler" if scheduler else "the worker at w1"
    assert f"{who} has {message}" in refused({**described_here(), what: there}, scheduler=scheduler)


def test_who_computes_has_a_processor_that_can() -> None:
    there = {**described_here(), "features": frozenset()}
    assert "the processor of the worker at w1 lacks what code for this one uses: " in refused(there)
    refuse("the scheduler", there, dict, computes=False)


def test_who_has_other_code_is_refused() -> None:
    """Of a checkout that has changed since the worker or the scheduler began, the version says nothing."""
    files = {**digests(), "nessie/new.py": "1", "nessie/cudagen/cluster/tasks/wanted.py": "2"}
    del files["nessie/cudagen/cluster/slabs.py"]
    said = ("runs other code of the same version of Nessie: nessie/cudagen/cluster/slabs.py, nessie/cudagen/cluster/"
            "tasks/wanted.py, nessie/new.py\nhint: install the same Nessie there, and start it again, since it keeps "
            "what it has loaded")
    there = {**described_here(), "code": "3"}
    assert refused(there, files) == f"error: the worker at w1 {said}"
    assert refused(there, files, scheduler=True) == f"error: the scheduler {said}"


JOINS = """
import sys
{before}
from distributed.cli.dask_worker import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("before, message", [
    ("sys.modules['nessie'] = None", "of the cluster has no Nessie, or another one: "),
    ("from nessie.base.system import own_files as f; here = f.digests(); f.digests = lambda: here | {'new.py': '1'}",
     r"runs other code of the same version of Nessie: new\.py\n"),
    ("from nessie.cudagen.cpu import machine_code; machine_code.features = frozenset",
     "lacks what code for this one uses: ")])
def test_who_joins_later_and_is_not_fit_is_named(before: str, message: str, engine: OnDask, tmp_path: Any) -> None:
    """Though Dask gives it tasks before the driver knows of it. Without Nessie, it ends when it gets some."""
    all_there(engine)
    engine.workers()
    command = [sys.executable, "-c", JOINS.format(before=before), engine.client.scheduler_info()["address"],
               "--no-nanny", "--no-dashboard", "--nthreads", "1", "--name", "late", "--local-directory", tmp_path]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            until = monotonic() + 60
            while not (late := {*engine.client.nthreads()} - engine.known):
                assert monotonic() < until
                sleep(0.1)
            code = chunks.Code("none", b"", (), features())
            with pytest.raises(NessieError, match=f"the (processor of the )?worker at {min(late)} {message}"):
                if "None" in before:
                    engine.workers()
                else:
                    engine.gather([engine.submit("late", chunks.run_chunks, SimpleNamespace(function=""), given=[code],
                                                 on=frozenset(late))])
        finally:
            process.terminate()
    wait_until("that the late worker has gone", lambda: not late & {*engine.client.nthreads()})


def test_a_task_refuses_to_be_done_by_who_is_not_fit() -> None:
    with pytest.raises(NessieError, match="has another Nessie, Python or NumPy than the driver\nhint: install"):
        wanted.computed(f"{alike()}, changed", len, [])
    with pytest.raises(NessieError, match="the processor of a worker that has joined the cluster lacks what"):
        chunks.functions_of(chunks.Code("for wings", b"", (), features() | {"wings"}))


@pytest.mark.slow
def test_a_scheduler_that_has_gone_is_told(threads: Any) -> None:
    engine = connected(threads.scheduler_address)
    try:
        threads.close()
        with pytest.raises(NessieError, match=f"the scheduler of the cluster at {engine.ask.address} has gone\nhint: "):
            engine.workers()
    finally:
        engine.close()


def test_without_dask_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(Unsupported, match=r"is not installed\nhint: in a clone of Nessie: pip install '\.\[dask\]'"):
        started(1)


def test_nothing_loads_dask_without_need() -> None:
    text = ("import sys, nessie, nessie.cudagen.cluster.device\n"
            "nessie.compile('function more(x) = x + 1;').more(1)\n"
            "assert not {'dask', 'distributed'} & set(sys.modules)")
    finished([sys.executable, "-c", text], check=True)


def test_options_of_another_target_are_refused() -> None:
    for options, message in ((["--workers", "2"], "--workers is an option of the target dask"),
                             (["--target", "dask", "--workers", "0"], "0 is not a whole number from 1 to 256"),
                             (["--target", "dask", "--workers", "257"], "257 is not a whole number from 1 to 256"),
                             (["--target", "dask", "--workers", "2", "--cluster", "tcp://a:1"],
                              "--workers starts workers on this machine")):
        found = finished([sys.executable, "-m", "nessie", "eval", "1;", *options])
        assert found.returncode
        assert message in found.stderr
    with pytest.raises(NessieError, match="workers are started on this machine"):
        nessie.compile(TEXT, target="dask", workers=2, cluster="tcp://a:1")
