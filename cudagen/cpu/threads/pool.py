"""A pool of threads that run the chunks of a phase. Native calls leave Python's lock, so they run side by side.

    share    the chunks of a native function that ends soon: by threads outside Python (nessie.cudagen.cpu.threads.team)
    run      all others, by Python's threads

Handing work to Python's threads costs 60 to 160 µs. The caller does its share, which saves waking one thread. Where
chunks may run for ever, it only waits: then a Ctrl-C reaches it while the workers are in native code; it sets the
interrupt word, and goes on once they have ended. It wakes one thread, which wakes the next: the processor that the
caller has left is free for that one.
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
from nessie.base.system.forking import STEADY, anew_in_children
from nessie.cudagen.cpu.threads.team import Team, possible
from nessie.cudagen.cpu.threads.team_text import PIECE

Native = Callable[[int, int, Any], None]
SMALLEST_STACK = 16 << 20
SHARES = 16                     # calls a thread at least, where there are so many chunks: who starts late does fewer
MOST_PIECES = 1 << 20

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
        if team := vars(self).get("_team"):
            team.left_behind()
        self._team: Team | None = None

    def share(self, function: Native, chunks: int, words: Any, interrupt: Any, chains: int | None = None) -> None:
        """All chunks of a native function that ends soon. `chains`: so many chains of them; each does its chunks, of
        chain * chunks / chains and on, in order."""
        pieces = self.pieces(chunks) if chains is None else min(chains, chunks)
        team = self.team() if pieces > 1 and self.threads > 1 else None
        if team is not None and team.share(function, words, chunks, pieces, interrupt):
            return
        if pieces == 1 or self.threads == 1:
            run_piece(function, 0, chunks, words, interrupt)
        elif pieces:
            self.run(lambda piece, after, words: run_piece(function, -(-piece * chunks // pieces),
                                                           -(-after * chunks // pieces), words, interrupt),
                     pieces, words, interrupt)

    def pieces(self, chunks: int) -> int:
        return min(chunks, max(SHARES * self.threads, min(-(-chunks // PIECE), MOST_PIECES)))

    def team(self) -> Team | None:
        """The threads outside Python, started at the first use. None: this system has no such threads, or another
        thread is about to start them."""
        if self._team is None and possible() and self._lock.acquire(blocking=False):
            try:
                with STEADY:                    # no process is forked off that knows half of it
                    self._team = self._team or Team(self.threads - 1)
            finally:
                self._lock.release()
        return self._team

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
        if self._team is not None:
            self._team.close()

    def _serve(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()


def run_piece(function: Native, begin: int, end: int, words: Any, interrupt: Any) -> None:
    """These chunks in order, until an interrupt."""
    for first in range(begin, end, PIECE):
        if interrupt[0]:
            return
        function(first, min(first + PIECE, end), words)


@lru_cache(maxsize=8)
def shared_pool(threads: int) -> Pool:
    """The process's pool of so many threads."""
    return Pool(threads)


@anew_in_children
def forked() -> None:
    for pool in list(_pools):
        pool.forked()
