"""The layout of NESL's values in the names of lambda_cu: layouts to parameters, flat values to names and back.

The names of a layout (lambda_cu.nodes: SeqLayout) hold scalars and NumPy arrays. Dense values are never copied; views
are compacted when they become values, rows in order, each as often as it is seen.
"""
from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nessie.base.names import Names
from nessie.base.types import Base, Pair, Seq, Type
from nessie.base.values import DTYPES, Closed, Column, Computed, Flat, Nested, OnDevice, Uniform, View, length_of
from nessie.base.widths import WIDE, wide
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.offsets import Ints, offsets_by, positions_in

Array = NDArray[Any]
Positions = Callable[[], tuple[Ints, ...]]      # of values, in the sequences around them, innermost first
Reader = Callable[[Iterator[Any]], Any]         # of what names hold
ColumnReader = Callable[[Iterator[Any], int, Positions], Column]


def layout_of(type_: Type) -> ir.Layout:
    """The dense layout of a type's values."""
    match type_:
        case Base(name):
            return ir.ScalarLayout(name)
        case Pair(first, second):
            return ir.PairLayout(layout_of(first), layout_of(second))
        case Seq(element):
            return ir.SeqLayout(layout_of(element))
    raise TypeError(f"values of {type_} have no layout")


def layout_of_value(type_: Type, value: Any) -> ir.Layout:
    """The layout in which a flat value of the type goes as it is: sequences that are Uniform or Closed need no offsets,
    those of a View lie anywhere."""
    match type_:
        case Pair(first, second):
            return ir.PairLayout(layout_of_value(first, value[0]), layout_of_value(second, value[1]))
        case Seq(element):
            return ir.SeqLayout(layout_of_column(element, value.column), name=value.name)
    return layout_of(type_)


def layout_of_column(type_: Type, column: Column) -> ir.Layout:
    match type_:
        case Pair(first, second):
            return ir.PairLayout(layout_of_column(first, column[0]), layout_of_column(second, column[1]))
        case Seq(element):
            inside = layout_of_column(element, column.content)
            match column:
                case Uniform():
                    return ir.SeqLayout(inside, "uniform", column.name)
                case Closed():
                    return ir.SeqLayout(inside, "closed", lengths=column.lengths)
            return ir.SeqLayout(inside, "view" if isinstance(column, View) else "dense")
        case Base(name):
            return ir.ScalarLayout(narrower_type(column.dtype, name) or name)
    return layout_of(type_)


def narrower_type(dtype: np.dtype[Any], base: str) -> str | None:
    """The type of elements of this dtype, if they are narrower than those of this type and can be read as such."""
    if dtype.itemsize >= DTYPES[base].itemsize:
        return None
    full = wide(base)
    return next((name for name, of in WIDE.items() if of == full and DTYPES[name] == dtype), None)


def type_of_layout(layout: ir.Layout) -> Type:
    """The type whose values lie so."""
    match layout:
        case ir.ScalarLayout(base):
            return Base(base)
        case ir.PairLayout(first, second):
            return Pair(type_of_layout(first), type_of_layout(second))
        case ir.SeqLayout(element):
            return Seq(type_of_layout(element))
    raise TypeError(layout)


Shared = dict[Hashable, str]            # the names of sizes that several sequences have


def parameters(layout: ir.Layout, names: Names, wish: str = "x", count: ir.Size | None = None,
               shared: Shared | None = None) -> tuple[ir.Param, ...]:
    """Parameters for one value (or for `count` values) of the layout, with fresh names like `wish`. `shared`: the sizes
    of the sequences before, which is extended."""
    shared = {} if shared is None else shared
    match layout:
        case ir.ScalarLayout(base):
            return (ir.Param(names.fresh(wish), wide(base) if count is None else ir.Array(base, count)),)
        case ir.PairLayout(first, second):
            return parameters(first, names, wish, count, shared) + parameters(second, names, wish, count, shared)
        case ir.SeqLayout(element):
            bounds = bound_parameters(layout, names, wish, count)
            size = ir.Param(names.fresh(f"{wish}_size"), "int")
            _, over = first_like(layout, count, [param.name for param in bounds], size.name, shared)
            return (*bounds, size, *parameters(element, names, wish, over, shared))
    raise TypeError(layout)


def first_like(layout: ir.SeqLayout, count: ir.Size | None, bounds: Sequence[str], size: str,
               shared: Shared) -> tuple[Sequence[str], str]:
    """Return the names of these bounds and of this size: those of the first sequences that are equally long."""
    match layout:
        case ir.SeqLayout(_, "dense", named) if named and count is None:
            return bounds, shared.setdefault(named, size)
        case ir.SeqLayout(_, "uniform", named) if named:
            length = shared.setdefault(named, bounds[0])
            return (length,), shared.setdefault((count, length), size)
        case ir.SeqLayout(lengths=ir.Lengths(_, mentioned) as lengths):
            numbers = [shared.setdefault(name, bound) for name, bound in zip(mentioned, bounds, strict=True)]
            return numbers, shared.setdefault((count, lengths, *numbers), size)
    return bounds, size


def bound_parameters(layout: ir.SeqLayout, names: Names, wish: str, count: ir.Size | None) -> tuple[ir.Param, ...]:
    """The parameters that tell where a sequence, or each of `count`, lies in its payload."""
    if layout.form == "view":
        word: ir.Type = "int" if count is None else ir.Array("int", count)
        return ir.Param(names.fresh(f"{wish}_start"), word), ir.Param(names.fresh(f"{wish}_length"), word)
    if count is None:
        return ()
    if layout.form == "uniform":
        return (ir.Param(names.fresh(f"{wish}_length"), "int"),)
    if layout.lengths is not None:
        return tuple([ir.Param(names.fresh(name), "int") for name in layout.lengths.names])
    return (ir.Param(names.fresh(f"{wish}_offsets"), ir.Array("int", count, 1)),)


def bases(layout: ir.Layout) -> tuple[str, ...]:
    """The types of the names of one value, of arrays those of their elements."""
    return tuple([p.type.base if isinstance(p.type, ir.Array) else p.type for p in parameters(layout, Names())])


# Values to names --------------------------------------------------------------------------------


def to_names(value: Any, layout: ir.Layout) -> list[Any]:
    """The contents of the names of one value: scalars (a char as str) and arrays."""
    match layout:
        case ir.ScalarLayout("char"):
            return [value if isinstance(value, str) else chr(value)]
        case ir.ScalarLayout():
            return [value]
        case ir.PairLayout(first, second):
            return to_names(value[0], first) + to_names(value[1], second)
        case ir.SeqLayout(element, form):
            bounds = [0, value.length] if form == "view" else []
            return [*bounds, value.length, *column_names(value.column, element, value.length)]
    raise TypeError(layout)


def column_names(column: Column, layout: ir.Layout, count: int) -> list[Any]:
    """The contents of the names of `count` values."""
    match layout:
        case ir.ScalarLayout(base):
            part = beginning(column, count)
            return [part if isinstance(part, OnDevice) else np.asarray(part, DTYPES[base])]
        case ir.PairLayout(first, second):
            return column_names(column[0], first, count) + column_names(column[1], second, count)
        case ir.SeqLayout(element, "uniform") if isinstance(column, Uniform):
            size = count * column.length
            return [column.length, size, *column_names(column.content, element, size)]
        case ir.SeqLayout(element, "closed"):
            size = length_of(column.content)
            return [*column.numbers, size, *column_names(column.content, element, size)]
        case ir.SeqLayout(element, "view") if isinstance(column, View):
            size = length_of(column.content)
            return [column.starts[:count], column.lengths[:count], size, *column_names(column.content, element, size)]
        case ir.SeqLayout(element) if isinstance(column.offsets, OnDevice):
            size = length_of(column.content)
            return [column.offsets[:count + 1], size, *column_names(column.content, element, size)]
        case ir.SeqLayout(element, form):
            offsets = np.asarray(column.offsets[:count + 1], np.int64)
            size = int(offsets[-1])
            return [*column_bounds(offsets, form), size, *column_names(column.content, element, size)]
    raise TypeError(layout)


def beginning(array: Any, count: int) -> Any:
    """The first elements of an array."""
    return array if len(array) == count else array[:count]


def column_bounds(offsets: Array, form: str) -> list[Any]:
    """The contents of the names that tell where sequences with these offsets lie."""
    if form == "dense":
        return [offsets]
    lengths = np.diff(offsets)
    if form == "view":
        return [offsets[:-1], lengths]
    if len(lengths) and (lengths != lengths[0]).any():
        raise ValueError("sequences of different lengths have no uniform layout")
    return [int(lengths[0]) if len(lengths) else 0]


# Names to values --------------------------------------------------------------------------------


def from_names(held: Sequence[Any], layout: ir.Layout) -> Any:
    """The flat value whose names hold this."""
    return reader(layout)(iter(held))


def reader(layout: ir.Layout) -> Reader:
    """What makes flat values of this layout."""
    match layout:
        case ir.ScalarLayout(base):
            return lambda held: scalar(next(held), base)
        case ir.PairLayout(first, second):
            one, other = reader(first), reader(second)
            return lambda held: (one(held), other(held))
        case ir.SeqLayout(element, "view"):
            payload = column_reader(element)

            def part(held: Iterator[Any]) -> Flat:
                start, length, size = int(next(held)), int(next(held)), int(next(held))
                return Flat(length, select(payload(held, size, nowhere), np.array([start]), np.array([length])))
            return part
        case ir.SeqLayout(element, _):
            elements = column_reader(element)

            def whole(held: Iterator[Any]) -> Flat:
                size = int(next(held))
                return Flat(size, elements(held, size, lambda: (np.arange(size),)))
            return whole
    raise TypeError(layout)


def has_views(layout: ir.Layout) -> bool:
    """Do its sequences lie anywhere in others?"""
    match layout:
        case ir.PairLayout(first, second):
            return has_views(first) or has_views(second)
        case ir.SeqLayout(element, form):
            return form == "view" or has_views(element)
    return False


def scalar(value: Any, base: str) -> Any:
    """A Python scalar, whatever kind of scalar it is."""
    match wide(base):
        case "int":
            return int(value)
        case "float":
            return float(value)
        case "bool":
            return bool(value)
    return value if isinstance(value, str) else chr(value)


def nowhere() -> tuple[Ints, ...]:
    raise ValueError("what lies anywhere has no position")


def column_reader(layout: ir.Layout) -> ColumnReader:
    """What makes columns of so many values of this layout, which are at these positions."""
    match layout:
        case ir.ScalarLayout():
            return lambda held, count, around: beginning(next(held), count)
        case ir.PairLayout(first, second):
            one, other = column_reader(first), column_reader(second)
            return lambda held, count, around: (one(held, count, around), other(held, count, around))
        case ir.SeqLayout(element, form, lengths=formula):
            elements = column_reader(element)

    def views(held: Iterator[Any], count: int, around: Positions) -> Column:
        starts, lengths, size = next(held)[:count], next(held)[:count], int(next(held))
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return Nested(offsets, select(elements(held, size, nowhere), starts, lengths))

    def uniform(held: Iterator[Any], count: int, around: Positions) -> Column:
        length, size = int(next(held)), int(next(held))
        rows = Uniform(count, length, None)
        return rows.over(elements(held, size, lambda: positions_in(rows.offsets, around())))

    def dense(held: Iterator[Any], count: int, around: Positions) -> Column:
        offsets, size = next(held)[:count + 1], int(next(held))
        return Nested(offsets, elements(held, size, lambda: positions_in(offsets, around())))

    def closed(held: Iterator[Any], count: int, around: Positions) -> Column:
        assert formula is not None
        numbers, size = [int(next(held)) for _ in formula.names], int(next(held))
        computed = Computed(count, lambda: offsets_by(formula, numbers, around()), None)
        return computed.over(elements(held, size, lambda: positions_in(computed.offsets, around())))

    return {"view": views, "uniform": uniform}.get(form, dense if formula is None else closed)


def select(column: Column, starts: Array, lengths: Array) -> Column:
    """The runs of elements that begin at `starts` and have these lengths, one after another."""
    if len(starts) == 1:                          # one run: no copy
        return run_of(column, int(starts[0]), int(lengths[0]))
    return take(column, positions(starts, lengths))


def run_of(column: Column, start: int, length: int) -> Column:
    if isinstance(column, tuple):
        return run_of(column[0], start, length), run_of(column[1], start, length)
    if isinstance(column, Nested):
        if length == 0:
            return Nested(np.zeros(1, np.int64), run_of(column.content, 0, 0))
        offsets = column.offsets[start:start + length + 1]
        return Nested(offsets - offsets[0], run_of(column.content, int(offsets[0]), int(offsets[-1] - offsets[0])))
    return column[start:start + length]


def take(column: Column, indices: Array) -> Column:
    """The elements at the indices."""
    if isinstance(column, tuple):
        return take(column[0], indices), take(column[1], indices)
    if isinstance(column, Nested):
        starts, lengths = column.offsets[:-1][indices], np.diff(column.offsets)[indices]
        offsets = np.zeros(len(indices) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return Nested(offsets, take(column.content, positions(starts, lengths)))
    return column[indices]


def positions(starts: Array, lengths: Array) -> Array:
    """start, start+1, ... for each run, one after another."""
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths)
