"""Drops results that every caller ignores and parameters that nothing reads, of kernels and of host functions.

  in    a well-formed program
  out   a well-formed program of the same meaning without these results, these parameters and their arguments
  how   a parameter that a function passes to another, or to itself at another place, counts as read; one that it
        passes to itself at the same place does not. A call's result that the function returns counts as wanted. The
        entry keeps all, and so does what is called apart. A callee that is called only for its errors keeps its first
        result: dependence graphs name it by that.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress

from nessie.base.parts import updated
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import BLOCKS
from nessie.lambda_cu.scope import (
    atom_names,
    called_from_outside,
    kept_items,
    map_statements,
    results,
    soac_names,
    statements,
    type_names,
    used_names,
)

Flags = Sequence[bool]


@dataclass(frozen=True)
class Kept:
    """The parameters and the results of a callee that stay."""
    params: Flags
    results: Flags


def drop_unread(program: ir.Program) -> ir.Program:
    """Run one round; return the same object where there is nothing to drop."""
    inside = {f.name: list(statements(f.body)) for f in program.functions}
    every = [statement for found in inside.values() for statement in found]
    wanted = wanted_results([(s.kernel, s.results) for s in every if isinstance(s, ir.Run)])
    kernels = {k.name: kept_of_kernel(k, wanted[k.name]) for k in program.kernels if k.name in wanted}
    wanted = wanted_results([(s.function, s.results) for s in every if isinstance(s, ir.Call)])
    whole = called_from_outside(program)
    functions = {f.name: kept_of_function(f, inside[f.name], wanted[f.name]) for f in program.functions
                 if f.name in wanted and f.name not in whole}

    def narrowed(statement: ir.Statement) -> ir.Statement:
        match statement:
            case ir.Run(given, callee, arguments):
                kept = kernels.get(callee)
            case ir.Call(given, callee, arguments):
                kept = functions.get(callee)
            case _:
                return statement
        return statement if kept is None else updated(
            statement, results=kept_items(given, kept.results), arguments=kept_items(arguments, kept.params))

    return updated(
        program, kernels=tuple(narrowed_kernel(k, kernels.get(k.name)) for k in program.kernels),
        functions=tuple(narrowed_function(updated(f, body=map_statements(f.body, narrowed)), functions.get(f.name))
                        for f in program.functions))


def wanted_results(calls: Iterable[tuple[str, tuple[ir.Param, ...]]]) -> dict[str, Flags]:
    """Return flags of the results of a callee that some caller names; if no caller names any, of the first."""
    named: dict[str, list[bool]] = {}
    for callee, given in calls:
        before = named.setdefault(callee, [False] * len(given))
        named[callee] = [flag or result.name != "_" for flag, result in zip(before, given, strict=True)]
    return {callee: flags if any(flags) else [at == 0 for at in range(len(flags))] for callee, flags in named.items()}


def kept_of_kernel(kernel: ir.Kernel, wanted: Flags) -> Kept:
    used = {name for bind in kernel.binds for name in soac_names(bind.soac)}
    used.update(compress(kernel.returns, wanted))
    return Kept(read_parameters(kernel.params, used), wanted)


def kept_of_function(function: ir.Function, inside: Iterable[ir.Statement], wanted: Flags) -> Kept:
    used = set(atom_names(function.body.results))
    used.update(name for result in function.results for name in type_names(result.type))
    for statement in inside:
        used.update(read_names(statement, function))
    return Kept(read_parameters(function.params, used), wanted)


def read_names(statement: ir.Statement, function: ir.Function) -> set[str]:
    """Return the names that the statement of the function reads, without those in its blocks, but with the blocks'
    results."""
    names = {name for result in results(statement) for name in type_names(result.type)}
    match statement:
        case ir.Call(_, callee, arguments) if callee == function.name:
            names.update(argument.name for param, argument in zip(function.params, arguments, strict=True)
                         if isinstance(argument, ir.Var) and argument.name != param.name)
        case ir.Branch() | ir.Choose():
            names.update(used_names(statement), *[atom_names(inner.results) for inner in BLOCKS.of(statement)])
        case _:
            names.update(used_names(statement))
    return names


def read_parameters(params: Sequence[ir.Param], used: set[str]) -> Flags:
    """Return flags of the parameters that are used, or named by the type of one that is."""
    flags: list[bool] = []
    for param in reversed(params):
        flags.append(param.name in used)
        if param.name in used:
            used.update(type_names(param.type))
    return flags[::-1]


def narrowed_kernel(kernel: ir.Kernel, kept: Kept | None) -> ir.Kernel:
    return kernel if kept is None else updated(
        kernel, params=kept_items(kernel.params, kept.params), returns=kept_items(kernel.returns, kept.results))


def narrowed_function(function: ir.Function, kept: Kept | None) -> ir.Function:
    if kept is None:
        return function
    body = updated(function.body, results=kept_items(function.body.results, kept.results))
    return updated(function, params=kept_items(function.params, kept.params), body=body,
                   results=kept_items(function.results, kept.results))
