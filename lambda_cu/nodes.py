"""lambda_cu: the nodes of the three-level IR (lambda-cu paper, figures 1-4), as plain immutable data.

    host    Function, Run, Branch ...   runs on the CPU: branches, calls, launches kernels
    kernel  Kernel, Bind, SOACs         a straight line of array combinators, launched as one
    thread  Thunk, Op, Read ...         scalar code for one index

As text (written by lambda_cu.text.printer, read back by lambda_cu.text.parser):

    kernel K1 (n : int, xs : [float; n]) -> float {
      let z = REDUCE { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)
      return z
    }
    function total (n : int, xs : [float; n]) -> (sum : float) {
      let sum1 : float = run K1 (n, xs)
      return sum1
    }
    entry total : [float] -> float

Flat lambda_cu, as flattening makes it, has one SOAC per kernel. Fused lambda_cu has more: it *means* the same, the
bindings one after another, and the schedule has proved that one walk of one index space can compute them all.

Invariants (checked by lambda_cu.check after every pass):
  - every name is bound once in its kernel or host function, before its use; every size of an array type is an
    int name in scope or a constant;
  - a thunk reads only its parameters, its let-bound names, and the names it lists in `using`: no more, no less;
    `using` lists arrays and scalars of the kernel;
  - every expression is well typed by lambda_cu.typing, where an int32 is an int and a float32 a float; scalars with
    names outside of thunks are ints and floats, arrays are as narrow as what they are made of; operators are rows
    of lambda_cu.ops;
  - arguments of `run` and `call` agree with the parameters in number and type, after substituting the sizes;
  - the last case of a choice is `items`, and the only one without a condition;
  - `_` stands for a result that nobody needs; it may be bound any number of times and is never read;
  - REDUCE_BY_INDEX names all its results or none: at a place, each may be combined with another.
"""
from __future__ import annotations

from dataclasses import field
from typing import get_args

from nessie.base.located import Located
from nessie.base.records import KeepsHash, dataclass
from nessie.base.source import Origin, Span
from nessie.lambda_cu.mappings.nodes import Mapping

# Types ------------------------------------------------------------------------------------------

Size = str | int                  # an int name in scope, or a constant
Offsets = str                     # an array name in scope


@dataclass(frozen=True)
class Array:
    """[base; size], or [base; size+1] where `plus` is 1 (offsets with their total). The base is a scalar type, or a
    narrower one (nessie.base.widths): its elements are ints or floats where they are read."""
    base: str
    size: Size
    plus: int = 0


Type = str | Array                # 'int', 'float', 'bool', 'char': a scalar; 'site' for kernels' parameters only


@dataclass(frozen=True)
class Param:
    name: str
    type: Type


# Thread level -----------------------------------------------------------------------------------

@dataclass(frozen=True)
class Const:
    """int, float, bool, or a one-character str for char. `type` tells 1 from 1.0 from t."""
    value: int | float | bool | str
    type: str


@dataclass(frozen=True)
class Var:
    name: str


@dataclass(frozen=True)
class Op(KeepsHash):
    """A scalar operator of lambda_cu.ops: total, its arguments are checked before."""
    op: str
    arguments: tuple[Exp, ...]


@dataclass(frozen=True)
class Read(KeepsHash):
    """array[index]; the index is in range, by construction or by a check around it."""
    array: str
    index: Exp


@dataclass(frozen=True)
class If(KeepsHash):
    """Lazy: only the branch taken is evaluated."""
    condition: Exp
    then: Exp
    orelse: Exp


@dataclass(frozen=True)
class Let(KeepsHash):
    """let x = e in b; let (x, y) = e in b takes a tuple apart. Strict: e is evaluated, errors and all."""
    names: tuple[str, ...]
    value: Exp
    body: Exp


@dataclass(frozen=True)
class Fold(KeepsHash):
    """fold j < n from x = e in b: x is e, and then, for each j = 0 .. n-1 in order, what b makes of it; fold j < n from
    (x, y) = (e, f) in b goes on with a tuple. A loop of the index's own thread, in thunks only; n may be negative,
    which is as 0."""
    index: str
    count: Exp
    names: tuple[str, ...]
    start: Exp
    body: Exp


@dataclass(frozen=True)
class Tuple(KeepsHash):
    """Only as a thunk's result, a branch or body of one, a let's value, what a fold begins with, or a scalar function's
    result."""
    items: tuple[Exp, ...]


@dataclass(frozen=True)
class Fail:
    """Record that site `site` failed at this index, and be the zero of the type. The site is one of the program or,
    in flat lambda_cu, a parameter of the kernel (lambda_cu.passes.share_sites)."""
    site: str
    type: str


@dataclass(frozen=True)
class CallScalar(KeepsHash, Located):
    """A scalar function of the program, on scalars and on arrays, of which it may read any element. `origin`: where
    recursion that goes too deep is reported."""
    function: str
    arguments: tuple[Exp, ...]
    arrays: tuple[str, ...] = ()


Exp = Const | Var | Op | Read | If | Let | Fold | Tuple | Fail | CallScalar


@dataclass(frozen=True)
class Thunk:
    """{ params => body using names }: (i) over a flat space, (s, j, i) over segments: the segment, the
    position in it, the flat index; before them, where there are several outer axes, the index of each: (i1, i2, s, j,
    i).
    Operators of REDUCE and SCAN have 2k parameters, left then right."""
    params: tuple[str, ...]
    body: Exp
    using: tuple[str, ...] = ()


Operator = Thunk                  # of a REDUCE or SCAN: of two elements, not of an index


# Spaces -----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Flat:
    """0 .. size-1."""
    size: Size


@dataclass(frozen=True)
class Uniform:
    """`segments` segments of `length` elements each; total = segments * length. `outer`: several axes, of which the
    segments are all indices, in order; their product is `segments`. None, where the segments are one axis."""
    segments: Size
    length: Size
    total: Size
    outer: tuple[Size, ...] = ()

    @property
    def axes(self) -> tuple[Size, ...]:
        """How long each axis is, the outermost first."""
        return (*(self.outer or (self.segments,)), self.length)


@dataclass(frozen=True)
class Binomial:
    """From segment `first` on: c0 + c1*s + c2*s*(s-1)/2 + ... + ck*C(s,k), by the coefficients, `doubling` times 2^s;
    before it 0."""
    first: Size
    coefficients: tuple[Size, ...]
    doubling: bool = False


@dataclass(frozen=True)
class Floor:
    """From segment `first` on: factor * ((s + offset) / divisor), where the offset is not negative; before it 0."""
    first: Size
    factor: Size
    offset: Size
    divisor: int


Term = Binomial | Floor


@dataclass(frozen=True)
class Closed:
    """Segment s has as many elements as the terms together say, none less than 0: a step polynomial of s
    (lambda_cu.spaces.steps). Where it starts is their sum in closed form (lambda_cu.spaces.closed)."""
    segments: Size
    terms: tuple[Term, ...]
    total: Size


@dataclass(frozen=True)
class Nested:
    """The segments are the elements of `rows`, which are uniform or closed. Element j of row r has c0 + c1*j +
    c2*j*(j-1)/2 ... elements, by `lengths`, each of which is a polynomial of r; those of row r have together what
    `sums` say (lambda_cu.spaces.rows)."""
    rows: Space
    lengths: tuple[Term, ...]
    sums: tuple[Term, ...]
    total: Size

    @property
    def segments(self) -> Size:
        assert not isinstance(self.rows, Flat)
        return self.rows.total


@dataclass(frozen=True)
class Irregular:
    """Segment s is offsets[s] .. offsets[s+1]-1; offsets is [int; segments+1], from 0 to total."""
    segments: Size
    offsets: Offsets
    total: Size


Segmented = Uniform | Closed | Nested | Irregular
Space = Flat | Segmented


# Kernel level -----------------------------------------------------------------------------------

@dataclass(frozen=True)
class Interior:
    """The elements whose decisions are known: there `thunk` is what the SOAC's is, without them (lambda_cu.borders).
    `range`: from which index to before which, of a flat space. Of segments, it is positions in a segment, and a thunk
    of the segment, which runs only for segments in the range `rows` that have elements. Other elements, the border,
    have the SOAC's thunk."""
    rows: Thunk | None
    range: Thunk
    thunk: Thunk


@dataclass(frozen=True)
class Part:
    """A partition of a space whose axes each have one length: what lies in `inside`, of each `steps[axis]` indices the
    first `widths[axis]`. `case`: the number of the test that takes its elements; REST (lambda_cu.mappings.nodes): none
    does. Parts have each element once."""
    case: int
    inside: Interior
    steps: tuple[int, ...]
    widths: tuple[int, ...]


@dataclass(frozen=True)
class Map:
    """One array per component of the thunk, over the space. `parts`: those that have launches of their own."""
    thunk: Thunk
    space: Space
    interior: Interior | None = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Reduce:
    """Over a flat space: scalars. SEG_REDUCE, over segments: arrays, one element per segment, the
    identity for an empty one. The operator is associative, perhaps not commutative; the identity is true."""
    thunk: Thunk
    identity: tuple[Exp, ...]
    operator: Operator
    space: Space
    interior: Interior | None = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Scan:
    """Exclusive; SEG_SCAN starts afresh in each segment. With `total` (flat only) the arrays have n+1
    elements, the last being the total: offsets from lengths."""
    thunk: Thunk
    identity: tuple[Exp, ...]
    operator: Operator
    space: Space
    total: bool = False


@dataclass(frozen=True)
class Filter:
    """Results: the count k, then one array [b; k] per component of `value`, in order of index.
    SEG_FILTER has one more, [int; segments+1]: the survivors' offsets. `value` runs only where
    `predicate` holds."""
    value: Thunk
    predicate: Thunk
    space: Space


@dataclass(frozen=True)
class Partition:
    """Results: the counts nt and nf; the arrays [b; nt] of where `predicate` holds; the arrays [b; nf] of
    where it does not; [int; n]: each index's position on its side. Order is kept."""
    value: Thunk
    predicate: Thunk
    space: Space


@dataclass(frozen=True)
class Permute:
    """Result arrays of `size` elements: result[index(i)] = value(i). Where nothing is written there is what `before`
    says: a constant, or what an array of that size has. An index of -1 writes nothing. mode 'distinct': no index twice
    (promised), and an array before may be shorter: all places behind its end are written (promised); 'all': each index
    of the result once (promised), so nobody sees what is before; 'last': the last i wins."""
    value: Thunk
    index: Thunk
    space: Space
    size: Size
    before: tuple[Exp, ...]
    mode: str = "last"


@dataclass(frozen=True)
class ReduceByIndex:
    """Result arrays of `size` elements: at p there is what is there before, as PERMUTE has it, combined with value(i),
    in order of i, for each i with index(i) = p. An index of -1 takes no part. The operator is associative, the
    identity is true."""
    value: Thunk
    index: Thunk
    identity: tuple[Exp, ...]
    operator: Operator
    space: Space
    size: Size
    before: tuple[Exp, ...]


@dataclass(frozen=True)
class Once:
    """Scalar code, run once; its thunk has no parameters."""
    thunk: Thunk


@dataclass(frozen=True)
class Order:
    """A kernel of its own. One int array: flat positions in stable ascending (or descending) order of the thunk's
    single key, within each segment. NaN comes last. With `values` the array has the keys themselves, in that order;
    with `firsts` it has, for each element, the flat position of the first in its segment that has an equal key."""
    thunk: Thunk
    space: Space
    descending: bool = False
    values: bool = False
    firsts: bool = False


Write = Permute | ReduceByIndex
Soac = Map | Reduce | Scan | Filter | Partition | Permute | ReduceByIndex | Once | Order
SOACS = get_args(Soac)


@dataclass(frozen=True)
class Bind(Located):
    names: tuple[str, ...]
    soac: Soac


@dataclass(frozen=True)
class Asked:
    """Where a mapping is asked for, in pragmas and options; `instead`: what may be written there for any sizes."""
    places: tuple[Span, ...]
    instead: str = ""


@dataclass(frozen=True)
class Kernel(Located):
    """`by`: how its space is walked, where somebody says so; it never changes what the kernel means; `asked`: who says
    it. `merged`: the origins of all that fusion has put there."""
    name: str
    params: tuple[Param, ...]
    binds: tuple[Bind, ...]
    returns: tuple[str, ...]
    by: Mapping | None = None
    asked: Asked | None = field(default=None, compare=False)
    merged: tuple[Origin, ...] = field(default=(), compare=False)


# Host level -------------------------------------------------------------------------------------

Atom = Var | Const


@dataclass(frozen=True)
class Run(Located):
    """let names = run kernel (args): the kernel's results, in order. A size that the kernel finds (the k of
    a FILTER) is a result too, named before the arrays whose types mention it."""
    results: tuple[Param, ...]
    kernel: str
    arguments: tuple[Atom, ...]


@dataclass(frozen=True)
class HostLet(Located):
    """A scalar computed on the CPU; may Read arrays (which waits for them) and may Fail."""
    result: Param
    value: Exp


@dataclass(frozen=True)
class Data(Located):
    """A constant array."""
    result: Param
    values: tuple[int | float | bool | str, ...]


@dataclass(frozen=True)
class Call(Located):
    results: tuple[Param, ...]
    function: str
    arguments: tuple[Atom, ...]


@dataclass(frozen=True)
class Effect(Located):
    """let results = perform name (arguments) : takes -> gives. What reaches the world outside, or comes from it
    (nessie.running.world): a value goes out, one comes back. It happens after all that stands before it has been
    computed, failures included, and before all that stands after it."""
    results: tuple[Param, ...]
    name: str
    arguments: tuple[Atom, ...]
    takes: Layout
    gives: Layout


@dataclass(frozen=True)
class Branch(Located):
    """if condition then block else block; the blocks' results are named by `results`."""
    results: tuple[Param, ...]
    condition: Atom
    then: Block
    orelse: Block


@dataclass(frozen=True)
class Case:
    """A version of what a choice computes, for where the condition holds. The last, `items`, has none."""
    name: str
    condition: Exp | None
    block: Block


@dataclass(frozen=True)
class Choose(Located):
    """Versions of one computation, whose blocks all give the same values: the first case whose condition holds runs.
    A condition is comparisons, joined by `and` and `or`, of the host's ints, of the program's tunables, and of
    statistics of segments (STATISTICS), which are written as calls: longest(&offsets). A statistic that nobody knows is
    UNKNOWN, so it stands on the left of <= only: where it is not known, the comparison does not hold."""
    results: tuple[Param, ...]
    cases: tuple[Case, ...]


Statement = Run | HostLet | Data | Call | Effect | Branch | Choose


@dataclass(frozen=True)
class Block:
    statements: tuple[Statement, ...]
    results: tuple[Atom, ...]


@dataclass(frozen=True)
class Function(Located):
    """`results` types the block's results. They may name sizes: parameters of the function, or earlier
    results.

    A function with `apart` is an offer: the host function of this name does for one activation what is asked for all.
    An executor may call it for each, in threads, and then give true and their results: its parameters are this one's
    without the first, which is how many there are, an element where this one has an array over them; so are its
    results, whose payloads come one after another. The body declines: it gives false and nothing.

    With `over`, a space, the activations' sequences are its segments, and so are those of the results, which are as
    long (lambda_cu.offers.rows says what is taken and given). `by`: who walks an activation; nobody does without it."""
    name: str
    params: tuple[Param, ...]
    results: tuple[Param, ...]
    body: Block
    apart: str = ""
    over: Segmented | None = None
    by: Mapping | None = None


@dataclass(frozen=True)
class ScalarFunction(Located):
    """A function on scalars for thunks: a device function. `arrays`: what it only reads, arrays of these elements and
    of any size. The body may call scalar functions, itself too: a call of itself as the last step, which hands its
    arrays on as they are, is a loop, any other takes the stack of the thread, which CUDA's threads do not have. After
    a failure it calls nothing: it returns zeros, and so do those that have called it."""
    name: str
    params: tuple[Param, ...]
    results: tuple[str, ...]
    body: Exp
    arrays: tuple[Param, ...] = ()


STATISTICS = ("longest", "spread")      # elements of the longest segment; how many times the mean that is, rounded up
UNKNOWN = 2 ** 62


@dataclass(frozen=True)
class Tunable:
    """An int that conditions of choices name, FUNCTION.BINDING.VERSION; it may be another one at each run, by a tuning
    file. `of`: what it is compared with, `n`, `total`, `few` (how many there are at most), `share` or a
    statistic."""
    name: str
    of: str
    value: int


@dataclass(frozen=True)
class Site(Located):
    """A place that can fail: what to say, and where. The error of the least (order in the program, index) is
    reported. `element`: the index is the position of an element of one apply-to-each, and worth telling."""
    name: str
    message: str
    element: bool = False


# How a NESL value lies in names -------------------------------------------------------------------

@dataclass(frozen=True)
class ScalarLayout:
    """One name: on the host a scalar, over n activations an array [base; n]."""
    base: str


@dataclass(frozen=True)
class PairLayout:
    first: Layout
    second: Layout


@dataclass(frozen=True)
class Lengths:
    """The lengths of rows as a formula of the position in the sequence around them and, if that is in another, in
    that (`indices`), and of other ints (`names`)."""
    indices: tuple[str, ...]
    names: tuple[str, ...]
    exp: Exp


@dataclass(frozen=True)
class SeqLayout:
    """A sequence, one or n of them.
        dense    host:  size, then the elements' names over `size`
                 n:     offsets [int; n+1], size, then the elements' names over `size`
        uniform  n:     length of each, size, then the elements' names over `size`; never on the host
        closed   n:     the ints that `lengths` names, size, then the elements' names over `size`; never on the host
        view     host:  start, length, size, then the names of the payload over `size`
                 n:     starts [int; n], lengths [int; n], size, then the names of the payload
    `size` is an int name or constant: the number of elements of the payload. Sequences of one `name`, dense on the host
    or uniform, are equally long, and the elements of all of them are over the size or length of the first."""
    element: Layout
    form: str = "dense"
    name: str = ""
    lengths: Lengths | None = None


Layout = ScalarLayout | PairLayout | SeqLayout


@dataclass(frozen=True)
class Entry:
    """The function that a run calls, and how its arguments and result lie in its names."""
    function: str
    arguments: tuple[Layout, ...]
    result: Layout


@dataclass(frozen=True)
class Program:
    sites: tuple[Site, ...]
    scalar_functions: tuple[ScalarFunction, ...]
    kernels: tuple[Kernel, ...]
    functions: tuple[Function, ...]
    entry: Entry
    tunables: tuple[Tunable, ...] = ()
