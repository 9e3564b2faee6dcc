"""nessie bench: times the examples in a program's comments, named inputs, or a call.

    nessie bench sort.nesl                                              lines such as % qsort([3, 1, 2]) => [1, 2, 3] %
    nessie bench sort.nesl --input 'large=qsort({rand(1000) : i in [0:1000000]})'
    nessie bench sort.nesl -e qsort @numbers.json --save before.json
    nessie bench sort.nesl -e qsort @numbers.json --against before.json
    nessie bench sort.nesl --against older.nesl                         the two take turns

Programs are compiled and warmed up before anything is timed. The inputs take turns, so that whatever else the machine
does meets all of them.
"""
from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

from nessie.base.records import dataclass
from nessie.base.source import Interrupted, NessieError, UsageError
from nessie.base.system.writing import write
from nessie.measuring.kernels import KernelTimes, has_effects, measured_kernels
from nessie.measuring.rounds import sample
from nessie.measuring.saved import Result, Results, as_json, changes, doubts, read, show
from nessie.measuring.table import changes_text, kernels_text, results_text
from nessie.pipeline import Job
from nessie.running.ready import Ready
from nessie.session.session import Session
from nessie.session.streams import say, say_aside, warn
from nessie.syntax.parse import read_source
from nessie.tool.commands.testing import define_all
from nessie.tool.options import needed, new_session
from nessie.tool.timing.cases import Case, cases_of
from nessie.tuning.file import machine

SECONDS = 2.0                   # for each input


@dataclass(frozen=True)
class Compiled:
    """A case, ready to be run, and the seconds that this took."""
    case: Case
    ready: Ready
    seconds: float


@dataclass(frozen=True)
class Program:
    """A program of which something is timed, in a session of its own."""
    name: str
    session: Session
    cases: list[Case]


def bench(options: argparse.Namespace) -> int:
    if options.entry and options.input:
        raise UsageError("-e times a call, and --input others: not both at once")
    program = program_of(needed(options, "FILE"), options)
    if not program.cases:
        raise UsageError("there is nothing to time: the program's comments have no examples",
                         hint="name an input, --input 'NAME=EXPR', or a call, -e ENTRY ARG...")
    other = program_of(options.against, options) if is_program(options.against) else None
    before = read(options.against) if options.against and other is None else None
    if options.against:
        refuse_others(options.against, program.cases, other.cases if other else before.inputs if before else ())
    results, others = measured(program, other, options)
    kernels = {case.name: kernels_of(program.session, case) for case in program.cases} if options.kernels else {}
    before = others or before
    changed = changes(before, results, in_turn=other is not None) if before else []
    if options.save:
        write(options.save, show(results))
    say(json.dumps(as_json(results, changed, kernels)) + "\n" if options.json else results_text(results))
    for name, times in kernels.items() if not options.json else ():
        say("\n" + kernels_text(name, times, program.session.target.name))
    if before and not options.json:
        say("\n" + changes_text(changed))
    if before and not others:
        warn(f"{options.against}: {doubt}" for doubt in doubts(before, results))
    warn(program.session.unmet())
    return 0


def is_program(path: str | None) -> bool:
    return path is not None and path.lower().endswith(".nesl")


def program_of(path: str, options: argparse.Namespace) -> Program:
    source, session = read_source(path), new_session(options, say_aside)
    define_all(session, source)
    return Program(source.name, session, cases_of(session, source, options))


def refuse_others(path: str, cases: Sequence[Case], there: Sequence[Case | Result]) -> None:
    """Refuse to compare with what has no input of the same name."""
    names = [one.name for one in there]
    if not any([case.name in names for case in cases]):
        raise NessieError(f"{path} has none of these inputs", hint=f"it has {', '.join(names) or 'no examples'}")


def compiled(session: Session, case: Case) -> Compiled:
    """The case, compiled. One with effects is refused, since each run would repeat them."""
    began = perf_counter()
    program, arguments = case.prepared.program, case.prepared.arguments
    ready = Ready(session.target, session.target.compiled_for(job_for(session, case), program, arguments), arguments)
    seconds = perf_counter() - began
    if has_effects(ready.program):
        raise NessieError(f"{case.name} has effects, which every run would repeat: it is not timed",
                          *([(case.place, "")] if case.place else []))
    return Compiled(case, ready, seconds)


def kernels_of(session: Session, case: Case) -> list[KernelTimes]:
    """What each kernel of the case takes."""
    return measured_kernels(session.target, job_for(session, case), case.prepared.program, case.prepared.arguments)


def job_for(session: Session, case: Case) -> Job:
    job = session.job_of_form()
    return replace(job, strict=True) if case.prepared.alone else job


def measured(program: Program, other: Program | None, options: argparse.Namespace) -> tuple[Results, Results | None]:
    """The times of the program, and of the other one, which takes turns with it."""
    others = {case.name: case for case in other.cases} if other else {}
    session, activity = program.session, program.session.target.activity
    groups = [[compiled(session, case), *([compiled(other.session, others[case.name])]
                                          if other and case.name in others else [])] for case in program.cases]
    found = sample([[partial(run, one) for one in group] for group in groups],
                   SECONDS if options.seconds is None else options.seconds,
                   told=lambda done, of: activity.begin(f"timing: {done} of {of} inputs are done"))
    results = [[Result(one.case.name, times.seconds, times.calls, one.seconds)
                for one, times in zip(group, group_times, strict=True)]
               for group, group_times in zip(groups, found, strict=True)]
    return results_of(program, [first for first, *_ in results]), \
        results_of(other, [second for _, *rest in results for second in rest]) if other else None


def results_of(program: Program, results: list[Result]) -> Results:
    target = program.session.target
    return Results(version(), program.name, target.name, threads(program.session), machine(), tuple(results))


def run(one: Compiled) -> None:
    """One run. An error says in which example it is."""
    try:
        one.ready.run()
    except NessieError as error:
        if one.case.place and not isinstance(error, Interrupted):
            error.places = (*error.places, (one.case.place, "in this example"))
        raise


def threads(session: Session) -> int | None:
    """How many threads do the work, where that is known."""
    return session.target.threads or os.cpu_count() or 1 if session.target.name == "cpu" else session.target.threads


def version() -> str:
    from nessie import __version__
    return __version__
