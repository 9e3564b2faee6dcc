"""The rules for patterns."""
from __future__ import annotations

from nessie.base.source import Span
from nessie.base.types import Data, Fun, Pair, Type, Var
from nessie.syntax import nodes as syntax
from nessie.typing import nodes as typed
from nessie.typing.advice import messages as complaints
from nessie.typing.advice.undefined import undefined
from nessie.typing.inference.state import Inference, refuse_too_large
from nessie.typing.unify import Clash

Value = tuple[Span | None, Type]        # of what a pattern takes apart: its place and its type


def pattern(state: Inference, written: syntax.Pattern, type_: Type, names: dict[str, Type],
            value: Value | None) -> typed.Pattern:
    """Return the typed pattern for a value of this type, which is the given one or a part of it, and put the names that
    the pattern binds into `names`."""
    match written:
        case syntax.NamePattern(name):
            refuse_too_large(state, type_, value[0] if value else written.span)
            if name != "_":
                names[name] = type_
            return typed.NamePattern(name, type_)
        case syntax.PairPattern(first, second):
            refuse_too_few(state, written, type_, value)
            shape = state.find(type_)
            if not isinstance(shape, Pair):
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


def refuse_too_few(state: Inference, written: syntax.PairPattern, type_: Type, value: Value | None) -> None:
    """Refuse a pattern of more components than the tuple has, such as three for a pair. A value that is not a tuple is
    left to unification."""
    rest: syntax.Pattern = written
    shape, count = state.find(type_), 1
    if not isinstance(shape, Pair):
        return
    while isinstance(rest, syntax.PairPattern) and isinstance(shape, Pair):
        rest, shape, count = rest.second, state.find(shape.second), count + 1
    if isinstance(rest, syntax.PairPattern) and not isinstance(shape, Var):
        while isinstance(rest, syntax.PairPattern):
            rest, count = rest.second, count + 1
        raise complaints.too_few_components(written, count, state.resolve(type_), typed_place(state, value))


def refuse_function(state: Inference, written: syntax.Pattern, how: str) -> None:
    """Refuse `g(x) = ...` unless it takes a datatype apart; the hint `how` shows how a function is defined."""
    match written:
        case syntax.DataPattern(name, argument) if not ((entry := state.lookup(name)) and entry.kind == "constructor"):
            from nessie.typing.advice.hints import bare  # only mistakes need it
            from nessie.typing.advice.hints import written as text_of
            hint = how.format(name=name, parameter=bare(text_of(argument.span)) or "x")
            raise complaints.complaint(f"{name} is not a datatype", (written.span, "no value of it to take apart"),
                                       hint=f"a function is defined by {hint}")


def data_shape(state: Inference, written: syntax.DataPattern) -> tuple[tuple[Type, ...], Fun]:
    """Return the types of the pattern's constructor, and its type at them."""
    entry = state.lookup(written.constructor)
    if entry is None:
        raise undefined(written.constructor, written.span, state.environment.names())
    if entry.kind != "constructor":
        raise complaints.complaint(f"{written.constructor} is not a datatype", (written.span, ""))
    types, type_ = state.instantiate(entry.scheme)
    assert isinstance(type_, Fun)
    return types, type_


def fit(state: Inference, written: syntax.Pattern, shape: str, expected: Type, actual: Type,
        value: Value | None) -> None:
    try:
        state.unify(expected, actual, written.span)
    except Clash:
        place = typed_place(state, value)
        error = complaints.no_match(written, shape, state.resolve(actual), place)
        error.places += state.because("the value", actual, expected, place[0], written.span)
        raise error from None


def typed_place(state: Inference, value: Value | None) -> tuple[Span | None, str]:
    """Return the place of the value, labelled with its type."""
    return (value[0], complaints.of_type(state.resolve(value[1]))) if value else (None, "")
