"""Compares what kernels of the CPU take with what a linear model says, for the kernels of peers.py's workloads.

    python benchmarks/predictions.py [NAME...] [--threads N] [--rounds N] [--data FILE] [--save FILE]

Each workload's compiled kernels are run some rounds, the quickest of which counts: on one thread by the processor's
time, which other work on the machine disturbs least, on more by the clock. What they do is counted by a run of the same
code with hooks in it, on the same data (counting), so that the table says how good the model's terms are, not how well
sizes are guessed. The prices are fitted to the kernels of suite/probes.py, each of which mostly does one thing, and to
all kernels that take LEAST seconds or more, by relative errors and without negative prices; each kernel is predicted by
prices to which its own workload has not contributed.

The table says what each kernel took and was predicted to take; the last lines the prices, the share of kernels that are
predicted within 1.5 x and 2 x, and of those whose quickest even round is within that of their quickest odd one: what
differs from itself cannot be predicted. `--data` keeps rounds and counts in a file, and adds those of this run to what
is there; with `--rounds 0` the model is fitted to it again.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]

import numpy as np  # noqa: E402
from counting.device import CACHES, Counting  # noqa: E402
from processor import processor  # noqa: E402
from scipy.optimize import nnls  # noqa: E402

import nessie  # noqa: E402
from nessie.base.records import dataclass  # noqa: E402
from nessie.base.system.deep import run_deep  # noqa: E402
from nessie.cudagen.cpu.device import Cpu  # noqa: E402
from nessie.cudagen.host import host  # noqa: E402

SEED = 1
LEAST = 20e-6                   # seconds of a kernel that are worth a prediction
FEWEST = 4                      # rounds, and some more as long as they take less than PATIENCE seconds
PATIENCE = 1.0
WITHIN = (1.5, 2.0)
NARROWINGS = 20                 # rounds of the fit
NEAR = 0.4                      # logarithm of a ratio below which all kernels count alike
SMALL = 0.6
JUMPS = {"free": "lines elsewhere", "chained": "lines elsewhere that the next ones wait for",
         "stored": "lines elsewhere that are written"}
FEATURES = {
    "launches": "launches", "cold": "launches that find nothing in caches, or part of a launch",
    "words": "arguments and results", "phases": "phases", "woken": "phases on several threads",
    "handed": "work handed to Python's threads",
    "fills": "arrays that are filled first", "filled": "bytes filled", "copied": "bytes copied",
    "libraries": "sorts of NumPy's", "library": "their elements, times their logarithm",
    "scalar": "operations on ints", "floats": "operations on floats", "products": "multiplications of ints",
    "quotients": "divisions of ints", "divisions": "divisions of floats", "exponentials": "exp and ln",
    "functions": "sin and its kin", "loads": "loads", "stores": "stores", "conditions": "conditional branches",
    "calls": "calls", "atomics": "atomic operations",
    "vector": "operations on vectors", "vector_products": "multiplications of vectors of ints",
    "vector_divisions": "divisions of vectors", "vector_exponentials": "exp and ln of vectors",
    "vector_functions": "sin and its kin of vectors", "vector_loads": "loads of vectors",
    "vector_stores": "stores of vectors", "shuffles": "shuffles",
    "compressed": "vectors whose survivors are put together", "gathered": "lanes that are gathered",
    "scattered": "lanes that are scattered", "bulks": "calls of memset and memcpy", "run": "bytes that these move",
    "idle": "cycles for which a round waits for the one before", "turns": "branches that went another way",
    "pages": "misses of the first table of pages", "far_pages": "misses of the second",
    **{f"stream_{cache}": f"lines in order, from {cache}" for cache in CACHES},
    **{f"{kind}_{cache}": f"{about}, from {cache}" for kind, about in JUMPS.items() for cache in CACHES},
    **{f"alone_{cache}": f"lines that are waited for after such a branch, from {cache}" for cache in CACHES[1:]}}


@dataclass
class Kernel:
    """A kernel's seconds in each round, and the features of all its launches in one."""
    workload: str
    probe: bool
    name: str
    rounds: list[float]
    features: dict[str, float]

    @property
    def seconds(self) -> float:
        return min(self.rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads (default: all)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=100, help="at most (default: 100)")
    parser.add_argument("--data", type=Path, metavar="FILE")
    parser.add_argument("--save", type=Path, metavar="FILE")
    options = parser.parse_args()
    from suite.irregular import IRREGULAR
    from suite.probes import probes
    from suite.regular import REGULAR
    table = {w.name: w for w in (*REGULAR, *IRREGULAR)}
    wanted = [*probes(), *[table[name] for name in options.names or table]]
    before = json.loads(options.data.read_text("utf-8")) if options.data and options.data.exists() else []
    kernels = [Kernel(**found) for found in before]
    if options.rounds:
        kernels = joined(kernels, [found for w in wanted for found in measured(w, options.threads, options.rounds)])
    if options.data:
        options.data.write_text(json.dumps([vars(kernel) for kernel in kernels]), encoding="utf-8")
    text = "\n".join(report(kernels, options.threads)) + "\n"
    print(text, end="")
    if options.save:
        options.save.write_text(text, encoding="utf-8")


# Measuring --------------------------------------------------------------------------------------------


class Timed(Cpu):
    """A device that knows what each kernel's launches have taken."""

    def __init__(self, built: Any, threads: int) -> None:
        super().__init__(built, threads)
        self.optimise()
        self.clock = process_time if threads == 1 else perf_counter
        self.taken: dict[str, float] = defaultdict(float)

    def native(self, host: Any) -> None:
        """Python launches all kernels."""

    def launch(self, kernel: str, arguments: Sequence[Any], spare: Container[int] = ()) -> list[Any]:
        began = self.clock()
        try:
            return super().launch(kernel, arguments, spare)
        finally:
            self.taken[kernel] += self.clock() - began


def measured(workload: Any, threads: int, most: int) -> Iterator[Kernel]:
    program: Any = nessie.compile((HERE / "suite" / f"{workload.program}.nesl").read_text("utf-8"))
    taken = program._taken(workload.entry, workload.arguments(np.random.default_rng(SEED)))
    found = program._calls.at_types(workload.entry, taken.types, taken.names)
    given = found.arguments(taken.values)
    built = program._calls.for_target(found, given, "cpu").built

    def run(device: Cpu) -> None:
        run_deep(lambda: host.execute(built.program, built.host, given, device,
                                      perform=program._session.target.world.perform))

    timed, rounds, began = Timed(built, threads), list[dict[str, float]](), perf_counter()
    while len(rounds) < min(FEWEST, most) or (len(rounds) < most and perf_counter() - began < PATIENCE):
        timed.taken.clear()
        run(timed)
        rounds.append(dict(timed.taken))
    counting = Counting(built, threads)
    for counting.counting in (False, True):             # the first round fills the caches
        run(counting)
    for kernel in built.program.kernels:
        if kernel.name in counting.found:
            yield Kernel(workload.name, workload.program == "probes", kernel.name,
                         [taken[kernel.name] for taken in rounds if kernel.name in taken],
                         {name: float(counting.found[kernel.name][name]) for name in FEATURES})


def joined(before: Sequence[Kernel], now: Sequence[Kernel]) -> list[Kernel]:
    """The rounds of both, and what was counted last."""
    rounds = {(kernel.workload, kernel.name): kernel.rounds for kernel in before}
    found = {(kernel.workload, kernel.name): kernel for kernel in (*before, *now)}
    for kernel in now:
        kernel.rounds = [*rounds.get((kernel.workload, kernel.name), ()), *kernel.rounds]
    return list(found.values())


# Predicting -------------------------------------------------------------------------------------------


Prices = np.ndarray[Any, Any]


def fitted(kernels: Sequence[Kernel]) -> Prices:
    """The prices that make relative errors least, of kernels that are far off less than of those that are near. A
    price that few kernels tell is rather small (SMALL). Together they are such that half of the kernels are predicted
    to take more than they do."""
    rows = np.array([[kernel.features[name] / kernel.seconds for name in FEATURES] for kernel in kernels])
    scale = np.maximum(rows.max(axis=0), 1e-300)
    rows, weights = rows / scale, np.ones(len(rows))
    for _ in range(NARROWINGS):
        prices, _ = nnls(np.vstack([rows * weights[:, None], SMALL * np.eye(len(FEATURES))]),
                         np.append(weights, np.zeros(len(FEATURES))))
        ratios = np.maximum(rows @ prices, 1e-3)
        weights = 1 / np.sqrt(np.maximum(np.abs(np.log(ratios)), NEAR) * np.clip(ratios, 0.3, 3.0))
    return prices / scale / np.median(rows @ prices)


def predicted(kernel: Kernel, prices: Prices) -> float:
    """Its seconds."""
    return float(sum(price * kernel.features[name] for price, name in zip(prices, FEATURES, strict=True)))


def report(kernels: Sequence[Kernel], threads: int) -> list[str]:
    chosen = [kernel for kernel in kernels if kernel.seconds >= LEAST]
    shown = [kernel for kernel in chosen if not kernel.probe]
    how = "one thread, the processor's time" if threads == 1 else f"{threads} threads, by the clock"
    lines = [f"{processor()}, {os.cpu_count()} cores; {how}; kernels of {LEAST * 1e6:.0f} us or more", "",
             f"{'workload':24}{'kernel':10}{'measured':>12}{'predicted':>12}{'ratio':>8}"]
    prices = {name: fitted([kernel for kernel in chosen if kernel.workload != name])
              for name in dict.fromkeys(kernel.workload for kernel in shown)}
    ratios = []
    for kernel in shown:
        seconds = predicted(kernel, prices[kernel.workload])
        ratios.append(seconds / kernel.seconds)
        lines.append(f"{kernel.workload:24}{kernel.name:10}{kernel.seconds * 1e3:9.3f} ms{seconds * 1e3:9.3f} ms"
                     f"{ratios[-1]:8.2f}")
    told = zip(fitted(chosen), FEATURES.items(), strict=True)
    lines += ["", *(f"{price * 1e9:12.4g} ns  {key}: {about}" for price, (key, about) in told if price), ""]
    themselves = [min(k.rounds[::2]) / min(k.rounds[1::2]) for k in shown if len(k.rounds) > 1]
    return [*lines, *within(ratios, "predicted"), *within(themselves, "in even rounds as in odd ones")]


def within(ratios: Sequence[float], what: str) -> Iterator[str]:
    for bound in WITHIN:
        near = sum(1 / bound <= ratio <= bound for ratio in ratios)
        yield f"{what}, within {bound} x: {near} of {len(ratios)} kernels, {100 * near / max(1, len(ratios)):.0f} %"


if __name__ == "__main__":
    main()
