"""How long the live page takes from an edit until all that is in view has been drawn anew, in Chromium.

    python benchmarks/page.py [NAME] [--rounds N] [--save FILE]

NAME is an example, quicksort by default. `nessie serve` and a Chromium without a window run beside each other, as for a
person who types: an edit is one key's, and the next one follows when the page has come to rest. An edit ends when the
page has drawn what the compiler makes of it; of that, the table tells how long the answer took to come, from the
question to its last byte, and how long it is.
"""
from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support"), str(ROOT / "tests" / "serve")]
EDITS = {"quicksort": (("e == pivot", "e >= pivot"), ("#s / 2", "#s / 3"), ("lesser, greater", "lesser, lesser"),
                       ("sorted[0] ++ equal", "equal ++ sorted[0]"), ("8, 14", "81, 14"),
                       ("so all calls", "all calls"))}
LETTERS = (("(", "( "), (";", " ;"), ("=", " ="))             # edits of other programs
FIND = "[...document.querySelectorAll('.cm-line')].find(line => line.textContent.includes({before}))"
EDIT = """new Promise((done) => {{
  const line = {line};
  const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const [from, to] = [line.textContent.indexOf({before}), line.textContent.indexOf({before}) + {before}.length];
  for (let at = 0, node; (node = walker.nextNode()); at += node.length) {{
    if (from >= at && from <= at + node.length) range.setStart(node, from - at);
    if (to >= at && to <= at + node.length) {{ range.setEnd(node, to - at); break; }}
  }}
  document.querySelector(".cm-content").focus();
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  setTimeout(() => {{
    performance.clearResourceTimings();
    const began = performance.now();
    new MutationObserver((_, observer) => {{
      const took = performance.now() - began;
      observer.disconnect();
      const asked = performance.getEntriesByType("resource").find((entry) => entry.name.endsWith("/look"));
      done({{ took, answered: asked.responseEnd - asked.startTime, bytes: asked.decodedBodySize }});
    }}).observe(document.body, {{ attributes: true, attributeFilter: ["data-took"] }});
    document.execCommand("insertText", false, {after});
  }}, 50);
}})"""
RESTS = "document.querySelector('.answer .value') && document.querySelectorAll('.schedules tbody tr').length === 3"
EXAMPLE = "(s => { s.value = %r; s.dispatchEvent(new Event('change')) })(document.querySelector('.bar select'))"
WAIT = "new Promise(done => setTimeout(done, {}))"
UNTIL_DETAILS = 400             # ms


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("name", nargs="?", default="quicksort")
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--save", type=Path, help="write what is printed there as well")
    given = options.parse_args()
    found = measured(given.name, given.rounds)
    text = table(given.name, found)
    print(text, end="")
    if given.save:
        given.save.write_text(f"python benchmarks/page.py {given.name} --rounds {given.rounds}\n{text}", "utf-8")


def measured(name: str, rounds: int) -> dict[tuple[str, str], list[dict[str, float]]]:
    """What each edit took, in turn: each is made and taken back."""
    from browser import Browser
    from served import Served
    os.environ["PYTHONPATH"] = str(ROOT)
    edits = EDITS.get(name) or LETTERS
    found: dict[tuple[str, str], list[dict[str, float]]] = {edit: [] for edit in edits}
    with Served() as served, Browser(1366, 800) as browser:
        browser.open(served.address)
        rests(browser)
        browser.run(EXAMPLE % name)
        browser.until("document.querySelector('h1').textContent.length && document.title.length")
        browser.run(WAIT.format(2 * UNTIL_DETAILS))
        rests(browser)
        for number in range(rounds + 1):
            for edit in edits:
                for before, after in (edit, edit[::-1]):
                    took = edited(browser, before, after)
                    if number:          # the first one is for warming up
                        found[edit].append(took)
        assert not browser.errors(), browser.errors()
    return found


def edited(browser: Any, before: str, after: str) -> dict[str, float]:
    import json
    words = {"before": json.dumps(before), "after": json.dumps(after)}
    took: dict[str, float] = browser.run(EDIT.format(line=FIND.format(**words), **words))
    browser.run(WAIT.format(UNTIL_DETAILS))
    rests(browser)
    return took


def rests(browser: Any) -> None:
    browser.until(RESTS)
    browser.settle()


def table(name: str, found: dict[tuple[str, str], list[dict[str, float]]]) -> str:
    lines = [f"{name}, edit to drawn, in ms; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors",
             f"{'edit':44}{'median':>8}{'best':>8}{'90 %':>8}{'answer':>8}{'kB':>8}"]
    every = [took for times in found.values() for took in times]
    for edit, times in (*((f"{before}  to  {after}", times) for (before, after), times in found.items()),
                        ("all", every)):
        took = sorted(time["took"] for time in times)
        lines.append(f"{edit:44}{statistics.median(took):8.0f}{took[0]:8.0f}{took[int(0.9 * len(took))]:8.0f}"
                     f"{statistics.median(time['answered'] for time in times):8.0f}"
                     f"{statistics.median(time['bytes'] for time in times) / 1000:8.0f}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
