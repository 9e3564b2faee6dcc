"""Users' wishes for a schedule, and the names in which they are written, as plain data."""
from __future__ import annotations

from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.source import Span

CUT, FUSE, LEVEL, MAP = "cut", "fuse", "level", "map"
MAPPINGS = (LEVEL, MAP)
IN_PYTHON = ("mappings", "levels")      # the arguments that ask for them


@dataclass(frozen=True)
class Wish:
    """`first` and `second` shall never share a kernel (`cut`), or always (`fuse`); or `first` shall be computed by
    segments that are owned at the `level` that `second` is, or be walked by the mapping (`map`) of that text: all of
    it, or the partition of a `case`, the number of a test or `rest`. Only a pragma has a `place`, where it is written,
    and a `scope`, the top-level form there, whose names it means. `text`: where `second`, if it is a mapping, is
    written; `case_text`: where the case is; `name_text`: where `first` is, if it is one of MAPPINGS."""
    kind: str
    first: str
    second: str
    place: Span | None = None
    scope: Span | None = None
    text: Span | None = field(default=None, compare=False, repr=False)
    case: str = ""
    case_text: Span | None = field(default=None, compare=False, repr=False)
    name_text: Span | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it has of what the program computes."""
        return (self.first,) if self.kind in MAPPINGS else (self.first, self.second)

    def says_other(self, later: Wish) -> bool:
        """Does another wish for the same, written in the same way, say something else of how it is walked?"""
        mine, theirs = [(wish.kind, wish.second, wish.case) for wish in (self, later)]
        return mine != theirs and self.includes(later) and (self.place is None) == (later.place is None)

    def includes(self, later: Wish) -> bool:
        """Does it say already how that is walked of which another wish for the same says it?"""
        return self.case == later.case or "" in (self.case, later.case)

    @property
    def option(self) -> str:
        """The option that says the same; as it was said, if by an option, at the prompt or from Python."""
        name, said = f"{self.first}{f' case {self.case}' * bool(self.case)}", self.text.source.name if self.text else ""
        if said in IN_PYTHON:
            return f'{said}={{"{name}": "{self.second}"}}'
        start = said if said.startswith(":") else f"--{'fuse-edge' if self.kind == FUSE else self.kind}"
        return f"{start} {name}{'=' if self.kind in MAPPINGS else ','}{self.second}"


@dataclass(frozen=True)
class Bound:
    """A name that a top-level form binds. `value`: the expression that it is bound to; None for a parameter. The value
    of a function's name is its body."""
    name: str
    value: Span | None
    scope: Span


@dataclass
class Met:
    """The wishes that the forms of a program have met so far. `names`: those in wishes that stood for a node; `wishes`:
    those whose nodes stood in one region; `nodes`: what users may call all nodes, and whether a kernel computes
    them; `bound`: the names that these forms bind; `told`: warnings, by the places and the messages of what they are
    about."""
    names: set[str] = field(default_factory=set)
    wishes: set[Wish] = field(default_factory=set)
    nodes: dict[str, bool] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)
    told: dict[tuple[str, str], str] = field(default_factory=dict)

    def tell(self, wish: Wish, message: str, more: str = "") -> None:
        """Note a warning, of which `more` may differ from form to form."""
        place = f"{wish.place.source.name} {wish.place.start}" if wish.place is not None else wish.option
        self.told.setdefault((place, message), f"{message}{more}")


@dataclass(frozen=True)
class Wishes:
    """All wishes for a program, and the names that its sources bind. `strict`: wishes must use names of the program.
    `met` notes the wishes that are met."""
    wanted: tuple[Wish, ...] = ()
    bound: tuple[Bound, ...] = field(default=(), repr=False)
    strict: bool = True
    met: Met = field(default_factory=Met, repr=False, compare=False)
