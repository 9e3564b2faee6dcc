"""Finds what there is to tell of a program beside its schedule, in what the passes have made of it.

    notes_of(job, ran).spaces[0].form           "uniform"
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nessie import driver, forms, pipeline
from nessie.base.source import Span, excerpt, user_span
from nessie.cudagen.generate import CHUNK
from nessie.cudagen.kernels.scalar_functions import tables_of
from nessie.cudagen.kernels.walk import walk_of as places_of
from nessie.cudagen.skeletons.cpu import products as registers
from nessie.cudagen.skeletons.owners.local import Declined
from nessie.cudagen.skeletons.owners.offers import prepared
from nessie.cudagen.skeletons.products import staged
from nessie.flatten.flatten import flattened
from nessie.flatten.threads.obstacles import CALLS, MAKES, PARALLEL, RECURS, Obstacle, obstacles
from nessie.flatten.values.emitter import SpaceMade
from nessie.inspect.mapping_notes import mappings
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.borders import splits
from nessie.lambda_cu.borders.interior import Split
from nessie.lambda_cu.mappings.nodes import Levels
from nessie.lambda_cu.scope import failing_functions, statements
from nessie.lambda_cu.spaces.steps import show
from nessie.lambda_cu.text.printer_expressions import show_exp, show_size
from nessie.mono import nodes as mono
from nessie.mono.passes.reduce_groups import groups_reduced
from nessie.schedule.explain.choices import choices, names_in, renamed
from nessie.schedule.explain.notes import (
    FunctionExplained,
    GroupsExplained,
    InteriorExplained,
    LoopExplained,
    Notes,
    ProductExplained,
    ReductionExplained,
    SpaceExplained,
)


def notes_of(job: pipeline.Job, ran: Mapping[str, driver.PassResult]) -> Notes:
    """The notes on a program whose passes up to fusing have run. One that was flat before has interiors
    and mappings only."""
    made = driver.made(ran.values())
    fused = made[forms.FUSED]
    inside, mapped = interiors(fused), mappings(fused, made[forms.FLAT], job)
    joined, rounds, versions = products(fused, job.target), loops(fused), choices(fused)
    if forms.MONO not in made:
        return Notes(interiors=inside, mappings=mapped, products=joined, loops=rounds, choices=versions)
    reductions, spaces, refused = of_flattening(made[forms.MONO], fused, job)
    return Notes(functions(made[forms.MONO], made[forms.FLAT], job), groups(ran), reductions, spaces, inside, mapped,
                 joined, (*rounds, *refused), versions)


def functions(program: mono.Program, flat: ir.Program, job: pipeline.Job) -> tuple[FunctionExplained, ...]:
    """How each function runs that the program calls: in a thread, or why not."""
    against = obstacles(program, job.target not in forms.WITHOUT_STACK)
    versions, owned_rows = {f.name for f in flat.functions}, any([f.over is not None for f in flat.functions])
    found = []
    for f in program.functions:
        if f.name in against:
            what = against[f.name]
            runs = ("thread" if what is None else ("owned" if owned_rows else "apart") if f"{f.name}~" in versions
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


def of_flattening(program: mono.Program, fused: ir.Program, job: pipeline.Job) -> tuple[
        tuple[ReductionExplained, ...], tuple[SpaceExplained, ...], tuple[LoopExplained, ...]]:
    """What flattening makes of the program at users' places, each once: reductions of rows, spaces, and calls for rows
    of what is no loop over them."""
    flat, made = flattened(program, job.target not in forms.WITHOUT_STACK, pipeline.layouts(job, program),
                           pipeline.owners(job, program))
    names = names_in(flat)
    reductions = [ReductionExplained(user_span(one.origin), one.form, one.why) for one in made.reductions]
    elements = elements_of(fused)
    spaces = [replace(space_explained(one, names), argument=one.argument,
                      elements="given" if one.argument else elements.get(str(one.space.size), "not stored"))
              for one in made.spaces]
    refused = [LoopExplained(user_span(one.origin), one.function, reason=one.why) for one in made.loops if one.why]
    return (tuple(dict.fromkeys([found for found in reductions if found.place is not None])),
            tuple(dict.fromkeys([found for found in spaces if found.place is not None])),
            tuple(dict.fromkeys([found for found in refused if found.place is not None])))


def loops(fused: ir.Program) -> tuple[LoopExplained, ...]:
    """The loops over rows that owners go through, or cannot, since they are too much for them."""
    offers = [f for f in fused.functions if f.by is not None]
    if not offers:
        return ()
    found, tables = [], tables_of(fused, False)
    calls = {s.function: s for f in fused.functions for s in statements(f.body) if isinstance(s, ir.Call)}
    for offer in offers:
        if isinstance(offer.by, Levels) and offer.name in calls:
            place, function = user_span(calls[offer.name].origin), offer.apart.rstrip("~")
            try:
                room = prepared(offer, fused, tables).code.room.each
                found.append(LoopExplained(place, function, offer.by.levels[0], room))
            except Declined as declined:
                found.append(LoopExplained(place, function, reason=str(declined)))
    return tuple(found)


def elements_of(fused: ir.Program) -> dict[str, str]:
    """For the sizes of arrays that kernels write: are they a "result" of the program alone, or "stored" on the way?"""
    found: dict[str, str] = {}
    for f in fused.functions:
        results = set(f.body.results) if f.name == fused.entry.function else set()
        for param in [param for s in statements(f.body) if isinstance(s, ir.Run) for param in s.results]:
            if isinstance(param.type, ir.Array) and found.get(str(param.type.size)) != "stored":
                found[str(param.type.size)] = "result" if ir.Var(param.name) in results else "stored"
    return found


def interiors(program: ir.Program) -> tuple[InteriorExplained, ...]:
    """The interiors of what fused kernels compute, each once."""
    failing, names = failing_functions(program.scalar_functions), names_in(program)
    found = [interior_explained(user_span(kernel.binds[at].origin), split, names)
             for kernel in program.kernels for at, split in splits(kernel, failing).items()]
    return tuple(dict.fromkeys(found))


def interior_explained(place: Span | None, split: Split, names: Mapping[str, str]) -> InteriorExplained:
    def shown(exp: ir.Exp) -> str:
        return renamed(" ".join(show_exp(exp).split()), names)

    axes = [thunk.body for thunk in (split.interior.rows, split.interior.range) if thunk is not None]
    ranges = tuple([(shown(low), shown(high.then if isinstance(high, ir.If) else high))
                    for low, high in [axis.items[at:at + 2] for axis in axes if isinstance(axis, ir.Tuple)
                                      for at in range(0, len(axis.items), 2)]])
    dropped = [(shown(one.decision), shown(one.inside)) for one in split.dropped]
    return InteriorExplained(place, ranges, tuple(dict.fromkeys(dropped)))


def products(program: ir.Program, target: str) -> tuple[ProductExplained, ...]:
    """The products of fused kernels that go by tiles on the target."""
    tiles = {"cuda": (staged.tiled, "shared memory", ""), "cudasim": (staged.tiled, "shared memory", ""),
             "cpu": (registers.tiled, "registers", f", {registers.limits(CHUNK)}")}
    if target not in tiles:
        return ()
    find, where, limits = tiles[target]
    found = []
    for kernel in program.kernels:
        reduces = kernel.by is None and any([isinstance(bind.soac, ir.Reduce) for bind in kernel.binds])
        if tiled := find(places_of(kernel, program)) if reduces else None:
            rows, columns, elements = tiled.least
            place = user_span(next(bind.origin for bind in kernel.binds if isinstance(bind.soac, ir.Reduce)))
            many = f", in {tiled.tiles} tiles" if tiled.tiles > 1 else ""
            found.append(ProductExplained(
                place, f"goes by tiles of {tiled.rows.count} rows and {tiled.columns.count} columns in {where}",
                f"where there are {rows} rows, {columns} columns and {elements} elements of each{many}, or more"
                f"{limits}"))
    return tuple(dict.fromkeys(found))


def space_explained(made: SpaceMade, names: Mapping[str, str]) -> SpaceExplained:
    """`names`: of sizes, as users know them."""
    place, space, form = user_span(made.origin), made.space.space, made.space.form
    length = renamed(show(form), names) if form is not None else ""
    match space:
        case ir.Uniform(_, size):
            axes = " * ".join([renamed(show_size(axis), names) for axis in space.axes])
            return SpaceExplained(place, f"uniform: {axes}", length, f"i*{renamed(show_size(size), names)}", "none")
        case ir.Closed() | ir.Nested():
            return SpaceExplained(place, type(space).__name__.lower(), length, "their sum", "none")
        case ir.Irregular(segments, offsets, _):
            count = str(segments + 1) if isinstance(segments, int) else f"{renamed(segments, names)} + 1"
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
