"""Every worked example of Janssen and Scholz, *On Mapping N-Dimensional Data-Parallelism Efficiently into
GPU-Thread-Spaces* (IFL 2021), by its section; those of section 2 are in test_partitions. Where the paper slips,
docs/errata.md says so."""
from __future__ import annotations

import pytest

from nessie.base.names import Names
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.axes import Axis, Space, flat, indices, parse_space, show_space, value
from nessie.lambda_cu.mappings.certificate import mistake, walked
from nessie.lambda_cu.mappings.combinators import Lets, Unmappable, back, chain, demands, forward, steps_left
from nessie.lambda_cu.mappings.mapped import launch_of, mapped
from nessie.lambda_cu.mappings.strategies import fold_all, jing, jing_ext, mapping_of
from nessie.lambda_cu.mappings.text import parse_mapping, show_mapping
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.text.printer_expressions import show_exp


def top(inner: str) -> maps.Top:
    found = parse_mapping(f"GridBlock(1, {inner})")
    assert isinstance(found, maps.GridBlock)
    return found


def numbers(space: Space) -> list[tuple[int, int, int, int]]:
    """L, U, T, W of each axis."""
    return [(value(axis.low, {}), value(axis.high, {}), value(axis.step, {}), value(axis.width, {})) for axis in space]


def after(inner: str, space: str) -> list[tuple[int, int, int, int]]:
    """The space that the combinators make, by numbers."""
    here, host = parse_space(space), Lets.of("", Names())
    for step in chain(top(inner)):
        demands(step, here)
        here = forward(step, here, host)
    return numbers(here)


def recovered(inner: str, space: str, at: tuple[int, ...]) -> tuple[int, ...] | None:
    """The index of a thread of the space that the combinators make; None if it has none."""
    host, code, stages = Lets.of("", Names()), Lets.of("", Names()), [parse_space(space)]
    steps = chain(top(inner))
    for step in steps:
        stages.append(forward(step, stages[-1], host))
    here = tuple([ir.Const(i, "int") for i in at])
    guards = steps_left(stages[-1], here)
    for step, before in reversed(list(zip(steps, stages))):
        here, more = back(step, before, here, code)
        guards += more
    known: dict[str, int] = {}
    for name, exp in code.bound.items():
        known[name] = value(exp, known)
    live = all([guard != ir.Const(False, "bool") and value(guard, known) for guard in guards])
    return tuple([value(exp, known) for exp in here]) if live else None


# Section 4 ----------------------------------------------------------------------------------------


def test_shift_lb() -> None:
    """4.1; the steps stay [1, 2] (errata)."""
    space = "[1, 1] <= iv < [6, 6] step [1, 2]"
    assert after("ShiftLB(Gen)", space) == [(0, 5, 1, 1), (0, 5, 2, 1)]
    assert recovered("ShiftLB(Gen)", space, (0, 4)) == (1, 5)


def test_compress_grid() -> None:
    """4.2"""
    space = "iv < [5, 5] step [2, 2]"
    assert after("CompressGrid([1, 0], Gen)", space) == [(0, 3, 1, 1), (0, 5, 2, 1)]
    assert after("CompressGrid([1, 1], Gen)", space) == [(0, 3, 1, 1), (0, 3, 1, 1)]
    assert recovered("CompressGrid([1, 0], Gen)", space, (1, 4)) == (2, 4)
    assert recovered("CompressGrid([1, 0], Gen)", space, (1, 3)) is None


def test_compress_grid_of_widths() -> None:
    """4.2: thread 2 is index 3."""
    space = "iv < [5, 5] step [3, 1] width [2, 1]"
    assert after("CompressGrid([1, 0], Gen)", space) == [(0, 4, 1, 1), (0, 5, 1, 1)]
    assert recovered("CompressGrid([1, 0], Gen)", space, (2, 0)) == (3, 0)


def test_fold_last_2() -> None:
    """4.3; the picture is of [3, 5] (errata)."""
    assert after("FoldLast2(Gen)", "iv < [2, 5]") == [(0, 10, 1, 1)]
    assert recovered("FoldLast2(Gen)", "iv < [3, 5]", (7,)) == (1, 2)


def test_split_last() -> None:
    """4.4: two threads of twelve have no index."""
    assert after("SplitLast(4, Gen)", "iv < [10]") == [(0, 3, 1, 1), (0, 4, 1, 1)]
    without = [at for at in indices(parse_space("iv < [3, 4]"), {})
               if recovered("SplitLast(4, Gen)", "iv < [10]", at) is None]
    assert without == [(2, 2), (2, 3)]


def test_pad_last() -> None:
    """4.5"""
    assert after("PadLast(4, Gen)", "iv < [5, 7]") == [(0, 5, 1, 1), (0, 8, 1, 1)]
    assert [j for j in range(8) if recovered("PadLast(4, Gen)", "iv < [5, 7]", (3, j)) is None] == [7]


def test_permute() -> None:
    """4.6; the made space is [7, 5] (errata)."""
    assert after("Permute([1, 0], Gen)", "iv < [5, 7]") == [(0, 7, 1, 1), (0, 5, 1, 1)]
    assert recovered("Permute([1, 0], Gen)", "iv < [5, 7]", (6, 2)) == (2, 6)


# Section 5 and 6 ----------------------------------------------------------------------------------


TABLE_1 = {1: (["1", "1", "(d0 + 31) / 32"], ["32", "1"]),
           2: (["1", "(d0 + 31) / 32", "(d1 + 31) / 32"], ["32", "32"]),
           3: (["1", "1", "d0"], ["d2", "d1"]), 4: (["1", "d0", "d1"], ["d3", "d2"]),
           5: (["d0", "d1", "d2"], ["d4", "d3"])}


@pytest.mark.parametrize("rank", TABLE_1)
def test_table_1(rank: int) -> None:
    """The grid z, y, x, and the block x, y; a length that 32 divides gets no block too many (errata)."""
    made = mapped(jing(rank), flat([f"d{k}" for k in range(rank)]))

    def told(exp: ir.Exp) -> str:
        while isinstance(exp, ir.Var) and exp.name in made.host:
            exp = made.host[exp.name]
        return show_exp(exp)
    assert ([told(exp) for exp in made.grid[::-1]], [told(exp) for exp in made.block[:2]]) == TABLE_1[rank]


def test_listing_9() -> None:
    """Its grid and block: blocks of 32 of a row, rounded up (listing 10 rounds down, errata)."""
    mapping = parse_mapping("GridBlock(1, SplitLast(32, ShiftLB(Gen)))")
    assert isinstance(mapping, maps.GridBlock)
    space = parse_space("[lb1, lb0] <= iv < [ub1, ub0]")
    made = mapped(mapping, space)
    sizes = {"lb1": 1, "ub1": 4, "lb0": 2, "ub0": 72}
    assert launch_of(made, sizes) == ((3, 3, 1), (32, 1, 1))
    assert not mistake(made, space, sizes)
    assert made.passed == ["lb0", "lb1", "length_1"]


def test_non_destructive_upper_bounds() -> None:
    """6.3: the guard asks for the length before it was padded; the launch has the one after."""
    mapping = parse_mapping("GridBlock(1, PadLast(64, ShiftLB(Gen)))")
    assert isinstance(mapping, maps.GridBlock)
    space = parse_space("[lb1, lb0] <= iv < [ub1, ub0]")
    made = mapped(mapping, space)
    assert len(set(made.host)) == 3 and show_exp(made.guards[0]) == "threadIdx_x < length_1"
    sizes = {"lb1": 1, "ub1": 4, "lb0": 2, "ub0": 72}
    assert launch_of(made, sizes)[1] == (128, 1, 1) and not mistake(made, space, sizes)


# Section 7 ----------------------------------------------------------------------------------------


def divisions(made: object) -> int:
    return sum([isinstance(e, ir.Op) and e.op in ("/", "rem") for exp in made.code.values()      # type: ignore[attr-defined]
                for e in subexpressions(exp)])


def test_a_nest_of_three_needs_no_division() -> None:
    mapping = parse_mapping("GridBlock(2, ShiftLB(Gen))")
    assert isinstance(mapping, maps.GridBlock)
    assert divisions(mapped(mapping, flat(["n", "m", "k"]))) == 0


def test_seven_by_jing_ext_need_three_divisions() -> None:
    assert divisions(mapped(jing_ext(7), flat([f"d{k}" for k in range(7)]))) == 3


@pytest.mark.parametrize("rank", [*range(1, 8), 11])
@pytest.mark.parametrize("strategy", ["Jing", "JingExt", "FoldAll"])
@pytest.mark.parametrize("stepped", [False, True])
def test_strategies(rank: int, strategy: str, stepped: bool) -> None:
    """Each index once, with and without steps, also of a nest of eleven."""
    step = ir.Const(2, "int") if stepped else ir.Const(1, "int")
    space = tuple([Axis(ir.Var(f"u{k}"), ir.Var(f"l{k}"), step if k % 2 else ir.Const(1, "int")) for k in range(rank)])
    if strategy == "Jing" and rank > 5:
        with pytest.raises(Unmappable, match="JingExt and FoldAll"):
            mapping_of(maps.Strategy(strategy), space)
        return
    mapping = mapping_of(maps.Strategy(strategy), space)
    assert mapping is not None
    most = 70 if rank == 1 else 34 if rank == 2 else 3 if rank < 8 else 2
    lengths = [most if k in (0, rank - 1) or rank < 3 else 2 for k in range(rank)]
    sizes = {f"l{k}": k % 3 for k in range(rank)} | {f"u{k}": k % 3 + length for k, length in enumerate(lengths)}
    assert not mistake(mapped(mapping, space), space, sizes)
    assert not list(walked(mapped(mapping, space), sizes | {"u0": 0}))


def test_jing_of_two_axes_as_it_is_printed_is_no_table_1() -> None:
    """7.1 prints a last Permute([0, 2, 1, 3]) (errata): each index once as well, but rows are not along x."""
    printed = parse_mapping("GridBlock(2, Permute([0, 2, 1, 3], SplitLast(32, "
                            "Permute([1, 2, 0], SplitLast(32, ShiftLB(Gen))))))")
    assert isinstance(printed, maps.GridBlock)
    space, sizes = flat(["n", "m"]), {"n": 40, "m": 70}
    assert not mistake(mapped(printed, space), space, sizes)
    assert launch_of(mapped(printed, space), sizes) != launch_of(mapped(jing(2), space), sizes)


def test_the_text_of_strategies_reads_back() -> None:
    for rank in range(1, 12):
        for mapping in (jing_ext(rank), jing_ext(rank, True), fold_all(rank), fold_all(rank, True)):
            assert parse_mapping(show_mapping(mapping)) == mapping


# Spaces as text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    "iv < [n]", "[1, 0] <= iv < [n, m + 1]", "iv < [n, m] step [2, 1]", "iv < [9] step [3] width [2]",
    "iv < [n, i0 + 1]"])
def test_a_space_reads_back(text: str) -> None:
    assert show_space(parse_space(text)) == text


def test_hull() -> None:
    """A triangle: each row as long as the longest, and a guard."""
    mapping = parse_mapping("GridBlock(1, Hull(Gen))")
    assert isinstance(mapping, maps.GridBlock)
    space = parse_space("iv < [n, i0 + 1]")
    with pytest.raises(Unmappable, match="Hull first"):
        mapped(maps.GridBlock(1, maps.FoldLast2(maps.Gen())), space)
    made = mapped(mapping, space)
    for n in range(6):
        assert not mistake(made, space, {"n": n})
    for lengths in ("n - i0", "min(i0, n - i0)", "min(n, i0 + 3) - max(0, i0 - 2)", "min(i0, 3) - max(0, i0 - 2)"):
        space = parse_space(f"iv < [n, {lengths}]")
        for n in range(9):
            assert not mistake(mapped(mapping, space), space, {"n": n})
    for lengths in ("i0 * i0", "i0 * (n - i0)", "n / (i0 + 1)"):
        with pytest.raises(Unmappable, match="straight lines"):
            mapped(mapping, parse_space(f"iv < [n, {lengths}]"))
