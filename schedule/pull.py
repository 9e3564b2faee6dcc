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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from nessie.schedule.graph.regions import Region, RegionStep, Steps, rewrite_regions, statement_uses, steps_of
from nessie.schedule.graph.sizes import Estimates
from nessie.schedule.graph.uses import indices_of, read_mode, total
from nessie.schedule.rewrite.merge import merge
from nessie.schedule.rewrite.thunks import items
from nessie.schedule.wishes.sizes import hints

MOST = 64                       # operations of a binding into which elements are pulled


def pull(program: ir.Program, profile: Profile = CPU, sizes: Mapping[str, float] | None = None) -> ir.Program:
    """Compute cheap elements where the program gathers them."""
    failing = scope.failing_functions(program.scalar_functions)
    names, made = Names(kernel.name for kernel in program.kernels), list[ir.Kernel]()

    def pulled(region: Region, parts: Steps, estimates: Estimates) -> Sequence[ir.Statement]:
        pulling = Pulling(region, parts.steps, estimates, failing)
        pulling.run()
        return [*parts.first, *pulling.statements(names, made)] if pulling.changed else region.statements

    functions = tuple(gathering_regions(program, profile, sizes or {}, pulled))
    if not made:
        return program
    program = replace(program, kernels=(*program.kernels, *made), functions=functions)
    return without_dead_code(program, {kernel.name for kernel in made})


def gathering_regions(program: ir.Program, profile: Profile, sizes: Mapping[str, float],
                      change: Callable[[Region, Steps, Estimates], Sequence[ir.Statement]],
                      can: Callable[[ir.Bind, Collection[str]], bool] | None = None) -> Iterator[ir.Function]:
    """The program's functions, whose regions that gather what they make are changed, where it `can` be pulled."""
    launches = Launches(program, scope.failing_functions(program.scalar_functions), can or can_be_pulled)
    gathering = {f.name for f in program.functions if launches.gather(scope.statements(f.body))}
    given = hints(program, sizes, strict=False) if gathering else {}
    for function in program.functions:
        if function.name not in gathering:
            yield function
            continue
        estimates, before = Estimates(profile, given[function.name]), list[Region]()

        def region_of(region: Region, estimates: Estimates = estimates, before: list[Region] = before
                      ) -> Sequence[ir.Statement]:
            before.append(region)
            if not launches.gather(region.statements):
                return region.statements
            for earlier in before:
                parts = steps_of(earlier, launches.kernels)
                estimates.learn(parts.first, parts.steps)
            before.clear()
            return change(region, parts, estimates)

        yield rewrite_regions(function, region_of)


def without_dead_code(program: ir.Program, untidy: Collection[str]) -> ir.Program:
    program = drop_uncalled(program)
    before, program = program, tidy_kernels(program, untidy)
    while program is not before:
        before, program = program, drop_dead_code(program)
    return drop_uncalled(program)


# Finding work ---------------------------------------------------------------------------------

class Launches:
    """The arrays that launches of the program's kernels make and that `can` be pulled, and those that they gather."""

    def __init__(self, program: ir.Program, failing: Collection[str], can: Callable[[ir.Bind, Collection[str]], bool]
                 ) -> None:
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.cheap = {name for name, kernel in self.kernels.items() if any(can(bind, failing) for bind in kernel.binds)}
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
    """Is it a cheap MAP whose elements can be computed one by one?"""
    return isinstance(bind.soac, ir.Map) and cheap_work(bind.soac.thunk.body) is not None \
        and one_by_one(bind, failing)


def one_by_one(bind: ir.Bind, failing: Collection[str]) -> bool:
    """Is it a MAP that cannot fail, whose elements depend on no index but the flat one?"""
    match bind.soac:
        case ir.Map(thunk, _):
            return not scope.can_fail(thunk.body, failing) \
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

    def statements(self, names: Names, made: list[ir.Kernel], version: str = "") -> list[ir.Statement]:
        """The steps as statements; those that are rewritten launch kernels of their own, which go to `made`. `version`
        ends their names."""
        return [self.launch(step, names, made, version) if step.name in self.changed else as_written(step.statement)
                for step in self.steps.values()]

    def launch(self, step: RegionStep, names: Names, made: list[ir.Kernel], version: str) -> ir.Statement:
        results = {param.name for param in scope.results(step.statement)}
        called = step.statement.kernel if isinstance(step.statement, ir.Run) else ""
        kernel, run = merge(names.fresh(f"{called}{version}"), [step], (), results, self.types, {}, {})
        made.append(kernel)
        return run

    def candidates(self) -> list[Candidate]:
        readers: dict[str, dict[str, RegionStep]] = {}
        for step in self.steps.values():
            for name in self.gathered[step.name]:
                readers.setdefault(name, {})[step.name] = step
        found = []
        for step in self.steps.values():
            if step.bind is not None and not readers.keys().isdisjoint(step.bind.names) \
                    and self.can(step.bind):
                [thunk] = thunks(step.bind.soac)
                those = {key: reader for name in step.bind.names for key, reader in readers.get(name, {}).items()}
                reads = len(scope.reads(thunk.body))
                found.append(Candidate(step.name, step.bind, thunk, tuple(those.values()), reads))
        return found

    def can(self, bind: ir.Bind) -> bool:
        return can_be_pulled(bind, self.failing)

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
