"""Host sections as Python's functions: compiled for the kinds of their arguments, kept, and called."""
from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from inspect import BoundArguments, Parameter, signature
from threading import RLock
from typing import Any, overload

import numpy as np

from nessie.api.options import check_bits
from nessie.api.program import Program
from nessie.arrays import nodes, values
from nessie.arrays.array import Array, Width, asarray
from nessie.arrays.bodies.functions import MadeFunction
from nessie.arrays.bodies.kinds import Grid, Items, Kind, Union, thin_axes
from nessie.arrays.bodies.outside import NUMBERS, Seen, is_lazy, kind_of, see, static
from nessie.arrays.bodies.trees import name, pattern, typed
from nessie.arrays.checks import prepared
from nessie.arrays.devices import HOST, device_of, left_on, target_of
from nessie.arrays.errors import at_call, told
from nessie.arrays.operations import Offset, offsets_of
from nessie.arrays.running import program_of
from nessie.arrays.sections.empties import by_python, forgets_lengths
from nessie.arrays.sections.methods import Section
from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.syntax import nodes as syntax

ENTRY = "section"


@dataclass(frozen=True)
class Compiled:
    """A section's program. `offsets`: those of stencils that it has seen outside, which are compiled in."""
    program: Program
    function: MadeFunction
    offsets: tuple[tuple[int, ast.expr, list[Offset]], ...]

    def has_offsets_of(self, seen: Seen) -> bool:
        """Are the offsets still what the function, and those that it calls, see outside? Each has its place among
        them."""
        functions = seen.functions() if self.offsets else []
        return all([offsets_of(static(functions[of], node), len(found[0])) == found
                    for of, node, found in self.offsets])


class HostSection:
    """A Python function of arrays and numbers that is compiled whole, for the kinds of its arguments."""

    def __init__(self, function: Callable[..., Any], floats: int = 64) -> None:
        self.function, self.floats = function, floats
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.signature = signature(function)
        self.kept: dict[Hashable, Compiled] = {}
        self.lock = RLock()

    def __call__(self, *arguments: Any, target: str | None = None, **named: Any) -> Any:
        bound = self.signature.bind(*arguments, **named)     # raises Python's own error
        with at_call():
            seen, arguments = self.given(bound)
            given = [argument if isinstance(argument, NUMBERS) else asarray(argument).evaluate()
                     for argument in arguments]
            kinds = tuple([grid_of(one) for one in given])
            compiled = self.compiled(seen, kinds)
            outside = [value for _, _, value in seen.captured]
            if any([forgets_lengths(one) for one in (*given, *outside)]):
                return by_python(self.function, given, compiled.function.gives, grid_of, target, self.floats)
            arrays = [one._nessie_node for one in (*given, *outside) if isinstance(one, Array)]
            target, stays = target_of(device_of(nodes.in_order(arrays)), target)
            flat = [plain(one) for one in (*given, *outside)]
            with told(lambda span: span):
                value = compiled.program._call(ENTRY, flat, {}, target, stay=stays)
            return converted(value, compiled.function.gives, target if stays else HOST)

    def given(self, bound: BoundArguments) -> tuple[Seen, tuple[Any, ...]]:
        """The function, and its arguments with their defaults. Functions that are defaults are no arguments: the
        function sees them."""
        for name_ in bound.kwargs:
            if self.signature.parameters[name_].kind == Parameter.KEYWORD_ONLY:
                raise NessieError(f"arguments are given in order here, and {name_} is given by name only")
        explicit = set(bound.arguments)
        bound.apply_defaults()
        taken = list(zip(self.signature.parameters, bound.args))
        while taken and callable(taken[-1][1]) and taken[-1][0] not in explicit:
            taken.pop()
        for name_, value in taken:
            if callable(value):
                raise NessieError(f"a section takes arrays and numbers, and {name_} is a function",
                                  hint="it sees functions by their names, and as defaults of its last parameters")
        return see(self.function, len(taken)), tuple([value for _, value in taken])

    def compiled(self, seen: Seen, kinds: tuple[Kind, ...]) -> Compiled:
        key = seen.whole_key, kinds
        with self.lock:
            if key not in self.kept or not self.kept[key].has_offsets_of(seen):
                module = prepared(seen, lambda value, of, text: grid_of(value), Section)
                function = module.function(seen, kinds)
                module.settle()
                parameters = [module.fresh("a") for _ in kinds]
                passed = module.passed(seen)
                body = function.called([name(parameter) for parameter in parameters])
                entry = syntax.FunctionDef(ENTRY, pattern([*parameters, *passed]),
                                           typed([*kinds, *passed.values()], function.gives), None, body)
                program = program_of(lambda: [*module.functions, entry], self.floats)
                functions = seen.functions()
                offsets = tuple([(functions.index(of), node, found) for of, node, found in module.offsets])
                self.kept[key] = Compiled(program, function, offsets)
            return self.kept[key]

    def __repr__(self) -> str:
        return f"<nessie host section {self.__name__}>"


@overload
def host_section(function: Callable[..., Any], *, float: Width = 64) -> HostSection: ...


@overload
def host_section(function: None = None, *, float: Width = 64) -> Callable[[Callable[..., Any]], HostSection]: ...


def host_section(function: Callable[..., Any] | None = None, *, float: Width = 64) -> Any:
    """Compile a Python function whole: its loops, branches and array operations. `float`: the bits of its floats, 32 or
    64, as in `@host_section(float=32)`."""
    if function is None:
        return lambda function: host_section(function, float=float)
    with at_call():
        check_bits("float", float)
        see(function)
    return HostSection(function, float)


def grid_of(value: Any) -> Kind:
    """The kind of an argument, or of a value from outside."""
    if is_lazy(value):
        node = value._nessie_node
        return Grid(node.kind, len(node.shape), thin_axes(node.shape)) if node.shape else node.kind
    if isinstance(value, np.ndarray):
        return Grid(values.kind_of_dtype(value), value.ndim, thin_axes(value.shape)) if value.ndim else \
            kind_of(value.item())
    return kind_of(value)


def plain(value: Any) -> Any:
    return value.evaluate()._nessie_node.value if isinstance(value, Array) else value


def converted(value: Any, kind: Kind, target: str) -> Any:
    """What a section gives, as Python has it."""
    match kind:
        case Grid(element, rank):
            lengths, inner = [len(value)], value
            for _ in range(rank - 1):
                inner = inner[0] if len(inner) else []
                lengths.append(len(inner))
            found = values.result(value, tuple(lengths), element)
            return Array(nodes.leaf(tuple(lengths), element, found, left_on(found, tuple(lengths), target)))
        case Items(items):
            found = [converted(one, of, target) for one, of in zip(values.parts(value, items), items)]
            return values.of_items(kind, found)
        case Union(kinds):
            tag, *found = values.parts(value, kind.columns.items)
            return converted(found[tag], kinds[tag], target)
    return value
