"""The state while the types of one top-level form are inferred, and the rules for names.

    inference               the state; names and constants
    inference_patterns      patterns
    inference_calls         applications, operators
    inference_structure     all other expressions, and RULES: the rule for each construct of the syntax

A rule takes an expression and returns its typed form and its type. Types in the typed form may still have variables of
the unifier; typing.inference.resolve replaces them once the whole definition is done.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nessie.base.records import dataclass
from nessie.base.source import Origin, Span
from nessie.base.types import BOOL, CHAR, FLOAT, INT, STRING, Data, Pair, Scheme, Type, Var, instantiate
from nessie.base.widths import Widths
from nessie.library.primitives import ConstantValue
from nessie.syntax import nodes as syntax
from nessie.typing import nodes as typed
from nessie.typing.advice import messages as complaints
from nessie.typing.advice.reasons import because, reasons
from nessie.typing.advice.undefined import undefined
from nessie.typing.environment import Entry, Environment
from nessie.typing.unify import LARGEST, Meeting, Unifier, is_too_large

Result = tuple[typed.Exp, Type]
Rules = Mapping[type, Callable[["Inference", Any], Result]]

SELF = "'self"                  # the function being defined; settle inserts its name and variables


@dataclass(frozen=True)
class Local:
    """A local variable: its type, and the number of lambdas around its binder."""
    type: Type
    depth: int


class Inference:
    """The state while one top-level form is inferred."""

    def __init__(self, environment: Environment, definition: str, rules: Rules) -> None:
        self.environment, self.definition, self.rules = environment, definition, rules
        self.unifier = Unifier()
        self.scope: dict[str, Local] = {}
        self.captured: list[dict[str, typed.Name]] = []         # captured names per enclosing lambda
        self.itself: tuple[str, Entry] | None = None            # the function being defined
        self.lambdas: set[str] = set()                          # the identities of the lambdas met
        self.temporaries = 0

    def exp(self, written: syntax.Exp) -> Result:
        return self.rules[type(written)](self, written)

    def unify(self, needed: Type, present: Type, place: Span | None, declared: bool = False) -> None:
        """Make the type that is needed at this place equal to that of what stands there, or is declared there; or raise
        Clash."""
        self.unifier.meeting = Meeting(needed, present, place, declared)
        self.unifier.unify(needed, present)

    def because(self, subject: str, type_: Type, other: Type, *shown: Span | None) -> tuple[tuple[Span, str], ...]:
        """Return the place with the reason why the subject's type differs from the other type, if it is known and in
        none of the places that the error has shown."""
        return because(reasons(self.unifier, type_), f"{subject} is", self.resolve(type_), self.resolve(other), shown)

    def fresh(self) -> Var:
        return self.unifier.fresh()

    def find(self, type_: Type) -> Type:
        return self.unifier.find(type_)

    def resolve(self, type_: Type) -> Type:
        return self.unifier.resolve(type_)

    def instantiate(self, scheme: Scheme) -> tuple[tuple[Type, ...], Type]:
        types = tuple(self.unifier.fresh(v.cls) for v in scheme.variables)
        return types, instantiate(scheme, types) if types else scheme.type

    def lookup(self, name: str) -> Entry | None:
        if self.itself and self.itself[0] == name:
            return self.itself[1]
        return self.environment.lookup(name)

    @contextmanager
    def binding(self, names: dict[str, Type]) -> Iterator[None]:
        """Bind the names inside the block."""
        before = {name: self.scope.get(name) for name in names}
        self.scope.update({name: Local(type_, len(self.captured)) for name, type_ in names.items()})
        yield
        for name, local in before.items():
            if local is None:
                del self.scope[name]
            else:
                self.scope[name] = local


def refuse_too_large(state: Inference, type_: Type, where: Span | None = None) -> None:
    """Refuse a type that is too large: a few functions that double a type make one that no memory holds."""
    if is_too_large([type_], state.find):
        raise complaints.complaint(f"the type of this has more than {LARGEST:,} parts", (where, ""))

# Names and constants --------------------------------------------------------------------------------


def origin(written: syntax.Exp | syntax.Pattern) -> Origin:
    return (written.span,) if written.span else ()


def number(state: Inference, written: syntax.Number) -> Result:
    type_ = INT if isinstance(written.value, int) else FLOAT
    if isinstance(written.value, int) and not state.environment.in_library:
        in_range(written.value, state.environment.widths, written.span)
    return typed.Const(written.value, type_, origin=origin(written)), type_


def in_range(value: int, widths: Widths, span: Span | None) -> None:
    """Raise the error for an int that the program has no bits for."""
    if not widths.min_int <= value <= widths.max_int:
        bound = f"larger than {widths.max_int}" if value > 0 else f"less than {widths.min_int}"
        raise complaints.complaint(f"this int is {bound}", (span, ""),
                                   hint="ints have 32 bits here: --int 64 gives them 64, and a float has a point: 3e9")


def boolean(state: Inference, written: syntax.Bool) -> Result:
    return typed.Const(written.value, BOOL, origin=origin(written)), BOOL


def character(state: Inference, written: syntax.Char) -> Result:
    return typed.Const(written.value, CHAR, origin=origin(written)), CHAR


def string(state: Inference, written: syntax.String) -> Result:
    return typed.String(written.value, origin=origin(written)), STRING


def name(state: Inference, written: syntax.Name) -> Result:
    local = state.scope.get(written.name)
    if local is not None:
        return capture(state, typed.Name(written.name, local.type, origin=origin(written)), local.depth), local.type
    entry = state.lookup(written.name)
    if entry is None:
        raise undefined(written.name, written.span, [*state.scope, *state.environment.names()])
    return global_name(state, entry, origin(written))


def capture(state: Inference, variable: typed.Name, depth: int) -> typed.Name:
    """Let the lambdas between the variable's binder and this use capture it."""
    for captured in state.captured[depth:]:
        captured.setdefault(variable.name, variable)
    return variable


def global_name(state: Inference, entry: Entry, at: Origin) -> Result:
    types, type_ = state.instantiate(entry.scheme)
    if entry.kind == "constant":
        return constant(state, state.environment.constant(entry.name), type_, at), type_
    if entry.kind == "variable":
        return capture(state, typed.Name(entry.name, type_, origin=at), 0), type_
    return typed.Global(entry.name, types, type_, origin=at), type_


def constant(state: Inference, value: ConstantValue, type_: Type, at: Origin) -> typed.Exp:
    """Return a constant of the library: a scalar, a text, a tuple, or a datatype's constructor applied to an int."""
    if isinstance(value, tuple):
        assert isinstance(type_, Pair)
        return typed.Pair(constant(state, value[0], type_.first, at), constant(state, value[1], type_.second, at),
                          origin=at)
    if type_ == STRING:
        return typed.String(str(value), origin=at)
    if not isinstance(type_, Data):
        return typed.Const(value, type_, origin=at)
    scheme = state.environment.global_scheme(type_.name)
    assert scheme is not None, type_.name
    constructor = typed.Global(type_.name, (), scheme.type, origin=at)
    return typed.Apply(constructor, typed.Const(value, INT, origin=at), type_, origin=at)
