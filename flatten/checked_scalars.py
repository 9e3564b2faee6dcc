"""Scalars that must be known to be right before they are used: lengths, checks over a whole domain."""
from __future__ import annotations

from collections.abc import Callable

from nessie.flatten.contexts import Context
from nessie.flatten.domains import HOST, At, Domain
from nessie.flatten.materialise import (
    solid,
)
from nessie.flatten.translator import Translator, scalar
from nessie.flatten.values import (
    Scalar,
    ScalarTerm,
    Term,
    constant,
    delayed,
    exp_of,
    pull,
)
from nessie.frontend import mono
from nessie.lambda_cu import ir


def settled(t: Translator, domain: Domain, term_at: Callable[[At, Context], Term], hint: str) -> Scalar:
    """A scalar over the domain; stored if it can fail."""
    if domain is HOST:
        context = t.emitter.host()
        exp = context.let(exp_of(term_at(HOST.here(), context)), hint)
        base = t.emitter.base_of(exp, {})
        return constant(exp.value, base) if isinstance(exp, ir.Const) else Scalar(HOST, base, lambda at, c: exp)
    trial = Context(t.emitter)
    value = delayed(domain, term_at, term_at(domain.here(), trial))
    return scalar(solid(t.emitter, value, domain, hint) if trial.failing else value)


def checked_scalar(t: Translator, domain: Domain, value: Scalar, holds: Callable[[ir.Exp], ir.Exp], message: str,
                   exp: mono.Prim) -> Scalar:
    """The scalar, checked over the domain; zero after a failure."""
    def term_at(at: At, context: Context) -> Term:
        found = context.let(exp_of(pull(value, domain, at, context)), "n")
        if isinstance(found, ir.Const) and int(found.value) >= 0:
            return ScalarTerm(found, value.base)
        return ScalarTerm(context.check(holds(found), found, value.base, message, exp.origin), value.base)
    return settled(t, domain, term_at, "n")
