"""The options of a program that Python has loaded."""
from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from nessie.api.thresholds import Thresholds
from nessie.api.values.sequences import a
from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.source import NessieError
from nessie.base.system.limits import BYTES, COUNT, SECONDS, WORKERS, Amount, bytes_of
from nessie.base.widths import SETTINGS, Widths
from nessie.running.target_names import DASK, TARGETS
from nessie.running.targets import Where
from nessie.schedule.wishes.asked import asked, asked_levels
from nessie.schedule.wishes.wishes import Wish

if TYPE_CHECKING:
    from nessie.tuning.file import Tuning


@dataclass(frozen=True)
class Options:
    """The options: `threads` of the CPU; `memory`: a limit in bytes, or a text such as "2G"; `depth`: a limit on
    recursion; `seconds`: a limit for each call; `seed` of random numbers; `unchecked`: leave out run-time checks;
    `floats` and `ints`: the bits of the program's numbers; `mappings`: texts of mappings, by the names of what they are
    to walk; `levels`: texts of levels, likewise; `tuning`: a file that nessie tune has written, what
    Function.tune has found, or "none"; `cluster` and `workers`: those of the target dask. NessieError for a wrong
    value."""
    target: str = "cpu"
    threads: int | None = None
    memory: int | str | None = None
    depth: int | None = None
    seconds: float | None = None
    seed: int = 0
    unchecked: bool = False
    floats: int = 64
    ints: int = 64
    mappings: Mapping[str, str] | None = None
    levels: Mapping[str, str] | None = None
    tuning: str | os.PathLike[str] | Thresholds | None = None
    cluster: Any = None
    workers: int | None = None

    def __post_init__(self) -> None:
        check_target(self.target)
        for name in ("cluster", "workers"):
            if getattr(self, name) is not None and self.target != DASK:
                raise NessieError(f"{name} is an option of the target dask, and the target is {self.target}",
                                  hint="add target='dask'")
        check_count("workers", self.workers, WORKERS)
        Where(self.cluster, self.workers)       # which refuses both
        memory_limit(self.memory)
        for name in ("threads", "depth"):
            check_count(name, getattr(self, name))
        if self.seconds is not None and not (is_number(self.seconds) and SECONDS.takes(self.seconds)):
            raise wrong("seconds", self.seconds, SECONDS.wanted)
        if not isinstance(self.unchecked, bool):
            raise wrong("unchecked", self.unchecked, "True or False")
        if not (is_whole(self.seed) and MIN_INT <= self.seed <= MAX_INT):
            raise wrong("seed", self.seed, "a whole number of 64 bits")
        check_bits("float", self.floats)
        check_bits("int", self.ints)
        wishes_of(self.mappings, self.levels)

    @property
    def wishes(self) -> tuple[Wish, ...]:
        """Those for mappings."""
        return wishes_of(self.mappings, self.levels)

    def tuned(self, program: str) -> Tuning | None:
        """The tuning. Warns of one of another machine, or of another program than this file."""
        if self.tuning is None:
            return None
        from nessie.tuning.file import machine, name_of, read
        if isinstance(self.tuning, Thresholds):
            found = self.tuning.read()
        elif isinstance(self.tuning, str | os.PathLike) and self.tuning != "":
            found = read(os.fspath(self.tuning))
        else:
            raise wrong("tuning", self.tuning, 'the name of a file, "none" or what tune has found')
        for doubt in found.doubts(machine(), name_of(program) if program.endswith(".nesl") else None):
            warnings.warn(doubt, stacklevel=4)       # where the user loads
        return found

    def plain(self) -> Options:
        """Those that a worker of a cluster has, for its part."""
        return replace(self, target="cpu", threads=1, cluster=None, workers=None)

    @property
    def where(self) -> Where:
        """The workers of the target dask."""
        return Where(self.cluster, self.workers)

    @property
    def bytes(self) -> int | None:
        return memory_limit(self.memory)

    @property
    def widths(self) -> Widths:
        return Widths(self.floats, self.ints)


def is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def memory_limit(value: Any) -> int | None:
    """The number of bytes that a limit of memory is, given as a number or as the command line takes it."""
    if isinstance(value, str):
        with suppress(ValueError):
            return bytes_of(value)
    elif value is None:
        return None
    elif is_whole(value) and BYTES.takes(value):
        return int(value)
    raise wrong("memory", value, BYTES.wanted)


def wrong(name: str, value: object, wanted: str) -> NessieError:
    return NessieError(f"{name} is {wanted}, not {value!r}")


def wishes_of(mappings: Any, levels: Any) -> tuple[Wish, ...]:
    """The wishes for mappings and levels, by the names of what they are to walk."""
    for what, given in (("mappings", mappings), ("levels", levels)):
        if not isinstance(given, Mapping | None):
            raise wrong(what, given, f"a dict of names and {what}")
    walked = [wish for name, text in (mappings or {}).items()
              for wish in asked(f"{a_text(name, 'a name')}={a_text(text, 'a mapping')}", "mappings")]
    return (*walked, *[asked_levels(f"{a_text(name, 'a name')}={a_text(text, 'a level')}", "levels")
                       for name, text in (levels or {}).items()])


def a_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise NessieError(f"{what} is a str, not {a(type(value).__name__)}")
    return value


def a_path(value: object, what: str) -> str:
    return os.fsdecode(value) if isinstance(value, bytes | os.PathLike) else a_text(value, what)


def check_bits(name: str, bits: Any) -> None:
    """Refuse bits of numbers that there are not."""
    if bits not in SETTINGS or not is_whole(bits):
        raise wrong(name, bits, "32 or 64")


def check_count(name: str, value: Any, wanted: Amount = COUNT) -> None:
    """NessieError for an option that is neither None nor such a count."""
    if value is not None and not (is_whole(value) and wanted.takes(value)):
        raise wrong(name, value, wanted.wanted)


def check_target(name: str) -> str:
    if name not in TARGETS:
        raise NessieError(f"there is no target {name}; the targets are {', '.join(TARGETS)}")
    return name
