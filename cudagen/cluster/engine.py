"""What a cluster is to Nessie: six calls. An engine is an existing one that people run already, behind these.

    submit    a function of an importable module, on arguments that can be pickled and on what other tasks give
    gather    what tasks give, brought here
    cancel    tasks that nobody waits for any more
    workers   how many tasks run at a time
    sees      which of them see a file
    close     the end

`InProcess` does each task at once, in this process: what a cluster does can be tested without one.

What a task raises, `gather` raises here. Where a task kills its workers, or has none, who gathers tells what it does.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span
from nessie.base.system.mapped_files import NewFile
from nessie.base.system.seen_files import Seen, is_there
from nessie.cudagen.cluster.processes.fitness import alike
from nessie.cudagen.cluster.tasks import wanted

Sight = frozenset[str] | None               # names of workers; None: all
Wait = Callable[[int, int, str], None]      # told how many of so many tasks are done, and what lacks; may raise


def quiet(done: int, of: int, lacks: str) -> None:
    """Nobody looks, and nobody interrupts."""


@dataclass(frozen=True)
class Doing:
    """What a task does, in words. `places`: where the program says so; `less`: how it would need less memory."""
    words: str
    places: Sequence[tuple[Span, str]] = ()
    less: str = ""


Does = Callable[[str], Doing]               # by a task's name


def by_name(task: str) -> Doing:
    return Doing(f"the task {task}")


def died(doing: Doing) -> NessieError:
    """It has killed its workers, again and again."""
    return NessieError(f"{doing.words} has killed one worker after another", *doing.places,
                       hint=f"do workers have memory enough for it? {doing.less}".rstrip())


def deserted(doing: Doing, more: int, why: str, hint: str) -> NessieError:
    """There is no worker for it, nor for `more` tasks."""
    others = f", and {more} more task{'s wait' if more > 1 else ' waits'}" if more else ""
    return NessieError(f"{why}: {doing.words} is not done{others}", *doing.places, hint=hint)


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

    def gather(self, waiting: Sequence[Any], wait: Wait = quiet, does: Does = by_name) -> list[Any]:
        """What the tasks give, when they are done. NessieError, in the words of `does`, if nobody can do them; where
        that, a task or `wait` raises something, what else their runs have to do is given up."""

    def cancel(self, waiting: Sequence[Any]) -> None:
        """Nobody waits for these tasks any more; what their runs have to do ends soon."""

    def workers(self) -> int:
        """How many tasks run at a time."""

    def sees(self, file: Seen) -> Sight:
        """The workers that see this file as the driver has seen it."""

    def close(self) -> None:
        """Nothing is submitted any more."""


@dataclass(eq=False)
class Done:
    """A task that is done, or has raised an error."""
    value: Any = None
    error: Exception | None = None


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
        if failed := next((task for task in given if isinstance(task, Done) and task.error), None):
            return failed
        values = [task.value if isinstance(task, Done) else task for task in given]
        try:
            return Done(wanted.computed(alike(), function, *arguments, values))
        except Exception as error:
            return Done(error=error)

    def gather(self, waiting: Sequence[Done], wait: Wait = quiet, does: Does = by_name) -> list[Any]:
        wait(len(waiting), len(waiting), "")
        if error := next((task.error for task in waiting if task.error), None):
            raise error
        return [task.value for task in waiting]

    def cancel(self, waiting: Sequence[Done]) -> None:
        """They are done."""

    def workers(self) -> int:
        return self.at_a_time

    def sees(self, file: Seen) -> Sight:
        return None if is_there(file) else frozenset()

    def close(self) -> None:
        self.names.clear()
