"""nessie bench: times the examples in a program's comments, named inputs, or a call.

    nessie bench sort.nesl                                              lines such as % qsort([3, 1, 2]) => [1, 2, 3] %
    nessie bench sort.nesl --input 'large=qsort({rand(1000) : i in [0:1000000]})'
    nessie bench sort.nesl -e qsort @numbers.json --save before.json
    nessie bench sort.nesl -e qsort @numbers.json --against before.json

Programs are compiled and warmed up before anything is timed. The inputs take turns, so that whatever else the machine
does meets all of them.
"""
from __future__ import annotations

import argparse
import json
import os
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
from nessie.tool.options import needed, new_session
from nessie.tool.testing import define_all
from nessie.tool.timing.cases import Case, cases_of
from nessie.tuning.file import machine

SECONDS = 2.0                   # for each input


@dataclass(frozen=True)
class Compiled:
    """A case, ready to be run, and the seconds that this took."""
    case: Case
    ready: Ready
    seconds: float


def bench(options: argparse.Namespace) -> int:
    if options.entry and options.input:
        raise UsageError("-e times a call, and --input others: not both at once")
    source = read_source(needed(options, "FILE"))
    before = read(options.against) if options.against else None
    session = new_session(options, say_aside)
    define_all(session, source)
    cases = cases_of(session, source, options)
    if not cases:
        raise UsageError("there is nothing to time: the program's comments have no examples",
                         hint="name an input, --input 'NAME=EXPR', or a call, -e ENTRY ARG...")
    found = measured(session, [compiled(session, case) for case in cases], options)
    kernels = {case.name: kernels_of(session, case) for case in cases} if options.kernels else {}
    results = Results(version(), source.name, session.target.name, threads(session), machine(), tuple(found))
    changed = changes(before, results) if before else []
    if options.save:
        write(options.save, show(results))
    if options.json:
        say(json.dumps(as_json(results, changed, kernels)) + "\n")
    else:
        say(results_text(results))
        for name, times in kernels.items():
            say("\n" + kernels_text(name, times, session.target.name))
    if before:
        warn(f"{options.against}: {doubt}" for doubt in doubts(before, results))
        if not changed:
            raise NessieError(f"{options.against} has none of these inputs",
                              hint=f"it has {', '.join(one.name for one in before.inputs)}")
        if not options.json:
            say("\n" + changes_text(changed))
    warn(session.unmet())
    return 0


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


def measured(session: Session, ready: list[Compiled], options: argparse.Namespace) -> list[Result]:
    activity = session.target.activity
    works = [partial(run, one) for one in ready]
    found = sample(works, SECONDS if options.seconds is None else options.seconds,
                   told=lambda done, of: activity.begin(f"timing: {done} of {of} inputs are done"))
    return [Result(one.case.name, times.seconds, times.calls, one.seconds)
            for one, times in zip(ready, found, strict=True)]


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
