"""Calls of one program's entry from Python, again and again, on a device's machine.

  in    what the names of the entry's arguments hold (nessie.lambda_cu.layout): scalars, and contiguous arrays of the
        names' dtypes
  out   what the names of its result hold: scalars, and arrays in the device's memory
  how   All that is the same in every call is made once: the host level and its run, the handles of the argument's
        arrays, the places of the first frame's words. A call fills these in and lets the machine go.
  why   The machine stops where a run of the host level would have (nessie.cudagen.native.running), and has the same
        host to ask, so that errors and limits are the same. After an error everything is made anew.

Only for programs without effects, whose entry the device's machine has.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from nessie.base.effects import no_effects
from nessie.base.system.deadline import deadline
from nessie.base.system.deep import interruptible
from nessie.cudagen.host.device import Array
from nessie.cudagen.host.host import Host, Stats
from nessie.cudagen.host.limits import HostLimits
from nessie.cudagen.host.memory import Block, address_of
from nessie.cudagen.native.machine import NAMES, at
from nessie.cudagen.native.records import reading
from nessie.cudagen.native.words import CODE, FRAME, HANDLE, OTHERS, UNLIMITED
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import bases

FIRST = len(FRAME)
BASE, AT = NAMES["frame"], NAMES["at"]
EMPTY = np.zeros(8, np.uint8)
KEPT = 1 << 16                  # bytes of blocks that the machine keeps from call to call

Put = Callable[["Caller", Any], None]


class ArrayArgument:
    """An argument's array. Its handle has more uses than a call can drop, so that the machine never lets go of it."""

    def __init__(self, caller: Caller, number: int, base: str) -> None:
        self.place = FIRST + number
        self.block = Block(0, EMPTY, 0)
        self.array = Array(base, 0, self.block)
        self.handle = (ctypes.c_int64 * len(HANDLE))(0, 0, UNLIMITED, OTHERS, caller.machine.keep(self.array), 0)
        self.address = ctypes.addressof(self.handle)

    def put(self, caller: Caller, value: np.ndarray[Any, Any]) -> None:
        block, handle, length = self.block, self.handle, len(value)
        block.storage = storage = value if length else EMPTY
        block.address = handle[0] = address_of(storage)
        self.array.length = handle[1] = length
        handle[2] = UNLIMITED
        caller.frame[self.place] = self.address


def putter(number: int, base: str) -> Put:
    """What puts a scalar argument of this number in the first frame."""
    place = FIRST + number

    def put(caller: Caller, value: Any) -> None:
        caller.frame[place] = value

    def put_float(caller: Caller, value: float) -> None:
        caller.floats[place] = value

    def put_char(caller: Caller, value: str) -> None:
        caller.frame[place] = ord(value)

    return put_float if base == "float" else put_char if base == "char" else put


class Caller:
    """`device` is a nessie.cudagen.cpu.device.Cpu, which nobody else uses. `keeps`: may a little memory stay with the
    machine from call to call?"""

    def __init__(self, device: Any, limits: HostLimits, keeps: bool) -> None:
        self.device, self.limits, self.keeps = device, limits, keeps
        device.patience = -1                # the host level is to run on the machine from the start
        self.renew()

    def renew(self) -> None:
        """Make what calls share."""
        device, built = self.device, self.device.built
        device.begin(self.limits.on_device, self.limits.rounds, self.limits.calls)
        self.fresh = tuple(device.errors)
        self.host = Host(built.program, built.host, device, self.limits, Stats(), no_effects)
        self.run, self.machine = self.host.native, device.edition.machine
        self.room: Any = None
        self.most = self.limits.on_device
        entry = built.program.entry
        self.code = device.edition.places[entry.function]
        self.takes: list[Callable[[int], Any]] = [
            partial(self.machine.taken_out, base=type_.base) if isinstance(type_, ir.Array) else reading(type_)
            for type_ in device.edition.results[entry.function]]
        self.start = device.edition.address(self.code.start + len(CODE))
        self.puts: list[Put] = []
        self.arrays: list[ArrayArgument] = []
        types = [base for layout in entry.arguments for base in bases(layout)]
        for number, (slot, base) in enumerate(zip(self.code.code.parameters, types, strict=True)):
            if slot is None:
                self.puts.append(skip)
            elif isinstance(self.code.types[slot], ir.Array):
                self.arrays.append(ArrayArgument(self, number, base))
                self.puts.append(self.arrays[-1].put)
            else:
                self.puts.append(putter(number, base))
        self.place_frame()
        self.machine.set("depth", 0)
        self.machine.set("waiting", 0)
        self.run.count_circles()

    def place_frame(self) -> None:
        """Find the first frame's words, in a room that may have moved."""
        machine, count = self.machine, FIRST + max(len(self.puts), len(self.takes))
        self.room, self.base = machine.room, machine.reset()
        self.frame, self.floats = at(self.base, count), (ctypes.c_double * count).from_address(self.base)
        self.frame[FRAME.index("code")] = self.device.edition.address(self.code.start)

    def call(self, given: Sequence[Any], memory: int | None) -> list[Any]:
        """What the names of the result hold, of these arguments. `memory`: bytes that the call may take."""
        device, machine, run = self.device, self.machine, self.run
        try:
            self.begin(memory)
            for put, value in zip(self.puts, given):
                put(self, value)
            machine.state[BASE], machine.state[AT] = self.base, self.start
            run.running = True
            with interruptible(device.interrupt):
                run.work()
            run.running = False
            if machine.room is not self.room:           # deep recursion took more
                self.place_frame()
            found = [take(word) for take, word in zip(self.takes, self.frame[FIRST:])]
            self.end(found)
            return found
        except BaseException as error:
            self.failed(error)
            raise

    def begin(self, memory: int | None) -> None:
        """Begin a call: no failure, not interrupted, this memory."""
        device, host = self.device, self.host
        if memory != self.limits.memory:
            self.limits = host.limits = replace(self.limits, memory=memory)
            self.most = self.limits.on_device
        device.memory.limit, device.errors[:], device.interrupt_word[0] = self.most, self.fresh, 0
        host.deadline, host.launched, host.kernel = deadline(), (), None
        if device.quick:
            device.consider(device.edition.seconds)
        device.edition.link()
        self.run.limit_stack()

    def failed(self, error: BaseException) -> None:
        """After an error, which a Ctrl-C becomes, too."""
        self.device.interrupt()
        self.run.broken = True
        try:
            if isinstance(error, KeyboardInterrupt):
                raise self.host.interruption(()) from None
        finally:
            self.run.running = False
            self.host.release_all()
            self.renew()

    def end(self, found: list[Any]) -> None:
        """After a call: no array of who called is held, but by the results, and little memory."""
        for argument in self.arrays:
            if argument.array in found:
                own = Array(argument.array.base, argument.array.length, replace(argument.block))
                found[:] = [own if held is argument.array else held for held in found]
            argument.block.storage = EMPTY
        if self.host.calls.names:
            self.host.calls.names.clear()
        blocks = self.machine.blocks
        if blocks and (not self.keeps or sum([block.size for block in blocks.values()]) > KEPT):
            self.machine.give_back()

    def give_back(self) -> None:
        """Give the machine's free blocks, which are all that it has between calls, to the device's memory."""
        if self.machine.blocks:
            self.machine.give_back()


def skip(caller: Caller, value: Any) -> None:
    """The argument is not used."""
