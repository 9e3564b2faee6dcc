"""Summaries of functions for their callers: the parameters' payloads in which the result lies, and the parameters'
payloads that are the same in all calls of a recursion.

A result without fresh sources crosses a call as bounds only. Without this, a function that selects (a row, one of two
sequences, its own argument) would copy payloads at every level of a recursion.

    function choose(k, a, b) = if k < 1 then a else choose(k - 1, b, if odd(k) then a else b)

So would a function that passes on a sequence that lies in several payloads. The parameter that takes it is *pooled*:
the outermost call passes payloads, which all inner calls pass on as they are, and the parameter is bounds into several
of these: its own, and all that can flow into it. Here a and b are pooled, in the payloads passed for both. Pooling
requires that no such payload is made anew within the recursion. Where one is, or at a call of another function, a
sequence that lies in several payloads is brought into one, which is fresh.

The signature of a result is the least fixpoint over the function's body, given the pools; the pools are all that these
signatures require. A payload found to be made anew stays so, which ends the search. Functions that call each other have
no pools.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from nessie.base.call_graph import components
from nessie.base.records import dataclass
from nessie.mono import nodes as mono
from nessie.mono.analysis.provenance import (
    FRESH,
    Calls,
    Env,
    Path,
    Signature,
    Sources,
    instantiate,
    nowhere,
    parameter,
    provenance,
    sequence_paths,
    shared,
    sources_at,
)
from nessie.mono.walk import called

Pools = Mapping[Path, tuple[Path, ...]]


@dataclass(frozen=True)
class Summary:
    """`pools`: for pooled paths, the payloads that the parameter lies in. The payloads inside a pooled path's payload
    are passed on with it, and are not pools themselves. `again`: the functions that this one calls and that call it."""
    result: Signature
    pools: Pools = field(default_factory=dict)
    again: frozenset[str] = frozenset()


def summaries(functions: tuple[mono.Function, ...]) -> dict[str, Summary]:
    """Return the summaries of the functions that are called."""
    by_name = {f.name: f for f in functions}
    graph = {name: frozenset(called(f.body)) for name, f in by_name.items()}
    wanted = frozenset().union(*graph.values())
    known: dict[str, Summary] = {}
    for component in components(graph) if wanted else []:
        if len(component) > 1:
            least_fixpoint([by_name[name] for name in component], known)
        elif component[0] in graph[component[0]]:
            known[component[0]] = recursive(by_name[component[0]], known)
        elif component[0] in wanted:
            function = by_name[component[0]]
            known[function.name] = Summary(provenance(function.body, of_parameters(function), calls_in("", known)))
    return known


def named(summary: Summary) -> set[Path]:
    """Return the payloads that parameters or results are bounds into."""
    return {path for pool in summary.pools.values() for path in pool} | named_in(summary.result)


def named_in(signature: Signature) -> set[Path]:
    match signature:
        case (first, second):
            return named_in(first) | named_in(second)
        case Sources(_, element):
            return set(shared(signature)) or named_in(element)
    return set()


def of_parameters(function: mono.Function, pools: Pools | None = None) -> dict[str, Signature]:
    return {p.name: parameter(p.type, (k,), pools or {}) for k, p in enumerate(function.parameters)}


def calls_in(function: str, known: Mapping[str, Summary], poolable: frozenset[Path] = frozenset()) -> Calls:
    """Return the function that gives the results of calls in the body. `poolable`: the parameters for which its calls
    of itself may pass on several payloads."""
    def result(callee: str, arguments: list[Signature]) -> Signature:
        summary, itself = known[callee], callee == function

        def sources(path: Path) -> frozenset[Path]:
            if itself and passed_on(path, summary.pools):
                return frozenset([path])
            found = sources_at(arguments, path)
            if not found:               # an empty literal is passed with a payload of its own
                return frozenset([FRESH])
            return found if len(found) < 2 or (itself and path in poolable) else found | {FRESH}
        return instantiate(summary.result, sources)
    return result


def passed_on(path: Path, pools: Pools) -> bool:
    """Is it the payload of a pooled path, or inside one?"""
    return any([path[:end] in pools for end in range(1, len(path) + 1)]) if pools else False


def least_fixpoint(functions: list[mono.Function], known: dict[str, Summary]) -> None:
    """Find the least fixpoint of functions that call each other."""
    again = frozenset([f.name for f in functions])
    known.update({f.name: Summary(nowhere(f.result), again=again) for f in functions})
    changed = True
    while changed:
        changed = False
        for function in functions:
            found = provenance(function.body, of_parameters(function), calls_in("", known))
            changed |= found != known[function.name].result
            known[function.name] = Summary(found, again=again)


# A function that calls itself ------------------------------------------------------------------------------


def recursive(function: mono.Function, known: dict[str, Summary]) -> Summary:
    paths = frozenset([path for k, p in enumerate(function.parameters) for path, _ in sequence_paths(p.type, (k,))])
    found = Summary(nowhere(function.result), {}, frozenset([function.name]))
    anew: frozenset[Path] = frozenset()
    poolable = paths
    while True:
        found, flows = fixpoint(function, found, known, poolable)
        reach = {path: reachable(path, flows) for path in paths}
        several = frozenset([path for path in paths if any([len(sources_at(flow, path)) > 1 for flow in flows])])
        anew |= {path for path in paths if not reach[path].isdisjoint({FRESH, *anew})}
        pools = pools_for(several - anew, reach, anew)
        if pools == found.pools and poolable.isdisjoint(several & anew):
            return found
        found, poolable = replace(found, pools=pools), poolable - (several & anew)


def fixpoint(function: mono.Function, start: Summary, known: dict[str, Summary],
             poolable: frozenset[Path]) -> tuple[Summary, list[list[Signature]]]:
    """Return the function's summary with these pools, and the arguments of each call of itself."""
    env = of_parameters(function, start.pools)
    found = replace(start, result=nowhere(function.result))
    while True:
        known[function.name] = found
        result, flows = once_around(function, env, calls_in(function.name, known, poolable))
        if result == found.result:
            return found, flows
        found = replace(start, result=result)


def once_around(function: mono.Function, env: Env, calls: Calls) -> tuple[Signature, list[list[Signature]]]:
    flows: list[list[Signature]] = []

    def noted(callee: str, arguments: list[Signature]) -> Signature:
        if callee == function.name:
            flows.append(arguments)
        return calls(callee, arguments)

    return provenance(function.body, env, noted), flows


def reachable(path: Path, flows: list[list[Signature]]) -> frozenset[Path]:
    """Return the payloads that the parameter can lie in: its own, and those that flow into it through any number of
    calls."""
    found = {path}
    pending = [path]
    while pending:
        at = pending.pop()
        new = frozenset().union(*[sources_at(arguments, at) for arguments in flows]) - found if at != FRESH else ()
        found.update(new)
        pending.extend(new)
    return frozenset(found)


def pools_for(needed: frozenset[Path], reach: Mapping[Path, frozenset[Path]], anew: frozenset[Path]) -> Pools:
    """Return the pools of these paths and of all that flows into them. A pool is as far out as none of it is made anew,
    so that exchanging the sequences of rows does not move rows from pool to pool."""
    found: dict[Path, tuple[Path, ...]] = {}
    pending = sorted(needed, key=str)
    while pending:
        path = pending.pop()
        pooled = next(path[:end] for end in range(1, len(path) + 1) if path[:end] in reach and path[:end] not in anew)
        if pooled not in found:
            found[pooled] = in_order(reach[pooled], pooled)
            pending += found[pooled]
    return found


def in_order(paths: frozenset[Path], pooled: Path) -> tuple[Path, ...]:
    """Return one order for all pools of the same payloads, so that bounds need not move from pool to pool. But rows
    that each call makes anew have their own payload first, so that those passed by the outermost call need not move."""
    return tuple(sorted(paths, key=lambda path: (path != pooled or "e" not in path, "e" not in path, str(path))))
