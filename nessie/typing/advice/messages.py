"""The errors of inference: both types, both places, and a hint that may help (typing.advice.hints)."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from nessie.base.source import Consequence, NessieError, Span
from nessie.base.text.nearest import nearest
from nessie.base.text.types_text import show_scheme
from nessie.base.types import FLOAT, INT, Fun, Pair, Type, components, match_types, nest_right, substitute, unnest_right
from nessie.syntax import nodes as syntax
from nessie.typing import nodes as typed
from nessie.typing.advice.hints import (
    applied_hint,
    argument_hint,
    error_hint,
    function_hint,
    has_failed,
    is_operator,
    number_hint,
    written,
)
from nessie.typing.unify import Clash

Place = tuple[Span | None, str]


def complaint(message: str, *places: Place, hint: str = "") -> NessieError:
    return NessieError(message, *[(span, label) for span, label in places if span is not None], hint=hint)


def of_type(type_: Type) -> str:
    return f"this is {show_scheme(type_)}"


def no_function(name: str, own: Iterable[str], known: Iterable[str] = ()) -> NessieError:
    """Return the error that no function of this name can be called or compiled; `own` are the program's functions,
    `known` others."""
    functions = list(own)
    near = nearest(name, functions, 0.7) or nearest(name, known, 0.7)
    return NessieError(f"the program has no function {name}",
                       hint=f"did you mean {near}?" if near else f"it has {', '.join(functions) or 'none'}")


def wrong_argument(function: str, expected: Type, parts: Sequence[tuple[Span | None, Type]], clash: Clash,
                   called: Span | None) -> NessieError:
    """Return the error of a function applied to a wrong argument; `parts` are the components of the argument."""
    actual = [type_ for _, type_ in parts]
    given = show_scheme(nest_right(actual, Pair))
    operator = is_operator(function)
    labels: list[Place] = [(span, of_type(type_)) for span, type_ in (parts if operator else misfits(expected, parts))]
    takes = f"{function} takes {show_scheme(expected)}"
    if function == "v[i]" and isinstance(actual[0], Fun):
        message = f"{written(parts[0][0]) or 'this'} is a function: it cannot be indexed"
        labels = [(parts[0][0], of_type(actual[0])), (parts[-1][0], "taken for an index, since [ follows a name")]
    elif clash.kind == "infinite":
        message = f"{function} is applied to something whose type would contain itself"
    elif clash.kind == "class" and not operator:
        message = f"{function} is not for {given}: {takes}"
    elif operator and len(actual) == 2 and show_scheme(actual[0]) != show_scheme(actual[1]):
        message = f"the two sides of {function} do not fit: {show_scheme(actual[0])} and {show_scheme(actual[1])}"
    else:
        message = f"{takes}, but gets {given}"
    return complaint(message, *labels, (called, takes), hint=argument_hint(function, expected, parts, clash, called))


def wrong_function(function: str, expected: Type, arguments: Sequence[typed.Exp],
                   parts: Sequence[tuple[Span | None, Type]], called: Span | None) -> NessieError | None:
    """Return the error of a function that is applied to a function of another number of arguments than it calls it
    with; None if that is not what is wrong."""
    due = components(expected)
    if len(due) != len(parts):
        return None
    for at, (wanted, argument, (span, type_)) in enumerate(zip(due, arguments, parts, strict=True)):
        if isinstance(wanted, Fun) and isinstance(type_, Fun):
            count, takes = len(components(wanted.argument)), taken_by(argument, type_)
            if takes not in (count, len(components(told_by_others(wanted.argument, at, due, parts)))):
                return complaint(f"{function} calls its function with {arguments_of(count)}, and this takes {takes}",
                                 (span, f"takes {arguments_of(takes)}"),
                                 (called, f"{function} takes {show_scheme(expected)}"),
                                 hint={1: "an element that is a tuple is as many arguments: zip(v, w) has pairs",
                                       2: "(x, y) => x, say, is a function of 2 arguments"}.get(count, ""))
    return None


def told_by_others(type_: Type, at: int, due: Sequence[Type], parts: Sequence[tuple[Span | None, Type]]) -> Type:
    """Return the type of an argument, of a function that is component `at`, as far as the other components tell it."""
    others = [number for number in range(len(due)) if number != at]
    found = others and match_types(nest_right([due[number] for number in others], Pair),
                                   nest_right([parts[number][1] for number in others], Pair))
    return substitute(type_, found or {})


def taken_by(argument: typed.Exp, type_: Fun) -> int:
    """Return how many arguments the function takes. The type of a lambda may have become that of what it is applied
    to."""
    if isinstance(argument, typed.Lambda) and (isinstance(argument.pattern, typed.PairPattern)
                                               or type_.argument == type_.result):
        return len(unnest_right(argument.pattern, typed.PairPattern))
    return len(components(type_.argument))


def arguments_of(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


def misfits(expected: Type, parts: Sequence[tuple[Span | None, Type]]) -> Sequence[tuple[Span | None, Type]]:
    """Return the components that are wrong: those without which the others fit. If there is none such, those that do
    not fit alone, and else all."""
    due = components(expected)
    if len(due) != len(parts) or len(parts) == 1:
        return parts
    types = [type_ for _, type_ in parts]

    def fit(places: Sequence[int]) -> bool:
        return match_types(nest_right([due[at] for at in places], Pair),
                           nest_right([types[at] for at in places], Pair)) is not None
    every = range(len(parts))
    wrong = [at for at in every if fit([other for other in every if other != at])] or \
        [at for at in every if not fit([at])] or every
    return [parts[at] for at in wrong]


def not_a_function(type_: Type, function: syntax.Exp, argument: syntax.Exp, argument_type: Type) -> NessieError:
    error = complaint(f"this is not a function, but {show_scheme(type_)}", (function.span, of_type(type_)),
                      (argument.span, "applied to this"), hint=applied_hint(function, type_, argument, argument_type))
    if isinstance(function, syntax.Bool) and has_failed(written(function.span), function.span):     # function f(x)
        return Consequence(error.message, *error.places, hint=error.hint)
    return error


def branches_differ(written: syntax.If, then: Type, orelse: Type, clash: Clash) -> NessieError:
    hint = (error_hint(written) or number_hint(clash.left, clash.right)
            or function_hint(clash.left, clash.right))
    return complaint(f"the branches of if differ in type: {show_scheme(then)} and {show_scheme(orelse)}",
                     (written.then.span, of_type(then)), (written.orelse.span, of_type(orelse)), hint=hint)


def elements_differ(first: syntax.Exp, first_type: Type, other: syntax.Exp, other_type: Type,
                    clash: Clash) -> NessieError:
    return complaint(f"the elements of a sequence differ in type: {show_scheme(first_type)} and "
                     f"{show_scheme(other_type)}", (first.span, of_type(first_type)), (other.span, of_type(other_type)),
                     hint=number_hint(clash.left, clash.right) or function_hint(clash.left, clash.right))


def not_bool(what: str, written: syntax.Exp, type_: Type) -> NessieError:
    hint = "a comparison is a bool: x /= 0" if type_ in (INT, FLOAT) else ""
    return complaint(f"{what} must be a bool, not {show_scheme(type_)}", (written.span, of_type(type_)), hint=hint)


def no_match(pattern: syntax.Pattern, shape: str, type_: Type, value: Place) -> NessieError:
    """Return the error of a pattern of this shape for a value of the type, which is, or is in, that at the place."""
    return complaint(f"the pattern is {shape}, but the value is {show_scheme(type_)}", (pattern.span, ""),
                     value)


def too_few_components(pattern: syntax.Pattern, count: int, type_: Type, value: Place) -> NessieError:
    """Return the error of a tuple of `count` patterns for a shorter tuple of this type."""
    return complaint(f"the pattern has {count} components, the value {len(components(type_))}", (pattern.span, ""),
                     value)


def not_a_sequence(source: syntax.Exp, type_: Type) -> NessieError:
    return complaint(f"an apply-to-each runs over sequences, but this is {show_scheme(type_)}",
                     (source.span, of_type(type_)),
                     hint=f"[0:{written(source.span) or 'n'}] is the ints from 0 up" if type_ == INT else "")


def signature_differs(name: str, part: str, inferred: Type, declared: Type, where: Span | None,
                      signature: Span | None) -> NessieError:
    return complaint(f"the {part} of {name} is {show_scheme(inferred)}, but its signature says "
                     f"{show_scheme(declared)}", (where, of_type(inferred)), (signature, "declared here"))


def protected(name: str, span: Span | None) -> NessieError:
    return complaint(f"{name} is built in, it cannot be redefined", (span, ""),
                     hint=f"choose another name, such as my_{name}")
