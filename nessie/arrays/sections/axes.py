"""What goes along one axis of an array within a section: reductions, running sums, transpositions, products."""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from nessie.arrays import operations
from nessie.arrays.bodies.expressions import reductions
from nessie.arrays.bodies.expressions.iterations import constant_int
from nessie.arrays.bodies.expressions.values import Env
from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Grid, Kind, Rows, is_number, shown
from nessie.arrays.bodies.outside import MISSING, looked_up, static
from nessie.arrays.bodies.trees import Made, become, binary, call, name, number
from nessie.arrays.operations import Held
from nessie.arrays.sections.grids import Grids
from nessie.syntax import nodes as syntax

RUNNING = "cumsum"


class Axes(Grids):
    """Translates operations along axes. An operation along the last axis is a map of rows; another axis becomes the
    last one before."""

    def call(self, node: ast.Call, env: Env) -> Made:
        """np.sum(a, axis=0) is a.sum(axis=0)."""
        function = static(self.function, node.func) if isinstance(node.func, ast.Name | ast.Attribute) else MISSING
        how = looked_up(reductions.BY_FUNCTION, function, "")
        words = {word.arg or "": word.value for word in node.keywords}
        if how and len(node.args) == 1 and words and words.keys() <= {"axis", "keepdims"}:
            return self.reduced_along(node, how, self.value(node.args[0], env), words)
        return super().call(node, env)

    def reduced_along(self, node: ast.AST, how: str, made: Made, words: Mapping[str, ast.expr]) -> Made:
        """A reduction along an axis, or along several, with `keepdims`: these are constants."""
        axis, keepdims = words.get("axis", ast.Constant(None)), words.get("keepdims", ast.Constant(False))
        if not isinstance(keepdims, ast.Constant):
            self.refuse(keepdims, "keepdims is True or False here")
        several = axis.elts if isinstance(axis, ast.Tuple) else [axis]
        if len(several) > 1 and how not in reductions.ONE_BY_ONE:
            self.refuse(axis, f"{how} goes along one axis, or through all elements, in a section")
        before = made
        if len(several) > 1 and isinstance(made.kind, Grid):
            numbers = [self.axis_of(one, made.kind) for one in several]
            if len(set(numbers)) < len(numbers):
                self.refuse(axis, "each axis is named once")
            for at in sorted(numbers, reverse=True):
                made = self.along(node, how, made, ast.copy_location(ast.Constant(at), axis))
        else:
            made = self.along(node, how, made, axis)
        if not keepdims.value or not isinstance(before.kind, Grid):
            return made
        whole = isinstance(axis, ast.Constant) and axis.value is None
        rank = before.kind.rank + isinstance(before.kind.element, Rows)
        return self.expanded(made, range(rank) if whole else
                             sorted([self.axis_of(one, before.kind) for one in several]))

    def axis_of(self, node: ast.expr, kind: Grid) -> int:
        """The number of a constant axis; that of ragged rows' own is the last."""
        at, rank = constant_int(node), kind.rank + isinstance(kind.element, Rows)
        if at is None or not -rank <= at < rank:
            self.refuse(node, f"the axis of {shown(kind)} is a constant here, of {-rank} to {rank - 1}")
        return at % rank

    def expanded(self, made: Made, axes: Sequence[int]) -> Made:
        """The value with axes of length 1 more, at these places of the result."""
        for at in axes:
            kind = made.kind if isinstance(made.kind, Grid) else Grid(made.kind, 0)
            held, around = self.held(Made(made.exp, kind) if kind.rank else made)
            behind = kind.rank - at             # axes behind the new one
            thin = sorted([*[k if k <= behind else k + 1 for k in kind.thin], behind + 1])
            made = Made(around(operations.with_unit(held, at, self.fresh)),
                        Grid(kind.element, kind.rank + 1, tuple(thin)))
        return made

    def attribute(self, node: ast.Attribute, env: Env) -> Made:
        if node.attr == "T" and static(self.function, node) is MISSING:
            made = self.value(node.value, env)
            if isinstance(made.kind, Grid):
                return self.transposed(made, list(reversed(range(made.kind.rank))))
        return super().attribute(node, env)

    def arithmetic(self, node: ast.expr, op: ast.operator, left: Made, right: Made) -> Made:
        if isinstance(op, ast.MatMult) and isinstance(left.kind, Grid) and isinstance(right.kind, Grid):
            return self.product(node, left, right)
        return super().arithmetic(node, op, left, right)

    def along(self, node: ast.AST, how: str, made: Made, axis: ast.expr) -> Made:
        """A reduction, or running sums, along an axis that is a constant; None is all elements."""
        if not isinstance(made.kind, Grid):
            self.refuse(node, f"{how} goes along an axis of an array, and this is {shown(made.kind)}")
        if isinstance(axis, ast.Constant) and axis.value is None:
            return self.all_running(made) if how == RUNNING else self.library(node, how, made)
        at, rank = self.axis_of(axis, made.kind), made.kind.rank
        if at == rank:                      # along ragged rows
            return self.along_rows(node, how, made)
        if isinstance(made.kind.element, Rows):
            self.refuse(node, f"{how} of ragged rows goes along their own axis, {rank}, and this is {at}")
        if not is_number(made.kind.element):
            self.refuse(node, f"{how} takes numbers, and these are {shown(made.kind.element)}")
        if rank == 1:
            return self.all_running(made) if how == RUNNING else self.library(node, how, made)
        if how in ("any", "all") and made.kind.element != BOOL:
            made = self.over(node, [made], lambda given: Made(self.true(given[0], node), BOOL))
        order = [*[k for k in range(rank) if k != at], at]
        found: list[Kind] = []
        exp = self.of_rows(self.transposed(made, order), self.of_row(node, how, found))
        if how != RUNNING:
            return Made(exp, Grid(found[0], rank - 1))
        assert isinstance(found[0], Rows)
        back = [*order[:at], rank - 1, *range(at, rank - 1)]
        return self.transposed(Made(exp, Grid(found[0].element, rank)), back)

    def of_row(self, node: ast.AST, how: str,
               found: list[Kind]) -> Callable[[list[Made], list[syntax.Exp]], syntax.Exp]:
        """What makes the reduction, or the running sums, of a row; their kind is noted."""
        def made(elements: list[Made], _: list[syntax.Exp]) -> syntax.Exp:
            (row,) = elements
            result = reductions.prefix_sum(row, self.fresh) if how == RUNNING else \
                reductions.reduced_by_name(how, row, self.fresh)
            found.append(result.kind)
            assert isinstance(row.exp, syntax.Name)
            return reductions.of_some(how, row.exp, result.exp, self.span(node))
        return made

    def along_rows(self, node: ast.AST, how: str, made: Made) -> Made:
        """What goes along each of ragged rows."""
        assert isinstance(made.kind, Grid) and isinstance(made.kind.element, Rows)
        if not is_number(made.kind.element.element):
            self.refuse(node, f"{how} takes numbers, and these are {shown(made.kind.element.element)}")
        if how in ("any", "all") and made.kind.element.element != BOOL:
            made = self.over(node, [made], lambda given: Made(self.true(given[0], node), BOOL), inside=True)
        held, around = self.held(made)
        found: list[Kind] = []
        exp = operations.each([held], self.of_row(node, how, found), self.fresh)
        return Made(around(exp), Grid(found[0], held.rank))

    def all_running(self, made: Made) -> Made:
        held, around = self.held(self.elements(made))
        total = reductions.prefix_sum(operations.flat(held), self.fresh)
        return Made(around(total.exp), Grid(total.kind.element, 1))            # type: ignore[union-attr]

    def elements(self, made: Made) -> Made:
        """The array itself; of ragged rows, all their elements."""
        assert isinstance(made.kind, Grid)
        if not isinstance(made.kind.element, Rows):
            return made
        held, around = self.held(made)
        flat = operations.flat(held).exp
        return self.elements(Made(around(call("flatten", flat)), Grid(made.kind.element.element, 1)))

    def of_rows(self, made: Made, body: Callable[[list[Made], list[syntax.Exp]], syntax.Exp]) -> syntax.Exp:
        """What the body makes of each row along the last axis."""
        held, around = self.held(made)
        return around(operations.each([Held(held.name, Rows(held.kind), held.rank - 1)], body, self.fresh))

    def transposed(self, made: Made, order: Sequence[int]) -> Made:
        """The array whose axes are those of this, in the order: made of swaps of neighbours."""
        left = list(order)
        for at in range(len(left)):         # the axis that is the result's `at` comes there from the right
            for k in range(left[at], at, -1):
                held, around = self.held(made)
                assert isinstance(made.kind, Grid)
                kind = replace(made.kind, thin=())
                made = Made(around(operations.swapped(held, k - 1, self.fresh)), kind)
            left[at + 1:] = [n + (n < left[at]) for n in left[at + 1:]]
        return made

    def product(self, node: ast.AST, a: Made, b: Made) -> Made:
        """The product of matrices and vectors."""
        assert isinstance(a.kind, Grid) and isinstance(b.kind, Grid)
        ranks = a.kind.rank, b.kind.rank
        if not set(ranks) <= {1, 2} or not is_number(a.kind.element) or not is_number(b.kind.element):
            self.refuse(node, f"@ multiplies vectors and matrices of numbers, and these are {shown(a.kind)} and "
                              f"{shown(b.kind)}")
        if ranks == (1, 2):
            return self.product(node, self.transposed(b, [1, 0]), a)
        columns = self.transposed(b, [1, 0]) if ranks == (2, 2) else b
        (one, around_one), (other, around_other) = self.held(a), self.held(columns)
        kind = FLOAT if FLOAT in (a.kind.element, b.kind.element) else INT
        both_bool = a.kind.element == b.kind.element == BOOL

        def dot(x: syntax.Exp, y: syntax.Exp) -> syntax.Exp:
            p, q = self.fresh("x"), self.fresh("x")
            left, right = [become(Made(name(n), k), kind, self.fresh) for n, k in ((p, one.kind), (q, other.kind))]
            generators = (syntax.Generator(syntax.NamePattern(p), x), syntax.Generator(syntax.NamePattern(q), y))
            total = call("sum", syntax.Each(binary("*", left, right), generators, None, span=self.span(node)))
            return binary(">", total, number(0)) if both_bool else total

        def of_row(rows: list[Made], _: list[syntax.Exp]) -> syntax.Exp:
            if ranks == (2, 1):
                return dot(rows[0].exp, name(other.name))
            return operations.each([Held(other.name, Rows(other.kind), 1)],
                                   lambda made, _: dot(rows[0].exp, made[0].exp), self.fresh)
        exp = dot(name(one.name), name(other.name)) if ranks == (1, 1) else \
            operations.each([Held(one.name, Rows(one.kind), 1)], of_row, self.fresh)
        gives = BOOL if both_bool else kind
        return Made(around_one(around_other(exp)), Grid(gives, sum(ranks) - 2) if ranks != (1, 1) else gives)
