"""Scalars that must be checked before they are used: lengths, checks over a whole domain."""
from __future__ import annotations

from collections.abc import Callable

from nessie.flatten.translator import Translator, scalar
from nessie.flatten.values.contexts import AlikeContext, Context
from nessie.flatten.values.domains import HOST, At, Domain
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.materialise import on_host, solid
from nessie.flatten.values.values import Scalar, Term, constant, delayed, exp_of
from nessie.lambda_cu import nodes as ir


def checked_scalar(t: Translator, domain: Domain, term_at: Callable[[At, Context], Term], hint: str) -> Scalar:
    """Return a scalar over the domain, stored if it can fail. One that does not depend on the element is the host's; it
    is zero where there are no elements."""
    emitter = t.emitter
    if domain is HOST:
        context = emitter.host()
        exp = context.let(exp_of(term_at(HOST.here(), context)), hint)
        return host_atom(emitter, exp)
    trial = Context(emitter, domain)
    shape = term_at(domain.here(), trial)
    value = scalar(delayed(domain, term_at, shape))
    if not trial.failing:
        return value
    if not trial.alike(exp_of(shape)):
        return scalar(solid(emitter, value, domain, hint))
    alike = AlikeContext(emitter, domain)
    return on_host(emitter, alike, exp_of(term_at(domain.here(), alike)), value.base, hint, guarded=True)


def host_atom(emitter: Emitter, exp: ir.Exp) -> Scalar:
    base = emitter.base_of(exp, {})
    return constant(exp.value, base) if isinstance(exp, ir.Const) else Scalar(HOST, base, lambda at, c: exp)
