"""Provenance analysis: the payloads that an expression's value can share.

A signature mirrors a type: None for a scalar, a pair for a pair, Sources for a sequence. Sources are the payloads of
the function's parameters in which the elements can lie, with FRESH among them where elements are built. Indexing,
slicing, partition, conditionals and lets move sources. An operation that builds elements is FRESH at that level and
keeps its arguments' sources for the levels below. The caller supplies the results of calls (mono.analysis.summaries).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce

from nessie.base.records import dataclass
from nessie.base.types import Pair, Seq, Type
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of
from nessie.mono.walk import parts

Path = tuple[int | str, ...]
FRESH: Path = ("fresh",)


@dataclass(frozen=True)
class Sources:
    """Paths: a parameter's number, then 0 or 1 into pairs and 'e' into elements."""
    paths: frozenset[Path]
    element: Signature


Signature = None | tuple["Signature", "Signature"] | Sources


def of_first(signature: Signature) -> Signature:
    return signature[0] if isinstance(signature, tuple) else None


def of_second(signature: Signature) -> Signature:
    return signature[1] if isinstance(signature, tuple) else None


def of_element(signature: Signature) -> Signature:
    return signature.element if isinstance(signature, Sources) else None


def shared(signature: Signature) -> list[Path]:
    """Return the payloads of parameters in which a sequence lies, in a fixed order; none if it may be fresh."""
    if not isinstance(signature, Sources) or not signature.paths or FRESH in signature.paths:
        return []
    return sorted(signature.paths, key=str)


def sequence_signature(element: Signature) -> Signature:
    """Return the signature of a fresh sequence of such elements."""
    return Sources(frozenset([FRESH]), element)


def nowhere(type_: Type) -> Signature:
    """Return the least signature of the type: no sources."""
    match type_:
        case Pair(first, second):
            return nowhere(first), nowhere(second)
        case Seq(element):
            return Sources(frozenset(), nowhere(element))
    return None


def fresh(type_: Type) -> Signature:
    """Return the signature of a value of which nothing is shared."""
    match type_:
        case Pair(first, second):
            return fresh(first), fresh(second)
        case Seq(element):
            return sequence_signature(fresh(element))
    return None


def parameter(type_: Type, path: Path, pools: Mapping[Path, tuple[Path, ...]]) -> Signature:
    """Return the signature of a parameter, or of a part of one. `pools`: the payloads of parameters that lie not just
    in those passed for them."""
    match type_:
        case Pair(first, second):
            return parameter(first, (*path, 0), pools), parameter(second, (*path, 1), pools)
        case Seq(item):
            paths = pools.get(path, (path,))
            return Sources(frozenset(paths), reduce(join, [parameter(item, (*p, "e"), pools) for p in paths]))
    return None


def sequence_paths(type_: Type, path: Path) -> Iterator[tuple[Path, Type]]:
    """The paths to all sequences of a parameter, outer ones first, with the types of their elements."""
    match type_:
        case Pair(first, second):
            yield from sequence_paths(first, (*path, 0))
            yield from sequence_paths(second, (*path, 1))
        case Seq(item):
            yield path, item
            yield from sequence_paths(item, (*path, "e"))


def join(a: Signature, b: Signature) -> Signature:
    match a, b:
        case (tuple(), tuple()):
            return join(of_first(a), of_first(b)), join(of_second(a), of_second(b))
        case Sources(paths, element), Sources(others, other):
            return Sources(paths | others, join(element, other))
    return None


def instantiate(signature: Signature, sources: Callable[[Path], frozenset[Path]]) -> Signature:
    """Return a callee's signature in terms of the caller's sources; `sources` gives those of the argument at a path."""
    match signature:
        case (first, second):
            return instantiate(first, sources), instantiate(second, sources)
        case Sources(paths, item):
            found = [frozenset([FRESH]) if path == FRESH else sources(path) for path in paths]
            return Sources(frozenset().union(*found), instantiate(item, sources))
    return None


def sources_at(arguments: list[Signature], path: Path) -> frozenset[Path]:
    signature = arguments[int(path[0])]
    for step in path[1:]:
        signature = {0: of_first, 1: of_second, "e": of_element}[step](signature)
    return signature.paths if isinstance(signature, Sources) else frozenset()


Env = Mapping[str, Signature]
Calls = Callable[[str, list[Signature]], Signature]         # a call's result, by the function and its arguments


def provenance(exp: mono.Exp, env: Env, calls: Calls) -> Signature:
    """Return the sources of the expression's value; `calls` is asked about all calls in it."""
    def go(part: mono.Exp) -> Signature:
        return provenance(part, env, calls)

    match exp:
        case mono.Var(name):
            return env[name]
        case mono.Let():
            inner = dict(env)               # names are bound once, so a chain of lets extends one environment
            while isinstance(exp, mono.Let):
                inner[exp.name] = provenance(exp.value, inner, calls)
                exp = exp.body
            return provenance(exp, inner, calls)
        case mono.Each(body, generators, condition):
            inside = {**env, **{g.name: of_element(go(g.source)) for g in generators}}
            if condition is not None:
                provenance(condition, inside, calls)
            return sequence_signature(provenance(body, inside, calls))
    return of_parts(exp, [go(part) for part in parts(exp)], calls)


def of_parts(exp: mono.Exp, found: list[Signature], calls: Calls) -> Signature:
    """Return the sources of an expression that binds no names, by the signatures of its parts."""
    match exp:
        case mono.If():
            return join(found[1], found[2])
        case mono.Pair():
            return found[0], found[1]
        case mono.First():
            return of_first(found[0])
        case mono.Second():
            return of_second(found[0])
        case mono.String():
            return sequence_signature(None)
        case mono.Literal(_, type_):
            return sequence_signature(reduce(join, found, of_element(nowhere(type_))))
        case mono.Call(function):
            return calls(function, found)
        case mono.Prim(name, _, type_):
            return of_primitive(name, found, type_)
    return nowhere(type_of(exp))


def of_primitive(name: str, arguments: list[Signature], type_: Type) -> Signature:
    match name:
        case "elt":
            return of_element(arguments[0])
        case "subseq":
            return arguments[0]
        case "check":
            return arguments[2]
        case "get":
            return sequence_signature(of_element(arguments[0]))
        case "write":
            return sequence_signature(join(of_element(arguments[0]), of_second(of_element(arguments[1]))))
        case "append":
            return sequence_signature(join(of_element(arguments[0]), of_element(arguments[1])))
        case "flatten":
            return sequence_signature(of_element(of_element(arguments[0])))
        case "partition" | "dist":
            return sequence_signature(arguments[0])
    return nowhere(type_) if name == "error" else fresh(type_)
