"""The default limits of functions' call depths: as deep as endless recursion gets in a few seconds.

  in    ir.Program, and the costs of its steps where it runs
  out   for functions that call themselves and lead to launches, the limit of calls of the functions in a circle of
        recursion: SECONDS divided by the price of a level, rounded down to two digits, and at least LEAST_CALLS
  how   the price is that of the dearest way from a function's beginning to a call that leads back to it. It includes
        functions called on the way, each call once. It excludes costs that depend on data: the time of kernels on
        large sequences, the depth of other recursions.

All other functions may call MOST_CALLS deep, which costs little more than memory.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from nessie.base.call_graph import components
from nessie.base.records import dataclass
from nessie.base.system.forking import cached_property
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import BLOCKS, subexpressions
from nessie.lambda_cu.scope import soac_expressions, statements

MOST_CALLS = 1_000_000
LEAST_CALLS = 2_000
SECONDS = 3.0
MOST_STACK = 1 << 30            # bytes, if no depth is given


@dataclass(frozen=True)
class Costs:
    """Microseconds that the host level takes for a statement, for an operation in it, for a launch, for a parameter or
    a result of the launched kernel, for an operation inside the kernel, for ordering, and for an operation of a scalar
    function, at each level of its recursion."""
    statement: float
    operation: float
    launch: float
    argument: float = 0.0
    inside: float = 0.0
    order: float = 0.0
    scalar: float = 0.0


def default_depths(program: ir.Program, costs: Costs) -> dict[str, int]:
    """Return the limits by functions' names; functions without one may call MOST_CALLS deep."""
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
    """Return the functions of the host level that the block calls."""
    return {s.function for s in statements(block) if isinstance(s, ir.Call)}


def circles_of(calls: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return the number of each function's circle of recursion, callees first; a function that does not recur is a
    circle of its own."""
    return {name: number for number, circle in enumerate(components(calls)) for name in circle}


def calls_for(price: float) -> int:
    """Return how many calls of this price take the available time."""
    count = int(SECONDS * 1e6 / price)
    shown = str(count)
    return min(max(int(shown[:2].ljust(len(shown), "0")), LEAST_CALLS), MOST_CALLS)


def size(exp: ir.Exp) -> int:
    return len(list(subexpressions(exp)))


class Levels:
    """The costs of parts of the program, in microseconds."""

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
        """The number of each function's circle: of functions that call each other, or of one alone. Callees have lower
        numbers."""
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
        """Return the price of the dearest way from the block's beginning to a call that leads back to the circle; None
        if no such call exists."""
        price, found = 0.0, None
        for statement in block.statements:
            match statement:
                case ir.Call(_, function) if self.circles[function] == home:
                    found = price + self.costs.statement
                case ir.Branch() | ir.Choose():
                    ways = [way for side in BLOCKS.of(statement) if (way := self.way_back(side, home)) is not None]
                    found = price + self.costs.statement + max(ways) if ways else found
            price += self.statement(statement)
        return found

    def function(self, name: str) -> float:
        if name not in self.prices:
            self.prices[name] = 0.0             # the price of a call that leads back
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
            case ir.Branch() | ir.Choose():
                return own + max(map(self.block, BLOCKS.of(statement)))
        return own

    def kernel(self, kernel: ir.Kernel) -> float:
        inside = sum([size(exp) for bind in kernel.binds for exp in soac_expressions(bind.soac)])
        arguments = len(kernel.params) + len(kernel.returns)
        orders = sum([isinstance(bind.soac, ir.Order) for bind in kernel.binds])
        return (self.costs.launch + self.costs.argument * arguments + self.costs.inside * inside
                + self.costs.order * orders)
