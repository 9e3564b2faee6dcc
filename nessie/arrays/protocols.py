"""What NumPy's protocols and operators ask of arrays: each function is a body, or an operation of arrays."""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from nessie.arrays import recorded
from nessie.arrays.bodies.expressions.reductions import BY_UFUNC, REDUCTIONS
from nessie.arrays.bodies.kinds import FLOAT, INT, Kind, Rows
from nessie.arrays.bodies.outside import see
from nessie.arrays.errors import at_call, caller
from nessie.arrays.nodes import Node
from nessie.arrays.operators import OF_ELEMENTS, OF_THREE, ROUNDED, seen
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
            return recorded.elementwise(function, operands, seen(function).called_by(by))
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
    if method in ("reduce", "accumulate") and asked <= {"axis", "keepdims"} and len(inputs) == 1:
        from nessie.arrays.array import asarray
        array, axis = asarray(inputs[0]), settings.get("axis", 0)
        if method == "reduce" and name in BY_UFUNC:
            return getattr(array, BY_UFUNC[name])(axis=axis, keepdims=bool(settings.get("keepdims")))
        if method == "accumulate" and name == "add" and axis is not None:
            return array.cumsum(axis)
    if name == "matmul" and method == "__call__" and not asked:
        with at_call():
            return product(*inputs)
    with at_call():
        raise NessieError(f"arrays have no np.{name}{'' if method == '__call__' else '.' + method} with these "
                          "arguments", hint="a.to_numpy() is NumPy's array")


def whole(method: str) -> Callable[..., Any]:
    """NumPy's reduction of a whole array, or along an axis."""
    def reduction(a: Any, axis: Any = None, **more: Any) -> Any:
        if more.keys() - {"keepdims", "ddof"}:
            raise TypeError(more)
        return getattr(a, method)(axis=axis, **more)
    return reduction


def of_body(what: str, body: Callable[..., Any], *operands: Any) -> Any:
    """Return what the body makes of the operands' elements at the same place; of ragged rows, of theirs."""
    from nessie.arrays.array import Array
    with at_call():
        return Array(recorded.elementwise(what, operands, see(body)))


def where(condition: Any, x: Any, y: Any) -> Any:
    return of_body("where", OF_THREE["where"], condition, x, y)


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """The elements, none less or greater than these."""
    least, most = min if a_min is None else a_min, max if a_max is None else a_max
    if least is None or most is None:
        of = "maximum" if most is None else "minimum"
        return a if least is most else elementwise(of, (a, least if most is None else most))
    return of_body("clip", OF_THREE["clip"], a, least, most)


def rounded(a: Any, decimals: int = 0) -> Any:
    """The elements with so many digits behind the point."""
    with at_call():
        try:
            digits = operator.index(decimals)
        except TypeError:
            raise NessieError(f"decimals are an int, and this is {decimals!r}") from None
    power, whole = 10.0 ** abs(digits), deepest(a._nessie_node.kind) != FLOAT
    if whole and digits >= 0:
        return a if deepest(a._nessie_node.kind) == INT else of_body("round", lambda x: int(x), a)
    if digits == 0:
        return elementwise("rint", (a,))
    return of_body("round", ROUNDED[not whole, digits > 0], a, power)


def deepest(kind: Kind) -> Kind:
    """Return the kind of the elements; of ragged rows, of theirs."""
    return deepest(kind.element) if isinstance(kind, Rows) else kind


def array_equal(a: Any, b: Any) -> bool:
    """Have they one shape, and the same elements? This computes."""
    from nessie.arrays.array import asarray, evaluate
    one, other = asarray(a), asarray(b)
    if None in (*one.shape, *other.shape):
        evaluate(one, other)
    kinds = one._nessie_node.kind, other._nessie_node.kind
    if one.shape != other.shape or isinstance(kinds[0], Rows) != isinstance(kinds[1], Rows):
        return False
    if isinstance(kinds[0], Rows):
        lengths = [each.map(lambda row: len(row)) for each in (one, other)]
        return array_equal(*lengths) and array_equal(one.flatten(), other.flatten())
    return bool(elementwise("equal", (one, other)).all())


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return of_body("isclose", lambda x, y, most, least, nan: x == y or (nan and x != x and y != y) or (
        abs(x - y) <= least + most * abs(y) and abs(y) < math.inf), a, b, rtol, atol, equal_nan)


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Are all elements close? This computes."""
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


def product(a: Any, b: Any) -> Any:
    """The product of vectors and matrices."""
    from nessie.arrays.shapes import products
    return products.product(a, b)


def joining(how: str) -> Callable[..., Any]:
    """What makes one array of several."""
    def of_several(given: Any, axis: Any = 0) -> Any:
        from nessie.arrays.shapes import joining
        return getattr(joining, how)(given, axis)
    return of_several


def shaping(how: str) -> Callable[..., Any]:
    """What gives an array other axes."""
    def of_array(a: Any, *given: Any, **named: Any) -> Any:
        from nessie.arrays.shapes import reshaping
        return getattr(reshaping, how)(a, *given, **named)
    return of_array


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{function: whole(row.name) for row in REDUCTIONS.values() for function in row.functions
       if type(function).__module__ != "builtins" or getattr(function, "__module__", "") == "numpy"},
    np.amin: whole("min"), np.amax: whole("max"), np.cumsum: lambda a, axis=None: a.cumsum(axis),
    np.ravel: lambda a: a.reshape(-1),
    np.where: where, np.clip: clip, np.round: rounded, np.around: rounded,
    np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim, np.size: lambda a: a.size,
    np.array_equal: array_equal, np.isclose: isclose, np.allclose: allclose,
    np.count_nonzero: lambda a, axis=None: of_body("count_nonzero", lambda x: 1 if x else 0, a).sum(axis=axis),
    np.concatenate: joining("concatenated"), np.stack: joining("stacked"),
    np.reshape: lambda a, shape: a.reshape(shape), np.squeeze: shaping("squeezed"),
    np.expand_dims: shaping("expanded"), np.moveaxis: shaping("moved"), np.swapaxes: shaping("exchanged"),
    np.transpose: lambda a, axes=None: a.transpose(axes)}

PRODUCTS = {np.dot: {1, 2}, np.inner: {1}, np.vdot: {1}}          # of so many dimensions


def of_function(function: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
    """Return what a function of NumPy's is of arrays."""
    with at_call():
        if function in PRODUCTS and not named and {np.ndim(a) for a in arguments} <= PRODUCTS[function]:
            return product(*arguments)
        found = FUNCTIONS.get(function)
        if found is not None:
            try:
                return found(*arguments, **named)
            except TypeError:               # arguments that it does not take
                pass
        module = "np" + (function.__module__ or "").removeprefix("numpy")
        raise NessieError(f"arrays have no {module}.{function.__name__} with these arguments",
                          hint="a.to_numpy() is NumPy's array")


def namespace() -> SimpleNamespace:
    """The array API's functions, by their names there."""
    from nessie.arrays import array
    standard = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "abs": "absolute",
                "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
                "bitwise_right_shift": "right_shift"}
    names = {**{name: name for name in OF_ELEMENTS}, **standard}
    found: dict[str, Any] = {name: (lambda *operands, of=of: elementwise(of, operands)) for name, of in names.items()}
    found |= {name: whole(name) for name in REDUCTIONS}
    found |= {"concat": joining("concatenated"), "stack": joining("stacked"), "round": rounded,
              "reshape": lambda a, shape: a.reshape(shape), "squeeze": shaping("squeezed"),
              "expand_dims": shaping("expanded"), "moveaxis": shaping("moved"),
              "permute_dims": lambda a, axes: a.transpose(axes)}
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
