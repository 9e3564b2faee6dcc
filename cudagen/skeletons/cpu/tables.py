"""REDUCE_BY_INDEX on several threads: tables for chains of chunks.

    sweep      chunk c belongs to chain c * chains / chunks     chunks of a chain come in order, chains side by side
               bins = result, or the chain's own part of `bins_tables`
               for i in chunk:  bins[p(i)] = bins[p(i)] (+) x(i)
    joined     for each place s:  result[s] = result[s] (+) table 1's [s] (+) table 2's [s] ...

What goes to one place depends on all before it, so that one thread would have to combine everything. The first chain
combines in the result, which holds at first what was there before, the others in tables of identities. How many chains
there are depends on sizes alone, and so do the bits: floats are added in order within a chain, and chains in order.
Tables cost memory, and the joining time: there are so many only that all have far fewer places than there are elements,
but for a second chain, which two elements a place are enough for.

A kernel in which some other write depends on the order of all elements has one chain.
"""
from __future__ import annotations

from nessie.base.values import DTYPES
from nessie.base.widths import wide
from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.kernels.thunks import apply
from nessie.cudagen.kernels.walk import SEGMENT, Step
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import Buffer
from nessie.cudagen.skeletons.chunks import FIRST, LAST, Chunks
from nessie.cudagen.skeletons.counted import count_of
from nessie.cudagen.skeletons.elements import Sweep
from nessie.cudagen.skeletons.kernel import Kernel, chunk_count, items_exp, size_exp
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import writes_in_order

MOST = 8                # chains
LONG = 8                # chunks of a chain, at least
SPARSE = 16             # elements for each place of all tables, at least
TWO = 2                 # elements for each place that are worth a second chain: most places are waits for memory then
PART = 8192             # places that are joined at once


def combining(kernel: Kernel) -> list[Step]:
    """The steps that combine in tables; none, if there are no chains."""
    steps = [step for step in kernel.walk.steps if writes_in_order(step.bind.soac)]
    return steps if all([in_tables(step) for step in steps]) else []


def in_tables(step: Step) -> bool:
    """May its elements be combined in parts, which are joined?"""
    soac = step.bind.soac
    return (isinstance(soac, ir.ReduceByIndex) and step.place != SEGMENT and "_" not in step.bind.names
            and all([isinstance(value, ir.Const) for value in soac.identity]))


def chains(kernel: Kernel, chunks: Chunks) -> loops.Exp | None:
    """How many chains there are, for the host; None: one. More than `chunks` there may not be."""
    steps = combining(kernel)
    if not steps:
        return None
    return chains_of(kernel, chunk_count(kernel, chunks), items_exp(kernel, chunks.root),
                     [size_exp(kernel, write_of(step).size) for step in steps])


def chains_of(kernel: Kernel, chunks: loops.Exp, items: loops.Exp, sizes: list[loops.Exp]) -> loops.Exp:
    places: loops.Exp = integer(1)
    for step, size in zip(combining(kernel), sizes, strict=True):
        places = op("+", places, size if len(step.bind.names) == 1 else op("*", size, integer(len(step.bind.names))))
    two = op("min", op("/", items, op("*", places, integer(TWO))), integer(2))
    few = op("max", two, op("/", items, op("*", places, integer(SPARSE))))
    return op("max", integer(1), op("min", op("min", op("/", chunks, integer(LONG)), few), integer(MOST)))


def chains_here(kernel: Kernel, chunks: Chunks, code: Code) -> loops.Exp:
    """How many there are, within a function."""
    items = code.let_int("items", chunks.items(code))
    count = chunks.count(items)
    return code.let_int("chains", chains_of(kernel, count, items, [code.size(write_of(step).size)
                                                                   for step in combining(kernel)]))


def write_of(step: Step) -> ir.ReduceByIndex:
    assert isinstance(step.bind.soac, ir.ReduceByIndex)
    return step.bind.soac


def base_of(kernel: Kernel, name: str) -> str:
    type_ = kernel.walk.types[name]
    assert isinstance(type_, ir.Array)
    return type_.base


def tables_of(name: str) -> str:
    return f"{name}_tables"


def table_buffers(kernel: Kernel, chunks: Chunks) -> list[Buffer]:
    """The tables of all chains but the first."""
    count, found = chains(kernel, chunks), []
    for step in combining(kernel):
        soac = write_of(step)
        assert count is not None
        size = op("*", op("-", count, integer(1)), size_exp(kernel, soac.size))
        for name, identity in zip(step.bind.names, soac.identity, strict=True):
            assert isinstance(identity, ir.Const)
            found.append(Buffer(tables_of(name), base_of(kernel, name), size, identity.value))
    return found


def choose_tables(kernel: Kernel, run: Sweep, chunks: Chunks, chunk: loops.Exp, count: loops.Exp) -> None:
    """The chunk's part of the tables, or the results themselves, are where the sweep combines. `count`: of chains."""
    code = run.code
    items = code.let_int("items", chunks.items(code))
    chain = code.let_int("chain", op("/", op("*", chunk, count), chunks.count(items)))
    for step in combining(kernel):
        place = op("*", op("-", chain, integer(1)), code.size(write_of(step).size))
        for name in step.bind.names:
            base = base_of(kernel, name)
            own = code.array(name, base, writable=True)
            tables = code.array(tables_of(name), base, writable=True)
            offset = op("+", loops.Distance(tables, own), op("*", place, integer(DTYPES[base].itemsize)))
            run.combined[name] = code.fresh(f"{name}_table")
            code.add(loops.Part(run.combined[name], code.parameters[own].type, own,
                                op("select", op("==", chain, integer(0)), integer(0), offset)))


def join_tables(kernel: Kernel, chunks: Chunks) -> None:
    """The phase that joins the tables."""
    for step in combining(kernel):
        code, soac = kernel.code(), write_of(step)
        count, size = chains_here(kernel, chunks, code), code.size(soac.size)
        chunk, table, s = (loops.Name(code.fresh(name)) for name in ("chunk", "table", "s"))
        with code.block() as joined:
            at = op("+", op("*", op("-", table, integer(1)), size), s)
            values = [tuple([Value(loops.Load(code.array(of(name), base, of is str), index), wide(base))
                             for name in step.bind.names for base in [base_of(kernel, name)]])
                      for of, index in ((str, s), (tables_of, at))]
            values = [tuple([code.let("value", value) for value in side]) for side in values]
            for name, value in zip(step.bind.names, apply(code, kernel.tables, soac.operator, (*values[0], *values[1])),
                                   strict=True):
                code.store(name, s, value)
        low = op("*", chunk, integer(PART))
        places = loops.For(s.name, low, op("min", op("+", low, integer(PART)), size), tuple(joined))
        code.add(loops.For(chunk.name, FIRST, LAST, (loops.For(table.name, integer(1), count, (places,)),)))
        several = op("min", integer(1), op("-", chains(kernel, chunks) or integer(1), integer(1)))
        parts = count_of(size_exp(kernel, soac.size), PART)
        kernel.phase(f"{step.name}_joined", code, op("*", several, parts))
