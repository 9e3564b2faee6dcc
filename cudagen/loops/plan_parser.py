"""The parser of plans in the text of loops (grammar: cudagen.loops.text). A function reads what it is named after."""
from __future__ import annotations

from nessie.cudagen.loops.parser import Parser
from nessie.cudagen.loops.plan import PAIR, Alone, ArrayResult, Buffer, Input, Phase, Plan, Result, ScalarResult, Shape
from nessie.cudagen.loops.printer import ELEMENTS


def plan(parser: Parser) -> Plan:
    tokens = parser.tokens
    start = tokens.expect("plan")
    name = tokens.name()
    tokens.expect("(")
    parameters = tokens.listed(lambda: input_(parser), ")")
    origin = (tokens.span(start),)
    tokens.expect("{")
    tokens.expect("cells")
    cells = int(tokens.literal("int"))
    tokens.expect(";")
    tokens.expect("elements")
    elements = parser.expression()
    tokens.expect(";")
    alone = alone_(parser) if tokens.accept("alone") else None
    phases: list[Phase] = []
    while tokens.at("phase", "library"):
        phases.append(phase_(parser))
    results: list[Result] = []
    while not tokens.accept("}"):
        start = tokens.expect("result")
        results.append(tokens.mark(start, result_(parser)))
        tokens.expect(";")
    return Plan(name, parameters, tuple(phases), tuple(results), cells, elements, alone, origin=origin)


def alone_(parser: Parser) -> Alone:
    name = parser.tokens.name()
    parser.tokens.expect("of")
    chunks = parser.expression()
    parser.tokens.expect(";")
    return Alone(name, chunks)


def input_(parser: Parser) -> Input:
    start, base = parser.tokens.current, parser.one_of(ELEMENTS, "a type")
    size = parser.indexed(parser.expression) if parser.tokens.at("[") else None
    return parser.tokens.mark(start, Input(parser.tokens.name(), base, size))


def phase_(parser: Parser) -> Phase:
    tokens, start = parser.tokens, parser.tokens.current
    library, function = tokens.take().text == "library", tokens.name()
    tokens.expect("(")
    arguments = tokens.listed(parser.expression, ")")
    chunks = None
    shape = shape_(parser) if tokens.accept("grid") else None
    if shape is None and not tokens.accept("once"):
        tokens.expect("chunks")
        chunks = parser.expression()
    in_order = bool(tokens.accept("in")) and bool(tokens.expect("order"))
    chains = parser.expression() if tokens.accept("by") else None
    buffers: list[Buffer] = []
    if not tokens.accept(";"):
        tokens.expect("{")
        while not tokens.accept("}"):
            buffers.append(buffer_(parser))
    return tokens.mark(start, Phase(function, arguments, chunks, tuple(buffers), library, in_order, chains, shape))


def shape_(parser: Parser) -> Shape:
    tokens = parser.tokens
    tokens.expect("(")
    grid = tokens.listed(parser.expression, ")")
    tokens.expect("block")
    tokens.expect("(")
    return Shape(grid, tokens.listed(parser.expression, ")"))


def buffer_(parser: Parser) -> Buffer:
    start = parser.tokens.expect("buffer")
    base, name = parser.one_of(ELEMENTS, "a type"), parser.tokens.name()
    size = parser.indexed(parser.expression)
    fill = parser.constant().value if parser.tokens.accept("=") else None
    copy = parser.tokens.name() if parser.tokens.accept("copy") else ""
    kept = (PAIR if parser.tokens.accept("pair") else 1) if parser.tokens.accept("kept") else 0
    made = parser.tokens.mark(start, Buffer(name, base, size, fill, copy, kept))
    parser.tokens.expect(";")
    return made


def result_(parser: Parser) -> Result:
    tokens = parser.tokens
    if tokens.at_name():
        buffer = tokens.name()
        length = parser.indexed(parser.expression) if tokens.at("[") else None
        return ArrayResult(buffer, length, cell(parser) if tokens.accept("last") else None)
    base, name = parser.type(), tokens.name()
    tokens.expect("=")
    return ScalarResult(name, cell(parser), base)


def cell(parser: Parser) -> int:
    parser.tokens.expect("cells")
    return int(parser.indexed(lambda: parser.tokens.literal("int")))
