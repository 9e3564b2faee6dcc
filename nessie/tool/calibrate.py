"""Measures this computer for the scheduler: kernels of the cpu target, timed, give a profile (schedule.cost.profiles).

    bandwidth   a copy of much more than fits into caches
    launch      a sequence of numbers, so few that it is mostly that, still on all threads; without what as many more
                take
    rescan      a scan, against a copy of as much
    gather      reads at random indices, against a copy
    operation   many additions and multiplications for each element, against a few
    function    exp of exp, against exp

Each is the quickest of some runs, as other programs only make it slower. What cannot be measured so (sizes that are
guessed, how many arrays a kernel may have) is what the profile that ships says.
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

LARGE = 10_000_000              # elements that no cache holds
SHORT = 4 * 32768               # elements of a launch that is on all threads: some chunks (cudagen.generate)
RUNS, OFTEN = 7, 10
FEW, MANY = 8, 136              # operations for each element
EPSILON = 1e-6                  # ns: nothing is for free

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
    """A MAP with so many, each on the one before."""
    body = "xs[i]"
    for _ in range(count // 2):
        body = f"({body} * 0.5 + 0.25)"
    return f"MAP {{ i => {body} using xs }} (n)"


@dataclass(frozen=True)
class Computer:
    """Runs kernels; `large` and `short`: the elements of those that are."""
    threads: int | None = None
    large: int = LARGE
    short: int = SHORT
    runs: int = RUNS

    def time(self, body: str, count: int, times: int = 1) -> float:
        """The nanoseconds of the quickest launch of so many times the runs."""
        program = parse(PROGRAM.replace("BODY", body))
        check(program)
        built = driver.compile_program(Job(), FUSED, program, pass_named("assemble"))
        indices = np.random.default_rng(0).permutation(count)
        arguments: Sequence[Any] = (Flat(count, np.full(count, 0.5)), Flat(count, indices))
        return quickest(Target("cpu", self.threads), built, arguments, times * self.runs) * 1e9


def calibrate(computer: Computer | None = None) -> Profile:
    """The computer's profile."""
    computer = computer or Computer()
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
    """More digits were measured by chance."""
    return float(f"{number:.3g}")
