"""The memory of the native host level: 64-bit words, which its handlers and Python both read and write.

    state       one list of words for a device: STATE's, then the heads of the lists of free blocks, by size class
    frame       of a function that is running: FRAME's words, what its slots hold, and room for what an instruction
                needs meanwhile; the frame of a function that it calls lies behind
    handle      of an array: HANDLE's words
    code        of a function: CODE's words, then its records
    record      a handler's address, then its operands: slots are numbers of words in the frame

A slot's scalar is an int, a float's bits, 0 or 1, or a char's code, its array a handle's address. A free block's first
word is the next block's address; 0 ends a list.
"""
from __future__ import annotations

from nessie.cudagen.host.memory import SMALLEST

WORD = 8

STATE = (
    "frame",            # address of the frame of the running function
    "at",               # of the record that comes next
    "from",             # of the record that has left to Python
    "why",              # it has left: a number of LEAVES
    "end",              # where the room for frames ends
    "functions",        # address of the list of kernels' functions
    "errors",           # of the error words
    "interrupt",        # of the interrupt word
    "circles",          # of the list of running calls, by circle of recursion
    "polls",            # polls until Python has a look
    "steps",            # statements so far
    "launches",         # and launches
    "elements",         # and elements
    "last",             # address of the record that ended the last launch
    "handles",          # head of the list of free handles
    "dropped",          # head of the list of Python's arrays that nobody needs any more
    "wanted",           # bytes of a block, or chunks
    "waiting",          # bytes of the functions that wait
    "most_waiting",     # more than that Python has a look at
    "depth",            # functions that are running
    "most_depth",       # so many Python has a look at
    "deepest",          # so many there were
    "blocks",           # the first of the lists of free blocks
)
CLASSES = 4 * 48
STATE_WORDS = len(STATE) - 1 + CLASSES
FRAME = ("caller", "results", "waits", "code")          # caller: words from its frame; results: the call names them
HANDLE = ("address", "length", "uses", "class", "key", "next")         # class: OTHERS, if the block is not the pool's
CODE = ("words", "circle", "most")                      # words: of a frame, with all that it needs meanwhile
OTHERS = -1
UNLIMITED = 2**62

# Why the machine leaves: to be run again from the same record, or to go on behind it.
AGAIN = ("poll", "memory", "handles", "deep", "room")
BEYOND = ("chunks", "failed", "asked", "index", "site", "done")
LEAVES = {name: number for number, name in enumerate((*AGAIN, *BEYOND))}

SHIFT = SMALLEST.bit_length() - 3                       # sizes of the first class are 4 << SHIFT


def class_of(size: int) -> int:
    """The number of a size class of nessie.cudagen.host.memory."""
    shift = size.bit_length() - 3
    return 4 * (shift - SHIFT) + (size >> shift) - 4
