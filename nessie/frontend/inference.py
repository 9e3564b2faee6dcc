"""The types of expressions: one rule per construct of the syntax.

A rule takes an expression and gives its typed form and its type. Types in the typed form may still have variables of
the unifier; frontend.settle puts in what became of them once the whole definition is done.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from nessie.base.source import Origin, Span
from nessie.base.types import BOOL, CHAR, FLOAT, INT, STRING, Data, Fun, Identity, Pair, Scheme, Seq, Type, Var
from nessie.frontend import complaints, signatures, syntax, typed
from nessie.frontend.environment import Entry, Environment
from nessie.frontend.primitives import BINARY, CONSTANTS, UNARY
from nessie.frontend.types_text import instantiate
from nessie.frontend.unify import Clash, Unifier

Result = tuple[typed.Exp, Type]

MIN_INT = -2 ** 63              # its own negation: the parser reads the number in -9223372036854775808 as it
SELF = "'self"                  # the function being defined; settle puts in its name and variables


@dataclass(frozen=True)
class Local:
    """A local variable: its type, and how many lambdas are around its binder."""
    type: Type
    depth: int


class Inference:
    """The state while one top-level form is inferred."""

    def __init__(self, environment: Environment, definition: str) -> None:
        self.environment, self.definition = environment, definition
        self.unifier = Unifier()
        self.scope: dict[str, Local] = {}
        self.captured: list[dict[str, typed.Name]] = []         # per enclosing lambda: what it captures
        self.itself: tuple[str, Entry] | None = None            # the function being defined
        self.lambdas: set[str] = set()                          # the identities of the lambdas met
        self.temporaries = 0

    def exp(self, written: syntax.Exp) -> Result:
        return RULES[type(written)](self, written)

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
        """The names are bound inside."""
        before = {name: self.scope.get(name) for name in names}
        self.scope.update({name: Local(type_, len(self.captured)) for name, type_ in names.items()})
        yield
        for name, local in before.items():
            if local is None:
                del self.scope[name]
            else:
                self.scope[name] = local

# Names and constants --------------------------------------------------------------------------------


def origin(written: syntax.Exp | syntax.Pattern) -> Origin:
    return (written.span,) if written.span else ()


def number(state: Inference, written: syntax.Number) -> Result:
    type_ = INT if isinstance(written.value, int) else FLOAT
    return typed.Const(written.value, type_, origin(written)), type_


def boolean(state: Inference, written: syntax.Bool) -> Result:
    return typed.Const(written.value, BOOL, origin(written)), BOOL


def character(state: Inference, written: syntax.Char) -> Result:
    return typed.Const(written.value, CHAR, origin(written)), CHAR


def string(state: Inference, written: syntax.String) -> Result:
    return typed.String(written.value, origin(written)), STRING


def name(state: Inference, written: syntax.Name) -> Result:
    local = state.scope.get(written.name)
    if local is not None:
        return capture(state, typed.Name(written.name, local.type, origin(written)), local.depth), local.type
    entry = state.lookup(written.name)
    if entry is None:
        raise complaints.unbound(written.name, written.span, [*state.scope, *state.environment.names()])
    return global_name(state, entry, origin(written))


def capture(state: Inference, variable: typed.Name, depth: int) -> typed.Name:
    """The lambdas between the variable's binder and this use capture it."""
    for captured in state.captured[depth:]:
        captured.setdefault(variable.name, variable)
    return variable


def global_name(state: Inference, entry: Entry, at: Origin) -> Result:
    types, type_ = state.instantiate(entry.scheme)
    if entry.kind == "constant":
        return typed.Const(CONSTANTS[entry.name][0], type_, at), type_
    if entry.kind == "variable":
        return capture(state, typed.Name(entry.name, type_, at), 0), type_
    return typed.Global(entry.name, types, type_, at), type_

# Application ----------------------------------------------------------------------------------------


def builtin(state: Inference, function: str, shown: str, arguments: tuple[syntax.Exp, ...],
            span: Span | None) -> Result:
    """A function of the library, whatever the program calls by its name now, applied by syntax of its own."""
    entry = state.environment.builtin(function)
    assert entry is not None, function
    at = (span,) if span else ()
    applied, type_ = global_name(state, entry, at)
    return call(state, shown, (applied, type_, None), [(state.exp(a), a.span) for a in arguments], at)


Argument = tuple[Result, "Span | None"]


def call(state: Inference, shown: str, function: tuple[typed.Exp, Type, Span | None], arguments: list[Argument],
         at: Origin) -> Result:
    """The function applied to the tuple of the arguments."""
    applied, type_, span = function
    assert isinstance(type_, Fun)
    argument, argument_type = tuple_of([result for result, _ in arguments])
    expected = type_.argument
    try:
        state.unifier.unify(expected, argument_type)
    except Clash as clash:
        if isinstance(applied, typed.Global) and applied.name != SELF:
            scheme = state.environment.global_scheme(applied.name)
            expected = scheme.type.argument if scheme and isinstance(scheme.type, Fun) else expected
        parts = [(place, state.resolve(t)) for (_, t), place in arguments]
        raise complaints.wrong_argument(shown, state.resolve(expected), parts, clash, span) from None
    return typed.Apply(applied, argument, type_.result, at), type_.result


def tuple_of(items: list[Result]) -> Result:
    """A tuple: pairs nested to the right."""
    value, type_ = items[-1]
    for first, first_type in reversed(items[:-1]):
        value, type_ = typed.Pair(first, value, first.origin), Pair(first_type, type_)
    return value, type_


def spine(written: syntax.Exp) -> list[syntax.Exp]:
    """The components of a tuple."""
    items = []
    while isinstance(written, syntax.Pair):
        items.append(written.first)
        written = written.second
    return [*items, written]


def apply(state: Inference, written: syntax.Apply) -> Result:
    function, type_ = state.exp(written.function)
    items = spine(written.argument)
    entry = callee(state, written.function)
    if entry is not None and entry.defaults:
        items = with_defaults(entry, items, written)
    arguments = [(state.exp(item), item.span) for item in items]
    type_ = state.find(type_)
    if isinstance(type_, Var):
        shape = Fun(state.fresh(), state.fresh(), state.fresh())
        try:
            state.unifier.unify(type_, shape)
        except Clash:
            raise complaints.not_a_function(state.resolve(type_), written.function, written.argument) from None
        type_ = shape
    if not isinstance(type_, Fun):
        raise complaints.not_a_function(state.resolve(type_), written.function, written.argument)
    shown = written.function.name if isinstance(written.function, syntax.Name) else "the function"
    return call(state, shown, (function, type_, written.function.span), arguments, origin(written))


def callee(state: Inference, function: syntax.Exp) -> Entry | None:
    """The global function that is called by name, if it is one."""
    if isinstance(function, syntax.Name) and function.name not in state.scope:
        return state.lookup(function.name)
    return None


def with_defaults(entry: Entry, items: list[syntax.Exp], written: syntax.Apply) -> list[syntax.Exp]:
    """The arguments, with the defaults of those left out."""
    given: list[syntax.Exp] = [item for item in items if not isinstance(item, syntax.Default)]
    named = {item.name: item for item in items if isinstance(item, syntax.Default)}
    names = [parameter for parameter, _ in entry.defaults]
    for item in named.values():
        if item.name not in names:
            raise complaints.complaint(f"{entry.name} has no default argument {item.name}", (item.span, ""),
                                       hint=f"it has {', '.join(names)}")
    missing = entry.arity - len(given)
    if not 0 <= missing <= len(names):
        return items
    for parameter, value in entry.defaults[len(names) - missing:]:
        given.append(named.pop(parameter).value if parameter in named else value)
    for item in named.values():
        raise complaints.complaint(f"{item.name} is given twice", (item.span, ""), (written.span, ""))
    return given


def default(state: Inference, written: syntax.Default) -> Result:
    raise complaints.complaint(f"{written.name} is no default argument of what is called here", (written.span, ""),
                               hint="name := value stands in the call of a function with default arguments only")


def closure(state: Inference, written: syntax.Closure) -> Result:
    function, type_ = state.exp(written.function)
    argument, argument_type = state.exp(written.argument)
    rest, result = state.fresh(), state.fresh()
    try:
        state.unifier.unify(type_, Fun(Pair(argument_type, rest), result, state.fresh()))
    except Clash:
        raise complaints.complaint(
            "closure(f,x) needs a function of two arguments and its first argument",
            (written.function.span, complaints.of_type(state.resolve(type_))),
            (written.argument.span, complaints.of_type(state.resolve(argument_type)))) from None
    made = Fun(rest, result, Identity("closure", (), (type_, argument_type)))
    return typed.Closure(function, argument, made, origin(written)), made

# Operators ------------------------------------------------------------------------------------------


def unary(state: Inference, written: syntax.Unary) -> Result:
    match written:
        case syntax.Unary("-", syntax.Number(int() as value)):
            return number(state, syntax.Number(value if value == MIN_INT else -value, written.span))
    return builtin(state, UNARY[written.op], written.op, (written.operand,), written.span)


def binary(state: Inference, written: syntax.Binary) -> Result:
    match written:
        case syntax.Binary("^", base, syntax.Number(2 | 3 as exponent)) if isinstance(exponent, int):
            return product_power(state, base, exponent, written)
    function = BINARY.get(written.op, written.op)
    return builtin(state, function, written.op, (written.left, written.right), written.span)


def product_power(state: Inference, base: syntax.Exp, exponent: int, written: syntax.Binary) -> Result:
    """x^2 and x^3 are products."""
    value, type_ = state.exp(base)
    state.temporaries += 1
    temporary = f"x'{state.temporaries}"
    at = origin(written)
    power: Result = (typed.Name(temporary, type_, at), type_)
    for _ in range(exponent - 1):
        entry = state.environment.builtin("*")
        assert entry is not None
        function, function_type = global_name(state, entry, at)
        factor: Result = (typed.Name(temporary, type_, at), type_)
        power = call(state, "^", (function, function_type, None), [(power, base.span), (factor, None)], at)
    return typed.Let(typed.NamePattern(temporary, type_), value, power[0], at), type_


def index(state: Inference, written: syntax.Index) -> Result:
    return builtin(state, "elt", "v[i]", (written.sequence, written.index), written.span)


def range_(state: Inference, written: syntax.Range) -> Result:
    stride = written.stride or syntax.Number(1, written.span)
    return builtin(state, "iseq", "[s:e:d]", (written.start, stride, written.end), written.span)

# Structure ------------------------------------------------------------------------------------------


def pair(state: Inference, written: syntax.Pair) -> Result:
    items = [state.exp(item) for item in spine(written)]
    return tuple_of(items)


def sequence(state: Inference, written: syntax.Sequence) -> Result:
    first, element_type = state.exp(written.elements[0])
    elements = [first]
    for item in written.elements[1:]:
        element, type_ = state.exp(item)
        try:
            state.unifier.unify(element_type, type_)
        except Clash as clash:
            raise complaints.elements_differ(written.elements[0], state.resolve(element_type), item,
                                             state.resolve(type_), clash) from None
        elements.append(element)
    return typed.Sequence(tuple(elements), Seq(element_type), origin(written)), Seq(element_type)


def empty(state: Inference, written: syntax.Empty) -> Result:
    type_ = Seq(signatures.to_type(written.element, {}, state.environment, None))
    return typed.Sequence((), type_, origin(written)), type_


def if_(state: Inference, written: syntax.If) -> Result:
    condition = condition_of(state, "the condition of if", written.condition)
    then, then_type = state.exp(written.then)
    orelse, else_type = state.exp(written.orelse)
    try:
        state.unifier.unify(then_type, else_type)
    except Clash as clash:
        raise complaints.branches_differ(written, state.resolve(then_type), state.resolve(else_type), clash) from None
    return typed.If(condition, then, orelse, origin(written)), then_type


def condition_of(state: Inference, what: str, written: syntax.Exp) -> typed.Exp:
    condition, type_ = state.exp(written)
    try:
        state.unifier.unify(type_, BOOL)
    except Clash:
        raise complaints.not_bool(what, written, state.resolve(type_)) from None
    return condition


def let(state: Inference, written: syntax.Let) -> Result:
    return bindings(state, written, 0)


def bindings(state: Inference, written: syntax.Let, position: int) -> Result:
    """The let from this binding on."""
    if position == len(written.bindings):
        return state.exp(written.body)
    bound = written.bindings[position]
    value, type_ = state.exp(bound.value)
    names: dict[str, Type] = {}
    matched = pattern(state, bound.pattern, type_, names, bound.value.span)
    with state.binding(names):
        body, result = bindings(state, written, position + 1)
    return typed.Let(matched, value, body, origin(written)), result


def lambda_(state: Inference, written: syntax.Lambda) -> Result:
    parameter: Type = state.fresh()
    names: dict[str, Type] = {}
    state.captured.append({})
    matched = pattern(state, written.pattern, parameter, names, None)
    with state.binding(names):
        body, result = state.exp(written.body)
    captured = tuple(state.captured.pop().values())
    state.environment.lambdas += 1
    identity = Identity(f"{state.definition}'fn{state.environment.lambdas}", (), tuple(v.type for v in captured))
    state.lambdas.add(identity.name)
    type_ = Fun(parameter, result, identity)
    return typed.Lambda(matched, body, captured, type_, origin(written)), type_


def time(state: Inference, written: syntax.Time) -> Result:
    body, type_ = state.exp(written.body)
    return typed.Time(body, origin(written)), Pair(type_, FLOAT)


def each(state: Inference, written: syntax.Each) -> Result:
    names: dict[str, Type] = {}
    generators = []
    body, patterns = written.body, [generator.pattern for generator in written.generators]
    if body is None:
        patterns[0] = without_wildcards(state, patterns[0])
        body = pattern_exp(patterns[0])
    for generator, bound in zip(written.generators, patterns, strict=True):
        source = generator.source or pattern_exp(generator.pattern)
        value, type_ = state.exp(source)
        element: Type = state.fresh()
        try:
            state.unifier.unify(type_, Seq(element))
        except Clash:
            raise complaints.not_a_sequence(source, state.resolve(type_)) from None
        generators.append(typed.Generator(pattern(state, bound, element, names, source.span), value))
    with state.binding(names):
        kept = condition_of(state, "the filter", written.filter) if written.filter is not None else None
        result, result_type = state.exp(body)
    return (typed.Each(result, tuple(generators), kept, written.serial, origin(written)), Seq(result_type))


def without_wildcards(state: Inference, written: syntax.Pattern) -> syntax.Pattern:
    """The pattern with a name for each `_`, so that an expression can build what it matches."""
    match written:
        case syntax.NamePattern("_"):
            state.temporaries += 1
            return replace(written, name=f"x'{state.temporaries}")
        case syntax.PairPattern(first, second):
            first = without_wildcards(state, first)
            return replace(written, first=first, second=without_wildcards(state, second))
        case syntax.DataPattern(_, argument):
            return replace(written, argument=without_wildcards(state, argument))
    return written


def pattern_exp(written: syntax.Pattern) -> syntax.Exp:
    """The expression that builds what the pattern matches."""
    match written:
        case syntax.NamePattern(name, _, span):
            return syntax.Name(name, span)
        case syntax.PairPattern(first, second, span):
            return syntax.Pair(pattern_exp(first), pattern_exp(second), span)
        case syntax.DataPattern(constructor, argument, span):
            return syntax.Apply(syntax.Name(constructor, span), pattern_exp(argument), span)
    raise TypeError(written)

# Patterns -------------------------------------------------------------------------------------------


def pattern(state: Inference, written: syntax.Pattern, type_: Type, names: dict[str, Type],
            value: Span | None) -> typed.Pattern:
    """The typed pattern for a value of this type; puts what it binds into `names`."""
    match written:
        case syntax.NamePattern(name):
            if name in names:
                raise complaints.complaint(f"{name} is bound twice", (written.span, "bound here again"))
            if name != "_":
                names[name] = type_
            return typed.NamePattern(name, type_)
        case syntax.PairPattern(first, second):
            shape = Pair(state.fresh(), state.fresh())
            fit(state, written, "a pair", shape, type_, value)
            left = pattern(state, first, shape.first, names, value)
            return typed.PairPattern(left, pattern(state, second, shape.second, names, value))
        case syntax.DataPattern(constructor, argument):
            types, made = data_shape(state, written)
            assert isinstance(made.result, Data)
            fit(state, written, f"a {constructor}", made.result, type_, value)
            inner = pattern(state, argument, made.argument, names, value)
            return typed.DataPattern(made.result.name, types, inner)
    raise TypeError(written)


def data_shape(state: Inference, written: syntax.DataPattern) -> tuple[tuple[Type, ...], Fun]:
    """The types that the pattern's constructor is at, and its type there."""
    entry = state.lookup(written.constructor)
    if entry is None:
        raise complaints.unbound(written.constructor, written.span, state.environment.names())
    if entry.kind != "constructor":
        raise complaints.complaint(f"{written.constructor} is not a datatype", (written.span, ""))
    types, type_ = state.instantiate(entry.scheme)
    assert isinstance(type_, Fun)
    return types, type_


def fit(state: Inference, written: syntax.Pattern, shape: str, expected: Type, actual: Type,
        value: Span | None) -> None:
    try:
        state.unifier.unify(expected, actual)
    except Clash:
        raise complaints.no_match(written, shape, state.resolve(actual), value) from None


RULES: dict[type, Callable[[Inference, Any], Result]] = {
    syntax.Number: number, syntax.Bool: boolean, syntax.Char: character, syntax.String: string, syntax.Name: name,
    syntax.Unary: unary, syntax.Binary: binary, syntax.Pair: pair, syntax.Apply: apply, syntax.Index: index,
    syntax.If: if_, syntax.Let: let, syntax.Lambda: lambda_, syntax.Sequence: sequence, syntax.Empty: empty,
    syntax.Range: range_, syntax.Each: each, syntax.Time: time, syntax.Closure: closure, syntax.Default: default,
}
