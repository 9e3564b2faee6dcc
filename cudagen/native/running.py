"""The machine at work for a run of the host level: what it leaves to Python, and what both count.

    Edition     a device's program as records, and the device's machine: made once
    Run         a run's part that calls functions on the machine

The machine leaves at a place: to be asked for memory, to run many chunks on threads, for an effect, for the limits, to
report a failed check, and now and then to let Python look at the time. Python does that one thing and lets it go on.
Errors are raised by nessie.cudagen.host.host, which asks where the functions that are running were called.
"""
from __future__ import annotations

import ctypes
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from nessie.base.call_graph import reachable
from nessie.base.located import Located
from nessie.base.source import UNCHECKED, Origin
from nessie.base.system.limits import too_deep
from nessie.cudagen.host.device import Array, Held, Outgrown, OutOfMemory
from nessie.cudagen.host.limits import ACTIVATION
from nessie.cudagen.host.memory import view
from nessie.cudagen.host.nodes import Code, Compute, Constant, Decide, Instruction, Invoke, Launch, Operand, Perform
from nessie.cudagen.host.translate import slot_types
from nessie.cudagen.loops.plan import Phase, Plan
from nessie.cudagen.native.functions import Known, Place, functions
from nessie.cudagen.native.launches import Kernel, Surrounding
from nessie.cudagen.native.machine import DROPPED, KEY, Machine, at, handle_at, improve, machine, words
from nessie.cudagen.native.records import bits, scalar
from nessie.cudagen.native.words import CODE, FRAME, LEAVES, UNLIMITED, WORD
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.running import default_depths
from nessie.lambda_cu.running.empty_kernels import empty_run

if TYPE_CHECKING:
    from nessie.cudagen.host.host import Host

POLLS = 256                     # polls between two looks at the clock
LONG = 2.0                      # seconds of work for which the machine itself should be optimised
WHY = {number: name for name, number in LEAVES.items()}
DONE = LEAVES["done"]


class Edition:
    """`device` is a nessie.cudagen.cpu.device.Cpu, which makes it for these thresholds. `phases`: those of the plans,
    by the numbers of their functions."""

    def __init__(self, device: Any, circles: dict[str, int], tunables: dict[str, int]) -> None:
        self.device, self.program, self.tunables = device, device.built.program, tunables
        self.step, handlers = machine()
        self.machine = Machine(device.memory)
        self.plans = {plan.name: plan for plan in device.built.plans}
        self.phases: list[tuple[Plan, Phase]] = [(plan, phase) for plan in device.built.plans for phase in plan.phases]
        self.numbers = {(plan.name, phase.function): number for number, (plan, phase) in enumerate(self.phases)}
        self.functions = words(max(1, len(self.phases)))
        self.circles = words(max(circles.values(), default=0) + 1)
        self.empty = {k.name: empty_run(k, {f.name: f for f in self.program.scalar_functions})
                      for k in self.program.kernels}
        types = {f.name: slot_types(f) for f in self.program.functions}
        self.results = {f.name: tuple([r.type for r in f.results]) for f in self.program.functions}
        around = Surrounding(ctypes.addressof(device.errors), ctypes.addressof(device.interrupt_word),
                             device.pool.threads)
        codes = called_from(self.program.entry.function, device.built.host.functions)
        self.calls = any([isinstance(i, Invoke) for code in codes.values() for i in code.instructions])
        known = Known(codes, types, self.kernel,
                      {site.name: number for number, site in enumerate(self.program.sites)}, circles, device.offers,
                      around, tunables)
        records, self.places = functions(known, handlers)
        self.words = (ctypes.c_int64 * len(records.words))(*records.words)
        self.base = ctypes.addressof(self.words)
        for place in records.addresses:
            self.words[place] = self.address(self.words[place])
        self.asked, self.constants = records.asked, records.constants
        self.by_code = {self.address(place.begins): place for place in self.places.values()}
        self.ordered = sorted(self.places.values(), key=lambda place: place.begins)
        self.begins = [place.begins for place in self.ordered]
        for name, value in (("functions", self.functions), ("circles", self.circles), ("errors", device.errors),
                            ("interrupt", device.interrupt_word)):
            self.machine.set(name, ctypes.addressof(value))
        self.linked: Any = None                 # the code that `functions` has addresses of
        self.seconds = 0.0                      # at work with code that is not optimised

    def kernel(self, name: str) -> Kernel:
        plan = self.plans[name]
        alone = None if plan.alone is None else self.kernel(plan.alone.plan)
        numbers = {phase.function: self.numbers[name, phase.function] for phase in plan.phases}
        return Kernel(plan, numbers, self.device.launchers[name].inline, self.empty.get(name), alone)

    def address(self, place: int) -> int:
        return self.base + WORD * place

    def link(self) -> None:
        """Use the device's present code."""
        if self.linked is not self.device.functions:
            self.linked = self.device.functions
            for number, (_, phase) in enumerate(self.phases):
                if not phase.library:
                    self.functions[number] = ctypes.cast(self.linked[phase.function], ctypes.c_void_p).value or 0

    def instruction(self, place: Place, address: int) -> Instruction:
        """The instruction that the record there belongs to."""
        return place.code.instructions[bisect_right(place.instructions, (address - self.base) // WORD) - 1]

    def run(self, host: Host) -> Run:
        """For a run of the host level."""
        return Run(host, self)


class Run:
    """Calls functions on the machine, for a run of the host level. `most`: bytes of an array, or it is Outgrown."""
    most: float = math.inf

    def __init__(self, host: Host, edition: Edition) -> None:
        self.host, self.edition, self.machine, self.device = host, edition, edition.machine, edition.device
        self.machine.memory = self.device.memory
        self.origin: Origin = ()
        self.started = 0                        # calls that Python has running
        self.running = self.broken = self.knows_depths = False
        limit = host.limits.depth
        for place in edition.places.values():
            edition.words[place.begins + CODE.index("most")] = UNLIMITED
        self.machine.set("most_depth", default_depths.LEAST_CALLS if limit is None else limit)
        self.leaves: dict[str, Callable[[], None]] = {
            "poll": self.poll, "memory": self.memory, "handles": self.machine.more_handles, "deep": self.deep,
            "room": self.machine.more_room, "chunks": self.chunks, "failed": self.failed, "asked": self.ask,
            "index": self.out_of_range, "site": self.failed_check}

    # Calls --------------------------------------------------------------------------------------

    def call(self, code: Code, values: Sequence[Held], origin: Origin) -> list[Held]:
        """The function's results. Of each array among the values the caller has held one more, which goes to the
        machine; it holds those among the results."""
        machine, edition = self.machine, self.edition
        place = edition.places[code.name]
        self.origin, self.started = origin, len(self.host.stack)
        self.fill(at(machine.reset(), len(FRAME) + max(len(values), len(edition.results[code.name]))), place, values)
        machine.set("at", edition.address(place.start + len(CODE)))
        machine.set("depth", self.started)
        machine.set("waiting", self.host.waiting)
        self.limit_stack()
        self.count_circles()
        edition.link()
        self.running = True
        try:
            self.work()
            frame = at(machine.get("frame"), len(FRAME) + len(edition.results[code.name]))
            return [machine.taken_out(word, type_.base) if isinstance(type_, ir.Array) else scalar(word, type_)
                    for word, type_ in zip(frame[len(FRAME):], edition.results[code.name], strict=True)]
        except BaseException as error:
            self.broken = True
            if isinstance(error, KeyboardInterrupt):
                self.device.interrupt()
                raise self.host.interruption(()) from None
            raise
        finally:
            self.running = False
            self.count()
            del self.host.calls.names[self.started:]

    def fill(self, frame: Any, place: Place, values: Sequence[Held]) -> None:
        """The base's frame: the arguments."""
        frame[FRAME.index("code")] = self.edition.address(place.start)
        handles: dict[int, int] = {}
        for number, (value, slot) in enumerate(zip(values, place.code.parameters, strict=True)):
            if slot is None:
                self.host.unhold(value)
            elif isinstance(value, Array):
                if id(value) not in handles:
                    kept = [v for v, s in zip(values, place.code.parameters, strict=True) if s is not None]
                    handles[id(value)] = self.pass_on(value, kept.count(value))
                frame[len(FRAME) + number] = handles[id(value)]
            else:
                type_ = place.types[slot]
                assert isinstance(type_, str)
                frame[len(FRAME) + number] = bits(value, type_)

    def pass_on(self, array: Array, uses: int) -> int:
        """A handle of an array that so many slots get; their holds of it are the machine's."""
        ours = array.uses == uses and array.buffer.size > 0         # nothing else holds it
        handle = self.machine.handle_of(array, uses, ours)
        array.uses -= uses
        return handle

    def work(self) -> None:
        """Run until the function is done."""
        machine, edition = self.machine, self.edition
        while True:
            began = perf_counter()
            why = edition.step(machine.address)
            edition.seconds += perf_counter() - began
            if machine.state[DROPPED]:
                for array in machine.dropped():
                    self.host.unhold(array)
            if why == DONE:
                return
            self.leaves[WHY[why]]()

    def count_circles(self) -> None:
        """Of the calls that Python has running."""
        circles, calls = self.edition.circles, self.host.calls
        circles[:] = [0] * len(circles)
        for name in calls.names:
            circles[calls.circles[name]] += 1

    def count(self) -> None:
        """Add what the machine has counted."""
        machine, stats = self.machine, self.device.stats
        stats.launches += machine.get("launches")
        stats.elements += machine.get("elements")
        self.host.stats.steps += machine.get("steps")
        self.host.stats.deepest = max(self.host.stats.deepest, machine.get("deepest"))
        self.host.stats.peak = max(self.host.stats.peak, self.device.used())
        for name in ("launches", "elements", "steps", "deepest"):
            machine.set(name, 0)

    def end(self) -> None:
        """After the run: the machine holds nothing more."""
        machine, held = self.machine, list[Array]()
        made = [place for place in self.edition.constants if self.edition.words[place]]
        if self.broken:
            held = machine.give_all_back()
            self.count_circles()
        else:
            for place in made:
                held.append(machine.theirs[handle_at(self.edition.words[place])[KEY]])
                machine.forget(self.edition.words[place])
            if machine.blocks:
                machine.give_back()
        for place in made:
            self.edition.words[place] = 0
        for array in held:
            self.host.unhold(array)

    # Where it is --------------------------------------------------------------------------------

    def frame(self) -> int:
        return self.machine.get("frame")

    def place(self) -> Place | None:
        """The function that is running; None at the base."""
        return self.edition.by_code.get(at(self.frame(), len(FRAME))[FRAME.index("code")])

    def now(self) -> Instruction | None:
        """The instruction that the machine has left; None: the call from Python."""
        place = self.place()
        return None if place is None else self.edition.instruction(place, self.machine.get("from"))

    def here(self) -> Origin:
        return origin_of(self.now(), self.origin)

    def origins(self) -> Iterator[Origin]:
        """Where the functions that are running were called, innermost first; then Python has more."""
        if not self.running:
            return
        address = self.frame()
        while True:
            frame = at(address, len(FRAME))
            if frame[FRAME.index("code")] not in self.edition.by_code:
                return
            called_at = frame[FRAME.index("results")]
            address -= WORD * frame[FRAME.index("caller")]
            caller = self.edition.by_code.get(at(address, len(FRAME))[FRAME.index("code")])
            call = None if caller is None else self.edition.instruction(caller, called_at - WORD)
            yield origin_of(call, self.origin)

    def depth(self) -> int:
        return self.machine.get("depth")

    # What is left to Python ---------------------------------------------------------------------

    def poll(self) -> None:
        self.machine.set("polls", POLLS)
        self.count()
        self.note_last()
        self.tell_calls()
        self.device.consider(self.edition.seconds)
        if self.edition.seconds > LONG:
            improve()
        self.edition.link()
        self.host.poll(self.here())

    def tell_calls(self) -> None:
        """Tell who watches how many functions are running, and which is the last."""
        names, depth, place = self.host.calls.names, self.depth(), self.place()
        name = place.code.name if place else ""
        del names[max(depth - 1, self.started):]
        names += [name] * (depth - len(names))

    def note_last(self) -> None:
        """Tell the host of the last launch, which an interruption may have cut short."""
        last = self.machine.get("last")
        if last:
            at_ = (last - self.edition.base) // WORD
            place = self.edition.ordered[bisect_right(self.edition.begins, at_) - 1]
            launch = self.edition.instruction(place, last)
            assert isinstance(launch, Launch)
            self.host.launched, self.host.kernel = launch.origin, self.host.know(launch.kernel)
            self.machine.set("last", 0)

    def memory(self) -> None:
        wanted = self.machine.get("wanted")
        if wanted > self.most:
            raise Outgrown
        try:
            self.machine.more_memory(wanted)
        except OutOfMemory:
            self.machine.give_back()
            self.host.guarded(self.machine.more_memory, self.here(), wanted)
        self.limit_stack()

    def limit_stack(self) -> None:
        """So many bytes functions that wait may take, until the device has other memory."""
        if not self.edition.calls:              # none ever waits
            return
        limits = self.host.limits
        memory, used = limits.host_memory, limits.held
        if memory is None:
            memory, used = limits.memory, used + self.device.used()
        most = UNLIMITED if limits.stack is None else limits.stack
        if memory is not None:
            most = min(most, memory - used - ACTIVATION)
        self.machine.set("most_waiting", max(0, most))

    def deep(self) -> None:
        """Refuse the call, or allow more."""
        host, machine, origin = self.host, self.machine, self.here()
        code = at(machine.get("from"), 2)[1]
        name, limit = self.edition.by_code[code].code.name, host.limits.depth
        if limit is None and not self.knows_depths:
            self.knows_depths = True
            machine.set("most_depth", default_depths.MOST_CALLS)
            for place in self.edition.places.values():
                self.edition.words[place.begins + CODE.index("most")] = host.calls.most(place.code.name)
            return
        code_words = at(code, len(CODE))
        if self.edition.circles[code_words[CODE.index("circle")]] >= code_words[CODE.index("most")]:
            raise host.error(too_deep(host.calls.most(name)), origin, host.limits.hints.depth)
        if self.depth() >= machine.get("most_depth"):
            raise host.error(too_deep(machine.get("most_depth")), origin, host.limits.hints.depth)
        machine.give_back()
        host.waiting = machine.get("waiting")
        host.check_stack(origin)
        self.limit_stack()

    def chunks(self) -> None:
        """Many chunks of a phase, by threads."""
        launch = self.launching()
        _, number, _, first, _, chains = at(self.machine.get("from"), 6)
        plan, phase = self.edition.phases[number]
        chunks, packed = self.machine.get("wanted"), self.frame() + WORD * first
        [several] = at(self.frame() + WORD * chains, 1)
        step = self.device.launchers[plan.name]
        self.host.guarded(step.run_chunks, launch.origin, self.device, phase, chunks, packed, several)
        self.edition.link()
        if self.device.interrupted:
            self.host.look(launch.origin)

    def launching(self) -> Launch:
        """Tell the host which kernel is at work."""
        launch = self.now()
        assert isinstance(launch, Launch)
        self.host.launched, self.host.kernel = launch.origin, self.host.know(launch.kernel)
        return launch

    def failed(self) -> None:
        self.host.look(self.launching().origin)

    def failed_check(self) -> None:
        site = self.edition.program.sites[at(self.machine.get("from"), 2)[1]]
        raise self.host.error(site.message, site.origin or self.here())

    def out_of_range(self) -> None:
        record = at(self.machine.get("from"), 4)
        index = at(self.frame() + WORD * record[3], 1)[0]
        raise self.host.error(f"index {index} is out of range, and no check has found it", self.here(), UNCHECKED)

    def ask(self) -> None:
        self.edition.asked[(self.machine.get("from") - self.edition.base) // WORD](self)

    # What records ask for -----------------------------------------------------------------------

    def array(self, slot: int, base: str) -> Array:
        """The array in a slot of the frame."""
        return self.machine.seen(at(self.frame() + WORD * slot, 1)[0], base)

    def sort(self, function: str, arrays: Sequence[Array]) -> None:
        self.device.sort(function, [view(array) for array in arrays])

    def slots(self, instruction: Compute | Decide | Perform | Invoke, operands: Sequence[Operand]) -> list[Any]:
        """A frame of the host with what these slots hold."""
        place = self.place()
        assert place is not None
        held = at(self.frame() + WORD * len(FRAME), max(1, place.code.slots))
        frame: list[Any] = [None] * place.code.slots
        for slot in operands:
            if isinstance(slot, int):
                type_ = place.types[slot]
                if not isinstance(type_, ir.Array):
                    frame[slot] = scalar(held[slot], type_ or "int")
                elif isinstance(instruction, Perform):
                    frame[slot] = self.machine.handed_over(held[slot], type_.base)
                else:
                    frame[slot] = self.machine.seen(held[slot], type_.base)
        return frame

    def put(self, slot: int | None, value: Held) -> None:
        """Into a slot of the frame; an array is held by it."""
        if slot is None:
            return
        place = self.place()
        assert place is not None
        type_ = place.types[slot]
        if isinstance(value, Array):
            word = self.machine.handle_of(value, 1, False)
        else:
            assert isinstance(type_, str)
            word = bits(value, type_)
        at(self.frame() + WORD * (len(FRAME) + slot), 1)[0] = word

    def compute(self, instruction: Compute) -> None:
        frame = self.slots(instruction, tuple(instruction.names.values()))
        self.put(instruction.result, self.host.compute(instruction, frame))

    def decide(self, instruction: Decide) -> None:
        frame = self.slots(instruction, tuple(instruction.names.values()))
        self.put(instruction.result, self.host.decide(instruction, frame))

    def perform(self, instruction: Perform) -> None:
        self.count()
        self.tell_calls()
        frame = self.slots(instruction, instruction.arguments)
        self.host.perform(instruction, frame)
        for slot in instruction.results:
            if slot is not None:
                self.put(slot, frame[slot])
                self.host.unhold(frame[slot])

    def apart(self, instruction: Invoke, left: int) -> None:
        """Have the device do what is offered; the slot `left` says whether that is left to the function."""
        frame = self.slots(instruction, instruction.arguments)
        if self.device.memory.limit is not None:    # arenas are large: the machine keeps none of its memory
            self.machine.give_back()
        done = self.host.apart(instruction, frame)
        at(self.frame() + WORD * left, 1)[0] = not done
        if not done:
            return
        self.host.look(instruction.origin)
        for slot in instruction.results:
            if slot is None:
                continue
            value: Held = frame[slot]
            if isinstance(value, Array):
                at(self.frame() + WORD * (len(FRAME) + slot), 1)[0] = self.pass_on(value, 1)
            else:
                self.put(slot, value)

    def constant(self, instruction: Constant, place: int) -> None:
        array = self.host.constant(instruction, instruction.base, instruction.values)
        self.edition.words[place] = self.machine.handle_of(array, 1, False)


def called_from(entry: str, codes: Sequence[Code]) -> dict[str, Code]:
    """The functions that the entry leads to; others are what the device is offered, and have kernels without plans."""
    calls = {code.name: [i.function for i in code.instructions if isinstance(i, Invoke)] for code in codes}
    found = reachable(calls, (entry,))
    return {code.name: code for code in codes if code.name in found}


def origin_of(instruction: Instruction | None, outside: Origin) -> Origin:
    """Where the instruction comes from; `outside`: the call from Python, which is none."""
    if instruction is None:
        return outside
    return instruction.origin if isinstance(instruction, Located) else ()
