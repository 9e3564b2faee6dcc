"""NESL's trees with the kinds of what they compute, and how one kind becomes another."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Grid, Items, Kind, Rows, Union, merged
from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import Span
from nessie.syntax import nodes as syntax


@dataclass(frozen=True)
class Made:
    """An expression of NESL, and the kind of its value. `some`: a sequence that is known to have elements."""
    exp: syntax.Exp
    kind: Kind
    some: bool = False


class Fresh(Names):
    """Names that are not taken, as NESL has them: in lower case."""

    def __call__(self, hint: str) -> str:
        plain = "".join([c for c in hint.lower() if c.isascii() and (c.isalnum() or c == "_")]).strip("_")
        return self.fresh(f"{plain if plain[:1].isalpha() else 'x'}_1")


def name(of: str, span: Span | None = None) -> syntax.Name:
    return syntax.Name(of, span=span)


def number(value: int | float, span: Span | None = None) -> syntax.Exp:
    """Return a literal; a negative one is a positive one, negated."""
    if value < 0:
        return syntax.Unary("-", syntax.Number(-value, span=span), span=span)
    return syntax.Number(value, span=span)


def call(function: str, *arguments: syntax.Exp, span: Span | None = None) -> syntax.Exp:
    return syntax.Apply(name(function), together(arguments), span=span)


def binary(op: str, left: syntax.Exp, right: syntax.Exp, span: Span | None = None) -> syntax.Exp:
    return syntax.Binary(op, left, right, span=span)


def together(items: Sequence[syntax.Exp]) -> syntax.Exp:
    """Return the tuple of these; one is itself, none is 0."""
    *first, result = items or [syntax.Number(0)]
    for item in reversed(first):
        result = syntax.Pair(item, result)
    return result


def pattern(names: Sequence[str]) -> syntax.Pattern:
    *first, last = names or ["_"]
    result: syntax.Pattern = syntax.NamePattern(last)
    for item in reversed(first):
        result = syntax.PairPattern(syntax.NamePattern(item), result)
    return result


def let(names: Sequence[str], value: syntax.Exp, body: syntax.Exp) -> syntax.Exp:
    """let names = value in body. The value is computed for no names, too: it may fail."""
    return syntax.Let((syntax.Binding(pattern(names), value),), body)


def all_of(conditions: Iterable[syntax.Exp]) -> syntax.Exp:
    result: syntax.Exp | None = None
    for condition in conditions:
        result = condition if result is None else binary("and", result, condition)
    return syntax.Bool(True) if result is None else result


def at(exp: syntax.Exp, span: Span) -> syntax.Exp:
    """Return the expression with this place, if it has none; the same of its parts: any of them may fail."""
    found: syntax.Exp = placed(exp, span)
    return found


def placed(node: Any, span: Span) -> Any:
    if isinstance(node, tuple):
        return tuple([placed(part, span) for part in node])
    if isinstance(node, syntax.Binding | syntax.Generator):
        return replace(node, **{of: placed(part, span) for of, part in vars(node).items()})
    if not isinstance(node, syntax.Spanned) or node.span is not None:
        return node
    parts = {of: placed(part, span) for of, part in vars(node).items() if of != "span"}
    return replace(node, **parts, span=span)


def item(made: Made, number: int, fresh: Fresh) -> Made:
    """Return an item of a tuple."""
    assert isinstance(made.kind, Items)
    items = made.kind.items
    if len(items) == 1:
        return Made(made.exp, items[0])
    names = ["_"] * len(items)
    names[number] = fresh("item")
    return Made(let(names, made.exp, name(names[number])), items[number])


def become(made: Made, kind: Kind, fresh: Fresh) -> syntax.Exp:
    """Return the value as one of another kind, which it can become (kinds.joined)."""
    if made.kind == kind:
        return made.exp
    match made.kind, kind:
        case Union(kinds), Union():
            tag, names = fresh("kind"), [fresh("one") for _ in kinds]
            first, *others = [become(Made(name(n), one), kind, fresh) for n, one in zip(names, kinds)]
            for k, other in enumerate(others, 1):
                first = syntax.If(binary("==", name(tag), number(k)), other, first)
            return let([tag, *names], made.exp, first)
        case have, Union(kinds):
            at = next(k for k, one in enumerate(kinds) if merged(one, have) == one)
            return together([number(at), *[become(made, one, fresh) if k == at else zero(one)
                                           for k, one in enumerate(kinds)]])
        case str(), str():
            return number_as(made, kind)
        case Items(have), Items(want):
            names = [fresh("item") for _ in have]
            items = [become(Made(name(n), h), w, fresh) for n, h, w in zip(names, have, want, strict=True)]
            return let(names, made.exp, together(items))
        case Rows(have), Rows(want):
            x = fresh("x")
            body = become(Made(name(x), have), want, fresh)
            return syntax.Each(body, (syntax.Generator(syntax.NamePattern(x), made.exp),), None)
        case Grid() as have, Grid() as want:
            return become(Made(made.exp, have.rows), want.rows, fresh)
    raise TypeError(made.kind, kind)


def number_as(made: Made, kind: str) -> syntax.Exp:
    exp, have = made.exp, made.kind
    if have == BOOL:
        exp, have = call("btoi", exp), INT
    if have == kind:
        return exp
    assert (have, kind) == (INT, FLOAT)
    if isinstance(exp, syntax.Number):
        return replace(exp, value=float(exp.value))
    return call("float", exp)


def zero(kind: Kind) -> syntax.Exp:
    """Return a value of the kind, for what nobody reads."""
    match kind:
        case Items(items):
            return together([zero(one) for one in items])
        case Rows(element):
            return syntax.Empty(type_of(element))
        case Grid():
            return zero(kind.rows)
        case Union():
            return zero(kind.columns)
    return syntax.Bool(False) if kind == BOOL else syntax.Number(0.0 if kind == FLOAT else 0)


def type_of(kind: Kind) -> syntax.TypeExp:
    match kind:
        case Items(items):
            *first, last = [type_of(one) for one in items or [INT]]
            for one in reversed(first):
                last = syntax.TypePair(one, last)
            return last
        case Rows(element):
            return syntax.TypeSeq(type_of(element))
        case Grid():
            return type_of(kind.rows)
        case Union():
            return type_of(kind.columns)
    return syntax.TypeName(str(kind))


def typed(takes: Sequence[Kind], gives: Kind) -> syntax.Signature:
    """Return the signature of a function."""
    return syntax.Signature(syntax.TypeFun(type_of(Items(tuple(takes))), type_of(gives)))

