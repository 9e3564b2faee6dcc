"""What a cluster is to Nessie: six calls. An engine is an existing one that people run already, behind these.

    submit    a function of an importable module, on arguments that can be pickled and on what other tasks give
    gather    what tasks give, brought here
    cancel    tasks that nobody waits for any more
    workers   how many tasks run at a time
    sees      which of them see a file
    close     the end

`InProcess` does each task at once, in this process: what a cluster does can be tested without one.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.mapped_files import NewFile
from nessie.base.system.seen_files import Seen, is_there
from nessie.cudagen.cluster.processes.fitness import alike
from nessie.cudagen.cluster.tasks import runs

Sight = frozenset[str] | None               # names of workers; None: all
Wait = Callable[[int, int, str], bool]      # told how many of so many tasks are done, and what lacks; is it to end?


def quiet(done: int, of: int, lacks: str) -> bool:
    """Nobody looks, and nobody interrupts."""
    return False


class Died(NessieError):
    """The task of this name has killed its workers, again and again."""

    def __init__(self, task: str) -> None:
        super().__init__(f"the task {task} has killed one worker after another",
                         hint="do workers have memory enough for it?")
        self.task = task


class Deserted(NessieError):
    """There is no worker for the task of this name, and for `more`."""

    def __init__(self, task: str, more: int, why: str, hint: str) -> None:
        others = f" and {more} more tasks" if more else ""
        super().__init__(f"{why}; the task {task}{others} cannot be done", hint=hint)
        self.task, self.more, self.why = task, more, why


class Interrupted(Exception):
    """Somebody said that what is waited for is to end."""


class Engine(Protocol):
    """`runs`: can anything be submitted? `memory`: bytes that a task may count on, if that is known. `scratch`: a file
    of the driver's; workers who see it see all that the driver makes for arrays; None: it makes none. `files`: those
    that a task needs, if it is to be done again. `dashboard`: the address of its page."""
    memory: int | None
    scratch: Seen | None
    files: WeakKeyDictionary[Any, frozenset[NewFile]]

    @property
    def runs(self) -> bool: ...

    @property
    def dashboard(self) -> str: ...

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any, given: Sequence[Any] = (),
               run: str = "", on: Sight = None) -> Any:
        """A task of this name, which is not waited for: function(*arguments, values), where the values are what the
        tasks `given` give; anything else among them is given as it is. What is returned stands for the task; when it
        is dropped, what the task gave goes. `run`: a name that no other run of a program has, in any process. `on`: the
        workers that may do it."""

    def gather(self, waiting: Sequence[Any], wait: Wait = quiet) -> list[Any]:
        """What the tasks give, when they are done. Died, Deserted or Interrupted, if they never are; what else their
        runs have to do is given up then."""

    def cancel(self, waiting: Sequence[Any]) -> None:
        """Nobody waits for these tasks any more; what is done for their runs ends soon."""

    def workers(self) -> int:
        """How many tasks run at a time."""

    def sees(self, file: Seen) -> Sight:
        """The workers that see this file as the driver has seen it."""

    def close(self) -> None:
        """Nothing is submitted any more."""


@dataclass(eq=False)
class Done:
    """A task that is done."""
    value: Any


@dataclass(eq=False)
class InProcess:
    """Tasks are done when they are submitted; `names` has theirs. `at_a_time`: what `workers` tells."""
    at_a_time: int = 3
    memory: int | None = None
    scratch: Seen | None = None
    runs = True
    dashboard = ""

    def __post_init__(self) -> None:
        self.names: list[str] = []
        self.files: WeakKeyDictionary[Any, frozenset[NewFile]] = WeakKeyDictionary()

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any, given: Sequence[Any] = (),
               run: str = "", on: Sight = None) -> Done:
        self.names.append(name)
        values = [task.value if isinstance(task, Done) else task for task in given]
        return Done(runs.of_run(alike(), run, function, *arguments, values))

    def gather(self, waiting: Sequence[Done], wait: Wait = quiet) -> list[Any]:
        if wait(len(waiting), len(waiting), ""):
            raise Interrupted
        return [task.value for task in waiting]

    def cancel(self, waiting: Sequence[Done]) -> None:
        """They are done."""

    def workers(self) -> int:
        return self.at_a_time

    def sees(self, file: Seen) -> Sight:
        return None if is_there(file) else frozenset()

    def close(self) -> None:
        self.names.clear()
