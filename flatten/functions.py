"""Functions: which run per element, and the host and lifted versions of the others, made on demand.

A lifted version takes the number of activations and its parameters over them, translates the body under that domain,
and does nothing when there are none: that guard ends every recursion. Deeper nesting needs no further version, since
every depth is a domain. A version is known by its name before its body is translated, so functions may call themselves
and each other.
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.types import ZEROS
from nessie.flatten.boundary import Packer, params_of, received, unpack
from nessie.flatten.domains import HOST, Domain, atom_of, free_domain
from nessie.flatten.emitter import Tables
from nessie.flatten.translator import Translator, Values, pure_on_values
from nessie.flatten.values import Value
from nessie.frontend import mono
from nessie.lambda_cu import ir, scope


def call(t: Translator, exp: mono.Call, env: Values, domain: Domain, hint: str) -> Value:
    """A call of the version for this domain; of a thread-level function, a pure expression of its arguments."""
    function = t.functions[exp.function]
    arguments = [t.value(a, env, domain, p.name) for a, p in zip(exp.arguments, function.parameters)]
    if exp.function in t.purity.thread_level:
        return pure_on_values(t, exp, arguments, domain, hint)
    emitter = t.emitter
    emitter.origin = exp.origin
    lifted = domain is not HOST
    signature = t.signatures[exp.function] if lifted else None
    name = version(t, function, lifted)
    atoms: list[ir.Atom] = [atom_of(domain.size)] if lifted else []
    sources = []
    for argument, parameter in zip(arguments, function.parameters):
        packed = Packer(emitter, hint=parameter.name).pack(argument, parameter.type, domain)
        atoms += packed
        sources.append(unpack(parameter.type, domain, iter(packed)))
    results = params_of(emitter, exp.type, domain, signature, hint)
    emitter.emit(ir.Call(tuple(results), name, tuple(atoms), exp.origin))
    return unpack(exp.type, domain, received(results), signature, tuple(sources))


def version(t: Translator, function: mono.Function, lifted: bool) -> str:
    """The name of the host or lifted version; made now if it is the first time that it is needed."""
    name = function.name + ("^" if lifted else "")
    if name not in t.emitter.functions:
        t.emitter.functions[name] = placeholder = ir.Function(name, (), (), ir.Block((), ()))
        made = lifted_version(t, function, name) if lifted else host_version(t, function, name)
        assert t.emitter.functions[name] is placeholder
        t.emitter.functions[name] = made
    return name


def host_version(t: Translator, function: mono.Function, name: str) -> ir.Function:
    env, params = parameters(t, function, HOST)

    def body() -> list[ir.Atom]:
        return Packer(t.emitter).pack(t.value(function.body, env, HOST, "a"), function.result, HOST)

    atoms, statements = outside(t, body)
    results = params_of(t.emitter, function.result, HOST)
    return ir.Function(name, tuple(params), tuple(results), ir.Block(statements, tuple(atoms)), function.origin)


def lifted_version(t: Translator, function: mono.Function, name: str) -> ir.Function:
    emitter = t.emitter
    size = emitter.declare("n", "int")
    domain = free_domain(size.name)
    env, params = parameters(t, function, domain)
    signature = t.signatures[function.name]
    sources = tuple(env[p.name] for p in function.parameters)

    def body() -> list[ir.Atom]:
        result = t.value(function.body, env, domain, "a")
        return Packer(emitter, sources).pack(result, function.result, domain, signature)

    def guarded() -> list[ir.Atom]:
        some = emitter.host().name(ir.Op("<", (ir.Const(0, "int"), ir.Var(size.name))), "bool", "some")
        atoms, statements = emitter.block(body)
        results = params_of(emitter, function.result, domain, signature)
        empties, none = emitter.block(lambda: no_results(t, results))
        emitter.emit(ir.Branch(tuple(results), some, ir.Block(statements, tuple(atoms)), ir.Block(none, tuple(empties)),
                               function.origin))
        return [ir.Var(result.name) for result in results]

    atoms, statements = outside(t, guarded)
    results = params_of(emitter, function.result, domain, signature)
    return ir.Function(name, (size, *params), tuple(results), ir.Block(statements, tuple(atoms)), function.origin)


def outside(t: Translator, body: Callable[[], list[ir.Atom]]) -> tuple[list[ir.Atom], tuple[ir.Statement, ...]]:
    """The body's statements; no table of the place that happened to need the version is valid in it."""
    emitter = t.emitter
    held = emitter.tables, emitter.origin
    emitter.tables = Tables()
    try:
        return emitter.block(body)
    finally:
        emitter.tables, emitter.origin = held


def parameters(t: Translator, function: mono.Function, domain: Domain) -> tuple[dict[str, Value], list[ir.Param]]:
    env: dict[str, Value] = {}
    params: list[ir.Param] = []
    for p in function.parameters:
        names = params_of(t.emitter, p.type, domain, hint=p.name)
        env[p.name] = unpack(p.type, domain, received(names))
        params += names
    return env, params


def no_results(t: Translator, results: list[ir.Param]) -> list[ir.Atom]:
    """The results for no activations: sizes 0, arrays of no elements."""
    atoms: list[ir.Atom] = []
    sizes = {result.name for result in results if not isinstance(result.type, ir.Array)}
    for result in results:
        if not isinstance(result.type, ir.Array):
            atoms.append(ir.Const(0, "int"))
            continue
        base, size = result.type.base, result.type.size
        if size in sizes:
            atoms.append(ir.Var(t.emitter.data(ir.Array(base, 0), ())))
        else:
            held = t.emitter.declare("none", result.type)
            thunk = scope.thunk(("i",), ir.Const(ZEROS[base], base))
            t.emitter.run(ir.Map(thunk, ir.Flat(size)), [held])
            atoms.append(ir.Var(held.name))
    return atoms
