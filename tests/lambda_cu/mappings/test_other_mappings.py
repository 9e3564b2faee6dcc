"""What else could walk a kernel that has a mapping, at what cost, and why not."""
from __future__ import annotations

from dataclasses import replace

import pytest

from nessie import driver
from nessie.base.source import Source
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.choice.others import NO_SEGMENTS, impossible, of_levels, own
from nessie.lambda_cu.mappings.owners import by_owner
from nessie.lambda_cu.mappings.text import parse_mapping
from nessie.pipeline import Job, pass_named

BOXES = "function main(xs, ys) : ([float], [float]) -> [[float]] = {{x * y : y in ys} : x in xs};"
SUMS = "function main(rows) : [[float]] -> [float] = {sum(r) : r in rows};"
ALONE = "function main(xs) : [float] -> [float] = {x + 1.0 : x in xs};"
SCAN = "function main(xs) : [int] -> [int] = plus_scan(xs);"


def kernel_of(text: str, by: maps.Mapping | None = None) -> ir.Kernel:
    program: ir.Program = driver.compile_program(Job(entry="main", target="cudasim"), TEXT, Source("p.nesl", text),
                                                 pass_named("fuse"))
    return replace(program.kernels[0], by=by)


def by(text: str) -> maps.Mapping:
    found = parse_mapping(Source("mapping", text))
    assert not isinstance(found, maps.Cases)
    return found


def test_a_mapping_costs_what_it_costs_among_candidates() -> None:
    """Asked for by hand, a candidate's mapping costs what `auto` reckons, and is not among the others."""
    kernel = kernel_of(BOXES)
    found = own(replace(kernel, by=by("auto")), {})
    assert found is not None
    _, candidates = found
    for candidate in candidates:
        told = own(replace(kernel, by=candidate.mapping), {})
        assert told is not None
        text, others = told
        assert f"for 4,096 * 4,096 elements it takes about {candidate.cost.time / 1000:.1f} us" in text
        assert candidate.mapping not in [other.mapping for other in others]
        assert ("a GPU may refuse it" in text) == bool(candidate.refused)


def test_sizes_that_are_given_count() -> None:
    kernel = kernel_of(BOXES, by("GridBlock(1, SplitLast(32, Gen))"))
    (rows, columns) = next(bind.soac.space for bind in kernel.binds).axes        # type: ignore[union-attr]
    found = own(kernel, {rows: 1000, columns: 33})
    assert found is not None and found[0].startswith("for 1,000 * 33 elements ") and "48% idle" in found[0]


@pytest.mark.parametrize("text, level, expected", [
    (SUMS, "warp", [("Jing, JingExt, FoldAll, auto", "it reduces rows, which owners hold")]),
    (ALONE, None, [("block, warp, sub8, sub4, thread", NO_SEGMENTS)]),
    (BOXES, None, []),
    (SCAN, None, [("Jing, JingExt, FoldAll, auto", "each of its elements needs those before it"),
                  ("block, warp, sub8, sub4, thread", NO_SEGMENTS)]),
    ("function main(v) : [int] -> [[int]] = {{x * j : j in [0:i + 1]} : x in v; i in [0:#v]};", None,
     [("Jing, JingExt, FoldAll, auto", "strategies take axes of one length: write GridBlock(..., Hull(Gen))")]),
])
def test_what_is_impossible_says_why(text: str, level: str | None, expected: list[tuple[str, str]]) -> None:
    found = impossible(kernel_of(text, by_owner(level) if level else None))
    assert [names for names, _ in found] == [names for names, _ in expected]
    assert all(part in reason for (_, reason), (_, part) in zip(found, expected, strict=True))


def test_six_axes_are_too_many_for_jing() -> None:
    text = ("function main(a, b, c, d, e, h) : ([int], [int], [int], [int], [int], [int]) -> [[[[[[int]]]]]] = "
            "{{{{{{u + v + w + x + y + z : z in h} : y in e} : x in d} : w in c} : v in b} : u in a};")
    assert ("Jing", "Jing maps up to 5 axes, and here are 6: JingExt and FoldAll map any number") in impossible(
        kernel_of(text))


@pytest.mark.parametrize("mean, best", [(1, "thread"), (8, "sub4"), (4000, "block")])
def test_levels_are_told_by_how_long_rows_are(mean: int, best: str) -> None:
    """Of short rows many fit into a warp; of long ones each has many lanes busy."""
    kernel = kernel_of(SUMS, by_owner("warp"))
    root = next(bind.soac.space for bind in kernel.binds if isinstance(bind.soac, ir.Reduce))
    assert isinstance(root, ir.Irregular) and isinstance(root.segments, str) and isinstance(root.total, str)
    found_mean, levels = of_levels(kernel, {root.segments: 10_000_000 // mean, root.total: 10_000_000 // mean * mean})
    assert found_mean == mean and {found.level for found in levels} == {"block", "warp", "sub8", "sub4", "thread"}
    times = {found.level: found.time for found in levels}
    assert times[best] <= min(times.values()) * 1.15
    for found in levels:
        lanes = {"block": 256, "warp": 32, "sub8": 8, "sub4": 4, "thread": 1}[found.level]
        assert found.steps == -(-mean // lanes)
        assert found.idle == pytest.approx(1 - mean / (found.steps * lanes))
