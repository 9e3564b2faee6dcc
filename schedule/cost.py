"""What a schedule costs, in bytes streamed through memory: the unit that launches and waits are converted to.

    each kernel        one launch, and every array that it streams, once; arrays made inside it are free
    each array made    written once, if a kernel other than its own streams it, if anyone gathers it, if it leaves
                       the region
    each filter        one synchronisation, if its count is needed before a later launch
    look-back kernels  on a CPU they go through their inputs a second time: `rescan` of what they stream

Gathers cost the same in every schedule and are left out. Profiles ship as data: only ratios matter.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nessie.lambda_cu import ir
from nessie.schedule.pdg import FILTERS, GATHER, HOST, LOOK_BACK, MEMBER, SIZE, Index


@dataclass(frozen=True)
class Profile:
    """A device: launches, waits and a look-back kernel's second sweep, in bytes; `size` is what an unknown size is
    taken to be, `segment` the elements of an unknown segment; at most `arrays` arrays in one kernel."""
    name: str
    launch: float
    sync: float
    rescan: float
    size: float = 1e6
    segment: float = 16.0
    arrays: int = 64


CPU = Profile("cpu", launch=1.4e6, sync=0.0, rescan=1.0)
H200 = Profile("h200", launch=12e6, sync=40e6, rescan=0.0, size=1e7)
PROFILES = {profile.name: profile for profile in (CPU, H200)}


@dataclass(frozen=True)
class Cost:
    """`bytes` through memory (with second sweeps), launches and synchronisations; `total` in bytes."""
    total: float
    bytes: float
    launches: int
    syncs: int


class Traffic:
    """The arrays of a graph as the cost sees them: who streams them, what must be written in every schedule."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.bytes = {name: index.bytes(name) for name in index.types}
        outputs = set(index.graph.outputs)
        self.forced = {name for name in index.maker if name in outputs and self.bytes.get(name)}
        self.waiting: dict[int, set[int]] = {}              # filter: nodes that need its count before their launch
        self.waited: set[int] = set()                       # filters whose count someone always waits for
        for k, node in enumerate(index.nodes):
            for use in node.uses:
                if use.name not in index.maker:
                    continue
                if (use.mode == GATHER or node.op == HOST) and self.bytes.get(use.name):
                    self.forced.add(use.name)
                maker = index.maker[use.name]
                if index.nodes[maker].op in FILTERS and isinstance(index.types.get(use.name), str):
                    if use.mode == MEMBER:
                        self.waiting.setdefault(maker, set()).add(k)
                    elif use.mode == SIZE or node.op == HOST:
                        self.waited.add(maker)
        self.waited |= {index.maker[name] for name in outputs if name in index.maker
                        and index.nodes[index.maker[name]].op in FILTERS and isinstance(index.types.get(name), str)}
        self.streamed = {k: tuple(name for name in names if self.bytes[name] and index.nodes[k].op != HOST)
                         for k, names in index.streamed.items()}


def cost(index: Index, profile: Profile, clusters: Iterable[Sequence[int]]) -> Cost:
    """What the schedule with these kernels costs."""
    traffic = Traffic(index)
    written, streamed, launches, waits = set(traffic.forced), 0.0, 0, set(traffic.waited)
    for members in clusters:
        nodes = [index.nodes[k] for k in members]
        made = {name for node in nodes for name in node.results}
        if nodes[0].op != HOST:
            launches += 1
        read = {name for k in members for name in traffic.streamed[k]} - made
        written |= {name for name in read if name in index.maker}
        sweeps = 1 + profile.rescan * any(node.op in LOOK_BACK for node in nodes)
        streamed += sweeps * sum(traffic.bytes[name] for name in sorted(read))
        waits |= {index.maker[use.name] for k in members for use in index.nodes[k].uses if use.mode == MEMBER
                  and use.name not in made and isinstance(index.types.get(use.name), str)}
    moved = streamed + sum(traffic.bytes[name] for name in sorted(written))
    return Cost(moved + profile.launch * launches + profile.sync * len(waits), moved, launches, len(waits))


def arrays_of(index: Index, k: int) -> int:
    """How many arrays a node touches."""
    names = {use.name for use in index.nodes[k].uses} | {name for name in index.nodes[k].results if name != "_"}
    return sum(isinstance(index.types.get(name), ir.Array) for name in names)
