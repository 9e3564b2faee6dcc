"""Makes remainders of floats fast, and lets loops that compute them vectorise: the C library's fmod takes some 25 ns.

  in    LLVM text that declares fmod or fmodf
  out   the same with functions of one element and of one vector in their place; the results are the same to the bit
  how   Of a and b without signs, let n be a / b, rounded and then truncated. If n is less than 2^53, it is the integer
        below the quotient, or one more where the quotient lies just below that. A fused product and sum gives a - n b
        without rounding, as the result is a float: a multiple of the last bit of b, and not greater than b. If it is
        negative, n was one too many, and b is added. Elsewhere, of NaN, infinities, a divisor 0 and greater quotients,
        the C library is asked.
"""
from __future__ import annotations

from nessie.cudagen.cpu.vector_math import widest, with_wide_vectors

FUNCTIONS = (("fmod", "double", "f64", 2.0 ** 53), ("fmodf", "float", "f32", 2.0 ** 24))      # the ints that are floats
PURE = "nounwind willreturn memory(none)"


def with_fast_remainders(text: str, features: frozenset[str]) -> str:
    """The text, with fast remainders, if this processor has fused products and sums."""
    if "fma" not in features:
        return text
    letter, doubles = widest(features)
    variants = []
    for name, type_, short, limit in FUNCTIONS:
        declared = f"declare {type_} @{name}({type_}, {type_}) {PURE}"
        if declared not in text:
            continue
        lanes = doubles if type_ == "double" else 2 * doubles
        variant = made = ""
        if letter:
            variants.append(f"ptr @lanes_{name}")
            variant = f' "vector-function-abi-variant"="_ZGV{letter}N{lanes}vv_fast_{name}(lanes_{name})"'
            made = of_lanes(name, type_, short, limit, lanes)
        text = text.replace(f"call {type_} @{name}(", f"call {type_} @fast_{name}(")
        made = f"{of_one(name, type_, short, limit, variant)}{made}"
        text = text.replace(declared, f"{declared}\n{made}")
        text += "".join([f"{line}\n" for line in declarations(type_, short, lanes) if line not in text])
        text = with_wide_vectors(text, doubles)
    if variants:                        # nobody calls them before loops are vectorised
        text += f"""\
@llvm.compiler.used = appending global [{len(variants)} x ptr] [{', '.join(variants)}], section "llvm.metadata"
"""
    return text


def of_one(name: str, type_: str, short: str, limit: float, variant: str) -> str:
    """The function fast_NAME. Inlined, it would be in the way of vectorising."""
    return f"""
define internal {type_} @fast_{name}({type_} %x, {type_} %y) noinline {PURE}{variant} {{
{fast(type_, short, str(limit))}
  br i1 %near, label %done, label %far
far:
  %slow = call {type_} @{name}({type_} %x, {type_} %y)
  ret {type_} %slow
done:
  ret {type_} %result
}}
"""


def of_lanes(name: str, type_: str, short: str, limit: float, lanes: int) -> str:
    """The function lanes_NAME, of vectors."""
    vector, all_ = f"<{lanes} x {type_}>", f"v{lanes}{short}"
    slow, last = [], "poison"
    for lane in range(lanes):
        slow.append(f"""\
  %x{lane} = extractelement {vector} %x, i64 {lane}
  %y{lane} = extractelement {vector} %y, i64 {lane}
  %slow{lane} = call {type_} @{name}({type_} %x{lane}, {type_} %y{lane})
  %far{lane} = insertelement {vector} {last}, {type_} %slow{lane}, i64 {lane}""")
        last = f"%far{lane}"
    return f"""
define internal {vector} @lanes_{name}({vector} %x, {vector} %y) noinline {PURE} {{
{fast(vector, all_, f"<{', '.join([f'{type_} {limit}'] * lanes)}>", f"<{lanes} x i1>")}
  %all = call i1 @llvm.vector.reduce.and.v{lanes}i1(<{lanes} x i1> %near)
  br i1 %all, label %done, label %far
far:
{chr(10).join(slow)}
  ret {vector} {last}
done:
  ret {vector} %result
}}
"""


def fast(type_: str, short: str, limit: str, bool_: str = "i1") -> str:
    """The remainder of %x and %y as %result, which is right where it is %near."""
    return f"""\
  %a = call {type_} @llvm.fabs.{short}({type_} %x)
  %b = call {type_} @llvm.fabs.{short}({type_} %y)
  %quotient = fdiv {type_} %a, %b
  %near = fcmp olt {type_} %quotient, {limit}
  %n = call {type_} @llvm.trunc.{short}({type_} %quotient)
  %minus = fneg {type_} %n
  %rest = call {type_} @llvm.fma.{short}({type_} %minus, {type_} %b, {type_} %a)
  %less = fcmp olt {type_} %rest, zeroinitializer
  %more = fadd {type_} %rest, %b
  %inside = select {bool_} %less, {type_} %more, {type_} %rest
  %small = fcmp olt {type_} %a, %b
  %size = select {bool_} %small, {type_} %a, {type_} %inside
  %result = call {type_} @llvm.copysign.{short}({type_} %size, {type_} %x)"""


def declarations(type_: str, short: str, lanes: int) -> list[str]:
    """The intrinsics of one element and, if there are any, of the lanes of a vector."""
    kinds = [(type_, short), *([(f"<{lanes} x {type_}>", f"v{lanes}{short}")] if lanes else [])]
    found = [f"declare {of} @llvm.{name}.{end}({', '.join([of] * count)})" for of, end in kinds
             for name, count in (("fabs", 1), ("trunc", 1), ("fma", 3), ("copysign", 2))]
    return [*found, *([f"declare i1 @llvm.vector.reduce.and.v{lanes}i1(<{lanes} x i1>)"] if lanes else [])]
