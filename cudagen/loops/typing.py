"""The types of loops: what an expression is, in the scope of the names bound so far."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.records import dataclass
from nessie.base.source import IllFormed
from nessie.base.widths import wide
from nessie.cudagen.loops.nodes import FRAME, PLACES, TEAMS, Const, Distance, Exp, Load, Name, Op, Peers, Shuffle, Vote
from nessie.lambda_cu.ops import result_type

SPECIAL = (*PLACES, FRAME)


@dataclass
class Scope:
    """The scope at some place: scalars and arrays to their (element) types, which may be written, which lie in a
    block's shared memory, and in which kind of function this is."""
    kind: str = "host"
    scalars: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, str] = field(default_factory=dict)
    writable: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)


def type_of(exp: Exp, scope: Scope) -> str:
    """The expression's type; IllFormed names what is wrong in it."""
    match exp:
        case Const(value, type_):
            return constant_type(value, type_)
        case Name(name):
            return name_type(name, scope)
        case Load(array, index, order):
            want("index", type_of(index, scope), "int")
            type_ = lookup(array, scope.arrays, "array")
            require(order in ("", "volatile", "relaxed", "acquire"), f"{order} is no way to load")
            if order in ("relaxed", "acquire"):
                only_cuda(scope, order)
                seen_by_all(scope, order, array)
                want(f"what {order} loads", type_, "int")
            return wide(type_)
        case Shuffle(name, offset, mode, lanes):
            only_cuda(scope, "Shuffle")
            require(lanes in TEAMS, f"{lanes} lanes do not shuffle by themselves")
            require(mode in ("down", "up", "index"), f"shuffle mode {mode} does not exist")
            want("shuffle's offset", type_of(offset, scope), "int")
            return lookup(name, scope.scalars, "scalar")
        case Vote(name):
            only_cuda(scope, "Vote")
            want("what is voted on", lookup(name, scope.scalars, "scalar"), "bool")
            return "int"
        case Peers(name, bits):
            only_cuda(scope, "Peers")
            want("what peers have", lookup(name, scope.scalars, "scalar"), "int")
            require(0 < bits <= 32, f"peers do not have {bits} bits")
            return "int"
        case Distance(array, start):
            not_cuda(scope, "Distance")
            lookup(array, scope.arrays, "array")
            lookup(start, scope.arrays, "array")
            return "int"
        case Op(op, arguments):
            return operator_type(op, tuple([type_of(a, scope) for a in arguments]))
    raise TypeError(exp)


def operator_type(op: str, types: tuple[str, ...]) -> str:
    """The operator's result on arguments of these types."""
    if op == "select":
        require(len(types) == 3 and types[0] == "bool" and types[1] == types[2],
                f"select takes a bool and two of one type, not {', '.join(types)}")
        return types[1]
    found = result_type(op, types)
    if found is None:
        raise IllFormed(f"operator {op} does not apply to {', '.join(types)}")
    return wide(found)


def constant_type(value: int | float | bool | str, type_: str) -> str:
    match type_:
        case "int":
            fits = type(value) is int and MIN_INT <= value <= MAX_INT
        case "float":
            fits = type(value) is float
        case "bool":
            fits = type(value) is bool
        case _:
            fits = type_ == "char" and isinstance(value, str) and len(value) == 1
    require(fits, f"constant {value!r} is no {type_}")
    return type_


def name_type(name: str, scope: Scope) -> str:
    if name == FRAME:
        not_cuda(scope, name)
        return "int"
    if name in SPECIAL:
        only_cuda(scope, name)
        return "int"
    return lookup(name, scope.scalars, "scalar")


def lookup(name: str, names: Mapping[str, str], what: str) -> str:
    if name not in names:
        raise IllFormed(f"{what} {name} is not bound here")
    return names[name]


def seen_by_all(scope: Scope, what: str, array: str) -> None:
    require(array not in scope.shared, f"{what} is not for shared arrays, such as {array}")


def only_cuda(scope: Scope, what: str) -> None:
    require(scope.kind == "cuda", f"{what} occurs in a function of kind {scope.kind}, only cuda has it")


def not_cuda(scope: Scope, what: str) -> None:
    require(scope.kind != "cuda", f"{what} occurs in a function of kind cuda")


def want(what: str, found: str, expected: str) -> None:
    require(found == expected, f"{what} is {found}, not {expected}")


def require(holds: bool, message: str) -> None:
    if not holds:
        raise IllFormed(message)
