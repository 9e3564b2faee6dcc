"""Reads and writes values as JSON and JSON lines.

JSON: a sequence is an array, a tuple a flat array ((1, (2, 3)) is [1, 2, 3]), a datatype the array of its fields,
a string or character a string, an infinite or undefined float Infinity, -Infinity or NaN.
JSON lines: a sequence with one element per line.

All values at one place of the type are converted together, into one column. If a value does not fit, a second, slower
walk finds the first such place for the message (formats.json_places).
"""
from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.types import (
    BOOL,
    CHAR,
    FLOAT,
    INT,
    Base,
    ContentOf,
    Data,
    Pair,
    Seq,
    Type,
    expand,
    nest_right,
    show_type,
)
from nessie.base.values import DTYPES, Column, Flat, Nested, code_points, plain_value
from nessie.files.fit import complain, offsets_of
from nessie.files.formats.json_places import KINDS, Place, components, line_of, misfits, where
from nessie.files.formats.json_text import cost, parsed
from nessie.files.parts import ANY, Chars, File, Misfit, Part, require
from nessie.files.reading import NUMBER, SLOT, Reading

DUE = {                 # the beginning of a message of Python's reader -> the message for users
    "Expecting value": "a value is due", "Expecting ',' delimiter": "a comma or a closing bracket is due",
    "Expecting ':' delimiter": "a colon is due", "Expecting property name": "a name in double quotes is due",
    "Extra data": "the value has ended before", "Unterminated string": "the string has no end",
    "Invalid control character": "a line break or tab in a string is written \\n or \\t",
    "Invalid \\": "this is no escape that strings have", "Illegal trailing comma": "a comma too many"}
PIECE = 1 << 16                 # numbers converted at a time
LIKELY: tuple[tuple[set[type], tuple[Type, ...]], ...] = (
    ({int}, (INT, FLOAT)), ({int, float}, (FLOAT,)), ({bool}, (BOOL,)), ({str}, (Seq(ANY), CHAR)),
    ({str, list}, (Seq(ANY),)))


def why(message: str) -> str:
    """The message for users in place of this message of Python's reader."""
    return next((said for begins, said in DUE.items() if message.startswith(begins)), "the text is cut off, or none")


# Reading ----------------------------------------------------------------------------------------

def read_json(file: Reading) -> File:
    data = file.data()
    file.take(cost(data))
    try:
        return Json(file, data, parsed(data), line_of)
    except UnicodeDecodeError:
        file.decoded(data)
        raise
    except json.JSONDecodeError as error:
        raise not_json(file, data, error.lineno, error) from None


def read_jsonl(file: Reading) -> File:
    """The sequence of the lines' values, one per line; empty lines hold none."""
    data = file.data()
    file.take(cost(data) + data.count(b"\n") * (2 * NUMBER + 2 * SLOT))
    values, lines = [], []
    number, start = 0, 0
    while start < len(data):
        end = data.find(b"\n", start) % (len(data) + 1)        # -1: the last line has none
        line = data[start:end]
        number, start = number + 1, end + 1
        if line.strip():
            try:
                values.append(parsed(line))
            except UnicodeDecodeError:
                file.decoded(data)
                raise
            except json.JSONDecodeError as error:
                raise not_json(file, data, number, error) from None
            lines.append(number)
    return Json(file, data, values, lambda text, place: lines[place[0]] if place else 1)


def not_json(file: Reading, data: Any, line: int, error: json.JSONDecodeError) -> NessieError:
    reason = f"not JSON: {why(error.msg)} (column {error.colno})"
    return complain(file.path, file.decoded(data), line, reason, first_line=file.first_line)


@dataclass(frozen=True)
class Json:
    """A file's value as Python's reader returns it. `data`: the file's text in UTF-8; `line`: finds the line of a
    place in the text."""
    file: Reading
    data: Any
    value: Any
    line: Callable[[str, Place], int]

    def likely(self) -> Sequence[Type]:
        return Values([self.value]).likely()

    def inside(self, type_: Type, content: ContentOf) -> Iterable[tuple[Part, Type]]:
        return Values([self.value]).inside(type_, content)

    def made(self, type_: Type, content: ContentOf) -> Any:
        try:
            return scalar_or_sequence(to_column([self.value], type_, content), expand(type_, content))
        except Misfit as misfit:
            raise self.complaint(type_, content, misfit) from None

    def complaint(self, type_: Type, content: ContentOf, misfit: Misfit) -> NessieError:
        place, reason = next(misfits(self.value, type_, content, (), {}), ((), f"the file {misfit}"))
        text = self.file.decoded(self.data)
        return complain(self.file.path, text, self.line(text, place), where(place) + reason,
                        first_line=self.file.first_line)


@dataclass(frozen=True)
class Values:
    """All values at one place of the type."""
    values: list[Any]

    def likely(self) -> Sequence[Type]:
        kinds = set(map(type, self.values))
        if not kinds:
            return ()
        found = [types for some, types in LIKELY if kinds <= some]
        require(bool(found))
        return found[0]

    def inside(self, type_: Type, content: ContentOf) -> Iterable[tuple[Part, Type]]:
        kinds = set(map(type, self.values))
        match type_:
            case Base(name):
                require(kinds <= set(KINDS[name]) and (name != "char" or all(len(v) == 1 for v in self.values)))
            case Seq(element):
                require(kinds <= {str, list})
                if str in kinds:
                    yield Chars(), element
                yield Values(elements_of([v for v in self.values if isinstance(v, list)] if str in kinds
                                         else self.values)), element
            case Pair() | Data():
                fields = components(type_, content)
                require(kinds <= {list} and {len(v) for v in self.values} <= {len(fields)})
                for i, field in enumerate(fields):
                    yield Values([v[i] for v in self.values]), field
            case _:
                raise Misfit(f"cannot hold {show_type(type_)}")


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


def elements_of(values: list[Any]) -> list[Any]:
    """The elements of all the arrays, concatenated."""
    return values[0] if len(values) == 1 else list(chain.from_iterable(values))


def to_column(values: list[Any], type_: Type, content: ContentOf) -> Column:
    match type_:
        case Base(name):
            return scalar_column(values, name)
        case Seq(Base("char")) if all(isinstance(v, str) for v in values):
            return Nested(offsets_of([len(v) for v in values]), code_points("".join(values)))
        case Seq(element):
            require({type(v) for v in values} <= ({list, str} if element == CHAR else {list}))
            lengths = [len(v) for v in values]
            return Nested(offsets_of(lengths), to_column(elements_of(values), element, content))
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
    found = np.empty(len(values), DTYPES[name])
    try:
        for start in range(0, len(values), PIECE):          # in pieces, so that an interrupt takes effect soon
            found[start:start + PIECE] = values[start:start + PIECE]
    except OverflowError:
        raise Misfit("holds a number out of range") from None
    return found


# Writing ----------------------------------------------------------------------------------------

def encode_json(value: Any, type_: Type, content: ContentOf) -> bytes:
    """A flat value as JSON text."""
    return text_of_json(to_json(plain_value(value, expand(type_, content)), type_, content))


def encode_jsonl(value: Any, type_: Type, content: ContentOf) -> bytes:
    """A flat sequence as lines of JSON, one for each element."""
    whole = expand(type_, content)
    assert isinstance(whole, Seq)
    element = type_.element if isinstance(type_, Seq) else whole.element
    return b"".join([text_of_json(to_json(one, element, content)) for one in plain_value(value, whole)])


def text_of_json(tree: Any) -> bytes:
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
