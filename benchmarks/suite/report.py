"""Shows what peers.py has measured: as lines of a terminal, as a table of Markdown, as bars.

A ratio says how many times as fast Nessie is: above 1, Nessie is ahead.
"""
from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

RESULTS = Path(__file__).resolve().parent.parent / "results" / "peers.json"
MOST_FOR_CHECKS = 1.1
TICKS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Row:
    """Seconds are the best of the rounds. `peers` has those of each peer by name; `c` those of hand-written C, `before`
    those of another version, None where there is none."""
    name: str
    size: str
    nessie: float
    peers: dict[str, float]
    c: float | None
    before: float | None

    @property
    def best(self) -> tuple[str, float]:
        """The quickest peer, and its seconds."""
        return min(self.peers.items(), key=lambda item: item[1], default=("", float("nan")))


def saved(path: Path = RESULTS) -> tuple[str, list[Row]]:
    """The machine and the rows of a file that `peers.py --save` has written."""
    found = json.loads(path.read_text("utf-8"))
    return found["machine"], [Row(**row) for row in found["rows"]]


def save(machine: str, rows: Sequence[Row], path: Path) -> None:
    text = json.dumps({"machine": machine, "rows": [vars(row) for row in rows]}, indent=2)
    path.write_text(text + "\n", encoding="utf-8")


# Lines ------------------------------------------------------------------------------------------------


def head(other: bool) -> str:
    return (f"{'milliseconds of':24}{'size':>16}{'Nessie':>11}" + f"{'before':>11}" * other
            + f"{'best peer':>11}  {'':8}{'C':>9}{'peer/Nessie':>13}{'C/Nessie':>10}")


def line(row: Row) -> str:
    name, best = row.best
    before = f"{milliseconds(row.before):>11}" if row.before is not None else ""
    return (f"{row.name:24}{row.size:>16}{milliseconds(row.nessie):>11}{before}{milliseconds(best):>11}  {name:8}"
            f"{milliseconds(row.c):>9}{ratio(best, row):>13}{ratio(row.c, row):>10}")


def checks_head() -> str:
    return f"{'workload':24}{'checked':>11}{'unchecked':>11}{'ratio':>8}"


def checks_line(name: str, seconds: Mapping[str, float]) -> str:
    checked, unchecked = seconds["checked"], seconds["unchecked"]
    return f"{name:24}{milliseconds(checked):>11}{milliseconds(unchecked):>11}{checked / unchecked:8.2f}"


def checks_summary(found: Mapping[str, Mapping[str, float]]) -> str:
    slow = [name for name, seconds in found.items() if seconds["checked"] > MOST_FOR_CHECKS * seconds["unchecked"]]
    return f"more than {MOST_FOR_CHECKS} x as long with checks: {', '.join(slow) or 'none'}"


def milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None or seconds != seconds else f"{seconds * 1e3:.{1 if seconds > 1e-2 else 3}f}"


def ratio(seconds: float | None, row: Row) -> str:
    return "-" if seconds is None or seconds != seconds else f"{seconds / row.nessie:.2f}"


def summary(rows: Sequence[Row]) -> str:
    behind = "; ".join(row.name for row in rows if row.peers and row.best[1] < row.nessie)
    took_part = ", ".join(sorted({name for row in rows for name in row.peers})) or "none"
    return f"{means(rows)}\npeers that took part: {took_part}\nbehind the best peer: {behind or 'none'}"


def means(rows: Sequence[Row]) -> str:
    peers = [row.best[1] / row.nessie for row in rows if row.peers]
    hand = [row.c / row.nessie for row in rows if row.c is not None]
    return f"geometric means: {mean(peers):.2f} x the best peer, {mean(hand):.2f} x C"


def mean(ratios: Sequence[float]) -> float:
    return exp(sum(map(log, ratios)) / len(ratios)) if ratios else float("nan")


# Pages ------------------------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    """A table of Markdown, the best ratio to a peer first."""
    lines = ["| workload | size | Nessie, ms | best peer, ms | | C, ms | peer ÷ Nessie | C ÷ Nessie |",
             "|---|---|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: row.nessie / row.best[1]):
        name, best = row.best
        lines.append(f"| {row.name} | {row.size} | {milliseconds(row.nessie)} | {milliseconds(best)} | {name} | "
                     f"{milliseconds(row.c)} | {ratio(best, row)} | {ratio(row.c, row)} |")
    return "\n".join(lines) + "\n"


def bars(machine: str, rows: Sequence[Row]) -> bytes:
    """An SVG: how many times as fast as the best peer each workload is, and as C."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "nessie", "svg.fonttype": "none"})
    from matplotlib import pyplot
    rows = sorted(rows, key=lambda row: row.nessie / row.best[1])
    figure, axes = pyplot.subplots(figsize=(7, 0.17 * len(rows) + 1))
    places = range(len(rows))
    ratios = [row.best[1] / row.nessie for row in rows]
    axes.barh(places, [r - 1 for r in ratios], left=1, color=["#3182bd" if r >= 1 else "#e6550d" for r in ratios])
    axes.plot([row.c / row.nessie if row.c else float("nan") for row in rows], places, "k|", label="hand-written C")
    axes.axvline(1, color="gray", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(places, [f"{row.name} ({row.best[0]})" for row in rows], fontsize=6)
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS], fontsize=7)
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.set_xlabel(f"times as fast as the best Python library ({machine})", fontsize=7)
    axes.legend(fontsize=7, loc="lower right")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    return b"\n".join(line.rstrip() for line in drawn.getvalue().splitlines()) + b"\n"
