"""Nessie's own commands at the prompt: lines that begin with a colon, such as `:type sum`. NESL's commands are in
nessie.session.commands.

They show for functions of the session what the commands of the command line show. Help and completion are made from the
table below, and docs/repl.md is checked against it.
"""
from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from nessie import forms, pipeline
from nessie.base.names import shown_name
from nessie.base.source import NessieError, Source
from nessie.base.system.writing import write as write_file
from nessie.base.text.nearest import nearest
from nessie.base.text.types_text import show_scheme
from nessie.inspect.views import VIEWS, Subject
from nessie.library import library
from nessie.mono import nodes as mono
from nessie.pictures.kinds import KINDS
from nessie.running.target_names import TARGETS
from nessie.schedule.wishes.asked import asked, asked_levels
from nessie.schedule.wishes.wishes import MAPPINGS
from nessie.session.commands import FORMS_HELP, NESL_COMMANDS, Row, describe_, help_text, mono_of, row_of
from nessie.session.streams import warn
from nessie.syntax import nodes as syntax
from nessie.syntax.parse import place, placed
from nessie.syntax.parser import parse_expression
from nessie.tool.formats import format_of
from nessie.tuning.file import machine
from nessie.tuning.file import read as read_tuning
from nessie.tuning.file import show as show_tuning
from nessie.typing import infer
from nessie.typing import nodes as typed
from nessie.typing.environment import pattern_type

if TYPE_CHECKING:
    from nessie.tool.prompt.repl import Repl

NEEDED = {"EXPR": "an expression", "NAME": "the name of a function"}
FILE = re.compile(r'(.*?)\s*"([^"]+)"\s*', re.DOTALL)           # the name of one, behind the rest
KIND = re.compile(r"(.*\S)\s+--kind\s+(\w+)\s*", re.DOTALL)
EVERYTHING = re.compile(r"\s*--all\s*$")


def obey(repl: Repl, command: syntax.Command) -> None:
    words = [row.word for row in PROMPT_COMMANDS]
    if command.word not in words:
        near = nearest(command.word, words, 0.65)
        raise NessieError(f"there is no command {command.word}", *place(command),
                          hint=f"did you mean {near}? :help lists them all" if near else ":help lists them all")
    row = row_of(PROMPT_COMMANDS, command.word)
    if command.text and not row.arguments:
        raise NessieError(f"{row.word} takes nothing", *place(command))
    needed = NEEDED.get(row.arguments.partition(" ")[0])
    if needed and not command.text:
        raise NessieError(f"{row.word} needs {needed}", *place(command), hint=f"{row.word} {row.arguments}")
    row.obey(repl, command)


def expression(command: syntax.Command, text: str = "") -> syntax.Exp:
    """The expression after the command's word: all that follows, or this first part of it."""
    assert command.span is not None         # it was typed
    span = command.span
    end = span.source.text.index(text, span.start + len(command.word)) + len(text) if text else span.end
    until = replace(span.source, text=span.source.text[:end])
    return parse_expression(until, span.start + len(command.word))


def type_(repl: Repl, command: syntax.Command) -> None:
    exp = expression(command)
    program, _ = infer.infer(syntax.Program((syntax.Evaluate(exp, span=exp.span),)), repl.session.environment)
    (definition,) = program.definitions
    assert isinstance(definition, typed.Variable)       # an expression is one
    repl.show(f"{command.text} : {show_scheme(pattern_type(definition.pattern))}\n")


def program_of(repl: Repl, command: syntax.Command, text: str) -> tuple[mono.Program, pipeline.Job]:
    """The function that the text names, as a program, and the job that compiles it."""
    program = mono_of(repl.session, command, text)
    return program, replace(repl.session.job, dump=None, entry=program.entry, tuning=repl.session.target.tuning)


def view(repl: Repl, command: syntax.Command) -> None:
    """Show the function, or write it to the file that is named; a page always goes to one."""
    shown = VIEWS[command.word[1:]]
    text, everything = EVERYTHING.subn("", command.text) if "--all" in shown.takes else (command.text, 0)
    text, path = text_and_file(command, text)
    with placed(command):
        style = format_of(shown.name, path) if path or shown.name == "inspect" else None
    program, job = program_of(repl, command, text)
    name = shown_name(program.entry)
    entry = repl.session.environment.lookup(name)
    source = entry.origin[0].source if entry and entry.origin else Source(name, "")
    subject = Subject(job, forms.MONO, program, program.entry, source, bool(everything))
    if shown.name == "inspect":
        path = path or f"{name}.html"
    with placed(command):
        found = shown.show(subject, style or ("dot" if path else "text"))
    if path:
        write(repl, command, path, found)
    else:
        assert isinstance(found, str)           # bytes go to files
        repl.show(found.rstrip("\n") + "\n")


def text_and_file(command: syntax.Command, text: str) -> tuple[str, str]:
    """The command's text without the file's name, and the name, which is empty if there is none."""
    found = FILE.fullmatch(text) if "FILE" in VIEWS[command.word[1:]].takes else None
    return (found[1], found[2]) if found else (text, "")


def write(repl: Repl, command: syntax.Command, path: str, content: str | bytes) -> None:
    with placed(command):
        write_file(path, content)
    repl.show(f"{path} is written\n")


def time_(repl: Repl, command: syntax.Command) -> None:
    session, exp = repl.session, expression(command)
    before, began = replace(session.target.stats), time.perf_counter()
    outcome = session.evaluate(syntax.Evaluate(exp, span=exp.span))
    seconds, done = time.perf_counter() - began, session.target.stats
    repl.show(f"{outcome}\n")
    repl.show(f"{seconds:.3f} s, compiling included; launches: {done.launches - before.launches}, "     # never cut
              f"elements: {done.elements - before.elements:,}\n")


def profile(repl: Repl, command: syntax.Command) -> None:
    from nessie.session.profile import Profiler, Recording
    from nessie.session.profile_text import as_text
    session, exp = repl.session, expression(command)
    world = session.target.world
    target = replace(session.target, world=Recording(world.write, world.allow_shell, world.seed, world.input))
    profiler = Profiler(target, session.job, session.environment, dict(session.values), listener=session.listener)
    profiler.title = command.text
    profiler.evaluate(syntax.Evaluate(exp, span=exp.span))
    for found in profiler.profiles:
        repl.show(as_text(found))


def plot_(repl: Repl, command: syntax.Command) -> None:
    from nessie.tool.commands.plot import file_of, picture
    found = FILE.fullmatch(command.text)
    text, path = (found[1], found[2]) if found and found[1] else (command.text, None)
    with placed(command):
        path, format_ = file_of(path)
    asked = KIND.fullmatch(text)
    text, kind = (asked[1], asked[2]) if asked else (text, None)
    if kind is not None and kind not in KINDS:
        raise NessieError(f"{kind} is no kind of plots", *place(command), hint=f"there are {', '.join(KINDS)}")
    exp = expression(command, text)
    with placed(command):
        made = picture(repl.session, exp, kind, text, format_)
    write(repl, command, path, made)


def target(repl: Repl, command: syntax.Command) -> None:
    session, name = repl.session, command.text.lower()
    if not name:
        repl.show(f"{session.target.name}, of {', '.join(TARGETS)}\n")
        return
    if name not in TARGETS:
        raise NessieError(f"{name} is no target", *place(command), hint=f"there are {', '.join(TARGETS)}")
    with placed(command):
        session.target = replace(session.target, name=name)        # refuses what cannot be used here
    session.job = replace(session.job, target=name)


def map_(repl: Repl, command: syntax.Command) -> None:
    """Ask for a mapping or a level from now on, in place of earlier ones for the same name, or the same case of it;
    alone, show those asked for."""
    session = repl.session
    if not command.text:
        options = [wish.option for wish in session.job.wishes if wish.kind in MAPPINGS]
        repl.show("".join([f"{option}\n" for option in options]) or "no mapping is asked for\n")
        return
    wanted = asked(command.text, ":map") if command.word == ":map" else [asked_levels(command.text, ":level")]
    kept = [wish for wish in session.job.wishes if wish.kind not in MAPPINGS
            or not any([wish.first == new.first and wish.includes(new) for new in wanted])]
    session.seen -= {*wanted}               # asked for once more, and told once more
    session.job = replace(session.job, wishes=(*kept, *wanted))


def tune(repl: Repl, command: syntax.Command) -> None:
    """Take thresholds of a file from now on; alone, show which are taken."""
    session, text = repl.session, command.text.strip('"')
    if not text:
        tuning = session.target.tuning
        repl.show("thresholds are as they ship\n" if tuning is None else
                  show_tuning(tuning) if tuning.choices else "no versions are taken\n")
        return
    tuning = read_tuning(text)
    warn(tuning.doubts(machine()))
    session.target = replace(session.target, tuning=tuning)
    session.job = replace(session.job, versions=True)


def reset(repl: Repl, command: syntax.Command) -> None:
    session = repl.session
    session.environment = library.library(session.environment.widths)
    session.values.clear()
    session.unseen.clear()
    session.drew.clear()


def more(repl: Repl, command: syntax.Command) -> None:
    if not repl.screen.more():
        raise NessieError("all has been shown", *place(command),
                          hint="set print_length N; sets how many elements of a sequence are printed")


def help_(repl: Repl, command: syntax.Command) -> None:
    """Describe the name, if one is given; else tell all commands."""
    if command.text:
        return describe_(repl.session, command)
    repl.show(f"{FORMS_HELP}NESL's commands:\n{help_text(NESL_COMMANDS, ';')}"
              f"Commands of the prompt, each a line:\n{help_text(PROMPT_COMMANDS, '')}")


def quit_(repl: Repl, command: syntax.Command) -> None:
    repl.session.ended = True


PROMPT_COMMANDS = (
    Row(":type", "EXPR", "its type; evaluates nothing", type_),
    *(Row(f":{found.name}", found.takes, found.does, view) for found in VIEWS.values()),
    Row(":plot", 'EXPR [--kind KIND] ["FILE"]', f"its plot, as plot.svg or in the file: {', '.join(KINDS)}", plot_),
    Row(":time", "EXPR", "its value, and how long that took", time_),
    Row(":profile", "EXPR", "work and depth, and what running it took, kernel by kernel", profile),
    Row(":target", "[TARGET]", "run there from now on: cpu, reference, cuda, cudasim, dask; alone: where it runs",
        target),
    Row(":map", "[NAME=MAPPING]", "on a GPU, let this mapping walk what NAME stands for from now on; alone: which do",
        map_),
    Row(":level", "[NAME=LEVEL]", "on a GPU, let this level own the segments that NAME stands for, or walk its axes; "
        "alone: which do", map_),
    Row(":tune", "[FILE]", "let calls of functions take versions by the thresholds of FILE, which nessie tune has "
        "written; none: take none; alone: which are taken", tune),
    Row(":reset", "", "forget all definitions; settings stay", reset),
    Row(":more", "", "how the last long result goes on", more),
    Row(":help", "[NAME]", "this; with a name, its type and what it means", help_),
    Row(":?", "[NAME]", "the same", help_),
    Row(":quit", "", "leave; so does Ctrl-D", quit_),
)
