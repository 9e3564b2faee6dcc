"""Pass: keep scalar arithmetic on kernels' results on the device.

  in    flat lambda_cu, scalars computed by the host
  out   flat lambda_cu, in which a ONCE kernel computes each scalar that depends on a kernel's scalar and that the host
        does not need itself (to branch, for a size, for a call); the host's mere checks, `_`, stay on the host
  how   a walk backwards finds what the host needs, a walk forwards what depends on kernels; a let that is only of the
        second kind becomes ONCE
  why   the host need not wait, and REDUCE-ONCE may join the kernels (lambda-cu paper, section 4.1)
"""
from __future__ import annotations

from dataclasses import replace

from nessie.base.names import Names
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.parts import BLOCKS


def device_scalars(program: ir.Program) -> ir.Program:
    names = Names([*(k.name for k in program.kernels), *(f.name for f in program.functions)])
    kernels = {k.name: k for k in program.kernels}
    passes = [Once(f, results_needed(f, program), kernels, names) for f in program.functions]
    functions = tuple(replace(f, body=pass_.block(f.body)) for f, pass_ in zip(program.functions, passes, strict=True))
    made = [kernel for pass_ in passes for kernel in pass_.made]
    return replace(program, kernels=(*program.kernels, *made), functions=functions)


def types_of(function: ir.Function) -> dict[str, ir.Type]:
    bound = [*function.params, *(r for s in scope.statements(function.body) for r in scope.results(s))]
    return {param.name: param.type for param in bound}


def results_needed(function: ir.Function, program: ir.Program) -> set[str]:
    """Return the results that the host needs: of the entry the sizes, of other functions, which are called, all."""
    atoms = function.body.results
    if function.name != program.entry.function:
        return set(scope.atom_names(atoms))
    sizes = {name for result in function.results for name in scope.type_names(result.type)}
    return set(scope.atom_names(a for a, result in zip(atoms, function.results) if result.name in sizes))


class Once:
    """The pass over one function; `made` collects the kernels, `device` the scalars that kernels compute. A name is
    bound once in the function, so facts about it hold in every block."""

    def __init__(self, function: ir.Function, results: set[str], kernels: dict[str, ir.Kernel], names: Names) -> None:
        self.kernels, self.names = kernels, names
        self.needed = self.needed_names(function.body, results)
        self.types = types_of(function)
        self.device: set[str] = set()
        self.made: list[ir.Kernel] = []

    def block(self, block: ir.Block) -> ir.Block:
        statements: list[ir.Statement] = []
        for statement in block.statements:
            match statement:
                case ir.Run(bound):
                    self.device.update(r.name for r in bound if not isinstance(r.type, ir.Array))
                case ir.HostLet(result, value) if result.name != "_" and self.moves(value, result.name):
                    statement = self.kernel(statement)
                    self.device.add(result.name)
                case ir.Branch() | ir.Choose():
                    statement = BLOCKS.map(statement, self.block)
            statements.append(statement)
        return replace(block, statements=tuple(statements))

    def moves(self, value: ir.Exp, name: str) -> bool:
        return (name not in self.needed and not scope.arrays_read(value)
                and not self.device.isdisjoint(scope.free_names(value)))

    def kernel(self, statement: ir.HostLet) -> ir.Run:
        """Make the ONCE kernel for the let, and return its run."""
        thunk = scope.thunk((), statement.value)
        params = tuple(ir.Param(name, self.types[name]) for name in thunk.using)
        result = statement.result
        name = self.names.fresh("K_once")
        bind = ir.Bind((result.name,), ir.Once(thunk), origin=statement.origin)
        self.made.append(ir.Kernel(name, params, (bind,), (result.name,), origin=statement.origin))
        return ir.Run((result,), name, tuple(ir.Var(param.name) for param in params), origin=statement.origin)

    def needed_names(self, block: ir.Block, results: set[str]) -> set[str]:
        """Return the scalars that the host needs, in this block or in those inside it; a let needs the names of its
        value."""
        statements = list(scope.statements(block))
        names = set(results)
        for statement in statements:
            names.update(self.needs(statement))
        lets = {s.result.name: s for s in statements if isinstance(s, ir.HostLet)}
        todo = list(names)
        while todo:
            if (let := lets.get(todo.pop())) is not None:
                fresh = set(scope.free_names(let.value)) - names
                names |= fresh
                todo += fresh
        return names

    def needs(self, statement: ir.Statement) -> set[str]:
        """Return the names whose values the host must know to carry the statement out."""
        sizes = {name for result in scope.results(statement) for name in scope.type_names(result.type)}
        match statement:
            case ir.Run(_, kernel, arguments):
                params = self.kernels[kernel].params
                known = {name for bind in self.kernels[kernel].binds for name in sizes_of(bind.soac)}
                known |= {name for param in params for name in scope.type_names(param.type)}
                pairs = zip(params, arguments)
                sizes |= {a.name for p, a in pairs if p.name in known and isinstance(a, ir.Var)}
            case ir.HostLet(_, value) if scope.arrays_read(value):
                sizes |= set(scope.free_names(value))
            case ir.Call(_, _, arguments) | ir.Effect(_, _, arguments):
                sizes |= set(scope.atom_names(arguments))
            case ir.Branch() | ir.Choose():
                sizes.update(scope.used_names(statement), *[scope.atom_names(b.results) for b in BLOCKS.of(statement)])
        return sizes


def sizes_of(soac: ir.Soac) -> set[str]:
    """Return the scalars that tell how much the SOAC walks and writes."""
    names = set(scope.space_names(scope.space_of(soac)))
    if isinstance(soac, ir.Write) and isinstance(soac.size, str):
        names.add(soac.size)
    return names
