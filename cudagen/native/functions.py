"""The functions of the host level as records.

  in    functions as instructions, the types of what their slots hold, the plans of kernels
  out   Native: a list of words, with the places of functions and instructions in it
  how   an instruction becomes a few records. What Python must do (effects, functions of the C library, constant arrays
        at first) is asked of it. Arrays are held and dropped as nessie.cudagen.host.host does; that only dead slots are
        dropped, and nothing is cleared, is right as each slot's type is known: an error drops all at once.

    host total (#0, #1) slots 5 {                       count 3
      0: launch K1 (#0, #1) -> #2, #3 dead #0, #1       poll; ...; launched #0; drop #1
      1: call f (#2, #3) -> #4 dead #2, #3              poll; enter f (#2, #3) -> #4
      2: give (#4) dead #4                              give #4
"""
from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import field

from nessie.base.records import dataclass
from nessie.cudagen.host.limits import ACTIVATION, SCALAR
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
    Launch,
    Move,
    Operand,
    Perform,
    Slots,
    dead_after,
    results_of,
)
from nessie.cudagen.native.launches import Kernel, Surrounding, launch
from nessie.cudagen.native.records import Records
from nessie.cudagen.native.scalars import NotNative, values
from nessie.cudagen.native.words import CODE, UNLIMITED
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.scope import calls_in

MOVING = (Jump, Move, Drop, Give)               # what is no statement of lambda_cu


@dataclass
class Place:
    """A function in the list of words: where its code begins, and its instructions' records; `start`: where a call
    from Python begins."""
    code: Code
    types: tuple[ir.Type | None, ...]
    begins: int = 0
    start: int = 0
    instructions: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Known:
    """What is known of the program, by names. `circles`: of recursion; `offers`: the functions that the device can
    launch, like kernels; `tunables`: the run's thresholds, unless it wants to know of decisions."""
    codes: Mapping[str, Code]
    types: Mapping[str, tuple[ir.Type | None, ...]]
    kernels: Callable[[str], Kernel]
    sites: Mapping[str, int]
    circles: Mapping[str, int]
    offers: Container[str]
    around: Surrounding
    tunables: Mapping[str, int]


def functions(known: Known, handlers: Mapping[str, int]) -> tuple[Records, dict[str, Place]]:
    """All functions."""
    out, places, calls = Records(handlers), {}, list[tuple[int, str]]()
    for name, code in known.codes.items():
        place = places[name] = Place(code, known.types[name])
        calls += Function(place, known, out).write()
    for place in places.values():
        calls.append(start(place, out))
    for at, name in calls:
        out.words[at] = places[name].begins
        out.addresses.append(at)
    return out, places


def start(place: Place, out: Records) -> tuple[int, str]:
    """A call from Python, whose frame has the arguments in its first slots, and the results when it is done."""
    code = place.code
    results = next(len(i.results) for i in code.instructions if isinstance(i, Give))
    out.begin(max(len(code.parameters), results))
    place.start = len(out.words)
    out.words += (out.used, 0, UNLIMITED)
    arguments = [(out.slot(number), out.slot(slot)) for number, slot in enumerate(code.parameters) if slot is not None]
    entered = out.put("enter", 0, out.used, 0, 0, len(arguments), *[one for pair in arguments for one in pair])
    out.words += (results, *map(out.slot, range(results)))
    out.put("done")
    return entered + 1, code.name


class Function:
    """Writes one function."""

    def __init__(self, place: Place, known: Known, out: Records) -> None:
        self.place, self.code, self.known, self.out = place, place.code, known, out
        self.types = place.types
        self.calls: list[tuple[int, str]] = []

    def write(self) -> list[tuple[int, str]]:
        """Writes it; where it calls functions, and which."""
        code, out = self.code, self.out
        ignored = max([i.results.count(None) for i in code.instructions if isinstance(i, Invoke)], default=0)
        out.begin(code.slots + ignored)
        self.place.begins = len(out.words)
        out.words += (0, self.known.circles[code.name], UNLIMITED)
        leaders = {i.target for i in code.instructions if isinstance(i, (Jump, JumpUnless))}
        leaders |= {0} | {at + 1 for at, i in enumerate(code.instructions) if isinstance(i, (Jump, JumpUnless))}
        jumps: list[tuple[int, int]] = []
        held = held_before(code)
        for at, instruction in enumerate(code.instructions):
            self.place.instructions.append(len(out.words))
            if at in leaders:
                out.put("count", statements_from(code, at, leaders))
            out.free()
            jump = self.instruction(instruction, held[at])
            if jump is not None:
                assert isinstance(instruction, (Jump, JumpUnless))
                jumps.append((jump, instruction.target))
        for record, target in jumps:
            out.come_to(record, at=self.place.instructions[target])
        out.words[self.place.begins + CODE.index("words")] = out.most
        return self.calls

    def instruction(self, instruction: Instruction, held: frozenset[int]) -> int | None:
        """Its records; the place of a jump. `held`: the slots that hold something before it."""
        out, slot = self.out, self.out.slot
        match instruction:
            case Launch():
                self.launch(instruction)
            case Compute():
                self.compute(instruction)
            case Decide():
                self.decide(instruction)
            case Constant(result) if result is not None:
                self.constant(instruction)
            case Perform():
                out.put("poll")
                out.ask(lambda run: run.perform(instruction))
                self.drop(instruction.dead)
            case Invoke(function=function) if function in self.known.offers:
                self.offer(instruction, held)
            case Invoke():
                self.invoke(instruction, held)
            case JumpUnless(condition):
                return out.put("unless", self.operand(condition), 0)
            case Jump():
                return out.put("jump", 0)
            case Move(results, sources, dead):
                given = [self.operand(source) for source in sources]
                for source in self.held_more(sources, results, dead):
                    out.put("hold", slot(source))
                for result, source_slot in zip(results, given, strict=True):
                    if result is not None:
                        out.put("move", slot(result), source_slot)
            case Drop(dead):
                self.drop(dead)
            case Give(results, dead):
                given = [self.operand(result) for result in results]
                for source in self.held_more(results, results, dead):
                    out.put("hold", slot(source))
                out.put("give", len(given), *given)
        return None

    def operand(self, operand: Operand) -> int:
        return self.out.constant(operand) if isinstance(operand, ir.Const) else self.out.slot(operand)

    def is_array(self, slot: Operand | None) -> bool:
        return isinstance(slot, int) and isinstance(self.types[slot], ir.Array)

    def drop(self, dead: Slots) -> None:
        for slot in dead:
            if self.is_array(slot):
                self.out.put("drop", self.out.slot(slot))

    def held_more(self, sources: Sequence[Operand], results: Sequence[Operand | None], dead: Slots) -> Iterator[int]:
        """The arrays among the sources that are held once more, as often as that, where dead ones hand over their own
        hold; those that nobody takes are dropped."""
        handed = {slot for slot in dead if self.is_array(slot)}
        for source, result in zip(sources, results, strict=True):
            if self.is_array(source) and result is not None:
                assert isinstance(source, int)
                if source in handed:
                    handed.discard(source)
                else:
                    yield source
        self.drop(tuple(sorted(handed)))

    # Instructions -------------------------------------------------------------------------------

    def launch(self, instruction: Launch) -> None:
        out, read = self.out, instruction.arguments
        arguments = [self.operand(a) for a in read]
        spare = frozenset(number for number, slot in enumerate(read)
                          if self.is_array(slot) and slot in instruction.dead and read.count(slot) == 1)
        results = [None if slot is None else out.slot(slot) for slot in instruction.results]
        launch(self.known.kernels(instruction.kernel), arguments, spare, results, self.known.around, out)
        self.drop(instruction.dead)

    def compute(self, instruction: Compute) -> None:
        out = self.out
        names = {name: (out.slot(slot), self.types[slot]) for name, slot in instruction.names.items()}
        before, used, most = len(out.words), out.used, out.most
        try:
            (found, _), = values(instruction.value, names, self.known.sites, out)     # type: ignore[arg-type]
            if instruction.result is not None:
                out.put("move", out.slot(instruction.result), found)
        except NotNative:
            del out.words[before:]
            out.used, out.most = used, most
            out.ask(lambda run: run.compute(instruction))
        self.drop(instruction.dead)

    def decide(self, instruction: Decide) -> None:
        """Python is asked for statistics, and where somebody wants to know."""
        if calls_in(instruction.value) or not self.known.tunables:
            self.out.ask(lambda run: run.decide(instruction))
            self.drop(instruction.dead)
        else:
            known = {name: ir.Const(value, "int") for name, value in self.known.tunables.items()}
            self.compute(Compute(instruction.result, substitute(instruction.value, known), instruction.names,
                                 instruction.dead, origin=instruction.origin))

    def constant(self, instruction: Constant) -> None:
        assert instruction.result is not None
        place = self.out.put("constant_array", self.out.slot(instruction.result), 0)
        self.out.constants.append(place + 2)
        self.out.asked[place] = lambda run: run.constant(instruction, place + 2)

    def offer(self, instruction: Invoke, held: frozenset[int]) -> None:
        """Python has the device do it; if it does not, the function is called."""
        out, left = self.out, self.out.temporary()
        out.put("poll")
        out.ask(lambda run: run.apart(instruction, left))
        done = out.put("unless", left, 0)
        self.invoke(instruction, held)
        end = out.put("jump", 0)
        out.come_to(done)
        self.drop(instruction.dead)
        out.come_to(end)

    def invoke(self, instruction: Invoke, held: frozenset[int]) -> None:
        out, code, dead = self.out, self.known.codes[instruction.function], instruction.dead
        out.put("poll")
        given = [self.operand(a) for a in instruction.arguments]
        for source in list(self.held_more(instruction.arguments, code.parameters, dead)):
            out.put("hold", out.slot(source))
        waiting = [slot for slot in sorted(held - set(dead)) if self.types[slot] is not None]
        arrays = [out.slot(slot) for slot in waiting if self.is_array(slot)]
        size = ACTIVATION + SCALAR * (len(waiting) - len(arrays))
        passed = [(source, out.slot(to)) for source, to in zip(given, code.parameters, strict=True) if to is not None]
        entered = out.put("enter", 0, out.used, size, len(arrays), len(passed), *arrays,
                          *[one for pair in passed for one in pair])
        self.calls.append((entered + 1, instruction.function))
        nobody = iter(range(self.code.slots, out.slots))
        slots = [next(nobody) if slot is None else slot for slot in instruction.results]
        out.words += (len(slots), *map(out.slot, slots))
        gives = next(i for i in code.instructions if isinstance(i, Give)).results
        for slot, result, given_there in zip(slots, instruction.results, gives, strict=True):
            if result is None and array_given(self.known.types[code.name], given_there):
                out.put("drop", out.slot(slot))


def array_given(types: Sequence[ir.Type | None], operand: Operand) -> bool:
    return isinstance(operand, int) and isinstance(types[operand], ir.Array)


def statements_from(code: Code, first: int, leaders: set[int]) -> int:
    """The statements from there to the next jump, or place that others jump to."""
    total = 0
    for at in range(first, len(code.instructions)):
        if at > first and at in leaders:
            break
        total += not isinstance(code.instructions[at], MOVING)
    return total


def held_before(code: Code) -> list[frozenset[int]]:
    """The slots that hold something before each instruction."""
    found: list[frozenset[int] | None] = [None] * (len(code.instructions) + 1)
    found[0] = frozenset(slot for slot in code.parameters if slot is not None)
    for at, instruction in enumerate(code.instructions):
        before = found[at]
        assert before is not None, "to each instruction a way leads"
        results = frozenset(slot for slot in results_of(instruction) if slot is not None)
        after = (before - frozenset(dead_after(instruction))) | results
        if isinstance(instruction, (Jump, JumpUnless)):
            found[instruction.target] = after
        if not isinstance(instruction, (Jump, Give)):
            found[at + 1] = after
    return [slots or frozenset() for slots in found]

