"""Decides for two nodes whether they may share a kernel, or why not, and which filters must then be in it too.

A set of nodes can be a kernel exactly if every pair in it is allowed and every pair's hosts are in the set. (The
certificate decides the same by simulating the walk; tests compare the two on all small sets.) The integer program
needs the pairs, users need the reasons. Two reasons, one-thread and in-place, are no laws of the walk: such a kernel
would be slow, as it would copy what may be long to write a little.

    gather           the value is read at other indices than the walk has reached
    size             a size or descriptor must be known before the launch
    kernel-end       the value exists only when the kernel has ended
    segment-late     only a MAP over the segments is known where a segment begins
    segment-end      a segment's reduction is known where the segment ends, when its elements have passed
    scatter-order    a PERMUTE or REDUCE_BY_INDEX writes in another order than the walk's
    two-look-backs   a tile would wait twice for all earlier tiles
    one-thread       one thread of the CPU walks a REDUCE_BY_INDEX, or a PERMUTE where the last write wins; others are
                     better off with all, but for what it reads of a MAP of few operations
    in-place         a write goes on in the memory of what the other reads
    position         a survivor's position in its segment is not counted by the walk
    once-reads-array scalar code reads only arrays that are complete
    space            the index spaces are not walked together
    path             a path from one to the other leads through a pair that is not allowed
    missing-host     a filter that must be in the kernel too may not be with one of them, or with another such filter
    cut              the user does not want it
    mapping          they are walked by different mappings, or by one that cannot walk a node (schedule.legality.mapped)
    library, host    a library kernel; a statement of the host
"""
from __future__ import annotations

from collections.abc import Iterator

from nessie.schedule.graph.nodes import (
    FILTERS,
    GATHER,
    HOST,
    LOOK_BACK,
    MEMBER,
    ON_SEGMENTS,
    ONCE,
    ORDER,
    SCALAR,
    SEG,
    SIZE,
    WRITES,
    Index,
    Node,
    Size,
    Space,
    Survivors,
    Unit,
    of_one_length,
    segments_of,
    space_size,
)
from nessie.schedule.legality.mapped import mapping_reason

SINGLE = (HOST, ORDER, ONCE)            # share a kernel with nothing; but ONCE may end any kernel


class Fusible:
    """The verdicts on all pairs. `reason[u, v]`, for u < v that may not share a kernel, stands after the reasons that
    it follows from. `bad[u]` is the mask of u's impossible partners. `direct[u]` leaves out those that are impossible
    for a path or hosts only: these do not bind a copy of u, since its readers have u elsewhere too. `alike[u]` is the
    first node of u's kind: nodes of one kind differ only towards nodes that depend on them, or they on these."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.chains = [self._chain(node.space) for node in index.nodes]
        self.places = [places_of(chain) for chain in self.chains]
        self.reason: dict[tuple[int, int], str] = {}
        self.bad = [0] * len(index.nodes)
        self._hosts: dict[tuple[int, int], tuple[int, ...] | None] = {}
        alike: dict[tuple[Space, bool, str, bool, str], int] = {}
        mapped = any([node.by for node in index.nodes])
        self.alike = [alike.setdefault((node.space, node.op in ON_SEGMENTS, node.op if mapped or node.op in SINGLE
                                        else "", node.serial, node.by), u) for u, node in enumerate(index.nodes)]
        late = [self._needs_look_back(u) for u in range(len(index.nodes))]
        apart: dict[tuple[int, int], str | None] = {}           # reasons of independent nodes, by kind
        for v in range(len(index.nodes)):
            for u in range(v):
                if index.dependents[u] >> v & 1:
                    reason = self._pair(u, v, late[u])
                else:
                    kinds = self.alike[u], self.alike[v]
                    reason = apart[kinds] if kinds in apart else apart.setdefault(kinds, self._unlike(u, v))
                if reason or self._in_place(u, v):
                    self._forbid(u, v, reason or "in-place")
        self.cuts = 0                   # the mask of the nodes in cuts
        for pair in index.graph.cuts:
            u, v = sorted(index.position[name] for name in pair)
            self.cuts |= 1 << u | 1 << v
            if self.ok(u, v):
                self._forbid(u, v, "cut")
        self.direct = list(self.bad)
        self._close_paths()
        while self._close_hosts():
            self._close_paths()

    def ok(self, u: int, v: int) -> bool:
        return not self.bad[u] >> v & 1

    def _forbid(self, u: int, v: int, reason: str) -> None:
        self.reason[u, v] = reason
        self.bad[u] |= 1 << v
        self.bad[v] |= 1 << u

    def _close_paths(self) -> None:
        """Forbid each pair with a node between them that may not be with one of the two."""
        index = self.index
        before = [sum(1 << w for w in nodes) for nodes in index.predecessors]
        ancestors = [0] * len(index.nodes)
        for v, mask in enumerate(before):
            for w in index.predecessors[v]:
                mask |= ancestors[w]
            ancestors[v] = mask
        for u in reversed(range(len(index.nodes))):
            for v in range(u + 1, len(index.nodes)):
                if index.descendants[u] >> v & 1 and not self.bad[u] >> v & 1 and (
                        index.after[u] & self.bad[v] & ancestors[v] or before[v] & self.bad[u] & index.descendants[u]):
                    self._forbid(u, v, "path")

    def _close_hosts(self) -> bool:
        """Forbid each pair one of whose hosts may not be with one of the two, or with another host. Were there any?"""
        kinds: dict[int, int] = {}
        for u, kind in enumerate(self.alike):
            kinds[kind] = kinds.get(kind, 0) | 1 << u
        found = False
        for kind, members in kinds.items():
            for other, partners in kinds.items():
                hosts = self.hosts(kind, other) or ()
                needed = sum(1 << h for h in hosts)
                never = any(self.bad[h] & needed for h in hosts)
                for u in bits(members) if hosts else ():
                    for v in bits(partners & ~self.bad[u] & ~(1 << u)) if never or self.bad[u] & needed else ():
                        self._forbid(min(u, v), max(u, v), "missing-host")
                        found = True
        return found

    def _chain(self, space: Space) -> list[tuple[Space, int | None]]:
        """The space and the spaces that it is a part of, each with the filter that hosts it."""
        chain: list[tuple[Space, int | None]] = []
        while isinstance(space, Survivors):
            chain.append((space, self.index.filter_of(space)))
            space = self.index.parent(space)
        return [*chain, (space, None)]

    def hosts(self, u: int, v: int) -> tuple[int, ...] | None:
        """The filters that must be in a kernel of u and v; None if no walk has both spaces."""
        pair = self.alike[u], self.alike[v]
        if pair not in self._hosts:
            self._hosts[pair] = self._find_hosts(*pair)
        return self._hosts[pair]

    def _find_hosts(self, u: int, v: int) -> tuple[int, ...] | None:
        if Unit() in (self.index.nodes[u].space, self.index.nodes[v].space):
            return ()
        for i, (space, _) in enumerate(self.chains[u]):
            alike = [self.places[v][walked] for walked in (space, other_walk(space)) if walked in self.places[v]]
            if alike:
                below = [host for _, host in self.chains[u][:i] + self.chains[v][:min(alike)] if host is not None]
                return tuple(dict.fromkeys(below))
        above = self._over_segments_of(u, v)
        return self._over_segments_of(v, u) if above is None else above

    def _over_segments_of(self, u: int, v: int) -> tuple[int, ...] | None:
        """The hosts of v if u is a prologue or epilogue of the segments whose elements v walks; else None. These may be
        the elements of rows, which v does not walk, if all of them have one length: then it counts them."""
        a, root = self.index.nodes[u], self.chains[v][-1][0]
        rows = segments_of(a.space)
        if a.op in ON_SEGMENTS and (rows is None or (
                of_one_length(a.space) and of_one_length(root) and rows != space_size(root))):
            for i, (space, _) in enumerate(self.chains[v]):
                if space_size(a.space) == self.index.segments(space):
                    return tuple(host for _, host in self.chains[v][:i] if host is not None)
        return None

    def _needs_look_back(self, u: int) -> int:
        """The mask of nodes that depend on a value which u has only after the look-back."""
        index, node = self.index, self.index.nodes[u]
        if node.op in ("SCAN", "SEG_SCAN", "SEG_REDUCE"):
            return index.dependents[u]
        mask = 0
        if node.op in FILTERS:
            for v, other in enumerate(index.nodes):
                ranked = other.rank and isinstance(other.space, Survivors) and other.space.filter == node.name
                placed = node.op == "PARTITION" and any(use.name == node.results[-1] for use in other.uses)
                if ranked or placed:
                    mask |= index.dependents[v] | 1 << v
        return mask

    def _unlike(self, u: int, v: int) -> str | None:
        """The reason why no two nodes of these kinds may share a kernel."""
        a, b = self.index.nodes[u], self.index.nodes[v]
        if a.by or b.by:
            return mapping_reason(self.index, a, b)
        if HOST in (a.op, b.op):
            return "host"
        if ORDER in (a.op, b.op):
            return "library"
        if a.serial != b.serial and ONCE not in (a.op, b.op):
            return "one-thread"
        return "space" if self.hosts(u, v) is None else None

    def _pair(self, u: int, v: int, late: int) -> str | None:
        """The reason why u and v, which depends on u, may not share a kernel, as far as the two alone show it."""
        unlike = self._unlike(u, v)
        a, b = self.index.nodes[u], self.index.nodes[v]
        if a.by or b.by:
            return unlike
        if unlike == "one-thread" and b.serial and a.light:
            unlike = "space" if self.hosts(u, v) is None else None
        if unlike and unlike != "space":
            return unlike
        by_segments = False
        for use in b.uses:
            if self.index.maker.get(use.name) == u:
                if reason := use_reason(a, b, use.mode, use.name):
                    return reason
                by_segments |= use.mode == SEG
        if by_segments and self.index.segments(b.space) is None:
            return "gather"             # as many segments as elements are not walked as segments
        return unlike or self._path_reason(a, b, late >> v & 1)

    def _in_place(self, u: int, v: int) -> bool:
        """Does one of them write over what the other reads?"""
        a, b = self.index.nodes[u], self.index.nodes[v]
        return any([use.name in one.into for one, other in ((a, b), (b, a)) if one.into for use in other.uses])

    def _path_reason(self, a: Node, b: Node, late: int) -> str | None:
        """The reason why b, which depends on a, perhaps through other nodes, would come too early."""
        if a.op in WRITES or (a.op in ("REDUCE", ONCE) and b.op != ONCE):
            return "kernel-end"
        if a.op == "SEG_REDUCE" and b.op != ONCE and space_size(b.space) != self.index.segments(a.space):
            return "segment-end"
        return "two-look-backs" if late and b.op in LOOK_BACK else None


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers of a mask's bits, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


Walked = Space | tuple[bool, Size]


def places_of(chain: list[tuple[Space, int | None]]) -> dict[Walked, int]:
    """The first place in the chain of each space, and of each pair (is it segmented, its size)."""
    places: dict[Walked, int] = {}
    for place, (space, _) in enumerate(chain):
        places.setdefault(space, place)
        places.setdefault((segments_of(space) is not None, space_size(space)), place)
    return places


def other_walk(space: Space) -> Walked:
    """The key of the other spaces that one walk walks with this one: two spaces of one size, one of which is
    segmented, have the same indices."""
    return segments_of(space) is None, space_size(space)


def use_reason(producer: Node, consumer: Node, mode: str, name: str) -> str | None:
    """The reason why one kernel cannot meet this use; None if it can."""
    if consumer.op == ONCE:
        return None if mode == SCALAR else "once-reads-array"
    if mode in (GATHER, SIZE):
        return mode
    if mode == SCALAR:
        return "kernel-end"
    if mode == MEMBER:
        return "position" if consumer.place else None
    if producer.op in WRITES:
        return "scatter-order"
    if producer.op == "SEG_FILTER" and name == producer.results[-1]:
        return "kernel-end"
    return "segment-late" if mode == SEG and producer.op != "MAP" else None
