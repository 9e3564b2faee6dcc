"""nessie plot, and :plot at the prompt: the value of an expression becomes a picture."""
from __future__ import annotations

import argparse

from nessie.base.source import Source, UsageError
from nessie.base.system.writing import write
from nessie.base.types import expand
from nessie.pictures.plot import plot
from nessie.session.session import Session
from nessie.session.streams import say_aside
from nessie.syntax import nodes as syntax
from nessie.syntax.parse import parse, read_source
from nessie.syntax.parser import parse_expression
from nessie.tool.commands.entry import define
from nessie.tool.formats import format_of
from nessie.tool.options import needed, new_session

STANDARD_OUTPUT = "-"


def plot_expression(options: argparse.Namespace) -> int:
    """Write a plot of the value of an expression."""
    text = needed(options, "EXPR")
    path, format_ = file_of(options.output)
    session = new_session(options)
    if options.file:
        define(session, parse(read_source(options.file)))
        session.listener = None
    exp = parse_expression(Source("expression", text.strip().rstrip(";$")))
    write(path, picture(session, exp, options.kind, text, format_))
    say_aside(f"{path} is written\n")
    return 0


def file_of(path: str | None) -> tuple[str, str]:
    """The file of a plot, and its format."""
    if path == STANDARD_OUTPUT:
        raise UsageError("a plot is written to a file: name it with -o")
    return path or "plot.svg", format_of("plot", path) or "svg"


def picture(session: Session, exp: syntax.Exp, kind: str | None, title: str, format_: str) -> bytes:
    """The plot of the expression's value."""
    type_ = expand(session.type_of(exp), session.content)
    value = session.target.in_time(lambda: session.value_of(exp))
    return plot(value, type_, kind, title, format_)
