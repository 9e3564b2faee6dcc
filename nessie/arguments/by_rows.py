"""Whether a function does the same for each row of its argument, one by one: its outermost expression is an
apply-to-each over the argument, which nothing else looks at.

    function score(rows) = {sum({x * x : x in row}) : row in rows}      by rows
    function share(rows) = {sum(row) / #rows : row in rows}             no: #rows looks at all of them
"""
from __future__ import annotations

from typing import Any

from nessie.base.source import NessieError
from nessie.syntax import nodes as syntax
from nessie.syntax.walk import EXPRESSIONS

HINT = "a function that can is {... : row in rows}, where rows is its argument and nothing else looks at it"


def refuse_unless_by_rows(program: syntax.Program, function: str) -> None:
    """NessieError, with the place that stands against it. Of a function that is not there, the call tells."""
    found = [form for form in program.forms if isinstance(form, syntax.FunctionDef) and form.body is not None
             and form.name.lower() == function]
    if not found:
        return
    definition = found[-1]
    refused = f"{function} cannot be called on some rows after the others"

    def refusal(at: Any, why: str) -> NessieError:
        places = [] if at.span is None else [(at.span, why)]
        return NessieError(refused, *places, hint=HINT)

    each, parameter = definition.body, definition.parameter
    if not isinstance(parameter, syntax.NamePattern):
        raise refusal(parameter, "it has several arguments")
    if not isinstance(each, syntax.Each):
        raise refusal(each, "this needs all rows")
    name = parameter.name.lower()
    over = [g for g in each.generators if is_over(g, name)]
    if len(over) != 1 or len(each.generators) > 1:
        raise refusal(each, f"this does not go over {name}, row by row")
    inside = [part for part in (each.body, each.filter) if part is not None]
    for exp in [found for part in inside for found in EXPRESSIONS.inside(part)]:
        if isinstance(exp, syntax.Name) and exp.name.lower() == name:
            raise refusal(exp, f"this looks at all of {name}")


def is_over(generator: syntax.Generator, name: str) -> bool:
    source = generator.source if generator.source is not None else generator.pattern
    return isinstance(source, syntax.Name | syntax.NamePattern) and source.name.lower() == name
