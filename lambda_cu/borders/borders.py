"""Pass: give MAPs and REDUCEs the interior in which their elements decide nothing about where they are.

  in    fused lambda_cu
  out   fused lambda_cu, where these have an `interior` if they gain by it
  how   A kernel's thunks read neighbours at clamped or wrapped indices, or check them. Each such decision changes at
        one place of the index, near its beginning or its end (lambda_cu.borders.interior). What lies between these
        places is the interior: there the thunk is rewritten without them. All else keeps the thunk as it is, so each
        element is met once, and fails as before, however few there are. An interior that the checker cannot prove is
        not taken (lambda_cu.borders.checker).
"""
from __future__ import annotations

from collections.abc import Collection

from nessie.base.parts import updated
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.checker import is_interior
from nessie.lambda_cu.borders.interior import Split, split_of
from nessie.lambda_cu.scope import failing_functions
from nessie.lambda_cu.selection import selection


def borders(program: ir.Program) -> ir.Program:
    """Split the program's kernels at their borders."""
    failing = failing_functions(program.scalar_functions)
    return updated(program, kernels=tuple([with_interiors(kernel, failing) for kernel in program.kernels]))


def with_interiors(kernel: ir.Kernel, failing: Collection[str]) -> ir.Kernel:
    found = splits(kernel, failing)
    return updated(kernel, binds=tuple([
        updated(bind, soac=updated(bind.soac, interior=found[at].interior)) if at in found else bind
        for at, bind in enumerate(kernel.binds)]))


def splits(kernel: ir.Kernel, failing: Collection[str]) -> dict[int, Split]:
    """The interiors of those of its bindings, by number, that walk all elements and gain by one."""
    names = {param.name: param.type for param in kernel.params}
    counts = {count for bind in kernel.binds if (selected := selection(bind))
              for count in (*selected.counts, *selected.offsets)}
    segmented = any(not isinstance(b.soac, ir.Once) and not isinstance(b.soac.space, ir.Flat) for b in kernel.binds)
    found: dict[int, Split] = {}
    for at, bind in enumerate(kernel.binds):
        soac = bind.soac
        if not isinstance(soac, ir.Map | ir.Reduce) or soac.parts or isinstance(soac.space, ir.Flat) == segmented:
            continue
        place = soac.space.size if isinstance(soac.space, ir.Flat) else getattr(soac.space, "offsets", "")
        split = None if place in counts else split_of(soac, names, failing)
        if split is not None and is_interior(kernel, soac, split.interior):
            found[at] = split
    return found
