"""Checks the lengths of ranges, of `dist` and of `subseq`: not negative, and no larger than sizes can be.

A length that is a step polynomial of the index is least at an end or beside a place, so the host checks it, and the
space of its elements is closed. The host also checks a length that does not depend on the element; its space is
uniform. Where there are no elements, nothing is checked.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator

from nessie.base.records import dataclass
from nessie.base.source import Origin
from nessie.flatten.ranges.proofs import holds
from nessie.flatten.ranges.ranges import ANY, BOUNDED, COUNTED, DOUBLED, FACTOR, SIZE, Range, exactly, meet
from nessie.flatten.translator import Translator
from nessie.flatten.values.closed import (
    TOO_MANY_ROWS,
    doubles_everywhere,
    least_is_known,
    lengths_at,
    terms_of,
)
from nessie.flatten.values.contexts import Context, where_some
from nessie.flatten.values.domains import HOST, ZERO, At, Domain, op
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.reasons import reason
from nessie.flatten.values.rows import in_row
from nessie.flatten.values.spaces import length_form, on_host
from nessie.flatten.values.values import Scalar, exp_of, pull
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.spaces.polynomials import name as named
from nessie.lambda_cu.spaces.steps import MayWrap, NoForm, Steps
from nessie.mono import nodes as mono

TOO_GREAT = "a length is computed from an int that is greater than 2^61, or less than -2^61"
GREAT_FACTOR = "a length multiplies positions by an int that is greater than 2^31, or less than -2^31"
BEYOND = {BOUNDED: TOO_GREAT, COUNTED: TOO_MANY_ROWS, FACTOR: GREAT_FACTOR}
LengthAt = Callable[[At, Context], ir.Exp]


def regular(t: Translator, domain: Domain, length_at: LengthAt, message: str, exp: mono.Prim) -> Scalar | None:
    """Return the length over the domain, not negative, if the host has checked the same before or it has a closed
    form."""
    emitter = t.emitter
    context: Context = emitter.host() if domain is HOST else Context(emitter, domain)
    length = length_at(domain.here(), context)
    if (checked := emitter.tables.lengths.get(context.ranges.form(length))) is not None:
        return checked
    if domain is HOST or on_host(context.ranges.form(length), context):
        return None
    if checked_form(emitter, domain, length_at, message, exp.origin) is None:
        return None
    return Scalar(domain, "int", lambda at, c: length_at(at, c))


@dataclass(frozen=True)
class Known:
    """A step polynomial whose least value the host knows: it is `surely` not negative, or must be checked, if names of
    the host are in the ranges that are presumed."""
    form: Steps
    presumed: dict[str, Range]
    surely: bool


def checked_form(emitter: Emitter, domain: Domain, length_at: LengthAt, message: str, origin: Origin) -> Steps | None:
    """Return the length's step polynomial, if it has one: the host checks the least length."""
    known = known_form(emitter, domain, length_at, origin)
    if known is None:
        return None
    check(emitter, domain, known, message, origin)
    return known.form


def known_form(emitter: Emitter, domain: Domain, length_at: LengthAt, origin: Origin) -> Known | None:
    """Return the step polynomial that a length is, and what must be presumed for that; None if it is
    none, and the emitter knows why."""
    errors: list[NoForm] = []
    for presumed in presumptions(emitter, domain, length_at):
        try:
            form = length_form(length_at, domain, emitter, presumed)
            context = Context(emitter, domain)
            context.presumed = presumed
            surely = holds(context.ranges, op("<=", ZERO, length_at(domain.here(), context)))
            if not surely and (in_row(form) or not least_is_known(form, context.ranges)):
                raise NoForm("a length may be negative, and it is not known where the least is")
        except NoForm as error:
            errors.append(error)
            continue
        if presumed.get(str(domain.size)) is DOUBLED and not doubles_everywhere(form, context.ranges):
            break
        return Known(form, presumed, surely)
    told = next((error for error in errors if not isinstance(error, MayWrap)), errors[0])
    emitter.no_form[origin] = reason(emitter, domain, told)
    return None


def check(emitter: Emitter, domain: Domain, known: Known, message: str, origin: Origin) -> None:
    """Have the host check that the names in the form are so small that no part of it wraps, then its least value."""
    presume(emitter, domain, known.presumed, origin)
    if not known.surely:
        lengths = lengths_at(emitter, domain.size, terms_of(emitter, domain, known.form))
        check_least(emitter, domain, lengths, message, origin)


def check_least(emitter: Emitter, domain: Domain, lengths: tuple[ir.Exp, ...], message: str, origin: Origin) -> None:
    some = [op("<=", ZERO, length) for length in lengths]
    wrong = [condition for condition in some if not holds(emitter.host().ranges, condition)]
    if wrong:
        emitter.require(where_some(domain, wrong), message, origin)


def presumptions(emitter: Emitter, domain: Domain, length_at: LengthAt) -> Iterator[dict[str, Range]]:
    """Yield the ranges that names of the host must be in for no part of the length to wrap: none; those of ints that
    may be any; that of the domain's size, too, whose indices may be multiplied, by each other or by these ints, or be
    powers of 2."""
    yield {}
    presumed = dict.fromkeys(sorted(wide_names(emitter, domain, length_at)), BOUNDED)
    if presumed:
        yield presumed
    if isinstance(domain.size, str):
        yield {**presumed, domain.size: COUNTED}
        if presumed:
            yield {**dict.fromkeys(presumed, FACTOR), domain.size: COUNTED}
        yield {**presumed, domain.size: DOUBLED}


def presume(emitter: Emitter, domain: Domain, presumed: dict[str, Range], origin: Origin) -> None:
    """Check that the names of the host are in these ranges, if the domain has elements."""
    for name, known in presumed.items():
        low, high = ir.Const(known.least, "int"), ir.Const(known.most, "int")
        small = where_some(domain, [op("<=", low, ir.Var(name)), op("<=", ir.Var(name), high)])
        emitter.require(small, BEYOND.get(known, emitter.too_many), origin)
        emitter.tables.bounded.setdefault(name, {})[domain] = known


def wide_names(emitter: Emitter, domain: Domain, length_at: LengthAt) -> set[str]:
    """Return the ints of the host in the length that may be so large that its parts wrap."""
    context = Context(emitter, domain)
    waiting, found = [length_at(domain.here(), context)], set[str]()
    while waiting:
        for part in subexpressions(waiting.pop()):
            if isinstance(part, ir.Var) and part.name not in found:
                definition = context.look(part.name)
                if isinstance(definition, Range):
                    if part.name in emitter.types and max(-definition.least, definition.most) > BOUNDED.most:
                        found.add(part.name)
                elif definition is not None:
                    waiting.append(definition)
    return found


def enough(length: ir.Exp, context: Context, exp: mono.Prim) -> ir.Exp:
    """Return the length, checked against the greatest size. The space of the elements checks the sum of all lengths."""
    return context.check(op("<=", length, ir.Const(context.emitter.most, "int")), length, "int",
                         context.emitter.too_many, exp.origin)


def note_length(t: Translator, domain: Domain, length: Scalar, length_at: LengthAt | None) -> None:
    """Record the form and the range of the scalar that a checked length of the host is. Nothing may be recorded of its
    operands: kernels that do not need the length may run before the check."""
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
    emitter.know(atom.name, meet(emitter.tables.known.get(atom.name, ANY), known))
