"""What bodies go through: rows, ranges, lists that are written, what enumerate, zip and reversed make of these; and
comprehensions, which do so."""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from typing import Any

from nessie.arrays.bodies.expressions.expressions import Expressions
from nessie.arrays.bodies.expressions.values import Env
from nessie.arrays.bodies.kinds import INT, Items, Kind, Rows, joined, shown
from nessie.arrays.bodies.outside import static
from nessie.arrays.bodies.trees import Made, become, binary, call, item, let, name, number
from nessie.syntax import nodes as syntax

Around = Callable[[syntax.Exp], syntax.Exp]
NAMES_ONLY = "a body sets names; it changes no array and no object"


class Iterations(Expressions):
    """Expressions, and what is gone through."""

    def sequence(self, node: ast.expr, env: Env) -> Made:
        made = self.value(node, env)
        if isinstance(made.kind, Items):
            return self.written(node, made)
        if not isinstance(made.kind, Rows):
            self.refuse(node, f"a sequence is needed here, and this is {shown(made.kind)}",
                        hint="range(n) has the ints below n; nessie.nest(rows).map(f) gives f rows")
        return made

    def written(self, node: ast.expr, made: Made) -> Made:
        """A list or a tuple that is written, as a sequence."""
        assert isinstance(made.kind, Items)
        kind: Kind | None = made.kind.items[0]
        for one in made.kind.items[1:]:
            kind = kind and joined(kind, one)
        if kind is None:
            self.refuse(node, f"a sequence has elements of one kind, and this is {shown(made.kind)}",
                        hint="of several kinds, it is a tuple, whose items are taken by constants")
        names = [self.fresh("item") for _ in made.kind.items]
        elements = [become(Made(name(n), one), kind, self.fresh) for n, one in zip(names, made.kind.items)]
        return Made(let(names, made.exp, syntax.Sequence(tuple(elements))), Rows(kind), some=True)

    def gone_through(self, node: ast.expr, env: Env) -> Made:
        """What an iteration goes through, as one sequence: of several side by side, their tuples."""
        sources, around = self.side_by_side(node, env)
        if len(sources) == 1:
            return Made(sources[0][0], Rows(sources[0][1]))
        names = [self.fresh("x") for _ in sources]
        made = self.items([Made(name(n), kind) for n, (_, kind) in zip(names, sources)])
        generators = tuple([syntax.Generator(syntax.NamePattern(n), exp) for n, (exp, _) in zip(names, sources)])
        return Made(around(syntax.Each(made.exp, generators, None, span=self.span(node))), Rows(made.kind))

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, env: Env) -> Made:
        """[f(x) for x in row if c(x)], also over zip, enumerate and range."""
        if len(node.generators) > 1:
            self.refuse(node, "a comprehension goes through one sequence here", hint="nest one in another")
        one = node.generators[0]
        sources, around = self.side_by_side(one.iter, env)
        names = [self.fresh("x") for _ in sources]
        inner: Env = {**env, **self.bound_to(one.target, [Made(name(n), kind)
                                                          for n, (_, kind) in zip(names, sources)])}
        conditions = []
        for condition in one.ifs:
            conditions.append(self.truth(condition, inner))
            inner, _ = self.where(condition, inner)
        generators = tuple([syntax.Generator(syntax.NamePattern(n), source)
                            for n, (source, _) in zip(names, sources)])
        body = self.value(node.elt, inner)
        test = conditions[0] if conditions else None
        for more in conditions[1:]:
            test = syntax.If(test, more, syntax.Bool(False))              # type: ignore[arg-type]
        return Made(around(syntax.Each(body.exp, generators, test, span=self.span(node))), Rows(body.kind))

    def side_by_side(self, node: ast.expr, env: Env) -> tuple[list[tuple[syntax.Exp, Kind]], Around]:
        """The sequences that an iteration goes through, as far as the shortest goes, and what binds their names around
        an expression."""
        sources = self.sources(node, env)
        if len(sources) == 1 or self.iterates(node, env) is builtins.enumerate or is_strict(node):
            return sources, lambda exp: exp
        held, n = [self.fresh("v") for _ in sources], self.fresh("n")

        def around(exp: syntax.Exp) -> syntax.Exp:
            exp = let([n], least([syntax.Unary("#", name(v)) for v in held]), exp)
            for v, (source, _) in reversed(list(zip(held, sources))):
                exp = let([v], source, exp)
            return exp
        return [(call("subseq", name(v), number(0), name(n)), kind) for v, (_, kind) in zip(held, sources)], around

    def iterates(self, node: ast.expr, env: Env) -> Any:
        """The function from outside by whose name an iteration is called; None if there is none."""
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in env
        return static(self.function, node.func) if called else None         # type: ignore[attr-defined]

    def sources(self, node: ast.expr, env: Env) -> list[tuple[syntax.Exp, Kind]]:
        """The sequences that an iteration goes through side by side, and the kinds of their elements."""
        function = self.iterates(node, env)
        if isinstance(node, ast.Call):
            if function is builtins.range:
                return [(self.range(node, env), INT)]
            if function is builtins.enumerate:
                return self.enumerated(node, env)
            if function is builtins.zip:
                if not node.args or (node.keywords and not is_strict(node)):
                    self.refuse(node, "zip takes sequences, and nothing else here")
                found = [self.sequence(argument, env) for argument in node.args]
                return [(made.exp, element_of(made)) for made in found]
        made = self.sequence(node, env)
        return [(made.exp, element_of(made))]

    def enumerated(self, node: ast.Call, env: Env) -> list[tuple[syntax.Exp, Kind]]:
        """The numbers of elements, from a start on, and the elements."""
        given = [*node.args, *[word.value for word in node.keywords if word.arg == "start"]]
        if not 1 <= len(node.args) <= len(given) <= 2 or len(given) != len(node.args) + len(node.keywords):
            self.refuse(node, "enumerate takes a sequence, and the int that is the first element's number")
        v = self.sequence(node.args[0], env)
        if len(given) == 1:
            return [(call("index", syntax.Unary("#", v.exp)), INT), (v.exp, element_of(v))]
        start = self.value(given[1], env)
        if start.kind != INT:
            self.refuse(given[1], f"the first number is an int, and this is {shown(start.kind)}")
        s = self.fresh("s")
        end = binary("+", name(s), syntax.Unary("#", v.exp))
        return [(let([s], start.exp, syntax.Range(name(s), end, None)), INT), (v.exp, element_of(v))]

    def range(self, node: ast.Call, env: Env) -> syntax.Exp:
        """The ints of a range, none where it ends before it begins."""
        given = [self.value(argument, env) for argument in node.args]
        if not 1 <= len(given) <= 3 or any([made.kind != INT for made in given]):
            self.refuse(node, "range takes one to three ints")
        start, end = (number(0), given[0].exp) if len(given) == 1 else (given[0].exp, given[1].exp)
        s = self.fresh("s")
        if len(given) < 3:
            return let([s], start, syntax.Range(name(s), call("max", name(s), end), None, span=self.span(node)))
        step = constant_int(node.args[2])
        if step is None or step < 1:
            self.refuse(node.args[2], "the step of a range is a constant of at least 1 here")
        return let([s], start, syntax.Range(name(s), call("max", name(s), end), number(step), span=self.span(node)))

    def bound_to(self, target: ast.expr, made: list[Made]) -> dict[str, Made]:
        """The names of an assignment's or an iteration's target."""
        if isinstance(target, ast.Name):
            return {target.id: made[0] if len(made) == 1 else self.items(made)}
        if isinstance(target, ast.Tuple | ast.List):
            parts = target.elts
            if len(made) == 1 and isinstance(made[0].kind, Items):
                made = [item(made[0], k, self.fresh) for k in range(len(made[0].kind.items))]
            if len(parts) == len(made):
                found: dict[str, Made] = {}
                for part, one in zip(parts, made):
                    found |= self.bound_to(part, [one])
                return found
            self.refuse(target, f"{len(parts)} names for {len(made)} value{'s' * (len(made) != 1)}")
        self.refuse(target, "this cannot be assigned to in a body",
                    hint=NAMES_ONLY)

    def reversed(self, node: ast.expr, made: Made) -> Made:
        return Made(call("reverse", made.exp, span=self.span(node)), made.kind)


def is_strict(node: ast.expr) -> bool:
    """Is it zip(v, w, strict=True), which refuses sequences of different lengths?"""
    words = node.keywords if isinstance(node, ast.Call) else []
    return [word.arg for word in words] == ["strict"] and isinstance(words[0].value, ast.Constant) and \
        bool(words[0].value.value)


def least(lengths: Sequence[syntax.Exp]) -> syntax.Exp:
    result = lengths[0]
    for length in lengths[1:]:
        result = call("min", result, length)
    return result


def element_of(made: Made) -> Kind:
    assert isinstance(made.kind, Rows)
    return made.kind.element


def constant_int(node: ast.expr) -> int | None:
    """Return the constant int that the expression is."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = constant_int(node.operand)
        return None if found is None else -found
    return None
