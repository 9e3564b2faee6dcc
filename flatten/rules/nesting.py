"""Rules for flatten and partition: they touch bounds only, unless rows lie apart."""
from __future__ import annotations

from dataclasses import replace

from nessie.flatten.ranges.proofs import holds
from nessie.flatten.rules.checked_scalars import checked_scalar
from nessie.flatten.rules.folding import reduce, scan
from nessie.flatten.rules.lengths import checked_form
from nessie.flatten.translator import Translator, scalar, sequence
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, ZERO, At, Domain, atom_of, composed, minus, op, plus, segments, uniform
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.materialise import elements, solid
from nessie.flatten.values.spaces import closed_space, space_of, told
from nessie.flatten.values.values import (
    Both,
    Leaf,
    Scalar,
    ScalarTerm,
    SeqTerm,
    Sequence,
    Term,
    Value,
    delayed,
    dense,
    exp_of,
    pull,
    rehome,
    seq_of,
)
from nessie.lambda_cu import nodes as ir
from nessie.mono import nodes as mono

APART = "a partition for each element, of part of a sequence, or into as many parts as it has elements"


def flatten(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """Translate flatten. Dense rows get new bounds on their own payload; views are copied, a cost that belongs to
    flatten."""
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
    """Return the items of the rows as elements of the domain's sequences, under the same indices."""
    if domain is HOST:
        space = emitter.host_space(items.size)
        return dense(domain, space, in_rows(emitter, value, items, space))
    space = composed(domain, items.size, lambda s: items.start(rows.start(s)))
    return dense(domain, space, rehome(value, items, space))


def in_rows(emitter: Emitter, value: Value, old: Domain, new: Domain) -> Value:
    """Return the same elements under the same indices of another domain. Dense rows of one length stay such rows."""
    match value:
        case Both(first, second):
            return Both(in_rows(emitter, first, old, new), in_rows(emitter, second, old, new))
        case Sequence(home, dense=True) if home is old and isinstance(value.space.space, ir.Uniform):
            rows = emitter.known_space(uniform(new, value.space.space.length, value.space.size))
            return dense(new, rows, in_rows(emitter, value.leaves[0].value, value.space, rows))
    return rehome(value, old, new)


def flattened_view(outer: Sequence, items: Domain, leaves: tuple[Leaf, ...], domain: Domain) -> Value:
    """Return the items of neighbouring rows selected from dense rows, which are neighbours too."""
    def term_at(at: At, context: Context) -> Term:
        bounds = seq_of(pull(outer, domain, at, context))
        start = context.let(items.start(bounds.start), "p")
        return SeqTerm(start, minus(items.start(plus(bounds.start, bounds.length)), start), leaves)
    return delayed(domain, term_at, SeqTerm(ZERO, ZERO, leaves))


def closed_rows(t: Translator, source: Sequence, space: Domain, raw: Scalar, message: str,
                exp: mono.Prim) -> Domain | None:
    """Return the space of the source's elements in rows of these lengths, if the lengths have a closed form: the rows
    need no bounds, and the host checks that they are as long as the source. Their number of elements is the source's,
    which must not be that of the number of rows, too. Of a source whose size is a number, a part is copied for certain
    (flatten.calls.compaction), and the copy would be computed where it is read: all of the source would stay."""
    size = source.space.size
    if isinstance(size, int) or size == space.size:
        return None

    def length_at(at: At, context: Context) -> ir.Exp:
        return exp_of(pull(raw, space, at, context))

    form = checked_form(t.emitter, space, length_at, message, exp.origin)
    if form is None:
        return None
    rows = closed_space(t.emitter, space, form, message)
    as_long = op("==", atom_of(rows.size), ir.Var(size))
    if not holds(t.emitter.host().ranges, as_long):
        t.emitter.require(as_long, message, exp.origin)
    assert isinstance(rows.space, ir.Uniform | ir.Closed)
    found = segments(space, replace(rows.space, total=size), rows.form)
    told(t.emitter, found)
    return found


def partition(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """Translate partition(v, lengths): bounds only. Where the lengths do not add up, rows are empty, so that code which
    runs before the error is seen reads nothing it must not."""
    emitter = t.emitter
    source, lengths = map(sequence, values)
    message = "Length mismatch in function PARTITION."
    space = space_of(emitter, lengths, domain)
    raw = scalar(elements(emitter, lengths, space, domain))
    if domain is HOST and source.dense and source.home is HOST:
        inner = closed_rows(t, source, space, raw, message, exp)
        if inner is not None:
            return dense(domain, space, dense(space, inner, rehome(source.leaves[0].value, source.space, inner)))

    def checked_at(at: At, context: Context) -> Term:
        length = context.let(exp_of(pull(raw, space, at, context)), "l")
        most = seq_of(pull(source, domain, context.climb(space, domain, at), context)).length
        fits = op("and", op("<=", ZERO, length), op("<=", length, most))        # so that the sum does not wrap
        return ScalarTerm(context.check(fits, length, "int", message, exp.origin), "int")

    sizes = scalar(solid(emitter, delayed(space, checked_at, ScalarTerm(ZERO, "int")), space, "lengths"))
    held = dense(domain, space, sizes)
    starts = scalar(sequence(scan(t, mono.Prim("scan_+", (), exp.type), [held], domain, "starts")).leaves[0].value)
    totals = scalar(reduce(t, mono.Prim("reduce_+", (), exp.type), [held], domain, "total"))

    def right_at(at: At, context: Context) -> Term:
        bounds = seq_of(pull(source, domain, at, context))
        same = op("==", exp_of(pull(totals, domain, at, context)), bounds.length)
        return ScalarTerm(context.check(same, ir.Const(True, "bool"), "bool", message, exp.origin), "bool")

    right = checked_scalar(t, domain, right_at, "right")

    def row_at(at: At, context: Context) -> Term:
        up = context.climb(space, domain, at)
        bounds = seq_of(pull(source, domain, up, context))
        start, length = (exp_of(pull(v, space, at, context)) for v in (starts, sizes))
        return context.branch(exp_of(pull(right, domain, up, context)),
                              lambda c: SeqTerm(plus(bounds.start, start), length, bounds.leaves),
                              lambda c: SeqTerm(ZERO, ZERO, bounds.leaves))

    rows = sequence(solid(emitter, delayed(space, row_at, row_at(space.here(), Context(emitter, space))), space, hint))
    if rows.length_name is not None:
        emitter.reasons[rows.length_name] = emitter.no_form.get(exp.origin, APART)
    return dense(domain, space, rows)
