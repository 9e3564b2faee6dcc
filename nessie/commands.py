"""Commands of the top level: set, describe, apropos, help. `load` is nessie.loading's."""
from __future__ import annotations

from typing import TYPE_CHECKING

from nessie.base.source import NessieError, Unsupported
from nessie.frontend import syntax
from nessie.frontend.types_text import show_scheme
from nessie.loading import place
from nessie.outcome import Outcome

if TYPE_CHECKING:
    from nessie.session import Session

HELP = """\
load "file";   describe name;   apropos text;   set print_length n;   set arg_check on;   help;
Anything else is evaluated: an expression, name = expression, function f(x) = expression, datatype point(int, int).
"""
SWITCHES = ("arg_check", "verbose", "debug", "redefine")


def obey(session: Session, command: syntax.Command) -> Outcome:
    match command.word:
        case "set":
            set_option(session, command)
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
        case ["print_length", number] if number.isdecimal() and len(number) < 19:
            session.print_length = int(number)
        case ["arg_check", "on" | "off" as switch]:
            session.set_unchecked(switch == "off")
        case [name, "on" | "off"] if name in SWITCHES:
            pass                    # there is nothing that they would change
        case _:
            raise NessieError("there is no such setting", *place(command),
                              hint=f"set print_length 100, or one of {', '.join(SWITCHES)} on or off")


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
