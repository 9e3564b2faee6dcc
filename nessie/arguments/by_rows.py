"""Whether a function does the same for each row of its arguments, one by one: its outermost expression is an
apply-to-each over some of its parameters, which nothing else looks at.

    function score(rows, limit) = {sum({x in row | x > limit}) : row in rows}       by rows
    function scaled(rows, ws) = {sum(row) * w : row in rows; w in ws}               by rows of both
    function share(rows) = {sum(row) / #rows : row in rows}                         no: #rows looks at all of them
"""
from __future__ import annotations

from typing import Any

from nessie.base.source import NessieError
from nessie.base.types import unnest_right
from nessie.syntax import nodes as syntax
from nessie.syntax.walk import EXPRESSIONS

HINT = "a function that can is {... : row in rows}, where rows is an argument and nothing else looks at it"


def streams_of(program: syntax.Program, function: str) -> list[int]:
    """The places, from 0, of the parameters whose rows the function goes over. NessieError, with the place that stands
    against it, if there is one. Of a function that is not there, the call tells."""
    found = [form for form in program.forms if isinstance(form, syntax.FunctionDef) and form.body is not None
             and form.name.lower() == function]
    if not found:
        return [0]
    definition = found[-1]
    refused = f"{function} cannot be called on some rows after the others"

    def refusal(at: Any, why: str) -> NessieError:
        places = [] if at.span is None else [(at.span, why)]
        return NessieError(refused, *places, hint=HINT)

    each = definition.body
    if not isinstance(each, syntax.Each):
        raise refusal(each, "this needs all rows")
    names = [part.name.lower() if isinstance(part, syntax.NamePattern) else ""
             for part in unnest_right(definition.parameter, syntax.PairPattern)]
    over = [source_of(generator) for generator in each.generators]
    if not set(over) <= set(filter(None, names)):
        raise refusal(each, f"this does not go over {' or '.join(filter(None, names)) or 'an argument'}, row by row")
    inside = [part for part in (each.body, each.filter) if part is not None]
    for exp in [found for part in inside for found in EXPRESSIONS.inside(part)]:
        if isinstance(exp, syntax.Name) and exp.name.lower() in over:
            raise refusal(exp, f"this looks at all of {exp.name.lower()}")
    return sorted({names.index(name) for name in over})


def source_of(generator: syntax.Generator) -> str:
    """The name of what a generator goes over; empty, if it is more than a name."""
    source = generator.source if generator.source is not None else generator.pattern
    return source.name.lower() if isinstance(source, syntax.Name | syntax.NamePattern) else ""
