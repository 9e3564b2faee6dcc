"""Profiles of forms: work and depth in NESL's model, counted by the interpreter, and the compiled program's costs.

    session = Profiler(target=Target(world=Recording()))
    session.title = "sum of squares"
    session.evaluate(form)              what it computes is run, then interpreted
    session.profiles                    a Profile for each value that was computed

The interpreter runs the same typed expression on the same values. Effects are not done twice: what they gave the
compiled program they give the interpreter.
"""
from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import field
from threading import Timer
from typing import Any

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span, Unsupported, user_span
from nessie.base.system.deadline import deadline
from nessie.base.system.limits import COMMAND_LINE, LimitHints
from nessie.base.types import Type, Var
from nessie.interpreter import interpreter
from nessie.interpreter.effects import Effects
from nessie.interpreter.meanings import mix
from nessie.interpreter.meanings_any import size
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.running.stats import KernelStats
from nessie.running.targets import Stats
from nessie.running.world import World
from nessie.session.calling import Prepared
from nessie.session.session import Session
from nessie.session.variables import Variables
from nessie.typing import nodes as typed

SLOT, NUMBER = 8, 40            # bytes, in the interpreter
DEEPER = f"where the limit on depth is set, the interpreter goes up to {interpreter.MOST_DEPTH:,} deep"
PATIENCE = 5.0                  # seconds of counting before something is said of it


@dataclass(frozen=True)
class KernelProfile:
    """The costs of all launches of one kernel; `places` are the user's expressions that it computes. `seconds`: None
    where the target's tell nothing."""
    name: str
    places: tuple[Span, ...]
    launches: int
    elements: int
    bytes: int
    seconds: float | None


@dataclass(frozen=True)
class Profile:
    """`work` and `depth` are None where the interpreter could not run the form: `uncounted` says why."""
    title: str
    target: str
    work: int | None
    depth: int | None
    uncounted: str
    launches: int
    elements: int
    steps: int
    kernels: tuple[KernelProfile, ...]

    @property
    def bytes(self) -> int:
        return sum(kernel.bytes for kernel in self.kernels)

    @property
    def seconds(self) -> float | None:
        """The seconds in kernels."""
        known = [kernel.seconds for kernel in self.kernels if kernel.seconds is not None]
        return sum(known) if len(known) == len(self.kernels) else None


@dataclass
class Recording(World):
    """Keeps what effects have given, for the interpreter."""
    given: list[tuple[str, Any]] = field(default_factory=list)

    def perform(self, name: str, argument: Any, takes: Type) -> Any:
        result = super().perform(name, argument, takes)
        self.given.append((name, result))
        return result


@dataclass
class Profiler(Session):
    """A session that profiles what it computes, under the title set last, while `watching`."""
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
                                     stats.elements, stats.steps, kernels))
        return result

    def notify(self) -> None:
        """Say once that counting takes its time."""
        if not self.notified:
            self.notified = True
            self.tell("The interpreter is counting work and depth; --time-limit SECONDS stops it.\n")

    def kernel_profile(self, kernel: ir.Kernel, record: KernelStats) -> KernelProfile:
        spans = [user_span(bind.origin) or user_span(kernel.origin) for bind in kernel.binds]
        places = tuple(dict.fromkeys(span for span in spans if span))
        seconds = record.seconds if self.target.name == "cpu" else None
        return KernelProfile(kernel.name, places, record.launches, record.elements, record.bytes, seconds)

    def cost(self, exp: typed.Exp, seed: int, given: list[tuple[str, Any]]) -> interpreter.Result:
        """The interpreter's value of the expression, with its work and depth."""
        defined, limits = self.environment.program, self.target.limits
        world = Limited(self.environment.library, dict(defined.functions), dict(defined.datatypes),
                        Variables(self.values, self.environment), Effects(Replay(given).perform),
                        min(limits.depth or interpreter.DEPTH, interpreter.MOST_DEPTH), mix(seed),
                        deeper=DEEPER if limits.depth is None else "", memory=self.target.memory(), hints=limits.hints)
        self.target.activity.begin("counting work and depth", calls=world.running)
        definition = typed.Variable(typed.NamePattern("it", Var("a")), exp)
        (result,) = interpreter.run(typed.Program((definition,)), world)
        return result


@dataclass
class Limited(interpreter.World):
    """`memory` in bytes, of which each unit of work is taken to keep a slot of a list, and what is made of nothing its
    numbers, too."""
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
    """Gives what effects of each name have given before, in that order. The last one again and again: what all elements
    of an apply-to-each do at once in a compiled program, they do one by one here."""

    def __init__(self, given: list[tuple[str, Any]]) -> None:
        self.given: defaultdict[str, deque[Any]] = defaultdict(deque)
        for name, result in given:
            self.given[name].append(result)

    def perform(self, name: str, argument: Any, takes: Type) -> Any:
        results = self.given[name]
        if not results:
            raise Unsupported(f"{name} gave the compiled program nothing")
        return results.popleft() if len(results) > 1 else results[0]
