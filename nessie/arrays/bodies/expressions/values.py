"""What names of a body have, and values that are translated one way or another."""
from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nessie.arrays.bodies.expressions import known
from nessie.arrays.bodies.kinds import Unknown
from nessie.arrays.bodies.trees import Made, number
from nessie.base.records import dataclass
from nessie.syntax import nodes as syntax


@dataclass(frozen=True)
class Window:
    """What a stencil's function gets: its neighbours, by their offsets from the middle."""
    neighbours: Mapping[tuple[int, ...], Made]

    @property
    def rank(self) -> int:
        return len(next(iter(self.neighbours)))


@dataclass(frozen=True)
class Unsure:
    """The value of a name that may have none: a loop sets it, and may have had no round. `there`: has it one?"""
    made: Made
    there: syntax.Exp


@dataclass(frozen=True, eq=False)
class Unset:
    """What a name has that a loop sets, before its kind is known. Who reads it is told to the loop, which keeps the
    name from round to round then, and is translated again."""
    read: list[tuple[str, ast.AST]]
    kept: set[str]

    def used(self, of: str, node: ast.AST) -> None:
        self.read.append((of, node))
        self.kept.add(of)


Value = Made | Window | Unsure | Unset
Env = Mapping[str, Value]


def attempts(makes: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return what these make. For what is not known yet, as a recursion's kind is not, there is another that is: the
    function is translated again."""
    found: list[Any] = []
    for make in makes:
        try:
            found.append(make())
        except Unknown as error:
            found.append(error)
    known = [one for one in found if not isinstance(one, Unknown)]
    if not known:
        raise found[0]
    return [known[0] if isinstance(one, Unknown) else one for one in found]


def number_of(value: float) -> syntax.Exp:
    """Return a float, be it one without digits."""
    if math.isnan(value):
        return known.NAN
    if math.isinf(value):
        return known.INF if value > 0 else syntax.Unary("-", known.INF)
    if value == 0 and math.copysign(1, value) < 0:
        return syntax.Unary("-", syntax.Number(0.0))
    return number(value)
