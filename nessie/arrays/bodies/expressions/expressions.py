"""Python's expressions as NESL's."""
from __future__ import annotations

import ast
from dataclasses import replace

from nessie.arrays.bodies import outside
from nessie.arrays.bodies.expressions import numbers
from nessie.arrays.bodies.expressions.calls import Calls
from nessie.arrays.bodies.expressions.names import CANNOT
from nessie.arrays.bodies.expressions.values import Env, Window
from nessie.arrays.bodies.kinds import INT
from nessie.arrays.bodies.trees import Made, at, number


class Expressions(Calls):
    """Translates the expressions of one function."""

    def value(self, node: ast.expr, env: Env) -> Made:
        """The value of an expression, with its place."""
        made = self.any_value(node, env)
        if isinstance(made, Window):
            self.refuse(node, "the neighbours of a stencil are taken one by one",
                        hint="v[0] of one dimension, v[-1, 0] of two; sum(v), min(v), max(v) take all")
        return replace(made, exp=at(made.exp, self.span(node)))

    def folded(self, node: ast.expr) -> int | None:
        """The int that an expression of literals gives."""
        try:
            return numbers.folded(node)
        except OverflowError:
            self.refuse(node, outside.BEYOND_64, hint="a float holds it, rounded: 2.0 ** 70")

    def any_value(self, node: ast.expr, env: Env) -> Made | Window:
        match node:
            case ast.Constant(value=value):
                return self.constant(node, value)
            case ast.Name(id=known_name):
                return self.of_name(node, env[known_name]) if known_name in env else self.from_outside(node)
            case ast.Attribute():
                return self.attribute(node, env)
            case ast.Tuple(elts=parts) | ast.List(elts=parts) if parts:
                return self.items([self.value(part, env) for part in parts])
            case ast.BinOp() | ast.UnaryOp() if (folded := self.folded(node)) is not None:
                return Made(number(folded), INT)
            case ast.UnaryOp(op, operand):
                return self.unary(node, op, operand, env)
            case ast.BoolOp(op, parts):
                return self.choice(node, isinstance(op, ast.And), parts, env)
            case ast.Compare():
                return self.comparison(node, env)
            case ast.IfExp(test, body, orelse):
                true, false = self.where(test, env)
                return self.one_of(node, lambda: self.truth(test, env), lambda: self.lazily(body, true),
                                   lambda: self.lazily(orelse, false))
            case ast.BinOp(left, op, right):
                return self.arithmetic(node, op, self.value(left, env), self.value(right, env))
            case ast.Subscript(inner, index):
                return self.subscript(node, inner, index, env)
            case ast.Call():
                return self.call(node, env)
            case ast.ListComp() | ast.GeneratorExp():
                return self.comprehension(node, env)
            case ast.NamedExpr():
                self.refuse(node, ":= stands only where it is surely computed, once: not in a branch of a conditional, "
                                  "a while loop's test or a comprehension", hint="a statement of its own assigns there")
            case ast.Lambda():
                self.refuse(node, "a lambda is given to map, reduce or select of a sequence, and to nothing else here")
        self.refuse(node, f"{self.shown(node)} cannot be in a body", hint=CANNOT)
