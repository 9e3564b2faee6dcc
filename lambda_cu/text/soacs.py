"""The texts of SOACs and spaces: one row each, which is written and read back.

    SEG_SCAN { (s, j, i) => v[i] using v } (0) { (a, b) => a + b } irregular(offsets, n, total)

A new SOAC is a class of lambda_cu.nodes and a row here.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from nessie.base.text.grammar import Field, Grammar
from nessie.base.text.layout import render
from nessie.base.text.tokens import Tokens
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.text import read_case, show_case
from nessie.lambda_cu.text.parser_expressions import expression, size, thunk
from nessie.lambda_cu.text.printer_expressions import WIDTH, name, show_exp, show_size, show_thunk

SPACES = {"uniform": ir.Uniform, "closed": ir.Closed, "nested": ir.Nested, "irregular": ir.Irregular}


def show_soac(soac: ir.Soac) -> str:
    """On one line, or its pieces below one another, as parts of its space always are."""
    pieces = [keyword(soac), *map(render, GRAMMAR.words(soac))]
    short = " ".join(pieces)
    cut = isinstance(soac, ir.Map | ir.Reduce) and soac.parts
    return "\n    ".join(pieces) if cut or max(map(len, short.split("\n"))) >= WIDTH else short


def keyword(soac: ir.Soac) -> str:
    segmented = "" if isinstance(soac, ir.Once) or isinstance(soac.space, ir.Flat) else "SEG_"
    return segmented + upper(type(soac))


def upper(kind: type[ir.Soac]) -> str:
    """REDUCE_BY_INDEX of ReduceByIndex."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).upper()


def show_space(space: ir.Space) -> str:
    return render(GRAMMAR.show(space))


def soac(tokens: Tokens) -> ir.Soac:
    token = tokens.current
    kind = SOACS.get(token.text.removeprefix("SEG_"))
    if kind is None or token.kind != "name":
        tokens.fail("the name of a SOAC is expected here: MAP, REDUCE, ...")
    tokens.take()
    result = tokens.mark(token, GRAMMAR.read(tokens, kind))
    if keyword(result) != token.text:
        segmented = keyword(result).startswith("SEG_")
        tokens.fail(f"the space is {'' if segmented else 'not '}segmented: this is {keyword(result)}", token)
    return result


def space(tokens: Tokens) -> ir.Space:
    start = tokens.current
    kind = SPACES[start.text] if tokens.at(*SPACES) else ir.Flat
    return tokens.mark(start, GRAMMAR.read(tokens, kind))


def show_term(term: ir.Term) -> str:
    return render(GRAMMAR.show(term))


def show_terms(terms: Iterable[ir.Term]) -> str:
    return " + ".join(map(show_term, terms))


def terms(tokens: Tokens) -> tuple[ir.Term, ...]:
    found = [term(tokens)]
    while tokens.accept("+"):
        found.append(term(tokens))
    return tuple(found)


def term(tokens: Tokens) -> ir.Term:
    return GRAMMAR.read(tokens, ir.Floor) if tokens.at("floor") else GRAMMAR.read(tokens, ir.Binomial)


def from_place(tokens: Tokens) -> ir.Size:
    return size(tokens) if tokens.accept("from") else 0


def show_axes(outer: tuple[ir.Size, ...]) -> str:
    """uniform(n_1 = n * m, k, n_2)"""
    return f" = {' * '.join(map(show_size, outer))}" if outer else ""


def axes(tokens: Tokens) -> tuple[ir.Size, ...]:
    if tokens.accept("=") is None:
        return ()
    found = [size(tokens)]
    while tokens.accept("*"):
        found.append(size(tokens))
    return tuple(found)


def listed(show: Callable[[Any], str], read: Callable[[Tokens], Any]) -> Field:
    """Items between parentheses."""
    def shown(items: Iterable[Any]) -> str:
        return f"({', '.join(map(show, items))})"

    def items(tokens: Tokens) -> tuple[Any, ...]:
        tokens.expect("(")
        return tokens.listed(lambda: read(tokens), ")")
    return Field(shown, items)


def show_interior(interior: ir.Interior | None) -> str:
    """interior { () => (1, n - 1) using n } { i => v[i - 1] using v }"""
    if interior is None:
        return ""
    rows = ["rows", show_thunk(interior.rows, 2)] if interior.rows is not None else []
    return " ".join(["interior", *rows, show_thunk(interior.range, 2), show_thunk(interior.thunk, 2)])


def interior(tokens: Tokens) -> ir.Interior | None:
    start = tokens.current
    if tokens.accept("interior") is None:
        return None
    rows = thunk(tokens) if tokens.accept("rows") else None
    return tokens.mark(start, ir.Interior(rows, thunk(tokens), thunk(tokens)))


def show_parts(parts: Iterable[ir.Part]) -> str:
    """case 1 { () => (0, n) using n } step [2] width [1] { i => v[i] using v } case rest ..."""
    return "\n    ".join(map(show_part, parts))


def show_part(part: ir.Part) -> str:
    inside = part.inside
    rows = [f"rows {show_thunk(inside.rows, 4)}"] if inside.rows is not None else []
    steps = [f"step {show_numbers(part.steps)} width {show_numbers(part.widths)}"] if set(part.steps) != {1} else []
    pieces = [f"case {show_case(part.case)}", *rows, show_thunk(inside.range, 4), *steps, show_thunk(inside.thunk, 4)]
    short = " ".join(pieces)
    return short if max(map(len, short.split("\n"))) < WIDTH else "\n      ".join(pieces)


def show_numbers(numbers: Iterable[int]) -> str:
    return f"[{', '.join(map(str, numbers))}]"


def parts(tokens: Tokens) -> tuple[ir.Part, ...]:
    found: list[ir.Part] = []
    while tokens.at("case"):
        start = tokens.take()
        case = read_case(tokens)
        rows = thunk(tokens) if tokens.accept("rows") else None
        range_ = thunk(tokens)
        steps = numbers(tokens) if tokens.accept("step") else ()
        widths = numbers(tokens) if steps and tokens.expect("width") else ()
        axes = 1 if rows is None else 1 + len(items_of(rows.body)) // 2
        inside = ir.Interior(rows, range_, thunk(tokens))
        found.append(tokens.mark(start, ir.Part(case, inside, steps or (1,) * axes, widths or (1,) * axes)))
    return tuple(found)


def items_of(exp: ir.Exp) -> tuple[ir.Exp, ...]:
    return exp.items if isinstance(exp, ir.Tuple) else (exp,)


def numbers(tokens: Tokens) -> tuple[int, ...]:
    tokens.expect("[")
    return tokens.several(lambda: tokens.literal("int"), "]")


GRAMMAR = Grammar({
    ir.Map: "{thunk} {space} {interior} {parts}",
    ir.Reduce: "{thunk} {identity} {operator} {space} {interior} {parts}",
    ir.Scan: "{thunk} {identity} {operator} {space} {total?total}",
    ir.Filter: "{value} {predicate} {space}",
    ir.Partition: "{value} {predicate} {space}",
    ir.Permute: "{value} {index} {space} into {size} {before} {mode}",
    ir.ReduceByIndex: "{value} {index} {identity} {operator} {space} into {size} {before}",
    ir.Once: "{thunk}",
    ir.Order: "{thunk} {space} {descending?descending} {values?values} {firsts?firsts}",
    ir.Flat: "({size})",
    ir.Uniform: "uniform({segments}{outer:Axes}, {length}, {total})",
    ir.Closed: "closed({segments}, {terms}, {total})",
    ir.Nested: "nested({rows}, {lengths:Lengths}, {sums}, {total})",
    ir.Binomial: "{coefficients} {doubling?doubling} {first:From}",
    ir.Floor: "floor({factor}, {offset}, {divisor}) {first:From}",
    ir.Irregular: "irregular({offsets}, {segments}, {total})",
}, {
    "Thunk": Field(lambda found: show_thunk(found, 2), thunk),
    "Operator": Field(lambda found: show_thunk(found, 2), thunk),
    "Interior | None": Field(show_interior, interior),
    "tuple[Part, ...]": Field(show_parts, parts),
    "tuple[Exp, ...]": listed(show_exp, expression),
    "Space": Field(show_space, space),
    "tuple[Term, ...]": Field(show_terms, terms),
    "Lengths": listed(show_term, term),
    "tuple[Size, ...]": listed(show_size, size),
    "Axes": Field(show_axes, axes),
    "From": Field(lambda first: f"from {show_size(first)}" if first else "", from_place),
    "int": Field(str, size),
    "Size": Field(show_size, size),
    "Offsets": Field(name, lambda tokens: tokens.name("an array of offsets")),
    "str": Field(str, lambda tokens: tokens.name("distinct or last")),
})
SOACS: dict[str, type[ir.Soac]] = {upper(kind): kind for kind in ir.SOACS}
