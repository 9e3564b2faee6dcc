"""Arithmetic. Numbers promote as in Python: / gives a float, // and % round down."""
from __future__ import annotations

import ast
import builtins
from functools import reduce
from typing import Any

import numpy as np

from nessie.arrays.bodies.expressions import known, numbers
from nessie.arrays.bodies.expressions.truth import Truth
from nessie.arrays.bodies.expressions.values import Env
from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Items, Kind, is_number, joined, shown
from nessie.arrays.bodies.trees import Made, at, become, binary, call, item, let, name, number
from nessie.base.source import Span
from nessie.syntax import nodes as syntax

ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
OF_BITS: dict[type[ast.operator], str] = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
GREATEST = (builtins.max, np.max)
SMALL_POWER = 64            # up to which a constant power is products


class Arithmetic(Truth):
    """Translates operators of numbers."""

    def convert(self, made: Made, kind: Kind, node: ast.AST) -> syntax.Exp:
        """The value as one of another kind; refused where it is none."""
        if joined(made.kind, kind) != kind:
            self.refuse(node, f"{shown(kind)} is needed here, and this is {shown(made.kind)}")
        return become(made, kind, self.fresh)

    def numeric(self, made: Made, node: ast.AST) -> Made:
        """A number; of a truth value, 0 or 1."""
        if not is_number(made.kind):
            self.refuse(node, f"a number is needed here, and this is {shown(made.kind)}")
        return Made(call("btoi", made.exp), INT) if made.kind == BOOL else made

    def unary(self, node: ast.UnaryOp, op: ast.unaryop, operand: ast.expr, env: Env) -> Made:
        if isinstance(op, ast.USub) and isinstance(operand, ast.Constant) and isinstance(operand.value, int | float):
            return self.constant(node, -operand.value)
        if isinstance(op, ast.Not):
            return Made(call("not", self.truth(operand, env)), BOOL)
        made = self.value(operand, env)
        if isinstance(op, ast.Invert):
            return self.inverted(node, self.numeric(made, node))
        made = self.numeric(made, node)
        if isinstance(op, ast.UAdd):
            return made
        return Made(known.negative(made.exp) if made.kind == FLOAT else call("negate", made.exp), made.kind)

    def inverted(self, node: ast.AST, made: Made) -> Made:
        if made.kind not in (INT, BOOL):
            self.refuse(node, f"~ turns the bits of an int, and this is {shown(made.kind)}")
        return Made(call("not", made.exp), made.kind)

    def arithmetic(self, node: ast.expr, op: ast.operator, left: Made, right: Made) -> Made:
        if left.kind == right.kind == BOOL and type(op) in OF_BITS:
            return Made(binary(OF_BITS[type(op)], left.exp, right.exp, self.span(node)), BOOL)
        if isinstance(left.kind, Items) and isinstance(right.kind, Items) and isinstance(op, ast.Add):
            parts = [item(made, k, self.fresh) for made in (left, right)
                     for k in range(len(made.kind.items))]           # type: ignore[union-attr]
            return self.items(parts)
        a, b = self.numeric(left, node), self.numeric(right, node)
        kind = FLOAT if FLOAT in (a.kind, b.kind) else INT
        if isinstance(op, ast.Pow):
            return self.power(node, a, b)
        if isinstance(op, ast.Div):
            kind = FLOAT
        x, y = become(a, kind, self.fresh), become(b, kind, self.fresh)
        span = self.span(node)
        match op:
            case ast.Div():
                return Made(binary("/", x, y, span), FLOAT)
            case ast.Mod() | ast.FloorDiv():
                return Made(self.rounding_down(isinstance(op, ast.Mod), kind, x, y, span), kind)
            case ast.LShift() | ast.RShift() | ast.BitAnd() | ast.BitOr() | ast.BitXor():
                if kind == FLOAT:
                    self.refuse(node, "ints have bits, and a float is none", hint="int(x) is one, rounded to 0")
                if isinstance(op, ast.LShift | ast.RShift):
                    return Made(call("lshift" if isinstance(op, ast.LShift) else "rshift", x, y, span=span), INT)
                return Made(binary(OF_BITS[type(op)], x, y, span), INT)
            case ast.MatMult():
                self.refuse(node, "@ multiplies matrices; a body has numbers and rows",
                            hint="sum(x * y for x, y in zip(row, column)) is the product of two rows")
        return Made(binary(ARITHMETIC[type(op)], x, y, span), kind)

    def rounding_down(self, rest: bool, kind: str, x: syntax.Exp, y: syntax.Exp, span: Span) -> syntax.Exp:
        """x % y, or x // y: an error for a divisor 0."""
        if kind == INT and rest:
            return call("mod", x, y, span=span)
        a, b = self.fresh("a"), self.fresh("b")
        if kind == INT:
            whole = known.floor_divided_ints(name(a), name(b), span)
        else:
            row = known.remainder if rest else known.floor_divided
            failure = syntax.String("Float modulo by zero." if rest else "Float floor division by zero.")
            whole = call("_check", binary("/=", name(b), number(0.0)), failure, row([name(a), name(b)], self.fresh),
                         span=span)
        return let([a], x, let([b], y, whole))

    def power(self, node: ast.expr, a: Made, b: Made) -> Made:
        """An int to a constant int that is not negative, or any int, is an int; else floats are raised."""
        span = self.span(node)
        exponent = node.right if isinstance(node, ast.BinOp) else None
        if b.kind == INT and a.kind == INT:
            negative = isinstance(exponent, ast.UnaryOp) and isinstance(exponent.op, ast.USub)
            if not negative:
                return Made(binary("^", a.exp, b.exp, span), INT)
        if isinstance(exponent, ast.Constant) and isinstance(exponent.value, int | float) and \
                0 <= exponent.value <= SMALL_POWER and float(exponent.value).is_integer():
            return Made(binary("^", become(a, FLOAT, self.fresh), number(int(exponent.value)), span), FLOAT)
        if isinstance(exponent, ast.Constant) and exponent.value == 0.5:
            return Made(call("sqrt", become(a, FLOAT, self.fresh), span=span), FLOAT)
        power = known.checked("**", known.named("_pow"))
        exp = power([become(a, FLOAT, self.fresh), become(b, FLOAT, self.fresh)], self.fresh)
        return Made(at(exp, span), FLOAT)

    def extreme(self, node: ast.AST, function: Any, given: list[Made]) -> Made:
        """The least or the greatest of these: Python's, or NumPy's, where NaN is beyond all numbers."""
        made = [self.numeric(one, node) for one in given]
        kind = FLOAT if any([one.kind == FLOAT for one in made]) else INT
        exps, op = [become(one, kind, self.fresh) for one in made], "max" if function in GREATEST else "min"
        if kind == FLOAT and function in (builtins.min, builtins.max):
            return Made(numbers.extreme(op, exps, self.fresh, self.span(node)), kind)
        return Made(reduce(lambda a, b: call(op, a, b, span=self.span(node)), exps), kind)
