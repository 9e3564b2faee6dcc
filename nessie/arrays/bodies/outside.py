"""What a Python function sees outside of itself, as that is when an array's operation is called.

Numbers and arrays are taken then, and become parameters: another value compiles nothing anew. Functions, modules and
classes stay what they are.
"""
from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from inspect import getattr_static, isasyncgenfunction, iscoroutinefunction
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, TypeVar, get_type_hints

import numpy as np

from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Items, Kind, rows_of, thin_axes
from nessie.arrays.bodies.source import written
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span
from nessie.base.system.forking import cached_property

T = TypeVar("T")

NUMBERS = (bool, int, float, np.generic)
VALUES = (*NUMBERS, np.ndarray)
MISSING = object()
MOST = 2 ** 63 - 1
BEYOND = "there are ints beyond 64 bits"
BEYOND_64 = "an int has 64 bits here: it is less than 2^63"
MASKED = "a masked array has elements that are none"
UNMASKED = "x.compressed() leaves them out, x.filled(0) replaces them"
FLOAT_HOLDS_IT = "float(n) and a.astype(float) hold them, rounded"


class Seen:
    """A function, and what it sees outside. `outer` has the names that it uses, with their values as of now;
    `parameters` are those that are given, the rest has its defaults; `values` become parameters, each with the text
    that names it: arrays to which somebody may write are copied; `attributes` are those of outer values that become
    none. An operator between arrays has a `caller` (nessie.arrays.errors), and its `place` is there instead of in its
    own text."""

    def __init__(self, function: FunctionType, count: int | None = None, known: dict[Any, Seen] | None = None) -> None:
        known = {} if known is None else known
        known[function] = self
        self.function, self.written = function, written(function)
        self.name = function.__name__ if function.__name__.isidentifier() else "lambda"
        self.place: Span | None = None
        self.caller: Any = None
        self.outer: dict[str, Any] = {}
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        for name in self.written.read:
            value = contents(cells[name]) if name in cells else function.__globals__.get(name, MISSING)
            if value is not MISSING:
                self.outer[name] = seen(of_numbers(value), known)
            elif hasattr(builtins, name):
                self.outer[name] = getattr(builtins, name)
        self.parameters, rest = defaulted(function, self.written.parameters, count)
        rest |= function.__kwdefaults__ or {}
        self.outer |= {name: seen(of_numbers(value), known) for name, value in rest.items()}
        outside = [*paths(self), *[(name, self.outer[name]) for name in rest]]
        self.values = [(text, unchanging(value)) for text, value in outside if is_value(value)]
        self.attributes = [(text, value) for text, value in outside if text not in self.outer and not is_value(value)]

    def span(self, node: ast.AST) -> Span:
        """Return the place of a part of the function."""
        return self.place or self.written.span(node)

    def called_by(self, caller: Any) -> Seen:
        """Return the same function, which sees no values outside, as an operator that this caller has written."""
        found: Seen = object.__new__(Seen)
        vars(found).update(vars(self), caller=caller, whole_key=self.whole_key, captured=[], arrays=())
        return found

    @cached_property
    def whole_key(self) -> Hashable:
        """What the code of the function depends on, and of those that it calls."""
        return self.key({})

    def key(self, numbers: dict[Seen, int]) -> Hashable:
        """Return what the function's code depends on; `numbers` has those that are in the key already."""
        if self in numbers:
            return numbers[self]
        numbers[self] = len(numbers)
        code = self.function.__code__               # one of another file may be equal
        return code, code.co_filename, len(self.parameters), tuple([
            (name, key_of(value, numbers)) for name, value in (*self.outer.items(), *self.attributes, *self.values)])

    def functions(self) -> list[Seen]:
        """The function and all that it calls, in an order that functions of one key have."""
        found = [self]
        for of in found:                    # which grows meanwhile
            for value in of.outer.values():
                if isinstance(value, Seen) and value not in found:
                    found.append(value)
        return found

    @cached_property
    def captured(self) -> list[tuple[Seen, str, Any]]:
        """The values that become parameters, of the functions that it calls, too: whose they are, the text that names
        them, and themselves."""
        return [(of, text, value) for of in self.functions() for text, value in of.values]

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """The nodes of parallel arrays among these values."""
        return tuple([value._nessie_node for _, _, value in self.captured if is_lazy(value)])


def see(function: Any, count: int | None = None) -> Seen:
    """Return the function with what it sees; raise NessieError for what is no Python function. `count`: how many
    arguments it is called with, if that is known; the others have their defaults."""
    if iscoroutinefunction(function) or isasyncgenfunction(function):
        raise NessieError(f"a body is computed at once, and {function.__name__} is an async function",
                          hint="def instead of async def")
    if not isinstance(function, FunctionType):
        raise NessieError(f"a body is a Python function, not {describe(function)}", hint=instead_of(function))
    found = Seen(function, count)
    for of, text, value in found.captured:
        place = of.span(of.written.tree), ""
        if beyond_64_bits(value):
            raise NessieError(f"{text}: {BEYOND}", place, hint=FLOAT_HOLDS_IT)
        if is_masked(value):
            raise NessieError(f"{text}: {MASKED}", place, hint=UNMASKED)
    return found


def instead_of(function: Any) -> str:
    """Return what users write instead of a function that has no text."""
    if isinstance(function, MethodType):
        return (f"lambda x: ... with what {function.__name__} computes; values of the object are taken from outside by "
                "names")
    if getattr(function, "__module__", "") == "_operator" and isinstance(function, BuiltinFunctionType):
        return "a lambda with the operator itself is a body: lambda x, y: x + y"
    return "a Python function of your own that computes the same can be a body"


def is_masked(value: Any) -> bool:
    """Is it a masked array? NumPy imports the module of these when somebody first uses it."""
    module = sys.modules.get("numpy.ma")
    return module is not None and isinstance(value, module.MaskedArray)


def beyond_64_bits(value: Any) -> bool:
    """Has it ints beyond 64 bits?"""
    if isinstance(value, np.ndarray):
        return value.dtype == np.uint64 and value.size > 0 and int(value.max()) > MOST
    return isinstance(value, int | np.integer) and not -MOST - 1 <= int(value) <= MOST


def defaulted(function: FunctionType, parameters: list[str], count: int | None) -> tuple[list[str], dict[str, Any]]:
    """Return the parameters that so many arguments are for, and the others with their defaults."""
    defaults = function.__defaults__ or ()
    if count is None or not len(parameters) - len(defaults) <= count < len(parameters):
        return parameters, {}
    rest = parameters[count:]
    return parameters[:count], dict(zip(rest, defaults[len(defaults) - len(rest):]))


def unchanging(value: Any) -> Any:
    """The value, which nobody changes any more: an array to which somebody may write is copied."""
    if not isinstance(value, np.ndarray) or not value.flags.writeable:
        return value
    copy = value.copy()
    copy.flags.writeable = False
    return copy


def of_numbers(value: Any) -> Any:
    """A list of numbers, or of rows of them, as an array, as it is now; any other value as it is."""
    if not isinstance(value, list) or not value:
        return value
    try:
        array = np.array(value)
    except ValueError:              # rows of several lengths
        return value
    if array.dtype.kind not in KINDS:
        return value
    array.flags.writeable = False
    return array


def describe(value: Any) -> str:
    name = getattr(value, "__name__", None)
    if isinstance(value, MethodType):
        return f"{name}, a method that holds its object"
    if callable(value) and name:
        return f"{name}, which is written in C"
    return f"a value of the class {type(value).__name__}"


def contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:              # it is set later
        return MISSING


def seen(value: Any, known: dict[Any, Seen]) -> Any:
    if isinstance(value, MethodType) or not isinstance(value, FunctionType) or value is replace:
        return value
    if value in known:
        return known[value]
    try:
        return Seen(value, None, known)
    except NessieError:             # nobody may call it
        return value


def paths(function: Seen) -> Iterator[tuple[str, Any]]:
    """Yield the names, and the attributes of names, that the function reads outside, with their values."""
    for text, node in function.written.outer_texts:
        value = static(function, node)
        if value is MISSING and isinstance(node, ast.Attribute):
            value = about(static(function, node.value), node.attr)
        if value is not MISSING:
            yield text, value


def static(function: Seen, node: ast.AST) -> Any:
    """Return the value that a name, or an attribute of one, has outside; MISSING if it has none."""
    match node:
        case ast.Name(id=name):
            return function.outer.get(name, MISSING)
        case ast.Attribute(value=inner, attr=attribute):
            value = static(function, inner)
            if value is MISSING or isinstance(value, Seen | np.ndarray) or is_lazy(value):
                return MISSING
            if not isinstance(value, ModuleType | type) and not hasattr(type(value), "__dict__"):
                return MISSING
            return of_numbers(getattr(value, attribute, MISSING))
    return MISSING


def about(value: Any, what: str) -> Any:
    """Return the shape, the size or the number of dimensions of an array from outside; MISSING of anything else."""
    if what not in ("shape", "size", "ndim") or not (isinstance(value, np.ndarray) or is_lazy(value)):
        return MISSING
    found = getattr(value, what)
    if what == "shape" and None in found:           # it is known when the array is computed
        found = value.evaluate().shape
    return found if what != "shape" else np.array(found, np.int64) if found else MISSING


def looked_up(table: Mapping[Any, T], value: Any, otherwise: T) -> T:
    """Return what the table has for a value from outside; `otherwise` for one that it has not, or that has no hash."""
    try:
        return table.get(value, otherwise)
    except TypeError:
        return otherwise


def is_lazy(value: Any) -> bool:
    """Is it a parallel array?"""
    return hasattr(type(value), "_nessie_node")


def is_value(value: Any) -> bool:
    """Is it a value that becomes a parameter?"""
    return isinstance(value, VALUES) or is_lazy(value)


def is_of_numbers(value: Any) -> bool:
    """Is it a tuple of numbers, which a body has as constants?"""
    return isinstance(value, tuple) and bool(value) and all([isinstance(one, bool | int | float) for one in value])


def kind_of(value: Any) -> Kind:
    """Return the kind of a value from outside; raise NessieError if bodies have none for it."""
    match value:
        case bool() | np.bool_():
            return BOOL
        case int() | np.integer():
            return INT
        case float() | np.floating():
            return FLOAT
        case np.ndarray() if value.ndim and value.dtype.kind in KINDS:
            return rows_of(KINDS[value.dtype.kind], value.ndim)
        case np.ndarray() if value.ndim and value.dtype.names:
            raise NessieError("an array of records is given as an argument, not seen from a body")
        case np.ndarray() if value.dtype.kind == "O":
            raise NessieError("an array of objects has no fixed width", hint="x.astype(int) and x.astype(float) have")
    raise NessieError(f"{describe(value)} is nothing that a body can compute with",
                      hint="numbers, truth values, and NumPy's arrays of them are")


KINDS = {"b": BOOL, "i": INT, "u": INT, "f": FLOAT}


def key_of(value: Any, numbers: dict[Seen, int]) -> Hashable:
    """Return what the compiled code depends on: the kind of what becomes a parameter; of an object the class, as its
    attributes have keys of their own; else the value itself."""
    if isinstance(value, Seen):
        return value.key(numbers)
    if is_lazy(value):
        shape = value._nessie_node.shape
        return value._nessie_node.kind, len(shape), thin_axes(shape)
    if isinstance(value, np.ndarray):
        return value.dtype.kind, value.ndim, thin_axes(value.shape)
    if is_value(value):
        return type(value).__name__
    if is_of_numbers(value):
        return tuple([(type(one).__name__, repr(one)) for one in value])
    return Same(value if callable(value) or isinstance(value, ModuleType | tuple) else type(value))


@dataclass(frozen=True, eq=False)
class Same:
    """A key that is equal to those of the very same object, which it keeps."""
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def names_of(kind: Any) -> tuple[str, ...]:
    """Return the attributes of a NamedTuple or a dataclass; none of another class."""
    return tuple(getattr(kind, "_fields", ()) or getattr(kind, "__dataclass_fields__", ()))


def record_of(kind: type) -> Items | None:
    """Return the kind of a NamedTuple or a dataclass whose attributes are annotated as numbers, or as such classes;
    None for others."""
    hints: dict[Any, Kind] = {INT: INT, FLOAT: FLOAT, BOOL: BOOL, int: INT, float: FLOAT, bool: BOOL}
    names = names_of(kind)
    if not names:
        return None
    try:
        annotations = get_type_hints(kind)
    except Exception:               # they name what is not there
        annotations = getattr(kind, "__annotations__", {})
    kinds: list[Kind] = []
    for name in names:
        of = annotations.get(name)
        found = record_of(of) if isinstance(of, type) and of not in hints else looked_up(hints, of, None)
        if found is None:
            return None
        kinds.append(found)
    return Items(tuple(kinds), tuple(names), kind)


def method_of(kind: Any, name: str) -> Seen | None:
    """Return a method or a property of a class of records; None if it has none of this name that is written in
    Python."""
    found = getattr_static(kind, name, None)         # a static method is one no more, otherwise
    function = found.fget if isinstance(found, property) else found
    return Seen(function) if isinstance(function, FunctionType) else None
