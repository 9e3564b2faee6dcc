"""Scalars that must be known to be right before they are used: lengths, checks over a whole domain."""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.types import ZEROS
from nessie.flatten.contexts import Context
from nessie.flatten.domains import HOST, ZERO, At, Domain, atom_of, op
from nessie.flatten.materialise import host_scalar, solid
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
from nessie.lambda_cu import ir, scope


def settled(t: Translator, domain: Domain, term_at: Callable[[At, Context], Term], hint: str) -> Scalar:
    """A scalar over the domain; stored if it can fail."""
    if domain is HOST:
        context = t.emitter.host()
        exp = context.let(exp_of(term_at(HOST.here(), context)), hint)
        base = t.emitter.base_of(exp, {})
        return constant(exp.value, base) if isinstance(exp, ir.Const) else Scalar(HOST, base, lambda at, c: exp)
    trial = Context(t.emitter)
    shape = term_at(domain.here(), trial)
    value = scalar(delayed(domain, term_at, shape))
    if not trial.failing:
        return value
    exp = trial.close(exp_of(shape))
    if same_for_all(exp, domain):
        return on_host(t, exp, value.base, domain, hint)
    return scalar(solid(t.emitter, value, domain, hint))


def same_for_all(exp: ir.Exp, domain: Domain) -> bool:
    """Has the expression one value over the domain, that the host can compute?"""
    return not set(scope.free_names(exp)).intersection(domain.params) and not any(
        isinstance(part, ir.CallScalar) for part in scope.subexpressions(exp))


def on_host(t: Translator, exp: ir.Exp, base: str, domain: Domain, hint: str) -> Scalar:
    """The same, computed once; it fails only if there is an element that it would fail for. So a length of all
    sequences alike is known to be one, and their space is uniform."""
    some = op("<", ZERO, atom_of(domain.size))
    return host_scalar(t.emitter, ir.If(some, exp, ir.Const(ZEROS[base], base)), base, hint)


def checked_scalar(t: Translator, domain: Domain, value: Scalar, holds: Callable[[ir.Exp], ir.Exp], message: str,
                   exp: mono.Prim) -> Scalar:
    """The scalar, checked over the domain; zero after a failure."""
    def term_at(at: At, context: Context) -> Term:
        found = context.let(exp_of(pull(value, domain, at, context)), "n")
        if isinstance(found, ir.Const) and int(found.value) >= 0:
            return ScalarTerm(found, value.base)
        return ScalarTerm(context.check(holds(found), found, value.base, message, exp.origin), value.base)
    return settled(t, domain, term_at, "n")
