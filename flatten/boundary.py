"""Values across a boundary (calls, branches of the host, the entry): as lists of names, by their layout.

A sequence crosses as a view: starts and lengths, the payload's size, the payload's own names. A payload that is not
plain arrays (a virtual concatenation, a range not stored yet) is stored first: in place if it is small against
what the views see of it, else compacted; one comparison at run time decides, so a copy never costs more than either.

A sequence whose every source is a parameter's payload (flatten.provenance) crosses as bounds only: the caller knows
the payloads.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from nessie.base.types import Base, Pair, Seq, Type
from nessie.flatten.contexts import Context
from nessie.flatten.domains import HOST, ZERO, At, Domain, atom_of, free_domain
from nessie.flatten.emitter import Emitter
from nessie.flatten.materialise import elements, store, view
from nessie.flatten.provenance import Signature, of_element, of_first, of_second, sequence_signature, shared
from nessie.flatten.ranges import SIZE
from nessie.flatten.scalars import monoid
from nessie.flatten.spaces import space_of
from nessie.flatten.values import (
    Both,
    Leaf,
    Scalar,
    SeqTerm,
    Sequence,
    Term,
    Value,
    constant,
    delayed,
    dense,
    element,
    exp_of,
    join_leaves,
    moved,
    pull,
    seq_of,
    size_of,
    stored,
)
from nessie.lambda_cu import ir, scope

INT = "int"


# What crosses ----------------------------------------------------------------------------------------------


def params_of(emitter: Emitter, type_: Type, domain: Domain, signature: Signature = None,
              hint: str = "a") -> list[ir.Param]:
    """Fresh names, with their types, for a value of this type at the domain."""
    def scalar(base: str, hint: str) -> ir.Param:
        return emitter.declare(hint, base if domain is HOST else ir.Array(base, domain.size))

    match type_:
        case Base(base):
            return [scalar(base, hint)]
        case Pair(first, second):
            return [*params_of(emitter, first, domain, of_first(signature), hint),
                    *params_of(emitter, second, domain, of_second(signature), hint)]
        case Seq(item):
            bounds = [scalar(INT, f"{hint}_start"), scalar(INT, f"{hint}_length")]
            for bound in bounds:
                emitter.know(bound.name, SIZE)
            if shared(signature):
                return bounds
            size = emitter.declare("n", INT)
            inner = params_of(emitter, item, free_domain(size.name), of_element(signature), hint)
            return [*bounds, size, *inner]
    raise TypeError(type_)


# In --------------------------------------------------------------------------------------------------------


def received(params: Iterable[ir.Param]) -> Iterator[ir.Atom]:
    """The names, to be unpacked."""
    return iter([ir.Var(param.name) for param in params])


def unpack(type_: Type, domain: Domain, atoms: Iterator[ir.Atom], signature: Signature = None,
           sources: tuple[Value, ...] = ()) -> Value:
    """The value that crossed as these names and, for sizes and on the host, constants."""
    match type_:
        case Base(base):
            atom = next(atoms)
            return stored(domain, atom.name, base) if isinstance(atom, ir.Var) else constant(atom.value, base)
        case Pair(first, second):
            a = unpack(first, domain, atoms, of_first(signature), sources)
            return Both(a, unpack(second, domain, atoms, of_second(signature), sources))
        case Seq(item):
            start, length = next(atoms), next(atoms)
            if paths := shared(signature):
                return reference(bounds_view(domain, start, length, payloads(sources, paths)), domain)
            size = next(atoms)
            space = free_domain(size.name if isinstance(size, ir.Var) else int(size.value))
            payload = unpack(item, space, atoms, of_element(signature), sources)
            return bounds_view(domain, start, length, (Leaf(space, payload),))
    raise TypeError(type_)


def reference(bounds: Sequence, domain: Domain) -> Value:
    """Bounds into the plain concatenation of several payloads, some of which may be the same."""
    leaves = join_leaves(bounds.leaves)
    if len(leaves) == len(bounds.leaves):
        return bounds

    def term_at(at: At, context: Context) -> Term:
        term = seq_of(pull(bounds, domain, at, context))
        return SeqTerm(moved(term.start, bounds.leaves, leaves, context), term.length, leaves)
    return delayed(domain, term_at, SeqTerm(ZERO, ZERO, leaves))


def payloads(sources: tuple[Value, ...], paths: list[tuple[object, ...]]) -> tuple[Leaf, ...]:
    """The leaves that the paths into the arguments name, one after another."""
    return tuple(leaf for path in paths for leaf in sequence_at(sources, path).leaves)


def sequence_at(sources: tuple[Value, ...], path: tuple[object, ...]) -> Sequence:
    value: Value = sources[int(str(path[0]))]
    for step in path[1:]:
        match value:
            case Both(first, second):
                value = second if step == 1 else first
            case Sequence(leaves=leaves):
                value = leaves[0].value
    assert isinstance(value, Sequence)
    return value


# Out -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Packer:
    """Where what crosses is stored. `sources` are the values whose payloads shared bounds refer to."""
    emitter: Emitter
    sources: tuple[Value, ...] = ()
    hint: str = "a"

    def pack(self, value: Value, type_: Type, domain: Domain, signature: Signature = None) -> list[ir.Atom]:
        """The names that the value crosses in."""
        match value, type_:
            case Both(a, b), Pair(first, second):
                return [*self.pack(a, first, domain, of_first(signature)),
                        *self.pack(b, second, domain, of_second(signature))]
            case Scalar(), Base():
                return [self.name(value, domain)]
            case Sequence(), Seq(item):
                if paths := shared(signature):
                    return self.bounds_into(value, domain, payloads(self.sources, paths))
                return self.sequence(value, item, domain, of_element(signature))
        raise TypeError(type_)

    def name(self, value: Scalar, domain: Domain) -> ir.Atom:
        """One name (on the host, or a constant) for the scalar over exactly this domain."""
        if domain is HOST:
            exp = exp_of(pull(value, HOST, HOST.here(), self.emitter.host()))
            return exp if isinstance(exp, ir.Const) else self.emitter.host().name(exp, value.base, self.hint)
        if value.home is domain and value.name is not None:
            return ir.Var(value.name)
        context = Context(self.emitter, domain)
        exp = exp_of(pull(value, domain, domain.here(), context))
        return ir.Var(store(self.emitter, domain, context, [(exp, value.base)], self.hint)[0])

    def sequence(self, value: Sequence, item: Type, domain: Domain, inner: Signature) -> list[ir.Atom]:
        if (value.dense and value.home is domain) or plain(value):
            leaf = value.leaves[0]
            crossing = [*self.bounds(value, domain), atom_of(leaf.space.size)]
            return crossing + self.pack(leaf.value, item, leaf.space, inner)
        return self.by_size(value, item, domain, inner)

    def bounds(self, value: Sequence, domain: Domain) -> list[ir.Atom]:
        """Start and length over exactly this domain: names there already, or one MAP."""
        if value.home is domain and value.start_name is not None and value.length_name is not None:
            return [ir.Var(value.start_name), ir.Var(value.length_name)]
        if domain is HOST:
            return [self.name(Scalar(HOST, INT, value.start), HOST), self.name(Scalar(HOST, INT, value.length), HOST)]
        context = Context(self.emitter, domain)
        bounds = seq_of(pull(value, domain, domain.here(), context))
        parts = [(bounds.start, INT), (bounds.length, INT)]
        return [ir.Var(name) for name in store(self.emitter, domain, context, parts, self.hint)]

    def bounds_into(self, value: Sequence, domain: Domain, leaves: tuple[Leaf, ...]) -> list[ir.Atom]:
        """Bounds into the plain concatenation of these leaves."""
        def term_at(at: At, context: Context) -> Term:
            term = seq_of(pull(value, domain, at, context))
            return SeqTerm(moved(term.start, term.leaves, leaves, context), term.length, leaves)

        into = delayed(domain, term_at, SeqTerm(ZERO, ZERO, leaves))
        assert isinstance(into, Sequence)
        return self.bounds(into, domain)

    def by_size(self, value: Sequence, item: Type, domain: Domain, inner: Signature) -> list[ir.Atom]:
        """Compact where the views see less than the payload holds; else store the payload as it is."""
        emitter = self.emitter
        held = whole(emitter, value)
        first, second = self.bounds(value, domain)
        view_ = bounds_view(domain, first, second, (held,))

        def compact() -> list[ir.Atom]:
            space = space_of(emitter, view_, domain)
            return self.sequence(dense(domain, space, elements(emitter, view_, space, domain)), item, domain, inner)

        def keep() -> list[ir.Atom]:
            return [first, second, atom_of(held.space.size), *self.pack(held.value, item, held.space, inner)]

        seen = second if domain is HOST else total_length(emitter, second, domain)
        smaller = ir.Op("<=", (seen, atom_of(held.space.size)))
        return choice(emitter, smaller, compact, keep, params_of(emitter, Seq(item), domain, sequence_signature(inner),
                                                                 self.hint))


def choice(emitter: Emitter, condition: ir.Exp, then: Callable[[], list[ir.Atom]], orelse: Callable[[], list[ir.Atom]],
           results: list[ir.Param]) -> list[ir.Atom]:
    """What one of two ways gives; the host decides."""
    test = emitter.host().name(condition, "bool", "smaller")
    blocks = [ir.Block(statements, tuple(atoms)) for atoms, statements in map(emitter.block, (then, orelse))]
    emitter.emit(ir.Branch(tuple(results), test, blocks[0], blocks[1], emitter.origin))
    return [ir.Var(result.name) for result in results]


def bounds_view(domain: Domain, start: ir.Atom, length: ir.Atom, leaves: tuple[Leaf, ...]) -> Sequence:
    """Sequences over the domain whose bounds are these names or, on the host, constants."""
    if isinstance(start, ir.Var) and isinstance(length, ir.Var):
        return view(domain, start.name, length.name, leaves)
    return Sequence(HOST, lambda at, c: start, lambda at, c: length, leaves)


def total_length(emitter: Emitter, lengths: ir.Atom, domain: Domain) -> ir.Atom:
    """The sum of an array of lengths."""
    assert isinstance(lengths, ir.Var)
    total = emitter.declare("t", INT)
    thunk = scope.thunk(("i",), ir.Read(lengths.name, ir.Var("i")))
    emitter.run(ir.Reduce(thunk, (ZERO,), monoid("+"), ir.Flat(domain.size)), [total])
    return ir.Var(total.name)


def plain(value: Sequence) -> bool:
    """Is the payload nothing but arrays, in one piece?"""
    return len(value.leaves) == 1 and arrays_only(value.leaves[0].value, value.space)


def arrays_only(value: Value, space: Domain) -> bool:
    match value:
        case Both(first, second):
            return arrays_only(first, space) and arrays_only(second, space)
        case Scalar(home=home, name=name):
            return home is space and name is not None
        case Sequence(home=home):
            return home is space and (value.dense or value.start_name is not None) and plain(value)
    return False


def whole(emitter: Emitter, value: Sequence) -> Leaf:
    """The payload as one leaf: the virtual concatenation of its leaves."""
    if len(value.leaves) == 1:
        return value.leaves[0]
    space = free_domain(emitter.size(size_of(value.leaves)))

    def term_at(at: At, context: Context) -> Term:
        return element(value.leaves, at.i, context)
    return Leaf(space, delayed(space, term_at, term_at(space.here(), Context(emitter, space))))
