"""How much more than they ask for GPU kernels move, counted on cudasim (docs/gpu.md), for each skeleton and space.

    python benchmarks/sectors.py [NAME...] [--size N] [--save FILE]

Arguments lie on the device, and what is counted is the second run. `moved/asked` is of all loads and stores of global
memory, but for arrays that are read where data says; `kernel` the same of the kernel that has most, of those that ask
for a twentieth of it or more; `ways` are those of a request to shared memory, of all and of the access that has most,
of those with a twentieth of a kernel's; accesses by statements that differ only in numbers count as one;
`loads` are bytes that are loaded, but for what blocks tell each other, for each byte of the arguments. Below the
programs stands what was asked of them, and the greatest that was found. `--save` keeps the rows of other programs.
"""
from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
from gpu import written  # noqa: E402
from gpu_workloads import EXAMPLES, MAP, Workload  # noqa: E402
from resident import Resident  # noqa: E402
from workloads import flat, sparse_arguments  # noqa: E402

from nessie.base.system.deep import run_deep  # noqa: E402
from nessie.base.values import Flat, Nested  # noqa: E402
from nessie.cudagen.cuda.cudasim.counting import Access, Counting  # noqa: E402
from nessie.cudagen.loops.plan import SHARED  # noqa: E402
from nessie.running.counting import counting_program  # noqa: E402

SEED = 1
WIDTH = 1024                    # of a matrix
TOLD = 0.05                     # of the bytes that all ask for, and of a kernel's turns in shared memory
SUMS, SCANS = "{sum(r) : r in m}", "{plus_scan(r) : r in m}"
WALKS = ("scan", "filter", "sums, rows", "scans, rows")
TITLES = ("program", "n", "moved/asked", "kernel", "ways", "most", "loads", "launches", "fills", "reads")


@dataclass(frozen=True)
class Program:
    """Its arguments come from a generator and a size. `apart`: what arrays are called that data decide how to read."""
    name: str
    text: str
    type: str
    arguments: Callable[[np.random.Generator, int], list[Any]]
    entry: str = "main"
    apart: str = ""


def column(random: np.random.Generator, n: int) -> list[Any]:
    return [flat(random.random(n))]


def rows(lengths: Callable[[np.random.Generator, int], Any], random: np.random.Generator, n: int) -> list[Any]:
    """Rows of these lengths, as many as have n elements."""
    ends = np.cumsum(lengths(random, n))
    offsets = np.concatenate([[0], ends[ends < n], [n]]).astype(np.int64)
    return [Flat(len(offsets) - 1, Nested(offsets, random.random(n)))]


LENGTHS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "rows of 8": lambda random, n: np.full(n // 8, 8),
    "rows of 1000": lambda random, n: np.full(n // 1000 + 1, 1000),
    "rows by a power law": lambda random, n: np.minimum(random.zipf(1.7, n), 1 << 15)}


def triangle(random: np.random.Generator, n: int) -> list[Any]:
    side = int((2 * n) ** 0.5)
    return [flat(random.random(side * (side + 1) // 2)), flat(random.random(side))]


def sparse(random: np.random.Generator, n: int) -> list[Any]:
    offsets, columns, values, v = sparse_arguments(random, n)
    return [Flat(len(offsets) - 1, Nested(offsets, (columns, values))), flat(v)]


def main_of(parameter: str, type_: str, body: str, name: str, arguments: Any) -> Program:
    return Program(name, f"function main({parameter}) = {body};", type_, arguments)


PROGRAMS = (
    Program("map", MAP, "[float]", column),
    main_of("xs", "[float]", "sum(xs)", "reduce", column),
    main_of("xs", "[float]", "{s + x : s in plus_scan(xs); x in xs}", "scan", column),
    main_of("xs", "[float]", "{x in xs | x > 0.5}", "filter", column),
    *[main_of("m", "[[float]]", body, f"{what}, {name}", partial(rows, lengths))
      for what, body in (("sums", SUMS), ("scans", SCANS)) for name, lengths in LENGTHS.items()],
    main_of("xs", "[float]", f"{{sum({{xs[i * {WIDTH} + j] : j in [0:{WIDTH}]}}) : i in [0:#xs / {WIDTH}]}}",
            "sums, uniform", column),
    main_of("xs", "[float]", f"{{plus_scan({{xs[i * {WIDTH} + j] : j in [0:{WIDTH}]}}) : i in [0:#xs / {WIDTH}]}}",
            "scans, uniform", column),
    Program("trmv, closed", (EXAMPLES / "trmv.nesl").read_text("utf-8"), "([float], [float])", triangle, "trmv"),
    main_of("xs", "[float]", "{xs[i] + xs[i + 1] + xs[i + 2] : i in [0:#xs - 2]}", "stencil", column),
    main_of("xs", "[float]", f"{{{{xs[i * {WIDTH} + j] + xs[i * {WIDTH} + {WIDTH} + j] : j in [0:{WIDTH}]}} : "
            f"i in [0:#xs / {WIDTH} - 1]}}", "stencil, 2-D", column),
    Program("SpMV", (EXAMPLES / "sparse_mxv.nesl").read_text("utf-8"), "([[(int, float)]], [float])", sparse,
            "sparse_mxv", "v"),
    main_of("xs", "[float]", "sort(xs)", "sort", column))


@dataclass(frozen=True)
class Bound:
    """No more than this of that column is asked of the programs whose names begin so; of all but sorts, where none is
    named."""
    what: str
    column: str
    most: float
    programs: tuple[str, ...] = ()

    def of(self, name: str) -> bool:
        return name.startswith(self.programs) if self.programs else name != "sort"


BOUNDS = (
    Bound("bytes moved for each asked for: all but sort", "kernel", 1.15),
    Bound("ways of any access", "most", 2, ("",)),
    Bound("loads of a byte: scan, filter, segments", "loads", 1.1, WALKS),
    Bound("launches of a sort", "launches", 12, ("sort",)),
    Bound("fills of a sort", "fills", 2, ("sort",)),
    Bound("launches: map, scan, filter, segments", "launches", 1, ("map", *WALKS)),
    Bound("fills after the first run: the same", "fills", 0, ("map", *WALKS)))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", metavar="NAME", help="; ".join(p.name for p in PROGRAMS))
    options.add_argument("--size", type=int, default=1 << 20)
    options.add_argument("--save", type=Path, help="a file for the table")
    given = options.parse_args()
    kept = saved(given.save) if given.save else {}
    for program in PROGRAMS:
        if program.name in given.names or not given.names:
            kept[program.name] = run_deep(partial(counted, program, given.size))
            print("  ".join(kept[program.name]), flush=True)
            if given.save:
                found = [kept[p.name] for p in PROGRAMS if p.name in kept]
                given.save.write_text(f"{table([TITLES, *found])}\n{table(asked(found))}", "utf-8")
    if len(kept) == len(PROGRAMS):
        print(f"\n{table(asked([*kept.values()]))}", end="")


def saved(path: Path) -> dict[str, list[str]]:
    """The rows of the programs in the table there."""
    lines = path.read_text("utf-8").partition("\n\n")[0].splitlines()[1:] if path.exists() else []
    found = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    return {row[0]: row for row in found}


def table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, of)) for of in zip(*rows, strict=True)]
    return "".join("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + "\n" for row in rows)


def asked(found: list[list[str]]) -> list[tuple[str, ...]]:
    """A row for each bound: what is more is told of each program."""
    rows: list[tuple[str, ...]] = [("asked", "at most", "found", "more")]
    for bound in BOUNDS:
        values = {row[0]: row[TITLES.index(bound.column)] for row in found if bound.of(row[0])}
        more = [f"{name}: {value}" for name, value in values.items() if float(value) > bound.most]
        if values:
            rows.append((bound.what, f"{bound.most}", max(values.values(), key=float), ", ".join(more) or "none"))
    return rows


def counted(program: Program, size: int) -> list[str]:
    arguments = program.arguments(np.random.default_rng(SEED), size)
    workload = Workload(program.name, program.text, lambda random, n: (), lambda: [], lambda: [], entry=program.entry,
                        type=program.type)
    built, points = counting_program(*written(workload))
    driver = Counting(points)
    resident = Resident(built, driver, arguments, 1 << 40)
    resident.run()
    driver.calls.clear()
    driver.sums.clear()
    resident.run()
    accesses = [a for a in driver.accesses() if a.requests]
    streamed = [a for a in accesses if not a.point.shared and a.point.kind in ("load", "store")
                and not (program.apart and (a.point.array or "").split("_")[0] == program.apart)]
    kernels = [[a for a in streamed if a.launched == kernel] for kernel in {a.launched for a in streamed}]
    ratios = [moved(of) for of in kernels if sum(a.asked for a in of) >= TOLD * sum(a.asked for a in streamed)]
    shared = [a for a in accesses if a.point.shared]
    most = [mean(of) for of in alike(shared)
            if sum(a.ways for a in of) >= TOLD * sum(a.ways for a in shared if a.launched == of[0].launched)]
    bytes_ = sum(map(held, arguments))
    own = {*SHARED, *(buffer.name for plan in built.plans for phase in plan.phases for buffer in phase.buffers)}
    loaded = sum(a.asked for a in streamed if a.point.kind == "load" and a.point.array not in own)
    calls = [sum(n for (_, what), n in driver.calls.items() if what == of) for of in ("launches", "fills", "reads")]
    return [program.name, f"{size:,}", *map("{:.2f}".format, (moved(streamed), max(ratios))),
            f"{mean(shared):.1f}", f"{max(most, default=0):.1f}",
            f"{loaded / bytes_:.2f}", *map(str, calls)]


def held(value: Any) -> int:
    """The bytes of an argument's arrays, offsets among them."""
    match value:
        case Flat(_, column):
            return held(column)
        case Nested(offsets, content):
            return int(offsets.nbytes) + held(content)
        case (first, second):
            return held(first) + held(second)
    return int(value.nbytes)


def moved(accesses: Iterable[Access]) -> float:
    """Bytes for each that is asked for."""
    found = list(accesses)
    return sum(a.moved for a in found) / sum(a.asked for a in found)


def alike(shared: Sequence[Access]) -> list[list[Access]]:
    """Those of one kernel, kind and array whose statements are the same but for numbers: a loop that is written out."""
    found: dict[tuple[str, ...], list[Access]] = {}
    for a in shared:
        found.setdefault((a.launched, a.point.kind, a.point.array, re.sub(r"\d+", "", a.point.code)), []).append(a)
    return list(found.values())


def mean(shared: Sequence[Access]) -> float:
    return sum(a.ways for a in shared) / max(1, sum(a.requests for a in shared))


if __name__ == "__main__":
    main()
