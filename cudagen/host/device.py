"""The interface of a device to the host level: memory, launches, errors. The CPU and the GPU targets are devices.

Scalars cross as Python values: int, float, bool, a one-character str for char. Arrays are handles that only the device
looks into; chars in them are int32 code points. The host counts the uses of a handle and frees it after the last.

A device has ERROR_WORDS, which its kernels see. A failing check records min(key), key = site number * 2**40 + index, in
the first and goes on with a zero; no kernel does anything after that. The host asks for it before it relies on anything
that a kernel has computed. The second says how often loops without a known bound may go round; one that goes round
more often records a key beyond all sites, and interrupts the run. The third is how deep scalar functions may call, the
fourth how many bytes of a thread's stack they may take; a call that would be too deep records a key beyond all sites,
too. Such a key says which call it is (beyond_sites). The fifth is set by a GPU's kernel that has failed, when all of it
is done: kernels look at it first.

A word of its own, the interrupt word, makes such loops and recursion end if it is not 0. The host may set it while
kernels run, so of a GPU it lies in the host's memory, far from kernels: they look at it seldom, and nowhere else.
"""
from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import Any, Protocol

import numpy as np

from nessie.base.records import dataclass
from nessie.base.values import OnDevice
from nessie.lambda_cu.running.default_depths import MOST_CALLS, Costs

NO_FAILURE = 2**63 - 1          # no key is greater
INDEX_BITS = 40
FAILURE, ROUNDS, DEPTH, STACK, STOPPED = ERROR_WORDS = range(5)
POLL_EVERY = 1 << 16            # rounds between two looks at the interrupt word
MOST_ROUNDS = 2**62

ENDLESS, TOO_DEEP, NO_STACK = range(3)      # what keys beyond all sites say

Scalar = int | float | bool | str


@dataclass(eq=False)
class Array:
    """`length` elements of `base` in a device's memory; `buffer` is the device's own affair. `uses`: how many
    places of the host level hold it. `last`: the last element, if that is known without a look into memory; `few`: all
    of them, if they have been read; `given`: what was uploaded, where the host keeps that."""
    base: str
    length: int
    buffer: Any
    uses: int = 0
    last: Scalar | None = None
    few: np.ndarray[Any, Any] | None = None
    given: np.ndarray[Any, Any] | None = None


Held = Scalar | Array


class ErrorWords:
    """A device's part that looks at its error words, and at its interrupt word, the only one of its array: arrays that
    the host can read and write."""
    errors: Any
    interrupt_word: Any
    patience = math.inf

    def native(self, host: Any) -> Any:
        """Nothing runs the host level in native code."""

    def attempt(self, host: Any, values: Sequence[Held]) -> tuple[Any, list[Held]] | None:
        """All calls are alike: none is tried."""
        return None

    def offsets(self, array: Array) -> np.ndarray[Any, Any] | None:
        """What came to the device as this array, if that is known."""
        return array.given

    @property
    def progress(self) -> str:
        """A launch is all that there is to tell."""
        return ""

    def failure(self) -> int:
        return int(self.errors[FAILURE])

    @property
    def interrupted(self) -> bool:
        return bool(self.interrupt_word[0])

    def interrupt(self) -> None:
        self.interrupt_word[0] = 1


def beyond_sites(sites: int, what: int, call: int) -> int:
    """The site number that stands for a loop without an end, or for recursion that is too deep, for the number of calls
    or for the stack, at the program's call of this number (lambda_cu.scope.inner_calls)."""
    return sites + 3 * call + what


def said_beyond(number: int, sites: int) -> tuple[int, int]:
    """The failure that such a number stands for, and its call."""
    call, what = divmod(number - sites, 3)
    return what, call


def elements(values: Sequence[Held]) -> int:
    """The elements of all arrays among these."""
    return sum([value.length for value in values if isinstance(value, Array)])


class OutOfMemory(Exception):
    """An allocation would go beyond the limit; nothing was allocated."""

    def __init__(self, wanted: int, used: int, limit: int) -> None:
        super().__init__(wanted, used, limit)
        self.wanted, self.used, self.limit = wanted, used, limit


class Outgrown(Exception):
    """What was to stay small wants an array that is not; nothing was allocated."""


class Device(Protocol):
    """`patience`: after so many statements of the host level it is worth asking for a native edition of it (`native`).
    `interrupted` is set by `interrupt`, from any thread; loops without a known bound look at it too. `skips`: its
    kernels do nothing after one that has failed, so the host need not ask before it launches. `costs`: what the host
    level takes there. `offers`: the functions with `apart` that it can launch, like kernels."""
    skips: bool
    offers: Container[str]
    costs: Costs
    patience: float

    @property
    def interrupted(self) -> bool: ...

    @property
    def progress(self) -> str:
        """What of a launch is done, in words for the user; '' where there is nothing to tell."""

    def native(self, host: Any) -> Any:
        """What calls functions of the host level in native code, for this run; None: nothing does (yet)."""

    def attempt(self, host: Any, values: Sequence[Held]) -> tuple[Any, list[Held]] | None:
        """Where a call's arguments are so little that native code may try to do it, at the risk of Outgrown: what does
        it, and what that is given."""

    def begin(self, memory: int | None, rounds: int = MOST_ROUNDS, depth: int = MOST_CALLS) -> None:
        """Start a run: no failure, not interrupted, at most `memory` bytes (None: the device's own default)."""

    def launch(self, kernel: str, arguments: Sequence[Held], spare: Container[int]) -> Sequence[Held]:
        """Run a kernel of the program that the device was made for; its results in order. `spare`: the numbers of
        arguments that nobody needs any more, whose memory results may take."""

    def upload(self, base: str, values: np.ndarray[Any, Any] | OnDevice) -> Array:
        """An array of these values. They may stay where they are: nobody changes them during the run."""

    def download(self, array: Array) -> np.ndarray[Any, Any]:
        """The array's values, as NumPy has them, valid for ever: their memory is not used again."""

    def read(self, array: Array, index: int) -> Scalar:
        """One element."""

    def offsets(self, array: Array) -> np.ndarray[Any, Any] | None:
        """The array's elements, if the host sees them without waiting."""

    def free(self, array: Array) -> None:
        """The array's memory may be used again."""

    def failure(self) -> int:
        """The least key recorded by the launches so far, or NO_FAILURE."""

    def interrupt(self) -> None:
        """Make what is running end soon, with results that nobody uses."""

    def used(self) -> int:
        """Bytes of memory in use."""
