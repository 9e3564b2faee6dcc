"""Compares what kernels of the CPU take with what a linear model says, for the kernels of peers.py's workloads.

    python benchmarks/predictions.py [NAME...] [--rounds N] [--save FILE]

Each workload's compiled kernels are run some rounds, the quickest counts. What their launches do is then counted, for
the same data, in a round of the reference executor's (counting.py): sizes, survivors and lengths of rows are those of
this run, so that the table says how good the model's terms are, not how well sizes are guessed. The prices are fitted
to the kernels of suite/probes.py, each of which mostly does one thing, and to all kernels that take LEAST seconds or
more, by relative errors and without negative prices; each kernel is predicted by prices to which its own workload has
not contributed. The table says what each kernel took and was predicted to take, and the last lines the prices, and the
shares of kernels that are predicted within 1.5 x and 2 x. It takes some minutes.
"""
from __future__ import annotations

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]

import numpy as np  # noqa: E402
from counting import CACHES, Counts, counted  # noqa: E402
from processor import processor  # noqa: E402
from scipy.optimize import nnls  # noqa: E402

import nessie  # noqa: E402
from nessie.base.records import dataclass  # noqa: E402
from nessie.base.system.deep import run_deep  # noqa: E402
from nessie.cudagen.cpu.device import Cpu, CpuLauncher  # noqa: E402
from nessie.cudagen.host import host  # noqa: E402
from nessie.cudagen.host.device import Array  # noqa: E402
from nessie.cudagen.host.memory import view  # noqa: E402
from nessie.lambda_cu.reference.context import Context, EvaluationLimits  # noqa: E402
from nessie.lambda_cu.running.stats import Stats  # noqa: E402

SEED = 1
LEAST = 20e-6                   # seconds of a kernel that are worth a prediction
WITHIN = (1.5, 2.0)
NARROWINGS = 20                 # rounds of the fit
NEAR = 0.5                      # logarithm of a ratio below which all kernels count alike
SMALL = 1.0
JUMPS = ("jumps", "deep_jumps", "stores")
FEATURES = {
    "launch": "launches", "words": "their arguments and results", "phases": "phases",
    "woken": "phases on all threads", "visits": "elements of walks",
    "again": "elements that a first sweep visits, too", "operations": "operations",
    "divisions": "divisions and square roots of floats", "quotients": "divisions of ints",
    "exponentials": "exp and ln", "functions": "sin and its kin", "branches": "conditionals",
    "turns": "conditions other than the element's before", "reads": "reads in a row", "gathers": "other reads",
    "scanned": "elements of SCANs", "filtered": "elements of FILTERs",
    "chosen": "survivors beside one that is none, or the other way round", "rows": "rows",
    "inside": "elements of rows", "uneven": "rows longer or shorter than the one before", "empty": "empty rows",
    "writes": "writes at computed indices", "deep_operations": "operations in loops of scalar functions",
    "deep_divisions": "divisions there", "deep_quotients": "divisions of ints there",
    "deep_branches": "conditionals there", "deep_turns": "turns there", "deep_reads": "reads there",
    "calls": "calls of scalar functions", "read": "bytes read in order", "stored": "bytes stored in order",
    "ordered rows": "rows of ORDERs", "inserted": "elements inserted",
    "moved": "words that a radix sort moves in a row", "moved far": "the same in a long row",
    "hashed": "elements of ORDERs that hash", "library": "elements of NumPy's sort, times their logarithm",
    **{f"{kind}_{cache}": f"{kind} that miss {cache}" for kind in JUMPS for cache in CACHES},
    **{f"stream_{cache}": f"bytes in order that miss {cache}" for cache in ("l2", "l3", "far")}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--save", type=Path, metavar="FILE")
    options = parser.parse_args()
    from suite.irregular import IRREGULAR
    from suite.probes import probes
    from suite.regular import REGULAR
    table = {w.name: w for w in (*REGULAR, *IRREGULAR)}
    wanted = [table[name] for name in options.names or table]
    kernels = [found for workload in (*probes(), *wanted) for found in measured(workload, options.rounds)]
    text = "\n".join(report(kernels)) + "\n"
    print(text, end="")
    if options.save:
        options.save.write_text(text, encoding="utf-8")


# Measuring --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    """A phase that ran: its chunks, in one thread after another's or side by side."""
    function: str
    chunks: int
    threads: int


@dataclass(frozen=True)
class Kernel:
    """A kernel's seconds in the quickest round, and the features of all its launches."""
    workload: str
    probe: bool
    name: str
    seconds: float
    features: Counter[str]


def measured(workload: Any, rounds: int) -> list[Kernel]:
    program = nessie.compile((HERE / "suite" / f"{workload.program}.nesl").read_text("utf-8"))
    taken = program._taken(workload.entry, workload.arguments(np.random.default_rng(SEED)))
    found = program._calls.at_types(workload.entry, taken.types, taken.names)
    given = found.arguments(taken.values)
    built: Any = program._calls.for_target(found, given, "cpu").built
    device = Watched(built)
    seconds: dict[str, float] = defaultdict(lambda: float("inf"))
    before: dict[str, float] = {}
    for number in range(rounds + 1):
        device.counting = number == rounds
        run_deep(lambda: host.execute(built.program, built.host, given, device,
                                      perform=program._session.target.world.perform))
        for name, record in device.stats.kernels.items():
            if not device.counting:
                seconds[name] = min(seconds[name], record.seconds - before.get(name, 0.0))
            before[name] = record.seconds
    return [Kernel(workload.name, workload.program == "probes", name, seconds[name], features)
            for name, features in device.features.items()]


class Watched(Cpu):
    """A device that counts what its launches do, while `counting`."""

    def __init__(self, built: Any) -> None:
        super().__init__(built)
        self.stats.detailed = True
        self.optimise()
        self.counting = False
        self.features: dict[str, Counter[str]] = defaultdict(Counter)
        self.by_name = {kernel.name: kernel for kernel in built.program.kernels}
        self.context = Context(built.program, EvaluationLimits(), Stats())
        self.ran: list[Ran] = []
        for launcher in self.launchers.values():
            assert isinstance(launcher, CpuLauncher)
            launcher.run_chunks = self.watching(launcher, launcher.run_chunks)  # type: ignore[method-assign]

    def watching(self, launcher: CpuLauncher, real: Callable[..., None]) -> Callable[..., None]:
        def run_chunks(device: Cpu, step: Any, chunks: int, packed: Any, chains: int = 1) -> None:
            most = chains if step.in_order else 1 if chunks <= launcher.inline else chunks
            self.ran.append(Ran(step.function, chunks, max(1, min(self.pool.threads, most))))
            real(device, step, chunks, packed, chains)
        return run_chunks

    def launch(self, kernel: str, arguments: Sequence[Any], spare: Container[int] = ()) -> list[Any]:
        found, self.ran = self.by_name.get(kernel), []
        if found is None or not self.counting:
            return super().launch(kernel, arguments, spare)
        values = [view(a).copy() if isinstance(a, Array) else scalar(a) for a in arguments]
        places = {a.buffer.address for a in arguments if isinstance(a, Array)}
        results = super().launch(kernel, arguments, spare)
        in_place = {name for name, result in zip(found.returns, results, strict=True)
                    if isinstance(result, Array) and result.length and result.buffer.address in places}
        counts = counted(found, values, self.context, in_place)
        self.features[kernel].update(features_of(counts, self.ran))
        return results

    def bytes_moved(self, name: str, arguments: Sequence[Any], results: Sequence[Any]) -> int:
        return 0


def scalar(value: Any) -> Any:
    """A kernel's argument, as the reference executor has it."""
    if isinstance(value, str):
        return np.int32(ord(value))
    return {bool: np.bool_, int: np.int64, float: np.float64}[type(value)](value)


def features_of(counts: Counts, ran: Sequence[Ran]) -> Counter[str]:
    """Of a launch. What is done in parallel is divided by the threads of the phase that had most."""
    threads = max([phase.threads for phase in ran], default=1)
    found: Counter[str] = Counter({name: counts[name] / threads for name in FEATURES})
    for name in ("ordered rows", "inserted", "moved", "moved far"):
        found[name] = counts[name] * max(1 / threads, counts["alone"])
    if any(phase.function.endswith("summary") for phase in ran):
        found["again"] = counts["visits"] / threads
    moved = counts["read"] + 2 * counts["stored"]               # a line that is stored is read first
    for cache in ("l2", "l3", "far"):
        found[f"stream_{cache}"] = moved * max(0.0, 1 - CACHES[cache] / max(1, counts["held"])) / threads
    found["library"] = counts["library"]
    woken = sum(phase.threads > 1 for phase in ran)
    return found | Counter(launch=1, words=counts["words"], phases=len(ran), woken=woken)


# Predicting -------------------------------------------------------------------------------------------


Prices = np.ndarray[Any, Any]


def fitted(kernels: Sequence[Kernel]) -> Prices:
    """The prices that make relative errors least, of kernels that are far off less than of those that are near. A
    price that few kernels tell is rather small (SMALL)."""
    rows = np.array([[kernel.features[name] / kernel.seconds for name in FEATURES] for kernel in kernels])
    scale = np.maximum(rows.max(axis=0), 1e-300)
    rows, weights = rows / scale, np.ones(len(rows))
    for _ in range(NARROWINGS):
        prices, _ = nnls(np.vstack([rows * weights[:, None], SMALL * np.eye(len(FEATURES))]),
                         np.append(weights, np.zeros(len(FEATURES))))
        ratios = np.maximum(rows @ prices, 1e-3)
        weights = 1 / np.sqrt(np.maximum(np.abs(np.log(ratios)), NEAR) * np.clip(ratios, 0.3, 3.0))
    return prices / scale


def predicted(kernel: Kernel, prices: Prices) -> float:
    """Its seconds."""
    return sum(price * kernel.features[name] for price, name in zip(prices, FEATURES, strict=True))


def report(kernels: Sequence[Kernel]) -> list[str]:
    chosen = [kernel for kernel in kernels if kernel.seconds >= LEAST]
    shown = [kernel for kernel in chosen if not kernel.probe]
    lines = [f"{processor()}, {os.cpu_count()} cores; kernels of {LEAST * 1e6:.0f} us or more", "",
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
    lines += ["", *(f"{price * 1e9:12.4g} ns  {key}: {about}" for price, (key, about) in told if price),
              "", *(f"within {bound} x: {near} of {len(shown)} kernels, {100 * near / max(1, len(shown)):.0f} %"
                    for bound in WITHIN
                    for near in [sum(1 / bound <= ratio <= bound for ratio in ratios)])]
    return lines


if __name__ == "__main__":
    main()
