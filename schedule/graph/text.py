"""Prints dependence graphs as text, and parses them: show and parse are inverse to each other. The grammar is in the
header of schedule.graph.nodes."""
from __future__ import annotations

from collections.abc import Iterable

from nessie.base.source import Source
from nessie.base.text.places import Places
from nessie.base.text.tokens import Tokens, show_name, show_string
from nessie.lambda_cu import nodes as ir
from nessie.schedule.graph.nodes import MODES, OPS, Elements, Flat, Graph, Node, Size, Space, Survivors, Unit, Use

FLAGS = ("rank", "place", "fails", "serial", "light")
KEYWORDS = frozenset({"graph", "size", "array", "scalar", "node", "order", "outputs", "cut", "fuse", "work", "piece",
                      "into", "in_row", "walked_by", *FLAGS, *MODES, "flat", "elements", "survivors", "unit"})


def name(text: str) -> str:
    return show_name(text, KEYWORDS)


def show_all(graphs: Iterable[Graph]) -> str:
    return "".join(map(show, graphs))


def show(graph: Graph) -> str:
    lines = [f"  size {name(str(size))} = {estimate!r}" for size, estimate in graph.sizes]
    lines += [f"  {show_typed(param)}" for param in graph.types]
    lines += [f"  node {show_node(node)}" for node in graph.nodes]
    lines += [f"  order ({name(before)}, {name(after)})" for before, after in graph.order]
    lines += [f"  outputs ({', '.join(map(name, graph.outputs))})"]
    lines += [f"  cut ({name(first)}, {name(second)})" for first, second in graph.cuts]
    lines += [f"  fuse ({name(first)}, {name(second)})" for first, second in graph.fused]
    piece = f" piece of {graph.pieces}" if graph.pieces > 1 else ""
    return f"graph {name(graph.name)} {graph.region}{piece} {{\n" + "\n".join(lines) + "\n}\n"


def show_typed(param: ir.Param) -> str:
    if isinstance(param.type, str):
        return f"scalar {name(param.name)} : {param.type}"
    plus = "+1" if param.type.plus else ""
    return f"array {name(param.name)} : [{param.type.base}; {show_size(param.type.size)}{plus}]"


def show_size(size: Size) -> str:
    return name(size) if isinstance(size, str) else str(size)


def show_space(space: Space) -> str:
    match space:
        case Flat(size):
            return f"flat({show_size(size)})"
        case Elements(descriptor, segments, total):
            return f"elements({name(descriptor)}, {show_size(segments)}, {show_size(total)})"
        case Survivors(host, count, segments):
            walked = "" if segments is None else f", {show_size(segments)}"
            return f"survivors({name(host)}, {show_size(count)}{walked})"
    return "unit()"


def show_node(node: Node) -> str:
    uses = ", ".join(f"{use.mode} {name(use.name)}" for use in node.uses)
    flags = "".join(f" {flag}" for flag in FLAGS if getattr(node, flag))
    flags += "" if node.work is None else " work({}, {})".format(*node.work)
    flags += "".join([f" {what}({', '.join(map(name, names))})" for what, names in (("into", node.into),
                                                                                 ("in_row", node.rows)) if names])
    flags += f" walked_by {show_string(node.by)}" if node.by else ""
    results = ", ".join(map(name, node.results))
    return f"{name(node.name)} = {node.op} {show_space(node.space)} ({uses}) -> ({results}){flags}"


def parse(text: str | Source) -> Graph:
    tokens = Tokens(text, KEYWORDS)
    graph = parse_graph(tokens)
    tokens.finish()
    return graph


def parse_all(text: str | Source, places: Places | None = None) -> tuple[Graph, ...]:
    """Parse graphs that stand one after another."""
    tokens = Tokens(text, KEYWORDS, places)
    graphs = []
    while tokens.at("graph"):
        graphs.append(parse_graph(tokens))
    tokens.finish()
    return tuple(graphs)


def parse_graph(tokens: Tokens) -> Graph:
    start = tokens.expect("graph")
    title, region, pieces = tokens.name(), tokens.integer(), 1
    if tokens.accept("piece"):
        tokens.expect("of")
        pieces = tokens.integer()
    tokens.expect("{")
    sizes: list[tuple[Size, float]] = []
    types: list[ir.Param] = []
    nodes: list[Node] = []
    order: list[tuple[str, str]] = []
    while not tokens.at("outputs"):
        keyword = tokens.take()
        match keyword.text:
            case "size":
                size = tokens.name()
                tokens.expect("=")
                sizes.append(tokens.mark(keyword, (size, tokens.literal("float"))))
            case "array" | "scalar" as kind:
                types.append(parse_typed(tokens, kind))
            case "node":
                nodes.append(parse_node(tokens))
            case "order":
                order.append(parse_pair(tokens))
            case other:
                tokens.fail(f"size, array, scalar, node, order or outputs is expected, not '{other}'")
    last = tokens.expect("outputs")
    outputs = tokens.mark(last, parenthesised(tokens))
    wishes: dict[str, list[tuple[str, str]]] = {"cut": [], "fuse": []}
    while tokens.at(*wishes):
        wishes[tokens.take().text].append(parse_pair(tokens))
    tokens.expect("}")
    return tokens.mark(start, Graph(title, region, tuple(sizes), tuple(types), tuple(nodes), tuple(order), outputs,
                                    tuple(wishes["cut"]), tuple(wishes["fuse"]), pieces))


def parenthesised(tokens: Tokens) -> tuple[str, ...]:
    tokens.expect("(")
    return tokens.listed(tokens.name, ")")


def parse_pair(tokens: Tokens) -> tuple[str, str]:
    start = tokens.expect("(")
    first = tokens.name()
    tokens.expect(",")
    second = tokens.name()
    tokens.expect(")")
    return tokens.mark(start, (first, second))


def parse_size(tokens: Tokens) -> Size:
    return tokens.name() if tokens.at_name() else tokens.integer()


def parse_typed(tokens: Tokens, kind: str) -> ir.Param:
    start, typed = tokens.current, tokens.name()
    tokens.expect(":")
    if kind == "scalar":
        return tokens.mark(start, ir.Param(typed, tokens.name("a type")))
    tokens.expect("[")
    base = tokens.name("a type")
    tokens.expect(";")
    size = parse_size(tokens)
    plus = 0
    if tokens.accept("+"):
        plus = tokens.integer()
    tokens.expect("]")
    return tokens.mark(start, ir.Param(typed, ir.Array(base, size, plus)))


def parse_node(tokens: Tokens) -> Node:
    start, node = tokens.current, tokens.name()
    tokens.expect("=")
    if not tokens.at(*OPS):
        tokens.fail("an operation is expected here")
    op, space = tokens.take().text, parse_space(tokens)
    tokens.expect("(")
    uses = tokens.listed(lambda: parse_use(tokens), ")")
    tokens.expect("->")
    results = parenthesised(tokens)
    flags = set()
    while tokens.at(*FLAGS):
        flags.add(tokens.take().text)
    work = parse_work(tokens) if tokens.accept("work") else None
    into, rows = [parenthesised(tokens) if tokens.accept(what) else () for what in ("into", "in_row")]
    by = tokens.literal("string") if tokens.accept("walked_by") else ""
    return tokens.mark(start, Node(node, op, space, uses, results, "rank" in flags, "place" in flags, "fails" in flags,
                                   "serial" in flags, "light" in flags, work, into, by, rows))


def parse_work(tokens: Tokens) -> tuple[int, int]:
    tokens.expect("(")
    operations = tokens.integer()
    tokens.expect(",")
    functions = tokens.integer()
    tokens.expect(")")
    return operations, functions


def parse_use(tokens: Tokens) -> Use:
    if not tokens.at(*MODES):
        tokens.fail("a mode of use is expected here")
    mode = tokens.take()
    return tokens.mark(mode, Use(mode.text, tokens.name()))


def parse_space(tokens: Tokens) -> Space:
    kind = tokens.accept("flat", "elements", "survivors", "unit")
    if kind is None:
        tokens.fail("a space is expected here")
    tokens.expect("(")
    space: Space
    match kind:
        case "flat":
            space = Flat(parse_size(tokens))
        case "elements":
            descriptor = tokens.name()
            tokens.expect(",")
            segments = parse_size(tokens)
            tokens.expect(",")
            space = Elements(descriptor, segments, parse_size(tokens))
        case "survivors":
            host = tokens.name()
            tokens.expect(",")
            count = parse_size(tokens)
            space = Survivors(host, count, parse_size(tokens) if tokens.accept(",") else None)
        case _:
            space = Unit()
    tokens.expect(")")
    return space
