"""What is known of a kernel's launch on a cluster: its arrays, here and in slabs, its scalars, and which elements each
chunk of a phase reads and writes.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from nessie.base.values import DTYPES
from nessie.cudagen.cluster.moving.writes import Apart
from nessie.cudagen.cluster.reaching.ranges import Ints, Range
from nessie.cudagen.cluster.reaching.reach import Facts, Known, Reached, lanes_of, reach
from nessie.cudagen.cluster.sharing import nothing, tasks_of
from nessie.cudagen.cluster.slabs import Spread
from nessie.cudagen.cluster.tasks.chunks import Told
from nessie.cudagen.cluster.workers import Held, Workers
from nessie.cudagen.cpu.device import CpuLauncher
from nessie.cudagen.host.device import Array
from nessie.cudagen.host.launching import UNPACKERS
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import WORKERS, ArrayResult, Phase
from nessie.lambda_cu import nodes as ir

LANES = 1 << 18                 # chunks of which the driver looks at a time at what they read


class KnownLaunch:
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

    def reached_by_tasks(self, phase: Phase, cuts: Ints) -> tuple[dict[str, Range], dict[str, Range]]:
        """What each task reads, and writes, of each array; its chunks are those between two cuts. It is found for LANES
        chunks at a time, since each takes memory for all that the phase's code computes."""
        reads, writes = dict[str, Range](), dict[str, Range]()
        first = 0
        while first < len(cuts) - 1:
            last = max(first + 1, int(np.searchsorted(cuts, cuts[first] + LANES, "right")) - 1)
            chunks = np.arange(cuts[first], cuts[last])
            found = self.reached(phase, chunks)
            for whole, part in (reads, found.reads), (writes, found.writes):
                for name, ranges in part.items():
                    some = tasks_of(lanes_of(ranges, len(chunks)), cuts[first:last + 1] - cuts[first])
                    every = whole.setdefault(name, nothing(len(cuts) - 1))
                    every.low[first:last], every.high[first:last] = some.low, some.high
            first = last
        return reads, writes

    def own_elements(self, phase: Phase, chunks: Ints | None) -> Range | None:
        """Which of the root's elements are each chunk's."""
        if chunks is None or self.facts is None:
            return None
        borders = self.workers.made.borders.get(phase.function)
        if borders is not None:
            begins = self.held[borders.array][1::2]  # type: ignore[index]
            return Range(begins[chunks], begins[chunks + 1] - 1)
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

    def elements_of(self, name: str, places: Ints) -> Ints:
        """The array's elements at these places."""
        held = self.held[name]
        return self.workers.elements(held, places) if isinstance(held, Spread) else held[places]

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
