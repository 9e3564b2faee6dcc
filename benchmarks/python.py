"""Times the sum of each of many ragged rows: called from Python on an Awkward array, as the command line runs it,
and by Awkward itself.

    python benchmarks/python.py [--rows N] [--rounds N] [--threads N] [--save FILE]

Every round times each once, in turn, in one process, so that a machine that is busy is so for all of them; the best of
all rounds counts, and how far the median is from it says how quiet the machine was. What the command line does is the
session's work, once the program is compiled and the arguments are read.
"""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

import awkward as ak  # noqa: E402
import numpy as np  # noqa: E402

import nessie  # noqa: E402
from nessie.base.source import Source  # noqa: E402
from nessie.base.system.deep import run_deep  # noqa: E402
from nessie.base.types import FLOAT, Seq  # noqa: E402
from nessie.base.values import Flat, Nested  # noqa: E402
from nessie.lambda_cu.layout import layout_of_value  # noqa: E402
from nessie.pipeline import Job  # noqa: E402
from nessie.program_cache import cached_program  # noqa: E402
from nessie.running.targets import Target  # noqa: E402
from nessie.session.session import Session  # noqa: E402
from nessie.syntax import nodes as syntax  # noqa: E402
from nessie.typing import nodes as typed  # noqa: E402

PROGRAM = "function total(xss) = {sum(xs) : xs in xss};"
MOST = 20                       # elements of a row
SEED = 1


def ragged(rows: int) -> Flat:
    generator = np.random.default_rng(SEED)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(generator.integers(0, MOST, rows), out=offsets[1:])
    return Flat(rows, Nested(offsets, generator.random(offsets[-1])))


def as_awkward(value: Flat) -> ak.Array:
    offsets = ak.index.Index64(value.column.offsets)
    return ak.Array(ak.contents.ListOffsetArray(offsets, ak.contents.NumpyArray(value.column.content)))


def command_line(value: Flat, threads: int | None) -> Callable[[], np.ndarray]:
    """A run of the call that `nessie run -e total` compiles."""
    session = Session(Target("cpu", threads), Job(strict=False))
    for outcome in session.run(Source("program", PROGRAM)):
        assert not isinstance(outcome, Exception), outcome
    name = session.hold("argument_1", value, Seq(Seq(FLOAT)))
    made, _ = session.inferred(syntax.Evaluate(syntax.Apply(syntax.Name("total"), name)))
    (definition,) = made.definitions
    assert isinstance(definition, typed.Variable)
    prepared = session.prepare(definition.value, Seq(FLOAT))
    job = Job(strict=False, layouts=(layout_of_value(Seq(Seq(FLOAT)), value),))
    built = cached_program(job, prepared.program)
    return lambda: session.target.execute(built, prepared.arguments).column


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    value = ragged(options.rows)
    rows = as_awkward(value)
    program = nessie.compile(PROGRAM, threads=options.threads)
    runs: dict[str, Callable[[], object]] = {
        "Python": lambda: program.total(rows),
        "command line": run_deep(lambda: command_line(value, options.threads)),
        "Awkward": lambda: ak.sum(rows, axis=1),
    }
    expected = ak.to_numpy(runs["Awkward"]())
    assert np.allclose(ak.to_numpy(runs["Python"]()), expected) and np.allclose(runs["command line"](), expected)
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(options.rounds):
        for name, run in runs.items():
            began = perf_counter()
            run()
            seconds[name].append(perf_counter() - began)
    best = min(seconds["command line"])
    lines = [f"Sums of {options.rows:,} ragged rows, {len(value.column.content):,} floats",
             f"best of {options.rounds} rounds, as multiples of the command line's run",
             f"on {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the end", "",
             f"{'':14}{'ratio':>8}{'ms':>9}{'median/best':>13}"]
    lines += [f"{name:14}{min(times) / best:8.2f}{min(times) * 1e3:9.2f}{median(times) / min(times):13.2f}"
              for name, times in seconds.items()]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.save:
        options.save.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
