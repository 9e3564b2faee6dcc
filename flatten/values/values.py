"""Pull values: the values of expressions at a domain, before anything is stored.

A value gives the thread expression of each of its scalars at an index of its home domain. A variable bound further
out is pulled through the parent maps, so nothing is ever replicated. A sequence consists of bounds (start and length,
pulled) and the leaves of its payload: the arrays, or pull values, that hold its elements. The leaves form a virtual
concatenation that takes no memory.

A *term* is a value at one index: an expression, a pair of terms, or a SeqTerm.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from nessie.base.records import KeepsHash, dataclass
from nessie.base.system.forking import cached_property
from nessie.base.types import Base, Pair, Seq, Type, zero_of
from nessie.base.widths import wide
from nessie.flatten.ranges.ranges import SIZE
from nessie.flatten.values.domains import HOST, ZERO, At, Domain, atom_of, minus, plus
from nessie.lambda_cu import nodes as ir

if TYPE_CHECKING:
    from nessie.flatten.values.contexts import Context

Pull = Callable[[At, "Context"], ir.Exp]


@dataclass(eq=False)
class Scalar:
    """`name`: the array over the home (or the host scalar) that holds it, if it is stored."""
    home: Domain
    base: str
    pull: Pull
    name: str | None = None


@dataclass(eq=False)
class Both:
    first: Value
    second: Value


@dataclass(eq=False)
class Leaf:
    """A payload, or a part of one: a value, pulled at indices of `space`."""
    space: Domain
    value: Value

    @cached_property
    def key(self) -> object:
        """A key that is equal for leaves that are the same arrays. A value from further out is seen through the leaf's
        space, so another space makes it another payload."""
        return Key((value_key(self.value, self.space),)) if self.space.size != 0 else EMPTY


@dataclass(frozen=True)
class Key(KeepsHash):
    """The key of a leaf. The keys of the leaves in it are among its parts."""
    parts: tuple[object, ...]


@dataclass(eq=False)
class Sequence:
    """`dense`: the leaf's space is the element space of exactly these bounds, index by index. `covers`: a copy of
    the elements that the sequences of the whole home have would not be smaller than the payload. `even`: they have one
    length, which the host knows."""
    home: Domain
    start: Pull
    length: Pull
    leaves: tuple[Leaf, ...]
    dense: bool = False
    start_name: str | None = None
    length_name: str | None = None
    covers: bool = False
    even: bool = False

    @property
    def space(self) -> Domain:
        return self.leaves[0].space


Value = Scalar | Both | Sequence


@dataclass(frozen=True, eq=False)
class SeqTerm:
    """`whole`: the segment, as an index, if it is one of its leaf's space."""
    start: ir.Exp
    length: ir.Exp
    leaves: tuple[Leaf, ...]
    whole: At | None = None

    def element(self, position: ir.Exp, context: Context) -> Term:
        """Return the element at this position, which is in range."""
        if self.whole is not None:
            return pull(self.leaves[0].value, self.leaves[0].space, self.whole.element(self.start, position), context)
        return element(self.leaves, plus(self.start, position), context)


@dataclass(frozen=True, eq=False)
class PairTerm:
    first: Term
    second: Term


@dataclass(frozen=True, eq=False)
class ScalarTerm:
    exp: ir.Exp
    base: str


Term = ScalarTerm | PairTerm | SeqTerm


# Stored and constant values ------------------------------------------------------------------------------


def constant(value: int | float | bool | str, base: str) -> Scalar:
    return Scalar(HOST, base, lambda at, context: ir.Const(value, wide(base)))


def stored(home: Domain, name: str, base: str) -> Scalar:
    """Return the value that the array `name` over the home, or the host scalar, holds."""
    return Scalar(home, base, name_pull(home, name), name)


def name_pull(home: Domain, name: str) -> Pull:
    if home is HOST:
        return lambda at, context: ir.Var(context.emitter.checked(name))
    return lambda at, context: ir.Read(name, at.i)


def dense(home: Domain, space: Domain, value: Value) -> Sequence:
    """Return the sequences over `home` whose elements, in `space`, are `value`."""
    def start_at(at: At, context: Context) -> ir.Exp:
        start = space.start(at.i)
        if isinstance(start, ir.Op) and start.op == "*" and not any(isinstance(a, ir.Const) for a in start.arguments):
            context.note(start, lambda: SIZE)           # the product of two ints may be any, but not this one
        return start

    return Sequence(home, start_at, lambda at, context: space.length(at.i), (Leaf(space, value),), True)


def empty(type_: Type) -> Value:
    """Return a value of the type that is never read: the element of a sequence that has none."""
    match type_:
        case Base(name):
            return zero(name)
        case Pair(first, second):
            return Both(empty(first), empty(second))
        case Seq(element):
            none = Domain(0, "free", None, ir.Flat(0))
            return Sequence(HOST, lambda at, c: ZERO, lambda at, c: ZERO, (Leaf(none, empty(element)),))
    raise TypeError(type_)


def zero(base: str) -> Scalar:
    return constant(zero_of(base), base)


def zero_at(base: str) -> ir.Const:
    """Return the zero of the type, or of the one with which its values are computed."""
    return ir.Const(zero_of(base), wide(base))


# Pulling -------------------------------------------------------------------------------------------------


def pull(value: Value, domain: Domain, at: At, context: Context) -> Term:
    """Return the value at an index of `domain`, which is its home or a descendant of it."""
    match value:
        case Scalar():
            return ScalarTerm(value.pull(context.climb(domain, value.home, at), context), value.base)
        case Both(first, second):
            return PairTerm(pull(first, domain, at, context), pull(second, domain, at, context))
        case Sequence():
            home = context.climb(domain, value.home, at)
            return SeqTerm(value.start(home, context), value.length(home, context), value.leaves,
                           home if value.dense and value.home is not HOST else None)


def element(leaves: tuple[Leaf, ...], position: ir.Exp, context: Context) -> Term:
    """Return the payload's element at a position of the leaves' concatenation."""
    if len(leaves) == 1:
        return pull(leaves[0].value, leaves[0].space, At(position), context)
    position = context.let(position, "p")
    before, after = leaves[:len(leaves) // 2], leaves[len(leaves) // 2:]
    end = context.let(size_of(before), "e")
    return context.branch(ir.Op("<", (position, end)), lambda inner: element(before, position, inner),
                          lambda inner: element(after, minus(position, end), inner))


def size_of(leaves: tuple[Leaf, ...]) -> ir.Exp:
    size: ir.Exp = ZERO
    for leaf in leaves:
        size = plus(size, atom_of(leaf.space.size))
    return size


def delayed(domain: Domain, term_at: Callable[[At, Context], Term], shape: Term) -> Value:
    """Return the value over `domain` that term_at computes; `shape` is one of its terms. The term is computed once per
    index and thunk, however many of its components are used."""
    def part(path: tuple[int, ...]) -> Callable[[At, Context], Term]:
        def find(at: At, context: Context) -> Term:
            term = context.remember((term_at, at), lambda: term_at(at, context))
            for step in path:
                assert isinstance(term, PairTerm)
                term = (term.first, term.second)[step]
            return term
        return find

    def build(term: Term, path: tuple[int, ...]) -> Value:
        find = part(path)
        match term:
            case ScalarTerm(_, base):
                return Scalar(domain, base, lambda at, context: exp_of(find(at, context)))
            case PairTerm(first, second):
                return Both(build(first, (*path, 0)), build(second, (*path, 1)))
            case SeqTerm():
                return Sequence(domain, lambda at, c: seq_of(find(at, c)).start,
                                lambda at, c: seq_of(find(at, c)).length, term.leaves)
    return build(shape, ())


def exp_of(term: Term) -> ir.Exp:
    assert isinstance(term, ScalarTerm)
    return term.exp


def seq_of(term: Term) -> SeqTerm:
    assert isinstance(term, SeqTerm)
    return term


def rehome(value: Value, old: Domain, new: Domain) -> Value:
    """Return the same elements under the same indices, as elements of another domain of the same size."""
    def home_of(home: Domain, at: At, context: Context) -> At:
        return context.climb(old, home, context.remember((old, at), lambda: At(at.i)))

    match value:
        case Both(first, second):
            return Both(rehome(first, old, new), rehome(second, old, new))
        case Scalar(home) | Sequence(home) if home is HOST:
            return value
        case Scalar(home, base, find, name):
            return Scalar(new, base, lambda at, c: find(home_of(home, at, c), c), name if home is old else None)
        case Sequence(home, start, length):
            names = (value.start_name, value.length_name) if home is old else (None, None)
            return Sequence(new, lambda at, c: start(home_of(home, at, c), c),
                            lambda at, c: length(home_of(home, at, c), c), value.leaves, False, *names, even=value.even)
    raise TypeError(value)


# Joining the payloads of alternatives ----------------------------------------------------------------------


def components(term: Term) -> list[tuple[ir.Exp, str]]:
    """Return the scalars of a term with their types, left to right; a sequence gives its start and length."""
    match term:
        case ScalarTerm(exp, base):
            return [(exp, base)]
        case PairTerm(first, second):
            return [*components(first), *components(second)]
        case SeqTerm(start, length):
            return [(start, "int"), (length, "int")]


def rebuilt(term: Term, exps: Iterator[ir.Exp]) -> Term:
    """Return the term with its scalars replaced, in the order of `components`."""
    match term:
        case ScalarTerm(_, base):
            return ScalarTerm(next(exps), base)
        case PairTerm(first, second):
            return PairTerm(rebuilt(first, exps), rebuilt(second, exps))
        case SeqTerm():
            return SeqTerm(next(exps), next(exps), term.leaves)


EMPTY = "empty"


def value_key(value: Value, space: Domain) -> object:
    match value:
        case Scalar(home, name=name):
            return name or value, None if home is space or home is HOST else space
        case Both(first, second):
            return value_key(first, space), value_key(second, space)
        case Sequence(home):
            seen_from = None if home is space or home is HOST else space
            return value.start_name or value, seen_from, tuple([leaf.key for leaf in value.leaves])


def join_leaves(*groups: tuple[Leaf, ...]) -> tuple[Leaf, ...]:
    """Return one payload for all the groups, with each distinct leaf once. Empty leaves are dropped if there are
    others."""
    if len(groups) > 1 and all(group is groups[0] for group in groups):
        return groups[0]
    unique: dict[object, Leaf] = {}
    for leaf in (leaf for group in groups for leaf in group):
        unique.setdefault(leaf.key, leaf)
    return tuple(leaf for key, leaf in unique.items() if key != EMPTY) or tuple(unique.values())


def moves(old: tuple[Leaf, ...], new: tuple[Leaf, ...]) -> bool:
    """Does a start in the concatenation `old` change in `new`?"""
    return any(a != b for a, b in places(old, new))


def moved(start: ir.Exp, old: tuple[Leaf, ...], new: tuple[Leaf, ...], context: Context) -> ir.Exp:
    """Return a start in the concatenation `old` as a start in `new`."""
    pieces = places(old, new)
    if all(a == b for a, b in pieces):
        return start
    start = context.let(start, "p")
    result = shifted(start, *pieces[-1])
    for (before, after), (following, _) in reversed(list(zip(pieces, pieces[1:]))):
        result = ir.If(ir.Op("<", (start, following)), shifted(start, before, after), result)
    return result


def places(old: tuple[Leaf, ...], new: tuple[Leaf, ...]) -> list[tuple[ir.Exp, ir.Exp]]:
    """Return, for each of the old leaves, its offset in `old` and its offset in `new`."""
    if old is new:
        return []
    offsets: dict[object, ir.Exp] = {EMPTY: ZERO}
    offset: ir.Exp = ZERO
    for leaf in new:
        offsets.setdefault(leaf.key, offset)
        offset = plus(offset, atom_of(leaf.space.size))
    begin: ir.Exp = ZERO
    pieces = []
    for leaf in old:
        pieces.append((begin, offsets[leaf.key]))
        begin = plus(begin, atom_of(leaf.space.size))
    return pieces


def shifted(start: ir.Exp, before: ir.Exp, after: ir.Exp) -> ir.Exp:
    return start if before == after else plus(minus(start, before), after)
