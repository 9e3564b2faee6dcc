"""JSON: a sequence is an array, a tuple a flat array ((1, (2, 3)) is [1, 2, 3]), a datatype the array of its fields,
a string or character a string, an infinite or undefined float Infinity, -Infinity or NaN.
JSON lines: a sequence, each line an element of it.

All values that stand at one place of the type are converted together, into one column. When something does not fit,
a second, slower walk finds the first place where, for the message.
"""
from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from nessie.base.types import (
    BOOL,
    CLASSES,
    FLOAT,
    INT,
    STRING,
    Base,
    ContentOf,
    Data,
    Pair,
    Seq,
    Type,
    Var,
    expand,
    nest_right,
    show_type,
    substitute,
    unnest_right,
)
from nessie.base.values import DTYPES, Column, Flat, Nested, code_points, plain_value
from nessie.files.fit import Misfit, complain, decoded, fill, joined, offsets_of, wanted_text

DUE = {                 # how Python says what is wrong begins -> what users are told
    "Expecting value": "a value is due", "Expecting ',' delimiter": "a comma or a closing bracket is due",
    "Expecting ':' delimiter": "a colon is due", "Expecting property name": "a name in double quotes is due",
    "Extra data": "the value has ended before", "Unterminated string": "the string has no end",
    "Invalid control character": "a line break or tab in a string is written \\n or \\t",
    "Invalid \\": "this is no escape that strings have", "Illegal trailing comma": "a comma too many"}
Place = tuple[int, ...]                 # positions in the arrays around, outermost first
KINDS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "char": (str,)}


def why(message: str) -> str:
    """What is said of a text that Python's reader says this of."""
    return next((said for begins, said in DUE.items() if message.startswith(begins)), "the text is cut off, or none")


# Reading ----------------------------------------------------------------------------------------

def read_json(path: str, type_: Type, content: ContentOf) -> tuple[Any, Type]:
    standard = path == "-"
    data = sys.stdin.buffer.read() if standard else Path(path).read_bytes()
    path = "standard input" if standard else path
    text = decoded(path, data)
    try:
        value = parsed(text)
    except json.JSONDecodeError as error:
        raise complain(path, text, error.lineno, f"not JSON: {why(error.msg)} (column {error.colno})") from None
    return taken(path, text, value, type_, content, line_of)


def read_jsonl(path: str, type_: Type, content: ContentOf) -> tuple[Any, Type]:
    """The sequence of the values that the lines hold, one each; empty lines hold none."""
    text = decoded(path, Path(path).read_bytes())
    values, lines = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                values.append(parsed(line))
            except json.JSONDecodeError as error:
                raise complain(path, text, number, f"not JSON: {why(error.msg)} (column {error.colno})") from None
            lines.append(number)
    return taken(path, text, values, type_, content, lambda text, place: lines[place[0]] if place else 1)


def taken(path: str, text: str, value: Any, type_: Type, content: ContentOf,
          line: Callable[[str, Place], int]) -> tuple[Any, Type]:
    """What Python's reader has made of the text as a value of the type. `line`: where in the text a place is."""
    found: dict[str, Type] = {}
    try:
        collect([value], type_, found, content)
        closed = substitute(type_, found)
        column = to_column([value], closed, content)
        return scalar_or_sequence(column, expand(closed, content)), closed
    except Misfit as error:
        known = substitute(type_, found)
        place, reason = next(misfits(value, known, content, (), {}), ((), f"the file {error}"))
        raise complain(path, text, line(text, place), where(place) + reason) from None


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:                      # an int of so many digits that Python refuses it
        return json.loads(text, parse_int=bounded)


def bounded(digits: str) -> int:
    """An int, or one that is too large for ints and floats, too."""
    return int(digits[:4000])


def scalar_or_sequence(column: Column, type_: Type) -> Any:
    """The one value in a column."""
    match type_:
        case Pair(first, second):
            return scalar_or_sequence(column[0], first), scalar_or_sequence(column[1], second)
        case Seq():
            return Flat(int(column.offsets[1]), column.content)
        case Base("char"):
            return chr(column[0])
    return column[0].item()


def collect(values: list[Any], type_: Type, found: dict[str, Type], content: ContentOf) -> None:
    """Find the types that variables stand for, from the values at their places."""
    match type_:
        case Var():
            guessed: Type = Var("unknown")
            for value in values:
                guessed = joined(guessed, guess(value))
            fill(type_, default(guessed, type_.cls), found)
        case Seq(element):
            collect(list(chain.from_iterable(v for v in values if isinstance(v, list))), element, found, content)
        case Pair() | Data():
            fields = components(type_, content)
            rows = [v for v in values if isinstance(v, list) and len(v) == len(fields)]
            for i, field in enumerate(fields):
                collect([row[i] for row in rows], field, found, content)


def guess(value: Any) -> Type:
    match value:
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case str():
            return STRING
        case list():
            element: Type = Var("unknown")
            simple = {type(e) for e in value}
            for e in ([simple_value(t) for t in simple] if simple <= {bool, int, float, str} else value):
                element = joined(element, guess(e))
            return Seq(element)
    raise Misfit(f"holds {json_kind(value)}, which is no NESL value")


def simple_value(kind: type) -> Any:
    return kind()


def default(type_: Type, cls: str) -> Type:
    """Where a file says nothing (an empty array), elements are ints."""
    match type_:
        case Var():
            return Base((CLASSES[cls] or ("int",))[0])
        case Seq(element):
            return Seq(default(element, "any"))
    return type_


def components(type_: Type, content: ContentOf) -> list[Type]:
    """What stands side by side in the array of a tuple or a datatype."""
    if isinstance(type_, Data):
        inside = content(type_)
        return components(inside, content) if isinstance(inside, Pair) else [inside]
    return unnest_right(type_, Pair)


def to_column(values: list[Any], type_: Type, content: ContentOf) -> Column:
    match type_:
        case Base(name):
            return scalar_column(values, name)
        case Seq(Base("char")) if all(isinstance(v, str) for v in values):
            return Nested(offsets_of([len(v) for v in values]), code_points("".join(values)))
        case Seq(element):
            require({type(v) for v in values} <= {list})
            lengths = [len(v) for v in values]
            flat = values[0] if len(values) == 1 else list(chain.from_iterable(values))
            return Nested(offsets_of(lengths), to_column(flat, element, content))
        case Pair() | Data():
            fields = components(type_, content)
            require({type(v) for v in values} <= {list} and {len(v) for v in values} <= {len(fields)})
            columns = [to_column([v[i] for v in values], field, content) for i, field in enumerate(fields)]
            return nest_right(columns, lambda first, rest: (first, rest))
    raise Misfit(f"cannot hold {show_type(type_)}")


def scalar_column(values: list[Any], name: str) -> Column:
    require({type(v) for v in values} <= set(KINDS[name]))
    if name == "char":
        require(all(len(v) == 1 for v in values))
        return code_points("".join(values))
    try:
        return np.array(values, DTYPES[name])
    except OverflowError:
        raise Misfit("holds a number out of range") from None


def require(holds: bool) -> None:
    if not holds:
        raise Misfit("does not hold what is wanted")


# Errors -----------------------------------------------------------------------------------------

def misfits(value: Any, type_: Type, content: ContentOf, place: Place,
            seen: dict[str, Type]) -> Iterator[tuple[Place, str]]:
    """Where the value is not of the type, in order. `seen`: what variables have stood for so far."""
    match type_, value:
        case Base(name), _:
            if type(value) not in KINDS[name] or (name == "char" and len(value) != 1):
                yield place, f"{json_kind(value)} where {name} is wanted"
            elif isinstance(value, int) and not -2**63 <= value < 2**63 and not (name == "float" and is_finite(value)):
                yield place, f"the number is beyond {'64 bits' if name == 'int' else 'the floats'}"
        case Seq(Base("char")), str():
            return
        case Seq(element), list():
            for i, e in enumerate(value):
                yield from misfits(e, element, content, (*place, i), seen)
        case (Pair() | Data()), list() if len(value) == len(fields := components(type_, content)):
            for i, (e, field) in enumerate(zip(value, fields, strict=True)):
                yield from misfits(e, field, content, (*place, i), seen)
        case (Pair() | Data()), list():
            yield place, f"an array of {len(value)} where {show_type(type_, False)} is wanted"
        case Var(_, cls), _ if CLASSES[cls]:
            if not any(type(value) in KINDS[name] for name in CLASSES[cls]):
                yield place, f"{json_kind(value)} where {wanted_text(type_)} is wanted"
        case Var(name), _:
            yield from odd_ones(value, place)
            try:
                seen[name] = joined(seen.get(name, Var("unknown")), guess(value))
            except Misfit as error:
                yield place, str(error)
        case _:
            yield place, f"{json_kind(value)} where {show_type(type_, False)} is wanted"


def is_finite(value: int) -> bool:
    """As a float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def odd_ones(value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """The first thing in the value that makes it have no type."""
    if not isinstance(value, list):
        if value is None or isinstance(value, dict):
            yield place, f"{json_kind(value)}, which is no NESL value"
        return
    for i, e in enumerate(value):
        yield from odd_ones(e, (*place, i))
    element: Type = Var("unknown")
    for i, e in enumerate(value):
        try:
            element = joined(element, guess(e))
        except Misfit as error:
            yield (*place, i), f"the array {error}"
            return


def json_kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return "an int"
        case float():
            return "a float"
        case str():
            return "a string"
        case list():
            return "an array"
    return "an object"


def where(place: Place) -> str:
    return f"at {''.join(f'[{i}]' for i in place)}: " if place else ""


def line_of(text: str, place: Place) -> int:
    """The line where the value at this place starts."""
    decoder, at = json.JSONDecoder(parse_int=bounded), skip_blanks(text, 0)
    for position in place:
        at = skip_blanks(text, at + 1)              # the bracket
        for _ in range(position):
            _, at = decoder.raw_decode(text, at)
            at = skip_blanks(text, skip_blanks(text, at) + 1)      # the comma
    return text.count("\n", 0, at) + 1


def skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


# Writing ----------------------------------------------------------------------------------------

def encode_json(value: Any, type_: Type, content: ContentOf) -> bytes:
    """A flat value as JSON text."""
    tree = to_json(plain_value(value, expand(type_, content)), type_, content)
    text = json.dumps(tree, ensure_ascii=False) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:              # half of a surrogate pair: only its escape can be written
        return json.dumps(tree).encode() + b"\n"


def to_json(value: Any, type_: Type, content: ContentOf) -> Any:
    match type_:
        case Seq(Base("char")):
            return "".join(value)
        case Seq(Base()):
            return value
        case Seq(element):
            return [to_json(e, element, content) for e in value]
        case Data():
            inside = content(type_)
            return to_json(value, inside, content) if isinstance(inside, Pair) else [to_json(value, inside, content)]
        case Pair(first, second):
            fields = [to_json(value[0], first, content)]
            while isinstance(second, Pair):
                value = value[1]
                fields.append(to_json(value[0], second.first, content))
                second = second.second
            return [*fields, to_json(value[1], second, content)]
    return value
