"""A drawing of a dependence graph and its schedule, as plain data: boxes, lines and their texts, all in place."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from nessie.base.records import dataclass
from nessie.schedule.draw.boxes import Area, Points
from nessie.schedule.graph.nodes import HOST, Graph, Index, Node, Unit, space_size
from nessie.schedule.nodes import RegionSchedule

LETTER, SHOWN = 7.0, 22                 # a letter's approximate width; the letters shown of a name
ORDER = "order"
COLOURS = ("#9ecae1", "#fdd0a2", "#a1d99b", "#dadaeb", "#fbb4b9", "#d9d9d9", "#c7e9b4", "#fee391")     # of kernels
UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True)
class DrawnKernel:
    """`launch` counts the kernels from 1; None for a step of the host."""
    launch: int | None
    nodes: tuple[str, ...]
    area: Area

    @property
    def title(self) -> str:
        return title(self.launch)


@dataclass(frozen=True)
class DrawnNode:
    """`kernel`: its kernel's place among the kernels; `copy`: another kernel computes the node too, and writes it;
    `by`: the mapping that walks it."""
    name: str
    kernel: int
    copy: bool
    lines: tuple[str, ...]
    area: Area
    by: str = ""


@dataclass(frozen=True)
class DrawnArray:
    """An array that a kernel leaves in memory, drawn with a stem from the node that makes it, `node`, by its place
    among the nodes; or an array that the region finds there, without a node. `output`: a result of the region."""
    name: str
    node: int | None
    text: str
    output: bool
    area: Area
    stem: Points = ()


@dataclass(frozen=True)
class Line:
    """A line from a node, or an array in memory, to a node, both by their places among the nodes, with the names that
    it carries and their modes of use. An order carries no name. `memory`: it comes from outside the kernel."""
    source: int | None
    target: int
    names: tuple[str, ...]
    modes: tuple[str, ...]
    memory: bool
    points: Points


@dataclass(frozen=True)
class Drawing:
    title: str
    kernels: tuple[DrawnKernel, ...]
    nodes: tuple[DrawnNode, ...]
    arrays: tuple[DrawnArray, ...]
    lines: tuple[Line, ...]
    width: float
    height: float


# Texts ----------------------------------------------------------------------------------------------


def region_title(graph: Graph, region: RegionSchedule) -> str:
    count = sum(launch is not None for launch in launches(graph, region.clusters))
    return f"{graph.name}, region {graph.region}: {count} kernel{'s' * (count != 1)}, " \
           f"{amount(region.bytes) or 'no bytes'}, {region.status}"


def launches(graph: Graph, clusters: Iterable[Sequence[str]]) -> list[int | None]:
    """The kernels' numbers, from 1; None for steps of the host."""
    hosts = {node.name for node in graph.nodes if node.op == HOST}
    numbers: list[int | None] = []
    for cluster in clusters:
        count = sum(number is not None for number in numbers)
        numbers.append(None if hosts.intersection(cluster) else count + 1)
    return numbers


def title(launch: int | None) -> str:
    return "host" if launch is None else f"kernel {launch}"


def amount(count: float) -> str:
    """Write a number of bytes for people; the empty text for 0."""
    size = next(((scale, unit) for scale, unit in UNITS if count >= scale), (1.0, "B"))
    return f"{count / size[0]:.4g} {size[1]}" if count else ""


def cut(text: str) -> str:
    """Shorten a long text to its beginning and its end, where names differ."""
    half = SHOWN // 2
    return text if len(text) <= SHOWN else f"{text[:half]}\N{HORIZONTAL ELLIPSIS}{text[1 - half:]}"


def node_lines(node: Node) -> tuple[str, str]:
    """The two lines in the node's box: its name; its operation and the number of its indices."""
    return cut(node.name), node.op if isinstance(node.space, Unit) else cut(f"{node.op} {space_size(node.space)}")


def array_text(name: str, index: Index) -> str:
    return f"{cut(name)} {amount(index.bytes(name))}".rstrip()


def width_of(*lines: str) -> float:
    return max(map(len, lines)) * LETTER + 14
