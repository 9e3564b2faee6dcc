"""Drops the dead code of lambda_cu: what nobody reads and cannot fail.

  in    a well-formed program
  out   a well-formed program of the same meaning, failures included
  how   a walk backwards over each function and each kernel, with the names that are still needed. Effects stay, and
        so does what may fail (a FAIL, a call of something that may, a recursion, which may be too deep). If nobody
        reads their results, these become `_`. Dead components of a thunk go too, except those of REDUCE and SCAN.
        lambda_cu.passes.unread treats callers and callees together.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache

from nessie.base.parts import updated
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import BLOCKS
from nessie.lambda_cu.passes.lets import kept_components, with_components, without_copies, without_dead_lets
from nessie.lambda_cu.passes.unread import drop_unread
from nessie.lambda_cu.scope import (
    atom_names,
    can_fail,
    failing_functions,
    kept_items,
    may_fail,
    results,
    soac_can_fail,
    soac_names,
    statements,
    thunk,
    type_names,
    used_names,
)
from nessie.lambda_cu.selection import selection

ZERO = ir.Const(0, "int")
Branching = ir.Branch | ir.Choose


def drop_dead_code(program: ir.Program) -> ir.Program:
    """Run one round; dropping something may leave more to drop. Return the same object where there is nothing to
    drop."""
    scalars = failing_functions(program.scalar_functions)
    kernels = tuple(kernel_without_dead_code(kernel, scalars) for kernel in program.kernels)
    failing = failing_names(program, scalars, kernels)
    functions = tuple(updated(f, body=live_block(f.body, set(), failing)[0]) for f in program.functions)
    return drop_unread(updated(program, kernels=kernels, functions=functions))


@dataclass(frozen=True)
class Failing:
    """The names that may fail, and for kernels a test, since few are asked about."""
    scalars: Collection[str]
    kernel: Callable[[str], bool]
    functions: Collection[str]


def failing_names(program: ir.Program, scalars: Collection[str], kernels: Iterable[ir.Kernel]) -> Failing:
    """Return what may fail. A host function may fail in its own statements or in its callees; recursion may go too
    deep."""
    named = {kernel.name: kernel for kernel in kernels}

    @cache
    def kernel_may(name: str) -> bool:
        return any([soac_can_fail(bind.soac, scalars) for bind in named[name].binds])

    own = Failing(scalars, kernel_may, ())
    found = {f.name: list(statements(f.body)) for f in program.functions}
    calls = {name: {s.function for s in inside if isinstance(s, ir.Call)} for name, inside in found.items()}
    called = set().union(*calls.values())
    themselves = {name for name in called if any(can_fail_at(s, own) for s in found[name])}
    return Failing(scalars, kernel_may, may_fail({name: calls[name] for name in called}, themselves))


# Host level -------------------------------------------------------------------------------------


def live_block(block: ir.Block, live: set[str], failing: Failing) -> tuple[ir.Block, set[str]]:
    """Return the block without dead code, and the names needed before it. `live` are the names needed after it."""
    live = live.union(atom_names(block.results))
    kept: list[ir.Statement] = []
    for statement in reversed(block.statements):
        if isinstance(statement, ir.Branch | ir.Choose):
            statement, live = live_branch(statement, live, failing)
            dead = not (statement.results or any([inner.statements for inner in BLOCKS.of(statement)]))
        else:
            wanted = needed(results(statement), live)
            dead = not wanted and not can_fail_at(statement, failing)
            if not dead:
                live.update(wanted, used_names(statement))
                statement = ignoring(statement, wanted)
        if not dead:
            kept.append(statement)
    return updated(block, statements=tuple(reversed(kept))), live


def live_branch(branch: Branching, live: set[str], failing: Failing) -> tuple[Branching, set[str]]:
    """Return the branch, or the choice, with only the results that are needed, and the names needed before it."""
    wanted = needed(branch.results, live)
    keep = [result.name in wanted for result in branch.results]

    def pruned(block: ir.Block) -> tuple[ir.Block, set[str]]:
        return live_block(updated(block, results=kept_items(block.results, keep)), live | wanted, failing)

    inside = [pruned(block) for block in BLOCKS.of(branch)]
    blocks = iter([block for block, _ in inside])
    changed = BLOCKS.map(updated(branch, results=kept_items(branch.results, keep)), lambda _: next(blocks))
    return changed, live.union(wanted, used_names(branch), *[needed_inside for _, needed_inside in inside])


def needed(params: Sequence[ir.Param], live: set[str]) -> set[str]:
    """The results that are live, and the sizes that their types name."""
    wanted: set[str] = set()
    for param in reversed(params):
        if param.name != "_" and (param.name in live or param.name in wanted):
            wanted.add(param.name)
            wanted.update(type_names(param.type))
    return wanted


def can_fail_at(statement: ir.Statement, failing: Failing) -> bool:
    """May the statement fail, or be seen from outside?"""
    match statement:
        case ir.Effect():
            return True
        case ir.Run(_, kernel, _):
            return failing.kernel(kernel)
        case ir.Call(_, function, _):
            return function in failing.functions
        case ir.HostLet(_, value):
            return can_fail(value, failing.scalars)
    return False


def ignoring(statement: ir.Statement, wanted: set[str]) -> ir.Statement:
    """The statement, binding only what is wanted."""
    match statement:
        case ir.Run(params) | ir.Call(params) | ir.Effect(params):
            return updated(statement, results=tuple(
                param if param.name in wanted else updated(param, name="_") for param in params))
        case ir.HostLet(param, _) if param.name not in wanted:
            return updated(statement, result=updated(param, name="_"))
    return statement


# Kernels ----------------------------------------------------------------------------------------


def kernel_without_dead_code(kernel: ir.Kernel, failing: Collection[str]) -> ir.Kernel:
    """The kernel without bindings that nobody reads and that cannot fail."""
    live = set(kernel.returns)
    kept: list[ir.Bind] = []
    for bind in reversed(kernel.binds):
        wanted = wanted_names(bind, live)
        if wanted or soac_can_fail(bind.soac, failing):
            bind = updated(bind, names=tuple(n if n in wanted else "_" for n in bind.names))
            kept.append(without_unread_components(bind, failing))
            live.update(soac_names(kept[-1].soac))
    return updated(kernel, binds=tuple(reversed(kept)))


def wanted_names(bind: ir.Bind, live: set[str]) -> set[str]:
    """Return the names of the binding that are read; with survivors also their count, which is their size."""
    wanted = live.intersection(bind.names)
    if selected := selection(bind):
        wanted.update(count for count, values in zip(selected.counts, selected.values, strict=True)
                      if not wanted.isdisjoint(values))
    if isinstance(bind.soac, ir.ReduceByIndex) and wanted:      # each component may be needed for another
        wanted.update(bind.names)
    return wanted - {"_"}


def without_unread_components(bind: ir.Bind, failing: Collection[str]) -> ir.Bind:
    """Return the binding without value components that are `_` and cannot fail. REDUCE and SCAN keep theirs: their
    operator may need one component for another."""
    names, soac = bind.names, bind.soac
    match soac:
        case ir.Map(f, _) | ir.Once(f):
            f, keep = with_wanted(f, [name != "_" for name in names], failing)
            return updated(bind, names=kept_items(names, keep), soac=updated(soac, thunk=f))
        case ir.Permute(f, _, _, _, before, _):
            f, keep = with_wanted(f, [name != "_" for name in names], failing)
            before = (ZERO,) if f.body is ZERO else kept_items(before, keep)
            return updated(bind, names=kept_items(names, keep), soac=updated(soac, value=f, before=before))
    if selected := selection(bind):
        wanted = [any(name != "_" for name in sides) for sides in zip(*selected.values, strict=True)]
        f, keep = with_wanted(selected.soac.value, wanted, failing)
        selected = replace(selected, values=tuple(kept_items(values, keep) for values in selected.values))
        return updated(bind, names=selected.names, soac=updated(selected.soac, value=f))
    return bind


def with_wanted(f: ir.Thunk, wanted: list[bool], failing: Collection[str]) -> tuple[ir.Thunk, list[bool]]:
    """Return the thunk without unwanted components that cannot fail, and flags of those it keeps. If none is wanted,
    the thunk gives 0."""
    if all(wanted) or (len(wanted) == 1 and isinstance(f.body, ir.Const)):
        return f, wanted if all(wanted) else [True]
    if not any(wanted) and not can_fail(f.body, failing):
        return ir.Thunk(f.params, ZERO), [True] + [False] * (len(wanted) - 1)
    keep = kept_components(f.body, wanted, failing)
    if all(keep):
        return f, keep
    return thunk(f.params, without_copies(without_dead_lets(with_components(f.body, keep), failing), {})), keep
