"""An expression of arrays as functions of NESL: one for each body at its kinds, and `expression`, which has a let for
each node, and whose parameters are the leaves and what bodies see outside.

An array of several dimensions is rows of rows of one length. So a map is an apply-to-each within another, and λcu walks
it as one space.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nessie.arrays import nodes
from nessie.arrays.bodies.expressions import Value, Window
from nessie.arrays.bodies.functions import Module
from nessie.arrays.bodies.kinds import INT, Items, Kind, Rows
from nessie.arrays.bodies.outside import Seen, is_lazy, kind_of
from nessie.arrays.bodies.statements import Statements
from nessie.arrays.bodies.trees import (
    Made,
    all_of,
    become,
    binary,
    call,
    let,
    name,
    number,
    pattern,
    together,
    typed,
)
from nessie.base.records import dataclass
from nessie.syntax import nodes as syntax

ENTRY = "expression"


@dataclass(frozen=True)
class Written:
    """The forms of a program, and what its `expression` takes, in order: leaves by their number among the nodes, the
    lengths of an index's dimensions, and values that a body sees."""
    forms: tuple[syntax.FunctionDef, ...]
    takes: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Source:
    """What an apply-to-each goes through: one sequence, and an element's kind."""
    exp: syntax.Exp
    kind: Kind


class Writer:
    """Writes the nodes of one expression."""

    def __init__(self, order: Sequence[nodes.Node]) -> None:
        self.module = Module()
        self.fresh = self.module.fresh
        self.order = order
        self.number = {node: n for n, node in enumerate(order)}
        self.names: dict[nodes.Node, str] = {}
        self.bindings: list[syntax.Binding] = []
        self.takes: list[tuple[Any, ...]] = []
        self.parameters: dict[str, Kind] = {}

    def written(self, results: Sequence[nodes.Node]) -> Written:
        for node in self.order:
            self.node(node)
        body: syntax.Exp = together([self.whole(node) for node in results])
        if self.bindings:
            body = syntax.Let(tuple(self.bindings), body)
        gives = Items(tuple([nested(node) for node in results]))
        entry = syntax.FunctionDef(ENTRY, pattern(list(self.parameters)), typed(list(self.parameters.values()), gives),
                                   None, body)
        return Written((*self.module.functions, entry), tuple(self.takes))

    # Nodes --------------------------------------------------------------------------------------

    def node(self, node: nodes.Node) -> None:
        if node.value is not None:
            self.names[node] = self.parameter("a", nested(node), ("leaf", self.number[node]))
            return
        self.capture(node)
        match node:
            case nodes.Index() | nodes.Zipped():
                return                      # it is made where it is used
            case nodes.Mapped():
                exp = self.mapped(node)
            case nodes.Stencil():
                exp = self.stencil(node)
            case nodes.Reduced():
                exp = self.reduced(node)
            case nodes.Changed():
                exp = self.changed(node)
            case _:
                raise TypeError(node)
        self.names[node] = self.bind(exp)

    def parameter(self, hint: str, kind: Kind, takes: tuple[Any, ...]) -> str:
        parameter = self.fresh(hint)
        self.parameters[parameter] = kind
        self.takes.append(takes)
        return parameter

    def bind(self, exp: syntax.Exp, hint: str = "a") -> str:
        bound = self.fresh(hint)
        self.bindings.append(syntax.Binding(syntax.NamePattern(bound), exp))
        return bound

    def capture(self, node: nodes.Node) -> None:
        """Let the body know what it sees outside: arrays of the graph, and parameters."""
        body: Seen | None = getattr(node, "body", None)
        for at, (seen, text, value) in enumerate(body.captured() if body is not None else ()):
            if is_lazy(value):
                made = Made(name(self.bound(value._nessie_node)), nested(value._nessie_node))
            else:
                kind = kind_of(value)
                made = Made(name(self.parameter(text, kind, ("seen", self.number[node], at))), kind)
            self.module.capture(seen, text, made)

    def bound(self, node: nodes.Node) -> str:
        """The name of the node's value, be it an index or a zip."""
        if node not in self.names:
            self.names[node] = self.bind(self.over(node.shape, [node], lambda elements, at: elements[0].exp))
        return self.names[node]

    def whole(self, node: nodes.Node) -> syntax.Exp:
        return name(self.bound(node))

    # Apply-to-each --------------------------------------------------------------------------------

    def over(self, shape: nodes.Shape, of: Sequence[nodes.Node],
             body: Callable[[list[Made], list[syntax.Exp]], syntax.Exp], with_index: bool = False) -> syntax.Exp:
        """The body of the nodes' elements at each place of the shape, and of the place. A node of fewer dimensions has
        the same elements for all places of the outer ones."""
        if not shape:
            return body([self.element(node, iter(()), []) for node in of], [])
        needs = with_index or any([self.has_index(node) for node in of])
        sources = [source for node in of for source in self.sources(node)]
        return self.level(0, len(shape), sources, [], [], of, body, needs)

    def has_index(self, node: nodes.Node) -> bool:
        return node not in self.names and (isinstance(node, nodes.Index) or isinstance(node, nodes.Zipped)
                                           and any([self.has_index(part) for part in node.of]))

    def sources(self, node: nodes.Node) -> list[tuple[syntax.Exp, int, nodes.Node]]:
        """What is gone through for the node: sequences, and of how many dimensions they are."""
        if node in self.names:
            return [(name(self.names[node]), len(node.shape), node)]
        if isinstance(node, nodes.Zipped):
            return [source for part in node.of for source in self.sources(part)]
        return [(self.extent(node, 0), len(node.shape), node)]

    def extent(self, node: nodes.Node, dimension: int) -> syntax.Exp:
        """The indices of a dimension of an index node, whose length is a parameter."""
        key = ("length", self.number[node], dimension)
        if key not in self.takes:
            self.parameter("n", INT, key)
        return syntax.Range(number(0), name(list(self.parameters)[self.takes.index(key)]), None)

    def level(self, depth: int, rank: int, sources: list[tuple[syntax.Exp, int, nodes.Node]], at: list[syntax.Exp],
              elements: list[syntax.Exp], of: Sequence[nodes.Node], body: Any, needs: bool) -> syntax.Exp:
        """One dimension: the apply-to-each, and those within it."""
        if depth == rank:
            found = iter([exp for exp, _, _ in sources])
            return body([self.element(node, found, at) for node in of], at)
        generators, inner = [], []
        index: str | None = None
        for exp, left, node in sources:
            if left < rank - depth:
                inner.append((exp, left, node))
            elif isinstance(node, nodes.Index) and node not in self.names:
                if index is None:
                    index = self.fresh("i")
                    generators.append(syntax.Generator(syntax.NamePattern(index), self.extent(node, depth)))
                inner.append((exp, left - 1, node))
            else:
                x = self.fresh("x")
                generators.append(syntax.Generator(syntax.NamePattern(x), exp))
                inner.append((name(x), left - 1, node))
        if needs and index is None:
            index = self.fresh("i")
            length = syntax.Unary("#", generators[0].source)            # type: ignore[arg-type]
            generators.append(syntax.Generator(syntax.NamePattern(index), syntax.Range(number(0), length, None)))
        here = [*at, name(index)] if index is not None else at
        return syntax.Each(self.level(depth + 1, rank, inner, here, elements, of, body, needs), tuple(generators), None)

    def element(self, node: nodes.Node, found: Any, at: list[syntax.Exp]) -> Made:
        """The node's element at a place."""
        if node not in self.names and isinstance(node, nodes.Zipped):
            parts = [self.element(part, found, at) for part in node.of]
            return Made(together([part.exp for part in parts]), node.kind)
        if node not in self.names and isinstance(node, nodes.Index):
            next(found)
            return Made(together(at[len(at) - len(node.shape):]), node.kind)
        if not node.shape:
            if not at:
                return Made(self.whole(node), node.kind)
            return Made(next(found), node.kind)
        return Made(next(found), node.kind)

    def place(self, at: list[syntax.Exp]) -> Made:
        """A place as bodies get it."""
        return Made(together(at), INT if len(at) == 1 else Items((INT,) * len(at)))

    # Operations -----------------------------------------------------------------------------------

    def mapped(self, node: nodes.Mapped) -> syntax.Exp:
        def body(elements: list[Made], at: list[syntax.Exp]) -> syntax.Exp:
            given = [*elements, self.place(at)] if node.with_index else elements
            return self.applied(node.body, given)
        return self.over(node.shape, node.of, body, node.with_index)

    def applied(self, body: Seen, given: list[Made]) -> syntax.Exp:
        made = self.module.function(body, tuple([one.kind for one in given]))
        return made.called([one.exp for one in given])

    def stencil(self, node: nodes.Stencil) -> syntax.Exp:
        """Where all neighbours are inside, the body; elsewhere what is outside. The lengths that say so are those of
        the sequences that are read."""
        rank = len(node.shape)
        source = node.of if node.of in self.names or not isinstance(node.of, nodes.Zipped) else None
        parts = [self.bound(part) for part in ([node.of] if source is not None else node.of.of)]     # type: ignore[attr-defined]
        kinds = [node.of.kind] if source is not None else list(node.of.kind.items)       # type: ignore[union-attr]
        at = [self.fresh("i") for _ in range(rank)]
        rows = [name(parts[0]), *[name(self.fresh("row")) for _ in range(rank - 1)]]

        def neighbour(offset: tuple[int, ...]) -> Made:
            found = []
            for part in parts:
                exp: syntax.Exp = name(part)
                for i, by in zip(at, offset):
                    place = name(i) if by == 0 else binary("+" if by > 0 else "-", name(i), number(abs(by)))
                    exp = syntax.Index(exp, place)
                found.append(exp)
            return Made(together(found), kinds[0] if len(found) == 1 else Items(tuple(kinds)))
        inside = []
        for dimension, i in enumerate(at):
            reach = [offset[dimension] for offset in node.offsets]
            if min(reach) < 0:
                inside.append(binary(">=", name(i), number(-min(reach))))
            if max(reach) > 0:
                end = binary("-", syntax.Unary("#", rows[dimension]), number(max(reach)))
                inside.append(binary("<", name(i), end))
        body = self.body_of_stencil(node, {offset: neighbour(offset) for offset in node.offsets},
                                    self.place([name(i) for i in at]))
        other = become(Made(self.whole(node.outside), node.outside.kind), node.kind, self.fresh)
        exp = become(body, node.kind, self.fresh)
        exp = syntax.If(all_of(inside), exp, other) if inside else exp
        for dimension in reversed(range(rank)):
            around = rows[dimension]
            generators = [syntax.Generator(syntax.NamePattern(at[dimension]),
                                           syntax.Range(number(0), syntax.Unary("#", around), None))]
            if dimension + 1 < rank:
                generators.insert(0, syntax.Generator(syntax.NamePattern(rows[dimension + 1].name), around))
            exp = syntax.Each(exp, tuple(generators), None)
        return exp

    def body_of_stencil(self, node: nodes.Stencil, neighbours: dict[tuple[int, ...], Made], place: Made) -> Made:
        if node.apart:
            given = [*neighbours.values(), *([place] if node.with_index else [])]
            made = self.module.function(node.body, tuple([one.kind for one in given]))
            return Made(made.called([one.exp for one in given]), made.gives)
        parameters = node.body.written.parameters
        env: dict[str, Value] = {parameters[0]: Window(neighbours)}
        if node.with_index:
            env[parameters[1]] = place
        return Statements(self.module, node.body).body(env)

    def flat(self, node: nodes.Node) -> Made:
        """All elements in order, as one sequence."""
        exp = self.whole(node)
        for _ in node.shape[1:]:
            exp = call("flatten", exp)
        return Made(exp, Rows(node.kind))

    def reduced(self, node: nodes.Reduced) -> syntax.Exp:
        flat = self.flat(node.of)
        if node.body is None:
            wanted = Rows(node.kind) if node.how in ("sum", "product", "max_val", "min_val") else flat.kind
            return call(node.how, become(flat, wanted, self.fresh))
        kind = node.kind
        if node.identity is not None:
            identity = become(Made(self.whole(node.identity), node.identity.kind), kind, self.fresh)
            return call("reduce", self.operator(node.body, kind), identity, become(flat, Rows(kind), self.fresh))
        return self.reduced_without_identity(node.body, kind, become(flat, Rows(kind), self.fresh))

    def operator(self, body: Seen, kind: Kind) -> syntax.Exp:
        a, b = self.fresh("a"), self.fresh("b")
        made = self.module.function(body, (kind, kind))
        result = become(Made(made.called([name(a), name(b)]), made.gives), kind, self.fresh)
        return syntax.Lambda(pattern([a, b]), result)

    def reduced_without_identity(self, body: Seen, kind: Kind, flat: syntax.Exp) -> syntax.Exp:
        """Each element with a truth value that says that there is one: none is the identity."""
        p, q, a, b, v, w = [self.fresh(hint) for hint in ("p", "q", "a", "b", "v", "w")]
        made = self.module.function(body, (kind, kind))
        both = become(Made(made.called([name(a), name(b)]), made.gives), kind, self.fresh)
        combined = syntax.If(name(p), syntax.If(name(q), both, name(a)), name(b))
        taken = syntax.PairPattern(syntax.PairPattern(syntax.NamePattern(p), syntax.NamePattern(a)),
                                   syntax.PairPattern(syntax.NamePattern(q), syntax.NamePattern(b)))
        operator = syntax.Lambda(taken, syntax.Pair(binary("or", name(p), name(q)), combined))
        x = self.fresh("x")
        pairs = syntax.Each(syntax.Pair(syntax.Bool(True), name(x)),
                            (syntax.Generator(syntax.NamePattern(x), flat),), None)
        from nessie.arrays.bodies.trees import zero
        total = call("reduce", operator, syntax.Pair(syntax.Bool(False), zero(kind)), pairs)
        first = syntax.Index(syntax.Sequence((name(w),)), syntax.If(name(v), number(0), number(1)))
        return let([v, w], total, first)

    def changed(self, node: nodes.Changed) -> syntax.Exp:
        of = node.of
        match node.how:
            case "flatten":
                exp = self.flat(of)
                return exp.exp if of.shape[1:] else call("flatten", exp.exp)
            case "unique":
                return call("remove_duplicates", self.whole(of))
            case "sort" if node.body is None:
                return call("sort", self.whole(of))
            case "sort":
                x = self.fresh("x")
                key = self.applied(node.body, [Made(name(x), of.kind)])         # type: ignore[arg-type]
                return call("sort_by", syntax.Lambda(syntax.NamePattern(x), key), self.whole(of))
            case "select":
                x = self.fresh("x")
                assert node.body is not None
                made = self.module.function(node.body, (of.kind,))
                test = Statements(self.module, node.body).true(
                    Made(made.called([name(x)]), made.gives), node.body.written.tree)
                return syntax.Each(name(x), (syntax.Generator(syntax.NamePattern(x), self.whole(of)),), test)
            case "scan":
                assert node.body is not None and node.identity is not None
                flat = become(self.flat(of), Rows(node.kind), self.fresh)
                identity = become(Made(self.whole(node.identity), node.identity.kind), node.kind, self.fresh)
                return call("inclusive_scan", self.operator(node.body, node.kind), identity, flat)
        raise TypeError(node.how)


def nested(node: nodes.Node) -> Kind:
    """Return the kind of the node's value: of several dimensions, rows of rows."""
    kind = node.kind
    for _ in node.shape:
        kind = Rows(kind)
    return kind


def write(order: Sequence[nodes.Node], results: Sequence[nodes.Node]) -> Written:
    """Return the program of an expression, whose nodes are in `order` (nodes.in_order)."""
    return Writer(order).written(results)

