"""Provenance: which payloads can a function's result share?

A signature mirrors the result's type: None for a scalar, a pair for a pair, Sources for a sequence: the set of
parameter payloads that its elements can lie in, FRESH among them where elements are built. A result none of whose
sources is fresh crosses a call as bounds only; without this, a function that selects (a row, one of two sequences, its
own argument) would copy payloads at every level of a recursion.

Signatures are the least fixpoint over the program: indexing, slicing, partition, conditionals and lets move sources;
what builds elements is FRESH at that level and keeps its arguments' sources for the levels below. An argument with
several sources is copied into one payload at a call, so it is FRESH too.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from nessie.base.call_graph import components
from nessie.base.types import Pair, Seq, Type
from nessie.frontend import mono
from nessie.frontend.mono_typing import type_of
from nessie.frontend.mono_walk import called

Path = tuple[object, ...]
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
    """The parameter payloads that a result shares, in a fixed order; none if it may be fresh."""
    if not isinstance(signature, Sources) or not signature.paths or FRESH in signature.paths:
        return []
    return sorted(signature.paths, key=str)


def sequence_signature(element: Signature) -> Signature:
    """A fresh sequence of such elements."""
    return Sources(frozenset([FRESH]), element)


def nowhere(type_: Type) -> Signature:
    """The least signature of the type: no sources."""
    match type_:
        case Pair(first, second):
            return nowhere(first), nowhere(second)
        case Seq(element):
            return Sources(frozenset(), nowhere(element))
    return None


def fresh(type_: Type) -> Signature:
    """Nothing of it is shared."""
    match type_:
        case Pair(first, second):
            return fresh(first), fresh(second)
        case Seq(element):
            return sequence_signature(fresh(element))
    return None


def parameter(type_: Type, path: Path) -> Signature:
    match type_:
        case Pair(first, second):
            return parameter(first, (*path, 0)), parameter(second, (*path, 1))
        case Seq(element):
            return Sources(frozenset([path]), parameter(element, (*path, "e")))
    return None


def join(a: Signature, b: Signature) -> Signature:
    match a, b:
        case (tuple(), tuple()):
            return join(of_first(a), of_first(b)), join(of_second(a), of_second(b))
        case Sources(paths, element), Sources(others, other):
            return Sources(paths | others, join(element, other))
    return None


def instantiate(signature: Signature, arguments: list[Signature]) -> Signature:
    """A callee's signature in terms of the caller's sources."""
    match signature:
        case tuple():
            return instantiate(of_first(signature), arguments), instantiate(of_second(signature), arguments)
        case Sources(paths, element):
            found: frozenset[Path] = frozenset()
            for path in paths:
                sources = frozenset([FRESH]) if path == FRESH else sources_at(arguments, path)
                found |= sources if len(sources) < 2 else sources | {FRESH}
            return Sources(found, instantiate(element, arguments))
    return None


def sources_at(arguments: list[Signature], path: Path) -> frozenset[Path]:
    signature = arguments[int(str(path[0]))]
    for step in path[1:]:
        signature = {0: of_first, 1: of_second, "e": of_element}[step](signature)
    return signature.paths if isinstance(signature, Sources) else frozenset()


def signatures(functions: tuple[mono.Function, ...]) -> dict[str, Signature]:
    """The signature of each function's result: the least fixpoint."""
    by_name = {f.name: f for f in functions}
    known: dict[str, Signature] = {f.name: nowhere(f.result) for f in functions}
    for component in components({name: called(f.body) for name, f in by_name.items()}):
        changed = True
        while changed:                      # callees are known, but for recursion
            changed = False
            for name in component:
                function = by_name[name]
                found = provenance(function.body, of_parameters(function), known)
                changed, known[name] = changed or found != known[name], found
    return known


def of_parameters(function: mono.Function) -> dict[str, Signature]:
    return {p.name: parameter(p.type, (k,)) for k, p in enumerate(function.parameters)}


def provenance(exp: mono.Exp, env: Mapping[str, Signature], known: Mapping[str, Signature]) -> Signature:
    """The sources of the expression's value."""
    def go(part: mono.Exp) -> Signature:
        return provenance(part, env, known)

    match exp:
        case mono.Var(name):
            return env[name]
        case mono.Let():
            inner = dict(env)               # a chain of lets extends one environment: names are bound once
            while isinstance(exp, mono.Let):
                inner[exp.name] = provenance(exp.value, inner, known)
                exp = exp.body
            return provenance(exp, inner, known)
        case mono.If(_, then, orelse):
            return join(go(then), go(orelse))
        case mono.Pair(first, second):
            return go(first), go(second)
        case mono.First(pair):
            return of_first(go(pair))
        case mono.Second(pair):
            return of_second(go(pair))
        case mono.String():
            return sequence_signature(None)
        case mono.Literal(elements, type_):
            return sequence_signature(reduce(join, [go(e) for e in elements], of_element(nowhere(type_))))
        case mono.Each(body, generators):
            bound = {g.name: of_element(go(g.source)) for g in generators}
            return sequence_signature(provenance(body, {**env, **bound}, known))
        case mono.Call(function, arguments):
            return instantiate(known[function], [go(a) for a in arguments])
        case mono.Prim(name, arguments, type_):
            return of_primitive(name, [go(a) for a in arguments], type_)
    return nowhere(type_of(exp))


def of_primitive(name: str, arguments: list[Signature], type_: Type) -> Signature:
    match name:
        case "elt":
            return of_element(arguments[0])
        case "subseq" | "_compact":
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
