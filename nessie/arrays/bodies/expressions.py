"""Python's expressions as NESL's. Numbers promote as in Python: / gives a float, // and % round down."""
from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial, reduce
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from nessie.arrays.bodies import known, numbers, outside
from nessie.arrays.bodies.given import OF_INTS
from nessie.arrays.bodies.given import given as given_in_python
from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Items, Kind, Rows, Unknown, is_number, joined, shown
from nessie.arrays.bodies.outside import MISSING, Seen, looked_up, static
from nessie.arrays.bodies.source import root
from nessie.arrays.bodies.trees import Fresh, Made, at, become, binary, call, item, let, name, number, together
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span
from nessie.syntax import nodes as syntax

if TYPE_CHECKING:
    from nessie.arrays.bodies.functions import MadeFunction, Module
    from nessie.arrays.bodies.statements import Statements

ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
OF_BITS: dict[type[ast.operator], str] = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "/=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
MOST_INT = 2 ** 63
HAS_SOME = {(ast.Gt, 0): True, (ast.GtE, 1): True, (ast.NotEq, 0): True, (ast.Eq, 0): False, (ast.Lt, 1): False,
            (ast.LtE, 0): False}             # of a length: is there an element where the comparison holds?
TAKES_OTHERS = dict.fromkeys((builtins.float, builtins.int, builtins.bool, builtins.round, builtins.pow, builtins.min,
                              builtins.max, builtins.divmod, builtins.sum, builtins.sorted, builtins.len, math.log,
                              np.invert, np.where, np.float64, np.int64, np.bool_), True)
TAKES_WORDS: dict[Any, tuple[str, ...]] = {
    builtins.min: ("default", "key"), builtins.max: ("default", "key"), builtins.enumerate: ("start",),
    builtins.sorted: ("key", "reverse")}
INSTEAD_OF_WORDS = {"start": "start + sum(row) adds to it"}
WITH_FEWER = {builtins.pow: "x ** y % m computes it, where x ** y has 64 bits",
              builtins.round: "round(100 * x) / 100 has two digits behind the point"}
OF_THE_WORLD = dict.fromkeys((builtins.print, builtins.open, builtins.input, builtins.exec, builtins.eval), True)
FLOATS = {sign + word for word in ("inf", "infinity", "nan") for sign in ("", "+", "-")}
GREATEST = (builtins.max, np.max)
SMALL_POWER = 64            # up to which a constant power is products
CANNOT = "numbers, tuples, conditionals, loops, elements of sequences and calls of functions of these can"


@dataclass(frozen=True)
class Window:
    """What a stencil's function gets: its neighbours, by their offsets from the middle."""
    neighbours: Mapping[tuple[int, ...], Made]

    @property
    def rank(self) -> int:
        return len(next(iter(self.neighbours)))


@dataclass(frozen=True)
class Unsure:
    """The value of a name that may have none: a loop sets it, and may have had no round. `there`: has it one?"""
    made: Made
    there: syntax.Exp


@dataclass(frozen=True, eq=False)
class Unset:
    """What a name has that a loop sets, before its kind is known. Who reads it is told to the loop, which keeps the
    name from round to round then, and is translated again."""
    read: list[tuple[str, ast.AST]]
    kept: set[str]

    def used(self, of: str, node: ast.AST) -> None:
        self.read.append((of, node))
        self.kept.add(of)


Value = Made | Window | Unsure | Unset
Env = Mapping[str, Value]


class Expressions:
    """Translates the expressions of one function. `module` has what is made for all functions of a program."""

    def __init__(self, module: Module, function: Seen) -> None:
        self.module, self.function = module, function
        self.fresh: Fresh = module.fresh

    # What sequences add (nessie.arrays.bodies.iterations, sequences) ------------------------------

    def subscript(self, node: ast.expr, inner: ast.expr, index: ast.expr, env: Env) -> Made:
        raise NotImplementedError

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, env: Env) -> Made:
        raise NotImplementedError

    def method(self, node: ast.Call, function: ast.Attribute, env: Env) -> Made:
        raise NotImplementedError

    def of_sequences(self, node: ast.Call, function: Any, env: Env) -> Made | None:
        raise NotImplementedError

    # What host sections do in their own way (nessie.arrays.sections.unions) -------------------------

    def join(self, a: Kind, b: Kind) -> Kind | None:
        """The kind of what is of one on one path and of the other on another; None if there is none."""
        return joined(a, b)

    @property
    def translator(self) -> type[Statements] | None:
        """Who translates the functions that are called here, if that is not the module's own."""
        return None

    def sides(self, node: ast.AST, makes: Sequence[Callable[[], Made]]) -> list[Made]:
        """What the sides of a branch make."""
        return attempts(makes)

    def lazily(self, node: ast.expr, env: Env) -> Made:
        """The value of what is not always computed."""
        return self.value(node, env)

    # Places and refusals ----------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        return self.function.span(node)

    def error(self, node: ast.AST, message: str, hint: str = "") -> NessieError:
        return NessieError(message, (self.span(node), ""), hint=hint)

    def refuse(self, node: ast.AST, message: str, hint: str = "") -> NoReturn:
        raise self.error(node, message, hint)

    # Expressions --------------------------------------------------------------------------------

    def value(self, node: ast.expr, env: Env) -> Made:
        """The value of an expression, with its place."""
        made = self.any_value(node, env)
        if isinstance(made, Window):
            self.refuse(node, "the neighbours of a stencil are taken one by one",
                        hint="v[0] of one dimension, v[-1, 0] of two; sum(v), min(v), max(v) take all")
        return replace(made, exp=at(made.exp, self.span(node)))

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
            case ast.BinOp() | ast.UnaryOp() if (folded := numbers.folded(node)) is not None:
                return Made(number(folded), INT)
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

    def of_name(self, node: ast.Name, value: Value) -> Made | Window:
        """The value of a name; an error where it has none."""
        if isinstance(value, Unset):
            value.used(node.id, node)
            raise Unknown(value)
        if not isinstance(value, Unsure):
            return value
        message = syntax.String(f"No value of {node.id}: the loop that sets it had no round.")
        return Made(call("_check", value.there, message, value.made.exp, span=self.span(node)), value.made.kind)

    def shown(self, node: ast.AST) -> str:
        """What messages call an expression."""
        kinds = {ast.Dict: "a dict", ast.Set: "a set", ast.DictComp: "a dict", ast.SetComp: "a set",
                 ast.JoinedStr: "a string", ast.Await: "await", ast.Yield: "yield", ast.YieldFrom: "yield from",
                 ast.Starred: "*", ast.Tuple: "an empty tuple", ast.List: "an empty list", ast.Slice: "a slice"}
        return kinds.get(type(node)) or ast.unparse(node)[:40]

    def constant(self, node: ast.expr, value: Any) -> Made:
        match value:
            case bool():
                return Made(syntax.Bool(value), BOOL)
            case int():
                if not -MOST_INT <= value < MOST_INT:
                    self.refuse(node, "an int has 64 bits here: it is less than 2^63")
                return Made(number(value), INT)
            case float():
                return Made(number_of(value), FLOAT)
            case str() | bytes():
                self.refuse(node, "strings cannot be in a body", hint=CANNOT)
        self.refuse(node, f"{value!r} cannot be in a body", hint=CANNOT)

    def items(self, parts: list[Made]) -> Made:
        return Made(together([part.exp for part in parts]), Items(tuple([part.kind for part in parts])))

    # Names from outside -------------------------------------------------------------------------

    def from_outside(self, node: ast.Name | ast.Attribute) -> Made:
        value = static(self.function, node)
        text = ast.unparse(node)
        if value is MISSING and (about := self.module.captured.get((self.function, text))) is not None:
            return about                    # an array's shape
        if value is MISSING:
            self.undefined(node, text)
        if outside.is_value(value):
            found = self.module.captured.get((self.function, text))
            assert found is not None, text
            return found
        if isinstance(value, Seen) or callable(value):
            self.refuse(node, f"{text} is a function: a body calls it, and does nothing else with it")
        if isinstance(value, tuple) and value and all([isinstance(v, bool | int | float) for v in value]):
            return self.items([self.constant(node, v) for v in value])
        self.refuse(node, f"{text} is {outside.describe(value)}, which a body cannot use",
                    hint="numbers, truth values, tuples of numbers and arrays are taken from outside")

    def undefined(self, node: ast.AST, text: str) -> NoReturn:
        hint = "of what is assigned in one branch only, nothing is known behind it" if text in self.assigned else ""
        names = [*self.function.parameters, *self.assigned, *self.function.function.__globals__]
        near = get_close_matches(text, names, 1)
        hint = hint or (f"is {near[0]} meant?" if near else "")
        self.refuse(node, f"{text} is not defined here", hint=hint)

    @property
    def assigned(self) -> set[str]:
        return {node.id for node in ast.walk(self.function.written.tree)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}

    def attribute(self, node: ast.Attribute, env: Env) -> Made:
        if root(node) in env or not root(node):
            made = self.value(node.value, env)
            if isinstance(made.kind, Items) and node.attr in made.kind.names:
                return item(made, made.kind.names.index(node.attr), self.fresh)
            if isinstance(made.kind, Items) and isinstance(getattr_static(made.kind.make, node.attr, None), property):
                of_property = ast.copy_location(ast.Call(node, [], []), node)
                return self.call_of_method(of_property, node, made.kind, env)
            self.refuse(node, f"{shown(made.kind)} has no attribute {node.attr}",
                        hint=f"it has {', '.join(made.kind.names)}" if isinstance(made.kind, Items) and made.kind.names
                        else "")
        return self.from_outside(node)

    # Numbers ------------------------------------------------------------------------------------

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
            self.refuse(node, f"one branch is {shown(then.kind)}, the other {shown(orelse.kind)}")
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
                self.refuse(node, f"a row or a tuple holds elements, and this is {shown(of.kind)}")
        return let([x], made.exp, found)

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
                    self.refuse(node, "ints have bits, and a float is none")
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

    # Calls --------------------------------------------------------------------------------------

    def call(self, node: ast.Call, env: Env) -> Made:
        if isinstance(node.func, ast.Attribute) and (
                root(node.func) in env or static(self.function, node.func) is MISSING):
            return self.method(node, node.func, env)
        if isinstance(node.func, ast.Name) and node.func.id in env:
            self.refuse(node.func, f"{node.func.id} is no function: it is a value of the body")
        function = static(self.function, node.func) if isinstance(node.func, ast.Name | ast.Attribute) else MISSING
        if function is MISSING:
            self.refuse(node.func, f"{ast.unparse(node.func)[:40]} is no function that is known here")
        if any([isinstance(argument, ast.Starred) for argument in node.args]):
            self.refuse(node, "arguments are given one by one here")
        if looked_up(OF_THE_WORLD, function, False):
            self.refuse(node, f"{ast.unparse(node.func)} cannot be in a body: elements are computed in any order")
        if isinstance(function, Seen):
            return self.call_of_body(node, function, env)
        if instead := given_in_python(function, self.span(node)):
            if function in OF_INTS and FLOAT in [self.value(one, env).kind for one in node.args]:
                self.refuse(node, f"{ast.unparse(node.func)} takes ints")
            return self.call_of_body(node, instead, env)
        match node.args:
            case [ast.Constant(str() as text)] if function is builtins.float and text.lower() in FLOATS:
                return Made(number_of(float(text)), FLOAT)
        if function is replace and len(node.args) == 1:
            return self.replaced(node, node.args[0], env)
        if isinstance(function, type) and (record := outside.record_of(function)):
            return self.record(node, record, env)
        for word in node.keywords:
            if word.arg not in looked_up(TAKES_WORDS, function, ()):
                self.refuse(node, f"{ast.unparse(node.func)} takes no {word.arg or '**'} in a body",
                            hint=INSTEAD_OF_WORDS.get(word.arg or "", ""))
        found = self.of_sequences(node, function, env)
        if found is not None:
            return found
        given = [self.value(argument, env) for argument in node.args]
        return self.builtin(node, function, given)

    def builtin(self, node: ast.Call, function: Any, given: list[Made]) -> Made:
        """A function of numbers of Python, its math module, or NumPy."""
        span = self.span(node)
        if function is math.log and len(given) == 2:
            x, base = [self.convert(one, FLOAT, node) for one in given]
            return Made(call("log", x, base, span=span), FLOAT)
        if row := known.row_of(function, [one.kind for one in given]):
            return self.of_table(node, function, row, given)
        match function, given:
            case builtins.float | np.float64, [one]:
                return Made(self.convert(one, FLOAT, node), FLOAT)
            case builtins.int | np.int64, [one]:
                made = self.numeric(one, node)
                return Made(call("trunc", made.exp, span=span), INT) if made.kind == FLOAT else made
            case builtins.bool | np.bool_, [one]:
                return Made(self.true(one, node), BOOL)
            case builtins.round, [one]:
                made = self.numeric(one, node)
                return Made(known.rounded([made.exp], self.fresh), INT) if made.kind == FLOAT else made
            case builtins.pow, [a, b]:
                return self.power(node, self.numeric(a, node), self.numeric(b, node))
            case builtins.divmod, [a, b]:
                return self.items([self.arithmetic(node, op, a, b) for op in (ast.FloorDiv(), ast.Mod())])
            case builtins.min | builtins.max, [_, _, *_]:
                return self.extreme(node, function, given)
            case np.invert, [one]:
                return self.inverted(node, one)
            case np.where, [test, a, b]:
                return self.conditional(node, self.true(test, node), a, b)
        if looked_up(TAKES_OTHERS, function, False):
            told = f"with {len(given)} argument{'s' * (len(given) != 1)}"
            self.refuse(node, f"{function.__name__} cannot be called in a body {told}",
                        hint=looked_up(WITH_FEWER, function, ""))
        self.refuse(node, f"{ast.unparse(node.func)[:40]} cannot be called in a body",
                    hint="write it in Python, or use functions of numbers of Python, math and NumPy that bodies have")

    def of_table(self, node: ast.Call, function: Any, row: tuple[known.Row, str, str], given: list[Made]) -> Made:
        count = known.count_of(function)
        if len(given) != count:
            self.refuse(node, f"{function.__name__} takes {count} argument{'s' * (count > 1)}, here are {len(given)}")
        compute, takes, gives = row
        exp = compute([self.convert(self.numeric(one, node), takes, node) for one in given], self.fresh)
        return Made(at(exp, self.span(node)), gives)

    def extreme(self, node: ast.AST, function: Any, given: list[Made]) -> Made:
        """The least or the greatest of these: Python's, or NumPy's, where NaN is beyond all numbers."""
        made = [self.numeric(one, node) for one in given]
        kind = FLOAT if any([one.kind == FLOAT for one in made]) else INT
        exps, op = [become(one, kind, self.fresh) for one in made], "max" if function in GREATEST else "min"
        if kind == FLOAT and function in (builtins.min, builtins.max):
            return Made(numbers.extreme(op, exps, self.fresh, self.span(node)), kind)
        return Made(reduce(lambda a, b: call(op, a, b, span=self.span(node)), exps), kind)

    def call_of_body(self, node: ast.Call, function: Seen, env: Env) -> Made:
        """A call of another Python function."""
        given = self.arguments(node, function, env)
        made = self.function_of(function, given, node)
        arguments = [become(one, kind, self.fresh) for one, kind in zip(given, made.takes, strict=True)]
        return Made(made.called(arguments, self.span(node)), made.gives)

    def call_of_method(self, node: ast.Call, of: ast.Attribute, kind: Items, env: Env) -> Made:
        """A call of a record's method."""
        method = self.module.method(kind.make, of.attr)
        if method is None:
            self.refuse(of, f"{shown(kind)} has no method {of.attr}")
        if method.captured or len(method.functions()) > 1:
            self.refuse(of, f"{of.attr} uses what stands outside of its class, and a method in a body does not",
                        hint=f"a function that takes a {shown(kind)} may")
        with_self = ast.Call(of, [of.value, *node.args], node.keywords)
        return self.call_of_body(ast.copy_location(with_self, node), method, env)

    def replaced(self, node: ast.Call, of: ast.expr, env: Env) -> Made:
        """A record with other values of some attributes."""
        made = self.value(of, env)
        names = made.kind.names if isinstance(made.kind, Items) else ()
        if unknown := [word.arg or "**" for word in node.keywords if word.arg not in names]:
            self.refuse(node, f"{shown(made.kind)} has no attribute {unknown[0]}")
        assert isinstance(made.kind, Items)
        held = [self.fresh("item") for _ in names]
        given = {word.arg: self.convert(self.value(word.value, env), made.kind.items[names.index(word.arg or "")],
                                        word.value) for word in node.keywords}
        exp = together([given.get(n) or name(one) for n, one in zip(names, held)])
        return Made(let(held, made.exp, exp), made.kind)

    def function_of(self, function: Seen, given: list[Made], node: ast.AST) -> MadeFunction:
        """Another Python function at the kinds of these arguments."""
        return self.module.function(function, tuple([one.kind for one in given]), lambda error: self.told(error, node),
                                    self.translator)

    def arguments(self, node: ast.Call, function: Seen, env: Env) -> list[Made]:
        """The arguments of a call of a Python function, in the order of its parameters."""
        wanted, tree = function.written.parameters, function.written.tree.args
        given: dict[str, ast.expr] = dict(zip(wanted, node.args))
        given |= {word.arg: word.value for word in node.keywords if word.arg is not None}
        named = [one.arg for one in tree.kwonlyargs if one.arg in given]
        if named or (beyond := function.written.beyond_order):
            self.refuse(node, f"arguments are given in order here, and "
                              f"{f'{named[0]} is given by name only' if named else beyond}")
        defaults = dict(zip(reversed(wanted), reversed(tree.defaults)))
        for name_ in wanted:
            if name_ not in given and isinstance(defaults.get(name_), ast.Constant):
                given[name_] = defaults[name_]
        if left := [n for n in wanted if n not in given and n in defaults]:
            self.refuse(node, f"{left[0]} has no constant as its default, and a body takes no other over",
                        hint=f"a function without {left[0]}, which names what the default is, can be called")
        if set(given) != set(wanted) or len(node.args) > len(wanted):
            self.refuse(node, f"{function.function.__name__} takes {', '.join(wanted) or 'nothing'}")
        return [self.constant(node, given[n].value) if given[n] is defaults.get(n)      # type: ignore[attr-defined]
                else self.value(given[n], env) for n in wanted]

    def told(self, error: NessieError, node: ast.AST) -> NessieError:
        """The error of a called function, with the place of the call."""
        return NessieError(error.message, *error.places, (self.span(node), "called here"), hint=error.hint)

    def record(self, node: ast.Call, record: Items, env: Env) -> Made:
        """A NamedTuple or dataclass, made of its attributes."""
        given = dict(zip(record.names, node.args)) | {word.arg: word.value for word in node.keywords}
        if ([*given] != [*record.names] and set(given) != set(record.names)) or len(node.args) > len(record.names):
            self.refuse(node, f"{record.make.__name__} has the attributes {', '.join(record.names)}")
        items = [self.convert(self.value(given[n], env), kind, given[n]) for n, kind in zip(record.names, record.items)]
        return Made(together(items), record)


def attempts(makes: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return what these make. For what is not known yet, as a recursion's kind is not, there is another that is: the
    function is translated again."""
    found: list[Any] = []
    for make in makes:
        try:
            found.append(make())
        except Unknown as error:
            found.append(error)
    known = [one for one in found if not isinstance(one, Unknown)]
    if not known:
        raise found[0]
    return [known[0] if isinstance(one, Unknown) else one for one in found]


def number_of(value: float) -> syntax.Exp:
    """Return a float, be it one without digits."""
    if math.isnan(value):
        return known.NAN
    if math.isinf(value):
        return known.INF if value > 0 else syntax.Unary("-", known.INF)
    if value == 0 and math.copysign(1, value) < 0:
        return syntax.Unary("-", syntax.Number(0.0))
    return number(value)
