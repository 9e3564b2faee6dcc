"""A kernel's plan on the CPU: what each phase's function does, around the walk of its chunks.

    summary    chunked   only where there are carries: each chunk's total of each carry
    prefixes   once      turns the totals into what comes before each chunk; the counts of survivors become known
    sweep      chunked   the walk: all elements, all stores
    finish     once      totals in chunk order, segments that lay in several chunks, what runs once; scalars to cells

Memory for results is taken before `sweep`, when every size is known.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from nessie.cudagen import loops
from nessie.cudagen.code import Code, Value, identifier, integer, op
from nessie.cudagen.plan import ArrayResult, Buffer, Phase, Plan, Result, ScalarResult
from nessie.cudagen.skeletons.chunks import (
    CHUNK_RANGE_PARAMETERS,
    Chunks,
    Span,
    each_chunk,
    flat_chunk,
    search_function,
    segmented_chunk,
    span,
    start_of,
)
from nessie.cudagen.skeletons.elements import Sweep, position_of, rank_of, states_of
from nessie.cudagen.skeletons.states import COUNT, State, assign, combine, current, declare, held, identity, keep
from nessie.cudagen.thunks import Tables, apply
from nessie.cudagen.walk import UNIT, Step, Walk, using, value_names
from nessie.lambda_cu import ir
from nessie.lambda_cu.scope import subexpressions

CELLS = {"int": "cells", "float": "cells_float", "bool": "cells_bool", "char": "cells_char"}
CELL_STRIDE = {"int": 1, "float": 1, "bool": 8, "char": 2}      # elements of the type in a cell of 8 bytes


@dataclass
class Kernel:
    """A plan being made."""
    walk: Walk
    tables: Tables
    chunks: Chunks | None
    states: dict[str, State]
    slots: dict[str, int] = field(default_factory=dict)
    functions: list[loops.Function] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)

    @property
    def carries(self) -> list[State]:
        return [state for state in self.states.values() if state.kind == "carry"]

    def slot(self, name: str) -> int:
        return self.slots.setdefault(name, len(self.slots))

    def code(self) -> Code:
        """An empty function, which knows the kernel's parameters and the scalars that can be had before the walk."""
        walk = self.walk
        params = walk.kernel.params
        scalars = {p.name: p.type for p in params if not isinstance(p.type, ir.Array)}
        arrays = {p.name: p.type for p in params if isinstance(p.type, ir.Array)}
        return Code(scalars, arrays, walk.stored)

    def sweep(self, code: Code, states: list[State], active: frozenset[str], writing: bool = True) -> Sweep:
        return Sweep(code, self.tables, self.walk, {state.name: state for state in states}, active, writing)

    def phase(self, use: str, code: Code, chunks: loops.Exp | None, buffers: tuple[Buffer, ...] = (),
              kind: str = "host") -> None:
        name = f"{identifier(self.walk.kernel.name)}_{use}"
        first = CHUNK_RANGE_PARAMETERS if kind == "host" and chunks is not None else ()
        function = code.function(name, first, kind, self.walk.kernel.origin)
        self.functions.append(function)
        arguments = tuple("cells" if p.name in CELLS.values() else p.name for p in function.parameters[len(first):])
        self.phases.append(Phase(name, arguments, chunks, buffers))


def plan_walk(walk: Walk, tables: Tables, width: int) -> Plan:
    """The plan of a kernel whose bindings one walk computes."""
    search = f"{identifier(walk.kernel.name)}_segment_of"
    chunks = None if walk.root is None else Chunks(walk.root, width, walk.sequential, search)
    kernel = Kernel(walk, tables, chunks, states_of(walk))
    if chunks is not None:
        if walk.segmented:
            kernel.functions.append(search_function(chunks))
        if kernel.carries:
            summary(kernel, chunks)
            prefixes(kernel, chunks)
        sweep(kernel, chunks)
    finish(kernel, chunks)
    results = tuple(result_of(kernel, name) for name in walk.kernel.returns)
    elements = integer(1) if walk.root is None else items_exp(kernel, walk.root)
    return Plan(walk.kernel, tuple(kernel.functions), tuple(kernel.phases), results, len(kernel.slots), elements)


def result_of(kernel: Kernel, name: str) -> Result:
    type_ = kernel.walk.types[name]
    return ArrayResult(name) if isinstance(type_, ir.Array) else ScalarResult(kernel.slot(name), type_)


# Sizes ------------------------------------------------------------------------------------------


def size_exp(kernel: Kernel, size: ir.Size, plus: int = 0) -> loops.Exp:
    """A size for the host: of parameters, and of counts that are in cells when it is asked."""
    exp: loops.Exp
    if isinstance(size, int):
        return integer(size + plus)
    counted = {step.bind.names[side] for step in kernel.walk.steps for side in (0, 1)
               if (isinstance(step.bind.soac, ir.Filter) and side == 0) or isinstance(step.bind.soac, ir.Partition)}
    exp = loops.Load("cells", integer(kernel.slot(size))) if size in counted else loops.Name(size)
    return op("+", exp, integer(plus)) if plus else exp


def chunk_count(kernel: Kernel, chunks: Chunks) -> loops.Exp:
    return chunks.count(items_exp(kernel, chunks.root))


def items_exp(kernel: Kernel, root: ir.Space) -> loops.Exp:
    if isinstance(root, ir.Flat):
        return size_exp(kernel, root.size)
    return op("+", size_exp(kernel, root.total), size_exp(kernel, root.segments))


def result_buffers(kernel: Kernel) -> tuple[Buffer, ...]:
    found = []
    for step in kernel.walk.steps:
        for at, name in enumerate(step.bind.names):
            type_ = kernel.walk.types[name]
            if name in kernel.walk.stored and isinstance(type_, ir.Array):
                soac = step.bind.soac
                fill = soac.default[at].value if isinstance(soac, ir.Permute) else None
                found.append(Buffer(name, type_.base, size_exp(kernel, type_.size, type_.plus), fill))
    return tuple(found)


def state_buffers(state: State, use: str, size: loops.Exp) -> tuple[Buffer, ...]:
    return tuple(Buffer(name, type_, size) for name, type_ in zip(state.buffers(use), state.monoid.types, strict=True))


# Summary and prefixes ---------------------------------------------------------------------------


def summary(kernel: Kernel, chunks: Chunks) -> None:
    code = kernel.code()
    code.recording = False
    early_scalars(kernel, code)
    run = kernel.sweep(code, kernel.carries, needed_by_carries(kernel), writing=False)

    def chunk_body(chunk: loops.Exp) -> None:
        for state in kernel.carries:
            run.declare(state)
        part = summary_walk(kernel, run, chunks, chunk)
        for state in kernel.carries:
            keep(code, state, "carry", chunk, run.now(state))
        if part is not None and restarting(kernel):
            ends = op("btoi", op("<", part.s0, part.s1))
            code.store("ends", chunk, Value(ends, "int"))

    each_chunk(code, chunk_body)
    count = chunk_count(kernel, chunks)
    buffers = [b for state in kernel.carries for b in state_buffers(state, "carry", op("+", count, integer(1)))]
    if restarting(kernel):
        buffers.append(Buffer("ends", "int", count))
    kernel.phase("summary", code, count, tuple(buffers))


def summary_walk(kernel: Kernel, run: Sweep, chunks: Chunks, chunk: loops.Exp) -> Span | None:
    """Where every carry starts afresh in each segment, only the chunk's last segment plays a part."""
    if not all(state.restarts for state in kernel.carries):
        return walk_chunk(kernel, run, chunks, chunk)
    part = span(run.code, chunks, chunk)
    last = Span(part.s1, part.i0, part.s1, part.i1)
    segmented_chunk(run.code, chunks, last, lambda s: run.segment(s, prologue=True),
                    lambda s, start, i: run.root(i, s, start), lambda s: None)
    return part


def restarting(kernel: Kernel) -> bool:
    return any(state.restarts for state in kernel.carries)


def needed_by_carries(kernel: Kernel) -> frozenset[str]:
    """The steps that the carries' own values are made by, their FILTERs among them."""
    walk = kernel.walk
    active: set[str] = set()
    needed: set[str] = set()
    for step in reversed(walk.steps):
        names = set(step.bind.names) - {"_"}
        own = {step.name, *(use(step, side) for use in (rank_of, position_of) for side in (0, 1))}
        carried = any(state.name in own for state in kernel.carries)
        if step.place != UNIT and (carried or names & needed or step.name in needed):
            active |= {step.name} | (names & needed)
            needed |= summary_reads(step, needed)
            if step.place.kind == "residual":
                needed.add(step.place.filter)
    return frozenset(active)


def summary_reads(step: Step, needed: set[str]) -> set[str]:
    """What a summary reads for this step: a FILTER's values only if something on its survivors reads them."""
    soac = step.bind.soac
    if isinstance(soac, (ir.Filter, ir.Partition)):
        used = any(needed & set(names) for names in value_names(step.bind))
        return set(soac.predicate.using) | (set(soac.value.using) if used else set())
    return using(soac)


def prefixes(kernel: Kernel, chunks: Chunks) -> None:
    code = kernel.code()
    early_scalars(kernel, code)
    count = code.let_int("chunks", chunks.count(chunks.items(code)))
    running = {state.name: declare(code, kernel.tables, state) for state in kernel.carries}

    def chunk_body(chunk: loops.Exp) -> None:
        for state in kernel.carries:
            names = running[state.name]
            total = held(code, state, "carry", chunk)
            keep(code, state, "carry", chunk, current(state, names))
            with code.block() as goes_on:
                assign(code, names, combine(code, kernel.tables, state, current(state, names), total))
            if not state.restarts:
                code.statements += goes_on
                continue
            with code.block() as restarts:
                assign(code, names, total)
            ends = op("/=", loops.Load(code.array("ends", "int"), chunk), integer(0))
            code.add(loops.If(ends, tuple(restarts), tuple(goes_on)))

    each_chunk(code, chunk_body, integer(0), count)
    for state in kernel.carries:
        keep(code, state, "carry", count, current(state, running[state.name]))
    for step in kernel.walk.steps:
        for side in (0, 1):
            if rank_of(step, side) in running and step.bind.names[side] != "_":
                (total,) = running[rank_of(step, side)]
                to_cell(kernel, code, step.bind.names[side], Value(loops.Name(total), "int"))
    kernel.phase("prefixes", code, None)


def to_cell(kernel: Kernel, code: Code, name: str, value: Value) -> None:
    slot = kernel.slot(name) * CELL_STRIDE[value.type]
    code.store(CELLS[value.type], integer(slot), value)


# The sweep --------------------------------------------------------------------------------------


def sweep(kernel: Kernel, chunks: Chunks) -> None:
    code = kernel.code()
    early_scalars(kernel, code)
    counted_sizes(kernel, code)
    run = kernel.sweep(code, list(kernel.states.values()), all_steps(kernel))

    def chunk_body(chunk: loops.Exp) -> None:
        for state in kernel.states.values():
            run.declare(state)
            if state.kind == "carry":
                assign(code, run.variables[state.name], held(code, state, "carry", chunk))
                if state.monoid is COUNT and not state.restarts:
                    (run.limits[state.name],) = (v.exp for v in held(code, state, "carry", op("+", chunk, integer(1))))
        walk_chunk(kernel, run, chunks, chunk)
        for state in kernel.states.values():
            if state.kind != "carry":
                keep(code, state, "tails" if state.kind == "segment" else "parts", chunk, run.now(state))

    each_chunk(code, chunk_body)
    count = chunk_count(kernel, chunks)
    buffers = result_buffers(kernel)
    for state in kernel.states.values():
        uses = {"segment": ("tails", "heads"), "total": ("parts",), "carry": ()}[state.kind]
        for use in uses:
            buffers += state_buffers(state, use, count)
    kernel.phase("sweep", code, count, buffers)


def counted_sizes(kernel: Kernel, code: Code) -> None:
    """Scatters into as many elements as survive find that number in its cell."""
    for step in kernel.walk.steps:
        soac = step.bind.soac
        if isinstance(soac, ir.Permute) and soac.size in kernel.slots:
            count = loops.Load(code.array("cells", "int"), integer(kernel.slots[str(soac.size)]))
            code.values[str(soac.size)] = Value(count, "int")


def all_steps(kernel: Kernel) -> frozenset[str]:
    return frozenset(step.name for step in kernel.walk.steps)


def walk_chunk(kernel: Kernel, run: Sweep, chunks: Chunks, chunk: loops.Exp) -> Span | None:
    """The chunk's elements and, where there are segments, their beginnings and ends."""
    code = run.code
    if not kernel.walk.segmented:
        flat_chunk(code, chunks, chunk, run.root)
        return None
    part = span(code, chunks, chunk)
    unfinished: loops.Exp = integer(-1)
    if run.writing and segment_states(kernel):
        assert not isinstance(chunks.root, ir.Flat)
        start = start_of(code, chunks.root, part.s0)
        unfinished = code.let_int("unfinished", op("select", op("<", start, part.i0), part.s0, integer(-1)))
    segmented_chunk(code, chunks, part, lambda s: run.segment(s, prologue=True),
                    lambda s, start, i: run.root(i, s, start),
                    lambda s: segment_end(kernel, run, chunk, s, unfinished))
    return part


def segment_states(kernel: Kernel) -> list[State]:
    return [state for state in kernel.states.values() if state.kind == "segment"]


def segment_end(kernel: Kernel, run: Sweep, chunk: loops.Exp, segment: loops.Exp, unfinished: loops.Exp) -> None:
    """Results of a segment. One that began in an earlier chunk is left to `finish`."""
    code = run.code
    if run.writing:
        survivors_offsets(kernel, run, segment)
        with code.block() as complete:
            results(kernel, run, segment, {s.name: run.now(s) for s in segment_states(kernel)})
        if segment_states(kernel):
            with code.block() as later:
                for state in segment_states(kernel):
                    keep(code, state, "heads", chunk, run.now(state))
            code.add(loops.If(op("==", segment, unfinished), tuple(later), tuple(complete)))
        else:
            code.statements += complete
    for state in run.states.values():
        if state.kind == "segment" or state.restarts:
            assign(code, run.variables[state.name], identity(code, kernel.tables, state))


def survivors_offsets(kernel: Kernel, run: Sweep, segment: loops.Exp) -> None:
    """After segment s, a SEG_FILTER's offsets say how many survivors there are so far."""
    for step, name in segmented_filters(kernel):
        (count,) = run.now(kernel.states[rank_of(step, 0)])
        run.code.store(name, op("+", segment, integer(1)), count)


def segmented_filters(kernel: Kernel) -> list[tuple[Step, str]]:
    return [(step, step.bind.names[-1]) for step in kernel.walk.steps if isinstance(step.bind.soac, ir.Filter)
            and isinstance(step.bind.soac.space, ir.Segmented) and step.bind.names[-1] in kernel.walk.stored]


def results(kernel: Kernel, run: Sweep, segment: loops.Exp, totals: dict[str, tuple[Value, ...]]) -> None:
    """SEG_REDUCEs' results for a segment, and what is computed of them."""
    for step in kernel.walk.steps:
        if step.name in totals:
            copies = tuple(run.keep_now(name, value)
                           for name, value in zip(step.bind.names, totals[step.name], strict=True))
            run.bind(step.bind.names, segment, copies)
    run.segment(segment, prologue=False)


# Finish -----------------------------------------------------------------------------------------


def finish(kernel: Kernel, chunks: Chunks | None) -> None:
    code = kernel.code()
    code.arrays |= {name: type_ for name in kernel.walk.stored
                    if isinstance(type_ := kernel.walk.types[name], ir.Array)}
    early_scalars(kernel, code)
    run = kernel.sweep(code, [s for s in kernel.states.values() if s.kind != "carry"], all_steps(kernel))
    if chunks is not None:
        finish_chunks(kernel, run, chunks)
    for step in kernel.walk.steps:
        final_values(kernel, run, chunks, step)
    returned_scalars(kernel, code)
    if code.statements:
        kernel.phase("finish", code, None)


def returned_scalars(kernel: Kernel, code: Code) -> None:
    for name in kernel.walk.kernel.returns:
        if name in code.values and not isinstance(kernel.walk.types[name], ir.Array):
            to_cell(kernel, code, name, code.values[name])


def finish_chunks(kernel: Kernel, run: Sweep, chunks: Chunks) -> None:
    """Chunk by chunk: the segment that it found unfinished, then its totals."""
    code = run.code
    totals = [state for state in run.states.values() if state.kind == "total"]
    if not run.states:
        return
    for state in run.states.values():
        run.declare(state)
    count = code.let_int("chunks", chunks.count(chunks.items(code)))

    def chunk_body(chunk: loops.Exp) -> None:
        if segment_states(kernel):
            finish_segment(kernel, run, chunks, chunk)
        for state in totals:
            run.accumulate(state, held(code, state, "parts", chunk))

    each_chunk(code, chunk_body, integer(0), count)


def finish_segment(kernel: Kernel, run: Sweep, chunks: Chunks, chunk: loops.Exp) -> None:
    """The states hold what earlier chunks have of the segment that is open where this chunk begins."""
    code = run.code
    assert not isinstance(chunks.root, ir.Flat)
    part = span(code, chunks, chunk)
    states = segment_states(kernel)
    with code.block() as ends:
        with code.block() as unfinished:
            totals = {state.name: combine(code, kernel.tables, state, run.now(state),
                                          held(code, state, "heads", chunk)) for state in states}
            run.segment(part.s0, prologue=True)
            results(kernel, run, part.s0, totals)
        code.add(loops.If(op("<", start_of(code, chunks.root, part.s0), part.i0), tuple(unfinished)))
        for state in states:
            assign(code, run.variables[state.name], held(code, state, "tails", chunk))
    with code.block() as goes_on:
        for state in states:
            run.accumulate(state, held(code, state, "tails", chunk))
    code.add(loops.If(op("<", part.s0, part.s1), tuple(ends), tuple(goes_on)))


def final_values(kernel: Kernel, run: Sweep, chunks: Chunks | None, step: Step) -> None:
    """What a step gives when all is done: scalars, a SCAN's total, the first of a SEG_FILTER's offsets."""
    code, soac, names = run.code, step.bind.soac, step.bind.names
    match soac:
        case ir.Reduce() if kernel.states[step.name].kind == "total":
            code.values.update(zip(names, run.now(kernel.states[step.name]), strict=True))
        case ir.Scan(space=ir.Flat(size), total=True) if chunks is not None:
            for name, value in zip(names, after_all(run, chunks, kernel.states[step.name]), strict=True):
                if name in kernel.walk.stored:
                    code.store(name, code.size(size), value)
        case ir.Filter() | ir.Partition() if chunks is not None:
            counts(kernel, run, chunks, step)
        case ir.Once(thunk) if not code.values.keys() >= set(names) - {"_"} or set(names) == {"_"}:
            once(kernel, code, thunk, names)


def after_all(run: Sweep, chunks: Chunks, state: State) -> tuple[Value, ...]:
    """What a carry is after the last element."""
    count = run.code.let_int("chunks", chunks.count(chunks.items(run.code)))
    return held(run.code, state, "carry", count)


def counts(kernel: Kernel, run: Sweep, chunks: Chunks, step: Step) -> None:
    sides = (0, 1) if isinstance(step.bind.soac, ir.Partition) else (0,)
    for side in sides:
        state = kernel.states.get(rank_of(step, side))
        if state is not None and step.bind.names[side] != "_":
            (count,) = run.now(state) if state.kind == "total" else after_all(run, chunks, state)
            run.code.values[step.bind.names[side]] = count
    if step.bind.names[-1] in {name for _, name in segmented_filters(kernel)}:
        run.code.store(step.bind.names[-1], integer(0), Value(integer(0), "int"))


def once(kernel: Kernel, code: Code, thunk: ir.Thunk, names: tuple[str, ...]) -> None:
    code.error_index = integer(0)
    values = apply(code, kernel.tables, thunk, ())
    code.values.update((name, code.let(name, value)) for name, value in zip(names, values, strict=True) if name != "_")


def early_scalars(kernel: Kernel, code: Code) -> None:
    """ONCEs that need nothing of this kernel and that its elements read come before the walk."""
    walk = kernel.walk
    wanted = {name for step in walk.steps if step.place != UNIT for name in scalars_of(step.bind.soac)}
    for step in walk.at(UNIT):
        if isinstance(step.bind.soac, ir.Once) and wanted & set(step.bind.names):
            once(kernel, code, step.bind.soac.thunk, step.bind.names)


def scalars_of(soac: ir.Soac) -> set[str]:
    """Names that the SOAC's thunks and identity read."""
    names = using(soac)
    if isinstance(soac, (ir.Reduce, ir.Scan)):
        names |= set(soac.operator.using)
        names |= {e.name for exp in soac.identity for e in subexpressions(exp) if isinstance(e, ir.Var)}
    return names
