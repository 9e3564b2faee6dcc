"""`nessie explain`: its text and JSON, its prices, and that it says something of every pair.

A golden file is a comment that says what it shows, the command (run where nesl_examples is), `==>`, what is printed.
"""
from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from brute_force import brute, brute_wishful
from paths import GOLDEN_FILES, ROOT
from random_graphs import PROFILES, random_graph

from nessie.schedule.cost import profiles
from nessie.schedule.cost.problem import Problem
from nessie.schedule.cost.profiles import CPU
from nessie.schedule.explain.explain import SCHEDULES, explain
from nessie.schedule.explain.json import as_json
from nessie.schedule.explain.text import as_text as explained_text
from nessie.schedule.graph import text as graph_text
from nessie.schedule.legality import fusible
from nessie.schedule.nodes import APART, NEVER, TOGETHER
from nessie.tool.cli import main
from nessie.tool.timing import calibrate

GOLDEN = sorted((GOLDEN_FILES / "explain").glob("*.txt"))
FUSION = ROOT / "nesl_examples" / "fusion"

# Kernels, megabytes and milliseconds of the greedy schedule and of the best one.
BETTER = {
    "scan_then_pack": ((3, 76.0, 3.874), (2, 68.0, 3.420)),
    "neighbour": ((3, 92.0, 4.647), (3, 68.0, 3.488)),
    "two_uses": ((3, 80.0, 4.068), (3, 64.0, 3.295)),
    "two_scans": ((3, 89.0, 4.502), (3, 57.0, 2.956)),
    "late_reader": ((2, 68.0, 3.420), (2, 60.0, 3.034)),
    "normalise": ((3, 40.0, 2.135), (3, 32.0, 1.774)),
}


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def explained(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["explain", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden(path: Path, update_golden: bool, capsys: pytest.CaptureFixture[str]) -> None:
    case, _, expected = path.read_text("utf-8").partition("==>\n")
    command = next(line.removeprefix("$ nessie ") for line in case.splitlines() if line.startswith("$ "))
    assert main(shlex.split(command)) == 0
    found = capsys.readouterr().out
    if "--json" in command:
        found = json.dumps(json.loads(found), indent=1) + "\n"
    if update_golden:
        path.write_text(f"{case}==>\n{found}", "utf-8")
    else:
        assert found == expected


# What is known --------------------------------------------------------------------------------------


def test_norm2_is_two_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    found = explained(capsys, "nesl_examples/norm2.nesl", "-e", "norm2")
    assert found["schedules"]["ilp"]["kernels"] == 2 and found["schedules"]["none"]["kernels"] == 5
    assert found["regions"][0]["schedules"]["ilp"]["members"] == [["sum1", "gts", "sum2"], ["it", "it_1"]]
    assert found["schedules"]["ilp"]["status"] == "optimal"


def test_both_schedules_of_the_conflict(capsys: pytest.CaptureFixture[str]) -> None:
    """Squares with the sum: four words an element. With the division: three."""
    found = explained(capsys, "nesl_examples/fusion/squares.nesl", "-e", "squares", "-t", "[float]", "--size", "as=1e7")
    best = found["regions"][0]["schedules"]["ilp"]
    assert best["members"] == [["total"], ["sq", "it"]] and best["bytes"] == 3 * 8e7
    (pair,) = [pair for pair in found["regions"][0]["pairs"] if pair["verdict"] == APART]
    assert pair["price"]["members"] == [["total", "sq"], ["it"]] and pair["price"]["bytes"] == 4 * 8e7
    assert pair["price"]["cost"] == pytest.approx(8e7 / CPU.bandwidth, rel=1e-3)
    assert {"name": "sq", "read": 1.0, "written": 1} in pair["price"]["more"]


@pytest.mark.parametrize("name", BETTER)
def test_greedy_is_not_always_best(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = explained(capsys, str(FUSION / f"{name}.nesl"), "-e", name)["schedules"]
    costs = [(found[mode]["kernels"], found[mode]["bytes"] / 1e6, found[mode]["cost"] / 1e6)
             for mode in ("greedy", "ilp")]
    assert costs == [pytest.approx(known, abs=1e-3) for known in BETTER[name]]
    assert found["ilp"]["status"] == "optimal"


def test_each_small_program_is_tested_and_says_what_it_shows() -> None:
    assert {path.stem for path in FUSION.glob("*.nesl")} == {*BETTER, "squares"}
    assert all(path.read_text("utf-8").startswith("% ") for path in FUSION.glob("*.nesl"))


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_pieces_of_a_long_run_claim_no_optimum(words: tuple[str, ...], tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    """Neither from the program nor from its graphs; nor are their prices exact."""
    steps = "".join(f"a{k + 1} = {{x * {k + 2} + y : x in a{k}; y in permute(a{k}, rank(v))}};\n" for k in range(120))
    path, graph = tmp_path / "long.nesl", tmp_path / "long.graph"
    path.write_text(f"function long(v) : [int] -> [int] = let a0 = v;\n{steps}in a120;")
    assert main(["compile", str(path), "-e", "long", "--emit", "graph"]) == 0
    graph.write_text(capsys.readouterr().out)
    for source in ([str(path), "-e", "long"], [str(graph)]):
        assert main(["explain", *source, *words]) == 0
        text = capsys.readouterr().out
        assert "optimal" not in text and text.count("region") > 2


# What holds of all ----------------------------------------------------------------------------------


def test_prices_are_what_brute_force_says() -> None:
    seen = set()
    for seed in range(120):
        graph, profile = random_graph(seed, 5), PROFILES[seed % len(PROFILES)]
        problem = Problem(graph, profile)
        (region,) = explain([graph], profile, math.inf).regions
        least = brute(problem)
        for pair in region.pairs:
            joined = brute_wishful(replace(graph, fused=((pair.first, pair.second),)), profile)
            seen.add(pair.verdict)
            if pair.verdict == NEVER:
                assert joined == float("inf") and pair.witness and pair.reason, (seed, pair)
            elif pair.verdict == TOGETHER:
                assert joined == pytest.approx(least), (seed, pair)
            else:
                assert pair.price is not None
                assert pair.price.cost == pytest.approx(joined - least, abs=1e-6 * least), (seed, pair)
    assert seen == {NEVER, TOGETHER, APART}


def test_every_reason_has_a_witness() -> None:
    """And every explanation a text and a JSON."""
    seen: set[str] = set()
    for seed in range(400):
        graph = random_graph(seed, 9)
        found = explain([graph], CPU, 0)
        for pair in found.regions[0].pairs:
            if pair.verdict == NEVER:
                seen.add(pair.reason)
                names = {node.name for node in graph.nodes}
                assert names.intersection(pair.witness.replace("'s", "").replace(",", "").split()), pair
        assert json.loads(json.dumps(as_json("random", found)))["regions"]
        assert explained_text("random", found, True).count("\n") > 5
    assert seen >= {"gather", "size", "kernel-end", "segment-late", "segment-end", "scatter-order", "two-look-backs",
                    "space", "path", "missing-host"}
    assert all(f"    {reason} " in (fusible.__doc__ or "") for reason in seen)


RARE = """graph rare 0 {
  size n = 1000.0
  array xs : [float; n]
  array ys : [float; n]
  array zs : [float; n]
  scalar a : float
  scalar c : float
  scalar h : float
  array ws : [float; n]
  node ys = MAP flat(n) (own xs) -> (ys)
  node zs = PERMUTE flat(n) (own xs) -> (zs) serial
  node a = REDUCE flat(n) (own xs) -> (a)
  node c = ONCE unit() (scalar a, gather ys) -> (c)
  node h = HOST unit() (gather a) -> (h)
  node ws = ORDER unit() (size ys) -> (ws) fails
  outputs (zs, c, ws)
}
"""


def test_prices_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with most at stake, in whichever region, have a price, and as many as there is work for."""
    graphs = [random_graph(seed, 9) for seed in range(12)]
    whole = explain(graphs, CPU, math.inf)
    found = explain(graphs, CPU, 500)
    assert [len(region.pairs) for region in found.regions] == [len(region.pairs) for region in whole.regions]
    work, least, most = 0, math.inf, 0.0
    for graph, region, all_priced in zip(graphs, found.regions, whole.regions, strict=True):
        for pair, wanted in zip(region.pairs, all_priced.pairs, strict=True):
            if pair.price is not None or pair.verdict != wanted.verdict:
                work, least = work + len(graph.nodes) ** 2, min(least, pair.bytes)
                assert pair == wanted
            elif pair.verdict == APART:
                most = max(most, pair.bytes)
    assert 500 - 81 < work <= 500
    assert least >= most
    text = explained_text("random", found, True)
    assert "not priced" in text and "not priced" not in explained_text("random", whole, True)


def test_rare_reasons() -> None:
    (region,) = explain([graph_text.parse(RARE)], CPU).regions
    found = {(pair.first, pair.second): (pair.reason, pair.witness) for pair in region.pairs if pair.verdict == NEVER}
    assert found["ys", "zs"] == ("one-thread", "one thread walks zs, so that the last of several writes to one place "
                                 "wins; ys is better off with all threads")
    assert found["ys", "c"] == ("once-reads-array",
                                "c is scalar code and reads ys, which is complete only when the kernel has ended")
    assert found["a", "h"] == ("host", "h is computed by the host")
    assert found["ys", "ws"] == ("library", "ws is a kernel of the library")


def test_a_large_region_stays_readable(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for more in ((), ("--all",)):
        assert main(["explain", "nesl_examples/quickhull.nesl", "-e", "quickhull", *more]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0].count("\n") + 10 < texts[1].count("\n")
    assert "more pairs, with less at stake: --all shows them" in texts[0]
    assert "more pairs" not in texts[1] and "--all" not in texts[1]


def test_what_the_host_computes_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "host.nesl"
    path.write_text("function host(xs) = let a = {x in xs | x > 0.0}; n = #a * 2; b = {float(i) : i in [0:n]};"
                    " c = {float(i * i) : i in [0:n]} in (b, c);")
    words = ["explain", str(path), "-e", "host", "-t", "[float]"]
    texts = []
    for more in ([], ["--all"]):
        assert main([*words, *more]) == 0
        texts.append(capsys.readouterr().out)
    hidden = texts[1].count("computed by the host [host]")
    assert hidden > 1 and "[host]" not in texts[0] and "with what the host computes" not in texts[1]
    assert texts[0].endswith(f"{hidden} pairs, with what the host computes: --all shows them\n")


@pytest.mark.parametrize("body, elements", [
    ("{sum({v[j] * 2.0 : j in [0:i+1]}) : i in [0:#v]}", 500500),
    ("{sum({v[j] * 2.0 : j in [i:#v]}) : i in [0:#v]}", 500500),
    ("{sum({v[j] * 2.0 : j in [0:3*i+2]}) : i in [0:#v]}", 1500500),
    ("{sum({v[j] * 2.0 : j in [i+1:#v-1]}) : i in [0:#v-2]}", 498501),
    ("{sum({v[j] + float(i) : j in [0:#v:2]}) : i in [0:#v]}", 500000),
    ("let n = 2 * (#v / 3) + 1 in {v[0] + float(i) : i in [0:n]}", 667),
    ("let n = lshift(rem(#v, 7), 3) - rshift(#v, 4) in {v[0] + float(i) : i in [0:max(n, -n)]}", 14),
    ("let n = if #v > 10 then #v / 10 else #v in {v[0] + float(i) : i in [0:n]}", 100),
    ("let n = if #v < 10 then 7 * #v else trunc(sqrt(float(#v))) in {v[0] + float(i) : i in [0:n]}", 31)])
@pytest.mark.parametrize("words", [("-t", "[float]", "--size", "v=1000"), ("{float(i) : i in [0:1000]}",)])
def test_what_the_host_computes_from_known_sizes_is_known(body: str, elements: int, words: tuple[str, ...],
                                                          tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sized.nesl"
    path.write_text(f"function sized(v) = {body};")
    sizes = explained(capsys, str(path), "-e", "sized", *words, "--target", "reference")["regions"][0]["sizes"]
    assert elements in sizes.values()


@pytest.mark.parametrize(("lengths", "words", "elements"), [
    ("i + 1", (), lambda n: n * (n + 1) // 2), ("n - i", (), lambda n: n * (n + 1) // 2),
    ("i", (), lambda n: n * (n - 1) // 2),
    ("2^i", (), lambda n: 2 ** n - 1), ("i / 3 + 1", (), lambda n: sum(i // 3 + 1 for i in range(n))),
    ("i + 1", ("--size", "n=100"), lambda n: 5050), ("i + 1", ("--size", "m=5050"), lambda n: 5050)])
def test_rows_whose_lengths_are_a_formula_have_sizes_that_fit_it(lengths: str, words: tuple[str, ...],
                                                                 elements: Callable[[int], int], tmp_path: Path,
                                                                 capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.nesl"
    path.write_text("function total(m) = sum({sum(r) : r in m});", "utf-8")
    (region,) = explained(capsys, str(path), "-e", "total", "-t", f"[i < n => [float; {lengths}]]", *words)["regions"]
    assert region["sizes"]["#m"] == elements(round(region["sizes"]["n"])) > 1000


def test_what_runs_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["nesl_examples/norm2.nesl", "-e", "norm2", "[1.0, -2.0, 3.0]"]
    found = explained(capsys, *words)
    assert all(found["schedules"][mode]["measured"] > 0 for mode in SCHEDULES)
    assert found["regions"][0]["sizes"]["#xs"] == 3
    assert "measured" not in explained(capsys, *words, "--target", "reference")["schedules"]["ilp"]
    assert main(["explain", *words]) == 0
    assert "measured" in capsys.readouterr().out.splitlines()[1]


def test_kernels_are_called_as_in_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    """And as in a profile, where their elements are the same."""
    (region,) = explained(capsys, "nesl_examples/norm2.nesl", "-e", "norm2", "[1.0, 2.0, 3.0]")["regions"]
    assert main(["profile", "nesl_examples/norm2.nesl", "-e", "norm2", "[1.0, 2.0, 3.0]", "--json"]) == 0
    profiled = json.loads(capsys.readouterr().out)["kernels"]
    assert region["code"] == ["K1", "K2"] == [kernel["name"] for kernel in profiled]
    assert main(["explain", "nesl_examples/fusion/two_scans.nesl", "-e", "two_scans"]) == 0
    text = capsys.readouterr().out
    assert main(["compile", "nesl_examples/fusion/two_scans.nesl", "-e", "two_scans", "--emit", "fused"]) == 0
    *_, host = capsys.readouterr().out.split("function two_scans")
    for name, first, made in (("K1", "a", "a"), ("K2", "n_2", "n_2"), ("K3", "b", "q")):
        (run,) = [line for line in host.splitlines() if f"run {name} " in line]
        assert f"{made} : " in run and f"({name} in the code)\n    {first} " in text


@pytest.mark.parametrize("mode, count, first", [("none", 5, ["sum1"]), ("greedy", 2, ["sum1", "gts", "sum2"])])
def test_the_kernels_are_those_of_the_mode(mode: str, count: int, first: list[str],
                                           capsys: pytest.CaptureFixture[str]) -> None:
    words = ["nesl_examples/norm2.nesl", "-e", "norm2", "--fuse", mode]
    found = explained(capsys, *words)
    (region,) = found["regions"]
    assert found["mode"] == mode and len(region["code"]) == count
    assert region["schedules"][mode]["members"][0] == first
    assert main(["explain", *words]) == 0
    text = capsys.readouterr().out
    assert f"kernel {count} (" in text and f"kernel {count + 1} (" not in text and "\n  not fused by ilp\n" in text


@pytest.mark.parametrize("form", ["flat", "graph"])
def test_forms_are_called_after_their_function(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"norm2.{form}"
    assert main(["compile", "nesl_examples/norm2.nesl", "-e", "norm2", "--emit", form]) == 0
    path.write_text(capsys.readouterr().out, "utf-8")
    assert main(["explain", str(path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("norm2 on cpu, ") and ("  kernel 1 (K1 in the code)\n" in text) == (form == "flat")
    assert explained(capsys, str(path))["function"] == "norm2"


@pytest.mark.parametrize("body, once", [("halves(v)", False), ("if #v > 2 then {x + 1 : x in v} else v", False),
                                        ("{x + 1 : x in v}", True)])
def test_times_of_what_runs_more_than_once_are_told_apart(body: str, once: bool, tmp_path: Path,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.nesl"
    path.write_text("function halves(v) : [int] -> [int] = if #v < 2 then v else halves({v[2 * i] : i in [0:#v/2]});"
                    f"function runs(v) = {body};")
    words = [str(path), "-e", "runs", "[1, 2, 3, 4]"]
    assert explained(capsys, *words)["once"] == once
    assert main(["explain", *words]) == 0
    assert ("measured is the whole call, predicted one run of each region" in capsys.readouterr().out) == (not once)


def test_sizes_are_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "nesl_examples/norm2.nesl", "-e", "norm2", "--size", "xs=1e300"]) == 2
    assert "xs=1e300 is not a size: no sequence has more than 281474976710656 elements" in capsys.readouterr().err


def test_arguments_are_what_the_function_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "points.nesl"
    path.write_text("datatype point(float, float); scale = 2.0;\n"
                    "function far((vs, n), point(x, _), w) = {v * x * scale + float(n) : v in vs; u in w};")
    found = explained(capsys, str(path), "-e", "far", "([1.0, 2.0], 3)", "point(1.0, 2.0)", "[4, 5]")
    assert found["regions"][0]["sizes"]["#vs"] == 2


def test_a_function_without_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scalar.nesl"
    path.write_text("function twice(n) = n * 2;")
    assert main(["explain", str(path), "-e", "twice", "-t", "int"]) == 0
    assert capsys.readouterr().out == "twice on cpu, no kernels\n"
    assert explained(capsys, str(path), "-e", "twice", "-t", "int")["schedules"]["ilp"]["kernels"] == 0


# The machine ----------------------------------------------------------------------------------------


GROUPS = {                      # of (1, 2) by keys: what they are asked for, what makes them, and what is told of that
    "{(k, sum(vs), #vs) : (k,vs) in int_collect(kvs)}": ("int_collect(kvs)", "are not made", "they are only reduced"),
    "{sum({10 / v : v in vs}) : (_,vs) in collect(kvs)}": ("collect(kvs)", "are made", "10 / v may fail"),
    "{vs : (_,vs) in collect(kvs)}": ("collect(kvs)", "are made", "what they have is more than reduced"),
    "[collect(kvs)]": ("collect(kvs)", "are made", "what they have is wanted as it is")}


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("called", [["-t", "[(int, int)]"], ["[(1, 2)]"]])
@pytest.mark.parametrize("body", GROUPS)
def test_groups_are_told(body: str, called: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.nesl"
    text = f"function main(kvs) = {body};"
    path.write_text(text)
    assert main(["explain", str(path), "-e", "main", *called]) == 0
    groups, made, why = GROUPS[body]
    where = text.index("10 /" if why.startswith("10") else groups) + 1
    _, _, told = capsys.readouterr().out.partition("\ngroups\n")
    assert told.splitlines()[0].split() == [*groups.split(), *made.split(), f"{path}:1:{where}", *why.split()]


REDUCTIONS = {          # for each element x of v, or a window w: the form, and why it is no fold
    "sum({v[max(0, min(#v - 1, x + a))] : a in [0:k]})": ["either"],
    "sum(w)": ["fold"],
    "sum([0:x])": ["segments", "rows differ in length"],
    "sum({x + a : a in [0:99]})": ["segments", "there are more than 32 rounds"],
    "sum({10 / (x - a) : a in [0:k]})": ["segments", "elements can fail or are computed in parallel"],
    "sum({sum([0:x + a]) : a in [0:k]})": ["segments", "elements can fail or are computed in parallel"],
}


@pytest.mark.parametrize("body", REDUCTIONS)
def test_reductions_are_told(body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.nesl"
    path.write_text(f"function main(v, k) : ([int], int) -> [int] = {{{body} : x in v}};".replace(
        "sum(w) : x in v", "sum(w) : w in slide(v, 3, 1)"))
    assert main(["explain", str(path), "-e", "main"]) == 0
    _, _, told = capsys.readouterr().out.partition("\nreductions\n")
    form, *why = REDUCTIONS[body]
    assert told.splitlines()[0].startswith("  ") and told.splitlines()[0].endswith("".join(why))
    assert main(["explain", str(path), "-e", "main", "--json"]) == 0
    assert [form, *why] in [[one[key] for key in ("form", "reason") if key in one]
                            for one in json.loads(capsys.readouterr().out)["reductions"]]


SPACES = {              # of [0:n], a row i of it: form, length, start, memory
    "sum([0:i+1])": ["closed", "i + 1", "their sum", "none"],
    "sum({i * j : j in v})": ["uniform: #v * #v", "#v", "i*#v", "none"],
    "sum({sum([0:j]) : j in [0:i]})": ["nested", "j", "their sum", "none"],
    "sum([0:min(i, 3)])": ["closed", "i + [i >= 4]*(-i + 3)", "their sum", "none"],
    "sum([0:2^i])": ["closed", "2^i", "their sum", "none"],
    "sum([0:i/2])": ["closed", "(i)/2", "their sum", "none"],
    "sum([0:i:2])": ["closed", "[i >= 1]*-i + [i >= 1]*(i + 1)/2 + i", "their sum", "none"],
    "sum(drop(v, i))": ["closed", "-i + #v", "their sum", "none"],
    "sum([0:v[i]])": ["irregular", "offsets[i+1] - offsets[i]", "offsets[i]", "#v + 1 words"],
}
FURTHER_OUT = "a length depends on a position further out"
PARTED = "a partition for each element, of part of a sequence, or into as many parts as it has elements"
OF_ROWS = {             # why their lengths have no closed form
    "sum([0:v[i]])": "a length depends on elements of a sequence",
    "sum([0:if v[i] > 0 then i else 2 * i])": "a length depends on elements of a sequence",
    "sum([0:sum([0:i])])": "a length is computed from a sequence, as by a sum",
    "sum([0:min(n, i*n)])": "the position times a name is compared, as by min or max, or divided",
    "sum([0:min(k, n - i*k)])": "the position times a name is compared, as by min or max, or divided",
    "sum([0:min(i*i, k + 9)])": "a square of the position is compared, as by min or max, or divided",
    "sum([0:i/k])": "a divisor is a name or an expression, not a number",
    "sum([0:i/max(1, k)])": "a divisor is a name or an expression, not a number",
    "sum([0:i:k])": "a divisor is a name or an expression, not a number",
    "sum([0:rem(i, k)])": "a divisor is a name or an expression, not a number",
    "sum([0:3^i])": "a power has another base than 2",
    "sum([0:2^(2*i)])": "an exponent is other than the position plus a number",
    "sum([0:min(2^i, n)])": "a power or a quotient is compared, as by min or max, or divided",
    "sum({sum([0:j]) : j in [0:i*i]})":
        "it is a length by the place in a row, and the rows' own lengths do not rise or fall by a number",
    "sum([0:2^i*2^i])": "powers of 2, or quotients, are multiplied with each other",
    "sum([0:lshift(1, i)])": "a shift may be by more than 63 bits, or leave the ints",
    "sum([0:(i/2)*i])": "a quotient is of the position times a number, or is multiplied by the position",
    "sum([0:trunc(sqrt(float(i)))])": "a length is computed by more than arithmetic",
    "sum([0:fib(i)])": "a length is computed by a function that recurs",
    "sum([0:i*i*i])": "a product may be beyond the ints",
    "sum({sum([0:k+j]) : j in [0:i]})": "a length may be negative, and it is not known where the least is",
    "sum({sum([0:min(j, k)]) : j in [0:i]})": "below rows, only a polynomial of the row and the place in it is found",
    "{sum({x : x in [max(0,i-1):min(n,i+2)]}) : j in v}":
        "below rows, only a polynomial of the row and the place in it is found",
    "{sum({sum({x : x in [0:min(i, 3)]}) : y in v}) : j in v}": FURTHER_OUT,
    "{sum(l) : l in partition(v, {i + x : x in v})}": PARTED,
    "sum(m[i])": "rows of m may have any lengths",
}
REASONS = {
    **{f"{{{body} : i in [0:n]}}": why for body, why in OF_ROWS.items()},
    "{{sum({sum({x : x in [max(0,j-k):min(n,j+k+1)]}) : y in [max(0,i-k):min(n,i+k+1)]}) : j in [0:n]} : i in [0:n]}":
        FURTHER_OUT,
    "{sum(l) : l in partition(v, {4^d : d in [0:k]})}": "a power has another base than 2",
    "{sum(l) : l in partition(v, {2^(2*d) : d in [0:k]})}": "an exponent is other than the position plus a number",
    "{sum(l) : l in partition(v, {1 : x in v})}": PARTED,
    "{sum(l) : l in partition(v, m[k])}": "a length depends on elements of a sequence",
}
FIB = "function fib(n) = if n < 2 then n else fib(n - 1) + fib(n - 2); "


def told_of_space(path: Path, text: str, type_: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, list[str]]:
    """The place and what else the last line of the table says, which is what the last object says in JSON."""
    path.write_text(text)
    assert main(["explain", str(path), "-e", "main", "-t", type_]) == 0
    _, _, told = capsys.readouterr().out.partition("\nspaces\n")
    _, place, *found = re.split(r"  +", re.split(r"\n\n", told)[0].splitlines()[-1].strip())
    assert main(["explain", str(path), "-e", "main", "-t", type_, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["spaces"][-1]
    assert [made[key] for key in ("form", "length", "start", "memory", "elements", "reason") if key in made] == found
    return place, found


@pytest.mark.parametrize("body", SPACES)
def test_spaces_are_told(body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.nesl"
    place, found = told_of_space(path, f"function main(v) = let n = #v in {{{body} : i in [0:n]}};", "[int]", capsys)
    assert found[:4] == SPACES[body] and place.startswith(f"{path}:1:")


@pytest.mark.parametrize("body", REASONS)
def test_why_lengths_are_stored_is_told(body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{FIB}function main(v, k, m) = let n = #v in {body};"
    _, found = told_of_space(tmp_path / "p.nesl", text, "([int], int, [[int]])", capsys)
    assert found[0] == "irregular" and found[5:] == [REASONS[body]]


STORED = {              # elements of windows of a matrix whose rows have one length, or may have any
    "[uniform [int]]": ["given", "not stored", "result", "not stored", "not stored"],
    "[[int]]": ["given", "stored", "result", "not stored", "stored"],
}


@pytest.mark.parametrize("type_", STORED)
def test_elements_that_are_stored_are_told(type_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.nesl"
    path.write_text("function main(m) = {{sum({sum(row) : row in w}) : w in ws} : ws in slide2(m, 3, 1)};")
    assert main(["explain", str(path), "-e", "main", "-t", type_]) == 0
    _, _, told = capsys.readouterr().out.partition("\nspaces\n")
    head, *rows = [re.split(r"  +", line.strip()) for line in told.splitlines()]
    assert head[4] == "elements" and [row[6] for row in rows] == STORED[type_]
    assert main(["explain", str(path), "-e", "main", "-t", type_, "--json"]) == 0
    assert [one["elements"] for one in json.loads(capsys.readouterr().out)["spaces"]] == STORED[type_]


GIVEN = {               # rows of an argument of this type: label, form, length, start, memory, why
    "[uniform [float]]": [["rows of a", "uniform: n * a_length", "a_length", "i*a_length", "none"]],
    "[i < n => [float; i + 1]]": [["rows of a", "closed", "i + 1", "their sum", "none"]],
    "[i < n => [j < i + 1 => [float; j + 1]]]": [["rows of a", "closed", "i + 1", "their sum", "none"],
                                                 ["rows in rows of a", "nested", "j + 1", "their sum", "none"]],
    "[i < n => [float; 2^(2*i)]]": [["rows of a", "irregular", "offsets[i+1] - offsets[i]", "offsets[i]", "n + 1 words",
                                     "an exponent is other than the position plus a number"]],
    "[[float]]": [["rows of a", "irregular", "a_offsets[i+1] - a_offsets[i]", "a_offsets[i]", "#a + 1 words",
                   "rows of a may have any lengths"]],
}


@pytest.mark.parametrize("type_", GIVEN)
def test_spaces_of_arguments_are_told(type_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.nesl"
    path.write_text(f"function main(a) : {type_} -> int = #a;")
    assert main(["explain", str(path), "-e", "main"]) == 0
    _, _, told = capsys.readouterr().out.partition("\nspaces\n")
    _, *rows = [re.split(r"  +", line.strip()) for line in told.splitlines()]
    assert [[row[0], *row[2:6], *row[7:]] for row in rows] == GIVEN[type_]
    assert {(row[1], row[6]) for row in rows} == {(f"{path}:1:1", "given")}
    assert main(["explain", str(path), "-e", "main", "--json"]) == 0
    assert [one["argument"] for one in json.loads(capsys.readouterr().out)["spaces"]] == [row[0] for row in rows]


def test_arrays_that_a_pass_removes_give_no_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A call's sizes go by the names of simplified code; what users name must be there."""
    path = tmp_path / "hist.nesl"
    path.write_text("function hist(xs) = let r = collect({(x, 1) : x in xs}) in {(k, sum(v)) : k, v in r};")
    main(["explain", str(path), "-e", "hist", "[1, 2, 1]"])
    assert capsys.readouterr().out.startswith("hist on cpu, 3 regions")
    assert main(["explain", str(path), "-e", "hist", "[1, 2, 1]", "--size", "rows=5"]) != 0
    assert "nothing is called rows that has a size" in capsys.readouterr().err


def test_steps_of_one_call_are_numbered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.nesl"
    path.write_text("function main(m) = {{sum({sum(r) : r in w}) : w in ws} : ws in slide2(m, 3, 1)};")
    assert main(["explain", str(path), "-e", "main", "-t", "[uniform [int]]"]) == 0
    _, _, told = capsys.readouterr().out.partition("\nspaces\n")
    _, given, *rows = [re.split(r"  +", line.strip()) for line in told.splitlines()]
    assert given[0] == "rows of m" and [row[0] for row in rows] == [f"slide2(m, 3, 1), step {k}" for k in range(1, 5)]
    assert len({row[2] for row in rows}) == 4


def test_a_measured_profile_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    small = calibrate.Computer(large=2000, short=200, runs=1)
    monkeypatch.setattr(calibrate, "Computer", lambda threads: small)
    path = tmp_path / "here.json"
    assert main(["doctor", "--calibrate", "-o", str(path)]) == 0
    found = profiles.named(str(path))
    assert found.bandwidth > 0 and found.launch > 0 and 0 <= found.rescan <= 1
    assert min(found.gather, found.operation, found.function) > 0
    words = ["nesl_examples/norm2.nesl", "-e", "norm2", "--machine"]
    assert explained(capsys, *words, str(path))["machine"] == "measured"
    assert explained(capsys, *words, "h200")["machine"] == "h200"


GEMM = """function gemm(m, n, k, a, b, c) : (int, int, int, [float], [float], [float]) -> [[float]] =
  {{sum({a[i * k + l] * b[l * n + j] : l in [0:k]}) + c[i * n + j] : j in [0:n]} : i in [0:m]};"""


def test_an_interior_may_have_many_axes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "gemm.nesl"
    path.write_text(GEMM)
    assert main(["explain", str(path), "-e", "gemm"]) == 0
    shown = capsys.readouterr().out
    assert "    axis 1 from 0 to before m\n    axis 2 from 0 to before n_4\n    elements from 0 - i1 * k" in shown
