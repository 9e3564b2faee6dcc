"""generate(kernel, program, target): the plan of one kernel. The one place that chooses a skeleton.
generate_program(program, target): the code of all its kernels.

    ORDER                            a library sort of keys that a walk computes           skeletons.order
    any bindings that one walk does  chunks on the CPU                                     skeletons.phases
    MAP, REDUCE, ONCE over one n     blocks of threads on the GPU                          skeletons.cuda_flat
"""
from __future__ import annotations

from nessie.base.names import Names
from nessie.base.source import Unsupported, user_span
from nessie.cudagen import loops
from nessie.cudagen.code import RESERVED, identifier
from nessie.cudagen.plan import Plan
from nessie.cudagen.scalar_functions import device_functions, tables_of
from nessie.cudagen.skeletons.cuda_flat import plan_cuda
from nessie.cudagen.skeletons.order import plan_order
from nessie.cudagen.skeletons.phases import plan_walk
from nessie.cudagen.thunks import Tables
from nessie.cudagen.walk import thunks, walk_of
from nessie.lambda_cu import ir
from nessie.lambda_cu.rename import rename_kernel
from nessie.lambda_cu.scope import subexpressions

CHUNK = 32768                   # items: some 256 KB of each array; enough chunks to balance, few partial results
LONG_CHUNK = 512                # where an element may take as long as it likes


def generate(kernel: ir.Kernel, program: ir.Program, target: str = "cpu", width: int | None = None,
             tables: Tables | None = None) -> Plan:
    """`width`: items a chunk on the CPU. `tables`, if the caller has made them already (tables_of)."""
    tables = tables or tables_of(program)
    width = width or (LONG_CHUNK if unbounded(kernel, tables) else CHUNK)
    kernel = with_good_names(kernel)
    orders = [bind for bind in kernel.binds if isinstance(bind.soac, ir.Order)]
    match target:
        case "cpu" if orders:
            return plan_order(kernel, program, tables, width)
        case "cpu":
            return plan_walk(walk_of(kernel, program), tables, width)
        case "cuda" if orders:
            span = user_span(kernel.origin)
            raise Unsupported("the cuda target cannot sort yet", *([(span, "sorted here")] if span else []))
        case "cuda":
            return plan_cuda(walk_of(kernel, program), tables)
    raise ValueError(target)


def unbounded(kernel: ir.Kernel, tables: Tables) -> bool:
    """Does an element call a function that loops?"""
    return any(isinstance(exp, ir.CallScalar) and tables.scalar_functions[exp.function].polls
               for bind in kernel.binds for thunk in thunks(bind.soac) for exp in subexpressions(thunk.body))


def with_good_names(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without names that skeletons use for themselves, or that a dialect does not take."""
    bound = {p.name for p in kernel.params} | {name for bind in kernel.binds for name in bind.names}
    clashing = {name for name in bound if name in RESERVED or name != identifier(name)}
    if not clashing:
        return kernel
    names = Names(bound | RESERVED)
    return rename_kernel(kernel, {name: names.fresh(identifier(name)) for name in sorted(clashing)})


def generate_program(program: ir.Program, target: str = "cpu") -> loops.Module:
    """The functions of all plans of a program, after the scalar functions that they share."""
    tables = tables_of(program)
    plans = [generate(kernel, program, target, tables=tables) for kernel in program.kernels]
    return loops.Module(device_functions(program, tables) + tuple([f for made in plans for f in made.functions]))
