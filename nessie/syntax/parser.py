"""The parser of NESL: an LR automaton over the tables of syntax.grammar.tables. It shifts a token, or applies a rule to
the symbols on the stack; the rule's function in syntax.grammar.rules makes the node. It does not recurse, so any depth
of nesting parses.

Top-level forms are read one at a time, because a `;` ends a form in one place and a let-binding in another. The
automaton stops as soon as it has a complete form, before it looks at the token after it. After a bad form, reading goes
on behind the next `;` or `$`, or at the next `function` that begins a line.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from nessie.base.source import InternalError, NessieError, Source, Span
from nessie.syntax import nodes as syntax
from nessie.syntax.grammar import rules as grammar
from nessie.syntax.grammar.automaton import needs_token, step
from nessie.syntax.grammar.signature import signature
from nessie.syntax.grammar.tables import RULES, SIGNATURE
from nessie.syntax.lexer import Lexer, Token, is_command

END_KINDS = ("SEMI", "DOLLAR")


def parse_program(source: Source) -> syntax.Program:
    """Parse the whole program, without the files that it loads; the first bad form raises."""
    forms = []
    for form in parse_forms(source):
        if isinstance(form, NessieError):
            raise form
        forms.append(form)
    return syntax.Program(tuple(forms))


def parse_forms(source: Source, ends_itself: bool = False) -> Iterator[syntax.TopLevel | NessieError]:
    """Yield each top-level form in order, or its error if it is bad. `ends_itself`: the last form needs no `;`."""
    return (form for form, _ in forms_with_remarks(source, ends_itself))


def forms_with_remarks(source: Source, ends_itself: bool = False) -> \
        Iterator[tuple[syntax.TopLevel | NessieError, tuple[Span, ...]]]:
    """Yield the forms, each with its comments that may be meant for the compiler (syntax.lexer)."""
    lexer = Lexer(source)
    while (form := next_form(lexer, Automaton(lexer, ends_itself))) is not None:
        yield form, tuple(lexer.remarks)


def last_remarks(source: Source) -> tuple[Span, ...]:
    """The comments behind all forms."""
    lexer = Lexer(source)
    while next_form(lexer, Automaton(lexer, False)) is not None:
        pass
    return tuple(lexer.remarks)


def next_form(lexer: Lexer, automaton: Automaton) -> syntax.TopLevel | NessieError | None:
    """Return the next form, or its error if it is bad; the lexer is then behind it. None at the end of the text."""
    lexer.begin_form()
    try:
        first = first_token(lexer)
        if first is None:
            return None
        if is_command(lexer.source.text, first):
            return command(lexer, first, automaton.ends_itself)
        form: syntax.TopLevel = automaton.run(first)
        return form
    except NessieError as error:
        if not automaton.at_end():
            lexer.skip_form(automaton.token if automaton.seen else None)
        return error


def parse_expression(source: Source, start: int = 0) -> syntax.Exp:
    """Parse one expression, which begins at `start`; only a `;` may follow it."""
    form = parse_alone(source, "expression", start=start)
    if not isinstance(form, syntax.Evaluate):
        raise NessieError("an expression is needed here, not a definition", (whole(source), ""))
    return form.value


def parse_type(source: Source, start: int = 0) -> syntax.TypeExp:
    """Parse one type, which begins at `start`; `int, float` is the pair."""
    found: syntax.TypeExp = parse_alone(source, "type", Token("ONLY_TYPE", "", start, start), start=start)
    return found


def parse_alone(source: Source, what: str, *before: Token, start: int = 0) -> Any:
    lexer = Lexer(source, start)
    made = Automaton(lexer, ends_itself=True).run(*before)
    rest = first_token(lexer)
    if rest is not None:
        raise NessieError(f"there is more text than one {what}", (token_span(source, rest), "it goes on here"))
    return made


def first_token(lexer: Lexer) -> Token | None:
    """Return the next token that does not just end an empty form."""
    token = lexer.token()
    while token is not None and token.kind in END_KINDS:
        token = lexer.token()
    return token


def command(lexer: Lexer, word: Token, ends_itself: bool) -> syntax.Command:
    text, end = lexer.command(word, ends_itself)
    return syntax.Command(str(word.value), text, span=Span(lexer.source, word.start, end))


def whole(source: Source) -> Span:
    return Span(source, 0, len(source.text))


def token_span(source: Source, token: Token) -> Span:
    return Span(source, token.start, token.end)


class Automaton:
    """Reads one form. `token` is the current token; `seen` are those before it, for error messages. `apply` makes a
    symbol from those that a rule takes. Once it has failed, the rest of the form is read without it."""

    def __init__(self, lexer: Lexer, ends_itself: bool = False, apply: Apply | None = None) -> None:
        check_tables()
        self.lexer, self.ends_itself, self.apply = lexer, ends_itself, apply or apply_rule
        self.token: Token | None = None
        self.seen: list[Token] = []
        self.whole = False
        self.failure: NessieError | None = None

    def run(self, *first: Token) -> Any:
        """Return what the grammar makes of the first tokens and those of the lexer."""
        waiting = list(reversed(first))
        states, symbols = [0], []
        while True:
            if self.token is None and needs_token(states):
                self.token = waiting.pop() if waiting else self.next_token()
            action = step(states, self.token.kind if self.token else "")
            if action is None:
                raise self.failure or self.unexpected()
            if action > 0:
                symbols.append(self.taken())
                continue
            made, taken, function = RULES[-action]
            try:
                symbol = self.apply(function, symbols[len(symbols) - taken:], self.lexer.source)
            except NessieError as error:
                self.failure, self.apply = error, make_nothing
                symbol = NOTHING
            if made == "toplevel":
                self.whole = True
                if self.failure:
                    raise self.failure
                return symbol.value
            del symbols[len(symbols) - taken:]
            symbols.append(symbol)

    def taken(self) -> Symbol:
        """Take the current token and return its symbol."""
        assert self.token is not None       # the step looked at it
        token, self.token = self.token, None
        self.seen.append(token)
        return Symbol(token.value, token.start, token.end)

    def at_end(self) -> bool:
        """Has the form been read to its end, even if it is bad?"""
        return self.whole or (self.token is not None and self.token.kind in END_KINDS)

    def unexpected(self) -> NessieError:
        from nessie.syntax.errors.messages import syntax_error  # only mistakes need it
        assert self.token is not None
        return syntax_error(self.lexer.source, self.seen, self.token)

    def next_token(self) -> Token:
        """Return the lexer's next token; at the end of the text a `;`, if the form may end without one."""
        token = self.lexer.token()
        if token is not None:
            return token
        end = len(self.lexer.source.text)
        ends_well = self.ends_itself and not (self.seen and self.seen[-1].kind in END_KINDS)
        return Token("SEMI" if ends_well else "EOF", "", end, end)


class Symbol:
    """The value that a rule or a token has put on the stack, and the place of its characters."""
    __slots__ = ("end", "start", "value")

    def __init__(self, value: Any, start: int, end: int) -> None:
        self.value, self.start, self.end = value, start, end


Apply = Callable[[str, list[Symbol], Source], Symbol]


class Reduction:
    """The `p` of a rule's function: p[1] ... are the values of its symbols, p[0] is its result."""
    __slots__ = ("made", "source", "symbols")

    def __init__(self, symbols: list[Symbol], source: Source) -> None:
        self.symbols, self.source, self.made = symbols, source, None

    def __len__(self) -> int:
        return len(self.symbols) + 1

    def __getitem__(self, at: int) -> Any:
        return self.symbols[at - 1].value

    def __setitem__(self, at: int, value: Any) -> None:
        assert at == 0
        self.made = value

    def span(self, first: int = 1, last: int | None = None) -> Span:
        """Return the span from symbol number `first` to symbol number `last`, by default of all symbols."""
        end = self.symbols[-1 if last is None else last - 1].end
        return Span(self.source, self.symbols[first - 1].start, end)

    def widened(self, node: Any) -> Any:
        """Return the node with the span of the whole rule, including the parentheses around it."""
        return replace(node, span=self.span())


def apply_rule(function: str, symbols: list[Symbol], source: Source) -> Symbol:
    reduction = Reduction(symbols, source)
    FUNCTIONS[function](reduction)
    if symbols:
        return Symbol(reduction.made, symbols[0].start, symbols[-1].end)
    return Symbol(reduction.made, 0, 0)


def make_nothing(function: str, symbols: list[Symbol], source: Source) -> Symbol:
    return NOTHING


NOTHING = Symbol("", 0, 0)


@cache
def check_tables() -> None:
    if grammar.p_name.__doc__ is not None and signature() != SIGNATURE:        # -OO removes the rules' text
        raise InternalError("the tables of the grammar are older than its rules: run "
                            "python -m nessie.syntax.grammar.build_tables")


FUNCTIONS = {name: getattr(grammar, name) for _, _, name in RULES[1:]}       # rule 0 would read the end of the text
