"""The inspector's page in a real browser, where there is one: mouse, keyboard, and what shows."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from test_inspect import STAGES, example

from nessie.inspect.page import page

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this computer")]
MARK = "[...document.querySelectorAll('[data-stage={}] .mark')].find(e => e.textContent.startsWith({!r}))"
NODE_BOX = "[...document.querySelectorAll('.node')].find(e => e.querySelector('title').textContent === {!r})"
LIT = "[...document.querySelectorAll('[data-stage={}] .mark.hit')].map(e => e.textContent.split('\\n')[0].trim())"
ACTIVE = "document.activeElement"
STATUS = "document.querySelector('#status').textContent"
HEADER = "document.querySelector('#file').textContent"
DETAILS = "document.querySelector('.details').innerText"
LIT_NODES = "[...document.querySelectorAll('.node.hit title')].map(e => e.textContent)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as found:
        yield found


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Browser]:
    """norm2's page; it is right in that it throws and asks for nothing."""
    (tmp_path / "page.html").write_text(page(example("norm2")), "utf-8")
    browser.open(tmp_path / "page.html")
    yield browser
    assert not browser.errors()
    assert [url for url in browser.requests() if not url.startswith(("file:", "about:"))] == []


def test_hovering_lights_all_panes(opened: Browser) -> None:
    opened.hover(MARK.format("source", "{x in xs"))
    assert opened.run(LIT_NODES) == ["gts"]
    launch = "let (sum1 : float, sum2 : float) = run K1 (n, xs)"
    assert opened.run(LIT.format("fused")) == ["let (sum1, sum2) = REDUCE", launch]
    assert opened.run(STATUS) == "{x in xs | x > 0.0}  \u2192  kernel 1 of norm2"
    opened.hover(MARK.format("fused", "let (it, it_1)"))
    assert opened.run(LIT_NODES) == ["it", "it_1"]
    assert {"x / sum1", "x / sum2"} <= set(opened.run(LIT.format("source")))
    opened.hover("document.querySelector('h1')")
    assert opened.run(LIT_NODES) == []


def test_names_of_functions(opened: Browser) -> None:
    opened.hover(MARK.format("source", "sum(xs)"))
    assert opened.run(LIT_NODES) == ["sum1"]


def test_what_became_nothing(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page(example("mandelbrot")), "utf-8")
    browser.open(tmp_path / "page.html")
    browser.click(MARK.format("source", "if n == limit"))
    assert browser.run(STATUS).endswith("\u2192  nothing of mandelbrot is made of this")
    assert browser.run(DETAILS).strip() == "Nothing of mandelbrot is made of this"


def test_nodes_are_told_about(opened: Browser) -> None:
    opened.click(NODE_BOX.format("sum2"))
    opened.hover("document.querySelector('h1')")
    details = opened.run(DETAILS)
    for words in ("REDUCE over 500,000, in kernel 1, K1 in the code", "let sum2 = REDUCE { i => gts[i] using gts }",
                  "gts k, gts (member, own, in the kernel)", "it_1 sum2 (scalar, between kernels)",
                  "gts together, by FILTER-REDUCE", "it_1 never: kernel-end, it_1 needs sum2's value"):
        assert words in details, (words, details)
    assert "sum(gts)" in opened.run(LIT.format("source"))
    opened.click("[...document.querySelectorAll('.details .link')].find(e => e.textContent === 'kernel 1')")
    assert "Leaves in memory" in opened.run(DETAILS)
    opened.key("Escape")
    assert opened.run(LIT_NODES) == [] and "rounded names" in opened.run(DETAILS)


def test_schedules_are_switched(opened: Browser) -> None:
    kernels = "document.querySelectorAll('.kernel').length"
    assert opened.run(kernels) == 2
    opened.click("document.querySelector('input[value=none]')")
    assert opened.run(kernels) == 5 and "schedule=none" in opened.run("location.hash")
    assert opened.run(HEADER).endswith("fused by ilp; the graph shows none, all code is still that of ilp")
    assert opened.run("document.querySelector('tr:has(:checked)').innerText.split(/\\s+/).join(' ').trim()").startswith(
        "none 5 64 MB")


def test_the_keyboard_reaches_everything(opened: Browser) -> None:
    seen = []
    for _ in range(30):
        opened.key("Tab")
        seen.append(opened.run(f"{ACTIVE}.getAttribute('aria-label') ?? {ACTIVE}.name ?? ''"))
    for wanted in ("First pane", "Second pane", "Third pane", "sum1, REDUCE, kernel 1", "Zoom in", "Details",
                   "schedule", "count"):
        assert wanted in seen, (wanted, seen)
    opened.run(NODE_BOX.format("sum1") + ".focus()")
    opened.key("ArrowRight")
    assert opened.run(f"{ACTIVE}.querySelector('title').textContent") == "gts"
    opened.key("ArrowDown")
    assert opened.run(LIT_NODES) == ["sum2"] and opened.run(DETAILS).startswith("sum2")
    opened.run("document.querySelector('[data-stage=source] pre').focus()")
    for name in ("ArrowDown", "ArrowDown", "ArrowDown"):
        opened.key(name)
    assert opened.run("document.querySelector('.cursor').textContent") == "{x in xs | x > 0.0}"
    opened.key("ArrowRight", shift=True)
    assert opened.run("document.querySelector('.cursor').textContent") == "x"
    opened.key("Escape")
    assert opened.run("document.querySelectorAll('.cursor, .hit').length") == 0


def test_nothing_moves_when_something_lights_up(opened: Browser) -> None:
    boxes = ".pane, header, main, .text, table, .details, #status, .node, select"
    places = f"JSON.stringify([...document.querySelectorAll('{boxes}')].map(e => e.getBoundingClientRect()))"
    before = opened.run(places)
    opened.hover(MARK.format("source", "{x in xs"))
    opened.click(MARK.format("source", "{x in xs"))
    assert opened.run(places) == before
    whole = "document.documentElement"
    assert opened.run(f"[{whole}.scrollWidth, {whole}.scrollHeight]") == [1366, 768]


def test_panes_show_any_stage_and_part(opened: Browser) -> None:
    choose = "(s => {{ s.value = {!r}; s.dispatchEvent(new Event('change')) }})(document.querySelector({!r}))"
    for name in STAGES:
        opened.run(choose.format(name, "section:last-child select"))
        assert opened.run("document.querySelector('section:last-child').dataset.stage") == name
    opened.run(choose.format("loops", "section:last-child select"))
    opened.run(choose.format("K2", "section:last-child .part"))
    text = opened.run("document.querySelector('[data-stage=loops] pre').innerText")
    assert "K2_sweep" in text and "K1_sweep" not in text
    opened.click("document.querySelector('input[name=count][value=\"1\"]')")
    assert opened.run("document.querySelectorAll('section.pane').length") == 1


def test_addresses_bring_it_back(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page(example("norm2")), "utf-8")
    browser.open(tmp_path / "page.html", "#panes=flat,graph&schedule=greedy&nodes=2")
    assert browser.run(LIT_NODES) == ["sum2"]
    assert browser.run("[...document.querySelectorAll('section.pane')].map(e => e.dataset.stage)") == ["flat", "graph"]
    assert browser.run(LIT.format("flat"))[-1] == "let sum2 : float = run K1 (k, gts)"
    browser.open(tmp_path / "page.html", "#panes=nonsense&nodes=99&spans=x")
    assert browser.run("document.querySelectorAll('section.pane').length") == 3 and not browser.errors()


def test_dark_if_the_reader_wants_it(opened: Browser) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    light = opened.run(back)
    opened.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = opened.run(back)
    opened.ask("Emulation.setEmulatedMedia", features=[])
    assert light == "rgb(255, 255, 255)" and dark != light


@pytest.mark.parametrize("width", [420, 800, 1300])
def test_nothing_is_wider_than_the_window(opened: Browser, width: int) -> None:
    opened.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    assert opened.run("document.documentElement.scrollWidth") <= width
    opened.ask("Emulation.clearDeviceMetricsOverride")


def test_search_lights_up_what_holds_it(opened: Browser) -> None:
    opened.run("(s => { s.value = 'gts'; s.dispatchEvent(new Event('input')) })(document.querySelector('#search'))")
    assert opened.run(LIT_NODES) == ["gts", "sum2"]
    opened.run("(s => { s.value = ''; s.dispatchEvent(new Event('input')) })(document.querySelector('#search'))")
    assert opened.run(LIT_NODES) == []
