"""Reads typed programs from the text that typing.text writes.

    program    = { "function" NAME [variables] "(" patterns ")" ":" type [STRING] "=" exp
                 | "datatype" NAME [variables] "=" type
                 | "variable" [variables] patterns "=" exp }
    exp        = "let" patterns "=" exp "in" exp  |  "if" exp "then" exp "else" exp  |  primary { "(" exps ")" }
    primary    = literal  |  NAME  |  NAME "[" types "]"  |  "(" NAME ":" type ")"  |  "(" exp { "," exp } ")"
               | "[" exps "]"  |  "empty" type  |  "{" ["serial"] exp ":" pattern "in" exp { ";" ... } ["|" exp] "}"
               | "(" "fn" NAME "[" types "]" "{" [NAME ":" type, ...] "}" "(" patterns ")" "=>" exp ")"
               | "closure" "(" exp "," exp ")"  |  "time" "(" exp ")"
    pattern    = NAME ":" type  |  NAME "[" types "]" "(" patterns ")"  |  "(" patterns ")"
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from nessie.base.source import Source
from nessie.base.text.places import Places
from nessie.base.text.tokens import Token, Tokens
from nessie.base.text.types_text import Variables, parse_part, parse_type, parse_variables
from nessie.base.types import (
    BOOL,
    CHAR,
    FLOAT,
    INT,
    Fun,
    Identity,
    Pair,
    Scheme,
    Seq,
    Type,
    Var,
    instantiate,
    nest_right,
)
from nessie.typing import nodes as typed
from nessie.typing.environment import constructor_scheme, function_scheme
from nessie.typing.node_types import closure_type, pattern_names, pattern_type, type_of
from nessie.typing.text import KEYWORDS

SchemeOf = Callable[[str], "Scheme | None"]
WORDS: dict[str, typed.Exp] = {
    "t": typed.Const(True, BOOL), "f": typed.Const(False, BOOL), "inf": typed.Const(math.inf, FLOAT),
    "nan": typed.Const(math.nan, FLOAT)}


def parse(text: str | Source, scheme_of: SchemeOf, places: Places | None = None) -> typed.Program:
    """Parse the program; scheme_of knows the functions that it does not define."""
    tokens = Tokens(text, KEYWORDS, places)
    own: dict[str, Scheme] = {}
    parser = Parser(tokens, lambda name: own.get(name) or scheme_of(name))
    read_ahead(tokens, own)
    definitions: list[typed.Definition] = []
    while tokens.at("function", "datatype", "variable"):
        definitions.append(parser.definition())
    tokens.finish()
    return typed.Program(tuple(definitions))


def read_ahead(tokens: Tokens, own: dict[str, Scheme]) -> None:
    """Read the schemes of all functions and constructors: an expression may use later definitions."""
    for position, token in enumerate(tokens.tokens):
        if token.kind == "name" and token.text in ("function", "datatype"):
            tokens.position = position
            header = Parser(tokens, own.get).header()
            own[header.name] = function_scheme(header) if isinstance(header, typed.Function) \
                else constructor_scheme(header)
    tokens.position = 0


class Parser:
    def __init__(self, tokens: Tokens, scheme_of: SchemeOf) -> None:
        self.tokens, self.scheme_of = tokens, scheme_of
        self.variables: Variables = {}
        self.scope: dict[str, Type] = {}

    def header(self) -> typed.Function | typed.Datatype:
        """Read a datatype, or a function up to its body, with a placeholder body."""
        start = self.tokens.take()
        name = self.tokens.name()
        variables = self.bind_variables()
        if start.text == "datatype":
            self.tokens.expect("=")
            return self.tokens.mark(start, typed.Datatype(name, variables, self.type()))
        self.tokens.expect("(")
        parameter = self.patterns(")")
        self.tokens.expect(":")
        result = self.type()
        doc = self.tokens.take().value if self.tokens.current.kind == "string" else None
        self.tokens.expect("=")
        return typed.Function(name, variables, parameter, result, typed.Const(0, INT), doc)

    def definition(self) -> typed.Definition:
        self.scope, start = {}, self.tokens.current
        if self.tokens.at("function", "datatype"):
            header = self.header()
            if isinstance(header, typed.Datatype):
                return header
            self.bind(header.parameter)
            return self.tokens.mark(start, replace(header, body=self.exp()))
        self.tokens.expect("variable")
        self.bind_variables()
        pattern = self.patterns("=")
        return self.tokens.mark(start, typed.Variable(pattern, self.exp()))

    def bind_variables(self) -> tuple[Var, ...]:
        variables = parse_variables(self.tokens)
        self.variables = {v.name: v for v in variables}
        return variables

    def type(self) -> Type:
        return parse_type(self.tokens, self.variables)

    def types(self) -> tuple[Type, ...]:
        """Read [t1, t2]; there may be nothing between the brackets."""
        self.tokens.expect("[")
        return self.tokens.listed(lambda: parse_part(self.tokens, self.variables), "]")

    def bind(self, pattern: typed.Pattern) -> None:
        self.scope.update((p.name, p.type) for p in pattern_names(pattern))

    def inside(self, pattern: typed.Pattern) -> typed.Exp:
        """Read an expression in which the pattern's names are bound."""
        before = dict(self.scope)
        self.bind(pattern)
        exp = self.exp()
        self.scope = before
        return exp

    # Patterns

    def patterns(self, end: str) -> typed.Pattern:
        """Read patterns with commas between them, and the end: a tuple."""
        return nest_right(self.tokens.several(self.pattern, end), typed.PairPattern)

    def pattern(self) -> typed.Pattern:
        start = self.tokens.current
        if self.tokens.accept("("):
            return self.tokens.mark(start, self.patterns(")"))
        name = self.tokens.name()
        if self.tokens.accept(":"):
            return self.tokens.mark(start, typed.NamePattern(name, self.type()))
        types = self.types()
        self.tokens.expect("(")
        return self.tokens.mark(start, typed.DataPattern(name, types, self.patterns(")")))

    # Expressions

    def exp(self) -> typed.Exp:
        start = self.tokens.current
        if self.tokens.at("let"):
            return self.lets()
        if self.tokens.accept("if"):
            condition = self.exp()
            self.tokens.expect("then")
            then = self.exp()
            self.tokens.expect("else")
            return self.tokens.mark(start, typed.If(condition, then, self.exp()))
        result = self.primary()
        while self.tokens.accept("("):
            type_ = type_of(result)
            if not isinstance(type_, Fun):
                self.tokens.fail("what is applied here is no function")
            opening = self.tokens.tokens[self.tokens.position - 1]
            argument = self.tokens.mark(opening, self.tuple(self.tokens.several(self.exp, ")")))
            result = self.tokens.mark(start, typed.Apply(result, argument, type_.result))
        return result

    def lets(self) -> typed.Exp:
        bindings: list[tuple[Token, typed.Pattern, typed.Exp]] = []
        before = dict(self.scope)
        while self.tokens.at("let"):
            start, pattern = self.tokens.take(), self.patterns("=")
            bindings.append((start, pattern, self.exp()))
            self.tokens.expect("in")
            self.bind(pattern)
        result = self.exp()
        self.scope = before
        for start, pattern, value in reversed(bindings):
            result = self.tokens.mark(start, typed.Let(pattern, value, result))
        return result

    def tuple(self, items: tuple[typed.Exp, ...]) -> typed.Exp:
        return nest_right(items, typed.Pair)

    def primary(self) -> typed.Exp:
        token = self.tokens.current
        if token.kind == "name" and token.text in WORDS:
            return WORDS[self.tokens.take().text]
        return self.tokens.mark(token, self.marked(token))

    def marked(self, token: Token) -> typed.Exp:
        if self.tokens.accept("("):
            return self.parenthesised()
        if self.tokens.accept("["):
            elements = self.tokens.several(self.exp, "]")
            return typed.Sequence(elements, Seq(type_of(elements[0])))
        if self.tokens.accept("{"):
            return self.each()
        if token.kind in ("int", "float", "string", "char") or self.tokens.at("-"):
            return self.literal()
        if self.tokens.accept("empty"):
            return typed.Sequence((), self.type())
        if self.tokens.at("closure", "time"):
            return self.special(self.tokens.take().text)
        name = self.tokens.name("an expression")
        return self.global_(name) if self.tokens.at("[") else self.local(name)

    def literal(self) -> typed.Exp:
        negative = self.tokens.accept("-") is not None
        token = self.tokens.take()
        if negative and token.text == "inf":
            return typed.Const(-math.inf, FLOAT)
        match token.kind:
            case "int":
                return typed.Const(-token.value if negative else token.value, INT)
            case "float":
                return typed.Const(-token.value if negative else token.value, FLOAT)
            case "char":
                return typed.Const(token.value, CHAR)
            case "string":
                return typed.String(token.value)
        self.tokens.fail("a number is expected here", token)

    def parenthesised(self) -> typed.Exp:
        if self.tokens.accept("fn"):
            return self.lambda_()
        if self.tokens.at_name() and self.tokens.follows(":"):
            name = self.tokens.name()
            self.tokens.expect(":")
            type_ = self.type()
            self.tokens.expect(")")
            return typed.Name(name, type_)
        return self.tuple(self.tokens.several(self.exp, ")"))

    def local(self, name: str) -> typed.Exp:
        if name not in self.scope:
            self.tokens.fail(f"{name} is not bound", self.tokens.tokens[self.tokens.position - 1])
        return typed.Name(name, self.scope[name])

    def global_(self, name: str) -> typed.Exp:
        scheme = self.scheme_of(name)
        if scheme is None:
            self.tokens.fail(f"{name} is not defined", self.tokens.tokens[self.tokens.position - 1])
        types = self.types()
        if len(types) != len(scheme.variables):
            self.tokens.fail(f"{name} is at {len(scheme.variables)} types")
        return typed.Global(name, types, instantiate(scheme, types))

    def special(self, word: str) -> typed.Exp:
        self.tokens.expect("(")
        if word == "time":
            return typed.Time(self.tuple(self.tokens.several(self.exp, ")")))
        start = self.tokens.current
        function = self.exp()
        type_ = type_of(function)
        if not isinstance(type_, Fun) or not isinstance(type_.argument, Pair):
            self.tokens.fail("a closure is of a function of two arguments", start)
        self.tokens.expect(",")
        argument = self.exp()
        self.tokens.expect(")")
        return typed.Closure(function, argument, closure_type(type_, type_of(argument)))

    def each(self) -> typed.Exp:
        """Read { body : generators | filter }; the generators bind names that the body, before them, uses."""
        serial = self.tokens.accept("serial") is not None
        start = self.tokens.position
        self.tokens.skip_body()
        generators = [self.generator()]
        while self.tokens.accept(";"):
            generators.append(self.generator())
        before = dict(self.scope)
        for generator in generators:
            self.bind(generator.pattern)
        kept = self.exp() if self.tokens.accept("|") else None
        self.tokens.expect("}")
        end = self.tokens.position
        self.tokens.position = start
        body = self.exp()
        self.tokens.expect(":")
        self.scope, self.tokens.position = before, end
        return typed.Each(body, tuple(generators), kept, serial)

    def generator(self) -> typed.Generator:
        start, pattern = self.tokens.current, self.pattern()
        self.tokens.expect("in")
        return self.tokens.mark(start, typed.Generator(pattern, self.exp()))

    def lambda_(self) -> typed.Exp:
        """Read (fn name[types]{captured} (pattern) => body), after its parenthesis and `fn`."""
        name = self.tokens.name()
        types = self.types()
        self.tokens.expect("{")
        patterns = self.tokens.listed(self.pattern, "}")
        captured = tuple(typed.Name(p.name, p.type) for p in patterns if isinstance(p, typed.NamePattern))
        self.tokens.expect("(")
        pattern = self.patterns(")")
        self.tokens.expect("=>")
        before = dict(self.scope)
        self.scope.update((v.name, v.type) for v in captured)
        body = self.inside(pattern)
        self.scope = before
        self.tokens.expect(")")
        identity = Identity(name, types, tuple(v.type for v in captured))
        return typed.Lambda(pattern, body, captured, Fun(pattern_type(pattern), type_of(body), identity))
