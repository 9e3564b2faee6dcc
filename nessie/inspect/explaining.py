"""Explains the schedules of a program, or of a call, which is also run under each schedule.

    session = Session()
    explain_call(session, job, "dotp", [xs, ys]).measured["ilp"]        seconds in kernels

The call's graphs are those of the entry at the types, layouts and sizes of its arguments.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from nessie import driver, forms, pipeline
from nessie.cudagen.cpu.assemble import CpuProgram
from nessie.inspect.notes import notes_of
from nessie.lambda_cu.layout import layout_of_value
from nessie.measuring.kernels import has_effects
from nessie.measuring.predicted import sizes
from nessie.program_cache import cached_program
from nessie.running.stopwatch import quickest
from nessie.schedule.explain.code import with_code
from nessie.schedule.explain.explain import PRICING_WORK, SCHEDULES, Explanation, explain
from nessie.schedule.graph.nodes import Graph
from nessie.session.calling import prepare_call
from nessie.session.session import Session
from nessie.syntax import nodes as syntax

FUSE = pipeline.pass_named("fuse")
RUNS = 5                        # the quickest of them counts
MEASURED = ("cpu",)             # targets that know how long their kernels took


def explain_program(job: pipeline.Job, start: forms.Form[Any], program: Any, everything: bool = False) -> Explanation:
    """The schedules of a program of a form that comes before fusing."""
    return explain_passes(job, driver.run_through(job, start, program, FUSE), everything)


def explain_passes(job: pipeline.Job, ran: Mapping[str, driver.PassResult], everything: bool) -> Explanation:
    """The schedules of the program, all of whose passes up to fusing have run."""
    made = driver.made(ran.values())
    graphs = driver.compile_program(job, forms.FLAT, made[forms.FLAT], pipeline.pass_named("graph"))
    explained = with_code(explain_graphs(graphs, job, everything), graphs, made[forms.FUSED], job.fuse)
    return replace(explained, notes=notes_of(job, ran))


def explain_graphs(graphs: Sequence[Graph], job: pipeline.Job, everything: bool = False) -> Explanation:
    explained = explain(graphs, pipeline.profile(job), inf if everything else PRICING_WORK)
    machine = f"{job.target} at the prices of {explained.machine}" if job.target == "reference" else explained.machine
    return replace(explained, mode=job.fuse, machine=machine)


def explain_call(session: Session, job: pipeline.Job, function: str, arguments: Sequence[syntax.Exp],
                 everything: bool = False) -> Explanation:
    """The schedules of the function on these arguments. They are measured unless the function has effects, which each
    run would repeat."""
    prepared = prepare_call(session, function, arguments)
    program, values = prepared.program, prepared.arguments
    entry = next(f for f in program.functions if f.name == program.entry)
    layouts = [layout_of_value(p.type, value) for p, value in zip(entry.parameters, values, strict=True)]
    job = replace(job, layouts=tuple(layouts))
    ran = driver.run_through(job, forms.MONO, program, pipeline.pass_named("simplify"))
    flat = driver.made(ran.values())[forms.FLAT]
    job = replace(job, known=sizes(flat, layouts, values))
    found = explain_passes(job, ran | driver.run_through(job, forms.FLAT, flat, FUSE), everything)
    if session.target.name not in MEASURED or has_effects(flat):
        return found
    jobs = {mode: replace(job, target=session.target.name, fuse=mode, tuning=None,
                          wishes=() if mode == "none" else job.wishes) for mode in SCHEDULES}
    measured = {}
    for mode in SCHEDULES:
        built = cached_program(jobs[mode], program)
        assert isinstance(built, CpuProgram)
        measured[mode] = quickest(session.target, built, values, RUNS)
    return replace(found, measured=measured)
