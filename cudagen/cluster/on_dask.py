"""Dask's scheduler and workers as an engine (cudagen.cluster.engine).

    connected    to a scheduler that runs, at tcp://HOST:PORT, or by somebody's own client
    started      workers on this machine, which end with this process

Futures are all that is used of Dask. A task's name begins with its kernel's, which Dask's dashboard shows. Workers must
have this Nessie and a processor with all that this one has, since they run the same machine code: else they are
refused, when the driver connects, each with what it lacks.
"""
from __future__ import annotations

import asyncio
import logging
import platform
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from itertools import count
from time import monotonic
from typing import Any
from uuid import uuid4

import numpy as np

from nessie.base.source import NessieError, Unsupported
from nessie.base.system.extras import install
from nessie.cudagen.cluster import tasks
from nessie.cudagen.cluster.engine import FILES, Deserted, Died, Interrupted, Wait, quiet
from nessie.cudagen.cpu.machine_code import features

PATIENCE = 10.0                 # seconds until a scheduler must have answered
LOOK = 0.2                      # seconds between two looks at what has been done
STILL = 1.0                     # seconds without a task that ends, until one asks whether there are workers
ALONE = 60.0                    # seconds without a worker
LACKS = 6                       # features that are named


class OnDask:
    """Dask as an engine. `own`: what ends with it."""

    def __init__(self, client: Any, own: Any = None) -> None:
        self.client, self.own = client, own
        self.numbers = count()
        self.run = uuid4().hex                  # of tasks that are no run's
        self.address = address(client)
        described = asked(client)
        if not described:
            raise NessieError(f"the cluster at {self.address} has no workers",
                              hint=f"start one: dask worker {self.address}")
        refuse(described)
        self.known = {*described}
        near = {found["host"] for found in described.values()} == {socket.gethostname()}
        self.shares = FILES if near else ""
        self.memory = memory_of_tasks(client)

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any, given: Sequence[Any] = (),
               run: str = "") -> Any:
        run = run or self.run
        return self.client.submit(tasks.of_run, run, function, *arguments, list(given),
                                  key=f"{name}-{run}-{next(self.numbers)}", pure=False)

    def gather(self, waiting: Sequence[Any], wait: Wait = quiet) -> list[Any]:
        from distributed.scheduler import KilledWorker
        waiting, watch = list(waiting), Watch(self)
        values = asyncio.run_coroutine_threadsafe(self.client.gather(waiting, asynchronous=True),
                                                  self.client.loop.asyncio_loop)
        try:
            while not futures.wait([values], LOOK).done:
                if wait(*watch.look(waiting)):
                    raise Interrupted
            return list(values.result())
        except KilledWorker as error:
            self.cancel(waiting)
            raise Died(str(error.task)) from None
        except futures.CancelledError:
            raise NessieError(f"the scheduler of the cluster at {self.address} has gone",
                              hint="start it and its workers again, then this program") from None
        except BaseException:
            self.cancel(waiting)                # which ends `values`, too
            raise

    def cancel(self, waiting: Sequence[Any]) -> None:
        """Nobody waits for these any more; what is done for their runs ends soon, and for nobody else's."""
        self.client.cancel(waiting, force=True)
        for run in sorted({task.key.split("-")[-2] for task in waiting} - {self.run}):
            self.client.run(tasks.stop, run, on_error="ignore")

    def workers(self) -> int:
        return max(1, self.threads())

    def threads(self) -> int:
        """Those of the workers that there are. Who has joined is refused like the first ones."""
        threads = self.client.nthreads()
        if new := sorted({*threads} - self.known):
            refuse(self.client.run(described_here, version(), workers=new))
            self.known |= {*new}
        return sum(map(int, threads.values()))

    @property
    def dashboard(self) -> str:
        return str(self.client.dashboard_link)

    def close(self) -> None:
        if self.own is not None:
            self.client.close()
            self.own.close()


class Watch:
    """What can be told of tasks that are waited for. Deserted, if there has been no worker for ALONE seconds."""

    def __init__(self, engine: OnDask) -> None:
        self.engine, self.done = engine, 0
        self.moved = self.asked = self.there = monotonic()

    def look(self, waiting: Sequence[Any]) -> tuple[int, int, str]:
        """How many are done, of how many; and what lacks, in words."""
        now, done = monotonic(), sum([task.status == "finished" for task in waiting])
        if done != self.done:
            self.done, self.moved = done, now
        if now - max(self.moved, self.asked) > STILL:
            self.asked = now
            if self.engine.threads():
                self.there = now
        alone = self.asked - max(self.moved, self.there)
        if alone > ALONE:
            left = [task for task in waiting if task.status != "finished"]
            raise Deserted(left[0].key, len(left) - 1, f"the cluster has had no workers for {alone:.0f} s", self.hint)
        return done, len(waiting), f"no workers are left; {self.hint}" if alone > 0 else ""

    @property
    def hint(self) -> str:
        return f"start some: dask worker {self.engine.address}"


def connected(cluster: Any) -> OnDask:
    """An engine of the cluster at this address, or of this client."""
    client_class = of_distributed("Client")
    if isinstance(cluster, client_class):
        return OnDask(cluster)
    if not isinstance(cluster, str):
        raise NessieError(f"a cluster is an address, such as tcp://host:8786, or a client of Dask, not {cluster!r}")
    if why := silence(cluster):
        raise NessieError(f"no cluster answers at {cluster}: {why[:120]}",
                          hint="a scheduler tells its address when it starts: dask scheduler")
    client = client_class(cluster, timeout=PATIENCE, set_as_default=False)
    return owned(client, Nothing())


def silence(address: str) -> str:
    """Why no scheduler answers there; "" if one does. A client that has failed waits once more when it goes, and for
    ever for a server of something else: so the address is tried without one, in a thread that nobody needs to end."""
    said = [f"what is there is no scheduler, or takes longer than {PATIENCE:g} s"]

    async def connects() -> None:
        secrets = of_distributed("Security")().get_connection_args("client")
        comm = await of_distributed("comm").connect(address, timeout=PATIENCE, **secrets)
        said[:] = [""]
        await comm.close()

    def ask() -> None:
        try:
            asyncio.run(connects())
        except (OSError, ValueError, asyncio.TimeoutError, TypeError, RuntimeError) as error:
            said[:] = [(str(error).splitlines() or [type(error).__name__])[0]]

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE + LOOK)
    return said[0]


class Nothing:
    """A cluster that others have started."""

    def close(self) -> None:
        """It goes on."""


def started(workers: int) -> OnDask:
    """An engine of so many workers on this machine, each a process of one thread with a share of its memory."""
    cluster_class, client_class = of_distributed("LocalCluster"), of_distributed("Client")
    cluster = cluster_class(n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
                            dashboard_address="127.0.0.1:0",
                            silence_logs=logging.CRITICAL)
    return owned(client_class(cluster, set_as_default=False), cluster)


def owned(client: Any, own: Any) -> OnDask:
    """An engine, with which both end; they end at once if it is refused."""
    try:
        return OnDask(client, own)
    except BaseException:
        client.close()
        own.close()
        raise


def memory_of_tasks(client: Any) -> int | None:
    """Bytes for each thread of the worker that has the least, if they are limited."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] // worker["nthreads"] for worker in workers if worker["memory_limit"]]
    return min(limits, default=None)


def of_distributed(name: str) -> Any:
    try:
        import distributed
    except ImportError:
        raise Unsupported("the target dask needs Dask's distributed, which is not installed",
                          hint=install("dask")) from None
    return getattr(distributed, name)


def address(client: Any) -> str:
    return str(client.scheduler_info()["address"])


# Workers ----------------------------------------------------------------------------------------


def version() -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as of
    try:
        return of("nessie-nesl")
    except PackageNotFoundError:
        return ""


def described_here(driver: str) -> dict[str, Any]:
    """What a worker has; a driver of this version asks."""
    return {"host": socket.gethostname(), "nessie": version(), "python": platform.python_version(),
            "numpy": np.__version__, "system": f"{platform.system()} {platform.machine()}", "features": features()}


def asked(client: Any) -> dict[str, dict[str, Any]]:
    """What each worker has. NessieError if they, or the scheduler, which reads tasks too, cannot import this Nessie."""
    found: dict[str, dict[str, Any]] = {}
    for what, ask in (("scheduler", client.run_on_scheduler), ("workers", client.run)):
        try:
            found = ask(described_here, version())
        except (ImportError, AttributeError) as error:
            raise NessieError(f"no Nessie, or another one, where the {what} of the cluster runs: {error}",
                              hint="install the same Nessie there, and start it again") from None
    return found


def refuse(described: Mapping[str, Mapping[str, Any]]) -> None:
    """NessieError if a worker has other versions, or a processor that lacks something."""
    here = described_here(version())
    for worker, there in described.items():
        for what, said in (("nessie", "Nessie"), ("python", "Python"), ("numpy", "NumPy"), ("system", "system")):
            mine, other = [".".join(d[what].split(".")[:2]) for d in (here, there)]
            if mine != other:
                raise NessieError(f"the worker at {worker} has another {said}: {there[what]}, and this is {here[what]}",
                                  hint="a cluster's workers and its driver need the same versions")
        if lacking := sorted(here["features"] - there["features"]):
            named = ", ".join(lacking[:LACKS]) + (f" and {len(lacking) - LACKS} more" if len(lacking) > LACKS else "")
            raise NessieError(f"the processor of the worker at {worker} lacks what code for this one uses: {named}",
                              hint="call Nessie on a machine with the least processor of the cluster")
