"""NESL's types, as plain immutable data.

    int float bool char     Base
    [t]                     Seq
    (t1, t2)                Pair; tuples nest to the right: (a, b, c) is (a, (b, c))
    t1 -> t2                Fun; nominal: `identity` names the function
    point, table(a, b)      Data: a datatype with one constructor
    a :: a in number        Var, of a class

Of the library only: _word and _real, an int and a float of 64 bits in programs of all widths (nessie.base.widths).
Behind the source, int and float are these, and int32, float32 those of programs of 32 bits.

Types made of the same parts are one object, so comparing and hashing them takes constant time at any depth.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from nessie.base.names import shown_name
from nessie.base.records import dataclass

T = TypeVar("T")

_made: WeakValueDictionary[tuple[type, tuple[Any, ...]], Any] = WeakValueDictionary()       # by class and parts


class OfParts:
    """A base class that makes one object of the same parts, unless two threads make it at once; those two still compare
    equal. An object keeps its hash. Its parts have theirs already, so hashing needs no recursion."""
    __slots__ = ("__weakref__", "_hash")
    _hash: int

    def __new__(cls, /, *parts: Any, **named: Any) -> Any:
        names: tuple[str, ...] = cls.__match_args__             # type: ignore[attr-defined]
        if len(parts) < len(names):
            parts += tuple([named[name] if name in named else getattr(cls, name) for name in names[len(parts):]])
        key = cls, parts
        made = _made.get(key)
        if made is None:
            made = super().__new__(cls)
            made._hash = hash(key)
            _made[key] = made
        return made

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if self.__class__ is not other.__class__ or self._hash != hash(other):
            return False
        return bool(vars(self) == vars(other))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__, tuple(vars(self).values())           # hashes are of no use to another process


@dataclass(frozen=True, eq=False)
class Base(OfParts):
    name: str


@dataclass(frozen=True, eq=False)
class Seq(OfParts):
    element: Type


@dataclass(frozen=True, eq=False)
class Pair(OfParts):
    first: Type
    second: Type


@dataclass(frozen=True, eq=False)
class Fun(OfParts):
    """A function type. Two functions of equal argument and result have different types."""
    argument: Type
    result: Type
    identity: Type


@dataclass(frozen=True, eq=False)
class Identity(OfParts):
    """The function that a function value is: its global name, at types, over captured values."""
    name: str
    types: tuple[Type, ...] = ()
    captured: tuple[Type, ...] = ()


@dataclass(frozen=True, eq=False)
class Data(OfParts):
    name: str
    arguments: tuple[Type, ...] = ()


@dataclass(frozen=True, eq=False)
class Var(OfParts):
    """A type variable, of class any, number, logical, ordinal or scalar."""
    name: str
    cls: str = "any"


def components(type_: Type) -> tuple[Type, ...]:
    """(a, b, c) of a tuple type a, (b, c): its right spine."""
    return tuple(unnest_right(type_, Pair))


def unnest_right(item: Any, pair: Any) -> list[Any]:
    """Return the components of a value that nest_right made with this class; its parts are called first and second."""
    found = []
    while isinstance(item, pair):
        found.append(item.first)
        item = item.second
    return [*found, item]


def nest_right(items: Sequence[T], pair: Callable[[T, T], T]) -> T:
    """Return (a, (b, c)) for a, b, c: a tuple of its components, which are types or have types."""
    result = items[-1]
    for item in reversed(items[:-1]):
        result = pair(item, result)
    return result


Type = Base | Seq | Pair | Fun | Identity | Data | Var

INT, FLOAT, BOOL, CHAR = Base("int"), Base("float"), Base("bool"), Base("char")
WORD, REAL, INT32, FLOAT32 = Base("_word"), Base("_real"), Base("int32"), Base("float32")
STRING = Seq(CHAR)
ZEROS: dict[str, int | float | bool | str] = {"int": 0, "float": 0.0, "bool": False, "char": "\0"}
LIKE = {"_word": "int", "int32": "int", "_real": "float", "float32": "float"}         # in the classes of these

CLASSES: dict[str, tuple[str, ...]] = {
    "any": (),                                    # every type
    "number": ("int", "float"),
    "logical": ("int", "bool"),
    "ordinal": ("int", "float", "char"),
    "scalar": ("int", "float", "char", "bool"),
}



def is_member(base: str, cls: str) -> bool:
    """Is the base type in the class?"""
    return cls == "any" or LIKE.get(base, base) in CLASSES[cls]


def zero_of(base: str) -> int | float | bool | str:
    """Return the zero of a base type of any width."""
    return ZEROS[LIKE.get(base, base)]


@dataclass(frozen=True)
class Scheme:
    """A type that holds for all types of its variables."""
    variables: tuple[Var, ...]
    type: Type

ContentOf = Callable[[Data], Type]      # the type that a datatype's constructor is applied to


def no_datatypes(data: Data) -> Type:
    raise KeyError(f"the datatype {data.name} is not known here")


def expand(type_: Type, content: ContentOf) -> Type:
    """Return the type with every datatype replaced by its content, as flat values have it."""
    match type_:
        case Data():
            return expand(content(type_), content)
        case Seq(element):
            return Seq(expand(element, content))
        case Pair(first, second):
            return Pair(expand(first, content), expand(second, content))
    return type_


def leaves(type_: Type) -> Iterator[Base]:
    """Yield the type's scalars."""
    match type_:
        case Seq(element):
            yield from leaves(element)
        case Pair(first, second):
            yield from leaves(first)
            yield from leaves(second)
        case Base():
            yield type_


def is_scalars(type_: Type) -> bool:
    """Is the type a scalar, or a pair of such types?"""
    match type_:
        case Base():
            return True
        case Pair(first, second):
            return is_scalars(first) and is_scalars(second)
    return False


def holds_function(type_: Type) -> bool:
    """Do its values hold a function? Functions in datatypes do not count."""
    match type_:
        case Seq(element):
            return holds_function(element)
        case Pair(first, second):
            return holds_function(first) or holds_function(second)
    return isinstance(type_, Fun)


# Variables --------------------------------------------------------------------------------------


def free_variables(*types: Type) -> Iterator[Var]:
    """Yield the variables of the types in order of appearance, with repeats; identities come after the types that they
    belong to."""
    pending = list(reversed(types))
    while pending:
        type_ = pending.pop()
        match type_:
            case Var():
                yield type_
            case Seq(element):
                pending.append(element)
            case Pair(first, second):
                pending += [second, first]
            case Fun(argument, result, identity):
                pending += [identity, result, argument]
            case Identity(_, types_, captured):
                pending += reversed(types_ + captured)
            case Data(_, arguments):
                pending += reversed(arguments)


def substitute(type_: Type, by: dict[str, Type]) -> Type:
    """The type with its variables replaced, by name; those that are not in `by` stay."""
    match type_:
        case Var(name):
            return by.get(name, type_)
        case Base():
            return type_
        case Seq(element):
            return Seq(substitute(element, by))
        case Pair(first, second):
            return Pair(substitute(first, by), substitute(second, by))
        case Fun(argument, result, identity):
            return Fun(substitute(argument, by), substitute(result, by), substitute(identity, by))
        case Identity(name, types, captured):
            return Identity(name, tuple([substitute(t, by) for t in types]),
                            tuple([substitute(t, by) for t in captured]))
        case Data(name, arguments):
            return Data(name, tuple([substitute(t, by) for t in arguments]))
    raise TypeError(type_)


def instantiate(scheme: Scheme, types: Iterable[Type]) -> Type:
    """The scheme's type at these types."""
    return substitute(scheme.type, {v.name: t for v, t in zip(scheme.variables, types, strict=True)})


def match_types(pattern: Type, type_: Type) -> dict[str, Type] | None:
    """Return the types that the pattern's variables stand for if the pattern matches the type, else None."""
    found: dict[str, Type] = {}
    pending = [(pattern, type_)]
    while pending:
        match pending.pop():
            case Var(), Var():
                pass                            # the argument's type leaves the variable open
            case Var(name, cls), actual:
                in_class = cls == "any" or (isinstance(actual, Base) and is_member(actual.name, cls))
                if not in_class or found.setdefault(name, actual) != actual:
                    return None
            case Base(a), Base(b) if a == b:
                pass
            case Seq(a), Seq(b):
                pending.append((a, b))
            case (Pair(a, b), Pair(c, d)):
                pending += [(a, c), (b, d)]
            case Data(a, items), Data(b, others) if a == b:
                pending += zip(items, others, strict=True)
            case Fun(a, b, identity), Fun(c, d, other):
                pending += [(a, c), (b, d), (identity, other)]
            case one, other if one == other:
                pass
            case _:
                return None
    return found

# As text ----------------------------------------------------------------------------------------


def show_type(type_: Type, top: bool = True) -> str:
    """The type as NESL prints it: tuples without parentheses at the outermost level."""
    match type_:
        case Base(name) | Var(name):
            return name
        case Seq(element):
            return f"[{show_item(element)}]"
        case Pair():
            inside = ", ".join([show_item(item) for item in components(type_)])
            return inside if top else f"({inside})"
        case Fun(argument, result, _):
            text = f"{show_type(argument, False)} -> {show_type(result, False)}"
            return text if top else f"({text})"
        case Data(name, arguments):
            inside = ", ".join([show_item(a) for a in arguments])
            return f"{shown_name(name)}({inside})" if arguments else shown_name(name)
        case Identity(name):
            return name
    raise TypeError(type_)


def show_item(type_: Type) -> str:
    """A type between brackets or commas: arrows need no parentheses there."""
    return show_type(type_, isinstance(type_, Fun))
