"""Measures this computer for the scheduler: times kernels of the cpu target and makes a profile
(schedule.cost.profiles).

    bandwidth   a copy of much more than fits into caches
    launch      a short sequence of numbers, still on all threads, whose time is mostly the launch; minus the time
                that as many more numbers take
    rescan      a scan, against a copy of as much
    gather      reads at random indices, against a copy
    operation   many additions and multiplications for each element, against a few
    function    exp of exp, against exp

Each time is the quickest of some runs, as other programs only make a run slower. The other entries (guessed sizes, the
number of arrays that a kernel may have) are copied from the profile that ships.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nessie import driver
from nessie.base.records import dataclass
from nessie.base.values import Flat
from nessie.forms import FUSED
from nessie.lambda_cu.check import check
from nessie.lambda_cu.text.parser import parse
from nessie.pipeline import Job, pass_named
from nessie.running.stopwatch import quickest
from nessie.running.targets import Target
from nessie.schedule.cost.profiles import CPU, Profile

LARGE = 10_000_000              # elements: more than any cache holds
SHORT = 4 * 32768               # elements of a short launch on all threads: some chunks (cudagen.generate)
RUNS, OFTEN = 7, 10
FEW, MANY = 8, 136              # operations for each element
EPSILON = 1e-6                  # ns: the least cost, as nothing is free

PROGRAM = """
kernel K (n : int, xs : [float; n], n_1 : int, js : [int; n_1]) -> [float; n] {
  let ys = BODY
  return ys
}
function main (n : int, xs : [float; n], n_1 : int, js : [int; n_1]) -> (m : int, out : [float; m]) {
  let ys : [float; n] = run K (n, xs, n_1, js)
  return (n, ys)
}
entry main : [float], [int] -> [float]
"""

INDICES = "MAP { i => float(i) } (n)"
COPY = "MAP { i => xs[i] using xs } (n)"
SCAN = "SCAN { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)"
GATHER = "MAP { i => xs[js[i]] using xs, js } (n)"
EXP = "MAP { i => exp(xs[i]) using xs } (n)"
EXP_EXP = "MAP { i => exp(exp(xs[i])) using xs } (n)"


def operations(count: int) -> str:
    """A MAP with `count` operations per element, each on the result of the one before."""
    body = "xs[i]"
    for _ in range(count // 2):
        body = f"({body} * 0.5 + 0.25)"
    return f"MAP {{ i => {body} using xs }} (n)"


@dataclass(frozen=True)
class Computer:
    """The computer that runs the kernels. `large`, `short`: the elements of large and short kernels."""
    threads: int | None = None
    large: int = LARGE
    short: int = SHORT
    runs: int = RUNS

    def time(self, body: str, count: int, times: int = 1) -> float:
        """Nanoseconds of the quickest of `times * runs` launches with `count` elements."""
        program = parse(PROGRAM.replace("BODY", body))
        check(program)
        built = driver.compile_program(Job(), FUSED, program, pass_named("assemble"))
        indices = np.random.default_rng(0).permutation(count)
        arguments: Sequence[Any] = (Flat(count, np.full(count, 0.5)), Flat(count, indices))
        return quickest(Target("cpu", self.threads), built, arguments, times * self.runs) * 1e9


def calibrate(computer: Computer) -> Profile:
    """Measure the computer. Returns its profile."""
    n, word = computer.large, 8
    copy = computer.time(COPY, n)
    bandwidth = 2 * word * n / copy
    short, twice = (computer.time(INDICES, count, OFTEN) for count in (computer.short, 2 * computer.short))
    launch = max(2 * short - twice, short / 10)
    rescan = (computer.time(SCAN, n) - copy) * bandwidth / (word * n)
    gather = (computer.time(GATHER, n) - copy) / n - word / bandwidth
    operation = (computer.time(operations(MANY), n) - computer.time(operations(FEW), n)) / n / (MANY - FEW)
    function = (computer.time(EXP_EXP, n) - computer.time(EXP, n)) / n
    return replace(CPU, name="measured", bandwidth=rounded(bandwidth), launch=rounded(launch), sync=0.0,
                   rescan=rounded(min(max(rescan, 0.0), 1.0)), gather=rounded(max(gather, EPSILON)),
                   operation=rounded(max(operation, EPSILON)), function=rounded(max(function, EPSILON)))


def rounded(number: float) -> float:
    """The number to three digits, since further digits are noise."""
    return float(f"{number:.3g}")
