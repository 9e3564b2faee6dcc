"""Pass: compute what few gather for them alone, where a run knows that they are few.

    A = MAP {i => e} n      B = X {j => .. A[g] ..} m
    -------------------------------------------------
    B = choose {
      pulled if m * T <= n or m * 2 <= n and m <= F { B = X {j => .. e[g/i] ..} m }
      items { A = MAP {i => e} n      B = X {j => .. A[g] ..} m }
    }

  in    flat lambda_cu, sites specialised
  out   flat lambda_cu, in which regions are there twice that gather what schedule.pull keeps in memory
  how   In each control region, the pass looks for MAPs that pull would leave, as gathers are thought to be as many as
        elements, and whose sizes only a run knows: both before the region begins. Where T times as many elements as
        gathers are there, memory is not worth its while on any machine. Where a cache holds what is gathered,
        by at most F gathers, half as many as elements are few: one launch is less than two. T and F are tunables. What
        is there once is left to pull, which comes later.
  sound as pull is
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce

from nessie.base.call_graph import reachable
from nessie.base.names import Names
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.check_choices import LAST
from nessie.schedule.cost.profiles import Profile
from nessie.schedule.fuse import as_written
from nessie.schedule.graph.regions import Region, RegionStep, Steps
from nessie.schedule.graph.sizes import Estimates
from nessie.schedule.graph.uses import total
from nessie.schedule.pull import (
    Candidate,
    Pulling,
    can_be_pulled,
    gathering_regions,
    one_by_one,
    without_dead_code,
)
from nessie.schedule.versions.choice import Version, atom, choice, has_version, names_of

PULLED = "pulled"
TIMES = 8                       # as many elements as gathers
FEW = 10_000                    # gathers from what a cache holds


def few_gathers(program: ir.Program, profile: Profile, sizes: Mapping[str, float] | None) -> ir.Program:
    """Make versions of regions whose gathers may be few."""
    failing = scope.failing_functions(program.scalar_functions)
    kernels, made = Names(kernel.name for kernel in program.kernels), list[ir.Kernel]()
    tunables = {t.name: t for t in program.tunables}

    @cache
    def names() -> dict[str, Names]:
        """Those of the functions that may have versions, and do not run apart."""
        apart = reachable(scope.calls_of_functions(program), [f.apart for f in program.functions if f.apart])
        return {f.name: names_of(f) for f in program.functions
                if not has_version(f, (PULLED,)) and f.name not in apart}

    def versions(region: Region, parts: Steps, estimates: Estimates) -> Sequence[ir.Statement]:
        pulling = PullingFew(region, parts.steps, estimates, failing)
        if region.function in names() and region.pieces == 1:
            pulling.run()
        if not pulling.changed:
            return region.statements
        items = [as_written(step.statement) for step in parts.steps]
        results = [p for s in items for p in scope.results(s) if p.name in region.outside]
        name = scope.version_name(region.function, results, PULLED)
        thresholds = ir.Tunable(name, "share", TIMES), ir.Tunable(f"{name}_few", "few", FEW)
        tunables.update({t.name: t for t in thresholds})
        few = [are_few(found, *thresholds) for found in pulling.few]
        condition = reduce(lambda a, b: ir.Op("and", (a, b)), dict.fromkeys(few))
        cases = [Version(PULLED, pulling.statements(kernels, made, f"_{PULLED}"), condition), Version(LAST, items)]
        return [*parts.first, choice(region, cases, names()[region.function])]

    functions = tuple(gathering_regions(program, profile, sizes or {}, versions, one_by_one))
    if not made:
        return program
    program = replace(program, kernels=(*program.kernels, *made), functions=functions,
                      tunables=tuple(tunables.values()))
    return without_dead_code(program, {kernel.name for kernel in made})


class PullingFew(Pulling):
    """Pulls, whatever its work, what `pull` would leave in memory, and nobody reads but those that gather. `few`: what
    it has pulled."""

    def __init__(self, region: Region, steps: Sequence[RegionStep], estimates: Estimates, failing: Collection[str]
                 ) -> None:
        super().__init__(region, steps, estimates, failing)
        self.few: list[Candidate] = []

    def can(self, bind: ir.Bind) -> bool:
        return one_by_one(bind, self.failing)

    def pull(self, found: Candidate) -> bool:
        pulled = super().pull(found)
        self.few += [found] if pulled else []
        return pulled

    def pays(self, found: Candidate) -> bool:
        arrays = set(found.bind.names) - {"_"}
        left = found.reads > 0 and not (can_be_pulled(found.bind, self.failing) and super().pays(found))
        return left and self.sizes_wait(found) and not arrays & self.written and not self.in_order(arrays)

    def sizes_wait(self, found: Candidate) -> bool:
        """Is it only for a run to know how many elements and gathers there are, before the region begins?"""
        n, ms = elements(found), gathered(found)
        known = self.estimates.knows(n) and all(map(self.estimates.knows, ms))
        return not (known or n in ms or self.made.intersection([n, *ms]))

    def in_order(self, arrays: Collection[str]) -> bool:
        """Does any step whose results somebody reads read one of the arrays at its own index?"""
        read = {*self.written, *[name for names in (*self.gathered.values(), *self.ordered.values()) for name in names]}
        return any(not self.ordered[name].isdisjoint(arrays) for name, step in self.steps.items()
                   if read.intersection([param.name for param in scope.results(step.statement)]))


def elements(found: Candidate) -> ir.Size:
    assert isinstance(found.bind.soac, ir.Map)
    return total(found.bind.soac.space)


def gathered(found: Candidate) -> list[ir.Size]:
    """The sizes of the spaces that gather."""
    return list(dict.fromkeys(sizes_of(found)))


def sizes_of(found: Candidate) -> Iterator[ir.Size]:
    for reader in found.readers:
        if reader.bind is not None and not isinstance(reader.bind.soac, ir.Once):
            yield total(reader.bind.soac.space)


def are_few(found: Candidate, times: ir.Tunable, most: ir.Tunable) -> ir.Exp:
    gathers: ir.Exp = reduce(lambda a, b: ir.Op("+", (a, b)), map(atom, gathered(found)))
    n = atom(elements(found))
    half = ir.Op("<=", (ir.Op("*", (gathers, ir.Const(2, "int"))), n))
    few = ir.Op("<=", (gathers, ir.Var(most.name)))
    return ir.Op("or", (ir.Op("<=", (ir.Op("*", (gathers, ir.Var(times.name))), n)), ir.Op("and", (half, few))))
