"""Expressions, thunks, types and layouts of lambda_cu from text: the inverse of lambda_cu.text.printer_expressions."""
from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from nessie.base.source import Source
from nessie.base.text.tokens import Tokens
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import COMPARISON, LEVELS, OPS
from nessie.lambda_cu.text.printer_expressions import KEYWORDS
from nessie.lambda_cu.typing import ELEMENTS, SCALARS

T = TypeVar("T")

WORDS: dict[str, ir.Const] = {
    "true": ir.Const(True, "bool"), "false": ir.Const(False, "bool"),
    "inf": ir.Const(float("inf"), "float"), "nan": ir.Const(float("nan"), "float")}


def parse_exp(text: str | Source) -> ir.Exp:
    """The expression that is the whole text."""
    return whole(text, expression)


def parse_thunk(text: str | Source) -> ir.Thunk:
    return whole(text, thunk)


def whole(text: str | Source, parser: Callable[[Tokens], T]) -> T:
    tokens = Tokens(text, KEYWORDS)
    result = parser(tokens)
    tokens.finish()
    return result


# Expressions ------------------------------------------------------------------------------------


def expression(tokens: Tokens) -> ir.Exp:
    if tokens.at("let"):
        return let(tokens)
    if tokens.at("fold"):
        return fold(tokens)
    if tokens.at("if"):
        return conditional(tokens)
    return infix(tokens, 1)


def let(tokens: Tokens) -> ir.Exp:
    start = tokens.expect("let")
    names, value = bound(tokens)
    return tokens.mark(start, ir.Let(names, value, expression(tokens)))


def bound(tokens: Tokens) -> tuple[tuple[str, ...], ir.Exp]:
    """x = e in, or (x, y) = e in."""
    names = tokens.listed(tokens.name, ")") if tokens.accept("(") else (tokens.name(),)
    tokens.expect("=")
    value = expression(tokens)
    tokens.expect("in")
    return names, value


def fold(tokens: Tokens) -> ir.Exp:
    start = tokens.expect("fold")
    index = tokens.name()
    tokens.expect("<")
    count = expression(tokens)
    tokens.expect("from")
    names, first = bound(tokens)
    return tokens.mark(start, ir.Fold(index, count, names, first, expression(tokens)))


def conditional(tokens: Tokens) -> ir.Exp:
    start = tokens.expect("if")
    condition = expression(tokens)
    return tokens.mark(start, branches(condition, tokens))


def branches(condition: ir.Exp, tokens: Tokens) -> ir.Exp:
    tokens.expect("then")
    then = expression(tokens)
    tokens.expect("else")
    return ir.If(condition, then, expression(tokens))


def infix(tokens: Tokens, level: int) -> ir.Exp:
    """An expression of operators that bind at least as tightly as `level`."""
    start, left = tokens.current, primary(tokens)
    chained = 0             # the strength of a comparison just read: another cannot follow
    while (op := tokens.current).text in LEVELS and op.kind in ("symbol", "name"):
        strength = LEVELS[op.text]
        if strength < level:
            break
        if strength == chained:
            tokens.fail("comparisons do not chain: put one of them between parentheses")
        tokens.take()
        left = tokens.mark(start, ir.Op(op.text, (left, infix(tokens, strength + 1))))
        chained = strength if strength == COMPARISON else 0
    return left


def primary(tokens: Tokens) -> ir.Exp:
    token = tokens.current
    match token.kind:
        case "int" | "float" | "char":
            return tokens.mark(token, ir.Const(tokens.take().value, token.kind))
        case "symbol" if token.text == "-":
            return tokens.mark(token, negative(tokens))
        case "symbol" if token.text == "(":
            return parenthesised(tokens)
        case "name" if token.text in WORDS:
            tokens.take()
            return WORDS[token.text]
        case "name" if token.text == "fail":
            return tokens.mark(token, failure(tokens))
        case "name" if token.text in OPS and tokens.follows("("):
            return tokens.mark(token, ir.Op(tokens.take().text, arguments(tokens)))
    return named(tokens)


def named(tokens: Tokens) -> ir.Exp:
    """x, xs[i] or f(x)."""
    start = tokens.current
    text = tokens.name("an expression")
    if tokens.accept("["):
        index = expression(tokens)
        tokens.expect("]")
        return tokens.mark(start, ir.Read(text, index))
    if tokens.at("("):
        called, arrays = call_arguments(tokens)
        return ir.CallScalar(text, called, arrays, origin=(tokens.span(start),))
    return tokens.mark(start, ir.Var(text))


def arguments(tokens: Tokens) -> tuple[ir.Exp, ...]:
    tokens.expect("(")
    return tokens.listed(lambda: expression(tokens), ")")


def call_arguments(tokens: Tokens) -> tuple[tuple[ir.Exp, ...], tuple[str, ...]]:
    """(e, &xs): the arrays come last."""
    tokens.expect("(")
    arrays: list[str] = []

    def argument() -> ir.Exp | None:
        if tokens.accept("&"):
            arrays.append(tokens.name("an array"))
            return None
        if arrays:
            tokens.fail("a scalar is expected before the arrays of a call")
        return expression(tokens)

    return tuple([exp for exp in tokens.listed(argument, ")") if exp is not None]), tuple(arrays)


def negative(tokens: Tokens) -> ir.Const:
    tokens.expect("-")
    if tokens.accept("inf"):
        return ir.Const(float("-inf"), "float")
    if tokens.current.kind == "float":
        return ir.Const(-tokens.literal("float"), "float")
    return ir.Const(-tokens.literal("int"), "int")


def parenthesised(tokens: Tokens) -> ir.Exp:
    """(e), or a tuple: (), (a,), (a, b)."""
    start = tokens.expect("(")
    if tokens.accept(")"):
        return tokens.mark(start, ir.Tuple(()))
    first = expression(tokens)
    if tokens.accept(")"):
        return first
    tokens.expect(",")
    if tokens.accept(")"):
        return tokens.mark(start, ir.Tuple((first,)))
    return tokens.mark(start, ir.Tuple((first, *tokens.listed(lambda: expression(tokens), ")"))))


def failure(tokens: Tokens) -> ir.Fail:
    tokens.expect("fail")
    site = tokens.name("the name of a site")
    tokens.expect(":")
    return ir.Fail(site, scalar(tokens))


def constant(tokens: Tokens) -> ir.Const:
    result = primary(tokens)
    if not isinstance(result, ir.Const):
        tokens.fail("a constant is expected before this")
    return result


def thunk(tokens: Tokens) -> ir.Thunk:
    """{ i => e using xs, y }"""
    start = tokens.expect("{")
    params = tokens.listed(tokens.name, ")") if tokens.accept("(") else (tokens.name("a parameter"),)
    tokens.expect("=>")
    body = expression(tokens)
    using: list[str] = []
    if tokens.accept("using"):
        using.append(tokens.name())
        while tokens.accept(","):
            using.append(tokens.name())
    tokens.expect("}")
    return tokens.mark(start, ir.Thunk(params, body, tuple(using)))


# Types and layouts ------------------------------------------------------------------------------


def scalar(tokens: Tokens) -> str:
    found = tokens.accept(*SCALARS)
    if found is None:
        tokens.fail(f"one of the types {', '.join(SCALARS)} is expected here")
    return found


def element_type(tokens: Tokens) -> str:
    """Read the type of an array's elements."""
    return tokens.accept(*ELEMENTS) or scalar(tokens)


def size(tokens: Tokens) -> ir.Size:
    return tokens.name("a size") if tokens.at_name() else tokens.integer()


def type_(tokens: Tokens) -> ir.Type:
    if not tokens.accept("["):
        return scalar(tokens)
    base = element_type(tokens)
    tokens.expect(";")
    length = size(tokens)
    plus = 0
    if tokens.accept("+"):
        plus = tokens.literal("int")
        if plus != 1:
            tokens.fail("an array has its size or one element more", tokens.tokens[tokens.position - 1])
    tokens.expect("]")
    return ir.Array(base, length, plus)


def layout(tokens: Tokens) -> ir.Layout:
    if tokens.accept("("):
        first = layout(tokens)
        tokens.expect(",")
        second = layout(tokens)
        tokens.expect(")")
        return ir.PairLayout(first, second)
    form = tokens.accept("view") or tokens.accept("uniform") or tokens.accept("closed") or "dense"
    if form == "dense" and not tokens.at("["):
        return ir.ScalarLayout(element_type(tokens))
    formula = lengths(tokens) if form == "closed" else None
    tokens.expect("[")
    element = layout(tokens)
    named = tokens.name("a name") if tokens.accept(";") else ""
    tokens.expect("]")
    return ir.SeqLayout(element, form, named, formula)


def lengths(tokens: Tokens) -> ir.Lengths:
    """The formula of closed rows: (i) (n) { n - i }."""
    tokens.expect("(")
    indices = tokens.listed(tokens.name, ")")
    tokens.expect("(")
    names = tokens.listed(tokens.name, ")")
    tokens.expect("{")
    exp = expression(tokens)
    tokens.expect("}")
    return ir.Lengths(indices, names, exp)


__all__ = ["constant", "element_type", "expression", "layout", "parse_exp", "parse_thunk", "scalar", "size", "thunk",
           "type_", "whole"]
