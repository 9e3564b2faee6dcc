"""Converts expressions that turn out to be patterns, when a `=`, `in` or `=>` tells so."""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from nessie.base.source import NessieError, Span
from nessie.syntax import nodes as syntax


def pattern(exp: syntax.Exp) -> syntax.Pattern:
    """Convert the expression to a pattern; a name may occur in it only once."""
    found = convert(exp, False)
    seen: dict[str, syntax.NamePattern] = {}
    for name in names(found):
        if name.name in seen and name.name != "_":
            raise NessieError(f"the pattern binds {name.name} twice", (place(name), "here again"),
                              (place(seen[name.name]), "bound here"), hint="_ stands for what is not needed")
        seen[name.name] = name
    return found


def parameter_pattern(exp: syntax.Exp) -> syntax.Pattern:
    """Convert the expression to the pattern of a function's parameters. They may have defaults, and of equal names the
    last one counts."""
    found = convert(exp, True)
    last = {name.name: name for name in names(found)}
    return only_last(found, last) if len(last) < sum(1 for _ in names(found)) else found


def generator(written: syntax.Generator | syntax.Exp) -> syntax.Generator:
    """Return the generator as written. A name that stands alone is its own sequence; nothing else may stand alone."""
    match written:
        case syntax.Generator():
            return written
        case syntax.Name():
            return syntax.Generator(pattern(written), None)
        case syntax.Apply() | syntax.Binary() | syntax.Unary():
            hint = "{x in v} takes the elements of v; {x : x in v} says what becomes of each"
        case _:
            hint = "a sequence has brackets: [1, 2, 3]; braces take the elements of one: {x in v}"
    raise NessieError("what it runs over is missing: `in` and a sequence",
                      (place(written), "only a name may stand alone"), hint=hint)


def convert(exp: syntax.Exp, parameters: bool) -> syntax.Pattern:
    match exp:
        case syntax.Name(name, span=span):
            return syntax.NamePattern(name, None, span=span)
        case syntax.Pair(first, second, span=span):
            return syntax.PairPattern(convert(first, parameters), convert(second, parameters), span=span)
        case syntax.Apply(syntax.Name(constructor), argument, span=span) if in_parentheses(argument):
            return syntax.DataPattern(constructor, convert(argument, parameters), span=span)
        case syntax.Default(name, value, span=span) if parameters:
            if not is_constant(value):
                raise NessieError("a default argument is a constant", (place(value), "this is not one"),
                                  hint="such as 5, -2.5, t, `a or \"text\"")
            return syntax.NamePattern(name, value, span=span)
        case syntax.Bool(value, span=span) if parameters:
            return syntax.NamePattern("_", None, span=span)      # the body sees the constant, as in NESL
    raise no_pattern(exp)


def is_constant(exp: syntax.Exp) -> bool:
    """Is the expression a literal or a negated number, so that it is the same wherever it is evaluated?"""
    match exp:
        case syntax.Number() | syntax.Bool() | syntax.Char() | syntax.String() | syntax.Unary("-", syntax.Number()):
            return True
    return False


def no_pattern(exp: syntax.Exp) -> NessieError:
    match exp:
        case syntax.Bool(value):
            word = "t" if value else "f"
            return NessieError(f"{word} is the constant {str(value).lower()} and cannot be bound",
                               (place(exp), "a name is needed here"), hint=f"choose another name, such as {word}1")
        case syntax.Apply() if (said := said_elsewhere(exp)):
            hint = said
        case syntax.Apply(syntax.Bool(value), argument) if in_parentheses(argument):
            hint = f"{'t' if value else 'f'} is a constant; a function of another name is defined by g = x => x + 1"
        case _ if (meant := no_binding(exp)):
            hint = meant
        case syntax.Apply(_, argument) if not in_parentheses(argument):
            hint = "is a ; missing before the name? A datatype's pattern has parentheses: point(x, y)"
        case syntax.Sequence():
            hint = "take a sequence apart by indexing: let v = ...; a = v[0] in ..."
        case syntax.Default():
            hint = "only a function's parameters have defaults"
        case syntax.Binary("==", _, _):
            hint = "== compares; = binds a name"
        case _:
            hint = "a pattern is a name, a tuple of patterns, or a datatype's name around one"
    return NessieError("this cannot be bound to a value", (place(exp), "not a pattern"), hint=hint)


def no_binding(exp: syntax.Exp) -> str:
    """Return the hint for an expression before `=` or `in` that cannot be bound: it was probably meant as a comparison,
    an element to be changed, the body of an apply-to-each, or a comment."""
    from nessie.syntax.errors.other_languages import COMMENT, in_comment  # only mistakes need it
    span = place(exp)
    text, after = span.source.text[span.start:span.end], span.source.text[span.end:].lstrip()
    if in_comment(span):
        return COMMENT
    elements = re.match(r"in\b", after)
    body, each, name = text.partition(" for ")
    if elements and each:
        return f"a : stands in place of for: {{{body.strip()} : {name.strip()} in v}}"
    if not isinstance(exp, (syntax.Index, syntax.Number, syntax.Char, syntax.String, syntax.Unary, syntax.Binary)):
        return ""
    before = span.source.text[:span.start].rstrip(" ")
    if elements and before.endswith("{"):
        return f"what becomes of each element stands before a : as in {{{text} : x in v}}"
    if isinstance(exp, syntax.Index) and isinstance(exp.sequence, syntax.Name):
        index = exp.index.span
        name, at = exp.sequence.name, span.source.text[index.start:index.end] if index else "i"
        value = re.match(r"=\s*([^;\n]+?)\s*(;|\n|\bin\b|$)", after)
        changed = f"{name} = {name} <- [({at}, {value[1].strip() if value else 'x'})]"
        return f"an element is not changed; v <- [(i, x)] is v with x at i: {changed}"
    literal = isinstance(exp, (syntax.Number, syntax.Char, syntax.String))
    begins_line = not before or before.endswith("\n")
    return "== compares; = binds a name" if literal and begins_line and after.startswith("=") else ""


def said_elsewhere(exp: syntax.Exp) -> str:
    """Return the hint for a word that begins a definition in other languages: def g(x) = ..., var x = ..."""
    from nessie.syntax.errors.other_languages import TYPED, WORDS  # only mistakes need it
    while isinstance(exp, syntax.Apply):
        exp = exp.function
    return {**TYPED, **WORDS}.get(exp.name, "") if isinstance(exp, syntax.Name) else ""


def in_parentheses(exp: syntax.Exp) -> bool:
    span = place(exp)
    return span.source.text[span.start] == "("


def names(found: syntax.Pattern) -> Iterator[syntax.NamePattern]:
    """Yield the names of the pattern, from left to right."""
    waiting = [found]
    while waiting:
        match waiting.pop():
            case syntax.NamePattern() as name:
                yield name
            case syntax.PairPattern(first, second):
                waiting += [second, first]
            case syntax.DataPattern(_, argument):
                waiting.append(argument)


def only_last(found: syntax.Pattern, last: dict[str, syntax.NamePattern]) -> syntax.Pattern:
    """Return the pattern with `_` for each name that occurs again later."""
    match found:
        case syntax.NamePattern(name):
            return found if last[name] is found else replace(found, name="_")
        case syntax.PairPattern(first, second):
            return replace(found, first=only_last(first, last), second=only_last(second, last))
        case syntax.DataPattern(_, argument):
            return replace(found, argument=only_last(argument, last))


def place(node: syntax.Exp | syntax.Pattern) -> Span:
    assert node.span is not None        # the parser gives every node one
    return node.span
