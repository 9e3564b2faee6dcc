"""Completes command lines in a shell, by argcomplete: commands, options, their choices, files, and the names that the
file on the line defines.

A shell that has run the script from `nessie completion SHELL` calls Nessie with the typed text when Tab is pressed.
"""
from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from nessie.base.source import NessieError, UsageError
from nessie.base.system.extras import install
from nessie.base.system.file_names import files
from nessie.forms import FORMS
from nessie.session.streams import say
from nessie.tool.command_line import build_parser
from nessie.tool.options import needed
from nessie.tool.table import COMPILING, OPTIONS

SHELLS = ("bash", "zsh", "fish")
PROGRAM = ".nesl"
OF_FORMS = tuple(f".{form.name}" for form in FORMS if form.parse)
Complete = Callable[..., list[str]]


def completion(options: argparse.Namespace) -> int:
    """Print the script that makes a shell complete command lines."""
    say(script(needed(options, "SHELL")))
    return 0


def script(shell: str) -> str:
    """The script that the shell has to run."""
    if shell not in SHELLS:
        raise UsageError(f"there is no completion for {shell}", hint=f"there is one for {', '.join(SHELLS)}")
    if find_spec("argcomplete") is None:
        raise NessieError("completion needs argcomplete", hint=install("completion"))
    from argcomplete.shell_integration import shellcode
    return str(shellcode(["nessie"], shell=shell))


def answer() -> int:
    """Send the shell the completions of the typed text and exit. Returns an exit status only if that is impossible."""
    try:
        from argcomplete import autocomplete
    except ImportError:
        return 1
    nothing: Any = chosen(())
    autocomplete(completing(build_parser()), always_complete_options="long", exit_method=os._exit,
                 default_completer=nothing)
    return 1


def completing(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The parser, with a completer for each of its actions."""
    choices = {option.attribute: option.choices for option in OPTIONS if option.choices}
    for command, each in [("", parser), *commands(parser)]:
        for action in each._actions:
            if action.dest in choices:
                action.completer = chosen(choices[action.dest])             # type: ignore[attr-defined]
            elif complete := COMPLETED.get(str(action.metavar)):
                action.completer = complete                                 # type: ignore[attr-defined]
            if action.dest == "operand" and command in COMPILING:
                action.completer = texts                                    # type: ignore[attr-defined]
    return parser


def commands(parser: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    return [found for action in parser._actions if isinstance(action, argparse._SubParsersAction)
            for found in action.choices.items()]


def chosen(choices: tuple[str, ...]) -> Complete:
    return lambda **_: list(choices)


def programs(prefix: str, **_: object) -> list[str]:
    return files(prefix, PROGRAM)


def texts(prefix: str, **_: object) -> list[str]:
    """The files of programs, and of texts of the compiler's forms."""
    return sorted(path for path in files(prefix) if path.endswith(("/", PROGRAM, *OF_FORMS)))


def any_file(prefix: str, **_: object) -> list[str]:
    return files(prefix)


def entries(parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """The functions and variables that the file on the line defines."""
    from nessie.syntax import nodes as syntax
    from nessie.syntax import patterns
    from nessie.syntax.parse import forms, read_source
    names: dict[str, None] = {}
    try:
        for form in forms(read_source(parsed_args.operand)):
            match form:
                case syntax.FunctionDef(name):
                    names[name] = None
                case syntax.Assign(pattern) | syntax.FileVariable(pattern):
                    names |= dict.fromkeys(leaf.name for leaf in patterns.names(pattern) if leaf.name != "_")
    except (NessieError, AttributeError, TypeError):        # there is no such file, or none on the line
        return []
    return list(names)


COMPLETED: dict[str, Complete] = {
    "FILE": programs, "FILE...": programs, "PATH": any_file, "DIR": any_file, "ENTRY": entries, "SHELL": chosen(SHELLS),
    "PROFILE": lambda prefix, **_: ["cpu", "h200", *files(prefix, ".json")],
}
