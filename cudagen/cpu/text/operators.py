"""The scalar operators as LLVM instructions: one entry for each row of lambda_cu.ops.

An entry takes the writer of instructions and the operands and gives the register that holds the result. Nothing here
traps or is poison on any input: divisors are made safe, shift counts masked, conversions to int saturate (NaN gives 0).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nessie.base.widths import wide
from nessie.cudagen.cpu.text.instructions import Instructions
from nessie.lambda_cu.ops import FUNCTIONS, SPLITMIX_GAMMA, SPLITMIX_ROUNDS, result_type

TYPES = {"int": "i64", "float": "double", "bool": "i1", "char": "i32"}


class Value(NamedTuple):
    """An operand as LLVM writes it, and its type."""
    text: str
    type: str


Operator = Callable[[Instructions, tuple[Value, ...]], str]


def apply(emitter: Instructions, op: str, arguments: tuple[Value, ...]) -> Value:
    """The operator's result on the operands."""
    if op == "select":
        condition, then, orelse = arguments
        type_ = TYPES[then.type]
        text = emitter.emit(f"select i1 {condition.text}, {type_} {then.text}, {type_} {orelse.text}")
        return Value(text, then.type)
    type_of_result = result_type(op, tuple(a.type for a in arguments))
    if type_of_result is None:
        raise TypeError((op, arguments))
    return Value(OPERATORS[op](emitter, arguments), wide(type_of_result))


def by_type(**instructions: str) -> Operator:
    """An instruction on operands of one type."""
    def operator(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
        type_ = arguments[0].type
        return emitter.emit(f"{instructions[type_]} {TYPES[type_]} {', '.join(a.text for a in arguments)}")
    return operator


def compare(condition: str, of_floats: str) -> Operator:
    """A comparison; chars are compared as ints, and bools only for equality."""
    def operator(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
        a, b = arguments
        instruction = f"fcmp {of_floats}" if a.type == "float" else f"icmp {condition}"
        return emitter.emit(f"{instruction} {TYPES[a.type]} {a.text}, {b.text}")
    return operator


def extreme(name: str) -> Operator:
    """llvm.maximum and llvm.minimum are NaN if either operand is."""
    def operator(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
        a, b = arguments
        type_ = TYPES[a.type]
        function = f"llvm.{name}imum.f64" if a.type == "float" else f"llvm.s{name}.{type_}"
        return emitter.external(function, type_, f"{type_} {a.text}", f"{type_} {b.text}")
    return operator


def divide(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
    a, b = arguments
    if a.type == "float":
        return emitter.emit(f"fdiv double {a.text}, {b.text}")
    if harmless(b):
        return emitter.emit(f"sdiv i64 {a.text}, {b.text}")
    quotient = emitter.emit(f"sdiv i64 {a.text}, {safe_divisor(emitter, b)}")
    negated = emitter.emit(f"sub i64 0, {a.text}")
    minus_one = emitter.emit(f"icmp eq i64 {b.text}, -1")
    return emitter.emit(f"select i1 {minus_one}, i64 {negated}, i64 {quotient}")


def remainder(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
    a, b = arguments
    divisor = b.text if harmless(b) else safe_divisor(emitter, b)
    return emitter.emit(f"srem i64 {a.text}, {divisor}")


def modulo(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
    """The remainder, moved up or down by the divisor where their signs differ."""
    _, b = arguments
    rest = remainder(emitter, arguments)
    nonzero = emitter.emit(f"icmp ne i64 {rest}, 0")
    signs = emitter.emit(f"xor i64 {rest}, {b.text}")
    differ = emitter.emit(f"icmp slt i64 {signs}, 0")
    move = emitter.emit(f"and i1 {nonzero}, {differ}")
    moved = emitter.emit(f"add i64 {rest}, {b.text}")
    return emitter.emit(f"select i1 {move}, i64 {moved}, i64 {rest}")


def harmless(divisor: Value) -> bool:
    """A constant that no division by it traps."""
    return divisor.text not in ("0", "-1") and divisor.text.lstrip("-").isdigit()


def safe_divisor(emitter: Instructions, divisor: Value) -> str:
    """The divisor, or 1 for 0 and -1."""
    above = emitter.emit(f"add i64 {divisor.text}, 1")
    unsafe = emitter.emit(f"icmp ult i64 {above}, 2")
    return emitter.emit(f"select i1 {unsafe}, i64 1, i64 {divisor.text}")


def negate(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
    (a,) = arguments
    return emitter.emit(f"fsub double 0.0, {a.text}" if a.type == "float" else f"sub i64 0, {a.text}")


def absolute(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
    (a,) = arguments
    if a.type == "float":
        return emitter.external("llvm.fabs.f64", "double", f"double {a.text}")
    return emitter.external("llvm.abs.i64", "i64", f"i64 {a.text}", "i1 false")


def complement(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
    (a,) = arguments
    return emitter.emit(f"xor {TYPES[a.type]} {a.text}, {'true' if a.type == 'bool' else '-1'}")


def shift(instruction: str) -> Operator:
    def operator(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
        a, b = arguments
        count = emitter.emit(f"and i64 {b.text}, 63")
        return emitter.emit(f"{instruction} i64 {a.text}, {count}")
    return operator


def high_product(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
    a, b = [emitter.emit(f"zext i64 {argument.text} to i128") for argument in arguments]
    product = emitter.emit(f"mul i128 {a}, {b}")
    high = emitter.emit(f"lshr i128 {product}, 64")
    return emitter.emit(f"trunc i128 {high} to i64")


def mix(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
    """Three rounds of shift and xor, with a product after each but the last."""
    mixed = emitter.emit(f"add i64 {arguments[0].text}, {SPLITMIX_GAMMA}")
    for count, factor in SPLITMIX_ROUNDS:
        high = emitter.emit(f"lshr i64 {mixed}, {count}")
        mixed = emitter.emit(f"xor i64 {mixed}, {high}")
        if factor != 1:
            mixed = emitter.emit(f"mul i64 {mixed}, {factor}")
    return mixed


def to_int(rounding: str) -> Operator:
    """Rounds, then converts; the conversion itself truncates."""
    def operator(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
        (a,) = arguments
        whole = emitter.external(f"llvm.{rounding}.f64", "double", f"double {a.text}") if rounding else a.text
        return emitter.external("llvm.fptosi.sat.i64.f64", "i64", f"double {whole}")
    return operator


def convert(instruction: str, source: str, target: str) -> Operator:
    return lambda emitter, arguments: emitter.emit(f"{instruction} {source} {arguments[0].text} to {target}")


def function(name: str) -> Operator:
    """A function of floats, LLVM's or the C library's."""
    return lambda emitter, arguments: emitter.external(name, "double", *[f"double {a.text}" for a in arguments])


def is_nan(emitter: Instructions, arguments: tuple[Value, ...]) -> str:
    (a,) = arguments
    return emitter.emit(f"fcmp uno double {a.text}, {a.text}")


def low_half(emitter: Instructions, number: Value) -> str:
    return emitter.emit(f"trunc i64 {number.text} to i32")


def nearest_single(emitter: Instructions, number: Value) -> str:
    return emitter.emit(f"fptrunc double {number.text} to float")


# On singles ---------------------------------------------------------------------------------------

Single = Callable[[Instructions, list[str]], str]        # takes and gives registers of LLVM's type float


def of_singles(instruction: str) -> Single:
    return lambda emitter, given: emitter.emit(f"{instruction} float {', '.join(given)}")


def extreme_single(name: str) -> Single:
    return lambda emitter, given: emitter.external(f"llvm.{name}imum.f32", "float", *[f"float {a}" for a in given])


def single_function(name: str) -> Single:
    return lambda emitter, given: emitter.external(name, "float", *[f"float {a}" for a in given])


EXACT: dict[str, Single] = {            # of singles they are singles, or bools
    "neg": lambda emitter, given: emitter.emit(f"fsub float 0.0, {given[0]}"),
    "abs": single_function("llvm.fabs.f32"),
    "max": extreme_single("max"),
    "min": extreme_single("min"),
}
INTRINSIC = ("sqrt", "copysign")        # functions that are an instruction
ROUNDED: dict[str, Single] = {          # what `float32` of the operator is, where it gets singles
    **EXACT,
    "+": of_singles("fadd"), "-": of_singles("fsub"), "*": of_singles("fmul"), "/": of_singles("fdiv"),
    "sqrt": single_function("llvm.sqrt.f32"),
    "copysign": single_function("llvm.copysign.f32"),
    **{row.name: single_function(f"{row.c}f") for row in FUNCTIONS if row.name not in INTRINSIC},
}
COMPARED = {"==": ("eq", "oeq"), "/=": ("ne", "une"), "<": ("slt", "olt"), "<=": ("sle", "ole"), ">": ("sgt", "ogt"),
            ">=": ("sge", "oge")}           # conditions of ints, chars and bools; of floats
COMPUTED = {"+": {"int": "add", "float": "fadd"}, "-": {"int": "sub", "float": "fsub"},
            "*": {"int": "mul", "float": "fmul"}, "and": {"int": "and", "bool": "and"},
            "or": {"int": "or", "bool": "or"}, "xor": {"int": "xor", "bool": "xor"}}        # one instruction each


OPERATORS: dict[str, Operator] = {
    **{name: by_type(**instructions) for name, instructions in COMPUTED.items()},
    **{name: compare(*conditions) for name, conditions in COMPARED.items()},
    "/": divide,
    "rem": remainder,
    "mod": modulo,
    "neg": negate,
    "abs": absolute,
    "max": extreme("max"),
    "min": extreme("min"),
    "not": complement,
    "lshift": shift("shl"),
    "rshift": shift("ashr"),
    "mul_high": high_product,
    "ones": lambda emitter, given: emitter.external("llvm.ctpop.i64", "i64", f"i64 {given[0].text}"),
    "mix": mix,
    "int32": lambda emitter, given: emitter.emit(f"sext i32 {low_half(emitter, given[0])} to i64"),
    "float32": lambda emitter, given: emitter.emit(f"fpext float {nearest_single(emitter, given[0])} to double"),
    "widened": lambda emitter, arguments: arguments[0].text,
    "float": convert("sitofp", "i64", "double"),
    "trunc": to_int(""),
    "floor": to_int("floor"),
    "ceil": to_int("ceil"),
    "round": to_int("round"),
    "btoi": convert("zext", "i1", "i64"),
    "char_code": convert("sext", "i32", "i64"),
    "code_char": convert("trunc", "i64", "i32"),
    "sqrt": function("llvm.sqrt.f64"),
    "isnan": is_nan,
    "copysign": function("llvm.copysign.f64"),
    **{row.name: function(row.c) for row in FUNCTIONS if row.name not in INTRINSIC},
}
