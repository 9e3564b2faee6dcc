"""Calls a program's functions on flat values. A call is compiled for its types and layouts, and the code is kept.

A function at the types of its arguments is one program (Typed). It is compiled (Compiled) for a target and for the
layouts of the arguments; the disk cache keeps the compiled code, too. A device runs one call at a time. A call takes an
idle device or makes another, so that any number of threads may call. Compilations, and calls with effects, run one at a
time. A thread that finds nothing kept looks again when it has the lock, as another may have compiled it meanwhile.
"""
from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from nessie.api.lengths import check_result
from nessie.api.plans import MOST, PATIENCE, Callers, Kinds, Names, Plan, Take, always, taking, taking_in_form
from nessie.api.values.results import check_leaves
from nessie.api.values.sequences import check_offsets
from nessie.api.values.taking import Taken
from nessie.base.source import Interrupted, NessieError, as_error, blamed
from nessie.base.system.deadline import NEVER, Deadline
from nessie.base.system.deep import run_deep
from nessie.base.system.forking import STEADY, anew_in_children, cached_property
from nessie.base.types import Scheme, Type
from nessie.base.values import DTYPES
from nessie.cudagen.host import host
from nessie.cudagen.host.memory import Memory, Pooled
from nessie.cudagen.host.nodes import Compute, Invoke, Perform
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import layout_of_value, to_names
from nessie.lambda_cu.parts import children, subexpressions
from nessie.lengths.told import Told
from nessie.mono import nodes as mono
from nessie.mono.copies.copies import monomorphic_expression
from nessie.mono.copies.erase import erase
from nessie.program_cache import cached_program
from nessie.running.target_names import DASK, GPUS, target_of_code
from nessie.running.targets import Limits, Target, Where
from nessie.session.calling import tuple_of
from nessie.session.progress import progress_of_call, types_python
from nessie.session.session import Session
from nessie.syntax import nodes as syntax
from nessie.syntax.types import tells_lengths
from nessie.typing import infer
from nessie.typing import nodes as typed
from nessie.typing.environment import Entry, Environment, pattern_type

if TYPE_CHECKING:
    from nessie.cudagen.cpu.assemble import CpuProgram
    from nessie.cudagen.cuda.link import GpuProgram
    from nessie.cudagen.native.calling import Caller

COMPILING = STEADY                  # a fork waits for who compiles
ALL: WeakSet[Calls] = WeakSet()
SHALLOW = 100                   # nested expressions that any thread's stack has room for
LOOKED_UP = 0.5                 # seconds until free memory is looked up again

Key = tuple[str, syntax.TypeExp | None, Kinds]      # of a plan: a function, the type that is asked for, the arguments


@dataclass(frozen=True)
class Number:
    """A reference to the argument of this number, from 0."""
    number: int


@dataclass
class Compiled:
    """Code that a target runs for calls of a function (nessie.program_cache), and idle devices that have it loaded.
    After `patience` more calls on a CPU, its callers run it, if it can have any."""
    function: str
    built: CpuProgram | GpuProgram | ir.Program
    ready: Callable[[], object]     # waits for what devices need, such as workers; others compile meanwhile
    make: Callable[[], Any]
    alone: bool                 # must calls go one by one?
    plain: bool                 # can machines of native code run it on a stack of the usual size?
    shallow: bool               # does any run take a stack of the usual size?
    idle: list[Any] = field(default_factory=list)
    patience: int = PATIENCE
    callers: Callers | None = None

    def device(self) -> Any:
        try:
            return self.idle.pop()
        except IndexError:
            self.ready()
            with COMPILING:
                return self.make()


@dataclass(frozen=True, eq=False)
class Typed:
    """A `function` at types, as a program. Each of its `parameters` is the number of an argument or the value of a
    top-level variable. `variables`: the values of those that it uses, by internal name. `exp` is the call, whose
    arguments are variables of these `names` of the environment; `compiled` has its code by layouts and target."""
    function: str
    exp: typed.Exp
    names: tuple[str, ...]
    environment: Environment
    program: mono.Program
    parameters: tuple[Any, ...]
    variables: dict[str, Any]
    result: Type
    compiled: dict[tuple[tuple[ir.Layout, ...], str], Compiled] = field(default_factory=dict)

    def arguments(self, values: Sequence[Any]) -> list[Any]:
        return [values[p.number] if isinstance(p, Number) else p for p in self.parameters]

    @property
    def shallow(self) -> bool:
        """Has it run before, and needs no deep stack? For other layouts, it is compiled on a thread that has one."""
        return bool(self.compiled) and all([compiled.shallow for compiled in self.compiled.values()])

    def layouts(self, given: Sequence[Any]) -> tuple[ir.Layout, ...]:
        """The layouts of these arguments of the program."""
        return tuple([layout_of_value(type_, v) for type_, v in zip(self.types, given, strict=True)])

    @cached_property
    def types(self) -> list[Type]:
        """The types of the program's arguments."""
        entry = next(f for f in self.program.functions if f.name == self.program.entry)
        return [p.type for p in entry.parameters]


@dataclass(eq=False)
class Calls:
    """Calls of the functions of a session, whose values they may use."""
    session: Session
    threads: int | None = None
    limits: Limits = field(default_factory=Limits)
    where: Where = field(default_factory=Where)
    typed: dict[tuple[str, tuple[Type, ...], tuple[str, ...]], Typed] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    performing: AbstractContextManager[Any] = field(default_factory=threading.RLock)    # what prints may call again
    found_free: dict[str, tuple[int, float]] = field(default_factory=dict)
    plans: dict[Key, Plan | int | None] = field(default_factory=dict)       # int: calls until there may be one

    def call(self, function: str, taken: Taken, target: str, limit: Deadline = NEVER) -> tuple[Any, Type, list[Any]]:
        """The flat result, its type, and the values of top-level variables whose memory it may share."""
        def work() -> tuple[Any, Type, list[Any]]:
            found = self.at_types(function, taken.types, taken.names)
            given = found.arguments(taken.values)
            variables = [*found.variables.values()]
            seed = self.session.target.world.seed
            try:
                return self.run(found, given, taken, target), found.result, variables
            except Exception as error:
                raise self.told(error, found, lambda: taken, seed) from error.__cause__
        found = self.typed.get((function, taken.types, taken.names))
        if found is not None and limit is NEVER and found.shallow and not types_python():
            return work()           # a change of threads takes as long as a small call
        with progress_of_call(self.session.job.activity) as meanwhile:
            return run_deep(work, limit, meanwhile=meanwhile)

    def told(self, error: Exception, found: Typed, taken: Callable[[], Taken], seed: int) -> Exception:
        """The error of a call, as Python is told: with the failing values; without checks, as the program's fault."""
        if isinstance(error, Interrupted):              # it has no values, and is awaited
            return error
        if isinstance(error, NessieError):
            return self.with_values(error, found, taken(), seed)
        return blamed(as_error(error), True) if self.session.job.unchecked else error

    def with_values(self, error: NessieError, found: Typed, taken: Taken, seed: int) -> NessieError:
        """The error of this call, with the failing values if they are found soon."""
        with STEADY:
            from nessie.session.with_values import with_values  # only mistakes need it
        values = self.session.values | dict(zip(found.names, taken.values, strict=True))
        return run_deep(lambda: with_values(error, found.exp, values, found.environment, seed))

    def __post_init__(self) -> None:
        ALL.add(self)

    def release_memory(self) -> int:
        """Give the memory that no call uses back to the system. Returns the number of bytes."""
        idle = [device for found in list(self.typed.values()) for compiled in list(found.compiled.values())
                for device in list(compiled.idle)]
        for compiled in [c for found in list(self.typed.values()) for c in list(found.compiled.values())]:
            if compiled.callers is not None:
                compiled.callers.give_back()
        memories: list[Pooled] = [self.memory, *[device.memory for device in idle]]
        return sum([memory.release_kept() for memory in memories])

    def forget(self) -> None:
        """Drop the compiled calls, as the program has changed."""
        self.typed, self.plans = {}, {}

    def close(self) -> None:
        """Workers that were started for calls end, and devices on them. No call asks for others."""
        for compiled in [c for found in list(self.typed.values()) for (_, name), c in list(found.compiled.items())
                         if name == DASK]:
            compiled.idle.clear()
        for target in [self.target(DASK), *self.targets.values()]:
            target.end()

    # Compiling ----------------------------------------------------------------------------------

    def at_types(self, function: str, types: tuple[Type, ...], by_name: tuple[str, ...]) -> Typed:
        key = function, types, by_name
        found = self.typed.get(key)
        if found is None:
            with COMPILING:
                found = self.typed.get(key)
                if found is None:
                    found = self.typed[key] = self.made_typed(function, types, by_name)
        return found

    def made_typed(self, function: str, types: tuple[Type, ...], by_name: tuple[str, ...]) -> Typed:
        """Type the call as an expression whose variables are the arguments, as the command line does. The last
        arguments are given by name."""
        environment, names = self.session.environment.copy(), []
        for number, type_ in enumerate(types, 1):
            names.append(environment.internal_name(f"argument_{number}"))
            environment.program.entries[names[-1]] = Entry("variable", names[-1], Scheme((), type_))
        items: list[syntax.Exp] = [syntax.Name(name) for name in names]
        ordered = len(items) - len(by_name)
        items[ordered:] = [syntax.Default(name, item) for name, item in zip(by_name, items[ordered:], strict=True)]
        called = syntax.Apply(syntax.Name(function), tuple_of(items))
        program, environment = infer.infer(syntax.Program((syntax.Evaluate(called),)), environment)
        (definition,) = program.definitions
        assert isinstance(definition, typed.Variable)           # an expression is one
        result = pattern_type(definition.pattern)
        check_leaves(f"what {function} gives", result, self.session.content)
        made = monomorphic_expression(environment, definition.value, result)
        numbers = {name: Number(number) for number, name in enumerate(names)}
        variables = {v.name: self.session.values[v.name] for v in made.variables if v.name not in numbers}
        parameters = [numbers[v.name] if v.name in numbers else variables[v.name]
                      for v in made.variables if erase(v.type, environment)]
        return Typed(function, definition.value, tuple(names), environment, made.program, tuple(parameters), variables,
                     result)

    def for_target(self, found: Typed, given: Sequence[Any], target: str) -> Compiled:
        layouts = found.layouts(given)
        key = layouts, target
        compiled = found.compiled.get(key)
        if compiled is None:
            def work() -> Compiled:
                with COMPILING:
                    made = found.compiled.get(key)
                    if made is None:
                        made = found.compiled[key] = self.made_compiled(found, layouts, target)
                    return made
            compiled = run_deep(work)
        return compiled

    def made_compiled(self, found: Typed, layouts: tuple[ir.Layout, ...], name: str) -> Compiled:
        target = self.target(name)
        job = replace(self.session.job, layouts=layouts, target=target_of_code(name))
        built = cached_program(job, found.program)
        if isinstance(built, ir.Program):   # for the reference, which counts in its target, for all programs
            from nessie.lambda_cu.reference import reference  # noqa: F401  no call imports it, as another thread may fork meanwhile
            return Compiled(found.function, built, lambda: None, lambda: None, True, False, False)
        effects = any(isinstance(i, Perform) for code in built.host.functions for i in code.instructions)
        plain = is_plain(built)
        return Compiled(found.function, built, target.ready, lambda: target.device(built), effects, plain,
                        plain and not recurs(built))

    def effect(self, function: str, taken: Taken) -> str:
        """The name of an effect that a call has; '': it has none."""
        found = self.at_types(function, taken.types, taken.names)
        built = self.for_target(found, found.arguments(taken.values), "cpu").built
        assert not isinstance(built, ir.Program)
        instructions = [i for code in built.host.functions for i in code.instructions]
        return next((i.effect for i in instructions if isinstance(i, Perform)), "")

    def target(self, name: str) -> Target:
        if name not in self.targets:
            self.targets[name] = Target(name, self.threads, self.limits, self.session.target.world, where=self.where)
        return self.targets[name]

    # Running ------------------------------------------------------------------------------------

    def run(self, found: Typed, given: list[Any], taken: Taken, name: str) -> Any:
        if taken.device and name not in GPUS:
            raise NessieError(f"an argument lies in a GPU's memory, and the target is {name}",
                              hint="target='cuda' uses it where it is")
        compiled, target = self.for_target(found, given, name), self.target(name)
        memory = self.memory_for(target)
        with self.performing if compiled.alone else nullcontext():
            if compiled.alone:
                target.world.limit(memory, self.limits.hints)
            try:
                if isinstance(compiled.built, ir.Program):
                    return target.on_reference(compiled.built, given, memory)
                return self.on_device(compiled, given, taken, memory, name)
            finally:
                if compiled.alone:
                    target.world.end_line()

    def memory_for(self, target: Target) -> int:
        """Bytes that a call may take. Free memory is looked up again after LOOKED_UP seconds."""
        limit, until = self.found_free.get(target.name, (0, 0.0))
        if time.monotonic() > until:
            limit = target.memory()
            self.found_free[target.name] = limit, time.monotonic() + LOOKED_UP
        return limit

    def on_device(self, compiled: Compiled, given: list[Any], taken: Taken, memory: int, name: str) -> Any:
        built = compiled.built
        assert not isinstance(built, ir.Program)
        if name == "cpu" and (callers := self.callers_when_often(compiled)):
            names = [part for value, layout in zip(given, built.program.entry.arguments, strict=True)
                     for part in to_names(value, layout)]
            return callers.flat_result(callers.call(names, memory))
        device = compiled.device()
        while name == DASK and not device.engine.runs:
            device = compiled.device()
        self.session.job.activity.begin("running", lambda: device.stats.launches, waits=lambda: device.progress)
        if name == "cpu":
            device.memory = self.memory         # what a call has freed, any other may use
        elif name in GPUS:
            self.check_places(device, taken)
        held = taken.copied if self.limits.memory is not None else 0
        limits = self.host_limits(compiled, memory, held)
        try:
            result = host.execute(built.program, built.host, given, device, limits,
                                  perform=self.session.target.world.perform,
                                  deliver=device.left if taken.device else None)
        except NessieError:
            compiled.idle.append(device)
            raise
        compiled.idle.append(device)
        return result

    # The same calls again ------------------------------------------------------------------------

    def plan_for(self, key: Key) -> Plan | None:
        """The plan of calls of this key, if there is one, and nobody watches."""
        plan = self.plans.get(key)
        return plan if isinstance(plan, Plan) and not types_python() else None

    def call_again(self, plan: Plan, names: Names, taken: Callable[[], Taken]) -> Names:
        """What the names of the result hold. `taken`: the arguments, for an error."""
        try:
            return plan.callers.call(names, self.memory_for(self.target("cpu")))
        except Exception as error:
            raise self.told(error, plan.found, taken, self.session.target.world.seed) from error.__cause__

    def called(self, plans: dict[Key, Plan | int | None], key: Key, given: Sequence[Any], taken: Taken, target: str,
               told: Told | None) -> None:
        """Note a call of this key that went well; the last of a few makes the plan. `plans` are those that there were
        before it: another thread may have defined the function anew. `told`: where types tell lengths, what the call
        has told of them."""
        count = plans.get(key, PATIENCE)
        found = self.typed.get((key[0], taken.types, taken.names))
        if not isinstance(count, int) or found is None or self.limits.seconds is not None:
            return
        if len(plans) >= MOST and key not in plans:
            forget_most(plans)
        plans[key] = count - 1
        if count == 1:
            arguments = found.arguments(taken.values)
            compiled = found.compiled.get((found.layouts(arguments), target))
            plans[key] = None if compiled is None else self.planned(found, compiled, given, arguments, key, told)

    def planned(self, found: Typed, compiled: Compiled, given: Sequence[Any], arguments: Sequence[Any], key: Key,
                told: Told | None) -> Plan | None:
        """The plan of calls like this one, in which the values `given` became the program's `arguments`."""
        if compiled.alone or not compiled.plain:
            return None
        takes: list[tuple[int, Take]] = []
        for parameter, argument, type_ in zip(found.parameters, arguments, found.types, strict=True):
            layout = layout_of_value(type_, argument)
            if not isinstance(parameter, Number):           # a variable's value, whatever is given
                takes.append((0, partial(always, to_names(argument, layout))))
                continue
            value = given[parameter.number]
            take = taking_in_form(value, argument, layout) if told is not None and isinstance(value, np.ndarray) else \
                taking(value, argument, type_, self.session.environment.widths)
            if take is None:
                return None
            takes.append((parameter.number, take))
        return Plan(found, takes, found.result, self.callers_of(compiled),
                    None if told is None else self.result_check(*key[:2], told, found.result))

    def result_check(self, function: str, asked: syntax.TypeExp | None, told: Told,
                     type_: Type) -> Callable[[Any], None] | None:
        """What raises NessieError for a result that is not as long as the function's type tells, where the arguments
        have told this. None: it tells nothing, or another type is asked for, with lengths of its own."""
        declared = self.session.declared(function) if asked is None else None
        if declared is None or not tells_lengths(declared.result):
            return None
        return lambda value: check_result(declared.result, told.copy(), value, type_)

    def callers_when_often(self, compiled: Compiled) -> Callers | None:
        """The callers, from some call on, of what can have them; none where somebody watches or copies count."""
        if compiled.alone or not compiled.plain or self.limits.memory is not None or types_python():
            return None
        compiled.patience -= 1
        return self.callers_of(compiled) if compiled.patience < 0 else None

    def callers_of(self, compiled: Compiled) -> Callers:
        if compiled.callers is None:
            with COMPILING:
                if compiled.callers is None:
                    assert not isinstance(compiled.built, ir.Program)
                    layout = compiled.built.program.entry.result
                    compiled.callers = Callers(layout, self.memory, partial(self.caller, compiled))
        return compiled.callers

    def caller(self, compiled: Compiled, memory: int) -> Caller:
        with STEADY:
            from nessie.cudagen.native.calling import Caller  # who calls seldom does without
            device = compiled.device()
            device.memory = self.memory
            assert not isinstance(compiled.built, ir.Program)
            limits = self.host_limits(compiled, memory)
            return Caller(device, limits, self.limits.memory is None)

    def host_limits(self, compiled: Compiled, memory: int, held: int = 0) -> host.HostLimits:
        assert not isinstance(compiled.built, ir.Program)
        tuning, only = self.session.target.tuned(compiled.built, compiled.function)
        return host.HostLimits(self.limits.depth, memory, self.limits.hints, held, tuning=tuning, only=only)

    def check_places(self, device: Any, taken: Taken) -> None:
        """Wait for pending work on arrays on a GPU; check that they are on this device and that offsets are right."""
        if taken.streams:
            device.driver.await_others(taken.streams)
        for place in taken.places:
            if place.length and not device.driver.reaches(place.address):
                raise NessieError("an array lies in the memory of another GPU",
                                  hint="programs run on the first; CUDA_VISIBLE_DEVICES chooses which that is")
        for place, length in taken.unchecked:
            offsets = np.empty(place.length, DTYPES["int"])
            if place.length == 0:
                raise NessieError("the offsets of a Nested have one element at least")
            device.driver.read(place.address, offsets)
            check_offsets(offsets, length)


def recurs(built: CpuProgram | GpuProgram) -> bool:
    """Do functions of the host level call others? Else Python's exceptions reach whoever waits for the kernels."""
    return any(isinstance(i, Invoke) for code in built.host.functions for i in code.instructions)


def is_plain(built: CpuProgram | GpuProgram) -> bool:
    """Does the host level only launch kernels, compute a little, and call its own functions?"""
    for code in built.host.functions:
        for instruction in code.instructions:
            match instruction:
                case Perform():
                    return False
                case Compute(value=value) if any(isinstance(e, ir.CallScalar) for e in subexpressions(value)) or \
                        depth(value) > SHALLOW:
                    return False
    return True


def depth(exp: ir.Exp) -> int:
    """How many expressions lie within one another."""
    level, found = [exp], 0
    while level:
        level, found = [part for e in level for part in children(e)], found + 1
    return found


def forget_most(plans: dict[Key, Plan | int | None]) -> None:
    """Forget the kinds that have no plan, or all of them."""
    for key, plan in list(plans.items()):
        if not isinstance(plan, Plan):
            plans.pop(key, None)
    if len(plans) >= MOST:
        plans.clear()


@anew_in_children
def forked() -> None:
    """Give each Calls a new lock in a forked child, where no other thread runs."""
    for calls in list(ALL):
        calls.performing = threading.RLock()


def release_memory() -> int:
    """Give the memory that Nessie has kept from earlier calls for reuse back to the system, or to the GPU. Returns the
    number of bytes. Arrays that calls have returned, and calls that are running, keep their memory."""
    return sum(calls.release_memory() for calls in list(ALL))
