"""Versions of thread-level functions: scalar functions of lambda_cu, made where they are called.

A sequence is passed as its bounds. Its payload is not: the body is translated for the payloads that the call has, and
what it reads of the host's arrays and scalars to see them becomes further parameters.

    function last(v) = v[#v - 1]        at a call with v = (start, length) into xs
    scalar last (v_start : int, v_length : int, xs : &[int]) -> int

Calls with the same payloads, of whose ints the same is known, share a version; so do versions that differ in names
only. A function that calls itself with other payloads gets a version for each. The payloads that a recursive function's
result may lie in are found as the least fixpoint: at first none.

A function that calls itself knows of its ints what holds in every round: -1 or 0 <= a, a <= or < a sequence's length.
At first that is all that holds in the call from outside; what does not hold in a call within is dropped, until nothing
is. It promises the same of an int result, at first all. So binary search reads without a check: its bounds stay within
the sequence, and so does what it finds. Functions with several versions at once, which call one another, know nothing.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from nessie.base import call_graph
from nessie.base.records import dataclass
from nessie.base.widths import wide
from nessie.flatten.ranges.proofs import holds
from nessie.flatten.ranges.ranges import ANY, SIZE, Range
from nessie.flatten.threads.thread import Environment, nothing, thread
from nessie.flatten.values.contexts import Context, joined
from nessie.flatten.values.domains import HOST, ZERO, op
from nessie.flatten.values.emitter import Emitter, NeedsKernel, Version
from nessie.flatten.values.values import Leaf, PairTerm, ScalarTerm, SeqTerm, Term, components, exp_of
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import map_children
from nessie.lambda_cu.scope import free_names
from nessie.lambda_cu.shape import Writer
from nessie.lambda_cu.spaces.polynomials import name as form_of
from nessie.lambda_cu.spaces.polynomials import number, subtract
from nessie.mono import nodes as mono
from nessie.mono.walk import called

MOST_FACTS = 24                 # of a function with more possible facts, none is tried
Key = tuple[object, ...]
Facts = frozenset[tuple[int | None, int, int]]  # (a, b, n): the call's scalar a, or 0, plus n is at most its scalar b


@dataclass(eq=False)
class Open:
    """A version that is being made: what its result is taken to be, and the outermost open version that it calls.
    `facts`: what holds in all calls so far; `asked`: in the call that it is made for."""
    key: Key
    version: Version
    depth: int
    outermost: int
    facts: Facts
    asked: Facts
    made: ir.ScalarFunction | None = None


@dataclass(eq=False)
class Versions:
    """`open`: versions that are being made, outer ones first. `waiting`: those that are made but call an open one.
    `shapes`: the names of versions by what they are up to names. `named`: names that are taken. `knowing`: functions
    that call themselves, and nobody who calls them, in one version at once."""
    emitter: Emitter
    functions: Mapping[str, mono.Function]
    open: list[Open] = field(default_factory=list)
    waiting: list[Open] = field(default_factory=list)
    shapes: dict[object, str] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        calls = {name: called(function.body) for name, function in self.functions.items()}
        self.knowing = {name for component in call_graph.components(calls) if len(component) == 1
                        for name in component if name in calls[name]}

    def without_sequences(self, name: str) -> None:
        """Make the function's one version, unless it takes or gives sequences."""
        function = self.functions[name]
        terms = [nothing(p.type) for p in function.parameters]
        if not any([list(leaves_of(term)) for term in (*terms, nothing(function.result))]):
            self.version(name, terms, Context(self.emitter))

    def version(self, name: str, terms: list[Term], context: Context) -> Version:
        """Return the version of the function for the payloads of these arguments, and for what is known of them."""
        key = (name, *[leaf.key for term in terms for leaf in leaves_of(term)])
        if any([found.key[0] == name and found.key != key for found in self.open]):
            self.know_nothing(name)
        facts = self.facts(name, terms, context)
        for found in (*self.open, *self.waiting):
            if found.key == key:
                found.facts &= facts
                self.open[-1].outermost = min(self.open[-1].outermost, found.outermost)
                return found.version
        return self.emitter.tables.versions.get((key, facts)) or self.make(key, facts, self.functions[name], terms)

    def know_nothing(self, name: str) -> None:
        """Drop what versions of the function that are being made know and promise, from here on."""
        self.knowing.discard(name)
        for found in self.open:
            if found.key[0] == name:
                found.facts, found.version = frozenset(), replace(found.version, promises=frozenset())

    def facts(self, name: str, terms: list[Term], context: Context) -> Facts:
        """Return what holds in this call of what the function might know."""
        if name not in self.knowing:
            return frozenset()
        exps = [exp for term in terms for exp, _ in components(term)]
        roles = roles_of(terms)
        ints, lengths = ([at for at, role in enumerate(roles) if role == wanted] for wanted in ("int", "length"))
        if not lengths or len(ints) * (1 + len(lengths)) > MOST_FACTS:
            return frozenset()
        possible: list[tuple[int | None, int, int]] = [(None, at, more) for at in ints for more in (-1, 0)]
        possible += [(at, length, more) for at in ints for length in lengths for more in (0, 1)]
        return frozenset([(low, high, more) for low, high, more in possible if holds(context.ranges, op(
            "<" if more > 0 else "<=", ir.Const(more, "int") if low is None else exps[low], exps[high]))])

    def promisable(self, function: mono.Function, terms: list[Term]) -> frozenset[int | None]:
        """Return what the function might promise."""
        lengths = [at for at, role in enumerate(roles_of(terms)) if role == "length"]
        if function.name not in self.knowing or roles_of([nothing(function.result)]) != ["int"] or not lengths:
            return frozenset()
        return frozenset([None, *lengths])

    def make(self, key: Key, facts: Facts, function: mono.Function, terms: list[Term]) -> Version:
        depth, waiting = len(self.open), len(self.waiting)
        name = self.emitter.fresh(function.name) if function.name in self.named else function.name
        self.named.add(name)
        this = Open(key, Version(name, nothing(function.result), self.promisable(function, terms), True), depth, depth,
                    facts, facts)
        self.open.append(this)
        try:
            while not self.translated(this, function, terms):
                del self.waiting[waiting:]                  # they took the result, or what is known, for something else
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
        return self.emitter.tables.versions[key, facts]

    def translated(self, this: Open, function: mono.Function, terms: list[Term]) -> bool:
        """Translate the body, its result and what it knows being what they are taken to be. Return whether they are;
        else the result is now taken for more, and less is known."""
        params: list[ir.Param] = []
        env: Environment = {p.name: self.parameter(p.name, term, params)
                            for p, term in zip(function.parameters, terms, strict=True)}
        context, facts, promises = Context(self.emitter), this.facts, this.version.promises
        if function.name in self.knowing:
            context.parameters = ranges_of(params, roles_of(terms), facts)
        term = thread(function.body, env, HOST, HOST.here(), context)
        if (this.facts, this.version.promises) != (facts, promises):
            return False
        taken = this.version.result
        result, term = joined(taken, term, Context(self.emitter), context)
        if [leaf.key for leaf in leaves_of(result)] != [leaf.key for leaf in leaves_of(taken)]:
            this.version = replace(this.version, result=result)
            return False
        kept = frozenset([at for at in promises if holds(context.ranges, promise(exp_of(term), at, params))])
        if kept != promises:
            this.version = replace(this.version, promises=kept)
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
            made_version = replace(this.version, name=name, scalars=scalars, arrays=arrays, open=False)
            for facts in (this.asked, this.facts):
                self.emitter.tables.versions[this.key, facts] = made_version

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


def roles_of(terms: list[Term]) -> list[str]:
    """Return for each scalar of the terms whether it is an int, a length, or something else, ''."""
    found: list[str] = []
    for term in terms:
        match term:
            case ScalarTerm(_, base):
                found.append("int" if wide(base) == "int" else "")
            case PairTerm(first, second):
                found += roles_of([first, second])
            case SeqTerm():
                found += ["", "length"]
    return found


def promise(result: ir.Exp, at: int | None, params: list[ir.Param]) -> ir.Exp:
    """Return the condition that the result is not negative (None), or at most the parameter of this number."""
    return op("<=", ZERO, result) if at is None else op("<=", result, ir.Var(params[at].name))


def ranges_of(params: list[ir.Param], roles: list[str], facts: Facts) -> dict[str, Range]:
    """Return what is known of a function's ints."""
    found = {}
    for at, (param, role) in enumerate(zip(params, roles, strict=True)):
        above = tuple([subtract(form_of(params[length].name), number(more))
                       for low, length, more in sorted(facts, key=str) if low == at])
        least = max([more for low, high, more in facts if low is None and high == at], default=ANY.least)
        if role == "length":
            found[param.name] = SIZE
        elif param.type == "int":
            found[param.name] = Range(least, SIZE.most if above else ANY.most, above)
    return found


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
