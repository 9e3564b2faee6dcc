"""What a cluster has done with a call, in words: which kernels stayed on the driver, how the arrays of the others lie
for their tasks, and how many bytes move because of that.

    K1  xs    in parts
    K1  m     in parts that overlap    1,024 bytes
    K1  v     to all workers           80,000 bytes
    K2  is    to one worker            16,000 bytes
    K3        on the driver
"""
from __future__ import annotations

from nessie.cudagen.cluster.workers import ToldOfCluster


def explained(told: ToldOfCluster) -> str:
    rows = [(kernel, array, how, f"{size:,} bytes" if size else "")
            for (kernel, array), (how, size) in told.lies.items()]
    launched = {kernel for kernel, *_ in rows}
    rows += [(kernel, "", "on the driver", "") for kernel in told.here if kernel not in launched]
    widths = [max([len(row[column]) for row in rows], default=0) for column in range(3)]
    lines = ["  ".join([*[cell.ljust(width) for cell, width in zip(row, widths, strict=False)], row[3]]).rstrip()
             for row in sorted(rows)]
    all_in_all = f"{told.tasks.total()} tasks; the driver waits {told.waits} times, and gets {told.came:,} bytes"
    return "\n".join([*lines, all_in_all]) + "\n"
