"""Decoupled look-back: a tile finds what all tiles before it come to while these may still be at work.

A tile publishes what it comes to by itself, then goes back over earlier tiles, a warp of them at a time, until one has
published what it and all before it come to, and publishes that together with its own. (Merrill and Garland,
Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016.) It ends because tiles draw their numbers when they
begin. How tiles are joined depends on what had been published: sums of floats may differ in their last bits.
"""
from __future__ import annotations

from nessie.cudagen import loops
from nessie.cudagen.code import Code, Value, integer, op
from nessie.cudagen.plan import Buffer
from nessie.cudagen.skeletons.cuda_blocks import LANE, WARP, first_thread, shared_array
from nessie.cudagen.skeletons.cuda_sums import Sums, append, component_wise, join_lanes, prepend, restarting, sums
from nessie.cudagen.skeletons.kernel import Kernel, state_buffers
from nessie.cudagen.skeletons.states import keep

AGGREGATE, PREFIX = integer(1), integer(2)          # what of a tile is published; 0: nothing yet


def published_buffers(kernel: Kernel, prefix: str, tiles: loops.Exp) -> tuple[Buffer, ...]:
    """What tiles tell each other."""
    carries = kernel.carries
    if not carries:
        return ()
    buffers: tuple[Buffer, ...] = (Buffer(f"{prefix}status", "int", tiles, 0),
                                   Buffer(f"{prefix}tickets", "int", integer(1), 0))
    for use in ("aggregates", "prefixes"):
        for state in carries:
            buffers += state_buffers(state, prefix + use, tiles)
        if restarting(carries):
            buffers += (Buffer(f"ended_{prefix}{use}", "int", tiles),)
    return buffers


def ticket(code: Code, prefix: str) -> loops.Exp:
    """The number of the tile: blocks that have drawn smaller ones are running or done."""
    drawn, shared = code.fresh("drawn"), shared_array(code, "ticket", "int", 1)
    tickets = code.array(f"{prefix}tickets", "int", writable=True)
    with first_thread(code):
        code.add(loops.Atomic("add", tickets, integer(0), integer(1), drawn))
        code.add(loops.Store(shared, integer(0), loops.Name(drawn)))
    code.add(loops.Barrier())
    return code.let_int("tile", loops.Load(shared, integer(0)))


def look_back(kernel: Kernel, code: Code, total: Sums, tile: loops.Exp, prefix: str) -> Sums:
    """Publishes what the tile comes to, finds what all tiles before it come to, and publishes both together. The first
    warp does it, of which each lane has the total; what it finds, the first lane has."""
    status = code.array(f"{prefix}status", "int", writable=True)
    with first_thread(code):
        with code.block() as published:
            publish(code, f"{prefix}aggregates", tile, total)
            code.add(loops.Store(status, tile, AGGREGATE, release=True))
        code.add(loops.If(op(">", tile, integer(0)), tuple(published)))
    earlier = sums(kernel, code, total, "earlier")
    nearest = code.var("nearest", "int", op("-", tile, integer(1)))
    with code.block() as body:
        wholes = look(kernel, code, earlier, loops.Name(nearest), prefix)
        code.add(loops.Set(nearest, op("select", op("/=", wholes, integer(0)), integer(-1),
                                       op("-", loops.Name(nearest), integer(WARP)))))
    code.add(loops.While(op(">=", loops.Name(nearest), integer(0)), tuple(body)))
    with first_thread(code):
        through = sums(kernel, code, total, "through")
        append(kernel, code, through, earlier)
        append(kernel, code, through, total)
        publish(code, f"{prefix}prefixes", tile, through)
        code.add(loops.Store(status, tile, PREFIX, release=True))
    return earlier


def look(kernel: Kernel, code: Code, earlier: Sums, nearest: loops.Exp, prefix: str) -> loops.Exp:
    """Prepends what a warp of tiles come to, the nearest seen by the first lane; those beyond the first that has
    published what all before it come to, too, do not count. Gives which lanes see such a tile."""
    at = code.let_int("at", op("-", nearest, LANE))
    found = code.var("found", "int", op("select", op("<", at, integer(0)), AGGREGATE, integer(0)))
    nothing = op("==", loops.Name(found), integer(0))
    status = loops.Load(code.array(f"{prefix}status", "int", writable=True), at, "acquire")
    code.add(loops.While(nothing, (loops.Set(found, status), loops.If(nothing, (loops.Pause(),)))))
    whole = code.let("whole", Value(op("==", loops.Name(found), PREFIX), "bool")).exp
    assert isinstance(whole, loops.Name)
    wholes = code.let_int("wholes", loops.Vote(whole.name))
    nearer = op("and", wholes, op("-", op("lshift", integer(1), LANE), integer(1)))
    counts = op("and", op(">=", at, integer(0)), op("==", nearer, integer(0)))
    here = sums(kernel, code, earlier, "here")
    for use, condition in ((f"{prefix}prefixes", whole), (f"{prefix}aggregates", op("not", whole))):
        with code.block() as taken:
            append(kernel, code, here, published_sums(code, earlier, use, at))
        code.add(loops.If(op("and", counts, condition), tuple(taken)))
    join_lanes(kernel, code, here)
    prepend(kernel, code, here, earlier)
    return wholes


def publish(code: Code, use: str, tile: loops.Exp, found: Sums) -> None:
    for state in found.states:
        keep(code, state, use, tile, found.values(state))
    if found.ended:
        code.store(f"ended_{use}", tile, Value(loops.Name(found.ended), "int"))


def published_sums(code: Code, like: Sums, use: str, tile: loops.Exp) -> Sums:
    def element(array: str, type_: str) -> str:
        name = code.fresh(f"{array}_at")
        code.add(loops.Let(name, type_, loops.Load(code.array(array, type_, writable=True), tile, "volatile")))
        return name

    return component_wise(like, lambda state, c: element(state.buffers(use)[c], state.monoid.types[c]),
                          lambda: element(f"ended_{use}", "int"))
