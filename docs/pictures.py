"""The documentation's pictures and tables, made anew: `python docs/pictures.py [NAME...]`, for all or for those named.

    norm2-flat.svg, norm2-fused.svg     norm2's dependence graph, not fused and fused       `nessie graph`
    speed.svg                           benchmarks/results/two-cores.json as bars           matplotlib
    peers.svg                           benchmarks/results/peers.json as bars               matplotlib
    speed.md, README.md                 the tables of benchmarks/results/peers.json
    mappings.md                         the table of benchmarks/results/mappings.txt
    prompt.svg                          forms and answers, coloured as at the prompt        rich
    snowflake.svg                       nesl_examples/snowflake.nesl                        `nessie run`
    inspector.png                       the page of all stages of norm2                     a Chromium
    live.png                            the live page with quicksort                        a Chromium, Tornado

The libraries are the extra `docs`. The Chromium is CHROME's, or one that is on the path.
"""
from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from suite import report  # noqa: E402

from nessie.base.source import Source  # noqa: E402
from nessie.base.system.deep import run_deep  # noqa: E402
from nessie.running.targets import Target  # noqa: E402
from nessie.session.session import Session  # noqa: E402
from nessie.tool.cli import main as nessie  # noqa: E402

MARK = "<!-- table: python docs/pictures.py speed.md writes it from benchmarks/results/peers.json -->"
README_MARK = MARK.replace("speed.md", "README.md")
MAPPINGS_MARK = MARK.replace("speed.md", "mappings.md").replace("peers.json", "mappings.txt")
README_ROWS = ("dot product", "filter", "stencil 2-D", "sort rows", "sort, 10^7", "group by", "word histogram",
               "spmv, zipf", "pagerank", "bfs", "convex hull", "quicksort")
NORM2 = ["nesl_examples/norm2.nesl", "-e", "norm2"]
BROWSERS = (os.environ.get("CHROME", ""), "chromium", "chromium-browser", "google-chrome", "chrome")
TYPED = ("function mean(v) = sum(v) / float(#v);",
         "rows = [[1.0, 3.0], [2.0], [1.0, 2.0, 6.0]];",
         "{{x - m : x in row} : row in rows; m in {mean(row) : row in rows}};",
         "plus_scan([3, 1, 4, 1, 5]);",
         "{#w : w in wordify(\"rows of any length\")};")
FONT = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)


def graph(fuse: str) -> bytes:
    with redirect_stdout(io.StringIO()) as out:
        assert nessie(["graph", *NORM2, "--format", "svg", "--fuse", fuse]) == 0
    return out.getvalue().encode()


def speed() -> bytes:
    """What each workload takes, with Nessie and with NumPy."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "nessie", "svg.fonttype": "none"})
    from matplotlib import pyplot
    found = json.loads((ROOT / "benchmarks" / "results" / "two-cores.json").read_text("utf-8"))
    results = found["results"]
    figure, axes = pyplot.subplots(figsize=(7, 0.6 * len(results) + 1.2))
    for number, result in enumerate(results):
        for at, who, colour in ((0.2, "nessie", "#3182bd"), (-0.2, "numpy", "#9ecae1")):
            milliseconds = result[who] * 1e3
            axes.barh(number + at, milliseconds, 0.36, color=colour, label="_" if number else who)
            axes.text(milliseconds * 1.05, number + at, f"{milliseconds:.1f} ms", va="center", fontsize=8)
    axes.set_yticks(range(len(results)), [f"{r['name']}\n{r['size']:,}" for r in results], fontsize=8)
    axes.set_xscale("log")
    axes.margins(x=0.2)
    axes.invert_yaxis()
    axes.set_xlabel(f"milliseconds (best of many runs; {found['machine']['processor']}, "
                    f"{found['machine']['threads']} threads)", fontsize=8)
    handles, _ = axes.get_legend_handles_labels()
    axes.legend(handles, ["Nessie", "NumPy"], fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    return b"\n".join(line.rstrip() for line in drawn.getvalue().splitlines()) + b"\n"


def peers() -> bytes:
    """How many times as fast as the best Python library each workload is."""
    return report.bars(*report.saved())


def speed_page() -> bytes:
    """The page, with the table of the results behind its mark."""
    machine, rows = report.saved()
    kept = (DOCS / "speed.md").read_text("utf-8").partition(MARK)[0] + MARK + "\n"
    return f"{kept}\nOn {machine}; {report.means(rows)}.\n\n{report.table(rows)}".encode()


def readme() -> bytes:
    """README.md, with the table of some workloads behind its mark, up to an empty line."""
    rows = {row.name: row for row in report.saved()[1]}
    return with_table(ROOT / "README.md", README_MARK, report.table([rows[name] for name in README_ROWS]))


def mappings_page() -> bytes:
    """The page, with the table of the results behind its mark, up to an empty line."""
    machine, rows = report.saved(ROOT / "benchmarks" / "results" / "mappings.txt")
    return with_table(DOCS / "mappings.md", MAPPINGS_MARK, f"On {machine}:\n\n{report.table(rows)}")


def with_table(page: Path, mark: str, table: str) -> bytes:
    before, found, rest = page.read_text("utf-8").partition(mark + "\n\n")
    after = re.sub(r"\A(On .*\n\n)?(\|.*\n)+\n", "", rest)
    return f"{before}{found}{table}\n{after}".encode()


def transcript() -> str:
    """What is typed, and what it gives."""
    session, lines = Session(Target("reference")), []

    def run() -> None:
        for form in TYPED:
            lines.append(f"nesl> {form}")
            lines.extend(str(outcome) for outcome in session.run(Source("prompt", form)))
    run_deep(run)
    return "\n".join(lines) + "\n"


def prompt() -> bytes:
    from rich.console import Console
    from rich.syntax import Syntax

    from nessie.tool.prompt.highlighting import NeslLexer
    text = transcript()
    width = max(map(len, text.splitlines())) + 2
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Syntax(text.rstrip("\n"), NeslLexer(), theme="monokai", word_wrap=True))
    drawn = console.export_svg(title="nessie", unique_id="prompt")
    return FONT.sub("\n", drawn).encode()           # fonts that would be fetched


def inspector() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "norm2.html")
        assert nessie(["inspect", *NORM2, "-o", str(page)]) == 0
        return screenshot(page.as_uri())


def live() -> bytes:
    """The live page when it has run its program, which takes it some seconds of the browser's clock."""
    words = [sys.executable, "-m", "nessie", "serve", "nesl_examples/quicksort.nesl"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            return screenshot(server.stdout.readline().strip(), "--virtual-time-budget=10000")
        finally:
            server.terminate()


def screenshot(address: str, *more: str) -> bytes:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("there is no Chromium: name one in CHROME")
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder, "page.png")
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        f"--user-data-dir={folder}/profile", "--window-size=1366,768", f"--screenshot={picture}", *more,
                        address], check=True, capture_output=True, timeout=120)
        return picture.read_bytes()


def snowflake() -> bytes:
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        drawn = Path(folder) / "snowflake.svg"
        assert nessie(["run", "nesl_examples/snowflake.nesl", "-e", "draw_snowflake", "4", "--draw", str(drawn)]) == 0
        return drawn.read_bytes()


PICTURES: dict[str, Callable[[], bytes]] = {
    "norm2-flat.svg": lambda: graph("none"),
    "norm2-fused.svg": lambda: graph("ilp"),
    "speed.svg": speed,
    "peers.svg": peers,
    "speed.md": speed_page,
    "README.md": readme,
    "mappings.md": mappings_page,
    "prompt.svg": prompt,
    "snowflake.svg": snowflake,
    "inspector.png": inspector,
    "live.png": live,
}


def main(names: list[str]) -> Any:
    os.chdir(ROOT)
    for name in names or PICTURES:
        if name not in PICTURES:
            raise SystemExit(f"there is no picture {name}; there are {', '.join(PICTURES)}")
        path = (ROOT if name == "README.md" else DOCS) / name
        path.write_bytes(PICTURES[name]())
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
