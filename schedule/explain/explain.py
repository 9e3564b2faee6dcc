"""Explains a schedule, as plain data: the costs of three schedules, and a verdict on each pair of nodes that share
data.

    explained = explain(graphs, profile)
    explained.regions[0].schedules["ilp"].cost      nanoseconds; so for "none" and "greedy"
    explained.regions[0].pairs                      the pairs, those with most bytes at stake first

Each region is scheduled three times: with every launch on its own, greedily, and by the integer program. The verdicts
on pairs are those of the integer program. The user's wishes (the graph's cuts and fused pairs) hold for the last two.
A pair that may share a kernel but does not has a price: the extra cost of the best schedule that joins the two. Each
price takes one more scheduling of the region, which is slow for a large one; so the pairs with most at stake get
prices, as far as PRICING_WORK reaches. It counts nodes, not seconds, so that a program is explained alike everywhere.
schedule.explain.text makes texts of explanations, schedule.explain.json makes JSON.
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
from nessie.schedule.explain.notes import Notes
from nessie.schedule.graph.nodes import HOST, Graph, Node
from nessie.schedule.legality.blocks import Refused
from nessie.schedule.legality.witness import refused_text, size_text, witness
from nessie.schedule.nodes import APART, NEVER
from nessie.schedule.schedule import as_known, pairs, solve_by, solve_once
from nessie.schedule.solver.exact import SolverLimits
from nessie.schedule.solver.solve import UNFUSED, Solution, solution, solve

SCHEDULES = ("none", "greedy", "ilp")
WISH = "wish"                   # the reason where other pairs are to be fused
PRICING_WORK = 60_000           # of all prices; one costs the square of its region's number of nodes
PRICING = SolverLimits(nodes=100, variables=1000, seconds=1.0)        # of one price


@dataclass(frozen=True)
class Moved:
    """An array's traffic: `read` counts its streams, `written` is 1 or 0. `size`: the number of elements, named as
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
    """One schedule of a region. `cost` in nanoseconds; `kernels` in order of execution, nodes by name, without the
    host's; `again`: the nodes that each kernel computes after another one has; `moved`: the arrays that go through
    memory; `status` as in a schedule, or `not fused`."""
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
    """A node; `place`: its place in the user's source."""
    name: str
    op: str
    place: Span | None


@dataclass(frozen=True)
class Price:
    """The extra cost of joining a pair over the best schedule, in nanoseconds and launches. `more`: the arrays that
    would move differently, each with its additional reads and writes. `kernels`, `bytes`, `status` and `moved` are of
    the schedule with the pair joined."""
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
    witness. `shared`: the names that both use; `bytes` at stake. `price`: None if they share a kernel, or may not,
    or if PRICING_WORK is used up by other pairs."""
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
    """`sizes`: the assumed sizes of arrays, by the names of `Moved.size`. `code`: the names that the kernels of the
    explanation's mode have in the code, if known."""
    function: str
    number: int
    nodes: tuple[Member, ...]
    sizes: tuple[tuple[str, float], ...]
    schedules: Mapping[str, Scheduled]
    pairs: tuple[PairExplained, ...]
    code: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """The explanation of a function. `mode`: the schedule whose kernels it runs; `once`: a call runs each region just
    once; `measured`: seconds in kernels per schedule, if it has been run; `notes`: what else there is to tell."""
    machine: str
    regions: tuple[RegionExplained, ...]
    function: str = ""
    mode: str = "ilp"
    once: bool = True
    measured: Mapping[str, float] = field(default_factory=dict)
    notes: Notes = Notes()


def explain(graphs: Sequence[Graph], profile: Profile, work: float = PRICING_WORK) -> Explanation:
    """Explain the regions' schedules. `work`: the limit of all prices' work, as PRICING_WORK."""
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
    """Return the region, explained without prices, and its Pairs, which make prices."""
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
        """The pairs, those with most bytes at stake first, equals in program order."""
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
        """The names that both use, or that the first makes and the second uses; only arrays, if there are any."""
        known = {*(use.name for use in first.uses), *first.results}
        names = tuple(dict.fromkeys(use.name for use in second.uses if use.name in known))
        return tuple(name for name in names if isinstance(self.index.types[name], ir.Array)) or names

    def priced(self, pair: PairExplained) -> PairExplained:
        """Return the pair with its price, or with the reason why no schedule joins the two."""
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
        """Could the two share a kernel without the other wishes?"""
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
