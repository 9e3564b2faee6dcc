"""Tuning files: which version of a computation runs where, by bindings' names.

    machine "x86_64, 2 cores"                       where it was measured
    program "pick.nesl" pick                        the file, and the function that was called
    choice pick.it {                                FUNCTION.BINDING
      pulled share = 12                             VERSION, what its threshold is compared with, the threshold
      items                                         what runs where no condition holds: always the last
    }

Comments begin with // or #. What a file does not say is as it ships. Errors show the line.
"""
from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from nessie.base.names import stem
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source, Span
from nessie.base.text.nearest import nearest
from nessie.base.text.tokens import WITH_HASHES, Tokens, show_string
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check_choices import COMPARED, LAST, version_of
from nessie.syntax.parse import read_source

NONE = "none"                   # instead of a file: no versions


@dataclass(frozen=True)
class Threshold:
    """A line of a choice. `told`: a comment behind it."""
    version: str
    of: str
    value: int
    told: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Tuned:
    """A choice, FUNCTION.BINDING, and the thresholds of its versions. `told`: a comment behind the last line."""
    name: str
    thresholds: tuple[Threshold, ...]
    told: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Tuning:
    """A tuning file. `only`: versions that choices take whatever holds, by their names; '' is all others."""
    machine: str = ""
    program: str = ""
    entry: str = ""
    choices: tuple[Tuned, ...] = ()
    only: tuple[tuple[str, str], ...] = ()
    place: Span | None = field(default=None, compare=False, repr=False)      # of the machine
    of_program: Span | None = field(default=None, compare=False, repr=False)
    of_entry: Span | None = field(default=None, compare=False, repr=False)

    def values(self, program: Iterable[ir.Tunable], functions: Iterable[str], called: Mapping[str, str] | None = None,
               entry: str = "", target: str = "") -> dict[str, int]:
        """The thresholds of the tunables of a program, which has these functions; `called`: what the file calls some of
        them otherwise; `entry`: the program's. What the file says of them that the program has not is an error; of
        functions that it has not, if the file is of this entry."""
        known, there, renamed = {t.name: t for t in program}, set(functions), called or {}
        choices = dict.fromkeys(name.rpartition(".")[0] for name in known)
        shown_choices, none = [in_the_file(name, renamed, choices) for name in choices], has_none(target)
        found: dict[str, int] = {}
        for choice in self.choices:
            function, _, binding = choice.name.partition(".")
            function = renamed.get(function, function) if function not in there else function
            if function not in there and self.entry not in (entry, *renamed):
                continue
            name = f"{function}.{binding}"
            if not choice.name.startswith(f"{function}."):      # numbered otherwise there
                alike = [other for other in choices if stem(other) == stem(name)]
                name = alike[0] if len(alike) == 1 else name
            if name not in choices:
                raise unknown(f"there is no choice {choice.name}", choice.span, shown_choices, none)
            for line in choice.thresholds:
                meant = known.get(f"{name}.{line.version}_{line.of}") or known.get(f"{name}.{line.version}")
                if meant is None or meant.of != line.of:
                    raise unknown(f"{choice.name} has no version {line.version} with a threshold for {line.of}",
                                  line.span, [f"{shown(t)}" for t in known.values()
                                              if t.name.startswith(f"{name}.")], none)
                found[meant.name] = line.value
        return found

    def doubts(self, machine: str, program: str | None = None, entry: str = "") -> list[str]:
        """Warnings: of another machine than this one, of another program, or of another function than is called.
        `program` and `entry`: None, or '', if nobody says them."""
        found = []
        if self.machine and self.machine != machine:
            found.append(("these thresholds were measured on another machine than this", self.place))
        if program is not None and self.program and self.program != program:
            found.append((f"these thresholds are of another program than {program}", self.of_program))
        elif entry and self.entry and self.entry != entry:
            found.append((f"these thresholds are of another function than {entry}", self.of_entry))
        return [NessieError(message, *([(place, "")] if place else [])).told() for message, place in found]


ITEMS = Tuning(only=(("", LAST),))


def in_the_file(choice: str, called: Mapping[str, str], choices: Iterable[str]) -> str:
    """What a file calls a choice of a program whose functions are called otherwise there."""
    function, _, binding = choice.partition(".")
    names = [name for name, there in called.items() if there == function and name != function]
    alone = [stem(other) for other in choices].count(stem(choice)) == 1
    return f"{names[0]}.{stem(binding) if alone else binding}" if names else choice


def has_none(target: str) -> str:
    return f"the program has none for the target {target}" if target else "the program has none"


def unknown(message: str, span: Span | None, there: Iterable[str], none: str) -> NessieError:
    listed = ", ".join(there)
    return NessieError(message, *([(span, "")] if span else []), hint=f"there are {listed}" if listed else none)


def shown(tunable: ir.Tunable) -> str:
    return f"{version_of(tunable)} {tunable.of}"


def machine() -> str:
    """This machine, in words."""
    return f"{platform.machine()}, {os.cpu_count() or 1} cores"


def read(path: str) -> Tuning:
    """The tuning file of this name, or the word `none`."""
    return ITEMS if path == NONE else parse(read_source(path))


# Text -------------------------------------------------------------------------------------------


def show(tuning: Tuning) -> str:
    lines = [f"machine {show_string(tuning.machine)}", f"program {show_string(tuning.program)} {tuning.entry}"]
    for choice in tuning.choices:
        lines += [f"choice {choice.name} {{", *map(show_threshold, choice.thresholds),
                  f"  {LAST}{comment(choice.told)}", "}"]
    return "".join([f"{line}\n" for line in lines])


def show_threshold(line: Threshold) -> str:
    return f"  {line.version} {line.of} = {line.value}{comment(line.told)}"


def comment(told: str) -> str:
    return f"        // {told}" if told else ""


def parse(source: Source) -> Tuning:
    """The tuning that the text says; NessieError where it says none."""
    tokens = Tokens(source, pattern=WITH_HASHES)
    tokens.expect("machine", 'machine "NAME"')
    at = tokens.current
    named = tokens.literal("string")
    place = tokens.span(at)
    tokens.expect("program", 'program "FILE" FUNCTION')
    at, program = tokens.current, tokens.literal("string")
    of_program, at = tokens.span(at), tokens.current
    entry = tokens.name("the name of a function")
    of_entry = tokens.span(at)
    choices: list[Tuned] = []
    while tokens.at("choice"):
        tokens.take()
        choices.append(choice(tokens))
        once(choices[-1].name, choices[-1].span, {known.name: known.span for known in choices[:-1]})
    if tokens.current.kind != "end":
        tokens.fail("'choice' is expected here")
    return Tuning(named, program, entry, tuple(choices), place=place, of_program=of_program, of_entry=of_entry)


def choice(tokens: Tokens) -> Tuned:
    at, name = tokens.current, tokens.name("FUNCTION.BINDING")
    span = tokens.span(at)
    tokens.expect("{")
    lines: list[Threshold] = []
    while not tokens.at(LAST):
        if tokens.at("}"):
            tokens.fail(f"'{LAST}' is expected here: it is the last of every choice")
        lines.append(threshold(tokens))
        once(f"{lines[-1].version} {lines[-1].of}", lines[-1].span,
             {f"{known.version} {known.of}": known.span for known in lines[:-1]})
    tokens.take()
    tokens.expect("}")
    return Tuned(name, tuple(lines), span=span)


def once(what: str, place: Span | None, before: Mapping[str, Span | None]) -> None:
    """Refuse what stands there twice."""
    if what in before:
        places = [(span, label) for span, label in ((place, ""), (before[what], "first here")) if span]
        raise NessieError(f"{what} is twice in this file", *places)


def threshold(tokens: Tokens) -> Threshold:
    at, version = tokens.current, tokens.name("the name of a version")
    if not tokens.at(*COMPARED):
        meant = nearest(tokens.current.text, COMPARED)
        tokens.fail(f"what the version's threshold is compared with is expected here: {', '.join(COMPARED)}"
                    f"{f'; did you mean {meant}?' if meant else ''}")
    of = tokens.take().text
    tokens.expect("=", "VERSION STATISTIC = THRESHOLD")
    if tokens.current.kind != "int":
        tokens.fail("a threshold is a whole number, and not negative")
    value = tokens.literal("int")
    return Threshold(version, of, min(value, ir.UNKNOWN), span=tokens.span(at))


def name_of(path: str) -> str:
    return Path(path).name


def all_names(tunables: Sequence[ir.Tunable]) -> dict[str, list[ir.Tunable]]:
    """The tunables of each choice, by its name."""
    found: dict[str, list[ir.Tunable]] = {}
    for tunable in tunables:
        found.setdefault(tunable.name.rpartition(".")[0], []).append(tunable)
    return found
