"""A linear program that no schedule beats: which pairs of nodes are apart, and what that costs at least.

The integer program (schedule.solver.ilp) says where each block runs, and its relaxation is weak: a block may run
everywhere a little. This one says of pairs only whether they are in two kernels, and knows by paths of such pairs what
else is:

    z[u,v] in [0,1]    u and v are apart: of nodes one of which streams what the other makes, or walks its survivors;
                       0 within a block (schedule.solver.contract), 1 if they may not be together
    minimise   launch * k  +  sum_a T(a) * (w[a] + n[a] + rescan * q[a])  +  sum_f sync * s[f]  +  what is always paid

    (1)  w[a] >= z[p,v]       a is written if a reader v is apart from p, which makes it
    (2)  n[a] >= z[p,v]       some kernel reads it then; 1 for p, if nobody makes it here
    (3)  c[f] >= w[a]         f's survivors are numbered if one of its arrays a is written
    (4)  s[f] >= z[f,v]       v walks f's survivors
    (5)  k >= the nodes of a clique of pairs that are not ok

and what schedule.solver.bound.separation finds broken by a solution. That hosts must be there too, which
schedule.solver.ilp says, has raised no bound. What may be computed again is only known to cost nothing.
Variables are numbered; `constant` is paid by every schedule.
"""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.schedule.cost.problem import Clusters, Problem
from nessie.schedule.graph.nodes import HOST
from nessie.schedule.legality.cliques import heaviest
from nessie.schedule.solver.bound.linear import Cut, Terms, Value, add

TRIES = 40                      # of a search for a clique: one only, of which much depends

Name = tuple[str, int | str, int]           # of a variable: its letter, and the node, or nodes, or array
NamedRow = tuple[float, dict[Name, float]]


@dataclass(frozen=True)
class Reading:
    """The variables for the number of kernels that read an array, and that read it twice (None: second sweeps are
    free)."""
    times: int
    twice: int | None
    maker: int | None
    readers: list[int]


class Relaxation:
    """`names` of the variables, their `weights` and greatest values `most`; `rows`: low <= terms. `pairs`: what is
    known of whether two nodes, the first first, are apart: 0, 1, or a variable as ~number."""

    def __init__(self, problem: Problem, blocks: Clusters) -> None:
        self.problem = problem
        self.weights: list[float] = []
        self.most: list[float] = []
        self.names: list[Name] = []
        self.rows: list[Cut] = []
        self.block_of = {k: b for b, block in enumerate(blocks) for k in block}
        self.pairs: dict[tuple[int, int], int] = {}
        self.readings: dict[str, Reading] = {}
        self.written: dict[str, int] = {}
        self.numbered = {f: self.variable("c", f, 0.0) for f, arrays in problem.traffic.carries.items() if arrays}
        traffic, profile = problem.traffic, problem.profile
        self.constant = profile.streaming(sum(traffic.bytes[name] for name in sorted(traffic.forced))) \
            + profile.sync * len(traffic.waited)
        for block in blocks:
            for u, v in zip(block, block[1:], strict=False):
                self.apart(u, v)
        self._launches()
        self._arrays()
        self._waits()
        self.joined: list[list[tuple[int, int]]] = [[] for _ in problem.index.nodes]
        for (u, v), pair in self.pairs.items():             # what may be together, and what says that it is not
            if pair != 1:
                self.joined[u].append((v, pair))
                self.joined[v].append((u, pair))

    def variable(self, letter: str, about: int | str, weight: float, most: float = 1.0, other: int = 0) -> int:
        self.names.append((letter, about, other))
        self.weights.append(weight)
        self.most.append(most)
        return len(self.weights) - 1

    def apart(self, u: int, v: int) -> int:
        """Are the nodes in two kernels?"""
        u, v = min(u, v), max(u, v)
        if (u, v) not in self.pairs:
            self.pairs[u, v] = 0 if self.block_of[u] == self.block_of[v] \
                else ~self.variable("z", u, 0.0, other=v) if self.problem.fusible.ok(u, v) else 1
        return self.pairs[u, v]

    def value(self, pair: int) -> Value:
        return Value(0.0, {~pair: 1.0}) if pair < 0 else Value(float(pair), {})

    def at_least(self, terms: Terms, pair: int) -> None:
        """A row: the terms are 1 where the nodes of the pair are apart."""
        if pair:
            value, rest = self.value(pair), dict(terms)
            add(rest, value.terms, -1.0)
            self.rows.append((value.constant, rest))

    def named(self, row: Cut) -> NamedRow:
        low, terms = row
        return low, {self.names[k]: weight for k, weight in terms.items()}

    # Rows ---------------------------------------------------------------------------------------

    def _launches(self) -> None:
        """(5)"""
        nodes = [k for k, node in enumerate(self.problem.index.nodes) if node.op != HOST]
        self.launches = self.variable("k", "", self.problem.profile.launch, float(len(nodes)))
        clique = heaviest(self.problem.fusible.bad, dict.fromkeys(nodes, 1.0), TRIES)
        self.rows.append((float(len(clique)), {self.launches: 1.0}))

    def _arrays(self) -> None:
        """(1), (2), (3)"""
        index, traffic, profile = self.problem.index, self.problem.traffic, self.problem.profile
        for name, users in index.readers.items():
            maker = index.maker.get(name)
            readers = [k for k in users if name in traffic.streamed[k]]
            if not traffic.bytes[name] or not readers or maker in self.problem.again:
                continue
            pairs = [1 if maker is None else self.apart(maker, k) for k in readers]
            readers = [k for k, pair in zip(readers, pairs, strict=True) if pair]
            time, most = profile.streaming(traffic.bytes[name]), float(len(readers))
            if maker is not None and name not in traffic.forced:
                self.written[name] = self.variable("w", name, time)
            twice = self.variable("q", name, time * profile.rescan, most) if profile.rescan else None
            self.readings[name] = Reading(self.variable("n", name, time, most), twice, maker, readers)
            for pair in pairs:
                self.at_least({self.readings[name].times: 1.0}, pair)
                if name in self.written:
                    self.at_least({self.written[name]: 1.0}, pair)
        for f, carry in self.numbered.items():
            for name in traffic.carries[f]:
                if name in self.written:
                    self.at_least({carry: 1.0}, ~self.written[name])

    def _waits(self) -> None:
        """(4)"""
        for f, waiting in self.problem.traffic.waiting.items():
            pairs = [self.apart(f, k) for k in sorted(waiting)]
            if self.problem.profile.sync and f not in self.problem.traffic.waited:
                waits = self.variable("s", f, self.problem.profile.sync)
                for pair in pairs:
                    self.at_least({waits: 1.0}, pair)
