"""Host sections: Python functions with loops and branches over arrays, compiled whole.

An array of a section is a value like any other: loops are functions that take it, and operations are expressions. What
follows a branch is put into both of its sides, so that each path through a loop's body is one region, in which the
schedule fuses what lies along it (slides "Host Sections" of Springer, Wauligmann and Masuhara, 2017). An array that is
of ints on one path and of floats on another is of floats.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Hashable, Mapping
from inspect import signature
from threading import RLock
from typing import Any

import numpy as np

from nessie.api.errors import as_nessie_errors
from nessie.api.program import Program
from nessie.arrays import nodes, operations, operators, values
from nessie.arrays.array import Array, array, asarray, pnew
from nessie.arrays.bodies.expressions import Env, Window
from nessie.arrays.bodies.functions import MadeFunction, Module
from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Grid, Items, Kind, is_number, joined, shown
from nessie.arrays.bodies.loops import After, Loop, set_in
from nessie.arrays.bodies.outside import MISSING, Seen, is_lazy, kind_of, see, static
from nessie.arrays.bodies.sequences import REDUCED
from nessie.arrays.bodies.statements import Statements
from nessie.arrays.bodies.trees import Made, binary, let, name, number, pattern, together, typed
from nessie.arrays.devices import HOST, place_of, target_of
from nessie.arrays.operations import Held, Offset, Places
from nessie.arrays.running import program_of
from nessie.base.records import dataclass
from nessie.syntax import nodes as syntax

MOST_PATHS = 16
ENTRY = "section"
LIBRARY = {"sum": "sum", "prod": "product", "min": "min_val", "max": "max_val", "any": "any", "all": "all",
           "mean": "mean"}
OF_ELEMENTS = {getattr(np, function): body for function, body in {**operators.UNARY, **operators.BINARY}.items()
               if hasattr(np, function)} | {builtins.abs: operators.UNARY["absolute"]}


class Section(Statements):
    """Translates a function of arrays."""

    paths = 1

    # Branches -----------------------------------------------------------------------------------

    def branch(self, node: ast.If, env: Env, loop: Loop | None, then: After) -> Made:
        """What follows is in both sides, unless there are many paths already, or no array is set."""
        if self.paths >= MOST_PATHS or not self.sets_arrays(node, env, loop):
            return super().branch(node, env, loop, then)
        before, self.paths = self.paths, 2 * self.paths
        try:
            return self.one_of(node, lambda: self.truth(node.test, env),
                               lambda: self.statements(node.body, env, then, loop),
                               lambda: self.statements(node.orelse, env, then, loop))
        finally:
            self.paths = before

    def sets_arrays(self, node: ast.If, env: Env, loop: Loop | None) -> bool:
        here = [env.get(name_) for name_ in set_in([node])]
        return any([isinstance(made, Made) and isinstance(made.kind, Grid) for made in here])

    # Values -------------------------------------------------------------------------------------

    def held(self, made: Made) -> tuple[Held, Callable[[syntax.Exp], syntax.Exp]]:
        """A value by a name, and what binds that name around an expression."""
        kind, rank = (made.kind.element, made.kind.rank) if isinstance(made.kind, Grid) else (made.kind, 0)
        if isinstance(made.exp, syntax.Name):
            return Held(made.exp.name, kind, rank), lambda exp: exp
        bound = self.fresh("a")
        return Held(bound, kind, rank), lambda exp: let([bound], made.exp, exp)

    def over(self, node: ast.AST, given: list[Made], body: operations.Body, with_index: bool = False) -> Made:
        """What the body makes of the elements at each place of these arrays; numbers are the same at all places."""
        held = [self.held(made) for made in given]
        found: list[Kind] = []

        def noted(elements: list[Made]) -> Made:
            made = body(elements)
            found.append(made.kind)
            return made
        exp = operations.mapped([one for one, _ in held], noted, with_index, self.fresh)
        for _, around in reversed(held):
            exp = around(exp)
        return Made(exp, Grid(found[0], max([one.rank for one, _ in held])))

    def arithmetic(self, node: ast.expr, op: ast.operator, left: Made, right: Made) -> Made:
        if isinstance(left.kind, Grid) or isinstance(right.kind, Grid):
            return self.over(node, [left, right],
                             lambda given: super(Section, self).arithmetic(node, op, given[0], given[1]))
        return super().arithmetic(node, op, left, right)

    def comparison(self, node: ast.Compare, env: Env) -> Made:
        terms = [self.value(part, env) for part in (node.left, *node.comparators)]
        if not any([isinstance(term.kind, Grid) for term in terms]):
            return super().comparison(node, env)
        if len(terms) > 2:
            self.refuse(node, "arrays are compared two by two", hint="(0 < a) & (a < 9)")
        return self.over(node, terms, lambda given: Made(
            self.compared(node, node.ops[0], given[0], given[1]), BOOL))

    def unary(self, node: ast.UnaryOp, op: ast.unaryop, operand: ast.expr, env: Env) -> Made:
        made = self.value(operand, env)
        if not isinstance(made.kind, Grid) or isinstance(op, ast.Not):
            return super().unary(node, op, operand, env)
        x = "#operand"
        inner = ast.copy_location(ast.UnaryOp(op, ast.copy_location(ast.Name(x, ast.Load()), operand)), node)
        return self.over(node, [made], lambda given: super(Section, self).unary(
            inner, op, inner.operand, {**env, x: given[0]}))

    def true(self, made: Made, node: ast.AST) -> syntax.Exp:
        if isinstance(made.kind, Grid):
            self.refuse(node, "an array of elements is neither true nor false", hint="a.any() and a.all() are")
        return super().true(made, node)

    def subscript(self, node: ast.expr, inner: ast.expr, index: ast.expr, env: Env) -> Made:
        if isinstance(inner, ast.Name) and isinstance(env.get(inner.id), Window):
            return super().subscript(node, inner, index, env)
        if isinstance(inner, ast.Attribute) and inner.attr == "shape":
            return super().subscript(node, inner, index, env)
        made = self.value(inner, env)
        if not isinstance(made.kind, Grid):
            return super().subscript(node, inner, index, env)
        indices = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(indices) != made.kind.rank or any([isinstance(one, ast.Slice) for one in indices]):
            self.refuse(node, f"an element of {shown(made.kind)} has {made.kind.rank} "
                              f"ind{'ices' if made.kind.rank > 1 else 'ex'} here")
        rows = Made(made.exp, made.kind.rows)
        for one in indices:
            rows = self.element(node, rows, one, env)
        return rows

    def attribute(self, node: ast.Attribute, env: Env) -> Made:
        if node.attr in ("shape", "size", "ndim") and static(self.function, node) is MISSING:
            made = self.value(node.value, env)
            if isinstance(made.kind, Grid):
                return self.about(node.attr, made)
        return super().attribute(node, env)

    def about(self, what: str, made: Made) -> Made:
        """The shape, the size or the number of dimensions of an array."""
        assert isinstance(made.kind, Grid)
        rank = made.kind.rank
        if what == "ndim":
            return Made(number(rank), INT)
        held, around = self.held(made)
        lengths, row = [syntax.Unary("#", name(held.name))], name(held.name)
        empty = binary("==", syntax.Unary("#", name(held.name)), number(0))
        for _ in range(rank - 1):
            row = syntax.Index(row, number(0))              # type: ignore[assignment]
            lengths.append(syntax.If(empty, number(0), syntax.Unary("#", row)))    # type: ignore[arg-type]
        if what == "shape":
            return Made(around(together(lengths)), Items((INT,) * rank))
        total: syntax.Exp = lengths[0]
        for length in lengths[1:]:
            total = binary("*", total, length)
        return Made(around(total), INT)

    # Operations ---------------------------------------------------------------------------------

    def of_sequences(self, node: ast.Call, function: Any, env: Env) -> Made | None:
        if function is pnew and len(node.args) == 2:
            return self.new(node, env)
        if function in (array, asarray) and len(node.args) == 1:
            made = self.value(node.args[0], env)
            return made if isinstance(made.kind, Grid) else self.refuse(node, "a section gets its arrays as arguments")
        try:
            body = OF_ELEMENTS.get(function)
            reduced = REDUCED.get(function)
        except TypeError:
            return super().of_sequences(node, function, env)
        if node.args and not isinstance(node.args[0], ast.Starred | ast.GeneratorExp | ast.ListComp) and not (
                isinstance(node.args[0], ast.Name) and isinstance(env.get(node.args[0].id), Window)):
            given = [self.value(one, env) for one in node.args]
            if any([isinstance(one.kind, Grid) for one in given]):
                if function is builtins.len:
                    return Made(syntax.Unary("#", given[0].exp), INT)
                if reduced is not None and len(given) == 1:
                    return self.library(node, reduced, given[0])
                if body is not None:
                    return self.over(node, given, lambda elements: self.called(see(body), elements, node))
        return super().of_sequences(node, function, env)

    def called(self, function: Seen, given: list[Made], node: ast.AST) -> Made:
        made = self.module.function(function, tuple([one.kind for one in given]), lambda error: self.told(error, node))
        return Made(made.called([one.exp for one in given]), made.gives)

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
        assert isinstance(made.kind, Grid)
        element = made.kind.element
        if not is_number(element):
            self.refuse(node, f"{how} takes numbers, and these are {shown(element)}")
        if how in ("any", "all") and element != BOOL:
            made = self.over(node, [made], lambda given: Made(self.true(given[0], node), BOOL))
        held, around = self.held(made)
        kind = BOOL if how in ("any", "all") else FLOAT if how == "mean" else INT if element == BOOL else element
        wanted = held.kind if how in ("any", "all") else kind
        return Made(around(operations.reduced_by_name(LIBRARY[how], held, wanted, self.fresh)), kind)

    def method(self, node: ast.Call, function: ast.Attribute, env: Env) -> Made:
        made, how = self.value(function.value, env), function.attr
        if not isinstance(made.kind, Grid):
            return super().method(node, function, env)
        words = {word.arg or "": word.value for word in node.keywords}
        given, element = node.args, made.kind.element
        with_index = isinstance(flag := words.get("with_index"), ast.Constant) and bool(flag.value)
        if how in ("keep", "evaluate") and not given:
            return made
        if how in LIBRARY and not given:
            return self.library(node, how, made)
        if how in ("map", "combine") and given:
            others = [self.value(one, env) for one in given[:-1]]
            return self.over(node, [made, *others], lambda elements: self.applied(given[-1], elements, env), with_index)
        if how == "zip" and given:
            return self.over(node, [made, *[self.value(one, env) for one in given]], self.items)
        if how == "stencil" and len(given) == 3:
            return self.stencil(node, made, env, with_index)
        held, around = self.held(made)
        if how == "flatten" and not given and made.kind.rank > 1:
            return Made(around(operations.flattened(held)), Grid(element, 1))
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
                kind = INT if element == BOOL else element
                zero = Made(number(0.0 if kind == FLOAT else 0), kind)
                plus = lambda elements: super(Section, self).arithmetic(node, ast.Add(), *elements)     # noqa: E731
                return Made(around(operations.scanned(plus, held, kind, zero, self.fresh)), Grid(kind, 1))
            case "scan", [operator, identity]:
                first = self.value(identity, env)
                kind = self.joined_of(node, element, first.kind)
                exp = operations.scanned(lambda elements: self.applied(operator, elements, env), held, kind, first,
                                         self.fresh)
                return Made(around(exp), Grid(kind, 1))
        self.refuse(node, f"arrays have no {how} with these arguments in a section",
                    hint="map, combine, zip, stencil, reduce, select, scan, prefix_sum, sort, unique, flatten, sum, "
                         "prod, min, max, any, all, mean")

    def joined_of(self, node: ast.AST, a: Kind, b: Kind) -> Kind:
        kind = joined(a, b)
        if kind is None:
            self.refuse(node, f"the identity is {shown(b)}, the elements are {shown(a)}")
        return kind

    def reduced_array(self, node: ast.Call, made: Made, env: Env) -> Made:
        assert isinstance(made.kind, Grid)
        operator = static(self.function, node.args[0]) if isinstance(node.args[0], ast.Name | ast.Attribute) else None
        try:
            named = operators.REDUCTIONS.get(operator, "")
        except TypeError:
            named = ""
        if named and len(node.args) == 1:
            return self.library(node, next(how for how, of in LIBRARY.items() if of == named), made)
        identity = self.value(node.args[1], env) if len(node.args) > 1 else None
        kind = made.kind.element if identity is None else self.joined_of(node, made.kind.element, identity.kind)
        held, around = self.held(made)
        exp = operations.reduced(lambda elements: self.applied(node.args[0], elements, env), held, kind, identity,
                                 self.fresh)
        return Made(around(exp), kind)

    def stencil(self, node: ast.Call, made: Made, env: Env, with_index: bool) -> Made:
        """a.stencil(offsets, outside, f)"""
        assert isinstance(made.kind, Grid)
        offsets = self.offsets(node.args[0], made.kind.rank)
        outside, function = self.value(node.args[1], env), node.args[2]
        parameters = self.parameters(function)
        apart = len(parameters) - with_index == len(offsets) > 1
        if not apart and len(parameters) - with_index != 1:
            self.refuse(function, f"the function of a stencil takes its {len(offsets)} neighbours, as one or one by "
                                  "one")
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
        found = [tuple(one) if isinstance(one, tuple | list) else (one,) for one in value]
        if not found or any([len(offset) != rank for offset in found]):
            self.refuse(node, f"the offsets of this stencil are of {rank} dimension{'s' * (rank != 1)}")
        return list(dict.fromkeys(found))


# Calls ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compiled:
    program: Program
    function: MadeFunction


class HostSection:
    """A Python function of arrays and numbers that is compiled whole, for the kinds of its arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.kept: dict[Hashable, Compiled] = {}
        self.lock = RLock()

    def __call__(self, *arguments: Any, target: str | None = None, **named: Any) -> Any:
        bound = signature(self.function).bind(*arguments, **named)     # raises Python's own error
        bound.apply_defaults()
        arguments = bound.args
        with as_nessie_errors():
            seen = see(self.function)
            given = [argument if isinstance(argument, bool | int | float | np.generic) else
                     asarray(argument).evaluate() for argument in arguments]
            target, stays = target_of([one._nessie_node for one in given if isinstance(one, Array)], target)
            kinds = tuple([grid_of(one) for one in given])
            compiled = self.compiled(seen, kinds)
            outside = [value for _, _, value in captured_once(seen)]
            flat = [plain(one) for one in (*given, *outside)]
            value = compiled.program._call(ENTRY, flat, {}, target, stay=stays)
            return converted(value, compiled.function.gives, target if stays else HOST)

    def compiled(self, seen: Seen, kinds: tuple[Kind, ...]) -> Compiled:
        key = seen.key(), kinds
        with self.lock:
            if key not in self.kept:
                module = Module(Section)
                for of, text, value in captured_once(seen):
                    module.capture(of, text, Made(name(module.fresh(text)), grid_of(value)))
                function = module.function(seen, kinds)
                parameters = [module.fresh("a") for _ in kinds]
                passed = module.passed(seen)
                body = function.called([name(parameter) for parameter in parameters])
                entry = syntax.FunctionDef(ENTRY, pattern([*parameters, *passed]),
                                           typed([*kinds, *passed.values()], function.gives), None, body)
                program = program_of(lambda: [*module.functions, entry])
                self.kept[key] = Compiled(program, function)
            return self.kept[key]

    def __repr__(self) -> str:
        return f"<nessie host section {self.__name__}>"


def host_section(function: Callable[..., Any]) -> HostSection:
    """Compile a Python function whole: its loops, branches and array operations."""
    with as_nessie_errors():
        see(function)
    return HostSection(function)


def captured_once(seen: Seen) -> list[tuple[Seen, str, Any]]:
    return list(seen.captured())


def grid_of(value: Any) -> Kind:
    """The kind of an argument, or of a value from outside."""
    if is_lazy(value):
        node = value._nessie_node
        return Grid(node.kind, len(node.shape)) if node.shape else node.kind
    if isinstance(value, np.ndarray):
        return Grid(values.kind_of_dtype(value), value.ndim) if value.ndim else kind_of(value.item())
    return kind_of(value)


def plain(value: Any) -> Any:
    return value.evaluate()._nessie_node.value if isinstance(value, Array) else value


def converted(value: Any, kind: Kind, target: str) -> Any:
    """What a section gives, as Python has it."""
    match kind:
        case Grid(element, rank):
            lengths, inner = [len(value)], value
            for _ in range(rank - 1):
                inner = inner[0] if len(inner) else []
                lengths.append(len(inner))
            node = nodes.Leaf(tuple(lengths), element)
            node.value = values.result(value, node)
            node.device = place_of(node.value, node.shape, target)
            return Array(node)
        case Items(items):
            return tuple([converted(one, of, target) for one, of in zip(values.parts(value, items), items)])
    return value
