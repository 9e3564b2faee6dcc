"""Threads outside Python that share the pieces of a phase with their caller: handing a phase over takes microseconds
(nessie.cudagen.cpu.threads.team_text is what they run).

A piece p of P is the chunks from ceil(p c / P) to ceil((p + 1) c / P) of c; each is done by one thread, in order. Which
thread that is makes no difference to results.
"""
from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple
from weakref import finalize

from nessie.base.system.disk_cache import cached
from nessie.base.system.forking import STEADY
from nessie.cudagen.cpu import machine_code as building
from nessie.cudagen.cpu.threads.team_text import THREADS, text


class Entries(NamedTuple):
    """The functions of team_text."""
    share: Any
    go_on: Any
    start: Any
    close: Any


class Team:
    """`helpers` threads; fewer where the system refuses them. They end when the team is closed or dropped."""

    def __init__(self, helpers: int) -> None:
        self.native = entries()
        self.lock = Lock()
        words = (ctypes.c_int64 * (THREADS + helpers))()
        self.address = ctypes.addressof(words)
        self.helpers = self.native.start(self.address, helpers)
        self.end = finalize(self, end_helpers, self.native.close, words, self.helpers, self.lock)

    def share(self, function: Any, words: Any, chunks: int, pieces: int, interrupt: Any) -> bool:
        """All chunks of a native function (first, after the last, words), in so many pieces, 2^20 at most, unless
        interrupt[0], the interrupt word, is set meanwhile. False: nothing was done, since the team works for another
        caller."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            more = self.native.share(self.address, function, words, chunks, pieces, interrupt)
            while more:
                more = self.native.go_on(self.address)
        except BaseException:
            self.give_up(interrupt)
            self.lock.release()
            raise
        self.lock.release()
        return True

    def give_up(self, interrupt: Any) -> None:
        """End the phase before its end. No helper is in it afterwards, however often the user interrupts."""
        while True:
            with suppress(BaseException):
                interrupt[0] = 1
                while self.native.go_on(self.address):
                    pass
                return

    def close(self) -> None:
        self.end()

    def left_behind(self) -> None:
        """This process was forked off, and has none of the threads."""
        self.end.detach()


def end_helpers(close: Any, words: Any, helpers: int, lock: Lock) -> None:
    """The helpers end. Those of a caller who is at work, as the process ends, do not, and keep their words for good."""
    if lock.acquire(blocking=False):
        close(ctypes.addressof(words), helpers)
    else:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(words))


def possible() -> bool:
    return os.name == "posix"


@lru_cache(maxsize=1)
def entries() -> Entries:
    with STEADY:
        code = cached(text(), building.fingerprint(), building.build)
        found = building.load(code, Entries._fields)
    word, place = ctypes.c_int64, ctypes.c_void_p
    return Entries(ctypes.CFUNCTYPE(word, place, place, place, word, word, place)(found["share"]),
                   ctypes.CFUNCTYPE(word, place)(found["go_on"]),
                   ctypes.CFUNCTYPE(word, place, word)(found["start"]),
                   ctypes.CFUNCTYPE(None, place, word)(found["close"]))
