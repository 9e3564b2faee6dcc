"""Threads that run the chunks of a phase. Native calls leave Python's lock, so they run side by side.

Handing work over costs 60 to 80 µs, so few chunks run in the caller's thread alone; of more it does its share, which
saves waking one thread. Where chunks may run for ever, the caller only waits: then a Ctrl-C reaches it while the
workers are in native code; it sets the interrupt word, and goes on once they have ended. It wakes one thread, which
wakes the next: the processor that the caller has left is free for that one.
Threads for recursion have large stacks: address space, of which pages are taken as recursion reaches them. Such a pool
is one device's own; when it is closed, its threads end and give their stacks back.

A process that was forked off has none of the threads; its pools start their own.

Pieces of chunks are taken from a common counter; which thread runs which makes no difference to results.
"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import lru_cache
from itertools import count
from queue import SimpleQueue
from threading import Lock
from time import sleep
from typing import Any
from weakref import WeakSet

from nessie.base.system.deep import no_thread, start_thread
from nessie.base.system.forking import anew_in_children

Native = Callable[[int, int, Any], None]
PIECE = 64                      # chunks a call at most, so that an interrupt is noticed between calls
SMALLEST_STACK = 16 << 20
SHARES = 16                     # calls a thread at least, where there are so many chunks: who starts late does fewer

_pools: WeakSet[Pool] = WeakSet()


def spread(busy: set[int]) -> None:
    """Move this thread to a processor on which none of its fellows has begun, and note that it is there: Linux may wake
    two on one, and move neither for some milliseconds. Where the thread runs from then on is the system's matter."""
    here = processor()
    if here in busy:
        everywhere = os.sched_getaffinity(0)
        if free := everywhere - busy:
            os.sched_setaffinity(0, free)
            os.sched_setaffinity(0, everywhere)
            here = processor()
    if here >= 0:
        busy.add(here)


def processor() -> int:
    """The one on which this thread is, or -1 where the system does not tell or move threads."""
    return int(here()) if (here := getcpu()) is not None else -1


@lru_cache(maxsize=1)
def getcpu() -> Any:
    return getattr(ctypes.CDLL(None), "sched_getcpu", None) if hasattr(os, "sched_setaffinity") else None


class Pool:
    """`threads` at work at a time for one caller; they are started when they are first needed. `stack`: bytes that each
    has at least (0: as is usual); less than was asked for where there is not so much address space."""

    def __init__(self, threads: int, stack: int = 0) -> None:
        self.threads, self.stack = max(1, threads), stack
        self.forked()
        _pools.add(self)

    def forked(self) -> None:
        """There are no threads yet, or no more."""
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._workers = 0
        self._lock = Lock()

    def run(self, function: Native, chunks: int, words: Any, interrupt: Any, endless: bool = False) -> None:
        """All chunks, by all threads; interrupt[0] is the interrupt word. `endless`: a chunk may run for ever."""
        piece = max(1, min(PIECE, chunks // (SHARES * self.threads)))
        pieces = count()

        def work() -> None:
            while not interrupt[0] and (first := next(pieces) * piece) < chunks:
                function(first, min(first + piece, chunks), words)

        ended: list[BaseException | None] = []
        bell: SimpleQueue[None] = SimpleQueue()
        busy = set[int]() if endless else {processor()}
        helpers = min(self.threads, chunks) - (0 if endless else 1)
        waked = count(1)

        def help() -> None:
            failure = None
            if endless and next(waked) < helpers:
                self._tasks.put(help)
            try:
                spread(busy)
                work()
            except BaseException as error:      # the caller's to raise
                failure = error
            ended.append(failure)
            bell.put(None)

        self.start(helpers)
        for _ in range(min(helpers, 1) if endless else helpers):
            self._tasks.put(help)
        try:
            if not endless:
                work()
            for _ in range(helpers):
                bell.get()
        except BaseException:
            interrupt[0] = 1
            while len(ended) < helpers:         # whichever of their bells were heard
                sleep(0.001)
            raise
        for failure in ended:
            if failure is not None:
                raise failure

    def start(self, workers: int) -> None:
        """Have so many threads at least, as far as there may be."""
        with self._lock:
            while self._workers < min(workers, self.threads):
                try:
                    start_thread(self._serve, "nessie-worker", self.stack)
                except RuntimeError:
                    if self.stack // 2 < SMALLEST_STACK:
                        raise no_thread(self.stack) from None
                    self.stack //= 2
                else:
                    self._workers += 1

    def close(self) -> None:
        """The threads end, once they have nothing to do. No more work may come. The garbage collector calls this, too,
        perhaps while the lock is held."""
        for _ in range(self._workers):
            self._tasks.put(None)

    def _serve(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()


@lru_cache(maxsize=8)
def shared_pool(threads: int) -> Pool:
    """The process's pool of so many threads."""
    return Pool(threads)


@anew_in_children
def forked() -> None:
    for pool in list(_pools):
        pool.forked()
