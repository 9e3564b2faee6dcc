"""Calls: of Python's and NumPy's functions of numbers, of the user's own, of classes of records and their methods."""
from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from nessie.arrays.bodies import outside
from nessie.arrays.bodies.expressions import known
from nessie.arrays.bodies.expressions.arithmetic import Arithmetic
from nessie.arrays.bodies.expressions.given import OF_INTS
from nessie.arrays.bodies.expressions.given import given as given_in_python
from nessie.arrays.bodies.expressions.values import Env, number_of
from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Items, shown
from nessie.arrays.bodies.outside import MISSING, Seen, looked_up, static
from nessie.arrays.bodies.source import IN_ORDER, root
from nessie.arrays.bodies.trees import Made, at, become, call, let, name, number, together
from nessie.base.source import NessieError

if TYPE_CHECKING:
    from nessie.arrays.bodies.functions import MadeFunction


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


class Calls(Arithmetic):
    """Translates calls."""

    def call(self, node: ast.Call, env: Env) -> Made:
        if any([isinstance(argument, ast.Starred) for argument in node.args]):
            self.refuse(node, "arguments are given one by one here", hint="f(x, y) instead of f(*xs)")
        if any([word.arg is None for word in node.keywords]):
            self.refuse(node, "arguments are given one by one here", hint="f(x, y=1) instead of f(**values)")
        if isinstance(node.func, ast.Attribute) and isinstance(static(self.function, node.func.value), ModuleType) and \
                root(node.func) not in env and static(self.function, node.func) is MISSING:
            self.undefined(node.func, ast.unparse(node.func))
        if isinstance(node.func, ast.Attribute) and (
                root(node.func) in env or static(self.function, node.func) is MISSING):
            return self.method(node, node.func, env)
        if isinstance(node.func, ast.Name) and node.func.id in env:
            self.refuse(node.func, f"{node.func.id} is no function: it is a value of the body")
        function = static(self.function, node.func) if isinstance(node.func, ast.Name | ast.Attribute) else MISSING
        if function is MISSING:
            self.refuse(node.func, f"{ast.unparse(node.func)[:40]} is no function that is known here",
                        hint="a function that is defined outside of the body has a name")
        if looked_up(OF_THE_WORLD, function, False):
            self.refuse(node, f"{ast.unparse(node.func)} cannot be in a body: elements are computed in any order",
                        hint="what it does can be done with the array that comes of it")
        if isinstance(function, Seen):
            return self.call_of_body(node, function, env)
        if instead := given_in_python(function, self.span(node)):
            if function in OF_INTS and FLOAT in [self.value(one, env).kind for one in node.args]:
                self.refuse(node, f"{ast.unparse(node.func)} takes ints")
            return self.call_of_body(node, instead, env)
        match node.args:
            case [ast.Constant(str() as text)] if function is builtins.float and text.lower() in FLOATS:
                return Made(number_of(float(text)), FLOAT)
            case [ast.Constant(str() | bytes() as text)] if function is builtins.ord and len(text) == 1:
                return Made(number(ord(text)), INT)
        if function is replace and len(node.args) == 1:
            return self.replaced(node, node.args[0], env)
        if isinstance(function, type) and (record := outside.record_of(function)):
            return self.record(node, record, env)
        for word in node.keywords:
            if word.arg not in looked_up(TAKES_WORDS, function, ()):
                self.refuse(node, f"{ast.unparse(node.func)} takes no {word.arg} in a body",
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
            x, base = [self.builtin(node, function, [one]) for one in given]
            return self.arithmetic(node, ast.Div(), x, base)
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
            self.refuse(node, f"{function.__name__} takes {count} argument{'s' * (count > 1)}, here are {len(given)}",
                        hint=f"{function.__name__}({', '.join('xyz'[:count])}) is a number")
        compute, takes, gives = row
        exp = compute([self.convert(self.numeric(one, node), takes, node) for one in given], self.fresh)
        return Made(at(exp, self.span(node)), gives)

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
            self.refuse(of, f"{shown(kind)} has no method {of.attr}",
                        hint="records have the methods of their class; numbers are given to functions: abs(x)")
        if method.captured or len(method.functions()) > 1:
            self.refuse(of, f"{of.attr} uses what stands outside of its class, and a method in a body does not",
                        hint=f"a function that takes a {shown(kind)} may")
        with_self = ast.Call(of, [of.value, *node.args], node.keywords)
        return self.call_of_body(ast.copy_location(with_self, node), method, env)

    def replaced(self, node: ast.Call, of: ast.expr, env: Env) -> Made:
        """A record with other values of some attributes."""
        made = self.value(of, env)
        names = made.kind.names if isinstance(made.kind, Items) else ()
        if unknown := [word.arg for word in node.keywords if word.arg not in names]:
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
        given = self.by_names(node, function.function.__name__, wanted)
        named = [one.arg for one in tree.kwonlyargs if one.arg in given]
        if named or (beyond := function.written.beyond_order):
            self.refuse(node, f"arguments are given in order here, and "
                              f"{f'{named[0]} is given by name only' if named else beyond}", hint=IN_ORDER)
        defaults = dict(zip(reversed(wanted), reversed(tree.defaults)))
        for name_ in wanted:
            if name_ not in given and isinstance(defaults.get(name_), ast.Constant):
                given[name_] = defaults[name_]
        if left := [n for n in wanted if n not in given and n in defaults]:
            self.refuse(node, f"{left[0]} has no constant as its default, and a body takes no other over",
                        hint=f"a function without {left[0]}, which names what the default is, can be called")
        if set(given) != set(wanted) or len(node.args) > len(wanted):
            self.refuse(node, f"{function.function.__name__} takes {', '.join(wanted) or 'nothing'}",
                        hint=f"and is given {len(node.args) + len(node.keywords)} here")
        return [self.constant(node, given[n].value) if given[n] is defaults.get(n)      # type: ignore[attr-defined]
                else self.value(given[n], env) for n in wanted]

    def by_names(self, node: ast.Call, called: str, wanted: Sequence[str]) -> dict[str, ast.expr]:
        """The arguments of a call by the names of its parameters; refused where two are for one."""
        given = dict(zip(wanted, node.args))
        for word in node.keywords:
            if word.arg in given:
                self.refuse(word.value, f"{called} is given {word.arg} twice", hint="in order, or by its name")
            given[word.arg or ""] = word.value
        return given

    def told(self, error: NessieError, node: ast.AST) -> NessieError:
        """The error of a called function, with the place of the call."""
        return NessieError(error.message, *error.places, (self.span(node), "called here"), hint=error.hint)

    def record(self, node: ast.Call, record: Items, env: Env) -> Made:
        """A NamedTuple or dataclass, made of its attributes."""
        given = self.by_names(node, record.make.__name__, record.names)
        if set(given) != set(record.names) or len(node.args) > len(record.names):
            self.refuse(node, f"{record.make.__name__} has the attributes {', '.join(record.names)}")
        items = [self.convert(self.value(given[n], env), kind, given[n]) for n, kind in zip(record.names, record.items)]
        return Made(together(items), record)
