"""Versions of a function, from Python: which there are and which a call takes; where each should run, by times.

    versions(...)["pick.it"].took           {"pulled": 1}
    Tuner(...).found().text                 a tuning file, once calls have been measured
"""
from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nessie import driver, forms, pipeline
from nessie.api.calls import COMPILING, Calls
from nessie.api.held import Held
from nessie.api.thresholds import Thresholds
from nessie.api.values.sequences import a
from nessie.base.source import NessieError
from nessie.base.system.deep import run_deep
from nessie.lambda_cu import nodes as ir
from nessie.mono import nodes as mono
from nessie.running.targets import Stats, Target
from nessie.schedule.explain.choices import choices
from nessie.schedule.explain.notes import ChoiceExplained
from nessie.schedule.explain.notes_text import show_choice
from nessie.session.calling import Prepared
from nessie.session.profile import versions_of
from nessie.session.progress import progress_of_call
from nessie.tuning.file import Tuning, machine, name_of, show
from nessie.tuning.measure import Sample, fitted, refused, times

REFERENCE = "reference"


@dataclass(frozen=True)
class Choice:
    """What a run chooses from. `versions`, with their conditions, of which the last has none; `thresholds`, which the
    conditions compare with; and how often the call `took` which version, if there was one."""
    name: str
    versions: Mapping[str, str]
    thresholds: Mapping[str, int]
    took: Mapping[str, int]
    shown: ChoiceExplained = field(repr=False)

    def __repr__(self) -> str:
        took = [f"    it took {version} {count:,} {'time' if count == 1 else 'times'}"
                for version, count in self.took.items()]
        return "\n".join([*show_choice(self.shown), *took])


class Versions(Mapping[str, Choice]):
    """The choices of a function between versions, by their names, FUNCTION.BINDING."""

    def __init__(self, function: str, found: Sequence[Choice], note: str = "") -> None:
        """`note`: why no call has taken any."""
        self.function, self.choices, self.note = function, {choice.name: choice for choice in found}, note

    def __getitem__(self, name: str) -> Choice:
        return self.choices[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    def __repr__(self) -> str:
        shown = [*map(repr, self.choices.values()), self.note] if self.choices else []
        return "\n".join(filter(None, shown)) or f"{self.function} has one version of all that it computes"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def versions(job: pipeline.Job, program: mono.Program, function: str, call: tuple[Target, Prepared] | None) -> Versions:
    """The versions of a program, the function `function` at some types. With a call, it is run on the target, once."""
    def work() -> Versions:
        with COMPILING:
            fused = driver.compile_program(job, forms.MONO, program, pipeline.pass_named("fuse"))
        took: dict[str, dict[str, int]] = {}
        if call is not None:
            target, prepared = replace(call[0], name=job.target, stats=Stats()), call[1]
            with COMPILING:
                built = target.compiled_for(replace(job, layouts=(), tuning=None), prepared.program, prepared.arguments)
            target.execute(built, prepared.arguments)
            for name, version, count in versions_of(target.stats):
                took.setdefault(name, {})[version] = count
        return Versions(function, [
            Choice(found.name, dict(found.versions),
                   {f"{version} {of}": value for version, of, value in found.thresholds},
                   took.get(found.name, {}), found) for found in choices(fused)],
            f"the call took none: the target {job.target} has no versions" if call and job.target == REFERENCE else "")
    return run_deep(work)


@dataclass
class Tuner:
    """Measures calls of the function, one after another, and finds the best thresholds for them. `program`: the name of
    its file; `held`: holds the arguments of a call."""
    calls: Calls
    function: str
    target: Target
    program: str
    held: Callable[[tuple[Any, ...]], Held]
    samples: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        if refusal := refused(self.target.name):
            raise NessieError(refusal)

    def measure(self, call: Any) -> None:
        """Run all versions for one call, a tuple of arguments."""
        held, activity = self.held(arguments_of(self.function, call)), self.calls.session.job.activity
        with progress_of_call(activity) as meanwhile:
            def work() -> Sample:
                with COMPILING:
                    prepared = held.prepared(self.function)
                    job = replace(self.calls.session.job, versions=True)
                    built = self.target.compiled_for(job, prepared.program, prepared.arguments)
                assert not isinstance(built, ir.Program)
                activity.begin(f"tuning: call {len(self.samples) + 1}")
                return times(self.target, built, prepared.arguments)
            self.samples.append(run_deep(work, meanwhile=meanwhile))

    def found(self) -> Thresholds:
        """The best thresholds for these calls. One call is few, as a warning tells."""
        function = self.function
        if not self.samples:
            raise NessieError(f"there is no call of {function} to measure", hint=hint_of(function))
        found = Tuning(machine(), name_of(self.program), function, tuple(fitted(self.samples)))
        if not found.choices:
            raise NessieError(f"{function} has no versions: there is nothing to tune",
                              hint=f"program.{function}.versions(...) shows what a run chooses from")
        if len(self.samples) == 1:
            warnings.warn(f"thresholds need calls of several sizes, and here is one of {function}", stacklevel=3)
        return Thresholds(show(found), tuple([
            {name: dict(measured.seconds) for name, measured in sample.choices.items()} for sample in self.samples]))


def require_calls(function: str, calls: Any) -> None:
    if not isinstance(calls, Iterable):
        raise NessieError(f"calls are in a list or come from a generator, and this is {a(type(calls).__name__)}",
                          hint=hint_of(function))


def arguments_of(function: str, call: Any) -> tuple[Any, ...]:
    """The arguments of one call that is to be measured."""
    if not isinstance(call, tuple | list):
        raise NessieError(f"a call is a tuple of arguments, not {a(type(call).__name__)}", hint=hint_of(function))
    return tuple(call)


def hint_of(function: str) -> str:
    return f"program.{function}.tune([(xs, ys), (more_xs, more_ys)]) measures two calls of two arguments"
