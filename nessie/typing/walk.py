"""Walking typed expressions."""
from __future__ import annotations

from nessie.base.parts import Parts
from nessie.base.types import Fun, Identity
from nessie.typing import nodes as typed

EXPRESSIONS = Parts[typed.Exp]("Exp", through=("Generator",), order={typed.Each: ("generators", "filter", "body")})
parts, expressions = EXPRESSIONS.of, EXPRESSIONS.inside


def identity(function: typed.Lambda) -> Identity:
    """Return the identity of the lambda."""
    assert isinstance(function.type, Fun) and isinstance(function.type.identity, Identity)
    return function.type.identity
