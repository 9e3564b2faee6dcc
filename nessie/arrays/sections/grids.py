"""Expressions of whole arrays, and branches that set them."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from nessie.arrays import operations, operators
from nessie.arrays.bodies.expressions.reductions import Body
from nessie.arrays.bodies.expressions.values import Env, Window
from nessie.arrays.bodies.kinds import INT, Grid, Items, Kind, Rows, Union, has_single, shown
from nessie.arrays.bodies.loops import After, Loop, leaves, set_in
from nessie.arrays.bodies.outside import MISSING, Seen, see, static
from nessie.arrays.bodies.trees import Made, binary, let, name, number, together
from nessie.arrays.operations import Held
from nessie.arrays.sections.unions import MOST_PATHS, Refused, Unions
from nessie.syntax import nodes as syntax

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.Pow: "power", ast.LShift: "left_shift", ast.RShift: "right_shift",
    ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor", ast.Eq: "equal",
    ast.NotEq: "not_equal", ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal",
    ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert"}


class Differs(Exception):
    """What this branch sets is of several kinds behind it."""

    def __init__(self, node: ast.If) -> None:
        super().__init__()
        self.node = node


class Grids(Unions):
    """Translates a function's branches, and what it computes of whole arrays with operators."""

    def library(self, node: ast.AST, how: str, made: Made) -> Made:
        raise NotImplementedError           # nessie.arrays.sections.methods

    # Branches -----------------------------------------------------------------------------------

    def branch(self, node: ast.If, env: Env, loop: Loop | None, then: After) -> Made:
        """What follows is in both sides, unless there are many paths already, or what is set is no array and of one
        kind."""
        try:
            return self.branched(node, env, loop, then)
        except Refused as found:            # on both sides
            if found.unit != (node, "rest"):
                raise
            raise found.error from None

    def branched(self, node: ast.If, env: Env, loop: Loop | None, then: After) -> Made:
        if self.paths >= MOST_PATHS or not self.sets_arrays(node, env):
            mark, leaving = self.module.mark(), leaves(node.body) or leaves(node.orelse)
            behind = self.rest(node, then) if leaving else lambda env: self.apart(node, "behind", env, then)
            try:
                return super().branch(node, env, loop, behind)
            except Differs as found:
                if found.node is not node:
                    raise
                self.module.forget(mark)
        before, self.paths, rest = self.paths, 2 * self.paths, self.rest(node, then)
        true, false = self.where(node.test, env)
        try:
            return self.one_of(node, lambda: self.truth(node.test, env),
                               lambda: self.statements(node.body, true, rest, loop),
                               lambda: self.statements(node.orelse, false, rest, loop))
        finally:
            self.paths = before

    def look_at(self, node: ast.If, kinds: Sequence[Kind]) -> None:
        if self.paths < MOST_PATHS and any([isinstance(kind, Union) for kind in kinds]):
            raise Differs(node)

    def sets_arrays(self, node: ast.If, env: Env) -> bool:
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

    def over(self, node: ast.AST, given: list[Made], body: Body, with_index: bool = False,
             inside: bool = False) -> Made:
        """What the body makes of the elements at each place of these arrays; `inside` ragged rows, of theirs. Numbers
        are the same at all places, and so is the one element along an axis of length 1."""
        if inside and any([isinstance(made.kind, Grid) and isinstance(made.kind.element, Rows) for made in given]):
            given, body = list(map(self.as_rows, given)), operations.inside(body, self.fresh, self.span(node))
        held = [self.held(made) for made in given]
        ranks, axes = [one.rank for one, _ in held], [made.kind.thin if isinstance(made.kind, Grid) else ()
                                                      for made in given]
        thin = tuple([k for k in range(1, max(ranks) + 1)
                      if all([rank < k or k in own for rank, own in zip(ranks, axes)])])
        operands = [replace(one, stretched=tuple([k for k in own if k not in thin]))
                    for (one, _), own in zip(held, axes)]
        found: list[Kind] = []

        def noted(elements: list[Made]) -> Made:
            with self.of_elements():
                made = body(elements)
            found.append(made.kind)
            return made
        exp = operations.mapped(operands, noted, with_index, self.fresh)
        for _, around in reversed(held):
            exp = around(exp)
        if has_single(found[0]):
            self.refuse(node, "a tuple of one item is no element of an array",
                        hint="the item itself is: x instead of (x,)")
        return Made(exp, Grid(found[0], max(ranks), thin))

    def as_rows(self, made: Made) -> Made:
        """An array of several dimensions as one of rows; where they have one element each, as those elements."""
        while isinstance(made.kind, Grid) and made.kind.rank > 1:
            kind, rank = made.kind, made.kind.rank - 1
            if 1 in kind.thin:
                held, around = self.held(made)
                exp = around(operations.without_unit(held, rank, self.fresh))
                made = Made(exp, Grid(kind.element, rank, tuple([k - 1 for k in kind.thin if k > 1])))
            else:
                made = Made(made.exp, Grid(Rows(kind.element), rank, tuple([k - 1 for k in kind.thin])))
        return made

    def operator(self, node: ast.AST, op: ast.AST, given: list[Made]) -> Made:
        """An operator between arrays is what it is outside of sections."""
        function = operators.OF_ELEMENTS.get(OPERATORS.get(type(op), ""))
        if function is None:
            self.refuse(node, "this operator is not between arrays in a section")
        return self.over(node, given, lambda elements: self.called(see(function), elements, node), inside=True)

    def called(self, function: Seen, given: list[Made], node: ast.AST) -> Made:
        function.place = self.span(node)
        made = self.module.function(function, tuple([one.kind for one in given]), translator=self.translator)
        return Made(made.called([one.exp for one in given]), made.gives)

    def arithmetic(self, node: ast.expr, op: ast.operator, left: Made, right: Made) -> Made:
        if isinstance(left.kind, Grid) or isinstance(right.kind, Grid):
            return self.operator(node, op, [left, right])
        return super().arithmetic(node, op, left, right)

    def comparison(self, node: ast.Compare, env: Env) -> Made:
        terms = [self.value(part, env) for part in (node.left, *node.comparators)]
        if not any([isinstance(term.kind, Grid) for term in terms]):
            return super().comparison(node, env)
        if len(terms) > 2:
            self.refuse(node, "arrays are compared two by two", hint="(0 < a) & (a < 9)")
        return self.operator(node, node.ops[0], terms)

    def unary(self, node: ast.UnaryOp, op: ast.unaryop, operand: ast.expr, env: Env) -> Made:
        made = self.value(operand, env)
        if not isinstance(made.kind, Grid) or isinstance(op, ast.Not):
            return super().unary(node, op, operand, env)
        return self.operator(node, op, [made])

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
        empty: syntax.Exp = syntax.Bool(False)
        for _ in range(rank - 1):
            empty = syntax.If(empty, syntax.Bool(True), binary("==", syntax.Unary("#", row), number(0)))
            row = syntax.Index(row, number(0))              # type: ignore[assignment]
            lengths.append(syntax.If(empty, number(0), syntax.Unary("#", row)))    # type: ignore[arg-type]
        if what == "shape":
            return Made(around(together(lengths)), Items((INT,) * rank))
        total: syntax.Exp = lengths[0]
        for length in lengths[1:]:
            total = binary("*", total, length)
        return Made(around(total), INT)
