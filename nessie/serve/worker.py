"""A child process that answers questions of live pages, one after another.

A question and its answer are JSON, each behind its length in eight bytes. They go through what was standard input and
output; what else is printed goes nowhere. The process ends with its server: then its input ends.
"""
from __future__ import annotations

import gc
import json
import os
import sys
from typing import IO

from nessie.base.widths import Widths
from nessie.serve.confined import confine
from nessie.serve.live import Live
from nessie.serve.workers import LENGTH

WARMING = {"do": "look", "program": "function sums(s) = {sum({y * y : y in x | y > 0}) : x in s};", "data": "[[1, 2]]",
           "stages": ["fused"]}         # a question after which nothing is to be imported any more

GARBAGE = 100_000               # objects until cycles are looked for within a question


def main() -> None:
    """Answer until there are no more questions. Says that it is ready by an empty answer."""
    seconds, memory, threads = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    widths = Widths(int(sys.argv[4]), int(sys.argv[5]))
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    for number, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        os.dup2(os.open(os.devnull, flags), number)
    live = Live(seconds, memory, threads, widths)
    for question in (WARMING, WARMING | {"details": True}, WARMING | {"do": "run"}):
        live.answer(question)
    gc.collect()
    gc.freeze()                 # nothing of it will go
    gc.set_threshold(GARBAGE, *gc.get_threshold()[1:])
    confine(memory)
    write(answers, b"")
    while (asked := read(questions)) is not None:
        write(answers, answered(live, asked))
        gc.collect(1)           # while nobody waits


def answered(live: Live, asked: bytes) -> bytes:
    """The answer as JSON; what goes wrong in Nessie itself is an answer, too."""
    try:
        return json.dumps(live.answer(json.loads(asked)), separators=(",", ":")).encode()
    except MemoryError:
        return b'{"errors":[{"message":"out of memory","text":"out of memory","places":[]}]}'


def read(stream: IO[bytes]) -> bytes | None:
    """The next question; None at the end."""
    head = stream.read(LENGTH)
    size = int.from_bytes(head, "big")
    body = stream.read(size)
    return body if len(head) == LENGTH and len(body) == size else None


def write(stream: IO[bytes], text: bytes) -> None:
    stream.write(len(text).to_bytes(LENGTH, "big") + text)
    stream.flush()


if __name__ == "__main__":
    main()
