"""What each kernel of a program took in runs, beside what the cost model has predicted.

    found = measured_kernels(target, job, program, arguments)           KernelTimes of each kernel that ran
    misses(found)                                                       those whose prediction is far off

A fused kernel is one piece of work: its time is that of all places in the source together that it computes, and nobody
can say what part of it one of them takes.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nessie.base.records import dataclass
from nessie.base.source import Span, user_span
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.running.stats import KernelStats
from nessie.lambda_cu.scope import statements
from nessie.measuring.intervals import median
from nessie.measuring.predicted import Prediction, predictions
from nessie.mono import nodes as mono
from nessie.pipeline import Job
from nessie.running.ready import Ready
from nessie.running.targets import Target

TIMED = ("cpu", "cuda")         # targets whose kernels' times mean something
RUNS = 7                        # of which the median counts, for each kernel
FAR = 1.5                       # times too long or too short is a miss
UNSEEN = ("error", "_seed", "_now", "get_environment_variable")        # effects that leave the world as it is


@dataclass(frozen=True)
class KernelProfile:
    """The cost of all launches of one kernel in a run. `places`: the user's expressions that it computes. `seconds`:
    None where the target's times mean nothing."""
    name: str
    places: tuple[Span, ...]
    launches: int
    elements: int
    bytes: int
    seconds: float | None


@dataclass(frozen=True)
class KernelTimes(KernelProfile):
    """The same beside what was `predicted` of these launches together: None for what no schedule has priced."""
    predicted: Prediction | None

    @property
    def times(self) -> float | None:
        """How many times as long it took as was predicted."""
        if self.seconds is None or self.predicted is None or not self.predicted.seconds:
            return None
        return self.seconds / self.predicted.seconds


def measured_kernels(target: Target, job: Job, program: mono.Program, arguments: Sequence[Any]) -> list[KernelTimes]:
    """The kernels that ran, in the order of the program."""
    ready = Ready(target, target.compiled_for(job, program, arguments), arguments, detailed=True)
    ready.run()                                 # which takes fresh memory
    runs = [ready.kernels_of_run() for _ in range(RUNS if target.name in TIMED else 1)]
    return beside(ready.program, runs, predictions(job, program, arguments), target.name in TIMED)


def beside(program: ir.Program, runs: Sequence[Mapping[str, KernelStats]], predicted: Mapping[str, Prediction],
           timed: bool) -> list[KernelTimes]:
    """What the runs counted beside what is predicted of a launch."""
    found = []
    for kernel in launched(program):
        if kernel.name in runs[-1]:
            last, of_one = runs[-1][kernel.name], predicted.get(kernel.name)
            seconds = median([run[kernel.name].seconds for run in runs if kernel.name in run]) if timed else None
            together = of_one and Prediction(of_one.seconds * last.launches, of_one.bytes * last.launches)
            found.append(KernelTimes(kernel.name, places_of(kernel), last.launches, last.elements, last.bytes, seconds,
                                     together))
    return found


def launched(program: ir.Program) -> list[ir.Kernel | ir.Function]:
    """What a device launches: kernels, and functions that run apart or by owners."""
    return [*program.kernels, *[f for f in program.functions if f.apart]]


def places_of(kernel: ir.Kernel | ir.Function) -> tuple[Span, ...]:
    """The user's expressions that it computes, also those of which no binding is left."""
    origins = [*[bind.origin for bind in kernel.binds], *kernel.merged] if isinstance(kernel, ir.Kernel) else \
        [kernel.origin]
    spans = [user_span(origin) or user_span(kernel.origin) for origin in origins]
    return tuple(dict.fromkeys(span for span in spans if span))


def misses(kernels: Iterable[KernelTimes]) -> list[KernelTimes]:
    """The kernels that took FAR times as long as predicted, or as short; those where most time lies between first."""
    far = [(abs(kernel.seconds - kernel.predicted.seconds), kernel) for kernel in kernels
           if kernel.times is not None and not 1 / FAR <= kernel.times <= FAR
           and kernel.seconds is not None and kernel.predicted is not None]
    return [kernel for _, kernel in sorted(far, key=lambda pair: -pair[0])]


def has_effects(program: ir.Program) -> bool:
    """Whether a run of the program is visible from outside."""
    return any(isinstance(statement, ir.Effect) and statement.name not in UNSEEN
               for function in program.functions for statement in statements(function.body))
