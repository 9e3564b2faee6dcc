"""What lanes that go along together have in common (skeletons.cpu.neighbours): computed once, not in each.

    for (lane = 0; lane < 16; lane += 1) {            float a_at = a[k];
      int at = j + lane;                              if (k < n and j < n and j + 15 < n) {
      float a_at = a[k];                                for (lane = 0; lane < 16; lane += 1) {
      bool test = k < n and at < n;                       sums[lane] = sums[lane] + a_at * b[j + lane];
      if (test) {                                       }
        sums[lane] = sums[lane] + a_at * b[at];  ->   } else {
      } else {                                          ... as it was ...
        failed = min(failed, i + lane);               }
      }
    }

What changes from a lane to the next by a number is known so well that a comparison holds in all lanes if it does in the
first and in the last.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import reduce

from nessie.base.parts import updated
from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import integer, op, zero
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.nodes import Exp, If, Let, Load, Name, Op, Set, Stmt, Store, Var
from nessie.cudagen.loops.walk import BODIES, EXPRESSIONS, names, parts, read_names, statements
from nessie.cudagen.skeletons.cpu.lanes import LANES

TOGETHER = 2 * LANES            # lanes: two vectors
ALIKE, MOVES = 0, 1             # how a value changes from a lane to the next
FAILED = "failed"


def changes(body: Sequence[Stmt], lane: Name, own: Iterable[str]) -> dict[str, int | None] | None:
    """By how much what has a name changes from a lane to the next; None where that is not known, as of `own` variables
    of each lane. Of other statements than those of elements: None."""
    if not all(isinstance(s, Let | Var | If | Set | Store) for s in statements(body)):
        return None
    moves: dict[str, int | None] = {**dict.fromkeys((FAILED, *own)), lane.name: MOVES}
    known = -1
    while known < len(moves):           # once more where a variable is not alike after all
        known = len(moves)
        note(body, moves, True)
    return moves


def note(body: Sequence[Stmt], moves: dict[str, int | None], alike: bool) -> None:
    """`alike`: all lanes come here together."""
    for statement in body:
        match statement:
            case Let(name, _, value):
                moves[name] = change(value, moves)
            case Var(name, _, value) | Set(name, value):
                if not alike or change(value, moves) != ALIKE:
                    moves[name] = None
            case If(condition, then, orelse):
                for block in (then, orelse):
                    note(block, moves, alike and change(condition, moves) == ALIKE)


def change(exp: Exp, moves: dict[str, int | None]) -> int | None:
    """By how much the value changes from a lane to the next."""
    match exp:
        case Name(name):
            return moves.get(name, ALIKE)
        case Op("+" | "-" as operator, (a, b)):
            first, second = change(a, moves), change(b, moves)
            if first is None or second is None:
                return None
            return first + second if operator == "+" else first - second
        case Op("*", (a, loops.Const(int() as factor))):
            moved = change(a, moves)
            return None if moved is None else moved * factor
        case Op(_, arguments):
            return ALIKE if all(change(a, moves) == ALIKE for a in arguments) else None
        case Load(_, index):
            return ALIKE if change(index, moves) == ALIKE else None
    return ALIKE


def split(body: Sequence[Stmt], lane: Name, own: Iterable[str], fresh: Callable[[str], str]
          ) -> tuple[list[Stmt], list[Stmt]]:
    """What is alike in all lanes, as the first computes it, and the rest, which may read what the former binds."""
    moves = changes(body, lane, own)
    if moves is None:
        return [], list(body)
    alike, varying = parted(body, moves)
    needed = those_needed(read_names(tuple(alike)), {s.name: s for s in varying if isinstance(s, Let)})
    firsts: dict[Exp, Exp] = {lane: integer(0), **{Name(let.name): Name(fresh(let.name)) for let in needed}}
    outer = {s.name for s in alike if isinstance(s, Let | Var)}
    inner = {s.name: s for s in statements(alike) if isinstance(s, Let)
             and s.name in read_names(tuple(varying)) - outer}
    shown = [Var(let.name, let.type, zero(let.type)) for let in inner.values()]
    return [*shown, *[replaced(seen(s, inner), firsts) for s in (*needed, *alike)]], varying


def parted(body: Sequence[Stmt], moves: dict[str, int | None]) -> tuple[list[Stmt], list[Stmt]]:
    alike: list[Stmt] = []
    varying: list[Stmt] = []
    for statement in body:
        match statement:
            case Let(name) | Var(name) | Set(name):
                (alike if moves.get(name, ALIKE) == ALIKE else varying).append(statement)
            case If(condition, then, orelse) if change(condition, moves) == ALIKE:
                halves = zip(parted(then, moves), parted(orelse, moves), strict=True)
                for found, (yes, no) in zip((alike, varying), halves, strict=True):
                    if yes or no:
                        found.append(If(condition, tuple(yes), tuple(no)))
            case _:
                varying.append(statement)
    return alike, varying


def seen(statement: Stmt, names_: dict[str, Let]) -> Stmt:
    """The statement, in which these Lets are of variables."""
    if isinstance(statement, Let) and statement.name in names_:
        return Set(statement.name, statement.value)
    return BODIES.map(statement, lambda inner: seen(inner, names_))


def those_needed(read: Collection[str], lets: dict[str, Let]) -> list[Let]:
    """The lets, in order, that are read, or that these read."""
    needed = {*read} & lets.keys()
    for name in reversed(lets):
        if name in needed:
            needed |= {*names(lets[name].value)} & lets.keys()
    return [let for name, let in lets.items() if name in needed]


def replaced(statement: Stmt, new: Mapping[Exp, Exp]) -> Stmt:
    """The statement, with others for these names, be they bound or read."""
    own = EXPRESSIONS.map(statement, lambda exp: replaced_in(exp, new))
    found = BODIES.map(own, lambda inner: replaced(inner, new))
    name = new.get(Name(found.name)) if isinstance(found, Let) else None
    return updated(found, name=name.name) if isinstance(name, Name) else found


def replaced_in(exp: Exp, new: Mapping[Exp, Exp]) -> Exp:
    return new[exp] if exp in new else EXPRESSIONS.map(exp, lambda part: replaced_in(part, new))


# Where checks hold in all lanes -----------------------------------------------------------------------


@dataclass
class Sure:
    """Takes checks out of what lanes do. `moves`: how names change from a lane to the next; `lets`: what they are bound
    to; `holds`: comparisons that must hold in the first lane and in the last, and whose sides rise or fall between."""
    moves: dict[str, int | None]
    lets: dict[str, Let]
    holds: list[Exp] = field(default_factory=list)

    def taken(self, body: Sequence[Stmt]) -> list[Stmt]:
        """The statements, where what is decided is decided for the side that does not fail."""
        found: list[Stmt] = []
        for statement in body:
            match statement:
                case If(condition, then, orelse) if fails(orelse) or not orelse:
                    if not fails(then) and self.holding(condition):
                        found += self.taken(then)
                        continue
                case If(Op("not", (condition,)), then, ()) if fails(then) and self.holding(condition):
                    continue
            found.append(statement)
        return found

    def holding(self, condition: Exp) -> bool:
        """Is it comparisons that hold in all lanes where they do in the first and in the last? Then that is noted."""
        found = self.compared(condition)
        if found is None or any(isinstance(part, Load) for let in self.needed(found) for part in parts(let.value)):
            return False
        self.holds += [exp for exp in found if exp not in self.holds]
        return True

    def needed(self, exps: Collection[Exp]) -> list[Let]:
        """What the expressions are computed from, in order."""
        return those_needed({name for exp in exps for name in names(exp)}, self.lets)

    def in_all(self, lane: Name, fresh: Callable[[str], str]) -> tuple[list[Stmt], Exp]:
        """What computes whether they hold in all lanes, and whether they do."""
        before: list[Stmt] = []
        ends: list[dict[Exp, Exp]] = []
        for at in (0, TOGETHER - 1):
            needed = self.needed(self.holds)
            ends.append({lane: integer(at), **{Name(let.name): Name(fresh(let.name)) for let in needed}})
            before += [replaced(let, ends[-1]) for let in needed]
        found = [replaced_in(exp, end) for end in ends for exp in self.holds]
        for side in dict.fromkeys(side for exp in self.holds for side in EXPRESSIONS.of(exp)):
            if (moved := change(side, self.moves)) != ALIKE:
                first, last = [replaced_in(side, end) for end in ends]
                found.append(op("<", first, last) if (moved or 0) > 0 else op("<", last, first))
        return before, reduce(lambda a, b: op("and", a, b), dict.fromkeys(found))

    def compared(self, condition: Exp) -> list[Exp] | None:
        match condition:
            case Name(name) if name in self.lets:
                return self.compared(self.lets[name].value)
            case Op("and", (a, b)):
                first, second = self.compared(a), self.compared(b)
                return None if first is None or second is None else [*first, *second]
            case Op("<" | "<=" | ">" | ">=", sides) if all(change(side, self.moves) is not None for side in sides):
                return [condition]
        return [condition] if change(condition, self.moves) == ALIKE else None


def fails(body: Sequence[Stmt]) -> bool:
    return any(isinstance(s, Set) and s.name == FAILED for s in statements(body))
