"""loops: the small imperative form that skeletons and thunk generators write and every printer reads.

    plan K1(int n, float[n] xs) {
      cells 1;
      elements n;
      phase K1_sweep(n, xs, parts) chunks (n + 4095) / 4096 {
        buffer float parts[(n + 4095) / 4096];
      }
      phase K1_finish(n, parts, cells) once;
      result float sum = cells[0];
    }

    host K1_sweep(int first_chunk, int last_chunk, int n, float[] xs, writable float[] parts) {
      for (c = first_chunk; c < last_chunk; c += 1) {
        var float sum = 0.0;
        for (i = c * 4096; i < min(n, (c + 1) * 4096); i += 1) {
          float x = xs[i];
          sum = sum + x * x;
        }
        parts[c] = sum;
      }
    }

    host K1_finish(int n, float[] parts, writable float[] cells_float) {
      var float sum = 0.0;
      for (c = 0; c < (n + 4095) / 4096; c += 1) {
        sum = sum + parts[c];
      }
      cells_float[0] = sum;
    }

Types are lambda_cu's scalars; arrays are pointers to them, or to narrower numbers, which a Load widens and a Store, of
numbers that fit, makes narrow again. All names of a function are bound once, except that `Var`s
are assigned by `Set`. Expressions are trees of scalar operators (lambda_cu.ops), `select`, constants, names, and loads.
cudagen.loops.text prints and reads the text, cudagen.loops.interpreter runs it.

Invariants (checked by cudagen.loops.check):
  - function names differ; only functions of kind 'device' and 'apart' have results and are called, with arguments that
    agree, 'apart' ones by those of kind 'host' and 'apart';
  - names are identifiers, bound before use and once per function, none of them a special name; only Vars are Set, to
    their type; a name lives to the end of the block that binds it;
  - expressions are well typed, constants fit their types; indices and bounds are int, steps positive;
  - stores and atomics go to writable arrays; no writable array is passed twice to one call;
  - Barrier, Pause, Note, Shuffle, Vote, Peers, pairs, what acquires or releases and the special names of CUDA occur
    only in functions of kind 'cuda', FRAME, Part, Prefetch and Distance only in others; Shared only at the top of a
    body, and in none of kind 'device';
  - what acquires, releases or is relaxed, an atomic max of others than ints, and a pair are of a parameter, no shared
    array; a pair is of ints;
  - a function with results ends every path in Return, and nothing follows a Return.
Those of plans are in the header of cudagen.loops.plan.
"""
from __future__ import annotations

from dataclasses import field

from nessie.base.located import Located
from nessie.base.records import dataclass

WARP = 32                           # lanes
TEAMS = (4, 8, 16, WARP)            # numbers of lanes that may meet

# Expressions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Const:
    value: int | float | bool | str
    type: str


@dataclass(frozen=True)
class Name:
    """A parameter, a Let or Var, a loop index, or an int: (in 'cuda') blockIdx, blockDim, gridDim, threadIdx, of the
    direction x, and blockIdx_y, threadIdx_z and so on of the others (PLACES); (in the others) FRAME, the address of
    what the running function has on the stack, which grows downwards."""
    name: str


@dataclass(frozen=True)
class Op:
    """A row of lambda_cu.ops, or `select` (condition, a, b: both evaluated). Floats are added in the order of the text:
    no printer and no compiler may choose another."""
    op: str
    arguments: tuple[Exp, ...]


@dataclass(frozen=True)
class Load:
    """`order`: '', or of memory that others write meanwhile 'volatile', which reads it each time (the interrupt word);
    'relaxed', which may race with what releases; or 'acquire', which sees, too, all that was written before what is
    read here was released. The latter two are cuda only, of int."""
    array: str
    index: Exp
    order: str = ""


@dataclass(frozen=True)
class Shuffle:
    """The value that another lane of the warp, all of whose lanes take part, holds in `name`; cuda only. Mode 'down':
    the lane `offset` above this one, as CUDA has it; 'up': below; 'index': the lane of that number. `lanes`: of so many
    neighbouring lanes, a part of the warp, all take part, and no others."""
    name: str
    offset: Exp
    mode: str = "down"
    lanes: int = WARP


@dataclass(frozen=True)
class Vote:
    """An int with a bit for each lane of the warp, the lowest for the first: whether the bool `name` holds there. All
    lanes take part; cuda only."""
    name: str


@dataclass(frozen=True)
class Peers:
    """An int with a bit for each lane of the warp, as a Vote has: whether the int `name` has the same lowest bits
    there, so many of them. All lanes take part; cuda only."""
    name: str
    bits: int


@dataclass(frozen=True)
class Distance:
    """How many bytes after the array `start` the array begins; not in 'cuda'."""
    array: str
    start: str


Exp = Const | Name | Op | Load | Shuffle | Vote | Peers | Distance

Written = str                       # the name of an array that the statement writes, or that others do meanwhile
Bound = str                         # a name that the statement binds
Assigned = str                      # or gives another value

# Statements -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Let:
    name: Bound
    type: str
    value: Exp


@dataclass(frozen=True)
class Var:
    """A mutable scalar."""
    name: Bound
    type: str
    initial: Exp


@dataclass(frozen=True)
class Set:
    name: Assigned
    value: Exp


@dataclass(frozen=True)
class Store:
    """`release`: whoever acquires the value sees all that this thread has written before, and what it had seen of
    others at barriers; cuda only, of int."""
    array: Written
    index: Exp
    value: Exp
    release: bool = False


@dataclass(frozen=True)
class StorePair:
    """Elements 2 * index and 2 * index + 1 of an int array, which begins at a multiple of 16 bytes, become the int
    `first` and the bits of `second`, of any type: both at once, and in no order with what else is stored; cuda only."""
    array: Written
    index: Exp
    first: Exp
    second: Exp


@dataclass(frozen=True)
class LoadPair:
    """names = the int and the value of this type that one StorePair has left there: both are read at once. It may race
    with StorePairs, and sees nothing else that was stored before; cuda only."""
    names: tuple[Bound, ...]
    type: str
    array: Written
    index: Exp


@dataclass(frozen=True)
class Shared:
    """An array of the block's own, in its shared memory. On the CPU a call of a host function is a block of one thread.
    At the top of a body."""
    name: Bound
    type: str
    size: int


@dataclass(frozen=True)
class Part:
    """name = what lies `offset` bytes after the beginning of an array, seen as an array of its own: a part of it, or
    another array that lies so far away (Distance). It is written if `array` is writable. Not in 'cuda'."""
    name: Bound
    type: str
    array: Written
    offset: Exp


@dataclass(frozen=True)
class Prefetch:
    """Tells the processor that array[index] is read soon. Nothing is read where no element is. Not in 'cuda'."""
    array: str
    index: Exp


@dataclass(frozen=True)
class For:
    """for index = low; index < high; index += step (a positive constant or name); bounds are evaluated once."""
    index: Bound
    low: Exp
    high: Exp
    body: tuple[Stmt, ...]
    step: Exp = Const(1, "int")


@dataclass(frozen=True)
class While:
    condition: Exp
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class If:
    condition: Exp
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class Atomic:
    """array[index] = old op value, in one step; op: 'add' 'min' 'max' 'exchange' 'cas' (with `compare`).
    `result`, if given, is bound to the old value. int arrays; 'add' and 'exchange' on float too; on cuda 'max' on all
    types, but only of ints with a result. `ordered`, of an 'add' of ints on cuda: it releases, as a Store does, and
    acquires what the others before it have released, as a Load does. 'add' on uint32, too: on cuda, without result."""
    op: str
    array: Written
    index: Exp
    value: Exp
    result: Bound | None = None
    compare: Exp | None = None
    ordered: bool = False


@dataclass(frozen=True)
class Call:
    """names = function(arguments), a function of kind 'device'. An argument that is an array is its Name."""
    names: tuple[Bound, ...]
    function: str
    arguments: tuple[Exp, ...]


@dataclass(frozen=True)
class Pause:
    """Lets others run: in a loop that waits for them; cuda only."""


@dataclass(frozen=True)
class Barrier:
    """All threads of the block wait for each other, and see what the others have written; or, if `warp`, so many
    neighbouring lanes of the warp; cuda only."""
    warp: bool = False
    lanes: int = WARP


@dataclass(frozen=True)
class Note:
    """Says what the statements after it do, to who reads the code."""
    text: str


@dataclass(frozen=True)
class Return:
    """Leaves the function, with a value per result."""
    values: tuple[Exp, ...] = ()


Stmt = (Let | Var | Set | Store | StorePair | LoadPair | Shared | Part | Prefetch | For | While | If | Call | Atomic
        | Pause | Barrier | Note | Return)


PLACES = tuple([f"{what}{direction}" for what in ("blockIdx", "blockDim", "gridDim", "threadIdx")
                for direction in ("", "_y", "_z")])
FRAME = "frame_address"
NESTING = ("calls_left", "stack_end")               # how many calls may nest, and down to which address: of recursion
CHUNK_RANGE = ("first_chunk", "last_chunk")          # from the first to before the last


@dataclass(frozen=True)
class Parameter:
    """A scalar, or an array where `array`; `writable` arrays alias no other parameter."""
    name: str
    type: str
    array: bool = False
    writable: bool = False


@dataclass(frozen=True)
class Function(Located):
    """kind: 'host'   (void) called on the CPU, once; or, if its first parameters are the ints of CHUNK_RANGE, in any
                      number of calls that together cover the chunks
             'cuda'   (void) a __global__ kernel
             'device' has scalar `results`; callable from both
             'apart'  has scalar `results`; callable on the CPU, from host functions and those of its kind
    `about`: lines of comment that stand above it"""
    name: str
    kind: str
    parameters: tuple[Parameter, ...]
    body: tuple[Stmt, ...]
    results: tuple[str, ...] = ()
    about: str = field(default="", compare=False)
