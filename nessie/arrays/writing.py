"""An expression of arrays as functions of NESL: one for each body at its kinds, and `expression`, which has a let for
each node, and whose parameters are the leaves and what bodies see outside."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nessie.arrays import nodes, operations
from nessie.arrays.bodies.expressions import reductions
from nessie.arrays.bodies.expressions.reductions import Body
from nessie.arrays.bodies.expressions.values import Value, Window
from nessie.arrays.bodies.functions import Module
from nessie.arrays.bodies.kinds import INT, Items, Kind, Rows, rows_of
from nessie.arrays.bodies.outside import Seen, is_lazy, kind_of
from nessie.arrays.bodies.statements import Statements
from nessie.arrays.bodies.trees import Made, become, name, pattern, together, typed
from nessie.arrays.errors import Caller, nowhere
from nessie.arrays.operations import Held, Offset, Operand, Places, Together
from nessie.base.records import dataclass
from nessie.base.source import Span
from nessie.syntax import nodes as syntax

ENTRY = "expression"


@dataclass(frozen=True)
class Written:
    """The forms of a program, and what its `expression` takes, in order: leaves by their number among the nodes, the
    lengths of an index's dimensions, and values that a body sees. `places`: those of operators, and their nodes."""
    forms: tuple[syntax.FunctionDef, ...]
    takes: tuple[tuple[Any, ...], ...]
    places: dict[Span, int]


class Writer:
    """Writes the nodes of one expression. `held` has the name of each that is bound."""

    def __init__(self, order: Sequence[nodes.Step]) -> None:
        self.module = Module()
        self.fresh = self.module.fresh
        self.order = order
        self.number = {step.node: n for n, step in enumerate(order)}
        self.held: dict[nodes.Node, Held] = {}
        self.like: dict[nodes.Shape, Held] = {}         # an array for each shape, whose lengths all others have
        self.bindings: list[syntax.Binding] = []
        self.takes: dict[tuple[Any, ...], str] = {}
        self.parameters: dict[str, Kind] = {}
        self.places: dict[Span, int] = {}

    def written(self, results: Sequence[nodes.Node]) -> Written:
        for node in [step.node for step in self.order if step.operation is None]:
            self.hold(node, self.parameter("a", nodes.kind_of_value(node), ("leaf", self.number[node])))
        self.bring_together()
        for step in self.order:
            self.step(step)
        body = together([name(self.bound(node).name) for node in results])
        if self.bindings:
            body = syntax.Let(tuple(self.bindings), body)
        gives = Items(tuple([nodes.kind_of_value(node) for node in results]))
        entry = syntax.FunctionDef(ENTRY, pattern(list(self.parameters)), typed(list(self.parameters.values()), gives),
                                   None, body)
        return Written((*self.module.functions, entry), tuple(self.takes), self.places)

    def bring_together(self) -> None:
        """Bind the arrays of each shape anew, with the lengths of the first: so these, which are known to be the same,
        are compared before anything is computed, and not between kernels or at each element. Nothing is copied."""
        alike: dict[nodes.Shape, list[nodes.Node]] = {}
        for node in self.held:
            if node.shape and None not in node.shape:
                alike.setdefault(node.shape, []).append(node)
        for shape, (first, *others) in alike.items():
            self.like[shape] = self.held[first]
            for node in others:
                self.hold(node, self.bind(self.walked(node)))

    def walked(self, node: nodes.Node) -> syntax.Exp:
        """The elements as they are, in an array of the lengths that all of this shape have."""
        return operations.each([self.operand(node)], lambda elements, at: elements[0].exp, self.fresh,
                               like=self.like.get(node.shape), span=self.meeting([node]))

    def step(self, step: nodes.Step) -> None:
        """Bind the node, if it is not made where it is used."""
        node = step.node
        if step.operation is None:
            return
        self.capture(node, step.operation.seen)
        if isinstance(step.operation, nodes.Regarded):
            self.hold(node, self.bound(step.operation.of).name)
        elif not isinstance(step.operation, nodes.Index | nodes.Zipped):
            self.hold(node, self.bind(self.computed(node, step.operation)))

    def computed(self, node: nodes.Node, operation: nodes.Operation) -> syntax.Exp:
        match operation:
            case nodes.Mapped(of=of, body=body, with_index=with_index):
                place, made = self.meeting([node, *of]), self.body(body)
                made = operations.inside(made, self.fresh, place) if operation.inside else made
                return operations.mapped(self.operands(operation), made, with_index, self.fresh,
                                         self.like.get(node.shape), place)
            case nodes.Unit(of=of, at=at, goes=goes):
                return (operations.without_unit if goes else operations.with_unit)(self.bound(of), at, self.fresh)
            case nodes.Reshaped(of=of):
                flat = self.bind(operations.flat(self.bound(of)).exp)
                lengths = [name(self.takes.get(key) or self.parameter("n", INT, key))
                           for key in [("length", self.number[node], k) for k in range(len(node.shape))]]
                return operations.reshaped(Made(name(flat), Rows(node.kind)), lengths, self.fresh)
            case nodes.Joined(of=of, at=at, new=new):
                parts = [self.become(one, node.kind) for one in of]
                return (operations.stacked if new else operations.joined)(parts, at, self.fresh, self.meeting([node]))
            case nodes.Swapped(of=of, at=at):
                return operations.swapped(self.bound(of), at, self.fresh)
            case nodes.Stencil():
                return self.stencil(node, operation)
            case nodes.Reduced(of=of, how=how, body=None):
                held = self.bound(of)
                exp = reductions.reduced_by_name(how, operations.flat(held), self.fresh).exp
                return exp if None not in of.shape else reductions.of_some(how, name(held.name), exp)
            case nodes.Reduced(of=of, body=Seen() as body, identity=identity):
                return reductions.reduced(self.body(body), operations.flat(self.bound(of)), node.kind,
                                          self.made(identity), self.fresh)
            case nodes.Changed():
                return self.changed(node, operation)
        raise TypeError(operation)

    def changed(self, node: nodes.Node, operation: nodes.Changed) -> syntax.Exp:
        held = self.bound(operation.of)
        match operation.how, operation.body:
            case "flatten", _:
                return operations.flattened(held)
            case "bincount" | "group_by", _:
                least = self.made(operation.identity)
                assert least is not None
                return operations.by_keys(held, node.kind, least.exp, self.fresh)
            case "unique", _:
                return operations.distinct(held)
            case "sort", body:
                return operations.ordered(self.body(body) if body is not None else None, held, self.fresh)
            case "select", Seen() as test:
                asked, made = Statements(self.module, test), self.body(test)
                return operations.selected(lambda x: asked.true(made([x]), test.written.tree), held, self.fresh)
            case "scan", Seen() as body:
                identity = self.made(operation.identity)
                assert identity is not None
                return reductions.scanned(self.body(body), operations.flat(held), node.kind, identity, self.fresh)
        raise TypeError(operation.how)

    def stencil(self, node: nodes.Node, operation: nodes.Stencil) -> syntax.Exp:
        of = self.operation(operation.of)
        zipped = isinstance(of, nodes.Zipped) and operation.of not in self.held and of.met is None \
            and not of.stretched
        parts = [self.bound(part) for part in (of.inputs if of is not None and zipped else [operation.of])]
        outside = self.made(operation.outside)
        assert outside is not None

        def body(neighbours: Mapping[Offset, Made], at: Made) -> Made:
            if operation.apart:
                given = [*neighbours.values(), *([at] if operation.with_index else [])]
                return self.body(operation.body)(given)
            first, *more = operation.body.parameters
            env: dict[str, Value] = {first: Window(neighbours), **dict.fromkeys(more, at)}
            return Statements(self.module, operation.body).body(env)
        return operations.stencil(parts, operation.offsets, outside, node.kind, body, self.fresh)

    # Names --------------------------------------------------------------------------------------

    def hold(self, node: nodes.Node, by: str) -> None:
        self.held[node] = Held(by, node.kind, len(node.shape))

    def operation(self, node: nodes.Node) -> nodes.Operation | None:
        return self.order[self.number[node]].operation

    def operands(self, operation: nodes.Mapped | nodes.Zipped) -> list[Operand]:
        """What is gone through side by side."""
        stretched = operation.stretched or [()] * len(operation.of)
        return [self.operand(one, along) for one, along in zip(operation.of, stretched)]

    def become(self, node: nodes.Node, kind: Kind) -> Held:
        """The array with elements of a kind, by a name."""
        held = self.bound(node)
        if held.kind == kind:
            return held
        return Held(self.bind(become(held.whole, rows_of(kind, held.rank), self.fresh)), kind, held.rank)

    def operand(self, node: nodes.Node, stretched: nodes.Axes = ()) -> Operand:
        """What is gone through for the node, of which these axes are stretched."""
        operation = self.operation(node)
        if stretched:
            return replace(self.bound(node), stretched=stretched)
        if node in self.held:
            return self.held[node]
        if isinstance(operation, nodes.Zipped):
            return Together(tuple(self.operands(operation)))
        like = self.like.get(node.shape)
        return Places(tuple([None if like else self.length(node, dimension) for dimension in range(len(node.shape))]))

    def bound(self, node: nodes.Node) -> Held:
        """The node by a name, be it an index or a zip."""
        if node not in self.held:
            self.hold(node, self.bind(self.walked(node)))
        return self.held[node]

    def made(self, node: nodes.Node | None) -> Made | None:
        return None if node is None else self.bound(node).whole

    def length(self, node: nodes.Node, dimension: int) -> syntax.Exp:
        """The length of a dimension of an index, which is a parameter: indices of one shape have the same ones."""
        first = next(number for number, step in enumerate(self.order)
                     if isinstance(step.operation, nodes.Index) and step.node.shape == node.shape)
        key = ("length", first, dimension)
        return name(self.takes.get(key) or self.parameter("n", INT, key))

    def parameter(self, hint: str, kind: Kind, takes: tuple[Any, ...]) -> str:
        parameter = self.takes[takes] = self.fresh(hint)
        self.parameters[parameter] = kind
        return parameter

    def bind(self, exp: syntax.Exp) -> str:
        bound = self.fresh("a")
        self.bindings.append(syntax.Binding(syntax.NamePattern(bound), exp))
        return bound

    # Bodies -------------------------------------------------------------------------------------

    def meeting(self, of: Sequence[nodes.Node]) -> Span | None:
        """Where arrays meet that may be of different lengths: in the first of these nodes in which some do, or in what
        is zipped there."""
        for node in of:
            operation = self.operation(node)
            if isinstance(operation, nodes.Mapped | nodes.Zipped | nodes.Joined) and operation.met is not None:
                return self.place_of(node, operation.met)
            if isinstance(operation, nodes.Zipped) and node not in self.held and (found := self.meeting(operation.of)):
                return found
        return None

    def place_of(self, node: nodes.Node, caller: Caller) -> Span:
        """Where the node's operation has been called."""
        place = caller.span or nowhere(self.number[node])
        self.places[place] = self.number[node]
        return place

    def body(self, body: Seen) -> Body:
        """What the body makes of values: a call of its function."""
        def made(given: list[Made]) -> Made:
            function = self.module.function(body, tuple([one.kind for one in given]))
            return Made(function.called([one.exp for one in given]), function.gives)
        return made

    def capture(self, node: nodes.Node, body: Seen | None) -> None:
        """Let the body know what it sees outside: arrays of the graph, and parameters; an operator, its place."""
        if body is not None and body.caller is not None:
            body.place = self.place_of(node, body.caller)
        for at, (seen, text, value) in enumerate(body.captured if body is not None else ()):
            if is_lazy(value):
                made = self.bound(value._nessie_node).whole
            else:
                kind = kind_of(value)
                made = Made(name(self.parameter(text, kind, ("seen", self.number[node], at))), kind)
            self.module.capture(seen, text, made)


def write(order: Sequence[nodes.Step], results: Sequence[nodes.Node]) -> Written:
    """Return the program of an expression, whose nodes are in `order` (nodes.in_order)."""
    return Writer(order).written(results)
