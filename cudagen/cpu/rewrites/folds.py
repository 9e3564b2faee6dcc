"""Folds of neighbouring elements go round together, in lanes: LLVM makes vectors of lanes, not of a fold's rounds.

    for (i = low; i < high; i += 1) {               for (strip = low; strip < whole; strip += 32) {
      var float x = 0.0;                              for (lane = 0; lane < 32; lane += 1) { x.lanes[lane] = 0.0; }
      for (j = 0; j < count; j += 1) {                for (j = 0; j < count; j += 1) {
        x = x + xs[i + j];                   ->         for (lane = 0; lane < 32; lane += 1) {
      }                                                   int i = strip + lane;
                                                          x.lanes[lane] = x.lanes[lane] + xs[i + j];
      out[i] = x;                                       }
    }                                                 }
                                                      for (lane = 0; lane < 32; lane += 1) {
                                                        int i = strip + lane;  out[i] = x.lanes[lane];
                                                      }
                                                    }
                                                    then eight at a time, and what is left of the loop as it was

Rounds add up floats one after another, so that a fold alone waits for each addition. Each lane computes what its
element did alone, in the same order: the same bits. What is alike in all lanes is computed once. What stands between
two folds becomes a loop over the lanes; an int that such a loop needs of an earlier one is computed again, all else
lies in an array meanwhile, which LLVM keeps in registers.

A loop is taken whose folds all go round equally often, and which reads neighbours at neighbouring places: an interior
(skeletons.cpu.interiors) does, its borders do not. What changes outside of the element is changed between two folds
only, by elements in their order. A loop over eight lanes (skeletons.cpu.lanes) is one strip.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from itertools import count

from nessie.base.parts import updated
from nessie.base.records import dataclass
from nessie.cudagen.cpu.rewrites.held import FAILED
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.kernels.thunks import COSTLY
from nessie.cudagen.loops.marks import all_marked, marked, with_marks
from nessie.cudagen.loops.nodes import Exp, For, Function, If, Let, Load, Name, Op, Set, Shared, Stmt, Store, Var
from nessie.cudagen.loops.walk import (
    all_parts,
    blocks,
    bound_names,
    expressions,
    names,
    parts,
    read_names,
    statements,
    with_blocks,
)
from nessie.cudagen.skeletons.cpu.lanes import LANES

STRIPS = (4 * LANES, LANES)     # elements at a time: enough additions that do not wait for each other; what is left
LARGEST = 150                   # operators of a loop, which is there several times
ALIKE, MOVES = 0, 1             # how a value changes from one element to the next: not, by one; else it is not known

Run = tuple[Stmt, ...]          # statements without folds


@dataclass(frozen=True)
class Fold:
    """A loop, or a condition, that is alike in all lanes: what is in its blocks."""
    statement: For | If
    blocks: dict[str, tuple[Run | Fold, ...]]


Parts = tuple[Run | Fold, ...]


def in_lanes(function: Function) -> Function:
    """The function, whose loops over elements do the folds of neighbours together."""
    if function.kind != "host":
        return function
    rewriter = Rewriter()
    body = tuple([new for s in function.body for new in rewriter.changed(s)])
    return updated(function, body=(*rewriter.arrays, *body)) if rewriter.arrays else function


@dataclass
class Rewriter:
    """`arrays`: what holds values of lanes."""
    arrays: list[Shared] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def changed(self, statement: Stmt) -> list[Stmt]:
        if isinstance(statement, For) and (found := Elements.of(statement)) is not None:
            return self.strips(found)
        return [with_blocks(statement, self.changed)]

    def strips(self, elements: Elements) -> list[Stmt]:
        loop, mark = elements.loop, f".f{next(self.numbers)}"
        if loop.low == integer(0) and loop.high == integer(LANES):
            return self.strip(elements, LANES, mark, integer(0))
        high, begin = Name(f"high{mark}"), Name(f"begin{mark}")
        found: list[Stmt] = [Let(begin.name, "int", loop.low), Let(high.name, "int", op("max", begin, loop.high))]
        for width in STRIPS:
            first, whole = Name(f"strip{mark}.{width}"), Name(f"whole{mark}.{width}")
            eights = op("and", op("-", high, begin), integer(-width))
            body = self.strip(elements, width, f"{mark}.{width}", first)
            found += [Let(whole.name, "int", op("+", begin, eights)),
                      For(first.name, begin, whole, tuple(body), integer(width))]
            begin = whole
        return [*found, with_marks(replace(loop, low=begin, high=high), f"{mark}.rest")]

    def strip(self, elements: Elements, width: int, mark: str, first: Exp) -> list[Stmt]:
        """So many elements at a time, from this one on."""
        writer = Strip(elements, width, mark, first)
        body = writer.body(elements.parts)
        self.arrays += [Shared(writer.array(name), type_, width) for name, type_ in writer.kept.items()]
        bound = {*elements.alike, *[f.statement.index for f in folds(elements.parts) if isinstance(f.statement, For)]}
        return list(all_marked_of(tuple(body), bound, mark))


# What may be done in lanes -------------------------------------------------------------------------


@dataclass
class Elements:
    """A loop over elements with folds in it. `moves`: how names change from an element to the next; `alike`: names
    that the loop binds, alike in all elements; `lets`: others that are computed again where they are needed."""
    loop: For
    parts: Parts
    moves: dict[str, int | None]
    alike: set[str]
    lets: dict[str, Let]
    types: dict[str, str]

    @staticmethod
    def of(loop: For) -> Elements | None:
        """The loop, if it can be done in lanes."""
        inside = list(statements(loop.body))
        if loop.step != integer(1) or not any(isinstance(s, For) for s in inside) or not all(
                isinstance(s, Let | Var | Set | If | For | Store) for s in inside):
            return None
        if loop.low == integer(0) and not any(isinstance(s, Store) for s in inside):
            return None                                 # a fold
        if sum(isinstance(part, Op) for part in all_parts(loop.body)) > LARGEST:
            return None
        changing = {s.name for s in inside if isinstance(s, Set)}
        outside = changing - set(bound_names(loop.body))
        stored = {s.array for s in inside if isinstance(s, Store)}
        found = Elements(loop, (), {loop.index: MOVES}, set(), {}, {})
        found.moves.update((name, None) for name in (*changing, *stored))
        parts_ = found.parts_of(loop.body)
        if parts_ is None or not any(isinstance(part, Fold) for part in parts_):
            return None
        found.parts = parts_
        return found if found.in_order(outside | stored) else None

    def parts_of(self, body: tuple[Stmt, ...]) -> Parts | None:
        """The statements, cut at their folds; None: they read what are no neighbours, or folds differ."""
        found: list[Run | Fold] = []
        run: list[Stmt] = []
        for statement in body:
            if not isinstance(statement, For) and not any(isinstance(s, For) for s in statements((statement,))):
                if not self.learn(statement):
                    return None
                run.append(statement)
                continue
            assert isinstance(statement, For | If)
            if any(self.moves.get(name, ALIKE) != ALIKE for e in expressions(statement) for name in names(e)):
                return None
            if isinstance(statement, For):
                self.moves[statement.index] = ALIKE
            inside = {name: self.parts_of(block) for name, block in blocks(statement).items()}
            fold = Fold(statement, {name: block for name, block in inside.items() if block is not None})
            if len(fold.blocks) < len(inside):
                return None
            found += [*([tuple(run)] if run else []), fold]
            run = []
        return (*found, tuple(run)) if run else tuple(found)

    def learn(self, statement: Stmt) -> bool:
        """Note how what the statement binds changes. False: it reads what are no neighbours."""
        for inner in statements((statement,)):
            for exp in expressions(inner):
                for part in parts(exp):
                    if isinstance(part, Load) and (part.order or self.change(part.index) is None):
                        return False
            if isinstance(inner, Let | Var):
                self.types[inner.name] = inner.type
            if isinstance(inner, Var):
                self.moves[inner.name] = None
            if isinstance(inner, Let):
                self.moves[inner.name] = self.change(inner.value)
                if inner is statement:
                    self.place(inner)
        return True

    def place(self, let: Let) -> None:
        """Is it computed once for all lanes, or again where it is needed?"""
        within = list(parts(let.value))
        if self.moves[let.name] == ALIKE:
            self.alike.add(let.name)
        elif let.type != "float" and all(
                name in self.lets or self.moves.get(name, ALIKE) is not None for name in names(let.value)) and not any(
                isinstance(p, Load) or (isinstance(p, Op) and p.op in COSTLY) for p in within):
            self.lets[let.name] = let

    def change(self, exp: Exp) -> int | None:
        """How the value changes from an element to the next."""
        match exp:
            case Name(name):
                return self.moves.get(name, ALIKE)
            case Op("+" | "-" as operator, (a, b)):
                first, second = self.change(a), self.change(b)
                if first is None or second is None:
                    return None
                by = first + second if operator == "+" else first - second
                return by if by in (ALIKE, MOVES) else None
        inside = [self.moves.get(name, ALIKE) for name in names(exp)]
        return ALIKE if all(change == ALIKE for change in inside) else None

    def in_order(self, common: set[str]) -> bool:
        """Is what elements have in common changed in one run between folds only, if it is read elsewhere?"""
        places = [(part, True) for part in self.parts if not isinstance(part, Fold)]
        places += [(run, False) for part in self.parts if isinstance(part, Fold) for run in runs(part)]
        for name in common:
            users = [(run, top) for run, top in places if uses(run, name)]
            changed = any(changes(run, name) for run, _ in users)
            if changed and (len(users) > 1 or not all(top for _, top in users)):
                return False
        tested = {name for fold in folds(self.parts) for e in expressions(fold.statement) for name in names(e)}
        return tested.isdisjoint(common)


def folds(parts_: Parts) -> Iterator[Fold]:
    for part in parts_:
        if isinstance(part, Fold):
            yield part
            for block in part.blocks.values():
                yield from folds(block)


def runs(part: Run | Fold) -> Iterator[Run]:
    if isinstance(part, Fold):
        for block in part.blocks.values():
            for inner in block:
                yield from runs(inner)
    else:
        yield part


def uses(run: Run, name: str) -> bool:
    """Is it read or changed there? That a check fails is a minimum, in whichever order."""
    if name == FAILED.name and all(is_least(s) for s in statements(run) if isinstance(s, Set) and s.name == name):
        return sum(name in names(e) for s in statements(run) for e in expressions(s)) > sum(
            map(is_least, statements(run)))
    return changes(run, name) or name in read_names(run)


def is_least(statement: Stmt) -> bool:
    match statement:
        case Set(FAILED.name, Op("min", (a, b))):
            return a == FAILED and FAILED.name not in names(b)
    return False


def changes(run: Run, name: str) -> bool:
    return any((isinstance(s, Set) and s.name == name) or (isinstance(s, Store) and s.array == name)
               for s in statements(run))


# Lanes ---------------------------------------------------------------------------------------------


class Strip:
    """Writes a strip of elements. `kept`: the names that arrays hold between runs, with their types."""

    def __init__(self, elements: Elements, width: int, mark: str, start: Exp) -> None:
        self.elements, self.width, self.mark, self.start = elements, width, mark, start
        self.numbers = count()
        own = {**elements.lets, elements.loop.index: None}
        found: dict[str, int] = {}
        self.kept: dict[str, str] = {}
        for number, run in enumerate(r for part in elements.parts for r in runs(part)):
            found.update((s.name, number) for s in run if isinstance(s, Let | Var))
        for number, run in enumerate(r for part in elements.parts for r in runs(part)):
            for name in sorted({*read_names(run), *[s.name for s in statements(run) if isinstance(s, Set)]}):
                if found.get(name, number) != number and name not in own and name not in elements.alike:
                    self.kept[name] = elements.types[name]

    def array(self, name: str) -> str:
        return f"{name}.lanes{self.mark}"

    def body(self, parts_: Parts) -> list[Stmt]:
        found: list[Stmt] = []
        for part in parts_:
            if isinstance(part, Fold):
                blocks = {name: tuple(self.body(block)) for name, block in part.blocks.items()}
                found.append(updated(part.statement, **blocks))
            else:
                found += self.run(part)
        return found

    def run(self, run: Run) -> list[Stmt]:
        """What is alike in all lanes, and a loop over these."""
        alike = self.alike([s for s in run if isinstance(s, Let) and s.name in self.elements.alike])
        run = tuple([s for s in run if not isinstance(s, Let)
                     or (s.name not in self.elements.alike and s.name not in self.elements.lets)])
        if not run:
            return alike
        lane = Name(f"lane.{next(self.numbers)}")
        bound, changed = set(bound_names(run)), [s.name for s in statements(run) if isinstance(s, Set)]
        read = {*read_names(run), *changed}
        index = lane if self.start == integer(0) else op("+", self.start, lane)
        before: list[Stmt] = [Let(self.elements.loop.index, "int", index), *self.again(read)]
        needed = {*read, *[name for s in before for e in expressions(s) for name in names(e)]}
        first: list[Stmt] = [(Var if name in changed else Let)(name, type_, Load(self.array(name), lane))
                             for name, type_ in self.kept.items() if name in needed - bound]
        after = [Store(self.array(name), lane, Name(name)) for name in self.kept if name in bound or name in changed]
        body = all_marked((*first, *before, *run, *after), f".{lane.name}{self.mark}")
        return [*alike, For(f"{lane.name}{self.mark}", integer(0), integer(self.width),
                            all_marked_of(body, {lane.name}, self.mark))]

    def alike(self, lets: list[Let]) -> list[Stmt]:
        """What is alike in all lanes, as the first of them computes it."""
        own = {*self.elements.lets, self.elements.loop.index}
        read = set(read_names(tuple(lets)))
        if own.isdisjoint(read):
            return list(lets)
        first = [Let(self.elements.loop.index, "int", self.start), *self.again(read), *lets]
        return list(all_marked_of(tuple(first), own, f".first.{next(self.numbers)}{self.mark}"))

    def again(self, read: set[str]) -> list[Stmt]:
        """The lets that are needed, each after those that it needs."""
        needed = set[str](read)
        for name, let in reversed(self.elements.lets.items()):
            if name in needed:
                needed.update(names(let.value))
        return [let for name, let in self.elements.lets.items() if name in needed]


def all_marked_of(body: tuple[Stmt, ...], bound: set[str], mark: str) -> tuple[Stmt, ...]:
    """The statements, in which these names have a mark."""
    return tuple([marked(statement, bound, mark) for statement in body])
