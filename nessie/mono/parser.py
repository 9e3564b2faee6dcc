"""Reads mono programs from the text that mono.text writes.

    program   = { "function" NAME "(" [NAME ":" type {"," ...}] ")" ":" type [fold] [row] "=" exp } "entry" NAME
    fold      = "," ("reduce" | "scan") "by" NAME ["neutral"]
    row       = "," "row" "of" NAME
    exp       = "let" NAME ":" type "=" exp "in" exp  |  "if" exp "then" exp "else" exp  |  primary [OPERATOR primary]
    primary   = literal  |  NAME  |  NAME "(" exps ")"  |  "(" exp ":" type ")"  |  "(" exp {"," exp} ")"
              | "[" exps "]"  |  "[" "]" type  |  "{" exp ":" NAME ":" type "in" exp {";" ...} ["|" exp] "}"
"""
from __future__ import annotations

import math
from dataclasses import replace

from nessie.base.source import Source
from nessie.base.text.places import Places
from nessie.base.text.tokens import Token, Tokens
from nessie.base.types import BOOL, CHAR, FLOAT, FLOAT32, INT, INT32, Pair, Seq, Type, nest_right
from nessie.library.primitives import IN_MONO
from nessie.mono import nodes as mono
from nessie.mono.node_types import primitive_type, type_of
from nessie.mono.nodes import Exp

INFIX = ("+", "-", "*", "/", "==", "/=", "<", "<=", ">", ">=", "and", "or", "xor")
KEYWORDS = frozenset({"function", "entry", "let", "in", "if", "then", "else", "t", "f", "inf", "nan", "first", "second",
                      "and", "or", "xor"})
TYPES = {"int": INT, "float": FLOAT, "bool": BOOL, "char": CHAR, "int32": INT32, "float32": FLOAT32}


def parse(text: str | Source, places: Places | None = None) -> mono.Program:
    tokens = Tokens(text, KEYWORDS, places)
    parser = Parser(tokens, signatures(tokens))
    functions: list[mono.Function] = []
    while tokens.at("function"):
        functions.append(parser.function())
    start = tokens.expect("entry")
    program = tokens.mark(start, mono.Program(tuple(functions), tokens.name("the entry's name")))
    tokens.finish()
    return program


def signatures(tokens: Tokens) -> dict[str, Type]:
    """Read ahead the result type of every function, because a call may precede its function."""
    results: dict[str, Type] = {}
    for position, token in enumerate(tokens.tokens):
        if token.kind == "name" and token.text == "function":
            tokens.position = position
            function, _, result = header(tokens)
            results[function] = result
    tokens.position = 0
    return results


def header(tokens: Tokens) -> tuple[str, tuple[mono.Parameter, ...], Type]:
    tokens.expect("function")
    function = tokens.name("the function's name")
    tokens.expect("(")
    parameters = tokens.listed(lambda: tokens.mark(tokens.current, mono.Parameter(*binder(tokens))), ")")
    tokens.expect(":")
    return function, parameters, parse_type(tokens)


def binder(tokens: Tokens) -> tuple[str, Type]:
    """Read NAME : type."""
    name = tokens.name()
    tokens.expect(":")
    return name, parse_type(tokens)


def parse_type(tokens: Tokens) -> Type:
    if tokens.accept("["):
        sequence = Seq(parse_type(tokens))
        tokens.expect("]")
        return sequence
    if tokens.accept("("):
        return nest_right(tokens.several(lambda: parse_type(tokens), ")"), Pair)
    word = tokens.name("a type")
    if word not in TYPES:
        tokens.fail(f"{word} is no type", tokens.tokens[tokens.position - 1])
    return TYPES[word]


class Parser:
    """Reads expressions; keeps the types of the names in scope, which the text states only at their binders."""

    def __init__(self, tokens: Tokens, results: dict[str, Type]) -> None:
        self.tokens = tokens
        self.results = results
        self.types: dict[str, Type] = {}

    def function(self) -> mono.Function:
        start = self.tokens.current
        name, parameters, result = header(self.tokens)
        fold, row_of = None, ""
        while self.tokens.accept(","):
            form = self.tokens.name("reduce, scan or row")
            if form == "row":
                row_of = self.row_of()
            else:
                fold = self.fold(form)
        span = self.tokens.span(start)
        self.types = {p.name: p.type for p in parameters}
        self.tokens.expect("=")
        return mono.Function(name, parameters, result, self.exp(), fold, row_of, origin=(span,))

    def row_of(self) -> str:
        if self.tokens.name("of") != "of":
            self.tokens.fail("a function of a row is `row of` that of all rows")
        return self.tokens.name("the function of all rows")

    def fold(self, form: str) -> mono.Fold:
        if form not in mono.FORMS or self.tokens.name("by") != "by":
            self.tokens.fail("a fold is a reduce or scan by a function")
        operator = self.tokens.name("the operator's name")
        return mono.Fold(form, operator, self.tokens.at_name() and self.tokens.name() == "neutral")

    def exp(self) -> Exp:
        start = self.tokens.current
        if self.tokens.at("let"):
            return self.let()
        if self.tokens.accept("if"):
            condition = self.exp()
            self.tokens.expect("then")
            then = self.exp()
            self.tokens.expect("else")
            return mono.If(condition, then, self.exp(), origin=(self.tokens.span(start),))
        left = self.primary()
        operator = self.tokens.accept(*INFIX)
        return self.primitive(operator, (left, self.primary()), start) if operator else left

    def let(self) -> Exp:
        """Read a chain of lets, of any length."""
        bound: list[tuple[Token, str, Exp]] = []
        while self.tokens.at("let"):
            start = self.tokens.take()
            name, type_ = binder(self.tokens)
            self.tokens.expect("=")
            bound.append((start, name, self.exp()))
            self.tokens.expect("in")
            self.types[name] = type_
        body = self.exp()
        for start, name, value in reversed(bound):
            body = mono.Let(name, value, body, origin=(self.tokens.span(start),))
        return body

    def primary(self) -> Exp:
        tokens, start = self.tokens, self.tokens.current
        if tokens.accept("("):
            return self.parenthesis(start)
        if tokens.accept("["):
            return self.sequence(start)
        if tokens.accept("{"):
            return self.each(start)
        if projection := tokens.accept("first", "second"):
            tokens.expect("(")
            pair = self.exp()
            tokens.expect(")")
            return (mono.First if projection == "first" else mono.Second)(pair, origin=(tokens.span(start),))
        return self.application(start) if tokens.at_name() else self.literal(start)

    def parenthesis(self, start: Token) -> Exp:
        inside = self.exp()
        if self.tokens.accept(":"):
            if not isinstance(inside, mono.Prim | mono.Const):
                self.tokens.fail("only a primitive or a constant is given a type")
            inside = replace(inside, type=parse_type(self.tokens))
            self.tokens.expect(")")
            return inside
        if self.tokens.accept(")"):
            return inside
        self.tokens.expect(",")
        return self.tokens.mark(start, nest_right((inside, *self.tokens.several(self.exp, ")")), mono.Pair))

    def sequence(self, start: Token) -> Exp:
        elements = self.tokens.listed(self.exp, "]")
        element = type_of(elements[0]) if elements else parse_type(self.tokens)
        return mono.Literal(elements, Seq(element), origin=(self.tokens.span(start),))

    def each(self, start: Token) -> Exp:
        """Read an apply-to-each. The body precedes the binders that it needs, so these are read first."""
        tokens = self.tokens
        after_brace = tokens.position
        tokens.skip_body()
        generators = [self.generator()]
        while tokens.accept(";"):
            generators.append(self.generator())
        condition = self.exp() if tokens.accept("|") else None
        tokens.expect("}")
        end, tokens.position = tokens.position, after_brace
        body = self.exp()
        tokens.expect(":")
        tokens.position = end
        return mono.Each(body, tuple(generators), condition, origin=(tokens.span(start),))

    def generator(self) -> mono.Generator:
        start = self.tokens.current
        name, type_ = binder(self.tokens)
        self.types[name] = type_
        self.tokens.expect("in")
        return self.tokens.mark(start, mono.Generator(name, self.exp()))

    def application(self, start: Token) -> Exp:
        tokens = self.tokens
        name = tokens.name()
        if not tokens.accept("("):
            if name not in self.types:
                tokens.fail(f"{name} is not in scope", start)
            return mono.Var(name, self.types[name], origin=(tokens.span(start),))
        arguments = tokens.listed(self.exp, ")")
        if name in IN_MONO:
            return self.primitive(name, arguments, start)
        if name not in self.results:
            tokens.fail(f"there is no function {name}", start)
        return mono.Call(name, arguments, self.results[name], origin=(tokens.span(start),))

    def primitive(self, name: str, arguments: tuple[Exp, ...], start: Token) -> mono.Prim:
        """Return the primitive applied; where the arguments do not determine the type, the text states it after
        them."""
        type_ = primitive_type(name, tuple(map(type_of, arguments)))
        if type_ is None and not self.tokens.at(":"):
            self.tokens.fail(f"{name} does not take such arguments", start)
        return mono.Prim(name, arguments, type_ or INT, origin=(self.tokens.span(start),))

    def literal(self, start: Token) -> Exp:
        tokens = self.tokens
        origin = (tokens.span(start),)
        sign = -1 if tokens.accept("-") else 1
        if word := tokens.accept("inf", "nan"):
            return mono.Const(sign * getattr(math, word), FLOAT, origin=origin)
        kind = tokens.current.kind
        if kind in ("int", "float"):
            return mono.Const(sign * tokens.take().value, INT if kind == "int" else FLOAT, origin=origin)
        if word := tokens.accept("t", "f"):
            return mono.Const(word == "t", BOOL, origin=origin)
        if kind == "char":
            return mono.Const(tokens.literal("char"), CHAR, origin=origin)
        return mono.String(tokens.literal("string"), origin=origin)


__all__ = ["INFIX", "KEYWORDS", "parse"]
