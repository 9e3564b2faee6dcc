"""The scalar operators of lambda_cu: name, types, meaning. One row each.

Operators are total: what can go wrong (division by zero, a shift out of range) is checked by an `if` around
them, so each executor gives any value it likes outside the stated domain, but must not trap. The reference
executor, the interpreters and the printers each have their own table of meanings, keyed by these names;
tests hold that every table covers every row.
"""
from __future__ import annotations

from nessie.base.records import dataclass

NUMBER, ORDINAL, LOGICAL = ("int", "float"), ("int", "float", "char"), ("int", "bool")
SCALAR = ("int", "float", "bool", "char")


@dataclass(frozen=True)
class Row:
    """`arity` arguments, all of one type among `types`; the result has that type too unless `result` says which."""
    name: str
    types: tuple[str, ...]
    arity: int
    result: str | None
    meaning: str


ROWS = (
    Row("+", NUMBER, 2, None, "sum; int wraps"),
    Row("-", NUMBER, 2, None, "difference; int wraps"),
    Row("*", NUMBER, 2, None, "product; int wraps"),
    Row("/", NUMBER, 2, None, "quotient; int truncates towards zero; divisor not 0; min_int / -1 wraps"),
    Row("rem", ("int",), 2, None, "remainder with the dividend's sign; divisor not 0"),
    Row("mod", ("int",), 2, None, "remainder with the divisor's sign; divisor not 0"),
    Row("neg", NUMBER, 1, None, "0 - x: -0.0 of 0.0 is 0.0"),
    Row("abs", NUMBER, 1, None, "absolute value; int wraps"),
    Row("max", ORDINAL, 2, None, "greater; NaN if either is; 0.0 is greater than -0.0"),
    Row("min", ORDINAL, 2, None, "lesser; NaN if either is; -0.0 is less than 0.0"),
    Row("==", SCALAR, 2, "bool", "equal; NaN equals nothing"),
    Row("/=", SCALAR, 2, "bool", "not equal"),
    Row("<", ORDINAL, 2, "bool", "less"),
    Row("<=", ORDINAL, 2, "bool", "less or equal"),
    Row(">", ORDINAL, 2, "bool", "greater"),
    Row(">=", ORDINAL, 2, "bool", "greater or equal"),
    Row("and", LOGICAL, 2, None, "conjunction, bitwise on int; strict"),
    Row("or", LOGICAL, 2, None, "disjunction, bitwise on int; strict"),
    Row("xor", LOGICAL, 2, None, "exclusive or, bitwise on int"),
    Row("not", LOGICAL, 1, None, "complement, bitwise on int"),
    Row("lshift", ("int",), 2, None, "left shift; count in 0..63"),
    Row("rshift", ("int",), 2, None, "arithmetic right shift; count in 0..63"),
    Row("mul_high", ("int",), 2, None, "the upper 64 bits of the product, as if without signs"),
    Row("mix", ("int",), 1, None, "64 bits that look random: the finaliser of splitmix64"),
    Row("float", ("int",), 1, "float", "nearest float"),
    Row("trunc", ("float",), 1, "int", "towards zero; in range"),
    Row("floor", ("float",), 1, "int", "downwards; in range"),
    Row("ceil", ("float",), 1, "int", "upwards; in range"),
    Row("round", ("float",), 1, "int", "to nearest, halves away from zero; in range"),
    Row("btoi", ("bool",), 1, "int", "1 or 0"),
    Row("char_code", ("char",), 1, "int", "the code point"),
    Row("code_char", ("int",), 1, "char", "the character; code point in 0..1114111"),
    Row("sqrt", ("float",), 1, None, "square root; not negative"),
    Row("ln", ("float",), 1, None, "natural logarithm; not negative; ln 0 is -inf"),
    Row("exp", ("float",), 1, None, "e to the x"),
    Row("sin", ("float",), 1, None, "of radians"),
    Row("cos", ("float",), 1, None, "of radians"),
    Row("tan", ("float",), 1, None, "of radians"),
    Row("asin", ("float",), 1, None, "NaN outside -1..1"),
    Row("acos", ("float",), 1, None, "NaN outside -1..1"),
    Row("atan", ("float",), 1, None, ""),
    Row("sinh", ("float",), 1, None, ""),
    Row("cosh", ("float",), 1, None, ""),
    Row("tanh", ("float",), 1, None, ""),
    Row("isnan", ("float",), 1, "bool", ""),
)

OPS: dict[str, Row] = {row.name: row for row in ROWS}

# What an operator on ints leaves the other operand as it is with: to the left of it, to its right.
LEFT_UNITS = {"+": 0, "*": 1, "or": 0, "xor": 0, "and": -1}
RIGHT_UNITS = {**LEFT_UNITS, "-": 0, "/": 1, "lshift": 0, "rshift": 0}


def result_type(op: str, arguments: tuple[str, ...]) -> str | None:
    """The type of the operator on arguments of these types, or None where it does not apply."""
    row = OPS.get(op)
    if row is None or len(arguments) != row.arity or len(set(arguments)) != 1 or arguments[0] not in row.types:
        return None
    return row.result or arguments[0]
