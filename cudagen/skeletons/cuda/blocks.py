"""Common work of the threads of a block, and common parts of all launches of a GPU's kernel."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from nessie.cudagen.host.device import FAILURE, NO_FAILURE, STOPPED
from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import THREADS, Buffer
from nessie.cudagen.loops.walk import parts
from nessie.cudagen.skeletons.elements import Sweep
from nessie.cudagen.skeletons.kernel import Kernel, state_buffers
from nessie.cudagen.skeletons.states import State, assign, combine, current, keep

MOST_BLOCKS = 1024              # where each thread takes elements that are a grid apart
WARP = 32
WARPS = THREADS // WARP
THREAD, BLOCK, BLOCKS = loops.Name("threadIdx"), loops.Name("blockIdx"), loops.Name("gridDim")
PROBES = 8                      # numbers that a warp looks at a time
LANE = op("and", THREAD, integer(WARP - 1))


def grid(size: loops.Exp) -> loops.Exp:
    """The number of blocks that walk so many elements that are a grid apart."""
    return op("min", op("/", op("+", size, integer(THREADS - 1)), integer(THREADS)), integer(MOST_BLOCKS))


def each_in_grid(code: Code, index: str, size: loops.Exp, body: tuple[loops.Stmt, ...]) -> None:
    """The body for each of so many indices, which the threads of all blocks share."""
    thread, threads = in_grid(code)
    code.add(loops.For(index, thread, size, body, threads))


def in_grid(code: Code) -> tuple[loops.Exp, loops.Exp]:
    """The thread's number among those of all blocks, and how many there are."""
    return (code.let_int("thread", op("+", op("*", BLOCK, integer(THREADS)), THREAD)),
            code.let_int("threads", op("*", BLOCKS, integer(THREADS))))


def blocks_here(code: Code, blocks: loops.Exp) -> loops.Exp:
    """So many blocks, worked out by the kernel."""
    for name in sorted({part.name for part in parts(blocks) if isinstance(part, loops.Name)}):
        code.scalar(name, "int")
    return code.let_int("blocks", blocks)


@contextmanager
def threads_below(code: Code, count: int) -> Iterator[None]:
    """Let so many threads of the block do what is written meanwhile."""
    condition = op("==", THREAD, integer(0)) if count == 1 else op("<", THREAD, integer(count))
    with code.block() as first:
        yield
    if first:
        code.add(loops.If(condition, tuple(first)))


def first_thread(code: Code) -> AbstractContextManager[None]:
    return threads_below(code, 1)


def first_warp(code: Code) -> AbstractContextManager[None]:
    return threads_below(code, WARP)


def last_by_warp(code: Code, least: loops.Exp, most: loops.Exp, guess: loops.Exp,
                 holds: Callable[[loops.Exp], loops.Exp]) -> loops.Exp:
    """The last number in least..most for which it holds, as it does for the least and, of two numbers, for the greater
    only if for the less. All lanes of a warp look for the same one, by PROBES numbers a round, which four lanes each
    look at: first at the neighbours of the guess, then each round leaves a ninth of what there was. More probes would
    touch more sectors than they save rounds."""
    near = op("max", least, op("min", op("-", guess, integer(PROBES // 2)), most))
    first = code.let_int("near", near)
    many = probes(code, first, integer(1), most, holds)
    none, found = op("==", many, integer(0)), op("+", first, many)
    low = code.var("low", "int", op("select", none, least, found))
    high = code.var("high", "int", op("select", none, first, op("select", op("<", many, integer(PROBES)), found, most)))
    with code.block() as body:
        apart = op("+", op("/", op("-", loops.Name(high), loops.Name(low)), integer(PROBES + 1)), integer(1))
        way = code.let_int("apart", apart)
        many = probes(code, loops.Name(low), way, loops.Name(high), holds)
        code.add(loops.Set(low, op("+", loops.Name(low), op("*", many, way))))
        code.add(loops.Set(high, op("min", loops.Name(high), op("+", loops.Name(low), op("-", way, integer(1))))))
    code.add(loops.While(op("<", loops.Name(low), loops.Name(high)), tuple(body)))
    return loops.Name(low)


def probes(code: Code, first: loops.Exp, apart: loops.Exp, most: loops.Exp,
           holds: Callable[[loops.Exp], loops.Exp]) -> loops.Exp:
    """Of how many of the PROBES numbers after the first, so far apart, it holds; of none beyond the most."""
    number = op("+", op("rshift", LANE, integer(2)), integer(1))
    probed = code.let_int("probed", op("+", first, op("*", number, apart)))
    held = code.let("held", Value(op("and", op("<=", probed, most), holds(op("min", probed, most))), "bool"))
    assert isinstance(held.exp, loops.Name)
    return code.let_int("many", op("rshift", op("ones", loops.Vote(held.exp.name)), integer(2)))


def launch(kernel: Kernel, use: str, code: Code, blocks: loops.Exp | None, buffers: tuple[Buffer, ...] = (),
           alone: bool = False, about: str = "") -> None:
    """Adds a phase that does what has been written, unless an earlier kernel has failed. `alone`: the first thread of
    its block does it, and the others do not even look. `about`: what it does, for readers."""
    unless_stopped(code)
    if alone:                               # the others must not read that it has stopped when the first says so
        leave_if(code, op("/=", THREAD, integer(0)), "one thread does it all")
    kernel.phase(use, code, blocks, buffers, "cuda", about)


def unless_stopped(code: Code) -> None:
    """Puts before what has been written so far: nothing happens after a kernel that failed, which may have left
    indices that are out of range."""
    leave_if(code, op("/=", loops.Load(code.array("errors", "int", writable=code.fails), integer(STOPPED)), integer(0)),
             "after a kernel that has failed nothing is done")


def leave_if(code: Code, condition: loops.Exp, why: str) -> None:
    """Puts before what has been written so far: threads for which this holds do nothing."""
    written = code.statements
    shared = sum(isinstance(statement, loops.Shared) for statement in written)
    code.statements = [*written[:shared], loops.Note(why), loops.If(condition, (loops.Return(),)), *written[shared:]]


def stop_if_failed(code: Code) -> None:
    """Write the work that the last launch of a kernel that can fail does for those after it."""
    errors = code.array("errors", "int", writable=True)
    failed = op("/=", loops.Load(errors, integer(FAILURE)), integer(NO_FAILURE))
    if code.fails:                          # this function's own failure is recorded at its end
        failed = op("or", failed, op("<", loops.Name("failed"), integer(NO_FAILURE)))
    code.add(loops.If(failed, (loops.Store(errors, integer(STOPPED), integer(1)),)))


def keep_parts(kernel: Kernel, sweep: Sweep, states: list[State], block: loops.Exp,
               blocks: loops.Exp) -> tuple[Buffer, ...]:
    """The block's totals go to its `parts`; the buffers of these."""
    reduce_block(kernel, sweep.code, sweep, states)
    if states:
        sweep.code.note("what the block comes to is left for the finish")
    with first_thread(sweep.code):
        for state in states:
            keep(sweep.code, state, "parts", block, sweep.now(state))
    return tuple([buffer for state in states for buffer in state_buffers(state, "parts", blocks)])


def reduce_block(kernel: Kernel, code: Code, run: Sweep, states: list[State]) -> None:
    """Afterwards thread 0 holds the totals of the block, threads taken in order."""
    for state in states:
        code.note(f"{' and '.join(state.components)} of the block: each warp's by shuffles, then all; thread 0 has it")
        names = run.variables[state.name]
        for offset in (1, 2, 4, 8, 16):
            above = tuple(code.let(hint, Value(loops.Shuffle(name, integer(offset)), type_)) for hint, name, type_ in
                          zip(state.buffers("above"), names, state.monoid.types, strict=True))
            assign(code, names, combine(code, kernel.tables, state, current(state, names), above))
        over_warps(kernel, code, state, names)


def over_warps(kernel: Kernel, code: Code, state: State, names: tuple[str, ...]) -> None:
    shared = [code.shared(name, type_, WARPS)
              for name, type_ in zip(state.buffers("warps"), state.monoid.types, strict=True)]
    warp = op("/", THREAD, integer(WARP))
    leaders = tuple(loops.Store(s, warp, loops.Name(n)) for s, n in zip(shared, names, strict=True))
    code.add(loops.If(op("==", LANE, integer(0)), leaders))
    code.add(loops.Barrier())
    number = code.fresh("warp")
    with code.block() as rest:
        others = tuple(code.let(f"{s}_at", Value(loops.Load(s, loops.Name(number)), t))
                       for s, t in zip(shared, state.monoid.types, strict=True))
        assign(code, names, combine(code, kernel.tables, state, current(state, names), others))
    code.add(loops.If(op("==", THREAD, integer(0)),
                      (loops.For(number, integer(1), integer(WARPS), tuple(rest)),)))
