"""Calls on all parts: one after another here, while the next one is read; or by the workers of a cluster."""
from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from nessie.api.partitions.arguments import Settled
from nessie.api.partitions.calling import PartCall, Parts, room_of
from nessie.api.partitions.elsewhere import program_of
from nessie.base.records import dataclass
from nessie.base.source import Interrupted
from nessie.base.system.deep import run_deep
from nessie.base.types import Type
from nessie.files.partitions.outputs import Out
from nessie.files.partitions.readers import Readers
from nessie.files.parts import File
from nessie.running.target_names import DASK
from nessie.syntax import nodes as syntax

if TYPE_CHECKING:
    from nessie.api.program import Program
    from nessie.cudagen.cluster.engine import Engine
    from nessie.running.targets import Where

AHEAD = 2                       # parts for each worker that are asked for before their results are taken

Read = tuple[Parts, Sequence[File]]
Result = tuple[Any, Type]       # a flat value, of this type; of a folder, the path of the part's file


@dataclass(frozen=True)
class Work:
    """What workers do with each part. `made`: the program, for them; `out`: the folder that they write to."""
    made: bytes
    function: str
    asked: syntax.TypeExp | None
    settled: Settled
    out: Out | None


def read_parts(program: Program, partitions: Iterator[Parts]) -> Generator[Read, None, None]:
    """The parts, each of which is read while the one before is at work."""
    def step() -> Read | None:
        parts = next(partitions, None)
        return None if parts is None else (parts, readers.read(parts, lambda: room_of(program)))

    with closing(Readers()) as readers, ThreadPoolExecutor(1, "nessie-reads") as pool:
        ahead = pool.submit(step)
        try:
            while (found := ahead.result()) is not None:
                ahead = pool.submit(step)
                yield found
                del found               # its memory is due to the next but one
        finally:
            ahead.cancel()


def here(call: PartCall, parts: Iterable[Read], out: Out | None) -> Generator[Result, None, None]:
    """One part after another, in this process."""
    for number, (some, files) in enumerate(parts):
        result, type_ = call.result(some, files)
        del files
        if out is not None:
            result = out.write_part(number, result, type_, call.program._session.content)
        yield result, type_


def on_cluster(work: Work, partitions: Iterator[Parts], workers: AbstractContextManager[Engine]
               ) -> Generator[Result, None, None]:
    """By workers, of which each has a few parts to do at any time. What they still do is given up at the end."""
    waiting, numbered, run = deque[tuple[Parts, Any]](), enumerate(partitions), uuid4().hex
    with workers as engine:
        try:
            given = engine.submit(f"{work.function}-arguments", given_to_all, work, run=run)
            while True:
                for number, parts in islice(numbered, AHEAD * engine.workers() - len(waiting)):
                    waiting.append((parts, engine.submit(f"{work.function}-{number}", on_worker, parts, number,
                                                         given=[given], run=run)))
                if not waiting:
                    return
                found = waited_for(engine, *waiting[0])
                waiting.popleft()
                yield found
        finally:
            if waiting:
                engine.cancel([task for _, task in waiting])


def waited_for(engine: Engine, parts: Parts, task: Any) -> Result:
    """What the task gives, which computes these parts. NessieError, which names them, if nobody could."""
    from nessie.cudagen.cluster.engine import Doing
    (found,) = engine.gather([task], does=lambda name: Doing(str(parts[0])))
    result: Result = found
    return result


@contextmanager
def workers_of(program: Program, where: Where | None) -> Iterator[Engine]:
    """The workers of a cluster, or of this machine, for one use; None: those that the program has."""
    if where is None:
        yield program._calls.target(DASK).engine_of_cluster()
        return
    engine = where.engine()
    try:
        where.tell(engine)
        yield engine
    finally:
        engine.close()


# Workers ----------------------------------------------------------------------------------------


def given_to_all(work: Work, given: list[Any]) -> Work:
    """What is the same for all parts goes to each worker once."""
    return work


def on_worker(parts: Parts, number: int, given: list[Any]) -> Result:
    """What the function gives on the parts."""
    from nessie.cudagen.cluster.tasks.wanted import task_here
    work: Work = given[0]
    task = task_here()

    def look() -> None:
        if task.dropped:
            raise KeyboardInterrupt
    try:
        return run_deep(lambda: computed(work, parts, number), meanwhile=look)
    except KeyboardInterrupt:           # which would end the worker
        raise Interrupted("interrupted") from None


def computed(work: Work, parts: Parts, number: int) -> Result:
    program = program_of(work.made)
    call = PartCall(program, work.function, work.asked, work.settled)
    with closing(Readers()) as readers:
        result, type_ = call.result(parts, readers.read(parts, lambda: room_of(program)))
        if work.out is not None:
            result = work.out.write_part(number, result, type_, program._session.content)
        return result, type_
