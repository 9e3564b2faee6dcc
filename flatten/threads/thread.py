"""Thread mode: translates pure expressions at one index to scalar code.

A pure expression has no parallel operation, and calls only functions that run per element (thread-level functions).
Indexing, lengths and slices of sequences are pure; so are conditionals, which are lazy here.

    G; D; i |- e => t        emits nothing; what can fail is bound in the context, in the order of evaluation
"""
from __future__ import annotations

from collections.abc import Mapping, Set

from nessie.base.source import Origin
from nessie.base.types import Base, Pair, Seq, Type
from nessie.base.widths import wide
from nessie.flatten.ranges.ranges import SIZE
from nessie.flatten.threads.scalars import apply_operator, resized
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import ZERO, At, Domain, inside, minus, op, plus
from nessie.flatten.values.values import (
    Both,
    PairTerm,
    Scalar,
    ScalarTerm,
    SeqTerm,
    Sequence,
    Term,
    Value,
    components,
    empty,
    exp_of,
    pull,
    rebuilt,
    seq_of,
    zero_at,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import ops
from nessie.mono import nodes as mono
from nessie.mono.walk import is_constant

Environment = Mapping[str, "Value | Term"]
PURE_SEQUENCE = ("length", "elt", "subseq", "resized")
OUT_OF_BOUNDS = "Sequence reference (a[i]) out of bounds."
SUBSEQ = "Bounds error for function SUBSEQ."


class Purity:
    """Decides which expressions are pure; `thread_level` names the functions that run per element. With `data`,
    literals of constants are pure, where the host makes arrays of them."""

    def __init__(self, thread_level: Set[str] = frozenset(), data: bool = False) -> None:
        self.thread_level, self.data = thread_level, data
        self.known: dict[int, tuple[mono.Exp, bool]] = {}

    def pure(self, exp: mono.Exp) -> bool:
        found = self.known.get(id(exp))
        if found is None:
            found = self.known[id(exp)] = exp, self.decide(exp)
        return found[1]

    def decide(self, exp: mono.Exp) -> bool:
        match exp:
            case mono.Const() | mono.Var():
                return True
            case mono.String() | mono.Literal():
                return self.data and is_constant(exp)
            case mono.Let(_, value, body):
                return self.pure(value) and self.pure(body)
            case mono.If(condition, then, orelse):
                return self.pure(condition) and self.pure(then) and self.pure(orelse)
            case mono.Prim("check", (condition, _, value)):
                return self.pure(condition) and self.pure(value)
            case mono.Prim("_compact", (part,)):
                return self.pure(part)
            case mono.Prim("error", arguments):
                return isinstance(arguments[0], mono.String)
            case mono.Prim(name, arguments):
                return (name in ops.OPS or name in PURE_SEQUENCE) and all([self.pure(a) for a in arguments])
            case mono.Call(function, arguments):
                return function in self.thread_level and all([self.pure(a) for a in arguments])
            case mono.Pair(first, second):
                return self.pure(first) and self.pure(second)
            case mono.First(pair) | mono.Second(pair):
                return self.pure(pair)
        return False


def thread(exp: mono.Exp, env: Environment, domain: Domain, at: At, context: Context) -> Term:
    """Return the pure expression as a term at an index of the domain."""
    def go(part: mono.Exp) -> Term:
        return thread(part, env, domain, at, context)

    match exp:
        case mono.Const(constant, Base(base)):
            return ScalarTerm(ir.Const(constant, wide(base)), base)
        case mono.Var(name):
            found = env[name]
            return pull(found, domain, at, context) if isinstance(found, Scalar | Both | Sequence) else found
        case mono.Let():
            inner = dict(env)               # names are bound once, so a chain of lets extends one environment
            while isinstance(exp, mono.Let):
                inner[exp.name] = bound(thread(exp.value, inner, domain, at, context), exp.name, context)
                exp = exp.body
            return thread(exp, inner, domain, at, context)
        case mono.If(condition, then, orelse):
            return context.branch(exp_of(go(condition)), lambda inner: thread(then, env, domain, at, inner),
                                  lambda inner: thread(orelse, env, domain, at, inner))
        case mono.Pair(first, second):
            return PairTerm(go(first), go(second))
        case mono.First(pair):
            return pair_of(go(pair)).first
        case mono.Second(pair):
            return pair_of(go(pair)).second
        case mono.Prim("check", (condition, mono.String(message), value), _, origin=origin):
            return context.guard(exp_of(go(condition)), lambda inner: thread(value, env, domain, at, inner),
                                 message, origin)
        case mono.Prim("error", (mono.String(message),), type_, origin=origin):
            return context.guard(ir.Const(False, "bool"), lambda inner: nothing(type_), message, origin)
        case mono.Prim("_compact", (part,)):
            return go(part)
        case mono.Prim(name, arguments, _, origin=origin) if name in ops.OPS:
            return apply_operator(name, [scalar_of(go(a)) for a in arguments], base_of(exp.type), context, origin)
        case mono.Prim("resized", (number,), Base(base)):
            return ScalarTerm(resized(exp_of(go(number)), base, context), base)
        case mono.Prim("length", (sequence,), Base(base)):
            return ScalarTerm(length(go(sequence), context), base)
        case mono.Prim(name, arguments, _, origin=origin):
            return BOUNDS[name]([go(a) for a in arguments], context, origin)
        case mono.Call(function, arguments):
            return call_scalar(function, [go(a) for a in arguments], context, exp.origin)
    raise TypeError(exp)


def bound(term: Term, hint: str, context: Context) -> Term:
    """Return the term with its scalars bound to names."""
    return rebuilt(term, iter([context.let(exp, hint) for exp, _ in list(components(term))]))


def call_scalar(function: str, terms: list[Term], context: Context, origin: Origin) -> Term:
    """Call a thread-level function, in the version for the payloads of its sequences. The call may fail, so it is bound
    at once."""
    version = context.emitter.version(function, terms, context)
    arguments = [exp for term in terms for exp, _ in components(term)]
    arguments += [ir.Var(name) for name in version.scalars]
    names = tuple([context.emitter.fresh("r") for _ in components(version.result)])
    context.failing = True
    call = ir.CallScalar(version.name, tuple(arguments), version.arrays, origin=origin)
    if version.promises:
        context.promised(call, version)
    context.bind(names, call)
    return rebuilt(version.result, iter([ir.Var(name) for name in names]))


def nothing(type_: Type) -> Term:
    """Return a term of zeros and empty sequences."""
    match type_:
        case Base(base):
            return ScalarTerm(zero_at(base), base)
        case Pair(first, second):
            return PairTerm(nothing(first), nothing(second))
        case Seq():
            none = empty(type_)
            assert isinstance(none, Sequence)
            return SeqTerm(ZERO, ZERO, none.leaves)
    raise TypeError(type_)


# Sequences: bounds only ------------------------------------------------------------------------------------


def length(term: Term, context: Context) -> ir.Exp:
    """Return #v. No size is beyond the ints (Emitter.most)."""
    found = seq_of(term).length
    context.note(found, lambda: SIZE)
    return found


def elt(terms: list[Term], context: Context, origin: Origin) -> Term:
    """Translate v[i]: the element, where 0 <= i < #v."""
    sequence, index = seq_of(terms[0]), context.let(exp_of(terms[1]), "ix")
    return context.guard(inside(index, sequence.length), lambda inner: sequence.element(index, inner), OUT_OF_BOUNDS,
                         origin)


def subseq(terms: list[Term], context: Context, origin: Origin) -> Term:
    """Return the bounds of elements start .. end-1."""
    sequence = seq_of(terms[0])
    start, end = (context.let(exp_of(term), hint) for term, hint in zip(terms[1:], ("from", "to")))
    within = op("and", op("and", op("<=", ZERO, start), op("<=", start, end)), op("<=", end, sequence.length))
    return context.guard(within, lambda inner: SeqTerm(plus(sequence.start, start), minus(end, start), sequence.leaves),
                         SUBSEQ, origin)


BOUNDS = {"elt": elt, "subseq": subseq}


def base_of(type_: Type) -> str:
    assert isinstance(type_, Base)
    return type_.name


def scalar_of(term: Term) -> ScalarTerm:
    assert isinstance(term, ScalarTerm)
    return term


def pair_of(term: Term) -> PairTerm:
    assert isinstance(term, PairTerm)
    return term
