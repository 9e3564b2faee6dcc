"""What users want of a schedule, and the names by which they say it, as plain data."""
from __future__ import annotations

from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.source import Span

CUT, FUSE = "cut", "fuse"


@dataclass(frozen=True)
class Wish:
    """`first` and `second` are not to share a kernel (`cut`), or always to (`fuse`). `place`: where that is written, if
    in the program, and the top-level form there, whose names are meant: a pragma."""
    kind: str
    first: str
    second: str
    place: Span | None = None
    scope: Span | None = None


@dataclass(frozen=True)
class Bound:
    """A name that a top-level form binds. `value`: what it stands for there; None for a parameter. The value of a
    function's name is its body."""
    name: str
    value: Span | None
    scope: Span


@dataclass
class Met:
    """What the forms of a program have had, one after another: the names in wishes that stood for something, the
    wishes of which both stood in one region, and the names of all that kernels compute."""
    names: set[str] = field(default_factory=set)
    wishes: set[Wish] = field(default_factory=set)
    nodes: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True)
class Wishes:
    """All wishes for a program, and what its sources bind. `strict`: the names must be names of the program. `met`:
    notes those that are."""
    wanted: tuple[Wish, ...] = ()
    bound: tuple[Bound, ...] = field(default=(), repr=False)
    strict: bool = True
    met: Met = field(default_factory=Met, repr=False, compare=False)
