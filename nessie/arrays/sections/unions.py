"""Values that are of one kind on one path and of another on the next: an array or a number, of ints or of truth values.

A name is of one kind wherever it is known. What is of several is a union, a number that says which and a value of each
(kinds.Union), and made only where paths come together: at the head of a loop, behind it, at a return, or of a
conditional expression. There what follows is translated for each of its kinds, behind a test of that number. What one
of them cannot do is an error of the run on that path; what none of them can is refused.

A unit is what is translated on several paths: a side of a branch, what follows it. `Module.units` notes whether that
went well, each time.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from nessie.arrays.bodies.expressions.values import Env, Unsure, attempts
from nessie.arrays.bodies.kinds import BOOL, Kind, Union, Unknown, united
from nessie.arrays.bodies.loops import After
from nessie.arrays.bodies.outside import Seen
from nessie.arrays.bodies.statements import Statements
from nessie.arrays.bodies.trees import Made, binary, call, let, name, number, zero
from nessie.base.source import NessieError
from nessie.syntax import nodes as syntax

if TYPE_CHECKING:
    from nessie.arrays.bodies.functions import Module

MOST_PATHS = 16                 # of one loop's body, or of the function's
MOST_STATES = 8                 # combinations of kinds of names


class Part(Exception):
    """A part of an expression, `made`, is a union."""

    def __init__(self, node: ast.expr, made: Made) -> None:
        super().__init__()
        self.node, self.made = node, made


class Refused(Exception):
    """A unit is refused."""

    def __init__(self, error: NessieError, unit: Hashable) -> None:
        super().__init__()
        self.error, self.unit = error, unit


class TooMany(NessieError):
    """What follows would be translated for too many kinds. Of a unit that is refused for several reasons, it is the one
    that is told, since the others may be of paths that no run takes."""


class Unions(Statements):
    """Translates what is of several kinds. `unions`: may there be any? Elements of arrays are of one kind."""

    unions, states, paths = True, 1, 1

    def __init__(self, module: Module, function: Seen) -> None:
        super().__init__(module, function)
        self.known: dict[tuple[int, int], tuple[ast.expr, Env, Made]] = {}      # parts of the expression at hand
        self.parts: dict[ast.expr, Made] = {}           # of these it is known which of their kinds they are
        self.within = False

    def join(self, a: Kind, b: Kind) -> Kind | None:
        return united(a, b) if self.unions else super().join(a, b)

    @contextmanager
    def of_elements(self) -> Iterator[None]:
        """What is translated meanwhile is of an array's elements."""
        before, self.unions = self.unions, False
        try:
            yield
        finally:
            self.unions = before

    # Expressions --------------------------------------------------------------------------------

    def value(self, node: ast.expr, env: Env) -> Made:
        """The value of an expression. What is not of arrays is asked for again, as of elements: each part is translated
        once."""
        if node in self.parts:
            return self.parts[node]
        key = id(node), id(env)             # both are kept beside it
        if key in self.known:
            return self.known[key][2]
        if not self.within:
            return self.whole(node, env)
        made = self.by_kind(node, env)
        if isinstance(made.kind, Union):
            raise Part(node, made)
        self.known[key] = node, env, made
        return made

    def whole(self, node: ast.expr, env: Env) -> Made:
        """The value of a whole expression, which may be a union."""
        around, self.within, self.known = (self.within, self.known), True, {}
        try:
            return self.by_kind(node, env)
        finally:
            self.within, self.known = around

    def by_kind(self, node: ast.expr, env: Env) -> Made:
        """The value of an expression. Where a part is a union, it is translated for each of the part's kinds."""
        try:
            return super().value(node, env)
        except Part as found:
            part = found

        def of_kind(made: Made) -> Made:
            around, self.known = self.known, {}
            self.parts[part.node] = made
            try:
                return self.by_kind(node, env)
            finally:
                del self.parts[part.node]
                self.known = around
        return self.split(node, "part", part.made, of_kind)

    def lazily(self, node: ast.expr, env: Env) -> Made:
        return self.whole(node, env)

    def truth(self, node: ast.expr, env: Env) -> syntax.Exp:
        """Is the expression true? Of `and` and `or` only that is asked of their parts."""
        if not isinstance(node, ast.BoolOp):
            return self.true(self.value(node, env), node)
        first, *others = node.values
        test, (true, false) = self.truth(first, env), self.where(first, env)
        rest = others[0] if len(others) == 1 else ast.copy_location(ast.BoolOp(node.op, others), node)
        if isinstance(node.op, ast.And):
            return syntax.If(test, self.truth(rest, true), syntax.Bool(False), span=self.span(node))
        return syntax.If(test, syntax.Bool(True), self.truth(rest, false), span=self.span(node))

    def true(self, made: Made, node: ast.AST) -> syntax.Exp:
        if not isinstance(made.kind, Union):
            return super().true(made, node)
        return self.split(node, "truth", made, lambda one: Made(self.true(one, node), BOOL)).exp

    # Kinds --------------------------------------------------------------------------------------

    def split(self, node: ast.AST, what: str, made: Made, then: Callable[[Made], Made]) -> Made:
        """What follows, for each kind of the value."""
        assert isinstance(made.kind, Union)
        around = self.states, self.paths
        self.states, self.paths = [n * len(made.kind.kinds) for n in around]
        if self.states > MOST_STATES:
            raise TooMany(f"values here are of more than {MOST_STATES} combinations of kinds", (self.span(node), ""))
        tag, names = self.fresh("kind"), [self.fresh("one") for _ in made.kind.kinds]
        try:
            ends = self.sides(node, [partial(then, Made(name(n), kind)) for n, kind in zip(names, made.kind.kinds)],
                              [(node, what)] * len(names))
        finally:
            self.states, self.paths = around
        result: Made = ends[-1]
        for k in reversed(range(len(names) - 1)):
            result = self.conditional(node, binary("==", name(tag), number(k)), ends[k], result)
        return Made(let([tag, *names], made.exp, result.exp), result.kind)

    def apart(self, node: ast.AST, what: str, env: Env, then: After) -> Made:
        """What follows, for each combination of the kinds of names."""
        for of, value in env.items():
            made = value.made if isinstance(value, Unsure) else value
            if isinstance(made, Made) and isinstance(made.kind, Union):
                def known(one: Made, of: str = of, value: Made | Unsure = value) -> Made:       # type: ignore[assignment]
                    known_as = replace(value, made=one) if isinstance(value, Unsure) else one
                    return self.apart(node, what, {**env, of: known_as}, then)
                return self.split(node, what, made, known)
        return then(env)

    def assigned_to(self, target: ast.expr, made: Made, env: Env, then: After) -> Made:
        if isinstance(made.kind, Union) and not isinstance(target, ast.Name):
            return self.split(target, "items", made, lambda one: self.assigned_to(target, one, env, then))
        return super().assigned_to(target, made, env, lambda env: self.apart(target, "names", env, then))

    # Units --------------------------------------------------------------------------------------

    def sides(self, node: ast.AST, makes: Sequence[Callable[[], Made]], units: Sequence[Hashable] = ()) -> list[Made]:
        """What these make. Where one is refused and another is not, it is an error of the run."""
        if not self.unions:
            return attempts(makes)
        found: list[Made | Unknown | Refused] = []
        own: list[Refused] = []
        for k, make in enumerate(makes):
            unit = units[k] if units else (node, k)
            try:
                found.append(make())
                self.module.units.append((unit, None))
            except (Unknown, Refused) as other:
                found.append(other)
            except NessieError as error:
                own.append(Refused(error, unit))
                found.append(own[-1])
        good = next((one for one in found if isinstance(one, Made)), None)
        if good is None:
            raise worst(found, own)
        self.module.units += [(one.unit, one.error) for one in found if isinstance(one, Refused)]
        return [one if isinstance(one, Made) else failing(one.error, good.kind) if isinstance(one, Refused) else good
                for one in found]

    def within_loop(self, node: ast.AST, gives: Kind, make: Callable[[], Made]) -> Made:
        if not self.unions:
            return make()
        unit, error = (node, "body"), None
        try:
            made = make()
        except NessieError as refused:
            error = refused
            made = failing(error, gives)
        self.module.units.append((unit, error))
        return made

    def rest(self, node: ast.AST, then: After) -> After:
        """What follows a branch, as a unit."""
        def follows(env: Env) -> Made:
            try:
                made = then(env)
            except NessieError as error:
                raise Refused(error, (node, "rest")) from None
            self.module.units.append(((node, "rest"), None))
            return made
        return follows


def worst(found: Sequence[Made | Unknown | Refused], own: Sequence[Refused]) -> Exception:
    """The error of a unit all of whose sides are refused. `own`: the sides whose errors are theirs, not those of a unit
    around."""
    unknown = next((one for one in found if isinstance(one, Unknown)), None)
    if unknown is not None:
        return unknown
    refused = [one for one in found if isinstance(one, Refused)]
    if refused[0] not in own:
        of_unit = [one for one in refused if one.unit == refused[0].unit]
        return next((one for one in of_unit if isinstance(one.error, TooMany)), of_unit[0])
    return next((one.error for one in own if isinstance(one.error, TooMany)), own[0].error)


def failing(error: NessieError, kind: Kind) -> Made:
    """An error of the run instead of a value of the kind."""
    message = syntax.String(f"{error.message[:1].upper()}{error.message[1:]}.")
    place = error.places[0][0] if error.places else None
    return Made(call("_check", syntax.Bool(False), message, zero(kind), span=place), kind)
