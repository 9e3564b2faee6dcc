"""Waits that hear a Ctrl-C, and the end of the program's time: Python tells a thread of these when it next runs code of
Python's, which it does every LOOK seconds here.

    in_thread           what a thread of its own makes
    answer, answered    what others make, in time

Locks that are waited for so are turns (nessie.base.system.forking).
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent import futures
from contextlib import suppress
from math import inf
from time import monotonic
from typing import TypeVar

from nessie.base.system.forking import LOOK

T = TypeVar("T")


class Silence(Exception):
    """There is no answer in time."""


def in_thread(make: Callable[[], T], undo: Callable[[T], object] = lambda _: None) -> futures.Future[T]:
    """What the thread makes, which undoes it if nobody waits any more."""
    given: futures.Future[T] = futures.Future()

    def work() -> None:
        try:
            made = make()
        except BaseException as error:
            with suppress(futures.InvalidStateError):       # nobody waits
                given.set_exception(error)
        else:
            if given.set_running_or_notify_cancel():
                given.set_result(made)
            else:
                undo(made)

    threading.Thread(target=work, daemon=True).start()
    return given


def answer(question: futures.Future[T], seconds: float = inf) -> T:
    if not answered([question], monotonic() + seconds):
        raise Silence
    return question.result()


def answered(questions: Collection[futures.Future[T]], end: float) -> set[futures.Future[T]]:
    """Those that are answered when it is this time, by `monotonic`, or all of them earlier. Nobody waits for the others
    any more."""
    try:
        while True:
            found = futures.wait(questions, min(LOOK, max(0.0, end - monotonic())))
            if not found.not_done or monotonic() >= end:
                return found.done
    finally:
        for question in questions:
            question.cancel()
