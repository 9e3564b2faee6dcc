"""Threads that run the chunks of a phase. Native calls leave Python's lock, so they run side by side.

Handing work over costs some 60 µs, so few chunks run in the caller's thread. Else the caller only waits: a Ctrl-C
reaches it while the workers are in native code, sets the interrupt word, and goes on once they have ended.
Pieces of chunks are taken from a common counter; which thread runs which makes no difference to results.
"""
from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from itertools import count
from typing import Any

Native = Callable[[int, int, Any], None]
PIECE = 64                      # chunks a call at most, so that an interrupt is noticed between calls


class Pool:
    def __init__(self, threads: int) -> None:
        self.threads = max(1, threads)
        self._executor: ThreadPoolExecutor | None = None

    def run(self, function: Native, chunks: int, words: Any, errors: Any) -> None:
        """All chunks, by all threads; errors[1] is the interrupt word."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.threads, "nessie-worker")
        piece = max(1, min(PIECE, chunks // (4 * self.threads)))
        pieces = count()

        def work() -> None:
            while not errors[1] and (first := next(pieces) * piece) < chunks:
                function(first, min(first + piece, chunks), words)

        futures = [self._executor.submit(work) for _ in range(min(self.threads, chunks))]
        try:
            for future in futures:
                future.result()
        except BaseException:
            errors[1] = 1
            wait(futures)
            raise


@lru_cache(maxsize=8)
def shared_pool(threads: int) -> Pool:
    """The process's pool of so many threads."""
    return Pool(threads)
