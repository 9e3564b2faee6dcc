"""Finds the examples in a program's comments: expressions with their values.

    % Each element twice: twice([1, 2]) => [2, 4]
      twice([] int) => []
      twice([[1],
             [2]]) => error %

An example is a line of a comment with `=>` outside of brackets: an expression before it, the value behind it. The text
before a colon on that line is prose, and so are all lines without `=>`. In brackets both sides go on over several
lines, and a line may end before or after the `=>`. The expected value ends before a line with a `=>` of its own,
whatever is open by then. A bracket around the first line's `=>` that is never closed is a mistake, not prose.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator

from nessie.base.records import dataclass
from nessie.base.source import Source, Span
from nessie.syntax.lexer import CLOSING, OPENED_BY, OPERATORS, TOKEN, WORDS

CONSTANT_NAMES = ("t", "f", "int", "float", "bool", "char")     # for example in f([] int)


@dataclass(frozen=True)
class Example:
    """The spans of the expression and of its expected value. Either may be empty, which is a mistake; so is a bracket
    of theirs that is not closed."""
    expression: Span
    expected: Span
    unclosed: Span | None = None


def examples(source: Source) -> Iterator[Example]:
    """Return the examples of all comments, in order."""
    return (found for _, _, found in lines(source) if found)


def without_arrow(source: Source, functions: Collection[str]) -> Iterator[Span]:
    """Yield the `->`, `=` or `==` behind a call of one of these functions at the beginning of a line of prose, if the
    call's arguments are constants: the line may be meant as an example."""
    for start, end, found in lines(source):
        sign = None if found else sign_behind_call(source.text, start, end_of_line(source.text, start, end), functions)
        if sign:
            yield Span(source, *sign)


def lines(source: Source) -> Iterator[tuple[int, int, Example | None]]:
    """Yield where each line of a comment begins and where the comment ends, with the example that begins on the line,
    if any. Lines inside an example are left out."""
    for start, end in comments(source.text):
        while start < end:
            found = example(source, start, end)
            yield start, end, found
            start = end_of_line(source.text, found.expected.end if found else start, end) + 1


def comments(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the inner text of each comment begins and ends."""
    for start, end in pieces(text, 0, len(text)):
        if text[start] == "%" and end > start + 1:
            yield start + 1, end - 1


def example(source: Source, start: int, end: int) -> Example | None:
    """Return the example on the line that begins at `start`, in a comment that ends at `end`, if there is one."""
    text, arrow, first_line = source.text, -1, end_of_line(source.text, start, end)
    opened: list[tuple[int, str]] = []      # the places and kinds of open brackets
    arrows: dict[int, int] = {}             # on the first line, by the bracket around them
    for at, behind in pieces(text, start, end):
        kind = OPERATORS.get(text[at:behind], WORDS.get(text[at:behind].lower(), ""))
        lines = text.count("\n", at, behind) if text[at:behind].strip(" \t\r\n`") == "" else 0
        whole = text[arrow + 2:at].strip() if arrow >= 0 else not text.startswith("=>", behind)
        if lines > 1 or (lines and whole and (not opened or (arrow >= 0 and has_arrow(text, behind, end)))):
            break
        in_bracket = any(which != "let" for _, which in opened)
        if kind in OPENED_BY:
            opened.append((at, OPENED_BY[kind]))
        elif kind in CLOSING and opened and CLOSING[kind] == opened[-1][1]:
            opened.pop()
        elif kind == "FATARROW" and arrow < 0 and not opened:
            arrow = at
        elif kind == "FATARROW" and arrow < 0 and at < first_line:
            arrows.setdefault(opened[-1][0], at)
        elif kind == "COLON" and arrow < 0 and not in_bracket:
            start, opened = behind, []      # a let before it is prose
    else:
        at = end
    if arrow < 0:
        arrow, at = next((arrows[where] for where, _ in opened if where in arrows), -1), first_line
    brackets = [where for where, which in opened if which != "let"]
    unclosed = None
    if brackets:
        at = end_of_line(text, brackets[0], end)
        innermost = max(where for where in brackets if where < at)
        unclosed = Span(source, innermost, innermost + 1)
    return None if arrow < 0 else Example(stripped(source, start, arrow), stripped(source, arrow + 2, at), unclosed)


def has_arrow(text: str, start: int, end: int) -> bool:
    """Has the line that begins at `start` a `=>` outside of its own brackets?"""
    depth = 0
    for at, behind in pieces(text, start, end_of_line(text, start, end)):
        kind = OPERATORS.get(text[at:behind], "")
        if kind == "FATARROW" and not depth:
            return True
        depth = max(0, depth + (kind in OPENED_BY) - (kind in CLOSING))
    return False


def sign_behind_call(text: str, start: int, end: int, functions: Collection[str]) -> tuple[int, int] | None:
    """Return the place of the sign on this line that without_arrow() looks for."""
    tokens = [(at, behind) for at, behind in pieces(text, start, end) if text[at:behind].strip()]
    depth = 0
    for number, (at, behind) in enumerate(tokens):
        token = text[at:behind].lower()
        if number == 0 or (token.isidentifier() and token not in CONSTANT_NAMES):
            if token not in functions:
                return None
        elif number == 1 and token != "(":
            return None
        elif number > 1 and not depth:
            return (at, behind) if token in ("->", "=", "==") and number + 1 < len(tokens) else None
        kind = OPERATORS.get(token, "")
        depth += (kind in OPENED_BY) - (kind in CLOSING)
    return None


def end_of_line(text: str, start: int, end: int) -> int:
    found = text.find("\n", start, end)
    return end if found < 0 else found


def pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where tokens, blanks and comments begin and end; any other character is a piece of its own."""
    while start < end:
        match = TOKEN.match(text, start, end)
        behind = match.end() if match else start + 1
        yield start, behind
        start = behind


def stripped(source: Source, start: int, end: int) -> Span:
    """The span without the blanks around it."""
    text = source.text[start:end]
    start += len(text) - len(text.lstrip())
    return Span(source, start, start + len(text.strip()))
