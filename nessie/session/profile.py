"""Profiles the run of a form: its cost in NESL's model, counted by the interpreter, and the compiled program's cost.

    session = Profiler(target=Target(world=Recording()))
    session.title = "sum of squares"
    session.evaluate(form)              its expression is run, then interpreted
    session.profiles                    a Profile for each value that was computed

The interpreter runs the same typed expression on the same values. Effects are not repeated: the interpreter gets the
results that they gave the compiled program.
"""
from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import field
from threading import Timer
from typing import Any

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Unsupported
from nessie.base.system.deadline import deadline
from nessie.base.system.limits import COMMAND_LINE, LimitHints
from nessie.base.types import Type, Var
from nessie.interpreter import interpreter
from nessie.interpreter.effects import Effects
from nessie.interpreter.meanings import mix
from nessie.interpreter.meanings_any import size
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check_choices import LAST
from nessie.lambda_cu.running.stats import KernelStats
from nessie.measuring.kernels import TIMED, KernelProfile, places_of
from nessie.running.targets import Stats
from nessie.running.world import World
from nessie.session.calling import Prepared
from nessie.session.session import Session
from nessie.session.variables import Variables
from nessie.typing import nodes as typed

SLOT, NUMBER = 8, 40            # bytes of a list's slot and of a number in the interpreter
DEEPER = f"where the limit on depth is set, the interpreter goes up to {interpreter.MOST_DEPTH:,} deep"
PATIENCE = 5.0                  # seconds of counting before the user is told of it


@dataclass(frozen=True)
class Profile:
    """The cost of a form. `work` and `depth` are None if the interpreter could not run it; `uncounted` says why.
    `wall`: the seconds of the compiled run, from its arguments to its result; None if the target's times mean
    nothing."""
    title: str
    target: str
    work: int | None
    depth: int | None
    uncounted: str
    launches: int
    elements: int
    steps: int
    wall: float | None
    kernels: tuple[KernelProfile, ...]
    versions: tuple[tuple[str, str, int], ...] = ()         # choices, the versions that they took, how often

    @property
    def bytes(self) -> int:
        return sum(kernel.bytes for kernel in self.kernels)

    @property
    def seconds(self) -> float | None:
        """Seconds in all kernels, or None if one is unknown."""
        known = [kernel.seconds for kernel in self.kernels if kernel.seconds is not None]
        return sum(known) if len(known) == len(self.kernels) else None

    @property
    def host(self) -> float | None:
        """Seconds of the run in which no kernel was at work: what the host level and its launches take."""
        return None if self.wall is None or self.seconds is None else self.wall - self.seconds


@dataclass
class Recording(World):
    """A world that records the results of effects, for the interpreter."""
    given: list[tuple[str, Any]] = field(default_factory=list)

    def perform(self, name: str, argument: Any, takes: Type) -> Any:
        result = super().perform(name, argument, takes)
        self.given.append((name, result))
        return result


@dataclass
class Profiler(Session):
    """A session that profiles its computations while `watching`, each under the title set last."""
    watching: bool = True
    title: str = ""
    profiles: list[Profile] = field(default_factory=list)
    notified: bool = False

    def compute(self, exp: typed.Exp, type_: Type, prepared: Prepared | None = None) -> Any:
        if not self.watching:
            return super().compute(exp, type_, prepared)
        world, self.target.stats = self.target.world, Stats(kernels=[])
        assert isinstance(world, Recording)
        world.given.clear()
        seed = world.seed
        result = super().compute(exp, type_, prepared)
        notice = Timer(PATIENCE, self.notify)
        notice.daemon = True
        notice.start()
        try:
            cost = self.cost(exp, seed, world.given)
            work, depth, uncounted = cost.work + size(cost.value), cost.depth, ""
        except NessieError as error:
            work, depth, uncounted = None, None, "; ".join(filter(None, (error.message, error.hint)))
        except MemoryError:
            work, depth, uncounted = None, None, "the interpreter ran out of memory"
        finally:
            notice.cancel()
        stats = self.target.stats
        kernels = tuple(self.kernel_profile(kernel, record) for kernel, record in stats.kernels or [])
        self.profiles.append(Profile(self.title, self.target.name, work, depth, uncounted, stats.launches,
                                     stats.elements, stats.steps,
                                     stats.seconds if self.target.name in TIMED else None, kernels,
                                     versions_of(stats)))
        return result

    def notify(self) -> None:
        """Tell the user, once, that counting takes long."""
        if not self.notified:
            self.notified = True
            self.tell("The interpreter is counting work and depth; --time-limit SECONDS stops it.\n")

    def kernel_profile(self, kernel: ir.Kernel | ir.Function, record: KernelStats) -> KernelProfile:
        """The profile of a kernel, or of what is done apart or by owners."""
        seconds = record.seconds if self.target.name in TIMED else None
        return KernelProfile(kernel.name, places_of(kernel), record.launches, record.elements, record.bytes, seconds)

    def cost(self, exp: typed.Exp, seed: int, given: list[tuple[str, Any]]) -> interpreter.Result:
        """The interpreter's result for the expression, with its work and depth."""
        defined, limits = self.environment.program, self.target.limits
        world = Limited(self.environment.library, dict(defined.functions), dict(defined.datatypes),
                        Variables(self.values, self.environment), Effects(Replay(given).perform),
                        min(limits.depth or interpreter.DEPTH, interpreter.MOST_DEPTH), mix(seed),
                        deeper=DEEPER if limits.depth is None else "", memory=self.target.memory(), hints=limits.hints,
                        widths=self.environment.widths)
        self.target.activity.begin("counting work and depth", calls=world.running)
        definition = typed.Variable(typed.NamePattern("it", Var("a")), exp)
        (result,) = interpreter.run(typed.Program((definition,)), world)
        return result


def versions_of(stats: Stats) -> tuple[tuple[str, str, int], ...]:
    """The versions that the run's choices took. Where a case did not hold, the next was asked, or `items` ran."""
    choices = dict.fromkeys(name.rpartition(".")[0] for name, _ in stats.versions)
    found = []
    for choice in choices:
        asked = [(name.rpartition(".")[2], held, count) for (name, held), count in stats.versions.items()
                 if name.rpartition(".")[0] == choice]
        taken = [(choice, version, count) for version, held, count in asked if held]
        first = asked[0][0]
        rest = sum([count for version, _, count in asked if version == first]) - sum([count for _, _, count in taken])
        found += [*taken, *([(choice, LAST, rest)] if rest else [])]
    return tuple(found)


@dataclass
class Limited(interpreter.World):
    """An interpreter's world with a limit on `memory`, in bytes. The estimate is a list's slot for each unit of work,
    plus the numbers about to be generated."""
    memory: int = 0
    hints: LimitHints = COMMAND_LINE

    def charge(self, work: int, depth: int = 1) -> None:
        super().charge(work, depth)
        self.expect(0)
        if deadline().passed():
            deadline().told = True
            raise NessieError(f"the interpreter took longer than {deadline().seconds:g} s")

    def expect(self, elements: int) -> None:
        if self.work * SLOT + elements * NUMBER > self.memory:
            raise NessieError(f"the interpreter would need more than {self.memory:,} bytes; {self.hints.memory}")


class Replay:
    """Replays the recorded results of the effects of each name, in order. The last result is repeated, since the
    elements of an apply-to-each, which have an effect at once in a compiled program, have it one by one here."""

    def __init__(self, given: list[tuple[str, Any]]) -> None:
        self.given: defaultdict[str, deque[Any]] = defaultdict(deque)
        for name, result in given:
            self.given[name].append(result)

    def perform(self, name: str, argument: Any, takes: Type) -> Any:
        results = self.given[name]
        if not results:
            raise Unsupported(f"{name} gave the compiled program nothing")
        return results.popleft() if len(results) > 1 else results[0]
