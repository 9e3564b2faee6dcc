"""The program-dependence graph of one control region, as plain data, and its index.

A node is one array combinator (later one binding of a kernel), or a statement that the host computes. An edge is a
name that one node makes and another uses, with the mode of the use:

    own      array read at exactly the node's own index: streamed through registers
    seg      array over segments, read at exactly the own segment's number
    gather   array read at any other index
    scalar   scalar that a thunk uses
    size     needed before the launch: a size, a descriptor's offsets
    member   the survivors that the node walks are this filter's (its count, its offsets)

An order edge says that one node's kernel must not come before another's: it decides which error is reported.

As text (written and read back by schedule.graph.text):

    graph norm2 0 {
      size n = 1000000.0
      size k = 500000.0
      array xs : [float; n]
      scalar k : int
      array gts : [float; k]
      scalar sum1 : float
      scalar sum2 : float
      array res1 : [float; n]
      array res2 : [float; n]
      node sum1 = REDUCE flat(n) (own xs) -> (sum1)
      node gts = FILTER flat(n) (own xs) -> (k, gts)
      node sum2 = REDUCE survivors(gts, k) (member k, own gts) -> (sum2)
      node res1 = MAP flat(n) (own xs, scalar sum1) -> (res1) fails
      node res2 = MAP flat(n) (own xs, scalar sum2) -> (res2) fails
      order (res1, res2)
      outputs (res1, res2)
    }

`graph norm2 3 piece of 5 {` begins one of five pieces of a run that is too long to be scheduled at once.
`survivors(w, k, n)` are the survivors of a SEG_FILTER walked by its n segments, `survivors(w, k)` as one sequence.
`cut (sum1, gts)` and `fuse (sum1, gts)` in a graph are wishes: these two never share a kernel, or always do.

Invariants (schedule.check):
  - no two nodes have one name, no name is made twice;
  - operations and modes are those below; everything used or made has a type, and arrays' sizes have estimates, which
    are numbers from 0 to 1e200;
  - a name is used after the node that makes it; survivors name an earlier filter, and if they are walked by segments,
    a SEG_FILTER over as many segments;
  - SEG_ operations, uses of the mode seg and positions occur only in spaces that are walked by segments;
  - order edges lead from a node to a later one; from each mere check of the host (schedule.graph.build) they lead,
    perhaps through others, to every later node, which may rely on the check; outputs are made here;
  - wishes are of two nodes.
"""
from __future__ import annotations

from nessie.base.located import Located
from nessie.base.records import dataclass
from nessie.base.values import DTYPES
from nessie.lambda_cu import nodes as ir

Size = ir.Size

OWN, SEG, GATHER, SCALAR, SIZE, MEMBER = "own", "seg", "gather", "scalar", "size", "member"
MODES = (OWN, SEG, GATHER, SCALAR, SIZE, MEMBER)
STREAMED = (OWN, SEG, SIZE, MEMBER)           # a launch reads the whole array once, in order

HOST, ORDER, ONCE = "HOST", "ORDER", "ONCE"
FILTERS = ("FILTER", "SEG_FILTER", "PARTITION")
LOOK_BACK = ("SCAN", "SEG_SCAN", "SEG_REDUCE", *FILTERS)       # operations whose tiles wait for earlier tiles
WRITES = ("PERMUTE", "REDUCE_BY_INDEX")
ON_SEGMENTS = ("MAP", "REDUCE", *WRITES)    # operations that may walk the segments beside the elements
OPS = ("MAP", "REDUCE", "SCAN", *WRITES, "SEG_REDUCE", "SEG_SCAN", *FILTERS, ONCE, ORDER, HOST)


@dataclass(frozen=True)
class Flat:
    size: Size


@dataclass(frozen=True)
class Elements:
    """All elements of a segment descriptor; `descriptor` names it, since others may have the same total."""
    descriptor: str
    segments: Size
    total: Size


@dataclass(frozen=True)
class Survivors:
    """The survivors of a filter; `count` tells the sides of a PARTITION apart. `segments`: the number of segments if
    the survivors of a SEG_FILTER are walked segment by segment; None if they are walked as one sequence."""
    filter: str
    count: Size
    segments: Size | None = None


@dataclass(frozen=True)
class Unit:
    """A single point, for scalar code."""


Space = Flat | Elements | Survivors | Unit


@dataclass(frozen=True)
class Use:
    mode: str
    name: str


@dataclass(frozen=True)
class Node(Located):
    """`results` has one name for each result, `_` where nobody needs it. `rank`: a thunk computes with the walk's
    index itself, not only with elements read there; `place`: with the position in the segment. `fails`: the node may
    record an error. `serial`: a later element's write wins, so one thread walks them all, in order. `light`: a MAP of
    few operations, which reads arrays as they come. `work`: the number of operations and of functions per element, for
    a MAP so cheap that its readers may compute it again. `into`: arrays that nobody needs after this write, which goes
    on in their memory. `by`: the text of the mapping that walks it; `rows`: arrays that it reads, where its segments
    have owners, at other places of the own row, and at none outside."""
    name: str
    op: str
    space: Space
    uses: tuple[Use, ...]
    results: tuple[str, ...]
    rank: bool = False
    place: bool = False
    fails: bool = False
    serial: bool = False
    light: bool = False
    work: tuple[int, int] | None = None
    into: tuple[str, ...] = ()
    by: str = ""
    rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """`sizes`: estimates of the sizes of arrays and spaces; `outputs`: names made here and used outside the region;
    `cuts` and `fused`: pairs of nodes that are to be in two kernels, or in one, whatever that costs; `pieces`: the
    number of pieces of the run that the region is one of, each scheduled by itself."""
    name: str
    region: int
    sizes: tuple[tuple[Size, float], ...]
    types: tuple[ir.Param, ...]
    nodes: tuple[Node, ...]
    order: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    cuts: tuple[tuple[str, str], ...] = ()
    fused: tuple[tuple[str, str], ...] = ()
    pieces: int = 1


def space_size(space: Space) -> Size:
    """The number of the space's indices."""
    match space:
        case Flat(size):
            return size
        case Elements(_, _, total):
            return total
        case Survivors(_, count):
            return count
    return 1


def segments_of(space: Space) -> Size | None:
    """The number of segments by which the space is walked; None if it is not walked by segments."""
    return space.segments if isinstance(space, Elements | Survivors) else None


def of_one_length(space: Space) -> bool:
    """Are the space's segments equally long, by what its descriptor says?"""
    return isinstance(space, Elements) and space.descriptor.startswith("uniform(")


WIDTHS = {base: dtype.itemsize for base, dtype in DTYPES.items()}      # bytes


class Index:
    """An index of a graph: positions, producers, consumers, and reachability as bit masks.

    after           per node, its successors
    dependents      per node, the nodes that need its results, directly or not
    descendants     its dependents, and the nodes that must come after it
    """

    def __init__(self, graph: Graph) -> None:
        self.graph, self.nodes = graph, graph.nodes
        self.position = {node.name: k for k, node in enumerate(graph.nodes)}
        self.maker = {name: k for k, node in enumerate(graph.nodes) for name in node.results if name != "_"}
        self.types = {param.name: param.type for param in graph.types}
        self.estimate = dict(graph.sizes)
        self.successors: list[set[int]] = [set() for _ in graph.nodes]
        self.predecessors: list[set[int]] = [set() for _ in graph.nodes]
        for k, node in enumerate(graph.nodes):
            for use in node.uses:
                if use.name in self.maker:
                    self._edge(self.maker[use.name], k)
        self.dependents = self._closure()
        for before, after in graph.order:
            self._edge(self.position[before], self.position[after])
        self.descendants = self._closure()
        self.after = [sum(1 << v for v in successors) for successors in self.successors]
        self.streamed = {k: tuple(dict.fromkeys(use.name for use in node.uses if use.mode in STREAMED
                                                and isinstance(self.types.get(use.name), ir.Array)))
                         for k, node in enumerate(graph.nodes)}
        self.readers: dict[str, list[int]] = {}
        for k, names in self.streamed.items():
            for name in names:
                self.readers.setdefault(name, []).append(k)

    def _edge(self, u: int, v: int) -> None:
        self.successors[u].add(v)
        self.predecessors[v].add(u)

    def _closure(self) -> list[int]:
        """Per node, the mask of all nodes that its edges lead to."""
        masks = [0] * len(self.nodes)
        for k in reversed(range(len(self.nodes))):
            for successor in self.successors[k]:
                masks[k] |= masks[successor] | 1 << successor
        return masks

    def filter_of(self, space: Survivors) -> int:
        return self.position[space.filter]

    def parent(self, space: Survivors) -> Space:
        return self.nodes[self.filter_of(space)].space

    def segments(self, space: Space) -> Size | None:
        """The number of the space's segments; None if it has none that can be walked. As many segments as elements
        are walked as elements."""
        above = space
        while isinstance(above, Survivors):
            above = self.parent(above)
        return None if segments_of(above) == space_size(above) else segments_of(space)

    def elements(self, size: Size) -> float:
        """The estimate of a size."""
        return float(size) if isinstance(size, int) else self.estimate[size]

    def bytes(self, name: str) -> float:
        """The bytes of the array; 0 for a scalar."""
        type_ = self.types.get(name)
        return WIDTHS[type_.base] * self.elements(type_.size) if isinstance(type_, ir.Array) else 0.0
