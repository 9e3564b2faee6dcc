"""Measures the versions of a program's choices on arguments of several shapes, and fits their thresholds.

    found = [times(target, built, arguments) for arguments in shapes]       a Sample for each
    fitted(found)                                                           the thresholds, by choices

Versions run by turns, so that whatever else the machine does meets all of them; the quickest run of each counts.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from nessie.base.records import dataclass
from nessie.cudagen.cpu.assemble import CpuProgram
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.host import host
from nessie.cudagen.host import nodes as instructions
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check_choices import LAST, version_of
from nessie.running.targets import Target
from nessie.tuning.file import Threshold, Tuned, all_names
from nessie.tuning.fit import Measured, fit

ROUNDS, MOST_ROUNDS = 7, 60     # at least and at most
ENOUGH = 0.3                    # seconds of rounds beyond the least


TIMED = ("cpu", "cuda")         # targets whose times mean something


def refused(target: str) -> str:
    """Why nothing is tuned on the target; "" if it is."""
    return "" if target in TIMED else f"the times of {target} mean nothing: tune on {' or '.join(TIMED)}"


@dataclass(frozen=True)
class Sample:
    """One shape: what has been measured of each choice that ran."""
    tunables: tuple[ir.Tunable, ...]
    choices: Mapping[str, Measured]


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
    device, memory = target.warm_device(built), target.memory()

    def run(only: Mapping[str, str]) -> tuple[float, host.Stats]:
        target.world.limit(memory, target.limits.hints)
        limits = host.HostLimits(target.limits.depth, memory, target.limits.hints, only=only)
        stats = host.Stats()
        began = clock()
        target.in_time(lambda: host.execute(built.program, built.host, arguments, device, limits, stats,
                                            target.world.perform))
        return clock() - began, stats

    found: dict[str, Measured] = {}
    for choice, versions in versions_in(built.host).items():
        rounds: list[dict[str, float]] = []
        for version in versions:                # its code is made, its memory taken
            _, stats = run({choice: version})
        conditions = [stats.conditions.get(f"{choice}.{version}", []) for version in versions[:-1]]     # of the last
        began = perf_counter()
        while len(rounds) < ROUNDS or (len(rounds) < MOST_ROUNDS and perf_counter() - began < ENOUGH):
            rounds.append({version: run({choice: version})[0] for version in versions})
        found[choice] = Measured({version: min([taken[version] for taken in rounds]) for version in versions},
                                 [dict(zip(versions, each)) for each in zip(*conditions, strict=True)])
    return Sample(built.host.tunables, {choice: of for choice, of in found.items() if of.conditions})


def fitted(samples: Sequence[Sample]) -> list[Tuned]:
    """The thresholds of all choices."""
    tunables = list(dict.fromkeys(t for sample in samples for t in sample.tunables))
    return [tuned(choice, known, [sample.choices[choice] for sample in samples if choice in sample.choices])
            for choice, known in all_names(tunables).items()]


def tuned(choice: str, tunables: Sequence[ir.Tunable], measured: Sequence[Measured]) -> Tuned:
    shipped = {t.name: t.value for t in tunables}
    found = fit(measured, shipped) if measured else None
    values = found.thresholds if found else shipped
    lines = [Threshold(version_of(t), t.of, values[t.name],
                       "as it ships" if values[t.name] == t.value else f"{t.value} ships") for t in tunables]
    told = f"{found.mean:.2f} x the best, at worst {found.worst:.2f}" if found else "it did not run"
    return Tuned(choice, tuple(lines), told)
