"""The entry: it takes dense arguments and gives dense results."""
from __future__ import annotations

from nessie.base.types import Base, Pair, Seq, Type
from nessie.flatten.boundary import Packer
from nessie.flatten.domains import HOST, Domain, atom_of, irregular
from nessie.flatten.emitter import Emitter
from nessie.flatten.functions import call
from nessie.flatten.materialise import elements, space_of
from nessie.flatten.translator import Translator
from nessie.flatten.values import Both, Scalar, Sequence, Value, dense, stored
from nessie.frontend import mono
from nessie.frontend.mono_walk import called
from nessie.lambda_cu import ir
from nessie.lambda_cu.layout import layout_of, parameters


def entry_function(t: Translator, function: mono.Function) -> tuple[ir.Function, ir.Entry]:
    """The entry's function, and its layouts. It is a function of its own where the program calls it, too: calls pass
    views."""
    emitter = t.emitter
    params: list[ir.Param] = []
    env = {p.name: dense_parameter(emitter, p.type, HOST, p.name, params) for p in function.parameters}

    def body() -> list[ir.Atom]:
        if any(function.name in called(f.body) for f in t.program.functions):
            arguments = tuple(mono.Var(p.name, p.type) for p in function.parameters)
            value = call(t, mono.Call(function.name, arguments, function.result, function.origin), env, HOST, "it")
        else:
            value = t.value(function.body, env, HOST, "it")
        return dense_result(emitter, value, function.result, HOST)

    atoms, statements = emitter.block(body)
    layout = layout_of(function.result)
    name = function.name if function.name not in emitter.functions else emitter.fresh("main")
    main = ir.Function(name, tuple(params), parameters(layout, emitter.names, "result"),
                       ir.Block(statements, tuple(atoms)), function.origin)
    return main, ir.Entry(name, tuple(layout_of(p.type) for p in function.parameters), layout)


def dense_parameter(emitter: Emitter, type_: Type, domain: Domain, hint: str, params: list[ir.Param]) -> Value:
    """A parameter as it comes from outside: sequences dense, nested ones by offsets."""
    def declare(hint: str, type_: ir.Type) -> str:
        params.append(emitter.declare(hint, type_))
        return params[-1].name

    match type_:
        case Base(base):
            return stored(domain, declare(hint, base if domain is HOST else ir.Array(base, domain.size)), base)
        case Pair(first, second):
            a = dense_parameter(emitter, first, domain, hint, params)
            return Both(a, dense_parameter(emitter, second, domain, hint, params))
        case Seq(item):
            offsets = "" if domain is HOST else declare(f"{hint}_offsets", ir.Array("int", domain.size, 1))
            size = declare("n", "int")
            space = emitter.host_space(size) if domain is HOST else irregular(domain, offsets, size)
            return dense(domain, space, dense_parameter(emitter, item, space, hint, params))
    raise TypeError(type_)


def dense_result(emitter: Emitter, value: Value, type_: Type, domain: Domain) -> list[ir.Atom]:
    """The names that the result comes out in: sequences dense, views copied."""
    match value, type_:
        case Both(a, b), Pair(first, second):
            return [*dense_result(emitter, a, first, domain), *dense_result(emitter, b, second, domain)]
        case Scalar(), Base():
            return [Packer(emitter, hint="result").name(value, domain)]
        case Sequence(), Seq(item):
            if not (value.dense and value.home is domain):
                space = space_of(emitter, value, domain)
                value = dense(domain, space, elements(emitter, value, space, domain))
            inside = dense_result(emitter, value.leaves[0].value, item, value.space)
            bounds: list[ir.Atom] = [] if domain is HOST else [ir.Var(offsets_of(emitter, value.space))]
            return [*bounds, atom_of(value.space.size), *inside]
    raise TypeError(type_)


def offsets_of(emitter: Emitter, space: Domain) -> str:
    """The space's offsets as an array."""
    walked = emitter.walked(space)
    if isinstance(walked, ir.Irregular):
        return walked.offsets
    assert space.parent is not None
    parent = space.parent
    return emitter.scan_lengths(parent, lambda: space.length(parent.here().i))
