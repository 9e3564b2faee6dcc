"""The running calls, and the check that there may be one more within them.

If --depth limits the depth of calls, all calls count. Else a function's own default depth
(lambda_cu.running.default_depths) counts the running calls of its circle of recursion, and MOST_CALLS counts all: a
deep recursion that costs little may call, at its base, a function that costs much.
"""
from __future__ import annotations

from collections import Counter

from nessie.base.system.forking import cached_property
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.running import default_depths
from nessie.lambda_cu.running.default_depths import Costs, called, circles_of
from nessie.lambda_cu.scope import calls_in


class RunningCalls:
    """`names`: the running functions, outermost first. Circles are counted once there are as many calls as the least
    default allows."""

    def __init__(self, program: ir.Program, costs: Costs, depth: int | None, names: list[str]) -> None:
        self.program, self.costs, self.depth, self.names = program, costs, depth, names
        names.clear()
        self.counts: Counter[int] | None = None     # running calls per circle

    def begin(self, function: str) -> None:
        self.names.append(function)
        if self.counts is not None:
            self.counts[self.circles[function]] += 1

    def end(self) -> None:
        function = self.names.pop()
        if self.counts is not None:
            self.counts[self.circles[function]] -= 1

    def most(self, function: str) -> int:
        """Return how many calls of the function's circle there may be."""
        return self.defaults.get(function, default_depths.MOST_CALLS) if self.depth is None else self.depth

    def beyond(self, function: str, within: int) -> int | None:
        """Return the limit that one more call of this function, within so many, would exceed; None if the call is
        allowed."""
        if self.depth is not None:
            return self.depth if within >= self.depth else None
        if len(self.names) < default_depths.LEAST_CALLS:
            return None
        if self.counts is None:
            self.counts = Counter([self.circles[name] for name in self.names])
        if self.counts[self.circles[function]] >= self.most(function):
            return self.most(function)
        return default_depths.MOST_CALLS if within >= default_depths.MOST_CALLS else None

    @cached_property
    def defaults(self) -> dict[str, int]:
        return default_depths.default_depths(self.program, self.costs)

    @cached_property
    def circles(self) -> dict[str, int]:
        """The number of each function's circle of recursion, by the function's name."""
        calls = {f.name: called(f.body) for f in self.program.functions}
        for f in self.program.scalar_functions:
            calls.setdefault(f.name, set()).update([call.function for call in calls_in(f.body)])
        return circles_of(calls)
