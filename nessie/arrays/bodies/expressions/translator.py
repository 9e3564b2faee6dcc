"""What all translations of a function share: places, refusals, and what others do in their own way."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from nessie.arrays.bodies.expressions.values import Env, attempts
from nessie.arrays.bodies.kinds import Items, Kind, joined
from nessie.arrays.bodies.outside import Seen
from nessie.arrays.bodies.trees import Fresh, Made
from nessie.base.source import NessieError, Span

if TYPE_CHECKING:
    from nessie.arrays.bodies.functions import Module
    from nessie.arrays.bodies.statements import Statements


class Translator:
    """Translates one function. `module` has what is made for all functions of a program."""

    def __init__(self, module: Module, function: Seen) -> None:
        self.module, self.function = module, function
        self.fresh: Fresh = module.fresh

    # What the classes below add ------------------------------------------------------------------

    def value(self, node: ast.expr, env: Env) -> Made:
        raise NotImplementedError           # nessie.arrays.bodies.expressions.expressions

    def call_of_method(self, node: ast.Call, of: ast.Attribute, kind: Items, env: Env) -> Made:
        raise NotImplementedError           # nessie.arrays.bodies.expressions.calls

    # What sequences add (iterations, sequences) ------------------------------------------------------

    def subscript(self, node: ast.expr, inner: ast.expr, index: ast.expr, env: Env) -> Made:
        raise NotImplementedError

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, env: Env) -> Made:
        raise NotImplementedError

    def method(self, node: ast.Call, function: ast.Attribute, env: Env) -> Made:
        raise NotImplementedError

    def of_sequences(self, node: ast.Call, function: Any, env: Env) -> Made | None:
        raise NotImplementedError

    # What host sections do in their own way (nessie.arrays.sections.unions) -------------------------

    def join(self, a: Kind, b: Kind) -> Kind | None:
        """The kind of what is of one on one path and of the other on another; None if there is none."""
        return joined(a, b)

    @property
    def translator(self) -> type[Statements] | None:
        """Who translates the functions that are called here, if that is not the module's own."""
        return None

    def sides(self, node: ast.AST, makes: Sequence[Callable[[], Made]]) -> list[Made]:
        """What the sides of a branch make."""
        return attempts(makes)

    def lazily(self, node: ast.expr, env: Env) -> Made:
        """The value of what is not always computed."""
        return self.value(node, env)

    # Places and refusals ----------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        return self.function.span(node)

    def error(self, node: ast.AST, message: str, hint: str = "") -> NessieError:
        return NessieError(message, (self.span(node), ""), hint=hint)

    def refuse(self, node: ast.AST, message: str, hint: str = "") -> NoReturn:
        raise self.error(node, message, hint)
