"""Programs with mistakes in them, made of real ones, and what must never come of a program, whatever it says.

    mutant(number)          the text of mutant `number`, always the same
    python tests/fuzz/mutants.py FIRST LAST TARGET [FILE.jsonl]

runs a range of mutants (of the programs in the file, too), each in a session of its own as `nessie eval --jsonl` does,
and prints what it finds: an internal error, an error without a place, an exception. A program that takes longer than
PATIENCE ends the process, as does one that crashes it; the last number printed is its.
"""
from __future__ import annotations

import faulthandler
import json
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from paths import EXAMPLES, SUPPORT

from nessie.base.source import InternalError, NessieError, Source, Span
from nessie.base.system.deep import run_deep
from nessie.syntax import nodes as syntax
from nessie.syntax.parser import parse_forms
from nessie.tool.command_line import parse_command_line
from nessie.tool.options import new_session

PATIENCE = 60                   # seconds that a program may take, compiling included
LIMITS = ["--memory", "256M", "--depth", "10000", "--time-limit", "5"]

TOKEN = re.compile(r'%[^%]*%|"(?:[^"\\]|\\.)*"|`.|\w+(?:\.\w+)?|->|<-|=>|::|:=|\+\+|==|/=|<=|>=|\|\||\s+|.', re.DOTALL)
BRACKETS = {"(": ")", "[": "]", "{": "}"}
ODD = "()[]{};:,|%\"`$#@!?\\_=<>-+*/^&.'~ \n\t\r\0\x7f\u00e9\u03bb\U0001f600\u2028tf09"

NEARBY = {
    "name": ("sum", "max_val", "plus_scan", "flatten", "sort", "rank", "reverse", "partition", "bottop", "zip", "take",
             "drop", "length", "dist", "index", "wordify", "linify", "transpose", "split", "remove_duplicates", "find",
             "int_collect", "collect", "histogram", "odd_elts", "rotate", "subseq", "kth_smallest", "join", "pairp",
             "interleave", "sqrt", "negate", "not", "eql", "map", "scan", "error", "permute", "put", "hash", "rep"),
    "number": ("0", "1", "-1", "7", "63", "64", "1000000", "9223372036854775807", "-9223372036854775808", "1e308",
               "0.0", "0.5", "-2.5", "t", "[] int", "[3, 1, 2]", "[[1], [] int]", '"ab"'),
    "operator": ("+", "-", "*", "/", "^", "++", "->", "<-", "==", "<", ">=", "and", "xor", ",", ":", ";", "||", "=>"),
}

Tokens = list[str]


@cache
def programs(more: str = "") -> tuple[str, ...]:
    """What mutants are made of."""
    cases = [line for path in [SUPPORT / "nesl_cases.jsonl", *([Path(more)] if more else [])]
             for line in path.read_text("utf-8").splitlines()]
    examples = sorted(EXAMPLES.glob("*.nesl"))
    return (*(json.loads(case)["source"] for case in cases), *(path.read_text("utf-8") for path in examples))


def mutant(number: int, more: str = "") -> str:
    chance = random.Random(number)
    known = programs(more)
    text = chance.choice(known)
    way = chance.random()
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        other = chance.choice(known)
        if way < 0.1:
            text = misspelt(text, chance)
        elif way < 0.4:
            text = "".join(chance.choice(CHANGES)(TOKEN.findall(text), TOKEN.findall(other), chance))
        else:
            text = chance.choice((exchanged, exchanged, renamed))(text, other, chance)
    return text


# Changes of expressions and words: what parses, mostly ----------------------------------------------------------


def exchanged(text: str, other: str, chance: random.Random) -> str:
    """An expression for another, of the same program or another one."""
    source = chance.choice((text, text, other))
    ours, theirs = expressions(text), expressions(source)
    if not ours or not theirs:
        return text
    (start, end), (first, last) = chance.choice(ours), chance.choice(theirs)
    return f"{text[:start]}({source[first:last]}){text[end:]}"


def renamed(text: str, other: str, chance: random.Random) -> str:
    """A word, a number or an operator for another one."""
    tokens = TOKEN.findall(text)
    at = place(tokens, chance)
    if not tokens or kind(tokens[at]) not in NEARBY:
        return text
    alike = [token for token in tokens if kind(token) == kind(tokens[at])]
    return "".join([*tokens[:at], chance.choice((*alike, *NEARBY[kind(tokens[at])])), *tokens[at + 1:]])


@cache
def expressions(text: str) -> tuple[tuple[int, int], ...]:
    """Where the expressions are."""
    forms = (form for form in parse_forms(Source("", text)) if not isinstance(form, NessieError))
    return tuple((node.span.start, node.span.end) for form in forms for node in nodes(form) if node.span)


def nodes(made: Any) -> Iterator[Any]:
    if isinstance(made, tuple):
        for part in made:
            yield from nodes(part)
    elif is_dataclass(made) and not isinstance(made, Span):
        if isinstance(made, get_args(syntax.Exp)):
            yield made
        for part in fields(made):
            yield from nodes(getattr(made, part.name))


# Changes of tokens: of a program's, and another program's, tokens that are mostly no program ------------------------


def dropped(tokens: Tokens, other: Tokens, chance: random.Random) -> Tokens:
    at = place(tokens, chance)
    return tokens[:at] + tokens[at + chance.choice((1, 1, 1, 2, 5)):]


def doubled(tokens: Tokens, other: Tokens, chance: random.Random) -> Tokens:
    at, size = place(tokens, chance), chance.choice((1, 1, 2, 5))
    return [*tokens[:at + size], " ", *tokens[at:]]


def swapped(tokens: Tokens, other: Tokens, chance: random.Random) -> Tokens:
    tokens = list(tokens)
    if tokens:
        a, b = place(tokens, chance), place(tokens, chance)
        tokens[a], tokens[b] = tokens[b], tokens[a]
    return tokens


def replaced(tokens: Tokens, other: Tokens, chance: random.Random) -> Tokens:
    at = place(tokens, chance)
    return [*tokens[:at], *other[(start := place(other, chance)):start + 1], *tokens[at + 1:]]


def inserted(tokens: Tokens, other: Tokens, chance: random.Random) -> Tokens:
    at, start = place(tokens, chance), place(other, chance)
    return [*tokens[:at], " ", *other[start:start + chance.choice((1, 1, 3, 10))], " ", *tokens[at:]]


def grafted(tokens: Tokens, other: Tokens, chance: random.Random) -> Tokens:
    """What is in brackets becomes what is in such brackets elsewhere."""
    ours, theirs = list(groups(tokens)), list(groups(chance.choice((tokens, other))))
    if not ours or not theirs:
        return tokens
    (start, end), (first, last) = chance.choice(ours), chance.choice(theirs)
    return [*tokens[:start], "(", *tokens[first:last], ")", *tokens[end:]]


def cut(tokens: Tokens, other: Tokens, chance: random.Random) -> Tokens:
    return tokens[:place(tokens, chance)]


CHANGES: tuple[Callable[[Tokens, Tokens, random.Random], Tokens], ...] = (
    dropped, doubled, swapped, replaced, inserted, grafted, cut)


def misspelt(text: str, chance: random.Random) -> str:
    """Bytes flipped, characters put in, the end cut off."""
    match chance.randrange(4):
        case 0:
            return text[:chance.randrange(len(text) + 1)]
        case 1:
            at = chance.randrange(len(text) + 1)
            return text[:at] + chance.choice(ODD) + text[at:]
        case _:
            found = bytearray(text.encode() or b" ")
            for _ in range(chance.choice((1, 2, 5))):
                found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
            return found.decode(errors="replace")


def place(tokens: Tokens, chance: random.Random) -> int:
    return chance.randrange(len(tokens)) if tokens else 0


def kind(token: str) -> str:
    if token.isidentifier():
        return "name"
    return "number" if token[0].isdigit() else "operator" if token in NEARBY["operator"] else "other"


def groups(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """From a bracket behind the one that closes it."""
    open_: list[int] = []
    for at, token in enumerate(tokens):
        if token in BRACKETS:
            open_.append(at)
        elif open_ and token == BRACKETS[tokens[open_[-1]]]:
            yield open_.pop(), at + 1


# Running them ---------------------------------------------------------------------------------------------------


def findings(text: str, target: str) -> Iterator[str]:
    """What is wrong with how a program is answered; nothing, save for a mistake of Nessie."""
    written: list[str] = []
    session = new_session(parse_command_line(["eval", "--jsonl", "--target", target, *LIMITS]), written.append)
    for outcome in session.run(Source("program", text)):
        if isinstance(outcome, InternalError):
            yield f"internal error: {outcome}"
        elif isinstance(outcome, NessieError):
            str(outcome)                # with the lines that it shows
            if not outcome.places:
                yield f"no place: {outcome}"
            elif any(span.source.library or span.source.text != text for span, _ in outcome.places):
                yield f"a place elsewhere: {outcome}"
        else:
            str(outcome)


def found_in(numbers: Iterable[int], target: str, more: str = "") -> Iterator[tuple[int, str, list[str]]]:
    """Each program with its number and what was found."""
    for number in numbers:
        text = mutant(number, more)
        faulthandler.dump_traceback_later(PATIENCE, exit=True, file=sys.__stderr__)
        try:
            found = list(findings(text, target))
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        faulthandler.cancel_dump_traceback_later()
        yield number, text, found


def main(first: str, last: str, target: str, more: str = "") -> None:
    for number, text, found in found_in(range(int(first), int(last)), target, more):
        print(number + 1, flush=True)
        if found:
            print(json.dumps({"number": number, "found": found, "source": text}), flush=True)


if __name__ == "__main__":
    run_deep(lambda: main(*sys.argv[1:]))
