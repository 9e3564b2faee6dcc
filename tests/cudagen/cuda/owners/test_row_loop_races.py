"""Loops over rows that owners go through have no races, and each of their barriers is needed, as test_races.py tests it
of other walks."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import gpu_code
from sanitizers import Watched
from taped import Kernels, planted, tape

from nessie.base.source import Source
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.skeletons.owners import offers
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.pipeline import Job, pass_named
from nessie.schedule.wishes.wishes import LEVEL, Wish

pytestmark = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")

LENGTHS = [40, 40, 3, 0, 0, 1, 0, 33, 9, 17, 8, 0, 0, 5, 2100, 2100, *[13] * 46, 2100, 2100, 60, 0, 260, 0, 2100, 2,
           2100, 2100, 2100]          # each block has rows too long for it, in the first warp and in others
FUNCTIONS = {
    "neighbours": "if k == 0 then xs else F({x + xs[#xs - 1 - i] : x in xs; i in [0:#xs]}, k - 1)",
    "sums": "let s = sum(xs) in if k == 0 or s == 7 then xs else F({x + rem(s, 5) : x in xs}, k - 1)",
    "scans": "if k == 0 then xs else F({x + rem(y, 9) : x in xs; y in plus_scan(xs)}, k - 1)",
    "elements": "if k == 0 or #xs == 0 then xs "
                "else F({x + xs[0] : x in xs}, if 60 / rem(xs[#xs - 1], 2) == 99 then 0 else k - 1)",
    "checks": "if k == 0 then xs else F({xs[#xs - 1 - i] + 60 / (x - 4) : x in xs; i in [0:#xs]}, k - 1)",
    "alone": "if k == 0 then xs else F({60 / (x - 4) : x in xs}, k - 1)",
    "scalars": "let s = 60 / rem((if #xs > 0 then xs[#xs - 1] else 1), 2) "
               "in if k < 1 then xs else F({x + rem(s, 7) : x in xs}, k - 2)",
}
LEVELS = ("block", "warp", "sub4")
CASES = [(level, name) for level in LEVELS for name in FUNCTIONS]
SAMPLED = [pytest.param(*case, marks=() if case in (("sub4", "neighbours"), ("block", "alone"), ("warp", "scalars"))
                        else pytest.mark.sampled(quick=0, ci=8)) for case in CASES]
SEEDS = (1, 2)


def program(cases: list[tuple[str, str]]) -> ir.Program:
    """A loop for each case, over the same rows."""
    names = {case: f"{case[1]}_{case[0]}" for case in cases}
    text = "\n".join([f"function {names[case]}(xs, k) : ([int], int) -> [int] = "
                      f"{FUNCTIONS[case[1]].replace('F(', names[case] + '(')};" for case in cases])
    lets = "; ".join([f"of_{name} = {{{name}(r, k) : r in rows}}" for name in names.values()])
    given = f"[{', '.join([f'of_{name}' for name in names.values()])}]"
    text += f"function main(rows, k) : ([[int]], int) -> [[[int]]] = let {lets} in {given};"
    wishes = tuple([Wish(LEVEL, f"of_{name}", case[0]) for case, name in names.items()])
    job = Job(entry="main", target="cudasim", wishes=wishes)
    made: ir.Program = compile_program(job, TEXT, Source("loops.nesl", text), pass_named("borders"))
    return made


@pytest.fixture(scope="module")
def kernels(running: set[tuple[str, ...]]) -> Kernels:
    cases = [case for case in CASES if case in running]
    n, m = sum(LENGTHS), len(LENGTHS)
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
    arguments: dict[str, Any] = {"n": m, "offsets": offsets, "size": n, "k": 3}
    arguments["rows"] = np.random.default_rng(1).integers(1, 9, n)
    made = program(cases)
    with pytest.MonkeyPatch.context() as small:
        small.setattr(offers, "MOST_BLOCKS", 2)         # so that each owner has several rows
        built = gpu_code(made)
    text, mistakes = planted(built.text)
    loops = {f.name: [arguments[what] for what in ("n", "offsets", "size", "rows", "k")]
             for f in made.functions if f.over is not None}
    named = {case: next(f for f in loops if f.startswith(f"{case[1]}_{case[0]}^")) for case in cases}
    return Kernels(text, tuple(built.formats), mistakes,
                   {" ".join(case): tape(built, name, loops[name]) for case, name in named.items()})


@pytest.mark.parametrize("level, name", SAMPLED)
def test_no_races(threads: Watched, kernels: Kernels, level: str, name: str) -> None:
    assert kernels.races(threads, f"{level} {name}", SEEDS) == []


@pytest.mark.parametrize("level, name", SAMPLED)
def test_every_barrier_is_needed(threads: Watched, kernels: Kernels, level: str, name: str) -> None:
    assert kernels.unnoticed(threads, f"{level} {name}") == []


@pytest.mark.parametrize("level, name", SAMPLED)
def test_no_access_outside_arrays_and_nothing_undefined(addresses: Watched, kernels: Kernels, level: str,
                                                        name: str) -> None:
    assert kernels.wrong_accesses(addresses, f"{level} {name}") == ""
