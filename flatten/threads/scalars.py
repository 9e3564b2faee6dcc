"""NESL's scalar primitives as thread expressions: the operator, with the checks that make it total around it."""
from __future__ import annotations

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.source import Origin
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import TRUE, ZERO, op
from nessie.flatten.values.values import ScalarTerm
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import ops

SHIFTS = "Shift count out of range, it must be in 0..63."
RANGE = "Float out of the range of int in function {}."
INTS_BELOW, INTS_FROM = ir.Const(2.0 ** 63, "float"), ir.Const(-2.0 ** 63, "float")
LAST_CHARACTER = ir.Const(0x10FFFF, "int")
DIVISIONS = {"/": "Divide by zero.", "rem": "Divide by zero in function REM.", "mod": "Divide by zero in function MOD."}
NOT_NEGATIVE = {"sqrt": "Sqrt of negative number.", "ln": "Ln of negative number."}
CHECKED = (*DIVISIONS, *NOT_NEGATIVE, "lshift", "rshift", "trunc", "floor", "ceil", "round", "code_char")


def apply_operator(name: str, terms: list[ScalarTerm], context: Context, origin: Origin) -> ScalarTerm:
    """The operator on the terms. A failing check yields zero and is bound in the context at once."""
    base = ops.result_type(name, tuple(term.base for term in terms))
    assert base is not None, f"{name} on {[term.base for term in terms]}"
    exps = [term.exp for term in terms]
    if name in CHECKED:
        exps[-1] = context.let(exps[-1], "x")          # what is checked is used twice
        condition, message = check_of(name, terms[0].base, exps)
        return ScalarTerm(context.check(condition, ir.Op(name, tuple(exps)), base, message, origin), base)
    return ScalarTerm(ir.Op(name, tuple(exps)), base)


def check_of(name: str, base: str, exps: list[ir.Exp]) -> tuple[ir.Exp, str]:
    """What must hold for the operator, and what to say where it does not."""
    if name in DIVISIONS:
        divisor = exps[1]
        if base == "float" and isinstance(divisor, ir.Const) and divisor.value != 0:
            return TRUE, ""
        return op("/=", divisor, ir.Const(0.0, "float") if base == "float" else ZERO), DIVISIONS[name]
    if name in NOT_NEGATIVE:
        return op("not", op("<", exps[0], ir.Const(0.0, "float"))), NOT_NEGATIVE[name]
    if name in ("lshift", "rshift"):
        return within(ZERO, exps[1], ir.Const(63, "int")), SHIFTS
    if name == "code_char":
        return within(ZERO, exps[0], LAST_CHARACTER), "Not the code of a character in function CODE_CHAR."
    return (op("and", op("<=", INTS_FROM, exps[0]), op("<", exps[0], INTS_BELOW)), RANGE.format(name.upper()))


def within(low: ir.Const, exp: ir.Exp, high: ir.Const) -> ir.Exp:
    return op("and", op("<=", low, exp), op("<=", exp, high))


IDENTITIES: dict[tuple[str, str], int | float | bool | str] = {
    ("+", "int"): 0, ("+", "float"): 0.0, ("*", "int"): 1, ("*", "float"): 1.0,
    ("max", "int"): MIN_INT, ("max", "float"): float("-inf"), ("max", "char"): "\0",
    ("min", "int"): MAX_INT, ("min", "float"): float("inf"), ("min", "char"): "\U0010ffff",
    ("and", "int"): -1, ("and", "bool"): True, ("or", "int"): 0, ("or", "bool"): False,
    ("xor", "int"): 0, ("xor", "bool"): False,
}


def identity(operator: str, base: str) -> ir.Const:
    """The operator's true identity: combining it with x gives x, for every x."""
    return ir.Const(IDENTITIES[operator, base], base)


def monoid(operator: str) -> ir.Thunk:
    return ir.Thunk(("x", "y"), op(operator, ir.Var("x"), ir.Var("y")))
