"""Random small graphs, as NESL programs make them, and profiles to schedule them for."""
from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

from nessie.lambda_cu import nodes as ir
from nessie.schedule.cost.profiles import CPU, H200, Profile
from nessie.schedule.graph import nodes as pdg
from nessie.schedule.graph.nodes import Elements, Flat, Graph, Node, Survivors, Unit, Use

PROFILES = (CPU, H200, Profile("bytes", 1.0, 1.0, 0.0, 0.0, operation=0.1), Profile("small", 20.0, 5e3, 5e3, 0.5))
TIGHT = tuple(replace(profile, arrays=3) for profile in PROFILES)
DESCRIPTORS = (Elements("d", "n", "t"), Elements("e", "n", "t"), Elements("u", "n", "n"))


class Growing:
    """A random graph that grows node by node, as NESL programs are made; `cheap`: so many MAPs may be computed again,
    and there are few spaces and many reductions, so that it matters."""

    def __init__(self, rng: random.Random, cheap: float) -> None:
        self.rng, self.cheap = rng, cheap
        self.sizes: dict[pdg.Size, float] = {"n": rng.choice([1e4, 1e6]), "m": 1e5, "t": 0.0}
        self.sizes["t"] = self.sizes["n"] * rng.choice([3, 10])
        self.types: dict[str, ir.Type] = {}
        self.nodes: list[Node] = []
        self.spaces: list[pdg.Space] = [Flat("n"), *rng.sample([Flat("m"), Flat("t"), *DESCRIPTORS], 2)]
        self.spaces = self.spaces[:rng.choice([1, 1, 2])] if cheap else self.spaces
        for space in self.spaces:
            self.types[f"in{len(self.types)}"] = ir.Array(rng.choice(["float", "bool"]), pdg.space_size(space))

    def arrays(self, size: pdg.Size | None) -> list[str]:
        return [name for name, type_ in self.types.items() if isinstance(type_, ir.Array) and type_.size == size]

    def scalars(self) -> list[str]:
        return [name for name, type_ in self.types.items() if type_ == "float"]

    def segments(self, space: pdg.Space) -> pdg.Size | None:
        return space.segments if isinstance(space, Elements | Survivors) else None

    def grow(self) -> None:
        rng, name = self.rng, f"v{len(self.nodes)}"
        space = rng.choice(self.spaces[-4:])
        segments = self.segments(space)
        ops = ["MAP"] * 6 + ["REDUCE", "SCAN", "FILTER", "PERMUTE", "PARTITION"]
        ops += ["REDUCE"] * 4 if self.cheap else []
        op = rng.choice(ops + ["SEG_REDUCE", "SEG_SCAN", "SEG_FILTER", "SEG_REDUCE"] * (segments is not None))
        if rng.random() < 0.08 and self.scalars():
            self.add(Node(name, "ONCE", Unit(), (Use("scalar", rng.choice(self.scalars())),), (name,)), {name: "float"})
            return
        uses = [Use("own", a) for a in self.sample(self.arrays(pdg.space_size(space)), 2)]
        if isinstance(space, Survivors):
            uses.append(Use("member", str(space.count)))
            uses += [Use("member", f"{space.filter}o")] if segments is not None else []
        elif isinstance(pdg.space_size(space), str) and pdg.space_size(space) in self.types:
            uses.append(Use("size", str(pdg.space_size(space))))
        if rng.random() < (0.6 if self.cheap else 0.25):
            uses += [Use("scalar", a) for a in self.sample(self.scalars(), 1)]
        if segments is not None and rng.random() < 0.5:
            uses += [Use("seg", a) for a in self.sample(self.arrays(segments), 1)]
        if rng.random() < 0.08:
            uses.append(Use("gather", rng.choice([a for a, t in self.types.items() if isinstance(t, ir.Array)])))
        inside = isinstance(space, Survivors)
        cheap = self.cheap and op == "MAP" and rng.random() < self.cheap and all(use.mode != "gather" for use in uses)
        node = Node(name, op, space, tuple(dict.fromkeys(uses)), (), inside and rng.random() < 0.2,
                    inside and segments is not None and rng.random() < 0.2,
                    work=(rng.randint(0, 8), rng.randint(0, 1)) if cheap else None)
        self.add(*self.with_results(node))

    def sample(self, names: list[str], most: int) -> list[str]:
        return self.rng.sample(names, min(len(names), self.rng.randint(1, most)))

    def with_results(self, node: Node) -> tuple[Node, dict[str, ir.Type]]:
        name, size, base = node.name, pdg.space_size(node.space), self.rng.choice(["float", "float", "bool"])
        segments = self.segments(node.space)
        made: dict[str, ir.Type]
        match node.op:
            case "REDUCE":
                made = {name: "float"}
            case "SEG_REDUCE":
                assert segments is not None
                made = {name: ir.Array(base, segments)}
            case "FILTER" | "SEG_FILTER":
                made = {f"{name}k": "int", name: ir.Array(base, f"{name}k")}
                if node.op == "SEG_FILTER":
                    assert segments is not None
                    made[f"{name}o"] = ir.Array("int", segments, 1)
            case "PARTITION":
                made = {f"{name}k": "int", f"{name}l": "int", name: ir.Array(base, f"{name}k"),
                        f"{name}f": ir.Array(base, f"{name}l"), f"{name}p": ir.Array("int", size)}
            case _:
                made = {name: ir.Array(base, size)}
        return replace(node, results=tuple(made)), made

    def add(self, node: Node, made: dict[str, ir.Type]) -> None:
        self.nodes.append(node)
        self.types.update(made)
        for count in (name for name, type_ in made.items() if type_ == "int"):
            self.sizes[count] = self.sizes.get(pdg.space_size(node.space), 1.0) * self.rng.choice([0.1, 0.5])
            self.spaces.append(Survivors(node.name, count))
            if node.op == "SEG_FILTER":
                self.spaces.append(Survivors(node.name, count, self.segments(node.space)))
            if self.rng.random() < 0.2:
                self.spaces.append(Elements(f"u{count}", "m", count))

    def graph(self) -> Graph:
        used = {use.name for node in self.nodes for use in node.uses}
        outputs = tuple(name for node in self.nodes for name in node.results
                        if (name not in used and name == node.name) or self.rng.random() < 0.1)
        ordered = [node.name for node in self.nodes if self.rng.random() < 0.2]
        return Graph("random", 0, tuple(self.sizes.items()),
                     tuple(ir.Param(name, type_) for name, type_ in self.types.items()), tuple(self.nodes),
                     tuple(zip(ordered, ordered[1:], strict=False)), outputs)


def random_graph(seed: int, most: int, cheap: float = 0.0) -> Graph:
    rng = random.Random(seed)
    growing = Growing(rng, cheap)
    for _ in range(rng.randint(most - 1 if cheap else 2, most)):
        growing.grow()
    return growing.graph()


def in_rows(graph: Graph, rng: random.Random) -> Graph:
    """The graph in which some bindings over the indices of descriptors' segments take these for elements of rows, and
    the segments of one descriptor have one length."""
    rows = [Elements(f"uniform({rows}, l)", rows, "n") for rows in ("m", "m", "m", "m", "t")]

    def changed(node: Node) -> Node:
        if node.space == DESCRIPTORS[0]:
            return replace(node, space=Elements("uniform(n, w)", "n", "t"))
        in_row = node.space == Flat("n") and node.op in ("MAP", "PERMUTE") and rng.random() < 0.7
        return replace(node, space=rng.choice(rows)) if in_row else node
    return replace(graph, nodes=tuple(map(changed, graph.nodes)))


def wishful(graph: Graph, rng: random.Random) -> Graph:
    """The graph with one to three wishes of random pairs."""
    names = [node.name for node in graph.nodes]
    pairs = [(first, second) for first, second in combinations(names, 2) if rng.random() < 0.3]
    wishes = rng.sample(pairs, min(len(pairs), rng.randint(1, 3)))
    split = rng.randint(0, len(wishes))
    return replace(graph, cuts=tuple(wishes[:split]), fused=tuple(wishes[split:]))
