"""Kernels up to names: shape(kernel) is equal, and hashes alike, for kernels that differ in names only.

    { i => let y = xs[i] in y * y using xs }  and  { j => let x = v[j] in x * x using v }

A kernel is written as a flat sequence of words, each node before its parts. Instead of a bound name stands how many are
bound around it, instead of a constant its text, which tells 0.0 from -0.0. No let binds a name that another around it
binds, so a name's number need never be restored.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterable

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import EXPRESSIONS, NAMES, SETTINGS, children, thunks
from nessie.lambda_cu.scope import space_of

Shape = tuple[Hashable, ...]


def shape(kernel: ir.Kernel) -> Shape:
    writer = Writer()
    writer.bind(param.name for param in kernel.params)
    writer.sites = {param.name for param in kernel.params if param.type == "site"}
    for param in kernel.params:
        writer.type(param.type)
    for bind in kernel.binds:
        writer.soac(bind.soac)
        writer.bind(bind.names)
    writer.words += ["return", *map(writer.name, kernel.returns), kernel.by]
    return tuple(writer.words)


class Writer:
    """Writes one kernel. `numbers` are those of the names bound so far, `sites` the parameters that are sites."""

    def __init__(self) -> None:
        self.words: list[Hashable] = []
        self.numbers: dict[str, int] = {}
        self.sites: set[str] = set()
        self.depth = 0

    def bind(self, names: Iterable[str]) -> None:
        for name in names:
            self.numbers[name] = self.depth
            self.depth += 1

    def name(self, name: Hashable) -> Hashable:
        return self.numbers.get(name, name) if isinstance(name, str) else ("size", name)

    def type(self, type_: ir.Type) -> None:
        self.words += (type_.base, self.name(type_.size), type_.plus) if isinstance(type_, ir.Array) else (type_,)

    def soac(self, soac: ir.Soac) -> None:
        self.words += (type(soac).__name__, len(thunks(soac)))
        for thunk in thunks(soac):
            self.thunk(thunk)
        space = space_of(soac)
        self.words.append(type(space).__name__)
        self.terms(space)
        self.words += map(self.name, NAMES.of(soac))
        for exp in EXPRESSIONS.of(soac):
            self.expression(exp)
        self.words += map(repr, SETTINGS.of(soac))

    def terms(self, space: ir.Space | None) -> None:
        """What tells spaces of the same names apart."""
        groups: tuple[tuple[ir.Term, ...], ...] = ()
        match space:
            case ir.Closed(_, terms, _):
                groups = (terms,)
            case ir.Nested(rows, lengths, sums, _):
                self.words.append(type(rows).__name__)
                self.terms(rows)
                groups = (lengths, sums)
        for group in groups:
            self.words.append(len(group))
            for term in group:
                self.words += (type(term).__name__, len(NAMES.of(term)), *map(repr, SETTINGS.of(term)))

    def thunk(self, thunk: ir.Thunk) -> None:
        depth = self.depth
        self.words.append(len(thunk.params))
        self.bind(thunk.params)
        self.expression(thunk.body)
        self.depth = depth

    def expression(self, exp: ir.Exp) -> None:
        words = self.words
        match exp:
            case ir.Var(name):
                words.append(self.numbers.get(name, name))
                return
            case ir.Const(value, type_):
                words += (type_, repr(value))
                return
            case ir.Let(names, value, body):
                words += ("let", len(names))
                self.expression(value)
                depth = self.depth
                self.bind(names)
                self.expression(body)
                self.depth = depth
                return
            case ir.Fold(index, count, names, start, body):
                words += ("fold", len(names))
                self.expression(count)
                self.expression(start)
                depth = self.depth
                self.bind((index, *names))
                self.expression(body)
                self.depth = depth
                return
            case ir.Fail(site, type_):
                words += ("fail", self.numbers[site] if site in self.sites else site, type_)
            case ir.Op(op, _):
                words += ("op", op)
            case ir.Read(array, _):
                words += ("read", self.numbers.get(array, array))
            case ir.If():
                words.append("if")
            case ir.Tuple(items):
                words += ("tuple", len(items))
            case ir.CallScalar(function, arguments, arrays):
                words += ("call", function, len(arguments), *map(self.name, arrays))
        for part in children(exp):
            self.expression(part)
