"""The live page in a real browser, where there is one: typing, errors, wishes, machines, keyboard, small windows."""
from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from served import Served

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this computer")]
ANSWER = "document.querySelector('.answer').innerText"
BUSY = "(document.querySelector('.answer').getAttribute('aria-busy') === 'true')"
TITLE = "document.querySelector('h1').textContent"
LINE = "[...document.querySelectorAll('.cm-line')].find(e => e.textContent.includes({!r}))"
NODE = "[...document.querySelectorAll('.node')].find(e => e.querySelector('title').textContent === {!r})"
KERNELS = "document.querySelectorAll('.kernel').length"
CHOOSE = "(s => {{ s.value = {!r}; s.dispatchEvent(new Event({!r})) }})(document.querySelector({!r}))"
EXAMPLE, ENTRY, DATA, SIZE, MACHINE = (f".bar label:nth-of-type({number}) {kind}" for number, kind in
                                       enumerate(("select", "select", "input", "input", "select"), 1))
WISH = "[...document.querySelectorAll('.details .wish')].find(e => e.getAttribute('aria-label') === {!r})"
STALE = "document.querySelector('main').classList.contains('stale')"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    program = tmp_path_factory.mktemp("served") / "norm2.nesl"
    program.write_text((Path(__file__).parents[2] / "nesl_examples" / "norm2.nesl").read_text("utf-8"), "utf-8")
    with Served(str(program), "--time-limit", "60") as found:          # a busy machine is slow
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(1366, 800) as found:
        yield found


@pytest.fixture
def opened(browser: Browser, served: Served) -> Iterator[Browser]:
    """The page with norm2; it is right in that nothing is an error, and nothing is asked of anybody else."""
    browser.open(served.address)
    settled(browser)
    yield browser
    assert not browser.errors()
    assert {url for url in browser.requests() if not url.startswith((served.address, "data:"))} <= {"about:blank"}


def settled(browser: Browser) -> None:
    """Wait until the result and the details are there."""
    browser.until("document.querySelector('.answer .value')")
    browser.until("document.querySelectorAll('.schedules tbody tr').length === 3")
    browser.settle()


def test_the_file_is_there_and_has_run(opened: Browser) -> None:
    assert opened.run("document.querySelector('.cm-content').textContent").startswith("% Two scalings of one sequence")
    assert opened.run("document.querySelector('#file').textContent").startswith("/") \
        and "norm2.nesl" in opened.run("document.querySelector('#file').textContent")
    assert "([0.75, -0.25, 0.5], [0.6, -0.2, 0.4]) : [float], [float]" in opened.run(ANSWER)
    assert opened.run(KERNELS) == 2


def test_typing_changes_everything(opened: Browser) -> None:
    opened.click(LINE.format("sum2 = sum(gts)"))
    opened.run("getSelection().modify('move', 'forward', 'lineboundary')")
    for _ in range(4):
        opened.press("Backspace")
    opened.type("xs)")
    opened.until(f"{ANSWER}.includes('([0.75, -0.25, 0.5], [0.75, -0.25, 0.5])')")
    assert "gts" not in opened.run("document.querySelector('[data-stage=fused]').textContent")
    assert opened.run("document.activeElement.className").startswith("cm-content"), "the editor keeps the focus"


def test_errors_stand_below_their_lines(opened: Browser) -> None:
    opened.click(LINE.format("sum2 = sum(gts)"))
    opened.run("getSelection().modify('move', 'forward', 'lineboundary')")
    opened.press("Backspace")
    opened.type(" + nobody)")
    opened.until("document.querySelector('.carets')?.textContent.includes('nobody')")
    carets = opened.run("document.querySelector('.carets').textContent")
    line = opened.run(LINE.format("nobody") + ".textContent")
    assert carets.index("^") == line.index("nobody") and carets.strip() == "^^^^^^ nobody is not defined"
    assert opened.run("document.querySelector('.wrong').textContent") == "nobody"
    assert opened.run(STALE) and opened.run(KERNELS) == 2, "the last good stages stay"
    assert float(opened.run("getComputedStyle(document.querySelector('[data-stage=graph]')).opacity")) < 1
    for _ in range(10):
        opened.press("Backspace")
    opened.type(")")
    opened.until(f"!({STALE}) && !document.querySelector('.carets')")
    opened.run("document.querySelector('.cm-content').focus()")
    opened.run("document.execCommand('selectAll')")
    opened.ask("Input.insertText", text="function over(n) = 1 / n;\nover(0);\n")
    opened.until("document.querySelector('.carets')?.textContent.trim() === '^^^^^ Divide by zero: 1 / 0'")


def test_the_source_and_the_stages_light_up(opened: Browser) -> None:
    opened.hover(NODE.format("gts"))
    lit = "[...document.querySelectorAll('.cm-content .hit')].map(e => e.textContent).join('')"
    assert opened.run(lit) == "{x in xs | x > 0.0}"
    opened.hover("[...document.querySelectorAll('.cm-line span')].find(e => e.textContent === 'sum')")
    assert opened.run("[...document.querySelectorAll('.node.hit title')].map(e => e.textContent)") == ["sum1"]
    opened.hover("document.querySelector('h1')")
    opened.click(LINE.format("sum1 = sum"))
    opened.run("getSelection().modify('move', 'forward', 'lineboundary')")
    opened.press("ArrowLeft")
    opened.until("[...document.querySelectorAll('.node.hit title')].map(e => e.textContent).join() === 'sum1'")


def test_a_line_that_is_pulled_aside_is_cut(opened: Browser) -> None:
    grip = "[...document.querySelectorAll('.grip')].find(e => { e.dispatchEvent(new PointerEvent('pointerenter')); " \
           "return !e.classList.contains('fixed') && e.textContent.includes('gts') })"
    x, y = opened.run(f"(r => [r.left + r.width / 2, r.top + r.height / 2])({grip}.getBoundingClientRect())")
    for kind, at, buttons in (("mouseMoved", x, 0), ("mousePressed", x, 1), ("mouseMoved", x + 40, 1),
                              ("mouseMoved", x + 80, 1), ("mouseReleased", x + 80, 1)):
        opened.mouse(kind, at, y, buttons)
    opened.until(f"{KERNELS} === 3")
    assert opened.run("document.querySelector('.wishes').textContent") == "cut gts, sum2 \u00d7"
    opened.until("location.hash.includes('cut=gts,sum2')")
    opened.click("document.querySelector('.wishes button')")
    opened.until(f"{KERNELS} === 2 && !document.querySelector('.wishes button')")


def test_the_keyboard_cuts_and_fuses(opened: Browser) -> None:
    opened.run(NODE.format("gts") + ".focus()")
    opened.press("Enter")
    opened.run(WISH.format("cut sum1 and gts") + ".focus()")
    opened.press("Enter")
    opened.until(f"{KERNELS} === 3")
    opened.until("document.querySelector('.wishes button')")
    settled(opened)
    opened.run(NODE.format("gts") + ".focus()")
    opened.press("Enter")
    opened.until(WISH.format("fuse sum1 and gts"))
    opened.run(WISH.format("fuse sum1 and gts") + ".focus()")
    opened.press("Enter")
    opened.until(f"{KERNELS} === 2 && !document.querySelector('.wishes button')")


def test_what_if_it_were_large_and_on_a_gpu(opened: Browser) -> None:
    price = "document.querySelector('.price').textContent"
    assert opened.run(price) == "\u2248 1.68 ms"
    opened.run(CHOOSE.format("n=1e8", "input", SIZE))
    opened.until(f"{price} === '\u2248 155 ms'")
    opened.run(CHOOSE.format("h200", "change", MACHINE))
    opened.until(f"{price}.endsWith('\u00b5s')")
    assert "for cuda" in opened.run("document.querySelector('#file').textContent")
    opened.until("location.hash.includes('size=n%3D1e8') && location.hash.includes('machine=h200')")
    opened.run(CHOOSE.format("m=7", "input", SIZE))
    opened.until(f"{ANSWER}.includes('nothing is called m that has a size')")
    opened.run(CHOOSE.format("n=x", "input", SIZE))
    opened.until("document.querySelector('[aria-invalid=true]')")


def test_data_and_entry(opened: Browser) -> None:
    opened.run(CHOOSE.format("[1.0, 3.0]", "input", DATA))
    opened.until(f"{ANSWER}.includes('[0.25, 0.75], [0.25, 0.75]')")
    opened.run(CHOOSE.format("[1.0, ", "input", DATA))
    opened.until(STALE)
    assert "data:1" in opened.run(ANSWER)
    opened.run(CHOOSE.format("mandelbrot", "change", EXAMPLE))
    opened.until(f"{TITLE} === 'picture'")
    opened.until(f"{ANSWER}.includes('#')")
    assert opened.run(f"[...document.querySelector({ENTRY!r}).options].map(o => o.value)") == [
        "steps", "mandelbrot", "shade", "picture"]
    opened.run(CHOOSE.format("shade", "change", ENTRY))
    opened.until(f"{TITLE} === 'shade'")


def test_an_example_is_seen_from_its_beginning(opened: Browser) -> None:
    fused = "document.querySelector('[data-stage=fused] pre')"
    seen = f"{fused}.getBoundingClientRect().top <= [...{fused}.querySelectorAll('.mark')].find(e => " \
           f"e.textContent.startsWith('kernel')).getBoundingClientRect().top"
    opened.run(CHOOSE.format("quicksort", "change", EXAMPLE))
    opened.until(f"{TITLE} === 'quicksort'")
    opened.run(f"{fused}.scrollTop = 900")
    opened.until(f"!({seen})")
    opened.run(CHOOSE.format("norm2", "change", EXAMPLE))
    opened.until(f"{TITLE} === 'norm2'")
    opened.until(seen)


def test_what_is_drawn_is_seen(opened: Browser) -> None:
    opened.run(CHOOSE.format("snowflake", "change", EXAMPLE))
    opened.until("document.querySelector('.answer img')?.complete && document.querySelector('.answer img').width > 100")
    assert opened.run("document.querySelector('.answer img').naturalWidth") == 360
    assert opened.run("document.querySelector('.answer img').getBoundingClientRect().right") < 1366


def test_the_address_brings_it_back(opened: Browser, served: Served) -> None:
    opened.run(CHOOSE.format("quicksort", "change", EXAMPLE))
    opened.until(f"{TITLE} === 'quicksort'")
    settled(opened)
    opened.run(CHOOSE.format("[3, 1, 2]", "input", DATA))
    opened.until(f"{ANSWER}.includes('[1, 2, 3] : [int]')")
    opened.until("location.hash.includes('data=%5B3%2C+1%2C+2%5D') || location.hash.includes('data=')")
    address = opened.run("location.hash")
    opened.open(served.address, address)
    opened.until(f"{TITLE} === 'quicksort'")
    opened.until(f"{ANSWER}.includes('[1, 2, 3] : [int]')")
    assert "% Quicksort" in opened.run("document.querySelector('.cm-content').textContent")
    for broken in ("#program=nonsense", "#program=%00&cut=a&size=7&machine=none&panes=x"):
        opened.open(served.address, broken)
        opened.until(f"{TITLE} === 'norm2' || document.querySelector('.answer .wrong')")


def test_each_stage_comes_when_it_is_chosen(opened: Browser) -> None:
    for name in ("typed", "mono", "flat", "schedule", "notes", "loops", "llvm", "cuda"):
        opened.run(CHOOSE.format(name, "change", "section:last-child select"))
        opened.until(f"document.querySelector('[data-stage={name}] pre')?.textContent.trim().length > 1")
    opened.run(CHOOSE.format("graph", "change", "section:last-child select"))
    assert opened.run("document.querySelectorAll('[data-stage=graph]').length") == 1


def test_the_keyboard_reaches_everything(opened: Browser) -> None:
    seen = []
    opened.run("document.querySelector('#search').focus()")
    for _ in range(40):
        opened.press("Tab")
        seen.append(opened.run("(e => e.getAttribute('aria-label') ?? e.name ?? '')(document.activeElement)"))
    for wanted in ("Arguments, as they stand in a call", "Sizes to expect, such as n=1e8", "Machine whose prices count",
                   "The program. Tab leaves it.", "Result", "Zoom in", "Details", "First pane", "Third pane"):
        assert wanted in seen, (wanted, seen)


def test_an_endless_program_does_not_keep_the_editor(opened: Browser) -> None:
    opened.run("document.querySelector('.cm-content').focus()")
    opened.run("document.execCommand('selectAll')")
    opened.ask("Input.insertText", text="function down(n) = if n == 0 then 1 else down(n - 1);\n"
               "function around(n) = if n == 0 then 0 else around(down(1000000));\naround(1);\n")
    opened.until(f"{TITLE} === 'around'")
    time.sleep(0.6)                 # it runs
    assert opened.run(BUSY), "the result is another program's"
    opened.run(CHOOSE.format("norm2", "change", EXAMPLE))
    opened.until(f"{TITLE} === 'norm2'", 5.0)
    settled(opened)
    opened.until(f"!{BUSY}")


@pytest.mark.parametrize("width", [420, 800, 1300])
def test_nothing_is_wider_than_the_window(opened: Browser, width: int) -> None:
    opened.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    opened.settle()
    assert opened.run("document.documentElement.scrollWidth") <= width
    assert opened.run("[...document.querySelectorAll('.bar, .bar *, .pane, header')].filter(e => "
                      "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))") == []
    opened.ask("Emulation.setDeviceMetricsOverride", width=1366, height=800, deviceScaleFactor=1, mobile=False)
