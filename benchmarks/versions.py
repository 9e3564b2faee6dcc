"""Versions chosen on shapes that the tuner has not seen, beside the best version of each and the best single one.

    python benchmarks/versions.py [--save FILE]

Each program is tuned on the usual shapes, as nessie tune does, and then measured on others, in processor time. `chosen`
is what the tuned thresholds take, `shipped` what those that ship do: how many times as long as the best version for the
shape.
"""
from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

from nessie.base.source import Source
from nessie.syntax.parse import parse
from nessie.tool.command_line import parse_command_line
from nessie.tool.timing.tune import USUAL, sample
from nessie.tuning.file import Tuned, version_of
from nessie.tuning.measure import Sample, fitted
from nessie.tuning.shapes import Shape

PROGRAMS = {
    "pick": ("function pick(xs, is) : ([float], [int]) -> [float] = "
             "let a = {exp(-x * x) * sin(x) * cos(2.0 * x) : x in xs} in {a[i] : i in is};",
             ["{float(i) / float(n) : i in [0:n]}", "{rem(i * 7919, n) : i in [0:m]}"]),
    "rows": ("function rows(rows, xs) : ([[int]], [float]) -> [float] = "
             "let ys = {exp(x) * cos(x) : x in xs} in {sum({ys[i] : i in r}) : r in rows};",
             ["{{rem(i * 8 + j, n) : j in [0:8]} : i in [0:m / 8 + 1]}", "{float(i) / float(n) : i in [0:n]}"]),
    "edges": ("function edges(ps, es) : ([(float, float)], [(int, int)]) -> [float] = "
              "let w = {exp(-x * x) * cos(y) * sin(x + y) : (x, y) in ps} in {w[i] - w[j] : (i, j) in es};",
              ["{(float(i) / float(n), float(i)) : i in [0:n]}",
               "{(rem(i * 7919, n), rem(i * 104729, n)) : i in [0:m]}"]),
}
UNSEEN = 24


def unseen(seed: int) -> list[Shape]:
    """Shapes from a thousand to some millions in both directions, drawn evenly by their logarithms."""
    draw = random.Random(seed)
    return [Shape(tuple([round(10 ** draw.uniform(2.5, 6.3)) for _ in range(2)])) for _ in range(UNSEEN)]


def values(tuned: Sequence[Tuned], of: Sample) -> dict[str, int]:
    lines = {(t.name, line.version, line.of): line.value for t in tuned for line in t.thresholds}
    return {t.name: lines[t.name.rpartition(".")[0], version_of(t), t.of] for t in of.tunables}


def measure(name: str, seed: int) -> dict[str, Any]:
    text, arguments = PROGRAMS[name]
    options = parse_command_line(["tune", "program.nesl", "-e", name, *arguments, "--threads", "1"])
    program = parse(Source(f"{name}.nesl", text))
    tuned = fitted([sample(options, program, shape, process_time) for shape in USUAL])
    shapes = unseen(seed)
    found = [sample(options, program, shape, process_time) for shape in shapes]
    (choice,) = found[0].choices
    rows, ratios = [], dict[str, list[float]]()
    for shape, one in zip(shapes, found, strict=True):
        measured = one.choices[choice]
        seconds = measured.seconds
        best = min(seconds.values())
        ways = {**{version: version for version in seconds}, "chosen": measured.taken(values(tuned, one))[0],
                "shipped": measured.taken({t.name: t.value for t in one.tunables})[0]}
        for way, version in ways.items():
            ratios.setdefault(way, []).append(seconds[version] / best)
        rows.append({"shape": str(shape), "ms": {v: s * 1e3 for v, s in seconds.items()}, "chosen": ways["chosen"]})
    means = {way: math.exp(sum(map(math.log, many)) / len(many)) for way, many in ratios.items()}
    worst = {way: max(many) for way, many in ratios.items()}
    single = min(means[version] for version in found[0].choices[choice].seconds)
    return {"program": name, "thresholds": values(tuned, found[0]), "rows": rows, "mean": means, "worst": worst,
            "ahead of the best single version": single / means["chosen"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = [measure(name, options.seed) for name in PROGRAMS]
    for of in found:
        print(of["program"], of["thresholds"])
        for row in of["rows"]:
            times = "  ".join([f"{version} {ms:9.3f}" for version, ms in row["ms"].items()])
            print(f"  {row['shape']:16} {times} ms  takes {row['chosen']}")
        for way, mean in of["mean"].items():
            print(f"  {way:8} {mean:6.2f} x the best, at worst {of['worst'][way]:.2f}")
        print(f"  ahead of the best single version {of['ahead of the best single version']:.2f} x")
    if options.save:
        options.save.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
