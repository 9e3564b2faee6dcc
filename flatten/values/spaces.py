"""Makes the space of the elements of one sequence per element of a domain, in the form that the lengths allow.

    the lengths                     the space               memory
    do not depend on the element    uniform                 none
    a step polynomial of i          closed                  none; starts and total in closed form (spaces.closed)
    a polynomial of s and j         nested                  none; the same, of rows that are uniform or closed
    those of rows that are dense    the rows' own space     none
    others                          irregular               a scan, of which one total is read

i is the domain's own index; of a domain of rows, s is the row and j the place in it. The host knows what else the
polynomial mentions (flatten.ranges.step_forms).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from nessie.base.source import Origin
from nessie.flatten.ranges.proofs import holds
from nessie.flatten.ranges.ranges import MOST, MOST_BITS, SIZE, Range
from nessie.flatten.ranges.step_forms import step_form
from nessie.flatten.values.closed import require_closed, terms_of
from nessie.flatten.values.contexts import Context, independent
from nessie.flatten.values.domains import (
    HOST,
    ZERO,
    At,
    Domain,
    atom_of,
    expression,
    op,
    segments,
    uniform,
)
from nessie.flatten.values.emitter import Emitter, SpaceMade
from nessie.flatten.values.reasons import MAY_FAIL, reason
from nessie.flatten.values.rows import IN_ROW, by_place, in_row, sums_of_rows
from nessie.flatten.values.values import Sequence, pull, seq_of
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.spaces.closed import about, sum_at
from nessie.lambda_cu.spaces.polynomials import Polynomial, names
from nessie.lambda_cu.spaces.rows import has_row
from nessie.lambda_cu.spaces.steps import PLAIN, NoForm, Steps, on_host_only
from nessie.lambda_cu.spaces.steps import ZERO as NOTHING

INT = "int"
ENOUGH = ir.Const(2 ** 61, INT)
SATURATED = ir.Thunk(("x", "y"), op("min", ir.Op("+", (ir.Var("x"), ir.Var("y"))), ENOUGH))     # sums that never wrap
INT_BITS = 62
NOTHING_PRESUMED: Mapping[str, Range] = {}


def space_for(emitter: Emitter, domain: Domain, length: Callable[[At, Context], ir.Exp]) -> Domain:
    """Return the space of the elements of one sequence per element of the domain. The length cannot fail."""
    if domain is HOST:
        return emitter.host_space(not_negative(emitter.size(length(HOST.here(), emitter.host()))))
    context = Context(emitter, domain)
    bare = length(domain.here(), context)
    exp = context.close(bare)
    key = (domain, exp) if small(exp) else None
    if key in emitter.tables.spaces:
        return emitter.tables.spaces[key]
    space = uniform_space(emitter, domain, exp, context)
    if space is None:
        try:
            space = closed_space(emitter, domain, length_form(length, domain, emitter))
        except NoForm as error:
            emitter.no_form.setdefault(emitter.origin, reason(emitter, domain, error))
            space = irregular_space(emitter, domain, exp)
    space = replace(space, lengths=exp)
    told(emitter, space)
    if key is not None:
        emitter.tables.spaces[key] = space
    return space


def told(emitter: Emitter, space: Domain, argument: str = "") -> None:
    """Record the space, for explanations."""
    why = ""
    if isinstance(space.space, ir.Irregular):
        why = emitter.reasons.get(space.space.offsets) or emitter.no_form.get(emitter.origin, "")
    emitter.made.spaces.append(SpaceMade(emitter.origin, space, why, argument))


def small(exp: ir.Exp) -> bool:
    """Is the expression small enough to compare with others?"""
    return len([None for _, _ in zip(subexpressions(exp), range(40))]) < 40


def uniform_space(emitter: Emitter, domain: Domain, exp: ir.Exp, context: Context) -> Domain | None:
    if scope.can_fail(exp) or not independent(exp, context):
        return None
    return of_one_length(emitter, domain, emitter.size(exp))


def of_one_length(emitter: Emitter, domain: Domain, length: ir.Size, message: str = "") -> Domain:
    length = not_negative(length)
    return uniform(domain, length, product(emitter, length, domain.size, message))


def not_negative(length: ir.Size) -> ir.Size:
    """Return the length, which is negative only where a check of the host fails."""
    return max(0, length) if isinstance(length, int) else length


def length_form(length: Callable[[At, Context], ir.Exp], domain: Domain, emitter: Emitter,
                presumed: Mapping[str, Range] = NOTHING_PRESUMED) -> Steps:
    """Return the step polynomial that the length is; raise NoForm if it has no closed sum. `presumed`: ranges of names
    of the host that the caller checks."""
    context = Context(emitter, domain)
    context.presumed = presumed
    exp = length(domain.here(), context)
    if context.failing:
        raise NoForm(MAY_FAIL)
    form = step_form(context.ranges, exp, emitter.types, emitter.host_part, () if domain.is_flat else IN_ROW)
    if not in_row(form):
        require_closed(form, context.ranges)
    elif domain.form is None or not has_row(domain.space):
        raise NoForm("it is a length by the place in a row, and the rows' own lengths do not rise or fall by a number")
    else:
        require_closed(sums_of_rows(form, domain.form), context.ranges)
    return form


def closed_space(emitter: Emitter, domain: Domain, length: Steps, message: str = "") -> Domain:
    """Return the space of segments whose lengths have a form. It needs neither memory nor a scan. The message is that
    of more elements than there can be."""
    if in_row(length):
        return nested_space(emitter, domain, length, message)
    if on_host_only(length):
        return of_one_length(emitter, domain, emitter.size(expression(length.get(PLAIN, NOTHING))), message)
    terms = terms_of(emitter, domain, length)
    total = counted(emitter, ir.Closed(domain.size, terms, 0), message)
    return segments(domain, ir.Closed(domain.size, terms, total), length)


def formed_space(emitter: Emitter, domain: Domain, length: Callable[[At, Context], ir.Exp], size: ir.Size) -> Domain:
    """Return the space of segments of these lengths, with `size` elements in all, as somebody has checked. Raise NoForm
    if they have no closed sum."""
    form = length_form(length, domain, emitter)
    if in_row(form):
        space: ir.Segmented = row_space(emitter, domain, form, size)
    elif on_host_only(form):
        space = ir.Uniform(domain.size, emitter.size(expression(form.get(PLAIN, NOTHING))), size)
    else:
        space = ir.Closed(domain.size, terms_of(emitter, domain, form), size)
    return segments(domain, space, form)


def nested_space(emitter: Emitter, domain: Domain, length: Steps, message: str) -> Domain:
    """Return the space of segments that are the elements of rows, by the place in a row."""
    assert domain.parent is not None
    space = row_space(emitter, domain, length, 0)
    total = counted(emitter, ir.Closed(domain.parent.size, space.sums, 0), message)
    return segments(domain, replace(space, total=total), length)


def row_space(emitter: Emitter, domain: Domain, length: Steps, total: ir.Size) -> ir.Nested:
    """Return the segments that are the elements of rows, by the place in a row; they have together so many elements."""
    assert domain.space is not None and domain.parent is not None and domain.form is not None
    sums = terms_of(emitter, domain.parent, sums_of_rows(length, domain.form))
    lengths = tuple([ir.Binomial(0, tuple([emitter.size(expression(c)) for c in row])) for row in by_place(length)])
    return ir.Nested(domain.space, lengths, sums, total)


def counted(emitter: Emitter, space: ir.Closed, message: str) -> str:
    """Return the name of the number of elements. Where it is one that sizes count, and about what floats say, it has
    not wrapped."""
    total, near = emitter.host().name(sum_at(space.terms, atom_of(space.segments)), INT, "total"), about(space)
    inside = op("and", op("<=", ZERO, total), op("<=", total, ir.Const(emitter.most, INT)))
    counts: ir.Exp = total
    if not (isinstance(near, ir.Const) and float(near.value) <= MOST and holds(emitter.host().ranges, inside)):
        few = op("and", op("<=", near, ir.Const(2.0 ** 62, "float")), inside)
        counts = ir.If(few, total, ir.Fail(emitter.site(message or emitter.too_many, emitter.origin), INT))
    size = emitter.named(counts, "n")
    emitter.know(size, SIZE)
    return size


def on_host(form: Polynomial, context: Context) -> bool:
    """Are all names of the polynomial the host's?"""
    return all(named in context.emitter.types for named in names(form))


def product(emitter: Emitter, length: ir.Size, segments: ir.Size, message: str = "") -> str:
    """Return the name of length * segments, checked: a product that wraps would size buffers wrongly. The name is fresh
    even where the product equals one of the two, because the names of their numbers tell a space's segments and its
    elements apart."""
    a, b = atom_of(length), atom_of(segments)
    total: ir.Exp = ir.Op("*", (a, b))
    bits = bits_of(emitter, length) + bits_of(emitter, segments)
    if bits > INT_BITS or emitter.most < MOST or not is_counted(emitter, length):
        too_many = ir.Fail(emitter.site(message or emitter.too_many, emitter.origin), INT)
        total, bits = ir.If(fits(a, b, emitter.most), total, too_many), MOST_BITS
    size = emitter.named(total, "n")
    emitter.bits[size] = bits
    emitter.know(size, Range(0, 2 ** bits))
    return size


def bits_of(emitter: Emitter, size: ir.Size) -> int:
    """Return a number of bits such that the size is at most 2 to this power."""
    return size.bit_length() if isinstance(size, int) else emitter.bits.get(size, MOST_BITS)


def is_counted(emitter: Emitter, length: ir.Size) -> bool:
    """Is the length certainly a number of elements that exist somewhere, so at most 2 to the MOST_BITS?"""
    return isinstance(length, int) or (length in emitter.tables.known and emitter.tables.known[length].most <= MOST)


def fits(length: ir.Exp, count: ir.Exp, most: int) -> ir.Exp:
    """Return the test that so many sequences of this length together have no more elements than sizes count."""
    return op("<=", op("*", op("float", length), op("float", count)), ir.Const(float(most), "float"))


def limit_sizes(emitter: Emitter, names: list[ir.Param], origin: Origin) -> None:
    """Check the sizes among the names, which come from outside, against the greatest that the program has."""
    for param in names if emitter.most < MOST else ():
        if param.type == INT and param.name in emitter.tables.known:
            emitter.require(op("<=", ir.Var(param.name), ir.Const(emitter.most, INT)), emitter.too_many, origin)


def irregular_space(emitter: Emitter, domain: Domain, exp: ir.Exp) -> Domain:
    return space_at(emitter, domain, emitter.scan_lengths(domain, lambda: exp, SATURATED))


def space_at(emitter: Emitter, domain: Domain, offsets: str) -> Domain:
    """Return the space of segments with these offsets, which are saturated sums; their last is checked."""
    last = ir.Read(offsets, atom_of(domain.size))
    too_many = ir.Fail(emitter.site(emitter.too_many, emitter.origin), INT)
    few = ir.If(op("<=", last, ir.Const(emitter.most, INT)), last, too_many)
    return emitter.rows(domain, offsets, emitter.named(few, "t"))


def space_of(emitter: Emitter, sequence: Sequence, domain: Domain) -> Domain:
    """The space of the elements of the sequences over the domain."""
    if sequence.dense and sequence.home is domain:
        return sequence.space
    return space_for(emitter, domain, lambda at, c: seq_of(pull(sequence, domain, at, c)).length)
