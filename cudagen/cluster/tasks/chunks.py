"""Runs of chunks of one phase, by the CPU target's code. To it, an array begins where it would if all of it were
there: the address of a slab, less that of as many elements as come before it."""
from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.deep import no_thread, start_thread
from nessie.base.values import DTYPES
from nessie.cudagen.cluster.processes.fitness import LEAST
from nessie.cudagen.cluster.slabs import Arrays
from nessie.cudagen.cluster.tasks.buckets import received
from nessie.cudagen.cluster.tasks.elements import Given, Made, assembled
from nessie.cudagen.cluster.tasks.wanted import Wanted, interrupt_address, task_here
from nessie.cudagen.cpu.device import load
from nessie.cudagen.cpu.machine_code import features
from nessie.cudagen.cpu.threads.team_text import PIECE, TURN
from nessie.cudagen.host.device import STACK

ERRORS, INTERRUPT = "errors", "interrupt"
WORD = (1 << 64) - 1
STACK_LEFT = 8 << 20            # bytes of a stack that are left to what recursion itself calls

_loaded: dict[str, dict[str, Any]] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class Code:
    """Machine code of a program's phases; `digest` says which, `features` what it uses of a processor."""
    digest: str
    code: bytes
    names: tuple[str, ...]
    features: frozenset[str]


@dataclass(frozen=True)
class Answers:
    """An array of elements that were asked for, in that order. The task of number `asked` has their places, those
    of numbers `parts` what others have answered; or all elements came with the task."""
    name: str
    asked: int
    parts: Sequence[int] = ()
    values: np.ndarray[Any, Any] | None = None


@dataclass(frozen=True)
class Told:
    """An array that came with the task: elements from `low` on."""
    low: int
    values: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Job:
    """Chunks of a phase from `first` to before `last`; words for its arguments. `errors` are the error words. `stack`:
    bytes that recursion may take; 0: there is none. `at_once`: one call does all chunks, since it numbers elements that
    are asked for through them."""
    function: str
    first: int
    last: int
    words: Sequence[int | str | Given | Told | Made | Answers]
    errors: Sequence[int]
    stack: int = 0
    at_once: bool = False


def functions_of(code: Code) -> dict[str, Any]:
    """The functions, loaded once a process. NessieError if this processor cannot run them."""
    with _lock:
        if code.digest not in _loaded:
            if code.features - features():
                raise NessieError("the processor of a worker that has joined the cluster lacks what the driver's uses",
                                  hint=LEAST)
            _loaded[code.digest] = load(code.code, code.names)
        return _loaded[code.digest]


def run_chunks(job: Job, given: list[Any]) -> Arrays:
    """`given`: the code, and what tasks gave."""
    function = functions_of(given[0])[job.function]
    made: Arrays = {ERRORS: np.array(job.errors, np.int64)}
    words, kept = [], []
    for word in job.words:
        match word:
            case int():
                words.append(word)
                continue
            case "errors" | "interrupt":
                words.append(made[ERRORS].ctypes.data if word == ERRORS else interrupt_address())
                continue
            case Given(low=low):
                array = assembled(word, given)
            case Answers():
                array, low = answered(word, given), 0
            case Told(low, array):
                array = np.ascontiguousarray(array)
            case Made(name, low=low):
                if name not in made:
                    made[name] = begun(word, given)
                array = made[name]
        kept.append(array)
        words.append(address(array, low))
    words_there, task = (ctypes.c_int64 * max(1, len(words)))(*words), task_here()

    def run() -> None:
        if job.at_once:
            function(job.first, job.last, words_there)
        else:
            in_turns(function, job.first, job.last, words_there, task)

    if job.stack:
        made[ERRORS][STACK] = job.stack - STACK_LEFT
        with_stack(job.stack, run)
    else:
        run()
    return made


def in_turns(function: Any, first: int, last: int, words: Any, task: Wanted) -> None:
    """These chunks in order, until nobody wants them. A call is for more of them while it takes less than a TURN."""
    piece = 1
    while first < last and not task.dropped:
        end, began = min(first + piece, last), perf_counter_ns()
        function(first, end, words)
        first, piece = end, min(2 * piece, PIECE) if perf_counter_ns() - began < TURN else max(1, piece // 2)


def answered(answers: Answers, given: list[Any]) -> np.ndarray[Any, Any]:
    asked = given[answers.asked]
    if answers.values is not None:
        return np.asarray(answers.values[asked[answers.name]])
    (found,) = received((answers.name,), [given[part] for part in answers.parts])
    return np.asarray(found[asked[f"{answers.name} in order"]])


def with_stack(size: int, run: Any) -> None:
    """Run it in a thread with a stack of so many bytes. NessieError if none can be had."""
    try:
        thread = start_thread(run, "nessie-recursion", size)
    except RuntimeError:
        raise no_thread(size) from None
    thread.join()


def begun(made: Made, given: list[Any]) -> np.ndarray[Any, Any]:
    """What an array holds before the task writes to it."""
    if made.values is not None:
        return np.array(made.values, DTYPES[made.base])
    if made.pieces:
        return np.array(assembled(made, given))
    array = np.empty(made.high - made.low, DTYPES[made.base])
    if made.fill is not None:
        array[:] = made.fill
    return array


def address(array: np.ndarray[Any, Any], low: int) -> int:
    """Where element 0 would be, as a signed word."""
    place = (array.ctypes.data - low * array.itemsize) & WORD
    return place - (WORD + 1) if place > WORD >> 1 else place


def borders_of(code_of: tuple[str, int, int], offsets: Given, words: Sequence[int | None], given: list[Any]
               ) -> tuple[int, np.ndarray[Any, Any]]:
    """The borders that lie in segments whose offsets are given: the first one's number, and of each the segment and the
    element. `code_of`: the function, the width of chunks, and how many borders there are."""
    function, width, count = code_of
    found = assembled(offsets, given)
    least, most = offsets.low, offsets.high - 2
    first, beyond = [min(count, -(-(int(found[row - offsets.low]) + row) // width))
                     for row in (offsets.low, offsets.high - 1)]
    made = np.zeros(2 * max(0, beyond - first), np.int64)
    if len(made):
        arrays = iter([address(found, offsets.low), address(made, 2 * first)])
        packed = [next(arrays) if word is None else word for word in (least, most, *words)]
        functions_of(given[0])[function](first, beyond, (ctypes.c_int64 * len(packed))(*packed))
    return first, made
