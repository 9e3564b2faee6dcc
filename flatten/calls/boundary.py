"""Passes values across a boundary (a call, a branch of the host, the entry) as lists of names, by their layout.

A sequence crosses as a view: starts and lengths, the payload's size, the payload's own names. A payload that is not
plain arrays (a virtual concatenation, a range not stored yet) is stored first: in place if it is small against
what the views see of it, else compacted. One comparison at run time decides, so a copy never costs more than either.

Sequences whose elements lie one after another cross without bounds where the other side takes them so.

A sequence whose payloads the other side knows crosses as bounds only (flatten.calls.crossing). A sequence of the host
lies in just one of several payloads, and is narrowed to that one: a choice of names at run time.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.types import Base, Pair, Seq, Type
from nessie.base.widths import WIDE, wide
from nessie.flatten.calls.crossing import (
    Carried,
    Crossing,
    Frame,
    Rows,
    Within,
    as_it_lies,
    leaves_of,
    of_element,
    of_first,
    of_second,
    of_values,
)
from nessie.flatten.ranges.ranges import SIZE
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, ZERO, At, Domain, atom_of, free_domain, irregular, minus, op
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.materialise import elements, store, view
from nessie.flatten.values.spaces import SATURATED, space_at, space_of
from nessie.flatten.values.values import (
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
    moves,
    pull,
    seq_of,
    size_of,
    stored,
    zero_at,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope

INT = "int"


# Parameters of a boundary --------------------------------------------------------------------------------


def params_of(emitter: Emitter, type_: Type, domain: Domain, crossing: Crossing = None,
              hint: str = "a") -> list[ir.Param]:
    """Declare fresh names, with their types, for a value of this type at the domain."""
    def scalar(base: str, hint: str) -> ir.Param:
        return emitter.declare(hint, wide(base) if domain is HOST else ir.Array(base, domain.size))

    match type_:
        case Base(base):
            return [scalar(base, hint)]
        case Pair(first, second):
            return [*params_of(emitter, first, domain, of_first(crossing), hint),
                    *params_of(emitter, second, domain, of_second(crossing), hint)]
        case Seq(item) if isinstance(crossing, Rows):
            offsets = [] if domain is HOST else [emitter.declare(f"{hint}_offsets", ir.Array(INT, domain.size, 1))]
            params = offsets + params_of_leaf(emitter, item, crossing.element, hint)
            for known in params[:len(offsets) + 1]:
                emitter.know(known.name, SIZE)
            return params
        case Seq(item):
            bounds = [scalar(INT, f"{hint}_start"), scalar(INT, f"{hint}_length")]
            for bound in bounds:
                emitter.know(bound.name, SIZE)
            if isinstance(crossing, Within):
                return bounds
            leaves = [params_of_leaf(emitter, item, of_element(crossing), hint) for _ in range(leaves_of(crossing))]
            return bounds + [param for leaf in leaves for param in leaf]
    raise TypeError(type_)


def params_of_leaf(emitter: Emitter, item: Type, crossing: Crossing, hint: str) -> list[ir.Param]:
    """Declare fresh names for a payload: its size, then its elements."""
    size = emitter.declare("n", INT)
    return [size, *params_of(emitter, item, free_domain(size.name), crossing, hint)]


def nothing_for(emitter: Emitter, params: list[ir.Param]) -> list[ir.Atom]:
    """Return the atoms that cross where there are no elements: sizes 0, arrays of no elements."""
    atoms: list[ir.Atom] = []
    sizes = {param.name for param in params if not isinstance(param.type, ir.Array)}
    for param in params:
        if not isinstance(param.type, ir.Array):
            atoms.append(ir.Const(0, INT))
            continue
        base, size = param.type.base, param.type.size
        if size in sizes:
            atoms.append(ir.Var(emitter.data(ir.Array(base, 0), ())))
        else:
            held = emitter.declare("none", param.type)
            zero = zero_at(base)
            thunk = scope.thunk(("i",), op(base, zero) if base in WIDE else zero)
            emitter.run(ir.Map(thunk, ir.Flat(size)), [held])
            atoms.append(ir.Var(held.name))
    return atoms


# In --------------------------------------------------------------------------------------------------------


def received(params: Iterable[ir.Param]) -> Iterator[ir.Atom]:
    """Return the parameters' names as atoms, to be unpacked."""
    return iter([ir.Var(param.name) for param in params])


def unpack(emitter: Emitter, type_: Type, domain: Domain, atoms: Iterator[ir.Atom], crossing: Crossing = None) -> Value:
    """Rebuild the value that crossed as these names and, for sizes and on the host, constants."""
    if isinstance(crossing, Rows):
        assert isinstance(type_, Seq)
        return unpack_rows(emitter, type_.element, domain, atoms, crossing)
    match type_:
        case Base(base):
            atom = next(atoms)
            return stored(domain, atom.name, base) if isinstance(atom, ir.Var) else constant(atom.value, base)
        case Pair(first, second):
            a = unpack(emitter, first, domain, atoms, of_first(crossing))
            return Both(a, unpack(emitter, second, domain, atoms, of_second(crossing)))
        case Seq(item):
            start, length = next(atoms), next(atoms)
            if isinstance(crossing, Within):
                return reference(bounds_view(domain, start, length, crossing.leaves), domain)
            leaves = [unpack_leaf(emitter, item, atoms, of_element(crossing)) for _ in range(leaves_of(crossing))]
            return bounds_view(domain, start, length, tuple(leaves))
    raise TypeError(type_)


def unpack_leaf(emitter: Emitter, item: Type, atoms: Iterator[ir.Atom], crossing: Crossing = None) -> Leaf:
    """Rebuild the payload that crossed: its size, then its elements."""
    space = free_domain(size_in(next(atoms)))
    return Leaf(space, unpack(emitter, item, space, atoms, crossing))


def unpack_rows(emitter: Emitter, item: Type, domain: Domain, atoms: Iterator[ir.Atom], crossing: Rows) -> Value:
    """Rebuild sequences that crossed as offsets, on the host as a size, and their payload."""
    if domain is HOST:
        space = emitter.host_space(size_in(next(atoms)))
    else:
        offsets, size = next(atoms), next(atoms)
        assert isinstance(offsets, ir.Var)
        space = irregular(domain, offsets.name, size_in(size))
    return dense(domain, space, unpack(emitter, item, space, atoms, crossing.element))


def size_in(atom: ir.Atom) -> ir.Size:
    return atom.name if isinstance(atom, ir.Var) else int(atom.value)


def reference(bounds: Sequence, domain: Domain) -> Value:
    """Rewrite bounds into the plain concatenation of several payloads, some of which may be the same."""
    leaves = join_leaves(bounds.leaves)
    if len(leaves) == len(bounds.leaves):
        return bounds

    def term_at(at: At, context: Context) -> Term:
        term = seq_of(pull(bounds, domain, at, context))
        return SeqTerm(moved(term.start, bounds.leaves, leaves, context), term.length, leaves)
    return delayed(domain, term_at, SeqTerm(ZERO, ZERO, leaves))


def in_one_leaf(packer: Packer, value: Value, type_: Type) -> Value:
    """Narrow what a call of the host returned. A sequence that lies in several payloads is narrowed to its own, unless
    the payloads must stay known by their names."""
    match value, type_:
        case Both(a, b), Pair(first, second):
            return Both(in_one_leaf(packer, a, first), in_one_leaf(packer, b, second))
        case Sequence(), Seq(item) if not all([leaf.key in packer.frame.named for leaf in value.leaves]):
            return packer.narrowed(value, item)
    return value


# Out -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Packer:
    """Packs values for a crossing, in the frame of a function; it stores what must be stored."""
    emitter: Emitter
    hint: str = "a"
    frame: Frame = field(default_factory=Frame)

    def pack(self, value: Value, type_: Type, domain: Domain, crossing: Crossing = None) -> list[ir.Atom]:
        """Return the names in which the value crosses."""
        match value, type_:
            case Both(a, b), Pair(first, second):
                return [*self.pack(a, first, domain, of_first(crossing)),
                        *self.pack(b, second, domain, of_second(crossing))]
            case Scalar(), Base(base):
                return [self.name(value, domain, base)]
            case Sequence(), Seq(item):
                if isinstance(crossing, Within):
                    return self.bounds_into(value, domain, crossing.leaves)
                if isinstance(crossing, Rows):
                    return self.rows(value, item, domain, crossing)
                if leaves_of(crossing) > 1:
                    return [*self.bounds(value, domain),
                            *(atom for leaf in value.leaves for atom in self.leaf(leaf, item, of_element(crossing)))]
                return self.sequence(value, item, domain, of_element(crossing))
        raise TypeError(type_)

    def name(self, value: Scalar, domain: Domain, base: str) -> ir.Atom:
        """Return one name (on the host, or a constant) for the scalar of this type over exactly this domain."""
        if domain is HOST:
            exp = exp_of(pull(value, HOST, HOST.here(), self.emitter.host()))
            return exp if isinstance(exp, ir.Const) else self.emitter.host().name(exp, base, self.hint)
        if value.home is domain and value.name is not None and holds_type(self.emitter, value.name, base):
            return ir.Var(value.name)
        context = Context(self.emitter, domain)
        exp = exp_of(pull(value, domain, domain.here(), context))
        return ir.Var(store(self.emitter, domain, context, [(exp, base)], self.hint)[0])

    def sequence(self, value: Sequence, item: Type, domain: Domain, inner: Crossing) -> list[ir.Atom]:
        if not ((value.dense and value.home is domain) or plain(value, inner)):
            held = domain is HOST and all([leaf.key in self.frame.held for leaf in value.leaves])
            value = self.narrowed(value, item) if held and len(value.leaves) > 1 else self.by_size(value, item, domain)
        return [*self.bounds(value, domain), *self.leaf(value.leaves[0], item, inner)]

    def rows(self, value: Sequence, item: Type, domain: Domain, crossing: Rows) -> list[ir.Atom]:
        """Return offsets, on the host none, and the payload."""
        assert value.dense and value.home is domain
        space = value.space.space
        offsets: list[ir.Atom] = [ir.Var(space.offsets)] if isinstance(space, ir.Irregular) else []
        assert (domain is HOST) == (not offsets)
        return [*offsets, *self.leaf(value.leaves[0], item, crossing.element)]

    def leaf(self, leaf: Leaf, item: Type, crossing: Crossing = None) -> list[ir.Atom]:
        """The payload's size, then its elements."""
        return [atom_of(leaf.space.size), *self.pack(leaf.value, item, leaf.space, crossing)]

    def bounds(self, value: Sequence, domain: Domain) -> list[ir.Atom]:
        """Return start and length over exactly this domain: names that exist already, or one MAP."""
        if value.home is domain and value.start_name is not None and value.length_name is not None:
            return [ir.Var(value.start_name), ir.Var(value.length_name)]
        if domain is HOST:
            return [self.name(Scalar(HOST, INT, bound), HOST, INT) for bound in (value.start, value.length)]
        context = Context(self.emitter, domain)
        bounds = seq_of(pull(value, domain, domain.here(), context))
        parts = [(bounds.start, INT), (bounds.length, INT)]
        return [ir.Var(name) for name in store(self.emitter, domain, context, parts, self.hint)]

    def bounds_into(self, value: Sequence, domain: Domain, leaves: tuple[Leaf, ...]) -> list[ir.Atom]:
        """Return bounds into the plain concatenation of these leaves."""
        if not moves(value.leaves, leaves):
            return self.bounds(value, domain)

        def term_at(at: At, context: Context) -> Term:
            term = seq_of(pull(value, domain, at, context))
            return SeqTerm(moved(term.start, term.leaves, leaves, context), term.length, leaves)

        return self.bounds(bounds_of(delayed(domain, term_at, SeqTerm(ZERO, ZERO, leaves))), domain)

    def narrowed(self, value: Sequence, item: Type) -> Sequence:
        """Return a sequence of the host as part of the one payload that it lies in. Nothing is copied."""
        if len(value.leaves) == 1:
            return value
        emitter = self.emitter
        start, length = self.bounds(value, HOST)
        first, rest = value.leaves[0], value.leaves[1:]
        size = atom_of(first.space.size)
        inside = of_values([leaf.value for leaf in value.leaves], self.frame.named)

        def before() -> list[ir.Atom]:
            return self.sequence(bounds_view(HOST, start, length, (first,)), item, HOST, inside)

        def after() -> list[ir.Atom]:
            begin = emitter.host().name(minus(start, size), INT, self.hint)
            return self.sequence(self.narrowed(bounds_view(HOST, begin, length, rest), item), item, HOST, inside)

        results = params_of(emitter, Seq(item), HOST, Carried(inside), self.hint)
        crossing = choice(emitter, op("<", start, size), before, after, results)
        return bounds_of(unpack(emitter, Seq(item), HOST, iter(crossing), Carried(inside)))

    def by_size(self, value: Sequence, item: Type, domain: Domain) -> Sequence:
        """Return the sequences with one payload, stored except for the payloads of its elements. It is compacted where
        the views see less than the payload holds; else, and where they are known to cover it, it stays as it is."""
        emitter = self.emitter
        held = whole(emitter, value)
        first, second = self.bounds(value, domain)
        view_ = bounds_view(domain, first, second, (held,))
        inside = as_it_lies(held.value)

        def keep() -> list[ir.Atom]:
            return [first, second, *self.leaf(held, item, inside)]

        if value.covers and value.home is domain:
            return bounds_of(unpack(emitter, Seq(item), domain, iter(keep()), Carried(inside)))
        seen, space_seen = seen_of(emitter, view_, domain)

        def compact() -> list[ir.Atom]:
            space = space_seen()
            return self.sequence(dense(domain, space, elements(emitter, view_, space, domain)), item, domain, inside)

        smaller = ir.Op("<", (seen, atom_of(held.space.size)))
        results = params_of(emitter, Seq(item), domain, Carried(inside), self.hint)
        crossing = choice(emitter, smaller, compact, keep, results)
        return bounds_of(unpack(emitter, Seq(item), domain, iter(crossing), Carried(inside)))


def holds_type(emitter: Emitter, array: str, base: str) -> bool:
    """Are the array's elements of exactly this type?"""
    type_ = emitter.types[array]
    return isinstance(type_, ir.Array) and type_.base == base


def choice(emitter: Emitter, condition: ir.Exp, then: Callable[[], list[ir.Atom]], orelse: Callable[[], list[ir.Atom]],
           results: list[ir.Param]) -> list[ir.Atom]:
    """Emit a branch of the host between two ways, and return its results."""
    test = emitter.host().name(condition, "bool", "smaller")
    blocks = [ir.Block(statements, tuple(atoms)) for atoms, statements in map(emitter.block, (then, orelse))]
    emitter.emit(ir.Branch(tuple(results), test, blocks[0], blocks[1], origin=emitter.origin))
    return [ir.Var(result.name) for result in results]


def bounds_view(domain: Domain, start: ir.Atom, length: ir.Atom, leaves: tuple[Leaf, ...]) -> Sequence:
    """Return sequences over the domain whose bounds are these names or, on the host, constants."""
    if isinstance(start, ir.Var) and isinstance(length, ir.Var):
        return view(domain, start.name, length.name, leaves)
    return Sequence(HOST, lambda at, c: start, lambda at, c: length, leaves)


def seen_of(emitter: Emitter, view_: Sequence, domain: Domain) -> tuple[ir.Exp, Callable[[], Domain]]:
    """Return how many elements sequences with stored bounds have together, and what makes the space of these. Under a
    domain the number is the last of the offsets, which the space has, too."""
    length = seq_of(pull(view_, domain, domain.here(), Context(emitter, domain))).length
    if domain is HOST:
        return length, lambda: space_of(emitter, view_, domain)
    offsets = emitter.scan_lengths(domain, lambda: length, SATURATED)
    return ir.Read(offsets, atom_of(domain.size)), lambda: space_at(emitter, domain, offsets)


def bounds_of(value: Value) -> Sequence:
    assert isinstance(value, Sequence)
    return value


def plain(value: Sequence, inner: Crossing = None) -> bool:
    """Is the payload nothing but arrays, in one piece? `inner` says how its elements cross; the payloads of what
    crosses as bounds do not count."""
    return len(value.leaves) == 1 and all_arrays(value.leaves[0], inner)


def all_arrays(leaf: Leaf, crossing: Crossing = None) -> bool:
    return arrays_only(leaf.value, leaf.space, crossing)


def arrays_only(value: Value, space: Domain, crossing: Crossing) -> bool:
    match value:
        case Both(first, second):
            return arrays_only(first, space, of_first(crossing)) and arrays_only(second, space, of_second(crossing))
        case Scalar(home=home, name=name):
            return home is space and name is not None
        case Sequence(home=home):
            if home is not space or not (value.dense or value.start_name is not None):
                return False
            return isinstance(crossing, Within) or plain(value, of_element(crossing))
    return False


def whole(emitter: Emitter, value: Sequence) -> Leaf:
    """Return the payload as one leaf: the virtual concatenation of its leaves."""
    if len(value.leaves) == 1:
        return value.leaves[0]
    space = free_domain(emitter.size(size_of(value.leaves)))

    def term_at(at: At, context: Context) -> Term:
        return element(value.leaves, at.i, context)
    return Leaf(space, delayed(space, term_at, term_at(space.here(), Context(emitter, space))))
