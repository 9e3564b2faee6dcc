"""Constants, and names with their attributes: of the body, and from outside of it."""
from __future__ import annotations

import ast
from difflib import get_close_matches
from inspect import getattr_static
from types import ModuleType
from typing import Any, NoReturn

from nessie.arrays.bodies import outside
from nessie.arrays.bodies.expressions.translator import Translator
from nessie.arrays.bodies.expressions.values import Env, Unset, Unsure, Value, Window, number_of
from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Items, Unknown, shown
from nessie.arrays.bodies.outside import MISSING, Seen, static
from nessie.arrays.bodies.source import root
from nessie.arrays.bodies.trees import Made, call, item, number, together
from nessie.syntax import nodes as syntax

MOST_INT = 2 ** 63
CANNOT = "numbers, tuples, conditionals, loops, elements of sequences and calls of functions of these can"


class Names(Translator):
    """Translates constants and names."""

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
                    self.refuse(node, outside.BEYOND_64, hint="a float holds it, rounded: 2.0 ** 70")
                return Made(number(value), INT)
            case float():
                return Made(number_of(value), FLOAT)
            case str() | bytes():
                self.refuse(node, "strings cannot be in a body",
                            hint=CANNOT if len(value) != 1 else f"ord({value!r}) is the number of this character")
        self.refuse(node, f"{value!r} cannot be in a body", hint=CANNOT)

    def items(self, parts: list[Made]) -> Made:
        return Made(together([part.exp for part in parts]), Items(tuple([part.kind for part in parts])))

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
            self.refuse(node, f"{text} is a function: a body calls it, and does nothing else with it",
                        hint=f"{text}(...)")
        if outside.is_of_numbers(value):
            return self.items([self.constant(node, v) for v in value])
        self.refuse(node, f"{text} is {outside.describe(value)}, which a body cannot use",
                    hint="numbers, truth values, tuples of numbers and arrays are taken from outside")

    def undefined(self, node: ast.AST, text: str) -> NoReturn:
        if isinstance(node, ast.Attribute) and isinstance(module := static(self.function, node.value), ModuleType):
            near = [f"{ast.unparse(node.value)}.{one}" for one in get_close_matches(node.attr, dir(module), 1)]
            self.refuse(node, f"{ast.unparse(node.value)} has no {node.attr}",
                        hint=f"is {near[0]} meant?" if near else "functions of numbers are in math and NumPy")
        hint = "of what is assigned in one branch only, nothing is known behind it" if text in self.assigned else ""
        names = [*self.function.parameters, *self.assigned, *self.function.function.__globals__]
        near = get_close_matches(text, names, 1)
        hint = hint or (f"is {near[0]} meant?" if near else "a body sees what is defined when the operation is called")
        self.refuse(node, f"{text} is not defined here", hint=hint)

    @property
    def assigned(self) -> set[str]:
        return {node.id for node in ast.walk(self.function.written.tree)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}

    def attribute(self, node: ast.Attribute, env: Env) -> Made:
        if root(node) in env or not root(node):
            made = self.value(node.value, env)
            if isinstance(made.kind, Items) and isinstance(getattr_static(made.kind.make, node.attr, None), property) \
                    and node.attr not in made.kind.names:
                of_property = ast.copy_location(ast.Call(node, [], []), node)
                return self.call_of_method(of_property, node, made.kind, env)
            return self.attribute_of(node, made, node.attr)
        return self.from_outside(node)

    def attribute_of(self, node: ast.expr, made: Made, attribute: str) -> Made:
        """An attribute of a record."""
        names = made.kind.names if isinstance(made.kind, Items) else ()
        if attribute not in names:
            self.refuse(node, f"{shown(made.kind)} has no attribute {attribute}",
                        hint=f"it has {', '.join(names)}" if names
                        else "records have attributes: those of NamedTuples and dataclasses")
        return item(made, names.index(attribute), self.fresh)
