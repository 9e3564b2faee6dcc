"""Where in memory the threads of a walk read and store, for sizes that are given or assumed.

    SEG_MAP { (s, j, i) => a[j * n + s] * 2 } uniform(n, m, t)          a at j * n + s, the result at i

Indices are arrays, with an element for each thread. What a thread reads is known to nobody: that it is far from what
another index would have given is all that is assumed of it, and of what is computed of it. An inner loop stands where
it begins.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.values import DTYPES
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import COMPARISONS
from nessie.lambda_cu.parts import INDEX_THUNKS, children

Ints = np.ndarray[Any, np.dtype[np.int64]]
Known = Mapping[str, Ints]
ASSUMED = 2 ** 24               # elements of a space whose sizes nobody gives
OTHER = 4096                    # what a size is that is none of the space's
FAR = 4099                      # between what is read at an index and at the next
WORD = 8                        # bytes of an element, unless a parameter says so


@dataclass(frozen=True)
class Place:
    """For each thread the number of an element of an array, whose elements have so many bytes."""
    array: str
    element: Ints
    bytes: int


def lengths(axes: tuple[ir.Size, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The lengths of the axes, as they are given; all others alike, so that there are as many elements as assumed."""
    given = [axis if isinstance(axis, int) else sizes.get(axis) for axis in axes]
    several = prod([max(length, 1) for length in given if length is not None])
    usual = assumed(given.count(None), several)
    return tuple([usual if length is None else length for length in given])


def assumed(axes: int, others: int = 1) -> int:
    """How long each of so many axes is, if the others have so many indices."""
    return max(int((ASSUMED / others) ** (1 / max(axes, 1)) + 1e-9), 1)


def places(kernel: ir.Kernel, root: ir.Flat | ir.Uniform, index: tuple[Ints, ...],
           sizes: Mapping[str, int]) -> Iterator[Place]:
    """Yield where threads that have these indices of the kernel's axes read and store; no place twice."""
    seen: set[tuple[str, bytes]] = set()
    for place in all_places(kernel, root, index, sizes):
        key = place.array, place.element.tobytes()
        if key not in seen:
            seen.add(key)
            yield place


def all_places(kernel: ir.Kernel, root: ir.Flat | ir.Uniform, index: tuple[Ints, ...],
               sizes: Mapping[str, int]) -> Iterator[Place]:
    here, number = indices(root, index, sizes)
    made = {name for bind in kernel.binds for name in bind.names}
    bytes_ = {param.name: DTYPES[param.type.base].itemsize for param in kernel.params
              if isinstance(param.type, ir.Array)}
    for bind in kernel.binds:
        for thunk in INDEX_THUNKS.of(bind.soac):
            known = {**here, **dict(zip(thunk.params[::-1], number[::-1]))}
            for array, element in reads(thunk.body, known):
                if array not in made:               # what is made here is in the thread
                    yield Place(array, element, bytes_.get(array, WORD))
            if isinstance(bind.soac, ir.Permute) and thunk is bind.soac.index:
                yield from [Place(name, amount(thunk.body, known), WORD) for name in stored(kernel, bind)]
        if not isinstance(bind.soac, ir.Permute | ir.Reduce):
            yield from [Place(name, number[-1], WORD) for name in stored(kernel, bind)]


def stored(kernel: ir.Kernel, bind: ir.Bind) -> list[str]:
    return [name for name in bind.names if name in kernel.returns]


def indices(root: ir.Flat | ir.Uniform, index: tuple[Ints, ...],
            sizes: Mapping[str, int]) -> tuple[dict[str, Ints], tuple[Ints, ...]]:
    """What the names of sizes are, and what a thunk is given: the outer axes, the segment, the place in it, the index
    of all."""
    axes = (root.size,) if isinstance(root, ir.Flat) else root.axes
    long = lengths(axes, sizes)
    known = {**sizes, **{axis: length for axis, length in zip(axes, long) if isinstance(axis, str)}}
    segment = np.zeros_like(index[0])
    for i, length in zip(index[:-1], long):
        segment = segment * length + i
    if isinstance(root, ir.Uniform):
        for name, several in ((root.segments, long[:-1]), (root.total, long)):
            if isinstance(name, str):
                known[name] = prod(several)
    outer = index[:-1] if len(index) > 2 else ()
    return ({name: np.int64(value) for name, value in known.items()},
            (*outer, segment, index[-1], segment * long[-1] + index[-1]))


def reads(exp: ir.Exp, known: Known) -> Iterator[tuple[str, Ints]]:
    """Yield the arrays that an expression reads, and where."""
    match exp:
        case ir.Let(names, value, body):
            yield from reads(value, known)
            values = value.items if isinstance(value, ir.Tuple) else (value,) * len(names)
            yield from reads(body, {**known, **{name: amount(v, known) for name, v in zip(names, values)}})
            return
        case ir.Read(array, index):
            yield array, amount(index, known)
        case ir.Fold():
            known = {**known, **dict.fromkeys((exp.index, *exp.names), np.int64(0))}
    for child in children(exp):
        yield from reads(child, known)


def amount(exp: ir.Exp, known: Known) -> Any:
    """What an expression is for each thread, as far as indices and sizes say it."""
    match exp:
        case ir.Const(value):
            return np.int64(value) if isinstance(value, int) else np.int64(0)
        case ir.Var(name):
            return known.get(name, np.int64(OTHER))
        case ir.Let((name,), value, body):
            return amount(body, {**known, name: amount(value, known)})
        case ir.If(condition, then, orelse):
            return np.where(amount(condition, known) != 0, amount(then, known), amount(orelse, known))
        case ir.Op(op, (a, b)) if op in MEANINGS:
            with np.errstate(over="ignore"):
                return MEANINGS[op](amount(a, known), amount(b, known))
    found = [amount(child, known) for child in children(exp)]
    with np.errstate(over="ignore"):
        return sum(found, np.int64(0)) * np.int64(FAR)


def divided(by: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: by(a, np.where(b == 0, 1, b))


MEANINGS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": divided(np.floor_divide), "rem": divided(np.mod),
    "mod": divided(np.mod), "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    **COMPARISONS}
