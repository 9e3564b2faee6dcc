"""Common work of the threads of a block, and common parts of all launches of a GPU's kernel."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from nessie.base.records import dataclass
from nessie.cudagen.host.device import FAILURE, NO_FAILURE, STOPPED
from nessie.cudagen.kernels.code import NOTHING, Code, Value, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import THREADS, Buffer, Shape
from nessie.cudagen.loops.walk import parts
from nessie.cudagen.skeletons.counted import count_of
from nessie.cudagen.skeletons.elements import Sweep
from nessie.cudagen.skeletons.kernel import Kernel, state_buffers
from nessie.cudagen.skeletons.states import State, assign, combine, current, keep

MOST_BLOCKS = 1024              # where each thread takes elements that are a grid apart
WARP = 32
WARPS = THREADS // WARP
THREAD, BLOCK, BLOCKS = loops.Name("threadIdx"), loops.Name("blockIdx"), loops.Name("gridDim")
LANE = op("and", THREAD, integer(WARP - 1))
HALF = WARP // 2
SECTOR = 4                      # numbers in a sector of memory
PROBES = HALF // SECTOR         # sectors that half a warp looks at at a time
PROBE = op("and", op("/", THREAD, integer(SECTOR)), integer(PROBES - 1))    # which of them a thread has a number of
DRAWN, ENDED = integer(0), integer(1)   # tickets: of blocks that begin, and of those that end
AFTER_FAILURE = "after a kernel that has failed nothing is done"


def grid(size: loops.Exp) -> loops.Exp:
    """The number of blocks that walk so many elements that are a grid apart."""
    return op("min", count_of(size, THREADS), integer(MOST_BLOCKS))


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


@dataclass(frozen=True)
class Known:
    """What a search knows, in variables: the number lies in low..high, `below` is no greater than low's key, and
    `above` no greater than that of what follows high, and greater than the item."""
    low: loops.Name
    high: loops.Name
    below: loops.Name
    above: loops.Name


def last_by_halves(code: Code, most: loops.Exp, item: loops.Exp, items: loops.Exp,
                   key: Callable[[loops.Exp], loops.Exp]) -> loops.Exp:
    """The last number in 0..most whose key, which lies in memory, is no greater than the item, as that of 0 is: keys
    grow, up to `items`. Each half of a warp looks for one, the first for that of the lesser item. In a round it looks
    at whole sectors of keys: two where the item was if keys grew evenly between those that are known, and one further
    off, below for the first half, above for the second; or, after a round that left more than an eighth, and where few
    are left, at PROBES sectors that are equally far apart. Then halves tell each other what they know, so that they
    look at the same sectors as long as they can. More of them would be more to load than they save rounds."""
    begins = {"low": integer(0), "high": most, "below": integer(0), "above": op("+", items, integer(1))}
    known = Known(**{hint: loops.Name(code.var(hint, "int", first)) for hint, first in begins.items()})
    slow, looks = [loops.Name(code.var(hint, "bool", loops.Const(value, "bool")))
                   for hint, value in (("slow", False), ("looks", True))]
    with code.block() as body:
        width = code.let_int("width", op("-", known.high, known.low))
        probed = code.var("probed", "int", number_in(evenly(known, width)))
        with code.block() as guess:
            code.add(loops.Set(probed, guessed(code, known, width, item)))
        few = op("<", width, integer(PROBES * SECTOR))
        code.add(loops.If(op("not", op("or", slow, few)), tuple(guess)))
        code.add(loops.Set(probed, op("select", looks, loops.Name(probed), known.low)))
        narrow(code, known, probed, item,
               lambda number: key(op("max", known.low, op("min", number, known.high))))
        learn_from_other(code, known, item)
        code.add(loops.Set(slow.name, op("<", width, op("*", op("-", known.high, known.low), integer(8)))))
        code.add(loops.Set(looks.name, op("<", known.low, known.high)))
    code.add(loops.While(op("/=", loops.Vote(looks.name), integer(0)), tuple(body)))
    return known.low


def sector_of(number: loops.Exp) -> loops.Exp:
    """The first number in the sector of this one."""
    return op("and", number, integer(-SECTOR))


def number_in(number: loops.Exp) -> loops.Exp:
    """The lane's number in the sector of this one."""
    return op("+", sector_of(number), op("and", LANE, integer(SECTOR - 1)))


def evenly(known: Known, width: loops.Exp) -> loops.Exp:
    """A number in the lane's sector, of sectors that are equally far apart, or side by side."""
    apart = op("max", op("+", op("/", width, integer(PROBES + 1)), integer(1)), integer(SECTOR))
    return op("+", known.low, op("-", op("*", op("+", PROBE, integer(1)), apart), integer(SECTOR - 1)))


def guessed(code: Code, known: Known, width: loops.Exp, item: loops.Exp) -> loops.Exp:
    """The lane's number, of sectors near where the item was if keys grew evenly. Lanes do as their neighbours where the
    other half looks at a sector that does as well."""
    share = op("/", op("float", op("-", item, known.below)), op("float", op("-", known.above, known.below)))
    there = op("+", known.low, op("trunc", op("*", share, op("float", width))))
    guess = code.let_int("guess", op("max", op("+", known.low, integer(1)), op("min", there, known.high)))
    far = code.let_int("far", op("+", op("/", width, integer(12)), integer(2 * SECTOR)))           # not a sector twice
    aside = SECTOR * (PROBES - 1) // 2 - SECTOR                      # of the first sector that is near
    near = op("-", op("*", PROBE, integer(SECTOR)), integer(aside + SECTOR))
    ends = op("select", op("==", PROBE, integer(0)), op("-", integer(0), far), far)
    inner = op("and", op("<", integer(0), PROBE), op("<", PROBE, integer(PROBES - 1)))
    number = code.let_int("number", number_in(op("+", guess, op("select", inner, near, ends))))
    least = sector_of(op("-", guess, integer(aside)))
    most = op("+", sector_of(op("+", guess, integer(aside))), integer(SECTOR - 1))
    return op("select", op("<", LANE, integer(HALF)), op("min", number, most), op("max", number, least))


def narrow(code: Code, known: Known, probed: str, item: loops.Exp, key: Callable[[loops.Exp], loops.Exp]) -> None:
    """The lanes look at the keys of the numbers that they have probed, which grow over half a warp."""
    number, found = loops.Name(probed), loops.Name(code.var("key", "int", key(loops.Name(probed))))
    held = code.let("held", Value(op("and", op("<=", number, known.high), op("<=", found, item)), "bool"))
    assert isinstance(held.exp, loops.Name)
    half, all_ = op("and", LANE, integer(HALF)), integer((1 << HALF) - 1)
    many = code.let_int("many", op("ones", op("and", op("rshift", loops.Vote(held.exp.name), half), all_)))
    lanes = {"last": op("max", op("-", many, integer(1)), integer(0)), "following": op("min", many, integer(HALF - 1))}
    (last, last_key), (following, following_key) = [
        [code.let_int(hint, loops.Shuffle(name, lane, "index"))
         for hint, name in ((which, probed), (f"{which}_key", found.name))]
        for which, place in lanes.items() for lane in [code.let_int("lane", op("+", half, place))]]
    code.add(loops.If(op("<", integer(0), many), (
        loops.Set(known.low.name, op("max", known.low, last)),
        loops.Set(known.below.name, op("max", known.below, last_key)))))
    code.add(loops.If(op("and", op("<", many, integer(HALF)), op("<=", following, known.high)), (
        loops.Set(known.above.name, following_key),
        loops.Set(known.high.name, op("-", following, integer(1))))))


def learn_from_other(code: Code, known: Known, item: loops.Exp) -> None:
    """What the other half of the warp knows of keys holds for the item, too, where that lies on the same side."""
    other = code.let_int("other", op("xor", LANE, integer(HALF)))
    low, below, high, above = [code.let_int(f"other_{hint}", loops.Shuffle(vars(known)[hint].name, other, "index"))
                               for hint in ("low", "below", "high", "above")]
    code.add(loops.If(op("and", op("<", known.low, low), op("<=", below, item)),
                      (loops.Set(known.low.name, low), loops.Set(known.below.name, below))))
    code.add(loops.If(op("and", op("<", high, known.high), op("<", item, above)),
                      (loops.Set(known.high.name, high), loops.Set(known.above.name, above))))


def launch(kernel: Kernel, use: str, code: Code, blocks: loops.Exp | None, buffers: tuple[Buffer, ...] = (),
           alone: bool = False, numbered: bool = False, about: str = "", shape: Shape | None = None,
           given: Mapping[str, loops.Exp] = NOTHING) -> None:
    """Adds a phase that does what has been written, unless an earlier kernel has failed. `alone`: the first thread of
    its block does it, and the others do not even look. `numbered`: who draws the block's number looks. `about`: what
    it does, for readers. `shape`, in place of blocks: of a launch in several directions; `given`: sizes that the host
    computes for parameters."""
    if not numbered:
        unless_stopped(code)
    if alone:                               # the others must not read that it has stopped when the first says so
        leave_if(code, op("/=", THREAD, integer(0)), "one thread does it all")
    kernel.phase(use, code, blocks, buffers, "cuda", about, shape=shape, given=given)


def unless_stopped(code: Code) -> None:
    """Puts before what has been written so far: nothing happens after a kernel that failed, which may have left
    indices that are out of range."""
    leave_if(code, has_stopped(code), AFTER_FAILURE)


def has_stopped(code: Code) -> loops.Exp:
    """Has an earlier kernel failed?"""
    errors = code.array("errors", "int", writable=code.fails)
    return op("/=", loops.Load(errors, integer(STOPPED)), integer(0))


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
