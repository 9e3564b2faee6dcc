"""Recursion as deep as programs are: passes recurse over trees, and trees may be 10 000 levels deep."""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

STACK_BYTES = 1 << 30           # address space only: pages are taken as the recursion reaches them
RECURSION_LIMIT = 1_000_000


def run_deep(work: Callable[[], T]) -> T:
    """work(), on a thread with a large stack. Exceptions come out as they are; Ctrl-C reaches the caller."""
    outcome: list[T] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            outcome.append(work())
        except BaseException as error:      # re-raised below, in the caller's thread
            failure.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    sys.setrecursionlimit(RECURSION_LIMIT)
    try:
        thread = threading.Thread(target=body, name="nessie", daemon=True)
        thread.start()
        threading.stack_size(size)
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
    if failure:
        raise failure[0]
    return outcome[0]
