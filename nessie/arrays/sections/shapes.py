"""Arrays in other shapes, and several as one, within a section."""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from nessie.arrays import operations, operators
from nessie.arrays.bodies.expressions.iterations import constant_int
from nessie.arrays.bodies.expressions.values import Env
from nessie.arrays.bodies.kinds import FLOAT, INT, Grid, Items, Kind, Rows, joined, shown
from nessie.arrays.bodies.outside import MISSING, looked_up, see, static
from nessie.arrays.bodies.trees import Made, become, binary, call, item, let, name, number
from nessie.arrays.operations import Held
from nessie.arrays.sections.axes import Axes
from nessie.syntax import nodes as syntax

OF_SHAPES = {np.concatenate: "concatenate", np.stack: "stack", np.reshape: "reshape", np.round: "round",
             np.around: "round", np.expand_dims: "expand_dims"}


class Shapes(Axes):
    """Translates what gives arrays other shapes."""

    def call(self, node: ast.Call, env: Env) -> Made:
        function = static(self.function, node.func) if isinstance(node.func, ast.Name | ast.Attribute) else MISSING
        how = looked_up(OF_SHAPES, function, "")
        return self.of_shapes(node, how, env) if how and node.args else super().call(node, env)

    def shaped(self, node: ast.Call, how: str, made: Made, given: Sequence[ast.expr], env: Env) -> Made | None:
        """A method that gives the array another shape, or limits or rounds its elements; None for any other."""
        assert isinstance(made.kind, Grid)
        match how, given:
            case "reshape", [_, *_]:
                listed = given[0].elts if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List) else given
                values = [self.value(one, env) for one in listed]
                if len(values) == 1 and isinstance(values[0].kind, Items):
                    values = [item(values[0], k, self.fresh) for k in range(len(values[0].kind.items))]
                return self.reshaped(node, made, values)
            case "clip", [least, most]:
                bounds = [self.value(one, env) for one in (least, most)]
                return self.over(node, [made, *bounds], lambda elements: self.called(
                    see(operators.OF_THREE["clip"]), elements, node), inside=True)
            case "round", [] | [_]:
                return self.rounded(node, made, given)
        return None

    def of_shapes(self, node: ast.Call, how: str, env: Env) -> Made:
        """A function of NumPy's that gives arrays another shape."""
        words = {word.arg or "": word.value for word in node.keywords}
        if how in ("concatenate", "stack"):
            if len(node.args) > 1 or words.keys() - {"axis"}:
                self.refuse(node, f"{how} takes a list of arrays, and an axis")
            listed = node.args[0]
            if not isinstance(listed, ast.List | ast.Tuple) or not listed.elts:
                self.refuse(listed, f"{how} takes a list of arrays that is written here")
            given = [self.value(one, env) for one in listed.elts]
            return self.joined_arrays(node, how, given, words.get("axis", ast.Constant(0)))
        made = self.value(node.args[0], env)
        if not isinstance(made.kind, Grid):
            self.refuse(node, f"{how} takes an array, and this is {shown(made.kind)}")
        if how == "expand_dims":
            axis = [*node.args[1:], *words.values()]
            at = constant_int(axis[0]) if len(axis) == 1 else None
            rank = made.kind.rank + 1
            if at is None or not -rank <= at < rank:
                self.refuse(node, f"the new axis is a constant here, of {-rank} to {rank - 1}")
            return self.expanded(made, [at % rank])
        found = self.shaped(node, how, made, [*node.args[1:], *words.values()], env)
        if found is None:
            self.refuse(node, f"{how} takes an array and a shape")
        return found

    def reshaped(self, node: ast.AST, made: Made, values: Sequence[Made]) -> Made:
        """The elements in rows of rows of these lengths, of which -1 is what the others leave."""
        assert isinstance(made.kind, Grid)
        if any([one.kind != INT for one in values]) or not 1 <= len(values) <= 4:
            self.refuse(node, "a shape has one to four lengths, which are ints")
        if isinstance(made.kind.element, Rows):
            self.refuse(node, "ragged rows have no other shape", hint="a.flatten() has their elements in one dimension")
        held, around = self.held(made)
        v, names = self.fresh("v"), [self.fresh("n") for _ in values]
        flat = operations.flat(held)
        left = [k for k, one in enumerate(values) if is_minus_one(one)]
        if len(left) > 1:
            self.refuse(node, "one length may be -1, for what is left")
        others: syntax.Exp = number(1)
        for k, of in enumerate(names):
            if k not in left:
                others = binary("*", others, name(of))
        count = syntax.Unary("#", name(v))
        if left:
            product = self.fresh("n")
            some = syntax.If(binary("==", name(product), number(0)), number(0), binary("/", count, name(product)))
            filled = let([product], others, some)
        total: syntax.Exp = number(1)
        for of in names:
            total = binary("*", total, name(of))
        message = syntax.String(f"These elements are not as many as the {len(names)} lengths say.")
        body = operations.reshaped(Made(name(v), flat.kind), list(map(name, names)), self.fresh) \
            if len(names) > 1 else name(v)
        body = call("_check", binary("==", total, count), message, body, span=self.span(node))
        order = [*[k for k in range(len(values)) if k not in left], *left]
        for k in reversed(order):
            body = let([names[k]], filled if k in left else values[k].exp, body)
        thin = tuple([len(values) - k for k, one in reversed(list(enumerate(values)))
                      if isinstance(one.exp, syntax.Number) and one.exp.value == 1]) if len(values) > 1 else ()
        return Made(around(let([v], flat.exp, body)), Grid(made.kind.element, len(values), thin))

    def rounded(self, node: ast.AST, made: Made, given: Sequence[ast.expr]) -> Made:
        digits = constant_int(given[0]) if given else 0
        assert isinstance(made.kind, Grid)
        element = made.kind.element.element if isinstance(made.kind.element, Rows) else made.kind.element
        if digits is None:
            self.refuse(node, "the number of digits is a constant int here")
        if element != FLOAT and digits >= 0:
            return made if element == INT else self.over(node, [made], lambda one: self.numeric(one[0], node),
                                                         inside=True)
        if digits == 0:
            rint = see(operators.UNARY["rint"])
            return self.over(node, [made], lambda one: self.called(rint, one, node), inside=True)
        power = Made(number(10.0 ** abs(digits)), FLOAT)
        function = operators.ROUNDED[element == FLOAT, digits > 0]
        return self.over(node, [made], lambda one: self.called(see(function), [*one, power], node), inside=True)

    def joined_arrays(self, node: ast.AST, how: str, given: Sequence[Made], axis: ast.expr) -> Made:
        """Arrays one behind another, or side by side."""
        kind: Kind | None = given[0].kind
        for one in given[1:]:
            kind = kind and joined(kind, one.kind)
        if not isinstance(kind, Grid):
            told = " and ".join([shown(one.kind) for one in given])
            self.refuse(node, f"{how} takes arrays of one kind, and these are {told}")
        new = how == "stack"
        ragged = isinstance(kind.element, Rows)
        if new and (ragged or kind.rank == 4):
            self.refuse(node, "stack takes arrays of numbers, of three dimensions at most")
        at, rank = constant_int(axis), kind.rank + (new or ragged)
        if at is None or not -rank <= at < rank:
            self.refuse(axis, f"the axis is a constant here, of {-rank} to {rank - 1}")
        names = [self.fresh("a") for _ in given]
        parts = [Held(of, kind.element, kind.rank) for of in names]
        place = self.span(node)
        exp = (operations.stacked if new else operations.joined)(parts, at % rank, self.fresh, place)
        for of, one in reversed(list(zip(names, given))):
            exp = let([of], become(one, kind, self.fresh), exp)
        return Made(exp, Grid(kind.element, kind.rank + new))


def is_minus_one(made: Made) -> bool:
    match made.exp:
        case syntax.Unary("-", syntax.Number(value=1)):
            return True
    return False
