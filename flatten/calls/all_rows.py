"""Recursions on all rows of a sequence, which owners of rows may go through row by row (mono.passes.row_recursions).

    if c then f(rows, x) else {f'(r, x) : r in rows},  where f' is of a row of f

is f(rows, x), unless c does not hold, owners are offered f', and do it. So nothing is gone through row by row that no
owner goes through: f has fewer launches a round than the lifted f'.
"""
from __future__ import annotations

from nessie.base.types import BOOL
from nessie.flatten.calls.boundary import received, unpack
from nessie.flatten.calls.crossing import SEQUENTIAL
from nessie.flatten.calls.functions import version
from nessie.flatten.calls.owned import Rows, owners_loop
from nessie.flatten.rules.conditionals import either
from nessie.flatten.rules.each import opened
from nessie.flatten.translator import Translator, Values, scalar
from nessie.flatten.values.domains import HOST
from nessie.flatten.values.materialise import solid
from nessie.flatten.values.values import Value, dense
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of


def by_rows_or_all(t: Translator, exp: mono.If, env: Values, hint: str) -> Value | None:
    """The value on the host of such a conditional; None if it is another."""
    match exp:
        case mono.If(_, mono.Call() as whole, mono.Each(mono.Call() as row, (_,), None) as each) if (
                t.functions[row.function].row_of == whole.function):
            pass
        case _:
            return None

    def at_once() -> Value:
        return t.value(whole, env, HOST, hint)

    over, function = opened(t, each, env, HOST), t.functions[row.function]
    arguments = [t.value(argument, over.env, over.space, p.name)
                 for argument, p in zip(row.arguments, function.parameters, strict=True)]
    name = owners_loop(t, row, arguments, over.space, lambda: version(t, function, SEQUENTIAL))
    if not name:
        return at_once()

    def by_rows() -> Value:
        rows = Rows(t, arguments, over.space, hint)
        done, given = rows.called(row, name)

        def of_owners() -> Value:
            value = rows.unpacked(row.type, received(given))
            return dense(HOST, over.space, solid(t.emitter, value, over.space, hint, light=True))
        all_done = scalar(unpack(t.emitter, BOOL, HOST, received([done])))
        return either(t, all_done, type_of(exp), hint, exp.origin, of_owners, at_once)
    test = scalar(t.value(exp.condition, env, HOST, "test"))
    return either(t, test, type_of(exp), hint, exp.origin, at_once, by_rows)
