"""A thunk's interior: the thunk without the decisions that one range of its index settles.

    max(0, e), min(e, n - 1)            e                   where it is no less, or no more
    e mod n, e rem n                    e                   where 0 <= e < n
    if c then e else f                  e, or f             where c holds, or does not
    if 0 <= e and e < n then v[e]       v[e]                where the check holds
      else fail s1

What is wanted of a decision: of min and max the side with the index; of an `if` no failure, else the branch with the
index, or without it where it says how often a fold goes round; else what leaves the greater part
(lambda_cu.borders.ranges). Decisions on data stay, and so do those that change at several places, and those that can
fail.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping
from types import UnionType

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.forms import Form, is_small, minus, moved, number, sign
from nessie.lambda_cu.borders.known import ALL, NONE, ROWS, Known
from nessie.lambda_cu.borders.ranges import Axis, Ranges, bounds
from nessie.lambda_cu.parts import map_children, subexpressions
from nessie.lambda_cu.passes.lets import tidy_expression
from nessie.lambda_cu.scope import can_fail, thunk

Places = tuple[list[Form], list[Form], list[ir.Exp]]     # of an axis
COMPARED = ("<", "<=", ">", ">=", "==", "/=")
SHORT_ROW = 16                  # elements of a row that are not worth an interior


@dataclass(frozen=True)
class Dropped:
    """A decision of an element, and what is there in the interior: an int, or a condition's answer."""
    decision: ir.Exp
    inside: ir.Exp


@dataclass(frozen=True)
class Split:
    """The interior of a SOAC, and why."""
    interior: ir.Interior
    dropped: tuple[Dropped, ...]


def split_of(soac: ir.Map | ir.Reduce, names: Mapping[str, ir.Type], failing: Collection[str]) -> Split | None:
    """The interior of its thunk, if that has decisions that are worth it. `names`: the kernel's parameters; `failing`:
    the scalar functions that can fail."""
    if isinstance(soac.space, ir.Uniform) and isinstance(soac.space.length, int) and soac.space.length < SHORT_ROW:
        return None
    axes = tuple([Axis(ir.Var(param)) for param in axis_indices(soac.thunk)])
    sizes = {ir.Var(type_.size) for type_ in names.values()
             if isinstance(type_, ir.Array) and isinstance(type_.size, str)}
    sizes |= {ir.Var(size) for size in sizes_of(soac.space) if isinstance(size, str)}
    finder = Finder(Ranges(axes, sizes, set(map(of_size, sizes_of(soac.space)))), names, soac.thunk.params, failing)
    body = tidy_expression(finder.inner(soac.thunk.body, ALL), failing)
    if not finder.dropped or not worthwhile(soac.thunk.body, body, finder) or any(map(is_short, axes)):
        return None
    natural = finder.ranges.natural
    *outer, inner = [bounds(axis, of_size(size), natural) for axis, size in zip(axes, extents(soac.space), strict=True)]
    rows = thunk((), ir.Tuple(tuple([item for pair in outer for item in pair.items]))) if outer else None
    range_ = thunk(soac.thunk.params[:-2], inner)
    return Split(ir.Interior(rows, range_, thunk(soac.thunk.params, body)), tuple(finder.dropped))


def axis_indices(of: ir.Thunk) -> tuple[str, ...]:
    """The thunk's parameters that are indices of axes: of segments in several axes those, and the place; else the
    segment and the place, or the flat index."""
    return of.params if len(of.params) == 1 else (*(of.params[:-3] or of.params[:1]), of.params[-2])


def extents(space: ir.Space) -> tuple[ir.Size, ...]:
    """How many indices each axis has; of rows of different lengths, at most."""
    match space:
        case ir.Flat(size):
            return (size,)
        case ir.Uniform():
            return space.axes
    return space.segments, space.total


def sizes_of(space: ir.Space) -> tuple[ir.Size, ...]:
    match space:
        case ir.Flat(size):
            return (size,)
        case ir.Uniform(segments, _, total):
            return segments, total, *space.axes
    return space.segments, space.total


def of_size(size: ir.Size) -> ir.Exp:
    return ir.Const(size, "int") if isinstance(size, int) else ir.Var(size)


def worthwhile(whole: ir.Exp, inside: ir.Exp, finder: Finder) -> bool:
    """Do the decisions take longer than to ask which part an element is in? Those that say what is read keep
    neighbours from being read together, and those of folds keep these from going round together; a division takes long
    itself. What changes with the row only is asked once a row."""
    divided = [sum(isinstance(e, ir.Op) and e.op in ("mod", "rem") for e in subexpressions(exp))
               for exp in (whole, inside)]
    inner = finder.ranges.axes[-1]
    return bool(inner.lows or inner.highs) and (has(ir.Read | ir.Fold, inside) or divided[1] < divided[0])


def is_short(axis: Axis) -> bool:
    """Has its interior a known number of elements, whatever the sizes?"""
    return any(not minus(high, low).terms for high in axis.highs for low in axis.lows)


class Finder(Known):
    """Finds the interior of one thunk. `failing`: the scalar functions that can fail."""

    def __init__(self, ranges: Ranges, names: Mapping[str, ir.Type], params: tuple[str, ...],
                 failing: Collection[str]) -> None:
        super().__init__(ranges, names, params)
        self.failing = failing
        self.counting = False           # a fold's rounds
        self.dropped: list[Dropped] = []

    # Rewriting

    def inner(self, exp: ir.Exp, sure: int) -> ir.Exp:
        """The expression in the interior. `sure`: the elements for which it is surely evaluated."""
        match exp:
            case ir.Let(names, value, body):
                before = self.places()
                value = self.inner(value, sure)
                self.note(names, value, self.still_sure(sure, before))
                return ir.Let(names, value, self.inner(body, sure))
            case ir.Fold(index, count, names, start, body):
                self.counting = True
                count = self.inner(count, sure)
                self.counting = False
                start = self.inner(start, sure)
                self.note_rounds(exp, self.form(count, sure))
                return ir.Fold(index, count, names, start, self.inner(body, NONE))
            case ir.If(condition, then, orelse):
                return self.choice(self.inner(condition, sure), then, orelse, sure)
            case ir.Op(op, (_, _)):
                exp = map_children(exp, lambda part: self.inner(part, sure))
                assert isinstance(exp, ir.Op)
                a, b = exp.arguments
                if op in ("min", "max"):
                    return self.extreme(exp, a, b, sure)
                return self.remainder(exp, a, b, sure) if op in ("mod", "rem") else exp
        return map_children(exp, lambda part: self.inner(part, sure))

    def choice(self, condition: ir.Exp, then: ir.Exp, orelse: ir.Exp, sure: int) -> ir.Exp:
        if can_fail(condition, self.failing):           # one that a let binds stays there
            return ir.If(condition, self.inner(then, NONE), self.inner(orelse, NONE))
        before = self.places()
        if fails(then) != fails(orelse):
            truth = self.settled(condition, fails(orelse), sure)
        else:
            liked = [self.liking(branch, sure) for branch in (then, orelse)]
            truth = self.settled(condition, liked[0] > liked[1], sure) if liked[0] != liked[1] else None
            truth = self.settled(condition, None, sure) if truth is None else truth
        if truth is None or self.joins(condition, then, orelse, before):
            self.back(before)
            return ir.If(condition, self.inner(then, NONE), self.inner(orelse, NONE))
        self.dropped.append(Dropped(self.told(condition), ir.Const(truth, "bool")))
        return self.inner(then if truth else orelse, self.still_sure(sure, before))

    def still_sure(self, sure: int, before: list[Places]) -> int:
        """The elements for which something is surely evaluated of what has been settled since: those of the interior at
        most."""
        now = self.places()
        return sure if now == before else ROWS if now[-1] == before[-1] and sure else NONE

    def joins(self, condition: ir.Exp, then: ir.Exp, orelse: ir.Exp, before: list[Places]) -> bool:
        """Does the condition choose between two arrays, one behind the other, each of which may be long?"""
        asked = self.readable(condition)
        comparison = isinstance(asked, ir.Op) and asked.op in ("<", "<=", ">", ">=")
        if not comparison or not all(self.varies(b) and has(ir.Read, b) for b in (then, orelse)):
            return False
        new = [form for (lows, highs, _), (lows_before, highs_before, _) in zip(self.places(), before, strict=True)
               for form in (*lows[len(lows_before):], *highs[len(highs_before):])]
        return any(form.terms.keys() - self.ranges.extents for form in new)

    def liking(self, branch: ir.Exp, sure: int) -> int:
        """How much the interior should be this branch: most, if it is the index, moved; of numbers of rounds, if it is
        alike for all elements."""
        if self.counting:
            return int(self.is_level(branch, sure))
        form = self.form(branch, sure)
        rises = [] if form is None else [form.multiple(axis.index) for axis in self.ranges.axes]
        return 2 if any(c > 0 for c in rises) else int(self.varies(branch))

    def places(self) -> list[Places]:
        """What has been found so far of each axis."""
        return [(list(axis.lows), list(axis.highs), list(axis.conditions)) for axis in self.ranges.axes]

    def back(self, places: list[Places]) -> None:
        """Forget what has been found since."""
        for axis, (lows, highs, conditions) in zip(self.ranges.axes, places, strict=True):
            axis.lows[:], axis.highs[:], axis.conditions[:] = lows, highs, conditions

    def extreme(self, exp: ir.Op, a: ir.Exp, b: ir.Exp, sure: int) -> ir.Exp:
        """Of min and max: the side that has the index."""
        first, second = self.form(a, sure), self.form(b, sure)
        if first is None or second is None:
            return exp
        places = [next((at for at, axis in enumerate(reversed(self.ranges.axes)) if axis.index in form.terms), None)
                  for form in (first, second)]
        less, more = (first, second) if exp.op == "min" else (second, first)        # less <= more: it is a
        if places[0] == places[1]:
            truth = self.at_most(less, more, True) if sign(minus(more, less), self.ranges.natural) is not None else None
        elif places[1] is None or (places[0] is not None and places[0] < places[1]):
            truth = self.at_most(less, more, True)
        else:                                           # of two equal sides, either will do
            truth = negated(self.at_most(more, less, True))
        if truth is None:
            return exp
        chosen = a if truth else b
        self.dropped.append(Dropped(self.told(exp), self.told(chosen)))
        return chosen

    def at_most(self, a: Form, b: Form, wanted: bool | None, less: int = 0) -> bool | None:
        """Is a <= b - less in the interior? Neither may leave int64."""
        if a == b:
            return less <= 0
        if not is_small(a) or not is_small(b):
            return None
        truth = self.ranges.settle(moved(minus(b, a), -less), wanted)
        if truth is not None:
            self.ranges.ask_small(a)
            self.ranges.ask_small(b)
        return truth

    def remainder(self, exp: ir.Op, a: ir.Exp, b: ir.Exp, sure: int) -> ir.Exp:
        first, second = self.form(a, sure), self.form(b, sure)
        if first is None or second is None or all(axis.index not in first.terms for axis in self.ranges.axes):
            return exp
        before = self.places()
        if self.at_most(number(0), first, True) is not True or self.at_most(first, second, True, 1) is not True:
            self.back(before)
            return exp
        self.dropped.append(Dropped(self.told(exp), self.told(a)))
        return a

    # Conditions

    def settled(self, condition: ir.Exp, wanted: bool | None, sure: int) -> bool | None:
        """Does the condition hold in the interior? None: it is left open."""
        match condition:
            case ir.Const(bool(value)):
                return value
            case ir.Var(name) if name in self.lets:
                return self.settled(self.lets[name], wanted, sure)
            case ir.Op("not", (a,)):
                truth = self.settled(a, None if wanted is None else not wanted, sure)
                return None if truth is None else not truth
            case ir.Op("and" | "or" as op, (a, b)):
                return self.both(op == "and", a, b, wanted, sure)
            case ir.Op(op, (a, b)) if op in COMPARED:
                first, second = self.form(a, sure), self.form(b, sure)
                return None if first is None or second is None else self.compared(op, first, second, wanted)
        return None

    def both(self, conjunction: bool, a: ir.Exp, b: ir.Exp, wanted: bool | None, sure: int) -> bool | None:
        """`and`: both must hold, or one not; `or`: both must not, or one hold."""
        before = self.places()
        truths = []
        for part in (a, b):
            truths.append(self.settled(part, wanted, sure))
            if truths[-1] is (not conjunction):
                return not conjunction
        if truths == [conjunction, conjunction]:
            return conjunction
        self.back(before)
        return None

    def compared(self, op: str, a: Form, b: Form, wanted: bool | None) -> bool | None:
        match op:
            case "<":
                return self.at_most(a, b, wanted, 1)
            case "<=":
                return self.at_most(a, b, wanted)
            case ">":
                return negated(self.at_most(a, b, negated(wanted)))
            case ">=":
                return negated(self.at_most(a, b, negated(wanted), 1))
        equal = self.equal(a, b, wanted if op == "==" else negated(wanted))
        return equal if op == "==" else negated(equal)

    def equal(self, a: Form, b: Form, wanted: bool | None) -> bool | None:
        """Are they equal? Where an index tells them apart, they are not on one side of a place."""
        form = minus(a, b)
        if not form.terms and (a == b or (is_small(a) and is_small(b))):
            self.ranges.ask_small(a)
            return form.number == 0
        if wanted:
            return None
        axis = next((axis for axis in self.ranges.axes if axis.index in form.terms), None)
        if not self.ranges.rounds.keys().isdisjoint(form.terms):
            return None
        if axis is None:
            known = wanted is not None and is_small(a) and is_small(b)
            return self.ranges.ask_not_zero(form) if known else None
        for less, more, at in ((a, b, minus(b, a)), (b, a, form)):      # more is greater, from the place or before it
            begins = at.multiple(axis.index) > 0
            rest = at.without(axis.index)
            at_end = any((c < 0) == begins for c in rest.terms.values())
            if begins != at_end and self.at_most(less, more, True, 1):
                return False
        return None



def negated(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def has(kinds: type[ir.Exp] | UnionType, exp: ir.Exp) -> bool:
    return any(isinstance(e, kinds) for e in subexpressions(exp))


def fails(exp: ir.Exp) -> bool:
    """Does it fail, whatever the element?"""
    match exp:
        case ir.Fail():
            return True
        case ir.Tuple(items):
            return any(map(fails, items))
        case ir.Let(_, value, body):
            return fails(value) or fails(body)
    return False
