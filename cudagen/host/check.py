"""The validator of the form host: enforces the invariants in the header of cudagen.host.nodes, no more, no less."""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import IllFormed
from nessie.base.widths import wide
from nessie.cudagen.host.nodes import (
    Code,
    Compute,
    Constant,
    Decide,
    Drop,
    Give,
    Instruction,
    Invoke,
    Jump,
    JumpUnless,
    Launch,
    Move,
    Operand,
    Perform,
    Program,
    Slot,
    dead_after,
    operands_of,
    results_of,
    slots_of,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import within
from nessie.lambda_cu.check_choices import check_condition
from nessie.lambda_cu.check_expressions import Place, check_expression, check_scalar_function, distinct
from nessie.lambda_cu.layout import parameters
from nessie.lambda_cu.scope import calls_in, condition_names, free_names
from nessie.lambda_cu.typing import Scope, are_constants, check_constant, require


@dataclass(frozen=True)
class Tables:
    """The tables of what instructions name: kernels and functions by the numbers of their arguments and results."""
    sites: Collection[str]
    scalars: Mapping[str, ir.ScalarFunction]
    kernels: Mapping[str, tuple[int, int]]
    functions: Mapping[str, tuple[int, int]]
    tunables: Collection[str] = ()


def check(program: Program) -> None:
    """Raise IllFormed, naming the place and the invariant, unless the program is well formed."""
    for what, named in (("site", program.sites), ("scalar function", program.scalar_functions),
                        ("tunable", program.tunables), ("kernel", program.kernels), ("function", program.functions)):
        with within(what):
            distinct((item.name, item) for item in named)
    tables = Tables({site.name for site in program.sites}, {f.name: f for f in program.scalar_functions},
                    {k.name: (k.arguments, k.results) for k in program.kernels},
                    {f.name: (len(f.parameters), result_count(f)) for f in program.functions},
                    {tunable.name for tunable in program.tunables})
    for function in program.scalar_functions:
        with within(f"scalar function {function.name}"):
            check_scalar_function(function, tables.scalars, tables.sites)
    for code in program.functions:
        check_code(code, tables)
    with within("entry"):
        check_entry(program.entry, tables)


def check_code(code: Code, tables: Tables) -> None:
    with within(f"function {code.name}"):
        CodeCheck(code, tables).check()


def check_entry(entry: ir.Entry, tables: Tables) -> None:
    names = Names()
    arguments = sum([len(parameters(layout, names)) for layout in entry.arguments])
    called("function", entry.function, tables.functions, arguments, len(parameters(entry.result, names)))


def result_count(code: Code) -> int:
    """The number of results of the function."""
    return next((len(i.results) for i in code.instructions if isinstance(i, Give)), 0)


def called(what: str, name: str, there: Mapping[str, tuple[int, int]], arguments: int, results: int) -> None:
    require(name in there, f"the program has no {what} {name}")
    require(there[name] == (arguments, results), f"{name} has {there[name][0]} arguments and {there[name][1]} results, "
                                                 f"not {arguments} and {results}")


class CodeCheck:
    """The check of one function. `holding[at]` are the slots that hold something before an instruction to which a way
    has been found, `read[at]` those that are read on a way from there."""

    def __init__(self, code: Code, tables: Tables) -> None:
        self.code, self.tables = code, tables
        self.holding: dict[int, frozenset[Slot]] = {}
        self.read: dict[int, frozenset[Slot]] = {}

    def check(self) -> None:
        instructions = self.code.instructions
        require(bool(instructions), "it has no instructions")
        self.operands(self.code.parameters)
        for at, instruction in enumerate(instructions):
            with within(f"instruction {at}"):
                self.jumps(at, instruction)
                self.names(instruction)
        for at in reversed(range(len(instructions))):
            after = self.read_after(at)
            self.read[at] = (after - set(results_of(instructions[at]))) | set(slots_of(operands_of(instructions[at])))
        self.reach(0, frozenset(self.fresh(self.code.parameters, frozenset())))
        unread(self.holding[0] - self.read[0])
        for at, instruction in enumerate(instructions):
            with within(f"instruction {at}"):
                require(at in self.holding, "no way leads here")
                self.flow(at, instruction)

    # What it names ------------------------------------------------------------------------------

    def operands(self, operands: Iterable[Operand | None]) -> None:
        for operand in operands:
            self.operand(operand)

    def operand(self, operand: Operand | None) -> None:
        if isinstance(operand, int):
            require(0 <= operand < self.code.slots, f"there is no slot {operand}, but {self.code.slots} from 0 on")
        elif operand is not None and operand.type == "site":
            require(operand.value in self.tables.sites, f"the program has no site {operand.value}")
        elif operand is not None:
            check_constant(operand)

    def jumps(self, at: int, instruction: Instruction) -> None:
        if isinstance(instruction, (Jump, JumpUnless)):
            require(at < instruction.target < len(self.code.instructions),
                    f"it jumps to {instruction.target}, which is not after it in the function")
        last = at + 1 == len(self.code.instructions)
        require(isinstance(instruction, (Jump, Give)) or not last, "a way ends without give")

    def names(self, instruction: Instruction) -> None:
        self.operands((*operands_of(instruction), *results_of(instruction), *dead_after(instruction)))
        match instruction:
            case Launch(results, kernel, arguments):
                called("kernel", kernel, self.tables.kernels, len(arguments), len(results))
            case Invoke(results, function, arguments):
                called("function", function, self.tables.functions, len(arguments), len(results))
            case Perform(results, effect, arguments, takes, gives):
                layouts = {effect: (len(parameters(takes, Names())), len(parameters(gives, Names())))}
                called("effect", effect, layouts, len(arguments), len(results))
            case Compute(_, value, names):
                self.expression(value, names)
            case Decide(_, _, value, names):
                self.condition(value, names)
            case Constant(_, base, values):
                if not are_constants(values, base):
                    for constant in values:
                        check_constant(ir.Const(constant, wide(base)))
            case Move(results, sources):
                require(len(results) == len(sources), f"{len(sources)} values go to {len(results)} slots")
            case Give(results):
                first = result_count(self.code)
                require(len(results) == first, f"{len(results)} results are given, and elsewhere {first}")

    def expression(self, value: ir.Exp, names: Mapping[str, Slot]) -> None:
        check_expression(value, Place(Scope({}, self.tables.scalars), set(names), self.tables.sites))
        for call in calls_in(value):
            function = self.tables.scalars.get(call.function)
            if function is None:
                raise IllFormed(f"the program has no scalar function {call.function}")
            require(len(function.params) == len(call.arguments),
                    f"{call.function} has {len(function.params)} arguments, not {len(call.arguments)}")
            require(len(function.arrays) == len(call.arrays),
                    f"{call.function} reads {len(function.arrays)} arrays, not {len(call.arrays)}")
        read = set(free_names(value))
        for name in sorted(read ^ names.keys()):
            raise IllFormed(f"{name} is read, but in no slot" if name in read else f"{name} is in a slot, but not read")

    def condition(self, value: ir.Exp, names: Mapping[str, Slot]) -> None:
        arrays = {name for call in calls_in(value) for name in call.arrays}
        types: dict[str, ir.Type] = {name: ir.Array("int", "_", 1) if name in arrays else "int" for name in names}
        check_condition(value, Scope(types, {}), self.tables.tunables)
        require(set(names) == set(condition_names(value)), "the names of a condition are not those in slots")

    # What slots hold ----------------------------------------------------------------------------

    def ways(self, at: int) -> tuple[int, ...]:
        """The instructions that may come next."""
        match self.code.instructions[at]:
            case Give():
                return ()
            case Jump(target):
                return (target,)
            case JumpUnless(_, target):
                return (at + 1, target)
        return (at + 1,)

    def read_after(self, at: int) -> frozenset[Slot]:
        return frozenset().union(*(self.read[way] for way in self.ways(at)))

    def reach(self, at: int, holding: frozenset[Slot]) -> None:
        known = self.holding.setdefault(at, holding)
        require(known == holding, f"{numbered(known ^ holding)} hold something on one way to instruction {at} only")

    def fresh(self, results: Iterable[Slot | None], holding: frozenset[Slot]) -> set[Slot]:
        """The results' slots, which differ and hold nothing yet."""
        times = Counter(slot for slot in results if slot is not None)
        for slot, count in times.items():
            require(count == 1, f"two results go to #{slot}")
            require(slot not in holding, f"a result goes to #{slot}, which holds something")
        return set(times)

    def flow(self, at: int, instruction: Instruction) -> None:
        holding, dead = self.holding[at], dead_after(instruction)
        read = set(slots_of(operands_of(instruction)))
        require(read <= holding, f"{numbered(read - holding)} are read, but hold nothing")
        require(len(set(dead)) == len(dead), "a slot is dead twice")
        emptied = holding if isinstance(instruction, Drop) else read
        require(set(dead) <= emptied, f"{numbered(set(dead) - emptied)} are dead, but have nothing that is read here")
        after = (holding | self.fresh(results_of(instruction), holding)) - set(dead)
        unread(after - self.read_after(at))
        for way in self.ways(at):
            self.reach(way, after)


def unread(held: Collection[Slot]) -> None:
    require(not held, f"{numbered(held)} are held from here on, but not read")


def numbered(slots: Collection[Slot]) -> str:
    return f"slots {', '.join(f'#{slot}' for slot in sorted(slots))}"
