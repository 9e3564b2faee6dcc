"""Questions to a scheduler of Dask's and its workers. Whoever is there answers within SILENT seconds, or is named by an
error. While an answer is waited for, Ctrl-C is heard.

A process that has stopped, or whose machine has, keeps its connections: Dask takes it for dead after five minutes.
"""
from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent import futures
from contextlib import suppress
from time import monotonic, sleep
from typing import Any

from nessie.base.source import NessieError
from nessie.base.system.forking import LOOK
from nessie.cudagen.cluster.processes.waiting import Silence, answer, answered

SILENT = 60.0                   # seconds until whoever is there must have answered
PARTING = 2.0                   # seconds that a scheduler has to hear that nobody waits for tasks
NAMED = 5                       # silent workers that are named
GONE = (OSError, futures.CancelledError)

Asked = futures.Future[Any]
Question = Coroutine[Any, Any, Any]


class Questions:
    """By Dask's client, of the scheduler at `address`."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.address = str(client.scheduler.address)

    def begin(self, question: Question) -> Asked:
        """It is answered in Dask's thread."""
        return asyncio.run_coroutine_threadsafe(question, self.client.loop.asyncio_loop)

    # The scheduler --------------------------------------------------------------------------

    def scheduler(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function gives there; a parameter `dask_scheduler` of it is the scheduler."""
        return self.told(lambda: self.client.run_on_scheduler(function, *arguments, asynchronous=True))

    def threads(self) -> dict[str, int]:
        """How many each worker has."""
        found: dict[str, int] = self.told(lambda: self.client.nthreads(asynchronous=True))
        return found

    def told(self, question: Callable[[], Question]) -> Any:
        """What the scheduler answers."""
        if self.client.status == "closed":
            raise self.gone()
        try:
            return answer(self.begin(question()), SILENT)
        except Silence:
            raise NessieError(f"for {SILENT:g} s now the scheduler of the cluster at {self.address} does not answer",
                              hint="end it, and start it and its workers again, then this program") from None
        except GONE:
            raise self.gone() from None

    def gone(self) -> NessieError:
        return NessieError(f"the scheduler of the cluster at {self.address} has gone",
                           hint="start it and its workers again, then this program")

    # Workers --------------------------------------------------------------------------------

    def workers(self, function: Callable[..., Any], *arguments: Any, of: Collection[str]) -> dict[str, Any]:
        """What the function gives at each of these workers that does not go meanwhile, or the exception that it raises.
        One question is for all; if that is not answered, each is asked for itself."""
        end, left = monotonic() + SILENT, {*of}
        found: dict[str, Any] = {}
        with suppress(Silence, *GONE):
            found |= heard(answer(self.asked(function, arguments, left), SILENT / 2))
        while left := (left & {*self.threads()}) - {*found}:
            if monotonic() > end:
                raise silent(sorted(left))
            for question in answered([self.asked(function, arguments, [worker]) for worker in sorted(left)], end):
                with suppress(*GONE):
                    found |= heard(question.result())
            sleep(LOOK)
        return found

    def asked(self, function: Callable[..., Any], arguments: Sequence[Any], of: Collection[str]) -> Asked:
        return self.begin(self.client.run(function, *arguments, workers=[*of], on_error="return", asynchronous=True))

    def give_up(self, tasks: Sequence[Any]) -> None:
        """Nobody waits for these tasks. The scheduler tells those who do them."""
        with suppress(Silence, *GONE):
            answer(self.begin(self.client.cancel(tasks, force=True, asynchronous=True)), PARTING)


def heard(found: dict[str, Any]) -> dict[str, Any]:
    """The answers of those who were reached."""
    return {worker: answer for worker, answer in found.items() if not isinstance(answer, OSError)}


def silent(workers: Sequence[str]) -> NessieError:
    named = ", ".join(workers[:NAMED]) + (f" and {len(workers) - NAMED} more" if workers[NAMED:] else "")
    who = f"the workers at {named} do" if workers[1:] else f"the worker at {named} does"
    return NessieError(f"for {SILENT:g} s now {who} not answer",
                       hint="end it, wherever it has stopped, for example by kill -9; others do what it was to do")
