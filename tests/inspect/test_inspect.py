"""The inspector's page: whole, well formed, and right about what comes from where; in JavaScript where there is one."""
from __future__ import annotations

import json
import re
import shutil
from functools import cache
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT
from processes import finished

from nessie import forms, pipeline
from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.inspect.collect import collect
from nessie.inspect.page import SCRIPTS, embedded, page
from nessie.syntax.parse import read_source
from nessie.syntax.parser import parse_type
from nessie.tool.cli import main

EXAMPLES = {"norm2": "", "dotp": "([float], [float])", "mxv": "([[float]], [float])",
            "sparse_mxv": "([[(int, float)]], [float])", "primes": "", "quickhull": "",
            "quicksort": "[int]", "mandelbrot": "", "bfs": "", "wordcount": "", "string_search": "([char], [char])"}
STAGES = ["source", "typed", "mono", "flat", "graph", "schedule", "fused", "notes", "loops", "llvm", "cuda"]
VOID = {"meta", "link", "br", "hr", "img", "input"}
LOADING = r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|import)\b|@import|url\((?!#)"


def collected(source: Source, entry: str, type_: str = "", **options: Any) -> dict[str, Any]:
    argument = parse_type(Source("type", type_)) if type_ else None
    job = pipeline.Job(entry=entry, argument=argument, **options)
    return run_deep(lambda: collect(job, forms.TEXT, source, source))


@cache
def example(name: str) -> dict[str, Any]:
    return collected(read_source(str(ROOT / "nesl_examples" / f"{name}.nesl")), name, EXAMPLES[name])


def stage(data: dict[str, Any], name: str) -> dict[str, Any]:
    return next(found for found in data["stages"] if found["name"] == name)


def written(data: dict[str, Any], numbers: list[int]) -> set[str]:
    """The expressions of the source."""
    text = stage(data, "source")["text"]
    return {text[slice(*data["spans"][number])] for number in numbers}


def source_of(data: dict[str, Any], nodes: list[int]) -> set[str]:
    return written(data, [span for node in nodes for span in data["nodes"][node]["spans"]])


def labelled(data: dict[str, Any], name: str) -> dict[str, set[str]]:
    """What each kernel of a stage comes from in the source."""
    return {label: source_of(data, nodes) for _, _, _, _, nodes, label in stage(data, name)["marks"] if label and nodes}


# The page -------------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Elements that are closed in order; what they refer to; the text of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


def read_page(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


@pytest.mark.parametrize("name", ["norm2", "quicksort"])
def test_page_is_well_formed_and_whole(name: str) -> None:
    data = example(name)
    text = page(data)
    reader = read_page(text)
    assert [one["name"] for one in data["stages"]] == STAGES
    assert json.loads(reader.scripts[0]) == json.loads(json.dumps(data))
    assert len(reader.scripts) == 2 and all(part(script) in text for script in (*SCRIPTS, "page.css"))
    identities = [value for name, value in reader.attributes if name == "id"]
    assert len(identities) == len(set(identities))
    assert not [name for name, _ in reader.attributes if name in ("src", "href", "action", "data", "background")]
    assert any(name == "content" and value.startswith("default-src 'none';") for name, value in reader.attributes)


def part(name: str) -> str:
    return resources.files("nessie.inspect").joinpath(name).read_text("utf-8").rstrip()


def test_nothing_is_fetched() -> None:
    """Besides the page's policy: no address but the name of a namespace, and nothing that loads."""
    for name in (*SCRIPTS, "page.css", "page.html"):
        text = part(name)
        assert set(re.findall(r"https?://[^\"'\s)]*", text)) <= {"http://www.w3.org/2000/svg"}
        assert not re.search(LOADING, text), name


NASTY = '''% </script><script>alert(1)</script> <!-- & "quotes" 'and' \\ {{data}} \N{GRINNING FACE} %
function g(xs) = {code_char(char_code(c) + 1) : c in xs ++ "</SCRIPT>]]>\N{GRINNING FACE}"};
'''


def test_what_is_embedded_ends_nothing() -> None:
    data = collected(Source('a "name" </script> & {{style}}.nesl', NASTY), "g")
    reader = read_page(page(data))
    assert json.loads(reader.scripts[0])["stages"][0]["text"] == NASTY
    assert json.loads(embedded({"a": "</script><!--\u2028&"})) == {"a": "</script><!--\u2028&"}
    assert not re.search(r"[<>&\u2028\u2029]", embedded(data))
    assert any(text.startswith("{code_char(") for text in written(data, list(range(len(data["spans"])))))


# What comes from where ------------------------------------------------------------------------------


def test_kernels_of_norm2() -> None:
    data = example("norm2")
    reduces, filters, sums = "sum(xs)", "{x in xs | x > 0.0}", "sum(gts)"
    divides = {"x / sum1", "x / sum2"}
    assert labelled(data, "flat") == {"K1": {reduces, sums}, "K2": {filters}, "K3": divides}
    for name in ("fused", "loops", "llvm"):
        assert labelled(data, name) == {"K1": {reduces, filters, sums}, "K2": divides}
    assert labelled(data, "cuda")["K2"] == divides
    flat = stage(data, "flat")
    runs = [(flat["text"][start:end].split(" = ")[0], source_of(data, nodes))
            for start, end, _, _, nodes, label in flat["marks"] if not label and "run" in flat["text"][start:end]]
    assert runs == [("let sum1 : float", {reduces}), ("let (k : int, gts : [float; k])", {filters}),
                    ("let sum2 : float", {sums}), ("let it : [float; n]", {"x / sum1"}),
                    ("let it_1 : [float; n]", {"x / sum2"})]
    drawn = data["schedules"][-1]["regions"][0]
    assert [[node["name"] for node in drawn["nodes"] if node["kernel"] == kernel] for kernel in (0, 1)] == [
        ["sum1", "gts", "sum2"], ["it", "it_1"]]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_node_comes_from_the_program(name: str) -> None:
    """Every node and kernel of every example leads to the source, and is found from there again."""
    data = example(name)
    assert all(node["spans"] for node in data["nodes"]), [node["name"] for node in data["nodes"] if not node["spans"]]
    text = stage(data, "source")["text"]
    own = (ROOT / "nesl_examples" / f"{name}.nesl").read_text("utf-8")
    assert text == own and all(0 <= start < end <= len(own) for start, end in data["spans"])
    made = {node for _, _, _, _, nodes, _ in stage(data, "fused")["marks"] for node in nodes}
    assert made == set(range(len(data["nodes"])))
    shown = {number for _, _, spans, _, _, _ in stage(data, "source")["marks"] for number in spans}
    assert {span for node in data["nodes"] for span in node["spans"]} <= shown
    for schedule in data["schedules"]:
        assert sorted(node["id"] for region in schedule["regions"] for node in region["nodes"] if not node["copy"]) \
            == list(range(len(data["nodes"])))


@pytest.mark.parametrize("name", EXAMPLES)
def test_marks_nest_and_have_names(name: str) -> None:
    for one in example(name)["stages"]:
        around: list[int] = []
        for start, end, spans, calls, nodes, label in one["marks"]:
            while around and around[-1] <= start:
                around.pop()
            assert start < end <= len(one["text"]) and (not around or end <= around[-1])
            assert spans or calls or nodes or label
            around.append(end)


def test_calls_lead_to_what_was_inlined() -> None:
    source = Source("t", "function total(v) = sum(v);\nfunction both(a, b) = total(a) + total(b);\n")
    data = collected(source, "both", "([float], [float])")
    told = [(node["name"], written(data, node["spans"]), written(data, node["calls"])) for node in data["nodes"]
            if node["op"] == "REDUCE"]
    assert [(spans, calls) for _, spans, calls in told] == [({"sum(v)"}, {"total(a)"}), ({"sum(v)"}, {"total(b)"})]


def test_what_a_call_names_stands_for_the_call() -> None:
    data = example("norm2")
    text = stage(data, "source")["text"]
    assert not [number for number, (start, end) in enumerate(data["spans"]) if text[start:end] in ("sum", "norm2")]
    named = [written(data, spans) for start, end, spans, *_ in stage(data, "typed")["marks"]
             if stage(data, "typed")["text"][start:end].startswith("sum[")]
    assert {"sum(xs)"} in named and all(len(spans) == 1 for spans in named)


def test_schedules_are_compared() -> None:
    data = example("norm2")
    assert [(one["mode"], one["kernels"], one["bytes"], one["status"]) for one in data["schedules"]] == [
        ("none", 5, 64e6, "not fused"), ("greedy", 2, 32e6, "greedy"), ("ilp", 2, 32e6, "optimal")]
    pairs = {tuple(pair["ids"]): pair for pair in data["schedules"][-1]["regions"][0]["pairs"]}
    assert pairs[0, 3]["verdict"] == "never" and pairs[0, 3]["reason"] == "kernel-end"
    assert "it needs sum1's value" in pairs[0, 3]["witness"]
    for mode in (0, 1):
        (other,) = [pair for pair in data["schedules"][mode]["regions"][0]["pairs"] if pair["ids"] == [0, 3]]
        assert other["verdict"] == "never" and other["witness"] == pairs[0, 3]["witness"]
    assert pairs[1, 3]["verdict"] == "apart"
    assert pairs[1, 3]["price"]["more"] == [{"name": "xs", "read": 1.0, "written": 0}]


def test_what_a_target_cannot_run_is_said() -> None:
    cuda = stage(example("quicksort"), "cuda")
    assert cuda["note"] == "" and "__global__" in cuda["text"]
    data = collected(Source("t", "function fib(n) = if n < 2 then n else fib(n - 1) + fib(n - 2);\n"
                                 "function fibs(v) = {fib(x) : x in v};"), "fibs", "[int]")
    assert "calls itself otherwise than as its last step" in stage(data, "cuda")["note"]
    added = collected(Source("t", "function add(v, ps) = write_add(v, ps);"), "add", "([float], [(int, float)])")
    assert "GPUs combine such values by sorting them" in stage(added, "cuda")["note"]


def test_notes_lead_to_their_places() -> None:
    source = Source("t", """function total(v) = sum({v[i - 1] : i in [1:#v + 1]});
function near(v) = {v[max(i - 1, 0)] : i in index(#v)};
function main(m, v) : ([[float]], [float]) -> ([float], [float]) = ({total(r) : r in m | #r > 1}, near(v));
""")
    data = collected(source, "main")
    notes = stage(data, "notes")
    found = [(" ".join(notes["text"][start:end].split()), written(data, spans))
             for start, end, spans, *_ in notes["marks"]]
    assert [re.split(" is | t:", text)[0] for text, _ in found] == [
        "({v[i - 1] : i in [1:#v + 1]})", "rows of m", "[1:#v + 1]", "v[max(i - 1, 0)]"]
    (_, (whole,)) = found.pop(1)
    assert whole.startswith("function main(m, v)")          # whose argument it is
    assert all(text.startswith(place) for text, (place,) in found)
    assert found[2][0].endswith("elements from 1 to before #v max(i - 1, 0) is i - 1")


def test_notes_tell_mappings_and_versions() -> None:
    text = """function both(rows) : [[int]] -> ([int], [int]) =
  let s = {sum(r) : r in rows}; more = {x + 1 : x in s}; % level s by warp % % map more by Jing % in (s, more);"""
    notes = stage(collected(Source("f.nesl", text), "both", target="cudasim"), "notes")["text"]
    assert "Levels([warp, lane], Gen), by the pragma at f.nesl:2:" in notes and "others\n      sub4" in notes
    assert "not possible here\n      Jing, JingExt, FoldAll, auto: sum(r) is computed by SEG_REDUCE" in notes
    assert "block, warp, sub8, sub4, thread: it has no segments" in notes
    text = "function pick(xs, is) = let a = {exp(x) + sin(x) : x in xs} in {a[i] : i in is};"
    notes = stage(collected(Source("f.nesl", text), "pick"), "notes")["text"]
    assert notes.startswith("versions, of which a run takes one\n  pick.it  f.nesl:1:65\n    pulled if #is * 8 <= #xs")


def test_files_that_are_loaded_stand_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.nesl").write_text("function twice(v) = {2 * x : x in v};\n", "utf-8")
    data = collected(Source("main.nesl", 'load "other.nesl";\nfunction two(v) = twice(v);\n'), "two", "[int]")
    text = stage(data, "source")["text"]
    assert text.startswith("load") and "% other.nesl %\nfunction twice" in text
    assert source_of(data, [0]) == {"2 * x"} and written(data, data["nodes"][0]["calls"]) == {"twice(v)"}


def test_other_forms_can_be_inspected(tmp_path: Path) -> None:
    flat, out = tmp_path / "norm2.flat", tmp_path / "page.html"
    flat.write_text(stage(example("norm2"), "flat")["text"], "utf-8")
    assert main(["inspect", str(flat), "-o", str(out)]) == 0
    data = json.loads(read_page(out.read_text("utf-8")).scripts[0])
    assert [one["name"] for one in data["stages"]] == [name for name in STAGES if name not in ("typed", "mono")]
    found = labelled(data, "fused")
    assert data["entry"] == "norm2"
    assert found.keys() == {"K1", "K2"} and all(text.startswith("let it") for text in found["K2"]) and found["K2"]


def test_programs_without_kernels_have_a_page_too() -> None:
    data = collected(Source("t", "function inc(n) = n + 1;"), "inc", "int")
    assert data["nodes"] == [] and [one["kernels"] for one in data["schedules"]] == [0, 0, 0]
    read_page(page(data))


# The command ----------------------------------------------------------------------------------------


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    norm2, out = str(ROOT / "nesl_examples/norm2.nesl"), str(tmp_path / "page.html")
    bad = tmp_path / "bad.nesl"
    bad.write_text("function f(x) = x + `a;", "utf-8")
    fused = tmp_path / "norm2.fused"
    fused.write_text(stage(example("norm2"), "fused")["text"], "utf-8")
    nowhere = str(tmp_path / "no" / "page.html")
    for words, status, message in (
            (["inspect", "-o", out], 2, "inspect needs FILE"),
            (["inspect", norm2, "-o", out], 2, "which function is to be compiled? Name it with -e"),
            (["inspect", norm2, "-e", "norm3", "-o", out], 1, "the program has no function norm3"),
            (["inspect", norm2, "-e", "norm2", "-o", nowhere], 1, f"cannot write {nowhere}: No such file or directory"),
            (["inspect", str(bad), "-e", "f", "-o", out], 1, "bad.nesl:1"),
            (["inspect", str(fused), "-o", out], 2, "a fused program is fused already"),
            (["inspect", str(tmp_path / "none.nesl"), "-e", "f", "-o", out], 1, "cannot read")):
        assert main(words) == status, words
        told = capsys.readouterr()
        assert message in told.err and told.out == "", (words, told.err)
    assert not Path(out).exists()


def test_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.html"
    assert main(["inspect", str(ROOT / "nesl_examples/dotp.nesl"), "-e", "dotp", "-t", "([float], [float])", "--fuse",
                 "none", "-o", str(out)]) == 0
    assert capsys.readouterr() == ("", "")
    data = json.loads(read_page(out.read_text("utf-8")).scripts[0])
    assert data["mode"] == "none" and len(labelled(data, "fused")) == 2


# JavaScript -----------------------------------------------------------------------------------------

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node on this computer")


def run_node(script: str, *arguments: str) -> str:
    assert NODE is not None
    run = finished([NODE, *arguments, "-"], input=script)
    assert run.returncode == 0, run.stderr
    return run.stdout


def links(script: str, data: dict[str, Any] | None = None, more: str = "") -> Any:
    """What an expression gives, with the functions of links.js, and of one more script, and the data at hand."""
    functions = part("links.js") + (part(more) if more else "")
    return json.loads(run_node(f'"use strict"; {functions}\nconst data = {json.dumps(data)};\n'
                               f"console.log(JSON.stringify({script}))"))


@needs_node
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_parse(name: str) -> None:
    run_node(f'() => {{ "use strict"; {part(name)} }}', "--check")


def lit(data: dict[str, Any], focus: str, name: str) -> list[tuple[str, str]]:
    """The lit pieces of a stage, and how, when this is in focus."""
    text = stage(data, name)["text"]
    place = [one["name"] for one in data["stages"]].index(name)
    found = links(f"hits(data, nest(data.stages[{place}].marks.map(readMark)), {focus})", data)
    marks = stage(data, name)["marks"]
    return [(text[slice(*marks[at][:2])].split("\n")[0][:24], what) for at, what in sorted(found)]


@needs_node
def test_links_go_both_ways() -> None:
    data = example("norm2")
    text = stage(data, "source")["text"]
    spans = {text[start:end]: number for number, (start, end) in enumerate(data["spans"])}
    on = f"focusOnSpans(data, [{spans['{x in xs | x > 0.0}']}])"
    assert links(on, data) == {"spans": [spans["{x in xs | x > 0.0}"]], "nodes": [1], "near": False}
    assert lit(data, on, "flat") == [("kernel K2 (n : int, xs :", "around"), ("let (k, gts) = FILTER { ", "hit"),
                                     ("let (k : int, gts : [flo", "hit")]
    assert lit(data, on, "fused")[:2] == [("kernel K1 (n : int, xs :", "around"), ("let (sum1, sum2) = REDUC", "hit")]
    assert ("{x : x : float in xs | x", "hit") in lit(data, on, "mono")
    part_of_it = f"focusOnSpans(data, [{spans['x > 0.0']}])"
    assert links(part_of_it, data) == {"spans": [spans["x > 0.0"]], "nodes": [1], "near": True}
    assert {what for _, what in lit(data, part_of_it, "loops")} == {"near"}
    back = "focusOnNodes(data, [3, 4])"
    assert sorted(piece for piece, what in lit(data, back, "source") if what == "hit") == sorted(
        ["x / sum1", "x", "sum1", "x / sum2", "x", "sum2"])
    assert "norm2([3.0, -1.0, 2.0])" in text and "norm2([3.0, -1.0, 2.0])" not in spans    # it is not compiled
    whole = f"focusOnSpans(data, [{max(spans.values(), key=lambda n: data['spans'][n][1] - data['spans'][n][0])}])"
    assert links(whole, data)["nodes"] == [0, 1, 2, 3, 4]


@needs_node
@pytest.mark.parametrize("name", ["quickhull", "sparse_mxv", "mandelbrot"])
def test_each_kernel_is_found_from_its_source(name: str) -> None:
    data = example(name)
    found = links("data.nodes.map((node) => focusOnSpans(data, node.spans).nodes)", data)
    assert all(number in nodes for number, nodes in enumerate(found))


@needs_node
def test_steps_of_the_keyboard() -> None:
    marks = "nest([[0,9,[0],[],[],''],[1,3,[1],[],[],''],[4,8,[],[],[2],''],[5,6,[3],[],[],''],[20,22,[4],[],[],'']]" \
            ".map(readMark))"
    walk = "((m, at) => at < 4 ? 0 : at < 10 ? 1 : 2)"

    def step(start: int, direction: str) -> int:
        return links(f"step({marks}, {start}, '{direction}', (at) => {walk}(null, at))")

    assert [step(-1, "down"), step(0, "right"), step(1, "left"), step(4, "right")] == [0, 1, 0, 4]
    assert [step(0, "down"), step(2, "down"), step(4, "up"), step(0, "up")] == [2, 4, 2, 0]
    assert [step(3, "out"), step(2, "in"), step(0, "out")] == [2, 3, 0]
    boxes = "[[0, 0], [100, 0], [0, 100], [130, 90]].map(([x, y]) => ({ x, y, width: 50, height: 20 }))"
    assert [links(f"nearest({boxes}, {at}, '{to}')") for at, to in ((0, "right"), (0, "down"), (1, "down"), (3, "left"),
                                                                    (0, "up"))] == [1, 2, 3, 2, 0]


@needs_node
def test_numbers_and_addresses() -> None:
    assert links("[bytesText(0), bytesText(1500), bytesText(64e6), timeText(1681093.7), countText(1, 'place')]") == [
        "0 B", "1.5 kB", "64 MB", "1.68 ms", "1 place"]
    price = {"cost": 454073.4, "status": "optimal", "more": [{"name": "xs", "read": 1, "written": 0},
                                                             {"name": "b", "read": -2, "written": 1}]}
    told = links(f"priceText({json.dumps(price)})", more="graph.js")
    assert told == "it would cost 454 \u00b5s more: xs read 1 time more, b read 2 times less and written 1 time more"
    pair = {"verdict": "apart", "rule": "MAP-X"}
    told = links(f"[{json.dumps({**pair, 'price': {**price, 'status': 'greedy', 'more': []}})}, {json.dumps(pair)}]"
                 ".map(pairReason)", more="graph.js")
    assert told == [", by MAP-X; together it would cost about 454 \u00b5s more", ", by MAP-X; not priced"]
    assert links("writeState({ panes: 'source,graph', schedule: undefined, nodes: '' })") == "#panes=source,graph"
    assert links("readState('#panes=source,graph&nodes=1')") == {"panes": "source,graph", "nodes": "1"}


@needs_node
@pytest.mark.parametrize("name", ["norm2", "quickhull", "sparse_mxv"])
def test_every_node_has_a_region_in_every_schedule(name: str) -> None:
    data = example(name)
    found = links("data.schedules.map((schedule) => data.nodes.map((_, id) => regionOf(data, schedule, id).function))",
                  data, more="graph.js")
    assert found == [[node["function"] for node in data["nodes"]]] * len(data["schedules"])
    costs = links("data.schedules.map((schedule) => timeText(schedule.cost))", data)
    assert all(re.fullmatch(r"[\d.]+ (ns|\u00b5s|ms|s)", cost) for cost in costs), costs


@needs_node
def test_search_finds_nodes_and_else_the_source() -> None:
    data = example("norm2")

    def found(text: str) -> Any:
        return links(f"search(data, (start, end) => {json.dumps(stage(data, 'source')['text'])}.slice(start, end), "
                     f"{json.dumps(text)})", data)
    names = [node["name"] for node in data["nodes"]]
    assert [names[number] for number in found("GTS")["nodes"]] == ["gts", "sum2"]
    assert {data["nodes"][number]["op"] for number in found("reduce")["nodes"]} == {"REDUCE"}
    assert found("x in xs")["nodes"] and found("x in xs")["spans"]
    assert found("nonsense") == {"spans": [], "nodes": [], "near": False} and found("  ") is None


@needs_node
def test_the_legend_explains_the_operations_that_are_there() -> None:
    for name in ("norm2", "quickhull", "sparse_mxv", "mandelbrot"):
        data = example(name)
        told = links("operationsOf(data.schedules[0], data.operations)", data)
        assert [operation for operation, _ in told] == sorted({node["op"] for node in data["nodes"]}), \
            "each operation has words"
