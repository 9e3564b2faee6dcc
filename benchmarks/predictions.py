"""Compares what kernels of the CPU take with what a linear model says, for the kernels of peers.py's workloads.

    python benchmarks/predictions.py [NAME...] [--rounds N] [--save FILE]

Each workload's compiled kernels are run some rounds, the quickest counts. What a launch has to do is counted from the
kernel's text and the sizes of its arguments and results (FEATURES). The prices are fitted to all kernels that take
LEAST seconds or more, by least squares of relative errors without negative prices; each kernel is predicted by prices
to which its own workload has not contributed. The table says what each kernel took and was predicted to take, and the
last lines the prices, and the share of kernels that are predicted within 1.5 x.
"""
from __future__ import annotations

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import log2
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]

import numpy as np  # noqa: E402
from processor import processor  # noqa: E402
from scipy.optimize import nnls  # noqa: E402

import nessie  # noqa: E402
from nessie.base.values import DTYPES  # noqa: E402
from nessie.cudagen.cpu.device import FEW, Cpu  # noqa: E402
from nessie.cudagen.host import host  # noqa: E402
from nessie.cudagen.host.device import Array  # noqa: E402
from nessie.lambda_cu import nodes as ir  # noqa: E402
from nessie.lambda_cu.ops import FUNCTION, OPS  # noqa: E402
from nessie.lambda_cu.parts import subexpressions, thunks  # noqa: E402
from nessie.lambda_cu.running.traffic import reads, total_of  # noqa: E402
from nessie.lambda_cu.scope import space_of  # noqa: E402
from nessie.lambda_cu.selection import selection  # noqa: E402

SEED = 1
LEAST = 20e-6                   # seconds of a kernel that are worth a prediction
WITHIN = 1.5
CACHED = 1 << 20                # bytes of an array that a core's cache holds
CHUNK = 32768
DIVISIONS = ("/", "rem", "mod", "sqrt")
FEATURES = {
    "launch": "launches", "woken": "launches on more chunks than one thread takes", "streamed": "bytes in order",
    "gathered": "reads at computed indices of arrays in cache", "far": "the same of larger arrays",
    "written": "writes at computed indices", "operations": "cheap operations", "divisions": "divisions",
    "functions": "exp and its kin", "calls": "calls of scalar functions", "segments": "ends of segments",
    "carried": "elements that a SCAN or a FILTER visits twice", "sorted": "elements of an ORDER, times their logarithm"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--save", type=Path, metavar="FILE")
    options = parser.parse_args()
    from suite.irregular import IRREGULAR
    from suite.regular import REGULAR
    table = {w.name: w for w in (*REGULAR, *IRREGULAR)}
    kernels = [found for name in options.names or table for found in measured(table[name], options.rounds)]
    text = "\n".join(report(kernels)) + "\n"
    print(text, end="")
    if options.save:
        options.save.write_text(text, encoding="utf-8")


# Measuring --------------------------------------------------------------------------------------------


def measured(workload: Any, rounds: int) -> list[tuple[str, str, float, Counter[str]]]:
    """Workload, kernel, seconds of the quickest round and features of all its launches, for each kernel."""
    program = nessie.compile((HERE / "suite" / f"{workload.program}.nesl").read_text("utf-8"))
    taken = program._taken(workload.entry, workload.arguments(np.random.default_rng(SEED)))
    found = program._calls.at_types(workload.entry, taken.types, taken.names)
    given = found.arguments(taken.values)
    built: Any = program._calls.for_target(found, given, "cpu").built
    device = Watched(built)
    seconds: dict[str, float] = defaultdict(lambda: float("inf"))
    before: dict[str, float] = {}
    for _ in range(rounds):
        device.features.clear()
        host.execute(built.program, built.host, given, device, perform=program._session.target.world.perform)
        for name, record in device.stats.kernels.items():
            seconds[name] = min(seconds[name], record.seconds - before.get(name, 0.0))
            before[name] = record.seconds
    return [(workload.name, name, seconds[name], features) for name, features in device.features.items()]


class Watched(Cpu):
    """A device that counts what its launches have to do."""

    def __init__(self, built: Any) -> None:
        super().__init__(built)
        self.stats.detailed = True
        self.optimise()
        self.features: dict[str, Counter[str]] = defaultdict(Counter)
        self.by_name = {kernel.name: kernel for kernel in built.program.kernels}
        self.scalar = {f.name: f for f in built.program.scalar_functions}

    def bytes_moved(self, name: str, arguments: Sequence[Any], results: Sequence[Any]) -> int:
        kernel = self.by_name.get(name)
        if kernel is not None:
            held = dict(zip((*(p.name for p in kernel.params), *kernel.returns), (*arguments, *results), strict=True))
            self.features[name].update(features_of(kernel, held, self.scalar))
        return 0


def features_of(kernel: ir.Kernel, held: dict[str, Any], scalar: dict[str, ir.ScalarFunction]) -> Counter[str]:
    """What a launch has to do, where names hold this."""
    found: Counter[str] = Counter(launch=1)
    sizes: dict[str, int] = {name: value for name, value in held.items() if isinstance(value, int)}
    streamed: set[str] = set()
    most = 1
    for bind in kernel.binds:
        space, soac = space_of(bind.soac), bind.soac
        total = size_of(total_of(space), sizes)
        if selected := selection(bind):
            sizes.update({count: sizes.get(count, total) for count in selected.counts})
        most = max(most, total)
        for array, _, in_order in reads(soac, space):
            value = held.get(array)
            if not isinstance(value, Array):
                continue
            if in_order:
                streamed.add(array)
            else:
                found["far" if width(value) * value.length > CACHED else "gathered"] += total
        for kind, count in operations(soac, scalar):
            found[kind] += count * total
        if isinstance(space, ir.Segmented):
            found["segments"] += size_of(space.segments, sizes)
        if isinstance(soac, ir.Scan) or selected:
            found["carried"] += total
        if isinstance(soac, ir.Write):
            found["written"] += total
        if isinstance(soac, ir.Order):
            found["sorted"] += total * log2(max(2, total))
    found["streamed"] = sum([width(held[name]) * held[name].length for name in streamed | set(kernel.returns)
                             if isinstance(held.get(name), Array)])
    found["woken"] = int(most > FEW * CHUNK)
    return found


def width(array: Array) -> int:
    return DTYPES[array.base].itemsize


def size_of(size: Any, sizes: dict[str, int]) -> int:
    return size if isinstance(size, int) else sizes.get(size, 1)


def operations(soac: ir.Soac, scalar: dict[str, ir.ScalarFunction]) -> Iterator[tuple[str, int]]:
    """The kinds of arithmetic in the thunks, and how much there is; of a function's body once."""
    waiting = [thunk.body for thunk in thunks(soac)]
    called: set[str] = set()
    while waiting:
        for part in subexpressions(waiting.pop()):
            match part:
                case ir.CallScalar(name):
                    yield "calls", 1
                    if name not in called:
                        called.add(name)
                        waiting.append(scalar[name].body)
                case ir.Op(op, _) if op in DIVISIONS:
                    yield "divisions", 1
                case ir.Op(op, _) if OPS[op].cost == FUNCTION:
                    yield "functions", 1
                case ir.Op() | ir.If():
                    yield "operations", 1


# Predicting -------------------------------------------------------------------------------------------


def fitted(kernels: Sequence[tuple[str, str, float, Counter[str]]]) -> np.ndarray[Any, Any]:
    """The prices that make relative errors least."""
    rows = np.array([[features[name] / seconds for name in FEATURES] for _, _, seconds, features in kernels])
    scale = np.maximum(rows.max(axis=0), 1e-300)
    prices, _ = nnls(rows / scale, np.ones(len(rows)))
    return prices / scale


def report(kernels: Sequence[tuple[str, str, float, Counter[str]]]) -> list[str]:
    chosen = [kernel for kernel in kernels if kernel[2] >= LEAST]
    lines = [f"{processor()}, {os.cpu_count()} cores; kernels of {LEAST * 1e6:.0f} us or more", "",
             f"{'workload':24}{'kernel':10}{'measured':>12}{'predicted':>12}{'ratio':>8}"]
    near = 0
    for workload, name, seconds, features in chosen:
        others = [kernel for kernel in chosen if kernel[0] != workload] or chosen
        predicted = sum(price * features[key] for price, key in zip(fitted(others), FEATURES, strict=True))
        near += seconds / WITHIN <= predicted <= seconds * WITHIN
        lines.append(f"{workload:24}{name:10}{seconds * 1e3:9.3f} ms{predicted * 1e3:9.3f} ms"
                     f"{predicted / seconds:8.2f}")
    prices = zip(fitted(chosen), FEATURES.items(), strict=True)
    lines += ["", *(f"{price * 1e9:12.4g} ns  {key}: {about}" for price, (key, about) in prices),
              "", f"within {WITHIN} x: {near} of {len(chosen)} kernels, {100 * near / max(1, len(chosen)):.0f} %"]
    return lines


if __name__ == "__main__":
    main()
