"""Computes the cost of a schedule, in nanoseconds on a device (schedule.cost.profiles), from bytes streamed, launches
and synchronisations.

    each kernel        one launch, and every array that it streams, once; arrays made inside it are free
    each array made    written once, if a kernel other than its own streams it, if anyone gathers it, if it leaves
                       the region
    each filter        one synchronisation, if its count is needed before a later launch
    second sweeps      on a CPU, arrays that a carry is computed from are streamed a second time: `rescan` of each
    copies             a cheap MAP that a kernel computes again: its arithmetic, and the arrays that it streams

The time is bytes / bandwidth + launch * launches + sync * synchronisations + the arithmetic of copies. An array is
made where its node runs, and wherever the node is computed again. The model assumes that a copy goes into every carry
of its kernel that depends on its results.

A carry is a value that an element needs of all elements before it, so an extra sweep sums up the chunks first
(cudagen.skeletons.cpu.walk):

    SCAN                  always
    SEG_SCAN              only if segments are longer than chunks: only the last segment of a chunk is summed up
    FILTER, PARTITION     only if survivors are numbered, because one of their arrays is written or computes with its
                          index; not if survivors are only counted or reduced
    SEG_REDUCE            never: a chunk leaves its part of its last segment to the end

Gathers are left out, since they cost the same in every schedule, and so is a word for each chunk. The model assumes
that a filter's second sweep reads its values too.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

from nessie.base.records import dataclass
from nessie.schedule.cost.profiles import Profile
from nessie.schedule.graph.nodes import FILTERS, GATHER, HOST, MEMBER, SIZE, Elements, Index, Survivors, space_size

CHUNK = 32768                   # elements of a chunk on a CPU (cudagen.generate)


@dataclass(frozen=True)
class Cost:
    """`total` in nanoseconds; `bytes` through memory, with those of second sweeps; the numbers of launches and of
    synchronisations between them."""
    total: float
    bytes: float
    launches: int
    syncs: int


class Traffic:
    """The arrays of a graph as the cost model sees them: their readers, and which every schedule must write.

    flows       triples: a node that makes an array, a node that streams it, and the array
    carries     the nodes that may have a carry: they have one if one of these arrays is written; always, if none
    carried     per node, the mask of the nodes whose carries may depend on the arrays that it streams
    again       the nodes that may be computed again, with the operations and functions of that: cheap nodes that
                stream at most twice as many bytes as they make
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        self.bytes = {name: index.bytes(name) for name in index.types}
        outputs = set(index.graph.outputs)
        self.forced = {name for name in index.maker if name in outputs and self.bytes.get(name)}
        self.waiting: dict[int, set[int]] = {}              # filter: nodes that need its count before their launch
        self.waited: set[int] = set()                       # filters whose count is always waited for
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
        self.flows = [(index.maker[name], k, name) for k, names in self.streamed.items() for name in names
                      if name in index.maker]
        self.carries = {k: arrays for k in range(len(index.nodes)) if (arrays := self._numbered(k)) is not None}
        carrying = sum(1 << k for k in self.carries)
        self.carried = [(index.dependents[k] | 1 << k) & carrying for k in range(len(index.nodes))]
        self.again = {k: work for k in range(len(index.nodes)) if (work := self._work_again(k)) is not None}

    def _work_again(self, k: int) -> tuple[float, float] | None:
        index, node = self.index, self.index.nodes[k]
        made = [name for name in node.results if name in index.readers]
        if node.work is None or not made or sum(self.bytes[name] for name in self.streamed[k]) > 2 * sum(
                self.bytes[name] for name in node.results if name != "_"):
            return None
        elements = index.elements(space_size(node.space))
        return node.work[0] * elements, node.work[1] * elements

    def _numbered(self, k: int) -> tuple[str, ...] | None:
        """The arrays of which one must be written for the node to have a carry; empty: it always has; None: never."""
        index, node = self.index, self.index.nodes[k]
        if node.op == "SCAN":
            return ()
        if node.op == "SEG_SCAN" and isinstance(node.space, Elements):
            return () if index.elements(node.space.total) > CHUNK * index.elements(node.space.segments) else None
        if node.op not in FILTERS:
            return None
        among = [other for other in index.nodes
                 if isinstance(other.space, Survivors) and other.space.filter == node.name]
        made = [name for other in (node, *among) if other is node or other.op == "MAP" for name in other.results]
        arrays = tuple(name for name in made if name in index.readers)
        placed = node.op == "PARTITION" and node.results[-1] in arrays
        if placed or self.forced.intersection(made) or any(other.rank for other in among):
            return ()
        return arrays or None

    def kernel(self, computed: Sequence[int], rescan: float, written: Callable[[str], bool]) -> float:
        """The bytes that a kernel of these nodes reads. `written`: tells whether an array is written."""
        return sum((times * self.bytes[name] for name, times in sorted(self.sweeps(computed, rescan, written).items())),
                   0.0)

    def sweeps(self, computed: Sequence[int], rescan: float, written: Callable[[str], bool]) -> dict[str, float]:
        """The number of times that a kernel of these nodes streams each array that it reads."""
        here, carrying = set(computed), 0
        for k in computed:
            if k in self.carries and (not self.carries[k] or any(map(written, self.carries[k]))):
                carrying |= 1 << k
        sweeps: dict[str, float] = {}
        for k in computed:
            times = 1 + rescan * bool(self.carried[k] & carrying)
            for name in self.streamed[k]:
                if self.index.maker.get(name) not in here and times > sweeps.get(name, 0.0):
                    sweeps[name] = times
        return sweeps

    def written(self, clusters: Iterable[Sequence[int]], again: Iterable[Sequence[int]] = ()) -> set[str]:
        """The arrays that go through memory in these kernels, each of which computes some nodes `again`."""
        home = {k: number for number, members in enumerate(clusters) for k in members}
        copies = {(number, k) for number, nodes in enumerate(again) for k in nodes}
        found = self.forced | {name for maker, k, name in self.flows
                               if home[maker] != home[k] and (home[k], maker) not in copies}
        for number, k in copies:
            makers = [(self.index.maker[name], name) for name in self.streamed[k] if name in self.index.maker]
            found.update(name for maker, name in makers if home[maker] != number and (number, maker) not in copies)
        return found


def cost(traffic: Traffic, profile: Profile, clusters: Iterable[Sequence[int]],
         again: Iterable[Sequence[int]] = ()) -> Cost:
    """The cost of the schedule with these kernels. `again`, in the same order: the nodes that each computes again."""
    index, clusters, again = traffic.index, list(clusters), list(again)
    home = {k: number for number, members in enumerate(clusters) for k in members}
    written = traffic.written(clusters, again)
    waits = traffic.waited | {f for f, waiting in traffic.waiting.items() if any(home[k] != home[f] for k in waiting)}
    waits |= {f for number, nodes in enumerate(again) for k in nodes for f, waiting in traffic.waiting.items()
              if k in waiting and home[f] != number}
    moved = sum((traffic.bytes[name] for name in sorted(written)), 0.0) \
        + sum(traffic.kernel([*members, *nodes], profile.rescan, written.__contains__)
              for members, nodes in zip_longest(clusters, again, fillvalue=()))
    launches = sum(index.nodes[members[0]].op != HOST for members in clusters)
    arithmetic = sum(profile.computing(*traffic.again[k]) for nodes in again for k in nodes)
    total = profile.streaming(moved) + profile.launch * launches + profile.sync * len(waits) + arithmetic
    return Cost(total, moved, launches, len(waits))


def kernel_costs(traffic: Traffic, profile: Profile, clusters: Iterable[Sequence[int]],
                 again: Iterable[Sequence[int]] = ()) -> list[Cost]:
    """The cost of each of the schedule's kernels, without synchronisations, which lie between kernels. That of what the
    host computes is what it writes."""
    index, clusters, again = traffic.index, list(clusters), list(again)
    written = traffic.written(clusters, again)
    kernels: Iterable[tuple[Sequence[int], Sequence[int]]] = zip_longest(clusters, again, fillvalue=())
    found = []
    for members, nodes in kernels:
        made = [name for name in sorted(written) if index.maker[name] in members]
        moved = sum([traffic.bytes[name] for name in made], 0.0) \
            + traffic.kernel([*members, *nodes], profile.rescan, written.__contains__)
        launches = int(index.nodes[members[0]].op != HOST)
        arithmetic = sum([profile.computing(*traffic.again[k]) for k in nodes])
        found.append(Cost(profile.streaming(moved) + profile.launch * launches + arithmetic, moved, launches, 0))
    return found
