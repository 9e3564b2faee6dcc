"""Pass: fused lambda_cu to loops for a target, plans and functions: each kernel gets the skeleton that can walk it.

                                 on the CPU                              on the GPU
    functions that run apart     one thread each: skeletons.apart       -
    loops over rows              -                                      an owner each: skeletons.owners.offers
    ORDER                        a sort by rows: skeletons.cpu.order     skeletons.cuda.order
    segments that owners hold    as any bindings                         an owner each: skeletons.owners.walk
    indices that threads have    as any bindings                         a thread each: skeletons.mapped.walk
    any bindings of one walk     chunks: skeletons.cpu.walk              blocks of threads: skeletons.cuda.walk
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from nessie.base.call_graph import reachable
from nessie.base.names import Names
from nessie.base.source import Unsupported
from nessie.cudagen.kernels.code import RESERVED, identifier
from nessie.cudagen.kernels.scalar_functions import device_functions, tables_of
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import walk_of
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import Plan
from nessie.cudagen.skeletons.apart.code import Declined
from nessie.cudagen.skeletons.apart.functions import thread_function
from nessie.cudagen.skeletons.apart.kernels import thread_kernel
from nessie.cudagen.skeletons.apart.plan import plan_apart
from nessie.cudagen.skeletons.cpu.order import plan_order
from nessie.cudagen.skeletons.cpu.products import plan_product
from nessie.cudagen.skeletons.cpu.products import tiled as product_of
from nessie.cudagen.skeletons.cpu.tiles import is_tiled, plan_tiles
from nessie.cudagen.skeletons.cpu.walk import plan_walk
from nessie.cudagen.skeletons.cuda.order import plan_cuda_order
from nessie.cudagen.skeletons.cuda.walk import plan_cuda
from nessie.cudagen.skeletons.mapped.walk import plan_mapped
from nessie.cudagen.skeletons.owners.local import Declined as RowsDeclined
from nessie.cudagen.skeletons.owners.offers import plan_offer
from nessie.cudagen.skeletons.owners.walk import plan_owners
from nessie.cudagen.skeletons.products.staged import plan_staged
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.kernels import in_threads
from nessie.lambda_cu.mappings.owners import by_owners, in_one_sweep
from nessie.lambda_cu.parts import INDEX_THUNKS, subexpressions
from nessie.lambda_cu.rename import rename_kernel
from nessie.lambda_cu.running.default_depths import called
from nessie.lambda_cu.scope import calls_of_functions, statements

CHUNK = 32768                   # items: some 256 KB of each array; enough chunks to balance, few partial results
LONG_CHUNK = 512                # where an element may go round a loop as often as it likes
RECURSIVE_CHUNK = 32            # where it may recur
BUFFER = re.compile(            # names that skeletons give to what they need for themselves
    r"(.*_)?(parts|carry|tails|heads|aggregates|prefixes|claims|written|status|tickets|descriptors|"
    r"packed_(rows|columns)[0-9]+)|.*_(all|bits|codes|codes_2|counts|order|order_2)")
RUN = 8                         # items a thread of a GPU, where it has neighbours


def generate(program: ir.Program, target: str, width: int | None = None,
             declined: Callable[[ir.Function, str], None] = lambda offer, why: None) -> Module:
    """A plan for each kernel that is launched, and for what runs apart; the functions of all of them with the scalar
    functions that they call. `width`: items a chunk on the CPU, items a thread on a GPU. `declined` is told which loops
    over rows no owner can go through, and why."""
    tables = tables_of(program, target == "cpu")
    only_apart = run_only_apart(program)
    names = Names([kernel.name for kernel in program.kernels])
    modules = [with_own_names(of_kernel(kernel, program, tables, target, width), names) for kernel in program.kernels
               if kernel.name not in only_apart]
    if target == "cpu":
        modules.append(apart(program, tables, width or CHUNK))
    modules += of_offers(program, tables, declined) if target == "cuda" else []
    functions = (*device_functions(program, tables), *(f for module in modules for f in module.functions))
    return Module(functions, tuple([plan for module in modules for plan in module.plans]))


def apart(program: ir.Program, tables: Tables, chunk: int) -> Module:
    """The plans of what is offered to be run apart, as far as threads can do that."""
    found: dict[str, loops.Function] = {}
    plans: list[Plan] = []
    functions = {f.name: f for f in program.functions}
    for offer in program.functions:
        if offer.apart and offer.over is None:
            try:
                inside = thread_functions(offer.apart, program, tables, chunk)
                made = plan_apart(offer, functions[offer.apart], thread_name(offer.apart))
            except Declined:
                continue
            found.update((f.name, f) for f in (*inside, *made.functions))
            plans += made.plans
    return Module(tuple(found.values()), tuple(plans))


def of_offers(program: ir.Program, tables: Tables,
              declined: Callable[[ir.Function, str], None]) -> Iterator[Module]:
    """The plans of loops over rows that have owners, as far as these can go through them."""
    for offer in program.functions:
        if offer.by is not None:
            try:
                yield plan_offer(offer, program, tables)
            except RowsDeclined as error:
                declined(offer, str(error))


def thread_functions(name: str, program: ir.Program, tables: Tables, chunk: int) -> list[loops.Function]:
    """The thread functions of the host function of this name, and of all that it calls and runs."""
    calls = calls_of_functions(program)
    run = kernels_run(program, name, calls)
    kernels = {k.name: thread_name(k.name) for k in program.kernels if k.name in run}
    made = [thread_kernel(walk_of(with_good_names(k), program), tables, kernels[k.name], chunk)
            for k in program.kernels if k.name in run]
    reached = reachable(calls, (name,))
    names = {f.name: thread_name(f.name) for f in program.functions if f.name in reached}
    return made + [thread_function(f, tables, kernels, names) for f in program.functions if f.name in reached]


def run_only_apart(program: ir.Program) -> set[str]:
    """The kernels that are never launched, since only functions run them that run apart."""
    calls = calls_of_functions(program)
    apart = set().union(*[kernels_run(program, f.apart, calls) for f in program.functions if f.apart])
    if not apart:
        return apart
    return apart - kernels_run(program, program.entry.function, {f.name: called(f.body) for f in program.functions})


def kernels_run(program: ir.Program, name: str, calls: Mapping[str, Iterable[str]]) -> set[str]:
    """The kernels that the function of this name runs, or what it calls."""
    reached = reachable(calls, (name,))
    return {s.kernel for f in program.functions if f.name in reached for s in statements(f.body)
            if isinstance(s, ir.Run)}


def thread_name(name: str) -> str:
    return f"thread_{identifier(name)}"


def of_kernel(kernel: ir.Kernel, program: ir.Program, tables: Tables, target: str, width: int | None) -> Module:
    """The plan of one kernel, and its functions. The one place that chooses a skeleton."""
    each = width or CHUNK
    width = width or (chunk_width(kernel, tables) if target == "cpu" else RUN)
    kernel = with_good_names(kernel)
    orders = [bind for bind in kernel.binds if isinstance(bind.soac, ir.Order)]
    match target:
        case "cpu" if by_owners(kernel) and not in_one_sweep(kernel):
            raise Unsupported(f"{kernel.name} is one kernel only where somebody holds a whole segment, and on the CPU "
                              "nobody does: --target cudasim, or cuda")
        case "cpu" if orders:
            return plan_order(kernel, program, tables, width, each)
        case "cpu":
            walk = walk_of(kernel, program)
            product = product_of(walk)
            if product is None and is_tiled(walk):
                return plan_tiles(walk, tables, width)
            made = plan_walk(walk, tables, width, alone=True)
            return made if product is None else plan_product(product, walk, tables, width, made)
        case "cuda" if by_owners(kernel):
            return plan_owners(kernel, program, tables)
        case "cuda" if in_threads(kernel):
            return plan_mapped(kernel, program, tables)
        case "cuda" if orders:
            return plan_cuda_order(kernel, program, tables, width)
        case "cuda":
            walk = walk_of(kernel, program)
            made = plan_cuda(walk, tables, width)
            return made if kernel.by is not None else plan_staged(walk, tables, made)
    raise ValueError(target)


def with_own_names(module: Module, names: Names) -> Module:
    """The module, whose plans that do the same for little have names that no kernel has."""
    fresh = {plan.alone.plan: names.fresh(plan.alone.plan) for plan in module.plans if plan.alone is not None}
    return replace(module, plans=tuple([
        replace(plan, name=fresh.get(plan.name, plan.name),
                alone=plan.alone and replace(plan.alone, plan=fresh[plan.alone.plan])) for plan in module.plans]))


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
