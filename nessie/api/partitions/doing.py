"""Calls on all parts: one after another here, while the next one is read; or by the workers of a cluster."""
from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from nessie.api.partitions.arguments import Settled
from nessie.api.partitions.calling import PartCall, Parts, room_of
from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.types import Type
from nessie.files.partitions.outputs import Out
from nessie.files.partitions.readers import Reader
from nessie.files.parts import File
from nessie.syntax import nodes as syntax

if TYPE_CHECKING:
    from nessie.api.program import Program
    from nessie.running.targets import Where

AHEAD = 2                       # parts for each worker that are asked for before their results are taken

Read = tuple[Parts, Sequence[File]]
Result = tuple[Any, Type]       # a flat value, of this type; of a folder, the path of the part's file


@dataclass(frozen=True)
class Work:
    """What is done with each part, by whom it may concern. `made_of`: the texts of the program, its options and how it
    is compiled, as pickle has them; `out`: the folder that workers write to."""
    made_of: bytes
    function: str
    asked: syntax.TypeExp | None
    columns: Sequence[str] | None
    out: Out | None


@dataclass(frozen=True)
class Failure:
    """An error on the way to another process."""
    message: str
    places: tuple[Any, ...]
    hint: str


def read_parts(program: Program, partitions: Iterator[Parts],
               columns: Sequence[str] | None) -> Generator[Read, None, None]:
    """The parts, each of which is read while the one before is at work."""
    readers: list[Reader] = []

    def step() -> Read | None:
        parts = next(partitions, None)
        if parts is None:
            return None
        readers.extend([Reader(columns) for _ in parts[len(readers):]])
        return parts, [reader.read(part, room_of(program)) for reader, part in zip(readers, parts, strict=True)]

    with ThreadPoolExecutor(1, "nessie-reads") as pool:
        try:
            ahead = pool.submit(step)
            while (found := ahead.result()) is not None:
                ahead = pool.submit(step)
                yield found
                del found               # its memory is due to the next but one
        finally:
            pool.shutdown(cancel_futures=True)
            for reader in readers:
                reader.close()


def here(call: PartCall, parts: Iterable[Read], out: Out | None) -> Generator[Result, None, None]:
    """One part after another, in this process."""
    for number, (some, files) in enumerate(parts):
        result, type_ = call.result(some, files)
        del files
        if out is not None:
            result = out.write_part(number, result, type_, call.program._session.content)
        yield result, type_


def on_cluster(call: PartCall, partitions: Iterator[Parts], columns: Sequence[str] | None, out: Out | None,
               engine: Any, keeps: bool) -> Generator[Result, None, None]:
    """By workers, of which each has a few parts to do at any time. `keeps`: the engine is another's."""
    program = call.program
    made_of = pickle.dumps((tuple(program._texts), program._options.plain(), program._plain_job()))
    work = Work(made_of, call.function, call.asked, columns, out)
    waiting, numbered = deque[Any](), enumerate(partitions)
    try:
        arguments = engine.submit(f"{call.function}-arguments", given_to_all, call.settled)
        while True:
            for number, parts in islice(numbered, AHEAD * engine.workers() - len(waiting)):
                waiting.append(engine.submit(f"{call.function}-{number}", on_worker, work, parts, number,
                                             given=[arguments]))
            if not waiting:
                return
            (found,) = engine.gather([waiting[0]])
            waiting.popleft()
            if isinstance(found, Failure):
                raise NessieError(found.message, *found.places, hint=found.hint)
            yield found
    finally:
        if waiting:
            engine.cancel([*waiting])
        if not keeps:
            engine.close()


def engine_of(where: Where) -> Any:
    """The workers of a cluster, or of this machine, for one use."""
    from nessie.cudagen.cluster.on_dask import connected, started
    from nessie.running.target_names import LOCAL_WORKERS
    engine = connected(where.cluster) if where.cluster is not None else started(where.workers or LOCAL_WORKERS)
    if where.dashboard is not None:
        where.dashboard(f"Dask's dashboard: {engine.dashboard}")
    return engine


# Workers ----------------------------------------------------------------------------------------


def given_to_all(settled: Settled, given: list[Any]) -> Settled:
    """The arguments, which go to each worker once."""
    return settled


def on_worker(work: Work, parts: Parts, number: int, given: list[Any]) -> Result | Failure:
    program = program_of(work.made_of)
    call = PartCall(program, work.function, work.asked, given[0])
    readers = [Reader(work.columns) for _ in parts]
    try:
        files = [reader.read(part, room_of(program)) for reader, part in zip(readers, parts, strict=True)]
        result, type_ = call.result(parts, files)
        if work.out is not None:
            result = work.out.write_part(number, result, type_, program._session.content)
        return result, type_
    except NessieError as error:
        return Failure(error.message, tuple(error.places), error.hint)
    finally:
        for reader in readers:
            reader.close()


@lru_cache(maxsize=4)
def program_of(made_of: bytes) -> Program:
    from nessie.api.program import Program
    from nessie.base.source import Source
    texts, options, job = pickle.loads(made_of)
    program = Program(None, options, job)
    for name, text in texts:
        program._evaluate(Source(name, text))
    return program
