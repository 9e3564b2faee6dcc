"""What was measured of a program's kernels, for the inspector's page: a text with marks, and data.

    K1  34 %  289.33 us
        predicted 454.07 us, 0.64 x
        moved 8.0 MB, predicted 8.0 MB
        launched once, for norm2.nesl:5:14, 6:14

A mark is [start, end, nodes]: a kernel's lines, and the nodes of the graphs that it computes. Its time is that of all
of them together.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nessie.base.records import dataclass
from nessie.measuring.kernels import FAR, TIMED, KernelTimes, misses
from nessie.measuring.table import bytes_text, places_text, time_text

INDENT = "    "


@dataclass(frozen=True)
class Measured:
    """What the kernels of a call took on the target; `title` tells of the whole run."""
    title: str
    target: str
    kernels: Sequence[KernelTimes]

    @property
    def seconds(self) -> float:
        return sum([kernel.seconds or 0.0 for kernel in self.kernels])


def text_with_marks(measured: Measured, nodes: Mapping[str, list[int]]) -> tuple[str, list[tuple[int, int, list[int]]]]:
    """The kernels, those that took longest first. `nodes` are those of each kernel, by name."""
    text, marks = measured.title + "\n\n", []
    if measured.target not in TIMED:
        text += f"What kernels take on {measured.target} means nothing: bytes alone are compared.\n\n"
    for kernel in sorted(measured.kernels, key=lambda kernel: -(kernel.seconds or 0.0)):
        lines = "\n".join(kernel_lines(measured, kernel))
        if kernel.name in nodes:
            marks.append((len(text), len(text) + len(lines), nodes[kernel.name]))
        text += lines + "\n\n"
    if far := misses(measured.kernels):
        text += f"Predicted {FAR:g} x too long or too short: {', '.join([kernel.name for kernel in far])}.\n"
    return text, marks


def kernel_lines(measured: Measured, kernel: KernelTimes) -> list[str]:
    predicted, found = kernel.predicted, [kernel.name]
    if kernel.seconds is not None:
        share = f"{100 * kernel.seconds / (measured.seconds or 1.0):.0f} %"
        times = "" if kernel.times is None else f", {kernel.times:.2f} x"
        found = [f"{kernel.name}  {share}  {time_text(kernel.seconds)}",
                 f"predicted {time_text(predicted.seconds)}{times}" if predicted else "nothing predicts it"]
    launched = "once" if kernel.launches == 1 else f"{kernel.launches:,} times"
    moved = f", predicted {bytes_text(predicted.bytes)}" if predicted else ""
    found += [f"moved {bytes_text(kernel.bytes)}{moved}", f"launched {launched}, for {places_text(kernel.places)}"]
    return [found[0], *[f"{INDENT}{line}" for line in found[1:]]]


def as_data(measured: Measured, nodes: Mapping[str, list[int]]) -> dict[str, Any]:
    kernels = [{"name": kernel.name, "nodes": nodes.get(kernel.name, []), "launches": kernel.launches,
                "bytes": kernel.bytes, "seconds": kernel.seconds, "predicted": kernel.predicted and {
                    "seconds": kernel.predicted.seconds, "bytes": kernel.predicted.bytes}}
               for kernel in measured.kernels]
    return {"title": measured.title, "kernels": kernels}
