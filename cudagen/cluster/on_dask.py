"""Dask's scheduler and workers as an engine (cudagen.cluster.engine).

    connected    to a scheduler that runs, at tcp://HOST:PORT, or by somebody's own client
    started      workers on this machine (cudagen.cluster.processes.own_workers)

Who asks for the same shares an engine, which ends when all of them have closed it.

Futures are all that is used of Dask. A task's name begins with its kernel's, which Dask's dashboard shows. Workers that
are not fit (cudagen.cluster.processes.fitness) are refused when the driver connects. Those that join later get tasks
before the driver knows of them: tasks refuse to be done there, and the driver then says why.
"""
from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent import futures
from http.client import HTTPException
from itertools import count
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from nessie.base.source import NessieError, Unsupported
from nessie.base.system.extras import install
from nessie.base.system.forking import LOOK, STEADY, Turn, across_forks
from nessie.base.system.mapped_files import NewFile
from nessie.base.system.seen_files import Seen, is_there, look
from nessie.cudagen.cluster.engine import Does, Sight, Wait, by_name, died, quiet
from nessie.cudagen.cluster.processes.fitness import alike, fit
from nessie.cudagen.cluster.processes.own_workers import OwnWorkers
from nessie.cudagen.cluster.processes.questions import Questions
from nessie.cudagen.cluster.processes.waiting import Silence, answer, in_thread
from nessie.cudagen.cluster.processes.watch import Watch
from nessie.cudagen.cluster.tasks import wanted

PATIENCE = 10.0                 # seconds until a scheduler must have answered
PAGE = 2.0                      # seconds until Dask's page must have answered
SAYING = ("distributed.batched", "distributed.client", "distributed.core")      # what a run tells, they tell, too


class OnDask:
    """Dask as an engine. `own`: the workers that end with it. `borrowed`: the client stays somebody else's."""

    def __init__(self, client: Any, own: OwnWorkers | None = None, borrowed: bool = True) -> None:
        self.client, self.own, self.borrowed = client, own, borrowed
        self.process, self.users = os.getpid(), 1
        self.numbers, self.lock = count(), threading.Lock()
        self.run_of: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self.files: WeakKeyDictionary[Any, frozenset[NewFile]] = WeakKeyDictionary()
        self.run = uuid4().hex                  # of tasks that are no run's
        self.ask = Questions(client)
        self.known = fit(self.ask, self.ask.threads())
        if not self.known:
            raise NessieError(f"the cluster at {self.ask.address} has no workers",
                              hint=f"start one: dask worker {self.ask.address}")
        self.there = {*self.known}
        self.token = NewFile()
        self.scratch = look(self.token.path)
        self.sight: WeakKeyDictionary[Seen, dict[str, bool]] = WeakKeyDictionary()      # whether a worker sees a file
        self.memory: int | None = self.ask.scheduler(memory_of_tasks)

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any, given: Sequence[Any] = (),
               run: str = "", on: Sight = None) -> Any:
        self.refuse_child()
        run = run or self.run
        task = self.client.submit(wanted.on_worker, alike(), function, *arguments, list(given),
                                  key=f"{name}-{run}-{next(self.numbers)}", pure=False,
                                  workers=None if on is None else sorted(on))
        with self.lock:
            self.run_of[task] = run
        return task

    def gather(self, waiting: Sequence[Any], wait: Wait = quiet, does: Does = by_name) -> list[Any]:
        from distributed.scheduler import KilledWorker
        self.refuse_child()
        waiting, watch = list(waiting), Watch(self, does)
        values = self.ask.begin(self.client.gather(waiting, asynchronous=True))
        try:
            while not futures.wait([values], LOOK).done:
                wait(*watch.look(waiting))
        except BaseException:
            self.cancel(waiting)                # which ends `values`, too
            raise
        try:
            return list(values.result())
        except futures.CancelledError:
            raise self.ask.gone() from None
        except KilledWorker as error:
            self.cancel(waiting)
            raise died(does(str(error.task))) from None
        except Exception:
            self.cancel(waiting)
            self.threads()                      # it may have failed because who has joined is not fit
            raise

    def refuse_child(self) -> None:
        """NessieError in a child that this process has forked: the threads that would answer are its parent's."""
        if self.process != os.getpid():
            raise NessieError("workers answer the process that has asked for them first, and this is a child of it",
                              hint="compile the program in the child, which then asks for workers of its own")

    def cancel(self, waiting: Sequence[Any]) -> None:
        """Nobody waits for these any more, nor for what else their runs have to do; for others, all goes on."""
        if not self.runs:                       # nobody would answer
            return
        runs = {self.run_of[task] for task in waiting} - {self.run}
        with self.lock:
            left = [task for task, run in self.run_of.items() if run in runs and task.status == "pending"]
        self.ask.give_up([*{*waiting, *left}])

    def workers(self) -> int:
        return max(1, self.threads())

    def threads(self) -> int:
        """Those of the workers that there are. Who has joined is refused like the first ones."""
        threads = self.ask.threads()
        if new := {*threads} - self.known:
            self.known |= fit(self.ask, new)
        self.there = {*threads}
        return sum(threads.values())

    def sees(self, file: Seen) -> Sight:
        """Of those that there were when they were counted last; each is asked once, if it has not gone meanwhile."""
        told = self.sight.setdefault(file, {})
        if self.there - {*told}:
            self.threads()
        if new := self.there - {*told}:
            told |= self.ask.workers(is_there, file, of=new)
        found = frozenset({worker for worker in self.there if told.get(worker) is True})
        return None if found == self.there else found

    @property
    def dashboard(self) -> str:
        """The address of Dask's page, and whether it answers."""
        link = str(self.client.dashboard_link)
        if answers(link):
            return link
        return f"{link}, which does not answer here; a scheduler may have none (--no-dashboard)"

    @property
    def runs(self) -> bool:
        """In a child that this process has forked, nothing does."""
        return (self.process == os.getpid() and self.client.status == "running"
                and (self.own is None or self.own.runs))

    def close(self) -> None:
        """For one of those who share it."""
        with _sharing:
            self.users -= 1
            if self.users or self.process != os.getpid():
                return
            for name in [name for name, engine in _shared.items() if engine is self]:
                del _shared[name]
        if not self.borrowed:
            self.client.close()
        if self.own is not None:
            self.own.close()


_shared: dict[object, OnDask] = {}          # by what was asked for
_making: dict[object, Turn] = {}            # likewise: of who makes an engine
_sharing = across_forks(threading.RLock())


def shared(asked_for: object, make: Callable[[], OnDask]) -> OnDask:
    """The engine that others have for this, or a new one. Who asks for another one does not wait for it."""
    with _sharing:
        making = _making.setdefault(asked_for, Turn())
    with making.taken():
        with _sharing:
            engine = _shared.get(asked_for)
            if engine is not None and engine.runs:
                engine.users += 1
                return engine
        engine = make()
        with _sharing:
            _shared[asked_for] = engine
        return engine


def connected(cluster: Any) -> OnDask:
    """An engine of the cluster at this address, or of this client."""
    client_class = of_distributed("Client")
    if isinstance(cluster, client_class):
        if cluster.status != "running":
            raise NessieError(f"the client of Dask is {cluster.status}, and can ask no workers",
                              hint="a cluster is an address, such as tcp://host:8786, or a client that is open")
        return OnDask(cluster)
    if not isinstance(cluster, str):
        raise NessieError(f"a cluster is an address, such as tcp://host:8786, or a client of Dask, not {cluster!r}")
    return shared(cluster, lambda: at_address(cluster))


def at_address(cluster: str, own: OwnWorkers | None = None) -> OnDask:
    client = client_of(cluster)
    for logger in SAYING:
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    try:
        return OnDask(client, own, borrowed=False)
    except BaseException:
        client.close()
        raise


def client_of(cluster: str) -> Any:
    """Dask's client of the scheduler at this address. One that has failed waits once more when it goes, and for ever
    for a server of something else: so the address is tried before without one."""
    client_class, secrets, connect = (of_distributed(name) for name in ("Client", "Security", "connect"))

    async def connects() -> None:
        comm = await connect(cluster, timeout=PATIENCE, **secrets().get_connection_args("client"))
        await comm.close()

    try:
        answer(in_thread(lambda: asyncio.run(connects())), PATIENCE + LOOK)
        return answer(in_thread(lambda: client_class(cluster, timeout=PATIENCE, set_as_default=False),
                                lambda client: client.close()), PATIENCE + LOOK)
    except Silence:
        why = f"what is there is no scheduler, or takes longer than {PATIENCE:g} s"
    except (OSError, ValueError, asyncio.TimeoutError, TypeError, RuntimeError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
    raise NessieError(f"no cluster answers at {cluster}: {why[:120]}",
                      hint="a scheduler tells its address when it starts: dask scheduler")


def started(workers: int) -> OnDask:
    """An engine of so many workers on this machine."""
    of_distributed("Client")

    def make() -> OnDask:
        own = OwnWorkers(workers)
        try:
            return at_address(own.address, own)
        except BaseException:
            own.close()
            raise
    return shared(workers, make)


def answers(page: str) -> bool:
    """Is there such a page?"""
    from urllib.request import ProxyHandler, build_opener
    try:
        build_opener(ProxyHandler({})).open(page, timeout=PAGE).close()
    except (OSError, ValueError, HTTPException):
        return False
    return True


def memory_of_tasks(dask_scheduler: Any) -> int | None:
    """At the scheduler: bytes for each thread of the worker that has the least, if they are limited."""
    workers = dask_scheduler.workers.values()
    return min([worker.memory_limit // worker.nthreads for worker in workers if worker.memory_limit], default=None)


def of_distributed(name: str) -> Any:
    """What is called so there. Nobody waits for STEADY where it has been imported, so that engines are made with it or
    without."""
    found = sys.modules.get("distributed")
    if found is None or getattr(found.__spec__, "_initializing", False):
        with STEADY:
            found = imported("distributed")
    return getattr(found, name)


def imported(module: str) -> Any:
    """By a thread of its own, since a Ctrl-C would leave half of it; who waits goes when that is done."""
    ended = threading.Event()

    def work() -> Any:
        try:
            return importlib.import_module(module)
        finally:
            ended.set()
    try:
        return answer(in_thread(work))
    except ImportError:
        raise Unsupported("the target dask needs Dask's distributed, which is not installed",
                          hint=install("dask")) from None
    finally:
        ended.wait()
