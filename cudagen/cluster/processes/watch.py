"""What holds up tasks of Dask's that are waited for: no workers, none that sees a file, none with free memory."""
from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any, Protocol

from nessie.base.records import dataclass
from nessie.cudagen.cluster.engine import Does, deserted
from nessie.cudagen.cluster.processes.questions import Questions

STILL = 1.0                     # seconds without a task that ends, until one asks what workers lack


class Connected(Protocol):
    """An engine, with who asks its scheduler."""
    ask: Questions

    def threads(self) -> int:
        """Of all workers that there are."""


@dataclass(frozen=True)
class Lack:
    """What workers lack that tasks need, and how long that may be so, seconds."""
    words: str
    seconds: float


LACKS = {"NOBODY": Lack("the cluster has no workers", 60.0),
         "NO_SIGHT": Lack("the cluster has no worker that sees a file it reads", 60.0),
         "FULL": Lack("all workers have paused, since their memory is full", 600.0)}


class Watch:
    """What can be told of tasks that are waited for. NessieError if nothing has moved for as long as a Lack may
    last: `does` tells what is not done."""

    def __init__(self, engine: Connected, does: Does) -> None:
        self.engine, self.does, self.done = engine, does, 0
        self.lack: Lack | None = None
        self.moved = self.asked = self.there = monotonic()

    def look(self, waiting: Sequence[Any]) -> tuple[int, int, str]:
        """How many are done, of how many; and what lacks, in words."""
        now, done = monotonic(), sum([task.status == "finished" for task in waiting])
        if done != self.done:
            self.done, self.moved, self.lack = done, now, None
        if now - max(self.moved, self.asked) > STILL:
            self.asked = now
            left = [task.key for task in waiting if task.status != "finished"]
            self.lack = self.lacking(left)
            if self.lack is None:
                self.there = now
            elif (still := now - max(self.moved, self.there)) > self.lack.seconds:
                raise deserted(self.does(left[0]), len(left) - 1, f"for {still:.0f} s now {self.lack.words}", self.hint)
        return done, len(waiting), f"{self.lack.words}; {self.hint}" if self.lack else ""

    def lacking(self, keys: Sequence[str]) -> Lack | None:
        """What workers lack that these tasks need."""
        if not self.engine.threads():
            return LACKS["NOBODY"]
        return LACKS.get(self.engine.ask.scheduler(lack_of, keys))

    @property
    def hint(self) -> str:
        return f"start some: dask worker {self.engine.ask.address}"


def lack_of(keys: Sequence[str], dask_scheduler: Any) -> str:
    """At the scheduler: the name in LACKS of what Watch.lacking tells."""
    workers = dask_scheduler.workers
    stuck = needed(keys, dask_scheduler) & {*dask_scheduler.unrunnable}
    if any(task.worker_restrictions and task.worker_restrictions.isdisjoint(workers) for task in stuck):
        return "NO_SIGHT"
    return "FULL" if stuck or all(worker.status.name == "paused" for worker in workers.values()) else ""


def needed(keys: Sequence[str], dask_scheduler: Any) -> set[Any]:
    """The tasks of these names, and those that they wait for."""
    seen = waiting = {dask_scheduler.tasks[key] for key in keys if key in dask_scheduler.tasks}
    while waiting:
        waiting = {before for task in waiting for before in task.waiting_on or ()} - seen
        seen = seen | waiting
    return seen
