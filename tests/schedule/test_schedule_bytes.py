"""A schedule's bytes are those that its kernels move: the loops that they become are run, and every access is counted.

What the cost leaves out is small and does not grow with the arrays: results and carries of chunks, cells, a segment's
bounds. One thing grows: a filter stores values that do not survive too, where the next that does will be. They are in
the cache, and the cost leaves them out.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import execute

from nessie.base.source import Source
from nessie.base.values import Flat, Nested
from nessie.cudagen.cpu.interpreted import Interpreted
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import statements
from nessie.pipeline import Job, pass_named
from nessie.schedule.fuse import fuse
from nessie.schedule.schedule import schedule
from nessie.syntax.parser import parse_type

N = 160
XS = Flat(N, np.where(np.arange(N) % 2 == 0, 1.5, -0.5))        # half of them are positive, as filters are estimated
ROWS = Flat(2, Nested(np.array([0, N // 2, N]), XS.column))
WIDTH = N // 2                                                  # of a chunk: where there is but one, filters read once
SLACK = 160                                                     # bytes of a kernel that do not grow

FLOATS, TWO, NESTED = ("xs", "[float]"), ("xs, ys", "[float], [float]"), ("rows", "[[float]]")
PROGRAMS = {
    "norm2": (FLOATS, "let a = sum(xs); b = sum({x in xs | x > 0.0}) in ({x / a : x in xs}, {x / b : x in xs})"),
    "dotp": (TWO, "sum({x * y : x in xs; y in ys})"),
    "a sum of some": (TWO, "sum({x : x in xs; y in ys | x > 0.0})"),
    "a sum of some, and of all": (TWO, "sum({x : x in xs | x > 0.0}), sum({x * y : x in xs; y in ys})"),
    "what is computed again": (FLOATS, "let m = sum(xs); ds = {x - m : x in xs}; v = sum({d * d : d in ds}) "
                                       "in {d / v : d in ds}"),
    "some": (FLOATS, "{x in xs | x > 0.0}"),
    "some, and a sum of them": (FLOATS, "let some = {x * x : x in xs | x > 0.0} in (some, sum(some))"),
    "a count": (FLOATS, "count({x > 0.0 : x in xs})"),
    "prefix sums": (FLOATS, "plus_scan({x * 2.0 : x in xs})"),
    "prefix sums beside others": (TWO, "{p + y : p in plus_scan(xs); y in ys}"),
    "sums of rows": (NESTED, "{sum(row) : row in rows}"),
    "sums of squares of rows": (NESTED, "{sum({x * x : x in row}) : row in rows}"),
    "prefix sums of rows": (NESTED, "{sum({p * x : p in plus_scan(row); x in row}) : row in rows}"),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("mode", ["ilp", "none"])
def test_bytes(name: str, mode: str) -> None:
    (params, types), body = PROGRAMS[name]
    source = Source("test", f"function main({params}) = {body};")
    job = Job(entry="main", argument=parse_type(Source("type", f"({types})")), unchecked=True)
    program = compile_program(job, TEXT, source, pass_named("simplify"))
    [function] = [function for function in program.functions if function.name == program.entry.function]
    sizes = [param.name for param in function.params if param.type == "int"]
    arguments: list[Any] = {FLOATS: [XS], TWO: [XS, XS], NESTED: [ROWS]}[params, types]
    measured = [ROWS.length, N] if arguments == [ROWS] else [N, N]
    found = schedule(program, mode, sizes=dict(zip(sizes, measured, strict=False)))
    fused = fuse(program, found)
    device = Interpreted(fused, None if arguments == [ROWS] else WIDTH)      # rows are searched for a chunk's ends
    execute(fused, arguments, device)
    filters = [bind for kernel in fused.kernels for bind in kernel.binds if isinstance(bind.soac, ir.Filter)]
    expected = sum(region.bytes for region in found.regions)
    launches = sum(isinstance(s, ir.Run) for function in fused.functions for s in statements(function.body))
    overwritten = sum(N / 2 * 8 for bind in filters if len(bind.names) > 1)
    assert expected <= device.bytes <= expected + overwritten + SLACK * launches
