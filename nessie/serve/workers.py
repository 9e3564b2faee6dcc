"""The child processes that answer a live page's questions. Each answers one question at a time, within limits: one that
takes too long, or takes too much, is ended, and another takes its place.

    workers = Workers(Limits())
    await workers.ask(b'{"do": "look", "program": "2 + 3;"}')

A second process is warm while the first one works, so that an edit need not wait for a run that will not end.
"""
from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from nessie.base.records import dataclass
from nessie.base.widths import FULL, Widths

LENGTH = 8                      # bytes before each question and answer
PROCESSES = 2
GRACE = 1.0                     # seconds that a worker has to give the answer that nobody waits for any more


class Busy(Exception):
    """More questions wait than are let wait."""


class Ended(Exception):
    """The worker had to be ended, or came to an end, before it answered."""


@dataclass(frozen=True)
class Limits:
    """`seconds` for a program's run; a question may take `patience` times as long. `memory`: bytes for a program, whose
    numbers have `widths`. `waiting`: questions that may wait; `answer`: the longest, in bytes."""
    seconds: float = 10.0
    memory: int = 512 << 20
    threads: int = 2
    patience: float = 1.5
    waiting: int = 16
    answer: int = 128 << 20
    widths: Widths = FULL


class Worker:
    """A process that is being made ready, or is ready."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.ready = asyncio.ensure_future(self.answer(1 << 10))

    async def answer(self, longest: int) -> bytes:
        """What the process answers next."""
        assert self.process.stdout is not None
        try:
            size = int.from_bytes(await self.process.stdout.readexactly(LENGTH), "big")
            if size <= longest:
                return await self.process.stdout.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        raise Ended("it took more than it may have, and was ended")

    async def ask(self, question: bytes, limits: Limits) -> bytes:
        await asyncio.shield(self.ready)
        assert self.process.stdin is not None
        with suppress(ConnectionError):
            self.process.stdin.write(len(question).to_bytes(LENGTH, "big") + question)
            await self.process.stdin.drain()
        return await self.answer(limits.answer)

    def end(self) -> None:
        self.ready.cancel()
        with suppress(ProcessLookupError):
            self.process.kill()


class Workers:
    """`free` are the workers without a question, the one that worked last at the end: it is asked first, as it may
    know the program."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.free: list[Worker] = []
        self.all: set[Worker] = set()
        self.waiting = 0
        self.freed, self.starting = asyncio.Condition(), asyncio.Lock()
        self.late: set[asyncio.Future[None]] = set()

    async def start(self) -> None:
        """Begin to make workers ready."""
        async with self.starting:
            while len(self.all) < PROCESSES:
                worker = Worker(await self.process())
                self.all.add(worker)
                self.free.insert(0, worker)

    async def process(self) -> asyncio.subprocess.Process:
        limits = self.limits
        words = [sys.executable, "-m", "nessie.serve.worker", str(limits.seconds), str(limits.memory),
                 str(limits.threads), str(limits.widths.floats), str(limits.widths.ints)]
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return await asyncio.create_subprocess_exec(*words, stdin=asyncio.subprocess.PIPE,
                                                    stdout=asyncio.subprocess.PIPE, env=kept, start_new_session=True)

    async def ask(self, question: bytes) -> bytes:
        """The answer. Raises Busy or Ended. Whoever asks may be cancelled; the worker then ends soon."""
        worker = await self.take()
        asking = asyncio.ensure_future(worker.ask(question, self.limits))
        try:
            await asyncio.wait({asking}, timeout=self.limits.seconds * self.limits.patience)
        except asyncio.CancelledError:
            self.whole(self.finish(worker, asking))
            raise
        if not asking.done() or asking.exception():
            await self.whole(self.replace(worker))
            long = "" if asking.done() else f"it took more than {self.limits.seconds:g} seconds, and was ended"
            asking.cancel()
            raise Ended(long or str(asking.exception()))
        await self.whole(self.give_back(worker))
        return asking.result()

    async def take(self) -> Worker:
        """A worker that is free; Busy if too many wait for one."""
        if self.waiting >= self.limits.waiting:
            raise Busy
        self.waiting += 1
        try:
            async with self.freed:
                await self.freed.wait_for(lambda: bool(self.free))
                await self.without_dead()
                ready = [worker for worker in self.free if worker.ready.done()]
                found = (ready or self.free)[-1]
                self.free.remove(found)
                return found
        finally:
            self.waiting -= 1

    async def without_dead(self) -> None:
        """Have others in place of the workers that died while nobody asked them."""
        dead = [worker for worker in self.free if worker.process.returncode is not None]
        for worker in dead:
            worker.end()
            self.free.remove(worker)
            self.all.discard(worker)
        if dead:
            await self.whole(self.start())

    async def give_back(self, worker: Worker) -> None:
        async with self.freed:
            self.free.append(worker)
            self.freed.notify()

    async def replace(self, worker: Worker) -> None:
        """End the worker, and begin to make another one ready."""
        worker.end()
        await worker.process.wait()
        self.all.discard(worker)
        await self.start()
        async with self.freed:
            self.freed.notify()

    async def finish(self, worker: Worker, asking: asyncio.Future[bytes]) -> None:
        """Let the worker finish what nobody waits for if that is soon."""
        await asyncio.wait({asking}, timeout=GRACE)
        if asking.done() and not asking.exception():
            await self.give_back(worker)
        else:
            asking.cancel()
            await self.replace(worker)

    def whole(self, work: Coroutine[Any, Any, None]) -> asyncio.Future[None]:
        """It is done to its end, though whoever waits for it is cancelled: no worker is lost."""
        task = asyncio.ensure_future(work)
        self.late.add(task)
        task.add_done_callback(self.late.discard)
        return asyncio.shield(task)

    def end(self) -> None:
        for worker in self.all:
            worker.end()
