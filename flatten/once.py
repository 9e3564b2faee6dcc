"""Pass: scalar arithmetic on kernels' results stays on the device.

  in    flat lambda_cu, scalars computed by the host
  out   flat lambda_cu, in which a scalar that depends on a kernel's scalar, and that the host does not need itself (to
        branch, for a size, for a call), is computed by a ONCE kernel
  how   backwards: what the host needs; forwards: what depends on kernels; a let of the second kind only becomes ONCE
  why   the host need not wait, and REDUCE-ONCE may join the kernels (lambda-cu paper, section 4.1)
"""
from __future__ import annotations

from dataclasses import replace

from nessie.base.names import Names
from nessie.lambda_cu import ir, scope


def once(program: ir.Program) -> ir.Program:
    names = Names([*(k.name for k in program.kernels), *(f.name for f in program.functions)])
    pass_ = Once({k.name: k for k in program.kernels}, names, [])
    functions = tuple(replace(f, body=pass_.block(f.body, frozenset(), types_of(f), results_needed(f, program)))
                      for f in program.functions)
    return replace(program, kernels=(*program.kernels, *pass_.made), functions=functions)


def types_of(function: ir.Function) -> dict[str, ir.Type]:
    bound = [*function.params, *(r for s in scope.statements(function.body) for r in scope.results(s))]
    return {param.name: param.type for param in bound}


def results_needed(function: ir.Function, program: ir.Program) -> set[str]:
    """Of the entry's results the host needs the sizes; of other functions', which are called, all."""
    atoms = function.body.results
    if function.name != program.entry.function:
        return set(scope.atom_names(atoms))
    sizes = {name for result in function.results for name in scope.type_names(result.type)}
    return set(scope.atom_names(a for a, result in zip(atoms, function.results) if result.name in sizes))


class Once:
    """The pass over one program; `made` collects the kernels."""

    def __init__(self, kernels: dict[str, ir.Kernel], names: Names, made: list[ir.Kernel]) -> None:
        self.kernels, self.names, self.made = kernels, names, made

    def block(self, block: ir.Block, device: frozenset[str], types: dict[str, ir.Type], results: set[str]) -> ir.Block:
        """`device` holds the scalars that kernels compute, of the blocks around; `results` the needed results."""
        needed = self.needed(block, results)
        statements: list[ir.Statement] = []
        for statement in block.statements:
            match statement:
                case ir.Run(bound):
                    device |= {r.name for r in bound if not isinstance(r.type, ir.Array)}
                case ir.HostLet(result, value) if result.name != "_" and self.moves(value, result.name, needed, device):
                    statement = self.kernel(statement, types)
                    device |= {result.name}
                case ir.Branch(_, _, then, orelse):
                    blocks = [self.block(b, device, types, set(scope.atom_names(b.results))) for b in (then, orelse)]
                    statement = replace(statement, then=blocks[0], orelse=blocks[1])
            statements.append(statement)
        return replace(block, statements=tuple(statements))

    def moves(self, value: ir.Exp, name: str, needed: set[str], device: frozenset[str]) -> bool:
        return name not in needed and not scope.reads(value) and bool(device & set(scope.free_names(value)))

    def kernel(self, statement: ir.HostLet, types: dict[str, ir.Type]) -> ir.Run:
        """The ONCE kernel for the let, and its run."""
        thunk = scope.thunk((), statement.value)
        params = tuple(ir.Param(name, types[name]) for name in thunk.using)
        result = statement.result
        name = self.names.fresh("K_once")
        bind = ir.Bind((result.name,), ir.Once(thunk), statement.origin)
        self.made.append(ir.Kernel(name, params, (bind,), (result.name,), statement.origin))
        return ir.Run((result,), name, tuple(ir.Var(param.name) for param in params), statement.origin)

    def needed(self, block: ir.Block, results: set[str]) -> set[str]:
        """The scalars that the host needs, in this block or in those inside it; a let needs what its value does."""
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
        """What the host itself must know to carry the statement out."""
        sizes = {name for result in scope.results(statement) for name in scope.type_names(result.type)}
        match statement:
            case ir.Run(_, kernel, arguments):
                params = self.kernels[kernel].params
                known = {name for bind in self.kernels[kernel].binds for name in sizes_of(bind.soac)}
                known |= {name for param in params for name in scope.type_names(param.type)}
                pairs = zip(params, arguments)
                sizes |= {a.name for p, a in pairs if p.name in known and isinstance(a, ir.Var)}
            case ir.HostLet(_, value) if scope.reads(value):
                sizes |= set(scope.free_names(value))
            case ir.Call(_, _, arguments):
                sizes |= set(scope.atom_names(arguments))
            case ir.Branch(_, condition, then, orelse):
                sizes |= set(scope.atom_names((condition, *then.results, *orelse.results)))
        return sizes


def sizes_of(soac: ir.Soac) -> set[str]:
    """The scalars that say how much the SOAC walks and writes."""
    names = set(scope.space_names(scope.space_of(soac)))
    if isinstance(soac, ir.Permute) and isinstance(soac.size, str):
        names.add(soac.size)
    return names
