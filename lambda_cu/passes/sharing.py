"""Merges duplicates: kernels equal up to names, and parameters that always get the same argument. A run that repeats
another takes its results.

Runs may share although they can fail, because both would record the same failure. A run repeats an earlier one, in its
block or around it, if the kernel and the arguments are the same. An effect between two runs keeps them apart, so that
timed code takes its time. Names that a host `let` only repeats go too, and so do its computations that an earlier one
has made: if that failed, nothing comes after it. A check that compares a size with itself holds.
"""
from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Set
from dataclasses import replace
from functools import partial

from nessie.base.parts import updated
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.parts import BLOCKS, CONDITIONS, children
from nessie.lambda_cu.rename import rename, rename_kernel, rename_param
from nessie.lambda_cu.scope import map_runs, results, statements
from nessie.lambda_cu.shape import Shape, shape

# Kernels ----------------------------------------------------------------------------------------


def share_kernels(program: ir.Program, shape_of: Callable[[ir.Kernel], Shape] = shape) -> ir.Program:
    """Merge equal kernels, and drop those that never run."""
    same: dict[Shape, ir.Kernel] = {}
    shared = {kernel.name: same.setdefault(shape_of(kernel), kernel).name for kernel in program.kernels}
    used = {shared[name] for name in runs_of(program)}

    def renamed(run: ir.Run) -> ir.Run:
        return updated(run, kernel=shared[run.kernel])

    return updated(program, kernels=tuple(kernel for kernel in program.kernels if kernel.name in used), functions=tuple(
        updated(f, body=map_runs(f.body, renamed)) for f in program.functions))


def number_kernels(program: ir.Program) -> ir.Program:
    """Name the kernels K1, K2, ... and order them by their first run; drop those that never run."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    names = {name: f"K{number}" for number, name in enumerate(runs_of(program), 1)}

    def renamed(run: ir.Run) -> ir.Run:
        return updated(run, kernel=names[run.kernel])

    return updated(
        program, kernels=tuple(updated(kernels[old], name=new) for old, new in names.items()),
        functions=tuple(updated(f, body=map_runs(f.body, renamed)) for f in program.functions))


def runs_of(program: ir.Program) -> dict[str, list[ir.Run]]:
    """Return the runs of each kernel that is run, in the program's order."""
    runs: dict[str, list[ir.Run]] = {}
    for function in program.functions:
        for statement in statements(function.body):
            if isinstance(statement, ir.Run):
                runs.setdefault(statement.kernel, []).append(statement)
    return runs


# Parameters -------------------------------------------------------------------------------------


def share_parameters(program: ir.Program) -> ir.Program:
    """Merge the parameters that get the same argument in every run of their kernel."""
    runs = runs_of(program)
    same = {kernel.name: same_parameters(kernel, runs.get(kernel.name, [])) for kernel in program.kernels}

    def narrowed(run: ir.Run) -> ir.Run:
        kept = [number for number, first in enumerate(same[run.kernel]) if first == number]
        return updated(run, arguments=tuple(run.arguments[number] for number in kept))

    return updated(program, kernels=tuple(merge_parameters(kernel, same[kernel.name]) for kernel in program.kernels),
                   functions=tuple(updated(f, body=map_runs(f.body, narrowed)) for f in program.functions))


def same_parameters(kernel: ir.Kernel, runs: list[ir.Run]) -> list[int]:
    """Return, for each parameter, the number of the first one that always gets the same argument. The parameters of a
    kernel that is never run all stay."""
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

Available = dict[tuple[Hashable, ...], tuple[ir.Param, ...]]


def share_runs(program: ir.Program) -> ir.Program:
    """Drop repeated runs, so that each value has one name."""
    return updated(program, functions=tuple(
        updated(f, body=shared_block(f.body, {}, {}, ints_of(f))) for f in program.functions))


def shared_block(block: ir.Block, mapping: dict[str, str], known: Available, ints: Set[str]) -> ir.Block:
    """Share the runs of a block. `mapping` gives the one name of a value; `known` gives the results of earlier runs and
    computations, which those here join until the block ends; `ints` are the function's names of ints."""
    kept: list[ir.Statement] = []
    here: list[tuple[Hashable, ...]] = []
    for statement in block.statements:
        statement = rename_statement(statement, mapping)
        match statement:
            case ir.HostLet(result, ir.Var(name)):
                mapping.update({result.name: name} if result.name != "_" else {})
                continue
            case ir.HostLet(result, value) if result.name == "_" and holds(value, ints):
                continue
            case ir.Run() | ir.HostLet():
                bound, same = results(statement), key(statement)
                earlier = known.get(same)
                if earlier is None:
                    known[same] = bound
                    here.append(same)
                elif repeats(earlier, bound):
                    mapping.update((b.name, a.name) for a, b in zip(earlier, bound, strict=True) if b.name != "_")
                    continue
            case ir.Effect():
                forget(here, known)
                here, known = [], {}
            case ir.Branch() | ir.Choose():
                inside = partial(shared_block, mapping=mapping, known=known, ints=ints)
                statement = BLOCKS.map(statement, inside)
        kept.append(statement)
    forget(here, known)
    return updated(block, statements=tuple(kept), results=rename_atoms(block.results, mapping))


def ints_of(function: ir.Function) -> Set[str]:
    """Return the function's names of ints."""
    return {param.name for param in scope.bound(function) if param.type == "int"}


def holds(value: ir.Exp, ints: Set[str]) -> bool:
    """Does the value check that an int is itself?"""
    match value:
        case ir.If(ir.Op("==", (ir.Var(a), ir.Var(b))), ir.Const(), ir.Fail()):
            return a == b and a in ints
    return False


def forget(keys: list[tuple[Hashable, ...]], known: Available) -> None:
    for key in keys:
        del known[key]


def key(statement: ir.Run | ir.HostLet) -> tuple[Hashable, ...]:
    """Return a key that is equal for statements with the same results, wherever they fail."""
    if isinstance(statement, ir.Run):
        return (statement.kernel, *map(atom_key, statement.arguments))
    return (without_sites(statement.value),)


def without_sites(exp: ir.Exp) -> Hashable:
    """Return a key of the expression that is equal for the same value, wherever it fails."""
    match exp:
        case ir.Fail(_, type_):
            return ir.Fail, type_
        case ir.Var() | ir.Const():
            return atom_key(exp)
        case ir.Op(name) | ir.Read(name) | ir.CallScalar(name) | ir.Let(name):
            return type(exp), name, *map(without_sites, children(exp))
    return type(exp), *map(without_sites, children(exp))


def atom_key(atom: ir.Atom) -> Hashable:
    """Return a key that is equal for the same value. Texts tell 0.0 from -0.0."""
    return atom.name if isinstance(atom, ir.Var) else (atom.type, repr(atom.value))


def repeats(earlier: tuple[ir.Param, ...], bound: tuple[ir.Param, ...]) -> bool:
    """Does the earlier run name every result that the later one names?"""
    return all(b.name == "_" or a.name != "_" for a, b in zip(earlier, bound, strict=True))


def rename_statement(statement: ir.Statement, mapping: Mapping[str, str]) -> ir.Statement:
    """Rename the names that the statement uses; blocks inside it stay as they are."""
    if not mapping:
        return statement
    params = tuple(rename_param(param, mapping) for param in results(statement))
    match statement:
        case ir.Run(_, _, arguments) | ir.Call(_, _, arguments) | ir.Effect(_, _, arguments):
            return updated(statement, results=params, arguments=rename_atoms(arguments, mapping))
        case ir.HostLet(_, value):
            return updated(statement, result=params[0], value=rename(value, mapping))
        case ir.Data():
            return updated(statement, result=params[0])
        case ir.Branch(_, condition, _, _):
            return updated(statement, results=params, condition=rename_atoms((condition,), mapping)[0])
        case ir.Choose():
            return updated(CONDITIONS.map(statement, lambda exp: rename(exp, mapping)), results=params)
    raise TypeError(statement)


def rename_atoms(atoms: tuple[ir.Atom, ...], mapping: Mapping[str, str]) -> tuple[ir.Atom, ...]:
    return tuple(ir.Var(mapping[atom.name]) if isinstance(atom, ir.Var) and atom.name in mapping else atom
                 for atom in atoms)
