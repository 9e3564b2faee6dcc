"""Pass: let owners hold segments where a run knows that these are many and short enough, on a GPU.

    ys = choose {
      sub8 if n >= T and longest(&offsets) <= L { ys = SEG_REDUCE ... by Levels([sub8, lane], Gen) }
      warp if ..                                { .. }
      block if ..                               { .. }
      items                                     { ys = SEG_REDUCE ... }
    }

  in    flat lambda_cu
  out   flat lambda_cu, in which regions are there once for each level whose owners can hold their segments
  how   In each control region, the pass takes the segments that most of its kernels walk, if they are known before it
        begins. What an owner can do by itself it does (lambda_cu.mappings.owners), all else stays as it is: each
        version is fused for itself, so that what cuts the walk of all segments may be one kernel. `items`, the
        balanced walk, is for all other lengths, and where nobody knows them without waiting.
  sound as owners change no result
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from nessie.base.names import Names
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.check_choices import LAST
from nessie.lambda_cu.mappings.kernels import why_not
from nessie.lambda_cu.mappings.owners import by_owner, by_owners
from nessie.schedule.fuse import as_written
from nessie.schedule.graph.regions import Region, RegionStep, rewrite_regions, steps_of
from nessie.schedule.versions.choice import Version, atom, choice, has_version, names_of

LEVELS = {"sub8": (4096, 64), "warp": (2048, 512), "block": (512, 4096)}    # at least so many segments, at most so long


def owner_versions(program: ir.Program) -> ir.Program:
    """Make versions of regions with segments."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    taken, made = Names(kernels), dict[tuple[str, str], ir.Kernel]()
    tunables = {t.name: t for t in program.tunables}

    def owned(name: str, level: str) -> str:
        """The kernel by owners of this level, if they can; else the kernel as it is."""
        if (name, level) not in made:
            mapped = replace(kernels[name], by=by_owner(level))
            made[name, level] = replace(mapped, name=taken.fresh(f"{name}_{level}")) \
                if kernels[name].by is None and by_owners(mapped) and why_not(mapped) is None else kernels[name]
        return made[name, level].name

    def function_of(function: ir.Function) -> ir.Function:
        names = names_of(function)

        def versions(region: Region) -> Sequence[ir.Statement]:
            parts = steps_of(region, kernels)
            space = segments_of(parts.steps)
            if space is None or region.pieces > 1:
                return region.statements
            items = [as_written(step.statement) for step in parts.steps]
            results = [p for s in items for p in scope.results(s) if p.name in region.outside]
            cases = []
            for level, (segments, longest) in LEVELS.items():
                changed = [replace(s, kernel=owned(s.kernel, level)) if isinstance(s, ir.Run) and of_space(step, space)
                           else s for s, step in zip(items, parts.steps, strict=True)]
                if changed != items:
                    name = scope.version_name(region.function, results, level)
                    many, short = ir.Tunable(name, "n", segments), ir.Tunable(f"{name}_longest", "longest", longest)
                    tunables.update({t.name: t for t in (many, short)})
                    cases.append(Version(level, changed, are_right(space, many, short)))
            return [*parts.first, choice(region, [*cases, Version(LAST, items)], names)] if cases else region.statements

        return rewrite_regions(function, versions)

    functions = tuple([f if has_version(f, LEVELS) else function_of(f) for f in program.functions])
    more = [kernel for kernel in made.values() if kernel.name not in kernels]
    return replace(program, kernels=(*program.kernels, *more), functions=functions,
                   tunables=tuple(tunables.values())) if more else program


def segments_of(steps: Sequence[RegionStep]) -> ir.Uniform | ir.Irregular | None:
    """The segments that most steps walk, of those that are known before the first of them."""
    made = {param.name for step in steps for param in scope.results(step.statement)}
    found = Counter(space for step in steps if (space := space_of(step)) is not None
                    and made.isdisjoint(scope.space_names(space)))
    return max(found, key=found.__getitem__, default=None)


def space_of(step: RegionStep) -> ir.Uniform | ir.Irregular | None:
    space = None if step.bind is None else scope.space_of(step.bind.soac)
    return space if isinstance(space, ir.Uniform | ir.Irregular) else None


def of_space(step: RegionStep, space: ir.Space) -> bool:
    return space_of(step) == space


def are_right(space: ir.Uniform | ir.Irregular, many: ir.Tunable, short: ir.Tunable) -> ir.Exp:
    """The condition that there are many segments, none of which is too long."""
    longest = atom(space.length) if isinstance(space, ir.Uniform) else ir.CallScalar("longest", (), (space.offsets,))
    return ir.Op("and", (ir.Op(">=", (atom(space.segments), ir.Var(many.name))),
                         ir.Op("<=", (longest, ir.Var(short.name)))))
