"""Prints explanations of schedules for people.

    as_text("squares", explained)        total = sum(as); sq = {a * a : a in as} in {s / total : s in sq}

    squares on cpu, #as = 1,000,000
              kernels     bytes  predicted  status
      none          3  40.00 MB    2.14 ms  not fused       40*#as bytes
      greedy        2  24.00 MB    1.29 ms  greedy          24*#as bytes
      ilp           2  24.00 MB    1.29 ms  proven optimal  24*#as bytes

      kernel 1 (K1 in the code)
        total  REDUCE  squares.nesl:2:15  sum(as)
      ...
      fused
        sq and it share one walk of sq [MAP-X]
      not fused
        total and sq could share one walk of as; it would cost 0.39 ms more (sq is written and read again), 32*#as
        bytes in all [HORIZONTAL]
        total and it: it needs total's value, which exists only when the kernel that computes it has ended [kernel-end]
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from nessie.base.source import excerpt
from nessie.base.text.layout import render
from nessie.schedule.explain.explain import (
    SCHEDULES,
    Explanation,
    Member,
    Moved,
    PairExplained,
    Price,
    RegionExplained,
    Scheduled,
)
from nessie.schedule.explain.layout import place_text, table
from nessie.schedule.explain.notes_text import sections
from nessie.schedule.legality.witness import listed
from nessie.schedule.nodes import AGAIN, APART, TOGETHER
from nessie.schedule.solver.solve import OPTIMAL

SHOWN = 20                      # pairs of a region under each heading, unless all are wanted
TERMS = 4                       # shown of a formula, and of a region's sizes
HOSTS, OF_HOST = "host", "with what the host computes"         # the reason `host`, and its words
CAUSES = 3                      # arrays that a price is explained by


def as_text(function: str, explained: Explanation, everything: bool = False) -> str:
    regions = [region for region in explained.regions if region.schedules["none"].kernels]
    several = len(regions) > 1
    parts = [summary(function, explained)] if several or not regions else []
    for region in regions:
        title = f"{region.function}, region {region.number}" if several else function
        measured = {} if several else explained.measured
        parts.append(region_text(title, replace(explained, measured=measured), region, everything))
    parts += [render(section) for section in sections(explained.notes)]
    return "\n".join(parts)


def summary(function: str, explained: Explanation) -> str:
    """The sums over all regions."""
    count = sum(bool(region.schedules["none"].kernels) for region in explained.regions)
    regions = f"{count} regions" if count else "no kernels"
    rows = [[mode, str(sum(len(region.schedules[mode].kernels) for region in explained.regions)),
             bytes_text(sum(region.schedules[mode].bytes for region in explained.regions)),
             time_text(sum(region.schedules[mode].cost for region in explained.regions)),
             *measured_cell(explained.measured, mode)] for mode in SCHEDULES]
    head = ["", "kernels", "bytes", "predicted", *(["measured"] if explained.measured else [])]
    return "\n".join([f"{function} on {explained.machine}, {regions}", *table([head, *rows] if count else []),
                      *footnote(explained)]) + "\n"


def footnote(explained: Explanation) -> list[str]:
    """Return the line that tells how the columns of times differ, if they do."""
    if explained.once or not explained.measured:
        return []
    return ["  measured is the whole call, predicted one run of each region: "
            "the call may run some often, or not at all"]


def region_text(title: str, explained: Explanation, region: RegionExplained, everything: bool) -> str:
    lines = [", ".join([f"{title} on {explained.machine}", *sizes_text(region)]),
             *schedules_table(region, explained.measured), *footnote(explained)]
    nodes = {node.name: node for node in region.nodes}
    running = region.schedules[explained.mode]
    for number, (kernel, again, code) in enumerate(zip_longest(running.kernels, running.again, region.code), 1):
        inside = members([nodes[name] for name in kernel], [nodes[name] for name in again])
        called = f" ({code} in the code)" if code else ""
        lines += ["", f"  kernel {number}{called}", *(f"    {line}" for line in inside)]
    fused = [pair for pair in region.pairs if pair.verdict == TOGETHER]
    apart = sorted((pair for pair in region.pairs if pair.verdict != TOGETHER),
                   key=lambda pair: (pair.verdict != APART, -pair.bytes))         # first those that could be joined
    by = "" if explained.mode == "ilp" else " by ilp"
    for head, found in ((f"fused{by}", fused), (f"not fused{by}", apart)):
        if found:
            lines += ["", f"  {head}", *(f"    {line}" for line in pairs_text(found, everything))]
    return "\n".join(lines) + "\n"


def sizes_text(region: RegionExplained) -> list[str]:
    found = [f"{name} = {number:,.0f}" for name, number in region.sizes]
    return [*found[:TERMS], *(["..."] if len(found) > TERMS else [])]


def schedules_table(region: RegionExplained, measured: Mapping[str, float]) -> list[str]:
    head = ["", "kernels", "bytes", "predicted", *(["measured"] if measured else []), "status", "formula"]
    rows = [head]
    for mode in SCHEDULES:
        found = region.schedules[mode]
        rows.append([mode, str(len(found.kernels)), bytes_text(found.bytes), time_text(found.cost),
                     *measured_cell(measured, mode), status_text(found), formula(found.moved)])
    return table(rows, left=2)


def measured_cell(measured: Mapping[str, float], mode: str) -> list[str]:
    return [time_text(measured[mode] * 1e9)] if measured else []


def status_text(found: Scheduled) -> str:
    return "proven optimal" if found.status == OPTIMAL else found.status


def members(nodes: Sequence[Member], again: Sequence[Member]) -> list[str]:
    """The lines of a kernel's nodes, each with its place in the source."""
    rows = [[node.name, node.op + also, place_text(node.place), excerpt(node.place)]
            for also, found in (("", nodes), (" again", again)) for node in found]
    return [line.removeprefix("  ") for line in table(rows, left=3)]


# Numbers ----------------------------------------------------------------------------------------


def formula(moved: Sequence[Moved]) -> str:
    """The moved bytes as a formula of sizes: 24*#xs + 8*#ys bytes."""
    sums: dict[str, float] = {}
    for array in moved:
        sums[array.size] = sums.get(array.size, 0.0) + array.width * array.times
    terms = [f"{factor * float(size):g}" if size.isdigit() else f"{factor:g}*{size}"
             for size, factor in sorted(sums.items(), key=lambda term: -term[1])]
    shown = [*terms[:TERMS], *(["..."] if len(terms) > TERMS else [])]
    return f"{' + '.join(shown) or '0'} bytes"


def bytes_text(count: float) -> str:
    return scaled(count, ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")))


def time_text(nanoseconds: float) -> str:
    return scaled(nanoseconds, ((1e9, "s"), (1e5, "ms"), (1e2, "us"), (1, "ns")))


def scaled(number: float, units: Sequence[tuple[float, str]]) -> str:
    """Write the number in the largest unit whose threshold it reaches."""
    factors = {"ms": 1e6, "us": 1e3}
    at, unit = next(((at, unit) for at, unit in units if abs(number) >= at), units[-1])
    return f"{number / factors.get(unit, at):.2f} {unit}" if unit not in ("B", "ns") else f"{number:.0f} {unit}"


# Pairs ------------------------------------------------------------------------------------------


def pairs_text(found: Sequence[PairExplained], everything: bool) -> list[str]:
    """The lines of the pairs; without `everything`, of the first SHOWN, and of none with the host, which never fuse."""
    told = found if everything else [pair for pair in found if pair.reason != HOSTS]
    shown = told if everything else told[:SHOWN]
    lines = [pair_text(pair) for pair in shown]
    for left, which in ((len(told) - len(shown), "with less at stake"), (len(found) - len(told), OF_HOST)):
        if left:
            more = f"{'and ' if lines else ''}{left}{' more' if lines else ''} pair{'' if left == 1 else 's'}"
            lines.append(f"{more}, {which}: --all shows {'it' if left == 1 else 'them'}")
    return lines


def pair_text(pair: PairExplained) -> str:
    both = f"{pair.first} and {pair.second}"
    if pair.rule == AGAIN:
        return f"{both} share {shared_text(pair)}, one of them computed again [{pair.rule}]"
    if pair.verdict == TOGETHER:
        return f"{both} share {shared_text(pair)} [{pair.rule}]"
    if pair.verdict == APART:
        return f"{both} could share {shared_text(pair)}; {price_text(pair.price)} [{pair.rule}]"
    return f"{both}: {pair.witness} [{pair.reason}]"


def shared_text(pair: PairExplained) -> str:
    return f"one walk of {listed(pair.shared)}" if pair.shared else "a kernel"


def price_text(price: Price | None) -> str:
    if price is None:
        return "not priced: at what cost, --all says"
    if abs(price.cost) < 1:
        return "that would cost the same"
    causes = [*(cause(*moved) for moved in price.more if moved[1] > 0 or moved[2] > 0)]
    if price.launches > 0:
        causes.append("one launch more" if price.launches == 1 else f"{price.launches} launches more")
    why = f" ({'; '.join(causes[:CAUSES])}{'; ...' if len(causes) > CAUSES else ''})" if causes else ""
    if price.cost < 0:
        return f"that would save {time_text(-price.cost)}: what is shown is not the best"
    about = "" if price.status == OPTIMAL else "about "
    return f"it would cost {about}{time_text(price.cost)} more{why}, {formula(price.moved)} in all"


def cause(name: str, read: float, written: int) -> str:
    if written > 0:
        return f"{name} is written and read again" if read > 0 else f"{name} is written"
    return f"{name} is read again" if read == 1 else f"{name} is read {read:g} times more"
