"""Partitions: read off conditionals, each index in one of them; proven, compared, counted. Planted mistakes are
found."""
from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, product
from typing import Any

import pytest
from amounts import PROFILE
from random_chains import arguments, program_of_chain, random_chain

from nessie.base.source import IllFormed, InternalError
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders import boxes
from nessie.lambda_cu.borders.checker import check_interiors
from nessie.lambda_cu.borders.partitions import partitions
from nessie.lambda_cu.check import check
from nessie.lambda_cu.mappings.axes import Space, indices, show_space, value
from nessie.lambda_cu.mappings.certificate import mistake, walked
from nessie.lambda_cu.mappings.kernels import parts_in, space_of_part, walks_of, why_not
from nessie.lambda_cu.mappings.nodes import REST
from nessie.lambda_cu.mappings.text import parse_mapping
from nessie.lambda_cu.reference.reference import execute
from nessie.lambda_cu.text.parser import parse
from nessie.lambda_cu.text.printer import show
from nessie.lambda_cu.text.printer_expressions import show_exp

COUNT = {"quick": 60, "ci": 400}.get(PROFILE, 4000)
MOST = {1: 20, 2: 8, 3: 5, 4: 4}


def cut(thunk: str, rank: int, by: str = "case 1 auto", folded: bool = False) -> ir.Program:
    """The program, whose kernel has parts, checked in all ways."""
    program = partitions(program_of_chain(thunk, rank, by, folded))
    check(program)
    check_interiors(program)
    assert parse(show(program)) == program
    return program


def parts_of(program: ir.Program) -> list[tuple[int, str, str]]:
    """The case of each part, its space, and what is computed there."""
    return [(part.case, show_space(space_of_part(part)), show_exp(part.inside.thunk.body))
            for kernel in program.kernels for part in parts_in(kernel)]


def spaces(program: ir.Program) -> list[str]:
    return [f"{case or 'rest'}: {space}" for case, space, _ in parts_of(program)]


# The paper ----------------------------------------------------------------------------------------

SEVEN = ("if s >= 1 and s < 6 and (s - 1) rem 2 < 1 and j >= 1 and j < 6 and (j - 1) rem 3 < 2 then 10 * s + j "
         "else xs[i]")


def test_seven_partitions() -> None:
    """2.2: one partition of a 7 x 7 array, and what is left of it: below, above, and between the steps of each axis."""
    program = cut(SEVEN, 2)
    assert spaces(program) == [
        "1: [1, 1] <= iv < [min(6, n0), min(6, n1)] step [2, 3] width [1, 2]",
        "rest: iv < [min(1, n0), n1]",
        "rest: [6, 0] <= iv < [n0, n1]",
        "rest: [1, 0] <= iv < [min(6, n0), min(1, n1)]",
        "rest: [1, 6] <= iv < [min(6, n0), n1]",
        "rest: [2, 1] <= iv < [min(6, n0), min(6, n1)] step [2, 1]",
        "rest: [1, 3] <= iv < [min(6, n0), min(6, n1)] step [2, 3]"]
    assert [body for _, _, body in parts_of(program)] == ["10 * s + j", *["xs[i]"] * 6]
    found = [list(indices(space_of_part(part), {"n0": 7, "n1": 7})) for part in parts_in(program.kernels[0])]
    assert found[0] == [(i, j) for i in (1, 3, 5) for j in (1, 2, 4, 5)]
    assert found[5:] == [[(i, j) for i in (2, 4) for j in range(1, 6)], [(1, 3), (3, 3), (5, 3)]]
    assert sorted(chain(*found)) == list(product(range(7), repeat=2))


def test_listing_3() -> None:
    """Of overlapping tests, the first in NESL is the last in SaC, whose partitions overwrite each other."""
    program = cut("if s >= 1 and s < 8 and (s - 1) rem 3 < 2 and j < 9 and j rem 2 < 1 then 7 "
                  "else if s < 9 and s rem 2 < 1 and j >= 1 and j < 8 and (j - 1) rem 3 < 2 then 3 else 0", 2)
    assert {case for case, _, _ in parts_of(program)} == {1, REST}      # steps within steps stay a conditional
    assert any(["rem" in body for case, _, body in parts_of(program) if case == REST])


def test_listings_4_and_5() -> None:
    """The step's partition, that of the 500 behind it, and what is between the steps."""
    program = cut("if i < 1000 and i rem 2 == 0 then xs[i] + 1 else if i >= 1000 and i < 1500 then xs[i] + 4 else 0", 1)
    assert parts_of(program) == [
        (1, "iv < [min(1000, t)] step [2]", "xs[i] + 1"), (2, "[1000] <= iv < [min(1500, t)]", "xs[i] + 4"),
        (REST, "[1500] <= iv < [t]", "0"), (REST, "[1] <= iv < [min(1000, t)] step [2]", "0")]


# What is read -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("test", "found"), [
    ("i > 3", ["1: [4] <= iv < [t]", "rest: iv < [min(4, t)]"]),
    ("5 > i", ["1: iv < [min(5, t)]", "rest: [5] <= iv < [t]"]),
    ("i + 2 <= t - 1", ["1: iv < [t - 2]", "rest: [max(0, t - 2)] <= iv < [t]"]),
    ("i == 0", ["1: iv < [min(1, t)]", "rest: [1] <= iv < [t]"]),
    ("i == 0 or i == t - 1", ["1: iv < [min(1, t)]", "1: [max(1, t - 1)] <= iv < [t]", "rest: [1] <= iv < [t - 1]"]),
    ("i /= 4", ["1: iv < [min(4, t)]", "1: [5] <= iv < [t]", "rest: [4] <= iv < [min(5, t)]"]),
    ("not(i < 2 or i >= 9)", ["1: [2] <= iv < [min(9, t)]", "rest: iv < [min(2, t)]", "rest: [9] <= iv < [t]"]),
    ("i rem 3 /= 1", ["1: iv < [min(1, t)] step [3]", "1: [2] <= iv < [t] step [3] width [2]",
                      "rest: [1] <= iv < [t] step [3]"]),
    ("i >= 4 and i rem 3 == 2", ["1: [5] <= iv < [t] step [3]", "rest: iv < [min(4, t)]",
                                 "rest: [4] <= iv < [min(5, t)] step [3]", "rest: [6] <= iv < [t] step [3] width [2]"]),
    ("i < 3 and i >= 7", ["rest: [3] <= iv < [t]", "rest: iv < [min(3, t)]"]),
    ("i >= 0", ["1: iv < [t]"]),
])
def test_tests(test: str, found: list[str]) -> None:
    by = "case 1 auto" if any([space[0] == "1" for space in found]) else "case rest auto"
    assert spaces(cut(f"if {test} then xs[i] else 7", 1, by)) == found


@pytest.mark.parametrize("test", ["xs[i] < 3", "i * i < 9", "i < 3 and xs[i] > 2", "i rem h == 0", "(i - l) rem 2 == 0",
                                  "(i * 2) rem 4 == 0", "(i - 1) rem 2 == 0", "h < 3", "i + i < 9"])
def test_what_is_not_regular_stays_a_conditional(test: str) -> None:
    (kernel,) = partitions(program_of_chain(f"if {test} then xs[i] else 7", 1, "case 1 auto")).kernels
    assert parts_in(kernel) == ()
    refused = why_not(kernel)
    assert refused is not None and refused.message.startswith("no conditional here has a case")


def test_a_chain_ends_where_a_test_is_not_regular() -> None:
    program = cut("if i < 4 then 1 else if xs[i] > 2 then 2 else if i < 9 then 3 else 4", 1)
    assert spaces(program) == ["1: iv < [min(4, t)]", "rest: [4] <= iv < [t]"]
    assert "if xs[i] > 2 then 2" in parts_of(program)[1][2]


def test_checks_are_no_tests() -> None:
    (kernel,) = partitions(program_of_chain("if i + 1 < t then xs[i + 1] else fail s1 : int", 1, "case 1 auto")).kernels
    assert parts_in(kernel) == ()


def test_chains_may_be_bound() -> None:
    """What is behind them is computed in each part. A chain at the end comes first, or one that has the cases."""
    bound = "let x = xs[i] in let b = if i < 4 then x else 0 in"
    assert parts_of(cut(f"{bound} b * 2 + x", 1))[0] == (1, "iv < [min(4, t)]", "let x = xs[i] in x * 2 + x")
    assert spaces(cut(f"{bound} if i < 6 then b else 1", 1))[0] == "1: iv < [min(6, t)]"
    two = f"{bound} let c = if i < 1 then b else if i < 2 then 5 else 6 in b + c"
    assert spaces(cut(two, 1))[0] == "1: iv < [min(4, t)]"
    assert spaces(cut(two, 1, "case 2 auto"))[0] == "1: iv < [min(1, t)]"


def test_bounds_that_may_be_any_ints() -> None:
    """Where these are larger than sizes, or less, all is one part, which is as it was."""
    program = cut("if i >= l and i < h - 1 then 1 else 0", 1)
    small = " and ".join([f"-281474976710656 <= {name} and {name} <= 281474976710656" for name in "hl"])
    assert " ".join(spaces(program)[-1].split()) == f"rest: [if {small} then t else 0] <= iv < [t]"
    for bounds in product((-2 ** 63, -2 ** 60, -3, 0, 4, 9, 2 ** 60, 2 ** 63 - 1), repeat=2):
        rng = random.Random(0)
        execute(program, [*bounds, arguments(rng, 1, 9)[-1]])


def test_sums_over_chains() -> None:
    program = cut("if i == 0 or i == t - 1 then xs[i] else if i rem 2 == 1 then 4 * xs[i] else 2 * xs[i]", 1,
                  "case 2 auto", folded=True)
    assert spaces(program) == ["1: iv < [min(1, t)]", "1: [max(1, t - 1)] <= iv < [t]",
                               "2: [1] <= iv < [t - 1] step [2]", "rest: [2] <= iv < [t - 1] step [2]"]


# By chance ----------------------------------------------------------------------------------------


def checked(seed: int) -> ir.Program | None:
    """A random program whose kernel has parts, checked by proof, by the certificate and at random sizes; None: it has
    no regular test."""
    folded = seed % 5 == 4
    program, rank = random_chain(seed, folded)
    if not parts_in(program.kernels[0]):
        return None
    check(program)
    check_interiors(program)
    assert parse(show(program)) == program
    rng = random.Random(seed)
    for _ in range(3):
        execute(program, arguments(rng, rank, MOST[rank]))
    return program


def test_random_chains() -> None:
    found = [program for seed in range(COUNT) if (program := checked(seed)) is not None]
    assert len(found) > COUNT / 2
    assert max([len(parts_in(program.kernels[0])) for program in found]) > 9


def test_each_part_is_walked_once() -> None:
    """By the mapping of its case: its launch and its threads' code, for small sizes."""
    for seed in range(COUNT // 4):
        program = checked(seed)
        for walk in walks_of(program.kernels[0]) if program is not None else []:
            names = sorted({"t", "h", "l", "n0", "n1", "n2", "n3"})
            for small in (0, 1, 3):
                known = dict.fromkeys(names, small)
                known |= {name: value(exp, known) for name, exp in walk.bounds.items()}
                space: Space = walk.mapped.stages[0]
                assert not mistake(walk.mapped, space, known), (seed, show_space(space), known)


# Planted mistakes ---------------------------------------------------------------------------------


def changed(program: ir.Program, change: Callable[[tuple[ir.Part, ...]], tuple[ir.Part, ...]]) -> ir.Program:
    """The program with other parts."""
    (kernel,) = program.kernels
    (bind,) = kernel.binds
    assert isinstance(bind.soac, ir.Map)
    soac = replace(bind.soac, parts=change(bind.soac.parts))
    return replace(program, kernels=(replace(kernel, binds=(replace(bind, soac=soac),)),))


def with_thunk(part: ir.Part, thunk: ir.Thunk) -> ir.Part:
    return replace(part, inside=replace(part.inside, thunk=thunk))


def wider(part: ir.Part) -> ir.Part:
    """A part that begins an index earlier."""
    body = part.inside.range.body
    assert isinstance(body, ir.Tuple)
    low, high = body.items
    moved = ir.Tuple((ir.Op("-", (low, ir.Const(1, "int"))), high))
    return replace(part, inside=replace(part.inside, range=replace(part.inside.range, body=moved)))


SIZES = [7, 7, 0, 0]


@pytest.mark.parametrize(("change", "says"), [
    (lambda parts: parts[1:], "in no part"),
    (lambda parts: (*parts, parts[0]), "in 2 parts"),
    (lambda parts: (parts[0], *parts[2:]), "in no part"),
    (lambda parts: (replace(parts[0], widths=(1, 1)), *parts[1:]), "in no part"),
    (lambda parts: (replace(parts[0], steps=(2, 2)), *parts[1:]), "in 2 parts"),
    (lambda parts: (*parts[:4], wider(parts[4]), *parts[5:]), "in 2 parts"),
    (lambda parts: (parts[0], wider(parts[1]), *parts[2:]), "in a part, and not in the space"),
])
def test_parts_that_do_not_have_each_index_once(change: Any, says: str) -> None:
    """The validator finds it, and so does a run."""
    program = changed(cut(SEVEN, 2, "case rest auto"), change)
    with pytest.raises(IllFormed, match=says):
        check(program)
    if "space" not in says:
        with pytest.raises(InternalError, match=r"parts do not have each index once|a part is not"):
            execute(program, [*SIZES, flat(range(100, 149))])


@pytest.mark.parametrize("at", range(7))
def test_a_part_that_computes_something_else(at: int) -> None:
    """The checker finds it, and so does a run."""
    whole = cut(SEVEN, 2)
    first, other = [part.inside.thunk for part in parts_in(whole.kernels[0])][:2]
    program = changed(whole, lambda parts: tuple([
        with_thunk(part, other if at == 0 else first) if number == at else part for number, part in enumerate(parts)]))
    with pytest.raises(IllFormed, match=f"part {at + 1} is not proven to be what the thunk is"):
        check_interiors(program)
    with pytest.raises(InternalError, match="a part is not what its thunk is"):
        execute(program, [*SIZES, flat(range(100, 149))])


def flat(values: Any) -> Any:
    import numpy as np

    from nessie.base.values import Flat
    return Flat(len(values), np.asarray(values, np.int64))


def off_by_one(at_place: Any) -> Any:
    def wrong(self: Any, box: Any, test: Any) -> Any:
        return at_place(self, box, replace(test, at=boxes.moved(test.at, 1)))
    return wrong


def both_sides(at_place: Any) -> Any:
    def wrong(self: Any, box: Any, test: Any) -> Any:
        found = at_place(self, box, test)
        return found and (found[0], [*found[1], *found[0]])
    return wrong


def without_heads(stepped: Any) -> Any:
    return lambda self, *others: stepped(self, *others)[-1:]


def unshifted(stepped: Any) -> Any:
    return lambda self, side, start, at, *others: stepped(self, side, start, 0, *others)


@pytest.mark.parametrize(("name", "plant"), [
    ("at_place", off_by_one), ("at_place", both_sides), ("stepped", without_heads), ("stepped", unshifted),
    ("surely", lambda surely: lambda self, less, more: True),
    ("start", lambda start: lambda self, side: boxes.number(0))])
def test_a_mistake_in_cutting_is_found(name: str, plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes.Frame, name, plant(getattr(boxes.Frame, name)))

    def is_found(seed: int) -> bool:
        try:
            checked(seed)
        except IllFormed:
            return True
        return False
    assert any(map(is_found, range(120)))


# What the validator says --------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "says"), [
    (lambda kernel: replace(kernel, by=None), "it has parts, but no mapping with cases"),
    (lambda kernel: replace(kernel, by=parse_mapping("case 3 auto")), "no element is in case 3: those of tests"),
    (lambda kernel: replace(kernel, by=parse_mapping("case 1 GridBlock(1, Gen)")), "GridBlock takes axes that begin"),
])
def test_kernels_with_parts(change: Any, says: str) -> None:
    program = cut(SEVEN, 2)
    with pytest.raises(IllFormed, match=says):
        check(replace(program, kernels=tuple(map(change, program.kernels))))


@pytest.mark.parametrize(("change", "says"), [
    (lambda part: replace(part, steps=(0, 1)), "a part's step is less than 1"),
    (lambda part: replace(part, widths=(3, 1)), "a part's step is less than 1, or its width"),
    (lambda part: replace(part, steps=(1,)), "a part has 2 steps and widths"),
    (lambda part: replace(part, inside=replace(part.inside, rows=None)), "the interior of a segmented space has rows"),
])
def test_parts(change: Any, says: str) -> None:
    program = changed(cut(SEVEN, 2), lambda parts: (change(parts[0]), *parts[1:]))
    with pytest.raises(IllFormed, match=says):
        check(program)


def test_threads_of_parts() -> None:
    """The certificate of a mapping walks a part as any space."""
    program = cut(SEVEN, 2, "case 1 GridBlock(2, CompressGrid([1, 1], ShiftLB(Gen)))")
    (first, *_) = walks_of(program.kernels[0])
    known = {"n0": 7, "n1": 7}
    known |= {name: value(exp, known) for name, exp in first.bounds.items()}
    assert sorted(walked(first.mapped, known)) == [(i, j) for i in (1, 3, 5) for j in (1, 2, 4, 5)]
