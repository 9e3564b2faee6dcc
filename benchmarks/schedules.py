"""How long a region takes to schedule, and how good the schedule is, by the number and the shape of its nodes.

    python benchmarks/schedules.py [SHAPE...] [--nodes N...] [--target cpu | h200] [--patience SECONDS]
                                   [--without PART]

A line has the seconds that a region takes, by the clock and of the processor, of several of one shape the most; what
the schedule costs beside the greedy one, and beside the better of it and the one that is found in so much time; and
what is known of it: `optimal`, or how far from the best it is at most. `--without` leaves out a part of the solver, so
that one sees what it gains.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import perf_counter, process_time

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from nessie.lambda_cu import nodes as ir  # noqa: E402
from nessie.schedule.check import check_graph  # noqa: E402
from nessie.schedule.cost import profiles  # noqa: E402
from nessie.schedule.cost.problem import Problem  # noqa: E402
from nessie.schedule.graph.nodes import GATHER, OWN, SCALAR, Flat, Graph, Node, Space, Survivors, Use, space_size  # noqa: E402
from nessie.schedule.solver import improve as attempts  # noqa: E402
from nessie.schedule.solver import solve as solver  # noqa: E402
from nessie.schedule.solver.bound.bound import Bound  # noqa: E402
from nessie.schedule.solver.exact import SolverLimits  # noqa: E402
from nessie.schedule.solver.greedy import greedy  # noqa: E402
from nessie.schedule.solver.solve import OPTIMAL  # noqa: E402

NODES = (10, 30, 80, 200, 500, 1000)
SEEDS = 3
MILLION = 1e6
FLAT = Flat("n")


class Writer:
    """Writes a graph over arrays of n, node by node."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.nodes = rng, list[Node]()
        self.sizes = {"n": MILLION}
        self.types: dict[str, ir.Type] = {"x": ir.Array("float", "n"), "y": ir.Array("float", "n")}

    def add(self, op: str, *uses: tuple[str, str], space: Space = FLAT) -> str:
        """A node; the name of the array or scalar that it makes."""
        name, size = f"v{len(self.nodes)}", space_size(space)
        made: dict[str, ir.Type] = {name: "float" if op == "REDUCE" else ir.Array("float", size)}
        if op == "FILTER":
            self.sizes[f"{name}k"] = self.sizes[str(size)] / 2
            made = {f"{name}k": "int", name: ir.Array("float", f"{name}k")}
        self.types.update(made)
        self.nodes.append(Node(name, op, space, tuple(Use(mode, used) for mode, used in uses), tuple(made)))
        return name

    def graph(self) -> Graph:
        used = {use.name for node in self.nodes for use in node.uses}
        outputs = tuple(node.name for node in self.nodes if node.name not in used)
        found = Graph("region", 0, tuple(self.sizes.items()), tuple(ir.Param(*item) for item in self.types.items()),
                      tuple(self.nodes), (), outputs)
        check_graph(found)
        return found


def chain(to: Writer, n: int) -> None:
    """Maps, and every fifth node a sum that the next uses."""
    last, total = "x", ""
    for k in range(n):
        if k % 5 == 4:
            total = to.add("REDUCE", (OWN, last))
        else:
            last = to.add("MAP", (OWN, last), *([(SCALAR, total)] if total and k % 5 == 0 else []))


def diamond(to: Writer, n: int) -> None:
    """An array is normalised again and again: two sums of it, and a map that uses them."""
    last = "x"
    for _ in range(0, n, 4):
        top = to.add("MAP", (OWN, last))
        one, other = to.add("REDUCE", (OWN, top)), to.add("REDUCE", (OWN, last))
        last = to.add("MAP", (OWN, top), (SCALAR, one), (SCALAR, other))


def tree(to: Writer, n: int) -> None:
    """Pairs of arrays become one, until there is one; one in four by a scan."""
    level = [to.add("MAP", (OWN, to.rng.choice("xy"))) for _ in range((n + 1) // 2)]
    while len(level) > 1:
        a, b = level.pop(0), level.pop(0)
        level.append(to.add(to.rng.choice(["MAP", "MAP", "MAP", "SCAN"]), (OWN, a), (OWN, b)))


def grid(to: Writer, n: int) -> None:
    """Each reads its neighbours to the left and above; scans on every third diagonal."""
    width = max(2, int(n ** 0.5))
    made: dict[tuple[int, int], str] = {}
    for k in range(n):
        at = divmod(k, width)
        before = [made[key] for key in ((at[0] - 1, at[1]), (at[0], at[1] - 1)) if key in made] or ["x"]
        made[at] = to.add("SCAN" if sum(at) % 3 == 2 else "MAP", *((OWN, name) for name in before))


def mixed(to: Writer, n: int) -> None:
    """Of all kinds, on what a few of the last ones have made."""
    for _ in range(n):
        reach = max(12, n // 6)
        arrays = [name for name, type_ in to.types.items() if isinstance(type_, ir.Array)][-reach:]
        sums = [name for name, type_ in to.types.items() if type_ == "float"][-reach:]
        first = to.rng.choice(arrays)
        size = to.types[first].size                                     # type: ignore[union-attr]
        space = Survivors(str(size)[:-1], size) if str(size).endswith("k") else Flat(size)
        alike = [name for name in arrays if to.types[name] == to.types[first] and name != first]
        uses = [(OWN, first), *((OWN, name) for name in alike[:to.rng.randint(0, 1)])]
        if sums and to.rng.random() < 0.2:
            uses.append((SCALAR, to.rng.choice(sums)))
        elif to.rng.random() < 0.15:
            uses.append((GATHER, to.rng.choice([name for name in arrays if name not in (first, *alike[:1])] or ["x"])))
        uses = list({name: (mode, name) for mode, name in uses}.values())
        to.add(to.rng.choice(["MAP"] * 6 + ["SCAN", "REDUCE", "FILTER", "FILTER"]), *uses, space=space)


def spaces(to: Writer, n: int) -> None:
    """The same, over arrays of several lengths."""
    for k in range(n // 40):
        to.sizes[f"n{k}"] = to.rng.choice([1e4, 1e5, 1e6])
        to.types[f"x{k}"] = ir.Array("float", f"n{k}")
    mixed(to, n)


SHAPES: dict[str, Callable[[Writer, int], None]] = {
    "chain": chain, "diamond": diamond, "tree": tree, "grid": grid, "mixed": mixed, "spaces": spaces}


def measured(shape: str, nodes: int, profile: profiles.Profile, patience: float) -> str:
    took, busy, beside, lost, status = 0.0, 0.0, 0.0, 1.0, "optimal"
    for seed in range(SEEDS if shape in ("tree", "mixed", "spaces") else 1):
        writer = Writer(Random(seed))
        SHAPES[shape](writer, nodes)
        graph = writer.graph()
        began, worked = perf_counter(), process_time()
        problem = Problem(graph, profile)
        found = solver.solve(problem)
        took, busy = max(took, perf_counter() - began), max(busy, process_time() - worked)
        beside = max(beside, found.cost / problem.cost(greedy(problem)).total)
        if patience and found.status != OPTIMAL:
            lost = max(lost, found.cost / solver.solve(problem, limits=SolverLimits(seconds=patience)).cost)
        status = max(status, found.status, key=gap)
    patient = f" {lost * 100:7.1f} %" if patience else ""
    return f"{shape:8} {nodes:5} {took:8.2f} s {busy:8.2f} s {beside * 100:7.1f} %{patient}  {status}"


# The parts of the solver that larger regions reach, each with what takes its place.
PARTS: dict[str, tuple[object, str, Callable[..., object]]] = {
    "bound": (solver, "bound_of", lambda problem, blocks: None),
    "separation": (Bound, "_cut", lambda bound, deadline: 0),
    "programs": (attempts, "solve_programs", lambda *task: None),
    "refine": (attempts, "refined", lambda *task: None),
}


def gap(status: str) -> float:
    """How far a schedule may be from the best, in percent."""
    return 0.0 if status == "optimal" else float(status.split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=", ".join(SHAPES))
    parser.add_argument("--nodes", type=int, nargs="+", default=NODES)
    parser.add_argument("--target", choices=("cpu", "h200"), default="cpu")
    parser.add_argument("--patience", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--without", choices=PARTS)
    options = parser.parse_args()
    if options.without:
        setattr(*PARTS[options.without])
    solver.solve(Problem(small(), profiles.named(options.target)))         # imports what the first one would
    patient = "  patient" if options.patience else ""
    print(f"{'shape':8} {'nodes':>5} {'most':>10} {'processor':>10} {'of greedy':>9}{patient}")
    for shape in options.shapes or SHAPES:
        for nodes in options.nodes:
            print(measured(shape, nodes, profiles.named(options.target), options.patience), flush=True)


def small() -> Graph:
    writer = Writer(Random(0))
    mixed(writer, 40)
    return writer.graph()


if __name__ == "__main__":
    main()
