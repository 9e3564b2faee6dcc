"""The witness against fusion: words that name what keeps two nodes out of one kernel (the reasons of
schedule.legality.fusible).

    total and quo, kernel-end:  quo needs total, which exists only when the kernel that computes it has ended
"""
from __future__ import annotations

from collections.abc import Iterable

from nessie.base.source import InternalError
from nessie.schedule.graph.nodes import (
    GATHER,
    HOST,
    ORDER,
    OWN,
    SEG,
    SIZE,
    Elements,
    Flat,
    Index,
    Node,
    Space,
    Survivors,
)
from nessie.schedule.legality.blocks import Refused
from nessie.schedule.legality.fusible import Fusible
from nessie.schedule.legality.mapped import is_cut, is_held, may_be_walked

OFFSETS = "_offsets"            # ends the names of a nested sequence's row offsets

MISSING_HOST = "missing-host"
CIRCLE, TOO_LARGE = "circle", "too-large"       # reasons of more than two nodes


def witness(fusible: Fusible, u: int, v: int) -> str:
    """Return the text that shows why u and v, u first, may not share a kernel."""
    index, reason = fusible.index, fusible.reason[u, v]
    first, second = index.nodes[u], index.nodes[v]
    if reason == "path":
        return path_text(fusible, u, v)
    if reason == MISSING_HOST:
        return host_text(fusible, u, v)
    if reason in ("host", "library"):
        return outside_text(first, second)
    if reason == "space":
        one, other = (space_text(index, node.space) for node in (first, second))
        return f"{first.name} walks {one}, {second.name} {other}: no walk has both"
    if reason == "one-thread":
        serial, threaded = (first, second) if first.serial else (second, first)
        why = "writes to one place are combined in order" if serial.op == "REDUCE_BY_INDEX" else \
            "the last of several writes to one place wins"
        return f"one thread walks {serial.name}, so that {why}; {threaded.name} is better off with all threads"
    if reason == "in-place":
        writer, reader = (second, first) if second.into else (first, second)
        return (f"{writer.name} is written where {writer.into[0]} lies, which {reader.name} reads: together they would "
                "need a copy of it")
    if reason == "mapping":
        return mapping_text(first, second)
    if reason == "cut":
        return "you want them cut"
    return use_text(index, u, v, reason)


def use_text(index: Index, u: int, v: int, reason: str) -> str:
    """Return the text that says how v uses u, and why that is too early."""
    a, b = index.nodes[u].name, index.nodes[v].name
    used = used_name(index, u, v, reason)
    by = way(index, u, v)
    match reason:
        case "gather":
            return f"{b} reads {used} at any index, so all of it must be there before"
        case "size":
            return f"{b} is launched over {used}, which {a} has to find first"
        case "kernel-end":
            return f"{b} needs {used}'s value{by}, which exists only when the kernel that computes it has ended"
        case "segment-late":
            return f"{b} needs {used} where a segment begins; only a MAP over the segments is known there, " \
                   f"{a} is a {index.nodes[u].op}"
        case "segment-end":
            return f"{b} needs {used}{by} at each element of a segment, and it is known only where the segment ends"
        case "scatter-order":
            return f"{a} writes {used} in the order of its indices, {b} reads it in the order of the walk"
        case "two-look-backs":
            return look_backs_text(index, u, v, by)
        case "position":
            return f"{b} computes with positions in segments, which are not counted among {a}'s survivors"
        case "once-reads-array":
            return f"{b} is scalar code and reads {used}, which is complete only when the kernel has ended"
    raise InternalError(f"no reason for two kernels is called {reason}")


def look_backs_text(index: Index, u: int, v: int, by: str) -> str:
    a, b = index.nodes[u], index.nodes[v]
    return f"{a.name} ({a.op}) and {b.name} ({b.op}) each wait for all earlier tiles, and {b.name} needs what " \
           f"{a.name}'s wait has found{by}; a kernel waits once"


def mapping_text(first: Node, second: Node) -> str:
    if first.by and second.by and first.by != second.by:
        return f"{first.name} is walked by {first.by}, {second.name} by {second.by}"
    if cut := next((node for node in (first, second) if is_cut(node.by)), None):
        return f"{cut.name} is walked by {cut.by}, and partitions have launches of their own, which nothing shares"
    mapped, other = (first, second) if first.by else (second, first)
    refused = other if may_be_walked(mapped, other) else mapped
    why = ("such an owner does for its segment alone" if is_held(mapped.by) else
           "threads do that have an index each and come in any order")
    return f"{mapped.name} is walked by {mapped.by}, and {refused.name} ({refused.op}) is nothing that {why}"


def outside_text(first: Node, second: Node) -> str:
    host = [node for node in (first, second) if node.op == HOST]
    if host:
        return f"{host[0].name} is computed by the host"
    (library, *_) = [node for node in (first, second) if node.op == ORDER]
    return f"{library.name} is a kernel of the library"


def used_name(index: Index, u: int, v: int, reason: str) -> str:
    """The result of u that v uses and the reason is about; u's name if v uses none of its results itself."""
    modes = {"gather": (GATHER, SEG), "size": (SIZE,), "segment-late": (SEG,), "scatter-order": (OWN, SEG)}.get(reason)
    names = [use.name for use in index.nodes[v].uses
             if index.maker.get(use.name) == u and (modes is None or use.mode in modes)]
    return names[0] if names else index.nodes[u].name


def way(index: Index, u: int, v: int) -> str:
    """Return the words that name the nodes through which v depends on u; none if v uses u itself."""
    if u in index.predecessors[v]:
        return ""
    between = [index.nodes[k].name for k in shortest_way(index, u, v)]
    return f" (by way of {listed(between)})"


def shortest_way(index: Index, u: int, v: int) -> list[int]:
    """The nodes on a shortest path from u to v, without u and v."""
    came: dict[int, int] = {u: u}
    queue = [u]
    for k in queue:
        for following in sorted(index.successors[k]):
            if following not in came:
                came[following] = k
                queue.append(following)
    path = []
    k = came[v]
    while k != u:
        path.append(k)
        k = came[k]
    return path[::-1]


def path_text(fusible: Fusible, u: int, v: int) -> str:
    """Name a node on a path that would have to be in the kernel too, and may not."""
    index = fusible.index
    between = [w for w in range(len(index.nodes)) if index.descendants[u] >> w & 1 and index.descendants[w] >> v & 1]
    x, y = first_forbidden(fusible, [pair for w in between for pair in ((u, w), (w, v))])
    w, other = (y, x) if x == u else (x, y)
    return f"{index.nodes[w].name} comes between them and cannot be in a kernel with {index.nodes[other].name}: " \
        f"{witness(fusible, x, y)}"


def host_text(fusible: Fusible, u: int, v: int) -> str:
    """Name a filter that would have to be in the kernel too, and may not."""
    hosts = fusible.hosts(u, v) or ()
    pair = first_forbidden(fusible, [(min(h, k), max(h, k)) for h in hosts for k in (u, v, *hosts)])
    names = listed(fusible.index.nodes[k].name for k in pair if k not in (u, v))
    return f"{names} would have to be in the kernel, for the survivors that they walk, and cannot: " \
        f"{witness(fusible, *pair)}"


def first_forbidden(fusible: Fusible, pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """The forbidden pair that was found first: others may follow from it."""
    wanted = set(pairs)
    return next(pair for pair in fusible.reason if pair in wanted)


def space_text(index: Index, space: Space) -> str:
    match space:
        case Flat(size):
            return f"{size_text(index, size)} indices"
        case Elements(_, segments, total):
            return f"{size_text(index, total)} elements of {size_text(index, segments)} segments"
        case Survivors(name, _):
            return f"the survivors of {name}"
    return "a single point"


def size_text(index: Index, size: object) -> str:
    """Name a size by an array that has it, preferably one from outside: #xs. A nested sequence xs has #xs rows with
    #flatten(xs) elements. A size of no array keeps its own name."""
    if not isinstance(size, str):
        return str(size)
    having = [name for name, type_ in index.types.items() if getattr(type_, "size", None) == size]
    inputs = [name for name in having if name not in index.maker]
    counted = [name for name in having if size in index.maker and index.maker.get(name) == index.maker[size]]
    name = min(inputs or counted, key=len, default=None)            # ps of ps, ps_1
    if name is None:
        return size
    if f"{name}{OFFSETS}" in index.types:
        return f"#flatten({name})"
    return f"#{name.removesuffix(OFFSETS)}"


def refused_text(fusible: Fusible, u: int, v: int, refused: Refused) -> tuple[str, str]:
    """Return the reason, and its witness, why u and v cannot share a kernel although the pair by itself may."""
    index = fusible.index
    if refused.pair is None:
        return TOO_LARGE, "the kernel would use more arrays than one kernel may"
    x, y = refused.pair
    names = listed(index.nodes[k].name for k in (x, y) if k not in (u, v))
    if not names:
        return fusible.reason[x, y], witness(fusible, x, y)
    return CIRCLE, f"{names} would have to be in the kernel too, or kernels would wait for each other, and cannot: " \
        f"{witness(fusible, x, y)}"


def listed(names: Iterable[str]) -> str:
    """Join names as in `a, b and c`."""
    found = list(names)
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)
