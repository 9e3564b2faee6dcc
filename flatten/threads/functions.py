"""Thread-level functions: from scalars to scalars, without parallel operations. They run per element. A tail call of
the function itself is a loop; other recursion takes the stack of the thread, where the target has one.
"""
from __future__ import annotations

from nessie.base import call_graph
from nessie.base.types import Base, Pair, Type, is_scalars
from nessie.flatten.threads.thread import Purity, thread
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.values import PairTerm, ScalarTerm, Term, components
from nessie.lambda_cu import nodes as ir
from nessie.mono import nodes as mono
from nessie.mono.walk import called


def thread_level(program: mono.Program, recursion: bool = True) -> frozenset[str]:
    """Return the functions that run per element and call only such functions. The entry is one only if the program
    calls it. Without `recursion`, no function that is mutually recursive, or recursive other than by tail calls, is
    one."""
    functions = {f.name: f for f in program.functions}
    calls = {name: called(f.body) for name, f in functions.items()}
    candidates = {name for name, f in functions.items() if on_scalars(f) and (recursion or tail_recursive(f))}
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


def on_scalars(function: mono.Function) -> bool:
    return all([is_scalars(p.type) for p in function.parameters]) and is_scalars(function.result)


def tail_recursive(function: mono.Function) -> bool:
    """Does the function call itself only as its last step?"""
    def only_tail(exp: mono.Exp) -> bool:
        match exp:
            case mono.Let(_, value, body):
                return not calls(value) and only_tail(body)
            case mono.If(condition, then, orelse):
                return not calls(condition) and only_tail(then) and only_tail(orelse)
            case mono.Call(name, arguments) if name == function.name:
                return not any([calls(a) for a in arguments])
        return not calls(exp)

    def calls(exp: mono.Exp) -> bool:
        return function.name in called(exp)

    return only_tail(function.body)


def scalar_function(emitter: Emitter, function: mono.Function) -> ir.ScalarFunction:
    params: list[ir.Param] = []

    def parameter(name: str, type_: Type) -> Term:
        match type_:
            case Base(base):
                params.append(ir.Param(emitter.fresh(name), base))
                return ScalarTerm(ir.Var(params[-1].name), base)
            case Pair(first, second):
                a = parameter(name, first)
                return PairTerm(a, parameter(name, second))
        raise TypeError(type_)

    env = {p.name: parameter(p.name, p.type) for p in function.parameters}
    context = Context(emitter)
    term = thread(function.body, env, HOST, HOST.here(), context)
    parts = list(components(term))
    return ir.ScalarFunction(function.name, tuple(params), tuple(base for _, base in parts),
                             context.result([exp for exp, _ in parts]), origin=function.origin)
