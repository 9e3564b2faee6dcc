"""Flat mode: translates every expression at a domain and emits SOACs (flattening under a domain).

    G; D |- e => v > B        v is the pull value of e over D, B the statements emitted

Each form of mono has one arm. Sequence primitives are in flatten.rules.sequences, apply-to-each in flatten.rules.each,
conditionals in flatten.rules.conditionals, calls in flatten.calls.functions, effects in flatten.rules.effects.
"""
from __future__ import annotations

from nessie.base.types import BOOL
from nessie.flatten.calls.all_rows import by_rows_or_all
from nessie.flatten.calls.compaction import compacted
from nessie.flatten.calls.functions import call
from nessie.flatten.rules.building import chained, literal
from nessie.flatten.rules.conditionals import conditional
from nessie.flatten.rules.each import apply_to_each, reduce_each
from nessie.flatten.rules.effects import effect, is_effect
from nessie.flatten.rules.sequences import RULES
from nessie.flatten.rules.slices import part
from nessie.flatten.threads.thread import PURE_SEQUENCE
from nessie.flatten.translator import Translator, Values, both, let_value, pure, pure_on_values
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, Domain
from nessie.flatten.values.materialise import check_all
from nessie.flatten.values.values import Both, Value, exp_of, pull
from nessie.lambda_cu import ops
from nessie.mono import nodes as mono


def translate(t: Translator, exp: mono.Exp, env: Values, domain: Domain, hint: str) -> Value:
    """Return the value of the expression over the domain. `hint` is the base of the names of its results."""
    if not isinstance(exp, mono.Var | mono.Const) and (origin := exp.origin):
        t.emitter.origin = origin
    if isinstance(exp, mono.Literal | mono.String):
        return literal(t, exp, env, domain, hint)
    if isinstance(exp, mono.Prim) and exp.name == "_compact":
        whole = t.value(exp.arguments[0], env, domain, hint)
        return compacted(t.emitter, whole, exp.type, domain, hint)
    if t.purity.pure(exp):
        return part(t, exp, env, domain) or pure(t, exp, env, domain, hint)
    match exp:
        case mono.Let():
            return lets(t, exp, env, domain, hint)
        case mono.If(condition, then, orelse) if t.purity.pure(then) and t.purity.pure(orelse):
            test = mono.Var("#test", BOOL)
            chosen = mono.If(test, then, orelse, origin=exp.origin)
            return pure(t, chosen, {**env, test.name: t.value(condition, env, domain, "test")}, domain, hint)
        case mono.If():
            found = by_rows_or_all(t, exp, env, hint) if domain is HOST else None
            return conditional(t, exp, env, domain, hint) if found is None else found
        case mono.Pair(first, second):
            return Both(t.value(first, env, domain, hint), t.value(second, env, domain, hint))
        case mono.First(pair):
            return both(t.value(pair, env, domain, hint)).first
        case mono.Second(pair):
            return both(t.value(pair, env, domain, hint)).second
        case mono.Each():
            return apply_to_each(t, exp, env, domain, hint)
        case mono.Call():
            return call(t, exp, env, domain, hint)
        case mono.Prim("check", (condition, mono.String(message), value)):
            return checked(t, exp, condition, message, value, env, domain, hint)
        case mono.Prim(name, arguments) if is_effect(name):
            values = [t.value(a, env, domain, hint) for a in arguments]
            t.emitter.origin = exp.origin
            return effect(t, exp, values, domain, hint)
        case mono.Prim(name, arguments) if name in ops.OPS or name in PURE_SEQUENCE:
            return pure_on_values(t, exp, [t.value(a, env, domain, hint) for a in arguments], domain, hint)
        case mono.Prim(name, (mono.Each() as each,)) if name.startswith("reduce_"):
            return reduce_each(t, exp, each, env, domain, hint)
        case mono.Prim(name, arguments) if name in RULES:
            parts = chained(exp) if name == "append" else arguments
            values = [t.value(a, env, domain, hint) for a in parts]
            t.emitter.origin = exp.origin
            return RULES[name](t, exp, values, domain, hint)
    raise TypeError(exp)


def lets(t: Translator, exp: mono.Exp, env: Values, domain: Domain, hint: str) -> Value:
    """Translate a chain of lets. Names are bound once, so the whole chain extends one environment."""
    inner = dict(env)
    while isinstance(exp, mono.Let) and not t.purity.pure(exp):
        inner[exp.name] = let_value(t, exp.value, inner, domain, exp.name)
        exp = exp.body
    return t.value(exp, inner, domain, hint)


def checked(t: Translator, exp: mono.Prim, condition: mono.Exp, message: str, value: mono.Exp, env: Values,
            domain: Domain, hint: str) -> Value:
    """Translate check(c, message, e). On the host, e waits for the check. Under a domain, e runs for all elements, as
    after every failure there: no operation reads or writes outside its own data, whatever it is given."""
    test = t.value(condition, env, domain, "test")
    t.emitter.origin = exp.origin
    context: Context = t.emitter.host() if domain is HOST else Context(t.emitter, domain)
    holds = exp_of(pull(test, domain, domain.here(), context))
    check_all(t.emitter, domain, context, holds, message, exp.origin)
    return t.value(value, env, domain, hint)
