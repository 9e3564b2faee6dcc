"""Unification of types with classes.

Types under inference are ordinary types whose variables are named `?1`, `?2`, ..; the unifier holds their bindings.
Bindings form chains that `find` shortens (union-find), so no substitution is ever applied before the one `resolve` at
the end.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable

from nessie.base.records import dataclass
from nessie.base.source import Span
from nessie.base.types import CLASSES, Base, Data, Fun, Identity, Pair, Seq, Type, Var, is_member

LARGEST = 30_000            # nodes of a type: a function may double its argument's type, recursion may without end


class Clash(Exception):
    """Two types differ, a type is not in a class, or a type would contain itself."""

    def __init__(self, kind: str, left: Type, right: Type) -> None:
        super().__init__(kind)
        self.kind, self.left, self.right = kind, left, right


def meet(one: str, other: str) -> str | None:
    """Return the smaller of two classes, if one contains the other."""
    if one == other or other == "any":
        return one
    if one == "any":
        return other
    first, second = set(CLASSES[one]), set(CLASSES[other])
    return one if first <= second else other if second <= first else None


def parts(type_: Type) -> tuple[Type, ...]:
    """Return the direct parts of the type; a base type or a variable has none."""
    match type_:
        case Seq(element):
            return (element,)
        case Pair(first, second):
            return (first, second)
        case Fun(argument, result, identity):
            return (argument, result, identity)
        case Identity(_, types, captured):
            return types + captured
        case Data(_, arguments):
            return arguments
    return ()


def is_too_large(types: Iterable[Type], find: Callable[[Type], Type] = lambda type_: type_) -> bool:
    """Have the types more than LARGEST nodes in all? `find` returns the known type of one."""
    pending, seen = list(types), 0
    while pending and seen <= LARGEST:
        seen += 1
        pending += parts(find(pending.pop()))
    return bool(pending)


@dataclass(frozen=True)
class Meeting:
    """Two types that must be equal, as one is needed at the place and the other one is that of what stands there, or is
    `declared` there."""
    needed: Type
    present: Type
    place: Span | None
    declared: bool = False


class Unifier:
    """`meeting` is what is unified now. `bound_at` holds, for each bound variable, the type as it came, whether it was
    needed, and where; no chain of these is shortened, so an error can tell how a type came about
    (typing.advice.reasons)."""

    def __init__(self) -> None:
        self.bindings: dict[str, Type] = {}
        self.classes: dict[str, str] = {}
        self.meeting: Meeting | None = None
        self.bound_at: dict[str, tuple[Type, bool, Meeting | None]] = {}

    def fresh(self, cls: str = "any") -> Var:
        variable = Var(f"?{len(self.classes) + 1}", cls)
        self.classes[variable.name] = cls
        return variable

    def find(self, type_: Type) -> Type:
        """Return the type, with its variable replaced if it is bound; only the outermost shape is resolved."""
        if not isinstance(type_, Var) or type_.name not in self.bindings:
            return type_
        chain = []
        while isinstance(type_, Var) and type_.name in self.bindings:
            chain.append(type_.name)
            type_ = self.bindings[type_.name]
        for name in chain:
            self.bindings[name] = type_
        return type_

    def cls(self, variable: Var) -> str:
        return self.classes.get(variable.name, variable.cls)

    def unify(self, left: Type, right: Type) -> None:
        """Make the types equal, or raise Clash."""
        while True:
            needed, present = left, right
            left, right = self.find(left), self.find(right)
            if left is right:
                return
            match left, right:
                case Var(), _:
                    return self.bind(left, right, present, False)
                case _, Var():
                    return self.bind(right, left, needed, True)
                case Base(a), Base(b) if a == b:
                    return None
                case Seq(a), Seq(b):
                    left, right = a, b
                case Pair(a, left_second), Pair(b, right_second):
                    self.unify(a, b)
                    left, right = left_second, right_second
                case Fun(), Fun():
                    self.unify(left.argument, right.argument)
                    self.unify(left.result, right.result)
                    left, right = left.identity, right.identity
                case Data(a, items), Data(b, others) if a == b and len(items) == len(others):
                    return self.unify_all(items, others)
                case Identity(a), Identity(b) if a == b and len(left.types) == len(right.types):
                    return self.unify_all(left.types + left.captured, right.types + right.captured)
                case _:
                    raise Clash("mismatch", left, right)

    def unify_all(self, lefts: tuple[Type, ...], rights: tuple[Type, ...]) -> None:
        for left, right in zip(lefts, rights, strict=True):
            self.unify(left, right)

    def bind(self, variable: Var, type_: Type, came: Type, needed: bool) -> None:
        """Bind the variable to the type, which `came` stands for and which is `needed`, or else present."""
        cls = self.cls(variable)
        match type_:
            case Var(name):
                if name == variable.name:
                    return
                smaller = meet(cls, self.cls(type_))
                if smaller is None:
                    raise Clash("class", variable, type_)
                self.classes[name] = smaller
            case Base(name) if is_member(name, cls):
                pass
            case _ if cls != "any":
                raise Clash("class", variable, type_)
            case _ if self.occurs(variable.name, type_):
                raise Clash("infinite", variable, type_)
        self.bindings[variable.name] = type_
        self.bound_at[variable.name] = came, needed, self.meeting

    def occurs(self, name: str, type_: Type) -> bool:
        """Is the variable part of the type?"""
        pending = [type_]
        while pending:
            type_ = self.find(pending.pop())
            if isinstance(type_, Var) and type_.name == name:
                return True
            pending += parts(type_)
        return False

    def resolve(self, type_: Type) -> Type:
        """Return the type as far as it is known; unknown variables carry their class."""
        type_ = self.find(type_)
        match type_:
            case Var(name):
                return Var(name, self.cls(type_))
            case Seq(element):
                return Seq(self.resolve(element))
            case Pair(first, second):
                return Pair(self.resolve(first), self.resolve(second))
            case Fun(argument, result, identity):
                return Fun(self.resolve(argument), self.resolve(result), self.resolve(identity))
            case Identity(name, types, captured):
                return Identity(name, tuple([self.resolve(t) for t in types]),
                                tuple([self.resolve(t) for t in captured]))
            case Data(name, arguments):
                return Data(name, tuple([self.resolve(a) for a in arguments]))
        return type_
