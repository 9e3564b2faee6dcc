"""A plan: how one kernel is launched on a target. What skeletons make and targets carry out.

A plan is phases in order. Before a phase its buffers are allocated: sizes are expressions over the kernel's scalar
parameters and over `cells`, int64 words that earlier phases wrote (a count of survivors, a float's bits). A phase calls
one function, for all its chunks at once or once:

    chunked   f(first_chunk, last_chunk, arguments)      any number of calls, from any threads, cover 0 .. chunks-1
    once      f(arguments)

On the GPU `chunks` is the number of blocks (None: one), each of THREADS threads, and functions take no chunk range.

Chunks depend on sizes alone, never on the number of threads, so results have the same bits on 1 and on 64.
"""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.cudagen import loops
from nessie.lambda_cu import ir

THREADS = 256                        # of a block on the GPU
ONE = loops.Const(1, "int")


@dataclass(frozen=True)
class Buffer:
    """An array of `size` elements of `base`; `fill` if it starts filled with one value."""
    name: str
    base: str
    size: loops.Exp
    fill: int | float | bool | str | None = None


@dataclass(frozen=True)
class Phase:
    """`function` is in the module; `arguments` are its parameters after the chunk range: names of the kernel's
    parameters, of buffers, `cells`, `errors`, `interrupt`, or, on the GPU, sizes. `chunks` None: called once; 0: not at
    all."""
    function: str
    arguments: tuple[str | loops.Exp, ...]
    chunks: loops.Exp | None
    buffers: tuple[Buffer, ...] = ()
    library: bool = False            # `function` is one of the target's own library kernels (sort)


@dataclass(frozen=True)
class ScalarResult:
    """A scalar that a phase left in cells[slot], as its bits."""
    slot: int
    base: str


@dataclass(frozen=True)
class ArrayResult:
    """The buffer's first `length` elements, known after the last phase; None: all of it. With a length, the buffer's
    size is a bound. Plans of the CPU know sizes before they take buffers."""
    buffer: str
    length: loops.Exp | None = None


Result = ScalarResult | ArrayResult


@dataclass(frozen=True)
class Plan:
    """`results` in the order of the kernel's returns; `cells` is the number of cells; `elements` says how many
    elements (and ends of segments) the walk has."""
    kernel: ir.Kernel
    functions: tuple[loops.Function, ...]
    phases: tuple[Phase, ...]
    results: tuple[Result, ...]
    cells: int
    elements: loops.Exp = ONE
