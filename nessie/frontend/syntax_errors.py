"""What is wrong with a text that is no NESL: what was found, what could have stood there, and the likely mistake.

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
from nessie.frontend.automaton import shift
from nessie.frontend.grammar import tokens
from nessie.frontend.lexer import Token

CLOSERS = {"LPAREN": "RPAREN", "LBRACKET": "RBRACKET", "LBRACE": "RBRACE"}
OPENERS = {closer: opener for opener, closer in CLOSERS.items()}
BRACKETS = {"LPAREN": "(", "RPAREN": ")", "LBRACKET": "[", "RBRACKET": "]", "LBRACE": "{", "RBRACE": "}"}

SPELLED = {**BRACKETS, "SEMI": ";", "COMMA": ",", "COLON": ":", "EQUALS": "=", "BAR": "|", "GATHER": "->",
           "DCOLON": "::", "DOLLAR": "$", "THEN": "then", "ELSE": "else", "IN": "in"}
OPERATOR_KINDS = {"ADD", "STAR", "COMPARE", "POWER"}
EXPRESSION_KINDS = {"NUMBER", "LPAREN", "NAME"}
OPERATORS = OPERATOR_KINDS | {"MUL", "AND", "OR", "GATHER", "SCATTER"}
AS_FUNCTIONS = {"+": "sum(v) and plus_scan(v) add", "++": "flatten(v) joins sequences", "*": "product(v) multiplies",
                "and": "all(v) and and_scan(v) combine bools", "or": "any(v) and or_scan(v) combine bools"}
OPEN_CONTEXT = "without parentheses around it, what follows :: ends at $; write :: (a in any);"


def syntax_error(source: Source, seen: list[Token], found: Token) -> NessieError:
    """The error for this token, after the tokens of the form that came before it."""
    if found.kind == "EOF" and seen and seen[-1].start == seen[-1].end:
        seen = seen[:-1]                # a `;` that the text need not have
    expected = acceptable(seen)
    places = [(Span(source, found.start, found.end), f"expected {in_words(expected)}")]
    opening = unclosed(seen)
    ends = {"EOF", "SEMI", "DOLLAR", *OPENERS}
    if opening is not None and found.kind in ends - {CLOSERS[opening.kind]}:
        places.append((Span(source, opening.start, opening.end), "this bracket is not closed"))
    if one_comma_too_many(seen, found, opening):
        places.append((Span(source, seen[-1].start, seen[-1].end), "after this comma"))
    return NessieError(f"syntax error: found {described(source, found)}", *places,
                       hint=likely_mistake(source, seen, found, expected, opening))


def acceptable(seen: list[Token]) -> set[str]:
    """The kinds of token with which the text could go on after those seen."""
    states = [0]
    for token in seen:
        shift(states, token.kind)
    return {kind for kind in tokens if shift(list(states), kind)}


def in_words(expected: set[str]) -> str:
    """`)`, `,` or an operator"""
    operand = "NAME" in expected and "LBRACKET" in expected        # an expression or a type begins here
    words = [f"`{SPELLED[kind]}`" for kind in SPELLED if kind in expected and not (operand and kind in CLOSERS)]
    if expected >= OPERATOR_KINDS:
        words = [word for word in words if word != "`->`"] + ["an operator"]
    elif expected >= EXPRESSION_KINDS:
        words.append("an expression")
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


def unclosed(seen: list[Token]) -> Token | None:
    """The innermost bracket that the tokens leave open."""
    open_ = []
    for token in seen:
        if token.kind in CLOSERS:
            open_.append(token)
        elif token.kind in OPENERS and open_:
            open_.pop()
    return open_[-1] if open_ else None


def likely_mistake(source: Source, seen: list[Token], found: Token, expected: set[str],
                   opening: Token | None) -> str:
    kinds_before = [token.kind for token in seen]
    last = kinds_before[-1] if seen else ""
    match found.kind:
        case kind if kind in OPERATORS and last in ("LPAREN", "COMMA"):
            return as_a_value(str(found.value))
        case "COMMA" | "RPAREN" if last in ("MINUS", "POUND"):
            return as_a_value(str(seen[-1].value))
        case _ if one_comma_too_many(seen, found, opening):
            return "a comma joins two expressions: is it one too many?"
        case "RBRACE" if last == "IN":
            return "the sequence is missing: {x in v}, {x + 1 : x in v}"
        case "RBRACE" if last == "BAR":
            return "the condition is missing: {x in v | x > 0}"
        case _ if "THEN" in expected and found.kind in ("SEMI", "EOF", "ELSE", *OPENERS):
            return "if c then a else b: commas and parentheses do not replace then and else"
        case "SEMI" | "EOF" | "RPAREN" | "RBRACE" | "RBRACKET" if "ELSE" in expected:
            return "every if has an else: if c then a else b"
        case "EOF" if last == "SEMI" and opening is not None and opening.kind == "LBRACE":
            return "in braces, another sequence follows a ; : is a } missing before it?"
        case "COLON" if seen and seen[0].value in ("def", "fun", "func", "define"):
            return "a function is defined so: function double(x) = 2 * x;"
        case "EQUALS" if begins_line(source, seen):
            return "is a ; missing at the end of the line before?"
        case "EQUALS":
            return "== compares; = binds names, in a let or at the top level"
        case "COLON" if opening is not None and opening.kind == "LBRACKET" and indexes(seen, opening):
            return "there are no slices: subseq(a, start, end), or a -> [start:end]"
        case "COLON" if opening is not None and opening.kind == "LBRACKET":
            return "a range is [start : end] or [start : end : stride]"
        case _ if kinds_before[-2:] == ["LBRACKET", "RBRACKET"]:
            return "an empty sequence says of what it is: [] int, [] [float]"
        case "RBRACKET" if last == "LBRACKET" and indexes(seen, seen[-1]):
            return "an empty sequence as an argument needs parentheses: sort([] int)"
        case "RPAREN" if last == "LPAREN":
            return "every function has an argument: there is no ()"
        case "BOOL" if "NAME" in expected and "NUMBER" not in expected:
            return "t and f are constants; choose another name"
        case "RPAREN" | "RBRACKET" | "RBRACE" if opening is None or CLOSERS[opening.kind] != found.kind:
            return (f"the innermost open bracket is closed by {SPELLED[CLOSERS[opening.kind]]}" if opening
                    else "no bracket is open here: is this one too many?")
        case "SEMI" | "EOF" if last == "SEMI" and seen_context(seen):
            return OPEN_CONTEXT
        case "SEMI" | "EOF" if opening is None and (last in ("SEMI", "IN") or "IN" in expected):
            return "a let ends with `in` and its result: let a = 1; b = 2 in a + b"
        case "EOF" | "FUNCTION" | "DATATYPE" if seen_context(seen):
            return OPEN_CONTEXT
        case "EOF" | "FUNCTION" | "DATATYPE" if "SEMI" in expected and opening is None:
            return "each form ends with ;"
    return "a fresh line does not end a form: is a ; missing?" if fresh_line(source, seen, found, expected) else ""


def one_comma_too_many(seen: list[Token], found: Token, opening: Token | None) -> bool:
    """Whether nothing that a comma would join stands between it and what ends an expression."""
    ends = {"THEN", "ELSE", "IN", "SEMI"} if opening is None else {"THEN", "ELSE", "IN", CLOSERS[opening.kind]}
    return bool(seen) and seen[-1].kind == "COMMA" and found.kind in ends


def as_a_value(operator: str) -> str:
    """What to write where an operator stands as an argument."""
    instead = f"{AS_FUNCTIONS[operator]}; " if operator in AS_FUNCTIONS else ""
    function = f"(a, b) => a {operator} b" if operator != "#" else "v => #v"
    return f"an operator is no value: {instead}as a function, {operator} is {function}"


def seen_context(seen: list[Token]) -> bool:
    return any(token.kind == "DCOLON" for token in seen)


def indexes(seen: list[Token], bracket: Token) -> bool:
    """Whether this `[` follows something that it indexes."""
    at = seen.index(bracket)
    return at > 0 and seen[at - 1].kind in ("NAME", "RPAREN", "RBRACKET", "STRING", "RBRACE")


def begins_line(source: Source, seen: list[Token]) -> bool:
    """Whether the pattern that was read last, a name or in parentheses, begins a line which is not the form's first."""
    at = len(seen) - 1
    if at > 0 and seen[at].kind == "RPAREN":
        while at > 0 and seen[at].kind != "LPAREN":
            at -= 1
    return at > 0 and "\n" in source.text[seen[at - 1].end:seen[at].start]


def fresh_line(source: Source, seen: list[Token], found: Token, expected: set[str]) -> bool:
    return bool(seen) and "SEMI" in expected and "\n" in source.text[seen[-1].end:found.start]
