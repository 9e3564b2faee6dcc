"""The types of mono expressions and of the primitives in them.

type_of reads a type off a well-formed expression; mono_check finds out whether it is one.
"""
from __future__ import annotations

from nessie.base.source import IllFormed
from nessie.base.types import BOOL, CHAR, CLASSES, FLOAT, INT, STRING, Base, Pair, Seq, Type
from nessie.frontend import mono
from nessie.frontend.mono import Exp

NUMBER, ORDINAL, LOGICAL, SCALAR = (CLASSES[name] for name in ("number", "ordinal", "logical", "scalar"))

# Scalar operators: the class or the types of their operands, how many, and the result where it is another type.
OPERATORS: dict[str, tuple[tuple[str, ...], int, Base | None]] = {
    **dict.fromkeys(("+", "-", "*", "/"), (NUMBER, 2, None)),
    **dict.fromkeys(("rem", "mod", "lshift", "rshift"), (("int",), 2, None)),
    **dict.fromkeys(("neg", "abs"), (NUMBER, 1, None)),
    **dict.fromkeys(("max", "min"), (ORDINAL, 2, None)),
    **dict.fromkeys(("==", "/="), (SCALAR, 2, BOOL)),
    **dict.fromkeys(("<", "<=", ">", ">="), (ORDINAL, 2, BOOL)),
    **dict.fromkeys(("and", "or", "xor"), (LOGICAL, 2, None)),
    "not": (LOGICAL, 1, None),
    "float": (("int",), 1, FLOAT),
    **dict.fromkeys(("trunc", "floor", "ceil", "round"), (("float",), 1, INT)),
    "btoi": (("bool",), 1, INT),
    "char_code": (("char",), 1, INT),
    "code_char": (("int",), 1, CHAR),
    **dict.fromkeys(("sqrt", "ln", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
                    (("float",), 1, None)),
    "isnan": (("float",), 1, BOOL),
}

# The reductions and scans by their operator: which types they take.
FOLDED = {"+": NUMBER, "*": NUMBER, "max": ORDINAL, "min": ORDINAL, "and": LOGICAL, "or": LOGICAL, "xor": LOGICAL}

PRIMITIVES = frozenset({*OPERATORS, *mono.SEQUENCE, *mono.SPECIAL})


def type_of(exp: Exp) -> Type:
    """The type of a well-formed expression."""
    while isinstance(exp, mono.Let | mono.If):
        exp = exp.body if isinstance(exp, mono.Let) else exp.then
    match exp:
        case mono.Pair(first, second):
            return Pair(type_of(first), type_of(second))
        case mono.First(pair):
            return component(pair).first
        case mono.Second(pair):
            return component(pair).second
        case mono.String():
            return STRING
        case mono.Each(body):
            return Seq(type_of(body))
    return exp.type


def component(pair: Exp) -> Pair:
    type_ = type_of(pair)
    if not isinstance(type_, Pair):
        raise IllFormed("a projection is of a pair")
    return type_


def fits(name: str, arguments: tuple[Type, ...], result: Type) -> bool:
    """Does the primitive take arguments of these types and give this result?"""
    return (name == "error" and arguments == (STRING,)) or result == primitive_type(name, arguments)


def primitive_type(name: str, arguments: tuple[Type, ...]) -> Type | None:
    """The primitive's result on arguments of these types; None where it does not take them, or where the
    arguments do not tell the result (`error`)."""
    if name in OPERATORS:
        return operator_type(name, arguments)
    operation, _, operator = name.partition("_")
    if operation in ("reduce", "scan") and operator in FOLDED:
        return fold_type(operation, FOLDED[operator], arguments)
    return sequence_type(name, arguments)


def operator_type(name: str, arguments: tuple[Type, ...]) -> Type | None:
    types, arity, result = OPERATORS[name]
    match arguments:
        case (Base(operand), *rest) if operand in types and len(arguments) == arity and all(
                type_ == arguments[0] for type_ in rest):
            return result or arguments[0]
    return None


def fold_type(operation: str, types: tuple[str, ...], arguments: tuple[Type, ...]) -> Type | None:
    match arguments:
        case (Seq(Base(element)),) if element in types:
            return arguments[0] if operation == "scan" else Base(element)
    return None


def sequence_type(name: str, arguments: tuple[Type, ...]) -> Type | None:
    match name, arguments:
        case "length", (Seq(),):
            return INT
        case "elt", (Seq(element), Base("int")):
            return element
        case "dist", (element, Base("int")):
            return Seq(element)
        case "iseq", (Base("int"), Base("int"), Base("int")):
            return Seq(INT)
        case "get", (Seq() as sequence, Seq(Base("int"))):
            return sequence
        case "write", (Seq(element) as sequence, Seq(Pair(Base("int"), value))) if value == element:
            return sequence
        case "append", (Seq() as sequence, other) if other == sequence:
            return sequence
        case "flatten", (Seq(Seq() as inner),):
            return inner
        case "partition", (Seq() as sequence, Seq(Base("int"))):
            return Seq(sequence)
        case "subseq", (Seq() as sequence, Base("int"), Base("int")):
            return sequence
        case "order" | "order_down", (Seq(Base(element)),) if element in ORDINAL:
            return Seq(INT)
        case "check", (Base("bool"), Seq(Base("char")), value):
            return value
        case "print_char", (Base("char"),):
            return BOOL
        case "print_string", (Seq(Base("char")),):
            return BOOL
        case "rand", (Base("int" | "float") as number,):
            return number
        case "rand_seed", (Base("int"),):
            return BOOL
    return None
