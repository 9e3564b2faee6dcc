"""What the threads of a block of any shape come to: by halves, in shared memory.

    half = 512; while (half > 0) {              the threads are numbered, x first
      if (half <= thread && thread < 2 * half) held[thread - half] = sum;
      barrier;
      if (thread < half && thread + half < threads) sum = sum + held[thread];
      barrier;
      half = half / 2;
    }

Threads are numbered in another order than their indices, so only operators whose sides may be exchanged are taken.
"""
from __future__ import annotations

from collections.abc import Sequence

from nessie.cudagen.kernels.code import Value, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.elements import Sweep
from nessie.cudagen.skeletons.kernel import Kernel
from nessie.cudagen.skeletons.states import State, assign, combine, current, keep


def leave_parts(kernel: Kernel, sweep: Sweep, states: Sequence[State], most: int,
                first: loops.Exp) -> None:
    """Each block, of at most so many threads, leaves what it comes to in `parts`, from the first on."""
    code = sweep.code
    thread = code.let_int("thread", number("threadIdx", "blockDim"))
    threads = code.let_int("threads", count("blockDim"))
    half_of_most = 1
    while half_of_most * 2 < most:
        half_of_most *= 2
    for state in states:
        code.note(f"{' and '.join(state.components)} of the block, by halves; its first thread has it")
        names = sweep.variables[state.name]
        held = [code.shared(name, type_, half_of_most) for name, type_ in
                zip(state.buffers("held"), state.monoid.types, strict=True)]
        half = loops.Name(code.var("half", "int", integer(half_of_most if most > 1 else 0)))
        with code.block() as rounds:
            upper = op("and", op("<=", half, thread), op("<", thread, op("*", half, integer(2))))
            code.add(loops.If(upper, tuple([loops.Store(array, op("-", thread, half), loops.Name(name))
                                            for array, name in zip(held, names, strict=True)])))
            code.add(loops.Barrier())
            with code.block() as joined:
                others = tuple([code.let(f"{array}_at", Value(loops.Load(array, thread), type_))
                                for array, type_ in zip(held, state.monoid.types, strict=True)])
                assign(code, names, combine(code, kernel.tables, state, current(state, names), others))
            lower = op("and", op("<", thread, half), op("<", op("+", thread, half), threads))
            code.add(loops.If(lower, tuple(joined)))
            code.add(loops.Barrier())
            code.add(loops.Set(half.name, op("rshift", half, integer(1))))
        code.add(loops.While(op("<", integer(0), half), tuple(rounds)))
    block = code.let_int("block", number("blockIdx", "gridDim"))
    block = block if first == integer(0) else op("+", first, block)
    with code.block() as kept:
        for state in states:
            keep(code, state, "parts", block, sweep.now(state))
    code.add(loops.If(op("==", thread, integer(0)), tuple(kept)))


def number(place: str, sizes: str) -> loops.Exp:
    """The number of a thread in its block, or of a block, of which x changes first."""
    x, y, z = [loops.Name(f"{place}{direction}") for direction in ("", "_y", "_z")]
    of_x, of_y = loops.Name(sizes), loops.Name(f"{sizes}_y")
    return op("+", x, op("*", of_x, op("+", y, op("*", of_y, z))))


def count(sizes: str) -> loops.Exp:
    x, y, z = [loops.Name(f"{sizes}{direction}") for direction in ("", "_y", "_z")]
    return op("*", x, op("*", y, z))
