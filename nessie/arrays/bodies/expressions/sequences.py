"""What bodies do with sequences: elements, slices, methods, and what reduces them.

A sequence is a row of a ragged or of a nested array, or an array from outside.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from nessie.arrays.bodies.expressions.iterations import Iterations, constant_int, element_of
from nessie.arrays.bodies.expressions.reductions import (
    BY_FUNCTION,
    REDUCTIONS,
    of_some,
    prefix_sum,
    reduced,
    reduced_by_name,
)
from nessie.arrays.bodies.expressions.values import Env, Window
from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Items, Kind, Rows, is_number, joined, shown
from nessie.arrays.bodies.outside import Seen, looked_up, static
from nessie.arrays.bodies.trees import Made, become, binary, call, item, let, name, number
from nessie.syntax import nodes as syntax

MOST_WRITTEN = 64           # items of a list that is written, if it is repeated by a constant
METHODS = ("count", "index", *REDUCTIONS, "map", "select", "reduce", "zip", "sort", "prefix_sum")
OF_ROWS = "rows, tuples and arrays from outside have; map gives a function one element, nest makes rows"


class Sequences(Iterations):
    """Expressions, and those of sequences."""

    # Elements and slices ------------------------------------------------------------------------

    def subscript(self, node: ast.expr, inner: ast.expr, index: ast.expr, env: Env) -> Made:
        base: ast.expr = inner
        indices = [index]
        while isinstance(base, ast.Subscript):
            indices = [base.slice, *indices]
            base = base.value
        if isinstance(base, ast.Name) and isinstance(window := env.get(base.id), Window) and \
                len(parts_of(indices[:-1])) < window.rank:
            return self.neighbour(node, window, indices)
        made = self.value(inner, env)
        if isinstance(made.kind, Items):
            return self.items_in(node, made, index, env) if isinstance(index, ast.Slice) else \
                self.item_at(node, made, index, env)
        if not isinstance(made.kind, Rows):
            self.refuse(node, f"{shown(made.kind)} has no elements", hint=OF_ROWS)
        if isinstance(index, ast.Slice):
            return self.part(node, made, index, env)
        for one in index.elts if isinstance(index, ast.Tuple) else [index]:
            made = self.element(node, made, one, env)
        return made

    def element(self, node: ast.expr, made: Made, index: ast.expr, env: Env) -> Made:
        """v[i]; a negative index counts from the end."""
        if not isinstance(made.kind, Rows):
            self.refuse(node, f"{shown(made.kind)} has no elements", hint=OF_ROWS)
        span = self.span(node)
        constant = constant_int(index)
        if constant is not None and constant < 0:
            v = self.fresh("v")
            last = binary("-", syntax.Unary("#", name(v)), number(-constant))
            return Made(let([v], made.exp, syntax.Index(name(v), last, span=span)), made.kind.element)
        at = self.value(index, env)
        if at.kind not in (INT, BOOL):
            self.refuse(index, f"an index is an int, and this is {shown(at.kind)}",
                        hint="a.select(lambda x: x > 0) has the elements of which a test is true")
        place = self.numeric(at, index).exp
        if isinstance(index, ast.Constant):
            return Made(syntax.Index(made.exp, place, span=span), made.kind.element)
        v, i = self.fresh("v"), self.fresh("i")
        from_end = syntax.If(binary("<", name(i), number(0)), binary("+", name(i), syntax.Unary("#", name(v))), name(i))
        return Made(let([v], made.exp, let([i], place, syntax.Index(name(v), from_end, span=span))), made.kind.element)

    def part(self, node: ast.expr, made: Made, index: ast.Slice, env: Env) -> Made:
        """v[a:b]: what lies beyond the ends is left out."""
        if index.step is not None and index.lower is None is index.upper and constant_int(index.step) == -1:
            return self.reversed(node, made)
        if index.step is not None:
            self.refuse(node, "slices with a step cannot be in a body",
                        hint="[row[i] for i in range(0, len(row), 2)] has every second element")
        v, start, end = self.fresh("v"), self.fresh("start"), self.fresh("end")
        length = syntax.Unary("#", name(v))
        low = number(0) if index.lower is None else self.bound(index.lower, length, env)
        high = length if index.upper is None else self.bound(index.upper, length, env)
        taken = call("subseq", name(v), name(start), call("max", name(start), name(end)), span=self.span(node))
        return Made(let([v], made.exp, let([start], low, let([end], high, taken))), made.kind)

    def bound(self, node: ast.expr, length: syntax.Exp, env: Env) -> syntax.Exp:
        i = self.fresh("i")
        made = self.value(node, env)
        if made.kind != INT:
            self.refuse(node, f"a slice's bound is an int, and this is {shown(made.kind)}")
        below = call("max", number(0), binary("+", name(i), length))
        return let([i], made.exp, syntax.If(binary("<", name(i), number(0)), below, call("min", name(i), length)))

    def items_in(self, node: ast.expr, made: Made, index: ast.Slice, env: Env) -> Made:
        """Items of a tuple, or of a list that is written: by constants, a tuple; else a sequence."""
        assert isinstance(made.kind, Items)
        bounds = [index.lower, index.upper, index.step]
        constants = [None if bound is None else constant_int(bound) for bound in bounds]
        taken = []
        if 0 not in constants[2:] and all([bound is None or n is not None for bound, n in zip(bounds, constants)]):
            taken = list(range(len(made.kind.items))[slice(*constants)])
        if not taken:
            return self.part(node, self.written(node, made), index, env)
        names = [self.fresh("item") for _ in made.kind.items]
        found = self.items([Made(name(names[k]), made.kind.items[k]) for k in taken])
        return Made(let(names, made.exp, found.exp), found.kind)

    def arithmetic(self, node: ast.expr, op: ast.operator, left: Made, right: Made) -> Made:
        if isinstance(node, ast.BinOp):
            lists = self.is_list(left.kind, node.left), self.is_list(right.kind, node.right)
            if isinstance(op, ast.Add) and all(lists) and Rows in (type(left.kind), type(right.kind)):
                v, w = [self.written(node, one) if isinstance(one.kind, Items) else one for one in (left, right)]
                return self.one_behind_another(node, v, w)
            if isinstance(op, ast.Mult) and INT in (left.kind, right.kind) and any(lists):
                return self.repeated_list(node, *((left, right) if lists[0] else (right, left)))
        return super().arithmetic(node, op, left, right)

    def is_list(self, kind: Kind, node: ast.expr) -> bool:
        """Is it a list or a tuple by what is written here? Rows and arrays from outside may be NumPy's, whose + and *
        are of the elements."""
        match node:
            case ast.ListComp():
                return True
            case ast.BinOp(left, ast.Add() | ast.Mult(), right):
                return isinstance(kind, Items | Rows) and (self.is_list(kind, left) or self.is_list(kind, right))
            case ast.Subscript(of, ast.Slice()) if isinstance(kind, Rows):
                return self.is_list(kind, of)
            case ast.Call(ast.Name() as function):
                return static(self.function, function) in (builtins.list, builtins.sorted)
        return isinstance(kind, Items) or (isinstance(kind, Rows) and isinstance(node, ast.List | ast.Tuple))

    def one_behind_another(self, node: ast.expr, v: Made, w: Made) -> Made:
        kind = joined(v.kind, w.kind)
        if kind is None:
            self.refuse(node, f"one list is {shown(v.kind)}, the other {shown(w.kind)}")
        first, second = [become(one, kind, self.fresh) for one in (v, w)]
        return Made(binary("++", first, second, self.span(node)), kind, v.some or w.some)

    def repeated_list(self, node: ast.expr, made: Made, times: Made) -> Made:
        """[x] * n; by a small constant, a list that is written."""
        count = times.exp.value if isinstance(times.exp, syntax.Number) else None
        if isinstance(made.kind, Items) and isinstance(count, int) and 0 < count * len(made.kind.items) <= MOST_WRITTEN:
            names = [self.fresh("item") for _ in made.kind.items]
            found = self.items([Made(name(n), kind) for n, kind in zip(names, made.kind.items)] * count)
            return Made(let(names, made.exp, found.exp), found.kind)
        v = self.written(node, made) if isinstance(made.kind, Items) else made
        held, n = self.fresh("v"), self.fresh("n")
        several = call("dist", name(held), call("max", number(0), name(n)))
        return Made(let([held], v.exp, let([n], times.exp, call("flatten", several, span=self.span(node)))), v.kind)

    def item_at(self, node: ast.expr, made: Made, index: ast.expr, env: Env) -> Made:
        """An item of a tuple; by a computed index, if all are of one kind."""
        assert isinstance(made.kind, Items)
        count = len(made.kind.items)
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            return self.attribute_of(node, made, index.value)
        constant = constant_int(index)
        if constant is not None:
            if not -count <= constant < count:
                self.refuse(node, f"the tuple has {count} items, and none at {constant}",
                            hint=f"the last is at {count - 1}")
            return item(made, constant % count, self.fresh)
        if len(set(made.kind.items)) > 1:
            self.refuse(index, "items of different kinds are taken by a constant",
                        hint="v[0] if test else v[1] chooses between two that meet")
        at = self.value(index, env)
        if at.kind != INT:
            self.refuse(index, f"an index is an int, and this is {shown(at.kind)}")
        items, i, k = [self.fresh("item") for _ in range(count)], self.fresh("i"), self.fresh("k")
        from_end = syntax.If(binary("<", name(i), number(0)), binary("+", name(i), number(count)), name(i))
        there = binary("and", binary("<=", number(0), name(k)), binary("<", name(k), number(count)))
        message = syntax.String(f"this tuple has {count} items: there is none at this index")
        chosen: syntax.Exp = name(items[-1])
        for n in reversed(range(count - 1)):
            chosen = syntax.If(binary("==", name(k), number(n)), name(items[n]), chosen)
        checked = call("_check", there, message, chosen, span=self.span(node))
        return Made(let(items, made.exp, let([i], at.exp, let([k], from_end, checked))), made.kind.items[0])

    def neighbour(self, node: ast.expr, window: Window, indices: list[ast.expr]) -> Made:
        """v[-1, 0] or v[-1][0]: what lies there, seen from the middle."""
        found = [constant_int(part) for part in parts_of(indices)]
        known = ", ".join([shown_offset(offset) for offset in window.neighbours])
        if None in found:
            self.refuse(node, "a neighbour is taken by constants", hint=f"this stencil has {known}")
        offset = tuple([part for part in found if part is not None])
        if offset not in window.neighbours:
            self.refuse(node, f"{shown_offset(offset)} is no neighbour of this stencil", hint=f"it has {known}")
        return window.neighbours[offset]

    # What reduces, and methods --------------------------------------------------------------------

    def of_sequences(self, node: ast.Call, function: Any, env: Env) -> Made | None:
        """A call of a function of sequences of Python or NumPy; None for any other function."""
        reduced = looked_up(BY_FUNCTION, function, "")
        if function is builtins.len and len(node.args) == 1:
            if isinstance(node.args[0], ast.Name) and isinstance(window := env.get(node.args[0].id), Window):
                return Made(number(len(window.neighbours)), INT)
            made = self.value(node.args[0], env)
            if isinstance(made.kind, Items):
                return Made(number(len(made.kind.items)), INT)
            return Made(syntax.Unary("#", self.sequence(node.args[0], env).exp, span=self.span(node)), INT)
        if function is builtins.sorted and len(node.args) == 1:
            return self.ordered(node, self.gone_through(node.args[0], env), env)
        if function in (builtins.max, builtins.min) and [word.arg for word in node.keywords] == ["key"] and \
                len(node.args) == 1:
            return self.extreme_by(node, reduced, self.gone_through(node.args[0], env), env)
        if function is builtins.range or function is builtins.enumerate or function is builtins.zip:
            return self.gone_through(node, env)
        if function is builtins.list and len(node.args) == 1:
            return self.gone_through(node.args[0], env)
        if function is builtins.reversed and len(node.args) == 1:
            return self.reversed(node, self.gone_through(node.args[0], env))
        if node.keywords and (len(node.args) != 1 or len(node.keywords) > 1):
            self.refuse(node, f"{ast.unparse(node.func)} takes a default, or a key, for one sequence")
        if reduced and len(node.args) == 1:
            if isinstance(node.args[0], ast.Name) and isinstance(window := env.get(node.args[0].id), Window):
                return self.of_few(node, function, list(window.neighbours.values()))
            made = self.value(node.args[0], env)
            if isinstance(made.kind, Items):
                return self.of_few(node, function, [item(made, k, self.fresh) for k in range(len(made.kind.items))])
            return self.or_default(node, reduced, made, env) if node.keywords else self.reduced(node, reduced, made)
        return None

    def or_default(self, node: ast.Call, how: str, made: Made, env: Env) -> Made:
        """The least or the greatest element, or the default where there is none."""
        v, d, default = self.fresh("v"), self.fresh("d"), self.value(node.keywords[0].value, env)
        some = binary(">", syntax.Unary("#", name(v)), number(0))
        result = self.conditional(node, some, self.reduced(node, how, Made(name(v), made.kind, some=True)),
                                  Made(name(d), default.kind))
        return Made(let([v], made.exp, let([d], default.exp, result.exp)), result.kind)

    def of_few(self, node: ast.Call, function: Any, given: list[Made]) -> Made:
        """A reduction of a tuple or of a stencil's neighbours."""
        how = BY_FUNCTION[function]
        if how in ("min", "max"):
            return self.extreme(node, function, given)
        if how in ("any", "all"):
            result: syntax.Exp | None = syntax.Bool(how == "all") if not given else None
            for made in reversed(given):
                test = self.true(made, node)
                result = test if result is None else \
                    syntax.If(test, result, syntax.Bool(False)) if how == "all" else \
                    syntax.If(test, syntax.Bool(True), result)
            assert result is not None
            return Made(result, BOOL)
        total = self.numeric(given[0], node)
        for made in given[1:]:
            total = self.arithmetic(node, ast.Mult() if how == "prod" else ast.Add(), total, made)
        return self.arithmetic(node, ast.Div(), total, Made(number(len(given)), INT)) if how == "mean" else total

    def reduced(self, node: ast.expr, how: str, made: Made) -> Made:
        if not isinstance(made.kind, Rows) or not is_number(made.kind.element):
            self.refuse(node, f"{how} takes a sequence of numbers, and this is {shown(made.kind)}")
        if how in ("any", "all") and made.kind.element != BOOL:
            made = self.each(made, lambda x: Made(self.true(x, node), BOOL))
        if made.some:
            return reduced_by_name(how, made, self.fresh)
        v = self.fresh("v")
        result = reduced_by_name(how, Made(name(v), made.kind), self.fresh)
        return Made(let([v], made.exp, of_some(how, name(v), result.exp, self.span(node))), result.kind)

    def each(self, made: Made, body: Callable[[Made], Made]) -> Made:
        """What the body makes of each element."""
        x = self.fresh("x")
        result = body(Made(name(x), element_of(made)))
        return Made(syntax.Each(result.exp, (syntax.Generator(syntax.NamePattern(x), made.exp),), None),
                    Rows(result.kind))

    def sorted(self, node: ast.expr, made: Made) -> Made:
        if not is_number(element_of(made)) or element_of(made) == BOOL:
            self.refuse(node, f"numbers are sorted, and this is {shown(made.kind)}")
        return Made(call("sort", made.exp, span=self.span(node)), made.kind)

    def ordered(self, node: ast.Call, made: Made, env: Env) -> Made:
        """sorted(row), by a key, or in the opposite order: equal elements stay in order in each."""
        words = {word.arg: word.value for word in node.keywords}
        key, opposite = words.get("key"), words.get("reverse", ast.Constant(False))
        if not isinstance(opposite, ast.Constant):
            self.refuse(opposite, "reverse is a constant here",
                        hint="sorted(row, reverse=True) if test else sorted(row) chooses")
        turned = self.reversed(node, made) if opposite.value else made
        if key is None:
            found = self.sorted(node, turned)
        else:
            x = self.fresh("x")
            by = self.applied(key, [Made(name(x), element_of(made))], env)
            if by.kind not in (INT, FLOAT):
                self.refuse(key, f"elements are sorted by a number, and this gives {shown(by.kind)}")
            exp = call("sort_by", syntax.Lambda(syntax.NamePattern(x), by.exp), turned.exp, span=self.span(node))
            found = Made(exp, made.kind)
        return self.reversed(node, found) if opposite.value else found

    def extreme_by(self, node: ast.Call, how: str, made: Made, env: Env) -> Made:
        """max(row, key=f): the first element of which f gives the greatest number."""
        v = self.fresh("v")
        held = Made(name(v), made.kind)
        keys = self.each(held, lambda x: self.applied(node.keywords[0].value, [x], env))
        if element_of(keys) not in (INT, FLOAT):
            self.refuse(node.keywords[0].value, f"a key gives a number, and this gives {shown(element_of(keys))}",
                        hint="a number that orders them: x[0] * 1000 + x[1]")
        at = reduced_by_name(f"arg{how}", keys, self.fresh)
        found = of_some(how, name(v), syntax.Index(name(v), at.exp), self.span(node))
        return Made(let([v], made.exp, found), element_of(made))

    def method(self, node: ast.Call, function: ast.Attribute, env: Env) -> Made:
        """A method of a sequence, which has the name that it has of arrays."""
        made, how, given = self.value(function.value, env), function.attr, node.args
        if isinstance(made.kind, Items) and made.kind.make is not None:
            named = how == "_replace" and issubclass(made.kind.make, tuple) and not given
            return self.replaced(node, function.value, env) if named else \
                self.call_of_method(node, function, made.kind, env)
        if node.keywords:
            self.refuse(node, f"{how} takes its arguments in order here")
        if how in ("count", "index") and len(given) == 1 and isinstance(made.kind, Rows | Items):
            row = self.written(function.value, made) if isinstance(made.kind, Items) else made
            return self.found(node, how, row, self.value(given[0], env))
        if not isinstance(made.kind, Rows) or how not in METHODS:
            self.refuse(function, f"{shown(made.kind)} has no method {how}",
                        hint=f"sequences have {', '.join(METHODS)}" if isinstance(made.kind, Rows)
                        else "functions take numbers: abs(x), math.floor(x); rows and records have methods")
        if how in REDUCTIONS and not given:
            return self.reduced(node, how, made)
        if how == "sort" and not given:
            return self.sorted(node, made)
        if how == "prefix_sum" and not given:
            return prefix_sum(made, self.fresh)
        if how == "zip" and given:
            others = [self.sequence(one, env) for one in given]
            together_ = [made, *others]
            names = [self.fresh("x") for _ in together_]
            items = self.items([Made(name(n), element_of(one)) for n, one in zip(names, together_)])
            generators = tuple([syntax.Generator(syntax.NamePattern(n), one.exp) for n, one in zip(names, together_)])
            return Made(syntax.Each(items.exp, generators, None, span=self.span(node)), Rows(items.kind))
        if how in ("map", "select") and len(given) == 1:
            x = self.fresh("x")
            body = self.applied(given[0], [Made(name(x), made.kind.element)], env)
            generators = (syntax.Generator(syntax.NamePattern(x), made.exp),)
            if how == "map":
                return Made(syntax.Each(body.exp, generators, None, span=self.span(node)), Rows(body.kind))
            return Made(syntax.Each(name(x), generators, self.true(body, given[0]), span=self.span(node)), made.kind)
        if how == "reduce" and len(given) == 2:
            return self.reduced_by(node, made, given[0], self.value(given[1], env), env)
        self.refuse(node, f"{how} takes other arguments",
                    hint="map(f), select(f), reduce(f, identity), zip(other); sum() and the like take none")

    def found(self, node: ast.Call, how: str, made: Made, wanted: Made) -> Made:
        """row.count(x), or row.index(x): how many elements equal x, or where the first of them is."""
        v, x, y, i, at = [self.fresh(hint) for hint in ("v", "x", "y", "i", "at")]
        same = self.compared(node, ast.Eq(), Made(name(y), element_of(made)), Made(name(x), wanted.kind))
        places = syntax.Each(name(i), (syntax.Generator(syntax.NamePattern(y), name(v)), syntax.Generator(
            syntax.NamePattern(i), syntax.Range(number(0), syntax.Unary("#", name(v)), None))), same)
        some = binary(">", syntax.Unary("#", name(at)), number(0))
        first = call("_check", some, syntax.String("This is no element of the row."), syntax.Index(name(at), number(0)),
                     span=self.span(node))
        taken = syntax.Unary("#", name(at)) if how == "count" else first
        return Made(let([v], made.exp, let([x], wanted.exp, let([at], places, taken))), INT)

    def reduced_by(self, node: ast.Call, made: Made, function: ast.expr, identity: Made, env: Env) -> Made:
        kind = joined(element_of(made), identity.kind)
        if kind is None:
            self.refuse(node, f"the identity is {shown(identity.kind)}, the elements are {shown(element_of(made))}")
        exp = reduced(lambda given: self.applied(function, given, env), made, kind, identity, self.fresh)
        return Made(exp, kind)

    def applied(self, function: ast.expr, given: list[Made], env: Env) -> Made:
        """What a lambda, or a function from outside, makes of these."""
        if isinstance(function, ast.Lambda):
            names = [parameter.arg for parameter in function.args.args]
            if len(names) != len(given):
                self.refuse(function, f"this is called with {len(given)} arguments")
            return self.value(function.body, {**env, **dict(zip(names, given))})
        found = static(self.function, function)
        if isinstance(found, BuiltinFunctionType | type | np.ufunc):
            names = [f"({n})" for n in range(len(given))]       # which nobody writes
            arguments: list[ast.expr] = [ast.copy_location(ast.Name(one, ast.Load()), function) for one in names]
            return self.call(ast.copy_location(ast.Call(function, arguments, []), function),
                             {**env, **dict(zip(names, given))})
        if not isinstance(found, Seen):
            self.refuse(function, "a lambda, or a function from outside, is due here")
        made = self.function_of(found, given, function)
        return Made(made.called([become(one, kind, self.fresh) for one, kind in zip(given, made.takes)],
                                self.span(function)), made.gives)


def parts_of(indices: Sequence[ast.expr]) -> list[ast.expr]:
    """The indices of each dimension, of v[i, j] and of v[i][j]."""
    return [part for one in indices for part in (one.elts if isinstance(one, ast.Tuple) else [one])]


def shown_offset(offset: Sequence[int]) -> str:
    return f"[{', '.join(map(str, offset))}]"
