"""Finds the places of JSON values that are not of the type wanted, for messages. It goes slowly, value by value."""
from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from nessie.base.ints import MAX_INT, MIN_INT
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
    show_type,
    unnest_right,
)
from nessie.files.formats.json_text import bounded
from nessie.files.parts import Misfit, wanted_text

Place = tuple[int, ...]                 # positions in the arrays around, outermost first
KINDS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "char": (str,)}


def misfits(value: Any, type_: Type, content: ContentOf, place: Place,
            seen: dict[str, Type]) -> Iterator[tuple[Place, str]]:
    """The places where the value is not of the type, in order, with reasons. `seen`: the variables' types so far."""
    match type_, value:
        case Base(name), _:
            if type(value) not in KINDS[name] or (name == "char" and len(value) != 1):
                yield place, f"{json_kind(value)} where {name} is wanted"
            elif (isinstance(value, int) and not MIN_INT <= value <= MAX_INT
                  and not (name == "float" and is_finite(value))):
                yield place, f"the number is beyond {'64 bits' if name == 'int' else 'the floats'}"
        case Seq(Base("char")), str():
            return
        case Seq(Var() as element), str():
            yield from misfits(value[:1], element, content, place, seen) if value else ()
        case Seq(element), list():
            for i, e in enumerate(value):
                yield from misfits(e, element, content, (*place, i), seen)
        case (Pair() | Data()), list() if len(value) == len(fields := components(type_, content)):
            for i, (e, field) in enumerate(zip(value, fields, strict=True)):
                yield from misfits(e, field, content, (*place, i), seen)
        case (Pair() | Data()), list():
            yield place, f"an array of {len(value)} where {show_type(type_, False)} is wanted"
        case Var(_, cls), _ if CLASSES[cls]:
            if not any(type(value) in KINDS[name] and (name != "char" or len(value) == 1) for name in CLASSES[cls]):
                yield place, f"{json_kind(value)} where {wanted_text(type_)} is wanted"
        case Var(name), _:
            yield from odd_ones(value, place)
            try:
                seen[name] = joined(seen.get(name, Var("unknown")), guess(value))
            except Misfit as error:
                yield place, str(error)
        case _:
            said = f"{json_kind(value)} where {show_type(type_, False)} is wanted"
            yield place, f"{said}: an array of its values is one" if isinstance(value, dict) and isinstance(
                type_, Pair) else said


def is_finite(value: int) -> bool:
    """Whether the value is finite as a float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def odd_ones(value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """The places in the value that keep it from having a type, with reasons."""
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


def joined(a: Type, b: Type) -> Type:
    """The type that covers both; ints among floats are floats. Misfit if there is none."""
    match a, b:
        case _ if a == b or isinstance(b, Var):
            return a
        case Var(), _:
            return b
        case Base(c), Base(d) if {c, d} == {"int", "float"}:
            return Base("float")
        case Seq(c), Seq(d):
            return Seq(joined(c, d))
    raise Misfit(f"holds both {show_type(a, False)} and {show_type(b, False)}")


def components(type_: Type, content: ContentOf) -> list[Type]:
    """The types side by side in the array of a tuple or a datatype."""
    if isinstance(type_, Data):
        inside = content(type_)
        return components(inside, content) if isinstance(inside, Pair) else [inside]
    return unnest_right(type_, Pair)
