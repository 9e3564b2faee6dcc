"""mono: monomorphic, first-order NESL in normal form; what flattening reads.

    function dotp (xs : [float], ys : [float]) : float =
      sum({*(x, y) : x in xs; y in ys})

Invariants (checked by frontend.mono_check after every pass):
  - no type variables, function types or datatypes: a datatype is its fields, a function that
    takes functions has one copy per function it was called with;
  - every binder (let, generator, parameter) is a single name, bound once in the whole program;
    patterns have become First and Second;
  - primitives are rows of lambda_cu.ops (scalar), or of SEQUENCE or SPECIAL below, at the given types;
  - calls name functions of this program, one argument per parameter.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from nessie.base.source import NOWHERE, Origin
from nessie.base.types import Type


@dataclass(frozen=True)
class Const:
    """A scalar: Python int, float, bool, or a one-character str for char."""
    value: int | float | bool | str
    type: Type
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class String:
    """A literal [char]."""
    text: str
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Var:
    name: str
    type: Type
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Let:
    name: str
    value: Exp
    body: Exp
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class If:
    condition: Exp
    then: Exp
    orelse: Exp
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Prim:
    """A primitive applied: a scalar operator, or a row of SEQUENCE or SPECIAL."""
    name: str
    arguments: tuple[Exp, ...]
    type: Type
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Call:
    function: str
    arguments: tuple[Exp, ...]
    type: Type
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Pair:
    first: Exp
    second: Exp
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class First:
    pair: Exp
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Second:
    pair: Exp
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Literal:
    """[e1, ..., ek]; k may be 0. `type` is the sequence's type."""
    elements: tuple[Exp, ...]
    type: Type
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Generator:
    name: str
    source: Exp


@dataclass(frozen=True)
class Each:
    """{body : x1 in s1; ...; xm in sm | filter}, m >= 1; the filter guards the body."""
    body: Exp
    generators: tuple[Generator, ...]
    filter: Exp | None = None
    origin: Origin = field(default=NOWHERE, compare=False)


Exp = (Const | String | Var | Let | If | Prim | Call | Pair | First | Second | Literal | Each)


@dataclass(frozen=True)
class Parameter:
    name: str
    type: Type


@dataclass(frozen=True)
class Function:
    name: str
    parameters: tuple[Parameter, ...]
    result: Type
    body: Exp
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Program:
    """`entry` names the function that a run calls."""
    functions: tuple[Function, ...]
    entry: str


# Sequence primitives: name -> what it means. Everything else of the library is NESL over these.
SEQUENCE: dict[str, str] = {
    "length": "[a] -> int",
    "elt": "([a], int) -> a                  checked: 0 <= i < #v",
    "dist": "(a, int) -> [a]                 checked: n >= 0",
    "iseq": "(int, int, int) -> [int]        start, stride, end; checked: end >= start, stride >= 1",
    "reduce_+": "[a] -> a :: number          also reduce_* (number), reduce_max reduce_min (ordinal),",
    "reduce_*": "[a] -> a :: number          reduce_and reduce_or reduce_xor (logical)",
    "reduce_max": "[a] -> a :: ordinal",
    "reduce_min": "[a] -> a :: ordinal",
    "reduce_and": "[a] -> a :: logical",
    "reduce_or": "[a] -> a :: logical",
    "reduce_xor": "[a] -> a :: logical",
    "scan_+": "[a] -> [a] :: number          exclusive; likewise the others",
    "scan_*": "[a] -> [a] :: number",
    "scan_max": "[a] -> [a] :: ordinal",
    "scan_min": "[a] -> [a] :: ordinal",
    "scan_and": "[a] -> [a] :: logical",
    "scan_or": "[a] -> [a] :: logical",
    "scan_xor": "[a] -> [a] :: logical",
    "get": "([a], [int]) -> [a]              gather, checked",
    "write": "([a], [(int, a)]) -> [a]       scatter into a copy, checked, last write wins",
    "append": "([a], [a]) -> [a]",
    "flatten": "[[a]] -> [a]",
    "partition": "([a], [int]) -> [[a]]      checked: lengths >= 0, their sum is #v",
    "subseq": "([a], int, int) -> [a]        start, end; checked: 0 <= start <= end <= #v",
    "order": "[a] -> [int] :: ordinal        stable ascending: v -> order(v) is sorted; NaN last",
    "order_down": "[a] -> [int] :: ordinal   stable descending",
}

# Primitives whose order of evaluation counts; no pass drops, repeats or reorders them.
SPECIAL: dict[str, str] = {
    "check": "(bool, [char], a) -> a         the third; where the first fails, the error named by the second, a String,"
             " and the third is not computed",
    "error": "[char] -> a                    ends the run with the message",
    "print_char": "char -> bool              prints; t",
    "print_string": "[char] -> bool          prints; t",
    "rand": "a -> a :: number                draws from 0 up to but not including the argument; checked: > 0",
    "rand_seed": "int -> bool                seeds the draws; t",
}
