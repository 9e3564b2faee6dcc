"""nessie profile --html: the inspector's page with what kernels took. No test looks at a time that was measured."""
from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Browser
from paths import ROOT
from test_inspect import STAGES, example, links, needs_node, read_page, source_of, stage

from nessie.base.source import Source, Span
from nessie.inspect.measured import Measured, text_with_marks
from nessie.inspect.page import page
from nessie.measuring.kernels import KernelTimes
from nessie.measuring.predicted import Prediction
from nessie.tool.cli import main


def measured_page(tmp_path: Path) -> dict[str, Any]:
    """norm2's page with measured kernels; the data of the page."""
    out = tmp_path / "page.html"
    assert main(["profile", str(ROOT / "nesl_examples/norm2.nesl"), "-e", "norm2", "{float(i) : i in [0:1000]}",
                 "--html", str(out)]) == 0
    found: dict[str, Any] = json.loads(read_page(out.read_text("utf-8")).scripts[0])
    return found


def test_measured_kernels_have_their_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = measured_page(tmp_path)
    assert capsys.readouterr() == ("", "")
    assert [one["name"] for one in data["stages"]] == [
        name for one in STAGES if one != "typed" for name in ([one, "measured"] if one == "notes" else [one])]
    one, two = data["measured"]["kernels"]
    assert (one["name"], one["launches"], one["bytes"]) == ("K1", 1, 8000) and one["seconds"] > 0
    assert one["predicted"]["bytes"] == 8000 and one["predicted"]["seconds"] > 0
    assert source_of(data, one["nodes"]) == {"sum(xs)", "{x in xs | x > 0.0}", "sum(gts)"}
    assert source_of(data, two["nodes"]) == {"x / sum1", "x / sum2"}
    table = stage(data, "measured")
    for start, end, _, _, nodes, _ in table["marks"]:
        name = table["text"][start:end].split()[0]
        assert nodes == next(kernel["nodes"] for kernel in (one, two) if kernel["name"] == name)
        assert table["text"][start:end].count("\n") == 3
    assert len(table["marks"]) == 2 and "a run takes" in table["text"]


KERNELS = (KernelTimes("K1", (Span(Source("t", "a b"), 0, 1),), 1, 9, 72, 0.001, Prediction(0.0025, 144.0)),
           KernelTimes("K2", (Span(Source("t", "a b"), 2, 3),), 1500, 9, 0, 0.003, None))


def test_text_of_what_was_measured() -> None:
    text, marks = text_with_marks(Measured("f 1", "cpu", KERNELS), {"K1": [4, 5]})
    assert text == ("f 1\n\n"
                    "K2  75 %  3.00 ms\n    nothing predicts it\n    moved 0 B\n    launched 1,500 times, for t:1:3\n\n"
                    "K1  25 %  1.00 ms\n    predicted 2.50 ms, 0.40 x\n    moved 72 B, predicted 144 B\n"
                    "    launched once, for t:1:1\n\n"
                    "Predicted 1.5 x too long or too short: K1.\n")
    ((start, end, nodes),) = marks
    assert text[start:end].startswith("K1  25 %") and text[start:end].endswith("t:1:1") and nodes == [4, 5]


def test_times_that_mean_nothing_are_not_shown() -> None:
    untimed = [replace(kernel, seconds=None) for kernel in KERNELS]
    text, _ = text_with_marks(Measured("f 1", "cudasim", untimed), {})
    assert "What kernels take on cudasim means nothing" in text
    assert "K1\n    moved 72 B, predicted 144 B\n" in text and " ms" not in text


def timed() -> dict[str, Any]:
    """norm2's page, where its two kernels took 1 and 3 ms."""
    kernels = [{"name": f"K{number}", "nodes": of, "launches": 1, "bytes": 8e6, "seconds": (2 * number - 1) / 1000,
                "predicted": {"seconds": 0.5e-3, "bytes": 16e6}} for number, of in ((1, [0, 1, 2]), (2, [3, 4]))]
    text = "K1\n\nK2\n"
    data = example("norm2")
    made = {"name": "measured", "title": "", "text": text, "note": "",
            "marks": [[0, 2, [], [], [0, 1, 2], ""], [4, 6, [], [], [3, 4], ""]]}
    return {**data, "stages": [*data["stages"], made], "measured": {"title": "", "kernels": kernels}}


@needs_node
def test_a_kernels_time_is_that_of_all_its_places() -> None:
    """Each place of a fused kernel tells the same time, lights up the others, and has no part of it."""
    data = timed()
    kernels = data["measured"]["kernels"]
    told = "K1, all 3 places together: 1 ms (predicted 500 \u00b5s), 25 % of all kernels' time, " \
           "moved 8 MB (predicted 16 MB)"
    assert [links(f"measuredText(data, focusOnNodes(data, [{node}]))", data, "measured.js") for node in range(3)] == [
        told] * 3
    marks = "nest(data.stages[0].marks.map(readMark))"
    joined = links(f"together(data, {marks}, focusOnNodes(data, [1]))", data, "measured.js")
    text, all_marks = data["stages"][0]["text"], data["stages"][0]["marks"]
    assert {text[slice(*all_marks[place][:2])] for place in joined} == {"sum(xs)", "sum(gts)"}
    assert links("data.measured.kernels.map((kernel) => shareOf(data, kernel))", data, "measured.js") == [0.25, 0.75]
    both = links("measuredText(data, focusOnNodes(data, [0, 3]))", data, "measured.js")
    assert both.startswith("K2, all 2 places together: 3 ms") and "; K1, all 3" in both
    without = {**data, "measured": {"title": "", "kernels": [{**kernels[0], "seconds": None, "predicted": None}]}}
    assert links("measuredText(data, focusOnNodes(data, [0]))", without, "measured.js") == (
        "K1, all 3 places together: moved 8 MB")
    assert links("measuredText(data, focusOnNodes(data, [0]))", example("norm2"), "measured.js") == ""


@pytest.mark.parametrize(("words", "status", "message"), [
    (["norm2.nesl", "--html", "p.html"], 2, "a page shows one call, or one expression"),
    (["norm2.nesl", "-e", "norm2", "[1.0]", "--html", "p.html", "--json"], 2, "--html writes a page"),
    (["-x", "1", "-e", "norm2", "--html", "p.html"], 2, "-e profiles a call and -x an expression: not both"),
    (["-e", "norm2", "--html", "p.html"], 2, "profile needs FILE"),
    (["norm2.nesl", "-e", "norm3", "1", "--html", "p.html"], 1, "no function norm3"),
    (["norm2.nesl", "-x", 'print_string("told")', "--html", "p.html"], 1,
     'error: print_string("told") has effects, which every run would repeat: it is not timed\n'),
    (["norm2.nesl", "-x", "[1, 2][3]", "--html", "p.html"], 1, "out of bounds"),
])
def test_errors_of_measured_pages(words: list[str], status: int, message: str, tmp_path: Path,
                                  monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "nesl_examples/norm2.nesl", tmp_path)
    assert main(["profile", *words]) == status
    out, err = capsys.readouterr()
    assert message in err and err.count("told") <= 1 and out == "" and not Path("p.html").exists()


def test_expressions_are_measured_without_a_file(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert main(["profile", "-x", "sum({x * x : x in [0:1000]})", "--html", str(out), "--target", "reference"]) == 0
    data = json.loads(read_page(out.read_text("utf-8")).scripts[0])
    (kernel,) = data["measured"]["kernels"]
    assert kernel["seconds"] is None and stage(data, "source")["text"] == "sum({x * x : x in [0:1000]})"


# In a browser ---------------------------------------------------------------------------------------

MARK = "[...document.querySelectorAll('[data-stage={}] .mark')].find(e => e.textContent.startsWith({!r}))"
CLASS = "[...document.querySelectorAll('[data-stage={}] .{}')].map(e => e.textContent)"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Browser]:
    (tmp_path / "page.html").write_text(page(timed()), "utf-8")
    with Browser() as browser:
        browser.open(tmp_path / "page.html")
        yield browser
        assert not browser.errors()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this computer")
def test_hovering_one_place_lights_the_whole_set(opened: Browser) -> None:
    opened.hover(MARK.format("source", "sum(gts)"))
    assert opened.run(CLASS.format("source", "together")) == ["sum(xs)", "{x in xs | x > 0.0}"]
    assert opened.run(CLASS.format("measured", "hit")) == ["K1"]
    assert opened.run("document.querySelector('#status').textContent").startswith("K1, all 3 places together: 1 ms (")
    opened.hover(MARK.format("measured", "K2"))
    assert opened.run(CLASS.format("source", "hit.warm")) == ["x / sum1", "x / sum2"]
    assert opened.run(CLASS.format("source", "together")) == []
    opened.hover("document.querySelector('h1')")
    assert opened.run(CLASS.format("source", "together")) == []
    shares = "[...document.querySelectorAll('[data-stage=source] .warm')].map(e => e.style.getPropertyValue('--share'))"
    assert opened.run(shares) == ["0.25", "0.25", "0.25", "0.75", "0.75"]
