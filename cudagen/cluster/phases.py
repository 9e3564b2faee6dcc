"""A kernel's launch on a cluster: its plan's phases in order, each as tasks of some chunks, or on the driver.

    an ORDER     cudagen.cluster.moving: keys go to who sorts their range
    in chunks    reach (cudagen.cluster.reach) says which elements each chunk reads and writes; a task gets those of its
                 chunks, as parts of slabs, and gives what it writes, which are slabs of the result
    once         on the driver, which has what there is one of for each chunk (totals, carries, borders); of large
                 arrays the few places come where chunks meet, and go back
    on one       what cannot be parted so is one task: chunks that come in order, writes to any place, unless they are
                 apart (cudagen.cluster.moving.writes)

Chunks depend on sizes alone, and the driver folds their totals by the CPU's own code: bits are the CPU target's.
"""
from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.values import DTYPES
from nessie.cudagen.cluster import tasks
from nessie.cudagen.cluster.moving import shuffle, sorting
from nessie.cudagen.cluster.moving.answers import EACH_PLACE, Asked, ask
from nessie.cudagen.cluster.moving.asking import Asking
from nessie.cudagen.cluster.moving.writes import Apart
from nessie.cudagen.cluster.ranges import Ints, Range
from nessie.cudagen.cluster.reach import Facts, Known, Reached, lanes_of, places_of, reach
from nessie.cudagen.cluster.slabs import Slab, Spread, pieces
from nessie.cudagen.cluster.tasks import ERRORS, Given, Job, Made, Told
from nessie.cudagen.cluster.workers import BORDERED, BROAD, BY_PLACES, LOCAL, ON_ONE, Held, Workers
from nessie.cudagen.cpu.device import CpuLauncher, PreparedPhase
from nessie.cudagen.host.device import FAILURE, Array
from nessie.cudagen.host.launching import UNPACKERS
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import WORKERS, ArrayResult, Phase
from nessie.cudagen.skeletons.cpu.order_text import CHUNK as EACH_ROWS
from nessie.lambda_cu import nodes as ir

MOST_PLACES = 1 << 22           # of an array that come to the driver, where it does something once
NORESERVE = 0x4000              # of mmap, on Linux: pages are taken when they are written


@dataclass(frozen=True)
class Parts:
    """Tasks of a phase: `cuts` are their first chunks, and the end. Of each array, what each task reads, what it
    writes, and of that what it has for good: where two write the same, one of them."""
    cuts: Ints
    reads: Mapping[str, Range]
    writes: Mapping[str, Range]
    owned: Mapping[str, Range]


class Launch:
    """One launch. `held`: the plan's arrays by name, those that the driver has and those in slabs; `words` and `cells`
    as a launcher has them. `called`: what users call the kernel, if not by its name."""

    def __init__(self, workers: Workers, name: str, launcher: CpuLauncher, arguments: Sequence[Any],
                 called: str = "") -> None:
        self.workers, self.name, self.launcher = workers, called or name, launcher
        self.words = words_of(launcher, arguments)
        self.cells = launcher.cells()
        self.cell_words: Ints = np.ctypeslib.as_array(self.cells)
        plan = launcher.plan
        self.scalars = {p.name: int(a) for p, a in zip(plan.parameters, arguments, strict=True)
                        if p.size is None and p.base == "int"}
        self.held: dict[str, Held] = {p.name: workers.placed(a) for p, a in zip(plan.parameters, arguments, strict=True)
                                      if p.size is not None}
        self.facts = workers.made.facts.get(name)
        self.results = {r.buffer for r in plan.results if isinstance(r, ArrayResult)}
        self.elements: dict[str, dict[int, Any]] = {}

    def run(self) -> list[Any]:
        for phase, step in zip(self.launcher.plan.phases, self.launcher.steps, strict=True):
            if (order := self.order_of(phase)) and isinstance(order.space, ir.Flat):
                self.order(phase, order)
                break
            self.take_buffers(phase, step)
            chunks = 1 if step.chunks is None else step.chunks(self.words, self.cells)
            if chunks == 0:
                continue
            if step.chunks is None:
                self.once(phase)
            else:
                self.in_chunks(phase, chunks)
        return [self.result(r) for r in self.launcher.plan.results]

    def take_buffers(self, phase: Phase, step: PreparedPhase) -> None:
        chunks = 1 if step.chunks is None else step.chunks(self.words, self.cells)
        for buffer, taken in zip(phase.buffers, step.buffers, strict=True):
            length = taken.size(self.words, self.cells)
            copied = self.held[buffer.copy] if buffer.copy else None
            few = length <= max(chunks + 1, self.workers.few) and not isinstance(copied, Spread)
            if few:
                array = np.zeros(length, DTYPES[buffer.base])
                if taken.fill is not None:
                    array[:] = taken.fill
                elif copied is not None:
                    array[:len(copied)] = copied  # type: ignore[arg-type]
                self.held[buffer.name] = array
                continue
            spread = self.held[buffer.name] = Spread(buffer.base, length, [], taken.fill)
            if copied is not None:
                spread.slabs = list(self.workers.spread(copied, buffer.base).slabs)

    # Phases in chunks -----------------------------------------------------------------------

    def in_chunks(self, phase: Phase, chunks: int) -> None:
        borders = self.workers.made.borders.get(phase.function)
        if borders is not None and borders.array not in self.held:
            self.held[borders.array] = self.borders(phase.function)
        parts = None if phase.in_order else self.parted(phase, chunks)
        if parts is None:
            parts = self.on_one(phase, chunks)
        self.submit(phase, parts)

    def parted(self, phase: Phase, chunks: int) -> Parts | None:
        """How tasks share the chunks; None: they would write to the same places, or nobody knows where."""
        function = self.workers.made.functions[phase.function]
        if any(p.writable and a in ("cells", WORKERS) for p, a in passed(function, phase)):
            return None
        cuts = self.workers.cuts(chunks, self.launcher.elements(self.words, self.cells))
        if order := self.order_of(phase):
            return self.rows_of_order(phase, order, chunks, cuts)
        found = self.reached(phase, np.arange(chunks, dtype=np.int64))
        reads = {name: tasks_of(lanes_of(ranges, chunks), cuts) for name, ranges in found.reads.items()}
        writes = {name: tasks_of(lanes_of(ranges, chunks), cuts) for name, ranges in found.writes.items()
                  if name != ERRORS}
        shared = self.facts.of_segments if self.facts is not None else frozenset()
        owned = {name: own_parts(ranges, name in shared) for name, ranges in writes.items()}
        if None in owned.values():
            return None
        return Parts(cuts, reads, writes, owned)  # type: ignore[arg-type]

    def order_of(self, phase: Phase) -> ir.Order | None:
        """The ORDER whose keys the phase sorts, if it does."""
        order = self.facts.order if self.facts is not None else None
        return order if order and (phase.library or phase.function.endswith(("_sort", "_firsts"))) else None

    def rows_of_order(self, phase: Phase, order: ir.Order, chunks: int, cuts: Ints) -> Parts:
        """Of an ORDER over rows, a chunk sorts some of these (skeletons.cpu.order), whose elements are its own."""
        space = order.space
        assert not isinstance(space, ir.Flat)
        segments = self.size(space.segments)
        rows = np.minimum(cuts * max(1, min(EACH_ROWS, segments // EACH_ROWS)), segments)
        function = self.workers.made.functions[phase.function]
        arrays = [(a, p.writable) for p, a in passed(function, phase) if p.array]
        offsets = "" if isinstance(space, ir.Uniform) else arrays[0][0]
        ends = rows * self.size(space.length) if isinstance(space, ir.Uniform) else self.elements_of(offsets, rows)
        of_rows, own = Range(rows[:-1], rows[1:]), Range(ends[:-1], ends[1:] - 1)
        reads, writes = {offsets: of_rows} if offsets else {}, {}
        for name, writable in arrays:
            if writable:
                wide = 4 if name.endswith("_table") else 1
                writes[name] = Range(wide * own.low, wide * (own.high + 1) - 1) if self.length(name) else nothing(own)
            elif name != offsets:
                reads[name] = own
        return Parts(cuts, reads, writes, writes)

    def elements_of(self, name: str, places: Ints) -> Ints:
        """The array's elements at these places."""
        held = self.held[name]
        return self.workers.elements(held, places) if isinstance(held, Spread) else held[places]

    def on_one(self, phase: Phase, chunks: int) -> Parts:
        """All chunks are one task's, and all of each array."""
        function = self.workers.made.functions[phase.function]
        all_of = {a: Range(np.array([0]), np.array([self.length(a) - 1])) for p, a in passed(function, phase)
                  if p.array and a in self.held}
        written = {a for p, a in passed(function, phase) if p.writable}
        self.workers.told.alone(self.name, phase.function)
        writes = {a: r for a, r in all_of.items() if a in written}
        return Parts(np.array([0, chunks]), all_of, writes, writes)

    def submit(self, phase: Phase, parts: Parts) -> None:
        function = self.workers.made.functions[phase.function]
        wide = [name for name, ranges in parts.reads.items() if isinstance(held := self.held.get(name), Spread)
                and name not in parts.writes and is_broad(ranges, held)]
        asking = self.asking(phase, wide)
        broad = {name: self.put_together(name) for name in wide if asking is None or name not in asking.arrays}
        asked = None if asking is None else self.ask(phase, parts, asking, broad)
        for name, ranges in parts.reads.items():
            if isinstance(held := self.held.get(name), Spread) and not (asked and name in asked.arrays):
                how, size = lies(ranges, held, name in broad, self.workers.engine.workers())
                self.workers.told.reads(self.name, name, how, size)
        name, running = asking.told.name if asking else phase.function, []
        for number, (first, last) in enumerate(zip(parts.cuts[:-1], parts.cuts[1:], strict=True)):
            given: list[Any] = [self.workers.code]
            words = [asked.word(argument, number, given) if asked and argument in asked.arrays else
                     self.word(argument, parameter, number, parts, given, broad)
                     for parameter, argument in passed(function, phase)]
            job = Job(name, int(first), int(last), words, self.workers.error_words(), self.workers.stack(self.name))
            running.append(self.workers.submit(f"{phase.function}-{int(first)}", tasks.run_chunks, job, given=given))
        self.take(phase, parts, running)

    def word(self, name: str, parameter: loops.Parameter, task: int, parts: Parts, given: list[Any],
             broad: Mapping[str, Spread]) -> Any:
        """The argument, for a task."""
        if not parameter.array:
            return self.words[self.launcher.slots[name]] if name != WORKERS else 1
        match name:
            case tasks.ERRORS | tasks.INTERRUPT:
                return name
            case "cells":
                cells = np.array(self.cell_words)
                return Made(name, "int", 0, len(cells), values=cells) if parameter.writable else Told(0, cells)
        held = broad.get(name, self.held[name])
        wrote = part_of(parts.writes.get(name), task)
        low, high = part_of(parts.reads.get(name), task)
        if parameter.writable:
            low, high = hull(wrote, (low, high)) if name in parts.reads else wrote
        if isinstance(held, np.ndarray):
            there = held[low:high]
            base = next((b for b, t in DTYPES.items() if t == held.dtype), "int")
            return Made(name, base, low, high, values=there) if parameter.writable else Told(low, there)
        found = pieces(list(held.between(low, high)), given)
        if parameter.writable:
            return Made(name, held.base, low, high, found, held.fill)
        return Given(held.base, low, high, found, held.fill)

    def asking(self, phase: Phase, wide: Sequence[str]) -> Asking | None:
        """How tasks ask for elements of these arrays, if that is less than all of them for each worker."""
        found = self.workers.made.asking.get(phase.function)
        function = self.workers.made.functions[phase.function]
        if found is None or any(p.name != a for p, a in passed(function, phase)):
            return None
        spreads = [held for name in wide if name in found.arrays and isinstance(held := self.held[name], Spread)]
        moved = sum([held.bytes for held in spreads if not held.is_in_file]) * self.workers.engine.workers()
        places = self.launcher.elements(self.words, self.cells) * len(found.arrays)
        return found if moved > EACH_PLACE * places else None

    def ask(self, phase: Phase, parts: Parts, asking: Asking, broad: Mapping[str, Spread]) -> Asked:
        """Has tasks ask for elements, and those who have them answer."""
        function = self.workers.made.functions[phase.function]
        held = {name: self.held[name] for name in asking.arrays}
        places = self.launcher.elements(self.words, self.cells)
        for name, array in held.items():
            if isinstance(array, Spread):
                self.workers.told.reads(self.name, name, BY_PLACES, EACH_PLACE * places)
        jobs = []
        for number, (first, last) in enumerate(zip(parts.cuts[:-1], parts.cuts[1:], strict=True)):
            given: list[Any] = [self.workers.code]
            words = [nothing_of(held[name]) if name in held else 0 if parameter.writable else
                     self.word(name, parameter, number, parts, given, broad)
                     for parameter, name in passed(function, phase)]
            jobs.append((Job(asking.asks.name, int(first), int(last), words, self.workers.error_words(),
                             self.workers.stack(self.name)), given))
        return ask(self.workers, phase.function, held, jobs)

    def put_together(self, name: str) -> Spread:
        """The array as one slab, which all workers get that need it."""
        held = self.held[name]
        assert isinstance(held, Spread)
        self.workers.told.broadcast(self.name, name, held.bytes)
        if len(held.slabs) == 1 and held.slabs[0].low == 0 and held.slabs[0].high == held.length:
            return held
        given: list[Any] = []
        array = Given(held.base, 0, held.length, pieces(held.slabs, given), held.fill)
        task = self.workers.submit(f"{self.name}-broadcast-{name}", tasks.whole, array, given=given)
        return Spread(held.base, held.length, [Slab(0, held.length, task)])

    def take(self, phase: Phase, parts: Parts, running: Sequence[Any]) -> None:
        """What tasks have written: slabs, and what the driver has."""
        function = self.workers.made.functions[phase.function]
        written = {a for p, a in passed(function, phase) if p.writable}
        small = [name for name in written if name in ("cells", ERRORS) or isinstance(self.held.get(name), np.ndarray)]
        names = sorted({ERRORS, *small})
        wanted = [self.workers.submit(f"{phase.function}-{int(first)}-told", tasks.some_of, names, given=[task])
                  for first, task in zip(parts.cuts, running, strict=False)]
        for name in written:
            held = self.held.get(name)
            if isinstance(held, Spread) and name in parts.writes:
                held.write([Slab(low, high, task, name, low - self.begin(parts, name, number))
                            for number, task in enumerate(running)
                            for low, high in [part_of(parts.owned[name], number)] if low < high])
        for number, arrays in enumerate(self.workers.gather(wanted, self.name, phase.function)):
            self.workers.failed(int(arrays[ERRORS][FAILURE]))
            for name in small:
                if name == "cells":
                    self.cell_words[:] = arrays[name]
                elif name != ERRORS:
                    low, high = part_of(parts.owned.get(name), number)
                    if low == high:
                        continue
                    begin = self.begin(parts, name, number)
                    self.held[name][low:high] = arrays[name][low - begin:high - begin]  # type: ignore[index]

    def begin(self, parts: Parts, name: str, task: int) -> int:
        """The first element of the array that the task gives."""
        wrote = part_of(parts.writes[name], task)
        return hull(wrote, part_of(parts.reads[name], task))[0] if name in parts.reads else wrote[0]

    def order(self, phase: Phase, order: ir.Order) -> None:
        """The result of an ORDER, of keys that are known."""
        keys, result = self.held[keys_of(phase, self.workers)], self.launcher.plan.results[0]
        assert isinstance(result, ArrayResult)
        there = self.workers.spread(keys, "")
        if order.firsts:
            made = sorting.firsts(self.workers, self.name, there)
        else:
            base = there.base if order.values else "int"
            function = phase.function if phase.library else ""
            made = sorting.sort(self.workers, self.name, there, base, function, order.descending)
        self.held[result.buffer] = made

    # Once -----------------------------------------------------------------------------------

    def once(self, phase: Phase) -> None:
        """On the driver. Where it would need too much of large arrays, or of a stack, on one worker."""
        if self.workers.stack(self.name):
            self.submit(phase, self.on_one(phase, 1))
            return
        function = self.workers.made.functions[phase.function]
        borders = self.workers.made.borders.get(phase.function)
        if borders is not None and borders.array not in self.held:
            self.held[borders.array] = self.borders(phase.function)
        found = self.reached(phase, None)
        places: dict[str, Ints] = {}
        for name, held in self.held.items():
            if isinstance(held, Spread):
                here = places_of([*found.reads.get(name, ()), *found.writes.get(name, ())], MOST_PLACES)
                if here is None:
                    self.submit(phase, self.on_one(phase, 1))
                    return
                if len(here):
                    places[name] = here
        holes = {name: self.with_holes(name, at) for name, at in places.items()}
        errors = np.array(self.workers.error_words(), np.int64)
        words = [self.word_here(name, parameter, holes, errors) for parameter, name in passed(function, phase)]
        self.workers.functions[phase.function](0, 1, (ctypes.c_int64 * max(1, len(words)))(*words))
        self.workers.failed(int(errors[FAILURE]))
        for name in found.writes:
            if name in holes:
                held = self.held[name]
                assert isinstance(held, Spread)
                self.workers.patch(held, places[name], holes[name][places[name]], f"{phase.function}-{name}")

    def word_here(self, name: str, parameter: loops.Parameter, holes: Mapping[str, np.ndarray[Any, Any]],
                  errors: np.ndarray[Any, Any]) -> int:
        if not parameter.array:
            return self.words[self.launcher.slots[name]]
        if name == "cells":
            return ctypes.addressof(self.cells)
        if name == "errors":
            return int(errors.ctypes.data)
        if name == "interrupt":
            return ctypes.addressof(self.workers.cpu.interrupt_word)
        held = holes.get(name, self.held.get(name))
        return int(held.ctypes.data) if isinstance(held, np.ndarray) else 0

    def with_holes(self, name: str, places: Ints) -> np.ndarray[Any, Any]:
        """The array, of which these places are there."""
        held = self.held[name]
        assert isinstance(held, Spread)
        size = max(mmap.PAGESIZE, held.length * DTYPES[held.base].itemsize)
        hole = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE)
        array = np.frombuffer(hole, DTYPES[held.base], held.length)
        array[places] = self.workers.elements(held, places)
        return array

    # What is known --------------------------------------------------------------------------

    def reached(self, phase: Phase, chunks: Ints | None) -> Reached:
        function = self.workers.made.functions[phase.function]
        names = {p.name: a for p, a in passed(function, phase)}
        lengths = {name: self.length(name) for name in self.held} | {
            "cells": len(self.cell_words), "errors": 5, "interrupt": 1}
        unwritten = {buffer.name for buffer in phase.buffers}
        known = {name: Known(partial(np.take, held)) for name, held in self.held.items()
                 if isinstance(held, np.ndarray) and held.dtype == np.int64 and len(held) and name not in unwritten}
        known["cells"] = Known(partial(np.take, self.cell_words))
        for name in self.facts.offsets if self.facts is not None else ():
            held = self.held.get(name)
            if isinstance(held, Spread):
                known[name] = Known(partial(self.workers.elements, held), grows=True)
            elif name in known:
                known[name] = Known(known[name].values, grows=True)
        facts = Facts(self.scalars, lengths, known, self.own_elements(phase, chunks), chunks)
        return reach(function, self.workers.made.functions, names, facts)

    def own_elements(self, phase: Phase, chunks: Ints | None) -> Range | None:
        """Which of the root's elements are each chunk's."""
        if chunks is None or self.facts is None:
            return None
        borders = self.workers.made.borders.get(phase.function)
        if borders is not None:
            begins = self.held[borders.array][1::2]  # type: ignore[index]
            return Range(begins[:len(chunks)], begins[1:len(chunks) + 1] - 1)
        if isinstance(self.facts.root, ir.Flat):
            size, width = self.size(self.facts.root.size), self.facts.width
            return Range(chunks * width, np.minimum((chunks + 1) * width, size) - 1)
        return None

    def borders(self, function: str) -> np.ndarray[Any, Any]:
        """Where the chunks of the kernel's root begin."""
        borders = self.workers.made.borders[function]
        assert self.facts is not None and isinstance(self.facts.root, ir.Segmented)
        root = self.facts.root
        segments, total = self.size(root.segments), self.size(root.total)
        count = -(-(segments + total) // borders.width)
        scalars = {**self.scalars, loops.CHUNK_RANGE[0]: 0}
        offsets = self.held.get(root.offsets) if isinstance(root, ir.Irregular) else None
        kept = offsets.borders if isinstance(offsets, Spread) else {}
        if (borders.width, count) not in kept:
            made = np.zeros(2 * count + 2, np.int64)
            if isinstance(offsets, Spread):
                self.workers.borders_on_workers(borders, offsets, scalars, made, count)
            else:
                self.workers.borders_here(borders, segments, scalars, self.held, made, count)
            made[2 * count:] = segments, total
            kept[borders.width, count] = made
        return kept[borders.width, count]

    def elements_walked(self) -> int:
        walked: int = self.launcher.elements(self.words, self.cells)
        return walked

    def chains(self, whole: CpuLauncher, write: Apart) -> Ints:
        """The first elements of a write's chains (skeletons.cpu.tables), but for the first one. `whole`: the launcher
        of the kernel with its writes."""
        step = next((step for step in whole.steps if step.chains is not None), None)
        number = 1 if step is None or write.neutral is None else step.chains(self.words, ())  # type: ignore[misc]
        if step is None or step.chunks is None or number <= 1:
            return np.zeros(0, np.int64)
        chunks = step.chunks(self.words, ())
        first = -(-np.arange(1, number) * chunks // number)         # chunks c with c * number / chunks = chain
        if write.at.kind == "residual":
            begins: Ints = np.asarray(self.held[f"{write.at.filter}_count{write.at.side}_carry"])
        else:
            own = self.own_elements(self.launcher.plan.phases[-1], np.arange(chunks, dtype=np.int64))
            assert own is not None
            begins = own.low
        return np.asarray(begins[first])

    def size(self, size: ir.Size) -> int:
        return size if isinstance(size, int) else self.scalars[size]

    def length(self, name: str) -> int:
        held = self.held[name]
        return held.length if isinstance(held, Spread) else len(held)

    def result(self, result: Any) -> Any:
        if not isinstance(result, ArrayResult):
            return UNPACKERS[result.base](int(self.cells[result.slot]))
        held = self.held[result.buffer]
        length = None
        for name, size in self.launcher.lengths:
            if name == result.buffer:
                length = size(self.words, self.cells)
        if isinstance(held, Spread):
            if length is not None:
                held = Spread(held.base, length, list(held.between(0, length)), held.fill, held.borders)
            if not held.is_whole():
                raise RuntimeError(f"{self.name} has not written all of {result.buffer}")
            return Array(held.base, held.length, held)
        base = next(b.base for phase in self.launcher.plan.phases for b in phase.buffers if b.name == result.buffer)
        return self.workers.cpu.upload(base, held[:length].copy())


def launch(workers: Workers, name: str, arguments: Sequence[Any]) -> tuple[list[Any], int]:
    """The kernel's results, and how many elements it has walked."""
    made = workers.made
    launcher = made.launchers[name]
    words = words_of(launcher, arguments)
    apart = made.split.get(name)
    if apart is None:
        alone = launcher.alone
        if alone is not None and launcher.alone_chunks is not None and launcher.alone_chunks(words, ()) <= 1:
            launcher = alone  # type: ignore[assignment]
        one = Launch(workers, name, launcher, arguments)
        return one.run(), one.elements_walked()
    without = Launch(workers, apart.kernel.name, made.launchers[apart.kernel.name], arguments, name)
    found = dict(zip(apart.kernel.returns, without.run(), strict=True))
    for write in apart.apart:
        arrays = [workers.placed(found[array]) for array in (write.place, *write.values)]
        places, chains = without.size(write.size), without.chains(launcher, write)
        written = shuffle.write(workers, name, write, arrays, without.held, places, chains)
        found |= {result: Array(spread.base, places, spread) for result, spread in written.items()}
    return [found[result] for result in apart.returns], without.elements_walked()


def words_of(launcher: CpuLauncher, arguments: Sequence[Any]) -> list[int]:
    """The scalars' words; arrays have none."""
    words = [0] * len(launcher.slots)
    for at, (argument, pack) in enumerate(zip(arguments, launcher.packers, strict=True)):
        words[at] = 0 if pack is None else pack(argument)
    words[launcher.slots[WORKERS]] = 1
    return words


def passed(function: loops.Function, phase: Phase) -> list[tuple[loops.Parameter, str]]:
    """The function's parameters, each with the name of what it gets."""
    first = 0 if phase.chunks is None else 2
    return [(p, a.name) for p, a in zip(function.parameters[first:], phase.arguments, strict=True)
            if isinstance(a, loops.Name)]


def keys_of(phase: Phase, workers: Workers) -> str:
    """The array that an ORDER's phase sorts: the first that it gets."""
    if phase.library:
        return names_in(phase)[0]
    return next(a for p, a in passed(workers.made.functions[phase.function], phase) if p.array)


def names_in(phase: Phase) -> list[str]:
    return [a.name for a in phase.arguments if isinstance(a, loops.Name)]


def nothing_of(held: Held) -> Told:
    """An element of the array's type, for who does not need to know any."""
    return Told(0, np.zeros(1, DTYPES[held.base] if isinstance(held, Spread) else held.dtype))


def tasks_of(lanes: Range, cuts: Ints) -> Range:
    """What the lanes of each task have together."""
    return Range(np.minimum.reduceat(lanes.low, cuts[:-1]), np.maximum.reduceat(lanes.high, cuts[:-1]))


def nothing(ranges: Range) -> Range:
    return Range(np.zeros_like(ranges.low), np.full_like(ranges.high, -1))


def own_parts(ranges: Range, shared: bool) -> Range | None:
    """The ranges, if no two tasks write to one place; `shared`: where two meet, both may write the same."""
    low, end = np.array(ranges.low), -1
    for task in np.flatnonzero(ranges.low <= ranges.high):
        if low[task] == end and shared:
            low[task] += 1
        if low[task] <= end:
            return None
        end = max(end, int(ranges.high[task]))
    return Range(low, ranges.high)


def part_of(ranges: Range | None, task: int) -> tuple[int, int]:
    """What a task has, from one place to before another."""
    if ranges is None or ranges.low[task] > ranges.high[task]:
        return 0, 0
    return int(ranges.low[task]), int(ranges.high[task]) + 1


def hull(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    there = [part for part in (a, b) if part[0] < part[1]]
    return (min(low for low, _ in there), max(high for _, high in there)) if there else (0, 0)


def lies(ranges: Range, held: Spread, broad: bool, workers: int) -> tuple[str, int]:
    """How an array lies for the tasks that read these ranges of it, and the bytes that move because of that."""
    if broad:
        return BROAD, held.bytes * workers
    if len(ranges.low) == 1:
        return ON_ONE, held.bytes
    there = ranges.low <= ranges.high
    low, high = ranges.low[there], ranges.high[there]
    twice = int(np.maximum(0, high[:-1] - low[1:] + 1).sum()) * DTYPES[held.base].itemsize
    return (BORDERED, twice) if twice else (LOCAL, 0)


def is_broad(ranges: Range, held: Spread) -> bool:
    """Do several tasks read so much of the array that they might as well have all of it?"""
    widths = np.maximum(0, ranges.high - ranges.low + 1)
    return len(widths) > 1 and int(widths.sum()) > 2 * held.length + 64 * len(widths)
