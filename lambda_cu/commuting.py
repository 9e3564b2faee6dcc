"""Operators of REDUCEs whose sides may be exchanged, as far as their text shows."""
from __future__ import annotations

from collections.abc import Mapping

from nessie.lambda_cu import nodes as ir

EXCHANGED = frozenset({"+", "*", "max", "min", "and", "or", "xor", "==", "/="})       # operands may be exchanged


def commutes(operator: ir.Operator) -> bool:
    """Is the operator of a REDUCE evidently the same with its sides exchanged?"""
    half = len(operator.params) // 2
    left, right = operator.params[:half], operator.params[half:]
    body = where_both_are(operator.body, left, right)
    numbers: dict[object, int] = {}
    sides_of = {name: ((side, k),) for side, names in enumerate((left, right)) for k, name in enumerate(names)}
    exchanged = {name: ((1 - side, k),) for name, ((side, k),) in sides_of.items()}
    there: dict[str, Numbered] = {} if body is None else {left[0]: ("there",), right[0]: ("there",)}
    found = [numbered(body or operator.body, {**names, **there}, numbers) for names in (sides_of, exchanged)]
    return found[0] is not None and found[0] == found[1]


def where_both_are(body: ir.Exp, left: tuple[str, ...], right: tuple[str, ...]) -> ir.Exp | None:
    """The operator's result where both sides are there, if each begins with whether it is, and is the result where the
    other is not. Where neither is, both are the identity."""
    match body:
        case ir.Let((both,), ir.Op("and", (ir.Var(p), ir.Var(q))), ir.If(ir.Var(test), then, ir.If(ir.Var(r), a, b))):
            sides = [ir.Tuple(tuple(map(ir.Var, names))) for names in (left, right)]
            if both == test and p == r == left[0] and q == right[0] and [a, b] == sides:
                return then
    return None


Numbered = tuple[object, ...]           # what stands for the components of an expression


def numbered(exp: ir.Exp, names: Mapping[str, Numbered], numbers: dict[object, int]) -> Numbered | None:
    """Return the same for expressions that are the same but for lets and the order of operands that may be exchanged;
    None for what is no arithmetic."""
    match exp:
        case ir.Var(name):
            return names.get(name, (name,))
        case ir.Const(value, base):
            return ((base, repr(value)),)
        case ir.Let(bound, value, body):
            whole = numbered(value, names, numbers)
            parts = [(part,) for part in whole or ()]
            return whole and numbered(body, {**names, **dict(zip(bound, parts, strict=True))}, numbers)
        case ir.Op(name, inner):
            return made_of(name, [numbered(part, names, numbers) for part in inner], numbers)
        case ir.If(condition, then, orelse):
            return made_of("if", [numbered(part, names, numbers) for part in (condition, then, orelse)], numbers)
        case ir.Tuple(items):
            found = [numbered(item, names, numbers) for item in items]
            return None if None in found else tuple([part for item in found for part in item or ()])
    return None


def made_of(name: str, parts: list[Numbered | None], numbers: dict[object, int]) -> Numbered | None:
    """Return what stands for the operation on these, component by component; a condition has one for all."""
    whole = [part for part in parts if part is not None]
    if len(whole) < len(parts):
        return None
    found = []
    for k in range(max(map(len, whole))):
        operands = [part[k] if len(part) > 1 else part[0] for part in whole]
        if name in EXCHANGED:
            operands.sort(key=repr)
        found.append(numbers.setdefault((name, *operands), len(numbers)))
    return tuple(found)
