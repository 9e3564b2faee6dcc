"""ORDER: the keys come from a walk, the order from the target's library.

    order_ascending / order_descending            (keys, result)
    segmented_ascending / segmented_descending    (keys, offsets, result)

The result is the flat positions in stable order of their keys, within each segment. A uniform or affine space gets its
offsets written out for the library.
"""
from __future__ import annotations

from dataclasses import replace

from nessie.base.source import InternalError
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import walk_of
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import ArrayResult, Buffer, Phase
from nessie.cudagen.skeletons.cpu.walk import plan_walk
from nessie.lambda_cu import nodes as ir


def plan_order(kernel: ir.Kernel, program: ir.Program, tables: Tables, width: int) -> Module:
    soac, result = order_of(kernel)
    walks, keys, offsets = walks_of_keys(kernel, soac, result)
    modules = [plan_walk(walk_of(walk, program), tables, width) for walk in walks]
    phases = [phase for module in modules for phase in module.plans[0].phases]
    name = f"{'segmented' if offsets else 'order'}_{'descending' if soac.descending else 'ascending'}"
    size = next(b.size for phase in phases for b in phase.buffers if b.name == keys)
    arguments = tuple([loops.Name(n) for n in ((keys, offsets, result) if offsets else (keys, result))])
    sort = Phase(name, arguments, None, (Buffer(result, "int", size),), library=True)
    plan = replace(modules[0].plans[0], phases=(*phases, sort), results=(ArrayResult(result),) * len(kernel.returns))
    return Module(tuple([f for module in modules for f in module.functions]), (plan,))


def order_of(kernel: ir.Kernel) -> tuple[ir.Order, str]:
    """The kernel's only SOAC, and its result."""
    soac = kernel.binds[0].soac
    if len(kernel.binds) != 1 or not isinstance(soac, ir.Order):
        raise InternalError(f"kernel {kernel.name} fuses a sort, which is a library's work")
    return soac, kernel.binds[0].names[0]


def walks_of_keys(kernel: ir.Kernel, soac: ir.Order, result: str) -> tuple[list[ir.Kernel], str, str]:
    """Kernels that make the keys and, over another space, the offsets of segments that have a closed form; the names of
    the keys and of the offsets, '' where there are no segments."""
    keys, ends = f"{result}_keys", f"{result}_offsets"
    binds, offsets = [ir.Bind((keys,), ir.Map(soac.thunk, soac.space))], ""
    match soac.space:
        case ir.Irregular(_, given, _):
            offsets = given
        case ir.Uniform(segments, _, _) | ir.Affine(segments, _, _, _):
            offsets = ends
            binds.append(ir.Bind((ends,), lengths_scan(soac.space, segments)))
    return [ir.Kernel(kernel.name if at == 0 else f"{kernel.name}_offsets", kernel.params, (bind,), bind.names,
                      origin=kernel.origin) for at, bind in enumerate(binds)], keys, offsets


def lengths_scan(space: ir.Uniform | ir.Affine, segments: ir.Size) -> ir.Scan:
    """The offsets of segments with a closed form: the SCAN, with its total, of their lengths."""
    def atom(size: ir.Size) -> ir.Exp:
        return ir.Const(size, "int") if isinstance(size, int) else ir.Var(size)

    def names(*sizes: ir.Size) -> tuple[str, ...]:
        return tuple(size for size in sizes if isinstance(size, str))

    match space:
        case ir.Uniform(_, length, _):
            thunk = ir.Thunk(("s",), atom(length), names(length))
        case ir.Affine(_, slope, offset, _):
            length_at = ir.Op("+", (ir.Op("*", (atom(slope), ir.Var("s"))), atom(offset)))
            thunk = ir.Thunk(("s",), length_at, names(slope, offset))
    plus = ir.Thunk(("a", "b"), ir.Op("+", (ir.Var("a"), ir.Var("b"))))
    return ir.Scan(thunk, (ir.Const(0, "int"),), plus, ir.Flat(segments), total=True)
