"""Which elements a phase's chunks read and write, found by running its code on ranges instead of numbers.

The code of a plan says by itself what a chunk needs: its loops go from a chunk's first element to its last, whatever
skeleton has written them. So no table says what a SOAC reads; `reach` runs the function once for all chunks at a time,
each of which is a lane (cudagen.cluster.ranges):

    int low = chunk * 32768;                     chunk k: k * 32768
    int high = min(low + 32768, n);
    for (i = low; i < high; i += 1)              i: from k * 32768 to high - 1
      if (rank < carry[chunk + 1])               rank: no more than that, as totals are known when a sweep begins
        it[rank] = xs[i];                        reads xs there; writes it from carry[k] to carry[k + 1] - 1

What is found holds all that the code may read: where an index is computed from data, that is the whole array. It holds
all that it may write, too. Known are the sizes, and what arrays hold that the driver has, or whose elements grow, as
offsets do.

Of a function that is called once, loops over all chunks have a lane for each, so that the few places where chunks meet
are known one by one.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

import numpy as np

from nessie.base.records import dataclass
from nessie.cudagen.cluster.reaching.ranges import (
    ANY,
    COMPARED,
    MOST,
    OPPOSITE,
    Ints,
    Range,
    exactly,
    meaning,
    number,
    union,
    where,
    whole,
)
from nessie.cudagen.loops.nodes import (
    Atomic,
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
    Part,
    Return,
    Set,
    Shared,
    Stmt,
    Store,
    Var,
    While,
)
from nessie.cudagen.loops.walk import parts, statements

RANK = re.compile(r"(.*_count[01])_now")        # what counts survivors (skeletons.elements.rank_of, skeletons.states)
Values = Callable[[Ints], Ints]                 # an array's elements at some places


@dataclass(frozen=True)
class Known:
    """What is known of an array's elements: those at any places, by `values`. `grows`: none is less than one before."""
    values: Values
    grows: bool = False


@dataclass(frozen=True)
class Facts:
    """What is known before a function runs: scalars by name, arrays' lengths and, of some, elements. `own`: for each
    lane, the elements of arrays of which it has a part of its own (skeletons.elements.kept_of). `chunks`: the lanes;
    None: the function is called once."""
    scalars: Mapping[str, int]
    lengths: Mapping[str, int]
    known: Mapping[str, Known]
    own: Range | None = None
    chunks: Ints | None = None


@dataclass
class Reached:
    """For each array, ranges that are read, and written, of which some lanes have none."""
    reads: dict[str, list[Range]] = field(default_factory=dict)
    writes: dict[str, list[Range]] = field(default_factory=dict)


Environment = dict[str, Range]


def reach(function: Function, functions: Mapping[str, Function], arguments: Mapping[str, str], facts: Facts
          ) -> Reached:
    """What the function reaches, by the names of the arguments that its parameters have."""
    run = Run(functions, facts, dict(arguments))
    run.numbers = {p.name: number(facts.scalars[arguments[p.name]]) for p in function.parameters
                   if not p.array and p.type == "int" and arguments.get(p.name) in facts.scalars}
    if facts.chunks is not None:
        first, last = [p.name for p in function.parameters[:2]]
        run.numbers |= {first: exactly(facts.chunks), last: exactly(facts.chunks + 1)}
        run.alive = np.ones(len(facts.chunks), bool)
    run.block(function.body)
    return run.reached


def lanes_of(ranges: Iterable[Range], lanes: int) -> Range:
    """All of the ranges, for each lane."""
    low, high = np.full(lanes, MOST, np.int64), np.full(lanes, -1, np.int64)
    for found in ranges:
        there = found.low <= found.high
        low = np.minimum(low, np.where(there, found.low, MOST))
        high = np.maximum(high, np.where(there, found.high, -1))
    return Range(low, high)


def places_of(ranges: Iterable[Range], most: int) -> Ints | None:
    """The places of the ranges, in order; None: there may be more than `most`."""
    found = []
    for one in ranges:
        low, high = np.broadcast_arrays(one.low, one.high)
        there = low <= high
        low, high = low[there], high[there]
        if float(np.sum(high.astype(float) - low + 1)) > most:
            return None
        widths = high - low + 1
        if len(widths):
            before = np.repeat(np.cumsum(widths) - widths, widths)
            found.append(np.repeat(low, widths) + np.arange(int(widths.sum())) - before)
    places = np.unique(np.concatenate([*found, np.zeros(0, np.int64)]))
    return places if len(places) <= most else None


@dataclass
class Run:
    """A run on ranges. `numbers`: the ints that are known, in this block; `arrays`: what arrays of a function are
    called outside; `tests`: what bools, and ints, stand for; `whole`: ints that are so many whole steps after others;
    `alive`: the lanes that get here."""
    functions: Mapping[str, Function]
    facts: Facts
    arrays: dict[str, str]
    numbers: Environment = field(default_factory=dict)
    tests: dict[str, Exp] = field(default_factory=dict)
    whole: dict[str, tuple[str, int]] = field(default_factory=dict)
    alive: Ints = field(default_factory=lambda: np.array([True]))
    variables: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    returned: list[list[Range]] = field(default_factory=list)
    reached: Reached = field(default_factory=Reached)

    # Statements -----------------------------------------------------------------------------

    def block(self, body: tuple[Stmt, ...]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Stmt) -> None:
        match statement:
            case Let(name, type_, value) | Var(name, type_, value):
                if isinstance(statement, Var):
                    self.variables.add(name)
                self.bind(name, type_, value)
            case Set(name, value):
                found = self.value(value)
                if name in self.numbers:
                    self.numbers[name] = found
            case Store(array, index, value):
                self.value(value)
                self.note(self.reached.writes, array, self.value(index))
            case If(condition, then, orelse):
                self.value(condition)
                self.branches(condition, then, orelse)
            case For():
                self.loop(statement)
            case While(condition, body):
                self.changing(body)
                self.value(condition)
                self.under(condition, True, body)
            case Atomic(_, array, index, value):
                self.value(value)
                for notes in (self.reached.reads, self.reached.writes):
                    self.note(notes, array, self.value(index))
            case Call(names, name, arguments):
                self.call(names, self.functions[name], arguments)
            case Part(name, _, array, offset):
                self.value(offset)
                self.arrays[name] = self.arrays.get(array, "")
                for notes in (self.reached.reads, self.reached.writes):
                    self.note(notes, array, ANY)
            case Return(values):
                self.returned[-1:] = [[self.value(value) for value in values]] if not self.returned or \
                    not self.returned[-1] else [list(map(union, self.returned[-1], map(self.value, values)))]
            case Shared(name):
                self.arrays.pop(name, None)

    def bind(self, name: str, type_: str, value: Exp) -> None:
        found = self.value(value)
        if type_ == "int":
            self.numbers[name] = found
            if rounded := self.rounded(value):
                first, beyond, step = rounded
                self.whole[name] = first, step
                a, b = self.value(Name(first)), self.value(Name(beyond))
                self.numbers[name] = Range(a.low, np.maximum(a.high, b.high))
        if type_ in ("int", "bool") and name not in self.variables:
            self.tests[name] = value

    def rounded(self, value: Exp) -> tuple[str, str, int] | None:
        """Is it the last whole step between two places, as in `low + (length < 16 ? 0 : length and -8)`, where `length`
        is `high - low`? Then it lies between them. The names of both, and the step."""
        match value:
            case Op("+", (Name(first), Op("select", (_, Const(0), Op("and", (Name(length), Const(int(mask)))))))):
                match self.tests.get(length):
                    case Op("-", (Name(beyond), Name(same))) if same == first and mask < 0 and not (
                            {first, beyond} & self.variables):
                        return first, beyond, -mask
        return None

    def branches(self, condition: Exp, then: tuple[Stmt, ...], orelse: tuple[Stmt, ...]) -> None:
        before, alive = self.numbers, self.alive
        self.under(condition, True, then)
        first, self.numbers, self.alive = (self.numbers, self.alive), dict(before), alive
        self.under(condition, False, orelse)
        second = self.numbers, self.alive
        self.numbers = {name: joined(name, first, second) if name in self.variables else found
                        for name, found in before.items()}
        self.alive = alive

    def under(self, condition: Exp, holds: bool, body: tuple[Stmt, ...]) -> None:
        """The statements, in the lanes where the condition may hold, or not."""
        self.numbers = dict(self.numbers)
        self.assume(condition, holds)
        if self.alive.any():
            self.block(body)

    def loop(self, loop: For) -> None:
        low, high, step = self.value(loop.low), self.value(loop.high), self.value(loop.step)
        before, alive = self.numbers, self.alive
        self.changing(loop.body)
        match loop:
            case For(low=Name(first), high=Name(beyond), step=Const(each)) if self.whole.get(beyond) == (first, each):
                last = int(each)
            case _:
                last = 1
        index = Range(low.low, np.where(high.high >= MOST, MOST, high.high - last))
        if self.lanes_at(low, high, step):
            index = exactly(np.arange(int(low.low[0]), int(high.high[0])))
        self.numbers = {**self.numbers, loop.index: index}
        self.alive = self.alive & (index.low <= index.high)
        if self.alive.any():
            self.block(loop.body)
        self.numbers = {name: union(found, of_all(self.numbers[name], alive.size)) if name in self.variables else found
                        for name, found in before.items()}
        self.alive = alive

    def lanes_at(self, low: Range, high: Range, step: Range) -> bool:
        """Is this a loop whose rounds all are known, where there are no lanes yet?"""
        return (self.alive.size == 1 and all(end.size == 1 for r in (low, high, step) for end in (r.low, r.high))
                and low.low[0] == low.high[0] and high.low[0] == high.high[0] < MOST and step.high[0] == 1
                and high.high[0] - low.low[0] > 1)

    def changing(self, body: tuple[Stmt, ...]) -> None:
        """Before a loop: what its rounds change may be anything, but that what only grows is not less than it was, and
        the rank of a survivor is below the count that is known."""
        self.numbers = dict(self.numbers)
        sets: dict[str, list[Exp]] = {}
        for statement in statements(body):
            if isinstance(statement, Set) and statement.name in self.numbers:
                sets.setdefault(statement.name, []).append(statement.value)
        for name, values in sets.items():
            was = self.numbers[name]
            low = was.low if all(grows(name, value) for value in values) else ANY.low
            self.numbers[name] = Range(low, self.most(name))

    def most(self, name: str) -> Ints:
        match = RANK.fullmatch(name)
        carry = match and self.facts.known.get(f"{match[1]}_carry")
        return carry.values(self.facts.chunks + 1) - 1 if carry and self.facts.chunks is not None else ANY.high

    # Calls ----------------------------------------------------------------------------------

    def call(self, names: tuple[str, ...], function: Function, arguments: tuple[Exp, ...]) -> None:
        found = [ANY] * len(names)
        given = [None if p.array else self.value(a) for p, a in zip(function.parameters, arguments, strict=True)]
        arrays = {p.name: self.arrays.get(a.name, "") for p, a in zip(function.parameters, arguments, strict=True)
                  if p.array and isinstance(a, Name)}
        if function.name in self.calls:
            for name in arrays.values():
                for notes in (self.reached.reads, self.reached.writes):
                    self.note_as(notes, name, ANY)
        else:
            inner = Run(self.functions, self.facts, arrays, {
                p.name: value for p, value in zip(function.parameters, given, strict=True)
                if value is not None and p.type == "int"}, alive=self.alive, calls=[*self.calls, function.name],
                reached=self.reached)
            inner.block(function.body)
            found = inner.returned[-1] if inner.returned else found
        self.numbers.update(zip(names, found, strict=True))

    # Expressions ----------------------------------------------------------------------------

    def value(self, exp: Exp) -> Range:
        """What the expression may come to, if it is an int; what it reads is noted."""
        match exp:
            case Const(value, "int"):
                return number(int(value))
            case Name(name):
                return self.numbers.get(name, ANY)
            case Load(array, index):
                return self.load(array, self.value(index))
            case Op("select", (condition, then, orelse)):
                self.value(condition)
                return union(self.value(then), self.value(orelse))
            case Op(name, arguments):
                return meaning(name, *[self.value(argument) for argument in arguments])
        return ANY

    def load(self, array: str, index: Range) -> Range:
        name = self.arrays.get(array, "")
        self.note_as(self.reached.reads, name, index)
        known = self.facts.known.get(name)
        if known is None:
            return ANY
        last = max(0, self.facts.lengths[name] - 1)
        low, high = np.clip(index.low, 0, last), np.clip(index.high, 0, last)
        if (low == high).all():
            return exactly(known.values(low))
        return Range(known.values(low), known.values(high)) if known.grows else ANY

    def note(self, notes: dict[str, list[Range]], array: str, index: Range) -> None:
        self.note_as(notes, self.arrays.get(array, ""), index)

    def note_as(self, notes: dict[str, list[Range]], name: str, index: Range) -> None:
        if not name:
            return                          # the function's own
        if name.endswith("_kept") and self.facts.own is not None:
            index = Range(np.maximum(index.low, self.facts.own.low), np.minimum(index.high, self.facts.own.high))
        low, high = np.maximum(index.low, 0), np.minimum(index.high, self.facts.lengths[name] - 1)
        notes.setdefault(name, []).append(Range(np.where(self.alive, low, MOST), np.where(self.alive, high, -1)))

    # Conditions -----------------------------------------------------------------------------

    def assume(self, condition: Exp, holds: bool) -> None:
        match condition:
            case Name(name) if name in self.tests and name not in self.numbers and self.constant(self.tests[name]):
                self.assume(self.tests[name], holds)
            case Const(value):
                self.alive = self.alive & (bool(value) == holds)
            case Op("not", (inner,)):
                self.assume(inner, not holds)
            case Op("and", (a, b)) if holds:
                self.assume(a, True)
                self.assume(b, True)
            case Op("or", (a, b)) if not holds:
                self.assume(a, False)
                self.assume(b, False)
            case Op(name, (a, b)) if name in COMPARED and self.is_int(a) and self.is_int(b):
                sides = COMPARED[name if holds else OPPOSITE[name]](self.quietly(a), self.quietly(b))
                for exp, found in zip((a, b), sides, strict=True):
                    if isinstance(exp, Name):
                        self.numbers[exp.name] = found
                    self.alive = self.alive & (found.low <= found.high)

    def constant(self, exp: Exp) -> bool:
        """Does it still mean what it meant when it was bound?"""
        return not any((isinstance(part, Name) and part.name in self.variables) or isinstance(part, Load)
                       for part in parts(exp))

    def is_int(self, exp: Exp) -> bool:
        match exp:
            case Const(_, type_):
                return type_ == "int"
            case Name(name):
                return name in self.numbers
            case Op(name, arguments):
                return name in ("+", "-", "*", "/", "rem", "min", "max") and all(map(self.is_int, arguments))
        return False

    def quietly(self, exp: Exp) -> Range:
        """What it may come to. It reads nothing, or what has been noted."""
        return self.value(exp)


def of_all(found: Range, lanes: int) -> Range:
    """What holds in all lanes, if there are not so many any more."""
    return whole(found) if found.low.size > lanes else found


def joined(name: str, first: tuple[Environment, Ints], second: tuple[Environment, Ints]) -> Range:
    """What the variable may be after one of two branches, each of which some lanes take."""
    (a, a_alive), (b, b_alive) = first, second
    x, y = a[name], b[name]
    if x is y:
        return x
    return where(a_alive & b_alive, union(x, y), where(a_alive, x, where(b_alive, y, union(x, y))))


def grows(name: str, value: Exp) -> bool:
    """Is what the variable becomes no less than what it is?"""
    match value:
        case Op("+", (Name(same), Const(more, "int"))):
            return same == name and int(more) >= 0
        case Op("+", (Name(same), Op("btoi"))):
            return same == name
        case Name(same):
            return same == name
    return False
