"""Hints at the likely mistake where a text stops being NESL: a table of conditions and hints, of which the first row
that fits counts."""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.records import dataclass
from nessie.base.source import Source, Span
from nessie.base.system.forking import cached_property
from nessie.syntax.errors.other_languages import COMMENT, EQUAL, SIGNS, WORDS, in_comment
from nessie.syntax.lexer import CLOSING, OPENED_BY, Token
from nessie.syntax.types import LENGTHS

CLOSERS = {"LPAREN": "RPAREN", "LBRACKET": "RBRACKET", "LBRACE": "RBRACE"}
OPENERS = {closer: opener for opener, closer in CLOSERS.items()}
BRACKETS = {"LPAREN": "(", "RPAREN": ")", "LBRACKET": "[", "RBRACKET": "]", "LBRACE": "{", "RBRACE": "}"}
OPERATORS = {"ADD", "STAR", "COMPARE", "POWER", "MUL", "AND", "OR", "GATHER", "SCATTER"}
OPERANDS = {"NAME", "NUMBER", "STRING", "CHAR", "BOOL"}
ENDS = {"SEMI", "EOF"}
RANGE_BEGUN = (["IN", "NUMBER"],)               # of {i : i in 0:9}
OF_A_LET = "a let ends with `in` and its result: let a = 1; b = 2 in a + b"
CONDITIONS = "conditions are joined by and: {x in v | x > 1 and x < 9}"
FORMS = {"EOF", "FUNCTION", "DATATYPE"}         # tokens that begin a new form, or end the text
AS_FUNCTIONS = {"+": "sum(v) and plus_scan(v) add", "++": "flatten(v) joins sequences", "*": "product(v) multiplies",
                "and": "all(v) and and_scan(v) combine bools", "or": "any(v) and or_scan(v) combine bools"}


@dataclass(frozen=True)
class Stop:
    """The place where the text stops being NESL: the form's tokens up to there, the token found, and the kinds that
    could stand there."""
    source: Source
    seen: tuple[Token, ...]
    found: Token
    expected: frozenset[str]

    @cached_property
    def open(self) -> list[Token]:
        """The brackets that the tokens leave open, and the lets without their `in`, innermost last."""
        found: list[Token] = []
        for token in self.seen:
            if token.kind in OPENED_BY:
                found.append(token)
            elif found and CLOSING.get(token.kind) == OPENED_BY[found[-1].kind]:
                found.pop()
            elif token.kind in OPENERS and any(at.kind in CLOSERS for at in found):
                while found.pop().kind == "LET":        # a bracket has ended the let
                    pass
        return found

    @property
    def bracket(self) -> Token | None:
        """The innermost open bracket."""
        return next((token for token in reversed(self.open) if token.kind in CLOSERS), None)

    @property
    def inside(self) -> str:
        """The kind of the innermost open token."""
        return self.open[-1].kind if self.open else ""

    @property
    def last(self) -> str:
        """The kind of the token before the one found."""
        return self.seen[-1].kind if self.seen else ""

    def finds(self, *kinds: str) -> bool:
        return self.found.kind in kinds

    def defines(self) -> bool:
        """Is this inside a function's head, before its `=`?"""
        kinds = {token.kind for token in self.seen}
        return self.seen[:1] != () and self.seen[0].kind == "FUNCTION" and not kinds & {"EQUALS", "COLON"}

    def closes_on_line(self) -> bool:
        """Does the innermost open bracket close on the line of the token found, before a binding?"""
        rest = self.source.text[self.found.end:].partition("\n")[0]
        return self.bracket is not None and "=" not in rest.partition(BRACKETS[CLOSERS[self.bracket.kind]])[0] \
            and BRACKETS[CLOSERS[self.bracket.kind]] in rest

    def since_opening(self, kind: str) -> bool:
        """Is there a token of this kind behind the innermost open bracket?"""
        return self.bracket is not None and any(t.kind == kind for t in self.seen[self.seen.index(self.bracket):])


# Conditions of mistakes ---------------------------------------------------------------------------------


def comment(stop: Stop) -> bool:
    """Is one of the tokens in a comment of another language?"""
    spans = [Span(stop.source, token.start, token.end) for token in (*stop.seen[-2:], stop.found)]
    return any(in_comment(span) for span in spans if span.start < span.end)


def word(stop: Stop) -> str:
    """Return the hint for a word of other languages that stands before a name or a number, as no word of NESL does."""
    pairs = zip(stop.seen, [*stop.seen[1:], stop.found])
    return next((WORDS[str(first.value)] for first, second in pairs if first.kind == "NAME"
                 and str(first.value) in WORDS and second.kind in OPERANDS), "")


def sign(stop: Stop) -> str:
    """Return the hint for a sign of other languages, made of the last tokens without space between them."""
    near = [*stop.seen[-2:], stop.found]
    pairs = [(one, other) for one, other in zip(near, near[1:]) if one.end == other.start]
    spelled = [stop.source.text[one.start:other.end] for one, other in reversed(pairs)]
    if stop.last == "ADD" and stop.finds(*ENDS, *OPENERS):
        spelled.append(str(stop.seen[-1].value))        # ++
    return next((SIGNS[text] for text in spelled if text in SIGNS), "")


def operator_alone(stop: Stop) -> str:
    """Return the replacement for an operator that stands as an argument."""
    if stop.found.kind in OPERATORS and stop.last in ("LPAREN", "COMMA"):
        return as_a_value(str(stop.found.value))
    if stop.finds("COMMA", "RPAREN") and stop.last in ("MINUS", "POUND"):
        return as_a_value(str(stop.seen[-1].value))
    return ""


def as_a_value(operator: str) -> str:
    instead = f"{AS_FUNCTIONS[operator]}; " if operator in AS_FUNCTIONS else ""
    function = f"(a, b) => a {operator} b" if operator != "#" else "v => #v"
    return f"an operator is no value: {instead}as a function, {operator} is {function}"


def one_comma_too_many(stop: Stop) -> bool:
    """Is a comma followed by a token that ends an expression, so that it joins nothing?"""
    ends = {"THEN", "ELSE", "IN", "SEMI" if stop.bracket is None else CLOSERS[stop.bracket.kind]}
    return stop.last == "COMMA" and stop.found.kind in ends


def closes_nothing(stop: Stop) -> str:
    """Return the hint for a bracket that closes none, or another one than is open."""
    if stop.found.kind not in OPENERS or (stop.bracket and CLOSERS[stop.bracket.kind] == stop.found.kind):
        return ""
    if stop.bracket is None:
        return "no bracket is open here: is this one too many?"
    return f"the innermost open bracket is closed by {BRACKETS[CLOSERS[stop.bracket.kind]]}"


def still_open(stop: Stop) -> str:
    """Return the hint for a form that ends before its brackets do."""
    ends = stop.bracket is not None and "COMMA" in stop.expected and stop.finds("SEMI", *FORMS)
    return f"is a {BRACKETS[CLOSERS[stop.bracket.kind]]} missing?" if stop.bracket and ends else ""


def let_goes_on(stop: Stop) -> bool:
    """Has a let had a binding, and still no `in`, or nothing behind it?"""
    bound = stop.last == "SEMI" or not stop.expected.isdisjoint(("IN", "EQUALS"))
    return (stop.inside == "LET" and bound) or (stop.finds(*ENDS) and stop.last == "IN" and stop.bracket is None)


def indexes(stop: Stop, bracket: Token | None) -> bool:
    """Is this a `[` that indexes what precedes it?"""
    at = stop.seen.index(bracket) if bracket else 0
    return at > 0 and stop.seen[at].kind == "LBRACKET" and \
        stop.seen[at - 1].kind in ("NAME", "RPAREN", "RBRACKET", "STRING", "RBRACE")


def begins_line(stop: Stop) -> bool:
    """Does the pattern read last, a name or in parentheses, begin a line that is not the form's first?"""
    seen, at = stop.seen, len(stop.seen) - 1
    if at > 0 and seen[at].kind == "RPAREN":
        while at > 0 and seen[at].kind != "LPAREN":
            at -= 1
    return at > 0 and "\n" in stop.source.text[seen[at - 1].end:seen[at].start]


def fresh_line(stop: Stop) -> bool:
    return bool(stop.seen) and "SEMI" in stop.expected \
        and "\n" in stop.source.text[stop.seen[-1].end:stop.found.start]


def in_length(stop: Stop) -> bool:
    """Is this a sequence's length in a type, which something else than its end interrupts?"""
    return stop.inside == "LBRACKET" and "STAR" in stop.expected and "COMPARE" not in stop.expected \
        and not stop.finds(*ENDS, *FORMS, *OPENERS)


OF_THE_PROMPT = "a command of the prompt is a line of its own, at the prompt"


def command_of_the_prompt(stop: Stop) -> bool:
    return stop.finds("COLON") and not stop.seen and stop.source.text[stop.found.end:stop.found.end + 1].isalpha()


def open_context(stop: Stop) -> bool:
    """May the form go on in the contexts of its type?"""
    return any(token.kind == "DCOLON" for token in stop.seen) and (
        stop.finds(*FORMS) or (stop.finds("SEMI") and stop.last == "SEMI"))


def likely_mistake(stop: Stop) -> str:
    for tells, said in MISTAKES:
        found = tells(stop)
        if found:
            return said or str(found)
    return ""


# A condition and a hint, or a function that returns the hint itself.
MISTAKES: tuple[tuple[Callable[[Stop], bool | str], str], ...] = (
    (comment, COMMENT),
    (operator_alone, ""),
    (sign, ""),
    (word, ""),
    (one_comma_too_many, "a comma joins two expressions: is it one too many?"),
    (command_of_the_prompt, OF_THE_PROMPT),
    (lambda at: at.finds("RBRACE") and at.last == "IN", "the sequence is missing: {x in v}, {x + 1 : x in v}"),
    (lambda at: at.finds("RBRACE") and at.last == "BAR", "the condition is missing: {x in v | x > 0}"),
    (lambda at: at.finds("IN") and at.inside == "LBRACE" and at.since_opening("BAR"),
     "what becomes of each element stands before a :, a condition behind |: {x * 2 : x in v | x > 0}"),
    (lambda at: at.finds("IN") and at.inside == "LBRACE" and at.since_opening("COMMA") and at.since_opening("IN"),
     "the sequences of an apply-to-each are parted by ; : {x + y : x in v; y in w}"),
    (lambda at: at.finds("IF") and at.inside == "LBRACE" and at.since_opening("IN"),
     "a condition stands behind |: {x in v | x > 1}"),
    (lambda at: at.finds("BAR") and at.inside == "LBRACE" and at.since_opening("BAR"),
     CONDITIONS),
    (lambda at: at.finds("SEMI") and at.inside == "LBRACE" and at.since_opening("BAR") and at.closes_on_line(),
     CONDITIONS),
    (lambda at: at.inside == "LET" and "DEFINE" in [token.kind for token in at.seen[-4:]],
     "a let binds by = : let x = 3 in x"),
    (lambda at: at.finds("COLON") and at.inside == "LBRACE" and "ELSE" in at.expected,
     "every if has an else; to leave elements out, {x * 2 : x in v | x > 0}"),
    (lambda at: at.finds("COLON") and [token.kind for token in at.seen[-2:]] in RANGE_BEGUN and at.inside == "LBRACE",
     "a range has brackets: {i : i in [0:n]}"),
    (lambda at: at.finds("COLON") and at.inside == "LBRACE" and at.since_opening("IN"),
     "what becomes of each element stands before the sequence, a condition behind |: {x * 2 : x in v | x > 0}"),
    (lambda at: at.finds("COLON") and at.inside == "LPAREN" and at.defines(),
     "the type of a function stands behind all its parameters: function g(v, n) : ([int], int) -> int = ..."),
    (lambda at: at.finds("GATHER") and at.defines(),
     "the type of a function says of what, too: function g(v) : [int] -> int = ..."),
    (lambda at: "THEN" in at.expected and at.finds("ELSE", *ENDS, *OPENERS),
     "if c then a else b: commas and parentheses do not replace then and else"),
    (lambda at: "ELSE" in at.expected and at.finds(*ENDS, *OPENERS), "every if has an else: if c then a else b"),
    (lambda at: at.finds(*FORMS) and at.last == "SEMI" and at.inside == "LBRACE",
     "in braces, another sequence follows a ; : is a } missing before it?"),
    (lambda at: at.finds("EQUALS") and not at.seen, "a name stands before the = : x = 3"),
    (lambda at: at.finds("EQUALS") and at.inside == "LET" and "COMMA" in [token.kind for token in at.seen[-2:]],
     "bindings are parted by ; : let x = 3; y = 4 in x + y"),
    (lambda at: at.finds("EQUALS") and begins_line(at), "is a ; missing at the end of the line before?"),
    (lambda at: at.finds("EQUALS") and at.inside == "LBRACE" and at.since_opening("COLON")
     and not at.since_opening("BAR"), "elements are taken by in: {x * x : x in v}"),
    (lambda at: at.finds("EQUALS"), EQUAL),
    (in_length, LENGTHS),
    (lambda at: at.finds("COLON") and indexes(at, at.bracket),
     "there are no slices: subseq(a, start, end), or a -> [start:end]"),
    (lambda at: at.finds("IN") and at.inside == "LBRACKET" and at.since_opening("COLON"),
     "an apply-to-each has braces: {x * x : x in v}"),
    (lambda at: at.finds("COLON") and at.inside == "LBRACKET",
     "a range is [start : end] or [start : end : stride]"),
    (lambda at: [token.kind for token in at.seen[-2:]] == ["LBRACKET", "RBRACKET"],
     "an empty sequence says of what it is: [] int, [] [float]"),
    (lambda at: at.finds("RBRACKET") and at.last == "LBRACKET" and indexes(at, at.bracket),
     "an empty sequence as an argument needs parentheses: sort([] int)"),
    (lambda at: at.finds("RPAREN") and at.last == "LPAREN", "every function has an argument: there is no ()"),
    (lambda at: at.finds("BOOL") and "NAME" in at.expected and "NUMBER" not in at.expected,
     "t and f are constants; choose another name"),
    (closes_nothing, ""),
    (open_context, "without parentheses around it, what follows :: ends at $; write :: (a in any);"),
    (lambda at: at.defines() and at.last == "RPAREN" and "EQUALS" in at.expected and not at.open,
     "a function's body stands behind a = : function g(x) = x + 1;"),
    (lambda at: at.finds("EOF") and at.seen[0].kind == "LET" and let_goes_on(at),
     f"{OF_A_LET}; at the top level, a name is set without let: a = 1;"),
    (let_goes_on, OF_A_LET),
    (still_open, ""),
    (lambda at: at.finds(*FORMS) and "SEMI" in at.expected and not at.open, "each form ends with ;"),
    (fresh_line, "a fresh line does not end a form: is a ; missing?"),
)
