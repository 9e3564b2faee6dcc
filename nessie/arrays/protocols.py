"""What NumPy's protocols and operators ask of arrays: each function is a body, or an operation of arrays."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from nessie.arrays import recorded
from nessie.arrays.bodies.outside import see
from nessie.arrays.bodies.reductions import BY_UFUNC, REDUCTIONS
from nessie.arrays.errors import at_call, caller
from nessie.arrays.nodes import Node
from nessie.arrays.operators import OF_ELEMENTS, OF_THREE, seen
from nessie.base.source import NessieError

OPERATORS = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
             "mod": "remainder", "pow": "power", "lshift": "left_shift", "rshift": "right_shift",
             "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
COMPARISONS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
               "ge": "greater_equal"}
SIGNS = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


def elementwise(function: str, operands: Sequence[Any]) -> Any:
    """Return the body of the operands' elements at the same place."""
    from nessie.arrays.array import Array
    return Array(element(function, operands))


def element(function: str, operands: Sequence[Any]) -> Node:
    """The same, as a node."""
    with at_call():
        by = caller()
        try:
            return recorded.combined(function, operands, seen(function).called_by(by), False)
        except NessieError as error:
            if place := by.span:
                error.places = ((place, ""),)
            raise


def add_operators(kind: type) -> None:
    """Give the class Python's operators."""
    def binary(function: str, swapped: bool) -> Callable[[Any, Any], Any]:
        if swapped:
            return lambda self, other: kind(element(function, (other, self)))
        return lambda self, other: kind(element(function, (self, other)))

    def unary(function: str) -> Callable[[Any], Any]:
        return lambda self: kind(element(function, (self,)))
    for method, function in OPERATORS.items():
        setattr(kind, f"__{method}__", binary(function, False))
        setattr(kind, f"__r{method}__", binary(function, True))
    for method, function in COMPARISONS.items():
        setattr(kind, f"__{method}__", binary(function, False))
    for method, function in SIGNS.items():
        setattr(kind, f"__{method}__", unary(function))
    kind.__hash__ = object.__hash__         # type: ignore[assignment]


def of_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """Return what a ufunc of NumPy's is of arrays; NotImplemented where arrays have nothing for it."""
    name = ufunc.__name__
    asked = {key for key, value in settings.items() if value is not None and not (key == "where" and value is True)}
    if method == "__call__" and name in OF_ELEMENTS and not asked:
        return elementwise(name, inputs)
    if method in ("reduce", "accumulate") and asked <= {"axis"} and len(inputs) == 1:
        from nessie.arrays.array import asarray
        array, axis = asarray(inputs[0]), settings.get("axis", 0)
        if method == "reduce" and name in BY_UFUNC:
            return getattr(array, BY_UFUNC[name])(axis=axis)
        if method == "accumulate" and name == "add" and axis is not None:
            return array.cumsum(axis)
    if name == "matmul" and method == "__call__" and not asked:
        from nessie.arrays.axes import product
        with at_call():
            return product(*inputs)
    with at_call():
        raise NessieError(f"arrays have no np.{name}{'' if method == '__call__' else '.' + method} with these "
                          "arguments", hint="a.to_numpy() is NumPy's array")


def whole(method: str) -> Callable[..., Any]:
    """NumPy's reduction of a whole array, or along an axis."""
    def reduction(a: Any, axis: Any = None) -> Any:
        return getattr(a, method)(axis=axis)
    return reduction


def where(condition: Any, x: Any, y: Any) -> Any:
    from nessie.arrays.array import Array
    return Array(recorded.combined("where", (condition, x, y), see(OF_THREE["where"]), False))


def clip(a: Any, low: Any, high: Any) -> Any:
    from nessie.arrays.array import Array
    return Array(recorded.combined("clip", (a, low, high), see(OF_THREE["clip"]), False))


def array_equal(a: Any, b: Any) -> bool:
    """Have they one shape, and the same elements? This computes."""
    from nessie.arrays.array import asarray, evaluate
    one, other = asarray(a), asarray(b)
    if None in (*one.shape, *other.shape):
        evaluate(one, other)
    return one.shape == other.shape and bool(elementwise("equal", (one, other)).all())


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Any:
    from nessie.arrays.array import Array
    body = see(lambda x, y, most, least: x == y or (abs(x - y) <= least + most * abs(y) and abs(y) < math.inf))
    return Array(recorded.combined("isclose", (a, b, rtol, atol), body, False))


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """Are all elements close? This computes."""
    return bool(isclose(a, b, rtol, atol).all())


def dot(a: Any, b: Any) -> Any:
    return (a * b).sum()


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: whole("sum"), np.prod: whole("prod"), np.min: whole("min"), np.max: whole("max"), np.amin: whole("min"),
    np.amax: whole("max"), np.any: whole("any"), np.all: whole("all"), np.mean: whole("mean"),
    np.argmin: whole("argmin"), np.argmax: whole("argmax"), np.cumsum: whole("cumsum"), np.transpose: lambda a: a.T,
    np.sort: lambda a: a.sort(), np.ravel: lambda a: a.flatten(),
    np.where: where, np.clip: clip, np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim, np.size: lambda a: a.size,
    np.array_equal: array_equal, np.isclose: isclose, np.allclose: allclose,
    np.count_nonzero: lambda a: a.map(lambda x: 1 if x else 0).sum()}


def of_function(function: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
    """Return what a function of NumPy's is of arrays."""
    with at_call():
        if function in (np.dot, np.inner, np.vdot) and all([getattr(a, "ndim", 0) == 1 for a in arguments]):
            return dot(*arguments)
        found = FUNCTIONS.get(function)
        if found is not None:
            try:
                return found(*arguments, **named)
            except TypeError:               # arguments that it does not take
                pass
        raise NessieError(f"arrays have no np.{function.__name__} with these arguments",
                          hint="a.to_numpy() is NumPy's array")


def namespace() -> SimpleNamespace:
    """The array API's functions, by their names there."""
    from nessie.arrays import array
    standard = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "abs": "absolute",
                "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
                "bitwise_right_shift": "right_shift", "round": "rint"}
    names = {**{name: name for name in OF_ELEMENTS}, **standard}
    found: dict[str, Any] = {name: (lambda *operands, of=of: elementwise(of, operands)) for name, of in names.items()}
    found |= {name: whole(name) for name in REDUCTIONS}
    found |= {"pow": found["power"], "where": where, "clip": clip, "asarray": array.asarray, "sort": lambda a: a.sort(),
              "unique_values": lambda a: a.unique(), "cumulative_sum": lambda a: a.prefix_sum(),
              "int64": np.int64, "float64": np.float64, "bool": np.bool_, "pi": np.pi, "e": np.e, "inf": np.inf,
              "nan": np.nan}
    return SimpleNamespace(**found)


class Namespace:
    """The array API's functions, made when one is asked for."""

    def __getattr__(self, name: str) -> Any:
        found = vars(namespace())
        self.__dict__.update(found)
        if name not in found:
            raise AttributeError(f"arrays have no {name}")
        return found[name]


NAMESPACE = Namespace()
