"""The crossing of a value over a boundary (a call, a branch of the host), level by level of its sequences: with their
payloads, or as bounds only where the other side has the payloads already. A sequence of the host, or sequences whose
elements lie one after another, cross without bounds where the other side is made for that: as rows.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.types import Pair, Seq, Type
from nessie.flatten.values.values import Both, Leaf, Sequence, Value, join_leaves
from nessie.lambda_cu import nodes as ir
from nessie.mono.analysis.provenance import Path, Signature, Sources, shared
from nessie.mono.analysis.summaries import Pools


@dataclass(frozen=True, eq=False)
class Within:
    """Sequences that cross as bounds into these payloads, which lie one after another."""
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True, eq=False)
class Carried:
    """Sequences that take their payload along, in so many leaves; `element` says how their elements cross."""
    element: Crossing
    leaves: int = 1


@dataclass(frozen=True, eq=False)
class Rows:
    """Sequences that are all of their payload, one after another: they cross as offsets, on the host as a size, and
    their payload."""
    element: Crossing


Crossing = None | tuple["Crossing", "Crossing"] | Within | Carried | Rows       # None: all payloads are taken along


def of_first(crossing: Crossing) -> Crossing:
    return crossing[0] if isinstance(crossing, tuple) else None


def of_second(crossing: Crossing) -> Crossing:
    return crossing[1] if isinstance(crossing, tuple) else None


def of_element(crossing: Crossing) -> Crossing:
    return crossing.element if isinstance(crossing, Carried | Rows) else None


def leaves_of(crossing: Crossing) -> int:
    return crossing.leaves if isinstance(crossing, Carried) else 1


def as_it_lies(value: Value) -> Crossing:
    """Let all the value's sequences cross as bounds into the payloads that they have."""
    match value:
        case Both(first, second):
            return as_it_lies(first), as_it_lies(second)
        case Sequence(leaves=leaves):
            return Within(leaves)
    return None


def of_values(values: list[Value], named: frozenset[object]) -> Crossing:
    """Return the crossing of a value that is one of these: as bounds where it lies only in payloads with these keys."""
    pairs = [value for value in values if isinstance(value, Both)]
    if pairs and named:
        return of_values([pair.first for pair in pairs], named), of_values([pair.second for pair in pairs], named)
    sequences = [value for value in values if isinstance(value, Sequence)]
    if not sequences or not named:
        return None
    leaves = join_leaves(*[value.leaves for value in sequences])
    if all([leaf.key in named for leaf in leaves]):
        return Within(leaves)
    return Carried(of_values([leaf.value for leaf in leaves], named))


# As planned (mono.analysis.summaries) ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Payloads:
    """The payloads that paths name: those of pools and of what is in them; for other paths, the first payload of a
    value."""
    values: list[Value]
    pools: Mapping[Path, Leaf]

    def __getitem__(self, path: Path) -> Leaf:
        for end in range(1, len(path) + 1) if self.pools else ():
            if path[:end] in self.pools:
                pool = self.pools[path[:end]]
                return pool if end == len(path) else payload_in(pool.value, path[end + 1:])
        return payload_in(self.values[int(path[0])], path[1:])


def payload_in(value: Value, steps: Path) -> Leaf:
    for step in steps:
        match value:
            case Both(first, second):
                value = second if step == 1 else first
            case Sequence(leaves=leaves):
                value = leaves[0].value
    assert isinstance(value, Sequence)
    return value.leaves[0]


# The versions of a function, by what their names have after its own.
PLAIN, LIFTED = "", "^"             # one activation, on the host; all those of a domain at once
SEQUENTIAL, APART = "~", "^apart"   # flatten.calls.apart tells of these
UNDECIDED, NONE = ir.Const(0, "int"), ir.Const(-1, "int")


@dataclass(frozen=True)
class Frame:
    """The function of which a version is being made, and the version's kind. `held`: the keys of the payloads passed to
    it, which live as long as the call. `named`: the keys among them into which its result, or its parameters where it
    calls itself, are bounds. `apart`: the limit up to which activations run apart (flatten.calls.apart)."""
    function: str = ""
    payloads: Payloads = field(default_factory=lambda: Payloads([], {}))
    held: frozenset[object] = frozenset()
    named: frozenset[object] = frozenset()
    kind: str = PLAIN
    apart: ir.Atom = UNDECIDED


def of_result(signature: Signature, payloads: Payloads) -> Crossing:
    """Return a result's crossing: what lies only in payloads that were passed crosses as bounds."""
    match signature:
        case (first, second):
            return of_result(first, payloads), of_result(second, payloads)
        case Sources(_, element):
            if paths := shared(signature):
                return Within(tuple([payloads[path] for path in paths]))
            return Carried(of_result(element, payloads))
    return None


@dataclass(frozen=True)
class Lying:
    """How arguments lie: the paths to sequences that cross as rows, and to those that cross in two leaves."""
    rows: frozenset[Path] = frozenset()
    halves: frozenset[Path] = frozenset()


ANYHOW = Lying()


def of_argument(type_: Type, path: Path, pools: Pools, payloads: Payloads, lying: Lying = ANYHOW) -> Crossing:
    """Return an argument's crossing: what is pooled crosses as bounds, other sequences as they lie."""
    match type_:
        case Pair(first, second) if pools or lying != ANYHOW:
            return (of_argument(first, (*path, 0), pools, payloads, lying),
                    of_argument(second, (*path, 1), pools, payloads, lying))
        case Seq(element) if pools or lying != ANYHOW:
            if path in pools:
                return Within(tuple([payloads[p] for p in pools[path]]))
            inside = of_argument(element, (*path, "e"), pools, payloads, lying)
            return Rows(inside) if path in lying.rows else Carried(inside, 2 if path in lying.halves else 1)
    return None
