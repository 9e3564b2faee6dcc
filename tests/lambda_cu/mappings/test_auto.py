"""What `auto` chooses: costs of walks, counted by hand and on cudasim, and that lanes go along what lies together."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from built import counting_device
from kernel_runs import program_of
from test_gpu import launch

from nessie.base.source import NessieError
from nessie.cudagen.cuda.cudasim import compiler
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.axes import flat, parse_space
from nessie.lambda_cu.mappings.certificate import mistake
from nessie.lambda_cu.mappings.choice.auto import Candidate, of_kernel, of_rows
from nessie.lambda_cu.mappings.choice.candidates import candidates, uncertain
from nessie.lambda_cu.mappings.choice.places import lengths
from nessie.lambda_cu.mappings.mapped import mapped
from nessie.lambda_cu.mappings.shown import explained
from nessie.lambda_cu.text.parser import parse_kernel

NAMES = ("n", "m", "k", "l", "p", "q", "r")


def kernel_of(rank: int, index: str = "i", using: str = "xs") -> ir.Kernel:
    """A nest of so many axes, whose elements read xs at this index."""
    sizes = NAMES[:rank]
    params = ", ".join([f"{size} : int" for size in (*sizes, "s1", "t") if rank > 1 or size in sizes])
    outer = f"s1 = {' * '.join(sizes[:-1])}" if rank > 2 else sizes[0]
    space = f"uniform({outer}, {sizes[-1]}, t)" if rank > 1 else "(n)"
    taken = ", ".join([*[f"x{axis}" for axis in range(rank - 1) if rank > 2], "s", "j", "i"]) if rank > 1 else "i"
    of = "t" if rank > 1 else "n"
    body = f"{{ {f'({taken})' if rank > 1 else 'i'} => xs[{index}] + 1.0 using {using} }}"
    return parse_kernel(f"""kernel K ({params}, xs : [float; {of}]) -> [float; {of}] {{
      let ys = {'SEG_MAP' if rank > 1 else 'MAP'} {body} {space}
      return ys
    }}""")


PROGRAMS = {"plusone": kernel_of(1), "matrix": kernel_of(2), "transposition": kernel_of(2, "j * n + s", "xs, n"),
            "nest of 3": kernel_of(3), "nest of 5": kernel_of(5), "nest of 7": kernel_of(7),
            "outermost turned in": kernel_of(3, "(j * m + x1) * n + x0", "xs, n, m"),
            "reversed": kernel_of(1, "n - 1 - i", "xs, n"), "gathered": kernel_of(1, "trunc(xs[i])")}
LEAST = 8.0                     # sectors of a warp's words that lie together


def best(kernel: ir.Kernel, **sizes: int) -> Candidate:
    return of_kernel(kernel, sizes)[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes_go_along_what_lies_together(name: str) -> None:
    """Both what is read and what is stored takes as few sectors as there can be, but for what data decide."""
    found = best(PROGRAMS[name])
    assert not found.refused
    wanted = {"gathered": 2 * LEAST + 32}.get(name, 2 * LEAST)
    assert found.cost.sectors * 32 == pytest.approx(wanted, rel=0.01)


def test_of_equal_walks_the_simplest_is_taken() -> None:
    for name in ("plusone", "matrix", "nest of 3", "nest of 7", "reversed"):
        assert best(PROGRAMS[name]).name == "FoldAll"
    assert best(PROGRAMS["transposition"]).name == "tiles of axes 0, 1: 32 x 8"
    assert best(PROGRAMS["outermost turned in"]).name == "tiles of axes 0, 2: 32 x 8"


def test_no_choice_makes_a_launch_that_a_gpu_may_refuse() -> None:
    for kernel in PROGRAMS.values():
        found = of_kernel(kernel, {})
        assert all([one.cost.time >= found[0].cost.time * 0.99 for one in found if not one.refused])
    refused = {one.name: one.refused for one in of_kernel(PROGRAMS["nest of 3"], {})}
    assert refused["Jing"] == "block.x depends on sizes, and is at most 1,024" and refused["FoldAll"] == ""
    assert "Jing" in refused and of_kernel(PROGRAMS["nest of 3"], {})[-1].refused


def test_known_lengths_allow_more() -> None:
    """What no size can break is taken, and finds its index without a division."""
    found = of_rows(parse_space("iv < [n, 8, 16]"), {"n": 10_000})[0]
    assert (found.name, found.cost.divisions) == ("Jing", 0)
    assert "block.y is 2,048" in uncertain(mapped(maps.GridBlock(2, maps.Gen()), parse_space("iv < [n, 2048, 16]")))
    assert "has 2,048 threads" in uncertain(mapped(maps.GridBlock(2, maps.Gen()), parse_space("iv < [n, 64, 32]")))
    assert of_rows(parse_space("iv < [n, 64, 32]"), {"n": 10_000})[0].name != "Jing"


def test_sizes_that_are_given_count() -> None:
    """Rows of 5 have no use for lanes along them; where there is one row, tiles are idle."""
    tall, wide = [of_rows(flat(("n", "m")), {"n": n, "m": m}) for n, m in ((4_000_000, 5), (2, 8_000_000))]
    for found in (tall, wide):
        idle = {one.name: one.cost.idle for one in found}
        assert found[0].cost.idle < 0.4 and found[0].cost.sectors * 32 < LEAST * 1.05
        assert idle["FoldAll"] == pytest.approx(0, abs=1e-4)
    assert {one.name: one.cost.idle for one in tall}["lanes on axis 1: 32"] == pytest.approx(27 / 32)
    assert {one.name: one.cost.idle for one in wide}["tiles of axes 0, 1: 32 x 32"] == pytest.approx(30 / 32)
    assert lengths(("n", 4, "m"), {"n": 1024}) == (1024, 4, 4096) and lengths(("n",), {}) == (2 ** 24,)
    assert lengths((), {}) == () and lengths(("n", "m"), {"n": 0}) == (0, 2 ** 24)


@pytest.mark.parametrize("rank", [*range(1, 5), 6, *(pytest.param(rank, marks=pytest.mark.nightly) for rank in (5, 7))])
def test_candidates_are_mappings(rank: int) -> None:
    space = flat(NAMES[:rank])
    for name, mapping in candidates(rank):
        made = mapped(mapping, space)
        for size in (0, 1, 3) if rank < 6 else (2,):
            assert mistake(made, space, dict.fromkeys(NAMES, size)) == "", name


@pytest.mark.parametrize("text", ["[l] <= iv < [n] step [3] width [2]", "[l, 1] <= iv < [n, 9] step [2, 1]"])
def test_spaces_with_bounds_and_steps(text: str) -> None:
    space = parse_space(text)
    assert of_rows(space, {"n": 4000, "l": 7})[0].cost.idle < 0.2
    for name, mapping in candidates(len(space), stepped=True):
        assert mistake(mapped(mapping, space), space, {"n": 40, "l": 3}) == "", name
    assert "mapping\n  GridBlock(1, SplitLast(256, " in explained("auto", text, {})


@pytest.mark.parametrize(("space", "given", "all_sizes"), [
    ("iv < [n, m]", {"n": 64}, {"n": 64, "m": 2 ** 18}), ("iv < [64, n, m]", {}, {"n": 512, "m": 512}),
    ("iv < [n, m]", {}, {"n": 4096, "m": 4096})])
def test_sizes_that_nobody_gives_make_the_usual_number_of_elements(
        space: str, given: dict[str, int], all_sizes: dict[str, int]) -> None:
    assert candidates_shown(space, given) == candidates_shown(space, all_sizes)
    assert candidates_shown(space, given) != candidates_shown(space, dict.fromkeys(all_sizes, 5))


def candidates_shown(space: str, sizes: dict[str, int]) -> str:
    return explained("auto", space, sizes).split("candidates\n")[1].split("space\n")[0]


@pytest.mark.parametrize(("space", "sizes"), [
    ("iv < [n, m, k]", {"n": 10 ** 9, "m": 10 ** 10}), ("iv < [n * n * n]", {})])
def test_spaces_with_too_many_indices_are_told(space: str, sizes: dict[str, int]) -> None:
    with pytest.raises(NessieError, match=r"the space has more than [\d,]+ indices[\s\S]*it is tried for n = [\d,]+"):
        explained("auto", space, sizes)


def test_empty_spaces_cost_nothing() -> None:
    assert {one.cost.time for one in of_rows(flat(("n", "m")), {"n": 0, "m": 5})} == {0.0}


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@pytest.mark.parametrize("name", ["plusone", "transposition", "nest of 3", "outermost turned in"])
def test_sectors_are_those_that_cudasim_counts(name: str) -> None:
    """For each candidate that may be taken: what is estimated from a few blocks is what all threads do."""
    kernel = PROGRAMS[name]
    sizes = dict(zip(NAMES, {1: (10_000,), 2: (96, 160), 3: (32, 24, 40)}[len(of_rank(kernel))]))
    total = int(np.prod(list(sizes.values())))
    for one in of_kernel(kernel, sizes):
        if not one.refused:
            assert counted(kernel, one.mapping, sizes, total) == pytest.approx(one.cost.sectors, rel=0.05), one.name


def of_rank(kernel: ir.Kernel) -> tuple[str, ...]:
    return tuple([param.name for param in kernel.params if param.name in NAMES])


def counted(kernel: ir.Kernel, mapping: maps.Mapping, sizes: dict[str, int], total: int) -> float:
    """Sectors of loads and stores, for each index."""
    given: list[Any] = []
    for param in kernel.params:
        if isinstance(param.type, ir.Array):
            given.append(np.arange(total, dtype=np.float64))
        else:
            outer = int(np.prod(list(sizes.values())[:-1]))
            given.append({**sizes, "s1": outer, "t": total}[param.name])
    program = program_of(replace(kernel, by=mapping))
    device = counting_device(program)
    launch(device, "K", given)
    return sum(access.sectors for access in device.driver.accesses()
               if access.point.array in ("xs", "ys")) / total
