"""The integer program of a schedule: representatives. Formulas only; schedule.solver.exact solves them.

Blocks v (after contraction), in a fixed order, scalar ones last. A kernel is named by its first block r. Nodes p that
may be computed again come after them, each like a block of its own: a copy.

    y[v,r] in {0,1}     v runs in the kernel named r       for r <= v, ok(r,v), hosts(r,v) possible in r
    y[p,r] in {0,1}     p is computed there again          the same, where a reader of p may run
    minimise   sum_r launch * y[r,r]  +  sum_a,r T(a) * n[a,r]  +  sum_a T(a) * w[a]  +  sum_f sync * s[f]
               + sum_a,r rescan * T(a) * q[a,r]  +  sum_p,r F(p) * y[p,r]  +  what is written in every schedule
    where T(a) is the time to stream array a once, F(p) that of p's arithmetic; ok(p,v) asks nothing of paths.

    (1)  sum_r y[v,r] = 1                        every block runs once; a copy, wherever it likes
    (2)  sum_{v in Q} y[v,r] <= y[r,r]           Q covers, by cliques, the pairs that are not ok; {v} for all others
    (3)  y[v,r] <= y[h,r]                        h in hosts(r,v); a copy is where a reader is, whose hosts are its own
    (4)  y[u,r] + y[v,r] <= y[r,r] + y[h,r]      h in hosts(u,v) that (3) does not ask for: r may walk the segments,
                                                 and so say nothing about its members' hosts
    (5)  sum_a h[a,r] <= most * y[r,r]           so many arrays a kernel may have in memory (cost.kernel_arrays)
         h[a,r] >= y[k,r] - sum_p y[p,r]         k uses a; the block and the copy p make it
         h[a,r] >= y[m,r] - y[k,r]               the block m makes a, k uses it; no y[k,r], if it is an output
    (6)  d[a,k,r] >= y[k,r] - sum_p y[p,r]       k streams a; the block and the copy p make it (none, for inputs)
         n[a,r] >= d[a,k,r]                      a launch reads a once
         w[a]   >= sum_r d[a,k,r]                written once, if any k is elsewhere; d[a,k,r] for all r, if k is a copy
    (7)  s[f]   >= sum_r (y[v,r] - y[f,r])+      some v on f's survivors is not in f's kernel; likewise for copies
    (8)  q[a,r] >= d[a,k,r] + (y[c,r] - 1) + (c[f] - 1)      what k streams goes into the carry of c in its kernel,
                                                 which so sweeps a twice; no (y - 1) if c = k, no (c - 1) if always
         c[f]   >= w[a]                          f's survivors are numbered if one of its arrays a is written
    (9)  no cycle of kernels that wait for each other: schedule.solver.cycle_cuts, as they are found in solutions
    (10) what schedule.solver.bound.separation has found of launches and of sums of d, n, w, q, c; implied, but by
         whole numbers only

Only y is integral: with y fixed, all others take their least (joined: greatest) value by themselves. Paths and (9) ask
where blocks run and not where copies do: a copy has a reader in its kernel, which comes after the block then. So a
schedule calls the first of the kernels that compute a node the node's own.
"""
from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from nessie.schedule.cost.problem import Candidate, Clusters, Problem
from nessie.schedule.graph.nodes import HOST, Survivors, Unit
from nessie.schedule.legality.cliques import cover
from nessie.schedule.legality.fusible import bits
from nessie.schedule.solver.bound.linear import add
from nessie.schedule.solver.bound.relaxation import Name, NamedRow
from nessie.schedule.solver.copies import wanted
from nessie.schedule.solver.model import Model, Terms


class Formulation:
    """The model of a problem over blocks. `parts` are the blocks, and from `copies` on the nodes that may be computed
    again."""

    def __init__(self, problem: Problem, blocks: Clusters) -> None:
        self.problem, self.index = problem, problem.index
        nodes = problem.index.nodes
        self.blocks = sorted(blocks, key=lambda block: (all(nodes[k].space == Unit() for k in block), block))
        self.block_of = {k: b for b, block in enumerate(self.blocks) for k in block}
        self.copy_of = {k: len(self.blocks) + number for number, k in enumerate(sorted(problem.again))}
        self.parts = [*self.blocks, *([k] for k in self.copy_of)]
        self.copies = range(len(self.blocks), len(self.parts))
        self.bad = [self._bad(b) for b in range(len(self.blocks))]
        self._copies_bad()
        self._hosts: dict[tuple[int, int], frozenset[int]] = {}
        self.among = {b for b, block in enumerate(self.blocks)          # the blocks that may need hosts
                      if any(isinstance(nodes[k].space, Survivors) for k in block)}
        self.model = Model()
        self.kernels: list[list[int]] = [[] for _ in self.parts]         # per part, the r it may run in
        self.members: list[list[int]] = [[] for _ in self.blocks]        # per r, the parts that may run there
        self.named: dict[Name, list[str]] = {("k", "", 0): [
            y(r, r) for r, block in enumerate(self.blocks) if nodes[block[0]].op != HOST]}
        self._candidates()
        self._candidates_again()
        self._legality()
        self._traffic()
        self._synchronisations()

    # Legality -----------------------------------------------------------------------------------

    def _bad(self, b: int) -> int:
        """The mask of blocks that may not be with block b."""
        mask = 0
        for k in self.blocks[b]:
            mask |= self.problem.fusible.bad[k]
        return self._blocks_of(mask) & ~(1 << b)

    def _blocks_of(self, mask: int) -> int:
        """The mask of the blocks that have one of these nodes."""
        found = 0
        for k in bits(mask):
            found |= 1 << self.block_of[k]
        return found

    def _copies_bad(self) -> None:
        """The parts, as masks, that may not be with copies: their own blocks are not, which have them anyway."""
        for k, p in self.copy_of.items():
            direct = self.problem.fusible.direct[k]
            mask = self._blocks_of(direct | 1 << k) | sum(1 << q for j, q in self.copy_of.items() if direct >> j & 1)
            self.bad.append(mask)
            for b in range(len(self.blocks)):
                self.bad[b] |= (mask >> b & 1) << p

    def hosts(self, u: int, v: int) -> frozenset[int]:
        """The other blocks that must be where blocks u and v are."""
        u, v = min(u, v), max(u, v)
        if (u, v) not in self._hosts:
            self._hosts[u, v] = frozenset(
                self.block_of[h] for x in self.blocks[u] for y in self.blocks[v]
                for h in self.problem.fusible.hosts(x, y) or ()) - {u, v}
        return self._hosts[u, v]

    def _candidates(self) -> None:
        """The kernels that each block may run in, with their y."""
        for r in range(len(self.blocks)):
            for v in range(r, len(self.blocks)):
                if v == r or (not self.bad[r] >> v & 1
                              and all(h > r and not self.bad[r] >> h & 1 for h in self.hosts(r, v))):
                    self.kernels[v].append(r)
                    self.members[r].append(v)
                    self.model.binary.append(y(v, r))

    def _candidates_again(self) -> None:
        """The kernels that each copy may be in, the last copies first: copies read what others make."""
        for p in reversed(self.copies):
            made = self.index.nodes[self.parts[p][0]].results
            readers = {part for name in made for part in self._streaming(name)} - {self.block_of[self.parts[p][0]]}
            for r, members in enumerate(self.members):
                if not self.bad[p] >> r & 1 and not readers.isdisjoint(members):
                    self.kernels[p].append(r)
                    members.append(p)
                    self.model.binary.append(y(p, r))

    def _streaming(self, name: str) -> list[int]:
        """The parts that stream the array."""
        nodes = [k for k in self.index.readers.get(name, ()) if name in self.problem.traffic.streamed[k]]
        return sorted({part for k in nodes for part in (self.block_of[k], self.copy_of.get(k)) if part is not None})

    def _makers(self, name: str) -> list[int]:
        """The block that makes the array, and the copy, if there is one."""
        node = self.index.maker.get(name)
        if node is None:
            return []
        return [self.block_of[node], *([self.copy_of[node]] if node in self.copy_of else [])]

    def may(self, v: int, r: int) -> bool:
        return r in self.kernels[v]

    def _legality(self) -> None:
        """(1), (2) and (3) for all kernels; (4) and (5) by name."""
        model = self.model
        for v in range(len(self.blocks)):
            model.add(1, low=1, high=1, **{y(v, r): 1 for r in self.kernels[v]})
        for r, members in enumerate(self.members):
            others = [v for v in members if v != r]
            covered: set[int] = set()
            for clique in cover(self.bad, others):
                covered.update(clique)
                model.add(2, high=0, **{y(r, r): -1}, **{y(v, r): 1 for v in clique})
            for v in others:
                if v not in covered:
                    model.add(2, high=0, **{y(v, r): 1, y(r, r): -1})
            own = [v for v in others if v not in self.copies]
            for v in own:
                for h in sorted(self.hosts(r, v)):
                    self._at_most(y(v, r), h, r)
            self._hosts_of_members(r, own)
            self._array_limit(r)

    def _at_most(self, variable: str, h: int, r: int) -> None:
        """The variable is 0 unless block h is in kernel r."""
        self.model.add(3, high=0, **{variable: 1}, **({y(h, r): -1} if self.may(h, r) else {}))

    def _hosts_of_members(self, r: int, others: list[int]) -> None:
        """(4)"""
        for u, v in combinations(others, 2):
            if (u in self.among or v in self.among) and not self.bad[u] >> v & 1:
                for h in sorted(self.hosts(u, v) - self.hosts(r, u) - self.hosts(r, v) - {r}):
                    host = {y(h, r): -1.0} if self.may(h, r) else {}
                    self.model.add(4, high=0, **{y(u, r): 1, y(v, r): 1, y(r, r): -1}, **host)

    def _array_limit(self, r: int) -> None:
        """(5), where it says anything."""
        room, members = self.problem.room, self.members[r]
        names = sorted(set[str]().union(*(room.of[k] for v in members for k in self.parts[v])))
        if len(names) <= room.most:
            return
        total: Terms = {y(r, r): -room.most}
        for a, name in enumerate(names):
            array, makers = room.arrays[name], self._makers(name)
            held = self.variable(f"h_{a}_{r}")
            total[held] = 1
            for k in members:
                if k not in makers and any(array.users >> node & 1 for node in self.parts[k]):
                    here = {y(maker, r): 1.0 for maker in makers if maker in members}
                    self.model.add(5, low=0, **{held: 1, y(k, r): -1}, **here)
            if makers and makers[0] in members:
                made = {held: 1.0, y(makers[0], r): -1.0}
                users = self._blocks_of(array.users) & ~(1 << makers[0])
                for k in range(len(self.blocks)):
                    if users >> k & 1:
                        self.model.add(5, low=0, **made, **({y(k, r): 1.0} if k in members else {}))
                if array.output:
                    self.model.add(5, low=0, **made)
        self.model.add(5, high=0, **total)

    # Cost ---------------------------------------------------------------------------------------

    def variable(self, name: str, weight: float = 0.0) -> str:
        self.model.real.append(name)
        if weight:
            self.model.objective[name] = weight
        return name

    def _traffic(self) -> None:
        """The costs of launches and of arrays: (6), (8)."""
        traffic, profile = self.problem.traffic, self.problem.profile
        host = {b for b, block in enumerate(self.blocks) if self.index.nodes[block[0]].op == HOST}
        self.model.objective.update({y(r, r): profile.launch for r in range(len(self.blocks)) if r not in host})
        self.model.constant += profile.streaming(sum(traffic.bytes[name] for name in sorted(traffic.forced)))
        self.model.constant += profile.sync * len(traffic.waited)
        self.model.objective.update({y(p, r): self.problem.again[k] for k, p in self.copy_of.items()
                                     for r in self.kernels[p]})
        carries = self._carries() if profile.rescan else {}
        for name in self.index.readers:
            if traffic.bytes[name]:
                self._array(name, carries)

    def time(self, name: str) -> float:
        """The time of streaming the array once."""
        return self.problem.profile.streaming(self.problem.traffic.bytes[name])

    def _carries(self) -> dict[int, str]:
        """Per filter the variable that says that its survivors are numbered; none where they are always."""
        carries = {f: self.variable(f"c_{f}") for f, arrays in self.problem.traffic.carries.items() if arrays}
        self.named.update({("c", f, 0): [name] for f, name in carries.items()})
        return carries

    def _array(self, name: str, carries: dict[int, str]) -> None:
        """(6) and (8) for one array. Variables are numbered by the array's place among those that are read."""
        traffic, model = self.problem.traffic, self.model
        a = len(model.real)
        makers = self._makers(name)
        readers = [part for part in self._streaming(name) if part not in makers]
        written = None
        if makers and name not in traffic.forced and readers:
            written = self.variable(f"w_{a}", self.time(name))
            for f, carry in carries.items():
                if name in traffic.carries[f]:
                    model.add(8, low=0, **{carry: 1, written: -1})
        read: dict[int, str] = {}
        cuts: dict[tuple[int, int], str] = {}
        for k in readers:
            for r in self.kernels[k]:
                if r not in read:
                    read[r] = self.variable(f"n_{a}_{r}", self.time(name))
                here = [y(maker, r) for maker in makers if self.may(maker, r)]
                if here:
                    cut = self.variable(f"d_{a}_{k}_{r}")
                    model.add(6, low=0, **{cut: 1, y(k, r): -1}, **dict.fromkeys(here, 1.0))
                else:
                    cut = y(k, r)
                model.add(6, low=0, **{read[r]: 1, cut: -1})
                cuts[k, r] = cut
            if written is not None:
                for group in self._alternatives(k):
                    model.add(6, low=0, **{written: 1}, **{cuts[k, r]: -1.0 for r in group})
        self.named["n", name, 0] = list(read.values())
        self.named["w", name, 0] = [] if written is None else [written]
        if len(makers) == 1:
            for number in self.index.readers[name]:
                if (k := self.block_of[number]) in readers:
                    maker, reader = sorted((self.index.maker[name], number))
                    self.named.setdefault(("z", maker, reader), [cuts[k, r] for r in self.kernels[k]])
        if self.problem.profile.rescan:
            self._second_sweeps(name, a, cuts, carries)

    def _alternatives(self, part: int) -> list[list[int]]:
        """The kernels that the part may be in, those together of which it can be in one only."""
        return [[r] for r in self.kernels[part]] if part in self.copies else [self.kernels[part]]

    def _second_sweeps(self, name: str, a: int, cuts: dict[tuple[int, int], str], carries: dict[int, str]) -> None:
        """(8): the kernels that go through the array again, because of what their members do with it."""
        again: dict[int, str] = {}
        for k, r in cuts:
            for c in self._carried(k, name):
                if self.may(self.block_of[c], r):
                    if r not in again:
                        weight = self.problem.profile.rescan * self.time(name)
                        again[r] = self.variable(f"q_{a}_{r}", weight)
                    others = {y(self.block_of[c], r)} - {y(k, r)} | ({carries[c]} if c in carries else set())
                    self.model.add(8, low=-len(others), **{again[r]: 1, cuts[k, r]: -1}, **dict.fromkeys(others, -1.0))

        self.named["q", name, 0] = list(again.values())

    def _carried(self, b: int, name: str) -> list[int]:
        """The nodes into whose carries may go what the part streams of an array."""
        traffic, mask = self.problem.traffic, 0
        for k in self.parts[b]:
            mask |= traffic.carried[k] if name in traffic.streamed[k] else 0
        return [c for c in traffic.carries if mask >> c & 1]

    def _synchronisations(self) -> None:
        """(7)"""
        sync = self.problem.profile.sync
        for number, waiting in sorted(self.problem.traffic.waiting.items()):
            f = self.block_of[number]
            blocks = sorted({self.block_of[k] for k in waiting} - {f})
            if not sync or not blocks or number in self.problem.traffic.waited:
                continue
            waits = self.variable(f"s_{number}", sync)
            for v in (*blocks, *(self.copy_of[k] for k in sorted(waiting) if k in self.copy_of)):
                for group in self._alternatives(v):
                    terms: Terms = {}
                    for r in group:
                        if self.may(f, r):
                            apart = self.variable(f"e_{number}_{v}_{r}")
                            self.model.add(7, low=0, **{apart: 1, y(v, r): -1, y(f, r): 1})
                            terms[apart] = -1
                        else:
                            terms[y(v, r)] = -1
                    self.model.add(7, low=0, **{waits: 1}, **terms)

    def strengthen(self, rows: Iterable[NamedRow]) -> None:
        """(10), as far as there are variables for it."""
        for low, named in rows:
            terms: Terms = {}
            if all(name in self.named for name in named):
                for name, weight in named.items():
                    add(terms, dict.fromkeys(self.named[name], weight))
                self.model.add(10, low=low, **terms)

    # Solutions ----------------------------------------------------------------------------------

    def encode(self, plan: Candidate) -> dict[str, float]:
        """The values of y for this plan; nothing, if its clusters are not unions of blocks."""
        home = {k: number for number, members in enumerate(plan.clusters) for k in members}
        first: dict[int, int] = {}
        values = dict.fromkeys(self.model.binary, 0.0)
        for v, block in enumerate(self.blocks):
            r = first.setdefault(home[block[0]], v)
            if len({home[k] for k in block}) > 1 or not self.may(v, r):
                return {}
            values[y(v, r)] = 1.0
        for number, copies in enumerate(plan.again):
            values.update({y(self.copy_of[k], first[number]): 1.0 for k in copies
                           if k in self.copy_of and self.may(self.copy_of[k], first[number])})
        return values

    def decode(self, values: dict[str, float]) -> Candidate:
        """The plan that a solution names."""
        clusters: dict[int, list[int]] = {}
        for v, block in enumerate(self.blocks):
            r = max(self.kernels[v], key=lambda r: values.get(y(v, r), 0.0))
            clusters.setdefault(r, []).extend(block)
        again = {r: [k for k, p in self.copy_of.items() if values.get(y(p, r), 0.0) > 0.5] for r in clusters}
        kernels = sorted((sorted(members), wanted(self.problem, members, again[r])) for r, members in clusters.items())
        return Candidate([members for members, _ in kernels], [copies for _, copies in kernels])


def y(v: int, r: int) -> str:
    return f"y_{v}_{r}"
