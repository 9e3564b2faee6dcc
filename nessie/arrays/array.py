"""nessie.array: an array whose operations are recorded, and compiled together when somebody asks for a value."""
from __future__ import annotations

import html
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numpy as np

from nessie.api.options import check_bits
from nessie.api.values import tables
from nessie.api.values.awkward_arrays import as_awkward
from nessie.api.values.sequences import Tuples, on_host
from nessie.arrays import devices, nodes, operations, operators, protocols, recorded, running, values
from nessie.arrays.bodies.kinds import FLOAT, Items, shown
from nessie.arrays.bodies.outside import describe, see
from nessie.arrays.checks import one_dimension
from nessie.arrays.errors import at_call
from nessie.base.source import NessieError

Width = Literal[32, 64]
NEVER_CHANGES = "an array never changes"
Axis = int | tuple[int, ...] | None


class Array:
    """An array of numbers, truth values, tuples or rows, or an expression of such arrays. It never changes. Operations
    are recorded; conversion (`to_numpy`, `np.asarray`, `a[i]`, iteration, `float`) computes, and keeps the result."""

    __slots__ = ("__weakref__", "_nessie_node")         # by the latter, others know an array

    def __init__(self, node: nodes.Node) -> None:
        self._nessie_node = node

    # What it is ---------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Its lengths. One that is not known before the array is computed is None."""
        return self._nessie_node.shape

    @property
    def ndim(self) -> int:
        return len(self._nessie_node.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its elements; of tuples, the one of records; of rows, that of their elements."""
        return recorded.dtype_of(self._nessie_node)

    @property
    def size(self) -> int:
        total = 1
        for length in self._known_shape():
            total *= length
        return total

    def _known_shape(self) -> tuple[int, ...]:
        if None in self.shape:
            self.evaluate()
        return tuple([length for length in self.shape if length is not None])

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("this is one value, which has no length")
        return self._known_shape()[0]

    def __repr__(self) -> str:
        node = self._nessie_node
        lengths = " × ".join(["?" if n is None else f"{n:,}" for n in self.shape]) or "one value"
        state = " (computed)" if node.computed else ""
        return f"<nessie.Array {lengths} of {shown(node.kind)}{state}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the elements at either end of a computed array; of another, what it will be."""
        told = f"<p>{html.escape(repr(self))}</p>"
        return f"{tables.as_html(self._fetched())}{told}" if self._nessie_node.operation is None and self.ndim else told

    # Values -------------------------------------------------------------------------------------

    def evaluate(self, target: str | None = None, float: Width = 64) -> Array:
        """Compute the array on a target, that of its device unless another is given, and keep its value. `float`: the
        bits of floats, 32 or 64, of what is computed for it."""
        with at_call():
            check_bits("float", float)
            if self._nessie_node.operation is not None:
                running.evaluate([self._nessie_node], target, floats=float)
        return self

    def keep(self) -> Array:
        """Compute the array now: what is made of it goes on from its value."""
        return self.evaluate()

    def to_numpy(self) -> Any:
        """NumPy's array of the values, which is read-only; of rows of any lengths, nessie.Nested; a number."""
        value, kind = self._fetched(), self._nessie_node.kind
        return values.records(value, kind) if isinstance(value, Tuples) and isinstance(kind, Items) else value

    def _fetched(self) -> Any:
        node = self.evaluate()._nessie_node
        if node.device not in ("", devices.HOST) and values.is_of_others(node.value):   # Nessie reads its own
            node = self.map(lambda x: x).evaluate()._nessie_node
        return values.fetched(node)

    @property
    def device(self) -> str:
        """Where it lies, or will lie when it is computed: 'cpu', 'cuda', 'cudasim'."""
        with at_call():
            return devices.device_of(nodes.in_order((self._nessie_node,))) or devices.HOST

    def to_device(self, device: str) -> Array:
        """The array in this device's memory; itself, if it lies there. What is made of it is computed there, and stays
        there."""
        with at_call():
            if devices.device(device) == self.device:
                return self
            node = self.evaluate()._nessie_node
            if not node.shape:                      # one value lies everywhere
                return self
            here = Array(nodes.leaf(node.shape, node.kind, self._fetched(), device))
            if device != devices.HOST:
                here = here.map(lambda x: x)
                running.evaluate([here._nessie_node], device, stay=True)
            return here

    # Other libraries ----------------------------------------------------------------------------

    __array_priority__ = 1000.0         # NumPy's arrays leave operators to it

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        """NumPy's functions of elements, and `np.add.reduce` and the like."""
        return protocols.of_ufunc(ufunc, method, inputs, settings)

    def __array_function__(self, function: Any, types: Any, arguments: Any, named: Any) -> Any:
        """NumPy's functions of arrays that arrays have: np.sum, np.where, np.sort and a few more."""
        return protocols.of_function(function, arguments, named)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The functions of the array API's standard that arrays have."""
        return protocols.NAMESPACE

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The description of an array on a GPU, for libraries that use it there."""
        if self.device == devices.HOST:
            raise AttributeError("this array lies in the computer's memory")
        found: dict[str, Any] = self.evaluate()._nessie_node.value.__cuda_array_interface__
        return found

    def __dlpack__(self, **settings: Any) -> Any:
        return np.array(self.to_numpy()).__dlpack__(**settings)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0                     # the computer's own memory

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        found = np.asarray(self.to_numpy(), dtype)
        return found.copy() if copy else found

    def to_pandas(self) -> Any:
        """pandas' Series of its elements, or the DataFrame of tuples or of a matrix."""
        with at_call():
            return tables.to_pandas(self._fetched() if self.ndim else [self.item()])

    def to_arrow(self) -> Any:
        """Arrow's array over the same memory, as far as Arrow has the same layout: truth values are copied."""
        with at_call():
            return tables.to_arrow(self._fetched())

    def to_awkward(self) -> Any:
        """Awkward's array over the same memory."""
        with at_call():
            return as_awkward(self._fetched())

    def __reduce__(self) -> Any:
        """Pickles keep the values."""
        return array, (self._fetched(),)

    def tolist(self) -> Any:
        """Lists of Python's numbers."""
        value = self._fetched()
        if hasattr(value, "to_list"):
            return value.to_list()
        return value.tolist() if isinstance(value, np.ndarray) else value

    def item(self) -> Any:
        """The one value."""
        value = self._fetched()
        return value.item() if isinstance(value, np.ndarray) else value

    def __getitem__(self, index: Any) -> Any:
        """NumPy's element or part, of the computed array."""
        value = self._fetched()
        if not self.ndim:
            raise TypeError("this is one value, which has no elements")
        with at_call():
            if (found := parts.part(self, value, index)) is not None:
                return found
        return value[tuple(map(_plain, index)) if isinstance(index, tuple) else _plain(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        with at_call():
            raise NessieError(NEVER_CHANGES, hint="a.map(lambda x, i: ..., with_index=True) makes another; "
                                                           "to_numpy().copy() can be written to")

    def __delitem__(self, index: Any) -> None:
        with at_call():
            raise NessieError(NEVER_CHANGES, hint="a.select(lambda x: ...) leaves elements out")

    def __iter__(self) -> Iterator[Any]:
        value = self._fetched()
        if not self.ndim:
            raise TypeError("this is one value, which cannot be gone through")
        return iter(value)

    def __bool__(self) -> bool:
        with at_call():
            if self.ndim:
                raise NessieError("an array of elements is neither true nor false", hint="a.any() and a.all() are")
            return bool(self.item())

    def __float__(self) -> float:
        return float(self._one())

    def __int__(self) -> int:
        return int(self._one())

    def __index__(self) -> int:
        return operator.index(self._one())

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._one(), digits)

    def __format__(self, how: str) -> str:
        return format(self._one(), how) if how else str(self)

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def _one(self) -> Any:
        with at_call():
            if self.ndim and self.size != 1:
                raise NessieError("an array of elements is no number", hint="a.sum() and the like reduce it to one")
            return self.item()

    # Operations with bodies ---------------------------------------------------------------------

    def map(self, function: Callable[..., Any], *, with_index: bool = False, dtype: Any = None) -> Array:
        """What the function makes of each element, and of its place `with_index`: an int, or a tuple of ints. `dtype`:
        that of the result, as astype makes it."""
        return self.combine(function, with_index=with_index, dtype=dtype)

    def combine(self, *others: Any, with_index: bool = False, dtype: Any = None) -> Array:
        """What the function, which comes last, makes of the elements at the same place of this array and the others."""
        *arrays, function = others
        with at_call():
            body = operators.body_of(function, len(arrays) + 1 + with_index)
            made = recorded.combined("combine", [self, *arrays], body, with_index)
            return Array(made if dtype is None else recorded.narrower(made, dtype))

    def astype(self, dtype: Any) -> Array:
        """The elements in this dtype. A narrow one takes as much memory as it says, and is computed before what is made
        of it; an int beyond its range is an error. Floats become ints by leaving out what is behind the point."""
        with at_call():
            node = recorded.narrower(self._nessie_node, dtype, converts=True)
            return self if node is self._nessie_node else Array(node)

    def zip(self, *others: Any) -> Array:
        """Tuples of the elements at the same place."""
        with at_call():
            return Array(recorded.zipped([self, *others]))

    def stencil(self, offsets: Any, outside: Any, function: Callable[..., Any], *, with_index: bool = False,
                dtype: Any = None) -> Array:
        """What the function makes of the neighbours of each element, which lie at the offsets: v[-1], or v[0, 1] of two
        dimensions. It takes them as one, or as so many parameters. Where one of them is no element of the array, the
        result is `outside`."""
        with at_call():
            made = recorded.stencil(self._nessie_node, offsets, outside, see(function), with_index)
            return Array(made if dtype is None else recorded.narrower(made, dtype))

    def reduce(self, function: Callable[..., Any], identity: Any = None) -> Array:
        """All elements reduced to one by an associative function: operator.add, max, a lambda of two. Of no elements,
        the identity."""
        with at_call():
            return Array(recorded.reduced(self._nessie_node, function, identity))

    def select(self, function: Callable[..., Any]) -> Array:
        """The elements of which the function is true, in order."""
        with at_call():
            return Array(recorded.selected(self._nessie_node, function))

    def scan(self, function: Callable[..., Any], identity: Any) -> Array:
        """Each element combined with all before it, by an associative function with this identity."""
        with at_call():
            return Array(recorded.scanned(self._nessie_node, function, identity))

    def prefix_sum(self) -> Array:
        """The sum of each element and all before it."""
        node = self._nessie_node
        zero = 0.0 if node.kind == FLOAT else 0
        return self.scan(operators.BINARY["add"], zero)

    def sort(self, key: Callable[..., Any] | None = None) -> Array:
        """The elements in ascending order, or in that of what the function makes of them; equal ones stay in order."""
        with at_call():
            return Array(recorded.ordered(self._nessie_node, key))

    def unique(self) -> Array:
        """The first of each set of equal elements, in order."""
        with at_call():
            node = one_dimension("unique", self._nessie_node)
            return Array(nodes.Node((None,), node.kind, nodes.Changed(node, "unique")))

    def argsort(self) -> Array:
        """The places of the elements in ascending order; of equal ones, in theirs."""
        with at_call():
            placed: Array = composed.argsort(self)
            return placed

    def group_by(self, keys: Any, minlength: int = 0) -> Array:
        """Rows, one for each key from 0 to the greatest: the elements at whose place the key is, in order. There are
        `minlength` rows at least."""
        with at_call():
            return composed.by_keys("group_by", keys, self, minlength)

    def flatten(self) -> Array:
        """All elements in one dimension; of rows, all their elements."""
        node = recorded.flattened(self._nessie_node)
        return self if node is self._nessie_node else Array(node)

    # What the compiler makes ----------------------------------------------------------------------

    def explain(self, target: str | None = None, everything: bool = False, float: Width = 64) -> Any:
        """What is fused and what is not, why, and at what cost, as `nessie explain` tells it."""
        function, given, device = self._function("explain", float)
        return function.explain(*given, target=target or device, everything=everything)

    def graph(self, target: str | None = None, float: Width = 64) -> Any:
        """The dependence graph of the expression, with the nodes that share a kernel."""
        function, given, device = self._function("graph", float)
        return function.graph(*given, target=target or device)

    def kernels(self, target: str | None = None, float: Width = 64) -> Any:
        """The fused kernels, and the code around them."""
        function, given, device = self._function("kernels", float)
        return function.kernels(*given, target=target or device)

    def stages(self, target: str | None = None, float: Width = 64) -> Any:
        """The expression as a NESL program, and after each stage of the compiler."""
        function, given, device = self._function("stages", float)
        return function.stages(*given, target=target or device)

    def _function(self, what: str, floats: int) -> tuple[Any, list[Any], str]:
        """What computes the array, what that takes, in the computer's memory, and the target of its device."""
        with at_call():
            if self._nessie_node.operation is None:
                raise NessieError(f"{what}: this array is computed, and there is no expression left",
                                  hint="ask before it is converted or evaluated")
            running.settle(nodes.in_order([self._wide]), floats=floats)
            function, given = running.function_of([self._wide], floats)
            device = self.device
            return function, given if device == devices.HOST else [on_host(one) for one in given], device

    @property
    def _wide(self) -> nodes.Node:
        """What an expression computes, before it is narrowed."""
        operation = self._nessie_node.operation
        return operation.of if isinstance(operation, nodes.Narrowed) else self._nessie_node

    # Reductions ---------------------------------------------------------------------------------

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Array:
        return self._reduced("sum", axis, keepdims)

    def prod(self, axis: Axis = None, keepdims: bool = False) -> Array:
        return self._reduced("prod", axis, keepdims)

    def min(self, axis: Axis = None, keepdims: bool = False) -> Array:
        return self._reduced("min", axis, keepdims)

    def max(self, axis: Axis = None, keepdims: bool = False) -> Array:
        return self._reduced("max", axis, keepdims)

    def any(self, axis: Axis = None, keepdims: bool = False) -> Array:
        return self._reduced("any", axis, keepdims)

    def all(self, axis: Axis = None, keepdims: bool = False) -> Array:
        return self._reduced("all", axis, keepdims)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Array:
        return self._reduced("mean", axis, keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Array:
        return self._reduced("argmin", axis, keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Array:
        return self._reduced("argmax", axis, keepdims)

    def median(self, axis: Axis = None, keepdims: bool = False) -> Array:
        return self._reduced("median", axis, keepdims)

    def var(self, axis: Axis = None, ddof: float = 0, keepdims: bool = False) -> Array:
        """The variance: the mean of the squares of distances from the mean. `ddof`: how many fewer they count as."""
        with at_call():
            return axes.spread(self, "var", axis, ddof, keepdims)

    def std(self, axis: Axis = None, ddof: float = 0, keepdims: bool = False) -> Array:
        """The standard deviation, the root of the variance."""
        with at_call():
            return axes.spread(self, "std", axis, ddof, keepdims)

    def cumsum(self, axis: int | None = None) -> Array:
        """Running sums along an axis, or of all elements in order."""
        with at_call():
            return axes.running_sum(self, axis)

    def _reduced(self, how: str, axis: Axis, keepdims: bool) -> Array:
        with at_call():
            return axes.reduction(self, how, axis, keepdims)

    # Numbers ------------------------------------------------------------------------------------

    def clip(self, min: Any = None, max: Any = None) -> Array:
        """The elements, none of them less or greater than these: numbers, or arrays of them."""
        clipped: Array = protocols.clip(self, min, max)
        return clipped

    def round(self, decimals: int = 0) -> Array:
        """The elements with so many digits behind the point; a half becomes even."""
        rounded: Array = protocols.rounded(self, decimals)
        return rounded

    # Shapes -------------------------------------------------------------------------------------

    def reshape(self, *shape: Any) -> Array:
        """The same elements in order, in another shape; -1 is the length that the others leave."""
        with at_call():
            return reshaping.reshaped(self, shape)

    def ravel(self) -> Array:
        """All elements in one dimension."""
        return self.reshape(-1)

    def squeeze(self, axis: Axis = None) -> Array:
        """The array without these axes, which have length 1; without all such axes, if none is given."""
        with at_call():
            return reshaping.squeezed(self, axis)

    def transpose(self, *axes: Any) -> Array:
        """The array with its axes in this order; in the opposite one, if none is given."""
        with at_call():
            return reshaping.ordered(self, axes)

    def swapaxes(self, first: int, second: int) -> Array:
        with at_call():
            return reshaping.exchanged(self, first, second)

    @property
    def T(self) -> Array:
        """The array with its axes in the opposite order."""
        return self.transpose()

    # Matrices -----------------------------------------------------------------------------------

    def dot(self, other: Any) -> Any:
        """The product of vectors and matrices; with a number, of each element."""
        with at_call():
            return composed.dot(self, other)

    def __matmul__(self, other: Any) -> Array:
        with at_call():
            return products.product(self, other)

    def __rmatmul__(self, other: Any) -> Array:
        with at_call():
            return products.product(other, self)


def _plain(index: Any) -> Any:
    """What NumPy takes as an index: of an array, its values. One of one element would be taken for an int."""
    return index.to_numpy() if isinstance(index, Array) else index


# Making arrays ----------------------------------------------------------------------------------


def array(value: Any, device: str | None = None) -> Array:
    """An array with a copy of these elements: NumPy's array, of numbers, truth values or records, nested lists, an
    array on a GPU. It lies where the value does, or on a device (`to_device`)."""
    return made(value, True, device)


def asarray(value: Any, device: str | None = None) -> Array:
    """As `array`, but the arrays of NumPy and on a GPU are not copied: who writes to them changes what is not computed
    yet."""
    return made(value, False, device)


def made(value: Any, copy: bool, device: str | None) -> Array:
    with at_call():
        if isinstance(value, Array):
            found = value
        else:
            leaf = values.leaf(value, copy)
            found = Array(recorded.checked(leaf))
            if leaf.device == devices.GPU:
                leaf.device = devices.device(device) if device not in (None, devices.HOST) else devices.GPU
                found = found.map(lambda x: x).evaluate() if copy else found
        return found if device is None else found.to_device(device)


def nest(rows: Any, device: str | None = None) -> Array:
    """An array whose elements are rows of any lengths: lists of lists, of arrays, nessie.Nested, an Awkward array. It
    lies in the computer's memory: no other `device` has such rows."""
    with at_call():
        if devices.device(device or devices.HOST) != devices.HOST:
            raise NessieError(f"rows of any lengths lie in the computer's memory, and not on {device}",
                              hint="evaluate(target) computes on a GPU what is made of them")
        return Array(values.nested(rows))


def pnew(shape: int | Iterable[int], function: Callable[..., Any], *, dtype: Any = None,
         device: str | None = None) -> Array:
    """The array of this shape whose elements the function makes of their places: ints, or tuples of ints. It is
    computed, and stays, on a device if one is given."""
    with at_call():
        lengths = operations.ints("a shape", shape)
        if not 1 <= len(lengths) <= recorded.MOST_DIMENSIONS or min(lengths) < 0:
            raise NessieError(f"the shape {lengths} is that of no array",
                              hint=f"an array has 1 to {recorded.MOST_DIMENSIONS} dimensions, none negative")
        if math.prod(lengths) > recorded.MOST_ELEMENTS:
            raise NessieError(f"the shape {lengths} has more elements than there can be, {recorded.MOST_ELEMENTS:,}",
                              hint="several arrays, one after another, have parts of them")
        made = recorded.combined("pnew", [recorded.index_of(lengths, device)], operators.body_of(function, 1), False)
        return Array(made if dtype is None else recorded.narrower(made, dtype))


def evaluate(*arrays: Array, target: str | None = None, float: Width = 64) -> tuple[Array, ...]:
    """Compute several arrays in one pass, on a target, that of their device unless another is given. `float`: the bits
    of floats, 32 or 64."""
    with at_call():
        check_bits("float", float)
        for one in arrays:
            if not isinstance(one, Array):
                raise NessieError(f"evaluate takes arrays, and this is {describe(one)}",
                                  hint="evaluate(a, b) computes both, on a target that is given by name")
        running.evaluate([one._nessie_node for one in arrays], target, floats=float)
    return arrays


protocols.add_operators(Array)

from nessie.arrays import composed  # noqa: E402      what follows makes arrays
from nessie.arrays.shapes import axes, parts, products, reshaping  # noqa: E402      they make arrays

protocols.FUNCTIONS |= composed.FUNCTIONS
