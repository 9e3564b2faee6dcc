"""What a run on a GPU takes of the host's time: by a driver that does nothing, so that all there is is Nessie's own.

    python benchmarks/host_time.py [--rounds N] [--profile] [--save FILE]

Each program runs as its arguments' owner would run it again and again: they lie on the device, and so do results. What
is read of the device is 0, so no element survives a filter. The best of all rounds.
"""
from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
from collections.abc import Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu import WORKLOADS, program_of
from resident import Resident

from nessie.base.system.deep import run_deep
from nessie.cudagen.host.device import NO_FAILURE
from nessie.cudagen.host.memory import address_of
from nessie.lambda_cu.running.default_depths import Costs

NAMES = ("map", "reduce", "scan", "filter", "norm2")
SIZE = 1 << 16
SEED = 1
PART = 100                      # runs that are timed together
FIRST = 1 << 40                 # address


class Nothing:
    """A driver (cudagen.cuda.driver) without a GPU. Fresh memory is a new address; what is read is 0."""
    costs = Costs(statement=4, operation=1, launch=25)

    def __init__(self) -> None:
        self.end, self.interrupt = FIRST, np.zeros(1, np.int64)

    def interrupt_word(self) -> tuple[int, Any]:
        return address_of(self.interrupt), self.interrupt

    def allocate(self, size: int) -> int:
        self.end += size
        return self.end - size

    def read(self, address: int, values: Any) -> None:
        """As Board.read has them: error words, of which the first says that nothing has failed."""
        values[:] = 0
        values[0] = NO_FAILURE

    def load(self, text: str, names: Sequence[str]) -> Mapping[str, Any]:
        return {name: name for name in names}

    def free(self, address: int) -> None: ...
    def write(self, address: int, values: Any) -> None: ...
    def copy(self, address: int, source: int, size: int) -> None: ...
    def fill(self, address: int, value: np.generic, count: int) -> None: ...
    def launch(self, function: Any, blocks: int, arguments: bytes, threads: int = 0) -> None: ...
    def synchronise(self) -> None: ...
    def await_others(self, streams: Set[int]) -> None: ...

    def reaches(self, address: int) -> bool:
        return True


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=50)
    options.add_argument("--profile", action="store_true", help="where the time goes, by functions")
    options.add_argument("--save", type=Path, help="write what is printed there as well")
    given = options.parse_args()
    lines = [run_deep(partial(line, name, given.rounds, given.profile)) for name in NAMES]
    text = "".join(f"{line}\n" for line in lines)
    print(text, end="")
    if given.save:
        given.save.write_text(f"python benchmarks/host_time.py --rounds {given.rounds}\n{text}", "utf-8")


def line(name: str, rounds: int, profile: bool) -> str:
    [workload] = [w for w in WORKLOADS if w.name == name]
    arguments = workload.given(*workload.arguments(np.random.default_rng(SEED), SIZE))
    resident = Resident(program_of(workload), Nothing(), arguments, 1 << 40)
    times = [part(resident) for _ in range(rounds)]
    if profile:
        profiler = cProfile.Profile()
        profiler.runcall(lambda: [resident.run() for _ in range(10 * PART)])
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    return f"{name:14}{min(times) * 1e6:6.1f} µs"


def part(resident: Resident) -> float:
    began = perf_counter()
    for _ in range(PART):
        resident.run()
    return (perf_counter() - began) / PART


if __name__ == "__main__":
    main()
