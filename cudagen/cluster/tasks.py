"""What workers do. A task is a run of chunks of one phase, by the CPU target's code, or moves parts of arrays.

A task gives a dictionary of arrays, whose names are the plan's. To the code, an array begins where it would if all of
it were there: the address of a slab, less that of as many elements as come before it.
"""
from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from nessie.base.fitted import BEYOND, HINT
from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.mapped_files import place_of
from nessie.base.system.seen_files import refuse_other
from nessie.base.values import DTYPES
from nessie.cudagen.cluster.moving.buckets import received
from nessie.cudagen.cluster.processes.fitness import LEAST, SAME, alike
from nessie.cudagen.cluster.slabs import Arrays, InFile, Piece, Spread, pieces
from nessie.cudagen.cpu.device import load
from nessie.cudagen.cpu.machine_code import features
from nessie.cudagen.host.device import STACK

ERRORS, INTERRUPT = "errors", "interrupt"
WORD = (1 << 64) - 1
STACK_LEFT = 8 << 20            # bytes of a stack that are left to what recursion itself calls


@dataclass(frozen=True)
class Code:
    """Machine code of a program's phases; `digest` says which, `features` what it uses of a processor."""
    digest: str
    code: bytes
    names: tuple[str, ...]
    features: frozenset[str]


@dataclass(frozen=True)
class Given:
    """An array that is read: elements from `low` to before `high`."""
    base: str
    low: int
    high: int
    pieces: Sequence[Piece]
    fill: Any = None

    @classmethod
    def of(cls, spread: Spread, low: int, high: int, given: list[Any]) -> Given:
        """Such a part of an array in slabs, whose tasks join those that are given."""
        return cls(spread.base, low, high, pieces(list(spread.between(low, high)), given), spread.fill)

    def array(self, given: list[Any]) -> np.ndarray[Any, Any]:
        """The elements, where the task is done."""
        return assembled(self, given)


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
class Made:
    """An array that the task gives: elements from `low` to before `high`. What they are before it writes is in pieces,
    or in `fill`, or came with the task. Two of one name are one array: the code knows cells by several types."""
    name: str
    base: str
    low: int
    high: int
    pieces: Sequence[Piece] = ()
    fill: Any = None
    values: np.ndarray[Any, Any] | None = None


@dataclass(frozen=True)
class Job:
    """Chunks of a phase from `first` to before `last`; words for its arguments. `errors` are the error words. `stack`:
    bytes that recursion may take; 0: there is none."""
    function: str
    first: int
    last: int
    words: Sequence[int | str | Given | Told | Made | Answers]
    errors: Sequence[int]
    stack: int = 0


_loaded: dict[str, dict[str, Any]] = {}
_lock = threading.Lock()
# By runs: what loops without a known bound look at.
_words: WeakValueDictionary[str, np.ndarray[Any, Any]] = WeakValueDictionary()
_stopped: set[str] = set()      # runs
_task = threading.local()       # the word of the run that this thread does a task of


def functions_of(code: Code) -> dict[str, Any]:
    """The functions, loaded once a process. NessieError if this processor cannot run them."""
    with _lock:
        if code.digest not in _loaded:
            if code.features - features():
                raise NessieError("the processor of a worker that has joined the cluster lacks what the driver's uses",
                                  hint=LEAST)
            _loaded[code.digest] = load(code.code, code.names)
        return _loaded[code.digest]


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
    words_there = (ctypes.c_int64 * max(1, len(words)))(*words)

    def run() -> None:
        function(job.first, job.last, words_there)

    if job.stack:
        made[ERRORS][STACK] = job.stack - STACK_LEFT
        with_stack(job.stack, run)
    else:
        run()
    return made


def answered(answers: Answers, given: list[Any]) -> np.ndarray[Any, Any]:
    asked = given[answers.asked]
    if answers.values is not None:
        return np.asarray(answers.values[asked[answers.name]])
    (found,) = received((answers.name,), [given[part] for part in answers.parts])
    return np.asarray(found[asked[f"{answers.name} in order"]])


def with_stack(size: int, run: Any) -> None:
    """Run it in a thread with a stack of so many bytes."""
    with _lock:
        before = threading.stack_size(size)
        thread = threading.Thread(target=run)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
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


def assembled(part: Given | Made, given: list[Any]) -> np.ndarray[Any, Any]:
    """Its elements; without a copy where one piece has them all."""
    low, high = part.low, part.high
    for first, last, number, name, start in part.pieces:
        if first <= low and high <= last:
            return np.ascontiguousarray(given[number][name][start + low - first:start + high - first])
    array = np.empty(high - low, DTYPES[part.base])
    if sum(last - first for first, last, *_ in part.pieces) < high - low:
        array[:] = 0 if part.fill is None else part.fill
    for first, last, number, name, start in part.pieces:
        array[first - low:last - low] = given[number][name][start:start + last - first]
    return array


def in_memory(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array; of a file, which may change when the task is done, a copy."""
    return array if place_of(array) is None else np.array(array)


def cast(array: Given, base: str, given: list[Any]) -> Arrays:
    """An array with elements of another type. NessieError for ints that it does not have."""
    found = assembled(array, given)
    with np.errstate(over="ignore"):
        made = found.astype(DTYPES[base])
    if made.dtype.kind == "i" and not np.array_equal(made, found):
        raise NessieError(f"{BEYOND} ({HINT})")
    return {"": made}


def whole(array: Given, given: list[Any]) -> Arrays:
    """An array that many tasks read, put together once."""
    return {"": in_memory(assembled(array, given))}


def values(array: np.ndarray[Any, Any], given: list[Any]) -> Arrays:
    """An array that came with the task."""
    return {"": array}


def same(value: Any, given: list[Any]) -> Any:
    """What many tasks get."""
    return value


def from_file(array: InFile, low: int, high: int, given: list[Any]) -> Arrays:
    """Elements of an array that lies in a file."""
    return {"": np.array(array[""][low:high])}


def into_file(path: str, array: Given, given: list[Any]) -> None:
    """Write the elements where they belong in a file of an array."""
    found = assembled(array, given)
    try:
        with open(path, "r+b") as file:
            file.seek(array.low * found.itemsize)
            file.write(found.data)
    except OSError as error:
        raise NessieError(f"{path}: cannot be written: {error.strerror or error}") from None


def some_of(names: Sequence[str], given: list[Any]) -> Arrays:
    """The arrays of these names, of those that a task gave."""
    return {name: given[0][name] for name in names}


def picked(array: Given, places: np.ndarray[Any, Any] | None, given: list[Any]) -> np.ndarray[Any, Any]:
    """All elements between the array's bounds, or those at places."""
    found = assembled(array, given)
    return in_memory(found) if places is None else found[places - array.low]


def patched(array: Given, places: np.ndarray[Any, Any], values: np.ndarray[Any, Any], given: list[Any]) -> Arrays:
    """The array, with these elements at these places."""
    found = np.array(assembled(array, given))
    found[places - array.low] = values
    return {"": found}


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
