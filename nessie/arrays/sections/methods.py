"""Operations of arrays within a section: methods, and functions that take arrays."""
from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Any

import numpy as np

from nessie.arrays import operations, operators
from nessie.arrays.array import array, asarray, pnew
from nessie.arrays.bodies.expressions import reductions
from nessie.arrays.bodies.expressions.reductions import REDUCTIONS
from nessie.arrays.bodies.expressions.values import Env, Window
from nessie.arrays.bodies.kinds import BOOL, INT, Grid, Items, Kind, Rows, is_number, joined, shown
from nessie.arrays.bodies.outside import MISSING, Seen, looked_up, see, static
from nessie.arrays.bodies.statements import Statements
from nessie.arrays.bodies.trees import Made, let, name
from nessie.arrays.operations import Offset, Places
from nessie.arrays.sections.axes import RUNNING
from nessie.arrays.sections.shapes import Shapes
from nessie.syntax import nodes as syntax

OF_ELEMENTS = {getattr(np, function): body for function, body in operators.OF_ELEMENTS.items()
               if hasattr(np, function)} | {builtins.abs: operators.UNARY["absolute"]}
OF_ELEMENTS |= {getattr(np, function): body for function, body in operators.OF_THREE.items()}
WIDE = dict.fromkeys((builtins.int, builtins.float, builtins.bool, np.int64, np.float64, np.bool_), True)
NAMED = {**{how: {"axis", "keepdims"} for how in REDUCTIONS}, RUNNING: {"axis"},
         "map": {"with_index"}, "combine": {"with_index"},
         "stencil": {"with_index"}, "sort": {"key"}}


class Section(Shapes):
    """Translates a function of arrays."""

    def of_sequences(self, node: ast.Call, function: Any, env: Env) -> Made | None:
        if function is pnew and len(node.args) == 2:
            return self.new(node, env)
        if function in (array, asarray) and len(node.args) == 1:
            made = self.value(node.args[0], env)
            return made if isinstance(made.kind, Grid) else self.refuse(node, "a section gets its arrays as arguments")
        reduced, body = looked_up(reductions.BY_FUNCTION, function, ""), looked_up(OF_ELEMENTS, function, None)
        if node.args and not isinstance(node.args[0], ast.Starred | ast.GeneratorExp | ast.ListComp) and not (
                isinstance(node.args[0], ast.Name) and isinstance(env.get(node.args[0].id), Window)):
            given = [self.value(one, env) for one in node.args]
            if any([isinstance(one.kind, Grid) for one in given]):
                if function is builtins.len:
                    return Made(syntax.Unary("#", given[0].exp), INT)
                if reduced and len(given) == 1:
                    return self.library(node, reduced, given[0])
                if body is not None:
                    return self.over(node, given, lambda elements: self.called(see(body), elements, node), inside=True)
        return super().of_sequences(node, function, env)

    def new(self, node: ast.Call, env: Env) -> Made:
        """nessie.pnew(shape, f)"""
        shape = self.value(node.args[0], env)
        lengths = [shape] if shape.kind == INT else []
        if isinstance(shape.kind, Items) and set(shape.kind.items) == {INT}:
            held, around = self.held(shape)
            names = [self.fresh("n") for _ in shape.kind.items]
            exp, kind = self.places(node, [name(n) for n in names], env)
            return Made(around(let(names, name(held.name), exp)), kind)
        if not lengths:
            self.refuse(node.args[0], f"a shape is an int or a tuple of ints, and this is {shown(shape.kind)}")
        return Made(*self.places(node, [shape.exp], env))

    def places(self, node: ast.Call, lengths: list[syntax.Exp], env: Env) -> tuple[syntax.Exp, Kind]:
        found: list[Kind] = []

        def body(given: list[Made]) -> Made:
            made = self.applied(node.args[1], given, env)
            found.append(made.kind)
            return made
        exp = operations.mapped([Places(tuple(lengths))], body, False, self.fresh)
        return exp, Grid(found[0], len(lengths))

    def library(self, node: ast.AST, how: str, made: Made) -> Made:
        made = self.elements(made)
        assert isinstance(made.kind, Grid)
        element = made.kind.element
        if not is_number(element):
            self.refuse(node, f"{how} takes numbers, and these are {shown(element)}")
        if how in ("any", "all") and element != BOOL:
            made = self.over(node, [made], lambda given: Made(self.true(given[0], node), BOOL))
        held, around = self.held(made)
        result = reductions.reduced_by_name(how, operations.flat(held), self.fresh)
        checked = reductions.of_some(how, operations.flat(held).exp, result.exp, self.span(node))
        return Made(around(checked), result.kind)

    def method(self, node: ast.Call, function: ast.Attribute, env: Env) -> Made:
        made, how = self.value(function.value, env), function.attr
        if not isinstance(made.kind, Grid):
            return super().method(node, function, env)
        words = {word.arg or "": word.value for word in node.keywords}
        given, element = node.args, made.kind.element
        if wrong := words.keys() - NAMED.get(how, frozenset()):
            self.refuse(node, f"{how} takes no {min(wrong) or '**'} in a section")
        flag = words.get("with_index", ast.Constant(False))
        if not isinstance(flag, ast.Constant):
            self.refuse(flag, "with_index is True or False here",
                        hint="a.map(f, with_index=True) if test else a.map(g) chooses")
        with_index = bool(flag.value)
        if how in ("keep", "evaluate") and not given:
            return made
        if how in (*REDUCTIONS, RUNNING) and len(given) <= 1 and not (given and "axis" in words):
            return self.reduced_along(node, how, made, words | ({"axis": given[0]} if given else {}))
        if (shaped := self.shaped(node, how, made, given, env)) is not None:
            return shaped
        if how in ("map", "combine") and given:
            others = [self.value(one, env) for one in given[:-1]]
            return self.over(node, [made, *others], lambda elements: self.applied(given[-1], elements, env), with_index)
        if how == "astype" and len(given) == 1 and looked_up(WIDE, static(self.function, given[0]), False):
            return self.over(node, [made], lambda elements: self.applied(given[0], elements, env),
                             inside=True)
        if how == "zip" and given:
            return self.over(node, [made, *[self.value(one, env) for one in given]], self.items)
        if how == "stencil" and len(given) == 3:
            return self.stencil(node, made, env, with_index)
        held, around = self.held(made)
        if how == "flatten" and not given:
            if made.kind.rank == 1 and not isinstance(element, Rows):
                return made
            inner = element.element if made.kind.rank == 1 and isinstance(element, Rows) else element
            return Made(around(operations.flattened(held)), Grid(inner, 1))
        if how == "reduce" and given:
            return self.reduced_array(node, made, env)
        if made.kind.rank > 1:
            self.refuse(node, f"{how} takes an array of one dimension, and this has {made.kind.rank}",
                        hint=f"flatten().{how}(...) goes through all elements")
        match how, given:
            case "select", [test]:
                exp = operations.selected(lambda x: self.true(self.applied(test, [x], env), test), held, self.fresh)
                return Made(around(exp), made.kind)
            case "sort", []:
                key = words.get("key")
                body = None if key is None else lambda elements: self.applied(key, elements, env)
                return Made(around(operations.ordered(body, held, self.fresh)), made.kind)
            case "unique", []:
                return Made(around(operations.distinct(held)), made.kind)
            case "prefix_sum", []:
                total = reductions.prefix_sum(operations.flat(held), self.fresh)
                return Made(around(total.exp), Grid(reductions.gives("sum", element), 1))
            case "scan", [operator, identity]:
                first = self.value(identity, env)
                kind = self.joined_of(node, element, first.kind)
                exp = reductions.scanned(lambda elements: self.applied(operator, elements, env),
                                         operations.flat(held), kind, first, self.fresh)
                return Made(around(exp), Grid(kind, 1))
        self.refuse(node, f"arrays have no {how} with these arguments in a section",
                    hint="map, combine, zip, stencil, reduce, select, scan, prefix_sum, sort, unique, flatten, "
                         f"{', '.join(REDUCTIONS)}")

    def applied(self, function: ast.expr, given: list[Made], env: Env) -> Made:
        """What a function makes of elements, which is of one kind."""
        with self.of_elements():
            return super().applied(function, given, env)

    @property
    def translator(self) -> type[Statements]:
        return Section if self.unions else OfElements

    def joined_of(self, node: ast.AST, a: Kind, b: Kind) -> Kind:
        kind = joined(a, b)
        if kind is None:
            self.refuse(node, f"the identity is {shown(b)}, the elements are {shown(a)}")
        return kind

    def reduced_array(self, node: ast.Call, made: Made, env: Env) -> Made:
        assert isinstance(made.kind, Grid)
        operator = static(self.function, node.args[0]) if isinstance(node.args[0], ast.Name | ast.Attribute) else None
        named = reductions.of_operator(operator, made.kind.element)
        if named and len(node.args) == 1:
            return self.library(node, named, made)
        identity = self.value(node.args[1], env) if len(node.args) > 1 else None
        kind = made.kind.element if identity is None else self.joined_of(node, made.kind.element, identity.kind)
        held, around = self.held(made)
        exp = reductions.reduced(lambda elements: self.applied(node.args[0], elements, env), operations.flat(held),
                                 kind, identity, self.fresh)
        return Made(around(exp), kind)

    def stencil(self, node: ast.Call, made: Made, env: Env, with_index: bool) -> Made:
        """a.stencil(offsets, outside, f)"""
        assert isinstance(made.kind, Grid)
        offsets = self.offsets(node.args[0], made.kind.rank)
        outside, function = self.value(node.args[1], env), node.args[2]
        parameters = self.parameters(function)
        apart = operations.is_apart(len(parameters) - with_index, len(offsets), self.span(function))
        found: list[Kind] = []

        def body(neighbours: Mapping[Offset, Made], at: Made) -> Made:
            if apart:
                made = self.applied(function, [*neighbours.values(), *([at] if with_index else [])], env)
            else:
                made = self.of_window(function, parameters, Window(neighbours), at, env)
            found.append(made.kind)
            return made
        held, around = self.held(made)
        trial = body({offset: Made(name(self.fresh("v")), made.kind.element) for offset in offsets},
                     Made(name(self.fresh("at")), operations.place_kind(made.kind.rank)))
        kind = self.joined_of(node, trial.kind, outside.kind)
        exp = operations.stencil([held], offsets, outside, kind, body, self.fresh)
        return Made(around(exp), Grid(kind, made.kind.rank))

    def parameters(self, function: ast.expr) -> list[str]:
        if isinstance(function, ast.Lambda):
            return [parameter.arg for parameter in function.args.args]
        found = static(self.function, function)
        if not isinstance(found, Seen):
            self.refuse(function, "a lambda, or a function from outside, is due here")
        return found.parameters

    def of_window(self, function: ast.expr, parameters: list[str], window: Window, at: Made, env: Env) -> Made:
        inner: Env = {parameters[0]: window, **dict.fromkeys(parameters[1:], at)}
        if isinstance(function, ast.Lambda):
            with self.of_elements():
                return self.value(function.body, {**env, **inner})
        found = static(self.function, function)
        assert isinstance(found, Seen)
        return Statements(self.module, found).body(inner)

    def offsets(self, node: ast.expr, rank: int) -> list[Offset]:
        """Constant offsets, written here or seen outside."""
        value: Any = static(self.function, node) if isinstance(node, ast.Name | ast.Attribute) else MISSING
        if value is MISSING:
            try:
                value = ast.literal_eval(node)
            except ValueError:
                self.refuse(node, "the offsets of a stencil are constants here")
        found = operations.offsets_of(value, rank, (self.span(node), ""))
        if isinstance(node, ast.Name | ast.Attribute):
            self.module.offsets.append((self.function, node, found))
        return found


class OfElements(Section):
    """Translates a function of an array's elements, which gives values of one kind."""

    unions = False
