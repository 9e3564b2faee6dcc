"""Random kernels whose elements are chosen by chains of conditionals on their indices: over spaces of one to four axes,
with bounds that are constants, sizes or any ints, steps and widths, and, here and there, tests that are not regular."""
from __future__ import annotations

import random
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from nessie.base.values import Flat
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.partitions import partitions
from nessie.lambda_cu.mappings.kernels import parts_in
from nessie.lambda_cu.mappings.nodes import REST, Cases, Strategy
from nessie.lambda_cu.text.parser import parse

SMALL = (0, 1, 2, 3, 4, 6)


def indices(rank: int) -> list[str]:
    """The thunk's indices of axes."""
    return {1: ["i"], 2: ["s", "j"]}.get(rank, [*[f"i{k}" for k in range(1, rank)], "j"])


def sizes_of(rank: int) -> list[str]:
    """The names of the axes' lengths."""
    return ["t"] if rank == 1 else [f"n{k}" for k in range(rank)]


def program_of_chain(thunk: str, rank: int, by: str, folded: bool = False) -> ir.Program:
    """The program whose one kernel has this thunk over a space of so many axes."""
    sizes = sizes_of(rank)
    scalars = [*(sizes if rank > 1 else []), *(["u"] if rank > 2 else []), "l", "h", "t"]
    outer = "n0" if rank == 2 else f"u = {' * '.join(sizes[:-1])}"
    space = "(t)" if rank == 1 else f"uniform({outer}, {sizes[-1]}, t)"
    body = {1: "i", 2: "(s, j, i)"}.get(rank, f"({', '.join([*indices(rank)[:-1], 's', 'j', 'i'])})")
    used = [name for name in (*scalars, "xs") if name in words(thunk)]
    shown = f"{{ {body} => {thunk}{' using ' * bool(used)}{', '.join(used)} }}"
    soac = f"REDUCE {shown} (0) {{ (x, y) => x + y }} (t)" if folded else f"{'SEG_' * (rank > 1)}MAP {shown} {space}"
    result = "int" if folded else "[int; t]"
    params = ", ".join([*[f"{name} : int" for name in scalars], "xs : [int; t]"])
    return parse(f"""kernel K ({params}) -> {result} by {by} {{
  let it = {soac}
  return it
}}
function main ({params}) -> ({'result : int' if folded else 'size : int, result : [int; size]'}) {{
  let it : {result} = run K ({', '.join([*scalars, 'xs'])})
  return {'(it)' if folded else '(t, it)'}
}}
entry main : {', '.join(['int'] * (len(scalars) - 1))}, [int] -> {'int' if folded else '[int]'}
""")


def words(text: str) -> set[str]:
    return set("".join([c if c.isalnum() else " " for c in text]).split())


class Chains:
    """Draws thunks."""

    def __init__(self, rng: random.Random, rank: int) -> None:
        self.rng, self.rank = rng, rank

    def thunk(self) -> str:
        """A chain of one to three tests."""
        text = self.value()
        for _ in range(self.rng.randint(1, 3)):
            text = f"if {self.condition(self.rng.randint(1, 2 * self.rank + 1))} then {self.value()} else {text}"
        return text

    def value(self) -> str:
        return self.rng.choice(["xs[i]", "xs[i] * 2 + 1", f"i * {self.rng.randint(2, 9)}", str(self.rng.randint(-9, 9)),
                                f"{self.rng.choice(indices(self.rank))} - 5"])

    def condition(self, count: int) -> str:
        tests = [self.test() for _ in range(count)]
        joined = " and ".join(tests)
        if len(tests) > 1 and self.rng.random() < 0.2:
            at = self.rng.randint(1, len(tests) - 1)
            joined = f"({' and '.join(tests[:at])}) or ({' and '.join(tests[at:])})"
        return f"not ({joined})" if self.rng.random() < 0.15 else joined

    def test(self) -> str:
        rng, index = self.rng, self.rng.choice(indices(self.rank))
        size = sizes_of(self.rank)[indices(self.rank).index(index)]
        if rng.random() < 0.03:
            return rng.choice(["xs[i] > 3", f"{index} * {index} < 9", f"{index} == {rng.choice(indices(self.rank))}"])
        if rng.random() < 0.3:
            step, base = rng.randint(1, 4), rng.choice((0, 0, 1, 2))
            moved = f"({index} - {base})" if base else index
            first = f"{index} >= {base} and " if base and rng.random() < 0.8 else ""
            return f"{first}{moved} rem {step} {rng.choice(('<', '==', '<', '>=', '/='))} {rng.randint(0, step)}"
        bound = rng.choice([str(rng.choice(SMALL)), str(rng.choice(SMALL)), f"{size} - {rng.choice(SMALL)}", "l", "h",
                            f"h - {rng.choice(SMALL)}", size])
        sides = [index if rng.random() < 0.8 else f"{index} + {rng.choice(SMALL)}", bound]
        if rng.random() < 0.3:
            sides.reverse()
        return f"{sides[0]} {rng.choice(('<', '<=', '>', '>=', '<', '>=', '==', '/='))} {sides[1]}"


def random_chain(seed: int, folded: bool = False) -> tuple[ir.Program, int]:
    """A program whose kernel has parts, if its tests are regular, and the number of axes."""
    rng = random.Random(seed)
    rank = 1 if folded else rng.choice((1, 1, 2, 2, 2, 3, 3, 4))
    program = program_of_chain(Chains(rng, rank).thunk(), rank, "case rest auto", folded)
    made = partitions(program)
    (kernel,) = made.kernels
    cases = sorted({part.case for part in parts_in(kernel)}) or [REST]
    asked = rng.sample(cases, rng.randint(1, len(cases)))
    by = Cases(tuple([(case, Strategy(rng.choice(("auto", "JingExt", "FoldAll")))) for case in asked]))
    return replace(made, kernels=(replace(kernel, by=by),)), rank


def arguments(rng: random.Random, rank: int, most: int) -> list[Any]:
    """Those of the program."""
    sizes = [rng.choice((0, 1, 2, rng.randint(0, most), rng.randint(1, most))) for _ in range(rank)]
    total = prod(sizes)
    outer = [*(sizes if rank > 1 else []), *([prod(sizes[:-1])] if rank > 2 else [])]
    others = [rng.choice((0, 1, 5, -3, rng.randint(-most, 2 * most), 2 ** 60, -2 ** 62)) for _ in range(2)]
    return [*outer, *others, Flat(total, np.array([rng.randint(-9, 9) for _ in range(total)], np.int64))]
