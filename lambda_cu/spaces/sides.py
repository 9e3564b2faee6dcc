"""The sides of a product: what a thunk over several axes takes from its rows and from its columns.

    { (i1, i2, s, j, i) => a[i1 * k + j] * b[j * n + i2] }

        rows        a[i1 * k + j]       is the same in all columns
        columns     b[j * n + i2]       is the same in all rows
        joined      row * column        reads nothing more

The last of the outer axes counts columns, those before it rows. What a side evaluates, with its checks, the thunk
evaluates for each element: so it may be computed once for a row or a column, where there are any.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import EXPRESSIONS, subexpressions
from nessie.lambda_cu.scope import bound_names, can_fail, free_names

ROW, COLUMN, PLACE = "row", "column", "place"
Mentioned = frozenset[str]
LOOKS = (ir.Read, ir.Fail, ir.CallScalar, ir.Fold)


@dataclass(frozen=True)
class Sides:
    """`rows` and `columns`: expressions over the thunk's parameters, by the names that `joined` has for them."""
    rows: Mapping[str, ir.Exp]
    columns: Mapping[str, ir.Exp]
    joined: ir.Exp


class NotJoined(Exception):
    """A part needs both sides, and is more than arithmetic."""


def sides(thunk: ir.Thunk) -> Sides | None:
    """Return the thunk's sides; None where it has no two that read along the segment."""
    *outer, segment, place, index = thunk.params
    if len(outer) < 2:
        return None
    known = {**dict.fromkeys(outer, frozenset({ROW})), outer[-1]: frozenset({COLUMN}), place: frozenset({PLACE}),
             segment: frozenset({ROW, COLUMN}), index: frozenset({ROW, COLUMN, PLACE})}
    parting = Parting(known, Names({*thunk.params, *bound_names(thunk.body), *free_names(thunk.body)}))
    try:
        joined = parting.joined(thunk.body)
    except NotJoined:
        return None
    found = Sides(parting.rows, parting.columns, joined)
    used = {name for side in (found.rows, found.columns) for exp in side.values() for name in bound_names(exp)}
    failing = {name for names, value in parting.lets if can_fail(value) for name in names}
    if not failing <= used or not parting.along(found.rows, ROW) or not parting.along(found.columns, COLUMN):
        return None
    return found


@dataclass
class Parting:
    """`known`: of which of row, column and place names are made; `lets`: those that belong to one side; `both`: the
    names that others bind."""
    known: dict[str, Mentioned]
    names: Names
    both: set[str] = field(default_factory=set)
    lets: list[tuple[tuple[str, ...], ir.Exp]] = field(default_factory=list)
    rows: dict[str, ir.Exp] = field(default_factory=dict)
    columns: dict[str, ir.Exp] = field(default_factory=dict)

    def joined(self, exp: ir.Exp) -> ir.Exp:
        """The expression, evaluated for each element, with names for its sides."""
        made_of = self.made_of(exp)
        if isinstance(exp, ir.Let):
            return self.let(exp)
        if not isinstance(exp, ir.Const | ir.Tuple) and not {ROW, COLUMN} <= made_of:
            return exp if isinstance(exp, ir.Var) and exp.name not in self.known else ir.Var(self.side(exp))
        if isinstance(exp, LOOKS) or (isinstance(exp, ir.If) and any(
                isinstance(part, LOOKS) for branch in (exp.then, exp.orelse) for part in subexpressions(branch))):
            raise NotJoined
        if isinstance(exp, ir.Var) and exp.name in self.known and exp.name not in self.both:
            raise NotJoined
        return EXPRESSIONS.map(exp, self.joined)

    def let(self, exp: ir.Let) -> ir.Exp:
        made_of = self.made_of(exp.value)
        self.known.update(dict.fromkeys(exp.names, made_of))
        if not {ROW, COLUMN} <= made_of:
            self.lets.append((exp.names, exp.value))
            return self.joined(exp.body)
        value = self.joined(exp.value)
        self.both.update(exp.names)
        return ir.Let(exp.names, value, self.joined(exp.body))

    def made_of(self, exp: ir.Exp) -> Mentioned:
        return frozenset().union(*[self.known.get(name, frozenset()) for name in free_names(exp)])

    def side(self, exp: ir.Exp) -> str:
        """The name of what one side gives; with the lets that it needs it stands for itself."""
        side = self.rows if COLUMN not in self.made_of(exp) else self.columns
        for names, value in reversed(self.lets):
            if not set(names).isdisjoint(free_names(exp)):
                exp = ir.Let(names, value, exp)
        for name, other in side.items():
            if other == exp:
                return name
        side[name := self.names.fresh("side")] = exp
        return name

    def along(self, side: Mapping[str, ir.Exp], axis: str) -> bool:
        """Does something of this side read, at places that depend on the axis and on the segment's element?"""
        return any({axis, PLACE} <= self.made_of(exp) and any(isinstance(part, ir.Read) for part in subexpressions(exp))
                   for exp in side.values())
