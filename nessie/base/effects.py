"""Effects: what running programs ask of the world outside them. Who runs programs is given who performs effects."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nessie.base.source import InternalError
from nessie.base.types import Type

# The effect's name, its argument as a flat value, and the argument's type: the result, a flat value. An effect that
# fails raises NessieError, which needs no place.
Perform = Callable[[str, Any, Type], Any]


def no_effects(name: str, argument: Any, takes: Type) -> Any:
    """The effects of programs that have none."""
    raise InternalError(f"the effect {name}, where no effects are expected")
