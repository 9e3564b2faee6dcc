"""Syntax errors: the token found, those that could have stood there, and the likely mistake.

    error: syntax error: found `;`
     --> sum.nesl:2:8
      |
    2 | sum([1,2;
      |         ^ expected `]`, `,` or an operator
     --> sum.nesl:2:5
      |
    2 | sum([1,2;
      |     ^ this bracket is not closed
"""
from __future__ import annotations

from nessie.base.source import NessieError, Source, Span
from nessie.syntax.errors.advice import BRACKETS, CLOSERS, FORMS, OPENERS, Stop, likely_mistake, one_comma_too_many
from nessie.syntax.grammar.automaton import shift
from nessie.syntax.grammar.rules import tokens
from nessie.syntax.lexer import Token

SPELLED = {**BRACKETS, "SEMI": ";", "COMMA": ",", "COLON": ":", "EQUALS": "=", "BAR": "|", "GATHER": "->",
           "DCOLON": "::", "DOLLAR": "$", "THEN": "then", "ELSE": "else", "IN": "in"}
OPERATOR_KINDS = {"ADD", "STAR", "POWER"}
EXPRESSION_KINDS = {"NUMBER", "LPAREN", "NAME"}


def syntax_error(source: Source, seen: list[Token], found: Token) -> NessieError:
    """Return the error for this token, after the tokens of the form that came before it."""
    if found.kind == "EOF" and seen and seen[-1].start == seen[-1].end:
        seen = seen[:-1]                # an optional `;`
    stop = Stop(source, tuple(seen), found, frozenset(acceptable(seen)))
    places = [(Span(source, found.start, found.end), f"expected {in_words(stop.expected, stop.inside)}")]
    opening = stop.bracket
    ends = {*FORMS, "SEMI", "DOLLAR", *OPENERS}
    if opening is not None and found.kind in ends - {CLOSERS[opening.kind]}:
        places.append((Span(source, opening.start, opening.end), "this bracket is not closed"))
    if one_comma_too_many(stop):
        places.append((Span(source, seen[-1].start, seen[-1].end), "after this comma"))
    return NessieError(f"syntax error: found {described(source, found)}", *places, hint=likely_mistake(stop))


def acceptable(seen: list[Token]) -> set[str]:
    """Return the kinds of token that could follow those seen."""
    states = [0]
    for token in seen:
        shift(states, token.kind)
    return {kind for kind in tokens if shift(list(states), kind)}


def in_words(expected: frozenset[str], inside: str = "") -> str:
    """Return the kinds in words, such as: `)`, `,` or an operator. `inside`: the kind of the innermost open token."""
    operand = "NAME" in expected and "LBRACKET" in expected        # an expression or a type begins here
    operator, length = expected >= OPERATOR_KINDS, expected >= EXPRESSION_KINDS and not operand
    unsaid = {*(CLOSERS if operand or operator or length else ()),
              *(["GATHER"] if operator or inside == "LBRACKET" else ())}
    words = [f"`{SPELLED[kind]}`" for kind in SPELLED if kind in expected - unsaid]
    if operator:
        words.append("an operator")
    elif expected >= EXPRESSION_KINDS:
        words.append("a length" if length else "an expression")
    elif "NAME" in expected:
        words.append("a type" if operand else "a name")
    if not words:
        words = ["an expression or a definition"]
    return " or ".join(words) if len(words) < 3 else ", ".join(words[:-1]) + f" or {words[-1]}"


def described(source: Source, token: Token) -> str:
    text = source.text[token.start:token.end]
    match token.kind:
        case "EOF":
            return "the end of the text"
        case "STRING":
            return "a string"
        case "NUMBER":
            return f"the number {text}"
        case "NAME":
            return f"the name {text}"
    return f"`{text}`" if text else "the end of the text"
