"""Programs of the same words, which stand at other places: an edit of blanks and comments changes nothing but those.

    places = moved("f(x) = x", "f(x)  = x")
    places.of(7, 8)         (8, 9)
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nessie.base.records import dataclass
from nessie.syntax.lexer import TOKEN


@dataclass(frozen=True)
class Places:
    """Where the words of one text begin and end in another, by their places in the first. Two dictionaries, as one word
    may end where the next begins."""
    starts: dict[int, int]
    ends: dict[int, int]

    def of(self, start: int, end: int) -> tuple[int, int]:
        return self.starts.get(start, start), self.ends.get(end, end)


def moved(before: str, after: str) -> Places | None:
    """Where the words of the one text are in the other; None if they are not the same words."""
    old, new = list(words(before)), list(words(after))
    if [word for word, _, _ in old] != [word for word, _, _ in new]:
        return None
    pairs = list(zip(old, new, strict=True))
    return Places({a: b for (_, a, _), (_, b, _) in pairs}, {a: b for (_, _, a), (_, _, b) in pairs})


def words(text: str) -> Iterator[tuple[str, int, int]]:
    at = 0
    while (match := TOKEN.match(text, at)) is not None:
        if match.lastgroup not in ("space", "comment"):
            yield match[0], at, match.end()
        at = match.end()
    if at < len(text):
        yield text[at:], at, len(text)


def relocated(data: dict[str, Any], text: str, places: Places) -> dict[str, Any]:
    """The collected data (nessie.inspect.collect) of the program whose words stand there in the text."""
    source, *others = data["stages"]
    marks = [(*places.of(start, end), *rest) for start, end, *rest in source["marks"]]
    return {**data, "spans": [places.of(start, end) for start, end in data["spans"]],
            "stages": [{**source, "text": text, "marks": marks}, *others]}
