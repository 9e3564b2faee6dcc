"""The order of functions by their calls."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping


def components(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected components, callees before callers (Tarjan's algorithm, with a stack of its own)."""
    found: list[list[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: dict[str, None] = {}             # visited nodes that are in no component yet
    for root in graph:
        if root in number:
            continue
        work = [(root, iter(graph[root]))]
        number[root] = lowest[root] = len(number)
        open_[root] = None
        while work:
            node, callees = work[-1]
            callee = next(callees, None)
            if callee is None:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    found.append(cut(open_, node))
            elif callee not in number:
                number[callee] = lowest[callee] = len(number)
                open_[callee] = None
                work.append((callee, iter(graph[callee])))
            elif callee in open_:
                lowest[node] = min(lowest[node], number[callee])
    return found


def cut(stack: dict[str, None], node: str) -> list[str]:
    """Take the nodes from this one on off the stack."""
    taken = [stack.popitem()[0]]
    while taken[-1] != node:
        taken.append(stack.popitem()[0])
    taken.reverse()
    return taken


def callees_first(graph: Mapping[str, Collection[str]]) -> tuple[list[str], set[str]]:
    """Return the functions with callees before callers, except in recursion, and the recursive ones. `graph`: the
    functions that each function calls."""
    order: list[str] = []
    recursive: set[str] = set()
    for component in components(graph):
        order += component
        if len(component) > 1 or component[0] in graph[component[0]]:
            recursive.update(component)
    return order, recursive


def reachable(graph: Mapping[str, Iterable[str]], start: Iterable[str]) -> set[str]:
    """These nodes, their successors, the successors of those and so on. A name that the graph lacks has none."""
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(graph.get(node, ()))
    return found
