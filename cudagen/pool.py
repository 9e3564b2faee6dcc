"""Threads that run the chunks of a phase. Native calls leave Python's lock, so they run side by side.

Handing work over costs 60 to 80 µs, so few chunks run in the caller's thread alone; of more it does its share, which
saves waking one thread. Where chunks may run for ever, the caller only waits: then a Ctrl-C reaches it while the
workers are in native code; it sets the interrupt word, and goes on once they have ended.
Pieces of chunks are taken from a common counter; which thread runs which makes no difference to results.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import count
from queue import SimpleQueue
from threading import Lock, Thread
from time import sleep
from typing import Any

Native = Callable[[int, int, Any], None]
PIECE = 64                      # chunks a call at most, so that an interrupt is noticed between calls
SHARES = 16                     # calls a thread at least, where there are so many chunks: who starts late does fewer


class Pool:
    """`threads` at work at a time for one caller; they are started when they are first needed."""

    def __init__(self, threads: int) -> None:
        self.threads = max(1, threads)
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._workers = 0
        self._lock = Lock()

    def run(self, function: Native, chunks: int, words: Any, errors: Any, endless: bool = False) -> None:
        """All chunks, by all threads; errors[1] is the interrupt word. `endless`: a chunk may run for ever."""
        piece = max(1, min(PIECE, chunks // (SHARES * self.threads)))
        pieces = count()

        def work() -> None:
            while not errors[1] and (first := next(pieces) * piece) < chunks:
                function(first, min(first + piece, chunks), words)

        ended: list[BaseException | None] = []
        bell: SimpleQueue[None] = SimpleQueue()

        def help() -> None:
            failure = None
            try:
                work()
            except BaseException as error:      # the caller's to raise
                failure = error
            ended.append(failure)
            bell.put(None)

        helpers = min(self.threads, chunks) - (0 if endless else 1)
        self._start(helpers)
        for _ in range(helpers):
            self._tasks.put(help)
        try:
            if not endless:
                work()
            for _ in range(helpers):
                bell.get()
        except BaseException:
            errors[1] = 1
            while len(ended) < helpers:         # whichever of their bells were heard
                sleep(0.001)
            raise
        for failure in ended:
            if failure is not None:
                raise failure

    def _start(self, workers: int) -> None:
        with self._lock:
            while self._workers < workers:
                Thread(target=self._serve, name="nessie-worker", daemon=True).start()
                self._workers += 1

    def _serve(self) -> None:
        while True:
            self._tasks.get()()


@lru_cache(maxsize=8)
def shared_pool(threads: int) -> Pool:
    """The process's pool of so many threads."""
    return Pool(threads)
