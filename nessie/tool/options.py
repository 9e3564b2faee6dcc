"""Turns the options of a command line, which nessie.tool.command_line parses, into sessions, jobs and outputs."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

from nessie import pipeline
from nessie.base.source import Source, UsageError
from nessie.base.system.deadline import NEVER, Deadline
from nessie.base.system.limits import COMMAND_LINE, PROMPT, LimitHints
from nessie.base.system.writing import write
from nessie.base.widths import Widths
from nessie.running.target_names import DASK, target_of_code
from nessie.schedule.wishes.wishes import CUT, FUSE, Wish
from nessie.session.streams import say, say_aside, warn
from nessie.tool.formats import format_of
from nessie.tool.table import CALLING, COMPILING

if TYPE_CHECKING:
    from nessie.running.targets import Target, Where
    from nessie.running.world import World
    from nessie.session.session import Session
    from nessie.syntax import nodes as syntax
    from nessie.tuning.file import Tuning

FAILED, MISUSED = 1, 2               # exit statuses
LEAVES = 0.2                    # seconds after a Ctrl-C until the process ends, whatever its work does
PIPE = "-"                  # as a file: standard input or output
CHECKS = pipeline.Checking(share=0.02)      # the share of this process's compilations that is checked


def new_session(options: argparse.Namespace, write: Callable[[str], Any] | None = None,
                stdin: IO[str] | None = None) -> Session:
    return session_maker(options, write, stdin)()


def session_maker(options: argparse.Namespace, write: Callable[[str], Any] | None = None,
                  stdin: IO[str] | None = None) -> Callable[[], Session]:
    """Return the function that makes the session. A target or profile that is not available is refused now."""
    from nessie.running.world import World
    world = World(write or say, options.allow_shell or False, options.seed or 0, stdin or sys.stdin,
                  events=options.events or "")
    target, job = target_of(options, world), replace(job_of(options), strict=False, tuning=None)

    def make() -> Session:
        from nessie.session.session import Session
        return Session(target, job)
    return make


def target_of(options: argparse.Namespace, world: World) -> Target:
    from nessie.running.targets import Limits, Target
    limits = Limits(options.memory, options.depth, options.time_limit, hints_of(options))
    return Target(options.target or "cpu", options.threads, limits, world, activity=options.activity,
                  tuning=tuning_of(options), where=where_of(options))


def where_of(options: argparse.Namespace) -> Where:
    """The cluster that is asked for."""
    from nessie.running.targets import Where
    asked = [f"--{name}" for name in ("cluster", "workers", "dashboard") if getattr(options, name)]
    if asked and options.target != DASK:
        raise UsageError(f"{asked[0]} is an option of the target dask", hint="add --target dask")
    if options.cluster and options.workers:
        raise UsageError("--workers starts workers on this machine, and --cluster names those that there are")
    return Where(options.cluster, options.workers, (lambda text: say_aside(f"{text}\n")) if options.dashboard else None)


def tuning_of(options: argparse.Namespace) -> Tuning | None:
    """The tuning that --tuning names. Warns of one of another machine, program or function."""
    tuning = tuning_read(options)
    if tuning is not None:
        from nessie.tuning.file import machine, name_of
        file = name_of(options.operand) if options.operand and options.command in (*CALLING, *COMPILING) else None
        warn(tuning.doubts(machine(), file, (options.entry or "").lower()))
    return tuning


def tuning_read(options: argparse.Namespace) -> Tuning | None:
    if options.tuning is None:
        return None
    from nessie.tuning.file import read
    return read(options.tuning)


def counting_target(options: argparse.Namespace, world: World) -> Target:
    """The target that counts what kernels do to memory."""
    if options.target != "cudasim":
        raise UsageError("--counters counts what a GPU's kernels do, and needs --target cudasim",
                         hint="cudasim executes them on the CPU, thread by thread: take small data")
    if options.threads is not None:
        raise UsageError("--counters runs threads one after another, and --threads says how many there are")
    from nessie.running.counting import CountingTarget
    from nessie.running.targets import Limits
    limits = Limits(options.memory, options.depth, options.time_limit, hints_of(options))
    return CountingTarget(limits=limits, world=world, activity=options.activity)


def hints_of(options: argparse.Namespace) -> LimitHints:
    return COMMAND_LINE if options.command else PROMPT


def deadline_of(options: argparse.Namespace) -> Deadline:
    """The deadline of a command that begins now, or of a typed line. Each form begins it anew (Target.in_time)."""
    if options.time_limit is None:
        return NEVER
    return Deadline(options.time_limit, hints_of(options).seconds)


def write_result(options: argparse.Namespace, result: str | bytes) -> None:
    """Write text to the output, or bytes, which need a file."""
    if isinstance(result, str) and not result.endswith("\n"):
        result += "\n"
    if options.output not in (None, PIPE):
        write(options.output, result)
    elif isinstance(result, str):
        say(result)


def format_asked(options: argparse.Namespace, asked: str | None = None, asks: str = "") -> str | None:
    """The format of the result: the one asked for, else that of the ending of the file that -o names."""
    return format_of(options.command, None if options.output == PIPE else options.output, asked, asks)


def sizes_of(options: argparse.Namespace) -> dict[str, float]:
    """The sizes that are expected."""
    found: dict[str, float] = {}
    for name, size in options.size or ():
        if found.setdefault(name, size) != size:
            raise UsageError(f"--size says {name} is {found[name]:g}, and {size:g}")
    return found


def job_of(options: argparse.Namespace) -> pipeline.Job:
    return pipeline.Job(entry=options.entry or "", argument=type_of(options), lengths=type_of(options),
                        fuse=options.fuse or "ilp", target=target_of_code(options.target or "cpu"),
                        asked_target=options.target or "", machine=machine_of(options),
                        sizes=sizes_of(options), wishes=wishes_of(options),
                        strict=options.command in COMPILING,
                        widths=widths_of(options), unchecked=options.unchecked, versions=bool(options.tuning),
                        tuning=tuning_read(options) if options.command in COMPILING else None,
                        dump=options.dump, checks=pipeline.Checking() if options.dump else CHECKS,
                        activity=options.activity)


def widths_of(options: argparse.Namespace) -> Widths:
    return Widths(int(options.float or 64), int(options.int or 64))


def wishes_of(options: argparse.Namespace) -> tuple[Wish, ...]:
    plain = [Wish(kind, *names) for kind, given in ((FUSE, options.fuse_edge), (CUT, options.cut)) for names in given]
    if not options.map and not options.level:
        return tuple(plain)
    from nessie.schedule.wishes.asked import asked, asked_levels  # reads mappings, which few ask for
    return (*plain, *map(asked_levels, options.level), *[wish for text in options.map for wish in asked(text)])


def machine_of(options: argparse.Namespace) -> Any:
    if options.machine is None:
        return None
    from nessie.schedule.cost.profiles import named
    return named(options.machine)


def type_of(options: argparse.Namespace) -> syntax.TypeExp | None:
    """The type that -t gives, as written."""
    if options.type is None:
        return None
    from nessie.syntax.parser import parse_type
    return parse_type(Source("type", options.type))


def needed(options: argparse.Namespace, what: str) -> str:
    if options.operand is None:
        first = f"{what} comes before -e ENTRY, whose ARGs take all that follows"
        more = f"nessie {options.command} --help tells more"
        raise UsageError(f"{options.command} needs {what}", hint=first if options.entry else more)
    return str(options.operand)
