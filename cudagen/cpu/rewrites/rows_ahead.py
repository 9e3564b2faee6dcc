"""Asks for rows in advance, where they lie anywhere: the processor waits for some at a time, not for one after another.

    for (s = low; s < high; s += 1) {               int first = low;
      int start = offsets[s];                       int last = high - 1;
      for (i = start; i < offsets[s + 1]; i += 1) { var bool some = false;
        int begin = begins[s];                      if (first <= last) { some = offsets[first] < offsets[last + 1]; }
        int at = begin + (i - start);         ->    for (s = low; s < high; s += 1) {
        x = xs[at];                                   int ahead = min(s + 48, last);
        ...                                           int size = offsets[ahead + 1] - offsets[ahead];
      }                                               if (some) {
    }                                                   prefetch xs[begins[ahead]];
                                                        prefetch xs[begins[ahead] + (size - 1)];
                                                      }
                                                      int start = offsets[s];
                                                      for (i = ...) { ... as it was ... }
                                                    }

So are rows gathered: flatten(graph -> nodes). A row of few elements is one miss of the caches, or two where it lies
across a line's end, and its own end, which nobody can foresee, keeps the processor from going on to those after it. A
place is known in advance if arrays say it that have an element for each row. Where no row has an element the loop reads
no place, so nothing is asked: a task of a cluster then has no places (cluster.reaching). Rows that follow each other
in memory come by themselves.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from nessie.base.parts import updated
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops.nodes import Const, Exp, For, Function, If, Let, Load, Name, Op, Prefetch, Set, Stmt, Var
from nessie.cudagen.loops.walk import (
    EXPRESSIONS,
    changed_names,
    expressions,
    names,
    parts,
    with_blocks,
)

AHEAD = 48                      # rows: a line of memory takes as long as some tens of short ones do
LARGEST = 16                    # parts of a place's expression


def with_rows_ahead(function: Function) -> Function:
    """The function, whose loops over rows ask for the first and the last element of those AHEAD."""
    numbers = count()
    return updated(function, body=tuple([new for s in function.body for new in changed(s, numbers)]))


def changed(statement: Stmt, numbers: Iterator[int]) -> list[Stmt]:
    if not isinstance(statement, For) or (begin := start_of(statement)) is None:
        return [with_blocks(statement, lambda inner: changed(inner, numbers))]
    name, start = begin
    places = first_places(statement, name)
    if not places:
        return [statement]
    mark = f".a{next(numbers)}"
    row = Name(statement.index)
    first, last, some, ahead, size = [Name(f"{name}{mark}") for name in ("first", "last", "some", "ahead", "size")]

    def start_at(at: Exp) -> Exp:
        return replaced(start, {row: at})

    length = Let(size.name, "int", op("-", start_at(op("+", ahead, integer(1))), start_at(ahead)))
    test = Set(some.name, op("<", start_at(first), start_at(op("+", last, integer(1)))))
    firsts = [(array, replaced(index, {row: ahead})) for array, index in places]
    asks = [Prefetch(array, at) for array, begin in firsts for at in (begin, op("+", begin, op("-", size, integer(1))))]
    nearest = Let(ahead.name, "int", op("min", op("+", row, integer(AHEAD)), last))
    return [Let(first.name, "int", statement.low), Let(last.name, "int", op("-", statement.high, integer(1))),
            Var(some.name, "bool", Const(False, "bool")), If(op("<=", first, last), (test,)),
            updated(statement, body=(nearest, length, If(some, tuple(asks)), *statement.body))]


def start_of(rows: For) -> tuple[Name, Exp] | None:
    """Where a row begins among all elements, by name and by what an array says, if the loop goes from row to row, finds
    that first of all, and reads the next one's start for each row's end, whatever the row: so there is one."""
    match rows.body:
        case (Let(start, "int", Load(_, Name(rows.index)) as told), *rest) if rows.step == integer(1):
            following = updated(told, index=op("+", Name(rows.index), integer(1)))
            always = [exp for s in rest if isinstance(s, Let | For) for exp in expressions(s)]
            if any([part == following for exp in always for part in parts(exp)]):
                return Name(start), told
    return None


def first_places(rows: For, start: Name) -> list[tuple[str, Exp]]:
    """The arrays that each row of a loop over rows is read from, with the places of its first element there, if arrays
    say them; no two alike."""
    always = list(done_always(rows.body[1:]))
    known: dict[Name, Exp] = {Name(let.name): let.value for let in always}
    changing = {start.name, *changed_names(rows.body)}
    found: dict[tuple[str, Exp], None] = {}
    for load in [part for let in always for part in parts(let.value) if isinstance(part, Load)]:
        place = at_first(load.index, known, start)
        if place is not None and is_told(place, rows.index) and changing.isdisjoint(names(place)):
            found[load.array, place] = None
    return list(found)


def done_always(body: tuple[Stmt, ...]) -> Iterator[Let]:
    """What is computed under no condition but that there are elements."""
    for statement in body:
        if isinstance(statement, Let):
            yield statement
        elif isinstance(statement, For):
            yield from done_always(statement.body)


def at_first(index: Exp, known: Mapping[Name, Exp], start: Name) -> Exp | None:
    """The index of a row's first element: what lies `start` before another index is the place in the row. None: the
    expression is too long."""
    for _ in range(LARGEST):
        index = simple(index, start)
        if sum(1 for _ in parts(index)) > LARGEST:
            return None
        if known.keys().isdisjoint(map(Name, names(index))):
            return index
        index = replaced(index, known)
    return None


def replaced(exp: Exp, new: Mapping[Name, Exp]) -> Exp:
    return new[exp] if isinstance(exp, Name) and exp in new else EXPRESSIONS.map(exp, lambda part: replaced(part, new))


def simple(exp: Exp, start: Name) -> Exp:
    """Without places in the row, which are 0, and sums of nothing."""
    match exp:
        case Op("-", (_, Name(start.name))):
            return integer(0)
    exp = EXPRESSIONS.map(exp, lambda part: simple(part, start))
    match exp:
        case Op("+", (a, Const(0))) | Op("+", (Const(0), a)) | Op("-", (a, Const(0))):
            return a
    return exp


def is_told(place: Exp, rows: str) -> bool:
    """Do arrays with an element for each row say where it is?"""
    loads = [part for part in parts(place) if isinstance(part, Load)]
    return bool(loads) and all(load.index == Name(rows) and not load.order for load in loads)
