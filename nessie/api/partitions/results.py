"""Results that come one after another, and what must end when nobody wants the next one."""
from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from inspect import GEN_RUNNING, getgeneratorstate
from typing import Any

from nessie.base.source import NessieError
from nessie.base.system.ending import forget, with_owner


class Results:
    """What a generator yields. It, and then what it `needs`, is closed at its end, by an error, by `close`, at the end
    of the process, or when nobody has this any more: the garbage collector would close it in any thread, where it may
    wait for itself. A child of the process that has asked for them has none of the threads that make them: it gets no
    result, and ends nothing."""

    def __init__(self, made: Generator[Any, None, None], *needs: Generator[Any, None, None] | Results) -> None:
        self._made, self._end, self._process = made, partial(close_all, made, *needs), os.getpid()
        with_owner(self, self._end)

    def __iter__(self) -> Results:
        return self

    def __next__(self) -> Any:
        if self._is_child:
            raise NessieError("results are taken by the process that has asked for them, and this is a child of it",
                              hint="let the child ask for results of its own")
        self._refuse_running()
        try:
            return next(self._made)
        except BaseException:
            self.close()
            raise

    def map(self, function: Callable[[Any], Any]) -> Results:
        """What the function gives on each."""
        return Results((function(one) for one in self), self)

    def close(self) -> None:
        """Who is interrupted meanwhile has the rest closed later."""
        if self._is_child:
            return
        self._refuse_running()
        self._end()
        forget(self._end)

    @property
    def _is_child(self) -> bool:
        return self._process != os.getpid()

    def _refuse_running(self) -> None:
        """NessieError while the next one is made: who takes it would have fewer than there are."""
        if getgeneratorstate(self._made) == GEN_RUNNING:
            raise NessieError("another thread takes the next result, or the function that makes it does: results are "
                              "taken, and closed, by one at a time", hint="threads can share a lock, or list(results)")


def close_all(*made: Generator[Any, None, None] | Results) -> None:
    with ExitStack() as stack:
        for one in reversed(made):
            stack.callback(one.close)
