"""Versions of thread-level functions: scalar functions of lambda_cu, made where they are called.

A sequence is passed as its bounds. Its payload is not: the body is translated for the payloads that the call has, and
what it reads of the host's arrays and scalars to see them becomes further parameters.

    function last(v) = v[#v - 1]        at a call with v = (start, length) into xs
    scalar last (v_start : int, v_length : int, xs : &[int]) -> int

Calls with the same payloads share a version, and so do versions that differ in names only. A function that calls itself
with other payloads gets a version for each. The payloads that a recursive function's result may lie in are found as the
least fixpoint: at first none.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from nessie.base.records import dataclass
from nessie.base.widths import wide
from nessie.flatten.threads.thread import Environment, nothing, thread
from nessie.flatten.values.contexts import Context, joined
from nessie.flatten.values.domains import HOST
from nessie.flatten.values.emitter import Emitter, NeedsKernel, Version
from nessie.flatten.values.values import Leaf, PairTerm, ScalarTerm, SeqTerm, Term, components
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import map_children
from nessie.lambda_cu.scope import free_names
from nessie.lambda_cu.shape import Writer
from nessie.mono import nodes as mono

Key = tuple[object, ...]


@dataclass(eq=False)
class Open:
    """A version that is being made: what its result is taken to be, and the outermost open version that it calls."""
    key: Key
    version: Version
    depth: int
    outermost: int
    made: ir.ScalarFunction | None = None


@dataclass(eq=False)
class Versions:
    """`open`: versions that are being made, outer ones first. `waiting`: those that are made but call an open one.
    `shapes`: the names of versions by what they are up to names. `named`: names that are taken."""
    emitter: Emitter
    functions: Mapping[str, mono.Function]
    open: list[Open] = field(default_factory=list)
    waiting: list[Open] = field(default_factory=list)
    shapes: dict[object, str] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)

    def without_sequences(self, name: str) -> None:
        """Make the function's one version, unless it takes or gives sequences."""
        function = self.functions[name]
        terms = [nothing(p.type) for p in function.parameters]
        if not any([list(leaves_of(term)) for term in (*terms, nothing(function.result))]):
            self.version(name, terms)

    def version(self, name: str, terms: list[Term]) -> Version:
        """Return the version of the function for the payloads of these arguments."""
        key = (name, *[leaf.key for term in terms for leaf in leaves_of(term)])
        known = self.emitter.tables.versions.get(key)
        if known is not None:
            return known
        for found in (*self.open, *self.waiting):
            if found.key == key:
                self.open[-1].outermost = min(self.open[-1].outermost, found.outermost)
                return found.version
        return self.make(key, self.functions[name], terms)

    def make(self, key: Key, function: mono.Function, terms: list[Term]) -> Version:
        depth, waiting = len(self.open), len(self.waiting)
        name = self.emitter.fresh(function.name) if function.name in self.named else function.name
        self.named.add(name)
        this = Open(key, Version(name, nothing(function.result)), depth, depth)
        self.open.append(this)
        try:
            while not self.translated(this, function, terms):
                del self.waiting[waiting:]                  # they took the result for something else
        except NeedsKernel:
            del self.open[depth:], self.waiting[waiting:]
            raise
        self.open.pop()
        if this.outermost < depth:
            self.open[-1].outermost = min(self.open[-1].outermost, this.outermost)
            self.waiting.append(this)
            return this.version
        together = [this, *self.waiting[waiting:]]
        del self.waiting[waiting:]
        self.close(together)
        return self.emitter.tables.versions[key]

    def translated(self, this: Open, function: mono.Function, terms: list[Term]) -> bool:
        """Translate the body, its result being what it is taken to be. Return whether it is; else it is now taken for
        more."""
        params: list[ir.Param] = []
        env: Environment = {p.name: self.parameter(p.name, term, params)
                            for p, term in zip(function.parameters, terms, strict=True)}
        context = Context(self.emitter)
        term = thread(function.body, env, HOST, HOST.here(), context)
        taken = this.version.result
        result, term = joined(taken, term, Context(self.emitter), context)
        if [leaf.key for leaf in leaves_of(result)] != [leaf.key for leaf in leaves_of(taken)]:
            this.version = replace(this.version, result=result)
            return False
        parts = list(components(term))
        body = context.result([exp for exp, _ in parts])
        this.made = ir.ScalarFunction(this.version.name, tuple(params), tuple([wide(base) for _, base in parts]), body,
                                      origin=function.origin)
        return True

    def parameter(self, name: str, term: Term, params: list[ir.Param]) -> Term:
        """Return the argument as the body sees it, its scalars being parameters."""
        def param(hint: str, base: str) -> ir.Exp:
            params.append(ir.Param(self.emitter.fresh(hint), wide(base)))
            return ir.Var(params[-1].name)

        match term:
            case ScalarTerm(_, base):
                return ScalarTerm(param(name, base), base)
            case PairTerm(first, second):
                a = self.parameter(name, first, params)
                return PairTerm(a, self.parameter(name, second, params))
            case SeqTerm(leaves=leaves):
                start = param(f"{name}_start", "int")
                return SeqTerm(start, param(f"{name}_length", "int"), leaves)

    def close(self, together: list[Open]) -> None:
        """Complete versions that call each other: all take what any of them reads of the host's."""
        made = [this.made for this in together if this.made is not None]
        wanted: dict[str, None] = {}
        for f in made:
            own = {p.name for p in f.params}
            wanted.update((name, None) for name in free_names(f.body) if name not in own)
        types = self.emitter.types
        scalars = tuple([name for name in wanted if isinstance(types[name], str)])
        arrays = tuple([name for name in wanted if name not in scalars])
        names = {f.name for f in made}
        made = [replace(f, params=(*f.params, *[ir.Param(name, types[name]) for name in scalars]),
                        arrays=tuple([ir.Param(name, base_of(types[name])) for name in arrays]),
                        body=with_more(f.body, names, scalars, arrays)) for f in made]
        for this, f in zip(together, made, strict=True):
            name = self.shared(f, names)
            self.emitter.tables.versions[this.key] = replace(this.version, name=name, scalars=scalars, arrays=arrays)

    def shared(self, f: ir.ScalarFunction, names: set[str]) -> str:
        """Return the name of the function, or of one that is the same up to names; such as call others are not
        compared."""
        if len(names) == 1:
            writer = Writer()
            writer.bind([p.name for p in (*f.params, *f.arrays)])
            writer.expression(calling(f.body, lambda c: replace(c, function="") if c.function in names else c))
            shape = (f.origin, tuple([p.type for p in f.params]), tuple([p.type for p in f.arrays]), *writer.words)
            known = self.shapes.setdefault(shape, f.name)
            if known != f.name:
                return known
        self.emitter.scalar_functions.append(f)
        return f.name


def leaves_of(term: Term) -> list[Leaf]:
    """Return the payloads of the term's sequences."""
    match term:
        case PairTerm(first, second):
            return [*leaves_of(first), *leaves_of(second)]
        case SeqTerm(leaves=leaves):
            return list(leaves)
    return []


def with_more(exp: ir.Exp, names: set[str], scalars: tuple[str, ...], arrays: tuple[str, ...]) -> ir.Exp:
    """Pass these on in calls of the functions of these names."""
    more = tuple([ir.Var(name) for name in scalars])

    def longer(call: ir.CallScalar) -> ir.CallScalar:
        if call.function not in names:
            return call
        return replace(call, arguments=(*call.arguments, *more), arrays=(*call.arrays, *arrays))

    return calling(exp, longer)


def calling(exp: ir.Exp, change: Callable[[ir.CallScalar], ir.CallScalar]) -> ir.Exp:
    """Return the expression with its calls changed."""
    exp = map_children(exp, lambda part: calling(part, change))
    return change(exp) if isinstance(exp, ir.CallScalar) else exp


def base_of(type_: ir.Type) -> str:
    assert isinstance(type_, ir.Array)
    return type_.base
