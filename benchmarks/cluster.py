"""What a cluster's scheduler has to do, by primitives: tasks, waits of the driver, bytes that come to it.

    python benchmarks/cluster.py                        for 2 and 1000 workers; and what two processes here take
    python benchmarks/cluster.py --machines 100 --local 0

The device is the one that runs on Dask; its tasks are done in this process, on chunks of a few elements, so that there
are as many as many machines have (CHUNKS for each task). So tasks, waits and bytes are counted, not estimated. The
seconds of the scheduler are these numbers by PER_TASK and PER_WAIT, which two local workers measure. Arguments lie in
files, which tasks read; of an array in the driver's memory, each slab would be one task more.
"""
from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import nessie
from nessie.base.system.seen_files import look
from nessie.cudagen.cluster import device
from nessie.cudagen.cluster.device import Cluster
from nessie.cudagen.cluster.engine import InProcess
from nessie.running.targets import Target

WIDTH, CHUNKS = 8, 4            # elements of a chunk, chunks of a task
PER_TASK, PER_WAIT = 0.0025, 0.015      # seconds
TEXT = """
function map_(xs) = {2.0 * x + 1.0 : x in xs};
function sum_(xs) = sum({2.0 * x : x in xs});
function scan(xs) = plus_scan({2.0 * x : x in xs});
function filter(xs) = {x in xs | x > 0.0};
function row_sums(m) = {sum({2.0 * x : x in row}) : row in m};
function row_filters(m) = {{x in row | x > 0.0} : row in m};
function gather(xs, is) = {2.0 * x : x in xs -> is};
function scatter(xs, is) = xs <- {(i, 2.0 * x) : i in is; x in xs};
function sort_(xs) = sort({2.0 * x : x in xs});
"""


def arguments(name: str, n: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    xs = random.standard_normal(n)
    match name:
        case "row_sums" | "row_filters":
            lengths = random.integers(0, 4, n * 2 // 3)
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            return (nessie.Nested(offsets, random.standard_normal(offsets[-1])),)
        case "gather" | "scatter":
            return xs, random.integers(0, n, n)
    return (xs,)


def names() -> list[str]:
    return [line.split("(")[0].removeprefix("function ") for line in TEXT.strip().splitlines()]


def counted(name: str, machines: int) -> Any:
    """What the device has told of a call on so many workers."""
    devices: list[Cluster] = []
    scratch = None if name == "gather" else look(__file__)      # of a file each task would read what it needs

    def made(target: Target, built: Any) -> Cluster:
        devices.append(Cluster(built, InProcess(machines, scratch=scratch), 0, 0, WIDTH, quick=True))
        return devices[-1]

    kept, Target.device = Target.device, made  # type: ignore[method-assign, assignment]
    try:
        given = arguments(name, WIDTH * CHUNKS * device_tasks(machines))
        nessie.compile(TEXT, target="dask")[name](*given)
    finally:
        Target.device = kept  # type: ignore[method-assign]
    return devices[0].told


def device_tasks(machines: int) -> int:
    from nessie.cudagen.cluster.workers import EACH
    return EACH * machines


def simulate(machines: int) -> None:
    print(f"{machines} workers, {device_tasks(machines)} tasks a phase, {CHUNKS} chunks a task")
    print(f"{'':12} {'tasks':>7} {'waits':>6} {'bytes a chunk':>14} {'scheduler':>10}   elsewhere than in parts")
    for name in names():
        told, chunks = counted(name, machines), CHUNKS * device_tasks(machines)
        tasks = told.tasks.total()
        apart = [f"{kernel} on one worker" for kernel, _ in told.on_one] + [
            f"{size // chunks} bytes a chunk to all" for size in told.broad.values()]
        results = WIDTH * 8                             # of a chunk, which the driver fetches in the end
        print(f"{name.strip('_'):12} {tasks:7} {told.waits:6} {max(0, told.came // chunks - results):14} "
              f"{tasks * PER_TASK + told.waits * PER_WAIT:8.2f} s   {', '.join(apart)}")


def measure(workers: int, n: int) -> None:
    device.HERE = 1 << 12
    program, cpu = nessie.compile(TEXT, target="dask", workers=workers), nessie.compile(TEXT)
    print(f"\n{workers} processes on this machine, {n:,} elements")
    print(f"{'':12} {'seconds':>8} {'target cpu':>11}")
    for name in names():
        given = arguments(name, n)
        seconds = []
        for made in (program, cpu):
            made[name](*given)
            began = time.perf_counter()
            made[name](*given)
            seconds.append(time.perf_counter() - began)
        print(f"{name.strip('_'):12} {seconds[0]:8.3f} {seconds[1]:11.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, nargs="*", default=[2, 1000])
    parser.add_argument("--local", type=int, default=2, help="processes here; 0: none")
    parser.add_argument("--size", type=int, default=4_000_000)
    options = parser.parse_args()
    for machines in options.machines:
        simulate(machines)
    if options.local:
        measure(options.local, options.size)


if __name__ == "__main__":
    main()
