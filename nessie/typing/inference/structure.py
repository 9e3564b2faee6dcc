"""The rules for all expressions except names and applications, and the table of all rules."""
from __future__ import annotations

from dataclasses import replace

from nessie.base.source import NessieError
from nessie.base.types import BOOL, FLOAT, Fun, Identity, Pair, Seq, Type, unnest_right
from nessie.syntax import nodes as syntax
from nessie.syntax.patterns import names as pattern_names
from nessie.typing import nodes as typed
from nessie.typing import signatures
from nessie.typing.advice import messages as complaints
from nessie.typing.advice.hints import named
from nessie.typing.inference.calls import apply, binary, closure, default, index, range_, tuple_of, unary
from nessie.typing.inference.patterns import pattern, refuse_function
from nessie.typing.inference.state import Inference, Result, Rules, boolean, character, name, number, origin, string
from nessie.typing.unify import Clash


def pair(state: Inference, written: syntax.Pair) -> Result:
    items = [state.exp(item) for item in unnest_right(written, syntax.Pair)]
    return tuple_of(items)


def sequence(state: Inference, written: syntax.Sequence) -> Result:
    first, element_type = state.exp(written.elements[0])
    elements = [first]
    for item in written.elements[1:]:
        element, type_ = state.exp(item)
        try:
            state.unify(element_type, type_, item.span)
        except Clash as clash:
            error = complaints.elements_differ(written.elements[0], state.resolve(element_type), item,
                                               state.resolve(type_), clash)
            raise both_explained(state, error, element_type, written.elements[0], type_, item) from None
        elements.append(element)
    return typed.Sequence(tuple(elements), Seq(element_type), origin=origin(written)), Seq(element_type)


def empty(state: Inference, written: syntax.Empty) -> Result:
    type_ = Seq(signatures.concrete_type(written.element, state.environment))
    return typed.Sequence((), type_, origin=origin(written)), type_


def if_(state: Inference, written: syntax.If) -> Result:
    condition = condition_of(state, "the condition of if", written.condition)
    then, then_type = state.exp(written.then)
    orelse, else_type = state.exp(written.orelse)
    try:
        state.unify(then_type, else_type, written.orelse.span)
    except Clash as clash:
        error = complaints.branches_differ(written, state.resolve(then_type), state.resolve(else_type), clash)
        raise both_explained(state, error, then_type, written.then, else_type, written.orelse) from None
    return typed.If(condition, then, orelse, origin=origin(written)), then_type


def condition_of(state: Inference, what: str, written: syntax.Exp) -> typed.Exp:
    condition, type_ = state.exp(written)
    try:
        state.unify(BOOL, type_, written.span)
    except Clash:
        error = complaints.not_bool(what, written, state.resolve(type_))
        error.places += state.because(named(written.span), type_, BOOL, written.span)
        raise error from None
    return condition


def both_explained(state: Inference, error: NessieError, one: Type, first: syntax.Exp, other: Type,
                   second: syntax.Exp) -> NessieError:
    """Return the error that the types of two expressions differ, with the reasons for both."""
    error.places += state.because(named(first.span), one, other, first.span, second.span)
    error.places += state.because(named(second.span), other, one, second.span, first.span)
    return error


def let(state: Inference, written: syntax.Let) -> Result:
    return bindings(state, written, 0)


def bindings(state: Inference, written: syntax.Let, position: int) -> Result:
    """Infer the let from this binding on."""
    if position == len(written.bindings):
        return state.exp(written.body)
    bound = written.bindings[position]
    refuse_function(state, bound.pattern, "{name} = {parameter} => ...")
    value, type_ = state.exp(bound.value)
    names: dict[str, Type] = {}
    matched = pattern(state, bound.pattern, type_, names, (bound.value.span, type_))
    with state.binding(names):
        body, result = bindings(state, written, position + 1)
    return typed.Let(matched, value, body, origin=origin(written)), result


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
    return typed.Lambda(matched, body, captured, type_, origin=origin(written)), type_


def time(state: Inference, written: syntax.Time) -> Result:
    body, type_ = state.exp(written.body)
    return typed.Time(body, origin=origin(written)), Pair(type_, FLOAT)


def each(state: Inference, written: syntax.Each) -> Result:
    names: dict[str, Type] = {}
    generators = []
    body, patterns = written.body, [generator.pattern for generator in written.generators]
    refuse_twice(patterns)
    if body is None:
        patterns[0] = without_wildcards(state, patterns[0])
        body = pattern_exp(patterns[0])
    for generator, bound in zip(written.generators, patterns, strict=True):
        source = generator.source or pattern_exp(generator.pattern)
        try:
            value, type_ = state.exp(source)
        except NessieError as error:
            if generator.source is None:
                name = shown(bound)
                error.hint = f"{{.. : {name}}} is short for {{.. : {name} in {name}}}; over v: {{.. : {name} in v}}"
            raise
        element: Type = state.fresh()
        try:
            state.unify(Seq(element), type_, source.span)
        except Clash:
            complaint = complaints.not_a_sequence(source, state.resolve(type_))
            complaint.places += state.because(named(source.span), type_, Seq(element), source.span)
            raise complaint from None
        generators.append(typed.Generator(pattern(state, bound, element, names, (source.span, type_)), value))
    with state.binding(names):
        kept = condition_of(state, "the filter", written.filter) if written.filter is not None else None
        try:
            result, result_type = state.exp(body)
        except NessieError as error:
            if not error.hint and (alone := [g for g in written.generators if g.source is None]):
                name = shown(alone[0].pattern)
                error.hint = f"{{.. : {name}}} calls the elements of {name} by its own name; {{.. : x in {name}}} by x"
            raise
    return (typed.Each(result, tuple(generators), kept, written.serial, origin=origin(written)), Seq(result_type))


def refuse_twice(patterns: list[syntax.Pattern]) -> None:
    """Refuse generators of an apply-to-each that bind a name twice."""
    seen: dict[str, syntax.NamePattern] = {}
    for leaf in (leaf for bound in patterns for leaf in pattern_names(bound) if leaf.name != "_"):
        if leaf.name in seen:
            raise complaints.complaint(f"{leaf.name} is bound twice", (leaf.span, "bound here again"),
                                       (seen[leaf.name].span, "bound here"))
        seen[leaf.name] = leaf


def shown(bound: syntax.Pattern) -> str:
    return bound.name if isinstance(bound, syntax.NamePattern) else "x"


def without_wildcards(state: Inference, written: syntax.Pattern) -> syntax.Pattern:
    """Return the pattern with a name for each `_`, so that an expression can build the values that it matches."""
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
    """Return the expression that builds the values that the pattern matches."""
    match written:
        case syntax.NamePattern(name, _, span=span):
            return syntax.Name(name, span=span)
        case syntax.PairPattern(first, second, span=span):
            return syntax.Pair(pattern_exp(first), pattern_exp(second), span=span)
        case syntax.DataPattern(constructor, argument, span=span):
            return syntax.Apply(syntax.Name(constructor, span=span), pattern_exp(argument), span=span)
    raise TypeError(written)


RULES: Rules = {
    syntax.Number: number, syntax.Bool: boolean, syntax.Char: character, syntax.String: string, syntax.Name: name,
    syntax.Unary: unary, syntax.Binary: binary, syntax.Pair: pair, syntax.Apply: apply, syntax.Index: index,
    syntax.If: if_, syntax.Let: let, syntax.Lambda: lambda_, syntax.Sequence: sequence, syntax.Empty: empty,
    syntax.Range: range_, syntax.Each: each, syntax.Time: time, syntax.Closure: closure, syntax.Default: default,
}
