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
from nessie.cudagen.cluster.slabs import Spread
from nessie.cudagen.cluster.tasks import Answers, Given, Job
from nessie.cudagen.cluster.workers import Held, Workers

EACH_PLACE = 16                 # bytes that move for it


@dataclass
class Asked:
    """`arrays`: what was asked of; `askers`: a task for each run of chunks; `answers`: of each array in slabs, a task
    for each of its parts."""
    workers: Workers
    name: str
    arrays: Mapping[str, Held]
    askers: Sequence[Any]
    answers: Mapping[str, Sequence[Any]]

    def word(self, array: str, number: int, given: list[Any]) -> Answers:
        """What the task of this number is told of the array."""
        held, at = self.arrays[array], len(given)
        places = f"{array} in order" if isinstance(held, Spread) else array
        given += self.workers.parts_of(self.askers[number:number + 1], [places], f"{self.name}_places-{number}")
        if not isinstance(held, Spread):
            return Answers(array, at, values=held)
        given += self.workers.parts_of(self.answers[array], [f"to {number}"], f"{self.name}_told-{number}")
        return Answers(array, at, range(at + 1, len(given)))


def ask(workers: Workers, name: str, arrays: Mapping[str, Held], jobs: Sequence[tuple[Job, list[Any]]]) -> Asked:
    spans = {array: workers.spans(held) for array, held in arrays.items() if isinstance(held, Spread)}
    cuts = {array: np.array([0, *[high for _, high in found]]) for array, found in spans.items()}
    lengths = {array: held.length if isinstance(held, Spread) else len(held) for array, held in arrays.items()}
    askers = [workers.submit(f"{name}_asks-{job.first}", tasks.asked, job, lengths, cuts, given=given)
              for job, given in jobs]
    answers: dict[str, list[Any]] = {array: [] for array in spans}
    for array, found in spans.items():
        held = arrays[array]
        assert isinstance(held, Spread)
        for d, (low, high) in enumerate(found):
            places = f"{array} of {d}"
            given = workers.parts_of(askers, [places], f"{name}_asked-{low}")
            part = Given.of(held, low, high, given)
            answers[array].append(workers.submit(f"{name}_answers-{low}", tasks.answers, part, places, len(askers),
                                                 given=given))
    return Asked(workers, name, arrays, askers, answers)
