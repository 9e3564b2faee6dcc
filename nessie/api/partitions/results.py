"""Results that come one after another, and what must end when nobody wants the next one."""
from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from typing import Any
from weakref import finalize

from nessie.base.system.ending import aside


class Results:
    """What a generator yields. It, and then what it `needs`, is closed at its end, by an error, by `close`, or when
    nobody has this any more: the garbage collector would close it in any thread, where it may wait for itself."""

    def __init__(self, made: Generator[Any, None, None], *needs: Generator[Any, None, None] | Results) -> None:
        self._made, self._end = made, partial(close_all, made, *needs)
        self._release = finalize(self, aside, self._end)
        self._release.atexit = False

    def __iter__(self) -> Results:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._made)
        except BaseException:
            self.close()
            raise

    def map(self, function: Callable[[Any], Any]) -> Results:
        """What the function gives on each."""
        return Results((function(one) for one in self), self)

    def close(self) -> None:
        if self._release.detach() is not None:
            self._end()


def close_all(*made: Generator[Any, None, None] | Results) -> None:
    with ExitStack() as stack:
        for one in reversed(made):
            stack.callback(one.close)
