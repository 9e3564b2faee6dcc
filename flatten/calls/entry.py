"""Makes the entry function. It takes arguments of any layout; its results are dense, uniform or closed."""
from __future__ import annotations

from collections.abc import Sequence as Listed

from nessie.base.types import Base, Pair, Seq, Type
from nessie.base.widths import wide
from nessie.flatten.calls.boundary import Packer
from nessie.flatten.calls.functions import call
from nessie.flatten.ranges.ranges import SIZE
from nessie.flatten.translator import Translator
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, At, Domain, atom_of
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.materialise import elements, view, with_scalars, with_short_bounds
from nessie.flatten.values.reasons import reason
from nessie.flatten.values.spaces import formed_space, limit_sizes, space_of, told
from nessie.flatten.values.values import Both, Leaf, Scalar, Sequence, Value, dense, stored
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import Shared, first_like, layout_of, parameters
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.scope import free_names
from nessie.lambda_cu.spaces.closed import value_at
from nessie.lambda_cu.spaces.rows import PLACE, ROW
from nessie.lambda_cu.spaces.segments import within
from nessie.lambda_cu.spaces.steps import NoForm
from nessie.mono import nodes as mono
from nessie.mono.walk import called


def entry_function(t: Translator, function: mono.Function,
                   arguments: tuple[ir.Layout, ...] | None) -> tuple[ir.Function, ir.Entry]:
    """Return the entry's function and its layouts; arguments are dense unless `arguments` says otherwise. The function
    is separate even where the program calls its entry, because calls pass views."""
    emitter = t.emitter
    params: list[ir.Param] = []
    layouts = arguments if arguments is not None else tuple(layout_of(p.type) for p in function.parameters)
    shared: Shared = {}

    def body() -> tuple[list[ir.Atom], ir.Layout]:
        emitter.origin = function.origin
        env = {p.name: from_outside(emitter, layout, p.type, HOST, p.name, params, shared)
               for p, layout in zip(function.parameters, layouts, strict=True)}
        limit_sizes(emitter, params, function.origin)
        if any(function.name in called(f.body) for f in t.program.functions):
            names = tuple(mono.Var(p.name, p.type) for p in function.parameters)
            value = call(t, mono.Call(function.name, names, function.result, origin=function.origin), env, HOST, "it")
        else:
            value = t.value(function.body, env, HOST, "it")
        return dense_result(emitter, value, function.result, HOST)

    (atoms, layout), statements = emitter.block(body)
    taken = function.name in emitter.functions or function.name in t.purity.thread_level
    name = emitter.fresh("main") if taken else function.name
    main = ir.Function(name, tuple(params), parameters(layout, emitter.names, "result"),
                       ir.Block(statements, tuple(atoms)), origin=function.origin)
    return main, ir.Entry(name, layouts, layout)


def from_outside(emitter: Emitter, layout: ir.Layout, type_: Type, domain: Domain, hint: str,
                 params: list[ir.Param], shared: Shared) -> Value:
    """Return a value of this type and layout, in which elements may be narrower, over the domain; its names are
    declared and added to `params`. `shared`: the sizes of the sequences before, which is extended."""
    def declare(hint: str, type_: ir.Type) -> str:
        params.append(emitter.declare(hint, type_))
        return params[-1].name

    def space_of_rows(layout: ir.SeqLayout) -> Domain:
        count = None if domain is HOST else domain.size
        if domain is HOST:
            bounds = []
        elif layout.form == "uniform":
            bounds = [declare(f"{hint}_length", "int")]
        elif layout.lengths is not None:
            bounds = [declare(name, "int") for name in layout.lengths.names]
        else:
            bounds = [declare(f"{hint}_offsets", ir.Array("int", domain.size, 1))]
            emitter.reasons[bounds[0]] = f"rows of {hint} may have any lengths"
        names, size = first_like(layout, count, bounds, declare("n", "int"), shared)
        if domain is HOST:
            return emitter.host_space(size)
        if layout.lengths is not None:
            rows = rows_by_formula(emitter, domain, layout.lengths, names, size)
        else:
            rows = (emitter.uniform_rows if layout.form == "uniform" else emitter.rows)(domain, names[0], size)
        told(emitter, rows, f"{rows_of(domain)} of {hint}")
        return rows

    match layout, type_:
        case ir.ScalarLayout(base), Base(name):
            return stored(domain, declare(hint, wide(base) if domain is HOST else ir.Array(base, domain.size)), name)
        case ir.PairLayout(first, second), Pair(one, other):
            a = from_outside(emitter, first, one, domain, hint, params, shared)
            return Both(a, from_outside(emitter, second, other, domain, hint, params, shared))
        case ir.SeqLayout(element, "view"), Seq(item) if domain is not HOST:
            start = declare(f"{hint}_start", ir.Array("int", domain.size))
            length = declare(f"{hint}_length", ir.Array("int", domain.size))
            payload = emitter.host_space(declare("n", "int"))
            inside = from_outside(emitter, element, item, payload, hint, params, shared)
            return view(domain, start, length, (Leaf(payload, inside),))
        case ir.SeqLayout(element), Seq(item):
            space = space_of_rows(layout)
            return dense(domain, space, from_outside(emitter, element, item, space, hint, params, shared))
    raise TypeError(layout)


def rows_of(domain: Domain) -> str:
    """Return what the sequences over the domain are, in words: rows, rows in rows."""
    return "rows" if domain.is_flat or domain.parent is None else f"rows in {rows_of(domain.parent)}"


def rows_by_formula(emitter: Emitter, domain: Domain, lengths: ir.Lengths, numbers: Listed[str],
                    size: ir.Size) -> Domain:
    """Return the space of rows whose lengths are this formula of the position in the domain; `numbers` are the host's
    names of what it mentions, `size` the number of elements, both known to be right. Offsets are computed where the
    formula has no closed sum."""
    for number in numbers:
        emitter.know(number, SIZE)
    emitter.know(size, SIZE)

    def length(at: At, _: Context) -> ir.Exp:
        around = [at.i] if domain.is_flat else [at.j, at.s]
        by = {index: exp for index, exp in zip(lengths.indices, around, strict=False) if exp is not None}
        return substitute(lengths.exp, {**by, **dict(zip(lengths.names, map(ir.Var, numbers), strict=True))})

    try:
        return emitter.known_space(formed_space(emitter, domain, length, size))
    except NoForm as error:
        exp = length(domain.here(), Context(emitter, domain))
        offsets = emitter.scan_lengths(domain, lambda: exp)
        emitter.reasons[offsets] = reason(emitter, domain, error)
        return emitter.rows(domain, offsets, size)


def dense_result(emitter: Emitter, value: Value, type_: Type, domain: Domain) -> tuple[list[ir.Atom], ir.Layout]:
    """Return the names that hold the result, and their layout. Sequences come out one after another, so views are
    copied; those of one length, or of lengths by a formula, need no offsets."""
    match value, type_:
        case Both(a, b), Pair(first, second):
            names, layout = dense_result(emitter, a, first, domain)
            others, other = dense_result(emitter, b, second, domain)
            return names + others, ir.PairLayout(layout, other)
        case Scalar(), Base(base):
            return [Packer(emitter, "result").name(value, domain, base)], ir.ScalarLayout(base)
        case Sequence(), Seq(item):
            if not (value.dense and value.home is domain):
                space = space_of(emitter, value, domain)
                inner = elements(emitter, value, space, domain)
                value = dense(domain, space, with_short_bounds(emitter, inner, space, "rows"))
            content = with_scalars(emitter, value.leaves[0].value, value.space, "result")
            inside, layout = dense_result(emitter, content, item, value.space)
            bounds, rows = bounds_of(emitter, value.space, domain, layout)
            return [*bounds, atom_of(value.space.size), *inside], rows
    raise TypeError(type_)


def bounds_of(emitter: Emitter, space: Domain, domain: Domain,
              element: ir.Layout) -> tuple[list[ir.Atom], ir.SeqLayout]:
    """Return the names that locate the domain's sequences in the space, and their layout."""
    if domain is HOST:
        return [], ir.SeqLayout(element)
    if isinstance(space.space, ir.Uniform):
        return [atom_of(space.space.length)], ir.SeqLayout(element, "uniform")
    formula = lengths_of(emitter, space, domain)
    if formula is not None:
        numbers, lengths = formula
        return [*map(ir.Var, numbers)], ir.SeqLayout(element, "closed", lengths=lengths)
    return [ir.Var(offsets_of(emitter, space))], ir.SeqLayout(element)


def lengths_of(emitter: Emitter, space: Domain, domain: Domain) -> tuple[tuple[str, ...], ir.Lengths] | None:
    """Return the formula of the lengths of the domain's sequences, and the host's names of the numbers in it; None if
    it has none of their positions. Its own names are fresh, as equal ones would be of equal numbers."""
    indices: tuple[str, ...]
    match space.space:
        case ir.Closed(_, terms, _) if domain.is_flat:
            indices, exp = ("i",), value_at(terms, ir.Var("i"))
        case ir.Nested(_, lengths, _, _) if domain.parent is not None and domain.parent.is_flat:
            indices, exp = ("j", "s"), substitute(within(lengths, 0), {PLACE.name: ir.Var("j"), ROW.name: ir.Var("s")})
        case _:
            return None
    numbers = tuple([name for name in free_names(exp) if name not in indices])
    names = tuple(map(emitter.fresh, numbers))
    return numbers, ir.Lengths(indices, names, substitute(exp, dict(zip(numbers, map(ir.Var, names), strict=True))))


def offsets_of(emitter: Emitter, space: Domain) -> str:
    """Return the name of the array of the space's offsets."""
    walked = emitter.walked(space)
    if isinstance(walked, ir.Irregular):
        return walked.offsets
    assert space.parent is not None
    parent = space.parent
    return emitter.scan_lengths(parent, lambda: space.length(parent.here().i))
