"""Parses the words of a command line into options and arguments of the program.

    nessie run FILE -e ENTRY ARG... [options]

ARGs are NESL expressions, so they may begin with `-`. Options may stand before the command, after it, and between ARGs;
after `--` every word is an ARG.
"""
from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Container
from itertools import groupby
from typing import Any, Literal, NoReturn

from nessie.activity import Activity
from nessie.base.source import UsageError
from nessie.base.text.nearest import nearest
from nessie.session.streams import say
from nessie.tool.table import CALLING, COMPILING, OPTIONS, RUNNING, SUBCOMMANDS, Option
from nessie.tool.values import one_of

OPERAND_HELP = {"FILE": "a program, or where a command compiles one, the text of any of its forms",
                "MAPPING": "GridBlock, Levels, or a strategy: Jing, JingExt, FoldAll, auto", "FILE...": "programs",
                "SHELL": "bash, zsh or fish",
                "EXPR": "an expression, or forms that end with ;"}
MEANT = {"trace": "profile, or print_debug in the program", "repl": "alone, for the prompt", "build": "compile",
         "format": "fmt", "time": "bench", "benchmark": "bench", "measure": "bench", "type": "check",
         "doc": "eval 'help NAME'", "describe": "eval 'help NAME'"}
SWITCHES = ("-h", "--help", "--version")

ARGUMENT_HELP = """\
An ARG is a NESL expression, @path, a file to read (@table.csv:a,b reads the columns a and b), or @-, JSON from
standard input. ARGs follow ENTRY and may begin with a minus; options may stand between them; after -- every word is
an ARG."""


SHOWN_AS_IT_IS = "    "         # begins a line of a help text that is not wrapped


class Help(argparse.HelpFormatter):
    """Help texts in which --time-limit and examples stay on one line."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = [[*lines] for _, lines in groupby(text.splitlines(), lambda line: line.startswith(SHOWN_AS_IT_IS))]
        return "\n".join(
            "\n".join(lines) if lines[0].startswith(SHOWN_AS_IT_IS) else
            textwrap.fill(" ".join(" ".join(lines).split()), width, initial_indent=indent, subsequent_indent=indent,
                          break_on_hyphens=False) for lines in parts)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError instead of leaving the process."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=Help, **options)

    def _print_message(self, message: str, file: Any = None) -> None:
        say(message)

    def error(self, message: str) -> NoReturn:
        ptx = message.startswith("argument --emit: ptx ")
        more = "PTX is --emit cubin --arch compute_90" if ptx else f"{self.prog} --help tells more"
        about = re.match(r"argument (?:\S+/)?(\S+): (expected one argument|ignored explicit argument)?", message)
        option = next((option for option in OPTIONS if about and about[1] in option.names), None)
        if option is None or about is None or not about[2]:
            raise UsageError(message.removeprefix("argument "), hint=more)
        if option.value:
            raise UsageError(f"{' or '.join(option.names)} needs {option.value}", hint=more)
        raise UsageError(f"{' or '.join(option.names)} takes no value", hint=more)


def refuse(word: str, command: str | None) -> NoReturn:
    """Raise the UsageError for a word that nothing takes."""
    more = f"nessie {command} --help tells more" if command else "nessie --help tells more"
    if not word.startswith("-"):
        calls = f"a function's arguments stand behind its name: nessie {command} FILE -e ENTRY {word}"
        if word.startswith(("[", "(")) and command in COMPILING:
            calls = more = f"the type of a function's argument is -t TYPE: nessie {command} FILE -e ENTRY -t '{word}'"
        raise UsageError(f"{word} is one argument too many", hint=calls if command in CALLING else more)
    name = word.partition("=")[0]
    if command == "eval" and name == "--entry":
        raise UsageError("eval needs no -e", hint="nessie eval 'EXPR'; nessie run FILE -e ENTRY calls a function")
    if command in RUNNING and name == "--type":
        raise UsageError(f"{command} needs no -t: values tell their types", hint="an empty sequence is '[] int'")
    option = next((option for option in OPTIONS if name in option.names), None)
    if option is not None:
        raise UsageError(f"there is no option {' or '.join(option.names)} of this command",
                         hint=f"it is one of {', '.join(f'nessie {command}' for command in option.commands)}")
    near = nearest(name, [name for option in OPTIONS for name in option.names], 0.7)
    raise UsageError(f"there is no option {name}", hint=f"did you mean {near}?" if near else more)


def parse_command_line(words: list[str]) -> argparse.Namespace:
    """Parse the words. The result has each option by its attribute, None or False if it is not given; `command`, None
    for the interactive loop; `operand`; `arguments`; and a new `activity`."""
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    kept, arguments = program_arguments(words)
    if "eval" in kept[:1]:
        for word in kept:
            if word.startswith("--entry="):
                refuse(word, "eval")
    found, unknown = build_parser(check_command(kept)).parse_known_args(kept)
    if unknown:
        refuse(unknown[0], found.command)
    for option in OPTIONS:
        if not hasattr(found, option.attribute):
            setattr(found, option.attribute, [] if option.several else None if option.value else False)
    found.arguments, found.activity = arguments, Activity()
    if arguments and not (found.command in CALLING and found.entry):
        refuse(arguments[0], found.command)
    return found


def check_command(words: list[str]) -> tuple[str, ...]:
    """Return the command, if there is one; UsageError if it is unknown. Every option has its value in the same word by
    now, so the first other word is the command."""
    command = next((word for word in words if not word.startswith("-")), None)
    if command is not None and command not in SUBCOMMANDS:
        near = f"run {command}" if command.endswith(".nesl") else MEANT.get(command) or nearest(command, SUBCOMMANDS)
        raise UsageError(f"there is no command {command}; the commands are {', '.join(SUBCOMMANDS)}",
                         hint=f"did you mean nessie {near}?" if near else "nessie --help tells more")
    return () if command is None else (command,)


def program_arguments(words: list[str]) -> tuple[list[str], list[str]]:
    """The words for argparse, and the program's ARGs. Options get their values by `=`, and an EXPR that begins with a
    minus goes after `--`, so that argparse mistakes neither for something else."""
    options = {name: option for option in OPTIONS for name in option.names}
    rest, kept, last, arguments = list(reversed(words)), list[str](), list[str](), list[str]()
    in_arguments = entered = False
    callers = {*CALLING}
    while rest:
        word = rest.pop()
        if word[:2] in options and word[2:] and not in_arguments and "eval" not in kept:        # -eENTRY
            rest.append(word[2:])
            word = word[:2]
        option = options.get(word.partition("=")[0] if word.startswith("--") else word)
        if word == "--":
            (last if callers.isdisjoint(kept) else arguments).extend(reversed(rest))
            break
        if option is not None or word in SWITCHES:
            if option is not None and option.value and rest and (not word.startswith("--") or "=" not in word):
                word = f"{option.names[-1]}={rest.pop()}"
            in_arguments = option is not None and option.attribute == "entry" and not callers.isdisjoint(kept)
            entered = entered or in_arguments
            kept.append(word)
        elif (in_arguments or (entered and has_file(kept))) and not re.match("--[a-z]", word):
            arguments.append(word)
        else:
            (last if word.startswith("-") and "eval" in kept else kept).append(word)
    return [*kept, *(["--", *last] if last else [])], arguments


def has_file(kept: list[str]) -> bool:
    """Are the command and its FILE among the words? Options have their values in the same word."""
    return len([word for word in kept if not word.startswith("-")]) > 1


def build_parser(whole: Container[str] = tuple(SUBCOMMANDS)) -> Parser:
    """Return the parser of command lines. Only commands that are `whole` have their options: all options of all
    commands take milliseconds."""
    from nessie import __version__
    parser = Parser(prog="nessie", allow_abbrev=False, argument_default=argparse.SUPPRESS,
                    description="NESL compiled to fused kernels. Without a command, it evaluates what is typed.",
                    epilog=ARGUMENT_HELP)
    parser.add_argument("--version", action="version", version=f"nessie {__version__}")
    add_shared(parser, None)
    commands = parser.add_subparsers(dest="command", metavar="[COMMAND]")
    parser.set_defaults(command=None)
    for name, (_, operand, does, needs, examples) in SUBCOMMANDS.items():
        closing = [ARGUMENT_HELP] * (name in CALLING) + [example(line) for line in examples]
        command = commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.",
                                      usage=usage(name, operand, needs), epilog="\n".join(closing) or None,
                                      allow_abbrev=False, argument_default=argparse.SUPPRESS)
        if name not in whole:
            continue
        if operand:
            nargs: Literal["*", "?"] = "*" if operand.endswith("...") else "?"
            command.add_argument("operand", metavar=operand, nargs=nargs, default=None, help=OPERAND_HELP[operand])
        for option in OPTIONS:
            if name in option.commands:
                add(command, option, option.help)
        add_shared(command, name)
    return parser


def add_shared(parser: Parser, command: str | None) -> None:
    """Add the options that all commands take, under their headings. The help leaves out those that do nothing for the
    command."""
    groups: dict[str, Any] = {}
    for option in OPTIONS:
        if option.commands:
            continue
        does = command is None or command in option.useful
        if does and option.group not in groups:
            groups[option.group] = parser.add_argument_group(option.group)
        add(groups[option.group] if does else parser, option, option.help if does else argparse.SUPPRESS)


def example(line: str) -> str:
    """A line of the help that is shown as it is."""
    return f"{SHOWN_AS_IT_IS}{line}"


def usage(command: str, operand: str, needs: str) -> str:
    """The usage line of a command. It lists what the command needs first; options may come anywhere."""
    return " ".join(filter(None, ["nessie", command, operand, needs, "[options]"]))


def add(parser: Any, option: Option, help: str) -> None:
    """Add the option to a parser, or to a group of it."""
    if not option.value:
        parser.add_argument(*option.names, action="store_true", help=help)
        return
    action = "append" if option.several else "store"
    parser.add_argument(*option.names, metavar=option.value, help=help, action=action,
                        type=one_of(option.choices) if option.choices else option.type)
