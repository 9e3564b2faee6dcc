"""Infers the types of the arguments of a call from all of them, before the value of any is made.

  in    for each argument, the type of a NESL expression, or parts that may fit several types (files.parts); the
        types of the parameters, whose variables the arguments share
  out   a type for each argument, without variables
  how   types of expressions are unified with those of their parameters. Every other argument is opened as far as its
        type is known: its parts get the parts of that type. When only variables are left, one is bound to a type of
        its class: the first that is likely for one of its parts and possible for all of them. So a number without a
        point is an int, or a float if another number of the same type has one. A variable without any information
        becomes the first type of its class, int if it may be any.

If there are no such types, the error names the arguments that disagree.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import combinations

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span
from nessie.base.types import (
    CLASSES,
    Base,
    ContentOf,
    Data,
    Pair,
    Seq,
    Type,
    Var,
    components,
    free_variables,
    nest_right,
    show_type,
    substitute,
)
from nessie.files.parts import File, Misfit, Part, misfit
from nessie.typing.advice.hints import floats_hint, point_hint
from nessie.typing.unify import Clash, Unifier


@dataclass(frozen=True)
class Written:
    """An argument that is an expression of this type."""
    type: Type
    span: Span | None = None


@dataclass(frozen=True)
class GivenArgument:
    """An argument: a file, which says itself what is wrong with it; an expression or a value of Python's, of which
    inference says it. Messages call it `name`."""
    name: str
    held: Written | Part
    file: File | None = None


@dataclass(frozen=True)
class Parameters:
    """The parameters of a function. `takes`: the text of messages for them; a type is None where it is unknown."""
    takes: str
    types: Sequence[Type | None]
    content: ContentOf
    fitting: set[tuple[Type, ...]] = field(default_factory=set, compare=False)     # arguments' types known to fit


def types_of(given: Sequence[GivenArgument], wanted: Parameters) -> list[Type]:
    """The types of the arguments. An argument that does not fit its parameter gets the type that it has by itself, and
    inference will report it."""
    try:
        return solved(given, wanted.types, wanted.content)
    except Misfit:
        pass
    alone, fitting = list[Type](), list[int]()
    for place, (one, type_) in enumerate(zip(given, wanted.types, strict=True)):
        try:
            alone += solved([one], [type_], wanted.content)
            fitting.append(place)
        except Misfit as why:
            if one.file is not None:
                raise one.file.complaint(type_ or Var("a"), wanted.content, why) from None
            alone += solved([one], [None], wanted.content)
    groups = [list(pair) for pair in combinations(fitting, 2)] + [fitting]
    for group in groups:
        some = [given[place] for place in group]
        try:
            solved(some, [wanted.types[place] for place in group], wanted.content)
        except Misfit:
            if not all(isinstance(one.held, Written) for one in some):
                raise disagreement(some, [alone[place] for place in group], wanted) from None
            break
    return alone


def disagreement(given: Sequence[GivenArgument], types: Sequence[Type], wanted: Parameters) -> NessieError:
    parts = [f"{one.name} is {show_type(type_, False)}" for one, type_ in zip(given, types, strict=True)]
    places = [(one.held.span, f"this is {show_type(type_, False)}") for one, type_ in zip(given, types, strict=True)
              if isinstance(one.held, Written) and one.held.span is not None]
    written = [(one.held.span if isinstance(one.held, Written) else None, type_)
               for one, type_ in zip(given, types, strict=True)]
    return NessieError(f"{wanted.takes}, but {', '.join(parts[:-1])} and {parts[-1]}", *places,
                       hint=floats_hint(Var("a"), written) or point_hint(written))


# Solving ----------------------------------------------------------------------------------------


def solved(given: Sequence[GivenArgument], wanted: Sequence[Type | None], content: ContentOf) -> list[Type]:
    """The types of all arguments together. Misfit if there are none."""
    solver = Solver(content)
    named: dict[str, Type] = {}
    types = [solver.renamed(type_, named) if type_ is not None else solver.unifier.fresh() for type_ in wanted]
    for one, type_ in zip(given, types, strict=True):
        if isinstance(one.held, Written):
            solver.unify(solver.renamed(one.held.type, {}), type_)
    for one, type_ in zip(given, types, strict=True):
        if not isinstance(one.held, Written):
            solver.open([(one.held, type_)])
    while solver.choose():
        pass
    return [closed(solver.unifier.resolve(type_)) for type_ in types]


class Solver:
    """The unification of the arguments' types. `waiting`: parts whose type is still a variable."""

    def __init__(self, content: ContentOf) -> None:
        self.content = content
        self.unifier = Unifier()
        self.waiting: list[tuple[Part, Type]] = []

    def renamed(self, type_: Type, named: dict[str, Type]) -> Type:
        """The type with fresh variables of the unifier. `named` maps names to them, and is extended."""
        for variable in free_variables(type_):
            if variable.name not in named:
                named[variable.name] = self.unifier.fresh(variable.cls)
        return substitute(type_, named)

    def unify(self, one: Type, other: Type) -> None:
        try:
            self.unifier.unify(one, other)
        except Clash as clash:
            raise Misfit(clash.kind) from None

    def open(self, parts: Sequence[tuple[Part, Type]]) -> None:
        """Give the parts, and the parts inside them, their types, as far as these are known."""
        pending = list(parts)
        while pending:
            part, type_ = pending.pop()
            type_ = self.unifier.resolve(type_)
            if isinstance(type_, Var):
                self.waiting.append((part, type_))
            else:
                pending += part.inside(type_, self.content)

    def choose(self) -> bool:
        """Bind a variable to the first type that is likely for one of its parts and possible for all of them. False if
        no variable has a likely type."""
        by_name: dict[str, tuple[Var, list[Part]]] = {}
        for part, variable in self.waiting:
            assert isinstance(variable, Var)
            by_name.setdefault(variable.name, (variable, []))[1].append(part)
        for variable, parts in by_name.values():
            likely = [type_ for part in parts for type_ in part.likely()]
            if likely:
                self.waiting = [(part, other) for part, other in self.waiting if other != variable]
                self.bind(variable, parts, likely)
                return True
        return False

    def bind(self, variable: Var, parts: Sequence[Part], likely: Sequence[Type]) -> None:
        for shape in dict.fromkeys(likely):
            if CLASSES[variable.cls] and not (isinstance(shape, Base) and shape.name in CLASSES[variable.cls]):
                continue
            type_ = self.filled(shape)
            try:
                inside = [found for part in parts for found in part.inside(type_, self.content)]
            except Misfit:
                continue
            self.unifier.bind(variable, type_, type_, needed=False)
            self.open(inside)
            return
        raise misfit(likely[0], variable)

    def filled(self, shape: Type) -> Type:
        """The shape with a fresh variable at each place."""
        match shape:
            case Var():
                return self.unifier.fresh()
            case Seq(element):
                return Seq(self.filled(element))
            case Pair():
                return nest_right([self.filled(type_) for type_ in components(shape)], Pair)
            case Data(name, arguments):
                return Data(name, tuple([self.filled(argument) for argument in arguments]))
        return shape


def closed(type_: Type) -> Type:
    """The type with each variable replaced by the first type of its class; int for one that may be anything."""
    return substitute(type_, {v.name: Base((CLASSES[v.cls] or ("int",))[0]) for v in free_variables(type_)})
