"""Tasks belong to runs of programs. What is done for a run that is stopped ends soon, and nothing of other runs."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from nessie.base.source import NessieError
from nessie.base.system.seen_files import refuse_other
from nessie.cudagen.cluster.processes.fitness import SAME, alike
from nessie.cudagen.cluster.slabs import InFile

_lock = threading.Lock()
# By runs: what loops without a known bound look at.
_words: WeakValueDictionary[str, np.ndarray[Any, Any]] = WeakValueDictionary()
_stopped: set[str] = set()      # runs
_task = threading.local()       # the word of the run that this thread does a task of


def of_run(driver: str, run: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function gives, as a task of this run; the last argument is what other tasks gave. NessieError if the
    driver is not alike, or a file that it reads is another one before it, or has become one meanwhile."""
    if driver != alike():
        raise NessieError("a worker that has joined the cluster has another Nessie, Python or NumPy than the driver",
                          hint=SAME)
    with _lock:
        word = _words.get(run)
        if word is None:
            word = _words[run] = np.array([run in _stopped], np.int64)
    _task.word = word
    try:
        found = function(*arguments)
    finally:
        del _task.word
    for one in (*arguments[:-1], *arguments[-1]):
        if isinstance(one, InFile):
            refuse_other(one.file)
    return found


def stop(run: str) -> None:
    """What is done here for this run ends soon."""
    with _lock:
        _stopped.add(run)
        if run in _words:
            _words[run][0] = 1


_never = np.zeros(1, np.int64)


def interrupt_address() -> int:
    """Of the word that the code of this thread's task looks at."""
    return int(getattr(_task, "word", _never).ctypes.data)


def interrupted() -> bool:
    """Is the run of this thread's task stopped?"""
    return bool(getattr(_task, "word", _never)[0])
