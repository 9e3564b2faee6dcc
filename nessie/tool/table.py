"""The tables of commands and of their options: what each takes, and what the help says of it."""
from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from nessie.base.lazy import LazyFunction
from nessie.base.records import dataclass
from nessie.base.widths import SETTINGS
from nessie.forms import FORMS
from nessie.inspect.views import VIEWS
from nessie.lambda_cu.mappings.levels import ITEMS, OWNERS
from nessie.pictures.kinds import KINDS
from nessie.pipeline import PASSES
from nessie.running.target_names import TARGETS
from nessie.tool.formats import CUBIN, ENDINGS
from nessie.tool.values import (
    architecture,
    byte_count,
    count,
    named_input,
    names,
    pair,
    port,
    seconds,
    shapes,
    size,
    whole_number,
    worker_count,
)


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


class Subcommand(NamedTuple):
    """`function`, in a module of nessie.tool, does what the command does; `operand` is the word that it takes, `usage`
    what else it needs; `examples` are command lines."""
    function: str
    operand: str
    does: str
    usage: str = ""
    examples: tuple[str, ...] = ()

    @property
    def runs(self) -> Callable[[argparse.Namespace], int]:
        """The function. Its module is imported when it is called."""
        module, name = self.function.split(":")
        return LazyFunction(f"nessie.tool.{module}", name)


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
    Option(("--workers",), "N", "worker processes on this machine, for the target dask (default: 2)", type=worker_count,
           group=WHERE, useful=LIMITING),
    Option(("--dashboard",), "", "say where Dask's page is on which one sees its tasks", group=WHERE, useful=LIMITING),
    Option(("--stream",), "", "call ENTRY on some rows of files after the others, in bounded memory, and write a "
           "folder of tables, or a file .npy, .jsonl, .csv or .tsv", ("run",)),
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


SUBCOMMANDS = {
    "run": Subcommand("commands.run:run", "FILE",
                      "run a program, or call one of its functions: -e ENTRY ARG...", "[-e ENTRY ARG...]",
                      ("nessie run program.nesl", "nessie run program.nesl -e total '[[1, 2], [], [3]]'",
                       "nessie run program.nesl -e total @rows.json -o out.csv --target cudasim")),
    "eval": Subcommand("commands.evaluate:evaluate", "EXPR",
                       "evaluate one expression", "",
                       ("nessie eval '{sum(r) : r in [[1, 2], [3]]}'", "nessie eval 'total([[1]])' -f program.nesl")),
    "check": Subcommand("commands.compiling:check", "FILE",
                        "look for errors of syntax and types only, or in the text of any form", "",
                        ("nessie check program.nesl",)),
    "test": Subcommand("commands.testing:test", "FILE...",
                       "check the examples in comments of programs, lines such as: "
                       "twice([1, 2]) => [2, 4]"),
    "fmt": Subcommand("commands.formatting:fmt", "FILE...",
                      "lay out programs in their files, comments and all; - is standard input", "",
                      ("nessie fmt program.nesl", "nessie fmt --check *.nesl")),
    "compile": Subcommand("commands.compiling:compile_", "FILE",
                          "print a form of the compiled program", "-e ENTRY [-t TYPE] --emit FORM",
                          ("nessie compile program.nesl -e total -t '[[int]]' --emit llvm",)),
    "passes": Subcommand("commands.compiling:passes", "",
                         "list the passes of the compiler"),
    "show": Subcommand("commands.compiling:show", "FILE",
                       "print the program after a pass; FILE may be the text of any form",
                       "--after PASS [-e ENTRY] [-t TYPE]"),
    "map": Subcommand("commands.compiling:map_", "MAPPING",
                      "show how threads walk a space by a mapping: what each combinator makes of it, host "
                      "code, launch, how a thread finds its index", "--space SPACE [--size NAME=N]",
                      ("nessie map 'GridBlock(1, SplitLast(32, Gen))' --space 'iv < [n, m]' --size m=70",
                       "nessie map JingExt --space 'iv < [a, b, c, d, e, f, g]'")),
    "profile": Subcommand("commands.profile:profile", "FILE",
                          "what running costs, work and depth, elements, launches, bytes: of a call with -e "
                          "ENTRY ARG..., of EXPR with -x, else of every form; the interpreter counts work, at some "
                          "five microseconds for each unit: take small data, or --time-limit",
                          "[-e ENTRY ARG... | -x EXPR]",
                          ("nessie profile program.nesl -e total '[[1, 2], [], [3]]'",
                           "nessie profile program.nesl -e total @rows.json --html total.html")),
    "bench": Subcommand("timing.bench:bench", "FILE",
                        "time the examples in comments of a program, or named inputs, or a call: the median of "
                        "rounds in which the inputs take turns, with an interval of confidence; and compare with times "
                        "before",
                        "[-e ENTRY ARG... | --input NAME=EXPR] [--save PATH] [--against PATH]",
                        ("nessie bench program.nesl --save before.json",
                         "nessie bench program.nesl --against before.json",
                         "nessie bench program.nesl --against older.nesl",
                         "nessie bench program.nesl --input 'large=total({[0:i] : i in [0:1000]})' --kernels")),
    "tune": Subcommand("timing.tune:tune", "FILE",
                       "measure the versions of a function on ARGs of several shapes, in which n, m and k are "
                       "the numbers of a shape, and write their thresholds for --tuning",
                       "-e ENTRY ARG... [--shapes NxM,...] [-o FILE.tuning]",
                       ("nessie tune program.nesl -e pick '{float(i) : i in [0:n]}' '{rem(i, n) : i in [0:m]}' "
                        "--shapes 1e6x10,1000x1e6 -o pick.tuning",)),
    "graph": Subcommand("commands.views:view", "FILE",
                        VIEWS["graph"].does, "-e ENTRY [-t TYPE] [-o PICTURE.svg]",
                        ("nessie graph program.nesl -e total -t '[[int]]' -o total.svg",)),
    "explain": Subcommand("commands.views:view", "FILE",
                          VIEWS["explain"].does, "-e ENTRY [ARG...] [-t TYPE]",
                          ("nessie explain program.nesl -e total '[[1, 2], [], [3]]'",)),
    "inspect": Subcommand("commands.views:view", "FILE",
                          VIEWS["inspect"].does, "-e ENTRY [-t TYPE] [-o PAGE.html]",
                          ("nessie inspect program.nesl -e total -t '[[int]]' --open",)),
    "plot": Subcommand("commands.plot:plot_expression", "EXPR",
                       "plot the value of an expression: a line, points, a histogram, an image, or the lengths "
                       "of rows", "[-f FILE] -o PLOT.svg",
                       ("nessie plot '{sin(float(i) / 10.0) : i in [0:100]}' -o sine.svg",
                        "nessie plot 'degrees(100000)' -f graph.nesl --kind histogram -o degrees.png")),
    "lsp": Subcommand("commands.language_server:lsp", "",
                      "serve an editor, over standard input and output, by the language server protocol"),
    "serve": Subcommand("commands.serve:serve", "FILE",
                        "a live page, for a browser on this computer: an editor, and beside it what the "
                        "compiler makes of each change, what runs give, and the cost elsewhere", "",
                        ("nessie serve --open", "nessie serve program.nesl --time-limit 5")),
    "completion": Subcommand("shell_completion:completion", "SHELL",
                             "print what makes a shell complete commands, options, files and names: bash, "
                             "zsh or fish"),
    "cache": Subcommand("commands.cache:cache", "",
                        "where compiled code is kept, and how much; with --clear, remove it"),
    "doctor": Subcommand("commands.doctor:doctor", "",
                         "what Nessie finds here of the things it can use; with --calibrate, how fast this "
                         "computer is"),
}
