"""nessie plot, and :plot at the prompt: the value of an expression becomes a picture."""
from __future__ import annotations

from nessie.base.source import UsageError
from nessie.base.types import expand
from nessie.pictures.plot import plot
from nessie.session.session import Session
from nessie.syntax import nodes as syntax
from nessie.tool.formats import format_of

STANDARD_OUTPUT = "-"


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
