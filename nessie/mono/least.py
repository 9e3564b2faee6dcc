"""The few least elements of a sequence: by a reduction whose elements are tuples of the least so far.

    least = Least(names, functions)     makes what functions the program needs, in `made`
    least.positions(v, tuples)          where the least elements of v stand, in stable order; all, if v has less

For k = 2 an element is ((key, position), (key, position)), ascending; what is missing has the position -1 and comes
last. The operator puts each entry of the right tuple, of which a walk has one, behind what is not greater in the left:

    function least (l, r) = if l2 is there and r1 is not less than l2 then l else both(l, r)
    function both (l, r)  = let l = into(l, r1) in if r2 is missing then l else into(l, r2)
    function into (l, x)  = (if x before l1 then x else l1, if x before l1 then l1 else if x before l2 then x else l2)

NaN comes last: an entry is before it, and it is before none.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import Origin
from nessie.base.types import BOOL, INT, Base, Pair, Seq, Type, nest_right, zero_of
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of
from nessie.mono.nodes import Exp
from nessie.mono.walk import let_chain


@dataclass(frozen=True)
class Tuples:
    """Tuples of `count` entries, a key and a position each."""
    key: Base
    position: Base
    count: int
    descending: bool

    @property
    def entry(self) -> Pair:
        return Pair(self.key, self.position)

    @property
    def type(self) -> Type:
        return nest_right([self.entry] * self.count, Pair)

    def nth(self, whole: Exp, n: int) -> Exp:
        """Entry n of the tuple."""
        for _ in range(n):
            whole = mono.Second(whole)
        return whole if n == self.count - 1 else mono.First(whole)

    def alone(self, entry: Exp) -> Exp:
        """The tuple of one entry, which is `missing` for none."""
        return nest_right([entry, *[self.missing] * (self.count - 1)], mono.Pair)

    @property
    def missing(self) -> Exp:
        return mono.Pair(mono.Const(zero_of(self.key.name), self.key), mono.Const(-1, self.position))

    def there(self, entry: Exp) -> Exp:
        return mono.Prim(">=", (mono.Second(entry), mono.Const(0, self.position)), BOOL)

    def before(self, x: Exp, y: Exp) -> Exp:
        """Does x, which is there and later in the sequence, come before y in order?"""
        a, b = mono.First(x), mono.First(y)
        less: Exp = mono.Prim(">" if self.descending else "<", (a, b), BOOL)
        if self.key.name.startswith("float"):
            number, none = mono.Prim("==", (a, a), BOOL), mono.Prim("/=", (b, b), BOOL)
            less = mono.Prim("or", (less, mono.Prim("and", (number, none), BOOL)), BOOL)
        return mono.Prim("or", (mono.Prim("not", (self.there(y),), BOOL), less), BOOL)


@dataclass(frozen=True)
class Least:
    """`names`: for what is bound; `functions`: for functions; `made`: those that were made."""
    names: Names
    functions: Names
    made: list[mono.Function] = field(default_factory=list)
    known: dict[Tuples, str] = field(default_factory=dict)

    def positions(self, v: Exp, tuples: Tuples, origin: Origin) -> Exp:
        """The positions of the first elements of `v`, which has a name, in order."""
        ints = tuples.position
        x, i, p = self.variable("x", tuples.key), self.variable("i", ints), self.variable("p", ints)
        entries = mono.Each(tuples.alone(mono.Pair(x, i)), (mono.Generator(x.name, v),
                            mono.Generator(i.name, indices(v, ints, origin))), origin=origin)
        call = mono.Call(self.fold(tuples, origin), (tuples.alone(tuples.missing), entries), tuples.type, origin=origin)
        whole = self.variable("least", tuples.type)
        listed = mono.Literal(tuple([mono.Second(tuples.nth(whole, n)) for n in range(tuples.count)]), Seq(ints),
                              origin=origin)
        there = mono.Prim(">=", (p, mono.Const(0, ints)), BOOL, origin=origin)
        return mono.Let(whole.name, call, mono.Each(p, (mono.Generator(p.name, listed),), there, origin=origin),
                        origin=origin)

    def fold(self, tuples: Tuples, origin: Origin) -> str:
        """The function that reduces tuples."""
        if tuples in self.known:
            return self.known[tuples]
        name = self.known[tuples] = self.functions.fresh("least")
        operator = self.operator(tuples, origin)
        none, v = self.variable("none", tuples.type), self.variable("v", Seq(tuples.type))
        zero, one, length = mono.Const(0, INT), mono.Const(1, INT), mono.Prim("length", (v,), INT)
        first = mono.Prim("elt", (v, zero), tuples.type, origin=origin)
        others = mono.Prim("subseq", (v, one, length), v.type, origin=origin)
        rest = mono.Call(name, (none, others), tuples.type, origin=origin)
        body = mono.If(mono.Prim("==", (length, zero), BOOL), none,
                       mono.Call(operator, (first, rest), tuples.type, origin=origin))
        self.make(name, (none, v), body, origin, mono.Fold("reduce", operator, neutral=True))
        return name

    def operator(self, tuples: Tuples, origin: Origin) -> str:
        """The function that combines two tuples."""
        left, right = self.variable("l", tuples.type), self.variable("r", tuples.type)
        first, last = tuples.nth(right, 0), tuples.nth(left, tuples.count - 1)
        keys = mono.First(first), mono.First(last)
        late = mono.Prim("<=" if tuples.descending else ">=", keys, BOOL)
        both = mono.Call(self.both(tuples, origin), (left, right), tuples.type, origin=origin)
        body = mono.If(mono.Prim("and", (tuples.there(last), late), BOOL), left, both)
        return self.make("least_of_two", (left, right), body, origin)

    def both(self, tuples: Tuples, origin: Origin) -> str:
        """The function that puts each entry of the right tuple into the left one."""
        into = self.into(tuples, origin)
        left, right = self.variable("l", tuples.type), self.variable("r", tuples.type)

        def more(so_far: Exp, n: int) -> Exp:
            entry = tuples.nth(right, n)
            put = mono.Call(into, (so_far, entry), tuples.type, origin=origin)
            if n == tuples.count - 1:
                return mono.If(tuples.there(entry), put, so_far)
            more_so_far = self.variable("l", tuples.type)
            return mono.If(tuples.there(entry), mono.Let(more_so_far.name, put, more(more_so_far, n + 1)), so_far)

        return self.make("least_of_both", (left, right), more(left, 0), origin)

    def into(self, tuples: Tuples, origin: Origin) -> str:
        """The function that puts an entry, which is there, into a tuple, behind what is not greater."""
        whole, x = self.variable("l", tuples.type), self.variable("x", tuples.entry)
        entries = [tuples.nth(whole, n) for n in range(tuples.count)]
        before = [self.variable("before", BOOL) for _ in entries]
        results: list[Exp] = [mono.If(before[0], x, entries[0])]
        for n in range(1, tuples.count):
            results.append(mono.If(before[n - 1], entries[n - 1], mono.If(before[n], x, entries[n])))
        bound = [(b.name, tuples.before(x, entry)) for b, entry in zip(before, entries, strict=True)]
        return self.make("into_least", (whole, x), let_chain(bound, nest_right(results, mono.Pair)), origin)

    def variable(self, wish: str, type_: Type) -> mono.Var:
        return mono.Var(self.names.fresh(wish), type_)

    def make(self, wish: str, parameters: Sequence[mono.Var], body: Exp, origin: Origin,
             fold: mono.Fold | None = None) -> str:
        name = wish if fold else self.functions.fresh(wish)
        declared = tuple([mono.Parameter(p.name, p.type) for p in parameters])
        self.made.append(mono.Function(name, declared, type_of(body), body, fold, origin=origin))
        return name


def indices(v: Exp, ints: Base, origin: Origin) -> Exp:
    length = mono.Prim("length", (v,), INT, origin=origin)
    return mono.Prim("iseq", (mono.Const(0, ints), mono.Const(1, ints), length), Seq(ints), origin=origin)
