"""Values from outside as numbers of a program's widths: narrower ones stay, wider ones become narrow if they fit."""
from __future__ import annotations

from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.base.types import Base, Pair, Seq, Type
from nessie.base.values import DTYPES, Column, Flat, Nested, View
from nessie.base.widths import WIDE, Widths

BEYOND = "there are integers beyond 32 bits"
HINT = "the program's ints have 32 bits: --int 64, or int=64 in Python, gives them 64"


def fitted(value: Any, type_: Type, widths: Widths) -> Any:
    """The flat value of this type with numbers that programs of these widths have. NessieError for ints that do not
    fit."""
    match type_:
        case Pair(first, second):
            return fitted(value[0], first, widths), fitted(value[1], second, widths)
        case Seq(element):
            column = fitted_column(value.column, element, widths)
            return value if column is value.column else Flat(value.length, column, value.name)
        case Base("int") if not widths.min_int <= value <= widths.max_int:
            raise NessieError(BEYOND, hint=HINT)
        case Base("float"):
            return widths.rounded(float(value))
    return value


def fitted_column(column: Column, type_: Type, widths: Widths) -> Column:
    """The column with arrays of the program's widths; the same object where it has them."""
    match column, type_:
        case (first, second), Pair(a, b):
            one, other = fitted_column(first, a, widths), fitted_column(second, b, widths)
            return column if one is first and other is second else (one, other)
        case Nested() | View(), Seq(element):
            inside = fitted_column(column.content, element, widths)
            if inside is column.content:
                return column
            return View(column.starts, column.lengths, inside) if isinstance(column, View) else column.over(inside)
        case np.ndarray(), Base(base) if base in WIDE.values() and not narrower(column.dtype, base, widths):
            if base == "int" and not fits(column, widths):
                raise NessieError(BEYOND, hint=HINT)
            with np.errstate(over="ignore"):
                return column.astype(DTYPES[widths.base(base)])
    return column


def narrower(dtype: np.dtype[Any], base: str, widths: Widths) -> bool:
    """Do programs of these widths read elements of this dtype, as ints or floats, where they lie?"""
    own = DTYPES[widths.base(base)]
    of_kind = [DTYPES[name] for name, full in WIDE.items() if full == base]
    return dtype == own or (dtype in of_kind and dtype.itemsize < own.itemsize)


def fits(values: np.ndarray[Any, Any], widths: Widths) -> bool:
    """Are all these integers ints of the program?"""
    return not values.size or (int(values.min()) >= widths.min_int and int(values.max()) <= widths.max_int)
