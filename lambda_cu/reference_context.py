"""What one run of the reference executor keeps: the first error, the limits, the counts."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from nessie.base.source import InternalError, NessieError, Origin, Span, user_span
from nessie.lambda_cu import ir

Array = np.ndarray[Any, Any]

INDEX_BITS = 40
SCALAR_DEPTH = 10_000           # calls inside calls at thread level, each some frames of Python's own stack


@dataclass(frozen=True)
class Limits:
    """How deep functions may call, how many bytes may be held, and what to call now and then (it may raise)."""
    depth: int = 1_000_000
    memory: int | None = None
    poll: Callable[[], None] | None = None


@dataclass
class Stats:
    """Kernels launched that had something to do, and the elements that their SOACs walked."""
    launches: int = 0
    elements: int = 0


class Context:
    def __init__(self, program: ir.Program, limits: Limits, stats: Stats) -> None:
        self.sites = program.sites
        self.numbers = {site.name: number for number, site in enumerate(program.sites)}
        self.scalar_functions = {function.name: function for function in program.scalar_functions}
        self.limits, self.stats = limits, stats
        self.error: int | None = None           # the least key of a failure not yet raised
        self.held = 0                           # bytes of arrays that are alive
        self.origin: Origin = ()                # of the statement under way

    def record(self, site: str, index: int) -> None:
        """The site failed at this index; of several failures the least is kept."""
        key = (self.numbers[site] << INDEX_BITS) + index
        self.error = key if self.error is None else min(self.error, key)

    def raise_pending(self) -> None:
        """The host looks at the error word."""
        if self.error is not None:
            site, index = self.sites[self.error >> INDEX_BITS], self.error & ((1 << INDEX_BITS) - 1)
            raise NessieError(site.message, *places(site.origin, f"at element {index}" if site.element else ""))

    def inconsistent(self, message: str) -> NoReturn:
        """What no right program does; after a failure it is a consequence of that."""
        self.raise_pending()
        raise InternalError(f"the reference executor found that {message}")

    def poll(self) -> None:
        if self.limits.poll is not None:
            self.limits.poll()

    def reserve(self, size: int) -> None:
        """Refuse an allocation that goes over the limit, before it is made."""
        if self.limits.memory is not None and self.held + size > self.limits.memory:
            message = f"{size:,} bytes are needed, {self.held:,} of {self.limits.memory:,} are in use"
            raise NessieError(f"out of memory: {message}", *places(self.origin), hint="--memory sets the limit")

    def hold(self, array: Array) -> None:
        """Count the array until nobody holds it."""
        if self.limits.memory is not None and array.nbytes:
            self.held += array.nbytes
            weakref.finalize(array, self.release, array.nbytes)

    def release(self, size: int) -> None:
        self.held -= size

    def too_deep(self, message: str) -> NoReturn:
        raise NessieError(message, *places(self.origin), hint="does it end? --depth sets the limit")


def places(origin: Origin, label: str = "") -> tuple[tuple[Span, str], ...]:
    span = user_span(origin)
    return ((span, label),) if span is not None else ()
