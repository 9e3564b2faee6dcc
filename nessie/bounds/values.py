"""What is known of a value before it is there: bounds of its ints and of the lengths of its sequences.

    Number      an int n with max(n, 0) <= above and max(-n, 0) <= below
    Rows        a sequence; what is said of its element holds for each
    Both        a pair
    Held        a datatype's value
    Code        a function
    SCALAR      a float, a bool, a character: of no size
    NOTHING     the element of an empty sequence: anything is true of it
    UNKNOWN     no more than its type is known
"""
from __future__ import annotations

from collections.abc import Callable, Mapping

from nessie.base.records import dataclass
from nessie.base.types import Base, Data, Pair, Seq, Type
from nessie.bounds.formulas import ONE, ZERO, Bound, greatest, plus, size, times
from nessie.typing import nodes as typed


@dataclass(frozen=True)
class Number:
    above: Bound = None
    below: Bound = None


@dataclass(frozen=True)
class Rows:
    length: Bound
    element: Known


@dataclass(frozen=True)
class Both:
    first: Known
    second: Known


@dataclass(frozen=True)
class Held:
    content: Known


@dataclass(frozen=True)
class Code:
    """`function`: the text of a function, or a global one's name; `names`: what it sees around it; `given`: its first
    argument, if it has that already."""
    function: typed.Lambda | str
    names: Mapping[str, Known]
    given: tuple[Known, ...] = ()


@dataclass(frozen=True)
class Other:
    what: str


SCALAR, NOTHING, UNKNOWN = Other("scalar"), Other("nothing"), Other("unknown")
Known = Number | Rows | Both | Held | Code | Other

Content = Callable[[Data], Type | None]


def of_type(type_: Type, content: Content, name: str = "", levels: int = 6) -> Known:
    """What the type tells of a value. Its sizes have names that begin with this one, or no bounds if it is empty."""
    match type_:
        case Base("int"):
            return Number(size(f"|{name}|"), size(f"|{name}|")) if name else Number()
        case Base():
            return SCALAR
        case Seq(element):
            length = size(f"#{name}") if name else None
            return Rows(length, of_type(element, content, f"{name}[i]" if name else "", levels))
        case Pair(first, second):
            parts = [f"{name}.{part}" if name else "" for part in ("1", "2")]
            return Both(of_type(first, content, parts[0], levels), of_type(second, content, parts[1], levels))
        case Data() if levels and (inside := content(type_)) is not None:
            return Held(of_type(inside, content, name, levels - 1))
    return UNKNOWN


def joined(a: Known, b: Known) -> Known:
    """What is true of both."""
    match a, b:
        case (Other("nothing"), known) | (known, Other("nothing")):
            return known
        case Number(), Number():
            return Number(greatest(a.above, b.above), greatest(a.below, b.below))
        case Rows(), Rows():
            return Rows(greatest(a.length, b.length), joined(a.element, b.element))
        case Both(), Both():
            return Both(joined(a.first, b.first), joined(a.second, b.second))
        case Held(), Held():
            return Held(joined(a.content, b.content))
    return a if a == b else UNKNOWN


def blurred(known: Known) -> Known:
    """A value of the same form, without bounds."""
    match known:
        case Number():
            return Number()
        case Rows(_, element):
            return Rows(None, blurred(element))
        case Both(first, second):
            return Both(blurred(first), blurred(second))
        case Held(inside):
            return Held(blurred(inside))
    return known


def all_of(known: Known) -> Bound:
    """How many scalars, sequences and pairs the value has, at all levels."""
    match known:
        case Number() | Other("scalar"):
            return ONE
        case Other("nothing"):
            return ZERO
        case Rows(length, element):
            return plus(ONE, times(length, all_of(element)))
        case Both(first, second):
            return plus(ONE, all_of(first), all_of(second))
        case Held(inside):
            return all_of(inside)
    return None


def levels(known: Known) -> int | None:
    """How deep sequences and pairs are nested in the value."""
    match known:
        case Number() | Other("scalar" | "nothing"):
            return 0
        case Rows(_, element):
            return one_more(levels(element))
        case Both(first, second):
            deep = levels(first), levels(second)
            return None if None in deep else one_more(max([level for level in deep if level is not None]))
        case Held(inside):
            return levels(inside)
    return None


def one_more(level: int | None) -> int | None:
    return None if level is None else level + 1
