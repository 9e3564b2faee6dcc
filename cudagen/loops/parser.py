"""The parser of functions in the text of loops (grammar: cudagen.loops.text)."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from nessie.base.text.tokens import Tokens
from nessie.cudagen.loops.nodes import (
    WARP,
    Atomic,
    Barrier,
    Call,
    Const,
    Distance,
    Exp,
    For,
    Function,
    If,
    Let,
    Load,
    LoadPair,
    Name,
    Note,
    Op,
    Parameter,
    Part,
    Pause,
    Peers,
    Prefetch,
    Return,
    Set,
    Shared,
    Shuffle,
    Stmt,
    Store,
    StorePair,
    Var,
    Vote,
    While,
)
from nessie.cudagen.loops.printer import ATOMICS, ELEMENTS, KINDS, LOOSEST, SELECT, SHUFFLES, TYPES
from nessie.lambda_cu.ops import LEVELS, OPS

T = TypeVar("T")


class Parser:
    """Recursive descent; each method reads the part of the grammar that it is named after."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens

    def comments(self, word: str) -> str:
        lines: list[str] = []
        while self.tokens.accept(word):
            lines.append(self.tokens.literal("string"))
        return "\n".join(lines)

    def function(self) -> Function:
        about = self.comments("about")
        if not self.tokens.at(*KINDS):
            self.tokens.fail("a function is expected here, of which this tells")
        start = self.tokens.current
        kind, name = self.tokens.take().text, self.tokens.name()
        self.tokens.expect("(")
        parameters = self.tokens.listed(self.parameter, ")")
        origin = (self.tokens.span(start),)
        results = self.separated(self.type) if self.tokens.accept("->") else ()
        return Function(name, kind, parameters, self.block(), results, origin=origin, about=about)

    def parameter(self) -> Parameter:
        start = self.tokens.current
        writable = self.tokens.accept("writable") is not None
        type_ = self.one_of(ELEMENTS, "a type")
        array = self.tokens.accept("[") is not None
        if array:
            self.tokens.expect("]")
        return self.tokens.mark(start, Parameter(self.tokens.name(), type_, array, writable))

    def type(self) -> str:
        return self.one_of(TYPES, "a type")

    def one_of(self, words: tuple[str, ...], what: str) -> str:
        found = self.tokens.accept(*words)
        return found if found is not None else self.tokens.fail(f"{what} is expected here ({', '.join(words)})")

    def block(self) -> tuple[Stmt, ...]:
        self.tokens.expect("{")
        statements: list[Stmt] = []
        while not self.tokens.accept("}"):
            statements.append(self.statement())
        return tuple(statements)

    def statement(self) -> Stmt:
        first = self.tokens.current
        compound: dict[str, Callable[[], Stmt]] = {"for": self.for_, "while": self.while_, "if": self.if_}
        for start, read in compound.items():
            if self.tokens.accept(start):
                return self.tokens.mark(first, read())
        statement = self.tokens.mark(first, self.simple())
        self.tokens.expect(";")
        return statement

    def for_(self) -> For:
        self.tokens.expect("(")
        index = self.tokens.name()
        self.tokens.expect("=")
        low = self.expression()
        self.header(index, "<")
        high = self.expression()
        self.header(index, "+=")
        step = self.expression()
        self.tokens.expect(")")
        return For(index, low, high, self.block(), step)

    def header(self, index: str, symbol: str) -> None:
        """The repeated name of a loop's index."""
        self.tokens.expect(";")
        token = self.tokens.current
        if self.tokens.name() != index:
            self.tokens.fail(f"the loop's index {index} is expected here", token)
        self.tokens.expect(symbol)

    def while_(self) -> While:
        return While(self.condition(), self.block())

    def if_(self) -> If:
        condition, then = self.condition(), self.block()
        return If(condition, then, self.block() if self.tokens.accept("else") else ())

    def condition(self) -> Exp:
        self.tokens.expect("(")
        condition = self.expression()
        self.tokens.expect(")")
        return condition

    def simple(self) -> Stmt:
        tokens = self.tokens
        if tokens.accept("var"):
            type_, name = self.type(), tokens.name()
            return Var(name, type_, self.definition())
        if tokens.accept("shared"):
            type_, name = self.one_of(ELEMENTS, "a type"), tokens.name()
            return Shared(name, type_, int(self.indexed(tokens.integer)))
        if tokens.accept("return"):
            return Return(() if tokens.at(";") else self.separated(self.expression))
        if tokens.accept("note"):
            return Note(tokens.literal("string"))
        if tokens.accept("pause"):
            return Pause()
        if tokens.accept("barrier"):
            warp = tokens.accept("warp") is not None
            return Barrier(warp, WARP if not warp or tokens.at(";") else int(tokens.integer()))
        if tokens.accept("prefetch"):
            array = tokens.name()
            return Prefetch(array, self.indexed(self.expression))
        if tokens.accept("release"):
            array = tokens.name()
            return Store(array, self.indexed(self.expression), self.definition(), True)
        if tokens.accept("pair"):
            array = tokens.name()
            index = self.indexed(self.expression)
            first = self.definition()
            tokens.expect(",")
            return StorePair(array, index, first, self.expression())
        if tokens.at("atomic", "call"):
            return self.effect(())
        if tokens.at(*ELEMENTS):
            type_ = self.one_of(ELEMENTS, "a type")
            if tokens.at("["):
                return self.part(type_)
            name = tokens.name()
            return Let(name, type_, self.definition())
        return self.assignment()

    def part(self, type_: str) -> Part:
        tokens = self.tokens
        tokens.expect("[")
        tokens.expect("]")
        name = tokens.name()
        for symbol in ("=", "piece", "("):
            tokens.expect(symbol)
        array = tokens.name()
        tokens.expect(",")
        offset = self.expression()
        tokens.expect(")")
        return Part(name, type_, array, offset)

    def assignment(self) -> Stmt:
        """A statement that begins with a name that is there already, or whose type follows from its value."""
        names = self.separated(self.tokens.name)
        if len(names) == 1 and self.tokens.at("["):
            index = self.indexed(self.expression)
            return Store(names[0], index, self.definition())
        self.tokens.expect("=")
        if len(names) == 2 and self.tokens.accept("pair"):
            type_, array = self.type(), self.tokens.name()
            return LoadPair((names[0], names[1]), type_, array, self.indexed(self.expression))
        if len(names) > 1 or self.tokens.at("atomic", "call"):
            return self.effect(names)
        return Set(names[0], self.expression())

    def definition(self) -> Exp:
        self.tokens.expect("=")
        return self.expression()

    def effect(self, names: tuple[str, ...]) -> Stmt:
        tokens = self.tokens
        if len(names) < 2 and tokens.accept("atomic"):
            op = self.one_of(ATOMICS, "an atomic operation")
            ordered = bool(tokens.accept("ordered"))
            tokens.expect("(")
            array = tokens.name()
            index = self.indexed(self.expression)
            tokens.expect(",")
            values = tokens.listed(self.expression, ")")
            if len(values) != 1 + (op == "cas"):
                tokens.fail("cas takes what to compare with and a value, the others a value")
            return Atomic(op, array, index, values[-1], names[0] if names else None, values[0] if op == "cas" else None,
                          ordered)
        tokens.expect("call")
        function = tokens.name()
        tokens.expect("(")
        return Call(names, function, tokens.listed(self.expression, ")"))

    def indexed(self, inside: Callable[[], T]) -> T:
        self.tokens.expect("[")
        value = inside()
        self.tokens.expect("]")
        return value

    def separated(self, item: Callable[[], T]) -> tuple[T, ...]:
        """One or more, with commas between them."""
        items = [item()]
        while self.tokens.accept(","):
            items.append(item())
        return tuple(items)

    def expression(self) -> Exp:
        start = self.tokens.current
        condition = self.operation(SELECT + 1)
        if not self.tokens.accept("?"):
            return condition
        then = self.operation(SELECT + 1)
        self.tokens.expect(":")
        return self.tokens.mark(start, Op("select", (condition, then, self.expression())))

    def operation(self, level: int) -> Exp:
        """Infix operators that bind at least this tightly."""
        start, left = self.tokens.current, self.operand()
        while self.tokens.current.kind in ("symbol", "name") and LEVELS.get(self.tokens.current.text, LOOSEST) >= level:
            op = self.tokens.take().text
            left = self.tokens.mark(start, Op(op, (left, self.operation(LEVELS[op] + 1))))
        return left

    def operand(self) -> Exp:
        tokens, start = self.tokens, self.tokens.current
        if tokens.accept("("):
            inside = self.expression()
            tokens.expect(")")
            return inside
        return tokens.mark(start, self.plain())

    def plain(self) -> Exp:
        """An operand without parentheses."""
        tokens = self.tokens
        if tokens.accept("shuffle"):
            mode = self.one_of(SHUFFLES, "a way to shuffle")
            tokens.expect("(")
            name = tokens.name()
            tokens.expect(",")
            offset, lanes = self.expression(), tokens.integer() if tokens.accept(",") else WARP
            tokens.expect(")")
            return Shuffle(name, offset, mode, int(lanes))
        if tokens.accept("vote"):
            tokens.expect("(")
            (name,) = tokens.listed(tokens.name, ")")
            return Vote(name)
        if tokens.accept("peers"):
            tokens.expect("(")
            name = tokens.name()
            tokens.expect(",")
            (bits,) = tokens.listed(tokens.integer, ")")
            return Peers(name, int(bits))
        if tokens.accept("distance"):
            tokens.expect("(")
            array, start = tokens.listed(tokens.name, ")")
            return Distance(array, start)
        if order := tokens.accept("volatile", "relaxed", "acquire"):
            array = tokens.name()
            return Load(array, self.indexed(self.expression), order)
        if tokens.at_name():
            name = tokens.name()
            return Load(name, self.indexed(self.expression)) if tokens.at("[") else Name(name)
        if tokens.at(*OPS) and tokens.follows("("):
            op = tokens.take().text
            tokens.expect("(")
            return Op(op, tokens.listed(self.expression, ")"))
        return self.constant()

    def constant(self) -> Const:
        tokens = self.tokens
        if found := tokens.accept("true", "false"):
            return Const(found == "true", "bool")
        if tokens.current.kind == "char":
            return Const(tokens.take().value, "char")
        sign = -1 if tokens.accept("-") else 1
        if found := tokens.accept("inf", "nan"):
            return Const(sign * math.inf if found == "inf" else math.nan, "float")
        if tokens.current.kind not in ("int", "float"):
            tokens.fail("an expression is expected here")
        token = tokens.take()
        return Const(sign * token.value, token.kind)
