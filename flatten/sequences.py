"""The sequence primitives at a domain: one rule each, (translator, primitive, argument values, domain, hint) -> value.

What only selects (subseq, rows of a gather, flatten of dense rows) shares payloads and computes bounds; ranges and
dist take no memory until they are kept.
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.types import Base, Seq
from nessie.flatten.contexts import Context
from nessie.flatten.domains import HOST, ONE, ZERO, At, Domain, composed, inside, minus, op, plus, times
from nessie.flatten.emitter import Emitter
from nessie.flatten.materialise import (
    elements,
    solid,
    space_for,
    space_of,
)
from nessie.flatten.scalars import identity, monoid
from nessie.flatten.translate import Translator, Values, both, scalar, sequence
from nessie.flatten.values import (
    Leaf,
    Scalar,
    ScalarTerm,
    SeqTerm,
    Sequence,
    Term,
    Value,
    constant,
    delayed,
    dense,
    element,
    empty,
    exp_of,
    pull,
    rehome,
    seq_of,
    stored,
)
from nessie.frontend import mono
from nessie.lambda_cu import ir, scope

Rule = Callable[[Translator, mono.Prim, "list[Value]", Domain, str], Value]


# Building --------------------------------------------------------------------------------------------------


def constants(t: Translator, values: tuple[int | float | bool | str, ...], base: str) -> Sequence:
    """A literal sequence of constants: data, the same for every element of every domain."""
    space = t.emitter.host_space(len(values))
    value: Value = stored(space, t.emitter.data(values, base), base) if values else empty(Base(base))
    return dense(HOST, space, value)


def literal(t: Translator, exp: mono.Literal, env: Values, domain: Domain, hint: str) -> Value:
    """[e1, ..., ek]: uniform segments of k elements; rows are bounds into the rows' payloads."""
    assert isinstance(exp.type, Seq)
    if not exp.elements:
        return dense(HOST, t.emitter.host_space(0), empty(exp.type.element))
    if all(isinstance(e, mono.Const) for e in exp.elements):
        assert isinstance(exp.type.element, Base)
        return constants(t, tuple(e.value for e in exp.elements if isinstance(e, mono.Const)), exp.type.element.name)
    values = [t(e, env, domain, hint) for e in exp.elements]
    space = space_for(t.emitter, domain, lambda at, c: ir.Const(len(values), "int"))

    def term_at(at: At, context: Context) -> Term:
        up, j = context.climb(space, domain, at), context.within(space, at)

        def choose(k: int, inner: Context) -> Term:
            if k == len(values) - 1:
                return pull(values[k], domain, up, inner)
            return inner.branch(op("==", j, ir.Const(k, "int")), lambda c: pull(values[k], domain, up, c),
                                lambda c: choose(k + 1, c))
        return choose(0, context)

    value = delayed(space, term_at, term_at(space.here(), Context(t.emitter)))
    return dense(domain, space, solid(t.emitter, value, space, hint))


def dist(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """dist(a, n): the payload is a itself, seen from each element."""
    count = checked_scalar(t, domain, scalar(values[1]), lambda n: op("<=", ZERO, n), "Bounds error for function DIST.",
                           exp)
    space = space_for(t.emitter, domain, lambda at, c: exp_of(pull(count, domain, at, c)))
    return dense(domain, space, values[0])


def iseq(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """iseq(s, d, e): a range, computed where it is read."""
    start, stride, end = map(scalar, values)
    message = "In [s:e:l], e must be >= to s, and l must be positive."

    def length_at(at: At, context: Context) -> Term:
        s, d, e = (exp_of(pull(v, domain, at, context)) for v in (start, stride, end))
        d, s = context.let(d, "d"), context.let(s, "s0")
        extent = minus(e, s)
        length = extent if d == ONE else op("/", minus(plus(extent, d), ONE), d)
        if ascending(exp, s, d, e):
            return ScalarTerm(length, "int")
        right = op("<=", s, e) if d == ONE else op("and", op("<=", s, e), op("<", ZERO, d))
        return context.guard(right, lambda inner: ScalarTerm(length, "int"), message, exp.origin)

    length = settled(t, domain, length_at, "n")
    space = space_for(t.emitter, domain, lambda at, c: exp_of(pull(length, domain, at, c)))

    def term_at(at: At, context: Context) -> Term:
        up, j = context.climb(space, domain, at), context.within(space, at)
        step = times(j, exp_of(pull(stride, domain, up, context)))
        return ScalarTerm(plus(exp_of(pull(start, domain, up, context)), step), "int")

    return dense(domain, space, delayed(space, term_at, ScalarTerm(ZERO, "int")))


def ascending(exp: mono.Prim, start: ir.Exp, stride: ir.Exp, end: ir.Exp) -> bool:
    """Can the check of a range not fail? [0:#v] and constants."""
    if not isinstance(start, ir.Const) or stride != ONE:
        return False
    if isinstance(end, ir.Const):
        return int(start.value) <= int(end.value)
    last = exp.arguments[2]
    return int(start.value) <= 0 and isinstance(last, mono.Prim) and last.name == "length"


def append(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """a ++ b: one MAP; of rows only the bounds."""
    a, b = map(sequence, values)

    def bounds(at: At, context: Context) -> tuple[SeqTerm, SeqTerm]:
        return seq_of(pull(a, domain, at, context)), seq_of(pull(b, domain, at, context))

    def length_at(at: At, context: Context) -> ir.Exp:
        x, y = bounds(at, context)
        return plus(x.length, y.length)

    space = space_for(t.emitter, domain, length_at)

    def term_at(at: At, context: Context) -> Term:
        x, y = bounds(context.climb(space, domain, at), context)
        j, middle = context.let(context.within(space, at), "j"), context.let(x.length, "m")
        return context.branch(op("<", j, middle), lambda c: element(x.leaves, plus(x.start, j), c),
                              lambda c: element(y.leaves, plus(y.start, minus(j, middle)), c))

    value = delayed(space, term_at, term_at(space.here(), Context(t.emitter)))
    return dense(domain, space, solid(t.emitter, value, space, hint))


# Reducing and scanning -------------------------------------------------------------------------------------


def reduce(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    operator = exp.name.removeprefix("reduce_")
    space, thunk, base = walked_elements(t, sequence(values[0]), domain)
    result = t.emitter.declare(hint, base if domain is HOST else ir.Array(base, domain.size))
    t.emitter.run(ir.Reduce(thunk, (identity(operator, base),), monoid(operator), t.emitter.walked(space)), [result])
    return stored(domain, result.name, base)


def scan(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    operator = exp.name.removeprefix("scan_")
    space, thunk, base = walked_elements(t, sequence(values[0]), domain)
    result = t.emitter.declare(hint, ir.Array(base, space.size))
    t.emitter.run(ir.Scan(thunk, (identity(operator, base),), monoid(operator), t.emitter.walked(space)), [result])
    return dense(domain, space, stored(space, result.name, base))


def walked_elements(t: Translator, source: Sequence, domain: Domain) -> tuple[Domain, ir.Thunk, str]:
    """The elements of sequences of scalars, as a thunk over their space."""
    space = space_of(t.emitter, source, domain)
    value = scalar(elements(t.emitter, source, space, domain))
    context = Context(t.emitter)
    body = context.result([exp_of(pull(value, space, space.here(), context))])
    return space, scope.thunk(space.params, body), value.base


def order(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """The library's stable sort gives flat positions; NESL's are positions in the segment."""
    space, thunk, _ = walked_elements(t, sequence(values[0]), domain)
    result = t.emitter.declare(hint, ir.Array("int", space.size))
    t.emitter.run(ir.Order(thunk, t.emitter.walked(space), exp.name == "order_down"), [result])
    flat = stored(space, result.name, "int")
    if domain is HOST:
        return dense(domain, space, flat)

    def term_at(at: At, context: Context) -> Term:
        return ScalarTerm(minus(ir.Read(result.name, at.i), space.start(context.climb(space, domain, at).i)), "int")
    return dense(domain, space, delayed(space, term_at, ScalarTerm(ZERO, "int")))


# Moving ----------------------------------------------------------------------------------------------------


def get(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """v -> i"""
    source, indices = map(sequence, values)
    space = space_of(t.emitter, indices, domain)
    index = scalar(elements(t.emitter, indices, space, domain))

    def term_at(at: At, context: Context) -> Term:
        bounds = seq_of(pull(source, domain, context.climb(space, domain, at), context))
        ix = context.let(exp_of(pull(index, space, at, context)), "ix")
        return context.guard(inside(ix, bounds.length), lambda c: element(bounds.leaves, plus(bounds.start, ix), c),
                             "Index out of bounds for function ->.", exp.origin)

    value = delayed(space, term_at, term_at(space.here(), Context(t.emitter)))
    return dense(domain, space, solid(t.emitter, value, space, hint))


def write(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """d <- ps: the greatest position among the pairs that name a place wins it, then every place is pulled: one rule
    for every type, and the last write wins whatever the order of execution."""
    emitter = t.emitter
    target, pairs = map(sequence, values)
    target_space, pair_space = space_of(emitter, target, domain), space_of(emitter, pairs, domain)
    olds = elements(emitter, target, target_space, domain)
    pair = both(elements(emitter, pairs, pair_space, domain))
    at, context = pair_space.here(), Context(emitter)
    up = context.climb(pair_space, domain, at)
    ix = context.let(exp_of(pull(pair.first, pair_space, at, context)), "ix")
    site = emitter.site("Index out of bounds for function <-.", exp.origin)
    nowhere = ir.Let((emitter.fresh("bad"),), ir.Fail(site, "int"), ir.Const(-1, "int"))
    place = ir.If(inside(ix, target_space.length(up.i)), plus(target_space.start(up.i), ix), nowhere)
    winner = emitter.declare("winner", ir.Array("int", target_space.size))
    number, target_of = (scope.thunk(pair_space.params, body) for body in (at.i, context.result([place])))
    emitter.run(ir.Permute(number, target_of, emitter.walked(pair_space), target_space.size, (ir.Const(-1, "int"),),
                           "max"), [winner])

    def term_at(at: At, context: Context) -> Term:
        source = context.let(ir.Read(winner.name, at.i), "w")
        return context.branch(op("<=", ZERO, source), lambda c: pull(pair.second, pair_space, At(source), c),
                              lambda c: pull(olds, target_space, at, c))

    value = delayed(target_space, term_at, term_at(target_space.here(), Context(emitter)))
    return dense(domain, target_space, solid(emitter, value, target_space, hint))


# Nesting ---------------------------------------------------------------------------------------------------


def flatten(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """Of dense rows: new bounds on the rows' own payload. Of views: a copy, whose cost is flatten's."""
    outer = sequence(values[0])
    rows = outer.leaves[0].value
    if len(outer.leaves) == 1 and isinstance(rows, Sequence) and rows.dense and rows.home is outer.space:
        space = rows.space
        if outer.dense and outer.home is domain:
            return joined_rows(t.emitter, outer.space, space, domain, rows.leaves[0].value)
        return flattened_view(outer, space, rows.leaves, domain)
    space = space_of(t.emitter, outer, domain)
    row = sequence(solid(t.emitter, elements(t.emitter, outer, space, domain), space, hint))
    items = space_of(t.emitter, row, space)
    copy = solid(t.emitter, elements(t.emitter, row, items, space), items, hint)
    return joined_rows(t.emitter, space, items, domain, copy)


def joined_rows(emitter: Emitter, rows: Domain, items: Domain, domain: Domain, value: Value) -> Value:
    """The items of the rows as elements of the domain's sequences: the same indices."""
    if domain is HOST:
        space = emitter.host_space(items.size)
    else:
        space = composed(domain, items.size, lambda s: items.start(rows.start(s)))
    return dense(domain, space, rehome(value, items, space))


def flattened_view(outer: Sequence, items: Domain, leaves: tuple[Leaf, ...], domain: Domain) -> Value:
    """Neighbouring rows selected from dense rows: their items are neighbours too."""
    def term_at(at: At, context: Context) -> Term:
        bounds = seq_of(pull(outer, domain, at, context))
        start = context.let(items.start(bounds.start), "p")
        return SeqTerm(start, minus(items.start(plus(bounds.start, bounds.length)), start), leaves)
    return delayed(domain, term_at, SeqTerm(ZERO, ZERO, leaves))


def partition(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """partition(v, lengths): bounds only. Where the lengths do not add up, rows are empty, so that what runs before
    the error is seen reads nothing it must not."""
    emitter = t.emitter
    source, lengths = map(sequence, values)
    message = "Length mismatch in function PARTITION."
    space = space_of(emitter, lengths, domain)
    raw = scalar(elements(emitter, lengths, space, domain))

    def checked_at(at: At, context: Context) -> Term:
        length = context.let(exp_of(pull(raw, space, at, context)), "l")
        return ScalarTerm(context.check(op("<=", ZERO, length), length, "int", message, exp.origin), "int")

    sizes = scalar(solid(emitter, delayed(space, checked_at, ScalarTerm(ZERO, "int")), space, "lengths"))
    held = dense(domain, space, sizes)
    starts = scalar(sequence(scan(t, mono.Prim("scan_+", (), exp.type), [held], domain, "starts")).leaves[0].value)
    totals = scalar(reduce(t, mono.Prim("reduce_+", (), exp.type), [held], domain, "total"))

    def right_at(at: At, context: Context) -> Term:
        bounds = seq_of(pull(source, domain, at, context))
        same = op("==", exp_of(pull(totals, domain, at, context)), bounds.length)
        return ScalarTerm(context.check(same, ir.Const(True, "bool"), "bool", message, exp.origin), "bool")

    right = settled(t, domain, right_at, "right")

    def row_at(at: At, context: Context) -> Term:
        up = context.climb(space, domain, at)
        bounds = seq_of(pull(source, domain, up, context))
        start, length = (exp_of(pull(v, space, at, context)) for v in (starts, sizes))
        return context.branch(exp_of(pull(right, domain, up, context)),
                              lambda c: SeqTerm(plus(bounds.start, start), length, bounds.leaves),
                              lambda c: SeqTerm(ZERO, ZERO, bounds.leaves))

    rows = delayed(space, row_at, row_at(space.here(), Context(emitter)))
    return dense(domain, space, solid(emitter, rows, space, hint))


# Helpers ---------------------------------------------------------------------------------------------------


def settled(t: Translator, domain: Domain, term_at: Callable[[At, Context], Term], hint: str) -> Scalar:
    """A scalar over the domain; stored if it can fail."""
    if domain is HOST:
        context = t.emitter.host()
        exp = context.let(exp_of(term_at(HOST.here(), context)), hint)
        base = t.emitter.base_of(exp, {})
        return constant(exp.value, base) if isinstance(exp, ir.Const) else Scalar(HOST, base, lambda at, c: exp)
    trial = Context(t.emitter)
    value = delayed(domain, term_at, term_at(domain.here(), trial))
    return scalar(solid(t.emitter, value, domain, hint) if trial.failing else value)


def checked_scalar(t: Translator, domain: Domain, value: Scalar, holds: Callable[[ir.Exp], ir.Exp], message: str,
                   exp: mono.Prim) -> Scalar:
    """The scalar, checked over the domain; zero after a failure."""
    def term_at(at: At, context: Context) -> Term:
        found = context.let(exp_of(pull(value, domain, at, context)), "n")
        if isinstance(found, ir.Const) and int(found.value) >= 0:
            return ScalarTerm(found, value.base)
        return ScalarTerm(context.check(holds(found), found, value.base, message, exp.origin), value.base)
    return settled(t, domain, term_at, "n")


RULES: dict[str, Rule] = {
    "dist": dist, "iseq": iseq, "append": append, "get": get, "write": write, "flatten": flatten,
    "partition": partition, "order": order, "order_down": order,
    **{f"reduce_{operator}": reduce for operator in ("+", "*", "max", "min", "and", "or", "xor")},
    **{f"scan_{operator}": scan for operator in ("+", "*", "max", "min", "and", "or", "xor")},
}
