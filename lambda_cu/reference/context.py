"""The state of one run of the reference executor: the first error, the limits, the counts."""
from __future__ import annotations

import weakref
from typing import Any, NoReturn

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import InternalError, NessieError, Origin, Span, called_from, places, user_span
from nessie.base.system.deadline import deadline
from nessie.base.system.limits import COMMAND_LINE, LimitHints, out_of_memory, too_deep
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import children, subexpressions
from nessie.lambda_cu.running.calls import RunningCalls
from nessie.lambda_cu.running.default_depths import MOST_STACK, Costs
from nessie.lambda_cu.running.empty_kernels import EmptyRun, empty_run
from nessie.lambda_cu.running.recursion import origin_of
from nessie.lambda_cu.running.stats import Stats
from nessie.lambda_cu.running.traffic import Traffic, traffic
from nessie.lambda_cu.scope import inner_calls

Array = np.ndarray[Any, Any]

INDEX_BITS = 40
COSTS = Costs(statement=5, operation=2, launch=40, inside=5, scalar=1)


@dataclass(frozen=True)
class EvaluationLimits:
    """The limits of a run. `depth`: how deep functions may call (None: as default_depths says, on a stack of MOST_STACK
    bytes). `memory`: how many bytes may be held, of which the caller holds `held`. `hints` tell how to set these."""
    depth: int | None = None
    memory: int | None = None
    hints: LimitHints = COMMAND_LINE
    held: int = 0


class Context:
    def __init__(self, program: ir.Program, limits: EvaluationLimits, stats: Stats) -> None:
        self.program = program
        self.sites = program.sites
        self.numbers = {site.name: number for number, site in enumerate(program.sites)}
        self.scalar_functions = {function.name: function for function in program.scalar_functions}
        self.calls = inner_calls(program.scalar_functions)
        self.call_numbers = {id(call): number for number, call in enumerate(self.calls)}
        self.calling = calling(program)
        self.limits, self.stats = limits, stats
        self.running = RunningCalls(program, COSTS, limits.depth, stats.calls)
        self.traffic: dict[str, Traffic] = {}   # of kernels, by their names, where bytes are counted
        self.idle_kernels: dict[str, EmptyRun | None] = {}      # when kernels would not be launched, by their names
        self.error: int | None = None           # the least key of a failure not yet raised
        self.held = limits.held                 # bytes of arrays that are alive, and of the stack
        self.stack = 0                          # bytes of functions that run
        self.origin: Origin = ()                # of the statement under way, or of the user's call that leads there
        self.called: list[Origin] = []          # the calls of the functions that are running, outermost first
        self.launched: Origin = ()              # the same of the last kernel, or of the first since a failure
        self.kernel: ir.Kernel | None = None    # that one
        self.deadline = deadline()

    def idle_when(self, kernel: ir.Kernel) -> EmptyRun | None:
        """Return the condition under which a target would not launch the kernel."""
        if kernel.name not in self.idle_kernels:
            self.idle_kernels[kernel.name] = empty_run(kernel, self.scalar_functions)
        return self.idle_kernels[kernel.name]

    def traffic_of(self, kernel: ir.Kernel) -> Traffic:
        if kernel.name not in self.traffic:
            self.traffic[kernel.name] = traffic(kernel, self.scalar_functions)
        return self.traffic[kernel.name]

    def launch(self, kernel: ir.Kernel) -> None:
        """Note that the current statement launches the kernel."""
        if self.error is None:
            self.launched, self.kernel = self.origin, kernel

    def record(self, site: str, index: int) -> None:
        """Record that the site failed at this index; the least of several failures is kept."""
        self.note(self.numbers[site], index)

    def record_too_deep(self, call: ir.CallScalar, index: int) -> None:
        """Record that the call would have been too deep; its key is greater than that of any site's failure."""
        self.note(len(self.sites) + self.call_numbers[id(call)], index)

    def note(self, number: int, index: int) -> None:
        key = (number << INDEX_BITS) + index
        self.error = key if self.error is None else min(self.error, key)

    def raise_pending(self) -> None:
        """Raise the recorded failure, if there is one: the host looks at the error word."""
        if self.error is not None:
            number, index = self.error >> INDEX_BITS, self.error & ((1 << INDEX_BITS) - 1)
            if number >= len(self.sites):
                self.too_many_calls(self.calls[number - len(self.sites)])
            site = self.sites[number]
            raise NessieError(site.message, *self.places(site.origin, f"at element {index}" if site.element else ""))

    def inconsistent(self, message: str) -> NoReturn:
        """Report what no correct program does. After a failure it is a consequence of that failure."""
        self.raise_pending()
        raise InternalError(f"the reference executor found that {message}")

    def poll(self) -> None:
        """Raise an error if the time is up."""
        if self.deadline.passed():
            self.raise_pending()
            raise self.deadline.error(*self.places())

    def begin_call(self, function: str, size: int) -> None:
        """Count the bytes that the function takes while it runs."""
        self.reserve(size)
        self.held += size
        self.stack += size
        if self.limits.depth is None and self.stack > MOST_STACK:
            self.fail(f"recursion takes more than {MOST_STACK:,} bytes, {len(self.stats.calls):,} calls deep",
                      self.limits.hints.depth)
        self.running.begin(function)

    def end_call(self, size: int) -> None:
        self.held -= size
        self.stack -= size
        self.running.end()

    def reserve(self, size: int) -> None:
        """Refuse an allocation that goes over the limit, before it is made."""
        if self.limits.memory is not None and self.held + size > self.limits.memory:
            self.fail(out_of_memory(size, self.held, self.limits.memory), self.limits.hints.memory)

    def hold(self, array: Array) -> None:
        """Count the array until nobody holds it."""
        if self.limits.memory is not None and array.nbytes:
            self.held += array.nbytes
            weakref.finalize(array, self.release, array.nbytes)

    def release(self, size: int) -> None:
        self.held -= size

    def too_many_calls(self, call: ir.CallScalar) -> NoReturn:
        """Raise the error of this call in a scalar function, which is too deep."""
        most = self.running.most(call.function)
        self.too_deep(most, origin_of(call, self.kernel, self.launched, self.scalar_functions))

    def too_deep(self, most: int, origin: Origin = ()) -> NoReturn:
        raise NessieError(too_deep(most), *self.places(origin), hint=self.limits.hints.depth)

    def fail(self, message: str, hint: str = "") -> NoReturn:
        """Raise an error of the current statement."""
        raise NessieError(message, *self.places(), hint=hint)

    def places(self, origin: Origin = (), label: str = "") -> list[tuple[Span, str]]:
        """Return the places of this origin, or else of the current statement, in the user's text, and of the calls
        around it."""
        here = origin if user_span(origin) else self.origin
        return places(called_from(here, reversed(self.called)), label)


def calling(program: ir.Program) -> frozenset[int]:
    """Return the expressions in scalar functions that call scalar functions, by identity."""
    found: set[int] = set()
    for function in program.scalar_functions:
        for exp in reversed(list(subexpressions(function.body))):       # parts before what they are parts of
            if isinstance(exp, ir.CallScalar) or any([id(part) in found for part in children(exp)]):
                found.add(id(exp))
    return frozenset(found)
