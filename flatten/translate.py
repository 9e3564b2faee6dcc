"""Flat mode: every expression at a domain, emitting SOACs (flattening under a domain).

    G; D |- e => v > B        v the pull value of e over D, B the statements emitted

One arm per form of mono; sequence primitives are in flatten.sequences, apply-to-each in flatten.each, conditionals in
flatten.conditionals, calls in flatten.functions.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nessie.base.source import Unsupported, user_span
from nessie.base.types import Base
from nessie.flatten.contexts import Context
from nessie.flatten.domains import HOST, Domain
from nessie.flatten.emitter import Emitter
from nessie.flatten.materialise import from_host_term, solid
from nessie.flatten.thread import Purity, thread
from nessie.flatten.values import Both, Scalar, Sequence, Value, constant, delayed, stored
from nessie.frontend import mono
from nessie.lambda_cu import ops

Values = Mapping[str, Value]


@dataclass
class Translator:
    """The state of one program's translation."""
    program: mono.Program
    emitter: Emitter
    purity: Purity
    functions: dict[str, mono.Function]
    signatures: dict[str, object] = field(default_factory=dict)

    def __call__(self, exp: mono.Exp, env: Values, domain: Domain, hint: str = "a") -> Value:
        return translate(self, exp, env, domain, hint)


def translate(t: Translator, exp: mono.Exp, env: Values, domain: Domain, hint: str) -> Value:
    """The value of the expression over the domain. `hint` names what it computes."""
    from nessie.flatten import conditionals, each, functions, sequences

    if not isinstance(exp, mono.Var | mono.Const) and (origin := exp.origin):
        t.emitter.origin = origin
    if t.purity(exp):
        return pure(t, exp, env, domain, hint)
    match exp:
        case mono.Let(name, value, body):
            return t(body, {**env, name: let_value(t, value, env, domain, name)}, domain, hint)
        case mono.If():
            return conditionals.conditional(t, exp, env, domain, hint)
        case mono.Pair(first, second):
            return Both(t(first, env, domain, hint), t(second, env, domain, hint))
        case mono.First(pair):
            return both(t(pair, env, domain, hint)).first
        case mono.Second(pair):
            return both(t(pair, env, domain, hint)).second
        case mono.String(text):
            return sequences.constants(t, tuple(text), "char")
        case mono.Literal():
            return sequences.literal(t, exp, env, domain, hint)
        case mono.Each():
            return each.apply_to_each(t, exp, env, domain, hint)
        case mono.Call():
            return functions.call(t, exp, env, domain, hint)
        case mono.Prim("check", (condition, mono.String(message), value)):
            return checked(t, exp, condition, message, value, env, domain, hint)
        case mono.Prim("error", _):
            raise unsupported("error with a computed message", exp)
        case mono.Prim(name, arguments) if name in ops.OPS or name in ("elt", "length", "subseq"):
            return pure_on_values(t, exp, [t(a, env, domain, hint) for a in arguments], domain, hint)
        case mono.Prim(name, arguments) if name in sequences.RULES:
            values = [t(a, env, domain, hint) for a in arguments]
            t.emitter.origin = exp.origin
            return sequences.RULES[name](t, exp, values, domain, hint)
        case mono.Prim(name):
            raise unsupported(f"the primitive {name}", exp)
    raise TypeError(exp)


def let_value(t: Translator, exp: mono.Exp, env: Values, domain: Domain, name: str) -> Value:
    """What a let binds: computed now, whether it is used or not."""
    value = t(exp, env, domain, name)
    return value if isinstance(exp, mono.Var) else solid(t.emitter, value, domain, name)


def pure(t: Translator, exp: mono.Exp, env: Values, domain: Domain, hint: str) -> Value:
    """A pull value; stored at once if it can fail, so that it fails for all of its own domain and for no other."""
    match exp:
        case mono.Var(name):
            return env[name]
        case mono.Const(number, Base(base)):
            return constant(number, base)
    if domain is HOST:
        return from_host_term(t.emitter, thread(exp, env, HOST, HOST.here(), t.emitter.host()), hint)
    context = Context(t.emitter)
    shape = thread(exp, env, domain, domain.here(), context)
    value = delayed(domain, lambda at, c: thread(exp, env, domain, at, c), shape)
    return solid(t.emitter, value, domain, hint) if context.failing else value


def pure_on_values(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """A pure primitive whose arguments are not: as if they were variables."""
    names = [f"#{k}" for k in range(len(values))]
    variables = tuple(mono.Var(name, exp.type) for name in names)
    return pure(t, mono.Prim(exp.name, variables, exp.type, exp.origin), dict(zip(names, values)), domain, hint)


def checked(t: Translator, exp: mono.Prim, condition: mono.Exp, message: str, value: mono.Exp, env: Values,
            domain: Domain, hint: str) -> Value:
    """check(c, message, e): e runs only where c holds, as a conditional whose other side is an error."""
    from nessie.flatten import conditionals

    failure = mono.Prim("error", (mono.String(message),), exp.type, exp.origin)
    return conditionals.conditional(t, mono.If(condition, value, failure, exp.origin), env, domain, hint)


def unsupported(what: str, exp: mono.Exp) -> Unsupported:
    span = user_span(exp.origin)
    return Unsupported(f"{what} is not supported in compiled programs yet", *([(span, "used here")] if span else []))


def both(value: Value) -> Both:
    assert isinstance(value, Both)
    return value


def sequence(value: Value) -> Sequence:
    assert isinstance(value, Sequence)
    return value


def scalar(value: Value) -> Scalar:
    assert isinstance(value, Scalar)
    return value


def result_scalars(home: Domain, names: list[str], bases: list[str]) -> list[Scalar]:
    return [stored(home, name, base) for name, base in zip(names, bases)]
