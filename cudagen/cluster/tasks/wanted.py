"""Tasks end soon once nobody wants what they give: who waited was interrupted, had no more time, or has gone.

Dask's scheduler tells the worker, which calls such a task cancelled, and waits until it ends. So a thread of the worker
looks at its tasks every LOOK seconds; the task then finds `dropped` between chunks, and `word` in native loops.
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from time import sleep
from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.base.system.forking import LOOK
from nessie.base.system.seen_files import refuse_other
from nessie.cudagen.cluster.processes.fitness import SAME, alike
from nessie.cudagen.cluster.slabs import InFile


class Wanted:
    """A task at work. `told` is what Dask's worker knows of it; `word`: what loops without a known bound look at."""

    def __init__(self, told: Any = None) -> None:
        self.told, self.dropped = told, False
        self.word = np.zeros(1, np.int64)

    def look(self) -> None:
        if self.told is not None and self.told.state == "cancelled":
            self.dropped, self.word[0] = True, 1


_at_work = set[Wanted]()
_begun = threading.Condition()
_thread = threading.local()     # the task that this thread does
_always = Wanted()             # is never dropped


def computed(driver: str, function: Callable[..., Any], *arguments: Any, task: Wanted = _always) -> Any:
    """What the function gives, as this task; the last argument is what other tasks gave. NessieError if the driver is
    not alike, or a file that it reads is another one before it, or has become one meanwhile."""
    if driver != alike():
        raise NessieError("a worker that has joined the cluster has another Nessie, Python or NumPy than the driver",
                          hint=SAME)
    before, _thread.task = task_here(), task
    try:
        found = function(*arguments)
    finally:
        _thread.task = before
    for one in (*arguments[:-1], *arguments[-1]):
        if isinstance(one, InFile):
            refuse_other(one.file)
    return found


def on_worker(driver: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The same by Dask's worker, as long as it is wanted. What is dropped gives nothing: if Dask wants it again before
    it has ended, it is done again."""
    from distributed import Reschedule, get_worker
    worker = get_worker()
    task = Wanted(worker.state.tasks.get(worker.get_current_task()))
    watcher()
    with _begun:
        _at_work.add(task)
        _begun.notify()
    try:
        found = computed(driver, function, *arguments, task=task)
    except Exception:
        if task.dropped:
            raise Reschedule from None
        raise
    finally:
        with _begun:
            _at_work.remove(task)
    if task.dropped:
        raise Reschedule
    return found


@cache
def watcher() -> threading.Thread:
    """The thread that looks, for as long as the process lives."""
    thread = threading.Thread(target=watch, name="nessie-wanted", daemon=True)
    thread.start()
    return thread


def watch() -> None:
    while True:
        with _begun:
            _begun.wait_for(lambda: _at_work)
            for task in _at_work:
                task.look()
        sleep(LOOK)


def task_here() -> Wanted:
    """The task that this thread does."""
    found: Wanted = getattr(_thread, "task", _always)
    return found


def interrupt_address() -> int:
    """Of the word that the code of this thread's task looks at."""
    return int(task_here().word.ctypes.data)
