"""Sections of arrays of several dimensions that have no elements.

In NESL an array is rows of rows, and no rows have no length. So what is compiled would forget how long they are. Python
runs such a section instead, call by call: outside of sections, arrays know their shapes. The section is compiled
nevertheless, to refuse what it refuses and to know the kinds of its results.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nessie.arrays import nodes, recorded
from nessie.arrays.array import Array, asarray
from nessie.arrays.bodies.kinds import BOOL, INT, Grid, Items, Kind, Union, merged
from nessie.arrays.bodies.outside import is_lazy
from nessie.arrays.bodies.source import place_in
from nessie.arrays.values import of_items
from nessie.base.source import NessieError

NUMBERS: dict[Kind, Callable[[Any], Any]] = {BOOL: bool, INT: int}


def forgets_lengths(value: Any) -> bool:
    """Is it an array of several dimensions without elements?"""
    shape = value.shape if is_lazy(value) or isinstance(value, np.ndarray) else ()
    return len(shape) > 1 and 0 in shape


def by_python(function: Callable[..., Any], given: Sequence[Any], gives: Kind, kind_of: Callable[[Any], Kind],
              target: str | None, floats: int) -> Any:
    """Return what the function gives when Python runs it, as values of the kind. Errors are told where it has them."""
    def whole_kind(value: Any) -> Kind:
        return Items(tuple(map(whole_kind, value))) if isinstance(value, tuple) else kind_of(value)

    def of_kind(value: Any, kind: Kind) -> Any:
        match kind:
            case Items(items):
                given = value if isinstance(value, tuple) else [getattr(value, name) for name in kind.names]
                return of_items(kind, [of_kind(one, of) for one, of in zip(given, items, strict=True)])
            case Union(kinds):
                own = whole_kind(value)
                return of_kind(value, next(one for one in kinds if merged(one, own) == one))
            case Grid(element):
                node = asarray(value)._nessie_node
                made = recorded.narrower(node, nodes.DTYPES[element]) if isinstance(element, str) else node
                return Array(made).evaluate(target, floats)                     # type: ignore[arg-type]
        return NUMBERS.get(kind, float)(value)
    try:
        return of_kind(function(*given), gives)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise NessieError(f"{str(error)[:1].upper()}{str(error)[1:]}.", *places(error)) from None
    except NessieError as error:
        error.places = error.places or tuple(places(error))
        raise


def places(error: BaseException) -> list[tuple[Any, str]]:
    """Return the place in the user's code where the error was raised, if its text is known."""
    found, at = None, error.__traceback__
    while at is not None:
        if not at.tb_frame.f_globals.get("__name__", "").startswith("nessie."):
            found = place_in(at.tb_frame.f_code, at.tb_lasti)
        at = at.tb_next
    return [(found, "")] if found is not None else []
