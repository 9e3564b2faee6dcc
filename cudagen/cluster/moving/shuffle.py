"""Writes in parts: each element goes to the worker that has its place, who writes what comes in the elements' order.

    parted     each part of the elements, in buckets for receivers: place and values; chains of chunks stay apart
    written    each receiver: what is there before, then the first chain's elements in order; each other chain in a
               table of its own, which joins the result after them (skeletons.cpu.tables)

Where ints are combined, in any order, and there are fewer places than a part has elements, each part is combined first.
So the bits are the CPU target's, and no element is sent twice.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nessie.base.values import DTYPES
from nessie.cudagen.cluster.moving import tasks
from nessie.cudagen.cluster.moving.exchange import exchange
from nessie.cudagen.cluster.moving.tasks import Writing
from nessie.cudagen.cluster.moving.writes import Apart
from nessie.cudagen.cluster.reaching.ranges import Ints
from nessie.cudagen.cluster.slabs import Slab, Spread, pieces
from nessie.cudagen.cluster.tasks.elements import Given, Made
from nessie.cudagen.cluster.workers import SHUFFLED, Held, Workers
from nessie.cudagen.loops.nodes import Name
from nessie.cudagen.loops.plan import ArrayResult
from nessie.lambda_cu import nodes as ir


def write(workers: Workers, kernel: str, apart: Apart, arrays: Sequence[Held], held: Mapping[str, Held], places: int,
          chains: Ints) -> dict[str, Spread]:
    """The results of the write. `arrays`: the place of each element, and its values; `held`: what the kernel has;
    `chains`: the first elements of all chains but the first."""
    elements = [workers.spread(array, "") for array in arrays]
    writing = writing_of(apart, chains)
    cuts = workers.cuts(places, places) if places else np.zeros(1, np.int64)
    spans = workers.spans(elements[0])
    first = apart.exact and places * len(spans) < elements[0].length
    givers = []
    for low, high in spans:
        given: list[Any] = [workers.code]
        place, *values = [Given.of(spread, low, high, given) for spread in elements]
        if first:
            task = workers.submit(f"{kernel}_combined-{low}", tasks.combined, writing, place, values, cuts,
                                  given=given)
        else:
            task = workers.submit(f"{kernel}_parted-{low}", tasks.parted, place, values, cuts, chains, given=given)
        givers.append(task)
    sent = places * len(spans) if first else elements[0].length
    each = sum([DTYPES[spread.base].itemsize for spread in elements])
    workers.told.reads(kernel, apart.results[0], SHUFFLED, sent * each)
    results = [Spread(base, places) for base in apart.bases]
    came = exchange(workers, kernel, givers, writing.fields, len(cuts) - 1)
    for d, (low, high) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)):
        given = [workers.code, *came[d]]
        made = [made_before(f"result{k}", base, before, low, high, held, given)
                for k, (base, before) in enumerate(zip(apart.bases, apart.before, strict=True))]
        task = workers.submit(f"{kernel}_written-{low}", tasks.written, writing, made, len(came[d]), given=given)
        for k, spread in enumerate(results):
            spread.slabs.append(Slab(low, high, task, f"result{k}", whole=len(results) == 1))
    return dict(zip(apart.results, results, strict=True))


def made_before(name: str, base: str, before: ir.Exp, low: int, high: int, held: Mapping[str, Held], given: list[Any]
                ) -> Made:
    """The part of a result, with what is there before."""
    if isinstance(before, ir.Const):
        return Made(name, base, low, high, (), plain(before.value))
    assert isinstance(before, ir.Var)
    array = held[before.name]
    if isinstance(array, Spread):
        return Made(name, base, low, high, pieces(list(array.between(low, high)), given), array.fill)
    values = np.zeros(high - low, DTYPES[base])
    values[:max(0, len(array) - low)] = array[low:high]
    return Made(name, base, low, high, values=values)


def plain(value: Any) -> Any:
    """As arrays hold it."""
    return ord(value) if isinstance(value, str) else value


def writing_of(apart: Apart, chains: Ints) -> Writing:
    plan = apart.plan
    parameters = [p.name for p in plan.parameters]
    values = len(apart.values)
    roles = dict(zip(parameters, ["elements", "places", "place", *[f"value{k}" for k in range(values)]], strict=False))
    buffers = [result.buffer for result in plan.results if isinstance(result, ArrayResult)]
    roles |= {buffer: f"result{k}" for k, buffer in enumerate(buffers)}
    phase = plan.phases[0]
    arguments = [a.name if isinstance(a, Name) else "" for a in phase.arguments]
    return Writing(phase.function, tuple([roles.get(name, name) for name in arguments]), chains,
                   tuple(map(plain, apart.neutral or ())), apart.bases)
