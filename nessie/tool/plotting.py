"""nessie plot, and :plot at the prompt: the value of an expression becomes a picture."""
from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nessie.base.source import Source, UsageError
from nessie.base.types import expand
from nessie.pictures.plot import plot
from nessie.session.streams import say_aside
from nessie.syntax import nodes as syntax
from nessie.syntax.parse import parse, read_source
from nessie.syntax.parser import parse_expression
from nessie.tool.formats import format_of
from nessie.tool.options import PIPE, needed, new_session, write_result

if TYPE_CHECKING:
    from nessie.session.session import Session

DEFAULT = "plot.svg"


def plotted(options: argparse.Namespace) -> int:
    """Write the plot of EXPR to the file that -o names."""
    from nessie.tool.cli import define
    text = needed(options, "EXPR")
    path = options.output or DEFAULT
    if path == PIPE:
        raise UsageError("a plot is written to a file: name it with -o")
    format_ = format_of("plot", path) or "svg"
    session = new_session(options)
    if options.file:
        define(session, parse(read_source(options.file)))
        session.listener = None
    exp = parse_expression(Source("expression", text.strip().rstrip(";$")))
    options.output = path
    write_result(options, picture(session, exp, options.kind, text, format_))
    say_aside(f"{path} is written\n")
    return 0


def picture(session: Session, exp: syntax.Exp, kind: str | None, title: str, format_: str) -> bytes:
    """The plot of the expression's value."""
    type_ = expand(session.type_of(exp), session.content)
    value = session.target.in_time(lambda: session.value_of(exp))
    return plot(value, type_, kind, title, format_)
