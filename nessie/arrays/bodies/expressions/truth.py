"""Truth values: comparisons, conditionals, and what is known where a test holds."""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from nessie.arrays.bodies.expressions import numbers
from nessie.arrays.bodies.expressions.names import Names
from nessie.arrays.bodies.expressions.values import Env, attempts
from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Items, Rows, is_number, joined, shown
from nessie.arrays.bodies.outside import static
from nessie.arrays.bodies.source import root
from nessie.arrays.bodies.trees import Made, become, binary, call, let, name, number
from nessie.syntax import nodes as syntax

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "/=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
HAS_SOME = {(ast.Gt, 0): True, (ast.GtE, 1): True, (ast.NotEq, 0): True, (ast.Eq, 0): False, (ast.Lt, 1): False,
            (ast.LtE, 0): False}             # of a length: is there an element where the comparison holds?


class Truth(Names):
    """Translates what is true or not."""

    def truth(self, node: ast.expr, env: Env) -> syntax.Exp:
        return self.true(self.value(node, env), node)

    def true(self, made: Made, node: ast.AST) -> syntax.Exp:
        """Is it true? Numbers are where they are not 0."""
        if made.kind == BOOL:
            return made.exp
        if is_number(made.kind):
            return binary("/=", made.exp, number(0 if made.kind == INT else 0.0), self.span(node))
        if isinstance(made.kind, Rows):
            return binary(">", syntax.Unary("#", made.exp), number(0), self.span(node))
        self.refuse(node, f"a truth value is needed here, and this is {shown(made.kind)}")

    def where(self, test: ast.expr, env: Env) -> tuple[Env, Env]:
        """What is known where the test holds, and where not: that a sequence has elements."""
        match test:
            case ast.UnaryOp(ast.Not(), operand):
                true, false = self.where(operand, env)
                return false, true
            case ast.BoolOp(ast.And(), parts):
                true = env
                for part in parts:
                    true, _ = self.where(part, true)
                return true, env
            case ast.Compare(ast.Call() as length, [op], [ast.Constant(value=int() as bound)]):
                found = self.measured(length, env), HAS_SOME.get((type(op), bound))
            case ast.Call():
                found = self.measured(test, env), True
            case _:
                found = test, True
        of, holds = found
        if not isinstance(of, ast.Name) or not isinstance(made := env.get(of.id), Made) or holds is None:
            return env, env
        known = {**env, of.id: replace(made, some=True)}
        return (known, env) if holds else (env, known)

    def measured(self, call: ast.Call, env: Env) -> ast.expr | None:
        """What `len` is called of, if it is."""
        is_len = root(call.func) not in env and static(self.function, call.func) is builtins.len
        return call.args[0] if is_len and len(call.args) == 1 else None

    def choice(self, node: ast.BoolOp, all_: bool, parts: list[ast.expr], env: Env) -> Made:
        """`and` and `or`, which compute no more than they need. Of numbers they give one of them, as in Python."""
        result: Made
        envs = [env]
        for part in parts[:-1]:
            envs.append(self.where(part, envs[-1])[0 if all_ else 1])
        result, *others = attempts([partial(self.lazily, part, known) for part, known in
                                    zip(reversed(parts), reversed(envs))])
        for part, made in zip(reversed(parts[:-1]), others):
            if made.kind == result.kind == BOOL:
                yes, no = (result.exp, syntax.Bool(False)) if all_ else (syntax.Bool(True), result.exp)
                result = Made(syntax.If(made.exp, yes, no, span=self.span(node)), BOOL)
                continue
            x = self.fresh("x")
            here = Made(name(x), made.kind)
            ends = self.conditional(node, self.true(here, part), result if all_ else here, here if all_ else result)
            result = Made(let([x], made.exp, ends.exp), ends.kind)
        return result

    def one_of(self, node: ast.AST, test: Callable[[], syntax.Exp], then: Callable[[], Made],
               orelse: Callable[[], Made]) -> Made:
        """A conditional of what is translated here."""
        condition, *_ = attempts([test, lambda: syntax.Bool(True)])
        first, second = self.sides(node, [then, orelse])
        return self.conditional(node, condition, first, second)

    def conditional(self, node: ast.AST, test: syntax.Exp, then: Made, orelse: Made) -> Made:
        kind = self.join(then.kind, orelse.kind)
        if kind is None:
            self.refuse(node, f"one branch is {shown(then.kind)}, the other {shown(orelse.kind)}",
                        hint="both give numbers, or tuples or rows of the same")
        return Made(syntax.If(test, become(then, kind, self.fresh), become(orelse, kind, self.fresh),
                              span=self.span(node)), kind)

    def comparison(self, node: ast.Compare, env: Env) -> Made:
        """a < b < c is a < b and b < c, where b is computed once."""
        terms = [self.value(part, env) for part in (node.left, *node.comparators)]

        def chain(number: int, left: Made) -> syntax.Exp:
            right = terms[number + 1]
            if number + 2 == len(terms):
                return self.compared(node, node.ops[number], left, right)
            x = self.fresh("x")
            here = Made(name(x), right.kind)
            return let([x], right.exp, syntax.If(self.compared(node, node.ops[number], left, here),
                                                 chain(number + 1, here), syntax.Bool(False)))
        return Made(chain(0, terms[0]), BOOL)

    def compared(self, node: ast.expr, op: ast.cmpop, a: Made, b: Made) -> syntax.Exp:
        if isinstance(op, ast.In):
            return self.held_by(node, a, b)
        if isinstance(op, ast.NotIn):
            return call("not", self.held_by(node, a, b))
        if type(op) not in COMPARISONS:
            self.refuse(node, f"'{'is' if isinstance(op, ast.Is) else 'is not'}' cannot be in a body",
                        hint="== compares numbers, and no element is None")
        kind = joined(a.kind, b.kind)
        if kind is None or not is_number(kind):
            self.refuse(node, f"{shown(a.kind)} cannot be compared with {shown(b.kind)}", hint="numbers can")
        if {a.kind, b.kind} == {INT, FLOAT}:
            return numbers.compared(COMPARISONS[type(op)], a, b, self.fresh, self.span(node))
        kind = INT if kind == BOOL else kind
        return binary(COMPARISONS[type(op)], become(a, kind, self.fresh), become(b, kind, self.fresh), self.span(node))

    def held_by(self, node: ast.expr, made: Made, of: Made) -> syntax.Exp:
        """x in row, or in a tuple."""
        x, y = self.fresh("x"), self.fresh("y")
        wanted = Made(name(x), made.kind)
        match of.kind:
            case Items(items):
                names = [self.fresh("item") for _ in items]
                found: syntax.Exp = syntax.Bool(False)
                for n, kind in reversed(list(zip(names, items))):
                    same = self.compared(node, ast.Eq(), wanted, Made(name(n), kind))
                    found = syntax.If(same, syntax.Bool(True), found)
                found = let(names, of.exp, found)
            case Rows(element):
                test = self.compared(node, ast.Eq(), wanted, Made(name(y), element))
                found = call("any", syntax.Each(test, (syntax.Generator(syntax.NamePattern(y), of.exp),), None))
            case _:
                self.refuse(node, f"a row or a tuple holds elements, and this is {shown(of.kind)}",
                            hint="x == y compares two numbers")
        return let([x], made.exp, found)
