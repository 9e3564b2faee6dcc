"""Arguments that need not be copied to cross: for how they lie there are versions of a function.

Rows: sequences that are all of their payload, one after another, at every call of a version.

A version of a function takes a sequence as bounds into a payload, since it may be any part of one; elements are then
found through these bounds, and a space for them needs a scan. A graph, or a matrix, is mostly passed on unchanged
through a recursion. So there is a version for each set of parameters that lie as rows: those that the function passes
on to itself as they are. Other parameters may lie otherwise at each call, and would double the versions.
"""
from __future__ import annotations

from collections.abc import Iterator

from nessie.base.types import Pair, Seq, Type, is_scalars
from nessie.flatten.calls.boundary import all_arrays, arrays_only
from nessie.flatten.calls.crossing import Lying
from nessie.flatten.translator import Translator
from nessie.flatten.values.domains import HOST, Domain
from nessie.flatten.values.values import Both, Sequence, Value
from nessie.lambda_cu import nodes as ir
from nessie.mono import nodes as mono
from nessie.mono.analysis.provenance import Path
from nessie.mono.analysis.summaries import Pools, Summary, named
from nessie.mono.walk import binders_of, expressions


def lying_of(t: Translator, function: mono.Function, arguments: list[Value], domain: Domain) -> Lying:
    """Return how the arguments lie that a version of the function may take so: those into which neither results nor
    pooled parameters are bounds."""
    summary, free = t.summaries[function.name], set(range(len(arguments)))
    free -= {path[0] for path in named(summary)} | {k for k in free if is_pooled(k, summary.pools)}
    unchanged = free & passed_on(function, summary)
    given = list(enumerate(zip(function.parameters, arguments, strict=True)))
    return Lying(frozenset([path for k, (p, value) in given if k in unchanged and all_stored(value)
                            for path in rows_in(value, p.type, (k,), domain)]),
                 frozenset([path for k, (p, value) in given if k in free and not t.recursion
                            for path in halves_in(value, p.type, (k,), domain)]))


def sequences_in(value: Value, type_: Type, path: Path) -> Iterator[tuple[Sequence, Type, Path]]:
    """Yield the value's components that are sequences, with the types of their elements, and the paths to them."""
    match value, type_:
        case Both(a, b), Pair(first, second):
            yield from sequences_in(a, first, (*path, 0))
            yield from sequences_in(b, second, (*path, 1))
        case Sequence(), Seq(item):
            yield value, item, path


def halves_in(value: Value, type_: Type, path: Path, domain: Domain) -> Iterator[Path]:
    for part, item, to_part in sequences_in(value, type_, path):
        covers = part.covers and part.home is domain and is_scalars(item)
        if covers and len(part.leaves) == 2 and all([all_arrays(leaf) for leaf in part.leaves]):
            yield to_part


def passed_on(function: mono.Function, summary: Summary) -> set[int]:
    """Return the parameters that the function passes on, as they are, at every call of itself. A function that calls
    itself through others has none."""
    if summary.again - {function.name}:
        return set()
    bound = set(binders_of(function.body))
    calls = [e.arguments for e in expressions(function.body)
             if isinstance(e, mono.Call) and e.function == function.name]
    return {k for k, p in enumerate(function.parameters) if p.name not in bound
            and all([is_name(arguments[k], p.name) for arguments in calls])}


def is_name(exp: mono.Exp, name: str) -> bool:
    return isinstance(exp, mono.Var) and exp.name == name


def is_pooled(k: int, pools: Pools) -> bool:
    return any([k in (path[0], *[p[0] for p in into]) for path, into in pools.items()])


def all_stored(value: Value) -> bool:
    """Is every payload in it an array?"""
    match value:
        case Both(first, second):
            return all_stored(first) and all_stored(second)
        case Sequence(leaves=leaves):
            return len(leaves) == 1 and arrays_only(leaves[0].value, leaves[0].space, None)
    return True


def rows_in(value: Value, type_: Type, path: Path, domain: Domain) -> Iterator[Path]:
    for part, item, to_part in sequences_in(value, type_, path):
        on_host = part.home is HOST and domain is HOST
        segments = part.home is domain and isinstance(part.space.space, ir.Irregular) and "e" in to_part
        if part.dense and (on_host or segments):
            yield to_part
        yield from rows_in(part.leaves[0].value, item, (*to_part, "e"), part.space)
