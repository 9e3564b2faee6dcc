"""Formats a program: the text of nessie fmt, and of editors.

  in    a Source, and the text of its comments
  out   the same tokens and comments in the same order, laid out as syntax.text lays out trees (syntax.layouts)
  how   Each rule of the grammar has a layout, a function of its parts (LAYOUTS). Some line breaks of the user stay:
        behind a definition's `=`, between the bindings of a let, before `then` and `else`, between the elements of a
        sequence that are not literals, and one empty line between forms, bindings and elements. The result is read
        again before it is returned: its tree is the old one, and so are its comments.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from nessie.base.source import InternalError, Source
from nessie.base.text.layout import GAP, HARD, Aside, Doc, Mark, Shown, join, render_marked
from nessie.syntax import layouts
from nessie.syntax.concrete import Comment, Part, Token, Tree, concrete
from nessie.syntax.examples import comments
from nessie.syntax.parser import parse_program
from nessie.syntax.text import POWER

BRACKETED = ("p_each", "p_each_short", "p_sequence")
COLUMN_GAP = 2                  # blanks before comments that end lines


def formatted(source: Source) -> str:
    """Return the text of the program, laid out. The first bad form raises."""
    program = parse_program(source)
    forms, alone = concrete(source)
    parts = [apart(form) for form in forms] or [aside(comment) for comment in alone]
    text, marks = render_marked(join(HARD, parts))
    text = aligned(text, marks)
    text = text.strip("\n") + "\n" if text.strip() else ""
    again = Source(source.name, text)
    if not same(parse_program(again), program) or words(again) != words(source):
        raise InternalError(f"{source.name} would mean something else when formatted; it is left as it is")
    return text


def same(one: Any, other: Any) -> bool:
    """Are two trees equal, but for places? At any depth."""
    waiting = [(one, other)]
    while waiting:
        a, b = waiting.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, tuple):
            if len(a) != len(b):
                return False
            waiting += zip(a, b, strict=True)
        elif is_dataclass(a):
            waiting += [(getattr(a, field.name), getattr(b, field.name)) for field in fields(a) if field.compare]
        elif a != b:
            return False
    return True


def words(source: Source) -> list[list[str]]:
    """The words of each comment."""
    return [source.text[start:end].split() for start, end in comments(source.text)]


def aligned(text: str, marks: list[Shown]) -> str:
    """Move comments that end successive lines below each other."""
    ends = [mark.start for mark in marks if isinstance(mark.of, Comment)]
    lines, starts = text.split("\n"), dict[int, int]()         # the column of the comment that ends a line
    for start in ends:
        starts[text.count("\n", 0, start)] = start - text.rfind("\n", 0, start) - 1
    run: list[int] = []
    for at in [*sorted(starts), len(lines) + 1]:
        if run and run[-1] + 1 != at:
            widest = max(len(lines[one][:starts[one]].rstrip()) for one in run) + COLUMN_GAP
            for one in run:
                lines[one] = lines[one][:starts[one]].rstrip().ljust(widest) + lines[one][starts[one]:].lstrip()
            run = []
        run.append(at)
    return "\n".join(lines)


# Tokens -----------------------------------------------------------------------------------------


def doc(part: Part) -> Doc:
    return token_doc(part) if isinstance(part, Token) else LAYOUTS.get(part.rule, adjacent)(*part.parts)


def docs(parts: Sequence[Part]) -> list[Doc]:
    return [doc(part) for part in parts]


def token_doc(token: Token) -> Doc:
    if not token.before and not token.after:
        return token.text
    gap = (GAP,) if token.before and token.gap else ()
    return (*[aside(one) for one in token.before], *gap, token.text, *[aside(one) for one in token.after])


def aside(comment: Comment) -> Doc:
    column = comment.column if comment.movable else None
    shown: Doc = Aside(comment.text, comment.begins_line, comment.ends_line, column)
    if comment.ends_line and not comment.begins_line and "\n" not in comment.text:
        shown = Mark(shown, comment)
    return (GAP, shown) if comment.gap else shown


def first(part: Part) -> Token | None:
    """The part's first token, if it has one."""
    waiting: list[Part] = [part]
    while waiting:
        found = waiting.pop()
        if isinstance(found, Token):
            return found
        waiting += reversed(found.parts)
    return None


def begins_line(part: Part) -> bool:
    token = first(part)
    return token is not None and (token.begins_line or any(comment.ends_line for comment in token.before))


def apart(part: Part) -> Doc:
    """The part, behind an empty line if there is one."""
    token = first(part)
    return (GAP, doc(part)) if token is not None and token.gap and not token.before else doc(part)


def is_rule(part: Part, *rules: str) -> bool:
    return isinstance(part, Tree) and part.rule in rules


# Lists ------------------------------------------------------------------------------------------


def separated(parts: tuple[Part, ...]) -> list[Doc]:
    """The items of a list, each with the separator behind it."""
    pairs = [parts[at:at + 2] for at in range(0, len(parts), 2)]
    return [(apart(pair[0]) if at else doc(pair[0]), *docs(pair[1:])) for at, pair in enumerate(pairs)]


def adjacent(*parts: Part) -> Doc:
    return tuple(docs(parts))


def spaced(*parts: Part) -> Doc:
    return join(" ", [doc(part) for part in parts if first(part) is not None])


def in_line(*parts: Part) -> Doc:
    """A list that stays on a line."""
    return join(" ", separated(parts))


# Top level --------------------------------------------------------------------------------------


def command(word: Token, *rest: Token) -> Doc:
    """A command's text stays as it is. Behind `?` the `;` would belong to a name."""
    *text, closing = rest
    return (doc(word), *((" ", doc(one)) for one in text), " " if word.text == "?" and not text else "", doc(closing))


def function(word: Part, name: Part, parameter: Part, *rest: Part) -> Doc:
    beside = "" if is_rule(parameter, "p_parentheses") else " "
    head: Doc = (doc(word), " ", doc(name), beside, doc(parameter))
    if isinstance(rest[0], Token) and rest[0].text == ":":
        head, rest = layouts.typed(head, doc(rest[0]), doc(rest[1])), rest[2:]
    if not rest:
        return head
    documentation, sign, body = rest
    text = first(documentation)
    return layouts.equation(layouts.definition(head, None if text is None else token_doc(text)), doc(sign), doc(body),
                            begins_line(body))


def datatype(word: Part, name: Part, type_: Part, *contexts: Part) -> Doc:
    beside = "" if is_rule(type_, "p_type_tuple") else " "
    return (doc(word), " ", doc(name), beside, doc(type_), context_docs(contexts))


def equation(left: Part, sign: Part, right: Part) -> Doc:
    return layouts.equation(doc(left), doc(sign), doc(right), begins_line(right))


def signature(type_: Part, *contexts: Part) -> Doc:
    return (doc(type_), context_docs(contexts))


def context_docs(parts: tuple[Part, ...]) -> Doc:
    """:: and what is behind it"""
    return (" ", doc(parts[0]), " ", *docs(parts[1:])) if parts else ""


# Expressions ------------------------------------------------------------------------------------


def pair(*parts: Part) -> Doc:
    """A tuple: its first item, a comma, and the rest of it."""
    found = list[Part]()
    while True:
        found += parts[:2]
        if not is_rule(parts[2], "p_exp_pair"):
            return layouts.items(separated((*found, parts[2])))
        parts = parts_of(parts[2])


def parts_of(part: Part) -> tuple[Part, ...]:
    assert isinstance(part, Tree)
    return part.parts


def conditional(*parts: Part) -> Doc:
    arms: list[tuple[Doc, Doc, Doc, Doc, Doc]] = []
    broken = False
    while True:
        opening, condition, then, value, otherwise, last = parts
        broken = broken or begins_line(then) or begins_line(otherwise)
        arms.append((doc(opening), doc(condition), doc(then), doc(value), doc(otherwise)))
        if not is_rule(last, "p_if") or has_comments(last):
            return layouts.conditional(arms, doc(last), broken)
        parts = parts_of(last)


def has_comments(part: Part) -> bool:
    token = first(part)
    return token is not None and bool(token.before)


def let(*parts: Part) -> Doc:
    opened: list[tuple[Doc, list[Doc], Doc]] = []
    broken = False
    while True:
        word, bindings, *separator, closing, body = parts
        listed = parts_of(bindings)
        broken = broken or begins_line(closing) or any([begins_line(binding) for binding in listed[2::2]])
        opened.append((doc(word), separated((*listed, *separator)), doc(closing)))
        if not is_rule(body, "p_let"):
            return layouts.lets(opened, doc(body), broken)
        parts = parts_of(body)


def binding(pattern: Part, sign: Part, value: Part) -> Doc:
    return layouts.binding(doc(pattern), doc(sign), doc(value))


def operators(*parts: Part) -> Doc:
    """A chain of operators: to the left, or of `->`, to the right."""
    left, sign, right = parts
    chain: list[tuple[Doc, Doc]] = []
    if text_of(sign) == "->":
        while is_rule(right, "p_binary") and text_of(parts_of(right)[1]) == "->":
            chain.append((doc(sign), doc(parts_of(right)[0])))
            _, sign, right = parts_of(right)
        return layouts.operators(doc(left), [*chain, (doc(sign), doc(right))])
    power = POWER[text_of(sign)]
    chain.append((doc(sign), doc(right)))
    while is_rule(left, "p_binary") and POWER[text_of(parts_of(left)[1])] == power:
        left, sign, right = parts_of(left)
        chain.append((doc(sign), doc(right)))
    return layouts.operators(doc(left), chain[::-1])


def text_of(part: Part) -> str:
    token = first(part)
    return token.text.lower() if token else ""


def applications(*parts: Part) -> Doc:
    """f(x)[i] y, however long"""
    found: list[Doc] = []
    while True:
        function, *argument = parts
        found.append(argument_doc(argument))
        if not is_rule(function, "p_apply", "p_index"):
            return (doc(function), *reversed(found))
        parts = parts_of(function)


def argument_doc(argument: list[Part]) -> Doc:
    match argument:
        case [Tree("p_parentheses", (opening, inside, closing))]:
            return layouts.arguments(doc(opening), doc(inside), doc(closing), is_rule(inside, *BRACKETED))
        case [one]:
            return (" ", doc(one))
    return adjacent(*argument)


def apply_to_unary(function: Part, sign: Part, operand: Part) -> Doc:
    return (doc(function), " ", doc(sign), doc(operand))


def parentheses(opening: Part, inside: Part, closing: Part) -> Doc:
    return layouts.parentheses(doc(opening), doc(inside), doc(closing))


def sequence(opening: Part, elements: Part, closing: Part) -> Doc:
    listed = parts_of(elements)
    fill = all([is_small(one) for one in listed[::2]])
    broken = not fill and any([begins_line(one) for one in listed[2::2]])
    return layouts.sequence(doc(opening), separated(listed), doc(closing), fill, broken)


def is_small(part: Part) -> bool:
    """Is it a literal, or a tuple of some?"""
    while is_rule(part, "p_parentheses"):
        part = parts_of(part)[1]
    while is_rule(part, "p_exp_pair"):
        item, _, part = parts_of(part)
        if not is_literal(item):
            return False
    return is_literal(part)


def is_literal(part: Part) -> bool:
    """Is it a literal, or a negated one?"""
    return is_rule(part, "p_number", "p_bool", "p_char", "p_string") or (
        isinstance(part, Tree) and part.rule == "p_unary" and is_rule(part.parts[1], "p_number"))


def each(opening: Part, serial: Part, *parts: Part) -> Doc:
    *body, generators, guard, closing = parts
    begins: Doc = doc(opening) if first(serial) is None else (doc(opening), doc(serial), " ")
    bar = parts_of(guard)
    return layouts.each(begins, (doc(body[0]), doc(body[1])) if body else None, separated(parts_of(generators)),
                        (doc(bar[0]), doc(bar[1])) if bar else None, doc(closing))


def empty(opening: Part, closing: Part, type_: Part) -> Doc:
    return (doc(opening), doc(closing), " ", doc(type_))


# Types ------------------------------------------------------------------------------------------


def type_sequence(opening: Part, element: Part, *rest: Part) -> Doc:
    *length, closing = rest
    more = [doc(length[0]), " ", doc(length[1])] if length else []
    return (doc(opening), doc(element), *more, doc(closing))


def type_rows(opening: Part, *inside: Part) -> Doc:
    return (doc(opening), spaced(*inside[:-1]), doc(inside[-1]))


def element(word: Part, *rest: Part) -> Doc:
    return (doc(word), " ", *docs(rest))


def length_call(name: Part, opening: Part, one: Part, *rest: Part) -> Doc:
    *other, closing = rest
    more = [doc(other[0]), " ", doc(other[1])] if other else []
    return (doc(name), doc(opening), doc(one), *more, doc(closing))


def closure(word: Part, opening: Part, inside: Part, closing: Part) -> Doc:
    return (doc(word), layouts.arguments(doc(opening), doc(inside), doc(closing), is_rule(inside, *BRACKETED)))


LAYOUTS: dict[str, Callable[..., Doc]] = {
    "command": command, "p_function": function, "p_function_typed": function, "p_function_forward": function,
    "p_datatype": datatype, "p_assign": equation, "p_file_variable": equation, "p_background": equation,
    "p_exp_pair": pair, "p_if": conditional, "p_let": let, "p_binding": binding, "p_lambda": spaced,
    "p_default": spaced, "p_binary": operators, "p_apply_to_unary": apply_to_unary, "p_apply": applications,
    "p_index": applications, "p_parentheses": parentheses, "p_time": closure, "p_closure": closure,
    "p_sequence": sequence, "p_empty": empty, "p_each": each, "p_each_short": each, "p_generator": spaced,
    "p_closed_signature": signature, "p_open_signature": signature, "p_contexts": in_line, "p_context": spaced,
    "p_typeexp": spaced, "p_types": in_line, "p_type_sequence": type_sequence, "p_type_rows": type_rows,
    "p_element": element, "p_length": spaced, "p_length_call": length_call,
}
