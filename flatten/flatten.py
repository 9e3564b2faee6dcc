"""Pass: flatten nested data parallelism.

  in    mono programs, in which only functions of recursive components are called (others may be)
  out   flat lambda_cu: one SOAC per kernel, one run per SOAC
  how   every expression is translated at a domain (flatten.translate), as a pull value (flatten.values); arrays come
        to be at a let, a result of an apply-to-each, a SOAC's result, a call, and where an expression that can fail
        must run
  why   a failing expression is evaluated for exactly the elements of its domain, before anything could narrow it or
        drop it; nothing is evaluated for elements that do not run. Blelloch's flattening; lambda-cu paper, 2.3.
"""
from __future__ import annotations

from nessie.base.types import Base, Pair, Seq, Type
from nessie.flatten.boundary import Packer, layout_of
from nessie.flatten.contexts import Context
from nessie.flatten.domains import HOST, Domain, atom_of, irregular
from nessie.flatten.element_sites import with_element_sites
from nessie.flatten.emitter import Emitter
from nessie.flatten.functions import call, called, thread_level_candidates
from nessie.flatten.materialise import elements, space_of
from nessie.flatten.provenance import signatures
from nessie.flatten.thread import Purity, nothing, thread
from nessie.flatten.translate import translate
from nessie.flatten.translator import Translator
from nessie.flatten.values import (
    Both,
    PairTerm,
    Scalar,
    ScalarTerm,
    Sequence,
    Term,
    Value,
    components,
    dense,
    stored,
)
from nessie.frontend import mono
from nessie.lambda_cu import ir


def flatten(program: mono.Program) -> ir.Program:
    functions = {f.name: f for f in program.functions}
    emitter = Emitter()
    emitter.names.reserve(functions)
    purity = Purity(thread_level(program), data=True)
    t = Translator(translate, program, emitter, purity, functions, signatures(program.functions))
    for name in purity.thread_level:
        result = components(nothing(functions[name].result))
        emitter.scalar_results[name] = tuple(base for _, base in result)
    scalar_functions = tuple(scalar_function(emitter, functions[name]) for name in sorted(purity.thread_level))
    main, entry = entry_function(t, functions[program.entry])
    made = tuple(emitter.functions.values())
    return with_element_sites(ir.Program(tuple(emitter.sites.values()), scalar_functions, tuple(emitter.kernels),
                                         (main, *made), entry))


# Thread-level functions ------------------------------------------------------------------------------------


def thread_level(program: mono.Program) -> frozenset[str]:
    """The functions that run per element, and call only such functions."""
    functions = {f.name: f for f in program.functions}
    names = thread_level_candidates(program.functions) - {program.entry}
    while True:
        purity = Purity(names)
        kept = frozenset(name for name in names if purity.pure(functions[name].body) and not mutual(name, functions))
        if kept == names:
            return names
        names = kept


def mutual(name: str, functions: dict[str, mono.Function]) -> bool:
    """Does the function call another that leads back to it?"""
    seen: set[str] = set()
    stack = list(called(functions[name].body) - {name})
    while stack:
        other = stack.pop()
        if other not in seen:
            seen.add(other)
            stack.extend(called(functions[other].body))
    return name in seen


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
                             context.result([exp for exp, _ in parts]), function.origin)


# The entry -------------------------------------------------------------------------------------------------


def entry_function(t: Translator, function: mono.Function) -> tuple[ir.Function, ir.Entry]:
    """The entry takes dense arguments and gives, where it can, dense results. It is a function of its own where the
    program calls it, too: calls pass views."""
    emitter = t.emitter
    params: list[ir.Param] = []
    env = {p.name: dense_parameter(emitter, p.type, HOST, p.name, params) for p in function.parameters}

    def body() -> tuple[list[ir.Atom], ir.Layout]:
        if function.name in set().union(*(called(f.body) for f in t.program.functions)):
            arguments = tuple(mono.Var(p.name, p.type) for p in function.parameters)
            value = call(t, mono.Call(function.name, arguments, function.result, function.origin), env, HOST, "it")
        else:
            value = t.value(function.body, env, HOST, "it")
        return dense_result(emitter, value, function.result, HOST)

    (atoms, layout), statements = emitter.block(body)
    results = result_params(emitter, layout, HOST, atoms)
    name = function.name if function.name not in emitter.functions else emitter.fresh("main")
    main = ir.Function(name, tuple(params), tuple(results), ir.Block(statements, tuple(atoms)), function.origin)
    return main, ir.Entry(name, tuple(layout_of(p.type, "dense") for p in function.parameters), layout)


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


def dense_result(emitter: Emitter, value: Value, type_: Type, domain: Domain) -> tuple[list[ir.Atom], ir.Layout]:
    """The names of the result and how they lie: sequences come out dense, views are copied."""
    packer = Packer(emitter, hint="result")
    match value, type_:
        case Both(a, b), Pair(first, second):
            atoms, layout = dense_result(emitter, a, first, domain)
            others, other = dense_result(emitter, b, second, domain)
            return [*atoms, *others], ir.PairLayout(layout, other)
        case Scalar(), Base(base):
            return [packer.name(value, domain)], ir.ScalarLayout(base)
        case Sequence(), Seq(item):
            if not (value.dense and value.home is domain):
                space = space_of(emitter, value, domain)
                value = dense(domain, space, elements(emitter, value, space, domain))
            space = value.space
            atoms, layout = dense_result(emitter, value.leaves[0].value, item, space)
            bounds: list[ir.Atom] = [] if domain is HOST else [ir.Var(offsets_of(emitter, space))]
            return [*bounds, atom_of(space.size), *atoms], ir.SeqLayout(layout)
    raise TypeError(type_)


def offsets_of(emitter: Emitter, space: Domain) -> str:
    """The space's offsets as an array."""
    walked = emitter.walked(space)
    if isinstance(walked, ir.Irregular):
        return walked.offsets
    assert space.parent is not None
    parent = space.parent
    return emitter.scan_lengths(parent, lambda: space.length(parent.here().i))


def result_params(emitter: Emitter, layout: ir.Layout, domain: Domain, atoms: list[ir.Atom]) -> list[ir.Param]:
    """Types for the entry's results: sizes are results themselves."""
    supply = iter(atoms)
    results: list[ir.Param] = []

    def go(layout: ir.Layout, size: ir.Size | None) -> None:
        match layout:
            case ir.ScalarLayout(base):
                next(supply)
                results.append(emitter.declare("result", base if size is None else ir.Array(base, size)))
            case ir.PairLayout(first, second):
                go(first, size)
                go(second, size)
            case ir.SeqLayout(item):
                if size is not None:
                    next(supply)
                    results.append(emitter.declare("offsets", ir.Array("int", size, 1)))
                next(supply)
                results.append(emitter.declare("n", "int"))
                go(item, results[-1].name)

    go(layout, None)
    return results
