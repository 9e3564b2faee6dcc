"""How each construct of NESL is laid out, for all that write it: syntax.text from trees, syntax.format from what users
have written. What a layout is given is laid out already, keywords and signs as well, since a comment may stand
beside any of them. `broken`: the construct has a line for each of its parts even where one would do.
"""
from __future__ import annotations

from collections.abc import Sequence

from nessie.base.text.layout import HARD, LINE, SOFT, Align, Doc, Group, Nest, join


def definition(head: Doc, documentation: Doc | None) -> Doc:
    """function name(parameters) : signature "documentation" """
    return head if documentation is None else Group((head, Nest((LINE, documentation))))


def typed(head: Doc, colon: Doc, signature: Doc) -> Doc:
    """function name(parameters) : type"""
    return Group((head, Nest((LINE, colon, " ", Nest(signature)))))


def equation(left: Doc, sign: Doc, right: Doc, broken: bool = False) -> Doc:
    """left = right, at top level"""
    return Group((left, " ", sign, Nest((HARD if broken else LINE, right))))


def conditional(arms: Sequence[tuple[Doc, Doc, Doc, Doc, Doc]], last: Doc, broken: bool = False) -> Doc:
    """if .. then .. else if .. then .. else ..; of each arm its five parts, `else` the last of them"""
    line = HARD if broken else LINE
    parts: list[Doc] = []
    for opening, condition, then, value, otherwise in arms:
        parts += [Group((opening, " ", Nest(condition), Nest((LINE, then, " ", Nest(value))))), line, otherwise, " "]
    return Align(Group((*parts, Nest(last))))


def binding(pattern: Doc, sign: Doc, value: Doc) -> Doc:
    return (pattern, " ", sign, " ", Nest(value))


def lets(opened: Sequence[tuple[Doc, Sequence[Doc], Doc]], body: Doc, broken: bool = False) -> Doc:
    """let .. in let .. in body; of each let its word, its bindings with their `;`, and its `in`. Each binding has a
    line of its own, unless all of it fits on one."""
    line = HARD if broken or len(opened) > 1 else LINE
    parts: list[Doc] = []
    for word, bindings, closing in opened:
        parts += [HARD] if parts else []
        parts += [word, " ", Nest(join(line, bindings), 4), line, closing]
    return Align(Group((*parts, " ", Nest(body, 3))))


def operators(first: Doc, rest: Sequence[tuple[Doc, Doc]]) -> Doc:
    """A chain of operators of one power, as one group, however long."""
    return Group((first, Nest(tuple([(LINE, sign, " ", right) for sign, right in rest]))))


def arguments(opening: Doc, inside: Doc, closing: Doc, bracketed: bool) -> Doc:
    """The (x, y) of a call; `bracketed`: there is one argument, which has brackets of its own."""
    return (opening, inside, closing) if bracketed else Group((opening, Nest((SOFT, inside)), closing))


def parentheses(opening: Doc, inside: Doc, closing: Doc) -> Doc:
    return (opening, Align(inside), closing)


def items(parts: Sequence[Doc]) -> Doc:
    """Items, each with its comma."""
    return Group(join(LINE, parts))


def sequence(opening: Doc, elements: Sequence[Doc], closing: Doc, fill: bool = False, broken: bool = False) -> Doc:
    """[x, y, z]; `fill`: its lines take as many elements as they can"""
    line: Doc = Group(LINE) if fill else HARD if broken else LINE
    return Align(Group((opening, Nest(join(line, elements), 1), closing)))


def each(opening: Doc, body: tuple[Doc, Doc] | None, generators: Sequence[Doc], guard: tuple[Doc, Doc] | None,
         closing: Doc) -> Doc:
    """{body : generators | guard}; the body with its colon, the guard with its bar"""
    parts: list[Doc] = [] if body is None else [body[0], LINE, body[1], " "]
    parts.append(Align(Group(join(LINE, generators))))
    parts += [] if guard is None else [LINE, guard[0], " ", Nest(guard[1])]
    return Align(Group((opening, Nest(tuple(parts), 1), closing)))


def with_separators(docs: Sequence[Doc], separator: str = ",") -> list[Doc]:
    """The documents, all but the last with the separator behind them."""
    return [*((doc, separator) for doc in docs[:-1]), *docs[-1:]]
