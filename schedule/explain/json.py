"""Turns explanations of schedules into JSON data: times in nanoseconds, sizes in bytes.

    {"function", "machine", "mode", "once", "schedules": {"none", "greedy", "ilp"}, "regions": [...],
     "functions": [...], "groups": [...], "reductions": [...], "spaces": [...], "interiors": [...], "versions": [...]}
                 "mode": the schedule that runs; "once": a call runs each region just once
    a function   "name", "runs" ("thread", "lifted", "apart" or "host"), "place", and unless it runs per element the
                 "reason" why not, and "where"
    a group      "place", whether it is "made", and if it is the "reason" why, and "where"
    a reduction  "place", "form" ("fold", "segments" or "either"), and the "reason" why it is no fold, if it is none
    a space      "place", "form", "length" and "start" of a segment, "memory", and the "reason" why it takes some, if
                 known
    an interior  "place", its "ranges" ("from" an index, and "before" which), of rows first, and what is "dropped": each
                 "decision", and what it is "inside"
    versions     of each choice that a run makes: "place", "choice" (FUNCTION.BINDING), "cases", each a "version" and,
                 but for the last, its "condition", and "thresholds", each of a "version", what it is compared with
                 ("of"), and its "value"; none, where it makes none
    a region     "function", "region", "nodes", "sizes", "schedules", "pairs", and "code": the names of the mode's
                 kernels in the code, if known
    a schedule   "kernels" (their number), "members" (of each), "again" (the nodes that each computes again, if any),
                 "bytes", "cost", "launches", "syncs", "status", "moved"; the sums over all regions also have
                 "measured" (nanoseconds in kernels) if it has been run
    a pair       "first", "second", "verdict", "rule" or "reason" and "witness", "shared", "bytes", and "price" if
                 it is known: "cost" and "launches" more than the best schedule, "more" reads and writes of arrays, and
                 "members", "bytes", "status" of the schedule that joins the two
"""
from __future__ import annotations

from typing import Any

from nessie.base.source import Span
from nessie.schedule.explain.explain import (
    SCHEDULES,
    Explanation,
    Member,
    Moved,
    PairExplained,
    RegionExplained,
    Scheduled,
)
from nessie.schedule.explain.notes import (
    ChoiceExplained,
    FunctionExplained,
    GroupsExplained,
    InteriorExplained,
    LoopExplained,
    MappingExplained,
    ProductExplained,
    ReductionExplained,
    SpaceExplained,
)
from nessie.schedule.nodes import NEVER
from nessie.schedule.solver.solve import OPTIMAL


def as_json(function: str, explained: Explanation) -> dict[str, Any]:
    return {"function": function, "machine": explained.machine, "mode": explained.mode, "once": explained.once,
            "schedules": {mode: totals(explained, mode) for mode in SCHEDULES},
            "regions": [region_json(region, explained.mode) for region in explained.regions],
            "functions": [function_json(found) for found in explained.notes.functions],
            "groups": [groups_json(found) for found in explained.notes.groups],
            "reductions": [reduction_json(found) for found in explained.notes.reductions],
            "spaces": [space_json(found) for found in explained.notes.spaces],
            "interiors": [interior_json(found) for found in explained.notes.interiors],
            "mappings": [mapping_json(found) for found in explained.notes.mappings],
            "products": [product_json(found) for found in explained.notes.products],
            **({"loops": [loop_json(found) for found in explained.notes.loops]} if explained.notes.loops else {}),
            **({"versions": list(map(choice_json, explained.notes.choices))} if explained.notes.choices else {})}


def choice_json(found: ChoiceExplained) -> dict[str, Any]:
    return {"place": place_json(found.place), "choice": found.name,
            "cases": [{"version": version, **({"condition": condition} if condition else {})}
                      for version, condition in found.versions],
            "thresholds": [{"version": version, "of": of, "value": value} for version, of, value in found.thresholds]}


def interior_json(found: InteriorExplained) -> dict[str, Any]:
    return {"place": place_json(found.place), "ranges": [{"from": low, "before": high} for low, high in found.ranges],
            "dropped": [{"decision": decision, "inside": inside} for decision, inside in found.dropped]}


def mapping_json(found: MappingExplained) -> dict[str, Any]:
    return {"place": place_json(found.place), "mapping": found.mapping, "source": found.source, "launch": found.launch,
            "idle": found.idle, "recovery": found.recovery,
            **({"parts": [vars(part) for part in found.parts]} if found.parts else {}),
            **({"left": found.left, "behind": found.behind} if found.left else {}),
            **({"candidates": list(found.candidates)} if found.candidates else {}),
            **({"cost": found.cost} if found.cost else {}), **({"others": list(found.others)} if found.others else {}),
            **({"impossible": [{"what": what, "reason": why} for what, why in found.impossible]}
               if found.impossible else {})}


def loop_json(found: LoopExplained) -> dict[str, Any]:
    return {**vars(found), "place": place_json(found.place)}


def product_json(found: ProductExplained) -> dict[str, Any]:
    return {"place": place_json(found.place), "tiles": found.tiles, "where": found.where}


def reduction_json(found: ReductionExplained) -> dict[str, Any]:
    why = {"reason": found.reason} if found.reason else {}
    return {"place": place_json(found.place), "form": found.form, **why}


def space_json(found: SpaceExplained) -> dict[str, Any]:
    why = {name: told for name, told in (("reason", found.reason), ("argument", found.argument)) if told}
    return {"place": place_json(found.place), "form": found.form, "length": found.length, "start": found.start,
            "memory": found.memory, "elements": found.elements, **why}


def function_json(found: FunctionExplained) -> dict[str, Any]:
    return {"name": found.name, "runs": found.runs, "place": place_json(found.place), **why_json(found)}


def groups_json(found: GroupsExplained) -> dict[str, Any]:
    return {"place": place_json(found.place), "made": found.made, **why_json(found)}


def why_json(found: FunctionExplained | GroupsExplained) -> dict[str, Any]:
    return {"reason": found.reason, "where": place_json(found.where)} if found.reason else {}


def totals(explained: Explanation, mode: str) -> dict[str, Any]:
    """The sums over all regions; their status is optimal only if all are."""
    of = [region.schedules[mode] for region in explained.regions]
    measured = {"measured": explained.measured[mode] * 1e9} if mode in explained.measured else {}
    return {"kernels": sum(len(found.kernels) for found in of), "bytes": sum(found.bytes for found in of),
            "cost": round(sum(found.cost for found in of), 1), "launches": sum(found.launches for found in of),
            "syncs": sum(found.syncs for found in of), "status": together([found.status for found in of]), **measured}


def together(statuses: list[str]) -> str:
    """The common status of all schedules: the first that is not optimal, if there is one."""
    return next((status for status in statuses if status != OPTIMAL), OPTIMAL)


def region_json(region: RegionExplained, mode: str) -> dict[str, Any]:
    code = {"code": list(region.code)} if region.code else {}
    return {"function": region.function, "region": region.number, "nodes": [member_json(node) for node in region.nodes],
            "sizes": dict(region.sizes), **code,
            "schedules": {mode: schedule_json(region.schedules[mode]) for mode in SCHEDULES},
            "pairs": [pair_json(pair) for pair in region.pairs]}


def member_json(node: Member) -> dict[str, Any]:
    return {"name": node.name, "op": node.op, "place": place_json(node.place)}


def place_json(place: Span | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {"source": place.source.name, "line": place.line, "column": place.column, "start": place.start,
            "end": place.end}


def schedule_json(found: Scheduled) -> dict[str, Any]:
    again = {"again": [list(copies) for copies in found.again]} if any(found.again) else {}
    return {"kernels": len(found.kernels), "members": [list(kernel) for kernel in found.kernels], **again,
            "bytes": found.bytes,
            "cost": round(found.cost, 1), "launches": found.launches, "syncs": found.syncs, "status": found.status,
            "moved": [moved_json(array) for array in found.moved]}


def moved_json(array: Moved) -> dict[str, Any]:
    return {"name": array.name, "size": array.size, "width": array.width, "bytes": array.bytes, "read": array.read,
            "written": array.written}


def pair_json(pair: PairExplained) -> dict[str, Any]:
    why = {"reason": pair.reason, "witness": pair.witness} if pair.verdict == NEVER else {"rule": pair.rule}
    price = {} if pair.price is None else {"price": {
        "cost": round(pair.price.cost, 1), "launches": pair.price.launches,
        "more": [{"name": name, "read": read, "written": written} for name, read, written in pair.price.more],
        "members": [list(kernel) for kernel in pair.price.kernels], "bytes": pair.price.bytes,
        "status": pair.price.status}}
    return {"first": pair.first, "second": pair.second, "verdict": pair.verdict, **why, "shared": list(pair.shared),
            "bytes": pair.bytes, **price}
