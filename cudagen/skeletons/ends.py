"""What a segment has at its end, whoever walks it: results of SEG_REDUCEs, and offsets of SEG_FILTERs."""
from __future__ import annotations

from nessie.cudagen.kernels.code import Value, integer, op
from nessie.cudagen.kernels.walk import Step
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.elements import Sweep, rank_of
from nessie.cudagen.skeletons.kernel import Kernel
from nessie.lambda_cu.selection import selection


def results(kernel: Kernel, run: Sweep, segment: loops.Exp, totals: dict[str, tuple[Value, ...]]) -> None:
    """SEG_REDUCEs' results for a segment, and what is computed of them."""
    for step in kernel.walk.steps:
        if step.name in totals:
            copies = tuple(run.keep_now(name, value)
                           for name, value in zip(step.bind.names, totals[step.name], strict=True))
            run.bind(step.bind.names, segment, copies)
    run.segment(segment, prologue=False)


def survivors_offsets(kernel: Kernel, run: Sweep, segment: loops.Exp) -> None:
    """After segment s, a SEG_FILTER's offsets say how many survivors there are so far."""
    for step, name in segmented_filters(kernel):
        (count,) = run.now(kernel.states[rank_of(step, 0)])
        run.code.store(name, op("+", segment, integer(1)), count)


def segmented_filters(kernel: Kernel) -> list[tuple[Step, str]]:
    return [(step, offsets) for step in kernel.walk.steps if (selected := selection(step.bind))
            for offsets in selected.offsets if offsets in kernel.walk.stored]
