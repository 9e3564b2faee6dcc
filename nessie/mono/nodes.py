"""mono: monomorphic, first-order NESL in normal form, the input of flattening.

    function dotp (xs : [float], ys : [float]) : float =
      `reduce_+`({x * y : x : float in xs; y : float in ys})

    entry dotp

Its types tell the widths of numbers: int and float have 64 bits, int32 and float32 are those of a program of 32 bits
(nessie.base.widths). A primitive whose row says int takes and gives either; `resized` makes one of the other.

Invariants (checked by mono.check after every pass):
  - no type variables, function types or datatypes: a datatype is its fields, a function that
    takes functions has one copy per function that it was called with;
  - every binder (let, generator, parameter) is a single name, bound once in the whole program;
    patterns have become First and Second;
  - primitives are those of library.primitives.IN_MONO, at types that they have;
  - calls name functions of this program, one argument per parameter;
  - the operator of a fold is a function of this program, and its parameters are those of the fold, but for two
    elements where that has the identity and the sequence;
  - a function of a row has the parameters and the result of that of all rows, but for one row in place of all.
"""
from __future__ import annotations

from nessie.base.located import Located
from nessie.base.records import dataclass
from nessie.base.types import Type


@dataclass(frozen=True)
class Const(Located):
    """A scalar: Python int, float, bool, or a one-character str for char."""
    value: int | float | bool | str
    type: Type


@dataclass(frozen=True)
class String(Located):
    """A literal [char]."""
    text: str


@dataclass(frozen=True)
class Var(Located):
    name: str
    type: Type


@dataclass(frozen=True)
class Let(Located):
    name: str
    value: Exp
    body: Exp


@dataclass(frozen=True)
class If(Located):
    condition: Exp
    then: Exp
    orelse: Exp


@dataclass(frozen=True)
class Prim(Located):
    """An applied primitive. No pass drops, repeats or reorders primitives of kind check or effect. A check's message is
    a String; if its condition fails, its value is not computed."""
    name: str
    arguments: tuple[Exp, ...]
    type: Type


@dataclass(frozen=True)
class Call(Located):
    function: str
    arguments: tuple[Exp, ...]
    type: Type


@dataclass(frozen=True)
class Pair(Located):
    first: Exp
    second: Exp


@dataclass(frozen=True)
class First(Located):
    pair: Exp


@dataclass(frozen=True)
class Second(Located):
    pair: Exp


@dataclass(frozen=True)
class Literal(Located):
    """[e1, ..., ek]; k may be 0. `type` is the sequence's type."""
    elements: tuple[Exp, ...]
    type: Type


@dataclass(frozen=True)
class Generator:
    name: str
    source: Exp


@dataclass(frozen=True)
class Each(Located):
    """{body : x1 in s1; ...; xm in sm | filter}, m >= 1; the filter guards the body."""
    body: Exp
    generators: tuple[Generator, ...]
    filter: Exp | None = None


Exp = (Const | String | Var | Let | If | Prim | Call | Pair | First | Second | Literal | Each)


@dataclass(frozen=True)
class Parameter:
    name: str
    type: Type


@dataclass(frozen=True)
class Fold:
    """The function's parameters are captured values, an identity and a sequence, and its body combines the elements by
    the function `operator`, whose parameters are those values and two elements. Where that function is one of scalars,
    a combinator does the same at once: `form` is reduce, or scan, of which the result has the total too. `neutral`: the
    identity is known to be one; else it is what comes first."""
    form: str
    operator: str
    neutral: bool = False


FORMS = ("reduce", "scan")


@dataclass(frozen=True)
class Function(Located):
    """`row_of`: the function, if any, that does with all rows of a sequence at once what this does with one."""
    name: str
    parameters: tuple[Parameter, ...]
    result: Type
    body: Exp
    fold: Fold | None = None
    row_of: str = ""


@dataclass(frozen=True)
class Program:
    """`entry` names the function that a run calls."""
    functions: tuple[Function, ...]
    entry: str
