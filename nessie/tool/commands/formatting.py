"""The command `nessie fmt`: lays out programs (nessie.syntax.format).

A file is replaced as a whole, if its text changes; a program with errors stays as it is. `-` is standard input, whose
text goes to standard output. With --check or --diff nothing is written. The status is 0; 1 if a program has errors, or,
with --check or --diff, would change.
"""
from __future__ import annotations

import argparse
import difflib
import sys
from contextlib import suppress
from pathlib import Path

from nessie.base.source import NessieError, Source, UsageError, decoded
from nessie.base.system.writing import write
from nessie.session.streams import complain, say
from nessie.syntax.format import formatted
from nessie.syntax.parse import read_source
from nessie.tool.options import FAILED, PIPE


def fmt(options: argparse.Namespace) -> int:
    if not options.operand:
        raise UsageError("fmt needs FILE, one or more", hint="- is standard input; nessie fmt --help tells more")
    status = 0
    for path in options.operand:
        try:
            changed = fmt_file(path, options)
        except NessieError as error:
            complain(error)
            status = FAILED
        else:
            status = FAILED if changed and (options.check or options.diff) else status
    return status


def piped() -> Source:
    """The program on standard input, which is UTF-8, as in files, whatever else is on this system."""
    name = "standard input"
    binary = getattr(sys.stdin, "buffer", None)
    text = decoded(name, binary.read()) if binary is not None else sys.stdin.read()
    return Source(name, text.replace("\r\n", "\n"))


def say_utf_8(text: str) -> None:
    with suppress(AttributeError, ValueError):      # what stands in for standard output may have none
        sys.stdout.reconfigure(encoding="utf-8")    # type: ignore[union-attr]
    say(text)


def fmt_file(path: str, options: argparse.Namespace) -> bool:
    """Format a file, or tell how. Would it change?"""
    source = piped() if path == PIPE else read_source(path)
    text = formatted(source)
    changed = text != source.text
    if options.diff:
        say("".join(difflib.unified_diff(source.text.splitlines(keepends=True), text.splitlines(keepends=True),
                                         source.name, f"{source.name}, formatted")))
    elif options.check:
        say(f"{source.name} would change\n" if changed else "")
    elif path == PIPE:
        say_utf_8(text)
    elif changed:
        windows = b"\r\n" in Path(path).read_bytes()
        write(path, text.replace("\n", "\r\n") if windows else text)
    return changed
