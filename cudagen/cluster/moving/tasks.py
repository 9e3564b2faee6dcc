"""What workers do for elements that go to others: they part what they have by who gets it, and put together what comes.

What one task gives is for many, in buckets (cudagen.cluster.tasks.buckets).
"""
from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.values import DTYPES
from nessie.cudagen.cluster.reaching.ranges import Ints
from nessie.cudagen.cluster.slabs import Arrays
from nessie.cudagen.cluster.tasks.buckets import cut, received, rows
from nessie.cudagen.cluster.tasks.chunks import ERRORS, INTERRUPT, Job, address, begun, functions_of, run_chunks
from nessie.cudagen.cluster.tasks.elements import Given, Made, assembled
from nessie.cudagen.cluster.tasks.wanted import interrupt_address
from nessie.cudagen.cpu.sorting import SORTS
from nessie.cudagen.host.device import ERROR_WORDS

RUN = 64                        # places of a sorted run that are told, from which the borders of all are chosen
GREATEST, LEAST, INFINITE = 2**63 - 1, -(2**63), 0x7FF0000000000000


# Reads ------------------------------------------------------------------------------------------


def asked(job: Job, lengths: Mapping[str, int], cuts: Mapping[str, Ints], given: list[Any]) -> Arrays:
    """The places that a run of chunks asks for, of arrays of these lengths: in the order in which it does; and once
    each, in buckets for who has them, from one cut to before the next. It runs twice: first to count them."""
    count = run_chunks(with_room(job, lengths, dict.fromkeys(lengths, 0)), given)
    noted = run_chunks(with_room(job, lengths, {name: int(count[asked_of(name)][0]) + 1 for name in lengths}), given)
    made: Arrays = {}
    for name, length in lengths.items():
        places = np.clip(noted[asked_of(name)][1:], 0, max(0, length - 1))
        if name not in cuts:
            made[name] = places
            continue
        once, made[f"{name} in order"] = np.unique(places, return_inverse=True)
        counts = np.diff([0, *np.searchsorted(once, cuts[name][1:-1]), len(once)])
        made |= cut({name: once}, counts) | rows(f"{name} count", counts)
    return made


def asked_of(name: str) -> str:
    return f"{name}_asked"


def with_room(job: Job, lengths: Mapping[str, int], rooms: Mapping[str, int]) -> Job:
    more: list[Any] = []
    for name in lengths:
        more += [Made(asked_of(name), "int", 0, rooms[name] + 1, fill=-1), rooms[name]]
    return replace(job, words=(*job.words, *more))


def answers(array: Given, name: str, count: int, given: list[Any]) -> Arrays:
    """The elements that others want of this part of an array. The first tasks, so many, have the places."""
    places, counts = received((name, f"{name} count"), given[:count])
    return cut({name: assembled(array, given)[places - array.low]}, counts)


# Writes -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Writing:
    """A function of the code that writes elements to places, in order; `arguments`: what each is, of 'elements',
    'places', 'place', 'value0', 'result0' and the words that any function gets. `chains`: where other chains of
    elements than the first begin; `neutral`: what a chain's own tables hold at first, whose elements are `bases`."""
    function: str
    arguments: tuple[str, ...]
    chains: Ints
    neutral: tuple[Any, ...]
    bases: tuple[str, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """What goes to a receiver."""
        return ("place", "chains", *[f"value{k}" for k, _ in enumerate(self.bases)])

    def write(self, code: Any, places: Ints, values: Sequence[np.ndarray[Any, Any]],
              tables: Sequence[np.ndarray[Any, Any]]) -> None:
        errors = np.zeros(len(ERROR_WORDS), np.int64)
        arrays = {"place": places, ERRORS: errors} | {f"value{k}": value for k, value in enumerate(values)} | {
            f"result{k}": table for k, table in enumerate(tables)}
        words = {name: address(array, 0) for name, array in arrays.items()} | {
            "elements": len(places), "places": len(tables[0]), INTERRUPT: interrupt_address()}
        given = [words.get(name, 0) for name in self.arguments]
        functions_of(code)[self.function](0, 1, (ctypes.c_int64 * len(given))(*given))

    def write_chain(self, code: Any, chain: int, places: Ints, values: Sequence[np.ndarray[Any, Any]],
                    tables: Sequence[np.ndarray[Any, Any]]) -> None:
        """The first chain writes to the tables, each other one to its own, which then join them."""
        if chain == 0:
            self.write(code, places, values, tables)
        else:
            own = self.of_all(len(tables[0]))
            self.write(code, places, values, own)
            self.write(code, np.arange(len(tables[0])), own, tables)

    def of_all(self, count: int) -> list[np.ndarray[Any, Any]]:
        """Tables that change nothing, of so many places."""
        return [np.full(count, neutral, DTYPES[base]) for neutral, base in zip(self.neutral, self.bases, strict=True)]


def parted(place: Given, values: Sequence[Given], cuts: Ints, chains: Ints, given: list[Any]) -> Arrays:
    """Elements for those who have their places, from one cut to before the next; those with places elsewhere are
    nobody's. With each bucket, how much of it is before each chain."""
    places, arrays = assembled(place, given), [assembled(value, given) for value in values]
    return in_parts(places, arrays, cuts, chains - place.low)


def in_parts(places: Ints, arrays: Sequence[np.ndarray[Any, Any]], cuts: Ints, chains: Ints) -> Arrays:
    there = np.flatnonzero((places >= 0) & (places < cuts[-1]))
    owners = np.searchsorted(cuts, places[there], "right").astype(np.int16 if len(cuts) < 1 << 15 else np.int64) - 1
    order = np.argsort(owners, kind="stable")
    ends = *np.searchsorted(there, chains), len(there)
    before = [np.bincount(owners[:end], minlength=len(cuts) - 1) for end in ends]
    found = {"place": places[there[order]] - cuts[owners[order]],
             **{f"value{k}": array[there[order]] for k, array in enumerate(arrays)}}
    return cut(found, before[-1]) | rows("chains", np.stack(before, 1))


def combined(writing: Writing, place: Given, values: Sequence[Given], cuts: Ints, given: list[Any]) -> Arrays:
    """As `parted`, of what comes of all elements together, at each place."""
    count = int(cuts[-1])
    tables = writing.of_all(count)
    writing.write(given[0], assembled(place, given), [assembled(value, given) for value in values], tables)
    return in_parts(np.arange(count), tables, cuts, np.zeros(0, np.int64))


def written(writing: Writing, tables: Sequence[Made], count: int, given: list[Any]) -> Arrays:
    """What a receiver's places hold when the elements in so many tasks' buckets are written."""
    made = [begun(table, given) for table in tables]
    if count:
        places, chains, *values = received(writing.fields, given[1:count + 1])
        ends = [0, *chains.sum(axis=0).tolist()]
        for chain, (first, last) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
            writing.write_chain(given[0], chain, places[first:last], [value[first:last] for value in values], made)
    return {table.name: array for table, array in zip(tables, made, strict=True)}


# Sorts ------------------------------------------------------------------------------------------


def codes_of(keys: np.ndarray[Any, Any], descending: bool = False) -> Ints:
    """Ints that order as keys do (skeletons.cpu.order): there is one zero and one NaN, which comes last."""
    if keys.dtype != np.float64:
        codes = keys.astype(np.int64)
        return ~codes if descending else codes
    codes = np.ascontiguousarray(keys).view(np.int64)
    missing = (codes & GREATEST) > INFINITE
    codes = np.where(codes == LEAST, 0, np.where(codes < 0, codes ^ GREATEST, codes))
    return np.where(missing, GREATEST, ~codes if descending else codes)


def sorted_run(array: Given, function: str, descending: bool, given: list[Any]) -> Arrays:
    """A part by itself: its keys by a function of the library; or, without one, codes and positions. Some codes with
    their numbers in the run are told."""
    keys = assembled(array, given)
    if function:
        made = np.empty_like(keys)
        SORTS[function](keys, made)
        run, codes = {"keys": made}, codes_of(made, descending)
    else:
        codes = codes_of(keys, descending)
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        run = {"keys": codes, "positions": order + array.low}
    some = np.unique(np.linspace(0, len(codes) - 1, RUN).astype(np.int64)) if len(codes) else np.zeros(0, np.int64)
    return {**run, "some": codes[some], "ranks": some}


def run_parted(function: str, descending: bool, number: int, given: list[Any]) -> Arrays:
    """A sorted run of this number, in buckets that are between two borders: each a code, the number of a run, and a
    rank in that. Of equal keys, those of an earlier run come first."""
    run, (code, of, rank) = given
    codes = codes_of(run["keys"], descending) if function else run["keys"]
    ends = np.where(of < number, np.searchsorted(codes, code), np.where(
        of > number, np.searchsorted(codes, code, "right"), rank))
    return cut({name: run[name] for name in ("keys", "positions") if name in run}, np.diff([0, *ends, len(codes)]))


def merged(function: str, given: list[Any]) -> Arrays:
    """What a receiver has got of all runs, in order; and how much that is."""
    if function:
        (keys,) = received(("keys",), given)
        made = np.empty_like(keys)
        SORTS[function](keys, made)
    else:
        keys, positions = received(("keys", "positions"), given)
        made = positions[np.argsort(keys, kind="stable")]
    return {"": made, "count": np.array([len(made)])}


# Firsts -----------------------------------------------------------------------------------------


def heads(array: Given, receivers: int, given: list[Any]) -> Arrays:
    """The different codes of a part and where each is first, in buckets for who is asked for them; the order in which
    these are; and for each element its head's number, -1 for NaN, which equals nothing."""
    keys = assembled(array, given)
    codes = codes_of(keys)
    there = ~np.isnan(keys) if keys.dtype == np.float64 else np.ones(len(keys), bool)
    different, first, inverse = np.unique(codes[there], return_index=True, return_inverse=True)
    numbers = np.full(len(keys), -1, np.int64)
    numbers[there] = inverse
    owners = (mixed(different) % np.uint64(receivers)).astype(np.int64)
    order, counts = np.argsort(owners, kind="stable"), np.bincount(owners, minlength=receivers)
    found = {"codes": different[order], "positions": (np.flatnonzero(there)[first] + array.low)[order]}
    return {"numbers": numbers, "order": order, **cut(found, counts), **rows("count", counts)}


def mixed(codes: Ints) -> np.ndarray[Any, Any]:
    """Numbers without the codes' regularity."""
    bits = codes.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    found: np.ndarray[Any, Any] = bits ^ (bits >> np.uint64(32))
    return found


def joined(given: list[Any]) -> Arrays:
    """Of all heads that a receiver has got, the first with the same code; for each giver."""
    codes, positions, counts = received(("codes", "positions", "count"), given)
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return cut({"firsts": positions[first[inverse]]}, counts)


def firsts(low: int, given: list[Any]) -> Arrays:
    """For each element of a giver what its head has found; what has none is its own."""
    mine, *others = given
    order, numbers = mine["order"], mine["numbers"]
    of_heads = np.zeros(len(order) + 1, np.int64)
    (of_heads[order],) = received(("firsts",), others)
    return {"": np.where(numbers < 0, np.arange(low, low + len(numbers)), of_heads[numbers])}
