"""Lets owners go through loops over rows, where users wish for a level of what the loops give.

  in    flat λcu with offers over spaces (lambda_cu.offers), which nobody walks
  out   the same, in which those that wishes name say `by` whom they are walked, and others are gone: what would be done
        if they declined is done
  how   a name means offers as it means nodes of a graph: by a result, or by the place of the call; else by the place of
        a call in which that is
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from nessie.base.parts import updated
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.nodes import Levels
from nessie.lambda_cu.parts import BLOCKS
from nessie.lambda_cu.passes.kernel_arguments import renamed_atoms, renamed_statement
from nessie.lambda_cu.passes.simplify import drop_uncalled
from nessie.lambda_cu.scope import statements
from nessie.schedule.graph.nodes import HOST, Graph, Node, Unit
from nessie.schedule.wishes.pairs import called_by, named
from nessie.schedule.wishes.wishes import Wish, Wishes

Atoms = dict[str, ir.Atom]


def with_owners(program: ir.Program, wishes: Wishes, mappings: Mapping[Wish, Levels]) -> tuple[ir.Program, set[Wish]]:
    """Return the program whose offers are walked by these mappings, and the wishes that had any."""
    offers = {f.name for f in program.functions if f.over is not None and f.by is None}
    if not offers:
        return program, set()
    nodes = {s.function: Node(s.results[1].name, HOST, Unit(), (), tuple([r.name for r in s.results]), origin=s.origin)
             for f in program.functions for s in statements(f.body) if isinstance(s, ir.Call) and s.function in offers}
    graph = Graph("", 0, (), (), tuple(nodes.values()), (), ())
    walked: dict[str, Levels] = {}
    met = set[Wish]()
    for wish, mapping in mappings.items():
        meant = named(graph, wish.first, wish, wishes) or called_by(graph, wish.first, wish, wishes)
        for offer, node in nodes.items():
            if node in meant:
                walked.setdefault(offer, mapping)
                met.add(wish)
    wishes.met.names.update(wish.first for wish in met)
    functions = tuple([replace(f, by=walked[f.name]) if f.name in walked else f for f in program.functions])
    declined = offers - walked.keys()
    return drop_uncalled(replace(program, functions=tuple([
        updated(f, body=without(f.body, declined, {})) for f in functions]))) if declined else replace(
            program, functions=functions), met


def without(block: ir.Block, offers: set[str], names: Atoms) -> ir.Block:
    """The block in which nobody asks whether these are done: they are not. `names`: what is meant by results of
    branches that are gone."""
    done = {s.results[0].name for s in statements(block) if isinstance(s, ir.Call) and s.function in offers}
    if not done and not names:
        return block
    kept: list[ir.Statement] = []
    for statement in block.statements:
        if isinstance(statement, ir.Branch) and statement.condition in [ir.Var(name) for name in done]:
            inner = without(statement.orelse, offers, names)
            kept += inner.statements
            names |= {r.name: atom for r, atom in zip(statement.results, inner.results, strict=True)}
        elif not (isinstance(statement, ir.Call) and statement.function in offers):
            inside = partial(without, offers=offers, names={**names})
            kept.append(BLOCKS.map(renamed_statement(statement, names), inside))
    return ir.Block(tuple(kept), renamed_atoms(block.results, names))
