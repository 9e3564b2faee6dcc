"""The meanings of NESL's scalar operators and sequence primitives, on plain values (base.values).

A meaning takes the types that the primitive is used at and its argument (tuples nest to the right), and returns the
value. A check that does not hold raises Failure with NESL's message (nesl language, 5.3). The interpreter uses these
meanings; they share no code with the other executors.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.records import dataclass
from nessie.base.types import BOOL, CHAR, FLOAT, REAL, Type

Types = tuple[Type, ...]

FLOATS = (FLOAT, REAL)
GREATEST_CHAR = 0x10FFFF
OUT_OF_BOUNDS = "Sequence reference (a[i]) out of bounds."
GATHERED, SCATTERED = "Index out of bounds for function ->.", "Index out of bounds for function <-."
UNEQUAL = "Length mismatch in an apply-to-each."
UNFIT = "Length mismatch in function PARTITION."
SHIFTS = "Shift count out of range, it must be in 0..63."


class Failure(Exception):
    """A run-time error, whose place the caller knows. `values`: the text of the offending values."""

    def __init__(self, message: str, values: str = "") -> None:
        super().__init__(message)
        self.values = values


@dataclass(frozen=True)
class Meaning:
    """The meaning of a primitive. `work` and `depth` compute its cost in NESL's model from its argument and its value.
    A depth of None means 1."""
    value: Callable[[Types, Any], Any]
    work: Callable[[Any, Any], int]
    depth: Callable[[Any, Any], int] | None = None


def check(holds: bool, message: str, values: str = "") -> None:
    if not holds:
        raise Failure(message, values)


def check_indices(v: list[Any], indices: Iterable[int], message: str) -> None:
    wrong = next((i for i in indices if not 0 <= i < len(v)), None)
    if wrong is not None:
        raise Failure(message, f"the index is {wrong}, the length {len(v)}")


# Scalars ----------------------------------------------------------------------------------------

def wrap(x: int) -> int:
    """x in 64-bit two's complement."""
    return (x - MIN_INT) % 2**64 + MIN_INT


def arithmetic(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The operator on numbers: ints wrap, floats overflow to infinity."""
    return lambda a, b: wrap(op(a, b)) if isinstance(a, int) else op(a, b)


def divide(a: Any, b: Any) -> Any:
    check(b != 0, "Divide by zero.")
    if isinstance(a, float):
        return a / b
    return wrap(-(-a // b) if (a < 0) != (b < 0) else a // b)


def remainder(a: int, b: int) -> int:
    check(b != 0, "Divide by zero in function REM.")
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


def modulus(a: int, b: int) -> int:
    check(b != 0, "Divide by zero in function MOD.")
    return a % b


def is_nan(x: Any) -> bool:
    return isinstance(x, float) and math.isnan(x)


def greater(a: Any, b: Any) -> Any:
    """The greater of two numbers. For two zeros it is their sum, which is -0.0 only if both are."""
    return math.nan if is_nan(a) or is_nan(b) else a + b if a == b == 0 else b if b > a else a


def lesser(a: Any, b: Any) -> Any:
    return math.nan if is_nan(a) or is_nan(b) else -(-a - b) if a == b == 0 else b if b < a else a


def complement(a: Any) -> Any:
    return not a if isinstance(a, bool) else ~a


def shift_left(a: int, n: int) -> int:
    check(0 <= n <= 63, SHIFTS)
    return wrap(a << n)


def shift_right(a: int, n: int) -> int:
    check(0 <= n <= 63, SHIFTS)
    return a >> n


def mix(x: int) -> int:
    """The finaliser of splitmix64, modulo 2**64: every bit of the result depends on every bit of x."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def to_int(rounding: Callable[[float], int], name: str) -> Callable[[float], int]:
    def convert(x: float) -> int:
        check(math.isfinite(x) and MIN_INT <= rounding(x) <= MAX_INT,
              f"Float out of the range of int in function {name}.")
        return rounding(x)
    return convert


def round_half_away(x: float) -> int:
    rest, whole = math.modf(x)          # exact, both with the sign of x
    return int(whole) + (rest >= 0.5) - (rest <= -0.5)


def code_char(i: int) -> str:
    check(0 <= i <= GREATEST_CHAR, "Not the code of a character in function CODE_CHAR.")
    return chr(i)


def square_root(x: float) -> float:
    check(not x < 0, "Sqrt of negative number.")
    return math.sqrt(x)


def logarithm(x: float) -> float:
    check(not x < 0, "Ln of negative number.")
    return -math.inf if x == 0 else math.log(x)


def real(function: Callable[[float], float], overflow: Callable[[float], float] = lambda x: math.inf,
         ) -> Callable[[float], float]:
    """A function of Python's math, with NaN outside its domain and infinity beyond the range."""
    def total(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return overflow(x)
    return total


def power(x: float, y: float) -> float:
    """As IEEE has it: x is negative where the result is, beyond the range and at 0, too."""
    odd = math.isfinite(y) and y % 2 == 1
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.copysign(math.inf, x) if odd else math.inf
    except ValueError:
        return math.nan if x < 0 else math.copysign(math.inf, x) if odd else math.inf


def cube_root(x: float) -> float:
    return math.copysign(abs(x) ** (1 / 3), x)


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": arithmetic(operator.add), "-": arithmetic(operator.sub), "*": arithmetic(operator.mul), "/": divide,
    "rem": remainder, "mod": modulus, "max": greater, "min": lesser,
    "==": operator.eq, "/=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "lshift": shift_left, "rshift": shift_right,
    "_mul_high": lambda a, b: wrap((a % 2**64) * (b % 2**64) >> 64), "_shifted": shift_right, "_remainder": modulus,
    "_pow": power, "_fmod": lambda a, b: math.nan if b == 0 or math.isinf(a) or is_nan(a) else math.fmod(a, b),
    "_atan2": math.atan2, "_hypot": math.hypot, "_copysign": math.copysign,
}

UNARY: dict[str, Callable[[Any], Any]] = {
    "negate": lambda a: wrap(-a) if isinstance(a, int) else 0.0 - a,
    "abs": lambda a: wrap(abs(a)) if isinstance(a, int) else abs(a),
    "not": complement, "float": float, "btoi": int, "char_code": ord, "code_char": code_char,
    "trunc": to_int(math.trunc, "TRUNC"), "floor": to_int(math.floor, "FLOOR"), "ceil": to_int(math.ceil, "CEIL"),
    "round": to_int(round_half_away, "ROUND"), "sqrt": square_root, "ln": logarithm, "_isnan": math.isnan,
    "_ones": lambda a: (a % 2**64).bit_count(), "_mix": lambda a: wrap(mix(a)),
    "_word": int, "_int": int, "_real": float, "_float": float, "_real_of": float, "_real_of_word": float,
    "_trunc": to_int(math.trunc, "TRUNC"), "_word_of": to_int(math.trunc, "TRUNC"),
    "_floor": to_int(math.floor, "FLOOR"), "_sqrt": square_root, "_ln": logarithm,
    "exp": real(math.exp), "sin": real(math.sin), "cos": real(math.cos), "tan": real(math.tan),
    "asin": real(math.asin), "acos": real(math.acos), "atan": real(math.atan),
    "sinh": real(math.sinh, lambda x: math.copysign(math.inf, x)), "cosh": real(math.cosh), "tanh": real(math.tanh),
    "_cbrt": cube_root, "_exp2": real(lambda x: 2.0 ** x), "_log2": lambda x: real(math.log2)(x) if x else -math.inf,
    "_log10": lambda x: real(math.log10)(x) if x else -math.inf,
}


# Sequences --------------------------------------------------------------------------------------

def element(v: list[Any], i: int) -> Any:
    check_indices(v, (i,), OUT_OF_BOUNDS)
    return v[i]


def distribute(a: Any, n: int) -> list[Any]:
    check(n >= 0, "Bounds error for function DIST.", f"the length would be {n}")
    return [a] * n


def integers(start: int, stride: int, end: int) -> list[int]:
    check(end >= start and stride >= 1, "In [s:e:l], e must be >= to s, and l must be positive.",
          f"s is {start}, e is {end}, l is {stride}")
    return list(range(start, end, stride))


def gather(v: list[Any], indices: list[int]) -> list[Any]:
    check_indices(v, indices, GATHERED)
    return [v[i] for i in indices]


def scatter(v: list[Any], pairs: list[tuple[int, Any]]) -> list[Any]:
    return combined(v, pairs, lambda _, value: value, SCATTERED)


def combined(v: list[Any], pairs: list[tuple[int, Any]], combine: Callable[[Any, Any], Any], message: str) -> list[Any]:
    """A copy of v in which each pair's value is combined with what is at its position."""
    check_indices(v, (i for i, _ in pairs), message)
    result = list(v)
    for i, value in pairs:
        result[i] = combine(result[i], value)
    return result


def cut(v: list[Any], lengths: list[int]) -> list[list[Any]]:
    check(all(n >= 0 for n in lengths), UNFIT, f"one of the lengths is {min(lengths, default=0)}")
    check(sum(lengths) == len(v), UNFIT, f"the lengths add up to {sum(lengths)}, the length is {len(v)}")
    parts, start = [], 0
    for n in lengths:
        parts.append(v[start:start + n])
        start += n
    return parts


def subsequence(v: list[Any], start: int, end: int) -> list[Any]:
    check(0 <= start <= end <= len(v), "Bounds error for function SUBSEQ.",
          f"the start is {start}, the end {end}, the length {len(v)}")
    return v[start:end]


def order(v: list[Any], descending: bool) -> list[int]:
    """The positions of the elements, sorted by value. Equal elements keep their order; NaNs come last."""
    numbers = [i for i, x in enumerate(v) if not is_nan(x)]
    numbers.sort(key=lambda i: v[i], reverse=descending)
    return numbers + [i for i, x in enumerate(v) if is_nan(x)]


def firsts(v: list[Any]) -> list[int]:
    """For each element the position of the first that equals it; NaN equals nothing."""
    first: dict[Any, int] = {}
    return [i if is_nan(x) else first.setdefault(x, i) for i, x in enumerate(v)]


# A reduction: the operator, and its identity at a type.
Fold = tuple[Callable[[Any, Any], Any], Callable[[Type], Any]]


def least(type_: Type) -> Any:
    return -math.inf if type_ in FLOATS else chr(0) if type_ == CHAR else MIN_INT


def greatest(type_: Type) -> Any:
    return math.inf if type_ in FLOATS else chr(GREATEST_CHAR) if type_ == CHAR else MAX_INT


PLUS: Fold = (BINARY["+"], lambda type_: 0.0 if type_ in FLOATS else 0)
TIMES: Fold = (BINARY["*"], lambda type_: 1.0 if type_ in FLOATS else 1)
MAX: Fold = (greater, least)
MIN: Fold = (lesser, greatest)
OR: Fold = (operator.or_, lambda type_: False if type_ == BOOL else 0)
AND: Fold = (operator.and_, lambda type_: True if type_ == BOOL else -1)
XOR: Fold = (operator.xor, lambda type_: False if type_ == BOOL else 0)

REDUCTIONS = {"sum": PLUS, "product": TIMES, "max_val": MAX, "min_val": MIN, "any": OR, "all": AND, "parity": XOR}
COMBINING = {"write_add": PLUS, "write_max": MAX, "write_min": MIN}
SCANS = {"plus_scan": PLUS, "mult_scan": TIMES, "max_scan": MAX, "min_scan": MIN, "or_scan": OR, "and_scan": AND,
         "xor_scan": XOR}


def scan(fold: Fold, type_: Type, v: list[Any]) -> list[Any]:
    """For each element, the fold of those before it; at the end, the fold of all."""
    combine, identity = fold
    results = [identity(type_)]
    for x in v:
        results.append(combine(results[-1], x))
    return results


# The work of sequence primitives: the elements of the sequences that they read or make, but at least 1.
# Only copied elements count: moving a nested sequence's rows costs the number of rows, not their elements.

def of_argument(argument: Any, value: Any) -> int:
    return max(1, len(argument))


def of_value(argument: Any, value: Any) -> int:
    return max(1, len(value))


def one(argument: Any, value: Any) -> int:
    return 1


def of_both(argument: Any, value: Any) -> int:
    return max(1, len(argument[0]) + len(argument[1]))


def of_flatten(argument: Any, value: Any) -> int:
    return max(1, len(argument) + len(value))


COUNT: dict[str, Callable[[Any], int]] = {              # the number of elements made by primitives that read none
    "dist": lambda a: int(a[1]),
    "iseq": lambda a: (a[1][1] - a[0]) // max(a[1][0], 1),
}
SEQUENCE: dict[str, Meaning] = {
    "length": Meaning(lambda _, v: len(v), one),
    "elt": Meaning(lambda _, a: element(*a), one),
    "dist": Meaning(lambda _, a: distribute(*a), of_value),
    "iseq": Meaning(lambda _, a: integers(a[0], *a[1]), of_value),
    "get": Meaning(lambda _, a: gather(*a), of_value),
    "write": Meaning(lambda _, a: scatter(*a), of_both),
    "append": Meaning(lambda _, a: a[0] + a[1], of_both),
    "flatten": Meaning(lambda _, v: [x for part in v for x in part], of_flatten),
    "partition": Meaning(lambda _, a: cut(*a), of_both),
    "subseq": Meaning(lambda _, a: subsequence(a[0], *a[1]), of_value),
    "_compact": Meaning(lambda _, v: v, one),
    "_sort": Meaning(lambda _, v: [v[i] for i in order(v, False)], of_argument),
    "_order": Meaning(lambda _, v: order(v, False), of_argument),
    "_order_down": Meaning(lambda _, v: order(v, True), of_argument),
    "_firsts": Meaning(lambda _, v: firsts(v), of_argument),
}


def unary(f: Callable[[Any], Any]) -> Meaning:
    return Meaning(lambda _, a: f(a), one)


def binary(f: Callable[[Any, Any], Any]) -> Meaning:
    return Meaning(lambda _, a: f(*a), one)


def reduction(fold: Fold) -> Meaning:
    return Meaning(lambda types, v: scan(fold, types[0], v)[-1], of_argument)


def combining(name: str, fold: Fold) -> Meaning:
    combine, _ = fold
    message = f"Index out of bounds for function {name.upper()}."
    return Meaning(lambda _, a: combined(a[0], a[1], combine, message), of_both)


def exclusive_scan(fold: Fold) -> Meaning:
    return Meaning(lambda types, v: scan(fold, types[0], v)[:-1], of_argument)


MEANINGS: dict[str, Meaning] = {
    **{name: binary(f) for name, f in BINARY.items()},
    **{name: unary(f) for name, f in UNARY.items()},
    **{name: reduction(fold) for name, fold in REDUCTIONS.items()},
    **{name: exclusive_scan(fold) for name, fold in SCANS.items()},
    **{name: combining(name, fold) for name, fold in COMBINING.items()},
    **SEQUENCE,
    "first": Meaning(lambda _, p: p[0], lambda argument, value: 0),
    "rest": Meaning(lambda _, p: p[1], lambda argument, value: 0),
}
