"""The reference executor: runs whole programs of lambda_cu, flat or fused, on NumPy. It defines what programs mean.

  in    a program that lambda_cu.check accepts, and flat values (nessie.base.values) for the entry's arguments
  out   the flat value of the result, or NessieError for a failure of the program
  how   the host level runs on an explicit stack of activations, so recursion is as deep as memory allows; kernels
        run in reference.kernels, their thunks in reference.thunks. Names are dropped after their last use.

The host sees failures of kernels where it looks: before the next launch, at a scalar that it computes with, at a
condition, a call, an effect, and at the end. Of several failures of one kernel the least site, then index, is raised.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from nessie.base.effects import Perform, no_effects
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Origin, user_span
from nessie.base.values import DTYPES
from nessie.base.widths import WIDE
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.layout import from_names, to_names, type_of_layout
from nessie.lambda_cu.parts import BLOCKS
from nessie.lambda_cu.passes.specialise_sites import specialise_sites
from nessie.lambda_cu.reference.context import Context, EvaluationLimits
from nessie.lambda_cu.reference.kernels import run_kernel
from nessie.lambda_cu.reference.lanes import Lanes
from nessie.lambda_cu.reference.thunks import Evaluator, constant
from nessie.lambda_cu.running.stats import Stats
from nessie.lambda_cu.scope import atom_names, used_names

__all__ = ["EvaluationLimits", "Stats", "execute"]

ACTIVATION, NAME = 400, 130             # bytes of a call, and of each name that its caller holds during it


def execute(program: ir.Program, arguments: Sequence[Any], limits: EvaluationLimits | None = None,
            stats: Stats | None = None, perform: Perform = no_effects, version: str = "") -> Any:
    """Return the value of the entry's function on these flat values. `stats`, if given, is counted up; `perform` does
    the program's effects. Choices take the case `version`, where they have it, else the last."""
    held = [value for argument, layout in zip(arguments, program.entry.arguments, strict=True)
            for value in to_names(argument, layout)]
    program = specialise_sites(program)
    machine = Machine(program, Context(program, limits or EvaluationLimits(), stats or Stats()), perform, version)
    try:
        with np.errstate(all="ignore"):
            results = machine.run(program.entry.function, held)
    finally:
        machine.stack.clear()                   # the traceback of a kept error would keep the machine
    return from_names(results, program.entry.result)


# Code: blocks with the names to forget after each statement ----------------------------------------


@dataclass(frozen=True)
class ScopedStatement:
    """A statement and the names that nothing after it uses."""
    statement: ir.Statement
    drops: tuple[str, ...]
    blocks: tuple[Code, ...] = ()


@dataclass(frozen=True)
class Code:
    steps: tuple[ScopedStatement, ...]
    results: tuple[ir.Atom, ...]


def compiled(block: ir.Block, after: frozenset[str]) -> tuple[Code, set[str]]:
    """Return the block's steps, and the names that it uses. `after` are the names used when it has ended."""
    used = set(atom_names(block.results))
    live = used.union(after)
    steps: list[ScopedStatement] = []
    for statement in reversed(block.statements):
        inside = [compiled(inner, frozenset(live)) for inner in BLOCKS.of(statement)]
        names = set(used_names(statement)).union(*[used_inside for _, used_inside in inside])
        steps.append(ScopedStatement(statement, tuple(names - live), tuple([code for code, _ in inside])))
        live |= names
        used |= names
    return Code(tuple(reversed(steps)), block.results), used


# The machine --------------------------------------------------------------------------------------


@dataclass
class Activation:
    """A running block. A branch's block shares its function's names; `results` get a block's results."""
    code: Code
    names: dict[str, Any]
    results: tuple[ir.Param, ...] = ()
    origin: Origin = ()                     # of the user's statement that led here
    position: int = 0
    types: dict[str, ir.Type] = field(default_factory=dict)         # of arrays whose elements are narrow
    unread: set[str] | None = None          # scalars that kernels computed and the host has not read
    first: bool = False                     # is it a function's body, and no block in it?
    size: int = 0                           # bytes that the activation counts for


class Machine:
    def __init__(self, program: ir.Program, context: Context, perform: Perform, version: str) -> None:
        self.context, self.perform, self.version = context, perform, version
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.functions = {function.name: function for function in program.functions}
        self.code: dict[str, Code] = {}
        self.types: dict[str, dict[str, ir.Type]] = {}
        self.stack: list[Activation] = []
        self.uses: Counter[int] = Counter()     # by the ids of arrays: how many names hold them

    def run(self, function: str, arguments: Sequence[Any]) -> list[Any]:
        """Run the function and return its results; each round of the loop does one statement."""
        arguments = [interned(value) for value in arguments]
        self.hold(arguments)                            # the caller does
        self.enter(function, arguments, ())
        while True:
            activation = self.stack[-1]
            if activation.position < len(activation.code.steps):
                step = activation.code.steps[activation.position]
                activation.position += 1
                self.do(step, activation)
                continue
            values = [atom_value(atom, activation.names) for atom in activation.code.results]
            self.stack.pop()
            if activation.first:
                self.let_go(activation.names.values())
            if not self.stack:
                self.context.raise_pending()
                return values
            outer = self.stack[-1]
            self.bind(activation.results, values, outer)
            if activation.names is outer.names:         # the end of a branch
                self.forget(outer.code.steps[outer.position - 1], outer.names)
            else:
                self.context.end_call(activation.size)
                self.context.called.pop()

    def enter(self, name: str, values: Sequence[Any], results: tuple[ir.Param, ...]) -> None:
        """Begin a call."""
        most = self.context.running.beyond(name, len(self.context.called))
        if most is not None:
            self.context.too_deep(most)
        function = self.functions[name]
        size = ACTIVATION + NAME * len(self.stack[-1].names) if self.stack else 0
        self.context.begin_call(name, size)
        self.context.called.append(self.context.origin)
        code = self.code.get(name) or self.code.setdefault(name, compiled(function.body, frozenset())[0])
        names = {param.name: value for param, value in zip(function.params, values, strict=True)}
        types = self.types.get(name) or self.types.setdefault(name, narrow_arrays(function))
        self.hold(names.values())
        self.stack.append(Activation(code, names, results, self.context.origin, size=size, types=types, first=True))

    def do(self, step: ScopedStatement, activation: Activation) -> None:
        statement, names = step.statement, activation.names
        self.context.stats.steps += 1
        self.context.origin = statement.origin if user_span(statement.origin) else activation.origin
        self.context.poll()
        match statement:
            case ir.Run(results, kernel, arguments):
                self.context.raise_pending()            # like devices, which launch nothing after a failure
                self.look_at_sizes(kernel, arguments, activation)
                self.context.launch(self.kernels[kernel])
                values = run_kernel(self.kernels[kernel], [atom_value(a, names) for a in arguments], self.context,
                                    self.spare(step, self.kernels[kernel], arguments, names))
                unread = {param.name for param in results if not isinstance(param.type, ir.Array)}
                activation.unread = (activation.unread or set()) | unread
                self.bind(results, values, activation)
            case ir.Call(results, function, arguments):
                self.look(activation)
                values = [atom_value(a, names) for a in arguments]
                self.forget(step, names)
                self.enter(function, values, results)
                return
            case ir.Effect(results, name, arguments, takes, gives):
                self.look(activation)
                argument = from_names([atom_value(a, names) for a in arguments], takes)
                self.bind(results, self.performed(name, argument, takes, gives), activation)
            case ir.HostLet(result, value):
                self.look(activation)
                lanes = Lanes(np.zeros(1, np.int64), {})
                evaluator = Evaluator(self.context, names, activation.types)
                computed = np.asarray(evaluator.value(value, lanes)).reshape(-1)[0]
                self.context.raise_pending()
                self.bind((result,), [computed], activation)
            case ir.Data(result, values):
                self.bind((result,), [data(result, values)], activation)
            case ir.Branch(results, condition, _, _):
                self.look(activation)
                code = step.blocks[0 if atom_value(condition, names) else 1]
                self.stack.append(Activation(code, names, results, self.context.origin, types=activation.types))
                return
            case ir.Choose(results, cases):
                taken = [case.name == self.version for case in cases]
                code = step.blocks[taken.index(True) if any(taken) else -1]
                self.stack.append(Activation(code, names, results, self.context.origin, types=activation.types))
                return
        self.forget(step, names)

    def performed(self, name: str, argument: Any, takes: ir.Layout, gives: ir.Layout) -> list[Any]:
        """Perform an effect; return the values of its results' names."""
        try:
            result = self.perform(name, argument, type_of_layout(takes))
        except NessieError as failure:
            failure.places = tuple(self.context.places())
            raise
        return [interned(value) for value in to_names(result, gives)]

    def look(self, activation: Activation) -> None:
        """Read a scalar on the host, and the error word with it."""
        self.context.raise_pending()
        activation.unread = None

    def look_at_sizes(self, kernel: str, arguments: tuple[ir.Atom, ...], activation: Activation) -> None:
        """Look at sizes that a kernel computed before making anything of that size."""
        params = self.kernels[kernel].params
        sizes = {atom.name for param, atom in zip(params, arguments, strict=True)
                 if isinstance(atom, ir.Var) and param.type == "int"}
        if activation.unread and not sizes.isdisjoint(activation.unread):
            self.look(activation)

    def spare(self, step: ScopedStatement, kernel: ir.Kernel, arguments: tuple[ir.Atom, ...],
              names: dict[str, Any]) -> list[str]:
        """Return the kernel's parameters whose arrays nothing but this launch holds, and it only once."""
        given = atom_names(arguments)
        return [param.name for param, atom in zip(kernel.params, arguments, strict=True)
                if isinstance(atom, ir.Var) and atom.name in step.drops and isinstance(param.type, ir.Array)
                and self.uses[id(names[atom.name])] == 1 and given.count(atom.name) == 1]

    def hold(self, values: Iterable[Any]) -> None:
        self.uses.update([id(value) for value in values if isinstance(value, np.ndarray)])

    def let_go(self, values: Iterable[Any]) -> None:
        for value in values:
            if isinstance(value, np.ndarray):
                self.uses[id(value)] -= 1
                if not self.uses[id(value)]:
                    del self.uses[id(value)]

    def forget(self, step: ScopedStatement, names: dict[str, Any]) -> None:
        self.let_go([names.pop(name) for name in step.drops if name in names])

    def bind(self, results: tuple[ir.Param, ...], values: Sequence[Any], activation: Activation) -> None:
        for param, value in zip(results, values, strict=True):
            if param.name != "_":
                activation.names[param.name] = value
                self.hold((value,))


def narrow_arrays(function: ir.Function) -> dict[str, ir.Type]:
    """Return the types of the function's arrays whose elements are narrow."""
    return {param.name: param.type for param in scope.bound(function)
            if isinstance(param.type, ir.Array) and param.type.base in WIDE}


def atom_value(atom: ir.Atom, names: dict[str, Any]) -> Any:
    return names[atom.name] if isinstance(atom, ir.Var) else constant(atom)


def data(result: ir.Param, values: Sequence[Any]) -> Any:
    base = result.type.base if isinstance(result.type, ir.Array) else result.type
    return np.array([ord(value) if base == "char" else value for value in values], DTYPES[base])


def interned(value: Any) -> Any:
    """Return an argument as the executor holds it: a scalar of NumPy's types, a char as its code point."""
    match value:
        case np.ndarray() | np.generic():
            return value
        case str():
            return DTYPES["char"].type(ord(value))
        case bool():
            return np.bool_(value)
        case float():
            return np.float64(value)
    return np.int64(value)
