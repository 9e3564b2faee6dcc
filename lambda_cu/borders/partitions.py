"""Pass: gives kernels whose mapping has cases the partitions that these cases are of.

  in    fused lambda_cu
  out   fused lambda_cu, where one binding of each such kernel has parts
  how   The first binding of the space that is walked whose conditionals the mapping's cases number is cut by them
        (lambda_cu.borders.chains). Other bindings of the kernel compute in all parts what they did. As with interiors,
        the checker proves again that each part's thunk is there what the whole one is; that parts have each index once
        is seen by going through kinds of indices (lambda_cu.mappings.cover), and by the reference at the sizes of a run
"""
from __future__ import annotations

from collections.abc import Collection

from nessie.base.parts import updated
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.chains import parts_of
from nessie.lambda_cu.borders.interior import fails
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.scope import failing_functions, space_of


def partitions(program: ir.Program) -> ir.Program:
    """Cut the program's kernels whose mappings have cases."""
    failing = failing_functions(program.scalar_functions)
    return updated(program, kernels=tuple([with_parts(kernel, failing) if isinstance(kernel.by, maps.Cases) else kernel
                                           for kernel in program.kernels]))


def with_parts(kernel: ir.Kernel, failing: Collection[str] = ()) -> ir.Kernel:
    """The kernel, one binding of which has parts; the same where none has conditionals to be cut by."""
    asked = {case for case, _ in kernel.by.of} - {maps.REST} if isinstance(kernel.by, maps.Cases) else set()
    names = {param.name: param.type for param in kernel.params}
    spaces = [space for bind in kernel.binds if (space := space_of(bind.soac)) is not None]
    root = next((space for space in spaces if not isinstance(space, ir.Flat)), spaces[0] if spaces else None)
    found = {at: parts for at, bind in enumerate(kernel.binds)
             if isinstance(bind.soac, ir.Map | ir.Reduce) and bind.soac.space == root
             and (parts := bind.soac.parts or parts_of(bind.soac, names, failing, asked))}
    if not found:
        return kernel
    chosen = next((at for at, parts in found.items() if asked <= {part.case for part in parts}), next(iter(found)))
    return updated(kernel, binds=tuple([
        updated(bind, soac=updated(bind.soac, parts=found[at] if at == chosen else ()))
        if at in found else bind for at, bind in enumerate(kernel.binds)]))


def left_of(soac: ir.Map | ir.Reduce) -> tuple[ir.Exp, int] | None:
    """The test of the conditional that ends the chain of a thunk that is cut, in terms of the thunk's parameters, and
    how many tests are behind it; None if the chain has come to its end."""
    rest = next((part.inside.thunk.body for part in soac.parts
                 if part.case == maps.REST and part.inside.thunk.body != soac.thunk.body), None)
    tests, known = list[ir.Exp](), dict[str, ir.Exp]()
    while isinstance(rest, ir.Let | ir.If):
        if isinstance(rest, ir.Let):
            if len(rest.names) == 1:
                known[rest.names[0]] = substitute(rest.value, known)
            rest = rest.body
        elif fails(rest.then) or fails(rest.orelse):
            break
        else:
            tests.append(substitute(rest.condition, known))
            rest = rest.orelse
    return (tests[0], len(tests) - 1) if tests else None
