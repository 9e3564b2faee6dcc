"""Elements that tasks ask for (cudagen.cluster.moving.asking): their places go to who has them, who answer.

    asked      each task: the places in order, and once each, by who has them
    answers    each part of an array, to all who asked
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.cudagen.cluster.moving import tasks
from nessie.cudagen.cluster.moving.exchange import exchange
from nessie.cudagen.cluster.slabs import Spread
from nessie.cudagen.cluster.tasks.chunks import Answers, Job
from nessie.cudagen.cluster.tasks.elements import Given
from nessie.cudagen.cluster.workers import Held, Workers

EACH_PLACE = 16                 # bytes that move for it


@dataclass
class Asked:
    """`arrays`: what was asked of; `askers`: a task for each run of chunks; `answers`: of each array in slabs, for each
    asker, tasks that have what it gets."""
    arrays: Mapping[str, Held]
    askers: Sequence[Any]
    answers: Mapping[str, Sequence[Sequence[Any]]]

    def word(self, array: str, number: int, given: list[Any]) -> Answers:
        """What the task of this number is told of the array."""
        held, at = self.arrays[array], len(given)
        given.append(self.askers[number])
        if not isinstance(held, Spread):
            return Answers(array, at, values=np.array(held))
        given += self.answers[array][number]
        return Answers(array, at, range(at + 1, len(given)))


def ask(workers: Workers, name: str, arrays: Mapping[str, Held], jobs: Sequence[tuple[Job, list[Any]]]) -> Asked:
    spans = {array: workers.spans(held) for array, held in arrays.items() if isinstance(held, Spread)}
    cuts = {array: np.array([0, *[high for _, high in found]]) for array, found in spans.items()}
    lengths = {array: held.length if isinstance(held, Spread) else len(held) for array, held in arrays.items()}
    askers = [workers.submit(f"{name}_asks-{job.first}", tasks.asked, job, lengths, cuts, given=given)
              for job, given in jobs]
    return Asked(arrays, askers, {array: answers(workers, name, array, held, spans[array], askers)
                                  for array, held in arrays.items() if isinstance(held, Spread)})


def answers(workers: Workers, name: str, array: str, held: Spread, spans: Sequence[tuple[int, int]],
            askers: Sequence[Any]) -> list[list[Any]]:
    """For each asker, tasks that have the elements that it wants of the array."""
    places = exchange(workers, f"{name}_asked", askers, (array, f"{array} count"), len(spans))
    made = []
    for (low, high), given in zip(spans, places, strict=True):
        count = len(given)
        part = Given.of(held, low, high, given)
        made.append(workers.submit(f"{name}_answers-{low}", tasks.answers, part, array, count, given=given))
    return exchange(workers, f"{name}_told", made, (array,), len(askers))
