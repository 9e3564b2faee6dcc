"""The meanings of the functions of every type, on plain values: equality, text, identities, hashing, labels, numbers.

The compiler derives code for each type that they are used at. Here the values carry their types, and a type is needed
only to make a value from nothing.
"""
from __future__ import annotations

import math
from functools import cmp_to_key
from typing import Any

from nessie.base.types import Base, ContentOf, Data, Pair, Seq, Type
from nessie.base.values import Record
from nessie.interpreter.meanings import FLOATS, MEANINGS, Meaning, greatest, is_nan, least, one, wrap

WIDTH = 5                               # elements of a sequence in a limited text
FACTOR = 6364136223846793005            # the weight of the parts of a code


def equal(a: Any, b: Any) -> bool:
    """Whether the values are equal: lengths first, then elements. NaN equals nothing. Function types are nominal: two
    values of one are the same."""
    if isinstance(a, list):
        return len(a) == len(b) and all([equal(x, y) for x, y in zip(a, b, strict=True)])
    if isinstance(a, tuple):
        return equal(a[0], b[0]) and equal(a[1], b[1])
    if isinstance(a, Record):
        return equal(a.content, b.content)
    return bool(a == b) if isinstance(a, (int, float, str)) else True


def text(value: Any, levels: float = math.inf, width: float = math.inf, digits: int = 8) -> str:
    """The text of the value, as `@` and `print` show it, `levels` deep and `width` elements wide, floats to so many
    digits."""
    match value:
        case bool():
            return "t" if value else "f"
        case int():
            return str(value)
        case float():
            return float_text(value, digits)
        case str():
            return "`" + value
        case list():
            return sequence_text(value, levels, width, digits)
        case tuple():
            return pair_text(value, levels, width, digits)
        case Record():
            return text(value.content, levels, width, digits)
    return "function"


def sequence_text(value: list[Any], levels: float, width: float, digits: int) -> str:
    if levels <= 0:
        return "..."
    shown = value if len(value) <= width else value[:int(width)]
    parts = [text(e, levels - 1, width, digits) for e in shown] + (["..."] if len(shown) < len(value) else [])
    return f"[{', '.join(parts)}]"


def pair_text(value: tuple[Any, Any], levels: float, width: float, digits: int) -> str:
    """The text of a tuple. Three components are side by side; a tail beyond them has parentheses of its own."""
    first, rest = value
    parts = [first, *rest] if isinstance(rest, tuple) else [first, rest]
    return f"({', '.join([text(p, levels, width, digits) for p in parts])})"


def float_text(x: float, count: int) -> str:
    """The float with so many significant digits, without trailing zeros; in fixed notation from 0.01 up to 1e7."""
    if not math.isfinite(x):
        return "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"
    mantissa, exponent = f"{abs(x):.{count - 1}e}".split("e")
    sign, digits, power = "-" if x < 0 else "", mantissa.replace(".", ""), int(exponent)
    if x == 0 or -2 <= power < 7:
        whole, fraction = ("0", "0" * (-power - 1) + digits) if power < 0 else (digits[:power + 1], digits[power + 1:])
        return f"{sign}{whole}.{fraction.rstrip('0') or '0'}"
    return f"{sign}{digits[0]}.{digits[1:].rstrip('0') or '0'}e{'+' if power >= 0 else '-'}{abs(power)}"


def identity(type_: Type, content: ContentOf, value: Any = None) -> Any:
    """The zero of the type. Functions, which have no zero, are taken from the value."""
    match type_:
        case Base(name):
            return {"int": 0, "float": 0.0, "bool": False, "char": chr(0)}[name]
        case Seq():
            return []
        case Pair(first, second):
            left, right = value or (None, None)
            return identity(first, content, left), identity(second, content, right)
        case Data(name):
            return Record(name, identity(content(type_), content, value and value.content))
    return value


def key(value: Any) -> Any:
    """A Python value that is equal, with an equal hash, exactly for equal values."""
    if isinstance(value, (list, tuple)):
        return tuple([key(e) for e in value])
    if isinstance(value, Record):
        return key(value.content)
    return object() if isinstance(value, float) and math.isnan(value) else value


def labels(v: list[Any]) -> list[int]:
    """For each element, the position of the first element that equals it."""
    first: dict[Any, int] = {}
    return [first.setdefault(key(x), i) for i, x in enumerate(v)]


def in_order(v: list[Any]) -> list[int]:
    """The positions of the elements, sorted by value; equal elements keep their order."""
    def by_value(i: int, j: int) -> int:
        return compared(v[i], v[j], i < j)
    return sorted(range(len(v)), key=cmp_to_key(by_value))


def places(v: list[Any]) -> list[int]:
    """For each element how many different ones are less."""
    order = in_order(v)
    found, number = [0] * len(v), 0
    for before, i in zip([None, *order], order):
        number += before is not None and compared(v[before], v[i], before < i) != 0
        found[i] = number
    return found


def compared(x: Any, y: Any, first: bool) -> int:
    """-1 where x comes before y, 0 where they are equal, else 1. Of two NaNs the one that comes first is less."""
    match x:
        case Record():
            return compared(x.content, y.content, first)
        case list() | tuple():
            pairs = (compared(a, b, first) for a, b in zip(x, y))
            return next((found for found in pairs if found), (len(x) > len(y)) - (len(x) < len(y)))
    if is_nan(x) or is_nan(y):
        return (-1 if first else 1) if is_nan(x) and is_nan(y) else 1 if is_nan(x) else -1
    return bool(x > y) - bool(x < y)


def code(value: Any) -> int:
    """The hash of the value: an int that is the same for equal values."""
    match value:
        case bool() | int():
            return int(value)
        case str():
            return ord(value)
        case float():
            return float_code(value)
        case list():
            total = 0
            for element in reversed(value):     # element i has the weight FACTOR^i
                total = wrap(FACTOR * total + code(element))
            return wrap(total + len(value))
        case tuple():
            return wrap(code(value[0]) + FACTOR * code(value[1]))
        case Record():
            return code(value.content)
    return 0


def float_code(x: float) -> int:
    """The fraction's 53 bits plus the exponent, with the sign."""
    if x == 0 or not math.isfinite(x):
        return 0
    fraction, exponent = math.frexp(abs(x))
    return (int(fraction * 2.0 ** 53) + exponent - 53) * (1 if x > 0 else -1)


def as_text(name: str, argument: Any, digits: int) -> list[str]:
    """What `string` or `_string_limited` gives on the argument, floats to so many digits."""
    value, levels, width = (argument, math.inf, math.inf) if name == "string" else (*argument, WIDTH)
    return list(text(value, levels, width, digits))


def number(x: Any, type_: Type) -> Any:
    """An int or a float as a number of this type; floats are rounded to ints."""
    return float(x) if type_ in FLOATS else MEANINGS["round"].value((), x) if isinstance(x, float) else x


# The costs. Every element at every level is looked at. Text and labels take some operations for each element, and some
# steps for each level. Sequences are labelled in rounds that halve them.

TEXT_WORK, TEXT_DEPTH, LABEL_WORK, LABEL_DEPTH = 4, 8, 16, 16


def of_size(argument: Any, value: Any) -> int:
    return size(argument)


def of_levels(argument: Any, value: Any) -> int:
    return levels(argument) + 1


def of_text(argument: Any, value: Any) -> int:
    return TEXT_WORK * (size(argument) + len(value))


def of_limited_text(argument: Any, value: Any) -> int:
    return TEXT_WORK * (1 + len(value))


def depth_of_text(argument: Any, value: Any) -> int:
    return TEXT_DEPTH * (levels(argument) + 1)


def of_labels(argument: Any, value: Any) -> int:
    return LABEL_WORK * size(argument)


def depth_of_labels(argument: Any, value: Any) -> int:
    return LABEL_DEPTH * rounds(argument)


def size(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        return 1 + sum([size(v) for v in value])
    return size(value.content) if isinstance(value, Record) else 1


def levels(value: Any) -> int:
    """The nesting depth of sequences and pairs in the value."""
    if isinstance(value, (list, tuple)):
        return 1 + max([levels(v) for v in value], default=0)
    return levels(value.content) if isinstance(value, Record) else 0


def rounds(values: list[Any]) -> int:
    """The number of rounds in which the values are labelled: their components first, then sequences by halves."""
    match values[:1]:
        case [tuple()]:
            return rounds([v[0] for v in values]) + rounds([v[1] for v in values]) + 1
        case [list()]:
            longest = max([len(v) for v in values])
            return rounds([element for v in values for element in v]) + longest.bit_length() + 1
        case [Record()]:
            return rounds([v.content for v in values])
    return 1


DERIVED: dict[str, Meaning] = {
    "eql": Meaning(lambda _, a: equal(*a), of_size, of_levels),
    "string": Meaning(lambda _, a: list(text(a)), of_text, depth_of_text),
    "_string_limited": Meaning(lambda _, a: list(text(a[0], a[1], WIDTH)), of_limited_text, depth_of_text),
    "_code": Meaning(lambda _, a: code(a), of_size, of_levels),
    "_label": Meaning(lambda _, v: labels(v), of_labels, depth_of_labels),
    "_place": Meaning(lambda _, v: places(v), of_labels, depth_of_labels),
    "_ordered": Meaning(lambda _, v: in_order(v), of_labels, depth_of_labels),
    "_least": Meaning(lambda t, _: least(t[0]), one),
    "_greatest": Meaning(lambda t, _: greatest(t[0]), one),
    "one": Meaning(lambda t, _: number(1, t[0]), one),
    "zero": Meaning(lambda t, _: number(0, t[0]), one),
    "float_num": Meaning(lambda _, a: float(a), one),
    "int_to_any": Meaning(lambda t, a: number(a[0], t[0]), one),
    "float_to_any": Meaning(lambda t, a: number(a[0], t[0]), one),
}
