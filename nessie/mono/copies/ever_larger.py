"""Finds calls of functions at ever larger types, without end.

  in    an environment of typed definitions, and functions that are called in a program
  out   calls that form a circle, the first from a function to one at a larger type; none, if there are none
  how   type variables are nodes. Where f calls g at types, an edge goes from each variable of f in one of them to g's
        variable there, and the edge *grows* where the type is more than that variable. Each round of a circle with an
        edge that grows makes a type that contains the one before, and the calls are made at any type, so there is no
        end. Without such a circle types are finitely many, unless the functions called depend on types, as functions
        that are arguments do. Calls of these are not edges, nor are calls in anonymous functions.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from nessie.base.records import dataclass
from nessie.base.types import Fun, Identity, Var, free_variables
from nessie.typing import nodes as typed
from nessie.typing.environment import Environment
from nessie.typing.node_types import type_of
from nessie.typing.walk import parts

Variable = tuple[str, str]              # of a function


@dataclass(frozen=True)
class Edge:
    source: Variable
    target: Variable
    grows: bool
    call: typed.Apply


def ever_larger(environment: Environment, functions: Iterable[str]) -> tuple[Edge, ...]:
    """Return the edges of a circle that grows; the first of them grows."""
    edges: dict[Variable, list[Edge]] = {}
    for edge in all_edges(environment, functions):
        edges.setdefault(edge.source, []).append(edge)
    for edge in [e for found in edges.values() for e in found if e.grows]:
        back = shortest_way(edges, edge.target, edge.source)
        if back is not None:
            return (edge, *back)
    return ()


def all_edges(environment: Environment, functions: Iterable[str]) -> Iterator[Edge]:
    """Yield the edges of these functions and of those that they lead to."""
    pending = list(functions)
    seen = set(pending)
    while pending:
        function = defined(environment, pending.pop())
        if function is None:
            continue
        own = {v.name for v in function.variables}
        for call, identity in calls_in(function.body):
            callee = defined(environment, identity.name)
            if callee is None:
                continue
            for variable, type_ in zip(callee.variables, identity.types, strict=True):
                for inner in free_variables(type_):
                    if inner.name in own:
                        grows = not isinstance(type_, Var)
                        yield Edge((function.name, inner.name), (callee.name, variable.name), grows, call)
            if callee.name not in seen:
                seen.add(callee.name)
                pending.append(callee.name)


def defined(environment: Environment, name: str) -> typed.Function | None:
    """Return the function of this internal name; None for primitives, constructors and anonymous functions."""
    return environment.program.function(name) or environment.library.function(name)


def calls_in(body: typed.Exp) -> Iterator[tuple[typed.Apply, Identity]]:
    """Yield the calls whose function is known, with the function at types."""
    pending = [body]
    while pending:
        exp = pending.pop()
        if isinstance(exp, typed.Apply):
            kind = type_of(exp.function)
            if isinstance(kind, Fun) and isinstance(kind.identity, Identity) and not kind.identity.captured:
                yield exp, kind.identity
        if not isinstance(exp, typed.Lambda):
            pending += parts(exp)


def shortest_way(edges: dict[Variable, list[Edge]], start: Variable, end: Variable) -> tuple[Edge, ...] | None:
    ways: dict[Variable, tuple[Edge, ...]] = {start: ()}
    pending = deque([start])
    while pending:
        at = pending.popleft()
        if at == end:
            return ways[at]
        for edge in edges.get(at, []):
            if edge.target not in ways:
                ways[edge.target] = (*ways[at], edge)
                pending.append(edge.target)
    return None
