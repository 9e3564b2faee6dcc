"""Pulling: what is computed where it is gathered, when that pays, and that programs mean the same."""
from __future__ import annotations

from dataclasses import replace

import pytest
from amounts import many, seeds
from schedule_programs import random_program
from test_schedule_random import arguments, outcome, same

from nessie.base.source import Source
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.check import check
from nessie.lambda_cu.text.parser import parse
from nessie.lambda_cu.text.printer import show
from nessie.pipeline import Job, pass_named, stages
from nessie.schedule.cost.profiles import CPU, H200, Profile
from nessie.schedule.pull import MOST, operations, pull
from nessie.syntax.parser import parse_type

COSTS = Profile("costs", bandwidth=1.0, launch=1e3, sync=0.0, rescan=0.0, gather=10.0, operation=0.1, function=2.0)
EAGER = replace(COSTS, gather=1e-9, operation=0.0, function=0.0)

FRAME = """
kernel Make (n : int, xs : [float; n], ys : [float; n]) {{
  let zs = MAP {{ i => {} }} (n)
  return zs
}}
kernel Take (m : int, at : [int; m], n : int, zs : [float; n]) {{
  let us = MAP {{ i => zs[at[i]] using at, zs }} (m)
  return us
}}
kernel Walk (n : int, zs : [float; n]) -> float {{
  let s = REDUCE {{ i => zs[i] using zs }} (0.0) {{ (x, y) => x + y }} (n)
  return s
}}
function main (n : int, xs : [float; n], ys : [float; n], m : int, at : [int; m])
    -> (l : int, out : [float; l], s : float{}) {{
  let zs : [float; n] = run Make (n, xs, ys)
  let us : [float; m] = run Take (m, at, n, zs)
  let s : float = {}
  return (m, us, s{})
}}
entry main : ([(float, float)], [int]) -> {}
"""
ONE, TWO = "xs[i] + 1.0 using xs", "xs[i] * ys[i] using xs, ys"


def program(element: str, walked: bool = False, returned: bool = False) -> ir.Program:
    text = FRAME.format(element, ", k : int, more : [float; k]" if returned else "",
                        "run Walk (n, zs)" if walked else "1.0", ", n, zs" if returned else "",
                        "(([float], float), [float])" if returned else "([float], float)")
    found = parse(text)
    check(found)
    return found


def is_pulled(of: ir.Program, profile: Profile, n: float, m: float) -> bool:
    """Is the array gathered no more?"""
    found = pull(of, profile, {"n": n, "m": m})
    check(found)
    [take] = [statement for statement in scope.statements(found.functions[0].body)
              if isinstance(statement, ir.Run) and statement.results[0].name == "us"]
    return "zs" not in scope.atom_names(take.arguments)


@pytest.mark.parametrize(("element", "walked", "returned", "most"), [
    # one read: 0.1 a gather; n elements of 8 bytes, streamed at 8 bytes each
    (ONE, False, False, (8 + 8) / 0.1),
    (ONE, True, False, 8 / 0.1),
    (ONE, False, True, 0.0),
    # two reads: one more gather of 10, and 0.1; 16 bytes streamed
    (TWO, False, False, (8 + 16) / 10.1),
    (TWO, True, False, 8 / 10.1),
    (TWO, False, True, 0.0),
    # one function: 2.0
    ("exp(xs[i]) using xs", False, False, (8 + 8) / 2.0),
])
def test_it_is_pulled_if_that_is_cheaper(element: str, walked: bool, returned: bool, most: float) -> None:
    """`most`: gathers for each element that is made."""
    of = program(element, walked, returned)
    assert is_pulled(of, COSTS, 1000.0, 1000 * most * 0.99) == (most > 0)
    assert not is_pulled(of, COSTS, 1000.0, 1000 * most * 1.01 + 1)


@pytest.mark.parametrize("returned", [False, True])
def test_what_reads_nothing_is_always_pulled(returned: bool) -> None:
    assert is_pulled(program("float(i) * 2.0", True, returned), COSTS, 1.0, 1e9)


@pytest.mark.parametrize("element", [
    "if xs[i] > 0.0 then xs[i] else fail s1 : float using xs",
    "exp(exp(xs[i])) using xs",
    "xs[i]" + " + 1.0" * 9 + " using xs",
    "F(xs[i]) using xs",
])
def test_neither_failures_nor_what_takes_long_is_pulled(element: str) -> None:
    text = show(program(ONE)).replace("xs[i] + 1.0 using xs", element)
    functions = "function F (x : float) -> (float) { x }\n" if "F(" in element else ""
    of = parse('site s1 "failure"\n' + functions.replace("function", "scalar") + text)
    check(of)
    assert not is_pulled(of, EAGER, 1e6, 1.0)


def test_what_would_have_to_be_written_instead_counts() -> None:
    """A scan's result stays in registers if the MAP is made there, and is written if it is pulled."""
    text = show(program(ONE)).replace("kernel Make", """kernel Sums (n : int, xs : [float; n]) {
  let cs = SCAN { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)
  return cs
}
kernel Make""").replace("  let zs : [float; n] = run Make (n, xs", """  let cs : [float; n] = run Sums (n, xs)
  let zs : [float; n] = run Make (n, cs""")
    of = parse(text)
    check(of)
    most = 1000 * 8 / 0.1           # 8 bytes less are written, 8 less are streamed, 8 more are written
    assert is_pulled(of, COSTS, 1000.0, most * 0.99) and not is_pulled(of, COSTS, 1000.0, most * 1.01)


def test_chains_end() -> None:
    """Each link gathers the one before twice: pulling all would take 2 ** 12 operations."""
    kernels = "".join(f"""
kernel K{k} (n : int, xs : [int; n]) {{
  let zs = MAP {{ i => xs[mod(i * 3, n)] + xs[mod(i * 5, n)] using n, xs }} (n)
  return zs
}}""" for k in range(12))
    runs = "".join(f"  let x{k + 1} : [int; n] = run K{k} (n, x{k})\n" for k in range(12))
    text = f"{kernels}\nfunction main (n : int, x0 : [int; n]) -> (m : int, out : [int; m]) {{\n{runs}" \
           "  return (n, x12)\n}\nentry main : [int] -> [int]\n"
    of = parse(text)
    check(of)
    found = pull(of, EAGER)
    check(found)
    sizes = [operations(kernel.binds[0]) for kernel in found.kernels]
    assert 5 < max(sizes) <= MOST and len(found.kernels) < 12


def test_nothing_is_pulled_without_fusing() -> None:
    source = Source("test", "function main(v, ix) = let a = {x * 2.0 : x in v} in a -> ix;")
    argument = parse_type(Source("type", "([float], [int])"))
    last = {"ilp": "pull", "greedy": "pull", "none": "simplify"}
    flat = {mode: compile_program(Job(entry="main", argument=argument, fuse=mode), TEXT, source, pass_named(name))
            for mode, name in last.items()}
    assert pass_named("pull") not in stages(Job(fuse="none"))
    assert flat["ilp"] == flat["greedy"]
    assert len(flat["none"].kernels) == len(flat["ilp"].kernels) + 1


def compare(seed: int, steps: int) -> int:
    """How many programs are others after pulling."""
    of, changed = random_program(seed, steps), 0
    for profile in (CPU, H200, EAGER):
        found = pull(of, profile)
        if found != of:
            check(found)
            changed += 1
            for given in arguments(seed):
                expected, got = outcome(of, given), outcome(found, given)
                assert same(of, given, expected, got), (seed, expected, got, show(of), show(found))
    return changed


def test_programs_mean_the_same() -> None:
    assert sum(compare(seed, 10) for seed in range(60)) > 10


@pytest.mark.slow
def test_many_programs_mean_the_same() -> None:
    assert sum(compare(seed, 14) for seed in seeds(1000, 1500)) > many(200)
