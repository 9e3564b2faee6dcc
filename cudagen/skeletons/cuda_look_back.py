"""Decoupled look-back: a tile finds what all tiles before it come to while these may still be at work.

A tile publishes what it comes to by itself, then goes back over earlier tiles until one has published what it and all
before it come to, and publishes that together with its own. (Merrill and Garland, Single-pass Parallel Prefix Scan with
Decoupled Look-back, 2016.) It ends because tiles draw their numbers when they begin.
"""
from __future__ import annotations

from nessie.cudagen import loops
from nessie.cudagen.code import Code, Value, integer, op
from nessie.cudagen.plan import Buffer
from nessie.cudagen.skeletons.cuda_blocks import THREAD, shared_array
from nessie.cudagen.skeletons.cuda_sums import Sums, append, component_wise, prepend, restarting, sums
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
    code.add(loops.If(op("==", THREAD, integer(0)), (
        loops.Atomic("add", code.array(f"{prefix}tickets", "int", writable=True), integer(0), integer(1), drawn),
        loops.Store(shared, integer(0), loops.Name(drawn)))))
    code.add(loops.Barrier())
    return code.let_int("tile", loops.Load(shared, integer(0)))


def look_back(kernel: Kernel, code: Code, total: Sums, tile: loops.Exp, prefix: str) -> Sums:
    """Publishes what the tile comes to, finds what all tiles before it come to, and publishes both together."""
    status = code.array(f"{prefix}status", "int", writable=True)
    with code.block() as published:
        publish(code, f"{prefix}aggregates", tile, total)
        code.add(loops.Store(status, tile, AGGREGATE, release=True))
    code.add(loops.If(op(">", tile, integer(0)), tuple(published)))
    earlier = sums(kernel, code, total, "earlier")
    at = code.var("at", "int", op("-", tile, integer(1)))
    with code.block() as body:
        found = code.var("found", "int", integer(0))
        nothing = op("==", loops.Name(found), integer(0))
        look = loops.Set(found, loops.Load(status, loops.Name(at), "acquire"))
        code.add(loops.While(nothing, (look, loops.If(nothing, (loops.Pause(),)))))
        whole = op("==", loops.Name(found), PREFIX)
        for use, condition in ((f"{prefix}prefixes", whole), (f"{prefix}aggregates", op("not", whole))):
            with code.block() as taken:
                prepend(kernel, code, published_sums(code, total, use, loops.Name(at)), earlier)
            code.add(loops.If(condition, tuple(taken)))
        code.add(loops.Set(at, op("select", whole, integer(-1), op("-", loops.Name(at), integer(1)))))
    code.add(loops.While(op(">=", loops.Name(at), integer(0)), tuple(body)))
    through = sums(kernel, code, total, "through")
    append(kernel, code, through, earlier)
    append(kernel, code, through, total)
    publish(code, f"{prefix}prefixes", tile, through)
    code.add(loops.Store(status, tile, PREFIX, release=True))
    return earlier


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
