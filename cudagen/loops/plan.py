"""A plan: how one kernel is launched on a target. What skeletons make and targets carry out; a part of the form loops
(cudagen.loops.nodes shows one as text).

A plan is phases in order. Before a phase its buffers are allocated: sizes are expressions over the kernel's scalar
parameters and over `cells`, int64 words that earlier phases wrote (a count of survivors, a float's bits). A phase calls
one function, for all its chunks at once or once:

    chunked   f(first_chunk, last_chunk, arguments)      any number of calls, from any threads, cover 0 .. chunks-1;
                                                         `in order`: one after another, as they are numbered; `by k`:
                                                         in k chains, chunk c in chain c * k / chunks, each in order
    once      f(arguments)

On the GPU `chunks` is the number of blocks (once: one), each of THREADS threads, and functions take no chunk range. A
phase with a `shape` says instead how many blocks there are, and threads of each, in three directions.

Chunks depend on sizes alone, never on the number of threads, so results have the same bits on 1 and on 64.

Invariants (checked by cudagen.loops.plan_check):
  - names of plans differ; in a plan those of parameters and buffers do, identifiers other than SHARED; an array
    parameter's size reads int parameters only;
  - the phases of a plan call functions of one kind, 'host' or 'cuda'; a host function is called in chunks if, and only
    if, its first parameters are the chunk range; LIBRARY functions, which only the CPU has, are called once: they take
    values and write them, sorted;
  - a function gets as many arguments as it has other parameters: for an array the name of one, of the plan's, of a
    buffer of this or an earlier phase, or of SHARED; for a scalar that of one of the plan's, WORKERS or, if 'cuda',
    EPOCH or a size.
    Types agree, but ints and floats, of 8 bytes both, may be taken for each other in arrays, and cells for anything;
  - what a function writes is no array of the plan's parameters, and is passed once, but for the cells;
  - a phase with a shape is of a function of kind 'cuda', is called once, and has three sizes for blocks and for
    threads;
  - sizes are ints, int parameters, WORKERS, cells that an earlier phase stores an int in, + - * / rem min max of sizes,
    and select of two by comparisons of sizes, joined by and;
  - a result names a buffer, or a cell that a phase stores a value of its type in; so does a result's last element; a
    buffer's fill is of its type;
  - a buffer that is a copy is one of an array parameter of the same type, which is not longer;
  - a plan that does the same for one chunk stands behind the plan that names it, has the same parameters, and as many
    results of the same types; what tells how many chunks there are reads parameters only;
  - a buffer that is kept is of ints, of a plan for 'cuda', neither filled nor a copy, and no result.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod

from nessie.base.located import Located
from nessie.base.records import dataclass
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.walk import called
from nessie.lambda_cu import nodes as ir

THREADS = 256                        # of a block on the GPU
MOST_THREADS = 1024                  # of one whose launch has a shape
ONE = loops.Const(1, "int")
Directions = tuple[int, int, int]                    # x, y, z
PAIR = 2                             # words
TICKETS = "tickets"                                 # of the GPU's launches, each of which begins and ends with 0 there
SHARED = ("cells", "errors", "interrupt", TICKETS)  # arrays that every launch has besides its own
WORKERS = "workers"                                 # a scalar that every launch has: threads that run chunks at a time
EPOCH = "epoch"                                     # of the GPU's launches: what kept buffers have is at most that
CELL_STRIDE = {"int": 1, "float": 1, "bool": 8, "char": 2}      # elements of the type in a cell of 8 bytes
SIZE_OPERATORS = ("+", "-", "*", "/", "rem", "min", "max")
SIZE_CONDITIONS = ("<", "<=", ">", ">=", "==", "/=")            # by which one of two is selected
LIBRARY = ("sort_ascending", "sort_descending")     # of the CPU (cudagen.cpu.sorting)


@dataclass(frozen=True)
class Input:
    """A parameter of the kernel: a scalar, or an array of `size` elements of `base`."""
    name: str
    base: str
    size: loops.Exp | None = None


@dataclass(frozen=True)
class Buffer:
    """An array of `size` elements of `base`. At first it is filled with one value, if there is a `fill`, or it is a
    `copy` of the array of this name, a parameter of the plan, whose memory it takes where nobody needs that any more.
    `kept`, by entries of so many words, 1 or a PAIR, it has what earlier launches have left in such buffers, of any
    kernel, or 0: the first word of each entry is not greater than EPOCH."""
    name: str
    base: str
    size: loops.Exp
    fill: int | float | bool | str | None = None
    copy: str = ""
    kept: int = 0


@dataclass(frozen=True)
class Shape:
    """Sizes: the blocks of a launch, and the threads of each, in the directions x, y, z. Where one is 0 nothing is
    launched."""
    grid: tuple[loops.Exp, ...]
    block: tuple[loops.Exp, ...]

    @property
    def most_threads(self) -> int:
        """The most threads that a block can have."""
        known = [size.value for size in self.block if isinstance(size, loops.Const)]
        return prod(map(int, known)) if len(known) == len(self.block) else MOST_THREADS


@dataclass(frozen=True)
class Phase:
    """`function` is in the module; `arguments` are its parameters after the chunk range: Names of the kernel's
    parameters, of buffers, of SHARED, or, on the GPU, sizes. `chunks` None: called once; 0: not at all. `in_order`, of
    a function in chunks: each comes after those before it; with `chains`, those of its chain. `shape`, of a function
    that is called once on the GPU: its blocks and threads."""
    function: str
    arguments: tuple[loops.Exp, ...]
    chunks: loops.Exp | None
    buffers: tuple[Buffer, ...] = ()
    library: bool = False            # `function` is one of the target's own library kernels (sort)
    in_order: bool = False
    chains: loops.Exp | None = None
    shape: Shape | None = None


@dataclass(frozen=True)
class ScalarResult:
    """A scalar that a phase left in cells[slot], as its bits. `name`: what the kernel calls it."""
    name: str
    slot: int
    base: str


@dataclass(frozen=True)
class ArrayResult:
    """The buffer's first `length` elements, known after the last phase; None: all of it. With a length, the buffer's
    size is a bound; on the CPU only plans for one chunk have such. `last`: the cell in which a phase leaves the
    last element, too."""
    buffer: str
    length: loops.Exp | None = None
    last: int | None = None


Result = ScalarResult | ArrayResult


@dataclass(frozen=True)
class Alone:
    """The plan of this name does the same, where `chunks`, a size, is 1 at most: few of them, or what a product's tiles
    are too much for."""
    plan: str
    chunks: loops.Exp


@dataclass(frozen=True)
class Plan(Located):
    """`name` and `parameters` are the kernel's, `results` in the order of its returns; `cells` is the number of cells;
    `elements` says how many elements (and ends of segments) the walk has; `alone`: what is shorter for little; `asked`:
    who asked for the kernel's mapping."""
    name: str
    parameters: tuple[Input, ...]
    phases: tuple[Phase, ...]
    results: tuple[Result, ...]
    cells: int
    elements: loops.Exp = ONE
    alone: Alone | None = None
    asked: ir.Asked | None = field(default=None, compare=False)


def by_kernel(plans: Sequence[Plan]) -> list[tuple[Plan, ...]]:
    """The plan of each kernel or function, with the one behind it that does the same, if there is one."""
    named = {plan.name: plan for plan in plans}
    behind = {plan.alone.plan for plan in plans if plan.alone is not None}
    return [(plan,) if plan.alone is None else (plan, named[plan.alone.plan])
            for plan in plans if plan.name not in behind]


def in_directions(number: int | Directions) -> Directions:
    """So many blocks or threads in the direction x, unless it says how many in each."""
    return (number, 1, 1) if isinstance(number, int) else number


def replacing(plan: Plan) -> dict[str, str]:
    """The buffers that may take the memory of the parameter that they begin as, with its name: no phase reads it."""
    read = [a.name for phase in plan.phases for a in phase.arguments if isinstance(a, loops.Name)]
    copied = [(b.name, b.copy) for phase in plan.phases for b in phase.buffers if b.copy]
    used = Counter([*read, *(of for _, of in copied)])
    return {name: of for name, of in copied if used[of] == 1}


def reached(functions: Mapping[str, loops.Function], plan: Plan) -> set[str]:
    """The functions that the plan's phases call, and those that these call; all are given by their names."""
    found, waiting = set[str](), [phase.function for phase in plan.phases if not phase.library]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += called(functions[name].body)
    return found
