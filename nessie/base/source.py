"""Places in the source, and errors that show them to the user."""
from __future__ import annotations

import re
from collections.abc import Iterable

from nessie.base.records import dataclass

SHOWN = 160                     # characters of a line that are shown with an error
SHOWN_CALLS = 3                 # calls leading to an error that are shown
EXCERPT = 50                    # characters of a piece of the source
# Characters that a terminal may obey: all control characters but newline and tab, and what turns the direction of text.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
UNSEEN = "\ufffd"               # stands for such a character in an error


@dataclass(frozen=True)
class Source:
    """A named text: a file, a form typed at the prompt, a test case, or Nessie's own library. It may be a part of a
    longer text that begins at a later line."""
    name: str
    text: str
    library: bool = False
    first_line: int = 1


@dataclass(frozen=True)
class Span:
    """The characters source.text[start:end]."""
    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """1-based."""
        return self.source.text.count("\n", 0, self.start) + self.source.first_line

    @property
    def column(self) -> int:
        """1-based, in characters."""
        return self.start - self.source.text.rfind("\n", 0, self.start)

    def holds(self, other: Span) -> bool:
        return self.source == other.source and self.start <= other.start and other.end <= self.end

    def excerpt(self, label: str = "") -> str:
        """Return the line that holds this span (of a long line the part around it), with carets and the label below."""
        line, before = self.shown_line()
        margin = " " * len(str(self.line))
        indent = "".join("\t" if c == "\t" else " " for c in line[:before])
        carets = "^" * max(1, min(self.end - self.start, len(line) - before))
        return (f"{margin}--> {self.source.name}:{self.line}:{self.column}\n"
                f"{margin} |\n"
                f"{self.line} | {line}\n"
                f"{margin} | {indent}{carets} {label}".rstrip())


    def shown_line(self) -> tuple[str, int]:
        """Return the text, and the position in it where the span begins."""
        text = self.source.text
        start, end = text.rfind("\n", 0, self.start) + 1, text.find("\n", self.start)
        end = len(text) if end < 0 else end
        if end - start <= SHOWN:
            return text[start:end], self.start - start
        first = min(max(start, self.start - SHOWN // 2), max(start, end - SHOWN))
        last = min(end, first + SHOWN)
        dots = "..." if first > start else ""
        return f"{dots}{text[first:last]}{'...' if last < end else ''}", self.start - first + len(dots)


# The origin of a node: its own span first, then the calls through which it was inlined,
# innermost first. It is empty for nodes without source text.
Origin = tuple[Span, ...]
NOWHERE: Origin = ()


def user_span(origin: Origin) -> Span | None:
    """Return the innermost span outside the library: where the user wrote it."""
    return next((span for span in origin if not span.source.library), None)


def excerpt(place: Span | None) -> str:
    """The piece of source in one line, cut where it is long."""
    text = " ".join(place.source.text[place.start:place.end].split()) if place else ""
    return text if len(text) <= EXCERPT else text[:EXCERPT - 3] + "..."


def places(origin: Origin, label: str = "") -> list[tuple[Span, str]]:
    """Return the place that the user wrote, labelled, and the calls of the user's functions that lead there, innermost
    first. Of many calls it returns the innermost and the outermost. A call whose span contains the place that it leads
    to is left out."""
    written = [span for span in origin if not span.source.library]
    calls = [call for inner, call in zip(written, written[1:]) if not call.holds(inner)]
    told = calls if len(calls) <= SHOWN_CALLS else [*calls[:SHOWN_CALLS - 1], calls[-1]]
    return [*((span, label) for span in written[:1]), *((call, "called from here") for call in told)]


def called_from(origin: Origin, calls: Iterable[Origin]) -> Origin:
    """Return the origin extended by the `calls` of the running functions, innermost first. A call that recursion
    repeats counts once."""
    return tuple(dict.fromkeys(span for around in (origin, *calls) for span in around))


class NessieError(Exception):
    """An error of the user's program or input. It shows every place that plays a part in it."""

    def __init__(self, message: str, *places: tuple[Span, str], hint: str = "") -> None:
        super().__init__(message)
        self.message, self.places, self.hint = message, places, hint

    @property
    def span(self) -> Span | None:
        """The first place, if there is one."""
        return self.places[0][0] if self.places else None

    def __copy__(self) -> NessieError:
        """Return an error of its own attributes, also where a library lets copies of exceptions share them (as tblib,
        which Dask imports)."""
        made = type(self).__new__(type(self), *self.args)
        vars(made).update(vars(self))
        return made

    def __str__(self) -> str:
        return f"error: {self.told()}"

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows. The place in Nessie that raised the error is of no use to users."""
        return str(self).splitlines()

    def told(self) -> str:
        parts = [self.message]
        parts += [span.excerpt(label) for span, label in self.places]
        parts += [f"hint: {self.hint}"] if self.hint else []
        return CONTROL.sub(UNSEEN, "\n".join(parts).replace("\r\n", "\n"))


class Unsupported(NessieError):
    """The program is correct NESL, but needs a feature that this version or target lacks."""


class Consequence(NessieError):
    """An error that follows from one that was told before, in the same text."""


class Interrupted(NessieError):
    """The user has stopped a run; not an error of the program."""

    def __str__(self) -> str:
        return "\n".join(["Interrupted.", *(span.excerpt(label) for span, label in self.places)])


class LostOutput(NessieError):
    """Standard output accepts no more."""


class UsageError(NessieError):
    """The command line is wrong (exit status 2)."""


class IllFormed(Exception):
    """A program breaks an invariant of its form."""


UNCHECKED = "with run-time checks the error says more: leave --unchecked out, or set arg_check on"


class InternalError(Exception):
    """An error of Nessie itself: a pass broke its promise."""


def decoded(path: str, data: bytes, *places: tuple[Span, str]) -> str:
    """Return the text of a UTF-8 file; raise NessieError, with these `places`, if it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NessieError(f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8 text", *places) from None


def as_error(failure: Exception, *places: tuple[Span, str]) -> NessieError | InternalError:
    """Turn any exception into an error to report, at these places if it has none itself. A refusal of the operating
    system is not an error of Nessie."""
    match failure:
        case NessieError() | InternalError():
            return failure
        case MemoryError():
            return NessieError("out of memory", *places)
        case OSError():
            parts = [str(part) for part in (failure.filename, failure.strerror or failure) if part]
            return NessieError(": ".join(parts), *places)
    return InternalError(f"{type(failure).__name__}: {failure}")


def blamed(error: NessieError | InternalError, unchecked: bool, *places: tuple[Span, str]) -> \
        NessieError | InternalError:
    """Return the error of a program that ran, `unchecked` or not: what no check has found is not Nessie's mistake."""
    if unchecked and isinstance(error, InternalError):
        return NessieError(f"without its checks, the program went wrong: {error}", *places, hint=UNCHECKED)
    return error
