"""Text files, .txt: as characters, lines or numbers."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.types import (
    CHAR,
    CLASSES,
    FLOAT,
    INT,
    STRING,
    Base,
    ContentOf,
    Data,
    Seq,
    Type,
    Var,
    expand,
    show_type,
)
from nessie.base.values import DTYPES, Flat, Nested, code_points
from nessie.files.fit import complain, number, offsets_of, shorten
from nessie.files.parts import ANY, Chars, File, Misfit, Part, wanted_text
from nessie.files.reading import NUMBER, SHORT_TEXT, SLOT, Reading

PIECE = 1 << 14                 # characters whose words are parsed together
CODE = 4                        # bytes of a character in an array
BLANK = re.compile(r"\s")

# Numbers ----------------------------------------------------------------------------------------

def numbers(words: list[str], type_: Base) -> np.ndarray[Any, Any] | int:
    """The words as numbers of this type, or the position of the first word that is not one."""
    values = [number(word, type_) for word in words]
    if None in values:
        return values.index(None)
    return np.array(values, DTYPES[type_.name])


def guess(words: list[str]) -> Type:
    """int if all words are ints, float if all are numbers, else text."""
    if all(number(word, INT) is not None for word in words):
        return INT
    return FLOAT if all(number(word, FLOAT) is not None for word in words) else STRING


def odd_one(words: list[str], leaf: Var) -> tuple[int, str] | None:
    """The position of the first word that is not in the variable's class, and the reason."""
    for position, word in enumerate(words if CLASSES[leaf.cls] else []):
        kind = guess([word])
        if not (isinstance(kind, Base) and kind.name in CLASSES[leaf.cls]):
            return position, f"{shorten(word)} where {wanted_text(leaf)} is wanted"
    return None


# .txt -------------------------------------------------------------------------------------------

def read_txt(file: Reading) -> File:
    text = file.text()
    file.take(cost(text))
    return Text(file, text)


def cost(text: str) -> int:
    """Bytes of the words of one piece, and of their numbers."""
    largest = max((end - start for start, end in cuts(text)), default=0)
    words = min(largest, PIECE) // 2 + 1
    return 2 * (1 if text.isascii() else 4) * largest + words * (SHORT_TEXT + NUMBER + 3 * SLOT)


@dataclass(frozen=True)
class Text:
    """A text, its lines or its numbers; or the only number in it."""
    file: Reading
    text: str

    def likely(self) -> Sequence[Type]:
        return Seq(ANY), INT, FLOAT

    def inside(self, type_: Type, content: ContentOf) -> Iterable[tuple[Part, Type]]:
        match type_:
            case Seq(element):
                return [(Words(self.text), element)]
            case Base("int" | "float") if is_one(self.text) and odd_number(self.text, type_) is None:
                return []
            case Data():
                return [(self, content(type_))]
        raise Misfit("does not hold what is wanted")

    def made(self, type_: Type, content: ContentOf) -> Any:
        match expand(type_, content):
            case Seq(Base("char")):
                column = characters(self.file, self.text)
                return Flat(column.size, column)
            case Seq(Seq(Base("char"))):
                parts = lines(self.file, self.text)
                return Flat(parts.offsets.size - 1, parts)
            case Base() as kind:
                return self.numbers(kind)[0].item()
            case Seq(Base() as kind):
                values = self.numbers(kind)
                return Flat(values.size, values)

    def numbers(self, kind: Base) -> np.ndarray[Any, Any]:
        found = [np.zeros(0, DTYPES[kind.name])]
        for words in pieces(self.text):
            self.file.take(2 * SLOT * len(words))       # twice: the pieces, and their concatenation
            part = numbers(words, kind)
            assert not isinstance(part, int)            # they fit
            found.append(part)
        return np.concatenate(found)

    def complaint(self, type_: Type, content: ContentOf, misfit: Misfit) -> NessieError:
        wanted = expand(type_, content)
        leaf = wanted.element if isinstance(wanted, Seq) else wanted
        if isinstance(leaf, Var) and (odd := odd_in(self.text, lambda words: odd_one(words, leaf))):
            return self.complain_word(*odd)
        if leaf in (INT, FLOAT):
            assert isinstance(leaf, Base)
            if odd := odd_number(self.text, leaf):
                what = "an int" if leaf == INT else "a number"
                return self.complain_word(odd[0], f"{shorten(odd[1])} is not {what}")
        if wanted == leaf and (isinstance(leaf, Var) or leaf in (INT, FLOAT)):
            count = sum(map(len, pieces(self.text)))
            return complain(self.file.path, self.text, 1, f"one number is due, the file has {count}")
        return complain(self.file.path, self.text, 1, f"a text cannot be of type {show_type(type_, False)}")

    def complain_word(self, position: int, reason: str) -> NessieError:
        word = next(islice(re.finditer(r"\S+", self.text), position, None))
        line = self.text.count("\n", 0, word.start()) + 1
        return complain(self.file.path, self.text, line, reason, word.span(), first_line=self.file.first_line)


@dataclass(frozen=True)
class Words:
    """The elements of a text: numbers, if there are words and all of them are numbers; else characters."""
    text: str

    def likely(self) -> Sequence[Type]:
        kinds = set[Type]()
        for words in pieces(self.text):
            kinds.add(guess(words))
            if STRING in kinds:
                break
        return (INT, FLOAT, CHAR, Seq(ANY)) if kinds and STRING not in kinds else (CHAR, Seq(ANY), INT, FLOAT)

    def inside(self, type_: Type, content: ContentOf) -> Iterable[tuple[Part, Type]]:
        match type_:
            case Base("int" | "float") if odd_number(self.text, type_) is None:
                return []
            case Base("char"):
                return []
            case Seq(element):
                return [(Chars(), element)]
        raise Misfit("does not hold what is wanted")


def pieces(text: str) -> Iterator[list[str]]:
    """The words of the text, in lists of some at a time."""
    for start, end in cuts(text):
        if words := text[start:end].split():
            yield words


def cuts(text: str) -> Iterator[tuple[int, int]]:
    """The starts and ends of consecutive parts of the text; each part ends before a blank or at the text's end."""
    start = 0
    while start < len(text):
        blank = BLANK.search(text, start + PIECE)
        end = blank.start() if blank else len(text)
        yield start, end
        start = end


def odd_in(text: str, odd: Callable[[list[str]], tuple[int, str] | None]) -> tuple[int, str] | None:
    """The position of the first odd word, and the message about it, if there is one. `odd` gives both for a list of
    words."""
    before = 0
    for words in pieces(text):
        if found := odd(words):
            return before + found[0], found[1]
        before += len(words)
    return None


def odd_number(text: str, kind: Base) -> tuple[int, str] | None:
    """The position of the first word that is not a number of this kind, and the word, if there is one."""
    def odd(words: list[str]) -> tuple[int, str] | None:
        found = numbers(words, kind)
        return (found, words[found]) if isinstance(found, int) else None
    return odd_in(text, odd)


def is_one(text: str) -> bool:
    """Whether the text is exactly one word."""
    return len(text.split(None, 1)) == 1


def characters(file: Reading, text: str) -> np.ndarray[Any, Any]:
    """The code points of the text. The intermediate copy is as large as they are."""
    file.take(2 * CODE * len(text))
    found = code_points(text)
    file.give(CODE * len(text))
    return found


def lines(file: Reading, text: str) -> Nested:
    """The lines of the text. A line end at the end of the text starts no further line."""
    count = text.count("\n")
    file.take((CODE + 3 * CODE + 2) * len(text) + 5 * SLOT * count)    # a copy of the text, of its codes, and masks
    column = characters(file, text.replace("\r\n", "\n") if "\r\n" in text else text)
    if column.size and column[-1] != ord("\n"):
        column = np.append(column, np.int32(ord("\n")))
    ends = np.flatnonzero(column == ord("\n"))
    starts = np.concatenate([np.zeros(min(1, ends.size), np.int64), ends[:-1] + 1])
    return Nested(offsets_of(ends - starts), column[column != ord("\n")])
