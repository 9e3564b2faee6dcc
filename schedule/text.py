"""Prints schedules as text, and parses them: show and parse are inverse to each other. The grammar is in the header of
schedule.nodes."""
from __future__ import annotations

from nessie.base.source import Source
from nessie.base.text.layout import Doc, Mark, render
from nessie.base.text.places import Places
from nessie.base.text.tokens import Tokens, show_name, show_string
from nessie.schedule.nodes import APART, NEVER, TOGETHER, Pair, RegionSchedule, Schedule, kernels

KEYWORDS = frozenset({"schedule", "region", "kernel", "again", "pair", TOGETHER, APART, NEVER})


def name(text: str) -> str:
    return show_name(text, KEYWORDS)


def show(schedule: Schedule) -> str:
    return render(document(schedule))


def document(schedule: Schedule) -> Doc:
    """The text, with marks on regions and on the kernels and pairs in them."""
    regions = tuple(Mark(region_doc(region), region) for region in schedule.regions)
    return (f"schedule {name(schedule.mode)} {name(schedule.profile)} {{\n", regions, "}\n")


def region_doc(region: RegionSchedule) -> Doc:
    head = f"  region {name(region.function)} {region.number} {show_string(region.status)} {region.cost!r} " \
           f"{region.bytes!r} {{\n"
    found = tuple(("    ", Mark(f"kernel {show_names(cluster)}", cluster),
                   f" again {show_names(again)}\n" if again else "\n") for cluster, again in kernels(region))
    pairs = tuple(("    ", Mark(f"pair {name(pair.first)} {name(pair.second)} {pair.verdict} {name(pair.reason)}",
                                pair), "\n") for pair in region.pairs)
    return (head, found, pairs, "  }\n")


def show_names(names: tuple[str, ...]) -> str:
    return f"({', '.join(map(name, names))})"


def parse(text: str | Source, places: Places | None = None) -> Schedule:
    tokens = Tokens(text, KEYWORDS, places)
    start = tokens.expect("schedule")
    mode, profile = tokens.name(), tokens.name()
    tokens.expect("{")
    regions = []
    while not tokens.accept("}"):
        regions.append(parse_region(tokens))
    tokens.finish()
    return tokens.mark(start, Schedule(mode, profile, tuple(regions)))


def parse_region(tokens: Tokens) -> RegionSchedule:
    start = tokens.expect("region")
    function, number, status = tokens.name(), tokens.integer(), tokens.literal("string")
    cost, moved = tokens.literal("float"), tokens.literal("float")
    clusters: list[tuple[str, ...]] = []
    again: list[tuple[str, ...]] = []
    pairs: list[Pair] = []
    tokens.expect("{")
    while not tokens.accept("}"):
        if tokens.accept("kernel"):
            clusters.append(parse_names(tokens))
            again.append(parse_names(tokens) if tokens.accept("again") else ())
        else:
            tokens.expect("pair")
            first, second = tokens.name(), tokens.name()
            if not tokens.at(TOGETHER, APART, NEVER):
                tokens.fail("together, apart or never is expected here")
            pairs.append(Pair(first, second, tokens.take().text, tokens.name()))
    return tokens.mark(start, RegionSchedule(function, number, status, cost, moved, tuple(clusters), tuple(pairs),
                                             tuple(again) if any(again) else ()))


def parse_names(tokens: Tokens) -> tuple[str, ...]:
    start = tokens.expect("(")
    return tokens.mark(start, tokens.listed(tokens.name, ")"))
