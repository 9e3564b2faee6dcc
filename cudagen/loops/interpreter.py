"""The meaning of loops: runs a function on NumPy arrays and Python scalars, without any compiler.

Every load and store is checked against the array's bounds and counted. A function's frame has the address one below
its caller's. A 'cuda' function runs thread by thread: each is a coroutine that gives way at barriers, shuffles,
votes and turns of `while`; `order` draws which thread goes first, so that a missing barrier shows. Shared memory is
unset at first; reading it then is an error.

    run(module, "f", (3, xs, out), counts)                  a host or device function; gives its results
    launch(module, "k", (3, xs, out), blocks=2, threads=64)    a cuda function
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import field
from random import Random
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.values import DTYPES
from nessie.base.widths import wide
from nessie.cudagen.loops.meanings import MEANINGS, Scalar
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import (
    FRAME,
    TEAMS,
    WARP,
    Atomic,
    Barrier,
    Call,
    Const,
    Distance,
    Exp,
    For,
    Function,
    If,
    Let,
    Load,
    LoadPair,
    Name,
    Note,
    Op,
    Part,
    Pause,
    Peers,
    Prefetch,
    Return,
    Set,
    Shared,
    Shuffle,
    Stmt,
    Store,
    StorePair,
    Var,
    Vote,
    While,
)
from nessie.cudagen.loops.plan import Directions, in_directions

APART = 1 << 48                         # bytes between arrays, as distances have it


class LoopsError(Exception):
    """The function does what no target would survive: leaves an array, reads what is not set, waits for ever."""


@dataclass
class Counts:
    """The counts of a run, by array (named as the called function names it) and by operator. `bytes` are those of
    parameters: a block's own arrays are not where memory is slow."""
    loads: Counter[str] = field(default_factory=Counter)
    stores: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Memory:
    """An array: a parameter's, or a block's own, whose elements are None until they are set."""
    name: str
    type: str
    elements: Any


@dataclass(frozen=True)
class Wait:
    """The reason why a thread gives way: the statement, and in a shuffle or a vote the value it shows and the lane it
    looks at."""
    at: object
    shown: Scalar | None = None
    lane: int | None = None


TURN = Wait(None)                       # others may go first, nothing is waited for

Thread = Generator[Wait, Any, Any]
Frame = dict[str, Any]                  # names to scalars and to Memory


def run(module: Module, name: str, arguments: Sequence[Any], counts: Counts | None = None) -> tuple[Scalar, ...]:
    """The results of a host or device function on these arguments: arrays, numbers, bools, one-character strings."""
    machine = Machine(module, counts if counts is not None else Counts())
    function = machine.functions[name]
    thread = machine.call(function, machine.arguments(function, arguments) | shared_memory(function))
    while True:
        try:
            next(thread)
        except StopIteration as end:
            results: tuple[Scalar, ...] = end.value
            return results


def launch(module: Module, name: str, arguments: Sequence[Any], blocks: int | Directions, threads: int | Directions,
           counts: Counts | None = None, order: Random | None = None) -> None:
    """Runs a cuda function on so many blocks of so many threads, perhaps in the directions x, y, z."""
    machine = Machine(module, counts if counts is not None else Counts())
    function = machine.functions[name]
    frame = machine.arguments(function, arguments)
    shape, of_all = in_directions(threads), in_directions(blocks)
    sizes = {**named("blockDim", shape), **named("gridDim", of_all)}
    grid = [Block(machine, function, frame, {**sizes, **named("blockIdx", at)}, shape) for at in places(of_all)]
    while any(block.live for block in grid):
        progress = False
        for block in shuffled(grid, order):
            progress |= block.step(order)
        if not progress:
            raise LoopsError("the threads of a block wait at different places, or some have ended")


def places(sizes: Directions) -> list[Directions]:
    """All places of a grid or a block, of which x changes first."""
    return [(x, y, z) for z in range(sizes[2]) for y in range(sizes[1]) for x in range(sizes[0])]


def named(what: str, numbers: Directions) -> dict[str, int]:
    """The numbers by their special names."""
    return {f"{what}{direction}": number for direction, number in zip(("", "_y", "_z"), numbers, strict=True)}


def shared_memory(function: Function) -> Frame:
    return {s.name: Memory(s.name, s.type, [None] * s.size) for s in function.body if isinstance(s, Shared)}


def shuffled(items: Sequence[Any], order: Random | None) -> Sequence[Any]:
    return items if order is None else order.sample(items, len(items))


class Block:
    """The threads of one block, each with what it waits for and what it is told when it goes on."""

    def __init__(self, machine: Machine, function: Function, frame: Frame, place: dict[str, int],
                 threads: Directions) -> None:
        shared, at = shared_memory(function), places(threads)
        self.threads: list[Thread] = [machine.call(function, {**frame, **shared, **place, **named("threadIdx", t)})
                                      for t in at]
        self.waits: list[Wait | None] = [TURN] * len(at)            # None: the thread has ended
        self.told: list[Any] = [None] * len(at)

    @property
    def live(self) -> bool:
        return any(wait is not None for wait in self.waits)

    def step(self, order: Random | None) -> bool:
        """Moves every thread that need not wait, then opens what all have reached. True if anything moved."""
        ready = [t for t, wait in enumerate(self.waits) if wait is TURN]
        for t in shuffled(ready, order):
            try:
                self.waits[t] = self.threads[t].send(self.told[t])
            except StopIteration:
                self.waits[t] = None
            self.told[t] = None
        return bool(ready) or self.open_warps() or self.open_block()

    def open_warps(self) -> bool:
        opened = False
        for first in range(0, len(self.waits), TEAMS[0]):
            team = team_of(self.waits[first])
            lanes = self.waits[first:first + team]
            if first % team == 0 and all(w is not None and w.lane is not None and w.at is lanes[0].at for w in lanes):  # type: ignore[union-attr]
                for lane, wait in enumerate(lanes):
                    self.told[first + lane] = told(lanes, wait)
                    self.waits[first + lane] = TURN
                opened = True
        return opened

    def open_block(self) -> bool:
        first = self.waits[0]
        if first is None or first.lane is not None or any(w is None or w.at is not first.at for w in self.waits):
            return False
        self.waits = [TURN] * len(self.waits)
        return True


def team_of(wait: Wait | None) -> int:
    """The number of lanes that meet where one of them waits."""
    return wait.at.lanes if wait is not None and isinstance(wait.at, Shuffle | Barrier) else WARP


def told(lanes: Sequence[Wait | None], own: Wait | None) -> Scalar | None:
    """What a lane hears where all lanes of its warp have met."""
    match own:
        case Wait(Vote()):
            return votes(lanes)
        case Wait(Peers(_, bits), shown):
            return peers(lanes, shown, bits)
    return heard(lanes, own.lane if own is not None else None)


def heard(lanes: Sequence[Wait | None], lane: int | None) -> Scalar | None:
    """The value that the lane shows in the shuffle."""
    wait = lanes[lane] if lane is not None and 0 <= lane < len(lanes) else None
    if wait is None:
        raise LoopsError(f"a shuffle looks at lane {lane}, which does not exist")
    return wait.shown


def votes(lanes: Sequence[Wait | None]) -> int:
    """A bit for each lane that shows true."""
    return sum(1 << lane for lane, wait in enumerate(lanes) if wait is not None and wait.shown)


def peers(lanes: Sequence[Wait | None], shown: Any, bits: int) -> int:
    """A bit for each lane that shows the same lowest bits."""
    return sum(1 << lane for lane, wait in enumerate(lanes)
               if wait is not None and (int(wait.shown or 0) ^ shown) % (1 << bits) == 0)


@dataclass
class Returned:
    """A Return on its way out of the statements around it."""
    values: tuple[Scalar, ...]


class Machine:
    """Executes statements and evaluates expressions; a frame holds one activation's names."""

    def __init__(self, module: Module, counts: Counts) -> None:
        self.functions = {f.name: f for f in module.functions}
        self.counts = counts
        self.far: list[Any] = []                # the elements of arrays whose distance was asked for

    def arguments(self, function: Function, values: Sequence[Any]) -> Frame:
        """The first frame of a function that is called from outside."""
        frame: Frame = {FRAME: 0}
        for parameter, value in zip(function.parameters, values, strict=True):
            if parameter.array and value.dtype != DTYPES[parameter.type]:
                raise LoopsError(f"{parameter.name} is an array of {value.dtype}, not of {parameter.type}")
            frame[parameter.name] = Memory(parameter.name, parameter.type, value) if parameter.array else value
        return frame

    def call(self, function: Function, frame: Frame) -> Thread:
        returned = yield from self.block(function.body, frame)
        return returned.values if returned is not None else ()

    # Statements -----------------------------------------------------------------------------

    def block(self, body: tuple[Stmt, ...], frame: Frame) -> Generator[Wait, Any, Returned | None]:
        for statement in body:
            returned = yield from self.statement(statement, frame)
            if returned is not None:
                return returned
        return None

    def statement(self, statement: Stmt, frame: Frame) -> Generator[Wait, Any, Returned | None]:
        match statement:
            case Let(name, _, value) | Var(name, _, value) | Set(name, value):
                frame[name] = yield from self.value(value, frame)
            case Store(array, index, value):
                at = yield from self.value(index, frame)
                self.store(frame[array], at, (yield from self.value(value, frame)))
            case StorePair(array, index, first, second):
                at = 2 * (yield from self.value(index, frame))
                pair = (yield from self.value(first, frame)), as_word((yield from self.value(second, frame)))
                for word, value in enumerate(pair):
                    self.store(frame[array], at + word, value)
            case LoadPair((first, second), type_, array, index):
                at = 2 * (yield from self.value(index, frame))
                frame[first] = self.load(frame[array], at)
                frame[second] = of_word(type_, self.load(frame[array], at + 1))
            case Part(name, type_, array, offset):
                frame[name] = self.part(name, type_, frame[array], self.evaluate(offset, frame))
            case Prefetch(_, index):
                yield from self.value(index, frame)
            case If(condition, then, orelse):
                chosen = then if (yield from self.value(condition, frame)) else orelse
                return (yield from self.block(chosen, frame))
            case While() | For():
                return (yield from self.loop(statement, frame))
            case Atomic():
                self.atomic(statement, frame)
            case Call(names, name, arguments):
                yield from self.enter(names, self.functions[name], arguments, frame)
            case Return(values):
                results = []
                for value in values:
                    results.append((yield from self.value(value, frame)))
                return Returned(tuple(results))
            case Barrier(warp):
                yield Wait(statement, lane=frame["threadIdx"] % statement.lanes if warp else None)
            case Pause():
                yield TURN
            case Shared() | Note():
                pass                    # a block's arrays are there before it starts
        return None

    def loop(self, statement: While | For, frame: Frame) -> Generator[Wait, Any, Returned | None]:
        match statement:
            case While(condition, body):
                while (yield from self.value(condition, frame)):
                    returned = yield from self.block(body, frame)
                    if returned is not None:
                        return returned
                    yield TURN
            case For(index, low, high, body, step):
                bounds = self.evaluate(low, frame), self.evaluate(high, frame), self.evaluate(step, frame)
                for frame[index] in range(*bounds):
                    returned = yield from self.block(body, frame)
                    if returned is not None:
                        return returned
        return None

    def enter(self, names: tuple[str, ...], function: Function, arguments: tuple[Exp, ...], frame: Frame) -> Thread:
        inner: Frame = {FRAME: frame[FRAME] - 1}
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            array = parameter.array and isinstance(argument, Name)
            inner[parameter.name] = frame[argument.name] if array else self.evaluate(argument, frame)  # type: ignore[union-attr]
        results = yield from self.call(function, inner | (shared_memory(function) if function.kind == "apart" else {}))
        frame.update(zip(names, results, strict=True))

    def atomic(self, statement: Atomic, frame: Frame) -> None:
        memory = frame[statement.array]
        index, value = self.evaluate(statement.index, frame), self.evaluate(statement.value, frame)
        old = self.load(memory, index)
        match statement.op:
            case "add":
                value = MEANINGS["+"](old, value)
            case "min" | "max":
                value = MEANINGS[statement.op](old, value)
            case "cas" if statement.compare is not None:
                value = value if old == self.evaluate(statement.compare, frame) else old
        self.store(memory, index, value)
        if statement.result is not None:
            frame[statement.result] = old

    # Expressions ----------------------------------------------------------------------------

    def value(self, exp: Exp, frame: Frame) -> Generator[Wait, Any, Any]:
        """The expression's value; gives way at each shuffle and vote in it."""
        for exchange in exchanges(exp) if "threadIdx" in frame else ():
            lane = self.looked_at(exchange, frame)
            frame[f"told {id(exchange)}"] = yield Wait(exchange, frame[exchange.name], lane)
        return self.evaluate(exp, frame)

    def looked_at(self, shuffle: Shuffle | Vote | Peers, frame: Frame) -> int:
        """The lane whose value the thread gets: its own where the offset leaves the warp."""
        if not isinstance(shuffle, Shuffle):
            return int(frame["threadIdx"] % WARP)
        lanes, own = shuffle.lanes, frame["threadIdx"] % shuffle.lanes
        offset = self.evaluate(shuffle.offset, frame)
        lane = {"down": own + offset, "up": own - offset, "index": offset % lanes}[shuffle.mode]
        return int(lane) if 0 <= lane < lanes else int(own)

    def evaluate(self, exp: Exp, frame: Frame) -> Any:
        match exp:
            case Const(value):
                return value
            case Name(name):
                return frame[name]
            case Load(array, index):
                return self.load(frame[array], self.evaluate(index, frame))
            case Op("select", (condition, then, orelse)):
                values = self.evaluate(orelse, frame), self.evaluate(then, frame)
                return values[self.evaluate(condition, frame)]
            case Op(op, arguments):
                self.counts.operations[op] += 1
                return MEANINGS[op](*[self.evaluate(a, frame) for a in arguments])
            case Shuffle() | Vote() | Peers():
                return frame[f"told {id(exp)}"]
            case Distance(array):
                self.far.append(frame[array].elements)
                return len(self.far) * APART
        raise TypeError(exp)

    def part(self, name: str, type_: str, memory: Memory, offset: int) -> Memory:
        """What begins so many bytes after the array's beginning, up to the end of what it lies in."""
        number, offset = divmod(offset, APART)
        elements = self.far[number - 1] if number else memory.elements
        elements = elements[offset // elements.itemsize:]
        width = DTYPES[type_].itemsize
        whole = elements.view(np.uint8)[:elements.nbytes // width * width]
        return Memory(name, type_, whole.view(DTYPES[type_]))

    def load(self, memory: Memory, index: int) -> Scalar:
        self.within(memory, index)
        self.count(self.counts.loads, memory)
        element = memory.elements[index]
        if element is None:
            raise LoopsError(f"{memory.name}[{index}] is read before it is set")
        value: Scalar = element if isinstance(memory.elements, list) else element.item()
        return chr(value) if wide(memory.type) == "char" and isinstance(value, int) else value

    def store(self, memory: Memory, index: int, value: Scalar) -> None:
        self.within(memory, index)
        self.count(self.counts.stores, memory)
        memory.elements[index] = ord(value) if isinstance(value, str) else value

    def count(self, accesses: Counter[str], memory: Memory) -> None:
        accesses[memory.name] += 1
        if not isinstance(memory.elements, list):
            self.counts.bytes[memory.name] += DTYPES[memory.type].itemsize

    def within(self, memory: Memory, index: int) -> None:
        if not 0 <= index < len(memory.elements):
            raise LoopsError(f"{memory.name}[{index}] lies outside its {len(memory.elements)} elements")


def as_word(value: Scalar) -> int:
    """The value's bits, as an int."""
    if isinstance(value, float):
        return int(np.float64(value).view(np.int64))
    return ord(value) if isinstance(value, str) else int(value)


def of_word(type_: str, word: Any) -> Scalar:
    """The value of the type that has these bits."""
    meanings: dict[str, Callable[[int], Scalar]] = {
        "int": int, "float": lambda bits: float(np.int64(bits).view(np.float64)), "bool": bool, "char": chr}
    return meanings[type_](word)


def exchanges(exp: Exp) -> list[Shuffle | Vote | Peers]:
    """The shuffles, votes and peers in an expression, in order of evaluation."""
    match exp:
        case Shuffle(_, offset):
            return [*exchanges(offset), exp]
        case Vote() | Peers():
            return [exp]
        case Load(_, index):
            return exchanges(index)
        case Op(_, arguments):
            return [found for argument in arguments for found in exchanges(argument)]
    return []
