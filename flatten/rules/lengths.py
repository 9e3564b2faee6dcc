"""Checks the lengths of ranges and of `dist`: not negative, and no larger than sizes can be.

A length slope * i + offset is least at the first element or at the last, so the host checks it, and the space of its
elements is affine. The host also checks a length that does not depend on the element; its space is uniform. Where
there are no elements, nothing is checked.
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.flatten.ranges.proofs import holds
from nessie.flatten.ranges.ranges import SIZE, exactly
from nessie.flatten.translator import Translator
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, ZERO, At, Domain, atom_of, expression, op, plus, times
from nessie.flatten.values.spaces import TOO_MANY, at_last, on_host, regular_length
from nessie.flatten.values.values import Scalar, exp_of, pull
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.polynomials import name as named
from nessie.mono import nodes as mono

LengthAt = Callable[[At, Context], ir.Exp]


def regular(t: Translator, domain: Domain, length_at: LengthAt, message: str, exp: mono.Prim) -> Scalar | None:
    """Return the length over the domain, not negative, if the host has checked the same before or it is slope * i +
    offset.
    """
    emitter = t.emitter
    context: Context = emitter.host() if domain is HOST else Context(emitter, domain)
    length = length_at(domain.here(), context)
    if (checked := emitter.tables.lengths.get(context.ranges.form(length))) is not None:
        return checked
    found = None if domain is HOST else regular_length(length, context)
    if found is None:
        return None
    slope, first = found[0], emitter.host().name(expression(found[1], {}), "int", "n")
    least = first if slope > 0 else expression(at_last(domain, slope, found[1]), {})
    some = op("<=", ZERO, least)
    if not holds(emitter.host().ranges, some):
        emitter.require(op("or", op("==", atom_of(domain.size), ZERO), some), message, exp.origin)
    return Scalar(domain, "int", lambda at, c: plus(times(ir.Const(slope, "int"), at.i), first))


def enough(length: ir.Exp, context: Context, exp: mono.Prim) -> ir.Exp:
    """Return the length, checked against the greatest size. The space of the elements checks the sum of all lengths."""
    return context.check(op("<=", length, ir.Const(context.emitter.most, "int")), length, "int", TOO_MANY, exp.origin)


def note_length(t: Translator, domain: Domain, length: Scalar, length_at: LengthAt | None) -> None:
    """Record the range of the scalar that a checked length of the host is. Nothing may be recorded of its operands:
    kernels that do not need the length may run before the check."""
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
            if domain is HOST:
                emitter.tables.lengths[form] = emitter.tables.lengths[named(atom.name)] = length
                if isinstance(raw, ir.Var) and raw != atom:
                    emitter.tables.checked[raw.name] = atom.name
    if atom.name not in emitter.known:
        emitter.know(atom.name, known)
