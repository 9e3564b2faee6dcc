"""Parses JSON text to Python's values. A long array is parsed in pieces of its text; each piece takes little time, so
that a time limit or an interrupt takes effect soon.

Pieces end at commas outside of texts and of the arrays in an array. An array that is longer than a piece, as an element
of another, is split in turn. Python's reader parses text that cannot be split, or is wrong, as a whole.
"""
from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from nessie.files.reading import NUMBER, SHORT_TEXT, SLOT, width

PIECE = 1 << 18                 # bytes
DEEPEST = 20                    # the depth down to which arrays in arrays are split
LIST = 112                      # bytes of a short list
COLUMNS = 2 * SLOT              # bytes of an element: in a list of all at one place, and in an array
CHARACTER = 4                   # bytes of a character in an array
CHANGES = np.zeros(256, np.int8)                # change of the nesting depth, by byte
CHANGES[list(b"[{")], CHANGES[list(b"]}")] = 1, -1
QUOTE, COMMA = b'",'
ESCAPED = re.compile(rb"\\.", re.DOTALL)


class Whole(Exception):
    """Raised where the text must be read as a whole."""


def cost(data: bytes | bytearray) -> int:
    """Bytes of Python's objects, and of the arrays that they become: an upper bound, less than twice the true size."""
    lists = data.count(b"[") + data.count(b"{")
    texts = data.count(b'"') // 2
    elements = data.count(b",") + lists
    numbers = min(max(0, elements - texts), len(data) // 4)
    beside = 16 * min(len(data), PIECE)         # the intermediate arrays of a piece
    characters = len(data) * (2 * CHARACTER + width(data)) if texts else 0
    return int(beside + elements * (SLOT + SLOT // 8 + COLUMNS) + numbers * NUMBER + lists * LIST
               + texts * SHORT_TEXT + characters)


def parsed(data: Any) -> Any:
    """The value. JSONDecodeError or UnicodeDecodeError if the data as a whole is not one."""
    start = blanks(data, 3 if data[:3] == b"\xef\xbb\xbf" else 0)
    if len(data) > PIECE and data[start:start + 1] == b"[":
        try:
            found, end = Pieces(data).array(start + 1)
            if blanks(data, end) == len(data):
                return found
        except (ValueError, Whole):
            pass
    return read(str(data, "utf-8-sig"))


def read(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:                      # an int of so many digits that Python refuses it
        return json.loads(text, parse_int=bounded)


def bounded(digits: str) -> int:
    """The int of these digits; of very many digits, an int that is as surely too large for ints and floats."""
    return int(digits[:4000])


def blanks(data: Any, at: int) -> int:
    """The offset where the blanks from `at` on end."""
    while at < len(data) and data[at] in b" \t\r\n":
        at += 1
    return at


class Pieces:
    def __init__(self, data: Any) -> None:
        self.data = data

    def array(self, at: int, depth: int = 0) -> tuple[list[Any], int]:
        """The elements of the array whose opening bracket is just before `at`, and the offset after its end."""
        found: list[Any] = []
        while True:
            at = blanks(self.data, at)
            size, ends = self.piece(at)
            if size:
                found += elements(self.data[at:at + size])
                at += size
            elif ends and not found:
                return found, at + 1
            elif self.data[at:at + 1] == b"[" and depth < DEEPEST:
                inner, at = self.array(at + 1, depth + 1)
                found.append(inner)
                at = blanks(self.data, at)
                ends = self.data[at:at + 1] == b"]"
                if not ends and self.data[at:at + 1] != b",":
                    raise Whole
            else:
                raise Whole
            at += 1
            if ends:
                return found, at

    def piece(self, at: int) -> tuple[int, bool]:
        """The bytes up to the array's end, or to the last comma between elements within a piece, and whether it is the
        end; 0 bytes if neither is in reach."""
        block = bytes(self.data[at:at + PIECE])
        codes = np.frombuffer(ESCAPED.sub(b"  ", block) if b"\\" in block else block, np.uint8)
        changes = CHANGES[codes]
        if QUOTE in block:
            inside = np.cumsum(codes == QUOTE, dtype=np.int32) & 1
            changes = np.where(inside, 0, changes)
            codes = np.where(inside, 0, codes)
        depth = np.cumsum(changes, dtype=np.int32)
        over = depth < 0
        if over.any():
            return int(over.argmax()), True
        commas = np.flatnonzero((codes == COMMA) & (depth == 0))
        return (int(commas[-1]), False) if commas.size else (0, False)


def elements(text: Any) -> list[Any]:
    """The values between commas, at least one."""
    found: list[Any] = read(f"[{str(text, 'utf-8')}]")
    if not found:
        raise Whole
    return found
