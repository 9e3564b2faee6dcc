"""Pass: fused lambda_cu to loops for a target, plans and functions: each kernel gets the skeleton that can walk it.

                                 on the CPU                              on the GPU
    ORDER                        a sort by rows: skeletons.cpu.order     skeletons.cuda.order
    any bindings of one walk     chunks: skeletons.cpu.walk              blocks of threads: skeletons.cuda.walk
"""
from __future__ import annotations

import re

from nessie.base.names import Names
from nessie.cudagen.kernels.code import RESERVED, identifier
from nessie.cudagen.kernels.scalar_functions import device_functions, tables_of
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import walk_of
from nessie.cudagen.loops.module import Module
from nessie.cudagen.skeletons.cpu.order import plan_order
from nessie.cudagen.skeletons.cpu.walk import plan_walk
from nessie.cudagen.skeletons.cuda.order import plan_cuda_order
from nessie.cudagen.skeletons.cuda.walk import plan_cuda
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import INDEX_THUNKS, subexpressions
from nessie.lambda_cu.rename import rename_kernel

CHUNK = 32768                   # items: some 256 KB of each array; enough chunks to balance, few partial results
LONG_CHUNK = 512                # where an element may go round a loop as often as it likes
RECURSIVE_CHUNK = 32            # where it may recur
BUFFER = re.compile(r"(.*_)?(parts|carry|tails|heads|aggregates|prefixes|claims|written|status|tickets)")
RUN = 8                         # items a thread of a GPU, where it has neighbours


def generate(program: ir.Program, target: str, width: int | None = None) -> Module:
    """A plan for each kernel, and the functions of all of them with the scalar functions that they call. `width`: items
    a chunk on the CPU, items a thread on a GPU."""
    tables = tables_of(program, target == "cpu")
    modules = [of_kernel(kernel, program, tables, target, width) for kernel in program.kernels]
    functions = (*device_functions(program, tables), *(f for module in modules for f in module.functions))
    return Module(functions, tuple([plan for module in modules for plan in module.plans]))


def of_kernel(kernel: ir.Kernel, program: ir.Program, tables: Tables, target: str, width: int | None) -> Module:
    """The plan of one kernel, and its functions. The one place that chooses a skeleton."""
    width = width or (chunk_width(kernel, tables) if target == "cpu" else RUN)
    kernel = with_good_names(kernel)
    orders = [bind for bind in kernel.binds if isinstance(bind.soac, ir.Order)]
    match target:
        case "cpu" if orders:
            return plan_order(kernel, program, tables, width)
        case "cpu":
            return plan_walk(walk_of(kernel, program), tables, width)
        case "cuda" if orders:
            return plan_cuda_order(kernel, program, tables, width)
        case "cuda":
            return plan_cuda(walk_of(kernel, program), tables, width)
    raise ValueError(target)


def chunk_width(kernel: ir.Kernel, tables: Tables) -> int:
    """Fewer items where an element calls a function that loops, fewest where it recurs."""
    called = [tables.scalar_functions[exp.function] for bind in kernel.binds for thunk in INDEX_THUNKS.of(bind.soac)
              for exp in subexpressions(thunk.body) if isinstance(exp, ir.CallScalar)]
    if any([d.nests for d in called]):
        return RECURSIVE_CHUNK
    return LONG_CHUNK if any([d.polls for d in called]) else CHUNK


def with_good_names(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without names that skeletons use for themselves, or that a dialect does not take."""
    bound = {p.name for p in kernel.params} | {name for bind in kernel.binds for name in bind.names}
    clashing = {name for name in bound if name in RESERVED or name != identifier(name) or BUFFER.fullmatch(name)}
    if not clashing:
        return kernel
    names = Names(bound | RESERVED)
    return rename_kernel(kernel, {name: names.fresh(identifier(name)) for name in sorted(clashing)})
