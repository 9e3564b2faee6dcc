"""Sorts in parts: helpers have ended when a sort has, however it ends."""
from __future__ import annotations

import threading
from time import sleep
from typing import Any

import numpy as np
import pytest

from nessie.cudagen.cpu import sorting

VALUES = np.random.default_rng(1).integers(0, 10**9, 4 * sorting.EACH)


def test_an_interrupt_waits_for_the_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they write to may be another's afterwards."""
    may, join, joins = threading.Event(), threading.Thread.join, list[str]()

    class Slow(threading.Thread):
        def run(self) -> None:
            may.wait(60)
            sleep(0.2)
            super().run()

        def join(self, timeout: float | None = None) -> None:
            joins.append(self.name)
            if len(joins) == 1:
                may.set()
                raise KeyboardInterrupt
            join(self, timeout)

    monkeypatch.setattr(sorting, "Thread", Slow)
    result = VALUES.copy()
    with pytest.raises(KeyboardInterrupt):
        sorting.sort_in_place(result, 4)
    assert not any(isinstance(thread, Slow) for thread in threading.enumerate())
    assert np.array_equal(result, np.sort(VALUES))


def test_without_threads_it_sorts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    result = VALUES.copy()
    sorting.sort_in_place(result, 4)
    assert np.array_equal(result, np.sort(VALUES))
