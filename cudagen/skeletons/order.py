"""ORDER: the keys come from a walk, the order from the target's library.

    order_ascending / order_descending            (keys, result)
    segmented_ascending / segmented_descending    (keys, offsets, result)

The result is the flat positions in stable order of their keys, within each segment. A uniform or affine space gets its
offsets written out for the library.
"""
from __future__ import annotations

from dataclasses import replace

from nessie.base.source import InternalError
from nessie.cudagen.plan import ArrayResult, Buffer, Phase, Plan
from nessie.cudagen.skeletons.phases import plan_walk
from nessie.cudagen.thunks import Tables
from nessie.cudagen.walk import walk_of
from nessie.lambda_cu import ir


def plan_order(kernel: ir.Kernel, program: ir.Program, tables: Tables, width: int) -> Plan:
    if len(kernel.binds) != 1 or not isinstance(kernel.binds[0].soac, ir.Order):
        raise InternalError(f"kernel {kernel.name} fuses a sort, which is a library's work")
    (bind,), (result,) = kernel.binds, kernel.binds[0].names
    soac = bind.soac
    assert isinstance(soac, ir.Order)
    keys, ends = f"{result}_keys", f"{result}_offsets"
    binds = [ir.Bind((keys,), ir.Map(soac.thunk, soac.space))]
    offsets: tuple[str, ...] = ()
    match soac.space:
        case ir.Irregular(_, given, _):
            offsets = (given,)
        case ir.Uniform(segments, _, _) | ir.Affine(segments, _, _, _):
            offsets = (ends,)
            binds.append(ir.Bind((ends,), lengths_scan(soac.space, segments)))
    plan = key_plan(kernel, tuple(binds), program, tables, width)
    name = f"{'segmented' if offsets else 'order'}_{'descending' if soac.descending else 'ascending'}"
    size = next(b.size for phase in plan.phases for b in phase.buffers if b.name == keys)
    sort = Phase(name, (keys, *offsets, result), None, (Buffer(result, "int", size),), library=True)
    results = (ArrayResult(result),) * len(kernel.returns)
    return replace(plan, kernel=kernel, phases=(*plan.phases, sort), results=results)


def key_plan(kernel: ir.Kernel, binds: tuple[ir.Bind, ...], program: ir.Program, tables: Tables, width: int) -> Plan:
    """The keys, and in a plan before it the offsets: they are made over another space."""
    plans = [plan_walk(walk_of(ir.Kernel(kernel.name if at == 0 else f"{kernel.name}_offsets", kernel.params, (bind,),
                                         bind.names, kernel.origin), program), tables, width)
             for at, bind in enumerate(binds)]
    return replace(plans[0], functions=sum((plan.functions for plan in plans), ()),
                   phases=sum((plan.phases for plan in plans), ()))


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
