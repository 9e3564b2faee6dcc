"""Which writes cost what they write, and not what they write into: `v <- ps` where v is used for the last time.

    function put(v, k) = if k == 0 then v else put(v <- [(k, 1)], k - 1);       #ps = 1 for each call
    let w = v <- ps in (v, w)                                                   #v + #ps: v is used again

A destination is written where it lies if its elements are scalars, the write is not within an apply-to-each, and
nothing else holds it. So that this is known,

    LastUses    says by the text which uses of a name are the last, how others hold its value, and which writes go on
                needing their destination
    Made        is a sequence that the run has made; `holders` counts what holds it beside one owner: a name that is
                used again, a call that its owner waits for, an anonymous function. It may be too many, never too few.

A use is the last if no later part of the function's body may use the name, and if the body of an apply-to-each or of an
anonymous function that it stands in binds the name. A call takes over what it is given in a last use, and lends the
rest to the function: the holder goes when the call ends, unless its result holds the sequence. Primitives hold nothing
but first and rest; `v[i]` may be a sequence that v holds, too. Only the work is counted so: values are copied.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from nessie.base.types import Type, is_scalars
from nessie.base.values import Record
from nessie.library.primitives import PRIMITIVES
from nessie.typing import nodes as typed

PARTS = ("first", "rest", "elt")                        # primitives whose results are parts of their arguments


class Made(list[Any]):
    """A sequence that the run has made."""
    holders = 0


class LastUses:
    """What texts say of the uses of names, by the ids of expressions. `kept`: names whose values are used again, and
    have another holder now; `lent`: calls, with the names whose values they are lent; `again`: applications of
    primitives that are first given what is used again. `known` are the bodies, kept alive so that ids stay unique."""

    def __init__(self) -> None:
        self.kept: set[int] = set()
        self.lent: dict[int, tuple[str, ...]] = {}
        self.again: set[int] = set()
        self.known: dict[int, typed.Exp] = {}

    def learn(self, body: typed.Exp, parameter: typed.Pattern | None = None) -> None:
        """Learn of a function's body, or of a form's value."""
        if id(body) not in self.known:
            self.known[id(body)] = body
            self.walk(body, set(), set(names_of(parameter)) if parameter else set())

    def walk(self, exp: typed.Exp, live: set[str], own: set[str]) -> None:
        """Go through the expression from its end. `live`: the names that are used afterwards, and then those that are
        used from its beginning on; `own`: those that may be used for the last time here."""
        match exp:
            case typed.Name(name):
                if name in live or name not in own:
                    self.kept.add(id(exp))
                live.add(name)
            case typed.Let(pattern, value, body):
                self.within(pattern, [body], live, own)
                self.walk(value, live, own)
            case typed.If(condition, then, orelse):
                other = set(live)
                self.walk(then, live, own)
                self.walk(orelse, other, own)
                live |= other
                self.walk(condition, live, own)
            case typed.Apply(function, argument):
                self.application(exp, function, argument, live, own)
            case typed.Pair(first, second) | typed.Closure(first, second):
                self.walk(second, live, own)
                self.walk(first, live, own)
            case typed.Sequence(elements):
                for element in reversed(elements):
                    self.walk(element, live, own)
            case typed.Each():
                self.each(exp, live, own)
            case typed.Lambda(pattern, body, captured):
                self.walk(body, set(), set(names_of(pattern)))
                live.update([name.name for name in captured])
            case typed.Time(body):
                self.walk(body, live, own)

    def within(self, pattern: typed.Pattern, parts: list[typed.Exp], live: set[str], own: set[str]) -> None:
        """Go through what sees the pattern's names, last part first; they may hide others."""
        names = set(names_of(pattern))
        hidden, new = live & names, names - own
        live -= names
        own |= names
        for part in parts:
            self.walk(part, live, own)
        own -= new
        live -= names
        live |= hidden

    def application(self, exp: typed.Apply, function: typed.Exp, argument: typed.Exp, live: set[str],
                    own: set[str]) -> None:
        """What stands among the arguments by its name is used when all of them have been computed."""
        name = function.name if isinstance(function, typed.Global) else ""
        if name in ("first", "rest"):
            self.walk(argument, live, own)
            return
        arguments = list(components(argument))
        if name == "_check":
            for part in reversed(arguments):
                self.walk(part, live, own)
            return
        given = [part.name for part in arguments if isinstance(part, typed.Name)]
        again = {n for n, times in Counter(given).items() if times > 1 or n in live or n not in own}
        if name not in PRIMITIVES:
            self.lent[id(exp)] = tuple(again)
        elif isinstance(arguments[0], typed.Name) and arguments[0].name in again:
            self.again.add(id(exp))
        self.before(arguments, live, own)
        self.walk(function, live, own)

    def each(self, exp: typed.Each, live: set[str], own: set[str]) -> None:
        """Its body runs often, so names from outside are not used for the last time there."""
        patterns = [g.pattern for g in exp.generators]
        names = {name for pattern in patterns for name in names_of(pattern)}
        hidden = live & names
        live -= names
        inside = set(names)
        self.walk(exp.body, live, inside)
        if exp.filter is not None:
            self.walk(exp.filter, live, inside)
        live -= names
        live |= hidden
        self.before([g.source for g in exp.generators], live, own)

    def before(self, parts: list[typed.Exp], live: set[str], own: set[str]) -> None:
        """Go through parts that are computed in order, of which names are used when all of them have been."""
        live.update([part.name for part in parts if isinstance(part, typed.Name)])
        for part in reversed(parts):
            if not isinstance(part, typed.Name):
                self.walk(part, live, own)


def components(argument: typed.Exp) -> Iterator[typed.Exp]:
    """The arguments of an application."""
    while isinstance(argument, typed.Pair):
        yield argument.first
        argument = argument.second
    yield argument


def names_of(pattern: typed.Pattern) -> Iterator[str]:
    match pattern:
        case typed.NamePattern(name):
            yield name
        case typed.PairPattern(first, second):
            yield from names_of(first)
            yield from names_of(second)
        case typed.DataPattern(_, _, argument):
            yield from names_of(argument)


# Values -----------------------------------------------------------------------------------------

def sequences(value: Any) -> Iterator[Made]:
    """The sequences that the value is, or has in its components."""
    if isinstance(value, Made):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from sequences(part)
    elif isinstance(value, Record):
        yield from sequences(value.content)


def hold(value: Any) -> None:
    """Something else holds the value from now on."""
    for v in sequences(value):
        v.holders += 1


def give_back(lent: list[Made], result: Any) -> None:
    """A call has ended that these were lent to: what its result cannot hold has a holder less."""
    if lent and is_plain(result):
        held = set(map(id, sequences(result)))
        for v in lent:
            v.holders -= id(v) not in held


def is_plain(value: Any) -> bool:
    """Is it made of scalars, their sequences, and tuples and datatypes of these? Then `sequences` finds all."""
    match value:
        case list():
            return not value or isinstance(value[0], bool | int | float | str) or (
                isinstance(value[0], tuple) and is_plain(value[0]) and not any(map(is_sequence, value[0])))
        case tuple():
            return all(map(is_plain, value))
        case Record():
            return is_plain(value.content)
    return isinstance(value, bool | int | float | str)


def is_sequence(value: Any) -> bool:
    """Is there a sequence in it?"""
    return isinstance(value, list) or (isinstance(value, tuple) and any(map(is_sequence, value)))


def is_free(value: Any, types: tuple[Type, ...]) -> bool:
    """Is it a sequence of scalars of these types that nothing holds but what uses it last?"""
    return isinstance(value, Made) and not value.holders and is_scalars(types[0])
