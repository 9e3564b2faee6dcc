"""The texts of the values in the error of a check that has failed at run time.

    {x / y : x in v; y in w}        5 / 0
    take(v, 7)                      n is 7, #v is 3         for a check in the library's function
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nessie.base.names import shown_name
from nessie.interpreter.meanings_any import text
from nessie.typing import nodes as typed
from nessie.typing.advice.hints import is_operator


def applied(function: str, argument: Any, digits: int) -> str:
    """The text of a primitive applied to these scalars; empty if there are sequences, or the primitive is the
    library's own."""
    values = []
    while isinstance(argument, tuple):
        values.append(argument[0])
        argument = argument[1]
    values.append(argument)
    if function.startswith("_") or not all(isinstance(value, (int, float, str)) for value in values):
        return ""
    shown = [text(value, digits=digits) for value in values]
    return f" {function} ".join(shown) if is_operator(function) else f"{function}({', '.join(shown)})"


def compared(condition: typed.Exp, value_of: Callable[[typed.Name], Any], digits: int) -> str:
    """The text of the named numbers and lengths that a condition compares."""
    found: dict[str, str] = {}
    for name, whole in names(condition):
        value = value_of(whole)
        shown = shown_name(whole.name)
        if name == "length":
            found[f"#{shown}"] = str(len(value))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[shown] = text(value, digits=digits)
    return ", ".join(f"{name} is {value}" for name, value in found.items())


def names(condition: typed.Exp) -> Iterator[tuple[str, typed.Name]]:
    """The names that the condition compares; with `length` for those whose length it compares, else with an empty
    text."""
    match condition:
        case typed.Apply(typed.Global("length"), typed.Name() as name):
            yield "length", name
        case typed.Name() as name:
            yield "", name
        case typed.Apply(typed.Global(), argument):
            yield from names(argument)
        case typed.Pair(first, second):
            yield from names(first)
            yield from names(second)
        case typed.If(one, two, three):
            for part in (one, two, three):
                yield from names(part)
