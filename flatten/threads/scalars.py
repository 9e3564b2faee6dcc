"""NESL's scalar primitives as thread expressions: the operator, with the checks that make it total around it."""
from __future__ import annotations

from nessie.base.source import Origin
from nessie.base.widths import FITTING, WIDE, wide
from nessie.flatten.ranges.proofs import holds
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import TRUE, ZERO, op
from nessie.flatten.values.values import ScalarTerm
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import ops

INTS_BELOW, INTS_FROM = ir.Const(2.0 ** 63, "float"), ir.Const(-2.0 ** 63, "float")
LAST_CHARACTER = ir.Const(0x10FFFF, "int")


def apply_operator(name: str, terms: list[ScalarTerm], base: str, context: Context, origin: Origin) -> ScalarTerm:
    """The operator on the terms, giving a number as narrow as `base` says. A failing check yields zero and is bound in
    the context at once."""
    found = ops.result_type(name, tuple(term.base for term in terms))
    assert found == wide(base), f"{name} on {[term.base for term in terms]} gives {found}, not {base}"
    exps = [term.exp for term in terms]
    row = ops.OPS[name]
    if changes_nothing(row, terms, base, context):
        return terms[0]
    if row.domain:
        exps[-1] = context.let(exps[-1], "x")          # what is checked is used twice
    result: ir.Exp = ir.Op(name, tuple(exps))
    if not row.domain:
        return ScalarTerm(narrowed(result, base, terms, context), base)
    condition = condition_of(row.domain, terms[-1].base, base, exps[-1])
    if row.domain == ops.INT_RANGE and base in FITTING:
        condition = op("and", condition, fits(result, base))
    else:
        result = narrowed(result, base, terms, context)
    return ScalarTerm(context.check(condition, result, wide(base), failure_of(row, base), origin), base)


def changes_nothing(row: ops.Row, terms: list[ScalarTerm], base: str, context: Context) -> bool:
    """Is it x + 0, x * 1 or x / 1 of ints?"""
    return (row.right is not None and wide(base) == "int" and terms[0].base == base
            and context.ranges.defined(terms[-1].exp) == ir.Const(row.right, "int"))


def narrowed(result: ir.Exp, base: str, terms: list[ScalarTerm], context: Context) -> ir.Exp:
    """Return what the operator gives on the terms as a number of this type."""
    assert isinstance(result, ir.Op)
    stays = result.op in ops.STAY_NARROW.get(base, ()) and all([term.base == base for term in terms])
    return result if stays else resized(result, base, context)


def resized(exp: ir.Exp, base: str, context: Context) -> ir.Exp:
    """Return the number as one of this type. An int that certainly fits stays as it is."""
    if base not in WIDE or isinstance(exp, ir.Const):
        return exp
    if base in FITTING and holds(context.ranges, fits(exp, base)):
        return exp
    return op(base, exp)


def fits(exp: ir.Exp, base: str) -> ir.Exp:
    """The test that an int is one of this type."""
    low, high = FITTING[base]
    return within(ir.Const(low, "int"), ir.Const(high, "int"), exp)


def failure_of(row: ops.Row, base: str) -> str:
    """The message of an operator that fails, where it gives a number of this type."""
    return row.failure.replace("0..63", "0..31") if base == "int32" else row.failure


def condition_of(domain: str, base: str, result: str, exp: ir.Exp) -> ir.Exp:
    """The test that the operand, of type `base`, is in the domain of an operator that gives a `result`."""
    base = wide(base)
    zero = ir.Const(0.0, "float") if base == "float" else ZERO
    match domain:
        case ops.NOT_ZERO:
            return TRUE if base == "float" and isinstance(exp, ir.Const) and exp.value != 0 else op("/=", exp, zero)
        case ops.NOT_NEGATIVE:
            return op("not", op("<", exp, zero))
        case ops.SHIFT_COUNT:
            return within(ZERO, ir.Const(31 if result == "int32" else 63, "int"), exp)
        case ops.CODE_POINT:
            return within(ZERO, LAST_CHARACTER, exp)
    return op("and", op("<=", INTS_FROM, exp), op("<", exp, INTS_BELOW))


def within(low: ir.Const, high: ir.Const, exp: ir.Exp) -> ir.Exp:
    return op("and", op("<=", low, exp), op("<=", exp, high))


def identity(operator: str, base: str) -> ir.Const:
    """What the operator makes of no elements. Combining it with x gives x, but for sums of floats, where 0.0 makes 0.0
    of -0.0: see neutral."""
    unit = ops.OPS[operator].unit[wide(base)]
    if base in FITTING and isinstance(unit, int):
        unit = min(max(unit, FITTING[base][0]), FITTING[base][1])
    return ir.Const(unit, wide(base))


def neutral(operator: str, base: str) -> ir.Const:
    """What combined with x gives x, bit for bit, for every x of the type."""
    unit = identity(operator, base)
    return ir.Const(-0.0, unit.type) if operator == "+" and unit.type == "float" else unit


def monoid(operator: str) -> ir.Thunk:
    return ir.Thunk(("x", "y"), op(operator, ir.Var("x"), ir.Var("y")))
