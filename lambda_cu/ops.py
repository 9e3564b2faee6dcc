"""The scalar operators of lambda_cu, a row for each: name, types, meaning, and what stages need to know of it.

Operators are total. An `if` around one checks what can go wrong (division by zero, a shift out of range), so each
executor gives any value it likes outside the stated domain, but must not trap. A row says all of a function that NumPy,
Python and C have. Operators that take more than a name have an entry in the tables of those who compute them
(lambda_cu.reference.operators, cudagen.loops.meanings, cudagen.cpu.text.operators, cudagen.cuda.operators); tests hold
that each of these covers every row.
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import field
from typing import Any

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.records import dataclass
from nessie.base.widths import wide

NUMBER, ORDINAL, LOGICAL = ("int", "float"), ("int", "float", "char"), ("int", "bool")
INT, FLOAT = ("int",), ("float",)
SCALAR = ("int", "float", "bool", "char")

# Domains of the last operand.
NOT_ZERO, NOT_NEGATIVE, SHIFT_COUNT = "not 0", "not negative", "in 0..63"
INT_RANGE, CODE_POINT = "in the range of int", "a character's code"
OPERATION, DIVISION, FUNCTION = "operation", "division", "function"      # costs
COMPARISON, SUM, PRODUCT = 4, 5, 6                                       # levels
Constant = int | float | bool | str


@dataclass(frozen=True)
class Row:
    """`arity` arguments, all of one type among `types`; the result has that type too unless `result` says which.

    level       how tightly the infix operator binds in texts; 0: it is written as a function
    domain      what holds of its last operand, else it fails with the message `failure`
    cost        OPERATION, DIVISION or FUNCTION
    unit        by type: what is neutral on both sides of an associative operator, which a reduction may have
    left, right what is neutral on that side, on ints
    numpy, math, c      the function's name in NumPy, in Python's module math, in C's library
    atomic      by type: the atomic operation of GPUs that combines what memory holds with a value
    """
    name: str
    types: tuple[str, ...]
    arity: int
    result: str | None
    meaning: str
    level: int = 0
    domain: str = ""
    failure: str = ""
    cost: str = OPERATION
    unit: dict[str, Constant] = field(default_factory=dict)
    left: int | None = None
    right: int | None = None
    numpy: str = ""
    math: str = ""
    c: str = ""
    atomic: dict[str, str] = field(default_factory=dict)


def function(name: str, meaning: str, numpy: str = "", c: str = "", domain: str = "", failure: str = "") -> Row:
    """A function of a float that NumPy, Python and C have, by the same name in the latter two."""
    return Row(name, FLOAT, 1, None, meaning, domain=domain, failure=failure, cost=FUNCTION, numpy=numpy or name,
               math=c or name, c=c or name)


def of_numpy(name: str, arity: int, meaning: str, numpy: str = "") -> Row:
    """A function of floats that NumPy and C have, and Python has not or for other numbers."""
    return Row(name, FLOAT, arity, None, meaning, cost=FUNCTION, numpy=numpy or name, c=name)


def comparison(name: str, types: tuple[str, ...], meaning: str, numpy: str) -> Row:
    return Row(name, types, 2, "bool", meaning, COMPARISON, numpy=numpy)


def to_int(name: str, meaning: str) -> Row:
    return Row(name, FLOAT, 1, "int", meaning, domain=INT_RANGE,
               failure=f"Float out of the range of int in function {name.upper()}.")


def shift(name: str, meaning: str) -> Row:
    return Row(name, INT, 2, None, meaning, domain=SHIFT_COUNT, right=0,
               failure="Shift count out of range, it must be in 0..63.")


ROWS = (
    Row("+", NUMBER, 2, None, "sum; int wraps", SUM, unit={"int": 0, "float": 0.0}, left=0, right=0, numpy="add",
        atomic={"int": "add"}),
    Row("-", NUMBER, 2, None, "difference; int wraps", SUM, right=0, numpy="subtract"),
    Row("*", NUMBER, 2, None, "product; int wraps", PRODUCT, unit={"int": 1, "float": 1.0}, left=1, right=1,
        numpy="multiply"),
    Row("/", NUMBER, 2, None, "quotient; int truncates towards zero; min_int / -1 wraps", PRODUCT, NOT_ZERO,
        "Divide by zero.", DIVISION, right=1),
    Row("rem", INT, 2, None, "remainder with the dividend's sign", PRODUCT, NOT_ZERO,
        "Divide by zero in function REM.", DIVISION, numpy="fmod"),
    Row("mod", INT, 2, None, "remainder with the divisor's sign", PRODUCT, NOT_ZERO,
        "Divide by zero in function MOD.", DIVISION, numpy="mod"),
    Row("neg", NUMBER, 1, None, "0 - x: -0.0 of 0.0 is 0.0"),
    Row("abs", NUMBER, 1, None, "absolute value; int wraps", numpy="abs"),
    Row("max", ORDINAL, 2, None, "greater; NaN if either is; 0.0 is greater than -0.0",
        unit={"int": MIN_INT, "float": float("-inf"), "char": "\0"}, numpy="maximum",
        atomic={"int": "max", "float": "max", "char": "max"}),
    Row("min", ORDINAL, 2, None, "lesser; NaN if either is; -0.0 is less than 0.0",
        unit={"int": MAX_INT, "float": float("inf"), "char": "\U0010ffff"}, numpy="minimum",
        atomic={"int": "min"}),
    comparison("==", SCALAR, "equal; NaN equals nothing", "equal"),
    comparison("/=", SCALAR, "not equal", "not_equal"),
    comparison("<", ORDINAL, "less", "less"),
    comparison("<=", ORDINAL, "less or equal", "less_equal"),
    comparison(">", ORDINAL, "greater", "greater"),
    comparison(">=", ORDINAL, "greater or equal", "greater_equal"),
    Row("and", LOGICAL, 2, None, "conjunction, bitwise on int; strict", 3, unit={"int": -1, "bool": True}, left=-1,
        right=-1, numpy="bitwise_and"),
    Row("or", LOGICAL, 2, None, "disjunction, bitwise on int; strict", 1, unit={"int": 0, "bool": False}, left=0,
        right=0, numpy="bitwise_or", atomic={"bool": "max"}),
    Row("xor", LOGICAL, 2, None, "exclusive or, bitwise on int", 2, unit={"int": 0, "bool": False}, left=0, right=0,
        numpy="bitwise_xor"),
    Row("not", LOGICAL, 1, None, "complement, bitwise on int", numpy="invert"),
    shift("lshift", "left shift; count in 0..63"),
    shift("rshift", "arithmetic right shift; count in 0..63"),
    Row("mul_high", INT, 2, None, "the upper 64 bits of the product, as if without signs"),
    Row("ones", INT, 1, None, "how many of the 64 bits are 1"),
    Row("mix", INT, 1, None, "64 bits that look random: the finaliser of splitmix64"),
    Row("int32", INT, 1, "int32", "the lower 32 bits, in two's complement"),
    Row("float32", FLOAT, 1, "float32", "the nearest single, of two the even one"),
    Row("widened", SCALAR, 1, None, "the value itself, of the type that it is computed with"),
    Row("float", INT, 1, "float", "nearest float"),
    to_int("trunc", "towards zero; in range"),
    to_int("floor", "downwards; in range"),
    to_int("ceil", "upwards; in range"),
    to_int("round", "to nearest, halves away from zero; in range"),
    Row("btoi", ("bool",), 1, "int", "1 or 0"),
    Row("char_code", ("char",), 1, "int", "the code point"),
    Row("code_char", INT, 1, "char", "the character; code point in 0..1114111", domain=CODE_POINT,
        failure="Not the code of a character in function CODE_CHAR."),
    function("sqrt", "square root", domain=NOT_NEGATIVE, failure="Sqrt of negative number."),
    function("ln", "natural logarithm; ln 0 is -inf", "log", "log", NOT_NEGATIVE, "Ln of negative number."),
    function("exp", "e to the x"),
    function("sin", "of radians"),
    function("cos", "of radians"),
    function("tan", "of radians"),
    function("asin", "NaN outside -1..1", "arcsin"),
    function("acos", "NaN outside -1..1", "arccos"),
    function("atan", "in radians", "arctan"),
    function("sinh", "hyperbolic sine"),
    function("cosh", "hyperbolic cosine"),
    function("tanh", "hyperbolic tangent"),
    of_numpy("cbrt", 1, "cube root"),
    of_numpy("exp2", 1, "2 to the x"),
    of_numpy("log2", 1, "to the base 2; NaN of negative numbers"),
    of_numpy("log10", 1, "to the base 10; NaN of negative numbers"),
    of_numpy("pow", 2, "x to the y; NaN of a negative x and a y that is no int", "float_power"),
    of_numpy("fmod", 2, "remainder with the dividend's sign; NaN of a divisor 0"),
    of_numpy("atan2", 2, "the angle of the point (x, y), of which y is first; zeros have their signs", "arctan2"),
    of_numpy("hypot", 2, "the length of the vector"),
    of_numpy("copysign", 2, "x with the sign of y"),
    Row("isnan", FLOAT, 1, "bool", "is it NaN?", numpy="isnan"),
)

# What makes numbers narrow, and wide again. A program says `resized` (mono), and flattening writes these.
NARROWING = ("int32", "float32", "widened")

# The operators whose results on narrow numbers are as narrow, whatever their operands are.
STAY_NARROW = {"int32": ("max", "min", "and", "or", "xor", "not", "rem", "mod", "rshift"),
               "float32": ("max", "min", "neg", "abs")}

OPS: dict[str, Row] = {row.name: row for row in ROWS}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {       # what they mean, of numbers and of NumPy's arrays of them
    "==": operator.eq, "/=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}                   # of a comparison with its sides exchanged
LEVELS: dict[str, int] = {row.name: row.level for row in ROWS if row.level}
FUNCTIONS = tuple(row for row in ROWS if row.cost == FUNCTION)

# The finaliser of splitmix64: what is added, then rounds of a shift to the right, an exclusive or and a product.
SPLITMIX_GAMMA = 0x9E3779B97F4A7C15
SPLITMIX_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


def result_type(op: str, arguments: tuple[str, ...]) -> str | None:
    """The type of the operator on arguments of these types, or None where it does not apply."""
    row = OPS.get(op)
    types = {wide(argument) for argument in arguments}
    if row is None or len(arguments) != row.arity or len(types) != 1 or (type_ := types.pop()) not in row.types:
        return None
    return row.result or type_
