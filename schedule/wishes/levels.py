"""Pass: lets the segments of kernels have owners, as users wish: `% level s by warp %`, `--level s=warp`.

A mapping changes no result, so only GPUs, which have the levels, are asked for it. The name means nodes of a graph, as
those of other wishes do (schedule.wishes.pairs); the kernels of these nodes get the mapping, each a copy of its own.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.source import IllFormed, NessieError
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.owners import by_owners, check_owners
from nessie.lambda_cu.scope import map_statements, statements
from nessie.schedule.cost.profiles import Profile
from nessie.schedule.graph.graph import regions_with_graphs
from nessie.schedule.graph.nodes import Node
from nessie.schedule.wishes.pairs import concerned, missing, named, place_of, places_of
from nessie.schedule.wishes.wishes import LEVEL, Wish, Wishes


def levels(program: ir.Program, wishes: Wishes, profile: Profile) -> ir.Program:
    """Return the program in which the kernels that wishes name have owners for their segments; an impossible wish is an
    error."""
    wanted = [wish for wish in wishes.wanted if wish.kind == LEVEL]
    if not wanted:
        return program
    graphs = [graph for _, graph in regions_with_graphs(program, profile, None, None)]
    found: dict[str, Wish] = {}             # by the name of a result
    for wish in wanted:
        nodes = [node for graph in graphs for node in named(graph, wish.first, wish, wishes)]
        if not nodes and wishes.strict and concerned(graphs, wish):
            raise missing(graphs, wish.first, wish, wishes)
        found |= {name: wish for node in nodes for name in node.results if name != "_"}
        require_owners(program, nodes, wish)
    return with_owners(program, found)


def mapping(level: str) -> maps.Levels:
    """The mapping by which this level owns segments."""
    return maps.Levels((level, "serial" if level == "thread" else "lane"), maps.Gen())


def require_owners(program: ir.Program, nodes: Sequence[Node], wish: Wish) -> None:
    """Raise an error unless one of the nodes' kernels has segments that the level can own."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    reasons = []
    for name in runs_of(program, {name for node in nodes for name in node.results}):
        try:
            mapped = replace(kernels[name], by=mapping(wish.second))
            check_owners(mapped)
            if by_owners(mapped):
                return
            reasons.append("it has no segments")
        except IllFormed as refused:
            reasons.append(str(refused))
    if reasons:
        raise NessieError(f"{wish.first} cannot be computed by a {wish.second} for each segment: {reasons[0]}",
                          *[*places_of(nodes[:1]), *place_of(wish)])


def runs_of(program: ir.Program, results: set[str]) -> list[str]:
    """The kernels whose runs make these names."""
    runs = [s for function in program.functions for s in statements(function.body) if isinstance(s, ir.Run)]
    return list(dict.fromkeys([run.kernel for run in runs if any([param.name in results for param in run.results])]))


def with_owners(program: ir.Program, wished: Mapping[str, Wish]) -> ir.Program:
    """The program in which runs that make these names have kernels of their own, with owners where they can."""
    kernels, names = {kernel.name: kernel for kernel in program.kernels}, Names(k.name for k in program.kernels)
    made: dict[tuple[str, str], ir.Kernel] = {}

    def owned(statement: ir.Statement) -> ir.Statement:
        if not isinstance(statement, ir.Run):
            return statement
        wish = next((wished[param.name] for param in statement.results if param.name in wished), None)
        if wish is None:
            return statement
        key = statement.kernel, wish.second
        if key not in made:
            kernel = kernels[statement.kernel]
            mapped = replace(kernel, by=mapping(wish.second))
            made[key] = replace(mapped, name=names.fresh(kernel.name)) if can(mapped) else kernel
        return replace(statement, kernel=made[key].name)
    functions = tuple([replace(f, body=map_statements(f.body, owned)) for f in program.functions])
    more = [kernel for kernel in made.values() if kernel.name not in kernels]
    return replace(program, kernels=(*program.kernels, *more), functions=functions)


def can(kernel: ir.Kernel) -> bool:
    try:
        check_owners(kernel)
    except IllFormed:
        return False
    return by_owners(kernel)
