"""Where thread expressions are built: the bindings of one thunk, in the order in which they are evaluated.

What can fail, and what is used twice, becomes a binding at once. So nothing that can fail is lost when its value is
not used (a projection, a length, a payload that ignores its index), and code never doubles.
"""
from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar

from nessie.base.source import Origin
from nessie.flatten.domains import HOST, TRUE, ZERO, At, Domain, atom_of, minus, op
from nessie.flatten.values import (
    PairTerm,
    ScalarTerm,
    SeqTerm,
    Term,
    components,
    join_leaves,
    moved,
    rebuilt,
)
from nessie.lambda_cu import ir
from nessie.lambda_cu.scope import subexpressions

if TYPE_CHECKING:
    from nessie.flatten.emitter import Emitter

T = TypeVar("T")


class Context:
    """The bindings of a thunk, or of a branch in one. `failing`: something bound here can fail."""

    def __init__(self, emitter: Emitter, outer: Context | None = None) -> None:
        self.emitter, self.outer = emitter, outer
        self.bindings: list[tuple[tuple[str, ...], ir.Exp]] = []
        self.memory: dict[Hashable, object] = {}
        self.failing = False

    # Bindings

    def let(self, exp: ir.Exp, hint: str) -> ir.Exp:
        """A name for the expression; an atom is its own name."""
        if isinstance(exp, ir.Var | ir.Const):
            return exp
        name = self.emitter.fresh(hint)
        self.bind((name,), exp)
        return ir.Var(name)

    def bind(self, names: tuple[str, ...], exp: ir.Exp) -> None:
        self.bindings.append((names, exp))

    def close(self, result: ir.Exp) -> ir.Exp:
        """The result under the bindings; a last binding that is the result needs no name."""
        bindings = self.bindings
        if bindings and isinstance(result, ir.Var) and bindings[-1][0] == (result.name,):
            bindings, result = bindings[:-1], bindings[-1][1]
        for names, exp in reversed(bindings):
            result = ir.Let(names, exp, result)
        return result

    def result(self, exps: list[ir.Exp]) -> ir.Exp:
        return self.close(one_or_tuple(tuple(exps)))

    # Checks

    def check(self, condition: ir.Exp, value: ir.Exp, base: str, message: str, origin: Origin) -> ir.Exp:
        """The value where the condition holds, else a failure of type `base`; evaluated here and now."""
        if condition == TRUE:
            return value
        self.failing = True
        return self.let(ir.If(condition, value, ir.Fail(self.emitter.site(message, origin), base)), "c")

    def guard(self, condition: ir.Exp, then: Callable[[Context], Term], message: str, origin: Origin) -> Term:
        """What `then` computes where the condition holds, else a failure: nothing of `then` runs there."""
        if condition == TRUE:
            return then(self)
        inner = Context(self.emitter, self)
        term = then(inner)
        parts = list(components(term))
        site = self.emitter.site(message, origin)
        fails = tuple(ir.Fail(site, base) for _, base in parts)
        names = tuple(self.emitter.fresh("c") for _ in parts)
        self.failing = True
        self.bind(names, ir.If(condition, inner.result([exp for exp, _ in parts]), one_or_tuple(fails)))
        return rebuilt(term, iter([ir.Var(name) for name in names]))

    def branch(self, condition: ir.Exp, then: Callable[[Context], Term], orelse: Callable[[Context], Term]) -> Term:
        """A lazy conditional; bounds are selected, payloads joined."""
        condition = self.let(condition, "b")
        inner, other = Context(self.emitter, self), Context(self.emitter, self)
        a, b = then(inner), orelse(other)
        a, b = joined(a, b, inner, other)
        exps = [exp for exp, _ in components(a)], [exp for exp, _ in components(b)]
        if not inner.bindings and not other.bindings and all(x is y or same_atom(x, y) for x, y in zip(*exps)):
            return a
        chosen = ir.If(condition, inner.result(exps[0]), other.result(exps[1]))
        names = tuple(self.emitter.fresh("v") for _ in exps[0])
        self.failing |= inner.failing or other.failing
        self.bind(names, chosen)
        return rebuilt(a, iter([ir.Var(name) for name in names]))

    # Memory: one computation per index and thunk

    def remember(self, key: Hashable, compute: Callable[[], T]) -> T:
        context: Context | None = self
        while context is not None:
            if key in context.memory:
                return context.memory[key]  # type: ignore[return-value]
            context = context.outer
        self.memory[key] = result = compute()
        return result

    def climb(self, domain: Domain, home: Domain, at: At) -> At:
        """An index of the domain, as an index of `home` further out."""
        if home is HOST:
            return self.remember(("climb", HOST), lambda: At(ZERO))
        while domain is not home:
            at = self.remember((domain, at), lambda domain=domain, at=at: self.up(domain, at))  # type: ignore[misc]
            assert domain.parent is not None, "a value is used outside its home"
            domain = domain.parent
        return at

    def up(self, domain: Domain, at: At) -> At:
        """The index of the parent's element that this element belongs to."""
        if domain.kind == "subset":
            return At(ir.Read(domain.index, at.i))
        if domain.parent is HOST:
            return At(ZERO)
        if at.s is not None:
            return At(at.s)
        if isinstance(domain.space, ir.Uniform):
            return At(op("/", at.i, atom_of(domain.space.length)))
        return At(ir.Read(self.emitter.segment_numbers(domain), at.i))

    def within(self, domain: Domain, at: At) -> ir.Exp:
        """The position of a segmented domain's element in its segment."""
        if domain.parent is HOST:
            return at.i
        if at.j is not None:
            return at.j
        assert domain.parent is not None
        return minus(at.i, domain.start(self.climb(domain, domain.parent, at).i))


class HostContext(Context):
    """On the host a binding is a statement at once, of one scalar."""

    def bind(self, names: tuple[str, ...], exp: ir.Exp) -> None:
        if isinstance(exp, ir.CallScalar):
            self.emitter.once(names, exp, self.emitter.scalar_results[exp.function])
        else:
            (name,) = names
            self.emitter.host_let(name, exp)

    def name(self, exp: ir.Exp, base: str, hint: str) -> ir.Atom:
        """The expression as an atom, its type known."""
        if isinstance(exp, ir.Var | ir.Const):
            return exp
        name = self.emitter.fresh(hint)
        self.emitter.host_let(name, exp, base)
        return ir.Var(name)

    def guard(self, condition: ir.Exp, then: Callable[[Context], Term], message: str, origin: Origin) -> Term:
        if condition == TRUE:
            return then(self)
        return self.by_component(lambda context: Context.guard(context, condition, then, message, origin))

    def branch(self, condition: ir.Exp, then: Callable[[Context], Term], orelse: Callable[[Context], Term]) -> Term:
        condition = self.let(condition, "b")
        return self.by_component(lambda context: Context.branch(context, condition, then, orelse))

    def by_component(self, work: Callable[[Context], Term]) -> Term:
        """A statement per scalar of the term; each computes the term afresh, under names of its own. A term that calls
        scalar functions is computed once: by a kernel, which gives them all."""
        context = Context(self.emitter, self)
        term = work(context)
        parts = list(components(term))
        names = []
        whole = context.result([exp for exp, _ in parts])
        if len(parts) > 1 and any(isinstance(part, ir.CallScalar) for part in subexpressions(whole)):
            names = [self.emitter.fresh("h") for _ in parts]
            self.emitter.once(tuple(names), whole, tuple([base for _, base in parts]))
            return rebuilt(term, iter([ir.Var(name) for name in names]))
        for place in range(len(parts)):
            context = Context(self.emitter, self)
            exp, base = list(components(work(context)))[place]
            names.append(self.emitter.fresh("h"))
            self.emitter.host_let(names[-1], context.close(exp), base)
        return rebuilt(term, iter([ir.Var(name) for name in names]))


def one_or_tuple(exps: tuple[ir.Exp, ...]) -> ir.Exp:
    return exps[0] if len(exps) == 1 else ir.Tuple(exps)


def same_atom(a: ir.Exp, b: ir.Exp) -> bool:
    return isinstance(a, ir.Var | ir.Const) and type(a) is type(b) and a == b and repr(a) == repr(b)


def joined(a: Term, b: Term, inner: Context, other: Context) -> tuple[Term, Term]:
    """The two with common payloads."""
    match a, b:
        case SeqTerm(), SeqTerm():
            leaves = join_leaves(a.leaves, b.leaves)
            return (SeqTerm(moved(a.start, a.leaves, leaves, inner), a.length, leaves),
                    SeqTerm(moved(b.start, b.leaves, leaves, other), b.length, leaves))
        case PairTerm(a1, a2), PairTerm(b1, b2):
            first, second = joined(a1, b1, inner, other), joined(a2, b2, inner, other)
            return PairTerm(first[0], second[0]), PairTerm(first[1], second[1])
        case ScalarTerm(), ScalarTerm():
            return a, b
    raise TypeError((a, b))
