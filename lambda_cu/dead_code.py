"""Dead code of lambda_cu: what nobody reads and what cannot fail is dropped.

  in    a well-formed program
  out   a well-formed program of the same meaning, failures included
  how   backwards over each function and each kernel, with the names that are still needed. What may fail (a FAIL, a
        call of something that may, a recursion, which may be too deep) stays, even if nobody reads its results, which
        then are `_`. Kernels lose results that every run ignores, and parameters that nothing in them reads.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nessie.lambda_cu import ir
from nessie.lambda_cu.scope import (
    atom_names,
    can_fail,
    failing_functions,
    free_names,
    may_fail,
    results,
    soac_can_fail,
    soac_names,
    statements,
    type_names,
    updated,
)

T = TypeVar("T")


def drop_dead_code(program: ir.Program) -> ir.Program:
    """One round; dropping something may leave more to drop. The same object where there is nothing to drop."""
    scalars = failing_functions(program.scalar_functions)
    kernels = tuple(kernel_without_dead_code(kernel, scalars) for kernel in program.kernels)
    failing = failing_names(program, scalars, kernels)
    functions = tuple(updated(f, body=live_block(f.body, set(), failing)[0]) for f in program.functions)
    return without_unread(updated(program, kernels=kernels, functions=functions))


@dataclass(frozen=True)
class Failing:
    """The names of what may fail."""
    scalars: Collection[str]
    kernels: Collection[str]
    functions: Collection[str]


def failing_names(program: ir.Program, scalars: Collection[str], kernels: Iterable[ir.Kernel]) -> Failing:
    """Host functions may fail in their own statements or in what they call; recursion may go too deep."""
    failing = {kernel.name for kernel in kernels if any(soac_can_fail(bind.soac, scalars) for bind in kernel.binds)}
    own = Failing(scalars, failing, ())
    found = {f.name: list(statements(f.body)) for f in program.functions}
    calls = {name: {s.function for s in inside if isinstance(s, ir.Call)} for name, inside in found.items()}
    themselves = {name for name, inside in found.items() if any(can_fail_at(s, own) for s in inside)}
    return Failing(scalars, failing, may_fail(calls, themselves))


# Host level -------------------------------------------------------------------------------------


def live_block(block: ir.Block, live: set[str], failing: Failing) -> tuple[ir.Block, set[str]]:
    """The block without what is dead. `live` are the names needed after it; gives those needed before it."""
    live = live.union(atom_names(block.results))
    kept: list[ir.Statement] = []
    for statement in reversed(block.statements):
        if isinstance(statement, ir.Branch):
            statement, live = live_branch(statement, live, failing)
            dead = not (statement.results or statement.then.statements or statement.orelse.statements)
        else:
            wanted = needed(results(statement), live)
            dead = not wanted and not can_fail_at(statement, failing)
            if not dead:
                live.update(wanted, used_names(statement))
                statement = ignoring(statement, wanted)
        if not dead:
            kept.append(statement)
    return updated(block, statements=tuple(reversed(kept))), live


def live_branch(branch: ir.Branch, live: set[str], failing: Failing) -> tuple[ir.Branch, set[str]]:
    """The branch with the results that are needed."""
    wanted = needed(branch.results, live)
    keep = [result.name in wanted for result in branch.results]

    def pruned(block: ir.Block) -> tuple[ir.Block, set[str]]:
        return live_block(updated(block, results=chosen(block.results, keep)), live | wanted, failing)

    (then, in_then), (orelse, in_else) = pruned(branch.then), pruned(branch.orelse)
    changed = updated(branch, results=chosen(branch.results, keep), then=then, orelse=orelse)
    return changed, live | wanted | in_then | in_else | set(atom_names((branch.condition,)))


def needed(params: Sequence[ir.Param], live: set[str]) -> set[str]:
    """The results that are live, and the sizes that their types name."""
    wanted: set[str] = set()
    for param in reversed(params):
        if param.name != "_" and (param.name in live or param.name in wanted):
            wanted.add(param.name)
            wanted.update(type_names(param.type))
    return wanted


def can_fail_at(statement: ir.Statement, failing: Failing) -> bool:
    match statement:
        case ir.Run(_, kernel, _):
            return kernel in failing.kernels
        case ir.Call(_, function, _):
            return function in failing.functions
        case ir.HostLet(_, value):
            return can_fail(value, failing.scalars)
    return False


def used_names(statement: ir.Statement) -> tuple[str, ...]:
    match statement:
        case ir.Run(_, _, arguments) | ir.Call(_, _, arguments):
            return atom_names(arguments)
        case ir.HostLet(_, value):
            return free_names(value)
    return ()


def ignoring(statement: ir.Statement, wanted: set[str]) -> ir.Statement:
    """The statement, binding only what is wanted."""
    match statement:
        case ir.Run(params, _, _) | ir.Call(params, _, _):
            return updated(statement, results=tuple(
                param if param.name in wanted else updated(param, name="_") for param in params))
        case ir.HostLet(param, _) if param.name not in wanted:
            return updated(statement, result=updated(param, name="_"))
    return statement


def chosen(items: Sequence[T], keep: Iterable[bool]) -> tuple[T, ...]:
    return tuple(item for item, kept in zip(items, keep, strict=True) if kept)


# Kernels ----------------------------------------------------------------------------------------


def kernel_without_dead_code(kernel: ir.Kernel, failing: Collection[str]) -> ir.Kernel:
    """The kernel without bindings that nobody reads and that cannot fail."""
    live = set(kernel.returns)
    kept: list[ir.Bind] = []
    for bind in reversed(kernel.binds):
        wanted = wanted_names(bind, live)
        if wanted or soac_can_fail(bind.soac, failing):
            kept.append(updated(bind, names=tuple(n if n in wanted else "_" for n in bind.names)))
            live.update(soac_names(bind.soac))
    return updated(kernel, binds=tuple(reversed(kept)))


def wanted_names(bind: ir.Bind, live: set[str]) -> set[str]:
    """What is read of what the binding binds; with survivors their count, which is their size."""
    names, wanted = bind.names, live.intersection(bind.names)
    match bind.soac:
        case ir.Filter(_, _, space):
            survivors = names[1:] if isinstance(space, ir.Flat) else names[1:-1]
            if not wanted.isdisjoint(survivors):
                wanted.add(names[0])
        case ir.Partition():
            width = (len(names) - 3) // 2
            for at in (0, 1):
                if not wanted.isdisjoint(names[2 + at * width:2 + (at + 1) * width]):
                    wanted.add(names[at])
    return wanted - {"_"}


# Results that every run ignores, parameters that nothing reads ----------------------------------------


def without_unread(program: ir.Program) -> ir.Program:
    ignored = {kernel.name: [True] * len(kernel.returns) for kernel in program.kernels}
    for function in program.functions:
        for statement in statements(function.body):
            if isinstance(statement, ir.Run):
                ignored[statement.kernel] = [before and result.name == "_" for before, result in
                                             zip(ignored[statement.kernel], statement.results, strict=True)]
    # A kernel that runs for its errors alone keeps a result: dependence graphs name it by that.
    returned = {name: [not unread or (i == 0 and all(flags)) for i, unread in enumerate(flags)]
                for name, flags in ignored.items()}
    taken = {kernel.name: read_parameters(kernel, returned[kernel.name]) for kernel in program.kernels}

    def narrowed(run: ir.Run) -> ir.Run:
        return updated(run, results=chosen(run.results, returned[run.kernel]),
                       arguments=chosen(run.arguments, taken[run.kernel]))

    kernels = tuple(updated(kernel, params=chosen(kernel.params, taken[kernel.name]),
                            returns=chosen(kernel.returns, returned[kernel.name])) for kernel in program.kernels)
    return updated(program, kernels=kernels, functions=tuple(
        updated(f, body=map_runs(f.body, narrowed)) for f in program.functions))


def read_parameters(kernel: ir.Kernel, returned: list[bool]) -> list[bool]:
    """Which parameters something in the kernel, what it returns, or the type of another such parameter names."""
    used = {name for bind in kernel.binds for name in soac_names(bind.soac)}
    used.update(name for name, kept in zip(kernel.returns, returned, strict=True) if kept)
    flags: list[bool] = []
    for param in reversed(kernel.params):
        flags.append(param.name in used)
        if param.name in used:
            used.update(type_names(param.type))
    return flags[::-1]


def map_runs(block: ir.Block, change: Callable[[ir.Run], ir.Run]) -> ir.Block:
    """The block with every run in it changed; the same object where nothing changes."""
    changed: list[ir.Statement] = []
    for statement in block.statements:
        match statement:
            case ir.Run():
                statement = change(statement)
            case ir.Branch(_, _, then, orelse):
                statement = updated(statement, then=map_runs(then, change), orelse=map_runs(orelse, change))
        changed.append(statement)
    return updated(block, statements=tuple(changed))
