"""Joins conditionals on one condition.

    if c { A } else { B }               if c { A ; C } else { B ; D }
    if c { C } else { D }       ==>

Sums in few rounds or in many are such conditionals (flatten/rules/rounds.py): two of the same rows are then one kernel.

sound nothing is moved past a statement that uses it; what can fail stays in order, because a conditional is only moved
      past others if it has no effect and cannot fail
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.parts import BLOCKS
from nessie.lambda_cu.passes.kernel_arguments import renamed_atoms, renamed_statement
from nessie.schedule.graph.regions import statement_uses

Values = Mapping[str, ir.Atom]


def first_joined(statements: Sequence[ir.Statement], at: int, leaving: Collection[str],
                 can_fail: Callable[[ir.Statement], bool]) -> tuple[int, ir.Branch] | None:
    """Return the conditional that this one and a later one on its condition become, and the place of that. `leaving`:
    the results of the block."""
    first = statements[at]
    assert isinstance(first, ir.Branch)
    made = {param.name for param in first.results}
    for place in range(at + 1, len(statements)):
        second = statements[place]
        if isinstance(second, ir.Branch) and second.condition == first.condition:
            after = {*leaving, *[name for s in statements[place + 1:] for name in statement_uses(s)]}
            return place, joined(first, second, after)
        if isinstance(second, ir.Effect | ir.Call) or not made.isdisjoint(statement_uses(second)) or \
                not may_move(first, can_fail):
            return None
    return None


def may_move(branch: ir.Branch, can_fail: Callable[[ir.Statement], bool]) -> bool:
    return all([isinstance(s, ir.Run | ir.HostLet) and not can_fail(s)
                for s in (*branch.then.statements, *branch.orelse.statements)])


def joined(first: ir.Branch, second: ir.Branch, after: Collection[str]) -> ir.Branch:
    """Return both as one, in the place of the second."""
    def both(one: ir.Block, other: ir.Block) -> ir.Block:
        renamed = in_block(other, given(first, one))
        return ir.Block((*one.statements, *renamed.statements), (*one.results, *renamed.results))

    return kept(replace(second, results=(*first.results, *second.results), then=both(first.then, second.then),
                        orelse=both(first.orelse, second.orelse)), after)


def kept(branch: ir.Branch, after: Collection[str]) -> ir.Branch:
    """Return the branch with those of its results that are used later, or name a size of such."""
    used = {*after, *[name for p in branch.results if p.name in after for name in scope.type_names(p.type)]}
    keep = [param.name in used for param in branch.results]

    def narrowed(block: ir.Block) -> ir.Block:
        return replace(block, results=scope.kept_items(block.results, keep))

    return replace(branch, results=scope.kept_items(branch.results, keep), then=narrowed(branch.then),
                   orelse=narrowed(branch.orelse))


def given(branch: ir.Branch, block: ir.Block) -> dict[str, ir.Atom]:
    """Return what the branch's results are at the end of the block."""
    return dict(zip([param.name for param in branch.results], block.results, strict=True))


def in_block(block: ir.Block, values: Values) -> ir.Block:
    """Return the block with these values for names."""
    changed = [BLOCKS.map(renamed_statement(statement, values), lambda inner: in_block(inner, values))
               for statement in block.statements]
    return ir.Block(tuple(changed), renamed_atoms(block.results, values))
