"""What the mapping that `auto` chooses moves, beside the best of all that it tries: sectors of 32 bytes of global
memory, counted on cudasim, whose counts are the same again each time.

    python benchmarks/auto.py [NAME...] [--save FILE]

`auto` is chosen once for sizes that it assumes, and once for those of the run. Sectors are those of an element's reads
and store; `regret` is how many times as many as those of the best candidate that every GPU launches.
"""
from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from math import exp, log, prod
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
from resident import Resident  # noqa: E402
from sectors import table  # noqa: E402
from workloads import flat  # noqa: E402

from nessie.base.source import Source  # noqa: E402
from nessie.base.system.deep import run_deep  # noqa: E402
from nessie.cudagen.cuda.cudasim.counting import Counting  # noqa: E402
from nessie.driver import compile_program  # noqa: E402
from nessie.forms import TEXT  # noqa: E402
from nessie.lambda_cu import nodes as ir  # noqa: E402
from nessie.lambda_cu.mappings.choice.auto import of_kernel  # noqa: E402
from nessie.lambda_cu.mappings.kernels import root_of  # noqa: E402
from nessie.lambda_cu.mappings.text import show_mapping  # noqa: E402
from nessie.pipeline import Job, pass_named  # noqa: E402
from nessie.running.counting import counting_program  # noqa: E402
from nessie.schedule.wishes.wishes import MAP, Wish  # noqa: E402

AXES = "abcdegh"
TITLES = ("program", "shape", "auto, assumed", "sectors", "regret", "auto, given", "sectors", "regret", "least",
          "worst")


@dataclass(frozen=True)
class Program:
    """A nest of axes, of these lengths, whose elements are `body`: an expression of xs and of the axes' indices, which
    are x and the axis' letter."""
    name: str
    body: str
    shape: tuple[int, ...]

    @property
    def text(self) -> str:
        nest = self.body
        for axis in reversed(AXES[:len(self.shape)]):
            nest = f"{{{nest} : x{axis} in [0:{axis}]}}"
        axes = AXES[:len(self.shape)]
        type_ = f"([float], {', '.join(['int'] * len(axes))}) -> {'[' * len(axes)}float{']' * len(axes)}"
        return f"function main(xs, {', '.join(axes)}) : {type_} = {nest};"


def at(order: str) -> str:
    """Where an array has the element of these axes, the innermost last."""
    place = f"x{order[0]}"
    for axis in order[1:]:
        place = f"({place} * {axis} + x{axis})"
    return f"xs[{place}]"


PROGRAMS = (
    Program("plusone", f"{at('a')} + 1.0", (40_000,)),
    Program("plusone", f"{at('ab')} + 1.0", (200, 200)),
    Program("plusone, tall", f"{at('ab')} + 1.0", (8000, 5)),
    Program("plusone, wide", f"{at('ab')} + 1.0", (5, 8000)),
    Program("transposition", at("ba"), (200, 200)),
    Program("transposition, tall", at("ba"), (8000, 5)),
    Program("transposition, wide", at("ba"), (5, 8000)),
    Program("outer product", "xs[xa] * xs[xb]", (200, 200)),
    Program("nest of 3", f"{at('abc')} + 1.0", (40, 30, 36)),
    Program("its axes turned", at("cba"), (40, 30, 36)),
    Program("its outer axes swapped", at("bac"), (40, 30, 36)),
    Program("its inner axes swapped", at("acb"), (40, 30, 36)),
    Program("nest of 5", f"{at('abcde')} + 1.0", (8, 8, 9, 8, 8)),
    Program("nest of 7", f"{at('abcdegh')} + 1.0", (4, 4, 5, 4, 4, 4, 4)),
    Program("7 axes turned", at("hgedcba"), (4, 4, 5, 4, 4, 4, 4)))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", metavar="NAME", help="; ".join(dict.fromkeys(p.name for p in PROGRAMS)))
    options.add_argument("--save", type=Path, help="a file for the table")
    given = options.parse_args()
    rows, regrets = [], []
    for program in PROGRAMS:
        if program.name in given.names or not given.names:
            row, regret = run_deep(lambda of=program: measured(of))
            print("  ".join(row), flush=True)
            rows.append(row)
            regrets.append(regret)
    means = [exp(sum(map(log, of)) / len(of)) for of in zip(*regrets, strict=True)]
    told = f"geometric mean of the regrets: {means[0]:.2f} of assumed sizes, {means[1]:.2f} of given ones\n"
    print(told, end="")
    if given.save:
        given.save.write_text(table([TITLES, *rows]) + told, "utf-8")


def measured(program: Program) -> tuple[list[str], tuple[float, float]]:
    sizes = dict(zip(AXES, program.shape))
    fused = compile_program(Job(entry="main", target="cudasim", wishes=(Wish(MAP, "main", "auto"),)), TEXT,
                            Source("auto.nesl", program.text), pass_named("fuse"))
    kernel = next(kernel for kernel in fused.kernels if kernel.by is not None)
    root = root_of(kernel)
    axes = (root.size,) if isinstance(root, ir.Flat) else root.axes
    sizes |= dict(zip(map(str, axes), program.shape))
    moved = {one.name: sectors(program, show_mapping(one.mapping)) for one in of_kernel(kernel, {}) if not one.refused}
    chosen = [of_kernel(kernel, of)[0].name for of in ({}, sizes)]
    least = min(moved.values())
    found = [[name, f"{moved[name]:.3f}", f"{moved[name] / least:.2f}"] for name in chosen]
    row = [program.name, "x".join(map(str, program.shape)), *found[0], *found[1], f"{least:.3f}",
           f"{max(moved.values()):.3f}"]
    return row, (moved[chosen[0]] / least, moved[chosen[1]] / least)


def sectors(program: Program, mapping: str) -> float:
    """For each element."""
    job = Job(entry="main", target="cudasim", wishes=(Wish(MAP, "main", mapping),))
    built, points = counting_program(job, TEXT, Source("auto.nesl", program.text))
    driver = Counting(points)
    arguments: list[Any] = [flat(np.arange(prod(program.shape), dtype=np.float64)), *program.shape]
    Resident(built, driver, arguments, 1 << 30).run()
    return sum([a.sectors for a in driver.accesses() if a.point.kind in ("load", "store") and a.point.array != "errors"
                and not a.point.shared]) / prod(program.shape)


if __name__ == "__main__":
    main()
