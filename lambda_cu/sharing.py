"""What is the same twice: kernels equal up to names become one, parameters that always get the same argument too, and a
run that repeats another takes its results.

Runs may share although they can fail: both would record the same failure. A run is repeated when its kernel and its
arguments are the same as those of a run before it in its block or around it. Names that a host `let` only repeats go
too.
"""
from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from nessie.lambda_cu import ir
from nessie.lambda_cu.dead_code import map_runs
from nessie.lambda_cu.rename import rename, rename_kernel, rename_param
from nessie.lambda_cu.scope import results, statements
from nessie.lambda_cu.shape import Shape, shape

# Kernels ----------------------------------------------------------------------------------------


def share_kernels(program: ir.Program) -> ir.Program:
    """Equal kernels are one; those that run are named K1, K2, ... in order of their first run."""
    same: dict[Shape, ir.Kernel] = {}
    representative = {kernel.name: same.setdefault(shape(kernel), kernel) for kernel in program.kernels}
    used: dict[str, ir.Kernel] = {}
    for function in program.functions:
        for statement in statements(function.body):
            if isinstance(statement, ir.Run):
                kernel = representative[statement.kernel]
                used[kernel.name] = kernel
    names = {name: f"K{number}" for number, name in enumerate(used, 1)}
    kernels = tuple(replace(kernel, name=names[name]) for name, kernel in used.items())

    def renamed(run: ir.Run) -> ir.Run:
        return replace(run, kernel=names[representative[run.kernel].name])

    return replace(program, kernels=kernels, functions=tuple(
        replace(f, body=map_runs(f.body, renamed)) for f in program.functions))


# Parameters -------------------------------------------------------------------------------------


def share_parameters(program: ir.Program) -> ir.Program:
    """Parameters that get the same argument in every run of their kernel are one."""
    runs: dict[str, list[ir.Run]] = {kernel.name: [] for kernel in program.kernels}
    for function in program.functions:
        for statement in statements(function.body):
            if isinstance(statement, ir.Run):
                runs[statement.kernel].append(statement)
    same = {kernel.name: same_parameters(kernel, runs[kernel.name]) for kernel in program.kernels}

    def narrowed(run: ir.Run) -> ir.Run:
        kept = [number for number, first in enumerate(same[run.kernel]) if first == number]
        return replace(run, arguments=tuple(run.arguments[number] for number in kept))

    return replace(program, kernels=tuple(merge_parameters(kernel, same[kernel.name]) for kernel in program.kernels),
                   functions=tuple(replace(f, body=map_runs(f.body, narrowed)) for f in program.functions))


def same_parameters(kernel: ir.Kernel, runs: list[ir.Run]) -> list[int]:
    """For each parameter the number of the first that always gets the same as it does. Nothing is known of a kernel
    that is never run."""
    if not runs:
        return list(range(len(kernel.params)))
    first: dict[tuple[Hashable, ...], int] = {}
    return [first.setdefault(tuple(atom_key(run.arguments[number]) for run in runs), number)
            for number in range(len(kernel.params))]


def merge_parameters(kernel: ir.Kernel, same: list[int]) -> ir.Kernel:
    params = kernel.params
    mapping = {param.name: params[first].name for param, first in zip(params, same, strict=True)
               if params[first] is not param}
    if not mapping:
        return kernel
    renamed = rename_kernel(kernel, mapping)
    return replace(renamed, params=tuple(renamed.params[number] for number, first in enumerate(same)
                                         if first == number))


# Runs -------------------------------------------------------------------------------------------

Available = Mapping[tuple[Hashable, ...], tuple[ir.Param, ...]]


def share_runs(program: ir.Program) -> ir.Program:
    """Each run is run once, each value has one name."""
    return replace(program, functions=tuple(
        replace(f, body=shared_block(f.body, {}, {})) for f in program.functions))


def shared_block(block: ir.Block, mapping: dict[str, str], available: Available) -> ir.Block:
    """`mapping` gives the one name of a value, `available` the results of earlier runs."""
    known = dict(available)
    kept: list[ir.Statement] = []
    for statement in block.statements:
        statement = rename_statement(statement, mapping)
        match statement:
            case ir.HostLet(result, ir.Var(name)):
                mapping.update({result.name: name} if result.name != "_" else {})
                continue
            case ir.Run(bound, kernel, arguments):
                earlier = known.setdefault(key(kernel, arguments), bound)
                if earlier is not bound and repeats(earlier, bound):
                    mapping.update((b.name, a.name) for a, b in zip(earlier, bound, strict=True) if b.name != "_")
                    continue
            case ir.Branch(_, _, then, orelse):
                statement = replace(statement, then=shared_block(then, mapping, known),
                                    orelse=shared_block(orelse, mapping, known))
        kept.append(statement)
    return ir.Block(tuple(kept), rename_atoms(block.results, mapping))


def key(kernel: str, arguments: tuple[ir.Atom, ...]) -> tuple[Hashable, ...]:
    """What two runs must have in common."""
    return (kernel, *map(atom_key, arguments))


def atom_key(atom: ir.Atom) -> Hashable:
    """Equal for the same value. Texts tell 0.0 from -0.0."""
    return atom.name if isinstance(atom, ir.Var) else (atom.type, repr(atom.value))


def repeats(earlier: tuple[ir.Param, ...], bound: tuple[ir.Param, ...]) -> bool:
    """All that the later run names, the earlier one named."""
    return all(b.name == "_" or a.name != "_" for a, b in zip(earlier, bound, strict=True))


def rename_statement(statement: ir.Statement, mapping: Mapping[str, str]) -> ir.Statement:
    """The statement with the names it uses renamed; blocks inside it are left as they are."""
    if not mapping:
        return statement
    params = tuple(rename_param(param, mapping) for param in results(statement))
    match statement:
        case ir.Run(_, _, arguments) | ir.Call(_, _, arguments):
            return replace(statement, results=params, arguments=rename_atoms(arguments, mapping))
        case ir.HostLet(_, value):
            return replace(statement, result=params[0], value=rename(value, mapping))
        case ir.Data():
            return replace(statement, result=params[0])
        case ir.Branch(_, condition, _, _):
            return replace(statement, results=params, condition=rename_atoms((condition,), mapping)[0])
    raise TypeError(statement)


def rename_atoms(atoms: tuple[ir.Atom, ...], mapping: Mapping[str, str]) -> tuple[ir.Atom, ...]:
    return tuple(ir.Var(mapping.get(atom.name, atom.name)) if isinstance(atom, ir.Var) else atom for atom in atoms)
