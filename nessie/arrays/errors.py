"""Errors of arrays in Python's words, at the user's own lines.

An operator is a body whose text nobody has written: its place is where it is called. A program is kept for all
expressions of one structure: what fails in one of them is told at its own place.
"""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType

from nessie.api.errors import as_nessie_errors
from nessie.arrays.bodies.expressions.reductions import NONE_GIVEN, OF_SOME
from nessie.arrays.bodies.source import place_in
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source, Span

PYTHONS_OWN = os.path.dirname(os.__file__)
UNEQUAL = "Length mismatch in an apply-to-each."
WORDS = {
    "Divide by zero.": "Division by zero.",
    "Divide by zero in function MOD.": "Modulo by zero.",
    "Divide by zero in function REM.": "Modulo by zero.",
    "Sequence reference (a[i]) out of bounds.": "Index out of range.",
    UNEQUAL: "These sequences are of different lengths.",
    "The power must be nonnegative for ^ .": "An int to a negative power is no int.",
    "Sqrt of negative number.": "Square root of a negative number.",
    "Ln of negative number.": "Logarithm of a negative number."}
HINTS = {
    "Division by zero.": "... if y != 0 else 0 says what is meant there",
    "Modulo by zero.": "... if y != 0 else 0 says what is meant there",
    "Float modulo by zero.": "... if y != 0 else 0 says what is meant there",
    "Float floor division by zero.": "... if y != 0 else 0 says what is meant there",
    "Index out of range.": "v[i] if 0 <= i < len(v) else 0 says what is meant there",
    "An int to a negative power is no int.": "float(x) ** y",
    "Square root of a negative number.": "np.sqrt(x) is nan there",
    "Logarithm of a negative number.": "np.log(x) is nan there",
    "This float is no int of 64 bits.": "min(max(x, -9e18), 9e18) is within them",
    "Shift count out of range, it must be in 0..63.": "x << min(n, 63)",
    "A key is negative.": "keys are places, from 0 on: a - a.min() begins with 0",
    "A reduction of no elements needs an identity.": "reduce(f, identity) gives the identity then",
    **{f"There is no {what} of no elements.": NONE_GIVEN for what in dict.fromkeys(OF_SOME.values())}}
OF_MATH, NUMPYS = "Math domain or range error in ", "NumPy's functions give nan or inf there"
LABELS = ((re.compile(r"\b(?:mod|rem)\(([^,()]+), ([^,()]+)\)"), r"\1 % \2"),
          (re.compile(r"\blshift\(([^,()]+), ([^,()]+)\)"), r"\1 << \2"),
          (re.compile(r"\brshift\(([^,()]+), ([^,()]+)\)"), r"\1 >> \2"))
OF_OWN_NAMES = re.compile(r"(?P<at>.*?)(?:: |^)(?:#?\w+_\d+|n) is (?P<value>[^,]+)(?:, .*)?")
DIVISORS = ("Float modulo by zero.", "Float floor division by zero.")
OF_NOBODY = "<lambda "              # what the files of such texts are called
POWER = "An int to a negative power is no int."
NO_INT = "This float is no int of 64 bits."
ROUNDED = re.compile(r"\b(?:trunc|floor|ceil|round)\(([^,()]+)\)")
OF_INT = re.compile(r"Float out of the range of int in function \w+\.")


@dataclass(frozen=True)
class Caller:
    """The instruction of the user's code that has called an operation."""
    code: CodeType
    instruction: int

    @property
    def span(self) -> Span | None:
        """Where that is written, if the text is known."""
        return place_in(self.code, self.instruction)


def nowhere(number: int) -> Span:
    """Return what a program has for a place that is not known; another for each number."""
    return Span(Source("", ""), number, number)


def caller() -> Caller:
    """Return what has called Nessie."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("nessie."):
        frame = frame.f_back
    return Caller(frame.f_code, frame.f_lasti)


def place_of_call() -> Span | None:
    """Return where the user has called Nessie: of what is executed and has no text, where that is done."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name, file = frame.f_globals.get("__name__", ""), frame.f_code.co_filename
        is_pythons = file.startswith(PYTHONS_OWN) and "-packages" not in file
        if not name.startswith("nessie.") and not is_pythons:
            span = place_in(frame.f_code, frame.f_lasti)
            if span is not None:
                return span
        frame = frame.f_back
    return None


class at_call(as_nessie_errors):
    """As `as_nessie_errors`; an error without a place, or in a text that nobody has written, is told where the user has
    called Nessie."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if isinstance(error, NessieError) and (span := place_of_call()) is not None and all(
                [place.source.name.startswith(OF_NOBODY) for place, _ in error.places]):
            error.places = ((span, ""),)
        super().__exit__(kind, error, traceback)


def in_words(error: NessieError) -> NessieError:
    """The error, in Python's words."""
    error.message = WORDS.get(error.message, error.message)
    if OF_INT.fullmatch(error.message):
        error.message = NO_INT
    error.hint = error.hint or HINTS.get(error.message, NUMPYS if error.message.startswith(OF_MATH) else "")
    error.places = tuple([(span, label_in_words(error.message, label)) for span, label in error.places])
    return error


def label_in_words(message: str, label: str) -> str:
    """The label as Python writes it, without names that only the translation has. Those are in what checks compare."""
    for pattern, instead in LABELS:
        label = pattern.sub(instead, label)
    if message == NO_INT:
        label = ROUNDED.sub(r"it is \1", label)
    found = OF_OWN_NAMES.fullmatch(label)
    if found is None:
        return label
    what = "the divisor" if message in DIVISORS else "the power" if message == POWER else ""
    told = f"{what} is {found['value']}" if what else ""
    return ": ".join([part for part in (found["at"], told) if part])


class told:                         # in lower case, like other context managers
    """Tells errors of the body in Python's words, at the places to which theirs have `moved` (None: nowhere)."""

    def __init__(self, moved: Callable[[Span], Span | None]) -> None:
        self.moved = moved

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if isinstance(error, NessieError):
            raise in_words(self.placed(error)) from error.__cause__

    def placed(self, error: NessieError) -> NessieError:
        """The error at the places of now. Of what has no text, none is told; its label is part of the message."""
        places = [(self.moved(span), label) for span, label in error.places]
        if places and places[0][0] is None and (label := label_in_words(error.message, places[0][1])):
            told = WORDS.get(error.message, error.message)
            error.message, error.hint = f"{told.removesuffix('.')}: {label}.", error.hint or HINTS.get(told, "")
        error.places = tuple([(span, label) for span, label in places if span is not None])
        return error
