"""The results of idle kernels: if all that a kernel walks is empty, its results are known without a launch.

  in    a kernel
  out   the parameters that are 0 then, and the results: empty arrays, identities of reductions, counts of 0, the one
        offset or total that no segments have; None for a kernel that does something once, or would have to read
  sound because no thunk of a SOAC over nothing runs. A FILTER over nothing has no survivors, so SOACs on its
        survivors walk nothing, too.
  why   branches that no element takes are not launched. A space that is written as empty is not such a branch: its
        kernel is launched like others.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.typing import Scope, bound_types

EmptyResult = ir.Const | tuple[str, tuple[Any, ...]]
ZERO = ir.Const(0, "int")


@dataclass(frozen=True)
class EmptyRun:
    """`sizes`: the numbers of the parameters that are 0 when the kernel is idle. `gives`: for each result, a constant,
    or an array's base with its elements."""
    sizes: tuple[int, ...]
    gives: tuple[EmptyResult, ...]


def empty_run(kernel: ir.Kernel, functions: Mapping[str, ir.ScalarFunction]) -> EmptyRun | None:
    """Return when the kernel has nothing to do, and its results then; None if it always has something to do."""
    types = Scope({param.name: param.type for param in kernel.params}, functions)
    sizes: set[ir.Size] = set()
    made: dict[str, EmptyResult] = {}
    for bind in kernel.binds:
        walked = sizes_of(bind.soac)
        if walked is None or 0 in walked:
            return None
        sizes.update(size for size in walked if made.get(str(size)) != ZERO)
        for number, (name, type_) in enumerate(zip(bind.names, bound_types(bind, types), strict=True)):
            found = empty_result(bind.soac, number, type_)
            if found is None:
                return None
            if name != "_":
                types.names[name], made[name] = type_, found
    numbers: dict[ir.Size, int] = {param.name: number for number, param in enumerate(kernel.params)}
    if not sizes <= numbers.keys():
        return None
    return EmptyRun(tuple(sorted(numbers[size] for size in sizes)), tuple(made[name] for name in kernel.returns))


def sizes_of(soac: ir.Soac) -> tuple[ir.Size, ...] | None:
    """Return the sizes that must be 0 for the SOAC to do nothing; None for a SOAC that runs once."""
    if isinstance(soac, ir.Once):
        return None
    space = soac.space
    walked = (space.size,) if isinstance(space, ir.Flat) else (space.segments, space.total)
    return (*walked, soac.size) if isinstance(soac, ir.Write) else walked


def empty_result(soac: ir.Soac, number: int, type_: ir.Type) -> EmptyResult | None:
    """Return result `number` of a SOAC over nothing; None if it is not evident."""
    if isinstance(type_, str):
        if not isinstance(soac, ir.Reduce):
            return ZERO                                     # how many have survived
        identity = soac.identity[number]
        return identity if isinstance(identity, ir.Const) else None
    if not type_.plus:
        return type_.base, ()
    if not isinstance(soac, ir.Scan):
        return type_.base, (0,)                             # offsets
    identity = soac.identity[number]
    return (type_.base, (identity.value,)) if isinstance(identity, ir.Const) else None
