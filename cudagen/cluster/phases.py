"""A kernel's launch on a cluster: its plan's phases in order, each as tasks of some chunks, or on the driver.

    an ORDER     cudagen.cluster.moving: keys go to who sorts their range
    in chunks    cudagen.cluster.reaching says which elements each chunk reads and writes; a task gets those of its
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
from typing import Any

import numpy as np

from nessie.base.values import BASES, DTYPES
from nessie.cudagen.cluster.launches import KnownLaunch, keys_of, nothing_of, passed, words_of
from nessie.cudagen.cluster.moving import shuffle, sorting
from nessie.cudagen.cluster.moving.answers import EACH_PLACE, Asked, ask
from nessie.cudagen.cluster.moving.asking import Asking
from nessie.cudagen.cluster.reaching.ranges import Ints, Range
from nessie.cudagen.cluster.reaching.reach import places_of
from nessie.cudagen.cluster.sharing import Parts, hull, is_broad, lies, nothing, own_parts, part_of
from nessie.cudagen.cluster.slabs import Slab, Spread
from nessie.cudagen.cluster.tasks import elements
from nessie.cudagen.cluster.tasks.chunks import ERRORS, INTERRUPT, Job, Told, run_chunks
from nessie.cudagen.cluster.tasks.elements import Given, Made
from nessie.cudagen.cluster.workers import BY_PLACES, Workers
from nessie.cudagen.cpu.device import PreparedPhase
from nessie.cudagen.host.device import FAILURE, Array
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import WORKERS, ArrayResult, Phase
from nessie.cudagen.skeletons.cpu.order_text import CHUNK as EACH_ROWS
from nessie.lambda_cu import nodes as ir

MOST_PLACES = 1 << 22           # of an array that come to the driver, where it does something once
NORESERVE = 0x4000              # of mmap, on Linux: pages are taken when they are written


class Launch(KnownLaunch):
    """One launch, which runs."""

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
        reads, writes = self.reached_by_tasks(phase, cuts)
        writes.pop(ERRORS, None)
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
                writes[name] = (Range(wide * own.low, wide * (own.high + 1) - 1) if self.length(name)
                                else nothing(len(cuts) - 1))
            elif name != offsets:
                reads[name] = own
        return Parts(cuts, reads, writes, writes)

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
            job = Job(name, int(first), int(last), words, self.workers.error_words(), self.workers.stack(self.name),
                      asking is not None)
            running.append(self.workers.submit(f"{phase.function}-{int(first)}", run_chunks, job, given=given))
        self.take(phase, parts, running)

    def word(self, name: str, parameter: loops.Parameter, task: int, parts: Parts, given: list[Any],
             broad: Mapping[str, Spread]) -> Any:
        """The argument, for a task."""
        if not parameter.array:
            return self.words[self.launcher.slots[name]] if name != WORKERS else 1
        match name:
            case _ if name in (ERRORS, INTERRUPT):
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
            there = np.array(held[low:high])    # tasks are sent later, when its memory may be another array's
            base = BASES.get(held.dtype, "int")
            return Made(name, base, low, high, values=there) if parameter.writable else Told(low, there)
        part = Given.of(held, low, high, given)
        return Made(name, part.base, low, high, part.pieces, part.fill) if parameter.writable else part

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
                             self.workers.stack(self.name), at_once=True), given))
        return ask(self.workers, phase.function, held, jobs)

    def put_together(self, name: str) -> Spread:
        """The array as one slab, which all workers get that need it."""
        held = self.held[name]
        assert isinstance(held, Spread)
        self.workers.told.broadcast(self.name, name, held.bytes)
        if len(held.slabs) == 1 and held.slabs[0].low == 0 and held.slabs[0].high == held.length:
            return held
        given: list[Any] = []
        array = Given.of(held, 0, held.length, given)
        task = self.workers.submit(f"{self.name}-broadcast-{name}", elements.whole, array, given=given)
        return Spread(held.base, held.length, [Slab(0, held.length, task)])

    def take(self, phase: Phase, parts: Parts, running: Sequence[Any]) -> None:
        """What tasks have written: slabs, and what the driver has."""
        function = self.workers.made.functions[phase.function]
        written = {a for p, a in passed(function, phase) if p.writable}
        small = [name for name in written if name == "cells" or isinstance(self.held.get(name), np.ndarray)]
        large = [name for name in parts.writes if isinstance(self.held.get(name), Spread)]
        for name in large:
            held = self.held[name]
            assert isinstance(held, Spread)
            held.write([Slab(low, high, task, name, low - self.begin(parts, name, number), large == [name])
                        for number, task in enumerate(running)
                        for low, high in [part_of(parts.owned[name], number)] if low < high])
        if not small and ERRORS not in written:
            return
        wanted = running if not large else [
            self.workers.submit(f"{phase.function}-{int(first)}-told", elements.some_of, [ERRORS, *small], given=[task])
            for first, task in zip(parts.cuts, running, strict=False)]
        for number, arrays in enumerate(self.workers.gather(wanted, self.name, phase.function)):
            self.workers.failed(int(arrays[ERRORS][FAILURE]))
            for name in small:
                if name == "cells":
                    self.cell_words[:] = arrays[name]
                else:
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
