"""The lengths of ranges and of `dist`, checked: not negative, and all together as few as sizes count.

A length slope * i + offset is least at element 0 and greatest at the last: its checks are the host's, and the space
of its elements is affine. A length that does not depend on the element is checked by the host, too, and its space is
uniform. Where there are no elements nothing is checked.
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.flatten.contexts import Context
from nessie.flatten.domains import HOST, ZERO, At, Domain, atom_of, expression, op, plus, times
from nessie.flatten.intervals import INTS
from nessie.flatten.ranges import SIZE, exactly
from nessie.flatten.spaces import INT_BITS, TOO_MANY, fits, independent, on_host, regular_length
from nessie.flatten.translator import Translator
from nessie.flatten.values import Scalar, exp_of, pull
from nessie.frontend import mono
from nessie.lambda_cu import ir

SHORT = 2 ** 20             # a range of so many elements can be in every element of any sequence
LengthAt = Callable[[At, Context], ir.Exp]


def regular(t: Translator, domain: Domain, length_at: LengthAt, message: str, exp: mono.Prim) -> Scalar | None:
    """The length over the domain if it is slope * i + offset; not negative."""
    if domain is HOST:
        return None
    emitter = t.emitter
    context = Context(emitter, domain)
    found = regular_length(length_at(domain.here(), context), context)
    if found is None:
        return None
    slope = ir.Const(found[0], "int")
    first = emitter.host().name(expression(found[1], {}), "int", "n")
    some = op("<=", ZERO, first)
    if not emitter.host().ranges.holds(some):
        emitter.require(op("or", op("==", atom_of(domain.size), ZERO), some), message, exp.origin)
    return Scalar(domain, "int", lambda at, c: plus(times(slope, at.i), first))


def enough(length: ir.Exp, domain: Domain, context: Context, exp: mono.Prim) -> ir.Exp:
    """The length, if so many in every element are few enough. Where it does not depend on the element, the space of
    its elements looks to that; and the elements of what there is already have been counted."""
    least, most = context.ranges.interval(length) or INTS
    if domain is not HOST and ((least >= 0 and most <= SHORT) or independent(length, context)
                               or context.noted(context.ranges.defined(length))):
        return length
    return context.check(fits(length, atom_of(domain.size)), length, "int", TOO_MANY, exp.origin)


def note_length(t: Translator, domain: Domain, length: Scalar, length_at: LengthAt | None) -> None:
    """Remember what is known now of a length that the host has checked, and of the scalar that it is."""
    if length.home is not HOST:
        return
    emitter = t.emitter
    atom = exp_of(pull(length, HOST, HOST.here(), emitter.host()))
    if not isinstance(atom, ir.Var):
        return
    known = SIZE
    if length_at is not None:
        context = Context(emitter, domain)
        raw = length_at(domain.here(), context)
        form = context.ranges.form(raw)
        if on_host(form, context):
            known = exactly(form)
        if domain is HOST and isinstance(raw, ir.Var):
            emitter.tables.passed[raw.name] = SIZE
    if atom.name not in emitter.known:
        emitter.know(atom.name, known)
        if domain is not HOST:
            emitter.bits[atom.name] = INT_BITS      # the space of its elements looks to that
