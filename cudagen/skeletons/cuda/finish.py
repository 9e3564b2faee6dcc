"""What is done once, when all elements of a GPU's walk have been: by the block that comes to its end last.

Each block leaves what it comes to, then draws a number of a counter that is ordered, so that who draws the last finds
what all others have left. It sets the counter back for the next launch, reduces the parts of totals, as one block would
that were launched behind the walk, and its first thread does the rest: it knows what carries came to, runs what runs
once, leaves scalars in cells, and tells the kernels behind whether a check has failed. So kernels stop as a whole:
no block of a launch finds that another has said so.

Where there is no walk, or what runs once reads what a launch behind the walk writes (last_writes.py), a launch of its
own does it.
"""
from __future__ import annotations

from nessie.cudagen.kernels.code import Code, integer, op
from nessie.cudagen.kernels.walk import UNIT, Step, using
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops import walk as loops_walk
from nessie.cudagen.loops.plan import THREADS, TICKETS
from nessie.cudagen.loops.unread import with_effects
from nessie.cudagen.skeletons.counted import count_of
from nessie.cudagen.skeletons.cuda.blocks import (
    ENDED,
    THREAD,
    blocks_here,
    first_thread,
    launch,
    reduce_block,
    stop_if_failed,
)
from nessie.cudagen.skeletons.elements import Sweep, rank_of
from nessie.cudagen.skeletons.finals import final_values
from nessie.cudagen.skeletons.kernel import (
    CELLS,
    Kernel,
    all_steps,
    counts,
    early_scalars,
    elements_read_counts,
    returned_scalars,
    to_cell,
)
from nessie.cudagen.skeletons.states import State, assign, held
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.selection import selection

ALL = "all"                     # ends the names of buffers for what the tiles of a walk come to


def ends_walk(kernel: Kernel, settled: set[str]) -> bool:
    """May the last block of the walk do it? `settled`: arrays that a later launch writes."""
    return not any(using(step.bind.soac) & settled for step in kernel.walk.steps if step.place == UNIT)


def finish_walk(kernel: Kernel, code: Code, blocks: loops.Exp) -> tuple[loops.Exp, str]:
    """Adds to what a walk of so many blocks does. The number of blocks that are launched, which is 1 where there is
    nothing to walk, and what to tell of it. Nobody asks who ends last where that block would only find out what nobody
    reads: what a carry comes to whose count the host knows already, for example."""
    together = bool(totals_of(kernel))
    launched = op("max", blocks, integer(1))
    with code.block() as last:
        finish(kernel, code, blocks)
    if not with_effects(tuple(last)):
        return blocks, ""
    told = about(kernel, code, "The block that ends last")
    shared = [statement for statement in last if isinstance(statement, loops.Shared)]
    code.statements = [*shared, *code.statements]
    last_block(kernel, code, launched, [statement for statement in last if statement not in shared], together)
    return launched, f"\n{told}"


def last_block(kernel: Kernel, code: Code, blocks: loops.Exp, last: list[loops.Stmt], together: bool) -> None:
    """Let the last of so many blocks do this: all its threads `together`, or its first alone."""
    if records_failures(code) or others_are_read(kernel, last):
        code.note("what this block has found to fail, and what it has stored, is there before it says that it ends")
        code.record_failures()
        code.add(loops.Barrier())
    code.note("the block that ends last goes on: it sees what all others have left")
    tickets, ended = code.array(TICKETS, "int", writable=True), code.fresh("ended")
    flag = code.shared("ends_last", "int", 1) if together else ""
    with first_thread(code):
        code.add(loops.Atomic("add", tickets, ENDED, integer(1), ended, ordered=True))
        is_last = op("==", op("+", loops.Name(ended), integer(1)), blocks_here(code, blocks))
        back = loops.Atomic("exchange", tickets, ENDED, integer(0))
        if together:
            code.add(loops.If(is_last, (back,)))
            code.add(loops.Store(flag, integer(0), op("btoi", is_last)))
        else:
            code.add(loops.If(is_last, (back, *last)))
    if together:
        code.add(loops.Barrier())
        code.add(loops.If(op("==", loops.Load(flag, integer(0)), integer(0)), (loops.Return(),)))
        code.statements += last


def others_are_read(kernel: Kernel, last: list[loops.Stmt]) -> bool:
    """Is anything read that other threads than the first of their blocks have stored?"""
    read = {part.array for statement in loops_walk.statements(last)
            for exp in loops_walk.expressions(statement) for part in loops_walk.parts(exp)
            if isinstance(part, loops.Load)}
    return bool(read & kernel.walk.stored)


def finish_alone(kernel: Kernel, blocks: loops.Exp) -> None:
    """Adds a phase of one block that does it, behind a walk of so many blocks."""
    code, together = kernel.code(), bool(totals_of(kernel))
    early_scalars(kernel, code)
    finish(kernel, code, blocks)
    if code.statements:
        launch(kernel, "finish", code, None, alone=not together, about=about(kernel, code, "One block"))


def finish(kernel: Kernel, code: Code, blocks: loops.Exp) -> None:
    """What one block does behind a walk of so many blocks; if there are no totals, its first thread."""
    code.arrays |= {name: type_ for name in kernel.walk.stored
                    if isinstance(type_ := kernel.walk.types[name], ir.Array)}
    code.order_index = integer(0)
    totals, ended = totals_of(kernel), [kernel.states[name] for name in sorted(wanted_at_end(kernel))]
    sweep = kernel.sweep(code, [*totals, *ended], all_steps(kernel))
    for state in sweep.states.values():
        sweep.declare(state)
    many = blocks_here(code, blocks) if sweep.states else integer(0)
    if totals:
        add_parts(kernel, sweep, totals, many)
        if code.fails:
            code.note("what any thread of the block has found to fail is recorded before one looks for failures")
            code.record_failures()
            code.add(loops.Barrier())
    with code.block() as first:
        through_last(code, [(state, sweep.variables[state.name]) for state in ended], "", many)
        for step in kernel.walk.steps:
            final_values(kernel, sweep, step, sweep.now)
            last_elements(kernel, code, sweep, step)
        told = counts(kernel.walk) if elements_read_counts(kernel.walk) else set[str]()
        returned_scalars(kernel, code, told)
        for name in sorted(counts(kernel.walk) & kernel.slots.keys() - set(kernel.walk.kernel.returns) - told):
            to_cell(kernel, code, name, code.values[name])      # the length of a result
        if code.fails or records_failures(code) or any(map(records_failures, kernel.functions)):
            stop_if_failed(code)
    if first:
        code.statements += [loops.If(op("==", THREAD, integer(0)), tuple(first))] if totals else first


def last_elements(kernel: Kernel, code: Code, sweep: Sweep, step: Step) -> None:
    """Totals of SCANs that are results go to cells, too: the host wants to know how long things are together."""
    match step.bind.soac:
        case ir.Scan(space=ir.Flat(), total=True):
            for name, value in zip(step.bind.names, sweep.now(kernel.states[step.name]), strict=True):
                type_ = kernel.walk.types.get(name)
                if name in kernel.walk.kernel.returns and isinstance(type_, ir.Array) and type_.base == "int":
                    to_cell(kernel, code, last_of(name), value)


def last_of(name: str) -> str:
    """What the cell with an array's last element is called."""
    return f"{name}[-1]"


def records_failures(written: Code | loops.Function) -> bool:
    parameters = written.parameters.values() if isinstance(written, Code) else written.parameters
    return any([p.name == "errors" and p.writable for p in parameters])


def totals_of(kernel: Kernel) -> list[State]:
    return [state for state in kernel.states.values() if state.kind == "total"]


def through_last(code: Code, carries: list[tuple[State, tuple[str, ...]]], prefix: str, tiles: loops.Exp) -> None:
    """The variables become what carries come to after the last tile, if there is one."""
    with code.block() as walked:
        for state, names in carries:
            assign(code, names, held(code, state, prefix + ALL, integer(0)))
    if walked:
        code.add(loops.If(op(">", tiles, integer(0)), tuple(walked)))


def about(kernel: Kernel, code: Code, who: str) -> str:
    does = ["adds up what the blocks have left"] if totals_of(kernel) else []
    does += ["leaves scalar results in cells"] if any(name in CELLS.values() for name in code.parameters) else []
    does += ["tells the kernels after this one if a check has failed"] if records_failures(code) else []
    return f"{who} {', '.join(does or ['does what is done once'])}."


def wanted_at_end(kernel: Kernel) -> set[str]:
    """The carries whose last value is a result: SCANs' totals, counts of survivors."""
    found = set()
    for step in kernel.walk.steps:
        match step.bind.soac:
            case ir.Scan(total=True):
                found.add(step.name)
        if selected := selection(step.bind):
            found |= {rank_of(step, side) for side, count in enumerate(selected.counts) if count != "_"}
    return found & {state.name for state in kernel.carries}


def add_parts(kernel: Kernel, sweep: Sweep, totals: list[State], blocks: loops.Exp) -> None:
    """Each thread takes a run of parts, in order; the block reduces what the threads have."""
    code = sweep.code
    run = code.let_int("run", count_of(blocks, THREADS))
    low = code.let_int("low", op("*", THREAD, run))
    part = code.fresh("part")
    with code.block() as body:
        for state in totals:
            sweep.accumulate(state, held(code, state, "parts", loops.Name(part)))
    code.note("each thread: a run of the blocks' parts")
    code.add(loops.For(part, low, op("min", op("+", low, run), blocks), tuple(body)))
    reduce_block(kernel, code, sweep, totals)
