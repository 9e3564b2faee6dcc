"""What lies on workers, and how it is asked for. Large arrays are in slabs (cudagen.cluster.slabs), each of which a
task has given: what a worker's death loses is made again.

    submit, gather      tasks; the driver waits for several at a time
    spread, placed      arrays go to workers
    elements, patch     single elements come and go
"""
from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import Span
from nessie.base.system.deadline import deadline
from nessie.base.system.mapped_files import mapped
from nessie.base.values import BASES, DTYPES
from nessie.cudagen.cluster.engine import Doing, Engine
from nessie.cudagen.cluster.files.arrays import room_for
from nessie.cudagen.cluster.files.hands import Hands
from nessie.cudagen.cluster.kernels import ClusterProgram
from nessie.cudagen.cluster.moving import fetching
from nessie.cudagen.cluster.reaching.borders import Borders
from nessie.cudagen.cluster.reaching.ranges import Ints
from nessie.cudagen.cluster.slabs import Slab, Spread, Uploaded, pieces
from nessie.cudagen.cluster.tasks import elements
from nessie.cudagen.cluster.tasks.chunks import borders_of
from nessie.cudagen.cluster.tasks.elements import Given
from nessie.cudagen.cpu.device import Cpu, load
from nessie.cudagen.host.device import NO_FAILURE, Array
from nessie.cudagen.host.memory import view
from nessie.cudagen.loops import nodes as loops

LOCAL, BORDERED, BROAD, ON_ONE = "in parts", "in parts that overlap", "to all workers", "to one worker"
SHUFFLED, BY_PLACES = "to who has the places", "by places that tasks ask for"
EACH = 2                        # tasks for each thread of a cluster
SLAB = 1 << 22                  # elements of a task, at most, ...
MOST_EACH = 64                  # ... but so many tasks a thread are enough, ...
SHARE = 256                     # ... unless an element of 8 bytes for each so many bytes of its memory is less
LARGE = 1 << 21                 # elements that come to the driver through a file
STACK = 512 << 20               # bytes of a task's stack, where kernels recur

Held = np.ndarray[Any, Any] | Spread


@dataclass
class ToldOfCluster:
    """Counts what happened. `tasks`: by names of what they do; `on_one`: phases that one worker does alone; `broad`:
    bytes of arrays that all workers get; `here`: launches on the driver; `came`: bytes that came to the driver;
    `waits`: how often it waited; `lies`: how an array lies for a kernel's tasks, and the bytes that move for it."""
    tasks: Counter[str] = field(default_factory=Counter)
    on_one: Counter[tuple[str, str]] = field(default_factory=Counter)
    broad: Counter[tuple[str, str]] = field(default_factory=Counter)
    here: Counter[str] = field(default_factory=Counter)
    came: int = 0
    waits: int = 0
    lies: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)

    def reads(self, kernel: str, array: str, how: str, size: int) -> None:
        """An array of a launch goes to its tasks so, which moves so many bytes."""
        self.lies[kernel, array] = how, self.lies.get((kernel, array), ("", 0))[1] + size

    def alone(self, kernel: str, function: str) -> None:
        self.on_one[kernel, function] += 1

    def broadcast(self, kernel: str, array: str, size: int) -> None:
        self.broad[kernel, array] += size


class Workers:
    """The workers of an engine, who have the code of a program's kernels. `few`: elements of an array that goes along
    with tasks, and stays on the driver, whose device is `cpu`; `least`: the first failure by now; `progress`: what is
    waited for."""

    def __init__(self, engine: Engine, made: ClusterProgram, cpu: Cpu, few: int, told: ToldOfCluster | None = None
                 ) -> None:
        self.engine, self.made, self.cpu, self.few = engine, made, cpu, few
        self.hands = Hands(engine)
        self.functions = load(made.code.code, made.code.names)
        self.told = told or ToldOfCluster()
        self.progress = ""
        self.code = self.submit("code", elements.same, made.code)      # no run's: it outlives them
        self.begin()

    def begin(self) -> None:
        """A run begins: nothing has failed. Its name is only its own."""
        self.least = NO_FAILURE
        self.hands.run = uuid4().hex

    def failed(self, key: int) -> None:
        self.least = min(self.least, key)

    def error_words(self) -> list[int]:
        return [NO_FAILURE, *self.cpu.errors[1:]]

    # Tasks ----------------------------------------------------------------------------------

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any, given: Sequence[Any] = ()) -> Any:
        self.told.tasks[name.partition("-")[0]] += 1
        return self.hands.submit(name, function, *arguments, given=given)

    def parts_of(self, giving: Sequence[Any], names: Sequence[str], name: str) -> list[Any]:
        """Of what these tasks give, the arrays of these names."""
        return [self.submit(f"{name}-{number}", elements.some_of, names, given=[task])
                for number, task in enumerate(giving)]

    def gather(self, waiting: Sequence[Any], kernel: str = "", function: str = "") -> list[Any]:
        self.told.waits += 1
        began = deadline()

        def wait(done: int, of: int, lacks: str) -> None:
            alone = of == 1 and (kernel, function) in self.told.on_one
            told = [f"{phase_of(function)} {'on one worker' if alone else f'{done}/{of} slabs'}"] if function else []
            self.progress = ", ".join([*told, *([lacks] if lacks else [])])
            if began.passed():
                raise began.error(*self.places(kernel))
            if self.cpu.interrupted:
                raise KeyboardInterrupt

        try:
            found = self.engine.gather(waiting, wait, self.doing)
        finally:
            self.progress = ""
        self.told.came += sum(map(size_of, found))
        return found

    def doing(self, task: str) -> Doing:
        return Doing(slab_of(task), self.places(task.split("-")[0]), "more workers have smaller slabs")

    def places(self, kernel: str) -> list[tuple[Span, str]]:
        """Where the user wrote what the kernel does, or the one that a task of this name is of."""
        origins = [k.origin for k in self.cpu.program.kernels if f"{kernel}_".startswith(f"{k.name}_")]
        return [(span, "computed here") for origin in origins for span in origin if not span.source.library][:1]

    def cuts(self, chunks: int, items: int) -> Ints:
        """The first chunk of each task, and the end: chunks are shared alike."""
        threads, memory = self.engine.workers(), self.engine.memory
        wanted = max(EACH * threads, min(-(-items // SLAB), MOST_EACH * threads))
        if memory is not None:
            wanted = max(wanted, -(-items * SHARE // memory))
        number = max(1, min(chunks, wanted))
        return np.arange(number + 1, dtype=np.int64) * chunks // number

    def spans(self, spread: Spread) -> list[tuple[int, int]]:
        """The parts of an array that tasks share: its slabs and what is between them, or if these are few, others."""
        cuts = sorted({0, spread.length, *[end for slab in spread.slabs for end in (slab.low, slab.high)]})
        if len(cuts) <= self.engine.workers() and spread.length:
            cuts = self.cuts(spread.length, spread.length).tolist()
        return list(zip(cuts[:-1], cuts[1:], strict=True))

    def stack(self, kernel: str) -> int:
        """Bytes of a task's stack; 0: as much as it has."""
        return STACK if kernel in self.made.recursive else 0

    # Arrays ---------------------------------------------------------------------------------

    def spread(self, held: Held, base: str) -> Spread:
        """The array in slabs."""
        if isinstance(held, Spread):
            return held
        base = base or BASES[held.dtype]
        cuts = [int(cut) for cut in self.cuts(len(held), len(held))] if len(held) else []
        parts = list(zip(cuts[:-1], cuts[1:], strict=True))
        return Spread(base, len(held), self.hands.lying(held, parts) or [
            Slab(low, high, self.uploaded(held[low:high])) for low, high in parts])

    def uploaded(self, values: np.ndarray[Any, Any]) -> Uploaded:
        """What is sent is a copy: it goes later, when its memory may be another array's."""
        values = np.array(values)
        return Uploaded(self.submit("read", elements.values, values), values)

    def placed(self, array: Array) -> Held:
        """An argument of a launch on workers: in slabs, unless it has few elements."""
        if isinstance(array.buffer, Spread):
            return array.buffer
        values: np.ndarray[Any, Any] = view(array)
        if array.length <= self.few:
            return values
        spread = self.spread(values, array.base)
        if array.uses:                          # it is an argument again, perhaps
            array.buffer = spread
        return spread

    def download(self, spread: Spread) -> np.ndarray[Any, Any]:
        """The array's elements: large arrays are written by workers, each its part, and mapped, if they can."""
        if spread.length > LARGE and self.hands.through_files:
            return self.through_file(spread)
        return fetching.fetched(self, partial(self.gather, function="result"), spread, 0, spread.length)

    def through_file(self, spread: Spread) -> np.ndarray[Any, Any]:
        """The array in a file, which is there as long as somebody needs the array."""
        file, waiting = room_for(spread.bytes), []
        for low, high in self.spans(spread):
            given: list[Any] = []
            array = Given.of(spread, low, high, given)
            waiting.append(self.submit(f"write-{low}", elements.into_file, file.path, array, given=given))
        self.gather(waiting)
        return np.asarray(mapped(file, DTYPES[spread.base], spread.length, "c"))

    def elements(self, spread: Spread, places: Ints) -> np.ndarray[Any, Any]:
        """Elements at these places, wherever they lie."""
        return fetching.elements(self, self.gather, spread, places)

    def patch(self, spread: Spread, places: Ints, values: np.ndarray[Any, Any], name: str) -> None:
        """Put elements at places: into slabs, and where there are none, as slabs."""
        left = np.ones(len(places), bool)
        new = []
        for slab in spread.slabs:
            part = slice(*np.searchsorted(places, (slab.low, slab.high)))
            if part.start < part.stop:
                given: list[Any] = []
                array = Given(spread.base, slab.low, slab.high, pieces([slab], given))
                task = self.submit(name, elements.patched, array, places[part], values[part], given=given)
                new.append(Slab(slab.low, slab.high, task))
                left[part] = False
        others = np.flatnonzero(left)
        for run in np.split(others, np.flatnonzero(np.diff(places[others]) != 1) + 1):
            if len(run):
                low = int(places[run[0]])
                new.append(Slab(low, low + len(run), self.submit(name, elements.values, values[run])))
        spread.write(sorted(new, key=lambda slab: slab.low))

    # Borders --------------------------------------------------------------------------------

    def borders_here(self, borders: Borders, segments: int, scalars: Mapping[str, int], held: Mapping[str, Held],
                     made: np.ndarray[Any, Any], count: int) -> None:
        """Of a closed space: the driver's code computes all."""
        known = {loops.CHUNK_RANGE[0]: 0, "least": 0, "most": segments, **scalars}
        arrays = {name: self.download(array) if isinstance(array, Spread) else array for name, array in held.items()
                  if any(p.name == name for p in borders.tell.parameters)}
        words = [known[p.name] if not p.array else made.ctypes.data if p.writable else arrays[p.name].ctypes.data
                 for p in borders.tell.parameters[2:]]
        self.functions[borders.tell.name](0, count, (ctypes.c_int64 * len(words))(*words))

    def borders_on_workers(self, borders: Borders, offsets: Spread, scalars: Mapping[str, int],
                           made: np.ndarray[Any, Any], count: int) -> None:
        """Of an irregular one: each worker computes those in segments whose offsets it has."""
        words = [None if p.array else scalars.get(p.name, 0) for p in borders.tell.parameters[4:]]
        waiting = []
        for slab in offsets.slabs:
            low, high = slab.low, min(slab.high + 1, offsets.length)
            if high - low > 1:
                given: list[Any] = [self.code]
                array = Given(offsets.base, low, high, pieces(list(offsets.between(low, high)), given))
                waiting.append(self.submit(borders.tell.name, borders_of,
                                           (borders.tell.name, borders.width, count), array, words, given=given))
        for first, found in self.gather(waiting):
            made[2 * first:2 * first + len(found)] = found


def phase_of(function: str) -> str:
    """A phase's function in words: K2 sweep."""
    kernel, _, phase = function.rpartition("_")
    return f"{kernel} {phase}" if kernel else function


def slab_of(task: str) -> str:
    """What the task of this name does, in words."""
    name, chunk = task.split("-")[:2]
    return f"the slab of {phase_of(name)} from chunk {chunk} on" if chunk.isdigit() else f"a task of {name}"


def size_of(found: Any) -> int:
    """Bytes of what came from a task."""
    match found:
        case np.ndarray():
            return int(found.nbytes)
        case dict():
            return sum(map(size_of, found.values()))
        case tuple():
            return sum(map(size_of, found))
    return 0
