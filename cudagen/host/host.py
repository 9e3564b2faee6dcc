"""The host level at work: runs the instructions of a program's functions, with kernels on a device.

  in    ir.Program, flat values for the entry's arguments, a device that has the program's kernels
  out   the flat value of the entry's result
  how   a loop over instructions (cudagen.host.nodes) with an explicit stack of frames, so that NESL may recur as deep
        as memory allows. Arrays are counted by the slots that hold them and freed with the last.

The device's error word is looked at before the host relies on what kernels computed: before it computes, branches or
calls, before a kernel gets a size that another one found, before effects and at the end of functions; also before any
other error is raised, since an earlier failing check may be what caused it. Before launches and calls the host looks at
the clock, and at whether it was interrupted.
"""
from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, NoReturn

import numpy as np

from nessie.base import effects
from nessie.base.call_graph import reachable
from nessie.base.records import dataclass
from nessie.base.source import UNCHECKED, InternalError, Interrupted, NessieError, Origin, called_from, places
from nessie.base.system.deadline import deadline
from nessie.base.system.deep import interruptible
from nessie.base.system.forking import cached_property
from nessie.base.system.limits import out_of_memory, too_deep
from nessie.base.values import DTYPES, OnDevice
from nessie.cudagen.host import nodes as instructions
from nessie.cudagen.host.choices import holds, measured, resolved
from nessie.cudagen.host.device import (
    ENDLESS,
    INDEX_BITS,
    NO_FAILURE,
    NO_STACK,
    TOO_DEEP,
    Array,
    Device,
    Held,
    Outgrown,
    OutOfMemory,
    elements,
    said_beyond,
)
from nessie.cudagen.host.evaluate import HostFailure, Surroundings, evaluate, plain
from nessie.cudagen.host.limits import ACTIVATION, HostLimits, bytes_waiting
from nessie.cudagen.host.nodes import (
    Code,
    Compute,
    Constant,
    Decide,
    Drop,
    Give,
    Instruction,
    Invoke,
    Jump,
    JumpUnless,
    Known,
    Launch,
    Move,
    Operand,
    Perform,
    Results,
    Slots,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import bases, from_names, to_names, type_of_layout
from nessie.lambda_cu.running.calls import RunningCalls
from nessie.lambda_cu.running.empty_kernels import EmptyResult, empty_run
from nessie.lambda_cu.running.recursion import calls_of, counts_up, origin_of, way_to
from nessie.lambda_cu.scope import calls_in, inner_calls

__all__ = ["HostLimits", "Stats", "execute"]

MOVING = (Jump, Move, Drop)             # what the host level's statements become beside the work

ARRAYS = (np.ndarray, OnDevice)
Frame = list[Any]                       # what the slots hold; None where nothing


@dataclass
class Stats:
    """The counts of the host level, in statements of lambda_cu; the device counts kernels."""
    steps: int = 0
    deepest: int = 0                    # calls within calls
    peak: int = 0                       # bytes in use on the device after a launch, at most
    calls: list[str] = field(default_factory=list)      # the functions that are running, outermost first
    versions: dict[tuple[str, bool], int] = field(default_factory=lambda: defaultdict(int))     # taken so often, or not
    conditions: dict[str, list[ir.Exp]] = field(default_factory=dict)   # of versions, each time that none went by them


def execute(program: ir.Program, translated: instructions.Program, arguments: Sequence[Any], device: Device,
            limits: HostLimits | None = None, stats: Stats | None = None, perform: effects.Perform = effects.no_effects,
            deliver: Callable[[Array], Any] | None = None) -> Any:
    """Call the program's entry; its functions are as translated. `perform` does its effects; `deliver` gives the caller
    an array of the result, which otherwise is downloaded."""
    limits = limits or HostLimits()
    host = Host(program, translated, device, limits, stats or Stats(), perform)
    host.deliver = deliver or host.deliver
    device.begin(limits.on_device, limits.rounds, limits.calls)
    try:
        with interruptible(device.interrupt):
            return host.call_entry(arguments)
    except KeyboardInterrupt:
        device.interrupt()
        raise host.interruption(()) from None
    except BaseException:
        device.interrupt()                      # what still runs, and nobody waits for
        raise
    finally:
        host.release_all()


@dataclass
class Activation:
    """A function that is running: its code, where it is, what it holds, and where its caller wants the results. While
    it waits for one that it calls, `size` is the bytes that it takes."""
    code: Code
    frame: Frame
    at: int = 0
    results: Results = ()
    origin: Origin = ()
    size: int = 0


@dataclass
class Trials:
    """Which calls native code has tried in vain: the least elements among the arguments, by functions."""
    codes: Mapping[str, Code]
    most: dict[str, float] = field(default_factory=dict)

    def is_worth(self, function: str, values: Sequence[Held]) -> bool:
        if function not in self.most:
            calls = {code.name: [i.function for i in code.instructions if isinstance(i, Invoke)]
                     for code in self.codes.values()}
            reached = reachable(calls, (function,))
            effects = any([isinstance(i, Perform) for name in reached for i in self.codes[name].instructions])
            self.most[function] = -1 if effects else math.inf
        return elements(values) <= self.most[function]

    def failed(self, function: str, values: Sequence[Held]) -> None:
        self.most[function] = elements(values) // 2


class Host:
    """One run. The stack's top is the function that is running."""

    def __init__(self, program: ir.Program, translated: instructions.Program, device: Device, limits: HostLimits,
                 stats: Stats, perform: effects.Perform) -> None:
        self.program, self.device, self.limits, self.stats = program, device, limits, stats
        self.codes, self.known = translated.codes, translated.known
        self.bases, self.read = translated.bases, translated.read
        self.translated = translated
        self.calls = RunningCalls(program, device.costs, limits.depth, stats.calls)
        self.perform_effect = perform
        self.deliver: Callable[[Array], Any] = device.download
        self.stack: list[Activation] = []
        self.waiting = 0                        # bytes of all functions that wait
        self.constants: dict[int, Array] = {}
        self.plain: dict[int, Callable[[Frame], Any] | None] = {}       # of instructions, by identity
        self.unread: set[Operand] = set()       # the top frame's scalars from kernels since the last look
        self.launched: Origin = ()              # of the last kernel: what an interruption has cut short
        self.kernel: Known | None = None        # that one
        self.deadline = deadline()
        self.native = device.native(self)       # calls functions in native code, if the device has that
        self.trials = Trials(self.codes)

    @cached_property
    def tunables(self) -> dict[str, int]:
        return {tunable.name: tunable.value for tunable in self.translated.tunables} | dict(self.limits.tuning)

    @cached_property
    def functions(self) -> dict[str, ir.ScalarFunction]:
        return {f.name: f for f in self.program.scalar_functions}

    # The loop -----------------------------------------------------------------------------------

    def call_entry(self, arguments: Sequence[Any]) -> Any:
        entry = self.program.entry
        held: list[Held] = []
        try:
            for value, layout, types in zip(arguments, entry.arguments, self.bases, strict=True):
                held += map(self.upload, to_names(value, layout), types)
            if self.native is not None:
                given, held = held, []
                results = self.native.call(self.codes[entry.function], given, ())
                return self.read(iter([self.download(value) for value in results]))
            self.enter(self.codes[entry.function], held, (), ())
        finally:
            for argument in held:
                self.unhold(argument)
        return self.read(iter([self.download(value) for value in self.run()]))

    def run(self) -> list[Held]:
        """Run instructions until the entry gives its results, which are still held."""
        while True:
            activation = self.stack[-1]
            instruction = activation.code.instructions[activation.at]
            activation.at += 1
            if isinstance(instruction, Launch):
                self.stats.steps += 1
                self.launch(instruction, activation.frame)
                self.drop(instruction.dead, activation.frame)
            elif isinstance(instruction, Give):
                self.look(())                   # while the stack says where the function's kernels were launched
                frame = activation.frame
                results = [frame[r] if isinstance(r, int) else r.value for r in instruction.results]
                for result in results:
                    hold(result)
                self.drop(instruction.dead, activation.frame)
                self.stack.pop()
                self.calls.end()
                if not self.stack:
                    return results
                self.waiting -= self.stack[-1].size
                self.unread = moved(self.unread, instruction.results, activation.results)
                self.assign(activation.results, results, self.stack[-1].frame)
                for result in results:
                    self.unhold(result)
            else:
                self.step(instruction, activation)

    def step(self, instruction: Instruction, activation: Activation) -> None:
        frame = activation.frame
        self.stats.steps += not isinstance(instruction, MOVING)
        match instruction:
            case Compute(result, _, _, dead):
                value = self.compute(instruction, frame)
                if result is not None:
                    frame[result] = value
                self.drop(dead, frame)
            case Decide(result, dead=dead):
                if result is not None:
                    frame[result] = self.decide(instruction, frame)
                self.drop(dead, frame)
            case Constant(result, base, values):
                self.assign((result,), (self.constant(instruction, base, values),), frame)
            case Invoke(results, function, arguments, dead, origin=origin):
                self.poll(origin)
                self.look(origin)
                if function in self.device.offers and self.apart(instruction, frame):
                    self.drop(dead, frame)
                    return
                if self.tried(instruction, frame):
                    return
                if self.native is None and self.device.patience < self.stats.steps:
                    self.native = self.device.native(self)
                if self.native is not None:
                    self.invoke_native(instruction, frame)
                    return
                self.enter(self.codes[function], [self.value(a, frame) for a in arguments], results, origin)
                self.drop(dead, frame)
                activation.size = bytes_waiting(frame)
                self.waiting += activation.size
            case Perform(dead=dead):
                self.perform(instruction, frame)
                self.drop(dead, frame)
            case JumpUnless(condition, target, dead, origin=origin):
                if condition in self.unread:
                    self.look(origin)
                if not self.value(condition, frame):
                    activation.at = target
                self.drop(dead, frame)
            case Jump(target):
                activation.at = target
            case Move(results, sources, dead):
                self.assign(results, [self.value(s, frame) for s in sources], frame)
                self.unread.update(moved(self.unread, sources, results))
                self.drop(dead, frame)
            case Drop(dead):
                self.drop(dead, frame)

    def apart(self, offer: Invoke, frame: Frame) -> bool:
        """Have the device do all that is offered, if there is anything, and memory for it. Whether it has done it, or
        given up, is the first result."""
        arguments = [self.value(a, frame) for a in offer.arguments]
        if not arguments[0]:
            return False
        try:
            found = self.device.launch(offer.function, arguments, ())
        except OutOfMemory:
            return False
        self.stats.peak = max(self.stats.peak, self.device.used())
        self.assign(offer.results, found, frame)
        return True

    def tried(self, instruction: Invoke, frame: Frame) -> bool:
        """Has native code done the call, for a device that lets it try with little? It begins anew in Python if its
        arrays become large, so it must have no effects; the next attempt is with half as much."""
        given = [self.value(a, frame) for a in instruction.arguments]
        attempt = self.device.attempt(self, given)
        if attempt is None or not self.trials.is_worth(instruction.function, given):
            return False
        run, little = attempt
        for value in [value for value in little for _ in range(2)]:
            hold(value)                         # twice: one hold is the machine's, one is for another attempt
        self.native = run
        try:
            results = run.call(self.codes[instruction.function], little, instruction.origin)
        except Outgrown:
            self.trials.failed(instruction.function, little)
            results = None
        finally:
            run.end()
            self.native = None
            for value in little:
                self.unhold(value)
        if results is not None:
            self.drop(instruction.dead, frame)
            self.assign(instruction.results, results, frame)
            for value in results:
                self.unhold(value)
        return results is not None

    def invoke_native(self, instruction: Invoke, frame: Frame) -> None:
        """The call, in native code from here on."""
        assert self.native is not None
        given = [self.value(a, frame) for a in instruction.arguments]
        for value in given:
            hold(value)
        self.drop(instruction.dead, frame)
        size = bytes_waiting(frame)
        self.waiting += size
        results = self.native.call(self.codes[instruction.function], given, instruction.origin)
        self.waiting -= size
        self.assign(instruction.results, results, frame)
        for value in results:
            self.unhold(value)

    def enter(self, code: Code, arguments: Sequence[Held], results: Results, origin: Origin) -> None:
        most = self.calls.beyond(code.name, len(self.stack))
        if most is not None:
            raise self.error(too_deep(most), origin, self.limits.hints.depth)
        if self.waiting:
            self.check_stack(origin)
        frame: Frame = [None] * code.slots
        self.assign(code.parameters, arguments, frame)
        self.stack.append(Activation(code, frame, 0, results, origin))
        self.calls.begin(code.name)
        self.stats.deepest = max(self.stats.deepest, len(self.stack))

    def check_stack(self, origin: Origin) -> None:
        """Refuse a call where those that wait take all memory, or all that a stack may have."""
        memory, most = self.limits.host_memory, self.limits.stack
        used = self.limits.held + self.waiting
        if memory is None:                      # the stack lies where arrays do
            memory, used = self.limits.memory, used + self.device.used()
        if memory is not None and used + ACTIVATION > memory:
            raise self.error(out_of_memory(ACTIVATION, used, memory), origin, self.limits.hints.memory)
        if most is not None and self.waiting > most:
            raise self.error(f"recursion takes more than {most:,} bytes, {self.depth():,} calls deep", origin,
                             self.limits.hints.depth)

    # Slots --------------------------------------------------------------------------------------

    def value(self, operand: Operand, frame: Frame) -> Held:
        return operand.value if isinstance(operand, ir.Const) else frame[operand]

    def assign(self, results: Results, values: Sequence[Held], frame: Frame) -> None:
        """Into empty slots. What nobody reads is freed, unless something else holds it."""
        for slot, value in zip(results, values, strict=True):
            if slot is not None:
                frame[slot] = value
                if isinstance(value, Array):
                    value.uses += 1
            elif isinstance(value, Array) and value.uses == 0:
                self.device.free(value)

    def assign_uploaded(self, results: Results, values: Sequence[Any], bases: Sequence[str], frame: Frame) -> None:
        """Assign scalars and NumPy arrays, which are uploaded, of elements of these types."""
        found = list(map(self.upload, values, bases))
        self.assign(results, found, frame)
        for value in found:
            self.unhold(value)

    def drop(self, dead: Slots, frame: Frame) -> None:
        for slot in dead:
            value, frame[slot] = frame[slot], None
            if isinstance(value, Array):
                self.unhold(value)

    def unhold(self, value: Held) -> None:
        if isinstance(value, Array):
            value.uses -= 1
            if value.uses == 0:
                self.device.free(value)

    def release_all(self) -> None:
        """After an error: whatever frames still hold; and the constants."""
        if self.native is not None:
            self.native.end()
        for activation in self.stack:
            self.drop(tuple(slot for slot, held in enumerate(activation.frame) if held is not None), activation.frame)
        self.stack.clear()                      # an error may be kept, and its traceback keeps the host
        for array in self.constants.values():
            self.unhold(array)

    # Work ---------------------------------------------------------------------------------------

    def launch(self, instruction: Launch, frame: Frame) -> None:
        origin = instruction.origin
        if self.device.interrupted or self.deadline.passed():
            self.poll(origin)
        if self.unread and not self.unread.isdisjoint(a for a in instruction.arguments if isinstance(a, int)):
            self.look(origin)
        arguments = [frame[a] if isinstance(a, int) else a.value for a in instruction.arguments]
        kernel = self.known.get(instruction.kernel) or self.know(instruction.kernel)
        if kernel.idle is not None and not any([arguments[number] for number in kernel.idle.sizes]):
            gives = kernel.idle.gives
            self.assign_uploaded(instruction.results, [empty_value(given) for given in gives],
                                 ["" if isinstance(given, ir.Const) else given[0] for given in gives], frame)
            return
        if not self.failure_is_awaited() or self.device.failure() == NO_FAILURE:
            self.launched, self.kernel = origin, kernel
        try:
            found = self.device.launch(instruction.kernel, arguments, spare(instruction, arguments))
        except Exception as error:
            self.stumble(error, origin)
        used = self.device.used()
        if used > self.stats.peak:
            self.stats.peak = used
        self.assign(instruction.results, found, frame)
        for slot, value in zip(instruction.results, found, strict=True):
            if slot is not None and not isinstance(value, Array):
                self.unread.add(slot)

    def failure_is_awaited(self) -> bool:
        """Is it to be known before the next launch whether the last has failed? Where kernels skip themselves, only if
        it has calls: what went round too often in them is told by the kernel, and by where it was launched."""
        return not self.device.skips or (self.kernel is not None and self.kernel.calls)

    def know(self, name: str) -> Known:
        """The kernel of this name."""
        if name not in self.known:
            kernel = next(k for k in self.program.kernels if k.name == name)
            self.known[name] = Known(kernel, empty_run(kernel, self.functions), bool(calls_of(kernel)))
        return self.known[name]

    def compute(self, instruction: Compute, frame: Frame) -> Held:
        origin = instruction.origin
        if id(instruction) not in self.plain:
            self.plain[id(instruction)] = plain(instruction.value, instruction.names)
        direct = self.plain[id(instruction)]
        if direct is not None:
            if not self.unread.isdisjoint(instruction.names.values()):
                self.look(origin)
            found: Held = direct(frame)
            return found

        known: dict[tuple[str, int], Any] = {}  # what is read twice is asked for once

        def read(array: str, index: int) -> Any:
            held: Array = frame[instruction.names[array]]
            if not 0 <= index < held.length:
                raise self.error(f"index {index} is out of range, and no check has found it", origin, UNCHECKED)
            if (array, index) not in known:
                known[array, index] = self.device.read(held, index)
            return known[array, index]

        self.look(origin)
        names = {name: frame[slot] for name, slot in instruction.names.items()}
        def poll(rounds: int, call: ir.CallScalar) -> None:
            self.poll(origin)
            if rounds > self.limits.rounds and not counts_up(self.functions[call.function]):
                way = way_to(call, calls_in(instruction.value), self.functions)
                raise self.error(too_deep(self.limits.rounds), way or origin, self.limits.hints.depth)

        around = Surroundings(self.functions, read, poll)
        try:
            value: Held = self.guarded(lambda: evaluate(instruction.value, names, around)[0], origin)
            return value
        except HostFailure as failure:
            site = next(s for s in self.program.sites if s.name == failure.site)
            raise self.error(site.message, site.origin or origin) from None
        except RecursionError:
            raise self.error("a scalar function recurs too deeply", origin, self.limits.hints.depth) from None

    def decide(self, instruction: Decide, frame: Frame) -> bool:
        """Does the condition of a choice's case hold?"""
        if not self.unread.isdisjoint(instruction.names.values()):
            self.look(instruction.origin)
        choice, _, version = instruction.version.rpartition(".")
        only = self.limits.only.get(choice, self.limits.only.get(""))
        if only is None:
            names = {name: frame[slot] for name, slot in instruction.names.items()}
            found = holds(instruction.value, names, self.tunables, self.statistic)
        else:
            names = {name: frame[slot] for name, slot in instruction.names.items()}
            self.stats.conditions.setdefault(instruction.version, []).append(
                resolved(instruction.value, names, self.statistic))
            found = only == version
        self.stats.versions[instruction.version, found] += 1
        return found

    def statistic(self, name: str, offsets: Array) -> int:
        """A statistic of segments, where it takes no waiting: of a CPU's arrays, and of those that came to a GPU."""
        given = self.device.offsets(offsets)
        return ir.UNKNOWN if given is None else measured(name, given)

    def perform(self, instruction: Perform, frame: Frame) -> None:
        """An effect: its argument comes from the device, its result goes there."""
        origin = instruction.origin
        self.poll(origin)
        self.look(origin)
        held = [self.value(a, frame) for a in instruction.arguments]
        argument = from_names([self.device.download(h) if isinstance(h, Array) else h for h in held], instruction.takes)
        try:
            result = self.perform_effect(instruction.effect, argument, type_of_layout(instruction.takes))
        except NessieError as failure:
            failure.places = located("", origin, self.origins()).places
            raise
        gives = instruction.gives
        self.assign_uploaded(instruction.results, to_names(result, gives), bases(gives), frame)

    def constant(self, instruction: Constant, base: str, values: tuple[Any, ...]) -> Array:
        """Constant arrays are made once in a run, and held until its end."""
        if id(instruction) not in self.constants:
            self.constants[id(instruction)] = self.upload(array_of(base, values), base)
        return self.constants[id(instruction)]

    def upload(self, value: Any, base: str) -> Any:
        """A scalar, or an array of elements of this type on the device, held once."""
        if not isinstance(value, ARRAYS):
            return value
        try:
            array = self.device.upload(base, value)
        except Exception as error:
            self.stumble(error, ())
        array.uses += 1
        return array

    def download(self, value: Held) -> Any:
        if not isinstance(value, Array):
            return value
        try:
            result = self.deliver(value)
        except Exception as error:
            self.stumble(error, ())
        self.unhold(value)
        return result

    # What can go wrong --------------------------------------------------------------------------

    def guarded(self, work: Callable[..., Any], origin: Origin, *arguments: Any) -> Any:
        """work(*arguments), by the device."""
        try:
            return work(*arguments)
        except Exception as error:
            self.stumble(error, origin)

    def stumble(self, error: Exception, origin: Origin) -> NoReturn:
        """Raise what the device's error is to the user. An earlier failing check is the reason to report, if any."""
        match error:
            case OutOfMemory():
                limit = error.limit if self.limits.memory is None else self.limits.memory
                raise self.error(out_of_memory(error.wanted, error.used + self.limits.held, limit), origin,
                                 self.limits.hints.memory) from None
            case HostFailure() | NessieError() | RecursionError():
                raise error
        self.check(origin)
        raise InternalError(f"the device stumbled: {type(error).__name__}: {error}") from error

    def look(self, origin: Origin) -> None:
        """The host is about to rely on what kernels computed. An interrupted kernel has computed nothing."""
        self.unread.clear()
        self.check(origin)
        if self.device.interrupted:
            self.poll(self.launched or next(self.origins(), ()) or origin)

    def check(self, origin: Origin) -> None:
        """Raise the error that kernels have recorded, if any."""
        key = self.device.failure()
        if key != NO_FAILURE:
            if key >> INDEX_BITS >= len(self.program.sites):
                raise self.beyond_sites(key >> INDEX_BITS)
            site = self.program.sites[key >> INDEX_BITS]
            label = f"at element {key & ((1 << INDEX_BITS) - 1)}" if site.element else ""
            raise located(site.message, site.origin or origin, self.origins(), label)

    def beyond_sites(self, number: int) -> NessieError:
        """The error that a site number says that is none of the program's."""
        what, at = said_beyond(number, len(self.program.sites))
        call = inner_calls(self.program.scalar_functions)[at]
        origin = origin_of(call, self.kernel.kernel if self.kernel else None, self.launched, self.functions)
        hints = self.limits.hints
        message, hint = {ENDLESS: (too_deep(self.limits.rounds), hints.depth),
                         TOO_DEEP: (too_deep(self.limits.calls), hints.depth),
                         NO_STACK: ("recursion is deeper than the stack allows", hints.stack)}[what]
        return located(message, origin, self.origins(), hint=hint)

    def poll(self, origin: Origin) -> None:
        """Notice the time and interruptions."""
        if self.deadline.passed():
            self.check(origin)
            raise self.deadline.error(*located("", origin, self.origins()).places)
        if self.device.interrupted:
            self.check(origin)
            raise self.interruption(origin)

    def interruption(self, origin: Origin) -> Interrupted:
        """The error of a Ctrl-C, here or where the last kernel was launched."""
        origin = origin or self.launched or next(self.origins(), ())
        return Interrupted("interrupted", *located("", origin, self.origins()).places)

    def origins(self) -> Iterator[Origin]:
        """Where the functions that are running were called, innermost first."""
        if self.native is not None:
            yield from self.native.origins()
        yield from (activation.origin for activation in reversed(self.stack))

    def depth(self) -> int:
        """How many functions are running."""
        return self.native.depth() if self.native is not None and self.native.running else len(self.stack)

    def error(self, message: str, origin: Origin, hint: str = "") -> NessieError:
        """The error, unless kernels have recorded one before it."""
        self.check(origin)
        return located(message, origin, self.origins(), hint=hint)


def spare(instruction: Launch, arguments: Sequence[Held]) -> Sequence[int]:
    """The numbers of the arrays among the arguments that nothing but this launch holds, and it only once."""
    return [number for number in instruction.last if isinstance(held := arguments[number], Array) and held.uses == 1]


def located(message: str, origin: Origin, calls: Iterable[Origin], label: str = "", hint: str = "") -> NessieError:
    """The error where the user wrote what failed, or the nearest call that leads there; and the calls around it."""
    return NessieError(message, *places(called_from(origin, calls), label), hint=hint)


def moved(unread: set[Operand], sources: Sequence[Operand], results: Results) -> set[Operand]:
    """The slots among `results` that get unread scalars."""
    return {slot for source, slot in zip(sources, results, strict=True)
            if isinstance(source, int) and source in unread and slot is not None}


def empty_value(given: EmptyResult) -> Any:
    """The result of a launch over nothing, as a scalar or a NumPy array."""
    return given.value if isinstance(given, ir.Const) else array_of(*given)


def array_of(base: str, values: Sequence[Any]) -> Any:
    return np.array(list(map(ord, values)) if base == "char" else values, DTYPES[base])


def hold(value: Held) -> None:
    if isinstance(value, Array):
        value.uses += 1
