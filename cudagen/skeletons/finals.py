"""The results of a walk's step when all elements are done: scalars, a SCAN's total, the first of a SEG_FILTER's
offsets. Every way of walking ends so; they differ in where they find what a carry is after the last element (`last`).
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.cudagen.kernels.code import Value, integer
from nessie.cudagen.kernels.walk import Step
from nessie.cudagen.skeletons.elements import Sweep, rank_of
from nessie.cudagen.skeletons.kernel import Kernel, bind_once
from nessie.cudagen.skeletons.states import State
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.selection import selection

Last = Callable[[State], tuple[Value, ...]]


def final_values(kernel: Kernel, run: Sweep, step: Step, last: Last | None) -> None:
    """`last`: None where nothing is walked, so that nothing is carried."""
    code, soac, names = run.code, step.bind.soac, step.bind.names
    match soac:
        case ir.Reduce() if kernel.states[step.name].kind == "total":
            code.values.update(zip(names, run.now(kernel.states[step.name]), strict=True))
        case ir.Scan(space=ir.Flat(size), total=True) if last is not None:
            for name, value in zip(names, last(kernel.states[step.name]), strict=True):
                if name in kernel.walk.stored:
                    code.store(name, code.size(size), value)
        case ir.Once(thunk) if not code.values.keys() >= set(names) - {"_"} or set(names) == {"_"}:
            bind_once(kernel, code, thunk, names)
    if (selected := selection(step.bind)) and last is not None:
        for side, count in enumerate(selected.counts):
            state = kernel.states.get(rank_of(step, side))
            if state is not None and count != "_":
                (code.values[count],) = last(state)
        for offsets in kernel.walk.stored.intersection(selected.offsets):
            code.store(offsets, integer(0), Value(integer(0), "int"))
