"""Mappings as text and back.

    mapping   = walk | "case" case walk {"case" case walk}                 of all, or of partitions
    case      = INT | "rest"
    walk      = strategy | "GridBlock" "(" INT "," inner ")" | "Levels" "(" "[" level {"," level} "]" "," inner ")"
    inner     = "Gen" | name "(" {argument ","} inner ")"
    argument  = INT | "[" INT {"," INT} "]"

A combinator is a class of lambda_cu.mappings.nodes: its fields, of which `of` is the last, are its arguments.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, NoReturn, TypeVar

from nessie.base.source import NessieError, Source, Span
from nessie.base.text.nearest import nearest
from nessie.base.text.places import Places
from nessie.base.text.tokens import Token, Tokens
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.levels import ITEMS, LEVELS, OWNERS

T = TypeVar("T")

NAMED = {kind.__name__: kind for kind in maps.COMBINATORS}
TOPS = ("GridBlock", "Levels")
MOST = 2 ** 31 - 1              # a number of a mapping: no launch has more blocks


def show_mapping(mapping: maps.Mapping | maps.Inner) -> str:
    match mapping:
        case maps.Strategy(name):
            return name
        case maps.Gen():
            return "Gen"
        case maps.Cases(of):
            return " ".join([f"case {show_case(case)} {show_mapping(walk)}" for case, walk in of])
    arguments = [getattr(mapping, part.name) for part in fields(mapping)[:-1]]
    return f"{type(mapping).__name__}({', '.join([*map(shown, arguments), show_mapping(mapping.of)])})"


def show_case(case: int) -> str:
    return "rest" if case == maps.REST else str(case)


def read_case(tokens: Tokens) -> int:
    """The number of a test, or `rest`."""
    if tokens.accept("rest"):
        return maps.REST
    start, case = tokens.current, tokens.integer()
    if case == maps.REST:
        tokens.fail("cases are numbered from 1 on, in the order of the tests; what no test takes is `rest`", start)
    return case


def shown(argument: int | tuple[int | str, ...]) -> str:
    return f"[{', '.join(map(str, argument))}]" if isinstance(argument, tuple) else str(argument)


def parse_mapping(text: str | Source, places: Places | None = None) -> maps.Mapping:
    """Return the mapping; raise NessieError, with the word underlined, where there is none. `places` records where its
    combinators stand."""
    tokens = Tokens(text, (), places)
    found = mapping(tokens)
    tokens.finish()
    return found


def parse_part(text: Span, places: Places | None = None) -> maps.Mapping:
    """The same of a part of a text, where errors show their places."""
    try:
        return parse_mapping(Source("mapping", text.source.text[text.start:text.end]), places)
    except NessieError as wrong:
        raise NessieError(wrong.message, *[(inside(text, span), label) for span, label in wrong.places],
                          hint=wrong.hint) from None


def inside(text: Span, part: Span) -> Span:
    """The place in the text's source of what has this place in the text by itself."""
    return Span(text.source, text.start + part.start, text.start + part.end)


def mapping(tokens: Tokens) -> maps.Mapping:
    """Read a mapping, and go on behind it."""
    start = tokens.current
    if not tokens.at("case"):
        return walk(tokens)
    found: dict[int, maps.Walk] = {}
    while tokens.accept("case"):
        at, case = tokens.current, read_case(tokens)
        if case in found:
            tokens.fail(f"case {show_case(case)} has two mappings", at)
        found[case] = walk(tokens)
    return tokens.mark(start, maps.Cases(tuple(found.items())))


def walk(tokens: Tokens) -> maps.Walk:
    start = tokens.current
    if tokens.at(*maps.STRATEGIES):
        return tokens.mark(start, maps.Strategy(tokens.take().text))
    if tokens.accept("GridBlock"):
        tokens.expect("(")
        block = number(tokens)
        tokens.expect(",")
        return closed(tokens, start, maps.GridBlock(block, inner(tokens)))
    if tokens.accept("Levels"):
        tokens.expect("(")
        first = tokens.current
        tokens.expect("[")
        levels = tokens.mark(first, tokens.several(lambda: level(tokens), "]"))
        tokens.expect(",")
        return closed(tokens, start, maps.Levels(levels, inner(tokens)))
    if start.text in (*NAMED, "Gen"):
        tokens.fail(f"{start.text} says what space threads have, not what walks it: GridBlock or Levels is outermost")
    if start.text in (*OWNERS, ITEMS):
        asked = start.text
        tokens.fail(f"{asked} is a level, no mapping: --level NAME={asked}, or % level NAME by {asked} %")
    unknown(tokens, "a mapping", (*maps.STRATEGIES, *TOPS))


def closed(tokens: Tokens, start: Token, top: maps.Top) -> maps.Top:
    """Read the bracket that ends a mapping. Its place is its name."""
    tokens.expect(")")
    return named(tokens, start, top)


def named(tokens: Tokens, start: Token, part: T) -> T:
    """Mark the part's place, which is its name."""
    if tokens.places is not None:
        tokens.places.mark(part, Span(tokens.source, start.start, start.end))
    return part


def level(tokens: Tokens) -> str:
    if tokens.at(*LEVELS):
        return tokens.take().text
    unknown(tokens, "a level", tuple(LEVELS))


def inner(tokens: Tokens) -> maps.Inner:
    start = tokens.current
    if tokens.accept("Gen"):
        return maps.Gen()
    if start.text in (*TOPS, *maps.STRATEGIES):
        tokens.fail(f"{start.text} is outermost, and nowhere else")
    kind: Callable[..., maps.Combinator] | None = NAMED.get(start.text)
    if kind is None:
        unknown(tokens, "Gen or a combinator", (*NAMED, "Gen"))
    tokens.take()
    tokens.expect("(")
    arguments: list[Any] = []
    for _ in fields(NAMED[start.text])[:-1]:
        arguments.append(argument(tokens, start.text))
        tokens.expect(",")
    found = kind(*arguments, inner(tokens))
    tokens.expect(")")
    return named(tokens, start, found)


def argument(tokens: Tokens, combinator: str) -> int | tuple[int, ...]:
    if combinator in ("CompressGrid", "Permute"):
        first = tokens.current
        tokens.expect("[")
        return tokens.mark(first, tokens.several(lambda: number(tokens), "]"))
    return number(tokens)


def number(tokens: Tokens) -> int:
    """Read a number of elements, threads or axes, with which sizes can be computed without loss."""
    start, found = tokens.current, tokens.integer()
    if abs(found) > MOST:
        tokens.fail(f"a number of a mapping is at most {MOST:,}", start)
    return found


def unknown(tokens: Tokens, what: str, known: tuple[str, ...]) -> NoReturn:
    meant = nearest(tokens.current.text, known)
    more = f"; did you mean {meant}?" if meant else ""
    tokens.fail(f"{what} must stand here, one of {', '.join(known)}{more}")
