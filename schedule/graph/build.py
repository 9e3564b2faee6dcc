"""Pass: build the dependence graph of a control region from its steps.

  in    steps: bindings in the names of the host, and statements of the host that wait
  out   a graph with a node for each
  how   Spaces come first: a size that a filter of the region counts stands for the space of its survivors. Then come
        the uses, by mode. A flat MAP whose values a segmented binding reads at its own index walks that binding's
        segments too, if only one descriptor is possible: both then walk the same space.
        Order edges lead from each step that can fail, or is the host's, to the next, so that the same of several errors
        comes first however the steps are fused; in one kernel, the first in the program does. Every step after a mere
        check of the host relies on it, and comes later too.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.mappings.nodes import NONE
from nessie.lambda_cu.mappings.nodes import Mapping as Mapped
from nessie.lambda_cu.mappings.own_row import in_own_row, indices, segment_of
from nessie.lambda_cu.mappings.owners import by_owners
from nessie.lambda_cu.mappings.text import show_mapping
from nessie.lambda_cu.parts import INDEX_THUNKS, THUNKS
from nessie.lambda_cu.selection import selection
from nessie.lambda_cu.text.soacs import show_terms
from nessie.schedule.graph import nodes as pdg
from nessie.schedule.graph.arithmetic import cheap_work
from nessie.schedule.graph.nodes import (
    GATHER,
    HOST,
    MEMBER,
    ORDER,
    OWN,
    SIZE,
    Elements,
    Flat,
    Graph,
    Node,
    Survivors,
    Use,
)
from nessie.schedule.graph.regions import UNUSED, Region, RegionStep
from nessie.schedule.graph.sizes import Estimates
from nessie.schedule.graph.uses import Uses, op_name, serial, uses_of


def build_graph(region: Region, steps: Sequence[RegionStep], estimates: Estimates, types: Mapping[str, ir.Type],
                failing: Collection[str] = ()) -> Graph:
    """Build the graph of the region's steps. `failing`: the scalar functions that may fail."""
    spaces = Spaces()
    nodes = []
    for step in steps:
        if step.bind is None:
            nodes.append(opaque_node(step, spaces))
        else:
            uses, fails = uses_of(step.bind.soac, types, spaces.made), scope.soac_can_fail(step.bind.soac, failing)
            node = with_mapping(node_of(step.name, step.bind, uses, spaces, types, fails), step.bind, step.by)
            work = work_of(node, step.bind)
            nodes.append(replace(node, light=work is not None and not work[1], work=None if fails else work,
                                 into=written_over(step.bind, region.over)))
    nodes = with_twins(nodes)
    names = dict.fromkeys([use.name for node in nodes for use in node.uses]
                          + [name for node in nodes for name in node.results if name != "_"])
    typed = tuple(ir.Param(name, types[name]) for name in names if name in types)
    sizes = dict.fromkeys([*(param.type.size for param in typed if isinstance(param.type, ir.Array)),
                           *(pdg.space_size(node.space) for node in nodes),
                           *(pdg.segments_of(node.space) for node in nodes)])
    outputs = tuple(name for node in nodes for name in node.results if name in region.outside)
    return Graph(region.function, region.number, tuple((size, estimates.of(size)) for size in sizes
                                                       if isinstance(size, str)),
                 typed, tuple(nodes), order_edges(nodes), outputs, pieces=region.pieces)


def with_mapping(node: Node, bind: ir.Bind, by: Mapped | None) -> Node:
    """The node as it is walked by this mapping, if there is one; perhaps by an owner for its segment."""
    if by in (None, NONE):
        return node
    if not by_owners(ir.Kernel("", (), (bind,), (), by)):
        return replace(node, by=show_mapping(by))
    root = scope.space_of(bind.soac)
    assert isinstance(root, ir.Segmented)
    apart = {index.array for thunk in INDEX_THUNKS.of(bind.soac) for index in indices(thunk.body)
             if not (in_own_row(index, thunk.params, root) or index.exp == segment_of(thunk.params))}
    rows = [use.name for use in node.uses if use.mode == GATHER and use.name not in apart]
    passed = {name for thunk in THUNKS.of(bind.soac) for name in scope.passed(thunk.body)}
    return replace(node, by=show_mapping(by), rows=tuple([name for name in rows if name not in passed]))


def written_over(bind: ir.Bind, over: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """What a write begins as, and nobody needs after it."""
    if not isinstance(bind.soac, ir.Write):
        return ()
    done = next((over[name] for name in bind.names if name in over), ())
    return tuple(dict.fromkeys([exp.name for exp in bind.soac.before if isinstance(exp, ir.Var) and exp.name in done]))


def region_types(region: Region, steps: Sequence[RegionStep]) -> dict[str, ir.Type]:
    """The types of all names that the region's steps mention."""
    types = dict(region.types)
    types.update((param.name, param.type) for step in steps for param in scope.results(step.statement))
    types.pop("_", None)
    return types


def work_of(node: Node, bind: ir.Bind) -> tuple[int, int] | None:
    """The work of a MAP that is cheap and gathers nothing; else None."""
    if not isinstance(bind.soac, ir.Map) or any(use.mode == GATHER for use in node.uses):
        return None
    return cheap_work(bind.soac.thunk.body)


def order_edges(nodes: Sequence[Node]) -> tuple[tuple[str, str], ...]:
    """The edges that keep the order of failing nodes and of the host's, and that keep nodes behind a check."""
    edges: dict[tuple[str, str], None] = {}
    last = check = None
    for node in nodes:
        if node.fails or node.op == HOST:
            if last is not None:
                edges[last.name, node.name] = None
            last = node
        elif check is not None:
            edges[check.name, node.name] = None
        if is_check(node):
            check = node
    return tuple(edges)


def is_check(node: Node) -> bool:
    """Is the node a mere check of the host? Nobody uses its result, but later nodes run only if it holds."""
    return node.op == HOST and all(name.startswith(UNUSED) for name in node.results)


class Spaces:
    """Makes the index spaces of nodes; `counts` and `offsets` are the sizes and offsets that a filter makes."""

    def __init__(self) -> None:
        self.counts: dict[ir.Size, str] = {}
        self.offsets: dict[str, tuple[str, ir.Size]] = {}
        self.made: set[str] = set()

    def space(self, space: ir.Space | None) -> tuple[pdg.Space, list[Use]]:
        """Return the space, and its uses of names that the region makes."""
        match space:
            case None:
                return pdg.Unit(), []
            case ir.Flat(size) if size in self.counts:
                return Survivors(self.counts[size], size), [Use(MEMBER, str(size))]
            case ir.Flat(size):
                found: pdg.Space = Flat(size)
            case ir.Irregular(_, offsets, count) if offsets in self.offsets and self.offsets[offsets][1] == count:
                return (Survivors(self.offsets[offsets][0], count, space.segments),
                        [Use(MEMBER, str(count)), Use(MEMBER, offsets)])
            case _:
                found = Elements(descriptor_text(space), space.segments, space.total)
        offsets_read = [space.offsets] if isinstance(space, ir.Irregular) else []
        return found, [Use(SIZE, name) for name in scope.space_names(space)
                       if name in self.made or name in offsets_read]

    def bind(self, node: str, bind: ir.Bind) -> None:
        """Note the names that the binding makes."""
        self.made.update(bind.names)
        if selected := selection(bind):
            self.counts.update(dict.fromkeys(selected.counts, node))
            self.offsets.update(dict.fromkeys(selected.offsets, (node, selected.counts[0])))
        self.counts.pop("_", None)
        self.offsets.pop("_", None)
        self.made.discard("_")


def descriptor_text(space: ir.Space) -> str:
    """The text that names the descriptor in graphs."""
    match space:
        case ir.Uniform(segments, length, _, outer):
            axes = f" = {' * '.join(map(str, outer))}" if outer else ""
            return f"uniform({segments}{axes}, {length})"
        case ir.Closed(segments, terms, _):
            return f"closed({segments}, {show_terms(terms)})"
        case ir.Nested(rows):
            assert not isinstance(rows, ir.Flat)
            return f"{descriptor_text(rows)}, nested"
        case ir.Irregular(_, offsets, _):
            return f"irregular({offsets})"
    raise TypeError(space)


def node_of(name: str, bind: ir.Bind, uses: Uses, spaces: Spaces, types: Mapping[str, ir.Type],
            fails: bool = False) -> Node:
    """Make the binding's node, and note in `spaces` what it makes."""
    soac = bind.soac
    space, needed = spaces.space(scope.space_of(soac))
    if isinstance(soac, ir.Write) and isinstance(soac.size, str) and soac.size in spaces.made:
        needed.append(Use(SIZE, soac.size))
    found = [use for use in (*needed, *uses.found) if isinstance(types.get(use.name), ir.Array) or (
        use.name in spaces.made and isinstance(types.get(use.name), str))]
    node = Node(name, op_name(soac), space, tuple(dict.fromkeys(found)), bind.names, uses.rank, uses.place,
                fails, serial(soac), origin=bind.origin)
    spaces.bind(name, bind)
    return node


def kernel_graph(binds: Sequence[tuple[ir.Bind, Uses]], types: Mapping[str, ir.Type]) -> Graph:
    """The graph of one kernel's bindings, without estimates, for the certificate: does one walk compute them all?"""
    spaces = Spaces()
    nodes = [node_of(f"b{k}", bind, uses, spaces, types) for k, (bind, uses) in enumerate(binds)]
    names = dict.fromkeys([use.name for node in nodes for use in node.uses] + [r for n in nodes for r in n.results])
    return Graph("kernel", 0, (), tuple(ir.Param(name, types[name]) for name in names if name in types),
                 tuple(with_twins(nodes)), (), ())


def opaque_node(step: RegionStep, spaces: Spaces) -> Node:
    """The node of the host's code, or of a kernel that is not one binding: it shares a kernel with no other."""
    match step.statement:
        case ir.HostLet(_, value):
            op, names, fails = HOST, scope.free_names(value), scope.can_fail(value)
        case ir.Run(_, _, arguments):
            op, names, fails = ORDER, scope.atom_names(arguments), True
        case _:
            raise TypeError(step.statement)
    made = tuple(param.name for param in scope.results(step.statement))
    uses = tuple(Use(SIZE if op == ORDER else GATHER, name) for name in dict.fromkeys(names) if name in spaces.made)
    spaces.made.update(name for name in made if name != "_")
    return Node(step.name, op, pdg.Unit(), uses, made, fails=fails, origin=step.statement.origin)


def with_twins(nodes: list[Node]) -> list[Node]:
    """Move flat MAPs to the segmented space whose bindings read them at their own index, if there is just one."""
    result = list(nodes)
    maker = {name: k for k, node in enumerate(nodes) for name in node.results if name != "_"}
    readers: dict[int, list[int]] = {}
    for k, node in enumerate(nodes):
        for use in node.uses:
            if use.mode == OWN and use.name in maker:
                readers.setdefault(maker[use.name], []).append(k)
    for k in reversed(range(len(nodes))):
        node = result[k]
        if node.op != "MAP" or node.by or pdg.segments_of(node.space) is not None:
            continue
        spaces = {result[reader].space for reader in readers.get(k, ())}
        segmented = {space for space in spaces if pdg.segments_of(space) is not None}
        if len(segmented) == 1:
            needed = [use for reader in readers[k] for use in result[reader].uses if use.mode in (SIZE, MEMBER)]
            if all(maker.get(use.name, -1) < k for use in needed):
                uses = dict.fromkeys([*node.uses, *(use for use in needed if use.name in maker)])
                result[k] = replace(node, space=segmented.pop(), uses=tuple(uses))
    return result
