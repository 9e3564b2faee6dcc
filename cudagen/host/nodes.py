"""The host level of a program as flat lists of instructions, for an executor with a stack of its own: the form host.

    site s1 "division by zero" at "third.nesl":28-33
    kernel K1 : 2 -> 1

    host third (#0, #1) slots 6 {
      0: unless true jump 4
      1: launch K1 (#0, #1) -> #3 dead #1
      2: move (#3) -> #2 dead #3
      3: jump 5
      4: move (#1) -> #2 dead #1
      5: compute #4 = if n /= 0 then 1 / n else fail s1 : int where n is #0
      6: constant #5 = int [1, 2, 3]
      7: give (#0, #2, #4, 3, #5) dead #0, #2, #4, #5
    }

    entry third : [float] -> ([float], (int, [int]))

Tunables stand before the kernels, `tunable f.ys.pulled : share = 8`; a function decides by them,
`7: decide #6 = f.ys.pulled if n * f.ys.pulled <= m where n is #0, m is #2`.

A function is instructions over numbered slots, each of which holds a scalar, an array, or nothing. `dead` are the slots
that an instruction empties when it is done, so that arrays are freed as early as can be. Sites, scalar functions,
expressions and layouts are those of lambda_cu; of kernels nothing is told but how many arguments and results they have.

Invariants (checked by cudagen.host.check):
  - sites, scalar functions, kernels and functions have different names, and are there where they are named, with as
    many arguments and results; effects and the entry have as many as their layouts say; constants fit their types;
  - a computation's names are those that its expression reads, and no others;
  - slots are numbers below `slots`; jumps go forward, inside the function; every way ends in Give, all of a function
    with as many results, and to each instruction a way leads;
  - an instruction reads slots that hold something, and its results, which differ, go to slots that hold nothing; where
    ways meet, the same slots hold something;
  - a slot that holds something is read on a way from there: `dead` are what the instruction reads and none after it
    does. At the beginning of a way, a Drop empties what only another way reads.
"""
from __future__ import annotations

from nessie.base.located import Located
from nessie.base.records import dataclass
from nessie.base.system.forking import cached_property
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import Reader, bases, reader
from nessie.lambda_cu.running.empty_kernels import EmptyRun
from nessie.lambda_cu.scope import calls_in

Slot = int
Operand = Slot | ir.Const
Slots = tuple[Slot, ...]
Results = tuple[Slot | None, ...]       # None: nobody reads it


@dataclass(frozen=True)
class Launch(Located):
    results: Results
    kernel: str
    arguments: tuple[Operand, ...]
    dead: Slots = ()

    @cached_property
    def last(self) -> tuple[int, ...]:
        """The numbers of the arguments in slots that nothing else reads, nor this another time."""
        return tuple([number for number, slot in enumerate(self.arguments)
                      if slot in self.dead and self.arguments.count(slot) == 1])


@dataclass(frozen=True)
class Compute(Located):
    """A scalar expression; `names` says in which slots its variables and arrays are."""
    result: Slot | None
    value: ir.Exp
    names: dict[str, Slot]
    dead: Slots = ()


@dataclass(frozen=True)
class Decide(Located):
    """Whether the condition of a choice's case holds; `version` is what tunables call the case. `names` say where its
    ints and offsets are; its tunables are the run's."""
    result: Slot | None
    version: str
    value: ir.Exp
    names: dict[str, Slot]
    dead: Slots = ()


@dataclass(frozen=True)
class Constant:
    """A constant array."""
    result: Slot | None
    base: str
    values: tuple[int | float | bool | str, ...]


@dataclass(frozen=True)
class Invoke(Located):
    results: Results
    function: str
    arguments: tuple[Operand, ...]
    dead: Slots = ()


@dataclass(frozen=True)
class Perform(Located):
    results: Results
    effect: str
    arguments: tuple[Operand, ...]
    takes: ir.Layout
    gives: ir.Layout
    dead: Slots = ()


@dataclass(frozen=True)
class JumpUnless(Located):
    condition: Operand
    target: int
    dead: Slots = ()


@dataclass(frozen=True)
class Jump:
    target: int


@dataclass(frozen=True)
class Move:
    """All at once."""
    results: Results
    sources: tuple[Operand, ...]
    dead: Slots = ()


@dataclass(frozen=True)
class Drop:
    dead: Slots


@dataclass(frozen=True)
class Give:
    """The function's results; its other slots are empty by now."""
    results: tuple[Operand, ...]
    dead: Slots


Instruction = Launch | Compute | Decide | Constant | Invoke | Perform | JumpUnless | Jump | Move | Drop | Give


@dataclass(frozen=True)
class Code:
    """`parameters`: their slots, None where nobody reads one."""
    name: str
    parameters: Results
    slots: int
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Signature:
    """A kernel, by the numbers of its arguments and results."""
    name: str
    arguments: int
    results: int


@dataclass(frozen=True)
class Known:
    """A kernel. `idle`: when it has nothing to do, if ever; `calls`: it calls scalar functions."""
    kernel: ir.Kernel
    idle: EmptyRun | None
    calls: bool


@dataclass(frozen=True)
class Program:
    sites: tuple[ir.Site, ...]
    scalar_functions: tuple[ir.ScalarFunction, ...]
    kernels: tuple[Signature, ...]
    functions: tuple[Code, ...]
    entry: ir.Entry
    tunables: tuple[ir.Tunable, ...] = ()

    @cached_property
    def codes(self) -> dict[str, Code]:
        """The functions by their names."""
        return {code.name: code for code in self.functions}

    @cached_property
    def asks(self) -> bool:
        """Do choices ask for statistics of segments?"""
        return any(isinstance(i, Decide) and calls_in(i.value) for code in self.functions for i in code.instructions)

    @cached_property
    def known(self) -> dict[str, Known]:
        """What is known of kernels, by their names, as far as runs have asked."""
        return {}

    @cached_property
    def bases(self) -> tuple[tuple[str, ...], ...]:
        """The types of each argument's names, of arrays those of their elements."""
        return tuple([bases(layout) for layout in self.entry.arguments])

    @cached_property
    def read(self) -> Reader:
        """What makes the result of what its names hold."""
        return reader(self.entry.result)


def operands_of(instruction: Instruction) -> tuple[Operand, ...]:
    """The operands that the instruction reads."""
    match instruction:
        case Launch(_, _, arguments) | Invoke(_, _, arguments) | Perform(_, _, arguments):
            return arguments
        case Compute(names=names) | Decide(names=names):
            return tuple(names.values())
        case JumpUnless(condition):
            return (condition,)
        case Move(_, sources):
            return sources
        case Give(results):
            return results
    return ()


def results_of(instruction: Instruction) -> Results:
    """The slots of the instruction's results."""
    match instruction:
        case Launch(results) | Invoke(results) | Perform(results) | Move(results):
            return results
        case Compute(result) | Decide(result) | Constant(result):
            return (result,)
    return ()


def dead_after(instruction: Instruction) -> Slots:
    return () if isinstance(instruction, (Jump, Constant)) else instruction.dead


def slots_of(operands: tuple[Operand, ...]) -> Slots:
    """The slots among them, each once."""
    return tuple(sorted({o for o in operands if isinstance(o, int)}))
