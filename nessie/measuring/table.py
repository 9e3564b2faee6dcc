"""Shows results, what has changed, and kernels as text.

    input               median      95 % interval    rounds  compiling
    qsort([3, 1, 2])  12.05 us  11.90 .. 12.24 us   40 * 84     0.21 s

    input             before        now  times     95 % interval
    qsort([3, 1, 2])  9.90 us  12.05 us   1.22  1.19 .. 1.25   slower

    kernel  launches  predicted  measured  times  bytes predicted    moved  at
    K1             1    1.02 ms   2.10 ms   2.05          16.0 MB  16.0 MB  sort.nesl:3:5
"""
from __future__ import annotations

from collections.abc import Sequence

from nessie.base.source import Span
from nessie.measuring.intervals import FEWEST, Interval
from nessie.measuring.kernels import FAR, TIMED, KernelTimes, misses
from nessie.measuring.saved import Change, Result, Results

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
SIMULATED = ("cudasim",)
UNKNOWN = "-"
PLACES, MISSES = 3, 10          # that are shown of a kernel, and of a program


def results_text(results: Results) -> str:
    rows = [["input", "median", "95 % interval", "rounds", "compiling"], *map(result_row, results.inputs)]
    told = [f"{results.file} on {results.target}" + ("" if results.threads is None else f", {threads(results)}"),
            *columns(rows)]
    if any(len(one.seconds) < FEWEST for one in results.inputs):
        told.append(f"of fewer than {FEWEST} rounds no interval is told: it is the least and the greatest time")
    if results.target in SIMULATED:
        told.append(f"{results.target} executes a GPU's code on the CPU: these times say nothing about a GPU")
    return "\n".join(told) + "\n"


def threads(results: Results) -> str:
    return f"{results.threads} thread{'' if results.threads == 1 else 's'}"


def result_row(result: Result) -> list[str]:
    rounds = f"{len(result.seconds):,}" + (f" * {result.calls:,}" if result.calls > 1 else "")
    return [result.name, time_text(result.median), interval_text(result.interval), rounds,
            f"{result.compiling:.2f} s"]


def changes_text(found: Sequence[Change]) -> str:
    rows = [["input", "before", "now", "times", "95 % interval", ""],
            *([one.name, time_text(one.before.median), time_text(one.now.median), f"{one.times:.2f}",
               f"{one.ratio.low:.2f} .. {one.ratio.high:.2f}", one.verdict] for one in found)]
    return "\n".join(columns(rows, last_left=True)) + "\n"


# Kernels ----------------------------------------------------------------------------------------


def kernels_text(title: str, kernels: Sequence[KernelTimes], target: str) -> str:
    """What the kernels of an input took beside what was predicted, and which predictions are far off, with places."""
    if not kernels:
        return f"{title}: no kernel runs\n"
    table = columns([["kernel", "launches", "predicted", "measured", "times", "bytes predicted", "moved", "at"],
                   *map(kernel_row, kernels)], last_left=True)
    told = [] if target in TIMED else [f"what kernels take on {target} means nothing: bytes alone are compared"]
    far = misses(kernels)
    if far:
        told += ["", f"predicted {FAR:g} x too long or too short:", *map(miss_text, far[:MISSES])]
        if len(far) > MISSES:
            told.append(f"and {len(far) - MISSES} more")
    return "\n".join([title, *(f"  {line}".rstrip() for line in (*table, *told))]) + "\n"


def kernel_row(kernel: KernelTimes) -> list[str]:
    predicted = kernel.predicted
    return [kernel.name, f"{kernel.launches:,}", time_text(predicted.seconds) if predicted else UNKNOWN,
            UNKNOWN if kernel.seconds is None else time_text(kernel.seconds),
            UNKNOWN if kernel.times is None else f"{kernel.times:.2f}",
            bytes_text(predicted.bytes) if predicted else UNKNOWN, bytes_text(kernel.bytes), places_text(kernel.places)]


def miss_text(kernel: KernelTimes) -> str:
    """K1 took 2.05 x as long as predicted, and moved 3.1 x the bytes, at sort.nesl:3:5"""
    assert kernel.times is not None and kernel.predicted is not None
    took = f"{kernel.times:.2f} x as long as predicted"
    bytes = kernel.bytes / kernel.predicted.bytes if kernel.predicted.bytes else 1.0
    moved = "the bytes are as predicted" if 1 / FAR <= bytes <= FAR else f"it moved {bytes:.2f} x the bytes"
    return f"{kernel.name} took {took}; {moved}: {places_text(kernel.places)}"


def places_text(places: Sequence[Span]) -> str:
    """The places, each with the name of its source unless the place before has the same source."""
    texts, last = [], ""
    for span in places[:PLACES]:
        texts.append(f"{'' if span.source.name == last else f'{span.source.name}:'}{span.line}:{span.column}")
        last = span.source.name
    return ", ".join(texts) + (" .." if len(places) > PLACES else "")


# Numbers ----------------------------------------------------------------------------------------


def columns(rows: Sequence[Sequence[str]], last_left: bool = False) -> list[str]:
    """The lines of a table. The first column is aligned to the left, the others to the right, but perhaps the last."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = {0, len(widths) - 1} if last_left else {0}
    return ["  ".join(cell.ljust(width) if at in left else cell.rjust(width)
                      for at, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip() for row in rows]


def interval_text(found: Interval) -> str:
    """Both ends in the unit of the greater one."""
    scale, unit = unit_of(found.high)
    return f"{found.low / scale:.2f} .. {found.high / scale:.2f} {unit}"


def time_text(seconds: float) -> str:
    scale, unit = unit_of(seconds)
    return f"{seconds / scale:.2f} {unit}"


def bytes_text(count: float) -> str:
    scale, unit = unit_of(count, BYTES)
    return f"{count / scale:.{0 if unit == 'B' else 1}f} {unit}"


def unit_of(number: float, units: Sequence[tuple[float, str]] = UNITS) -> tuple[float, str]:
    return next((each for each in units if number >= each[0]), units[-1])
