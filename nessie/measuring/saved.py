"""Results of `nessie bench` in a file, and what has changed since another one.

    {"nessie": "0.1.0", "file": "sort.nesl", "target": "cpu", "threads": 2, "machine": "x86_64, 2 cores",
     "inputs": [{"name": "qsort([3, 1, 2])", "compiling": 0.21, "calls": 84, "seconds": [1.2e-05, ...],
                 "median": 1.2e-05, "interval": [1.19e-05, 1.22e-05]}]}

All times are seconds. Those of a comparison stand beside them as "against", those of kernels as "kernels".
"""
from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from nessie.base.records import dataclass
from nessie.base.source import NessieError, decoded
from nessie.measuring.intervals import Interval, in_blocks, interval, median, ratio
from nessie.measuring.kernels import KernelTimes

IN_TURN, APART = 0.02, 0.05     # of the time: what is the same differs by as much, as memory lies elsewhere, and by
                                # more from one run to another, as a machine does other things
SLOWER, FASTER, ALIKE = "slower", "faster", "no difference shown"


@dataclass(frozen=True)
class Result:
    """The times of an input: `seconds` of a call in each round, the mean of so many `calls`; `compiling` took that
    long."""
    name: str
    seconds: tuple[float, ...]
    calls: int
    compiling: float

    @property
    def median(self) -> float:
        return median(in_blocks(self.seconds))

    @property
    def interval(self) -> Interval:
        return interval(in_blocks(self.seconds))


@dataclass(frozen=True)
class Results:
    nessie: str
    file: str
    target: str
    threads: int | None
    machine: str
    inputs: tuple[Result, ...]


@dataclass(frozen=True)
class Change:
    """An input before and now. `ratio`: where now's time divided by before's is; round by round if both were measured
    `in_turn`."""
    name: str
    before: Result
    now: Result
    in_turn: bool = False

    @property
    def rounds(self) -> list[float]:
        """Now's time divided by before's in each round."""
        return [now / before for before, now in zip(self.before.seconds, self.now.seconds, strict=True)]

    @property
    def times(self) -> float:
        return median(in_blocks(self.rounds)) if self.in_turn else self.now.median / self.before.median

    @property
    def ratio(self) -> Interval:
        return interval(in_blocks(self.rounds)) if self.in_turn else \
            ratio(in_blocks(self.before.seconds), in_blocks(self.now.seconds))

    @property
    def verdict(self) -> str:
        found, alike = self.ratio, IN_TURN if self.in_turn else APART
        return SLOWER if found.low > 1 + alike else FASTER if found.high < 1 - alike else ALIKE


def changes(before: Results, now: Results, in_turn: bool = False) -> list[Change]:
    """The inputs that both have, by name."""
    old = {result.name: result for result in before.inputs}
    return [Change(result.name, old[result.name], result, in_turn) for result in now.inputs if result.name in old]


def doubts(before: Results, now: Results) -> list[str]:
    """Why the two can hardly be compared, in words."""
    return [f"that was measured with another {what}: {one}; now it is {other}"
            for what, one, other in (("machine", before.machine, now.machine), ("target", before.target, now.target),
                                     ("number of threads", before.threads, now.threads)) if one != other]


# JSON -------------------------------------------------------------------------------------------


def as_json(results: Results, found: Sequence[Change] = (),
            kernels: Mapping[str, Sequence[KernelTimes]] | None = None) -> dict[str, Any]:
    against = {change.name: change for change in found}
    inputs = [{"name": one.name, "compiling": one.compiling, "calls": one.calls, "seconds": list(one.seconds),
               "median": one.median, "interval": [one.interval.low, one.interval.high],
               **({"against": change_json(against[one.name])} if one.name in against else {}),
               **({"kernels": [kernel_json(kernel) for kernel in kernels[one.name]]} if kernels else {})}
              for one in results.inputs]
    return {"nessie": results.nessie, "file": results.file, "target": results.target, "threads": results.threads,
            "machine": results.machine, "inputs": inputs}


def change_json(change: Change) -> dict[str, Any]:
    return {"median": change.before.median, "ratio": change.times, "interval": [change.ratio.low, change.ratio.high],
            "verdict": change.verdict}


def kernel_json(kernel: KernelTimes) -> dict[str, Any]:
    predicted = kernel.predicted and {"seconds": kernel.predicted.seconds, "bytes": kernel.predicted.bytes}
    places = [{"source": span.source.name, "line": span.line, "column": span.column} for span in kernel.places]
    return {"name": kernel.name, "places": places, "launches": kernel.launches, "elements": kernel.elements,
            "bytes": kernel.bytes, "seconds": kernel.seconds, "predicted": predicted}


def show(results: Results) -> str:
    return json.dumps(as_json(results), indent=1) + "\n"


def read(path: str) -> Results:
    """The results in a file that `nessie bench --save` has written."""
    try:
        with open(path, "rb") as file:
            text = decoded(path, file.read())
    except OSError as error:
        raise NessieError(f"cannot read {path}: {error.strerror}") from None
    try:
        return parse(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise NessieError(f"{path} holds no results of nessie bench", hint="nessie bench --save writes some") from None


def parse(data: Any) -> Results:
    """The results that as_json has made data of. ValueError, TypeError or KeyError if it has not."""
    inputs = tuple([Result(str(one["name"]), times(one["seconds"]), int(one["calls"]), float(one["compiling"]))
                    for one in data["inputs"]])
    return Results(str(data["nessie"]), str(data["file"]), str(data["target"]), data["threads"], str(data["machine"]),
                   inputs)


def times(data: Any) -> tuple[float, ...]:
    found = tuple([float(seconds) for seconds in data])
    if not found or not all([math.isfinite(seconds) and seconds > 0 for seconds in found]):
        raise ValueError("no times")
    return found
