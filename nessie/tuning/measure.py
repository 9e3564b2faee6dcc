"""Measures the versions of a program's choices on arguments of several shapes, and fits their thresholds.

    found = [times(target, built, arguments) for arguments in shapes]       a Sample for each
    fitted(found)                                                           the thresholds, by choices

Versions run by turns, so that whatever else the machine does meets all of them; the quickest run of each counts.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

from nessie.base.records import dataclass
from nessie.cudagen.cpu.assemble import CpuProgram
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.host import host
from nessie.cudagen.host import nodes as instructions
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check_choices import LAST
from nessie.running.targets import Target
from nessie.tuning.file import Threshold, Tuned, all_names, version_of
from nessie.tuning.fit import Fit, Measured, fit

ROUNDS, MOST_ROUNDS = 7, 60     # at least and at most
ENOUGH = 0.3                    # seconds of rounds beyond the least
FALLING = ir.STATISTICS         # what a threshold is an upper bound of


@dataclass(frozen=True)
class Sample:
    """One shape: for each choice, the seconds of its versions, in the order of its cases; for each tunable, the value
    of the statistic that it is compared with."""
    tunables: tuple[ir.Tunable, ...]
    seconds: Mapping[str, Mapping[str, float]]
    statistics: Mapping[str, int]


def versions_in(program: instructions.Program) -> dict[str, list[str]]:
    """The versions of each choice, the last among them."""
    found: dict[str, list[str]] = {}
    for code in program.functions:
        for instruction in code.instructions:
            if isinstance(instruction, instructions.Decide):
                choice, _, version = instruction.version.rpartition(".")
                found.setdefault(choice, []).append(version)
    return {choice: [*versions, LAST] for choice, versions in found.items()}


def times(target: Target, built: CpuProgram | GpuProgram, arguments: Sequence[Any],
          clock: Callable[[], float] = perf_counter) -> Sample:
    """The versions of each choice on these arguments, all others as they ship."""
    device, memory = target.device(built), target.memory()
    seen: dict[str, int] = {}

    def run(only: Mapping[str, str]) -> float:
        target.world.limit(memory, target.limits.hints)
        limits = host.HostLimits(target.limits.depth, memory, target.limits.hints, only=only)
        stats = host.Stats()
        began = clock()
        target.in_time(lambda: host.execute(built.program, built.host, arguments, device, limits, stats,
                                            target.world.perform))
        took = clock() - began
        seen.update(stats.statistics)
        return took

    seconds: dict[str, dict[str, float]] = {}
    for choice, versions in versions_in(built.host).items():
        rounds: list[dict[str, float]] = []
        for version in versions:                # its code is made, its memory taken
            run({choice: version})
        began = perf_counter()
        while len(rounds) < ROUNDS or (len(rounds) < MOST_ROUNDS and perf_counter() - began < ENOUGH):
            rounds.append({version: run({choice: version}) for version in versions})
        seconds[choice] = {version: min([taken[version] for taken in rounds]) for version in versions}
    return Sample(built.host.tunables, seconds, seen)


def fitted(samples: Sequence[Sample]) -> list[Tuned]:
    """The thresholds of all choices that ran."""
    tunables = list(dict.fromkeys(t for sample in samples for t in sample.tunables))
    return [Tuned(choice, tuple(lines(choice, known, samples))) for choice, known in all_names(tunables).items()]


def lines(choice: str, tunables: Sequence[ir.Tunable], samples: Sequence[Sample]) -> Iterator[Threshold]:
    """From the last version to the first, each against those after it; then in order."""
    known = {t.name: t.value for t in tunables}
    for tunable in tunables:
        points = [point for sample in samples
                  if (point := measured(choice, tunable, tunables, known, sample)) is not None]
        if len({point.x for point in points}) < 2:
            yield Threshold(version_of(tunable), tunable.of, tunable.value, "as it ships: it was not compared")
            continue
        found = fit(points, tunable.of not in FALLING, tunable.value)
        known[tunable.name] = found.threshold
        yield Threshold(version_of(tunable), tunable.of, found.threshold, told(found, tunable))


def measured(choice: str, tunable: ir.Tunable, tunables: Sequence[ir.Tunable], known: Mapping[str, int],
             sample: Sample) -> Measured | None:
    """The version against what runs where it does not; None where it did not run, or another of its thresholds
    refuses it."""
    seconds, version = sample.seconds.get(choice, {}), version_of(tunable)
    others = [t for t in tunables if t is not tunable and version_of(t) == version]
    if version not in seconds or tunable.name not in sample.statistics or not all(
            [holds(t, known[t.name], sample.statistics.get(t.name, -1)) for t in others]):
        return None
    after = list(seconds)[list(seconds).index(version) + 1:]
    return Measured(sample.statistics[tunable.name], seconds[version], min([seconds[name] for name in after]))


def holds(tunable: ir.Tunable, threshold: int, x: int) -> bool:
    return x <= threshold if tunable.of in FALLING else x >= threshold


def told(found: Fit, tunable: ir.Tunable) -> str:
    kept = "as it ships" if found.threshold == tunable.value else f"{tunable.value} ships"
    doubt = "" if found.monotonic else "; on both sides of it the other is faster somewhere"
    return f"{found.regret:.2f} x the best; {kept}{doubt}"
