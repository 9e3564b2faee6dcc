"""A kernel that one thread walks, from the first element to the last: no chunks, and nothing to be known before."""
from __future__ import annotations

from nessie.base.widths import wide
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import Walk
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.apart.code import GOAL, Declined, ThreadCode, loops_type, parameters_of
from nessie.cudagen.skeletons.chunks import Chunks
from nessie.cudagen.skeletons.cpu.alone import walk_whole
from nessie.cudagen.skeletons.cpu.lanes import elements, rounds
from nessie.cudagen.skeletons.elements import Sweep, states_of
from nessie.cudagen.skeletons.finals import final_values
from nessie.cudagen.skeletons.kernel import Kernel, all_steps, beginning, counts, early_scalars
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.scope import soac_expressions


def thread_kernel(walk: Walk, tables: Tables, name: str, chunk: int) -> loops.Function:
    """The function that walks the kernel. Declined if it calls what looks at the run's error words. Of a row that is
    longer than a chunk, a launched kernel adds up the chunks' sums, so a thread leaves those of floats to it."""
    kernel, root = walk.kernel, walk.root
    decline(kernel, tables)
    code = ThreadCode({}, {}, walk.stored)
    code.gives = tuple([loops_type(walk.types[r]) for r in kernel.returns])
    parameters = parameters_of(code, kernel.params)
    made = Kernel(walk, tables, None if root is None else Chunks(root, 1, ""), states_of(walk))
    early_scalars(made, code)
    take_results(made, code)
    run = made.sweep(code, list(made.states.values()), all_steps(made))
    if root is not None:
        walk_all(made, run, root, chunk)
    for step in walk.steps:
        final_values(made, run, step, run.now)
    code.look_at_checks()
    code.add(loops.Return(tuple([code.places.get(r) or code.values[r].exp for r in kernel.returns])))
    return code.thread(name, [*parameters, *GOAL], kernel.origin)


def decline(kernel: ir.Kernel, tables: Tables) -> None:
    for bind in kernel.binds:
        if isinstance(bind.soac, ir.Order):
            raise Declined("it sorts")
        called = [tables.scalar_functions[e.function] for exp in soac_expressions(bind.soac)
                  for e in subexpressions(exp) if isinstance(e, ir.CallScalar)]
        if any([d.polls or d.nests for d in called]):
            raise Declined("it calls a function that loops or recurs at each element")


# Memory -----------------------------------------------------------------------------------------


def take_results(kernel: Kernel, code: ThreadCode) -> None:
    """Take memory for all results; where a FILTER finds how many there are, for as many as there can be."""
    walk = kernel.walk
    taken: list[tuple[str, ir.Array, loops.Exp]] = []
    for step in walk.steps:
        for name in step.bind.names:
            type_ = walk.types[name]
            if name in walk.stored and isinstance(type_, ir.Array):
                most = op("+", bound(walk, code, type_.size), integer(type_.plus))
                taken.append((name, type_, code.let_int("most", most)))
    code.take(taken, aims=True)
    for step in walk.steps:
        if isinstance(step.bind.soac, ir.Write):
            for at, name in enumerate(step.bind.names):
                if name in walk.stored:
                    fill(code, step.bind.soac, at, name)


def bound(walk: Walk, code: ThreadCode, size: ir.Size) -> loops.Exp:
    if size not in counts(walk):
        return code.size(size)
    assert walk.root is not None
    return code.size(walk.root.size if isinstance(walk.root, ir.Flat) else walk.root.total)


def fill(code: ThreadCode, soac: ir.Write, at: int, name: str) -> None:
    """What the array has before anything is written."""
    before, index = beginning(soac, at), loops.Name(code.fresh("filled"))
    if before:
        type_, size = code.arrays[name].base, soac.size
        value: loops.Exp
        if "fill" in before:
            value = loops.Const(before["fill"], wide(type_))
        else:
            value, size = loops.Load(code.array(before["copy"], type_), index), code.arrays[before["copy"]].size
        code.add(loops.For(index.name, integer(0), code.size(size),
                           (loops.Store(code.array(name, type_), index, value),)))


# The walk ---------------------------------------------------------------------------------------


def walk_all(kernel: Kernel, run: Sweep, root: ir.Space, chunk: int) -> None:
    code = run.code
    assert isinstance(code, ThreadCode)
    rounding = any([rounds(state) for state in kernel.states.values()])

    def row(low: loops.Exp, high: loops.Exp, *segment: loops.Exp) -> None:
        if rounding:
            code.add(loops.If(op("<", integer(chunk), op("-", high, low)), code.give_up()))
        elements(run, low, high, *segment)

    walk_whole(kernel, run, root, row)
