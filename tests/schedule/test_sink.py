"""Sinking: what reads a branch's array shares the branch's kernel, and programs mean the same."""
from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from executors import Compiled, assert_all_agree, assert_the_gpu_agrees

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope

# the program; arguments, and whether they fail
CASES: dict[str, tuple[str, list[tuple[tuple[Any, ...], bool]]]] = {
    "a map behind a map": (
        """function main(b, v) : (bool, [int]) -> [int] =
             let w = if b then {x * 2 : x in v} else v in {x + 1 : x in w};""",
        [((True, [1, 2]), False), ((False, [1, 2]), False), ((True, []), False)]),
    "a filter and a sum behind": (
        """function main(b, v) : (bool, [int]) -> (int, [int]) =
             let w = if b then {x * 2 : x in v} else {x in v | x > 3};
                 u = {x in w | x /= 4}
             in (sum(u), u);""",
        [((True, [1, 2, 3]), False), ((False, [1, 4, 5]), False), ((False, []), False)]),
    "a chain of conditionals": (
        """function main(n, v) : (int, [int]) -> [int] =
             let w = if n > 0 then {x * 2 : x in v} else if n < 0 then {x - 1 : x in v} else v;
                 u = {x + n : x in w}
             in {x * x : x in u};""",
        [((1, [1, 2]), False), ((-1, [1, 2]), False), ((0, [5]), False)]),
    "a loop": (
        """function go(v, n) = if n == 0 then v
             else let w = if rem(n, 2) == 0 then {x + n : x in v} else {x * 2 : x in v | x > n}
                  in go({x - 1 : x in w}, n - 1);
           function main(b, v) : (bool, [int]) -> [int] = go(v, if b then 5 else 0);""",
        [((True, [1, 20, 7]), False), ((False, [3]), False), ((True, []), False)]),
    "a failure behind": (
        """function main(b, v) : (bool, [int]) -> [int] =
             let w = if b then {x - 2 : x in v} else v in {12 / x : x in w};""",
        [((True, [1, 3]), False), ((True, [1, 2, 2]), True), ((False, [1, 0]), True)]),
    "one map to another": (
        """function main(b, v) : (bool, [int]) -> (int, [int]) =
             let w = if b then {x - 2 : x in v} else v;
                 c = #w
             in (c, {x * x : x in w});""",
        [((True, [1, 3]), False), ((False, []), False)]),
}


@cache
def compiled(name: str, target: str = "cpu") -> Compiled:
    return Compiled(CASES[name][0], target=target)


def launches(block: ir.Block) -> int:
    """The runs of the block, and of the first branches in it."""
    return sum(isinstance(s, ir.Run) + (launches(s.then) if isinstance(s, ir.Branch) else 0) for s in block.statements)


@pytest.mark.parametrize("name", CASES)
def test_results(name: str) -> None:
    for arguments, fails in CASES[name][1]:
        assert_all_agree(compiled(name), arguments, fails)


@pytest.mark.parametrize("name", CASES)
def test_results_on_gpus(name: str) -> None:
    for arguments, _ in CASES[name][1]:
        assert_the_gpu_agrees(compiled(name, "cudasim"), arguments)


@pytest.mark.parametrize("name", CASES)
def test_one_launch(name: str) -> None:
    """The kernel of a branch takes in what reads its results; none is launched behind."""
    program = compiled(name).executable("ilp")
    first = [s for f in program.functions for s in scope.statements(f.body)
             if isinstance(s, ir.Branch) and launches(s.then)]
    assert launches(first[-1].then) == 1
    assert not any(isinstance(s, ir.Run) for f in program.functions for s in f.body.statements)


def test_nothing_moves_past_an_effect() -> None:
    program = Compiled("""
        function main(b, v) : (bool, [int]) -> [int] =
          let w = if b then {x * 2 : x in v} else v;
              _ = print_line(@b)
          in {12 / x : x in w};""")
    assert_all_agree(program, (True, [1, 2]), False)
    assert_all_agree(program, (True, [0]), True)
    assert len(program.printed) == 1


BEHIND_CHECKS = {
    "a sequence beside": ("""
        function main(b, v, u) : (bool, [int], [int]) -> [int] =
          let w = if b then {x + 1 : x in v | x > 0} else {x * 2 : x in v}
          in {x + y : x in w; y in u};""",
                          [((True, [1, 0, 2], [5, 6]), False), ((True, [1], list(range(5000))), True),
                           ((False, [1, 2], []), True)]),
    "a part": ("""
        function main(b, v, first, last) : (bool, [int], int, int) -> [int] =
          let w = if b then {x + 1 : x in v} else {x * 2 : x in v};
              y = subseq(v, first, last)
          in {p + q : p in w; q in y};""",
               [((True, [1, 2, 3], 0, 3), False), ((False, [1, 2, 3], 10**12, 10**12 + 3), True)]),
    "an element": ("""
        function main(b, v) : (bool, [int]) -> (int, [int]) =
          let w = if b then {x - 2 : x in v} else v;
              c = v[1]
          in (c, {x * x : x in w});""", [((True, [1, 3]), False), ((True, [1]), True), ((False, []), True)]),
}


@pytest.mark.parametrize("name", BEHIND_CHECKS)
def test_nothing_moves_before_a_check(name: str) -> None:
    """What the host has checked, launches rely on."""
    source, calls = BEHIND_CHECKS[name]
    program = Compiled(source)
    for arguments, fails in calls:
        assert_all_agree(program, arguments, fails)
    flat = program.scheduled("ilp", "sink")
    (body,) = [f.body for f in flat.functions if f.name == flat.entry.function]
    assert isinstance(body.statements[-1], ir.Run)
