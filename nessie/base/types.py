"""NESL's types, as plain immutable data.

    int float bool char     Base
    [t]                     Seq
    (t1, t2)                Pair; tuples nest to the right: (a, b, c) is (a, (b, c))
    t1 -> t2                Fun; nominal: `identity` says which function it is
    point, table(a, b)      Data: a datatype with one constructor
    a :: a in number        Var, of a class
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Base:
    name: str


@dataclass(frozen=True)
class Seq:
    element: Type


@dataclass(frozen=True)
class Pair:
    """Compared and hashed along its right spine in a loop: a tuple of thousands of components is that deep."""
    first: Type
    second: Type

    def __eq__(self, other: object) -> bool:
        left: object = self
        while isinstance(left, Pair) and isinstance(other, Pair):
            if left is other:
                return True
            if left.first != other.first:
                return False
            left, other = left.second, other.second
        return not isinstance(left, Pair) and not isinstance(other, Pair) and left == other

    def __hash__(self) -> int:
        return hash(components(self))


@dataclass(frozen=True)
class Fun:
    """A function type. Two functions of equal argument and result have different types."""
    argument: Type
    result: Type
    identity: Type


@dataclass(frozen=True)
class Identity:
    """Which function a function value is: its global name, at types, over captured values."""
    name: str
    types: tuple[Type, ...] = ()
    captured: tuple[Type, ...] = ()


@dataclass(frozen=True)
class Data:
    name: str
    arguments: tuple[Type, ...] = ()


@dataclass(frozen=True)
class Var:
    """A type variable, of class any, number, logical, ordinal or scalar."""
    name: str
    cls: str = "any"


def components(type_: Type) -> tuple[Type, ...]:
    """(a, b, c) of a tuple type a, (b, c): its right spine."""
    found = []
    while isinstance(type_, Pair):
        found.append(type_.first)
        type_ = type_.second
    return (*found, type_)


Type = Base | Seq | Pair | Fun | Identity | Data | Var

INT, FLOAT, BOOL, CHAR = Base("int"), Base("float"), Base("bool"), Base("char")
STRING = Seq(CHAR)

CLASSES: dict[str, tuple[str, ...]] = {
    "any": (),                                    # every type
    "number": ("int", "float"),
    "logical": ("int", "bool"),
    "ordinal": ("int", "float", "char"),
    "scalar": ("int", "float", "char", "bool"),
}


@dataclass(frozen=True)
class Scheme:
    """A type that holds for all types of its variables."""
    variables: tuple[Var, ...]
    type: Type


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
            return f"{name}({inside})" if arguments else name
        case Identity(name):
            return name
    raise TypeError(type_)


def show_item(type_: Type) -> str:
    """A type between brackets or commas: arrows need no parentheses there."""
    return show_type(type_, isinstance(type_, Fun))
