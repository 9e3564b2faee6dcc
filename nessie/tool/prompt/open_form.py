"""The help for who waits for a form that is still open: shown where an empty line is typed inside one."""
from __future__ import annotations

import sys
from collections.abc import Callable

from nessie.base.source import NessieError, Source
from nessie.syntax.parse import parse

ENDS = "; ends a form"


def still_open(text: str) -> str:
    """The words for what the form, typed so far, still needs."""
    try:
        parse(Source("input", f"{text}\n;"))
    except NessieError as error:
        return f"still open: {error.hint or ENDS}"
    return f"still open: {ENDS}"


def helped(read: Callable[[bool], str]) -> Callable[[bool], str]:
    """A reader of lines that tells, at an empty line inside a form, what the form needs."""
    typed: list[str] = []

    def line(inside: bool) -> str:
        if not inside:
            typed.clear()
        found = read(inside)
        if inside and not found.strip() and found:
            print(still_open("".join(typed)), file=sys.stderr)
        typed.append(found)
        return found
    return line
