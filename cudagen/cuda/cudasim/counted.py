"""Pass: the CUDA text of a module, in which each access to memory and each barrier tells that it is done (counters.h).

  in    loops, as the pass `cuda` takes them
  out   CountedText: text for cudasim alone, and its points, whose lines are those of the text that `cuda` makes
  how   It is the same text, line by line. An element xs[i] becomes (*cudasim_seen(7, &xs[i])), 7 being its point, and
        loops and calls tell in which rounds a thread is, so that accesses of a warp's threads can be put together.
"""
from __future__ import annotations

import re
from functools import partial

from nessie.base.records import dataclass
from nessie.base.text.layout import render
from nessie.cudagen.cuda import cuda
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import Atomic, Barrier, Load, LoadPair, Shared, Stmt, Store, StorePair

LOAD, STORE, ATOMIC, BARRIER = "load", "store", "atomic", "barrier"
KINDS = {Load: LOAD, LoadPair: LOAD, Store: STORE, StorePair: STORE, Atomic: ATOMIC}
MARKED = re.compile(r"\bcudasim_(?:seen|met)\((\d+)[,)]")


@dataclass(frozen=True)
class Point:
    """A place in the text that accesses memory, or a barrier, whose `array` is ''. `code`: its line."""
    function: str
    array: str
    kind: str
    shared: bool
    line: int = 0
    code: str = ""


@dataclass(frozen=True)
class CountedText:
    """`points` by their numbers."""
    text: str
    points: tuple[Point, ...]


def counted(module: Module) -> CountedText:
    points: list[Point] = []
    text = render(cuda.printed(module, partial(CountingPrinter, points)))
    plain = cuda.cuda(module).splitlines()
    lines = {int(number): line for line, code in enumerate(text.splitlines(), 1) for number in MARKED.findall(code)}
    placed = [Point(s.function, s.array, s.kind, s.shared, lines[number], plain[lines[number] - 1].strip())
              for number, s in enumerate(points)]
    return CountedText(text, tuple(placed))


class CountingPrinter(cuda.FunctionPrinter):
    """Prints a function that counts; new points are added to `points`."""
    opens, closes = " { rounds_.next();", "}}"

    def __init__(self, points: list[Point], *printed: object) -> None:
        super().__init__(*printed)                                                          # type: ignore[arg-type]
        self.points = points
        self.shared = {s.name for s in self.function.body if isinstance(s, Shared)}
        if self.function.kind == "device":
            self.begins = " { cudasim_inside call_;"

    def point(self, array: str, kind: str) -> int:
        self.points.append(Point(self.function.name, array, kind, array in self.shared))
        return len(self.points) - 1

    def place(self, access: cuda.Access) -> str:
        size = ", 16" if isinstance(access, LoadPair | StorePair) else ""
        return f"(*cudasim_seen({self.point(access.array, KINDS[type(access)])}, &{super().place(access)}{size}))"

    def simple(self, statement: Stmt) -> str:
        text = super().simple(statement)
        of_all = isinstance(statement, Barrier) and not statement.warp
        return f"cudasim_met({self.point('', BARRIER)}), {text}" if of_all else text

    def loop(self, head: str, body: tuple[Stmt, ...]) -> None:
        super().loop("{ cudasim_loop rounds_; " + head, body)

    def called(self, call: str) -> str:
        return f"(cudasim_calls(__LINE__), {call})"
