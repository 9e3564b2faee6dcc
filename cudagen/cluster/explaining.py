"""What a cluster has done with a call, in words: which kernels stayed on the driver, how the arrays of the others lie
for their tasks, and how many bytes move because of that.

    K1  xs    in parts
    K1  m     in parts that overlap    1,024 bytes
    K1  v     to all workers           80,000 bytes
    K2  is    to one worker            16,000 bytes
    K3        on the driver

Of small data, whose launches all stay on the driver, it tells how they would lie if they were large: the call is done
again in chunks of a few items, none of which stays.
"""
from __future__ import annotations

import re

from nessie.cudagen.cluster.device import HERE
from nessie.cudagen.cluster.workers import ToldOfCluster

ITEMS = 2                       # of a chunk of small data
UNKNOWN = ("What small data cannot tell: how many elements there would be where data decide that, as after filters and "
           "collect\n(a few are one worker's), and which version of a kernel their number would choose.")


def in_words(told: ToldOfCluster, as_large: ToldOfCluster | None, why: str = "") -> str:
    """What was done, and what would be if the data were large; `why` that is not known."""
    if told.tasks:
        return explained(told)
    small = f"These data are small: launches on at most {HERE:,} elements are on the driver, and all of these are."
    if as_large is None:
        return f"{small}\nHow large data would lie is not known: {why}.\n"
    return f"{small}\nIf they were large, in chunks of {ITEMS} elements:\n{explained(as_large)}{UNKNOWN}\n"


def explained(told: ToldOfCluster) -> str:
    rows = [(kernel, array, how, f"{size:,} bytes" if size else "")
            for (kernel, array), (how, size) in told.lies.items()]
    launched = {kernel for kernel, *_ in rows}
    rows += [(kernel, "", "on the driver", "") for kernel in told.here if kernel not in launched]
    widths = [max([len(row[column]) for row in rows], default=0) for column in range(3)]
    lines = ["  ".join([*[cell.ljust(width) for cell, width in zip(row, widths, strict=False)], row[3]]).rstrip()
             for row in sorted(rows, key=by_numbers)]
    all_in_all = f"{told.tasks.total()} tasks; the driver waits {told.waits} times, and gets {told.came:,} bytes"
    return "\n".join([*lines, all_in_all]) + "\n"


def by_numbers(row: tuple[str, ...]) -> tuple[list[int], tuple[str, ...]]:
    """What orders rows: K2 before K10."""
    return [int(number) for number in re.findall(r"\d+", row[0])], row
