"""The bytes that launches of a kernel move between memory and their threads.

    traffic(kernel, functions)      by the kernel's text: numbers of bytes, and how many times each
    bytes_moved(traffic, sizes)     the bytes of a launch whose sizes are known

The count covers arrays that lie in memory before or after the launch:

    read at the index that the thunk gets     each element once, however many SOACs of the kernel read it there
    read at a segment's number                once for each segment
    read elsewhere (a gather)                 one element for each index of the SOAC, as if every condition chose it
    read by a scalar function                 as a gather: how often is not known
    the offsets of an irregular space         once
    returned                                  each element once; a PERMUTE fills its result before it writes there, or
                                              copies another array, which counts twice (not where it is in place,
                                              nor where all places are written)
    an ORDER's keys                           written and read once

Arrays that stay inside the kernel are free. A count of survivors that stays inside is taken as the number tested.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from nessie.base.values import DTYPES
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import OWN_THUNKS, subexpressions
from nessie.lambda_cu.scope import passed, space_of
from nessie.lambda_cu.selection import selection
from nessie.lambda_cu.typing import Scope, bound_types

Traffic = tuple[tuple[ir.Size, int], ...]       # so many times so many bytes


def traffic(kernel: ir.Kernel, functions: Mapping[str, ir.ScalarFunction]) -> Traffic:
    types: dict[str, ir.Type] = {param.name: param.type for param in kernel.params}
    outside = {name: type_ for name, type_ in types.items() if isinstance(type_, ir.Array)}
    scope = Scope(types, functions)
    found: Counter[ir.Size] = Counter()
    inside: dict[ir.Size, ir.Size] = {}         # counts of survivors, and how many were tested
    own: set[tuple[str, ir.Size]] = set()       # arrays that are read at the index, and how many indices there are
    for bind in kernel.binds:
        space, soac = space_of(bind.soac), bind.soac
        bound = bound_types(bind, scope)
        types.update(zip(bind.names, bound, strict=True))
        if selected := selection(bind):
            inside.update(dict.fromkeys(selected.counts, total_of(space)))
        if isinstance(space, ir.Irregular) and space.offsets in outside:
            own.add((space.offsets, space.segments))
            found[1] += width(outside[space.offsets])
        for array, number, streamed in reads(soac, space):
            if array not in outside:
                continue
            if streamed:
                own.add((array, number))
            else:
                found[number] += width(outside[array])
        if isinstance(soac, ir.Write) and not (isinstance(soac, ir.Permute) and soac.mode == "all"):
            found[total_of(space)] += sum(map(width, bound))
            for exp in soac.before:
                if isinstance(exp, ir.Var):
                    found[outside[exp.name].size] += width(outside[exp.name])
        if isinstance(soac, ir.Order):
            found[total_of(space)] += 2 * DTYPES["int"].itemsize
    for array, number in own:
        found[number] += width(outside[array])
    for name in set(kernel.returns):
        if isinstance(array_type := types[name], ir.Array):
            found[array_type.size] += width(array_type)
            found[array_type.plus] += width(array_type)
    known = {*(param.name for param in kernel.params), *kernel.returns}
    return tuple((known_size(size, known, inside), bytes_) for size, bytes_ in found.items() if size != 0)


def reads(soac: ir.Soac, space: ir.Space | None) -> Iterator[tuple[str, ir.Size, bool]]:
    """Yield the arrays that the thunks read, how often, and whether that is each element once."""
    for thunk in OWN_THUNKS.of(soac):
        seen: set[ir.Read] = set()
        yield from [(array, total_of(space), False) for array in dict.fromkeys(passed(thunk.body))]
        for exp in subexpressions(thunk.body):
            if not isinstance(exp, ir.Read) or exp in seen:
                continue
            seen.add(exp)
            if isinstance(space, ir.Segmented) and len(thunk.params) > 1 and exp.index == ir.Var(thunk.params[-3]):
                yield exp.array, space.segments, True
            else:
                at_index = bool(thunk.params) and exp.index == ir.Var(thunk.params[-1])
                yield exp.array, total_of(space), at_index


def total_of(space: ir.Space | None) -> ir.Size:
    """Return the number of indices of a space; ONCE has no space and counts as one index."""
    return 1 if space is None else space.size if isinstance(space, ir.Flat) else space.total


def width(type_: ir.Type) -> int:
    """The bytes of one element."""
    return DTYPES[type_.base if isinstance(type_, ir.Array) else type_].itemsize


def known_size(size: ir.Size, known: set[str], inside: Mapping[ir.Size, ir.Size]) -> ir.Size:
    """Return a size that is known when the launch has ended, instead of one that stays inside."""
    while isinstance(size, str) and size not in known:
        size = inside[size]
    return size


def bytes_moved(moved: Traffic, sizes: Mapping[str, int]) -> int:
    """Return the bytes of a launch; `sizes` are its ints by name, including those that it returns."""
    return sum(bytes_ * (size if isinstance(size, int) else sizes[size]) for size, bytes_ in moved)
