"""Versions of regions: where they are made, and that each gives what the others give, bit for bit."""
from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from built import cpu_device, execute, gpu_device

from nessie import driver
from nessie.base.source import NessieError, Source
from nessie.base.values import flatten_value, plain_value
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.host.host import HostLimits, Stats
from nessie.forms import FLAT, TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import type_of_layout
from nessie.lambda_cu.reference import reference
from nessie.lambda_cu.scope import statements
from nessie.pipeline import Job, pass_named
from nessie.schedule.explain.choices import choices as explained_choices
from nessie.tool.cli import main

PICK = "function main(xs, is) : ([float],[int]) -> [float] = let a = {exp(x) + sin(x) : x in xs} in {a[i] : i in is};"
ROWS = """function main(rows, xs) : ([[int]],[float]) -> [float] =
let ys = {exp(x) * cos(x) : x in xs} in {sum({ys[i] : i in r}) : r in rows};"""
TWICE = """function main(xs, is) : ([float],[int]) -> [float] =
let a = {exp(x) + sin(x) : x in xs}; b = {exp(y) + cos(y) : y in a} in {b[i] : i in is};"""


def compiled(text: str, last: str = "borders", **options: Any) -> ir.Program:
    job = Job(entry="main", **options)
    found: ir.Program = driver.compile_program(job, TEXT, Source("main.nesl", text), pass_named(last))
    return found


def choices(program: ir.Program) -> list[ir.Choose]:
    return [s for f in program.functions for s in statements(f.body) if isinstance(s, ir.Choose)]


def runs(block: ir.Block) -> int:
    return sum(isinstance(s, ir.Run) for s in statements(block))


@pytest.mark.parametrize("text, kernels", [(PICK, [1, 2]), (ROWS, [1, 2]), (TWICE, [1, 2])])
def test_what_few_may_gather_is_there_in_two_versions(text: str, kernels: list[int]) -> None:
    program = compiled(text)
    (choice,) = choices(program)
    assert [case.name for case in choice.cases] == ["pulled", "items"]
    assert [runs(case.block) for case in choice.cases] == kernels
    assert [(t.name.split(".")[0], t.name.split(".")[2], t.of, t.value) for t in program.tunables] == [
        ("main", "pulled", "share", 8), ("main", "pulled_few", "few", 10_000)]


@pytest.mark.parametrize("text", [
    PICK.replace("exp(x) + sin(x)", "x + 1.0"),                         # cheap: it is always pulled
    PICK.replace("exp(x) + sin(x)", "ln(x) + sin(x)"),                  # it can fail
    PICK.replace("[float] = let", "([float],[float]) = let").replace("{a[i] : i in is}", "(a, {a[i] : i in is})"),
    PICK.replace("is) :", "k) :").replace("[int])", "int)").replace("is}", "[0:k]}").replace(
        "{exp(x) + sin(x) : x in xs}", "{exp(float(x)) + sin(float(x)) : x in [0:k]}"),     # as many as elements
])
def test_what_gains_nothing_has_no_versions(text: str) -> None:
    assert choices(compiled(text)) == []


def test_sizes_that_are_given_leave_nothing_to_choose() -> None:
    assert choices(compiled(PICK, sizes={"xs": 1e6, "is": 1e6})) == []
    assert choices(compiled(PICK, fuse="none")) == []


def arguments(text: str, n: int, m: int, seed: int) -> list[Any]:
    draw = random.Random(seed)
    xs = [draw.uniform(-3, 3) for _ in range(n)]
    places = [draw.randrange(n) for _ in range(m)]
    return [[places[:m // 2], [], places[m // 2:]], xs] if text is ROWS else [xs, places]


@pytest.mark.parametrize("text", [PICK, ROWS, TWICE])
@pytest.mark.parametrize("n, m", [(1, 0), (1, 1), (7, 1), (8, 1), (9, 1), (40, 5), (40, 6), (3, 50)])
def test_versions_give_the_same_on_every_executor(text: str, n: int, m: int) -> None:
    program = compiled(text)
    types = [type_of_layout(layout) for layout in program.entry.arguments]
    result = type_of_layout(program.entry.result)
    share, few = [t.name for t in program.tunables]
    given = arguments(text, n, m, n * 100 + m)

    def flat() -> list[Any]:
        return [flatten_value(value, type_) for value, type_ in zip(given, types, strict=True)]

    expected = plain_value(reference.execute(program, flat()), result)
    assert plain_value(reference.execute(program, flat(), version="pulled"), result) == expected
    found = []
    for device in (cpu_device(program, threads=2), gpu_device(program, Cudasim())):
        of_device = []
        for tuning in ({few: 0}, {share: 0}, {share: ir.UNKNOWN, few: 5}):
            stats = Stats()
            value = execute(program, flat(), device, HostLimits(tuning=tuning), stats)
            of_device.append(plain_value(value, result))
            found.append([held for _, held in stats.versions])
        assert of_device[0] == of_device[1] == of_device[2]
        assert of_device[0] == pytest.approx(expected, rel=1e-12)
    assert found == 2 * [[m * 8 <= n], [True], [m * 2 <= n and m <= 5]]


@pytest.mark.parametrize("tuning", [{}, {"main.it.pulled": ir.UNKNOWN, "main.it.pulled_few": 0}])
def test_versions_fail_alike(tuning: dict[str, int]) -> None:
    program = compiled(PICK)
    given = [flatten_value(value, type_of_layout(layout)) for value, layout in
             zip(([1.0] * 20, [9, 20]), program.entry.arguments, strict=True)]
    with pytest.raises(NessieError, match="out of bounds"):
        execute(program, given, cpu_device(program, threads=1), HostLimits(tuning=tuning))


# Owners on GPUs ---------------------------------------------------------------------------------

SUMS = "function main(rows) : [[int]] -> [int] = {sum(r) : r in rows};"
SORTED = "function main(rows) : [[int]] -> [[int]] = {sort(r) : r in rows};"
SCALED = "function main(rows) : [[int]] -> [[int]] = {let s = sum(r) in {x * s : x in r} : r in rows};"


@pytest.mark.parametrize("text, items", [(SUMS, 1), (SORTED, 1), (SCALED, 2)])
def test_owners_of_each_level_are_versions_on_gpus(text: str, items: int) -> None:
    program = compiled(text, target="cudasim", versions=True)
    (choice,) = choices(program)
    assert [case.name for case in choice.cases] == ["sub8", "warp", "block", "items"]
    assert [runs(case.block) for case in choice.cases][:3] == [1, 1, 1]
    assert runs(choice.cases[-1].block) >= items
    assert choices(compiled(text, target="cudasim")) == [] == choices(compiled(text, versions=True))


@pytest.mark.parametrize("text", [SUMS, SORTED, SCALED])
@pytest.mark.parametrize("lengths", [[], [0, 3, 8, 9], [300, 0, 1], [64] * 3, [65, 2]])
def test_owners_give_the_same_as_the_balanced_walk(text: str, lengths: list[int]) -> None:
    program = compiled(text, target="cudasim", versions=True)
    types = [type_of_layout(layout) for layout in program.entry.arguments]
    result = type_of_layout(program.entry.result)
    draw = random.Random(len(lengths))
    rows = [[draw.randrange(-9, 9) for _ in range(length)] for length in lengths]
    expected = plain_value(reference.execute(program, [flatten_value(rows, types[0])]), result)
    never = {t.name: ir.UNKNOWN for t in program.tunables if t.of == "n"}
    device, taken = gpu_device(program, Cudasim()), []
    for level in ("sub8", "warp", "block", "items"):
        tuning = never | {t.name: 0 if t.of == "n" else ir.UNKNOWN - 1 for t in program.tunables
                          if t.name.split(".")[2].startswith(level)}
        stats = Stats()
        value = execute(program, [flatten_value(rows, types[0])], device, HostLimits(tuning=tuning), stats)
        assert plain_value(value, result) == expected
        taken.append([name.split(".")[-1] for name, held in stats.versions if held])
    assert taken == [["sub8"], ["warp"], ["block"], []]


SOFTMAX = """function main(rows) : [[float]] -> [[float]] =
  {let m = max_val(r); e = {exp(x - m) : x in r}; s = sum(e) in {x / s : x in e} : r in rows};"""
SHARES = "function main(rows) : [[float]] -> [[float]] = {let s = sum(r) in {x / s : x in r} : r in rows};"


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("text, items", [(SOFTMAX, 3), (SHARES, 2), (SCALED, 2)], ids=["softmax", "shares", "scaled"])
@pytest.mark.parametrize("level", ["sub8", "warp", "block"])
def test_owners_take_rows_up_to_the_longest_that_they_may(text: str, items: int, level: str) -> None:
    """Rows of no element, of one, and of as many as a level takes are one launch; with one more, they go by items."""
    program, cpu = compiled(text, target="cudasim", versions=True), compiled(text)
    (types,), result = [type_of_layout(at) for at in program.entry.arguments], type_of_layout(program.entry.result)
    (room,) = [t.value for t in program.tunables if t.name.endswith(f".{level}_longest")]
    shipped = {t.name: 0 if t.name.endswith(f".{level}") else ir.UNKNOWN for t in program.tunables if t.of == "n"}
    on_cpu, draw = cpu_device(cpu, threads=2), random.Random(room)
    for lengths in ([0, 1, room], [0, 1, room + 1], [room], [0], [1, 1], []):
        rows = [[draw.randrange(1, 9) / (1 if text is SCALED else 4) for _ in range(length)] for length in lengths]
        given = flatten_value([[int(x) for x in row] for row in rows] if text is SCALED else rows, types)
        device, stats = gpu_device(program, Cudasim(2, room % 4)), Stats()
        found = plain_value(execute(program, [given], device, HostLimits(tuning=shipped), stats), result)
        fits = room + 1 not in lengths
        assert [name.split(".")[-1] for name, held in stats.versions if held] == ([level] if fits else [])
        assert device.stats.launches == (1 if fits else items) or not rows
        for expected in (reference.execute(program, [given]), execute(cpu, [given], on_cpu)):
            told = plain_value(expected, result)
            assert found == told if text is SCALED else all(
                [a == pytest.approx(b, rel=1e-12) for a, b in zip(found, told, strict=True)])


# What is shown -----------------------------------------------------------------------------------


def test_explanations_tell_of_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pick.nesl"
    path.write_text(PICK)
    assert main(["explain", str(path), "-e", "main"]) == 0
    told = capsys.readouterr().out
    assert "main on cpu, 2 regions" in told and "(K2_pulled in the code)" in told
    assert ("versions, of which a run takes one\n"
            f"  main.it  {path}:1:94\n"
            "    pulled if #is * 8 <= #xs or #is * 2 <= #xs and #is <= 10000  (share = 8, few = 10000)\n"
            "    items else\n") in told
    assert main(["explain", str(path), "-e", "main", "--json"]) == 0
    (choice,) = json.loads(capsys.readouterr().out)["versions"]
    assert choice["choice"] == "main.it" and choice["place"]["column"] == 94
    assert choice["cases"] == [
        {"version": "pulled", "condition": "#is * 8 <= #xs or #is * 2 <= #xs and #is <= 10000"}, {"version": "items"}]
    assert choice["thresholds"] == [{"version": "pulled", "of": "share", "value": 8},
                                    {"version": "pulled", "of": "few", "value": 10000}]


@pytest.mark.parametrize("given, body, size, longest", [
    ("[[float]]", "{sum(r) : r in rows}", "#rows", "longest(rows)"),
    ("[uniform [float]]", "{sum(r) : r in rows}", "#rows", "longest(rows)"),
    ("[[[float]]]", "{{sum(r) : r in some} : some in rows}", "#flatten(rows)", "longest(flatten(rows))"),
    ("[([float], int)]", "{sum(r) : r, i in rows}", "#rows", "longest(rows)"),
])
def test_conditions_name_rows_and_statistics_as_users_do(given: str, body: str, size: str, longest: str) -> None:
    result = "[[float]]" if "some" in body else "[float]"
    fused = compiled(f"function main(rows) : {given} -> {result} = let ys = {body} in ys;", "fuse", target="cudasim",
                     versions=True)
    (found,) = explained_choices(fused)
    assert found.versions == (
        ("sub8", f"{size} >= 4096 and {longest} <= 64"), ("warp", f"{size} >= 2048 and {longest} <= 512"),
        ("block", f"{size} >= 512 and {longest} <= 4096"), ("items", ""))
    assert found.thresholds[:2] == (("sub8", "n", 4096), ("sub8", "longest", 64))


def test_conditions_in_other_functions_name_what_their_parameters_tell() -> None:
    text = """function sums(rows, depth) : ([[float]], int) -> [float] =
  if depth == 0 then [] float else let ys = {sum(r) : r in rows} in ys ++ sums(rows, depth - 1);
function main(v, n) : ([[float]], int) -> [float] = {y + 1.0 : y in sums(v, n)};"""
    (found,) = explained_choices(compiled(text, "fuse", target="cudasim", versions=True))
    assert found.name == "sums.ys" and found.versions[0] == ("sub8", "#rows >= 4096 and longest(rows) <= 64")


@pytest.mark.parametrize("options", [{}, {"target": "cudasim", "versions": True}])
def test_passes_make_no_versions_of_versions(options: dict[str, Any]) -> None:
    for text in (PICK, SCALED):
        flat = compiled(text, "simplify", **options)
        twice = flat
        for _ in range(2):
            made = driver.run_through(Job(**options), FLAT, twice, pass_named("schedule"))
            twice = driver.made(made.values())[FLAT]
        assert len(choices(twice)) == len(choices(compiled(text, "borders", **options)))
