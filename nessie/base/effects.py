"""Effects: the requests of a running program to the outside world. Whoever runs a program passes the function that
performs them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nessie.base.source import InternalError
from nessie.base.types import Type

# A function from the effect's name, its argument as a flat value and the argument's type to the result, a flat value.
# An effect that fails raises NessieError, which needs no place.
Perform = Callable[[str, Any, Type], Any]


def no_effects(name: str, argument: Any, takes: Type) -> Any:
    """Perform effects for programs that have none: raise an error."""
    raise InternalError(f"the effect {name}, where no effects are expected")
