"""What a cluster has done with a call, in words: where arguments come from, which kernels stayed on the driver, how the
arrays of the others lie for their tasks, and how many bytes move because of that.

    @m.parquet:r  read by workers, by row groups       1,600,000 bytes
    @v.npy        read by tasks, each what it needs       80,000 bytes
    K1  xs    in parts
    K1  m     in parts that overlap    1,024 bytes
    K1  v     to all workers           80,000 bytes
    K2  is    to one worker            16,000 bytes
    K3        on the driver
    K4        on one worker

Of small data, whose launches all stay on the driver, it tells how they would lie if they were large: the call is done
again in chunks of a few items, none of which stays.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nessie.base.values import OnDevice, arrays_anywhere
from nessie.cudagen.cluster.device import FEW, HERE
from nessie.cudagen.cluster.files.arrays import mapped_in
from nessie.cudagen.cluster.workers import ToldOfCluster

BY_GROUPS, BY_TASKS = "read by workers, by row groups", "read by tasks, each what it needs"
SENT = "sent by the driver"
ITEMS = 2                       # of a chunk of small data
UNKNOWN = ("What small data cannot tell: how many elements there would be where data decide that, as after filters and "
           "collect\n(a few are one worker's), and which version of a kernel their number would choose.")


Sources = Sequence[tuple[str, str, int]]        # of an argument, how it comes to tasks, and so many of its bytes


def sources(values: Iterable[tuple[str, Any]]) -> Sources:
    """How arguments, each with a name, come to tasks, if all workers see the files that they are in."""
    found = list[tuple[str, str, int]]()
    for name, value in values:
        sizes = Counter[str]()
        for array in arrays_anywhere(value):
            sizes[way(array)] += len(array) * array.dtype.itemsize
        found += [(name, how, size) for how, size in sizes.items()]
    return found


def way(array: np.ndarray[Any, Any] | OnDevice) -> str:
    if isinstance(array, OnDevice):
        return BY_GROUPS
    return BY_TASKS if len(array) > FEW and mapped_in(array) is not None else SENT


def in_words(told: ToldOfCluster, as_large: ToldOfCluster | None, why: str = "", come: Sources = ()) -> str:
    """What was done, and what would be if the data were large; `why` that is not known; how arguments `come`."""
    if told.tasks:
        return table([(name, how, f"{size:,} bytes") for name, how, size in come]) + explained(told)
    small = f"These data are small: launches on at most {HERE:,} elements are on the driver, and all of these are."
    if as_large is None:
        return f"{small}\nHow large data would lie is not known: {why}.\n"
    return f"{small}\nIf they were large, in chunks of {ITEMS} elements:\n{explained(as_large)}{UNKNOWN}\n"


def explained(told: ToldOfCluster) -> str:
    rows = [(kernel, array, how, f"{size:,} bytes" if size else "")
            for (kernel, array), (how, size) in told.lies.items()]
    launched = {kernel for kernel, *_ in rows}
    alone = {kernel for kernel, _ in told.on_one} - launched
    rows += [(kernel, "", "on one worker", "") for kernel in alone]
    rows += [(kernel, "", "on the driver", "") for kernel in told.here if kernel not in launched | alone]
    tasks, waits = told.tasks.total(), told.waits
    all_in_all = (f"{tasks} task{'s' * (tasks != 1)}; the driver waits {waits} time{'s' * (waits != 1)}, "
                  f"and gets {told.came:,} bytes")
    return f"{table(sorted(rows, key=by_numbers))}{all_in_all}\n"


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Lines, of cells below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(["  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=True)]).rstrip() + "\n"
                    for row in rows])


def by_numbers(row: tuple[str, ...]) -> tuple[list[int], tuple[str, ...]]:
    """What orders rows: K2 before K10."""
    return [int(number) for number in re.findall(r"\d+", row[0])], row
