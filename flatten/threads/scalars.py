"""NESL's scalar primitives as thread expressions: the operator, with the checks that make it total around it."""
from __future__ import annotations

from nessie.base.source import Origin
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import TRUE, ZERO, op
from nessie.flatten.values.values import ScalarTerm
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import ops

INTS_BELOW, INTS_FROM = ir.Const(2.0 ** 63, "float"), ir.Const(-2.0 ** 63, "float")
LAST_CHARACTER = ir.Const(0x10FFFF, "int")


def apply_operator(name: str, terms: list[ScalarTerm], context: Context, origin: Origin) -> ScalarTerm:
    """The operator on the terms. A failing check yields zero and is bound in the context at once."""
    base = ops.result_type(name, tuple(term.base for term in terms))
    assert base is not None, f"{name} on {[term.base for term in terms]}"
    exps = [term.exp for term in terms]
    row = ops.OPS[name]
    if row.domain:
        exps[-1] = context.let(exps[-1], "x")          # what is checked is used twice
        condition = condition_of(row.domain, terms[-1].base, exps[-1])
        return ScalarTerm(context.check(condition, ir.Op(name, tuple(exps)), base, row.failure, origin), base)
    return ScalarTerm(ir.Op(name, tuple(exps)), base)


def condition_of(domain: str, base: str, exp: ir.Exp) -> ir.Exp:
    """The test that the operand is in the operator's domain."""
    zero = ir.Const(0.0, "float") if base == "float" else ZERO
    match domain:
        case ops.NOT_ZERO:
            return TRUE if base == "float" and isinstance(exp, ir.Const) and exp.value != 0 else op("/=", exp, zero)
        case ops.NOT_NEGATIVE:
            return op("not", op("<", exp, zero))
        case ops.SHIFT_COUNT:
            return within(ZERO, exp, ir.Const(63, "int"))
        case ops.CODE_POINT:
            return within(ZERO, exp, LAST_CHARACTER)
    return op("and", op("<=", INTS_FROM, exp), op("<", exp, INTS_BELOW))


def within(low: ir.Const, exp: ir.Exp, high: ir.Const) -> ir.Exp:
    return op("and", op("<=", low, exp), op("<=", exp, high))


def identity(operator: str, base: str) -> ir.Const:
    """The operator's true identity: combining it with x gives x, for every x."""
    return ir.Const(ops.OPS[operator].unit[base], base)


def monoid(operator: str) -> ir.Thunk:
    return ir.Thunk(("x", "y"), op(operator, ir.Var("x"), ir.Var("y")))
