"""Lists of records as they are written: words, with places to be filled in later."""
from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from nessie.base.widths import wide
from nessie.cudagen.native.words import FRAME
from nessie.lambda_cu import nodes as ir

Asked = Callable[[Any], None]           # what Python does for a run (nessie.cudagen.native.running)


class Records:
    """The records of all functions, one after another. `handlers`: addresses by name. `addresses`: words that are
    places in the list, until it has an address; `asked`: what Python does, by the place of the record that asks."""

    def __init__(self, handlers: Mapping[str, int]) -> None:
        self.handlers = handlers
        self.words: list[int] = []
        self.addresses: list[int] = []
        self.asked: dict[int, Asked] = {}
        self.constants: list[int] = []          # places of constant arrays' handles
        self.ends: dict[int, int] = {}          # of records: the place of the last operand
        self.begin(0)

    def begin(self, slots: int) -> None:
        """A function that has so many slots. What is needed meanwhile lies behind them."""
        self.slots = slots
        self.used = self.most = len(FRAME) + slots

    def put(self, handler: str, *operands: int) -> int:
        """A record; its place."""
        place = len(self.words)
        self.words += (self.handlers[handler], *operands)
        self.ends[place] = len(self.words) - 1
        return place

    def ask(self, what: Asked) -> None:
        """Python does this, and the machine goes on behind."""
        self.asked[self.put("ask")] = what

    def come_to(self, *records: int, at: int | None = None) -> None:
        """The records' last operand says how far it is to this place (None: to what comes next)."""
        for place in records:
            self.words[self.ends[place]] = (len(self.words) if at is None else at) - place

    # Slots of the frame -------------------------------------------------------------------------

    def slot(self, number: int) -> int:
        return len(FRAME) + number

    def free(self) -> None:
        """What was needed meanwhile is not any more."""
        self.used = len(FRAME) + self.slots

    def temporary(self, count: int = 1) -> int:
        first = self.used
        self.used += count
        self.most = max(self.most, self.used)
        return first

    def constant(self, value: ir.Const | int) -> int:
        """A temporary slot that holds it."""
        slot = self.temporary()
        self.put("constant", slot, value if isinstance(value, int) else bits(value.value, value.type))
        return slot

    def operate(self, op: str, type_: str, *arguments: int) -> int:
        """A temporary slot with the operator's result."""
        slot = self.temporary()
        self.put(f"{op} {type_}", slot, *arguments)
        return slot


def bits(value: Any, type_: str) -> int:
    """The word of a scalar."""
    if wide(type_) == "float":
        return int(struct.unpack("<q", struct.pack("<d", value))[0])
    return ord(value) if isinstance(value, str) else int(value)


def element_bits(value: Any, base: str) -> int:
    """The word whose lower bytes are an array's element."""
    return int(struct.unpack("<i", struct.pack("<f", value))[0]) if base == "float32" else bits(value, base)


def scalar(word: int, type_: str) -> Any:
    """The scalar of a word."""
    return reading(type_)(word)


def reading(type_: str) -> Callable[[int], Any]:
    """What makes a scalar of a word."""
    return SCALARS[wide(type_)]


def float_of(word: int) -> float:
    found: float = struct.unpack("<d", struct.pack("<q", word))[0]
    return found


SCALARS: dict[str, Callable[[int], Any]] = {"int": int, "float": float_of, "bool": bool, "char": chr}

