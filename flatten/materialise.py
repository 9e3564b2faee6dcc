"""Storing pull values: one MAP with several results over a domain, or scalars on the host.

Of a sequence only the bounds are stored, never the payload. What is stored already, is constant, or belongs to a
domain further out, stays as it is.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from nessie.base.types import ZEROS
from nessie.flatten.contexts import Context
from nessie.flatten.domains import HOST, At, Domain, atom_of, irregular, op, plus, uniform
from nessie.flatten.emitter import Emitter
from nessie.flatten.values import (
    Both,
    Leaf,
    PairTerm,
    Pull,
    Scalar,
    ScalarTerm,
    SeqTerm,
    Sequence,
    Term,
    Value,
    components,
    delayed,
    element,
    name_pull,
    pull,
    rebuilt,
    seq_of,
    stored,
)
from nessie.lambda_cu import ir, scope

INT = "int"
TOO_MANY = "The sequences together have more elements than there can be."
MOST_BITS = 48                  # of the size of what takes no memory: days of work, more than a memory holds
INT_BITS = 62


def store(emitter: Emitter, domain: Domain, context: Context, parts: list[tuple[ir.Exp, str]], hint: str) -> list[str]:
    """One MAP over the domain with these results, under the context's bindings."""
    results = [emitter.declare(hint, ir.Array(base, domain.size)) for _, base in parts]
    body = context.result([exp for exp, _ in parts])
    emitter.run(ir.Map(scope.thunk(domain.params, body), emitter.walked(domain)), results)
    return [result.name for result in results]


def run_for_errors(emitter: Emitter, domain: Domain, context: Context) -> None:
    """A MAP over the domain whose one result nobody reads: it checks."""
    store(emitter, domain, context, [(ir.Const(0, INT), INT)], "checked")


def solid(emitter: Emitter, value: Value, domain: Domain, hint: str = "a") -> Value:
    """The value, with all that is computed at this domain stored."""
    if domain is HOST:
        return host_value(emitter, value, hint)
    context = Context(emitter)
    missing: list[tuple[ir.Exp, str]] = []
    note_missing(value, domain, domain.here(), context, missing)
    if not missing:
        return value
    return filled(value, domain, iter(store(emitter, domain, context, missing, hint)))


def is_stored(value: Scalar | Sequence, domain: Domain) -> bool:
    if isinstance(value, Scalar):
        return value.home is not domain or value.name is not None
    return value.home is not domain or value.dense or (value.start_name is not None and value.length_name is not None)


def note_missing(value: Value, domain: Domain, at: At, context: Context, missing: list[tuple[ir.Exp, str]]) -> None:
    """The expressions of what is not stored yet, in the order of `filled`."""
    match value:
        case Both(first, second):
            note_missing(first, domain, at, context, missing)
            note_missing(second, domain, at, context, missing)
        case Scalar() | Sequence() if not is_stored(value, domain):
            missing += components(pull(value, domain, at, context))


def filled(value: Value, domain: Domain, names: Iterator[str]) -> Value:
    """The value with what was missing read from these arrays."""
    match value:
        case Both(first, second):
            return Both(filled(first, domain, names), filled(second, domain, names))
        case Scalar(base=base) if not is_stored(value, domain):
            return stored(domain, next(names), base)
        case Sequence(leaves=leaves) if not is_stored(value, domain):
            start, length = next(names), next(names)
            return view(domain, start, length, leaves)
    return value


def view(domain: Domain, start: str, length: str, leaves: tuple[Leaf, ...]) -> Sequence:
    """Sequences over the domain whose bounds are stored."""
    return Sequence(domain, name_pull(domain, start), name_pull(domain, length), leaves,
                    False, start, length)


def host_value(emitter: Emitter, value: Value, hint: str) -> Value:
    """The value on the host with its scalars bound."""
    match value:
        case Both(first, second):
            return Both(host_value(emitter, first, hint), host_value(emitter, second, hint))
        case Scalar(name=None) | Sequence(dense=False):
            context = emitter.host()
            return from_host_term(emitter, pull(value, HOST, HOST.here(), context), hint)
    return value


def from_host_term(emitter: Emitter, term: Term, hint: str) -> Value:
    """The value that the host's term is, its scalars bound to names."""
    match term:
        case ScalarTerm(exp, base):
            return host_scalar(emitter, exp, base, hint)
        case PairTerm(first, second):
            return Both(from_host_term(emitter, first, hint), from_host_term(emitter, second, hint))
        case SeqTerm(start, length, leaves):
            bounds = host_scalar(emitter, start, INT, hint), host_scalar(emitter, length, INT, hint)
            return Sequence(HOST, bounds[0].pull, bounds[1].pull, leaves, False, bounds[0].name, bounds[1].name)


def host_scalar(emitter: Emitter, exp: ir.Exp, base: str, hint: str) -> Scalar:
    match exp:
        case ir.Const():
            return Scalar(HOST, base, constant_pull(exp))
        case ir.Var(name):
            return stored(HOST, name, base)
    name = emitter.fresh(hint)
    emitter.host_let(name, exp, base)
    return stored(HOST, name, base)


def constant_pull(exp: ir.Const) -> Pull:
    return lambda at, context: exp


# Spaces of sequences ---------------------------------------------------------------------------------------


def space_for(emitter: Emitter, domain: Domain, length: Callable[[At, Context], ir.Exp]) -> Domain:
    """The space of the elements of one sequence per element of the domain: uniform where the length does not depend
    on the element, else irregular, which takes a scan and reads one total. The length cannot fail."""
    if domain is HOST:
        return emitter.host_space(emitter.size(length(HOST.here(), emitter.host())))
    context = Context(emitter)
    exp = context.close(length(domain.here(), context))
    key = (domain, exp) if small(exp) else None
    if key in emitter.tables.spaces:
        return emitter.tables.spaces[key]
    space = uniform_space(emitter, domain, exp) or irregular_space(emitter, domain, exp)
    space = replace(space, lengths=exp)
    if key is not None:
        emitter.tables.spaces[key] = space
    return space


def small(exp: ir.Exp) -> bool:
    """Worth comparing with others?"""
    return len([None for _, _ in zip(scope.subexpressions(exp), range(40))]) < 40


def uniform_space(emitter: Emitter, domain: Domain, exp: ir.Exp) -> Domain | None:
    if scope.reads(exp) or set(scope.free_names(exp)) & set(domain.params) or scope.can_fail(exp):
        return None
    size = emitter.size(exp)
    total = product(emitter, size, domain.size)
    return uniform(domain, size, total)


def product(emitter: Emitter, length: ir.Size, segments: ir.Size) -> str:
    """length * segments, checked: a product that wraps would size buffers wrongly. It has a name of its own even where
    it equals one of the two: a space's segments and its elements are told apart by the names of their numbers."""
    a, b = atom_of(length), atom_of(segments)
    exp: ir.Exp = ir.Op("*", (a, b))
    bits = bits_of(emitter, length) + bits_of(emitter, segments)
    if bits > INT_BITS:
        exp, bits = ir.If(fits(a, b), exp, ir.Fail(emitter.site(TOO_MANY, emitter.origin), INT)), MOST_BITS
    name = emitter.named(exp, "n")
    emitter.bits[name] = bits
    return name


def bits_of(emitter: Emitter, size: ir.Size) -> int:
    """The size is at most 2 to this."""
    return size.bit_length() if isinstance(size, int) else emitter.bits.get(size, MOST_BITS)


def fits(length: ir.Exp, count: ir.Exp) -> ir.Exp:
    """Have so many sequences of this length together as few elements as sizes count?"""
    return op("<=", op("*", op("float", length), op("float", count)), ir.Const(2.0 ** MOST_BITS, "float"))


def irregular_space(emitter: Emitter, domain: Domain, exp: ir.Exp) -> Domain:
    offsets = emitter.scan_lengths(domain, lambda: exp)
    total = emitter.size(ir.Read(offsets, atom_of(domain.size)), "t")
    return irregular(domain, offsets, total)


def space_of(emitter: Emitter, sequence: Sequence, domain: Domain) -> Domain:
    """The space of the elements of the sequences over the domain."""
    if sequence.dense and sequence.home is domain:
        return sequence.space
    return space_for(emitter, domain, lambda at, c: seq_of(pull(sequence, domain, at, c)).length)


def elements(emitter: Emitter, sequence: Sequence, space: Domain, domain: Domain, guarded: bool = False) -> Value:
    """The elements, over `space`, of the sequences over the domain. Guarded: sequences may be shorter than their
    segments of the space, or longer; those are not read. That depends on the segment alone, not on the element."""
    if sequence.dense and sequence.home is domain and sequence.space is space:
        return sequence.leaves[0].value

    def term_at(at: At, context: Context) -> Term:
        up = context.climb(space, domain, at)
        bounds = seq_of(pull(sequence, domain, up, context))
        position = plus(bounds.start, context.within(space, at))
        if not guarded:
            return element(bounds.leaves, position, context)
        shape = element(bounds.leaves, position, Context(emitter, context))
        return context.branch(ir.Op("==", (bounds.length, space.length(up.i))),
                              lambda inner: element(bounds.leaves, position, inner), lambda inner: zeros(shape))
    return delayed(space, term_at, term_at(space.here(), Context(emitter)))


def zeros(term: Term) -> Term:
    """A term of this shape that reads nothing."""
    return rebuilt(term, (ir.Const(ZEROS[base], base) for _, base in components(term)))
