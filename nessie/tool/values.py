"""Reads the values of options: each function takes a word, and gives what it means or raises ArgumentTypeError."""
from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from typing import NoReturn

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.system.limits import BYTES, COUNT, SECONDS, WORKERS, Amount, bytes_of
from nessie.tuning.shapes import Shape, shape_of

LARGEST = 2 ** 48               # elements of a sequence


def byte_count(text: str) -> int:
    try:
        return bytes_of(text)
    except ValueError:
        wrong(text, BYTES.wanted)


def names(text: str) -> list[str]:
    """Names with commas between, as a row of a .csv file has them."""
    import csv  # no other option needs it
    found = next(csv.reader([text]), [])
    return [name.strip() for name in found] if all(map(str.strip, found)) and found else \
        wrong(text, "names with commas between")


def count(text: str, wanted: Amount = COUNT) -> int:
    number = number_of(text)
    return int(number) if wanted.takes(number) else wrong(text, wanted.wanted)


def worker_count(text: str) -> int:
    return count(text, WORKERS)


def whole_number(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        wrong(text, "a whole number")
    if not MIN_INT <= number <= MAX_INT:
        wrong(text, "a whole number of 64 bits")
    return number


def seconds(text: str) -> float:
    number = number_of(text)
    return number if SECONDS.takes(number) else wrong(text, SECONDS.wanted)


def size(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    number = number_of(value)
    if number > LARGEST:
        wrong(text, f"a size: no sequence has more than {LARGEST} elements")
    return (name, number) if name and number >= 0 else wrong(text, "NAME=N, such as n=1000 or xs=1e7")


def named_input(text: str) -> tuple[str, str]:
    name, _, exp = text.partition("=")
    return (name.strip(), exp) if name.strip() and exp.strip() else wrong(
        text, "NAME=EXPR, such as large=total([0:1000000])")


def architecture(text: str) -> str:
    return text if re.fullmatch(r"(sm|compute)_\d+[af]?", text) else wrong(text, "an architecture, such as sm_90")


def pair(text: str) -> tuple[str, str]:
    first, _, second = (part.strip().lower() for part in text.partition(","))
    return (first, second) if first and second and "," not in second else wrong(text, "two names, such as total,sq")


def port(text: str) -> int:
    return int(text) if text.isdecimal() and 0 < int(text) < 1 << 16 else wrong(text, "a port, 1 to 65535")


def shapes(text: str) -> tuple[Shape, ...]:
    return tuple([shape_of(part.strip(), LARGEST) or wrong(
        part.strip() or "an empty word", "a shape of one to three sizes, such as 1000000x10 or 1000x1e6, or power, or "
        "power:1000x1e6") for part in text.split(",")])


def number_of(text: str) -> float:
    """The number in the text, or NaN, which every check refuses, if there is none."""
    try:
        return float(text) if math.isfinite(float(text)) else math.nan
    except ValueError:
        return math.nan


def wrong(text: str, wanted: str) -> NoReturn:
    raise argparse.ArgumentTypeError(f"{text} is not {wanted}")


def one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def chosen(text: str) -> str:
        return text if text in choices else wrong(text, f"one of {', '.join(choices)}")
    return chosen
