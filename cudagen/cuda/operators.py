"""The scalar operators as CUDA C++ expressions: one entry for each row of lambda_cu.ops; and their helper functions.

An entry takes its operands as text that binds tightly enough to stand anywhere, and gives text. Signed overflow is
undefined in C++, so int arithmetic that may wrap goes through unsigned helpers. Nothing here traps.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from nessie.lambda_cu.ops import FUNCTIONS, SPLITMIX_GAMMA, SPLITMIX_ROUNDS

PAIR = "word_pair"                  # a struct

CALLED = re.compile(r"\w+(?=\()")

TYPES = {"int": "long long", "float": "double", "bool": "bool", "char": "int"}
ELEMENTS = {**TYPES, "int32": "int", "int16": "short", "int8": "signed char", "uint8": "unsigned char",
            "uint16": "unsigned short", "uint32": "unsigned",
            "float32": "float", "char8": "unsigned char"}

# How tightly C++ binds.
SELECT, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUAL, LESS, SHIFT, SUM, PRODUCT, UNARY, PRIMARY = range(13)


class Piece(NamedTuple):
    """An expression's text, its type, and how tightly its outermost operator binds. `bits`: the value of an int
    that is known to be small lies below 2 to this. `single`: of a float that is a single, its text as one, which binds
    as tightly as operands of a product do."""
    text: str
    type: str
    level: int = PRIMARY
    bits: int = 64
    single: str = ""


Form = Callable[[tuple[str, ...]], str]


class Entry(NamedTuple):
    """The way an operator on operands of one type is written: the level its operands need and the level it has."""
    inner: int
    level: int
    form: Form


def infix(symbol: str, level: int) -> Entry:
    return Entry(level + 1, level, lambda a: f"{a[0]} {symbol} {a[1]}")


def prefix(symbol: str) -> Entry:
    return Entry(UNARY, UNARY, lambda a: symbol + a[0])


def call(function: str) -> Entry:
    return Entry(SELECT, PRIMARY, lambda a: f"{function}({', '.join(a)})")


def cast_of(function: str) -> Entry:
    return Entry(SELECT, UNARY, lambda a: f"(long long){function}({a[0]})")


Row = dict[str, Entry]                     # by the operands' type


def every(types: str, entry: Entry) -> Row:
    return dict.fromkeys(types.split(), entry)


def extreme(name: str) -> Row:
    return {type_: call(f"{type_}_{name}") for type_ in ("int", "float", "char")}


OPERATORS: dict[str, Row] = {
    "+": {"int": call("wrap_add"), "float": infix("+", SUM)},
    "-": {"int": call("wrap_sub"), "float": infix("-", SUM)},
    "*": {"int": call("wrap_mul"), "float": infix("*", PRODUCT)},
    "/": {"int": call("int_div"), "float": infix("/", PRODUCT)},
    "rem": {"int": call("int_rem")},
    "mod": {"int": call("int_mod")},
    "neg": {"int": call("wrap_neg"), "float": Entry(PRODUCT, SUM, lambda a: f"0.0 - {a[0]}")},
    "abs": {"int": call("int_abs"), "float": call("fabs")},
    "max": extreme("max"),
    "min": extreme("min"),
    "==": every("int float bool char", infix("==", EQUAL)),
    "/=": every("int float bool char", infix("!=", EQUAL)),
    "<": every("int float char", infix("<", LESS)),
    "<=": every("int float char", infix("<=", LESS)),
    ">": every("int float char", infix(">", LESS)),
    ">=": every("int float char", infix(">=", LESS)),
    "and": {"bool": infix("&&", AND), "int": infix("&", BIT_AND)},
    "or": {"bool": infix("||", OR), "int": infix("|", BIT_OR)},
    "xor": {"bool": infix("!=", EQUAL), "int": infix("^", BIT_XOR)},
    "not": {"bool": prefix("!"), "int": prefix("~")},
    "lshift": {"int": call("shift_left")},
    "rshift": {"int": call("shift_right")},
    "mul_high": {"int": Entry(SELECT, UNARY, lambda a: f"(long long)__umul64hi({a[0]}, {a[1]})")},
    "ones": {"int": Entry(SELECT, UNARY, lambda a: f"(long long)__popcll({a[0]})")},
    "mix": {"int": call("mix_bits")},
    "int32": {"int": prefix("(long long)(int)")},
    "float32": {"float": prefix("(double)(float)")},
    "widened": every("int float bool char", Entry(SELECT, PRIMARY, lambda a: f"({a[0]})")),
    "float": {"int": prefix("(double)")},
    "trunc": {"float": prefix("(long long)")},
    "floor": {"float": cast_of("floor")},
    "ceil": {"float": cast_of("ceil")},
    "round": {"float": cast_of("round")},
    "btoi": {"bool": prefix("(long long)")},
    "char_code": {"char": prefix("(long long)")},
    "code_char": {"int": prefix("(int)")},
    "isnan": {"float": call("is_nan")},
    **{row.name: {"float": call(row.c)} for row in FUNCTIONS},
}

# On singles: what `float32` of the operator is, where it gets singles.
ON_SINGLES: dict[str, Callable[[tuple[str, ...]], str]] = {
    **{op: (lambda a, op=op: f"({a[0]} {op} {a[1]})") for op in ("+", "-", "*", "/")},       # type: ignore[misc]
    "neg": lambda a: f"(0.0f - {a[0]})",
    "abs": lambda a: f"fabsf({a[0]})",
    **{row.name: (lambda a, name=row.c: f"{name}f({', '.join(a)})") for row in FUNCTIONS},  # type: ignore[misc]
}


def on_singles(op: str, arguments: tuple[Piece, ...]) -> Piece | None:
    """The single that the operator gives on singles; None where they are not all known to be some, or all constants."""
    if op not in ON_SINGLES or not all([a.single for a in arguments]) or all(map(is_constant, arguments)):
        return None
    return as_double(ON_SINGLES[op](tuple([a.single for a in arguments])))


def is_constant(piece: Piece) -> bool:
    """Is this a constant that is a single? It is a double, too."""
    return piece.single == f"{piece.text}f"


def as_double(single: str) -> Piece:
    return Piece(f"(double){single}", "float", UNARY, single=single)


# Where neither operand nor result comes near the ends of int.
UNWRAPPED = {"+": infix("+", SUM), "-": infix("-", SUM), "*": infix("*", PRODUCT)}
DIVISIONS = {"/": infix("/", PRODUCT), "rem": infix("%", PRODUCT)}         # by a literal that is neither 0 nor -1


def helper(result: str, name: str, parameters: str, value: str) -> str:
    return f"static __device__ __forceinline__ {result} {name}({parameters}) {{\n  return {value};\n}}"


def wrapping(name: str, symbol: str) -> str:
    return helper("long long", name, "long long a, long long b",
                  f"(long long)((unsigned long long)a {symbol} (unsigned long long)b)")


def ordered(head: str, assembly: str, operands: str, host: str, before: str = "", after: str = "") -> str:
    """An access to memory that orders those around it, in PTX; a C++ compiler has its own way to say it. Only memory
    of all blocks is accessed so: told of that, a GPU need not look where a pointer points."""
    lines = [*([before] if before else []), f'asm volatile("{assembly}" : {operands} : "memory");',
             *([after] if after else [])]
    inside = "\n".join("  " + line for line in lines)
    return f"static __device__ __forceinline__ {head} {{\n#ifdef __CUDA_ARCH__\n{inside}\n#else\n  {host}\n#endif\n}}"


PLACE = '"l"(__cvta_generic_to_global(place))'


def at_once(head: str, whole: str, words: str, operands: str, host: str, before: str = "", after: str = "") -> str:
    """An access to two words that other blocks look at, both at once, in PTX. Assemblers before that of CUDA 12.3 know
    none of 128 bits; of one to two `words` PTX does not say that it is done at once, but GPUs do it by the same
    instruction."""
    asm = [f'  asm volatile("{assembly}"\n               : {operands} : "memory");'
           for assembly in (f"{{ .reg .b128 both; {whole} }}", words)]
    lines = ["#ifdef __CUDACC__", *([f"  {before}"] if before else []),
             "#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203", asm[0], "#else", asm[1], "#endif",
             *([f"  {after}"] if after else []), "#else", f"  {host}", "#endif"]
    return "\n".join([f"static __device__ __forceinline__ {head} {{", *lines, "}"])


# In an order in which each comes after those it calls.
HELPERS: dict[str, str] = {
    "load_acquire": ordered("long long load_acquire(const long long *place)", "ld.acquire.gpu.global.s64 %0, [%1];",
                            f'"=l"(value) : {PLACE}', "return __atomic_load_n(place, __ATOMIC_ACQUIRE);",
                            "long long value;", "return value;"),
    "load_relaxed": ordered("long long load_relaxed(const long long *place)", "ld.relaxed.gpu.global.s64 %0, [%1];",
                            f'"=l"(value) : {PLACE}', "return __atomic_load_n(place, __ATOMIC_RELAXED);",
                            "long long value;", "return value;"),
    "store_release": ordered("void store_release(long long *place, long long value)",
                             "st.release.gpu.global.s64 [%0], %1;", f': {PLACE}, "l"(value)',
                             "__atomic_store_n(place, value, __ATOMIC_RELEASE);"),
    "load_pair": f"struct {PAIR} {{ long long first, second; }};\n\n" + at_once(
        f"{PAIR} load_pair(const long long *place)", "ld.relaxed.gpu.global.b128 both, [%2]; mov.b128 {%0, %1}, both;",
        "ld.relaxed.gpu.global.v2.s64 {%0, %1}, [%2];", f'"=l"(pair.first), "=l"(pair.second) : {PLACE}',
        f"{PAIR} pair;\n  cudasim_load_pair(place, &pair.first, &pair.second);\n  return pair;",
        f"{PAIR} pair;", "return pair;"),
    "store_pair": at_once(
        "void store_pair(long long *place, long long first, long long second)",
        "mov.b128 both, {%1, %2}; st.relaxed.gpu.global.b128 [%0], both;",
        "st.relaxed.gpu.global.v2.s64 [%0], {%1, %2};", f': {PLACE}, "l"(first), "l"(second)',
        "cudasim_store_pair(place, first, second);"),
    "atomic_add_ordered": ordered("long long atomic_add_ordered(long long *place, long long value)",
                                  "atom.add.acq_rel.gpu.global.u64 %0, [%1], %2;", f'"=l"(old) : {PLACE}, "l"(value)',
                                  "return __atomic_fetch_add(place, value, __ATOMIC_ACQ_REL);",
                                  "long long old;", "return old;"),
    # As ints, floats without sign order as they are, negative ones the other way round. What is no number wins: it
    # comes without its sign, as the greatest of all; one that was there before, whatever its sign, is left there.
    "atomic_float_max": """\
static __device__ __forceinline__ void atomic_float_max(double *place, double value) {
  const double there = __longlong_as_double(load_relaxed((const long long *)place));
  if (there != there) return;
  const long long bits = value != value ? 0x7ff8000000000000LL : __double_as_longlong(value);
  if (bits < 0) {
    atomicMin((unsigned long long *)place, (unsigned long long)bits);
  } else {
    atomicMax((long long *)place, bits);
  }
}""",
    "atomic_bool_max": ordered("void atomic_bool_max(bool *place, bool value)", "st.relaxed.gpu.global.u8 [%0], %1;",
                               f': {PLACE}, "r"(1)', "if (value) __atomic_store_n(place, true, __ATOMIC_RELAXED);",
                               before="if (value)"),
    # In PTX, as compilers would test bits of 64.
    "lanes_alike": """\
static __device__ __forceinline__ long long lanes_alike(long long value, int bits) {
  unsigned alike = 0xffffffffu;
  for (int bit = 0; bit < bits; bit++) {
    unsigned votes;
#ifdef __CUDA_ARCH__
    asm volatile("{ .reg .pred set; and.b32 %0, %1, %2; setp.ne.u32 set, %0, 0; "
                 "vote.sync.ballot.b32 %0, set, 0xffffffff; @!set not.b32 %0, %0; }"
                 : "=r"(votes) : "r"((unsigned)value), "r"(1u << bit));
#else
    const bool set = ((unsigned)value >> bit & 1) != 0;
    votes = __ballot_sync(0xffffffffu, set);
    votes = set ? votes : ~votes;
#endif
    alike &= votes;
  }
  return (long long)alike;
}""",
    "wrap_add": wrapping("wrap_add", "+"),
    "wrap_sub": wrapping("wrap_sub", "-"),
    "wrap_mul": wrapping("wrap_mul", "*"),
    "wrap_neg": helper("long long", "wrap_neg", "long long a", "(long long)(0ULL - (unsigned long long)a)"),
    "int_abs": helper("long long", "int_abs", "long long a",
                      "a < 0 ? (long long)(0ULL - (unsigned long long)a) : a"),
    "int_div": helper("long long", "int_div", "long long a, long long b",
                      "b == 0 ? 0 : b == -1 ? (long long)(0ULL - (unsigned long long)a) : a / b"),
    "int_rem": helper("long long", "int_rem", "long long a, long long b", "b == 0 || b == -1 ? 0 : a % b"),
    "int_mod": helper("long long", "int_mod", "long long a, long long b",
                      "b == 0 || b == -1 ? 0 : a % b != 0 && (a ^ b) < 0 ? a % b + b : a % b"),
    "shift_left": helper("long long", "shift_left", "long long a, long long b",
                         "(long long)((unsigned long long)a << (b & 63))"),
    "shift_right": helper("long long", "shift_right", "long long a, long long b", "a >> (b & 63)"),
    "mix_bits": "\n".join([
        "static __device__ __forceinline__ long long mix_bits(long long a) {",
        f"  unsigned long long z = (unsigned long long)a + {SPLITMIX_GAMMA:#x}ULL;",
        *[f"  z = (z ^ (z >> {count})) * {factor:#x}ULL;" for count, factor in SPLITMIX_ROUNDS[:-1]],
        f"  return (long long)(z ^ (z >> {SPLITMIX_ROUNDS[-1][0]}));", "}"]),
    "int_max": helper("long long", "int_max", "long long a, long long b", "a > b ? a : b"),
    "int_min": helper("long long", "int_min", "long long a, long long b", "a < b ? a : b"),
    "char_max": helper("int", "char_max", "int a, int b", "a > b ? a : b"),
    "char_min": helper("int", "char_min", "int a, int b", "a < b ? a : b"),
    "float_max": helper("double", "float_max", "double a, double b",
                        "a != a || b != b ? a + b : a > b ? a : b > a ? b : "
                        "__double_as_longlong(a) < 0 ? b : a"),
    "float_min": helper("double", "float_min", "double a, double b",
                        "a != a || b != b ? a + b : a < b ? a : b < a ? b : "
                        "__double_as_longlong(a) < 0 ? a : b"),
    "is_nan": helper("bool", "is_nan", "double a", "a != a"),
}


def helpers_of(text: str) -> list[str]:
    """The helpers that the text calls, and those that they call."""
    called, found = set(CALLED.findall(text)), list[str]()
    for name, helper in reversed(HELPERS.items()):
        if name in called:
            called.update(CALLED.findall(helper))
            found.insert(0, helper)
    return found


def apply(op: str, arguments: tuple[Piece, ...], result: str) -> Piece:
    """The operator on these operands."""
    bits = magnitude(op, arguments)
    entry = OPERATORS[op][arguments[0].type]
    if bits < 63:
        entry = UNWRAPPED[op]
    elif op in DIVISIONS and arguments[1].text.isdigit() and arguments[1].text != "0":
        entry = DIVISIONS[op]
    return Piece(entry.form(tuple(within(a, entry.inner) for a in arguments)), result, entry.level, bits)


def magnitude(op: str, arguments: tuple[Piece, ...]) -> int:
    """The bits of the result where no overflow is possible, else 64. (Two literals would overflow as C++ ints.)"""
    if op not in UNWRAPPED or all(a.text.isdigit() for a in arguments):
        return 64
    sizes = [a.bits for a in arguments]
    return min(64, sum(sizes) if op == "*" else max(sizes) + 1)


def within(piece: Piece, level: int) -> str:
    """The text, in parentheses if it binds looser than this."""
    return piece.text if piece.level >= level else f"({piece.text})"
