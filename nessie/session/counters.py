"""Counts what the kernels of a form do to memory on cudasim, and shows it as text and as JSON. docs/gpu.md explains the
numbers.

    total({[0:mod(i, 17)] : i in [0:2000]})
      driver           launches  fills  copies  reads  writes  allocations
      K1                      2      2       0      0       0            5
      between kernels         0      0       0      3       2            2
      all                     2      2       0      3       2            7

      K1 at expression:1:8: used 25 %, atomics 1, barriers 3
      global memory  in        line  requests  lanes  sectors  dense  used  at
      store offsets  K1_sweep   315        64   31.2     31.2    7.9  25 %  1:8  offsets[i_2] = offsets_2;
      8 more                               15   17.5      1.0    1.0  25 %
      shared memory  in  line  requests  lanes  ways  dense  at
      7 in all                       62   27.0   1.0    1.0
"""
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

from nessie.base.records import dataclass
from nessie.base.source import Span
from nessie.base.types import Type
from nessie.measuring.table import columns, places_text
from nessie.running.counting import Counted, CountingTarget, KernelCounts, total_calls
from nessie.session.calling import Prepared
from nessie.session.profile import Profiler
from nessie.session.profile_text import counted
from nessie.session.session import Session
from nessie.typing import nodes as typed

SMALL = 0.01                    # of a kernel's sectors, or bank ways: accesses that take less are told together
CODE = 50                       # characters of a line of the text
BETWEEN = "between kernels"
ALL = "all"


@dataclass(frozen=True)
class Counts:
    """What the run of a form did."""
    title: str
    kernels: tuple[KernelCounts, ...]


@dataclass
class CountingProfiler(Profiler):
    """A session that counts what its computations do, on a CountingTarget. Work and depth are not counted, so that data
    may be larger. A function that is called has a program of its own, whose kernels and arrays are those that users
    see where they compile it."""
    by_name: bool = True
    counts: list[Counts] = field(default_factory=list)

    def compute(self, exp: typed.Exp, type_: Type, prepared: Prepared | None = None) -> Any:
        assert isinstance(self.target, CountingTarget)
        self.target.clear()
        result = Session.compute(self, exp, type_, prepared)
        if self.watching:
            self.counts.append(Counts(self.title, self.target.counts()))
        return result


# Text -------------------------------------------------------------------------------------------


def new_ones(session: Profiler, in_json: bool) -> list[str]:
    """The session's new counts as text, or each as a line of JSON. They are new no more."""
    assert isinstance(session, CountingProfiler)
    found, session.counts = session.counts, []
    return [json.dumps(as_json(counts)) + "\n" if in_json else as_text(counts) for counts in found]


def as_text(counts: Counts) -> str:
    lines = [*calls_table(counts), *[line for kernel in counts.kernels if kernel.name for line in kernel_lines(kernel)]]
    return "\n".join([counts.title, *[f"  {line}".rstrip() for line in lines]]) + "\n\n"


def calls_table(counts: Counts) -> list[str]:
    total = total_calls(counts.kernels)
    rows = [*[(kernel.name or BETWEEN, kernel.calls) for kernel in counts.kernels], (ALL, total)]
    return columns([["driver", *total], *[[name, *map(counted, calls.values())] for name, calls in rows]])


def kernel_lines(kernel: KernelCounts) -> Iterator[str]:
    yield from ("", f"{kernel.name} at {places_text(kernel.places)}: {summary(kernel)}")
    for title, unit, shared in (("global memory", "sectors", False), ("shared memory", "ways", True)):
        found = [c for c in kernel.accesses if c.access.requests and c.access.point.shared == shared]
        if found:
            yield from memory_table(title, unit, found, kernel.places[:1])


def summary(kernel: KernelCounts) -> str:
    atomics = sum(c.access.lanes for c in kernel.accesses if c.access.point.kind == "atomic")
    barriers = sum(c.access.met for c in kernel.accesses)
    return f"used {used(kernel.accesses)}, atomics {counted(atomics)}, barriers {counted(barriers)}"


def used(accesses: Iterable[Counted]) -> str:
    """The share of the bytes that move which are asked for."""
    found = [c.access for c in accesses if not c.access.point.shared]
    moved = sum(a.moved for a in found)
    return f"{100 * sum(a.asked for a in found) / moved:.0f} %" if moved else "-"


def memory_table(title: str, unit: str, accesses: list[Counted], home: Sequence[Span]) -> list[str]:
    """A row for each access that is worth telling, and one for the others together. Of shared memory those are told
    that take more than they have to. `home`: a place whose source need not be named."""
    every = sum(taken(c) for c in accesses)
    told = [c for c in accesses if taken(c) >= SMALL * every
            and not (c.access.point.shared and taken(c) == c.access.least_ways)]
    others = [c for c in accesses if c not in told]
    rows = [[title, "in", "line", "requests", "lanes", unit, "dense", "used"]]
    rows += [[f"{c.access.point.kind} {c.access.point.array}", c.access.launched, str(c.access.point.line),
              *numbers([c])] for c in told]
    rows += [[f"{len(others)} {'more' if told else 'in all'}", "", "", *numbers(others)]] if others else []
    if unit != "sectors":
        rows = [row[:-1] for row in rows]
    places = ["at", *[near(c.place, home) for c in told], *([""] if others else [])]
    codes = ["", *[cut(c.access.point.code) for c in told], *([""] if others else [])]
    width = max(map(len, places))
    return [f"{line}  {place:{width}}  {code}".rstrip()
            for line, place, code in zip(aligned(rows), places, codes, strict=True)]


def taken(found: Counted) -> int:
    return found.access.ways if found.access.point.shared else found.access.sectors


def numbers(accesses: list[Counted]) -> list[str]:
    """Requests, and for each of them lanes, what it takes, and what it takes at the least."""
    requests = sum(c.access.requests for c in accesses)
    least = sum(c.access.least_ways if c.access.point.shared else c.access.least_sectors for c in accesses)
    each = (sum(c.access.lanes for c in accesses), sum(map(taken, accesses)), least)
    return [counted(requests), *[f"{number / requests:.1f}" for number in each], used(accesses)]


def near(place: Span | None, home: Sequence[Span]) -> str:
    if place is None:
        return ""
    return f"{place.line}:{place.column}" if [s.source for s in home] == [place.source] else places_text([place])


def cut(code: str) -> str:
    return code if len(code) <= CODE else code[:CODE - 2] + ".."


def aligned(rows: list[list[str]]) -> list[str]:
    """A table whose second column is aligned to the left, too."""
    width = max(len(row[1]) for row in rows)
    return columns([[row[0], row[1].ljust(width), *row[2:]] for row in rows])


# JSON -------------------------------------------------------------------------------------------


def as_json(counts: Counts) -> dict[str, Any]:
    return {"title": counts.title, "target": "cudasim", "driver": total_calls(counts.kernels),
            "kernels": [kernel_json(kernel) for kernel in counts.kernels if kernel.name]}


def kernel_json(kernel: KernelCounts) -> dict[str, Any]:
    accesses = [c for c in kernel.accesses if c.access.requests]
    barriers = [c for c in kernel.accesses if c.access.met]
    return {"name": kernel.name, "places": [place_json(span) for span in kernel.places], "driver": kernel.calls,
            "accesses": [access_json(c) for c in accesses],
            "barriers": [{"function": c.access.launched, "line": c.access.point.line, "blocks": c.access.met}
                         for c in barriers]}


def access_json(found: Counted) -> dict[str, Any]:
    access, point = found.access, found.access.point
    taken = {"ways": access.ways, "least_ways": access.least_ways} if point.shared else \
            {"sectors": access.sectors, "least_sectors": access.least_sectors}
    return {"function": access.launched, "array": point.array, "kind": point.kind,
            "memory": "shared" if point.shared else "global", "line": point.line, "code": point.code,
            "place": found.place and place_json(found.place), "requests": access.requests, "lanes": access.lanes,
            "bytes": access.asked, **taken}


def place_json(span: Span) -> dict[str, Any]:
    return {"source": span.source.name, "line": span.line, "column": span.column}
