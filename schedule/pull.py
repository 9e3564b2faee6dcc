"""Pass: compute elements where they are gathered, if that is cheaper than to make the array first.

    A = MAP {i => e} n        B = X {j => .. A[g] ..} m
    ---------------------------------------------------- e is cheap and cannot fail
    A = MAP {i => e} n        B = X {j => .. e[g/i] ..} m

  in    flat lambda_cu, sites specialised
  out   flat lambda_cu without some gathers, and without the MAPs that nobody reads any more
  how   In each control region, the pass pulls a MAP into all its gathering readers at once. It takes the MAPs that read
        the fewest arrays first, until nothing changes. e reads k arrays, h of them at random, and takes time c; a
        random read takes g; A has n elements of w bytes, for which e streams I bytes, and is gathered m times:

            in memory       streaming n * (I + w), and (n * h + m) * g
            pulled          m * (k * g + c); n * I and n * h * g too, if others read A in order, so that it is computed
                            anyway

        A is pulled if that costs less, and always if k is 0. Nothing is saved if A is written all the same, because it
        leaves the region or the host reads it. An array of the region that e streams must be in memory for the gathers;
        if nothing else requires that, writing it counts too.
  sound e is evaluated just where A[g] was, so at indices that are in range; it cannot fail, and it is computed at index
        g
  ends  because the arrays that a binding gathers after a pull were made before the one that it gathered; a binding
        takes in no more than MOST operations
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import rename, scope
from nessie.lambda_cu.parts import map_thunks, subexpressions, thunks
from nessie.lambda_cu.passes.dead_code import drop_dead_code
from nessie.lambda_cu.passes.lets import tidy_kernels
from nessie.lambda_cu.passes.simplify import drop_uncalled
from nessie.schedule.cost.profiles import CPU, Profile
from nessie.schedule.fuse import as_written
from nessie.schedule.graph.arithmetic import cheap_work, evaluated, operation_counts
from nessie.schedule.graph.build import region_types
from nessie.schedule.graph.nodes import GATHER, WIDTHS
from nessie.schedule.graph.regions import Region, RegionStep, rewrite_regions, statement_uses, steps_of
from nessie.schedule.graph.sizes import Estimates
from nessie.schedule.graph.uses import indices_of, read_mode, total
from nessie.schedule.rewrite.merge import merge
from nessie.schedule.rewrite.thunks import items
from nessie.schedule.wishes.sizes import hints

MOST = 64                       # operations of a binding into which elements are pulled


def pull(program: ir.Program, profile: Profile = CPU, sizes: Mapping[str, float] | None = None) -> ir.Program:
    """Compute cheap elements where the program gathers them."""
    failing = scope.failing_functions(program.scalar_functions)
    if not any(map(Launches(program, failing).gather, (scope.statements(f.body) for f in program.functions))):
        return program
    launches, names = Launches(program, failing), Names(kernel.name for kernel in program.kernels)
    given, made = hints(program, sizes or {}, strict=False), list[ir.Kernel]()

    def rewritten(step: RegionStep, types: Mapping[str, ir.Type]) -> ir.Statement:
        results = {param.name for param in scope.results(step.statement)}
        called = step.statement.kernel if isinstance(step.statement, ir.Run) else ""
        kernel, run = merge(names.fresh(called), [step], (), results, types, {}, {})
        made.append(kernel)
        return run

    def function_of(function: ir.Function) -> ir.Function:
        estimates, before = Estimates(profile, given[function.name]), list[Region]()

        def region_of(region: Region) -> Sequence[ir.Statement]:
            before.append(region)
            if not launches.gather(region.statements):
                return region.statements
            for earlier in before:
                parts = steps_of(earlier, launches.kernels)
                estimates.learn(parts.first, parts.steps)
            before.clear()
            pulling = Pulling(region, parts.steps, estimates, failing)
            pulling.run()
            statements = [rewritten(step, pulling.types) if step.name in pulling.changed else as_written(step.statement)
                          for step in pulling.steps.values()]
            return [*parts.first, *statements] if pulling.changed else region.statements

        return rewrite_regions(function, region_of) if launches.gather(scope.statements(function.body)) else function

    functions = tuple(map(function_of, program.functions))
    if not made:
        return program
    program = replace(program, kernels=(*program.kernels, *made), functions=functions)
    return without_dead_code(program, {kernel.name for kernel in made})


def without_dead_code(program: ir.Program, untidy: Collection[str]) -> ir.Program:
    program = drop_uncalled(program)
    before, program = program, tidy_kernels(program, untidy)
    while program is not before:
        before, program = program, drop_dead_code(program)
    return drop_uncalled(program)


# Finding work ---------------------------------------------------------------------------------

class Launches:
    """The cheap arrays that launches of the program's kernels make, and the arrays that they gather."""

    def __init__(self, program: ir.Program, failing: Collection[str]) -> None:
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.cheap = {name for name, kernel in self.kernels.items()
                      if any(can_be_pulled(bind, failing) for bind in kernel.binds)}
        self.gathered: dict[str, set[str]] = {}

    def gather(self, statements: Iterable[ir.Statement]) -> bool:
        """Does one of the statements gather what one before it makes?"""
        makers: set[str] = set()
        for statement in statements:
            match statement:
                case ir.HostLet(result, ir.Var(name)) if name in makers:
                    makers.add(result.name)
                case ir.Run(results, kernel, arguments):
                    if makers and any(isinstance(atom, ir.Var) and atom.name in makers
                                      and param.name in self.gathered_by(kernel)
                                      for param, atom in zip(self.kernels[kernel].params, arguments, strict=True)):
                        return True
                    if kernel in self.cheap:
                        makers.update(param.name for param in results)
        return False

    def gathered_by(self, name: str) -> set[str]:
        """The arrays that the kernel reads at a computed index."""
        if name not in self.gathered:
            self.gathered[name] = {
                read.array for bind in self.kernels[name].binds for thunk in thunks(bind.soac)
                for read in scope.reads(thunk.body) if not (
                    isinstance(read.index, ir.Var) and read.index.name in (*thunk.params[-3:-2], *thunk.params[-1:]))}
        return self.gathered[name]


def can_be_pulled(bind: ir.Bind, failing: Collection[str]) -> bool:
    """Is it a cheap MAP that cannot fail, whose elements depend on no index but the flat one?"""
    match bind.soac:
        case ir.Map(thunk, _):
            return cheap_work(thunk.body) is not None and not scope.can_fail(thunk.body, failing) \
                and not set(thunk.params[:-1]) & set(scope.free_names(thunk.body))
    return False


# One region -------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Candidate:
    """A MAP, in the step of this name, that other steps gather; `reads`: its reads of arrays per element."""
    step: str
    bind: ir.Bind
    thunk: ir.Thunk
    readers: tuple[RegionStep, ...]
    reads: int


class Pulling:
    """The steps of a region, rewritten so far; `changed`: the names of the rewritten ones. Per step, `gathered` counts
    its reads of arrays at other indices than its own, and `ordered` has the arrays that it reads at its own."""

    def __init__(self, region: Region, steps: Sequence[RegionStep], estimates: Estimates, failing: Collection[str]
                 ) -> None:
        self.steps = {step.name: step for step in steps}
        self.estimates, self.failing = estimates, failing
        self.types = region_types(region, steps)
        self.made = {param.name for step in steps for param in scope.results(step.statement)}
        opaque = {name for step in steps if step.bind is None for name in statement_uses(step.statement)}
        sizes = {name for step in steps if step.bind is not None
                 for name in scope.space_names(scope.space_of(step.bind.soac))}
        passed = {name for step in steps if step.bind is not None for thunk in thunks(step.bind.soac)
                  for name in scope.passed(thunk.body)}
        self.written = {*region.outside, *opaque, *sizes, *passed}      # in memory whether gathered or not
        self.gathered: dict[str, Counter[str]] = {}
        self.ordered: dict[str, set[str]] = {}
        self.changed: set[str] = set()
        for step in steps:
            self.note_reads(step)

    def note_reads(self, step: RegionStep) -> None:
        gathered, ordered = Counter[str](), set[str]()
        if step.bind is not None:
            for thunk in thunks(step.bind.soac):
                for read, times in evaluated(thunk.body):
                    if not isinstance(read, ir.Read):
                        continue
                    if self.is_gather(step.bind.soac, thunk, read):
                        gathered[read.array] += times
                    else:
                        ordered.add(read.array)
        self.gathered[step.name], self.ordered[step.name] = gathered, ordered

    def is_gather(self, soac: ir.Soac, thunk: ir.Thunk, read: ir.Read) -> bool:
        at = indices_of(soac, thunk)
        return read_mode(read.index, read.array, self.types.get(read.array), at, self.made) == GATHER

    def run(self) -> None:
        while any(self.pull(found) for found in sorted(self.candidates(), key=lambda found: found.reads)):
            pass

    def candidates(self) -> list[Candidate]:
        readers: dict[str, dict[str, RegionStep]] = {}
        for step in self.steps.values():
            for name in self.gathered[step.name]:
                readers.setdefault(name, {})[step.name] = step
        found = []
        for step in self.steps.values():
            if step.bind is not None and not readers.keys().isdisjoint(step.bind.names) \
                    and can_be_pulled(step.bind, self.failing):
                [thunk] = thunks(step.bind.soac)
                those = {key: reader for name in step.bind.names for key, reader in readers.get(name, {}).items()}
                reads = len(scope.reads(thunk.body))
                found.append(Candidate(step.name, step.bind, thunk, tuple(those.values()), reads))
        return found

    def pull(self, found: Candidate) -> bool:
        """Pull the candidate into its readers if that pays and no binding grows too much; was it pulled?"""
        if not self.pays(found):
            return False
        pulled = [replace(reader, bind=self.with_elements(found, reader.bind))
                  for reader in found.readers if reader.bind is not None]
        if any(operations(step.bind) > MOST for step in pulled):
            return False
        for step in pulled:
            self.steps[step.name] = step
            self.changed.add(step.name)
            self.note_reads(step)
        return True

    # Whether it pays ----------------------------------------------------------------------------

    def pays(self, found: Candidate) -> bool:
        profile, arrays = self.estimates.profile, set(found.bind.names) - {"_"}
        arithmetic = operation_counts(found.thunk.body)
        if not found.reads or arithmetic is None:
            return not found.reads
        times = sum(self.elements(reader) * sum(self.gathered[reader.name][name] for name in arrays)
                    for reader in found.readers)
        more = times * ((found.reads - 1) * profile.gather + profile.computing(*arithmetic))
        if arrays & self.written:
            return more < 0.0
        made = 0.0 if self.in_order(arrays) else self.elements(self.steps[found.step])
        spared = made * sum(self.gathered[found.step].values()) * profile.gather
        return more < profile.streaming(self.saved(found, arrays)) + spared

    def elements(self, step: RegionStep) -> float:
        """The number of indices that the step walks."""
        if step.bind is None or isinstance(step.bind.soac, ir.Once):
            return 1.0
        return self.estimates.of(total(step.bind.soac.space))

    def saved(self, found: Candidate, arrays: Collection[str]) -> float:
        """The bytes of arrays no longer written, and of inputs no longer streamed, less those written only now."""
        streamed = {read.array for read in scope.reads(found.thunk.body)
                    if not self.is_gather(found.bind.soac, found.thunk, read)}
        gathered = {name for names in self.gathered.values() for name in names}
        written = (streamed & self.made) - gathered - self.written
        return self.bytes(arrays) + (0.0 if self.in_order(arrays) else self.bytes(streamed)) - self.bytes(written)

    def in_order(self, arrays: Collection[str]) -> bool:
        """Does any step read one of the arrays at its own index?"""
        return any(not names.isdisjoint(arrays) for names in self.ordered.values())

    def bytes(self, arrays: Collection[str]) -> float:
        found = [self.types[name] for name in sorted(arrays)]
        return sum(WIDTHS[type_.base] * self.estimates.of(type_.size) for type_ in found if isinstance(type_, ir.Array))

    # Doing it -----------------------------------------------------------------------------------

    def with_elements(self, found: Candidate, reader: ir.Bind) -> ir.Bind:
        """Compute the MAP's elements in the binding where it gathers them."""
        def change(thunk: ir.Thunk) -> ir.Thunk:
            names = Names({*rename.all_names(thunk.body), *thunk.params, *thunk.using,
                           *rename.all_names(found.thunk.body), *found.thunk.params, *found.thunk.using})

            def element(read: ir.Read) -> ir.Exp | None:
                if read.array not in found.bind.names or not self.is_gather(reader.soac, thunk, read):
                    return None
                place = found.bind.names.index(read.array)
                body = component(found.thunk.body, place, len(found.bind.names), names)
                return rename.instantiate(ir.Thunk(found.thunk.params[-1:], body), (read.index,), names)

            return scope.thunk(thunk.params, rename.replace_reads(thunk.body, element))

        return replace(reader, soac=map_thunks(reader.soac, change))


def component(body: ir.Exp, place: int, count: int, names: Names) -> ir.Exp:
    """The result at `place` of the body's `count` results."""
    parts = items(body, count)
    if parts is not None:
        return parts[place]
    name = names.fresh("x")
    return ir.Let(tuple(name if other == place else "_" for other in range(count)), body, ir.Var(name))


def operations(bind: ir.Bind | None) -> int:
    """The number of operations in the binding's text."""
    return sum(isinstance(part, ir.Op | ir.If | ir.CallScalar) for thunk in (thunks(bind.soac) if bind else ())
               for part in subexpressions(thunk.body))
