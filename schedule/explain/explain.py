"""Why a schedule is as it is, as plain data: what three schedules cost, and per pair of nodes that share data what
became of it.

    explained = explain(graphs, profile)
    explained.regions[0].schedules["ilp"].cost      nanoseconds; so for "none" and "greedy"
    explained.regions[0].pairs                      the pairs, what is at stake most first

The same region is scheduled three times: every launch on its own; greedily; by the integer program. The verdicts on
pairs are those of the last. What the user wants (cuts and fused pairs of the graph) holds for the latter two.
A pair that may share a kernel and does not has a price: what the best schedule that joins the two costs more. Each
price is a region to be scheduled once more, which takes long where that is large: those with most at stake have one,
as far as PRICING_WORK reaches. It counts nodes, not seconds, so that a program is explained alike everywhere.
Texts are schedule.explain.text's, JSON is schedule.explain.json's.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import zip_longest

from nessie.base.records import dataclass
from nessie.base.source import Span, user_span
from nessie.lambda_cu import nodes as ir
from nessie.schedule.cost.cost import Cost
from nessie.schedule.cost.problem import Problem
from nessie.schedule.cost.profiles import Profile
from nessie.schedule.graph.nodes import HOST, Graph, Node
from nessie.schedule.legality.blocks import Refused
from nessie.schedule.legality.witness import refused_text, size_text, witness
from nessie.schedule.nodes import APART, NEVER
from nessie.schedule.schedule import as_known, pairs, solve_by, solve_once
from nessie.schedule.solver.exact import Limits
from nessie.schedule.solver.solve import UNFUSED, Solution, solution, solve

SCHEDULES = ("none", "greedy", "ilp")
WISH = "wish"                   # the reason: other pairs are to be fused
PRICING_WORK = 60_000           # of all prices, each the square of how many nodes its region has
PRICING = Limits(nodes=100, variables=1000, seconds=1.0)        # of one price


@dataclass(frozen=True)
class Moved:
    """What kernels do with an array: `read` streams so often, `written` once or not at all. `size` in elements, as
    users know it; `bytes` of one stream."""
    name: str
    size: str
    width: int
    bytes: float
    read: float
    written: int

    @property
    def times(self) -> float:
        return self.read + self.written


@dataclass(frozen=True)
class Scheduled:
    """One schedule of a region. `cost` in nanoseconds; `kernels` in order of execution, nodes by name, what only the
    host computes left out; `again`: what each computes that another has computed before; `moved`: the arrays that go
    through memory; `status` as in a schedule, or `not fused`."""
    kernels: tuple[tuple[str, ...], ...]
    again: tuple[tuple[str, ...], ...]
    cost: float
    bytes: float
    launches: int
    syncs: int
    status: str
    moved: tuple[Moved, ...]


@dataclass(frozen=True)
class Member:
    """A node; `place` where the user wrote it."""
    name: str
    op: str
    place: Span | None


@dataclass(frozen=True)
class Price:
    """What joining a pair would cost more than the best schedule, in nanoseconds and launches, and which arrays would
    be moved otherwise: name, more reads, more writes. The schedule with the pair joined: `kernels`, `bytes`, `status`,
    what it moves."""
    cost: float
    launches: int
    more: tuple[tuple[str, float, int], ...]
    kernels: tuple[tuple[str, ...], ...]
    bytes: float
    status: str
    moved: tuple[Moved, ...]


@dataclass(frozen=True)
class PairExplained:
    """`verdict` as in a schedule. `rule` by which the two do or could share a kernel, or `reason` why not, with its
    witness. `shared`: the names that both use; `bytes` at stake. `price`: None where they share a kernel, or may not,
    or where others come first (PRICING_WORK)."""
    first: str
    second: str
    verdict: str
    rule: str = ""
    reason: str = ""
    witness: str = ""
    shared: tuple[str, ...] = ()
    bytes: float = 0.0
    price: Price | None = None


@dataclass(frozen=True)
class RegionExplained:
    """`sizes`: what the size of each array was taken to be, by the names of `Moved.size`. `code`: what the kernels of
    the explanation's mode are called in the code, where that is known."""
    function: str
    number: int
    nodes: tuple[Member, ...]
    sizes: tuple[tuple[str, float], ...]
    schedules: Mapping[str, Scheduled]
    pairs: tuple[PairExplained, ...]
    code: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """Of a function, and `mode`, the schedule whose kernels it runs. `once`: a call runs each region just once.
    `measured`: seconds in kernels per schedule, where it has been run."""
    machine: str
    regions: tuple[RegionExplained, ...]
    function: str = ""
    mode: str = "ilp"
    once: bool = True
    measured: Mapping[str, float] = field(default_factory=dict)


def explain(graphs: Sequence[Graph], profile: Profile, work: float = PRICING_WORK) -> Explanation:
    """The regions' schedules, explained. `work`: what may go into prices."""
    explained = [(graph, *explain_region(graph, profile)) for graph in graphs]
    stakes = sorted((-pair.bytes, number, at) for number, (_, region, _) in enumerate(explained)
                    for at, pair in enumerate(region.pairs) if pair.verdict == APART)
    chosen: list[set[int]] = [set() for _ in explained]
    for _, number, at in stakes:
        price = len(explained[number][0].nodes) ** 2
        if price <= work:
            work -= price
            chosen[number].add(at)
    return Explanation(profile.name, tuple(
        replace(region, pairs=tuple(of.priced(pair) if at in chosen[number] else pair
                                    for at, pair in enumerate(region.pairs)))
        for number, (_, region, of) in enumerate(explained)), next((graph.name for graph in graphs), ""))


def explain_region(graph: Graph, profile: Profile) -> tuple[RegionExplained, Pairs]:
    """The region, no pair of which has a price yet, and what makes prices."""
    problem = Problem(graph, profile)
    found = {"none": solution(problem, problem.single(), UNFUSED), "greedy": solve_by(problem, "greedy"),
             "ilp": solve_once(problem, "ilp")}
    nodes = tuple(Member(node.name, node.op, user_span(node.origin)) for node in graph.nodes)
    of = Pairs(problem, found["ilp"])
    return RegionExplained(graph.name, graph.region, nodes, sizes_of(problem),
                           {mode: scheduled(problem, found[mode]) for mode in SCHEDULES}, tuple(of.unpriced())), of


def sizes_of(problem: Problem) -> tuple[tuple[str, float], ...]:
    index = problem.index
    arrays = [name for name in index.types if problem.traffic.bytes.get(name)]
    sizes = dict.fromkeys(index.types[name].size for name in arrays)        # type: ignore[union-attr]
    return tuple((size_text(index, size), index.elements(size)) for size in sizes if isinstance(size, str))


def scheduled(problem: Problem, found: Solution) -> Scheduled:
    index, cost = problem.index, problem.cost(found.clusters, found.again)
    launched = [number for number, members in enumerate(found.clusters) if index.nodes[members[0]].op != HOST]
    kernels, again = (tuple(tuple(index.nodes[k].name for k in sorted(nodes[number])) for number in launched)
                      for nodes in (found.clusters, found.again or [[]] * len(found.clusters)))
    return Scheduled(kernels, again, cost.total, cost.bytes, cost.launches, cost.syncs, found.status,
                     moved(problem, found))


def moved(problem: Problem, found: Solution) -> tuple[Moved, ...]:
    """The arrays that go through memory."""
    index, traffic = problem.index, problem.traffic
    written = traffic.written(found.clusters, found.again)
    read: dict[str, float] = {}
    for members, again in zip_longest(found.clusters, found.again, fillvalue=()):
        for name, times in traffic.sweeps([*members, *again], problem.profile.rescan, written.__contains__).items():
            read[name] = read.get(name, 0.0) + times
    result = []
    for name in index.types:
        if name in written or name in read:
            size, weight = index.types[name].size, traffic.bytes[name]      # type: ignore[union-attr]
            width = round(weight / index.elements(size)) if index.elements(size) else 0
            result.append(Moved(name, size_text(index, size), width, weight, read.get(name, 0.0), int(name in written)))
    return tuple(result)


class Pairs:
    """The pairs of a region that share data, in a schedule of it."""

    def __init__(self, problem: Problem, found: Solution) -> None:
        self.problem, self.found, self.index = problem, found, problem.index
        self.cost: Cost = problem.cost(found.clusters, found.again)
        self.moved = {array.name: array for array in moved(problem, found)}

    def unpriced(self) -> list[PairExplained]:
        """What is at stake most comes first, then in program order."""
        found = [self.explained(pair.first, pair.second, pair.verdict, pair.reason)
                 for pair in pairs(self.problem, self.found.clusters, self.found.again)]
        return sorted(found, key=lambda pair: -pair.bytes)

    def explained(self, first: str, second: str, verdict: str, reason: str) -> PairExplained:
        u, v = self.index.position[first], self.index.position[second]
        shared = self.shared(self.index.nodes[u], self.index.nodes[v])
        weight = sum(self.problem.traffic.bytes.get(name, 0.0) * (2 if self.index.maker.get(name) == u else 1)
                     for name in shared)
        if verdict == NEVER:
            shown = witness(self.problem.fusible, u, v)
            return PairExplained(first, second, verdict, "", reason, shown, shared, weight)
        return PairExplained(first, second, verdict, reason, shared=shared, bytes=weight)

    def shared(self, first: Node, second: Node) -> tuple[str, ...]:
        """What both use, or one makes and the other uses: arrays, if there are any."""
        known = {*(use.name for use in first.uses), *first.results}
        names = tuple(dict.fromkeys(use.name for use in second.uses if use.name in known))
        return tuple(name for name in names if isinstance(self.index.types[name], ir.Array)) or names

    def priced(self, pair: PairExplained) -> PairExplained:
        """The pair, with what the best schedule that joins the two costs more; or why there is none."""
        graph = self.index.graph
        joined = replace(graph, fused=(*graph.fused, (pair.first, pair.second)))
        try:
            problem = Problem(joined, self.problem.profile)
        except Refused as refused:
            u, v = self.index.position[pair.first], self.index.position[pair.second]
            reason, shown = refused_text(self.problem.fusible, u, v, refused)
            if graph.fused and self.free(pair):
                reason, shown = WISH, f"with what you want, {shown}"
            return replace(pair, verdict=NEVER, rule="", reason=reason, witness=shown)
        best = as_known(problem, solve(problem, limits=PRICING))
        return replace(pair, price=self.difference(problem, best))

    def free(self, pair: PairExplained) -> bool:
        """Could the two share a kernel if nothing else was to be fused?"""
        try:
            Problem(replace(self.index.graph, fused=((pair.first, pair.second),)), self.problem.profile)
        except Refused:
            return False
        return True

    def difference(self, problem: Problem, best: Solution) -> Price:
        joined = scheduled(problem, best)
        there = {array.name: array for array in joined.moved}
        more = []
        for name in self.index.types:
            before, after = self.moved.get(name), there.get(name)
            read = (after.read if after else 0.0) - (before.read if before else 0.0)
            written = (after.written if after else 0) - (before.written if before else 0)
            if read or written:
                more.append((name, read, written))
        return Price(joined.cost - self.cost.total, joined.launches - self.cost.launches, tuple(more), joined.kernels,
                     joined.bytes, joined.status, joined.moved)
