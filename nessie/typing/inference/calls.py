"""The rules for applications: of functions, and of operators in the syntax."""
from __future__ import annotations

from dataclasses import replace

from nessie.base.ints import MIN_INT
from nessie.base.source import NessieError, Origin, Span
from nessie.base.types import FLOAT, Fun, Identity, Pair, Seq, Type, Var, components, nest_right, unnest_right
from nessie.library.primitives import BINARY, UNARY
from nessie.syntax import nodes as syntax
from nessie.typing import nodes as typed
from nessie.typing.advice import messages as complaints
from nessie.typing.advice.hints import named
from nessie.typing.advice.reasons import because, difference, reasons
from nessie.typing.environment import Entry
from nessie.typing.inference.state import SELF, Inference, Result, global_name, number, origin, refuse_too_large
from nessie.typing.unify import Clash

Argument = tuple[Result, "Span | None"]


def builtin(state: Inference, function: str, shown: str, arguments: tuple[syntax.Exp, ...],
            span: Span | None) -> Result:
    """Apply a function of the library by syntax of its own, even if the program has redefined the function's name."""
    entry = state.environment.builtin(function)
    assert entry is not None, function
    at = (span,) if span else ()
    applied, type_ = global_name(state, entry, at)
    return call(state, shown, (applied, type_, None), [(state.exp(a), a.span) for a in arguments], at)


def call(state: Inference, shown: str, function: tuple[typed.Exp, Type, Span | None], arguments: list[Argument],
         at: Origin) -> Result:
    """Apply the function to the tuple of the arguments."""
    applied, type_, _ = function
    assert isinstance(type_, Fun)
    argument, _ = tuple_of([result for result, _ in arguments])
    try:
        fit(state, type_.argument, arguments)
    except Clash as clash:
        raise wrong_argument(state, shown, function, arguments, clash) from None
    refuse_too_large(state, type_.result, *at)
    return typed.Apply(applied, argument, type_.result, origin=at), type_.result


def fit(state: Inference, needed: Type, arguments: list[Argument]) -> None:
    """Unify the type of a function's parameter with those of the arguments, one by one, or raise Clash."""
    for position, ((_, type_), place) in enumerate(arguments):
        shape = state.find(needed)
        if position == len(arguments) - 1 or not isinstance(shape, Pair):
            rest = tuple_of([result for result, _ in arguments[position:]])
            return state.unify(needed, rest[1], place)
        state.unify(shape.first, type_, place)
        needed = shape.second


def wrong_argument(state: Inference, shown: str, function: tuple[typed.Exp, Type, Span | None],
                   arguments: list[Argument], clash: Clash) -> NessieError:
    """Return the error of a call whose arguments do not fit, with the reasons for the types on both sides."""
    applied, type_, span = function
    assert isinstance(type_, Fun)
    expected, told = type_.argument, reasons(state.unifier, type_.argument)
    if isinstance(applied, typed.Global) and applied.name != SELF:
        scheme, entry = state.environment.global_scheme(applied.name), state.lookup(shown)
        expected = scheme.type.argument if scheme and isinstance(scheme.type, Fun) else expected
        told = entry.reasons if entry else told
    needed, parts = state.resolve(expected), [(place, state.resolve(t)) for (_, t), place in arguments]
    error = complaints.wrong_function(shown, needed, [given for (given, _), _ in arguments], parts, span)
    if error is not None:
        return error
    error = complaints.wrong_argument(shown, needed, parts, clash, span)
    if len(components(needed)) != len(parts):           # that says enough
        return error
    spans, present = [place for place, _ in parts], nest_right([t for _, t in parts], Pair)
    error.places += because(told, f"{shown} takes", needed, present, spans)
    if len(parts) == 2 and difference(present, needed) is None:         # they do not fit each other
        (first, one), (second, other) = parts
        error.places += state.because(named(first), arguments[0][0][1], other, *spans)
        error.places += state.because(named(second), arguments[1][0][1], one, *spans)
        return error
    while len(parts) > 1 and isinstance(needed, Pair) and difference(parts[0][1], needed.first) is None:
        needed, arguments, parts = needed.second, arguments[1:], parts[1:]
    due = needed.first if len(parts) > 1 and isinstance(needed, Pair) else needed
    error.places += state.because(named(parts[0][0]), arguments[0][0][1], due, *spans)
    return error


def tuple_of(items: list[Result]) -> Result:
    """Return the tuple of the items: pairs nested to the right."""
    return nest_right(items, pair_of)


def pair_of(first: Result, second: Result) -> Result:
    return typed.Pair(first[0], second[0], origin=first[0].origin), Pair(first[1], second[1])


def apply(state: Inference, written: syntax.Apply) -> Result:
    function, type_ = state.exp(written.function)
    items = unnest_right(written.argument, syntax.Pair)
    entry = callee(state, written.function)
    if entry is not None and entry.defaults:
        items = with_defaults(entry, items, written)
    type_ = state.find(type_)
    arguments: list[Argument] = []
    for item in items:
        if entry is not None and isinstance(type_, Fun) and any(item is value for _, value in entry.defaults):
            item = converted(state, item, type_.argument, arguments)
        arguments.append((state.exp(item), item.span))
    if isinstance(type_, Var):
        shape = Fun(state.fresh(), state.fresh(), state.fresh())
        try:
            state.unify(shape, type_, written.function.span)
        except Clash:
            raise not_a_function(state, written, type_, arguments) from None
        type_ = shape
    if not isinstance(type_, Fun):
        raise not_a_function(state, written, type_, arguments)
    shown = written.function.name if isinstance(written.function, syntax.Name) else "the function"
    return call(state, shown, (function, type_, written.function.span), arguments, origin(written))


def not_a_function(state: Inference, written: syntax.Apply, type_: Type, arguments: list[Argument]) -> NessieError:
    argument = nest_right([state.resolve(t) for (_, t), _ in arguments], Pair)
    error = complaints.not_a_function(state.resolve(type_), written.function, written.argument, argument)
    name = written.function.name if isinstance(written.function, syntax.Name) else ""
    hidden = state.lookup(name) if name in state.scope else None
    if hidden is not None and hidden.kind in ("function", "primitive", "constructor"):
        error.hint = f"this {name} hides the function {name}: give the variable another name"
    return error


def callee(state: Inference, function: syntax.Exp) -> Entry | None:
    """Return the entry of the global function that is called by name, if it is one."""
    if isinstance(function, syntax.Name) and function.name not in state.scope:
        return state.lookup(function.name)
    return None


def with_defaults(entry: Entry, items: list[syntax.Exp], written: syntax.Apply) -> list[syntax.Exp]:
    """Return the arguments, with the defaults of those left out."""
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


def converted(state: Inference, value: syntax.Exp, needed: Type, arguments: list[Argument]) -> syntax.Exp:
    """Return the default that follows these arguments: an int as a float where they are such that a float is due."""
    if not isinstance(value, syntax.Number) or isinstance(value.value, float):
        return value
    found: dict[Type, Type] = {}
    for (_, type_), _ in arguments:
        needed = state.find(needed)
        if not isinstance(needed, Pair):
            return value
        note_matches(state, needed.first, type_, found)
        needed = needed.second
    needed = state.find(needed)
    wanted = state.find(needed.first) if isinstance(needed, Pair) else needed
    return replace(value, value=float(value.value)) if found.get(wanted, wanted) == FLOAT else value


def note_matches(state: Inference, needed: Type, given: Type, found: dict[Type, Type]) -> None:
    """Note which types stand for the variables of the needed type in the given one."""
    waiting = [(needed, given)]
    while waiting:
        needed, given = map(state.find, waiting.pop())
        match needed, given:
            case Var(), _:
                found.setdefault(needed, given)
            case Seq(a), Seq(b):
                waiting.append((a, b))
            case Pair(a, b), Pair(c, d):
                waiting += [(a, c), (b, d)]


def default(state: Inference, written: syntax.Default) -> Result:
    raise complaints.complaint(f"{written.name} is no default argument of what is called here", (written.span, ""),
                               hint="name := value stands in the call of a function with default arguments only")


def closure(state: Inference, written: syntax.Closure) -> Result:
    function, type_ = state.exp(written.function)
    argument, argument_type = state.exp(written.argument)
    rest, result = state.fresh(), state.fresh()
    try:
        state.unify(Fun(Pair(argument_type, rest), result, state.fresh()), type_, written.span)
    except Clash:
        raise complaints.complaint(
            "closure(f,x) needs a function of two arguments and its first argument",
            (written.function.span, complaints.of_type(state.resolve(type_))),
            (written.argument.span, complaints.of_type(state.resolve(argument_type)))) from None
    made = Fun(rest, result, Identity("closure", (), (type_, argument_type)))
    return typed.Closure(function, argument, made, origin=origin(written)), made

# Operators ----------------------------------------------------------------------------------------


def unary(state: Inference, written: syntax.Unary) -> Result:
    match written:
        case syntax.Unary("-", syntax.Number(int() as value)):
            # MIN_INT is its own negation: the parser reads the number in -9223372036854775808 as it
            return number(state, syntax.Number(value if value == MIN_INT else -value, span=written.span))
    return builtin(state, UNARY[written.op], written.op, (written.operand,), written.span)


def binary(state: Inference, written: syntax.Binary) -> Result:
    match written:
        case syntax.Binary("^", base, syntax.Number(2 | 3 as exponent)) if isinstance(exponent, int):
            return product_power(state, base, exponent, written)
        case syntax.Binary("^", syntax.Number(2 as base), exponent) if isinstance(base, int):
            return builtin(state, "_power_of_two", "^", (exponent,), written.span)
    function = BINARY.get(written.op, written.op)
    return builtin(state, function, written.op, (written.left, written.right), written.span)


def product_power(state: Inference, base: syntax.Exp, exponent: int, written: syntax.Binary) -> Result:
    """Translate x^2 and x^3 to products."""
    value, type_ = state.exp(base)
    state.temporaries += 1
    temporary = f"x'{state.temporaries}"
    at = origin(written)
    power: Result = (typed.Name(temporary, type_, origin=at), type_)
    for _ in range(exponent - 1):
        entry = state.environment.builtin("*")
        assert entry is not None
        function, function_type = global_name(state, entry, at)
        factor: Result = (typed.Name(temporary, type_, origin=at), type_)
        power = call(state, "^", (function, function_type, None), [(power, base.span), (factor, None)], at)
    return typed.Let(typed.NamePattern(temporary, type_), value, power[0], origin=at), type_


def index(state: Inference, written: syntax.Index) -> Result:
    return builtin(state, "elt", "v[i]", (written.sequence, written.index), written.span)


def range_(state: Inference, written: syntax.Range) -> Result:
    stride = written.stride or syntax.Number(1, span=written.span)
    return builtin(state, "iseq", "[s:e:d]", (written.start, stride, written.end), written.span)
