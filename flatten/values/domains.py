"""Domains: the index spaces, with their nesting, over which expressions are evaluated.

A domain is the host (one activation) or the activations of the bodies that actually run, numbered 0 .. size-1.
Its kinds:

    host        one element
    free        the activations of a lifted function; no parent is known
    segments    the elements of one sequence per element of the parent; element i is element j of segment s
    subset      the elements of the parent that take one side of a conditional; up(k) = index[k]
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nessie.base.records import dataclass
from nessie.base.system.forking import cached_property
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import indices, outer_axes
from nessie.lambda_cu.spaces import closed
from nessie.lambda_cu.spaces.polynomials import Polynomial, name, number
from nessie.lambda_cu.spaces.segments import length_at, start_at
from nessie.lambda_cu.spaces.steps import Steps, lift

ZERO, ONE = closed.ZERO, closed.ONE
TRUE = ir.Const(True, "bool")
MOST_AXES = 8                   # of a space; those around them are no axes
INDICES = ("i1", "i2", "i3", "i4", "i5", "i6", "i7", "s", "j", "i")         # the parameters of thunks
BoundsOf = Callable[[ir.Exp], ir.Exp]


@dataclass(frozen=True, eq=False)
class At:
    """An index of a domain as a thread expression; in a segmented walk, also its segment and its position in it.
    `parent`: that segment as an index of the parent, where more is known of it. Indices compare by identity, so that a
    thunk can remember what it computed there."""
    i: ir.Exp
    s: ir.Exp | None = None
    j: ir.Exp | None = None
    parent: At | None = None

    def element(self, start: ir.Exp, j: ir.Exp) -> At:
        """Return element j of the segment that this is, which starts there."""
        return At(plus(start, j), self.i, j, self)


@dataclass(frozen=True, eq=False)
class Domain:
    """`space` is the space that SOACs over the domain walk. It is None on the host, and for segments whose offsets are
    not an array yet (the emitter makes them when a SOAC needs them). `start` and `length` give the bounds of segment s;
    start is also defined at the number of segments. `lengths`: the expression over the parent that gave the lengths;
    `form`: the step polynomial of the segment's number that they are, where the host knows one."""
    size: ir.Size
    kind: str
    parent: Domain | None = None
    space: ir.Space | None = None
    start: BoundsOf = lambda s: ZERO
    length: BoundsOf = lambda s: ZERO
    index: str = ""
    lengths: ir.Exp | None = None
    form: Steps | None = None

    @property
    def params(self) -> tuple[str, ...]:
        """Return the parameters of a thunk over the domain."""
        return ("i",) if self.is_flat else indices(self.space) if self.space is not None else ("s", "j", "i")

    @property
    def is_flat(self) -> bool:
        return self.kind != "segments" or self.parent is HOST

    @cached_property
    def place(self) -> At:
        """The index at which a walk of the domain is, one object: what a thunk has computed there, it computes once."""
        if self is HOST:
            return At(ZERO)
        if self.is_flat:
            return At(ir.Var("i"))
        *outer, s, j, i = map(ir.Var, self.params)
        return At(i, s, j, at_axes(outer, outer_axes(self.space), s) if self.space is not None and outer else None)

    def here(self) -> At:
        return self.place


def at_axes(at: Sequence[ir.Exp], axes: Sequence[ir.Size], i: ir.Exp) -> At:
    """Return index i of several axes, which is at these indices of each."""
    if len(axes) == 2:
        return At(i, at[0], at[1])
    s = at[0]
    for index, size in zip(at[1:-1], axes[1:-1], strict=True):
        s = plus(times(s, atom_of(size)), index)
    return At(i, s, at[-1], at_axes(at[:-1], axes[:-1], s))


HOST = Domain(1, "host")


def free_domain(size: ir.Size) -> Domain:
    return Domain(size, "free", None, ir.Flat(size))


def subset(parent: Domain, size: ir.Size, index: str) -> Domain:
    return Domain(size, "subset", parent, ir.Flat(size), index=index)


def host_child(size: ir.Size) -> Domain:
    """Return the domain of the elements of one sequence on the host."""
    atom = atom_of(size)
    return Domain(size, "segments", HOST, ir.Flat(size), lambda s: times(s, atom), lambda s: atom)


def uniform(parent: Domain, length: ir.Size, total: ir.Size) -> Domain:
    return segments(parent, ir.Uniform(parent.size, length, total), lift(size_form(length)))


def irregular(parent: Domain, offsets: str, total: ir.Size) -> Domain:
    return segments(parent, ir.Irregular(parent.size, offsets, total))


def segments(parent: Domain, space: ir.Segmented, form: Steps | None = None) -> Domain:
    """Return the domain of a space's elements. Axes of constant length, one in another, are those of one space."""
    if isinstance(space, ir.Uniform):
        space = replace(space, outer=axes_of(parent))
    return Domain(space.total, "segments", parent, space, lambda s: start_at(space, s), lambda s: length_at(space, s),
                  form=form)


def axes_of(domain: Domain) -> tuple[ir.Size, ...]:
    """Return the axes of the domain, if it has several, and there may be one more."""
    space = domain.space
    return space.axes if isinstance(space, ir.Uniform) and len(space.axes) < MOST_AXES else ()


def composed(parent: Domain, size: ir.Size, start: BoundsOf) -> Domain:
    """Return segments with known starts and no offsets array (yet)."""
    return Domain(size, "segments", parent, None, start, lambda s: minus(start(plus(s, ONE)), start(s)))


def atom_of(size: ir.Size) -> ir.Atom:
    return ir.Const(size, "int") if isinstance(size, int) else ir.Var(size)


# Index arithmetic: total operators only, so simplification drops nothing that can fail --------------------


plus, minus, times, op = closed.INTS.plus, closed.INTS.minus, closed.INTS.times, closed.op


def inside(index: ir.Exp, length: ir.Exp) -> ir.Exp:
    """0 <= index < length"""
    return op("and", op("<=", ZERO, index), op("<", index, length))


def size_form(size: ir.Size) -> Polynomial:
    return number(size) if isinstance(size, int) else name(size)


def expression(form: Polynomial) -> ir.Exp:
    """Return the polynomial, without a divisor, as an expression of the host."""
    assert form.divisor == 1
    result: ir.Exp = ZERO
    for monomial, c in sorted(form.terms, key=lambda term: (term[1] < 0, -len(term[0]), term[0])):
        product: ir.Exp = closed.INTS.number(abs(c))
        for factor in monomial:
            product = times(product, ir.Var(factor))
        result = plus(result, product) if c > 0 else minus(result, product)
    return result
