"""The default depths of calls: as deep as recursion without an end gets in a few seconds.

  in    ir.Program, and what its steps cost where it runs
  out   of functions that call themselves, and lead to launches, how many calls there may be of the functions in a
        circle of recursion: SECONDS by the price of a level, rounded down to two digits, from LEAST_CALLS on
  how   the price is that of the dearest way from a function's beginning to a call that leads back to it; functions
        called on the way are in it, each call of theirs once. What depends on data is not: how long kernels take for
        large sequences, how often others recur.

All others may call MOST_CALLS deep, which costs little more than memory.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from nessie.base.call_graph import components
from nessie.base.records import dataclass
from nessie.base.system.forking import cached_property
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.scope import soac_expressions, statements

MOST_CALLS = 1_000_000
LEAST_CALLS = 2_000
SECONDS = 3.0
MOST_STACK = 1 << 30            # bytes, where nobody has said how deep calls may go


@dataclass(frozen=True)
class Costs:
    """Microseconds that the host level takes for a statement, for an operation in it, for a launch, for a parameter or
    a result of the kernel launched, for an operation inside, for putting in order, and for an operation of a scalar
    function, at each level of its recursion."""
    statement: float
    operation: float
    launch: float
    argument: float = 0.0
    inside: float = 0.0
    order: float = 0.0
    scalar: float = 0.0


def default_depths(program: ir.Program, costs: Costs) -> dict[str, int]:
    """By functions' names; those that are not in it may call MOST_CALLS deep."""
    levels, found = Levels(program, costs), {}
    for function in program.functions:
        if levels.circles[function.name] in levels.launching:
            price = levels.way_back(function.body, levels.circles[function.name])
            if price is not None:
                found[function.name] = calls_for(price)
    if costs.scalar:
        for scalar in program.scalar_functions:
            found[scalar.name] = calls_for(2 * costs.statement + costs.scalar * size(scalar.body))
    return found


def called(block: ir.Block) -> set[str]:
    """The functions of the host level that it calls."""
    return {s.function for s in statements(block) if isinstance(s, ir.Call)}


def circles_of(calls: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """The number of each function's circle of recursion, callees' first; who does not recur is one alone."""
    return {name: number for number, circle in enumerate(components(calls)) for name in circle}


def calls_for(price: float) -> int:
    """The number of calls of this price that take the time that there is."""
    count = int(SECONDS * 1e6 / price)
    shown = str(count)
    return min(max(int(shown[:2].ljust(len(shown), "0")), LEAST_CALLS), MOST_CALLS)


def size(exp: ir.Exp) -> int:
    return len(list(subexpressions(exp)))


class Levels:
    """The costs of the program's parts, in microseconds."""

    def __init__(self, program: ir.Program, costs: Costs) -> None:
        self.costs = costs
        self.bodies = {f.name: f.body for f in program.functions}
        self.kernels = {k.name: k for k in program.kernels}
        self.prices: dict[str, float] = {}

    @cached_property
    def calls(self) -> dict[str, set[str]]:
        return {name: called(body) for name, body in self.bodies.items()}

    @cached_property
    def circles(self) -> dict[str, int]:
        """The number of the functions' circle: of those that call each other, or of one alone. Callees' are less."""
        return circles_of(self.calls)

    @cached_property
    def launching(self) -> set[int]:
        """The circles that lead to a launch."""
        found: set[int] = set()
        for name, circle in self.circles.items():
            if any(isinstance(s, ir.Run) for s in statements(self.bodies[name])) or any(
                    self.circles[callee] in found for callee in self.calls[name]):
                found.add(circle)
        return found

    def way_back(self, block: ir.Block, home: int) -> float | None:
        """The dearest way from the block's beginning to a call that leads back to the circle; None where there is
        none."""
        price, found = 0.0, None
        for statement in block.statements:
            match statement:
                case ir.Call(_, function) if self.circles[function] == home:
                    found = price + self.costs.statement
                case ir.Branch(_, _, then, orelse):
                    ways = [way for side in (then, orelse) if (way := self.way_back(side, home)) is not None]
                    found = price + self.costs.statement + max(ways) if ways else found
            price += self.statement(statement)
        return found

    def function(self, name: str) -> float:
        if name not in self.prices:
            self.prices[name] = 0.0             # of a call that leads back
            self.prices[name] = self.block(self.bodies[name])
        return self.prices[name]

    def block(self, block: ir.Block) -> float:
        return sum([self.statement(s) for s in block.statements])

    def statement(self, statement: ir.Statement) -> float:
        own = self.costs.statement
        match statement:
            case ir.Run(_, kernel):
                return own + self.kernel(self.kernels[kernel])
            case ir.HostLet(_, value):
                return own + self.costs.operation * size(value)
            case ir.Call(_, function):
                return own + self.function(function)
            case ir.Branch(_, _, then, orelse):
                return own + max(self.block(then), self.block(orelse))
        return own

    def kernel(self, kernel: ir.Kernel) -> float:
        inside = sum([size(exp) for bind in kernel.binds for exp in soac_expressions(bind.soac)])
        arguments = len(kernel.params) + len(kernel.returns)
        orders = sum([isinstance(bind.soac, ir.Order) for bind in kernel.binds])
        return (self.costs.launch + self.costs.argument * arguments + self.costs.inside * inside
                + self.costs.order * orders)
