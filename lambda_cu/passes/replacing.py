"""Kernels of one array combinator are replaced: each run of one becomes statements that do the same by other kernels.

A `Replacing` is made for each run. It makes kernels that compute parts of the old one, in the old one's names (map_of),
and kernels of their own, in the names of the host function (of).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.source import Origin
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.parts import BLOCKS
from nessie.lambda_cu.typing import functions_of

ZERO, ONE = ir.Const(0, "int"), ir.Const(1, "int")


class Replacing:
    """The kernels and statements that do what one run of a kernel did. `names` are those of kernels, `local` those of
    the host function."""

    def __init__(self, kernel: ir.Kernel, run: ir.Run, names: Names, local: Names,
                 functions: Mapping[str, ir.ScalarFunction]) -> None:
        (self.bind,) = kernel.binds
        assert not isinstance(self.bind.soac, ir.Once)
        self.space = self.bind.soac.space
        self.kernel, self.run, self.functions = kernel, run, functions
        self.names, self.local = names, local
        self.given = dict(zip([p.name for p in kernel.params], run.arguments, strict=True))
        self.kernels: list[ir.Kernel] = []

    def statements(self) -> Iterator[ir.Statement]:
        raise NotImplementedError

    @property
    def total(self) -> ir.Size:
        """How many elements the kernel walks, as the host has it."""
        return self.size(self.space.size if isinstance(self.space, ir.Flat) else self.space.total)

    def map_of(self, thunk: ir.Thunk, made: tuple[tuple[str, str], ...], total: ir.Size) -> ir.Run:
        """A MAP of one of the kernel's thunks, in its own names."""
        kernel = self.kernel
        own = Names([p.name for p in kernel.params])
        names = tuple([own.fresh(name) for name, _ in made])
        bind = replace(self.bind, names=names, soac=ir.Map(thunk, self.space))
        found = replace(kernel, name=self.names.fresh(kernel.name), binds=(bind,), returns=names)
        self.kernels.append(found)
        results = tuple([ir.Param(name, ir.Array(base, total)) for name, base in made])
        return replace(self.run, results=results, kernel=found.name)

    def of(self, soac: ir.Soac, made: dict[str, ir.Array], read: dict[str, ir.Array]) -> ir.Run:
        """The run of a kernel whose names are those of the host."""
        sizes = dict.fromkeys(size for type_ in (*read.values(), *made.values()) if isinstance(size := type_.size, str))
        sizes.update(dict.fromkeys(name for name in scope.space_names(scope.space_of(soac)) if name not in read))
        params = (*(ir.Param(name, "int") for name in sizes), *(ir.Param(name, type_) for name, type_ in read.items()))
        own = Names([p.name for p in params])
        names = tuple([own.fresh(f"{name}_made") for name in made])
        origin: Origin = self.run.origin
        kernel = ir.Kernel(self.names.fresh(self.kernel.name), params, (ir.Bind(names, soac, origin=origin),), names,
                           origin=self.kernel.origin)
        self.kernels.append(kernel)
        results = tuple([ir.Param(name, type_) for name, type_ in made.items()])
        return ir.Run(results, kernel.name, tuple([ir.Var(p.name) for p in params]), origin=origin)

    def size(self, size: ir.Size) -> ir.Size:
        """A size of the kernel's, as the host has it."""
        atom = self.atom(size)
        return int(atom.value) if isinstance(atom, ir.Const) else atom.name

    def atom(self, size: ir.Size) -> ir.Atom:
        return self.given[size] if isinstance(size, str) else ir.Const(size, "int")


def with_runs_replaced(program: ir.Program, chosen: Callable[[ir.Kernel], bool],
                       made: Callable[..., Replacing]) -> ir.Program:
    """The program in which these kernels are replaced."""
    old = {kernel.name: kernel for kernel in program.kernels if chosen(kernel)}
    if not old:
        return program
    kernels, names = list[ir.Kernel](), Names(kernel.name for kernel in program.kernels)

    def rewritten(function: ir.Function) -> ir.Function:
        local = Names([param.name for param in scope.bound(function)])

        def block(given: ir.Block) -> ir.Block:
            statements: list[ir.Statement] = []
            for statement in given.statements:
                statement = BLOCKS.map(statement, block)
                if isinstance(statement, ir.Run) and statement.kernel in old:
                    new = made(old[statement.kernel], statement, names, local, functions_of(program))
                    statements += new.statements()
                    kernels.extend(new.kernels)
                else:
                    statements.append(statement)
            return replace(given, statements=tuple(statements))
        return replace(function, body=block(function.body))

    functions = tuple(map(rewritten, program.functions))
    kept = [kernel for kernel in program.kernels if kernel.name not in old]
    return replace(program, kernels=(*kept, *kernels), functions=functions)
