"""Parses the words of a command line into options and arguments of the program.

    nessie run FILE -e ENTRY ARG... [options]

ARGs are NESL expressions, so they may begin with `-`. Options may stand before the command, after it, and between ARGs;
after `--` every word is an ARG.
"""
from __future__ import annotations

import argparse
import math
import re
import textwrap
from collections.abc import Callable, Container
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

from nessie.activity import Activity
from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.records import dataclass
from nessie.base.source import UsageError
from nessie.base.system.limits import BYTES, COUNT, SECONDS, bytes_of
from nessie.base.text.nearest import nearest
from nessie.base.widths import SETTINGS
from nessie.forms import FORMS
from nessie.inspect.views import VIEWS
from nessie.lambda_cu.mappings.levels import ITEMS, OWNERS
from nessie.pictures.kinds import KINDS
from nessie.pipeline import PASSES
from nessie.running.target_names import TARGETS
from nessie.session.streams import say
from nessie.tool.formats import CUBIN, ENDINGS
from nessie.tuning.shapes import Shape, shape_of

LARGEST = 2 ** 48               # elements of a sequence


@dataclass(frozen=True)
class Option:
    """An option. `value` names its value in the help; it is empty for a switch. `commands`: those that take it; empty
    means all. `group` is its heading in the help; `useful` are the commands in whose help it
    stands, of those for which it does something; empty means all that take it."""
    names: tuple[str, ...]
    value: str
    help: str
    commands: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    type: Any = str
    several: bool = False
    group: str = ""
    useful: tuple[str, ...] = ()

    @property
    def attribute(self) -> str:
        return self.names[-1].lstrip("-").replace("-", "_")


def byte_count(text: str) -> int:
    try:
        return bytes_of(text)
    except ValueError:
        wrong(text, BYTES.wanted)


def names(text: str) -> list[str]:
    """Names with commas between, as a row of a .csv file has them."""
    import csv  # no other option needs it
    found = next(csv.reader([text]), [])
    return [name.strip() for name in found] if all(map(str.strip, found)) and found else \
        wrong(text, "names with commas between")


def count(text: str) -> int:
    number = number_of(text)
    return int(number) if COUNT.takes(number) else wrong(text, COUNT.wanted)


def whole_number(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        wrong(text, "a whole number")
    if not MIN_INT <= number <= MAX_INT:
        wrong(text, "a whole number of 64 bits")
    return number


def seconds(text: str) -> float:
    number = number_of(text)
    return number if SECONDS.takes(number) else wrong(text, SECONDS.wanted)


def size(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    number = number_of(value)
    if number > LARGEST:
        wrong(text, f"a size: no sequence has more than {LARGEST} elements")
    return (name, number) if name and number >= 0 else wrong(text, "NAME=N, such as n=1000 or xs=1e7")


def named_input(text: str) -> tuple[str, str]:
    name, _, exp = text.partition("=")
    return (name.strip(), exp) if name.strip() and exp.strip() else wrong(
        text, "NAME=EXPR, such as large=total([0:1000000])")


def architecture(text: str) -> str:
    return text if re.fullmatch(r"(sm|compute)_\d+[af]?", text) else wrong(text, "an architecture, such as sm_90")


def pair(text: str) -> tuple[str, str]:
    first, _, second = (part.strip().lower() for part in text.partition(","))
    return (first, second) if first and second and "," not in second else wrong(text, "two names, such as total,sq")


def port(text: str) -> int:
    return int(text) if text.isdecimal() and 0 < int(text) < 1 << 16 else wrong(text, "a port, 1 to 65535")


def shapes(text: str) -> tuple[Shape, ...]:
    return tuple([shape_of(part.strip(), LARGEST) or wrong(
        part.strip() or "an empty word", "a shape of one to three sizes, such as 1000000x10 or 1000x1e6, or power, or "
        "power:1000x1e6") for part in text.split(",")])


def number_of(text: str) -> float:
    """The number in the text, or NaN, which every check refuses, if there is none."""
    try:
        return float(text) if math.isfinite(float(text)) else math.nan
    except ValueError:
        return math.nan


def wrong(text: str, wanted: str) -> NoReturn:
    raise argparse.ArgumentTypeError(f"{text} is not {wanted}")


def one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def chosen(text: str) -> str:
        return text if text in choices else wrong(text, f"one of {', '.join(choices)}")
    return chosen


CALLING = ("run", "profile", "bench", "tune", "explain")        # commands that take ARGs
COMPILING = ("compile", "show", "graph", "explain", "inspect")
EMITTED = (*(form.name for form in FORMS if form.name != "nesl"), CUBIN)
RUNNING = ("run", "eval", "test", "profile", "bench", "tune", "explain", "plot")      # commands that run programs
LIMITING = (*RUNNING, "serve")
BUILDING = (*RUNNING, *COMPILING)                               # commands that compile them
BITS = tuple(map(str, SETTINGS))
WHERE, FUSED, LIMITED, WORLD = "where it runs", "what is fused", "limits", "the run"

OPTIONS = (
    Option(("--target",), "TARGET", f"where it runs, and what it is compiled for: {', '.join(TARGETS)} "
           "(default: cpu)", choices=TARGETS, group=WHERE, useful=BUILDING),
    Option(("--cluster",), "ADDRESS", "of Dask's scheduler, for the target dask: tcp://host:8786", group=WHERE,
           useful=LIMITING),
    Option(("--workers",), "N", "worker processes on this machine, for the target dask (default: 2)", type=count,
           group=WHERE, useful=LIMITING),
    Option(("--dashboard",), "", "say where Dask's page is on which one sees its tasks", group=WHERE, useful=LIMITING),
    Option(("--stream",), "", "call ENTRY on some rows of a file after the others, in bounded memory, and write a "
           "folder of tables", ("run",)),
    Option(("--fuse",), "HOW", "how kernels are fused: ilp (the default), greedy, none",
           choices=("ilp", "greedy", "none"), group=FUSED, useful=BUILDING),
    Option(("--fuse-edge",), "A,B", "let the kernels of these two share a launch; may be given several times",
           type=pair, several=True, group=FUSED, useful=BUILDING),
    Option(("--cut",), "A,B", "let them never; may be given several times", type=pair, several=True,
           group=FUSED, useful=BUILDING),
    Option(("--level",), "NAME=LEVEL", f"on a GPU, let one {', '.join(OWNERS[:-1])} or {OWNERS[-1]} hold each segment "
           f"where NAME is computed, {ITEMS} let none, or say a level for each axis, such as grid,block; may be given "
           "several times", several=True, group=FUSED,
           useful=BUILDING),
    Option(("--map",), "NAME=MAPPING", "on a GPU, let threads walk by this mapping (docs/mappings.md) where NAME, or "
           "its partition, NAME case 2, is computed: GridBlock(...), Jing, JingExt, FoldAll, auto, none; @FILE: lines "
           "NAME by MAPPING; may be given several times", several=True, group=FUSED, useful=BUILDING),
    Option(("--size",), "NAME=N", "expect this size when fusing: of an array, or a number; may be given several times",
           type=size, several=True, group=FUSED, useful=(*BUILDING, "map")),
    Option(("--machine",), "PROFILE", "what the scheduler takes things to cost: cpu, h200, or a file that nessie "
           "doctor has written (default: by target)", group=FUSED, useful=BUILDING),
    Option(("--tuning",), "FILE", "the thresholds of versions that nessie tune has written; none: no versions",
           group=FUSED, useful=BUILDING),
    Option(("--dump",), "DIR", "write what each pass makes there; run and eval: in a folder per top-level form",
           type=Path, group=WORLD, useful=BUILDING),
    Option(("--float",), "BITS", "of the program's floats: 64 (the default), or 32", choices=BITS, group=WORLD,
           useful=(*BUILDING, "check", "serve")),
    Option(("--int",), "BITS", "of the program's ints: 64 (the default), or 32", choices=BITS, group=WORLD,
           useful=(*BUILDING, "check", "serve")),
    Option(("--unchecked",), "", "leave out the program's run-time checks", group=WORLD, useful=BUILDING),
    Option(("--memory",), "BYTES", "the most memory for arrays: 500M, 2G (default: 80 %% of what is free)",
           type=byte_count, group=LIMITED, useful=LIMITING),
    Option(("--depth",), "N", "the deepest recursion (default: 1000000, less in functions that lead to launches: what "
           "some seconds reach); 1000 times as deep where a function of scalars calls itself last, which is a loop",
           type=count, group=LIMITED, useful=RUNNING),
    Option(("--time-limit",), "S", "the longest that one form, or the command, may take, in seconds: to be read, "
           "compiled and run", type=seconds, group=LIMITED, useful=(*BUILDING, "check", "serve")),
    Option(("--seed",), "N", "where random numbers begin (default: 0)", type=whole_number, group=WORLD, useful=RUNNING),
    Option(("--threads",), "N", "threads of the target cpu (default: as many as there are cores), or of cudasim (2)",
           type=count, group=WHERE, useful=LIMITING),
    Option(("--allow-shell",), "", "let programs run other programs", group=WORLD, useful=RUNNING),
    Option(("--draw",), "FILE.svg", "write the picture that the program draws there; the next ones are FILE-2.svg and "
           "so on (default: the program's name)", type=Path, group=WORLD, useful=("run", "eval")),
    Option(("--events",), "EVENTS", "clicks and keys for a program that waits for them, with semicolons between: "
           "click, 200,100 for a pixel, the name of a button, key q", group=WORLD, useful=("run", "eval")),
    Option(("-e", "--entry"), "ENTRY", "the function to call or compile", CALLING + COMPILING),
    Option(("-t", "--type"), "TYPE", "the type of its argument, ([int],[float]) for two; it may tell lengths: "
           "([float; n],[float; n])", (*COMPILING, "run", "profile")),
    Option(("-o", "--output"), "PATH", "write the result there, as the ending says; - is standard output",
           ("run", "compile", "show", "profile", "tune", "graph", "explain", "inspect", "doctor",
            "plot")),
    Option(("--shapes",), "NxM,...", "the numbers n, m and k for which ARGs are made and measured: 1e6x10,1000x1e6; "
           "lengths is m for each of n rows, or follows a power law where the shape is power or power:1000x1e6",
           ("tune",), type=shapes),
    Option(("--columns",), "NAME,...", "the names of the columns of the table of -o (default: those of the variables "
           "of which the function makes tuples)", ("run",), type=names),
    Option(("--quote-formulas",), "", "in the .csv or .tsv file of -o, put an apostrophe before texts that "
           "spreadsheets would calculate, as they begin with = + - @", ("run",)),
    Option(("-f", "--file"), "FILE", "evaluate after the definitions of this file", ("eval", "plot")),
    Option(("--kind",), "KIND", f"of the plot: {', '.join(KINDS)} (default: what the value's type suggests)", ("plot",),
           KINDS),
    Option(("-x", "--expression"), "EXPR", "profile this, after the definitions of FILE", ("profile",)),
    Option(("--input",), "NAME=EXPR", "time this instead of the examples, under this name: the call of a function, "
           "whose arguments are made before, or else all of the expression; may be given several times", ("bench",),
           type=named_input, several=True),
    Option(("--seconds",), "S", "for each input, at most, once there are rounds enough (default: 2); fewer where its "
           "time is known well", ("bench",), type=seconds),
    Option(("--kernels",), "", "what each kernel takes, beside what the scheduler predicts", ("bench",)),
    Option(("--save",), "PATH", "write the times there, as JSON", ("bench",)),
    Option(("--against",), "PATH", "compare with times that --save has written, or with another program, PATH.nesl, "
           "which takes turns with FILE: then it does not matter what else the machine does", ("bench",)),
    Option(("--json",), "", "JSON: an object for each profile, on a line of its own; one for an explanation, or for "
           "times", ("profile", "bench", "explain")),
    Option(("--counters",), "", "count instead what kernels do to memory and what the host asks of a GPU, on cudasim",
           ("profile",)),
    Option(("--html",), "PATH", "write the inspector's page there, with what each kernel took and moved beside what "
           "was predicted; the interpreter counts nothing then: take data of the usual size", ("profile",)),
    Option(("--all",), "", "explain every pair, with its price; long where there are many kernels", ("explain",)),
    Option(("--space",), "SPACE", "the space that is mapped: [0, 0] <= iv < [n, m] step [2, 1] width [1, 1]", ("map",)),
    Option(("--check",), "", "write nothing; name the programs that would change, and fail if there are any", ("fmt",)),
    Option(("--diff",), "", "write nothing; show what would change, and fail if anything would", ("fmt",)),
    Option(("--open",), "", "show the page in a browser", ("inspect", "serve")),
    Option(("--port",), "N", "the port of the page (default: one that is free)", ("serve",), type=port),
    Option(("--clear",), "", "remove all that is kept", ("cache",)),
    Option(("--calibrate",), "", "measure this computer, for --machine", ("doctor",)),
    Option(("--jsonl",), "", "programs as JSON lines from standard input, answers as JSON lines", ("eval",)),
    Option(("--emit",), "FORM", f"what to print: {', '.join(EMITTED)} (of which what each kernel takes of the GPU "
           "is printed; -o DIR writes the code, with --arch compute_90 as PTX; default: what -o ends in)",
           ("compile",), EMITTED),
    Option(("--arch",), "SM", "the GPU that cubins are for, such as sm_90; compute_90 is PTX (default: the one here)",
           ("compile",), type=architecture),
    Option(("--after",), "PASS", "the pass whose result to print", ("show",), tuple(p.name for p in PASSES)),
    Option(("--format",), "FORMAT", "dot, svg, json or png (default: what -o ends in, else dot)", ("graph",),
           tuple(dict.fromkeys(ENDINGS["graph"].values()))),
)


class Subcommand(NamedTuple):
    """`operand` is the word that it takes, `usage` what else it needs; `examples` are command lines."""
    operand: str
    does: str
    usage: str = ""
    examples: tuple[str, ...] = ()


SUBCOMMANDS = {
    "run": Subcommand("FILE", "run a program, or call one of its functions: -e ENTRY ARG...", "[-e ENTRY ARG...]",
                      ("nessie run program.nesl", "nessie run program.nesl -e total '[[1, 2], [], [3]]'",
                       "nessie run program.nesl -e total @rows.json -o out.csv --target cudasim")),
    "eval": Subcommand("EXPR", "evaluate one expression", "",
                       ("nessie eval '{sum(r) : r in [[1, 2], [3]]}'", "nessie eval 'total([[1]])' -f program.nesl")),
    "check": Subcommand("FILE", "look for errors of syntax and types only, or in the text of any form", "",
                        ("nessie check program.nesl",)),
    "test": Subcommand("FILE...", "check the examples in comments of programs, lines such as: "
                       "twice([1, 2]) => [2, 4]"),
    "fmt": Subcommand("FILE...", "lay out programs in their files, comments and all; - is standard input", "",
                      ("nessie fmt program.nesl", "nessie fmt --check *.nesl")),
    "compile": Subcommand("FILE", "print a form of the compiled program", "-e ENTRY [-t TYPE] --emit FORM",
                          ("nessie compile program.nesl -e total -t '[[int]]' --emit llvm",)),
    "passes": Subcommand("", "list the passes of the compiler"),
    "show": Subcommand("FILE", "print the program after a pass; FILE may be the text of any form",
                       "--after PASS [-e ENTRY] [-t TYPE]"),
    "map": Subcommand("MAPPING", "show how threads walk a space by a mapping: what each combinator makes of it, host "
                      "code, launch, how a thread finds its index", "--space SPACE [--size NAME=N]",
                      ("nessie map 'GridBlock(1, SplitLast(32, Gen))' --space 'iv < [n, m]' --size m=70",
                       "nessie map JingExt --space 'iv < [a, b, c, d, e, f, g]'")),
    "profile": Subcommand("FILE", "what running costs, work and depth, elements, launches, bytes: of a call with -e "
                          "ENTRY ARG..., of EXPR with -x, else of every form; the interpreter counts work, at some "
                          "five microseconds for each unit: take small data, or --time-limit",
                          "[-e ENTRY ARG... | -x EXPR]",
                          ("nessie profile program.nesl -e total '[[1, 2], [], [3]]'",
                           "nessie profile program.nesl -e total @rows.json --html total.html")),
    "bench": Subcommand("FILE", "time the examples in comments of a program, or named inputs, or a call: the median of "
                        "rounds in which the inputs take turns, with an interval of confidence; and compare with times "
                        "before",
                        "[-e ENTRY ARG... | --input NAME=EXPR] [--save PATH] [--against PATH]",
                        ("nessie bench program.nesl --save before.json",
                         "nessie bench program.nesl --against before.json",
                         "nessie bench program.nesl --against older.nesl",
                         "nessie bench program.nesl --input 'large=total({[0:i] : i in [0:1000]})' --kernels")),
    "tune": Subcommand("FILE", "measure the versions of a function on ARGs of several shapes, in which n, m and k are "
                       "the numbers of a shape, and write their thresholds for --tuning",
                       "-e ENTRY ARG... [--shapes NxM,...] [-o FILE.tuning]",
                       ("nessie tune program.nesl -e pick '{float(i) : i in [0:n]}' '{rem(i, n) : i in [0:m]}' "
                        "--shapes 1e6x10,1000x1e6 -o pick.tuning",)),
    "graph": Subcommand("FILE", VIEWS["graph"].does, "-e ENTRY [-t TYPE] [-o PICTURE.svg]",
                        ("nessie graph program.nesl -e total -t '[[int]]' -o total.svg",)),
    "explain": Subcommand("FILE", VIEWS["explain"].does, "-e ENTRY [ARG...] [-t TYPE]",
                          ("nessie explain program.nesl -e total '[[1, 2], [], [3]]'",)),
    "inspect": Subcommand("FILE", VIEWS["inspect"].does, "-e ENTRY [-t TYPE] [-o PAGE.html]",
                          ("nessie inspect program.nesl -e total -t '[[int]]' --open",)),
    "plot": Subcommand("EXPR", "plot the value of an expression: a line, points, a histogram, an image, or the lengths "
                       "of rows", "[-f FILE] -o PLOT.svg",
                       ("nessie plot '{sin(float(i) / 10.0) : i in [0:100]}' -o sine.svg",
                        "nessie plot 'degrees(100000)' -f graph.nesl --kind histogram -o degrees.png")),
    "lsp": Subcommand("", "serve an editor, over standard input and output, by the language server protocol"),
    "serve": Subcommand("FILE", "a live page, for a browser on this computer: an editor, and beside it what the "
                        "compiler makes of each change, what runs give, and the cost elsewhere", "",
                        ("nessie serve --open", "nessie serve program.nesl --time-limit 5")),
    "completion": Subcommand("SHELL", "print what makes a shell complete commands, options, files and names: bash, "
                             "zsh or fish"),
    "cache": Subcommand("", "where compiled code is kept, and how much; with --clear, remove it"),
    "doctor": Subcommand("", "what Nessie finds here of the things it can use; with --calibrate, how fast this "
                         "computer is"),
}

OPERAND_HELP = {"FILE": "a program, or where a command compiles one, the text of any of its forms",
                "MAPPING": "GridBlock, Levels, or a strategy: Jing, JingExt, FoldAll, auto", "FILE...": "programs",
                "SHELL": "bash, zsh or fish",
                "EXPR": "an expression, or forms that end with ;"}
MEANT = {"trace": "profile, or print_debug in the program", "repl": "alone, for the prompt", "build": "compile",
         "format": "fmt", "time": "bench", "benchmark": "bench", "measure": "bench", "type": "check",
         "doc": "eval 'help NAME'", "describe": "eval 'help NAME'"}
SWITCHES = ("-h", "--help", "--version")

ARGUMENT_HELP = """\
An ARG is a NESL expression, @path, a file to read, or @-, JSON from standard input. ARGs follow ENTRY and may begin
with a minus; options may stand between them; after -- every word is an ARG."""


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
    for name, (operand, does, needs, examples) in SUBCOMMANDS.items():
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
