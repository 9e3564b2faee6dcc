"""What there is to tell of a program beside its schedule: how functions run, which groups are made, how rows are
reduced, how lengths are held, what is split at its borders, what mappings walk, which products go by tiles, which
versions a run chooses from. Plain data; each note has its place in the user's source.
"""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.base.source import Span


@dataclass(frozen=True)
class FunctionExplained:
    """A function that is called, not inlined. `runs`: "thread", per element; "lifted", for all elements at once;
    "apart", lifted for large activations, while small ones have a thread each; "host". Unless it runs per element:
    `reason` why not, in words, and where that is."""
    name: str
    runs: str
    place: Span | None
    reason: str = ""
    where: Span | None = None


@dataclass(frozen=True)
class GroupsExplained:
    """Groups by keys that a call at `place` makes, or does not, as they are only reduced. If they are made: `reason`
    why, in words, and where that is."""
    place: Span | None
    made: bool
    reason: str = ""
    where: Span | None = None


@dataclass(frozen=True)
class SpaceExplained:
    """How the lengths computed at `place` are held: the `form` of their space, of a uniform one with how long each axis
    is; the `length` and `start` of segment i, or s, j of nested ones; the `memory` it takes; `reason`: why it takes
    any, where that is known; `elements`: do kernels write these, "stored" on the way, or a "result" of the program, or
    are they "not stored", or "given"? `argument`: what is given, such as the rows of m."""
    place: Span | None
    form: str
    length: str
    start: str
    memory: str
    reason: str = ""
    elements: str = "not stored"
    argument: str = ""


@dataclass(frozen=True)
class ReductionExplained:
    """How a reduction of rows at `place` is computed. `form`: "fold", by the thread of its element; "segments";
    "either", as the host asks how many rounds there are; `reason`: why it is no fold."""
    place: Span | None
    form: str
    reason: str = ""


@dataclass(frozen=True)
class InteriorExplained:
    """The interior of what is computed at `place`: where it begins and ends, from and before, on each axis; `dropped`:
    the decisions that its elements need not make, each with what it comes to there."""
    place: Span | None
    ranges: tuple[tuple[str, str], ...]
    dropped: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class PartExplained:
    """A partition that has a launch of its own: its case, the number of a test or `rest`, its space, the mapping that
    walks it; its blocks and threads, formulas; what it takes to find an index."""
    case: str
    space: str
    mapping: str
    launch: str
    recovery: str


@dataclass(frozen=True)
class MappingExplained:
    """The mapping that walks the kernel of what is computed at `place`, and where it comes from, a pragma, an option or
    the text of the program; the blocks and threads of its launch, and how many of these have no index: formulas;
    `recovery`: what it takes to find one; `candidates`: of which it was chosen, a line each, if it was; else `cost` of
    the mapping itself, and that of `others`; `impossible`: strategies and levels that cannot be here, and why. A
    mapping with cases has instead `parts`, each with its launch; `left`: the test that ends the cases, if one does, and
    `behind` how many tests of no case there are behind it."""
    place: Span | None
    mapping: str
    source: str
    launch: str
    idle: str = ""
    recovery: str = ""
    candidates: tuple[str, ...] = ()
    cost: str = ""
    others: tuple[str, ...] = ()
    impossible: tuple[tuple[str, str], ...] = ()
    parts: tuple[PartExplained, ...] = ()
    left: str = ""
    behind: int = 0


@dataclass(frozen=True)
class LoopExplained:
    """The loop over rows that `function` is, called at `place`: the `owner` who goes through its rounds, with rows of
    up to `room` elements; or why nobody does (`reason`)."""
    place: Span | None
    function: str
    owner: str = ""
    room: int = 0
    reason: str = ""


@dataclass(frozen=True)
class ProductExplained:
    """The product computed at `place` goes by `tiles` of so many rows and columns, in shared memory or in registers,
    where there is as much as `where` says, at least."""
    place: Span | None
    tiles: str
    where: str


@dataclass(frozen=True)
class ChoiceExplained:
    """A choice that a run makes between versions of what is computed at `place`. `name`: FUNCTION.BINDING, as tuning
    files have it; `versions` with their conditions, of which the last has none; `thresholds` in these: of which
    version, what is compared with it, and the number."""
    place: Span | None
    name: str
    versions: tuple[tuple[str, str], ...]
    thresholds: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class Notes:
    """`functions`: those that the program calls; `groups`: those by keys; `reductions`: those of rows; `spaces`: those
    of sequences in sequences; `interiors`: of what is split at its borders; `mappings`: of kernels that have one;
    `loops`: over rows, where users ask for owners; `products`: of matrices, and what is like them; `choices`: between
    versions."""
    functions: tuple[FunctionExplained, ...] = ()
    groups: tuple[GroupsExplained, ...] = ()
    reductions: tuple[ReductionExplained, ...] = ()
    spaces: tuple[SpaceExplained, ...] = ()
    interiors: tuple[InteriorExplained, ...] = ()
    mappings: tuple[MappingExplained, ...] = ()
    products: tuple[ProductExplained, ...] = ()
    loops: tuple[LoopExplained, ...] = ()
    choices: tuple[ChoiceExplained, ...] = ()
