"""Translates calls; makes the host and lifted versions of functions on demand.

A lifted version takes the number of activations and its parameters over them. It translates the body under that domain
and does nothing when there are no activations: that guard ends every recursion. Deeper nesting needs no further
version, since every depth is a domain. A version has its name before its body is translated, so functions may call
themselves and each other.

Parameters and results cross as the summaries tell (mono.analysis.summaries). In a function with pools, the pools'
payloads follow the parameters: an outer call passes the payloads of its arguments, a call of itself those it was given.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.parts import updated
from nessie.base.types import Type
from nessie.flatten.calls.apart import is_divided, small
from nessie.flatten.calls.boundary import (
    Packer,
    in_one_leaf,
    nothing_for,
    params_of,
    params_of_leaf,
    received,
    unpack,
    unpack_leaf,
)
from nessie.flatten.calls.crossing import (
    ANYHOW,
    APART,
    LIFTED,
    NONE,
    PLAIN,
    SEQUENTIAL,
    UNDECIDED,
    Crossing,
    Frame,
    Lying,
    Payloads,
    of_argument,
    of_result,
)
from nessie.flatten.calls.owned import offered_rows
from nessie.flatten.calls.results import packed_result
from nessie.flatten.calls.rows import lying_of
from nessie.flatten.calls.unrolled import unrolled
from nessie.flatten.rules.combining import fold
from nessie.flatten.rules.conditionals import divided
from nessie.flatten.rules.each import reduce_each_by
from nessie.flatten.translator import Translator, Values, pure_on_values
from nessie.flatten.values.domains import HOST, Domain, atom_of, free_domain
from nessie.flatten.values.emitter import Tables
from nessie.flatten.values.values import Value
from nessie.lambda_cu import nodes as ir
from nessie.mono import nodes as mono
from nessie.mono.analysis.provenance import Path, sequence_paths
from nessie.mono.analysis.summaries import Pools, Summary, named
from nessie.mono.node_types import element_place
from nessie.mono.walk import binders


def call(t: Translator, exp: mono.Call, env: Values, domain: Domain, hint: str) -> Value:
    """Call the version for this domain; a call of a thread-level function is a pure expression of its arguments, and a
    fold is a combinator where it can be."""
    function = t.functions[exp.function]
    each = elements_to_fold(t, exp) if domain is not HOST else None
    known = [None if argument is each else t.value(argument, env, domain, p.name)
             for argument, p in zip(exp.arguments, function.parameters)]
    t.emitter.origin = exp.origin
    if function.fold is not None:
        combined = fold(t, function, known, domain, hint, lambda monoid: None if each is None else reduce_each_by(
            t, monoid, exp.origin, each, env, domain, hint))
        if combined is not None:
            return combined
    arguments = [t.value(argument, env, domain, p.name) if value is None else value
                 for argument, value, p in zip(exp.arguments, known, function.parameters)]
    if exp.function in t.purity.thread_level:
        return pure_on_values(t, exp, arguments, domain, hint)
    t.emitter.origin = exp.origin
    if domain is HOST:
        value = call_version(t, exp, SEQUENTIAL if t.frame.kind == SEQUENTIAL else PLAIN, arguments, domain, hint)
        return in_one_leaf(Packer(t.emitter, hint, t.frame), value, exp.type)
    if t.frame.apart != NONE and is_divided(t, function):
        return divided_call(t, exp, arguments, domain, hint)

    def lifted() -> Value:
        return call_version(t, exp, LIFTED, arguments, domain, hint)
    return offered_rows(t, exp, arguments, domain, hint, lambda: version(t, function, SEQUENTIAL), lifted) or lifted()


def elements_to_fold(t: Translator, exp: mono.Call) -> mono.Each | None:
    """Return the apply-to-each, without a filter, of which a fold makes one value."""
    fold = t.functions[exp.function].fold
    if fold is None or fold.form != "reduce":
        return None
    place = element_place(t.functions[exp.function], t.functions[fold.operator])
    source = None if place is None else exp.arguments[place + 1]
    return source if isinstance(source, mono.Each) and source.filter is None else None


def call_version(t: Translator, exp: mono.Call, kind: str, arguments: list[Value], domain: Domain, hint: str,
                 apart: ir.Atom | None = None) -> Value:
    """Call this version of the function on the activations of the domain. `apart`: the limit up to which it runs
    activations apart in its turn. None: as its caller."""
    function = t.functions[exp.function]
    lying = lying_of(t, function, arguments, domain) if kind in (PLAIN, LIFTED) else ANYHOW
    name = version(t, function, kind, lying)
    atoms, passed = pass_on(t, function, arguments, domain, lying)
    if domain is not HOST:
        atoms = [atom_of(domain.size), *atoms]
    if kind == LIFTED and is_divided(t, function):
        atoms.append(t.frame.apart if apart is None else apart)
    crossing = of_result(t.summaries[function.name].result, passed)
    results = params_of(t.emitter, exp.type, domain, crossing, hint)
    t.emitter.emit(ir.Call(tuple(results), name, tuple(atoms), origin=exp.origin))
    return unpack(t.emitter, exp.type, domain, received(results), crossing)


def divided_call(t: Translator, exp: mono.Call, arguments: list[Value], domain: Domain, hint: str) -> Value:
    """Call the lifted version on large activations, the sequential one on small ones (flatten.calls.apart)."""
    function = t.functions[exp.function]
    arguments = [crossed(t, a, p, domain) for a, p in zip(arguments, function.parameters)]
    is_small, limit = small(t, arguments, domain)
    return divided(t, is_small, domain, hint,
                   lambda side: call_apart(t, exp, arguments, side, hint),
                   lambda side: call_version(t, exp, LIFTED, arguments, side, hint, limit))


def call_apart(t: Translator, exp: mono.Call, arguments: list[Value], domain: Domain, hint: str) -> Value:
    """Offer the activations to whoever runs them apart; if he does not, they are lifted."""
    emitter, function = t.emitter, t.functions[exp.function]
    name = version(t, function, APART)
    atoms, _ = pass_on(t, function, arguments, domain)
    done = emitter.declare("done", "bool")
    given = params_of(emitter, exp.type, domain, None, hint)
    emitter.emit(ir.Call((done, *given), name, (atom_of(domain.size), *atoms), origin=exp.origin))

    def whole() -> list[ir.Atom]:
        value = call_version(t, exp, LIFTED, arguments, domain, hint, NONE)
        return Packer(emitter, hint, t.frame).pack(value, exp.type, domain)

    lifted, statements = emitter.block(whole)
    results = params_of(emitter, exp.type, domain, None, hint)
    emitter.emit(ir.Branch(tuple(results), ir.Var(done.name), ir.Block((), tuple([ir.Var(p.name) for p in given])),
                           ir.Block(statements, tuple(lifted)), origin=exp.origin))
    return unpack(emitter, exp.type, domain, received(results))


def pass_on(t: Translator, function: mono.Function, arguments: list[Value], domain: Domain,
            lying: Lying = ANYHOW) -> tuple[list[ir.Atom], Payloads]:
    """Return the arguments as names, and the payloads that the function then knows. A call of itself passes its pools
    on."""
    pools = t.summaries[function.name].pools
    known = t.frame.payloads
    if t.frame.function != function.name:
        arguments = [crossed(t, a, p, domain, of_argument(p.type, (k,), {}, known, lying))
                     for k, (a, p) in enumerate(zip(arguments, function.parameters))]
        known = Payloads(arguments, {})
    atoms: list[ir.Atom] = []
    passed = []
    for k, (argument, p) in enumerate(zip(arguments, function.parameters)):
        crossing = of_argument(p.type, (k,), pools, known, lying)
        packed = Packer(t.emitter, p.name, t.frame).pack(argument, p.type, domain, crossing)
        atoms += packed
        passed.append(unpack(t.emitter, p.type, domain, iter(packed), crossing))
    for path, item, hint in pooled(function, pools):
        atoms += Packer(t.emitter, hint).leaf(known[path], item)
    return atoms, Payloads(passed, {path: known[path] for path in pools})


def crossed(t: Translator, argument: Value, parameter: mono.Parameter, domain: Domain,
            crossing: Crossing = None) -> Value:
    """Return the argument as it arrives."""
    packed = Packer(t.emitter, parameter.name, t.frame).pack(argument, parameter.type, domain, crossing)
    return unpack(t.emitter, parameter.type, domain, iter(packed), crossing)


def pooled(function: mono.Function, pools: Pools) -> list[tuple[Path, Type, str]]:
    """Return the paths to the pools, in order, with the types of their elements and a name."""
    return [(path, item, p.name) for k, p in enumerate(function.parameters)
            for path, item in sequence_paths(p.type, (k,)) if path in pools]


def version(t: Translator, function: mono.Function, kind: str, lying: Lying = ANYHOW) -> str:
    """Return the name of this version, which is made at the first call. Those whose arguments lie otherwise are
    numbered."""
    names = t.versions.setdefault(function.name + kind, {})
    if lying not in names:
        names[lying] = name = function.name + kind + (f":{len(names) + 1}" if names else "")
        t.emitter.functions[name] = placeholder = ir.Function(name, (), (), ir.Block((), ()))
        made = updated(MAKERS[kind](t, function, kind, lying), name=name)
        assert t.emitter.functions[name] is placeholder
        t.emitter.functions[name] = made
    return names[lying]


def host_version(t: Translator, function: mono.Function, kind: str, lying: Lying) -> ir.Function:
    env, frame, params = parameters(t, function, HOST, kind, lying)
    crossing = of_result(t.summaries[function.name].result, frame.payloads)
    inside = unrolled(function.body, Names(binders(t.program))) if kind == SEQUENTIAL else function.body

    def body() -> list[ir.Atom]:
        value = t.value(inside, env, HOST, "a")
        return Packer(t.emitter, frame=frame).pack(value, function.result, HOST, crossing)

    atoms, statements = outside(t, frame, body)
    results = params_of(t.emitter, function.result, HOST, crossing)
    return ir.Function(function.name + kind, tuple(params), tuple(results), ir.Block(statements, tuple(atoms)),
                       origin=function.origin)


def lifted_version(t: Translator, function: mono.Function, kind: str, lying: Lying) -> ir.Function:
    emitter = t.emitter
    size = emitter.declare("n", "int")
    domain = free_domain(size.name)
    env, frame, params = parameters(t, function, domain, kind, lying)
    crossing = of_result(t.summaries[function.name].result, frame.payloads)
    if is_divided(t, function):
        params.append(emitter.declare("apart", "int"))
        frame = replace(frame, apart=ir.Var(params[-1].name))

    def body() -> list[ir.Atom]:
        return packed_result(t, function.body, function.result, env, domain, crossing)

    def guarded() -> list[ir.Atom]:
        some = emitter.host().name(ir.Op("<", (ir.Const(0, "int"), ir.Var(size.name))), "bool", "some")
        atoms, statements = emitter.block(body)
        results = params_of(emitter, function.result, domain, crossing)
        empties, none = emitter.block(lambda: nothing_for(emitter, results))
        emitter.emit(ir.Branch(tuple(results), some, ir.Block(statements, tuple(atoms)), ir.Block(none, tuple(empties)),
                               origin=function.origin))
        return [ir.Var(result.name) for result in results]

    atoms, statements = outside(t, frame, guarded)
    results = params_of(emitter, function.result, domain, crossing)
    return ir.Function(function.name + kind, (size, *params), tuple(results), ir.Block(statements, tuple(atoms)),
                       origin=function.origin)


def offer(t: Translator, function: mono.Function, kind: str, lying: Lying) -> ir.Function:
    """The version that offers activations to be run apart, and declines."""
    emitter = t.emitter
    size, done = emitter.declare("n", "int"), emitter.declare("done", "bool")
    domain = free_domain(size.name)
    _, frame, params = parameters(t, function, domain, kind, lying)

    def body() -> list[ir.Atom]:
        return [ir.Const(False, "bool"), *nothing_for(emitter, params_of(emitter, function.result, domain))]

    atoms, statements = outside(t, frame, body)
    results = (done, *params_of(emitter, function.result, domain))
    return ir.Function(function.name + kind, (size, *params), results, ir.Block(statements, tuple(atoms)),
                       version(t, function, SEQUENTIAL), origin=function.origin)


MAKERS: dict[str, Callable[[Translator, mono.Function, str, Lying], ir.Function]] = {
    PLAIN: host_version, SEQUENTIAL: host_version, LIFTED: lifted_version, APART: offer}


def outside(t: Translator, frame: Frame,
            body: Callable[[], list[ir.Atom]]) -> tuple[list[ir.Atom], tuple[ir.Statement, ...]]:
    """Return what `body` gives and emits as the body of a version. The tables of the place that needed the version are
    not valid in it, but for what is known of the version's parameters."""
    emitter = t.emitter
    held = emitter.tables, emitter.origin, t.frame
    emitter.tables, t.frame = Tables(known=emitter.tables.known), frame
    try:
        return emitter.block(body)
    finally:
        emitter.tables, emitter.origin, t.frame = held


def parameters(t: Translator, function: mono.Function, domain: Domain, kind: str,
               lying: Lying) -> tuple[dict[str, Value], Frame, list[ir.Param]]:
    """Return the parameters' values, the frame that knows them, and all parameters that are passed: pools come last."""
    summary = t.summaries[function.name]
    last: list[ir.Param] = []
    pools = {}
    for path, item, hint in pooled(function, summary.pools):
        names = params_of_leaf(t.emitter, item, None, hint)
        pools[path] = unpack_leaf(t.emitter, item, received(names))
        last += names
    env: dict[str, Value] = {}
    params: list[ir.Param] = []
    for k, p in enumerate(function.parameters):
        crossing = of_argument(p.type, (k,), summary.pools, Payloads([], pools), lying)
        names = params_of(t.emitter, p.type, domain, crossing, p.name)
        env[p.name] = unpack(t.emitter, p.type, domain, received(names), crossing)
        params += names
    return env, frame_of(function, summary, Payloads(list(env.values()), pools), kind), params + last


def frame_of(function: mono.Function, summary: Summary, payloads: Payloads, kind: str) -> Frame:
    paths = [path for k, p in enumerate(function.parameters) for path, _ in sequence_paths(p.type, (k,))]
    keys = {path: payloads[path].key for path in paths}
    return Frame(function.name, payloads, frozenset(keys.values()), frozenset([keys[path] for path in named(summary)]),
                 kind, NONE if kind == SEQUENTIAL else UNDECIDED)
