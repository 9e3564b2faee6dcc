"""Workers of an engine, with the files that they see: a task is done by those who see what it reads.

    submit              a task
    lying               slabs of an array that lies in a file
    array, in_file      arrays that workers have
    part, fetched, ...  their elements, for other tasks and for the driver
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.seen_files import Seen
from nessie.base.values import BASES, OnDevice
from nessie.cudagen.cluster.engine import Doing, Engine, Sight, by_name
from nessie.cudagen.cluster.files.arrays import mapped_in, put_in
from nessie.cudagen.cluster.moving import fetching
from nessie.cudagen.cluster.slabs import InFile, Slab, Spread, Uploaded
from nessie.cudagen.cluster.tasks import elements
from nessie.cudagen.cluster.tasks.elements import Given

NOBODY: Sight = frozenset()


@dataclass(eq=False)
class Hands:
    """`run`: the name of what tasks belong to."""
    engine: Engine
    run: str = ""

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any, given: Sequence[Any] = (),
               on: Sight = None) -> Any:
        """A task, as an engine takes it, by workers that see the files that it reads."""
        given = [one.task if isinstance(one, Uploaded) else one for one in given]
        read = [one for one in given if isinstance(one, InFile)]
        for one in read:
            found = self.seeing(one)
            on = found if on is None else on if found is None else on & found
            if on == NOBODY:
                raise NessieError(f"no worker is left that sees {one.file.path}",
                                  hint="let all workers see the file, or start those again that do")
        task = self.engine.submit(name, function, *arguments, given=given, run=self.run, on=on)
        others = [self.engine.files.get(one, frozenset()) for one in given if not isinstance(one, InFile)]
        if own := frozenset([one.own for one in read if one.own]).union(*others):
            self.engine.files[task] = own
        return task

    def gather(self, waiting: Sequence[Any], names: Sequence[str] = ()) -> list[Any]:
        """What the tasks give. `names`: what they do, for messages."""
        def does(task: str) -> Doing:
            return next((Doing(name) for one, name in zip(waiting, names, strict=False) if one.key == task),
                        by_name(task))
        return self.engine.gather(waiting, does=does)

    def workers(self) -> int:
        return self.engine.workers()

    # Files ----------------------------------------------------------------------------------

    def sees(self, file: Seen) -> Sight:
        return self.engine.sees(file)

    def seeing(self, array: InFile) -> Sight:
        """Who sees the array's file; of the driver's own files, they see all or none."""
        scratch = self.engine.scratch
        return self.sees(scratch if array.own is not None and scratch is not None else array.file)

    @property
    def through_files(self) -> bool:
        """Do large arrays go to workers, and come back, in files of the driver's own?"""
        return self.engine.scratch is not None and self.sees(self.engine.scratch) is None

    def lying(self, values: np.ndarray[Any, Any], parts: Sequence[tuple[int, int]]) -> list[Slab]:
        """Slabs of an array that lies in a file: each task reads what it needs, if all workers see the file; else who
        sees it reads these parts. No slabs, if nobody does."""
        if not len(values):
            return []
        found = mapped_in(values)
        if (found is None or self.seeing(found) == NOBODY) and self.through_files:
            found = put_in(np.ascontiguousarray(values))
        on = NOBODY if found is None else self.seeing(found)
        if on is None:
            return [Slab(0, len(values), found)]
        return [Slab(low, high, self.submit("read", elements.from_file, found, low, high, on=on))
                for low, high in parts if on]

    # Arrays on workers ----------------------------------------------------------------------

    def array(self, base: str, parts: Sequence[tuple[Any, int]]) -> OnDevice:
        """An array in slabs: what the tasks give, each so many elements."""
        ends = np.cumsum([0, *[count for _, count in parts]]).tolist()
        slabs = [Slab(low, low + count, task) for low, (task, count) in zip(ends, parts, strict=False) if count]
        return OnDevice(base, ends[-1], 0, Spread(base, ends[-1], slabs))

    def part(self, array: OnDevice, low: int, high: int, given: list[Any]) -> Given:
        """Elements for a task, whose own tasks join those that are given: there, `array(given)` of it has them."""
        return Given.of(spread_of(array), low, high, given)

    def in_file(self, values: np.ndarray[Any, Any]) -> OnDevice | None:
        """The array in a file, of which workers read what they need, if all of them see it."""
        slabs = self.lying(values, [])
        base = BASES[values.dtype]
        return OnDevice(base, len(values), 0, Spread(base, len(values), slabs)) if slabs else None

    def fetched(self, array: OnDevice, low: int, high: int) -> np.ndarray[Any, Any]:
        """Elements of it, brought here, some parts at a time."""
        return fetching.fetched(self, self.gather, spread_of(array), low, high)

    def elements(self, array: OnDevice, places: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The elements at these places."""
        return fetching.elements(self, self.gather, spread_of(array), places)

    def cast(self, array: OnDevice, base: str) -> OnDevice:
        """Its elements as ones of this type. NessieError, later, for ints that are too large."""
        parts: list[tuple[Any, int]] = []
        for slab in spread_of(array).slabs:
            given: list[Any] = []
            there = Given.of(spread_of(array), slab.low, slab.high, given)
            parts.append((self.submit("cast", elements.cast, there, base, given=given), slab.high - slab.low))
        return self.array(base, parts)


def spread_of(array: OnDevice) -> Spread:
    """The elements of an array that workers have, in slabs of its own; its address counts from the first one."""
    whole: Spread = array.owner
    first = array.address // array.dtype.itemsize
    slabs = [Slab(slab.low - first, slab.high - first, slab.task, slab.name, slab.start)
             for slab in whole.between(first, first + array.length)]
    return Spread(array.base, array.length, slabs, whole.fill)
