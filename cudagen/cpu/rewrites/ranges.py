"""Takes checks of indices out of loops: where all of them hold, a loop makes none.

    for (i = low; i < high; i += 1) {               for (part = 0; part < 3; part += 1) {
      int ix = i + 1;                                 if (part == 1) {
      bool test = ix < n;                               for (i = from; i < to; i += 1) { ... true for test ... }
      if (not(test)) {                       ->       } else {
        failed = min(failed, ...);                      for (i = part == 0 ? low : to; i < (part == 0 ? from : high);
      }                                                      i += 1) { ... as it was ... }
      ...                                             }
    }                                               }

A check that compares the loop's index, moved by something that does not change in the loop, with something that does
not change either, holds in a range of indices. `from` and `to` are where the range of all such checks begins and ends.
Of numbers that are too large to compute with, no check is taken out. A condition is a check, too, if something fixed
takes the place of what is loaded where it holds, or does not: so it is where a walk only counts, and another records
failures. What holds at one index, as where each element is compared with the one before, does not from the next on.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from nessie.base.parts import updated
from nessie.base.records import dataclass
from nessie.cudagen.cpu.checks import records
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops.marks import with_marks
from nessie.cudagen.loops.nodes import (
    Call,
    Const,
    Exp,
    For,
    Function,
    If,
    Let,
    Load,
    Name,
    Op,
    Return,
    Set,
    Stmt,
    Var,
    While,
)
from nessie.cudagen.loops.walk import (
    BODIES,
    all_parts,
    changed_names,
    parts,
    read_names,
    statements,
    with_blocks,
)
from nessie.lambda_cu.ops import TURNED

LARGE = 2**60
OTHERWISE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": ">"}     # what holds where a comparison does not
REST = ".rest"                  # a mark of loops that keep their checks


@dataclass
class Range:
    """What holds: from the greatest of `lows` to before the least of `highs`, if all of `small` are below LARGE."""
    lows: list[Exp]
    highs: list[Exp]
    small: list[Exp]

    def narrow(self, relation: str, moved: Exp, bound: Exp) -> None:
        """Here `index + moved` has this relation to the bound."""
        exact = op("-", bound, moved)
        (self.highs if relation in ("<", "<=") else self.lows).append(
            exact if relation in ("<", ">=") else op("+", exact, integer(1)))
        self.small += [exp for exp in (moved, bound) if not isinstance(exp, Const) or abs(int(exp.value)) >= LARGE]


def in_ranges(function: Function) -> Function:
    """The function, whose loops over a chunk's elements make checks of indices only where one may fail. Those over a
    segment's are perhaps too short."""
    numbers = count()
    return updated(function, body=tuple([changed(s, numbers, 0) for s in function.body]))


def changed(statement: Stmt, numbers: Iterator[int], depth: int) -> Stmt:
    """`depth`: the loops that it stands in."""
    if isinstance(statement, For):
        simple = not any(isinstance(s, For | While | Call | Return) for s in statements(statement.body))
        if simple and depth == 1 and statement.step == integer(1):
            return split(statement, numbers)
        depth += 1
    return BODIES.map(statement, lambda inner: changed(inner, numbers, depth))


def split(loop: For, numbers: Iterator[int]) -> Stmt:
    """The loop in three parts, if there are checks that hold in a range."""
    holds, taken = Range([], [], []), dict[str, bool]()
    checks = checked(loop)
    changing = {loop.index, *changed_names(loop.body)}
    moved: dict[str, Exp] = {loop.index: integer(0)}
    for statement in statements(loop.body):
        if isinstance(statement, Let):
            if (by := moved_by(statement.value, moved, changing)) is not None:
                moved[statement.name] = by
            found = Range([], [], [])
            value = checks.get(statement.name)
            if value is not None and narrows(holding(statement.value, value), moved, changing, found):
                taken[statement.name] = value
                holds = Range(holds.lows + found.lows, holds.highs + found.highs, holds.small + found.small)
    return three_parts(loop, holds, taken, f".p{next(numbers)}") if taken else loop


def checked(loop: For) -> dict[str, bool]:
    """The names of conditions where, if they do not have this value, a failure is recorded, or something fixed is
    taken."""
    found = dict[str, bool]()
    for statement in statements(loop.body):
        match statement:
            case If(Name(name), then, orelse) if records(orelse) or (loads(then) and is_constant(orelse)):
                found[name] = True
            case If(Name(name), then, orelse) if loads(orelse) and is_constant(then):
                found[name] = False
            case If(Op("not", (Name(name),)), then, ()) if records(then):
                found[name] = True
    return found


def holding(condition: Exp, value: bool) -> Exp:
    """A comparison in whose range the condition has this value."""
    match condition:
        case Op(relation, arguments) if not value:
            return Op(OTHERWISE[relation], arguments) if relation in OTHERWISE else Const(False, "bool")
    return condition


def loads(body: tuple[Stmt, ...]) -> bool:
    return any(isinstance(part, Load) for part in all_parts(body))


def is_constant(body: tuple[Stmt, ...]) -> bool:
    return all(isinstance(s, Set) and isinstance(s.value, Const) for s in body)


def moved_by(exp: Exp, moved: dict[str, Exp], changing: set[str]) -> Exp | None:
    """What the expression is above the loop's index, if that does not change in the loop."""
    match exp:
        case Name(name) if name in moved:
            return moved[name]
        case Op("+" | "-" as by, (there, other)) if fixed(other, changing):
            found = moved_by(there, moved, changing)
            return None if found is None else op(by, found, other)
        case Op("+", (other, there)) if fixed(other, changing):
            found = moved_by(there, moved, changing)
            return None if found is None else op("+", other, found)
    return None


def fixed(exp: Exp, changing: set[str]) -> bool:
    return all(isinstance(e, Const) or (isinstance(e, Name) and e.name not in changing)
               or (isinstance(e, Op) and e.op in ("+", "-")) for e in parts(exp))


def narrows(exp: Exp, moved: dict[str, Exp], changing: set[str], holds: Range) -> bool:
    """Is it comparisons that hold in a range? Then that is noted."""
    match exp:
        case Op("and", (a, b)):
            return narrows(a, moved, changing, holds) and narrows(b, moved, changing, holds)
        case Op(relation, (a, b)) if relation in TURNED:
            for one, other, how in ((a, b, relation), (b, a, TURNED[relation])):
                by = moved_by(one, moved, changing)
                if by is not None and fixed(other, changing):
                    holds.narrow(how, by, other)
                    return True
    return False


def three_parts(loop: For, holds: Range, taken: Mapping[str, bool], mark: str) -> For:
    low, high, start, stop, part = [Name(f"{name}{mark}") for name in ("low", "high", "from", "to", "part")]
    greatest: Exp = low
    least: Exp = high
    small: Exp = Const(True, "bool")
    for exp in holds.lows:
        greatest = op("max", greatest, exp)
    for exp in holds.highs:
        least = op("min", least, exp)
    for exp in holds.small:
        small = op("and", small, op("and", op("<", integer(-LARGE), exp), op("<", exp, integer(LARGE))))
    first = op("==", part, integer(0))
    main = replace(loop, low=start, high=stop, body=settled(decided(loop.body, taken)))
    rest = with_marks(replace(loop, low=op("select", first, low, stop), high=op("select", first, start, high)),
                      f"{mark}{REST}")
    return For(part.name, integer(0), integer(3), (
        Let(low.name, "int", loop.low), Let(high.name, "int", op("max", low, loop.high)),
        Let(start.name, "int", op("select", small, op("min", greatest, high), high)),
        Let(stop.name, "int", op("max", start, least)),
        If(op("==", part, integer(1)), (main,), (rest,))))


def decided(body: tuple[Stmt, ...], taken: Mapping[str, bool]) -> tuple[Stmt, ...]:
    """The body, where these conditions have these values."""
    found: list[Stmt] = []
    for statement in body:
        match statement:
            case Let(name) if name in taken:
                found.append(replace(statement, value=Const(taken[name], "bool")))
            case If(Name(name), then, orelse) if name in taken:
                found += decided(then if taken[name] else orelse, taken)
            case If(Op("not", (Name(name),)), then, orelse) if name in taken:
                found += decided(orelse if taken[name] else then, taken)
            case _:
                found.append(with_blocks(statement, lambda inner: decided((inner,), taken)))
    return tuple(found)


def settled(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The body, in which a variable that gets one value always, before it is read, is that value."""
    sets = [s.name for s in statements(body) if isinstance(s, Set)]
    once = {s.name: s.type for s in body if isinstance(s, Var) and sets.count(s.name) == 1}
    found: list[Stmt] = []
    for at, statement in enumerate(body):
        if isinstance(statement, Set) and statement.name in once and statement.name not in read_names(body[:at + 1]):
            found = [s for s in found if not (isinstance(s, Var) and s.name == statement.name)]
            statement = Let(statement.name, once[statement.name], statement.value)
        found.append(statement)
    return tuple(found)
