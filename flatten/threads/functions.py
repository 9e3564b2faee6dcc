"""Thread-level functions: without parallel operations, they run per element. Of sequences they get bounds, and only
read what is in them (flatten.threads.versions). A tail call of the function itself is a loop; other recursion takes the
stack of the thread, where the target has one.
"""
from __future__ import annotations

from collections.abc import Mapping

from nessie.base import call_graph
from nessie.base.types import is_scalars
from nessie.flatten.threads.thread import Purity
from nessie.mono import nodes as mono
from nessie.mono.walk import called


def thread_level(program: mono.Program, recursion: bool) -> frozenset[str]:
    """Return the functions that run per element and call only such functions. A fold, which a combinator does at once,
    is none; the entry is one only if the program calls it. Without `recursion`, no function that is mutually recursive,
    or recursive other than by tail calls, is one."""
    functions = {f.name: f for f in program.functions}
    calls = {name: called(f.body) for name, f in functions.items()}
    candidates = {name for name, f in functions.items() if f.fold is None and (recursion or loops(f))}
    if not any([program.entry in callees for callees in calls.values()]):
        candidates.discard(program.entry)
    found: set[str] = set()
    purity = Purity(found)
    for component in call_graph.components(calls):      # callees outside the component are decided already
        if candidates.issuperset(component) and (recursion or len(component) == 1):
            found.update(component)
            if not all([purity.pure(functions[name].body) for name in component]):
                found.difference_update(component)
    return frozenset(found)


def loops(function: mono.Function) -> bool:
    """Does the function call itself only as its last step, with sequences from the payloads that it has?"""
    roots = {p.name: p.name for p in function.parameters}

    def only_tail(exp: mono.Exp, roots: Mapping[str, str]) -> bool:
        inner = dict(roots)
        while isinstance(exp, mono.Let):
            if calls(exp.value):
                return False
            if (root := root_of(exp.value, inner)) is not None:
                inner[exp.name] = root
            exp = exp.body
        match exp:
            case mono.If(condition, then, orelse):
                return not calls(condition) and only_tail(then, inner) and only_tail(orelse, inner)
            case mono.Call(name, arguments) if name == function.name:
                return not any([calls(a) for a in arguments]) and all([
                    is_scalars(p.type) or root_of(a, inner) == p.name
                    for a, p in zip(arguments, function.parameters, strict=True)])
        return not calls(exp)

    def calls(exp: mono.Exp) -> bool:
        return function.name in called(exp)

    return only_tail(function.body, roots)


def root_of(exp: mono.Exp, roots: Mapping[str, str]) -> str | None:
    """Return the parameter that a sequence is, or is a part of, if that is evident."""
    match exp:
        case mono.Var(name):
            return roots.get(name)
        case mono.Prim("subseq", (whole, _, _)) | mono.Prim("_compact", (whole,)):
            return root_of(whole, roots)
        case mono.If(_, then, orelse):
            root = root_of(then, roots)
            return root if root == root_of(orelse, roots) else None
    return None
