"""Finds what there is to tell of mappings of kernels: who has asked for them, what is launched, how many threads have
no index, what it costs to find one, and what else could be.

    mappings(fused, flat, job)[0].launch        "grid (#xs, 1, 1), block (#zs, #ys, 1)"
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nessie import pipeline
from nessie.base.source import Origin, user_span
from nessie.cudagen.loops.plan import THREADS
from nessie.cudagen.skeletons.cuda.blocks import MOST_BLOCKS
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.interior import axis_indices
from nessie.lambda_cu.borders.partitions import left_of, with_parts
from nessie.lambda_cu.mappings.axes import show_space
from nessie.lambda_cu.mappings.choice.auto import Candidate, of_kernel, shown_candidates
from nessie.lambda_cu.mappings.choice.others import impossible, of_levels, own, shown_level
from nessie.lambda_cu.mappings.kernels import Walk, walks_of
from nessie.lambda_cu.mappings.owners import LANES, by_owners, owned
from nessie.lambda_cu.mappings.shown import in_sizes, product, shown_idle, shown_launch, shown_recovery
from nessie.lambda_cu.mappings.strategies import AUTO
from nessie.lambda_cu.mappings.text import show_case, show_mapping
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.scope import statements
from nessie.lambda_cu.spaces.closed import INTS
from nessie.lambda_cu.text.printer_expressions import show_exp, show_size
from nessie.schedule.explain.choices import choice_name, names_in, renamed
from nessie.schedule.explain.layout import place_text
from nessie.schedule.explain.notes import MappingExplained, PartExplained
from nessie.schedule.wishes.choose_mappings import given_sizes
from nessie.schedule.wishes.mappings import wished
from nessie.schedule.wishes.wishes import Wish


def mappings(fused: ir.Program, flat: ir.Program, job: pipeline.Job) -> tuple[MappingExplained, ...]:
    """The mappings of fused kernels, with who has asked for them."""
    if not any([kernel.by is not None for kernel in fused.kernels]):
        return ()
    names, given = names_in(fused), given_sizes(fused, pipeline.sizes(job, fused))
    results = wished(flat, pipeline.wishes(job, flat), pipeline.profile(job))
    asked = {s.origin: results[param.name] for f in flat.functions for s in statements(f.body) if isinstance(s, ir.Run)
             for param in s.results if param.name in results}
    versions = {run.kernel: f"version {case.name} of {choice_name(f, choice)}" for f in fused.functions
                for choice in statements(f.body) if isinstance(choice, ir.Choose)
                for case in choice.cases for run in statements(case.block) if isinstance(run, ir.Run)}
    return tuple([mapping_explained(kernel, asked, versions, names, given.get(kernel.name, {}))
                  for kernel in fused.kernels if kernel.by is not None])


def mapping_explained(kernel: ir.Kernel, asked: Mapping[Origin, tuple[Wish, ...]], versions: Mapping[str, str],
                      names: Mapping[str, str], given: Mapping[str, int]) -> MappingExplained:
    """`asked`: the wishes for launches, by their origins; `versions`: what kernels are of choices, by their names;
    `given`: sizes that are known."""
    assert kernel.by is not None
    wishes = next((asked[origin] for origin in (*kernel.merged, kernel.origin) if origin in asked), ())
    source = " and ".join([wish.option if wish.place is None else f"the pragma at {place_text(wish.place)}"
                           for wish in wishes]) or versions.get(kernel.name, "the program's text")
    tried = of_kernel(kernel, given) if kernel.by == AUTO else []
    by = tried[0].mapping if tried else kernel.by
    kernel = replace(kernel, by=by)
    place, text = user_span(kernel.origin), show_mapping(by)
    none = tuple(impossible(kernel))
    if by_owners(kernel):
        return replace(owners_explained(kernel, names, given), place=place, mapping=text, source=source,
                       impossible=none)
    walks, tells = walks_of(kernel), None if tried else own(kernel, given)
    cost, others = ("", []) if tells is None else tells
    if not walks:
        return MappingExplained(place, text, source, "as any kernel is walked that has no mapping",
                                others=beside(others), impossible=none)
    if walks[0].number is not None:
        left, behind = tests_left(kernel, names)
        return MappingExplained(place, text, source, "", parts=tuple([part_explained(walk, names) for walk in walks]),
                                left=left, behind=behind)
    (found,) = walks
    root, axes = found.root, [axis.high for axis in found.mapped.stages[0]]
    elements = INTS.size(root.total) if isinstance(root, ir.Closed) else product(axes)
    launch, idle = shown_launch(in_sizes(found.mapped)), shown_idle(found.mapped, elements)
    return MappingExplained(place, text, source, renamed(launch, names), renamed(idle, names),
                            shown_recovery(found.mapped), tuple(shown_candidates(tried) if tried else []), cost,
                            beside(others), none)


def beside(others: list[Candidate]) -> tuple[str, ...]:
    return tuple(shown_candidates(others)) if others else ()


def owners_explained(kernel: ir.Kernel, names: Mapping[str, str], given: Mapping[str, int]) -> MappingExplained:
    """The launch of owners, and what other levels would cost; who asked for it is told elsewhere."""
    owner = owned(kernel)
    rows, each = renamed(show_size(owner.root.segments), names), THREADS // owner.lanes
    blocks = rows if each == 1 else f"({rows} + {each - 1}) / {each}"
    mean, levels = of_levels(kernel, given)
    mine = next(found for found in levels if LANES[found.level] == owner.lanes)
    idle = [*([f"up to {owner.lanes - 1} of {owner.lanes} in the last step of each row"] if owner.lanes > 1 else
              ["those of a warp whose rows have ended, while it goes through its longest"]),
            *([f"up to {each - 1} of {each} owners in the last block"] if each > 1 else [])]
    found = {ir.Uniform: "a multiplication, once a row", ir.Irregular: "two reads of where rows begin, once a row"}
    return MappingExplained(
        None, "", "", f"grid (min({blocks}, {MOST_BLOCKS}), 1, 1), block ({THREADS}, 1, 1): each row has "
        f"{owner.lanes} of the {THREADS} threads of a block", ", ".join(idle),
        found.get(type(owner.root), "a formula, once a row"),
        cost=f"it takes about {shown_level(mine, mean)}",
        others=tuple([f"{found.level:6}  {shown_level(found, mean)}" for found in levels if found is not mine]))


def tests_left(kernel: ir.Kernel, names: Mapping[str, str]) -> tuple[str, int]:
    """The test that ends the cases of a kernel, and how many are behind it; "" if none does."""
    soac = next(bind.soac for bind in with_parts(kernel).binds if isinstance(bind.soac, ir.Map | ir.Reduce)
                and bind.soac.parts)
    if (left := left_of(soac)) is None:
        return "", 0
    axes = {name: ir.Var(f"iv[{axis}]") for axis, name in enumerate(axis_indices(soac.thunk))}
    text = show_exp(substitute(left[0], axes)).replace("`", "")
    return renamed(" ".join(text.split()), names), left[1]


def part_explained(walk: Walk, names: Mapping[str, str]) -> PartExplained:
    made = in_sizes(walk.mapped, walk.bounds)
    space, launch = [renamed(" ".join(text.split()), names)
                     for text in (show_space(made.stages[0]), shown_launch(made))]
    return PartExplained(show_case(walk.case), space, show_mapping(made.mapping), launch, shown_recovery(walk.mapped))
