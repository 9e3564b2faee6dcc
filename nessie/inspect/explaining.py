"""Explains the schedules of a program, or of a call, which is also run under each schedule.

    session = Session()
    explain_call(session, job, "dotp", [xs, ys]).measured["ilp"]        seconds in kernels

The call's graphs are those of the entry at the types, layouts and sizes of its arguments.
"""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from nessie import driver, forms, pipeline
from nessie.base.source import Span, user_span
from nessie.cudagen.cpu.assemble import CpuProgram
from nessie.flatten.flatten import flattened
from nessie.flatten.threads.obstacles import CALLS, MAKES, PARALLEL, RECURS, Obstacle, obstacles
from nessie.flatten.values.emitter import SpaceMade
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.borders import splits
from nessie.lambda_cu.borders.interior import Split
from nessie.lambda_cu.layout import layout_of_value, to_names
from nessie.lambda_cu.scope import failing_functions, statements
from nessie.lambda_cu.spaces.steps import show
from nessie.lambda_cu.text.printer_expressions import show_exp, show_size
from nessie.mono import nodes as mono
from nessie.mono.passes.reduce_groups import groups_reduced
from nessie.program_cache import cached_program
from nessie.running.stopwatch import quickest
from nessie.schedule.explain.code import with_code
from nessie.schedule.explain.explain import (
    PRICING_WORK,
    SCHEDULES,
    Explanation,
    FunctionExplained,
    GroupsExplained,
    InteriorExplained,
    SpaceExplained,
    explain,
)
from nessie.schedule.explain.text import excerpt
from nessie.schedule.graph.nodes import Graph
from nessie.schedule.wishes.sizes import sizes_of
from nessie.session.calling import prepare_call
from nessie.session.session import Session
from nessie.syntax import nodes as syntax

RUNS = 5                        # the quickest of them counts
MEASURED = ("cpu",)             # targets that know how long their kernels took
UNSEEN = ("error", "_seed", "_now", "get_environment_variable")        # effects that leave the world as it is


def explain_program(job: pipeline.Job, start: forms.Form[Any], program: Any, everything: bool = False) -> Explanation:
    """The schedules of a program of a form that comes before fusing."""
    passes = pipeline.stages_between(job, start, pipeline.pass_named("fuse"))
    ran = {step.ran.name: step for step in driver.steps(job, start, program, passes)}
    made = {step.ran.output: step.program for step in ran.values()}
    (found,) = driver.steps(job, forms.FLAT, made[forms.FLAT], (pipeline.pass_named("graph"),))
    explained = with_code(explain_graphs(found.program, job, everything), found.program, made[forms.FUSED], job.fuse)
    explained = replace(explained, interiors=interiors(made[forms.FUSED]))
    if forms.MONO not in made:
        return explained
    return replace(explained, functions=functions(made[forms.MONO], made[forms.FLAT], job), groups=groups(ran),
                   spaces=spaces(ran, made[forms.MONO], job))


def functions(program: mono.Program, flat: ir.Program, job: pipeline.Job) -> tuple[FunctionExplained, ...]:
    """How each function runs that the program calls: in a thread, or why not."""
    against = obstacles(program, job.target not in forms.WITHOUT_STACK)
    versions = {f.name for f in flat.functions}
    found = []
    for f in program.functions:
        if f.name in against:
            what = against[f.name]
            runs = ("thread" if what is None else "apart" if f"{f.name}~" in versions
                    else "lifted" if f"{f.name}^" in versions else "host")
            where = user_span(what.origin) if what else None
            found.append(FunctionExplained(f.name, runs, user_span(f.origin), reason(what), where))
    return tuple(found)


def groups(ran: Mapping[str, driver.PassResult]) -> tuple[GroupsExplained, ...]:
    """What the passes that ran make of groups by keys."""
    if "inline" not in ran:
        return ()
    _, told = groups_reduced(ran["inline"].program)
    found = []
    for group in told:
        where = user_span(group.where)
        why = f"{excerpt(where) or 'what they have'} {group.why}"
        found.append(GroupsExplained(user_span(group.origin), bool(group.why), why if group.why else "", where))
    return tuple(found)


def spaces(ran: Mapping[str, driver.PassResult], program: mono.Program,
           job: pipeline.Job) -> tuple[SpaceExplained, ...]:
    """The spaces that flattening makes of what the pass before it has left, those of user's places, each once."""
    before = [step.program for step in ran.values() if step.ran.output == forms.MONO]
    flat, made = flattened(before[-1] if before else program, job.target not in forms.WITHOUT_STACK,
                           pipeline.layouts(job, program))
    names = names_of_sizes(flat)
    found = [space_explained(one, names) for one in made if user_span(one.origin) is not None]
    return tuple(dict.fromkeys(found))


def names_of_sizes(program: ir.Program) -> dict[str, str]:
    """The entry's sizes, as users know them."""
    entry = next(f for f in program.functions if f.name == program.entry.function)
    return {str(param.type.size): f"#{param.name}" for param in reversed(entry.params)
            if isinstance(param.type, ir.Array) and not param.type.plus}


def interiors(program: ir.Program) -> tuple[InteriorExplained, ...]:
    """The interiors of what fused kernels compute, each once."""
    failing, names = failing_functions(program.scalar_functions), names_of_sizes(program)
    found = [interior_explained(user_span(kernel.binds[at].origin), split, names)
             for kernel in program.kernels for at, split in splits(kernel, failing).items()]
    return tuple(dict.fromkeys(found))


def interior_explained(place: Span | None, split: Split, names: Mapping[str, str]) -> InteriorExplained:
    def shown(exp: ir.Exp) -> str:
        return re.sub(r"[\w']+", lambda found: names.get(found[0], found[0]), " ".join(show_exp(exp).split()))

    axes = [thunk.body for thunk in (split.interior.rows, split.interior.range) if thunk is not None]
    ranges = tuple([(shown(low), shown(high.then if isinstance(high, ir.If) else high))
                    for low, high in [axis.items for axis in axes if isinstance(axis, ir.Tuple)]])
    dropped = [(shown(one.decision), shown(one.inside)) for one in split.dropped]
    return InteriorExplained(place, ranges, tuple(dict.fromkeys(dropped)))


def space_explained(made: SpaceMade, names: Mapping[str, str]) -> SpaceExplained:
    """`names`: of sizes, as users know them."""
    def known(text: str) -> str:
        return re.sub(r"[\w']+", lambda found: names.get(found[0], found[0]), text)

    place, space, form = user_span(made.origin), made.space.space, made.space.form
    length = known(show(form)) if form is not None else ""
    match space:
        case ir.Uniform(_, size, _):
            return SpaceExplained(place, "uniform", length, f"i*{known(show_size(size))}", "none")
        case ir.Closed() | ir.Nested():
            return SpaceExplained(place, type(space).__name__.lower(), length, "their sum", "none")
        case ir.Irregular(segments, offsets, _):
            count = str(segments + 1) if isinstance(segments, int) else f"{known(segments)} + 1"
            length, start = f"{offsets}[i+1] - {offsets}[i]", f"{offsets}[i]"
            return SpaceExplained(place, "irregular", length, start, f"{count} words", made.why)
    return SpaceExplained(place, "composed", "", "", "none")


def reason(what: Obstacle | None) -> str:
    """What stands against running a function per element, in words."""
    if what is None:
        return ""
    span = user_span(what.origin)
    shown = f"{excerpt(span)} " if span and what.why != RECURS else ""
    return {PARALLEL: f"{shown}is parallel", MAKES: f"{shown}makes a sequence", CALLS: f"it calls {what.callee}",
            RECURS: "it calls itself otherwise than as its last step, and threads of a GPU have no stack"}[what.why]


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
    passes = pipeline.stages_between(job, forms.MONO, pipeline.pass_named("simplify"))
    ran = {step.ran.name: step for step in driver.steps(job, forms.MONO, program, passes)}
    made = {step.ran.output: step.program for step in ran.values()}
    flat = made[forms.FLAT]
    job = replace(job, sizes={**sizes(flat, layouts, values), **job.sizes})
    found = explain_program(job, forms.FLAT, flat, everything)
    found = replace(found, functions=functions(made.get(forms.MONO, program), flat, job), groups=groups(ran),
                    spaces=spaces(ran, program, job))
    if session.target.name not in MEASURED or has_effects(flat):
        return found
    jobs = {mode: replace(job, target=session.target.name, fuse=mode, wishes=() if mode == "none" else job.wishes)
            for mode in SCHEDULES}
    measured = {}
    for mode in SCHEDULES:
        built = cached_program(jobs[mode], program)
        assert isinstance(built, CpuProgram)
        measured[mode] = quickest(session.target, built, values, RUNS)
    return replace(found, measured=measured)


def has_effects(program: ir.Program) -> bool:
    """Whether a run of the program is visible from outside."""
    return any(isinstance(statement, ir.Effect) and statement.name not in UNSEEN
               for function in program.functions for statement in statements(function.body))


def sizes(flat: ir.Program, layouts: Sequence[ir.Layout], values: Sequence[Any]) -> dict[str, float]:
    """The sizes that the entry gets with these values, by the names that users have for them."""
    entry = next(f for f in flat.functions if f.name == flat.entry.function)
    held = [name for value, layout in zip(values, layouts, strict=True) for name in to_names(value, layout)]
    known = {param.name: float(name) for param, name in zip(entry.params, held, strict=True) if param.type == "int"}
    return {name: known[size] for name, size in sizes_of(entry).items() if size in known}
