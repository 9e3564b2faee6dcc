"""Commands of the top level: set, load, describe, apropos, help."""
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nessie.base.source import InternalError, NessieError, Source, Span, Unsupported
from nessie.frontend import syntax
from nessie.frontend.types_text import show_scheme

if TYPE_CHECKING:
    from nessie.session import Outcome, Session

HELP = """\
load "file";   describe name;   apropos text;   set print_length n;   set arg_check on;   help;
Anything else is evaluated: an expression, name = expression, function f(x) = expression, datatype point(int, int).
"""
SWITCHES = ("arg_check", "verbose", "debug", "redefine")


def obey(session: Session, command: syntax.Command) -> Outcome:
    from nessie.session import Outcome
    match command.word:
        case "set":
            set_option(session, command)
        case "load":
            load(session, command)
        case "describe":
            session.target.write(describe(session, command))
        case "apropos":
            found = [name for name in session.environment.names() if command.text.strip().lower() in name]
            session.target.write("\n".join(found) + "\n")
        case "help" | "?":
            session.target.write(HELP)
        case _:
            raise Unsupported(f"the command {command.word} is not there", *place(command))
    return Outcome()


def set_option(session: Session, command: syntax.Command) -> None:
    match command.text.lower().split():
        case ["print_length", number] if number.isdigit():
            session.print_length = int(number)
        case ["arg_check", "on" | "off" as switch]:
            session.set_unchecked(switch == "off")
        case [name, "on" | "off"] if name in SWITCHES:
            pass                    # there is nothing that they would change
        case _:
            raise NessieError("there is no such setting", *place(command),
                              hint=f"set print_length 100, or one of {', '.join(SWITCHES)} on or off")


def load(session: Session, command: syntax.Command) -> None:
    """Evaluate the forms of a file; its first error ends it."""
    words = command.text.split('"')
    if len(words) < 3:
        raise NessieError("load needs the name of a file, in quotes", *place(command))
    path = Path(words[1])
    path = path if path.exists() else path.with_suffix(".nesl")
    for outcome in session.run(read_source(str(path), place(command))):
        if isinstance(outcome, NessieError | InternalError):
            raise outcome


def read_source(path: str, places: list[tuple[Span, str]] | None = None) -> Source:
    """The text of a program's file."""
    try:
        return Source(path, Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise NessieError(f"cannot read {path}: {error.strerror}", *(places or [])) from None
    except UnicodeDecodeError:
        raise NessieError(f"cannot read {path}: it is not UTF-8 text", *(places or [])) from None


def describe(session: Session, command: syntax.Command) -> str:
    """The type of a name and what its documentation says."""
    name = command.text.strip().lower()
    entry = session.environment.lookup(name)
    if entry is None:
        raise NessieError(f"nothing is named {name}", *place(command), hint=f"apropos {name}; looks for parts of names")
    text = f"{name} : {show_scheme(entry.scheme.type)}\n"
    if entry.kind == "function" and (doc := session.environment.function(entry.name).doc):
        text += f"{doc}\n"
    return text


def place(command: syntax.Command) -> list[tuple[Span, str]]:
    return [(command.span, "")] if command.span else []
